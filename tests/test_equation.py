# ruff: noqa: E501
"""A sign changed in any tagged line of the library is traced to the tag of that very line."""

import ast
import importlib
import importlib.util
import inspect
import re
import sys

import numpy as np
import pytest
from byhand.config import ModelConfig
from byhand.grade import equation, which_equation
from byhand.grade.equation import Equations, tagged_lines
from byhand.init import init_model
from byhand.np import attention, linear, multihead, norm, residual, softmax
from byhand.np.model import decoder_forward
from test_book import STEMS

rng = np.random.default_rng(0)
Q, K, V = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 4)), rng.normal(size=(2, 5, 6))
X = rng.normal(size=(2, 3, 4))
HEAD = {f"{kind}_{name}": rng.normal(size=(4, 5) if kind == "W" else 5) for name in "qkv" for kind in "Wb"}
G, HEADS = rng.normal(size=(2, 4)), rng.normal(size=(3, 2, 4, 5))
OF_HEADS = multihead.init_multihead(rng, 4, 2, 1, dtype=np.float64)
ALIGN = {"W_q": rng.normal(size=(4, 7)), "W_k": rng.normal(size=(4, 7)), "w": rng.normal(size=7)}


def pair(module, name, *arguments):
    """The forward function with these arguments, and the backward with a random upstream gradient."""
    forward, backward = getattr(module, f"{name}_forward"), getattr(module, f"{name}_backward")
    out, cache = forward(*arguments)
    return [(forward, arguments), (backward, (rng.normal(size=out.shape), cache))]


CALLS = [
    *pair(linear, "matmul", X, rng.normal(size=(2, 4, 5))),
    *pair(linear, "linear", X, HEAD["W_q"], HEAD["b_q"]),
    *pair(softmax, "softmax", X, rng.random((2, 3, 4)) < 0.7),
    *pair(softmax, "logsumexp", X),
    *pair(softmax, "log_softmax", X),
    *pair(attention, "attention", Q, K, V, rng.random((2, 3, 5)) < 0.7),
    *pair(attention, "self_attention", X, HEAD),
    *pair(attention, "additive_attention", Q, K, V, ALIGN),
    *pair(attention, "kernel_attention", Q, K, V, 0.8),
    *pair(norm, "standardize", X),
    *pair(norm, "layer_norm", X, *G),
    *pair(norm, "instance_norm", X, *G),
    *pair(norm, "group_norm", X, *G, 2),
    *pair(norm, "batch_norm", X, *G, {"mean": G[0], "var": G[0] ** 2}),
    *pair(norm, "rms_norm", X, G[0]),
    *pair(multihead, "biased_attention", Q, K, V, rng.normal(size=(3, 5))),
    *pair(multihead, "head_sum", X, {"U_q": HEADS[0], "U_k": HEADS[1], "V": HEADS[2]}),
    *pair(multihead, "multihead", X, X, OF_HEADS, 2, 1, None, "rope"),
]


def rebuilt(function, source):
    """The function made from other source, under its own name, as a notebook's cell would make it."""
    space = dict(vars(inspect.getmodule(inspect.unwrap(function))))
    exec(compile(source, "<cell>", "exec"), space)
    return space[function.__name__]


def again(target, source):
    """Whether a variable has two tags: its last value is compared, and the first tag is named for both."""
    return any(len(re.findall(rf"^ +(?:[\w, ]+, )?{name}(?:, [\w, ]+)? = .*# \(", source, re.M)) > 1
               for name in re.findall(r"\w+", target) if name not in ("return", "_"))


def flips():
    """Each tagged line of each call, with the sign of what it computes changed."""
    for function, arguments in CALLS:
        source = inspect.getsource(inspect.unwrap(function))
        for i, line in enumerate(source.splitlines()):
            match = re.match(r"( +)([\w, ]+ = |return )([^#]+?)( +#.*\((\d+\.\d+)\))$", line)
            if match and "_forward(" not in line and "_backward(" not in line.replace("softmax_backward(", ""):
                value = ast.parse(match[3], mode="eval").body  # of a returned tuple, the first
                if isinstance(value, ast.GeneratorExp | ast.DictComp) or again(match[2], source):
                    continue
                first, *rest = map(ast.unparse, value.elts if isinstance(value, ast.Tuple) else [value])
                lines, name = source.splitlines(), function.__name__
                lines[i] = f"{match[1]}{match[2]}{', '.join([f'-1.25 * ({first})', *rest])}{match[4]}"
                yield pytest.param(function, arguments, "\n".join(lines), match[5], id=f"{name}-{match[5]}")


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0].__name__)
def test_the_library_itself_breaks_no_equation(call):
    function, arguments = call
    if tagged_lines(inspect.unwrap(function)):
        found = which_equation(rebuilt(function, inspect.getsource(inspect.unwrap(function))), *arguments)
        assert found.first is None and found.rows and "Every equation holds." in repr(found)


@pytest.mark.parametrize("function, arguments, source, tag", list(flips()))
def test_a_changed_line_is_named_by_its_tag(function, arguments, source, tag):
    found = which_equation(rebuilt(function, source), *arguments)
    assert found.first == tag and f"The first that does not hold is ({tag})." in repr(found)


def test_at_least_one_line_of_every_kind_is_changed():
    changed = {param.values[3] for param in flips()}
    assert {"4.5", "4.7", "4.12", "4.13", "4.17", "4.21", "4.23", "4.24", "4.25", "4.26", "4.27", "4.28", "4.29",
            "4.31", "4.33", "4.35", "0.18", "0.20"} <= changed


