"""What a wrong array looks like, where no known mistake gives it: words about its form, and about a crash.

Every sentence here is a fact about the arrays ("each number is 2 times the expected one"), never a guess at its cause.
"""

import ast
import itertools
import linecache
import math
from collections import Counter

import numpy as np

from .model import NOTHING

# Bound now, as in the judge: an answer that patches numpy later changes nothing here.
_abs, _sort, _swap, _sign, _ndarray = np.abs, np.sort, np.swapaxes, np.sign, np.ndarray
_errstate, _isnan, _isfinite, _Float = np.errstate, np.isnan, np.isfinite, np.float64
CLOSE = 1e-8

NEVER_NEGATIVE = {
    "variance": "a variance", "var": "a variance", "distance": "a squared length", "bound": "a bound", "h": "a step",
    "norm": "a length", "deviation": "a deviation", "number": "a number of parameters", "N": "a number of parameters",
    "parameters": "a number of parameters", "leak": "a largest change", "L": "a cross-entropy",
    "loss": "a cross-entropy", "without": "a cross-entropy", "with_norm": "a cross-entropy",
}


def close(a, b):
    """Do two arrays agree, beside the largest number of the second?"""
    if a.shape != b.shape:
        return False
    size = float(_abs(b).max(initial=0.0))
    return a.size > 0 and size > 0 and float(_abs(a - b).max()) <= CLOSE * size


def plain(array):
    return array.astype(_Float) if array.dtype.kind in "biuf" else None


# ---------------------------------------------------------------- shapes


def about_shape(array, right):
    """A sentence about a wrong shape, or ""."""
    mine, theirs = array.shape, right.shape
    a, b = plain(array), plain(right)
    if a is None or b is None:
        return ""
    if len(mine) == len(theirs) == 1:
        return " ".join(filter(None, (_one_off(a, b), _same_beginning(a, b))))
    if len(mine) == len(theirs):
        return _turned(a, b) or _as_they_lie(a, b) or _one_off(a, b)
    if len(mine) > len(theirs):
        return _too_many(a, b) or _as_they_lie(a, b)
    return _too_few(a, b) or _as_they_lie(a, b)


def _as_they_lie(a, b):
    if a.size == b.size and close(a.ravel(), b.ravel()):
        return "The numbers are right and in order; only the shape is another."
    return ""


def _same_beginning(a, b):
    """Of two sequences of different lengths: where they part."""
    n = min(a.size, b.size)
    apart = [i for i in range(n) if a[i] != b[i]]
    if apart == [] and n:
        return "All numbers that both have are equal." if n > 1 else ""
    return f"The first {apart[0]} are right; from there on they part." if apart and apart[0] > 1 else ""


def _turned(a, b):
    if a.ndim >= 2 and a.shape == (*b.shape[:-2], b.shape[-1], b.shape[-2]):
        if close(_swap(a, -1, -2), b):
            return "Rows and columns are exchanged; the numbers are right."
        return "Rows and columns are exchanged."
    if sorted(a.shape) == sorted(b.shape):
        for order in itertools.permutations(range(a.ndim)) if a.ndim < 6 else ():
            if tuple(a.shape[k] for k in order) == b.shape and close(a.transpose(order), b):
                return f"The numbers are right, but their axes stand in another order: transpose{order} mends it."
        return "The sizes are right, but their axes stand in another order."
    return ""


def _one_off(a, b):
    wrong = [k for k in range(a.ndim) if a.shape[k] != b.shape[k]]
    if len(wrong) != 1:
        return ""
    (k,) = wrong
    gap = b.shape[k] - a.shape[k]
    where = {0: "first", a.ndim - 1: "last"}.get(k, f"{k}-th")
    if a.shape[k] == 1 < b.shape[k]:
        for name, value in (("sum", b.sum(axis=k, keepdims=True)), ("mean", b.mean(axis=k, keepdims=True))):
            if close(a, value):
                return f"The {where} axis is gone: this is the {name} over it of what is expected."
    what = f"The {where} axis" if a.ndim > 1 else "It"
    if abs(gap) == 1:
        return f"{what} has one entry too {'few' if gap > 0 else 'many'}."
    if a.shape[k] > b.shape[k] > 1 and a.shape[k] % b.shape[k] == 0:
        return f"{what} is {a.shape[k] // b.shape[k]} times as long as it should be."
    return ""


