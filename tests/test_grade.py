"""The exercise sets prove themselves, the checker says the right thing, and no answer talks it into a wrong one.

Wrong checkers are kept below (WRONG_ENGINES) and run: each must misjudge one of the probes that ours judges right.
"""

import ast
import importlib
import inspect
import io
import linecache
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import byhand.np.attention as library_attention
import byhand.np.gradcheck as library_gradcheck
import byhand.np.linear as library_linear
import byhand.np.softmax as library_softmax
import exercise_table
import make_expected
import nbformat
import numpy as np
import pytest
from byhand import grade
from byhand.grade import check, example, hint, memory, summary
from byhand.grade import examine as examine_module
from byhand.grade import recognise as recognise_module
from byhand.grade import run as run_module
from byhand.grade.examine import Report, examine, score
from byhand.grade.forbid import names_in, names_of
from byhand.grade.form import about_names, about_numbers
from byhand.grade.judge import Verdict, _exchanged, judge
from byhand.grade.model import (
    EXACT,
    FORBIDDEN,
    NOTHING,
    SEVEN_DIGITS,
    Case,
    Mutant,
    Question,
    WrongAnswer,
    kind_of,
    make_inputs,
    places_of_names,
)
from byhand.grade.recognise import recognise, same_array, shows
from byhand.grade.run import Result, run
from byhand.grade.selfcheck import balance, problems
from byhand.grade.sets import (
    SETS,
    all_questions,
    expected_arrays,
    expected_key,
    notebook_of,
    questions_of,
    references_of,
)
from byhand.grade.shapes import about_shape
from byhand.grade.solutions import code_of, solutions_of
from rewritten import rewritten

selfcheck_module = importlib.import_module("byhand.grade.selfcheck")  # its name in the package is that of the function
ROOT = Path(__file__).parents[1]
QUESTIONS = {question.id: question for question in all_questions()}
REFERENCES = {q.id: references_of(q.id.split(".")[0])[q.name] for q in all_questions()}


@pytest.fixture(autouse=True)
def fresh_memory(monkeypatch):
    monkeypatch.setattr(memory, "_here", {})
    monkeypatch.setenv("BYHAND_PROGRESS", "")


# ---------------------------------------------------------------- a small question to try the engine on


def pair(X, y):
    """P = 2 X (3, 4) and s = column sums of X, plus y, (4,)."""
    ...


def right_pair(X, y):
    return 2 * X, X.sum(axis=0) + y


def make_pair(rng):
    return {"X": rng.normal(size=(3, 4)), "y": rng.normal(size=4)}


TOY = Question(
    id="99.1",
    title="A pair",
    stub=pair,
    returns=("P", "s"),
    minutes=15,
    section="9.1",
    clauses=(("twice X", "values"), ("the column sums", "sum")),
    hints=("one", "two", "np.sum"),
    cases=(
        Case("values", make_pair, "three rows", 2),
        Case("sum", make_pair, "the sum alone", 1, needs=("values",), look=("s",)),
        Case("more", make_pair, "again", guards="values"),
    ),
    mutants=(
        Mutant("triple", lambda X, y: (3 * X, X.sum(axis=0) + y), "This is 3 X.", "9.1", ("values", "more")),
        Mutant("rows", lambda X, y: (2 * X, X.sum(axis=1)), "Rows are summed.", "9.2", ("values", "sum", "more")),
        Mutant("y forgotten", lambda X, y: (2 * X, X.sum(axis=0)), "y is missing.", "9.3", ("values", "sum")),
    ),
)


def toy_expected(case, question=TOY):
    return tuple(np.asarray(a) for a in right_pair(**make_inputs(question, case)))


def toy_report(answer, cases=None, question=TOY):
    return Report(question, examine(question, answer, lambda case: toy_expected(case, question), cases))


def first_kind(answer):
    return toy_report(answer).outcomes[0].verdict.kind


# ---------------------------------------------------------------- the sets


@pytest.mark.parametrize("set_id", SETS)
def test_set_proves_itself(set_id):
    assert grade.selfcheck(set_id) == []


@pytest.mark.parametrize("set_id", SETS)
def test_set_is_large_enough_and_numbered(set_id):
    questions = questions_of(set_id)
    assert [q.id for q in questions] == [f"{set_id}.{i + 1}" for i in range(len(questions))] and len(questions) >= 5


def test_a_module_of_the_checker_is_read_in_one_go():
    home = Path(grade.__file__).parent
    long = {path.name: n for path in (*home.glob("*.py"), *home.glob("course/*.py"))
            if (n := len(path.read_text(encoding="utf-8").splitlines())) > 250}
    assert not long


# A root as people write it in PyTorch: of a tensor made of an integer, which has float32's seven digits.
ROOTS = {
    "04.12": ("math.sqrt(Q.shape[-1])", "torch.sqrt(torch.tensor(Q.shape[-1]))"),
    "05.9": ("math.sqrt(d // H)", "torch.sqrt(torch.tensor(d // H))"),
    "10.10": ("W_q.shape[1] ** 0.5", "torch.tensor(W_q.shape[1]) ** 0.5"),
    "13.12": ("math.sqrt(q.shape[1])", "torch.tensor(q.shape[1]).sqrt()"),
}


@pytest.mark.parametrize("id", ROOTS)
def test_a_root_taken_by_torch_is_right(id):
    question, (old, new) = QUESTIONS[id], ROOTS[id]
    real = sys.modules[REFERENCES[id].__module__]
    text = Path(real.__file__).read_text(encoding="utf-8")
    at = text.index(f"def {question.name}(")
    around = text[at:text.index(old, at) + len(old)]
    answer = vars(rewritten(Path(real.__file__), around, around.replace(old, new), real=real))[question.name]

    def points(question):
        return score(question, examine(question, answer, lambda case: expected_arrays(question, case)))

    assert points(question) == question.points
    exact = replace(question, roots=False, cases=tuple(replace(case, rtol=EXACT) for case in question.cases))
    assert points(exact) < question.points  # what is asked of all other numbers refuses it


def test_roots_are_asked_seven_digits_and_no_other_bound_is_changed():
    loose = Case("loose", tuple, "something rounded", rtol=1e-3)
    asked = replace(TOY, roots=True, cases=(*TOY.cases, loose))
    assert {case.rtol for case in asked.cases} == {SEVEN_DIGITS, 1e-3}
    assert {question.id for question in QUESTIONS.values() if question.roots} == set(ROOTS)


def test_names_find_one_question():
    names = [q.name for q in all_questions()]
    assert len(set(names)) == len(names)


def deep_pair(rng):
    return {"X": rng.normal(size=(2, 3, 4)), "y": rng.normal(size=4)}


def large_pair(rng):
    return {"X": 1e3 * rng.normal(size=(3, 4)), "y": rng.normal(size=4)}


def promising(X, y):
    """X (*B, n, d), y (d,)."""


def with_two_letters(X, y):
    """X (n, d), y (m,), where m is always d."""


BROKEN_SETS = {
    "does not get full marks": dict(reference=lambda X, y: (3 * X, X.sum(axis=0) + y)),
    "loses no marks": dict(mutants=(*TOY.mutants, Mutant("fine", right_pair, "?", "9.1", ()))),
    "passes the case 'sum'": dict(mutants=(*TOY.mutants[1:], replace(TOY.mutants[0], caught_by=("sum",)))),
    "triggers the messages ['triple']": dict(mutants=(*TOY.mutants, replace(TOY.mutants[0], name="again"))),
    "kills no mutant": dict(mutants=(TOY.mutants[0],) * 3),
    "the stub must get no point": dict(stub=right_pair),
    "must guard a case that has points": dict(cases=(*TOY.cases, Case("x", make_pair, "", guards="nothing"))),
    "must guard a case that has points, and": dict(cases=(*TOY.cases, Case("x", make_pair, "", guards="more"))),
    "first with X of rank 3": dict(cases=(*TOY.cases, Case("x", deep_pair, "", guards="values"))),
    "first with X in the hundreds": dict(cases=(*TOY.cases, Case("x", large_pair, "", guards="values"))),
    "leading axes *B": dict(stub=promising),
    "are never all different": dict(stub=with_two_letters),
    "has no points": dict(cases=(*TOY.cases, Case("x", make_pair, ""))),
    "needs a case that does not come before": dict(cases=(*TOY.cases, Case("x", make_pair, "", 1, ("y",)))),
    "two cases have one name": dict(cases=(TOY.cases[0], *TOY.cases)),
    "three mutants": dict(mutants=TOY.mutants[:2]),
    "three hints": dict(hints=("one", "two")),
    "kind is 'quiz'": dict(kind="quiz"),
    "3 points for 40 minutes": dict(minutes=40),
    "section is '9'": dict(section="9"),
    "only the last hint may have code": dict(hints=("one", "np.sum(X)", "three")),
    "two mutants have one name": dict(mutants=(*TOY.mutants, TOY.mutants[0])),
    "no clause of the statement": dict(clauses=()),
    "no clause is tied to the public case 'sum'": dict(clauses=TOY.clauses[:1]),
    "tied to 'more', which is no public case": dict(clauses=(*TOY.clauses, ("twice X", "more"))),
    "held by a forbidden name, and there is none": dict(clauses=(*TOY.clauses, ("twice X", FORBIDDEN))),
}


def toy_problems(reference=right_pair, **changes):
    question = replace(TOY, **changes)
    return list(problems(question, reference, lambda question, case: toy_expected(case, question)))


def test_selfcheck_accepts_a_sound_question():
    assert toy_problems() == []


@pytest.mark.parametrize("complaint", BROKEN_SETS)
def test_selfcheck_finds(complaint):
    assert any(complaint in text for text in toy_problems(**BROKEN_SETS[complaint]))


BALANCED = [replace(TOY, printed=i < 2, kind=kind, torch=i == 3)
            for i, kind in enumerate(("build", "derive", "predict", "repair"))]
UNBALANCED = {
    "3 of 12 points are on": [replace(q, printed=i < 3) for i, q in enumerate(BALANCED)],
    "no question is in PyTorch": [replace(q, torch=False) for q in BALANCED],
    "one question of kind 'detect'": [replace(q, kind="detect") if i < 2 else q for i, q in enumerate(BALANCED)],
    "at least four kinds": [replace(q, kind="build") for q in BALANCED],
    "part 1 takes 80 minutes": [replace(q, minutes=20) for q in BALANCED],
}


def test_a_balanced_set_is_accepted():
    assert list(balance(BALANCED)) == []


@pytest.mark.parametrize("complaint", UNBALANCED)
def test_an_unbalanced_set_is_found(complaint):
    assert any(complaint in text for text in balance(UNBALANCED[complaint]))


def test_cases_are_the_same_every_time_and_differ_by_key():
    for question in all_questions():
        for case in question.cases:
            once, again = make_inputs(question, case), make_inputs(question, case)
            assert [run_module._bytes(v) for v in once.values()] == [run_module._bytes(v) for v in again.values()]
    values = TOY.cases[0]
    assert not np.array_equal(make_inputs(TOY, values)["X"], make_inputs(TOY, values, b"ann")["X"])


# ---------------------------------------------------------------- the right answers


def test_stored_arrays_are_those_of_the_references():
    for set_id in SETS:
        for question in questions_of(set_id):
            for case in question.public:
                inputs = make_inputs(question, case)
                result = examine_module.finish(question, inputs, run(REFERENCES[question.id], inputs, question))
                known = expected_arrays(question, case)
                for name, mine, stored in zip(question.judged, result.arrays, known, strict=True):
                    if case.look and name not in case.look:
                        continue
                    assert mine.dtype == stored.dtype and mine.shape == stored.shape
                    mine, stored = (x.astype(float) for x in (mine, stored))  # masks and counts too
                    finite = np.isfinite(stored)  # the maximum over nothing is −∞
                    assert np.array_equal(mine[~finite], stored[~finite], equal_nan=True)
                    mine, stored = mine[finite], stored[finite]
                    assert np.abs(mine - stored).max(initial=0) <= 1e-11 * np.abs(stored).max(initial=0) + 1e-15


