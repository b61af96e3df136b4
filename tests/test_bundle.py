# ruff: noqa: E501
"""A package for students works alone, and gives no answer away."""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from byhand.grade import solutions
from byhand.grade.course import bundle, cli, modules, trees
from byhand.grade.course.leaks import _code, leaks
from byhand.grade.judge import finish
from byhand.grade.model import make_inputs
from byhand.grade.run import run
from byhand.grade.sets import SETS, notebook_of, questions_of, references_of
from proofs import as_shipped

CHOSEN = ["00", "04"]  # one that lets answers use the library, and one that does not


@pytest.fixture(scope="module", autouse=True)
def plain():
    with as_shipped():
        yield


@pytest.fixture(scope="module")
def files():
    return bundle.files_of(CHOSEN)


@pytest.fixture(scope="module")
def folder(files, tmp_path_factory):
    return bundle.write(files, tmp_path_factory.mktemp("students") / "week")


def python(folder, code):
    """In the folder, with the environment's packages and none of the course's own."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONSTARTUP")}
    line = [sys.executable, "-c", f"import byhand; assert byhand.__file__.startswith({str(folder)!r})\n{code}"]
    done = subprocess.run(line, cwd=folder, env=kept | {"BYHAND_PROGRESS": "", "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_has_the_same_public_cases_and_no_other(folder):
    said = python(folder, "import json; from byhand.grade.sets import SETS, questions_of\n"
                  "print(json.dumps({q.id: [[c.name, c.says, c.points, c.needs, c.look] for c in q.cases] for s in SETS for q in questions_of(s)}))")
    right = {q.id: [[c.name, c.says, c.points, c.needs, c.look] for c in q.public] for s in CHOSEN for q in questions_of(s)}
    assert json.loads(said) == json.loads(json.dumps(right))


ANSWERS = """
import numpy as np
from byhand.grade import check, example, hint, solution
def attention(Q, K, V, mask=None):
    S = Q @ K.mT
    if mask is not None:
        S = np.where(mask, S, -1e30)
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    A = E / E.sum(axis=-1, keepdims=True)
    if mask is not None:
        A = A * np.any(mask, axis=-1, keepdims=True)
    return A @ V, A
def softmax_vjp(dA, A):
    return A * (dA - (A * dA).sum(axis=-1, keepdims=True))
from byhand.np.gradcheck import numerical_gradient
for answer in (attention, softmax_vjp):
    print(repr(check(answer)))
