"""Inputs of the cases, and what runs or measures an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, places_of_names

_svd, _isfinite, _abs = np.linalg.svd, np.isfinite, np.abs  # bound now: an answer that patches numpy changes no verdict


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


def sinks(n, m, d_k, d_v, lead=(), masked=False):
    def make(rng):
        inputs = qkv(rng, n, m, d_k, d_v, lead)
        S = inputs["Q"] @ inputs["K"].mT / np.sqrt(d_k)
        if masked:
            mask = some_of_each(rng, n, m)
            mask[1] = False
            S = np.where(mask, S, -np.inf)
        b = np.full((*S.shape[:-1], 1), rng.uniform(0.5, 1.0))
        return {"dO": rng.normal(size=(*lead, n, d_v)), **inputs, "A": weights(np.concatenate([S, b], -1))[..., :-1]}

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
    Q, K = _pair(arrays)
    values = _svd(Q @ K.T, compute_uv=False)
    return np.array(int((values > 1e-9 * values[0]).sum())), np.array(Q.shape), np.array(K.shape)


def related(rho=None, fourth=None):
    def make(rng):
        some, other = float(rng.uniform(0.3, 0.8)), float(rng.uniform(1.2, 2.6))
        return {
            "d_k": int(rng.integers(5, 60)),
            "rho": some if rho is None else rho,
            "fourth": other if fourth is None else fourth,
        }

    return make


def opposite(rng):
    return {"d_k": 24, "rho": -float(rng.uniform(0.3, 0.8)), "fourth": float(rng.uniform(4, 6))}


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


def equal_keys(rng):
    """Keys that are all alike: the right weights are uniform, and their columns sum to one as well."""
    Q, K = rng.normal(size=(5, 3)), np.tile(rng.normal(size=3), (5, 1))
    return {"Q": Q, "K": K, "A": np.full((1, 5, 5), 1 / 5), "d_model": 24}


def call_diagnose(answer, inputs):
    Q, K, A, d_model = (inputs[x] for x in ("Q", "K", "A", "d_model"))
    return places_of_names(NAMES, "matrix", A, lambda A: answer(Q, K, A, d_model))


def cosines(n, m, d_k, lead=(), stretch=1.0):
    def make(rng):
        inputs = qkv(rng, n, m, d_k, 1, lead)
        return {
            "dS": rng.normal(size=(*lead, n, m)),
            "Q": inputs["Q"] * stretch,
            "K": inputs["K"],
            "T": float(rng.uniform(0.2, 0.6)),
        }

    return make


def weight(p=None):
    return lambda rng: {"p": float(rng.uniform(0.6, 0.95)) if p is None else p}


BLIND = ("numbers", "agree", "largest")


def measure_blind_test(inputs, arrays):
    """How many numbers Q and K have, whether the axes agree, and the largest weight over the keys."""
    Q, K = _pair(arrays)
    S = Q @ K.T / np.sqrt(Q.shape[1])
    over_keys, over_queries = weights(S), weights(S, axis=0)
    agree = bool(_abs(over_keys - over_queries).max() < 1e-9)
    return np.array(Q.size + K.size), np.array(agree), np.array(float(over_keys.max()))


def _pair(arrays):
    """Q and K as two small finite matrices whose product Q Kᵀ exists."""
    Q, K = arrays
    if Q.ndim != 2 or K.ndim != 2 or Q.shape[1] != K.shape[1] or max(Q.shape + K.shape) > 100 or not Q.size * K.size:
        raise WrongAnswer(f"Q has shape {Q.shape} and K {K.shape}: Q Kᵀ needs two small matrices of equal width")
    if "c" in (Q.dtype.kind, K.dtype.kind) or not (_isfinite(Q).all() and _isfinite(K).all()):
        raise WrongAnswer("Q or K is complex, or contains nan or inf")
    return Q.astype(np.float64), K.astype(np.float64)


CHANGES = ("all higher", "doubled", "forbidden", "twice")


def changes(change, m, j):
    return lambda rng: {"a": weights(rng.normal(size=m)), "change": change, "j": j}


def previous(n, p):
    return lambda rng: {"n": n, "p": p}


PREVIOUS = ("shape_Q", "shape_K", "looks_at")


def measure_previous(inputs, arrays):
    """Shapes, and where tokens 1, 2, … look; refused where they look there too weakly."""
    Q, K = _pair(arrays)
    n, p = inputs["n"], inputs["p"]
    if Q.shape != (n, 2) or K.shape != (n, 2):
        return np.array(Q.shape), np.array(K.shape), np.arange(n - 1)
    A = weights(Q @ K.T / np.sqrt(2))
    on_it = A[np.arange(1, n), np.arange(n - 1)]
    looks_at = A[1:].argmax(axis=-1)
    if np.array_equal(looks_at, np.arange(n - 1)) and not (on_it >= p - 1e-12).all():
        i = int(on_it.argmin()) + 1
        raise WrongAnswer(f"every token looks most at the one before it, but token {i} gives it only the weight "
                          f"{on_it[i - 1]:.{4 if p < 0.999 else 12}f}, expected at least {p:.12g}")
    return np.array(Q.shape), np.array(K.shape), looks_at


def torch_attention(n, m, d_k, d_v, lead=(), mask=()):
    """A mask with an empty row, of shape (*mask, n, m), beside inputs of shape (*lead, …)."""

    def make(rng):
        inputs = qkv(rng, n, m, d_k, d_v, lead)
        seen = np.broadcast_to(some_of_each(rng, n, m), (*mask, n, m)).copy()
        seen[..., 1, :] = False
        return {**inputs, "mask": seen, "dO": rng.normal(size=(*lead, n, d_v))}

    return make


def torch_one_mask(n, m, d_k, d_v):
    def make(rng):
        inputs = qkv(rng, n, m, d_k, d_v)
        return {**inputs, "mask": some_of_each(rng, n, m), "dO": rng.normal(size=(n, d_v))}

    return make


def through_autograd(answer, inputs):
    """The output, and the gradients that autograd finds behind it."""
    import torch

    Q, K, V = (inputs[x].clone().requires_grad_() for x in "QKV")
    O = answer(Q, K, V, inputs["mask"])  # itself: a change in place shows
    if O is None or O is Ellipsis:
        return None
    if not isinstance(O, torch.Tensor):
        raise WrongAnswer("O is no tensor: stay in PyTorch, so that autograd can go back through it")
    if not O.requires_grad:
        raise WrongAnswer("autograd finds no way back from O to Q, K and V: was it detached, or made under no_grad?")
    if O.shape != inputs["dO"].shape:
        return O, Q, K, V
    found = torch.autograd.grad(O, (Q, K, V), inputs["dO"], allow_unused=True)
    return O, *(torch.zeros_like(x) if dx is None else dx for x, dx in zip((Q, K, V), found, strict=True))


def score_rows(m, lead=(), beta=None):
    def make(rng):
        some = float(rng.uniform(0.6, 1.6))
        return {"S": rng.normal(size=(*lead, m)), "beta": some if beta is None else beta}

    return make


def sharp(rng):
    S = 1000.0 + rng.normal(size=(3, 5))
    S[1] -= 3000  # scores of either sign, and far from zero
    S[:, 4] -= 2000  # a key whose weight underflows to zero
    return {"S": S, "beta": 1.25}
