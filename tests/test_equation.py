# ruff: noqa: E501
"""A sign changed in any tagged line that a chapter shows is traced to that very line; what is right breaks nothing."""

import ast
import inspect
import linecache
import re
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from byhand.config import ModelConfig
from byhand.grade import comparison, equation, trace, which_equation
from byhand.grade.equation import Comparison, Equations, Row, tagged_lines
from byhand.grade.trace import Recorder, library, statements
from byhand.grade.values import error_of
from byhand.init import init_classifier, init_model, init_pretrain
from byhand.np import (
    attention,
    block,
    embedding,
    finetune,
    flash,
    generate,
    gradcheck,
    linear,
    loss,
    mask,
    model,
    multihead,
    norm,
    optim,
    position,
    pretrain,
    recurrent,
    residual,
    sample,
    softmax,
    train,
    translate,
    vision,
)
from rewritten import rewritten
from test_book import CHAPTERS, STEMS, definitions, whole

pytestmark = pytest.mark.usefixtures("as_shipped")  # every call is traced, jaxtyping's own too
rng = np.random.default_rng(0)
Q, K, V = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 4)), rng.normal(size=(2, 5, 6))
X = rng.normal(size=(2, 3, 4))
HEAD = {f"{kind}_{name}": rng.normal(size=(4, 5) if kind == "W" else 5) for name in "qkv" for kind in "Wb"}
G, HEADS = rng.normal(size=(2, 4)) + 2, rng.normal(size=(3, 2, 4, 5))
SOME = rng.random((2, 3, 5)) < 0.7
HEAD_SUM = {"U_q": HEADS[0], "U_k": HEADS[1], "V": HEADS[2]}
ALIGN = {"W_q": rng.normal(size=(4, 7)), "W_k": rng.normal(size=(4, 7)), "w": rng.normal(size=7)}
E, IDS = rng.normal(size=(7, 4)), np.array([[1, 2, 3], [4, 1, 0]])
RUNNING = {"mean": G[0], "var": G[1] ** 2}
FEED = {"W_1": rng.normal(size=(4, 9)), "b_1": rng.normal(size=9), "W_2": rng.normal(size=(9, 4)), "b_2": rng.normal(size=4)}
GATED = FEED | {"W_g": rng.normal(size=(4, 9))}


def stirred(tree):
    """Parameters without zeros and ones: a fresh bias or gain would hide a fault."""
    if isinstance(tree, dict):
        return {key: stirred(value) for key, value in tree.items()}
    return tree + 0.3 * np.random.default_rng(tree.size).normal(size=tree.shape)


def heads(kv_heads, **options):
    return stirred(multihead.init_multihead(rng, 4, 2, kv_heads, dtype=np.float64, **options))


def config_of(kind, **options):
    return ModelConfig(kind, **{"vocab": 7, "d": 4, "heads": 2, "layers": 2, "n_max": 8, "position": "learned"} | options)


def of_model(config):
    return stirred(init_model(np.random.default_rng(1), config, np.float64))


DECODER, UNTIED = config_of("decoder"), config_of("decoder", tied=False, norm_first=False, position="sinusoidal")
ENCODER = config_of("encoder", segments=2, embedding_norm=True, tied=False, p=0.2)
BOTH = config_of("encoder_decoder", layers=2)
APART = config_of("encoder_decoder", source_vocab=7, tied=False)
BLOCK = of_model(DECODER)["blocks"]["0"]
CROSSED = of_model(BOTH)["decoder"]["blocks"]["0"]


def sublayer(X):
    return np.tanh(X) * 1.5, X


def sublayer_backward(dF, X):
    return dF * 1.5 * (1 - np.tanh(X) ** 2), {"w": dF.sum(axis=(0, 1))}


def pair(module, name, *arguments, more=(), **options):
    """The forward function with these arguments, and the backward with a random upstream gradient."""
    forward, backward = getattr(module, f"{name}_forward"), getattr(module, f"{name}_backward")
    draws = {"rng": np.random.default_rng(5)} if options.pop("draws", False) else {}
    out, cache = forward(*arguments, **options, **({"rng": np.random.default_rng(5)} if draws else {}))
    return [(forward, arguments, options | draws), (backward, (np.asarray(rng.normal(size=out.shape)), cache, *more), {})]


def decode(config, memory):
    """`_decode_forward` and `_decode_backward`, which chapter 10 shows too."""
    p = of_model(config)
    p = p["decoder"] | {"embedding": p["encoder"]["embedding"]} if memory is not None else p
    args = (IDS, p, p["embedding"], config, None, memory, None, None, None)
    out, cache = model._decode_forward(*args)
    return [(model._decode_forward, args, {}), (model._decode_backward, (rng.normal(size=out.shape), cache), {})]


