"""Chapter 17: the tokenizer of a GGUF file: byte-level BPE with ids of its own, as SmolLM2 has it."""

from typing import Any

from byhand.text.base import checked_specials
from byhand.text.bpe import BPETokenizer
from byhand.text.letters import from_letters

CONTROL = 3  # the type of a token that no text spells, such as the end of a text


class GGUFTokenizer(BPETokenizer):
    """Made from the metadata of a file. Raises ValueError for tokens of another kind.

    `encode` raises ValueError for the few bytes that the file has no token for.
    """

    def __init__(self, metadata: dict[str, Any]):
        tokens, kinds, merges = (metadata.get(f"tokenizer.ggml.{key}") for key in ("tokens", "token_type", "merges"))
        model, pieces = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
        if model != "gpt2" or pieces != "smollm" or None in (tokens, kinds, merges) or len(tokens) != len(kinds):
            raise ValueError(f"GGUFTokenizer: metadata has a tokenizer {model!r} with pieces {pieces!r}, expected "
                             "'gpt2' with 'smollm', its merges, and a type for every token")
        specials = [t for t, kind in zip(tokens, kinds, strict=True) if kind == CONTROL]
        control = {*checked_specials("GGUFTokenizer", specials)}
        pairs = []
        for k, merge in enumerate(merges):
            pair = merge.split(" ") if isinstance(merge, str) else []
            if len(pair) != 2:
                raise ValueError(f"GGUFTokenizer: merge {k} is {merge!r}, expected two earlier tokens")
            pairs.append((from_letters(pair[0]), from_letters(pair[1])))
        vocab = {(t.encode() if t in control else from_letters(t)): i for i, t in enumerate(tokens)}
        self._publish(vocab, pairs, specials, pieces)
        made = control | {t for t in tokens if len(t) == 1} | {merge.replace(" ", "") for merge in merges}
        if unknown := [t for t in tokens if t not in made]:
            raise ValueError(f"GGUFTokenizer: no merge makes the token {unknown[0]!r}")
