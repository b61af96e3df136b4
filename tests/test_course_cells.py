# ruff: noqa: E501
"""What learners write around an answer: a right submission keeps its points, however its cells are written.

Each way of writing stands here with the kernel's own verdict in mind: in a notebook the answer is right. The wrong
versions are those of a grader that leaves something out.
"""

import ast
import inspect
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from byhand.grade import forbid
from byhand.grade.course import child, cli, crossing, grading, magics, names, statements, store, submission, ways
from byhand.grade.forbid import MADE, forbidden, looked_up, names_in, names_of, odd
from byhand.grade.limits import time_limit
from byhand.grade.model import NUMPY_ONLY
from byhand.grade.sets import SETS, questions_of, references_of
from confining import confined
from hostile import HEAD, KEY, A, C, notebook
from proofs import as_shipped
from rewritten import rewritten

PARTS = {module.__name__.rsplit(".", 1)[1]: module for module in (child, crossing, magics, names, statements, submission)}
BY = "def f(x):\n    return {} * x\n"  # the answer: three times x


@pytest.fixture(scope="module", autouse=True)
def plain():
    with as_shipped():
        yield


WAYS = {  # cells that make f, which is three times its argument
    "a star": ("from math import *\nfrom numpy import *", BY.format("floor(3.5)")),
    "a star in a condition": ("if True:\n    from math import *", BY.format("floor(3.5)")),
    "a function in a condition": ("if True:\n    def g():\n        return 3", BY.format("g()")),
    "the answer in a condition": ("if True:\n    def f(x):\n        return 3 * x",),
    "the answer in a try": ("try:\n    def f(x):\n        return 3 * x\nexcept ValueError:\n    pass",),
    "the answer by match": ("match 3:\n    case int(n):\n        def f(x):\n            return n * x",),
    "a capture of match": ("match {'a': 3}:\n    case {'a': n, **others}:\n        pass", BY.format("n")),
    "a table filled by a loop": ("t = {}\nfor i in range(9):\n    t[i] = i", BY.format("t[3]")),
    "a table filled while": ("t, i = [], 0\nwhile i < 9:\n    t.append(i)\n    i += 1", BY.format("t[3]")),
    "a list that grows": ("t = []\nt.append(3)", BY.format("t[0]")),
    "a list in a table that grows": ("t = {}\nt.setdefault('a', []).append(3)", BY.format("t['a'][0]")),
    "a table updated": ("t = {}", "t.update(a=3)", BY.format("t['a']")),
    "a piece deleted": ("t = [5, 3]", "del t[0]", BY.format("t[0]")),
    "a with": ("import warnings\nwith warnings.catch_warnings() as w:\n    n = 3", BY.format("n")),
    "what with binds": ("import io\nwith io.StringIO('3') as file:\n    pass\nn = int(file.getvalue()) if not file.closed else 3", BY.format("n")),
    "an import in a condition": ("if not False:\n    import math", BY.format("math.floor(3.5)")),
    "a walrus": ("print(n := 3)", BY.format("n")),
    "a walrus in a condition": ("if (n := 3) > 2:\n    pass", BY.format("n")),
    "a walrus in a comprehension": ("print([n := i for i in range(4)])", BY.format("n")),
    "setattr": ("class Box:\n    pass\nsetattr(Box, 'n', 3)", BY.format("Box.n")),
    "an attribute of a function": (BY.format("f.n"), "f.n = 3"),
    "a global of a function": ("def setup():\n    global n\n    n = 3\nsetup()", BY.format("n")),
    "a global, two calls deep": ("def inner():\n    global n\n    n = 3\ndef setup():\n    inner()\nsetup()", BY.format("n")),
    "a global by an alias": ("def setup():\n    global n\n    n = 3\nstart = setup\nout = start()", BY.format("n")),
    "the answer by a global": ("def setup():\n    global f\n    f = lambda x: 3 * x\nsetup()",),
    "a global by a method": ("class Net:\n    def start(self):\n        global n\n        n = 3\nnet = Net()\nnet.start()", BY.format("n")),
    "a function that fills what it is given": ("def fill(t):\n    t['a'] = 3\ntable = {}\nfill(table)", BY.format("table['a']")),
    "a lambda that fills what it is given": ("fill = lambda t: t.append(3)\ntable = []\nfill(table)", BY.format("table[0]")),
    "a table of functions by a decorator": ("T = {}\ndef kept(g):\n    T[g.__name__] = g\n    return g", "@kept\ndef three():\n    return 3", BY.format("T['three']()")),
    "a table of functions by a call": ("T = {}\ndef keep(g):\n    T['g'] = g\ndef three():\n    return 3", "keep(three)", BY.format("T['g']()")),
    "NumPy's own that fill": ("import numpy as np\nn = np.zeros((2, 2))\nnp.fill_diagonal(n, 3)", BY.format("n[0, 0]")),
    "out=": ("import numpy as np\nn = np.zeros(1)\nnp.add(1, 2, out=n)", BY.format("n[0]")),
    "a generator taken from": ("g = iter([5, 3])", "next(g)", BY.format("(3 if n == 3 else 0)").replace("return", "global n\n    n = next(g, 3)\n    return")),
    "a seed": ("import random\nrandom.seed(5)\nn = random.random()", "import random as r\nr.seed(5)", "def f(x):\n    return 3 * x if random.random() == n else 0"),
    "a seed by its own name": ("from random import seed, random\nSEED = 5\nseed(SEED)\nn = random()", "seed(SEED)", "def f(x):\n    return 3 * x if random() == n else 0"),
    "a deeper stack": ("import sys\nsys.setrecursionlimit(5000)", "def f(x, n=3000):\n    return f(x, n - 1) if n else 3 * x"),
    "globals()": ("globals()['n'] = 3", BY.format("n")),
    "globals() read": ("n = 3", BY.format("globals()['n']")),
    "a lambda": ("f = lambda x: 3 * x",),
    "an alias": ("def mine(x):\n    return 3 * x", "f = mine"),
    "two names at once": ("g = f = lambda x: 3 * x",),
    "one of several": ("f, g = (lambda x: 3 * x), None",),
    "a part of a function": ("from functools import partial\ndef g(n, x):\n    return n * x", "f = partial(g, 3)"),
    "an object that is called": ("class Times:\n    def __call__(self, x):\n        return 3 * x", "f: object = Times()"),
    "a class that is called": ("class f(int):\n    def __new__(cls, x):\n        return int.__new__(int, 3 * x)",),
    "a name made by a loop": ("for f in (abs, lambda x: 3 * x):\n    pass",),
    "a table kept by the answer": ("from functools import lru_cache", "@lru_cache\ndef f(x):\n    return 3 * x", "f.cache_clear()"),
    "a later annotation": ("from __future__ import annotations", "def f(x: Array | None) -> Array:\n    return 3 * x"),
    "an annotation of its own": ("Array = int", "def f(x: Array) -> Array:\n    return 3 * x"),
    "a dataclass": ("from __future__ import annotations\nfrom dataclasses import dataclass\nfrom typing import get_type_hints", "@dataclass\nclass Size:\n    n: int = 3", "def f(x):\n    return Size(**{k: t(3) for k, t in get_type_hints(Size).items()}).n * x"),
    "a class that is looked for by its name": ("import pickle", "class Size:\n    n = 3", BY.format("pickle.loads(pickle.dumps(Size())).n")),
    "a class kept by the one above it": ("T = []\nclass Base:\n    def __init_subclass__(cls):\n        T.append(cls)", "class Size(Base):\n    n = 3", BY.format("T[0].n")),
    "an await": ("import asyncio\nasync def g():\n    return 3", "n = await g()", BY.format("n")),
    "what IPython lends": ("COLAB = 'colab' in str(get_ipython())\nif not COLAB:\n    display(1)\n    get_ipython().run_line_magic('matplotlib', 'inline')\n    get_ipython().events.register('post_run_cell', abs)\n    n = 3", BY.format("n")),
    "a command above": ("files = !ls\nt = %timeit -o -q 1+1\nn = 3", BY.format("n")),
    "a command in a condition": ("n = 3\nif n:\n    %matplotlib inline\nelse:\n    !pip install x", BY.format("n")),
    "a command that goes on": ("!pip install a \\\n    b c\nn = 3", BY.format("n")),
    "a timed line": ("%time n = 3", BY.format("n")),
    "a timed value": ("n = %time 1 + 2", BY.format("n")),
    "a timed cell": ("%%time\nn = 3", "%%capture out\n" + BY.format("n")),
    "a command without its sign": ("pip install x\nn = 3", BY.format("n")),
    "help": ("n = 3\nabs?\n?abs\nabs??", BY.format("n")),
    "help that looks like an assignment": ("n = 3\nn = abs?\nm = n.real??", "t = '''\nwhat?\n'''\nn = 3 if 'why?' else 0  # why?\nn = (n  # eh?\n + 0)", BY.format("n")),
    "exec": ("exec('def f(x):\\n    return 3 * x')",),
    "exec of what is compiled": ("exec(compile('n = 3', 'a', 'exec'), globals())", BY.format("n")),
    "exec beside": ("n = 3\nexec('n = 5', {})\nexec('def (')", BY.format("n")),
    "eval": ("f = eval(' lambda x: 3 * x')",),
    "lines like commands": ("n = (7\n  % 4)\ntext = '''\n%n\n!n\n'''\nb = 7 \\\n  % 4\nassert 'b = %d' % b == 'b = 3'", BY.format("(n if text and b else 0)")),
    "an indent of the whole": ("    n = 3\n    if n:\n        m = n", BY.format("m")),
    "marks of a prompt": (">>> n = 3\n>>> def g():\n...     return n\n", BY.format("g()")),
    "lines that end otherwise": ("%matplotlib inline\rn = 3\r", "def f(x):\r\n    return n * x\r\n"),
    "a cell that is another language's": ("%%bash\nn=5", "n = 3", BY.format("n")),
    "a cell that cannot be read": ("n = 5 5", "n = 3", BY.format("n")),
    "a check with another's name": ("def mine(x):\n    return 3 * x", "from byhand.grade import check\ncheck('99.1', mine)"),
    "a check of a lambda": ("from byhand.grade import check\nprint(check('99.1', lambda x: 3 * x))",),
}
OF = SimpleNamespace(id="99.1", name="f")
NOTED = {  # by a cell, what a learner is told of it
    "%run other.py\nn = 3": "code cell 1: %run other.py: another file is not run here", "  run my/other.ipynb": "code cell 1: run my/other.ipynb: another", "%load other.py\n": "code cell 1: %load other.py: another",
    "code = 'n = 3'\nexec(code)": "code cell 1: exec of a text that is made when it runs", "if True:\n    exec('n = ' + str(3))": "code cell 1: exec of a text", "exec('n = 3')": "", "def g():\n    exec(input())": "", "runs = 3": "", "%%bash\nrun other.py": "", "# %run other.py": "",
}