CALLS = [
    *pair(linear, "matmul", X, rng.normal(size=(2, 4, 5))),
    *pair(linear, "linear", X, HEAD["W_q"], HEAD["b_q"]),
    *pair(linear, "add", X, G[0]), *pair(linear, "gather", E, IDS), *pair(linear, "scatter_add", X, IDS, 7),
    *pair(embedding, "embedding", E, IDS, 2.0), *pair(embedding, "unembed", X, E),
    *pair(embedding, "sgns", E, E[::-1].copy(), np.array([1, 2]), np.array([0, 3]), np.array([[4, 5], [6, 1]])),
    *pair(embedding, "patch_embedding", rng.normal(size=(2, 4, 4, 1)), rng.normal(size=(4, 5)), HEAD["b_q"], 2),
    *pair(position, "add_positions", X, X[0]), *pair(position, "concat_positions", X, rng.normal(size=(3, 2))),
    *pair(position, "learned_positions", E, 3, 1), *pair(position, "relative_bias", rng.normal(size=(2, 5)), 3),
    *pair(recurrent, "rnn", X, {"W_x": HEAD["W_q"], "W_h": rng.normal(size=(5, 5)), "b": HEAD["b_q"]}, rng.normal(size=(2, 5))),
    *pair(recurrent, "conv1d", X, HEADS[:, 0], HEAD["b_q"], 2, causal=True),
    *pair(position, "rope", X), *pair(position, "rope", X, interleaved=False),
    *pair(softmax, "softmax", X, rng.random((2, 3, 4)) < 0.7),
    *pair(softmax, "logsumexp", X), *pair(softmax, "log_softmax", X),
    *pair(attention, "attention", Q, K, V, SOME), *pair(attention, "self_attention", X, HEAD),
    *pair(attention, "additive_attention", Q, K, V, ALIGN), *pair(attention, "kernel_attention", Q, K, V, 0.8),
    *pair(flash, "flash_attention", Q, K, V, SOME, block=2), *pair(norm, "standardize", X), *pair(norm, "layer_norm", X, *G), *pair(norm, "instance_norm", X, *G),
    *pair(norm, "group_norm", X, *G, 2), *pair(norm, "batch_norm", X, *G, RUNNING),
    *pair(norm, "batch_norm", X, *G, RUNNING, training=False), *pair(norm, "rms_norm", X, G[0]),
    *pair(residual, "norm", X, {"gamma": G[0], "beta": G[1]}), *pair(residual, "norm", X, {"gamma": G[0]}),
    *(call for first in (True, False) for stream in (True, False) for call in pair(
        residual, "residual", X, {"gamma": G[0], "beta": G[1]}, sublayer, norm_first=first, residual=stream, alpha=1.3,
        more=(sublayer_backward,))),
    *pair(multihead, "biased_attention", Q, K, V, rng.normal(size=(3, 5))), *pair(multihead, "head_sum", X, HEAD_SUM),
    *pair(multihead, "multihead", X, X, heads(1), 2, 1, None, "rope"), *pair(multihead, "multihead", X, K, heads(2), 2),
    *pair(multihead, "multihead", X, X, heads(2, max_distance=2), 2, None, None, "relative"),
    *(call for name in ("relu", "gelu", "gelu_tanh", "silu") for call in pair(block, "activation", X, name)),
    *pair(block, "feed_forward", X, FEED, "gelu"), *pair(block, "feed_forward", X, GATED, "silu"),
    *pair(block, "dropout", X, 0.4, draws=True), *pair(block, "dropout", X, 0.0, draws=True),
    *pair(block, "block", X, BLOCK, 2), *pair(block, "block", X, CROSSED, 2, None, K, norm_first=False),
    *pair(vision, "patchify", rng.normal(size=(2, 4, 6, 3)), 2), *pair(vision, "unpatchify", rng.normal(size=(2, 6, 12)), 4, 6, 2),
    *pair(vision, "class_token", X, G[0]), *pair(vision, "mean_pool", X, SOME[..., 0]),
    (vision.positions_2d, (2, 3, 8), {}), (vision.attention_rollout, (list(rng.dirichlet(np.ones(4), size=(2, 3, 4))),), {}),
    *pair(loss, "cross_entropy", E[:, :3], np.array([0, 1, 2, 0, 1, 2, 0]), 0.1, 2),
    *pair(model, "stack", X, of_model(DECODER), DECODER, mask.causal_mask(3)),
    *pair(model, "stack", X, of_model(BOTH)["decoder"], BOTH, None, K),
    *pair(model, "decoder", IDS, of_model(DECODER), DECODER), *pair(model, "decoder", IDS, of_model(UNTIED), UNTIED),
    *pair(model, "encoder_decoder", IDS, IDS, of_model(BOTH), BOTH), *pair(model, "encoder_decoder", IDS, IDS, of_model(APART), APART),
    *decode(DECODER, None), *decode(BOTH, K), *decode(UNTIED, None),
]


def of_embed(config):
    """The gradients are of the parameters alone, so a gradient of the output goes in."""
    p, options = of_model(config), {"segments": IDS % 2} if config.segments else {}
    return pair(model, "embed", IDS, p["embedding"], config, **options, draws=True)


CALLS += [*of_embed(ENCODER), *of_embed(UNTIED),
          *pair(model, "encoder", IDS, of_model(ENCODER), ENCODER, segments=IDS % 2, draws=True)]


BERT = config_of("encoder", segments=2)
BATCH = {"ids": np.array([[1, 2, 3], [4, 1, 0]]), "segments": np.array([[0, 1, 1], [0, 0, 1]]), "mask": np.ones((2, 1, 3), bool),
         "targets": np.array([[-1, 2, 5], [-1, -1, 6]]), "labels": np.array([1, 0])}


def of_loss(forward, backward, *arguments):
    """A loss is one number, and so is what comes from above."""
    return [(forward, arguments, {}), (backward, (np.array(1.3), forward(*arguments)[1]), {})]


HEADS_OF_BERT = stirred(init_pretrain(np.random.default_rng(1), BERT, dtype=np.float64))
WRITERS = stirred(init_classifier(np.random.default_rng(1), BERT, 3, dtype=np.float64))
LORA = X, rng.normal(size=(4, 2)), rng.normal(size=(2, 5)), rng.normal(size=(4, 5))
CALLS += [
    *pair(pretrain, "mlm_head", X, HEADS_OF_BERT["mlm"], E), *pair(pretrain, "pool", X, HEADS_OF_BERT["pool"]),
    *pair(pretrain, "classify", X[0], HEADS_OF_BERT["nsp"], 0.3, draws=True),
    *of_loss(pretrain.pretrain_forward, pretrain.pretrain_backward, HEADS_OF_BERT, BATCH, BERT),
    *pair(finetune, "classifier", WRITERS, IDS, BERT),
    *pair(finetune, "lora", *LORA), (finetune.lora_merge, (LORA[3], *LORA[1:3]), {}),
    (pretrain.mask_tokens, (np.random.default_rng(0), np.arange(5, 17).reshape(2, 6), 4, 20, 0.5, (0, 1)), {}),
]


