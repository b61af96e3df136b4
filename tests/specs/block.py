# ruff: noqa: E501
"""The block and its parts: slopes, twins, torch's encoder and decoder layers, leaks, and dropout."""

from functools import partial

import numpy as np
import torch
from byhand import tree
from byhand.np import block as np_block
from byhand.np.multihead import init_multihead
from byhand.np.norm import init_norm
from byhand.pt import block as pt_block
from byhand.pt.gradcheck import parity
from invariants import every_part_counts, matches_numpy, near, normal, parameters_may_be_dressed, raises, rng, same
from mutants import M
from proofs import as_shipped, habits, refusals
from specs.multihead import read, write
from twins import FORWARD, GRADIENT, LEAD, SLOPE, Case, Spec, directions

N, MEMORY, D, D_M, D_FF, HEADS = 3, 5, 4, 6, 7, 2
NAMES = ("relu", "gelu", "gelu_tanh", "silu")


def feed_tree(d=D, gated=False, bias=True, d_ff=D_FF):
    """The shapes of a feed-forward layer, filled with ones."""
    sizes = {"W_1": (d, d_ff), "W_2": (d_ff, d)} | ({"W_g": (d, d_ff)} if gated else {})
    return {name: np.ones(size, np.float32) for name, size in (sizes | ({"b_1": (d_ff,), "b_2": (d,)} if bias else {})).items()}


def block_tree(d=D, heads=HEADS, d_m=None, gated=False, rms=False, bias=True, kv_heads=None, max_distance=None):
    """The tree of a block, out of those of its parts."""
    cross = {"cross": init_multihead(rng(), d, heads, kv_heads, d_m=d_m, bias=bias), "norm_c": init_norm(d, not rms)}
    return {"attention": init_multihead(rng(), d, heads, kv_heads, bias=bias, max_distance=max_distance), "norm_1": init_norm(d, not rms),
            **(cross if d_m else {}), "ff": feed_tree(d, gated, bias), "norm_2": init_norm(d, not rms)}


def filled(shapes, rng):
    return tree.map_tree(lambda x: rng.normal(size=x.shape) * 0.6, shapes)


def activation_cases(rng):
    for name in NAMES:
        for shape in ((5,), (2, 3, 4)):
            yield Case(f"{name}, {shape}", {"X": 2 * rng.normal(size=shape)}, {"name": name})


def feed_forward_cases(rng):
    for (rank, lead), gated, bias, name in zip(LEAD.items(), (False, True, True), (True, True, False), NAMES[1:], strict=True):
        yield Case(f"rank {rank}, {name}", {"X": rng.normal(size=(*lead, N, D)), "params": filled(feed_tree(D, gated, bias), rng)},
                   {"activation": name})


def block_cases(rng):
    """Encoder blocks; a block with a memory has a gradient more than it has leading inputs, and is tried below."""
    causal = np.tri(N, dtype=bool)
    for lead, options, fixed in (
        ((), {}, {"norm_first": True, "mask": causal}),
        ((2,), {"gated": True, "rms": True, "bias": False, "kv_heads": 1},
         {"norm_first": False, "alpha": 1.3, "activation": "silu", "kv_heads": 1, "mask": np.tile(causal, (2, 1, 1))}),
        ((1, 2), {}, {"residual": False, "activation": "gelu_tanh", "eps": 0.1}),
        ((2,), {}, {"position": "rope", "rope_theta": 30.0, "mask": causal}),
        ((2,), {}, {"position": "rope", "positions": rng.integers(0, 9, (2, N)), "is_causal": True, "mask": np.ones((2, 1, N), bool)}),
        ((2,), {"max_distance": 2}, {"position": "relative", "positions": rng.permutation(N), "is_causal": True}),
    ):
        yield Case(f"{lead}, {fixed}", {"X": rng.normal(size=(*lead, N, D)), "params": filled(block_tree(**options), rng)},
                   {"heads": HEADS, **fixed})


TWINS = [
    Spec("block", "activation", activation_cases),
    Spec("block", "feed_forward", feed_forward_cases),
    Spec("block", "block", block_cases),
]


def decoder_is_right_in_slope_and_twin(module):
    """A block with a memory, masked on both sides; its gradients are dX, dM and the tree."""
    mask, memory_mask = np.tri(N, dtype=bool), rng().random((2, N, MEMORY)) < 0.6
    params = filled(block_tree(d_m=D_M), rng())
    inputs = {"X": normal(2, N, D), "M": normal(2, MEMORY, D_M), "params": params}
    for norm_first in (True, False):
        options = {"norm_first": norm_first, "alpha": 1.3}

        def forward(X, M, p, options=options):
            return module.block_forward(X, p, HEADS, mask, M, memory_mask, **options)

        def twin(X, M, p, options=options):
            return pt_block.block(X, p, HEADS, torch.tensor(mask), M, torch.tensor(memory_mask), **options)

        errors = directions(forward, module.block_backward, inputs, rng())
        assert max(errors.values()) < SLOPE, errors
        errors = parity(forward, module.block_backward, twin, inputs, rng())
        assert errors.pop("forward") < FORWARD and max(errors.values()) < GRADIENT, errors


