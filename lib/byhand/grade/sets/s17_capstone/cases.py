"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, places_of_names

NAMES = ("none", "labels", "mask", "wiring", "loss", "head", "last norm", "gelu", "norm 2", "attention")
PARTS = NAMES[4:]


def norm(n, d):
    def make(rng):
        return {"dY": rng.normal(size=(n, d)), "X": 2 * rng.normal(size=(n, d)), "g": rng.normal(0.5, 0.5, size=d)}

    return make


def grouped(B, H, G, n, k):
    def make(rng):
        return {name: rng.normal(size=(B, heads, n, k)) for name, heads in (("Q", H), ("K", G), ("V", G))}

    return make


def capped(n, m, k, v, c):
    def make(rng):
        sizes = {"dO": (n, v), "Q": (n, k), "K": (m, k), "V": (m, v)}
        return {name: 1.5 * rng.normal(size=size) for name, size in sizes.items()} | {"c": c}

    return make


def tied(n, V, d, repeats):
    def make(rng):
        ids = rng.permutation(V)[:n]
        if repeats:
            ids[-1] = ids[0]
            ids[n // 2] = ids[0]
        return {"dZ": rng.normal(size=(n, V)), "ids": ids, "E": rng.normal(size=(V, d))}

    return make


def padded(B, n, V, full=False, single=False, zeros=False):
    def make(rng):
        lengths = rng.permutation(np.arange(2, n))[:B]
        if full:
            lengths = np.full(B, n)
        elif single:
            lengths[0] = 1
        else:
            lengths[-1] = n
        if lengths.sum() == B * (n - 1):  # else two ways of counting would agree by chance
            lengths[0] = 2
        ids = rng.integers(1, V, size=(B, n))
        ids[np.arange(n) >= lengths[:, None]] = 0
        if zeros:  # the id 0 is a word like the others, and padding may be any id
            ids[np.arange(n) >= lengths[:, None]] = rng.integers(1, V)
            ids[lengths > 2, 2] = 0
        return {"logits": 2 * rng.normal(size=(B, n, V)), "ids": ids, "lengths": lengths}

    return make


def lion(n, d, decay):
    def make(rng):
        # Some entries where the running mean and the gradient disagree, so that the order of the two lines is seen.
        m = rng.normal(size=(n, d))
        g = -m * rng.choice([0.5, 4.0, 8.5, 8.7, 9.4, 12.0], size=(n, d))
        g[0, :3], g[1, :3] = (-8.6, -8.6, -0.05) * m[0, :3], (-4.0, -0.5, -12.0) * m[1, :3]
        m[1, 0], g[1, 0] = 0.05, -0.2  # so small that the sign of g in place of g would turn the direction
        if n > 2:
            m[-1, -1] = g[-1, -1] = 0  # has no sign, and nowhere to go
        return {"theta": rng.normal(size=(n, d)), "g": g, "m": m, "lr": 0.03, "decay": decay}

    return make


def call_lion(answer, inputs):
    """Two steps, the second with what the first one left."""
    theta, g, m, lr, decay = inputs.values()
    found = answer(theta, g, m, lr, decay)
    if found is None or found is Ellipsis:
        return None
    if type(found) not in (tuple, list) or len(found) != 2:
        raise WrongAnswer("return two arrays: the new theta and the new m")
    return [*found]


def pieces(n, cut, V, d, more):
    def make(rng):
        sizes = {"E": (V, d), "P": (n + more, d), "W_q": (d, d), "W_k": (d, d), "W_v": (d, d)}
        made = {name: rng.normal(size=size) / (d**0.5 if name[0] == "W" else 1) for name, size in sizes.items()}
        return {"ids": rng.integers(V, size=n), "cut": cut} | made

    return make


def draws(V, T, p, m, span):
    """Logits that reach from 0 to span: at any temperature tried the nucleus has several words, and leaves some out."""
    def make(rng):
        logits = rng.permutation(np.linspace(0, span, V)) + 0.02 * rng.normal(size=V)
        return {"logits": logits, "T": T, "p": p, "u": (rng.permutation(m) + rng.uniform(0.2, 0.8, size=m)) / m}

    return make


def exactly(m):
    """Chances of five, two and one eighths, in any order, at T = 2; p is five eighths.  A softmax gives these to the
    last bit in each of its forms, so that rounding decides nothing: less the maximum or not, with a quotient or as exp
    of a logarithm; a half and two quarters it does not."""
    def make(rng):
        return {"logits": rng.permutation(2 * np.log([5.0, 2.0, 1.0])), "T": 2.0, "p": 0.625,
                "u": (rng.permutation(m) + rng.uniform(0.2, 0.8, size=m)) / m}

    return make


def descent(N, d, V, parts):
    def make(rng):
        return {"W": rng.normal(size=(d, V)), "X": rng.normal(size=(N, d)), "y": rng.integers(V, size=N), "lr": 0.7,
                "parts": parts}

    return make


# ---------------------------------------------------------------- models to probe

MODELS = {
    "causal": "the past alone",
    "mask off by one": "one place ahead",
    "last to first": "the last token, at the first place only",
    "downwards": "the next place, which only lowers logits",
    "one token in V": "one word of the vocabulary, seen from two places before",
    "even places": "the next place, at even places",
    "inside": "the last but one, at the place before it",
    "mean of the batch": "the mean over the batch",
    "one text": "the third of four texts, in the second only",
    "both": "the future, and the batch",
    "faint": "the future, and the batch, a thousandth as much",
}


def a_model(kind, V, seed):
    """ids (B, n) -> logits (B, n, V), with what it may not see, if anything."""
    r = np.random.default_rng(seed)
    table, marks = r.normal(size=(V, V)), r.normal(size=(64, V))

    def model(ids):
        X = table[ids] + marks[: ids.shape[1]]
        n = ids.shape[1]
        Y = np.cumsum(X, axis=1) / np.arange(1, n + 1)[:, None]
        if kind in ("mask off by one", "both"):
            Y[:, :-1] += 0.1 * X[:, 1:]
        if kind == "faint":
            Y[:, :-1] += 1e-4 * X[:, 1:]
            Y = Y - 1e-4 * Y.mean(axis=0)
        if kind == "even places":
            Y[:, : n - 1 : 2] += 0.1 * (X - X.mean(axis=-1, keepdims=True))[:, 1::2]  # the sum of a row stays
        if kind == "inside":
            Y[:, -3] += 0.1 * X[:, -2]
        if kind == "last to first":
            Y[:, 0] += 0.1 * table[ids[:, -1]]
        if kind == "downwards":
            Y[:, :-1] -= 0.1 * (ids[:, 1:, None] > 0)
        if kind == "one token in V":
            Y[:, :-2] += 0.1 * (ids[:, 2:, None] == V - 1)
        if kind in ("mean of the batch", "both"):
            Y = Y - 0.1 * Y.mean(axis=0)
        if kind == "one text" and len(ids) > 2:  # neither the first nor the last of the texts is concerned
            Y[-3] += 0.1 * Y[-2].mean(axis=0)
        return Y

    return model


def probed(kind, B, n, V):
    def make(rng):
        ids = rng.integers(V // 2, size=(B, n))  # no rare word is among them, nor next to them
        if kind in ("downwards", "one token in V"):
            ids[:] = 0  # whatever comes lowers logits, and raises none; and the rare word is the last that is tried
        return {"ids": ids, "V": V, "kind": kind, "seed": int(rng.integers(10**6))}

    return make


def call_probe(answer, inputs):
    model = a_model(inputs["kind"], inputs["V"], inputs["seed"])
    calls = [0]

    def counted(ids):
        ids = np.array(ids)
        calls[0] += 1
        if calls[0] > 3000:
            raise WrongAnswer("the model was called more than 3000 times")
        if ids.shape[1:] != inputs["ids"].shape[1:] or ids.ndim != 2:
            raise WrongAnswer(f"the model was given ids of shape {ids.shape}; each text must keep its "
                              f"{inputs['ids'].shape[1]} tokens")
        if ids.size and not (0 <= ids.min() and ids.max() < inputs["V"]):
            raise WrongAnswer(f"the model was given the id {ids.max()}; they lie below V = {inputs['V']}")
        if ids.dtype.kind not in "iu":
            raise WrongAnswer("the model was given ids that are no whole numbers")
        return model(ids)

    found = answer(counted, inputs["ids"].copy(), inputs["V"])
    if found is None or found is Ellipsis:
        return None
    if type(found) not in (tuple, list) or len(found) != 2:
        raise WrongAnswer("return two numbers: how far later tokens move a place, and how far other sequences do")
    return [np.float64(x) if np.ndim(x) == 0 else x for x in found]


def seen(inputs, arrays):
    """For each of the two numbers, whether it says that something moves."""
    for x in arrays:
        if x.shape != () or not np.isfinite(x.astype(float)):
            raise WrongAnswer("return two finite numbers")
    return tuple(np.int64(abs(float(x)) > 1e-9) for x in arrays)


# ---------------------------------------------------------------- where a fault hides


def token(d, below=False):
    """below: the largest entry in size of the direction that np.linalg.svd finds is less than 0."""
    def make(rng):
        for _ in range(200):
            X, gamma = 2 * rng.normal(size=d), rng.normal(1.0, 0.6, size=d)
            N = (X - X.mean()) / np.sqrt(X.var() + 1e-5)
            dY = np.linalg.svd(np.stack([np.ones(d), N, gamma, gamma * N]))[2][-1]
            if not below or dY.max() < 0.9 * -dY.min():
                return {"X": X, "gamma": gamma}
        raise AssertionError("no such token in 200 draws")

    return make


def both_gradients(inputs, dY):
    X, gamma = inputs["X"], inputs["gamma"]
    C = X - X.mean()
    s = np.sqrt((C * C).mean() + 1e-5)
    N = C / s

    def back(G):
        return (G - G.mean() - N * (G * N).mean()) / s

    return back(gamma * dY), gamma * back(dY)


MEANS = ("dY", "dY ∘ x̂", "γ ∘ dY", "γ ∘ dY ∘ x̂")


def vanishing(inputs, dY):
    """The means that vanish, where some do and some do not; none for a dY that is one of the rows, or made of one."""
    C, g = inputs["X"] - inputs["X"].mean(), inputs["gamma"]
    N = C / np.sqrt((C * C).mean() + 1e-5)
    rows = np.stack([np.ones_like(g), N, g, g * N])
    simple = np.stack([*rows, 1 / g, N / g])
    size = np.linalg.norm(dY)
    if size == 0 or np.count_nonzero(dY) < len(dY) - 1:
        return []
    if (np.abs(simple @ dY) > (1 - 1e-9) * np.linalg.norm(simple, axis=1) * size).any():
        return []
    gone = np.flatnonzero(np.abs(rows @ dY) < 1e-9 * np.linalg.norm(rows, axis=1) * size)
    return [MEANS[i] for i in gone] if len(gone) < 4 else []


def hidden_fault(inputs, arrays):
    """The gap of the two gradients, the size of dY, and whether anything goes back at all."""
    (dY,) = arrays
    if dY.shape != inputs["X"].shape:
        raise WrongAnswer(f"dY has shape {dY.shape}, expected {inputs['X'].shape}")
    dY = dY.astype(float)
    if not np.isfinite(dY).all():
        raise WrongAnswer("dY contains nan or inf")
    if some := vanishing(inputs, dY):
        raise WrongAnswer(f"of the four means only {'that' if len(some) == 1 else 'those'} of {', '.join(some)} "
                          f"{'vanishes' if len(some) == 1 else 'vanish'}")
    right, wrong = both_gradients(inputs, dY)
    return np.abs(right - wrong).max(), np.abs(dY).max(), np.int64(np.abs(right).max() > 1e-3)


# ---------------------------------------------------------------- records


def records(names, rounds):
    """Numbers of checks, as each fault makes them."""
    def make(rng):
        made = {"slopes": [], "gap": [], "leak": [], "loss": [], "floor": []}
        seen = dict.fromkeys(names, 0)
        for name in rng.permutation(list(names) * rounds):
            seen[name] += 1
            slopes, gap, leak = 10 ** rng.uniform(-10, -6.5, size=6), 10 ** rng.uniform(-15, -11), 0.0
            floor = float(rng.uniform(1.0, 2.0))
            loss = floor + rng.uniform(0.3, 1.5)
            if name in PARTS:
                k = PARTS.index(name)
                slopes[k:] = 10 ** rng.uniform(-3.5, 0, size=6 - k)
                slopes[k] = 10 ** rng.uniform(-3.9, -2.5)  # the first one need not be the worst
            if name in ("mask", "wiring"):
                gap = float(rng.uniform(2, 3))
            if name == "mask":
                leak, loss = float(rng.uniform(0.5, 1)), 0.3 * floor
            if name == "labels":
                loss = 0.3 * floor
            if name in ("mask", "wiring") and seen[name] == 3:  # a way back that does not know of it
                k = rng.integers(len(PARTS))
                slopes[k:] = 10 ** rng.uniform(-3.5, 0, size=6 - k)
            if seen[name] == 2:  # near to the bounds, and a leak of which the loss shows nothing
                leak = 1.5e-4 if name == "mask" else leak
                gap = 1.5e-4 if name in ("mask", "wiring") else gap
                loss = {"mask": 1.3, "labels": 0.98, "none": 1.02}.get(name, loss / floor) * floor
            for key, x in zip(made, (slopes, gap, leak, loss, floor), strict=True):
                made[key].append(x)
        return {key: np.array(x) for key, x in made.items()}

    return make


def call_names(answer, inputs):
    rows = list(zip(*inputs.values(), strict=True))
    return places_of_names(NAMES, "record", rows, lambda row: answer(row[0].copy(), *map(float, row[1:])))
