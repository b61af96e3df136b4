"""Wrong input by the thousand: each public function refuses it in the library's own words, or it has a meaning.

A seed is a right call: a case of a twin table, or one written here. One argument is corrupted: an axis too many or too
few, a size, a dtype, NaN, a list, None, an array of the other half, a name too few in a tree. Then the function must

- refuse it: a ValueError or TypeError that begins with its name, or with that of a function that it calls, and that
  names an argument; or
- give the right answer: the shapes fit the letters of the signature, nothing is NaN, torch says the same, a mask does
  what it does when it is written out in full, and a gradient is that of the forward.

One more leading axis is no fault where *B stands: then each item of the batch gets what it would get alone.
Silent broadcasting, IndexError and NumPy's own complaints are faults. Guards with a hole, kept below, are all found.
"""

import ast
import functools
import importlib
import inspect
import itertools
import numbers
import random
import re
import typing
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import beartype.door
import byhand
import mutants
import numpy as np
import proofs
import pytest
import torch
import twins
from byhand import tree
from hypothesis import given, settings
from hypothesis import strategies as st
from proofs import as_shipped
from test_errors import HOLES, with_hole

LIBRARY = Path(byhand.__file__).parent
STEMS = sorted(path.stem for path in (LIBRARY / "np").glob("[a-z]*.py"))


@functools.cache
def module(place: str):
    return importlib.import_module(f"byhand.{place}")


@functools.cache
def written(half: str) -> dict[str, ast.AST]:
    """Every function and class of a half, and of what both halves use, by name."""
    files = [*(LIBRARY / half).glob("[a-z]*.py"), *LIBRARY.glob("[a-z]*.py")]
    return {d.name: d for path in files for d in ast.parse(path.read_text(encoding="utf-8")).body if hasattr(d, "name")}


UNTRIED = {
    "residual_backward": "takes the backward of the caller's layer, which may be anything",
    "dropout_backward": "its forward draws a mask",
    "embed_backward": "gathers, whose backwards are tried, and who do not know how wide their tables were",
    **dict.fromkeys(("classifier_forward", "classifier_backward", "pretrain_forward", "pretrain_backward",
                     "decode_forward", "translation_loss_forward",
                     "translation_loss_backward"), "puts together what is tried by itself"),
}


class Other(NamedTuple):
    """An array of the other half: a tensor for NumPy, an array for torch."""

    x: np.ndarray


class Seed(NamedTuple):
    place: str
    name: str
    args: dict[str, Any]  # by parameter
    forward: "Seed | None" = None  # of a backward: the call that made its cache


class Change(NamedTuple):
    kind: str  # shape, type, value, number, tree, batch
    what: str
    make: Any  # from the old value to the new one


# Seeds


def by_name(function, inputs, fixed) -> dict:
    return dict(inspect.signature(function).bind(*inputs, **fixed).arguments)


@functools.cache
def calls(stem: str) -> dict[str, list[Seed]]:
    """Right calls of the public functions of a stem, by name: those of its twin table, and those written here."""
    place, found = f"np.{stem}", {}
    for spec in proofs.table(stem).twins if stem in proofs.stems() else ():
        name = spec.name if hasattr(module(place), spec.name) else f"{spec.name}_forward"
        function = mutants.as_written(getattr(module(place), name))
        found[name] = [Seed(place, name, by_name(function, case.inputs.values(), case.fixed))
                       for case in twins.cases_of(spec)]
    for name, more in by_hand(stem).items():
        found.setdefault(name, []).extend(Seed(place, name, args) for args in more)
    return found


@functools.cache
def seeds(stem: str) -> dict[str, list[Seed]]:
    """The same, and those of the backwards, for which the forwards must run."""
    found = dict(calls(stem))
    for name in [name for name in found if name.endswith("_forward")]:
        if (back := name.removesuffix("_forward") + "_backward") not in UNTRIED:
            found[back] = [upstream(seed, back) for seed in found[name]]
    return found


def upstream(seed: Seed, back: str) -> Seed:
    """A right call of the backward, after that of the forward."""
    out, cache = inspect.unwrap(getattr(module(seed.place), seed.name))(**seed.args)
    first = next(iter(inspect.signature(getattr(module(seed.place), back)).parameters))
    dOut = np.asarray(np.random.default_rng(0).normal(size=np.shape(out)))
    return Seed(seed.place, back, {first: dOut, "cache": cache}, seed)


