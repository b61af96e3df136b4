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


FLOATING = {"array": floats, "tensor": tensors}  # by half: what computes with arrays, what with tensors


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


def indices(where: str, name: str, ids, size: int, half: str = "array", ignore: int | None = None) -> None:
    """Whole numbers in 0..size-1, or `ignore`: a negative index would silently count from the end."""
    if not (_is_tensor(ids) if half == "tensor" else isinstance(ids, np.ndarray)):
        raise TypeError(f"{where}: {name} is {_kind(ids)}, expected {_a(half)} of whole numbers")
    whole = str(ids.dtype) in ("torch.int32", "torch.int64")  # torch takes uint8 for a mask, and refuses the others
    if not (whole if half == "tensor" else np.issubdtype(ids.dtype, np.integer)):
        raise TypeError(f"{where}: {name} has dtype {ids.dtype}, expected {_a(half)} of whole numbers")
    if half == "array" and ignore is not None:
        ids = ids[ids != ignore]
    if half == "array" and ids.size and not (0 <= ids.min() and ids.max() < size):
        bad = int(ids.min()) if ids.min() < 0 else int(ids.max())
        raise ValueError(f"{where}: {name} holds {bad}, expected whole numbers from 0 to {size - 1}")


def attention(where: str, Q, K, V, mask=None, scale=None, *, same_width: bool = True, half: str = "array") -> None:
    """Q (*B, n, d_k), K (*B, m, d_k), V (*B, m, d_v), a mask over (*B, n, m) or None, a scale or None."""
    FLOATING[half](where, 2, Q=Q, K=K, V=V)
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
        mask_over(where, mask, (*Q.shape[:-1], K.shape[-2]), half)
    if scale is not None:
        number(where, scale=scale)


def mask_over(where: str, mask, scores, half: str) -> None:
    """A boolean mask for scores of this shape (*B, n, m): (n, m), or all axes with 1 where it is shared.

    The key axis must be there in full. Anything looser would let a (B, m) padding mask pass for an (n, m) one.
    """
    boolean(where, mask, half)
    got, scores = tuple(mask.shape), tuple(scores)
    full = len(got) == len(scores) and all(g in (1, s) for g, s in zip(got, scores, strict=True))
    if not (full and got[-1] == scores[-1] or got == scores[-2:]):
        shapes = f"{scores[-2:]} or {scores}" if len(scores) > 2 else f"{scores}"
        raise ValueError(f"{where}: mask has shape {got}, expected {shapes}, with 1 for a shared axis but the last")


def scores(where: str, S, mask=None, *, half: str = "array") -> None:
    """Scores with at least one entry along the last axis, and a mask that fits them."""
    FLOATING[half](where, 1, S=S)
    if S.shape[-1] == 0:
        raise ValueError(f"{where}: S has shape {tuple(S.shape)}, expected at least 1 entry along the last axis")
    if mask is not None:
        mask_over(where, mask, S.shape, half)


def boolean(where: str, mask, half: str) -> None:
    """A boolean NumPy array, or a boolean torch tensor."""
    if not (_is_tensor(mask) if half == "tensor" else isinstance(mask, np.ndarray)):
        raise TypeError(f"{where}: mask is {_kind(mask)}, expected a boolean {half}")
    if str(mask.dtype).removeprefix("torch.") != "bool":
        raise TypeError(f"{where}: mask has dtype {mask.dtype}, expected bool (True = may attend)")


def masks(where: str, masks, half: str = "array") -> None:
    """Boolean masks that agree: of one rank, or two-axis ones, each axis equal or 1."""
    if not masks:
        raise ValueError(f"{where}: got no mask, expected at least 1")
    for mask in masks:
        boolean(where, mask, half)
    shapes = [tuple(mask.shape) for mask in masks]
    rank = max(len(s) for s in shapes)
    agree = all(len({s[-i] for s in shapes if len(s) >= i} - {1}) <= 1 for i in range(1, rank + 1))
    if not agree or any(len(s) not in (2, rank) for s in shapes):
        raise ValueError(f"{where}: masks have shapes {', '.join(map(str, shapes))}, expected ones that fit together")


def head(where: str, X, tree, half: str = "array") -> None:
    """Tokens X (*B, n, d) and the parameters of one head over them."""
    FLOATING[half](where, 2, X=X)
    params(where, tree, [f"{kind}_{name}" for name in "qkv" for kind in "Wb"], ("b_q", "b_k", "b_v"), X=X)
    for name in "qkv":
        width = tree["W_q" if name == "k" else f"W_{name}"].shape[-1]  # queries and keys share theirs
        shape(where, f"params['W_{name}']", tree[f"W_{name}"].shape, (X.shape[-1], width))
        if f"b_{name}" in tree:
            shape(where, f"params['b_{name}']", tree[f"b_{name}"].shape, (width,))


def additive(where: str, Q, K, tree) -> None:
    """Queries, keys and the parameters {W_q, W_k, w} that align them."""
    params(where, tree, ["W_q", "W_k", "w"], Q=Q)
    a = tree["w"].shape[-1]
    shapes(where, tree, W_q=(Q.shape[-1], a), W_k=(K.shape[-1], a), w=(a,))


