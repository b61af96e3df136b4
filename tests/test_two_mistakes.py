"""Two mistakes in one answer: wrong versions that are put together, and one mistake that is seen in a part."""

import importlib
import inspect
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from byhand.grade import compose, examine, two
from byhand.grade.alike import against
from byhand.grade.compose import families, pairs
from byhand.grade.examine import Report
from byhand.grade.form import lines, places, whole
from byhand.grade.judge import finish, judge
from byhand.grade.learner import find
from byhand.grade.model import Case, Mutant, Question, make_inputs
from byhand.grade.run import run
from byhand.grade.sets import SETS, all_questions, expected_arrays

# ---------------------------------------------------------------- closures of one function, put together


def _line(scale=2.0, shift=0.0, shape=lambda x: x, parts=None, *, then=None, **more):
    then = then or np.abs

    def function(x):
        y = shape(scale * x) + shift + sum((parts or {}).values()) + sum(more.values())
        return then(y)

    return function


def _power(k):
    return lambda x: x**k


LINES = [
    _line(scale=3.0), _line(shift=1.0), _line(shape=_power(3)), _line(parts={"a": 5.0}), _line(parts={"b": 7.0}),
    _line(scale=3.0, shift=9.0), _line(extra=11.0), _line(then=np.square), lambda x: x,
]
TOGETHER = {  # which can be put together, and what that gives at x = 2; right is 4
    (0, 1): 7, (0, 2): 216, (1, 2): 65, (0, 3): 11, (1, 3): 10, (2, 3): 69, (0, 4): 13, (1, 4): 12, (2, 4): 71,
    (3, 4): 16, (2, 5): 225, (3, 5): 20, (4, 5): 22, (0, 6): 17, (1, 6): 16, (2, 6): 75, (3, 6): 20, (4, 6): 22,
    (5, 6): 26, (0, 7): 36, (1, 7): 25, (2, 7): 4096, (3, 7): 81, (4, 7): 121, (5, 7): 225, (6, 7): 225,
}


def put(both=None):
    return {(i, j): f(2.0) for i, j, f in pairs(LINES) if both is None or both(i, j)}


def test_two_changes_are_put_together_where_they_do_not_meet():
    assert put() == TOGETHER  # 0 and 5 have each a scale of their own


def last_of_two(a, b, right, inner):
    return b


def no_insides(a, b, right, inner):
    return a if compose._same(a, b) or compose._same(b, right) else b if compose._same(a, right) else compose.UNKNOWN


def any_value(values, default):
    return values[0]


@pytest.mark.parametrize(("name", "wrong"), [("_both", last_of_two), ("_both", no_insides), ("_usual", any_value)])
def test_a_wrong_way_to_put_together_is_found_out(monkeypatch, name, wrong):
    monkeypatch.setattr(compose, name, wrong)
    assert put() != TOGETHER


def test_a_family_that_is_not_made_from_the_right_version_is_left_out():
    assert list(pairs(LINES, lambda function: function(2.0) == 5.0)) == []
    assert len(list(pairs(LINES, lambda function: function(2.0) == 4.0))) == len(TOGETHER)


@pytest.mark.parametrize("set_id", SETS)
def test_the_version_that_mistakes_are_made_from_is_the_right_one(set_id):
    """Of most families; what is put together from another is not used."""
    right, known = 0, 0
    for question in all_questions():
        if not question.id.startswith(f"{set_id}."):
            continue
        functions = [m.function for m in question.mutants]
        for code, family in families(functions).items():
            original = family.original(next(f for f in functions if getattr(f, "__code__", None) is code))
            if original is not None:
                case = question.public[0]
                inputs = make_inputs(question, case)
                result = finish(question, inputs, run(original, inputs, question))
                right += judge(question, case, result, expected_arrays(question, case)).ok
                known += 1
    assert known and right >= 0.75 * known


# ---------------------------------------------------------------- answers with two mistakes, from start to end