def weight_sum(params, batch, rng):
    """A loss of two parameters, for a training step."""
    return float((params["W"] ** 2).sum()) * batch, {key: 2 * batch * value for key, value in params.items()}, batch


def running(tree):
    """The state of an optimiser under way, at step 3."""
    if isinstance(tree, dict):
        return {key: running(value) for key, value in tree.items()}
    return np.abs(rng.normal(size=tree.shape)) if tree.dtype.kind == "f" else np.asarray(tree + 3)


TREE = {"W": rng.normal(size=(3, 4)), "b": rng.normal(size=4)}
STEP = (TREE, stirred({"W": TREE["W"], "b": TREE["b"]}), running(optim.init_state(TREE)), 0.1)
TINY = ({"W": 1e-6 * TREE["W"]}, {"W": 1e-6 * STEP[1]["W"]}, optim.init_state({"W": TREE["W"]}), 1e-6)  # ε hardly shows beside gradients of size 1
CALLS += [(function, arguments, options) for function, arguments, options in [
    (linear.unbroadcast, (X, (3, 1)), {}),
    (gradcheck.numerical_gradient, (lambda Y: np.sin(Y) * 2, X[0], 1e-5, X[1]), {}),
    (gradcheck.relative_error, (X, X + 1e-3), {}),
    (gradcheck.gradcheck, (lambda X, Y: (X * Y, (X, Y)), lambda dO, cache: (dO * cache[1], dO * X[0]),
                           {"X": X[0], "Y": X[1]}, np.random.default_rng(0)), {}),
    (embedding.cosine_similarity, (E, X[0]), {}),
    (position.frequencies, (6,), {}), (position.sinusoidal_at, (np.arange(5), 6), {}), (position.sinusoidal, (3, 4), {}),
    (position.alibi_slopes, (6,), {}), (position.alibi_slopes, (4,), {}), (position.alibi_bias, (4, 3), {}),
    (position.interleave_permutation, (6,), {}),
    (position._rotate, (X, np.cos(X[..., :2]), np.sin(X[..., :2]), True), {}),
    (softmax.softmax_jacobian, (np.array([0.2, 0.3, 0.5]),), {}),
    (recurrent.rnn_jacobian, (np.tanh(X[0]), rng.normal(size=(4, 4))), {}), (recurrent.receptive_field, (3, (1, 2)), {}),
    (multihead.split_heads, (X, 2), {}), (multihead.merge_heads, (HEADS,), {}),
    (multihead.repeat_heads, (HEADS, 3), {}), (multihead.sum_heads, (rng.normal(size=(2, 6, 3, 5)), 3), {}),
    *((residual.init_std, (scheme, 5, 7, 3), {}) for scheme in ("lecun", "xavier", "he", "gpt2", "residual")),
    (residual.deepnorm, (6, 0), {}), (residual.deepnorm, (0, 6), {}), (residual.deepnorm, (6, 4), {}),
    (mask.causal_mask, (4, 6, 2), {}), (mask.padding_mask, (np.array([2, 4]), 5), {}),
    (mask.combine_masks, (mask.causal_mask(5), mask.padding_mask(np.array([2, 4]), 5)), {}),
    (mask.leak_probe, (lambda X: X[..., ::-1, :].cumsum(axis=-2), X, 2, np.random.default_rng(0)), {}),
    (loss.perplexity, (1.3,), {}), (loss.bits, (1.3, 2.0), {}),
    (optim.sgd_step, STEP, {}), (optim.momentum_step, STEP, {}), (optim.momentum_step, STEP, {"nesterov": True}),
    (optim.rmsprop_step, STEP, {}), (optim.adam_step, STEP, {}), (optim.adam_step, TINY, {}), (optim.adamw_step_, TINY, {}), (optim.adam_l2_step, STEP, {"weight_decay": 0.3}),
    (optim.adamw_step, STEP, {"weight_decay": 0.3}), (optim.adamw_step_, STEP, {"weight_decay": 0.3}),
    (optim.warmup_inverse_sqrt, (30, 8, 20), {}), (optim.warmup_inverse_sqrt, (10, 8, 20), {}),
    (optim.warmup_linear, (30, 0.2, 20, 90), {}), (optim.warmup_cosine, (30, 0.2, 20, 90), {}),
    (optim._ramp, (30, 50), {}), (optim.clip_by_global_norm, (STEP[1], 0.5), {}),
    (train.train_step, (TREE, STEP[2], [2.0, 3.0], weight_sum, 0.1), {"max_norm": 1.0}),
    (sample.temperature, (E, 0.7), {}), (sample.top_k, (E, 4), {}), (sample.top_p, (E * 2, 0.7), {}),
    (sample.sample, (E * 2, rng.random(7)), {}),
    (generate.decode_forward, (np.array([[1, 2, 3], [4, 1, 0], [5, 2, 6]]), of_model(DECODER), DECODER, generate.init_kv(
        of_model(DECODER), DECODER, 3, 5, np.array([0, 1, 2]))), {}),
]]
PAIR_BATCH = translate.batch_pairs([([3, 5, 4], [4, 3]), ([5], [3, 6, 4])], 0, 1, 2)
CALLS += [*pair(translate, "translation_loss", of_model(BOTH), PAIR_BATCH, BOTH, 0.1),
          (translate.shift_right, (IDS, 6), {}), (translate.length_penalty, (7, 0.6), {})]