def _too_many(a, b):
    ones = tuple(k for k in range(a.ndim) if a.shape[k] == 1)
    for some in itertools.chain.from_iterable(itertools.combinations(ones, r) for r in range(1, len(ones) + 1)):
        if a.ndim - len(some) == b.ndim and a.squeeze(axis=some).shape == b.shape:
            return "There are axes of length one too many, such as keepdims=True leaves them."
    extra = a.ndim - b.ndim
    lead = tuple(range(extra))
    if a.shape[extra:] == b.shape:
        axes = "axis" if extra == 1 else "axes"
        for name, value in (("summed", a.sum(axis=lead)), ("averaged", a.mean(axis=lead))):
            if close(value, b):
                return f"The leading {axes} {a.shape[:extra]} should be {name} away: with that it would be right."
        return f"There is a leading part {a.shape[:extra]} too much."
    for k in range(a.ndim):
        if extra == 1 and a.shape[:k] + a.shape[k + 1 :] == b.shape:
            for name, value in (("summed", a.sum(axis=k)), ("averaged", a.mean(axis=k))):
                if close(value, b):
                    return f"Axis {k}, counted from 0, should be {name} away: with that it would be right."
    return ""


def _too_few(a, b):
    gone = b.ndim - a.ndim
    for axes in itertools.combinations(range(b.ndim), gone):
        left = tuple(n for k, n in enumerate(b.shape) if k not in axes)
        if left != a.shape:
            continue
        which = f"axis {axes[0]}" if gone == 1 else "axes " + ", ".join(map(str, axes))
        if a.size == b.size and close(a.ravel(), b.ravel()):
            return f"The numbers are right, but an axis of length one is gone, {which}, counted from 0: it stays."
        for name, value in (("sum", b.sum(axis=axes)), ("mean", b.mean(axis=axes))):
            if close(a, value):
                return f"This is the {name} of what is expected over {which}, counted from 0."
    if b.shape[gone:] == a.shape:
        return f"The leading part {b.shape[:gone]} is missing."
    return ""


# ---------------------------------------------------------------- numbers


def about_numbers(name, array, right):
    """A sentence about wrong numbers in the right shape, or ""."""
    if array.dtype.kind == "b" and right.dtype.kind == "b":
        if array.size > 1 and (array != right).all():  # of one value alone nobody can say so
            return "True and False are exchanged." if right.any() and not right.all() else ""
        if array.size == 1:
            return ""
    a, b = plain(array), plain(right)
    if a is None or b is None or a.shape != b.shape or not a.size or not (_isfinite(a) & _isfinite(b)).all():
        return ""
    with _errstate(all="ignore"):
        looks = (_whole, _lines, _places, _part)
        nearly, few = (_digits(a, b), _few_digits(a, b)) if right.dtype.kind == "f" else ("", "")
        found = (_impossible(name, a, b), nearly or next(filter(None, (look(a, b) for look in looks)), few))
    return " ".join(text for text in found if text)


def label_of(place, labels):
    return labels[place] if 0 <= place < len(labels) else "nothing" if place == NOTHING else str(place)


def about_names(array, right, labels):
    """Which names stand for which in a list of names, the commonest three."""
    if array.ndim != 1 or array.shape != right.shape or array.size < 2:
        return ""
    said = list(zip(right.tolist(), array.tolist(), strict=True))
    if not all(NOTHING <= i < len(labels) for pair in said for i in pair):
        return ""
    wrong = Counter(pair for pair in said if pair[0] != pair[1])
    text = [f"'{labels[r]}' {'gets no name' if a == NOTHING else f'is called {labels[a]!r}'} {k} of "
            f"{right.tolist().count(r)} times" for (r, a), k in wrong.most_common(3)]
    return "; ".join(text) + ("; and others." if len(wrong) > 3 else "." if text else "")


def _impossible(name, a, b):
    word = NEVER_NEGATIVE.get(name)
    if word and (a < 0).any() and not (b < 0).any():
        return f"{name} is negative, and {word} cannot be."
    if b.ndim >= 2 and b.shape[-1] > 1 and (b >= 0).all():
        sums, rows = b.sum(axis=-1), a.sum(axis=-1)
        full = _abs(sums - 1) < CLOSE
        if full.all() or (full | (sums == 0)).all() and full.any():
            if (a < -1e-12).any():
                return "Some weights are negative."
            wrong = full & (_abs(rows - 1) > 1e-6)
            if wrong.any():
                if (_abs(a.sum(axis=-2) - 1) < CLOSE).all():
                    return "The columns sum to one, and it should be the rows."
                return f"The rows are weights and should sum to one; yours sum to {_span(rows[wrong])}."
    return ""


