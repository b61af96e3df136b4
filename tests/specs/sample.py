# ruff: noqa: E501
"""From logits to the next word, both halves: filters against their definitions, draws against probabilities."""

import itertools
import math

import numpy as np
import torch
from byhand import tree
from invariants import near, normal, raises, same
from mutants import M
from proofs import as_shipped


def call(module, name, *args, **options):
    """A function of either half, named as in np; arrays go in and come out."""
    if ".np." in module.__name__:
        return getattr(module, name)(*args, **options)
    args, options = [in_torch(x) for x in args], {key: in_torch(x) for key, x in options.items()}
    return in_numpy(getattr(module, name.removesuffix("_forward"))(*args, **options))


def in_torch(x):
    if isinstance(x, np.ndarray):
        return torch.tensor(x)
    if type(x) is dict:
        return tree.map_tree(in_torch, x)
    return [in_torch(y) for y in x] if type(x) is list else x


def in_numpy(x):
    if isinstance(x, torch.Tensor):
        return x.numpy()
    return type(x)(map(in_numpy, x)) if type(x) in (list, tuple) else x


def refused(module, *rows):
    """Each row (function, error, what it says, *arguments) is refused in the library's own words."""
    with as_shipped():
        for name, error, says, *args in rows:
            raises(error, says, lambda name=name, args=args: call(module, name, *args))


# Logits with equal ones among them, and words that may not come.
WHOLE = np.random.default_rng(3).integers(-2, 3, size=(40, 7)).astype(float)
WHOLE[5:9, ::2], WHOLE[9, 1:] = -np.inf, -np.inf
WHOLE.flags.writeable = False  # a wrong filter may not spoil them for the next


def softmax(x):
    e = [math.exp(v - max(x)) for v in x]
    return np.array([v / sum(e) for v in e])


def order_of(x):
    """By the definition: the larger first, of equals the first."""
    return sorted(range(len(x)), key=lambda i: (-x[i], i))


def only(x, words):
    return np.array([v if i in words else -np.inf for i, v in enumerate(x)])


def top_k_is_its_definition(module):
    for k in range(1, 9):
        kept = call(module, "top_k", WHOLE, k)
        for x, row in zip(WHOLE, kept, strict=True):
            same(row, only(x, order_of(x)[:k]), f"top {k} of {x}")


def top_p_is_its_definition(module):
    """The shortest beginning of the order whose mass reaches p, at least one word long."""
    for p in (1e-9, 0.1, 0.3, 0.55, 0.8, 0.97, 1 - 1e-9):
        kept = call(module, "top_p", WHOLE, p)
        for x, row in zip(WHOLE, kept, strict=True):
            order, P = order_of(x), softmax(x)
            size = next(n for n in range(1, 8) if P[order[:n]].sum() >= p - 1e-15 or n == 7)
            same(row, only(x, order[:size]), f"nucleus of {p} of {x}")


def a_nucleus_known_by_hand(module):
    """1/2, 1/4, 1/8, 1/8: the word that crosses p belongs to it."""
    logits = np.log([[0.125, 0.5, 0.125, 0.25]])
    for p, words in ((0.4, {1}), (0.6, {1, 3}), (0.74, {1, 3}), (0.76, {0, 1, 3}), (0.88, {0, 1, 2, 3}), (1, {0, 1, 2, 3})):
        same(call(module, "top_p", logits, p)[0], only(logits[0], words), f"p = {p}")
    tail = np.array([0.0, -50.0, -1000.0])
    same(call(module, "top_p", tail, 1), tail, "p = 1, words beyond rounding,")


def a_nucleus_of_very_many_words(module):
    """A hundred thousand equal words in float32: their masses are added up in float64."""
    kept = call(module, "top_p", np.zeros(100_000, np.float32), 0.500005)
    assert (kept == 0).sum() == 50_001 and kept.dtype == np.float32 and not kept[:50_001].any()


def temperature_is_a_power_of_probabilities(module):
    x = normal(3, 5)
    for T in (0.25, 1.0, 3):
        P = np.array([softmax(row) for row in x]) ** (1 / T)
        got = call(module, "probabilities", call(module, "temperature", x, T))
        near(got, P / P.sum(axis=-1, keepdims=True), f"probabilities at T = {T}")
    cold = call(module, "probabilities", call(module, "temperature", x, 1e-4))
    same(cold.argmax(axis=-1), x.argmax(axis=-1), "at T near 0 and the largest")
    assert cold.max(axis=-1).min() > 1 - 1e-9