def value(m, cells, seconds=60):
    """What f gives for 2, as the grader reads the cells and the child runs them; None where there is no f."""
    found = m["submission"].parsed(notebook(*cells), ".ipynb")
    assert found.status == "read"
    found = found.answering([OF])
    if "f" not in found.written or "torch" in found.reached("f"):
        return None
    with mock.patch.dict("sys.modules", {"__main__": child}):
        scope, problems, skipped = m["child"].namespace(found.cells, "f", (), time_limit, seconds)
        m["said"] = problems + skipped
        try:
            return scope["f"](2)
        except Exception:
            return None


@pytest.mark.parametrize("way", WAYS)
def test_it_is_run_as_in_a_notebook(way):
    before = sys.getrecursionlimit()
    try:
        assert value(dict(PARTS), WAYS[way]) == 6, way
    finally:
        sys.setrecursionlimit(before)


def noted(m, cell):
    return "\n".join(m.parsed(notebook(cell), ".ipynb").notes)


@pytest.mark.parametrize("cell", NOTED)
def test_a_learner_hears_what_is_not_looked_into(cell):
    said = noted(submission, cell)
    assert said.startswith(NOTED[cell]) and bool(said) == bool(NOTED[cell])


@pytest.mark.parametrize("old, new, cell", [
    ("asked = {i: found[1]", "asked = {} and {i: found[1]", "%run other.py\nn = 3"), ("if not whole(text) and (", "if (", "%%bash\nrun other.py"), ("and executed(x) is None", "", "exec('n = 3')"),
    ("for x, _ in run_at_once(node))", "for x in ast.walk(node))", "def g():\n    exec(input())"), ("for x, _ in run_at_once(node))", "for x in [getattr(node, 'value', 0)])", "if True:\n    exec('n = ' + str(3))")])
