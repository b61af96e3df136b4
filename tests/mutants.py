"""Wrong versions of the library, kept: each edits the source of a function, and the checks that it names must catch it.

`python tests/mutants.py` measures all of them against every check and prints the table; with names of stems, only
those. It shows what each check misses: a fault of wiring has a right gradient of the wrong function, so the slope check
passes it; what both halves share, only an invariant can see.
"""

import ast
import collections
import contextlib
import functools
import inspect
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple

import byhand
from byhand.check import checked

LIBRARY = Path(byhand.__file__).parent


def file_of(place: str) -> Path:
    path = LIBRARY / place.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.cache
def source(place: str) -> str:
    """The text of a module without the equation numbers at the ends of its lines."""
    return re.sub(r" +# \(\d+\.\d+\).*$", "", file_of(place).read_text(encoding="utf-8"), flags=re.MULTILINE)


@functools.cache
def parted(where: str) -> tuple[str, tuple[str, ...]]:
    """The module, and the names in it, of "np.norm.rms_norm_forward + rms_norm_backward"; the module alone has none."""
    first, *more = where.split(" + ")
    parts = first.split(".")
    for n in range(len(parts), 0, -1):
        if file_of(place := ".".join(parts[:n])).is_file():
            return place, tuple(filter(None, [".".join(parts[n:]), *more]))
    raise ValueError(f"{where}: no such module")


