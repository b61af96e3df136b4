"""Refuse wrong input in one sentence: which function, which argument, what came, what was expected.

Used by both halves. Shapes and types are always checked; values (NaN, infinity) only in the NumPy half.
"""

import numbers
import sys

import numpy as np

from byhand.tree import flatten

FAR = 1 << 31  # a bound on positions, which have no end of their own


def _kind(x) -> str:
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


def _is_tensor(x) -> bool:
    torch = sys.modules.get("torch")  # a tensor can only exist once torch is loaded; never import it from here
    return torch is not None and isinstance(x, torch.Tensor)


def floats(where: str, rank: int = 1, **arrays) -> None:
    """Each array is a floating NumPy array of at least this rank, finite, and all share one dtype."""
    first = None
    for name, x in arrays.items():
        if not isinstance(x, np.ndarray):
            raise TypeError(f"{where}: {name} is {_kind(x)}, expected a NumPy array")
        _float_dtype(where, name, x.dtype, np.issubdtype(x.dtype, np.floating))
        _rank(where, name, x.ndim, rank)
        first = _same_dtype(where, name, x.dtype, first)
        finite(where, **{name: x})


def tensors(where: str, rank: int = 1, **tensors) -> None:
    """Each argument is a floating torch tensor of at least this rank; all share one dtype and one device."""
    first, place = None, None
    for name, x in tensors.items():
        if not _is_tensor(x):
            raise TypeError(f"{where}: {name} is {_kind(x)}, expected a torch tensor")
        _float_dtype(where, name, x.dtype, x.is_floating_point())
        _rank(where, name, x.ndim, rank)
        first = _same_dtype(where, name, x.dtype, first)
        place = place or (name, x.device)
        if x.device != place[1]:
            raise ValueError(f"{where}: {name} is on {x.device} but {place[0]} is on {place[1]}, expected one device")


def finite(where: str, **arrays) -> None:
    """No NaN and no infinity: either would spread through a softmax without a sound."""
    for name, x in arrays.items():
        ok = np.isfinite(x)
        if not ok.all():
            at = tuple(int(i) for i in np.argwhere(~ok)[0])
            raise ValueError(f"{where}: {name} holds {x[at]} at index {at}, expected finite numbers")


def number(where: str, low: numbers.Real = -np.inf, **values) -> None:
    """Each value is a finite real number greater than `low`."""
    for name, x in values.items():
        if isinstance(x, bool) or not isinstance(x, numbers.Real):
            raise TypeError(f"{where}: {name} is {_kind(x)}, expected a number")
        if not np.isfinite(x) or x <= low:
            limit = "a finite number" if low == -np.inf else f"a finite number greater than {low:g}"
            raise ValueError(f"{where}: {name} is {x}, expected {limit}")


def count(where: str, low: int = 1, **values) -> None:
    """Each value is a whole number of at least `low`."""
    for name, x in values.items():
        if isinstance(x, bool) or not isinstance(x, numbers.Integral):
            raise TypeError(f"{where}: {name} is {_kind(x)}, expected a whole number")
        if x < low:
            raise ValueError(f"{where}: {name} is {x}, expected at least {low}")


def shape(where: str, name: str, got, expected) -> None:
    """One array has exactly this shape."""
    if tuple(got) != tuple(expected):
        raise ValueError(f"{where}: {name} has shape {tuple(got)}, expected {tuple(expected)}")


def repeats(where: str, name: str, small, big) -> None:
    """An array of shape `small` can be repeated, by NumPy's rules, to exactly `big`."""
    small, big = tuple(small), tuple(big)
    tail = big[len(big) - len(small):] if len(small) <= len(big) else ()
    if len(small) > len(big) or any(k not in (1, n) for k, n in zip(small, tail, strict=True)):
        raise ValueError(f"{where}: {name} is {small}, expected a shape that repeats to {big}")


def within(where: str, low: numbers.Real, high: numbers.Real, **values) -> None:
    """Each value is a real number from `low`, included, to `high`, left out."""
    for name, x in values.items():
        number(where, **{name: x})
        if not low <= x < high:
            expected = f"at least {low:g}" if high == np.inf else f"at least {low:g} and less than {high:g}"
            raise ValueError(f"{where}: {name} is {x}, expected {expected}")


