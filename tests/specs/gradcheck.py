"""The checks check themselves: planted errors are found, named and measured; and what is zero is forgiven."""

from functools import partial

import numpy as np
import torch
from invariants import near, normal, raises, rng
from mutants import M

TWINS = []


def relative_error_is_a_distance(module):
    error = module.relative_error
    a, b = np.array([1.0, -2.0, 0.0]), np.array([1.0, -1.0, 0.0])
    near(error(a, b), 0.5)
    near(error(b, a), 0.5, "order")
    near(error(-a, -b), 0.5, "sign")
    near(error(1e6 * a, 1e6 * b), 0.5, "scale")
    assert error(a, a) == 0 and error(0 * a, 0 * a) == 0 and error(0 * a, b) == 1
    assert error(np.zeros((0, 3)), np.zeros((0, 3))) == 0
    near(error(a, b, floor=10.0), 0.1, "floor")
    near(error(a, b, floor=1e-9), 0.5, "small floor")
    raises((ValueError, TypeError), r"\bb\b", lambda: error(a, b[:1]))  # no silent broadcasting
    raises(ValueError, "nan", lambda: error(a, np.nan * b))  # NaN > tol is False, and would pass
    for dtype in ("int8", "uint8", "int64", "uint64", "float32"):  # −128 has no positive one, and 0 − 1 may be 255
        low = int(np.iinfo(dtype).min) if dtype != "float32" else -3
        near(error(np.array([low, 100], dtype), np.array([100, 50], dtype)), max(100 - low, 50) / max(-low, 100), dtype)
    for odd in (a > 0, 1j * a, a.astype(object)):
        raises(TypeError, f"b has dtype {odd.dtype}, expected real numbers", lambda odd=odd: error(a, odd))


def numerical_gradient_of_known_functions(module):
    X = normal(2, 3)
    near(module.numerical_gradient(lambda x: (x * x).sum(), X), 2 * X, "d Σx² and 2x", 1e-8)
    near(module.numerical_gradient(np.sin, X, dY=np.full((2, 3), 2.0)), 2 * np.cos(X), "2 cos", 1e-8)
    near(module.numerical_gradient(lambda x: x.sum(axis=0), X, dY=np.array([1.0, 2, 3])), [[1, 2, 3]] * 2, "dY", 1e-8)
    near(module.numerical_gradient(lambda x: x, X), np.ones((2, 3)), "a function that gives back its input", 1e-8)
    cube = module.numerical_gradient(lambda x: (x * x * x).sum(), X, h=1e-3)
    near(cube - 3 * X * X, np.full((2, 3), 1e-6), "the error of x³ and h²", 1e-8)


def numerical_gradient_puts_things_back(module):
    X, seen = normal(2, 3), []
    X.flags.writeable = False
    module.numerical_gradient(lambda x: seen.append(x.copy()) or x.sum(), X)
    assert len(seen) == 2 * X.size and all((x != X).sum() == 1 for x in seen)  # one entry moves at a time


def parts(X, p):
    """Y = X · p.w + p.b, and what a backward of it may get wrong."""
    return X * p["w"] + p["b"], (X, p["w"])


def parts_backward(dY, cache, wrong=None):
    X, w = cache
    grads = {"X": dY * w, "w": (dY * X).sum(axis=0), "b": dY.sum(axis=0)}
    if wrong:
        grads[wrong] = grads[wrong] * 1.001
    return grads["X"], {"w": grads["w"], "b": grads["b"]}


def parts_inputs():
    return {"X": normal(3, 2), "p": {"w": normal(2), "b": normal(2) + 1}}


def gradcheck_names_the_wrong_leaf(module):
    def check(wrong):
        return module.gradcheck(parts, partial(parts_backward, wrong=wrong), parts_inputs(), rng())

    assert list(check(None)) == ["X", "p.w", "p.b"] and max(check(None).values()) < 1e-9
    for wrong, leaf in (("X", "X"), ("w", "p.w"), ("b", "p.b")):
        errors = check(wrong)
        near(errors.pop(leaf), 1e-3, "the planted error and what is measured", 1e-5)
        assert max(errors.values()) < 1e-9


