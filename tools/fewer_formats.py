"""Imported before nbformat, this makes its import ten times as fast: a second or two of every run of pytest.

nbformat checks notebooks by jsonschema, which makes a checker of every text format that it finds a package for. The one
of international addresses compiles thirty grammars. No schema of a notebook has such an address.
"""

import sys

if "nbformat" not in sys.modules and "rfc3987_syntax" not in sys.modules:
    sys.modules["rfc3987_syntax"] = None  # as if it were not installed, which jsonschema allows for
    try:
        import nbformat  # noqa: F401
    finally:
        del sys.modules["rfc3987_syntax"]
