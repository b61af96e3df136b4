# ruff: noqa: E501
"""Proofs of the fast training step: it is the plain one, in every gradient, over many steps, whatever the pieces."""


import os
import re
import time
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
from byhand import tree
from byhand.annex import workspace as real
from byhand.annex.loops import HAVE_NUMBA
from byhand.annex.workspace import Workspace
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.np._threads import BLAS
from byhand.np.loss import cross_entropy_backward, cross_entropy_forward
from byhand.np.model import decoder_backward, decoder_forward
from byhand.np.optim import adamw_step_, decay_mask, init_state
from invariants import arrays, near, raises, same
from mutants import M, build
from proofs import as_shipped
from threadpoolctl import threadpool_limits
from twins import GRADIENT32

LEARNED = ModelConfig("decoder", vocab=11, d=12, heads=3, layers=2, d_ff=20, n_max=9, position="learned", activation="gelu_tanh")
SINUSOIDS = ModelConfig("decoder", vocab=7, d=8, heads=2, layers=3, d_ff=13, activation="relu", eps=1e-3)
# As Python, the loops are proved in specs/loops; the rung that is made of them takes Numba, which CI has.
COMPILED = HAVE_NUMBA or "CI" in os.environ
RUNGS = ("chapters", "chapters, threads", "in place", "in place, threads") + ("fused, threads",) * COMPILED
BOUND = {np.float64: 1e-12, np.float32: GRADIENT32}  # of a gradient, in its leaf's largest value or a hundredth of all
WAY = {np.float64: 1e-12, np.float32: 2e-5}  # of the loss after up to 20 steps; the chapters' own in float32 are 7e-6 from float64
STEPS = 20


def rig(module):
    """The functions of the ladder, around a module that may be wrong: its own, and the real ones for the rest."""
    name = module.__name__.rpartition(".")[2]
    ladder = module if name == "ladder" else build("annex.ladder")
    if name == "workspace":
        ladder.pack = module.pack

    def workspace(*args, **options):
        work = Workspace(*(module if name == "workspace" else real).workspace(*args, **options))
        return work._replace(passes=module) if hasattr(module, "forward_") else work

    return SimpleNamespace(pack=ladder.pack, workspace=workspace, fast_loss_and_grads=ladder.fast_loss_and_grads,
                           fast_adamw_step_=ladder.fast_adamw_step_, training=ladder.training)


def fused(module):
    """Whether it is about the rung with the loops, which is for float32."""
    return module.__name__.endswith("fused")


def start(config, batch, n, dtype=np.float64, spread=0.3):
    """Parameters with nothing at zero or one, and a batch with repeated words."""
    rng = np.random.default_rng(4)
    params = tree.map_tree(lambda x: (x + spread * rng.normal(size=x.shape)).astype(dtype), init_model(rng, config, dtype))
    return params, *rng.integers(0, config.vocab, (2, batch, n))


def plain(params, ids, targets, config):
    logits, cache = decoder_forward(ids, params, config)
    L, of_loss = cross_entropy_forward(logits, targets)
    return float(L), decoder_backward(cross_entropy_backward(1.0, of_loss), cache)


def alike(ours, theirs, dtype=np.float64):
    (loss, grads), (expected, right) = ours, theirs
    near(loss / expected, 1, "losses, in that of the plain step", BOUND[dtype] / 10)
    grads, right = tree.flatten(grads), tree.flatten(right)
    assert grads.keys() == right.keys()
    most = max(np.abs(x).max() for x in right.values())
    for name, x in right.items():
        near(grads[name], x, f"gradients of {name}", BOUND[dtype] * max(np.abs(x).max(), 1e-2 * most))


