# ruff: noqa: E501
"""Generation, both halves: the cache is recomputation, rows of a batch are as alone, and words end where they should."""

from functools import cache

import numpy as np
import torch
from byhand import tree
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.np import model as np_model
from byhand.np import sample as np_sample
from byhand.pt.model import Decoder, EncoderDecoder
from invariants import Compiled, near, raises, same
from mutants import M
from proofs import as_shipped
from specs.sample import call, in_numpy, in_torch, refused
from torch.nn.utils import parametrize

V, STEPS = 11, 5
SIZES = {"vocab": V, "d": 16, "heads": 4, "d_ff": 12, "n_max": 16, "max_distance": 3, "rope_theta": 50.0}
ODD = {"rms": True, "gated": True, "bias": False, "tied": False, "embedding_norm": True, "scale_embedding": True, "activation": "silu", "eps": 0.1}
TWO, ONE = {"layers": 2}, {"layers": 1}
CONFIGS = [ModelConfig("decoder", **SIZES, position=position, kv_heads=kv_heads, norm_first=norm_first, residual=residual, alpha=alpha, **more)
           for position, kv_heads, norm_first, residual, alpha, more in (
               ("rope", 2, True, True, 0.7, TWO), ("learned", None, True, False, 1.0, ONE | ODD), ("alibi", 1, False, False, 1.3, ONE | ODD),
               ("sinusoidal", 2, False, True, 1.3, ONE), ("relative", 2, True, True, 1.0, ONE | ODD), ("rope_half", 1, False, True, 0.7, ONE | ODD),
               ("alibi", 2, True, True, 1.0, ONE), ("none", None, True, True, 1.0, TWO | ODD))]
PROMPTS = [np.array([3, 1, 4]), np.array([1, 5, 9, 2, 6, 5]), np.array([3]), np.array([5, 8, 9, 7])]
BATCH = np.random.default_rng(6).integers(0, V, size=(2, 9))


@cache
def params_of(config):
    """Parameters of which none is 0 or 1."""
    rng = np.random.default_rng(8)
    return tree.map_tree(lambda x: x + 0.3 * rng.normal(size=x.shape), init_model(rng, config, np.float64))


@cache
def recomputed(config, ids):
    """Logits after each token of one row, from the whole model."""
    with as_shipped():
        return np_model.decoder_forward(np.array([ids]), params_of(config), config)[0][0]


def logits_of(config, row):
    return recomputed(config, tuple(int(i) for i in row))


def alone(config, prompt, steps, choose=np_sample.greedy):
    """The slow way: the whole model once for every new word."""
    row = list(prompt)
    with as_shipped():
        for _ in range(steps):
            row.append(int(choose(logits_of(config, row)[-1])))
    return row[len(prompt):]


def decoded(module, config, pieces, kv, params=None):
    """Logits of one piece after another through the cache, joined."""
    found = []
    for ids in pieces:
        logits, kv = call(module, "decode_forward", ids, params or params_of(config), config, kv)
        found.append(logits)
    return np.concatenate(found, axis=1), kv


def cache_is_recomputation(module):
    """Prompt in two pieces, then word by word: every position, grouping, wiring, norm, gate."""
    for config in CONFIGS:
        kv = call(module, "init_kv", params_of(config), config, 2, 9)
        logits, kv = decoded(module, config, np.split(BATCH, [3, 7, 8], axis=1), kv)
        near(logits, np.stack([logits_of(config, row) for row in BATCH]), f"{config}: logits with and without cache")
        assert kv.length == 9


def last_is_the_last_of_all(module):
    for config in CONFIGS[:2]:
        kv = call(module, "init_kv", params_of(config), config, 2, 9)
        logits, kv = call(module, "decode_forward", BATCH[:, :5], params_of(config), config, kv, True)
        near(logits, np.stack([logits_of(config, row)[4:5] for row in BATCH]), "last logits")
        assert kv.length == 5


def rows_of_different_lengths_are_as_alone(module):
    """Logits of a ragged batch, its prompts in two pieces, then two words more; and greedy words."""
    n, more = max(map(len, PROMPTS)), np.arange(8).reshape(4, 2)
    start = np.array([n - len(prompt) for prompt in PROMPTS])
    ids = np.stack([np.pad(prompt, (n - len(prompt), 0)) for prompt in PROMPTS])
    for config in CONFIGS:
        kv = call(module, "init_kv", params_of(config), config, 4, n + 2, start)
        logits, _ = decoded(module, config, [ids[:, :2], ids[:, 2:], more[:, :1], more[:, 1:]], kv)
        for row, prompt, new, at in zip(logits, PROMPTS, more, start, strict=True):
            near(row[at:], logits_of(config, [*prompt, *new]), f"{config}: logits in a batch and alone")
        assert np.isfinite(logits).all()
    for config in CONFIGS[1::3]:
        new = call(module, "generate", PROMPTS, params_of(config), config, STEPS, temperature=0)
        same(np.array(new), [alone(config, prompt, STEPS) for prompt in PROMPTS], f"{config}: words in a batch and alone")
        assert all(row.dtype == np.int64 for row in new)