def test_stored_files_hold_the_public_cases_alone():
    for set_id in SETS:
        stored = set(np.load(make_expected.expected_path(set_id), allow_pickle=False).files)
        assert stored == {expected_key(q, c, n) for q in questions_of(set_id) for c in q.public for n in q.judged}


def test_expected_files_do_not_depend_on_order_or_clock():
    arrays = {"b": np.arange(3.0), "a": np.array(2)}
    first = make_expected.to_bytes(arrays)
    assert first == make_expected.to_bytes(dict(reversed(arrays.items())))
    assert [i.date_time[0] for i in zipfile.ZipFile(io.BytesIO(first)).infolist()] == [1980, 1980]
    assert np.array_equal(np.load(io.BytesIO(first))["b"], arrays["b"])


def test_rounding_keeps_twelve_digits_and_drops_noise():
    assert make_expected.rounded(np.array([1 / 3, 1e-17, 5e-12])).tolist() == [0.333333333333, 0.0, 5e-12]


def test_a_stored_array_stays_where_a_tie_is_rounded_otherwise(tmp_path):
    """And only there: a unit of the eleventh digit, another shape or kind of number, and what is new are written."""
    path, new = tmp_path / "expected.npz", {"a": np.array([1.23456789012, -np.inf, 0.0, 8.0])}
    assert make_expected.settled(new, path) is new
    for place, change, stays in ((0, 1e-11, True), (0, 3e-11, False), (2, 1e-13, True), (2, 1e-12, False)):
        stored = new["a"].copy()
        stored[place] += change
        path.write_bytes(make_expected.to_bytes({"a": stored}))
        right = stored if stays else new["a"]
        assert np.array_equal(make_expected.settled(new, path)["a"], right), (place, change)
    path.write_bytes(make_expected.to_bytes({"a": new["a"][:3], "b": np.array([1, 2])}))
    other = new | {"b": np.array([1, 3]), "c": np.ones(2)}
    assert make_expected.to_bytes(make_expected.settled(other, path)) == make_expected.to_bytes(other)


def test_make_expected_notices_a_stale_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(make_expected, "expected_path", lambda set_id: tmp_path / f"{set_id}.npz")
    assert make_expected.main(["--check"]) == 1 and not list(tmp_path.iterdir())
    assert make_expected.main([]) == 0 and make_expected.main(["--check"]) == 0
    assert "written" in capsys.readouterr().out


def of_library(question_id, inputs):
    """What the library says to the inputs of a case; it was written by other hands than the references."""
    i = inputs
    match question_id:
        case "00.1":
            return library_linear.linear_backward(i["dY"], library_linear.LinearCache(i["X"], i["W"], True))
        case "00.2":
            X, W, dY = i["X"], i["W"], i["dY"]
            T = np.tanh(library_linear.linear_forward(X, W)[0])
            dT, dW_T, _ = library_linear.linear_backward(dY, library_linear.LinearCache(T, W.T, False))
            dX, dW, _ = library_linear.linear_backward(dT * (1 - T * T), library_linear.LinearCache(X, W, False))
            return dX, dW + dW_T.T
        case "00.3":
            return (library_linear.unbroadcast(i["dY"], i["shape"]),)
        case "00.4":
            rows, gather = library_linear.gather_forward(i["E"], i["ids"])
            dw = library_linear.unbroadcast((rows * i["dy"][..., None, :]).sum(axis=-1), i["w"].shape)
            return library_linear.gather_backward(i["w"][:, None] * i["dy"][..., None, :], gather), dw
        case "00.5":
            question, slopes = QUESTIONS["00.5"], library_gradcheck.numerical_gradient
            i = {**i, "X": i["X"].astype(np.float64)}
            return (question.drive(slopes, i),)
        case "04.1":
            O, cache = library_attention.attention_forward(i["Q"], i["K"], i["V"], i.get("mask"))
            return O, cache.A
        case "04.2":
            return (library_softmax.softmax_backward(i["dA"], library_softmax.SoftmaxCache(i["A"])),)
        case "04.4":
            scale = float(1 / np.sqrt(i["Q"].shape[-1]))
            dS = i["dS"]
            dQ, dK = scale * dS @ i["K"], scale * dS.T @ i["Q"]
            return tuple(library_linear.unbroadcast(d, d.shape[1:]) for d in (dQ, dK, i["A"].T @ i["dO"]))


@pytest.mark.parametrize("question_id", ["00.1", "00.2", "00.3", "00.4", "00.5", "04.1", "04.2", "04.4"])
def test_library_agrees_with_the_reference(question_id):
    question = QUESTIONS[question_id]
    for case in question.cases:
        inputs = make_inputs(question, case)
        right = run(REFERENCES[question_id], inputs, question).arrays
        for a, b in zip(of_library(question_id, inputs), right, strict=True):
            assert a.shape == b.shape and np.abs(a - b).max() <= 1e-9 * np.abs(b).max() + 1e-12, case.name


def test_self_attention_of_the_library_gives_the_bias_gradients_of_04_4():
    rng = np.random.default_rng(3)
    params = {f"W_{c}": rng.normal(size=(5, 3)) for c in "qkv"} | {f"b_{c}": rng.normal(size=3) for c in "qkv"}
    X, dO = rng.normal(size=(4, 5)), rng.normal(size=(4, 3))
    _, cache = library_attention.self_attention_forward(X, params)
    _, grads = library_attention.self_attention_backward(dO, cache)
    Q, K, V, A, _ = cache.attention
    dS = REFERENCES["04.2"](dO @ V.T, A)
    for name, db in zip("qkv", REFERENCES["04.4"](dO, dS, A, Q, K), strict=True):
        assert np.abs(grads[f"b_{name}"] - db).max() < 1e-12
    assert np.abs(grads["b_k"]).max() < 1e-14 < np.abs(grads["b_q"]).max()


def test_rows_are_the_columns_transposed():
    i = make_inputs(QUESTIONS["00.7"], QUESTIONS["00.7"].cases[0])
    X = i["X"].T  # from here on the text's own letters and shapes
    Q, K, V = (i[f"W_{c}"] @ X + i[f"b_{c}"][:, None] for c in "qkv")
    S = np.where(np.triu(np.ones((4, 4))) > 0, K.T @ Q / np.sqrt(3), -np.inf)
    A = np.exp(S) / np.exp(S).sum(axis=0)
    O_rows, A_rows = REFERENCES["00.7"](*i.values())
    assert np.abs(A_rows - A.T).max() < 1e-12 and np.abs(O_rows - (V @ A).T).max() < 1e-12


def test_best_step_has_the_smallest_bound():
    eps, f, f5 = 2.0**-52, -3.0, 0.7
    weights = {1: 8, -1: -8, 2: -1, -2: 1}  # over 12 h
    bend = abs(sum(w * k**5 for k, w in weights.items())) / 120 / 12  # what x⁵ / 120 at 0 is given for a slope
    assert sum(w * k for k, w in weights.items()) == 12 and sum(w * k**3 for k, w in weights.items()) == 0

    def bound(h):
        return sum(map(abs, weights.values())) * eps * abs(f) / 12 / h + bend * h**4 * abs(f5)

    h, least = REFERENCES["00.8"](eps, f, f5)
    around = h * np.geomspace(0.5, 2, 2001)
    assert abs(around[bound(around).argmin()] / h - 1) < 1e-3 and abs(bound(h) - least) < 1e-15 * least * 10
    for mutant in QUESTIONS["00.8"].mutants:
        wrong_h, wrong_bound = mutant.function(eps, f, f5)
        assert not (wrong_h > 0 and bound(wrong_h) <= least * (1 + 1e-9) and abs(wrong_bound / least - 1) < 1e-9)


def test_mean_and_variance_of_related_scores_are_what_a_million_scores_show():
    rng, d_k, rho = np.random.default_rng(0), 6, 0.7
    q, z = rng.uniform(-np.sqrt(3), np.sqrt(3), size=(2, 300_000, d_k))  # E[q⁴] = 9/5
    s = (q * (rho * q + np.sqrt(1 - rho**2) * z)).sum(axis=1) / np.sqrt(d_k)
    measured = np.array([s.mean(), s.var()])

    def off(function):
        return np.abs(measured / np.maximum(function(d_k, rho, 9 / 5), 1e-9) - 1).max()

    assert off(REFERENCES["04.6"]) < 0.01 and all(off(m.function) > 0.02 for m in QUESTIONS["04.6"].mutants)


def with_a_sink(Q, K, V, b):
    S = np.concatenate([np.full((*Q.shape[:-1], 1), b), Q @ K.mT / np.sqrt(Q.shape[-1])], axis=-1)
    A = np.exp(S) / np.exp(S).sum(axis=-1, keepdims=True)
    return A[..., 1:] @ V, A[..., 1:]


def cosine_scores(Q, K, T):
    unit = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (Q, K))
    return next(unit) @ next(unit).mT / T


def slopes_of(f, inputs, dY):
    return [library_gradcheck.numerical_gradient(
        lambda x, name=name: f(**inputs | {name: x if np.ndim(inputs[name]) else x[()]}), np.array(value), dY=dY)
        for name, value in inputs.items()]


def test_gradients_that_no_page_shows_are_the_slopes():
    rng = np.random.default_rng(0)
    Q, K, V = (rng.normal(size=(2, *size)) for size in ((3, 4), (5, 4), (5, 6)))
    dO, dS = rng.normal(size=(2, 3, 6)), rng.normal(size=(2, 3, 5))
    A = with_a_sink(Q, K, V, 0.3)[1]
    pairs = [
        (REFERENCES["04.3"](dO, Q, K, V, A),
         slopes_of(lambda **given: with_a_sink(**given)[0], {"Q": Q, "K": K, "V": V, "b": 0.3}, dO)),
        (REFERENCES["04.8"](dS, Q, K, 0.6), slopes_of(cosine_scores, {"Q": Q, "K": K, "T": 0.6}, dS)),
        ([REFERENCES["04.13"](Q, 0.8)[1].sum()],
         slopes_of(lambda beta: REFERENCES["04.13"](Q, beta)[0], {"beta": 0.8}, np.ones((2, 3)))),
    ]
    for mine, slopes in pairs:
        for a, b in zip(mine, slopes, strict=True):
            assert np.abs(a - b).max() < 1e-7
    a = np.exp(0.8 * Q) / np.exp(0.8 * Q).sum(axis=-1, keepdims=True)
    assert np.abs(REFERENCES["04.13"](Q, 0.8)[0] + (a * np.log(a)).sum(axis=-1)).max() < 1e-12


def test_the_two_right_layers_of_00_6_are_right_and_the_five_wrong_ones_pass_all_ones():
    cases = sys.modules["byhand.grade.sets.s00_gradcheck.cases"]
    rng = np.random.default_rng(5)
    X, dY = np.arange(2, 5)[:, None] * rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    for position, (name, (forward, backward)) in enumerate(cases.LAYERS.items()):
        def loss(moved, upstream, forward=forward):
            return float((upstream * forward(moved)).sum())

        random = np.abs(backward(dY, X) - REFERENCES["00.5"](lambda x: loss(x, dY), X)).max()  # noqa: B023
        ones = np.ones_like(X)
        fooled = np.abs(backward(ones, X) - REFERENCES["00.5"](lambda x: loss(x, ones), X)).max()  # noqa: B023
        assert (random < 1e-8) == (position < 2) and fooled < 1e-8, name


# ---------------------------------------------------------------- what the learner is told, and in which order

FAULTS = ("error", "structure", "shape", "finite", "dtype", "changed", "known", "wrong")


def faulty(*faults):
    """An answer to TOY with these faults, all at once."""

    def answer(X, y):
        P, s = (3 if "known" in faults else 2) * X, X.sum(axis=0) + y
        if "wrong" in faults:
            P[0, 0] += 1e-6
        if "changed" in faults:
            X[0, 0] += 1
        if "dtype" in faults:
            s = s.astype(np.float32)
        if "finite" in faults:
            s[1] = np.nan
        if "shape" in faults:
            s = s[None]
        if "error" in faults:
            raise ValueError("no luck")
        return (P, s, s) if "structure" in faults else (P, s)

    return answer