def it_trains_as_the_plain_step_does(module):
    """20 steps of both, each with its own parameters, the plain one in float64; the gradients also at the same ones."""
    step, first = rig(module), np.float32 if fused(module) else np.float64
    for dtype, config, batch, n in ((first, LEARNED, 6, 7), (np.float32, SINUSOIDS, 5, 6)):
        params, ids, targets = start(config, batch, n, dtype)
        other, mask, losses = tree.map_tree(np.float64, params), decay_mask(params), []
        params, state, held = step.pack(params), init_state(params), init_state(other)
        state |= {name: step.pack(state[name]) for name in "mv"}
        work = step.workspace(params, config, batch, n, sequences=2, fused=fused(module))
        for k in range(STEPS):
            found = step.fast_loss_and_grads(params, ids, targets, config, work)
            if k == STEPS - 1:
                alike(found, plain(tree.map_tree(np.float64, params), ids, targets, config), dtype)
            loss, grads = plain(other, ids, targets, config)
            near(found[0] / loss, 1, "losses on the way", WAY[dtype])
            losses.append(loss)
            step.fast_adamw_step_(params, found[1], state, 0.01, weight_decay=0.1)
            adamw_step_(other, grads, held, 0.01, weight_decay=0.1, mask=mask)
        assert losses[-1] < 0.8 * losses[0], "the plain step learns nothing, so this says little"


def pieces_and_threads_do_not_matter(module):
    step, dtype = rig(module), np.float32 if fused(module) else np.float64
    for config, choices in ((LEARNED, ((1, 1), (2, 1), (3, 4), (2, 99))), (SINUSOIDS, ((4, 2),))):
        params, ids, targets = start(config, 6, 5, dtype)
        right = plain(params, ids, targets, config)
        for threads, sequences in choices:
            work = step.workspace(params, config, 6, 5, threads=threads, sequences=sequences, fused=fused(module))
            assert len(work.lanes) <= threads
            alike(step.fast_loss_and_grads(params, ids, targets, config, work), right, dtype)


def runs_are_the_same_to_the_last_bit(module):
    """Also after another batch, in a workspace that is not new, and with parameters that cannot be written."""
    step = rig(module)
    params, ids, targets = start(SINUSOIDS, 6, 5, np.float32)
    for x in (*arrays(params), ids, targets):
        x.flags.writeable = False
    work = [step.workspace(params, SINUSOIDS, 6, 5, sequences=1, fused=fused(module)) for _ in range(2)]
    once, first = step.fast_loss_and_grads(params, ids, targets, SINUSOIDS, work[0])
    step.fast_loss_and_grads(params, targets, ids, SINUSOIDS, work[1])
    for _ in range(3):
        again, second = step.fast_loss_and_grads(params, ids, targets, SINUSOIDS, work[1])
        assert once == again
        for a, b in zip(arrays(first), arrays(second), strict=True):
            same(a, b, "two runs")


def everything_stays_float32(module):
    step = rig(module)
    params, ids, targets = start(LEARNED, 4, 5, np.float32)
    work = step.workspace(params, LEARNED, 4, 5, fused=fused(module))
    loss, grads = step.fast_loss_and_grads(params, ids, targets, LEARNED, work)
    held = [x for lane in work.lanes for x in vars(lane).values() if isinstance(x, np.ndarray)]
    held += [x for lane in work.lanes for x in lane.sums.values()]
    assert type(loss) is float
    assert all(x.dtype == np.float32 for x in [*held, *arrays(grads), work.future, work.sinusoids])


def large_numbers_pass_without_a_warning(module):
    """Scores and logits that e^x cannot hold, and units far from zero."""
    step = rig(module)
    params, ids, targets = start(LEARNED, 4, 5, np.float32)
    params["embedding"]["tokens"]["E"] *= 300
    for block in params["blocks"].values():
        block["ff"]["W_1"] *= 300
        block["attention"]["W_q"] *= 300
    work = step.workspace(params, LEARNED, 4, 5, fused=fused(module))
    alike(step.fast_loss_and_grads(params, ids, targets, LEARNED, work), plain(params, ids, targets, LEARNED), np.float32)