def _span(values):
    low, high = float(values.min()), float(values.max())
    return f"{low:.3g}" if high - low < 1e-3 * abs(high) else f"{low:.3g} to {high:.3g}"


def _whole(a, b):
    """One sign, one factor or one shift for all numbers."""
    if not b.any():
        return ""
    if not a.any():
        return "All numbers are 0."
    if close(-a, b):
        return "The sign is the opposite; the size is right." if a.size == 1 else "All signs are the opposite."
    c = float((a * b).sum() / (b * b).sum())
    if c and abs(c - 1) > CLOSE and close(a / c, b):
        word = _factor(c)
        if a.size == 1:  # a single number is always some multiple of another
            return f"This is {word} times the expected number." if word[0] != "~" else ""
        return f"Every number is {word.lstrip('~')} times the expected one."
    k = int((_sign(a) != _sign(b)).sum())
    if k and close(_abs(a), _abs(b)):
        return f"The sizes are right; {k} of {a.size} numbers have the wrong sign."
    shift = a - b
    if a.size > 2 and close(shift, 0 * shift + shift.mean()):
        return f"Every number is too {'large' if shift.mean() > 0 else 'small'} by {abs(float(shift.mean())):.4g}."
    return ""


def _factor(c):
    """A number as one would write it; with ~ in front if it is none that one would know."""
    sign, c = "−" if c < 0 else "", abs(c)
    for k in range(1, 129):
        for value, text in ((k, f"{k}"), (1 / k, f"1/{k}"), (math.sqrt(k), f"√{k}"), (1 / math.sqrt(k), f"1/√{k}")):
            if abs(c / value - 1) < CLOSE:
                return sign + text
    return f"~{sign}{c:.4g}"


def _lines(a, b):
    """A factor or a shift of its own for each row, or each column."""
    if a.ndim < 2 or a.shape[-2] < 2 or a.shape[-1] < 2:
        return ""
    for axis, word in ((-1, "row"), (-2, "column")):
        if a.shape[axis] < 3:
            continue
        square = (b * b).sum(axis=axis, keepdims=True)
        factor = (a * b).sum(axis=axis, keepdims=True) / (square + (square == 0))
        if _abs(factor).min() > 1e-6 and close(factor * b, a):
            return f"Each {word} is right but for a factor of its own, {_span(factor)}."
        shift = (a - b).mean(axis=axis, keepdims=True)
        if close(a - shift, b):
            return f"Each {word} is right but for a number of its own that is added to all of it."
    return ""


def _places(a, b):
    """The right numbers in other places."""
    if a.ndim >= 2 and a.shape[-1] == a.shape[-2] and close(_swap(a, -1, -2), b):
        return "Rows and columns are exchanged; the numbers are right."
    for k in range(a.ndim):
        if a.shape[k] > 1 and close(a.take(range(a.shape[k] - 1, -1, -1), axis=k), b):
            return "The order is reversed" + (f" along axis {k}, counted from 0." if a.ndim > 1 else ".")
        for step, word in ((1, "late"), (-1, "early")):
            n = a.shape[k]
            if n > 2 and close(a.take([(i + step) % n for i in range(n)], axis=k), b):
                return f"All numbers are one place too {word}" + (f" along axis {k}." if a.ndim > 1 else ".")
    if a.size > 3 and close(_sort(a.ravel()), _sort(b.ravel())):
        return "The numbers are right, but in other places."
    return ""


