# ruff: noqa: E501
"""Whole models: slopes, twins, torch's own Transformer, what a token may see, twenty steps of training, and the costs."""

import warnings
from dataclasses import replace

import numpy as np
import torch
from byhand import tree
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.np import model as np_model
from byhand.np.mask import padding_mask
from byhand.pt import model as pt_model
from invariants import every_part_counts, near, normal, raises, rng, same
from mutants import M
from proofs import refusals
from specs.block import each_is_there, filled, laid_out
from specs.multihead import read, write
from twins import FORWARD, GRADIENT, SLOPE, directions

V, D, N, MEMORY, HEADS = 7, 8, 5, 4, 4
BASE = {"vocab": V, "d": D, "heads": HEADS, "layers": 2, "d_ff": 6, "n_max": 6}
CONFIGS = [
    ModelConfig("encoder", **BASE, position="learned", norm_first=False, embedding_norm=True, segments=2, activation="relu"),
    ModelConfig("encoder", **BASE, position="relative", max_distance=2, gated=True, activation="silu", scale_embedding=True),
    ModelConfig("encoder", **BASE, position="none", residual=False, segments=3, eps=0.1),
    ModelConfig("decoder", **BASE, tied=False, kv_heads=2, activation="gelu_tanh", alpha=1.3),
    ModelConfig("decoder", **BASE, position="rope_half", rms=True, bias=False, gated=True, activation="silu", kv_heads=1),
    ModelConfig("decoder", **BASE, position="rope", rope_theta=30.0, norm_first=False, scale_embedding=True),
    ModelConfig("decoder", **BASE, position="alibi", embedding_norm=True, rms=True, bias=False),
    ModelConfig("encoder_decoder", **BASE, scale_embedding=True, rope_theta=100.0),
    ModelConfig("encoder_decoder", **BASE, source_vocab=9, position="learned", norm_first=False, tied=False),
    ModelConfig("encoder_decoder", **BASE, source_vocab=9, position="relative", max_distance=1, kv_heads=2, embedding_norm=True),
]
FULL = [0, 3, 7, 8]  # of these every leaf is tried by its slope


def ids_of(config, seed=0):
    """Two sequences of ids for each argument of the model, and a mask for what is padded."""
    draw = np.random.default_rng(seed)
    if config.kind == "encoder_decoder":
        return (draw.integers(0, config.source_vocab or V, (2, MEMORY)), draw.integers(0, V, (2, N)))
    return (draw.integers(0, V, (2, N)),)


def options_of(config):
    mask = padding_mask(np.array([3, 4]), MEMORY if config.kind == "encoder_decoder" else N)
    name = "source_mask" if config.kind == "encoder_decoder" else "mask"
    some = {"segments": np.array([[0, 0, 1, 1, 0], [1, 0, 0, 1, 1]])} if config.segments else {}
    return {name: mask} | some


def places_of(config):
    """Positions for each argument that holds ids, other ones for each sequence."""
    names = ("source_positions", "target_positions") if config.kind == "encoder_decoder" else ("positions",)
    return {name: np.random.default_rng(i).integers(0, 6, ids.shape) for i, (name, ids) in enumerate(zip(names, ids_of(config), strict=True))}


def half(module):
    return module.__name__.split(".")[-2]


def run(module, config, *ids, **options):
    """params → (output, cache) of a model of the NumPy half."""
    forward = getattr(module, f"{config.kind}_forward")
    return lambda params: forward(*ids, params, config, **options)


def gradients_are_slopes(module):
    """Of every leaf, in one layer, with and without dropout; the twins compare two layers."""
    for config in (*(CONFIGS[i] for i in FULL), ModelConfig("encoder_decoder", **BASE, p=0.3, position="learned")):
        config = replace(config, layers=1)
        params = filled(init_model(rng(), config, np.float64), rng())

        def forward(params, config=config):
            chance = rng() if config.p else None
            return run(module, config, *ids_of(config), rng=chance, **options_of(config), **places_of(config))(params)

        errors = directions(forward, getattr(module, f"{config.kind}_backward"), {"params": params}, rng())
        assert max(errors.values()) < SLOPE, (config.kind, errors)