class Halves(NamedTuple):
    """An argument that is of another kind in each half: a function."""

    np: Any
    pt: Any


def models() -> dict[str, list[dict]]:
    """Three whole models, and their parts."""
    from byhand.init import init_model
    from specs.model import CONFIGS, ids_of, options_of, places_of

    found: dict = {}
    for config in (CONFIGS[0], CONFIGS[4], CONFIGS[9]):
        params = init_model(np.random.default_rng(0), config, np.float64)
        names = ("source", "target") if config.kind == "encoder_decoder" else ("ids",)
        args = dict(zip(names, ids_of(config), strict=True)) | {"params": params, "config": config} | options_of(config)
        found.setdefault(f"{config.kind}_forward", []).extend([args, args | places_of(config)])
        if config.kind != "encoder_decoder":
            words = {"ids": args["ids"], "params": params["embedding"], "config": config}
            some = {"segments": args["segments"]} if config.segments else {}
            for places in (np.arange(5), np.array([[0, 1, 2, 3, 4], [2, 2, 0, 1, 5]])):
                found.setdefault("embed_forward", []).append(words | some | {"positions": places})
            found["embed_forward"].append(words)
        X, side = np.random.default_rng(1).normal(size=(2, 5, config.d)), params.get("decoder", params)
        stack = {"X": X, "params": {name: side[name] for name in ("blocks", "norm") if name in side}, "config": config}
        memory = {"M": np.random.default_rng(2).normal(size=(2, 3, config.d))} if "decoder" in params else {}
        placed = {"positions": np.array([[0, 1, 2, 3, 4], [2, 2, 0, 1, 5]]), "is_causal": True}
        found.setdefault("stack_forward", []).extend([stack | memory, stack | memory | placed])
    return found


def with_memory(stem: str) -> dict[str, list[dict]]:
    """A block of a decoder, and cross-attention whose output is wider than its input."""
    from byhand.np.multihead import init_multihead
    from specs.block import block_tree, filled

    rng = np.random.default_rng(0)
    X, M, real = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 6)), rng.random(size=(2, 1, 5)) < 0.7
    if stem == "block":
        given = {"X": X, "params": filled(block_tree(d_m=6), rng), "heads": 2, "mask": np.tri(3, dtype=bool), "M": M,
                 "memory_mask": real, "norm_first": False}
        wider = {"W_1": rng.normal(size=(4, 7)), "W_2": rng.normal(size=(7, 5))}
        return {"block_forward": [given], "feed_forward_forward": [{"X": X, "params": wider}],
                "dropout_forward": [{"X": X, "p": 0.3, "rng": None}]}
    params = init_multihead(rng, 4, 2, d_m=6, dtype=np.float64)
    params |= {"W_o": rng.normal(size=(4, 7)), "b_o": rng.normal(size=7)}
    return {"multihead_forward": [{"X": X, "M": M, "params": params, "heads": 2, "mask": real}]}