def trees(where: str, **trees) -> None:
    """Parameter trees of floating arrays with the same names, and leaf by leaf the same shapes and dtypes."""
    first = None
    for name, leaves in trees.items():
        if not isinstance(leaves, dict):
            raise TypeError(f"{where}: {name} is {_kind(leaves)}, expected a dict")
        leaves = flatten(leaves)
        for path, x in leaves.items():
            if not isinstance(x, np.ndarray):
                raise TypeError(f"{where}: {name} has {_kind(x)} at {path}, expected a NumPy array")
            _float_dtype(where, f"{path} of {name}", x.dtype, np.issubdtype(x.dtype, np.floating))
        if first is None:
            first = (name, leaves)
        if leaves.keys() != first[1].keys():
            raise ValueError(f"{where}: {name} has {', '.join(leaves)} but {first[0]} has {', '.join(first[1])}")
        for path, x in leaves.items():
            shape(where, f"{path} of {name}", x.shape, first[1][path].shape)
            _same_dtype(where, f"{path} of {name}", x.dtype, (f"that of {first[0]}", first[1][path].dtype))


def indices(where: str, name: str, ids, size: int, ignore: int | None = None) -> None:
    """Whole numbers in 0..size-1, or `ignore`: any other negative index would silently count from the end."""
    integral = np.issubdtype(ids.dtype, np.integer) if isinstance(ids, np.ndarray) else (
        _is_tensor(ids) and not ids.is_floating_point() and not ids.is_complex() and str(ids.dtype) != "torch.bool")
    if not integral:
        what = f"dtype {ids.dtype}" if hasattr(ids, "dtype") else _kind(ids)
        raise TypeError(f"{where}: {name} has {what}, expected an array of whole numbers")
    if isinstance(ids, np.ndarray) and ignore is not None:
        ids = ids[ids != ignore]
    if isinstance(ids, np.ndarray) and ids.size and not (0 <= ids.min() and ids.max() < size):
        bad = int(ids.min()) if ids.min() < 0 else int(ids.max())
        raise ValueError(f"{where}: {name} holds {bad}, expected whole numbers from 0 to {size - 1}")


def attention(where: str, Q, K, V, mask=None, *, same_width: bool = True) -> None:
    """Shapes of Q (*B, n, d_k), K (*B, m, d_k), V (*B, m, d_v) and of a mask over (*B, n, m)."""
    (tensors if _is_tensor(Q) else floats)(where, 2, Q=Q, K=K, V=V)
    for name, x in (("K", K), ("V", V)):
        if x.shape[:-2] != Q.shape[:-2]:
            raise ValueError(f"{where}: {name} has leading axes {tuple(x.shape[:-2])} but Q has {tuple(Q.shape[:-2])}")
    if same_width and K.shape[-1] != Q.shape[-1]:
        raise ValueError(f"{where}: K has width {K.shape[-1]} but Q has width {Q.shape[-1]}")
    if V.shape[-2] != K.shape[-2]:
        raise ValueError(f"{where}: K has {K.shape[-2]} keys but V has {V.shape[-2]} values")
    if K.shape[-2] == 0:
        raise ValueError(f"{where}: K has 0 keys, expected at least 1")
    if mask is not None:
        mask_over(where, mask, (*Q.shape[:-1], K.shape[-2]))


def mask_over(where: str, mask, scores) -> None:
    """A boolean mask for scores of this shape (*B, n, m): (n, m), or all axes with 1 where it is shared.

    The key axis must be there in full. Anything looser would let a (B, m) padding mask pass for an (n, m) one.
    """
    if not (isinstance(mask, np.ndarray) or _is_tensor(mask)):
        raise TypeError(f"{where}: mask is {_kind(mask)}, expected a boolean array")
    if str(mask.dtype).removeprefix("torch.") != "bool":
        raise TypeError(f"{where}: mask has dtype {mask.dtype}, expected bool (True = may attend)")
    got, scores = tuple(mask.shape), tuple(scores)
    full = len(got) == len(scores) and all(g in (1, s) for g, s in zip(got, scores, strict=True))
    if not (full and got[-1] == scores[-1] or got == scores[-2:]):
        shapes = f"{scores[-2:]} or {scores}" if len(scores) > 2 else f"{scores}"
        raise ValueError(f"{where}: mask has shape {got}, expected {shapes}, with 1 for a shared axis but the last")


def scores(where: str, S, mask=None) -> None:
    """Scores with at least one entry along the last axis, and a mask that fits them."""
    (tensors if _is_tensor(S) else floats)(where, 1, S=S)
    if S.shape[-1] == 0:
        raise ValueError(f"{where}: S has shape {tuple(S.shape)}, expected at least 1 entry along the last axis")
    if mask is not None:
        mask_over(where, mask, S.shape)


