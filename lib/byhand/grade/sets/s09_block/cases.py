"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, kind_of

NAMES = ("W_q", "W_k", "W_v", "W_o", "W_1", "b_1", "W_2", "b_2", "gamma_1", "beta_1", "gamma_2", "beta_2")


def gates(name, *shape):
    def make(rng):
        X = 2 * rng.normal(size=shape)
        X.flat[:2] = rng.uniform(3.5, 5, size=2) * (1, -1)  # beyond both ends of a ramp from −3 to 3
        X.flat[2:4] = rng.uniform((0.6, 1.5), (0.9, 2.5)) * (1, -1)  # and on it, beyond ±1/2 and ±1
        return {"dY": rng.normal(size=shape), "X": X, "name": name}

    return make


def far_out(rng):
    """Where e^x is more than float64 can hold."""
    X = rng.normal(size=(2, 4))
    X[0, 0], X[1, 1] = -1000.0, 1000.0
    return {"dY": rng.normal(size=X.shape), "X": X, "name": "mish"}


def swiglu(n, d, f, lead=()):
    def make(rng):
        return {
            "dY": rng.normal(size=(*lead, n, d)),
            "X": rng.normal(size=(*lead, n, d)),
            "W_g": rng.normal(size=(d, f)),
            "W_1": rng.normal(size=(d, f)),
            "W_2": rng.normal(size=(f, d)),
        }

    return make


def layer(B, n, d, f):
    def make(rng):
        return {
            "X": rng.normal(size=(B, d, n)),
            "W_1": rng.normal(size=(d, f)),
            "b_1": rng.normal(size=f),
            "W_2": rng.normal(size=(f, d)),
            "b_2": rng.normal(size=d),
        }

    return make


def branch(p, B, n, d, training):
    def make(rng):
        keep = rng.random(B) >= p
        keep[:2] = True, False  # at least one of each
        dY, X, F = (rng.normal(size=(B, n, d)) for _ in range(3))
        return {"dY": dY, "X": X, "F": F, "keep": keep, "p": p, "training": training}

    return make


def block(n, d, f, wiring):
    def make(rng):
        weights = {"W_1": (d, f), "b_1": (f,), "W_2": (f, d), "b_2": (d,)}
        weights = dict.fromkeys(NAMES[:4], (d, d)) | weights
        inputs = {"dY": rng.normal(size=(n, d)), "X": rng.normal(size=(n, d)), "wiring": wiring}
        inputs |= {name: rng.normal(size=size) / (d**0.5 if name[0] == "W" else 2) for name, size in weights.items()}
        return inputs | {name: rng.normal(float(name[0] == "g"), 0.5, size=d) for name in NAMES[8:]}

    return make


def call_block(answer, inputs):
    """Hand the parameters over as one dict; lay the gradients side by side in the order of their names."""
    returned = answer(inputs["dY"], inputs["X"], {name: inputs[name] for name in NAMES}, inputs["wiring"])
    if returned is None or returned is Ellipsis:
        return None
    if type(returned) not in (tuple, list) or len(returned) != 3:
        raise WrongAnswer("return three things: Y, dX and the dict of gradients")
    Y, dX, grads = returned
    if type(grads) is not dict or set(grads) != set(NAMES):
        if type(grads) is not dict:
            raise WrongAnswer(f"the gradients are {kind_of(grads)}; expected a dict")
        missing = [name for name in NAMES if name not in grads]
        extra = sorted(str(name) for name in grads if name not in NAMES)
        said = (f"there is no gradient of {', '.join(missing)}" if missing
                else f"no parameter is called {', '.join(extra)[:60]}")
        raise WrongAnswer(f"the dict needs one gradient for each parameter, under its name; {said}")
    return [Y, dX, *(grads[name] for name in NAMES)]


def sizes(gated, bias, wide=True):
    def make(rng):
        heads = int(rng.choice((3, 5, 6)))  # not 2 or 4: a quotient by them is also that of a forgotten product
        d = heads * int(rng.integers(3, 9))
        n = int(rng.integers(20, 60))
        return {"n": n, "d": d, "d_ff": 4 * d if wide else 3 * d + 1, "heads": heads, "gated": gated, "bias": bias}

    return make


def deviation(low, high):
    return lambda rng: {"s": round(float(rng.uniform(low, high)), 2)}


# ---------------------------------------------------------------- layers made by hand


def _layer_of(arrays, width, out, most):
    """A ReLU layer as a function, after a look at its shapes; WrongAnswer if it cannot be one."""
    W_1, b_1, W_2, b_2 = (a.astype(float) for a in arrays)
    f = W_1.shape[0 if W_1.shape[-1] == width != W_1.shape[0] else 1] if W_1.ndim == 2 else "f"
    wanted = {"W_1": (width, f), "b_1": (f,), "W_2": (f, out), "b_2": (out,)}
    for (name, shape), a in zip(wanted.items(), (W_1, b_1, W_2, b_2), strict=True):
        if a.shape != shape:
            turned = ": a token is a row, and stands on the left" if a.shape == shape[::-1] else ""
            raise WrongAnswer(f"{name} has shape {a.shape}, expected {str(shape).replace(chr(39), '')}{turned}")
        if not np.isfinite(a).all():
            raise WrongAnswer(f"{name} contains nan or inf")
    if f > most:
        raise WrongAnswer(f"the layer has {f} hidden units, expected at most {most}")
    return lambda X: np.maximum(X @ W_1 + b_1, 0) @ W_2 + b_2