def adamw_is_the_same_to_the_last_bit(module):
    """With leaves of several chunks and of a part of one, with options, and with any number of threads."""
    step = rig(module)
    for dtype, threads in ((np.float32, 1), (np.float64, 3)):
        def normal(size, rng=np.random.default_rng(2), dtype=dtype):  # noqa: B008  (one stream for the run)
            return rng.normal(size=size).astype(dtype)

        params = {"W": normal((300, 200)), "b": normal(200), "norm": {"gamma": normal(7)}, "V": normal((3, 5))}
        packed, state = step.pack(params), init_state(params)
        held = state | {name: step.pack(state[name]) for name in "mv"}
        leaf = packed["W"]
        for _ in range(5):
            grads = {"W": normal((300, 200)), "b": normal(200), "norm": {"gamma": normal(7)}, "V": normal((3, 5))}
            adamw_step_(params, grads, state, 0.1, betas=(0.8, 0.999), weight_decay=0.3, mask=decay_mask(params))
            step.fast_adamw_step_(packed, step.pack(grads), held, 0.1, threads, betas=(0.8, 0.999), weight_decay=0.3)
        assert packed["W"] is leaf and held["t"] == state["t"] == 5
        for a, b in zip(arrays({"p": params, "s": state}), arrays({"p": packed, "s": held}), strict=True):
            same(a, b, "plain and in chunks")


def packed_leaves_fill_two_long_arrays(module):
    params = start(SINUSOIDS, 1, 1, np.float32)[0]
    packed, mask = rig(module).pack(params), tree.flatten(decay_mask(params))
    leaves = tree.flatten(packed)
    assert list(leaves) == list(tree.flatten(params))
    for name, x in tree.flatten(params).items():
        same(leaves[name], x, name)
        assert leaves[name].dtype == np.float32 and not np.shares_memory(leaves[name], x)
    for on in (True, False):
        some = [x for name, x in leaves.items() if mask[name] is on]
        assert len({id(x.base) for x in some}) == 1 and some[0].base.size == sum(x.size for x in some)


def blas_has_one_thread_inside_and_its_own_after(module):
    """Where threads share the batch; with one alone, BLAS keeps its own."""
    step, (params, ids, targets) = rig(module), start(LEARNED, 2, 5)
    count = lambda: {x["num_threads"] for x in BLAS.info() if x["user_api"] == "blas"}  # noqa: E731

    for threads, inside in ((2, {1}), (1, {2})):
        work, seen = step.workspace(params, LEARNED, 2, 5, threads, sequences=1), set()

        def watched(*args, seen=seen, loss=work.passes.loss_):
            seen.update(count())
            return loss(*args)

        work = work._replace(passes=SimpleNamespace(**vars(work.passes) | {"loss_": watched}))
        with threadpool_limits(2, "blas"):
            step.fast_loss_and_grads(params, ids, targets, LEARNED, work)
            assert seen == inside and count() == {2}, f"{seen} inside, {count()} after"


def every_rung_is_the_first(module):
    """Five steps of each, the rate another at each, on a batch of their own, from parameters that stay as they were."""
    params = start(LEARNED, 6, 7, np.float32)[0]
    before, batches = tree.map_tree(np.copy, params), np.random.default_rng(3).integers(0, 11, (5, 2, 6, 7))
    right = None
    for rung in RUNGS:
        step, trained = module.training(rung, params, LEARNED, 6, 7, sequences=3, weight_decay=0.2)
        losses = [step(ids, targets, 0.02 / (k + 1)) for k, (ids, targets) in enumerate(batches)]
        assert all(type(loss) is float for loss in losses)
        right = right or (losses, tree.map_tree(np.copy, trained))
        near(losses, right[0], f"losses of {rung}", 1e-4)
        for (name, x), y in zip(tree.flatten(trained).items(), arrays(right[1]), strict=True):
            if not name.endswith("b_k"):  # it has no part in a softmax; AdamW makes steps of the rounding in its gradient
                near(x, y, f"{name} after {rung}", 2e-4)
        for x, y in zip(arrays(params), arrays(before), strict=True):
            same(x, y, "parameters given and after")


