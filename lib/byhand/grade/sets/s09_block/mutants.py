"""Known wrong answers, each with the message that names the misconception."""

import math

import numpy as np

from ...model import Mutant
from .cases import NAMES


def _sigma(x):
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def _gate(X, name):
    if name == "quick":
        S = _sigma(1.702 * X)
        return S, 1.702 * S * (1 - S)
    if name == "hard":
        return np.clip(X / 6 + 0.5, 0, 1), (np.abs(X) < 3) / 6
    S = np.tanh(np.logaddexp(0, X))
    return S, (1 - S * S) * _sigma(X)


# 09.1


def _gradient(formula):
    def function(dY, X, name):
        S, slope = _gate(X, name)
        return dY * formula(X, S, slope, name)

    return function


def _by_name(name, of):
    """The right gradient, but for the slope of this gate."""
    return _gradient(lambda X, S, slope, given: S + X * (of(X, S, slope) if given == name else slope))


def _overflowing(dY, X, name):
    S, slope = _gate(X, name)
    E = np.exp(X)
    return dY * (S + X * ((1 - S * S) * E / (1 + E) if name == "mish" else slope))


def _cut_without_a_ramp(dY, X, name):
    if name != "hard":
        return _gradient(lambda X, S, slope, given: S + X * slope)(dY, X, name)
    return dY * (np.clip(X, 0, 1) + X * np.where(np.abs(X) < 3, 1 / 6, 0.0))


GATED = ("quick", "hard", "mish", "a batch")

GATES = (
    Mutant(
        "gate alone",
        _gradient(lambda X, S, slope, name: S),
        "This is dY ∘ S: the gate also moves when x moves, which adds x S'(x).",
        "9.1",
        GATED,
    ),
    Mutant(
        "slope of the gate alone",
        _gradient(lambda X, S, slope, name: slope),
        "This is dY ∘ S', the derivative of the gate: y = x S(x) is a product, and its derivative has two terms.",
        "9.1",
        GATED,
    ),
    Mutant(
        "x outside both",
        _gradient(lambda X, S, slope, name: X * slope),
        "This is dY ∘ x S': of the product rule's two terms the first, S, is missing.",
        "9.1",
        GATED,
    ),
    Mutant(
        "x forgotten",
        _gradient(lambda X, S, slope, name: S + slope),
        "This is S + S': in the product rule the derivative of the gate is multiplied by x.",
        "9.1",
        GATED,
    ),
    Mutant(
        "inner factor forgotten",
        _by_name("quick", lambda X, S, slope: S * (1 - S)),
        "quick: the chain rule also takes the inner derivative: S' = 1.702 S (1 − S).",
        "9.1",
        ("quick",),
    ),
    Mutant(
        "ends of the ramp forgotten",
        _by_name("hard", lambda X, S, slope: 1 / 6),
        "hard: the slope of the gate is 1/6 on the ramp alone; where it is cut to 0 or 1 it does not move.",
        "9.1",
        ("hard",),
    ),
    Mutant(
        "the whole is cut",
        _gradient(lambda X, S, slope, name: (S + X * slope) * (np.abs(X) < 3) if name == "hard" else S + X * slope),
        "hard: where x is above 3 the gate stands still, but it is open: y = x, and its derivative is 1, not 0.",
        "9.1",
        ("hard",),
    ),
    Mutant(
        "inner slope forgotten",
        _by_name("mish", lambda X, S, slope: 1 - S * S),
        "mish: 1 − S² is the slope of tanh; the chain rule goes on to ln(1 + e^x), whose slope is σ(x).",
        "9.1",
        ("mish", "a batch"),
    ),
    Mutant(
        "logistic slope for tanh",
        _by_name("mish", lambda X, S, slope: S * (1 - S) * _sigma(X)),
        "mish: S (1 − S) belongs to σ; the derivative of tanh is 1 − tanh², so S' = (1 − S²) σ(x).",
        "9.1",
        ("mish", "a batch"),
    ),
    Mutant(
        "overflow",
        _overflowing,
        "e^x / (1 + e^x) is ∞/∞ for large x: write σ as 1/(1 + e^(−x)) or with a tanh.",
        "9.1",
        ("far out",),
    ),
    Mutant(
        "derivative cut",
        _gradient(lambda X, S, slope, name: np.clip(S + X * slope, 0, 1) if name == "hard" else S + X * slope),
        "hard: the derivative itself is cut to 0 … 1. Only the gate is cut; the derivative of x S(x) may be negative,"
        " or above 1.",
        "9.1",
        ("hard",),
    ),
    Mutant(
        "x once more",
        _gradient(lambda X, S, slope, name: X * (S + X * slope)),
        "The derivative is multiplied by x once more: it is S + x S', and x is in it already.",
        "9.1",
        GATED,
    ),
    Mutant(
        "derivative alone",
        lambda dY, X, name: _gradient(lambda X, S, slope, name: S + X * slope)(1.0, X, name),
        "This is the derivative f'(x): going back it is multiplied by dY, entry by entry.",
        "9.1",
        GATED,
    ),
    Mutant(
        "forward pass",
        lambda dY, X, name: X * _gate(X, name)[0],
        "This is the forward pass, x S(x): what comes back is dY times its derivative.",
        "9.1",
        GATED,
    ),
    Mutant(
        "slope of one on the ramp",
        _by_name("hard", lambda X, S, slope: 6 * slope),
        "hard: the slope of the ramp is 1/6, since the gate is x/6 + 1/2.",
        "9.1",
        ("hard",),
    ),
    *(
        Mutant(
            f"ramp cut at {end}",
            _by_name("hard", lambda X, S, slope, end=end: (np.abs(X) < end) / 6),
            f"hard: the slope is cut at x = ±{end}: it is the gate that is cut at 0 and 1, and x/6 + 1/2 is there at "
            "x = ±3.",
            "9.1",
            ("hard",),
        )
        for end in (0.5, 1)
    ),
    Mutant(
        "gate not cut",
        _gradient(lambda X, S, slope, name: (X / 6 + 0.5 if name == "hard" else S) + X * slope),
        "hard: the gate itself is not cut: S is between 0 and 1 in the first term as well.",
        "9.1",
        ("hard",),
    ),
    Mutant(
        "plain logistic gate",
        _gradient(lambda X, S, slope, name: (T := _sigma(X)) * (1 + X * (1 - T)) if name == "quick" else S + X * slope),
        "quick: the factor 1.702 is nowhere: the gate is σ(1.702 x), and its slope has the factor too.",
        "9.1",
        ("quick",),
    ),
    Mutant(
        "tanh of x in the slope",
        _by_name("mish", lambda X, S, slope: (1 - np.tanh(X) ** 2) * _sigma(X)),
        "mish: the slope of tanh is taken at x: its argument is ln(1 + e^x), so it is 1 − S².",
        "9.1",
        ("mish", "a batch"),
    ),
    Mutant(
        "slope of the logistic inside",
        _by_name("mish", lambda X, S, slope: slope * (1 - _sigma(X))),
        "mish: the slope of ln(1 + e^x) is σ(x) itself; σ (1 − σ) is the slope of σ.",
        "9.1",
        ("mish", "a batch"),
    ),
    Mutant(
        "S not squared",
        _by_name("mish", lambda X, S, slope: (1 - S) * _sigma(X)),
        "mish: the slope of tanh is 1 − S²: here S is not squared.",
        "9.1",
        ("mish", "a batch"),
    ),
    Mutant(
        "forward",
        _gradient(lambda X, S, slope, name: X * S),
        "This is dY ∘ f(X), the activation itself: dX is dY ∘ f'(X), with f' = S + x S'.",
        "9.1",
        ("quick", "hard", "mish", "far out", "a batch", "other numbers"),
    ),
    Mutant(
        "product rule with a minus",
        _gradient(lambda X, S, slope, name: S - X * slope),
        "x S' is subtracted: the product rule adds, f' = S + x S'.",
        "9.1",
        ("quick", "hard", "mish", "far out", "a batch", "other numbers"),
    ),
    Mutant(
        "inner slope e^x",
        _by_name("mish", lambda X, S, slope: (1 - S * S) * np.exp(np.minimum(X, 300.0))),
        "The inner derivative of the mish gate is taken as e^x: ln(1 + e^x) has the slope e^x / (1 + e^x) = σ(x).",
        "9.1",
        ("mish", "far out", "a batch", "other numbers"),
    ),
    Mutant(
        "ramp on the right alone",
        _by_name("hard", lambda X, S, slope: np.where(X > 0, slope, 0.0)),
        "The hard gate has no slope for negative x: the ramp runs from −3 to 3.",
        "9.1",
        ("hard",),
    ),
    Mutant(
        "cut without the ramp",
        _cut_without_a_ramp,
        "The hard gate is x itself, cut to 0 … 1: it is x/6 + 1/2 that is cut.",
        "9.1",
        ("hard",),
    ),
)

# 09.2


def _slope(S, inner, kind):
    wrong = {False: 1, "gate": S, "logistic": S * (1 - S), "outer": S + inner * (1 - S), "second": inner * S * (1 - S),
             "minus": S - inner * S * (1 - S), "relu": (inner > 0) * 1.0}
    return S + inner * S * (1 - S) if kind is True else wrong[kind]


