# ruff: noqa: E501
"""Proofs of embeddings, tying, cosine, skip-gram and patches: cases, invariants, and wrong modules."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from byhand import tree
from byhand.np import embedding as np_embedding
from byhand.np.gradcheck import numerical_gradient
from byhand.np.linear import init_linear
from byhand.np.loss import cross_entropy_backward, cross_entropy_forward
from invariants import near, normal, raises, rng, same
from mutants import M
from proofs import habits, refusals
from twins import IDS, Case, Spec

IMAGES = [((4, 6, 3), 2), ((2, 6, 4, 3), 2), ((3, 2, 6, 9, 2), 3), ((2, 3, 5, 4), 1)]  # (…, height, width, channels)


def embedding_cases(rng):
    for ids in IDS:
        for scale in (1.0, 2.5):
            yield Case(f"ids {ids.shape}, scale {scale}", {"E": rng.normal(size=(5, 6))}, {"ids": ids, "scale": scale})


def unembed_cases(rng):
    for lead in ((), (3,), (3, 2), (4, 3, 2)):
        yield Case(f"{lead}", {"X": rng.normal(size=(*lead, 5)), "E": rng.normal(size=(7, 5))})


def cosine_cases(rng):
    U = rng.normal(size=(3, 5))
    yield Case("random", {"U": U.copy(), "V": rng.normal(size=(4, 5))})
    U[1] = 0
    yield Case("a row of zeros", {"U": U, "V": 100 * rng.normal(size=(4, 5))})


def nearest_cases(rng):
    vectors, query = rng.normal(size=(9, 5)), rng.normal(size=5)
    yield Case("plain", {"vectors": vectors, "query": query})
    yield Case("excluded", {"vectors": vectors, "query": 3 * vectors[2]}, {"k": 3, "exclude": (2, 4)})


def sgns_cases(rng):
    for B, k in ((1, 2), (6, 3), (2, 0)):
        inputs = {"W_in": rng.normal(size=(5, 4)), "W_out": 2 * rng.normal(size=(5, 4))}
        ids = {"centres": rng.integers(0, 5, B), "contexts": rng.integers(0, 5, B),
               "negatives": rng.integers(0, 5, (B, k))}
        yield Case(f"{B} pairs, {k} drawn", inputs, ids)


def patch_embedding_cases(rng):
    for shape, p in IMAGES:
        wide = p * p * shape[-1]
        yield Case(f"{shape}, {p}", {"images": rng.normal(size=shape), "W": rng.normal(size=(wide, 5)),
                                     "b": rng.normal(size=5)}, {"patch": p})


TWINS = [
    Spec("embedding", "embedding", embedding_cases),
    Spec("embedding", "unembed", unembed_cases),
    Spec("embedding", "cosine_similarity", cosine_cases),
    Spec("embedding", "nearest", nearest_cases),
    Spec("embedding", "sgns", sgns_cases),
    Spec("embedding", "patch_embedding", patch_embedding_cases),
]


def tied_gradient_is_the_sum_of_two(module):
    """One E to read and to score: its slope is the sum of both hand gradients, and neither alone."""
    E, ids, targets = normal(6, 4), np.array([[0, 2, 2], [5, 0, 1]]), np.array([[1, 2, 4], [0, 0, 3]])

    def run(E):
        X, read = module.embedding_forward(E, ids, 2.0)
        logits, score = module.unembed_forward(np.tanh(X), E)
        L, loss = cross_entropy_forward(logits, targets)
        return L, (X, read, score, loss)

    _, (X, read, score, loss) = run(E)
    dT, above = module.unembed_backward(cross_entropy_backward(1.0, loss), score)
    below = module.embedding_backward(dT * (1 - np.tanh(X) ** 2), read)
    by_slope = numerical_gradient(lambda E: run(E)[0], E)
    near(above + below, by_slope, "tied gradient and slope", 1e-8)
    assert all(np.abs(part - by_slope).max() > 0.05 for part in (above, below))
    t = torch.tensor(E, requires_grad=True)
    F.cross_entropy((torch.tanh(2 * F.embedding(torch.tensor(ids), t)) @ t.T).reshape(-1, 6),
                    torch.tensor(targets).reshape(-1)).backward()
    near(above + below, t.grad, "tied gradient and torch's")


def torch_has_the_same_embedding(module):
    E, ids, dX = normal(6, 4), np.array([[0, 2, 2], [5, 0, 2]]), normal(2, 3, 4)
    X, cache = module.embedding_forward(E, ids, 1.5)
    e = torch.nn.Embedding.from_pretrained(torch.tensor(E), freeze=False)
    y = 1.5 * e(torch.tensor(ids))
    y.backward(torch.tensor(dX))
    near(X, y.detach(), "embeddings")
    near(module.embedding_backward(dX, cache), e.weight.grad, "dE")


def cosine_is_blind_to_length(module):
    U, V = normal(4, 6), normal(5, 6)
    S = module.cosine_similarity(U, V)
    near(S, module.cosine_similarity(3 * U, V / 7), "cosines of U and 3U")
    near(np.diag(module.cosine_similarity(U, 2 * U)), np.ones(4), "cosine of u and 2u, and 1")
    near(np.diag(module.cosine_similarity(U, -U)), -np.ones(4), "cosine of u and −u, and −1")
    near(S, F.cosine_similarity(torch.tensor(U)[:, None], torch.tensor(V)[None], dim=-1), "cosine and torch's")


def cosine_of_any_size(module):
    """At both ends of float32, where squares are 0 or infinite, a vector still looks like itself."""
    U = normal(3, 6).astype(np.float32) * np.float32([[1e-38], [1], [1e37]])
    if module.__name__.startswith("byhand.pt"):
        U = torch.tensor(U)
    S = module.cosine_similarity(U, U)
    near(np.diag(S), np.ones(3), "cosine of a vector with itself, and 1", 1e-5)
    near(S, F.cosine_similarity(torch.tensor(normal(3, 6))[:, None], torch.tensor(normal(3, 6))[None], dim=-1),
         "cosines, and those of vectors of a common size", 1e-5)
    assert [int(module.nearest(U, row, 1)[0]) for row in U] == [0, 1, 2]


def nearest_finds_the_planted(module):
    vectors = normal(9, 5)
    query = 10 * vectors[7] + 0.01 * normal(5)
    order = module.nearest(vectors, query, 9)
    assert order[0] == 7 and sorted(order) == list(range(9))
    assert 7 not in module.nearest(vectors, query, 8, exclude=[7])
    same(module.nearest(vectors, query, 3, exclude=[7]), order[1:4], "neighbours without the first")
    same(module.nearest(np.ones((4, 2)), np.ones(2), 3), [0, 1, 2], "equal rows and their order")
    raises(ValueError, "k is 9, expected at most the 8 rows", lambda: module.nearest(vectors, query, 9, [7]))


def skip_gram_starts_at_one_half(module):
    """W_out = 0: every probability is ½, so L = (1 + k) ln 2; large scores leave L and its gradient finite."""
    params = module.init_sgns(rng(), 5, 4, np.float64)
    ids = np.array([0, 1]), np.array([2, 3]), np.array([[1, 4, 4], [0, 2, 2]])
    near(module.sgns_forward(*params.values(), *ids)[0], 4 * math.log(2), "loss at the start and 4 ln 2")
    L, cache = module.sgns_forward(100 * normal(5, 4), 100 * rng().normal(size=(5, 4)), *ids)
    assert np.isfinite(L) and all(np.isfinite(g).all() for g in module.sgns_backward(1.0, cache))


def patches_are_a_strided_convolution(module):
    for (*lead, h, w, c), p in IMAGES[1:]:
        images, W, b = normal(*lead, h, w, c), normal(p * p * c, 5), normal(5)
        x = torch.tensor(images, requires_grad=True)
        kernel = torch.tensor(W).reshape(p, p, c, 5).permute(3, 2, 0, 1).requires_grad_()
        y = F.conv2d(x.reshape(-1, h, w, c).permute(0, 3, 1, 2), kernel, torch.tensor(b), stride=p).flatten(2).mT
        X, cache = module.patch_embedding_forward(images, W, b, p)
        dX = rng().normal(size=X.shape)
        y.backward(torch.tensor(dX).reshape(y.shape))
        dimages, dW, _ = module.patch_embedding_backward(dX, cache)
        near(X, y.detach().reshape(X.shape), "tokens")
        near(dimages, x.grad, "dimages")
        near(dW, kernel.grad.permute(2, 3, 1, 0).reshape(W.shape), "dW")


def init_gives_rows_of_length_one(module):
    E = module.init_embedding(rng(), 3000, 512)["E"]
    assert E.dtype == np.float32
    near(E.std(), 1 / math.sqrt(512), "standard deviation of E and 1/√d", 1e-3)
    both = module.init_sgns(rng(), 300, 50)
    assert both["W_in"].dtype == np.float32 and not both["W_out"].any()
    near(np.abs(both["W_in"]).max(), 0.01, "largest entry of W_in and 1/2d", 1e-4)


def torch_modules_are_the_functions(module):
    net, params = module.Embedding(5, 4, 2.0).double(), np_embedding.init_embedding(rng(), 5, 4, np.float64)
    net.load_state_dict(tree.to_torch(params))
    ids = np.array([[0, 4, 4]])
    X = net(torch.tensor(ids))
    near(X.detach(), np_embedding.embedding_forward(params["E"], ids, 2.0)[0], "embeddings")
    near(net.unembed(X).detach(), np_embedding.unembed_forward(X.detach().numpy(), params["E"])[0], "logits")
    net, params = module.PatchEmbedding(2, 3, 5).double(), init_linear(rng(), 12, 5, np.float64)
    net.load_state_dict(tree.to_torch(params))
    images, W, b = normal(2, 4, 6, 3), params["W"], params["b"] + normal(5)
    net.b.data += torch.tensor(normal(5))
    near(net(torch.tensor(images)).detach(), np_embedding.patch_embedding_forward(images, W, b, 2)[0], "tokens")


ROWS, IDS_1, IDS_2 = normal(5, 4), np.array([0, 3]), np.array([[1, 2], [4, 4]])
REFUSED = [
    ("embedding_forward", TypeError, "E has dtype float16, expected float32 or float64", ROWS.astype(np.float16), IDS_1),
    ("embedding_forward", ValueError, "ids holds 5, expected whole numbers from 0 to 4", ROWS, IDS_1 + 2),
    ("unembed_forward", ValueError, r"E has shape \(5, 4\), expected \(5, 3\)", normal(2, 3), ROWS),
    ("cosine_similarity", ValueError, r"V has shape \(5, 4\), expected \(5, 3\)", normal(2, 3), ROWS),
    ("nearest", ValueError, "exclude holds 5, expected whole numbers from 0 to 4", ROWS, normal(4), 2, [5]),
    ("nearest", TypeError, r"exclude\[1\] is float, expected a whole number", ROWS, normal(4), 2, (0, 1.0)),
    ("nearest", TypeError, "exclude is str, expected a list", ROWS, normal(4), 2, "01"),
    ("nearest", ValueError, "k is 5, expected at most the 4 rows that are not excluded", ROWS, normal(4), 5, [1, 1]),
    ("sgns_forward", ValueError, r"W_out has shape \(5, 3\), expected \(5, 4\)", ROWS, normal(5, 3), IDS_1, IDS_1, IDS_2),
    ("sgns_forward", ValueError, "centres is empty, expected at least 1 entry",
     ROWS, ROWS, IDS_1[:0], IDS_1[:0], IDS_2[:0]),
    ("sgns_forward", ValueError, "negatives has 0 axes, expected at least 2", ROWS, ROWS, IDS_1, IDS_1, np.array(1)),
    ("sgns_forward", ValueError, "contexts holds -1", ROWS, ROWS, IDS_1, IDS_1 - 1, IDS_2),
    ("patch_embedding_forward", ValueError, "height of images is 4, expected a multiple of 3",
     normal(4, 6, 2), normal(18, 3), normal(3), 3),
]


def to_torch(x):
    return torch.tensor(x) if isinstance(x, np.ndarray) else x


TORCH = [(name.removesuffix("_forward"), error, says, *map(to_torch, given))
         for name, error, says, *given in REFUSED if "ids holds" not in says and "contexts holds" not in says
         and "float16" not in says]  # a look at a value would wait for the GPU, and torch may have float16

INVARIANTS = {
    "np.embedding": [*habits(TWINS), tied_gradient_is_the_sum_of_two, torch_has_the_same_embedding,
                     cosine_is_blind_to_length, cosine_of_any_size, nearest_finds_the_planted, skip_gram_starts_at_one_half,
                     patches_are_a_strided_convolution, init_gives_rows_of_length_one, refusals(*REFUSED)],
    "pt.embedding": [torch_modules_are_the_functions, cosine_of_any_size, refusals(*TORCH)],
}

WRONG = [
    M("np.embedding.embedding_backward", "slope twin invariant", "scale forgotten in the backward",
      "cache.scale * ", ""),
    M("np.embedding.embedding_backward", "slope twin invariant", "scale squared in the backward",
      "return cache.scale * gather_backward", "return cache.scale * cache.scale * gather_backward"),
    M("np.embedding.embedding_forward", "invariant", "a NumPy scale makes float64",
      "scale: float = 1.0", "scale=1.0"),
    M("np.embedding.unembed_backward", "slope twin invariant", "dE averaged over tokens",
      ".mT @ X.reshape(-1, E.shape[1])", ".mT @ X.reshape(-1, E.shape[1]) / (X.size // X.shape[-1] + 1)"),
    M("np.embedding.unembed_backward", "slope twin invariant", "tied: scoring sends E nothing",
      "return dlogits @ E, dE", "return dlogits @ E, 0 * dE"),
    M("np.embedding.unembed_backward", "invariant", "tokens read in memory order",
      "@ X.reshape(-1, E.shape[1])", "@ X.ravel(order='K').reshape(-1, E.shape[1])"),
    M("np.embedding.embedding_backward", "slope twin invariant", "scale written into the upstream",
      "    return cache.scale *", "    dX *= cache.scale\n    return"),
    M("np.embedding.cosine_similarity", "twin invariant", "cosine without the lengths",
      "return X / np.maximum(size, tiny)", "return X"),
    M("np.embedding.cosine_similarity", "twin invariant", "cosine: lengths over the wrong axis",
      "linalg.norm(X, axis=-1, keepdims", "linalg.norm(X, axis=0, keepdims"),
    M("np.embedding.cosine_similarity", "invariant", "cosine: squares too small or too large for the dtype",
      "        X = X / np.maximum(np.abs(X).max(axis=-1, keepdims=True), tiny)\n", ""),
    M("np.embedding.cosine_similarity", "invariant", "cosine: one size for all rows",
      "np.abs(X).max(axis=-1, keepdims=True)", "np.abs(X).max()"),
    M("np.embedding.cosine_similarity", "twin", "cosine: a row of zeros divided by zero",
      "np.maximum(size, tiny)", "size"),
    M("np.embedding.nearest", "twin invariant", "nearest: worst first",
      "np.argsort(-similarity", "np.argsort(similarity"),
    M("np.embedding.nearest", "twin invariant", "nearest: excluded rows stay",
      "order = order[~np.isin(order, left_out)]", "pass"),
    M("np.embedding.sgns_backward", "slope twin", "skip-gram: drawn words pulled, not pushed",
      "ds = float(dL) / len(centres) * sign * pull", "ds = float(dL) / len(centres) * pull"),
    M("np.embedding.sgns_backward", "slope twin", "skip-gram: σ(z) for σ(−z)",
      "-np.exp(-np.logaddexp(0, z))", "-np.exp(-np.logaddexp(0, -z))"),
    M("np.embedding.sgns_backward", "slope twin", "skip-gram: gradient not divided by the pairs",
      "float(dL) / len(centres) * sign", "float(dL) * sign"),
    M("np.embedding.sgns_forward + sgns_backward", "twin invariant", "skip-gram: mean over the drawn words too",
      "L = np.logaddexp(0, -z).sum() / len(centres)", "L = np.logaddexp(0, -z).sum() / z.size",
      "float(dL) / len(centres) * sign", "float(dL) / z.size * sign"),
    M("np.embedding.sgns_backward + PatchEmbeddingCache", "slope twin", "skip-gram: a word drawn twice counts once",
      "scatter_add_forward(dw, others, V)", "_once(dw, others, V), None",
      "class PatchEmbeddingCache",
      "def _once(dw, ids, size):\n"
      "    Z = np.zeros((size, dw.shape[-1]), dw.dtype)\n"
      "    Z[ids] += dw\n"
      "    return Z\n\n\n"
      "class PatchEmbeddingCache"),
    M("np.embedding.sgns_forward", "invariant", "skip-gram: log(1 + e^−z) overflows",
      "np.logaddexp(0, -z).sum()", "np.log(1 + np.exp(-z)).sum()"),
    M("np.embedding.patch_embedding_forward", "slope twin invariant", "patches: bias forgotten",
      "linear_forward(squares, W, b)", "linear_forward(squares, W, 0 * b)"),
    M("np.embedding.patch_embedding_backward", "slope twin invariant", "patches: height and width exchanged on the way back",
      "patchify_backward(dsquares, cache.patches)",
      "patchify_backward(dsquares, cache.patches._replace(height=cache.patches.width, "
      "width=cache.patches.height)).reshape(\n"
      "        *dsquares.shape[:-2], cache.patches.height, cache.patches.width, -1)"),
    M("np.embedding.patch_embedding_backward", "slope twin invariant", "patches: the images get no gradient",
      "return patchify_backward", "return 0 * patchify_backward"),
    M("np.embedding.init_embedding", "invariant", "init: standard deviation 1/d",
      "scale=1 / math.sqrt(d), size=(V, d)", "scale=1 / d, size=(V, d)"),
    M("np.embedding.init_sgns", "invariant", "init: skip-gram within ±1/d",
      "rng.uniform(-0.5 / d, 0.5 / d", "rng.uniform(-1 / d, 1 / d"),
    M("np.embedding.cosine_similarity", "invariant", "cosine: vectors of any width let in",
      'V: Float[Array, "m d"]', 'V: Float[Array, "m _"]'),
    M("np.embedding.sgns_forward", "invariant", "skip-gram: the mean of no pair",
      '    not_empty("sgns", centres=centres)\n', ""),
    M("np.embedding.sgns_forward", "invariant", "skip-gram: ids below 0 let in", ", contexts=contexts", ""),
    M("np.embedding.nearest", "invariant", "nearest: rows that are not there may be excluded",
      '    ids_below("nearest", len(vectors), exclude=left_out)\n', ""),
    # pt.embedding
    M("pt.embedding.embedding", "twin invariant", "scale forgotten",
      "return scale * F.embedding(ids, E)", "return F.embedding(ids, E)"),
    M("pt.embedding.sgns", "twin", "skip-gram: sign of the drawn words", "F.logsigmoid(-drawn)", "F.logsigmoid(drawn)"),
    M("pt.embedding.cosine_similarity", "twin", "cosine: one side not normalised",
      "unit(U) @", "U @"),
    M("pt.embedding.cosine_similarity", "invariant", "cosine: squares too small or too large for the dtype",
      "        X = X / X.abs().amax(dim=-1, keepdim=True).clamp(min=tiny)\n", ""),
    M("pt.embedding.nearest", "twin", "nearest: excluded rows stay", "similarity[list(exclude)] = -torch.inf", "pass"),
    M("pt.embedding.unembed", "twin invariant", "logits from the table in reverse",
      "    return X @ E.mT", "    return X @ E.flip(0).mT"),
    M("pt.embedding.patch_embedding", "twin invariant", "patches: bias forgotten",
      "linear(patchify(images, patch), W, b)", "linear(patchify(images, patch), W)"),
    M("pt.embedding.Embedding.unembed", "invariant", "module: not tied",
      "return unembed(X, self.E)", "return unembed(X, self.E.detach().flip(0))"),
]
