"""Inputs of the cases, and what runs or measures an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, kind_of, places_of_names


def weights(S, mask=True, axis=-1):
    """Softmax where the mask is True; used to make inputs, and in wrong answers."""
    allowed = np.broadcast_to(mask, S.shape)
    E = np.where(allowed, np.exp(np.where(allowed, S - S.max(axis=axis, keepdims=True), 0.0)), 0.0)
    total = E.sum(axis=axis, keepdims=True)
    return E / np.where(total == 0, 1, total)


def causal(n, k=0):
    return np.tri(n, k=k, dtype=bool)


def attend(X, late=False, k=0):
    S, mask = X @ X.mT / np.sqrt(X.shape[-1]), causal(X.shape[-2], k)
    return (weights(S) * mask if late else weights(S, mask)) @ X


def next_token(X):
    return X + np.concatenate([X[..., 1:, :], 0 * X[..., :1, :]], axis=-2)


def first_reads_last(X):
    return np.concatenate([X[..., :1, :] + X[..., -1:, :], X[..., 1:, :]], axis=-2)


PROBED = {
    "a running sum": [lambda X: np.cumsum(X, axis=-2)],
    "causal attention": [attend],
    "reads the next token": [next_token],
    "the first reads the last": [first_reads_last],
    "falls only": [lambda X: -(next_token(X) ** 2)],
    "three kinds of attention": [attend, lambda X: attend(X, late=True), lambda X: attend(X, k=1)],
    "norm over tokens": [lambda X: X - X.mean(axis=-2, keepdims=True)],
}


def probed(kind, n, d, t, lead=(), zero=False):
    def make(rng):
        X, new = rng.normal(size=(2, *lead, n, d))
        return {"kind": kind, "X": 0 * X if zero else X, "new": new, "t": t}

    return make


def call_leak(answer, inputs):
    found = []
    for f in PROBED[inputs["kind"]]:
        number = answer(f, inputs["X"], inputs["new"], inputs["t"])
        if number is None or number is Ellipsis:
            return None
        if np.ndim(number) != 0:
            raise WrongAnswer(f"returned an array of shape {np.shape(number)}, expected one number")
        found.append(float(number))
    return found


def padded(lengths, n, spread=1.0):
    def make(rng):
        return {"S": spread * rng.normal(size=(len(lengths), n, n)), "lengths": np.array(lengths)}

    return make


def text(n, lead=(), vocab=20):
    return lambda rng: {"ids": rng.integers(0, vocab, size=(*lead, n)), "bos": vocab}


def one_row(pattern):
    def make(rng):
        return {"s": rng.normal(size=len(pattern)), "mask": np.array([c == "1" for c in pattern])}

    return make


NAMES = ("correct", "after the softmax", "scores times mask", "off by one", "softmax over queries")


def masked_in(S, name):
    n = len(S)
    return {
        "correct": lambda: weights(S, causal(n)),
        "after the softmax": lambda: weights(S) * causal(n),
        "scores times mask": lambda: weights(S * causal(n)),
        "off by one": lambda: weights(S, causal(n, 1)),
        "softmax over queries": lambda: weights(S, causal(n), axis=0),
    }[name]()


def exhibits(n, innocent):
    """Weights of one S, with a different fault each, in random order."""

    def make(rng):
        S = rng.normal(size=(n, n))
        A = np.stack([masked_in(S, name) for name in NAMES[0 if innocent else 1 :]])
        return {"S": S, "A": A[rng.permutation(len(A))]}

    return make


def one_token(rng):
    """Nothing can be hidden from a single token, and every fault gives the right weight."""
    S = rng.normal(size=(1, 1))
    return {"S": S, "A": np.ones((1, 1, 1))}


def call_diagnose(answer, inputs):
    return places_of_names(NAMES, "matrix", inputs["A"], lambda A: answer(inputs["S"], A))


def losses(lengths, n, holes=False):
    def make(rng):
        real = np.arange(n) < np.array(lengths)[:, None]
        if holes:
            real = real[:, rng.permutation(n)]
        return {"L": rng.exponential(size=real.shape), "real": real}

    return make


# additive_mask: the inputs name a kind; `call_additive` makes the batch


def batch(kind, lengths, n, d):
    def make(rng):
        return {"kind": kind, "x": rng.normal(size=(len(lengths), n, d)), "lengths": np.array(lengths)}

    return make


def some_batch(kind, B, n, empty=0):
    """Lengths that are drawn; so many of the sequences are empty."""
    return lambda rng: batch(kind, [*rng.integers(1, n, size=B - empty), *[0] * empty], n, 5)(rng)


META = "on the device meta, which has shapes and no numbers, "


def call_additive(answer, inputs):
    import torch

    kind, x, lengths = inputs.values()
    (B, n, _), meta = x.shape, kind == "meta"
    given = x.to("meta") if meta else x.to(getattr(torch, kind))
    try:
        C = answer(given, lengths.to(given.device))
    except NotImplementedError:
        if not meta:
            raise
        raise WrongAnswer(META + "a number was asked for: compare tensors, without a loop over lengths") from None
    except RuntimeError as error:
        if not meta:
            raise
        what = str(error).splitlines()[0][:90]
        way = "make every new tensor on the device of x, and read no number out of one"
        raise WrongAnswer(f"{META}this failed: {what}; {way}") from None
    if C is None or C is Ellipsis:
        return None
    if type(C) is not torch.Tensor:
        raise WrongAnswer(f"returned {kind_of(C)}, expected a tensor")
    for what, mine, wanted in (
        ("shape", tuple(C.shape), (B, 1, n, n)),
        ("dtype", C.dtype, given.dtype),
        ("device", str(C.device), str(given.device)),
    ):
        if mine != wanted:
            raise WrongAnswer(f"C has the {what} {mine}, and the {what} should be {wanted}")
    if meta:  # nothing to compare
        return torch.zeros(B, n, n, dtype=torch.bool), torch.zeros(B, n, n, dtype=torch.float64)
    finite = C[C.isfinite() & (C != 0)]
    if len(finite):
        raise WrongAnswer(f"C holds {finite[0].item():.3g}, and should hold 0 and −∞ alone")
    values = torch.eye(n, dtype=torch.float64).expand(B, 1, n, n)
    query = x[:, None].double()
    A = torch.nn.functional.scaled_dot_product_attention(query, query, values, attn_mask=C.double())
    return C[:, 0] == 0, A[:, 0]


def tokens(n):
    return lambda rng: {"n": n}


def mask_of(name, array, shape):
    if array.shape != shape:
        raise WrongAnswer(f"{name} has shape {array.shape}, expected {shape}")
    if array.dtype.kind not in "bi" or not ((array == 0) | (array == 1)).all():
        raise WrongAnswer(f"{name} has the dtype {array.dtype}, expected True and False")
    return array.astype(bool)


def hearing(inputs, arrays):
    """What a mask for two layers lets through that it should not, and what it does not."""
    n = inputs["n"]
    M = mask_of("M", arrays[0], (n, n))
    two = M.astype(float) @ M.astype(float) > 0
    return np.array(int(np.triu(M, 1).sum())), np.array(int((M.sum(axis=1) > 2 * np.sqrt(n)).sum())), np.array(
        int((causal(n) & ~two).sum())
    )


def left(lengths, n):
    return lambda rng: {"lengths": np.array(lengths), "n": n}


def some_left(B, n):
    return lambda rng: left(rng.integers(1, n, size=B).tolist(), n)(rng)


def packed(shortest, longest, count, w):
    return lambda rng: {"lengths": rng.integers(shortest, longest, size=count), "w": w}