PAIRS = [ModelConfig("encoder_decoder", **SIZES, **more) for more in (
    {"kv_heads": 2, **TWO}, {"source_vocab": 7, "norm_first": False, "position": "rope", "kv_heads": 1, **ONE, **ODD})]
SOURCE, REAL = np.random.default_rng(9).integers(0, 7, size=(2, 5)), np.tri(2, 5, dtype=bool)[:, None]


@cache
def memory_of(config):
    with as_shipped():
        return np_model.encoder_forward(SOURCE, params_of(config)["encoder"], config, REAL)[0]


@cache
def recomputed_pair(config, target):
    with as_shipped():
        return np_model.encoder_decoder_forward(SOURCE, np.array(target), params_of(config), config, REAL)[0]


def pair_logits(config, target):
    return recomputed_pair(config, tuple(map(tuple, target.tolist())))


def a_memory_is_read_as_without_a_cache(module):
    """An encoder–decoder: keys and values of the memory made once, its padding masked, words chosen alike."""
    for config in PAIRS:
        kv = call(module, "init_kv", params_of(config), config, 2, 9, None, memory_of(config), REAL)
        logits, last = decoded(module, config, np.split(BATCH, [3, 7, 8], axis=1), kv)
        near(logits, pair_logits(config, BATCH), f"{config}: logits with and without cache")
        assert all(a is b for one, two in zip(kv.cross, last.cross, strict=True) for a, b in zip(one, two, strict=True))
        target = np.zeros((2, 1), np.int64)
        for _ in range(STEPS):
            word = pair_logits(config, target)[:, -1:].argmax(axis=-1)
            target = np.concatenate([target, word], axis=1)
        new = call(module, "generate", [np.array([0]), np.array([0])], params_of(config), config, STEPS, temperature=0,
                   M=memory_of(config), memory_mask=REAL)
        same(np.array(new), target[:, 1:], f"{config}: words with and without cache")


def the_cache_is_what_the_chapter_counts(module):
    """2 · layers · B · G · n_max · d_k numbers of the model's dtype, allocated once, whatever the number of heads."""
    config = CONFIGS[0]
    params = tree.map_tree(lambda x: x.astype(np.float32), params_of(config))
    kv = call(module, "init_kv", params, config, 3, 10)
    assert [tuple(x.shape) for pair in kv.layers for x in pair] == [(3, 2, 10, 4)] * 4 and kv.length == 0
    arrays = [x for pair in kv.layers for x in pair]
    assert sum(x.size if isinstance(x, np.ndarray) else x.numel() for x in arrays) == 2 * 2 * 3 * 2 * 10 * 4
    logits, kv = call(module, "decode_forward", np.ones((3, 4), np.int64), params, config, kv)
    assert logits.dtype == np.float32 and all(a is b for a, b in zip(arrays, (x for p in kv.layers for x in p), strict=True))
    for x in map(in_numpy, arrays):
        assert x.dtype == np.float32 and x[:, :, :4].all() and not x[:, :, 4:].any()


def an_older_cache_undoes_a_step(module):
    config = CONFIGS[0]
    kv = call(module, "init_kv", params_of(config), config, 2, 9)
    _, kv = call(module, "decode_forward", BATCH[:, :4], params_of(config), config, kv)
    call(module, "decode_forward", (BATCH[:, 4:6] + 1) % V, params_of(config), config, kv)
    logits, _ = call(module, "decode_forward", BATCH[:, 4:], params_of(config), config, kv)
    near(logits, np.stack([logits_of(config, row)[4:] for row in BATCH]), "logits after a step taken back")


def selected_rows_are_copies(module):
    """Rows 1, 1, 0 of three: each goes on by itself, and the cache that they came from is left alone."""
    config, prompts, rows = CONFIGS[2], np.stack([BATCH[0], BATCH[1], BATCH[0][::-1]])[:, :5], np.array([1, 1, 0])
    start = np.array([0, 2, 1])
    kv = call(module, "init_kv", params_of(config), config, 3, 9, start)
    _, kv = call(module, "decode_forward", prompts, params_of(config), config, kv)
    picked, new = call(module, "select_kv", kv, rows), np.array([[1, 2], [3, 4], [5, 6]])
    assert picked.length == 5
    for given, of, ids in ((picked, rows, new), (kv, np.arange(3), new + 1)):
        logits, _ = call(module, "decode_forward", ids, params_of(config), config, given)
        for row, b, words in zip(logits, of, ids, strict=True):
            near(row, logits_of(config, [*prompts[b, start[b]:], *words])[-2:], "logits of a selected row")
    pair = PAIRS[0]
    kv = call(module, "init_kv", params_of(pair), pair, 2, 4, None, memory_of(pair), REAL)
    swapped = call(module, "select_kv", kv, np.array([1, 0, 1]))
    logits, _ = call(module, "decode_forward", BATCH[[1, 0, 1], :4], params_of(pair), pair, swapped)
    near(logits, pair_logits(pair, BATCH[:, :4])[[1, 0, 1]], "logits of swapped rows with a memory")


