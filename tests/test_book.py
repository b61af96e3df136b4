"""A chapter's code is the library's code, and an equation number in a comment is a number that the chapter gives.

A chapter may define a function several times while it builds it up; the last definition must be the library's,
annotations, docstrings and `@checked` aside. What is left of a checked function besides is the chapter's mathematics.
"""

import ast
import importlib
import inspect
import json
import re
from pathlib import Path
from types import ModuleType

import byhand.check
import pytest

BOOK = Path(__file__).parents[1] / "book"
LIBRARY = Path(byhand.__file__).parent
STEMS = {"00": ["gradcheck", "linear", "tree"], "01": ["recurrent"],
         "02": ["embedding", "text"], "03": ["position"],
         "04": ["attention", "softmax", "mask"], "05": ["multihead"], "06": ["norm"],
         "07": ["residual"], "08": ["mask"], "09": ["block"],
         "10": ["model", "init", "cost"], "11": ["loss", "optim", "train"],
         "12": ["generate", "sample"], "13": ["translate", "metrics"],
         "14": ["pretrain", "finetune"], "15": ["vision"], "16": ["flash"],
         "17": ["pretrained"]}  # what each chapter builds
CONTINUES = {"workshop": "00", "runs": "11"}  # pages that go on with a chapter: code, sections, equations
CHAPTERS = sorted(path for path in BOOK.glob("[0-9][0-9]_*.ipynb") if path.name[:2] in STEMS)
CHAPTER = r'"""Chapters? (\d+)'  # how the docstring of a module begins
PAGES = [*sorted(BOOK.glob("[0-9][0-9]_*.ipynb")), *sorted(BOOK.glob("exercises/*.ipynb")),
         *(BOOK / f"{name}.ipynb" for name in CONTINUES)]

# Forward and backward functions of the NumPy half that a chapter uses without showing them in full.
IMPORTED_ONLY: dict[str, set[str]] = {chapter: set() for chapter in STEMS}  # now: none


def cells(path: Path) -> list[tuple[str, str]]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


def whole(path: Path) -> list[tuple[str, str]]:
    """The cells of a chapter and of the pages that go on with it."""
    more = (BOOK / f"{name}.ipynb" for name, chapter in CONTINUES.items() if chapter == path.name[:2])
    return cells(path) + [cell for page in more for cell in cells(page)]


def definitions(page) -> dict[str, ast.stmt]:
    """The last definition of each function and class at the top level of the code cells."""
    found = {}
    for kind, text in page:
        if kind == "code":
            code = re.sub(r"^[ ]*[%!].*$", "", text, flags=re.MULTILINE)  # IPython's own commands
            found |= {d.name: d for d in ast.parse(code).body if isinstance(d, ast.FunctionDef | ast.ClassDef)}
    return found


class Bare(ast.NodeTransformer):
    """Without annotations, docstrings and @checked; a field of a class keeps its name."""

    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.returns = None
        node.decorator_list = [d for d in node.decorator_list if ast.unparse(d) != "checked"]
        return without_docstring(node)

    def visit_Expr(self, node):
        return None if is_a_check(node) else node

    def visit_ClassDef(self, node):
        self.generic_visit(node)
        return without_docstring(node)

    def visit_AnnAssign(self, node):
        self.generic_visit(node)
        node.annotation = ast.Name("_")
        return node if node.value is None else ast.copy_location(ast.Assign([node.target], node.value), node)


def is_a_check(line: ast.stmt) -> bool:
    """One line of byhand.check among the equations, such as `ids_below("gather", len(E), ids=ids)`."""
    return (isinstance(line, ast.Expr) and isinstance(line.value, ast.Call)
            and getattr(line.value.func, "id", "") in byhand.check.__all__)


def without_docstring(node):
    if ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:] or [ast.Pass()]
    return node


def bare(node: ast.stmt) -> str:
    return ast.unparse(Bare().visit(ast.parse(ast.unparse(node))))


def library(stems) -> dict[str, list[str]]:
    """Name → the bare code of that name, in each half that has it; of a stem that is a folder, in each of its files."""
    found: dict[str, list[str]] = {}
    for path in (p for stem in stems for name in (f"{stem}.py", f"np/{stem}.py", f"pt/{stem}.py", f"{stem}/*.py")
                 for p in LIBRARY.glob(name)):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.setdefault(node.name, []).append(bare(node))
    return found