def _swiglu(dG=lambda dH, G, U: dH * U, dU=lambda dH, G, U: dH * G, ways=3, slope=True, branch=False,
            hidden="both", first=False, passed="gate", act="silu"):
    def function(dY, X, W_g, W_1, W_2):
        if branch:
            W_g, W_1 = W_1, W_g
        inner, U = X @ W_g, X @ W_1
        S = _sigma(inner)
        quick, smooth = _sigma(1.702 * inner), np.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3))
        G = {"silu": inner * S, "sigmoid": S, "relu": np.maximum(inner, 0), "1.702": inner * quick,
             "gelu": inner * (1 + smooth) / 2}[act]
        dH = dY @ W_2.T
        kind = {"sigmoid": "logistic", "relu": "relu"}.get(act, slope)
        slopes = {"1.702": lambda: quick + 1.702 * inner * quick * (1 - quick),
                  "gelu": lambda: (1 + smooth) / 2 + inner * (1 - smooth**2) / 2 * math.sqrt(2 / math.pi)
                  * (1 + 3 * 0.044715 * inner**2)}
        to_up = {"gate": G, "inner": inner, "σ": S, "nothing": 1.0}[passed]
        d_inner, d_up = dG(dH, G, U) * slopes.get(act, lambda: _slope(S, inner, kind))(), dU(dH, to_up, U)
        dX = (ways & 1) * (d_up @ W_1.T) + (ways >> 1) * (d_inner @ W_g.T)
        count = X.shape[-2] if first else X.size // X.shape[-1]
        flat = {name: a.reshape(-1, a.shape[-1])[:count] for name, a in
                {"X": X, "g": d_inner, "u": d_up, "H": G * U if hidden == "both" else G, "dY": dY}.items()}
        dW_g, dW_1, dW_2 = flat["X"].T @ flat["g"], flat["X"].T @ flat["u"], flat["H"].T @ flat["dY"]
        return dX, *((dW_1, dW_g) if branch else (dW_g, dW_1)), dW_2

    return function


def _averaged(dY, X, W_g, W_1, W_2):
    dX, *weights = _swiglu()(dY, X, W_g, W_1, W_2)
    return dX, *(dW * X.shape[-1] / X.size for dW in weights)


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
    Mutant(
        "slope of the logistic",
        _swiglu(slope="gate"),
        "silu(x) = x σ(x) is a product: its derivative is σ + x σ (1 − σ), not σ alone.",
        "9.5",
        INNER,
    ),
    Mutant(
        "W_2 reads the gate alone",
        _swiglu(hidden="gate"),
        "dW_2 is made from G: what W_2 read is the product H = G ∘ U.",
        "9.5",
        ("dW_2", "batch", "square"),
    ),
    Mutant(
        "only the first sequence's weights",
        _swiglu(first=True),
        "The weights collect over one sequence only: they served all tokens of all sequences, so sum over all.",
        "9.3",
        ("batch", "two leading axes"),
    ),
    Mutant(
        "logistic slope",
        _swiglu(slope="logistic"),
        "σ (1 − σ) is the slope of σ alone: silu(x) = x σ(x) has the slope σ + x σ (1 − σ).",
        "9.5",
        INNER,
    ),
    Mutant(
        "a σ lost in the slope",
        _swiglu(slope="outer"),
        "The slope of silu is σ + x σ (1 − σ) = σ (1 + x (1 − σ)): σ stands before both terms.",
        "9.5",
        INNER,
    ),
    Mutant(
        "factor forgotten for the gate",
        _swiglu(dG=lambda dH, G, U: dH),
        "The gate gets dH as it came: in a product each factor gets the other times the gradient, dG = dH ∘ U.",
        "9.5",
        INNER,
    ),
    Mutant(
        "gate forgotten for the factor",
        _swiglu(passed="nothing"),
        "X W_1 gets dH as it came: in a product each factor gets the other times the gradient, dH ∘ G.",
        "9.5",
        ("dX", "dW_1", "batch", "square"),
    ),
    Mutant(
        "gate without its activation",
        _swiglu(passed="inner"),
        "X W_1 gets dH ∘ X W_g: what it was multiplied by is the gate behind its activation, silu(X W_g).",
        "9.5",
        ("dX", "dW_1", "batch", "square"),
    ),
    Mutant(
        "σ for the gate",
        _swiglu(passed="σ"),
        "X W_1 gets dH ∘ σ(X W_g): what it was multiplied by is silu(X W_g), which is X W_g times that.",
        "9.5",
        ("dX", "dW_1", "batch", "square"),
    ),
    *(Mutant(
        name,
        _swiglu(act=act),
        f"{gate} Your gradient is right for your layer.",
        "9.5",
        (*INNER, "dW_1", "dW_2"),
    ) for name, act, gate in (
        ("sigmoid for silu", "sigmoid",
         "The gate is σ(X W_g): silu multiplies that by its own argument, x σ(x)."),
        ("σ of 1.702 x", "1.702",
         "The gate is x σ(1.702 x), which stands for GELU: silu is x σ(x), without a factor."),
        ("GELU for silu", "gelu", "The gate is GELU, in the form with tanh: silu is x σ(x)."),
        ("relu for silu", "relu", "The gate's activation is ReLU: it should be silu(x) = x σ(x)."),
    )),
    Mutant(
        "first term of the slope lost",
        _swiglu(slope="second"),
        "The slope of silu has one term: silu(x) = x σ(x) is a product, so it is σ + x σ (1 − σ).",
        "9.5",
        INNER,
    ),
    Mutant(
        "minus in the slope",
        _swiglu(slope="minus"),
        "The second term of silu's slope is subtracted: it is σ + x σ (1 − σ).",
        "9.5",
        INNER,
    ),
    Mutant(
        "mean over the tokens",
        _averaged,
        "The gradients of the weights are averaged over the tokens: each token has used the weights, so they add.",
        "9.5",
        ("dW_2", "dW_1", "dW_g", "batch", "two leading axes", "square"),
    ),
)

# 09.3


def _layer(turn, back=None, bias=True, gate=True, second=True, late=False, end=False, stream=False, sign=1):
    def function(X, W_1, b_1, W_2, b_2):
        B, d, n = X.shape
        U = turn(X) @ W_1 + (b_1 if bias and not late else 0)
        Y = ((sign * np.maximum(sign * U, 0) if gate else U) + (b_1 if late else 0)) @ W_2 + (b_2 if second else 0)
        Y = (np.maximum(Y, 0) if end else Y) + (turn(X) if stream else 0)
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
    Mutant(
        "b_1 behind the gate",
        _layer(lambda X: X.mT, late=True),
        "b_1 is added behind the ReLU: it stands before it, and moves the place where each unit opens.",
        "9.2",
        EVERY,
    ),
    Mutant(
        "ReLU at the end too",
        _layer(lambda X: X.mT, end=True),
        "There is a second ReLU, behind W_2: the layer has one, between its two maps, and its output may be negative.",
        "9.2",
        EVERY,
    ),
    Mutant(
        "stream added",
        _layer(lambda X: X.mT, stream=True),
        "X is added to the output: the stream belongs to the block, this is the layer alone.",
        "9.7",
        EVERY,
    ),
    Mutant(
        "minimum for maximum",
        _layer(lambda X: X.mT, sign=-1),
        "The negative part is kept: ReLU is the larger of 0 and u.",
        "9.1",
        EVERY,
    ),
)

# 09.4


def _branch(train=lambda k, p: k / (1 - p), back=None, rest=1.0, stream=False, always=False,
            below=lambda k, p: 1.0, up=lambda k, p: 1.0):
    """Y = X + factor · F, where a factor is wrong: in training, on the way back, in evaluation, or on the stream."""

    def function(dY, X, F, keep, p, training):
        k = keep[:, None, None]
        on = training or always
        factor = train(k, p) if on else (rest(p) if callable(rest) else rest)
        behind = back(k, p) if back and on else factor
        over = k / (1 - p) if stream and on else 1.0
        ahead, back_again = (up(k, p), below(factor, p)) if on else (1.0, 1.0)
        return over * ahead * X + factor * F, over * back_again * dY, behind * dY + 0 * F

    return function


TRAINED = ("kept or dropped", "another p")

