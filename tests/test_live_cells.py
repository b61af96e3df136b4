"""The cells of a page in the browser's Python, tried in this one: what they need, and what running one says.

Wrong versions of `_ext/live/cells.py` are made by one edit each, and each must be caught.
"""

import ast
import json
import os
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from make_live import PAGES
from rewritten import rewritten

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "_ext" / "live" / "cells.py"


def cells(*edits):
    return rewritten(SOURCE, *edits)


PAGE = [
    "import numpy as np\nimport torch\nfrom byhand.pt import softmax as twin\ntorch.set_printoptions(precision=3)",
    "np.set_printoptions(precision=3)",
    "rng = np.random.default_rng(0)\nA = rng.normal(size=3)\nB = []",
    "def f(x, twin=2):\n    return [twin * a for a in x]",
    "print(A)",
    "T = torch.tensor(A)",
    "print(T)",
    "T = f(A)",
    "B.append(rng.normal())",
    "C = sum(B)",
    "def g(x):\n    return twin(x)",
    "g(A)",
    "print(T)",
    "V = A + 1\nprint(twin(V))",
    "V",
    "class Twin(torch.nn.Module):\n    pass",
    "def asked(x):\n    ...",
    "check(asked)\ncheck(f)",
    "@torch.no_grad()\ndef h(x):\n    return x",
    "def h(x, *, kind=torch.float32):\n    return x",
    "@np.vectorize\ndef h(x, kind=float):\n    return twin(x)",
]


def what_needs_pytorch(live):
    words = ["PyTorch" if k in (5, 6, 11, 13, 14, 15, 16, 17, 18, 19) else "" for k in range(len(PAGE))]
    assert live.unable(PAGE, ["asked"]) == words


def what_is_needed(live):
    here = [None if why else source for why, source in zip(live.unable(PAGE), PAGE, strict=True)]
    assert live.needed(here, 4) == [0, 1, 2]
    assert live.needed(here, 7) == [0, 1, 2, 3]
    assert live.needed(here, 9) == [0, 1, 2, 8]
    assert live.needed(here, 0) == []


def what_a_cell_shows(live, tmp_path):
    said = []
    main, session = sys.modules["__main__"], live.Session(said.append, str(tmp_path))
    try:
        assert session.run("a", "import torch\ntorch.set_num_threads(1)\nx = 2\nx + 1")
        assert said.pop() == {"text": "3"}
        assert session.run("b", "x") and said.pop() == {"text": "2"}
        assert session.run("c", "None") and not said
        assert session.plan([("a", "other", True), ("b", "x", True)], 1) == []
        assert session.plan([("a", "x = 3", True), ("b", "x", True)], 1) == [0]
        assert session.plan([("t", "import math\ny = torch.ones(2)", False), ("b", "math.pi", True)], 1) == [0]
        assert session.plan([("t", "y = torch.ones(2)", False), ("b", "y", True)], 1) == []
        assert not session.run("d", "def f(n):\n    return 1 / n\n\n\nf(0)")
        assert said.pop()["error"] == ("line 5:  f(0)\nline 2 in f:  return 1 / n\n"
                                       "ZeroDivisionError: division by zero")
        assert not session.run("e", "x = 1\nf(0)")
        assert "line 2 of an earlier cell in f:  return 1 / n" in said.pop()["error"]
        assert not session.run("f", "y = (") and said.pop()["error"].splitlines()[0] == "line 1:  y = ("
        assert not session.run("g", "raise SystemExit")
        assert said.pop() == {"error": "line 1:  raise SystemExit\nSystemExit"}
        assert not session.run("h", "torch.tensor(1)")
        assert said.pop()["error"].endswith("ModuleNotFoundError: torch.tensor: PyTorch does not run in the page")
        assert session.run("i", "import inspect\nprint(inspect.getsource(f))")
        assert "append" in session.names("[].ap") or session.names("x.") == sorted(session.names("x."))
        assert "f" in session.names("") and "real" in session.names("x.re") and session.names("nothing.x") == []
    finally:
        sys.modules["__main__"] = main


