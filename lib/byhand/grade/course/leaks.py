"""Does a package for students give an answer away?  Every file of it is searched, whatever it is called."""

import ast
import importlib
import inspect
import io
import json
import re
import zipfile

import numpy as np

from .. import solutions
from ..judge import finish
from ..model import make_inputs
from ..run import run
from ..sets import SETS, notebook_of, questions_of, references_of
from .modules import COURSE
from .trees import form, functions_in, size

SMALL = 25  # nodes: a function of fewer, such as `return x @ W`, may be anybody's
LINE = 40  # letters: a line of code, or of a derivation, that is as long is known again


def leaks(files: dict[str, bytes], set_ids) -> list[str]:
    """Sentences, one for each thing found; empty if all is well. Needs the references."""
    texts, arrays = {}, {}
    for name, data in files.items():
        texts |= _texts(name, data)
        arrays |= _arrays(name, data)
    return [*_code(texts, set_ids), *_lines(texts, set_ids), *_names(texts, arrays, set_ids),
            *_numbers(texts, files, arrays, set_ids)]


def _texts(name, data) -> dict[str, str]:
    """What can be read in a file: of a notebook its cells with their outputs, of a zip what is in it."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        found = {}
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for inner in archive.namelist():
                if inner.endswith(".npy"):
                    array = np.load(io.BytesIO(archive.read(inner)), allow_pickle=False)
                    text = array.tobytes() if array.dtype == np.uint8 else b""
                    found[f"{name}/{inner}"] = text.decode(errors="ignore")
                else:
                    found |= _texts(f"{name}/{inner}", archive.read(inner))
        return found
    text = data.decode(errors="ignore")
    if name.endswith(".ipynb"):
        cells = json.loads(text)["cells"]
        outputs = [json.dumps(cell.get("outputs", []), ensure_ascii=False) for cell in cells]
        return {f"{name}, cell {i + 1}": "".join(cell["source"]) + ("" if outputs[i] == "[]" else f"\n{outputs[i]}")
                for i, cell in enumerate(cells)}
    return {name: text}


def _arrays(name, data) -> dict[str, np.ndarray]:
    if not name.endswith((".npz", ".npy")):
        return {}
    found = np.load(io.BytesIO(data), allow_pickle=False)
    return {f"{name}/{key}": found[key] for key in found.files} if name.endswith(".npz") else {name: found}


def _functions(text):
    """Of a source, or of the Python in a page; what cannot be parsed has none."""
    if "def" not in text:  # as in thousands of arrays
        return
    for part in (text, *re.findall(r"^```\w*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)):
        try:
            yield from functions_in(part)
        except (SyntaxError, ValueError, RecursionError):
            continue


def _secret_code(set_id):
    """Functions that nobody is to see, by where they stand: right answers, and known mistakes, which are near them."""
    yield f"the reference of {set_id}", _source(f"reference.{SETS[set_id]}")
    yield f"the known mistakes of {set_id}", _source(f"sets.{SETS[set_id]}.mutants")
    for question, text in solutions.solutions_of(set_id).items():
        yield f"the solution of {question}", solutions.code_of(text)


def _source(name):
    return inspect.getsource(importlib.import_module(f"byhand.grade.{name}"))


def given(set_id, every=False):
    """What learners are given: what makes their inputs, what they start from, and faulty code that they mend; or
    `every` cell of their notebook."""
    yield from (_source(f"sets.{SETS[set_id]}.{module}") for module in ("cases", "questions", "stubs"))
    repairs, mine = {q.id for q in questions_of(set_id) if q.kind == "repair"}, False
    notebook = json.loads((COURSE / "book" / "exercises" / notebook_of(set_id)).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if heading := re.match(r"## (\d\d\.\d+)", text):
            mine = heading[1] in repairs
        if mine or every:
            yield text


def _code(texts, set_ids):
    secret = {}
    known = {form(function) for set_id in set_ids for text in given(set_id) for function in _functions(text)}
    for set_id in set_ids:
        answers = {question.name for question in questions_of(set_id)}
        for where, source in _secret_code(set_id):
            for function in functions_in(source):
                if size(function) >= SMALL and (function.name in answers or form(function) not in known):
                    secret.setdefault(form(function), f"{function.name}, of {where}")
    for name, text in texts.items():
        for function in _functions(text):
            if whose := secret.get(form(function)):
                yield f"{name} has {whose}"


def _lines(texts, set_ids):
    """Lines of references and of solutions, word for word; but not of what is given out."""
    known, handed = {}, set()
    for set_id in set_ids:
        for where, source in [*_secret_code(set_id), *solutions.solutions_of(set_id).items()]:
            if "known mistakes" not in where:
                for line in (" ".join(line.split()) for line in source.splitlines()):
                    if len(line) >= LINE and not line.startswith(("def ", "import")):
                        known[line] = where
        handed |= {" ".join(line.split()) for text in given(set_id) for line in text.splitlines()}
    for name, text in texts.items():
        for line in text.splitlines():
            short = " ".join(line.split())
            if short not in handed and (where := known.get(short)):
                yield f"{name} has a line of {where}: {line.strip()[:60]!r}"


def _names(texts, arrays, set_ids):
    """Hidden cases: their names in a question, or in a key of its arrays, and what alone makes their inputs."""
    hidden = {q.id: {c.name for c in q.cases if c.hidden} - {c.name for c in q.public}
              for set_id in set_ids for q in questions_of(set_id)}
    for name, text in texts.items():
        for node in ast.walk(_parsed(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Question":
                given = {k.arg: k.value for k in node.keywords}
                calls = [x for x in ast.walk(given["cases"]) if isinstance(x, ast.Call) and x.args]
                words = {x.args[0].value for x in calls if isinstance(x.args[0], ast.Constant)}
                for case in sorted(hidden.get(given["id"].value, set()) & words):
                    yield f"{name} has the hidden case '{case}' of {given['id'].value}"
    for name in [*texts, *arrays]:
        for question, cases in hidden.items():
            for case in cases:
                if f"{question}/{case}/" in name:
                    yield f"{name} is of a hidden case"


def _parsed(text):
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _numbers(texts, files, arrays, set_ids):
    """The inputs and the right arrays of hidden cases, as bytes or written out with all their digits."""
    everything = b"\0".join([*files.values(), *(a.tobytes() for a in arrays.values())])
    digits = set(re.findall(r"\d\.\d{12,}", "\n".join(texts.values())))
    hidden = []  # question, case, pieces that no public case has
    for set_id in set_ids:
        references = references_of(set_id)
        for question in questions_of(set_id):
            seen = set()
            for case in (*question.public, *(c for c in question.cases if c.hidden)):
                inputs = make_inputs(question, case)
                right = finish(question, inputs, run(references[question.name], inputs, question)).arrays
                pieces = list(_pieces([*inputs.values(), *right]))
                if case.hidden:
                    hidden.append((question, case, [piece for piece in pieces if piece.tobytes() not in seen]))
                else:
                    seen |= {piece.tobytes() for piece in pieces}
    first = _words(everything, [piece for *_, pieces in hidden for piece in pieces])
    for question, case, pieces in hidden:
        if any(x.tobytes()[:8] in first and x.tobytes() in everything or {repr(abs(n)) for n in x.tolist()} <= digits
               for x in pieces):
            yield f"numbers of the hidden case '{case.name}' of {question.id} are there"


def _words(everything: bytes, pieces) -> set[bytes]:
    """The first numbers of those pieces whose first number is anywhere in these bytes: a search for each would read
    all of them thousands of times."""
    wanted, found = np.unique([piece[:1].view(np.uint64)[0] for piece in pieces] or [np.uint64(0)]), set()
    for start in range(8):
        there = np.frombuffer(everything[start : start + (len(everything) - start) // 8 * 8], np.uint64)
        place = np.searchsorted(wanted, there).clip(max=len(wanted) - 1)
        found |= {word.tobytes() for word in np.unique(there[wanted[place] == there])}
    return found


def _pieces(values):
    """Pieces of three numbers, none of them whole, that are nowhere by chance."""
    for value in values:
        if isinstance(value, np.ndarray) and value.dtype == np.float64:
            flat = value.ravel()
            for start in range(0, flat.size - 2, 3):
                piece = flat[start : start + 3]
                if np.isfinite(piece).all() and len(set((piece % 1).tolist()) - {0.0}) == 3:
                    yield piece
                    break
