"""Shapes as annotations write them: letters are sizes that arguments share."""

from typing import Annotated, NamedTuple

NOUNS = {"Q": "queries", "K": "keys", "V": "values"}  # what the rows of an array are called in a sentence


class Letters(NamedTuple):
    """A shape such as "*B n d", taken apart."""

    text: str
    head: tuple  # before the axes without a number of their own: letters, or whole numbers
    lead: str | None  # those axes, such as "*B", "" if they have no letter, None if there are none
    tail: tuple
    shared: bool  # of a mask: an axis may be 1, and the leading ones may be missing
    whole: tuple  # counted from the end, the axes of a shared shape that must be there in full

    @classmethod
    def of(cls, text: str) -> "Letters":
        words = text.split()
        many = [i for i, word in enumerate(words) if "*" in word or word == "..."]
        at = many[0] if many else -1
        named = [int(w) if w.isdigit() else w.replace("#", "") for w in words]
        lead = "*" * (words[at] != "...") + named[at].replace("*", "").replace("...", "") if many else None
        return cls(text, tuple(named[:max(at, 0)]), lead, tuple(named[at + 1:]), "#" in text,
                   tuple(-i for i, word in enumerate(reversed(words), 1) if "#" not in word))

    @property
    def free(self) -> bool:
        return self.lead == "" and not self.head and not self.tail


class Shape:
    """Shape["*B n d"], in a cache: the shape of an array that is not kept itself."""

    def __class_getitem__(cls, text: str):
        return Annotated[tuple, Letters.of(text)]


def bind(shape: tuple, letters: Letters, seen: dict) -> bool:
    """Whether a shape fits the letters as far as they are known; those that are new to `seen` get their sizes."""
    head, lead, tail = letters.head, letters.lead, letters.tail
    at = len(shape) - len(tail)
    if at < len(head) or (at > len(head) and lead is None):
        return False
    if lead:
        front = tuple(shape[len(head):at])
        if seen.setdefault(lead, front) != front:
            return False
    for size, letter in zip(shape[at:], tail, strict=True):
        if known(letter, size, seen) != size:
            return False
    return not head or all(known(letter, size, seen) == size for size, letter in zip(shape, head, strict=False))


def known(letter, size: int, seen: dict) -> int:
    """The size of a letter, which is this one where it is met for the first time."""
    if letter == "_":
        return size
    if isinstance(letter, int):
        return letter
    return seen.setdefault(letter, size)


def fits_as_mask(shape: tuple, full: tuple) -> bool:
    """(n, m) in full, or all axes, each 1 or in full, the last one in full.

    The key axis must be there. Anything looser would let a (B, m) padding mask pass for an (n, m) one.
    """
    return shape == full[-2:] or len(shape) == len(full) and shape[-1:] == full[-1:] and all(
        s in (1, f) for s, f in zip(shape, full, strict=True))


def repeats(shape: tuple, full: tuple) -> bool:
    """Whether an array of one shape can be repeated, by NumPy's rules, to exactly the other."""
    tail = full[len(full) - len(shape):]
    return len(shape) <= len(full) and all(s in (1, f) for s, f in zip(shape, tail, strict=True))


def misfit(name: str, shape: tuple, letters: Letters, seen: dict) -> str:
    """What is wrong about a shape, and what was expected."""
    head, tail = letters.head, letters.tail
    least = len(head) + len(tail)
    if len(shape) < least:
        return f"{name} has {len(shape)} axes, expected at least {least}"
    lead, other, extra = seen.get(letters.lead), seen.get(".first"), len(shape) - 2
    if name in NOUNS and other in NOUNS and len(tail) == 2:
        if lead is not None and shape[:extra] != lead:
            return f"{name} has leading axes {shape[:extra]} but {other} has {lead}"
        rows, width = seen.get(tail[0]), seen.get(tail[1])
        if width not in (None, shape[-1]):
            return f"{name} has width {shape[-1]} but {other} has width {width}"
        if rows not in (None, shape[-2]):
            return f"K has {rows} keys but {name} has {shape[-2]} {NOUNS[name]}"
    if letters.lead is None and len(shape) > least:  # which axis is too many, nobody knows
        sizes = [str(seen.get(letter, letter)) for letter in tail]
        return f"{name} has shape {shape}, expected ({', '.join(sizes)}{',' * (len(sizes) == 1)})"
    kept = shape[len(head):len(shape) - len(tail)] if lead is None else lead
    expected = (*(known(x, n, seen) for x, n in zip(head, shape, strict=False)), *kept,
                *(known(x, n, seen) for x, n in zip(tail, shape[len(shape) - len(tail):], strict=True)))
    return f"{name} has shape {shape}, expected {expected}"


def empty(where: str, name: str, shape: tuple, letters: Letters) -> None:
    """A named axis must have an entry: only leading ones may be empty, for a batch of nothing."""
    tail = shape[len(shape) - len(letters.tail):]
    if 0 in shape[:len(letters.head)] or 0 in tail:
        if name in NOUNS and len(tail) == 2 and tail[0] == 0:
            raise ValueError(f"{where}: {name} has 0 {NOUNS[name]}, expected at least 1")
        at = "the last axis" if tail and tail[-1] == 0 else f"axis {shape.index(0)}"
        raise ValueError(f"{where}: {name} has shape {shape}, expected at least 1 entry along {at}")