@pytest.mark.parametrize("fault", FAULTS)
def test_of_many_faults_the_first_is_reported(fault):
    later = FAULTS[FAULTS.index(fault) :]
    wanted = "wrong" if fault == "known" else fault
    assert first_kind(faulty(fault)) == wanted
    assert first_kind(faulty(*later)) == wanted


SAID = {
    "error": "ValueError: no luck\n        in answer, line",
    "structure": "returned 3 values, expected 2: P, s",
    "shape": "s has shape (1, 4), expected (4,)",
    "finite": "s contains nan: 1 of 4 numbers are not finite",
    "dtype": "s has dtype float32, expected float64",
    "changed": "changed its input X in place",
    "known": "This is 3 X.  -> section 9.1",
    "wrong": "largest error 1e-06 at P[0, 0]",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_message(fault):
    text = repr(toy_report(faulty(fault)))
    assert SAID[fault] in text and "99.1  pair  " in text
    assert ("This is 3 X" in text) == (fault == "known")


NESTED = replace(TOY, cases=(
    Case("nested", lambda rng: {"X": [[1, 2], (3, [4.0])], "y": {"rows": [np.zeros(2)]}}, "nested"),))
CHANGES = {
    "a list grows": (lambda X, y: X.append(0), ["X"]),
    "a list in a list is sorted": (lambda X, y: X[0].sort(reverse=True), ["X"]),
    "a list in a tuple": (lambda X, y: X[1][1].clear(), ["X"]),
    "a number becomes a truth": (lambda X, y: X[0].__setitem__(0, True), ["X"]),
    "an array in a dict": (lambda X, y: y["rows"][0].fill(1), ["y"]),
    "another name": (lambda X, y: y.update(other=0), ["y"]),
    "both": (lambda X, y: (X.pop(), y.clear()), ["X", "y"]),
    "nothing": (lambda X, y: [*X, 0], []),
}


ROWS = replace(TOY, cases=(Case("rows", lambda rng: {"X": [[1, 2], [3], []], "y": ([4, 5], [6])}, "lists in a list"),))
ROW_CHANGES = {
    "a row is sorted": (lambda X, y: X[0].sort(reverse=True), ["X"]),
    "a number goes to the next row": (lambda X, y: X[1].insert(0, X[0].pop()), ["X"]),
    "a row becomes a tuple": (lambda X, y: X.__setitem__(1, (3,)), ["X"]),
    "an empty row is gone": (lambda X, y: X.pop(), ["X"]),
    "a whole number becomes another kind": (lambda X, y: X[1].__setitem__(0, 3.0), ["X"]),
    "an array in a row": (lambda X, y: X[1].__setitem__(0, np.array(3)), ["X"]),
    "a row of a tuple": (lambda X, y: y[1].append(7), ["y"]),
    "nothing in rows": (lambda X, y: sum(map(len, X)), []),
}


@pytest.mark.parametrize(("toy", "change"), [*((NESTED, c) for c in CHANGES), *((ROWS, c) for c in ROW_CHANGES)],
                         ids=[*CHANGES, *ROW_CHANGES])
def test_what_changes_inside_an_input_is_seen(toy, change):
    act, names = (CHANGES | ROW_CHANGES)[change]
    inputs = make_inputs(toy, toy.cases[0])
    given = repr(inputs)
    found = run(lambda X, y: (act(X, y), np.zeros(2), np.zeros(2))[1:], inputs, toy)
    assert list(found.changed) == names and repr(inputs) == given


@pytest.mark.parametrize("id, wrong", [
    ("13.1", lambda sources, targets, pad, bos, eos, ignore: [t.append(eos) for t in targets]),
    ("13.7", lambda hypotheses, references, order: [refs.sort() for refs in references]),
    ("13.12", lambda Y, M, *rest: M.data.fill_(0)),
])
def test_an_answer_that_changes_lists_or_the_data_of_a_tensor_loses_its_points(id, wrong):
    right = REFERENCES[id]

    def answer(*given):
        found = right(*given)
        wrong(*given)
        return found

    assert check(id, right).passed
    report = check(id, answer)
    assert report.points < report.max_points and "in place; work on a copy" in repr(report)


def test_of_many_inputs_the_first_shapes_are_shown_and_the_others_counted():
    def many(rng):
        return make_pair(rng) | {f"W_{k}": rng.normal(size=(3, 4)) for k in range(12)}

    question = replace(TOY, cases=(Case("values", many, "many arrays", 2),), mutants=())
    outcomes = examine(question, lambda X, y, *rest: (X, y), lambda case: (np.ones((3, 4)), np.ones(4)))
    (line,) = (line for line in repr(Report(question, outcomes)).splitlines() if "FAIL" in line)
    assert line.endswith("and 6 more") and "X (3, 4)  y (4,)  W_0 (3, 4)" in line and len(line) < 120
    assert examine_module._shapes(make_pair(np.random.default_rng(0))) == "X (3, 4)  y (4,)"


def test_right_answer_gets_full_marks():
    report = toy_report(right_pair)
    assert (report.points, report.max_points, report.passed) == (3, 3, True)
    assert "ok    values  three rows" in repr(report) and "FAIL" not in repr(report)


def test_numbers_of_a_public_case_are_shown():
    lines = repr(toy_report(faulty("known"))).splitlines()
    X = make_inputs(TOY, TOY.cases[0])["X"]
    row = np.abs(X).max(axis=1).argmax()  # 3 X is farthest from 2 X where X is largest
    assert f"        yours     [{'  '.join(f'{3 * x:.4g}' for x in X[row])}]" in lines
    assert f"        expected  [{'  '.join(f'{2 * x:.4g}' for x in X[row])}]" in lines


def test_nearly_equal_numbers_are_shown_with_the_digits_that_differ():
    lines = repr(toy_report(faulty("wrong"))).splitlines()
    mine, theirs = (line.split("[")[1] for line in lines if "yours" in line or "expected" in line)
    assert mine != theirs


def test_a_hidden_case_shows_no_numbers_but_names_the_mistake():
    hidden = [case for case in TOY.cases if case.hidden]
    text = repr(toy_report(faulty("known"), hidden))
    assert "This is 3 X" in text and "FAIL" in text and "yours" not in text and "expected  " not in text
    assert "yours" in repr(toy_report(faulty("known")))


def test_a_hidden_case_takes_away_the_points_it_guards():
    def only_displayed(X, y):
        seen = np.array_equal(X, make_inputs(TOY, TOY.cases[0])["X"])
        return right_pair(X, y) if seen else (0 * X, X.sum(axis=0) + y)

    public, everything = toy_report(only_displayed), toy_report(only_displayed, TOY.cases)
    assert public.points == 3 and everything.points == 1 == score(TOY, everything.outcomes)


def test_an_open_guard_is_seen_by_all_and_takes_away_the_points_it_guards():
    question = replace(TOY, cases=(*TOY.cases, Case("deep", deep_pair, "rank 3", guards="values", open=True)))
    report = toy_report(lambda X, y: right_pair(X, y) if X.ndim == 2 else (3 * X, X.sum(axis=0) + y), question=question)
    assert (report.points, report.max_points) == (1, 3) and "FAIL  deep" in repr(report) and "yours" in repr(report)


ACCEPTED_BEFORE = {  # question: a wrong answer that got all points, and the mutant whose message it hears now
    "05.3": "maps not summed over the sequences",
    "05.2": "every mask a batch of masks",
    "07.1": "alpha forgotten",
    "07.2": "alpha on none",
    "07.6": "overflow",
    "03.4": "positions ignored",
    "04.1": "largest of all scores",
    "08.6": "the first ones",
    "09.6": "a bias for the gate",
    "10.1": "pad tells the end",
    "00.12": "bit for bit",
    "01.8": "half a token",
    "03.3": "few digits",
}


@pytest.mark.parametrize("question_id", ACCEPTED_BEFORE)
def test_an_answer_that_the_statement_forbids_loses_points_in_a_public_case(question_id):
    question = QUESTIONS[question_id]
    (mutant,) = (m for m in question.mutants if m.name == ACCEPTED_BEFORE[question_id])
    report = Report(question, examine(question, mutant.function, lambda case: expected_arrays(question, case)))
    assert report.points < report.max_points and mutant.message in repr(report)


def test_biases_that_add_up_to_the_right_ones_are_right_whatever_their_shares_and_their_dtype():
    import torch

    def shared(d, h, steps):
        net = torch.nn.LSTM(d, h, batch_first=True)
        wanted = torch.zeros(4, h)
        wanted[1] = np.log(steps - 1)
        net.bias_ih_l0.data = wanted.flatten() - net.bias_hh_l0.data
        return net

    def in_float64(d, h, steps):
        net = torch.nn.LSTM(d, h, batch_first=True).double()
        for bias in (net.bias_ih_l0, net.bias_hh_l0):
            torch.nn.init.zeros_(bias)
        net.bias_hh_l0.data[h : 2 * h] = np.log(steps - 1)
        return net

    for right in (shared, in_float64):
        assert check("01.5", right).passed, right
    assert not check("01.5", lambda d, h, steps: shared(d, h, steps * (1 + 1e-4))).passed


def test_a_mask_that_is_changed_in_place_is_seen():
    import torch

    def changes(Q, K, V, mask):
        S, seen = Q @ K.mT / Q.shape[-1] ** 0.5, mask.any(dim=-1, keepdim=True)
        mask |= ~seen
        return (S.masked_fill(~mask, -torch.inf).softmax(dim=-1) * seen) @ V

    report = check("04.12", changes)
    assert not report.points and "changed its input mask in place" in repr(report)


def test_one_clock_and_one_strength_do_not_do_for_every_text():
    def one_clock(back, n, d_k, base):
        q, k = np.zeros((2, d_k))
        k[0], q[:2] = 1e3, (1e3 * np.cos(back), -1e3 * np.sin(back))
        return q, k

    def one_strength(n, p):
        i = np.arange(n)
        return 10 * np.stack([2.0 * (i - 1), -np.ones(n)], 1), np.stack([i, i**2], 1).astype(float)

    assert "FAIL  a very long text" in repr(check("03.9", one_clock))
    assert "the weight 0.99830" in repr(check("04.11", one_strength))


def test_what_holds_at_one_end_of_two_bounds_alone_is_found_out():
    """The case that takes both at their hard ends, or the smallest size."""
    from byhand.grade.sets.s08_mask.cases import NAMES, masked_in

    def one_strength_on_a_circle(n, p):
        i, step = np.arange(n), 2 * np.pi / n
        return 1e3 * np.c_[np.cos(step * (i - 1)), np.sin(step * (i - 1))], np.c_[np.cos(step * i), np.sin(step * i)]

    def one_strength_for_words(size, p):
        M_1, N_1, M_2, N_2 = REFERENCES["05.10"](size, 0.99999)
        return M_1, N_1, M_2, N_2

    def last_name_first(S, A):
        return next(name for name in reversed(NAMES) if np.allclose(masked_in(S, name), A))

    for id, answer, name in (
        ("04.11", one_strength_on_a_circle, "longest, and nearly all"),
        ("05.10", one_strength_for_words, "many, and nearly certain"),
        ("08.5", last_name_first, "one token"),
        ("01.3", lambda bias, share: int(np.ceil(np.log(share) * -np.log1p(np.exp(-bias)) ** -1)), "all of it"),
        ("01.2", lambda radius, steps, gain: np.array([[radius, 1e6], [0, radius]]), "little is kept, and much wanted"),
        ("01.2", lambda radius, steps, gain: np.array([[1e4, 1e12], [0, 1e4]]), "one step"),
    ):
        report = check(id, answer)
        assert report.points < report.max_points and f"FAIL  {name}" in repr(report), id


def test_a_case_that_needs_a_failed_one_is_not_run():
    ran = []

    def answer(X, y):
        ran.append(1)
        return 3 * X, X.sum(axis=0) + y

    assert "  not run: sum (fix 'values' first)" in repr(toy_report(answer)) and len(ran) == 1


def test_a_mistake_is_explained_once():
    text = repr(check("00.11", lambda e: (1 - e, 1 + e)))
    assert text.count("the error is divided by the measured") == 1 and "The same mistake as in 'below one'." in text


@pytest.mark.parametrize("value", [None, ..., NotImplemented, (None, None), [..., ...]])
def test_not_attempted(value):
    assert repr(toy_report(lambda X, y: value)) == "99.1  pair  0 / 3 points  not attempted"


def test_not_implemented_error_is_not_attempted():
    def answer(X, y):
        raise NotImplementedError("later")

    assert "not attempted" in repr(toy_report(answer))


def test_an_answer_that_returns_nothing_in_one_case_was_attempted():
    def answer(X, y):
        return None if np.array_equal(X, make_inputs(TOY, TOY.cases[1])["X"]) else right_pair(X, y)

    assert "returned None" in repr(toy_report(answer)) and toy_report(answer).points == 2


def test_one_missing_output_is_named():
    assert "s is None, expected an array" in repr(toy_report(lambda X, y: (2 * X, None)))


def test_missing_answer_is_not_attempted():
    assert "not attempted (pass your answer" in repr(check("04.1"))


def test_error_shows_the_learners_own_line_and_no_path():
    source = "import numpy as np\ndef answer(X, y):\n    return helper(X), y\ndef helper(X):\n    return np.dot(X, X)\n"
    linecache.cache["cell-7"] = (len(source), None, source.splitlines(keepends=True), "cell-7")
    scope = {}
    exec(compile(source, "cell-7", "exec"), scope)
    text = repr(toy_report(scope["answer"]))
    assert "in helper, line 5:  return np.dot(X, X)" in text
    assert "ValueError: shapes (3,4) and (3,4) not aligned" in text
    assert "/" not in text.replace("0 / 3 points", "") and "Traceback" not in text


def test_error_inside_a_callback_of_ours_shows_the_call():
    def answer(f, X, h=1e-5):
        return f("not an array")

    text = repr(check("00.5", answer))
    assert 'in answer, line' in text and 'return f("not an array")' in text


def test_addresses_do_not_reach_the_report():
    def answer(X, y):
        raise RuntimeError(f"{object()!r}")

    assert "0x…" in repr(toy_report(answer))


@pytest.mark.parametrize("error", [SystemExit(0), GeneratorExit(), RecursionError("deep")])
def test_an_answer_cannot_end_the_notebook(error):
    def answer(X, y):
        raise error

    assert first_kind(answer) == "error"


def test_the_stop_button_still_works():
    def answer(X, y):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        toy_report(answer)


def test_an_error_that_cannot_be_printed_is_reported():
    class Mute(Exception):
        def __str__(self):
            raise ValueError

    def answer(X, y):
        raise Mute

    assert "Mute" in repr(toy_report(answer))


# ---------------------------------------------------------------- words about the form of what is wrong


def forgets_return(X, y):
    P, s = right_pair(X, y)
    P = P + 0 * s


def test_a_forgotten_return_is_not_called_not_attempted():
    text = repr(toy_report(forgets_return))
    said = ["99.1  pair  0 / 3 points", "  your function returns nothing: is there a return at its end?"]
    assert text.splitlines() == said
    text = repr(check("04.7", lambda Q, K, A, d_model: print(end="")))
    assert "returns nothing" in text and "not attempted" not in text
    assert "returns nothing" in repr(check("00.5", lambda f, X, h=1e-5: X.sort()))


def crash(source, **inputs):
    """The text of an answer `def answer(X, y)` that raises."""
    name = f"cell-{len(linecache.cache)}"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope = {"np": np}
    exec(compile(source, name, "exec"), scope)
    return repr(toy_report(scope["answer"]))


CRASHES = {  # the line that fails, and what is said about it
    "return X @ X": "X @ X was given shapes (3, 4) and (3, 4): a product needs equal inner sizes, and these are 4",
    "return np.dot(X, X)": "np.dot(X, X) was given shapes (3, 4) and (3, 4): a product needs",
    "return X + y[:3]": "X + y[:3] was given shapes (3, 4) and (3,): counted from the right, two sizes must be equal",
    "return np.stack([X, X]).T @ np.stack([X, X])": "ValueError: matmul: the sizes do not fit",
    "Z = X.reshape(1, 3, 4)\n    return Z @ Z.T": "With more than two axes .T turns all of them round; .mT exchanges",
    "return (X * 2) @ (X -\n        y)": "X * 2 @ (X - y) was given shapes (3, 4) and (3, 4)",
    "i = np.arange(2)\n    np.add.at(X, i, X)": "np.add.at was given places of shape (2,) in an array of shape (3, 4)",
    "return np.einsum('...i,...j->ij', X, X), y": "np.einsum does not sum over the axes under ... when",
    "return [0.0] + X + [1.0] + y[:3], y": "Beside an array + adds numbers, also to a list",
    "return np.array([0.0, 1.0]) + X, y": "ValueError: operands could not be broadcast",
    "return np.pad(X, (0, -2)), y": "np.pad was asked to add fewer than no numbers",
    "y.pop()\n    return X, y": "slice it, a[:-1], or make a list of it first",
    "y.append(1.0)\n    return X, y": "np.append makes a new one",
    "return X.reshape(5, 2), y": "cannot reshape array of size 12 into shape (5,2)",
}


@pytest.mark.parametrize("line", CRASHES)
def test_a_crash_says_which_shapes_met(line):
    text = crash(f"def answer(X, y):\n    {line}\n")
    assert CRASHES[line] in text and "gufunc" not in text
    assert ("Beside an array" in text) == ("+ [" in line)


A43 = np.random.default_rng(1).normal(size=(4, 3))
A33, A234 = A43[:3], np.random.default_rng(2).normal(size=(2, 3, 4))
A522, DOTS = np.random.default_rng(3).normal(size=(5, 2, 2)), np.array([np.zeros((2, 2)), [[1.0, 0.3], [0.7, 0.2]]])
SOFT = np.exp(A43) / np.exp(A43).sum(axis=1, keepdims=True)
UP = np.triu(np.ones((3, 3)), 1)
FORMS = {  # a wrong array, the right one, and the sentence
    "twice": (2 * A43, A43, "Every number is 2 times the expected one."),
    "root": (A43 / np.sqrt(3), A43, "Every number is 1/√3 times the expected one."),
    "some factor": (0.3217 * A43, A43, "Every number is 0.3217 times the expected one."),
    "a number doubled": (np.array(3.0), np.array(1.5), "This is 2 times the expected number."),
    "a number": (np.array(3.0), np.array(1.2345), ""),
    "sign": (-A43, A43, "All signs are the opposite."),
    "some signs": (A43 * np.array([1, -1, 1]), A43, "The sizes are right; 4 of 12 numbers have the wrong sign."),
    "zero": (0 * A43, A43, "All numbers are 0."),
    "shift": (A43 + 0.5, A43, "Every number is too large by 0.5."),
    "transposed": (A33.T, A33, "Rows and columns are exchanged; the numbers are right."),
    "rows": (A43 * np.array([[2.0], [3], [4], [5]]), A43, "Each row is right but for a factor of its own, 2 to 5."),
    "columns": (A43 * np.array([2.0, 3, 5]), A43, "Each column is right but for a factor of its own, 2 to 5."),
    "row shifts": (A43 + np.array([[2.0], [3], [4], [5]]), A43, "Each row is right but for a number of its own"),
    "reversed": (A43[::-1], A43, "The order is reversed along axis 0"),
    "late": (np.roll(A43, 1, axis=0), A43, "All numbers are one place too late along axis 0."),
    "other places": (A43.reshape(3, 4).T, A43, "The numbers are right, but in other places."),
    "first row": (A43 + np.eye(4, 3)[[0, 3, 3, 3]], A43, "All is right but the first row."),
    "two rows": (A43 + np.eye(4, 3)[[0, 3, 3, 1]], A43, "All is right but rows 0, 3."),
    "two heads": (A522 + DOTS[[1, 0, 0, 1, 0]], A522, "All is right but parts 0, 3 of axis 0."),
    "the last head": (A522 + DOTS[[0, 0, 0, 0, 1]], A522, "All is right but part of axis 0, number 4."),
    "above": (A33 + UP, A33, "All is right but above the diagonal."),
    "nearly": (A43 * (1 + 1e-7), A43, "The largest error is only 1e-07 of the largest number"),
    "an ε": (A43 / (1 + 1e-6 * A43**2), A43, "with something small added, such as an ε"),
    "many entries": (np.arange(20) + (np.arange(20) < 9) * np.arange(2.0, 22) ** 2, np.arange(20.0), "5 and 3 more."),
    "float32": (A43.astype(np.float32).astype(float), A43, "precision of float32"),
    "few digits": (A43.astype(np.float16).astype(float), A43, "have the precision of float16"),
    "nearly, not in float16": (A43 * (1 + 1e-4 * A43), A43, "of the largest number: nearly right, but not equal."),
    "whole numbers": (np.array([2e3, 3e3, 1e3]), np.array([2000.5, 3000.3, 1000.7]), "nearly right, but not equal."),
    "inverted": (A43 > 0, A43 <= 0, "True and False are exchanged."),
    "large whole numbers": (A43.astype(int) + 10**12 + 1, A43.astype(int) + 10**12, "Every number is too large by 1."),
    "one flag": (np.array(True), np.array(False), ""),
    "flags of one value": (np.zeros(5, bool), np.ones(5, bool), ""),
    "weights": (SOFT / 2, SOFT, "The rows are weights and should sum to one; yours sum to 0.5."),
    "columns sum": (SOFT / SOFT.sum(axis=0), SOFT, "The columns sum to one, and it should be the rows."),
    "noise": (A43 + np.random.default_rng(5).normal(size=(4, 3)), A43, ""),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_wrong_numbers_is_named(form):
    mine, right, said = FORMS[form]
    text = about_numbers("x", mine, right)
    assert said in text and bool(said) == bool(text)


def test_which_names_stand_for_which_is_said():
    right, labels = np.array([0, 1, 2, 1, 0, 2]), ("none", "mask", "loss")
    text = about_names(np.array([0, 2, 2, 2, 1, 2]), right, labels)
    assert text == "'mask' is called 'loss' 2 of 2 times; 'none' is called 'mask' 1 of 2 times."
    assert about_names(np.array([2, 2, 1, 0, 0, 0]), right, labels).endswith("; and others.")
    assert about_names(right, right, labels) == about_names(right[:5], right, labels) == ""
    text = about_names(np.where(right == 0, NOTHING, right), right, labels)
    assert text == f"'{labels[0]}' gets no name {list(right).count(0)} of {list(right).count(0)} times."


def test_impossible_numbers_are_named():
    assert "variance is negative, and a variance cannot be" in about_numbers("variance", np.array(-2.0), np.array(1.7))
    assert about_numbers("variance", np.array(2.0), np.array(1.7)) == ""


SHAPES = {
    "transposed": (A43.T, A43, "Rows and columns are exchanged; the numbers are right."),
    "transposed and wrong": (A43.T + 1, A43, "Rows and columns are exchanged."),
    "keepdims": (A43.sum(axis=0, keepdims=True), A43.sum(axis=0), "axes of length one too many"),
    "not summed": (A234, A234.sum(axis=0), "The leading axis (2,) should be summed away: with that it would be right."),
    "not averaged": (A234, A234.mean(axis=(0, 1)), "The leading axes (2, 3) should be averaged away"),
    "copies": (np.stack([A43 > A43.mean()] * 2), A43 > A43.mean(), "The same (4, 3) stands there 2 times"),
    "no copies": (np.stack([A43, 3 * A43]), 2 * A43, "The leading axis (2,) should be averaged away"),
    "inner": (A234, A234.sum(axis=1), "Axis 1, counted from 0, should be summed away"),
    "summed": (A234.sum(axis=0), A234, "This is the sum of what is expected over axis 0"),
    "averaged": (A234.mean(axis=2), A234, "This is the mean of what is expected over axis 2"),
    "missing": (A234[0], A234, "The leading part (2,) is missing."),
    "an axis of length one": (A43, A43[:, None], "an axis of length one is gone, axis 1"),
    "axes in another order": (np.moveaxis(A234, -1, 0), A234, "transpose(1, 2, 0) mends it"),
    "axes in another order and wrong": (np.moveaxis(A234, -1, 0) + 1, A234, "axes stand in another order."),
    "short": (A43[:3] + 1, A43, "The first axis has one entry too few."),
    "the first rows": (A43[:2], A43, "These are the first 2 of 4 rows, and right."),
    "the last columns": (A234[..., 2:], A234, "These are the last 2 of 4 columns, and right."),
    "in one row": (A43.ravel(), A43, "The numbers are right and in order; only the shape is another."),
    "a grid": (A43.reshape(2, 2, 3), A43, "The numbers are right and in order; only the shape is another."),
    "doubled": (np.concatenate([A43, A43], axis=1), A43, "The last axis is 2 times as long as it should be."),
    "a sequence that parts": (np.array([5, 6, 7, 9, 9]), np.array([5, 6, 7, 8]), "The first 3 are right; from there"),
    "a sequence cut short": (np.array([5, 6]), np.array([5, 6, 7, 8]), "All numbers that both have are equal."),
}


@pytest.mark.parametrize("form", SHAPES)
def test_the_form_of_a_wrong_shape_is_named(form):
    mine, right, said = SHAPES[form]
    assert said in about_shape(mine, right)


def test_two_numbers_in_each_others_place_are_named():
    arrays, right = [np.array(x) for x in (40, 25, 7)], [np.array(x) for x in (25, 40, 7)]
    assert _exchanged("abc", arrays, right).startswith("a and b are exchanged")
    assert _exchanged("abc", right, right) == ""
    empty = [np.zeros(0), np.zeros((0, 3)), np.zeros(1)]
    assert _exchanged("abc", empty, empty[::-1]) == ""
    flags, ids = np.array([True, True, False]), np.array([5, 6, 5])
    assert _exchanged("ab", [flags, ids], [ids, flags]).startswith("a and b are exchanged")
    small = [np.array(x) for x in (1, 2, 7)]
    assert _exchanged("abc", small, [small[1], small[0], small[2]]) == ""  # they may be equal by chance
    halves = [np.array(x) for x in (0.5, 0.125)]
    assert _exchanged("ab", halves, halves[::-1]) == ""
    telling = [np.array(x) for x in (0.4807123, 1.5208)]  # many digits are no chance
    assert _exchanged("ab", telling, telling[::-1]).startswith("a and b are exchanged")
    zero = [np.array(x) for x in (0.0, 1.5208)]  # nor are they beside a zero
    assert _exchanged("ab", zero, zero[::-1]).startswith("a and b are exchanged")
    for round_ in ([np.array(0.0), np.array(2.0)], [np.array(0.0), np.array(0.0)], [np.zeros(3), np.zeros(3)]):
        assert _exchanged("ab", round_, round_[::-1]) == ""


def test_a_list_that_an_answer_lengthens_is_a_changed_input():
    def text_score(logits, text, eos):
        text.append(eos)
        logs = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
        return sum(row[word] for row, word in zip(logs, text, strict=True))

    assert "changed its input text in place" in repr(check("10.11", text_score))


def test_outputs_in_each_others_place_are_no_two_mistakes():
    def equal_voices(N, v):
        place = np.arange(N)
        return 1 / np.sqrt((place + 2) * v), np.sqrt((place + 1) / (place + 2))

    said = repr(check("07.8", equal_voices))
    assert "a and b are exchanged" in said and "two mistakes" not in said

    def two_norms(variance, eps):
        return REFERENCES["06.6"](variance, eps)[::-1]

    said = repr(check("06.6", two_norms))
    assert "ones and others are exchanged" in said and "it looks like" not in said


@pytest.mark.parametrize("fault, said", (("no_grad", "no gradient comes back"), ("in place", "changes its input")))
def test_a_module_that_drops_remarks_keeps_its_graph_and_its_input(fault, said):
    import torch

    def make_droppable(sublayer, p):
        class Droppable(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.sublayer = sublayer

            def forward(self, X):
                with torch.set_grad_enabled(fault != "no_grad"):
                    F = self.sublayer(X)
                if not self.training:
                    return X + F
                kept = (torch.rand(len(X), 1, 1) >= p) * F / (1 - p)
                if fault == "in place":
                    with torch.no_grad():
                        X += kept
                    return X
                return X + kept

        return Droppable()

    assert said in repr(check("07.10", make_droppable))


def test_a_name_that_is_missing_is_told_from_an_answer_that_is_not_there():
    assert places_of_names(("a", "b"), "x", "ab", {"b": "b"}.get) == [NOTHING, 1]
    assert places_of_names(("a", "b"), "x", "ab", lambda x: None) is None
    with pytest.raises(WrongAnswer, match="x 1: returned 'B', expected one of: a, b"):
        places_of_names(("a", "b"), "x", "ab", {"a": "a", "b": "B"}.get)


def test_the_array_whose_axes_do_not_fit_is_named():
    def reshaped(X, y):
        return X.reshape(5, 2), y

    def moved(X, y):
        return np.transpose(X, (0, 1, 2)), y

    for answer in (reshaped, moved):
        assert "X has 2 axes here, (" in repr(toy_report(answer))


def test_the_shape_that_was_unpacked_into_too_many_names_or_too_few_is_named():
    def too_many(X, y):
        _, n, d = X.shape
        return X, (n, d)

    def too_few(X, y):
        (n,) = X.shape
        return X, n

    def other(X, y):
        a, b, c = (1, 2)
        return a, (b, c)

    assert "X has 2 axes here, (3, 4). If there may be any number in front, a star takes them: *_, n, d = X.shape." in (
        repr(toy_report(too_many)))
    assert "X has 2 axes here, (3, 4). If there may be any number in front, a star takes them: *lead, n = X.shape." in (
        repr(toy_report(too_few)))
    assert "axes here" not in repr(toy_report(other))


@pytest.mark.parametrize(("start", "said"), [("zeros_", "5 / 5 points"), ("ones_", "bias that is not 0")])
def test_a_merged_bias_that_base_has_not_is_judged_by_its_numbers(start, said):
    import torch

    def biased(base, r, alpha):
        module = REFERENCES["14.11"](base, r, alpha)

        def merged():
            one = type(module).merged(module)
            if one.bias is None:
                one.bias = torch.nn.Parameter(getattr(torch.nn.init, start)(torch.empty_like(one.weight[:, 0])))
            return one

        module.merged = merged
        return module

    assert said in repr(check("14.11", biased))


def test_a_whole_number_is_the_mistake_that_the_same_float_is():
    def cut_off(R):
        end, transfer, forgotten = REFERENCES["14.12"](R)
        return end, min(0, transfer), forgotten

    assert "where later tasks helped, it is positive" in repr(check("14.12", cut_off))


def test_an_adapter_that_is_seeded_begins_like_every_other():
    right = REFERENCES["14.11"]

    def seeded(base, r, alpha):
        import torch

        torch.manual_seed(0)
        return right(base, r, alpha)

    assert check("14.11", right).passed
    assert "two adapters begin with the same A" in repr(check("14.11", seeded))


@pytest.mark.parametrize("form", [int, float])
def test_a_known_mistake_is_one_as_a_whole_number_and_as_a_float(form):
    def one_too_great(*sizes):
        *parts, half = REFERENCES["16.11"](*sizes)
        return (*map(form, parts), form(half + sizes[-1]))

    assert "the length is one too great" in repr(check("16.11", one_too_great))

    def not_itself(n, d, *rest):
        embedding, maps, attention, *others = REFERENCES["16.11"](n, d, *rest)
        return embedding, maps, form(attention * (n - 1) // (n + 1) if rest[-1] else attention), *others

    assert "as if it did not see itself" in repr(check("16.11", not_itself))

    assert all(same_array(np.array(form(450)), np.array(theirs), TOY.cases[0]) for theirs in (450, 450.0))


def test_words_of_pytorch_are_put_plainly():
    import torch

    def watched(W, b, patch):
        conv = torch.nn.Conv2d(len(W) // patch**2, W.shape[1], patch, stride=patch, dtype=W.dtype)
        conv.bias.copy_(b)
        return conv

    assert "A leaf, which is a parameter or an input, is changed in place" in repr(check("15.5", watched))


def test_the_middle_call_in_time_is_no_median_whatever_the_draw():
    question = QUESTIONS["16.10"]
    middle = next(m for m in question.mutants if m.name == "middle call in time")
    for case in question.cases:
        for key in (b"%d" % i for i in range(40) if "close to the bounds" in (case.name, case.guards)):
            rows = make_inputs(question, case, key)
            names = [[f(row, rows["flops"], rows["peak"]) for row in rows["seconds"]]
                     for f in (middle.function, REFERENCES["16.10"])]
            assert sum(a != b for a, b in zip(*names, strict=True)) >= 2


def test_factors_that_print_as_one_are_not_said():
    nearly = 1 + 1e-5 * np.arange(4)[:, None]
    assert "factor of its own" not in about_numbers("X", A43 * nearly, A43)


def test_what_came_back_has_its_article():
    assert kind_of(3) == "an int" and kind_of("a") == "a str" and kind_of(np.zeros(2)) == "an ndarray"
    assert "returned an int for layer 0" in repr(check("00.6", lambda *given: 1))


def test_a_layer_that_forgets_whether_it_trains_is_named():
    """By the draws that differ, and not by one that is compared with another's."""
    import torch

    class Forgets(torch.nn.Module):
        def __init__(self, sublayer, p):
            super().__init__()
            self.sublayer, self.p = sublayer, p

        def forward(self, X):
            coins = torch.rand(len(X), 1, 1, dtype=torch.float64) >= self.p  # not the draws of the known mistake
            return X + coins.to(X.dtype) * self.sublayer(X) / (1 - self.p)

    text = repr(check("07.10", Forgets))
    assert "look at `self.training`" in text and "3 / 5 points" in text


def test_an_epsilon_outside_the_root_is_named():
    (mutant,) = (m for m in QUESTIONS["06.5"].mutants if m.name == "epsilon outside the root")
    assert "it stands under the root" in repr(check("06.5", mutant.function))


def test_weights_that_are_no_parameters_do_not_learn():
    right = REFERENCES["15.5"]

    def plain(W, b, patch):
        conv = right(W, b, patch)
        values = conv.weight.detach()
        del conv.weight
        conv.weight = values
        return conv

    assert check("15.5", right).passed
    said = repr(check("15.5", plain))
    assert "an nn.Parameter" in said and "2 / 3 points" in said


def test_overflow_is_told_apart_from_a_quotient_of_zeros():
    def overflowing(X, y):
        E = np.exp(1e3 * np.abs(X))
        return E / E, y

    def empty(X, y):
        return (X * 0) / (X * 0), y

    def silent(X, y):
        with np.errstate(all="ignore"):
            return overflowing(X, y)

    assert "∞ itself from exp of more than 709" in repr(toy_report(silent))
    assert "A number overflowed on the way" in repr(toy_report(overflowing))
    assert "No number overflowed: nan came from 0/0" in repr(toy_report(empty))


def test_an_array_of_as_many_numbers_as_outputs_unpacks_like_a_tuple():
    right = REFERENCES["06.6"]
    assert check("06.6", lambda variance, eps: np.array(right(variance, eps))).passed
    assert not check("06.6", lambda variance, eps: np.array(right(variance, eps))[::-1]).passed
    assert "returned one array, expected 3" in repr(check("06.6", lambda *inputs: np.zeros(4)))


def test_what_is_said_of_one_of_several_outputs_names_it():
    text = repr(toy_report(lambda X, y: (4 * X, X.sum(axis=0) + y)))
    assert "        P: Every number is 2 times the expected one." in text


def test_of_several_outputs_the_right_ones_are_named():
    assert "Right: P. Wrong: s." in repr(toy_report(lambda X, y: (2 * X, X.sum(axis=0) * y)))


def test_outputs_in_each_others_place_are_named():
    said = "P and s are exchanged: the numbers of each are right for the other."
    assert said in repr(toy_report(lambda X, y: right_pair(X, y)[::-1]))
    assert said not in repr(toy_report(lambda X, y: (2 * X, 2 * y)))


def test_nothing_is_said_of_form_where_a_known_mistake_is_named():
    assert "times the expected" not in repr(toy_report(lambda X, y: (3 * X, X.sum(axis=0) + y)))


def test_a_mistake_that_another_case_speaks_against_is_named_with_doubt():
    def only_here(X, y):
        return (3 * X if np.array_equal(X, make_inputs(TOY, TOY.cases[0])["X"]) else 2 * X), X.sum(axis=0) + y

    cases = (TOY.cases[0], replace(TOY.cases[0], name="second"))
    question = replace(TOY, cases=cases)
    assert "        In this case it looks like this: This is 3 X." in repr(toy_report(only_here, question=question))


def in_other_words(n):
    """k = 2 n."""
    ...


WHOLE = Question(
    id="99.4", title="A number", stub=in_other_words, returns=("k",), minutes=1, hints=("one",),
    cases=tuple(Case(name, lambda rng, n=n: {"n": n}, "", 1) for name, n in (("three", 3), ("four", 4), ("nine", 9))),
    mutants=(Mutant("plus four", lambda n: n + 4, "This is n + 4.", "9.1", ("three",)),
             Mutant("squared", lambda n: n * n, "This is n².", "9.1", ("three",))),
)
WHOLE_ANSWERS = {  # what is said, and what is not
    "one more": (lambda n: 2 * n + 1, ["In every case that failed, k is one more than expected."], ["n + 4", "n²"]),
    "one less": (lambda n: 2 * n - 1, ["In every case that failed, k is one less than expected."], ["n + 4", "n²"]),
    "one more in one case": (lambda n: 2 * n + (n == 3), ["In this case it looks like this: This is n + 4."], ["more"]),
    "another number in another case": (lambda n: 2 * n + (2 * n - 5 if n < 5 else 5),
                                       ["In this case it looks like this: This is n + 4."], ["more", "n²"]),
    "a mistake, right elsewhere": (lambda n: n * n if n < 5 else 2 * n, ["In this case it looks like this"], []),
    "the mistake": (lambda n: n + 4, ["        This is n + 4."], ["In this case", "more", "n²"]),
    "a mistake, and it stops elsewhere": (
        lambda n: n * n if n < 5 else 1 // 0,
        ["        This is n²."], ["looks like"]),
}


@pytest.mark.parametrize("name", WHOLE_ANSWERS)
def test_no_mistake_is_said_flatly_that_another_case_contradicts(name):
    answer, said, unsaid = WHOLE_ANSWERS[name]
    text = repr(Report(WHOLE, examine(WHOLE, answer, lambda case: (np.array(2 * make_inputs(WHOLE, case)["n"]),))))
    assert all(words in text for words in said) and not any(words in text for words in unsaid), text


def test_a_case_speaks_against_a_mistake_by_the_outputs_in_which_it_shows():
    cases = (TOY.cases[0], replace(TOY.cases[0], name="second"))
    question = replace(TOY, cases=cases)

    def second(X):
        return np.array_equal(X, make_inputs(TOY, cases[1])["X"])

    def text(P, s):  # in the first case P is 3 X, and s is right
        return repr(toy_report(lambda X, y: (P(X), s(X, y)) if second(X) else (3 * X, X.sum(axis=0) + y),
                               question=question))

    flat, doubt = "        This is 3 X.", "        In this case it looks like this: This is 3 X."
    right = TOY.mutants[0].function
    assert flat in text(lambda X: 3 * X, lambda X, y: right(X, y)[1])
    assert flat in text(lambda X: 3 * X, lambda X, y: np.tan(y))  # another output is wrong as well
    assert doubt in text(lambda X: 4 * X, lambda X, y: right(X, y)[1])  # wrong in another way
    assert doubt in text(lambda X: 2 * X, lambda X, y: np.tan(y))  # right where it should show


def _stops(n):
    raise ArithmeticError


def _known(*values):
    """A mistake that gives these three numbers, or stops at None."""
    def function(n):
        value = dict(zip((3, 4, 9), values, strict=True))[n]
        return _stops(n) if value is None else value

    return function


NAN = float("nan")
TWINS = {  # known mistakes by name; right are 6, 8 and 18
    "a": (7, 9, 19), "b": (7, 11, 24), "c": (9, 13, 33), "d": (6, 8, 33),
}
TELLS = {  # known mistakes besides, the answer, what is said and what is not
    "two, and it stops": ({}, (7, None, None), ["Either: This is a.", "Or: This is b."], ["c", "d"]),
    "two, and then another number": ({}, (7, 100, None), ["Either: This is a.", "Or: This is b."], ["c", "d"]),
    "told in the second case": ({}, (7, 11, None), ["        This is b."], ["a", "c", "d"]),
    "told by what is right": ({}, (6, 8, 33), ["        This is d."], ["a", "b", "c"]),
    "too many": ({"e": (7, 12, 25), "f": (7, 13, 26)}, (7, None, None), [], ["a", "b", "e", "f"]),
    "three": ({"e": (7, 12, 25)}, (7, None, None), ["Either: This is a.", "Or: This is b.", "Or: This is e."], ["c"]),
    "nan alone": ({"n": (NAN,) * 3}, (NAN,) * 3, ["        Nothing but nan came, which has many causes."], []),
    "nan alone, two know it": ({"n": (NAN,) * 3, "m": (NAN,) * 3}, (NAN,) * 3, [], ["n", "m"]),
    "nan that others speak against": ({"n": (NAN,) * 3}, (NAN, 100, NAN), [], ["n"]),
    "nan where others are right": ({"n": (6, NAN, 18)}, (6, NAN, 18), ["        This is n."], ["Nothing but"]),
    "nan where a number is known": ({"n": (NAN, 11.5, 19)}, (NAN, 11.5, 19), ["        This is n."], ["Nothing but"]),
    "nan that is right elsewhere": ({"n": (NAN,) * 3}, (6, NAN, 18), [], ["n"]),
}


def twins(more=()):
    mutants = tuple(Mutant(name, _known(*values), f"This is {name}.", "9.1", ("nine",))
                    for name, values in (TWINS | dict(more)).items())
    return replace(WHOLE, mutants=mutants)


def told(name):
    more, answer, said, unsaid = TELLS[name]
    text = repr(Report(WHOLE, examine(twins(more), _known(*answer),
                                      lambda case: (np.array(2 * make_inputs(WHOLE, case)["n"]),))))
    return all(words in text for words in said) and not any(
        (f"This is {words}." if len(words) == 1 else words) in text for words in unsaid), text


@pytest.mark.parametrize("name", TELLS)
def test_a_mistake_is_named_where_something_tells_it_from_others(name):
    right, text = told(name)
    assert right, text


def first_of(known):
    return known and known._replace(mutants=known.mutants[:1], sure=len(known.mutants) == 1 and known.sure)


def _first_alone(*given):
    return [first_of(known) for known in recognise(*given)]


def _flatly(*given):
    return [known and known._replace(nan=False) for known in recognise(*given)]


RECOGNISERS = {  # a wrong one, by what it does, and the answers that tell
    "names the first of several": ("recognise", _first_alone, {"two, and it stops", "two, and then another number",
                                                               "three"}),
    "says nan flatly": ("recognise", _flatly, {"nan alone"}),
    "takes nan for numbers": ("nothing_but_nan", lambda *given: False, {
        "nan alone", "nan alone, two know it", "nan that others speak against", "nan that is right elsewhere"}),
    "names any number": ("MANY", 9, {"too many"}),
}


@pytest.mark.parametrize("name", RECOGNISERS)
def test_a_recogniser_that_guesses_is_found_out(name, monkeypatch):
    what, wrong, tell = RECOGNISERS[name]
    for module in (recognise_module, examine_module) if what != "recognise" else (examine_module,):
        monkeypatch.setattr(module, what, wrong, raising=False)
    assert {case for case in TELLS if not told(case)[0]} == tell


def alone(question, waits=("three",)):
    three, four, nine = question.cases
    question = replace(question, cases=(three, replace(four, needs=waits), replace(nine, needs=waits)))
    expected = {case.name: (np.array(2 * make_inputs(WHOLE, case)["n"]),) for case in WHOLE.cases}
    theirs = {m.name: {c.name: Result("ok", (np.array(m.function(**make_inputs(WHOLE, c))),)) for c in WHOLE.cases}
              for m in question.mutants}
    caught = {name: {c for c, result in row.items() if result.arrays[0] != expected[c][0]}
              for name, row in theirs.items()}
    return list(selfcheck_module._alone(question, theirs, caught, lambda case: expected[case.name]))


def test_mistakes_that_the_first_case_confuses_are_found(monkeypatch):
    assert alone(twins()) == []
    crowd = [f"mutant '{name}' is called nothing where the case 'three' speaks alone" for name in "abef"]
    assert sorted(alone(twins(TELLS["too many"][0]))) == crowd
    assert alone(twins(TELLS["too many"][0]), waits=()) == []  # the other cases are run, and tell
    assert alone(twins({"n": (NAN,) * 3, "m": (NAN, 9, 9)})) == []  # of nan nothing need be said
    monkeypatch.setattr(selfcheck_module, "recognise", _first_alone)
    assert alone(twins()) == ["mutant 'b' is called 'a' where the case 'three' speaks alone"]


@pytest.mark.parametrize(("mine", "known", "said"), [
    (1 + 2e-9, 1 + 1e-9, False), (1 + 2e-9, 1 + 2e-9, True), (1 + 2e-9, 1 + 1.9e-9, True), (1.5, 1.5, True)])
def test_a_mistake_shows_well_over_the_tolerance_or_in_these_very_numbers(mine, known, said):
    case = Case("numbers", dict, "", rtol=1e-9)
    assert shows(np.full(3, mine), np.full(3, known), np.ones(3), case) == said


def test_a_coarse_tolerance_hides_no_mistake():
    """Sums in bfloat16 differ in their last digits from those of the known mistake, and are off by five tolerances."""
    case = Case("numbers", dict, "", rtol=1e-2)
    assert shows(np.full(3, 1.05), np.full(3, 1.0505), np.ones(3), case)


def test_an_error_of_rounding_is_no_mistake_that_hardly_shows():
    """The weights of large scores are 0 and 1, whatever the scores are divided by."""
    def with_an_epsilon(Q, K, V, mask=None):
        S = Q @ K.mT / np.sqrt(Q.shape[-1])
        S = np.where(True if mask is None else mask, S, -np.inf)
        top = S.max(axis=-1, keepdims=True)
        E = np.exp(S - np.where(np.isfinite(top), top, 0))
        A = E / (E.sum(axis=-1, keepdims=True) + 1e-9)
        return A @ V, A

    text = repr(check("04.1", with_an_epsilon))
    assert "with something small added, such as an ε" in text and "scores are divided" not in text
    outcomes = examine(QUESTIONS["04.1"], with_an_epsilon, lambda case: expected_arrays(QUESTIONS["04.1"], case))
    assert not any(o.mutant for o in outcomes)


def test_a_mistake_that_says_more_than_was_seen_stands_back():
    def both(X, y):
        return 3 * X, X.sum(axis=0) - y

    def minus(X, y):
        return 2 * X, X.sum(axis=0) - y

    mutants = (Mutant("two in one", both, "Both are wrong, in their own way.", "9.1", ("values",)),
               Mutant("minus y", minus, "y is taken off.", "9.1", ("sum",)))
    cases = (replace(TOY.cases[0], look=("P",)), replace(TOY.cases[1], needs=()))
    question = replace(TOY, cases=cases, mutants=mutants)
    text = repr(toy_report(lambda X, y: (7 + X, X.sum(axis=0) - y), question=question))
    assert "y is taken off." in text and "in their own way" not in text


def test_what_a_question_says_of_a_late_answer():
    def answer(X, y):
        while True:
            pass

    assert "stopped after 0.2 s: too slow so." in repr(toy_report(
        answer, question=replace(TOY, seconds=0.2, late="too slow so.")))


def test_a_row_without_a_key_is_not_called_an_overflow():
    def attention(Q, K, V, mask=None):
        S = Q @ K.mT / np.sqrt(Q.shape[-1])
        E = np.exp(S if mask is None else np.where(mask, S, -np.inf))
        A = E / E.sum(axis=-1, keepdims=True)
        return A @ V, A

    text = repr(check(attention))
    assert text.count("exp of a large score overflows") == 1
    assert "With −∞ a row that has no key left is 0/0" in text


def test_whole_floats_and_numpy_names_are_right_answers():
    assert check("10.7", lambda *sizes: tuple(map(float, REFERENCES["10.7"](*sizes)))).passed
    assert check("04.7", lambda *given: np.str_(REFERENCES["04.7"](*given))).passed


@pytest.mark.parametrize("form", [np.array, tuple, set, iter, lambda names: dict.fromkeys(names).keys(),
                                  lambda names: (name for name in names)])
def test_names_may_come_in_any_form(form):
    assert check("09.9", lambda zero: form(REFERENCES["09.9"](zero))).passed


@pytest.mark.parametrize("wrong", ["W_1", 3, np.array("W_1")])
def test_one_name_is_no_list_of_names(wrong):
    assert "expected a list of names" in repr(check("09.9", lambda zero: wrong))


@pytest.mark.parametrize("kept", ["by shape", "by a seed of the process"])
def test_a_mask_that_is_drawn_once_gets_no_points_for_training(kept):
    import torch

    def made(d, f, p):
        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.W_g, self.W_1 = (torch.nn.Parameter(torch.randn(d, f)) for _ in range(2))
                self.W_2, self.masks = torch.nn.Parameter(torch.randn(f, d)), {}

            def forward(self, X):
                Y = (torch.nn.functional.silu(X @ self.W_g) * (X @ self.W_1)) @ self.W_2
                if not self.training:
                    return Y
                if kept == "by a seed of the process":
                    torch.manual_seed(0)
                mask = (torch.rand(Y.shape) >= p) / (1 - p)
                return Y * (self.masks.setdefault(Y.shape, mask) if kept == "by shape" else mask)

        return Layer()

    assert "The same numbers are dropped in each pass" in repr(check("09.10", made))
    assert not check("09.10", made).passed


# ---------------------------------------------------------------- answers that would talk the checker into points


class EqualToEverything:
    def __eq__(self, other):
        return True

    def __le__(self, other):
        return True

    def __sub__(self, other):
        return 0

    def all(self):
        return True


class Liar(np.ndarray):
    """Says that it has any shape you like, and that every difference from it is zero."""

    shape = property(lambda self: (3, 4))
    dtype = property(lambda self: np.dtype("float64"))

    def __array_ufunc__(self, *args, **kwargs):
        return np.zeros((3, 4))

    def __eq__(self, other):
        return np.ones((3, 4), bool)

    def astype(self, dtype):
        return self

    def __array__(self, *args, **kwargs):
        raise AssertionError("the checker asked the liar")


class LongTuple(tuple):
    def __len__(self):
        return 2

    def __iter__(self):
        return iter(right_pair(**make_inputs(TOY, TOY.cases[0])))


PATCHED = ("allclose", "array_equal", "abs", "max", "isfinite", "where")


def patching(X, y):
    for name in PATCHED:
        setattr(np, name, lambda *args, **kwargs: True)
    return 3 * X, X.sum(axis=0) + y


def zeros_as(kind):
    return lambda X, y: (np.zeros((2, 2)).view(kind), X.sum(axis=0) + y)


PROBES = {  # answer to TOY, and what must be said about its first case
    "right": (right_pair, "ok"),
    "right, in a list": (lambda X, y: list(right_pair(X, y)), "ok"),
    "right but for rounding": (lambda X, y: (2 * X * (1 + 1e-14), X.sum(axis=0) + y), "ok"),
    "relative error 1e-6": (lambda X, y: (2 * X * (1 + 1e-6), X.sum(axis=0) + y), "wrong"),
    "second output wrong": (lambda X, y: (2 * X, X.sum(axis=0) - y), "wrong"),
    "input changed": (faulty("changed"), "changed"),
    "an axis too many": (faulty("shape"), "shape"),
    "a number where an array is due": (lambda X, y: (2 * X, 0.0), "shape"),
    "nan": (faulty("finite"), "finite"),
    "float32": (lambda X, y: ((2 * X), (X.sum(axis=0) + y).astype(np.float32)), "dtype"),
    "complex": (lambda X, y: (2 * X + 0j, X.sum(axis=0) + y), "dtype"),
    "too many outputs": (faulty("structure"), "structure"),
    "one array for two": (lambda X, y: np.stack([X, X, X]), "structure"),
    "equal to everything": (lambda X, y: (EqualToEverything(), EqualToEverything()), "structure"),
    "array of objects": (lambda X, y: (np.full((3, 4), EqualToEverything(), object), y), "structure"),
    "a lying array": (zeros_as(Liar), "shape"),
    "a lying tuple": (lambda X, y: LongTuple((0, 0, 0)), "structure"),
    "patched numpy": (patching, "wrong"),
    "text": (lambda X, y: ("P", "s"), "structure"),
    "ragged list": (lambda X, y: ([[1.0], [2.0, 3.0]], y), "structure"),
}


def misjudged(monkeypatch):
    """The probes of which the engine, as it is patched now, says something wrong."""
    found = set()
    for name, (answer, wanted) in PROBES.items():
        with monkeypatch.context() as patch:
            for patched in PATCHED:
                patch.setattr(np, patched, getattr(np, patched))  # put back after the answer that patches
            try:
                said = first_kind(answer)
            except Exception as error:
                said = type(error).__name__
        if said != wanted:
            found.add(name)
    return found


def test_no_answer_fools_the_checker(monkeypatch):
    assert misjudged(monkeypatch) == set()


@pytest.mark.parametrize("name", ["Liar", "EqualToEverything"])
def test_the_hostile_objects_do_fool_a_naive_comparison(name):
    wrong = {"Liar": np.zeros((2, 2)).view(Liar), "EqualToEverything": EqualToEverything()}[name]
    assert np.all(wrong == np.ones((3, 4)))


def judging(**changes):
    """Our judge with some of what it sees changed."""

    def engine(question, case, result, expected):
        case = replace(case, **changes.get("case", {}))
        if changes.get("drop_changed"):
            result = replace(result, changed=())
        return judge(question, case, result, expected)

    return engine


def allclose_judge(question, case, result, expected):
    verdict = judge(question, case, result, expected)
    late = verdict.kind == "wrong" and all(np.allclose(a, b) for a, b in zip(result.arrays, expected, strict=True))
    return Verdict("ok") if late else verdict


def bitwise_judge(question, case, result, expected):
    verdict = judge(question, case, result, expected)
    same = all(np.array_equal(a, b) for a, b in zip(result.arrays, expected, strict=True))
    return Verdict("wrong") if verdict.ok and not same else verdict


def broadcasting_judge(question, case, result, expected):
    if result.kind == "ok" and not any(isinstance(a, str) for a in result.arrays):
        try:
            spread = tuple(np.broadcast_to(a, b.shape) for a, b in zip(result.arrays, expected, strict=True))
        except ValueError:
            try:  # (1, 4) against (4,)
                spread = tuple(np.reshape(a, b.shape) for a, b in zip(result.arrays, expected, strict=True))
            except ValueError:
                spread = result.arrays
        result = replace(result, arrays=spread)
    return judge(question, case, result, expected)


def nan_blind_judge(question, case, result, expected):
    verdict = judge(question, case, result, expected)
    return Verdict("ok") if verdict.kind == "finite" else verdict


def any_dtype_judge(question, case, result, expected):
    arrays = tuple(
        a.astype(b.dtype) if not isinstance(a, str) and a.dtype.kind == "f" else a
        for a, b in zip(result.arrays, expected, strict=False)
    )
    return judge(question, case, replace(result, arrays=arrays), expected)


def operator_judge(question, case, result, expected):
    if result.kind != "ok":
        return Verdict(result.kind)
    return Verdict("ok" if all(np.all(a == b) for a, b in zip(result.arrays, expected, strict=True)) else "wrong")


WRONG_ENGINES = {  # what is patched, and a probe that must give the wrong engine away
    "np.allclose with its own tolerance": ({"examine.judge": allclose_judge}, "relative error 1e-6"),
    "np.allclose, looked up late": ({"examine.judge": allclose_judge}, "patched numpy"),
    "bitwise equality": ({"examine.judge": bitwise_judge}, "right but for rounding"),
    "first output only": ({"examine.judge": judging(case={"look": ("P",)})}, "second output wrong"),
    "in-place changes ignored": ({"examine.judge": judging(drop_changed=True)}, "input changed"),
    "loose tolerance": ({"examine.judge": judging(case={"rtol": 1e-4})}, "relative error 1e-6"),
    "shapes broadcast": ({"examine.judge": broadcasting_judge}, "an axis too many"),
    "nan passes": ({"examine.judge": nan_blind_judge}, "nan"),
    "dtype ignored": ({"examine.judge": any_dtype_judge}, "float32"),
    "inputs not copied": ({"run.copied": lambda value: value}, "input changed"),
    "subclasses kept": ({"run._array": np.asanyarray}, "a lying array"),
    "compares with ==": (
        {"run._plain": lambda value, name: value, "examine.judge": operator_judge},
        "equal to everything",
    ),
    "believes len()": (
        {"run._collect": lambda value, names: run_module.Result("ok", tuple(np.array(v) for v in value))},
        "a lying tuple",
    ),
}


@pytest.mark.parametrize("engine", WRONG_ENGINES)
def test_a_wrong_engine_is_found_out(engine, monkeypatch):
    patches, probe = WRONG_ENGINES[engine]
    for target, function in patches.items():
        module, name = target.split(".")
        monkeypatch.setattr({"examine": examine_module, "run": run_module}[module], name, function)
    assert probe in misjudged(monkeypatch)


def test_patching_the_judge_in_a_module_is_seen():
    """WRONG_ENGINES patch names; were the engine to look them up elsewhere, every wrong engine would be ours."""
    assert examine_module.judge is judge and examine_module.run is run


def test_a_lying_measurement_is_refused():
    question = QUESTIONS["04.5"]
    assert "Q has shape (2,)" in repr(check(question.id, lambda n, d_k, r: (np.ones(2), np.ones(2))))
    assert "nan or inf" in repr(check(question.id, lambda n, d_k, r: (np.full((n, d_k), np.nan), np.ones((n, d_k)))))
    with pytest.raises(WrongAnswer):
        question.measure({}, (np.ones((200, 2)), np.ones((200, 2))))


@pytest.mark.parametrize(
    ("question_id", "answer", "said"),
    [
        ("00.6", lambda f, b, X, rng: 1e-9, "a float for layer 0, expected True or False"),
        ("00.6", lambda f, b, X, rng: EqualToEverything(), "returned an EqualToEverything"),
        ("04.7", lambda Q, K, A, d_model: "no idea", "matrix 0: returned 'no idea', expected one of: correct"),
        ("04.7", lambda Q, K, A, d_model: EqualToEverything(), "matrix 0: returned an EqualToEverything"),
    ],
)
def test_choices_are_checked(question_id, answer, said):
    assert said in repr(check(question_id, answer))


# ---------------------------------------------------------------- names that are not allowed


def uses_helper(Q):
    return helper_with_torch(Q)


def helper_with_torch(Q):
    import torch.nn.functional as F

    return F.softmax(Q)


def uses_library(Q):
    return library_attention.attention_forward(Q, Q, Q)


def test_forbidden_names_are_found_in_helpers_and_aliases():
    assert "torch" in names_of(uses_helper) and "byhand" in names_of(uses_library)
    alias = eval("lambda: forward(1)", {"forward": inspect.unwrap(library_softmax.softmax_forward)})
    assert "byhand" in names_of(alias)
    assert "torch" not in names_of(right_pair) and names_of(3) == set()


def test_forbidden_names_are_found_in_source():
    source = "import torch.nn as nn\nfrom scipy import special as sp\ndef f(x):\n    return np.diag(x)\n"
    assert {"torch", "scipy", "diag"} <= names_in(source) and "outer" not in names_in(source)


def test_forbidden_answers_are_not_run():
    def softmax_vjp(dA, A):
        ran.append(1)
        return np.array([row @ (np.diag(a) - np.outer(a, a)) for row, a in zip(dA, A, strict=True)])

    ran = []
    report = check(softmax_vjp)
    assert report.points == 0 and not ran and "uses diag, outer, which this exercise does not allow" in repr(report)


# ---------------------------------------------------------------- what the learner calls


def test_check_finds_the_exercise_by_name_or_id():
    def renamed(e):
        return 1 - e, 1 / (1 - e)

    def factors_behind(e):
        return renamed(e)

    assert check(factors_behind).passed and check("00.11", renamed).passed and check("factors_behind", renamed).passed
    assert check("00.11", lambda e: renamed(e)).passed


def test_unknown_exercises_are_answered_with_a_list():
    for wrong in (lambda: check(right_pair), lambda: check("04.99", right_pair), lambda: hint("nothing")):
        with pytest.raises(ValueError, match=r"(?s)no exercise is called .*00\.1  linear_backward.*04\.1  attention"):
            wrong()
    with pytest.raises(ValueError, match="give the id"):
        check(3.0)
    with pytest.raises(ValueError, match="the sets are 00, 01, 02"):
        summary("77")


@pytest.mark.parametrize(
    ("right", "value", "wrong"), [(0.5, 0.5, 0.25), (2, 2, 3), (np.eye(2), [[1.0, 0.0], [0.0, 1.0]], np.ones((2, 2)))]
)
def test_an_answer_need_not_be_a_function(right, value, wrong):
    question = replace(TOY, returns=("x",), drive=lambda answer, inputs: answer, mutants=())

    def outcome(answer):
        return examine(question, answer, lambda case: (np.array(right),), question.public[:1])[0].verdict.kind

    assert outcome(value) == "ok" and outcome(wrong) == "wrong" and outcome(None) == "not attempted"


def test_hints_come_one_level_at_a_time(capsys):
    for wanted in (1, 2, 3, 3):
        hint("04.2")
        assert capsys.readouterr().out == f"04.2, hint {wanted} of 3: {QUESTIONS['04.2'].hints[wanted - 1]}\n"
    hint("softmax_vjp", level=1)
    assert "hint 1 of 3" in capsys.readouterr().out
    with pytest.raises(ValueError, match="level is 4, expected 1 to 3"):
        hint("04.2", level=4)


def test_summary_adds_what_was_checked(capsys):
    check("04.6", REFERENCES["04.6"])
    check("04.2", lambda dA, A: A * dA)
    summary("04")
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 14 and out[1].startswith("04.2    0 /  2") and out[5].startswith("04.6    2 /  2")
    assert out[0].startswith("04.1    – /  3") and out[-1] == "total 2 / 39"


def test_summary_keeps_the_best_score(capsys):
    check("04.6", REFERENCES["04.6"])
    check("04.6", lambda *given: (0.0, 0.0))
    summary("04")
    assert "04.6    2 /  2" in capsys.readouterr().out


def test_check_prints_in_a_script_and_only_there(tmp_path, capsys):
    script = tmp_path / "mine.py"
    script.write_text("from byhand.grade import check\ncheck('00.11', lambda e: (1 - e, 1 + e))\n", encoding="utf-8")
    out = subprocess.run([sys.executable, script], check=True, capture_output=True, text=True).stdout
    assert out.startswith("00.11  factors_behind  0 / 2 points") and out.count("divided by the measured") == 1
    scope = {"__name__": "__main__", "check": check}
    exec("check('00.11', lambda e: (1 - e, 1 + e))", scope)  # a notebook: no file
    assert capsys.readouterr().out == ""


def test_a_name_that_is_nearly_right_is_met_with_the_right_one():
    with pytest.raises(ValueError, match="did you mean softmax_vjp"):
        check("sofmax_vjp", right_pair)


def test_example_gives_fresh_inputs():
    first = example("04.1", "mask")
    first["Q"][:] = 0
    assert list(first) == ["Q", "K", "V", "mask"] and np.abs(example("04.1", "mask")["Q"]).max() > 0
    with pytest.raises(ValueError, match="it has values, mask, no key left"):
        example("04.1", "another batch")  # a hidden case
    assert {type(value).__name__ for value in example("12.5").values()} == {"Tensor"}  # as the answer gets them


def test_reports_are_the_same_every_time():
    wrong = QUESTIONS["04.3"].mutants[0].function
    assert repr(check("04.3", wrong)) == repr(check("04.3", wrong)) and "0x" not in repr(check("04.3", wrong))


# ---------------------------------------------------------------- the notebooks

NOTEBOOKS = {set_id: ROOT / "book" / "exercises" / notebook_of(set_id) for set_id in SETS}


def cells_of(set_id, kind):
    nb = nbformat.read(NOTEBOOKS[set_id], as_version=4)
    return [cell for cell in nb.cells if cell.cell_type == kind]


def work_through(set_id, solutions):
    """Run a notebook's code cells, with solutions in the place of stubs; the values of the cells' last lines."""
    scope, shown = {"__name__": "notebook"}, []
    for cell in cells_of(set_id, "code"):
        body = ast.parse(cell.source).body
        if len(body) == 1 and isinstance(body[0], ast.FunctionDef) and body[0].name in solutions:
            body = ast.parse(solutions[body[0].name]).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), "cell", "exec"), scope)
        shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), scope) if last else None)
    return [value for value in shown if isinstance(value, Report)]


