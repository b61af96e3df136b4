# ruff: noqa: E501
"""`@checked` on small functions: what each kind of annotation asks, what arrives, and what it costs to be wrong."""

import ast
import inspect
import itertools
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import byhand.check.ids
import numpy as np
import pytest
import torch
from byhand.check import (
    Above,
    AtLeast,
    AtMost,
    Below,
    IdPairs,
    IdRows,
    Logits,
    Params,
    Positive,
    Shape,
    Share,
    Size,
    ValuesTrusted,
    Wholes,
    signature,
)
from jaxtyping import Bool, Float, Int
from mutants import LIBRARY, build, source
from numpy import ndarray as Array


class Kept(NamedTuple):
    X_shape: Shape["*B d"]
    W: Float[Array, "d e"]
    k: int


def functions(checked):
    """One small function for each kind of annotation, checked by this decorator."""

    @checked
    def sizes(n: Size, m: Size | None = None, p: Share = 0.0, scale: Positive = 1.0, few: Annotated[int, AtLeast(3)] = 3):
        return n, m, p, scale, few

    @checked
    def words(kind: Literal["pre", "post"], on: bool = False, f: Callable | None = None, rng: np.random.Generator | None = None):
        return kind, on

    @checked
    def ids_forward(ids: Int[Array, "*B n"], E: Float[Array, "V d"], n: Size | None = None):
        return ids

    @checked
    def masked(S: Float[Array, "*B n m"], mask: Bool[Array, "*#B #n #m"] | None = None, bias: Float[Array, "*#B #n #m"] | None = None):
        return S

    @checked
    def layer(X: Float[Array, "*B d"], params: Params(Array, {"W": "d e", "b?": "e", "norm?": {"gamma": "d"}, "rest?": None})):
        return X

    @checked
    def layer_backward(dY: Float[Array, "*B e"], cache: Kept):
        return dY

    @checked
    def table(rows: int, T: Float[Array, "rows d"], axes: tuple[int, ...] = (), parts: list[Float[Array, " d"]] | None = None, **more: Any):
        return axes

    @checked
    def pairs(a: Float[Array, "n 2"], b: Float[Array, "*B n d"], c: Float[Array, "... d"] | None = None):
        return a

    @checked
    def drawn(z: Annotated[Float[Array, "*B V"], Logits], u: Annotated[Float[Array, "*B"], AtLeast(0), Below(1)], W: Float[Array, "V d"]):
        return z

    @checked
    def listed(rows: IdRows, pairs: IdPairs | None = None, stop: Wholes = ()):
        return rows, pairs, stop

    return {f.__name__: f for f in (drawn, listed, pairs, sizes, words, ids_forward, masked, layer, layer_backward, table)}


