"""Chapter 15 proved: images as rows of patches, positions on a grid, one vector for an image, attention rolled out."""

import invariants
import numpy as np
import torch
from byhand.np.position import sinusoidal
from invariants import near, normal, rng, same
from mutants import M
from proofs import habits, refusals
from twins import LEAD, Case, Spec

IMAGES = [((4, 6, 3), 2), ((2, 6, 3, 1), 3), ((3, 2, 4, 8, 2), 4), ((2, 3, 5, 2), 1)]


def patchify_cases(rng):
    for shape, patch in IMAGES:
        yield Case(f"{shape} by {patch}", {"images": rng.normal(size=shape)}, {"patch": patch})


def unpatchify_cases(rng):
    for (*lead, H, W, C), p in IMAGES:
        patches = rng.normal(size=(*lead, H * W // (p * p), p * p * C))
        yield Case(f"{(H, W)} by {p}", {"patches": patches}, {"height": H, "width": W, "patch": p})


def grid_cases(rng):
    yield Case("3 by 5", {}, {"h": 3, "w": 5, "d": 8})
    yield Case("base 100", {}, {"h": 2, "w": 2, "d": 12, "base": 100.0})


def class_token_cases(rng):
    for rank, lead in LEAD.items():
        yield Case(f"rank {rank}", {"X": rng.normal(size=(*lead, 5, 4)), "token": rng.normal(size=4)})


def mean_pool_cases(rng):
    for rank, lead in LEAD.items():
        X = {"X": rng.normal(size=(*lead, 5, 4))}
        mask = rng.random((*lead, 5)) < 0.6
        yield Case(f"rank {rank}", X)
        yield Case(f"rank {rank}, masked", X, {"mask": mask})
        empty = (np.arange(np.prod(lead, dtype=int)) == 0).reshape(*lead, 1)
        yield Case(f"rank {rank}, the first sequence empty", X, {"mask": mask & ~empty})


TWINS = [
    Spec("vision", "patchify", patchify_cases),
    Spec("vision", "unpatchify", unpatchify_cases),
    Spec("vision", "positions_2d", grid_cases),
    Spec("vision", "class_token", class_token_cases),
    Spec("vision", "mean_pool", mean_pool_cases),
]


def patches_by_loops(module):
    """Left to right, then down; within a patch too. Putting together and the backward undo the cut."""
    X = normal(2, 6, 9, 4)
    Y, cache = module.patchify_forward(X, 3)
    loops = [[[X[b, 3 * (i // 3) + u, 3 * (i % 3) + v, c] for u in range(3) for v in range(3) for c in range(4)]
              for i in range(6)] for b in range(2)]
    same(Y, loops, "patches")
    same(module.unpatchify_forward(Y, 6, 9, 3)[0], X, "the image put together")
    same(module.patchify_backward(Y, cache), X, "the backward")


def patches_and_a_matrix_are_a_convolution(module):
    X, W = normal(2, 6, 9, 4), normal(3, 3, 4, 5)
    image, kernel = torch.tensor(X).permute(0, 3, 1, 2), torch.tensor(W).permute(3, 2, 0, 1)
    strided = torch.nn.functional.conv2d(image, kernel, stride=3).flatten(2).mT
    near(module.patchify_forward(X, 3)[0] @ W.reshape(36, 5), strided, "patches times W and the convolution")


def grid_rows_then_columns(module):
    grid = module.positions_2d(3, 5, 8).reshape(3, 5, 8)
    same(grid[..., :4], np.broadcast_to(sinusoidal(3, 4)[:, None], (3, 5, 4)), "the row's half")
    same(grid[..., 4:], np.broadcast_to(sinusoidal(5, 4), (3, 5, 4)), "the column's half")


def class_token_comes_first(module):
    X, token = normal(2, 3, 5, 4), normal(4)
    Y, _ = module.class_token_forward(X, token)
    same(Y[..., 0, :], np.broadcast_to(token, (2, 3, 4)), "the first token")
    same(Y[..., 1:, :], X, "the others")


def pooling_forgets_padding(module):
    """A mean of what is real; nothing real gives zeros; padding gets a gradient of exactly 0."""
    X, mask = normal(2, 3, 5, 4), np.arange(5) < np.array([[5, 2, 0], [1, 3, 4]])[..., None]
    Y, cache = module.mean_pool_forward(X, mask)
    near(Y[0, 1], X[0, 1, :2].mean(axis=0), "the mean of two tokens")
    same(Y[0, 2], np.zeros(4), "the mean of none")
    near(module.mean_pool_forward(X)[0], X.mean(axis=-2), "the mean of all")
    assert not module.mean_pool_backward(normal(*Y.shape), cache)[~mask].any(), "padding got a gradient"


def means_outlive_their_sums(module):
    """In half precision: what is added up may be too large for the dtype, though the mean is not."""
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        X, mask = torch.full((2, 300, 3), 512.0, dtype=dtype), torch.arange(300) < torch.tensor([[300], [200]])
        for given in (None, mask):
            pooled = module.mean_pool(X, given)
            assert pooled.dtype == dtype and (pooled == 512).all(), f"mean {pooled.max()} of 512 in {dtype}"


def rolled_out(module, layers, *residual):
    """attention_rollout of either half, on arrays."""
    if module.__name__.startswith("byhand.np"):
        return module.attention_rollout(layers, *residual)
    return module.attention_rollout([torch.tensor(A) for A in layers], *residual).numpy()


def rollout_is_running_the_layers(module):
    """A linear network of these weights, with a share that skips each layer; nothing is lost or made on the way."""
    r = rng()
    layers = [r.dirichlet(np.ones(5), size=(2, 3, 5)) for _ in range(4)]
    X = normal(2, 5, 6)
    for residual in (0.5, 0.3):
        Y = X
        for A in layers:
            Y = residual * Y + (1 - residual) * A.mean(axis=1) @ Y
        R = rolled_out(module, layers, residual)
        near(R @ X, Y, f"rollout and run, residual {residual}")
        near(R.sum(axis=-1), np.ones((2, 5)), "sums of rows")
    same(rolled_out(module, layers), rolled_out(module, layers, 0.5), "no residual given, and a half")
    single = [A.astype(np.float32) for A in layers]
    assert rolled_out(module, single).dtype == np.float32


def causal_rollout_stays_causal(module):
    layers = [np.tril(A) / np.tril(A).sum(axis=-1, keepdims=True) for A in rng().random((4, 2, 3, 5, 5))]
    same(np.triu(rolled_out(module, layers), 1), np.zeros((2, 5, 5)), "what comes later")


def what_entered_first_stays(module):
    """Where all rows of the first layer look at one, all weight of the rollout lies there: later layers mix equal rows.
    In the wrong order it does not, while causal weights stay causal in any order."""
    layers = [np.tile(np.eye(5)[3], (2, 3, 5, 1)), *rng().dirichlet(np.ones(5), size=(2, 2, 3, 5))]
    near(rolled_out(module, layers, 0.0), np.broadcast_to(np.eye(5)[3], (2, 5, 5)), "rollout and what entered")


def runs_on_any_device(module):
    """The mean over a mask too, which waits for no value."""
    invariants.runs_on_any_device(module, TWINS)
    layers = [torch.empty(2, 3, 5, 5, device="meta")] * 2
    assert module.attention_rollout(layers).device.type == "meta"


WRONG = [
    ("patchify_forward", ValueError, "height of images is 6, expected a multiple of 4", normal(6, 8, 3), 4),
    ("unpatchify_forward", ValueError, r"patches has shape \(6, 36\), expected \(12, 36\)", normal(6, 36), 12, 9, 3),
    ("positions_2d", ValueError, "d is 6, expected a multiple of 4", 2, 2, 6),
    ("class_token_forward", ValueError, r"token has shape \(3,\), expected \(4,\)", normal(5, 4), normal(3)),
    ("mean_pool_forward", ValueError, r"mask has shape \(3, 5\), expected \(2, 3, 5\)", normal(2, 3, 5, 4),
     np.ones((3, 5), dtype=bool)),
    ("mean_pool_forward", TypeError, "X has dtype float16, expected float32 or float64",
     np.ones((70_000, 1), np.float16)),
    ("attention_rollout", ValueError, "layers is empty", []),
    ("attention_rollout", ValueError, r"layers\[1\] has shape \(3, 5, 5\), expected \(2, 5, 5\)",
     [normal(2, 5, 5), normal(3, 5, 5)]),
    ("attention_rollout", ValueError, "residual is 1.5", [normal(2, 5, 5)], 1.5),
]


def to_torch(x):
    return torch.tensor(x) if isinstance(x, np.ndarray) else [to_torch(y) for y in x] if isinstance(x, list) else x


TORCH = [(name.removesuffix("_forward"), error, says, *map(to_torch, given)) for name, error, says, *given in WRONG
         if "float16" not in says]  # torch adds it up in float32

INVARIANTS = {
    "np.vision": [patches_by_loops, patches_and_a_matrix_are_a_convolution, grid_rows_then_columns,
                  class_token_comes_first, pooling_forgets_padding, rollout_is_running_the_layers,
                  causal_rollout_stays_causal, what_entered_first_stays, *habits(TWINS), refusals(*WRONG)],
    "pt.vision": [means_outlive_their_sums, rollout_is_running_the_layers, causal_rollout_stays_causal,
                  what_entered_first_stays, runs_on_any_device, refusals(*TORCH)],
}

WRONG = [
    M("np.vision.patchify_forward + unpatchify_forward", "twin invariant", "patches cut without exchanging the axes",
      "squares = np.swapaxes(rows, -4, -3)", "squares = rows",
      "np.swapaxes(patches.reshape(*lead, h, w, patch, patch, C), -4, -3)", "patches"),
    M("np.vision.patchify_forward + unpatchify_forward", "twin invariant", "patch order: down, then right",
      "squares = np.swapaxes(rows, -4, -3)", "squares = np.swapaxes(np.swapaxes(rows, -4, -3), -5, -4)",
      "patches.reshape(*lead, h, w, patch, patch, C",
      "np.swapaxes(patches.reshape(*lead, w, h, patch, patch, C), -5, -4"),
    M("np.vision.patchify_forward + unpatchify_forward", "twin invariant", "pixels of a patch transposed",
      "squares = np.swapaxes(rows, -4, -3)", "squares = np.swapaxes(np.swapaxes(rows, -4, -3), -3, -2)",
      "patches.reshape(*lead, h, w, patch, patch, C",
      "np.swapaxes(patches.reshape(*lead, h, w, patch, patch, C), -3, -2"),
    M("np.vision.unpatchify_forward", "slope twin invariant", "backward without exchanging the axes",
      "np.swapaxes(patches.reshape(*lead, h, w, patch, patch, C), -4, -3)", "patches"),
    M("np.vision.patchify_forward", "invariant", "pixels read in memory order",
      "rows = images.reshape(", "rows = images.ravel(order='K').reshape("),
    M("np.vision.positions_2d", "twin invariant", "2-D positions: rows and columns exchanged",
      "repeat(rows, w, axis=0), np.tile(columns, (h, 1)", "tile(columns, (h, 1)), np.repeat(rows, w, axis=0"),
    M("np.vision.class_token_forward + class_token_backward", "twin invariant", "class token put last",
      "np.concatenate([first, X], axis=-2)", "np.concatenate([X, first], axis=-2)",
      "dY[..., 1:, :], dY[..., 0, :]", "dY[..., :-1, :], dY[..., -1, :]"),
    M("np.vision.class_token_backward", "slope twin", "class token: mean for sum",
      ".reshape(-1, dY.shape[-1]).sum(axis=0)", ".reshape(-1, dY.shape[-1]).mean(axis=0)"),
    M("np.vision.class_token_forward", "invariant", "class token: any that repeats to d",
      'Float[Array, " d"]', 'Float[Array, "..."]'),
    M("np.vision.mean_pool_forward", "twin invariant", "mean over padding too",
      "np.maximum(real.sum(axis=-1, keepdims=True), 1)", "real.shape[-1]"),
    M("np.vision.mean_pool_forward", "slope twin invariant", "mean: nothing real divides by zero",
      "np.maximum(real.sum(axis=-1, keepdims=True), 1", "real.sum(axis=-1, keepdims=True"),
    M("np.vision.mean_pool_backward", "slope twin", "mean: gradient not divided",
      "cache.weights[", "(cache.weights > 0)["),
    M("np.vision.mean_pool_forward", "invariant", "mean: float16 let in, 70,000 ones have the mean 0",
      'X: Float[Array, "*B n d"]', "X: Array"),
    M("np.vision.attention_rollout", "invariant", "rollout: of no layer",
      '    not_empty("attention_rollout", layers=layers)\n', ""),
    M("np.vision.attention_rollout", "invariant", "rollout: layers of several shapes",
      'list[Float[Array, "*B H n n"]]', "list[Array]"),
    M("np.vision.mean_pool_forward", "invariant", "mean: the mask in float64",
      "mask.astype(X.dtype)", "mask.astype(float)"),
    M("np.vision.mean_pool_forward", "invariant", "mean: padding erased in the caller's array",
      "    weights = real /", "    X *= real[..., None]\n    weights = real /"),
    M("np.vision.attention_rollout", "invariant", "rollout: layers multiplied in the wrong order",
      "((1 - residual) * A.mean(axis=-3) + residual * stay) @ total",
      "total @ ((1 - residual) * A.mean(axis=-3) + residual * stay)"),
    M("np.vision.attention_rollout", "invariant", "rollout: skip added, rows sum to more than one",
      "(1 - residual) * A.mean(axis=-3)", "A.mean(axis=-3)"),
    M("np.vision.attention_rollout", "invariant", "rollout: what each token gives, not what it takes",
      "A.mean(axis=-3)", "A.mean(axis=-3).mT"),
    M("pt.vision.patchify", "twin", "patchify: channels first",
      "squares.movedim(-3, -1).flatten(-3)", "squares.flatten(-3)"),
    M("pt.vision.unpatchify", "twin", "unpatchify: axes not exchanged", "transpose(-4, -3).", ""),
    M("pt.vision.positions_2d", "twin", "2-D positions: rows and columns exchanged",
      "rows[:, None].expand(h, w, -1), columns", "columns.expand(h, w, -1), rows[:, None]"),
    M("pt.vision.positions_2d", "invariant", "2-D positions: made on the CPU, whatever was asked",
      ", device=device", ""),
    M("pt.vision.class_token", "twin", "class token put last",
      "token.expand(*X.shape[:-2], 1, -1), X", "X, token.expand(*X.shape[:-2], 1, -1)"),
    M("pt.vision.mean_pool", "twin", "mean over padding too",
      "total / mask.sum(dim=-1, keepdim=True).clamp(min=1)", "X.mean(dim=-2)"),
    M("pt.vision.mean_pool", "invariant", "mean: the sum in half precision", "sum(dim=-2, dtype=wide)", "sum(dim=-2)"),
    M("pt.vision.class_token", "invariant", "class token: any that repeats to d",
      'Float[Tensor, " d"]', 'Float[Tensor, "..."]'),
    M("pt.vision.attention_rollout", "invariant", "rollout: layers multiplied in the wrong order",
      "((1 - residual) * A.mean(dim=-3) + residual * stay) @ total",
      "total @ ((1 - residual) * A.mean(dim=-3) + residual * stay)"),
    M("pt.vision.attention_rollout", "invariant", "rollout: what each token gives, not what it takes",
      "A.mean(dim=-3)", "A.mean(dim=-3).mT"),
]
