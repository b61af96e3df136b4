"""Flash attention in torch as one graph, forward and back, and as a program for export."""

import warnings
from functools import partial

import pytest
import torch
from invariants import near, normal
from mutants import build

FLASH = partial(build("pt.flash").flash_attention, block=3)  # as a reader has it: dynamo cannot look into the hook


def leaves():
    return [torch.tensor(normal(2, n, d), requires_grad=True) for n, d in ((5, 4), (7, 4), (7, 3))]


def breaks(*inputs):
    """A wrong version: it looks at a value on the way."""
    return FLASH(*inputs) if inputs[0].sum().item() > 0 else -FLASH(*inputs)


def test_one_graph_with_its_backward(as_shipped):
    torch._dynamo.reset()
    inputs, dO = leaves(), torch.tensor(normal(2, 5, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of dynamo's own, about how it looks at a Function
        compiled, plain = torch.compile(FLASH, fullgraph=True, backend="aot_eager")(*inputs), FLASH(*inputs)
    near(compiled.detach(), plain.detach(), "outputs")
    for a, b in zip(*(torch.autograd.grad(out, inputs, dO) for out in (compiled, plain)), strict=True):
        near(a, b, "gradients")
    with pytest.raises((torch._dynamo.exc.Unsupported, torch._dynamo.exc.UserError)):
        torch.compile(breaks, fullgraph=True, backend="aot_eager")(*inputs)


def test_a_program_for_export(as_shipped):
    class Layer(torch.nn.Module):
        def forward(self, Q, K, V):
            return FLASH(Q, K, V)

    inputs = [x.detach() for x in leaves()]
    near(torch.export.export(Layer(), tuple(inputs)).module()(*inputs), FLASH(*inputs), "outputs")
