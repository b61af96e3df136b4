r"""Chapter 2: the pieces of a text, across whose borders byte-pair encoding joins nothing.

The pattern is that of GPT-2 (Radford et al. 2019): endings such as 's, then letters, numbers, and all else, each with
one space before it, and white space. L, N and \s are Unicode's own classes, for which Python's `re` has no names: its
\w takes ² and Ⅷ for letters, and its \s holds U+001C … U+001F. Every character is in one class, so the pieces joined
are the text.
"""

import regex

from byhand.check import checked

GPT2 = regex.compile(r"'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
# SmolLM2 cuts off each number first, and what lies between two of them as GPT-2 does.
SMOLLM = regex.compile(r"\p{N}|'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+")
PATTERNS = {"gpt2": GPT2, "smollm": SMOLLM}
AHEAD = 2  # a match depends on no character behind its end but the next two: on two where 'll could begin


@checked
def gpt2_pieces(text: str) -> list[str]:
    """The pieces of a text as GPT-2 cuts them."""
    return GPT2.findall(text)


def decided(pattern: regex.Pattern, text: str, more: bool) -> tuple[list[str], list[str]]:
    """The pieces of a text; those that could be others if more came behind it are apart, the second list."""
    pieces, rest, size = pattern.findall(text), [], 0
    while more and pieces and size < AHEAD:
        rest.insert(0, pieces.pop())
        size += len(rest[0])
    return pieces, rest
