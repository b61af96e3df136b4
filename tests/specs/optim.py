# ruff: noqa: E501  (the tables of wrong input and of wrong versions)
"""Proofs of the optimisers, clipping and schedules: tables of runs beside torch's, invariants, wrong modules."""

import math
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import torch
from byhand import tree
from byhand.io.safetensors import load_safetensors, save_safetensors
from byhand.np import optim as np_optim
from byhand.pt.embedding import Embedding
from byhand.pt.linear import Linear
from byhand.pt.norm import LayerNorm
from invariants import Compiled, arrays, near, normal, raises, rng, same
from mutants import M

SHAPES = {"block": {"W": (4, 3), "b": (3,)}, "gain": (), "embedding": {"E": (5, 2)}, "position": {"table": (3, 2)}}
DECAYS = {"block.W": True, "block.b": False, "gain": False, "embedding.E": False, "position.table": False}

RUNS = [  # a step here and its options, an optimiser of torch and its options, decay by the mask
    ("sgd_step", {}, torch.optim.SGD, {}, False),
    ("momentum_step", {"momentum": 0.8}, torch.optim.SGD, {"momentum": 0.8}, False),
    ("momentum_step", {"momentum": 0.8, "nesterov": True}, torch.optim.SGD, {"momentum": 0.8, "nesterov": True}, False),
    ("rmsprop_step", {"alpha": 0.9}, torch.optim.RMSprop, {"alpha": 0.9}, False),
    ("adam_step", {"betas": (0.8, 0.97)}, torch.optim.Adam, {"betas": (0.8, 0.97)}, False),
    ("adam_step", {"eps": 0.1}, torch.optim.Adam, {"eps": 0.1}, False),
    ("adam_l2_step", {"weight_decay": 0.3}, torch.optim.Adam, {"weight_decay": 0.3}, False),
    ("adam_l2_step", {"weight_decay": 0.3}, torch.optim.Adam, {"weight_decay": 0.3}, True),
    ("adamw_step", {"weight_decay": 0.3}, torch.optim.AdamW, {"weight_decay": 0.3}, False),
    ("adamw_step", {"weight_decay": 0.3}, torch.optim.AdamW, {"weight_decay": 0.3}, True),
]
BOUND = {np.float64: 1e-12, np.float32: 1e-6}  # of the gap after any step, in the leaf's largest value so far
STEPS = 100


def random_tree(rng, shapes=SHAPES, dtype=np.float64):
    return {k: random_tree(rng, v, dtype) if isinstance(v, dict) else np.asarray(rng.normal(size=v).astype(dtype))
            for k, v in shapes.items()}


def rate(t):
    return 0.01 * (1 + math.cos(t / 30))


def beside_torch(module, name, ours, kind, theirs, masked, dtype):
    """The same 100 gradients and rates for both; after every step every leaf is the same."""
    rng = np.random.default_rng(3)
    params = random_tree(rng, dtype=dtype)
    state, leaves = module.init_state(params), tree.flatten(params)
    tensors = {k: torch.tensor(x, requires_grad=True) for k, x in leaves.items()}
    size = {k: np.abs(x).max() for k, x in leaves.items()}
    groups = list(tensors.values())
    if masked:
        mask = module.decay_mask(params)
        assert tree.flatten(mask) == DECAYS
        ours = ours | {"mask": mask}
        groups = [{"params": [x for k, x in tensors.items() if DECAYS[k] is on],
                   "weight_decay": theirs["weight_decay"] if on else 0.0} for on in (True, False)]
    optimizer = kind(groups, lr=0.1, **theirs)
    for t in range(1, STEPS + 1):
        noise = random_tree(rng, dtype=dtype)
        grads = tree.map_tree(lambda p, g: np.asarray((p + 3 * g).astype(dtype)), params, noise)
        for k, g in tree.flatten(grads).items():
            tensors[k].grad = torch.tensor(g)
        for group in optimizer.param_groups:
            group["lr"] = rate(t)
        params, state = getattr(module, name)(params, grads, state, np.float64(rate(t)), **ours)
        optimizer.step()
        for k, p in tree.flatten(params).items():
            assert isinstance(p, np.ndarray) and p.dtype == dtype, f"{k} became {type(p)} of {p.dtype}"
            size[k] = max(size[k], np.abs(p).max())
            near(p, tensors[k].detach(), f"{name} {ours}, step {t}: {k}", BOUND[dtype] * size[k])
    assert state["t"] == STEPS and all(x.dtype == dtype for n in "mv" for x in tree.flatten(state[n]).values())


def torch_takes_the_same_steps(module):
    for run in RUNS:
        beside_torch(module, *run, np.float64)


def torch_takes_the_same_steps_in_float32(module):
    for run in RUNS:
        beside_torch(module, *run, np.float32)