def by_hand(stem: str) -> dict[str, list[dict]]:
    """Seeds of functions that no twin table has."""
    if stem == "model":
        return models()
    if stem in ("multihead", "block"):
        return with_memory(stem)
    rng = np.random.default_rng(0)
    X, params = rng.normal(size=(2, 3, 4)), {"gamma": rng.normal(size=4), "beta": X_0}
    weights, small = rng.random(size=(2, 3, 5, 5)), {"lr": 0.1}
    theta = {"a": {"W": rng.normal(size=(3, 2))}, "b": rng.normal(size=2)}
    state = {"t": np.array(3), "m": theta, "v": tree.map_tree(np.abs, theta)}
    step = {"params": theta, "grads": theta, "state": state, **small}
    return {
        "residual": {
            "residual_forward": [{"X": X, "norm": params, "sublayer": Halves(lambda X: (np.tanh(X), None), torch.tanh),
                                  "norm_first": norm_first, "alpha": 1.5, "eps": 0.1} for norm_first in (True, False)],
            "deepnorm": [{"encoder_layers": 2, "decoder_layers": 3}]},
        "recurrent": {"receptive_field": [{"kernel": 3, "dilations": [1, 2, 4]}]},
        "vision": {"attention_rollout": [{"layers": [weights, weights], "residual": 0.5}]},
        "optim": {"sgd_step": [step], "momentum_step": [{**step, "momentum": 0.8}],
                  "rmsprop_step": [{**step, "alpha": 0.8, "eps": 0.1}],
                  "adam_step": [{**step, "betas": (0.8, 0.9), "eps": 0.1}],
                  "adamw_step": [{**step, "weight_decay": 0.1}], "adam_l2_step": [{**step, "weight_decay": 0.1}],
                  "constant": [{"step": 3, "peak": 0.1, "warmup": 5}],
                  "warmup_inverse_sqrt": [{"step": 3, "d": 8, "warmup": 5, "scale": 0.5}],
                  "warmup_linear": [{"step": 7, "peak": 0.1, "warmup": 5, "total": 9, "floor": 0.01}],
                  "warmup_cosine": [{"step": 7, "peak": 0.1, "warmup": 5, "total": 9, "floor": 0.01}]},
    }.get(stem, {})


X_0 = np.random.default_rng(5).normal(size=4)


# Changes of one value


def axis_changes(x):
    for i, n in enumerate(x.shape):
        yield Change("shape", f"axis {i} dropped", lambda x, i=i: np.asarray(x.take(0, axis=i)))
        yield Change("shape", f"axis {i} one longer", lambda x, i=i: np.concatenate([x, x.take([0], axis=i)], axis=i))
        yield Change("shape", f"axis {i} empty", lambda x, i=i: x.take([], axis=i))
        if n > 1:
            yield Change("shape", f"axis {i} one shorter", lambda x, i=i: x.take(range(1, x.shape[i]), axis=i))
            yield Change("shape", f"axis {i} of size one", lambda x, i=i: x.take([0], axis=i))
    for i in range(x.ndim + 1):
        yield Change("shape", f"new axis {i}", lambda x, i=i: np.expand_dims(x, i))
        yield Change("shape", f"new axis {i} of two", lambda x, i=i: np.stack([x, x], i))
    for i, j in itertools.combinations(range(x.ndim), 2):
        if x.shape[i] != x.shape[j]:
            yield Change("shape", f"axes {i} and {j} swapped", lambda x, i=i, j=j: x.swapaxes(i, j).copy())


def array_changes(x):
    yield from axis_changes(x)
    for what, make in (("a list", lambda x: x.tolist()), ("None", lambda x: None), ("the other half's", Other),
                       ("a tuple", lambda x: tuple(x.tolist()) if x.ndim else (x.item(),)),
                       ("a number", lambda x: 1 if x.dtype.kind == "i" else 1.0), ("a name", lambda x: "X"),
                       ("a dict", lambda x: {"X": x}), ("complex", lambda x: x.astype(complex)),
                       ("objects", lambda x: x.astype(object)), ("strings", lambda x: x.astype(str))):
        yield Change("type", what, make)
    for dtype in ("float64", "float32", "float16", "int64", "int32", "uint8", "bool"):
        if x.dtype != dtype:
            yield Change("type", dtype, lambda x, dtype=dtype: x.astype(dtype))
    if x.dtype.kind == "f":
        for bad in (np.nan, np.inf, -np.inf):
            for at in (0, -1, 3):
                yield Change("value", f"{bad} at {at}", lambda x, bad=bad, at=at: planted(x, bad, at))
    elif x.dtype.kind == "i":
        for bad in (-1, -2, -5):
            yield Change("value", f"{bad} inside", lambda x, bad=bad: planted(x, bad, -1))
        yield Change("number", "a million inside", lambda x: planted(x, 10**6, -1))


def planted(x, bad, at):
    x = x.copy()
    if x.size:
        x.flat[at % x.size] = bad
    return x


def instead(*values, kind="type"):
    return (Change(kind, repr(new), lambda x, new=new: new) for new in values)