# Against layers of torch


def activations_are_those_of_torch(module):
    F = torch.nn.functional
    theirs = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": partial(F.gelu, approximate="tanh"), "silu": F.silu}
    X = np.linspace(-9, 9, 37)
    for name, f in theirs.items():
        x = torch.tensor(X, requires_grad=True)
        f(x).sum().backward()
        Y, cache = module.activation_forward(X, name)
        near(Y, f(x).detach(), name)
        dX = module.activation_backward(np.ones(37), cache)
        near(dX, x.grad, f"slope of {name}")
        far = module.activation_forward(np.array([-1e4, 1e4], np.float32), name)[0]
        same(far, np.array([0, 1e4]), f"{name} far out")


def torch_layer(decoder, norm_first, activation):
    """A layer of torch with our random parameters, and where each of its parameters lies in our tree."""
    kind = torch.nn.TransformerDecoderLayer if decoder else torch.nn.TransformerEncoderLayer
    net = kind(D, HEADS, D_FF, dropout=0.0, activation=activation, norm_first=norm_first, batch_first=True, dtype=torch.float64)
    params = filled(block_tree(d_m=D if decoder else None), rng())
    write(net.self_attn, params["attention"])
    norms = {"norm_1": net.norm1, "norm_2": net.norm3 if decoder else net.norm2}
    if decoder:
        write(net.multihead_attn, params["cross"])
        norms["norm_c"] = net.norm2
    for name, norm in norms.items():
        norm.weight.data, norm.bias.data = (torch.tensor(params[name][x]) for x in ("gamma", "beta"))
    ff = params["ff"]
    net.linear1.weight.data, net.linear1.bias.data = torch.tensor(ff["W_1"]).mT, torch.tensor(ff["b_1"])
    net.linear2.weight.data, net.linear2.bias.data = torch.tensor(ff["W_2"]).mT, torch.tensor(ff["b_2"])

    def gradients():
        grads = {name: {"gamma": norm.weight.grad.numpy(), "beta": norm.bias.grad.numpy()} for name, norm in norms.items()}
        grads["attention"] = read(net.self_attn, lambda p: p.grad)
        if decoder:
            grads["cross"] = read(net.multihead_attn, lambda p: p.grad)
        one, two = net.linear1, net.linear2
        return grads | {"ff": {"W_1": one.weight.grad.mT.numpy(), "b_1": one.bias.grad.numpy(),
                               "W_2": two.weight.grad.mT.numpy(), "b_2": two.bias.grad.numpy()}}

    return net, params, gradients


def equals_the_layers_of_torch(module):
    """TransformerEncoderLayer and TransformerDecoderLayer, pre and post: output, dX, dM and every other gradient."""
    X, memory, mask = normal(2, N, D), normal(2, MEMORY, D), np.tri(N, dtype=bool)
    hidden = np.tri(2, MEMORY, 3, dtype=bool)  # padded keys of the memory, for torch: True = hidden
    for decoder in (False, True):
        for norm_first in (True, False):
            for activation in ("relu", "gelu"):
                net, params, gradients = torch_layer(decoder, norm_first, activation)
                x, m = (torch.tensor(a, requires_grad=True) for a in (X, memory))
                options = {"norm_first": norm_first, "activation": activation}
                if decoder:
                    theirs = net(x, m, tgt_mask=torch.tensor(~mask), memory_key_padding_mask=torch.tensor(~hidden))
                    Y, cache = module.block_forward(X, params, HEADS, mask, memory, hidden[:, None], **options)
                else:
                    theirs = net(x, src_mask=torch.tensor(~mask))
                    Y, cache = module.block_forward(X, params, HEADS, mask, **options)
                near(Y, theirs.detach(), "outputs")
                dY = normal(*Y.shape)
                theirs.backward(torch.tensor(dY))
                dX, dM, grads = module.block_backward(dY, cache)
                near(dX, x.grad, "dX", GRADIENT)
                assert decoder or dM is None
                if decoder:
                    near(dM, m.grad, "dM", GRADIENT)
                mine, expected = tree.flatten(grads), tree.flatten(gradients())
                assert mine.keys() == expected.keys()
                for name in mine:
                    near(mine[name], expected[name], f"d{name}", GRADIENT)


# What a block may see


def no_token_sees_a_later_one(module):
    X, params = normal(2, 6, D), filled(block_tree(), rng())
    for norm_first in (True, False):
        edited = X.copy()
        edited[:, 4:] += normal(2, 2, D)
        a, b = (module.block_forward(x, params, HEADS, np.tri(6, dtype=bool), norm_first=norm_first)[0] for x in (X, edited))
        same(a[:, :4], b[:, :4], "earlier tokens")
        assert np.abs(a[:, 4:] - b[:, 4:]).max() > 1e-3