def in_place_is_the_same_to_the_last_bit(module):
    for dtype in (np.float32, np.float64):
        rng = np.random.default_rng(5)
        params = random_tree(rng, dtype=dtype)
        state, mask = module.init_state(params), module.decay_mask(params)
        copy, held = tree.map_tree(np.copy, params), module.init_state(params)
        leaf = copy["block"]["W"]
        for on in (mask, None):
            for _ in range(20):
                grads = random_tree(rng, dtype=dtype)
                for g in arrays(grads):
                    g.flags.writeable = False
                params, state = module.adamw_step(params, grads, state, 0.1, weight_decay=0.2, mask=on)
                assert module.adamw_step_(copy, grads, held, 0.1, weight_decay=0.2, mask=on) is None
        assert copy["block"]["W"] is leaf
        for a, b in zip(arrays({"p": params, "s": state}), arrays({"p": copy, "s": held}), strict=True):
            same(a, b, "pure and in place")


def steps_change_nothing_that_they_were_given(module):
    for name, ours, *_ in RUNS:
        rng = np.random.default_rng(6)
        params, grads = random_tree(rng), random_tree(rng)
        state = module.init_state(params)
        for x in arrays({"p": params, "g": grads, "s": state}):
            x.flags.writeable = False
        again = [getattr(module, name)(params, grads, state, 0.1, **ours)[0] for _ in range(2)]
        for a, b in zip(arrays(again[0]), arrays(again[1]), strict=True):
            same(a, b, f"{name} and {name}")


def first_step_of_adam_is_the_rate(module):
    """Whatever the gradient: lr · g / (|g| + ε). With ε inside the root, g = 10⁻⁶ would move by a hundredth of lr."""
    for g in (1e-6, 1.0, 1e6):
        params, grads = {"x": np.array([2.0])}, {"x": np.array([g])}
        moved, _ = module.adam_step(params, grads, module.init_state(params), 1.0)
        near(params["x"] - moved["x"], [g / (g + 1e-8)], f"first step for g = {g} and lr = 1", 1e-9)


def adam_does_not_see_the_scale_of_gradients(module):
    rng = np.random.default_rng(8)
    params = random_tree(rng)
    one = many = params
    state = held = module.init_state(params)
    for _ in range(10):
        grads = random_tree(rng)
        one, state = module.adam_step(one, grads, state, 0.1, eps=1e-300)
        many, held = module.adam_step(many, tree.map_tree(lambda g: np.asarray(g * 64.0), grads), held, 0.1, eps=1e-300)
    for a, b in zip(arrays(one), arrays(many), strict=True):
        near(a, b, "leaves after g and after 64 g")


def decoupled_decay_is_not_l2(module):
    """With no gradient AdamW shrinks θ by 1 − lr λ; Adam with L2 walks a full step, whatever λ."""
    params = {"W": np.array([[4.0, -8.0]])}
    zero, state = {"W": np.zeros((1, 2))}, module.init_state(params)
    near(module.adamw_step(params, zero, state, 0.1, weight_decay=0.5)[0]["W"], [[3.8, -7.6]], "AdamW")
    near(module.adam_l2_step(params, zero, state, 0.1, weight_decay=0.5)[0]["W"], [[3.9, -7.9]], "L2", 1e-8)


def clipping_keeps_the_direction(module):
    grads = {"a": {"W": normal(3, 4)}, "b": 5 * normal(2)}
    clipped, norm = module.clip_by_global_norm(grads, 1.5)
    flat, cut = (np.concatenate([x.ravel() for x in arrays(g)]) for g in (grads, clipped))
    near(norm, np.linalg.norm(flat), "norms")
    near(np.linalg.norm(cut), 1.5, "norm after and limit")
    near(cut / 1.5, flat / norm, "directions")
    assert module.clip_by_global_norm(grads, norm + 1)[0] is grads
    tensors = [torch.tensor(x, requires_grad=True) for x in arrays(grads)]
    for x in tensors:
        x.grad = x.detach().clone()
    near(norm, torch.nn.utils.clip_grad_norm_(tensors, 1.5), "norm and torch's")
    near(cut, np.concatenate([x.grad.numpy().ravel() for x in tensors]), "gradients and torch's", 1e-6)  # it adds 1e-6
    raises(ValueError, "grads.W holds nan", lambda: module.clip_by_global_norm({"W": np.array([np.nan])}, 1.0))


def clipping_does_not_overflow(module):
    """Norm 2 · 10³⁰, whose square float32 does not hold."""
    clipped, norm = module.clip_by_global_norm({"W": np.full((2, 2), 1e30, np.float32)}, 1.0)
    near(norm / 2e30, 1, "norm, in 2e30", 1e-6)
    near(clipped["W"], np.full((2, 2), 0.5), "clipped", 1e-6)
    assert clipped["W"].dtype == np.float32


