"""Inputs of the cases."""

import numpy as np


def joined(ids, pair, new):
    """Each occurrence of the pair replaced by one id, from the left."""
    out, i = [], 0
    while i < len(ids):
        hit = tuple(ids[i : i + 2]) == tuple(pair)
        out.append(new if hit else ids[i])
        i += 2 if hit else 1
    return out


def learned(ids, count, best):
    """Merges of a sequence; `best` chooses the pair from the counts."""
    ids, merges = list(ids), []
    for k in range(count):
        totals = {}
        for pair in zip(ids[:-1], ids[1:], strict=True):
            totals[pair] = totals.get(pair, 0) + 1
        merges.append(best(totals))
        ids = joined(ids, merges[-1], 256 + k)
    return merges


def most_frequent(totals):
    return min(totals, key=lambda pair: (-totals[pair], pair))


def some_text(rng, letters, words, length):
    """Bytes of a text: words of a small lexicon, some far more often than others."""
    alphabet = rng.choice(np.arange(97, 123), size=letters, replace=False)
    lexicon = [rng.choice(alphabet, size=rng.integers(3, 7)).tolist() for _ in range(words)]
    share = 1 / np.arange(1, words + 1)
    return sum((lexicon[i] for i in rng.choice(words, size=length, p=share / share.sum())), [])


def training(letters, words, length, count):
    def make(rng):
        return {"ids": np.array(some_text(rng, letters, words, length)), "count": count}

    return make


def equal_pairs(rng):
    """Three pairs come three times each, neither the lowest nor the highest first; everything else comes once."""
    a, b, c, d, e, f = np.sort(rng.choice(np.arange(97, 123), size=6, replace=False)).tolist()
    others = rng.permutation(np.arange(33, 65)).tolist()
    text = []
    for pair in 3 * ((c, d), (e, f), (a, b)):
        text += [*pair, others.pop()]
    return {"ids": np.array(text), "count": 2}


def a_run(rng):
    """A run of one letter: its pairs overlap."""
    a, b, c = rng.choice(np.arange(97, 123), size=3, replace=False).tolist()
    return {"ids": np.array([b, *[a] * 7, c, *[a] * 5, b]), "count": 2}


def new_text(letters, words, length, count):
    """Merges of one text, and another text of the same words."""

    def make(rng):
        ids = some_text(rng, letters, words, length)
        merges = learned(ids, count, most_frequent)
        half = len(ids) // 2
        return {"ids": np.array(ids[half - 30 : half + 30][::-1] + ids[:60]), "merges": np.array(merges)}

    return make


def order_matters(rng):
    """abcd is a + bcd, since bcd was learned before abc; from the left it would be abc + d, or ab + c + d."""
    a, b, c, d = rng.choice(np.arange(97, 123), size=4, replace=False).tolist()
    merges = [(b, c), (a, b), (256, d), (a, 256)]
    return {"ids": np.array([a, b, c, d, a, b, d, a, b, c, a, a, b, c, d]), "merges": np.array(merges)}


def tokens_to_spell(letters, words, length, count):
    def make(rng):
        ids = some_text(rng, letters, words, length)
        merges = learned(ids, count, most_frequent)
        tokens = [*rng.integers(256, 256 + count, size=12).tolist(), *ids[:5], 255 + count]
        return {"tokens": np.array(tokens), "merges": np.array(merges)}

    return make


def table(shape, V, d, scale, repeats=True):
    def make(rng):
        n = int(np.prod(shape))
        ids = rng.permutation(V)[:n] if not repeats else rng.permutation(np.arange(n) % (n // 2))
        return {"dX": rng.normal(size=(*shape, d)), "ids": ids.reshape(shape), "V": V, "scale": scale}

    return make


def words_and_places(lead, n, V, d):
    def make(rng):
        E = rng.normal(size=(V, d)) / np.sqrt(d)
        return {"E": E, "ids": rng.integers(0, V, size=(*lead, n)), "P": np.sin(rng.uniform(0, 6, size=(n, d)))}

    return make


def tied(n, V, d, repeats=True):
    def make(rng):
        ids = rng.permutation(np.arange(n) % (n // 2)) if repeats else rng.permutation(V)[:n]
        return {"E": rng.normal(size=(V, d)), "ids": ids, "dZ": rng.normal(size=(n, V))}

    return make


def chances(*shape, k):
    def make(rng):
        return {"p_joint": rng.uniform(1e-4, 0.05, size=shape), "p_word": rng.uniform(0.01, 0.3, size=shape),
                "q": rng.uniform(0.01, 0.3, size=shape), "k": k}

    return make


def one_pair(d, k, size=1.0):
    def make(rng):
        return {"u": size * rng.normal(size=d), "w_true": rng.normal(size=d), "W_drawn": rng.normal(size=(k, d))}

    return make


def picture(h, w, c, p, d):
    def make(rng):
        return {"image": rng.normal(size=(h, w, c)), "kernel": rng.normal(size=(d, c, p, p)), "b": rng.normal(size=d)}

    return make
