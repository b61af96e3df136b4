"""The NumPy half: pure functions, a forward and its hand-derived backward, one under the other.

`X_forward(...)` returns its output and a named cache; `X_backward(dOut, cache)` returns one gradient an input.
"""
