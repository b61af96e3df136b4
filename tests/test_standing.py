# ruff: noqa: E501
"""How a class stands: what divides it, what it misunderstood, and the statuses that there are."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from byhand.grade.course import export, feedback, standing
from byhand.grade.course import store as gradebook
from byhand.grade.course.store import Row
from byhand.grade.sets import questions_of

QUESTIONS = questions_of("04")[:3]


def points_of(table, mistakes=None, given=None):
    return [{"student": f"s{i:02}", "question": q.id, "automatic": float(x), "given": (given or {}).get((i, q.id)),
             "max_points": q.points, "mistakes": json.dumps((mistakes or {}).get((i, q.id), []))}
            for i, row in enumerate(table) for q, x in zip(QUESTIONS, row, strict=True)]


def rows_of(points):
    names = sorted({p["student"] for p in points})
    return [Row(n, "graded", sum(p["automatic"] for p in points if p["student"] == n), 7, "") for n in names]


def test_what_divides_a_class_is_the_correlation_with_the_rest():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 4, size=(30, 3))
    found = standing.divides(points_of(table))
    for i, q in enumerate(QUESTIONS):
        rest = table.sum(axis=1) - table[:, i]
        assert found[q.id] == pytest.approx(np.corrcoef(table[:, i], rest)[0, 1], abs=1e-12)
    assert abs(np.corrcoef(table[:, 0], table.sum(axis=1))[0, 1] - found["04.1"]) > 0.1  # not with itself among them


def test_points_given_by_hand_count():
    table = np.array([[3, 2, 3]] * 5 + [[0, 0, 0]] * 5)
    given = {(i, "04.2"): 0.0 for i in range(5)} | {(i, "04.2"): 2.0 for i in range(5, 10)}
    assert standing.divides(points_of(table))["04.2"] == pytest.approx(1)
    assert standing.divides(points_of(table, given=given))["04.2"] == pytest.approx(-1)


def test_nothing_is_said_where_nothing_is_known():
    """A small class, and a question that all have."""
    assert set(standing.divides(points_of([[3, 2, 0]] * 7)).values()) == {None}
    table = np.array([[3, 2, i % 4] for i in range(9)])
    assert standing.divides(points_of(table))["04.1"] is None
    assert standing.divides([]) == {}


def test_the_lines_say_what_to_talk_about():
    table = np.array([[3, 2, 3]] * 4 + [[3, 0, 1]] * 4 + [[0, 2, 0]] * 4)
    mistakes = {(i, "04.1"): ["no scale"] for i in range(8, 12)} | {(0, "04.1"): ["divided by d_k"], (1, "04.2"): ["gone since"]}
    points = points_of(table, mistakes, {(0, "04.1"): 1.0})
    text = "\n".join(standing.lines([*rows_of(points), Row("zoe", "unreadable", None, 7, "")], points, QUESTIONS,
                                    [("ann", 1.0), ("ben", 9.5), ("eve", 2.0)], [("ann", "04.2", ["attention"])]))
    assert "12 graded, 1 unreadable" in text and "the slowest ben 9.5, eve 2.0, ann 1.0" in text and "median 2.0" in text
    assert re.search(r"4 of 12  04.1  no scale\n +This is what you get .*√d_k.*-> section 4.4", text)
    assert text.index("no scale") < text.index("divided by d_k") and "1 of 12  04.2  gone since" in text
    found = standing.divides(points)
    best = max(found, key=found.get)
    assert f"{best} divides the class most" in text and min(found.values()) < 0
    assert all((f"{q} may be at fault" in text) == (r < 0) for q, r in found.items())
    assert "ann 04.2 counts with a right attention" in text and "look again: s00 04.1 was given 1, now earns 3" in text


def test_every_status_that_is_named_is_given():
    """The word in the gradebook, in feedback and in exports are those that some code writes."""
    sources = {path.name: path.read_text() for path in Path(gradebook.__file__).parent.glob("*.py")}
    named = set(re.search(r"status: str  # (.*)", sources["store.py"])[1].split(", "))
    assert named == {"graded", "unreadable", "error", "waiting", "not submitted"}
    assert set(export.OPEN) <= named and set(feedback.STANDING) <= named
    writers = "\n".join(line for name in ("batch.py", "store.py") for line in sources[name].splitlines() if "#" not in line)
    assert {status for status in named if f'"{status}"' not in writers} == set()
