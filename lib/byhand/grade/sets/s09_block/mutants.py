"""Known wrong answers, each with the message that names the misconception."""

import math

import numpy as np

from ...model import Mutant

C, CUBE = math.sqrt(2 / math.pi), 0.044715


def _sigma(x):
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def _gate(X, name):
    if name == "relu":
        return (X > 0).astype(float), 0 * X
    if name == "silu":
        S = _sigma(X)
        return S, S * (1 - S)
    S = _sigma(2 * C * (X + CUBE * X * X * X))
    return S, S * (1 - S) * 2 * C * (1 + 3 * CUBE * X * X)


# 09.1


def _gradient(formula):
    def function(dY, X, name):
        S, slope = _gate(X, name)
        return dY * formula(X, S, slope, name)

    return function


def _overflowing(dY, X, name):
    if name != "silu":
        return _gradient(lambda X, S, slope, name: S + X * slope)(dY, X, name)
    E = np.exp(-X)
    return dY * (1 / (1 + E) + X * E / (1 + E) ** 2)


SMOOTH = ("silu", "gelu by tanh", "a batch")

GATES = (
    Mutant(
        "gate alone",
        _gradient(lambda X, S, slope, name: S),
        "This is dY ∘ S: the gate also moves when x moves, which adds x S'(x).",
        "9.1",
        SMOOTH,
    ),
    Mutant(
        "slope of the gate alone",
        _gradient(lambda X, S, slope, name: slope),
        "This is dY ∘ S', the derivative of the gate: y = x S(x) is a product, and its derivative has two terms.",
        "9.1",
        ("relu", *SMOOTH),
    ),
    Mutant(
        "x forgotten",
        _gradient(lambda X, S, slope, name: S + slope),
        "This is S + S': in the product rule the derivative of the gate is multiplied by x.",
        "9.1",
        SMOOTH,
    ),
    Mutant(
        "cube forgotten",
        _gradient(lambda X, S, slope, name: S + X * (S * (1 - S) * 2 * C if name == "gelu_tanh" else slope)),
        "For gelu_tanh the inner derivative is 2c (1 + 3 a x²): the chain rule reaches the cube too.",
        "9.1",
        ("gelu by tanh", "a batch"),
    ),
    Mutant(
        "three forgotten",
        _gradient(
            lambda X, S, slope, name: S
            + X * (S * (1 - S) * 2 * C * (1 + CUBE * X * X) if name == "gelu_tanh" else slope)
        ),
        "For gelu_tanh the derivative of a x³ is 3 a x²: the 3 is missing.",
        "9.1",
        ("gelu by tanh", "a batch"),
    ),
    Mutant(
        "overflow",
        _overflowing,
        "e^(−x) overflows for very negative x: write σ with a tanh, or split by sign.",
        "9.1",
        ("far out",),
    ),
)

# 09.2


def _swiglu(dG=lambda dH, G, U: dH * U, dU=lambda dH, G, U: dH * G, ways=3, slope=True, branch=False):
    def function(dY, X, W_g, W_1, W_2):
        if branch:
            W_g, W_1 = W_1, W_g
        inner, U = X @ W_g, X @ W_1
        S = _sigma(inner)
        G = inner * S
        dH = dY @ W_2.T
        d_inner, d_up = dG(dH, G, U) * ((S + inner * S * (1 - S)) if slope else 1), dU(dH, G, U)
        dX = (ways & 1) * (d_up @ W_1.T) + (ways >> 1) * (d_inner @ W_g.T)
        rows = X.reshape(-1, X.shape[-1])
        dW_g, dW_1 = (rows.T @ g.reshape(-1, g.shape[-1]) for g in (d_inner, d_up))
        dW_2 = (G * U).reshape(len(rows), -1).T @ dY.reshape(len(rows), -1)
        return dX, *((dW_1, dW_g) if branch else (dW_g, dW_1)), dW_2

    return function


INNER = ("dX", "dW_g", "batch", "square")

