"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import random

import numpy as np

from ...model import WrongAnswer, kind_of


def linear(lead, n, d_in, d_out):
    def make(rng):
        return {
            "dY": rng.normal(size=(*lead, n, d_out)),
            "X": rng.normal(size=(*lead, n, d_in)),
            "W": rng.normal(size=(d_in, d_out)),
        }

    return make


def broadcast(big, small):
    return lambda rng: {"dY": rng.normal(size=big), "shape": small}


def tied(lead, n, d, k):
    def make(rng):
        shapes = {"dY": (*lead, n, d), "X": (*lead, n, d), "W": (d, k)}
        return {name: 0.7 * rng.normal(size=shape) for name, shape in shapes.items()}

    return make


def bag(lead, n, d, v):
    """Words that repeat, within a sentence and between two, and rows that nobody reads: the last two."""

    def make(rng):
        ids = rng.integers(v - 2, size=(*lead, n))
        ids[..., -1] = ids[..., 0]
        return {
            "dy": rng.normal(size=(*lead, d)),
            "E": rng.normal(size=(v, d)),
            "ids": ids,
            "w": rng.normal(size=n),
        }

    return make


# slope: the inputs name a function and its weights; `call_slope` builds the function


def cubic(rng):
    return {"f": "cubic", "X": rng.normal(size=(3, 4)), "C": rng.normal(size=(3, 4)), "h": 0.5}


def network(rng):
    return {"f": "network", "X": rng.normal(size=(4, 3)), "C": rng.normal(size=(3, 5)), "h": None}


def transposed(rng):
    return {"f": "network", "X": rng.normal(size=(3, 4)).T, "C": rng.normal(size=(3, 5)), "h": None}


def single(rng):
    return {"f": "network", "X": rng.normal(size=(4, 3)).astype(np.float32), "C": rng.normal(size=(3, 5)), "h": None}


def cube_shaped(rng):
    return {"f": "cubic", "X": rng.normal(size=(2, 3, 2)), "C": rng.normal(size=(2, 3, 2)), "h": 0.25}


def call_slope(answer, inputs):
    X, C, h = inputs["X"], inputs["C"], inputs["h"]

    f = {
        "cubic": lambda x: float((C * x * x * x).sum()),
        # columns interact, so an entry that is not put back disturbs the next ones
        "network": lambda x: float(np.tanh(x @ C).prod(axis=1).sum() + np.sin(x).sum()),
    }[inputs["f"]]
    return answer(f, X) if h is None else answer(f, X, h)


# layer_is_right: seven layers, of which the first two are right, called by number


def _normalise(X):
    centred = X - X.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-12)


def _deviation(X):
    return np.sqrt(X.var(axis=-1, keepdims=True) + 1e-12)


def _centre(X):
    return X - X.mean(axis=-1, keepdims=True)


def _normalise_backward(dY, X):
    Y = _normalise(X)
    return (_centre(dY) - Y * (dY * Y).mean(axis=-1, keepdims=True)) / _deviation(X)


LAYERS = {
    "LayerNorm, right": (_normalise, _normalise_backward),
    "centring, right": (_centre, lambda dY, X: _centre(dY)),
    "LayerNorm, always zero": (_normalise, lambda dY, X: np.zeros_like(X)),
    "LayerNorm, deviation held constant": (_normalise, lambda dY, X: _centre(dY) / _deviation(X)),
    "LayerNorm, not divided by the deviation": (
        _normalise,
        lambda dY, X: _normalise_backward(dY, X) * _deviation(X),
    ),
    "LayerNorm, deviation of the first row for all": (
        _normalise,
        lambda dY, X: _normalise_backward(dY, X) * _deviation(X) / _deviation(X)[:1],
    ),
    "centring, divided by the number of rows": (_centre, lambda dY, X: _centre(dY) / len(X)),
}