def twins_agree(module):
    """Output and every gradient of every config, in both halves; of every second one with positions."""
    here = half(module)
    for i, config in enumerate(CONFIGS):
        params, options = filled(init_model(rng(), config, np.float64), rng()), options_of(config)
        options |= places_of(config) if i % 2 else {}
        a, b = (module if here == h else m for h, m in (("np", np_model), ("pt", pt_model)))
        out, cache = run(a, config, *ids_of(config), **options)(params)
        dOut = normal(*out.shape)
        grads = tree.flatten(getattr(a, f"{config.kind}_backward")(dOut, cache))
        leaves = tree.map_tree(lambda x: x.requires_grad_(), tree.to_torch(params))
        twin = getattr(b, config.kind)(*map(torch.tensor, ids_of(config)), leaves, config, **tree.to_torch(options))
        near(out, twin.detach(), f"{config.kind}, {config.position}", FORWARD)
        twin.backward(torch.tensor(dOut))
        for name, p in tree.flatten(leaves).items():
            if p.grad is not None:
                near(grads[name], p.grad, f"d{name} of {config.kind}, {config.position}", GRADIENT)


def no_token_sees_a_later_one(module):
    """A later target token changes nothing before it, to the last bit; every source token is seen by every target."""
    for config in CONFIGS[3:]:
        params = filled(init_model(rng(), config, np.float64), rng())
        logits = lambda *ids, config=config, params=params: answer(module, config, params, *ids)  # noqa: E731
        *source, target = ids_of(config)
        other = target.copy()
        other[:, 3] = (other[:, 3] + 1) % V
        a, b = logits(*source, target), logits(*source, other)
        same(a[:, :3], b[:, :3], "tokens before the third")
        assert (np.abs(a[:, 3:] - b[:, 3:]).max(axis=(0, 2)) > 1e-9).all()
        if source:
            other = source[0].copy()
            other[:, -1] = (other[:, -1] + 1) % V
            assert (np.abs(logits(other, target) - a).max(axis=(0, 2)) > 1e-9).all()


def answer(module, config, params, *ids, **options):
    if half(module) == "np":
        return run(module, config, *ids, **options)(params)[0]
    function = getattr(module, config.kind)
    return function(*map(torch.tensor, ids), tree.to_torch(params), config, **{k: in_torch(x) for k, x in options.items()}).numpy()


def answers(module, config, params, *ids, **options):
    """Of the function, and in torch of the module too."""
    found = [answer(module, config, params, *ids, **options)]
    if half(module) == "pt":
        net = {"encoder": module.Encoder, "decoder": module.Decoder, "encoder_decoder": module.EncoderDecoder}[config.kind](config).double()
        net.load_state_dict(tree.flatten(tree.to_torch(params)))
        found.append(net(*map(torch.tensor, ids), **{k: in_torch(x) for k, x in options.items()}).detach().numpy())
    return found


def sequences_that_share_a_row_are_as_alone(module):
    """Packed into a row, or padded at the left: with its own positions each is what it is alone."""
    for config in CONFIGS[:7]:
        params, ids = filled(init_model(rng(), config, np.float64), rng()), ids_of(config)[0]
        for causal in ({}, {"is_causal": True}) if config.kind == "encoder" else ({},):
            alone = [answers(module, config, params, x, **({"mask": np.tri(x.shape[1], dtype=bool)} if causal else {}))
                     for x in (ids[:1, :3], ids[1:, :2])]
            for name, rows, placed, owner in laid_out(ids):
                together = answers(module, config, params, rows, **placed, **causal)
                each_is_there(together, alone, owner, f"{name}, {config.kind}, {config.position}, {causal}")


def both_sides_may_be_padded_at_the_left(module):
    """Source and target of an encoder–decoder, each with positions of its own."""
    for config in CONFIGS[7:]:
        params, (source, target) = filled(init_model(rng(), config, np.float64), rng()), ids_of(config)
        lengths = ((4, 2), (3, 5))  # of source and target, of each of the two sequences
        alone = [answers(module, config, params, source[i:i + 1, :m], target[i:i + 1, :n]) for i, (m, n) in enumerate(lengths)]
        options, rows = {}, []
        for side, ids, real in zip(("source", "target"), (source, target), zip(*lengths, strict=True), strict=True):
            empty = ids.shape[1] - np.array(real)[:, None]
            columns = np.arange(ids.shape[1])
            options |= {f"{side}_mask": (columns >= empty)[:, None], f"{side}_positions": np.maximum(columns - empty, 0)}
            rows.append(np.stack([np.roll(x, k) for x, k in zip(ids, empty[:, 0], strict=True)]))
        for which, out in enumerate(answers(module, config, params, *rows, **options)):
            for i, (_, n) in enumerate(lengths):
                near(out[i, -n:], alone[i][which][0], f"{config.position}, sequence {i}")


def padding_is_not_seen(module):
    """A padded batch gives each sequence what it gets alone; what stands in the padding does not matter."""
    for config in CONFIGS:
        params = filled(init_model(rng(), config, np.float64), rng())
        first, *target = ids_of(config)
        name = "source_mask" if target else "mask"
        out = answer(module, config, params, first, *target, **{name: padding_mask(np.array([3, 4]), first.shape[1])})
        alone = answer(module, config, params, first[:1, :3], *(t[:1] for t in target))
        near(out[:1, : alone.shape[1]], alone, f"{config.kind}, {config.position}")