def number_changes(x):
    wrong = [None, "3", [x], (x,), {}, complex(x), np.array([x, x]), np.nan, Other(np.array(float(x))), True, False]
    yield from instead(*wrong)
    other = [-1, 0, 1, 2, 7] if isinstance(x, int) else [-1.0, 0.0, 1.0, 2.5, np.inf, -np.inf]
    yield from instead(*(new for new in other if new != x), kind="number")
    same = [np.int64(x), np.int32(x)] if isinstance(x, int) else [np.float64(x), np.float32(x)]
    yield from instead(*same, kind="same")
    yield Change("type" if isinstance(x, int) else "number", "half more", lambda x: x + 0.5)


def changes(x):
    """What may happen to one value, whatever it is for."""
    if isinstance(x, np.ndarray):
        yield from array_changes(x)
    elif isinstance(x, bool):
        yield from instead(None, 2, 0.5, "yes", [x], np.array([x, x]))
        yield Change("number", "the other", lambda x: not x)
    elif isinstance(x, int | float):
        yield from number_changes(x)
    elif isinstance(x, str):
        yield from instead("nothing", "", None, 3, x.upper(), [x])
    elif isinstance(x, dict):
        yield from instead(None, [], {}, np.ones((2, 3)), "p", kind="tree")
        for key in x:
            yield Change("tree", f"without {key}", lambda x, key=key: {k: v for k, v in x.items() if k != key})
            yield Change("tree", f"{key} renamed", lambda x, key=key: {k + "_" * (k == key): v for k, v in x.items()})
        yield Change("tree", "one more", lambda x: {**x, "more": next(iter(x.values()), np.ones(2))})
        yield Change("tree", "a number for a name", lambda x: {**x, 3: next(iter(x.values()), np.ones(2))})
    elif isinstance(x, tuple | list):
        yield from instead(None, 5, "axes", (99,), (-99,), ("a",), (1.5,), {}, (None,))
    elif x is None:
        yield from instead(5, -1, "none", [[True]], np.ones((7, 9), bool), np.ones(3), np.zeros((), bool), {}, True,
                           np.nan)


def paths(x, path=()):
    """Every place within an argument."""
    yield path, x
    if isinstance(x, dict | tuple | list):
        for key, value in x.items() if isinstance(x, dict) else enumerate(x):
            yield from paths(value, (*path, key))


def changed(x, path, make):
    """A copy with one place changed."""
    if not path:
        return make(x)
    key, *rest = path
    if isinstance(x, dict):
        return {k: changed(v, rest, make) if k == key else v for k, v in x.items()}
    return type(x)(changed(v, rest, make) if i == key else v for i, v in enumerate(x))


def corruptions(args: dict):
    """(path, change) for every place of every argument."""
    for name, value in args.items():
        for path, part in paths(value, (name,)) if name != "cache" else ():
            if path == ("masks",):
                continue  # *masks: what Python makes of the arguments is a tuple whatever they are
            yield from ((path, change) for change in changes(part))


@functools.cache
def every(stem: str, name: str) -> list[tuple[Seed, dict]]:
    """Each seed of a function with its changes, by place; what an optimiser finds in the parameters is as it was."""
    found = []
    for seed in seeds(stem)[name]:
        places: dict = {}
        for path, change in corruptions(seed.args):
            if not (name.endswith("_step") and change.kind == "value" and path[0] != "grads"):
                places.setdefault(path, []).append(change)
        found.append((seed, places))
    return found


# Judgement


@functools.cache
def spoken_by(half: str, name: str) -> set[str]:
    """The function and those of byhand that it calls, and they call: any of them may be the one that refuses."""
    found, todo, known = set(), [name], written(half)
    while todo:
        one = todo.pop()
        if one in known and one not in found:
            found.add(one)
            todo += [n.id for n in ast.walk(known[one]) if isinstance(n, ast.Name)]
    return {one.removesuffix("_forward") if half == "np" else one for one in found}


@functools.cache
def parameters(half: str, name: str) -> set[str]:
    """Names of the parameters of this function, suffix aside, or of the class's __init__ and fields."""
    found = set()
    for one in (name, f"{name}_forward"):
        for node in ast.walk(written(half).get(one, ast.Module([], []))):
            found |= {node.arg} if isinstance(node, ast.arg) else set()
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
    return found


