# ruff: noqa: E501
"""Masks entry by entry in both halves, and a probe that finds every leak."""

import math
from functools import partial

import numpy as np
import torch
from byhand.np.softmax import softmax_forward
from hypothesis import strategies as st
from invariants import examples, normal, rng, same
from mutants import M
from proofs import torch_habits
from twins import Case, Spec, mask_of


def causal_cases(rng):
    for sizes in ({"n": 1}, {"n": 4}, {"n": 3, "m": 5}, {"n": 5, "m": 3}, {"n": 2, "offset": 3},
                  {"n": 2, "m": 4, "offset": 1}):
        yield Case(str(sizes), {}, sizes)


def padding_cases(rng):
    for ndim in (3, 4):
        yield Case(f"{ndim} axes", {}, {"lengths": np.array([3, 0, 5, 1]), "m": 5, "ndim": ndim})


def combine_cases(rng):
    one, shared, padding = (mask_of(kind, rng, (2,), 3, 4) for kind in ("random", "shared", "padding"))
    yield Case("one", {"mask": one})
    yield Case("shared and padding", {"a": shared, "b": padding})
    yield Case("three", {"a": padding, "b": shared, "c": one})


def rows_cases(rng):
    for kind in ("shared", "random", "padding"):
        yield Case(kind, {"mask": mask_of(kind, rng, (2,), 3, 4)})


TWINS = [
    Spec("mask", "causal_mask", causal_cases),
    Spec("mask", "padding_mask", padding_cases),
    Spec("mask", "combine_masks", combine_cases),
    Spec("mask", "fully_masked_rows", rows_cases),
]


