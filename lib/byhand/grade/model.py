"""What an exercise set is made of: data and pure functions, nothing that remembers.

A question has cases and mutants.  A *case* makes input arrays from a seeded generator.  A *mutant* is a known wrong
answer with the message that names the misconception.  The same objects serve the check in the notebook and a grader
that runs submissions somewhere else.
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

NUMPY_ONLY = ("torch", "tensorflow", "jax", "autograd", "scipy", "byhand")
TORCH_ONLY = ("tensorflow", "jax", "scipy", "byhand")
DISPLAY = b"display"  # the key of the cases that every reader sees
KINDS = {
    "derive": "a formula found with pencil and paper, as code",
    "build": "a function built from its equations",
    "predict": "a number or a shape, before anything runs",
    "repair": "code with a fault, mended",
    "design": "a check, a layer or a set of weights that does what is wanted",
    "counterexample": "the smallest input that shows a claim to be wrong",
    "detect": "which of several faults is behind these numbers",
}
NOTHING = -1  # in the place of a name: the answer returned None
EXACT, SEVEN_DIGITS = 1e-9, 1e-6  # how near a number must be
FORBIDDEN, STORY = "(a forbidden name)", "(no promise)"  # in the place of a case: what holds a clause instead


class WrongAnswer(Exception):
    """Raised by `drive` or `measure`: the answer has a form that the question cannot use; the text says why."""


def kind_of(x):
    """What an answer returned, in words: "an int", "a list"."""
    name = type(x).__name__
    return f"{'an' if name[0] in 'aeioAEIO' or name == 'ndarray' else 'a'} {name}"


def places_of_names(names, what, given, call):
    """For a `drive` whose answer names one of `names` for each x of `given`: the place of each name that `call(x)`
    returns, NOTHING where it returns none; None if all of them are not attempted; WrongAnswer, with `what` and the
    number of x, for anything else."""
    found = []
    for i, x in enumerate(given):
        name = call(x)
        if name is None or name is Ellipsis:
            found.append(NOTHING)
            continue
        if type(name) is np.str_:
            name = str(name)
        if type(name) is not str or name not in names:
            said = repr(name)[:40] if type(name) is str else f"{kind_of(name)}"
            raise WrongAnswer(f"{what} {i}: returned {said}, expected one of: {', '.join(names)}")
        found.append(names.index(name))
    return None if all(place == NOTHING for place in found) else found


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable  # Generator -> dict of inputs, in the order of the arguments
    says: str  # what is tried, for the report
    points: int = 0
    needs: tuple[str, ...] = ()  # cases that must pass before this one is worth running
    look: tuple[str, ...] = ()  # the outputs that are judged; none named: all
    guards: str = ""  # the public case whose points this one, which has none, can take away
    open: bool = False  # a guard that every reader sees: it brings something new, a batch or another option
    rtol: float = EXACT  # times the largest number of the expected array
    atol: float = 1e-12

    @property
    def hidden(self):
        return bool(self.guards) and not self.open


@dataclass(frozen=True)
class Mutant:
    name: str
    function: Callable
    message: str
    section: str
    caught_by: tuple[str, ...]  # every case here sees a difference from the right answer


@dataclass(frozen=True)
class Question:
    id: str
    title: str
    stub: Callable  # what the learner starts from; it gives name, signature and docstring
    returns: tuple[str, ...]
    minutes: int
    hints: tuple[str, ...]
    cases: tuple[Case, ...]
    mutants: tuple[Mutant, ...]
    forbid: tuple[str, ...] = NUMPY_ONLY
    drive: Callable | None = None  # (answer, inputs) -> what it returned, where a plain call is not enough
    measure: Callable | None = None  # (inputs, arrays) -> arrays, where many answers are right
    measures: tuple[str, ...] = ()  # names of what `measure` returns
    labels: tuple[str, ...] = ()  # text of the whole numbers 0, 1, … where the answer is a choice
    kind: str = "build"  # one of KINDS: what the learner is asked to do
    section: str = ""  # of the chapter where it belongs, such as "4.2"
    part: int = 1  # of the set: what is done in one sitting, an hour at most
    printed: bool = True  # does the book show the answer?  Then the question is asked before the page unfolds it
    clauses: tuple[tuple[str, str], ...] = ()  # words of the statement, and the public case that tries them
    torch: bool = False  # arrays go to the answer as tensors, and come back as arrays
    roots: bool = False  # √d is in it, which has seven digits as a tensor made of an integer: that is enough
    seconds: float = 10.0  # the longest that one case may take
    library: tuple[str, ...] = ()  # modules of byhand that an answer may import
    uses: tuple[str, ...] = ()  # ids of earlier questions of the set whose functions an answer may call
    late: str = "is there a loop that does not end?"  # what is said to an answer that takes longer

    def __post_init__(self):
        if self.roots:
            cases = (replace(case, rtol=SEVEN_DIGITS) if case.rtol == EXACT else case for case in self.cases)
            object.__setattr__(self, "cases", tuple(cases))

    @property
    def name(self):
        return self.stub.__name__

    @property
    def judged(self):
        """Names of the arrays that are compared with the expected ones."""
        return self.measures or self.returns

    @property
    def public(self):
        return tuple(case for case in self.cases if not case.hidden)

    @property
    def points(self):
        return sum(case.points for case in self.cases)


def make_inputs(question, case, key=DISPLAY):
    """The inputs of a case: the same key gives the same arrays; a grader uses one key per student."""
    return case.make(np.random.default_rng(seed_of(key, question, case)))


def seed_of(key, question, case):
    digest = hmac.new(key, f"{question.id}/{case.name}".encode(), "sha256").digest()
    return int.from_bytes(digest[:8], "big")