def _part(a, b):
    """Which rows are wrong, where others are right."""
    bad = _abs(a - b) > CLOSE * float(_abs(b).max(initial=0.0)) + 1e-12
    if a.ndim >= 2 and a.shape[-1] == a.shape[-2] > 2 and bad.any():
        above = bad.any(axis=tuple(range(a.ndim - 2)))
        n = a.shape[-1]
        spots = [(i, j) for i in range(n) for j in range(n) if above[i, j]]
        for word, inside in (("above", lambda i, j: j > i), ("below", lambda i, j: j < i), ("on", lambda i, j: i == j)):
            if all(inside(i, j) for i, j in spots):
                return f"All is right but {word} the diagonal."
    for k in range(a.ndim):
        n = a.shape[k]
        wrong = [i for i in range(n) if bad.take(i, axis=k).any()]
        if n < 2 or not 0 < len(wrong) < n or len(wrong) > max(1, n // 2):
            continue
        if a.ndim == 1:
            word = "entry"
        else:
            word = {a.ndim - 2: "row", a.ndim - 1: "column"}.get(k, f"part of axis {k},")
        if len(wrong) == 1:
            which = {0: f"the first {word}", n - 1: f"the last {word}"}.get(wrong[0], f"{word} {wrong[0]}")
            which = f"{word} number {wrong[0]}" if word.endswith(",") else which
        else:
            which = f"{word.rstrip(',')}s {', '.join(map(str, wrong[:6]))}".replace("entrys", "entries")
        return f"All is right but {which}."
    return ""


def _digits(a, b):
    largest, error = float(_abs(b).max(initial=0.0)), float(_abs(a - b).max())
    if largest and 0 < error < 1e-5 * largest:
        if a.size > 1 and (a == a.astype(np.float32)).all():
            return "The numbers have the precision of float32: somewhere on the way float64 was lost."
        return f"The largest error is only {error / largest:.1g} of the largest number: nearly right, but not equal."
    return ""


def _few_digits(a, b):
    largest, error = float(_abs(b).max(initial=0.0)), float(_abs(a - b).max())
    if a.size > 2 and largest and 0 < error < 1e-3 * largest:
        return (f"The largest error is only {error / largest:.1g} of the largest number: something small is left out "
                "or added, or has too few digits, as float16 has.")
    return ""


def about_not_finite(array, events):
    """Overflow told apart from 0/0, by what numpy met on the way."""
    if array.dtype.kind not in "fc":
        return ""
    text = ""
    if "overflow" in events:
        text = "A number overflowed on the way: exp of more than 709 does, or a product of very large numbers."
    elif "divide by zero" in events:
        text = "Something was divided by 0 on the way, or log was taken of 0."
    elif "invalid value" in events:
        text = "No number overflowed: nan came from 0/0, ∞ − ∞, or a root or log of a negative number."
    else:  # PyTorch, or warnings that the answer switches off
        text = ("nan comes from ∞ − ∞, ∞/∞ or 0/0; ∞ itself from exp of more than 709, a division by 0, log of 0, or "
                "a start at ∞ that nothing replaced.")
    bad = ~_isfinite(array)
    if array.ndim >= 2 and array.shape[-1] > 1:
        rows = bad.any(axis=-1)
        if not rows.all() and (bad.all(axis=-1) == rows).all() and int(rows.sum()) == 1:
            where = [int(i[0]) for i in rows.nonzero()]
            text += f" One row is concerned, {name_of(where)}."
    return text.strip()


def name_of(where):
    return f"[{', '.join(map(str, where))}]"


# ---------------------------------------------------------------- crashes

SAID = {  # words of PyTorch's, and what they come to
    "a leaf Variable that requires grad": "A parameter is changed while autograd watches: change it under "
                                          "torch.no_grad().",
    "must match the size of tensor": "Two tensors met whose shapes do not fit: counted from the right, two sizes must "
                                     "be equal, or one of them 1.",
    "to have the same dtype": "Two kinds of numbers met, such as float32 and float64: hand on the dtype.",
}
METHODS = ("swapaxes", "transpose", "reshape", "sum", "mean", "max", "ravel", "squeeze")


def about_crash(error, frame, lasti):
    """Which two shapes met, where a product or a sum of arrays failed; "" if that cannot be said."""
    if type(error) not in (ValueError, RuntimeError):
        return ""
    message = str(error)
    for words, said in SAID.items():
        if words in message:
            return said
    if "einstein sum" in message and "ellipsis" in message:
        return ("np.einsum does not sum over the axes under ... when the result leaves them out; reshape them into one "
                "axis first, or give each a letter.")
    if "cannot reshape array" in message or "axes don't match array" in message:
        return _about_axes(_node_at(frame, lasti), frame)
    if "not broadcastable to correct shape" in message:
        return _about_at(_node_at(frame, lasti), frame)
    product = "matmul" in message or "not aligned" in message or "gufunc signature" in message
    if not (product or "broadcast" in message):
        return ""
    node = _node_at(frame, lasti)
    pair = _operands(node, frame)
    if pair is None:
        return ""
    (left, right), source = pair
    met = f"{source} was given shapes {left.shape} and {right.shape}: "
    if not product:
        return met + "counted from the right, two sizes must be equal, or one of them 1."
    if left.ndim and right.ndim:
        inner = right.shape[-2] if right.ndim > 1 else right.shape[0]
        if left.shape[-1] != inner:
            met += f"a product needs equal inner sizes, and these are {left.shape[-1]} and {inner}."
        else:
            met += "the inner sizes agree, the leading axes do not."
        if ".T" in source and max(left.ndim, right.ndim) > 2:
            met += " With more than two axes .T turns all of them round; .mT exchanges the last two."
        return met
    return met + "neither may be a single number."


def _about_axes(node, frame):
    """Which array it was whose axes are to be counted otherwise, or exchanged."""
    if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("reshape", "transpose")):
        return ""
    inner = node.func.value
    if isinstance(inner, ast.Name) and inner.id in ("np", "numpy") and node.args:
        inner = node.args[0]
    try:
        with _errstate(all="ignore"):
            value = _value(inner, {**frame.f_globals, **frame.f_locals})
    except Exception:
        return ""
    if type(value) is not _ndarray:
        return ""
    source = " ".join(ast.unparse(inner).split())
    axes = f"{value.ndim} axes" if value.ndim != 1 else "one axis"
    return f"{source} has {axes} here, {value.shape}."


