"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import math

import numpy as np

from ...model import WrongAnswer, places_of_names


def tokens(T, V, eps=0.0, ignored=0, weighted=False, scale=1.0):
    def make(rng):
        targets = rng.integers(V - 1, size=T)  # never the last word, which −1 would mean as an index
        targets[rng.permutation(T)[:ignored]] = -1
        weights = rng.uniform(0.5, 3, size=T) if weighted else np.ones(T)
        logits = scale * rng.normal(size=(T, V))
        if scale > 1:  # one maximum for all rows is not enough
            logits += 1500.0 * rng.permutation(T)[:, None]
        return {"logits": logits, "targets": targets, "weights": weights, "eps": eps}

    return make


def broken_rows(rng):
    """Ignored tokens whose logits are no numbers at all."""
    inputs = tokens(6, 5, 0.0, 2)(rng)
    ignored = np.flatnonzero(inputs["targets"] < 0)
    inputs["logits"][ignored[0]], inputs["logits"][ignored[1], 2] = np.nan, np.inf
    return inputs


def frequencies(V, y=None):
    def make(rng):
        u = rng.uniform(0.5, 4, size=V)
        return {"u": u / u.sum(), "y": int(rng.integers(2, V)) if y is None else y,
                "eps": round(float(rng.uniform(0.05, 0.3)), 2)}

    return make


