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


def one_token(rng):
    return some_layer(rng) | {"tokens": 1}


# 16.2


def partials(n, m, d, lead=(), great=False, empty=False):
    """Two sets of m keys, read by n queries; `great`: scores near ±900, of two queries far apart in the two sets;
    `empty`: of some queries one set or the other was not read, or neither."""

    def make(rng):
        found, far = {}, rng.uniform(800, 1000, size=n) * np.where(np.arange(n) % 2, -1, 1)
        for name, shift in (("a", 0.0), ("b", 1.0)):
            S, V = rng.normal(size=(*lead, n, m)) + shift - 4 * empty, rng.normal(size=(*lead, m, d))
            if great:
                S = S + far[:, None]
                far[:2] = -far[:2]
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


def where_read(inputs, arrays):
    """m of a query that has read nothing is the learner's affair: 0 in its place."""
    m, l, o = arrays
    nothing = (inputs["m_a"] == -np.inf) & (inputs["m_b"] == -np.inf)
    return (np.where(nothing, 0.0, m) if m.shape == nothing.shape and m.dtype.kind == "f" else m), l, o


# 16.3


def sequence(n, m, d, c, block, size=3.0, far=0.0):
    """`far`: of the first two queries all scores lie far above 0, and far below; of the next two they fall from tile
    to tile, and rise."""

    def make(rng):
        Q, K, V = size * rng.normal(size=(n, d)), size * rng.normal(size=(m, d)), rng.normal(size=(m, c))
        if far:
            K[:, 0] = np.sqrt(far) * rng.uniform(1.0, 1.5, size=m)
            K[:, 1] = np.sqrt(far) * np.linspace(1, -1, m)
            Q[:4] /= size
            Q[:2, 0] = Q[2:4, 1] = np.array([2, -2]) * np.sqrt(far * d)
        return {"Q": Q, "K": K, "V": V, "block": block}

    return make


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


def some_short_text(rng):
    return some_model(rng) | {"tokens": int(rng.integers(300, 900))}


# 16.6


def features(n, d, c, before=0):
    def make(rng):
        K, V = rng.random((before, d)) + 0.1, rng.normal(size=(before, c))
        return {"Q": rng.random((n, d)) + 0.1, "K": rng.random((n, d)) + 0.1, "V": rng.normal(size=(n, c)),
                "R": K.T @ V, "z": K.sum(axis=0)}

    return make


# 16.7


