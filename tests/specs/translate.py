# ruff: noqa: E501
"""Proofs of batches, the teacher-forced loss and the searches: definitions in plain Python, all sentences tried, torch."""

import functools
import itertools
import math
from unittest import mock

import numpy as np
import torch
from byhand import tree
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.metrics import corpus_bleu
from byhand.np import translate as np_translate
from byhand.np.model import encoder_decoder_forward
from byhand.pt.model import EncoderDecoder
from byhand.pt.model import encoder as pt_encoder
from invariants import near, raises, rng, same
from mutants import M
from proofs import habits, refusals
from scipy.special import log_softmax
from twins import Case, Spec

PAD, BOS, EOS = 0, 1, 2
MARKS = {"pad": PAD, "bos": BOS, "eos": EOS}
CONFIG = ModelConfig("encoder_decoder", vocab=6, d=4, heads=2, layers=1, d_ff=3, n_max=9)
OTHER = ModelConfig("encoder_decoder", vocab=5, source_vocab=7, d=4, heads=2, layers=1, d_ff=3, n_max=9, p=0.3,
                    position="learned", tied=False, bias=False, rms=True)
PAIRS = [([3, 5, 4], [4, 3]), ([5], [3, 3, 4, 4]), ([4, 4, 3, 3, 5], []), ([3, 4], [4])]


@functools.cache
def model(config=CONFIG):
    """Random parameters, large enough that sentences end in different ways."""
    r = np.random.default_rng(22)
    return tree.map_tree(lambda x: 1.5 * x + 0.5 * r.normal(size=x.shape), init_model(r, config, np.float64))


def loss_cases(rng):
    """A model so small that central differences of every parameter take no time."""
    config = ModelConfig("encoder_decoder", vocab=6, d=2, heads=1, layers=1, d_ff=2, bias=False, rms=True)
    params = tree.map_tree(lambda x: x + 0.2 * rng.normal(size=x.shape), init_model(rng, config, np.float64))
    batch = np_translate.batch_pairs([([3, 5, 4], [4, 3]), ([5], [3, 3, 4]), ([4, 4], [])], PAD, BOS, EOS)
    yield Case("padded, smoothed", {"params": params}, {"batch": batch, "config": config, "smoothing": 0.2})


TWINS = [Spec("translate", "translation_loss", loss_cases)]


def in_numpy(module):
    return ".np." in module.__name__


def numbers(x):
    """Arrays, whichever half they come from."""
    return tree.map_tree(np.asarray, x) if isinstance(x, dict) else np.asarray(x)


def tensors(module, x):
    return x if in_numpy(module) else tree.to_torch(x) if isinstance(x, dict) else torch.tensor(x)


# Batches


def targets_move_one_place(module):
    targets = rng().integers(0, 9, size=(2, 3, 5))
    shifted = numbers(module.shift_right(tensors(module, targets), 7))
    same(shifted[..., 1:], targets[..., :-1], "what is read and what was written before")
    assert (shifted[..., 0] == 7).all() and shifted.shape == targets.shape and shifted.dtype == targets.dtype


def a_batch_by_hand(module):
    """BOS in front of what is read, EOS behind what is written, and no label where nothing is written."""
    batch = numbers(module.batch_pairs([([3, 4, 5], [4, 5]), ((6,), np.array([], int)), (np.array([5, 6]), [3, 3, 3])], **MARKS))
    assert batch.keys() == {"source", "source_mask", "inputs", "labels"}
    same(batch["source"], [[3, 4, 5], [6, 0, 0], [5, 6, 0]], "sources")
    same(batch["source_mask"], [[[True] * 3], [[True, False, False]], [[True, True, False]]], "masks")
    same(batch["inputs"], [[1, 4, 5, 0], [1, 0, 0, 0], [1, 3, 3, 3]], "inputs")
    same(batch["labels"], [[4, 5, 2, -1], [2, -1, -1, -1], [3, 3, 3, 2]], "labels")
    assert module.IGNORE == -1 and all(x.dtype == np.int64 for name, x in batch.items() if name != "source_mask")


def ids_of_any_whole_dtype_make_one_batch(module):
    """Sentences, marks and sizes of every dtype: int64 all of it, and no id cut to the width of another."""
    pairs = [([3, 100, 5], [101, 3]), ([6], [])]
    expected = numbers(module.batch_pairs(pairs, **MARKS))
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        given = [(np.array(x, dtype), np.array(y, dtype)) for x, y in pairs]
        marks = {name: dtype(x) for name, x in MARKS.items()}
        epochs = module.epoch(given, dtype(2), **marks, rng=rng()), module.epoch(pairs, 2, **MARKS, rng=rng())
        for batch, right in ((module.batch_pairs(given, **marks), expected), *zip(*epochs, strict=True)):
            for name, x in numbers(batch).items():
                same(x, numbers(right)[name], f"{name} of {dtype.__name__}")
                assert x.dtype == (bool if name == "source_mask" else np.int64), f"{name} of {dtype.__name__} is {x.dtype}"
    long = numbers(module.batch_pairs([([300, 5], [301])], np.uint8(7), 1, 2))
    assert long["source"].tolist() == [[300, 5]] and long["labels"].tolist() == [[301, 2]]
    wide = numbers(module.batch_pairs([([300, 5], [301]), ([3], [])], np.uint16(7), 1, 2))
    assert wide["labels"].tolist() == [[301, 2], [2, -1]]


def numbers_of_numpy_are_numbers(module):
    """A beam, a length and marks of a narrow dtype are those numbers, and do not overflow."""
    for seed, V, max_len, beam, alpha, sources, keep in SEARCHES[:2]:
        narrow = [np.uint8(x) for x in (BOS, EOS, max_len, beam)]
        found = module.beam_search(step_over(module, seed, V, sources), *narrow, np.float32(alpha), np.int8(sources), np.uint8(keep))
        right = module.beam_search(step_over(module, seed, V, sources), BOS, EOS, max_len, beam, float(np.float32(alpha)), sources, keep)
        assert found == right


def sources_come_as_people_have_them(module):
    """Lists, arrays, one array of all, in pt tensors and modules too; a source alone is a batch of one."""
    rows = [[3, 5, 4], [5, 4, 4]]
    params = tensors(module, model())
    search = dict(MARKS, max_len=5, beam=2)
    expected = module.translate(rows, params, CONFIG, **search)
    given = [tuple(map(tuple, rows)), np.array(rows, np.uint16), [np.array(row, np.uint8) for row in rows]]
    for sources in given + ([] if in_numpy(module) else [torch.tensor(rows), [torch.tensor(row) for row in rows]]):
        assert module.translate(sources, params, CONFIG, **search) == expected
    assert module.translate(rows[0], params, CONFIG, **search) == expected[:1]
    if not in_numpy(module):
        net = EncoderDecoder(CONFIG).double()
        net.load_state_dict(tree.flatten(params))
        assert module.translate(rows, net, CONFIG, **search) == expected
        net.encoder.blocks[0].register_forward_hook(print)
        raises(ValueError, "translate: encoder.blocks.0 has a hook, expected none", lambda: module.translate(rows, net, CONFIG, **search))
        raises(ValueError, "translation_step: encoder.blocks.0 has a hook, expected none",
               lambda: module.translation_step(torch.tensor(rows), torch.ones(2, 1, 3, dtype=torch.bool), net, CONFIG, 5))