def rudeness(error: Exception, half: str, name: str, args: dict) -> str:
    """What is wrong with a refusal; nothing, if it is the library's own."""
    text = str(error)
    if type(error) not in (ValueError, TypeError):
        return f"{type(error).__name__}: {text[:90]}"
    who, colon, rest = text.partition(": ")
    if not colon or who not in spoken_by(half, name):
        return f"speaks as no function: {text[:120]}"
    known = parameters(half, who) | parameters(half, name) | {
        key for value in args.values() for path, _ in paths(value) for key in path if isinstance(key, str)}
    known |= {name.removesuffix("s") for name in known}  # one of the masks is a mask
    if not set(re.findall(r"\w+", rest)) & known:
        return f"names no argument: {text[:120]}"
    return ""


def as_given(x, half):
    """An argument as a half gets it: arrays become tensors, and the other half's what they are not."""
    if isinstance(x, Halves):
        return getattr(x, half)
    if isinstance(x, Other):
        return torch.tensor(x.x) if half == "np" else x.x
    if isinstance(x, np.ndarray) and half == "pt":
        return torch.tensor(x)
    if isinstance(x, dict):
        return {k: as_given(v, half) for k, v in x.items()}
    if type(x) in (tuple, list):
        return type(x)(as_given(v, half) for v in x)
    return x


def call(place: str, name: str, args: dict):
    """The function's output, its cache left out, or the error."""
    half = place.split(".")[0]
    function = mutants.as_written(getattr(module(place), name))
    args = {k: as_given(v, half) for k, v in args.items()}
    bound = inspect.BoundArguments(inspect.signature(function), args)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            out = function(*bound.args, **bound.kwargs)
    except Exception as error:
        return error
    return out[0] if half == "np" and name.endswith("_forward") else out


def as_arrays(out) -> list[np.ndarray]:
    """All arrays of an output: a tuple or a tree of gradients has several."""
    if isinstance(out, dict | tuple | list):
        return [x for part in (out.values() if isinstance(out, dict) else out) for x in as_arrays(part)]
    if out is None:
        return []
    return [out.detach().numpy() if isinstance(out, torch.Tensor) else np.asarray(out)]


def apart(a, b, tol=1e-9) -> bool:
    """Whether two outputs differ in shape, or by more than a share `tol` of the largest entry."""
    pairs = list(itertools.zip_longest(as_arrays(a), as_arrays(b)))
    return any(x is None or y is None or x.shape != y.shape or x.size and not
               np.abs(x.astype(float) - y.astype(float)).max() <= tol * max(1.0, np.abs(y.astype(float)).max())
               for x, y in pairs)


# The letters of a signature


def dims(annotation) -> str | None:
    for one in (annotation, *getattr(annotation, "__args__", ())):
        if isinstance(getattr(one, "dim_str", None), str):
            return one.dim_str
    return None


def fits(function, args) -> bool:
    """Whether the shapes of the arrays among the arguments agree on every letter of the signature."""
    sizes: dict = {}
    for name, parameter in inspect.signature(function).parameters.items():
        x, letters = args.get(name), dims(parameter.annotation)
        if isinstance(x, np.ndarray) and letters is not None and "..." not in letters:
            words = letters.split()
            star = next((i for i, word in enumerate(words) if word[0] == "*"), None)
            if len(x.shape) < len(words) - (star is not None) or star is None and len(x.shape) != len(words):
                return False
            if star is not None:
                after = len(words) - star - 1
                lead = x.shape[star:x.ndim - after]
                pairs = [*zip(words[:star], x.shape[:star], strict=True), (words[star], lead),
                         *zip(words[star + 1:], x.shape[x.ndim - after:], strict=True)]
            else:
                pairs = [*zip(words, x.shape, strict=True)]
            if any(sizes.setdefault(word, size) != size for word, size in pairs):
                return False
    return True


# Calls that are accepted: what they must mean

OPTIONAL = re.compile(r"b(_\w+)?|beta|W_g|table")  # names that a tree may lack
FREE = {"self_attention_forward": "W_v", "feed_forward_forward": "W_2", "multihead_forward": "W_o table",
        "head_sum_forward": "V", "embed_forward": "E"}  # sizes of their own, where no bias has to match them