hint("04.1")
print(solution("04.1"), sorted(example("04.1")))
"""


def test_check_says_there_what_it_says_here(folder):
    """Full marks for a right answer; a known mistake is named, though its code is not there."""
    scope = {"__name__": "answers"}
    exec(ANSWERS.split("from byhand.np")[0], scope)
    said = python(folder, ANSWERS)
    for name in ("attention", "softmax_vjp"):
        assert repr(scope["check"](scope[name])) in said
    assert "the scores are not divided by √d_k" in said and "04.2  softmax_vjp  2 / 2 points" in said
    assert "04.1, hint 1 of 3: Four lines" in said and "['K', 'Q', 'V']" in said


@pytest.mark.parametrize("set_id", SETS)
def test_numbers_of_mistakes_stand_for_their_code(set_id):
    """Of each set some mistakes: `check` with what they give says what it says with what they do."""
    import dataclasses

    from byhand.grade.examine import Report, examine
    from byhand.grade.mistakes import arrays_of
    from byhand.grade.sets import expected_arrays

    question = min(questions_of(set_id), key=lambda q: (q.torch, len(q.mutants) * len(q.cases)))
    stored = arrays_of(set_id) if set_id in CHOSEN else None
    blind = dataclasses.replace(question, mutants=tuple(dataclasses.replace(m, function=None) for m in question.mutants))
    seen = {}
    for mutant in question.mutants:
        for case in question.public:
            inputs = make_inputs(question, case)
            seen[mutant.name, case.name] = finish(question, inputs, run(mutant.function, inputs, question))
    for mutant in question.mutants[:4]:
        reports = [repr(Report(q, examine(q, mutant.function, lambda case: expected_arrays(question, case), question.public, order=0, seen=dict(s))))
                   for q, s in ((question, {}), (blind, seen))]
        assert reports[0] == reports[1] and mutant.message in reports[0]
    if stored:
        index = json.loads(stored["index"].tobytes())
        assert {(m, c) for i, m, c, *_ in index if i == question.id} == set(seen)


def test_the_notebooks_run_from_top_to_bottom(folder):
    import nbformat
    from nbclient import NotebookClient

    name = notebook_of("04")
    notebook = nbformat.read(folder / name, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("import os\nos.environ['BYHAND_PROGRESS'] = ''\nimport byhand\nbyhand.__file__"))
    before = os.environ.pop("PYTHONPATH", None)
    try:
        NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    finally:
        if before is not None:
            os.environ["PYTHONPATH"] = before
    assert str(folder) in notebook.cells[0].outputs[0]["data"]["text/plain"]
    said = json.dumps([cell.get("outputs") for cell in notebook.cells])
    assert said.count("not attempted") == len(questions_of("04"))


def test_links_lead_somewhere(files):
    with_book = bundle.files_of(["04"], "https://example.org/book/")
    text, plain = (f["ex04_attention.ipynb"].decode() for f in (with_book, files))
    assert "](https://example.org/book/04_attention.html)" in text and "](../" not in text + plain
    assert "chapter 4" in plain and "example.org" not in plain


def test_a_zip_is_the_same_each_time_and_a_folder_must_be_empty(files, folder, tmp_path):
    one, two = (bundle.write(files, tmp_path / name / "week.zip") for name in ("a", "b") if (tmp_path / name).mkdir() is None)
    assert one.read_bytes() == two.read_bytes()
    assert sorted(zipfile.ZipFile(one).namelist()) == [f"week/{name}" for name in sorted(files)]
    with pytest.raises(ValueError, match="expected a new or an empty folder"):
        bundle.write(files, folder)


def test_the_command(tmp_path, capsys):
    assert cli.main(["bundle", "01", "--out", str(tmp_path / "w")]) == 0
    assert "files in" in capsys.readouterr().out and (tmp_path / "w" / "ex01_recurrent.ipynb").is_file()
    assert cli.main(["bundle", "01", "--out", str(tmp_path)]) == cli.WRONG and "--out is" in capsys.readouterr().err


def test_only_what_is_needed_goes_along(files):
    python_files = [name for name in files if name.endswith(".py")]
    assert not [name for name in files if re.search(r"reference|course|selfcheck|solutions/s|equation|s05|byhand/pt", name)]
    assert "byhand/np/gradcheck.py" in files and "byhand/np/attention.py" not in files
    assert not [node for name in python_files if name.endswith("mutants.py") for node in ast.walk(ast.parse(files[name])) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    needs = set().union(*(modules.packages_in(files[name].decode()) for name in python_files))
    pinned = {line.split("==")[0] for line in files["requirements.txt"].decode().splitlines()}
    assert needs <= pinned and {"numpy", "torch", "jupyterlab"} <= pinned and "+" not in files["requirements.txt"].decode()


# Leaks: the package has none, and each kind that is planted is found


def test_no_function_given_to_students_is_an_answer(folder):
    """Whatever is defined in a set's own modules, called as an answer, does not get full marks."""
    said = python(folder, """
import importlib, inspect, warnings
from byhand.grade.sets import SETS, questions_of, expected_arrays
from byhand.grade.examine import examine, score
from byhand.grade.mistakes import seen_of
warnings.simplefilter("ignore")
tried = 0
for s, name in SETS.items():
    cases = importlib.import_module(f"byhand.grade.sets.{name}.cases")
    for q in questions_of(s):
        most = len(inspect.signature(q.stub).parameters)
        for f in vars(cases).values():
            if inspect.isfunction(f) and f.__module__ == cases.__name__ and len(inspect.signature(f).parameters) == most:
                tried += 1
                got = score(q, examine(q, f, lambda c: expected_arrays(q, c), seen=seen_of(q)))
                assert got < q.points, (q.id, f.__name__)
print(tried)
""")
    assert int(said) > 20


def test_nothing_is_found_in_the_package(files):
    assert leaks(files, CHOSEN) == []


def test_what_one_set_gives_out_is_no_secret_of_another(files):
    """Set 04 makes inputs with a softmax, and mistakes of set 09 have one that is the same but for its name."""
    name = "byhand/grade/sets/s04_attention/cases.py"
    assert list(_code({name: files[name].decode()}, ["04", "09"])) == []


@pytest.mark.parametrize("set_id", SETS)
def test_what_is_given_out_makes_the_same_inputs(set_id):
    """The cases of every set, cut down to what public ones need, give the arrays that the whole ones give."""
    import types

    from byhand.grade.sets import expected_path

    text = bundle._cases(set_id).decode()
    cut, whole = types.ModuleType("cases"), __import__(f"byhand.grade.sets.{SETS[set_id]}.cases", fromlist=["x"])
    exec(compile(text, f"{expected_path(set_id)}/cases.py", "exec"), vars(cut))
    tree = ast.parse(inspect.getsource(sys.modules[f"byhand.grade.sets.{SETS[set_id]}.questions"]))
    made = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Case" and not bundle._is_hidden(node):
            source = ast.unparse(node.args[1])
            if source.startswith("cases."):
                a, b = (eval(source, {"cases": m})(np.random.default_rng(1)) for m in (cut, whole))
                assert list(a) == list(b) and all(np.array_equal(a[k], b[k], equal_nan=b[k].dtype.kind == "f") for k in a if isinstance(b[k], np.ndarray))
                made += 1
    assert made >= 8


