# ruff: noqa: E501
"""What an answer may lean on: modules of the library, and the answer to an earlier question."""


import pytest
from byhand.grade.course import grading, modules, submission
from byhand.grade.sets import SETS, questions_of
from confining import confined
from hostile import notebook
from proofs import as_shipped

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


# Answers to earlier questions (R6)


TURN = """
def turned_pairs(X, dY, positions, base):
    d = X.shape[-1]
    angle = positions[:, None] * base ** (-np.arange(0, d, 2) / d)
    c, s = np.cos(angle), np.sin(angle)

    def turn(Z, s):
        Y = np.empty_like(Z)
        Y[..., 0::2], Y[..., 1::2] = Z[..., 0::2] * c - Z[..., 1::2] * s, Z[..., 0::2] * s + Z[..., 1::2] * c
        return Y

    return turn(X, s), turn(dY, -s)
"""
WRONG_TURN = TURN.replace("turn(X, s), turn(dY, -s)", "turn(X, -s) * 2, turn(dY, -s)")
CONTINUED = """
def turn(X, places, base):
    return turned_pairs(X, X, places, base)[0]

def continued_attention(Q, K, V, keys, values, base):
    m, n, d = len(keys), len(Q), Q.shape[1]
    keys = np.concatenate([keys, turn(K, m + np.arange(n), base)])
    S = np.where(np.tri(n, m + n, m, dtype=bool), turn(Q, m + np.arange(n), base) @ keys.T / np.sqrt(d), -np.inf)
    E = np.exp(S - S.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True) @ np.concatenate([values, V]), keys
"""
HEAD = "import numpy as np\n"


@confined
def test_with_its_own_helper_right_nothing_is_lent(tmp_path):
    found = graded(tmp_path, "03", HEAD, TURN, CONTINUED)
    assert (found["03.2"].points, found["03.11"].points, found["03.11"].lent) == (4, 4, ())


@confined
@pytest.mark.parametrize("helper", [WRONG_TURN, "", "def turned_pairs(X, dY, positions, base):\n    ...\n",
                                    "class turned_pairs:\n    pass", "import torch\n" + TURN.replace("np.cos(angle)", "torch.cos(angle)")],
                         ids=["wrong", "missing", "not attempted", "a class", "not allowed"])
def test_an_answer_does_not_pay_for_an_earlier_one(helper, tmp_path):
    """It counts with the right helper, which earns nothing for the earlier question, and says so."""
    found = graded(tmp_path, "03", HEAD, helper, CONTINUED)
    assert found["03.2"].points < 4 and found["03.11"].points == 4 and found["03.11"].lent == ("turned_pairs",)
    assert found["03.11"].text.splitlines()[:2] == [
        "03.11  continued_attention  4 / 4 points", "  It counts with a right turned_pairs in the place of yours. With yours:"]


@confined
def test_an_answer_that_is_wrong_itself_stays_wrong(tmp_path):
    found = graded(tmp_path, "03", HEAD, WRONG_TURN, CONTINUED.replace("m + np.arange(n), base) @", "np.arange(n), base) @"))["03.11"]
    alone = graded(tmp_path, "03", HEAD, TURN, CONTINUED.replace("m + np.arange(n), base) @", "np.arange(n), base) @"))["03.11"]
    assert found.points == alone.points < 4 and alone.lent == () and "yours" in alone.text
    free = graded(tmp_path, "03", HEAD, WRONG_TURN, CONTINUED.replace("turned_pairs(X, X, places, base)[0]", "X"))["03.11"]
    assert free.lent == ()  # it does not call the earlier one


@confined
def test_who_looks_into_the_lent_function_gives_nothing_of_it_back(tmp_path):
    """It is there only after the earlier question has its points, and of that run nothing but points comes out."""
    spy = CONTINUED.replace("    m, n, d = ", """    code = turned_pairs.__code__
    if "<lent>" in code.co_filename and len(Q) == 1:
        raise ValueError("SPY" + code.co_code.hex())
    m, n, d = """)
    seen = []

    def confine(*given):
        from byhand.grade.course import sandbox

        seen.append(sandbox.confined(*given))
        return seen[-1]

    found = graded(tmp_path, "03", HEAD, WRONG_TURN, spy, confine=confine)
    assert len(seen) == 2 and b"SPY" in seen[1].data and b"SPY" not in seen[0].data  # it did look
    assert found["03.11"].points == 3 and found["03.11"].lent and found["03.2"].points < 4
    assert "SPY" not in str(found)


def test_what_is_lent_is_the_earlier_answer_and_no_later_one():
    """Every relation is one that a right answer makes use of, goes back, and hands out no answer of its own."""
    import inspect

    from byhand.grade.course import inputs
    from byhand.grade.examine import examine, score
    from byhand.grade.forbid import names_in
    from byhand.grade.sets import expected_arrays, references_of

    relations = 0
    for set_id in SETS:
        questions, right = questions_of(set_id), references_of(set_id)
        for place, q in enumerate(questions):
            calls = {p.id for p in questions if p is not q and p.name in names_in(inspect.getsource(right[q.name]))}
            assert calls <= set(q.uses) <= {p.id for p in questions[:place]}
            for p in (p for p in questions if p.id in q.uses):
                relations += 1
                source = inputs.right_functions(set_id, [p.name], q.name)[p.name]
                compile(source, "lent", "exec")
                assert f"def {p.name}(" in source and f"def {q.name}(" not in source
                assert score(q, examine(q, right[p.name], lambda case, q=q: expected_arrays(q, case))) == 0
    assert relations == 4
    with pytest.raises(ValueError, match="may use layer_is_right, whose right answer needs slope itself"):
        inputs.right_functions("00", ["layer_is_right"], "slope")


@confined
def test_what_was_lent_is_kept_and_said(tmp_path, capsys):
    from byhand.grade.course import cli
    from byhand.grade.course.store import Store

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ann.ipynb").write_bytes(notebook(HEAD, WRONG_TURN, CONTINUED))
    (tmp_path / "in" / "ben.ipynb").write_bytes(notebook(HEAD, TURN, CONTINUED))
    line = ["--store", str(tmp_path / "grades")]
    for words in (["collect", "03", str(tmp_path / "in")], ["grade", "03"], ["status", "03"], ["feedback", "03"]):
        assert cli.main([*line, *words]) == 0
    assert "ann 03.11 counts with a right turned_pairs" in capsys.readouterr().out
    with Store(tmp_path / "grades" / "03") as store:
        assert store.lent() == [("ann", "03.11", ["turned_pairs"])]
        assert {(p["student"], p["question"]): p["automatic"] for p in store.points() if p["question"] == "03.11"} == {("ann", "03.11"): 4, ("ben", "03.11"): 4}
    page = next((tmp_path / "grades" / "03" / "reports").glob("ann*")).read_text()
    assert "with a right turned_pairs" in page
