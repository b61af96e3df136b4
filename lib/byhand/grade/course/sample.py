"""A class to practise with: submissions to set 04 in every condition in which they come, made from a seed."""

import ast
import csv
import io
import json
import random
import zipfile
from pathlib import Path

from byhand.io.files import write_whole

from ..sets import SETS, notebook_of

FIRST, STRANGER = 1001, 2099  # numbers of students, as a platform gives them
NAMES = ("Ann Example", "Ben Ito", "Chloé Dubois", "Dmitri Orlov", "Eve O’Neill", "Fatima al-Sayed", "Grace Ødegård",
         "Hiro Tanaka", "Inés Peña", 'Jo "Jay" Park', "Müller, Jörg", "Kofi Mensah", "Lena Weiß", "Mei Lin",
         "Nils Åberg", "Olga Nowak", "Priya Rao", "Quentin Roy", "Rosa Díaz", "Sam Lee", "Tomás Čapek", "Uma Iyer",
         "Vera Novák", "Will Stone", "Xin Wu", "Yara Haddad", "Zoë King", "Aïcha Ba", "Bo Sørensen",
         "Carla Rossi", "Dan Levi")
HEAD = "import numpy as np\nfrom byhand.grade import check, hint\n"
LATER = ("sink_gradients", "diagnose", "cosine_gradients", "previous_token", "attention_without_nan", "entropy_slope")
SLIPS = {  # by name: the function, and the edit that makes the mistake
    "no scale": ("attention", " / np.sqrt(Q.shape[-1])", ""),
    "overflow": ("attention", "S - highest", "S"),
    "mask inverted": ("attention", "else mask", "else ~mask"),
    "softmax over the queries": ("attention", "axis=-1", "axis=-2"),
    "sum forgotten": ("softmax_vjp", 'np.einsum("...ij,...ij->...i", A, dA)[..., None]', "0"),
    "sign of the sink": ("sink_gradients", "db = -dS", "db = dS"),
    "scale forgotten": ("bias_gradients", "scale = 1 / np.sqrt(Q.shape[-1])", "scale = 1"),
    "rho not squared": ("related_score", "rho**2", "rho"),
    "T once": ("cosine_gradients", "T**2", "T"),
    "p for the odds": ("blind_test", "np.log(p / (1 - p))", "p"),
    "squares that do not sum to one": ("after_change", "a**2 / (a**2).sum()", "a**2"),
    "sign": ("entropy_slope", "-beta * (A", "beta * (A"),
}
CONDITIONS = (  # of student 1001, 1002, …
    "slip no scale", "slip overflow", "right", "half", "broken file", "two attempts", "hostile loop", "Colab",
    "nothing written", "late", "missing", "slip sum forgotten", "hostile print", "an error", "slip mask inverted",
    "slip sign of the sink", "slip scale forgotten", "slip rho not squared", "slip T once", "slip p for the odds",
    "slip squares that do not sum to one", "slip sign", "slip softmax over the queries", "two slips", "a syntax error",
    "twice the same", "right", "half", "empty file", "no function")


def files(students: int = 30, seed: int = 0) -> dict[str, bytes]:
    """`canvas.zip`, as Canvas makes it, and `roster.csv`, for a class of that size. One more who is not on the roster
    has handed something in. The same seed gives the same bytes."""
    if not 8 <= students <= len(CONDITIONS):
        raise ValueError(f"sample: students is {students}, expected 8 to {len(CONDITIONS)}")
    rng = random.Random(seed)
    names = list(NAMES)
    rng.shuffle(names)
    made, functions = {}, _functions()
    for i, condition in enumerate(CONDITIONS[:students]):
        for late, number, data in _handed_in(condition, functions, rng):
            mark = "_LATE" if late else ""
            made[f"{_login(names[i])}{mark}_{FIRST + i}_{70000 + 10 * i + number}_{notebook_of('04')}"] = data
    made[f"visitor_{STRANGER}_70999_{notebook_of('04')}"] = _notebook(_all(functions, ()), rng)
    roster = io.StringIO(newline="")
    write = csv.writer(roster)
    write.writerow(["student", "name"])
    write.writerows([FIRST + i, names[i]] for i in range(students))
    return {"canvas.zip": _zip(made), "roster.csv": roster.getvalue().encode()}


