# ruff: noqa: E501
"""Proofs of joined decoding: the logits and the cache are those of decode_forward, token after token, in either dtype."""

from dataclasses import replace

import numpy as np
from byhand import tree
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.np.generate import decode_forward, init_kv
from invariants import arrays, near, raises, same
from mutants import M
from proofs import as_shipped

LLAMA = ModelConfig("decoder", vocab=11, d=24, heads=6, kv_heads=2, layers=3, d_ff=20, n_max=12, position="rope", rope_theta=50.0,
                    activation="silu", gated=True, bias=False, rms=True, eps=1e-2)
CASES = (LLAMA, replace(LLAMA, kv_heads=None, tied=False, layers=1), replace(LLAMA, kv_heads=1, layers=2, rope_theta=1e4))
STARTS = (np.array([0, 0]), np.array([3, 0]), np.array([1, 3]))


def start(config, dtype=np.float64):
    """Parameters with nothing at zero or one, and tokens."""
    rng = np.random.default_rng(6)
    params = tree.map_tree(lambda x: (x + 0.3 * rng.normal(size=x.shape)).astype(dtype), init_model(rng, config, dtype))
    return params, rng.integers(0, config.vocab, (2, 9))


def after_each_token_it_is_decode_forward(module):
    """Also where rows begin in different columns."""
    for config in CASES:
        for begin, dtype in zip(STARTS, (np.float64, np.float64, np.float32), strict=True):
            params, ids = start(config, dtype)
            _, kv = decode_forward(ids[:, :4], params, config, init_kv(params, config, 2, 9, begin))
            _, own = decode_forward(ids[:, :4], params, config, init_kv(params, config, 2, 9, begin))
            joined, far = module.join_weights(params, config), 1e-12 if dtype == np.float64 else 2e-5
            for x in arrays(joined):
                x.flags.writeable = False
            for t in range(4, 9):
                right, kv = decode_forward(ids[:, t : t + 1], params, config, kv)
                logits, own = module.decode_token(ids[:, t], joined, own)
                assert logits.dtype == dtype and own.length == kv.length
                near(logits, right[:, 0], f"logits after token {t}, rows from {begin}", far * np.abs(right).max())
                for pair, theirs in zip(own.layers, kv.layers, strict=True):
                    for x, y in zip(pair, theirs, strict=True):
                        near(x, y, f"the cache after token {t}", far * np.abs(y).max())


def the_cache_before_stays_right(module):
    """Going back to it undoes the step."""
    params, ids = start(LLAMA)
    _, before = decode_forward(ids[:, :4], params, LLAMA, init_kv(params, LLAMA, 2, 9))
    joined = module.join_weights(params, LLAMA)
    first = module.decode_token(ids[:, 4], joined, before)[0]
    module.decode_token(ids[:, 5], joined, before)
    same(module.decode_token(ids[:, 4], joined, before)[0], first, "the token again")


def what_it_cannot_do_is_refused_by_name(module):
    params, ids = start(LLAMA)
    joined, kv = module.join_weights(params, LLAMA), init_kv(params, LLAMA, 2, 4)
    with as_shipped():
        for name, value, word in (("position", "alibi", "position is alibi, expected rope"), ("rms", False, "rms is False, expected True"),
                                  ("gated", False, "gated is False, expected True"), ("alpha", 2.0, "alpha is 2.0, expected 1")):
            raises(ValueError, word, lambda name=name, value=value: module.join_weights(params, replace(LLAMA, **{name: value})))
        raises(ValueError, "expected 0, 1, 2", lambda: module.join_weights(params | {"blocks": {k: params["blocks"][k] for k in "01"}}, LLAMA))
        raises(ValueError, "ids holds 11", lambda: module.decode_token(np.array([1, 11]), joined, kv))
        raises(ValueError, r"ids has shape \(3,\), expected \(2,\)", lambda: module.decode_token(ids[0, :3], joined, kv))
        raises(ValueError, "kv has 2 blocks", lambda: module.decode_token(ids[:, 0], joined, kv._replace(layers=kv.layers[:2])))
        raises(ValueError, r"expected 3 and \(B, 2, n_max, 4\)",
               lambda: module.decode_token(ids[:, 0], joined, init_kv(*start(LLAMA)[:1], LLAMA, 2, 4)._replace(layers=[(K[:, :1], V[:, :1]) for K, V in kv.layers])))
        raises(ValueError, "kv has 4 of 4", lambda: module.decode_token(ids[:, 0], joined, kv._replace(length=4)))
        raises(ValueError, "logits holds nan", lambda: module.decode_token(ids[:, 0], joined._replace(gamma=joined.gamma * np.nan), kv))


