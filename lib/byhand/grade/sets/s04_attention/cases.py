"""Inputs of the cases, and what runs or measures an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, places_of_names

_svd, _isfinite = np.linalg.svd, np.isfinite  # bound now: an answer that patches numpy changes no verdict


def weights(S, axis=-1):
    """Softmax of scores that are already scaled and masked; used to make inputs."""
    E = np.exp(S - S.max(axis=axis, keepdims=True))
    return E / E.sum(axis=axis, keepdims=True)


def some_of_each(rng, n, m):
    """A mask in which every row has a True and a False."""
    mask = rng.random((n, m)) < 0.5
    for row in mask:
        row[rng.permutation(m)[:2]] = True, False
    return mask


def qkv(rng, n, m, d_k, d_v, lead=()):
    sizes = {"Q": (n, d_k), "K": (m, d_k), "V": (m, d_v)}
    return {name: rng.normal(size=(*lead, *size)) for name, size in sizes.items()}


def plain(rng):
    return qkv(rng, 3, 5, 4, 2)


def large(rng):
    inputs = qkv(rng, 3, 5, 4, 2)
    Q, K = inputs["Q"], inputs["K"]
    Q[0] *= 80 / np.sqrt(Q[0] @ Q[0])
    K[0] = Q[0]  # one score is 80²/2 = 3200, and exp(3200) is more than float64 can hold
    return inputs


def masked(rng):
    return {**qkv(rng, 4, 5, 3, 2), "mask": some_of_each(rng, 4, 5)}


def hidden_large(rng):
    inputs = large(rng)
    return {**inputs, "mask": np.arange(5) > np.zeros((3, 1))}  # nobody sees key 0, the one with the large score


def heads(rng):
    return {**qkv(rng, 4, 5, 3, 2, lead=(2, 6)), "mask": some_of_each(rng, 4, 5)}


def no_key_left(rng):
    mask = some_of_each(rng, 4, 5)
    mask[2] = False
    return {**qkv(rng, 4, 5, 3, 2), "mask": mask}


def padded_batch(rng):
    mask = np.arange(6) < np.array([6, 3])[:, None]  # two sequences, six keys and three
    return {**qkv(rng, 4, 6, 3, 2, lead=(2,)), "mask": mask[:, None, :]}


def softmax_inputs(*shape, masked=False):
    def make(rng):
        S = rng.normal(size=shape)
        if masked:
            S[..., 0, 1:3] = -np.inf
        A = weights(S)
        if masked:
            A[..., -1, :] = 0.0  # a row with no key left
        return {"dA": rng.normal(size=shape), "A": A}

    return make


def gradients(n, m, d_k, d_v, lead=(), masked=False):
    def make(rng):
        inputs = qkv(rng, n, m, d_k, d_v, lead)
        S = inputs["Q"] @ inputs["K"].mT / np.sqrt(d_k)
        if masked:
            S = np.where(some_of_each(rng, n, m), S, -np.inf)
        return {"dO": rng.normal(size=(*lead, n, d_v)), **inputs, "A": weights(S)}

    return make


def biases(n, d_k, d_v, masked_row=False):
    def make(rng):
        inputs = qkv(rng, n, n, d_k, d_v)
        Q, K, V = inputs.values()
        A = weights(Q @ K.T / np.sqrt(d_k))
        if masked_row:
            A[1] = 0.0
        dO = rng.normal(size=(n, d_v))
        dA = dO @ V.T
        dS = np.array([row @ (np.diag(a) - np.outer(a, a)) for row, a in zip(dA, A, strict=True)])
        return {"dO": dO, "dS": dS, "A": A, "Q": Q, "K": K}

    return make


def rank_wanted(n, d_k, r):
    return lambda rng: {"n": n, "d_k": d_k, "r": r}


RANK = ("rank", "shape_Q", "shape_K")


def measure_rank(inputs, arrays):
    """Shapes, and the number of singular values of Q Kᵀ that are not rounding."""
    Q, K = arrays
    if Q.ndim != 2 or K.ndim != 2 or Q.shape[1] != K.shape[1] or max(Q.shape + K.shape) > 100:
        raise WrongAnswer(f"Q has shape {Q.shape} and K {K.shape}: Q Kᵀ needs two small matrices of equal width")
    if "c" in (Q.dtype.kind, K.dtype.kind) or not (_isfinite(Q).all() and _isfinite(K).all()):
        raise WrongAnswer("Q or K is complex, or contains nan or inf")
    values = _svd(Q.astype(np.float64) @ K.astype(np.float64).T, compute_uv=False)
    return np.array(int((values > 1e-9 * values[0]).sum())), np.array(Q.shape), np.array(K.shape)


def moments(means):
    def make(rng):
        var_q, var_k = rng.uniform(0.3, 3, size=2).tolist()
        mean_q, mean_k = (rng.uniform(0.5, 2, size=2) * (1, -1)).tolist() if means else (0.0, 0.0)
        return {"d": int(rng.integers(5, 60)), "mean_q": mean_q, "var_q": var_q, "mean_k": mean_k, "var_k": var_k}

    return make


def unit_moments(rng):
    return {"d": 64, "mean_q": 0.0, "var_q": 1.0, "mean_k": 0.0, "var_k": 1.0}


NAMES = ("correct", "softmax over queries", "no scale", "divided by d_k", "divided by sqrt(d_model)")


def exhibits(n, m, d_k, d_model, innocent):
    """Attention weights of one Q and K, with a different fault each, in random order."""

    def make(rng):
        Q, K = rng.normal(size=(n, d_k)), rng.normal(size=(m, d_k))
        S = Q @ K.T
        right = [weights(S / np.sqrt(d_k))] if innocent else []
        faults = [
            weights(S / np.sqrt(d_k), axis=0),
            weights(S),
            weights(S / d_k),
            weights(S / np.sqrt(d_model)),
        ]
        A = np.stack([*right, *faults])
        return {"Q": Q, "K": K, "A": A[rng.permutation(len(A))], "d_model": d_model}

    return make


def call_diagnose(answer, inputs):
    Q, K, A, d_model = (inputs[x] for x in ("Q", "K", "A", "d_model"))
    return places_of_names(NAMES, "matrix", A, lambda A: answer(Q, K, A, d_model))


def additive(n, m, d_q, d_k, h, lead=()):
    def make(rng):
        return {
            "Q": rng.normal(size=(*lead, n, d_q)),
            "K": rng.normal(size=(*lead, m, d_k)),
            "W_q": rng.normal(size=(d_q, h)),
            "W_k": rng.normal(size=(d_k, h)),
            "w": rng.normal(size=h),
        }

    return make