BRANCHES = (
    Mutant(
        "stream dropped too",
        _branch(stream=True),
        "The stream is dropped with the branch: only what the sublayer adds is kept or dropped, X always passes.",
        "9.7",
        TRAINED,
    ),
    Mutant(
        "not scaled",
        _branch(train=lambda k, p: k),
        "Nothing is divided by 1 − p: on average the branch then gives (1 − p) F, and in evaluation F.",
        "9.6",
        TRAINED,
    ),
    Mutant(
        "scaled on the way back alone",
        _branch(train=lambda k, p: k, back=lambda k, p: k / (1 - p)),
        "The way back divides by 1 − p and the way forward does not: dF belongs to another function than Y.",
        "9.6",
        TRAINED,
    ),
    Mutant(
        "scaled on the way forward alone",
        _branch(back=lambda k, p: k),
        "dF lacks the factor 1/(1 − p), which the forward pass has.",
        "9.6",
        TRAINED,
    ),
    Mutant(
        "mask forgotten on the way back",
        _branch(back=lambda k, p: 1 / (1 - p)),
        "dF is not zero where the branch was dropped: the same mask acts on the way back.",
        "9.6",
        TRAINED,
    ),
    Mutant(
        "divided by p",
        _branch(train=lambda k, p: k / p),
        "p is the probability of dropping: divide by the probability of keeping, 1 − p.",
        "9.6",
        TRAINED,
    ),
    Mutant(
        "mask inverted",
        _branch(train=lambda k, p: ~k / (1 - p)),
        "The mask is read the wrong way round: True means kept.",
        "9.6",
        TRAINED,
    ),
    Mutant(
        "on in evaluation",
        _branch(always=True),
        "Branches are dropped in evaluation too: without training there is no chance, Y = X + F.",
        "9.6",
        ("evaluation",),
    ),
    Mutant(
        "divided in evaluation",
        _branch(rest=lambda p: 1 / (1 - p)),
        "In evaluation nothing is dropped, and nothing is divided by 1 − p: the division makes up for what is missing.",
        "9.6",
        ("evaluation",),
    ),
    Mutant(
        "mean in evaluation",
        _branch(rest=lambda p: 1 - p),
        "In evaluation F is multiplied by 1 − p: that is for dropout without the division in training. Here the mean "
        "in training is F already.",
        "9.6",
        ("evaluation",),
    ),
    Mutant(
        "all faults at once",
        lambda dY, X, F, keep, p, training: ((X + F) * keep[:, None, None], dY * keep[:, None, None],
                                             dY * keep[:, None, None] / (1 - p)),
        "This is the function with its faults: look at what is dropped, at what it is divided by, and at evaluation.",
        "9.6",
        (*TRAINED, "evaluation"),
    ),
    Mutant(
        "stream's gradient scaled",
        _branch(below=lambda r, p: r),
        "dX is multiplied by the factor of the branch: the stream has no factor, so dX is dY.",
        "9.7",
        TRAINED,
    ),
    Mutant(
        "branch added to the stream's gradient",
        _branch(below=lambda r, p: 1 + r),
        "dF is added to dX: here F is an input of its own, and what it goes back to is not X. dX is dY.",
        "9.7",
        TRAINED,
    ),
    Mutant(
        "stream dropped in Y alone",
        _branch(up=lambda k, p: k),
        "In Y the stream is dropped with the branch: a sequence whose branch is dropped goes on as it came.",
        "9.7",
        TRAINED,
    ),
    Mutant(
        "stream dropped and scaled in Y",
        _branch(up=lambda k, p: k / (1 - p)),
        "In Y the stream is dropped and scaled with the branch: X always passes, as it came.",
        "9.7",
        TRAINED,
    ),
    Mutant(
        "both dropped, none scaled",
        _branch(train=lambda k, p: k, up=lambda k, p: k, back=lambda k, p: k / (1 - p)),
        "Y is (X + F) dropped as a whole: X always passes, and a branch that is kept is divided by 1 − p.",
        "9.7",
        TRAINED,
    ),
    Mutant(
        "stream scaled",
        _branch(up=lambda k, p: 1 / (1 - p)),
        "The stream is divided by 1 − p: only the branch is, since X is never dropped.",
        "9.7",
        TRAINED,
    ),
    Mutant(
        "stream's gradient dropped",
        _branch(below=lambda r, p: r * (1 - p)),
        "dX is 0 where the branch was dropped: X went on without it, so dX is dY in every sequence.",
        "9.7",
        TRAINED,
    ),
    Mutant(
        "multiplied by the share",
        _branch(train=lambda k, p: k * (1 - p)),
        "A branch that is kept is multiplied by 1 − p: it is there in a share 1 − p of the draws, so it is divided by "
        "it.",
        "9.6",
        TRAINED,
    ),
    Mutant(
        "no branch in evaluation",
        _branch(rest=0.0),
        "In evaluation the branch is left out: nothing is dropped there, Y = X + F.",
        "9.6",
        ("evaluation",),
    ),
)

# 09.5


def _softmax(S, axis=-1):
    E = np.exp(S - S.max(axis=axis, keepdims=True))
    return E / E.sum(axis=axis, keepdims=True)


def _norm(x, gamma, beta, outside=False, loose=False, moved=True, axis=-1, eps=1e-5):
    centred = x - moved * x.mean(axis=axis, keepdims=True)
    var = (centred * centred).sum(axis=axis, keepdims=True) / (x.shape[axis] - loose)
    s = np.sqrt(var) + eps if outside else np.sqrt(var + eps)
    return centred / s * gamma + beta, (centred / s, s, gamma)


def _norm_back(dy, cache, outside=False, centred=True, turned=True, gain=True, scaled=True, sums=""):
    x_hat, s, gamma = cache
    g = gamma * dy if gain and not outside else dy
    first, second = ((np.sum if name in sums else np.mean)(x, axis=-1, keepdims=True)
                     for name, x in {"g": g, "x": g * x_hat}.items())
    dx = g - centred * first - turned * x_hat * second
    dx = dx / s if scaled else dx
    return gamma * dx if outside else dx


def _softmax_back(dA, A, rows=True):
    if rows == "diagonal":
        return A * (1 - A) * dA
    if rows == "mean":
        return A * (dA - (A * dA).mean(axis=-1, keepdims=True))
    return A * (dA - bool(rows) * (A * dA).sum(axis=0 if rows == "columns" else -1, keepdims=True))


def _attend(X, p, root=True, axis=-1, out=True):
    Q, K, V = X @ p["W_q"], X @ p["W_k"], X @ p["W_v"]
    scale = {True: math.sqrt(Q.shape[-1]), False: 1, "d": Q.shape[-1], "tokens": math.sqrt(len(Q))}[root]
    A = _softmax(Q @ K.T / scale, axis)
    return A @ V @ (p["W_o"] if out else np.eye(Q.shape[-1])), (X, Q, K, V, A)


def _attend_back(dO, cache, p, X_raw, sinks="qkv", root=True, rows=True, raw=False, turned=True, values=True,
                 through=True, behind=True, own=False, late=True):
    X, Q, K, V, A = cache
    dZ = dO @ p["W_o"].T if through else dO
    dS = _softmax_back((dZ if late else dO) @ V.T, A, rows) / (math.sqrt(Q.shape[-1]) if root else 1)
    K, Q = (Q, K) if own else (K, Q)
    d = {"q": dS @ K, "k": (dS.T if turned else dS) @ Q, "v": (A.T if values else A) @ dZ}
    read = X_raw if raw else X
    grads = {f"W_{name}": read.T @ d[name] for name in d} | {"W_o": (A @ V if behind else V).T @ dO}
    return sum(d[name] @ p[f"W_{name}"].T for name in sinks), grads


def _feed(X, p):
    U = X @ p["W_1"] + p["b_1"]
    return np.maximum(U, 0) @ p["W_2"] + p["b_2"], (X, U)


def _feed_back(dF, cache, p, X_raw, gate=True, raw=False, bias_gate=True, hidden=True):
    X, U = cache
    dH = dF @ p["W_2"].T
    dU = dH * (U > 0 if gate != "H" else np.maximum(U, 0)) if gate else dH
    H = np.maximum(U, 0) if hidden else U
    return dU @ p["W_1"].T, {"W_1": (X_raw if raw else X).T @ dU, "b_1": (dU if bias_gate else dH).sum(0),
                             "W_2": H.T @ dF, "b_2": dF.sum(0)}


def _parts(options, *names):
    return {key.split("_", 1)[1]: value for key, value in options.items() if key.split("_", 1)[0] in names}


def _block(stream=(1, 1), wirings=None, order=(1, 2), gain_of="hat", mean=False, handed="right", joined="stream",
           crossed=False, shared=False, **options):
    """Forward and backward of the block with a part replaced by a wrong one: an option such as norm_centred=False
    goes to the part of that name."""
    of = {name: _parts(options, name) for name in ("norm", "normback", "attend", "attendback", "feedback")}
    layers = {1: lambda X, p: _attend(X, p, **of["attend"]), 2: _feed}
    backs = {1: lambda d, c, p, raw: _attend_back(d, c, p, raw, **of["attendback"]),
             2: lambda d, c, p, raw: _feed_back(d, c, p, raw, **of["feedback"])}

    def function(dY, X, params, wiring):
        wiring = (wirings or {}).get(wiring, wiring)
        p, caches, grads = params, {}, {}
        first = X
        for i in order:
            own = 3 - i if crossed else 1 if shared and wiring == "parallel" else i
            affine = p[f"gamma_{own}"], p[f"beta_{own}"]
            read = first if wiring == "parallel" or joined == "both read X" and wiring == "pre" else X
            if wiring == "post":
                out, inner = layers[i](X, p)
                entered, (X, norm) = X + out, _norm(X + out, *affine, **of["norm"])
            else:
                bar, norm = _norm(read, *affine, **of["norm"])
                out, inner = layers[i](bar, p)
                entered = read
                X = {"bar": bar, "X": first}.get(joined if wiring == "pre" else "", X) + out
            caches[i] = norm, inner, read, entered
        Y, dX = X, dY
        arrived = dY
        for i in reversed(order):
            norm, inner, read, entered = caches[i]
            gain, shift = p[f"gamma_{i}"], p[f"beta_{i}"]
            before = dX
            if wiring == "post":
                dn = dX
                dX = _norm_back(dX, norm, **of["normback"])
                through, g = backs[i](before if handed == "branch past the norm" else dX, inner, p, read)
            else:
                last = wiring == "parallel" and handed != "in a row" or wiring == "pre" and handed == "dY to both"
                dn, g = backs[i](arrived if last else dX, inner, p, read)
                through = _norm_back(dn, norm, **of["normback"])
            seen = {"bar": norm[0] * gain + shift, "scaled": norm[0] * gain, "x": entered}.get(gain_of, norm[0])
            over = np.mean if mean else np.sum
            grads |= g | {f"gamma_{i}": over(dn * seen, axis=0), f"beta_{i}": over(dn, axis=0)}
            if gain_of == "exchanged":
                grads[f"gamma_{i}"], grads[f"beta_{i}"] = grads[f"beta_{i}"], grads[f"gamma_{i}"]
            past = before if wiring == "post" and handed == "past the norm" else dX
            past = arrived if wiring == "pre" and handed == "stream from Y" else past
            dX = (1 if wiring == "parallel" else stream[i - 1]) * past + through
        if wiring == "parallel":
            dX = dX + (stream[0] * stream[1] - 1) * arrived
        return Y, dX, {name: grads[name] for name in NAMES}

    return function