def schedules_have_known_values(module):
    near([module.warmup_linear(t, 2.0, 4, 12) for t in (1, 2, 4, 6, 8, 12, 99)], [0.5, 1, 2, 1.5, 1, 0, 0], "linear")
    near([module.warmup_cosine(t, 2.0, 4, 12, 1.0) for t in (1, 4, 6, 8, 12, 99)],
         [0.5, 2, 1 + (1 + math.sqrt(0.5)) / 2, 1.5, 1, 1], "cosine")
    near([module.constant(t, 2.0, w) for t, w in ((1, 0), (9, 0), (1, 4), (4, 4), (5, 4))], [2, 2, 0.5, 2, 2], "const")
    near([module.warmup_inverse_sqrt(t, 16, 4, 3.0) for t in (1, 4, 16)], [3 / 32, 3 / 8, 3 / 16], "inverse root")
    assert max(range(3000, 5000), key=lambda t: module.warmup_inverse_sqrt(t, 512)) == 4000
    for f in (module.warmup_linear, module.warmup_cosine):
        raises(ValueError, "warmup is 4, expected less than the 4 steps in all", lambda f=f: f(1, 1.0, 4, 4))


def torch_has_the_same_cosine(module):
    """It counts from 0 and starts at the peak."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2.0)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8, eta_min=0.5)
    for t in range(9):
        near(module.warmup_cosine(4 + t, 2.0, 4, 12, 0.5), optimizer.param_groups[0]["lr"], "rate and torch's")
        optimizer.step()
        cosine.step()


def schedules_begin_with_zero(module):
    """At step 0, as the formulas have it; and NumPy's small whole numbers, whose sums wrap around, are as good."""
    for f, rest in ((module.constant, (2.0, 4)), (module.warmup_linear, (2.0, 4, 12)),
                    (module.warmup_cosine, (2.0, 4, 12)), (module.warmup_inverse_sqrt, (16, 4))):
        assert f(0, *rest) == 0.0 < f(1, *rest)
        for t in (0, 3, 4, 200):
            small = [np.uint8(x) if isinstance(x, int) else np.float32(x) for x in (t, *rest)]
            assert f(*small) == f(t, *rest) and type(f(*small)) is float
        raises(ValueError, "step is -1, expected at least 0", lambda f=f, rest=rest: f(-1, *rest))
    near([module.warmup_cosine(np.uint8(200), 2.0, np.uint8(100), np.uint8(250))], [0.5], "cosine in uint8")
    assert module.constant(0, 2.0) == module.warmup_linear(0, 2.0, 0, 8) == module.warmup_cosine(0, 2.0, 0, 8) == 2.0


def clipping_has_no_largest_norm(module):
    """Squares of 3e200 are beyond float64, those of 3e-200 are 0, and 1.7e308 twice has no norm in it."""
    for scale in (1e200, 1e-200, 1.0):
        grads = {"a": np.array([3.0]) * scale, "b": np.array(4.0 * scale)}
        clipped, norm = module.clip_by_global_norm(grads, 0.1 * scale)
        near(norm / scale, 5.0, f"norm in {scale}")
        near([clipped["a"][0] / scale, clipped["b"] / scale], [0.06, 0.08], f"clipped in {scale}")
    clipped, norm = module.clip_by_global_norm({"a": np.array([1.7e308, -1.7e308])}, 2.0)
    near(clipped["a"], [math.sqrt(2), -math.sqrt(2)], "clipped")
    assert norm == math.inf
    zero = {"a": np.zeros(2), "b": np.zeros(0)}
    assert module.clip_by_global_norm(zero, 1.0) == (zero, 0.0)
    source = rng()
    for _ in range(30):  # a norm that needs no help is what it always was, to the last bit
        grads = {"a": source.normal(size=(3, 4)), "b": source.normal(size=2)}
        plain = math.sqrt(math.fsum(float(np.square(g).sum()) for g in grads.values()))
        near(module.clip_by_global_norm(grads, 99.0)[1], plain, "norms", 0.0)
        assert module.clip_by_global_norm(grads, None)[0] is grads
    grads = {"large": np.ones(1)} | {f"small{i}": np.full(1, 1e-8) for i in range(10)}
    norm = module.clip_by_global_norm(grads, None)[1]  # Python's own sum rounds otherwise from 3.12 on than before
    assert norm == math.sqrt(1 + 1e-15) > 1


def optimisers_look_at_all_that_they_are_given(module):
    params = {"W": np.ones((2, 3)), "b": np.ones(3)}
    state, names = module.init_state(params), ("sgd_step", "momentum_step", "rmsprop_step", "adam_step", "adam_l2_step",
                                               "adamw_step", "adamw_step_")
    bad = {"W": np.ones((2, 3)), "b": np.array([0, np.nan, 0])}
    for name in names:
        step = getattr(module, name)
        raises(ValueError, "params.* holds nan", lambda step=step: step(bad, params, state, 0.1))
        for part in "mv":
            raises(ValueError, f"{part}.* holds nan",
                   lambda step=step, part=part: step(params, params, state | {part: bad}, 0.1))
        half = [tree.map_tree(lambda x: x.astype(np.float16), t) for t in (params, state["m"])]
        raises(TypeError, "float16, expected float32 or float64",
               lambda step=step, half=half: step(half[0], half[0], {"t": state["t"], "m": half[1], "v": half[1]}, 0.1))
    for name in names[2:]:
        step = getattr(module, name)
        raises(ValueError, "eps is 0", lambda step=step: step(params, params, state, 0.1, eps=0.0))
        single = tree.map_tree(lambda x: x.astype(np.float32), params)
        raises(ValueError, "eps is 1e-60", lambda step=step, single=single: step(
            single, single, module.init_state(single), 0.1, eps=1e-60))
    raises(TypeError, "float16, expected float32 or float64", lambda: module.init_state({"a": np.ones(2, np.float16)}))
    raises(TypeError, "float16, expected float32 or float64",
           lambda: module.clip_by_global_norm({"a": np.ones(2, np.float16)}, 1.0))