def test_a_wrong_note_is_caught(old, new, cell):
    assert bool(noted(rewritten(Path(submission.__file__), old, new, real=submission), cell)) != bool(NOTED[cell])


READS = ("print(f(2))", "for i in range(10**9):\n    f(i)", "while True:\n    print(f(2), n)", "out = [f(i) for i in range(10**9)]", "with open('/dev/null') as file:\n    [f(i) for i in range(10**9)]",
         "def train():\n    while True:\n        f(2)\ntrain()", "def train(g):\n    while True:\n        g(2)\ntrain(f)", "if f(2):\n    while True:\n        n + 1", "import numpy as np\nwhile True:\n    np.add(t, n).sum()", "while True:\n    t.index(3)")


@pytest.mark.parametrize("cell", READS)
def test_what_only_reads_an_answer_is_not_run(cell):
    """A training cell at the end costs no time; nor does one whose answer keeps a table of what it has done."""
    begun = time.monotonic()
    for answer in (BY.format("n"), "def f(x):\n    t.append(x)\n    return n * x\n"):
        assert value(m := dict(PARTS), ("import numpy as np\nn, t = 3, [3]", answer, cell), 20) == 6
        assert not [x for x in m["said"] if "stopped" in x]
    assert time.monotonic() - begun < 5


