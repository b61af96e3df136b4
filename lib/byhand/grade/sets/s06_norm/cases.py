"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, kind_of


def tokens(rng, *shape):
    """Tokens with a level and a size of their own."""
    size = np.exp(rng.uniform(-0.5, 1.0, size=(*shape[:-1], 1)))
    return size * rng.normal(size=shape) + rng.uniform(1, 2, size=(*shape[:-1], 1))


def affine(*shape, scale=1.0, eps=1e-5):
    def make(rng):
        d = shape[-1]
        return {"X": scale * tokens(rng, *shape), "gamma": rng.normal(size=d), "beta": rng.normal(size=d), "eps": eps}

    return make


def constant(rng):
    X = tokens(rng, 3, 4)
    X[1] = 2.0  # all features equal: the variance is exactly zero
    return {"X": X, "gamma": rng.normal(size=4), "beta": rng.normal(size=4), "eps": 1e-5}


def standardized(rng, shape, eps):
    X = tokens(rng, *shape)
    centred = X - X.mean(axis=-1, keepdims=True)
    s = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)
    return centred / s, s


def upstream(*shape, plain=False, eps=1e-5):
    def make(rng):
        X_hat, s = standardized(rng, shape, eps)
        gamma = np.ones(shape[-1]) if plain else rng.normal(size=shape[-1])
        return {"dY": rng.normal(size=shape), "X_hat": X_hat, "s": s, "gamma": gamma}

    return make


def rms(*shape, eps=1e-6):
    def make(rng):
        d = shape[-1]
        return {"dY": rng.normal(size=shape), "X": tokens(rng, *shape), "gamma": rng.normal(size=d), "eps": eps}

    return make


def batch(B, n, d, eps=1e-5):
    def make(rng):
        return {
            "X": tokens(rng, B, n, d),
            "mean": rng.normal(size=d),
            "var": rng.uniform(0.5, 2, size=d),
            "momentum": float(rng.uniform(0.1, 0.4)),
            "eps": eps,
        }

    return make


def padded(kind, n, d, lengths):
    def make(rng):
        X = tokens(rng, len(lengths), n, d)
        return {"X": X, "lengths": np.array(lengths), "kind": kind, "eps": 1e-5}

    return make


def high_level(rng):
    X = tokens(rng, 3, 4) + 1e5  # the squares are ten thousand million times the variance
    return {"X": X, "gamma": rng.normal(size=4), "beta": rng.normal(size=4), "eps": 1e-5}


def loud_padding(kind):
    def make(rng):
        inputs = padded(kind, 6, 3, (4, 2))(rng)
        for x, length in zip(inputs["X"], inputs["lengths"], strict=True):
            x[length:] *= 1e6
        return inputs

    return make


def broken_padding(rng):
    """Memory that nobody has written to: nan and inf where there is no token."""
    inputs = padded("instance", 5, 3, (4, 2))(rng)
    inputs["X"][0, 4], inputs["X"][1, 2:] = np.nan, np.inf
    return inputs


# 06.6


def twice(eps):
    return lambda rng: {"variance": float(rng.uniform(0.2, 0.8)), "eps": eps}


# 06.7


def difference_of_norms(inputs, arrays):
    """LayerNorm less BatchNorm, on the matrix of the answer."""
    n, X = inputs["n"], arrays[0]
    if X.shape != (n, n):
        raise WrongAnswer(f"X has shape {X.shape}, expected {(n, n)}")
    if X.dtype.kind not in "iuf" or not np.isfinite(X).all():
        raise WrongAnswer("X has entries that are no finite numbers")
    X, found = X.astype(float), []
    for axis, line in ((1, "row"), (0, "column")):
        centred = X - X.mean(axis=axis, keepdims=True)
        s = np.sqrt((centred * centred).mean(axis=axis, keepdims=True))
        if (s <= 1e-12 * np.abs(X).max()).any():
            raise WrongAnswer(f"X has a constant {line}: a norm without eps makes it 0/0")
        found.append(centred / s)
    difference = found[0] - found[1]
    if np.abs(difference).max() > 1e-9:
        i, j = np.unravel_index(np.abs(difference).argmax(), (n, n))
        row, column = X[i], X[:, j]
        raise WrongAnswer(
            f"at [{i}, {j}] LayerNorm gives {found[0][i, j]:.4g} and BatchNorm {found[1][i, j]:.4g}: row {i} has mean "
            f"{row.mean():.4g} and deviation {row.std():.4g}, column {j} has {column.mean():.4g} and {column.std():.4g}"
        )
    return (np.zeros((n, n)),)


