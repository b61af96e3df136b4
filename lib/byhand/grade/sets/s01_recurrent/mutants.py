"""Known wrong answers, each with the message that names the misconception."""

import math

import numpy as np

from ...model import Mutant

# 01.1


def _through_time(
    slope=lambda h: 1 - h * h, back=lambda da, W_h: da @ W_h.mT, before=None, add=lambda dh, later: dh + later,
    over=lambda rows: rows.reshape(-1, rows.shape[-1]).sum(axis=0), first=lambda later, da: later,
    tokens=lambda dU, W_x: dU @ W_x.mT, direct=False,
):
    """Backpropagation through time with one part replaced by a wrong one."""

    def function(dH, X, H, h0, W_x, W_h):
        earlier = np.concatenate([h0[..., None, :], H[..., :-1, :]], axis=-2)
        dU, later = np.zeros_like(H), np.zeros_like(h0)
        for t in reversed(range(H.shape[-2])):
            da = add(dH[..., t, :], later) * slope(H[..., t, :])
            dU[..., t, :] = da = dH[..., t, :] * slope(H[..., t, :]) + later if direct else da
            later = back(da, W_h)
        flat = dU.reshape(-1, dU.shape[-1])
        used = before(earlier, H) if before else earlier
        return (tokens(dU, W_x), X.reshape(-1, X.shape[-1]).T @ flat, used.reshape(-1, flat.shape[1]).T @ flat,
                over(dU), first(later, dU[..., 0, :]))

    return function


def _no_start(dH, X, H, h0, W_x, W_h):
    return _through_time(before=lambda earlier, H: np.concatenate([0 * earlier[..., :1, :], H[..., :-1, :]], axis=-2))(
        dH, X, H, h0, W_x, W_h)


def _slope_before(dH, X, H, h0, W_x, W_h):
    earlier, slopes = np.concatenate([h0[..., None, :], H[..., :-1, :]], axis=-2), []
    for t in reversed(range(H.shape[-2])):
        slopes.append(1 - earlier[..., t, :] ** 2)
    return _through_time(slope=lambda h: slopes.pop(0))(dH, X, H, h0, W_x, W_h)


RUNS = ("one text", "batch", "two axes in front")
LONG = (*RUNS, "only the last state")

