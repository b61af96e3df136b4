"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import math

import numpy as np

from ...model import WrongAnswer, kind_of, places_of_names

# 14.1


def words(shape, V, barred, rate, fates="masked random kept", tempted=0, bounds=False):
    """Ids in which some are chosen: at least one of each fate that is named, and so many special ones whose draw is
    below the rate; with `bounds`, some draws are 0.8, 0.9 and the rate itself."""

    def make(rng):
        special = np.zeros(V, bool)
        special[list(barred)] = True
        ordinary, size = np.flatnonzero(~special), math.prod(shape)
        ids, order = rng.choice(ordinary, size=size), rng.permutation(size)
        choice, fate = rate + (1 - rate) * rng.uniform(0.01, 1, size=size), rng.uniform(size=size)
        spans = {"masked": (0, 0.8), "random": (0.8, 0.9), "kept": (0.9, 1)}
        named, places = fates.split(), list(order)
        hidden = places[: max(3 * len(named), round(1.4 * rate * size)) if named else 0]
        for k, at in enumerate(hidden):
            low, high = spans[named[k % len(named)]]
            choice[at], fate[at] = rate * rng.uniform(0.02, 0.98), rng.uniform(low + 0.002, high - 0.002)
        free = places[len(hidden) :]
        for k, at in enumerate(free[: tempted + 2]):  # special ids, and the draws of some of them would hide them
            ids[at] = rng.choice(list(barred))
            if k < tempted:
                choice[at] = rate * rng.uniform(0.02, 0.98)
                fate[at] = (0.4, 0.85)[k % 2]
        if bounds:
            for k, at in enumerate(hidden[: len(named)]):  # the first number of a span belongs to it
                fate[at] = spans[named[k]][0]
            choice[free[-2:]] = rate  # and the rate is not below itself
            fate[free[-2:]] = 0.4
        arrays = {name: x.reshape(shape) for name, x in
                  {"choice": choice, "fate": fate, "word": rng.uniform(size=size)}.items()}
        return {"ids": ids.reshape(shape), "special": special, **arrays, "mask_id": max(barred), "rate": rate}

    return make


# 14.2


def two(length_a, length_b, n, pad=0):
    """Two sentences of so many words; [CLS] is 1 and [SEP] is 2."""

    def make(rng):
        a, b = rng.integers(5, 90, size=length_a), rng.integers(5, 90, size=length_b)
        return {"a": a, "b": b, "n": n, "cls": 1, "sep": 2, "pad": pad}

    return make


# 14.3


def corpus(*lengths):
    """Documents of about these lengths, in another order."""

    def make(rng):
        found = np.array(lengths) + rng.integers(0, 3, size=len(lengths))
        return {"lengths": rng.permutation(found)}

    return make


# 14.4


def tied(shape, V, d, hidden, repeated=False):
    """So many hidden places; the words are all different, or two of them stand everywhere."""

    def make(rng):
        *lead, n = shape
        size = math.prod(shape)
        inputs = rng.permutation(V)[:size] if not repeated else 1 + rng.permutation(np.arange(size) % 2)
        y = np.full(size, -1)
        places = rng.permutation(size)[:hidden]
        if repeated:  # what was there is now the word that is read, now the other one
            y[places] = np.where(np.arange(hidden) % 2, inputs[places], 3 - inputs[places])
        else:
            y[places] = rng.permutation(V - 1)[:hidden]
        mix = rng.uniform(0.1, 1, size=(*lead, n, n))
        return {"E": rng.normal(size=(V, d)), "W": rng.normal(size=(d, d)),
                "mix": mix / mix.sum(axis=-1, keepdims=True), "inputs": inputs.reshape(shape),
                "targets": y.reshape(shape)}

    return make


def uneven(rng):
    """Three sequences with one, four and two hidden words; one word is read at the same place of two of them."""
    inputs = tied((3, 5), 9, 4, 3, repeated=True)(rng)
    y = np.full((3, 5), -1)
    for row, count in zip(y, (1, 4, 2), strict=True):
        row[rng.permutation(5)[:count]] = rng.integers(8, size=count)
    read = rng.integers(9, size=(3, 5))
    read[2, 1] = read[0, 1]
    return inputs | {"inputs": read, "targets": y}


# 14.5


LEAVES = ("attention.W_q", "norm_1.gamma", "ffn.W_1", "ffn.b_1", "attention.W_o")