def _one_place(factor, *place):
    """A right gradient of LayerNorm, but for one row or one number, which is so many times too large."""

    def backward(dY, X):
        dX = _normalise_backward(dY, X)
        dX[place] = factor * dX[place]
        return dX

    return backward


def _without_the_last_feature(dY, X):
    dX = dY * np.cos(X)
    dX[:, -1] = 0.0
    return dX


OTHER_LAYERS = {  # wrong where a check that compares too little does not look
    "LayerNorm, right": (_normalise, _normalise_backward),
    "sine, right": (np.sin, lambda dY, X: dY * np.cos(X)),
    "centring, the first two rows exchanged": (_centre, lambda dY, X: _centre(dY[[1, 0, *range(2, len(dY))]])),
    "sine, sign reversed": (np.sin, lambda dY, X: -dY * np.cos(X)),
    "sine, last feature forgotten": (np.sin, _without_the_last_feature),
    "LayerNorm, wrong in the first row": (_normalise, _one_place(1.5, 0)),
    "LayerNorm, wrong in the last number": (_normalise, _one_place(2.0, -1, -1)),
}
VERDICTS = ("False", "True")


def rows_of_size(scale, n=3, d=4, layers=LAYERS):
    # rows of clearly different spread, none near one
    def make(rng):
        X = scale * np.arange(2, n + 2)[:, None] * rng.normal(size=(n, d))
        return {"X": X, "seed": 7, "layers": list(layers.values())}

    return make


def verdicts(layers, call):
    """What `call` says of each layer, as 0 or 1, in the order of the layers; None where one is not attempted.

    They are called in an order that nobody can know, so that to count the calls tells nothing. What is said does not
    depend on it: of several errors the one of the first layer is raised.
    """
    order = list(range(len(layers)))
    random.SystemRandom().shuffle(order)
    found, errors = [0] * len(layers), [None] * len(layers)
    for number in order:
        try:
            value = call(layers[number])
        except Exception as error:
            errors[number] = error
            continue
        if value is None or value is Ellipsis:
            return None
        if type(value) not in (bool, np.bool_):
            what = f"{kind_of(value)} for layer {number}"
            errors[number] = WrongAnswer(f"returned {what}, expected True or False")
            continue
        found[number] = int(value)
    for error in filter(None, errors):
        raise error
    return found


def call_layer_is_right(answer, inputs):
    seed = inputs["seed"]
    return verdicts(inputs["layers"], lambda layer: answer(*layer, inputs["X"], np.random.default_rng(seed)))


def columns(n, d, d_k, d_v):
    def make(rng):
        shapes = {"W_q": (d_k, d), "W_k": (d_k, d), "W_v": (d_v, d), "b_q": (d_k,), "b_k": (d_k,), "b_v": (d_v,)}
        return {"X": rng.normal(size=(n, d)), **{name: rng.normal(size=shape) for name, shape in shapes.items()}}

    return make


def step(eps, sign=1):
    def make(rng):
        f, f5 = np.exp(rng.uniform(0.5, 3, size=2)).tolist()
        return {"eps": eps, "f": sign * f, "f5": sign * f5}

    return make


# make_distances: the inputs name what is built around the function; `call_distances` builds it


def distances(graph, n, m, d):
    def make(rng):
        X, C, dD = rng.normal(size=(n, d)), rng.normal(size=(m, d)), rng.normal(size=(n, m))
        return {"graph": graph, "X": X, "C": C, "dD": dD}

    return make


def square_distances(rng):
    return distances("X is read twice", 4, 4, 3)(rng)