def fused_adamw_is_adamw(module):
    """In float32, to a few units in the last place of a step, where every moment and every bias correction counts."""
    step, draw = rig(module), np.random.default_rng(5)

    def normal(scale=1.0):
        return {"W": np.float32(scale * draw.normal(size=(30, 20))), "b": np.float32(scale * draw.normal(size=3))}

    params = normal()
    packed, state = step.pack(params), init_state(params)
    held = state | {name: step.pack(state[name]) for name in "mv"}
    for _ in range(4):
        grads = normal(0.1)
        adamw_step_(params, grads, state, 0.01, betas=(0.8, 0.95), weight_decay=0.3, mask=decay_mask(params))
        step.fast_adamw_step_(packed, step.pack(grads), held, 0.01, betas=(0.8, 0.95), weight_decay=0.3, fused=True)
    for name in ("W", "b"):
        near(packed[name], params[name], name, 1e-6)
        for moment in "mv":
            near(held[moment][name], state[moment][name], f"{moment} of {name}", 1e-7)
    assert held["t"] == 4


def without_numba_the_rung_before_is_taken(module):
    """With a word of warning, and with its numbers."""
    params, ids, targets = start(LEARNED, 4, 5, np.float32)
    held, module.HAVE_NUMBA = module.HAVE_NUMBA, False
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            work = module.workspace(params, LEARNED, 4, 5, fused=True)
    finally:
        module.HAVE_NUMBA = held
    assert [re.search("Numba is not installed.*pip install 'byhand.fused.'", str(w.message)) is not None for w in said] == [True]
    assert work.passes.__name__ == "byhand.annex.inplace"
    if COMPILED:
        assert module.workspace(params, LEARNED, 4, 5, fused=True).passes.__name__ == "byhand.annex.fused"


def what_it_cannot_do_is_refused_by_name(module):
    module, (params, ids, targets) = rig(module), start(LEARNED, 2, 5)
    sizes = {"kind": "decoder", "vocab": 11, "d": 12, "heads": 3, "layers": 1, "activation": "gelu_tanh"}
    with as_shipped():
        for name, value in (("position", "rope"), ("kv_heads", 1), ("norm_first", False), ("residual", False), ("alpha", 2.0), ("activation", "gelu"),
                            ("gated", True), ("bias", False), ("rms", True), ("embedding_norm", True),
                            ("scale_embedding", True), ("tied", False), ("p", 0.1)):
            config = ModelConfig(**sizes | {name: value})
            raises(ValueError, f"workspace: {name} is {value}, expected",
                   lambda c=config: module.workspace(init_model(np.random.default_rng(0), c), c, 2, 5))
        work = module.workspace(params, LEARNED, 2, 5)
        call = module.fast_loss_and_grads
        for name, value in (("position", "sinusoidal"), ("activation", "relu"), ("eps", 0.1), ("layers", 1), ("rope_theta", 30.0), ("alpha", 3.0),
                            ("scale_embedding", True)):
            other = replace(LEARNED, **{name: value})
            raises(ValueError, f"fast_loss_and_grads: {name} of config is {value}, expected {getattr(LEARNED, name)}",
                   lambda c=other: call(params, ids, targets, c, work))
        raises(ValueError, "workspace: params has no names, expected embedding", lambda: module.workspace({}, LEARNED, 2, 5))
        began = time.process_time()
        assert module.workspace(params, LEARNED, 2, 5, sequences=10**18).shape == (2, 5) and time.process_time() - began < 1
        raises(TypeError, "embedding.tokens.E has dtype float32, expected float64",
               lambda: call(tree.map_tree(np.float32, params), ids, targets, LEARNED, work))
        raises(ValueError, "at most 9", lambda: module.workspace(params, LEARNED, 2, 10))
        raises(ValueError, "threads is 0", lambda: module.workspace(params, LEARNED, 2, 5, threads=0))
        raises(ValueError, r"ids has shape \(2, 4\), expected \(2, 5\)", lambda: call(params, ids[:, 1:], targets[:, 1:], LEARNED, work))
        raises(ValueError, "targets holds 11", lambda: call(params, ids, targets * 0 + 11, LEARNED, work))
        raises(ValueError, "params has", lambda: call({"W": np.ones(3)}, ids, targets, LEARNED, work))
        params["norm"]["beta"][3] = np.nan
        raises(ValueError, r"norm.beta holds nan at index \(3,\)", lambda: call(params, ids, targets, LEARNED, work))
        params = start(LEARNED, 2, 5)[0]
        packed, state = module.pack(params), init_state(params)
        raises(ValueError, "fast_adamw_step_: m is not in two long arrays",
               lambda: module.fast_adamw_step_(packed, packed, state, 0.1))
        held = {name: module.pack(state[name]) for name in "mv"}
        before, grads = tree.map_tree(np.copy, packed), module.pack(packed)
        grads["norm"]["beta"][3] = np.inf
        raises(ValueError, r"fast_adamw_step_: grads.norm.beta holds inf",
               lambda: module.fast_adamw_step_(packed, grads, state | held, 0.1))
        for a, b in zip(arrays(before), arrays(packed), strict=True):
            same(a, b, "parameters before and after a step that was refused")
        raises(ValueError, "fast_adamw_step_: grads has", lambda: module.fast_adamw_step_(packed, {}, state, 0.1))
        raises(TypeError, "params have dtype float64 with fused, expected float32",
               lambda: module.workspace(params, LEARNED, 2, 5, fused=True))
        raises(TypeError, "params has dtype float64 with fused, expected float32",
               lambda: module.fast_adamw_step_(packed, grads, state | held, 0.1, fused=True))


