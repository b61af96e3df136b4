# ruff: noqa: E501
"""Generation, both halves: the cache is recomputation, rows of a batch are as alone, and words end where they should."""

import importlib
import itertools

import numpy as np
import pytest
from byhand.config import ModelConfig
from invariants import near
from mutants import build
from proofs import as_shipped
from specs.generate import BATCH, ODD, ONE, SIZES, decoded, logits_of, params_of
from specs.sample import call

POSITIONS = ("sinusoidal", "learned", "rope", "rope_half", "alibi", "relative", "none")


def every_model_there_is(module):
    """Every position with and without groups, in both wirings, plain and not; too many for each mutant."""
    for position, kv_heads, norm_first, more in itertools.product(POSITIONS, (None, 2), (True, False), ({}, ODD)):
        config = ModelConfig("decoder", **SIZES, **ONE, position=position, kv_heads=kv_heads, norm_first=norm_first, **more)
        kv = call(module, "init_kv", params_of(config), config, 2, 9)
        logits, _ = decoded(module, config, np.split(BATCH, [4, 8], axis=1), kv)
        near(logits, np.stack([logits_of(config, row) for row in BATCH]), f"{config}: logits with and without cache")


@pytest.mark.parametrize("half", ["np", "pt"])
def test_every_model_there_is(half):
    with as_shipped():
        every_model_there_is(importlib.import_module(f"byhand.{half}.generate"))
        with pytest.raises(AssertionError, match="position='alibi'.* differ by"):
            every_model_there_is(build(f"{half}.generate", "alibi_bias(config.heads, t, m, length", "alibi_bias(config.heads, t, m, 0"))
