"""Exercises of chapter 15."""