def names_are_a_list_of_names(module):
    """"table" as one string would be five letters, each the name of nothing, and the table would decay."""
    params = {"positions": {"table": np.ones((2, 2))}}
    for wrong in ("table", ["table", 3], 5):
        raises(TypeError, "decay_mask: exempt", lambda wrong=wrong: module.decay_mask(params, wrong))
    for right in (("table",), ["table"]):
        assert module.decay_mask(params, right) == {"positions": {"table": False}}


def state_survives_the_disk(module):
    """Ten steps at once, and five, a file, and five more."""
    def run(params, state, steps):
        for t in steps:
            params, state = module.adamw_step(params, random_tree(np.random.default_rng(t)), state, 0.1)
        return params, state

    params = random_tree(np.random.default_rng(9))
    once, _ = run(params, module.init_state(params), range(10))
    half, state = run(params, module.init_state(params), range(5))
    with tempfile.TemporaryDirectory() as folder:
        save_safetensors(state, Path(folder) / "state")
        state = load_safetensors(Path(folder) / "state")
    twice, _ = run(half, state, range(5, 10))
    for a, b in zip(arrays(once), arrays(twice), strict=True):
        same(a, b, "ten steps and five and five")


def trees_that_do_not_fit_are_refused(module):
    params = {"W": np.ones((2, 3)), "b": np.ones(3)}
    state = module.init_state(params)
    for grads, error, what in (
        ({"W": np.ones((2, 3))}, ValueError, "grads has W but params has W, b"),
        ({"W": np.ones((1, 3)), "b": np.ones(3)}, ValueError, r"W of grads has shape \(1, 3\), expected \(2, 3\)"),
        ({"W": np.ones((2, 3)), "b": np.ones(3, np.float32)}, TypeError, "b of grads has dtype float32"),
        ({"W": np.ones((2, 3)), "b": np.array([0, np.nan, 0])}, ValueError, "grads.b holds nan"),
    ):
        for name in ("sgd_step", "momentum_step", "rmsprop_step", "adam_step", "adamw_step", "adamw_step_"):
            raises(error, what, lambda g=grads, n=name: getattr(module, n)(params, g, state, 0.1))
    raises(ValueError, "expected t, m, v", lambda: module.adam_step(params, params, {}, 0.1))
    for dtype, large, most in ((np.float32, 1e25, r"1.84e\+19"), (np.float64, 1e200, r"1.34e\+154")):
        small = {"W": np.ones(2, dtype)}
        grads, fresh = {"W": np.array([1, -large], dtype)}, module.init_state(small)
        for name in ("rmsprop_step", "adam_step", "adam_l2_step", "adamw_step", "adamw_step_"):
            raises(ValueError, f"W of grads holds .*, whose square float.. cannot hold, expected at most {most}",
                   lambda n=name, p=small, g=grads, s=fresh: getattr(module, n)(p, g, s, 0.1))
        assert np.isfinite(module.momentum_step(small, grads, fresh, 1e-3)[0]["W"]).all(), "no squares, so no limit"
        many = {"W": np.full(2, 0.9 * math.sqrt(np.finfo(dtype).max), dtype)}  # whose squares add up to infinity, and none is infinite
        moved = module.adam_step(small, many, fresh, 0.1)[0]["W"]
        near(moved, np.full(2, 0.9, dtype), "steps of lr, whatever the scale", 1e-5)
    raises(ValueError, r"betas\[0\] is 1", lambda: module.adam_step(params, params, state, 0.1, (1.0, 0.9)))
    raises(ValueError, "lr is -0.1, expected at least 0", lambda: module.sgd_step(params, params, state, -0.1))


def the_halves_take_the_same_steps(module):
    """Two groups of torch, one schedule, one clipping: the same twenty steps of AdamW from the same gradients."""
    net = torch.nn.ModuleDict({"embedding": Embedding(5, 4), "norm": LayerNorm(4), "out": Linear(4, 3)}).double()
    optimizer = module.adamw(net, weight_decay=0.3)
    groups = [(g["weight_decay"], sorted(tuple(p.shape) for p in g["params"])) for g in optimizer.param_groups]
    assert groups == [(0.3, [(4, 3)]), (0.0, [(3,), (4,), (4,), (5, 4)])]
    params = tree.map_tree(np.copy, tree.from_torch(net))
    state, mask, source = np_optim.init_state(params), np_optim.decay_mask(params), rng()
    for t in range(1, 21):
        grads = tree.map_tree(lambda x: 3 * source.normal(size=x.shape), params)
        for name, p in net.named_parameters():
            p.grad = torch.tensor(tree.flatten(grads)[name])
        lr = module.warmup_cosine(t, 0.1, 5, 20)
        module.set_lr(optimizer, lr)
        norm = module.clip_by_global_norm(net, 2.0)
        optimizer.step()
        clipped, ours = np_optim.clip_by_global_norm(grads, 2.0)
        near(norm, ours, "norms", 1e-10)
        params, state = np_optim.adamw_step(params, clipped, state, lr, weight_decay=0.3, mask=mask)
        for name, p in tree.flatten(tree.from_torch(net)).items():
            near(p, tree.flatten(params)[name], f"step {t}: {name}", 1e-6)  # torch clips by norm + 1e-6