SHOWN = {name: node for path in CHAPTERS for name, node in definitions(whole(path)).items()
         if name in library() and (name.endswith(("_forward", "_backward")) or tagged_lines(library()[name]))
         and library()[name].__module__.split(".")[-1] in STEMS[path.name[:2]]}


def label(call):
    kinds = [x for x in (*call[1], *call[2].values()) if isinstance(x, str)]
    return "-".join([call[0].__name__, *kinds])


def rebuilt(function, source, file="<cell>"):
    """The function made from other source, under its own name, as a notebook's cell would make it."""
    space = dict(vars(inspect.getmodule(inspect.unwrap(function)))) | {"_flip": flip, "flipped": []}
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)  # as IPython does
    exec(compile(source, file, "exec"), space)
    return space[inspect.unwrap(function).__name__]


def text_of(function):
    return textwrap.dedent(inspect.getsource(inspect.unwrap(function)))


def changed(function, *edits, **options):
    """The library's function with some text replaced; each old text must be there once."""
    source = text_of(function)
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return rebuilt(function, source, **options)


FLIPPED = []  # whether the last change did anything


def flip(x, i=None):
    """−1.25 x, or the tuple x with its i-th entry changed."""
    if i is not None:
        return tuple(flip(y) if i == j else y for j, y in enumerate(x))
    if isinstance(x, dict):
        return {key: flip(value) for key, value in x.items()}
    if type(x) is tuple and all(isinstance(y, float) for y in x):
        return tuple(flip(y) for y in x)
    if type(x) is int:
        FLIPPED.append(True)
        return x + 1
    if isinstance(x, np.ndarray) and x.dtype.kind in "bi" and x.ndim:
        FLIPPED.append(True)
        return ~x if x.dtype.kind == "b" else x[::-1]
    if isinstance(x, np.ndarray | np.floating | float) and np.asarray(x).dtype.kind == "f" and np.abs(x).max() > 1e-9:
        FLIPPED.append(True)
        return -1.25 * x
    return x


def flips(function):
    """(source, statement, symbol) with the sign of one value of one tagged statement changed."""
    code = inspect.unwrap(function).__code__
    for statement in dict.fromkeys(statements(code).values()):
        if not statement.tags:
            continue
        first = statement.first - code.co_firstlineno + 1
        place = next(i for i, n in enumerate(ast.walk(ast.parse(text_of(function)))) if isinstance(n, ast.stmt) and n.lineno == first
                     and not isinstance(n, ast.FunctionDef) and not getattr(n, "body", None))
        node = list(ast.walk(ast.parse(text_of(function))))[place]
        if isinstance(node, ast.Expr):
            continue
        target = getattr(node, "target", None) or (node.targets[0] if isinstance(node, ast.Assign) else None)
        several = target.elts if isinstance(target, ast.Tuple) else None
        if isinstance(node, ast.Return):
            several = [None] * len(node.value.elts) if isinstance(node.value, ast.Tuple) else [None] if delegates(node) else None
        for i, each in enumerate(several or [target]):
            tree = ast.parse(text_of(function))
            new = list(ast.walk(tree))[place]
            where = [ast.Constant(i)] if several else []
            new.value = ast.Call(ast.Name("_flip", ast.Load()), [new.value, *where], [])
            symbol = "result" if isinstance(node, ast.Return) else ast.unparse(each).replace("'", '"')
            if symbol != "_":
                yield ast.unparse(ast.fix_missing_locations(tree)), statement, symbol


def delegates(node):
    """Whether a return hands on a tuple that another function gives."""
    return isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") in SEVERAL


SEVERAL = {"add_forward", "add_backward", "gather_forward", "group_norm_backward", "layer_norm_forward",
           "rms_norm_forward", "_decode_forward"}


def faults(call):
    """The changes of this call that are not named by their own line."""
    function, arguments, options = call
    wrong, tried = [], 0
    for source, statement, symbol in flips(function):
        FLIPPED.clear()
        found = which_equation(rebuilt(function, source), *arguments, **options)
        if not FLIPPED:
            continue
        tried += 1
        row = found.broken
        if row is None and any(row.note.startswith("another quantity") and row.symbol == symbol for row in found.rows):
            continue  # a factor that is divided out again: the function is right
        good = row is not None and (
            row.tag in statement.tags or row.symbol.endswith("as returned") if symbol == "result" else
            row.tag in statement.tags and statement.first <= row.line <= statement.last
            and row.symbol.split("[")[0] == symbol.split("[")[0])
        if not good:
            wrong.append(f"({', '.join(statement.tags)}) {symbol}: {found!r}")
    return wrong, tried


@pytest.mark.parametrize("call", CALLS, ids=label)
def test_what_a_chapter_shows_breaks_no_equation(call):
    function, arguments, options = call
    name = inspect.unwrap(function).__name__
    found = which_equation(rebuilt(function, ast.unparse(SHOWN[name])), *arguments, **options)
    assert found.first is None and "Every equation holds." in repr(found) and not found.remarks
    assert found.rows and all(row.error is not None and row.error < 1e-9 for row in found.rows)


@pytest.mark.parametrize("call", CALLS, ids=label)
def test_a_changed_sign_is_named_by_its_own_equation(call):
    wrong, tried = faults(call)
    assert not wrong and tried


def test_every_forward_and_backward_of_a_chapter_is_tried():
    assert {inspect.unwrap(call[0]).__name__ for call in CALLS} == SHOWN.keys() and len(SHOWN) > 115