def different(page, stems) -> list[str]:
    """Names that the page defines last in another way than the library does."""
    ours = library(stems)
    return [name for name, node in definitions(page).items() if name in ours and bare(node) not in ours[name]]


def not_shown(page, stems) -> set[str]:
    """Forward and backward functions of the NumPy half that the page does not define."""
    names = set()
    for path in (path for stem in stems for path in LIBRARY.glob(f"np/{stem}.py")):
        module = importlib.import_module(f"byhand.np.{path.stem}")
        names |= {name for name, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__
                  and name.endswith(("_forward", "_backward"))}
    return names - definitions(page).keys()


def pages_of(path: Path) -> list[list[str]]:
    """The equation numbers of a chapter, then of each page that goes on with it."""
    more = [BOOK / f"{name}.ipynb" for name, chapter in CONTINUES.items() if chapter == path.name[:2]]
    return [tags(cells(page)) for page in (path, *more)]


def misnumbered(chapter: str, *pages: list[str]) -> list[str]:
    """What is wrong with the numbers: together 1, 2, 3, … without a gap, and ascending on each page."""
    numbers = [[int(tag.partition(".")[2]) for tag in page] for page in pages]
    together = sorted(n for page in numbers for n in page)
    bad = [] if together == list(range(1, len(together) + 1)) and together else ["a gap, or twice"]
    bad += ["not ascending"] if any(page != sorted(page) for page in numbers) else []
    return bad + (["another chapter"] if {t.partition(".")[0] for page in pages for t in page} != {chapter} else [])


NUMBER = re.compile(r"\((\d+)\.(\d+)\)")


def tags(page) -> list[str]:
    return [tag for kind, text in page if kind == "markdown" for tag in re.findall(r"\\tag\{([^}]*)\}", text)]


def comments(code: str) -> set[str]:
    """The equation numbers in the comments of some code: `# (4.7)`, `# (4.7), (4.8)`."""
    lines = (line.partition("#")[2] for line in code.splitlines())
    return {f"{k}.{n}" for line in lines if re.match(r" ?\(\d+\.\d+\)", line) for k, n in NUMBER.findall(line)}


def stale(code: str, given: dict[str, list[str]]) -> set[str]:
    """Numbers in comments that no equation has; `given` maps a chapter's number to its tags."""
    return {number for number in comments(code) if number not in given.get(number.partition(".")[0], [])}


@pytest.fixture(scope="module")
def given():
    return {str(int(path.name[:2])): tags(whole(path)) for path in BOOK.glob("[0-9][0-9]_*.ipynb")}


@pytest.mark.parametrize("path", [*CHAPTERS, *PAGES[-len(CONTINUES):]], ids=lambda path: path.stem)
def test_a_chapter_shows_the_code_of_the_library(path):
    assert not different(cells(path), STEMS[CONTINUES.get(path.stem, path.name[:2])])


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_shows_every_forward_and_backward(path):
    assert not_shown(whole(path), STEMS[path.name[:2]]) == IMPORTED_ONLY[path.name[:2]]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: "/".join(path.parts[-2:]))
def test_equation_numbers_in_the_code_of_a_notebook(path, given):
    code = "\n".join(text for kind, text in cells(path) if kind == "code")
    assert not stale(code, given)


@pytest.mark.parametrize("path", sorted(LIBRARY.glob("[np][pt]/*.py")), ids=lambda path: "/".join(path.parts[-2:]))
def test_equation_numbers_in_the_library(path, given):
    assert not stale(path.read_text(encoding="utf-8"), given)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_equations_are_numbered_once_and_in_order(path):
    assert not misnumbered(str(int(path.name[:2])), *pages_of(path))


def test_every_chapter_is_held():
    """A chapter that is written says which modules of the library it builds, and so do their docstrings."""
    written = {path.name[:2] for path in BOOK.glob("[0-9][0-9]_*.ipynb")}
    assert written == STEMS.keys() and len(CHAPTERS) == len(STEMS)
    for path in LIBRARY.glob("np/[a-z]*.py"):
        chapter = f"{int(re.match(CHAPTER, path.read_text(encoding='utf-8'))[1]):02}"
        assert chapter not in written or path.stem in STEMS[chapter]


# Wrong pages, kept: each is found.

RIGHT = inspect.getsource(inspect.unwrap(importlib.import_module("byhand.np.softmax").softmax_backward))
LINE = "    return A * (dA - (A * dA).sum(axis=-1, keepdims=True))"