def equals_the_transformer_of_torch(module):
    """torch.nn.Transformer with our parameters, norms before or after: output and every gradient."""
    for norm_first in (True, False):
        config = ModelConfig("encoder_decoder", **BASE, norm_first=norm_first, activation="relu")
        params = filled(init_model(rng(), config, np.float64), rng())
        with warnings.catch_warnings():  # it says that a fast path of its own cannot be used
            warnings.simplefilter("ignore", UserWarning)
            net = torch.nn.Transformer(D, HEADS, 2, 2, 6, 0.0, batch_first=True, norm_first=norm_first, dtype=torch.float64)
        parts = {}
        for side in ("encoder", "decoder"):
            part = getattr(net, side)
            if norm_first:
                parts[f"{side}.norm"] = part.norm
            else:
                part.norm = None  # torch adds a last norm that the paper does not have
            for i, layer in enumerate(part.layers):
                at = f"{side}.blocks.{i}"
                norms = ("norm_1", "norm_2") if side == "encoder" else ("norm_1", "norm_c", "norm_2")
                parts |= {f"{at}.{name}": getattr(layer, f"norm{k + 1}") for k, name in enumerate(norms)}
                parts |= {f"{at}.attention": layer.self_attn, f"{at}.ff": (layer.linear1, layer.linear2)}
                parts |= {f"{at}.cross": layer.multihead_attn} if side == "decoder" else {}
        flat = tree.flatten(params)
        for at, x in parts.items():
            give(x, {name.removeprefix(f"{at}."): v for name, v in flat.items() if name.startswith(f"{at}.")})
        source, target = ids_of(config)
        embedding = params["encoder"]["embedding"]
        X, Y = (module.embed_forward(ids, embedding, config)[0] for ids in (source, target))
        mask = padding_mask(np.array([3, 4]), MEMORY)
        theirs = net(torch.tensor(X), torch.tensor(Y), tgt_mask=torch.tensor(~np.tri(N, dtype=bool)), tgt_is_causal=True,
                     src_key_padding_mask=torch.tensor(~mask[:, 0]), memory_key_padding_mask=torch.tensor(~mask[:, 0]))
        logits = theirs @ torch.tensor(embedding["tokens"]["E"]).mT
        mine, cache = module.encoder_decoder_forward(source, target, params, config, mask)
        near(mine, logits.detach(), "logits")
        dlogits = normal(*mine.shape)
        logits.backward(torch.tensor(dlogits))
        grads = tree.flatten(module.encoder_decoder_backward(dlogits, cache))
        for at, x in parts.items():
            for name, g in take(x).items():
                near(grads[f"{at}.{name}"], g, f"d{at}.{name}", GRADIENT)


def give(layer, values):
    """Our arrays into a part of torch's model."""
    if isinstance(layer, torch.nn.MultiheadAttention):
        write(layer, values)
    elif isinstance(layer, tuple):
        for i, linear in enumerate(layer, 1):
            linear.weight.data, linear.bias.data = torch.tensor(values[f"W_{i}"]).mT, torch.tensor(values[f"b_{i}"])
    else:
        layer.weight.data, layer.bias.data = torch.tensor(values["gamma"]), torch.tensor(values["beta"])


def take(layer):
    """Its gradients, under our names."""
    if isinstance(layer, torch.nn.MultiheadAttention):
        return read(layer, lambda p: p.grad)
    if isinstance(layer, tuple):
        return {f"{kind}_{i}": g for i, linear in enumerate(layer, 1)
                for kind, g in (("W", linear.weight.grad.mT), ("b", linear.bias.grad))}
    return {"gamma": layer.weight.grad, "beta": layer.bias.grad}


def embedded(module, params, config):
    """ids → tokens, in either half."""
    if half(module) == "np":
        return lambda ids, **options: module.embed_forward(ids, params, config, **options)[0]
    return lambda ids, **options: module.embed(torch.tensor(ids), tree.to_torch(params), config, **tree.to_torch(options)).numpy()


def positions_may_be_given(module):
    """0 … n − 1 unless given; given for each sequence, a later part of a text stands where it stood."""
    for config in CONFIGS[:1] + CONFIGS[7:8]:
        params = filled(init_model(rng(), config, np.float64), rng())
        params = params.get("encoder", params)["embedding"]
        ids = ids_of(config)[0]
        embed = embedded(module, params, config)
        whole = embed(ids)
        near(embed(ids, positions=np.arange(ids.shape[1])), whole, "the same positions")
        near(embed(ids[:, 2:], positions=np.arange(2, ids.shape[1])), whole[:, 2:], "the second part")
        each = np.stack([np.arange(2), np.arange(2, 4)])
        near(embed(np.stack([ids[0, :2], ids[1, 2:4]]), positions=each), np.stack([whole[0, :2], whole[1, 2:4]]), "each its own")


