# ruff: noqa: E501
"""Fine-tuning: trees split and joined, a body that stays frozen to the last bit, LoRA as a layer and as a merged matrix."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from byhand import tree
from byhand.init import init_classifier, init_model
from byhand.np import finetune as np_finetune
from byhand.np.linear import linear_backward, linear_forward
from byhand.np.optim import adamw_step, init_state
from byhand.pt import finetune as pt_finetune
from byhand.pt.optim import adamw
from invariants import every_part_counts, near, normal, raises, rng, same
from mutants import M
from proofs import habits, refusals
from specs.block import filled, in_torch
from specs.pretrain import CONFIG, PLAIN, a_batch, slopes
from twins import FORWARD, FORWARD32, GRADIENT, GRADIENT32, LEAD, SLOPE, Case, Spec, twin

CLASSES, ALPHA, R = 3, 3.0, 2
TWO = replace(CONFIG, layers=2)
BATCH = a_batch() | {"labels": np.array([2, 0, 1])}
SHAPES = {(c, n): init_classifier(rng(), c, n) for c, n in ((CONFIG, 3), (PLAIN, 3), (TWO, 3))}


def parameters(source, config=CONFIG):
    return filled(SHAPES[replace(config, p=0.0), CLASSES], source)


def pair(source, d_in, d_out, r=R):
    return {"A": source.normal(size=(d_in, r)), "B": source.normal(size=(r, d_out))}


def adapters(source, params, patterns=("W_q", "W_1")):
    """Pairs of which neither is zero."""
    return filled(np_finetune.init_lora(rng(), params, patterns, R), source)


def classifier_cases(source):
    for config in (CONFIG, PLAIN):
        batch = {name: BATCH[name] for name in ("ids", "mask")} | ({"segments": BATCH["segments"]} if config.segments else {})
        yield Case(config.position, {"params": parameters(source, config)}, batch | {"config": config})


def lora_cases(source):
    for lead in LEAD.values():
        yield Case(f"{lead}", {"X": source.normal(size=(*lead, 3, 5)), **pair(source, 5, 4)},
                   {"W": source.normal(size=(5, 4)), "alpha": ALPHA})


def lora_merge_cases(source):
    for r in (1, 3):
        yield Case(f"r = {r}", {"W": source.normal(size=(5, 4)), **pair(source, 5, 4, r)}, {"alpha": ALPHA})


TWINS = [Spec("finetune", "lora", lora_cases), Spec("finetune", "lora_merge", lora_merge_cases)]
WHOLE = Spec("finetune", "classifier", classifier_cases)  # its slope is taken along directions


def classifier_is_that_of_the_other_half(module):
    for dtype, bounds in ((np.float64, (FORWARD, GRADIENT)), (np.float32, (FORWARD32, GRADIENT32))):
        halves = (np_finetune, module) if "pt" in module.__name__ else (module, pt_finetune)
        forward, gradient = twin(WHOLE, *halves, dtype)
        assert forward <= bounds[0] and gradient <= bounds[1], (forward, gradient)


def classifier_has_the_right_slope(module):
    """Dropout on, the same entries dropped in every run."""
    for error in slopes(lambda params: module.classifier_loss_and_grads(params, BATCH, rng(), config=replace(CONFIG, p=0.3)),
                        parameters(rng())):
        assert error < SLOPE, f"{error:.0e}"


def loss_is_the_mean_over_sequences(module):
    params = parameters(rng())
    logits, _ = module.classifier_forward(params, BATCH["ids"], CONFIG, BATCH["mask"], BATCH["segments"])
    P = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    loss, _, count = module.classifier_loss_and_grads(params, BATCH, config=CONFIG)
    near(loss, -P[np.arange(3), BATCH["labels"]].mean(), "losses")
    assert isinstance(loss, float) and count == 3


# Trees


def parts_join_to_the_whole(module):
    params = parameters(rng(), TWO)
    flat = tree.flatten(params)
    for patterns, expected in (
        (("W_q", "W_v"), [f"encoder.blocks.{i}.attention.W_{x}" for i in (0, 1) for x in "qv"]),
        (("pool",), ["pool.W", "pool.b"]),
        (("head.W",), ["head.W"]),
        (("pool", "pool.W"), ["pool.W", "pool.b"]),
        (("blocks.*.norm_1",), [f"encoder.blocks.{i}.norm_1.{x}" for i in (0, 1) for x in ("gamma", "beta")]),
        (("W",), ["pool.W", "head.W"]),  # whole names: not W_q
        (("E",), ["encoder.embedding.tokens.E", "encoder.embedding.segments.E"]),
    ):
        chosen, rest = module.split_tree(params, patterns)
        assert set(tree.flatten(chosen)) == set(expected), patterns
        joined = tree.flatten(module.join_tree(rest, chosen))
        assert joined.keys() == flat.keys() and all(joined[path] is x for path, x in flat.items())
    everything, nothing = module.split_tree(params, ("*",))
    assert tree.flatten(everything).keys() == flat.keys() and nothing == {}
    raises(ValueError, "split_tree: pattern 'W_x' names nothing, expected some of encoder.embedding", lambda: module.split_tree(params, ("pool", "W_x")))
    raises(ValueError, "join_tree: pool.W in both trees", lambda: module.join_tree({"pool": {"W": 1}}, {"pool": {"W": 2}}))


def parts_give_the_gradients_of_the_whole(module):
    """Whatever is frozen, the same loss, and for the rest the same gradients, in its tree."""
    params = parameters(rng(), TWO)
    loss, grads, _ = module.classifier_loss_and_grads(params, BATCH, config=TWO)
    assert tree.flatten(grads).keys() == tree.flatten(params).keys()
    for patterns in (("pool", "head"), ("blocks.1", "pool", "head"), ("head",), ("blocks.0", "norm")):
        free, frozen = module.split_tree(params, patterns)
        again, some, _ = module.classifier_loss_and_grads(free, BATCH, config=TWO, frozen=frozen)
        assert again == loss and tree.flatten(some).keys() == tree.flatten(free).keys()
        for path, g in tree.flatten(some).items():
            same(g, tree.flatten(grads)[path], f"d{path}, part and whole")


def frozen_body_stays_to_the_last_bit(module):
    """Five steps of AdamW with a strong decay; pool and head move. Nothing is kept for a backward pass of the body."""
    params = parameters(rng())
    before = tree.map_tree(np.copy, params)
    free, frozen = module.split_tree(params, ("pool", "head"))
    state = init_state(free)
    for _ in range(5):
        _, grads, _ = module.classifier_loss_and_grads(free, BATCH, rng(), config=CONFIG, frozen=frozen)
        free, state = adamw_step(free, grads, state, 0.1, weight_decay=0.5)
    assert set(free) == {"pool", "head"}
    after = tree.flatten(module.join_tree(frozen, free))
    for path, x in tree.flatten(before).items():
        if path.startswith("encoder"):
            same(after[path], x, f"{path} before and after")
        else:
            assert (after[path] != x).any(), f"{path} did not move"
    cache = module.classifier_forward(params, BATCH["ids"], CONFIG, BATCH["mask"], BATCH["segments"], frozen=True)[1]
    assert cache.encoder is None and set(module.classifier_backward(normal(3, CLASSES), cache)) == {"pool", "head"}


def pretrained_parts_are_taken_over(module):
    given = {"encoder": init_model(rng(), CONFIG), "pool": {"W": normal(4, 4), "b": normal(4)}, "mlm": {}, "nsp": {}}
    params = module.init_classifier(rng(), CONFIG, 5, given)
    assert set(params) == {"encoder", "pool", "head"}
    kept = tree.flatten({name: given[name] for name in ("encoder", "pool")})
    for path, x in kept.items():  # as they were, in the dtype asked for, and whoever trains them trains copies
        new = tree.flatten(params)[path]
        assert np.array_equal(new, x.astype(np.float32)) and new.dtype == np.float32 and not np.shares_memory(new, x)
    assert params["head"]["W"].shape == (4, 5)
    no_pool = module.init_classifier(rng(), CONFIG, 5, {"encoder": given["encoder"], "mlm": {}})
    assert np.array_equal(no_pool["encoder"]["embedding"]["tokens"]["E"], given["encoder"]["embedding"]["tokens"]["E"])
    assert no_pool["pool"]["W"].shape == (4, 4)
    scratch = module.init_classifier(rng(), CONFIG, 5, dtype=np.float64)
    assert tree.flatten(scratch).keys() == tree.flatten(params).keys()
    assert all(x.dtype == np.float64 for x in tree.flatten(scratch).values())


# LoRA


def merged_matrix_computes_the_same(module):
    X, W, A, B = normal(2, 3, 5), normal(5, 4), normal(5, R), normal(R, 4)
    near(module.lora_forward(X, A, B, W, ALPHA)[0], X @ module.lora_merge(W, A, B, ALPHA), "adapter and merged")
    near(module.lora_merge(W, A, B, ALPHA) - W, 1.5 * A @ B, "added, and α/r = 3/2 times A B")
    near(module.lora_merge(module.lora_merge(W, A, B, ALPHA), A, B, -ALPHA), W, "taken off again, and W")


def both_ways_to_the_gradients_agree(module):
    """Through the layer, and from dW of the merged matrix by the chain rule."""
    X, W, dY, factors = normal(2, 3, 5), normal(5, 4), normal(2, 3, 4), pair(rng(), 5, 4)
    dX, dA, dB = module.lora_backward(dY, module.lora_forward(X, *factors.values(), W, ALPHA)[1])
    dX_2, dW, _ = linear_backward(dY, linear_forward(X, module.lora_merge(W, *factors.values(), ALPHA))[1])
    grads = module.lora_grads({"a": {"W": dW, "b": dY}}, {"a": {"W": factors}}, ALPHA)
    near(dX, dX_2, "dX")
    near(dA, grads["a"]["W"]["A"], "dA")
    near(dB, grads["a"]["W"]["B"], "dB")
    assert set(tree.flatten(grads)) == {"a.W.A", "a.W.B"}


def adapters_begin_as_nothing_and_can_learn(module):
    """At first the model is the old one to the last bit, and dA is zero; but dB is not, and after a step nor is dA."""
    params = parameters(rng())
    lora = module.init_lora(rng(), params, r=R)
    assert set(tree.flatten(lora)) == {f"encoder.blocks.0.attention.W_{x}.{y}" for x in "qv" for y in "AB"}
    for path, x in tree.flatten(lora).items():
        assert x.shape == ((4, R) if path.endswith("A") else (R, 4)) and x.dtype == np.float64
        assert x.any() == path.endswith("A"), f"{path} at the start"
    for path, x in tree.flatten(module.merged(params, lora, ALPHA)).items():
        same(x, tree.flatten(params)[path], f"{path} with fresh adapters")
    tall = module.init_lora(rng(), {"W": np.zeros((300, 7), np.float32)}, ("W",), 6)["W"]
    near(tall["A"].std() * math.sqrt(300), 1, "deviation of A, and 1/√d_in", 0.06)
    assert tall["A"].dtype == tall["B"].dtype == np.float32
    run = partial(module.lora_loss_and_grads, loss_and_grads=partial(np_finetune.classifier_loss_and_grads, config=CONFIG),
                  frozen=params, alpha=ALPHA)
    state, train = init_state({"lora": lora, "free": {}}), {"lora": lora, "free": {}}
    for step in range(2):
        _, grads, _ = run(train, BATCH)
        for path, g in tree.flatten(grads).items():
            assert g.any() == (step == 1 or path.endswith("B")), f"d{path} in step {step}"
        train, state = adamw_step(train, grads, state, 0.1)


def adapters_of_a_model_have_the_right_slope(module):
    """LoRA of two kinds of matrices, and a free head; the frozen tree is left alone. What trains is counted."""
    params = parameters(rng())
    before = tree.map_tree(np.copy, params)
    free, frozen = module.split_tree(params, ("head",))
    train = {"lora": adapters(rng(), params), "free": free}
    run = partial(module.lora_loss_and_grads, loss_and_grads=partial(np_finetune.classifier_loss_and_grads, config=CONFIG),
                  frozen=frozen, alpha=ALPHA)
    for error in slopes(lambda train: run(train, BATCH), train):
        assert error < SLOPE, f"{error:.0e}"
    loss, grads, count = run(train, BATCH)
    shapes = [{path: x.shape for path, x in tree.flatten(t).items()} for t in (grads, train)]
    assert shapes[0] == shapes[1] and count == 3
    assert sum(x.size for x in tree.flatten(train).values()) == R * (4 + 4) + R * (4 + 5) + 4 * CLASSES + CLASSES
    whole = module.merged(params, train["lora"], ALPHA)
    near(np_finetune.classifier_loss_and_grads(whole, BATCH, config=CONFIG)[0], loss, "losses, merged and not")
    for path, x in tree.flatten(before).items():
        same(tree.flatten(params)[path], x, path)


L_ = {"W": {"A": normal(5, R), "B": normal(R, 4)}}
X_, W_, A_, B_ = normal(2, 3, 5), normal(5, 4), L_["W"]["A"], L_["W"]["B"]
ROWS = [
    ("lora_forward", ValueError, r"lora: A has shape \(4, 2\), expected \(5, 2\)", X_, A_[:4], B_, W_),
    ("lora_forward", ValueError, r"lora: B has shape \(1, 4\), expected \(2, 4\)", X_, A_, B_[:1], W_),
    ("lora_forward", ValueError, r"lora: A has shape \(5, 2\), expected \(4, 2\)", X_[..., :4], A_, B_, W_),
    ("lora_merge", ValueError, r"lora_merge: B has shape \(2, 3\), expected \(2, 4\)", W_, A_, B_[:, :3]),
    ("lora_merge", ValueError, "lora_merge: alpha is nan", W_, A_, B_, math.nan),
    ("lora_merge", TypeError, "lora_merge: alpha is str", W_, A_, B_, "3"),
    ("merged", ValueError, "merged: lora adapts W, expected one of V", {"V": W_}, L_),
]
refused = refusals(
    *ROWS,
    ("lora_forward", TypeError, "lora: W has dtype float32 but X has float64", X_, A_, B_, W_.astype(np.float32)),
    ("lora_backward", ValueError, r"lora_backward: dY has shape \(1, 3, 4\), expected \(2, 3, 4\)", normal(1, 3, 4),
     np_finetune.lora_forward(X_, A_, B_, W_)[1]),
    ("lora_grads", ValueError, "lora_grads: lora adapts W, expected one of V", {"V": W_}, L_),
    ("init_lora", ValueError, "init_lora: r is 5, expected at most 4", rng(), {"W": W_}, ("W",), 5),
    ("init_lora", TypeError, "init_lora: r is float, expected a whole number", rng(), {"W": W_}, ("W",), 2.0),
    ("init_lora", ValueError, "init_lora: b has 1 axes, expected 2", rng(), {"b": W_[0]}, ("b",), 1),
)
refused_by_torch = refusals(
    *[(name.removesuffix("_forward"), error, says, *map(in_torch, arguments)) for name, error, says, *arguments in ROWS],
    ("Classifier", ValueError, "Classifier: classes is 1, expected at least 2", CONFIG, 1),
    ("Lora", ValueError, "Lora: r is 9, expected at most 3", torch.nn.ParameterDict({"W_q": torch.zeros(3, 5)}), ("W_q",), 9),
    ("Lora", ValueError, "split_tree: pattern 'W_z' names nothing", torch.nn.ParameterDict({"W_q": torch.zeros(3, 5)}), ("W_z",), 1),
)


# The PyTorch half


def modules_use_their_parts(module):
    every_part_counts(module.Classifier(CONFIG, CLASSES).double(), lambda net: net(*INPUTS))


def loaded(module, frozen=False, config=CONFIG):
    net = module.Classifier(config, CLASSES, frozen).double()
    net.load_state_dict(tree.flatten(tree.to_torch(parameters(rng(), config))))
    return net


INPUTS = [torch.tensor(BATCH[name]) for name in ("ids", "mask", "segments")]


def loss_of(net):
    return torch.nn.functional.cross_entropy(net(*INPUTS), torch.tensor(BATCH["labels"]))


def classifier_module_holds_the_tree(module):
    net, params = loaded(module), parameters(rng())
    assert {k: v.shape for k, v in tree.flatten(tree.from_torch(net)).items()} == {k: v.shape for k, v in tree.flatten(params).items()}
    loss = loss_of(net)
    loss.backward()
    expected, grads, _ = np_finetune.classifier_loss_and_grads(params, BATCH, config=CONFIG)
    near(loss.detach(), expected, "losses")
    for name, p in net.named_parameters():
        near(p.grad, tree.flatten(grads)[name], f"d{name}", 1e-10)
    net = loaded(module, config=replace(CONFIG, p=0.5))
    assert loss_of(net) != loss_of(net) and loss_of(net.eval()) == loss


def frozen_module_stays_to_the_last_bit(module):
    net = loaded(module, frozen=True)
    before, optimizer = tree.flatten(tree.from_torch(net)), adamw(net, 0.1, weight_decay=0.5)
    for _ in range(5):
        optimizer.zero_grad()
        loss_of(net).backward()
        optimizer.step()
    for name, p in net.named_parameters():
        body = name.startswith("encoder")
        assert (p.grad is None) == body and (p.detach().numpy() == before[name]).all() == body, name
    params = {name: {k: x.requires_grad_() for k, x in leaf.items()} if name != "encoder" else
              tree.map_tree(lambda x: x.requires_grad_(), leaf) for name, leaf in tree.to_torch(parameters(rng())).items()}
    module.classifier(params, INPUTS[0], CONFIG, *INPUTS[1:], frozen=True).sum().backward()
    assert all((x.grad is None) == path.startswith("encoder") for path, x in tree.flatten(params).items())


def lora_module_is_the_numpy_one(module):
    """Loss and gradients; a count of what trains; the net inside without gradients, but for what is free."""
    net = module.Lora(loaded(module), ("W_q", "W_1"), R, ALPHA, free=("head",))
    fresh = tree.from_torch(net.adapters)
    assert all(x.any() == path.endswith("A") for path, x in tree.flatten(fresh).items())
    near(loss_of(net).detach(), loss_of(loaded(module)).detach(), "losses, without and with fresh adapters", 1e-15)
    params = parameters(rng())
    lora = adapters(rng(), params)
    net.adapters.load_state_dict(tree.flatten(tree.to_torch(lora)))
    loss_of(net).backward()
    free, frozen = np_finetune.split_tree(params, ("head",))
    loss, grads, _ = np_finetune.lora_loss_and_grads({"lora": lora, "free": free}, BATCH, frozen=frozen, alpha=ALPHA,
                                                     loss_and_grads=partial(np_finetune.classifier_loss_and_grads, config=CONFIG))
    near(loss_of(net).detach(), loss, "losses")
    expected = {f"adapters.{path}": g for path, g in tree.flatten(grads["lora"]).items()}
    expected |= {f"net.{path}": g for path, g in tree.flatten(grads["free"]).items()}
    for name, p in net.named_parameters():
        if name in expected:
            near(p.grad, expected[name], f"d{name}", 1e-10)
        else:
            assert p.grad is None, f"d{name}"
    assert net.trained == R * (4 + 4) + R * (4 + 5) + 4 * CLASSES + CLASSES
    assert net.total == sum(x.size for x in tree.flatten(params).values()) + R * (4 + 4) + R * (4 + 5)
    assert not any(x.requires_grad for x in module.Lora(loaded(module), r=R).net.parameters())


def merging_a_module_twice_is_merging_it_once(module):
    net = module.Lora(loaded(module), ("W_q", "W_1"), R, ALPHA)
    net.adapters.load_state_dict(tree.flatten(tree.to_torch(adapters(rng(), parameters(rng())))))
    before = loss_of(net).detach()
    for _ in range(2):
        plain = net.merge()
        assert type(plain) is module.Classifier and all(p.requires_grad for p in plain.parameters())
        near(loss_of(plain).detach(), before, "losses, merged and not")
        near(loss_of(net).detach(), before, "losses before and after merging", 0)
    W = torch.nn.ParameterDict({"W": torch.zeros(400, 9)})
    A = module.Lora(W, ("W",), 5, rng=torch.Generator().manual_seed(1)).adapters["W"]["A"]
    near(A.std().item() * 20, 1, "deviation of A, and 1/√d_in", 0.06)
    same(A.detach(), module.Lora(W, ("W",), 5, rng=torch.Generator().manual_seed(1)).adapters["W"]["A"].detach(), "two from one seed")


def frozen_matrix_has_no_gradient(module):
    X, A, B, W = (torch.tensor(x, requires_grad=True) for x in (X_, A_, B_, W_))
    module.lora(X, A, B, W).sum().backward()
    assert W.grad is None and X.grad.any() and A.grad.any() and B.grad.any()


def merged_tree_is_the_numpy_one(module):
    params = parameters(rng())
    lora = adapters(rng(), params)
    mine, theirs = module.merged(in_torch(params), in_torch(lora), ALPHA), np_finetune.merged(params, lora, ALPHA)
    for path, x in tree.flatten(mine).items():
        near(x, tree.flatten(theirs)[path], path)


fresh_heads_are_refused = refusals(
    ("init_classifier", ValueError, "init_classifier: classes is 1, expected at least 2", rng(), CONFIG, 1),
    ("init_classifier", ValueError, "init_classifier: pretrained has mlm, expected encoder among them", rng(), CONFIG, 2, {"mlm": {}}),
    ("init_classifier", ValueError, r"init_classifier: pretrained\['encoder'\] has .*, expected", rng(), CONFIG, 2, {"encoder": {"W": normal(4, 4)}}),
)
INVARIANTS = {
    "np.finetune": [classifier_is_that_of_the_other_half, classifier_has_the_right_slope, loss_is_the_mean_over_sequences,
                    parts_join_to_the_whole, parts_give_the_gradients_of_the_whole, frozen_body_stays_to_the_last_bit,
                    merged_matrix_computes_the_same, both_ways_to_the_gradients_agree,
                    adapters_begin_as_nothing_and_can_learn, adapters_of_a_model_have_the_right_slope, refused,
                    *habits(TWINS[:1])],
    "init": [pretrained_parts_are_taken_over, fresh_heads_are_refused],
    "pt.finetune": [classifier_is_that_of_the_other_half, modules_use_their_parts, classifier_module_holds_the_tree, frozen_module_stays_to_the_last_bit,
                    lora_module_is_the_numpy_one, merging_a_module_twice_is_merging_it_once, frozen_matrix_has_no_gradient,
                    merged_tree_is_the_numpy_one, refused_by_torch],
}

WRONG = [
    # np.finetune: the classifier
    M("np.finetune.classifier_forward", "invariant", "mask not given to the encoder",
      "config, mask, ", "config, None, "),
    M("np.finetune.classifier_loss_and_grads", "invariant", "loss: mask not passed on", 'batch["mask"]', "None"),
    M("np.finetune.classifier_backward", "invariant", "gradient of the pool does not reach the body",
      "encoder_backward(dH, cache.encoder)", "encoder_backward(0 * dH, cache.encoder)"),
    M("np.finetune.classifier_forward", "invariant", "frozen: the body is still walked back",
      "None if frozen else encoder", "encoder"),
    M("np.finetune.classifier_loss_and_grads + _alike", "invariant", "frozen body moved by weight decay: zero gradients for it",
      "_alike(classifier_backward(cross_entropy_backward(1.0, inner), cache), params",
      "_zeros(classifier_backward(cross_entropy_backward(1.0, inner), cache), weights",
      "def _alike(",
      "def _zeros(grads, weights):\n"
      "    flat = flatten(grads)\n"
      "    return unflatten({p: flat.get(p, 0 * x) for p, x in flatten(weights).items()})\n\n\n"
      "def _alike("),
    M("np.finetune.classifier_loss_and_grads", "invariant", "any frozen leaf stops the backward pass",
      'frozen="encoder" not in params', "frozen=bool(frozen)"),
    M("np.finetune.classifier_loss_and_grads", "invariant", "gradients of everything",
      "cache), params), len(logits)", "cache), weights), len(logits)"),
    M("np.finetune.classifier_loss_and_grads", "invariant", "weight: tokens for sequences",
      "len(logits)", 'batch["ids"].size'),
    M("np.finetune.classifier_loss_and_grads", "invariant", "loss not averaged",
      "return float(L), _alike", "return float(L) * len(logits), _alike"),
    M("init.init_classifier", "invariant", "pre-trained weights ignored", "{} if pretrained is None else", "{} if True else"),
    M("init._kept", "invariant", "pool of pre-training ignored", "in shapes if name in pretrained", "in ('encoder',)"),
    M("init._kept", "invariant", "needs a pre-trained pool", " if name in pretrained}", "}"),
    M("init._kept", "invariant", "fine-tuning trains what was given", "np.array(x, dtype)", "np.asarray(x, dtype)"),
    M("init._kept", "invariant", "another dtype than was asked for", "np.array(x, dtype)", "np.array(x)"),
    M("init._kept", "invariant", "a body that does not fit the config", '        fits("init_classifier"', '        _ = ("init_classifier"'),
    M("init._kept", "invariant", "no body at all", 'if "encoder" not in pretrained:', "if False:"),
    # trees
    M("np.finetune.split_tree", "invariant", "patterns name parts of names", 'f"*.{pattern}.*")', 'f"*{pattern}*")'),
    M("np.finetune.split_tree", "invariant", "patterns name leaves only", 'f"*.{pattern}.*")', 'f"*.{pattern}.")'),
    M("np.finetune.split_tree", "invariant", "the two parts exchanged",
      "for one in (True, False)", "for one in (False, True)"),
    M("np.finetune.split_tree", "invariant", "a wrong pattern passes", "        if not paths:", "        if False:"),
    M("np.finetune.join_tree", "invariant", "one part overwrites the other",
      "if both := flat.keys() & more.keys():", "if both := ():"),
    # LoRA
    M("np.finetune.lora_forward", "twin invariant", "α/r forgotten, forward and backward",
      "s = X @ A, alpha / A.shape[-1]", "s = X @ A, 1.0"),
    M("np.finetune.lora_forward", "twin invariant", "α for α/r",
      "s = X @ A, alpha / A.shape[-1]", "s = X @ A, float(alpha)"),
    M("np.finetune.lora_backward", "slope twin invariant", "α/r forgotten in dA",
      "dU = s * (dY @ B.mT)", "dU = dY @ B.mT"),
    M("np.finetune.lora_backward", "slope twin invariant", "α/r forgotten in dB",
      "dB = s * (U.reshape", "dB = (U.reshape"),
    M("np.finetune.lora_backward", "slope twin invariant", "dX of the frozen path only",
      "dY @ W.mT + dU @ A.mT", "dY @ W.mT"),
    M("np.finetune.lora_backward", "slope twin invariant", "gradients of A and B exchanged",
      "+ dU @ A.mT, dA, dB", "+ dU @ A.mT, dB, dA"),
    M("np.finetune.lora_backward", "invariant", "rows in memory order",
      "dU.reshape(-1, A.shape[1])", "dU.ravel(order='K').reshape(-1, A.shape[1])",
      "X.reshape(-1, A.shape[0])", "X.ravel(order='K').reshape(-1, A.shape[0])"),
    M("np.finetune.lora_forward", "invariant", "a NumPy scale widens float32",
      "s = X @ A, alpha / A.shape[-1]", "s = X @ A, np.float64(alpha) / A.shape[-1]"),
    M("np.finetune.lora_backward", "slope twin invariant", "backward scales its upstream in place",
      "    dU = s * (dY @ B.mT)\n", "    dY *= s\n    dU = dY @ B.mT\n",
      "dB = s * (U.reshape", "dB = (U.reshape",
      "return dY @ W.mT +", "return dY / s @ W.mT +"),
    M("np.finetune.lora_merge", "twin invariant", "merge: α/r forgotten",
      "W + alpha / A.shape[-1] * (A @ B)", "W + A @ B"),
    M("np.finetune.lora_merge", "twin invariant", "merge: done twice",
      "W + alpha / A.shape[-1] * (A @ B)", "W + 2 * float(alpha) / A.shape[-1] * (A @ B)"),
    M("np.finetune.lora_merge", "twin invariant", "merge: without W",
      "W + alpha / A.shape[-1] * (A @ B)", "float(alpha) / A.shape[-1] * (A @ B)"),
    M("np.finetune.merged", "invariant", "merged: written into the frozen weights",
      "path: lora_merge(W, A, B, alpha) for path", "path: np.copyto(W, lora_merge(W, A, B, alpha)) or W for path"),
    M("np.finetune.merged", "invariant", "merged: default α",
      "path: lora_merge(W, A, B, alpha)", "path: lora_merge(W, A, B)"),
    M("np.finetune.init_lora", "invariant", "both factors zero",
      "size=(W.shape[0], r)).astype(W.dtype)", "size=(W.shape[0], r)).astype(W.dtype) * 0"),
    M("np.finetune.init_lora", "invariant", "neither factor zero",
      "np.zeros((r, W.shape[1]), W.dtype)", "np.ones((r, W.shape[1]), W.dtype)"),
    M("np.finetune.init_lora", "invariant", "A of variance 1/r",
      "scale=1 / math.sqrt(W.shape[0])", "scale=1 / math.sqrt(r)"),
    M("np.finetune.init_lora", "invariant", "adapters in float64",
      "size=(W.shape[0], r)).astype(W.dtype)", "size=(W.shape[0], r))"),
    M("np.finetune.init_lora", "invariant", "any rank",
      '        adaptable("init_lora", path, W, r)\n', ""),
    M("np.finetune.lora_grads", "invariant", "from dW: α/r forgotten",
      "        s = alpha / A.shape[-1]\n", "        s = 1.0\n"),
    M("np.finetune.lora_grads", "invariant", "from dW: A and B exchanged",
      'A": s * (dW @ B.mT), f"{path}.B', 'B": s * (dW @ B.mT), f"{path}.A'),
    M("np.finetune.lora_grads", "invariant", "from dW: dB through itself",
      "s * (A.mT @ dW)", "s * (A.mT @ (dW + A @ B))"),
    M("np.finetune.lora_loss_and_grads", "invariant", "gradients at the weights without adapters",
      'merged(join_tree(frozen, params["free"]), params["lora"], alpha', 'join_tree(frozen, params["free"]'),
    M("np.finetune.lora_loss_and_grads", "invariant", "what is free gets no gradient",
      '_alike(grads, params["free"])}', '{k: {n: 0 * x for n, x in v.items()} for k, v in params["free"].items()}}'),
    # pt.finetune
    M("pt.finetune.classifier", "invariant", "function: mask not given to the encoder",
      "config, mask, segments, training)", "config, None, segments, training)"),
    M("pt.finetune.classifier", "invariant", "function: frozen ignored",
      "torch.no_grad() if frozen else", "torch.no_grad() if False else"),
    M("pt.finetune.lora", "twin", "α/r forgotten", "alpha / A.shape[-1] * (X @ A @ B)", "X @ A @ B"),
    M("pt.finetune.lora", "invariant", "W gets a gradient", "X @ W.detach()", "X @ W"),
    M("pt.finetune.lora_merge", "twin invariant", "merge: α/r forgotten",
      "return W + alpha / A.shape[-1] * (A @ B)", "return W + A @ B"),
    M("pt.finetune.merged", "invariant", "merged: the first pair only",
      '.B"], alpha)\n', '.B"], alpha)\n        break\n'),
    M("pt.finetune.Classifier.__init__ + Classifier.forward", "invariant", "module: a frozen body with gradients",
      "Encoder(config).requires_grad_(not frozen)", "Encoder(config)",
      "torch.no_grad() if self.frozen else", "torch.no_grad() if False else"),
    M("pt.finetune.Classifier.forward", "invariant", "module: frozen body moved by weight decay, its gradients zero",
      "mask, segments)\n",
      "mask, segments)\n"
      "        for p in self.encoder.parameters():\n"
      "            p.grad = torch.zeros_like(p) if self.frozen else p.grad\n"),
    M("pt.finetune.Classifier.forward", "invariant", "module: segments not given",
      "H = self.encoder(ids, mask, segments)", "H = self.encoder(ids, mask)"),
    M("pt.finetune.Classifier.forward", "invariant", "module: drops when not training",
      "self.config.p, self.training)", "self.config.p, True)"),
    M("pt.finetune.Classifier.forward", "invariant", "module: its pool passed over, and what was done to it",
      "self.pool(H", "self.pool.forward(H"),
    M("pt.finetune.Lora.__init__", "invariant", "Lora: the net trains too",
      "x.requires_grad_(name in trainable)", "x.requires_grad_(True)"),
    M("pt.finetune.Lora.__init__", "invariant", "Lora: nothing is free",
      "x.requires_grad_(name in trainable)", "x.requires_grad_(False)"),
    M("pt.finetune.Lora.__init__", "invariant", "Lora: both factors zero", '"A": A.to(W)', '"A": 0 * A.to(W)'),
    M("pt.finetune.Lora.__init__", "invariant", "Lora: α of its own",
      "self.net, self.alpha, params = net, alpha,", "self.net, self.alpha, params = net, 16.0,"),
    M("pt.finetune.Lora.__init__", "invariant", "Lora: A without its generator", "r, generator=rng)", "r)"),
    M("pt.finetune.Lora.merge", "invariant", "Lora: merged into the net itself, and so twice",
      "copy.deepcopy(self.net).requires_grad_()", "self.net.requires_grad_()"),
    M("pt.finetune.Lora.merge", "invariant", "Lora: merged with itself frozen",
      "copy.deepcopy(self.net).requires_grad_()", "copy.deepcopy(self.net)"),
    M("pt.finetune.Lora.trained", "invariant", "Lora: counts everything as trained", ") if x.requires_grad", ")"),
    M("pt.finetune.Lora.__init__", "invariant", "Lora: any rank",
      '            adaptable("Lora", path, W, r)\n', ""),
]
