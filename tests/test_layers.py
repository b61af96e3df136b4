"""Imports run one way: a room of the library uses what stands before it, never what stands behind it."""

import ast
from pathlib import Path

import byhand
import pytest

LIBRARY = Path(byhand.__file__).parent
ORDER = [  # each line may import from the lines above it, and within itself
    {"check"},
    {"tree", "config", "metrics", "number_words"},
    {"io"},
    {"np"},
    {"init"},
    {"kernels"},
    {"pt"},
    {"text", "data", "cost"},
    {"pretrained", "translator", "show", "annex"},
    {"grade"},
]
LEVEL = {room: i for i, rooms in enumerate(ORDER) for room in rooms}


def imports(text: str) -> set[str]:
    """The rooms of byhand that a file imports from, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "byhand":
            parts = node.module.split(".")
            found |= {parts[1]} if parts[1:] else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            found |= {parts[1] for alias in node.names if (parts := alias.name.split("."))[0] == "byhand" and parts[1:]}
    return found


def upwards(room: str, text: str) -> set[str]:
    return {other for other in imports(text) if LEVEL[other] > LEVEL[room]}


FILES = sorted(path for path in LIBRARY.rglob("*.py") if path.parent != LIBRARY or path.stem != "__init__")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(LIBRARY).as_posix())
def test_no_file_imports_upwards(path):
    assert not upwards(path.relative_to(LIBRARY).parts[0].removesuffix(".py"), path.read_text(encoding="utf-8"))


def test_every_room_has_a_place():
    assert {path.relative_to(LIBRARY).parts[0].removesuffix(".py") for path in FILES} == LEVEL.keys()


@pytest.mark.parametrize(("room", "text", "found"), [
    ("np", "from byhand.np.linear import linear_forward", set()),
    ("np", "from byhand.check import checked", set()),
    ("pt", "from byhand.np.attention import HEAD", set()),
    ("np", "from byhand.pt.attention import attention", {"pt"}),
    ("np", "def f():\n    from byhand import data", {"data"}),
    ("io", "import byhand.np.train", {"np"}),
    ("check", "from byhand.tree import flatten", {"tree"}),
    ("np", "from byhand import init, tree", {"init"}),
])
def test_an_import_upwards_is_found(room, text, found):
    assert upwards(room, text) == found


def other_ends_of_line(text: str) -> list[int]:
    """Lines where a program writes a text with whatever end of line the platform has."""
    return [node.lineno for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "write_text" and len(node.args) == 1
            and not {"newline"} & {k.arg for k in node.keywords} and "encoding" in {k.arg for k in node.keywords}]


def test_what_tools_write_is_the_same_on_every_platform():
    for path in sorted((LIBRARY.parents[1] / "tools").rglob("*.py")):
        assert not other_ends_of_line(path.read_text(encoding="utf-8")), path
    assert other_ends_of_line('\npage.write_text(new, encoding="utf-8")') == [2]
    assert other_ends_of_line('page.write_text(new, encoding="utf-8", newline="\\n")') == []