A = np.ones
KEPT = Kept((2, 3, 4), A((4, 5)), 1)
REFUSED = [  # function, error, sentence, arguments, options
    ("pairs", ValueError, "pairs: a has shape (3, 5), expected (3, 2)", (A((3, 5)), A((3, 4))), {}),
    ("pairs", ValueError, "pairs: b has shape (7, 4, 6), expected (7, 3, 6)", (A((3, 2)), A((7, 4, 6))), {}),
    ("pairs", ValueError, "pairs: b has 1 axes, expected at least 2", (A((3, 2)), A(3)), {}),
    ("pairs", ValueError, "pairs: c has shape (9, 5), expected (9, 4)", (A((3, 2)), A((3, 4)), A((9, 5))), {}),
    ("pairs", TypeError, "pairs: b has dtype float32 but a has float64", (A((3, 2)), A((3, 4), np.float32)), {}),
    ("pairs", ValueError, "pairs: b holds inf at index (0, 0)", (A((3, 2)), A((3, 4)) * np.inf), {}),
    ("pairs", ValueError, "pairs: a has shape (3, 2, 1), expected (n, 2)", (A((3, 2, 1)), A((3, 4))), {}),
    ("drawn", ValueError, "drawn: z has a row of −∞ alone, expected a word that may come", (A((2, 3)) * -np.inf, A(2) / 2, A((3, 4))), {}),
    ("drawn", ValueError, "drawn: z holds inf at index (0, 0)", (A((2, 3)) * np.inf, A(2) / 2, A((3, 4))), {}),
    ("drawn", ValueError, "drawn: z holds nan at index (0, 0)", (A((2, 3)) * np.nan, A(2) / 2, A((3, 4))), {}),
    ("drawn", ValueError, "drawn: u holds 1.0, expected at least 0 and less than 1", (A((2, 3)), A(2), A((3, 4))), {}),
    ("drawn", ValueError, "drawn: u has shape (3,), expected (2,)", (A((2, 3)), A(3) / 2, A((3, 4))), {}),
    ("drawn", TypeError, "drawn: W has dtype float32 but z has float64", (A((2, 3)), A(2) / 2, A((3, 4), np.float32)), {}),
    ("listed", TypeError, "listed: rows is int, expected a list of rows of ids", (3,), {}),
    ("listed", TypeError, "listed: rows is str, expected a list of rows of ids", ("ab",), {}),
    ("listed", ValueError, "listed: rows has 0 rows, expected at least 1", ([],), {}),
    ("listed", ValueError, "listed: rows[1] has 0 ids, expected at least 1", ([[1], []],), {}),
    ("listed", TypeError, "listed: rows[0][1] is float, expected a whole number", ([[1, 2.0]],), {}),
    ("listed", TypeError, "listed: rows has dtype float64, expected an array of whole numbers", (A(3),), {}),
    ("listed", ValueError, "listed: rows[0] has shape (2, 2), expected one row of ids", ([A((2, 2), int)],), {}),
    ("listed", ValueError, "listed: pairs has 0 entries, expected at least 1", ([1], []), {}),
    ("listed", TypeError, "listed: pairs[0] is 3 things, expected (source, target)", ([1], [(1, 2, 3)]), {}),
    ("listed", ValueError, "listed: source of pairs[0] has 0 ids", ([1], [([], [1])]), {}),
    ("listed", TypeError, "listed: stop is int, expected whole numbers", ([1],), {"stop": 2}),
    ("listed", TypeError, "listed: stop[1] is bool, expected a whole number", ([1],), {"stop": (2, True)}),
    ("sizes", ValueError, "sizes: n is 0, expected at least 1", (0,), {}),
    ("sizes", TypeError, "sizes: n is bool, expected a whole number", (True,), {}),
    ("sizes", TypeError, "sizes: n is float, expected a whole number", (2.0,), {}),
    ("sizes", ValueError, "sizes: n is a whole number of 1329 bits, expected at most", (10**400,), {}),
    ("sizes", ValueError, "sizes: m is -1, expected at least 1", (1,), {"m": -1}),
    ("sizes", ValueError, "sizes: p is 1, expected at least 0 and less than 1", (1, None, 1), {}),
    ("sizes", ValueError, "sizes: p is nan, expected at least 0 and less than 1", (1,), {"p": np.nan}),
    ("sizes", ValueError, "sizes: scale is 0, expected a finite number greater than 0", (1,), {"scale": 0}),
    ("sizes", ValueError, "sizes: scale is a whole number of 1329 bits, expected a finite", (1,), {"scale": 10**400}),
    ("sizes", TypeError, "sizes: scale is str, expected a number", (1,), {"scale": "1"}),
    ("sizes", ValueError, "sizes: few is 2, expected at least 3", (1,), {"few": 2}),
    ("words", ValueError, "words: kind is 'pro', expected one of pre, post", ("pro",), {}),
    ("words", ValueError, "words: kind is 1, expected one of pre, post", (1,), {}),
    ("words", TypeError, "words: on is str, expected bool", ("pre", "False"), {}),
    ("words", TypeError, "words: on is int, expected bool", ("pre", 1), {}),
    ("words", TypeError, "words: f is int, expected a function", ("pre", True, 3), {}),
    ("words", TypeError, "words: rng is int, expected a NumPy Generator", ("pre",), {"rng": 3}),
    ("ids_forward", TypeError, "ids_forward: ids is list, expected an array of whole numbers", ([1], A((2, 3))), {}),
    ("ids_forward", TypeError, "ids_forward: ids has dtype bool, expected an array of whole numbers", (A(3, bool), A((2, 3))), {}),
    ("ids_forward", ValueError, "ids_forward: ids holds 18446744073709551615, expected whole numbers that int64 can hold",
     (A(3, np.uint64) * (2**64 - 1), A((2, 3))), {}),
    ("ids_forward", ValueError, "ids_forward: ids has shape (3,), expected (4,)", (A(3, int), A((2, 3)), 4), {}),
    ("ids_forward", ValueError, "ids_forward: E has shape (1, 2, 3), expected (V, d)", (A(3, int), A((1, 2, 3))), {}),
    ("masked", ValueError, "masked: mask has shape (4,), expected (3, 4) or (2, 3, 4), with 1 for a shared axis",
     (A((2, 3, 4)), A(4, bool)), {}),
    ("masked", ValueError, "masked: mask has shape (2, 4), expected (3, 4) or (2, 3, 4)", (A((2, 3, 4)), A((2, 4), bool)), {}),
    ("masked", ValueError, "masked: shape of bias is (2, 4), expected a shape that repeats to (2, 3, 4)",
     (A((2, 3, 4)),), {"bias": A((2, 4))}),
    ("masked", ValueError, "masked: S has shape (2, 3, 0), expected at least 1 entry along the last axis", (A((2, 3, 0)),), {}),
    ("masked", ValueError, "masked: S holds nan at index (0, 0), expected finite numbers", (A((3, 4)) * np.nan,), {}),
    ("layer", TypeError, "layer: params is list, expected a dict with W, b, norm, rest", (A((3, 4)), []), {}),
    ("layer", ValueError, "layer: params has b, expected W, b, norm, rest", (A((3, 4)), {"b": A(5)}), {}),
    ("layer", ValueError, "layer: params has W, c, expected W, b, norm, rest", (A((3, 4)), {"W": A((4, 5)), "c": A(5)}), {}),
    ("layer", ValueError, "layer: params['W'] has shape (3, 5), expected (4, 5)", (A((3, 4)), {"W": A((3, 5))}), {}),
    ("layer", ValueError, "layer: params['b'] has shape (1,), expected (5,)", (A((3, 4)), {"W": A((4, 5)), "b": A(1)}), {}),
    ("layer", ValueError, "layer: params['norm']['gamma'] has shape (5,), expected (4,)",
     (A((3, 4)), {"W": A((4, 5)), "norm": {"gamma": A(5)}}), {}),
    ("layer", TypeError, "layer: params['rest'] is int, expected a dict", (A((3, 4)), {"W": A((4, 5)), "rest": 3}), {}),
    ("layer", TypeError, "layer: params['W'] has dtype float32 but X has float64, expected one dtype",
     (A((3, 4)), {"W": A((4, 5), np.float32)}), {}),
    ("layer", TypeError, "layer: X has dtype float16, expected float32 or float64", (A((3, 4), np.float16), {}), {}),
    ("layer_backward", TypeError, "layer_backward: cache is dict, expected Kept", (A((2, 3, 5)), {}), {}),
    ("layer_backward", ValueError, "layer_backward: dY has shape (1, 3, 5), expected (2, 3, 5)", (A((1, 3, 5)), KEPT), {}),
    ("layer_backward", ValueError, "layer_backward: dY has shape (2, 3, 1), expected (2, 3, 5)", (A((2, 3, 1)), KEPT), {}),
    ("layer_backward", TypeError, "layer_backward: dY has dtype float32 but W has float64", (A((2, 3, 5), np.float32), KEPT), {}),
    ("table", ValueError, "table: T has shape (2, 3), expected (4, 3)", (4, A((2, 3))), {}),
    ("table", TypeError, "table: axes is int, expected a tuple", (2, A((2, 3)), 1), {}),
    ("table", TypeError, "table: axes[1] is float, expected a whole number", (2, A((2, 3)), (0, 1.5)), {}),
    ("table", ValueError, "table: parts[1] has shape (4,), expected (3,)", (2, A((2, 3)), (), [A(3), A(4)]), {}),
]