def write(folder: str | Path, students: int = 30, seed: int = 0) -> list[str]:
    """The files in a folder; their names."""
    folder = Path(folder)
    made = files(students, seed)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in made.items():
        write_whole(folder / name, data)
    return sorted(made)


def _functions() -> dict[str, str]:
    """The right answers by name, as text: they are there only where the course is checked out."""
    path = Path(__file__).parents[1] / "reference" / f"{SETS['04']}.py"
    if not path.is_file():
        raise ValueError("sample: the right answers are not installed; it works where the course is checked out")
    text = path.read_text(encoding="utf-8")
    return {node.name: ast.get_source_segment(text, node) for node in ast.parse(text).body
            if isinstance(node, ast.FunctionDef)}


def _handed_in(condition, functions, rng):
    """What a student in this condition has handed in: late or not, a number, the file."""
    short = _all(functions, LATER)
    match condition.partition(" "):
        case "right", _, _:
            return [(False, 0, _notebook(_all(functions, ()), rng))]
        case "half", _, _:
            return [(False, 0, _notebook(_all(functions, (*LATER, "softmax_vjp", "bias_gradients")), rng))]
        case "slip", _, slip:
            return [(False, 0, _notebook(_slipped(functions, slip), rng))]
        case "two", _, "slips":
            both = _slipped(functions, "no scale")
            return [(False, 0, _notebook([*both, *_slipped(functions, "sum forgotten")[-1:]], rng))]
        case "two", _, "attempts":
            return [(False, 0, _notebook(_slipped(functions, "overflow"), rng)), (False, 1, _notebook(short, rng))]
        case "twice", _, _:
            data = _notebook(short, rng)
            return [(False, 0, data), (False, 1, data)]
        case "late", _, _:
            return [(True, 0, _notebook(short, rng))]
        case "missing", _, _:
            return []
        case "broken", _, _:
            return [(False, 0, _notebook(short, rng)[:-60])]
        case "empty", _, _:
            return [(False, 0, b"")]
        case "nothing", _, _:
            return [(False, 0, _notebook([f"{text.splitlines()[0]}\n    ...\n" for text in short], rng))]
        case "no", _, _:
            return [(False, 0, _notebook(["print('I was ill')\n"], rng))]
        case "Colab", _, _:  # ids lost, other metadata, everything in one cell
            return [(False, 0, _notebook(["\n\n\n".join(short)], rng, colab=True))]
    cells = list(short)
    cells[0] = cells[0].replace("\n", "\n" + {
        "hostile loop": "    while True:\n        pass\n",
        "hostile print": "    raise ValueError('<script>alert(1)</script>')\n",
        "an error": "    Q = Q.reshape(-1, 7)\n",
        "a syntax error": "    return (\n",
    }[condition], 1)
    return [(False, 0, _notebook(cells, rng))]


def _all(functions, without):
    text = [f"import math\nimport torch\n\n\n{text}" if "torch." in text else text
            for name, text in functions.items() if name not in without]
    return [*text]


def _slipped(functions, slip):
    """An honest half with this mistake, its function last."""
    name, old, new = SLIPS[slip]
    if old not in functions[name]:
        raise ValueError(f"sample: {name} has no {old!r}")
    changed = functions | {name: functions[name].replace(old, new)}
    helpers = ["_unit"] if name == "cosine_gradients" else []
    return [*_all(functions, (*LATER, name)), *(functions[x] for x in helpers), changed[name]]


def _notebook(cells, rng, colab=False) -> bytes:
    scratch = f"# my try number {rng.randrange(2, 40)}\nx = {rng.random():.6f}\n"
    made = []
    for i, text in enumerate([HEAD, *cells, scratch]):
        cell = {"cell_type": "code", "execution_count": i + 1, "metadata": {}, "outputs": [],
                "source": text.splitlines(keepends=True)}
        made.append(cell | ({"metadata": {"id": f"{rng.randrange(1 << 40):x}"}} if colab else {"id": f"cell-{i}"}))
    about = {"colab": {"provenance": []}} if colab else {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    return json.dumps({"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 0 if colab else 5}).encode()


def _login(name: str) -> str:
    """Canvas writes the letters of the last name and the first, without marks."""
    return "".join(c for c in name.lower() if c.isascii() and c.isalnum())


def _zip(made) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(made.items()):
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 12, 8, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return data.getvalue()
