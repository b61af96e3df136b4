"""Words about a crash: which shapes met where a product or a sum of arrays failed. Knows no expected value."""

import ast
import linecache

import numpy as np

# Bound now, as in the judge: an answer that patches numpy later changes nothing here.
_ndarray, _errstate = np.ndarray, np.errstate

SAID = {  # words of PyTorch's and NumPy's, and what they come to
    "a leaf Variable that requires grad": "A leaf, which is a parameter or an input, is changed in place while "
                                          "autograd watches: make a new tensor, or change a parameter under "
                                          "torch.no_grad().",
    "must match the size of tensor": "Two tensors met whose shapes do not fit: counted from the right, two sizes must "
                                     "be equal, or one of them 1.",
    "to have the same dtype": "Two kinds of numbers met, such as float32 and float64: hand on the dtype.",
    "before Module.__init__() call": "A module begins with super().__init__(), before it is given parts.",
    "as parameter": "What is a parameter already takes no plain tensor in its place: wrap it in torch.nn.Parameter, or "
                    "copy the numbers into it under torch.no_grad().",
    "index can't contain negative values": "np.pad was asked to add fewer than no numbers: it cannot make an array "
                                           "shorter.",
    "'numpy.ndarray' object has no attribute 'pop'": "An array cannot lose or gain an entry, as a list can: slice it, "
                                                     "a[:-1], or make a list of it first, list(a).",
    "'numpy.ndarray' object has no attribute 'append'": "An array cannot lose or gain an entry, as a list can: "
                                                        "np.append makes a new one, or make a list first, list(a).",
}
METHODS = ("swapaxes", "transpose", "reshape", "sum", "mean", "max", "ravel", "squeeze")


def about_crash(error, frame, lasti):
    """Which two shapes met, where a product or a sum of arrays failed; "" if that cannot be said."""
    if type(error) not in (ValueError, RuntimeError, TypeError, AttributeError):
        return ""
    message = str(error)
    for words, said in SAID.items():
        if words in message:
            return said
    if type(error) not in (ValueError, RuntimeError):
        return ""
    if "einstein sum" in message and "ellipsis" in message:
        return ("np.einsum does not sum over the axes under ... when the result leaves them out; reshape them into one "
                "axis first, or give each a letter.")
    if "cannot reshape array" in message or "axes don't match array" in message:
        return _about_axes(_node_at(frame, lasti), frame)
    if "values to unpack" in message:
        return _about_unpacking(frame, lasti)
    if "not broadcastable to correct shape" in message:
        return _about_at(_node_at(frame, lasti), frame)
    product = "matmul" in message or "not aligned" in message or "gufunc signature" in message
    if not (product or "broadcast" in message):
        return ""
    node = _node_at(frame, lasti)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _row_in(node):
        return ("Beside an array + adds numbers, also to a list, and does not put rows behind each other: "
                "[*a, *b], or np.concatenate([a, b]).")
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


def _row_in(node):
    """Is a list written in a sum, so that + was meant to join?"""
    return isinstance(node, ast.List) or isinstance(node, ast.BinOp) and (_row_in(node.left) or _row_in(node.right))


def _about_axes(node, frame):
    """Which array it was whose axes are to be counted otherwise, or exchanged."""
    if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("reshape", "transpose")):
        return ""
    inner = node.func.value
    if isinstance(inner, ast.Name) and inner.id in ("np", "numpy") and node.args:
        inner = node.args[0]
    value = _array(inner, frame)
    return "" if value is None else f"{_has(inner, value)}."


def _array(node, frame):
    """The array that an expression stands for; None if it is none, or cannot be told."""
    try:
        with _errstate(all="ignore"):
            value = _value(node, {**frame.f_globals, **frame.f_locals})
    except Exception:
        return None
    return value if type(value) is _ndarray else None


def _has(node, value) -> str:
    axes = f"{value.ndim} axes" if value.ndim != 1 else "one axis"
    return f"{' '.join(ast.unparse(node).split())} has {axes} here, {value.shape}"


def _about_unpacking(frame, lasti):
    """Which shape has another number of axes than there are names on the left, and how a star takes any number."""
    spots = list(frame.f_code.co_positions())
    line = spots[lasti // 2][0] if lasti // 2 < len(spots) else None
    try:
        tree = ast.parse(linecache.getline(frame.f_code.co_filename, line or 0, frame.f_globals).strip())
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Attribute(value=inner, attr="shape")) if all(
                    type(name) is ast.Name for name in names):
                value = _array(inner, frame)
                if value is not None and value.ndim not in (0, len(names)):
                    kept = [name.id for name in (names if value.ndim > len(names) else names[1:])]
                    front = "lead" if value.ndim > len(names) else names[0].id
                    return (f"{_has(inner, value)}. If there may be any number in front, a star takes them: "
                            f"*{', '.join([front, *kept])} = {ast.unparse(inner)}.shape.")
    return ""


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