LAYOUTS = {  # of sequences of 3 and 2 tokens in rows of 5: whose each token is (−1: padding), and its place there
    "one after another": ([[0, 0, 0, 1, 1]], [[0, 1, 2, 0, 1]]),
    "by turns": ([[0, 1, 0, 1, 0], [1, 0, 0, 0, 1]], [[0, 0, 1, 1, 2], [0, 0, 1, 2, 1]]),
    "padded at the left": ([[-1, -1, 0, 0, 0], [-1, -1, -1, 1, 1]], [[0, 0, 0, 1, 2], [0, 0, 0, 0, 1]]),
}
KINDS = ("none", "rope", "rope_half", "alibi", "relative")


def laid_out(X):
    """Of X, two sequences of at least 3 tokens: for each layout its name, rows, the mask, the places, and the owners."""
    for name, layout in LAYOUTS.items():
        owner, places = map(np.array, layout)
        mask = (owner >= 0)[:, None] if owner.min() < 0 else owner[:, None] == owner[..., None]
        yield name, X[owner, places], {"mask": mask, "positions": places}, owner


def each_is_there(together, alone, owner, what):
    """Rows that hold sequences, and each sequence alone, both computed in one or more ways."""
    for a, b, rows in zip(*alone, together, strict=True):
        for row, of in zip(rows, owner, strict=True):
            for i in set(of.tolist()) - {-1}:
                near(row[of == i], (a, b)[i][0], f"{what}, sequence {i}")


def applied(module, X, params, **options):
    """A block: the function, and in torch the module too."""
    if half(module) == "np":
        return [module.block_forward(X, params, HEADS, **options)[0]]
    x, params, at = torch.tensor(X), tree.to_torch(params), options["position"]
    options = {name: torch.tensor(v) if isinstance(v, np.ndarray) else v for name, v in options.items()}
    net = module.Block(D, HEADS, D_FF, position=at, max_distance=2 if at == "relative" else None).double()
    net.load_state_dict(tree.flatten(params))
    return [module.block(x, params, HEADS, **options).numpy(), net(x, **{k: v for k, v in options.items() if k != "position"}).detach()]


def sequences_that_share_a_row_are_as_alone(module):
    """Packed into a row, or padded at the left: with its own positions each is what it is alone, causal and not.

    Where tokens stand by turns, a position is not where a token is stored: attention must be told.
    """
    X = normal(2, 3, D)
    for position in KINDS:
        params = filled(block_tree(max_distance=2 if position == "relative" else None), rng())
        for is_causal in (False, True):
            alone = [applied(module, x, params, position=position, mask=np.tri(x.shape[1], dtype=bool) if is_causal else None)
                     for x in (X[:1], X[1:, :2])]
            for name, rows, placed, owner in laid_out(X):
                together = applied(module, rows, params, **placed, position=position, is_causal=is_causal)
                each_is_there(together, alone, owner, f"{name}, {position}, causal {is_causal}")


def order_is_not_seen(module):
    """Without a mask a block permutes with its tokens; the feed-forward layer treats each token by itself."""
    X, params, turn = normal(2, 6, D), filled(block_tree(), rng()), rng().permutation(6)
    near(module.block_forward(X[:, turn], params, HEADS)[0], module.block_forward(X, params, HEADS)[0][:, turn], "tokens")
    whole = module.feed_forward_forward(X, params["ff"])[0]
    for i in range(6):
        near(module.feed_forward_forward(X[:, i:i + 1], params["ff"])[0], whole[:, i:i + 1], "one token and all")


def silent_sublayers_leave_the_stream(module):
    """With W_o, W_2 and their biases at zero, a pre-norm block is the identity, forwards and backwards."""
    params = filled(block_tree(d_m=D_M), rng())
    for name, leaf in (("attention", "o"), ("cross", "o"), ("ff", "2")):
        params[name] |= {f"{kind}_{leaf}": 0 * params[name][f"{kind}_{leaf}"] for kind in "Wb"}
    X, dY = normal(2, N, D), normal(3, 2, N, D)[0]
    Y, cache = module.block_forward(X, params, HEADS, M=normal(2, MEMORY, D_M))
    same(Y, X, "Y and X")
    same(module.block_backward(dY, cache)[0], dY, "dX and dY")


# Dropout


def dropout_keeps_the_mean(module):
    X = np.ones((400, 300), np.float32)
    for p in (0.1, 0.5):
        Y, cache = module.dropout_forward(X, p, rng())
        near((Y == 0).mean(), p, "share of zeros", 0.005)
        near(Y.mean(), 1, "mean", 0.01)
        near(np.unique(Y), np.float32([0, 1 / (1 - p)]), "values", 1e-6)
        same(module.dropout_backward(X, cache), Y, "what is dropped forwards and backwards")
        assert Y.dtype == np.float32
    again = module.dropout_forward(X, 0.5, rng())[0]
    same(again, Y, "two runs from one seed")


def dropout_can_be_off(module):
    X = normal(3, 4)
    for p, source in ((0.0, rng()), (0.5, None)):
        Y, cache = module.dropout_forward(X, p, source)
        same(Y, X, "without dropout")
        same(module.dropout_backward(X, cache), X, "backwards")


