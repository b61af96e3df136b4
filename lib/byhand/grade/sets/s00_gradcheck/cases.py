"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer


def linear(lead, n, d_in, d_out):
    def make(rng):
        return {
            "dY": rng.normal(size=(*lead, n, d_out)),
            "X": rng.normal(size=(*lead, n, d_in)),
            "W": rng.normal(size=(d_in, d_out)),
        }

    return make


def upstream(*shape):
    return lambda rng: {"dY": rng.normal(size=shape)}


def broadcast(big, small):
    return lambda rng: {"dY": rng.normal(size=big), "shape": small}


def repeated_ids(rng):
    ids = rng.permutation(5)  # the two largest of seven ids are never used
    return {"dY": rng.normal(size=(6, 3)), "ids": ids[[0, 1, 0, 2, 0, 1]], "size": 7}


def batch_of_ids(rng):
    return {"dY": rng.normal(size=(2, 4, 3)), "ids": np.stack([rng.permutation(5)[:4] for _ in "ab"]), "size": 6}


def one_id(rng):
    return {"dY": rng.normal(size=(5, 2)), "ids": np.full(5, int(rng.integers(3))), "size": 4}


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

    def network(x):  # columns interact, so an entry that is not put back disturbs the next ones
        return float(np.tanh(x @ C).prod(axis=1).sum() + np.sin(x).sum())

    f = {"cubic": lambda x: float((C * x * x * x).sum()), "network": network}[inputs["f"]]
    return answer(f, X) if h is None else answer(f, X, h)


# layer_is_right: seven layers, of which the first two are right


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
VERDICTS = ("False", "True")


def rows_of_size(scale, n=3, d=4):
    # rows of clearly different spread, none near one
    return lambda rng: {"X": scale * np.arange(2, n + 2)[:, None] * rng.normal(size=(n, d)), "seed": 7}


def call_layer_is_right(answer, inputs):
    verdicts = []
    for name, (forward, backward) in LAYERS.items():
        value = answer(forward, backward, inputs["X"], np.random.default_rng(inputs["seed"]))
        if value is None or value is Ellipsis:
            return None
        if type(value) not in (bool, np.bool_):
            raise WrongAnswer(f"returned a {type(value).__name__} for the layer '{name}', expected True or False")
        verdicts.append(int(value))
    return verdicts


def columns(n, d, d_k, d_v):
    def make(rng):
        shapes = {"W_q": (d_k, d), "W_k": (d_k, d), "W_v": (d_v, d), "b_q": (d_k,), "b_k": (d_k,), "b_v": (d_v,)}
        return {"X": rng.normal(size=(n, d)), **{name: rng.normal(size=shape) for name, shape in shapes.items()}}

    return make


def step(eps, sign=1):
    def make(rng):
        f, f3 = np.exp(rng.uniform(0.5, 3, size=2)).tolist()
        return {"eps": eps, "f": sign * f, "f3": sign * f3}

    return make
