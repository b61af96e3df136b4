"""The right answers, one module a set.  This folder stays with the source: pyproject.toml keeps it out of the wheel."""