WIRINGS = ("pre", "post", "parallel")


def _in(part, *wirings):
    return tuple(f"{wiring}, {part}" for wiring in wirings or WIRINGS)


BACK = _in("dX and norms")
ATTENTION = _in("attention")
FEED = _in("feed-forward")
OUT = _in("output")

BLOCK = (
    Mutant(
        "wirings exchanged",
        _block(wirings={"pre": "post", "post": "pre"}),
        'The wirings are exchanged: "pre" normalises what a sublayer reads, "post" what stands on the stream after the '
        "sum.",
        "9.7",
        (*_in("output", "pre", "post"), *_in("dX and norms", "pre", "post")),
    ),
    Mutant(
        "parallel in a row",
        _block(wirings={"parallel": "pre"}),
        'The feed-forward layer reads what attention has added: that is "pre". In "parallel" both read X.',
        "9.7",
        _in("output", "parallel"),
    ),
    Mutant(
        "feed-forward first",
        _block(order=(2, 1)),
        "The feed-forward layer comes first: the order is attention, then feed-forward.",
        "9.7",
        _in("output", "pre", "post"),
    ),
    Mutant(
        "scale forgotten forward",
        _block(attend_root=False, attendback_root=False),
        "The scores are not divided by √d.",
        "9.8",
        OUT,
    ),
    Mutant(
        "ε outside the root",
        _block(norm_outside=True),
        "ε is added to the root: it stands inside, √(σ² + ε).",
        "6.2",
        OUT,
    ),
    Mutant(
        "variance over d − 1",
        _block(norm_loose=True),
        "The variance of a token is divided by d − 1: the norm's is the mean of the squares, over d.",
        "6.2",
        OUT,
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
        "The gradient along the stream past the feed-forward layer is missing: its input went two ways, so two "
        "gradients meet.",
        "9.8",
        (*BACK, *_in("attention", "pre", "post")),
    ),
    Mutant(
        "stream counted twice",
        _block(stream=(2, 1)),
        "The stream's own gradient is added twice: every way from X to Y counts once.",
        "9.8",
        BACK,
    ),
    Mutant(
        "one sink",
        _block(attendback_sinks="q"),
        "Attention reads its input three times: its gradient adds those through W_q, W_k and W_v.",
        "9.8",
        BACK,
    ),
    Mutant(
        "values' sink forgotten",
        _block(attendback_sinks="qk"),
        "The gradient through the values, dV W_vᵀ, is missing in what attention sends back.",
        "9.8",
        BACK,
    ),
    Mutant(
        "keys' way forgotten",
        _block(attendback_sinks="qv"),
        "Attention hands back two terms of three: what came through the keys, dK W_kᵀ, is missing.",
        "9.8",
        BACK,
    ),
    Mutant(
        "queries' way forgotten",
        _block(attendback_sinks="kv"),
        "Attention hands back two terms of three: what came through the queries, dQ W_qᵀ, is missing.",
        "9.8",
        BACK,
    ),
    *(
        Mutant(
            f"sums for means in the norm: {sums}",
            _block(normback_sums=sums),
            f"On the way back through the norm {said} of a token divided by nothing: both terms that are taken away "
            "are means over the d features.",
            "6.2",
            BACK,
        )
        for sums, said in {"g": "the sum of g is", "x": "the sum of g x̂ is", "gx": "the sums of g and g x̂ are"}.items()
    ),
    Mutant(
        "softmax row mean",
        _block(attendback_rows="mean"),
        "The softmax's backward takes away the mean of A ∘ dA in each row: it is their sum, for the weights add up to "
        "1 already.",
        "4.8",
        ATTENTION,
    ),
    Mutant(
        "one norm for both branches",
        _block(shared=True),
        'In "parallel" both branches read one norm, with γ_1 and β_1: each has a norm of its own, with its gain and '
        "shift.",
        "9.7",
        (*_in("output", "parallel"), *_in("feed-forward", "parallel"), *_in("dX and norms", "parallel")),
    ),
    Mutant(
        "softmax row sum forgotten",
        _block(attendback_rows=False),
        "The softmax's backward lacks the sum of the row: dS = A ∘ (dA − Σ A ∘ dA), with a sum for each row.",
        "4.8",
        ATTENTION,
    ),
    Mutant(
        "scale forgotten backward",
        _block(attendback_root=False),
        "1/√d_k is missing on the way back through the scores: dQ and dK have it too.",
        "9.8",
        ATTENTION,
    ),
    Mutant(
        "keys not turned",
        _block(attendback_turned=False),
        "dK is dS Q: a column of the scores belongs to a key, so it is dSᵀ Q.",
        "9.8",
        ATTENTION,
    ),
    Mutant(
        "values not turned",
        _block(attendback_values=False),
        "dV is A dZ: a column of A says who read a value, so it is Aᵀ dZ.",
        "9.8",
        ATTENTION,
    ),
    Mutant(
        "output map passed by",
        _block(attendback_through=False),
        "The gradient goes into the heads without W_oᵀ: dZ = dO W_oᵀ.",
        "9.8",
        ATTENTION,
    ),
    Mutant(
        "W_o from the values",
        _block(attendback_behind=False),
        "dW_o is made from V: what W_o read is Z = A V.",
        "9.8",
        ATTENTION,
    ),
    Mutant(
        "maps read the stream",
        _block(attendback_raw=True),
        "dW_q, dW_k and dW_v are made from the array before the norm: a map's gradient needs what it read.",
        "9.8",
        _in("attention", "pre", "parallel"),
    ),
    Mutant(
        "feed-forward reads the stream",
        _block(feedback_raw=True),
        "dW_1 is made from the array before the norm: W_1 read the normalised one.",
        "9.8",
        _in("feed-forward", "pre", "parallel"),
    ),
    Mutant(
        "gate forgotten",
        _block(feedback_gate=False),
        "ReLU's gate is missing on the way back: dU = dH where U > 0, and 0 elsewhere.",
        "9.8",
        (*BACK, *FEED),
    ),
    Mutant(
        "bias before the gate",
        _block(feedback_bias_gate=False),
        "db_1 is the sum of dH: b_1 stands before the gate, so it is the sum of dU.",
        "9.8",
        FEED,
    ),
    Mutant(
        "H for the gate",
        _block(feedback_gate="H"),
        "On the way back dH is multiplied by H: the slope of ReLU is 1 where U > 0, and not U.",
        "9.8",
        (*BACK, *FEED),
    ),
    Mutant(
        "W_2 reads before the gate",
        _block(feedback_hidden=False),
        "dW_2 is made from U: what W_2 read is H, after the ReLU.",
        "9.8",
        FEED,
    ),
    Mutant(
        "gamma outside",
        _block(normback_outside=True),
        "In the norm's backward γ stands outside the means: it belongs inside, g = γ ∘ dy.",
        "6.3",
        BACK,
    ),
    Mutant(
        "gamma forgotten backward",
        _block(normback_gain=False),
        "γ is missing in the backward of the norm: the means are taken of γ ∘ dy.",
        "6.3",
        BACK,
    ),
    Mutant(
        "norm not centred backward",
        _block(normback_centred=False),
        "The backward of the norm lacks −mean(g): that is RMSNorm's; LayerNorm also takes the mean away.",
        "6.3",
        BACK,
    ),
    Mutant(
        "norm's third term forgotten",
        _block(normback_turned=False),
        "The backward of the norm lacks −x̂ mean(g ∘ x̂): the deviation also moves when x moves.",
        "6.3",
        BACK,
    ),
    Mutant(
        "s held constant",
        _block(normback_centred=False, normback_turned=False),
        "The norm is passed as if mean and deviation were constants, γ ∘ dy / s: both move with x, two terms more.",
        "6.3",
        BACK,
    ),
    Mutant(
        "not divided by s",
        _block(normback_scaled=False),
        "The backward of the norm is not divided by s.",
        "6.3",
        BACK,
    ),
    Mutant(
        "gain from the output",
        _block(gain_of="bar"),
        "dγ is made from the norm's output: it is the sum of dy ∘ x̂, before gain and shift.",
        "6.3",
        BACK,
    ),
    Mutant(
        "mean over tokens",
        _block(mean=True),
        "dγ and dβ are means over the tokens: each token adds its share, so they are sums.",
        "6.3",
        BACK,
    ),
    Mutant(
        "sum over columns",
        _block(attendback_rows="columns"),
        "The softmax's backward takes sums of columns: a row of weights sums to one, so ρ is one sum for each row.",
        "4.8",
        ATTENTION,
    ),
    Mutant(
        "softmax over queries",
        _block(attend_axis=0),
        "The softmax runs over the queries: the weights of one query, a row, sum to one.",
        "9.8",
        OUT,
    ),
    Mutant(
        "queries and keys exchanged",
        _block(attendback_own=True),
        "dQ is made from Q and dK from K: in a product each factor gets the other, dQ = dS K and dK = dSᵀ Q.",
        "9.8",
        ATTENTION,
    ),
    Mutant(
        "gain and shift exchanged",
        _block(gain_of="exchanged"),
        "dγ and dβ are exchanged: the gain is multiplied by x̂, so dγ = Σ dy ∘ x̂, and dβ = Σ dy.",
        "6.3",
        BACK,
    ),
    Mutant(
        "gain times itself",
        _block(gain_of="scaled"),
        "dγ has γ in it: the gain's gradient is Σ dy ∘ x̂, and γ ∘ dy is for dx alone.",
        "6.3",
        BACK,
    ),
    Mutant(
        "parallel backward in a row",
        _block(handed="in a row"),
        "In \"parallel\" attention is handed what the feed-forward layer sent back as well: both branches get dY "
        "itself.",
        "9.8",
        _in("attention", "parallel"),
    ),
    Mutant(
        "past the norm",
        _block(handed="past the norm"),
        "In \"post\" the stream's gradient goes past the norm: the norm stands on the stream, so all of it passes "
        "through.",
        "9.8",
        _in("dX and norms", "post"),
    ),
    Mutant(
        "diagonal of the softmax",
        _block(attendback_rows="diagonal"),
        "The softmax's backward is a (1 − a) da, its diagonal alone: a score moves all weights of its row, so "
        "dS = A ∘ (dA − Σ A ∘ dA).",
        "4.8",
        ATTENTION,
    ),
    Mutant(
        "scores before the output map",
        _block(attendback_late=False),
        "dA is made from dO: the weights met the values before W_o, so dA = dZ Vᵀ with dZ = dO W_oᵀ.",
        "9.8",
        ATTENTION,
    ),
    Mutant(
        "gain from the input",
        _block(gain_of="x"),
        "dγ is made from the norm's input: the gain is multiplied by x̂, so it is the sum of dy ∘ x̂.",
        "6.3",
        BACK,
    ),
    Mutant(
        "dY to attention",
        _block(handed="dY to both"),
        "In \"pre\" attention is handed dY itself: what it wrote was also read by the feed-forward layer, so it gets "
        "the gradient of Y_1.",
        "9.8",
        (*_in("attention", "pre"), *_in("dX and norms", "pre")),
    ),
    Mutant(
        "stream from the end",
        _block(handed="stream from Y"),
        "In \"pre\" the stream past attention carries dY: it carries the gradient of Y_1, in which the feed-forward "
        "layer's share is already.",
        "9.8",
        _in("dX and norms", "pre"),
    ),
    Mutant(
        "branch past the norm",
        _block(handed="branch past the norm"),
        "In \"post\" a sublayer is handed the gradient behind its norm: the sum was normalised, so it goes back "
        "through the norm first.",
        "9.8",
        (*_in("feed-forward", "post"), *_in("attention", "post"), *_in("dX and norms", "post")),
    ),
    Mutant(
        "both read X in pre",
        _block(joined="both read X"),
        'In "pre" the feed-forward layer reads X: that is "parallel". It reads Y_1, with what attention has added.',
        "9.7",
        _in("output", "pre"),
    ),
    Mutant(
        "attention left out of the sum",
        _block(joined="X"),
        'In "pre" the second sum begins with X: it is Y_1 + FF, and what attention wrote is lost without it.',
        "9.7",
        _in("output", "pre"),
    ),
    Mutant(
        "normalised copy added",
        _block(joined="bar"),
        'In "pre" the normalised copy is added: the norm stands on the branch, and the stream is X itself.',
        "9.7",
        _in("output", "pre"),
    ),
    Mutant(
        "norms exchanged",
        _block(crossed=True),
        "The two norms have changed places: the first, γ_1 and β_1, belongs to attention, the second to the "
        "feed-forward layer.",
        "9.7",
        OUT,
    ),
    Mutant(
        "no output map",
        _block(attend_out=False),
        "The output map is missing: what the weights collect goes through W_o.",
        "9.8",
        OUT,
    ),
    Mutant(
        "scale without its root",
        _block(attend_root="d"),
        "The scores are divided by d: it is its root, √d.",
        "9.8",
        OUT,
    ),
    Mutant(
        "scale of the tokens",
        _block(attend_root="tokens"),
        "The scores are divided by the root of the number of tokens: q · k adds d products, so it is √d.",
        "9.8",
        OUT,
    ),
    Mutant(
        "RMSNorm for LayerNorm",
        _block(norm_moved=False),
        "The mean of the token is not subtracted: that is RMSNorm, and the block has LayerNorm.",
        "6.2",
        OUT,
    ),
    Mutant(
        "norm over the tokens",
        _block(norm_axis=0),
        "The norm runs over the tokens: each token has a mean and a deviation of its own.",
        "6.2",
        OUT,
    ),
    Mutant(
        "another ε",
        _block(norm_eps=1e-6),
        "ε is 1e-6: it is 1e-5, inside the root, √(σ² + ε).",
        "6.2",
        OUT,
    ),
    Mutant(
        "no ε",
        _block(norm_eps=0.0),
        "ε is missing: it is 1e-5, inside the root, √(σ² + ε).",
        "6.2",
        OUT,
    ),
)