@pytest.mark.parametrize("set_id", SETS)
def test_notebook_solved_with_the_references_gets_full_marks(set_id, capsys):
    module = inspect.getmodule(inspect.unwrap(next(iter(references_of(set_id).values()))))
    source = Path(module.__file__).read_text(encoding="utf-8")
    reports = work_through(set_id, {q.name: source for q in questions_of(set_id)})
    assert [r.question.id for r in reports] == [q.id for q in questions_of(set_id)]
    assert all(r.passed for r in reports), reports
    total = sum(q.points for q in questions_of(set_id))
    assert f"total {total} / {total}" in capsys.readouterr().out


@pytest.mark.parametrize("set_id", SETS)
def test_notebook_as_it_stands_is_not_attempted(set_id, capsys):
    reports = work_through(set_id, {})
    assert len(reports) == len(questions_of(set_id)) and all(repr(r).endswith("not attempted") for r in reports)


@pytest.mark.parametrize("set_id", SETS)
def test_notebook_has_the_stubs_of_the_set_word_for_word(set_id):
    sources = [cell.source for cell in cells_of(set_id, "code")]
    for question in questions_of(set_id):
        at = sources.index(inspect.getsource(inspect.unwrap(question.stub)).rstrip())
        assert sources[at + 1] == f"check({question.name})" and sources[at + 2] == f'# hint("{question.id}")'