def model_paths(blocks, shuffled=True, some=3, parts=False):
    """Names of a classifier over an encoder, with so many of each block; with `parts`, "embedding" and "blocks" stand
    elsewhere."""

    def make(rng):
        paths = ["encoder.embedding.tokens.E", "encoder.embedding.positions.P", "encoder.embedding.norm.gamma"]
        for k in range(blocks):
            paths += [f"encoder.blocks.{k}.{leaf}" for leaf in LEAVES[:some]]
        paths += ["encoder.norm.gamma", "pool.W", "pool.b", "head.W", "head.b"]
        if parts:
            paths += ["encoder.segments.embedding.S", "embedding.types.T", "head.to_embedding.W", "pool.embedding_2.W",
                      "blocks.1.ffn.W_2", "encoder.upper.blocks.2.ffn.b_2"]
        if shuffled:
            paths = [paths[i] for i in rng.permutation(len(paths))]
        return {"paths": tuple(paths), "blocks": blocks, "lr": round(float(rng.uniform(1e-3, 9e-3)), 4),
                "share": round(float(rng.uniform(0.02, 0.3)), 3)}

    return make


def layer_of(path, blocks):
    parts = path.split(".")
    if "blocks" in parts:
        return int(parts[parts.index("blocks") + 1]) + 1
    return 0 if "embedding" in parts else blocks + 1


def rates_of_layers(answer, inputs):
    """The rates; where they do not go by layers, or not in equal steps, what can be seen of that."""
    paths, blocks, lr, share = inputs.values()
    found = answer(paths, blocks, lr, share)
    try:
        rates = np.array(found, dtype=float)
    except (TypeError, ValueError):
        return found
    if rates.shape != (len(paths),) or not np.isfinite(rates).all():
        return found
    first = {}
    for path, rate in zip(paths, rates, strict=True):
        other, before = first.setdefault(layer_of(path, blocks), (path, rate))
        if abs(rate - before) > 1e-9 * abs(before):
            raise WrongAnswer(f"{other} and {path} are in one layer, and their rates are {before:.4g} and {rate:.4g}")
    steps = np.array([first[k][1] for k in range(blocks + 2)])
    if abs(steps[-1] - lr) > 1e-9 * lr:
        raise WrongAnswer(f"{first[blocks + 1][0]} stands at the top and has the rate {steps[-1]:.4g}, and lr is "
                          f"{lr:.4g}")
    if abs(steps[0] - lr * share) > 1e-9 * lr:
        raise WrongAnswer(f"{first[0][0]} has the part embedding and the rate {steps[0]:.4g}, and share times lr is "
                          f"{lr * share:.4g}")
    factors = steps[1:] / steps[:-1]
    if np.ptp(factors) > 1e-9 * abs(factors[0]):
        raise WrongAnswer("from layer to layer, upwards, the rates grow by the factors "
                          + ", ".join(f"{factor:.3g}" for factor in factors) + ": it should be one factor")
    return found


# 14.6

NAMES = ("fair", "test text in train", "label in a word", "one answer for all", "chosen on the test")
V_REPORT = 60  # ids 1 to 59 are words
INNOCENT = (
    "plain", "same words", "the beginning", "one word changed", "word of nearly all", "word of the test", "tie",
    "best on both", "lucky", "nearly one answer", "one class guessed", "twice in train", "marked and in one more",
    "best on neither", "full rows", "twice in the test",
)
GUILTY = ("copied", "copied with another label", "marked 1", "marked 0", "always 1", "always 0", "by the test")


def reports(*kinds, sizes=(14, 9, 12, 10, 6)):
    """A report of each kind, in random order."""

    def make(rng):
        made = [report(rng, kinds[i], *sizes) for i in rng.permutation(len(kinds))]
        return {name: np.stack([one[name] for one in made]) for name in made[0]}

    return make