def reference(set_id, name):
    module = __import__(f"byhand.grade.reference.{SETS[set_id]}", fromlist=["x"])
    return inspect.getsource(getattr(module, name))


def renamed(source):
    """The same with other names, no docstring, and a helper's name for its own."""
    tree = ast.parse(source)
    names = sorted({x.arg for x in ast.walk(tree) if isinstance(x, ast.arg)} | {x.id for x in ast.walk(tree) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)})
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.arg = f"q{names.index(node.arg)}"
        elif isinstance(node, ast.Name) and node.id in names:
            node.id = f"q{names.index(node.id)}"
    tree.body[0].name = "helper"
    return ast.unparse(tree)


def planted():
    from byhand.grade.sets import expected_key

    question = questions_of("04")[1]
    hidden = next(c for c in question.cases if c.hidden)
    inputs = make_inputs(question, hidden)
    right = finish(question, inputs, run(references_of("04")[question.name], inputs, question)).arrays[0]
    solution = solutions.solutions_of("04")["04.3"]
    prose = max(solution.split("```")[0].splitlines(), key=len)
    cell = {"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": solutions.code_of(solution)}]}
    output = {"cells": [{"cell_type": "code", "metadata": {}, "source": "x", "outputs": [{"text": [repr(right.tolist())]}]}]}
    npz = bundle._npz({expected_key(question, hidden, "dS"): np.zeros(3)})
    text = inspect.getsource(sys.modules[f"byhand.grade.sets.{SETS['04']}.questions"])
    return {
        "a reference": ("byhand/grade/extra.py", reference("04", "attention"), "has attention, of the reference"),
        "a reference renamed": ("notes.py", renamed(reference("04", "sink_gradients")), "has sink_gradients, of the reference"),
        "a reference in a page": ("notes.md", "Look:\n```python\n" + renamed(reference("04", "sink_gradients")) + "\n```\n", "has sink_gradients"),
        "a reference inside another function": ("notes.py", "def f():\n" + "\n".join("    " + line for line in reference("04", "attention").splitlines()), "has attention"),
        "half a reference": ("notes.py", "\n".join(x for x in reference("04", "attention").splitlines()[-6:]), "has a line of the reference"),
        "a solution in a notebook": ("extra.ipynb", json.dumps(cell), "of the solution of 04.3"),
        "a derivation": ("notes.md", prose, "has a line of 04.3"),
        "code of a mistake": ("notes.py", inspect.getsource(sys.modules[f"byhand.grade.sets.{SETS['04']}.mutants"]._attention), "of the known mistakes"),
        "questions with hidden cases": ("q.py", text, "has the hidden case 'another batch' of 04.1"),
        "a key of a hidden case": ("more.npz", npz, "is of a hidden case"),
        "numbers of a hidden case": ("more.npz", bundle._npz({"x": right}), "numbers of the hidden case 'square' of 04.2"),
        "numbers of a hidden case as raw bytes": ("more.bin", b"abc" + inputs["dA"].tobytes(), "numbers of the hidden case 'square' of 04.2"),
        "numbers of a hidden case in an output": ("extra.ipynb", json.dumps(output), "numbers of the hidden case 'square' of 04.2"),
    }


KINDS = ["a reference", "a reference renamed", "a reference in a page", "a reference inside another function", "half a reference", "a solution in a notebook", "a derivation", "code of a mistake", "questions with hidden cases", "a key of a hidden case", "numbers of a hidden case", "numbers of a hidden case as raw bytes", "numbers of a hidden case in an output"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_leak_is_found(kind, files):
    every = planted()
    assert list(every) == KINDS
    name, data, says = every[kind]
    found = leaks(files | {name: data if isinstance(data, bytes) else data.encode()}, ["04"])
    assert any(says in text for text in found), found


def test_a_package_that_leaks_is_not_written(monkeypatch):
    """The notebook that goes out has an answer left in it."""
    real = bundle._notebook

    def careless(path, *rest):
        notebook = json.loads(real(path, *rest))
        notebook["cells"].append({"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": reference("04", "attention")})
        return json.dumps(notebook).encode()

    monkeypatch.setattr(bundle, "_notebook", careless)
    with pytest.raises(ValueError, match="would give answers away: ex04_attention.ipynb"):
        bundle.files_of(["04"])


def test_a_form_knows_functions_but_for_their_names():
    same = ["def f(x, y):\n    '''a'''\n    z = x + y\n    return np.exp(z)", "def g(a: int, b) -> int:\n    c = a + b\n    return np.exp(c)"]
    other = ["def f(x, y):\n    z = y + x\n    return np.exp(z)", "def f(x, y):\n    z = x + y\n    return np.log(z)", "def f(x, y):\n    z = x + y + 1\n    return np.exp(z)"]
    forms = [trees.form(trees.functions_in(text)[0]) for text in (*same, *other)]
    assert forms[0] == forms[1] and len(set(forms)) == 4
