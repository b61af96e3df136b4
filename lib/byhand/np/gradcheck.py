"""Chapter 0: is a gradient right? Central differences against the hand-derived backward."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Shaped
from numpy import ndarray as Array

from byhand import tree
from byhand.check import NonNegative, Positive, all_finite, all_float64, checked, repeats_to, same_shape


@checked
def relative_error(a: Shaped[Array, "*S"], b: Shaped[Array, "*S"], floor: NonNegative = 0.0) -> float:
    """Largest |a − b|, as a share of the largest |a| or |b|, or of `floor` if that is greater; 0 if a equals b."""
    all_finite("relative_error", a=a, b=b)
    a, b = a.astype(float), b.astype(float)  # whole numbers of few bits would go round in a circle
    gap = np.abs(a - b).max(initial=0.0)
    size = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0), floor)
    return float(gap / size) if gap else 0.0  # (0.38)


@checked
def numerical_gradient(
    f: Callable, X: Float[Array, "*S"], h: Positive = 1e-5, dY: Float[Array, "..."] | float = 1.0
) -> Float[Array, "*S"]:
    """dX[i] ≈ ⟨dY, f(X + h eᵢ) − f(X − h eᵢ)⟩ / 2h, one entry of X at a time; f may return a number or an array."""
    X, dX = X.copy(), np.zeros_like(X)
    for i in np.ndindex(X.shape):
        here = X[i]
        X[i] = here + h
        above = np.asarray(f(X)).copy()
        X[i] = here - h
        below = np.asarray(f(X))
        repeats_to("numerical_gradient", above.shape, **{"shape of dY": np.shape(dY)})
        dX[i] = ((above - below) * dY).sum() / (2 * h)  # (0.37)
        X[i] = here
    return dX


@checked
def gradcheck(
    forward: Callable, backward: Callable, inputs: dict, rng: np.random.Generator, h: Positive = 1e-5
) -> dict[str, float]:
    """Relative error of each gradient: `backward(dOut, cache)` against central differences of `forward(*inputs)[0]`.

    `inputs` maps names to float64 arrays or parameter trees, in the order of the arguments. The upstream dOut is
    random, since one of all ones hides mistakes. A leaf whose gradient is tiny is measured against a thousandth of
    the largest gradient. Raises TypeError unless every leaf is float64.
    """
    leaves = tree.flatten(inputs)
    all_float64("gradcheck", **leaves)
    out, cache = forward(*inputs.values())
    dOut = rng.normal(size=np.shape(out))
    grads = backward(dOut, cache)
    hand = tree.flatten(named_gradients("gradcheck", inputs, grads))
    slope = {}
    for name, x in leaves.items():
        def f(moved, name=name):
            return forward(*tree.unflatten({**leaves, name: moved}).values())[0]
        slope[name] = numerical_gradient(f, x, h, dOut)  # (0.37)
    floor = 1e-3 * max(np.abs(g).max(initial=0.0) for g in slope.values())
    return {name: relative_error(hand[name], slope[name], floor) for name in leaves}  # (0.38)


@checked
def named_gradients(where: str, inputs: dict, grads) -> dict:
    """The gradients under the names of their inputs, after checking that there is one of the right shape for each."""
    grads = grads if isinstance(grads, tuple) else (grads,)
    if len(grads) != len(inputs):
        raise ValueError(f"{where}: backward gave {len(grads)} gradients, expected {len(inputs)}: {', '.join(inputs)}")
    named = dict(zip(inputs, grads, strict=True))
    shapes, got = (tree.flatten(tree.map_tree(np.shape, t)) for t in (inputs, named))
    if shapes.keys() != got.keys():
        raise ValueError(f"{where}: backward gave {', '.join(got)}, expected {', '.join(shapes)}")
    for name, expected in shapes.items():
        same_shape(where, expected, **{f"d{name}": got[name]})
    return named