def every_word_costs_one_token(module):
    """The prompt goes through once, then one token a row and step, of whose logits only the last are made."""
    name = "decode_forward" if ".np." in module.__name__ else "decode"
    right, seen = getattr(module, name), []

    def spy(ids, params, config, kv, last=False):
        seen.append((tuple(ids.shape), last, kv.length))
        return right(ids, params, config, kv, last)

    setattr(module, name, spy)
    try:
        call(module, "generate", PROMPTS, params_of(CONFIGS[0]), CONFIGS[0], 4, temperature=0)
    finally:
        setattr(module, name, right)
    assert seen == [((4, 6), True, 0), ((4, 1), True, 6), ((4, 1), True, 7), ((4, 1), True, 8)], seen


def stop_words_end_their_own_row(module):
    config = CONFIGS[5]
    free, ends = [alone(config, prompt, 8) for prompt in PROMPTS], set()
    for stop in ([9], (1, 3), range(V), ()):
        expected = [row[:next((i for i, word in enumerate(row) if word in stop), 8)] for row in free]
        new = call(module, "generate", PROMPTS, params_of(config), config, 8, temperature=0, stop=stop)
        assert [row.tolist() for row in new] == expected, f"stop {stop}: {new}, expected {expected}"
        ends.add(tuple(map(len, expected)))
        columns = [in_numpy(x) for x in streamed(module, PROMPTS, params_of(config), config, 8, temperature=0, stop=stop)]
        longest = max(map(len, expected))
        padded = [row + [-1] * (longest - len(row)) for row in expected]
        same(np.array(columns).reshape(-1, 4), np.array(padded).reshape(4, -1).T, f"stop {stop}: columns of a stream")
    assert any(len(set(row)) == 4 for row in ends) and (0,) * 4 in ends and (8,) * 4 in ends, "too easy a test"


def streamed(module, prompts, params, config, steps, **options):
    if ".pt." in module.__name__:
        prompts, params, options = in_torch(prompts), in_torch(params), {k: in_torch(x) for k, x in options.items()}
    return module.stream(prompts, params, config, steps, **options)


def draws_are_those_of_the_chain(module):
    """The same u's, one a row and step, through the filters of byhand.np.sample over logits made without a cache."""
    for options in ({"temperature": 1.5, "top_k": 3}, {"temperature": 0.6, "top_p": 0.7}, {}):
        source, again = sources(module), sources(module)
        new = call(module, "generate", PROMPTS, params_of(CONFIGS[1]), CONFIGS[1], STEPS, **options, **source)
        rows = [list(prompt) for prompt in PROMPTS]
        chain = [options.get(name) for name in ("temperature", "top_k", "top_p")]
        for _ in range(STEPS):
            u = uniforms(again, len(rows))
            for row, x in zip(rows, u, strict=True):
                with as_shipped():
                    row.append(int(np_sample.choose(logits_of(CONFIGS[1], row)[-1], np.array(x), chain[0] or 1.0, *chain[1:])))
        same(np.array(new), [row[-STEPS:] for row in rows], f"{options}: words")


def sources(module):
    return {"rng": np.random.default_rng(5)} if ".np." in module.__name__ else {"rng": torch.Generator().manual_seed(5)}


def uniforms(source, size):
    if isinstance(source["rng"], np.random.Generator):
        return source["rng"].random(size)
    return torch.rand(size, dtype=torch.float64, generator=source["rng"]).numpy()


def no_gradient_is_kept(module):
    config = CONFIGS[0]
    params = tree.map_tree(lambda x: torch.tensor(x, requires_grad=True), params_of(config))
    kv = module.init_kv(params, config, 2, 9)
    logits, kv = module.decode(torch.tensor(BATCH), params, config, kv)
    assert not logits.requires_grad and not any(x.requires_grad for pair in kv.layers for x in pair)
    pair = PAIRS[0]
    params = tree.map_tree(lambda x: torch.tensor(x, requires_grad=True), params_of(pair))
    kv = module.init_kv(params, pair, 2, 9, None, torch.tensor(memory_of(pair), requires_grad=True))
    assert not any(x.requires_grad for two in kv.cross for x in two)


FREE, PAIR = ModelConfig("decoder", **SIZES, **ONE), PAIRS[0]
P1, P2, M2 = params_of(FREE), params_of(PAIR), np.zeros((2, 5, 16))


def in_half(module, x):
    return x if ".np." in module.__name__ else in_torch(x)


def ids_come_as_people_have_them(module):
    """Rows in lists, tuples, arrays of any whole dtype, all in one array, or a row alone; stop words in anything."""
    rows, config = [[3, 1, 4], [1, 5, 9]], CONFIGS[3]
    with as_shipped():
        expected = [alone(config, row, STEPS) for row in rows]
        given = [rows, tuple(map(tuple, rows)), np.array(rows),
                 *([np.array(row, dtype) for row in rows] for dtype in WHOLE_DTYPES), *(np.array(rows, dtype) for dtype in WHOLE_DTYPES)]
        if ".pt." in module.__name__:
            given += [torch.tensor(rows), [torch.tensor(row, dtype=torch.uint8) for row in rows], torch.tensor(rows, dtype=torch.int32)]
        params = in_half(module, params_of(config))
        for prompts in given:
            new = module.generate(prompts, params, config, STEPS, temperature=0)
            same(np.array([in_numpy(row) for row in new]), expected, f"{prompts}: words")
        for prompt in ([3, 1, 4], np.array([3, 1, 4], np.uint8), (3, 1, 4)):
            new, = module.generate(prompt, params, config, STEPS, temperature=0)
            same(in_numpy(new), expected[0], "words of one prompt alone")
        ends = expected[0][1]
        short = [row[:row.index(ends)] if ends in row else row for row in expected]
        assert short != expected
        for stop in ([ends], {ends}, np.array([ends], np.uint8), iter([ends]), (np.uint16(ends),), range(ends, ends + 1), torch.tensor([ends])):
            new = module.generate(rows, params, config, STEPS, temperature=0, stop=stop)
            assert [row.tolist() for row in new] == short, f"stop {stop}"