# 09.6


def _ledger(maps=4, gate=1, biases=True, norms=2, heads_too=False, double=2, wide=False, gate_bias=0, always=0,
            both=2, meet=None, shifts=5, one=False, added=0, product=0, feeds=None, each=False):
    def function(n, d, d_ff, heads, gated, bias):
        f = 4 * d if wide else d_ff
        feed = (2 + gated * gate) * d * f
        extra = (shifts * d + f) * (bias or always) * biases + gate_bias * gated * bias * f + norms * 2 * d
        scores = double * both * n * n * d * (heads if heads_too else 1) // (heads if one else 1)
        meets = meet(d, f, gated) if meet else (2 + gated * gate) * f / both
        in_maps, in_feed = double * n * maps * d * d + added * bias * n * d, double * n * feed + product * gated * n * f
        if feeds:
            in_feed = double * n * feeds * d * f
        if each:
            in_maps, in_feed, scores = in_maps // n, in_feed // n, scores // n
        return maps * d * d + feed + extra, in_maps, in_feed, scores, meets

    return function


def _biases_of_attention(n, d, d_ff, heads, gated, bias):
    parameters, *others = _ledger()(n, d, d_ff, heads, gated, bias)
    return parameters - bias * (d_ff + d), *others


LEDGER = (
    Mutant(
        "multiplications only",
        _ledger(double=1),
        "A product of (n, k) and (k, m) takes n k m multiplications and as many additions: 2 n k m operations.",
        "9.9",
        ("operations", "gated"),
    ),
    Mutant(
        "times the heads",
        _ledger(heads_too=True),
        "Q Kᵀ and A V are counted H times at full width: a head has width d/H, so all heads together cost as one.",
        "9.9",
        ("operations", "gated"),
    ),
    Mutant(
        "one product of two",
        _ledger(both=1),
        "One product is counted where there are two: Q Kᵀ and A V cost 2n²d each.",
        "9.9",
        ("operations", "meeting", "gated"),
    ),
    Mutant(
        "three maps",
        _ledger(maps=3),
        "Attention has four maps of d × d: the one after the heads, W_o, is missing.",
        "9.9",
        ("parameters", "operations", "gated"),
    ),
    Mutant(
        "gate not counted",
        _ledger(gate=0),
        "A gated layer has a third matrix, W_g.",
        "9.9",
        ("gated",),
    ),
    Mutant(
        "gate counted twice",
        _ledger(gate=2),
        "A gated layer is counted as two layers: it has one matrix more, W_g, and W_2 only once.",
        "9.9",
        ("gated",),
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
        ("parameters", "gated", "neither"),
    ),
    Mutant(
        "norms have gains alone",
        _ledger(norms=1),
        "Half of the norms' parameters are missing, one of two norms or all shifts: two norms, each with a gain and a "
        "shift of width d.",
        "9.9",
        ("parameters", "gated", "neither"),
    ),
    Mutant(
        "always 4d",
        _ledger(wide=True),
        "The inner width is taken to be 4d: it is d_ff.",
        "9.9",
        ("gated",),
    ),
    Mutant(
        "meets at 4d",
        _ledger(meet=lambda d, f, gated: 4.0 * d),
        "n = 4d is the meeting for two matrices with d_ff = 4d: put 4n²d beside the operations of this layer.",
        "9.9",
        ("gated",),
    ),
    Mutant(
        "meeting without the gate",
        _ledger(meet=lambda d, f, gated: float(f)),
        "The length is that of a layer with two matrices: W_g makes it half as long again.",
        "9.9",
        ("gated",),
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
        ("gated", "neither"),
    ),
    Mutant(
        "four biases of width d",
        _ledger(shifts=4),
        "A bias of width d is missing: b_q, b_k, b_v and b_o in attention, and b_2 behind W_2, are five.",
        "9.9",
        ("parameters", "gated with biases"),
    ),
    Mutant(
        "one head alone",
        _ledger(one=True),
        "The scores of one head are counted: there are H of them, each of width d/H.",
        "9.9",
        ("operations", "gated"),
    ),
    Mutant(
        "biases as operations",
        _ledger(added=4),
        "Additions of biases are counted among the operations: only products are.",
        "9.9",
        ("operations", "gated with biases"),
    ),
    Mutant(
        "product of gate and factor",
        _ledger(product=1),
        "The entry-by-entry product of gate and factor is counted: only products of matrices are.",
        "9.9",
        ("gated",),
    ),
    Mutant(
        "against all the rest",
        _ledger(meet=lambda d, f, gated: (2 + gated) * f / 2 + 2 * d),
        "The length is where the scores cost as much as everything else: it is asked where they meet the feed-forward"
        " layer alone.",
        "9.9",
        ("meeting", "gated"),
    ),
    Mutant(
        "biases of attention forgotten",
        _ledger(shifts=1),
        "The biases of attention are missing: its four maps have one of width d each.",
        "9.9",
        ("parameters", "gated with biases"),
    ),
    Mutant(
        "one matrix in the layer",
        _ledger(feeds=1),
        "The feed-forward layer's operations are those of one matrix: each of its matrices is a product of its own.",
        "9.9",
        ("operations", "gated"),
    ),
    Mutant(
        "gate not multiplied",
        _ledger(feeds=2),
        "W_g is among the parameters and not among the operations: X W_g is a product as well.",
        "9.9",
        ("gated",),
    ),
    Mutant(
        "for each token",
        _ledger(each=True),
        "These are the operations of one token: a pass has n of them.",
        "9.9",
        ("operations", "gated"),
    ),
    Mutant(
        "meeting with one product",
        _ledger(meet=lambda d, f, gated: (2.0 + gated) * f),
        "The length is that at which one of the two products costs as much: Q Kᵀ and A V together cost 4n²d.",
        "9.9",
        ("meeting", "gated"),
    ),
    Mutant(
        "biases of attention alone",
        _biases_of_attention,
        "The parameters lack the biases of the feed-forward layer, d_ff and d.",
        "9.9",
        ("parameters", "gated with biases"),
    ),
)

