"""Every public function of the NumPy half is proved, and the cases of the twin tables are what they claim."""

import ast
import re
from pathlib import Path

import byhand
import mutants
import pytest
import twins
from specs import attention, linear

HERE = Path(__file__).parent
STEMS = sorted(path.stem for path in (Path(byhand.__file__).parent / "np").glob("[a-z]*.py"))
INSIDE = {"over_heads": "an axis for the heads: a mutant of multihead has it missing",
          "barred_ids": "the ids that are no words: mutants of mask_tokens choose them, and put them in"}


def public(text: str) -> set[str]:
    """Functions that a module defines, forward and backward counted as one."""
    names = {d.name for d in ast.parse(text).body if isinstance(d, ast.FunctionDef) and d.name[0] != "_"}
    return {name.removesuffix("_forward").removesuffix("_backward") for name in names}


def unproved(text: str, tests: str) -> set[str]:
    """Functions of a module that its specs do not name, be it in a twin table or in an invariant."""
    return {name for name in public(text) if not re.search(rf"(?<![a-z]){name}(?![a-z])", tests)}


def words_of(stem: str) -> str:
    return (HERE / "specs" / f"{stem}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("stem", STEMS)
def test_every_public_function_is_proved(stem):
    assert unproved(mutants.source(f"np.{stem}"), words_of(stem)) <= INSIDE.keys()


def test_a_new_function_without_a_proof_is_found():
    tests = words_of("softmax")
    text = mutants.edited("np.softmax", "class LogSoftmaxCache", "def entropy(S):\n    pass\n\nclass LogSoftmaxCache")
    assert unproved(text, tests) == {"entropy"}


def test_cases_are_what_they_claim():
    """More than one sequence, ranks 1 to 4, no two sizes alike, no upstream of ones, biases there and not."""
    for spec in attention.TWINS:
        cases = twins.cases_of(spec)
        ranks = {next(iter(case.inputs.values())).ndim for case in cases}
        assert ranks == {2, 3, 4}
        masks = [case.fixed["mask"] for case in cases if case.fixed["mask"] is not None]
        assert any(not m.any(axis=-1).all() for m in masks) and any(m.ndim == 3 and m.shape[1] == 1 for m in masks)
        if "Q" in cases[0].inputs:
            Q, K, V = (cases[-1].inputs[name] for name in "QKV")
            sizes = [*Q.shape[:2], Q.shape[2], K.shape[2], V.shape[3], Q.shape[3]]
            assert Q.shape[0] > 1 and len(set(sizes)) >= len(sizes) - 1  # rank 4 repeats one size
    spec = next(spec for spec in linear.TWINS if spec.name == "linear")
    biases = ["b" in case.inputs for case in twins.cases_of(spec)]
    assert any(biases) and not all(biases)
