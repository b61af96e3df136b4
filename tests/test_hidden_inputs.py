"""What an answer gives in an open case is shown to its author: nothing of a hidden input may be in it.

An answer keeps whatever it meets, in the process and on its disk, and says it in every case.
"""

import hashlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from byhand.grade.course import grading, submission
from byhand.grade.model import make_inputs
from byhand.grade.sets import questions_of
from confining import confined
from hostile import HEAD, notebook

pytestmark = confined
KEY = b"another student's key"
ATTENTION, VJP = questions_of("04")[:2]

KEEPS = """import glob, hashlib, os
def attention(Q, K, V, mask=None):
    with open(f"/tmp/met-{os.getpid()}-{len(os.listdir('/tmp'))}", "wb") as file:
        file.write(hashlib.sha256(np.asarray(Q).tobytes()).hexdigest().encode())
    raise ValueError(" ".join({open(name).read()[:8] for name in glob.glob("/tmp/met*")}))"""
TELLS = """import glob
def softmax_vjp(dA, A):
    raise ValueError(" ".join({open(name).read()[:8] for name in glob.glob("/tmp/met*")}))"""

# Where the first half of an array lies in the memory of the process, is the second half behind it?
SEARCHES = """import ctypes, hashlib, re
def attention(Q, K, V, mask=None):
    first, whole, size, found = bytes.fromhex("FIRST"), "WHOLE", SIZE, 0
    for line in open("/proc/self/maps"):
        span, rights, *_, last = line.split()
        if rights.startswith("rw") and "[v" not in last:
            a, b = (int(x, 16) for x in span.split("-"))
            data = ctypes.string_at(a, b - a)
            for m in re.finditer(re.escape(first), data):
                found += hashlib.sha256(data[m.start():m.start() + size]).hexdigest() == whole
    raise ValueError(f"found {found}")"""


def digest(data):
    return hashlib.sha256(data).hexdigest()


def said_in_open_cases(data, folder, monkeypatch, worker=None):
    """All that came back from the open cases, by question; `worker` changes the text of what runs in the sandbox."""
    path, seen = folder / "submission.ipynb", {}
    path.write_bytes(data)
    if worker:
        text = Path(grading.worker.__file__).read_text(encoding="utf-8")
        (folder / "worker.py").write_text(worker(text), encoding="utf-8")
        assert worker(text) != text
        monkeypatch.setattr(grading, "worker", SimpleNamespace(__file__=folder / "worker.py"))
    real = grading._answers
    monkeypatch.setattr(grading, "_answers", lambda *a: seen.update(real(*a)) or seen)
    grading.grade(submission.read(path), "04", KEY)
    return {q.id: " ".join(seen[q.id][0][c.name].text for c in q.public if c.name in seen[q.id][0])
            for q in (ATTENTION, VJP) if q.id in seen}


def all_at_once(text):
    """The second part is read with the first: its inputs are there from the beginning."""
    first = "    ends, stopped = {}, set()\n"
    assert text.count(first) == 1
    return text.replace(first, f"    second = part(file)\n{first}").replace(
        "more, plain = part(file)", "more, plain = second")


def hidden_first(text):
    return text.replace("    for hidden in (False, True):\n        if hidden:", """
    (more, two), one = part(file), plain
    open_ones = {question["id"]: question["cases"] for question in asked["questions"]}
    for hidden in (True, False):
        plain = two if hidden else one
        for question in asked["questions"]:
            question["cases"] = (more["cases"] if hidden else open_ones)[question["id"]]
        if False:""")


@pytest.mark.parametrize("worker", [None, hidden_first])
def test_what_a_hidden_case_has_left_on_the_disk_is_said_in_no_open_one(worker, tmp_path, monkeypatch):
    said = said_in_open_cases(notebook(HEAD, KEEPS, TELLS), tmp_path, monkeypatch, worker)
    met = {hidden: {digest(make_inputs(ATTENTION, case, KEY)["Q"].tobytes())[:8] for case in ATTENTION.cases
                    if case.hidden == hidden} for hidden in (False, True)}
    said = set(" ".join(said.values()).split())
    assert met[False] & said, "not even open ones are told: this would prove nothing"
    assert bool(met[True] & said) == bool(worker)


@pytest.mark.parametrize(("worker", "found"), [(None, "found 0"), (all_at_once, "found 1")])
def test_no_hidden_input_is_in_memory_while_open_cases_run(worker, found, tmp_path, monkeypatch):
    case = next(c for c in ATTENTION.cases if c.hidden)
    data = make_inputs(ATTENTION, case, KEY)["Q"].tobytes()
    text = SEARCHES.replace("FIRST", data[:16].hex()).replace("WHOLE", digest(data)).replace("SIZE", str(len(data)))
    said = said_in_open_cases(notebook(HEAD, text), tmp_path, monkeypatch, worker)
    assert found in said[ATTENTION.id], said