def dropout_in_a_block_has_the_right_slope(module):
    """The same entries drop in every run from one seed, so that central differences apply; each sublayer drops."""
    params = filled(block_tree(d_m=D_M), rng())
    inputs = {"X": normal(2, N, D), "M": normal(2, MEMORY, D_M)}

    def forward(X, M):
        return module.block_forward(X, params, HEADS, None, M, p=0.4, rng=rng())

    errors = directions(forward, lambda dY, c: module.block_backward(dY, c)[:2], inputs, rng())
    assert max(errors.values()) < SLOPE, errors
    cache = forward(*inputs.values())[1]
    for sublayer in (cache.attention, cache.cross, cache.ff):
        assert 0 < (sublayer.inner.dropout.keep == 0).mean() < 1


X_, P_ = normal(2, N, D), filled(block_tree(), rng())
FF_ = P_["ff"]
ROWS = [
    ("activation_forward", ValueError, "activation: name is 'tanh', expected one of relu, gelu, gelu_tanh, silu", X_, "tanh"),
    ("feed_forward_forward", ValueError, r"feed_forward: params\['W_2'\] has shape \(4, 7\), expected", X_,
     {"W_1": FF_["W_1"], "W_2": FF_["W_1"], "b_1": FF_["b_1"], "b_2": FF_["b_1"]}),
    ("feed_forward_forward", ValueError, "feed_forward: params has W_1, expected W_1, b_1, W_g, W_2, b_2", X_, {"W_1": FF_["W_1"]}),
    ("feed_forward_forward", ValueError, r"feed_forward: params\['W_1'\] has shape \(4, 7\), expected \(3, 7\)", X_[..., :3], FF_),
    ("block_forward", ValueError, "block: params has attention, norm_1, ff, norm_2, expected attention, norm_1, ff, norm_2, cross, norm_c", X_, P_, 2, None, X_),
    ("block_forward", ValueError, "block: params has ff, expected attention", X_, {"ff": FF_}, 2),
    ("block_forward", ValueError, "width of W_q is 4, expected a multiple of 3", X_, P_, 3),
]
OPTIONS = {
    "p is 1.0, expected at least 0 and less than 1": {"p": 1.0}, "norm_first is str, expected bool": {"norm_first": "no"},
    "eps is 0, expected a finite number greater than 0": {"eps": 0}, "residual is int, expected bool": {"residual": 1},
    "alpha is inf, expected a finite number": {"alpha": np.inf}, "position is 'sin', expected one of none": {"position": "sin"},
    "activation is 'tanh', expected one of relu, gelu, gelu_tanh, silu": {"activation": "tanh"}, "kv_heads is 0": {"kv_heads": 0},
}


def options_are_refused(module):
    """In both halves, and by the class; p = 1 would drop all, with 1/(1 − p) nowhere to be found."""
    with as_shipped():
        for says, option in OPTIONS.items():
            if half(module) == "np":
                raises((TypeError, ValueError), f"block: {says}", lambda o=option: module.block_forward(X_, P_, 2, **o))
            else:
                raises((TypeError, ValueError), f"block: {says}", lambda o=option: module.block(in_torch(X_), in_torch(P_), 2, **o))
                raises((TypeError, ValueError), f"Block: {says}", lambda o=option: module.Block(D, 2, 7, **o))


def half(module):
    return module.__name__.split(".")[-2]


def gradients_of_another_shape_are_refused(module):
    """What went in has the shape that comes back, also where dropout is off and the cache keeps no array."""
    makers = {"activation": [module.activation_forward(X_, "relu")], "dropout": [module.dropout_forward(X_, p, rng()) for p in (0.0, 0.5)]}
    with as_shipped():
        for name, made in makers.items():
            backward = getattr(module, f"{name}_backward")
            for cache in (cache for _, cache in made):
                for dY in (X_[:1], X_[None], X_[0, 0]):
                    raises(ValueError, rf"{name}_backward: dY has .*, expected", lambda f=backward, g=dY, c=cache: f(g, c))
                raises(TypeError, f"{name}_backward: dY is list, expected a NumPy array", lambda f=backward, c=cache: f([1.0], c))


refused = refusals(
    *ROWS,
    ("activation_forward", TypeError, "activation: X is list, expected a NumPy array", [1.0]),
    ("dropout_forward", ValueError, "dropout: p is 1.0, expected at least 0 and less than 1", X_, 1.0, None),
    ("dropout_forward", ValueError, "dropout: p is -0.1, expected at least 0 and less than 1", X_, -0.1, None),
    ("dropout_forward", TypeError, "dropout: X has dtype int64", np.arange(3), 0.1, None),
    ("dropout_forward", TypeError, "dropout: rng is int, expected a NumPy Generator", X_, 0.1, 3),
)


def in_torch(x):
    if isinstance(x, dict):
        return tree.to_torch(x)
    return torch.tensor(x) if isinstance(x, np.ndarray) else x


refused_by_torch = refusals(
    *[(name.removesuffix("_forward"), error, says, *map(in_torch, arguments)) for name, error, says, *arguments in ROWS],
    ("dropout", ValueError, "dropout: p is 1.0, expected at least 0 and less than 1", in_torch(X_), 1.0),
    ("FeedForward", ValueError, "FeedForward: d_ff is 0, expected at least 1", 4, 0),
    ("Block", ValueError, "Multihead: d is 4, expected a multiple of 3", 4, 3, 7),
)


