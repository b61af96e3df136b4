"""Wrong libraries, kept: each mutant edits a module's source, and must be caught by exactly the checks it names.

`python tests/mutants.py` measures all of them and prints the table; with names of stems, only those. It shows what each
check misses: a fault of wiring has a right gradient of the wrong function, so the slope check passes it; what both
halves share, only an invariant can see.
"""

import ast
import collections
import importlib
import inspect
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import FunctionType, ModuleType
from typing import NamedTuple

import byhand

LIBRARY = Path(byhand.__file__).parent


def source(place: str) -> str:
    """The text of a module without the equation numbers at the ends of its lines."""
    path = LIBRARY / place.replace(".", "/")
    text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
    return re.sub(r" +# \(\d+\.\d+\).*$", "", text, flags=re.MULTILINE)


def edited(place: str, *edits: str) -> str:
    """The source after replacing old text by new text, …; each old text must be there once."""
    text = source(place)
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        if text.count(old) != 1:
            raise ValueError(f"{place}: {old!r} is there {text.count(old)} times, expected once")
        text = text.replace(old, new)
    return text


def build(place: str, *edits: str) -> ModuleType:
    """The module byhand.<place> made anew from its edited source, without the shape checks of pytest."""
    return made_of(place, edited(place, *edits))


def made_of(place: str, text: str, name: str = "") -> ModuleType:
    module = ModuleType(name or f"byhand.{place}")
    package = (LIBRARY / place.replace(".", "/")).is_dir()
    module.__package__ = f"byhand.{place}" if package else f"byhand.{place}".rpartition(".")[0]
    module.__file__ = f"<mutant of {place}>"
    exec(compile(text, module.__file__, "exec", dont_inherit=True), vars(module))
    for name, value in list(vars(module).items()):
        if isinstance(value, FunctionType) and value.__module__ != module.__name__:
            setattr(module, name, inspect.unwrap(value))  # what it imports is unchecked too
    return module


def reached(place: str, *edits: str) -> set[str]:
    """The functions and classes that an edit touches, themselves or through one that they use."""
    texts = (source(place), edited(place, *edits))
    before, after = ({d.name: ast.dump(d) for d in ast.parse(t).body if hasattr(d, "name")} for t in texts)
    found = {name for name in after if after[name] != before.get(name)}
    while more := {name for name in after.keys() - found if any(f"'{use}'" in after[name] for use in found)}:
        found |= more
    return found


class Mutant(NamedTuple):
    place: str  # module
    caught: str  # by exactly these checks
    story: str
    edits: tuple[str, ...]  # old text, new text, old text, new text, …


def M(place, caught, story, *edits):
    return Mutant(place, caught, story, edits)


# The faults of chapter 0's matrix, each put into a model that was then trained: ten of twelve still learn the task.
FAULTS = {
    "norm backward with γ outside the means": ["np.norm: γ outside the means"],
    "softmax backward divided by the batch": ["np.softmax: backward divided by the batch"],
    "norm with μ and σ as constants": ["np.norm: μ and σ taken for constants"],
    "1/√d_k forgotten in the backward": ["np.attention: 1/√d_k forgotten in dQ",
                                         "np.attention: 1/√d_k forgotten in dK"],
    "path of the keys dropped from dX": ["np.attention: head: the path through the keys dropped from dX",
                                         "np.multihead: dM through the keys forgotten"],
    "heads merged by a reshape without the transpose": [
        "np.multihead: heads merged by a reshape without the transpose",
        "np.multihead: heads cut and joined by a reshape alone, both ways"],
    "LayerNorm over tokens": ["np.norm: LayerNorm over tokens"],
    "softmax over the queries": ["np.attention: softmax over the queries"],
    "mask after the softmax": ["np.softmax: mask applied after, no renormalisation",
                               "np.attention: mask after softmax, no renormalisation"],
    "residuals removed": ["np.residual: the residual removed"],
    "no 1/√d_k": ["np.attention: no scale"],
    "softmax Jacobian: diagonal only": ["np.softmax: Jacobian: diagonal only"],
    "no positions": ["np.position: add: the positions forgotten", "np.model: position inside attention not handed on"],
    "mask off by one": ["np.mask: causal: off by one, sees the next token",
                        "np.model: the causal mask lets the next token in"],
    "no mask": ["np.attention: mask forgotten", "np.model: no causal mask"],
}

