"""Inputs of the cases, and what runs or measures an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, kind_of

_isfinite = np.isfinite  # bound now: an answer that patches numpy changes no verdict


def softmax(S):
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def split(X, H):
    """(*B, n, H k) -> (*B, H, n, k)."""
    return np.swapaxes(X.reshape(*X.shape[:-1], H, X.shape[-1] // H), -3, -2)


def merge(Z):
    """(*B, H, n, k) -> (*B, n, H k)."""
    Z = np.swapaxes(Z, -3, -2)
    return Z.reshape(*Z.shape[:-2], Z.shape[-2] * Z.shape[-1])


def sizes(n, H):
    return lambda rng: {"n": n, "H": H}


def many_heads(rng):
    n = int(rng.integers(4, 8))
    return {"n": n, "H": n + int(rng.integers(1, 4))}


def weights(rng, d, d_m, H, d_k, d_v, d_o):
    shapes = {"W_q": (d, H * d_k), "W_k": (d_m, H * d_k), "W_v": (d_m, H * d_v), "W_o": (H * d_v, d_o)}
    return {name: rng.normal(size=shape) / np.sqrt(shape[0]) for name, shape in shapes.items()}


def some_of_each(rng, *shape):
    """A mask in which every row has a True and a False."""
    mask = rng.random(shape) < 0.5
    mask[..., 0], mask[..., -1] = True, False
    return mask


def layer(n, m, d, d_m, H, d_k, d_v, d_o, lead=(), mask=None):
    def make(rng):
        inputs = {"X": rng.normal(size=(*lead, n, d)), "M": rng.normal(size=(*lead, m, d_m))}
        inputs |= weights(rng, d, d_m, H, d_k, d_v, d_o) | {"H": H}
        if mask is not None:
            inputs["mask"] = some_of_each(rng, *mask, n, m)
        return inputs

    return make


def forward(X, M, W_q, W_k, W_v, W_o, H):
    """Used to make inputs."""
    Q, K, V = split(X @ W_q, H), split(M @ W_k, H), split(M @ W_v, H)
    A = softmax(Q @ K.mT / np.sqrt(Q.shape[-1]))
    return merge(A @ V) @ W_o, A


def gradients(n, m, d, d_m, H, d_k, d_v, d_o, lead=()):
    def make(rng):
        inputs = layer(n, m, d, d_m, H, d_k, d_v, d_o, lead)(rng)
        _, A = forward(**inputs)
        inputs.pop("H")
        return {"dO": rng.normal(size=(*lead, n, d_o)), **inputs, "A": A}

    return make


def verdicts_of(what, given, call):
    """0 for False and 1 for True for each x of `given`; None as soon as one is not attempted."""
    found = []
    for i, x in enumerate(given):
        said = call(x)
        if said is None or said is Ellipsis:
            return None
        if type(said) not in (bool, np.bool_):
            raise WrongAnswer(f"{what} {i}: returned {kind_of(said)}, expected True or False")
        found.append(int(said))
    return found


WEIGHTS = ("W_q", "W_k", "W_v", "W_o")


def _turned(rng, W, H):
    """Queries against keys, and values against W_o, turned within each head."""
    new = {name: x.copy() for name, x in W.items()}
    k, v = W["W_q"].shape[1] // H, W["W_v"].shape[1] // H
    for h in range(H):
        a, b = slice(h * k, (h + 1) * k), slice(h * v, (h + 1) * v)
        phi, psi = (np.eye(n) + 0.4 * rng.normal(size=(n, n)) / np.sqrt(n) for n in (k, v))
        new["W_q"][:, a] = W["W_q"][:, a] @ phi
        new["W_k"][:, a] = W["W_k"][:, a] @ np.linalg.inv(phi).T
        new["W_v"][:, b] = W["W_v"][:, b] @ psi
        new["W_o"][b] = np.linalg.inv(psi) @ W["W_o"][b]
    return new


def _wrongly_turned(rng, W, H):
    """The same turn for queries and keys, though it is no rotation."""
    k = W["W_q"].shape[1] // H
    phi = np.eye(k) + 0.5 * rng.normal(size=(k, k)) / np.sqrt(k)
    turned = {x: (split(W[x], H) @ phi) for x in ("W_q", "W_k")}
    return W | {x: merge(turned[x]) for x in turned}


def moved_heads(W, order, names=WEIGHTS):
    """The heads in another order, in some of the matrices."""
    blocks = {x: np.split(W[x], len(order), axis=0 if x == "W_o" else 1) for x in names}
    return W | {x: np.concatenate([blocks[x][h] for h in order], axis=0 if x == "W_o" else 1) for x in names}


def _changed(rng, W, H):
    new = W["W_v"].copy()
    new[0, -1] += 0.1
    return W | {"W_v": new}


def _another_order(rng, H):
    return np.roll(np.arange(H), int(rng.integers(1, H)))


def _columns_moved(rng, W, H):
    """Single columns, and rows of W_o, move on by one: across the borders of the heads."""
    return {x: np.roll(W[x], 1, axis=0 if x == "W_o" else 1) for x in WEIGHTS}


def _other_outputs(rng, W, H):
    return W | {"W_o": W["W_o"][:, ::-1].copy()}


PAIRS = {
    "turned": _turned,
    "moved": lambda rng, W, H: moved_heads(W, _another_order(rng, H)),
    "turned and moved": lambda rng, W, H: moved_heads(_turned(rng, W, H), _another_order(rng, H)),
    "wrongly turned": _wrongly_turned,
    "changed": _changed,
    "crossed": lambda rng, W, H: moved_heads(W, _another_order(rng, H), ("W_q", "W_k")),
    "W_o left behind": lambda rng, W, H: moved_heads(W, _another_order(rng, H), ("W_q", "W_k", "W_v")),
    "turned and crossed": lambda rng, W, H: moved_heads(_turned(rng, W, H), _another_order(rng, H), ("W_q", "W_k")),
}
PAIRS |= {"columns moved": _columns_moved, "other outputs": _other_outputs}
VERDICTS = ("different", "the same")


def pairs(d, H, d_k, d_v, d_o, kinds):
    """Pairs of parameters, one of each kind, in random order."""

    def make(rng):
        order = rng.permutation(len(kinds))
        first = [weights(rng, d, d, H, d_k, d_v, d_o) for _ in kinds]
        second = [PAIRS[kinds[i]](rng, W, H) for i, W in zip(order, first, strict=True)]
        return {x: np.stack([[a[x], b[x]] for a, b in zip(first, second, strict=True)]) for x in WEIGHTS} | {"H": H}

    return make


def call_same_layer(answer, inputs):
    given = [[{x: inputs[x][i, j] for x in WEIGHTS} for j in (0, 1)] for i in range(len(inputs["W_q"]))]
    return verdicts_of("pair", given, lambda pair: answer(*pair, inputs["H"]))


def grouped(d, H, G, d_k, d_v):
    return lambda rng: {"d": d, "H": H, "G": G, "d_k": d_k, "d_v": d_v}


def any_group(rng):
    d, G = int(rng.integers(20, 40)), int(rng.integers(2, 5))
    return {"d": d, "H": 3 * G, "G": G, "d_k": int(rng.integers(3, 9)), "d_v": int(rng.integers(9, 17))}


def any_unshared(rng):
    sizes = any_group(rng)
    return sizes | {"G": sizes["H"]}


def join_only(Z):
    return Z.reshape(*Z.shape[:-3], Z.shape[-2], Z.shape[-3] * Z.shape[-1])


def cut_only(X, H):
    return X.reshape(*X.shape[:-2], H, X.shape[-2], X.shape[-1] // H)


def deal(X, H):
    return np.moveaxis(X.reshape(*X.shape[:-1], X.shape[-1] // H, H), -1, -3)


def collect(Z):
    Z = np.moveaxis(Z, -3, -1)
    return Z.reshape(*Z.shape[:-2], Z.shape[-2] * Z.shape[-1])


def wired(cut, join):
    def layer(X, W_q, W_k, W_v, W_o, H):
        Q, K, V = (cut(X @ W, H) for W in (W_q, W_k, W_v))
        return join(softmax(Q @ K.mT / np.sqrt(Q.shape[-1])) @ V) @ W_o

    return layer


def _by_loop(X, W_q, W_k, W_v, W_o, H):
    O = 0
    for q, k, v, o in zip(*(np.split(W, H, axis=1) for W in (W_q, W_k, W_v)), np.split(W_o, H), strict=True):
        O = O + softmax(X @ q @ (X @ k).T / np.sqrt(q.shape[1])) @ (X @ v) @ o
    return O


def _first_head_for_all(X, W_q, W_k, W_v, W_o, H):
    return _by_loop(X, *(np.tile(W[:, : W.shape[1] // H], H) for W in (W_q, W_k, W_v)), W_o, H)


def _leaves_out_the_last(X, W_q, W_k, W_v, W_o, H):
    v = W_o.shape[0] // H
    return _by_loop(X, W_q, W_k, W_v, np.where(np.arange(len(W_o))[:, None] < (H - 1) * v, W_o, 0), H)


LAYERS = {
    "right": wired(split, merge),
    "right, as a loop": _by_loop,
    "merged without transpose": wired(split, join_only),
    "cut and merged without transpose": wired(cut_only, join_only),
    "dealt out": wired(deal, collect),
    "one projection for all": _first_head_for_all,
    "last head left out": _leaves_out_the_last,
}
PASSES = ("fails", "passes")


def layers(n, d, H, d_k, d_v, d_o, names):
    def make(rng):
        order = np.array([list(LAYERS).index(name) for name in names])
        return {"layers": rng.permutation(order), "X": rng.normal(size=(n, d)),
                **weights(rng, d, d, H, d_k, d_v, d_o), "H": H}

    return make


def orders_of(given, own, H):
    """By matrix, the order in which the blocks of its heads came; None where they are no longer its blocks."""
    found = {}
    for x in WEIGHTS:
        axis = 0 if x == "W_o" else 1
        whole = [block.tobytes() for block in np.split(own[x], H, axis=axis)]
        blocks = np.split(given[x], H, axis=axis) if np.shape(given[x]) == own[x].shape else []
        order = [whole.index(b.tobytes()) if b.tobytes() in whole else None for b in blocks]
        found[x] = None if not order or None in order else tuple(order)
    return found


def call_heads_can_move(answer, inputs):
    """The verdicts; where one is wrong, what the layer was called with says why."""
    own, H = {x: inputs[x] for x in WEIGHTS}, inputs["H"]
    names = [list(LAYERS)[i] for i in inputs["layers"]]

    def verdict(name):
        calls = []

        def layer(X, W_q, W_k, W_v, W_o, H):
            given = dict(zip(WEIGHTS, (np.asarray(W) for W in (W_q, W_k, W_v, W_o)), strict=True))
            calls.append(orders_of(given, own, H))
            return LAYERS[name](X, *given.values(), H)

        said = answer(layer, inputs["X"], *own.values(), H)
        moved = [orders for orders in calls if set(orders.values()) != {tuple(range(H))}]
        if type(said) in (bool, np.bool_) and bool(said) != name.startswith("right"):
            torn = next((o for o in moved if len(set(o.values())) > 1 or None in o.values()), None)
            if said and not moved:
                raise WrongAnswer("a wrong layer passes, and it was never called with its heads in another order")
            if not said and not moved:
                raise WrongAnswer("a right layer fails, and it was never called with its heads in another order")
            if not said and not torn:
                raise WrongAnswer("a right layer fails, though it was called with whole heads in another order")
            if not said:
                raise WrongAnswer("a right layer fails: it was called with the heads of " + ", ".join(
                    f"{x} in the order {list(order)}" if order else f"{x} torn apart" for x, order in torn.items()))
        return said

    return verdicts_of("layer", names, verdict)


def pruned(d, H, d_k, d_v, d_o, keep):
    return lambda rng: weights(rng, d, d, H, d_k, d_v, d_o) | {"H": H, "keep": list(keep)}


def memory(memory, layers, texts, H, G, d_k, d_v, bytes_each):
    return lambda rng: {"memory": memory, "layers": layers, "texts": texts, "H": H, "G": G, "d_k": d_k, "d_v": d_v,
                        "bytes_each": bytes_each}


def any_memory(rng):
    G = int(rng.integers(2, 6))
    return {"memory": int(rng.integers(10**8, 10**9)), "layers": int(rng.integers(5, 30)),
            "texts": int(rng.integers(3, 9)), "H": 7 * G, "G": G, "d_k": int(rng.integers(40, 60)),
            "d_v": int(rng.integers(70, 90)), "bytes_each": 2}


def any_text(rng):
    return any_memory(rng) | {"texts": 1}


def module_inputs(B, n, d, H):
    def make(rng):
        W = {x: rng.normal(size=(d, d)) / np.sqrt(d) for x in WEIGHTS}
        return {"d": d, "H": H, "X": rng.normal(size=(B, n, d)), **W, "dO": rng.normal(size=(B, n, d))}

    return make


def load_and_run(answer, inputs):
    """Build the module, give it our numbers, and return its output and the gradients behind it."""
    import torch

    d = inputs["d"]
    module = answer(d, inputs["H"])
    if module is None or module is Ellipsis:
        return None
    if not isinstance(module, torch.nn.Module):
        raise WrongAnswer(f"returned {kind_of(module)}, expected an nn.Module")
    module = module.double()
    found = dict(module.named_parameters())
    if missing := [x for x in WEIGHTS if x not in found]:
        told = ", ".join(f"{name} {tuple(x.shape)}" for name, x in found.items()) or "none at all"
        raise WrongAnswer(f"the parameter {missing[0]} is not found; named_parameters() gives {told}")
    if extra := sorted(set(module.state_dict()) - set(WEIGHTS)):
        raise WrongAnswer(f"state_dict() has {extra[0]} as well: expected W_q, W_k, W_v and W_o alone")
    for x in WEIGHTS:
        if tuple(found[x].shape) != (d, d):
            raise WrongAnswer(f"{x} has shape {tuple(found[x].shape)}, expected {(d, d)}")
    module.load_state_dict({x: inputs[x] for x in WEIGHTS})
    X = inputs["X"].clone().requires_grad_()
    O = module(X)
    if not isinstance(O, torch.Tensor):
        raise WrongAnswer(f"the module returned {kind_of(O)}, expected a tensor")
    if O.shape != X.shape or not O.requires_grad:
        return O, *(torch.zeros_like(inputs[x]) for x in ("X", *WEIGHTS))
    grads = torch.autograd.grad(O, (X, *(found[x] for x in WEIGHTS)), inputs["dO"], allow_unused=True)
    like = (X, *(found[x] for x in WEIGHTS))
    return O, *(torch.zeros_like(x) if g is None else g for g, x in zip(grads, like, strict=True))


def vocabulary(size, p):
    return lambda rng: {"size": size, "p": p}


INDUCTION = ("shape", "looks_at", "says")


def measure_induction(inputs, arrays):
    """Where the tokens of a second round look, and what the head says there."""
    size, p = inputs["size"], inputs["p"]
    W_q, W_k, W_v, W_o = arrays
    for name, W in zip(WEIGHTS, arrays, strict=True):
        if W.ndim != 2 or W.dtype.kind == "c" or max(W.shape) > 500 or not _isfinite(W).all():
            raise WrongAnswer(f"{name} has shape {W.shape}: expected a small matrix of finite numbers")
    if W_q.shape != W_k.shape or W_v.shape[1] != W_o.shape[0] or not W_q.shape[0] == W_v.shape[0] == 2 * size:
        raise WrongAnswer("the shapes do not fit: " + ", ".join(
            f"{name} {W.shape}" for name, W in zip(WEIGHTS, arrays, strict=True)) + f" for tokens of width {2 * size}")
    ids = np.tile(np.random.default_rng(size).permutation(size), 2)
    own = np.eye(size)[ids]
    X = np.concatenate([own, np.concatenate([np.zeros((1, size)), own[:-1]])], axis=1)
    S = np.where(np.tri(2 * size, dtype=bool), X @ W_q @ (X @ W_k).T / np.sqrt(W_q.shape[1]), -1e300)
    A, rows = softmax(S), np.arange(size, 2 * size)
    right = rows - size + 1
    looks_at = A[rows].argmax(axis=1)
    on_it = A[rows, right]
    if np.array_equal(looks_at, right) and not (on_it >= p - 1e-12).all():
        raise WrongAnswer(f"every token of the second round looks most at the right place, but one gives it only the "
                          f"weight {on_it.min():.4f}, expected at least {p:g}")
    O = A @ (X @ W_v) @ W_o
    says = O[rows].argmax(axis=1) if W_o.shape[1] == size else np.zeros(size, int)
    return np.array(O.shape), looks_at, says


def checkpoint(layout, d, H, d_k):
    def make(rng):
        shape = (3, H, d, d_k) if layout == "apart" else (3 * H * d_k, d)
        return {"W": rng.normal(size=shape), "H": H, "layout": layout}

    return make