# The PyTorch half


def held_as(net, shapes):
    """The module holds this tree; all of it is then made random."""
    held = tree.flatten(tree.from_torch(net))
    assert {k: (v.shape, v.dtype) for k, v in held.items()} == {k: (v.shape, v.dtype) for k, v in tree.flatten(shapes).items()}
    for name, x in held.items():
        leaf = name.split(".")[-1]
        assert x.any() == (leaf[0] == "W" or leaf == "gamma"), f"{name} at the start"
    for i, p in enumerate(net.parameters()):
        p.data = 0.6 * torch.tensor(np.random.default_rng(i).normal(size=p.shape))


def modules_are_functions(module):
    for gated, bias, name in ((False, True, "gelu_tanh"), (True, False, "silu")):
        net = module.FeedForward(D, D_FF, name, gated, bias)
        held_as(net, feed_tree(D, gated, bias))
        names = list(tree.from_torch(net))
        matches_numpy(net, partial(np_block.feed_forward_forward, activation=name),
                      lambda dY, c, names=names: ordered(np_block.feed_forward_backward(dY, c), names), normal(2, N, D))


def ordered(gradients, names):
    """The gradients of the tree in the order in which the module holds its parameters."""
    dX, grads = gradients
    return dX, {name: grads[name] for name in names}


BLOCKS = (
    ({}, {}, {}),
    ({"gated": True, "rms": True, "bias": False, "kv_heads": 1}, {"activation": "silu", "norm_first": False, "alpha": 1.3, "eps": 0.3}, {"kv_heads": 1}),
    ({"d_m": D_M}, {"residual": False, "activation": "relu"}, {}),
)


def block_module_is_block_function(module):
    """Block holds the tree of the NumPy half, and each of its options arrives; is_causal says what the mask says."""
    for shapes, options, more in BLOCKS:
        net = module.Block(D, HEADS, D_FF, **shapes, **options)
        held_as(net, block_tree(**shapes))
        net, memory, mask = net.double(), normal(2, MEMORY, D_M) if "d_m" in shapes else None, np.tri(N, dtype=bool)
        hidden = None if memory is None else np.tri(N, MEMORY, 1, dtype=bool)
        expected = np_block.block_forward(X_, tree.from_torch(net), HEADS, mask, memory, hidden, **options, **more)[0]
        tensors = {"M": memory, "memory_mask": hidden}
        tensors = {k: torch.tensor(v) for k, v in tensors.items() if v is not None}
        for causal in ({"mask": torch.tensor(mask)}, {"is_causal": True}):
            near(net(torch.tensor(X_), **causal, **tensors).detach(), expected, f"{options}, {list(causal)}")
            found = module.block(torch.tensor(X_), tree.to_torch(tree.from_torch(net)), HEADS, **causal, **tensors, **options, **more)
            near(found, expected, f"function, {options}, {list(causal)}")


def modules_use_their_parts(module):
    """Each part runs as a module, with what it has been given since; attention by itself is that in the block."""
    X = torch.tensor(X_)
    for shapes in ({}, {"d_m": D_M, "rms": True}):
        memory = (torch.tensor(normal(2, MEMORY, D_M)),) if shapes else ()
        every_part_counts(module.Block(D, HEADS, D_FF, **shapes).double(), lambda net, memory=memory: net(X, None, *memory))
    for place in ({"position": "rope", "rope_theta": 30.0}, {"position": "alibi"}, {"position": "relative", "max_distance": 2}):
        net, heard = module.Block(D, HEADS, D_FF, **place).double(), []
        if "max_distance" in place:
            torch.nn.init.normal_(net.attention.table)
        net.attention.register_forward_hook(lambda net, args, out, heard=heard: heard.append((*args, out)))
        options = {name: x for name, x in place.items() if name != "max_distance"}
        near(net(X).detach(), module.block(X, tree.to_torch(tree.from_torch(net)), HEADS, **options), f"module and function, {place}")
        Y, Z = heard[0]
        same(net.attention(Y).detach(), Z.detach(), f"attention alone and in the block, {place}")
    relu, gelu = (module.Block(D, HEADS, D_FF, activation=name).double() for name in ("relu", "gelu"))
    gelu.load_state_dict(relu.state_dict())
    assert not torch.equal(relu(X), gelu(X))
    gelu.ff.activation = "relu"
    same(relu(X).detach(), gelu(X).detach(), "an activation that was changed")
    gelu.norm_1.eps = 0.5
    assert not torch.equal(relu(X), gelu(X))
    with_memory = module.Block(D, HEADS, D_FF, d_m=D_M).double()
    raises(ValueError, "Block: M is None, expected a memory", lambda: with_memory(X))
    raises(ValueError, "Block: M is there, expected None", lambda: relu(X, M=X))


def parameters_are_read_by_name(module):
    for options in ({}, {"gated": True}, {"bias": False}):
        parameters_may_be_dressed(lambda options=options: module.FeedForward(D, D_FF, **options).double(), lambda net: net(torch.tensor(X_)))


