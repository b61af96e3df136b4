"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, kind_of

BIG = (400, 36)  # words and width of the table whose start is measured


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
    """Runs of one letter, whose pairs overlap; another pair comes more often than they do without overlap."""
    a, b, c, d = rng.choice(np.arange(97, 123), size=4, replace=False).tolist()
    others = rng.permutation(np.arange(33, 65)).tolist()
    pairs = [i for k in range(12) for i in (others[k], c, d)]
    short = [i for k in range(12, 16) for i in (others[k], a, a, a)]
    return {"ids": np.array([b, *[a] * 7, c, *[a] * 5, b, *pairs, *short]), "count": 3}


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
    merges = [(b, c), (a, b), (256, d), (a, 256), (c, a)]
    return {"ids": np.array([a, b, c, d, a, b, d, a, b, c, d, d, b, c, a, a, b, c, d]), "merges": np.array(merges)}


def tokens_to_spell(letters, words, length, count):
    def make(rng):
        ids = some_text(rng, letters, words, length)
        merges = learned(ids, count, most_frequent)
        tokens = [*rng.integers(256, 256 + count, size=12).tolist(), *ids[:5], 255 + count, 256]
        return {"tokens": np.array(tokens), "merges": np.array(merges)}

    return make


def deep_tokens(rng):
    """Each merge is made of the one before it."""
    letters = rng.choice(np.arange(97, 123), size=7, replace=False).tolist()
    merges = [(letters[0], letters[1])] + [(256 + k, letters[k + 2]) for k in range(5)]
    return {"tokens": np.array([261, letters[0], 256, 259, letters[6], 258]), "merges": np.array(merges)}


def bags(lead, n, V, d, pad, empty=False):
    """Texts of several lengths, words repeated, filled up at the end; the word `pad` + 1 never comes."""

    def make(rng):
        ids = np.full((*lead, n), pad)
        some = np.array([v for v in range(V) if v not in (pad, pad + 1)])
        for i, place in enumerate(np.ndindex(*lead)):
            length = n - 1 - i % (n - 2)
            words = rng.choice(some, size=length)
            words[0] = words[-1]
            ids[place][:length] = words
        if empty:
            ids[(0,) * len(lead)] = pad
        return {"dX": rng.normal(size=(*lead, d)), "ids": ids, "V": V, "pad": pad}

    return make


def single_words(rng):
    """Texts without filling, in which no word comes twice."""
    return {"dX": rng.normal(size=(2, 4)), "ids": rng.permutation(7)[:6].reshape(2, 3), "V": 8, "pad": 7}


def words_and_places(lead, n, V, d):
    def make(rng):
        E = rng.normal(size=(V, d)) / np.sqrt(d)
        return {"E": E, "ids": rng.integers(0, V, size=(*lead, n)), "P": np.sin(rng.uniform(0, 6, size=(n, d)))}

    return make


