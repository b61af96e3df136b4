# ruff: noqa: E501
"""What an answer may lean on: modules of the library, and the answer to an earlier question."""

import os
import shutil

import pytest
from byhand.grade.course import grading, modules, submission
from byhand.grade.sets import SETS, questions_of
from hostile import notebook
from proofs import as_shipped

HAS_SANDBOX = shutil.which("bwrap") and shutil.which("prlimit")
confined = pytest.mark.skipif(not HAS_SANDBOX and not os.environ.get("CI"),
                              reason="NO SUBMISSION CAN BE GRADED HERE: bubblewrap is missing")
KEY = b"a student's key"


@pytest.fixture(scope="module", autouse=True)
def plain():
    with as_shipped():
        yield


def graded(tmp_path, set_id, *cells, **how):
    (tmp_path / "a.ipynb").write_bytes(notebook(*cells))
    return {g.question: g for g in grading.grade(submission.read(tmp_path / "a.ipynb"), set_id, KEY, **how)}


# Modules


BY_LIBRARY = """
import numpy as np
from byhand.np.gradcheck import numerical_gradient

def layer_is_right(forward, backward, X, rng):
    dY = rng.normal(size=X.shape)
    measured = numerical_gradient(lambda X: float((dY * forward(X)).sum()), X)
    return bool(np.abs(backward(dY, X) - measured).max() <= 1e-4 * np.abs(measured).max())
"""


@confined
def test_a_module_that_a_question_allows_is_in_the_sandbox(tmp_path):
    found = graded(tmp_path, "00", BY_LIBRARY)["00.6"]
    assert found.points == found.max_points, found.text


def test_what_a_question_allows_is_there_and_not_forbidden():
    allowed = {q.id: q for set_id in SETS for q in questions_of(set_id) if q.library}
    assert set(allowed) == {q.id for set_id in SETS for q in questions_of(set_id) if "byhand" not in q.forbid}
    for question in allowed.values():
        for name in question.library:
            assert modules.file_of(name) is not None
            assert not [m for m in modules.needed(name) if m.startswith(("byhand.grade", "byhand.pt"))]