def torch_dropout_obeys_its_switches(module):
    """Off in evaluation and for p = 0; on, entries vanish or grow by 1 / (1 − p); the block hands its p on."""
    torch.manual_seed(0)
    ones = torch.ones(400, 300)
    Y = module.dropout(ones, 0.2)
    near((Y == 0).double().mean(), 0.2, "share of zeros", 0.005)
    near(Y.unique(), [0, 1.25], "values", 1e-6)
    same(module.dropout(ones, 0.2, training=False), ones, "evaluation")
    same(module.dropout(ones, 0.0), ones, "p = 0")
    for shapes in ({}, {"d_m": D_M}):
        net, memory = module.Block(D, HEADS, D_FF, p=0.5, **shapes), torch.tensor(normal(2, MEMORY, D_M)).float() if shapes else None
        X = torch.tensor(X_).float()
        assert (net(X, M=memory) != net(X, M=memory)).any(), "two runs in training"
        same(net.eval()(X, M=memory).detach(), net(X, M=memory).detach(), "two runs in evaluation")
        params = filled(block_tree(**shapes), rng())
        for name in ("attention", "cross", "ff"):  # one sublayer at a time, each alone must drop
            if name in params:
                quiet = {k: v if k == name or "norm" in k else tree.map_tree(lambda x: 0 * x, v) for k, v in params.items()}
                a, b = (module.block(X.double(), tree.to_torch(quiet), HEADS, M=None if memory is None else memory.double(), p=0.5)
                        for _ in range(2))
                assert (a != b).any(), f"{name} does not drop"