INVARIANTS = {"annex.joined": [
    after_each_token_it_is_decode_forward, the_cache_before_stays_right, what_it_cannot_do_is_refused_by_name]}

WRONG = [
    M("annex.joined.join_weights", "invariant", "scores not divided", "share * attention", "attention"),
    M("annex.joined.join_weights", "invariant", "keys divided too", "attention[\"W_k\"], attention[\"W_v\"]", "share * attention[\"W_k\"], attention[\"W_v\"]"),
    M("annex.joined.join_weights", "invariant", "γ of the columns", "block[\"norm_1\"][\"gamma\"][:, None] * W_qkv", "np.ones_like(W_qkv) * W_qkv"),
    M("annex.joined.join_weights", "invariant", "γ of the other norm", "block[\"norm_2\"][\"gamma\"][:, None]", "block[\"norm_1\"][\"gamma\"][:, None]"),
    M("annex.joined.join_weights", "invariant", "gate and input exchanged", "[ff[\"W_g\"], ff[\"W_1\"]]", "[ff[\"W_1\"], ff[\"W_g\"]]"),
    M("annex.joined.join_weights", "invariant", "always tied", "E if config.tied else params[\"head\"][\"W\"]", "E if True else E"),
    M("annex.joined.join_weights", "invariant", "the base of another model", "config.rope_theta", "10000.0"),
    M("annex.joined.join_weights", "invariant", "whatever the config says", "config, SUPPORTED,", "config, {},"),
    M("annex.joined.decode_token", "invariant", "places counted from the column", "length - kv.start", "length - 0 * kv.start"),
    M("annex.joined.decode_token", "invariant", "padding is seen", "= -np.inf", "+= 0"),
    M("annex.joined.decode_token", "invariant", "values turned too", "turned[:, H:]", "turned[:, H:] * 1.01"),
    M("annex.joined.decode_token", "invariant", "turned the other way", "even * cos - odd * sin, even * sin + odd * cos", "even * cos + odd * sin, odd * cos - even * sin"),
    M("annex.joined.decode_token", "invariant", "heads of a group apart", "reshape(rows, G, H // G, k)", "reshape(rows, H // G, G, k).swapaxes(1, 2)"),
    M("annex.joined.decode_token", "invariant", "does not see itself", "m = joined.config, kv.length, kv.length + 1", "m = joined.config, kv.length, kv.length"),
    M("annex.joined.decode_token", "invariant", "no stream past attention", "X += (A", "X = (A"),
    M("annex.joined.decode_token", "invariant", "σ without its x", "up *= gate * (", "up *= ("),
    M("annex.joined.decode_token", "invariant", "the last γ forgotten", " * joined.gamma", ""),
    M("annex.joined.decode_token", "invariant", "the token of the first row in all", "X = joined.E[ids]", "X = joined.E[ids[0]:ids[0] + 1]"),
    M("annex.joined.decode_token", "invariant", "nobody looks at the logits", "    finite(\"decode_token\", \"logits\", logits)\n", ""),
    M("annex.joined.decode_token", "invariant", "the cache of another model", "    if kv.layers[0][0]", "    if False and kv.layers[0][0]"),
    M("annex.joined._scaled", "invariant", "ε outside the root", " / X.shape[1] + eps)[:, None]", " / X.shape[1])[:, None] + eps"),
    M("annex.joined._scaled", "invariant", "sum for mean", " / X.shape[1]", ""),
]