def probabilities_of_what_is_left(module):
    P = call(module, "probabilities", WHOLE)
    near(P, np.array([softmax(row) for row in WHOLE]), "probabilities")
    assert not P[WHOLE == -np.inf].any()
    big = np.array([1e4, 1e4, -np.inf, -1e4])
    same(call(module, "probabilities", big), np.array([0.5, 0.5, 0, 0]), "large logits")


def filters_follow_one_another(module):
    """What is gone stays gone, what stays keeps its logit, and filtering twice is filtering once."""
    for name, amount in (("top_k", 3), ("top_p", 0.6), ("temperature", 1.0)):
        once = call(module, name, WHOLE, amount)
        assert (once[WHOLE == -np.inf] == -np.inf).all() and ((once == WHOLE) | (once == -np.inf)).all()
        same(call(module, "top_k", once, 7), once, f"{name}, then top 7")
        if name != "top_p":  # what is left of a nucleus has more mass than it had
            same(call(module, name, once, amount), once, f"{name} twice")


def greedy_takes_the_first_of_the_largest(module):
    for x in (WHOLE, WHOLE[0], WHOLE.reshape(2, 20, 7)):
        words = call(module, "greedy", x)
        assert words.shape == x.shape[:-1] and words.dtype == np.int64
        same(words.reshape(-1), [order_of(row)[0] for row in x.reshape(-1, 7)], "greedy and first in order")


def each_word_has_its_share_of_u(module):
    """1000 u's side by side fall on each word in proportion to its probability, in the order of the words."""
    u = (np.arange(1000) + 0.5) / 1000
    for x in (*WHOLE[:12], np.array([0.0, -9, 3]), np.array([1e4, 9e3])):
        words = call(module, "sample", np.tile(x, (1000, 1)), u)
        assert (np.diff(words) >= 0).all() and words.dtype == np.int64
        near(np.bincount(words, minlength=len(x)) / 1000, softmax(x), "shares", 1 / 1000)


def a_draw_is_never_a_word_without_probability(module):
    """At both ends of [0, 1), and where rounding could make the sum of all probabilities less than u."""
    for x in ([-np.inf, 0, -np.inf], [-np.inf, 0.1, 0.2, 0.3, -np.inf], [-np.inf] + 50 * [0.1] + [-np.inf]):
        for dtype in (np.float64, np.float32):
            logits = np.array(x, dtype)
            first, last = (int(call(module, "sample", logits, np.array(u))) for u in (0.0, 1 - 2**-53))
            assert (first, last) == (1, len(x) - 2), f"words {first} and {last} of {len(x)}"


def choose_is_the_chain(module):
    u, everything = np.random.default_rng(4).random(40), itertools.product((0.5, 1.0, 2.0), (None, 1, 4), (None, 0.6))
    same(call(module, "choose", WHOLE, None, 0), call(module, "greedy", WHOLE), "T = 0 and greedy")
    same(call(module, "choose", WHOLE, None, 0.0, 1, 0.5), call(module, "greedy", WHOLE), "T = 0 and greedy")
    same(call(module, "choose", WHOLE, u), call(module, "sample", WHOLE, u), "no filter and sample")
    for T, k, p in everything:
        x = call(module, "temperature", WHOLE, T)
        x = x if k is None else call(module, "top_k", x, k)
        x = x if p is None else call(module, "top_p", x, p)
        same(call(module, "choose", WHOLE, u, T, k, p), call(module, "sample", x, u), f"T, k, p = {T, k, p}")


def the_coldest_draw_is_the_likeliest(module):
    """As T falls, the draw becomes `greedy`, down to where logits / T is too large for the dtype of the logits, or T
    is 0 in it."""
    half, logits = ".np." not in module.__name__, [[1.0, 90.0, 2.0, 89.0], [-70.0, -90.0, -np.inf, -80.0]]
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16) if half else (np.float64, np.float32):
        given = torch.tensor(logits, dtype=dtype) if half else np.array(logits, dtype)
        u = torch.tensor([0.3, 0.9]) if half else np.array([0.3, 0.9])
        for T in (1e-2, 1e-3, 1e-30, 1e-38, 1e-40, 1e-300, 5e-324):
            for k, p in ((None, None), (3, None), (None, 0.9)):
                with as_shipped():
                    drawn = module.choose(given, u, T, k, p).tolist()
                assert drawn == [1, 0], f"words {drawn} of {dtype} at T = {T}"