@pytest.mark.parametrize(("old", "new", "found"), [
    ("", "", []),
    ("def softmax_backward", "def softmax_backward(dA):\n    pass\n\n\ndef softmax_backward", []),  # a first try
    (": Float[Array, \"*B m\"]", "", []),
    ("    A = cache.A", "    A: object = cache.A", []),
    ('"""dS = ', '"""Another docstring. ', []),
    (LINE, LINE.replace(" - ", " + "), ["softmax_backward"]),
    ("    A = cache.A\n", "", ["softmax_backward"]),
    ("axis=-1", "axis=1", ["softmax_backward"]),
    ("dA: ", "dB: ", ["softmax_backward"]),
    ("def softmax_backward", "def my_softmax_backward", []),
])
def test_wrong_code_is_found(old, new, found):
    code = RIGHT.replace(old, new, 1)
    assert code != RIGHT or not old
    assert different([("markdown", "Text."), ("code", code)], ["softmax"]) == found


def test_a_later_wrong_definition_is_found():
    wrong = RIGHT.replace(" - ", " + ")
    assert different([("code", wrong), ("code", "%pip list\n" + RIGHT)], ["softmax"]) == []
    assert different([("code", RIGHT), ("code", wrong)], ["softmax"]) == ["softmax_backward"]
    assert different([("code", "class SoftmaxCache(NamedTuple):\n    A: object")], ["softmax"]) == []
    assert different([("code", "class SoftmaxCache(NamedTuple):\n    B: object")], ["softmax"]) == ["SoftmaxCache"]


def test_the_files_of_a_folder_are_held_too():
    join = library(["text"])["_join"][0]
    assert different([("code", join)], ["text"]) == []
    assert different([("code", join.replace("i += 2", "i += 1"))], ["text"]) == ["_join"]


def test_a_function_left_out_is_found():
    assert "softmax_backward" not in not_shown([("code", RIGHT)], ["softmax"])
    assert "softmax_backward" in not_shown([("code", RIGHT.replace("def ", "def my_"))], ["softmax"])


@pytest.mark.parametrize(("code", "found"), [
    ("S = 0  # (4.1)", set()),
    ("S = 0  # (4.1), (4.2)", set()),
    ("S = 0  # (4.3)", {"4.3"}),
    ("S = 0  # (4.1), (4.9)", {"4.9"}),
    ("S = 0  # (5.1)", {"5.1"}),
    ("S = f(4.3)  # an argument, not a number of an equation", set()),
])
def test_a_stale_number_is_found(code, found):
    page = [("markdown", r"$$ a = b \tag{4.1} $$"), ("markdown", r"$$ c = d \tag{4.2} $$"), ("code", r"# \tag{4.3}")]
    assert stale(code, {"4": tags(page)}) == found


def test_the_library_is_read_as_it_is_written():
    """The code that is compared is the code that is imported."""
    module = importlib.import_module("byhand.np.softmax")
    assert isinstance(module, ModuleType) and bare(ast.parse(RIGHT).body[0]) in library(["softmax"])["softmax_backward"]


@pytest.mark.parametrize(("pages", "found"), [
    ([["0.1", "0.2", "0.3"]], []), ([["0.1", "0.3"], ["0.2"]], []),
    ([["0.1", "0.3"]], ["a gap, or twice"]), ([["0.1", "0.2"], ["0.2"]], ["a gap, or twice"]),
    ([["0.1", "0.3", "0.2"]], ["not ascending"]), ([["0.1"], ["0.3", "0.2"]], ["not ascending"]),
    ([["0.1"], ["4.2"]], ["another chapter"]), ([[]], ["a gap, or twice", "another chapter"]),
])
def test_wrong_numbers_are_found(pages, found):
    assert misnumbered("0", *pages) == found


def test_a_function_on_neither_page_is_found():
    """What chapter 0 shows may stand on either of its two pages; a function that is on neither is missed."""
    shown = whole(BOOK / "00_gradcheck.ipynb")
    assert {"unbroadcast", "flatten"} <= definitions(shown).keys()
    without = [(kind, text.replace("def scatter_add_backward", "def mine")) for kind, text in shown]
    assert not_shown(without, STEMS["00"]) == {"scatter_add_backward"}
    wrong = [(kind, text.replace("flat |= flatten(value", "flat |= flatten(tree")) for kind, text in shown]
    assert different(shown, STEMS["00"]) == [] and different(wrong, STEMS["00"]) == ["flatten"]
