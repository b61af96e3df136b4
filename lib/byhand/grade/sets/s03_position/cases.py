"""Inputs of the cases, and what runs or measures an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, kind_of


def turned(X, positions, base, sign=1.0):
    """Neighbouring pairs turned; used to make wrong answers."""
    angle = positions[:, None] * base ** (-2 * np.arange(X.shape[-1] // 2) / X.shape[-1])
    c, s, Y = np.cos(angle), sign * np.sin(angle), np.empty_like(X)
    Y[..., ::2], Y[..., 1::2] = X[..., ::2] * c - X[..., 1::2] * s, X[..., ::2] * s + X[..., 1::2] * c
    return Y


def shift(delta, d, base):
    return lambda rng: {"delta": delta, "d": d, "base": base}


def any_shift(rng):
    return {"delta": float(rng.uniform(0.5, 3)), "d": 8, "base": float(rng.uniform(20, 200))}


def one_clock(rng):
    return {"delta": float(rng.uniform(1.5, 3)), "d": 2, "base": 10000.0}


def rotation(n, d, lead=(), base=50.0, scattered=False):
    def make(rng):
        positions = rng.permutation(np.arange(2, 60))[:n] if scattered else np.arange(n)
        X, dY = rng.normal(size=(2, *lead, n, d))
        return {"X": X, "dY": dY, "positions": positions, "base": base}

    return make


def clocks(wave, *periods):
    return lambda rng: {"periods": np.array(periods), "wave": wave}


def some_clocks(wave, *choices):
    """One of several lists of periods, each with another answer."""
    return lambda rng: {"periods": np.array(choices[rng.integers(len(choices))]), "wave": wave}


def heads(H, n, d_k, start=0, base=50.0, gaps=False):
    def make(rng):
        Q, K, V = rng.normal(size=(3, H, n, d_k))
        positions = start + (np.sort(rng.permutation(3 * n)[:n]) if gaps else np.arange(n))
        return {"Q": Q, "K": K, "V": V, "positions": positions, "base": base}

    return make


def projection(d, number, d_k):
    return lambda rng: {"W": rng.normal(size=(d, number * d_k)), "heads": number}


def apart(delta, d, base):
    return lambda rng: {"delta": delta, "d": d, "base": base}


def some_distance(rng):
    return {"delta": int(rng.integers(2, 9)), "d": 12, "base": float(rng.uniform(50, 500))}


def some_neighbour(rng):
    return {"delta": int(rng.integers(2, 9)), "d": 2, "base": float(rng.uniform(50, 500))}


def scores(H, n, m, reach, lead=()):
    return lambda rng: {"dS": rng.normal(size=(*lead, H, n, m)), "reach": reach}


def one_vector(d, base, growth):
    """A vector whose slow pairs are the longer ones, so that its score stays positive for a while."""

    def make(rng):
        lengths = growth ** np.arange(d // 2) * rng.uniform(0.8, 1.2, size=d // 2)
        angle = rng.uniform(0, 2 * np.pi, size=d // 2)
        return {"x": np.stack([lengths * np.cos(angle), lengths * np.sin(angle)], axis=-1).ravel(), "base": base}

    return make


def look(back, n, d_k, base):
    return lambda rng: {"back": back, "n": n, "d_k": d_k, "base": base}


def where_it_looks(inputs, arrays):
    """How far back each token looks most, and whether 0.9 of its weight lies at the wanted place."""
    back, n, d_k, base = (inputs[name] for name in ("back", "n", "d_k", "base"))
    for name, x in zip("qk", arrays, strict=True):
        if x.shape != (d_k,):
            raise WrongAnswer(f"{name} has shape {x.shape}, expected ({d_k},): one vector for all tokens")
        if x.dtype.kind not in "iuf" or not np.isfinite(x).all():
            raise WrongAnswer(f"{name} has entries that are no finite numbers")
    q, k = (turned(np.tile(x.astype(float), (n, 1)), np.arange(n), base) for x in arrays)
    S = q @ k.T / np.sqrt(d_k)
    E = np.exp(S - S.max(axis=1, keepdims=True))
    A, rows = E / E.sum(axis=1, keepdims=True), np.arange(back, n)
    return rows - A[rows].argmax(axis=1), (A[rows, rows - back] >= 0.9).astype(int)


def sequences(B, n, d, positions=None, base=100.0, longest=50):
    def make(rng):
        X, dY = rng.normal(size=(2, B, n, d))
        places = {
            None: lambda: None,
            "padded": lambda: np.maximum(np.arange(n) - rng.integers(1, n - 1, size=(B, 1)), 0),
            "far": lambda: rng.integers(longest // 2, longest, size=(B, n)),
        }[positions]()
        return {"d": d, "base": base, "longest": longest, "X": X, "dY": dY, "positions": places}

    return make


def use_module(make_rotary, inputs):
    """Build the module, call it in float64 and in float32, and go backward."""
    import torch

    X, dY, positions = (inputs[name] for name in ("X", "dY", "positions"))
    module = make_rotary(inputs["d"], inputs["base"], inputs["longest"])
    if module is None or module is Ellipsis:
        return None
    if not isinstance(module, torch.nn.Module):
        raise WrongAnswer(f"make_rotary returned {kind_of(module)}, expected an nn.Module")
    parameters = sum(p.numel() for p in module.parameters())
    if not parameters and not list(module.buffers()):
        raise WrongAnswer("the module has no buffer: hand cos and sin to register_buffer")
    Y = module(X) if positions is None else module(X, positions)
    again = X.clone().requires_grad_()
    out = module(again, positions)
    for tensor, name in ((Y, "module(X)"), (out, "module(X, positions)")):
        if not isinstance(tensor, torch.Tensor):
            raise WrongAnswer(f"{name} returned {kind_of(tensor)}, expected a tensor")
    if not out.requires_grad or out.shape != dY.shape:
        raise WrongAnswer("no gradient of the right shape can come back from the output to X")
    out.backward(dY.to(out.dtype))
    module.to(torch.float32)
    short = module(X.float(), positions)
    if short.dtype != torch.float32:
        raise WrongAnswer(f"after .to(torch.float32), X in float32 gives {str(short.dtype)[6:]}: cos or sin stayed "
                          "behind, so it is no buffer")
    return Y, again.grad, short.detach().double(), parameters


def after(m, n, d_k, base=60.0):
    def make(rng):
        Q, K, V = rng.normal(size=(3, n, d_k))
        old, values = rng.normal(size=(2, m, d_k))
        keys = turned(old, np.arange(m), base)
        return {"Q": Q, "K": K, "V": V, "keys": keys, "values": values, "base": base}

    return make


def further(reach, d, base):
    return lambda rng: {"reach": reach, "s": float(rng.uniform(4.9, 5.2)), "d": d, "base": base}
