"""Answers that compute nothing earn nothing: they count calls, hand back constants, or know numbers by heart."""

import sys
from copy import deepcopy

import pytest
from byhand.grade import idle
from byhand.grade.judge import finish
from byhand.grade.model import make_inputs
from byhand.grade.run import copied, run
from byhand.grade.sets import all_questions, references_of

QUESTIONS = {question.id: question for question in all_questions()}
REFERENCES = {q.id: references_of(q.id.split(".")[0])[q.name] for q in all_questions()}
KEY = b"another student's key"


def earned_by(answers, question_id, key=KEY):
    """Cases whose points an answer earns under a student's key; `answers(case)` is what it does there."""
    question, reference = QUESTIONS[question_id], REFERENCES[question_id]
    drawn = {case.name: make_inputs(question, case, key) for case in question.cases}

    def inputs(case):
        return copied(drawn[case.name], deepcopy)

    def expected(case):
        return finish(question, inputs(case), run(reference, inputs(case), question)).arrays

    return idle.earned(question, answers, inputs, expected)


# ---------------------------------------------------------------- counting


COUNTERS = {"00.6": (7, 2), "00.12": (10, 3)}  # layers in all, and of those that the statement names first, the right ones


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
    counts = counter(*COUNTERS[question_id])
    assert earned_by(lambda case: counts, question_id) == []
    monkeypatch.setattr(sys.modules["byhand.grade.sets.s00_gradcheck.cases"], "verdicts",
                        verdicts_in_the_order_of_the_statement)
    counts = counter(*COUNTERS[question_id])
    assert earned_by(lambda case: counts, question_id) == [c.name for c in QUESTIONS[question_id].public if c.points]


@pytest.mark.parametrize("question_id", COUNTERS)
def test_what_is_said_of_an_answer_does_not_depend_on_the_order_of_the_calls(question_id):
    question, case = QUESTIONS[question_id], QUESTIONS[question_id].cases[0]
    given = make_inputs(question, case)
    right = [id(layer) for layer in given["layers"]]

    def named(*arguments):  # each layer says who it is
        layer = arguments[:2] if question_id == "00.6" else arguments[0]
        raise ValueError(right.index(next(i for i, x in zip(right, given["layers"], strict=True) if x == layer)))

    assert {run(named, given, question).text.splitlines()[0] for _ in range(20)} == {"ValueError: 0"}