def masks_fit(masks) -> bool:
    """Two axes, (n, m), or those of the one with most; each axis as long as in the others, or 1."""
    rank = max(mask.ndim for mask in masks)
    sizes = [{mask.shape[-i] for mask in masks if mask.ndim >= i} - {1} for i in range(1, rank + 1)]
    return all(mask.ndim in (2, rank) for mask in masks) and all(len(size) <= 1 for size in sizes)


def seen_by(which, name, args) -> tuple | None:
    """The shape of the scores that a mask covers."""
    if "S" in args:
        return args["S"].shape
    if "Q" in args:
        return *args["Q"].shape[:-1], args["K"].shape[-2]
    if "X" in args and name != "mean_pool_forward":
        X, M = args["X"], args.get("M") if which == "memory_mask" or name == "multihead_forward" else None
        return *X.shape[:-1], X.shape[-2] if M is None else M.shape[-2]
    return None


def full_mask(mask, scores, heads=None):
    """The mask at every score, by the rule of the notation page; None where the rule does not allow it.

    (n, m) as it is; else all axes, with 1 where it is shared, the keys in full; with heads also (…, H, n, m).
    """
    if heads and mask.ndim == len(scores) + 1:
        scores = (*scores[:-2], heads, *scores[-2:])
    if mask.ndim == 2:
        fits = mask.shape == scores[-2:] or len(scores) == 2 and mask.shape[0] == 1 and mask.shape[1] == scores[1]
    else:
        fits = mask.ndim == len(scores) and mask.shape[-1] == scores[-1] and all(
            k in (1, n) for k, n in zip(mask.shape, scores, strict=True))
    return np.broadcast_to(mask, scores).copy() if fits else None


def legal(seed: Seed, path, change: Change, args) -> bool:
    """Whether the signature allows what was accepted."""
    function = mutants.as_written(getattr(module(seed.place), seed.name))
    parameter = inspect.signature(function).parameters[path[0]]
    new = args[path[0]]
    for key in path[1:]:
        new = new[key] if not isinstance(new, dict) or key in new else None
    if change.kind in ("value", "tree"):
        return change.kind == "tree" and bool(re.fullmatch(f"without ({OPTIONAL.pattern})", change.what))
    if change.kind == "same":
        return True
    if len(path) > 1:
        if path[0] == "masks":
            return change.kind == "shape" and masks_fit(args["masks"])
        if isinstance(new, np.ndarray) and new.dtype.kind in "iu" and change.kind == "type":
            return not apart(call(seed.place, seed.name, args), call(seed.place, seed.name, seed.args))
        return change.kind == "number" or change.kind == "shape" and path[-1] in FREE.get(seed.name, "").split()
    annotation = parameter.annotation
    if isinstance(new, np.ndarray):
        letters = dims(annotation)
        if letters is None:
            return False
        if path[0] == "bias" and "Q" in args:  # repeated to the scores, and then the same as written out
            full = {**args, "bias": np.broadcast_to(new, seen_by("bias", seed.name, args)).copy()}
            return not apart(call(seed.place, seed.name, args), call(seed.place, seed.name, full), 1e-12)
        if new.dtype.kind not in "iu" and not beartype.door.is_bearable(new, annotation):
            return False
        if path[0] in ("mask", "memory_mask") and (scores := seen_by(path[0], seed.name, args)) is not None:
            full = full_mask(new, scores, args.get("heads") or seed.name == "head_sum_forward" and 3)
            return full is not None and not apart(call(seed.place, seed.name, args),
                                                  call(seed.place, seed.name, {**args, path[0]: full}), 1e-12)
        return True if "..." in letters else fits(function, args)
    if float in (annotation, *typing.get_args(annotation)) and isinstance(new, numbers.Real):
        return not isinstance(new, bool)
    return beartype.door.is_bearable(new, annotation)


def as_listed(seed, change, args, out) -> bool:
    """The log-sum-exp takes its upstream gradient, which may be a number, as NumPy does: a list is an array too."""
    if seed.name != "logsumexp_backward" or not isinstance(args["dL"], list | tuple | float | Other):
        return False
    as_array = np.asarray(args["dL"].x if isinstance(args["dL"], Other) else args["dL"], float)
    return not apart(out, call(seed.place, seed.name, {**args, "dL": as_array}))