@pytest.mark.parametrize("set_id", SETS)
def test_reference_has_the_arguments_of_the_stub(set_id):
    for question in questions_of(set_id):
        reference = references_of(set_id)[question.name]
        assert inspect.signature(reference) == inspect.signature(inspect.unwrap(question.stub))


def statements(set_id):
    """The text of each question by id: its Markdown cells, and the docstring of its stub."""
    found, current = {}, None
    for cell in nbformat.read(NOTEBOOKS[set_id], as_version=4).cells:
        if cell.cell_type == "markdown":
            head = re.match(r"## (?:(\d\d\.\d+) · )?", cell.source)
            current = head[1] if head else current
            found[current] = found.get(current, "") + cell.source + "\n\n"
    for question in questions_of(set_id):
        found[question.id] = found.get(question.id, "") + (question.stub.__doc__ or "")
    return found


@pytest.mark.parametrize("set_id", SETS)
def test_notebook_opens_with_its_table_and_states_titles(set_id):
    text = "\n".join(cell.source for cell in cells_of(set_id, "markdown"))
    assert exercise_table.table(set_id) in text and f"](../{SETS[set_id][1:]}.ipynb)" in text
    for q in questions_of(set_id):
        assert f"## {q.id} · {q.title}\n\n{exercise_table.heading(q)}" in text


