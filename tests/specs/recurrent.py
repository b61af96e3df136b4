"""Proofs of the recurrent layer and the convolution: cases, invariants, and wrong modules with what kills them."""

import math
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from byhand import tree
from byhand.np import recurrent as np_recurrent
from invariants import near, normal, parameters_may_be_dressed, rng, same
from mutants import M
from proofs import habits
from twins import Case, Spec


def rnn_params(rng, d=3, h=4):
    return {"W_x": rng.normal(size=(d, h)), "W_h": rng.normal(size=(h, h)), "b": rng.normal(size=h)}


def rnn_cases(rng):
    for lead, n in (((), 5), ((2,), 6), ((3, 2), 5), ((2,), 1)):
        inputs = {"X": rng.normal(size=(*lead, n, 3)), "params": rnn_params(rng)}
        yield Case(f"{lead}, n = {n}", inputs)
        yield Case(f"{lead}, n = {n}, h0", inputs | {"h0": rng.normal(size=(*lead, 4))})


def rnn_jacobian_cases(rng):
    yield Case("five steps", {"H": np.tanh(rng.normal(size=(5, 4))), "W_h": rng.normal(size=(4, 4))})


CONVOLUTIONS = [((), 7, 3, 1), ((2,), 6, 4, 1), ((3, 2), 8, 3, 2), ((2,), 5, 2, 3), ((2,), 3, 5, 2), ((2,), 6, 1, 1)]


def conv1d_cases(rng):
    for lead, n, k, dilation in CONVOLUTIONS:
        for causal in (False, True):
            inputs = {"X": rng.normal(size=(*lead, n, 9)), "W": rng.normal(size=(k, 9, 10))}
            inputs |= {"b": rng.normal(size=10)} if dilation < 3 else {}
            yield Case(f"{lead}, n = {n}, k = {k}, {dilation}, {causal}", inputs,
                       {"dilation": dilation, "causal": causal})


TWINS = [
    Spec("recurrent", "rnn", rnn_cases),
    Spec("recurrent", "rnn_jacobian", rnn_jacobian_cases),
    Spec("recurrent", "conv1d", conv1d_cases),
]


def torch_has_the_same_rnn(module):
    X, params, h0 = normal(2, 6, 3), rnn_params(rng()), normal(2, 4)
    H, cache = module.rnn_forward(X, params, h0)
    net = torch.nn.RNN(3, 4, batch_first=True).double()
    with torch.no_grad():
        net.weight_ih_l0.copy_(torch.tensor(params["W_x"].T))
        net.weight_hh_l0.copy_(torch.tensor(params["W_h"].T))
        net.bias_ih_l0.copy_(torch.tensor(params["b"]))
        net.bias_hh_l0.zero_()
    x, first = torch.tensor(X, requires_grad=True), torch.tensor(h0[None], requires_grad=True)
    y, _ = net(x, first)
    dH = normal(2, 6, 4)
    y.backward(torch.tensor(dH))
    dX, grads, dh0 = module.rnn_backward(dH, cache)
    for name, ours, theirs in (
        ("H", H, y.detach()), ("dX", dX, x.grad), ("dh0", dh0, first.grad[0]),
        ("dW_x", grads["W_x"], net.weight_ih_l0.grad.T), ("dW_h", grads["W_h"], net.weight_hh_l0.grad.T),
        ("db", grads["b"], net.bias_ih_l0.grad),
    ):
        near(ours, theirs, name)


def rnn_goes_on_where_it_stopped(module):
    """Two halves are one run, and a changed token changes nothing before it."""
    X, params = normal(2, 7, 3), rnn_params(rng())
    whole = module.rnn_forward(X, params)[0]
    first = module.rnn_forward(X[:, :3], params)[0]
    rest = module.rnn_forward(X[:, 3:], params, first[:, -1])[0]
    near(np.concatenate([first, rest], axis=1), whole, "two halves and one run")
    X[:, 4:] = 0
    same(module.rnn_forward(X, params)[0][:, :4], whole[:, :4], "states before the change")


def jacobian_is_what_backward_applies(module):
    """A gradient at the last state alone, sent back to the first: dh_1 = dh_T Jᵀ; with H = 0, J is a power."""
    X, params = normal(6, 3), rnn_params(rng())
    H, _ = module.rnn_forward(X, params)
    W = params["W_h"]
    _, cache = module.rnn_forward(X[1:], params, H[0])
    rows = []
    for j in range(4):
        dH = np.zeros((5, 4))
        dH[-1, j] = 1
        rows.append(module.rnn_backward(dH, cache)[2])
    near(np.stack(rows, axis=1), module.rnn_jacobian(H, W), "rows of dh0 and the Jacobian")
    near(module.rnn_jacobian(np.zeros((4, 4)), W), W @ W @ W, "linear recurrence and a power")
    same(module.rnn_jacobian(H[:1], W), np.eye(4), "no step at all and the identity")