def helpers_take_what_a_torch_optimiser_takes(module):
    """A module, its named parameters, a tree, a list; the list has no names, so its embedding decays too."""
    net = torch.nn.ModuleDict({"embedding": Embedding(5, 4), "norm": LayerNorm(4), "out": Linear(4, 3)}).double()
    nested = tree.unflatten(dict(net.named_parameters()))
    ways = {"module": net, "named": net.named_parameters(), "tree": nested, "flat": dict(net.named_parameters()),
            "list": list(net.parameters()),
            "generator": net.parameters()}
    for way, given in ways.items():
        found = module.adamw(given, 0.1, (0.8, 0.9), 1e-3, 0.3)
        decaying, spared = found.param_groups
        assert {(g["betas"], g["eps"], g["lr"]) for g in (decaying, spared)} == {((0.8, 0.9), 1e-3, 0.1)}
        assert (decaying["weight_decay"], spared["weight_decay"]) == (0.3, 0.0)
        looked_up = [] if way in ("module", "named", "tree", "flat") else [(5, 4)]
        assert sorted(tuple(p.shape) for p in decaying["params"]) == [(4, 3), *looked_up]
        assert len(decaying["params"] + spared["params"]) == 5
    for wrong in (3, None, torch.ones(2)):
        raises(TypeError, "parameters", lambda wrong=wrong: module.adamw(wrong))
    raises(TypeError, "parameters", lambda: module.adamw([1.0]))
    raises(ValueError, "eps is 0", lambda: module.adamw(net, eps=0))

    source = rng()
    grads = {name: source.normal(size=p.shape) for name, p in net.named_parameters()}
    clipped, norm = np_optim.clip_by_global_norm(tree.unflatten(grads), 0.5)
    clipped = tree.flatten(clipped)
    for way in ("module", "list", "generator", "tree", "flat"):
        tensors = {name: torch.tensor(g) for name, g in grads.items()}
        for name, p in net.named_parameters():
            p.grad = tensors[name]
        given = {"module": net, "list": list(net.parameters()), "generator": net.parameters(),
                 "tree": tree.unflatten(tensors), "flat": tensors}[way]
        near(module.clip_by_global_norm(given, 0.5), norm, f"norm of a {way}")
        for name, g in tensors.items():
            near(g, clipped[name], f"{name} of a {way}")
        given = net.parameters() if way == "generator" else given
        near(module.clip_by_global_norm(given, 2.0), 0.5, f"norm of a {way}, clipped before")
        near(tensors["out.W"], clipped["out.W"], "what was short enough")
    for p in net.parameters():
        p.grad = None
    assert module.clip_by_global_norm(net, 1.0) == 0


def the_moments_fit_their_parameters(module):
    """torch numbers parameters by group, and a tree names them."""
    net = torch.nn.ModuleDict({"embedding": Embedding(5, 4), "norm": LayerNorm(4), "out": Linear(4, 3)}).double()
    optimizer, source = module.adamw(net), rng()
    begun = np_optim.init_state(tree.from_torch(net))
    later = {"t": np.array(4)}
    later |= {name: tree.map_tree(lambda x: source.random(x.shape), begun[name]) for name in "mv"}
    for given in (begun, later):
        if given is not begun:
            module.load_optimizer_state(net, optimizer, given)
        found = module.optimizer_state(net, optimizer)
        assert found["t"] == given["t"] and found["t"].shape == ()
        for name in "mv":
            assert found[name].keys() == given[name].keys()
            for path, x in tree.flatten(given[name]).items():
                same(tree.flatten(found[name])[path], x, f"{path} of {name}")
    for p in net.parameters():
        p.grad = torch.ones_like(p)
    optimizer.step()
    assert {int(s["step"]) for s in optimizer.state.values()} == {5}


def a_list_is_of_parameters(module):
    p, frozen = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2), requires_grad=False)
    for x in (torch.ones(3) * 5, (p * 2), p.detach()):
        raises(TypeError, "clip_by_global_norm: grads holds a tensor at 0 that is no parameter", lambda x=x: module.clip_by_global_norm([x], 1.0))
    leaf = torch.ones(2, requires_grad=True)
    leaf.grad = torch.full((2,), 3.0)
    near(module.clip_by_global_norm([frozen, leaf, p], None), math.sqrt(18), "norm", 1e-6)
    raises(ValueError, "adamw: parameters has a twice|parameter_groups: parameters has a twice", lambda: module.adamw([("a", p), ("a", frozen)]))