# 09.7

ROOT = math.sqrt(2 / math.pi)

CUBES = (
    Mutant(
        "one s too many",
        lambda s: (ROOT / s, (ROOT**2 / 3 - 1 / 6) / s**3),
        "a is divided by s³: the cube in the term c·a·x³ has three s, and one of them is in c already.",
        "9.1",
        ("a", "narrow"),
    ),
    Mutant(
        "half forgotten",
        lambda s: (ROOT / 2 / s, ROOT**2 / 4 / s**2 / 3 - 1 / 6 / s**2),
        "S = ½ + ½ tanh(…): the half in front halves the slope, so S'(0) = c/2 meets 1/(s √(2π)).",
        "9.1",
        ("c", "a", "narrow"),
    ),
    Mutant(
        "density of width one",
        lambda s: (ROOT, ROOT**2 / 3 - 1 / 6 / s**2),
        "c is that of s = 1: the density of Φ(x/s) at 0 is 1/(s √(2π)), lower when s is large.",
        "9.1",
        ("c", "a", "narrow"),
    ),
    Mutant(
        "cube of width one",
        lambda s: (ROOT / s, ROOT**2 / 3 - 1 / 6),
        "a is that of s = 1: x stands in Φ divided by s, and its cube by s³, so a shrinks with s².",
        "9.1",
        ("a", "narrow"),
    ),
    Mutant(
        "inner cube not scaled",
        lambda s: (ROOT / s, ROOT**2 / s**2 / 3 - 1 / 6),
        "Φ(x/s) falls away from 0 like 1 − x²/(2s²): the part −1/6 of a is divided by s² as well.",
        "9.1",
        ("a", "narrow"),
    ),
    Mutant(
        "s once",
        lambda s: (ROOT / s, (ROOT**2 / 3 - 1 / 6) / s),
        "a is divided by s once: beside x, the cube x³ has s² more below it.",
        "9.1",
        ("a", "narrow"),
    ),
    Mutant(
        "tanh taken for its argument",
        lambda s: (ROOT / s, -1 / 6 / s**2),
        "This a comes from tanh u ≈ u: the next term, −u³/3, has a cube too, and it takes part.",
        "9.1",
        ("a", "narrow"),
    ),
    Mutant(
        "sign of the sixth",
        lambda s: (ROOT / s, (ROOT**2 / 3 + 1 / 6) / s**2),
        "Φ'' falls away from 0: its density is proportional to 1 − x²/(2s²) + …, so the cube in Φ is negative.",
        "9.1",
        ("a", "narrow"),
    ),
    Mutant(
        "derivative for coefficient",
        lambda s: (ROOT / s, (ROOT**2 / 3 - 1 / 2) / s**2),
        "1 − x²/(2s²) is integrated to x − x³/(6s²) before you compare: the ratio of the cube is 1/6, not 1/2.",
        "9.1",
        ("a", "narrow"),
    ),
    Mutant(
        "the number of the papers",
        lambda s: (ROOT / s, 0.044715 / s**2),
        "0.044715 was fitted to be good over the whole line: a Taylor series at 0 gives another number.",
        "9.1",
        ("a", "narrow"),
    ),
    Mutant(
        "stretched the wrong way",
        lambda s: (ROOT * s, (ROOT**2 / 3 - 1 / 6) * s**2),
        "This is Φ(s x): a wide draw makes the gate flat, so c is divided by s, and a by s².",
        "9.1",
        ("c", "a", "narrow"),
    ),
    Mutant(
        "no third",
        lambda s: (ROOT / s, (ROOT**2 - 1 / 6) / s**2),
        "The third of tanh u = u − u³/3 is missing: c² counts a third.",
        "9.1",
        ("a", "narrow"),
    ),
    Mutant(
        "sixth divided by s once",
        lambda s: (ROOT / s, ROOT**2 / s**2 / 3 - 1 / 6 / s),
        "The part −1/6 is divided by s once: beside the slope 1/s the cube has 1/s³, so their ratio has 1/s².",
        "9.1",
        ("a", "narrow"),
    ),
    Mutant(
        "c over the square",
        lambda s: (ROOT / s**2, (ROOT**2 / 3 - 1 / 6) / s**2),
        "c is divided by s²: the density of Φ(x/s) at 0 is 1/(s √(2π)), with one s.",
        "9.1",
        ("c", "narrow"),
    ),
    Mutant(
        "c in a as well",
        lambda s: (ROOT / s, ROOT / s * (ROOT**2 / 3 - 1 / 6) / s**2),
        "This is c a, the whole factor of x³: c stands before the bracket, so a is without it.",
        "9.1",
        ("a", "narrow"),
    ),
    Mutant(
        "sign of the third",
        lambda s: (ROOT / s, (-(ROOT**2) / 3 - 1 / 6) / s**2),
        "The third of tanh is on the wrong side: c a − c³/3 is the cube of the tanh, so c²/3 is added in a.",
        "9.1",
        ("a", "narrow"),
    ),
    Mutant(
        "sign of a",
        lambda s: (ROOT / s, -(ROOT**2 / 3 - 1 / 6) / s**2),
        "a has the opposite sign: c a is the cube of the gate's argument, −1/6 from Φ and + c²/3 from the tanh.",
        "9.1",
        ("a", "narrow"),
    ),
    Mutant(
        "a of the library",
        lambda s: (ROOT / s, 0.044715),
        "a is the 0.044715 of the libraries: that was fitted over a range and for s = 1. Derive it from the terms in "
        "x³.",
        "9.1",
        ("a", "narrow", "another s"),
    ),
    Mutant(
        "root of 1/π",
        lambda s: ((c := math.sqrt(1 / math.pi) / s), c**2 / 3 - 1 / (6 * s**2)),
        "c is √(1/π)/s: the density at 0 is 1/√(2π s²), and c is twice that, √(2/π)/s.",
        "9.1",
        ("c", "a", "narrow", "another s"),
    ),
    Mutant(
        "1.702",
        lambda s: ((c := 0.851 / s), c**2 / 3 - 1 / (6 * s**2)),
        "c is 1.702/2: that is the factor of the quick gate, fitted over a range. Here the slopes at 0 are to agree.",
        "9.1",
        ("c", "a", "narrow", "another s"),
    ),
)

# 09.8