def test_what_changes_an_answer_has_a_limit_and_is_named():
    m = dict(PARTS)
    assert value(m, ("t = [3]", BY.format("t[0]"), "while True:\n    t[0] = 3", "t.append(5)", "print(t)"), 1) == 6
    first, *others = m["said"]
    assert first.startswith("cell 3, `while True:`: was stopped after ") and others == ["cell 4, `t.append(5)`: was not run, for lack of time", "cell 5, `print(t)`: was not run"]
    assert value(m, (BY.format("n"), "n = 5 5", "%%bash\nls", "if 1:\n    n = 1 / 0"), 9) is None
    assert m["said"] == ["cell 4: ZeroDivisionError: division by zero"]


def test_a_lent_function_stays_whatever_the_cells_make_of_its_name():
    for cell in ("def g(x):\n    return 5", "g = lambda x: 5", "if True:\n    def g(x):\n        return 5"):
        scope, *_ = child.namespace((cell, "def f(x):\n    return g(x)"), "f", {"g": lambda x: 3 * x})
        assert scope["f"](2) == 6, cell


# One rule for names that are not allowed


JAX = {
    "def f(x):\n    jax = 3\n    return jax * x": False, "def f(jax):\n    return 3 * jax": False, "def f(x):\n    return [jax for jax in x]": False,
    "def f(x):\n    def jax(y):\n        return y\n    return jax(x)": False, "def f(x):\n    def inner():\n        return jax * x\n    jax = 3\n    return inner()": False,
    "def f(x: 'jax.Array') -> 'jax.Array':\n    return x": False, "def f(x):\n    y: jax.Array = x\n    return y": False,
    "def f(x):\n    import jax\n    return jax.nn(x)": True, "def f(x):\n    import jax.numpy as jnp\n    return jnp.dot(x)": True, "def f(x):\n    from jax import nn\n    return nn(x)": True,
    "def f(x):\n    return x.jax": True, "def f(x):\n    return jax(x)": True, "def g(x):\n    import jax\ndef f(x):\n    return g(x)": True, "def f(x):\n    return (lambda y: jax(y))(x)": True,
    **{f"import builtins, importlib, operator, sys\nW = ''\ndef f(x):\n    return {text}(x)": True for text in (
        "getattr(x, 'j' + 'ax')", "vars(x)['jax']", "x.__dict__['ja' 'x']", "operator.attrgetter('nn.jax')(x)", "importlib.import_module('jax.nn').relu", "globals()['jax']",
        "x.__getattribute__(('j' 'ax', 3)[0])", "getattr(x, *('jax',))", "[getattr(x, n) for n in ('relu', 'jax')][1]")},
    "W = 'j' + 'ax'\ndef f(x):\n    return getattr(x, W)": True, "def g(x, n):\n    return getattr(x, n)\ndef f(x):\n    return g(x, 'jax')": True,
    "def f(x):\n    'No jax here.'\n    return getattr(x, 'real')": False, "def f(x):\n    return x['jax']": False, "def f(x):\n    raise ValueError('jax is not allowed', getattr(x, 'ajax'))": False,
    "W = 'jax'\ndef f(x):\n    return getattr(x, 'real')": False,
}
TEXTUAL = {  # of a file alone: what a text that is run uses
    "exec('import jax\\ndef f(x):\\n    return jax.nn(x)')": True, "def f(x):\n    exec('import jax')\n    return x": True, "def f(x):\n    return eval(' jax.nn(x)')": True, "exec('import jax.numpy as J')\ndef f(x):\n    return J.dot(x)": True,
    "exec('import j' + 'ax\\ndef f(x):\\n    return x')": True, "def f(x):\n    return eval('j' 'a' + f'x.nn(x)')": True,
    "exec('def f(x):\\n    jax = x\\n    return jax')": False, "def f(x):\n    return eval('x') if x else 'jax'": False,
}