def gradcheck_sees_a_forgotten_upstream(module):
    """Against an upstream of all ones, this backward would be right."""
    errors = module.gradcheck(lambda x: (np.sin(x), x), lambda dY, x: np.cos(x), {"x": normal(2, 4)}, rng())
    assert errors["x"] > 0.1


def gradcheck_forgives_a_gradient_of_zero(module):
    """A leaf without influence has noise for a gradient; noise over noise is no error."""

    def f(x, y):
        return np.sin(x) + 1e-12 * np.cos(1e4 * y), (x, y)

    errors = module.gradcheck(f, lambda dY, c: (dY * np.cos(c[0]), 0 * dY), {"x": normal(3), "y": normal(3)}, rng())
    assert max(errors.values()) < 1e-4


def gradients_come_in_the_order_of_the_inputs(module):
    inputs = {"X": normal(2, 3), "W": normal(3, 4)}
    raises(ValueError, "dX has shape", lambda: module.named_gradients("f", inputs, (inputs["W"], inputs["X"])))
    raises(ValueError, "gave 1 gradients, expected 2: X, W", lambda: module.named_gradients("f", inputs, inputs["X"]))
    raises(ValueError, "gave X, expected X, p.w, p.b",
           lambda: module.named_gradients("f", parts_inputs(), (normal(3, 2), {})))
    one = module.named_gradients("f", {"X": inputs["X"]}, inputs["X"])
    assert list(one) == ["X"] and one["X"] is inputs["X"]


def parity_names_what_differs(module):
    def torch_parts(X, p, wrong=False):
        return X * p["w"] + p["b"] + (1e-3 if wrong else 0)

    def check(wrong=None, wrong_forward=False):
        return module.parity(parts, partial(parts_backward, wrong=wrong), partial(torch_parts, wrong=wrong_forward),
                             parts_inputs(), rng())

    assert list(check()) == ["forward", "X", "p.w", "p.b"] and max(check().values()) < 1e-12
    for wrong, leaf in (("X", "X"), ("w", "p.w"), ("b", "p.b")):
        errors = check(wrong)
        near(errors.pop(leaf), 1e-3, "the planted error and what is measured", 1e-5)
        assert max(errors.values()) < 1e-12
    errors = check(wrong_forward=True)
    assert errors.pop("forward") > 1e-4 and max(errors.values()) < 1e-12


def parity_sees_a_forgotten_upstream(module):
    errors = module.parity(lambda x: (np.sin(x), x), lambda dY, x: np.cos(x), torch.sin, {"x": normal(2, 4)}, rng())
    assert errors["x"] > 0.1


def parity_knows_an_input_without_influence(module):
    def backward(dY, c):
        return dY, np.full(3, 1e-20)

    inputs = {"x": normal(3), "y": normal(3)}
    errors = module.parity(lambda x, y: (x, None), backward, lambda x, y: x * 1, inputs, rng())
    assert max(errors.values()) < 1e-12


INVARIANTS = {
    "np.gradcheck": [relative_error_is_a_distance, numerical_gradient_of_known_functions,
                     numerical_gradient_puts_things_back, gradcheck_names_the_wrong_leaf,
                     gradcheck_sees_a_forgotten_upstream, gradcheck_forgives_a_gradient_of_zero,
                     gradients_come_in_the_order_of_the_inputs],
    "pt.gradcheck": [parity_names_what_differs, parity_sees_a_forgotten_upstream,
                     parity_knows_an_input_without_influence],
}