WHOLE_DTYPES = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


def a_module_is_as_its_tree(module):
    """generate, and init_kv with decode, of a decoder and of an encoder–decoder."""
    for config, kind, memory in ((CONFIGS[1], Decoder, {}), (PAIRS[1], EncoderDecoder, {"M": memory_of(PAIRS[1]), "memory_mask": REAL})):
        net = kind(config).double()
        net.load_state_dict(tree.flatten(in_torch(params_of(config))))
        new = [module.generate([[0], [0]], params, config, STEPS, temperature=0, **in_torch(memory)) for params in (net, in_torch(params_of(config)))]
        same(np.array(new[0]), np.array(new[1]), "words of a module and of its tree")
        kv = module.init_kv(net, config, 2, 4, None, *in_torch(list(memory.values())))
        logits, _ = module.decode(torch.tensor(BATCH[:, :4]), net, config, kv)
        expected = np.stack([logits_of(config, row) for row in BATCH[:, :4]]) if kind is Decoder else pair_logits(config, BATCH[:, :4])
        near(in_numpy(logits), expected, "logits of a module")


class Twice(torch.nn.Module):
    def forward(self, x):
        return 2 * x


def a_module_may_be_dressed(module):
    """A part that torch.compile was given is the part; a parametrised weight is what it computes."""
    config, params = CONFIGS[1], in_torch(params_of(CONFIGS[1]))
    net = Decoder(config).double()
    net.load_state_dict(tree.flatten(params))
    net.blocks[0].ff = Compiled(net.blocks[0].ff)
    parametrize.register_parametrization(net.blocks[0].attention, "W_q", Twice())
    params["blocks"]["0"]["attention"]["W_q"] *= 2
    expected = module.decode(torch.tensor(BATCH[:, :4]), params, config, module.init_kv(params, config, 2, 4))[0]
    near(module.decode(torch.tensor(BATCH[:, :4]), net, config, module.init_kv(net, config, 2, 4))[0], expected, "logits of a dressed module")
    new = [module.generate([0], x, config, STEPS, temperature=0)[0] for x in (net, params)]
    same(*map(in_numpy, new), "words of a dressed module and of its tree")


class Own(torch.nn.Module):
    """It has the names of a linear map without a bias, and computes something else."""

    def __init__(self, net):
        super().__init__()
        self.W = net.W


def what_words_would_pass_is_refused(module):
    """A hook, before or after, and a part of another kind: a tree says nothing of them."""
    config = CONFIGS[1]
    kv = module.init_kv(in_torch(params_of(config)), config, 1, 4)
    calls = {"generate|stream": lambda net: module.generate([0], net, config, 2, temperature=0), "init_kv": lambda net: module.init_kv(net, config, 1, 4),
             "decode": lambda net: module.decode(torch.tensor([[0]]), net, config, kv)}
    for says, spoil in (("blocks.0.norm_1 has a hook, expected none", lambda net: net.blocks[0].norm_1.register_forward_hook(print)),
                        ("the module has a hook, expected none", lambda net: net.register_forward_pre_hook(print)),
                        ("head is specs.generate.Own, expected one of byhand", lambda net: setattr(net, "head", Own(net.head)))):
        net = Decoder(config).double()
        net.load_state_dict(tree.flatten(in_torch(params_of(config))))
        spoil(net)
        for where, call_ in calls.items():
            raises(ValueError, f"({where}): {says}: words come from its tree", lambda f=call_, net=net: f(net))
        module.generate([0], tree.of_module(net), config, 2, temperature=0)  # who reads the tree knows what it is