@pytest.mark.parametrize("text", JAX)
def test_the_notebook_and_the_grader_have_one_rule(text):
    question, scope = SimpleNamespace(forbid=("jax",)), {}
    exec(text, scope)
    found = submission.parsed(notebook(text), ".ipynb")
    assert bool(forbidden(names_of(scope["f"]), question)) == bool(forbidden(found.reached("f"), question)) == JAX[text]


@pytest.mark.parametrize("text", TEXTUAL)
def test_a_name_in_a_text_that_is_run_is_found(text):
    assert ("jax" in submission.parsed(notebook(text), ".ipynb").reached("f")) == TEXTUAL[text]
    wrong = rewritten(Path(submission.__file__), ", *map(names_in, _executed(s.node))", "", real=submission)
    assert "jax" not in wrong.parsed(notebook(text), ".ipynb").reached("f")


ROUND = {  # what an answer uses, and what is told of it where names are forbidden, and where none are
    "getattr(np, ''.join(('di', 'ag')))(x)": ("getattr", ""), "sys._getframe(1).f_locals": ("_getframe, f_locals", "_getframe, f_locals"), "vars(x)['a']": ("vars", ""),
    "inspect.stack()[1].frame": ("inspect", "inspect"), "np.stack([x, x])": ("", ""),
    "eval('np.' + chr(100))(x)": (MADE, ""), "eval('x + 1')": ("", ""), "model.eval()": ("", ""), "np.exp(x)": ("", ""), "list(model.modules())": ("", "")}


@pytest.mark.parametrize("text", ROUND)
def test_who_grades_is_told_of_a_way_round(text, tmp_path):
    """Of an answer with points, and of no other; library functions that are used inside are none of its own."""
    cells = f"import numpy as np, sys\ndef outer_product(x):\n    return {text}\n", "def scratch(x):\n    return getattr(x, 'y')\n"
    named, free = (SimpleNamespace(id=f"99.{i}", name="outer_product", forbid=(*NUMPY_ONLY, *more)) for i, more in enumerate([("diag",), ()]))
    with store.Store(tmp_path) as kept:
        for who, points in (("ann", 2), ("ben", 0)):
            kept.receive(who, who, who, ".ipynb", notebook(*cells, who))
            graded = [grading.Graded(q.id, "graded", points, 2, "") for q in (named, free)]
            kept.keep(kept.db.execute("SELECT max(id) FROM submission").fetchone()[0], 1, "graded", "sandbox", "", 1.0, graded)
        found = {(who, q): ", ".join(names) for who, q, names in ways.round_about(kept, [named, free])}
    assert found == {("ann", q): names for q, names in zip(("99.0", "99.1"), ROUND[text], strict=True) if names}


def test_no_right_answer_asks_for_a_way_round():
    for set_id in SETS:
        text = names_in(inspect.getsource(sys.modules[next(iter(references_of(set_id).values())).__module__]))
        for q in questions_of(set_id):
            assert odd(text, q) == () and set(forbidden(names_of(references_of(set_id)[q.name]), q)) <= {"byhand"}, q.id