def answer_with(number, *edits):
    """The right answer of an exercise with edits, each of which fits."""
    module = importlib.import_module(f"byhand.grade.reference.{SETS[number.split('.')[0]]}")
    source = inspect.getsource(module)
    for old, new in edits:
        assert old in source, old
        source = source.replace(old, new)
    scope = {"__name__": "answer"}
    exec(source, scope)
    return scope[find(number).name]


def crossed_and_summed(m_a, l_a, o_a, m_b, l_b, o_b):
    m = np.maximum(m_a, m_b)
    top = np.where(np.isneginf(m), 0, m)
    keep, add = np.exp(m_a - top), np.exp(m_b - top)
    l = keep * l_a + add * l_b
    return m + np.log(l), l, add[..., None] * o_a + keep[..., None] * o_b


TWO = {  # by mechanism: the exercise, its edits or an answer, and what is named
    "together: scale and mask": ("00.7", [(" / np.sqrt(W_q.shape[0])", ""),
                                          ("np.triu_indices(len(X), 1)", "np.tril_indices(len(X), -1)")],
                                 {"no scale", "mask left upper"}),
    "together: slope and state": ("01.1", [("np.concatenate([h0[..., None, :], H[..., :-1, :]], axis=-2)", "H"),
                                           (" * (1 - H[..., t, :] ** 2)", "")], {"no slope", "own state"}),
    "together: turn and scale": ("03.4", [("_spin(K[h], positions, base, 1)", "K[h]"),
                                          (" / np.sqrt(d_k)\n        E", "\n        E")],
                                 {"queries alone", "no scale"}),
    "together: cut and heat": ("17.8", [("_softmax(logits / T)", "_softmax(logits * T)"),
                                        ("size = 1 + (np", "size = max(1, (np"), (" < p).sum()\n", " < p).sum())\n")],
                               {"times T"}),
    "in part: a variance": ("06.4", [("squares / (N - 1) - var", "squares / N - var"),
                                     ("mean + momentum * (mu - mean)", "mu + momentum * (mean - mu)")],
                            {"biased memory"}),
    "in part: a gradient": ("16.4", [("dK[g] += scale * dS.T @ Q[h]", "dK[g] += scale**2 * dS.T @ Q[h]"),
                                     ("dV[g] += A.T @ dO[h]", "dV[g] += scale * A.T @ dO[h]")],
                            {"dV scaled by the width"}),
    "in part: values": ("16.2", crossed_and_summed, {"exchanged: o"}),
}
def report_of(name):
    number, how, _ = TWO[name]
    answer = how if callable(how) else answer_with(number, *how)
    question = find(number)
    return Report(question, examine.examine(question, answer, lambda case: expected_arrays(question, case)))


def named(report):
    return {m.name for o in report.outcomes for m in (o.mutant, o.second) if m}


@pytest.mark.parametrize("name", TWO)
def test_one_of_two_mistakes_is_named(name):
    report = report_of(name)
    assert named(report) == TWO[name][2]
    failed = [o for o in report.outcomes if not o.verdict.ok and o.verdict.kind != "not run"]
    assert any(o.mutant for o in failed)
    if name.startswith("together"):
        words = "One of two mistakes: " if len(TWO[name][2]) == 1 else "Two mistakes together give these numbers. "
        assert repr(report).count(words) == 1 and all(o.mutant for o in failed)
    else:
        assert re.search(r"In \w+ it looks like this: ", repr(report)) and "two mistakes" not in repr(report)


def pairs_side_by_side(back, n, d_k, base):
    """Feature a turns with feature a + d_k/2, as in some libraries."""
    h, u = d_k // 2, np.tile([1.0, 0.0], d_k // 2)
    turn = back * base ** (-2 * np.arange(h) / d_k)
    c, s = np.cos(turn), np.sin(turn)
    return 3e3 * u, np.r_[u[:h] * c - u[h:] * s, u[:h] * s + u[h:] * c]


def first_are_real(lengths, n):
    real = np.arange(n) < lengths[:, None]
    M = np.tri(n, dtype=bool) & real[:, None, :] & real[:, :, None] | np.eye(n, dtype=bool)
    return M, np.maximum(np.arange(n) - (n - lengths)[:, None], 0)


