"""The engine that draws the book's formulas, for tests that need some of their own."""

import contextlib
import re
from pathlib import Path

import typeset
import yaml

CONFIG = Path(__file__).resolve().parents[1] / "_config.yml"


def settings() -> dict:
    return yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["sphinx"]["config"]["mathjax3_config"]


@contextlib.contextmanager
def drawn_by(module=typeset):
    maths = module.Drawer(settings())
    try:
        yield maths
    finally:
        maths.close()


def signs(drawing: str) -> str:
    """The characters of a drawing, in hexadecimal, in the order in which they stand."""
    return " ".join(re.findall(r'data-c="([^"]*)"', drawing))
