"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer


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


def windows(L, n, width):
    """Blocks in which a row sees itself and the width − 1 rows before it."""

    def make(rng):
        i = np.arange(n)
        return {"masks": np.stack([(i[:, None] >= i) & (i[:, None] - i < width)] * L)}

    return make


def some_windows(rng):
    return windows(int(rng.integers(2, 5)), int(rng.integers(10, 13)), 3)(rng)


def open_pairs(L, n, share, itself=True):
    """Each block with other pairs open."""

    def make(rng):
        for _ in range(1000):
            masks = rng.random((L, n, n)) < share
            if itself:
                masks |= np.eye(n, dtype=bool)
            else:
                masks &= ~np.eye(n, dtype=bool)
            steps = [m | np.eye(n, dtype=bool) for m in masks]
            seen = np.linalg.multi_dot([s.astype(int) for s in steps[::-1]]) > 0
            other = np.linalg.multi_dot([s.astype(int) for s in steps]) > 0
            bare = np.linalg.multi_dot([m.astype(int) for m in masks[::-1]]) > 0
            one_way = ((masks.any(axis=0) | np.eye(n, dtype=bool)) != seen).any()
            wrong_ways = (other != seen).any() and (seen.T != seen).any() and (other.T != seen).any()
            if one_way and wrong_ways and not seen.all() and (itself or (bare != seen).any()):
                return {"masks": masks}
        raise AssertionError("no such masks in 1000 draws")

    return make


def call_reach(answer, inputs):
    found = answer(inputs["masks"])
    if found is None or found is Ellipsis:
        return None
    found = np.array(found)
    if found.dtype.kind in "iuf" and np.isin(found, (0, 1)).all():
        found = found.astype(bool)  # ones and zeros
    return found


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
                if ends == 0 or len(set(text)) >= 2:  # or a text of one word over and over
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


# 10.8


def tokens(n, V):
    def make(rng):
        source = np.concatenate([rng.permutation(V), rng.permutation(V)])[:n] if n <= 2 * V else rng.integers(0, V, n)
        if n > 1 and source[0] == source[-1]:
            source[-1] = (source[-1] + 1) % V
        return {"n": n, "V": V, "source": source, "target": rng.integers(0, V, n)}

    return make


def call_head(answer, inputs):
    return answer(inputs["n"], inputs["V"])


def written_backwards(inputs, arrays):
    """The source words that the rows point at; WrongAnswer where a row looks elsewhere, or not sharply."""
    n, V, (W_q, W_k, W_v) = inputs["n"], inputs["V"], arrays
    d = V + n
    for name, W in (("W_q", W_q), ("W_k", W_k), ("W_v", W_v)):
        if W.ndim != 2 or W.shape[0] != d:
            raise WrongAnswer(f"{name} has shape {W.shape}, expected {d} rows: d = V + n = {V} + {n}")
        if W.dtype.kind not in "iuf" or not np.isfinite(W).all():
            raise WrongAnswer(f"{name} has entries that are no finite numbers")
    if W_q.shape != W_k.shape:
        raise WrongAnswer(f"W_q has shape {W_q.shape} and W_k {W_k.shape}: queries and keys need one width")
    if W_v.shape[1] != V:
        raise WrongAnswer(f"W_v has shape {W_v.shape}, expected {(d, V)}")
    Y, M = (np.concatenate([np.eye(V)[inputs[side]], np.eye(n)], axis=1) for side in ("target", "source"))
    A = weights(Y @ W_q @ (M @ W_k).T / np.sqrt(W_q.shape[1]))
    found, due = A.argmax(axis=1).tolist(), list(range(n))[::-1]
    if found != due:
        sharp = ", ".join(f"{w:.2g}" for w in A.max(axis=1))
        raise WrongAnswer(f"the rows look most at source places {found}, with weights {sharp}; expected {due}")
    if A.max(axis=1).min() < 0.99:
        i = int(A.max(axis=1).argmin())
        raise WrongAnswer(f"row {i} looks at the right place, with a weight of {A[i].max():.4f}, expected 0.99 or more")
    return ((A @ M @ W_v).argmax(axis=1),)


# 10.9


def two_words(V, r):
    return lambda rng: {"V": V, "r": r}


def margin(inputs, arrays):
    """One, where the best text is more than r times as probable as the greedy one; WrongAnswer says what else it is."""
    V, r, (first, second) = inputs["V"], inputs["r"], arrays
    for name, p, shape in (("first", first, (V,)), ("second", second, (V, V))):
        if p.shape != shape:
            raise WrongAnswer(f"{name} has shape {p.shape}, expected {shape}")
        if p.dtype.kind not in "iuf" or not np.isfinite(p).all() or (p < 0).any():
            raise WrongAnswer(f"{name} has entries that are no probabilities")
        if np.abs(p.sum(axis=-1) - 1).max() > 1e-9:
            sums = ", ".join(f"{x:.4g}" for x in np.atleast_1d(p.sum(axis=-1)))
            raise WrongAnswer(f"{name} does not sum to one" + (" in every row: " if p.ndim > 1 else ": ") + sums)
    word = int(first.argmax())
    for name, p in (("first", first), (f"second[{word}]", second[word])):
        top = np.sort(p)[::-1]
        if top[0] - top[1] < 1e-9:
            raise WrongAnswer(f"{name} has two largest entries: greedy meets a tie")
    both = first[:, None] * second
    greedy, best = both[word, second[word].argmax()], both.max()
    if not best > r * greedy:
        a, b = np.unravel_index(both.argmax(), both.shape)
        raise WrongAnswer(
            f"greedy writes {word}, {int(second[word].argmax())} with probability {greedy:.4g}; the best text is {a}, "
            f"{b} with {best:.4g}, {best / greedy:.4g} times as much, and more than {r:g} is asked for"
        )
    return (np.ones(()),)