def is_adjoint(seed: Seed, args: dict, grads) -> bool:
    """Whether the gradients are those of the forward, which must be linear, at their own shapes: ⟨dY, f(x)⟩ = ⟨dx, x⟩.

    A cache that does not hold the shape of the input lets in the gradient of a larger one, and rightly so.
    """
    grads, rng = grads if isinstance(grads, tuple) else (grads,), np.random.default_rng(1)
    if not all(isinstance(g, np.ndarray) for g in grads):
        return False
    inputs = {name: rng.normal(size=g.shape) for name, g in zip(seed.forward.args, grads, strict=False)}
    if not any(g.size for g in grads):
        return True
    out = call(seed.place, seed.forward.name, {**seed.forward.args, **inputs})
    dOut = args[next(iter(args))]
    if isinstance(out, Exception) or np.shape(out) != np.shape(dOut):
        return False
    return not apart((dOut * out).sum(), sum((g * x).sum() for g, x in zip(grads, inputs.values(), strict=True)))


def complaint(seed: Seed, path, change: Change, torch_too: bool = True) -> str:
    """What is wrong with how a corrupted call is met; nothing, if all is well."""
    of_torch = of_the_other_half if torch_too else lambda *_: ""
    args = {**seed.args, path[0]: changed(seed.args[path[0]], path[1:], change.make)}
    out = call(seed.place, seed.name, args)
    if isinstance(out, Exception):
        return rudeness(out, "np", seed.name, args) or of_torch(seed, change, args, out)
    if any(x.dtype.kind == "f" and not np.isfinite(x).all() for x in as_arrays(out)):
        return "gives NaN or infinity"
    old, new = seed.args[path[0]], args[path[0]]
    if seed.forward and change.kind == "shape":
        return "" if is_adjoint(seed, args, out) else "gives a wrong gradient"
    if change.kind == "same":
        return "another answer" if apart(out, call(seed.place, seed.name, seed.args), 1e-6) else ""
    if not legal(seed, path, change, args) and not as_listed(seed, change, args, out):
        return f"accepted ({change.kind})"
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray) and old.dtype != new.dtype:
        like = call(seed.place, seed.name, {**args, path[0]: new.astype(old.dtype)})
        return "another answer in another dtype" if apart(out, like, 1e-2 if "16" in change.what else 1e-5) else ""
    return of_torch(seed, change, args, out)


def of_the_other_half(seed, change, args, out) -> str:
    """The other half refuses what NumPy refuses, as politely, and else gives the same answer."""
    place, name = seed.place.replace("np.", "pt."), seed.name.removesuffix("_forward")
    if name not in written("pt") or not seed.args.keys() <= parameters("pt", name):
        return ""
    if change.kind == "value" or " holds " in str(out):
        return ""  # torch does not look at values, for which a device would have to wait
    if "expected float32 or float64" in str(out):
        return ""  # torch computes in half precision as well, and adds up in more
    try:
        theirs = call(place, name, args)
    except TypeError:
        return ""  # no tensor holds objects or strings
    if isinstance(theirs, Exception):
        if not isinstance(out, Exception):
            return "" if not any(x.size for x in as_arrays(out)) else f"NumPy accepts it, torch: {theirs}"
        return "" if not (wrong := rudeness(theirs, "pt", name, args)) else f"torch: {wrong}"
    if isinstance(out, Exception):
        return f"torch accepts it, but NumPy: {out}"
    return "torch has another answer" if apart(theirs, out) else ""


# The tests


def named(stem: str, private: bool = False) -> list[str]:
    tree = ast.parse((LIBRARY / f"np/{stem}.py").read_text(encoding="utf-8"))
    return [d.name for d in tree.body if isinstance(d, ast.FunctionDef) and (private or d.name[0] != "_")]


PAIRS = [(stem, name) for stem in STEMS for name in named(stem) if name.endswith(("_forward", "_backward"))]
def picker(data):
    """Hypothesis chooses by number, so that what it prints of a failure can be read."""
    return lambda some: some[data.draw(st.integers(0, len(some) - 1))]