def float32_stays_and_inputs_are_left_alone(module):
    logits = WHOLE.astype(np.float32)
    logits.flags.writeable = ".np." not in module.__name__  # torch warns of an array that it may not write to
    before = logits.copy()
    for name, *amount in (("temperature", 2.0), ("top_k", 2), ("top_p", 0.5), ("top_p", 1), ("probabilities",)):
        given = in_torch(logits) if logits.flags.writeable else logits
        got = getattr(module, name)(given, *amount)
        assert in_numpy(got).dtype == np.float32
        same(in_numpy(given), before, f"logits before and after {name}")
    call(module, "sample", logits, np.full(40, 0.5))
    same(logits, before, "logits before and after sample")


X = np.zeros((2, 3))
ROWS = [
    ("temperature", TypeError, "temperature: logits has dtype (torch.)?int64, expected floating point", np.zeros((2, 3), int), 1.0),
    ("temperature", ValueError, "temperature: T is 0, expected a finite number greater than 0", X, 0),
    ("top_k", ValueError, "top_k: k is 0, expected at least 1", X, 0),
    ("top_k", TypeError, "top_k: k is float, expected a whole number", X, 2.0),
    ("top_p", ValueError, "top_p: p is 0, expected a finite number greater than 0 and at most 1", X, 0),
    ("top_p", ValueError, "top_p: p is 1.5, expected a finite number greater than 0 and at most 1", X, 1.5),
    ("greedy", ValueError, r"greedy: logits has shape \(2, 0\), expected at least 1 entry along the last axis", np.zeros((2, 0))),
    ("probabilities", ValueError, "probabilities: logits has 0 axes, expected at least 1", np.zeros(())),
    ("sample", ValueError, r"sample: u has shape \(3,\), expected \(2,\)", X, np.zeros(3)),
]


def wrong_input_is_refused_by_name(module):
    refused(module, *ROWS)


def wrong_values_are_refused_by_name(module):
    refused(
        module,
        ("greedy", TypeError, "greedy: logits is list, expected a NumPy array", [1.0]),
        ("greedy", ValueError, "greedy: logits holds nan at index", np.array([0, np.nan])),
        ("top_k", ValueError, "top_k: logits holds inf at index", np.array([0, np.inf]), 1),
        ("top_p", ValueError, "top_p: logits has a row of −∞ alone", np.array([[0, 1], [-np.inf, -np.inf]]), 0.5),
        ("sample", ValueError, "sample: u holds 1.0, expected at least 0 and less than 1", X, np.ones(2)),
        ("sample", ValueError, "sample: u holds -0.5, expected at least 0 and less than 1", X, np.array([0, -0.5])),
    )


BOTH = [top_k_is_its_definition, top_p_is_its_definition, a_nucleus_known_by_hand, a_nucleus_of_very_many_words,
        temperature_is_a_power_of_probabilities, probabilities_of_what_is_left, filters_follow_one_another,
        greedy_takes_the_first_of_the_largest, each_word_has_its_share_of_u, a_draw_is_never_a_word_without_probability,
        choose_is_the_chain, the_coldest_draw_is_the_likeliest, float32_stays_and_inputs_are_left_alone, wrong_input_is_refused_by_name]
INVARIANTS = {"np.sample": [*BOTH, wrong_values_are_refused_by_name], "pt.sample": BOTH}