def test_every_tagged_line_is_executed_by_some_call():
    """So that no branch is left out; and every forward and backward has a tag."""
    executed, lines = set(), set()
    for function, arguments, options in CALLS:
        own = inspect.unwrap(function)
        code = own.__code__
        lines |= {(own.__name__, s.first) for s in statements(code).values() if s.tags}
        recorder = Recorder(code, lambda code: False)
        recorder.run(function, *equation._copies((arguments, options), {}))
        top = recorder.top
        for line in {s.line for s in top.steps} | {top.line}:
            executed.add((own.__name__, statements(code)[line].first if line in statements(code) else line))
    assert not lines - executed
    assert all(tagged_lines(library()[name]) for name in SHOWN)


def call_of(name, i=0):
    """The arguments of the i-th call of that name."""
    return [(a, o) for f, a, o in CALLS if inspect.unwrap(f).__name__ == name][i]


# Faults of many kinds: function (and which of its calls), old and new text, the tag and the symbol to be named.
FAULTS = [
    # the value of a line
    ("linear_backward", 0, "dW = rows.mT @ drows", "dW = -rows.mT @ drows", "0.20", "dW"),
    ("linear_backward", 0, "drows.sum(axis=0)", "drows.mean(axis=0)", "0.20", "db"),
    ("linear_backward", 0, "(drows @ W.mT)", "(drows @ W.mT * 2)", "0.20", "dX"),
    ("linear_forward", 0, "Y += b", "Y -= b", "0.1", "Y"),
    ("matmul_backward", 0, "X.mT @ dZ", "(X.mT @ dZ)[:, ::-1]", "0.18", "dY"),
    ("attention_forward", 0, "scale * (Q @ K.mT)", "(Q @ K.mT)", "4.5", "S"),
    ("attention_forward", 0, "softmax_forward(S, mask)", "softmax_forward(S)", "4.6", "A"),
    ("attention_backward", 0, "dQ = scale * (dS @ K)", "dQ = dS @ K", "4.28", "dQ"),
    ("attention_backward", 0, "    dA = dO @ V.mT  # (4.26)\n", "    dA = dO @ V.mT\n    dA /= 2\n", "4.26", "dA"),
    ("attention_backward", 0, "softmax_backward(dA, SoftmaxCache(A))", "A * dA", "4.27", "dS"),
    ("attention_backward", 0, "A.mT @ dO", "dO.mT @ A", "4.25", "dV"),
    ("self_attention_backward", 0, "dX = dX + part", "dX = part", "4.31", "dX"),
    ("self_attention_backward", 0, 'grads[f"W_{name}"] = dW', 'grads[f"W_{name}"] = -dW', "4.31", 'grads["W_q"]'),
    ("softmax_forward", 0, "np.where(mask, S, -np.inf)", "np.where(mask, S, 0)", "4.36", "S"),
    ("softmax_backward", 0, "A * (dA - (A * dA)", "A * (dA + (A * dA)", "4.21", "result"),
    ("softmax_backward", 0, "axis=-1", "axis=-2", "4.21", "result"),
    ("layer_norm_backward", 0, "g = gamma * dY", "g = dY", "6.7", "g"),
    ("layer_norm_backward", 0, " - X_hat * (g * X_hat).mean(axis=-1, keepdims=True)", "", "6.14", "dX"),
    ("layer_norm_backward", 0, "_sum_tokens(dY)", "_sum_tokens(dY) / 2", "6.7", "dbeta"),
    ("layer_norm_backward", 0, "_sum_tokens(dY * X_hat)", "_sum_tokens(g * X_hat)", "6.7", "dgamma"),
    ("rms_norm_forward", 0, "+ eps)", ")", "6.25", "r"),
    ("batch_norm_backward", 1, "g / standard.s", "g * standard.s", "6.24", "dX"),
    ("standardize_forward", 0, "- X.mean(axis=axes, keepdims=True)", "", "6.1", "centred"),
    ("rope_backward", 0, "-cache.sin", "cache.sin", "3.31", "result"),
    ("relative_bias_backward", 0, "dtable.mT", "-dtable.mT", "3.24", "result"),
    ("adam_step", 1, "(np.sqrt(v / c2) + eps)", "np.sqrt(v / c2 + eps)", "11.24", 'params["W"]'),
    ("adam_step", 1, "(np.sqrt(v / c2) + eps)", "np.sqrt(v / c2)", "11.24", 'params["W"]'),
    ("flash_attention_backward", 0, "                dS -= D\n", "", "16.12", "dS"),
    ("flash_attention_backward", 0, "                dS -= D\n                dS *= A", "                dS *= A\n                dS -= D", "16.12", "dS"),
    ("flash_attention_backward", 0, "V[head][cols], g.mT", "V[head][cols], -g.mT", "16.11", "dS"),
    ("flash_attention_backward", 0, "+= A @ g", "+= A @ -g", "16.10", "dV"),
    ("cross_entropy_backward", 0, "1 - smoothing + rest", "1 - smoothing", "11.7", "Q"),
    ("cross_entropy_backward", 0, "(A - Q)", "(Q - A)", "11.5", "result"),
    ("multihead_backward", 0, "rope_backward(dQ, turn[0])", "dQ", "5.25", "dQ"),
    ("multihead_backward", 0, "dX, dM_k + dM_v", "dX, dM_k", "5.20", "result[1]"),
    ("multihead_forward", 0, "repeat_heads(K, heads // kv_heads)", "-repeat_heads(K, heads // kv_heads)", "5.26", "K"),
    # one branch of several
    ("feed_forward_backward", 1, "linear_backward(dH * G, up)", "linear_backward(dH * U, up)", "9.18", "dX_up"),
    ("feed_forward_forward", 1, "G * U if gate", "U if gate", "9.17", "Y"),
    ("feed_forward_forward", 0, " if gate else G", " if gate else 2 * G", "9.10", "Y"),
    ("activation_backward", 3, "slope = S * (1 - S)  # (9.5)", "slope = S * (1 + S)  # (9.5)", "9.5", "slope"),
    ("activation_backward", 1, "S + X * slope", "S - X * slope", "9.3", "result"),
    ("residual_backward", 3, "cache.alpha * dS + dX if cache.residual else dX", "-dX", "7.13", "dX, as returned"),
    ("residual_backward", 1, "if cache.residual else dX), dnorm, grads  # (7.11)", "if cache.residual else -dX), dnorm, grads  # (7.11)", "7.14", "dX"),
    # a loop, a tree
    ("stack_backward", 1, "else dM + dM_i", "else dM_i", "10.22", "dM"),
    ("_decode_backward", 0, "+= dE", "+= 0 * dE", "10.19", 'dembedding["tokens"]["E"]'),
    ("embed_backward", 0, '"table": gather_backward', '"table": -gather_backward', "10.12", 'grads["positions"]["table"]'),
    # what was never named
    ("feed_forward_backward", 1, "    dX = dX_up + dX_gate", "    return dX_up - dX_gate, grads", "9.20", "dX"),
    ("linear_backward", 0, "    dX = (drows", "    return -(drows @ W.mT).reshape(X.shape), rows.mT @ drows, drows.sum(axis=0)\n    dX = (drows", "0.20", "dX"),
    # another function written out
    ("instance_norm_backward", 0, "    return group_norm_backward(dY, cache)",
     "    standard, X_hat, gamma = cache\n    g = dY\n    dX = standardize_backward(g, standard)\n"
     "    return dX, (dY * X_hat).sum(axis=(0, 1)), dY.sum(axis=(0, 1))", "6.7", "g"),
    # the return
    ("linear_backward", 0, "    return dX, dW, db", "", "0.20", "result"),
    ("linear_backward", 0, "return dX, dW, db", "return dX, -dW, db", "0.20", "dW, as returned"),
    ("attention_backward", 0, "return dQ, dK, dV", "return dQ, dV, dK", "4.29", "dK, as returned"),
    # a line that raises
    ("linear_backward", 0, "rows.mT @ drows", "rows @ drows", "0.20", "dW"),
    ("attention_backward", 0, "dS = softmax", "dS = sotfmax", "4.27", "dS"),
    ("softmax_backward", 0, "cache.A", "cache.B", "4.21", "result"),
    # what it was given is written into
    ("linear_backward", 0, "    rows, drows = X", "    dY *= 2\n    rows, drows = X", "0.20", "dX"),
    ("softmax_backward", 0, "A = cache.A", "A = cache.A\n    A *= 0.5", "4.21", "result"),
]


