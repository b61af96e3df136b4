# ruff: noqa: E501
"""Pre-training: shares of hidden words, pairs that give nothing away, heads against torch's layers, the joint loss."""

import math
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import torch
from byhand import tree
from byhand.config import ModelConfig
from byhand.init import init_pretrain
from byhand.np import pretrain as np_pretrain
from byhand.np.gradcheck import gradcheck
from byhand.np.model import encoder_forward
from byhand.np.optim import adamw_step, init_state
from byhand.pt import pretrain as pt_pretrain
from invariants import every_part_counts, near, normal, parameters_may_be_dressed, raises, rng, same
from mutants import M
from proofs import habits, refusals
from specs.block import filled, in_torch
from twins import FORWARD, FORWARD32, GRADIENT, GRADIENT32, LEAD, SLOPE, Case, Spec, twin

CLS, SEP, PAD, MASK, VOCAB = 0, 1, 2, 3, 11
ANY = np.random.default_rng(0)
CONFIG = ModelConfig("encoder", vocab=VOCAB, d=4, heads=2, layers=1, d_ff=5, n_max=8, position="learned", norm_first=False,
                     embedding_norm=True, segments=2)
PLAIN = replace(CONFIG, position="rope", norm_first=True, embedding_norm=False, segments=0)


shapes = cache(init_pretrain)


def parameters(source, config=CONFIG, pairs=True):
    """Of the right shapes, and nowhere zero or one."""
    return filled(shapes(ANY, config, pairs), source)


def a_batch():
    """Three pairs, the last two padded; hidden, replaced and kept words, all with targets."""
    ids = np.array([[CLS, MASK, 5, SEP, 6, 7, SEP], [CLS, 8, SEP, 9, 9, SEP, PAD], [CLS, 4, MASK, SEP, SEP, PAD, PAD]])
    targets = np.array([[-1, 10, -1, -1, 5, -1, -1], [-1, 8, -1, -1, -1, -1, -1], [-1, -1, 6, -1, -1, -1, -1]])
    segments = np.array([[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 1, 0, 0]])
    mask = (np.arange(7) < np.array([7, 6, 5])[:, None])[:, None]
    return {"ids": ids, "segments": segments, "mask": mask, "targets": targets, "labels": np.array([1, 0, 1])}


def mlm_head_cases(source):
    small = parameters(source, replace(CONFIG, d=3, heads=1, vocab=5))["mlm"]
    for lead in ((), (2,)):
        yield Case(f"{lead}", {"H": source.normal(size=(*lead, 2, 3)), "params": small,
                               "E": source.normal(size=(5, 3))}, {"eps": 0.1})


def pool_cases(source):
    for rank, lead in LEAD.items():
        yield Case(f"rank {rank}", {"H": source.normal(size=(*lead, 3, 4)), "params": parameters(source)["pool"]})


def classify_cases(source):
    for lead in LEAD.values():
        yield Case(f"{lead}", {"P": source.normal(size=(*lead, 4)), "params": parameters(source)["nsp"]})


def pretrain_cases(source):
    for config, pairs in ((CONFIG, True), (PLAIN, False)):
        yield Case(f"pairs {pairs}", {"params": parameters(source, config, pairs)}, {"batch": a_batch(), "config": config})


TWINS = [
    Spec("pretrain", "mlm_head", mlm_head_cases),
    Spec("pretrain", "pool", pool_cases),
    Spec("pretrain", "classify", classify_cases),
]
WHOLE = Spec("pretrain", "pretrain", pretrain_cases)  # its slope is taken of a part, or it would take a minute


def slopes(loss_and_grads, params, count=2):
    """Worst relative error of ⟨gradient, D⟩ against the central difference along D, for random trees D."""
    grads, h = tree.flatten(loss_and_grads(params)[1]), 1e-5
    for seed in range(count):
        source = np.random.default_rng(seed)
        D = {path: source.normal(size=x.shape) for path, x in tree.flatten(params).items()}
        above, below = (loss_and_grads(tree.map_tree(lambda x, d, h=h: x + h * d, params, tree.unflatten(D)))[0]
                        for h in (h, -h))
        expected = sum((grads[path] * d).sum() for path, d in D.items())
        yield abs((above - below) / (2 * h) - expected) / max(1, abs(expected))


def joint_loss_has_the_right_slope(module):
    """Along random directions of the whole tree, and of the embedding alone, which is read twice; dropout included."""
    params, batch = parameters(rng()), a_batch()
    rest = params["encoder"]["embedding"]

    def of_everything(params):
        return module.pretrain_loss_and_grads(params, batch, rng(), config=replace(CONFIG, p=0.3))

    def of_words(E):
        inner = params["encoder"] | {"embedding": rest | {"tokens": E}}
        loss, grads, _ = module.pretrain_loss_and_grads(params | {"encoder": inner}, batch, config=CONFIG)
        return loss, grads["encoder"]["embedding"]["tokens"]

    for error in (*slopes(of_everything, params), *slopes(of_words, rest["tokens"])):
        assert error < SLOPE, f"{error:.0e}"


def joint_loss_is_that_of_the_other_half(module):
    for dtype, bounds in ((np.float64, (FORWARD, GRADIENT)), (np.float32, (FORWARD32, GRADIENT32))):
        halves = (np_pretrain, module) if "pt" in module.__name__ else (module, pt_pretrain)
        forward, gradient = twin(WHOLE, *halves, dtype)
        assert forward <= bounds[0] and gradient <= bounds[1], (forward, gradient)


# Hidden words