def masks(where: str, masks) -> None:
    """Boolean masks that agree: of one rank, or two-axis ones, each axis equal or 1."""
    if not masks:
        raise ValueError(f"{where}: got no mask, expected at least 1")
    for mask in masks:
        if not (isinstance(mask, np.ndarray) or _is_tensor(mask)):
            raise TypeError(f"{where}: mask is {_kind(mask)}, expected a boolean array")
        if str(mask.dtype).removeprefix("torch.") != "bool":
            raise TypeError(f"{where}: mask has dtype {mask.dtype}, expected bool (True = may attend)")
    shapes = [tuple(mask.shape) for mask in masks]
    rank = max(len(s) for s in shapes)
    agree = all(len({s[-i] for s in shapes if len(s) >= i} - {1}) <= 1 for i in range(1, rank + 1))
    if not agree or any(len(s) not in (2, rank) for s in shapes):
        raise ValueError(f"{where}: masks have shapes {', '.join(map(str, shapes))}, expected ones that fit together")


def head(where: str, X, tree) -> None:
    """Tokens X (*B, n, d) and the parameters of one head over them."""
    (tensors if _is_tensor(X) else floats)(where, 2, X=X)
    d = X.shape[-1]
    widths = {name: tree[f"W_{name}"].shape[-1] for name in "qkv" if isinstance(tree, dict) and f"W_{name}" in tree}
    shapes = {}
    for name in "qkv":
        width = widths.get("q" if name == "k" else name)
        shapes |= {f"W_{name}": (d, width), f"b_{name}": (width,)}
    params(where, tree, shapes, optional=("b_q", "b_k", "b_v"))


def multihead(where: str, X, M, tree, heads: int, kv_heads: int) -> None:
    """Tokens X (*B, n, d), memory M (*B, m, d_m) and the parameters of `heads` heads over `kv_heads` keys, values."""
    (tensors if _is_tensor(X) else floats)(where, 2, X=X, M=M)
    if M.shape[:-2] != X.shape[:-2]:
        raise ValueError(f"{where}: M has leading axes {tuple(M.shape[:-2])} but X has {tuple(X.shape[:-2])}")
    count(where, heads=heads, kv_heads=kv_heads)
    if heads % kv_heads:
        raise ValueError(f"{where}: kv_heads is {kv_heads}, expected a divisor of the {heads} heads")
    wide = {name: tree[f"W_{name}"].shape[-1] for name in "qkvo" if isinstance(tree, dict) and f"W_{name}" in tree}
    for name, parts in (("q", heads), ("k", kv_heads), ("v", kv_heads)):
        if wide.get(name, 0) % parts:
            raise ValueError(f"{where}: W_{name} has {wide[name]} columns, expected a multiple of {parts} heads")
    keys, values = wide.get("q", 0) // heads * kv_heads, wide.get("v", 0) // kv_heads * heads
    shapes = {"W_q": (X.shape[-1], wide.get("q")), "b_q": (wide.get("q"),), "W_k": (M.shape[-1], keys), "b_k": (keys,),
              "W_v": (M.shape[-1], wide.get("v")), "b_v": (wide.get("v"),), "W_o": (values, wide.get("o")),
              "b_o": (wide.get("o"),)}
    params(where, tree, shapes, optional=("b_q", "b_k", "b_v", "b_o"))


def feed_forward(where: str, X, tree) -> None:
    """Tokens X (*B, n, d) and the parameters {W_1, W_2}, optional b_1, b_2, W_g, of a feed-forward layer."""
    (tensors if _is_tensor(X) else floats)(where, 2, X=X)
    d = X.shape[-1]
    wide = tree["W_1"].shape[-1] if isinstance(tree, dict) and "W_1" in tree else None
    out = tree["W_2"].shape[-1] if isinstance(tree, dict) and "W_2" in tree else None
    shapes = {"W_1": (d, wide), "b_1": (wide,), "W_g": (d, wide), "W_2": (wide, out), "b_2": (out,)}
    params(where, tree, shapes, optional=("b_1", "b_2", "W_g"))


def block(where: str, tree, M) -> None:
    """The subtrees of a block: {attention, norm_1, ff, norm_2}, and with a memory {cross, norm_c} too."""
    names = {"attention", "norm_1", "ff", "norm_2"} | ({"cross", "norm_c"} if M is not None else set())
    if not isinstance(tree, dict) or set(tree) != names:
        got = ", ".join(sorted(tree)) if isinstance(tree, dict) else _kind(tree)
        raise ValueError(f"{where}: params has {got}, expected {', '.join(sorted(names))}"
                         + ("" if M is not None else " (cross and norm_c come with a memory M)"))


def recurrent(where: str, X, tree, h0=None) -> None:
    """Tokens X (*B, n, d), at least one, the parameters {W_x, W_h, b} over them, and a first state (*B, h)."""
    check = tensors if _is_tensor(X) else floats
    check(where, 2, X=X)
    h = tree["W_h"].shape[-1] if isinstance(tree, dict) and "W_h" in tree else None
    params(where, tree, {"W_x": (X.shape[-1], h), "W_h": (h, h), "b": (h,)})
    check(where, 1, X=X, **tree)
    count(where, tokens=X.shape[-2])
    if h0 is not None:
        check(where, 1, X=X, h0=h0)
        shape(where, "h0", h0.shape, (*X.shape[:-2], h))