SWIGLU = (
    Mutant(
        "each gets itself",
        _swiglu(dG=lambda dH, G, U: dH * G, dU=lambda dH, G, U: dH * U),
        "Gate and factor are swapped: in a product each factor gets the other times the gradient, dG = dH ∘ U.",
        "9.5",
        (*INNER, "dW_1"),
    ),
    Mutant(
        "activation on the wrong branch",
        _swiglu(branch=True),
        "The activation stands on X W_1: it belongs to the gate, silu(X W_g). Your gradient is right for your layer, "
        "so a slope check passes; a loaded W_g would be misread.",
        "9.5",
        (*INNER, "dW_1", "dW_2"),
    ),
    Mutant(
        "gate's way forgotten",
        _swiglu(ways=1),
        "X is read twice, by W_1 and by W_g: dX lacks what comes back through the gate.",
        "9.5",
        ("dX", "batch", "square"),
    ),
    Mutant(
        "factor's way forgotten",
        _swiglu(ways=2),
        "X is read twice, by W_1 and by W_g: dX lacks what comes back through W_1.",
        "9.5",
        ("dX", "batch", "square"),
    ),
    Mutant(
        "slope forgotten",
        _swiglu(slope=False),
        "dG goes on to W_g without the derivative of silu.",
        "9.5",
        INNER,
    ),
    Mutant(
        "gate held constant",
        _swiglu(dG=lambda dH, G, U: 0 * dH),
        "The gate is treated as a constant: it depends on X and W_g, and gets dH ∘ U.",
        "9.5",
        INNER,
    ),
)

# 09.3


def _layer(turn, back=None, bias=True, gate=True, second=True):
    def function(X, W_1, b_1, W_2, b_2):
        B, d, n = X.shape
        U = turn(X) @ W_1 + (b_1 if bias else 0)
        Y = (np.maximum(U, 0) if gate else U) @ W_2 + (b_2 if second else 0)
        return back(Y, (B, d, n)) if back else Y.mT

    return function


def _reshaped(X):
    B, d, n = X.shape
    return X.reshape(B, n, d)


EVERY = ("one sequence", "a batch", "square", "other sizes")

LAYER = (
    Mutant(
        "reshape both ways",
        _layer(_reshaped, lambda Y, shape: Y.reshape(shape)),
        "X.reshape(B, n, d) reads the memory in its order: a row then holds features of several tokens, and the layer "
        "mixes tokens. Turn the axes with a transpose, X.mT.",
        "9.3",
        EVERY,
    ),
    Mutant(
        "reshape on the way in",
        _layer(_reshaped),
        "The way in is a reshape: a row then holds features of several tokens. Turn the axes with a transpose, X.mT.",
        "9.3",
        EVERY,
    ),
    Mutant(
        "reshape on the way out",
        _layer(lambda X: X.mT, lambda Y, shape: Y.reshape(shape)),
        "The way out is a reshape of (B, n, d) to (B, d, n): the shape is right and the numbers are not. Use .mT.",
        "9.3",
        EVERY,
    ),
    Mutant(
        "activation forgotten",
        _layer(lambda X: X.mT, gate=False),
        "Without the ReLU two linear maps are one.",
        "9.1",
        EVERY,
    ),
    Mutant(
        "b_1 forgotten",
        _layer(lambda X: X.mT, bias=False),
        "b_1 is missing: it moves the place where each unit opens.",
        "9.2",
        EVERY,
    ),
    Mutant(
        "b_2 forgotten",
        _layer(lambda X: X.mT, second=False),
        "b_2 is missing.",
        "9.2",
        EVERY,
    ),
)

# 09.4


def _dropout(forward, backward):
    return lambda dY, X, keep, p: (X * forward(keep, p), dY * backward(keep, p))


def _kept(keep, p):
    return keep / (1 - p)