def complaint(right, error, sentence, arguments, options) -> str:
    try:
        right(*arguments, **options)
    except Exception as raised:
        return "" if type(raised) is error and sentence in str(raised) else f"{type(raised).__name__}: {raised}"
    return "accepted"


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row[2])
def test_wrong_arguments_are_refused(row):
    name, *rest = row
    assert not complaint(functions(signature.checked)[name], *rest)


def accepted(made) -> list[str]:
    """What is wrong with how right arguments are taken, and with what arrives."""
    faults = []
    n, m, p, scale, few = made["sizes"](np.uint8(200), np.int16(3), np.float32(0.5), np.float64(2), few=np.int64(4))
    faults += [f"{x!r}" for x, kind in ((n, int), (m, int), (p, float), (scale, float), (few, int)) if type(x) is not kind]
    if (n + 100, p) != (300, 0.5):
        faults.append("another number arrived")
    if made["words"]("post", np.True_)[1] is not True:
        faults.append("a flag of NumPy")
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        x = made["ids_forward"](A((2, 3), dtype), A((4, 5)))
        if x.dtype != np.int64 or made["ids_forward"](ids=A((2, 3), dtype), E=A((4, 5))).dtype != np.int64:
            faults.append(dtype)
    S = A((2, 3, 4))
    for shape in ((3, 4), (2, 3, 4), (1, 3, 4), (2, 1, 4), (1, 1, 4)):
        made["masked"](S, A(shape, bool))
    for shape in ((), (4,), (3, 1), (2, 1, 1), (1, 3, 4)):
        made["masked"](S, bias=A(shape))
    made["masked"](A((0, 3, 4)))
    made["layer"](A(4), {"W": A((4, 5))})
    made["layer_backward"](A((2, 3, 5)), KEPT)
    if made["table"](2, A((2, 3)), [0, 1], colour="red") != (0, 1):
        faults.append("a list for a tuple")
    with ValuesTrusted():
        made["masked"](np.nan * S)
    made["drawn"](np.array([[0.0, -np.inf]], np.float32), np.array([0.5]), A((2, 4), np.float32))  # u has a dtype of its own
    made["drawn"](A((2, 3), np.float32), A(2) / 2, A((3, 4), np.float32))
    rows = [made["listed"](x)[0] for x in ([1, 2], (1, 2), range(1, 3), np.array([1, 2], np.uint8), torch.tensor([1, 2]),
                                           [[1, 2]], np.array([[1, 2]]), torch.tensor([[1, 2]]), [torch.tensor([1, 2])])]
    if any(len(x) != 1 or x[0].dtype != np.int64 or x[0].tolist() != [1, 2] for x in rows):
        faults.append("rows of ids")
    source, target = made["listed"]([1], [([1, 2], [])])[1][0]
    if source.tolist() != [1, 2] or len(target) or made["listed"]([1], stop=np.array([3, 4]))[2] != [3, 4]:
        faults.append("pairs of ids")
    return faults