WRONG = [
    M("np.sample.temperature", "invariant", "temperature multiplied",
      "return logits / T", "return logits * T"),
    M("np.sample.temperature", "invariant", "temperature applied to probabilities",
      "return logits / T", "return probabilities(logits) / T"),
    M("np.sample.temperature", "invariant", "temperature: a NumPy number makes float64",
      "return logits / T", "return logits / np.float64(T)"),
    M("np.sample.temperature", "invariant", "temperature written into the logits",
      "return logits / T", "logits /= T\n    return logits"),
    M("np.sample.top_k", "invariant", "top-k: one word too many", "rank < k", "rank <= k"),
    M("np.sample.top_k", "invariant", "top-k: every word equal to the k-th stays",
      "    _, rank = _ranked(logits)\n    return np.where(rank < k",
      "    return np.where(logits >= np.sort(logits)[..., ::-1][..., min(k, logits.shape[-1]) - 1, None]"),
    M("np.sample.top_k", "invariant", "top-k: taken out with 0, not −∞",
      "np.where(rank < k, logits, -np.inf)", "np.where(rank < k, logits, 0)"),
    M("np.sample._ranked", "invariant", "top-k: the least likely", "np.argsort(-logits", "np.argsort(logits"),
    M("np.sample._ranked", "invariant", "the order in place of the rank",
      "return order, np.argsort(order, axis=-1)", "return order, order"),
    M("np.sample._ranked", "invariant", "the last of equals first",
      "np.argsort(-logits, axis=-1, stable=True)", "np.argsort(logits, axis=-1, stable=True)[..., ::-1]"),
    M("np.sample.top_p", "invariant", "top-p: the word that crosses p dropped",
      "size = 1 + (mass < p)", "size = np.maximum(1, (mass <= p).sum(axis=-1, keepdims=True)) + 0 * (mass < p)"),
    M("np.sample.top_p", "invariant", "top-p: nothing at all may stay", "size = 1 + (mass < p)", "size = (mass <= p)"),
    M("np.sample.top_p", "invariant", "top-p: one word too many", "size = 1 + (mass < p)", "size = 2 + (mass < p)"),
    M("np.sample.top_p", "invariant", "top-p: mass in the order of the words",
      "np.take_along_axis(probabilities(logits), order, axis=-1", "probabilities(logits"),
    M("np.sample.top_p", "invariant", "top-p: words with less than p each",
      "rank < size,", "probabilities(logits) >= p,"),
    M("np.sample.top_p", "invariant", "top-p: masses added up in float32",
      "order, axis=-1), axis=-1, dtype=np.float64)", "order, axis=-1), axis=-1)"),
    M("np.sample.top_p", "invariant", "top-p: at 1, what rounding hides is lost",
      "    if p == 1:\n        return logits\n", ""),
    M("np.sample.top_p", "invariant", "top-p: probabilities in place of logits",
      "size, logits, ", "size, probabilities(logits), "),
    M("np.sample.top_p", "invariant", "top-p: p above 1 passes", "p: Mass", "p: Positive", "if p == 1", "if p >= 1"),
    M("np.sample.probabilities", "invariant", "probabilities: −∞ counted as 0",
      "np.where(left, logits, 0), left)[0]", "np.where(left, logits, 0))[0]"),
    M("np.sample.probabilities", "invariant", "probabilities: exp without a maximum",
      "return softmax_forward(np.where(left, logits, 0), left)[0]",
      "E = np.exp(logits)\n    return E / E.sum(axis=-1, keepdims=True)"),
    M("np.sample.probabilities", "invariant", "probabilities: float64 whatever came",
      "np.where(left, logits, 0), left)[0]", "np.where(left, logits, 0).astype(float), left)[0]"),
    M("np.sample.greedy", "invariant", "greedy: the last of the largest",
      "logits.argmax(axis=-1)", "logits.shape[-1] - 1 - logits[..., ::-1].argmax(axis=-1)"),
    M("np.sample.greedy", "invariant", "greedy: over the batch", "logits.argmax(axis=-1)", "logits.argmax(axis=0)"),
    M("np.sample.sample", "invariant", "draw: at 0 the first word, whatever its probability",
      "share > u[..., None]", "share >= u[..., None]"),
    M("np.sample.sample", "invariant", "draw: sum of probabilities taken for 1",
      "share = mass / mass[..., -1:]", "share = mass"),
    M("np.sample.sample", "invariant", "draw: shares of logits, not of probabilities",
      "probabilities(logits), axis=-1, dtype=np.float64",
      "np.where(logits > -np.inf, logits - logits.min(initial=0, where=logits > -np.inf), 0), axis=-1"),
    M("np.sample.sample", "invariant", "draw: any number for u", '"*B"], *UNIT]', '"*B"], AtLeast(-9)]'),
    M("np.sample.sample", "invariant", "draw: 1 for u, in whose share no word is", '"*B"], *UNIT]', '"*B"], AtLeast(0)]'),
    M("np.sample.sample", "invariant", "draw: the precision of the logits asked of u", 'Annotated[Float[Array, "*B"], *UNIT]', 'Float[Array, "*B"]'),
    M("np.sample.greedy", "invariant", "greedy: a row in which no word may come", 'Annotated[Float[Array, "*B V"], Logits]', 'Annotated[Float[Array, "*B V"], AtLeast(-np.inf)]'),
    M("np.sample.choose", "invariant", "chain: top-k forgotten",
      "logits = logits if k is None else top_k(logits, k)", "pass"),
    M("np.sample.choose", "invariant", "chain: top-p forgotten", "logits if p is None else top_p(logits, p)", "logits"),
    M("np.sample.choose", "invariant", "chain: temperature last",
      "logits = temperature(logits - top, max(T, float(np.finfo(logits.dtype).tiny)))", "pass",
      "logits if p is None else top_p(logits, p", "temperature(logits if p is None else top_p(logits, p), T"),
    M("np.sample.choose", "invariant", "chain: cold logits overflow, and are refused", "logits - top", "logits"),
    M("np.sample.choose", "invariant", "chain: a T that float32 has not divides 0 by 0",
      "max(T, float(np.finfo(logits.dtype).tiny))", "T"),
    M("np.sample.choose", "invariant", "chain: T = 0 divides", "    if T == 0:\n        return greedy(logits)\n", ""),
    M("pt.sample.temperature", "invariant", "temperature multiplied", "return logits / T", "return logits * T"),
    M("pt.sample.temperature", "invariant", "temperature applied to probabilities",
      "return logits / T", "return probabilities(logits) / T"),
    M("pt.sample.temperature", "invariant", "temperature written into the logits",
      "return logits / T", "return logits.div_(T)"),
    M("pt.sample.top_k", "invariant", "top-k: one word too many", "rank >= k", "rank > k"),
    M("pt.sample.top_k", "invariant", "top-k: every word equal to the k-th stays",
      "    _, rank = _ranked(logits)\n    return logits.masked_fill(rank >= k",
      "    return logits.masked_fill(logits < logits.topk(min(k, logits.shape[-1])).values[..., -1:]"),
    M("pt.sample.top_k", "invariant", "top-k: k larger than the vocabulary",
      "    _, rank = _ranked(logits)\n    return logits.masked_fill(rank >= k",
      "    keep = _ranked(logits)[0].split([k, logits.shape[-1] - k], -1)[1]\n    return logits.scatter(-1, keep"),
    M("pt.sample._ranked", "invariant", "the last of equals first",
      "descending=True, stable=True", "stable=True).flip(-1"),
    M("pt.sample._ranked", "invariant", "the order in place of the rank",
      "return order, order.argsort(dim=-1)", "return order, order"),
    M("pt.sample.top_p", "invariant", "top-p: the word that crosses p dropped",
      "1 + (mass < p).sum(dim=-1, keepdim=True", "(mass <= p).sum(dim=-1, keepdim=True).clamp(min=1"),
    M("pt.sample.top_p", "invariant", "top-p: nothing at all may stay", "size = 1 + (mass < p)", "size = (mass <= p)"),
    M("pt.sample.top_p", "invariant", "top-p: masses added up in half precision", "torch.float64)", "torch.bfloat16)"),
    M("pt.sample.top_p", "invariant", "top-p: at 1, what rounding hides is lost",
      "    if p == 1:\n        return logits\n", ""),
    M("pt.sample.probabilities", "invariant", "probabilities: −∞ counted as 0",
      "return softmax(logits)", "return softmax(logits.clamp(min=0))"),
    M("pt.sample.probabilities", "invariant", "probabilities: float64 whatever came",
      "return softmax(logits)", "return softmax(logits.double())"),
    M("pt.sample.greedy", "invariant", "greedy: the last of the largest",
      "logits.argmax(dim=-1)", "logits.shape[-1] - 1 - logits.flip(-1).argmax(dim=-1)"),
    M("pt.sample.sample", "invariant", "draw: at 0 the first word, whatever its probability",
      "share > u[..., None]", "share >= u[..., None]"),
    M("pt.sample.sample", "invariant", "draw: sum of probabilities taken for 1",
      "share = mass / mass[..., -1:]", "share = mass"),
    M("pt.sample.sample", "invariant", "draw: a row too short for u",
      '"*B"], *UNIT]', '"..."], *UNIT]'),
    M("pt.sample.choose", "invariant", "chain: top-k forgotten",
      "logits = logits if k is None else top_k(logits, k)", "pass"),
    M("pt.sample.choose", "invariant", "chain: temperature last",
      "logits = temperature(logits - top, max(T, COLDEST))", "pass",
      "logits if p is None else top_p(logits, p", "temperature(logits if p is None else top_p(logits, p), T"),
    M("pt.sample.choose", "invariant", "chain: cold logits overflow, and the first word comes", "logits - top", "logits"),
    M("pt.sample.choose", "invariant", "chain: a T that float32 has not divides 0 by 0", "max(T, COLDEST)", "T"),
    M("pt.sample.choose", "invariant", "chain: T = 0 divides", "    if T == 0:\n        return greedy(logits)\n", ""),
]
