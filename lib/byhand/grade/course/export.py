"""Grades as the platforms read them: CSV, Canvas, Moodle, and Gradescope's results.json."""

import csv
import hashlib
import io
import json
import re
from collections import Counter

from .inert import inert
from .store import earned

FORMULA = re.compile(r"(^|;)(?=\s*[-=+@＝＋－＠])")  # at the beginning of a field, also where fields end with ;
FORMATS = ("csv", "canvas", "moodle", "gradescope")
OPEN = ("waiting", "error")  # what must be settled before grades leave


def file_name(student: str) -> str:
    """A student's name as the name of a file: two students never share one, and none leads out of a folder."""
    plain = "".join(c if c.isalnum() or c in "-_@." else "_" for c in student)[:60]
    plain = re.sub(r"^\.|\.(?=\.|$)", "_", plain)  # a dot stands within a name, as in an address
    return plain if plain and plain == student else _marked(plain, student)


def file_names(students) -> dict[str, str]:
    """By student; where two differ by case alone, which some systems do not see, each has a mark of its own."""
    found = {student: file_name(student) for student in students}
    times = Counter(name.lower() for name in found.values())
    return {student: name if times[name.lower()] == 1 else _marked(name, student) for student, name in found.items()}


def _marked(plain: str, student: str) -> str:
    return f"{plain}-{hashlib.sha256(student.encode()).hexdigest()[:8]}"


def table(rows, points, questions, title: str, kind: str, names=None) -> str:
    """One line a student. An empty field is no grade; it is never a zero. `names` says what students are called."""
    def number(x):
        return "" if x is None else f"{x:g}"

    def safe(text):  # a spreadsheet would take it for a formula
        return FORMULA.sub(r"\1'", " ".join(inert(text).split()))

    of, names = {}, names or {}
    for p in points:
        of.setdefault(p["student"], {})[p["question"]] = earned(p)
    out = io.StringIO(newline="")
    write = csv.writer(out)
    most = number(sum(q.points for q in questions))
    called = ["name"] if any(names.values()) else []
    heads = {"canvas": ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title],
             "moodle": ["Identifier", "Full name", "ID number", "Status", "Grade", "Maximum Grade",
                        "Last modified (grade)", "Feedback comments"],  # without that date Moodle refuses the file
             "csv": ["student", *called, "status", "points", "max_points", *(q.id for q in questions),
                     "isolation", "note"]}
    write.writerow(heads[kind])
    if kind == "canvas":
        write.writerow(["    Points Possible", "", "", "", "", most])
    for row in rows:
        student, name, got = safe(row.student), safe(names.get(row.student, "")), number(row.points)
        if kind == "canvas":
            write.writerow([name or student, row.student if row.student.isdigit() else "", "", student, "", got])
        elif kind == "moodle":
            note = safe(row.note) if row.tier in ("", "sandbox") else f"[{row.tier}] {safe(row.note)}".strip()
            write.writerow([safe(f"Participant {row.student}"), name, student, row.status, got, most, "", note])
        else:
            mine = of.get(row.student, {}) if row.points is not None else {}
            write.writerow([student, *([name] if called else []), row.status, got, most,
                            *(number(mine.get(q.id)) for q in questions), row.tier, safe(row.note)])
    return out.getvalue()


def gradescope(row, points, questions) -> str:
    """results.json of one student, as Gradescope's autograder writes it. Raises ValueError where there is no grade."""
    if row.points is None:
        raise ValueError(f"export: {row.student} is {row.status}, expected a grade")
    title = {q.id: q.title for q in questions}
    tests = [{"number": p["question"], "name": title.get(p["question"], ""), "max_score": p["max_points"],
              "score": earned(p), "output": p["text"],
              "output_format": "text", "visibility": "after_published"} for p in points]
    return json.dumps({"score": row.points, "tests": tests, "visibility": "after_published",
                       "stdout_visibility": "hidden", "extra_data": {"isolation": row.tier}},
                      ensure_ascii=False, indent=1) + "\n"