THROUGH_TIME = (
    Mutant("no way through time", _through_time(add=lambda dh, later: dh),
           "Each state gets the gradient of its own output alone. It was also an input of the next step, and what "
           "comes "
           "back from there is added.", "1.2", LONG),
    Mutant("only what comes back", _through_time(add=lambda dh, later: dh * (later == 0).all() + later),
           "The direct gradient of a state is lost as soon as something comes back from the next step; the two are "
           "added.", "1.2", RUNS),
    Mutant("no slope", _through_time(slope=lambda h: 1.0),
           "The slope of the tanh is missing: du_t = e_t ∘ (1 − h_t²).", "1.2", LONG),
    Mutant("slope for the direct gradient alone", _through_time(direct=True),
           "Only the direct gradient is multiplied by the slope of the tanh: what comes back from the next step "
           "reaches h_t as well, so both are added first.", "1.2", LONG),
    Mutant("slope of the slope", _through_time(slope=lambda h: 1 - np.tanh(h) ** 2),
           "tanh is taken of h_t, which is a tanh already: the slope is 1 − h_t².", "1.2", LONG),
    Mutant("not transposed", _through_time(back=lambda da, W_h: da @ W_h),
           "Backward, du_t is multiplied by W_h; it takes the transpose, since h_{t−1} W_h was the way forward.", "1.2",
           LONG),
    Mutant("own state", _through_time(before=lambda earlier, H: H),
           "dW_h is made with h_t itself; the input of step t was h_{t−1}.", "1.2", LONG),
    Mutant("start forgotten", _no_start,
           "Step 1 also used W_h, on h0: its term h0ᵀ du_1 belongs to dW_h.", "1.2", RUNS),
    Mutant("batch kept apart", _through_time(over=lambda rows: rows.sum(axis=-2)),
           "db is summed over the tokens alone; all the axes in front share b as well.", "1.2", ("batch",)),
    Mutant("mean", _through_time(over=lambda rows: rows.reshape(-1, rows.shape[-1]).mean(axis=0)),
           "db is a mean over the tokens; gradients of shared parameters add up.", "1.2", LONG),
    Mutant("dh0 without its matrix", _through_time(first=lambda later, da: da),
           "dh0 is du_1 itself; on the way back through h0 W_h it is multiplied by W_hᵀ.", "1.2", LONG),
    Mutant("slope at the state before", _slope_before,
           "The slope of the tanh is taken at h_{t−1}: step t ended in h_t = tanh(…), so its slope is 1 − h_t².", "1.2",
           LONG),
    Mutant("states turned round", _through_time(before=lambda earlier, H: np.roll(H, 1, axis=-2)),
           "In dW_h the state before the first is the last one, as np.roll gives it: step 1 began at h0.", "1.2", LONG),
    Mutant("slope not squared", _through_time(slope=lambda h: 1 - h),
           "The slope of the tanh is 1 − h², with a square.", "1.2", LONG),
    Mutant("slope with a plus", _through_time(slope=lambda h: 1 + h * h),
           "The slope of the tanh is written with a plus: it is 1 − h², at most 1.", "1.2", LONG),
    Mutant("slope as of a sigmoid", _through_time(slope=lambda h: h * (1 - h)),
           "h (1 − h) is the slope of a sigmoid: that of the tanh is 1 − h².", "1.2", LONG),
    Mutant("states of the next step", _through_time(before=lambda earlier, H: np.roll(H, -1, axis=-2)),
           "In dW_h the state of the next step stands beside du_t: the input of step t was the state before, h_{t−1}.",
           "1.2", LONG),
    Mutant("dW_h transposed", lambda *given: tuple(out.T if i == 2 else out
                                                   for i, out in enumerate(_through_time()(*given))),
           "This is the transpose of dW_h: its entry (i, j) collects h_i of the step before times du_j.", "1.2", LONG),
    Mutant("dW_h averaged", lambda dH, X, H, h0, W_x, W_h: tuple(
               out / (H.size // H.shape[-1]) if i in (1, 2) else out
               for i, out in enumerate(_through_time()(dH, X, H, h0, W_x, W_h))),
           "dW_x and dW_h are means over the tokens: every step used the same matrices, so what they send adds up.",
           "1.2", LONG),
)

# 01.2


GROWTH = (
    Mutant("scaled", lambda r, k, g: np.eye(2) * g ** (1 / k),
           "An eigenvalue is too large. A multiple of the identity, or a symmetric matrix, grows by its eigenvalues "
           "alone; "
           "use what they do not see.", "1.3", ("one step", "four steps", "ten steps")),
    Mutant("radius alone", lambda r, k, g: np.eye(2) * r,
           "This matrix only shrinks. What does an entry above the diagonal of a triangular matrix do to its powers, "
           "and "
           "what to its eigenvalues?", "1.3", ("one step", "four steps", "ten steps")),
    Mutant("nilpotent", lambda r, k, g: np.array([[0.0, g], [0.0, 0.0]]),
           "One step is fine, and then too little is left: if the diagonal is 0 and 0, the square is zero, and if it "
           "is r and −r, every second power has no corner. With r and r the corner c becomes k rᵏ⁻¹ c after k "
           "steps, and both factors, k and rᵏ⁻¹, are needed to choose it.", "1.3",
           ("four steps", "ten steps")),
    Mutant("first power", lambda r, k, g: np.array([[r, g], [0.0, r]]),
           "The norm of W itself is large enough, that of its power is not: the entry above the diagonal of the k-th "
           "power is k r^(k−1) times that of W.", "1.3", ("four steps",)),
)

# 01.3


def _gate(bias):
    return 1 / (1 + math.exp(-bias))


STEPS = (
    Mutant("half", lambda bias, share: max(1, math.ceil(math.log(share) / math.log(0.5))),
           "The gate is taken as one half, which is that of bias 0: a gate is σ(bias).", "1.4",
           ("an open gate", "a wide gate")),
    Mutant("bias as gate", lambda bias, share: max(1, math.ceil(math.log(share) / math.log(bias)))
           if 0 < bias < 1 else 1,
           "The bias is used as if it were the gate; the gate is σ(bias), between 0 and 1.", "1.4",
           ("a fresh gate", "an open gate", "a wide gate")),
    Mutant("rounded down", lambda bias, share: max(1, math.floor(math.log(share) / math.log(_gate(bias)))),
           "Rounded down, or to the nearest: after this many steps a little more than the share is left. The smallest "
           "number that does it "
           "is rounded up.", "1.4", ("an open gate", "a wide gate")),
    Mutant("one more", lambda bias, share: math.floor(math.log(share) / math.log(_gate(bias))) + 1,
           "One step too many where a power of the gate meets the share exactly: no more than the share is left, so "
           "equal will do.", "1.4", ("a fresh gate",)),
    Mutant("tanh", lambda bias, share: max(1,
           math.ceil(math.log(share) / math.log(math.tanh(bias)))) if bias > 0 else 1,
           "The gate is a sigmoid and not a tanh of its bias.", "1.4", ("a fresh gate", "an open gate", "a wide gate")),
    Mutant("input share", lambda bias, share: max(1, math.ceil(math.log(share) / math.log(1 - _gate(bias)))),
           "This counts what 1 − σ(bias) leaves: the forget gate says how much is kept, in spite of its name.", "1.4",
           ("an open gate", "a wide gate")),
    Mutant("share that is lost", lambda bias, share: max(1, math.ceil(math.log(1 - share) / math.log(_gate(bias)))),
           "This waits until the given share is lost: it is the share that is left.", "1.4",
           ("a fresh gate", "an open gate", "a wide gate")),
    Mutant("as if it fell straight", lambda bias, share: max(1, math.ceil((1 - share) / (1 - _gate(bias)))),
           "This takes the same amount away at every step: each step multiplies what is left, so the k-th power of the "
           "gate is left after k of them.", "1.4", ("a fresh gate", "an open gate", "a wide gate")),
    Mutant("e-foldings", lambda bias, share: max(1, math.ceil((1 + math.exp(bias)) * -math.log(share))),
           "This takes 1 − σ(bias) for −ln σ(bias), which is near for a wide gate alone: the share after k steps is "
           "σ(bias)ᵏ.", "1.4", ("a fresh gate", "an open gate", "a wide gate")),
)

# 01.4


def _leaky(
    dN=lambda e, Z: e * (1 - Z), dZ=lambda e, before, N, h: e * (before - N), carry=lambda e, Z: e * Z, add=True,
    gate=lambda z: 1.0, new=lambda n: 1.0, own_gate=False
):
    """The gated sum with one part replaced by a wrong one."""

    def function(dH, N, Z, h0):
        H, h = [h0], h0
        for t in range(N.shape[-2]):
            h = (1 - Z[..., t, :]) * N[..., t, :] + Z[..., t, :] * h
            H.append(h)
        outN, outZ, e = np.zeros_like(N), np.zeros_like(Z), np.zeros_like(h0)
        for t in reversed(range(N.shape[-2])):
            e = (e * Z[..., t, :] if own_gate else e) + dH[..., t, :] if add else dH[..., t, :]
            outN[..., t, :] = dN(e, Z[..., t, :]) * new(N[..., t, :])
            outZ[..., t, :] = dZ(e, H[t], N[..., t, :], H[t + 1]) * gate(Z[..., t, :])
            e = e if own_gate and t else carry(e, Z[..., t, :])
        return outN, outZ, e

    return function


def _first_state(dH, N, Z, h0):
    return _leaky(dZ=lambda e, before, new, h: e * (h0 - new))(dH, N, Z, h0)


GATED = ("one text", "batch", "gates shut and open")
def _leaky_without_the_first_gate(dH, N, Z, h0):
    dN, dZ, _ = _leaky()(dH, N, Z, h0)
    return dN, dZ, dN[..., 0, :] / (1 - Z[..., 0, :])


LEAKY = (
    Mutant("gates exchanged", _leaky(dN=lambda e, Z: e * Z, carry=lambda e, Z: e * (1 - Z)),
           "z and 1 − z are exchanged on the way back: n_t came in with 1 − z_t, and the old state with z_t.", "1.4",
           GATED),
    Mutant("gate sees the new part alone", _leaky(dZ=lambda e, before, N, h: -e * N),
           "z_t stands twice in the sum: with −n_t and with h_{t−1}. The second is missing in dZ.", "1.4", GATED),
    Mutant("gate sees the old part alone", _leaky(dZ=lambda e, before, N, h: e * before),
           "z_t stands twice in the sum: with −n_t and with h_{t−1}. The first is missing in dZ.", "1.4", GATED),
    Mutant("sign of the gate", _leaky(dZ=lambda e, before, N, h: e * (N - before)),
           "dZ has the wrong sign: a larger z takes n_t away and brings h_{t−1}.", "1.4", GATED),
    Mutant("own state", _leaky(dZ=lambda e, before, N, h: e * (h - N)),
           "dZ is made with h_t; the gate kept h_{t−1}.", "1.4", GATED),
    Mutant("no way through time", _leaky(add=False),
           "Each state gets the gradient of its own output alone; what comes back from the next step, times its gate, "
           "is added.", "1.4", GATED),
    Mutant("slope of the gate", _leaky(dZ=lambda e, before, N, h: e * (before - N), gate=lambda z: z * (1 - z)),
           "dZ is multiplied by the slope of a sigmoid: z_t itself is given, and dZ is its gradient.", "1.4", GATED),
    Mutant("slope of the new part", _leaky(dN=lambda e, Z: e * (1 - Z), new=lambda n: 1 - n * n),
           "dN is multiplied by the slope of a tanh: n_t itself is given, and dN is its gradient.", "1.4", GATED),
    Mutant("whole carried", _leaky(carry=lambda e, Z: e),
           "The gradient goes back from state to state whole; it passes the gate, so it is multiplied by z_t.", "1.4",
           GATED),
    Mutant("gate of the step before", _leaky(own_gate=True),
           "What comes back from step t + 1 is multiplied by z_t: it passed the gate of the step that it comes from, "
           "z_{t+1}.", "1.4", GATED),
    Mutant("first state throughout", _first_state,
           "dZ is made with h0 at every step: the gate of step t kept h_{t−1}.", "1.4", GATED),
    Mutant("dh0 without its gate", _leaky_without_the_first_gate,
           "dh0 is the gradient of h_1: h0 came in with the gate of the first step, so it is multiplied by z_1.", "1.4",
           GATED),
    Mutant("gate forgotten in dN", _leaky(dN=lambda e, Z: e),
           "In dN the gate is missing: n_t came in with 1 − z_t.", "1.4", GATED),
    Mutant("new part carried", _leaky(carry=lambda e, Z: e * (1 - Z)),
           "What goes back to the state before is multiplied by 1 − z_t: the old state was kept with z_t.", "1.4",
           GATED),
)

# 01.5


def _net(fill, batch_first=True):
    """An LSTM whose two bias vectors are zero but for what `fill` writes."""

    def function(d, h, steps):
        import torch

        net = torch.nn.LSTM(d, h, batch_first=batch_first)
        with torch.no_grad():
            net.bias_ih_l0.zero_()
            net.bias_hh_l0.zero_()
            fill(net.bias_ih_l0, net.bias_hh_l0, h, steps)
        return net

    return function


def _both(a, b, h, steps):
    a[h:2 * h] = b[h:2 * h] = math.log(steps - 1)


def _first(a, b, h, steps):
    a[:h] = math.log(steps - 1)


def _third(a, b, h, steps):
    a[2 * h:3 * h] = math.log(steps - 1)


def _everywhere(a, b, h, steps):
    a += math.log(steps - 1)


def _logit(a, b, h, steps):
    a[h:2 * h] = 1 - 1 / steps


def _log_steps(a, b, h, steps):
    a[h:2 * h] = math.log(steps)


def _right(a, b, h, steps):
    a[h:2 * h] = math.log(steps - 1)


def _others_left(d, h, steps):
    import torch

    torch.manual_seed(0)
    net = torch.nn.LSTM(d, h, batch_first=True)
    with torch.no_grad():
        net.bias_ih_l0[h:2 * h] = math.log(steps - 1)
        net.bias_hh_l0[h:2 * h] = 0.0
    return net


def _one_bias_left(d, h, steps):
    net = _others_left(d, h, steps)
    import torch

    with torch.no_grad():
        net.bias_ih_l0.zero_()
        net.bias_ih_l0[h:2 * h] = math.log(steps - 1)
        net.bias_hh_l0[:] = 0.05  # what is left of PyTorch's own start
    return net


BIASES = ("the forget gate", "the other gates")
MEMORY = (
    Mutant("both biases", _net(_both),
           "The two bias vectors of PyTorch are added, and both hold ln(T − 1) here: together they are twice that.",
           "1.4",
           ("the forget gate",)),
    Mutant("first quarter", _net(_first),
           "The bias went to the input gate: PyTorch's order is input, forget, cell, output, so the forget gate is the "
           "second quarter.", "1.4", BIASES),
    Mutant("third quarter", _net(_third),
           "The bias went to the cell's own quarter: PyTorch's order is input, forget, cell, output, so the forget "
           "gate "
           "is the second.", "1.4", BIASES),
    Mutant("all gates", _net(_everywhere), "Every gate got the bias; only the forget gate is to be opened.", "1.4",
           ("the other gates",)),
    Mutant("gate for bias", _net(_logit),
           "1 − 1/T is what the gate should be; its bias is what a sigmoid turns into that.", "1.4", ("the forget "
                                                                                                      "gate",)),
    Mutant("ln T", _net(_log_steps), "The bias is ln T; σ(β) = 1 − 1/T gives β = ln(T − 1).", "1.4", ("the forget "
                                                                                                      "gate",)),
    Mutant("others as they came", _others_left,
           "The other gates still have the random biases that PyTorch begins with; set them to 0, in both vectors.",
           "1.4",
           ("the other gates",)),
    Mutant("second vector as it came", _one_bias_left,
           "PyTorch has two bias vectors and adds them; one of them still holds what it began with.", "1.4", BIASES),
    Mutant("tokens first", _net(_right, batch_first=False),
           "Without batch_first=True the first axis counts tokens, and a batch of texts is read crosswise.", "1.4",
           ("a batch",)),
)

# 01.6


def _doubling(kernel, distance):
    found, seen = [], 1
    while seen <= distance:
        found.append(2 ** len(found))
        seen += (kernel - 1) * found[-1]
    return found


def _ones(kernel, distance):
    return [1] * math.ceil(distance / (kernel - 1))


def _sparse(kernel, distance):
    """One layer whose window just reaches; nothing between is seen."""
    return [math.ceil(distance / (kernel - 1))]


def _one_short(kernel, distance):
    found, seen = [], 1
    while seen < distance:
        found.append(seen)
        seen *= kernel
    return found


def _one_more(kernel, distance):
    found, seen = [], 1
    while seen <= distance:
        found.append(seen)
        seen *= kernel
    return [*found, seen]


FAR = ("three taps", "four taps", "two taps")
STACKS = (
    Mutant("doubling", _doubling,
           "Doubling is more layers than it takes: with k taps the next dilation can be as large as all that is seen "
           "so "
           "far, which grows by the factor k.", "1.5", ("three taps", "four taps")),
    Mutant("no dilation", _ones, "Without dilation each layer adds k − 1 places; a stack of them is far too deep.",
           "1.5", FAR),
    Mutant("one wide layer", _sparse,
           "The far token is reached, but the taps step over those between.", "1.5", FAR),
    Mutant("one token short", _one_short,
           "A token that many places before is token number distance + 1, counted from the output: the field must be "
           "larger than the distance.", "1.5", ("just out of reach",)),
    Mutant("a layer too many", _one_more,
           "This is one layer more than it takes: each layer can make the field k times as large.", "1.5", FAR),
)

# 01.7


def _strided(place=lambda i, j, s: i * s + j, tap=lambda j, k: j, add=True, summed=True):
    def function(dY, X, W, stride):
        dX, dW, k = np.zeros_like(X), np.zeros_like(W), W.shape[0]
        for i in range(dY.shape[-2]):
            for j in range(k):
                at = place(i, j, stride)
                if at >= X.shape[-2]:
                    continue
                back, row = dY[..., i, :] @ W[tap(j, k)].T, dY[..., i, :].reshape(-1, W.shape[2])
                dX[..., at, :] = dX[..., at, :] + back if add else back
                own = X[..., at, :].reshape(-1, W.shape[1]).T @ row
                dW[j] = dW[j] + own if summed else own
        return dX, dW

    return function


def _cut(dY, X, W, stride):
    dX, dW = _strided()(dY, X, W, stride)
    return dX[..., : (dY.shape[-2] - 1) * stride + len(W), :], dW


STRIDED = ("steps of two", "batch", "steps of one")
STRIDES = (
    Mutant("overwritten", _strided(add=False),
           "A token that several windows saw keeps the gradient of the last of them alone; their gradients add up.",
           "1.5",
           STRIDED),
    Mutant("stride ignored", _strided(place=lambda i, j, s: i + j),
           "The windows are taken one place apart; window i begins at i times the stride.", "1.5", ("steps of two",
           "batch")),
    Mutant("taps reversed", _strided(tap=lambda j, k: k - 1 - j),
           "The taps are turned round on the way back: tap j met token i·stride + j, and sends its gradient there.",
           "1.5",
           STRIDED),
    Mutant("dilated", _strided(place=lambda i, j, s: i + j * s),
           "The stride is used as a dilation: it moves the window, and not its taps.", "1.5", ("steps of two",
           "batch")),
    Mutant("cut behind the last window", _cut,
           "dX ends with the last window: the tokens behind it were seen by nobody, and have the gradient zero.", "1.5",
           ("steps of four",)),
    Mutant("last window", _strided(summed=False),
           "dW holds the term of the last window alone; every window used the same taps, so their terms add up.", "1.5",
           STRIDED),
    Mutant("dW averaged over the windows", lambda dY, X, W, stride: (
               _strided()(dY, X, W, stride)[0], _strided()(dY, X, W, stride)[1] / (dY.size // dY.shape[-1])),
           "dW is a mean over the windows: all of them used the same taps, so what they send adds up.", "1.5", STRIDED),
)

# 01.8

BILLS = (
    Mutant("without the maps", lambda d, taps: max(1, d * taps // 2 + 1),
           "The four maps of attention, 8nd², are left out; the scores and the mean are only the rest.", "1.7",
           ("many taps", "few taps", "odd width")),
    Mutant("without the maps, and equal", lambda d, taps: max(1, d * taps // 2),
           "The four maps of attention, 8nd², are left out; and where both cost the same, attention is not dearer yet.",
           "1.7", ("many taps", "few taps", "odd width")),
    Mutant("as if the mean were free, without the maps", lambda d, taps: d * taps,
           "The four maps of attention, 8nd², are left out, and so is the weighted mean, 2n²d.", "1.7",
           ("many taps", "few taps", "odd width")),
    Mutant("three maps", lambda d, taps: max(1, d * (taps - 3) // 2 + 1),
           "Three maps are counted; the one behind the weighted mean is the fourth.", "1.7",
           ("many taps", "odd width")),
    Mutant("equal will do", lambda d, taps: max(1, -(-d * (taps - 4) // 2)),
           "At this number of tokens the two cost the same; attention is dearer from the next one on.", "1.7",
           ("many taps",)),
    Mutant("two maps", lambda d, taps: max(1, d * (taps - 2) // 2 + 1),
           "Two maps are counted: there are four, for queries, keys, values and behind the weighted mean.", "1.7",
           ("many taps", "few taps", "odd width")),
    Mutant("scores alone", lambda d, taps: max(1, d * (taps - 4) + 1),
           "Only the scores are counted, 2n²d; the weighted mean of the values takes as much again.", "1.7",
           ("many taps", "odd width")),
    Mutant("not below one", lambda d, taps: d * (taps - 4) // 2 + 1,
           "There is no text of less than one token: with few taps attention is dearer from 1 on.", "1.7",
           ("few taps",)),
    Mutant("half a token", lambda d, taps: max(1, d * (taps - 4) / 2 + 1),
           "Where d (k − 4) is odd, half a token is counted: the smallest whole number above d (k − 4) / 2 is its "
           "whole part plus 1.", "1.7", ("odd width",)),
    Mutant("multiplications of the convolution", lambda d, taps: max(1, d * (taps - 8) // 4 + 1),
           "A product and a sum are counted as one in the convolution, and as two in attention: it takes 2knd² "
           "operations.", "1.7", ("many taps", "odd width")),
    Mutant("multiplications of attention", lambda d, taps: max(1, d * (taps - 2) + 1),
           "A product and a sum are counted as two in the convolution, and as one in attention: it takes 8nd² + 4n²d "
           "operations.", "1.7", ("many taps", "few taps", "odd width")),
)