STEP = [it_trains_as_the_plain_step_does, pieces_and_threads_do_not_matter, runs_are_the_same_to_the_last_bit,
        everything_stays_float32, large_numbers_pass_without_a_warning]
INVARIANTS = {
    "annex.ladder": [*STEP, adamw_is_the_same_to_the_last_bit, fused_adamw_is_adamw, every_rung_is_the_first,
                     blas_has_one_thread_inside_and_its_own_after, what_it_cannot_do_is_refused_by_name],
    "annex.workspace": [*STEP, packed_leaves_fill_two_long_arrays, what_it_cannot_do_is_refused_by_name,
                        without_numba_the_rung_before_is_taken],
    "annex.inplace": [check for check in STEP if check is not everything_stays_float32],
} | ({"annex.fused": STEP} if COMPILED else {})

WRONG = [
    M("annex.ladder.fast_loss_and_grads", "invariant", "sums of the last call kept", "        passes.begin(w)\n", ""),
    M("annex.inplace.begin", "invariant", "sums of the last call kept", "x.fill(0)", "pass"),
    M("annex.ladder.fast_loss_and_grads", "invariant", "the third thread's gradients lost", "lanes[1:]", "lanes[1:2]"),
    M("annex.ladder.fast_loss_and_grads", "invariant", "pieces that overlap",
      "range(lane, len(ids), len(lanes))", "range(lane, len(ids))"),
    M("annex.workspace.workspace", "invariant", "a piece that does not divide the batch",
      "max(k for k in range(1, min(sequences, batch) + 1) if batch % k == 0", "min(sequences, batch"),
    M("annex.workspace.workspace", "invariant", "a count that nobody lives to see", "min(sequences, batch) + 1)", "min(sequences, 10**8) + 1)"),
    M("annex.inplace.fold", "invariant", "folded weights with their mean", "Fold(F - F.mean(axis=0)", "Fold(F"),
    M("annex.inplace.fold", "invariant", "mean over outputs, not over inputs",
      "F.mean(axis=0)", "F.mean(axis=1, keepdims=True)"),
    M("annex.inplace.unfold", "invariant", "β has no part in dW", " + np.outer(fold.beta, f)", ""),
    M("annex.inplace.unfold", "invariant", "dγ from the folded weights", "np.vecdot(fold.W, D)", "np.vecdot(fold.F, D)"),
    M("annex.inplace.unfold", "invariant", "dβ from the folded weights", "fold.W @ f\n", "fold.F @ f\n"),
    M("annex.inplace.fold", "invariant", "scores not divided by √d_k", "1 / math.sqrt(config.d // config.heads)", "1"),
    M("annex.inplace.unfold", "invariant", "scale left out of the gradient of W_q",
      "1 / math.sqrt(work.config.d // work.config.heads)", "1"),
    M("annex.inplace.unfold", "invariant", "tied: the logits' part written over the words'",
      "dE += dW.T", "dE[...] = dW.T"),
    M("annex.workspace.workspace", "invariant", "one where no position was read",
      "pack(map_tree(np.zeros_like", "pack(map_tree(np.ones_like"),
    M("annex.workspace.workspace", "invariant", "sees the next token too",
      "np.tri(n, dtype=bool).T", "np.tri(n, k=1, dtype=bool).T"),
    M("annex.workspace.workspace", "invariant", "workspace in float64",
      "*{name: np.ones(size, dtype) for name, ", "*{name: np.ones(size) for name, "),
    M("annex.ladder.fast_loss_and_grads", "invariant", "BLAS as it was", "ONE_BLAS_THREAD if len(lanes) > 1 else nullcontext()", "nullcontext()"),
    M("annex.ladder.fast_loss_and_grads", "invariant", "one thread in all, where BLAS could have two", "ONE_BLAS_THREAD if len(lanes) > 1 else nullcontext()", "ONE_BLAS_THREAD"),
    M("annex.workspace.SUPPORTED", "invariant", "gated taken for plain", '"gated": (False,), ', ""),
    M("annex.workspace.SUPPORTED", "invariant", "bias taken for granted", '"bias": (True,), ', ""),
    M("annex.ladder.fast_loss_and_grads", "invariant", "NaN trained on",
      '_usable("fast_loss_and_grads", work.future.dtype, flatten(params))', "pass"),
    M("annex.ladder.fast_loss_and_grads", "invariant", "the workspace of another config taken", "if other:", "if False:"),
    M("annex.ladder.fast_adamw_step_", "invariant", "some chunks have moved when another is refused",
      '_usable("fast_adamw_step_", dtype, ', 'dict('),
    M("annex.ladder._adamw", "invariant", "everything decays", 'mask={"x": on}', "mask=None"),
    M("annex.ladder._adamw", "invariant", "a step counted twice", "np.array(t)", "np.array(t + 1)"),
    M("annex.ladder._runs", "invariant", "the last chunk left out",
      "range(0, len(flat[0]), CHUNK)", "range(0, len(flat[0]) - CHUNK + 1, CHUNK)"),
    M("annex.workspace.pack", "invariant", "packed leaves are copies", ".shape), end", ".shape).copy(), end"),
    M("annex.workspace.pack", "invariant", "packed in the order of memory",
      "{name: packed[name] for name in leaves}", "packed"),
    M("annex.ladder._adamw", "invariant", "options of AdamW lost", "part, lr, betas, eps, ", "part, lr, weight_decay="),
    M("annex.ladder._adamw", "invariant", "fused: everything decays", "lr * weight_decay if on else 0", "lr * weight_decay"),
    M("annex.ladder._adamw", "invariant", "fused: no bias correction", "1 - beta**t)", "1)"),
    M("annex.ladder._adamw", "invariant", "fused: t from zero", "t = state[\"t\"].item() + 1", "t = max(state[\"t\"].item(), 1)"),
    M("annex.ladder.training", "invariant", "writes into the parameters that it was given", "_plain(map_tree(np.copy, params)", "_plain(params"),
    M("annex.ladder.training", "invariant", "the decay of the upper rungs forgotten", "1e-8, weight_decay, fused", "1e-8, 0.0, fused"),
    M("annex.ladder._plain", "invariant", "the decay of the lower rungs on every leaf", "mask=mask", "mask=None"),
    M("annex.workspace.passes_of", "invariant", "no fused loops, and not a word", "    if fused and not HAVE_NUMBA:", "    if False:"),
    M("annex.workspace.passes_of", "invariant", "the loops of float32 for float64", "    if fused and dtype != np.float32:", "    if False:"),
    M("annex.fused.begin", "invariant", "sums of the last step kept", "            x.fill(0)", "            pass"),
    M("annex.fused.begin", "invariant", "weight gradients of the last step kept", "    w.first = True\n", "    w.first = False\n"),
    M("annex.fused.backward_", "invariant", "weight gradients of the last piece only", "    w.first = False\n", ""),
    M("annex.fused._add", "invariant", "a weight gradient of the last piece in place of the sum", "    dW += np.matmul(", "    dW[...] = np.matmul("),
    M("annex.fused.prepare", "invariant", "queries, values, keys in one row", 'for name in "qkv"], axis', 'for name in "qvk"], axis'),
    M("annex.fused.finish", "invariant", "their gradients in another order", 'zip("qkv", parts', 'zip("kqv", parts'),
    M("annex.fused.finish", "invariant", "their gradients forgotten", "[...] = part", "[...] = 0"),
    M("annex.fused.forward_", "invariant", "bias of the heads forgotten", "        w.QKV[i] += b_qkv\n", ""),
    M("annex.fused.forward_", "invariant", "scores not divided by √d_k", "ONE / np.float32(math.sqrt(config.d // config.heads))", "ONE"),
    M("annex.fused.backward_", "invariant", "gradients of scores not divided by √d_k", "ONE / np.float32(math.sqrt(config.d // config.heads))", "ONE"),
    M("annex.fused.forward_", "invariant", "every token sees all", "softmax_rows(A.reshape(-1, n), scale, n)", "softmax_rows(A.reshape(-1, n), scale, 0)"),
    M("annex.fused.forward_", "invariant", "b_2 of the block before kept", '        b = block["ff"]["b_2"]\n', ""),
    M("annex.fused.forward_", "invariant", "the words never reach the stream", ", out=Y, mode=", ", mode="),
    M("annex.fused.forward_", "invariant", "relu where gelu was meant", 'relu_rows if config.activation == "relu" else gelu_rows', "relu_rows"),
    M("annex.fused.forward_", "invariant", "places counted over pieces", '["table"][:n]', '["table"][1:n + 1]'),
    M("annex.fused.backward_", "invariant", "dK from the keys", "np.matmul(dS.mT, Q, out=dK)", "np.matmul(dS.mT, K, out=dK)"),
    M("annex.fused.backward_", "invariant", "dV from weights by row", "np.matmul(w.A[i].mT, dZ, out=dV)", "np.matmul(w.A[i], dZ, out=dV)"),
    M("annex.fused.backward_", "invariant", "the stream taken for its gradient", "    dX.fill(0)\n", ""),
    M("annex.fused.backward_", "invariant", "b_o after the norm has joined", '        w.sums[f"{at}.attention.b_o"] += dX.sum(axis=0)\n', ""),
    M("annex.fused.backward_", "invariant", "b_qkv forgotten", '        w.sums[f"{at}.b_qkv"] += w.dQKV.sum(axis=0)\n', ""),
    M("annex.fused.backward_", "invariant", "tied: the words' part forgotten", '    scatter_rows(w.sums["embedding.tokens.E"], ids, dX)\n', ""),
    M("annex.fused.backward_", "invariant", "positions of one sequence only", "config.d).sum(axis=0)", "config.d)[0]"),
    M("annex.fused._norm", "invariant", "ε as it is by default", "np.float32(config.eps)", "np.float32(1e-5)"),
    M("annex.fused.loss_", "invariant", "mean over the piece, not over the batch", "targets, count)", "targets, targets.size)"),
    M("annex.inplace.forward_", "invariant", "every token sees all", "        A += work.future\n", ""),
    M("annex.inplace.forward_", "invariant", "no maximum taken off the scores",
      "        A -= A.max(axis=-2, keepdims=True)\n", ""),
    M("annex.inplace.forward_", "invariant", "maximum over queries", "A.max(axis=-2", "A.max(axis=-1"),
    M("annex.inplace.forward_", "invariant", "weights of a key sum to one",
      "(w.ones[:A.shape[-2]] @ A)[..., None, :]", "A.sum(axis=-1, keepdims=True)"),
    M("annex.inplace.loss_", "invariant", "no maximum taken off the logits", "    S -= S.max(axis=0)\n", ""),
    M("annex.inplace.loss_", "invariant", "mean over the piece, not over the batch",
      "S /= count * Z", "S /= targets.size * Z"),
    M("annex.inplace.loss_", "invariant", "loss of the piece, not its part",
      "at_targets) / count", "at_targets) / targets.size"),
    M("annex.inplace.backward_", "invariant", "softmax backward without the row sum",
      "        dS -= np.vecdot(dZ, Z)[..., None, :]", "        pass"),
    M("annex.inplace.backward_", "invariant", "row sum taken over queries",
      "np.vecdot(dZ, Z)[..., None, :]", "np.vecdot(dZ, Z)[..., :, None]"),
    M("annex.inplace.backward_", "invariant", "dK from the keys",
      "np.matmul(dS, Q, out=dK)", "np.matmul(dS, K, out=dK)"),
    M("annex.inplace._linear_backward", "invariant", "norm: no gradient of the scale", "    g -= X_hat\n", ""),
    M("annex.inplace._linear_backward", "invariant", "norm: not divided by s on the way back", "    g *= w.r[k]\n", ""),
    M("annex.inplace._standardize", "invariant", "ε outside the root",
      "    r += eps\n    np.reciprocal(np.sqrt(r, out=r)", "    np.sqrt(r, out=r)\n    r += eps\n    np.reciprocal(r"),
    M("annex.inplace.backward_", "invariant", "the stream taken for its gradient", "    dX.fill(0)\n", ""),
    M("annex.inplace.forward_", "invariant", "bias behind the heads forgotten", '        X += a["b_o"]\n', ""),
    M("annex.inplace._linear", "invariant", "bias of the maps forgotten", "    Y += folds[k].f\n", ""),
    M("annex.inplace._add", "invariant", "bias gradients averaged",
      "db += w.ones[:len(dY)] @ dY", "db += w.ones[:len(dY)] @ dY / len(dY)"),
    M("annex.inplace._add", "invariant", "weight gradients of the last piece only",
      "    dW += np.matmul(", "    dW[...] = np.matmul("),
    M("annex.inplace.backward_", "invariant", "a repeated word counts once",
      "np.add.reduceat(dX[order], starts, axis=0)", "dX[order][starts]"),
    M("annex.inplace.backward_", "invariant", "words out of order", "np.add.reduceat(dX[order]", "np.add.reduceat(dX"),
    M("annex.inplace.backward_", "invariant", "positions of one sequence only",
      "config.d).sum(axis=0)", "config.d)[0]"),
    M("annex.inplace.activate_", "invariant", "slope of GELU without the inner factor 3",
      "6\n        t -= 4 * TANH_SCALE", "2"),
    M("annex.inplace.activate_", "invariant", "slope of GELU: σ alone", "        s += q", "        pass"),
    M("annex.inplace.activate_", "invariant", "slope of relu everywhere one",
      "np.greater(U, 0, out=slope)", "slope.fill(1)"),
]
WRONG = [wrong for wrong in WRONG if COMPILED or wrong.place != "annex.fused"]
