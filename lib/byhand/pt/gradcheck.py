"""Chapter 0: the twin. The same arrays through autograd, against the NumPy half."""

from collections.abc import Callable

import numpy as np
import torch

from byhand import tree
from byhand.check import checked
from byhand.np.gradcheck import named_gradients, relative_error


@checked
def parity(
    np_forward: Callable, np_backward: Callable, pt_function: Callable, inputs: dict, rng: np.random.Generator
) -> dict[str, float]:
    """Relative errors between the halves: the output under "forward", then the gradient of each leaf of `inputs`.

    `inputs` maps names to NumPy arrays or parameter trees, in the order of the arguments of both functions. The
    upstream gradient is random. A tiny gradient is measured against a thousandth of the largest.
    """
    out, cache = np_forward(*inputs.values())
    dOut = rng.normal(size=np.shape(out)).astype(np.asarray(out).dtype)
    hand = tree.flatten(named_gradients("parity", inputs, np_backward(dOut, cache)))
    tensors = {name: torch.tensor(x, requires_grad=True) for name, x in tree.flatten(inputs).items()}
    twin = pt_function(*tree.unflatten(tensors).values())
    twin.backward(torch.tensor(dOut))
    auto = {name: (torch.zeros_like(x) if x.grad is None else x.grad).numpy() for name, x in tensors.items()}
    floor = 1e-3 * max(float(np.abs(g).max(initial=0.0)) for g in auto.values())
    errors = {"forward": relative_error(np.asarray(out), twin.detach().numpy())}
    return errors | {name: relative_error(hand[name], auto[name], floor) for name in tensors}  # (0.38)
