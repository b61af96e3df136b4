"""Inputs of the cases, and what runs or measures an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, kind_of, places_of_names

_isfinite, _sort, _abs = np.isfinite, np.sort, np.abs  # bound now: an answer that patches numpy changes no verdict


def log_softmax(Z):
    Z = Z - Z.max(axis=-1, keepdims=True)
    return Z - np.log(np.exp(Z).sum(axis=-1, keepdims=True))


# 13.1


def sentences(sources, targets, like_pad=False, ids=(3, 20), marks=(0, 1, 2)):
    """Pairs of sentences of these lengths; in some of them a word has the id of pad.  The ids of pad, BOS and EOS are
    not the same in every case, so that an answer which has numbers in their place is seen."""

    def make(rng):
        rows = [[rng.integers(*ids, size=n).tolist() for n in lengths] for lengths in (sources, targets)]
        if like_pad:
            for side in rows:
                for row in side[:2]:
                    row[len(row) // 2] = marks[0]
        return {"sources": rows[0], "targets": rows[1], **dict(zip(("pad", "bos", "eos"), marks, strict=True)),
                "ignore": -7}

    return make


# 13.2


def labelled(lengths, V, eps, scale=1.0):
    """Logits and labels of rows of these lengths; pad is a word in the middle of the list."""

    def make(rng):
        B, n = len(lengths), max(lengths)
        pad = V // 2
        labels = rng.integers(V - 1, size=(B, n))
        labels = labels + (labels >= pad)
        labels[np.arange(n) >= np.array(lengths)[:, None]] = -1
        return {"logits": scale * rng.normal(size=(B, n, V)), "labels": labels, "pad": pad, "eps": eps}

    return make


# 13.3


def shared(R, n, m, d, e, d_k, d_v, hidden=0):
    def make(rng):
        real = np.ones(m, bool)
        real[m - hidden:] = False
        shapes = {"dO": (R, n, d_v), "Y": (R, n, d), "M": (m, e)}
        arrays = {name: rng.normal(size=shape) for name, shape in shapes.items()}
        maps = {"W_q": (d, d_k), "W_k": (e, d_k), "W_v": (e, d_v)}
        return {**arrays, "real": real, **{name: rng.normal(size=shape) for name, shape in maps.items()}}

    return make


# 13.4


def chain(words, V, max_len, broken=False, like_pad=False):
    """For each row a table (V + 2, V) of log p of the next word after each word, eos among the first V, then bos and
    pad; row b has words[b] words, eos counted, or does not end (0). After eos: some numbers, or nan. like_pad: pad is
    the first word of the longest row."""

    def make(rng):
        B, eos = len(words), V - 1
        Y = log_softmax(1.5 * rng.normal(size=(B, V + 2, V)))
        for b, k in enumerate(words):
            last = k if k else max_len + 2
            path = [V, *rng.permutation(V - 1)[: min(last - 1, V - 1)]]
            if not k:
                path.append(path[1])
            for w, after in zip(path, [*path[1:], eos] if k else path[1:], strict=False):
                best = Y[b, w].argmax()
                Y[b, w, [best, after]] = Y[b, w, [after, best]]
        if broken:
            Y[:, [eos, V + 1]] = np.nan
        else:  # after its end a row would write on, and come to eos again
            for b in range(B):
                for w, after in ((eos, b % (V - 1)), (V + 1, (b + 1) % (V - 1))):
                    best = Y[b, w].argmax()
                    Y[b, w, [best, after]] = Y[b, w, [after, best]]
        pad = int(Y[np.argmax(words), V].argmax()) if like_pad else V + 1
        return {"Y": Y, "bos": V, "eos": eos, "pad": pad, "max_len": max_len}

    return make


def call_write(answer, inputs):
    Y, bos = inputs["Y"], inputs["bos"]
    calls = 0

    def step(prefixes):
        nonlocal calls
        calls += 1
        prefixes = np.array(prefixes)
        if calls > 40:
            raise WrongAnswer("step was called more than 40 times: the loop does not end")
        if prefixes.ndim != 2 or prefixes.dtype.kind not in "iu" or len(prefixes) != len(Y):
            raise WrongAnswer(f"step was given {prefixes.dtype} of shape {prefixes.shape}, expected ids "
                              f"({len(Y)}, t), a row for each source")
        if (prefixes[:, 0] != bos).any() or prefixes.min() < 0 or prefixes.max() >= Y.shape[1]:
            raise WrongAnswer(f"step was given {prefixes[:, :3].tolist()} …, expected rows of ids that begin with bos, "
                              f"{bos}")
        return Y[np.arange(len(Y)), prefixes[:, -1]].copy()

    return answer(step, len(Y), bos, inputs["eos"], inputs["pad"], inputs["max_len"])


# 13.5


def beams(B, k, V, alpha, ended=0, first=False, broken=False, strict=False):
    """A state of a beam: `ended` hypotheses of each source are finished, and shorter than the others. strict: each of
    the usual slips in the penalty gives a ranking of its own."""

    def make(rng):
        for _ in range(5000):
            Y = log_softmax(1.2 * rng.normal(size=(B, k, V)))
            log_p, lengths = -rng.uniform(1, 5, size=(B, k)), np.full((B, k), 7)
            finished = np.zeros((B, k), bool)
            for b in range(B):
                places = rng.permutation(k)[:ended]
                finished[b, places] = True
                lengths[b, places] = rng.choice([2, 3, 4], size=ended, replace=False)
            if first:
                log_p, lengths = np.where(np.arange(k) == 0, np.zeros((B, k)), -np.inf), np.zeros((B, k), int)
                Y = Y[:, :1] + np.zeros((B, k, 1))
            total = log_p[..., None] + Y
            if ended:
                total = np.where(finished[..., None], np.where(np.arange(V) == V - 1, log_p[..., None], -np.inf), total)
            n = np.where(finished, lengths, lengths + 1)[..., None]
            shares = [((5 + n) / 6) ** a for a in (alpha, 0.0, -alpha)]
            shares += [((5 + n - ~finished[..., None]) / 6) ** alpha, ((6 + n) / 6) ** alpha,
                       ((5 + n + finished[..., None]) / 6) ** alpha, ((4 + n) / 6) ** alpha,
                       ((5 + n - finished[..., None]) / 6) ** alpha, np.maximum(n, 1) ** alpha, np.maximum(n, 1),
                       1 + alpha * (n - 1) / 6, (5 + n / 6) ** alpha]
            live = ~finished[..., None]
            ranks = [total / share for share in shares]
            ranks += [total / np.where(live, shares[0], 1), total / np.where(live, 1, shares[0]),
                      total / shares[0] + 1e6 * ~live, np.where(live, total / shares[0], 0.0)]
            ranks[-1] = np.where(np.isfinite(total), ranks[-1], -np.inf)
            ranks.append(np.where(finished[..., None], total, log_p[..., None] + Y / shares[0]))
            orders = [np.argsort(-x.reshape(B, -1), axis=1)[:, :k] for x in ranks]
            parents = orders[0] // V
            kept = np.array([finished[b, parents[b]].sum() for b in range(B)])
            uneven = first or all(len(set(row)) < k for row in parents.tolist())
            ranked = not ended or not alpha or all((orders[0] != o).any() for o in orders[1:3])
            if strict:
                ranked = (all((o != other).any() for i, o in enumerate(orders) for other in orders[:i])
                          and all((orders[0] != o).any(axis=1).sum() > 1 for o in orders[1:3]))
            ends = ended or first or (orders[0] % V == V - 1).any()
            if uneven and ranked and ends and (kept > 0).all() == bool(ended):
                if broken:
                    Y[finished] = np.nan
                return {"log_p": log_p, "lengths": lengths, "finished": finished, "Y": Y, "eos": V - 1, "alpha": alpha}
        raise AssertionError("no such beam in 5000 draws")

    return make


# 13.6


def wanted(V, part):
    return lambda rng: {"V": V, "r": part * V}


WORSE = ("probabilities", "clear", "compared", "by_enough")


def measure_beam(inputs, arrays):
    """Are these probabilities; is every choice clear; is greedy's text better (1), the same (0) or worse (−1) than the
    beam's; and is it r times as probable?  What is wrong first hides the rest."""
    V = inputs["V"]
    shapes = ((V,), (V, V), (V, V, V))
    for name, array, shape in zip(("first", "second", "third"), arrays, shapes, strict=True):
        if array.shape != shape:
            raise WrongAnswer(f"{name} has shape {array.shape}, expected {shape}")
        if array.dtype.kind not in "iuf" or not _isfinite(array).all():
            raise WrongAnswer(f"{name} holds nan or inf, or is no array of real numbers")
    first, second, third = (array.astype(np.float64) for array in arrays)
    clear = True

    def best(p, k):
        """The places of the k largest; are they clearly apart from each other and from the rest?"""
        nonlocal clear
        order = np.argsort(-p, kind="stable")
        top = p[order[: k + 1]]
        clear = clear and bool((top[:-1] - top[1:] > 1e-13 * top[0]).all())
        return order[:k]

    def verdict(fine=True, clear=True, compared=1, enough=True):
        return np.array(fine), np.array(clear), np.array(compared), np.array(bool(enough))

    if any((a < -1e-13).any() or (_abs(a.sum(axis=-1) - 1) > 1e-13).any() for a in (first, second, third)):
        return verdict(fine=False)
    (a,) = best(first, 1)
    (b,) = best(second[a], 1)
    (c,) = best(third[a, b], 1)
    one = best(first, 2)
    total = (first[one, None] * second[one]).ravel()
    two = [(int(one[i // V]), int(i % V)) for i in best(total, 2)]
    total = np.concatenate([first[i] * second[i, j] * third[i, j] for i, j in two])
    (last,) = best(total, 1)
    if not clear:
        return verdict(clear=False)
    greedy, beam = first[a] * second[a, b] * third[a, b, c], total[last]
    if (*two[last // V], last % V) == (a, b, c):
        return verdict(compared=0)
    if greedy <= beam:
        return verdict(compared=-1)
    return verdict(enough=greedy > inputs["r"] * beam)


# 13.7

WORDS = "the a cat dog sat ran on by mat of big red".split()


def corpus(sizes, order, longer, noise=0.25, like=None):
    """Hypotheses of these sizes, each with references that are so many words longer (a tuple a sentence), and are its
    words with some changed."""

    def make(rng):
        pairs = [_sentence(rng, *what, order, noise, like) for what in zip(sizes, longer, strict=True)]
        return {"hypotheses": [h for h, _ in pairs], "references": [refs for _, refs in pairs], "order": order}

    return make


def _sentence(rng, n, longer, order, noise, like):
    for _ in range(5000):
        hypothesis = rng.choice(WORDS[: like or len(WORDS)], size=n).tolist()
        refs = [_varied(rng, hypothesis, n + more, noise) for more in longer]
        if _words_tell(hypothesis, refs, order):
            return hypothesis, refs
    raise AssertionError("no such sentence in 5000 draws")


def _varied(rng, words, size, noise):
    out = [str(rng.choice(WORDS)) if rng.random() < noise else word for word in words]
    while len(out) != size:
        at = int(rng.integers(len(out)))
        out = out[:at] + out[at + 1 :] if len(out) > size else [*out[:at], str(rng.choice(WORDS)), *out[at:]]
    return out


def _runs(words, n):
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def _words_tell(hypothesis, refs, order):
    """There is a match of every order, and the ways to clip differ."""
    longest = set(_runs(hypothesis, order))
    if not any(longest & set(_runs(ref, order)) for ref in refs):
        return False
    near = min(refs, key=lambda ref: abs(len(ref) - len(hypothesis)))
    words = set(hypothesis)
    counts = [[ref.count(word) for ref in refs] for word in words]
    limits = [[max(c) for c in counts], [10**6 * (max(c) > 0) for c in counts]]
    if len(refs) > 1:
        limits += [[sum(c) for c in counts], [c[0] for c in counts], [near.count(word) for word in words]]
    said = [hypothesis.count(word) for word in words]
    sums = [sum(map(min, said, limit)) for limit in limits]
    alike = [sum(map(min, said, [c[i] for c in counts])) for i in range(len(refs))]
    likest = refs[alike.index(max(alike))]
    by_size = sorted(refs, key=len)
    if len(refs) > 3 and (likest in (near, refs[0], *by_size[:2], by_size[len(refs) // 2], by_size[-1])
                          or alike[-1] in (alike[0], sums[-1])):
        return False
    return sums[0] not in sums[1:] and (len(refs) == 1 or len(set(sums)) > 3)


def call_bleu(answer, inputs):
    """The numbers as floats: a brevity of 1 and a score of 0 are often whole."""
    found = answer(*inputs.values())
    if isinstance(found, tuple | list):
        return [float(x) if type(x) is int else x for x in found]
    return found


def two_lengths(rng):
    """A hypothesis between two references, one as much shorter as the other is longer."""
    words = rng.permutation(WORDS).tolist()
    return {"hypotheses": [words[:7], words[5:11]], "references": [[words[:9], words[1:6]], [words[6:11], words[4:11]]],
            "order": 3}


def long_enough(rng):
    """A hypothesis that is longer than its reference, with two words exchanged at its end."""
    words = rng.permutation(WORDS).tolist()
    return {"hypotheses": [words[:9]], "references": [[[*words[1:7], words[8], words[7]]]], "order": 3}


def longer_or_shorter(rng):
    """The same of another length, so that another share of the runs is right."""
    words, n = rng.permutation(WORDS).tolist(), int(rng.choice([8, 9, 10]))
    return {"hypotheses": [words[: n + 2]], "references": [[[*words[1:n], words[n + 1], words[n]]]], "order": 3}


def no_run(rng):
    """Words that match, in runs of two at most."""
    words = rng.permutation(WORDS).tolist()
    return {"hypotheses": [[*words[:2], words[9], *words[3:5], words[6]]], "references": [[words[:8]]], "order": 4}


# 13.8


def slip(n, place):
    return lambda rng: {"n": n, "place": place}


def some_slip(rng):
    n = int(rng.integers(10, 16))
    return {"n": n, "place": int(rng.integers(4, n - 4))}


# 13.9


def aligned(B, H, n, m, several=False):
    """Weights of heads that mostly look at the right word, with padding that has weights as well."""

    def make(rng):
        for _ in range(2000):
            targets = n - 1 - np.arange(B) if several else np.full(B, n - 1)
            sources = m - 1 - rng.permutation(B) if several else np.full(B, m - 1)
            right = np.array([rng.integers(sources[b], size=n) for b in range(B)])
            A = rng.uniform(0.02, 1.0, size=(B, H, n, m)) ** 2
            for b in range(B):
                for t in range(n):
                    A[b, :, t, right[b, t]] += rng.random(H) * (rng.random() < 0.75)
                    A[b, :, t, sources[b]] += 1.2 * rng.random() * (t % 3 == 2)
            A /= A.sum(axis=-1, keepdims=True)
            sure, possible = np.zeros((B, n, m), bool), np.zeros((B, n, m), bool)
            for b in range(B):
                for t in range(targets[b]):
                    sure[b, t, right[b, t]] = rng.random() < 0.7
                    sure[b, t, rng.integers(sources[b])] |= rng.random() < 0.15
                    possible[b, t, : sources[b]] = (rng.random(sources[b]) < 0.3) & ~sure[b, t, : sources[b]]
            if _rates_differ(A, targets, sources, sure, possible):
                return {"A": A, "targets": targets, "sources": sources, "sure": sure, "possible": possible}
        raise AssertionError("no such weights in 2000 draws")

    return make


def _rates_differ(A, targets, sources, sure, possible):
    """Do the usual slips, in the links and in the formula, give numbers of their own?"""
    B, H, n, m = A.shape
    inside = (np.arange(n) < targets[:, None])[..., None] & (np.arange(m) < sources[:, None])[:, None]
    W = A.mean(axis=1)

    def chosen(W, cut=False):
        words = np.where(inside.any(axis=1)[:, None], W, 0) if cut else W
        return np.arange(m) == words.argmax(axis=-1)[..., None]

    links = [chosen(W) & inside, chosen(W), chosen(W, True) & inside, chosen(A[:, 0]) & inside,
             chosen(A[:, -1]) & inside, chosen(A.max(axis=1)) & inside,
             np.any([chosen(A[:, h]) for h in range(H)], axis=0) & inside,
             chosen(W) & (np.arange(m) < sources[:, None])[:, None], chosen(A.prod(axis=1)) & inside,
             chosen(sum(chosen(A[:, h]) for h in range(H))) & inside, chosen(np.roll(W, 1, axis=1)) & inside,
             chosen(np.roll(W, -1, axis=1)) & inside, chosen(W / W.sum(axis=1, keepdims=True)) & inside,
             chosen(W) & inside & (np.arange(m) != sources[:, None] - 1)[:, None],
             chosen(W) & inside & (np.arange(n) != targets[:, None] - 1)[..., None]]
    wide = sure | possible
    sums = [((x & sure).sum(), (x & wide).sum(), (x & possible).sum(), x.sum(), sure.sum(), wide.sum(), possible.sum())
            for x in links]
    s, p, q, a, S, P, Q = sums[0]
    if not all(map(int, (s, q, S - s, a - p, P))):
        return False
    right, *others = (round(float(1 - (x[0] + x[1]) / (x[3] + x[4])), 9) for x in sums)
    rates = [right]
    rates += [1 - (s + q) / (a + S), 1 - 2 * s / (a + S), 1 - (s + p) / (a + P), 1 - 2 * p / (a + P),
              1 - (s + p) / (a + S + P), (s + p) / (a + S), 1 - p / a, 1 - s / S, 1 - s / a,
              1 - 2 * (p / a) * (s / S) / (p / a + s / S), 1 - (s + p) / 2 / (a + S), 1 - s / (a + S - s),
              1 - (p / a + s / S) / 2, 1 - 2 * p / (a + S)]
    rates = {round(float(rate), 9) for rate in rates}
    padded = others.pop(6) if B == 1 else None  # of one sentence, the row of padding may well have no link
    return len(rates) == 15 and not rates & set(others) and padded not in rates - {right}


# 13.10

NAMES = ("own words", "right words", "own words, right length", "the word itself", "another source")


def written(name, table, bos, eos, references, most):
    """The texts that an evaluation of this name shows, (B, most) with −1 behind their ends."""
    B = len(table)
    text = np.full((B, most), -1)
    for b in range(B):
        right = references[b][references[b] >= 0].tolist()
        if name == "right words":
            words = [int(table[b, w]) for w in [bos, *right[:-1]]]
        elif name == "the word itself":
            words = [int(table[b, w]) for w in right]
        else:
            row, words, last = (b + 1) % B if name == "another source" else b, [], bos
            fixed = name == "own words, right length"
            while len(words) < (len(right) if fixed else most) and (fixed or last != eos):
                last = int(table[row, last])
                words.append(last)
        text[b, : len(words)] = words
    return text


def reports(B, V, most, names, good=0.6, known=0):
    """Several reports of one model, each of which only one name explains. good: the share of words that it knows; the
    first `known` sentences it knows by heart, and the start of the others."""

    def make(rng):
        bos, eos = V, V - 1
        for _ in range(20000):
            table = rng.integers(V - 1, size=(B, V + 1))
            references = np.full((B, most), -1)
            for b in range(B):
                n, last, words = int(rng.integers(4, most)), bos, rng.permutation(V - 1)
                for i in range(n - 1):
                    word = int(words[i]) if known else int(rng.integers(V - 1))
                    if rng.random() < good or b < known or known and i < 2:
                        table[b, last] = word
                    references[b, i] = last = word
                references[b, n - 1] = eos
                if b < known or rng.random() < 0.7:
                    table[b, last] = eos
                if b >= known and rng.random() < 0.5:
                    table[b, int(rng.integers(V - 1))] = eos
            texts = [written(name, table, bos, eos, references, most) for name in NAMES]
            differ = all((texts[i] != texts[j]).any() for i in range(len(NAMES)) for j in range(i))
            both = (texts[0] >= 0) & (texts[1] >= 0)
            first = known or (len({text[0].tobytes() for text in texts}) == len(NAMES)
                              and (texts[0] == texts[1]).all(axis=1).any())
            if differ and first and (texts[0] == eos).any() and (texts[0] != texts[1])[both].any():
                chosen = np.stack([texts[NAMES.index(name)] for name in names])[rng.permutation(len(names))]
                turn = int(rng.integers(2, known)) if known else 0  # the one that tells is neither first nor last
                table, references, chosen = (np.roll(x, turn, axis=-2) for x in (table, references, chosen))
                return {"table": table, "bos": bos, "eos": eos, "references": references, "texts": chosen}
        raise AssertionError("no such model in 20000 draws")

    return make


def call_words(answer, inputs):
    given = [inputs[name] for name in ("table", "bos", "eos", "references")]
    return places_of_names(NAMES, "report", inputs["texts"], lambda text: answer(*given, text))


# 13.11


def near(kinds, size=40, V=50, seed_words=6):
    """Test sentences, kinds[what] of each kind, that are so far from some training sentence."""

    def make(rng):
        train = [rng.integers(V, size=int(rng.integers(4, 4 + seed_words))).tolist() for _ in range(size)]
        used, test = iter(rng.permutation(size).tolist()), []
        for what, many in kinds.items():
            for _ in range(many):
                s = list(train[next(used)])
                i, j = sorted(rng.permutation(len(s))[:2].tolist())
                word, other = (V + int(rng.integers(V)) for _ in range(2))
                test.append({
                    "equal": s, "replaced": [*s[:i], word, *s[i + 1 :]], "last replaced": [*s[:-1], word],
                    "added": [*s[:i], word, *s[i:]],
                    "left out": s[:i] + s[i + 1 :], "at the end": [*s, word], "first left out": s[1:],
                    "two replaced": [*s[:i], word, *s[i + 1 : j], other, *s[j + 1 :]],
                    "moved": [*s[1:], word],  # one left out in front, one added behind
                    "two added": [*s[:i], word, other, *s[i:]],
                    "two left out": s[:i] + s[i + 1 : j] + s[j + 1 :],
                    "exchanged": [*s[:i], s[j], *s[i + 1 : j], s[i], *s[j + 1 :]] if s[i] != s[j] else s[::-1] + s,
                    "far": rng.integers(2 * V, 3 * V, size=len(s)).tolist(),
                }[what])
        return {"train": train, "test": [test[i] for i in rng.permutation(len(test))]}

    return make


def twice(make):
    """Some sentences of both sides once more."""

    def again(rng):
        given = make(rng)
        return {"train": given["train"] + given["train"], "test": given["test"] + given["test"][:5]}

    return again


def any_ids(rng):
    """Ids of one to three digits, 0 among them: sentences two words away from each other that look alike where ids
    run together, or where 0 stands for any word."""
    train, test = [], []
    for i in range(5):
        a, b, c, d, e = (int(x) for x in 1 + rng.permutation(9)[:5])
        far = [int(x) for x in rng.integers(100, 900, size=2)]
        train += [[*far, a, 10 * b + c, d], [*far[::-1], e, d, c]] if i < 2 else [[far[0], a, 0, b, far[1]]]
        test += [[*far, 10 * a + b, c, d], [*far[::-1], e, 0, c]] if i < 2 else [[far[0], 0, c, b, far[1]]]
    order = rng.permutation(len(test)).tolist()
    return {"train": [train[i] for i in rng.permutation(len(train))], "test": [test[i] for i in order]}


def one_word(rng):
    """Sentences of a single word among the others, on both sides."""
    words = [int(x) for x in rng.permutation(90)]
    train = [words[:3], [words[3]], words[4:9]]
    test = [[words[20]], [words[21]], [words[22], words[3]], [words[3], words[23]], [words[24], words[25]],
            words[26:29], [words[3]], [*words[:2], words[29]], [words[30], *words[5:9]], words[5:9], words[4:8]]
    return {"train": train, "test": [test[i] for i in rng.permutation(len(test))]}


def many(size, tests, V, lead):
    """So many sentences that every pair of them would take too long, all with the same first words; none of them is
    near by chance."""

    def make(rng):
        first = rng.integers(V, size=lead).tolist()
        train, test = ([first + row[: 4 + i % 2] for i, row in enumerate(rng.integers(V, size=(n, 5)).tolist())]
                       for n in (size, tests))
        for i in range(int(rng.integers(tests // 5, tests // 2))):
            test[i] = list(train[(7 * i) % size])
            test[i][i % 5] = V + i
        test[-1] = [train[-1][0]] * 2 + train[-1]  # two more, though no other words
        return {"train": train, "test": test}

    return make


# 13.12


def padded_reading(B, n, m, heads, width, full=False, large=1.0):
    def make(rng):
        d = heads * width
        lengths = np.full(B, m) if full else m - 1 - rng.permutation(B)
        M = rng.normal(size=(B, m, d))
        M[np.arange(m) >= lengths[:, None]] *= 3 * large
        maps = {name: rng.normal(size=(d, d)) / np.sqrt(d) for name in ("W_q", "W_k", "W_v")}
        return {"Y": large * rng.normal(size=(B, n, d)), "M": M, "lengths": lengths, **maps, "heads": heads,
                "dO": rng.normal(size=(B, n, d))}

    return make


def call_read(answer, inputs):
    """The output, and what comes back to the source and to the target."""
    import torch

    Y, M = (inputs[name].detach().requires_grad_() for name in ("Y", "M"))  # the same memory: a change is seen
    O = answer(Y, M, *(inputs[name] for name in ("lengths", "W_q", "W_k", "W_v", "heads")))
    if O is None or O is Ellipsis:
        return None
    if not isinstance(O, torch.Tensor):
        raise WrongAnswer(f"returned {kind_of(O)}, expected a tensor")
    if O.shape != Y.shape:
        raise WrongAnswer(f"O has shape {tuple(O.shape)}, expected {tuple(Y.shape)}")
    if not O.requires_grad:
        raise WrongAnswer("the result has no graph, so nothing could be trained: no detach, no numpy, no inference "
                          "mode")
    dM, dY = torch.autograd.grad(O, (M, Y), inputs["dO"].to(O.dtype), allow_unused=True)
    if dM is None or dY is None:
        raise WrongAnswer(f"no gradient comes back to {'M' if dM is None else 'Y'}")
    return [O, dM, dY]


# 13.13


def shares(low, high, beta=None):
    def make(rng):
        P, R = rng.uniform(low, high, size=2)
        return {"P": round(float(P), 3), "R": round(float(R), 3),
                "beta": round(float(rng.uniform(2.1, 3.5)), 2) if beta is None else beta}

    return make
