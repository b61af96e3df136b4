# ruff: noqa: E501
"""Proofs of the error function: SciPy's in float64, its values, its symmetry and its ends in float32."""

import warnings

import numpy as np
from invariants import near, raises, same
from mutants import M
from proofs import as_shipped
from scipy import special

LINE = np.concatenate([np.linspace(-7, 7, 400_001), [0.0, -0.0, 1e-30, 1e-45, 3e38, -3e38]]).astype(np.float32)
LINE.flags.writeable = False


def float32_is_near_to_double(module):
    near(module.erf(LINE).astype(float), special.erf(LINE.astype(float)), "erf of float32", 2e-7)
    small = np.linspace(1e-6, 1e-2, 1000).astype(np.float32)
    near(module.erf(small).astype(float) / special.erf(small.astype(float)), np.ones(1000), "erf of small numbers, relative", 8e-7)


def it_is_odd_rises_and_ends_at_one(module):
    y = module.erf(LINE)
    same(module.erf(-LINE), -y, "erf(-x) and -erf(x)")
    assert (np.diff(y[:400_001]) >= 0).all() and (abs(y) <= 1).all()
    same(module.erf(np.array([np.inf, -np.inf, 9, -9], np.float32)[2:]), np.array([1, -1], np.float32), "far out")


def types_and_shapes_stay(module):
    for dtype in (np.float32, np.float64):
        for shape in ((), (0,), (3,), (2, 1, 3)):
            y = module.erf(np.full(shape, 0.5, dtype))
            assert isinstance(y, np.ndarray) and y.dtype == dtype and y.shape == shape
    x = LINE.astype(float)
    same(module.erf(x), special.erf(x), "erf of float64")
    same(module.erf(LINE[::2][:99].reshape(9, 11).T), module.erf(LINE[::2][:99]).reshape(9, 11).T, "erf of a transpose")


def input_is_left_alone_and_nothing_warns(module):
    x = LINE.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.erf(x)
    same(x, LINE, "x before and after")


def nan_is_refused(module):
    with as_shipped():
        raises(ValueError, r"erf: X holds nan at index \(1,\)", lambda: module.erf(np.array([0, np.nan], np.float32)))
        raises(TypeError, "erf: X is int", lambda: module.erf(1))


INVARIANTS = {"np._erf": [float32_is_near_to_double, it_is_odd_rises_and_ends_at_one, types_and_shapes_stay,
                          input_is_left_alone_and_nothing_warns, nan_is_refused]}
WRONG = [
    M("np._erf.P", "invariant", "a digit of a coefficient wrong", "0.102765482", "0.102756482"),
    M("np._erf.erf", "invariant", "the last coefficient forgotten", "P[-1] * square", "0 * square"),
    M("np._erf.erf", "invariant", "gelu_tanh's two coefficients for erf",
      "h = P[-1] * square", "return np.asarray(np.tanh(x * (1.12837917 + 0.1009110 * square)))"),
    M("np._erf.erf", "invariant", "not cut off far out", "np.clip(X, -FAR, FAR)", "X.copy()"),
    M("np._erf.FAR", "invariant", "cut off too near", "FAR = 4.2", "FAR = 3.2"),
    M("np._erf.erf", "invariant", "float64 as float32", "X.dtype != np.float32", "False"),
    M("np._erf.erf", "invariant", "computed in float64",
      "np.clip(X, -FAR, FAR)", "np.clip(X, -FAR, FAR).astype(float)"),
    M("np._erf.erf", "invariant", "written over the input",
      "x = np.clip(X, -FAR, FAR)", "x = np.clip(X, -FAR, FAR, out=X)"),
    M("np._erf.erf", "invariant", "a number, not an array, for a single number",
      "return np.asarray(np.tanh(h))", "return np.tanh(h)[()]"),
    M("np._erf.erf", "invariant", "NaN passes", 'X: Float[Array, "*S"]', "X"),
]
