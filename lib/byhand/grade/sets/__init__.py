"""The exercise sets: one folder per chapter.

`stubs.py` is what the learner starts from, `cases.py` makes inputs, `mutants.py` holds known wrong answers,
`questions.py` puts them together, `expected.npz` holds the right arrays of the public cases.
The right answers are in `byhand.grade.reference`, which stays with the source and is not part of the wheel.
"""

import functools
import importlib
import os

import numpy as np

SETS = {
    "00": "s00_gradcheck",
    "01": "s01_recurrent",
    "02": "s02_embedding",
    "03": "s03_position",
    "04": "s04_attention",
    "05": "s05_multihead",
    "06": "s06_norm",
    "07": "s07_residual",
    "08": "s08_mask",
    "09": "s09_block",
    "10": "s10_model",
    "11": "s11_train",
    "12": "s12_generate",
    "13": "s13_translate",
    "14": "s14_pretrain",
    "15": "s15_vision",
    "16": "s16_flash",
    "17": "s17_capstone",
}
_HERE = os.path.dirname(os.path.abspath(__file__))
_load = np.load


@functools.cache
def questions_of(set_id):
    return importlib.import_module(f"{__name__}.{SETS[set_id]}.questions").QUESTIONS


@functools.cache
def all_questions():
    return tuple(question for set_id in SETS for question in questions_of(set_id))


def notebook_of(set_id):
    """The file of a set's notebook; its name is not the chapter's, so that a folder of downloads tells them apart."""
    return f"ex{SETS[set_id][1:]}.ipynb"


def expected_path(set_id):
    return os.path.join(_HERE, SETS[set_id], "expected.npz")


def expected_key(question, case, name):
    return f"{question.id}/{case.name}/{name}"


@functools.cache
def _stored(set_id):
    with _load(expected_path(set_id), allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def expected_arrays(question, case):
    """The right arrays of a public case."""
    stored = _stored(question.id.split(".")[0])
    return tuple(stored[expected_key(question, case, name)] for name in question.judged)


def references_of(set_id):
    """The right answers by function name; only where the source is checked out."""
    module = importlib.import_module(f"byhand.grade.reference.{SETS[set_id]}")
    return {question.name: getattr(module, question.name) for question in questions_of(set_id)}