def float32_stays_float32(module):
    for config in CONFIGS:
        params = init_model(rng(), config)
        out, cache = run(module, config, *ids_of(config), **options_of(config))(params)
        grads = getattr(module, f"{config.kind}_backward")(np.ones_like(out), cache)
        assert out.dtype == np.float32
        assert {g.dtype for g in tree.flatten(grads).values()} == {np.dtype("float32")}, config


def inputs_are_left_alone(module):
    for config in CONFIGS:
        params = filled(init_model(rng(), config, np.float64), rng())
        before, ids = tree.map_tree(np.copy, params), ids_of(config)
        out, cache = run(module, config, *ids, **options_of(config))(params)
        dOut = normal(*out.shape)
        first, kept = getattr(module, f"{config.kind}_backward")(dOut, cache), dOut.copy()
        second = getattr(module, f"{config.kind}_backward")(dOut, cache)
        tree.map_tree(lambda a, b: same(a, b, "two backward passes over one cache"), first, second)
        tree.map_tree(lambda a, b: same(a, b, "a parameter"), params, before)
        same(dOut, kept, "dOut")


# Modules


def modules_hold_the_tree(module):
    """state_dict has the names, shapes and, from one generator, the values of init_model; outputs are the functions'."""
    for config in CONFIGS:
        net = {"encoder": module.Encoder, "decoder": module.Decoder, "encoder_decoder": module.EncoderDecoder}[config.kind]
        made, ids = tree.flatten(init_model(rng(), config)), tuple(map(torch.tensor, ids_of(config)))
        held = net(config, rng())
        assert made.keys() == held.state_dict().keys()
        for name, x in held.state_dict().items():
            same(x, made[name], name)
        torch.manual_seed(1)
        one = net(config)
        torch.manual_seed(1)
        for name, x in net(config).state_dict().items():
            same(x, one.state_dict()[name], f"{name} from torch's seed")
        assert not np.array_equal(net(config).state_dict()[name], x) or not x.any() or (x == 1).all()
        params = filled(tree.unflatten(made), rng())
        held = held.double()
        held.load_state_dict(tree.flatten(tree.to_torch(params)))
        options = tree.to_torch(options_of(config))
        expected = getattr(pt_model, config.kind)(*ids, tree.to_torch(params), config, **options)
        near(held(*ids, **options).detach(), expected, f"{config.kind}, {config.position}")
        plain = getattr(pt_model, config.kind)(*ids, tree.to_torch(params), config)
        near(held(*ids).detach(), plain, f"{config.kind}, {config.position}, without masks")


def dtypes_are_named_in_any_way(module):
    for dtype in ("float64", np.dtype("float64"), float):
        assert {x.dtype for x in tree.flatten(module.init_model(rng(), CONFIGS[0], dtype)).values()} == {np.dtype(np.float64)}
    for dtype in (int, np.float16, None, 3, "x", torch.float32):
        raises(TypeError, "init_model: dtype is .*, expected float32 or float64", lambda dtype=dtype: module.init_model(rng(), CONFIGS[0], dtype))


def modules_use_their_parts(module):
    for config in CONFIGS:
        net = {"encoder": module.Encoder, "decoder": module.Decoder, "encoder_decoder": module.EncoderDecoder}[config.kind]
        net, ids = net(config, rng()), tuple(map(torch.tensor, ids_of(config)))
        net.load_state_dict(tree.flatten(tree.to_torch(filled(tree.from_torch(net), rng()), dtype=torch.float32)))
        every_part_counts(net, lambda net, ids=ids: net(*ids))
    net, ids = module.Decoder(CONFIGS[3], rng()), tuple(map(torch.tensor, ids_of(CONFIGS[3])))
    net.blocks[1] = net.blocks[0]  # one block, twice
    again = module.Decoder(CONFIGS[3], rng())
    again.blocks[1].load_state_dict(again.blocks[0].state_dict())
    same(net(*ids).detach(), again(*ids).detach(), "a block twice, and two that are equal")


def modules_are_made_on_any_device(module):
    for config in CONFIGS:
        with torch.device("meta"):
            net = {"encoder": module.Encoder, "decoder": module.Decoder, "encoder_decoder": module.EncoderDecoder}[config.kind](config)
        assert {x.device.type for x in net.state_dict().values()} == {"meta"}
        net(*(torch.tensor(ids, device="meta") for ids in ids_of(config)))