def tied(lead, n, V, d, repeats=True):
    def make(rng):
        size = int(np.prod(lead, dtype=int)) * n
        ids = rng.permutation(np.arange(size) % max(size // 2, 1) % V) if repeats else rng.permutation(V)[:size]
        return {"E": rng.normal(size=(V, d)), "P": rng.normal(size=(n, d)), "ids": ids.reshape(*lead, n),
                "dZ": rng.normal(size=(*lead, n, V))}

    return make


def meetings(A, C, k, power):
    def make(rng):
        size = rng.integers(2, 9, size=A)[:, None] * rng.integers(2, 12, size=C)
        return {"counts": 1 + rng.poisson(size), "k": k, "power": power}

    return make


def pairs(n, d, t, c, size=1.0):
    def make(rng):
        return {"U": size * rng.normal(size=(n, d)), "W": rng.normal(size=(n, d)), "t": t, "c": c}

    return make


def picture(h, w, c, p, d):
    def make(rng):
        return {"image": rng.normal(size=(h, w, c)), "kernel": rng.normal(size=(d, c, p, p)), "b": rng.normal(size=d)}

    return make


def bytes_to_use(q):
    def make(rng):
        return {"letters": np.sort(rng.choice(np.arange(97, 123), size=q, replace=False))}

    return make


def runs(q, m, low, high):
    def make(rng):
        return {"n": rng.integers(low, high, size=q), "m": m}

    return make


def draws(B, k, V, power, zeros=(), common=False):
    """Counts fall as those of words do.  Each true context is a frequent word if `common`."""

    def make(rng):
        counts = rng.permutation(np.round(90 / np.arange(1, V + 1)).astype(int) + 1)
        counts[list(zeros)] = 0
        if common:
            contexts = rng.permutation(np.argsort(-counts)[:B])
        else:
            contexts = rng.choice(np.flatnonzero(counts), size=B, replace=False)
        r = rng.uniform(0.001, 0.999, size=(B, k))
        if zeros:
            r[:, -1] = 0.0
        return {"r": r, "counts": counts, "contexts": contexts, "power": power}

    return make


def one_table(lead, n, V, d, pad):
    def make(rng):
        ids = rng.integers(0, V, size=(*lead, n))
        ids[..., -1], ids[..., 0] = pad, ids[..., 1]
        return {"E": rng.normal(size=(V, d)), "ids": ids, "dZ": rng.normal(size=(*lead, n, V)), "pad": pad}

    return make


def planted(T, m, k, noise):
    """Every two themes have a word; m context words belong to each theme."""

    def make(rng):
        both = [(i, j) for i in range(T) for j in range(i)]
        themes, belongs = np.zeros((len(both), T), int), np.zeros((m * T, T), int)
        themes[np.arange(len(both))[:, None], both] = 1
        belongs[np.arange(m * T), rng.permutation(np.arange(m * T) % T)] = 1
        q = rng.uniform(1, 4, size=m * T)
        return {"themes": themes, "belongs": belongs, "noise": noise, "q": q / q.sum(), "k": k}

    return make


def try_tied(make, inputs):
    """Build the module twice: as it starts, and with the table of the case; read, score, and go back."""
    import torch

    E, ids, dZ, pad = inputs.values()

    def built(V, d):
        module = make(V, d, pad)
        if module is None or module is Ellipsis:
            return None
        if not isinstance(module, torch.nn.Module):
            raise WrongAnswer(f"make_tied returned {kind_of(module)}, expected an nn.Module")
        if not callable(getattr(module, "score", None)):
            raise WrongAnswer("the module has no method score")
        return module.double()

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        fresh, module = built(*BIG), built(*E.shape)
    if module is None:
        return None
    tables = [(name, p) for name, p in module.named_parameters() if p.shape == E.shape]
    others = [(name, p) for name, p in module.named_parameters() if p.shape != E.shape]
    if not tables:
        found = ", ".join(f"{name} {tuple(p.shape)}" for name, p in others) or "none"
        raise WrongAnswer(f"no parameter has the shape (V, d) = {tuple(E.shape)}; found: {found}")
    with torch.no_grad():
        words = torch.tensor([v for v in range(BIG[0]) if v != pad])
        start = fresh(words)
        if not isinstance(start, torch.Tensor):
            raise WrongAnswer(f"module(ids) returned {kind_of(start)}, expected a tensor")
        rms = round(float(start.square().mean().sqrt()), 1)
        zero = not fresh(torch.tensor([pad])).any()
        for _, table in tables:
            table.copy_(E)
            table[pad] = 0
        for _, other in others:
            other.zero_()
    X = module(ids)
    logits = module.score(torch.tanh(X))
    if logits.shape != dZ.shape:
        raise WrongAnswer(f"module.score(X) has shape {tuple(logits.shape)}, expected {tuple(dZ.shape)}")
    read, scored = X.detach().clone(), logits.detach().clone()
    logits.backward(dZ)
    grads = [table.grad for _, table in tables if table.grad is not None]
    if not grads:
        raise WrongAnswer("no gradient reaches the table: was it detached, or put in place through .data?")
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.grad is not None:
                parameter -= 0.1 * parameter.grad
        stays = not module(torch.tensor([pad])).any()
    return sum(p.numel() for p in module.parameters()), rms, zero, stays, read, scored, sum(grads)
