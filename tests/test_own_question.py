# ruff: noqa: E501
"""The page for instructors, followed word for word: the question that it adds proves itself, is graded and given out."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import byhand
import pytest
from confining import confined
from hostile import notebook

COURSE = Path(byhand.__file__).parents[2]
PAGE, _, WHOLE_SET = (COURSE / "book" / "instructor.md").read_text(encoding="utf-8").partition("## A whole set of your own\n")
WANTED = [f"sets/s04_attention/{name}.py" for name in ("stubs", "cases", "mutants", "questions")] + [
    "reference/s04_attention.py", "solutions/s04_attention.md", "book/exercises/ex04_attention.ipynb"]


def blocks(page=PAGE):
    """The pieces of the page by the file that they go to."""
    found, lines = {}, iter(page.splitlines())
    for line in lines:
        fence = re.match(r"(`{3,})(python|markdown)$", line)
        if fence and (name := re.match(r"(?:# |<!-- )(\S+\.\w+(?:, the imports)?)(?: -->)?$", next(lines))):
            body = []
            while (line := next(lines)) != fence[1]:
                body.append(line)
            found[name[1]] = "\n".join(body) + "\n"
    return found


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """A copy of the course with the question added, by the page alone."""
    root, pieces = tmp_path_factory.mktemp("course"), blocks()
    assert sorted(pieces) == sorted(WANTED)
    for name in ("lib", "tools", "book/exercises"):
        shutil.copytree(COURSE / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "LICENSE-TEXT"):
        shutil.copy(COURSE / name, root)
    grade = root / "lib" / "byhand" / "grade"
    for name, text in pieces.items():
        if name.endswith("questions.py"):
            path = grade / name
            whole = path.read_text().rstrip()
            assert whole.endswith(",\n)")
            path.write_text(whole[:-1] + text + ")\n")
        elif name.endswith((".py", ".md")):
            with (grade / name).open("a") as file:
                file.write("\n\n" + text)
    path = root / "book" / "exercises" / "ex04_attention.ipynb"
    page = json.loads(path.read_text())
    stub = pieces["sets/s04_attention/stubs.py"]
    for i, (kind, text) in enumerate((("markdown", pieces["book/exercises/ex04_attention.ipynb"]), ("code", stub), ("code", "check(ahead)"), ("code", '# hint("04.14")'))):
        page["cells"].append({"cell_type": kind, "id": f"new{i}", "metadata": {}, "source": text} | ({"outputs": [], "execution_count": None} if kind == "code" else {}))
    path.write_text(json.dumps(page))
    run(root, "tools/make_expected.py")
    return root


def run(root, *line, code=0):
    env = os.environ | {"PYTHONPATH": str(root / "lib"), "BYHAND_PROGRESS": "", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *line], cwd=root, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_the_set_with_the_new_question_proves_itself(scratch):
    assert run(scratch, "-m", "byhand.grade", "selfcheck", "04") == "0 problems\n"
    said = run(scratch, "-c", """
from byhand.grade import check
from byhand.grade.solutions import solutions_of, code_of
import numpy as np
scope = {"np": np}
exec(code_of(solutions_of("04")["04.14"]), scope)
print(repr(check(scope["ahead"])), repr(check("04.14", lambda m, gap: np.exp(gap) / (m - 1))))
""")
    assert "04.14  ahead  1 / 1 points" in said and "the key over the others: divide by all keys" in said


def test_each_clause_of_it_stands_in_its_statement():
    pieces = blocks()
    for words, _ in re.findall(r'\("([^"]+)", "(a few keys)"\)', pieces["sets/s04_attention/questions.py"]):
        assert words in pieces["book/exercises/ex04_attention.ipynb"]


def test_it_is_given_out_without_its_answer(scratch):
    run(scratch, "-m", "byhand.grade", "bundle", "04", "--out", "new")
    assert '"def ahead(m, gap):' in (scratch / "new" / "ex04_attention.ipynb").read_text()
    text = "".join(path.read_text() for path in (scratch / "new").rglob("*.py"))
    assert "04.14" in text and "more keys" not in text and "one_ahead" in text and "(m - 1)" not in text.replace("1 / (1 + (m - 1) * np.exp(-gap)).", "")


@confined
def test_it_is_graded(scratch):
    (scratch / "lab.ipynb").write_bytes(notebook("import numpy as np", "def ahead(m, gap):\n    return 1 / (1 + (m - 1) * np.exp(-gap))"))
    said = run(scratch, "-m", "byhand.grade", "check", "lab.ipynb", "--set", "04")
    assert "04.14  ahead  1 / 1 points" in said and "1 of 1 points" in said