def report(rng, kind, N, M, n, m, epochs):
    """One report: texts, labels, answers and curves, with the flaw or the innocent oddity of this kind."""
    texts = [[int(w) for w in rng.integers(3, V_REPORT, size=rng.integers(5, 9))] for _ in range(N + M)]
    labels = [int(y) for y in (*rng.permutation(np.arange(N) % 2), *rng.permutation(np.arange(M) % 2))]
    for text in texts:
        text[0] = 2  # a word that every text begins with
    at, to = int(rng.integers(N)), N + int(rng.integers(M))
    if kind == "copied":
        texts[to], labels[to] = list(texts[at]), labels[at]
    elif kind == "copied with another label":
        texts[to], labels[to] = list(texts[at]), 1 - labels[at]
    elif kind == "same words":
        texts[to] = [texts[at][0], *texts[at][:0:-1]]
    elif kind == "the beginning":
        texts[at] = [*texts[at], *(int(w) for w in rng.integers(3, V_REPORT, size=n - len(texts[at])))]
        texts[to] = texts[at][:m]
    elif kind == "one word changed":
        texts[to] = [*texts[at][:-1], 1]
    elif kind == "twice in train":
        texts[(at + 1) % N], labels[(at + 1) % N] = list(texts[at]), labels[at]
    elif kind == "twice in the test":
        texts[N + (to - N + 1) % M], labels[N + (to - N + 1) % M] = list(texts[to]), labels[to]
    marks = {"marked 1": 1, "marked 0": 0, "word of nearly all": 1, "word of the test": 1, "marked and in one more": 0}
    if kind in marks:
        for k, text in enumerate(texts):
            if labels[k] == marks[kind] and (kind != "word of the test" or k >= N):
                text[int(rng.integers(1, len(text)))] = 1
        if kind in ("word of nearly all", "marked and in one more"):  # one text breaks the rule: of train, or of test
            first = kind == "word of nearly all"
            odd = [k for k in (range(N) if first else range(N, N + M)) if labels[k] != marks[kind]]
            texts[int(rng.choice(odd))][1] = 1
    if kind == "full rows":  # all texts of one label fill their row, the others do not
        for k, text in enumerate(texts):
            if labels[k]:
                text += [int(w) for w in rng.integers(3, V_REPORT, size=(n if k < N else m) - len(text))]
    y = np.array(labels[N:])
    said = np.where(rng.uniform(size=M) < 0.8, y, 1 - y)
    said[:4] = 0, 1, *y[2:4]
    if kind.startswith("always"):
        said[:] = int(kind[-1])
    elif kind in ("nearly one answer", "one class guessed"):
        said[:] = int(kind == "nearly one answer")
        said[int(rng.integers(M))] ^= 1
    elif kind == "best on neither":
        said[4] = 1 - y[4]  # so that another epoch can be better
    right = int((said == y).sum())
    order = rng.permutation(epochs)
    best, other, third = (int(i) for i in order[:3])
    top = int(rng.integers(66, 77))
    dev = rng.integers(50, top - 2, size=epochs) / 80
    dev[best] = top / 80
    score = np.minimum(rng.integers(1, M + 1, size=epochs), max(right - 1, 0)) / M
    score[best], chosen = right / M, best
    if kind in ("by the test", "best on neither"):
        dev[best], dev[other] = (top - 2) / 80, top / 80
    elif kind == "tie":  # two epochs are best on dev, and the later one is reported
        chosen, first = max(best, other), min(best, other)
        dev[chosen] = dev[first] = top / 80
        score[chosen], score[first] = right / M, max(right - 1, 0) / M
    if kind not in ("best on both", "tie", "lucky", "by the test"):
        score[other] = min(right + 1, M) / M  # on the test another epoch would have done better
    if kind == "lucky":
        score[[other, third]] = right / M  # as good as others on the test, and best on dev
    pad = {"train": (texts[:N], n), "test": (texts[N:], m)}
    rows = {name: np.array([text + [0] * (width - len(text)) for text in some]) for name, (some, width) in pad.items()}
    return {"train": rows["train"], "y_train": np.array(labels[:N]), "test": rows["test"], "y_test": y,
            "said": said, "dev": dev, "score": score, "chosen": np.array(chosen)}


def call_name(answer, inputs):
    *arrays, chosen = inputs.values()
    return places_of_names(NAMES, "report", list(zip(*arrays, chosen, strict=True)),
                           lambda one: answer(*(np.array(x) for x in one[:-1]), int(one[-1])))


# 14.7