def multihead(where: str, X, M, tree, heads: int, kv_heads: int, half: str = "array") -> None:
    """Tokens X (*B, n, d), memory M (*B, m, d_m) and the parameters of `heads` heads over `kv_heads` keys, values."""
    FLOATING[half](where, 2, X=X, M=M)
    if M.shape[:-2] != X.shape[:-2]:
        raise ValueError(f"{where}: M has leading axes {tuple(M.shape[:-2])} but X has {tuple(X.shape[:-2])}")
    groups(where, heads, kv_heads)
    names = [f"{kind}_{name}" for name in "qkvo" for kind in "Wb"]
    params(where, tree, names, names[1::2], X=X)
    q, v, o = (tree[f"W_{name}"].shape[-1] for name in "qvo")
    multiple(where, heads, **{"width of W_q": q})
    multiple(where, kv_heads, **{"width of W_v": v})
    k, joined = q // heads * kv_heads, v // kv_heads * heads
    shapes(where, tree, W_q=(X.shape[-1], q), b_q=(q,), W_k=(M.shape[-1], k), b_k=(k,), W_v=(M.shape[-1], v), b_v=(v,),
           W_o=(joined, o), b_o=(o,))


def groups(where: str, heads: int, kv_heads: int) -> None:
    """As many key-value heads as can each serve the same number of heads."""
    count(where, heads=heads, kv_heads=kv_heads)
    if heads % kv_heads:
        raise ValueError(f"{where}: kv_heads is {kv_heads}, expected a divisor of the {heads} heads")


def feed_forward(where: str, X, tree, half: str = "array") -> None:
    """Tokens X (*B, n, d) and the parameters {W_1, W_2}, optional b_1, b_2, W_g, of a feed-forward layer."""
    FLOATING[half](where, 2, X=X)
    params(where, tree, ["W_1", "b_1", "W_g", "W_2", "b_2"], ("b_1", "b_2", "W_g"), X=X)
    wide, out = tree["W_1"].shape[-1], tree["W_2"].shape[-1]
    shapes(where, tree, W_1=(X.shape[-1], wide), b_1=(wide,), W_g=(X.shape[-1], wide), W_2=(wide, out), b_2=(out,))


def block(where: str, tree, M) -> None:
    """The subtrees of a block: {attention, norm_1, ff, norm_2}, and with a memory {cross, norm_c} too."""
    names = {"attention", "norm_1", "ff", "norm_2"} | ({"cross", "norm_c"} if M is not None else set())
    if not isinstance(tree, dict) or set(tree) != names:
        got = ", ".join(sorted(tree)) if isinstance(tree, dict) else _kind(tree)
        raise ValueError(f"{where}: params has {got}, expected {', '.join(sorted(names))}"
                         + ("" if M is not None else " (cross and norm_c come with a memory M)"))


def recurrent(where: str, X, tree, h0=None, half: str = "array") -> None:
    """Tokens X (*B, n, d), at least one, the parameters {W_x, W_h, b} over them, and a first state (*B, h)."""
    FLOATING[half](where, 2, X=X)
    params(where, tree, ["W_x", "W_h", "b"], X=X)
    h = tree["W_h"].shape[-1]
    shapes(where, tree, W_x=(X.shape[-1], h), W_h=(h, h), b=(h,))
    count(where, tokens=X.shape[-2])
    if h0 is not None:
        FLOATING[half](where, 1, X=X, h0=h0)
        shape(where, "h0", h0.shape, (*X.shape[:-2], h))


def conv1d(where: str, X, W, b, dilation: int, half: str = "array") -> None:
    """Tokens X (*B, n, d_in), a kernel W (k, d_in, d_out) and a bias over them."""
    FLOATING[half](where, 2, X=X, W=W)
    shape(where, "W", W.shape, (*W.shape[:1], X.shape[-1], *W.shape[-1:]))
    count(where, taps=W.shape[0], dilation=dilation)
    if b is not None:
        FLOATING[half](where, 1, X=X, b=b)
        shape(where, "b", b.shape, W.shape[-1:])


def shapes(where: str, tree, **expected) -> None:
    """Each parameter that is there has its shape."""
    for name, x in tree.items():
        shape(where, f"params[{name!r}]", x.shape, expected[name])


def params(where: str, tree, names: list, optional=(), **like) -> None:
    """A flat dict with these names, some of them optional, of arrays of the half and the dtype of `like`."""
    if not isinstance(tree, dict):
        raise TypeError(f"{where}: params is {_kind(tree)}, expected a dict with {', '.join(names)}")
    missing = [name for name in names if name not in tree and name not in optional]
    if missing or tree.keys() - set(names):
        raise ValueError(f"{where}: params has {', '.join(map(str, tree)) or 'no names'}, expected {', '.join(names)}")
    check = tensors if _is_tensor(*like.values()) else floats
    check(where, 1, **like, **{f"params[{name!r}]": x for name, x in tree.items()})


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


def tokens(where: str, X, mask, half: str = "array") -> None:
    """At least one token in X (*B, n, d), and a mask (*B, n) of the real ones."""
    FLOATING[half](where, 2, X=X)
    count(where, **{"number of tokens": X.shape[-2]})
    if mask is not None:
        boolean(where, mask, half)
        shape(where, "mask", mask.shape, X.shape[:-1])


def layers(where: str, layers, half: str = "array") -> None:
    """Weights (*B, H, n, n) of one layer or more, all of one shape."""
    if not isinstance(layers, list | tuple) or not layers:
        raise ValueError(f"{where}: layers is {_kind(layers)} of length {len(layers)}, expected a list of weights")
    for i, A in enumerate(layers):
        FLOATING[half](where, 3, **{f"layers[{i}]": A})
        shape(where, f"layers[{i}]", A.shape, (*layers[0].shape[:-1], layers[0].shape[-2]))


def _a(half):
    return "an array" if half == "array" else "a tensor"


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