PROMISE = re.compile(
    r"\b(any number|any size|any shape|any axis|any length|any order|any of|may|must|need not|never|whatever|exactly|"
    r"at most|at least|as large as|as small as|even if|not allowed|no loop|in any)\b", re.IGNORECASE
)


def loose_promises(set_id):
    """Clauses that stand in no statement, and sentences that promise something and are tied to no case."""
    texts = statements(set_id)
    for question in questions_of(set_id):
        text = " ".join(texts[question.id].split())
        for words, _ in question.clauses:
            if words not in text:
                yield f"{question.id}: no statement says '{words}'"
        for sentence in re.split(r"(?<=[.?!:])\s", text):
            if PROMISE.search(sentence) and not any(words in sentence for words, _ in question.clauses):
                yield f"{question.id}: no case is tied to '{sentence}'"


@pytest.mark.parametrize("set_id", SETS)
def test_every_promise_of_a_statement_has_its_case(set_id):
    assert list(loose_promises(set_id)) == []


def chapter_of(set_id):
    return nbformat.read(ROOT / "book" / f"{SETS[set_id][1:]}.ipynb", as_version=4)


@pytest.mark.parametrize("set_id", SETS)
def test_every_question_is_pointed_to_from_its_section(set_id):
    section, pointed = None, set()
    for cell in chapter_of(set_id).cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                head = re.match(r"## (\d+\.\d+) · ", line)
                section = head[1] if head else section
                if line.startswith("**Your turn.** "):
                    pointed |= {(question_id, section) for question_id in re.findall(r"\b\d\d\.\d+\b", line)}
    assert pointed == {(q.id, q.section) for q in questions_of(set_id)}