@pytest.mark.parametrize(("old", "new", "seen"), [
    ("return value.split(\".\") if re.fullmatch(r\"\\w+(\\.\\w+)*\", value) else []", "return re.findall(r\"\\w+\", value)", "jax is not"), ("if found & INTO and (", "if (", "x['jax']"),
    ("isinstance(value, (tuple, frozenset)) else []", "False else []", "*('jax',)")])
def test_a_wrong_reader_of_spelt_names_is_caught(old, new, seen):
    wrong = rewritten(Path(forbid.__file__), old, new, real=forbid)
    text = next(text for text in JAX if seen in text)
    with mock.patch.multiple(submission, spelt=wrong.spelt):
        assert ("jax" in submission.parsed(notebook(text), ".ipynb").reached("f")) != JAX[text]


def test_an_attribute_is_no_module_of_its_name():
    """`K.T` beside `import jax as T`."""
    scope = {"T": time}
    exec("def f(K):\n    return K.T\ndef g(K):\n    return T.sleep", scope)
    assert "time" not in names_of(scope["f"]) and "time" in names_of(scope["g"]) and looked_up(scope["f"].__code__) == set()
    found = submission.parsed(notebook("import time as T\ndef f(K):\n    return K.T\ndef g(K):\n    return T.sleep"), ".ipynb")
    assert "time" not in found.reached("f") and "time" in found.reached("g")
    assert "Array" not in names_in("def f(x: Array): pass")


# Reading takes no longer than it may


LONG = {"many commands": "x = 1\n" * 30_000 + "%matplotlib inline\n" * 120, "a text of many values": "x = f'" + "{1}" * 10_000 + "'", "commands alone": "%x\n" * 80_000,
        "texts that do not end": "'a\n" * 80_000, "blanks": " " * 250_000 + "%time x", "signs": "a=" * 100_000 + "!", "quotes": "'" * 250_001}


@pytest.mark.parametrize("name", LONG)
def test_a_long_cell_is_read_once(name):
    begun = time.process_time()
    found = submission.parsed(notebook(HEAD, C, LONG[name]), ".ipynb")
    assert found.status == "read" and "related_score" in found.written and found.reached("related_score")
    assert time.process_time() - begun < 15


def test_what_takes_too_long_to_read_is_said(monkeypatch):
    """Python's own reading cannot be interrupted: it is tried in a process that can be ended."""
    monkeypatch.setattr(submission, "PATIENCE", 1.0)
    begun = time.monotonic()
    found = submission.parsed(notebook(HEAD, "x = f'" + "{1}" * 80_000 + "'"), ".ipynb")
    assert found.status == "unreadable" and "more than 1 s" in found.notes[0] and time.monotonic() - begun < 6
    monkeypatch.setattr(submission.subprocess, "run", lambda *a, **k: SimpleNamespace(returncode=-11))
    assert submission.parsed(notebook(HEAD, "x = 1\n" * 9000), ".ipynb").status == "unreadable"
    assert submission.parsed(notebook(HEAD, A), ".ipynb").status == "read"


# In the sandbox


def graded(folder, *cells):
    (folder / "a.ipynb").write_bytes(notebook(*cells))
    return {g.question: g for g in grading.grade(submission.read(folder / "a.ipynb"), "04", KEY)}


HALF = C.replace("np.sqrt(d_k)", "half(d_k)")


@confined
@pytest.mark.parametrize("cells", [(C.replace("related_score", "mine"), "related_score = mine"), ("def setup():\n    global half\n    half = lambda x: x ** 0.5\nsetup()", HALF),
                                   ("if True:\n    half = np.sqrt", HALF, "for i in range(10**9):\n    related_score(1, 2, 3)"), (C.replace("related_score", "mine"), "check('04.6', mine)"),
                                   ("from __future__ import annotations", C.replace("rho,", "rho: Array,"))])
def test_a_right_submission_has_its_points(cells, tmp_path, capsys):
    assert graded(tmp_path, HEAD, *cells)["04.6"].points == 2
    assert cli.main(["check", str(tmp_path / "a.ipynb")]) == 0 and "2 of 2 points" in capsys.readouterr().out