DROPOUT = (
    Mutant(
        "not scaled",
        _dropout(lambda keep, p: keep, lambda keep, p: keep),
        "Nothing is divided by 1 − p: the mean of Y is then (1 − p) X, and the model sees other sizes once dropout is "
        "off.",
        "9.6",
        ("Y", "dX", "mostly dropped", "one axis"),
    ),
    Mutant(
        "divided by p",
        _dropout(lambda keep, p: keep / p, lambda keep, p: keep / p),
        "p is the probability of dropping: divide by the probability of keeping, 1 − p.",
        "9.6",
        ("Y", "dX", "mostly dropped", "one axis"),
    ),
    Mutant(
        "mask inverted",
        _dropout(lambda keep, p: ~keep / (1 - p), lambda keep, p: ~keep / (1 - p)),
        "The mask is read the wrong way round: True means kept.",
        "9.6",
        ("Y", "dX", "mostly dropped", "one axis"),
    ),
    Mutant(
        "mask forgotten in the backward",
        _dropout(_kept, lambda keep, p: 1 / (1 - p)),
        "dX is not zero where the entry was dropped: the same mask acts on the way back.",
        "9.6",
        ("dX", "mostly dropped", "one axis"),
    ),
    Mutant(
        "scale forgotten in the backward",
        _dropout(_kept, lambda keep, p: keep),
        "dX lacks the factor 1/(1 − p), which the forward pass has.",
        "9.6",
        ("dX", "mostly dropped", "one axis"),
    ),
    Mutant(
        "everything passes back",
        _dropout(_kept, lambda keep, p: 1.0),
        "dX is dY: what was multiplied on the way forward is multiplied on the way back.",
        "9.6",
        ("dX", "mostly dropped", "one axis"),
    ),
)

# 09.5


def _norm(x, gamma, beta):
    centred = x - x.mean(axis=-1, keepdims=True)
    s = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)
    return centred / s * gamma + beta, (centred / s, s, gamma)


def _norm_back(dy, cache, outside=False, centred=True):
    x_hat, s, gamma = cache
    g = dy if outside else gamma * dy
    dx = (g - centred * g.mean(axis=-1, keepdims=True) - x_hat * (g * x_hat).mean(axis=-1, keepdims=True)) / s
    return gamma * dx if outside else dx


def _block(stream=(1, 1), sinks="qkv", gate=True, outside=False, swap=False, order=(1, 2), centred=True,
           root=True):
    """Forward and backward of the block with one part replaced by a wrong one."""

    def attend(X, p):
        Q, K, V = X @ p["W_q"], X @ p["W_k"], X @ p["W_v"]
        E = np.exp(Q @ K.T / math.sqrt(Q.shape[-1]))
        A = E / E.sum(axis=-1, keepdims=True)
        return A @ V @ p["W_o"], (X, Q, K, V, A)

    def attend_back(dO, cache, p):
        X, Q, K, V, A = cache
        dZ = dO @ p["W_o"].T
        dA = dZ @ V.T
        dS = A * (dA - (A * dA).sum(axis=-1, keepdims=True)) / (math.sqrt(Q.shape[-1]) if root else 1)
        d = {"q": dS @ K, "k": dS.T @ Q, "v": A.T @ dZ}
        grads = {f"W_{name}": X.T @ d[name] for name in d} | {"W_o": (A @ V).T @ dO}
        return sum(d[name] @ p[f"W_{name}"].T for name in sinks), grads

    def feed(X, p):
        U = X @ p["W_1"] + p["b_1"]
        return np.maximum(U, 0) @ p["W_2"] + p["b_2"], (X, U)

    def feed_back(dF, cache, p):
        X, U = cache
        dU = dF @ p["W_2"].T * ((U > 0) if gate else 1)
        H = np.maximum(U, 0)
        return dU @ p["W_1"].T, {"W_1": X.T @ dU, "b_1": dU.sum(0), "W_2": H.T @ dF, "b_2": dF.sum(0)}

    def function(dY, X, params, wiring):
        pre = (wiring == "pre") != swap
        layers, backs, caches, grads = {1: attend, 2: feed}, {1: attend_back, 2: feed_back}, [], {}
        for i in order:
            affine = params[f"gamma_{i}"], params[f"beta_{i}"]
            X_in, norm = _norm(X, *affine) if pre else (X, None)
            out, inner = layers[i](X_in, params)
            X = X + out
            if not pre:
                X, norm = _norm(X, *affine)
            caches.append((i, norm, inner))
        Y, dX = X, dY
        for i, norm, inner in reversed(caches):
            if pre:
                through, g = backs[i](dX, inner, params)
                dn = through
                through = _norm_back(through, norm, outside, centred)
            else:
                dn = dX
                dX = _norm_back(dX, norm, outside, centred)
                through, g = backs[i](dX, inner, params)
            dX = stream[i - 1] * dX + through
            grads |= g | {f"gamma_{i}": (dn * norm[0]).sum(0), f"beta_{i}": dn.sum(0)}
        return Y, dX, grads

    return function


