"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, kind_of


def layer_norm(X):
    centred = X - X.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True))


def connection(wiring, *shape, alpha=1.0, upstream=False):
    def make(rng):
        d = shape[-1]
        inputs = {
            "X": rng.normal(size=shape) * np.exp(rng.uniform(0.5, 1.5, size=(*shape[:-1], 1))),
            "W": rng.normal(size=(d, d)) / np.sqrt(d),
            "gamma": rng.uniform(0.5, 2, size=d),
            "wiring": wiring,
            "alpha": alpha,
        }
        return {"dY": rng.normal(size=shape), **inputs} if upstream else inputs

    return make


def slopes(N, same=False):
    def make(rng):
        f = rng.uniform(0.2, 0.9, size=N) * rng.choice([-1, 1], size=N)
        return {"slopes": np.full(N, 0.3) if same else f}

    return make


def equal_slopes(rng):
    return {"slopes": np.full(int(rng.integers(4, 7)), rng.uniform(0.4, 0.8))}


def lesion(N, *removed):
    return lambda rng: {"slopes": rng.uniform(0.2, 0.9, size=N), "removed": np.array(removed)}


def some_lesion(rng):
    N = int(rng.integers(9, 13))
    return lesion(N, *np.sort(rng.permutation(N)[:2]).tolist())(rng)


def stack(N, *shape):
    def make(rng):
        d = shape[-1]
        return {
            "X": rng.normal(size=shape) * np.exp(rng.uniform(0.5, 1.5, size=(*shape[:-1], 1))),
            "W": 2 * rng.normal(size=(N, d, d)) / np.sqrt(d),
            "gamma": rng.uniform(0.5, 2, size=(N, d)),
            "last": rng.uniform(0.5, 2, size=d),
        }

    return make


def stream(wiring, alpha, N=None):
    def make(rng):
        depth = int(rng.integers(4, 9)) if N is None else N
        return {"wiring": wiring, "N": depth, "v": float(rng.uniform(0.3, 0.8)), "alpha": alpha}

    return make


def voices(N, low=0.3, high=0.8):
    return lambda rng: {"N": N, "v": float(rng.uniform(low, high))}


def ends(n, d, V, size):
    def make(rng):
        X = size * rng.normal(size=(n, d)) + 1
        return {"X": X, "W": rng.normal(size=(d, V)) / np.sqrt(d), "target": rng.integers(V, size=n)}

    return make


def start(layers, sublayers, matrices):
    return lambda rng: {"layers": layers, "sublayers": sublayers, "matrices": matrices}


def any_start(rng):
    return {"layers": int(rng.integers(30, 300)), "sublayers": int(rng.integers(3, 6)),
            "matrices": int(rng.integers(3, 6))}


def three_a_layer(rng):
    return {"layers": int(rng.integers(30, 300)), "sublayers": 3, "matrices": 2}


def width(d):
    return lambda rng: {"d": d}


def rms_norm(x):
    size = np.sqrt((x * x).mean())
    if not size > 1e-9:
        raise WrongAnswer("on the way a sum is zero, and zero cannot be normalised")
    return x / size


def parting(inputs, arrays):
    """The number of sublayers, and whether the two stacks end at least 0.1 apart."""
    x, W = (np.asarray(array, float) for array in arrays)
    d = inputs["d"]
    if x.shape != (d,) or W.ndim != 3 or W.shape[1:] != (d, d):
        raise WrongAnswer(f"x has shape {x.shape} and W {W.shape}, expected ({d},) and (N, {d}, {d})")
    if not (np.isfinite(x).all() and np.isfinite(W).all()):
        raise WrongAnswer("x or W has entries that are no finite numbers")
    if abs((x * x).mean() - 1) > 1e-6:
        raise WrongAnswer(f"x has mean square {(x * x).mean():.4g}, expected 1")
    pre = post = x
    for matrix in W:
        pre = pre + rms_norm(pre) @ matrix
        post = rms_norm(post + post @ matrix)
    apart = np.abs(rms_norm(pre) - post).max()
    return np.array(len(W)), np.array(int(apart >= 0.1))


def dropping(p, B, n, d):
    def make(rng):
        return {"p": p, "X": rng.normal(size=(B, n, d)), "gain": rng.normal(size=d)}

    return make


def use_droppable(make_droppable, inputs):
    """Build the module around a gain for each feature, call it, and train it on a thousand sequences."""
    import torch

    p, X, gain = inputs["p"], inputs["X"], inputs["gain"]

    class Gain(torch.nn.Module):  # no product of matrices, for which torch would wake all its threads
        def __init__(self):
            super().__init__()
            self.gain = torch.nn.Parameter(gain.clone())

        def forward(self, Z):
            return Z * self.gain

    sublayer = Gain()
    module = make_droppable(sublayer, p)
    if module is None or module is Ellipsis:
        return None
    if not isinstance(module, torch.nn.Module):
        raise WrongAnswer(f"make_droppable returned {kind_of(module)}, expected an nn.Module")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(7)
        Y = module.eval()(X)
        by_chance = p > 0 and any(not torch.equal(module(X), Y) for _ in range(20))
        many = X.repeat(1000 // len(X) + 1, 1, 1)
        given = many.clone()
        out = module.train()(many)
        again = [module(X) for _ in range(30)]
    for tensor, of in ((Y, X), (out, many)):
        if not isinstance(tensor, torch.Tensor) or tensor.shape != of.shape:
            found = tuple(getattr(tensor, "shape", ()))
            raise WrongAnswer(f"module(X) gave {found}, expected a tensor {tuple(of.shape)}")
    if not torch.equal(many, given):
        raise WrongAnswer("the module changes its input X in place: make a new tensor of the sum")
    if not out.requires_grad:
        raise WrongAnswer("no gradient comes back to the sublayer: is there a detach, or a no_grad?")
    with torch.no_grad():
        F = many * gain
        share = ((out - many) * F).sum(dim=-1) / (F * F).sum(dim=-1)  # of the remark that each token got
        each = (out - many) / F
        beside = (each.amax(dim=2) - each.amin(dim=2)).max().item()
        spread = (each.amax(dim=1) - each.amin(dim=1)).max().item()
        lost = (share.abs() < 1e-9).double().mean().item()
        levels = torch.stack([share.min(), share.max()])
        draws = {tuple(((Z - X).abs().amax(dim=(1, 2)) < 1e-9).tolist()) for Z in again}
        seldom = len({all(draw) for draw in draws}) - 1  # does a whole batch lose it now and then?
    parameters = sum(parameter.numel() for parameter in module.parameters())
    # 1 is right; 0: what should be lost stays; 2: all or none; 3: another share; 4: all or none, by one coin
    # 5: as often as it should be, but the coins of the first pass are kept
    all_alike = 2 + 2 * seldom if lost in (0, 1) else 3
    often = 1 if abs(lost - p) < 0.08 else 0 if abs(lost - (1 - p)) < 0.08 else all_alike
    if p and len(draws) == 1 and 0 < lost < 1:
        often = 5
    Y = 0 * X if by_chance else Y  # one draw is not compared with another
    return int(by_chance), Y, levels, round(2 * beside + spread, 9), often, parameters  # the two can be told apart