@confined
def test_a_learner_hears_what_was_not_run(tmp_path):
    text = graded(tmp_path, HEAD, "half = np.nothing", HALF, "for i in range(3):\n    print(related_score(1, 2, 3))")["04.6"].text.splitlines()
    assert text[1].startswith("  cell 2: AttributeError: module 'numpy' has no attribute 'nothing'") and text[2] == "  cell 4, `for i in range(3):`: was not run"
    text = graded(tmp_path, HEAD, "from elsewhere import related_score")["04.6"].text
    assert "it is imported from elsewhere" in text


@confined
def test_cells_that_see_a_hidden_input_are_not_heard(tmp_path):
    """Neither where the answer is there, nor where it is not: an exception's words could be of the input."""
    spy = "import sys\ndef look():\n    f = sys._getframe()\n    while f.f_code.co_name != 'answered':\n        f = f.f_back\n    if {}:\n        raise ValueError('SPY')\n    return 1\n"
    hidden = "any(place > 90 or name in HIDDEN for place, name, _ in f.f_locals['ready'])"
    listed = [c.name for q in questions_of("04") if q.id == "04.6" for c in q.cases if c.hidden]
    cell = f"HIDDEN = {listed}\n" + spy.format(hidden)
    for cells in ((cell, "half = look() and np.sqrt", HALF), (cell, "one = look()\ndef made():\n    global related_score\n    related_score = lambda *a: one and (0, 0)\nmade()"), (cell, "related_score = look() and (lambda *a: (0, 0))")):
        assert "SPY" not in graded(tmp_path, HEAD, *cells)["04.6"].text, cells


WRONG = [  # part, the way that must be lost, and the edit
    ("statements", "a star", '"*" in s.modules or ', ""),
    ("statements", "a list that grows", "if not wanted.isdisjoint(s.writes - self.modules.keys()) or", "if"),
    ("statements", "a piece deleted", " or not wanted.isdisjoint(s.stores)", ""),
    ("statements", "a seed", "or self._is_setting(s, wanted)", ""),
    ("statements", "a seed by its own name", "not s.calls and not s.loads for", "not s.calls and s.loads for"),
    ("statements", "a deeper stack", '"setrecursionlimit" ==', '"never" =='),
    ("statements", "a function that fills what it is given", "return names if any(self._summary(s)[2]", "return set() if any(self._summary(s)[2]"),
    ("statements", "NumPy's own that fill", 'if last in ALTER or', "if"),
    ("statements", "out=", 'if k.arg == "out" and', "if False and"),
    ("statements", "a global of a function", "return not wanted.isdisjoint(set().union(*map(self.effects, s.loads)))", "return False"),
    ("statements", "a global, two calls deep", "waiting += loads", "pass"),
    ("statements", "a later annotation", 'flags |= getattr(', 'flags &= getattr('),
    ("statements", "a table of functions by a decorator", " and not isinstance(s.node, DEFINED):", ":"),
    ("statements", "a function in a condition", "self.makes.update(made(x))", "pass"),
]
TEXTS = [  # of the commands: a line that is lost or kept by each
    ("LINE.match(line) or", "", "%matplotlib inline\nn = 3"), ("or BARE.match(line)", "", "pip install x\nn = 3"), ("or _asks(line)", "", "n = 3\nn = abs?"), ("return reader.between and TOKEN", "return TOKEN", "t = '''what?\n'''\nn = 3"), ('TOKEN.sub("_", line).rstrip()', "line.rstrip()", "n = 3 # why?"), ("or _assigned(line)", "", "files = !ls\nn = 3"),
    ('+ "pass")', ")", "if 1:\n    %x\nn = 3"), ("elif reader.between:", "elif True:", "n = (7\n  % 4)"), ("if found := TIMED.fullmatch(line):", "if found := None:", "%time n = 3"),
    ('.replace("\\r", "\\n")', "", "%x\rn = 3"), ('if first.startswith(">>> "):', "if False:", ">>> n = 3"), ("if indent else lines", "if False else lines", "  n = 3\n  m = 3"),
    ("if command:  # it", "if False:  # it", "!ls \\\n  b c\nn = 3"), ("self.depth += 1", "pass", "n = (7\n  % 4)"), ('line.endswith("\\\\") and not token', "False and not token", "n = 7 \\\n  % 4"),
    ('and not token.startswith("#")', "", "# a \\\n%x\nn = 3"), ("self.open = token", "pass", "t = '''\n%x'''\nn = 3 if t.strip() == '%x' else 0"),
    ("if len(self.open) == 1 and", "if len(self.open) == 3 and", "t = '''\n%x'''\nn = 3 if t.strip() == '%x' else 0")]


