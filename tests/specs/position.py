# ruff: noqa: E501
"""Chapter 3 proved: tables of sinusoids, rows that are learned, biases on the scores, and rotations."""

import invariants
import numpy as np
import torch
from byhand.np import position as np_position
from invariants import near, normal, rng, same
from mutants import M
from proofs import habits, refusals
from twins import LEAD, Case, Spec


def only(*settings):
    """Cases without inputs: tables made from numbers."""
    return lambda rng: (Case(str(fixed), {}, fixed) for fixed in settings)


def positions_cases(width):
    def cases(rng):
        for rank, lead in LEAD.items():
            yield Case(f"rank {rank}", {"X": rng.normal(size=(*lead, 5, 4)), "P": rng.normal(size=(5, width))})

    return cases


# where the tokens of two sequences stand, as after padding on the left, or where several texts share a row
PLACES = [np.array([3, 0, 1, 9]), np.array([[0, 0, 1, 2], [4, 2, 0, 1]]), np.array([[[2, 0, 7]], [[0, 1, 2]]])]


def learned_cases(rng):
    for n, offset in ((7, 0), (3, 0), (3, 2), (1, 6)):
        yield Case(f"{n} from {offset}", {"table": rng.normal(size=(7, 4))}, {"n": n, "offset": offset})


def relative_cases(rng):
    for reach, fixed in ((2, {"n": 5}), (1, {"n": 6, "m": 4}), (4, {"n": 3}), (2, {"n": 3, "offset": 4}),
                         (3, {"n": 2, "m": 7, "offset": 1}), (0, {"n": 4})):
        yield Case(f"reach {reach}, {fixed}", {"table": rng.normal(size=(3, 2 * reach + 1))}, fixed)
    for places in PLACES:
        fixed = {"n": places.shape[-1], "positions": places}
        yield Case(f"positions {places.shape}", {"table": rng.normal(size=(3, 5))}, fixed)


def rope_cases(rng):
    for rank, lead in LEAD.items():
        for pairs in (True, False):
            X = {"X": rng.normal(size=(*lead, 5, 6))}
            yield Case(f"rank {rank}, {pairs}", X, {"offset": rank, "interleaved": pairs, "rope_theta": 100.0})
            yield Case("positions given", X, {"positions": np.array([3, 0, 1, 1, 9]), "interleaved": pairs})
    each = rng.integers(0, 50, size=(3, 1, 5))
    yield Case("each sequence its own", {"X": rng.normal(size=(3, 2, 5, 6))}, {"positions": each})
    yield Case("each its own, later", {"X": rng.normal(size=(3, 2, 5, 6))}, {"positions": each, "offset": 2})


TWINS = [
    Spec("position", "frequencies", only({"d": 6}, {"d": 10, "base": 50.0})),
    Spec("position", "sinusoidal_at", only({"positions": np.array([4, 0, 7]), "d": 6}, {"positions": np.array([[1, 3], [2, 9]]), "d": 4, "base": 50.0})),
    Spec("position", "sinusoidal", only({"n": 9, "d": 6}, {"n": 5, "d": 8, "base": 100.0, "offset": 3})),
    Spec("position", "shift_matrix", only({"delta": 7, "d": 6}, {"delta": -2.5, "d": 8, "base": 100.0})),
    Spec("position", "add_positions", positions_cases(4)),
    Spec("position", "concat_positions", positions_cases(3)),
    Spec("position", "learned_positions", learned_cases),
    Spec("position", "relative_bias", relative_cases),
    Spec("position", "alibi_slopes", only(*({"H": H} for H in (1, 2, 3, 6, 8, 12, 20)))),
    Spec("position", "alibi_bias", only({"H": 8, "n": 4}, {"H": 6, "n": 3, "m": 5}, {"H": 4, "n": 2, "offset": 3},
                                               *({"H": 2, "n": p.shape[-1], "positions": p, "offset": 2} for p in PLACES))),
    Spec("position", "rope", rope_cases),
    Spec("position", "interleave_permutation", only({"d": 2}, {"d": 8})),
]


