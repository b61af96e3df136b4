"""Text from anywhere, made harmless to show: in a terminal, in a table, in the gradebook."""

import unicodedata

HIDING = ("Cc", "Cf", "Cs", "Co")  # what steers a terminal, turns a line round, or is half of a character


def inert(text: str) -> str:
    """No character that hides or turns round what stands beside it, or that no file can hold; its lines stay."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in HIDING else "\ufffd" for c in text)