WRONG = [
    M("np.gradcheck.relative_error", "invariant", "relative error: sign kept",
      "gap = np.abs(a - b).max", "gap = (a - b).max"),
    M("np.gradcheck.relative_error", "invariant", "relative error: as a share of one side only",
      "np.abs(b).max(initial=0.0), ", ""),
    M("np.gradcheck.relative_error", "invariant", "relative error: floor ignored",
      "np.abs(b).max(initial=0.0), floor)", "np.abs(b).max(initial=0.0))"),
    M("np.gradcheck.relative_error", "invariant", "relative error: absolute", "float(gap / size)", "float(gap)"),
    M("np.gradcheck.relative_error", "invariant", "relative error: NaN let through",
      '    all_finite("relative_error", a=a, b=b)\n', ""),
    M("np.gradcheck.relative_error", "invariant", "relative error: whole numbers of few bits go round",
      "    a, b = a.astype(float), b.astype(float)  # whole numbers of few bits would go round in a circle\n", ""),
    M("np.gradcheck.relative_error", "invariant", "relative error: −128 is its own opposite in int8",
      "    a, b = a.astype(float), b.astype(float)  # whole numbers of few bits would go round in a circle\n", "",
      "np.abs(a - b)", "np.abs(np.subtract(a, b, dtype=float))"),
    M("np.gradcheck.relative_error", "invariant", "relative error: shapes broadcast",
      'b: Shaped[Array, "*S"]', "b"),
    M("np.gradcheck.numerical_gradient", "invariant", "slope: forward difference",
      "X[i] = here - h", "X[i] = here",
      "/ (2 * h)", "/ h"),
    M("np.gradcheck.numerical_gradient", "invariant", "slope: divided by h for 2h", "/ (2 * h)", "/ h"),
    M("np.gradcheck.numerical_gradient", "invariant", "slope: upstream ignored",
      "((above - below) * dY)", "(above - below)"),
    M("np.gradcheck.numerical_gradient", "invariant", "slope: entry not put back", "        X[i] = here\n", ""),
    M("np.gradcheck.numerical_gradient", "invariant", "slope: two views of one array",
      "np.asarray(f(X)).copy()", "np.asarray(f(X))"),
    M("np.gradcheck.numerical_gradient", "invariant", "slope: moves the caller's array",
      "X, dX = X.copy(), ", "X, dX = X, "),
    M("np.gradcheck.gradcheck", "invariant", "gradcheck: upstream of all ones",
      "dOut = rng.normal(size=np.shape(out))", "dOut = np.ones(np.shape(out))"),
    M("np.gradcheck.gradcheck", "invariant", "gradcheck: no floor", "slope[name], floor)", "slope[name])"),
    M("np.gradcheck.gradcheck", "invariant", "gradcheck: floor a thousand times the largest",
      "1e-3 * max", "1e3 * max"),
    M("np.gradcheck.gradcheck", "invariant", "gradcheck: slope against itself",
      "relative_error(hand[name]", "relative_error(slope[name]"),
    M("np.gradcheck.gradcheck", "invariant", "gradcheck: one error for all",
      "return {name: relative_error(hand[name], slope[name], floor) for name",
      "errors = [relative_error(hand[k], slope[k], floor) for k in leaves]\n    return {k: max(errors) for k"),
    M("np.gradcheck.named_gradients", "invariant", "gradients: shapes not compared",
      '        same_shape(where, expected, **{f"d{name}": got[name]})', "        pass"),
    M("np.gradcheck.named_gradients", "invariant", "gradients: surplus inputs let through",
      "if len(grads) != len(inputs):", "if len(grads) > len(inputs):",
      "zip(inputs, grads, strict=True)", "zip(inputs, grads, strict=False)"),
    M("pt.gradcheck.parity", "invariant", "upstream of all ones",
      "dOut = rng.normal(size=np.shape(out))", "dOut = np.ones(np.shape(out))"),
    M("pt.gradcheck.parity", "invariant", "outputs not compared",
      "relative_error(np.asarray(out), twin.detach().numpy())", "0.0"),
    M("pt.gradcheck.parity", "invariant", "autograd against itself",
      "relative_error(hand[name]", "relative_error(auto[name]"),
    M("pt.gradcheck.parity", "invariant", "no floor", "auto[name], floor)", "auto[name])"),
    M("pt.gradcheck.parity", "invariant", "an input without influence has no gradient",
      "(torch.zeros_like(x) if x.grad is None else x.grad)", "x.grad"),
]
