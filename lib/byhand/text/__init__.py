"""Chapters 2 and 12: text as numbers, and back: characters, byte-level BPE, and WordPiece.

Every tokenizer trains on a string or on an iterable of strings, which may be cut anywhere and need not fit in memory
together; `read_chunks` makes one of a file.
"""

from byhand.text.base import Tokenizer
from byhand.text.bpe import BPETokenizer
from byhand.text.char import CharTokenizer
from byhand.text.letters import from_letters, to_letters
from byhand.text.pieces import gpt2_pieces
from byhand.text.streams import read_chunks, whole_words
from byhand.text.wordpiece import WordPieceTokenizer

__all__ = ["BPETokenizer", "CharTokenizer", "Tokenizer", "WordPieceTokenizer", "from_letters", "gpt2_pieces",
           "read_chunks", "to_letters", "whole_words"]