def masks_entry_by_entry(module):
    @examples(n=st.integers(1, 6), m=st.integers(1, 6), offset=st.integers(0, 4), ndim=st.integers(3, 5))
    def any_sizes(n, m, offset, ndim):
        same(module.causal_mask(n, m, offset), [[j <= i + offset for j in range(m)] for i in range(n)], "causal masks")
        same(module.causal_mask(n, offset=offset), module.causal_mask(n + offset)[offset:], "offset and last rows")
        lengths = [m, 0, m // 2]
        ids = np.array(lengths) if module.__name__.startswith("byhand.np") else torch.tensor(lengths)
        mask = module.padding_mask(ids, m, ndim)
        assert tuple(mask.shape) == (3, *[1] * (ndim - 2), m)
        same(mask.reshape(3, m), [[j < length for j in range(m)] for length in lengths], "padding masks")

    any_sizes()


def combining_narrows(module):
    """A combined mask allows what each part allows, in any order, and no more; rows of nothing are found."""
    causal = module.causal_mask(3)
    last = ~causal | causal
    last[..., :2] = False  # only the last key
    both = module.combine_masks(causal, last)
    same(both, module.combine_masks(last, causal), "orders")
    same(both, module.combine_masks(both, both, causal), "twice")
    same(both, [[False, False, False], [False, False, False], [False, False, True]], "by hand")
    same(module.fully_masked_rows(both), [True, True, False], "blind queries")
    same(module.fully_masked_rows(causal), [False, False, False], "blind queries")


def any_masks_combine(module):
    """Whatever is shared, (n, m) masks among them: allowed is what every mask allows, written out in full."""
    to = np.asarray if module.__name__.startswith("byhand.np") else torch.tensor

    @examples(full=st.lists(st.integers(1, 3), min_size=2, max_size=4), seed=st.integers(0, 999), count=st.integers(1, 4))
    def some_masks(full, seed, count):
        draw = np.random.default_rng(seed)
        shapes = [tuple(full), *[full[-2:] if draw.random() < 0.4 else [n if draw.random() < 0.6 else 1 for n in full]
                                 for _ in range(count)]]
        masks = [draw.random(shapes[i]) < 0.7 for i in draw.permutation(len(shapes))]
        together = module.combine_masks(*map(to, masks))
        written = np.stack([np.broadcast_to(mask, full) for mask in masks]).all(axis=0)
        same(together, written, "combined masks")
        same(module.fully_masked_rows(together), ~written.any(axis=-1), "blind queries")

    some_masks()


def causal_attention(X, wrong=None):
    """Self-attention with Q = K = V = X, right or with one of the faults that a gradient check cannot see."""
    n = X.shape[-2]
    mask = np.tri(n, k=1 if wrong == "mask off by one" else 0, dtype=bool)
    S = X @ X.mT / math.sqrt(X.shape[-1])
    if wrong == "no mask":
        A = softmax_forward(S)[0]
    elif wrong == "mask after softmax":
        A = softmax_forward(S)[0] * mask
    elif wrong == "softmax over queries":
        A = softmax_forward(S.mT, mask.T.copy())[0].mT
    else:
        A = softmax_forward(S, mask)[0]
    return A @ X


LEAKS = ["no mask", "mask after softmax", "mask off by one", "softmax over queries"]


def probe(module, f, X, t):
    """leak_probe of either half, for f a function of NumPy arrays."""
    if module.__name__.startswith("byhand.np"):
        return module.leak_probe(f, X, t, rng())
    return module.leak_probe(lambda x: torch.tensor(f(x.numpy())), torch.tensor(X), t, torch.Generator().manual_seed(7))


def leak_probe_is_zero_for_causal_functions(module):
    X = normal(2, 5, 4)
    kept = X.copy()
    for t in (1, 2, 4):
        for f in (causal_attention, lambda x: x.cumsum(axis=-2), lambda x: x + 0):
            assert probe(module, f, X, t) == 0
    same(X, kept, "X before and after")


def leak_probe_finds_every_leak(module):
    X = normal(2, 5, 4)
    for t in (1, 2, 4):
        for wrong in LEAKS:
            assert probe(module, partial(causal_attention, wrong=wrong), X, t) > 1e-3, wrong
        assert probe(module, lambda x: np.roll(x, -1, axis=-2), X, t) > 1e-3  # each token reads the next one
        assert probe(module, lambda x: -(np.roll(x, -1, axis=-2) ** 2), 0 * X, t) > 1e-3  # and can only fall


def leak_probe_reads_ids(module):
    """Whole models read ids: every id from t on becomes another one, of any whole dtype, and stays in the vocabulary."""
    table = normal(6, 3)

    def running_mean(ids):
        seen.append(ids)
        return table[ids].cumsum(axis=-2)

    for dtype in ("uint8", "uint16", "int32", "int64"):
        X, seen = np.arange(60).reshape(4, 15).astype(dtype) % 6, []
        for t in (1, 3):
            assert probe(module, running_mean, X, t) == 0
            assert probe(module, lambda ids: table[np.roll(ids, -1, axis=-1)], X, t) > 1e-3
            assert probe(module, lambda ids: table[ids].cumsum(axis=-2)[..., ::-1, :].copy(), X, t) > 1e-3
        for t, ids in zip((1, 3), (max(seen[i:i + 2], key=lambda ids: (ids != X).sum()) for i in (0, 2)), strict=True):
            assert (ids != X)[:, t:].all() and not (ids != X)[:, :t].any() and 0 <= ids.min() <= ids.max() <= 5


INVARIANTS = {
    "np.mask": [masks_entry_by_entry, combining_narrows, any_masks_combine, leak_probe_is_zero_for_causal_functions,
                leak_probe_finds_every_leak, leak_probe_reads_ids],
    "pt.mask": [*torch_habits(TWINS)[:1], masks_entry_by_entry, combining_narrows, any_masks_combine,
                leak_probe_is_zero_for_causal_functions, leak_probe_finds_every_leak, leak_probe_reads_ids],
}

WRONG = [
    M("np.mask.causal_mask", "twin invariant", "causal: off by one, sees the next token",
      "None] + offset", "None] + offset + 1"),
    M("np.mask.causal_mask", "twin invariant", "causal: off by one, does not see itself",
      ") <= np.arange", ") < np.arange"),
    M("np.mask.causal_mask", "twin invariant", "causal: upper triangular", "m) <= np.arange", "m) >= np.arange"),
    M("np.mask.causal_mask", "twin invariant", "causal: offset forgotten",
      "np.arange(n)[:, None] + offset", "np.arange(n)[:, None]"),
    M("np.mask.padding_mask", "twin invariant", "padding: one key too many",
      "np.arange(m) < lengths[:, None]", "np.arange(m) <= lengths[:, None]"),
    M("np.mask.padding_mask", "twin invariant", "padding: True where it is padding",
      "np.arange(m) < lengths[:, None]", "np.arange(m) >= lengths[:, None]"),
    M("np.mask.padding_mask", "twin invariant", "padding: on the queries",
      "*(1,) * (ndim - 2), m)", "*(1,) * (ndim - 3), m, 1)"),
    M("np.mask.combine_masks", "twin invariant", "combine: or for and", "together & mask", "together | mask"),
    M("np.mask.combine_masks", "twin invariant", "combine: only the last mask", "together & mask", "mask"),
    M("np.mask.fully_masked_rows", "twin invariant", "blind queries: any masked key is enough",
      "~mask.any(axis=-1)", "~mask.all(axis=-1)"),
    M("np.mask.fully_masked_rows", "twin invariant", "blind keys for blind queries",
      "~mask.any(axis=-1)", "~mask.any(axis=-2)"),
    M("np.mask.leak_probe", "invariant", "leak probe: looks at the changed token too",
      "[..., :t, :]", "[..., :t + 1, :]"),
    M("np.mask.leak_probe", "invariant", "leak probe: leaves token t as it was",
      ":, :] = rng.normal(size=changed[..., t", " + 1:, :] = rng.normal(size=changed[..., t + 1"),
    M("np.mask.leak_probe", "invariant", "leak probe: sign kept", "np.abs(f(changed) - f(X))", "(f(changed) - f(X))"),
    M("np.mask.leak_probe", "invariant", "leak probe: writes into X", "changed = X.copy()", "changed = X"),
    M("np.mask.leak_probe", "invariant", "leak probe: an id may stay", "X[..., t:] + step)", "X[..., t:] + step // 2 * 2)"),
    M("np.mask.leak_probe", "invariant", "leak probe: ids beyond the vocabulary", "% (last + 1)", "% (last + 2)"),
    M("np.mask.leak_probe", "invariant", "leak probe: the last ids alone", "changed[..., t:] = (X[..., t:] + step)", "changed[..., -1:] = (X[..., -1:] + step[..., -1:])"),
    M("pt.mask.leak_probe", "invariant", "leak probe: ids left alone", "(X[..., t:] + step.to(X.device)) % (last + 1)", "X[..., t:]"),
    M("pt.mask.causal_mask", "twin invariant", "causal: sees the next token", ".tril(offset)", ".tril(offset + 1)"),
    M("pt.mask.causal_mask", "twin invariant", "causal: upper triangular", ".tril(offset)", ".triu(offset)"),
    M("pt.mask.causal_mask", "invariant", "causal: device forgotten",
      "dtype=torch.bool, device=device)", "dtype=torch.bool)"),
    M("pt.mask.padding_mask", "invariant", "padding: positions made on the CPU",
      "torch.arange(m, device=lengths.device)", "torch.arange(m)"),
    M("pt.mask.padding_mask", "twin invariant", "padding: one key too many",
      ") < lengths[:, None]", ") <= lengths[:, None]"),
    M("pt.mask.combine_masks", "twin invariant", "combine: or for and", "together & mask", "together | mask"),
    M("pt.mask.fully_masked_rows", "twin invariant", "blind queries: any masked key is enough",
      "~mask.any(dim=-1)", "~mask.all(dim=-1)"),
    M("pt.mask.leak_probe", "invariant", "leak probe: looks at the changed token too",
      "[..., :t, :]", "[..., :t + 1, :]"),
    M("pt.mask.leak_probe", "invariant", "leak probe: changes nothing", "new.to(X.device)", "changed[..., t:, :]"),
    M("pt.mask.leak_probe", "invariant", "leak probe: writes into X", "changed, at = X.clone()", "changed, at = X"),
    M("pt.mask.leak_probe", "invariant", "leak probe: sign kept", ".abs().max().item()", ".max().item()"),
]