@functools.lru_cache(64)
def statements(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def span(where: str, text: str, name: str) -> slice:
    """The lines of a function, a class, a method ("LayerNorm.forward") or what is assigned to a name."""
    body = statements(text)
    for part in name.split("."):
        found = [node for node in body if part in defined(node)]
        if len(found) != 1:
            raise ValueError(f"{where}: {name} is defined {len(found)} times, expected once")
        node, body = found[0], getattr(found[0], "body", [])
    first = min(x.lineno for x in (node, *getattr(node, "decorator_list", [])))
    return slice(first - 1, node.end_lineno)


def defined(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return {x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    return set()


@functools.lru_cache(64)  # asked for the reach of an edit, and again for each kind of check
def edited(where: str, *edits: str) -> str:
    """The module's source after replacing old text by new text, …

    Each old text must stand once in what `where` names: all edits in the one function, or the first edit in the first
    function, the second in the second, …; where only a module is named, in the module.
    """
    place, names = parted(where)
    text, pairs = source(place), list(zip(edits[::2], edits[1::2], strict=True))
    names = names * len(pairs) if len(names) <= 1 else names
    for name, (old, new) in zip(names or [""] * len(pairs), pairs, strict=True):
        lines = text.splitlines(keepends=True)
        part = span(where, text, name) if name else slice(None)
        there = "".join(lines[part])
        if there.count(old) != 1:
            name = f"{place}.{name}".removesuffix(".")
            raise ValueError(f"{name}: {old!r} is there {there.count(old)} times, expected once")
        lines[part] = [there.replace(old, new)]
        text = "".join(lines)
    return text


def build(where: str, *edits: str) -> ModuleType:
    """The module made anew from its edited source, without the shape checks of pytest."""
    return made_of(parted(where)[0], edited(where, *edits))


@functools.lru_cache(64)
def compiled(text: str, name: str) -> CodeType:
    return compile(text, name, "exec", dont_inherit=True)


def made_of(place: str, text: str, name: str = "") -> ModuleType:
    module = ModuleType(name or f"byhand.{place}")
    package = (LIBRARY / place.replace(".", "/")).is_dir()
    module.__package__ = f"byhand.{place}" if package else f"byhand.{place}".rpartition(".")[0]
    module.__file__ = f"<mutant of {place}>"
    exec(compiled(text, module.__file__), vars(module))
    for name, value in list(vars(module).items()):
        if isinstance(value, FunctionType) and value.__module__ != module.__name__:
            setattr(module, name, as_written(value))  # what it imports is without them too
    return module


@functools.lru_cache(64)
def dumped(text: str) -> dict[str, str]:
    """The syntax trees of the functions and classes of a module."""
    return {d.name: ast.dump(d) for d in statements(text) if hasattr(d, "name")}


@functools.cache
def as_written(function: FunctionType) -> FunctionType:
    """A function as a reader has it: with the library's own check, without the one that pytest puts inside it."""
    kept = contextlib.__file__  # what @contextmanager makes of a generator
    bare = inspect.unwrap(function, stop=lambda f: f.__code__.co_filename == kept)
    return checked(bare) if hasattr(function, "__checked__") else bare


@functools.cache
def reached(where: str, *edits: str) -> set[str]:
    """The functions and classes that an edit touches, themselves or through one that they use."""
    before, after = dumped(source(parted(where)[0])), dumped(edited(where, *edits))
    found = {name for name in after if after[name] != before.get(name)}
    while more := {name for name in after.keys() - found if any(f"'{use}'" in after[name] for use in found)}:
        found |= more
    return found


class Mutant(NamedTuple):
    where: str  # the function, "np.norm.layer_norm_backward"; more of its module after " + ", one for each edit
    caught: str  # by these kinds of check, and perhaps by others
    story: str
    edits: tuple[str, ...]  # old text, new text, old text, new text, …

    @property
    def place(self) -> str:
        return parted(self.where)[0]

    @property
    def key(self) -> str:
        """What the tables below call it, wherever in its module the fault is."""
        return f"{self.place}: {self.story}"

    def __str__(self):
        return f"{self.where}: {self.story}"


def M(where, caught, story, *edits):
    return Mutant(where, caught, story, edits)


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

# The errata of the five notes, by their numbers in book/errata.ipynb: the mutant that computes what the note prints, or
# what kind of thing the erratum is about, if nothing could compute it.
NAME, SHAPE, CLAIM, INDEX, COST = "a name", "a shape", "a claim", "an index", "a cost"
ERRATA: dict[int, list[str] | str] = {
    1: SHAPE, 2: NAME, 3: SHAPE, 4: NAME, 5: ["np.norm: LayerNorm over tokens"], 6: INDEX,
    7: ["np.attention: softmax over the queries"],
    8: ["np.position: sinusoids: counted from one", "np.position: sinusoids: 2i doubled"], 9: CLAIM, 10: CLAIM,
    11: COST, 12: CLAIM, 13: CLAIM, 14: CLAIM,
    15: ["np.multihead: scaled by the width of all heads, not of one"], 16: NAME, 17: NAME, 18: INDEX,
    19: ["np.norm: BatchNorm: over the features too"], 20: COST, 21: COST, 22: INDEX,
    23: ["np.recurrent: conv: kernel reversed"],
    24: ["np.softmax: mask applied after, no renormalisation", "np.attention: mask after softmax, no renormalisation"],
    25: ["np.mask: causal: off by one, does not see itself"], 26: INDEX, 27: NAME,
    28: ["np.norm: no ε: a constant token divides by zero"], 29: INDEX, 30: INDEX,
    31: ["np.attention: values summed over the queries, not over the keys"],
    32: ["np.attention: values summed over the queries, not over the keys"], 33: NAME, 34: INDEX, 35: SHAPE,
    36: ["np.attention: no scale"], 37: CLAIM, 38: "a date", 39: ["np.block: feed-forward: b_2 forgotten"], 40: SHAPE,
    41: CLAIM, 42: ["np.position: sinusoids: base 1,000"], 43: INDEX, 44: ["np.norm: variance without 1/d"],
    45: ["np.norm: mean with 1/d of a width that is twice as large"], 46: ["np.optim: ε inside the root"],
    47: ["np.optim: no ε: nothing divided by nothing"], 48: ["np.optim: decay of 2λθ"], 49: NAME, 50: NAME,
    51: ["np.translate: loss: queries from the encoder, memory from the decoder"], 52: SHAPE,
    53: ["np.model: √d forgotten"], 54: SHAPE, 55: INDEX, 56: CLAIM, 57: CLAIM, 58: COST, 59: CLAIM, 60: CLAIM,
    61: ["np.model: no causal mask"], 62: ["np.residual: the gradient along the stream doubled"], 63: COST, 64: CLAIM,
    65: CLAIM, 66: NAME, 67: INDEX, 68: NAME, 69: INDEX, 70: SHAPE, 71: NAME, 72: CLAIM, 73: SHAPE, 74: CLAIM,
}


def measured(stem: str) -> list[tuple[Mutant, set]]:
    """Each wrong version of a stem, and all checks that catch it."""
    import proofs

    table = proofs.table(stem)
    return [(wrong, proofs.caught_by(table, wrong)) for wrong in table.wrong]


CHECKS = ("slope", "twin", "invariant")


def line(wrong: Mutant, caught: set) -> str:
    """Slope, twin, the invariants that catch a wrong version, and its story."""
    names = sorted(name for kind, name in caught if kind == "invariant")
    cells = ["×" if any(kind == check for kind, _ in caught) else "·" for check in CHECKS[:2]]
    some = f"{names[0]}{f' +{len(names) - 1}' if names[1:] else ''}" if names else "·"
    return f"{wrong.place:14}  {cells[0]}    {cells[1]}    {some:48}  {wrong.story}"


def combination(caught: set) -> str:
    return " + ".join(check for check in CHECKS if any(kind == check for kind, _ in caught)) or "nothing"


def report(only: list[str]) -> int:
    """Prints the table; the number of wrong versions that pass a check which they declare."""
    import proofs

    found, more, fewer = {}, 0, 0
    print(f"{'wrong version of':14}  slope twin invariant{'':41}story")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for rows in pool.map(measured, only or proofs.stems()):
            for wrong, caught in rows:
                print(line(wrong, caught), flush=True)
                found[wrong.key] = combination(caught)
                kinds, declared = {kind for kind, _ in caught}, set(wrong.caught.split())
                more, fewer = more + bool(kinds - declared), fewer + bool(declared - kinds)
    print("\nCaught by")
    for kinds, count in collections.Counter(found.values()).most_common():
        print(f"{count:6}  {kinds}")
    if not only:
        print("\nThe faults of chapter 0")
        for fault, keys in FAULTS.items():
            print(f"  {fault}: " + "; ".join(f"{key} ({found[key]})" for key in keys))
        print("\nErrata of the notes, as code")
        for number, keys in ERRATA.items():
            if isinstance(keys, list):
                print(f"  {number}: " + "; ".join(f"{key} ({found[key]})" for key in keys))
    print(f"\n{len(found)} wrong versions; caught also by kinds that they do not declare: {more}; "
          f"not caught by one that they declare: {fewer}")
    return fewer


if __name__ == "__main__":
    sys.exit(bool(report(sys.argv[1:])))
