"""Annex to chapter 16: the training step of one decoder on a ladder of speed, each rung with the numbers of the first.

`ladder` has the rungs and what they share: memory that is allocated once, and a batch that is cut into pieces for the
threads. `inplace` is the arithmetic of one piece in NumPy without new arrays, and `fused` the same with the loops of
`loops`, which Numba compiles. `kernels` has these loops under the names of the functions of the chapters.
"""
