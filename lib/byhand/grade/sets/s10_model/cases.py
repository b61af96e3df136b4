"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, places_of_names


def weights(S, axis=-1):
    E = np.exp(S - S.max(axis=axis, keepdims=True))
    return E / E.sum(axis=axis, keepdims=True)


# 10.1


def texts(lengths, n, V=9):
    def make(rng):
        ids = rng.integers(1, V, (len(lengths), n))
        real = np.arange(n) < np.array(lengths)[:, None]
        return {"texts": np.where(real, ids, 0), "lengths": np.array(lengths), "bos": V, "pad": 0, "ignore": -1}

    return make


def pad_is_a_word(rng):
    """Ids of 0 among the words, and ids of words where a text has ended."""
    inputs = texts([4, 6, 3], 6)(rng)
    ids = rng.integers(1, 9, (3, 6))
    ids[:, 1] = 0
    return {**inputs, "texts": ids}


# 10.2


def blocks(L, n, m, d_m, d):
    def make(rng):
        A, W, M = weights(rng.normal(size=(L, n, m))), rng.normal(size=(L, d_m, d)) / 2, rng.normal(size=(m, d_m))
        Y = [rng.normal(size=(n, d))]
        for a, w in zip(A, W, strict=True):
            Y.append(np.tanh(Y[-1] + a @ M @ w))
        return {"dY": rng.normal(size=(n, d)), "Y": np.stack(Y), "A": A, "W": W}

    return make


# 10.3

NAMES = ("correct", "only the last block", "only the first block", "mean over the blocks", "last block twice")


def versions(terms):
    total = terms.sum(axis=0)
    return np.stack([total, terms[-1], terms[0], total / len(terms), total + terms[-1]])


def gradients(L, m, d, kinds):
    """Terms of one decoder, and what some decoders sent, in random order."""

    def make(rng):
        terms = rng.normal(size=(L, m, d)) * rng.uniform(0.5, 2, size=(L, 1, 1))
        return {"terms": terms, "dM": versions(terms)[rng.permutation(kinds)]}

    return make


def call_what_was_sent(answer, inputs):
    return places_of_names(NAMES, "gradient", inputs["dM"], lambda dM: answer(inputs["terms"], dM))


# 10.4


def reading(n, m, d, d_k, d_v, lead=(), masked=False):
    def make(rng):
        shapes = {"Y": (*lead, n, d), "M": (*lead, m, d), "W_q": (d, d_k), "W_k": (d, d_k), "W_v": (d, d_v)}
        inputs = {name: rng.normal(size=shape) for name, shape in shapes.items()}
        if masked:
            lengths = rng.permutation(np.arange(1, m))[: lead[0]] if lead else np.array([m - 2])
            mask = np.arange(m) < lengths[:, None]
            inputs["mask"] = mask[:, None, :] if lead else mask
        return inputs

    return make


# 10.5


def table(V, ids, d, scale):
    def make(rng):
        words = np.array(ids) if ids is not None else rng.integers(0, V, (2, 5))
        shape = (*words.shape, d)
        return {"E": rng.normal(size=(V, d)), "ids": words, "dX": rng.normal(size=shape), "H": rng.normal(size=shape),
                "dZ": rng.normal(size=(*words.shape, V)), "scale": scale}

    return make


# 10.6


def decoder(V, ends, max_len):
    """A small decoder whose greedy text has `ends` words before eos, or does not end within max_len (ends None)."""

    def make(rng):
        bos, eos = V, V - 1
        for _ in range(1000):
            inputs = {"last": rng.normal(size=(V + 1, V)), "past": rng.normal(size=(V + 1, V)),
                      "place": rng.normal(size=(20, V)), "bos": bos, "eos": eos, "max_len": max_len}
            prefix = [bos]
            while len(prefix) <= max_len + 1 and prefix[-1] != eos:  # one word further than is asked for
                prefix.append(int(logits(inputs, prefix)[-1].argmax()))
            written = prefix[1:]
            ended = written[-1] == eos
            text = written[:-1] if ended else written
            if (ended and len(text) == ends) or (not ended and ends is None):
                if len(set(text)) >= 2:  # or a text of one word over and over
                    return inputs
        raise AssertionError("no such decoder in 1000 draws")

    return make


def logits(inputs, prefix):
    """Row i sees prefix[: i + 1]: its last word, all words before it, and its place."""
    rows = []
    for i, word in enumerate(prefix):
        before = inputs["past"][prefix[:i]].sum(axis=0)
        rows.append(2 * inputs["last"][word] + before + inputs["place"][i])
    return np.stack(rows)


def call_greedy(answer, inputs):
    calls = 0

    def step(prefix):
        nonlocal calls
        calls += 1
        prefix = [int(i) for i in prefix]
        if calls > 60:
            raise WrongAnswer("step was called more than 60 times: the loop does not end")
        if not prefix or prefix[0] != inputs["bos"]:
            raise WrongAnswer(f"step was given a prefix that begins with {prefix[:1]}, expected bos, {inputs['bos']}")
        if len(prefix) > 20:
            raise WrongAnswer("step was given more than 20 ids")
        return logits(inputs, prefix)

    text = answer(step, inputs["bos"], inputs["eos"], inputs["max_len"])
    if text is None or text is Ellipsis:
        return None
    return np.array([int(i) for i in text], dtype=np.int64)


# 10.7


def sizes(V, n_max, d, f, L):
    return lambda rng: {"V": V, "n_max": n_max, "d": d, "f": f, "L": L}


def some_sizes(rng):
    return {"V": int(rng.integers(50, 900)), "n_max": int(rng.integers(20, 99)), "d": int(rng.integers(5, 40)),
            "f": int(rng.integers(50, 200)), "L": int(rng.integers(2, 9))}