LOOPS = """
for x in {"a": 1}:
    pass
for step in range(1, 41):
    later()
    loss = np.float64(4) / step if step > 1 else float("nan")
    if step == 30:
        print(step)
        break
for x in iter([1, 2]):
    later()
for step in range(2):
    later()
else:
    done = step
"""


def how_far_a_loop_is(live, tmp_path):
    """A loop at the top of a cell that takes a while tells how far it is, and where it has one, of its loss."""
    said, clock = [], [0.0]
    main, session = sys.modules["__main__"], live.Session(said.append, str(tmp_path))
    live.time = SimpleNamespace(monotonic=lambda: clock[0])
    session.scope |= {"later": lambda: clock.__setitem__(0, clock[0] + 0.25), "np": np}
    try:
        assert session.run("a", LOOPS) and session.scope["done"] == 1
        first = [row for row in said if row["loop"] == said[0]["loop"]]
        assert [row["done"] for row in first] == [*range(2, 30), 29]  # after 0.4 s; where it was left
        assert {row["of"] for row in first} == {40} and first[-1]["seconds"] == 7.5
        assert [x for row in first for x in row["losses"]] == [None, *(4 / k for k in range(2, 30))]
        json.dumps(said, allow_nan=False)
        second = said[len(first):]
        assert [(row["done"], row["of"], row["losses"]) for row in second] == [(2, 2, []), (2, 2, [])]
        assert len({row["loop"] for row in said}) == 2
        said.clear()
        assert session.run("b", "for k in range(9):\n    pass\nfor a, b in zip('ab', 'cd'):\n    later()") and not said
        assert not session.run("c", "for k in range(9):\n    later()\n    1 / (k - 3)")
        assert {"error": "line 3:  1 / (k - 3)\nZeroDivisionError: division by zero"} in said
        assert [row["done"] for row in said if "loop" in row] == [2, 3, 3]
    finally:
        sys.modules["__main__"] = main


def test_how_far_a_loop_is(tmp_path):
    how_far_a_loop_is(cells(), tmp_path)


def test_what_needs_pytorch():
    what_needs_pytorch(cells())


def test_what_is_needed():
    what_is_needed(cells())


def test_what_a_cell_shows(tmp_path, capsys):
    what_a_cell_shows(cells(), tmp_path)
    assert capsys.readouterr().out == "def f(n):\n    return 1 / n\n\n"


