"""Refuse wrong input in one sentence: which function, which argument, what came, what was expected.

Used by both halves. Shapes and types are always checked; values (NaN, infinity) only in the NumPy half.
"""

import math
import numbers
import sys

import numpy as np

from byhand.check.arrays import _TRUSTED, ValuesTrusted
from byhand.tree import flatten

FAR = 1 << 31  # a bound on positions, which have no end of their own


def _kind(x) -> str:
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


def _autocast(x) -> bool:
    """Whether torch is to choose the precision of each operation, so that they meet in several."""
    torch, device = sys.modules["torch"], x.device.type
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)  # the device meta has none


def _is_tensor(x) -> bool:
    torch = sys.modules.get("torch")  # a tensor can only exist once torch is loaded; never import it from here
    return torch is not None and isinstance(x, torch.Tensor)


def floats(where: str, rank: int = 1, **arrays) -> None:
    """Each array is a floating NumPy array of at least this rank, finite, and all share one dtype."""
    first = None
    for name, x in arrays.items():
        if not isinstance(x, np.ndarray):
            raise TypeError(f"{where}: {name} is {_kind(x)}, expected a NumPy array")
        _float_dtype(where, name, x.dtype, x.dtype.kind == "f")
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
        if not _autocast(x):
            first = _same_dtype(where, name, x.dtype, first)
        place = place or (name, x.device)
        if x.device != place[1]:
            raise ValueError(f"{where}: {name} is on {x.device} but {place[0]} is on {place[1]}, expected one device")


FLOATING = {"array": floats, "tensor": tensors}  # by half: what computes with arrays, what with tensors


def finite(where: str, **arrays) -> None:
    """No NaN and no infinity: either would spread through a softmax without a sound."""
    for name, x in ({} if _TRUSTED.get() else arrays).items():
        if _squares_add_up(x):
            continue
        if x.dtype.kind not in "fiu":
            raise TypeError(f"{where}: {name} has dtype {x.dtype}, expected floating point")
        ok = np.isfinite(x)
        if not ok.all():
            at = tuple(int(i) for i in np.argwhere(~ok)[0])
            raise ValueError(f"{where}: {name} holds {x[at]} at index {at}, expected finite numbers")


values_trusted = ValuesTrusted


def number(where: str, low: numbers.Real = -np.inf, **values) -> None:
    """Each value is a finite real number greater than `low`."""
    for name, x in values.items():
        if isinstance(x, bool) or not isinstance(x, numbers.Real):
            raise TypeError(f"{where}: {name} is {_kind(x)}, expected a number")
        if not math.isfinite(x) or x <= low:
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
    if not isinstance(small, list | tuple) or not all(map(_whole, small)):
        raise TypeError(f"{where}: {name} is {small!r}, expected a tuple of whole numbers")
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
            _float_dtype(where, f"{path} of {name}", x.dtype, x.dtype.kind == "f")
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


def scores(where: str, S, mask=None, *, half: str = "array", name: str = "S") -> None:
    """Scores with at least one entry along the last axis, and a mask that fits them."""
    FLOATING[half](where, 1, **{name: S})
    if S.shape[-1] == 0:
        raise ValueError(f"{where}: {name} has shape {tuple(S.shape)}, expected at least 1 entry along the last axis")
    if mask is not None:
        mask_over(where, mask, S.shape, half)


def partials(where: str, a, b, half: str = "array") -> None:
    """Two triples (m, l, o) of one kind: m, which may be −∞, and l of one shape, o with one axis more."""
    for name, part in (("a", a), ("b", b)):
        if not isinstance(part, tuple | list) or len(part) != 3:
            what = f"{len(part)} arrays" if isinstance(part, tuple | list) else _kind(part)
            raise TypeError(f"{where}: {name} is {what}, expected three: m, l, o")
    (m_a, l_a, o_a), (m_b, l_b, o_b) = a, b
    FLOATING[half](where, 1, l_a=l_a, l_b=l_b, o_a=o_a, o_b=o_b)
    for name, m in (("m of a", m_a), ("m of b", m_b)):
        if not (_is_tensor(m) if half == "tensor" else isinstance(m, np.ndarray)):
            raise TypeError(f"{where}: {name} is {_kind(m)}, expected {'a tensor' if half == 'tensor' else 'an array'}")
        _same_dtype(where, name, m.dtype, ("l_a", l_a.dtype))
        if half == "array" and not (m < np.inf).all():
            raise ValueError(f"{where}: {name} holds {m[~(m < np.inf)][0]}, expected finite numbers or -inf")
    for name, x in (("m of a", m_a), ("m of b", m_b), ("l of b", l_b)):
        shape(where, name, tuple(x.shape), tuple(l_a.shape))
    shape(where, "o of a", tuple(o_a.shape), (*l_a.shape, o_a.shape[-1]))
    shape(where, "o of b", tuple(o_b.shape), tuple(o_a.shape))


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