def test_right_arguments_arrive_as_they_should():
    assert not accepted(functions(signature.checked))


def rows_apart(ids):
    """What becomes of ids that each have an array or a tensor to themselves, as `list(tensor)` has them."""
    return [row.tolist() for kind in (torch.tensor, np.array, np.uint8) for x in ([kind(1), kind(2)], [[kind(1), kind(2)]])
            for row in ids.Rows()("f", "x", x, {})] + [ids.WholeNumbers()("f", "x", (torch.tensor(1), np.array(2)), {})]


def test_ids_may_come_one_by_one():
    assert rows_apart(byhand.check.ids) == [[1, 2]] * 7
    with pytest.raises(TypeError, match=r"f: x\[1\] is float, expected a whole number"):
        byhand.check.ids.Rows()("f", "x", [torch.tensor(1), torch.tensor(2.0)], {})
    for old, new in ((' or getattr(x[0], "shape", None) == ()', ""), (" and y.shape == () else y", " and False else y")):
        with pytest.raises((TypeError, ValueError), match="expected"):
            rows_apart(build("check.ids", old, new))


def test_an_annotation_that_is_not_understood_is_refused_at_once():
    for odd in ("Float", 3):
        with pytest.raises(TypeError, match="checked: annotation .* is"):
            signature.rule_of(odd)


def test_a_checked_function_keeps_its_name_and_its_signature():
    f = functions(signature.checked)["sizes"]
    assert f.__name__ == "sizes" and list(f.__wrapped__.__annotations__) == ["n", "m", "p", "scale", "few"]


def test_batches_of_nothing_pass_and_axes_of_nothing_do_not():
    """Only the axes of *B may be empty."""
    masked = functions(signature.checked)["masked"]
    for shape in itertools.product((0, 2), repeat=3):
        if 0 in shape[1:]:
            with pytest.raises(ValueError, match="expected at least 1 entry along"):
                masked(A(shape))
        else:
            masked(A(shape))