def sinusoids_by_loops(module):
    wave = (np.sin, np.cos)
    loops = [[wave[k % 2](p / 10000 ** (2 * (k // 2) / 12)) for k in range(12)] for p in range(9)]
    near(module.sinusoidal(9, 12), loops, "sinusoids")
    same(module.sinusoidal(5, 12, offset=4), module.sinusoidal(9, 12)[4:], "sinusoids from an offset")
    picked = np.array([[8, 1], [0, 3]])
    at = module.sinusoidal_at(torch.tensor(picked) if module.__name__.startswith("byhand.pt") else picked, 12)
    same(at, module.sinusoidal(9, 12)[picked], "sinusoids of some positions")


def a_shift_is_a_rotation(module):
    """PE(p + 7) = PE(p) M_7 for every p; shifts add up, and what is turned keeps its length."""
    PE, shift = module.sinusoidal(40, 12), lambda delta: module.shift_matrix(delta, 12)
    near(PE[7:], PE[:-7] @ shift(7), "PE(p + 7) and PE(p) M_7")
    near(shift(2) @ shift(5), shift(7), "M_2 M_5 and M_7")
    near(shift(3) @ shift(3).T, np.eye(12), "M Mᵀ and I")
    near((PE @ PE.T)[1:, 1:], (PE @ PE.T)[:-1, :-1], "products at the same distance")


def positions_are_added_or_put_beside(module):
    X, P = normal(3, 2, 5, 4), normal(5, 4)
    same(module.add_positions_forward(X, P)[0], X + P, "X + P")
    same(module.concat_positions_forward(X, P)[0][1, 1], np.hstack([X[1, 1], P]), "[X, P]")


def learned_rows_are_rows(module):
    table = normal(7, 4)
    same(module.learned_positions_forward(table, 3, 2)[0], table[2:5], "rows 2 to 4")


def relative_bias_by_loops(module):
    table = normal(2, 5)
    loops = [[[table[h, min(max(j - i - 3, -2), 2) + 2] for j in range(9)] for i in range(4)] for h in range(2)]
    same(module.relative_bias_forward(table, 4, 9, 3)[0], loops, "the bias of 4 queries that stand at 3 to 6")
    whole = module.relative_bias_forward(table, 7)[0]
    same(module.relative_bias_forward(table, 3, offset=4)[0], whole[:, 4:], "the last rows")


def each_sequence_has_its_own_positions(module):
    """Rows of a batch get what each would get alone, and positions 0 to n − 1 are what stands there if none are given.

    In a rotation an axis for heads stands between; positions that are all moved by one step change no bias.
    """
    places, X, table = np.array([[0, 0, 1, 2], [4, 2, 0, 1], [0, 1, 2, 3]]), normal(3, 2, 4, 6), normal(2, 5)
    Y, _ = module.rope_forward(X, places[:, None])
    bias, _ = module.relative_bias_forward(table, 4, positions=places)
    alibi = module.alibi_bias(2, 4, positions=places)
    for b, p in enumerate(places):
        same(Y[b], module.rope_forward(X[b], p)[0], f"rotations of sequence {b}")
        loops = [[[table[h, min(max(p[j] - p[i], -2), 2) + 2] for j in range(4)] for i in range(4)] for h in range(2)]
        same(bias[b], loops, f"relative bias of sequence {b}")
        loops = [[[-(2.0 ** (-4 * h)) * abs(p[j] - p[i]) for j in range(4)] for i in range(4)] for h in (1, 2)]
        same(alibi[b], loops, f"ALiBi of sequence {b}")
    same(bias[2], module.relative_bias_forward(table, 4)[0], "relative bias of 0 to 3")
    same(alibi[2], module.alibi_bias(2, 4), "ALiBi of 0 to 3")
    same(module.alibi_bias(2, 4, positions=places + 1), alibi, "ALiBi, moved by one")
    same(module.rope_forward(X, places[:, None] + 3)[0], module.rope_forward(X, places[:, None], 3)[0], "offset")


def alibi_as_published(module):
    """Slopes for 1, 2, 8, 12 and 6 heads (Press et al. 2022), and the bias by loops."""
    eight = [2.0**-k for k in range(1, 9)]
    published = {1: [2**-8], 2: [2**-4, 2**-8], 8: eight, 12: eight + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5],
                 6: [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]}
    for H, slopes in published.items():
        same(module.alibi_slopes(H), slopes, f"slopes of {H} heads")
    loops = [[[-(0.5 ** (h + 1)) * abs(i + 2 - j) for j in range(6)] for i in range(3)] for h in range(8)]
    same(module.alibi_bias(8, 3, 6, 2), loops, "the bias of 3 queries that stand at 2 to 4")


def rope_knows_only_the_distance(module):
    q, k = normal(1, 8), normal(1, 8)[:, ::-1].copy()
    for pairs in (True, False):
        def turned(x, p):
            return module.rope_forward(x, np.array([p]), interleaved=pairs)[0]  # noqa: B023

        def score(m, n):
            return (turned(q, m) @ turned(k, n).T).item()  # noqa: B023

        for m in (9, 105, 1000):
            near(score(m, m - 5), score(5, 0), "scores five apart", 1e-11)
        assert abs(score(3, 5) - score(5, 3)) > 1e-3, "before and after look alike"


def rope_turns(module):
    """Each pair is a complex number times e^(i p ω); lengths stay; the backward turns back; position 0 stays."""
    X = normal(2, 3, 5, 8)
    turned = (X[..., ::2] + 1j * X[..., 1::2]) * np.exp(1j * np.arange(2, 7)[:, None] * 10000 ** (-np.arange(4) / 4))
    Y, _ = module.rope_forward(X, offset=2)
    near(Y[..., ::2] + 1j * Y[..., 1::2], turned, "RoPE and complex numbers")
    for pairs in (True, False):
        Y, cache = module.rope_forward(X, offset=11, interleaved=pairs)
        near(np.linalg.norm(Y, axis=-1), np.linalg.norm(X, axis=-1), "lengths")
        near(module.rope_backward(Y, cache), X, "turned there and back")
        same(module.rope_forward(X, np.arange(11, 16), interleaved=pairs)[0], Y, "offset and positions")
        same(module.rope_forward(X, interleaved=pairs)[0][..., 0, :], X[..., 0, :], "position 0")


def a_permutation_joins_the_two_pairings(module):
    X, pi = normal(5, 8), module.interleave_permutation(8)
    same(module.rope_forward(X, offset=2)[0][..., pi],
         module.rope_forward(X[..., pi], offset=2, interleaved=False)[0], "the two pairings")


def rope_is_exact_far_out(module):
    """At 100,000 a float32 angle would be off by a hundredth of a radian."""
    X = normal(3, 8)
    exact = np_position.rope_forward(X, offset=100_000)[0]
    if module.__name__.startswith("byhand.np"):
        far = module.rope_forward(X.astype(np.float32), offset=100_000)[0]
    else:
        far = module.rope(torch.tensor(X, dtype=torch.float32), offset=100_000).numpy()
    assert far.dtype == np.float32
    near(far, exact, "float32 and float64", 2e-6)


def narrow_positions_do_not_run_over(module):
    """The last numbers that int32 holds, with a first place added and taken away."""
    last, X = torch.tensor([0, (1 << 31) - 1]), torch.tensor(normal(2, 4))
    for call in (lambda p: module.rope(X, p, 3), lambda p: module.alibi_bias(2, 2, None, (1 << 31) - 1, p)):
        same(call(last.int()), call(last), "positions in int32 and in int64")


def tables_start_small_or_zero(module):
    table = module.init_learned_positions(rng(), 300, 200)["table"]
    assert table.shape == (300, 200) and table.dtype == np.float32
    near(table.std(), 0.02, "standard deviation", 2e-4)
    same(module.init_relative_bias(3, 4)["table"], np.zeros((3, 9)), "the bias before training")


# The PyTorch half


def modules_are_their_functions(module):
    """What the modules read of their tables, and what comes back to them, against the NumPy half."""
    for net, name, calls in ((module.LearnedPositions(7, 4), "learned_positions", [(3,), (3, 2)]),
                             (module.RelativeBias(3, 2), "relative_bias", [(4,), (4, 6), (3, 7, 1),
                                                                   (4, None, 0, PLACES[1])])):
        assert list(net.state_dict()) == ["table"]
        assert net.table.any() == (name == "learned_positions")  # the bias starts at zero
        torch.nn.init.normal_(net.double().table, generator=torch.Generator().manual_seed(1))
        for call in calls:
            net.zero_grad()
            expected, cache = getattr(np_position, f"{name}_forward")(net.table.detach().numpy(), *call)
            out, dOut = net(*map(to_torch, call)), normal(*expected.shape)
            same(out.detach(), expected, f"{name}{call}")
            out.backward(torch.tensor(dOut))
            near(net.table.grad, getattr(np_position, f"{name}_backward")(dOut, cache), f"{name}{call}, dtable")
    near(module.LearnedPositions(300, 200).table.detach().std(), 0.02, "standard deviation", 2e-4)


def runs_on_any_device(module):
    invariants.runs_on_any_device(module, TWINS)


WRONG = [
    ("sinusoidal", ValueError, "d is 5, expected a multiple of 2", 3, 5),
    ("sinusoidal", ValueError, "offset is -1", 3, 4, 10000.0, -1),
    ("learned_positions_forward", ValueError, "last_position is 8, expected less than the 7 rows of table",
     normal(7, 4), 3, 6),
    ("relative_bias_forward", ValueError, r"table has shape \(2, 4\), expected \(2, 5\)", normal(2, 4), 3),
    ("add_positions_forward", ValueError, r"P has shape \(5, 1\), expected \(5, 4\)", normal(3, 5, 4), normal(5, 1)),
    ("concat_positions_forward", ValueError, r"P has shape \(3, 2\), expected \(5, 2\)", normal(3, 5, 4), normal(3, 2)),
    *((name, ValueError, rf"{name.removesuffix('_forward')}: offset is {1 << 53}, expected less than 2147483648$", *given, 1 << 53) for name, *given in (
        ("sinusoidal", 3, 4, 10000.0), ("learned_positions_forward", normal(7, 4), 3), ("alibi_bias", 2, 3, 3),
        ("relative_bias_forward", normal(2, 5), 3, 3), ("rope_forward", normal(2, 4), None))),
    ("rope_forward", ValueError, "rope_theta is 1e-300, expected at least 1e-280", normal(3, 64), None, 0, 1e-300),
    *((name, ValueError, "base is 1e-300, expected at least 1e-280", *given, 1e-300) for name, *given in (("sinusoidal", 3, 4), ("frequencies", 4))),
    ("rope_forward", ValueError, "d is 5", normal(3, 5)),
    ("rope_forward", ValueError, "positions holds -1", normal(2, 4), np.array([-1, 0])),
    ("rope_forward", ValueError, "shape of positions is", normal(2, 4), np.arange(3)),
    ("rope_forward", ValueError, r"shape of positions is \(3, 1\), expected a shape that repeats to \(3, 5\)",
     normal(3, 5, 4), np.arange(3)[:, None]),
    ("rope_forward", ValueError, r"shape of positions is \(3, 5\)", normal(5, 4), np.ones((3, 5), int)),
    ("alibi_bias", ValueError, "m is 5, expected 4", 2, 4, 5, 0, np.arange(4)),
    ("alibi_bias", ValueError, r"positions has shape \(4,\), expected \(5,\)", 2, 5, None, 0, np.arange(4)),
    ("alibi_bias", ValueError, "positions holds -1", 2, 2, None, 0, np.array([0, -1])),
    ("relative_bias_forward", ValueError, "positions holds -1", normal(2, 5), 2, None, 0, np.array([0, -1])),
    ("relative_bias_forward", TypeError, "positions has dtype .*float64", normal(2, 5), 2, None, 0, np.ones(2)),
]


def to_torch(x):
    return torch.tensor(x) if isinstance(x, np.ndarray) else x


TORCH = [(name.removesuffix("_forward"), error, says, *map(to_torch, given))
         for name, error, says, *given in WRONG if "holds" not in says]  # a look at a value would wait for the GPU

INVARIANTS = {
    "np.position": [sinusoids_by_loops, a_shift_is_a_rotation, positions_are_added_or_put_beside,
                    learned_rows_are_rows, relative_bias_by_loops, alibi_as_published,
                    each_sequence_has_its_own_positions, rope_knows_only_the_distance,
                    rope_turns, a_permutation_joins_the_two_pairings, rope_is_exact_far_out,
                    tables_start_small_or_zero, *habits(TWINS), refusals(*WRONG)],
    "pt.position": [modules_are_their_functions, rope_is_exact_far_out, narrow_positions_do_not_run_over, runs_on_any_device, refusals(*TORCH)],
}

WRONG = [
    M("np.position.frequencies", "twin invariant", "sinusoids: base 1,000",
      "base ** (-2 * np.arange(d // 2) / d)", "(base / 10) ** (-2 * np.arange(d // 2) / d)"),
    M("np.position.frequencies", "twin invariant", "sinusoids: 2i doubled",
      "base ** (-2 * np.arange(d // 2) / d)", "base ** (-4 * np.arange(d // 2) / d)"),
    *(M(f"{half}.position.frequencies", "invariant", "angles that are no number", "base: Base", "base: float") for half in ("np", "pt")),
    M("np.position.sinusoidal", "twin invariant", "sinusoids: counted from one",
      ", offset + n", " + 1, offset + n + 1"),
    M("np.position.sinusoidal_at", "twin invariant", "sinusoids: all sines, then all cosines",
      "stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(*positions.shape, d",
      "concatenate([np.sin(angle), np.cos(angle)], axis=-1"),
    M("np.position.shift_matrix", "twin invariant", "shift: the rotation of the column convention",
      "np.sin(angle)\n    M[even, odd] = -", "-np.sin(angle)\n    M[even, odd] = "),
    M("np.position.add_positions_forward", "slope twin invariant", "add: the positions forgotten",
      "return add_forward(X, P)", "return add_forward(X, 0 * P)"),
    M("np.position.concat_positions_forward + concat_positions_backward", "twin invariant", "concat: positions first",
      "np.concatenate([X, P], axis=-1)", "np.concatenate([P, X], axis=-1)",
      "dY[..., :d], dY[..., d:]", "dY[..., -d:], dY[..., :-d]"),
    M("np.position.concat_positions_backward", "slope twin", "concat: dP taken from the first features",
      "dY[..., :d], dY[..., d:]", "dY[..., -d:], dY[..., :-d]"),
    M("np.position.concat_positions_backward", "slope twin", "concat: dP of one sequence only",
      "unbroadcast(dP, dP.shape[-2:])", "dP.reshape(-1, *dP.shape[-2:])[0]"),
    M("np.position.learned_positions_forward", "twin invariant", "learned: offset forgotten", "offset, offset + ", ""),
    M("np.position.learned_positions_backward", "slope twin", "learned: gradient of rows counted from zero",
      "return gather_backward(dP, cache)", "return gather_backward(dP, cache._replace(ids=cache.ids - cache.ids[0]))"),
    M("np.position.relative_bias_forward", "twin invariant", "relative: query minus key",
      "away = _distance", "away = -_distance"),
    M("np.position._distance", "twin invariant", "positions: ignored", "if positions is None:", "if True:"),
    M("np.position._distance", "twin invariant", "positions: of the first sequence, for all",
      "    return positions[",
      "    positions = np.broadcast_to(positions[(0,) * (positions.ndim - 1)], positions.shape)\n    return positions["),
    M("np.position._distance", "twin", "positions: offset forgotten", " - positions[..., None] - offset",
      " - positions[..., None]"),
    M("np.position._distance", "invariant", "positions: for another number of keys",
      "if m not in (None, n):", "if False:"),
    M("np.position._distance", "invariant", "positions: negative ones let in",
      "    ids_below(where, FAR, positions=positions)\n", ""),
    M("np.position.relative_bias_forward", "slope twin invariant", "relative: heads put first of all",
      "np.moveaxis(rows, -1, -3)", "np.moveaxis(rows, -1, 0)"),
    M("np.position.relative_bias_backward", "slope twin invariant", "relative: each diagonal's mean for its sum",
      "return dtable.mT", "return dtable.mT / np.maximum(np.bincount(cache.ids.ravel(), minlength=cache.r), 1)"),
    M("np.position.relative_bias_backward", "slope twin", "relative: gradient of the first sequence only",
      "np.moveaxis(dB, -3, -1)", "np.moveaxis(dB[(0,) * (dB.ndim - 3)], -3, -1)",
      "rows, cache.ids", "rows, cache.ids[(0,) * (dB.ndim - 3)]"),
    M("np.position._distance", "twin invariant", "relative: offset forgotten in every bias", "offset, offset + ", ""),
    M("np.position.alibi_bias", "twin invariant", "ALiBi: the future is free",
      "abs(distance)", "maximum(-distance, 0)"),
    M("np.position.alibi_bias", "twin invariant", "ALiBi: a slope for each query, not for each head",
      "np.abs(distance)[..., None, :, :]", "np.abs(distance)[..., None, :]"),
    M("np.position.alibi_slopes", "twin invariant", "ALiBi: the formula for powers of two with any H",
      "np.concatenate([slopes, between[: H - whole]]", "2.0 ** (-8 * np.arange(1, H + 1) / H"),
    M("np.position.rope_backward", "slope twin invariant", "RoPE: backward turns forward again",
      ", -cache.sin", ", cache.sin"),
    M("np.position._rotate", "slope twin invariant", "RoPE: no rotation, both signs alike",
      "Y[a] = X[a] * cos - X[b] * sin", "Y[a] = X[a] * cos + X[b] * sin"),
    M("np.position._rotate", "twin invariant", "RoPE: turned the other way",
      "- X[b] * sin\n    Y[b] = X[a] * sin + X[b] * cos", "+ X[b] * sin\n    Y[b] = X[b] * cos - X[a] * sin"),
    M("np.position.rope_forward", "twin invariant", "RoPE: offset restarts at 0", "(positions + offset)", "positions"),
    M("np.position.rope_forward", "twin invariant", "RoPE: positions ignored",
      "if positions is None else positions", ""),
    M("np.position.rope_forward", "twin invariant", "RoPE: positions of the first sequence, for all",
      "angle = (positions + offset)", "angle = (positions[(0,) * (positions.ndim - 1)] + offset)"),
    M("np.position.rope_forward", "twin invariant", "RoPE: every position doubled by its square",
      "(positions + offset)", "((positions + offset) ** 2)"),
    M("np.position._rotate", "twin invariant", "RoPE: the two pairings exchanged",
      "if interleaved:", "if not interleaved:"),
    M("np.position.rope_forward", "invariant", "RoPE: angles in float32",
      "[..., None] * omega", "[..., None].astype(X.dtype) * omega.astype(X.dtype)"),
    M("np.position.rope_forward", "invariant", "RoPE: the cosine kept in float64",
      "np.cos(angle).astype(X.dtype)", "np.cos(angle)"),
    M("np.position._rotate", "slope twin invariant", "RoPE: turned in the caller's array",
      "Y = np.empty_like(X)\n    Y[a] = X[a] * cos - X[b] * sin\n    Y[b] = X[a] * sin + X[b] * cos\n    return Y",
      "X[a], X[b] = X[a] * cos - X[b] * sin, X[a] * sin + X[b] * cos\n    return X"),
    M("np.position._rotate", "invariant", "RoPE: features read in memory order",
      "    half = X.shape[-1] // 2\n", "    X = X.ravel(order='K').reshape(X.shape)\n    half = X.shape[-1] // 2\n"),
    M("np.position.rope_forward", "invariant", "RoPE: positions for other tokens let in",
      'Int[Array, "*#B n"]', 'Int[Array, "..."]'),
    M("np.position.rope_forward", "invariant", "RoPE: one position for all tokens let in", '"*#B n"', '"*#B #n"'),
    M("np.position.interleave_permutation", "twin invariant", "permutation: the inverse one",
      "concatenate([np.arange(0, d, 2), np.arange(1, d, 2)]",
      "argsort(np.concatenate([np.arange(0, d, 2), np.arange(1, d, 2)])"),
    M("np.position.init_learned_positions", "invariant", "init: positions as large as the tokens",
      "rng.normal(scale=0.02,", "rng.normal(scale=1,"),
    M("pt.position.sinusoidal_at", "twin", "sinusoids: all sines, then all cosines",
      "stack([angle.sin(), angle.cos()], dim=-1).flatten(-2", "cat([angle.sin(), angle.cos()], dim=-1"),
    M("pt.position.shift_matrix", "twin", "shift: the rotation of the column convention",
      "[cos, -sin, sin, cos]", "[cos, sin, -sin, cos]"),
    M("pt.position.frequencies", "twin invariant", "frequencies: base 1,000",
      "base ** (-2 * torch", "(base / 10) ** (-2 * torch"),
    M("pt.position.add_positions", "twin", "add: the positions forgotten", "return add(X, P)", "return add(X, 0 * P)"),
    M("pt.position.concat_positions", "twin", "concat: positions first",
      "X, P.expand(*X.shape[:-1], -1)", "P.expand(*X.shape[:-1], -1), X"),
    M("pt.position.interleave_permutation", "twin", "permutation: none",
      "reshape(-1, 2).mT.reshape(-1)", "reshape(-1, 2).reshape(-1)"),
    M("pt.position.learned_positions", "twin invariant", "learned: offset forgotten",
      "return table[offset : offset + n]", "return table[:n]"),
    M("pt.position.relative_bias", "twin invariant", "relative: query minus key",
      'away = _distance(', 'away = -_distance('),
    M("pt.position.rope", "twin invariant", "RoPE: pairs exchanged",
      "if interleaved else X.chunk(2, dim=-1)", "if not interleaved else X.chunk(2, dim=-1)"),
    M("pt.position.alibi_slopes", "twin", "ALiBi: between slopes start one late",
      "1 + 2 * torch.arange(H - whole)", "3 + 2 * torch.arange(H - whole)"),
    M("pt.position.rope", "invariant", "RoPE: angles in float32",
      "[..., None] * frequencies(X.shape[-1], rope_theta, X.device)",
      "[..., None].to(X.dtype) * frequencies(X.shape[-1], rope_theta, X.device).to(X.dtype)"),
    M("pt.position.sinusoidal", "invariant", "sinusoids: made on the CPU, whatever was asked", ", device=device", ""),
    M("pt.position.LearnedPositions.forward", "invariant", "module: offset forgotten", ", n, offset)", ", n)"),
    M("pt.position.RelativeBias.forward", "invariant", "module: number of keys forgotten",
      ", m, offset, positions)", ", None, offset, positions)"),
    M("pt.position.RelativeBias.__init__", "invariant", "module: the bias starts at random",
      "nn.Parameter(torch.zeros(H, 2 * max_distance + 1))", "nn.Parameter(torch.randn(H, 2 * max_distance + 1))"),
    M("pt.position.rope", "invariant", "RoPE: positions for other tokens let in",
      'Int[Tensor, "*#B n"]', 'Int[Tensor, "..."]'),
    M("pt.position.rope", "twin", "RoPE: positions of the first sequence, for all",
      "positions.long() + offset", "positions[(0,) * (positions.ndim - 1)].long() + offset"),
    M("pt.position.rope", "invariant", "RoPE: positions run over the end of int32", "positions.long() + offset", "positions + offset"),
    M("pt.position._distance", "invariant", "positions: distances run over the end of int32", "positions.long()[", "positions["),
    M("pt.position._distance", "twin invariant", "positions: of the first sequence, for all",
      "    return positions.long()[",
      "    positions = positions[(0,) * (positions.ndim - 1)].expand_as(positions)\n    return positions["),
    M("pt.position.RelativeBias.forward", "invariant", "module: positions ignored", ", offset, positions)", ", offset)"),
]