def width(k):
    return lambda rng: {"k": k}


def larger_of(inputs, arrays):
    """What the layer says to tokens of every kind: of size one, and so large that no bias lifts them above 0: one
    that did would take away all digits of the small ones."""
    k = inputs["k"]
    apply = _layer_of(arrays, 2 * k, k, 3 * k)
    X = np.random.default_rng(k).normal(size=(9, 2 * k))
    X[0], X[1] = np.abs(X[0]), -np.abs(X[1])
    small = apply(X)
    return small, apply(1e18 * X) / 1e18


def facts(s, t, v):
    return lambda rng: {"T": rng.normal(size=(s, t, v))}


def asked(inputs, arrays):
    """The answers to all pairs (i, j)."""
    s, t, v = inputs["T"].shape
    apply = _layer_of(arrays, s + t, v, s * t)
    pairs = np.zeros((s, t, s + t))
    for i in range(s):
        for j in range(t):
            pairs[i, j, [i, s + j]] = 1.0
    return (apply(pairs),)


# ---------------------------------------------------------------- who stays


def without(name):
    return lambda rng: {"zero": name}


def call_names(answer, inputs):
    """For each parameter by itself: 1 where it gets no gradient."""
    returned = answer(inputs["zero"])
    if returned is None or returned is Ellipsis:
        return None
    try:
        names = None if isinstance(returned, str) else iter(returned)
    except TypeError:
        names = None
    if names is None:
        raise WrongAnswer(f"returned one {type(returned).__name__}, expected a list of names")
    names = list(names)  # a generator gives them once
    for name in names:
        if not isinstance(name, str) or str(name) not in NAMES:
            raise WrongAnswer(f"no parameter is called {str(name)[:40]!r}; they are {', '.join(NAMES)}")
    return [np.int64(name in names) for name in NAMES]


# ---------------------------------------------------------------- a module


def module(n, d, f, p, lead=()):
    def make(rng):
        return {"d": d, "f": f, "p": p, **{name: x for name, x in swiglu(n, d, f, lead)(rng).items()}}

    return make


def call_module(answer, inputs):
    """Build the module, give it the weights, and use it in evaluation, backward, and in training."""
    import torch

    with torch.random.fork_rng(devices=[]):  # the learner's own draws go on as if nothing had been checked
        return _use_module(answer, inputs)


def _use_module(answer, inputs):
    import torch

    d, f, p = (inputs[name] for name in ("d", "f", "p"))
    made = answer(d, f, p)
    if made is None or made is Ellipsis:
        return None
    if not isinstance(made, torch.nn.Module):
        raise WrongAnswer(f"returned {kind_of(made)}, expected an nn.Module"
                          + (" (the class itself, not one of its objects)" if isinstance(made, type) else ""))
    made = made.double()
    weights = {name: inputs[name] for name in ("W_g", "W_1", "W_2")}
    found = {name: tuple(x.shape) for name, x in made.named_parameters()}
    if set(found) != set(weights):
        if not set(weights) & set(found):
            raise WrongAnswer("it has no parameters W_g, W_1, W_2: an array becomes one as an nn.Parameter")
        raise WrongAnswer(f"its parameters are called {', '.join(found)}; expected W_g, W_1, W_2, each an nn.Parameter")
    for name, x in weights.items():
        if found[name] != tuple(x.shape):
            raise WrongAnswer(f"{name} has shape {found[name]}, expected {tuple(x.shape)}: X stands on the left of it")
    made.load_state_dict(weights, strict=False)
    made.eval()
    torch.default_generator.manual_seed(0)
    X = inputs["X"].clone().requires_grad_()
    Y = made(X)
    if not isinstance(Y, torch.Tensor):
        raise WrongAnswer(f"called, the module gives {kind_of(Y)}, expected a tensor")
    if Y.shape != inputs["dY"].shape:
        raise WrongAnswer(f"called on {tuple(X.shape)}, the module gives {tuple(Y.shape)}")
    if not Y.requires_grad:
        raise WrongAnswer("the output knows nothing of the parameters: was detach or no_grad on the way?")
    Y.backward(inputs["dY"])
    parameters = dict(made.named_parameters())
    lost = [name for name in weights if parameters[name].grad is None]
    if X.grad is None or lost:
        raise WrongAnswer(f"backward reaches all but {', '.join(['X'] * (X.grad is None) + lost)}")
    grads = [parameters[name].grad for name in weights]
    made.train()
    torch.default_generator.manual_seed(0)
    with torch.no_grad():
        many = torch.randn(400, d, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        trained = made(many)
        for _ in range(20):  # of few coins all may show the same side
            kept = trained != 0
            trained = made(many) if kept.all() or not kept.any() else trained
        again = made(many)  # a seed in forward, or a mask that is kept, gives the same one
        still = made.eval()(many)
    kept = trained != 0
    ratios = (trained / still)[kept]
    factor = torch.stack([ratios.min(), ratios.max()]) if kept.any() else torch.zeros(2, dtype=torch.float64)
    share = 1 - kept.double().mean()
    # 1 is right; 0: another share; 2: whole tokens are dropped; 3: whole features, or all; 4: the same in each pass
    tokens, features = ((kept.all(dim=axis) | ~kept.any(dim=axis)).all() and p and share for axis in (1, 0))
    known = 3 if features else 2 if tokens else 4 if 0 < share < 1 and torch.equal(kept, again != 0) else None
    return [Y, X.grad, *grads, factor, int(abs(share - p) < 0.06) if known is None else known]