def verdict(fault):
    name, i, old, new, *_ = fault
    arguments, options = call_of(name, i)
    found = which_equation(changed(library()[name], old, new), *arguments, **options)
    return found.first, found.symbol


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f[0]}-{f[4]}-{f[5]}")
def test_a_fault_is_named(fault):
    assert verdict(fault) == fault[4:]


# Wrong ways to find the equation, kept: the faults above, or what is right, catch each.


def last(self):
    return next((row for row in reversed(self.rows) if row.broken), None)


def most(self):
    return max((row for row in self.rows if row.broken), key=lambda row: row.error, default=None)


def final_values(self, theirs, mine):
    """Compare only the last value of each variable."""
    end = {s.symbol: s for s in mine}
    return {id(s): end[s.symbol] for s in theirs if s.symbol in end}


def names_at(function, **local):
    """Names that the frame of a function would be seen with, had it these values."""
    traced = SimpleNamespace(inner=trace.comprehended(function.__code__))
    return [name for name, _ in trace._Frame._leaves(traced, SimpleNamespace(f_locals=local))]


def test_a_name_of_a_comprehension_is_none_of_the_function(monkeypatch):
    """From Python 3.12 on a frame shows the variables of a comprehension while it runs."""
    def shown(X, g):
        total = {k: sum(v * g for g in X) for k, v in {"a": X[0]}.items()}
        j = [last := x for x in X][0]
        return total, j, last

    assert names_at(shown, X=1.0, g=2.0, j=3.0, last=4.0, k=5.0, v=6.0, x=7.0) == ["X", "g", "j", "last"]
    monkeypatch.setattr(trace, "comprehended", lambda code: frozenset())  # as it was
    assert names_at(shown, X=1.0, k=5.0) == ["X", "k"]