# 10.10


def writer(V, d, d_k, prompt, steps):
    def make(rng):
        for _ in range(1000):
            inputs = {
                "ids": rng.integers(0, V, prompt), "steps": steps, "E": rng.normal(size=(V, d)),
                "P": 1.5 * rng.normal(size=(prompt + steps + 2, d)), "W_q": rng.normal(size=(d, d_k)) / 2,
                "W_k": rng.normal(size=(d, d_k)) / 2, "W_v": rng.normal(size=(d, d)),
            }
            if len(set(_write(inputs))) >= min(4, steps):
                return inputs
        raise AssertionError("no such writer in 1000 draws")

    return make


def _write(inputs):
    ids = [int(i) for i in inputs["ids"]]
    for _ in range(inputs["steps"]):
        X = inputs["E"][ids] + inputs["P"][: len(ids)]
        S = X[-1:] @ inputs["W_q"] @ (X @ inputs["W_k"]).T / np.sqrt(inputs["W_q"].shape[1])
        ids.append(int((inputs["E"] @ (X[-1] + (weights(S) @ X @ inputs["W_v"])[0])).argmax()))
    return ids[len(inputs["ids"]) :]


def counted(call):
    """What `call` returns, and the operations of its matrix products, also of those that are written as a product of
    numbers and a sum."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    aten, spent = torch.ops.aten, 0
    left = {aten.mm: 0, aten.bmm: 0, aten.mv: 0, aten.dot: 0, aten.addmm: 1, aten.baddbmm: 1, aten.addmv: 1}

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal spent
            result = function(*args, **(kwargs or {}))
            if (place := left.get(function.overloadpacket)) is not None:
                spent += 2 * result.numel() * args[place].shape[-1]
            elif isinstance(result, torch.Tensor):
                sizes = [x.numel() for x in args if isinstance(x, torch.Tensor)]
                spread = len(sizes) > 1 and result.numel() > max(sizes)  # each of the one with each of the other
                spent += 2 * result.numel() * (spread or function.overloadpacket is aten.mul)
            return result

    with Count():
        result = call()
    return result, spent


def call_writer(answer, inputs):
    """Run it on tensors that require gradients, and count its products."""
    import torch

    given = [inputs[name].detach().clone().requires_grad_() for name in ("E", "P", "W_q", "W_k", "W_v")]
    ids = [int(i) for i in inputs["ids"]]
    found, spent = counted(lambda: answer(ids, inputs["steps"], *given))
    if ids != inputs["ids"].tolist():
        raise WrongAnswer("your function changed its input ids in place; work on a copy")
    if found is None or found is Ellipsis:
        return None
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise WrongAnswer("expected two results: the words, and the logits that chose them")
    text, logits = found
    if isinstance(logits, list | tuple):
        logits = torch.stack(list(logits))
    if not isinstance(logits, torch.Tensor):
        raise WrongAnswer(f"the logits are a {type(logits).__name__}, expected a tensor")
    text = [int(i) for i in text]
    (V, d), d_k, t, steps = inputs["E"].shape, inputs["W_q"].shape[1], len(inputs["ids"]), inputs["steps"]
    once = (t + steps) * (2 * d * (2 * d_k + d) + 2 * d * V) + 2 * (d_k + d) * (t * t + steps * (t + steps))
    return np.array(text), logits, float(not logits.requires_grad), float(spent <= 1.25 * once)


# 10.11


def scored(t, V, scale=1.0):
    def make(rng):
        eos = int(rng.integers(1, V - 1))  # neither the first word nor the last
        text = rng.integers(0, V - 1, t)
        logits = scale * rng.normal(size=(t + 1, V))
        logits[-1, eos] = logits[-1].min() - 1.0  # an end that is certain would cost nothing
        return {"logits": logits, "text": text + (text >= eos), "eos": eos}

    return make


def call_score(answer, inputs):
    text = [int(i) for i in inputs["text"]]
    score = answer(inputs["logits"], text, inputs["eos"])
    if text != inputs["text"].tolist():
        raise WrongAnswer("your function changed its input text in place; work on a copy")
    return score


# 10.12


def lengths(V, d, L, n):
    return lambda rng: {"V": V, "d": d, "L": L, "n": n}


def some_lengths(rng):
    return {"V": int(rng.integers(50, 900)), "d": int(rng.integers(5, 40)), "L": int(rng.integers(2, 9)),
            "n": int(rng.integers(5, 50))}
