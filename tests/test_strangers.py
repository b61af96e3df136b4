# ruff: noqa: E501
"""What a stranger tries first, in modules that no table of test_errors.py has: each wrong call is refused by the name of
the function and of the argument, and what comes out has memory of its own.

A row is the module, a call on it, the error, and words of its message; the modules are made anew, so that the shape
checks of conftest.py do not speak first. Below stand wrong versions of the library, each of which turns a row red.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tokenizers
import torch
from byhand.io.module import save_module
from mutants import build
from proofs import as_shipped

T, V = TypeError, ValueError
ONES = np.ones((2, 2))
DATA = Path(__file__).parents[1] / "book" / "data"


class Row(NamedTuple):
    place: str
    call: Any  # of the module
    error: type
    says: str


ROWS = [
    # tokenizers
    Row("text.letters", lambda m: m.from_letters(b"ab"), T, "from_letters: token is bytes, expected text"),
    Row("text.letters", lambda m: m.to_letters([97]), T, "to_letters: token is list, expected bytes"),
    Row("text.pieces", lambda m: m.gpt2_pieces(b"ab"), T, "gpt2_pieces: text is bytes, expected text"),
    Row("text.base", lambda m: letters(m).encode("a", special="False"), T, "Letters: special is str, expected bool"),
    Row("text.base", lambda m: list(letters(m).encode_stream(["a"], special=2)), T, "Letters: special is int, expected bool"),
    Row("text.base", lambda m: letters(m).load(5), T, "Tokenizer: path is int, expected text or Path"),
    Row("text.base", lambda m: letters(m).save(5), T, "Tokenizer: path is int, expected text or Path"),
    Row("text.bpe", lambda m: m.BPETokenizer([("a", "b")]), T, "BPETokenizer: merges[0] holds 'a', expected whole numbers"),
    Row("text.bpe", lambda m: m.BPETokenizer.from_vocab({b"a": 0}, [([1], b"b")]), V, "BPETokenizer: merge 0 is [1] and b'b', expected two earlier tokens"),
    Row("text.bpe", lambda m: m.BPETokenizer.from_vocab({b"a": 0}, [(b"a", ["b"])]), V, "BPETokenizer: merge 0 is b'a' and ['b'], expected two earlier tokens"),
    Row("text.bpe", lambda m: m.BPETokenizer.from_vocab({b"a": 0}, [], pieces=["gpt2"]), V, "BPETokenizer: pieces is ['gpt2'], expected one of"),
    Row("text.wordpiece", lambda m: m.WordPieceTokenizer(None), T, "WordPieceTokenizer: inner is NoneType, expected a Tokenizer of the package tokenizers"),
    Row("text.wordpiece", lambda m: m.WordPieceTokenizer.train("ab", 20, lowercase="False"), T, "WordPieceTokenizer: lowercase is str, expected bool"),
    Row("text.wordpiece", lambda m: m.WordPieceTokenizer.from_hf(written(b"\xff\xfe")), V, "file is damaged ('utf-8'"),
    Row("text.wordpiece", lambda m: m.WordPieceTokenizer.from_hf(5), T, "path is int, expected text or Path"),
    # trees
    Row("tree", lambda m: m.unflatten([1]), T, "unflatten: flat is list, expected a dict"),
    Row("tree", lambda m: m.map_tree(None, {"a": 1}), T, "map_tree: f is NoneType, expected a function"),
    Row("tree", lambda m: m.to_torch([1]), T, "to_torch: tree is list, expected a dict"),
    Row("tree", lambda m: m.to_torch({"a": {"b": "x"}}), T, "to_torch: tree holds numpy.ndarray of <U1, expected arrays of numbers"),
    Row("tree", lambda m: m.from_torch("x"), T, "from_torch: source is str, expected a module, a state_dict or a tree of tensors"),
    Row("tree", lambda m: m.from_torch({"a": ONES}), T, "from_torch: source holds numpy.ndarray, expected tensors"),
    Row("tree", lambda m: m.from_torch({5: ONES}), T, "from_torch: source holds numpy.ndarray, expected tensors"),
    # metrics
    Row("metrics", lambda m: m.ngrams([[1]], 1), T, "ngrams: tokens is [[1]], expected a list of strings or ids"),
    Row("metrics", lambda m: m.ngrams(ONES, 1), T, "ngrams: tokens is array"),
    Row("metrics", lambda m: m.ngrams({1}, 1), T, "ngrams: tokens is set, expected a list of strings or ids"),
    Row("metrics", lambda m: m.corpus_bleu([np.array(3)], [[[3]]]), T, "corpus_bleu: hypotheses[0] is array(3), expected a list of strings or ids"),
    Row("metrics", lambda m: m.sentence_bleu([1], [[[1]]]), T, "sentence_bleu: references[0][0] is [[1]], expected a list of strings or ids"),
    # data
    Row("data", lambda m: m.pairs(["de"]), V, "pairs: language is ['de'], expected one of de, es"),
    Row("data", lambda m: m.glove().rows(5), T, "WordVectors: words hold 5, expected text"),
    Row("data", lambda m: m.glove().rows(["king", "queen"]), T, "WordVectors: words hold ['king', 'queen'], expected text, one argument a word"),
    Row("translator", lambda m: m.split_pairs(["de"]), V, "split_pairs: language is ['de'], expected one of de, es"),
    Row("translator", lambda m: m.within_one_word("abc", ["a"]), T, "within_one_word: sentences is the string 'abc', expected several of them"),
    Row("translator", lambda m: m.within_one_word(["a"], "abc"), T, "within_one_word: others is the string 'abc'"),
    Row("translator", lambda m: m.within_one_word(["a"], [5]), T, "within_one_word: others holds 5, expected text"),
    # files
    Row("io.safetensors", lambda m: m.load_safetensors(5), T, "load_safetensors: path is int, expected text or Path"),
    Row("io.safetensors", lambda m: m.save_safetensors({"a": ONES}, 5), T, "save_safetensors: path is int, expected text or Path"),
    Row("io.safetensors", lambda m: m.save_safetensors({"\ud800": ONES}, "never"), V, r"save_safetensors: '\ud800' holds half of a surrogate pair"),
    Row("io.safetensors", lambda m: m.save_safetensors({"a": ONES}, "never", {"k": "\ud800"}), V, "holds half of a surrogate pair"),
    Row("io.checkpoint", lambda m: m.checkpoints(0), T, "checkpoints: folder is int, expected text or Path"),
    Row("io.gguf", lambda m: m.read_gguf(0), T, "read_gguf: path is int, expected text or Path"),
    Row("io.gguf", lambda m: m.dequantise(bytes(34), "Q8_0"), T, "dequantise: data is bytes, expected a NumPy array of uint8"),
    Row("io.gguf", lambda m: m.dequantise(np.zeros(34), "Q8_0"), T, "dequantise: data has dtype float64, expected a NumPy array of uint8"),
    Row("io.gguf", lambda m: m.dequantise(np.zeros((2, 17), np.uint8), "Q8_0"), V, "dequantise: data has shape (2, 17), expected one axis"),
    Row("io.gguf", lambda m: m.dequantise(np.zeros(34, np.uint8), ["Q8_0"]), V, "dequantise: kind is ['Q8_0'], expected one of"),
    Row("io.module", lambda m: m.load_module(saved(), None), T, "load_module: into is NoneType, expected a module, or what builds one"),
    Row("io.module", lambda m: m.save_module(torch.nn.Linear(1, 1), 5), T, "save_module: path is int, expected text or Path"),
    Row("annex.quantised", lambda m: m.from_q8_0(np.zeros(34, np.uint8), 32, "x"), V, "from_q8_0: order is 'x', expected '<' or '>'"),
    # figures and tables
    Row("show.text", lambda m: m.format_matrix("A", np.array(["a"])), T, "print_matrix: A has dtype <U1, expected real numbers or truth values"),
    Row("show.text", lambda m: m.format_matrix(5, ONES), T, "print_matrix: name is int, expected text"),
    Row("show.text", lambda m: m.format_matrix("A", ONES, -1), V, "print_matrix: digits is -1, expected at least 0"),
    Row("show.text", lambda m: m.print_errors({"a": "1"}), T, "print_errors: a is str, expected a number"),
    Row("show.text", lambda m: m.print_gap("x", np.array([1 + 1j]), np.array([1 + 2j])), T, "print_gap: a holds complex128, expected real numbers"),
    Row("show.text", lambda m: m.print_gap("x", [1.0], [None]), T, "print_gap: b holds object, expected real numbers"),
    Row("show.text", lambda m: m.print_gap("x", np.ones(0), np.ones(0)), V, "print_gap: x: a and b have shape (0,), expected something to compare"),
    Row("show.stepper", lambda m: m.Stepper(None), T, "Stepper: steps is NoneType, expected several pairs"),
    Row("show.stepper", lambda m: m.Stepper("ab"), T, "Stepper: steps is str, expected several pairs"),
    Row("show.stepper", lambda m: m.Stepper(["ab"]), T, "Stepper: steps[0] is 'ab', expected a pair of strings"),
    Row("show.stepper", lambda m: m.Stepper([("a", "b")], title=5), T, "Stepper: title is int, expected text"),
    *(Row("show.heatmap", lambda m, o=options: m.matrix(ONES, **o), error, f"matrix: {says}") for options, error, says in [
        ({"columns": "ab"}, T, "columns is 'ab', expected a list of strings"), ({"rows": [1, 2]}, T, "rows is [1, 2], expected a list of strings"),
        ({"title": 5}, T, "title is int, expected text"), ({"fmt": 5}, T, "fmt is int, expected text"), ({"fmt": "zz"}, V, "fmt is 'zz'"),
        ({"signed": "no"}, T, "signed is str, expected bool"), ({"numbers": "no"}, T, "numbers is str, expected bool"),
        ({"limits": (1, 0)}, V, "limits is (1, 0), expected the lower one first"), ({"limits": (0,)}, V, "limits has 1 entries, expected 2"),
        ({"limits": (0, np.nan)}, V, "limits[1] is nan, expected a finite number"), ({"ax": 5}, T, "ax is int, expected axes")]),
    Row("show.heatmap", lambda m: m.matrix(np.ones((2, 2), complex)), T, "matrix: A has dtype complex128, expected real numbers"),
    Row("show.heatmap", lambda m: m.matrices(None), T, "matrices: parts is NoneType, expected a list of operators"),
    Row("show.heatmap", lambda m: m.matrices("AB"), T, "matrices: parts is str, expected a list of operators"),
    Row("show.heatmap", lambda m: m.matrices([("A", ONES, {"x": 1})]), T, "matrices: options of 'A' are {'x': 1}, expected a dict of bar, columns, fmt"),
    Row("show.heatmap", lambda m: m.matrices([("A", ONES, {"numbers": 3})]), T, "matrix: numbers is int, expected bool"),
]


def letters(module):
    """A tokenizer of that module: code points for ids."""
    class Letters(module.Tokenizer):
        kind, specials = "letters", {"<s>": 0}

        def _encode_part(self, part, more):
            return [*map(ord, part)], len(part)

        def _body(self):
            return {}

    return Letters()


def written(data: bytes) -> str:
    path = os.path.join(os.getcwd(), "file")
    with open(path, "wb") as file:
        file.write(data)
    return path


def saved() -> str:
    path = os.path.join(os.getcwd(), "module")
    save_module(torch.nn.Linear(1, 1), path, {"a": 1})
    return path


def complaint(row: Row, module) -> str:
    """What is wrong with how this call is refused; nothing, if it is refused as the row says."""
    try:
        with as_shipped():
            row.call(module)
    except Exception as error:
        if type(error) is not row.error:
            return f"{type(error).__name__}: {error}"
        return "" if row.says in str(error) else f"says: {error}"
    return "was accepted"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BYHAND_DATA", str(DATA))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.place}-{row.says}")
def test_a_wrong_call_is_refused_by_name(row):
    before = os.listdir()
    assert not complaint(row, build(row.place))
    assert {*os.listdir()} - {*before} <= {"file", "module"}, "a refused call has written something"


# ---- what comes out ---------------------------------------------------------------------------------------------------


def a_number_is_no_file(module):
    """open(7) would read whatever has the handle 7, and close it."""
    with open(os.devnull, "rb") as file:
        with pytest.raises(TypeError):
            module.read_gguf(file.fileno())
        os.fstat(file.fileno())  # still open
    with pytest.raises(FileNotFoundError):
        module.read_gguf("none")


def what_stands_for_a_path_is_one(module):
    class Place:
        def __fspath__(self):
            return written(b"GGUF")

    with pytest.raises(ValueError, match="read_gguf: .* ends at byte 4"):
        module.read_gguf(Place())


def windows_have_memory_of_their_own(module):
    ids = np.arange(20)
    X, Y = module.random_windows(ids, 4, 3, np.random.default_rng(0))
    was = Y.copy()
    X[:] = -1
    assert np.array_equal(Y, was) and np.array_equal(ids, np.arange(20))


def blocks_have_shapes_of_their_own(module):
    shapes = module.ModelConfig("decoder", 11, 8, 2, 2).shapes["blocks"]
    shapes["0"]["attention"].clear()
    assert shapes["1"]["attention"]


def arrays_in_any_order_become_tensors(module):
    x = np.arange(6.0).reshape(2, 3)
    tree = module.to_torch({"back": x[::-1, ::-2], "big": x.astype(">f8"), "zero": np.array(5)[()], "wide": x[:, ::2]})
    assert np.array_equal(tree["back"], x[::-1, ::-2]) and np.array_equal(tree["big"], x)
    assert tree["zero"].shape == () and np.array_equal(tree["wide"], x[:, ::2])


def a_flag_of_numpy_is_one(module):
    with as_shipped():
        assert letters(module).encode("a<s>", special=np.True_) == [97, 0]
        assert letters(module).encode("<s>", special=np.False_) == [60, 115, 62]


def tokens_of_any_hash_are_counted(module):
    assert module.ngrams(np.array(["a", "b", "a"]), 1)[("a",)] == 2 and module.ngrams((1, 2), 2) == {(1, 2): 1}
    assert module.ngrams("aa", 1) == {("a",): 2}


def a_gap_is_measured_in_any_kind_of_number(module):
    for a, b in (([0], [1]), (np.array([0], np.uint8), np.array([1], np.uint8)), ([True], [False]),
                 (torch.zeros(1, dtype=torch.bfloat16), torch.ones(1, dtype=torch.bfloat16)),
                 (torch.zeros(1, requires_grad=True), torch.ones(1))):
        with pytest.raises(AssertionError, match=r"x: 1e\+00 is not below"):
            module.print_gap("x", a, b)


def a_tokenizer_of_the_package_is_taken(module):
    inner = tokenizers.Tokenizer(tokenizers.models.WordPiece({"[UNK]": 0, "ab": 1}, unk_token="[UNK]"))
    assert module.WordPieceTokenizer(inner).encode("ab") == [1]


HOLDS = {a_number_is_no_file: "io.gguf", what_stands_for_a_path_is_one: "io.gguf", windows_have_memory_of_their_own: "data",
         blocks_have_shapes_of_their_own: "config", arrays_in_any_order_become_tensors: "tree",
         a_flag_of_numpy_is_one: "text.base", tokens_of_any_hash_are_counted: "metrics",
         a_gap_is_measured_in_any_kind_of_number: "show.text", a_tokenizer_of_the_package_is_taken: "text.wordpiece"}


@pytest.mark.parametrize("holds", HOLDS, ids=lambda holds: holds.__name__)
def test_what_comes_out(holds):
    with as_shipped():
        holds(build(HOLDS[holds]))


# Wrong versions, kept: the module, and the edit. A row of the table, or a property, goes red.
WRONG = [
    ("text.base", '        special = Flag()(type(self).__name__, "special", special, {})\n', ""),
    ("text.base", "    @checked\n    def save", "    def save"), ("text.base", "    @checked\n    def load", "    def load"),
    ("text.letters", "@checked\ndef from_letters", "def from_letters"), ("text.letters", "@checked\ndef to_letters", "def to_letters"),
    ("text.pieces", "@checked\ndef gpt2_pieces", "def gpt2_pieces"),
    ("text.bpe", 'whole("BPETokenizer", i, f"merges[{k}] holds")', 'whole("BPETokenizer", i)'),
    ("text.bpe", "isinstance(left, bytes) and ", ""), ("text.bpe", "isinstance(right, bytes) and ", ""),
    ("text.bpe", "not isinstance(pieces, str) or ", ""),
    ("text.wordpiece", "if not isinstance(inner, _tokenizers().Tokenizer):", "if False:"),
    ("text.wordpiece", "if not isinstance(inner, _tokenizers().Tokenizer):", "if True:"),
    ("text.wordpiece", '        lowercase = Flag()("WordPieceTokenizer", "lowercase", lowercase, {})\n', ""),
    ("text.wordpiece", '        data = Path(path).read_bytes()\n        try:\n', '        data = Path(path).read_text("utf-8").encode()\n        try:\n'),
    ("text.wordpiece", "    @checked\n    def from_hf", "    def from_hf"),
    ("tree", '    are_paths("unflatten", flat)\n', ""), ("tree", "    if not callable(f):", "    if False:"),
    ("tree", '    if not isinstance(tree, dict):\n        raise TypeError(f"to_torch', '    if False:\n        raise TypeError(f"to_torch'),
    ("tree", 'if x.dtype.kind not in "biufc":', "if False:"), ("tree", " or not x.dtype.isnative:", ":"),
    ("tree", "min(x.strides, default=0) < 0 or ", ""), ("tree", "if not isinstance(source, dict) and not hasattr", "if not True and not hasattr"),
    ("tree", "    if not isinstance(x, torch.Tensor):", "    if False:"), ("tree", 'if any("." in str(key)', 'if any("." in key'),
    ("metrics", "            if not isinstance(x, str):\n                hash(tuple(x))", "            pass"),
    ("metrics", "            ROW(where, name, text, {})\n", ""), ("metrics", "if not isinstance(x, str | Tokens):", "if False:"),
    ("metrics", "if not isinstance(x, str | Tokens):", "if not isinstance(x, Tokens):"),
    ("data", "@checked\n@functools.cache\ndef pairs", "@functools.cache\ndef pairs"), ("data", "if not isinstance(word, str)]:", "if False]:"),
    ("data", "rows[:, 1:].copy()", "rows[:, 1:]"),
    ("translator", "@checked\n@functools.cache\ndef split_pairs", "@functools.cache\ndef split_pairs"),
    ("translator", "    if isinstance(texts, str):", "    if False:"), ("translator", "        if not isinstance(text, str):", "        if False:"),
    ("io.safetensors", "@checked\ndef save_safetensors", "def save_safetensors"),
    ("io.safetensors", "@checked\ndef load_safetensors", "def load_safetensors"), ("io.safetensors", "            text.encode()", "            pass"),
    ("io.safetensors", "(*leaves, *(text for entry in (metadata or {}).items() for text in entry))", "leaves"),
    ("io.checkpoint", "@checked\ndef checkpoints", "def checkpoints"), ("io.gguf", "@checked\ndef read_gguf", "def read_gguf"),
    ("io.gguf", "    if not is_plain(data) or data.dtype != np.uint8:", "    if not is_plain(data):"),
    ("io.gguf", "    if not is_plain(data) or data.dtype", "    if data.dtype"), ("io.gguf", "    if data.ndim != 1:", "    if False:"),
    ("io.gguf", "not isinstance(kind, str) or ", ""), ("io.module", "    elif callable(into):", "    elif True:"),
    ("io.module", "@checked\ndef save_module", "def save_module"), ("annex.quantised", '    if order not in ("<", ">"):', "    if False:"),
    ("show.text", '    if A.dtype.kind not in "biuf":', "    if False:"), ("show.text", "    if not isinstance(name, str):", "    if False:"),
    ("show.text", '    digits = Whole((AtLeast(0),))("print_matrix", "digits", digits, {})\n', ""),
    ("show.text", '        if isinstance(error, str) or not hasattr(error, "__float__"):', "        if False:"),
    ("show.text", '    if x.dtype.kind not in "biuf":', "    if False:"), ("show.text", "    if not a.size:", "    if False:"),
    ("show.text", "    return x.astype(np.float64)", "    return x"), ("show.text", 'x.double() if str(getattr(x, "dtype", "")) == "torch.bfloat16" else x', "x"),
    ("show.stepper", "if isinstance(steps, str) or not isinstance(steps, Sequence):", "if isinstance(steps, str):"),
    ("show.stepper", "if isinstance(steps, str) or not", "if not"), ("show.stepper", "        if not isinstance(title, str):", "        if False:"),
    ("show.stepper", "not isinstance(step, tuple | list) or ", ""),
    ("show.heatmap", "if isinstance(labels, str) or not isinstance(labels, Sequence)", "if not isinstance(labels, Sequence)"),
    ("show.heatmap", " or not all(isinstance(x, str) for x in labels)", ""), ("show.heatmap", 'if A.dtype.kind not in "biuf":', "if False:"),
    ("show.heatmap", "        if not isinstance(text, str):", "        if False:"), ("show.heatmap", "        _ = format(0.0, fmt)", "        pass"),
    ("show.heatmap", '    Flag()(where, "signed", signed, {})\n', ""), ("show.heatmap", '    Optional(Flag())(where, "numbers", numbers, {})\n', ""),
    ("show.heatmap", "        if low > high:", "        if False:"), ("show.heatmap", "if not isinstance(ax, Axes):", "if False:"),
    ("show.heatmap", "if isinstance(parts, str) or not isinstance", "if not isinstance"),
    ("show.heatmap", "if isinstance(parts, str) or not isinstance(parts, Sequence):", "if isinstance(parts, str):"),
    ("show.heatmap", " or not options.keys() <= KEYWORDS:", ":"),
    ("config", "{str(i): self.block(cross) for i in range(self.layers)}", "dict.fromkeys(map(str, range(self.layers)), self.block(cross))"),
]


@pytest.mark.parametrize(("place", "old", "new"), WRONG, ids=[f"{place}-{old.strip()[:50]}-{new.strip()[:20]}" for place, old, new in WRONG])
def test_a_wrong_version_is_found(place, old, new):
    module = build(place, old, new)
    if any(complaint(row, module) for row in ROWS if row.place == place):
        return
    with as_shipped(), pytest.raises((Exception, pytest.fail.Exception)) as found:
        for holds in (holds for holds, where in HOLDS.items() if where == place):
            holds(module)
    assert not isinstance(found.value, SyntaxError | NameError)