SPECIAL, WORDS = (CLS, SEP, PAD), 21  # with MASK, 17 ordinary words: 4 … 20


def sentences(rows=2000):
    """[CLS] words [SEP] padding, of 9 to 15 tokens in 15."""
    source = np.random.default_rng(4)
    ids = source.integers(4, WORDS, size=(rows, 15))
    lengths = source.integers(9, 16, size=rows)[:, None]
    ids[:, 0] = CLS
    return np.where(np.arange(15) < lengths - 1, ids, np.where(np.arange(15) == lengths - 1, SEP, PAD))


def masking(module, ids, seed=0, rate=0.3):
    """Either half, on and to NumPy arrays."""
    if "pt" in module.__name__:
        given = torch.Generator().manual_seed(seed), torch.tensor(ids)
        return [x.numpy() for x in module.mask_tokens(*given, MASK, WORDS, rate, SPECIAL)]
    return module.mask_tokens(np.random.default_rng(seed), ids, MASK, WORDS, rate, SPECIAL)


def about(count, total, share, what):
    """Within 4.5 standard deviations of a fair draw."""
    assert abs(count - total * share) < 4.5 * math.sqrt(total * share * (1 - share)), f"{what}: {count} of {total}"


def the_right_number_is_chosen_and_nothing_else_changes(module):
    ids = sentences()
    ordinary = ids >= 4
    for rate in (0.15, 0.5, 1.0):
        inputs, targets = masking(module, ids, rate=rate)
        chosen = targets != -1
        same(targets[chosen], ids[chosen], "targets and the words")
        same(inputs[~chosen], ids[~chosen], "inputs and the words not chosen")
        assert not (chosen & ~ordinary).any(), "a special token was chosen"
        expected = [max(1, math.floor(rate * k + 0.5)) for k in ordinary.sum(axis=1)]
        same(chosen.sum(axis=1), expected, "numbers of chosen words")
    one = np.array([[CLS, SEP, PAD], [CLS, 7, SEP]])
    same(masking(module, one)[1], [[-1, -1, -1], [-1, 7, -1]], "targets: no word to choose, and one")


def eight_in_ten_are_hidden_one_replaced_one_kept(module):
    ids = sentences()
    inputs, targets = masking(module, ids)
    chosen = targets != -1
    old, new = ids[chosen], inputs[chosen]
    about((new == MASK).sum(), new.size, 0.8, "hidden")
    words = 17
    about((new == old).sum(), new.size, 0.1 + 0.1 / words, "kept")
    replaced = new[(new != MASK) & (new != old)]
    assert (replaced >= 4).all(), "a special token was put in"
    for word in range(4, WORDS):
        about((replaced == word).sum(), replaced.size, 1 / words, f"word {word} put in")


def every_place_is_as_likely_and_a_seed_repeats(module):
    ids = np.full((3000, 8), 9)
    chosen = masking(module, ids, rate=0.25)[1] != -1
    for place in range(8):
        about(chosen[:, place].sum(), 3000, 0.25, f"place {place}")
    for a, b in zip(masking(module, ids, 5), masking(module, ids, 5), strict=True):
        same(a, b, "two draws from one seed")
    assert (masking(module, ids, 6)[1] != masking(module, ids, 5)[1]).any()


# Sentence pairs: word 100 i + 10 j + k is number k of sentence j of document i


DOCUMENTS = [[[100 * i + 10 * j + k for k in range(words)] for j, words in enumerate(sizes)]
             for i, sizes in enumerate(((6, 2, 5), (4,), (2, 6), (), (1, 3, 2, 4)), start=1)]


def drawn(module, count=600, n_max=20):
    """Each pair as (words of a, words of b, label), after checking the frame around them."""
    batch = module.sentence_pairs(rng(), DOCUMENTS, count, n_max, cls=CLS, sep=SEP, pad=PAD)
    assert set(batch) == {"ids", "segments", "mask", "labels"}
    n = batch["ids"].shape[1]
    assert batch["mask"].shape == (count, 1, n) and n <= n_max and batch["mask"][:, 0, -1].any()
    for ids, segments, real, label in zip(batch["ids"], batch["segments"], batch["mask"][:, 0], batch["labels"], strict=True):
        cut, end = np.flatnonzero(ids == SEP)
        assert ids[0] == CLS and (ids[end + 1 :] == PAD).all() and (ids == PAD).sum() == n - 1 - end
        same(segments, (np.arange(n) > cut) & (np.arange(n) <= end), "segments: 0 up to the first [SEP], 1 to the second")
        same(real, np.arange(n) <= end, "mask: up to the second [SEP]")
        yield ids[1:cut].tolist(), ids[cut + 1 : end].tolist(), int(label)