WRONG = {
    "the last one that differs": (Equations, "broken", property(last)),
    "the one that differs most": (Equations, "broken", property(most)),
    "NaN counts as equal": (Row, "broken", property(lambda row: bool((row.error or 0) > 1e-9))),
    "only the final values": (Comparison, "align", final_values),
    "the first tag of a line, whatever the branch": (trace, "_chosen", lambda statement, frame: statement.tags),
    "one tag for all the names of a line": (trace, "_targets", lambda node: []),
    "nothing that is returned": (Comparison, "returned", lambda self, theirs, mine, steps, found, function: found),
    "calls are not followed": (Comparison, "entries", lambda self, theirs, mine: iter(theirs.steps)),
    "both get the same arrays": (equation, "_copies", lambda x, space: x),
    "arrays are not kept as they were": (trace, "frozen", lambda x: x),
    "a line that raises is nothing": (Comparison, "raising", lambda self: ("nothing",)),
    "a tagged line may go without a partner, as any": (comparison, "_match", rewritten(
        Path(comparison.__file__), "0.65 if s.tags else 0.6", "0.6", real=comparison)._match),
    "any name will do": (Comparison, "align", lambda self, theirs, mine: {
        id(s): next((m for m in mine if error_of(m.value, s.value) < 1e-9), mine[-1]) for s in theirs if mine}),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_way_is_caught(name, monkeypatch):
    if name == "NaN counts as equal":
        assert Row("4.1", "A", float("nan")).broken
        monkeypatch.setattr(*WRONG[name])
        assert not Row("4.1", "A", float("nan")).broken  # and so it would let NaN pass
        return
    trace.statements.cache_clear()
    monkeypatch.setattr(*WRONG[name])
    try:
        assert any(missed(fault) for fault in [*RIGHT, *FAULTS[::-1]])
    finally:
        monkeypatch.undo()
        trace.statements.cache_clear()


def missed(fault):
    try:
        return verdict(fault) != fault[4:]
    except Exception:
        return True


# Other ways to write a function, that are right: nothing is to be blamed.
RIGHT = [
    ("attention_backward", 0, "dV = A.mT @ dO", "dV = np.einsum('bij,bic->bjc', A, dO)", None, None),
    ("attention_backward", 0, "dA = dO @ V.mT", "dA = (V @ dO.mT).mT", None, None),
    ("attention_backward", 0, "    dS = softmax_backward(dA, SoftmaxCache(A))",
     "    dS = dA - (A * dA).sum(axis=-1, keepdims=True)\n    dS *= A", None, None),
    ("attention_backward", 0, "    dS = softmax_backward(dA, SoftmaxCache(A))", "    dP = dA\n    dS = softmax_backward(dP, SoftmaxCache(A))", None, None),
    ("attention_backward", 0, "    dQ = scale * (dS @ K)  # (4.28)\n    dK = scale * (dS.mT @ Q)", "    dS = dS * scale\n    dQ = dS @ K\n    dK = dS.mT @ Q", None, None),
    ("feed_forward_backward", 1, "        dX = dX_up + dX_gate", "        dX = dX_up\n        dX += dX_gate", None, None),
    ("feed_forward_backward", 1, "        dX = dX_up + dX_gate", "        return dX_up + dX_gate, {k: g for k, g in grads.items() if g is not None}", None, None),
    ("self_attention_backward", 0, "    dX, grads = 0, {}", "    dX, grads = 0.0, {}", None, None),
    ("linear_backward", 0, "    return dX, dW, db", "    return [dX, dW, db]", None, None),
    ("softmax_forward", 0, "np.where(top == -np.inf, 0, top)", "0", None, None),
    ("linear_backward", 0, "    dX = (drows", "    drows, X = drows.copy(), X.copy()\n    dX = (drows", None, None),
    ("instance_norm_backward", 0, "    return group_norm_backward(dY, cache)",
     "    standard, X_hat, gamma = cache\n    g = gamma * dY\n    dX = standardize_backward(g, standard)\n"
     "    return dX, (dY * X_hat).sum(axis=(0, 1)), dY.sum(axis=(0, 1))", None, None),
]


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case[3][:40].strip())
def test_another_way_to_write_it_breaks_nothing(case):
    assert verdict(case) == (None, None)


def test_a_call_of_ones_own_is_followed_and_its_line_is_blamed():
    """A chapter's cells call each other: what is wrong in the one that is called is not the caller's."""
    arguments, options = call_of("instance_norm_backward")
    inner = changed(norm.group_norm_backward, "g = gamma * dY", "g = 0.5 * dY * gamma", file="<inner>")
    outer = rebuilt(norm.instance_norm_backward, text_of(norm.instance_norm_backward), file="<outer>")
    inspect.unwrap(outer).__globals__["group_norm_backward"] = inner
    found = which_equation(outer, *arguments, **options)
    assert (found.first, found.symbol, found.broken.function) == ("6.7", "g", "group_norm_backward")
    assert "  in group_norm_backward:\n" in repr(found)
    outer = changed(norm.instance_norm_backward, "(dY, cache)", "(-dY, cache)", file="<outer>")
    inspect.unwrap(outer).__globals__["group_norm_backward"] = rebuilt(
        norm.group_norm_backward, text_of(norm.group_norm_backward), file="<inner>")
    found = which_equation(outer, *arguments, **options)
    assert found.broken.function == "instance_norm_backward" and found.first in ("6.14", "6.7")


def test_a_function_inlined_is_compared_under_its_own_names():
    arguments, options = call_of("instance_norm_backward")
    name, _, old, new, *_ = RIGHT[-1]
    found = which_equation(changed(library()[name], old, new.replace("gamma * dY", "dY")), *arguments, **options)
    assert (found.first, found.symbol) == ("6.7", "g")
    found = which_equation(changed(library()[name], old, new.replace("(g, standard)", "(-g, standard)")), *arguments)
    assert (found.first, found.symbol) == ("6.14", "dX")


def test_a_branch_that_did_not_run_is_not_named():
    arguments, _ = call_of("feed_forward_backward", 1)
    wrong = changed(block.feed_forward_backward, "dH * G, up", "dH * U, up", "dH * U, activation", "dH * G, activation")
    found = which_equation(wrong, *arguments)
    assert found.first == "9.18" and "9.13" not in {tag for row in found.rows for tag in row.tags}
    for i, (_, own) in enumerate([("relu", {"9.3"}), ("gelu", {"9.4", "9.3"}), ("gelu_tanh", {"9.6", "9.3"}), ("silu", {"9.5", "9.3"})]):
        found = which_equation(block.activation_backward, *call_of("activation_backward", i)[0])
        assert {row.tag for row in found.rows} == own