BACK = ("pre, dX", "post, dX", "another pre", "another post")
WEIGHTS = ("pre, weights of attention", "post, weights of attention")

BLOCK = (
    Mutant(
        "wirings exchanged",
        _block(swap=True),
        'The wirings are exchanged: "pre" normalises what a sublayer reads, "post" what stands on the stream after the '
        "sum.",
        "9.7",
        ("pre, output", "post, output", *BACK),
    ),
    Mutant(
        "feed-forward first",
        _block(order=(2, 1)),
        "The feed-forward layer comes first: the order is attention, then feed-forward.",
        "9.7",
        ("pre, output", "post, output", *BACK),
    ),
    Mutant(
        "stream past attention forgotten",
        _block(stream=(0, 1)),
        "dX lacks the gradient that came along the stream past attention: X went two ways, so two gradients meet.",
        "9.8",
        BACK,
    ),
    Mutant(
        "stream past feed-forward forgotten",
        _block(stream=(1, 0)),
        "The gradient along the stream past the feed-forward layer is missing: Y went two ways, so two gradients meet.",
        "9.8",
        (*BACK, *WEIGHTS),
    ),
    Mutant(
        "one sink",
        _block(sinks="q"),
        "Attention reads its input three times: its gradient adds those through W_q, W_k and W_v.",
        "9.8",
        BACK,
    ),
    Mutant(
        "values' sink forgotten",
        _block(sinks="qk"),
        "The gradient through the values, dV W_vᵀ, is missing in what attention sends back.",
        "9.8",
        BACK,
    ),
    Mutant(
        "gate forgotten",
        _block(gate=False),
        "ReLU's gate is missing on the way back: dU = dH where U > 0, and 0 elsewhere.",
        "9.8",
        (*BACK, "pre, weights of feed-forward", "post, weights of feed-forward"),
    ),
    Mutant(
        "gamma outside",
        _block(outside=True),
        "In the norm's backward γ stands outside the means: it belongs inside, g = γ ∘ dy.",
        "6.3",
        BACK,
    ),
    Mutant(
        "keys' way forgotten",
        _block(sinks="qv"),
        "Attention hands back two terms of three: what came through the keys, dK W_kᵀ, is missing.",
        "9.8",
        BACK,
    ),
    Mutant(
        "norm not centred backward",
        _block(centred=False),
        "The backward of the norm lacks −mean(g): that is RMSNorm's; LayerNorm also takes the mean away.",
        "9.8",
        BACK,
    ),
    Mutant(
        "scale forgotten backward",
        _block(root=False),
        "1/√d_k is missing on the way back through the scores: dQ and dK have it too.",
        "9.8",
        (*WEIGHTS, *BACK),
    ),
)

# 09.6


