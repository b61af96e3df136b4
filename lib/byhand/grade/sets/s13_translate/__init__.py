"""Exercises of chapter 13."""
