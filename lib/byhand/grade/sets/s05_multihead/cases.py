"""Inputs of the cases, and what runs or measures an answer where a plain call is not enough."""

import numpy as np

from ...model import places_of_names


def softmax(S):
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def split(X, H):
    """(*B, n, H k) -> (*B, H, n, k)."""
    return np.swapaxes(X.reshape(*X.shape[:-1], H, X.shape[-1] // H), -3, -2)


def merge(Z):
    """(*B, H, n, k) -> (*B, n, H k)."""
    Z = np.swapaxes(Z, -3, -2)
    return Z.reshape(*Z.shape[:-2], Z.shape[-2] * Z.shape[-1])


def sizes(n, H):
    return lambda rng: {"n": n, "H": H}


def weights(rng, d, d_m, H, d_k, d_v, d_o):
    shapes = {"W_q": (d, H * d_k), "W_k": (d_m, H * d_k), "W_v": (d_m, H * d_v), "W_o": (H * d_v, d_o)}
    return {name: rng.normal(size=shape) / np.sqrt(shape[0]) for name, shape in shapes.items()}


def some_of_each(rng, *shape):
    """A mask in which every row has a True and a False."""
    mask = rng.random(shape) < 0.5
    mask[..., 0], mask[..., -1] = True, False
    return mask


def layer(n, m, d, d_m, H, d_k, d_v, d_o, lead=(), mask=None):
    def make(rng):
        inputs = {"X": rng.normal(size=(*lead, n, d)), "M": rng.normal(size=(*lead, m, d_m))}
        inputs |= weights(rng, d, d_m, H, d_k, d_v, d_o) | {"H": H}
        if mask is not None:
            inputs["mask"] = some_of_each(rng, *mask, n, m)
        return inputs

    return make


def forward(X, M, W_q, W_k, W_v, W_o, H):
    """Used to make inputs."""
    Q, K, V = split(X @ W_q, H), split(M @ W_k, H), split(M @ W_v, H)
    A = softmax(Q @ K.mT / np.sqrt(Q.shape[-1]))
    return merge(A @ V) @ W_o, A


def gradients(n, m, d, d_m, H, d_k, d_v, d_o, lead=()):
    def make(rng):
        inputs = layer(n, m, d, d_m, H, d_k, d_v, d_o, lead)(rng)
        _, A = forward(**inputs)
        inputs.pop("H")
        return {"dO": rng.normal(size=(*lead, n, d_o)), **inputs, "A": A}

    return make


def maps(d, H, d_k, d_v, d_o):
    return lambda rng: weights(rng, d, d, H, d_k, d_v, d_o) | {"H": H}


def counts(d, H, d_k, d_v):
    return lambda rng: {"d": d, "H": H, "d_k": d_k, "d_v": d_v}


def any_counts(rng):
    d = int(rng.integers(20, 40))
    return {"d": d, "H": int(rng.integers(3, 9)), "d_k": int(rng.integers(2, 9)), "d_v": int(rng.integers(9, 17))}


NAMES = ("correct", "merged without transpose", "one projection for all", "keys and values swapped",
         "queries from memory")


def exhibits(n, d, H, innocent):
    """Outputs of one layer, with a different fault each, in random order."""

    def make(rng):
        X, M = rng.normal(size=(n, d)), rng.normal(size=(n, d))
        W = weights(rng, d, d, H, d // H, d // H, d)
        k, (O, A) = d // H, forward(X, M, **W, H=H)
        first = {name: W[name] if name == "W_o" else np.tile(W[name][:, :k], H) for name in W}
        faults = [
            (A @ split(M @ W["W_v"], H)).reshape(n, d) @ W["W_o"],
            forward(X, M, **first, H=H)[0],
            forward(X, M, W["W_q"], W["W_v"], W["W_k"], W["W_o"], H)[0],
            forward(M, X, **W, H=H)[0],
        ]
        O = np.stack([*([O] if innocent else []), *faults])
        return {"X": X, "M": M, **W, "H": H, "O": O[rng.permutation(len(O))]}

    return make


def call_diagnose(answer, inputs):
    layer = [inputs[x] for x in ("X", "M", "W_q", "W_k", "W_v", "W_o", "H")]
    return places_of_names(NAMES, "output", inputs["O"], lambda O: answer(*layer, O))


def pruned(d, H, d_k, d_v, d_o, keep):
    return lambda rng: weights(rng, d, d, H, d_k, d_v, d_o) | {"H": H, "keep": list(keep)}


def shared(H, G, m, k, lead=()):
    return lambda rng: {"dK": rng.normal(size=(*lead, H, m, k)), "G": G}
