"""Answers that compute nothing earn nothing: they count calls, hand back constants, or know numbers by heart."""

import sys
from dataclasses import replace

import pytest
from byhand.grade import idle
from byhand.grade.model import make_inputs
from byhand.grade.run import run
from byhand.grade.sets import all_questions, references_of

QUESTIONS = {question.id: question for question in all_questions()}
REFERENCES = {q.id: references_of(q.id.split(".")[0])[q.name] for q in all_questions()}
KEY = b"another student's key"


def earned_by(answer, question_id, key=KEY):
    """Cases whose points an answer earns under a student's key."""
    question = QUESTIONS[question_id]
    given = idle.Given(question, REFERENCES[question_id], key)
    return idle.earned(question, lambda case: run(answer, given.inputs(case), question), given.inputs,
                       lambda case: given.right(case.name)[0])


# ---------------------------------------------------------------- counting


COUNTERS = {"00.6": (7, 2), "00.12": (10, 3)}  # how many layers, of which so many right ones are named first


def counter(size, right):
    calls = [0]

    def answer(*_):
        calls[0] += 1
        return (calls[0] - 1) % size < right

    return answer


def verdicts_in_the_order_of_the_statement(layers, call):
    return [int(call(layer)) for layer in layers]


@pytest.mark.parametrize("question_id", COUNTERS)
def test_to_count_the_calls_earns_nothing(question_id, monkeypatch):
    assert earned_by(counter(*COUNTERS[question_id]), question_id) == []
    monkeypatch.setattr(sys.modules["byhand.grade.sets.s00_gradcheck.cases"], "verdicts",
                        verdicts_in_the_order_of_the_statement)
    points = [case.name for case in QUESTIONS[question_id].public if case.points]
    assert earned_by(counter(*COUNTERS[question_id]), question_id) == points


@pytest.mark.parametrize("question_id", COUNTERS)
def test_what_is_said_of_an_answer_does_not_depend_on_the_order_of_the_calls(question_id):
    question, case = QUESTIONS[question_id], QUESTIONS[question_id].cases[0]
    given = make_inputs(question, case)
    right = [id(layer) for layer in given["layers"]]

    def named(*arguments):  # each layer says who it is
        layer = arguments[:2] if question_id == "00.6" else arguments[0]
        raise ValueError(right.index(next(i for i, x in zip(right, given["layers"], strict=True) if x == layer)))

    assert {run(named, given, question).text.splitlines()[0] for _ in range(20)} == {"ValueError: 0"}


# ---------------------------------------------------------------- 10.10, read once


def product(a, b):
    return (a[:, :, None] * b[None]).sum(1)


def expanded(a, b):
    shape = (*a.shape, b.shape[1])
    return (a[:, :, None].expand(shape) * b[None].expand(shape)).sum(1)


def reads_again(mul):
    """Everything anew for every word."""
    import torch

    @torch.no_grad()
    def write_with_cache(ids, steps, E, P, W_q, W_k, W_v):
        words, scores = list(ids), []
        for _ in range(steps):
            X = E[words] + P[:len(words)]
            S = mul(mul(X, W_q), mul(X, W_k).T) / W_q.shape[1] ** 0.5
            S = S.masked_fill(torch.ones_like(S).triu(1) > 0, -torch.inf)
            L = mul(X + mul(torch.softmax(S, -1), mul(X, W_v)), E.T)
            scores.append(L[-1])
            words.append(int(L[-1].argmax()))
        return words[len(ids):], torch.stack(scores)

    return write_with_cache


@pytest.mark.parametrize("mul", [product, expanded, lambda a, b: a @ b])
def test_who_reads_again_is_found_however_the_products_are_written(mul):
    assert earned_by(reads_again(mul), "10.10") == ["short", "no graph"]


def test_numpy_counts_no_products_and_is_not_allowed_there():
    assert {"numpy", "tolist"} <= set(QUESTIONS["10.10"].forbid)


# ---------------------------------------------------------------- constants, and numbers of others


def found(question_id, **changes):
    """What is said of a question of the course that was changed."""
    question = replace(QUESTIONS[question_id], **changes)
    return list(idle.idlers(question, REFERENCES[question_id], (b"display", b"one", b"two")))


def without(question_id, *names):
    return tuple(case for case in QUESTIONS[question_id].cases if case.name not in names)


AS_IT_WAS = {  # question: hidden cases that it had not, and what was to be had for nothing
    "01.8": (("a wide model",), "ones earn the points of 'few taps'"),
    "03.1": (("another clock",), "the numbers of other inputs earn the points of 'one clock'"),
    "13.8": (("another word", "another gap"), "the numbers of other inputs earn the points of 'replaced'"),
    "14.6": (("not all innocent",), "always 'fair' would earn the points of 'nine innocents'"),
    "16.1": (("other tokens", "another token"), "the numbers of other inputs earn the points of 'many tokens'"),
}


@pytest.mark.parametrize("question_id", AS_IT_WAS)
def test_what_earns_points_for_nothing_is_found(question_id):
    names, said = AS_IT_WAS[question_id]
    assert found(question_id) == []
    assert any(text.startswith(said) for text in found(question_id, cases=without(question_id, *names)))


def test_the_drive_of_00_6_in_the_order_of_the_statement_is_found(monkeypatch):
    monkeypatch.setattr(sys.modules["byhand.grade.sets.s00_gradcheck.cases"], "verdicts",
                        verdicts_in_the_order_of_the_statement)
    assert found("00.6") == ["the numbers of other inputs earn the points of 'seven layers', 'large activations'"]


def test_one_question_alone_has_all_its_inputs_in_the_open():
    assert [q.id for q in QUESTIONS.values() if idle.Given(q, REFERENCES[q.id], KEY).all_open] == ["09.9"]