def draw(choose, stem: str, name: str):
    """A seed, a place in its arguments and a change of what is there, each chosen from those that there are."""
    seed, places = choose(every(stem, name))
    path = choose(list(places))
    kinds = sorted({change.kind for change in places[path]})
    kind = choose(kinds)
    return seed, path, choose([change for change in places[path] if change.kind == kind])


def story(seed, path, change, wrong) -> str:
    return f"{seed.name}: {'.'.join(map(str, path))}, {change.what}: {wrong}"


@pytest.mark.parametrize(("stem", "name"), [pair for pair in PAIRS if pair[1] not in UNTRIED])
@settings(max_examples=50)
@given(data=st.data())
def test_wrong_input_is_refused_or_has_a_meaning(stem, name, data):
    assert name in seeds(stem), f"{name} has no right call to start from: add it to the twin table, or to by_hand"
    with as_shipped():
        case = draw(picker(data), stem, name)
        wrong = complaint(*case)
        assert not wrong, story(*case, wrong)


@pytest.mark.parametrize("stem", STEMS)
@settings(max_examples=50)
@given(data=st.data())
def test_so_is_that_of_functions_without_a_backward(stem, data):
    names = [name for name in seeds(stem) if not name.endswith(("_forward", "_backward"))
             and any(places for _, places in every(stem, name))]
    if names:
        with as_shipped():
            case = draw(picker(data), stem, picker(data)(names))
            wrong = complaint(*case)
            assert not wrong, story(*case, wrong)


MIXES = {"batch_norm_forward": "over the whole batch, by design"}


def batched(seed: Seed) -> tuple[dict, dict, list[str]]:
    """Two calls of one shape, and the arguments that a batch of them has an axis more of."""
    parameters = inspect.signature(inspect.unwrap(getattr(module(seed.place), seed.name))).parameters
    names = [name for name, x in seed.args.items() if isinstance(x, np.ndarray) and (
        "*B" in (dims(parameters[name].annotation) or "") or name.endswith("mask") and x.ndim != 2)]
    other = {name: 0.5 * seed.args[name] if seed.args[name].dtype.kind == "f" else seed.args[name] for name in names}
    return seed.args, seed.args | other, names


@pytest.mark.parametrize(("stem", "name"), [
    pair for pair in PAIRS if pair[1].endswith("_forward") and pair[1] not in MIXES | UNTRIED])
def test_a_leading_axis_is_a_batch(stem, name):
    returned = inspect.unwrap(getattr(module(f"np.{stem}"), name)).__annotations__["return"]
    for seed in seeds(stem)[name] if "*B" in str(returned) else ():
        one, two, names = batched(seed)
        if names and seed.args[names[0]].ndim + 1 < 6:
            both = {**one, **{key: np.stack([one[key], two[key]]) for key in names}}
            with as_shipped():
                items = call(seed.place, name, one), call(seed.place, name, two)
                assert not apart(call(seed.place, name, both), np.stack(items), 1e-12), names


# Checks with a hole, kept: the fuzz finds each of them.


def found_through(tries: int = 4000) -> str:
    """The first wrong input that gets through."""
    choose = random.Random(0).choice
    small = [stem for stem in STEMS if stem not in ("model", "translate", "train", "pretrain", "finetune", "generate")]
    asked = [(stem, name) for stem, name in PAIRS if stem in small and name in seeds(stem)]
    with as_shipped():
        for i in range(tries):
            case = draw(choose, *choose(asked))
            if wrong := complaint(*case, torch_too=i > tries // 2):
                return story(*case, wrong)
    return ""


UNSEEN = {  # holes of test_errors.py that its rows find, and no single change of one argument can show
    "the index of the last": "the message is wrong, not the refusal",
    "no key at all": "K and V have to lack theirs together",
    **dict.fromkeys(("no mask to combine", "masks that do not fit", "masks of odd ranks", "masks of the other half"),
                    "combine_masks takes masks without names, which the rows of test_errors.py give it"),
}


@pytest.mark.parametrize("hole", [hole for hole in HOLES if hole not in UNSEEN])
def test_a_check_with_a_hole_is_found(hole, monkeypatch):
    for stem in STEMS:
        seeds(stem)  # right calls, made with the right checks
    with_hole(hole, monkeypatch)
    assert found_through(), "nothing got through"