def torch_has_the_same_conv(module):
    for k, dilation in ((3, 1), (4, 1), (2, 3), (5, 2)):
        X, W, b = normal(2, 8, 3), normal(k, 3, 4), normal(4)
        Y, _ = module.conv1d_forward(X, W, b, dilation)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says that it pads an even kernel by copying
            y = F.conv1d(torch.tensor(X).mT, torch.tensor(W).permute(2, 1, 0), torch.tensor(b), padding="same",
                         dilation=dilation).mT
        near(Y, y, f"kernel {k}, dilation {dilation}")


def conv_sees_exactly_its_window(module):
    """A change of token t moves t, t + dilation, … when causal, the same shifted back by half the reach when not."""
    X = normal(2, 16, 3)
    changed = X.copy()
    changed[:, 5] += 1
    for k, dilation in ((3, 1), (2, 4), (3, 2)):
        W, b = normal(k, 3, 4), normal(4)
        reach = (k - 1) * dilation
        for causal, back in ((True, 0), (False, reach - reach // 2)):
            before, after = (module.conv1d_forward(x, W, b, dilation, causal)[0] for x in (X, changed))
            seen = {int(t) for t in np.argwhere(before != after)[:, 1]}
            assert seen == {5 - back + j * dilation for j in range(k)}, f"{k}, {dilation}, {causal}: {seen}"


def a_stack_sees_its_receptive_field(module):
    assert module.receptive_field(3, [1, 2, 4, 8]) == 31 and module.receptive_field(1, [5]) == 1
    X = normal(1, 16, 3)
    changed = X.copy()
    changed[:, 0] += 1
    for dilation in (1, 2, 4):
        X, changed = (module.conv1d_forward(x, normal(2, 3, 3), None, dilation, True)[0] for x in (X, changed))
    last = np.argwhere((X != changed).any(axis=(0, 2))).max()
    assert last + 1 == module.receptive_field(2, (1, 2, 4)) == 8


def init_keeps_the_variance(module):
    params = module.init_rnn(rng(), 300, 400)
    near(np.abs(np.linalg.eigvals(params["W_h"])).max(), 1, "spectral radius of W_h and 1", 0.1)
    near(params["W_x"].std() * math.sqrt(300), 1, "standard deviation of W_x, in 1/√d", 0.02)
    conv = module.init_conv1d(rng(), 3, 50, 60)
    near(conv["W"].std() * math.sqrt(150), 1, "standard deviation of the kernel, in 1/√(k d)", 0.03)
    assert not params["b"].any() and not conv["b"].any()
    assert all(x.dtype == np.float32 for x in (*params.values(), *conv.values()))


def gated_layers_take_any_leading_axes(module):
    for kind, theirs in ((module.GRU, torch.nn.GRU), (module.LSTM, torch.nn.LSTM)):
        net, reference = kind(3, 5, 2).double(), theirs(3, 5, 2, batch_first=True).double()
        reference.load_state_dict(net.net.state_dict())
        X = torch.tensor(normal(2, 4, 6, 3))
        H = net(X).detach()
        assert H.shape == (2, 4, 6, 5)
        near(H[1], reference(X[1])[0].detach(), "gated layer and torch's")
        near(net(X[0, 0]).detach(), H[0, 0], "one sequence and all")


def torch_modules_hold_the_same_parameters(module):
    for net, params, f in (
        (module.RNN(3, 4), rnn_params(rng()), np_recurrent.rnn_forward),
        (module.Conv1d(3, 3, 4, 2, True), {"W": normal(3, 3, 4), "b": normal(4)},
         lambda X, p: np_recurrent.conv1d_forward(X, p["W"], p["b"], 2, True)),
    ):
        net.double().load_state_dict(tree.to_torch(params))
        X = normal(2, 6, 3)
        near(net(torch.tensor(X)).detach(), f(X, params)[0], type(net).__name__)


def parameters_are_read_by_name(module):
    X = torch.tensor(normal(2, 6, 3))
    for make in (lambda: module.RNN(3, 3).double(), lambda: module.Conv1d(3, 3, 4).double()):
        parameters_may_be_dressed(make, lambda net: net(X))


INVARIANTS = {
    "np.recurrent": [*habits(TWINS), torch_has_the_same_rnn, rnn_goes_on_where_it_stopped,
                     jacobian_is_what_backward_applies, torch_has_the_same_conv, conv_sees_exactly_its_window,
                     a_stack_sees_its_receptive_field, init_keeps_the_variance],
    "pt.recurrent": [gated_layers_take_any_leading_axes, torch_modules_hold_the_same_parameters,
                     parameters_are_read_by_name],
}

WRONG = [
    M("np.recurrent.rnn_backward", "slope twin invariant", "gradient cut at every step: no way back through time",
      "dh = du @ W_h.mT", "dh = 0 * du"),
    M("np.recurrent.rnn_backward", "slope twin invariant", "W_h not transposed on the way back",
      "dh = du @ W_h.mT", "dh = du @ W_h"),
    M("np.recurrent.rnn_backward", "slope twin invariant", "tanh' forgotten",
      "(dH[..., t, :] + dh) * (1 - h * h)", "(dH[..., t, :] + dh)"),
    M("np.recurrent.rnn_backward", "slope twin invariant", "only the last output sends a gradient",
      "(dH[..., t, :] + dh) *", "((dH[..., t, :] if t == H.shape[-2] - 1 else 0) + dh) *"),
    M("np.recurrent.rnn_backward", "slope twin invariant", "gradient gathered in the upstream",
      "        du = (dH[..., t, :] + dh)", "        dH[..., t, :] += dh\n        du = dH[..., t, :]"),
    M("np.recurrent.rnn_backward", "slope twin invariant", "dW_h from h_t for h_{t−1}",
      "LinearCache(before, W_h, False)", "LinearCache(H, W_h, False)"),
    M("np.recurrent.rnn_forward", "slope twin invariant", "first state forgotten",
      "    H, h = np.empty_like(steps), first\n", "    H, h = np.empty_like(steps), 0 * first\n"),
    M("np.recurrent.rnn_forward", "invariant", "a first state of float64",
      "np.zeros(steps[..., 0, :].shape, X.dtype)", "np.zeros(steps[..., 0, :].shape)"),
    M("np.recurrent.rnn_jacobian", "twin invariant", "jacobian: factors in the wrong order",
      "(J @ W_h) * (1 - h * h)", "(W_h @ J) * (1 - h * h)"),
    M("np.recurrent.rnn_jacobian", "twin invariant", "jacobian: one factor too many", "for h in H[1:]:", "for h in H:"),
    M("np.recurrent.conv1d_forward + conv1d_backward", "twin invariant", "conv: kernel reversed",
      "dilation + n, :] @ W[j] for j", "dilation + n, :] @ W[-1 - j] for j",
      "W[j], False)\n        dx, dW[j], _", "W[-1 - j], False)\n        dx, dW[-1 - j], _"),
    M("np.recurrent.conv1d_forward", "twin invariant", "conv: causal ignored",
      "left = reach if causal else reach // 2", "left = reach // 2"),
    M("np.recurrent.conv1d_forward", "twin invariant", "conv: one more to the left for an even reach",
      "left = reach if causal else reach // 2", "left = reach if causal else (reach + 1) // 2"),
    M("np.recurrent.conv1d_forward", "twin invariant", "conv: causal kernel shifted, sees the next token",
      "left = reach if causal else reach // 2", "left = max(reach - 1, 0) if causal else reach // 2"),
    M("np.recurrent.conv1d_backward", "slope twin", "conv: taps overwrite each other in dX",
      "dpadded[..., window, :] += dx", "dpadded[..., window, :] = dx"),
    M("np.recurrent.conv1d_backward", "slope twin", "conv: padding left in dX",
      "dpadded[..., left:left + n, :]", "dpadded[..., :n, :]"),
    M("np.recurrent.conv1d_backward", "invariant", "conv: db summed in memory order",
      "dY.reshape(-1, W.shape[-1]).sum(axis=0) if", "dY.ravel(order='K').reshape(-1, W.shape[-1]).sum(axis=0) if"),
    M("np.recurrent.receptive_field", "invariant", "receptive field: kernel for kernel − 1",
      "1 + (kernel - 1) * sum(dilations)", "1 + kernel * sum(dilations)"),
    M("np.recurrent.init_rnn", "invariant", "init: W_h of standard deviation 1",
      "scale=1 / math.sqrt(h), size=(h, h)", "scale=1.0, size=(h, h)"),
    M("np.recurrent.init_conv1d", "invariant", "init: the width of the kernel forgotten",
      "math.sqrt(kernel * d_in)", "math.sqrt(d_in)"),
    # pt.recurrent
    M("pt.recurrent.rnn", "twin invariant", "recurrent weights transposed",
      'h @ params["W_h"]', 'h @ params["W_h"].mT'),
    M("pt.recurrent.rnn", "twin", "cut from the graph at every step",
      "        H.append(h)\n", "        H.append(h)\n        h = h.detach()\n"),
    M("pt.recurrent.rnn_jacobian", "twin", "jacobian: one factor too many", "for h in H[1:]:", "for h in H:"),
    M("pt.recurrent.conv1d", "twin invariant", "conv: dilation forgotten",
      "W.permute(2, 1, 0), b, dilation=dilation)", "W.permute(2, 1, 0), b)[..., :X.shape[-2]]"),
    M("pt.recurrent.RNN.forward", "invariant", "module: only what is a parameter of its own",
      '{"W_x": self.W_x, "W_h": self.W_h, "b": self.b}', "dict(self.named_parameters())"),
    M("pt.recurrent._Gated.__init__", "invariant", "gated: batch first forgotten",
      "batch_first=True", "batch_first=False"),
]