def wrong_input_is_refused_by_name(module):
    def kv(batch=2, n_max=4):
        return call(module, "init_kv", P1, FREE, batch, n_max)

    encoder = ModelConfig("encoder", **SIZES, **ONE)
    refused(
        module,
        ("init_kv", ValueError, "init_kv: config.kind is 'encoder', expected decoder or encoder_decoder", P1, encoder, 2, 4),
        ("init_kv", ValueError, "init_kv: batch is 0, expected at least 1", P1, FREE, 0, 4),
        ("init_kv", ValueError, "init_kv: n_max is 17, expected at most 16, that of the config", P1, FREE, 2, 17),
        ("init_kv", ValueError, r"init_kv: start has shape \(3,\), expected \(2,\)", P1, FREE, 2, 4, np.zeros(3, int)),
        ("init_kv", ValueError, "init_kv: M is there in a model of kind 'decoder', expected None", P1, FREE, 2, 4, None, M2),
        ("init_kv", ValueError, "init_kv: M is None in a model of kind 'encoder_decoder', expected the memory", P2, PAIR, 2, 4),
        ("init_kv", ValueError, r"init_kv: M has shape \(2, 5, 16\), expected \(3, 5, 16\)", P2, PAIR, 3, 4, None, M2),
        ("init_kv", ValueError, r"init_kv: memory_mask has 2 axes, expected at least 3", P2, PAIR, 2, 4, None, M2, REAL[:, 0]),
        ("init_kv", ValueError, "init_kv: memory_mask is there but M is None", P1, FREE, 2, 4, None, None, REAL),
        ("init_kv", ValueError, "params has encoder, decoder, expected embedding, blocks", P2, FREE, 2, 4),
        ("decode_forward", ValueError, r"decode: ids has shape \(3, 2\), expected \(2, 2\)", BATCH[[0, 0, 0], :2], P1, FREE, kv()),
        ("decode_forward", ValueError, "decode: ids has 5 new tokens a row, expected 1 to 4: kv has 0 of 4", BATCH[:, :5], P1, FREE, kv()),
        ("decode_forward", ValueError, "expected 1 to 1: kv has 3 of 4", BATCH[:, :2], P1, FREE,
         call(module, "decode_forward", BATCH[:, :3], P1, FREE, kv())[1]),
        ("generate", ValueError, "generate: prompts has 0 rows, expected at least 1", [], P1, FREE, 3),
        ("generate", ValueError, r"generate: prompts\[1\] has 0 ids, expected at least 1", [BATCH[0], BATCH[0, :0]], P1, FREE, 3),
        ("generate", ValueError, r"generate: prompts\[0\] has shape \(2, 9\), expected one row of ids", [BATCH], P1, FREE, 3),
        ("generate", ValueError, "stream: steps is 9 after a prompt of 9, expected at most 8", [BATCH[0]], P1, FREE, 9),
        ("generate", ValueError, "generate: steps is 0, expected at least 1", [BATCH[0]], P1, FREE, 0),
        ("generate", TypeError, "stream: rng is None, expected a (NumPy|torch) Generator unless temperature is 0", [BATCH[0]], P1, FREE, 3),
        ("generate", TypeError, r"generate: prompts\[0\]\[1\] is str, expected a whole number", [[3, "1"]], P1, FREE, 3),
        ("generate", TypeError, r"generate: prompts\[1\] is float, expected a whole number", [3, 1.5], P1, FREE, 3),
        ("generate", TypeError, "generate: prompts is str, expected a list of rows of ids", "314", P1, FREE, 3),
        ("generate", TypeError, "generate: config is NoneType, expected ModelConfig", [BATCH[0]], P1, None, 3),
        ("generate", ValueError, "stream: prompts\\[1\\] holds 11, expected whole numbers from 0 to 10", [[3, 1], [11]], P1, FREE, 3),
        ("init_kv", ValueError, "params has no names, expected embedding, blocks", {}, FREE, 2, 4),
    )
    for error, says, options in (
        (ValueError, "temperature is -1, expected at least 0", {"temperature": -1}),
        (ValueError, "top_k is 0, expected at least 1", {"top_k": 0, **sources(module)}),
        (ValueError, "top_p is 2, expected a finite number greater than 0 and at most 1", {"top_p": 2, **sources(module)}),
        (TypeError, "rng is int, expected a (NumPy|torch) Generator", {"rng": 5}),
        (ValueError, "stream: stop holds 11, expected whole numbers from 0 to 10", {"temperature": 0, "stop": [11]}),
        (TypeError, r"stop\[0\] is str, expected a whole number", {"temperature": 0, "stop": ["9"]}),
        (TypeError, r"stop\[1\] is float, expected a whole number", {"temperature": 0, "stop": [9, 9.5]}),
        (TypeError, r"stop\[0\] is float, expected a whole number", {"temperature": 0, "stop": np.array([9.0])}),
        (TypeError, r"stop\[0\] is bool, expected a whole number", {"temperature": 0, "stop": [True]}),
        (TypeError, "stop is int, expected whole numbers", {"temperature": 0, "stop": 9}),
        (TypeError, "stop is str, expected whole numbers", {"temperature": 0, "stop": "9"}),
    ):
        with as_shipped():
            raises(error, says, lambda options=options: call(module, "generate", PROMPTS, P1, FREE, 3, **options))
            # of a stream too when it is called, not when it is first read
            raises(error, says, lambda options=options: module.stream(PROMPTS, in_half(module, P1), FREE, 3, **options))
    whole = call(module, "generate", [BATCH[0]], P1, FREE, 8, temperature=0)  # 9 + 7 tokens are read, the 17th is not
    assert len(whole[0]) == 8


def wrong_values_are_refused_by_name(module):
    refused(
        module,
        ("init_kv", ValueError, "init_kv: start holds 4, expected whole numbers from 0 to 3", P1, FREE, 2, 4, np.array([0, 4])),
        ("select_kv", ValueError, "select_kv: rows holds 2, expected whole numbers from 0 to 1", call(module, "init_kv", P1, FREE, 2, 4), np.array([2])),
        ("decode_forward", ValueError, "embed: ids holds 11, expected whole numbers from 0 to 10", BATCH[:, :2] * 0 + 11, P1, FREE, call(module, "init_kv", P1, FREE, 2, 4)),
    )