def modules_drop_in_training_alone(module):
    config = ModelConfig("encoder_decoder", **BASE, p=0.5)
    net, ids = module.EncoderDecoder(config), tuple(map(torch.tensor, ids_of(config)))
    assert not torch.equal(net(*ids), net(*ids))
    net.eval()
    assert torch.equal(net(*ids), net(*ids))
    function = lambda **o: module.encoder_decoder(*ids, tree.unflatten(dict(net.named_parameters())), config, **o)  # noqa: E731
    assert torch.equal(function(), net(*ids)) and not torch.equal(function(training=True), function(training=True))


def base(x):
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def kept(cache, params) -> int:
    """Numbers in all arrays that a cache holds, each once, without the parameters."""
    given, found = {id(base(x)) for x in tree.flatten(params).values()}, {}

    def walk(x):
        if isinstance(x, np.ndarray) and base(x).dtype.kind == "f" and id(base(x)) not in given:
            found[id(base(x))] = base(x).size
        for part in x.values() if isinstance(x, dict) else x if isinstance(x, tuple | list) else ():
            walk(part)

    walk(cache)
    return sum(found.values())


def init_keeps_the_stream_level(module):
    """Weights of variance 1/d_in; with norm_first, what returns to the stream is smaller by 1/√(2 layers)."""
    wide = {"vocab": 50, "d": 240, "heads": 4, "layers": 8, "n_max": 5}
    for flags, shrink in (({}, 0.25), ({"norm_first": False}, 1), ({"residual": False}, 1)):
        params = module.init_model(rng(), ModelConfig("encoder_decoder", **wide, **flags))
        for name, x in tree.flatten(params).items():
            last = name.split(".")[-1]
            if last.startswith("W"):
                expected = shrink if last in ("W_o", "W_2") else 1
                near(x.std() * np.sqrt(len(x)), expected, f"{flags}, {name}", 0.03)
            elif last == "E":
                near(x.std() * np.sqrt(240), 1, name, 0.03)
            assert x.dtype == np.float32


IDS_, CONFIG_ = ids_of(CONFIGS[3])[0], CONFIGS[3]
P_, Q_ = init_model(rng(), CONFIG_, np.float64), init_model(rng(), CONFIGS[0], np.float64)
E_, R_ = P_["embedding"], init_model(rng(), CONFIGS[1], np.float64)
ROWS = [
    ("decoder_forward", ValueError, "decoder: config.kind is 'encoder', expected decoder", IDS_, Q_, CONFIGS[0]),
    ("encoder_forward", ValueError, "encoder: config.kind is 'decoder', expected encoder or encoder_decoder", IDS_, P_, CONFIG_),
    ("decoder_forward", TypeError, "decoder: config is dict, expected ModelConfig", IDS_, P_, {}),
    ("decoder_forward", ValueError, "decoder: params has embedding, blocks, norm, expected embedding, blocks, norm, head", IDS_,
     {k: v for k, v in P_.items() if k != "head"}, CONFIG_),
    ("decoder_forward", ValueError, r"stack: params\['blocks'\] has 0, expected 0, 1", IDS_, P_ | {"blocks": {"0": P_["blocks"]["0"]}}, CONFIG_),
    ("encoder_decoder_forward", ValueError, "encoder_decoder: params has encoder, expected encoder, decoder", IDS_, IDS_,
     {"encoder": Q_}, CONFIGS[7]),
    ("embed_forward", ValueError, r"embed: ids has shape \(2, 7\), expected 1 to 6 tokens a row", np.zeros((2, 7), int), E_, CONFIG_),
    ("embed_forward", TypeError, "embed: ids has dtype", np.zeros((2, 3)), E_, CONFIG_),
    ("embed_forward", ValueError, "embed: params has tokens, expected tokens, segments, positions, norm", IDS_, E_, CONFIGS[0]),
    ("embed_forward", ValueError, r"embed: params\['tokens'\]\['E'\] has shape \(7, 6\), expected \(7, 8\)", IDS_, {"tokens": {"E": normal(7, 6)}}, CONFIG_),
    ("embed_forward", ValueError, r"embed: segments has shape \(2, 3\), expected \(2, 5\)", IDS_, Q_["embedding"], CONFIGS[0],
     np.zeros((2, 3), int)),
    ("embed_forward", ValueError, r"embed: shape of positions is \(3,\), expected a shape that repeats to \(2, 5\)", IDS_, E_, CONFIG_, None,
     np.arange(3)),
    ("embed_forward", ValueError, "embed: segments is there but config.segments is 0, expected None", IDS_, E_, CONFIG_, 0 * IDS_),
    ("encoder_forward", ValueError, "embed: segments is there but config.segments is 0", IDS_, R_, CONFIGS[1], None, 0 * IDS_),
    ("decoder_forward", TypeError, "decoder: params is NoneType, expected a dict", IDS_, None, CONFIG_),
    ("stack_forward", ValueError, r"mask has shape \(2, 5\), expected", normal(2, 5, D), P_, CONFIG_, np.ones((2, 5), bool)),
]
refused = refusals(
    *ROWS,
    ("embed_forward", TypeError, r"embed: params\['tokens'\]\['E'\] is list, expected an array", IDS_, {"tokens": {"E": [1.0]}}, CONFIG_),
    ("decoder_forward", ValueError, "embed: ids holds 7, expected whole numbers from 0 to 6", IDS_ + 7 - IDS_.max(), P_, CONFIG_),
    ("embed_forward", ValueError, "embed: positions holds 6, expected whole numbers from 0 to 5", IDS_, E_, CONFIG_, None, np.arange(2, 7)),
    ("embed_forward", ValueError, "embed: segments holds 2, expected whole numbers from 0 to 1", IDS_, Q_["embedding"], CONFIGS[0],
     np.full((2, 5), 2)),
)


