"""Exercises of chapter 16."""
