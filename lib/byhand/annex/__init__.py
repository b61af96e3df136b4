"""Annex to chapter 16, read after everything else or never: the training step of one decoder, written for speed alone.

`fast` allocates once and shares a batch among threads; `inplace` is its arithmetic, without names of equations. It is
here to be measured beside `np.model`, `np.loss` and `np.optim`, whose numbers it must give. Nothing else uses it.
"""