WRAPPERS = {  # functions without an equation of their own, and why
    "norm_forward": "calls the norm that the parameters are of", "norm_backward": "calls the backward of that norm",
    **dict.fromkeys(("encoder_backward", "decoder_forward", "decoder_backward", "encoder_decoder_backward"),
                    "calls the parts of a model, one after the other"),
}


def untagged(module):
    """The public forward and backward functions none of whose assignments or returns has the tag of an equation."""
    return {name for name, f in vars(module).items()
            if name.endswith(("_forward", "_backward")) and not name.startswith("_")
            and inspect.unwrap(f).__module__ == module.__name__ and not tagged_lines(inspect.unwrap(f))}


@pytest.mark.parametrize("stem", sorted({stem for stems in STEMS.values() for stem in stems}))
def test_every_forward_and_backward_shows_its_equation(stem):
    """So that `which_equation` has an answer for each of them."""
    if importlib.util.find_spec(f"byhand.np.{stem}"):
        assert untagged(importlib.import_module(f"byhand.np.{stem}")) <= WRAPPERS.keys()


def test_a_backward_that_hides_its_equations_is_found(monkeypatch):
    """LayerNorm's backward as three hops, with its equations in other functions."""
    assert not untagged(norm)

    def layer_norm_backward(dY, cache):
        return norm.group_norm_backward(dY, cache)

    layer_norm_backward.__module__ = norm.__name__
    monkeypatch.setattr(norm, "layer_norm_backward", layer_norm_backward)
    assert untagged(norm) == {"layer_norm_backward"}


def test_gradients_of_norms_are_named():
    """γ outside the means is the equation of dX, and only that."""
    Y, cache = norm.layer_norm_forward(X, *G)
    source = inspect.getsource(inspect.unwrap(norm.layer_norm_backward))
    wrong = source.replace("(g - g.mean(axis=-1, keepdims=True) - X_hat * (g * X_hat)",
                           "gamma * (dY - dY.mean(axis=-1, keepdims=True) - X_hat * (dY * X_hat)")
    assert wrong != source
    found = which_equation(rebuilt(norm.layer_norm_backward, wrong), rng.normal(size=Y.shape), cache)
    assert [tag for tag, _, error in found.rows if not error < 1e-9] == ["6.14"]
    assert residual.norm_forward.__name__ in WRAPPERS


def test_another_way_to_write_it_breaks_nothing():
    source = inspect.getsource(inspect.unwrap(attention.attention_backward))
    source = source.replace("dV = A.mT @ dO", "dV = np.einsum('bij,bic->bjc', A, dO)").replace(
        "dA = dO @ V.mT", "dA = (V @ dO.mT).mT")
    _, arguments = CALLS[11]
    assert CALLS[11][0].__name__ == "attention_backward"
    assert which_equation(rebuilt(attention.attention_backward, source), *arguments).first is None


# Wrong ways to find the equation, kept: each is caught by the test above.
WRONG = {
    "the last one that differs": lambda rows: next((tag for tag, _, e in reversed(rows) if not e < 1e-9), None),
    "the one that differs most": lambda rows: max(rows, key=lambda row: row[2])[0],
    "NaN counts as equal": lambda rows: next((tag for tag, _, e in rows if e > 1e-9), None),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_way_is_caught(name, monkeypatch):
    monkeypatch.setattr(Equations, "first", property(lambda self: WRONG[name](self.rows)))
    if name == "NaN counts as equal":
        assert Equations("f", [("4.1", "A", float("nan"))]).first is None  # and so it would let NaN pass
        monkeypatch.undo()
        assert Equations("f", [("4.1", "A", float("nan"))]).first == "4.1"
    else:
        flipped = [p.values for p in flips()]
        assert any(which_equation(rebuilt(f, source), *arguments).first != tag for f, arguments, source, tag in flipped)


def test_wrong_use_is_refused():
    def nobody_knows_me():
        return None

    with pytest.raises(ValueError, match="which_equation: function is nobody_knows_me, expected the name of a"):
        which_equation(nobody_knows_me)
    with pytest.raises(ValueError, match="no line of init_linear has the tag of an equation"):
        def init_linear(rng, d_in, d_out):
            return d_in

        which_equation(init_linear, np.random.default_rng(0), 3, 2)


def test_the_tracer_of_a_debugger_is_put_back():
    before = sys.gettrace()
    which_equation(CALLS[11][0], *CALLS[11][1])
    assert sys.gettrace() is before and equation._error(np.float64(2), np.float64(1)) == 1


def test_the_caches_of_many_blocks_are_compared_one_by_one():
    """A model's cache holds a list; a block that is off is seen in it."""
    config = ModelConfig("decoder", vocab=7, d=8, heads=2, layers=2)
    params, ids = init_model(np.random.default_rng(0), config, np.float64), np.array([[1, 2, 3]])
    assert which_equation(decoder_forward, ids, params, config).first is None
    wrong = rebuilt(decoder_forward, inspect.getsource(inspect.unwrap(decoder_forward)).replace(
        "_decode_forward(ids, params,", "_decode_forward(ids, params | {'blocks': dict.fromkeys('01', params['blocks']['0'])},"))
    assert which_equation(wrong, ids, params, config).first == "10.16"
