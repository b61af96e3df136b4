# ruff: noqa: E501
"""Proofs of the packed encoder: each sentence's vectors are those that np.model gives it alone, in float64."""

import os
import re
import warnings
from dataclasses import replace

import numpy as np
from byhand import tree
from byhand.annex.loops import HAVE_NUMBA
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.np.block import activation_forward
from byhand.np.model import encoder_forward
from invariants import arrays, near, raises, same
from mutants import M
from proofs import as_shipped

COMPILED = HAVE_NUMBA or "CI" in os.environ  # without Numba sentences are read by np.model
BERT = ModelConfig("encoder", vocab=13, d=12, heads=3, layers=2, d_ff=20, n_max=9, position="learned", norm_first=False, embedding_norm=True, segments=2, eps=1e-3)
LENGTHS = (4, 9, 1, 4, 7, 4, 9, 2)  # several of one length, apart, and some of which there is one


def start(config=BERT):
    """Parameters with nothing at zero or one, and sentences."""
    rng = np.random.default_rng(5)
    params = tree.map_tree(lambda x: (x + 0.3 * rng.normal(size=x.shape)).astype(np.float32), init_model(rng, config, np.float32))
    return params, [rng.integers(0, config.vocab, n) for n in LENGTHS]


def right(params, sentences, config):
    exact = tree.map_tree(np.float64, params)
    return [encoder_forward(ids, exact, config)[0] for ids in sentences]


def a_sentence_is_read_as_if_alone(module):
    """In pieces of one sentence, of some and of all, also of less than one; with segments and without."""
    for config in (BERT, replace(BERT, segments=0, heads=1, layers=3)):
        params, sentences = start(config)
        for x in (*arrays(params), *sentences):
            x.flags.writeable = False
        for threads, rows in ((1, 1), (2, 9), (3, 20), (1, 1000)):
            found = module.encode_packed(sentences, params, config, threads, rows)
            for k, (H, theirs) in enumerate(zip(found, right(params, sentences, config), strict=True)):
                assert H.dtype == np.float32
                near(H, theirs, f"sentence {k} of {LENGTHS[k]} ids, {rows} rows", 5e-6)
    assert module.encode_packed([], *start()[:1], BERT) == []


def pieces_have_room(module):
    """Each sentence once, and no more tokens together than were allowed, but for a sentence that is longer itself."""
    lengths = np.random.default_rng(0).integers(1, 40, 200).tolist()
    for rows in (1, 50, 400):
        pieces = module._pieces(lengths, rows)
        assert sorted(sum(pieces, [])) == list(range(200))
        assert all(len(piece) == 1 or sum(lengths[k] for k in piece) <= rows for piece in pieces)
        assert len(pieces) <= 1.5 * sum(lengths) / rows + 1 or rows == 1, "room is left unused"


def gelu_is_that_of_the_chapters(module):
    """Within 3e-7 of the largest that float32 can tell, from −30 to 30 and beyond."""
    x = np.concatenate([np.linspace(-30, 30, 4001), [-1e6, 1e6, 0]]).astype(np.float32)
    theirs = activation_forward(x.astype(np.float64), "gelu")[0]
    b = np.random.default_rng(0).normal(size=x.shape).astype(np.float32)
    for bias, U in ((np.zeros_like(x), x[None].copy()), (b, (x - b)[None])):
        given = (U + bias)[0]
        module.erf_gelu_rows(U, bias)
        near(U[0] / np.maximum(1, np.abs(x)), activation_forward(given.astype(np.float64), "gelu")[0] / np.maximum(1, np.abs(x)), "x Φ(x)", 4e-7)
    assert np.isfinite(theirs).all()


def runs_are_the_same_to_the_last_bit(module):
    params, sentences = start()
    one, other = (module.encode_packed(sentences, params, BERT, threads, 9) for threads in (1, 3))
    for x, y in zip(one, other, strict=True):
        same(x, y, "one thread and three")


def what_it_cannot_do_is_refused_by_name(module):
    params, sentences = start()
    with as_shipped():
        for name, value, word in (("norm_first", True, "norm_first is True, expected False"), ("activation", "relu", "activation is relu, expected gelu"),
                                  ("position", "sinusoidal", "position is sinusoidal, expected learned")):
            raises(ValueError, word, lambda name=name, value=value: module.encode_packed(sentences, params, replace(BERT, **{name: value})))
        raises(ValueError, "config.kind is 'decoder'", lambda: module.encode_packed(sentences, params, replace(BERT, kind="decoder", segments=0)))
        raises(TypeError, "dtype float64, expected float32", lambda: module.encode_packed(sentences, tree.map_tree(np.float64, params), BERT))
        raises(ValueError, r"sentences\[1\] has 10 ids, expected 1 to 9", lambda: module.encode_packed([sentences[0], np.zeros(10, int)], params, BERT))
        raises(ValueError, r"sentences\[0\] holds 13", lambda: module.encode_packed([np.array([1, 13])], params, BERT))
        raises(TypeError, "sentences", lambda: module.encode_packed([[1, 2]], params, BERT))


