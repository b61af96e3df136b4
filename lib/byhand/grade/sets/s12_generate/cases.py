"""Inputs of the cases, and what runs or measures an answer where a plain call is not enough."""

import math

import numpy as np

from ...model import WrongAnswer, places_of_names

# ---------------------------------------------------------------- 12.1

LONG = ("thes", "rest", "eres")  # pieces that are long and rare: the longest is not the likeliest
PIECES = ("t", "h", "e", "r", "s", "w", " ", "th", "he", "er", "re", "st", "es", "the", "her", *LONG)
WORD, SENTENCE = "wherest", "there were three trees where these rest"


def spelling(text):
    def make(rng):
        weight = np.array([rng.uniform(1e-6, 1e-5) if piece in LONG else rng.uniform(0.3, 3) for piece in PIECES])
        order = rng.permutation(len(PIECES))
        return {"pieces": [PIECES[i] for i in order], "p": (weight / weight.sum())[order], "text": text}

    return make


# ---------------------------------------------------------------- 12.2


def counted(T, V, h, ends=False, new=False):
    """A text of few words with habits; the history has been seen, or ends the text, or is new in part."""

    def text_and_history(rng):
        follow = rng.dirichlet(np.full(V - 1, 1.2), size=V - 1)
        ids = [0, 1]
        while len(ids) < T:
            ids.append(int(rng.choice(V - 1, p=follow[ids[-1]])))  # the last word never comes
        ids = np.array([*ids[:-1], 2])  # another word than the first
        places = np.arange(h, T - 1)
        at = T if ends else int(rng.choice(places[places > T // 4]))
        history = ids[at - h : at].copy()
        if new:
            history[0] = V - 1
        return ids, history

    def make(rng):
        ids, history = text_and_history(rng)
        while h == 1 and not _some_came_once(ids, history):
            ids, history = text_and_history(rng)
        return {"ids": ids, "V": V, "history": history, "d": round(float(rng.uniform(0.3, 0.9)), 2)}

    return make


def _some_came_once(ids, history):
    """Of the words that followed, at least two came once, and others more often."""
    counts = np.bincount(ids[1:][ids[:-1] == history[0]])
    return 2 <= (counts == 1).sum() < (counts > 0).sum()


# ---------------------------------------------------------------- 12.3


def text(T, n, stride):
    return lambda rng: {"ids": 1 + rng.permutation(3 * T)[:T], "n": n, "stride": stride}


# ---------------------------------------------------------------- 12.4


def draws(shape, low=0.4, high=2.5, scale=1.5, gone=0):
    """Logits, and a temperature that is not 1; `gone` words of each row were taken away by a filter."""

    def make(rng):
        logits = scale * rng.normal(size=shape)
        for row in logits.reshape(-1, shape[-1]) if gone else ():
            row[rng.permutation(shape[-1])[:gone]] = -np.inf
        return {"logits": logits, "T": round(float(rng.uniform(low, high)), 2)}

    return make


def far_from_zero(rng):
    """Logits that are all near some thousand: only their differences matter."""
    z = draws((4, 7))(rng)
    return z | {"logits": z["logits"] + rng.uniform(6000, 9000, size=(4, 1)).round()}


# ---------------------------------------------------------------- 12.5


def wishes(B, V, greedy=0, whole=0, tied=False, scale=1.5):
    """Rows with temperatures and masses of their own; first some that want the likeliest word, then some that keep
    all words.  No mass is met within rounding."""

    def make(rng):
        logits = scale * rng.normal(size=(B, V))
        T = np.round(rng.uniform(0.5, 2.5, size=B), 2)
        T[:greedy] = 0.0
        largest = softmax(logits / np.where(T > 0, T, 1.0)[:, None]).max(axis=1)
        p = largest + (1 - largest) * rng.uniform(0.2, 0.8, size=B)
        p[greedy : greedy + whole] = 1.0
        p[-1] = largest[-1] * rng.uniform(0.5, 0.9)  # the first word alone has more than that
        if tied:  # the words that tie for the last place of the nucleus
            logits, T = np.zeros((B, V)), np.full(B, 0.7)
            for row in logits:
                row[rng.permutation(V)[:3]] = 1.0
            p = rng.uniform(0.36, 0.6, size=B)
        return {"logits": logits, "T": T, "p": p, "u": rng.uniform(0.02, 0.98, size=B)}

    return make


def nearly_equal(rng):
    """Rows with T = 0 in which the likeliest word leads by very little, and is not the first of the two; and one in
    which two words lead, of which the first is meant."""
    logits, T = rng.normal(size=(5, 8)), np.round(rng.uniform(0.5, 2.5, size=5), 2)
    for row, gap in zip(logits, (1e-3, 1e-6, 0.0), strict=False):
        first, second = np.sort(rng.permutation(8)[:2])
        row[first] = round(row.max() + 1.0, 1)
        row[second] = row[first] + gap
    T[:3], u = 0.0, rng.uniform(0.02, 0.98, size=5)
    u[2] = rng.uniform(0.6, 0.98)  # the draw that would take the second of two equal words
    return {"logits": logits, "T": T, "p": rng.uniform(0.9, 0.97, size=5), "u": u}


def just_reached(rng):
    """Four equal words: their probabilities have no rounding, and p is the mass of one, two or three of them."""
    p = rng.permutation([0.25, 0.25, 0.5, 0.5, 0.75, 0.75])
    return {"logits": np.zeros((6, 4)), "T": np.round(rng.uniform(0.5, 2.5, size=6), 2), "p": p,
            "u": rng.uniform(0.02, 0.98, size=6)}


def smallest_draw(rng):
    """Draws u = 0, in rows whose first words were left out of the nucleus and in one whose first word is in it."""
    logits = rng.normal(size=(6, 8))
    for row in logits[:4]:
        row[int(rng.integers(2, 8))] = row.max() + 4.0
    logits[5, 0] = logits[5].max() + 1.0
    return {"logits": logits, "T": np.round(rng.uniform(0.5, 1.0, size=6), 2),
            "p": np.round(rng.uniform(0.2, 0.6, size=6), 2),
            "u": np.array([0.0, 0.0, 0.0, *rng.uniform(0.02, 0.98, size=2), 0.0])}


# ---------------------------------------------------------------- 12.6

NAMES = ("temperature", "top-k", "top-p", "top-p first", "crossing word lost", "softmax twice")


def softmax(z):
    E = np.exp(z - z.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def keep(P, test):
    """The words of each row that pass, scaled to sum to one; test takes (rank, mass before, mass with the word)."""
    order = np.argsort(-P, axis=-1, kind="stable")
    rank = np.argsort(order, axis=-1)
    mass = np.cumsum(np.take_along_axis(P, order, axis=-1), axis=-1)
    with_it = np.take_along_axis(mass, rank, axis=-1)
    kept = np.where(test(rank, with_it - P, with_it), P, 0.0)
    return kept / kept.sum(axis=-1, keepdims=True)


def law(name, logits, T, k, p):
    """The probabilities from which a program of this name draws."""
    P = softmax(logits / T)
    if name == "top-k":
        return keep(P, lambda rank, before, with_it: rank < k)
    if name == "top-p":
        return keep(P, lambda rank, before, with_it: before < p)
    if name == "top-p first":
        first = keep(softmax(logits), lambda rank, before, with_it: before < p)
        return np.where(first > 0, P, 0) / np.where(first > 0, P, 0).sum(axis=-1, keepdims=True)
    if name == "crossing word lost":
        return keep(P, lambda rank, before, with_it: (with_it < p) | (rank == 0))
    return softmax(softmax(logits) / T) if name == "softmax twice" else P


def exhibits(m, V, draws, faults, between=(1.4, 1.9)):
    """Counts of several programs, in random order; logits for which no two of them agree."""

    def make(rng):
        while True:
            logits = 1.5 * rng.normal(size=(m, V))
            logits[-1, 0] = logits[-1].max() + 6.0  # there one word has more than p
            T, k, p = round(float(rng.uniform(*between)), 2), int(V // 2), round(float(rng.uniform(0.7, 0.85)), 2)
            laws = np.array([law(name, logits, T, k, p) for name in NAMES])
            if min(_apart(laws[i], laws[j]) for i in range(len(NAMES)) for j in range(i)) > 0.5:
                break
        order = rng.permutation(len(faults))
        rows = [law(faults[i], logits, T, k, p) for i in order]
        counts = np.stack([np.stack([rng.multinomial(draws, P) for P in row]) for row in rows])
        return {"logits": logits, "counts": counts, "T": T, "k": k, "p": p}

    return make


def few_draws(m, V, draws):
    """Counts so small that distances between shares and probabilities mislead, and likelihoods do not."""

    def make(rng):
        while True:
            inputs = exhibits(m, V, draws, NAMES, (1.6, 2.2))(rng)
            laws = np.array([law(name, *(inputs[x] for x in ("logits", "T", "k", "p"))) for name in NAMES])
            with np.errstate(divide="ignore"):
                logs = np.maximum(np.log(laws), -1e6)
            fit = np.sort(np.einsum("emv,nmv->en", inputs["counts"], logs))
            truth = np.einsum("emv,nmv->en", inputs["counts"], logs).argmax(axis=1)
            if sorted(truth) != list(range(len(NAMES))) or (fit[:, -1] - fit[:, -2]).min() < 3:
                continue
            named = [[min(range(len(NAMES)), key=lambda n: gap(counts, laws[n])) for counts in inputs["counts"]]
                     for gap in GAPS.values()]
            wrong = {tuple(names) for names in named}
            if tuple(truth) not in wrong and len(wrong) == len(GAPS):
                return inputs

    return make


def _shares(counts):
    return counts / counts.sum(axis=-1, keepdims=True)


GAPS = {
    "largest word": lambda counts, P: float(np.abs(np.where(P == P.max(axis=-1, keepdims=True),
                                                            _shares(counts) - P, 0)).sum()),
    "largest gap": lambda counts, P: float(np.abs(_shares(counts) - P).max()),
    "gaps": lambda counts, P: float(np.abs(_shares(counts) - P).sum()),
    "squares": lambda counts, P: float(((_shares(counts) - P) ** 2).sum()),
}


def _apart(P, Q):
    """The largest share of draws, over the places, by which two laws differ."""
    return float(np.abs(P - Q).sum())


def call_draw(answer, inputs):
    """The words and their probabilities; −1 for all words where they change although the draws u do not."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        found = answer(*inputs.values())
        if not isinstance(found, tuple | list) or len(found) != 2 or not isinstance(found[0], torch.Tensor):
            return found
        for seed in range(2, 5):
            torch.default_generator.manual_seed(seed)
            again = answer(*(x.clone() for x in inputs.values()))
            if again[0].shape == found[0].shape and (again[0] != found[0]).any():
                return torch.full_like(found[0], -1), found[1]
    return found


def call_names(answer, inputs):
    rest = inputs["T"], inputs["k"], inputs["p"]
    return places_of_names(NAMES, "exhibit", inputs["counts"], lambda counts: answer(inputs["logits"], counts, *rest))


# ---------------------------------------------------------------- 12.7


def cached(B, G, m, k, v, d, share, padded=True, large=9.0):
    """A cache of m columns; what stands in padding is large and means nothing."""

    def make(rng):
        start = rng.integers(m, size=B) if padded else np.zeros(B, dtype=np.int64)
        if padded:
            start[0], start[1 + rng.permutation(B - 1)[:2]] = rng.integers(2, m - 1), (1, m - 1)
        K, V = rng.normal(size=(B, G, m, k)), rng.normal(size=(B, G, m, v))
        for b in range(B):
            K[b, :, : start[b]] *= large
            V[b, :, : start[b]] += 7.0
        H = G * share
        weights = {"W_q": (d, H * k), "W_k": (d, G * k), "W_v": (d, G * v), "W_o": (H * v, d)}
        return {"x": rng.normal(size=(B, d)), "K": K, "V": V, "start": start,
                **{name: rng.normal(size=size) / math.sqrt(size[0]) for name, size in weights.items()}, "base": 100.0}

    return make


# ---------------------------------------------------------------- 12.8


def served(L, full, w, H, G, d_k, size, B, n, s, P=0):
    """The parameters are such that the cache becomes as large when it is longer than a window, at no whole length."""

    def make(rng):
        longer = w + int(rng.integers(50, 400))
        parameters = P or 2 * G * d_k * B * (full * longer + (L - full) * w) + int(rng.integers(1, G * d_k * B))
        return {"P": parameters, "L": L, "full": full, "w": w, "H": H, "G": G, "d_k": d_k, "size": size, "B": B,
                "n": n, "s": s}

    return make


def some_service(rng):
    G, share, full = (int(rng.integers(2, 7)) for _ in range(3))
    L, w = full + int(rng.integers(3, 12)), int(rng.integers(60, 200))
    return served(L, full, w, G * share, G, 16 * int(rng.integers(1, 5)), 2, int(rng.integers(2, 9)),
                  w - int(rng.integers(5, 30)), int(rng.integers(40, 90)))(rng)


# ---------------------------------------------------------------- 12.9


def two_models(V, g, near=1.0, equal=False):
    def make(rng):
        z = 1.5 * rng.normal(size=V)
        p, q = softmax(z), softmax(z + near * rng.normal(size=V))
        p = (1 + rng.multinomial(64 - V, p)) / 64 if equal else p  # sums to one without rounding
        return {"p": p, "q": p.copy() if equal else q, "g": g}

    return make


# ---------------------------------------------------------------- 12.10


def blocks(L):
    return lambda rng: {"L": L}


def stack(masks, X, weights, cached):
    """The rows that come out of each block, (L, n, d), and the last row's output after every token, (n, d): with a
    cache, or over the whole text anew."""
    n, out = len(X), []
    kept = np.zeros((len(masks) + 1, *X.shape))
    for t in range(n):
        fresh = slice(t, t + 1) if cached else slice(0, t + 1)  # the rows that are computed now
        kept[0, fresh] = X[fresh]
        for i, (mask, W) in enumerate(zip(masks, weights, strict=True)):
            kept[i + 1, fresh] = kept[i, fresh] + _attend(kept[i, fresh], kept[i, : t + 1], mask[fresh, : t + 1], W)
        out.append(kept[-1, t].copy())
    return kept[1:], np.array(out)


def _attend(rows, read, mask, W):
    S = np.where(mask, rows @ W[0] @ read.T / math.sqrt(len(W[0])), -np.inf)
    return softmax(S) @ read @ W[1]


def staleness(inputs, arrays):
    """How many tokens; is the cache wrong without each of the blocks, and with all of them; and after each block, the
    last row of which the cache holds something else than a new pass over the whole text."""
    (masks,), L = arrays, inputs["L"]
    if masks.ndim != 3 or masks.shape[0] != L or masks.shape[1] != masks.shape[2]:
        raise WrongAnswer(f"masks has shape {masks.shape}, expected ({L}, n, n)")
    n = masks.shape[1]
    if not 1 <= n <= 12:
        raise WrongAnswer(f"there are {n} tokens, expected from 1 to 12")
    if masks.dtype.kind not in "biuf" or not np.isin(masks, (0, 1)).all():
        raise WrongAnswer("masks has other numbers than True and False")
    masks = masks.astype(bool)
    if not masks[:, range(n), range(n)].all():
        raise WrongAnswer("a token does not see itself: the diagonal of every mask must be True")
    rng, d = np.random.default_rng(L), 6
    X = rng.normal(size=(n, d))
    weights = rng.normal(size=(L, 2, d, d)) / math.sqrt(d)

    def gaps(chosen):
        old, new = (stack(masks[chosen], X, weights[chosen], cached) for cached in (True, False))
        return [np.abs(a - b).max(axis=-1) > 1e-9 for a, b in zip(old, new, strict=True)]

    without = [gaps([i for i in range(L) if i != left])[1].any() for left in range(L)]
    rows, last = gaps(list(range(L)))
    stale = [max(np.flatnonzero(row), default=-1) for row in rows]
    if n > L and last.any() and not any(without):
        raise WrongAnswer(f"with {n} tokens all is as it should be, but as few as possible are asked for")
    return np.array(n), np.array(without), np.array(last.any()), np.array(stale)


# ---------------------------------------------------------------- 12.11


def heads(H, n, words, repeats=True):
    """Random causal maps; a text in which some words come often, some of them side by side, and some once."""

    def make(rng):
        ids = rng.permutation(n)
        if repeats:
            ids[: n - 2] = rng.integers(words, size=n - 2)
            ids[2], ids[n // 2 + 1], ids[-3], ids[-2:] = ids[1], ids[n // 2], ids[1], (n, n + 1)
        A = np.tril(softmax(2 * rng.normal(size=(H, n, n))))
        return {"A": A / A.sum(axis=-1, keepdims=True), "ids": ids}

    return make


# ---------------------------------------------------------------- 12.12


def words(V, p):
    return lambda rng: {"V": V, "p": p}


def second_half(inputs, arrays):
    """All words in some order, and then in another: of each token of the second half, the place it looks at most,
    whether the right place gets p, and the word that it says."""
    V, p = inputs["V"], inputs["p"]
    D, n = 5 * V, 2 * V
    for name, a in zip(("M_1", "N_1", "M_2", "N_2"), arrays, strict=True):
        if a.shape != (D, D):
            raise WrongAnswer(f"{name} has shape {a.shape}, expected ({D}, {D})")
        if a.dtype.kind not in "biuf" or not np.isfinite(a).all():
            raise WrongAnswer(f"{name} has entries that are no finite numbers")
    rng = np.random.default_rng(V)
    first, other = rng.permutation(V), rng.permutation(V)
    while other[0] == first[-1]:
        other = rng.permutation(V)
    text, rows, seen = np.concatenate([first, other]), np.arange(n), np.tri(n, dtype=bool)
    X = np.zeros((n, D))
    X[rows, text] = X[rows, V + rows] = 1.0
    for M, N in (arrays[:2], arrays[2:]):
        A = softmax(np.where(seen, X @ M @ X.T, -np.inf))
        X = X + A @ X @ N
    after = np.argsort(first)[other] + 1  # the place after the first time that the word was said
    A, said = A[V:], X[V:, 4 * V :].round(6)
    return A.round(6).argmax(axis=-1), A[rows[:V], after] >= p, said.argmax(axis=-1)  # the first of those that tie