POSITIONS = ("none", "rope", "rope_half", "alibi", "relative")  # what attention itself can know of places


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
        got = ", ".join(sorted(map(str, tree))) if isinstance(tree, dict) else _kind(tree)
        raise ValueError(f"{where}: params has {got}, expected {', '.join(sorted(names))}"
                         + ("" if M is not None else " (cross and norm_c come with a memory M)"))


def shapes(where: str, tree, called: str = "params", **expected) -> None:
    """Each parameter that is there has its shape."""
    for name, x in tree.items():
        shape(where, f"{called}[{name!r}]", x.shape, expected[name])


def params(where: str, tree, names: list, optional=(), called: str = "params", **like) -> None:
    """A flat dict with these names, some of them optional, of arrays of the half and the dtype of `like`."""
    if not isinstance(tree, dict):
        raise TypeError(f"{where}: {called} is {_kind(tree)}, expected a dict with {', '.join(names)}")
    missing = [name for name in names if name not in tree and name not in optional]
    if missing or tree.keys() - set(names):
        got = ", ".join(map(str, tree)) or "no names"
        raise ValueError(f"{where}: {called} has {got}, expected {', '.join(names)}")
    check = tensors if _is_tensor(next(iter((*like.values(), *tree.values())))) else floats
    check(where, 1, **like, **{f"{called}[{name!r}]": x for name, x in tree.items()})


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


def tokens(where: str, X, mask, half: str = "array", name: str = "X") -> None:
    """At least one token in X (*B, n, d), and a mask (*B, n) of the real ones."""
    FLOATING[half](where, 2, **{name: X})
    count(where, **{f"number of tokens of {name}": X.shape[-2]})
    if mask is not None:
        boolean(where, mask, half)
        shape(where, "mask", mask.shape, X.shape[:-1])


def embed(where: str, ids, tree, config, segments, positions, half: str = "array") -> None:
    """Ids (*B, n), at most n_max of them, the subtrees of an embedding, ids of segments, and positions."""
    names = [name for name, there in (("tokens", True), ("segments", config.segments),
             ("positions", config.position == "learned"), ("norm", config.embedding_norm)) if there]
    subtrees(where, tree, names)
    tables = {"tokens": ("E", 0), "segments": ("E", config.segments), "positions": ("table", config.n_max)}
    for name, (key, size) in tables.items():
        if name in names:
            subtrees(where, tree[name], [key], f"params[{name!r}]")
            FLOATING[half](where, 2, **{f"params[{one!r}][{k!r}]": tree[one][k] for one, k in (
                ("tokens", "E"), (name, key))})
            shapes(where, tree[name], **{key: (size or tree["tokens"]["E"].shape[0], config.d)})
    indices(where, "ids", ids, tree["tokens"]["E"].shape[0], half)
    if ids.ndim < 1 or not 1 <= ids.shape[-1] <= config.n_max:
        raise ValueError(f"{where}: ids has shape {tuple(ids.shape)}, expected 1 to {config.n_max} tokens a row")
    if segments is not None:
        indices(where, "segments", segments, config.segments, half)
        shape(where, "segments", segments.shape, ids.shape)
    if positions is not None:
        indices(where, "positions", positions, config.n_max, half)
        shape(where, "positions", positions.shape, (*positions.shape[:-1], ids.shape[-1]))
        repeats(where, "shape of positions", positions.shape, ids.shape)


def model(where: str, tree, config, *kinds) -> None:
    """A config of one of these kinds, and the subtrees that it asks for."""
    kind(where, config, *kinds)
    if where == "encoder_decoder":
        subtrees(where, tree, ["encoder", "decoder"])
        own = ["embedding"] if config.source_vocab is not None else []
        trees = {"decoder": (tree["decoder"], own + ["blocks"], not config.tied)}
    else:
        trees = {"params": (tree, ["embedding", "blocks"], where == "decoder" and not config.tied)}
    for name, (part, names, head) in trees.items():
        subtrees(where, part, names + ["norm"] * config.norm_first + ["head"] * head, name)
        subtrees(where, part["blocks"], list(map(str, range(config.layers))), f"{name}['blocks']")


def stack(where: str, tree, config) -> None:
    """The blocks of one side of a model, and a last norm where the config asks for one; more may be there."""
    names = ["blocks"] + ["norm"] * config.norm_first
    if not isinstance(tree, dict) or not tree.keys() >= set(names):
        got = ", ".join(map(str, tree)) if isinstance(tree, dict) else _kind(tree)
        raise ValueError(f"{where}: params has {got or 'no names'}, expected {', '.join(names)}")
    subtrees(where, tree["blocks"], list(map(str, range(config.layers))), "params['blocks']")


def kind(where: str, config, *kinds) -> None:
    """A config of a model of one of these kinds."""
    if getattr(config, "kind", None) not in kinds:
        got = repr(config.kind) if hasattr(config, "kind") else f"not there in {_kind(config)}"
        raise ValueError(f"{where}: config.kind is {got}, expected {' or '.join(kinds)}")