def three(m, text):
    scope = {}
    try:
        exec(m.plain(text), scope)
    except (SyntaxError, KeyError):
        return None
    return scope.get("n")


@pytest.mark.parametrize("old, new, text", TEXTS, ids=lambda x: x[:30])
def test_a_wrong_reader_of_commands_is_caught(old, new, text):
    assert three(magics, text) == 3
    assert three(rewritten(Path(magics.__file__), old, new, real=magics), text) != 3


@pytest.mark.parametrize("way, old, new", [
    ("exec", 'case ast.Call(func=ast.Name(id="exec"), args=[_]) |', "case"), ("exec beside", 'case ast.Call(func=ast.Name(id="exec"), args=[_]) |', 'case ast.Call(func=ast.Name(id="exec")) |'),
    ("exec of what is compiled", 'ast.Name(id="compile")', 'ast.Name(id="other")')])
def test_a_wrong_reader_of_texts_is_caught(way, old, new):
    wrong = rewritten(Path(names.__file__), old, new, real=names)
    told = [wrong.made(x) for cell in WAYS[way] for node in ast.parse(cell).body for x in ast.walk(node)]
    real = [names.made(x) for cell in WAYS[way] for node in ast.parse(cell).body for x in ast.walk(node)]
    assert told != real


@pytest.mark.parametrize("part, way, old, new", WRONG, ids=lambda x: str(x)[:40])
def test_a_wrong_version_loses_a_right_answer(part, way, old, new):
    wrong = rewritten(Path(PARTS[part].__file__), old, new, real=PARTS[part])
    with mock.patch.object(child, "Statements", wrong.Statements), mock.patch.object(submission, "Statements", wrong.Statements):
        assert value(dict(PARTS), WAYS[way]) != 6


@pytest.mark.parametrize("old, new, way", [
    ("        return self\n", "        return lambda *_: None\n", "what IPython lends"), ('"display": idle}', '"display": None}', "what IPython lends"), ("asyncio.run(done)", "done.close()", "an await"), ('sys.modules["__main__"] = main', "pass", "a class that is looked for by its name"),
    ("compiled(s.node, s.flags,", "compiled(s.node, 0,", "a later annotation")])
def test_a_wrong_child_loses_a_right_answer(old, new, way):
    wrong = rewritten(Path(child.__file__), old, new, real=child)
    assert value(PARTS | {"child": wrong}, WAYS[way]) != 6


LIMITED = {"half of it for what changes an answer": ("min(left, most)", "most"), "what is left of that": ("left -= 0 if isinstance(s.node, PLAIN) else", "left -= 0 *"),
           "all of it for the others": ("most = most if isinstance(s.node, PLAIN) else", "most =")}


def limits_of(m):
    """The seconds that each statement has, of twenty in all."""
    given = []

    def limit(seconds):
        given.append(seconds)
        return nullcontext()

    with mock.patch.dict("sys.modules", {"__main__": child}):
        m.namespace(("import time\nn = 3", "t = [3]", "for i in range(2):\n    t.append(i)\n    time.sleep(0.3)", "t.append(5)", BY.format("t[0] * n")), "f", (), limit, 20.0)
    return given


def good(given):
    return min(given[0], given[1], given[2], given[5]) > 15 and given[3] == 10 and 5 < given[4] < 9.5


def test_statements_share_their_time():
    assert good(limits_of(child))


@pytest.mark.parametrize("name", LIMITED)
def test_a_wrong_share_is_caught(name):
    assert not good(limits_of(rewritten(Path(child.__file__), *LIMITED[name], real=child)))
