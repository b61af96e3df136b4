"""Inputs of the cases, and what runs or measures an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, kind_of

_svd, _eigvals, _isfinite, _power = np.linalg.svd, np.linalg.eigvals, np.isfinite, np.linalg.matrix_power

# 01.1


def read(n, d, h, lead=(), start=True):
    """A run of a recurrent network, and a gradient of its states."""

    def make(rng):
        W_x, W_h = rng.normal(size=(d, h)), rng.normal(size=(h, h)) / np.sqrt(h)
        X, b = rng.normal(size=(*lead, n, d)), rng.normal(size=h)
        h0 = rng.normal(size=(*lead, h)) if start else np.zeros((*lead, h))
        H, state = np.empty((*lead, n, h)), h0
        for t in range(n):
            state = np.tanh(X[..., t, :] @ W_x + state @ W_h + b)
            H[..., t, :] = state
        return {"dH": rng.normal(size=H.shape), "X": X, "H": H, "h0": h0, "W_x": W_x, "W_h": W_h}

    return make


def last_state(n, d, h):
    """Only the last state has a loss, as in the game of recall."""

    def make(rng):
        inputs = read(n, d, h, (2,))(rng)
        inputs["dH"][..., :-1, :] = 0
        return inputs

    return make


# 01.2


def wanted(radius, steps, gain):
    return lambda rng: {"radius": radius, "steps": steps, "gain": gain}


GROWTH = ("shape", "within_radius", "grows")


def measure_growth(inputs, arrays):
    """Shape, and whether the two numbers are on the right side of their bounds."""
    (W,) = arrays
    if W.shape != (2, 2):
        raise WrongAnswer(f"W has shape {W.shape}, expected (2, 2)")
    if W.dtype.kind not in "iuf" or not _isfinite(W).all():
        raise WrongAnswer("W contains nan or inf, or is no array of real numbers")
    W = W.astype(np.float64)
    size = float(abs(_eigvals(W)).max())
    norm = float(_svd(_power(W, inputs["steps"]), compute_uv=False)[0])
    # Of a double eigenvalue: a triangle shows it as it is, elsewhere half of its digits are lost in W[0, 1] * W[1, 0].
    rounding = 1e-9 + 1e-6 * float(abs(W[0, 1] * W[1, 0])) ** 0.5
    small = size <= inputs["radius"] + rounding
    return np.array(W.shape), np.array(small), np.array(norm >= inputs["gain"] * (1 - 1e-9))


# 01.3


def forgetting(bias, share):
    return lambda rng: {"bias": bias, "share": share}


def some_forgetting(rng):
    return {"bias": float(rng.uniform(0.5, 4.5)), "share": float(rng.uniform(0.02, 0.7))}


def half_open(rng):
    """A fresh gate, of which less is to be left than in any case that is seen."""
    return {"bias": 0.0, "share": float(rng.uniform(0.01, 0.1))}


# 01.4


def leaky(n, h, lead=(), shut=False):
    def make(rng):
        Z = 1 / (1 + np.exp(-rng.normal(size=(*lead, n, h))))
        if shut:
            Z[..., 1, :], Z[..., 2, :] = 0.0, 1.0  # a gate that forgets everything, and one that keeps everything
        N, h0 = np.tanh(rng.normal(size=(*lead, n, h))), rng.normal(size=(*lead, h))
        return {"dH": rng.normal(size=(*lead, n, h)), "N": N, "Z": Z, "h0": h0}

    return make


# 01.5

GATES = ("input", "forget", "cell", "output")
TWO_FLOATS = 1e-6  # beside the largest: two biases in float32 may share it in any way, or one have it in float64


def sizes(d, h, steps):
    return lambda rng: {"d": d, "h": h, "steps": steps, "X": rng.normal(size=(2, 5, d))}


def look_into(answer, inputs):
    """The sum of the biases of each gate, and whether tokens go in as (batch, tokens, d)."""
    import torch

    d, h, X = inputs["d"], inputs["h"], inputs["X"]
    net = answer(d, h, inputs["steps"])
    if net is None or net is Ellipsis:
        return None
    if not isinstance(net, torch.nn.LSTM):
        raise WrongAnswer(f"returned {kind_of(net)}, expected an nn.LSTM")
    if (net.input_size, net.hidden_size, net.num_layers) != (d, h, 1):
        raise WrongAnswer(f"an LSTM from {net.input_size} to {net.hidden_size} in {net.num_layers} layers, "
                          f"expected from {d} to {h} in one")
    with torch.no_grad():
        H, _ = net.double()(X)
        total = (net.bias_ih_l0 + net.bias_hh_l0).reshape(4, h)
        other = H if net.batch_first else H.transpose(0, 1)
        same = torch.allclose(H, torch.stack([net(x[None] if net.batch_first else x[:, None])[0].reshape(-1, h)
                                              for x in X])) and net.batch_first
    learns = all(p.requires_grad for p in net.parameters())
    bias = float(np.log(inputs["steps"] - 1))  # of the other gates: 0 if they are 0, 1 if they have this bias, else 2
    rest = total[[0, 2, 3]]
    others = [0 if g.abs().max() < 1e-6 else 1 if torch.allclose(g, g.new_tensor(bias)) else 2 for g in rest]
    return total[1], np.array(others), np.array(other.shape), np.array(bool(same)), np.array(learns)


# 01.6


def far(kernel, distance):
    return lambda rng: {"kernel": kernel, "distance": distance}


STACK = ("layers", "reaches", "without_gaps")


def measure_stack(inputs, arrays):
    """The number of layers, and whether every place up to the distance is seen."""
    (dilations,) = arrays
    kernel, distance = inputs["kernel"], inputs["distance"]
    if dilations.ndim != 1 or dilations.dtype.kind not in "iuf" or dilations.size > 50 or not dilations.size:
        raise WrongAnswer(f"dilations is an array of shape {dilations.shape}, expected a list of whole numbers")
    if not _isfinite(dilations).all() or (dilations != dilations.round()).any() or (dilations < 1).any():
        raise WrongAnswer("a dilation is a whole number, 1 at least")
    seen = np.zeros(distance + 1, bool)
    seen[0] = True
    for step in dilations.astype(np.int64).tolist():
        moved = seen.copy()
        for tap in range(1, kernel):
            if tap * step <= distance:
                moved[tap * step:] |= seen[:distance + 1 - tap * step]
        seen = moved
    return np.array(dilations.size), np.array(bool(seen[-1])), np.array(bool(seen.all()))


# 01.7


def strided(n, k, stride, d, e, lead=()):
    def make(rng):
        m = (n - k) // stride + 1
        return {"dY": rng.normal(size=(*lead, m, e)), "X": rng.normal(size=(*lead, n, d)),
                "W": rng.normal(size=(k, d, e)), "stride": stride}

    return make


# 01.8


def bill(d, taps):
    return lambda rng: {"d": d, "taps": taps}


def some_bill(rng):
    return {"d": int(rng.integers(20, 90)), "taps": int(rng.integers(5, 40))}
