# ruff: noqa: E501
"""Whole models: slopes, twins, torch's own Transformer, what a token may see, twenty steps of training, and the costs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from byhand import cost, tree
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.np import loss as np_loss
from byhand.np import model as np_model
from byhand.np import optim as np_optim
from byhand.pt import loss as pt_loss
from byhand.pt import model as pt_model
from byhand.pt import optim as pt_optim
from invariants import rng
from mutants import build
from specs.model import BASE, CONFIGS, HEADS, MEMORY, D, N, V, ids_of, kept, options_of, run


def twenty_steps(config, optim=np_optim, module=pt_model):
    """The largest relative difference of losses, of gradients, and of parameters between the halves, in float64."""
    params = init_model(rng(), config, np.float64)
    net = {"encoder": module.Encoder, "decoder": module.Decoder, "encoder_decoder": module.EncoderDecoder}[config.kind]
    net = net(config).double()
    net.load_state_dict(tree.flatten(tree.to_torch(params)))
    optimizer, state, apart = pt_optim.adamw(net, weight_decay=0.1, eps=1e-6), optim.init_state(params), []
    for t in range(1, 21):
        ids, goal = ids_of(config, t), np.random.default_rng(t).integers(0, D if config.kind == "encoder" else V, (2, N))
        out, cache = run(np_model, config, *ids, **options_of(config))(params)
        L, inner = np_loss.cross_entropy_forward(out, goal, 0.1)
        grads = getattr(np_model, f"{config.kind}_backward")(np_loss.cross_entropy_backward(1.0, inner), cache)
        rate = pt_optim.warmup_cosine(t, 3e-3, 5, 20)
        params, state = optim.adamw_step(params, grads, state, rate, eps=1e-6, weight_decay=0.1, mask=optim.decay_mask(params))
        optimizer.zero_grad()
        theirs = pt_loss.cross_entropy(net(*map(torch.tensor, ids), **tree.to_torch(options_of(config))), torch.tensor(goal), 0.1)
        theirs.backward()
        pt_optim.set_lr(optimizer, rate)
        optimizer.step()
        pairs = [(np.asarray(L), theirs.detach())]
        flat, there = tree.flatten(grads), dict(net.named_parameters())
        pairs += [(g, there[name].grad) for name, g in flat.items()]
        pairs += [(p, there[name].detach()) for name, p in tree.flatten(params).items()]
        apart += [np.abs(a - b.numpy()).max() / max(1e-2, np.abs(a).max()) for a, b in pairs if b is not None]
    return max(apart)


TRAINED = [CONFIGS[0], CONFIGS[1], CONFIGS[4], CONFIGS[7], CONFIGS[9]]


@pytest.mark.parametrize("config", TRAINED, ids=lambda c: f"{c.kind}, {c.position}")
def test_both_halves_train_alike_for_twenty_steps(config):
    assert twenty_steps(config) <= 1e-8


@pytest.mark.parametrize("edit", [("c1, c2 = 1 - beta1 ** t.item(), 1 - beta2 ** t.item()\n    m =", "c1, c2 = 1.0, 1.0\n    m ="),
                                  ("pull = lr * weight_decay\n", "pull = weight_decay / 100\n")])
def test_twenty_steps_tell_a_wrong_optimiser(edit):
    assert twenty_steps(CONFIGS[4], build("np.optim", *edit)) > 1e-6


# The costs


class Counting(np.ndarray):
    """An array that counts the multiplications and additions of the matrix products that it takes part in."""

    flops = 0

    def __array_ufunc__(self, ufunc, method, *args, out=None, **options):
        plain = [np.asarray(a) if isinstance(a, Counting) else a for a in args]
        if out is not None:
            options["out"] = tuple(np.asarray(o) for o in out)
        result = getattr(ufunc, method)(*plain, **options)
        if ufunc is np.matmul and result.ndim:  # a scalar is a guard's sum of squares
            Counting.flops += 2 * result.size * plain[0].shape[-1]
        return result.view(Counting) if isinstance(result, np.ndarray) else result


COUNTED = [*CONFIGS, ModelConfig("encoder", **BASE, p=0.1, embedding_norm=True), ModelConfig("encoder_decoder", **BASE, p=0.1),
           ModelConfig("decoder", **BASE, gated=True, rms=True, position="learned", norm_first=False)]


def miscounted(book) -> list:
    """Where the table of costs says otherwise than the arrays do."""
    faults = []
    for config in COUNTED:
        params = init_model(rng(), config)
        sums = book.total(book.costs(config, N, 2, MEMORY if config.kind == "encoder_decoder" else None))
        counting = tree.map_tree(lambda x: x.view(Counting), params)
        Counting.flops = 0
        out, cache = run(np_model, config, *ids_of(config), rng=rng())(counting)
        forward = Counting.flops
        getattr(np_model, f"{config.kind}_backward")(np.asarray(out).view(Counting), cache)
        _, plain = run(np_model, config, *ids_of(config), rng=rng())(params)
        counted = {"parameters": sum(x.size for x in tree.flatten(params).values()), "flops": forward, "cache": kept(plain, params)}
        faults += [(config.kind, name, getattr(sums, name), x) for name, x in counted.items() if getattr(sums, name) != x]
        if Counting.flops != 3 * forward:
            faults.append((config.kind, "backward", 2 * forward, Counting.flops - forward))
    return faults


def test_the_costs_are_what_the_arrays_say(as_shipped):
    assert not miscounted(cost)


@pytest.mark.parametrize("edit", [
    ("2 * d * d + 2 * d * narrow", "4 * d * d"), ("bias * (2 * d + 2 * narrow)", "bias * 4 * d"),
    ("2 * memory * d  #", "2 * tokens * d  #"), ("4 * batch * queries * keys * d", "2 * batch * queries * keys * d"),
    ("batch * config.heads * queries * keys", "batch * queries * keys"), ("3 if config.gated else 2", "2"),
    ("tokens * (config.d + 1)", "tokens * config.d"), ("(5 if config.gated else 3)", "3"),
    ("config.d * (1 if config.rms else 2)", "2 * config.d"), ("(2 * config.max_distance + 1)", "config.max_distance"),
    ('"dropout of the embedding", 0, 0, tokens * config.d', '"dropout of the embedding", 0, 0, 0'),
    ("cache += batch * config.heads", "cache = batch * config.heads"), ("0 if config.tied else", "0 if True else"),
    ("config.vocab if own else 0", "config.vocab"), ("cache += 2 * n * config.d // config.heads", "pass"),
])
def test_a_wrong_cost_is_found(edit, as_shipped):
    assert miscounted(build("cost", *edit))


def test_published_sizes():
    """Parameters as published; BERT without its pooler, which is a head of d² + d."""
    sizes = {"BERT base": 109_482_240 - 768 * 769, "GPT-2": 124_439_808, "LLaMA 7B": 6_738_415_616, "SmolLM2 135M": 134_515_008}
    for name, size in sizes.items():
        assert cost.total(cost.costs(cost.PUBLISHED[name], 8)).parameters == size, name
    gpt2, smol = cost.PUBLISHED["GPT-2"], cost.PUBLISHED["SmolLM2 135M"]
    assert round(cost.flops_per_token(gpt2, 1024) / 1e6) == 855  # the 124 M model at its full context
    halved = cost.flops_per_token(gpt2, 1024) - cost.flops_per_token(gpt2, 1024, causal=True)
    assert halved == 6 * 12 * 768 * 1024
    llama, own = cost.PUBLISHED["LLaMA 7B"], replace(gpt2, tied=False)
    read = sizes["LLaMA 7B"] - 32000 * 4096  # rows of words are looked up, and no product of them is taken
    assert cost.flops_per_token(llama, 8) == 6 * read + 12 * 32 * 4096 * 8
    assert cost.flops_per_token(own, 64) == cost.flops_per_token(gpt2, 64)  # the products are those of the tied one
    assert cost.total([]) == cost.Cost("total", 0, 0, 0)
    assert cost.kv_bytes(gpt2, 1024, 2) == 2 * 12 * 1024 * 768 * 2 and cost.kv_bytes(smol) * 3 == 2 * 30 * 576 * 4
    every = build("cost", 'if config.tied else ("positions", "words")', "")
    assert every.flops_per_token(llama, 8) > cost.flops_per_token(llama, 8), "rows of words counted as products"
    memory = cost.training_bytes(gpt2, 1024)
    assert memory["parameters"] + memory["gradients"] + memory["optimiser"] == 16 * 124_439_808


def test_wrong_costs_are_refused(as_shipped):
    for says, call in {
        "costs: n is 0, expected at least 1": lambda: cost.costs(CONFIGS[0], 0),
        "costs: m is 3 in a model of kind 'decoder', expected None": lambda: cost.costs(CONFIGS[3], 5, 1, 3),
        "costs: m is None in a model of kind 'encoder_decoder', expected the number": lambda: cost.costs(CONFIGS[7], 5),
        "costs: n is 9, expected at most 8, the n_max of the config": lambda: cost.costs(replace(CONFIGS[0], n_max=8), 9),
        "costs: m is 9, expected at most 8, the n_max of the config": lambda: cost.costs(replace(CONFIGS[7], n_max=8), 8, 1, 9),
        "kv_bytes: config.kind is 'encoder', expected decoder or encoder_decoder": lambda: cost.kv_bytes(CONFIGS[0]),
        "costs: config is dict, expected ModelConfig": lambda: cost.costs({"d": 4}, 5),
        "costs: batch is float, expected a whole number": lambda: cost.costs(CONFIGS[0], 5, 2.0),
        "kv_bytes: tokens is -1, expected at least 0": lambda: cost.kv_bytes(CONFIGS[3], -1),
        "kv_bytes: itemsize is 0, expected at least 1": lambda: cost.kv_bytes(CONFIGS[3], 1, 0),
        "training_bytes: config is NoneType, expected ModelConfig": lambda: cost.training_bytes(None, 5),
        "total: rows is int, expected a list": lambda: cost.total(3),
        "init_model: config is dict, expected ModelConfig": lambda: init_model(rng(), {"kind": "decoder"}),
        "init_model: rng is int, expected a NumPy Generator": lambda: init_model(0, CONFIGS[3]),
        "flops_per_token: config.kind is 'encoder', expected decoder": lambda: cost.flops_per_token(CONFIGS[0], 5),
    }.items():
        with pytest.raises((ValueError, TypeError), match=says):
            call()


@pytest.mark.parametrize(("says", "change"), [
    ("d is 9, expected a multiple of 4", {"d": 9}), ("kv_heads is 3, expected a divisor of the 4 heads", {"kv_heads": 3}),
    ("kind is 'gpt', expected one of encoder", {"kind": "gpt"}), ("position is 'sin', expected one of", {"position": "sin"}),
    ("p is 1.0, expected at least 0 and less than 1", {"p": 1.0}), ("layers is 0, expected at least 1", {"layers": 0}),
    ("gated is int, expected bool", {"gated": 1}), ("source_vocab is 9 in a encoder", {"source_vocab": 9}),
    ("segments is 2 in a decoder, expected 0", {"kind": "decoder", "segments": 2}),
    ("d / heads is 3, expected a multiple of 2", {"d": 12, "position": "rope"}), ("d is 15, expected a multiple of 2", {"d": 15, "heads": 5}),
    ("eps is 0, expected a finite number greater than 0", {"eps": 0}),
])
def test_wrong_configs_are_refused(says, change, as_shipped):
    with pytest.raises((ValueError, TypeError), match=f"ModelConfig: {says}"):
        ModelConfig(**{"kind": "encoder", **BASE} | change)


WHOLE = [np.dtype(code) for code in np.typecodes["AllInteger"]]


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_whole_numbers_of_numpy_do_not_overflow(dtype, as_shipped):
    """Every whole dtype counts as Python's int does: 32 layers of width 112 need more than eight bits, and 32."""
    small = {"d": 112, "heads": 8, "layers": 32, "max_distance": 16, "n_max": 100}
    config = ModelConfig("decoder", 32000, **{name: dtype.type(x) for name, x in small.items()}, position="relative")
    assert config == ModelConfig("decoder", 32000, **small, position="relative")
    assert all(type(x) in (int, float, str, bool, type(None)) for x in vars(config).values())
    assert cost.costs(config, dtype.type(100), dtype.type(64)) == cost.costs(config, 100, 64)
    llama, tokens = cost.PUBLISHED["LLaMA 7B"], min(100_000, np.iinfo(dtype).max)
    assert cost.kv_bytes(llama, dtype.type(tokens)) == 2 * 32 * 4096 * tokens * 4
    assert cost.flops_per_token(llama, dtype.type(100)) == cost.flops_per_token(llama, 100)


def test_a_tree_that_is_of_another_config_is_refused_by_name(as_shipped):
    """gated, rms and bias are told by the names in a tree as well: where a config is there, they must be its own."""
    base = {"vocab": V, "d": D, "heads": HEADS, "layers": 2, "n_max": 6}
    configs = {name: ModelConfig("decoder", **base, **{name: not getattr(CONFIGS[3], name)})
               for name in ("gated", "rms", "bias", "tied", "embedding_norm", "norm_first")}
    plain = ModelConfig("decoder", **base)
    for mine in (plain, *configs.values()):
        for theirs in (plain, *configs.values()):
            params = init_model(rng(), theirs)
            for call in (lambda p, c: np_model.decoder_forward(ids_of(plain)[0], p, c),
                         lambda p, c: pt_model.decoder(torch.tensor(ids_of(plain)[0]), tree.to_torch(p), c)):
                if mine.shapes == theirs.shapes:
                    call(params, mine)
                else:
                    with pytest.raises(ValueError, match=r"params.* has .*, expected "):
                        call(params, mine)