def what_is_not_a_number_is_not_handed_on(module):
    params, sentences = start()
    params["blocks"]["1"]["ff"]["b_2"] = np.full(12, np.nan, np.float32)
    with as_shipped():
        raises(ValueError, "H holds nan at index", lambda: module.encode_packed(sentences, params, BERT))


def without_numba_it_is_the_model(module):
    """With a word of warning."""
    params, sentences = start()
    held, module.HAVE_NUMBA = module.HAVE_NUMBA, False
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = module.encode_packed(sentences, params, BERT)
    finally:
        module.HAVE_NUMBA = held
    assert [bool(re.search("Numba is not installed.*pip install 'byhand.fused.'", str(w.message))) for w in said] == [True]
    for ids, H in zip(sentences, found, strict=True):
        same(H, encoder_forward(ids, params, BERT)[0], "this and np.model")


INVARIANTS = {"annex.packed": [without_numba_it_is_the_model, pieces_have_room, what_it_cannot_do_is_refused_by_name] + [
    a_sentence_is_read_as_if_alone, gelu_is_that_of_the_chapters, what_is_not_a_number_is_not_handed_on, runs_are_the_same_to_the_last_bit] * COMPILED}

WRONG = [
    M("annex.packed.encode_packed", "invariant", "no word without Numba", "        warnings.warn(WITHOUT, stacklevel=3)\n", ""),
    M("annex.packed._pieces", "invariant", "room without end", "        room -= lengths[k]\n", ""),
    M("annex.packed._pieces", "invariant", "a piece a sentence", "            room = rows\n", "            room = 0\n"),
    M("annex.packed.SUPPORTED", "invariant", "norms stand where they like", '"norm_first": (False,), ', ""),
    M("annex.packed._can", "invariant", "float64 read as float32", "!= np.float32", "== 0"),
    M("annex.packed._can", "invariant", "more ids than there are places", "0 < len(ids) <= config.n_max", "0 < len(ids)"),
    M("annex.packed._can", "invariant", "ids that are no word", "        ids_below(where, config.vocab, **{f\"sentences[{k}]\": ids})\n", ""),
] + [
    M("annex.packed.erf_gelu_rows", "invariant", "bias forgotten", "x = u[j] + b[j]", "x = u[j]"),
    M("annex.packed.erf_gelu_rows", "invariant", "Φ at x, not at x / √2", "x * ROOT", "x"),
    M("annex.packed.erf_gelu_rows", "invariant", "a polynomial without its last term", "(((((c6 * q + c5) * q + c4)", "((((c5 * q + c4)"),
    M("annex.packed.erf_gelu_rows", "invariant", "minus forgotten", "exp(-(z + z) * p)", "exp((z + z) * p)"),
    M("annex.packed.encode_packed", "invariant", "nobody looks at what comes out", "        finite(\"encode_packed\", \"H\", H)\n", ""),
    M("annex.packed.encode_packed", "invariant", "in the order in which they are read", "found[k] = part", "found[found.index(None)] = part"),
    M("annex.packed._encode", "invariant", "places run on from sentence to sentence", "np.concatenate([np.arange(n) for n in lengths])", "np.arange(t)"),
    M("annex.packed._encode", "invariant", "places forgotten", "np.take(embedding[\"positions\"][\"table\"], places, axis=0, out=Y, mode=\"clip\")", "Y.fill(0)"),
    M("annex.packed._encode", "invariant", "segment forgotten", "embedding[\"segments\"][\"E\"][0] if config.segments else nothing", "nothing"),
    M("annex.packed._encode", "invariant", "bias of q, k, v forgotten", "        QKV += b\n", ""),
    M("annex.packed._encode", "invariant", "scores not divided", "softmax_rows(A.reshape(-1, n), scale, 0)", "softmax_rows(A.reshape(-1, n), ONE, 0)"),
    M("annex.packed._encode", "invariant", "a token sees no later one", "scale, 0)", "scale, n)"),
    M("annex.packed._encode", "invariant", "only the first run of each piece attends", "begin, end = end,", "begin, end = 0,"),
    M("annex.packed._encode", "invariant", "bias of the output forgotten", "join(block[\"attention\"][\"b_o\"]", "join(nothing"),
    M("annex.packed._encode", "invariant", "norms of a block swapped", "block[\"norm_1\"])", "block[\"norm_2\"])"),
    M("annex.packed._encode", "invariant", "ε of another", "np.float32(config.eps)", "np.float32(1e-12)"),
] * COMPILED