def only_what_is_known_is_saved(module):
    """Of another optimiser the moments would be lost without a sound."""
    net = torch.nn.ModuleDict({"embedding": Embedding(5, 4), "out": Linear(4, 3)}).double()
    optimizer, state = module.adamw(net), np_optim.init_state(tree.from_torch(net))
    for call in (module.optimizer_state, partial(module.load_optimizer_state, state=state)):
        raises(TypeError, "state: optimizer is SGD, expected Adam", lambda call=call: call(net, torch.optim.SGD(net.parameters(), 0.1)))
        raises(ValueError, "state: optimizer has amsgrad", lambda call=call: call(net, torch.optim.AdamW(net.parameters(), amsgrad=True)))
        raises(ValueError, r"optimizer has a tensor of shape \(4, 7\) that module has not", lambda call=call: call(net, module.adamw(Linear(4, 7))))
    before = module.optimizer_state(net, optimizer)
    for says, change in (("state has m, v, expected t, m, v", {"t": None}), ("t of state has shape", {"t": np.zeros(2)}),
                         (r"state\['m'\] has out, expected embedding, out", {"m": {"out": state["m"]["out"]}}),
                         (r"state\['v'\]\['out'\]\['W'\] has shape", {"v": {**state["v"], "out": {"W": np.zeros((3, 4)), "b": np.zeros(3)}}})):
        wrong = {name: x for name, x in (state | change).items() if x is not None}
        raises(ValueError, says, lambda wrong=wrong: module.load_optimizer_state(net, optimizer, wrong))
    inside = torch.nn.ModuleDict({"embedding": net["embedding"], "out": Compiled(net["out"])})
    for compiled in (Compiled(net), inside):  # the whole, or a part
        module.load_optimizer_state(compiled, optimizer, state)
        for found in (module.optimizer_state(compiled, optimizer), module.optimizer_state(compiled, module.adamw(compiled))):
            assert tree.flatten(found).keys() == tree.flatten(before).keys()


INVARIANTS = {
    "np.optim": [torch_takes_the_same_steps, torch_takes_the_same_steps_in_float32,
                 in_place_is_the_same_to_the_last_bit, steps_change_nothing_that_they_were_given,
                 first_step_of_adam_is_the_rate, adam_does_not_see_the_scale_of_gradients, decoupled_decay_is_not_l2,
                 clipping_keeps_the_direction, clipping_does_not_overflow, schedules_have_known_values,
                 torch_has_the_same_cosine, state_survives_the_disk, trees_that_do_not_fit_are_refused,
                 schedules_begin_with_zero, clipping_has_no_largest_norm, optimisers_look_at_all_that_they_are_given,
                 names_are_a_list_of_names],
    "pt.optim": [the_halves_take_the_same_steps, helpers_take_what_a_torch_optimiser_takes,
                 the_moments_fit_their_parameters, a_list_is_of_parameters, only_what_is_known_is_saved],
}