ONE = {  # one mistake: the exercise, its edits or an answer, and what is named
    "half a difference": ("00.5", [("X[i] = x - h\n", "X[i] = x\n")], set()),
    "√d on both ways": ("02.6", [("dz.T @ (np.sqrt(d)", "np.sqrt(d) * dz.T @ (np.sqrt(d)")], set()),
    "sin and cos exchanged": ("03.1", lambda delta, d, base: np.kron(np.diag(
        np.sin(delta * base ** (-2 * np.arange(d // 2) / d))), np.eye(2)) + np.kron(np.diag(
            np.cos(delta * base ** (-2 * np.arange(d // 2) / d))), np.array([[0, -1], [1, 0]])), set()),
    "whole turns, seen in a few zeros and ones": ("03.1", [("1j * delta", "2j * np.pi * delta")], set()),
    "other pairs, seen in few small numbers": ("03.9", pairs_side_by_side, set()),
    "the other end, for keys and queries": ("08.9", first_are_real, {"filler on the right, for queries too"}),
}


@pytest.mark.parametrize("name", ONE)
def test_one_mistake_is_not_called_two(name):
    number, how, wanted = ONE[name]
    answer = how if callable(how) else answer_with(number, *how)
    report = Report(find(number), examine.examine(find(number), answer, lambda c: expected_arrays(find(number), c)))
    assert report.points < report.max_points
    assert "two mistakes" not in repr(report) and "Two mistakes" not in repr(report), repr(report)
    assert named(report) == wanted


def zeros_in_the_spread(X, lengths, kind, eps):
    """Padding is set to zero, the mean is right, and the zeros take part in the variance."""
    real = (np.arange(X.shape[1]) < lengths[:, None])[..., None]
    only, many = np.where(real, X, 0), lengths[:, None, None]
    if kind == "token":
        c = only - only.mean(axis=-1, keepdims=True)
        return np.where(real, c / np.sqrt((c**2).mean(axis=-1, keepdims=True) + eps), 0)
    c = only - only.sum(axis=1, keepdims=True) / many
    return np.where(real, c / np.sqrt((c**2).sum(axis=1, keepdims=True) / many + eps), 0)


def contexts_of_the_rows(counts, k, power):
    p, q = counts / counts.sum(), counts.sum(axis=1) ** float(power)
    made_up = k * p.sum(axis=1, keepdims=True) * (q / q.sum())[:, None] * np.ones_like(p)
    return np.log(p / made_up), 1 / (1 / p + 1 / made_up)


HALVES = [("Z = (X[..., ::2] + 1j * X[..., 1::2]) * turn", "Z = (X[..., : d // 2] + 1j * X[..., d // 2 :]) * turn"),
          ("np.stack([Z.real, Z.imag], axis=-1).reshape(X.shape)", "np.concatenate([Z.real, Z.imag], axis=-1)")]
ONLY_M = "(X if X.shape == M.shape else M)"
SLIPS = {  # slips that many make: the exercise, its edits or an answer, and the name that they have
    "a strict triangle": ("00.7", [("np.triu_indices(len(X), 1)", "np.triu_indices(len(X), 0)")],
                          "not itself, and 0/0"),
    "one more than the error": ("00.11", [("c = 1 - e", "c = 1 + e")], "one plus the error"),
    "1 − h": ("01.1", [("1 - H[..., t, :] ** 2", "1 - H[..., t, :]")], "slope not squared"),
    "rows for columns": ("02.7", contexts_of_the_rows, "negatives drawn from the rows"),
    "turned back": ("03.4", [("_spin(Q[h], positions, base, 1)", "_spin(Q[h], positions, base, -1)"),
                             ("_spin(K[h], positions, base, 1)", "_spin(K[h], positions, base, -1)")],
                    "both the other way"),
    "halves": ("03.4", HALVES, "half-split"),
    "halves, with a cache": ("03.11", HALVES, "half-split"),
    "no root": ("03.11", [("@ Q[i] / np.sqrt(d_k)", "@ Q[i]")], "no scale"),
    "maximum before the mask": ("04.1", [("np.where(allowed, S, -np.inf).max(", "S.max(")],
                                "largest of all scores, 0/0 caught"),
    "E[s²]": ("04.6", [("(fourth - 2)", "(fourth - 2 + d_k)")], "mean square of the score"),
    "own values": ("05.2", [("A[-1] @ (M @ v)", f"A[-1] @ ({ONLY_M} @ v)")], "values from X"),
    "own keys, backward": ("05.3", [('("k", M, dK)', f'("k", {ONLY_M}, dK)')], "dW_k fed with X"),
    "upside down": ("05.9", [(".triu(1).bool()", ".tril(-1).bool()")], "triangle upside down"),
    "evaluation in training": ("06.4", [("(rows - mu) / np.sqrt(squares / N + eps)",
                                         "(rows - mean) / np.sqrt(var + eps)")], "the old memory"),
    "filler in the spread": ("06.5", zeros_in_the_spread, "zeros in the variance"),
    "F(X) for F(N(X))": ("07.1", [("np.tanh(_rms_norm(X, gamma) @ W)", "np.tanh(X @ W)")],
                         "no norm before a sublayer"),
    "twice the gain": ("07.4", [("return _rms_norm(X, last), kept", "return last * _rms_norm(X, last), kept")],
                       "last gain twice"),
    "log₂": ("07.6", [("np.log(np.exp(logits", "np.log2(np.exp(logits"), ("np.mean(top +", "np.mean(top / np.log(2) +"),
                      ("- logits[range(len(target)), target])", "- logits[range(len(target)), target] / np.log(2))")],
             "bits"),
}


def slip(name):
    number, how, _ = SLIPS[name]
    answer, question = how if callable(how) else answer_with(number, *how), find(number)
    return Report(question, examine.examine(question, answer, lambda case: expected_arrays(question, case)))


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_that_many_make_has_a_name(name):
    report = slip(name)
    assert named(report) == {SLIPS[name][2]} and report.points < report.max_points
    failed = [o for o in report.outcomes if not o.verdict.ok and o.verdict.kind != "not run"]
    assert all(o.mutant and not o.second and not o.ahead for o in failed), repr(report)


def test_without_what_recognises_a_slip_it_has_no_name(monkeypatch):
    monkeypatch.setattr(examine, "recognise", lambda question, cases, *given: [None] * len(cases))
    assert not any(o.mutant and not o.ahead for name in ("log₂", "E[s²]") for o in slip(name).outcomes)


OF_MANY = {  # what several mistakes give, and words that leave it open
    "always right": ("00.6", lambda forward, backward, X, rng: True, "One way to this pattern"),
    "never right": ("00.6", lambda forward, backward, X, rng: False, ", or dY makes the true gradient zero"),
    "columns made small": ("04.5", lambda n, d_k, r: (np.eye(n, d_k) * np.where(np.arange(d_k) < r, 1, 1e-3),
                                                      np.eye(n, d_k)), "and so have columns"),
    "a tolerance of a billionth": ("00.12", lambda f, X: all(
        np.abs(f(x[None]) - y).max() <= 1e-9 * np.abs(f(X)).max() for x, y in zip(X, f(X), strict=True)), "for one"),
}


@pytest.mark.parametrize("name", OF_MANY)
def test_of_several_mistakes_that_give_the_same_none_is_said_to_be_it(name):
    number, answer, words = OF_MANY[name]
    question = find(number)
    report = Report(question, examine.examine(question, answer, lambda case: expected_arrays(question, case)))
    assert report.points < report.max_points and words in repr(report), repr(report)


@pytest.mark.parametrize(("search", "what"), [("put_together", "together"), ("in_part", "in part")])
def test_without_one_of_the_searches_its_answers_stay_without_a_name(monkeypatch, search, what):
    monkeypatch.setattr(examine, search, lambda *given: {})
    for name in TWO:
        assert (named(report_of(name)) == TWO[name][2]) == (not name.startswith(what)), name


# ---------------------------------------------------------------- what must not be named


def sums(X, y):
    """P = 2X, s = the sum of the rows and y."""
    ...


def right(X, y):
    return 2 * X, X.sum(axis=0) + y


def mutant(name, function):
    return Mutant(name, function, f"Mistake {name}.", "9.1", ())


SUMS = Question(
    id="99.3", title="Sums", stub=sums, returns=("P", "s"), minutes=1, hints=("one",),
    cases=tuple(Case(name, lambda rng: {"X": rng.normal(size=(5, 4)), "y": rng.normal(size=4)}, "", 1)
                for name in ("one", "two")),
    mutants=(
        mutant("squares", lambda X, y: (X**2, X.sum(axis=0) + y)),
        mutant("no y", lambda X, y: (2 * X, X.sum(axis=0))),
        mutant("sines", lambda X, y: (np.sin(X), np.sin(X).sum(axis=0) + y)),
        mutant("tripled", lambda X, y: (3 * X, X.sum(axis=0) + y)),
    ),
)


def but_for_a_row(X, wrong):
    out = X**2
    out[-1] = wrong[-1]
    return out


PARTS = {  # an answer, and the mistake, the output and the words for it
    "known beside unknown": (lambda X, y: (X**2, np.tan(y)), ("squares", "P", "")),
    "known, times two, beside unknown": (lambda X, y: (2 * X**2, np.tan(y)), None),
    "known, the other sign": (lambda X, y: (-(X**2), X.sum(axis=0) + y), None),
    "known, each row by a factor": (lambda X, y: (X**2 / (X**2).sum(axis=1)[:, None], X.sum(axis=0) + y), None),
    "known, upside down": (lambda X, y: (X[::-1] ** 2, X.sum(axis=0) + y), None),
    "known, times two, beside known": (lambda X, y: (2 * np.sin(X), np.sin(X).sum(axis=0) + y), ("sines", "s", "")),
    "known but for a row": (lambda X, y: (but_for_a_row(X, np.cos(X)), np.tan(y)),
                            ("squares", "P", "All is right but the last row")),
    "unknown": (lambda X, y: (np.cos(X), X.sum(axis=0) + y), None),
    "unknown twice": (lambda X, y: (np.cos(X), np.tan(y)), None),
    "right but for a factor": (lambda X, y: (5 * X, X.sum(axis=0) + y), None),  # and so is "tripled"
    "right but for a row": (lambda X, y: (np.where(np.arange(5)[:, None] < 1, X**2, 2 * X), X.sum(axis=0) + y), None),
    "half of the rows": (lambda X, y: (np.where(np.arange(5)[:, None] < 2, X**2, np.cos(X)), X.sum(axis=0) + y), None),
    "a mistake whose other output is right here": (lambda X, y: (np.sin(X), X.sum(axis=0) + y), None),
    "in one case alone": (lambda X, y: (X**2 if X[0, 0] > make_inputs(SUMS, SUMS.cases[0])["X"][0, 0] - 1e-9
                                        else np.cos(X), np.tan(y)), None),
}


def parts_of(answer, engine=None):
    question = SUMS
    inputs = [make_inputs(question, case) for case in question.cases]
    expected = [tuple(map(np.asarray, right(**i))) for i in inputs]
    mine = [run(answer, i, question) for i in inputs]
    theirs = [[run(m.function, i, question) for i in inputs] for m in question.mutants]
    verdicts = [judge(question, *each) for each in zip(question.cases, mine, expected, strict=True)]
    found = (engine or two.in_part)(question, question.cases, mine, theirs, verdicts, expected)
    return {(question.mutants[f["mutant"]].name, f["part"], f["besides"]) for f in found.values()}


def wrong_parts(engine=None):
    missed = []
    for name, (answer, wanted) in PARTS.items():
        told = parts_of(answer, engine)
        fine = not told if wanted is None else all(
            t[:2] == wanted[:2] and t[2].startswith(wanted[2]) and bool(t[2]) == bool(wanted[2]) for t in told) and told
        missed += [] if fine else [name]
    return missed


def test_a_mistake_is_seen_in_a_part_where_numbers_agree_and_nowhere_else():
    assert make_inputs(SUMS, SUMS.cases[0])["X"][0, 0] > make_inputs(SUMS, SUMS.cases[1])["X"][0, 0]
    assert wrong_parts() == []


def never_cleared(self, m):
    return False


def only_equal(mine, known, right):
    return None


def against_it_alone(mine, known, right):
    """Whatever the right one looks like."""
    return ("All is right but the last row.", mine.size) if mine.size > 3 else None


def by_a_factor(mine, known, right):
    """Or a shift, or in another order."""
    text = next(filter(None, (look(mine, known) for look in (whole, lines, places))), "")
    return against(mine, known, right) or ((text, mine.size) if text else None)


def first_case_alone(question, cases, mine, theirs, verdicts, expected):
    return two.in_part(question, cases[:1], mine[:1], [row[:1] for row in theirs], verdicts[:1], expected[:1])


@pytest.mark.parametrize(("where", "name", "wrong"), [
    (two._Facts, "clears", never_cleared), (two, "against", only_equal), (two, "against", against_it_alone),
    (two, "against", by_a_factor),
])
def test_a_wrong_search_in_parts_is_found_out(monkeypatch, where, name, wrong):
    monkeypatch.setattr(where, name, wrong)
    assert wrong_parts() != []


def test_a_search_in_one_case_alone_is_found_out():
    assert wrong_parts(first_case_alone) == ["in one case alone"]


def test_small_and_unequal_arrays_are_compared_with_nothing():
    assert against(np.ones(3), 2 * np.ones(3), np.arange(3.0)) is None
    assert against(np.ones((2, 3)), np.ones((3, 2)), np.ones((2, 3))) is None


def test_of_two_pairs_that_give_the_same_only_what_they_share_is_named():
    def made(scale=2.0, shift=0.0, sign=1.0):
        return lambda x, y: (scale * x * sign + shift * y, y)

    question = replace(SUMS, mutants=(
        mutant("tripled", made(scale=3.0)), mutant("shifted", made(shift=1.0)),
        mutant("shifted in another way", lambda x, y: (2 * x + y.copy(), y)), mutant("turned", made(sign=-1.0)),
    ))
    question = replace(question, cases=tuple(
        replace(case, make=lambda rng: {"X": rng.normal(size=4), "y": rng.normal(size=4)}) for case in SUMS.cases))

    def say(answer, mutants=question.mutants):
        asked = replace(question, mutants=mutants)
        outcomes = examine.examine(asked, answer, lambda case: tuple(
            map(np.asarray, made()(*make_inputs(asked, case).values()))))
        return named(Report(asked, outcomes)), repr(Report(asked, outcomes))

    assert say(lambda x, y: (3 * x + y, y))[0] == {"tripled", "shifted"}
    again = mutant("shifted again", made(shift=1.0 + 1e-15))
    found, text = say(lambda x, y: (3 * x + y, y), (*question.mutants, again))
    assert found == {"tripled"} and "One of two mistakes: Mistake tripled." in text
    assert say(lambda x, y: (np.cos(x), y))[0] == set()


def test_a_package_for_students_has_no_code_to_put_together():
    inputs = [make_inputs(SUMS, case) for case in SUMS.cases]
    mine, expected = [run(np.add, i, SUMS) for i in inputs], [right(**i) for i in inputs]
    verdicts = [judge(SUMS, *each) for each in zip(SUMS.cases, [run(lambda X, y: (X, y), i, SUMS) for i in inputs],
                                                  expected, strict=True)]
    bare = SimpleNamespace(mutants=[SimpleNamespace(function=None)] * 2, judged=SUMS.judged, torch=False)
    assert not any(v.ok for v in verdicts)
    assert two.put_together(bare, SUMS.cases, mine, [mine, mine], verdicts, expected, inputs) == {}