# 06.8


def network(t, k, d, m, before=True, after=True):
    def make(rng):
        A, c = rng.normal(size=(k, d)), rng.normal(size=d) + 1
        if not before:  # nothing left to centre
            A, c = A - A.mean(axis=1, keepdims=True), c - c.mean()
        gamma, beta = (rng.normal(size=(2, d))) if after else (np.ones(d), np.zeros(d))
        W, b = rng.normal(size=(d, m)), rng.normal(size=m)
        return {"A": A, "c": c, "gamma": gamma, "beta": beta, "W": W, "b": b, "H": rng.normal(size=(t, k)), "eps": 0.1}

    return make


def call_fold(answer, inputs):
    return answer(*(inputs[name] for name in ("A", "c", "gamma", "beta", "W", "b")))


def folded_output(inputs, arrays):
    for name, array, like in zip(("A2", "c2", "W2", "b2"), arrays, ("A", "c", "W", "b"), strict=True):
        if array.shape != inputs[like].shape:
            raise WrongAnswer(f"{name} has shape {array.shape}, expected {inputs[like].shape}, that of {like}")
        if array.dtype.kind != "f":
            raise WrongAnswer(f"{name} has dtype {array.dtype}, expected float64")
    A, c, W, b = arrays
    X = inputs["H"] @ A + c
    return (X / np.sqrt((X * X).mean(axis=-1, keepdims=True) + inputs["eps"]) @ W + b,)


# 06.9


def normed(*lead, n, m, d):
    def make(rng):
        return {
            "dS": rng.normal(size=(*lead, n, m)),
            "Q": tokens(rng, *lead, n, d),
            "K": 2 * tokens(rng, *lead, m, d),
            "gamma_q": rng.uniform(0.4, 0.9, size=d),
            "gamma_k": rng.uniform(1.2, 2.1, size=d),
        }

    return make


# 06.10


def module_inputs(*shape, level=0.0):
    def make(rng):
        d = shape[-1]
        return {
            "X": tokens(rng, *shape) + level,
            "dY": rng.normal(size=shape),
            "weight": rng.normal(size=d),
            "bias": rng.normal(size=d),
            "eps": 1e-3,
        }

    return make


def use_module(answer, inputs):
    """Build the module, look at its parameters, load numbers, and call it in float64 and in bfloat16."""
    import torch

    X, d = inputs["X"], inputs["X"].shape[-1]
    module = answer(d, inputs["eps"])
    if module is None or module is Ellipsis or module is NotImplemented:
        return None
    if not isinstance(module, torch.nn.Module):
        raise WrongAnswer(f"returned {kind_of(module)}, expected an nn.Module")
    found = dict(module.named_parameters())
    for name in ("weight", "bias"):
        if name not in found:
            seen = ", ".join(found) or "none"
            raise WrongAnswer(f"named_parameters finds no '{name}'; it finds: {seen}")
        if tuple(found[name].shape) != (d,):
            raise WrongAnswer(f"{name} has shape {tuple(found[name].shape)}, expected {(d,)}")
    start = torch.cat([found["weight"], found["bias"]]).detach().clone()
    module.double()
    found = dict(module.named_parameters())
    with torch.no_grad():
        for name in ("weight", "bias"):
            found[name].copy_(inputs[name])
    x = X.clone().requires_grad_()
    y = module(x)
    if not isinstance(y, torch.Tensor):
        raise WrongAnswer(f"the module returned {kind_of(y)}, expected a tensor")
    grads = [None] * 3
    if y.requires_grad and y.shape == X.shape:
        grads = torch.autograd.grad(y, (x, found["weight"], found["bias"]), inputs["dY"].to(y.dtype), allow_unused=True)
    zero = (torch.zeros_like(X), torch.zeros_like(inputs["weight"]), torch.zeros_like(inputs["bias"]))
    grads = [z if g is None else g for g, z in zip(grads, zero, strict=True)]
    short = module.float()(X.bfloat16())
    kept = float(isinstance(short, torch.Tensor) and short.dtype == torch.bfloat16)
    return start.double(), y, *grads, short.detach().double(), kept


# 06.11


def descent(eta, decay):
    def make(rng):
        return {"eta": float(eta * rng.uniform(0.8, 1)), "decay": decay, "c": float(rng.uniform(1.5, 3))}

    return make


# 06.12


def parts(counts, d, level=0.0):
    def make(rng):
        k = len(counts)
        means = level + 2 * rng.normal(size=(k, d))
        return {"means": means, "variances": rng.uniform(0.5, 2, size=(k, d)), "counts": np.array(counts)}

    return make