def half_follow_and_half_are_from_another_document(module):
    pairs = list(drawn(module))
    same(sum(label for *_, label in pairs), 300, "number of true pairs, half")
    for a, b, label in pairs:
        (i, j), (k, l) = (divmod(x[0] // 10, 10) for x in (a, b))
        assert a == DOCUMENTS[i - 1][j] and b == DOCUMENTS[k - 1][l], "not whole sentences"
        if label:
            assert i == k and l == j + 1, "the second sentence does not follow the first"
        else:
            assert i != k, "a wrong pair from one document"


def neither_sentence_alone_gives_the_label_away(module):
    """a is never last, b never first, whatever the label; and every pair that may come comes, equally often."""
    starts = [(i, j) for i in (1, 3, 5) for j in range(len(DOCUMENTS[i - 1]) - 1)]
    pairs = list(drawn(module))
    counts = {label: Counter(divmod(a[0] // 10, 10) for a, _, l in pairs if l == label) for label in (0, 1)}
    assert {divmod(b[0] // 10, 10) for _, b, l in pairs if l == 0} == {(i, j + 1) for i, j in starts}
    for found in counts.values():
        assert found.keys() == set(starts)
        for start in starts:
            about(found[start], 300, 1 / len(starts), f"sentence {start} as a")


def the_longer_sentence_is_cut(module):
    """Word by word from the end of the longer one, the second on a tie, until both fit."""
    for n_max in (5, 6, 7, 8, 9):
        for a, b, _ in drawn(module, 80, n_max):
            i, j = divmod(a[0] // 10, 10)
            k, l = divmod(b[0] // 10, 10)
            full_a, full_b = list(DOCUMENTS[i - 1][j]), list(DOCUMENTS[k - 1][l])
            while len(full_a) + len(full_b) > n_max - 3:
                (full_a if len(full_a) > len(full_b) else full_b).pop()
            assert (a, b) == (full_a, full_b)


# Heads


def head_is_made_of_the_layers_of_torch(module):
    """torch.nn: Linear, GELU, LayerNorm, and a Linear whose weight is the embedding."""
    nn, params, H, E = torch.nn, parameters(rng())["mlm"], normal(2, 3, 4), normal(VOCAB, 4)
    net = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.LayerNorm(4, eps=1e-5), nn.Linear(4, VOCAB)).double()
    values = params["W"].T, params["b"], params["norm"]["gamma"], params["norm"]["beta"], E, params["bias"]
    for p, x in zip(net.parameters(), values, strict=True):
        p.data = torch.tensor(x)
    logits, cache = module.mlm_head_forward(H, params, E)
    theirs = net(torch.tensor(H))
    near(logits, theirs.detach(), "logits")
    theirs.backward(torch.tensor(normal(*logits.shape)))
    near(module.mlm_head_backward(normal(*logits.shape), cache)[2], net[3].weight.grad, "dE")


def only_the_first_token_is_pooled(module):
    H, params = normal(2, 5, 4), parameters(rng())["pool"]
    P, cache = module.pool_forward(H, params)
    near(P, np.tanh(H[:, 0] @ params["W"] + params["b"]), "pooled")
    dH, _ = module.pool_backward(normal(*P.shape), cache)
    assert dH.shape == H.shape and dH[:, 0].all() and not dH[:, 1:].any()


def heads_drop_in_training_with_the_right_slope(module):
    params, P = parameters(rng())["nsp"], normal(2, 5, 4)
    errors = gradcheck(lambda P: module.classify_forward(P, params, 0.4, rng()),
                       lambda d, c: module.classify_backward(d, c)[0], {"P": P}, rng())
    assert errors["P"] < SLOPE
    whole, half = (module.classify_forward(P, params, p, rng())[0] for p in (0.0, 0.5))
    assert (whole != half).any()
    same(whole, module.classify_forward(P, params, 0.5)[0], "without a source of random numbers, and without dropout")


# The joint loss


def loss_is_two_means(module):
    """Token by token, pair by pair; tokens that were not chosen have no say."""
    params, batch = parameters(rng()), a_batch()
    H, _ = encoder_forward(batch["ids"], params["encoder"], CONFIG, batch["mask"], batch["segments"])
    E, words, pairs = params["encoder"]["embedding"]["tokens"]["E"], [], []
    for h, target in zip(H.reshape(-1, 4), batch["targets"].ravel(), strict=True):
        if target != -1:
            logits, _ = np_pretrain.mlm_head_forward(h, params["mlm"], E)
            words.append(np.log(np.exp(logits).sum()) - logits[target])
    for h, label in zip(H, batch["labels"], strict=True):
        scores = np.tanh(h[0] @ params["pool"]["W"] + params["pool"]["b"]) @ params["nsp"]["W"] + params["nsp"]["b"]
        pairs.append(np.log(np.exp(scores).sum()) - scores[label])
    L, _ = module.pretrain_forward(params, batch, CONFIG)
    near(L, np.mean(words) + np.mean(pairs), "losses")
    loss, grads, count = module.pretrain_loss_and_grads(params, batch, config=CONFIG)
    assert loss == L and count == len(words) == 4 and isinstance(loss, float)
    alone = {name: params[name] for name in ("encoder", "mlm")}
    near(module.pretrain_forward(alone, batch, CONFIG)[0], np.mean(words), "losses without pairs")


def padding_has_no_say(module):
    """Other words in the padding, the same loss and gradients to the last bit; the mask's own row gets no look-up."""
    params, batch = parameters(rng()), a_batch()
    padding = ~batch["mask"][:, 0]
    other = batch | {"ids": np.where(padding, 7, batch["ids"]), "segments": np.where(padding, 1, batch["segments"])}
    one, two = (module.pretrain_loss_and_grads(params, b, config=CONFIG) for b in (batch, other))
    same(one[0], two[0], "losses")
    for a, b in zip(tree.flatten(one[1]).values(), tree.flatten(two[1]).values(), strict=True):
        near(a, b, "gradients", 1e-15)


def the_loop_can_train_on_it(module):
    """Gradients in the tree of the parameters, dropout on; the loss falls from that of a guess."""
    config = replace(CONFIG, d=8, d_ff=16, p=0.1)
    params, source = init_pretrain(np.random.default_rng(3), config, dtype=np.float64), rng()
    state, losses = init_state(params), []
    for _ in range(8):
        loss, grads, _ = module.pretrain_loss_and_grads(params, a_batch(), source, config=config)
        params, state = adamw_step(params, grads, state, 0.1)
        losses.append(loss)
    assert abs(losses[0] - math.log(VOCAB) - math.log(2)) < 1.5 and np.mean(losses[-3:]) < 0.6 * losses[0], losses
    near(module.pretrain_loss_and_grads(params, a_batch(), rng(), config=config)[0],
         module.pretrain_loss_and_grads(params, a_batch(), rng(), config=config)[0], "two losses from one seed")
    assert loss != module.pretrain_loss_and_grads(params, a_batch(), config=config)[0]


def dropout_reaches_encoder_and_heads(module):
    params, config = parameters(rng()), replace(CONFIG, p=0.5)
    cache = module.pretrain_forward(params, a_batch(), config, rng())[1]
    for dropout in (cache.encoder.embed.dropout, cache.nsp.dropout):
        assert dropout.keep is not None and 0 < (dropout.keep == 0).mean() < 1


def fresh_parameters(module):
    params = module.init_pretrain(rng(), CONFIG)
    assert set(params) == {"encoder", "mlm", "pool", "nsp"}
    assert set(module.init_pretrain(rng(), CONFIG, pairs=False)) == {"encoder", "mlm"}
    assert all(x.dtype == np.float32 for x in tree.flatten(params).values())
    wide = module.init_pretrain(rng(), replace(CONFIG, d=96, vocab=500))
    for name in ("mlm", "pool"):
        near(wide[name]["W"].std() * math.sqrt(96), 1, f"deviation of {name}.W, and 1/√d", 0.05)
        assert not wide[name]["b"].any()
    near(np_pretrain.pretrain_forward(wide, a_batch(), replace(CONFIG, d=96, vocab=500))[0], math.log(500) + math.log(2),
         "first loss and that of a guess", 2.0)


H_, P_, E_ = normal(2, 3, 4), parameters(rng()), normal(VOCAB, 4)
IDS_ = np.array([[CLS, 5, SEP]])
ROWS = [
    ("mlm_head_forward", ValueError, "mlm_head: params has W, b, expected W, b, norm, bias", H_, P_["pool"], E_),
    ("mlm_head_forward", ValueError, r"mlm_head: E has shape \(11, 3\), expected \(11, 4\)", H_, P_["mlm"], E_[:, :3]),
    ("mlm_head_forward", ValueError, r"mlm_head: E has shape \(10, 4\), expected \(11, 4\)", H_, P_["mlm"], E_[1:]),
    ("pool_forward", ValueError, "pool: params has W, expected W, b", H_, {"W": P_["pool"]["W"]}),
    ("pool_forward", ValueError, r"pool: H has shape \(2, 0, 4\), expected at least 1 entry", H_[:, :0], P_["pool"]),
    ("classify_forward", ValueError, "classify: params has W, expected W, b", H_, {"W": P_["nsp"]["W"]}),
    ("classify_forward", ValueError, "classify: p is 1.0, expected at least 0", H_, P_["nsp"], 1.0),
]
BAD_MASKS = [  # (error, what it says, ids, mask_id, vocab, rate, special)
    (ValueError, "mask_tokens: rate is 1.5, expected .* at most 1", IDS_, MASK, WORDS, 1.5, SPECIAL),
    (ValueError, "mask_tokens: rate is 0", IDS_, MASK, WORDS, 0, SPECIAL),
    (ValueError, "mask_tokens: mask_id and special hold 21, expected less than vocab, 21", IDS_, WORDS, WORDS, 0.1, SPECIAL),
    (ValueError, r"mask_tokens: special\[0\] is -1, expected at least 0", IDS_, MASK, WORDS, 0.1, (-1,)),
    (ValueError, "mask_tokens: all 4 ids are special, expected an ordinary word", IDS_ * 0, MASK, 4, 0.1, SPECIAL),
    (TypeError, "mask_tokens: ids has dtype .*float64", IDS_ * 1.0, MASK, WORDS, 0.1, SPECIAL),
]
FRAME = {"cls": CLS, "sep": SEP, "pad": PAD}


def pairs_are_refused(module):
    for says, documents, count, n_max in (
        ("documents holds 1 of two sentences or more, expected at least 2", [[[4], [5]]], 2, 9),
        ("documents holds 1 of two sentences or more, expected at least 2", [[[4], [5]], [[6]], []], 2, 9),
        ("n_max is 4, expected at least 5", DOCUMENTS, 2, 4),
        ("count is 0, expected at least 1", DOCUMENTS, 0, 9),
        ("documents holds a sentence of 0 words", [[[], [4]], [[], [5]]], 2, 9),
    ):
        raises(ValueError, f"sentence_pairs: {says}", lambda a=(documents, count, n_max): module.sentence_pairs(rng(), *a, **FRAME))


refused = refusals(
    *ROWS,
    *[("mask_tokens", error, says, rng(), *arguments) for error, says, *arguments in BAD_MASKS],
    ("mask_tokens", ValueError, "mask_tokens: ids holds 2 special ids and no other, expected a word to hide", rng(),
     np.array([[CLS, SEP]]), MASK, WORDS, 0.1, SPECIAL),
    ("mask_tokens", ValueError, "mask_tokens: ids holds 30", rng(), np.array([[30]]), MASK, WORDS, 0.1, SPECIAL),
    ("pool_backward", ValueError, r"pool_backward: dP has shape \(1, 4\), expected", normal(1, 4),
     np_pretrain.pool_forward(H_, P_["pool"])[1]),
)
refused_by_torch = refusals(
    *[(name.removesuffix("_forward"), error, says, *map(in_torch, arguments)) for name, error, says, *arguments in ROWS],
    *[("mask_tokens", error, says, torch.Generator(), *map(in_torch, arguments)) for error, says, *arguments in BAD_MASKS],
    ("MlmHead", ValueError, "MlmHead: vocab is 0, expected at least 1", 4, 0),
)


# The PyTorch half


def modules_hold_the_tree_and_give_the_loss(module):
    """Pretraining, loaded with the tree of the NumPy half: the same loss and the same gradients; tied, so no second E."""
    batch = a_batch()
    for config, pairs in ((CONFIG, True), (PLAIN, False)):
        net, params = module.Pretraining(config, pairs), parameters(rng(), config, pairs)
        fresh = {name: x.shape for name, x in tree.flatten(tree.from_torch(net)).items()}
        assert fresh == {name: x.shape for name, x in tree.flatten(params).items()}
        net.double().load_state_dict(tree.flatten(tree.to_torch(params)))
        loss = net(tree.to_torch(batch))
        loss.backward()
        expected, grads, _ = np_pretrain.pretrain_loss_and_grads(params, batch, config=config)
        near(loss.detach(), expected, "losses")
        for name, p in net.named_parameters():
            near(p.grad, tree.flatten(grads)[name], f"d{name}", 1e-10)


def modules_use_their_parts(module):
    net = module.Pretraining(CONFIG).double()
    every_part_counts(net, lambda net: net(tree.to_torch(a_batch())))


def dropout_is_for_training(module):
    net, batch = module.Pretraining(replace(CONFIG, p=0.5)), tree.to_torch(a_batch())
    assert net(batch) != net(batch)
    net.eval()
    assert net(batch) == net(batch)
    P, params = torch.tensor(H_), in_torch(P_["nsp"])
    assert (module.classify(P, params, 0.5, True) != module.classify(P, params, 0.5, True)).any()
    for drop in (module.classify(P, params, 0.5, training=False), module.classify(P, params, 0.5)):
        same(drop, module.classify(P, params), "not training, and p = 0")
    params = in_torch(P_)
    with_dropout = [module.pretrain(params, in_torch(a_batch()), replace(CONFIG, p=0.5), training) for training in (True, False)]
    assert with_dropout[0] != with_dropout[1] == module.pretrain(params, in_torch(a_batch()), CONFIG)


def mlm_head_module_is_its_function(module):
    net = module.MlmHead(4, VOCAB, 0.1)
    parameters_may_be_dressed(lambda: module.MlmHead(4, VOCAB).double(), lambda net: net(torch.tensor(H_), torch.tensor(E_)), ("W", "b", "bias"))
    assert not net.b.any() and not net.bias.any() and (net.norm.gamma == 1).all()
    net.double().load_state_dict(tree.flatten(in_torch(P_["mlm"])))
    expected = np_pretrain.mlm_head_forward(H_, P_["mlm"], E_, 0.1)[0]
    near(net(torch.tensor(H_), torch.tensor(E_)).detach(), expected, "logits")
    near(module.mlm_head(torch.tensor(H_), in_torch(P_["mlm"]), torch.tensor(E_), 0.1).detach(), expected, "logits of the function")


MASKING = [the_right_number_is_chosen_and_nothing_else_changes, eight_in_ten_are_hidden_one_replaced_one_kept,
           every_place_is_as_likely_and_a_seed_repeats]
def ids_may_be_of_any_whole_dtype(module):
    """A target that is none stays −1 where ids are bytes, and a vocabulary is never written down."""
    right = masking(module, IDS_)
    for dtype in ("uint8", "int16", "int32"):
        for x, y in zip(masking(module, IDS_.astype(dtype)), right, strict=True):
            same(x, y, dtype)
    assert right[1].min() == -1
    big = 10**15
    if module.__name__.startswith("byhand.np"):
        X, _ = module.mask_tokens(np.random.default_rng(0), np.full((1, 400), 7), 5, big, 1.0)
        assert X.max() > 1e12


INVARIANTS = {
    "np.pretrain": [*MASKING, ids_may_be_of_any_whole_dtype, half_follow_and_half_are_from_another_document,
                    neither_sentence_alone_gives_the_label_away, the_longer_sentence_is_cut,
                    joint_loss_has_the_right_slope,
                    joint_loss_is_that_of_the_other_half, head_is_made_of_the_layers_of_torch, only_the_first_token_is_pooled,
                    heads_drop_in_training_with_the_right_slope, loss_is_two_means, padding_has_no_say,
                    the_loop_can_train_on_it, dropout_reaches_encoder_and_heads, pairs_are_refused, refused,
                    *habits([*TWINS, WHOLE])],
    "init": [fresh_parameters],
    "pt.pretrain": [*MASKING, ids_may_be_of_any_whole_dtype, joint_loss_is_that_of_the_other_half, modules_hold_the_tree_and_give_the_loss, modules_use_their_parts, dropout_is_for_training,
                    mlm_head_module_is_its_function, refused_by_torch],
}
assert pt_pretrain.sentence_pairs is np_pretrain.sentence_pairs
WRONG = [
    # np.pretrain: hidden words
    M("np.pretrain.mask_tokens", "invariant", "bytes stay bytes, and so does what is to be ignored",
      "np.where(chosen, ids, IGNORE)", "np.where(chosen, ids.astype(np.uint8), np.uint8(255))"),
    M("np.pretrain.mask_tokens", "invariant", "every word is a target", "np.where(chosen, ids, IGNORE)", "ids"),
    M("np.pretrain.mask_tokens", "invariant", "80/10/10 of all tokens, not of the chosen ones",
      "return np.where(chosen, changed, ids),", "return changed,"),
    M("np.pretrain.mask_tokens", "invariant", "80/10/10 of all ordinary words",
      "return np.where(chosen, changed, ids),", "return np.where(free, changed, ids),"),
    M("np.pretrain.mask_tokens", "invariant", "targets are the hidden inputs",
      "np.where(chosen, ids, IGNORE)", "np.where(chosen, changed, IGNORE)"),
    M("np.pretrain.mask_tokens", "invariant", "a random word may be special",
      "random += random >= i", "pass"),
    M("np.pretrain.mask_tokens", "invariant", "a random word is one for the whole batch",
      "rng.integers(vocab - len(barred), size=ids.shape)", "rng.integers(vocab - len(barred)) + np.zeros(ids.shape, int)"),
    M("np.pretrain.mask_tokens", "invariant", "special tokens are chosen",
      "~np.isin(ids, barred)", "np.ones(ids.shape, bool)"),
    M("np.pretrain.HIDE", "invariant", "all chosen are hidden, 100/0/0",
      "HIDE, REPLACE = 0.8, 0.1", "HIDE, REPLACE = 1.0, 0.0"),
    M("np.pretrain.HIDE", "invariant", "nothing kept, 80/20/0", "HIDE, REPLACE = 0.8, 0.1", "HIDE, REPLACE = 0.8, 0.2"),
    M("np.pretrain.HIDE", "invariant", "shares hidden and kept exchanged, 10/80/10",
      "HIDE, REPLACE = 0.8, 0.1", "HIDE, REPLACE = 0.1, 0.8"),
    M("np.pretrain.mask_tokens", "invariant", "a share of all tokens, special ones counted",
      "floor(rate * free.sum(axis=-1, keepdims=True) + 0.5",
      "full((*ids.shape[:-1], 1), np.floor(rate * ids.shape[-1] + 0.5)"),
    M("np.pretrain.mask_tokens", "invariant", "a short sequence may hide nothing",
      "maximum(1, np.floor(rate * free.sum(axis=-1, keepdims=True) + 0.5)",
      "floor(rate * free.sum(axis=-1, keepdims=True) + 0.5"),
    M("np.pretrain.mask_tokens", "invariant", "the first words are chosen, not random ones",
      "np.where(free, rng.random(ids.shape), 2)", "np.where(free, 0, 2)"),
    M("np.pretrain.mask_tokens", "invariant", "argsort once: places, not ranks", ".argsort(axis=-1) ", " "),
    M("np.pretrain.mask_tokens", "invariant", "written into the caller's ids",
      "return np.where(chosen, changed, ids), np.where(chosen, ids, IGNORE)",
      "targets = np.where(chosen, ids, IGNORE)\n    ids[chosen] = changed[chosen]\n    return ids, targets"),
    M("np.pretrain.mask_tokens", "invariant", "a source of its own",
      "fate, random = rng.random", "rng = np.random.default_rng()\n    fate, random = rng.random"),
    # pairs
    M("np.pretrain.sentence_pairs", "invariant", "wrong pairs from the same document",
      "place(k + own * (k >= bounds[i]))", "(i, int(rng.integers(own)))"),
    M("np.pretrain.sentence_pairs", "invariant", "wrong pairs from any document, the same among them",
      "rng.integers(bounds[-1] - own)", "rng.integers(bounds[-1])",
      "k + own * (k >= bounds[i])", "k"),
    M("np.pretrain.sentence_pairs", "invariant", "never from a later document", "k + own * (k >= bounds[i])", "k"),
    M("np.pretrain.sentence_pairs", "invariant", "wrong sentences are first ones, and so known",
      "  # over the document of a\n            b = documents[i][j + 1", "\n            b = documents[i][0"),
    M("np.pretrain.sentence_pairs", "invariant", "every pair is true", "if not label:", "if False:"),
    M("np.pretrain.sentence_pairs", "invariant", "labels exchanged", "if not label:", "if label:"),
    M("np.pretrain.sentence_pairs", "invariant", "a coin for each pair, not half of them",
      "rng.permutation(np.arange(count) % 2)", "rng.integers(0, 2, count)"),
    M("np.pretrain.sentence_pairs", "invariant", "segment ids exchanged",
      "segments[k, len(a) : lengths[k]] = a + b, 1", "segments[k, : len(a)] = a + b, 1"),
    M("np.pretrain.sentence_pairs", "invariant", "the middle [SEP] in the second segment",
      "segments[k, len(a) : lengths[k]] = a + b, 1", "segments[k, len(a) - 1 : lengths[k]] = a + b, 1"),
    M("np.pretrain.sentence_pairs", "invariant", "segment 1 on the padding",
      "segments[k, len(a) : lengths[k]] = a + b, 1", "segments[k, len(a) :] = a + b, 1"),
    M("np.pretrain.sentence_pairs", "invariant", "only the second sentence is cut",
      "a = a[: max(room - len(b), (room + 1) // 2)]", "a = a[: room - 1]"),
    M("np.pretrain.sentence_pairs", "invariant", "both cut to half, whatever the other needs",
      "a[: max(room - len(b), (room + 1) // 2)]", "a[: (room + 1) // 2]"),
    M("np.pretrain.sentence_pairs", "invariant", "the start is cut off",
      "[*b[: room - len(a)], sep]", "[*b[max(0, len(b) - room + len(a)) :], sep]"),
    M("np.pretrain.sentence_pairs", "invariant", "no last [SEP]",
      "[*b[: room - len(a)], sep]", "[*b[: room - len(a)]]"),
    M("np.pretrain.sentence_pairs", "invariant", "padded with [CLS]",
      "np.full((count, n), pad)", "np.full((count, n), cls)"),
    M("np.pretrain.sentence_pairs", "invariant", "padding attended to",
      "padding_mask(lengths, n)", "padding_mask(np.full(count, n), n)"),
    # heads
    M("np.pretrain.mlm_head_forward + mlm_head_backward", "twin invariant", "head without the activation",
      "    G, activation = activation_forward(S)\n", "    G, activation = S, None\n",
      "activation_backward(dG, cache.activation)", "dG"),
    M("np.pretrain.mlm_head_forward", "twin invariant", "head with relu",
      "activation_forward(S)", "activation_forward(S, 'relu')"),
    M("np.pretrain.mlm_head_forward", "twin", "head: ε of its own",
      'params["norm"]["beta"], eps)', 'params["norm"]["beta"])'),
    M("np.pretrain.mlm_head_forward", "slope twin invariant", "head without the bias of words",
      'return Z + params["bias"], Mlm', "return Z, Mlm"),
    M("np.pretrain.mlm_head_backward", "slope twin invariant", "head: bias averaged over tokens",
      "dlogits.shape[-1]).sum(axis=0)", "dlogits.shape[-1]).mean(axis=0)"),
    M("np.pretrain.mlm_head_backward", "slope twin invariant", "head: activation passed over backwards",
      "activation_backward(dG, cache.activation)", "dG"),
    M("np.pretrain.mlm_head_backward", "slope twin invariant", "head: the embedding as a constant",
      '"bias": dbias}, dE', '"bias": dbias}, np.zeros_like(dE)'),
    M("np.pretrain.pool_forward + pool_backward", "twin invariant", "pool: the last token",
      "H[..., 0, :], params", "H[..., -1, :], params",
      "dH[..., 0, :] = dh", "dH[..., -1, :] = dh"),
    M("np.pretrain.pool_forward + pool_backward", "twin invariant", "pool: the mean of the tokens, padding among them",
      "H[..., 0, :], params", "H.mean(axis=-2), params",
      "dH[..., 0, :] = dh", "dH += dh[..., None, :] / n"),
    M("np.pretrain.pool_backward", "slope twin invariant", "pool: gradient to the last token",
      "dH[..., 0, :] = dh", "dH[..., -1, :] = dh"),
    M("np.pretrain.pool_backward", "slope twin invariant", "pool: gradient to every token",
      "dH[..., 0, :] = dh", "dH += dh[..., None, :]"),
    M("np.pretrain.pool_forward + pool_backward", "twin invariant", "pool without tanh",
      "P = np.tanh(Z)", "P = Z",
      "dP * (1 - P * P)", "dP"),
    M("np.pretrain.pool_backward", "slope twin invariant", "pool: 1 − P for 1 − P²",
      "dP * (1 - P * P)", "dP * (1 - P)"),
    M("np.pretrain.pool_backward", "invariant", "pool: gradient in float64", "), dh.dtype)", "))"),
    M("np.pretrain.classify_backward", "invariant", "classify: dropout forgotten backwards",
      "dropout_backward(dD, cache.dropout)", "dD"),
    M("np.pretrain.classify_forward", "invariant", "classify: no dropout",
      "dropout_forward(P, p, rng)", "dropout_forward(P, p, None)"),
    M("np.pretrain.classify_backward", "slope twin invariant", "classify: no gradient of the bias",
      'dW, "b": db}', 'dW, "b": 0 * db}'),
    M("np.pretrain.pool_backward", "slope twin invariant", "pool: written into its upstream",
      "    dh, dW, db = linear_backward(dP * (1 - P * P)", "    dP *= 1 - P * P\n    dh, dW, db = linear_backward(dP"),
    M("np.pretrain.mlm_head_backward", "invariant", "head: rows read in memory order",
      "dlogits.reshape", "dlogits.ravel(order='K').reshape"),
    # the joint loss
    M("np.pretrain.pretrain_forward", "invariant", "loss over every token, unchosen ones as the first word",
      'chosen, E = batch["targets"] != IGNORE,', 'chosen, E = batch["targets"] >= -1,',
      'batch["targets"][chosen]', 'np.maximum(0, batch["targets"][chosen])'),
    M("np.pretrain.pretrain_forward", "invariant", "loss of pairs left out", "np.asarray(L + L_pairs)", "L"),
    M("np.pretrain.pretrain_backward", "invariant", "tied: look-up only",
      '    grads["encoder"]["embedding"]["tokens"]["E"] += dE\n', ""),
    M("np.pretrain.pretrain_backward", "invariant", "tied: output only",
      '["tokens"]["E"] += dE', '["tokens"]["E"] = dE'),
    M("np.pretrain.pretrain_backward", "invariant", "pool's gradient does not reach the encoder",
      "        dH += dH_pool\n", ""),
    M("np.pretrain.pretrain_backward", "invariant", "words' gradient does not reach the encoder",
      "    dH[cache.chosen] = dchosen\n", ""),
    M("np.pretrain.pretrain_backward", "invariant", "gradient at the first tokens, not at the chosen ones",
      "dH[cache.chosen] = dchosen", "dH.reshape(-1, dH.shape[-1])[: len(dchosen)] = dchosen"),
    M("np.pretrain.pretrain_forward", "invariant", "segments not given to the encoder",
      'batch["segments"] if config.segments else ', ""),
    M("np.pretrain.pretrain_forward", "invariant", "mask not given to the encoder",
      'config, batch["mask"], segments, rng)', "config, None, segments, rng)"),
    M("np.pretrain.pretrain_forward", "invariant", "no dropout in the encoder",
      'config, batch["mask"], segments, rng)', 'config, batch["mask"], segments)'),
    M("np.pretrain.pretrain_forward", "invariant", "no dropout before the pairs",
      'params["nsp"], config.p, rng)', 'params["nsp"])'),
    M("np.pretrain.pretrain_forward", "invariant", "dropout without its share",
      'params["nsp"], config.p, rng)', 'params["nsp"], 0.0, rng)'),
    M("np.pretrain.pretrain_loss_and_grads", "invariant", "weight: all tokens",
      "int(cache.chosen.sum())", "int(cache.chosen.size)"),
    M("init.init_pretrain", "invariant", "heads start at zero",
      '"nsp": init_linear(rng, d, 2, dtype)}', '"nsp": init_linear(rng, d, 2, dtype)}\n    mlm["W"] *= 0'),
    M("init.init_pretrain", "invariant", "float64 from the start",
      "init_linear(rng, d, d, dtype) | {", "init_linear(rng, d, d, np.float64) | {"),
    M("np.pretrain.sentence_pairs", "invariant", "a document alone is taken", "bounds))) < 2", "bounds))) < 0"),
    M("np.pretrain.mask_tokens", "invariant", "nothing to hide, nothing said", "if not free.any():", "if False:"),
    # pt.pretrain
    M("pt.pretrain.mask_tokens", "invariant", "every word is a target", "torch.where(chosen, ids, IGNORE)", "ids"),
    M("pt.pretrain.mask_tokens", "invariant", "80/10/10 of all tokens, not of the chosen ones",
      "return torch.where(chosen, changed, ids),", "return changed,"),
    M("pt.pretrain.mask_tokens", "invariant", "a random word may be special",
      "random += random >= i", "pass"),
    M("pt.pretrain.mask_tokens", "invariant", "80/10/10 as 80/20/0", "fate < HIDE + REPLACE", "fate < 1"),
    M("pt.pretrain.mask_tokens", "invariant", "special tokens are chosen",
      "free = ~torch.isin(ids, torch.tensor(barred).to(ids))", "free = torch.ones_like(ids, dtype=torch.bool)"),
    M("pt.pretrain.mask_tokens", "invariant", "the first words are chosen",
      "uniform().where(free, 2)", "(0 * uniform()).where(free, 2)"),
    M("pt.pretrain.mask_tokens", "invariant", "words not from the generator given",
      "torch.randint(vocab - len(barred), ids.shape, generator=rng,", "torch.randint(vocab - len(barred), ids.shape,"),
    M("pt.pretrain.mlm_head", "twin invariant", "head with relu", 'params["b"]))', 'params["b"]), "relu")'),
    M("pt.pretrain.mlm_head", "twin invariant", "head: ε of its own",
      'params["norm"]["beta"], eps), E)', 'params["norm"]["beta"]), E)'),
    M("pt.pretrain.pool", "twin invariant", "pool: the last token", "H[..., 0, :]", "H[..., -1, :]"),
    M("pt.pretrain.classify", "twin invariant", "classify: no bias", ', params["b"]', ""),
    M("pt.pretrain.classify", "invariant", "classify: dropout whether training or not",
      "dropout(P, p, training)", "dropout(P, p)"),
    M("pt.pretrain.classify", "invariant", "classify: dropout unless one says no, where NumPy drops if one says so",
      "training: bool = False", "training: bool = True"),
    M("pt.pretrain.pretrain", "invariant", "function: mask not given to the encoder",
      'config, batch["mask"], segments, training)', "config, None, segments, training)"),
    M("pt.pretrain.pretrain", "invariant", "function: always training",
      'batch["mask"], segments, training)', 'batch["mask"], segments, True)'),
    M("pt.pretrain._losses", "invariant", "loss of pairs left out",
      "return L + cross_entropy(pairs", "return L + 0 * cross_entropy(pairs"),
    M("pt.pretrain.Pretraining.forward", "invariant", "module: segments not given",
      'batch["segments"] if self.config.segments else ', ""),
    M("pt.pretrain.Pretraining.forward", "invariant", "module: an embedding of its own for the output",
      "embedding.tokens.E\n", "embedding.tokens.E.detach()\n"),
    M("pt.pretrain.Pretraining._pairs", "invariant", "module: heads drop whether training or not",
      "self.training)", "True)"),
    M("pt.pretrain.Pretraining._pairs", "invariant", "module: its pool passed over, and what was done to it",
      "self.pool(H", "self.pool.forward(H"),
    M("pt.pretrain.MlmHead.forward", "invariant", "MlmHead: its norm passed over",
      "self.norm(G)", "layer_norm(G, self.norm.gamma, self.norm.beta, self.norm.eps)"),
    M("pt.pretrain.MlmHead.forward", "invariant", "MlmHead: only what is a parameter of its own",
      "G = activation(linear(H, self.W, self.b))",
      "p = dict(self.named_parameters())\n        G = activation(linear(H, p['W'], p['b']))"),
    M("pt.pretrain.Pretraining.__init__", "invariant", "module: always with pairs",
      "        super().__init__()\n", "        super().__init__()\n        pairs = True\n"),
    M("pt.pretrain.MlmHead.__init__", "invariant", "MlmHead: ε not passed on", "LayerNorm(d, eps)", "LayerNorm(d)"),
    M("pt.pretrain.MlmHead.__init__", "invariant", "MlmHead: biases drawn",
      "nn.Parameter(torch.zeros(vocab))", "nn.Parameter(torch.randn(vocab))"),
]