INVARIANTS = {
    "np.block": [options_are_refused, gradients_of_another_shape_are_refused, *habits(TWINS), decoder_is_right_in_slope_and_twin, activations_are_those_of_torch,
                 equals_the_layers_of_torch, no_token_sees_a_later_one, order_is_not_seen, sequences_that_share_a_row_are_as_alone,
                 silent_sublayers_leave_the_stream, dropout_keeps_the_mean, dropout_can_be_off,
                 dropout_in_a_block_has_the_right_slope, refused],
    "pt.block": [options_are_refused, modules_are_functions, block_module_is_block_function, modules_use_their_parts, parameters_are_read_by_name, sequences_that_share_a_row_are_as_alone, torch_dropout_obeys_its_switches,
                 refused_by_torch],
}
WRONG = [
    M("np.block.activation_backward", "slope twin invariant", "GELU by tanh: slope without the cube's term",
      "TANH_SCALE + 6 * TANH_SCALE * TANH_CUBE * (X * X)", "TANH_SCALE"),
    M("np.block.activation_backward", "slope twin invariant", "GELU by tanh: the cube's 3 forgotten",
      "6 * TANH_SCALE * TANH_CUBE", "2 * TANH_SCALE * TANH_CUBE"),
    M("np.block.activation_backward", "slope twin invariant", "GELU: slope Φ alone",
      "np.exp(-0.5 * (X * X)) * (1 / math.sqrt(2 * math.pi))", "0 * X"),
    M("np.block.activation_forward + activation_forward + activation_backward + activation_backward", "twin invariant", "GELU: the approximation for the exact one",
      'elif name == "gelu":', 'elif name == "exact":',
      '== "gelu_tanh"', 'in ("gelu", "gelu_tanh")',
      'name == "gelu":', 'name == "exact":',
      '== "gelu_tanh"', 'in ("gelu", "gelu_tanh")'),
    M("np.block.activation_backward", "slope twin invariant", "SiLU: slope of σ alone",
      "return dY * (S + X * slope)", "return dY * (slope if name == 'silu' else S + X * slope)"),
    M("np.block.activation_backward", "slope twin invariant", "S' not times x",
      "return dY * (S + X * slope)", "return dY * (S + slope)"),
    M("np.block.activation_forward", "invariant", "SiLU: an exponential that overflows",
      "0.5 + 0.5 * np.tanh(0.5 * X)", "1 / (1 + np.exp(-X))"),
    M("np.block.activation_forward", "invariant", "ReLU: float64 whatever came",
      "S = (X > 0).astype(X.dtype)", "S = (X > 0).astype(float)"),
    M("np.block.feed_forward_backward", "slope twin", "gate: its gradient and that of its factor swapped",
      "linear_backward(dH * G, up)", "linear_backward(dH * U, up)",
      "activation_backward(dH * U, activation)", "activation_backward(dH * G, activation)"),
    M("np.block.feed_forward_backward", "slope twin", "gate: dX through the gate forgotten",
      "dX = dX_up + dX_gate", "dX = dX_up"),
    M("np.block.feed_forward_forward + feed_forward_backward + feed_forward_backward", "twin", "gate: the activation on the wrong branch",
      'inner, gate = linear_forward(X, params["W_g"])',
      'U, gate = linear_forward(X, params["W_g"])\n'
      '        inner, up, gate = linear_forward(X, params["W_1"], params.get("b_1"))[0], gate, up',
      "linear_backward(dH * G, up)", "linear_backward(activation_backward(dH * U, activation), gate)",
      "_ = linear_backward(activation_backward(dH * U, activation), gate)", "_ = linear_backward(dH * G, up)"),
    M("np.block.feed_forward_backward", "slope twin invariant", "feed-forward: activation forgotten in the backward",
      "activation_backward(dH, activation)", "dH"),
    M("np.block.feed_forward_forward + feed_forward_backward", "twin invariant", "feed-forward: b_2 forgotten",
      'params["W_2"], params.get("b_2"))', 'params["W_2"], 0 * params["b_2"] if "b_2" in params else None)',
      '"b_2": db_2', '"b_2": None if db_2 is None else 0 * db_2'),
    M("np.block.feed_forward_backward", "slope twin invariant", "feed-forward: b_2 gets no gradient",
      '"b_2": db_2', '"b_2": None if db_2 is None else 0 * db_2'),
    M("np.block.dropout_forward", "invariant", "dropout: what is left not scaled up",
      " * X.dtype.type(1 / (1 - p))", ""),
    M("np.block.dropout_forward", "invariant", "dropout: scaled by p", "type(1 / (1 - p))", "type(1 / p)"),
    M("np.block.dropout_forward", "invariant", "dropout: p is what stays", ">= p).astype", "< p).astype"),
    M("np.block.dropout_backward", "invariant", "dropout: drawn anew in the backward",
      "else dY * cache.keep", "else dY * np.random.default_rng(1).permutation(cache.keep.ravel()).reshape(dY.shape)"),
    M("np.block.dropout_backward", "invariant", "dropout: nothing dropped in the backward",
      "else dY * cache.keep", "else dY"),
    M("np.block.dropout_forward", "invariant", "dropout: p = 1 let in", "p: Share", "p: float"),
    M("np.block.DropoutCache", "invariant", "dropout: a gradient of any shape", 'X_shape: Shape["*S"]', "X_shape: tuple"),
    M("np.block.block_forward", "invariant", "block: p = 1 let in", "p: Share", "p: float"),
    M("np.block.ActivationCache", "invariant", "activation: a gradient of any shape", 'X: Float[Array, "*S"]\n    S: Float[Array, "*S"]', 'X: Array\n    S: Array'),
    M("np.block.dropout_forward", "invariant", "dropout: without rng, one all the same",
      "if rng is None or p == 0:", "rng = rng or np.random.default_rng()\n    if p == 0:"),
    M("np.block.block_forward", "invariant", "cross-attention does not drop",
      "memory_mask)\n        O, dropout = dropout_forward(O, p, rng)",
      "memory_mask)\n        O, dropout = dropout_forward(O, 0.0, rng)"),
    M("np.block.block_backward", "slope twin invariant", "block: self-attention forgets dM",
      "dX + dY, g  # queries and memory were one array", "dX, g"),
    M("np.block.block_forward + block_backward", "invariant", "block: cross-attention after the feed-forward layer",
      "    if M is not None:\n"
      '        X, cross = residual_forward(X, params["norm_c"], cross_attend, norm_first, residual, alpha, eps)\n'
      '    X, ff = residual_forward(X, params["norm_2"], feed',
      '    X, ff = residual_forward(X, params["norm_2"], feed, norm_first, residual, alpha, eps)\n'
      "    if M is not None:\n"
      '        X, cross = residual_forward(X, params["norm_c"], cross_attend',
      '    dX, grads["norm_2"], grads["ff"] = residual_backward(dY, cache.ff, feed_back)\n'
      "    if cache.cross is not None:\n"
      '        dX, grads["norm_c"], grads["cross"] = residual_backward(dX, cache.cross, cross_back',
      "    if cache.cross is not None:\n"
      '        dX, grads["norm_c"], grads["cross"] = residual_backward(dY, cache.cross, cross_back)\n'
      '    dX, grads["norm_2"], grads["ff"] = residual_backward(dX if cache.cross is not None else dY, '
      "cache.ff, feed_back"),
    M("np.block.block_backward", "slope twin invariant", "block: gradients of the two norms swapped",
      'dX, grads["norm_2"], grads["ff"]', 'dX, grads["norm_1"], grads["ff"]',
      'dX, grads["norm_1"], grads["attention"]', 'dX, grads["norm_2"], grads["attention"]'),
    M("np.block.block_forward", "twin invariant", "block: mask not handed on", "kv_heads, mask, ", "kv_heads, None, "),
    M("np.block.block_forward", "twin", "block: position not handed on", ", position, rope_theta", ', "none", 10000.0'),
    M("np.block.block_forward", "twin invariant", "block: positions not handed on", "rope_theta, positions,", "rope_theta, None,"),
    M("np.block.block_forward", "twin invariant", "block: is_causal not handed on", "is_causal)", "False)"),
    M("np.block.block_forward", "invariant", "block: the mask dropped where is_causal is given",
      "kv_heads, mask, ", "kv_heads, None if is_causal else mask, "),
    M("np.block.block_forward", "invariant", "block: one row of positions for all sequences",
      "rope_theta, positions,", "rope_theta, positions if positions is None or positions.ndim < 2 else positions[0],"),
    M("np.block.block_forward", "invariant", "block: memory's mask not handed on", ", memory_mask", ""),
    M("np.block.block_forward", "twin invariant", "block: always pre",
      "attend, norm_first, residual, alpha, eps)\n    cross", 'attend, True, residual, alpha, eps)\n    cross'),
    M("np.block.block_forward", "twin invariant", "block: the stream doubled before the feed-forward layer",
      "feed, norm_first, residual, alpha, eps)", "feed, norm_first, residual, 2 * alpha, eps)"),
    M("np.block.block_forward", "twin", "block: ε not handed on", "feed, norm_first, residual, alpha, eps)", "feed, norm_first, residual, alpha)"),
    M("np.block.block_backward", "slope twin invariant", "block: dX of the feed-forward layer not handed back",
      "residual_backward(dX, cache.attention", "residual_backward(dY, cache.attention"),
    M("np.block.block_forward", "slope invariant", "block: written into the stream",
      "    X, attention = residual_forward(X,", "    X *= 1 + 1e-3\n    X, attention = residual_forward(X,"),
    M("np.block.feed_forward_forward + feed_forward_backward", "twin invariant", "feed-forward: tokens mixed by a reshape, consistently",
      "    U, up = linear", "    X = X.mT.reshape(X.shape)\n    U, up = linear",
      "    return dX, {", "    dX = dX.reshape(*dX.shape[:-2], *dX.shape[:-3:-1]).mT\n    return dX, {"),
    M("pt.block._gelu", "invariant", "GELU in float64: Φ of √2 x", "math.sqrt(0.5)", "1.0"),
    M("pt.block.ACTIVATIONS", "invariant", "GELU by tanh: the exact one", 'F.gelu(X, approximate="tanh")', "F.gelu(X)"),
    M("pt.block.feed_forward", "twin invariant", "gate: the activation on the wrong branch",
      'linear(X, params["W_g"]), activation) * U', 'U, activation) * linear(X, params["W_g"])'),
    M("pt.block.feed_forward", "twin invariant", "b_2 forgotten",
      'params["W_2"], params.get("b_2"))', 'params["W_2"])'),
    M("pt.block.Block.__init__", "invariant", "module: α not handed on",
      "norm_first, residual, alpha, p\n", "norm_first, residual, 1.0, p\n"),
    M("pt.block.Block.forward", "invariant", "module: drops in evaluation",
      "p = self.p if self.training else 0.0", "p = self.p"),
    M("pt.block.Block.__init__", "invariant", "module: RMSNorm for LayerNorm",
      "norm = RMSNorm if rms else LayerNorm", "norm = RMSNorm"),
    M("pt.block.block", "invariant", "block: positions not handed on", "rope_theta, positions,", "rope_theta, None,"),
    M("pt.block.block", "invariant", "block: is_causal not handed on", "is_causal)", "False)"),
    M("pt.block.block", "invariant", "block: the mask dropped where is_causal is given",
      "kv_heads, mask, ", "kv_heads, None if is_causal else mask, "),
    M("pt.block.Block.forward", "invariant", "module: positions not handed on", "positions=positions", "positions=None"),
    M("pt.block.Block.forward", "invariant", "module: is_causal not handed on", "is_causal=is_causal", "is_causal=False"),
    M("pt.block.Block.__init__", "invariant", "module: its attention knows no position",
      "position=position, rope_theta=rope_theta,", 'position="none" if position == "rope" else position,'),
    M("pt.block.Block.forward", "invariant", "module: its norm passed over, and what was done to it",
      "self._connect(X, self.norm_2, feed)", "self._connect(X, self.norm_2.forward, feed)"),
    M("pt.block.Block.forward", "invariant", "module: its feed-forward layer passed over",
      "self.ff(Y)", "feed_forward(Y, dict(self.ff.named_parameters()), self.ff.activation)"),
    M("pt.block.Block.forward", "invariant", "module: its cross-attention passed over",
      "self.cross(Y, M, memory_mask)", 'multihead(Y, M, dict(self.cross.named_parameters()), self.cross.heads, mask=memory_mask)'),
    M("pt.block.FeedForward.forward", "invariant", "module: only what is a parameter of its own",
      "held(self, FEED_FORWARD)", "dict(self.named_parameters())"),
    M("pt.block.dropout", "invariant", "dropout: in evaluation too",
      "return F.dropout(X, p, training)", "return F.dropout(X, p)"),
    M("pt.block.dropout", "invariant", "dropout: p = 1 let in", "p: Share", "p: float"),
    M("pt.block.block", "invariant", "block: p = 1 let in", "p: Share", "p: float"),
    M("pt.block.block", "invariant", "cross-attention does not drop",
      'F.dropout(multihead(Y, M, params["cross"], heads, kv_heads, memory_mask), p',
      'multihead(Y, M, params["cross"], heads, kv_heads, memory_mask'),
    M("pt.block.block", "invariant", "cross-attention after the feed-forward layer",
      ", attend, norm_first, residual, alpha, eps)\n",
      ", attend, norm_first, residual, alpha, eps)\n"
      "    if M is not None:\n"
      '        X = connect(X, params["norm_2"], feed, norm_first, residual, alpha, eps)\n'
      '        return connect(X, params["norm_c"], cross_attend, norm_first, residual, alpha, eps)\n'),
]
