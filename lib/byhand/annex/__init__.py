"""Annex to chapter 16: the last rungs of NumPy for speed. Nothing else in the library uses it."""