def walk(T, n, decay=0.0, scale=1.0, gaps=False):
    def make(rng):
        gradients = scale * rng.normal(size=(T, n))
        if gaps:
            gradients[: T // 2, 0] = 0.0  # a word that does not occur for a while
        return {"theta": rng.normal(size=n), "gradients": gradients, "lr": 0.02, "beta1": 0.9, "beta2": 0.98,
                "eps": 1e-8, "decay": decay}

    return make


NAMES = ("correct", "eps inside the root", "1 - beta1 in v", "no bias correction", "L2 for decay", "t counts leaves",
         "rate counts leaves")
SIZES = (1.0, 1e-2, 1e-6)  # of the gradients, leaf by leaf: only the last shows where eps stands


def record(fault, gradients, theta, peak, warmup, decay):
    """The parameters before the first step and after each, by an AdamW with this fault."""
    k = gradients.shape[1]
    m, v, thetas = np.zeros(k), np.zeros(k), [theta]
    for t, g in enumerate(gradients, start=1):
        calls = k * (t - 1) + 1 + np.arange(k)
        lr = peak * np.minimum(1, (calls if fault == "rate counts leaves" else t) / warmup)
        if fault == "L2 for decay":
            g = g + decay * theta
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + (0.1 if fault == "1 - beta1 in v" else 0.001) * g * g
        s = calls if fault == "t counts leaves" else t
        c1, c2 = (1.0, 1.0) if fault == "no bias correction" else (1 - 0.9**s, 1 - 0.999**s)
        root = np.sqrt(v / c2 + 1e-8) if fault == "eps inside the root" else np.sqrt(v / c2) + 1e-8
        pull = 0.0 if fault == "L2 for decay" else decay
        theta = theta - lr * (m / c1 / root + pull * theta)
        thetas.append(theta)
    return np.array(thetas)


def records(T, faults):
    """Several records of the same gradients, in random order."""

    def make(rng):
        gradients = np.asarray(SIZES) * rng.normal(size=(T, len(SIZES)))
        theta, peak, warmup, decay = rng.normal(size=len(SIZES)), 0.01, 5, 0.1
        thetas = np.stack([record(fault, gradients, theta, peak, warmup, decay) for fault in faults])
        return {"gradients": gradients, "thetas": thetas[rng.permutation(len(faults))], "peak": peak, "warmup": warmup,
                "decay": decay}

    return make


def call_name(answer, inputs):
    gradients, *options = (inputs[x] for x in ("gradients", "peak", "warmup", "decay"))
    return places_of_names(NAMES, "record", inputs["thetas"], lambda thetas: answer(gradients, thetas, *options))


def betas(t, usual=False):
    def make(rng):
        beta1, beta2 = (0.9, 0.999) if usual else (round(float(rng.uniform(0.5, 0.95)), 2),
                                                   round(float(rng.uniform(0.96, 0.999)), 3))
        return {"t": t, "beta1": beta1, "beta2": beta2}

    return make


def scores(*counts):
    """Batches of so many tokens, with perplexities far apart, and words of two to six characters."""

    def make(rng):
        sizes = np.array(counts)
        return {"perplexities": rng.uniform(1.5, 40, size=len(sizes)), "tokens": sizes,
                "characters": (sizes * rng.uniform(2, 6, size=len(sizes))).astype(int) + 1}

    return make


def at(step, warmup=20, total=100, start=60):
    """A schedule whose line down begins at step `start`."""

    def make(rng):
        peak = round(float(rng.uniform(1e-3, 9e-3)), 4)
        return {"step": step, "peak": peak, "warmup": warmup, "total": total,
                "distance": peak * (total + start - warmup) / 2}

    return make


def all_rates(answer, inputs):
    """The rates of all steps, or of one where `step` is not 0."""
    rest = [inputs[name] for name in ("peak", "warmup", "total", "distance")]
    if inputs["step"]:
        return answer(inputs["step"], *rest)
    rates = [answer(step, *rest) for step in range(1, inputs["total"] + 1)]
    return None if rates[0] is None or rates[0] is Ellipsis else np.sum(np.array(rates, dtype=float))


def beginnings(V, d, low, high):
    def make(rng):
        return {"V": V, "d": d, "sigma": round(float(rng.uniform(low, high)), 3),
                "most": round(float(rng.uniform(0.05, 0.4)), 2)}

    return make


def one_step(T, d, V, padded, part, decay=0.2):
    """A batch with so many padded places; the limit is this part of the norm of the gradient."""

    def make(rng):
        W, b, X = rng.normal(size=(d, V)), rng.normal(size=V), rng.normal(size=(T, d))
        y = rng.integers(V - 1, size=T)
        y[rng.permutation(T)[:padded]] = -1
        P = np.exp(X @ W + b)
        P = P / P.sum(axis=1, keepdims=True)
        G = (P - np.eye(V)[y]) * (y >= 0)[:, None] / (y >= 0).sum()
        norm = math.sqrt(((X.T @ G) ** 2).sum() + (G.sum(axis=0) ** 2).sum())
        return {"W": W, "b": b, "X": X, "y": y, "lr": round(float(rng.uniform(0.05, 0.3)), 2),
                "limit": part * norm, "decay": decay}

    return make


def limits(low, high):
    return lambda rng: {"limit": round(float(rng.uniform(low, high)), 2)}


def turned(inputs, arrays):
    """How many parts; is one longer than the limit; do they disagree; do the two steps go in opposite directions?"""
    (g,) = arrays
    if g.dtype.kind not in "fiu" or g.ndim != 1 or not 1 <= g.size <= 1000 or not np.isfinite(g).all():
        raise WrongAnswer("expected a few finite numbers in a row, the gradients (k,)")
    whole, clipped = g.mean(), np.clip(g, -inputs["limit"], inputs["limit"]).mean()
    far, near = abs(whole) > 1e-12 * np.abs(g).max(), abs(clipped) > 1e-12 * inputs["limit"]  # no rounding of 0
    turns = far and near and (whole < 0) != (clipped < 0)
    facts = np.abs(g).max() > inputs["limit"], g.min() < 0 < g.max(), turns
    return np.array(g.size), *(np.array(bool(fact)) for fact in facts)


def torn(counts, d, V):
    """Parts of a batch with so many tokens that count, and one place of padding each."""

    def make(rng):
        arrays = {"W": rng.normal(size=(d, V)), "b": rng.normal(size=V)}
        for k, n in enumerate(counts):
            X, y = rng.normal(size=(n + 1, d)), rng.integers(V, size=n + 1)
            y[int(rng.integers(n + 1))] = -1
            arrays |= {f"X_{k}": X, f"y_{k}": y}
        return arrays

    return make


def call_accumulate(answer, inputs):
    """A linear model with gradients left over from the step before; its gradients after the answer has run."""
    import torch

    W, b = inputs["W"], inputs["b"]
    model = torch.nn.Linear(*W.shape, dtype=W.dtype)
    with torch.no_grad():
        model.weight.copy_(W.T)
        model.bias.copy_(b)
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    count = sum(name.startswith("X_") for name in inputs)
    loss = answer(model, [(inputs[f"X_{k}"], inputs[f"y_{k}"]) for k in range(count)])
    if loss is None or loss is Ellipsis:
        return None
    if model.weight.grad is None or model.bias.grad is None:
        raise WrongAnswer("the parameters have no gradient afterwards: was backward called, and zero_grad before it?")
    if not torch.equal(model.weight, W.T) or not torch.equal(model.bias, b):
        raise WrongAnswer("the parameters have changed: only their gradients are asked for, not a step")
    return [loss, model.weight.grad.T.contiguous(), model.bias.grad]


def plain_tokens(T, V, scale=1.0, shift=0.0):
    def make(rng):
        drift = shift * rng.permutation(T)[:, None]  # one maximum for all rows is not enough
        logits, targets = drift + scale * rng.normal(size=(T, V)), rng.integers(V, size=T)
        targets[0] = logits[0].argmin() if shift else targets[0]  # a word whose probability comes out as 0
        return {"logits": logits, "targets": targets,
                "c": round(float(rng.uniform(0.05, 0.3)), 3)}

    return make


# 11.13

UPDATED = ("first", "second", "third", "norm")


def moved(shapes, part, decay=0.1, scale=1.0, compiled=False):
    """Three parameters of these shapes with gradients; the limit is this part of the norm of all of them."""

    def make(rng):
        arrays = {f"P_{k}": rng.normal(size=shape) for k, shape in enumerate(shapes)}
        gradients = {f"G_{k}": scale * rng.normal(size=shape) for k, shape in enumerate(shapes)}
        norm = math.sqrt(sum(float((g**2).sum()) for g in gradients.values()))
        return arrays | gradients | {"lr": round(float(rng.uniform(0.05, 0.3)), 2), "limit": part * norm or 1.5,
                                     "decay": decay, "compiled": compiled}

    return make


def call_update(answer, inputs):
    """The update of three parameters, run as it stands."""
    import torch

    params, gradients = ([inputs[f"{name}_{k}"] for k in range(3)] for name in "PG")
    lr = torch.tensor(inputs["lr"], dtype=torch.float64)
    found = answer(params, gradients, lr, inputs["limit"], inputs["decay"])
    if found is None or found is Ellipsis:
        return None
    if not isinstance(found, tuple | list) or len(found) != 2 or not isinstance(found[0], tuple | list):
        raise WrongAnswer("expected two results: a list of the new parameters, and the norm")
    if len(found[0]) != 3:
        raise WrongAnswer(f"returned {len(found[0])} new parameters, expected 3")
    return [*found[0], found[1]]


def compile_update(answer, inputs):
    """The same, and what torch.compile makes of it in three calls: how many graphs, and how many tensors in them that
    are turned into numbers."""
    found = call_update(answer, inputs)
    if found is None:
        return None
    if not inputs["compiled"] or getattr(answer, "compiles_whole", False):
        return [*found, 1, 0]
    if not str(getattr(answer, "__module__", "")).startswith("byhand."):
        made = graphs_of(answer, inputs)
    elif (made := KNOWN.get(answer)) is None:
        made = KNOWN[answer] = graphs_of(answer, inputs)
    if isinstance(made, str):
        raise WrongAnswer(made)
    return [*found, *made]


KNOWN = {}  # of the wrong versions, which are asked again and again: to compile one takes a tenth of a second


def graphs_of(answer, inputs):
    """The number of graphs, and that of tensors which become numbers in them; a text where there is no whole graph."""
    import torch

    graphs = []

    def keep(module, _):
        graphs.append(module.graph)
        return module.forward

    torch._dynamo.reset()  # else the eighth check of one function meets the limit of graphs
    whole = torch.compile(answer, backend=keep, fullgraph=True, dynamic=False)
    try:
        for times in (1.0, 2.0, 3.0):
            call_update(whole, {name: copy_of(value, times) for name, value in inputs.items()})
    except torch._dynamo.exc.TorchDynamoException as error:
        return torn_by(str(error))
    finally:
        torch._dynamo.reset()
    nodes = [node for graph in graphs for node in graph.nodes]
    return len(graphs), sum(node.target in ("item", "tolist", torch.Tensor.item) for node in nodes)


def copy_of(value, times):
    return value * times if hasattr(value, "shape") else value


def torn_by(text):
    """What stopped torch.compile, without its pages of advice."""
    if "data-dependent" in text.lower():
        return "torch.compile stops: Python asks for a number that only the run will know (data-dependent branching)"
    lines = [line.strip().removeprefix("Explanation: ") for line in text.splitlines() if line.strip()]
    return f"torch.compile stops: {'; '.join(lines[:2])}"[:300]