def subtrees(where: str, tree, names: list, name: str = "params") -> None:
    """A dict with exactly these names."""
    if not isinstance(tree, dict) or set(tree) != set(names):
        got = ", ".join(map(str, tree)) if isinstance(tree, dict) else _kind(tree)
        raise ValueError(f"{where}: {name} has {got or 'no names'}, expected {', '.join(names)}")


def mlm_head(where: str, H, tree, E, half: str = "array") -> None:
    """Tokens H (*B, d), the parameters {W, b, norm, bias} of a masked-word head, and the embedding E (V, d)."""
    if not isinstance(tree, dict) or tree.keys() != {"W", "b", "norm", "bias"}:
        got = ", ".join(map(str, tree)) if isinstance(tree, dict) else _kind(tree)
        raise ValueError(f"{where}: params has {got}, expected W, b, norm, bias")
    FLOATING[half](where, 1, H=H, E=E)
    d, flat = H.shape[-1], {name: x for name, x in tree.items() if name != "norm"}
    shape(where, "E", E.shape, (*E.shape[:1], d))
    params(where, flat, list(flat), H=H)
    shapes(where, flat, W=(d, d), b=(d,), bias=E.shape[:1])
    params(where, tree["norm"], ["gamma", "beta"], called="params['norm']", H=H)


def lora(where: str, W, A, B, alpha, half: str = "array", **tokens) -> None:
    """A matrix W (d_in, d_out), its low-rank pair A (d_in, r), B (r, d_out), and tokens (*B, d_in), if any."""
    FLOATING[half](where, 1, **tokens, W=W, A=A, B=B)
    for name, x in tokens.items():
        shape(where, name, x.shape, (*x.shape[:-1], *W.shape[:1]))
    shape(where, "W", W.shape, W.shape[-2:])
    shape(where, "A", A.shape, (W.shape[0], A.shape[-1]))
    shape(where, "B", B.shape, (A.shape[-1], W.shape[-1]))
    number(where, alpha=alpha)


def words(where: str, ids, mask_id: int, vocab: int, rate: float, special, half: str = "array") -> list[int]:
    """The ordinary ids of a vocabulary, after checking that ids, the mask's, the special ones and the rate fit it."""
    count(where, vocab=vocab)
    indices(where, "ids", ids, vocab, half)
    barred = {mask_id, *special}
    count(where, low=0, **{f"special id {i}": i for i in barred})
    if max(barred) >= vocab:
        raise ValueError(f"{where}: mask_id and special hold {max(barred)}, expected less than vocab, {vocab}")
    number(where, low=0, rate=rate)
    if rate > 1:
        raise ValueError(f"{where}: rate is {rate}, expected at most 1")
    if len(barred) == vocab:
        raise ValueError(f"{where}: all {vocab} ids are special, expected an ordinary word")
    return [i for i in range(vocab) if i not in barred]


def batches(where: str, batches) -> None:
    """A list of one micro-batch or more; an array would be taken apart row by row."""
    if not isinstance(batches, list | tuple):
        raise TypeError(f"{where}: batches is {_kind(batches)}, expected a list of micro-batches")
    if not batches:
        raise ValueError(f"{where}: batches is empty, expected at least 1 micro-batch")


def _squares_add_up(x) -> bool:
    """Quick: a finite sum of squares has finite terms. False says nothing, since large numbers overflow."""
    flat = np.ravel(x, order="K")  # a view of an array without gaps
    with np.errstate(over="ignore", invalid="ignore"):
        return flat.dtype.kind == "f" and bool(np.isfinite(flat @ flat))


def scalar(where: str, **values) -> None:
    """Each value is a finite number, or an array without axes that holds one."""
    for name, x in values.items():
        if isinstance(x, np.ndarray):
            shape(where, name, x.shape, ())
            floats(where, 0, **{name: x})
        else:
            number(where, **{name: x})


def generator(where: str, rng) -> None:
    """A source of random numbers, or None."""
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise TypeError(f"{where}: rng is {_kind(rng)}, expected a NumPy Generator or None")


def state(where: str, state, *names: str) -> None:
    """What an optimiser keeps between steps: an array t that counts them, and trees of these names."""
    if not isinstance(state, dict) or state.keys() != {"t", *names}:
        got = ", ".join(map(str, state)) or "nothing" if isinstance(state, dict) else _kind(state)
        raise ValueError(f"{where}: state has {got}, expected t, {', '.join(names)}, as from init_state")
    t = state["t"]
    if not isinstance(t, np.ndarray) or t.shape != () or not np.issubdtype(t.dtype, np.integer) or t < 0:
        raise ValueError(f"{where}: t of state is {t!r}, expected an array without axes that counts steps")


def flag(where: str, **values) -> None:
    """Each value is True or False: whatever else has a truth of its own was meant for another argument."""
    for name, x in values.items():
        if not isinstance(x, bool | np.bool_):
            raise TypeError(f"{where}: {name} is {_kind(x)}, expected bool")


def _whole(x) -> bool:
    return isinstance(x, numbers.Integral) and not isinstance(x, bool)


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
