"""Grades as the platforms read them: CSV, Canvas, Moodle, and Gradescope's results.json."""

import csv
import hashlib
import io
import json

from .store import earned

FORMATS = ("csv", "canvas", "moodle", "gradescope")
OPEN = ("waiting", "error")  # what must be settled before grades leave


def file_name(student: str) -> str:
    """A student's name as the name of a file: two students never share one, and none leads out of a folder."""
    plain = "".join(c if c.isalnum() or c in "-_@" else "_" for c in student)[:60]
    return plain if plain == student else f"{plain}-{hashlib.sha256(student.encode()).hexdigest()[:8]}"


def table(rows, points, questions, title: str, kind: str) -> str:
    """One line a student. An empty field is no grade; it is never a zero."""
    def number(x):
        return "" if x is None else f"{x:g}"

    def safe(text):  # a spreadsheet would take it for a formula
        return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text.replace("\n", " ")

    of = {}
    for p in points:
        of.setdefault(p["student"], {})[p["question"]] = earned(p)
    out = io.StringIO(newline="")
    write = csv.writer(out)
    most = sum(q.points for q in questions)
    if kind == "canvas":
        write.writerow(["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title])
        write.writerow(["    Points Possible", "", "", "", "", number(most)])
        for row in rows:
            write.writerow([safe(row.student), row.student if row.student.isdigit() else "", "", safe(row.student), "",
                            number(row.points)])
    elif kind == "moodle":
        write.writerow(["Identifier", "ID number", "Status", "Grade", "Maximum Grade", "Last modified (grade)",
                        "Feedback comments"])  # without that column of a date Moodle refuses the whole file
        for row in rows:
            note = safe(row.note) if row.tier in ("", "sandbox") else f"[{row.tier}] {safe(row.note)}".strip()
            write.writerow([f"Participant {row.student}", safe(row.student), row.status, number(row.points),
                            number(most), "", note])
    else:
        write.writerow(["student", "status", "points", "max_points", *(q.id for q in questions), "isolation", "note"])
        for row in rows:
            mine = of.get(row.student, {}) if row.points is not None else {}
            write.writerow([safe(row.student), row.status, number(row.points), number(most),
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