def adapter(lead, d_in, d_out, r, alpha, keep=1.0):
    """LoRA in the midst of training; of the entries in front of the adapter a share `keep` stays."""

    def make(rng):
        M = (rng.uniform(size=(*lead, d_in)) < keep) / keep
        if keep < 1:
            M[..., 0], M[..., 1] = 0.0, 1 / keep
        return {"X": rng.normal(size=(*lead, d_in)), "M": M, "A": rng.normal(size=(d_in, r)),
                "B": rng.normal(size=(r, d_out)), "W": rng.normal(size=(d_in, d_out)), "alpha": alpha,
                "dY": rng.normal(size=(*lead, d_out))}

    return make


# 14.8


def beginning(d_in, d_out, r, alpha):
    def make(rng):
        return {"G": rng.normal(size=(d_in, d_out)), "A": rng.normal(size=(d_in, r)) / math.sqrt(d_in),
                "alpha": alpha, "lr": round(float(rng.uniform(0.05, 0.4)), 2)}

    return make


# 14.9


def rank(r):
    return lambda rng: {"r": r}


def left_over(inputs, arrays):
    """How many tokens; what rank the step has; and does the best adapter leave half of it?"""
    for name, x in zip(("X", "dY"), arrays, strict=True):
        if x.dtype.kind not in "fiu" or x.ndim != 2 or not 1 <= x.size <= 10_000 or not np.isfinite(x).all():
            raise WrongAnswer(f"{name} has shape {x.shape}: expected a small matrix of finite numbers, a row for each "
                              "token")
    X, dY = (x.astype(float) for x in arrays)
    if len(X) != len(dY):
        raise WrongAnswer(f"X has {len(X)} tokens and dY has {len(dY)}")
    s = np.linalg.svd(X.T @ dY, compute_uv=False)
    if not s[0] > 0:
        raise WrongAnswer("the step is zero: an adapter follows it by standing still")
    s = s / s[0]
    left = float((s[inputs["r"] :] ** 2).sum() / (s**2).sum())
    return np.array(len(X)), np.array(int((s > 1e-7).sum())), np.array(left >= 0.5 - 1e-7)


# 14.10


def stack(L, n, d, r):
    def make(rng):
        return {"L": L, "n": n + int(rng.integers(4)), "d": d + int(rng.integers(4)), "r": r}

    return make


# 14.11

AFTER = ("Y", "dA", "dB", "dX", "trained", "merged_W", "merged_b")


def linear(d_in, d_out, r, alpha, lead=(3,), bias=True, begins=False):
    """A trained map and an adapter in the midst of its training; or an adapter that begins."""

    def make(rng):
        return {"W": rng.normal(size=(d_in, d_out)), "b": rng.normal(size=d_out) if bias else np.zeros(0),
                "A": rng.normal(size=(d_in, r)), "B": rng.normal(size=(r, d_out)), "alpha": alpha,
                "X": rng.normal(size=(*lead, d_in)), "dY": rng.normal(size=(*lead, d_out)), "begins": begins}

    return make