def _maximum(first, second, weights, shift=0.0, interleaved=False):
    """Units that read these combinations (of a, of b), two numbers a unit, and add with these weights."""

    def function(k):
        eye = np.eye(k)
        W_1 = np.block([[eye * w for w in first], [eye * w for w in second]])
        if interleaved:
            W_1 = W_1[[i // 2 + k * (i % 2) for i in range(2 * k)]]
        b_1 = shift * np.repeat([1.0 if w == "shifted" else 0.0 for w in weights], k)
        signs = [1.0 if w == "shifted" else w for w in weights]
        return W_1, b_1, np.vstack([eye * w for w in signs]), np.full(k, -shift)

    return function


WIDTHS = ("width 2", "width 5")

MAXIMA = (
    Mutant(
        "b through one unit",
        _maximum((1, 0), (-1, 1), (1, 1)),
        "max(a, b) = b + ReLU(a − b), but one ReLU does not let b pass where it is negative: b = ReLU(b) − ReLU(−b).",
        "9.2",
        WIDTHS,
    ),
    Mutant(
        "each by itself",
        _maximum((1, 0), (0, 1), (1, 1)),
        "This is ReLU(a) + ReLU(b): a unit must compare a with b, so it reads their difference.",
        "9.2",
        WIDTHS,
    ),
    Mutant(
        "difference alone",
        _maximum((1,), (-1,), (1,)),
        "This is ReLU(a − b), by how much a is larger: b itself is to be added.",
        "9.2",
        WIDTHS,
    ),
    Mutant(
        "smaller one",
        _maximum((-1, 0, 0), (1, 1, -1), (-1, 1, -1)),
        "This is the smaller of the two, b − ReLU(b − a): for the larger one it is b + ReLU(a − b).",
        "9.2",
        WIDTHS,
    ),
    Mutant(
        "half forgotten",
        _maximum((1, -1, 1), (-1, 1, 1), (1, 1, 1)),
        "|a − b| takes two units, and max is half of a + b + |a − b|: a + b must pass where it is negative, too.",
        "9.2",
        WIDTHS,
    ),
    Mutant(
        "negative sums lost",
        _maximum((1, -1, 1), (-1, 1, 1), (0.5, 0.5, 0.5)),
        "Where a + b is negative one ReLU gives 0: with ReLU(−a − b) that would take four units for each entry, and "
        "b + ReLU(a − b) needs three.",
        "9.2",
        WIDTHS,
    ),
    Mutant(
        "shifted by a constant",
        _maximum((1, 0), (-1, 1), (1, "shifted"), shift=1e6),
        "A bias that lifts b above 0 and is taken away again works as long as b is not below it: use two units, "
        "ReLU(b) − ReLU(−b).",
        "9.2",
        WIDTHS,
    ),
    Mutant(
        "pairs in a row",
        _maximum((1, 0, 0), (-1, 1, -1), (1, 1, -1), interleaved=True),
        "The token is read as a_0, b_0, a_1, b_1, …: all of a comes first, then all of b.",
        "9.2",
        WIDTHS,
    ),
    Mutant(
        "both signs added",
        _maximum((1, 0, 0), (-1, 1, -1), (1, 1, 1)),
        "ReLU(b) + ReLU(−b) is |b|: the unit that reads −b is subtracted.",
        "9.2",
        WIDTHS,
    ),
    Mutant(
        "difference the wrong way",
        _maximum((1, 1, -1), (-1, 0, 0), (1, 1, -1)),
        "This is a + ReLU(a − b): to a belongs what b has more, ReLU(b − a).",
        "9.2",
        WIDTHS,
    ),
    Mutant(
        "without a difference",
        _maximum((0, 1, -1), (1, 0, 0), (1, 1, -1)),
        "This is a + ReLU(b): a unit must compare the two, so it reads b − a.",
        "9.2",
        WIDTHS,
    ),
    Mutant(
        "without a difference, of b",
        _maximum((1, 0, 0), (0, 1, -1), (1, 1, -1)),
        "This is b + ReLU(a): a unit must compare the two, so it reads a − b.",
        "9.2",
        WIDTHS,
    ),
)

# 09.9

ABOVE = {"W_q", "W_k", "W_v", "W_o", "gamma_1", "beta_1"}
STAYS = {
    "W_2": {"W_1", "b_1", "gamma_2", "beta_2"},
    "W_o": {"W_q", "W_k", "W_v", "gamma_1", "beta_1"},
    "W_v": {"W_q", "W_k", "W_o", "gamma_1", "beta_1"},
    "W_q": {"W_k"},
    "gamma_1": {"W_q", "W_k"},
    "gamma_2": set(),
}


def _stay(change):
    return lambda zero: sorted(change(zero, set(STAYS[zero])))


def _without(**lost):
    return _stay(lambda zero, right: right - lost.get(zero, set()))


def _with(**more):
    return _stay(lambda zero, right: right | more.get(zero, set()))


NORM_1 = {"gamma_1", "beta_1"}

STAYERS = (
    Mutant(
        "zero learns nothing",
        _stay(lambda zero, right: right | {zero}),
        "A parameter that is 0 is said to get no gradient: its gradient is made of what it reads and of what arrives, "
        "and neither is its own value.",
        "9.8",
        ("W_2", "W_o", "W_v", "W_q", "gamma_1", "gamma_2"),
    ),
    Mutant(
        "no stream",
        _with(W_2=ABOVE, gamma_2=ABOVE),
        "Behind a silent feed-forward layer attention is said to learn nothing: the stream passes it by with the whole "
        "gradient.",
        "9.8",
        ("W_2", "gamma_2"),
    ),
    Mutant(
        "norm forgotten",
        _without(W_2={"gamma_2", "beta_2"}, W_o=NORM_1, W_v=NORM_1),
        "The gain and shift in front of a sublayer are reached through it alone: if nothing comes back, they get "
        "nothing.",
        "9.8",
        ("W_2", "W_o", "W_v"),
    ),
    Mutant(
        "scores without values",
        _without(W_v={"W_q", "W_k"}),
        "Where all values are 0, it does not matter who looks where: dA = dZ Vᵀ is 0, and the scores get no gradient.",
        "9.8",
        ("W_v",),
    ),
    Mutant(
        "output map of nothing",
        _without(W_v={"W_o"}),
        "W_o read Z = A V, which is 0: its gradient Zᵀ dO is 0.",
        "9.8",
        ("W_v",),
    ),
    Mutant(
        "values of a silent attention",
        _with(W_v={"W_v"}),
        "W_v is 0, but it reads X̄, and dV = Aᵀ dZ arrives: it gets a gradient.",
        "9.8",
        ("W_v",),
    ),
    Mutant(
        "queries and not keys",
        _stay(lambda zero, right: {"W_q"} if zero == "W_q" else right),
        "Queries of 0 get a gradient, dQ = dS K; the keys are met by them, and dK = dSᵀ Q is 0.",
        "9.8",
        ("W_q",),
    ),
    Mutant(
        "all of the scores",
        _stay(lambda zero, right: {"W_q", "W_k", *NORM_1} if zero == "W_q" else right),
        "Scores of 0 are weights of 1/n, and not 0: values pass, and the queries get a gradient, dQ = dS K.",
        "9.8",
        ("W_q",),
    ),
    Mutant(
        "equal tokens learn",
        _without(gamma_1={"W_q", "W_k"}),
        "With γ_1 = 0 attention reads the same β_1 at every place: all keys and values are alike, dA is constant in "
        "each row, and the softmax's backward makes 0 of it.",
        "9.8",
        ("gamma_1",),
    ),
    Mutant(
        "nothing behind the gain",
        _with(gamma_1={"W_v", "W_o"}, gamma_2={"W_1", "b_1", "W_2"}),
        "Behind a gain of 0 there is still the shift β: the layer reads it, and its weights learn from it.",
        "9.8",
        ("gamma_1", "gamma_2"),
    ),
    Mutant(
        "bias of a silent layer",
        _without(W_2={"b_1"}),
        "b_1 is reached through W_2 alone: dH = dF W_2ᵀ is 0, and so is dU.",
        "9.8",
        ("W_2",),
    ),
    Mutant(
        "values of equal tokens",
        _with(gamma_1={"W_v"}),
        "With γ_1 = 0 the values read β_1, which is not 0, and dV arrives: W_v learns.",
        "9.8",
        ("gamma_1",),
    ),
    Mutant(
        "nobody stays",
        lambda zero: [],
        "No name came back: a parameter at 0 keeps others from learning, those whose gradient is a product with it.",
        "9.8",
        ("W_2", "W_v", "W_q", "gamma_1"),
    ),
    Mutant(
        "keys without queries learn",
        _without(W_q={"W_k"}),
        "Keys are multiplied by queries, and these are 0: dK = dSᵀ Q is 0, so W_k stays.",
        "9.8",
        ("W_q",),
    ),
    Mutant(
        "last bias",
        _with(W_2={"b_2"}),
        "b_2 is added behind W_2: dY arrives there whatever W_2 is.",
        "9.8",
        ("W_2",),
    ),
    Mutant(
        "output map at zero",
        _with(W_o={"W_o"}),
        "W_o is 0, but it reads A V, and dY arrives: it gets a gradient.",
        "9.8",
        ("W_o",),
    ),
)

# 09.10


def _module(gate="W_g", factor=True, drop=None, turned=False, silu=True, buffer=False, stream=False, held=False,
            acts="gate"):
    def make_gated_layer(d, f, p):
        import torch
        from torch.nn import functional

        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                for name, size in {"W_g": (d, f), "W_1": (d, f), "W_2": (f, d)}.items():
                    size = size[::-1] if turned else size
                    value = torch.randn(*size) / size[0] ** 0.5
                    if buffer and name == "W_g":
                        self.register_buffer(name, value)
                    else:
                        setattr(self, name, torch.nn.Parameter(value))

            def dropped(self, x):
                if drop == "never":
                    return x
                if drop == "always":
                    return functional.dropout(x, p)
                if drop == "reversed":
                    return functional.dropout(x, p, not self.training)
                if drop == "kept share":
                    return functional.dropout(x, 1 - p, self.training)
                if drop == "not scaled":
                    return x * (torch.rand_like(x) >= p) if self.training else x
                if drop in ("tokens", "features") and self.training:
                    size = {"tokens": (*x.shape[:-1], 1), "features": x.shape[-1:]}[drop]
                    return x * (torch.rand(size, dtype=x.dtype) >= p) / (1 - p)
                if drop == "once" and self.training:  # as with a seed in forward
                    keep = torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) >= p
                    return x * keep / (1 - p)
                if drop == "rows" and self.training:
                    return x * (torch.rand_like(x) >= p).double() / (1 - p) ** 2
                return functional.dropout(x, p, self.training)

            def forward(self, X):
                act = {True: functional.silu, False: torch.sigmoid}.get(silu, getattr(functional, str(silu), None))
                A, B = (self.W_g, self.W_1) if gate == "W_g" else (self.W_1, self.W_g)
                if drop == "input":
                    X = functional.dropout(X, p, self.training)
                G, U = act(X @ A), X @ B
                G = G.detach() if held else G
                H = {"both": G * act(U), "product": act((X @ A) * U)}.get(acts, G * U) if factor else G + U
                if drop == "hidden":
                    return functional.dropout(H, p, self.training) @ self.W_2
                if drop == "input":
                    return H @ self.W_2
                return self.dropped(H @ self.W_2) + (X if stream else 0)

        return Layer()

    return make_gated_layer


MODULES = (
    Mutant(
        "activation on the wrong branch",
        _module(gate="W_1"),
        "The activation stands on X W_1: it belongs to the gate, silu(X W_g). The module trains as well, and misreads "
        "every loaded W_g.",
        "9.5",
        ("evaluation and backward", "leading axes", "no dropout"),
    ),
    Mutant(
        "sum for product",
        _module(factor=False),
        "Gate and factor are added: H is their product, entry by entry.",
        "9.5",
        ("evaluation and backward", "leading axes", "no dropout"),
    ),
    Mutant(
        "sigmoid for silu",
        _module(silu=False),
        "The gate is σ(X W_g): silu multiplies that by its own argument, x σ(x).",
        "9.5",
        ("evaluation and backward", "leading axes", "no dropout"),
    ),
    Mutant(
        "dropout always",
        _module(drop="always"),
        "Dropout acts in evaluation too: functional.dropout does not know the mode unless it is handed self.training.",
        "9.11",
        ("evaluation and backward", "leading axes"),
    ),
    Mutant(
        "modes exchanged",
        _module(drop="reversed"),
        "The modes are exchanged: dropout acts in evaluation and not in training.",
        "9.11",
        ("evaluation and backward", "training", "leading axes"),
    ),
    Mutant(
        "dropout never",
        _module(drop="never"),
        "Nothing is dropped in training mode.",
        "9.6",
        ("training",),
    ),
    Mutant(
        "dropout of the hidden units",
        _module(drop="hidden"),
        "Dropout acts on the hidden units: it belongs behind W_2, on the output.",
        "9.7",
        ("training",),
    ),
    Mutant(
        "kept share",
        _module(drop="kept share"),
        "p is read as the share that is kept: PyTorch's p and ours are both the probability of dropping.",
        "9.6",
        ("training",),
    ),
    Mutant(
        "not scaled",
        _module(drop="not scaled"),
        "What is kept is not divided by 1 − p: the mean of the output then differs between training and evaluation.",
        "9.6",
        ("training",),
    ),
    Mutant(
        "scaled twice",
        _module(drop="rows"),
        "What is kept is divided by 1 − p twice: functional.dropout and nn.Dropout divide already.",
        "9.6",
        ("training",),
    ),
    Mutant(
        "matrices as nn.Linear has them",
        _module(turned=True),
        "The matrices are stored transposed, as nn.Linear does: the tree has W_1 (d, f), with X on its left.",
        "9.11",
        ("evaluation and backward", "training", "leading axes", "no dropout"),
    ),
    Mutant(
        "a buffer",
        _module(buffer=True),
        "W_g is not a parameter, so nothing would train it: wrap it in nn.Parameter.",
        "9.11",
        ("evaluation and backward", "training", "leading axes", "no dropout"),
    ),
    Mutant(
        "relu for silu",
        _module(silu="relu"),
        "The gate's activation is ReLU: it should be silu(x) = x σ(x).",
        "9.5",
        ("evaluation and backward", "leading axes", "no dropout"),
    ),
    Mutant(
        "gelu for silu",
        _module(silu="gelu"),
        "The gate's activation is GELU: it should be silu(x) = x σ(x).",
        "9.5",
        ("evaluation and backward", "leading axes", "no dropout"),
    ),
    Mutant(
        "stream added",
        _module(stream=True),
        "X is added to the output: the stream belongs to the block, this is the layer alone.",
        "9.7",
        ("evaluation and backward", "leading axes", "no dropout"),
    ),
    Mutant(
        "dropout of the input",
        _module(drop="input"),
        "Dropout acts on X: it belongs behind W_2, on the output.",
        "9.7",
        ("training",),
    ),
    Mutant(
        "whole tokens",
        _module(drop="tokens"),
        "Whole tokens are dropped: in dropout each number of the output has a chance of its own.",
        "9.6",
        ("training",),
    ),
    Mutant(
        "whole features",
        _module(drop="features"),
        "Whole features are dropped, the same for all tokens, or all of the output at once: each number of it has a "
        "chance of its own, drawn anew in every pass.",
        "9.6",
        ("training",),
    ),
    Mutant(
        "mask drawn once",
        _module(drop="once"),
        "The same numbers are dropped in each pass: a mask is drawn anew every time, so nothing is seeded in forward, "
        "and no mask is kept.",
        "9.6",
        ("training",),
    ),
    Mutant(
        "gate detached",
        _module(held=True),
        "The gate is detached: it is a product of X and W_g, and gets a gradient like the other branch.",
        "9.5",
        ("evaluation and backward", "leading axes", "no dropout"),
    ),
    Mutant(
        "silu on both",
        _module(acts="both"),
        "silu acts on both branches: X W_1 is not activated.",
        "9.5",
        ("evaluation and backward", "leading axes", "no dropout"),
    ),
    Mutant(
        "silu of the product",
        _module(acts="product"),
        "silu acts on the product of both branches: it acts on X W_g alone, and the product comes after it.",
        "9.5",
        ("evaluation and backward", "leading axes", "no dropout"),
    ),
)

# 09.11


def _table(bias=-1.0, weight=1.0, order="ij", turned=False, sums=False, swap=False, second=True):
    def function(T):
        s, t, v = T.shape
        if sums:  # a unit a symbol: what is known of each by itself
            rows = np.vstack([T.mean(axis=1), T.mean(axis=0) - T.mean(axis=(0, 1))])
            return np.eye(s + t), np.zeros(s + t), rows, np.zeros(v)
        W_1 = np.zeros((s + t, s * t))
        for i in range(s):
            for j in range(t):
                unit = {"ij": i * t + j, "ji": j * s + i, "by s": i * s + j}[order]
                W_1[i, unit] = weight
                if second:
                    W_1[j if second == "among the first" else s + j, unit] = weight
        W_2 = np.swapaxes(T, 0, 1).reshape(s * t, v) if swap else T.reshape(s * t, v)
        return W_1, np.full(s * t, bias), W_2, np.zeros(v)

    return function


FACTS = ("two by three", "a square table", "wide")

TABLES = (
    Mutant(
        "threshold forgotten",
        _table(bias=0.0),
        "Without a threshold every unit that sees one of its two symbols is open: subtract 1, so that one alone is not "
        "enough.",
        "9.4",
        FACTS,
    ),
    Mutant(
        "threshold of a half",
        _table(bias=-0.5),
        "With a threshold of ½ one symbol alone opens a unit, by ½: two ones are 2, one is 1, so the threshold is 1.",
        "9.4",
        FACTS,
    ),
    Mutant(
        "threshold of two",
        _table(bias=-2.0),
        "Nothing opens: with a threshold of 2 both symbols together reach just 0, and with a threshold of 1 one "
        "symbol alone does, if the unit reads no other.",
        "9.4",
        FACTS,
    ),
    Mutant(
        "half open",
        _table(bias=-1.5),
        "The right unit opens by ½ only, so half of each fact comes out: its two ones make 2, and 2 − 1 = 1.",
        "9.4",
        FACTS,
    ),
    Mutant(
        "units and facts in another order",
        _table(order="ji"),
        "The units run through (i, j) in another order than the rows of W_2: unit and value must belong to one pair.",
        "9.4",
        FACTS,
    ),
    Mutant(
        "symbols exchanged",
        _table(swap=True),
        "The facts are laid down with i and j exchanged: row i·t + j of W_2 is T[i, j].",
        "9.4",
        FACTS,
    ),
    Mutant(
        "a unit for each symbol",
        _table(sums=True),
        "Each symbol adds what is known of it alone: a table of pairs needs units that see both symbols.",
        "9.4",
        FACTS,
    ),
    Mutant(
        "second symbol among the first",
        _table(second="among the first"),
        "The second symbol is looked for among the first: j stands at place s + j of the token.",
        "9.4",
        ("two by three", "a square table"),
    ),
    Mutant(
        "units counted by s",
        _table(order="by s"),
        "Unit i·s + j is that of two pairs, or of none: each i has t units, so it is i·t + j.",
        "9.4",
        ("two by three", "wide"),
    ),
    Mutant(
        "threshold added",
        _table(bias=1.0),
        "The threshold has the wrong sign: with +1 every unit is open. Subtract 1, so that one symbol alone is not "
        "enough.",
        "9.4",
        ("two by three", "a square table", "wide", "other sizes"),
    ),
    Mutant(
        "first symbol alone, always open",
        _table(bias=0.0, second=False),
        "Each unit sees the first symbol alone, so all facts about i come at once: it takes both symbols, and a "
        "threshold.",
        "9.4",
        ("two by three", "a square table", "wide", "other sizes"),
    ),
)