def _ledger(maps=4, gate=True, biases=True, norms=2, heads_too=False, double=2, wide=False, gate_bias=0, always=0):
    def function(n, d, d_ff, heads, gated, bias):
        f = 4 * d if wide else d_ff
        weights = maps * d * d + (2 + (gated and gate)) * d * f
        extra = (5 * d + f) * (bias or always) * biases + gate_bias * gated * bias * f + norms * 2 * d
        scores = double * 2 * n * n * d * (heads if heads_too else 1)
        return weights + extra, double * n * weights, scores

    return function


LEDGER = (
    Mutant(
        "multiplications only",
        _ledger(double=1),
        "A product of (n, k) and (k, m) takes n k m multiplications and as many additions: 2 n k m operations.",
        "9.9",
        ("operations of the maps", "operations of the scores", "gated operations", "no biases"),
    ),
    Mutant(
        "times the heads",
        _ledger(heads_too=True),
        "Q Kᵀ and A V are counted H times at full width: a head has width d/H, so all heads together cost as one.",
        "9.9",
        ("operations of the scores", "no biases"),
    ),
    Mutant(
        "three maps",
        _ledger(maps=3),
        "Attention has four maps of d × d: the one after the heads, W_o, is missing.",
        "9.9",
        ("parameters", "operations of the maps", "gated", "gated operations", "no biases"),
    ),
    Mutant(
        "gate not counted",
        _ledger(gate=False),
        "A gated layer has a third matrix, W_g.",
        "9.9",
        ("gated", "gated operations", "no biases"),
    ),
    Mutant(
        "biases forgotten",
        _ledger(biases=False),
        "The biases are missing: b_q, b_k, b_v, b_o, b_2 of width d, and b_1 of width d_ff.",
        "9.9",
        ("parameters",),
    ),
    Mutant(
        "norms forgotten",
        _ledger(norms=0),
        "The two norms are missing: a gain and a shift of width d each.",
        "9.9",
        ("parameters", "gated", "no biases"),
    ),
    Mutant(
        "always 4d",
        _ledger(wide=True),
        "The inner width is taken to be 4d: it is d_ff, which may be anything.",
        "9.9",
        ("gated", "gated operations", "no biases"),
    ),
    Mutant(
        "a bias for the gate",
        _ledger(gate_bias=1),
        "W_g is given a bias: it never has one of its own, so a gated layer has d_ff biases and not 2 d_ff.",
        "9.9",
        ("gated with biases",),
    ),
    Mutant(
        "biases always",
        _ledger(always=1),
        "Biases are counted where bias is False.",
        "9.9",
        ("gated", "neither", "no biases"),
    ),
)

# 09.7

CUBES = (
    Mutant(
        "half forgotten",
        lambda c: (c, c**2 / 3 - 1 / 6),
        "S = ½ + ½ tanh(…): the half in front halves the slope, S'(0) = c/2.",
        "9.1",
        ("slope", "slope, another c"),
    ),
    Mutant(
        "tanh taken for its argument",
        lambda c: (c / 2, -1 / 6),
        "This a comes from tanh u ≈ u: the next term, −u³/3, has a cube too, and it takes part.",
        "9.1",
        ("cube", "another c", "a third c"),
    ),
    Mutant(
        "sign of the sixth",
        lambda c: (c / 2, c**2 / 3 + 1 / 6),
        "Φ'' falls away from 0: the density is (1 − x²/2 + …)/√(2π), so Φ has −x³/6, and a = c²/3 − 1/6.",
        "9.1",
        ("cube", "another c", "a third c"),
    ),
    Mutant(
        "derivative for coefficient",
        lambda c: (c / 2, c**2 / 3 - 1 / 2),
        "The third derivative of x³ is 6, not 2: integrate 1 − x²/2 to x − x³/6 before you compare.",
        "9.1",
        ("cube", "another c", "a third c"),
    ),
    Mutant(
        "the number of the papers",
        lambda c: (c / 2, 0.044715),
        "0.044715 was fitted to be good over the whole line: a Taylor series at 0 gives another number.",
        "9.1",
        ("cube", "another c", "a third c"),
    ),
)