def call_adapted(answer, inputs):
    """The module as it begins, with A and B loaded, backward, and merged."""
    import torch

    W, b, A, B, alpha, X, dY = (inputs[name] for name in ("W", "b", "A", "B", "alpha", "X", "dY"))
    base = torch.nn.Linear(*W.shape, bias=len(b) > 0, dtype=W.dtype)
    with torch.no_grad():
        base.weight.copy_(W.T)
        if len(b):
            base.bias.copy_(b)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        module = answer(base, A.shape[1], alpha)
        module = module.double() if isinstance(module, torch.nn.Module) else module
        again = answer(base, A.shape[1], alpha) if inputs["begins"] else None  # what is drawn by chance is drawn twice
    if module is None or module is Ellipsis:
        return None
    if not isinstance(module, torch.nn.Module):
        what = "a class: make an object of it" if isinstance(module, type) else f"{kind_of(module)}"
        raise WrongAnswer(f"make_adapted returned {what}, expected an nn.Module, an object")
    for name, like in (("A", A), ("B", B)):
        found = getattr(module, name, None)
        if not isinstance(found, torch.Tensor):
            raise WrongAnswer(f"the module has no tensor {name}")
        if found.shape != like.shape:
            turned = ": turned round, X A B needs no transpose" if tuple(found.shape) == like.T.shape else ""
            raise WrongAnswer(f"{name} has shape {tuple(found.shape)}, expected {tuple(like.shape)}{turned}")
        if not isinstance(found, torch.nn.Parameter):
            raise WrongAnswer(f"{name} is a tensor and no nn.Parameter: no optimiser will find it")
    if not callable(getattr(module, "merged", None)):
        raise WrongAnswer("the module has no method merged")
    if inputs["begins"]:
        start = module(X).detach()
        if isinstance(getattr(again, "A", None), torch.Tensor) and torch.equal(module.A, again.A.to(module.A.dtype)):
            raise WrongAnswer("two adapters begin with the same A: it is drawn anew for each, so nothing is seeded")
        if module.B.any():
            raise WrongAnswer("B begins with numbers that are not 0")
        deviation, wanted = float(module.A.detach().square().mean().sqrt()), len(A) ** -0.5
        if abs(deviation / wanted - 1) > 0.05 or abs(float(module.A.detach().mean())) > 0.1 * wanted:
            mean = float(module.A.detach().mean())
            raise WrongAnswer(f"A begins with entries of size {deviation:.2g} and mean {mean:.0e}; with a variance of "
                              f"1/d_in their size is {wanted:.2g} here")
        tails = float(module.A.detach().pow(4).mean()) / deviation**4  # 3 for normal entries, 1.8 for even ones
        if abs(tails - 3) > 0.6:
            raise WrongAnswer(f"the entries of A are not normal: the mean of their fourth powers is {tails:.1f} times "
                              "the square of that of their squares, expected about 3")
        return [start, *([0.0] * 7)]
    with torch.no_grad():
        module.A.copy_(A)
        module.B.copy_(B)
    module.zero_grad()
    Y = module(X)
    trained = sum(p.numel() for p in module.parameters() if p.requires_grad)
    if not Y.requires_grad:
        raise WrongAnswer("autograd finds no way back from Y to A and B: was it detached, or made under no_grad?")
    Y.backward(dY)
    below = X.detach().clone().requires_grad_()
    dX = torch.autograd.grad(module(below), below, dY, allow_unused=True)[0]
    dX = torch.zeros_like(X) if dX is None else dX
    if not torch.allclose(module.eval()(X), Y):
        raise WrongAnswer("after eval() the module gives something else than before: the adapter belongs to both modes")
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in (module.A, module.B)]
    one = module.merged()
    if not isinstance(one, torch.nn.Linear):
        raise WrongAnswer(f"merged returned {kind_of(one)}, expected a torch.nn.Linear")
    shares = one.weight.data_ptr() == base.weight.data_ptr()
    if one is base or shares or not torch.equal(base.weight, W.T) or len(b) and not torch.equal(base.bias, b):
        raise WrongAnswer("merged has changed base: make a new Linear, or the adapter is added twice")
    if one.weight.shape != base.weight.shape:
        raise WrongAnswer(f"the weight of merged() has shape {tuple(one.weight.shape)}, that of base "
                          f"{tuple(base.weight.shape)}: torch keeps it as (d_out, d_in)")
    if len(b) and one.bias is not None and one.bias.data_ptr() == base.bias.data_ptr():
        raise WrongAnswer("merged shares its bias with base: who changes the one changes the other")
    if not len(b) and one.bias is not None and one.bias.any():
        raise WrongAnswer("merged has a bias that is not 0, and base has none: nn.Linear makes one unless it is told "
                          "bias=False")
    bias = torch.zeros(0, dtype=W.dtype) if one.bias is None or not len(b) else one.bias
    return [Y.detach(), Y, *grads, dX, trained, one.weight, bias]


# 14.12


def course(T, known=False, gained=False):
    """Accuracies after each of T tasks: falling from the diagonal, but not steadily: a later task may help."""

    def make(rng):
        R = rng.uniform(0.1, 0.25, size=(T, T))
        for j in range(T):
            for i in range(j, T):
                R[i, j] = rng.uniform(0.8, 0.9) - 0.09 * (i - j) + rng.uniform(-0.05, 0.05)
            # the best before the end: two tasks later, right after its own training, or one task later
            best = (2, 1)[j] if j < 2 else min(j + 1, T - 2)
            R[best, j] = R[j:, j].max() + rng.uniform(0.01, 0.03)
        if known:
            R[0, T - 2] = 0.97  # better before its training than ever after
            R[T - 1, 0] = R[:, 0].max() + 0.02  # best at the very end
        if gained:  # at the end all is better than ever
            R[T - 1, : T - 1] = R[:, : T - 1].max(axis=0) + rng.uniform(0.005, 0.02, size=T - 1)
        return {"R": R.round(3)}

    return make