BOTH = [cache_is_recomputation, last_is_the_last_of_all, rows_of_different_lengths_are_as_alone,
        a_memory_is_read_as_without_a_cache, the_cache_is_what_the_chapter_counts, an_older_cache_undoes_a_step,
        selected_rows_are_copies, every_word_costs_one_token, stop_words_end_their_own_row,
        draws_are_those_of_the_chain, ids_come_as_people_have_them, wrong_input_is_refused_by_name]
INVARIANTS = {"np.generate": [*BOTH, wrong_values_are_refused_by_name], "pt.generate": [*BOTH, no_gradient_is_kept, a_module_is_as_its_tree, a_module_may_be_dressed, what_words_would_pass_is_refused]}

WRONG = [
    M("np.generate.decode_forward", "invariant", "positions restart at 0",
      "np.maximum(columns - kv.start", "np.maximum(columns - kv.length - kv.start"),
    M("np.generate.decode_forward", "invariant", "positions of the padded columns",
      "np.maximum(columns - kv.start[:, None], 0)", "np.broadcast_to(columns, ids.shape)"),
    M("np.generate._self_attention", "invariant", "keys cached before they are turned",
      "Q, K = turned[:, :config.heads], turned[:, config.heads:]", "Q = turned[:, :config.heads]"),
    M("np.generate._self_attention", "invariant", "cached keys turned again at each step",
      "    bias = None",
      "    if config.position == 'rope':\n"
      "        store[0][:, :, :length] = rope_forward(store[0][:, :, :length], rope_theta=config.rope_theta)[0] if length else 0\n"
      "    bias = None"),
    M("np.generate._self_attention", "invariant", "rope: one base for all", " rope_theta=config.rope_theta,", ""),
    M("np.generate._self_attention", "invariant", "rope: always neighbours",
      'interleaved=config.position == "rope"', "interleaved=True"),
    M("np.generate.decode_forward", "invariant", "padded keys attended", "minimum(kv.start", "minimum(0 * kv.start"),
    M("np.generate.decode_forward", "invariant", "the first token of a row hidden",
      "keys >= np.minimum(", "keys > np.minimum("),
    M("np.generate.decode_forward", "invariant", "mask: a token does not see itself",
      "(keys <= columns[:, None])", "(keys < columns[:, None])"),
    M("np.generate.decode_forward", "invariant", "mask: a token sees the next",
      "(keys <= columns[:, None])", "(keys <= columns[:, None] + 1)"),
    M("np.generate.decode_forward", "invariant", "mask: columns counted from the piece",
      "(keys <= columns[:, None])", "(keys <= columns[:, None] - kv.length)"),
    M("np.generate.decode_forward", "invariant", "mask: none, the prompt sees its future",
      "(keys <= columns[:, None])", "(keys <= columns[-1])"),
    M("np.generate._self_attention", "invariant", "new keys written over the first",
      "old[:, :, length:m] = new", "old[:, :, :t] = new"),
    M("np.generate.init_kv", "invariant", "keys of one layer in every layer", ") for _ in blocks]", ")] * len(blocks)"),
    M("np.generate.init_kv", "invariant", "rows of the cache are one row",
      "(np.zeros(size, dtype), np.zeros(size",
      "tuple(np.lib.stride_tricks.as_strided(x, size, (0, *x.strides[1:])) for x in np.zeros((2, *size)"),
    M("np.generate.init_kv", "invariant", "keys repeated for every head",
      "G, dtype = config.groups, embedding", "G, dtype = config.heads, embedding"),
    M("np.generate.init_kv", "invariant", "a cache of float64", ", dtype), np.zeros(size, dtype", "), np.zeros(size"),
    M("np.generate.decode_forward", "invariant", "the cache allocated anew at each step",
      "length=len(keys))", "length=len(keys), layers=[(K.copy(), V.copy()) for K, V in kv.layers])"),
    M("np.generate.decode_forward", "invariant", "length counts pieces, not tokens",
      "kv._replace(length=len(keys))", "kv._replace(length=kv.length + 1)"),
    M("np.generate._attention", "invariant", "groups: head h reads keys h mod G",
      "Q = Q.reshape(B, G, share * t, k)", "Q = Q.reshape(B, share, G, t, k).swapaxes(1, 2).reshape(B, G, share * t, k)"),
    M("np.generate._attention", "invariant", "groups: mask repeated row by row",
      "np.tile(mask, (1, share, 1))", "np.repeat(mask, share, axis=1)"),
    M("np.generate._self_attention", "invariant", "alibi: distances counted from the piece",
      "alibi_bias(config.heads, t, m, length)", "alibi_bias(config.heads, t, m)"),
    M("np.generate._self_attention", "invariant", "alibi forgotten", 'if config.position == "alibi":', "if False:"),
    M("np.generate._run", "invariant", "padding of the memory attended",
      'block["cross"], kv.memory_mask), None', 'block["cross"], None), None'),
    M("np.generate.init_kv", "invariant", "memory read with the weights of self-attention",
      '_heads(M, block["cross"], name, G)', '_heads(M, block["attention"], name, G)'),
    M("np.generate._run", "invariant", "cross-attention forgotten", "if kv.cross is not None:", "if False:"),
    M("np.generate._decoder", "invariant", "the encoder's embedding for the target",
      '" if config.source_vocab is None else "decoder"', '"'),
    M("np.generate._run", "invariant", "last norm forgotten", 'if config.norm_first else X', "if False else X"),
    M("np.generate.decode_forward", "invariant", "the head of the logits forgotten",
      "if config.tied else", "if True else"),
    M("np.generate._run", "invariant", "α forgotten",
      "config.residual, config.alpha,", "config.residual, 1.0,"),
    M("np.generate._run", "invariant", "activation forgotten", 'block["ff"], config.activation)', 'block["ff"])'),
    M("np.generate._run", "invariant", "last: the first", "X[:, -1:] if last", "X[:, :1] if last"),
    M("np.generate._run", "invariant", "last: ignored", "X[:, -1:] if last", "X if last"),
    M("np.generate.select_kv", "invariant", "selected rows keep their old starts",
      "mask, kv.start[rows], kv.length", "mask, kv.start[:len(rows)], kv.length"),
    M("np.generate.select_kv", "invariant", "selected rows keep the old memory",
      "pick(kv.layers), pick(kv.cross)", "pick(kv.layers), kv.cross"),
    M("np.generate.select_kv", "invariant", "selected rows share keys with the old ones",
      "[(K[rows], V[rows]) for K, V in pairs]", "[(K[:len(rows)], V[:len(rows)]) for K, V in pairs]"),
    M("np.generate.stream", "invariant", "everything computed again at each step",
      "ids = new[:, None]", "ids, kv = np.concatenate([ids, new[:, None]], axis=1), kv._replace(length=0)"),
    M("np.generate.stream", "invariant", "logits of the whole prompt made", ", last=True)", ")"),
    M("np.generate.stream", "invariant", "prompts padded on the right",
      "np.pad(prompt, (n - len(prompt), 0))", "np.pad(prompt, (0, n - len(prompt)))"),
    M("np.generate.stream", "invariant", "padding not told to the cache",
      "n + steps - 1, start, M", "n + steps - 1, None, M"),
    M("np.generate.stream", "invariant", "memory mask not handed on", ", memory_mask", ""),
    M("np.generate.stream", "invariant", "room for one word too few",
      "len(prompts), n + steps - 1", "len(prompts), n + steps - 2"),
    M("np.generate.stream", "invariant", "a stop word of one row ends all", "if ended.all():", "if ended.any():"),
    M("np.generate.stream", "invariant", "a stop word ends its row for one step",
      "ended = ended | np.isin", "ended = np.isin"),
    M("np.generate.stream", "invariant", "stop words ignored", "np.isin(new, stop)", "np.isin(new, [])"),
    M("np.generate.stream", "invariant", "the stop word returned",
      "            ended = ended | np.isin(new, stop)  # a row that has ended writes on, and nobody reads it\n"
      "            if ended.all():\n"
      "                return\n"
      "            yield np.where(ended, -1, new)",
      "            yield np.where(ended, -1, new)\n"
      "            ended = ended | np.isin(new, stop)\n"
      "            if ended.all():\n"
      "                return"),
    M("np.generate.stream", "invariant", "one draw for all rows",
      "rng.random(len(prompts))", "np.full(len(prompts), rng.random())"),
    M("np.generate.stream", "invariant", "top-k not handed on",
      "filters = temperature, top_k, top_p", "filters = temperature, None, top_p"),
    M("np.generate.stream", "invariant", "top-p not handed on",
      "filters = temperature, top_k, top_p", "filters = temperature, top_k, None"),
    M("np.generate.decode_forward", "invariant", "room not checked",
      '    has_room("decode", ids.shape[1], kv.length, kv.layers[0][0].shape[2])\n', ""),
    M("np.generate.stream", "invariant", "prompts not checked",
      '    prompts_fit("stream", config, prompts, steps, stop)\n', ""),
    M("np.generate.init_kv", "invariant", "sizes not checked",
      '    kv_fits("init_kv", config, n_max, start, M, memory_mask)\n', ""),
    M("np.generate.init_kv", "invariant", "tree not checked",
      '    fits("init_kv", params, config.shapes)\n', ""),
    M("np.generate.select_kv", "invariant", "a row counted from the end",
      '    ids_below("select_kv", len(kv.start), rows=rows)\n', ""),
    M("np.generate.init_kv", "invariant", "a memory of another batch", '"batch m d"', '"B m d"'),
    M("np.generate.decode_forward", "invariant", "rows that the cache has not", 'ids: Int[Array, "B t"]', 'ids: Int[Array, "b t"]'),
    M("np.generate.stream", "invariant", "stop words of any kind", "stop: Wholes = ()", "stop=()"),
    M("np.generate.generate + stream", "invariant", "prompts as arrays alone",
      "prompts: IdRows", "prompts: list[Int[Array, ' _']]", "prompts: IdRows", "prompts: list[Int[Array, ' _']]"),
    M("np.generate.stream", "invariant", "faults found when the stream is read",
      "return words(ids, kv)", "yield from words(ids, kv)"),
    M("pt.generate.stream", "invariant", "faults found when the stream is read",
      "return words(ids, kv)", "yield from words(ids, kv)"),
    M("pt.generate.decode", "invariant", "modules not read", 'read("decode", params)', "params"),
    *(M(f"pt.generate.{name}", "invariant", f"{name}: what a hook does passed over",
        f'read("{name}", params)', '__import__("byhand.tree").tree.of_module(params)')
      for name in ("init_kv", "decode", "stream")),
    M("pt.generate.decode", "invariant", "positions restart at 0",
      "(columns - kv.start[:, None]).clamp(min=0)", "(columns - kv.length - kv.start[:, None]).clamp(min=0)"),
    M("pt.generate.decode", "invariant", "positions of the padded columns",
      "(columns - kv.start[:, None]).clamp(min=0)", "columns.expand(ids.shape)"),
    M("pt.generate._self_attention", "invariant", "keys cached before they are turned",
      "Q, K = rope(Q, **pairs), rope(K, **pairs)", "Q = rope(Q, **pairs)"),
    M("pt.generate.decode", "invariant", "padded keys attended", "minimum(kv.start", "minimum(0 * kv.start"),
    M("pt.generate._attention + decode", "invariant", "padding sees nothing and becomes NaN",
      "Z = fused_attention(Q, K, V, mask)",
      "Z = fused_attention(Q, K, V, mask) if mask is None else torch.softmax((Q @ K.mT / "
      "k**0.5).masked_fill(~mask, -torch.inf), -1) @ V",
      "torch.minimum(kv.start[:, None], columns)[...", "kv.start[:, None"),
    M("pt.generate.decode", "invariant", "mask: a token does not see itself",
      "(keys <= columns[:, None])", "(keys < columns[:, None])"),
    M("pt.generate._self_attention", "invariant", "new keys written over the first",
      "old[:, :, length:m] = new", "old[:, :, :t] = new"),
    M("pt.generate.init_kv", "invariant", "keys of one layer in every layer", ") for _ in blocks]", ")] * len(blocks)"),
    M("pt.generate.init_kv", "invariant", "keys and values in one tensor", ", E.new_zeros(size))", ",) * 2"),
    M("pt.generate.init_kv", "invariant", "a cache of the default dtype",
      "[(E.new_zeros(size), E.new_zeros(size)) for", "[(torch.zeros(size), torch.zeros(size)) for"),
    M("pt.generate.init_kv", "invariant", "keys repeated for every head",
      "G, E = config.groups, embedding", "G, E = config.heads, embedding"),
    M("pt.generate._attention", "invariant", "groups: mask repeated row by row",
      "mask.repeat(1, share, 1)", "mask.repeat_interleave(share, 1)"),
    M("pt.generate._self_attention", "invariant", "alibi: distances counted from the piece",
      "alibi_bias(config.heads, t, m, length, ", "alibi_bias(config.heads, t, m, 0, "),
    M("pt.generate.decode", "invariant", "padding of the memory attended",
      'block["cross"], kv.memory_mask)', 'block["cross"], None)'),
    M("pt.generate._decoder", "invariant", "the encoder's embedding for the target",
      '" if config.source_vocab is None else "decoder"', '"'),
    M("pt.generate.select_kv", "invariant", "selected rows share keys with the old ones",
      "[(K[rows], V[rows]) for K, V in pairs]", "[(K[:len(rows)], V[:len(rows)]) for K, V in pairs]"),
    M("pt.generate.stream", "invariant", "everything computed again at each step",
      "ids = new[:, None]", "ids, kv = torch.cat([ids, new[:, None]], dim=1), kv._replace(length=0)"),
    M("pt.generate.stream", "invariant", "prompts padded on the right",
      "np.pad(prompt, (n - len(prompt), 0))", "np.pad(prompt, (0, n - len(prompt)))"),
    M("pt.generate.stream", "invariant", "a stop word of one row ends all",
      "if stop and ended.all():", "if stop and ended.any():"),
    M("pt.generate._uniform", "invariant", "one draw for all rows",
      "torch.rand(batch, dtype", "torch.rand(1, dtype",
      "device=rng.device).to(device)", "device=rng.device).to(device).expand(batch)"),
    M("pt.generate._uniform", "invariant", "draws from the global generator", "generator=rng, ", ""),
    M("pt.generate.stream", "invariant", "top-p not handed on",
      "(temperature, top_k, top_p), torch", "(temperature, top_k, None), torch"),
    M("pt.generate.decode + init_kv", "invariant", "gradients kept of every step",
      "@torch.inference_mode()\n", "",
      "@torch.inference_mode()\n", ""),
    M("pt.generate.init_kv", "invariant", "gradients of the memory kept", "@torch.inference_mode()\n", ""),
    M("pt.generate.decode", "invariant", "room not checked",
      '    has_room("decode", ids.shape[1], kv.length, kv.layers[0][0].shape[2])\n', ""),
    M("pt.generate.stream", "invariant", "prompts not checked",
      '    prompts_fit("stream", config, prompts, steps, stop)\n', ""),
    M("pt.generate.init_kv", "invariant", "sizes not checked",
      '    kv_fits("init_kv", config, n_max, start, M, memory_mask)\n', ""),
]