WRONG = {
    "setting it up is a need": (what_needs_pytorch, "and not _sets_up(statement):", ":"),
    "what it made is forgotten": (what_needs_pytorch, "tainted |= dict.fromkeys(bound, need)", "pass"),
    "a function hides it": (what_needs_pytorch, 'lacks.get(name, "") or used', 'lacks.get(name, "")'),
    "a class is a function": (what_needs_pytorch, "return known.reads",
                              "return set() if isinstance(statement, ast.ClassDef) else known.reads"),
    "a decorator is called later": (what_needs_pytorch, "statement.decorator_list + defaults", "defaults"),
    "a default is read later": (what_needs_pytorch, "statement.decorator_list + defaults", "statement.decorator_list"),
    "a body is run at once": (what_needs_pytorch, "if not isinstance(statement, ast.FunctionDef):", "if True:"),
    "an exercise is as any": (what_needs_pytorch, "& set(exercises):", "& set():"),
    "a parameter is the package": (what_needs_pytorch, "found -= {n.arg for", "{n.arg for"),
    "a new value stays tainted": (what_needs_pytorch, "tainted.pop(name, None)", "pass"),
    "only who binds": (what_is_needed, "or changes or sets_up", ""),
    "no setting": (what_is_needed, "changes or sets_up", "changes"),
    "all that import": (what_is_needed, "(known.changes & wanted) - imported", "known.reads & wanted"),
    "not what those need": (what_is_needed, "wanted = (wanted - known.binds) | known.reads", "pass"),
    "an edit is not seen": (what_a_cell_shows, "!= texts[k]", "is None"),
    "of others not even the imports": (what_a_cell_shows, "if able else imports(source) for", "if able else None for"),
    "every cell is this cell": (what_a_cell_shows, "frame.filename == path else", "True else"),
    "an exit ends all": (what_a_cell_shows, "BaseException as error:  # sys", "Exception as error:  # sys"),
    "no loop tells": (how_far_a_loop_is, "if isinstance(loop, ast.For):", "if False:"),
    "every loop tells": (how_far_a_loop_is, "SOON, OFTEN = 0.4, 0.15", "SOON, OFTEN = 0.0, 0.0"),
    "a loss is told again": (how_far_a_loop_is, "losses.clear()", "pass"),
    "not where it was left": (how_far_a_loop_is, "if told > start + SOON - OFTEN:", "if k == len(items):"),
    "what has no number of steps": (how_far_a_loop_is, 'if hasattr(items, "__len__") else items', "if True else items"),
    "a loss that is no number": (how_far_a_loop_is, 'if abs(value) < float("inf") else None', ""),
    "a loss of another loop": (how_far_a_loop_is, 'ast.Constant("loss" in binds)', "ast.Constant(True)"),
    "None is shown": (what_a_cell_shows, "if value is not None:", "if True:"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_version_is_found_out(name, tmp_path):
    check, *edit = WRONG[name]
    with pytest.raises((AssertionError, SystemExit, ValueError)):  # ValueError: JSON has no nan
        check(cells(*edit), *([tmp_path] if check in (what_a_cell_shows, how_far_a_loop_is) else []))


SAVED = """
import sys
import numpy as np
from byhand.io.safetensors import DTYPES, decode, encode
rng = np.random.default_rng(0)
tree = {name: {"b": rng.normal(size=(2, 3)).astype(name), "é": np.ones((), name), "a": np.zeros((0, 2), name)}
        for name in reversed(DTYPES.values())}
data = encode("x", tree, {"step": "3 é"})
back, metadata = decode("x", "x", data)
assert metadata == {"step": "3 é"}
assert all(back[n][k].dtype == x.dtype and np.array_equal(back[n][k], x) for n in tree for k, x in tree[n].items())
for k in range(0, len(data), 97):
    try:
        decode("x", "x", data[:k])
    except ValueError as error:
        assert "is damaged" in str(error), error
    else:
        raise AssertionError(k)
sys.stderr.write(sys.modules["safetensors"].__file__)
sys.stdout.buffer.write(data + encode("x", tree["bool"]) + encode("x", {}))
"""


def test_a_checkpoint_of_the_page_is_the_file_of_the_package():
    """Byte for byte, so that each reads what the other has written; and what is cut off is refused."""
    path = os.environ.get("PYTHONPATH", "")
    said = [subprocess.run([sys.executable, "-c", SAVED], check=True, capture_output=True,
                           env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [way, path]))})
            for way in ("", str(SOURCE.parent))]
    assert said[0].stdout == said[1].stdout and len(said[0].stdout) > 1000
    assert said[1].stderr.decode().startswith(str(SOURCE.parent)) and said[0].stderr != said[1].stderr


def stands_in(path):
    """Whether whoever imports safetensors with this path gets the page's."""
    return Path(PathFinder.find_spec("safetensors", path).origin).is_relative_to(SOURCE.parent)


def test_the_stand_in_is_behind_the_package():
    """make_live, which is imported above, puts its folder on the path; in front it would hide the package from all."""
    assert str(SOURCE.parent) in sys.path
    assert not stands_in(sys.path) and stands_in([str(SOURCE.parent), *sys.path])


def test_every_cell_of_the_pages_is_read():
    """No cell of the pages is without statements, and most of those of chapters 0 to 11 need nothing that is absent."""
    live, count, able = cells(), 0, 0
    for path in sorted((ROOT / "book").glob("**/*.ipynb")):
        if not PAGES.fullmatch(path.relative_to(ROOT / "book").with_suffix("").as_posix()):
            continue
        code = [c for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
        sources = ["".join(c["source"]) for c in code]
        assert all(live.parsed(source) or not ast.parse(source).body for source in sources), path
        count, able = count + len(sources), able + live.unable(sources).count("")
    assert able > 0.8 * count