WRONG = [
    M("np.optim.adam_step", "invariant", "ε inside the root",
      "p - lr * (m / c1 / (np.sqrt(v / c2) + eps))", "p - lr * (m / c1 / np.sqrt(v / c2 + eps))"),
    M("np.optim.adam_step", "invariant", "no ε: nothing divided by nothing",
      "(np.sqrt(v / c2) + eps)", "np.sqrt(v / c2)"),
    M("np.optim.adam_step", "invariant", "divided by v, not by its root",
      "p - lr * (m / c1 / (np.sqrt(v / c2) + eps))", "p - lr * (m / c1 / (v / c2 + eps))"),
    M("np.optim.adam_step", "invariant", "v of the gradient, not of its square", "* (g * g), state", "* g, state"),
    M("np.optim.adamw_step", "invariant", "decay of 2λθ", "pull = lr * weight_decay", "pull = 2 * lr * weight_decay"),
    M("np.optim.adam_step", "invariant", "no bias correction",
      "p - lr * (m / c1 / (np.sqrt(v / c2) + eps))", "p - lr * (m / (np.sqrt(v) + eps))"),
    M("np.optim.adam_step", "invariant", "1 − β₁ in v", "1 - beta2) * ", "1 - beta1) * "),
    M("np.optim.adam_step", "invariant", "t one step ahead",
      "t.item(), 1 - beta2 ** t.item(", "(t.item() + 1), 1 - beta2 ** (t.item() + 1"),
    M("np.optim._next + _everywhere", "invariant", "t kept in the module, not in the state",
      'np.array(state["t"] + 1)', "np.array(_clock.append(0) or len(_clock))",
      "def _everywhere", "_clock = []\n\n\ndef _everywhere"),
    M("np.optim._next", "invariant", "t as a number, which no file keeps",
      'np.array(state["t"] + 1)', 'state["t"] + 1'),
    M("np.optim.adamw_step", "invariant", "AdamW as L2: decay added to the gradient",
      "moved, state = adam_step(params, grads, state, lr, betas, eps)\n    pull = lr * weight_decay",
      "return adam_l2_step(params, grads, state, lr, betas, eps, weight_decay, mask)"),
    M("np.optim.adamw_step", "invariant", "decay not multiplied by the rate",
      "pull = lr * weight_decay", "pull = weight_decay"),
    M("np.optim.adamw_step", "invariant", "decay of what was already moved",
      "new - pull * p if on", "new - pull * new if on"),
    M("np.optim._everywhere", "invariant", "everything decays, whatever the mask", ") if mask is None else mask", ")"),
    M("np.optim.decay_mask", "invariant", "embeddings decay", " and not set(parts) & set(exempt)", ""),
    M("np.optim.momentum_step", "invariant", "momentum as a mean, dampened by 1 − μ",
      "momentum * m + g, state", "momentum * m + (1 - momentum) * g, state"),
    M("np.optim.momentum_step", "invariant", "Nesterov without the look ahead",
      "if nesterov else m", "if False else m"),
    M("np.optim.rmsprop_step", "invariant", "RMSprop with ε inside the root",
      "(g / (np.sqrt(v) + eps))", "(g / np.sqrt(v + eps))"),
    M("np.optim.adam_step", "invariant", "a NumPy rate makes float64",
      "@checked\ndef adam_step(\n    params: dict, grads: dict, state: dict, lr: NonNegative, ",
      "@checked\ndef adam_step(\n    params: dict, grads: dict, state: dict, lr, "),
    M("np.optim.adamw_step_", "invariant", "in place: gradient written to",
      "np.multiply(g, g, out=a), out=a)", "np.multiply(g, g, out=g), out=a)"),
    M("np.optim.adamw_step_", "invariant", "in place: decay after the step",
      "        np.multiply(pull, p, out=a)\n        p -= b", "        p -= b\n        np.multiply(pull, p, out=a)"),
    M("np.optim.adam_step", "invariant", "moments changed in place",
      '_map(lambda m, g: beta1 * m + (1 - beta1) * g, state["m"], grads)',
      'state["m"]\n'
      "    for k, x in flatten(m).items():\n"
      "        x *= beta1\n"
      "        x += (1 - beta1) * flatten(grads)[k]"),
    M("np.optim.clip_by_global_norm", "invariant", "each leaf clipped by its own norm",
      "max_norm / size * (g / unit)", "g * min(1.0, max_norm / float(np.linalg.norm(g)))"),
    M("np.optim.clip_by_global_norm", "invariant", "squares added up in float32",
      "np.square(g / unit, dtype=np.float64)", "np.square(g)", "unit * size", "size"),
    M("np.optim.clip_by_global_norm", "invariant", "squares of what came, in float64",
      "    unit = 2.0 ** (math.frexp(max((float(np.abs(g).max()) for g in leaves if g.size), default=0.0))[1] - 1)\n",
      "    unit = 1.0\n"),
    M("np.optim.clip_by_global_norm", "invariant", "rounded after each leaf",
      "math.fsum(float(", "sum(np.float64("),
    M("np.optim.clip_by_global_norm", "invariant", "the unit rounds",
      "2.0 ** (math.frexp(max((float(np.abs(g).max()) for g in leaves if g.size), default=0.0))[1] - 1)",
      "max((float(np.abs(g).max()) for g in leaves if g.size), default=0.0) or 1.0"),
    M("np.optim.clip_by_global_norm", "invariant", "not divided by the unit again",
      "max_norm / size * (g / unit)", "max_norm / norm * g"),
    M("np.optim.clip_by_global_norm", "invariant", "small gradients scaled up to the limit",
      " or norm <= max_norm", ""),
    M("np.optim.warmup_inverse_sqrt", "invariant", "inverse root: warm-up to the power −1/2",
      "step / warmup / math.sqrt(warmup)", "step / math.sqrt(warmup)"),
    M("np.optim.warmup_inverse_sqrt", "invariant", "steps from 1 on", "step: Index", "step: Size"),
    M("np.optim.warmup_linear", "invariant", "linear: steps from 1 on", "step: Index", "step: Size"),
    M("np.optim.constant", "invariant", "step 0 taken for step 1",
      "_ramp(step, warmup)", "_ramp(max(step, 1), warmup)"),
    M("np.optim.warmup_cosine", "invariant", "a small whole number wraps around",
      "step: Index, peak: NonNegative, warmup: Index, total: Size", "step, peak, warmup, total"),
    M("np.optim.warmup_cosine", "invariant", "a warm-up without an end",
      '    less_than("warmup_cosine", total, "steps in all", warmup=warmup)\n', ""),
    M("np.optim._past", "invariant", "cosine over the whole run, warm-up not taken off",
      "(step - warmup) / (total - warmup)", "step / total"),
    M("np.optim._past", "invariant", "cosine comes up again",
      "min(1.0, (step - warmup) / (total - warmup)", "(step - warmup) / (total - warmup"),
    M("np.optim.adamw_step_", "invariant", "gradients of one shape broadcast",
      '    optimiser_trees("adamw_step_", params, grads, state, eps)\n', ""),
    M("np.optim.rmsprop_step", "invariant", "RMSProp: squares that are infinite",
      'optimiser_trees("rmsprop_step", params, grads, state, eps)', 'optimiser_trees("rmsprop_step", params, grads, state)'),
    M("np.optim.adamw_step_", "invariant", "AdamW in place: squares that are infinite",
      'optimiser_trees("adamw_step_", params, grads, state, eps)', 'optimiser_trees("adamw_step_", params, grads, state)'),
    M("np.optim.momentum_step", "invariant", "momentum: squares that nobody takes",
      'optimiser_trees("momentum_step", params, grads, state)', 'optimiser_trees("momentum_step", params, grads, state, 1.0)'),
    M("np.optim.rmsprop_step", "invariant", "ε of nothing", "grads, state, eps)\n", "grads, state)\n"),
    M("np.optim.init_state", "invariant", "moments in float16", '    same_trees("init_state", params=params)\n', ""),
    M("np.optim.decay_mask", "invariant", "names read letter by letter", "exempt: tuple[str, ...]", "exempt"),
    # pt.optim
    M("pt.optim.parameter_groups", "invariant", "one group: everything decays", "if mask[name] is on", "if on"),
    M("pt.optim.adamw", "invariant", "betas exchanged", "betas=betas", "betas=betas[::-1]"),
    M("pt.optim.set_lr", "invariant", "rate set in the first group alone",
      "for group in optimizer.param_groups:", "for group in optimizer.param_groups[:1]:"),
    M("pt.optim.clip_by_global_norm", "invariant", "clipped by value",
      "torch._foreach_mul_(found, (max_norm / norm).clamp(max=1.0))", "torch._foreach_clamp_max_(found, max_norm)"),
    M("pt.optim.clip_by_global_norm", "invariant", "small gradients scaled up", ".clamp(max=1.0)", ""),
    M("pt.optim.clip_by_global_norm", "invariant", "a module without gradients", "found and ", ""),
    M("pt.optim.clip_by_global_norm", "invariant", "divided by the norm and a bit", "/ norm)", "/ (norm + 1e-6))"),
    M("pt.optim._named", "invariant", "names of a list of pairs forgotten",
      'x if isinstance(x, tuple) else (f"{i}", x)', '(f"{i}", x[1] if isinstance(x, tuple) else x)'),
    M("pt.optim._named", "invariant", "a tensor taken apart", "isinstance(parameters, Tensor) or ", ""),
    M("pt.optim.adamw", "invariant", "ε of 0", "eps: Positive", "eps: NonNegative"),
    M("pt.optim._flat", "invariant", "only nested trees",
      'tree if any("." in name for name in tree) else flatten(tree)', "flatten(tree)"),
    M("pt.optim._names_of", "invariant", "moments in the order of the module",
      '[called[p] for p in held]', "list(called.values())"),
    M("pt.optim.load_optimizer_state", "invariant", "moments exchanged",
      '"exp_avg": m[x], "exp_avg_sq": v[x]', '"exp_avg": v[x], "exp_avg_sq": m[x]'),
    M("pt.optim.clip_by_global_norm", "invariant", "gradients of what can have none",
      "not isinstance(p, nn.Parameter) and not (p.is_leaf and p.requires_grad)", "False"),
    M("pt.optim._named", "invariant", "the second of a name alone", "if name in named:", "if False:"),
    M("pt.optim._names_of", "invariant", "any optimiser", "not isinstance(optimizer, torch.optim.Adam | torch.optim.AdamW)", "False"),
    M("pt.optim._names_of", "invariant", "amsgrad without its maxima", 'any(group["amsgrad"] for group in optimizer.param_groups)', "False"),
    M("pt.optim._names_of", "invariant", "the optimiser of another module", "if p not in called:", "if False:"),
    M("pt.optim.load_optimizer_state", "invariant", "moments of any shape",
      '    fits("load_optimizer_state", {x', '    0 and fits("load_optimizer_state", {x'),
    M("pt.optim.optimizer_state", "invariant", "compiled parts under names of their wrappers", "{plain(name): (p,", "{name: (p,"),
    M("pt.optim._names_of", "invariant", "compiled parts asked for by names of their wrappers", "{p: plain(name) for", "{p: name for"),
    M("pt.optim._named", "invariant", "compiled parts loaded under names of their wrappers", "{plain(name): p for", "{name: p for"),
    M("pt.optim.load_optimizer_state", "invariant", "t starts again", 't = float(state["t"])', "t = 0.0"),
    M("pt.optim.optimizer_state", "invariant", "t not saved",
      'max(int(s.get("step", 0)) for _, s in held.values())', "0"),
    M("pt.optim.optimizer_state", "invariant", "no moments before the first step",
      "s.get(theirs, torch.zeros_like(p))", "s[theirs]"),
]
