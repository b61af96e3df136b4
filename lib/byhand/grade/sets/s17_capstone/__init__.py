"""Chapter 17: the bug hunt."""