def an_epoch_has_every_pair_once(module):
    """In batches of similar length, in random order; 50 pairs in batches of 8, the last of which has 2."""
    r = rng()
    pairs = [([3 + i % 7] * int(r.integers(1, 9)), [3 + i // 7] * int(r.integers(1, 9))) for i in range(50)]
    one, two, three = (module.epoch(pairs, 8, **MARKS, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    one, two, three = ([numbers(batch) for batch in batches] for batches in (one, two, three))
    for batches in (one, three):
        assert sorted(len(batch["source"]) for batch in batches) == [2, 8, 8, 8, 8, 8, 8]
        found = [([x for x in s if x != PAD], [y for y in t[1:] if y != PAD])
                 for batch in batches for s, t in zip(batch["source"].tolist(), batch["inputs"].tolist(), strict=True)]
        assert sorted(found) == sorted(pairs)
        assert sum((batch["labels"] == -1).sum() for batch in batches) < 40, "157 in the order of the list"
        lengths = [batch["labels"].shape[1] for batch in batches]
        assert lengths not in (sorted(lengths), sorted(lengths, reverse=True)), "batches come in random order"
    for a, b in zip(one, two, strict=True):
        assert all(np.array_equal(a[name], b[name]) for name in a)
    assert [batch["source"].tolist() for batch in one] != [batch["source"].tolist() for batch in three]
    assert {str(b["source"].tolist()) for b in one} != {str(b["source"].tolist()) for b in three}, "equals are mixed anew"


# The loss


def word_by_word(pairs, params, config, smoothing=0.0):
    """Σ over words of −log p(y_t | y_<t, source), each from a pass over its own prefix alone, unpadded; and the words."""
    total, words = 0.0, 0
    for source, target in pairs:
        for t, word in enumerate([*target, EOS]):
            logits, _ = encoder_decoder_forward(np.array([source]), np.array([[BOS, *target[:t]]]), params, config)
            Y = log_softmax(logits[0, -1])
            total, words = total - (1 - smoothing) * Y[word] - smoothing * Y.mean(), words + 1
    return total, words


@functools.cache
def losses_word_by_word():
    return {(config, eps): word_by_word(PAIRS, model(config), config, eps) for config in (CONFIG, OTHER) for eps in (0.0, 0.3)}


def loss_is_of_each_next_word(module):
    """Padding, neither of sources nor of targets, changes the mean; nor does smoothing spread over it."""
    for (config, smoothing), (total, words) in losses_word_by_word().items():
        params, batch = tensors(module, model(config)), module.batch_pairs(PAIRS, **MARKS)
        if in_numpy(module):
            L, _ = module.translation_loss_forward(params, batch, config, smoothing)
        else:
            L = module.translation_loss(params, batch, config, smoothing)
        near(np.asarray(L), total / words, f"loss, smoothing {smoothing}")


def gradients_for_a_training_loop(module):
    """loss_and_grads is the loss, its gradients and the words that count; dropout draws from rng."""
    params, batch = model(OTHER), module.batch_pairs(PAIRS, **MARKS)
    L, grads, weight = module.loss_and_grads(params, batch, None, OTHER, 0.3)
    total, words = losses_word_by_word()[OTHER, 0.3]
    near(L, total / words, "losses")
    assert weight == words == 11 and type(weight) is int
    _, cache = np_translate.translation_loss_forward(params, batch, OTHER, 0.3)
    expected = tree.flatten(np_translate.translation_loss_backward(1.0, cache))
    for name, g in tree.flatten(grads).items():
        near(g, expected[name], f"d{name}")
    dropped = [module.loss_and_grads(params, batch, seed and np.random.default_rng(seed), OTHER)[0] for seed in (None, 1, 1, 2)]
    assert dropped[1] == dropped[2] and len(set(map(float, dropped))) == 3


def a_module_has_the_same_loss(module):
    """The twin of loss_and_grads: loss, weight and every gradient; dropout while it trains."""
    net = EncoderDecoder(OTHER).double()
    net.load_state_dict(tree.flatten(tree.to_torch(model(OTHER))))
    batch = module.batch_pairs(PAIRS, **MARKS)
    L, grads, weight = np_translate.loss_and_grads(model(OTHER), numbers(batch), None, OTHER, 0.1)
    loss, count = module.loss_and_weight(net.eval(), batch, 0.1)
    loss.backward()
    near(loss.detach(), L, "losses")
    assert count == weight and count.ndim == 0
    for name, p in net.named_parameters():
        near(p.grad, tree.flatten(grads)[name], f"d{name}", 1e-10)
    params = tree.unflatten(net.state_dict())
    assert module.translation_loss(params, batch, OTHER) == module.loss_and_weight(net, batch)[0]
    torch.manual_seed(0)
    dropped = [module.translation_loss(params, batch, OTHER, 0.1, training=True), module.loss_and_weight(net.train(), batch, 0.1)[0]]
    assert all(x != loss for x in dropped)


# Searches over a table, without a model


@functools.cache
def table(seed, source, prefix, V):
    """log p of the next word after a prefix, made at random; for odd seeds of few values, so that many are equal."""
    r = np.random.default_rng([seed, source, *prefix])
    if seed % 2:
        return r.choice([-0.25, -1.0, -1.5, -np.inf], size=V, p=[0.3, 0.3, 0.3, 0.1]) if prefix[-1] != V - 1 else np.full(V, -1.0)
    return log_softmax(1.5 * r.normal(size=V))


def alive(seed, source, prefix, V):
    """The table, without rows of −∞ alone."""
    Y = table(seed, source, prefix, V)
    return Y if (Y > -np.inf).any() else np.full(V, -1.0)


def step_over(module, seed, V, sources):
    """A step that knows of a row only what it can follow through `parents`, and holds a search to what it promises."""
    rows, calls = [(s, None) for s in range(sources)], []

    def step(prefixes, parents):
        nonlocal rows
        assert len(prefixes) == len(parents) > 0
        new = []
        for y, parent in zip(prefixes.tolist(), parents.tolist(), strict=True):
            source, before = rows[parent]
            assert y[:-1] == before if calls else (y == [BOS] and parent == len(new)), "a row goes on from its parent"
            assert EOS not in y, "what has ended is not extended"
            new.append((source, y))
        rows = new
        calls.append(len(rows))
        Y = np.array([alive(seed, source, tuple(y), V) for source, y in rows])
        return Y if in_numpy(module) else torch.tensor(Y)

    step.calls = calls
    return step


def penalised(p, length, alpha):
    return p / ((5 + length) / 6) ** alpha


def beam_by_definition(seed, source, V, max_len, beam, alpha, keep):
    """No arrays, no early end: to max_len with the `beam` best; those that end are put aside and ranked."""
    live, ended = [((BOS,), 0.0)], []
    for t in range(1, max_len + 1):
        grown = [(y + (w,), p + q) for y, p in live for w, q in enumerate(alive(seed, source, y, V)) if q > -np.inf]
        grown = sorted(grown, key=lambda h: -h[1])[:beam]
        ended += [(penalised(p, t, alpha), list(y[1:-1]), p) for y, p in grown if y[-1] == EOS]
        live = [(y, p) for y, p in grown if y[-1] != EOS]
    best = [(y, p, True) for _, y, p in sorted(ended, key=lambda h: -h[0])]
    return (best + [(list(y[1:]), p, False) for y, p in live])[:keep]


def agree(found, expected, what):
    assert [(h.tokens, h.finished) for h in found] == [(y, finished) for y, _, finished in expected], f"{what}: {found}, expected {expected}"
    near([h.log_p for h in found], [p for _, p, _ in expected], what)


SEARCHES = [  # seed, words, max_len, beam, α, sources, keep
    (0, 4, 5, 3, 0.6, 3, 1), (2, 5, 7, 4, 1.5, 2, 3), (4, 6, 1, 2, 1.0, 2, 2), (1, 4, 6, 3, 0.0, 4, 2), (3, 5, 6, 5, 1.0, 3, 4),
    (5, 4, 4, 2, 0.6, 2, 5), (7, 3, 5, 9, 0.3, 3, 1), (6, 4, 8, 2, 3.0, 3, 1), (8, 7, 3, 6, 0.6, 5, 2), (9, 4, 5, 1, 2.0, 2, 1),
    (10, 3, 9, 2, 2.0, 3, 1), (12, 3, 9, 3, 2.5, 3, 2), (14, 3, 9, 3, 2.0, 3, 1)]


@functools.cache
def expected_searches():
    return [[beam_by_definition(seed, s, V, max_len, beam, alpha, keep) for s in range(sources)]
            for seed, V, max_len, beam, alpha, sources, keep in SEARCHES]


def beam_search_is_its_definition(module):
    """Also where it stops early, where scores are equal, where words cannot come, and where nothing ends."""
    for (seed, V, max_len, beam, alpha, sources, keep), expected in zip(SEARCHES, expected_searches(), strict=True):
        step = step_over(module, seed, V, sources)
        found = module.beam_search(step, BOS, EOS, max_len, beam, alpha, sources, keep)
        assert len(found) == sources
        for h, e in zip(found, expected, strict=True):
            agree(h, e, f"seed {seed}")


def beam_of_one_is_greedy(module):
    for seed in range(5):
        V, max_len, sources = 3 + seed, 6, 3
        greedy = module.greedy_search(step_over(module, seed, V, sources), BOS, EOS, max_len, sources)
        for s, h in enumerate(greedy):
            y, p = (BOS,), 0.0
            while len(y) <= max_len and y[-1] != EOS:
                Y = alive(seed, s, y, V)
                y, p = (*y, int(Y.argmax())), p + Y.max()
            agree([h], [(list(y[1:-1] if y[-1] == EOS else y[1:]), p, y[-1] == EOS)], f"greedy, seed {seed}")
        for alpha in (0.0, 2.0):
            beams = module.beam_search(step_over(module, seed, V, sources), BOS, EOS, max_len, 1, alpha, sources)
            assert [[h] for h in greedy] == beams


@functools.cache
def all_sentences(seed, V, max_len):
    """(tokens, log p, |y|) of every sentence that ends within max_len."""
    words = [w for w in range(V) if w != EOS]
    found = []
    for n in range(max_len):
        for y in itertools.product(words, repeat=n):
            prefix = (BOS, *y, EOS)
            found.append((list(y), sum(alive(seed, 0, prefix[:t], V)[prefix[t]] for t in range(1, len(prefix))), n + 1))
    return found


def a_beam_wide_enough_is_exhaustive(module):
    """With V^max_len places nothing is dropped: the five best of all sentences, and no narrower beam finds a better one."""
    V, max_len = 3, 4
    for seed in (0, 2):
        sentences = all_sentences(seed, V, max_len)
        for alpha in (0.0, 0.6, 2.0):
            best = sorted(sentences, key=lambda h: -penalised(*h[1:], alpha))  # noqa: B023
            found, = module.beam_search(step_over(module, seed, V, 1), BOS, EOS, max_len, V**max_len, alpha, keep=5)
            agree(found, [(y, p, True) for y, p, _ in best[:5]], f"α = {alpha}")
            narrow, = module.beam_search(step_over(module, seed, V, 1), BOS, EOS, max_len, 2, alpha)
            score = penalised(narrow[0].log_p, len(narrow[0].tokens) + 1, alpha)
            assert not narrow[0].finished or score <= penalised(*best[0][1:], alpha) + 1e-12


def a_search_that_greed_loses(module):
    """After "3" (0.5) all is unsure; after "4" (0.4) the end is certain: 0.4 beats 0.5 · 0.3. Without a penalty the empty
    sentence (0.1) never wins, and with a large one the long sentence does."""
    p = {(): {3: 0.5, 4: 0.4, EOS: 0.1}, (4,): {EOS: 1.0}, (3,): {EOS: 0.3, 3: 0.7}, (3, 3): {EOS: 0.4, 3: 0.6}, (3, 3, 3): {EOS: 1.0}}

    def step(prefixes, parents):
        Y = np.log([[p[tuple(y[1:])].get(w, 1e-9) for w in range(5)] for y in prefixes.tolist()])
        return Y if in_numpy(module) else torch.tensor(Y)

    greedy, = module.greedy_search(step, BOS, EOS, 4)
    agree([greedy], [([3, 3, 3], math.log(0.5 * 0.7 * 0.6), True)], "greedy")
    for alpha, tokens in ((0.0, [4]), (0.6, [4]), (3.0, [3, 3, 3])):
        (best,), = module.beam_search(step, BOS, EOS, 4, 2, alpha)
        assert best.tokens == tokens, f"α = {alpha}"


def a_search_ends_when_nothing_can_win(module):
    """EOS has 0.9 at each step, the best other word 0.06: t words without an end can at most reach t ln 0.06 / penalty(40)."""
    Y = np.log([[0.02, 0.02, 0.9, 0.06]])
    for alpha, keep, expected in ((0.0, 1, 1), (0.6, 1, 1), (0.0, 2, 2), (0.6, 2, 4), (3.0, 1, 16)):
        calls = []

        def step(prefixes, parents, calls=calls):
            calls.append(len(prefixes))
            rows = Y.repeat(len(prefixes), axis=0)
            return rows if in_numpy(module) else torch.tensor(rows)

        module.beam_search(step, BOS, EOS, 40, 3, alpha, sources=2, keep=keep)
        assert len(calls) == expected and calls[0] == 2, f"α = {alpha}: {len(calls)} calls, expected {expected}"
    step = step_over(module, 0, 4, 3)
    module.greedy_search(step, BOS, EOS, 30, 3)
    ends = sorted(len(h.tokens) + 1 for h in module.greedy_search(step_over(module, 0, 4, 3), BOS, EOS, 30, 3))
    assert step.calls == [sum(t < n for n in ends) for t in range(ends[-1])], "a row that has ended is not asked again"


def length_penalty_is_that_of_wu(module):
    near([module.length_penalty(n, a) for n, a in ((1, 0.7), (13, 1.0), (13, 0.5), (7, 2.0), (40, 0.0))],
         [1, 3, math.sqrt(3), 4, 1], "penalties")


# Searches over a model


ALPHA = 2.0
SOURCES = [[3, 5, 4], [5], [4, 4, 3, 3, 5], [3, 4], [5, 5, 5, 3]]


@functools.cache
def one_by_one(config, beam):
    """Each source alone, its prefixes passed whole through the model: no padding, no cache."""
    def search(source):
        def step(prefixes, parents):
            logits, _ = encoder_decoder_forward(np.array([source] * len(prefixes)), prefixes, model(config), config)
            return log_softmax(logits[:, -1], axis=-1)

        return np_translate.beam_search(step, BOS, EOS, 5, beam, ALPHA)[0][0].tokens

    return [search(source) for source in SOURCES]


def a_batch_is_translated_as_each_source_alone(module):
    seen = set()
    for config, beam, size in ((CONFIG, 3, 2), (OTHER, 2, 64)):
        sources = [tuple(SOURCES[0]), np.array(SOURCES[1]), *SOURCES[2:]]
        found = module.translate(sources, tensors(module, model(config)), config, **MARKS, max_len=5, beam=beam, alpha=ALPHA, size=size)
        assert found == one_by_one(config, beam), (found, one_by_one(config, beam))
        seen |= {len(y) for y in found}
    assert len(seen) > 2, "sentences of several lengths"


def a_step_gives_log_probabilities(module):
    """Those of the model over the whole prefix, for rows in any order; in float32 they are float32."""
    for dtype in (np.float64, np.float32):
        params = tree.map_tree(lambda x: x.astype(dtype), model())  # noqa: B023
        source = np.array([[3, 4, 5], [5, 0, 0]])
        mask, prefixes = np.array([[[True] * 3], [[True, False, False]]]), np.array([[BOS, 4, 3], [BOS, 5, 5], [BOS, 3, 3]])
        step = module.translation_step(*(tensors(module, x) for x in (source, mask)), tensors(module, params), CONFIG, 5)
        for t, (rows, parents) in enumerate((([0, 1], [0, 1]), ([1, 0, 2], [1, 0, 0]), ([1, 0, 2], [0, 1, 2])), 1):
            Y = numbers(step(*(tensors(module, np.array(x)) for x in (prefixes[rows, :t], parents))))
            assert Y.dtype == dtype
        whole = encoder_decoder_forward(source[[1, 0, 0]], prefixes[rows], params, CONFIG, mask[[1, 0, 0]])[0]
        near(Y, log_softmax(whole[:, -1], axis=-1), "log probabilities", 1e-12 if dtype == np.float64 else 1e-5)


def bleu_is_of_what_the_model_writes_alone(module):
    """Other references, other BLEU, but the same translations: the model never sees them."""
    params = tensors(module, model())
    translations = []
    for targets in ([[4, 3]] * 5, [[5, 5, 5]] * 5):
        score, found = module.translation_bleu(list(zip(SOURCES, targets, strict=True)), params, CONFIG, **MARKS, max_len=5, beam=3, alpha=ALPHA)
        assert score == corpus_bleu(found, [[y] for y in targets])
        translations.append(found)
    assert translations[0] == translations[1] == one_by_one(CONFIG, 3)


def everything_is_made_where_it_is_told(module):
    """With another default device, whatever is made without a word about it meets the rest in vain."""
    params, cpu = tree.to_torch(model()), torch.device("cpu")
    batch, rows = module.batch_pairs(PAIRS, **MARKS), torch.tensor([[3, 4]])
    with torch.device("meta"):
        assert module.translate(SOURCES[:2], params, CONFIG, **MARKS, max_len=5, beam=3, alpha=ALPHA) == one_by_one(CONFIG, 3)[:2]
        for batch_there in (module.batch_pairs(PAIRS, **MARKS, device=cpu), *module.epoch(PAIRS, 4, **MARKS, rng=rng(), device=cpu)):
            assert all(x.device == cpu for x in batch_there.values())
        assert module.shift_right(rows, 1).device == cpu
        step = module.translation_step(rows, rows[:, None] > 0, params, CONFIG, 4)
        assert module.greedy_search(step, BOS, EOS, 4, device=cpu)
        module.translation_loss(params, batch, CONFIG, 0.1)


def nothing_here_keeps_a_graph(module):
    """Neither the searches nor what the step does of its own."""
    seen = []

    def step(prefixes, parents):
        seen.append(torch.is_grad_enabled())
        return torch.full((len(prefixes), 4), -1.0)

    def encoder(*args):
        seen.append(torch.is_grad_enabled())
        return pt_encoder(*args)

    module.greedy_search(step, BOS, EOS, 2)
    module.beam_search(step, BOS, EOS, 2)
    params = tree.map_tree(lambda x: torch.tensor(x, requires_grad=True), model())
    with mock.patch.object(module, "encoder", encoder):
        rows = torch.tensor([[3, 4]])
        step = module.translation_step(rows, rows[:, None] > 0, params, CONFIG, 4)
    assert not any(seen) and len(seen) > 3
    assert not step(torch.tensor([[BOS]]), torch.tensor([0])).requires_grad


def half_precision_ends_in_whole(module):
    """The softmax of bfloat16 logits is taken in float32: their probabilities sum to one."""
    params = tree.to_torch(model(), dtype=torch.bfloat16)
    rows = torch.tensor([[3, 4]])
    Y = module.translation_step(rows, rows[:, None] > 0, params, CONFIG, 4)(torch.tensor([[BOS]]), torch.tensor([0]))
    assert Y.dtype == torch.float32
    near(Y.exp().sum().item(), 1.0, "the sum and 1", 1e-6)


STEP = lambda prefixes, parents: -np.ones((len(prefixes), 4))  # noqa: E731
A = np.array([[3, 4]])
BOTH = lambda step: (  # noqa: E731  (the rows that both halves refuse)
    ("batch_pairs", ValueError, "batch_pairs: source 1 holds pad, which is 0, expected words alone", [([3], [4]), ([3, 0], [4])], 0, 1, 2),
    ("batch_pairs", ValueError, "target 0 holds bos, which is 1", [([3], [1, 4])], 0, 1, 2),
    ("batch_pairs", ValueError, "target 0 holds eos, which is 2", [([3], [4, 2])], 0, 1, 2),
    ("batch_pairs", ValueError, "target 0 holds pad, which is 0", [([3], [4, 0])], 0, 1, 2),
    ("batch_pairs", ValueError, r"source of pairs\[0\] has 0 ids, expected at least 1", [([], [4])], 0, 1, 2),
    ("batch_pairs", ValueError, "the marks are pad 0, bos 1, eos 0, expected different ids", [([3], [4])], 0, 1, 0),
    ("batch_pairs", ValueError, "bos is -1, expected at least 0", [([3], [4])], 0, -1, 2),
    ("batch_pairs", ValueError, "pairs has 0 entries, expected at least 1", [], 0, 1, 2),
    ("batch_pairs", TypeError, r"pairs\[0\] is str, expected \(source, target\)", ["ab"], 0, 1, 2),
    ("batch_pairs", TypeError, r"source of pairs\[0\] is str, expected a list of ids", [("ab", "cd")], 0, 1, 2),
    ("batch_pairs", TypeError, r"target of pairs\[0\]\[0\] is str, expected a whole number", [([3], ["cd"])], 0, 1, 2),
    ("batch_pairs", ValueError, "target 0 holds -1, expected whole numbers", [([3], [4, -1])], 0, 1, 2),
    ("batch_pairs", TypeError, r"source of pairs\[0\]\[0\] is list, expected a whole number", [([[3, 3]], [4])], 0, 1, 2),
    ("epoch", ValueError, "epoch: size is 0, expected at least 1", [([3], [4])], 0, 0, 1, 2, rng()),
    ("epoch", ValueError, "pairs has 0 entries", [], 1, 0, 1, 2, rng()),
    ("translate", ValueError, "translate: source 1 holds pad", [[3], [0]], {}, CONFIG, 0, 1, 2),
    ("translate", ValueError, "size is 0, expected at least 1", [[3]], {}, CONFIG, 0, 1, 2, 6, 1, 0.6, 0),
    ("translate", ValueError, "translate: params has no names, expected encoder, decoder", [[3]], {}, CONFIG, 0, 1, 2),
    ("translate", TypeError, "translate: config is NoneType, expected ModelConfig", [[3]], {}, None, 0, 1, 2),
    ("translate", TypeError, r"translate: sources\[0\]\[0\] is float, expected a whole number", [[3.5]], {}, CONFIG, 0, 1, 2),
    ("epoch", TypeError, "epoch: rng is NoneType, expected a NumPy Generator", [([3], [4])], 1, 0, 1, 2, None),
    ("translation_loss_forward" if step is STEP else "translation_loss", TypeError, "config is NoneType, expected ModelConfig", {}, {}, None),
    ("translation_loss_forward" if step is STEP else "translation_loss", ValueError, "batch has no names, expected source, source_mask, inputs, labels", {}, {}, CONFIG),
    ("translation_bleu", ValueError, "1 holds pad", [([3], [4]), ([0], [3])], {}, CONFIG, 0, 1, 2),
    ("greedy_search", ValueError, "greedy_search: the marks are bos 2, eos 2, expected different ids", step, 2, 2, 3),
    ("greedy_search", ValueError, "max_len is 0, expected at least 1", step, 1, 2, 0),
    ("greedy_search", ValueError, "sources is 0, expected at least 1", step, 1, 2, 3, 0),
    ("greedy_search", ValueError, r"what step gave has shape \(1, 4\), expected \(1, V\), V more than 4", step, 1, 4, 3),
    ("beam_search", ValueError, "beam_search: beam is 0, expected at least 1", step, 1, 2, 3, 0),
    ("beam_search", ValueError, "keep is 0, expected at least 1", step, 1, 2, 3, 4, 0.6, 1, 0),
    ("beam_search", ValueError, "alpha is -1.0, expected at least 0", step, 1, 2, 3, 4, -1.0),
    ("beam_search", ValueError, r"what step gave has shape \(1, 4\), expected \(1, V\), V more than 5", step, 1, 5, 3),
)
wrong_input_is_refused_by_name = refusals(
    *BOTH(STEP),
    ("translation_step", ValueError, "config.kind is 'decoder', expected encoder_decoder", A, A[:, None] > 0, {}, ModelConfig("decoder", 5, 4, 2, 1), 4),
    ("translation_step", ValueError, r"source_mask has shape \(1, 1, 2\), expected \(1, 1, 3\)", np.array([[3, 4, 5]]), A[:, None] > 0, {}, CONFIG, 4),
    ("shift_right", TypeError, "shift_right: targets has dtype float64", np.ones((2, 3)), 1),
    ("shift_right", ValueError, "bos is -1, expected at least 0", A, -1),
    ("shift_right", ValueError, "tokens of targets is 0, expected at least 1", A[:, :0], 1),
    ("length_penalty", ValueError, "length_penalty: length is -1, expected at least 0", -1, 0.5),
    ("length_penalty", ValueError, "alpha is -0.5, expected at least 0", 1, -0.5),
    ("greedy_search", ValueError, "what step gave holds 1.0, expected log probabilities, at most 0", lambda y, _: -STEP(y, _), 1, 2, 3),
    ("greedy_search", ValueError, "what step gave has a row of −∞ alone", lambda y, _: np.inf * STEP(y, _), 1, 2, 3),
    ("beam_search", ValueError, "what step gave holds nan at index", lambda y, _: np.nan * STEP(y, _), 1, 2, 3),
    ("beam_search", TypeError, "what step gave is list, expected a NumPy array", lambda y, _: [[0.0] * 4], 1, 2, 3),
    ("beam_search", ValueError, r"what step gave has shape \(2, 4\), expected \(1, 4\)", lambda y, _: STEP("ab", _), 1, 2, 3),
)
wrong_tensors_are_refused_by_name = refusals(
    *BOTH(lambda prefixes, parents: torch.tensor(STEP(prefixes, parents))),
    ("translation_step", ValueError, "config.kind is 'decoder', expected encoder_decoder", torch.tensor(A), torch.tensor(A[:, None] > 0), {}, ModelConfig("decoder", 5, 4, 2, 1), 4),
    ("shift_right", TypeError, "shift_right: targets has dtype torch.float32", torch.ones(2, 3), 1),
    ("shift_right", ValueError, "bos is -1, expected at least 0", torch.tensor(A), -1),
    ("shift_right", ValueError, "tokens of targets is 0, expected at least 1", torch.tensor(A)[:, :0], 1),
    ("beam_search", TypeError, "what step gave is numpy.ndarray, expected a torch tensor", STEP, 1, 2, 3),
)

SHARED = [targets_move_one_place, a_batch_by_hand, ids_of_any_whole_dtype_make_one_batch, numbers_of_numpy_are_numbers,
          sources_come_as_people_have_them, an_epoch_has_every_pair_once, loss_is_of_each_next_word,
          beam_search_is_its_definition, beam_of_one_is_greedy, a_beam_wide_enough_is_exhaustive, a_search_that_greed_loses,
          a_search_ends_when_nothing_can_win, a_batch_is_translated_as_each_source_alone,
          a_step_gives_log_probabilities, bleu_is_of_what_the_model_writes_alone]
INVARIANTS = {
    "np.translate": [*habits(TWINS), *SHARED, gradients_for_a_training_loop, length_penalty_is_that_of_wu, wrong_input_is_refused_by_name],
    "pt.translate": [*SHARED, a_module_has_the_same_loss, everything_is_made_where_it_is_told, nothing_here_keeps_a_graph,
                     half_precision_ends_in_whole, wrong_tensors_are_refused_by_name],
}
WRONG = [
    M("np.translate.shift_right", "invariant", "unshifted: the decoder reads the word that it should write",
      "targets[..., :-1]], axis=-1)", "targets[..., 1:]], axis=-1)",
      "np.full_like(targets[..., :1], bos)", "targets[..., :1]"),
    M("np.translate.shift_right", "invariant", "shifted the other way",
      "np.full_like(targets[..., :1], bos), targets[..., :-1]",
      "targets[..., 1:], np.full_like(targets[..., :1], bos)"),
    M("np.translate.shift_right", "invariant", "shifted over the batch",
      "..., :1], bos), targets[..., :-1]], axis=-1", ":1], bos), targets[:-1]], axis=0"),
    M("np.translate.batch_pairs", "invariant", "BOS in the labels",
      "[np.append(target, eos) for _, target in pairs]", "[np.append([bos, *target], eos) for _, target in pairs]"),
    M("np.translate.batch_pairs", "invariant", "no EOS: the model never learns to end",
      "[np.append(target, eos) for _, target in pairs]", "[target if len(target) else np.array([eos]) for _, target in pairs]"),
    M("np.translate.batch_pairs", "invariant", "batch: all ids cut to the dtype of the pad", "pad: Index, bos: Index, eos: Index", "pad, bos, eos"),
    M("np.translate.batch_pairs", "invariant", "batch: ids as they come", "pairs: IdPairs", "pairs: list"),
    M("np.translate.beam_search", "invariant", "beam: a number of NumPy overflows", "beam: Size = 4", "beam=4"),
    M("np.translate.translate", "invariant", "translate: sources as they come", "sources: IdRows", "sources: list"),
    M("np.translate.batch_pairs", "invariant", "padding counted in the loss",
      "np.where(counted[:, 0], target, IGNORE)", "target"),
    M("np.translate.batch_pairs", "invariant", "words that are the pad's id ignored, not padding",
      "counted[:, 0], target, IGNORE", "target == target.max(), IGNORE, target"),
    M("np.translate.batch_pairs", "invariant", "inputs go on behind EOS",
      "np.where(counted[:, 0], shift_right(target, bos), pad", "shift_right(target, bos"),
    M("np.translate.batch_pairs", "invariant", "mask of the source inverted",
      '"source_mask": real,', '"source_mask": ~real,'),
    M("np.translate._rows", "invariant", "padded on the left",
      "ids[real[:, 0]] = np.concatenate(sentences)", "ids[real[:, 0, ::-1]] = np.concatenate(sentences)"),
    M("np.translate.translation_loss_forward", "twin invariant", "loss: padding of the source attended to",
      'config, batch["source_mask"], rng=rng)', "config, rng=rng)"),
    M("np.translate.translation_loss_forward", "twin invariant", "loss: smoothing spread over padding too",
      'batch["labels"], smoothing, IGNORE', 'np.maximum(batch["labels"], 0), smoothing'),
    M("np.translate.translation_loss_forward", "twin invariant", "loss: smoothing forgotten",
      ", smoothing, ", ", 0.0, "),
    M("np.translate.translation_loss_forward", "slope twin invariant", "loss: queries from the encoder, memory from the decoder",
      'source"], batch["inputs"], params, config, batch["source_mask"]',
      'inputs"], batch["source"], params, config, batch["inputs"][:, None] > 0'),
    M("np.translate.translation_loss_forward", "twin invariant", "loss: labels read as inputs, so that each word is seen",
      'batch["source"], batch["inputs"], params', 'batch["source"], np.maximum(batch["labels"], 0), params'),
    M("np.translate.translation_loss_backward", "slope twin", "loss: upstream forgotten",
      "cross_entropy_backward(dL, cache.loss)", "cross_entropy_backward(1.0, cache.loss)"),
    M("np.translate.translation_loss_backward", "slope twin invariant", "loss: logits of two sequences as one float64",
      "cache.loss), ", "cache.loss).astype(float) / 2, "),
    M("np.translate.translation_loss_forward", "slope twin invariant", "loss: labels written to",
      "    L, loss = cross_entropy_forward",
      '    batch["labels"][:] = np.maximum(batch["labels"], -1)\n'
      '    batch["labels"][-1, -1] = -1 if batch["labels"][-1, -1] != -1 else 0\n'
      "    L, loss = cross_entropy_forward"),
    M("np.translate.translation_loss_forward", "invariant", "loss: a NumPy number makes float64",
      "    return L, TranslationCache(model, loss)", "    return L * np.float64(1), TranslationCache(model, loss)"),
    M("np.translate.loss_and_grads", "invariant", "grads: no dropout", "smoothing, rng)", "smoothing)"),
    M("np.translate.loss_and_grads", "invariant", "grads: padding has weight",
      '(batch["labels"] != IGNORE).sum()', 'batch["labels"].size'),
    M("np.translate.loss_and_grads", "invariant", "grads: of the sum, not of the mean",
      "translation_loss_backward(1.0, cache), int",
      'translation_loss_backward(float((batch["labels"] != IGNORE).sum()), cache), int'),
    M("np.translate.epoch", "invariant", "epoch: not sorted by length", "(len(pairs[i][1]), len(pairs[i][0]))", "0"),
    M("np.translate.epoch", "invariant", "epoch: short sentences first, always",
      "for i in rng.permutation(len(groups))]", "for i in range(len(groups))]"),
    M("np.translate.epoch", "invariant", "epoch: the same batches every time",
      "sorted(rng.permutation(len(pairs)), key", "sorted(range(len(pairs)), key"),
    M("np.translate.epoch", "invariant", "epoch: the last batch dropped", "(order), size", "(order) - size + 1, size"),
    M("np.translate.length_penalty", "invariant", "length penalty: without the five",
      "((5 + length) / 6) ** alpha", "length ** alpha"),
    M("np.translate.length_penalty", "invariant", "length penalty: linear",
      "((5 + length) / 6) ** alpha", "alpha * (5 + length) / 6"),
    M("np.translate.greedy_search", "invariant", "greedy: the last of equals",
      "word = Y.argmax(axis=-1)", "word = Y.shape[1] - 1 - Y[:, ::-1].argmax(axis=-1)"),
    M("np.translate.greedy_search", "invariant", "greedy: finished rows asked again",
      "        if not len(rows):\n            break\n", "",
      "[~ended], log_p[~ended], rows[~ended], np.flatnonzero(~ended", ", log_p, rows, np.arange(len(rows)"),
    M("np.translate.greedy_search", "invariant", "greedy: parents counted before the finished left",
      "rows[~ended], np.flatnonzero(~ended)", "rows[~ended], np.arange((~ended).sum())"),
    M("np.translate.greedy_search", "invariant", "greedy: in the order in which they end",
      "return [found[i] for i in range(sources)]", "return list(found.values())"),
    M("np.translate.greedy_search", "invariant", "greedy: EOS in the sentence",
      "prefixes[i, 1:-1].tolist()", "prefixes[i, 1:].tolist()"),
    M("np.translate.greedy_search", "invariant", "greedy: EOS has no cost",
      "log_p + Y.max(axis=-1)", "log_p + Y.max(axis=-1) * (word != eos)"),
    M("np.translate.greedy_search", "invariant", "greedy: what is cut off counts as finished",
      "float(p), False) for r, y", "float(p), True) for r, y"),
    M("np.translate.beam_search", "invariant", "beam: compared without the length penalty",
      "log_p / length_penalty(t, alpha)", "log_p"),
    M("np.translate.beam_search", "invariant", "beam: multiplied by the length penalty",
      "log_p / length_penalty(", "log_p * length_penalty("),
    M("np.translate.beam_search", "invariant", "beam: |y| without EOS", "length_penalty(t, ", "length_penalty(t - 1, "),
    M("np.translate.beam_search", "invariant", "beam: finished hypotheses extended",
      "        log_p[word == eos] = -np.inf\n", ""),
    M("np.translate.beam_search", "invariant", "beam: ends with the first that ends",
      ") == keep and p.max() / limit <= pool[-1][0]", ")"),
    M("np.translate.beam_search", "invariant", "beam: ends when what lives is worse now",
      "p.max() / limit <= pool[-1][0]", "p.max() / length_penalty(t, alpha) <= pool[-1][0]"),
    M("np.translate.beam_search", "invariant", "beam: ends when the best is safe, though more are kept",
      "p.max() / limit <= pool[-1][0]", "p.max() / limit <= pool[0][0]"),
    M("np.translate.beam_search", "invariant", "beam: never ends early", "if len(pool) == keep and", "if False and"),
    M("np.translate.beam_search", "invariant", "beam: all places hold the same at first",
      "log_p[:, 0], parents = 0,", "log_p[:], parents = 0,"),
    M("np.translate.beam_search", "invariant", "beam: words appended to the wrong prefixes",
      "        prefixes = np.take_along_axis(prefixes, place[..., None], axis=1)\n", ""),
    M("np.translate.beam_search", "invariant", "beam: parents are places in the beam, not rows of the call",
      "np.take_along_axis(rows, place, axis=1)", "(place + beam * np.arange(sources)[:, None])"),
    M("np.translate.beam_search", "invariant", "beam: one source's rows taken for another's",
      "rows[live] = np.arange(len(parents))", "rows = live.cumsum(axis=-1) - 1"),
    M("np.translate.beam_search", "invariant", "beam: sources compete for places",
      "        best = _top(",
      "        total[total < np.sort(total.ravel())[-min(total.size, sources * beam)]] = -np.inf\n        best = _top("),
    M("np.translate.beam_search", "invariant", "beam: log p of the last word alone",
      "log_p[live][:, None] + Y", "Y + 0 * log_p[live][:, None]"),
    M("np.translate.beam_search", "invariant", "beam: what is cut off ranks with what has ended",
      "return [([h for _, h in pool] + rest)[:keep]",
      "return [sorted([h for _, h in pool] + rest, key=lambda h: -h.log_p / length_penalty(len(h.tokens) + 1, "
      "alpha))[:keep]"),
    M("np.translate.beam_search", "invariant", "beam: what is cut off is lost", "+ rest)[:keep]", ")[:keep]"),
    M("np.translate._top", "invariant", "beam: of equals the last",
      '-np.take_along_axis(x, places, axis=-1), axis=-1, kind="stable")',
      'np.take_along_axis(x, places, axis=-1), axis=-1, kind="stable")[:, ::-1]'),
    M("np.translate._top", "invariant", "beam: at the edge any of the equals",
      "equal.cumsum(axis=-1) <= k", "equal[:, ::-1].cumsum(axis=-1)[:, ::-1] <= k"),
    M("np.translate.beam_search", "invariant", "beam: words that cannot come are taken",
      "= log_p > -np.inf", "= log_p >= -np.inf\n        live[:, 1:] &= t > 1"),
    M("np.translate.translation_step", "invariant", "step: cache not reordered with the beam",
      "            kv = select_kv(kv, parents)\n",
      "            kv = select_kv(kv, np.arange(len(parents)) % len(kv.start))\n"),
    M("np.translate.translation_step", "invariant", "step: padding of the source read",
      "M=M, memory_mask=source_mask)", "M=M)"),
    M("np.translate.translation_step", "invariant", "step: padding of the source encoded",
      'params["encoder"], config, source_mask)', 'params["encoder"], config)'),
    M("np.translate.translation_step", "invariant", "step: logits, not log probabilities",
      "return log_softmax_forward(logits[:, -1])[0]",
      "return logits[:, -1] - logits[:, -1].max(axis=-1, keepdims=True)"),
    M("np.translate.translation_step", "invariant", "step: float64 whatever the model",
      "log_softmax_forward(logits[:, -1])[0]", "log_softmax_forward(logits[:, -1].astype(float))[0]"),
    M("np.translate.translate", "invariant", "translate: sorted by length, and left so",
      "range(len(sources))]", "order]"),
    M("np.translate.translate", "invariant", "translate: beam ignored",
      "max_len, beam, alpha, len(rows))", "max_len, 1, alpha, len(rows))"),
    M("np.translate.translate", "invariant", "translate: α ignored",
      "max_len, beam, alpha, len(rows))", "max_len, beam, 0.0, len(rows))"),
    M("np.translate.translation_bleu", "invariant", "BLEU of the teacher-forced output",
      "    found = translate([source for source, _ in pairs], params, config, pad, bos, eos, **options)",
      "    batch = batch_pairs(pairs, pad, bos, eos)\n"
      "    logits, _ = encoder_decoder_forward(batch['source'], batch['inputs'], params, config, "
      "batch['source_mask'])\n"
      "    found = [row[: len(y)].tolist() for row, (_, y) in zip(logits.argmax(axis=-1), pairs)]"),
    M("np.translate.translation_bleu", "invariant", "BLEU: references and translations exchanged",
      "found, [[target.tolist()] for _, target in pairs", "[target.tolist() for _, target in pairs], [[y or [0]] for y in found"),
    M("np.translate.translation_bleu", "invariant", "BLEU: the options of the search lost",
      ", **options)", ", max_len=5, alpha=2.0)"),
    # pt.translate
    M("pt.translate.shift_right", "invariant", "unshifted",
      "torch.cat([torch.full_like(targets[..., :1], bos), targets[..., :-1]], dim=-1", "targets.clone("),
    M("pt.translate.batch_pairs", "invariant", "batch: left on the CPU", "eos), device)", "eos))"),
    M("pt.translate.epoch", "invariant", "epoch: left on the CPU",
      "tree.to_torch(batch, device) for batch", "tree.to_torch(batch) for batch"),
    M("pt.translate.epoch", "invariant", "epoch: a generator of its own",
      "bos, eos, rng)", "bos, eos, np.random.default_rng(0))"),
    *(M(f"pt.translate.{name}", "invariant", f"{name}: what a hook does passed over",
        f'read("{name}", params)', '__import__("byhand.tree").tree.of_module(params)')
      for name in ("translate", "translation_step")),
    M("pt.translate.translation_loss", "twin invariant", "loss: padding counted",
      ", smoothing, IGNORE", ".clamp(min=0), smoothing"),
    M("pt.translate.translation_loss", "twin invariant", "loss: padding of the source attended to",
      'batch["source_mask"], ', ""),
    M("pt.translate.translation_loss", "invariant", "loss: dropout never", "training=training)", "training=False)"),
    M("pt.translate.translation_loss", "invariant", "loss: dropout always", "training=training)", "training=True)"),
    M("pt.translate.loss_and_weight", "invariant", "module: padding of the source attended to",
      ', batch["source_mask"]', ""),
    M("pt.translate.loss_and_weight", "invariant", "module: weight by sentences",
      '(batch["labels"] != IGNORE).sum()', 'torch.tensor(len(batch["labels"]))'),
    M("pt.translate.loss_and_weight", "invariant", "module: smoothing forgotten", ", smoothing, ", ", 0.0, "),
    M("pt.translate.greedy_search", "invariant", "greedy: device forgotten",
      "torch.full((sources, 1), bos, device=device)", "torch.full((sources, 1), bos)"),
    M("pt.translate.greedy_search", "invariant", "greedy: a graph kept", "@torch.inference_mode()\n", ""),
    M("pt.translate.greedy_search", "invariant", "greedy: sums in float32",
      "dtype=torch.float64, ", "",
      "log_p + gain", "log_p + gain.float()"),
    M("pt.translate.greedy_search", "invariant", "greedy: parents counted before the finished left",
      "rows[~ended], (~ended).nonzero()[:, 0]", "rows[~ended], parents[: len(rows[~ended])]"),
    M("pt.translate.greedy_search", "invariant", "greedy: never stops",
      "        if not len(rows):\n            break\n", "",
      "[~ended], log_p[~ended], rows[~ended], (~ended).nonzero()[:, 0]", ", log_p, rows, torch.arange(len(rows))"),
    M("pt.translate.beam_search", "invariant", "beam: device forgotten", "bos, device=device)", "bos)"),
    M("pt.translate.beam_search", "invariant", "beam: a graph kept", "@torch.inference_mode()\n", ""),
    M("pt.translate.beam_search", "invariant", "beam: sums in float32",
      "dtype=torch.float64, ", "",
      "log_p[live][:, None] + Y", "log_p[live][:, None] + Y.float()"),
    M("pt.translate.beam_search", "invariant", "beam: compared without the length penalty",
      "new = (p / length_penalty(t, alpha), ", "new = (p, "),
    M("pt.translate.beam_search", "invariant", "beam: finished hypotheses extended",
      ".masked_fill(word == eos, -torch.inf)", ""),
    M("pt.translate.beam_search", "invariant", "beam: ends with the first that ends",
      "log_p.amax(dim=-1) / limit <= log_p.new_tensor(worst", "torch.tensor([len(pool) > 0 for pool in pools]"),
    M("pt.translate.beam_search", "invariant", "beam: ends when what lives is worse now",
      "log_p.amax(dim=-1) / limit <=", "log_p.amax(dim=-1) / length_penalty(t, alpha) <="),
    M("pt.translate.beam_search", "invariant", "beam: never ends early",
      "log_p = log_p.masked_fill(done[:, None], -torch.inf)", "pass"),
    M("pt.translate.beam_search", "invariant", "beam: all places hold the same at first",
      ", 0], parents = 0, torch.arange(sources, device=device",
      "], parents = 0, torch.arange(sources, device=device).repeat_interleave(beam"),
    M("pt.translate.beam_search", "invariant", "beam: words appended to the wrong prefixes",
      "[torch.arange(sources, device=device)[:, None], place]", ""),
    M("pt.translate.beam_search", "invariant", "beam: parents are places in the beam",
      "parents = rows.gather(1, place)[live]", "parents = place[live]"),
    M("pt.translate.beam_search", "invariant", "beam: topk breaks ties as it likes",
      "_top(total.reshape(sources, -1), beam)",
      "total.reshape(sources, -1).flip(-1).topk(beam).indices.neg() + total[0].numel() - 1"),
    M("pt.translate._top", "invariant", "beam: of equals the last",
      "descending=True, stable=True).indices", "stable=True).indices.flip(-1)"),
    M("pt.translate.translation_step", "invariant", "step: cache not reordered with the beam",
      "kv = select_kv(kv, parents)",
      "kv = select_kv(kv, torch.arange(len(parents), device=parents.device) % len(kv.start))"),
    M("pt.translate.translation_step", "invariant", "step: padding of the source read",
      "M=M, memory_mask=source_mask)", "M=M)"),
    M("pt.translate.translation_step", "invariant", "step: logits, not log probabilities",
      "torch.log_softmax(logits[:, -1].to(torch.promote_types(logits.dtype, torch.float32)), dim=-1)", "logits[:, -1]"),
    M("pt.translate.translation_step", "invariant", "step: the softmax in bfloat16",
      ".to(torch.promote_types(logits.dtype, torch.float32))", ""),
    M("pt.translate.translation_step", "invariant", "step: the encoder keeps its graph",
      "    with torch.inference_mode()", "    if True"),
    M("pt.translate.translation_step", "invariant", "step: a graph kept", "    @torch.inference_mode()\n    ", "    "),
    M("pt.translate.translate", "invariant", "translate: sorted by length, and left so",
      "range(len(sources))]", "order]"),
    M("pt.translate._rows", "invariant", "translate: sources left on the CPU",
      "torch.tensor(ids, device=device), padding", "torch.tensor(ids), padding"),
    M("pt.translate.translation_bleu", "invariant", "BLEU of the teacher-forced output",
      "    found = translate([source for source, _ in pairs], params, config, pad, bos, eos, **options)",
      "    batch = batch_pairs(pairs, pad, bos, eos)\n"
      "    logits = encoder_decoder(batch['source'], batch['inputs'], params, config, batch['source_mask'])\n"
      "    found = [row[: len(y)].tolist() for row, (_, y) in zip(logits.argmax(dim=-1), pairs)]"),
]