def call_distances(answer, inputs):
    import torch

    made = answer()
    if made is None or made is Ellipsis:
        return None
    if not isinstance(made, type) or not issubclass(made, torch.autograd.Function):
        what = f"the class {made.__name__}" if isinstance(made, type) else f"{kind_of(made)}"
        wanted = "a class derived from torch.autograd.Function: the class itself, no object of it"
        raise WrongAnswer(f"returned {what}, expected {wanted}")
    graph, dD = inputs["graph"], inputs["dD"]
    leaf = torch.zeros_like(dD, requires_grad=True)
    beside = 1 * leaf  # made before D, so it receives their common upstream after D has had it
    X, C = (inputs[name].clone().requires_grad_(graph != "C is frozen" or name == "X") for name in "XC")
    if graph == "X is read twice":
        D = made.apply(X, X)
    elif graph == "two calls":
        D, other = made.apply(X, C), made.apply(3 * X, C)
    else:
        D = made.apply(X, C)
    if type(D) is not torch.Tensor:
        raise WrongAnswer(f"apply returned {kind_of(D)}, expected a tensor")
    if D.shape != dD.shape:
        raise WrongAnswer(f"apply returned the shape {tuple(D.shape)}, expected {tuple(dD.shape)}")
    if not D.requires_grad:
        raise WrongAnswer("autograd did not record what apply returned: is forward a staticmethod, and D made of X?")
    if graph == "forward":
        return D, torch.zeros_like(X), torch.zeros_like(C), torch.zeros_like(dD)
    loss = ((D + beside) * dD).sum() + (other.sum() if graph == "two calls" else 0)
    loss.backward()
    return D, *(x.grad if x.grad is not None else torch.zeros_like(x) for x in (X, C)), leaf.grad


# blind_upstream


def any_matrix(d):
    return lambda rng: {"W": rng.normal(size=(d, d))}


def blindness(inputs, arrays):
    """How far the two products are apart, beside the size of both factors."""
    W, dY = inputs["W"], arrays[0]
    if dY.shape != (1, len(W)):
        raise WrongAnswer(f"dY has shape {dY.shape}, expected {(1, len(W))}")
    if dY.dtype.kind != "f" or not np.isfinite(dY).all():
        raise WrongAnswer("dY has numbers that are complex or not finite")
    if not dY.any():
        raise WrongAnswer("dY is zero: every backward pass sends nothing back for that, right or wrong")
    gap = W - W.T
    error = np.abs(dY.reshape(1, -1) @ gap).max() / (np.abs(dY).max() * np.abs(gap).max())
    return (np.array(0.0 if error <= 1e-9 else error),)  # nan of numbers too large is no 0


def shown(low, high):
    return lambda rng: {"e": float(rng.uniform(low, high))}


# each_token_alone: ten functions, of which the first three do


def _times_a_matrix(X):
    """Row by row, but the last digits of a row round otherwise where there are other rows."""
    d, k = X.shape[1], 3 * len(X)
    return (k * X) @ np.cos(np.arange(d**2)).reshape(d, d) / k


def _softmax_over_tokens(X):
    E = np.exp(X - X.max(axis=0))
    return E / E.sum(axis=0)


def _first_left_alone(X):
    return np.concatenate([X[:1], 2 * X[1:]])


def _a_little_of_the_token_before(X):
    return X + 1e-9 * np.concatenate([0 * X[:1], X[:-1]])


MIXERS = {
    "each number through tanh": lambda X: np.tanh(X),
    "a row times a matrix": _times_a_matrix,
    "LayerNorm of each row": _normalise,
    "softmax over the tokens": _softmax_over_tokens,
    "divided by the length of all": lambda X: X / np.sqrt((X * X).sum()),
    "divided by the number of tokens": lambda X: X / len(X),
    "the place is added": lambda X: X + np.arange(len(X))[:, None],
    "the first token is left alone": _first_left_alone,
    "a billionth of the token before": _a_little_of_the_token_before,
    "the last token is left alone": lambda X: _first_left_alone(X[::-1])[::-1],
}


def tokens(scale, n, d):
    return lambda rng: {"X": scale * rng.normal(size=(n, d)), "layers": list(MIXERS.values())}


def call_each_token_alone(answer, inputs):
    return verdicts(inputs["layers"], lambda f: answer(f, inputs["X"]))