def conv1d(where: str, X, W, b, dilation: int) -> None:
    """Tokens X (*B, n, d_in), a kernel W (k, d_in, d_out) and a bias over them."""
    check = tensors if _is_tensor(X) else floats
    check(where, 2, X=X, W=W)
    shape(where, "W", W.shape, (*W.shape[:1], X.shape[-1], *W.shape[-1:]))
    count(where, taps=W.shape[0], dilation=dilation)
    if b is not None:
        check(where, 1, X=X, b=b)
        shape(where, "b", b.shape, W.shape[-1:])


def additive(where: str, Q, K, tree) -> None:
    """Queries, keys and the parameters {W_q, W_k, w} that align them."""
    a = tree["w"].shape[-1] if isinstance(tree, dict) and "w" in tree else None
    params(where, tree, {"W_q": (Q.shape[-1], a), "W_k": (K.shape[-1], a), "w": (a,)})


def params(where: str, tree, shapes: dict, optional=()) -> None:
    """A flat dict with exactly these names and shapes; a name in `optional` may be missing."""
    if not isinstance(tree, dict):
        raise TypeError(f"{where}: params is {_kind(tree)}, expected a dict with {', '.join(shapes)}")
    missing = [k for k in shapes if k not in tree and k not in optional]
    extra = [k for k in tree if k not in shapes]
    if missing or extra:
        raise ValueError(f"{where}: params has {', '.join(map(str, tree)) or 'no names'}, expected {', '.join(shapes)}")
    for name, x in tree.items():
        if not (isinstance(x, np.ndarray) or _is_tensor(x)):
            raise TypeError(f"{where}: params[{name!r}] is {_kind(x)}, expected an array")
        shape(where, f"params[{name!r}]", x.shape, shapes[name])


def multiple(where: str, of: int, **values) -> None:
    """Each value is a positive whole number that `of` divides."""
    count(where, **values)
    for name, x in values.items():
        if x % of:
            raise ValueError(f"{where}: {name} is {x}, expected a multiple of {of}")


def window(where: str, size: int, n: int, offset: int) -> None:
    """Positions offset … offset + n − 1 lie within 0 … size − 1."""
    count(where, n=n)
    count(where, low=0, offset=offset)
    if offset + n > size:
        raise ValueError(f"{where}: offset + n is {offset + n}, expected at most {size}, the number of positions")


def tiles(where: str, Q, K, is_causal, block) -> None:
    """The options of tiled attention: whole tiles, and a causal flag that means the same for queries and keys."""
    count(where, block=block)
    if not isinstance(is_causal, bool):
        raise TypeError(f"{where}: is_causal is {_kind(is_causal)}, expected bool")
    if is_causal and Q.shape[-2] != K.shape[-2]:
        raise ValueError(f"{where}: is_causal is True with {Q.shape[-2]} queries and {K.shape[-2]} keys, "
                         "expected as many of each")


def tokens(where: str, X, mask) -> None:
    """At least one token in X (*B, n, d), and a mask (*B, n) of the real ones."""
    (tensors if _is_tensor(X) else floats)(where, 2, X=X)
    count(where, **{"number of tokens": X.shape[-2]})
    if mask is not None:
        masks(where, (mask,))
        shape(where, "mask", mask.shape, X.shape[:-1])


def layers(where: str, layers) -> None:
    """Weights (*B, H, n, n) of one layer or more, all of one shape."""
    if not isinstance(layers, list | tuple) or not layers:
        raise ValueError(f"{where}: layers is {_kind(layers)} of length {len(layers)}, expected a list of weights")
    for i, A in enumerate(layers):
        (tensors if _is_tensor(A) else floats)(where, 3, **{f"layers[{i}]": A})
        shape(where, f"layers[{i}]", A.shape, (*layers[0].shape[:-1], layers[0].shape[-2]))


def _float_dtype(where, name, dtype, ok):
    if not ok:
        raise TypeError(f"{where}: {name} has dtype {dtype}, expected floating point")


def _rank(where, name, got, least):
    if got < least:
        raise ValueError(f"{where}: {name} has {got} axes, expected at least {least}")


def _same_dtype(where, name, dtype, first):
    if first is not None and dtype != first[1]:
        raise TypeError(f"{where}: {name} has dtype {dtype} but {first[0]} has {first[1]}, expected one dtype")
    return first or (name, dtype)