def _about_at(node, frame):
    """Which shapes np.add.at was given."""
    if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "at" and len(node.args) == 3):
        return ""
    scope, shapes = {**frame.f_globals, **frame.f_locals}, []
    try:
        with _errstate(all="ignore"):
            shapes = [np.shape(_value(arg, scope)) for arg in node.args]
    except Exception:
        return ""
    return (f"{ast.unparse(node.func)} was given places of shape {shapes[1]} in an array of shape {shapes[0]}, and "
            f"values of shape {shapes[2]}: there must be a value, or a row of values, for each place.")


def _node_at(frame, lasti):
    """The expression that failed, as a tree, and its text."""
    code = frame.f_code
    spots = list(code.co_positions())
    if lasti // 2 >= len(spots) or None in spots[lasti // 2]:
        return None
    first, last, start, end = spots[lasti // 2]
    lines = [linecache.getline(code.co_filename, k, frame.f_globals).encode() for k in range(first, last + 1)]
    if not all(lines):
        return None
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        return ast.parse("(" + b"".join(lines).decode() + ")", mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _operands(node, frame):
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
    elif isinstance(node, ast.AugAssign):
        sides = (node.target, node.value)
    elif isinstance(node, ast.Call) and len(node.args) == 2:
        sides = node.args
    else:
        return None
    scope = {**frame.f_globals, **frame.f_locals}
    try:
        with _errstate(all="ignore"):
            values = [_value(side, scope) for side in sides]
    except Exception:
        return None
    if not all(type(value) is _ndarray for value in values):
        return None
    return values, " ".join(ast.unparse(node).split())


def _value(node, scope):
    """The value of an expression of plain arrays and numbers, without a call that could do more than look."""
    match node:
        case ast.Name(id=name):
            value = scope[name]
            if type(value) not in (_ndarray, int, float, tuple, np.float64, np.int64):
                raise TypeError
            return value
        case ast.Constant(value=value):
            return value
        case ast.Attribute(value=inner, attr="T" | "mT" | "shape" | "ndim" as attr):
            return getattr(_value(inner, scope), attr)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, scope)
        case ast.BinOp(left=left, right=right, op=op):
            a, b = _value(left, scope), _value(right, scope)
            return {ast.Add: lambda: a + b, ast.Sub: lambda: a - b, ast.Mult: lambda: a * b, ast.Div: lambda: a / b,
                    ast.MatMult: lambda: a @ b}[type(op)]()
        case ast.Subscript(value=inner, slice=index):
            return _value(inner, scope)[_value(index, scope)]
        case ast.Slice(lower=low, upper=high, step=step):
            return slice(*(None if part is None else _value(part, scope) for part in (low, high, step)))
        case ast.Tuple(elts=items):
            return tuple(_value(item, scope) for item in items)
        case ast.Call(func=ast.Attribute(value=inner, attr=attr), args=args, keywords=words) if attr in METHODS:
            value = _value(inner, scope)
            if type(value) is not _ndarray:
                raise TypeError
            return getattr(value, attr)(*(_value(a, scope) for a in args),
                                        **{w.arg: _value(w.value, scope) for w in words})
    raise TypeError