# Wrong decorators, kept: each is found by a call above.
WRONG = [  # story, old text, new text, in the one module of byhand.check that has it
    ("options unseen", "            elif name in options:", "            elif False:"),
    ("what comes by place unseen", "if at is not None and at < len(args):", "if False:"),
    ("what is converted is not handed over", "                if new is not x:", "                if False:"),
    ("options are not converted", "options[name] = rule(where, name, options[name], seen)", "rule(where, name, options[name], seen)"),
    ("None for anything", "        return None if x is None else", "        return None if not callable(x) else"),
    ("caches read last", "key=lambda name: not rules[name].binds)", "key=lambda name: rules[name].binds)"),
    ("caches of any kind", "        if rules is None:", "        rules = rules or ()\n        if False:"),
    ("shapes in caches unread", "        bind(x, self.letters, seen)\n        return x", "        return x"),
    ("dtypes of caches unread", "            seen.setdefault(\".dtype\", x.dtype)", "            pass"),
    ("words not looked at", "or x not in self.words:", "or False:"),
    ("anything is a function", "        if not callable(x):", "        if False:"),
    ("lists of any length of things", "        rules = self.inside if", "        rules = [None] * len(x) if True else self.inside if"),
    ("names may be missing", "any(key not in x for key in self.required) or ", ""),
    ("names may be more", " or any(key not in self.rules for key in x)", ""),
    ("draws have the dtype of the rest", "self.bounds, self.plain = bounds, False", "self.bounds = bounds"),
    ("any bounds", "if any(y not in bound for bound in self.bounds):", "if False:"),
    ("words that may not come at all", "        if not left.any(axis=-1).all():", "        if False:"),
    ("no word may be taken away", "np.where(left | np.isnan(x), x, 0)", "x"),
    ("NaN is a word taken away", "np.where(left | np.isnan(x), x, 0)", "np.where(left, x, 0)"),
    ("quickly: a whole number is a letter", "any(isinstance(letter, int) for letter in self.tail)", "False"),
    ("quickly: any dtype", "known(\".dtype\", dtype) is dtype and", ""),
    ("quickly: too many axes", "(at == 0 or at > 0 and self.lead is not None)", "at >= 0"),
    ("quickly: leading axes unseen", "if not self.lead or known(self.lead, shape[:at]) == shape[:at]:", "if True:"),
    ("quickly: sizes unseen", "if known(letter, shape[at]) != shape[at]:", "if False:"),
    ("quickly: letters of a misfit stay", "        while len(seen) > before:\n            seen.popitem()\n", ""),
    ("quickly: values unseen", "            if not _TRUSTED.get():\n                self.values(where, name, x)\n            return",
     "            return"),
    ("quickly: empty axes", "and 0 not in shape ", ""),
    ("subtrees of any kind", "            return Tree(None)", "            return ArrayOf(array_type, \"any\", \"...\") if False else OneOf((3,))"),
]


@pytest.mark.parametrize(("story", "old", "new"), WRONG, ids=[story for story, *_ in WRONG])
def test_a_wrong_decorator_is_found(story, old, new):
    stem = next(stem for stem in ("signature", "kinds", "caches", "arrays", "values") if old in source(f"check.{stem}"))
    wrong = build(f"check.{stem}", old, new)
    with pytest.MonkeyPatch.context() as patch:
        for name, x in vars(wrong).items():
            if inspect.isclass(x) and x.__module__ == wrong.__name__ and hasattr(signature, name) and name != "Leaves":
                patch.setattr(signature, name, x)
        made = functions(wrong.checked if stem == "signature" else signature.checked)
    try:
        faults = accepted(made)
    except Exception as error:
        faults = [str(error)]
    assert faults or any(complaint(made[name], *rest) for name, *rest in REFUSED)


UNCHECKED = {"pt.train.main": "reads its arguments from a command line, whose parser refuses what is wrong"}


def without_a_check(place: str, text: str) -> set[str]:
    """Public functions of a module that nothing stands above."""
    return {f"{place}.{d.name}" for d in ast.parse(text).body if isinstance(d, ast.FunctionDef) and d.name[0] != "_"
            and "checked" not in map(ast.unparse, d.decorator_list)}


@pytest.mark.parametrize("half", ["np", "pt"])
def test_every_public_function_is_checked(half):
    places = [f"{half}.{path.stem}" for path in sorted((LIBRARY / half).glob("[a-z]*.py"))]
    bare = set().union(*(without_a_check(place, source(place)) for place in places))
    assert len(places) > 20 and bare == {name for name in UNCHECKED if name.startswith(half)}


def test_a_function_without_a_check_is_found():
    text = source("np.softmax")
    assert not without_a_check("np.softmax", text)
    assert without_a_check("np.softmax", text.replace("@checked\ndef softmax_backward", "def softmax_backward")) == {
        "np.softmax.softmax_backward"}


class TupleAbove(NamedTuple):
    low: float


class TupleAtLeast(NamedTuple):
    low: float


def one_for_another(kinds) -> set[tuple[str, str]]:
    """Pairs of bounds of which typing gives one for the other: `… | None` comes from its cache, which goes by equality."""
    return {(a.__name__, b.__name__) for a, b in itertools.combinations(kinds, 2)
            if Annotated[float, a(0)] | None == Annotated[float, b(0)] | None}


def test_a_bound_is_not_taken_for_another_of_the_same_number():
    """With tuples a rate of 0 was refused under Python 3.11.2, where it is written with AtLeast(0), for Above(0) came first."""
    assert one_for_another((Above, AtLeast, AtMost, Below)) == set()
    assert one_for_another((TupleAbove, TupleAtLeast)) == {("TupleAbove", "TupleAtLeast")}