# The errata of the five notes, by their numbers in that list: the mutant that computes what is printed there, or what
# kind of thing the erratum is about, if nothing could compute it.
NAME, SHAPE, CLAIM, INDEX, COST = "a name", "a shape", "a claim", "an index", "a cost"
ERRATA: dict[int, list[str] | str] = {
    1: SHAPE, 2: NAME, 3: ["np.multihead: heads merged by a reshape without the transpose"], 4: NAME,
    5: ["np.norm: LayerNorm over tokens"], 6: INDEX, 7: ["np.attention: softmax over the queries"],
    8: ["np.position: sinusoids: counted from one", "np.position: sinusoids: 2i doubled"], 9: CLAIM, 10: CLAIM,
    11: COST,
    12: ["np.attention: additive: product for sum"], 13: CLAIM, 14: CLAIM,
    15: ["np.multihead: scaled by the width of all heads, not of one"], 16: NAME, 17: NAME, 18: INDEX,
    19: ["np.norm: BatchNorm: over the features too"], 20: COST, 21: COST, 22: INDEX,
    23: ["np.recurrent: conv: kernel reversed"],
    24: ["np.softmax: mask applied after, no renormalisation", "np.attention: mask after softmax, no renormalisation"],
    25: ["np.mask: causal: off by one, does not see itself"],
    26: ["np.translate: unshifted: the decoder reads the word that it should write"], 27: NAME,
    28: ["np.norm: no ε: a constant token divides by zero"], 29: INDEX, 30: INDEX,
    31: ["np.attention: values summed over the queries, not over the keys"],
    32: ["np.attention: values summed over the queries, not over the keys"], 33: NAME, 34: INDEX, 35: SHAPE,
    36: ["np.attention: no scale"], 37: ["np.embedding: cosine without the lengths"], 38: "a date",
    39: ["np.block: feed-forward: b_2 forgotten"], 40: SHAPE, 41: CLAIM,
    42: ["np.position: sinusoids: base 1,000"], 43: ["np.position: sinusoids: 2i doubled"],
    44: ["np.norm: variance without 1/d"], 45: ["np.norm: variance without 1/d"], 46: ["np.optim: ε inside the root"],
    47: ["np.optim: AdamW as L2: decay added to the gradient"], 48: ["np.optim: decay of 2λθ"],
    49: ["np.optim: AdamW as L2: decay added to the gradient"],
    50: ["np.optim: v of the gradient, not of its square"],
    51: ["np.translate: loss: queries from the encoder, memory from the decoder"], 52: SHAPE,
    53: ["np.model: √d forgotten"], 54: SHAPE, 55: INDEX, 56: ["np.attention: no scale"], 57: CLAIM, 58: COST,
    59: CLAIM, 60: CLAIM, 61: ["np.model: no causal mask"], 62: ["np.residual: the gradient along the stream doubled"],
    63: COST, 64: ["np.optim: no bias correction"], 65: CLAIM, 66: NAME, 67: INDEX, 68: NAME, 69: INDEX, 70: SHAPE,
    71: NAME, 72: CLAIM, 73: SHAPE, 74: CLAIM,
}


CHECKS = ("slope", "twin", "invariant")


def files() -> list[str]:
    """The test files that have tables."""
    paths = sorted(Path(__file__).parent.glob("test_*.py"))
    return [path.stem for path in paths if "\ninstall(globals()" in path.read_text(encoding="utf-8")]


def tables(file: str) -> tuple:
    """TWINS, INVARIANTS and MUTANTS of a test file."""
    import proofs

    importlib.import_module(file)
    return proofs.TABLES[file]


def measured(file: str) -> list[tuple[Mutant, set]]:
    """Each mutant of a test file, and the checks that catch it."""
    import proofs

    specs, invariants, wrong = tables(file)
    real = proofs.modules(specs, invariants, wrong)
    return [(mutant, proofs.caught_by(mutant, specs, invariants, real)) for mutant in wrong]


def line(mutant: Mutant, caught: set) -> str:
    """Slope, twin, the invariants that catch a mutant, and its story."""
    names = sorted(name for kind, name in caught if kind == "invariant")
    cells = ["×" if any(kind == check for kind, _ in caught) else "·" for check in CHECKS[:2]]
    some = f"{names[0]}{f' +{len(names) - 1}' if names[1:] else ''}" if names else "·"
    return f"{mutant.place:14}  {cells[0]}    {cells[1]}    {some:48}  {mutant.story}"


def combination(caught: set) -> str:
    return " + ".join(check for check in CHECKS if any(kind == check for kind, _ in caught)) or "nothing"


def report(only: list[str]) -> int:
    """Prints the table; the number of mutants that are not caught by exactly the checks that they name."""
    chosen, found, odd = [f"test_{stem}" for stem in only] or files(), {}, 0
    print(f"{'mutant of':14}  slope twin invariant{'':41}story")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for rows in pool.map(measured, chosen):
            for mutant, caught in rows:
                print(line(mutant, caught), flush=True)
                found[f"{mutant.place}: {mutant.story}"] = combination(caught)
                odd += {kind for kind, _ in caught} != set(mutant.caught.split())
    print("\nCaught by")
    for kinds, count in collections.Counter(found.values()).most_common():
        print(f"{count:6}  {kinds}")
    if not only:
        print("\nThe faults of chapter 0")
        for fault, mutants in FAULTS.items():
            print(f"  {fault}: " + "; ".join(f"{name} ({found[name]})" for name in mutants))
        print("\nErrata of the notes, as code")
        for number, mutants in ERRATA.items():
            if isinstance(mutants, list):
                print(f"  {number}: " + "; ".join(f"{name} ({found[name]})" for name in mutants))
    print(f"\n{len(found)} mutants; not caught by exactly the checks declared: {odd}")
    return odd


if __name__ == "__main__":
    sys.exit(bool(report(sys.argv[1:])))