def step(n, d, scale, max_norm, bad=None, size=0.2, weights=1.0):
    """Gradients of about `size`, times the scale; `bad` is an entry that is not finite."""

    def make(rng):
        grads = (scale * size * rng.normal(size=(n, d))).astype(np.float16)
        if bad is not None:
            grads[1, 2] = bad
        return {"weights": weights * rng.normal(size=(n, d)), "grads": grads, "scale": scale, "rate": 0.5,
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
        N = (1000.0 * np.cumprod(rng.uniform(1.7, 3.5, size=k))).round()
        bits = floor + 20 * N[:, None] ** -rng.uniform(0.25, 0.4) * np.exp(0.1 * rng.normal(size=(k, s)))
        return {"N": N, "bits": bits, "floor": floor}

    return make


# 16.10

FAULTS = ("sound", "first call", "no synchronise", "noise")
FLOPS, PEAK = 2.0**30, 2.0**37
LEAST = FLOPS / PEAK  # seconds that a call takes at the peak, without rounding


def _row(rng, kind, r):
    """Timings of r calls: a fault alone, two of them, or a row that is close to the bound of one."""
    rest = LEAST * rng.uniform(4.0, 4.8, size=r - 1)  # sound
    first = rest.mean() * rng.uniform(0.95, 1.05)
    cut = (r - 1) // 2
    if kind in ("first call", "synchronise and first"):
        first = rest.mean() * rng.uniform(8, 20)
    if kind in ("no synchronise", "synchronise and first"):
        rest, first = 0.01 * rest, 0.01 * first
    if kind in ("noise", "noise and first"):
        rest = rest[0] * np.linspace(1, 2.8, r - 1)
        first = np.median(rest) * (rng.uniform(5, 6) if "first" in kind else 1.3)
    if kind == "synchronise and noise":
        rest = LEAST * np.linspace(0.3, 1.2, r - 1)
        first = rest[0]
    if kind == "first twice as long":
        first = np.median(rest) * rng.uniform(2.4, 2.9)
    if kind == "two speeds, first":  # more than three times the median of the others, and less than that of all
        rest = LEAST * np.where(np.arange(r - 1) < r // 2, 4.0, 7.4) * rng.uniform(0.99, 1.01, size=r - 1)
        first = np.median(rest) * 3.2
    if kind == "two speeds, fast":  # the median of the others is above the peak, that of all is not
        slow = 1.2 if r % 2 else 1.38
        rest = LEAST * np.where(np.arange(r - 1) < r // 2, 0.7, slow) * rng.uniform(0.99, 1.01, size=r - 1)
        first = 1.6 * LEAST
    if kind == "two speeds, sound":  # with an even number of others, the lower of the middle two is above the peak
        rest = LEAST * np.where(np.arange(r - 1) < r // 2, 0.8, 1.4) * rng.uniform(0.99, 1.01, size=r - 1)
        first = 1.2 * LEAST
    if kind == "wide, sound":  # the first is more than three times the shortest, the longest 1.9 times
        rest = LEAST * np.linspace(3.0, 5.7, r - 1)
        first = np.median(rest) * 2.5
    if kind == "wide on both sides":  # more than twice the shortest, less than twice the median
        rest = LEAST * np.linspace(3.0, 6.6, r - 1)
        first = rest[0]
    if kind == "one straggler, fast":  # the mean is below the peak, the median above
        rest = LEAST * rng.uniform(0.7, 0.9, size=r - 1)
        rest[cut], first = 5 * LEAST, LEAST
    if kind == "one straggler, first":  # more than three times the median, less than three times the mean
        rest[:] = rest[0]
        rest[cut] = 1.9 * rest[0]
        first = 3.05 * rest[0]
    if kind in ("one straggler, noise", "a long straggler, noise"):
        rest[cut] = (2.6 if "one" in kind else 3.5) * np.median(rest)
    if kind == "wide, noise":  # longest minus shortest is more than the median
        rest = LEAST * np.linspace(2.5, 8.5, r - 1)
        first = rest[0]
    if kind == "wide, first":  # more than three times median and mean, less than three times the longest
        rest = LEAST * np.linspace(5.7, 3.0, r - 1)
        first = np.median(rest) * 3.5
    if kind in ("one fast", "one very fast"):  # one call faster than the peak; so is the mean of the rates, or not
        rest[cut] = (0.1 if "very" in kind else 0.5) * LEAST
    if kind == "at the peak":
        rest[:], first = LEAST, 2 * LEAST
    if kind == "three times":
        rest[:], first = 4 * LEAST, 12 * LEAST
    if kind == "twice":
        rest[:], first = 4 * LEAST, 4 * LEAST
        rest[cut] = 8 * LEAST
    if kind == "two speeds, fast":
        rest = rest[::-1]
    # the middle call in time is a straggler, the fast one, and of two speeds one of the fast
    ordered = kind in ("wide, first", "wide, sound", "one straggler, fast", "one fast", "two speeds, fast")
    return np.array([first, *(rest if ordered else rng.permutation(rest))])


CLOSE = ("first twice as long", "two speeds, first", "two speeds, fast", "two speeds, sound",
         "wide, sound", "wide on both sides",
         "one straggler, fast", "one straggler, first", "one straggler, noise",
         "a long straggler, noise", "wide, noise", "wide, first",
         "one fast", "one very fast", "at the peak", "three times", "twice",
         "synchronise and first", "synchronise and noise", "noise and first")


def timings(kinds, r):
    """As many rows of seconds as there are kinds, in an order of chance."""

    def make(rng):
        rows = [_row(rng, kinds[i], r) for i in rng.permutation(len(kinds))]
        return {"seconds": np.stack(rows), "flops": FLOPS, "peak": PEAK}

    return make


def name_all(answer, inputs):
    from ...model import places_of_names

    found = places_of_names(FAULTS, "timing", list(inputs["seconds"]),
                            lambda row: answer(row, inputs["flops"], inputs["peak"]))
    return None if found is None else np.array(found)


# 16.11


def decoder(n, d, heads, groups, d_ff, layers, vocab, causal):
    return lambda rng: {"n": n, "d": d, "heads": heads, "groups": groups, "d_ff": d_ff, "layers": layers,
                        "vocab": vocab, "causal": causal}


def some_decoder(causal, shared=True):
    def make(rng):
        groups = int(rng.integers(2, 4))
        heads = groups * int(rng.integers(2, 5))
        groups = groups if shared else heads
        d = heads * int(rng.choice([8, 12, 20]))
        return decoder(int(rng.integers(300, 900)), d, heads, groups, 2 * d + int(rng.integers(1, d)),
                       int(rng.integers(4, 10)), int(rng.integers(2000, 9000)), causal)(rng)

    return make