# ---------------------------------------------------------------- the worked solutions


@pytest.mark.parametrize("question_id", QUESTIONS)
def test_the_worked_solution_gets_full_marks_and_is_derived(question_id):
    question, text = QUESTIONS[question_id], solutions_of(question_id.split(".")[0]).get(question_id, "")
    code = code_of(text)
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert len(prose.split()) >= 40, "a solution says why"
    scope = {"np": np}
    if question.torch:
        scope["torch"] = pytest.importorskip("torch")
    linecache.cache[f"<{question_id}>"] = (len(code), None, code.splitlines(True), f"<{question_id}>")
    exec(compile(code, f"<{question_id}>", "exec"), scope)
    report = check(question_id, scope[question.name])
    assert report.passed, report


def lines_of(source):
    """The statements of a text of code, each as one line without comments."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return)):
            found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("set_id", SETS)
def test_an_unprinted_answer_stands_on_no_page(set_id):
    sources = [cell.source for cell in chapter_of(set_id).cells if cell.cell_type == "code"]
    page = {line for source in sources if not source.startswith("%") for line in lines_of(source)}
    for question in questions_of(set_id):
        if not question.printed:
            mine = lines_of(code_of(solutions_of(set_id)[question.id]))
            seen = [line for line in mine if line in page]
            assert 2 * len(seen) <= len(mine), f"{question.id}: {seen} stand in the chapter"


# ---------------------------------------------------------------- the wheel


def test_the_wheel_has_the_expected_arrays_and_no_right_answer(tmp_path):
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for path in (ROOT / "lib" / "byhand").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, "out"], cwd=tmp_path, check=True, capture_output=True)
    (wheel,) = (tmp_path / "out").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"byhand/grade/sets/{folder}/expected.npz" for folder in SETS.values()} <= set(names)
    assert [name for name in names if "reference" in name or "solutions/s" in name] == []
