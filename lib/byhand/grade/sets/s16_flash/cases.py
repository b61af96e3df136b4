"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import math

import numpy as np

# 16.1


def layer(tokens, d_in, d_out, itemsize, peak=2e11, bandwidth=3e10):
    return lambda rng: {"tokens": tokens, "d_in": d_in, "d_out": d_out, "itemsize": itemsize, "peak": peak,
                        "bandwidth": bandwidth}


def some_layer(rng):
    return {"tokens": int(rng.integers(2, 3000)), "d_in": int(rng.integers(200, 900)),
            "d_out": int(rng.integers(1000, 3000)), "itemsize": int(rng.choice([2, 8])), "peak": 1e11,
            "bandwidth": 4e10}


# 16.2


def partials(n, m, d, lead=(), size=1.0, empty=False):
    """Two sets of m keys, read by n queries; `empty`: of some queries one set or the other was not read, or neither."""

    def make(rng):
        found = {}
        for name, shift in (("a", 0.0), ("b", 1.0)):
            S, V = size * (rng.normal(size=(*lead, n, m)) + shift), rng.normal(size=(*lead, m, d))
            top = S.max(axis=-1)
            E = np.exp(S - top[..., None])
            l, o = E.sum(axis=-1), E @ V
            if empty:
                nothing = np.zeros(top.shape, bool)
                nothing[..., ([0, 2] if name == "a" else [1, 2])] = True
                top[nothing], l[nothing], o[nothing] = -np.inf, 0, 0
            found |= {f"m_{name}": top, f"l_{name}": l, f"o_{name}": o}
        return found

    return make


# 16.3


def sequence(n, m, d, c, block, size=3.0):
    return lambda rng: {"Q": size * rng.normal(size=(n, d)), "K": size * rng.normal(size=(m, d)),
                        "V": rng.normal(size=(m, c)), "block": block}


# 16.4


def heads(H, G, n, m, d, c):
    def make(rng):
        Q, K, V = rng.normal(size=(H, n, d)), rng.normal(size=(G, m, d)), rng.normal(size=(G, m, c))
        S = Q @ np.repeat(K, H // G, axis=0).mT / math.sqrt(d)
        L = np.log(np.exp(S).sum(axis=-1))
        O = np.exp(S - L[..., None]) @ np.repeat(V, H // G, axis=0)
        return {"dO": rng.normal(size=O.shape), "Q": Q, "K": K, "V": V, "O": O, "L": L}

    return make


# 16.5


def model(layers, heads, groups, d_k, tokens, window, itemsize=2, budget=16 * 2**30):
    return lambda rng: {"layers": layers, "heads": heads, "groups": groups, "d_k": d_k, "tokens": tokens,
                        "window": window, "itemsize": itemsize, "budget": budget}


def some_model(rng):
    return model(int(rng.integers(8, 20)) * 2 + 1, 24, 8, 64, int(rng.integers(5000, 9000)), 1024, 4)(rng)


# 16.6


def features(n, d, c, before=0):
    def make(rng):
        K, V = rng.random((before, d)) + 0.1, rng.normal(size=(before, c))
        return {"Q": rng.random((n, d)) + 0.1, "K": rng.random((n, d)) + 0.1, "V": rng.normal(size=(n, c)),
                "R": K.T @ V, "z": K.sum(axis=0)}

    return make


# 16.7


def step(n, d, scale, max_norm, infinite=False):
    def make(rng):
        grads = (scale * 0.2 * rng.normal(size=(n, d))).astype(np.float16)
        if infinite:
            grads[1, 2] = np.inf
        return {"weights": rng.normal(size=(n, d)), "grads": grads, "scale": scale, "rate": 0.5,
                "max_norm": max_norm}

    return make


# 16.8


def padded(b, n, d, c, empty=False):
    def make(rng):
        mask = np.arange(n) < rng.permutation(np.arange(1, b + 1) * n // b)[:, None]
        if empty:
            mask[0] = False
        return {"W": rng.normal(size=(d, c)), "X": rng.normal(size=(b, n, d)), "Y": rng.normal(size=(b, n, c)),
                "mask": mask}

    return make


# 16.9


def runs(k, s, floor):
    def make(rng):
        N = 1000.0 * 2.5 ** np.arange(k)
        bits = floor + 20 * N[:, None] ** -rng.uniform(0.25, 0.4) * np.exp(0.1 * rng.normal(size=(k, s)))
        return {"N": N, "bits": bits, "floor": floor}

    return make


# 16.10

FAULTS = ("sound", "first call", "no synchronise", "noise")


def timings(names, r):
    """As many rows of seconds as there are names, in an order of chance; 10⁹ operations a call, a peak of 10¹¹."""

    def make(rng):
        rows = []
        for name in (names[i] for i in rng.permutation(len(names))):
            row = rng.uniform(0.030, 0.036, size=r)
            if name == "first call":
                row[0] *= rng.uniform(8, 20)
            if name == "no synchronise":
                row *= 0.01
                row[0] *= rng.uniform(1, 30)
            if name == "noise":
                row[1:] *= np.linspace(1, 2.8, r - 1)[rng.permutation(r - 1)]
            rows.append(row)
        return {"seconds": np.stack(rows), "flops": 1e9, "peak": 1e11}

    return make


def name_all(answer, inputs):
    from ...model import places_of_names

    found = places_of_names(FAULTS, "timing", list(inputs["seconds"]),
                            lambda row: answer(row, inputs["flops"], inputs["peak"]))
    return None if found is None else np.array(found)