def test_what_is_said():
    (dY, cache), _ = call_of("linear_backward")
    wrong = changed(linear.linear_backward, "dW = rows.mT @ drows", "dW = -rows.mT @ drows")
    assert repr(which_equation(wrong, dY, cache)).splitlines() == [
        "linear_backward", "  (0.20)  dX      holds", "  (0.20)  dW      off by 2", "  (0.20)  db      holds",
        "The first that does not hold is (0.20), dW."]
    found = which_equation(changed(linear.linear_backward, "    return dX, dW, db", ""), dY, cache)
    assert "linear_backward returns None: is its return missing?" in found.remarks
    found = which_equation(changed(linear.linear_backward, "return dX, dW, db", "return dX, dW"), dY, cache)
    assert "linear_backward returns 2 values, the library's 3." in found.remarks and found.symbol == "db, as returned"
    found = which_equation(changed(linear.linear_backward, "rows.mT @ drows", "rows @ drows"), dY, cache)
    assert found.remarks[0].startswith("Line 9 of linear_backward, `dW = rows @ drows  # (0.20)`, raised ValueError: ")
    assert "(0.20)  dX      holds\n" in repr(found) and "(0.20)  db      not reached" in repr(found)
    before = dY.copy()
    found = which_equation(changed(linear.linear_backward, "    rows, drows", "    dY *= 2\n    rows, drows"), dY, cache)
    assert "It writes into its argument dY." in found.remarks and np.array_equal(dY, before)
    assert "inf" not in repr(found)


def test_columns_align_and_lines_fit():
    for fault in FAULTS:
        arguments, options = call_of(*fault[:2])
        lines = repr(which_equation(changed(library()[fault[0]], *fault[2:4]), *arguments, **options)).splitlines()
        rows = [line for line in lines if re.match(r"  \(\d", line)]
        starts = {len(re.match(r"  (?:\(\d+\.\d+\)(?:, )?)+ +", line)[0]) for line in rows}
        assert len(starts) == 1 and max(map(len, lines)) <= 79, lines


def test_a_function_of_another_name():
    (dY, cache), _ = call_of("stack_backward", 1)

    def only_last(dY, cache):
        grads, dM, blocks = {}, None, {}
        if cache.norm is not None:
            dY, grads["norm"] = residual.norm_backward(dY, cache.norm)
        for i in reversed(range(len(cache.blocks))):
            dY, dM_i, blocks[str(i)] = block.block_backward(dY, cache.blocks[i])
            dM = dM_i if dM is None else dM
        return dY, dM, grads | {"blocks": blocks}

    found = which_equation(only_last, dY, cache, of="stack_backward")
    assert (found.first, found.symbol) == ("10.22", "dM") and repr(found).startswith("stack_backward\n")
    with pytest.raises(ValueError, match=r'only_last, expected the name of a function of byhand.np; say .* of="linear_'):
        which_equation(only_last, dY, cache)
    with pytest.raises(ValueError, match="stack_bakward, .*; is stack_backward meant"):
        which_equation(only_last, dY, cache, of="stack_bakward")


def test_it_works_without_the_text_of_the_function():
    (dY, cache), _ = call_of("attention_backward")
    space = dict(vars(attention))
    exec(compile(text_of(attention.attention_backward).replace("dA = dO @", "dA = -dO @"), "<nowhere>", "exec"), space)
    found = which_equation(space["attention_backward"], dY, cache)
    assert (found.first, found.symbol) == ("4.26", "dA")


def test_random_numbers_are_the_same_for_both():
    generator = np.random.default_rng(3)
    state = generator.bit_generator.state
    source = text_of(block.dropout_forward)
    assert which_equation(rebuilt(block.dropout_forward, source), X, 0.4, generator).first is None
    assert generator.bit_generator.state == state


def test_a_cache_of_ones_own_classes_is_understood():
    """A chapter builds its caches itself; the library's `isinstance` must know them, and the other way round."""
    kind = type(multihead.MultiheadCache.__name__, (multihead.MultiheadCache,), {})
    (dO, cache), _ = call_of("multihead_backward", 2)
    copied = equation._copies((dO, {"of": kind(*cache)}), vars(multihead))[1]["of"]
    assert type(copied) is multihead.MultiheadCache and type(equation._copies(cache, {"MultiheadCache": kind})) is kind
    assert copied.q.X is not cache.q.X and np.array_equal(copied.q.X, cache.q.X)


def test_wrong_use_is_refused():
    def nobody_knows_me():
        return None

    with pytest.raises(ValueError, match="which_equation: function is nobody_knows_me, expected the name of a"):
        which_equation(nobody_knows_me)
    with pytest.raises(ValueError, match="no line of init_linear has the tag of an equation"):
        def init_linear(rng, d_in, d_out):
            return d_in

        which_equation(init_linear, np.random.default_rng(0), 3, 2)


def test_the_tracer_of_a_debugger_is_put_back():
    before = sys.gettrace()
    which_equation(linear.linear_backward, *call_of("linear_backward")[0])
    which_equation(changed(linear.linear_backward, "rows.mT @ drows", "rows @ drows"), *call_of("linear_backward")[0])
    assert sys.gettrace() is before and error_of(np.float64(2), np.float64(1)) == 1


def test_the_caches_of_many_blocks_are_compared_one_by_one():
    """A model's cache holds a list; a block that is off is seen in it."""
    config = config_of("decoder")
    params, ids = of_model(config), np.array([[1, 2, 3]])
    assert which_equation(model.decoder_forward, ids, params, config).first is None
    wrong = changed(model.decoder_forward, "_decode_forward(ids, params,",
                    "_decode_forward(ids, params | {'blocks': dict.fromkeys('01', params['blocks']['0'])},")
    assert which_equation(wrong, ids, params, config).first == "10.16"