def in_torch(x):
    if isinstance(x, dict):
        return tree.to_torch(x)
    return torch.tensor(x) if isinstance(x, np.ndarray) else x


refused_by_torch = refusals(
    *[(name.removesuffix("_forward"), error, says, *map(in_torch, arguments)) for name, error, says, *arguments in ROWS],
    ("Encoder", ValueError, "Encoder: config.kind is 'decoder', expected encoder or encoder_decoder", CONFIG_),
    ("Decoder", ValueError, "Decoder: config.kind is 'encoder', expected decoder or encoder_decoder", CONFIGS[0]),
    ("EncoderDecoder", ValueError, "EncoderDecoder: config.kind is 'decoder', expected encoder_decoder", CONFIG_),
)

INVARIANTS = {
    "np.model": [gradients_are_slopes, twins_agree, no_token_sees_a_later_one, padding_is_not_seen,
                 sequences_that_share_a_row_are_as_alone, both_sides_may_be_padded_at_the_left, equals_the_transformer_of_torch,
                 positions_may_be_given, float32_stays_float32, inputs_are_left_alone, refused],
    "pt.model": [twins_agree, no_token_sees_a_later_one, padding_is_not_seen,
                 sequences_that_share_a_row_are_as_alone, both_sides_may_be_padded_at_the_left, positions_may_be_given, modules_hold_the_tree,
                 modules_drop_in_training_alone, modules_use_their_parts, modules_are_made_on_any_device, refused_by_torch],
    "init": [init_keeps_the_stream_level, dtypes_are_named_in_any_way],
}
WRONG = [
    M("np.model.stack_backward", "invariant", "only the last block sends a gradient to the encoder",
      "dM = dM_i if dM is None else dM + dM_i", "dM = dM_i if dM is None else dM"),
    M("np.model._decode_backward", "invariant", "tied: the output's share of the embedding's gradient lost",
      'dembedding["tokens"]["E"] += dE', "pass"),
    M("np.model._decode_backward", "invariant", "tied: the look-up's share lost",
      'dembedding["tokens"]["E"] += dE', 'dembedding["tokens"]["E"] = dE'),
    M("np.model.encoder_decoder_backward", "invariant", "shared embedding: the source's share lost",
      'map_tree(np.add, encoder["embedding"], dembedding)', "dembedding"),
    M("np.model.stack_backward", "invariant", "every block reads the first one's gradient",
      "dY, dM_i, blocks", "_, dM_i, blocks"),
    M("np.model.stack_backward", "invariant", "blocks run backward in forward order",
      "for i in reversed(range(len(cache.blocks))):", "for i in range(len(cache.blocks)):"),
    M("np.model.stack_forward", "invariant", "no last norm", 'if config.norm_first:', "if False:"),
    M("np.model._decode_forward", "invariant", "the causal mask forgotten when another is given",
      "combine_masks(causal, mask)", "mask"),
    M("np.model._decode_forward", "invariant", "no causal mask",
      "    mask = causal if mask is None else combine_masks(causal, mask)\n", ""),
    M("np.model._decode_forward", "invariant", "the causal mask lets the next token in",
      "causal = causal_mask(ids.shape[-1])", "causal = causal_mask(ids.shape[-1], ids.shape[-1], offset=1)"),
    M("np.model.encoder_decoder_forward", "invariant", "the source's mask not handed to cross-attention",
      "config, target_mask, M, source_mask, rng", "config, target_mask, M, None, rng"),
    M("np.model.encoder_decoder_forward", "invariant", "the source's mask not handed to the encoder",
      "config, source_mask, None, rng", "config, None, None, rng"),
    M("np.model.stack_forward", "invariant", "positions not handed to attention", "positions=positions", "positions=None"),
    M("np.model.stack_forward", "invariant", "the mask dropped where positions are given",
      "mask=mask, ", "mask=mask if positions is None else None, "),
    M("np.model.stack_forward", "invariant", "is_causal not handed on", "is_causal=is_causal", "is_causal=False"),
    M("np.model.encoder_forward", "invariant", "encoder: positions not handed to the embedding",
      "segments, positions, rng)", "segments, None, rng)"),
    M("np.model.encoder_forward", "invariant", "encoder: positions not handed to attention",
      "positions=positions", "positions=None"),
    M("np.model.encoder_forward", "invariant", "encoder: is_causal not handed on", "is_causal=is_causal", "is_causal=False"),
    M("np.model._decode_forward", "invariant", "decoder: positions not handed to the embedding",
      "None, positions, rng)", "None, None, rng)"),
    M("np.model._decode_forward", "invariant", "decoder: positions not handed to attention",
      "rng, positions)\n    E", "rng, None)\n    E"),
    M("np.model.decoder_forward", "invariant", "decoder: positions not handed on", "rng, positions)", "rng, None)"),
    M("np.model.encoder_decoder_forward", "invariant", "positions of the source not handed on",
      "rng, source_positions)", "rng, None)"),
    M("np.model.encoder_decoder_forward", "invariant", "the target stands where the source stands",
      "rng, target_positions)", "rng, source_positions)"),
    M("np.model.embed_forward", "invariant", "√d forgotten", "math.sqrt(config.d) if config.scale_embedding else ", ""),
    M("np.model.embed_forward", "invariant", "√d times the positions too",
      ", math.sqrt(config.d) if config.scale_embedding else 1.0", "",
      "    if config.embedding_norm:\n",
      "    X = X * (math.sqrt(config.d) if config.scale_embedding else 1.0)\n    if config.embedding_norm:\n"),
    M("np.model.embed_forward", "invariant", "segments all alike", ") if segments is None else segments", ")"),
    M("np.model.embed_backward", "invariant", "segments get no gradient",
      'E": gather_backward(dX,', 'E": 0 * gather_backward(dX,'),
    M("np.model.embed_forward", "invariant", "positions start from 0 whatever was asked",
      ") if positions is None else positions", ")"),
    M("np.model.embed_forward", "invariant", "positions start from 1",
      "np.arange(ids.shape[-1]) if positions", "1 + np.arange(ids.shape[-1]) if positions"),
    M("np.model.embed_forward", "invariant", "base of the sinusoids not handed on", ", config.rope_theta", ""),
    M("np.model.embed_forward", "invariant", "sinusoids in float64", "config.rope_theta).astype(X.dtype)", "config.rope_theta)"),
    M("np.model.embed_backward", "invariant", "the norm of the embedding has no gradient", 'grads["norm"]', "_"),
    M("np.model.embed_backward", "invariant", "dropout after the embedding not undone",
      "dX = dropout_backward(dX, cache.dropout)", "pass"),
    M("np.model._decode_backward", "invariant", "the embedding's gradient written into what was handed back",
      "return dM, dembedding, grads", "dlogits *= 2\n    return dM, dembedding, grads"),
    M("np.model.stack_forward", "invariant", "position inside attention not handed on",
      "**config.options)", '**config.options | {"position": "none"})'),
    M("np.model.stack_forward", "invariant", "ε not handed on",
      "**config.options)", '**config.options | {"eps": 1e-5})'),
    M("np.model.decoder_forward", "invariant", "kinds not told apart",
      'kind_among("decoder", config, "decoder")', "pass"),
    M("np.model.embed_forward", "invariant", "segments ignored where there are none",
      'len(params["tokens"]["E"]), ids, segments, positions)', 'len(params["tokens"]["E"]), ids, None, positions)'),
    M("np.model.stack_forward", "invariant", "blocks of another config taken for its own",
      'fits("stack",', 'dict('),
    M("pt.model._decode", "invariant", "the causal mask forgotten when another is given",
      "None if mask is None else combine_masks(causal_mask(ids.shape[-1], device=ids.device), mask)", "mask"),
    M("pt.model._decode", "invariant", "no causal mask", "positions, is_causal=mask is None)", "positions)"),
    M("pt.model.Decoder.forward", "invariant", "module: no causal mask",
      "memory_mask, mask is None, positions)", "memory_mask, False, positions)"),
    M("pt.model.stack", "invariant", "positions not handed to attention", "positions=positions", "positions=None"),
    M("pt.model.stack", "invariant", "the mask dropped where positions are given",
      "mask=mask, ", "mask=mask if positions is None else None, "),
    M("pt.model.encoder", "invariant", "encoder: positions not handed to the embedding",
      "segments, positions, training)", "segments, None, training)"),
    M("pt.model.encoder", "invariant", "encoder: positions not handed to attention",
      "positions=positions", "positions=None"),
    M("pt.model.encoder", "invariant", "encoder: is_causal not handed on", "is_causal=is_causal", "is_causal=False"),
    M("pt.model._decode", "invariant", "decoder: positions not handed to the embedding",
      "None, positions, training)", "None, None, training)"),
    M("pt.model._decode", "invariant", "decoder: positions not handed to attention",
      "training, positions, is_causal", "training, None, is_causal"),
    M("pt.model.decoder", "invariant", "decoder: positions not handed on", "training, positions)", "training, None)"),
    M("pt.model.encoder_decoder", "invariant", "positions of the source not handed on",
      "training, source_positions)", "training, None)"),
    M("pt.model.encoder_decoder", "invariant", "positions of the target not handed on", "target_positions)", "None)"),
    M("pt.model.Encoder.forward", "invariant", "encoder module: positions not handed to the embedding",
      "(ids, segments, positions)", "(ids, segments)"),
    M("pt.model.Encoder.forward", "invariant", "encoder module: positions not handed to attention", ", positions=positions)", ")"),
    M("pt.model.Encoder.forward", "invariant", "module: is_causal not handed on", "is_causal=is_causal, ", ""),
    M("pt.model.Decoder.forward", "invariant", "decoder module: positions not handed to the embedding",
      "(ids, positions=positions)", "(ids)"),
    M("pt.model.Decoder.forward", "invariant", "decoder module: positions not handed to attention",
      "mask is None, positions)", "mask is None)"),
    M("pt.model.EncoderDecoder.forward", "invariant", "module: positions of the source not handed on",
      ", positions=source_positions)", ")"),
    M("pt.model.EncoderDecoder.forward", "invariant", "module: positions of the target not handed on",
      ", shared, target_positions)", ", shared)"),
    M("pt.model.encoder_decoder", "invariant", "the source's mask not handed to cross-attention",
      ", source_mask, training,", ", None, training,"),
    M("pt.model.embed", "invariant", "√d forgotten", "math.sqrt(config.d) if config.scale_embedding else ", ""),
    M("pt.model.embed", "invariant", "segments all alike", ") if segments is None else segments", ")"),
    M("pt.model.embed", "invariant", "positions start from 0 whatever was asked",
      ") if positions is None else positions", ")"),
    M("pt.model.Decoder.forward", "invariant", "module: the decoder's own embedding where one is shared",
      "self.embedding if embedding is None else embedding",
      "embedding or self.embedding\n        ids = ids.clamp(max=1)"),
    M("pt.model.EncoderDecoder.__init__", "invariant", "module: parameters of their own making",
      "        _start(self, config, rng)\n", "        pass\n"),
    M("pt.model.Embed.forward", "invariant", "module: drops in evaluation",
      "config.p, self.training)", "config.p, True)"),
    M("pt.model.Embed.forward", "invariant", "module: its segments passed over, and what was done to them",
      "self.segments(torch", "self.segments.forward(torch"),
    M("pt.model.Embed.forward", "invariant", "module: its positions passed over",
      "self.positions(ids.shape[-1], positions=positions)", "self.positions.table[positions]"),
    M("pt.model.Embed.forward", "invariant", "module: its norm passed over",
      "self.norm(X)", "norm(X, dict(self.norm.named_parameters()), config.eps)"),
    M("pt.model._start", "invariant", "a seed drawn on a device without numbers", ', device="cpu")', ")"),
    M("pt.model.stack", "invariant", "drops without training", "p=config.p if training else 0.0", "p=config.p"),
    M("pt.model.Encoder.__init__", "invariant", "module: kinds not told apart",
      'kind_among("Encoder", config, "encoder", "encoder_decoder")', "pass"),
    M("pt.model.embed", "invariant", "segments ignored where there are none",
      'len(params["tokens"]["E"]), ids, segments, positions)', 'len(params["tokens"]["E"]), ids, None, positions)'),
    M("init.init_model", "invariant", "zeros of whole numbers, and float16", "dtype: Dtype = np", "dtype=np"),
    M("init.init_model", "invariant", "what returns to the stream is not made smaller",
      "1 / math.sqrt(2 * config.layers) if", "1 if"),
    M("init.init_model", "invariant", "made smaller in post too",
      ' if config.norm_first and config.residual else 1', ""),
    M("init.init_model", "invariant", "float64 all the same",
      "dtype(shrink) * x", "np.float64(shrink) * x"),
]
