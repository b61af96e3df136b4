"""What the known mistakes give in the cases that learners see, as data.

So a package for students needs no code of them, which is one edit away from a right answer. `check` compares an answer
with what the mistake returns, and that is the same for everybody.
"""

import functools
import json
import os
from copy import deepcopy

import numpy as np

from .judge import finish
from .model import make_inputs
from .run import Result, copied, run
from .sets import expected_path, questions_of

_load = np.load


def path_of(set_id):
    """Beside the expected arrays; only a package for students has it."""
    return os.path.join(os.path.dirname(expected_path(set_id)), "mistakes.npz")


def arrays_of(set_id):
    """The arrays of every known mistake of a set in every public case, and an index of them, for an .npz file."""
    arrays, places, index = {}, {}, []
    for question in questions_of(set_id):
        drawn = {case.name: make_inputs(question, case) for case in question.public}  # some take long to find
        for mutant in question.mutants:
            for case in question.public:
                inputs = copied(drawn[case.name], deepcopy)  # an answer may draw from a generator
                result = finish(question, inputs, run(mutant.function, inputs, question))
                listed = []
                for x in result.arrays:
                    if isinstance(x, str):
                        listed.append(x)
                        continue
                    key = (x.dtype.str, x.shape, x.tobytes())
                    place = places.setdefault(key, len(places))
                    arrays[str(place)] = x
                    listed.append(place)
                index.append([question.id, mutant.name, case.name, result.kind, result.text, list(result.changed),
                              list(result.events), listed])
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    return arrays | {"index": np.frombuffer(text.encode(), np.uint8)}


@functools.cache
def _stored(set_id):
    found, path = {}, path_of(set_id)
    if os.path.exists(path):
        with _load(path, allow_pickle=False) as file:
            for question, mutant, case, kind, text, changed, events, listed in json.loads(file["index"].tobytes()):
                arrays = tuple(x if isinstance(x, str) else file[str(x)] for x in listed)
                result = Result(kind, arrays, tuple(changed), text, tuple(events))
                found.setdefault(question, {})[mutant, case] = result
    return found


def seen_of(question):
    """By mistake and case, what it gives, where this copy of the course has that on the disk; else empty."""
    return dict(_stored(question.id.split(".")[0]).get(question.id, {}))
