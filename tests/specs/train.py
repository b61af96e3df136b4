# ruff: noqa: E501
"""Training: one step is the step of the whole batch, a run that was stopped goes on to the last bit, in either half."""

import functools
import io
import json
import os
import signal
import tempfile
import warnings
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from byhand import tree
from byhand.io import run as io_run
from byhand.io.checkpoint import checkpoints, load_checkpoint, save_checkpoint
from byhand.np import optim
from byhand.np import train as np_train
from byhand.np.block import block_backward, block_forward
from byhand.np.linear import init_linear, linear_backward, linear_forward
from byhand.np.loss import cross_entropy_backward, cross_entropy_forward
from byhand.pt.linear import Linear
from byhand.pt.loss import cross_entropy
from invariants import Compiled, arrays, near, raises, rng, same
from mutants import M, build
from proofs import as_shipped
from specs.block import block_tree, filled

D, V, HEADS, N = 4, 5, 2, 3


def new_folder():
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


# A small model in each half: dropout, two linear layers, cross-entropy over the tokens that count


def small_params(dtype=np.float64):
    params = {"inner": init_linear(rng(), D, 6, dtype=np.float64), "out": init_linear(rng(), 6, V, dtype=np.float64)}
    return tree.map_tree(lambda x: np.asarray(x + 0.1, dtype), params)


def loss_and_grads(params, batch, rng):
    """Without the library's checks of every array, since it runs thousands of times."""
    (X, y), (inner, out) = batch, params.values()
    if rng is not None:
        X = X * (rng.random(X.shape) >= 0.3) / 0.7
    U = X @ inner["W"] + inner["b"]
    sigma = 1 / (1 + np.exp(-U))
    G, real = U * sigma, y != -1
    Z = np.exp(G @ out["W"] + out["b"])
    dZ = Z / Z.sum(axis=-1, keepdims=True)
    L = -np.log(dZ[real, y[real]]).mean()
    dZ[real, y[real]] -= 1
    dZ *= real[..., None] / real.sum(dtype=X.dtype)
    dU = dZ @ out["W"].T * (sigma + G * (1 - sigma))
    rows = [x.reshape(-1, x.shape[-1]) for x in (X, dU, G, dZ)]
    return L, {"inner": {"W": rows[0].T @ rows[1], "b": rows[1].sum(axis=0)},
               "out": {"W": rows[2].T @ rows[3], "b": rows[3].sum(axis=0)}}, real.sum()


def without_dropout(params, batch, rng=None):
    return loss_and_grads(params, batch, None)


class Small(torch.nn.Module):
    def __init__(self, p=0.3):
        super().__init__()
        self.inner, self.out, self.dropout = Linear(D, 6), Linear(6, V), torch.nn.Dropout(p)

    def forward(self, X):
        return self.out(torch.nn.functional.silu(self.inner(self.dropout(X))))


def small_module(p=0.3):
    module = Small(p).double()
    module.load_state_dict(tree.to_torch(tree.flatten(small_params())))
    return module


def loss_fn(module, batch):
    X, y = batch
    return cross_entropy(module(X), y, ignore_index=-1), (y != -1).sum()


def numbers(step, rows=(1, 4), dtype=np.float64):
    """Micro-batches of different sizes, each with other shares of tokens that count: a function of the step."""
    source = np.random.default_rng([5, step])
    found = []
    for k in rows:
        X, y = source.normal(size=(k, N, D)).astype(dtype), source.integers(V, size=(k, N))
        y[:, 1:][source.random((k, N - 1)) < 0.5] = -1
        found.append((X, y))
    return found


def tensors(step, rows=(1, 4), dtype=np.float64):
    return [tuple(map(torch.tensor, batch)) for batch in numbers(step, rows, dtype)]


def whole(batches):
    parts = zip(*batches, strict=True)
    return [tuple(torch.cat(part) if isinstance(part[0], torch.Tensor) else np.concatenate(part) for part in parts)]


def rate(step):
    return optim.warmup_cosine(step, 0.05, 4, 40)


HELD_OUT = numbers(0, (6,))[0]


def held_out(params):
    return without_dropout(params, HELD_OUT)[0]


def held_out_torch(module):
    return loss_fn(module, tuple(map(torch.tensor, HELD_OUT)))[0]


def equal(a, b, what="two runs", tol=0.0):
    """Two trees, or the trees of two runs: the same names and dtypes, and values to the last bit or within tol."""
    if isinstance(a, tuple):
        a, b = a._asdict(), b._asdict()
    a, b = tree.flatten(a), tree.flatten(b)
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype, name
        near(a[name], b[name], f"{name} of {what}", tol * max(1.0, np.abs(b[name]).max(initial=0.0)))


def refuses_trees(a, b):
    try:
        equal(a, b)
    except AssertionError:
        return True
    return False


# One step


def accumulation_is_a_mean_over_tokens(module):
    """Micro-batches of 1, 4 and 2 rows and one batch of 7: the same loss, the same norm, the same step, clipped or not."""
    batches, params = numbers(1, (1, 4, 2)), small_params()
    assert len({int((y != -1).sum()) for _, y in batches}) == 3
    for max_norm in (None, 0.1):
        one, many = (module.train_step(params, optim.init_state(params), some, without_dropout, 0.1, max_norm=max_norm)
                     for some in (whole(batches), batches))
        near(many.loss, one.loss, "losses")
        near(many.norm, one.norm, "norms", 1e-11)
        equal(many.state, one.state, "the moments", 1e-11)
        near(one.loss, without_dropout(params, whole(batches)[0])[0], "loss and the loss before the step", 0.0)
        assert one.norm > 0.2
        first = np.sqrt(sum(np.square(10 * m).sum() for m in arrays(one.state["m"])))  # m is a tenth of the gradient
        near(first, max_norm or one.norm, "norms of the gradient that was used")


def a_step_is_clipped_adamw(module):
    params = small_params()
    state, mask, batch = optim.init_state(params), optim.decay_mask(params), whole(numbers(1))
    options = {"betas": (0.7, 0.95), "eps": 1e-3, "weight_decay": 0.3, "mask": mask}
    mine, held = params, state
    for t in range(1, 4):
        _, grads, _ = without_dropout(mine, batch[0])
        grads, norm = optim.clip_by_global_norm(grads, 0.2)
        mine, held = optim.adamw_step(mine, grads, held, 0.01 * t, (0.7, 0.95), 1e-3, 0.3, mask)
        params, state, _, got = module.train_step(params, state, batch, without_dropout, 0.01 * t, max_norm=0.2, **options)
        assert got == norm
    equal(params, mine)
    equal(state, held)


def in_place_is_the_same(module):
    params = small_params()
    for x in arrays(params):
        x.flags.writeable = False
    copy, state = tree.map_tree(np.copy, params), optim.init_state(params)
    held, W = optim.init_state(copy), copy["out"]["W"]
    for t in range(1, 4):
        params, state, *pure = module.train_step(params, state, numbers(t), without_dropout, 0.1)
        found = module.train_step(copy, held, numbers(t), without_dropout, 0.1, inplace=True)
        assert list(found[2:]) == pure and found.params is copy and found.state is held and copy["out"]["W"] is W
    equal(copy, params)
    equal(held, state)


def gradients_may_come_in_one_buffer(module):
    """A function that writes its gradients where it wrote the last ones, as fast ones do."""
    params, place = small_params(), tree.map_tree(np.zeros_like, small_params())

    def reusing(params, batch, rng):
        L, grads, w = without_dropout(params, batch)
        tree.map_tree(np.copyto, place, grads)
        return L, place, w

    one, two = (module.train_step(params, optim.init_state(params), numbers(1), f, 0.1) for f in (without_dropout, reusing))
    equal(one.params, two.params)


def float32_stays_float32(module):
    params = small_params(np.float32)
    batches = [(X.astype(np.float32), y) for X, y in numbers(1)]
    found = module.train_step(params, optim.init_state(params), batches, without_dropout, np.float64(0.1), max_norm=np.float64(0.1))
    assert all(x.dtype == np.float32 for x in arrays(found.params) + arrays(found.state["m"]))
    assert type(found.loss) is float and type(found.norm) is float


# The loop


def run(module, steps, **options):
    given = {"batch_at": numbers, "loss_and_grads": loss_and_grads, "schedule": rate, "evaluate": held_out, "seed": 3,
             "evaluate_every": 2, "max_norm": 0.3, "save_every": 3} | options
    params = given.pop("params", None) or small_params()
    return module.train(params, given.pop("batch_at"), given.pop("loss_and_grads"), steps, given.pop("schedule"), **given)


def steps_count_from_one(module):
    """Batch, rate and evaluation are asked for by the step, once a step, however many micro-batches it has."""
    seen = {"batch": [], "rate": [], "evaluate": []}
    weights = []

    def batch_at(step):
        seen["batch"].append(step)
        return numbers(step)

    def schedule(step):
        seen["rate"].append(step)
        return rate(step)

    def evaluate(params):
        seen["evaluate"].append(len(seen["rate"]))
        weights.append(params["out"]["W"].copy())
        return float(len(weights))

    found = run(module, 7, batch_at=batch_at, schedule=schedule, evaluate=evaluate)
    assert seen["batch"] == seen["rate"] == list(range(1, 8)) and seen["evaluate"] == [2, 4, 6]
    same(found.history["lr"], [rate(t) for t in range(1, 8)], "rates of the history and of the schedule")
    same(found.history["evaluated_at"], [2, 4, 6])
    same(found.history["evaluation"], [1, 2, 3])
    assert found.state["t"] == 7 and [len(found.history[name]) for name in ("loss", "norm", "lr")] == [7, 7, 7]
    assert {name: x.dtype.kind for name, x in found.history.items()} == {
        "loss": "f", "norm": "f", "lr": "f", "evaluated_at": "i", "evaluation": "f"}


def a_run_is_its_steps(module):
    """With the mask that spares biases and gains, and default_rng([seed, step]) for dropout."""
    params = given = small_params()
    state, mask = optim.init_state(params), optim.decay_mask(params)
    for t in range(1, 5):
        params, state, loss, norm = np_train.train_step(
            params, state, numbers(t), loss_and_grads, rate(t), max_norm=0.3, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.5, mask=mask,
            rng=np.random.default_rng([3, t]))
    found = run(module, 4, params=given, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.5)
    equal(found.params, params)
    equal(found.state, state)
    assert found.history["loss"][-1] == loss and found.history["norm"][-1] == norm
    equal(given, small_params())
    other = run(module, 4, seed=4, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.5)
    assert refuses_trees(other.params, params)
    spared = run(module, 1, weight_decay=0.5, exempt=("inner",)).params
    one = run(module, 1, weight_decay=0.5).params
    equal(spared["out"], one["out"])
    near(spared["inner"]["W"] - one["inner"]["W"], 0.5 * rate(1) * given["inner"]["W"], "what decay took")


def a_stopped_run_goes_on_to_the_last_bit(module):
    """Eight steps; five and three; and stopped by Ctrl-C in a batch, in a step, in an evaluation."""
    once = run(module, 8)
    with new_folder() as folder:
        run(module, 5, folder=folder)
        equal(run(module, 8, folder=folder), once)
        equal(run(module, 8, folder=folder), once)  # nothing is left to do
    with new_folder() as folder:  # where nothing is evaluated, no tree of the best is in the file
        run(module, 5, folder=folder, evaluate=None)
        equal(run(module, 8, folder=folder, evaluate=None), run(module, 8, evaluate=None))
    for where, at, step in (("batch_at", 7, 6), ("loss_and_grads", 12, 5), ("evaluate", 3, 6), ("schedule", 8, 7)):
        with new_folder() as folder:
            calls = []

            def interrupted(*args, where=where, at=at, calls=calls):
                calls.append(1)
                if len(calls) == at:
                    raise KeyboardInterrupt
                return {"batch_at": numbers, "loss_and_grads": loss_and_grads, "evaluate": held_out, "schedule": rate}[where](*args)

            raises(KeyboardInterrupt, "", lambda: run(module, 8, folder=folder, save_every=50, **{where: interrupted}))  # noqa: B023
            assert checkpoints(folder) == [step]
            equal(run(module, 8, folder=folder), once)


def an_interrupt_does_not_tear_a_step(module):
    """Ctrl-C while the update is being written, or right after it: the checkpoint has all of the step."""
    once, real = run(module, 6), module.adamw_step_
    for before in (True, False):
        with new_folder() as folder, pytest.MonkeyPatch.context() as patch:
            calls = []

            def update(params, grads, state, *rest, before=before, calls=calls):
                calls.append(1)
                if len(calls) == 3 and before:
                    signal.raise_signal(signal.SIGINT)
                new = real(params, grads, state, *rest)
                if len(calls) == 3 and not before:
                    signal.raise_signal(signal.SIGINT)
                return new

            patch.setattr(module, "adamw_step_", update)
            raises(KeyboardInterrupt, "", lambda: run(module, 6, folder=folder))  # noqa: B023
            patch.undo()
            assert checkpoints(folder)[-1] == 3
            equal(run(module, 6, folder=folder), once)


def the_best_is_kept_and_patience_ends(module):
    scores, seen = [5.0, 4.0, 4.5, 4.0, 3.0, 9.0, 3.5, 3.2, 1.0, 0.5], []

    def evaluate(params):
        seen.append(tree.map_tree(np.copy, params))
        return scores[len(seen) - 1]

    with new_folder() as folder:
        found = run(module, 20, evaluate=evaluate, patience=3, folder=folder)
        assert found.state["t"] == 16 and len(seen) == 8
        same(found.history["evaluation"], scores[:8])
        equal(found.best, seen[4])
        equal(found.params, seen[7])
        equal(run(module, 20, evaluate=evaluate, patience=3, folder=folder), found)
        assert len(seen) == 8 and checkpoints(folder) == [15, 16]
        more = run(module, 20, evaluate=evaluate, patience=5, folder=folder)  # its patience counts from the best on
        assert more.state["t"] == 20 and len(seen) == 10
        equal(more.best, seen[9])
    seen.clear()
    found = run(module, 20, evaluate=evaluate, patience=2)
    assert found.state["t"] == 8  # an equal score is no better
    equal(found.best, seen[1])
    with new_folder() as folder:  # and what was best before a stop is best after it
        seen.clear()
        run(module, 14, evaluate=evaluate, folder=folder)
        equal(run(module, 16, evaluate=evaluate, folder=folder).best, seen[4])
    plain = run(module, 3, evaluate=None)
    equal(plain.best, plain.params)
    assert not len(plain.history["evaluation"])


def checkpoints_come_when_they_should(module):
    with new_folder() as folder:
        seen = []

        def batch_at(step):
            seen.append(checkpoints(folder))
            return numbers(step)

        found = run(module, 8, batch_at=batch_at, folder=folder, keep=2, config={"d": 4})
        assert seen == [[]] * 3 + [[3]] * 3 + [[3, 6]] * 2 and checkpoints(folder) == [6, 8]
        saved = load_checkpoint(folder)
        equal({**saved.trees}, found._asdict())
        assert saved.meta["config"]["seed"] == 3 and saved.meta["config"]["model"] == {"d": 4}
        assert not [x for x in Path(folder).iterdir() if x.suffix not in (".json", ".safetensors")]


def other_runs_are_refused(module):
    with new_folder() as folder:
        run(module, 3, folder=folder, config={"d": 4})
        go_on = partial(run, module, 6, folder=folder)
        for says, options in (
            ("holds step 3, expected an empty folder, or resume=True", {"resume": False}),
            ("seed is 3, expected 4", {"seed": 4}), ("d is 4, expected 5", {"config": {"d": 5}}),
            ("max_norm is 0.3, expected 0.5", {"max_norm": 0.5}), ("weight_decay is 0.01, expected 0.2", {"weight_decay": 0.2}),
            (r"betas is \[0.9, 0.999\], expected \[0.9, 0.9\]", {"betas": (0.9, 0.9)}), ("eps is", {"eps": 1e-3}),
            (r"exempt is \['E', 'table'\], expected \['E'\]", {"exempt": ("E",)}),
            ("params has .* as float64", {"params": small_params(np.float32)}),
            ("params lacks other", {"params": small_params() | {"other": np.zeros(1)}}),
        ):
            raises(ValueError, says, lambda o=options: go_on(**{"config": {"d": 4}} | o))
        raises(ValueError, "holds step 3, expected at most steps, 2", lambda: run(module, 2, folder=folder, config={"d": 4}))
        newest = Path(folder) / json.loads((Path(folder) / "step-000003.json").read_text())["file"]
        newest.write_bytes(newest.read_bytes()[:-1])
        raises(ValueError, "cut short", lambda: go_on(config={"d": 4}))
    with new_folder() as folder:
        save_checkpoint(folder, 3, {"params": small_params(), "state": optim.init_state(small_params())})
        raises(ValueError, "step-000003 of .* is of another run", lambda: run(module, 6, folder=folder))
        (meta,) = [{"config": io_run.settings(None, seed=3, max_norm=0.3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, exempt=optim.EXEMPT)}]
        save_checkpoint(folder, 4, {"params": small_params(), "state": optim.init_state(small_params())}, meta)
        raises(ValueError, "step 4 of .* has no history", lambda: run(module, 6, folder=folder))


def wrong_input_is_refused(module):
    params, state, batch = small_params(), optim.init_state(small_params()), numbers(1)
    for error, says, batches, f in (
        (TypeError, "train_step: batches is numpy.ndarray, expected a list or a tuple", batch[0][0], without_dropout),
        (ValueError, "train_step: batches is empty", [], without_dropout),
        (ValueError, "weight is 0", batch, lambda *a: (1.0, params, 0)),
        (TypeError, "train_step: loss is str, expected a number", batch, lambda *a: ("1", params, 2)),
        (ValueError, "loss is nan", batch, lambda *a: (np.nan, params, 2)),
        (ValueError, "grads.out.b holds inf", batch[:1], lambda *a: (1.0, tree.unflatten(tree.flatten(params) | {"out.b": np.full(V, np.inf)}), 2)),
    ):
        with as_shipped():
            raises(error, says, lambda b=batches, f=f: module.train_step(params, state, b, f, 0.1))
    state["v"]["out"]["b"][0] = np.inf
    raises(ValueError, "v.out.b holds inf", lambda: module.train_step(params, state, batch, without_dropout, 0.1))
    for error, says, options in (
        (ValueError, "train: seed is -1", {"seed": -1}), (ValueError, "evaluate_every is 0", {"evaluate_every": 0}),
        (ValueError, "save_every is 0", {"save_every": 0}), (ValueError, "patience is 0", {"patience": 0}),
        (ValueError, "patience is 2 but evaluate is None", {"patience": 2, "evaluate": None}),
        (ValueError, "train: evaluation after step 2 is nan", {"evaluate": lambda params: np.nan}),
        (TypeError, "train: evaluation after step 2 is dict, expected a number", {"evaluate": lambda params: {}}),
        (ValueError, r"train: schedule\(1\) is nan", {"schedule": lambda step: np.nan}),
        (TypeError, r"train: schedule\(1\) is NoneType, expected a number", {"schedule": lambda step: None}),
        (ValueError, r"train: schedule\(1\) has shape \(1,\), expected a number", {"schedule": lambda step: np.ones(1)}),
        (TypeError, "train_step: loss_and_grads gave 2 things, expected 3: a mean loss, its gradients, a weight",
         {"loss_and_grads": lambda *a: loss_and_grads(*a)[:2]}),
        (TypeError, "train_step: loss_and_grads gave float, expected", {"loss_and_grads": lambda *a: 1.0}),
        (TypeError, "train_step: batches is generator, expected a list", {"batch_at": lambda step: (x for x in numbers(step))}),
        (TypeError, "train: schedule is float, expected a function", {"schedule": 0.1}),
        (TypeError, "train: batch_at is list, expected a function", {"batch_at": numbers(1)}),
        (TypeError, "train: evaluate is float, expected a function", {"evaluate": 1.0}),
        (TypeError, "train: folder is int, expected text or Path", {"folder": 3}),
        (TypeError, "train: steps is float, expected a whole number", {"steps": 3.0}),
        (TypeError, "train: exempt is str, expected a tuple", {"exempt": "table"}),
    ):
        raises(error, says, lambda o=options: run(module, **{"steps": 4} | o))
    with new_folder() as folder:
        (Path(folder) / "file").write_text("mine")
        asked = []
        raises(OSError, "file cannot be used", lambda: run(module, 4, folder=f"{folder}/file", batch_at=asked.append))
        assert not asked  # before the first step
    raises(ValueError, "steps is 0", lambda: run(module, 0))


def a_run_that_blows_up_leaves_the_last_checkpoint(module):
    with new_folder() as folder:
        calls = []

        def f(params, batch, rng):
            calls.append(1)
            L, grads, w = loss_and_grads(params, batch, rng)
            return (np.nan if len(calls) > 16 else L), grads, w  # from step 9 on, of two micro-batches each

        raises(ValueError, "loss is nan", lambda: run(module, 20, loss_and_grads=f, folder=folder))
        assert checkpoints(folder) == [3, 6]
        assert load_checkpoint(folder).trees["history"]["loss"].shape == (6,)
def tensors_become_numbers_now_and_then(module):
    """Each look at a loss makes a GPU finish what it was told: all of them at every twentieth step."""
    for name in ("loss", "norm"):
        history, looks = module.History(), []

        class Late:
            def __init__(self, x, looks=looks):
                self.x, self.looks = x, looks

            def __float__(self):
                self.looks.append(self.x)
                return self.x

        def step(t, history=history, name=name, Late=Late):
            found = {"loss": 1.0, "norm": 1.0, name: np.inf if t == 25 else 1.0}
            history.add(Late(found["loss"]), Late(found["norm"]), 0.1)

        for t in range(1, 40):
            step(t)
            assert len(looks) == (0 if t < 20 else 40)
        raises(ValueError, f"train: {name} at step 25 is inf, expected a finite number", lambda step=step: step(40))
        raises(ValueError, f"train: {name} at step 25", history.arrays)
        raises(ValueError, f"train: {name} at step 25", lambda history=history: history.is_due(40))


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Notebook(io.StringIO):
    """What a kernel has for stderr."""

    __module__ = "ipykernel.iostream"


def progress_is_shown_where_it_is_read(module):
    """A bar on a terminal; a line a minute elsewhere, and none in a run of seconds; a notebook would keep it for ever."""
    for place in (io.StringIO(), Terminal(), Notebook()):
        with redirect_stderr(place), redirect_stdout(io.StringIO()) as out, pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "LOOK", 2)
            losses = run(np_train_with(module), 4, evaluate=None).history["loss"]
        text = place.getvalue()
        shown = "4/4" in text and f"loss={losses[3]:.4f}" in text
        assert not out.getvalue() and shown is place.isatty() and bool(text) is place.isatty()
    for place, lines in ((io.StringIO(), 3), (Notebook(), 0), (Terminal(), 0)):
        clock = [100.0]
        with redirect_stderr(place), pytest.MonkeyPatch.context() as patch:
            patch.setattr(module.time, "monotonic", lambda clock=clock: clock[0])
            history = module.History()
            for _ in range(200):
                history.add(1.0, 1.0, 0.1)
            with module.Progress(history, 1000) as bar:
                for t in range(201, 301):
                    clock[0] += 2.0
                    history.add(2.0 - t / 200, 1.0, 0.003)
                    bar.show()
        found = [line for line in place.getvalue().splitlines() if " steps a second" in line]
        assert len(found) == lines
        if lines:
            assert found[1] == "step 260/1000, loss 0.7000, lr 0.003, 0.5 steps a second, 0:24:40 left"
    with redirect_stderr(Terminal()) as place, module.Progress(module.History(), 5, shown=False) as bar:
        bar.show()
    assert not place.getvalue()


def np_train_with(module):
    """np.train with History, RunFolder, Progress and so on of another byhand.io.run."""
    made = build("np.train")
    for name in ("History", "Progress", "Run", "RunFolder", "settings"):
        setattr(made, name, getattr(module, name))
    return made


def through_the_loop(check):
    """A check of the loop as a check of what it calls."""
    @functools.wraps(check)
    def invariant(module):
        check(np_train_with(module))

    return invariant



def block_loss_and_grads(params, batch, rng):
    X, y = batch
    H, block = block_forward(X, params["block"], HEADS, np.tri(N, dtype=bool))
    logits, out = linear_forward(H, **params["out"])
    L, cache = cross_entropy_forward(logits, y, ignore_index=-1)
    dH, dW, db = linear_backward(cross_entropy_backward(1.0, cache), out)
    return L, {"block": block_backward(dH, block)[2], "out": {"W": dW, "b": db}}, (y != -1).sum()


def a_nan_is_looked_for_where_it_must_come_out(module):
    """Layers are not asked at every step; the loss is, and with no loss to show it the gradients. Elsewhere they are."""
    params = {"block": filled(block_tree(), rng()), "out": init_linear(rng(), D, V, dtype=np.float64)}
    state = optim.init_state(params)
    params["block"]["ff"]["W_1"][0, 0] = np.nan
    batches, rest = numbers(1, (2,)), (block_loss_and_grads, 1e-3)
    raises(ValueError, "W_1'.*holds nan", lambda: block_loss_and_grads(params, batches[0], None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        raises(ValueError, "train_step: loss is nan", lambda: module.train_step(params, state, batches, *rest))
    raises(ValueError, "W_1'.*holds nan", lambda: block_loss_and_grads(params, batches[0], None))

    def without_loss(params, batch, rng):
        L, grads, w = loss_and_grads(params, batch, rng)
        return L, tree.map_tree(lambda g: g * np.nan, grads), w

    params = small_params()
    raises(ValueError, "holds nan", lambda: module.train_step(params, optim.init_state(params), batches, without_loss, 1e-3))


def torch_run(module, steps, net=None, **options):
    given = {"batch_at": tensors, "loss_fn": loss_fn, "schedule": rate, "evaluate": held_out_torch, "seed": 3,
             "evaluate_every": 2, "max_norm": 0.3, "save_every": 3} | options
    net = small_module() if net is None else net
    return module.train(net, given.pop("batch_at"), given.pop("loss_fn"), steps, given.pop("schedule"), **given)


class Normed(torch.nn.Module):
    """With running means, which no gradient moves; and one that is not to be saved."""

    def __init__(self):
        super().__init__()
        self.small, self.norm = small_module(), torch.nn.BatchNorm1d(D, dtype=torch.float64)
        self.register_buffer("passing", torch.zeros(2), persistent=False)

    def forward(self, X):
        return self.small(self.norm(X.mT).mT)


def buffers_go_on_to_the_last_bit(module):
    """In what is saved, what comes back and what is the best; a compiled module's names are those of the one inside."""
    once = torch_run(module, 8, Normed())
    with new_folder() as folder:
        torch_run(module, 5, Normed(), folder=folder)
        net = Normed()
        found = torch_run(module, 8, net, folder=folder)
        equal(found, once)
        equal(found.params, tree.from_torch(net))
    assert found.params["norm"]["running_mean"].any() and found.params["norm"]["num_batches_tracked"] == 16
    assert found.params.keys() == found.best.keys() == {"small", "norm"}
    at = int(once.history["evaluation"].argmin())
    equal(once.best, torch_run(module, int(once.history["evaluated_at"][at]), Normed()).params, "best and that of its step")
    raises(ValueError, "train: module has no parameter that requires a gradient", lambda: torch_run(module, 2, torch.nn.Identity()))
    raises(ValueError, "train: module has no parameter that requires a gradient",
           lambda: torch_run(module, 2, small_module().requires_grad_(False)))


def names_are_those_of_the_module(module):
    inside = small_module()
    inside.out = Compiled(inside.out)
    for wrapped in (Compiled(small_module()), inside):
        found = torch_run(module, 2, wrapped)
        equal(found.params, torch_run(module, 2, small_module()).params, "compiled and plain", 1e-12)
        assert found.state["m"].keys() == found.params.keys() == {"inner", "out"}


def bfloat16_goes_on_to_the_last_bit(module):
    def of_half():
        return small_module(p=0.0).bfloat16()

    options = {"batch_at": lambda step: [(X.bfloat16(), y) for X, y in tensors(step)], "evaluate": None}
    once = torch_run(module, 6, of_half(), **options)
    assert {x.dtype for x in tree.flatten(once.params).values()} == {np.dtype(np.float32)}
    with new_folder() as folder:
        torch_run(module, 3, of_half(), folder=folder, **options)
        equal(torch_run(module, 6, of_half(), folder=folder, **options), once)


def torch_accumulates_over_tokens(module):
    for max_norm in (None, 0.1, 1e3):
        found = []
        for batches in (tensors(1, (1, 4, 2)), whole(tensors(1, (1, 4, 2)))):
            net = small_module(p=0.0)
            optimizer = module.adamw(net)
            net.out.b.grad = torch.ones(V, dtype=torch.float64)  # of a step before
            numbers = module.train_step(net, optimizer, batches, loss_fn, 0.1, max_norm=max_norm)
            found.append({"now": tree.from_torch(net), "state": module.optimizer_state(net, optimizer),
                          "loss": numbers[0].numpy(), "norm": numbers[1].numpy()})
        equal(*found, tol=1e-11)
        assert 0.2 < found[0]["norm"] < 1e3
        first = np.sqrt(sum(np.square(10 * m).sum() for m in arrays(found[0]["state"]["m"])))
        near(first, min(max_norm or 1e3, found[0]["norm"]), "norms of the gradient that was used")


def a_stopped_torch_run_goes_on_to_the_last_bit(module):
    once = torch_run(module, 8)
    with new_folder() as folder:
        torch_run(module, 5, folder=folder)
        torch.manual_seed(99)
        net = small_module()
        found = torch_run(module, 8, net, folder=folder)
        equal(found, once)
        equal(found.params, tree.from_torch(net))
        saved = load_checkpoint(folder)
        equal({**saved.trees}, found._asdict())
    with new_folder() as folder:
        calls = []

        def interrupted(step):
            calls.append(step)
            if step == 6:
                raise KeyboardInterrupt
            return tensors(step)

        raises(KeyboardInterrupt, "", lambda: torch_run(module, 8, batch_at=interrupted, folder=folder))
        assert checkpoints(folder)[-1] == 5
        equal(torch_run(module, 8, folder=folder), once)
    with new_folder() as folder:
        torch_run(module, 2, folder=folder, evaluate=None)
        equal(torch_run(module, 4, folder=folder, evaluate=None), torch_run(module, 4, evaluate=None))
    with new_folder() as folder:  # what was best before the stop is best after it
        scores = iter(range(4))
        worse = partial(torch_run, module, evaluate=lambda net: next(scores), folder=folder)
        first = worse(2)
        equal(worse(6).best, first.params)


def the_halves_go_on_with_each_others_runs(module):
    """Four steps in one, three in the other, without dropout: as seven in either."""
    options = {"evaluate": held_out, "loss_and_grads": without_dropout}
    once = run(np_train, 7, **options)
    for first in ("np", "pt"):
        with new_folder() as folder:
            def ours(steps, folder=folder):
                return run(np_train, steps, folder=folder, **options)

            def theirs(steps, folder=folder):
                return torch_run(module, steps, small_module(p=0.0), folder=folder)

            one, two = (ours, theirs) if first == "np" else (theirs, ours)
            equal(one(4), run(np_train, 4, **options), tol=1e-12)
            equal(two(7), once, f"a run begun in {first} and one", 1e-12)


def evaluation_is_without_dropout_and_gradients(module):
    net, seen = small_module(), []
    net.eval()

    def evaluate(given):
        seen.append((given.training, given.inner.training, torch.is_grad_enabled()))
        return held_out_torch(given)

    def training(given, batch):
        seen.append((given.training, given.inner.training, torch.is_grad_enabled()))
        return loss_fn(given, batch)

    found = torch_run(module, 3, net, evaluate=evaluate, evaluate_every=1, loss_fn=training, batch_at=partial(tensors, rows=(2,)))
    assert seen == [(True, True, True), (False, False, False)] * 3
    assert not net.training and not net.inner.training  # as it came
    near(found.history["evaluation"][-1], held_out(found.params), "the last evaluation and that of the other half")
    torch_run(module, 1, net.train(), loss_fn=lambda given, batch: loss_fn(given.eval(), batch))
    assert net.training


def random_numbers_are_a_matter_of_seed_and_step(module):
    def state():
        return torch.get_rng_state().numpy().copy()

    net = small_module()
    torch.manual_seed(11)
    before, first = state(), torch_run(module, 4, net)
    same(state(), before, "random state before and after")
    torch.manual_seed(12)
    equal(torch_run(module, 4), first)
    assert refuses_trees(torch_run(module, 4, seed=4).params, first.params)
    seen = []

    def draws(net, batch):
        seen.append(torch.rand(1).item())
        return loss_fn(net, batch)

    torch_run(module, 3, loss_fn=draws)
    assert len(set(seen)) == 6


def the_options_reach_the_optimiser(module):
    options = {"betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.5, "exempt": ("inner",), "max_norm": None}
    ours = run(np_train, 5, loss_and_grads=without_dropout, **options)
    equal(torch_run(module, 5, small_module(p=0.0), **options), ours, "the halves", 1e-12)
    with new_folder() as folder:
        torch_run(module, 2, folder=folder, **options)
        for says, change in (("betas", {"betas": (0.9, 0.9)}), ("eps", {"eps": 1e-8}), ("weight_decay", {"weight_decay": 0.1}),
                             ("exempt", {"exempt": ()}), ("max_norm", {"max_norm": 1.0}), ("seed", {"seed": 1}), ("model", {"config": 2})):
            raises(ValueError, f"{says} is .*, expected", lambda c=change: torch_run(module, 4, folder=folder, **options | c))
        raises(ValueError, "resume=True", lambda: torch_run(module, 4, folder=folder, resume=False, **options))


def all_go_on_from_where_the_first_does(module):
    """Though this one sees a later checkpoint, as one does that is not told which: they would wait for each other for ever."""
    drawn, broadcast = [], dist.broadcast

    def of_the_first(x, src):
        return x.fill_(2) if x.dtype == torch.int64 else broadcast(x, src)

    def batch_at(step):
        drawn.append(step)
        return tensors(step)

    with new_folder() as folder:
        torch_run(module, 4, small_module(p=0.0), folder=folder, save_every=2)
        assert checkpoints(folder) == [2, 4]
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        dist.broadcast = of_the_first
        try:
            torch_run(module, 4, small_module(p=0.0), folder=folder, save_every=2, batch_at=batch_at)
        finally:
            dist.broadcast = broadcast
            dist.destroy_process_group()
    assert drawn == [3, 4], drawn


def an_interrupt_asks_no_other_process(module):
    """Where parameters are cut, what has not been saved before is lost: the others may never come to send their shares."""
    def interrupted(step):
        if step == 4:
            raise KeyboardInterrupt
        return tensors(step)

    cut, module.cut = module.cut, lambda *_: None  # one process alone has nothing to cut
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        for shard, saved in ((False, [2, 3]), (True, [2])):
            with new_folder() as folder:
                raises(KeyboardInterrupt, "", lambda: torch_run(module, 6, small_module(p=0.0), batch_at=interrupted, folder=folder, save_every=2, shard=shard))  # noqa: B023
                assert checkpoints(folder) == saved, (shard, checkpoints(folder))
    finally:
        module.cut = cut
        dist.destroy_process_group()


class Plain(torch.nn.Module):
    """Of torch's own parts."""

    def __init__(self):
        super().__init__()
        self.inner, self.out = torch.nn.Linear(D, 6), torch.nn.Linear(6, V)
        source = torch.Generator().manual_seed(0)
        for p in self.parameters():
            torch.nn.init.normal_(p, generator=source)
        self.seen = []

    def forward(self, X):
        H = self.inner(X).tanh()
        if not torch.compiler.is_compiling():
            self.seen.append(H.dtype)
        return self.out(H)


def autocast_computes_in_bfloat16_and_keeps_float32(module):
    single = partial(tensors, dtype=np.float32)
    X, y = (torch.tensor(HELD_OUT[0], dtype=torch.float32), torch.tensor(HELD_OUT[1]))
    evaluate, found = (lambda given: loss_fn(given, (X, y))[0]), {}
    for dtype in (None, torch.bfloat16):
        net = Plain()
        found[dtype] = torch_run(module, 6, net, batch_at=single, evaluate=evaluate, autocast=dtype)
        assert set(net.seen) == {dtype or torch.float32}  # in the steps and in the evaluations
        assert {p.dtype for p in net.parameters()} == {torch.float32}
    near(found[None].history["loss"], found[torch.bfloat16].history["loss"], "losses in both", 0.1)
    for wrong in (torch.float16, torch.float32):
        raises(ValueError, "autocast is torch.float.*, expected torch.bfloat16 or None",
               lambda wrong=wrong: torch_run(module, 2, Plain(), batch_at=single, autocast=wrong))


def torch_refuses_wrong_input(module):
    net = small_module()
    optimizer = module.adamw(net)
    for error, says, batches, f, max_norm in (
        (TypeError, "train_step: batches is torch.Tensor", tensors(1)[0][0], loss_fn, None),
        (ValueError, "train_step: batches is empty", [], loss_fn, None),
        (ValueError, r"loss has shape \(2,\), expected \(\)", tensors(1), lambda *a: (torch.ones(2, requires_grad=True), 1), None),
        (TypeError, "loss is float, expected a torch tensor", tensors(1), lambda *a: (1.0, 1), None),
        *((ValueError, f"train_step: weight is {w}, expected a finite number greater than 0", tensors(1), lambda *a, w=w: (loss_fn(*a)[0], w), None) for w in (0, -1)),
        (ValueError, r"train_step: weight has shape \(2,\), expected a number", tensors(1), lambda *a: (loss_fn(*a)[0], torch.ones(2)), None),
        (TypeError, "train_step: weight is str, expected a number", tensors(1), lambda *a: (loss_fn(*a)[0], "2"), None),
        (TypeError, "loss_fn gave torch.Tensor, expected 2: a mean loss, a weight", tensors(1), lambda *a: loss_fn(*a)[0], None),
        (TypeError, "loss_fn gave 3 things", tensors(1), lambda *a: (*loss_fn(*a), 1), None),
        (ValueError, "max_norm is 0", tensors(1), loss_fn, 0),
    ):
        with as_shipped():
            raises(error, says, lambda b=batches, f=f, c=max_norm: module.train_step(net, optimizer, b, f, 0.1, max_norm=c))
    loss, _ = module.train_step(net, optimizer, tensors(1)[:1], lambda *a: (loss_fn(*a)[0], torch.tensor(-2)), 0.0)
    assert loss.isnan(), "a weight below 0 in a tensor, which nobody looks at"
    raises(ValueError, "seed is -1", lambda: torch_run(module, 2, seed=-1))
    with new_folder() as folder:
        def late(given, batch):
            L, w = loss_fn(given, batch)
            return (L * float("nan") if len(checkpoints(folder)) == 1 else L), w

        raises(ValueError, "train: loss at step 4 is nan", lambda: torch_run(module, 20, loss_fn=late, folder=folder))
        assert checkpoints(folder) == [3]


def what_a_function_gave_is_looked_at(module):
    for x in (2, np.float32(2), np.array(2.0), torch.tensor(2.0)):
        assert module.number_from("f", "x", x) == 2.0 and type(module.number_from("f", "x", x)) is float
    for error, says, x in ((TypeError, "f: x is str, expected a number", "2"), (TypeError, "f: x is bool", True),
                           (TypeError, "f: x is NoneType", None), (ValueError, r"f: x has shape \(1,\)", np.ones(1)),
                           (ValueError, "f: x is inf, expected a finite number", np.inf), (ValueError, "f: x is nan", np.nan)):
        raises(error, says, lambda x=x: module.number_from("f", "x", x))
    module.loss_answer("f", "g", (1.0, {}, 3), "a", "b", "c")
    for error, says, found in ((TypeError, "f: g gave 2 things, expected 3: a, b, c", (1.0, {})), (TypeError, "f: g gave float", 1.0),
                               (ValueError, "f: weight is 0", (1.0, {}, 0)), (ValueError, "f: loss is nan", (np.nan, {}, 1))):
        raises(error, says, lambda found=found: module.loss_answer("f", "g", found, "a", "b", "c"))
    module.not_empty("f", x=[0])
    raises(ValueError, "f: x is empty", lambda: module.not_empty("f", x=[]))


def what_is_kept_has_the_names_of_the_tree(module):
    """Each tensor under its name in the tree, whichever parts are compiled, and into a module of any such kind."""
    net = Normed().double()
    net.norm.register_buffer("scratch", torch.zeros(2), persistent=False)
    net.small.inner = Compiled(net.small.inner)
    for one in (net, Compiled(net)):
        assert module.kept(one).keys() == tree.flatten(tree.of_module(net)).keys()
        module.put_back(one, tree.map_tree(lambda x: x + 1, tree.from_torch(net)))
    assert net.norm.num_batches_tracked == 2


INVARIANTS = {
    "pt._modules": [what_is_kept_has_the_names_of_the_tree],
    "check.trees": [what_a_function_gave_is_looked_at],
    "np.train": [accumulation_is_a_mean_over_tokens, a_step_is_clipped_adamw, in_place_is_the_same,
                 gradients_may_come_in_one_buffer, float32_stays_float32, steps_count_from_one, a_run_is_its_steps,
                 a_nan_is_looked_for_where_it_must_come_out,
                 a_stopped_run_goes_on_to_the_last_bit, an_interrupt_does_not_tear_a_step,
                 the_best_is_kept_and_patience_ends, checkpoints_come_when_they_should, other_runs_are_refused,
                 wrong_input_is_refused, a_run_that_blows_up_leaves_the_last_checkpoint],
    "io.run": [tensors_become_numbers_now_and_then, progress_is_shown_where_it_is_read,
               *map(through_the_loop, (steps_count_from_one, a_stopped_run_goes_on_to_the_last_bit,
                                       the_best_is_kept_and_patience_ends, checkpoints_come_when_they_should,
                                       other_runs_are_refused, wrong_input_is_refused,
                                       a_run_that_blows_up_leaves_the_last_checkpoint))],
    "pt.train": [torch_accumulates_over_tokens, buffers_go_on_to_the_last_bit, names_are_those_of_the_module, bfloat16_goes_on_to_the_last_bit,
                 a_stopped_torch_run_goes_on_to_the_last_bit,
                 the_halves_go_on_with_each_others_runs,
                 evaluation_is_without_dropout_and_gradients, random_numbers_are_a_matter_of_seed_and_step,
                 the_options_reach_the_optimiser, autocast_computes_in_bfloat16_and_keeps_float32,
                 all_go_on_from_where_the_first_does, an_interrupt_asks_no_other_process,
                 torch_refuses_wrong_input],
}


WRONG = [
    M("np.train.train_step", "invariant", "mean of means", "total += float(w)\n        share = float(w)", "total += 1\n        share = 1"),
    M("np.train.train_step", "invariant", "a sum of micro-batches", "mean + share * (x - mean)", "mean + x"),
    M("np.train.train_step", "invariant", "the last micro-batch alone", "mean + share * (x - mean)", "x"),
    M("np.train.train_step", "invariant", "the loss of the last micro-batch", "loss += share * (float(L) - loss)", "loss = float(L)"),
    M("np.train.train_step", "invariant", "every layer asked at every step", "with ValuesTrusted():  # a NaN", "if True:  # a NaN"),
    M("np.train.train_step", "invariant", "each micro-batch clipped",
      "L, g, w = found\n", "L, g, w = found\n        g = clip_by_global_norm(g, max_norm)[0]\n"),
    M("np.train.train_step", "invariant", "not clipped", "(grads, max_norm)", "(grads, None)"),
    M("np.train.train_step", "invariant", "clipped when nobody asked", "(grads, max_norm)", "(grads, max_norm or 0.1)"),
    M("np.train.train_step", "invariant", "norm after clipping",
      "    update = adamw_step_ if", "    norm = min(norm, max_norm or norm)\n    update = adamw_step_ if"),
    M("np.train.train_step", "invariant", "betas exchanged", "lr, betas, eps, ", "lr, betas[::-1], eps, "),
    M("np.train.train_step", "invariant", "everything decays", "weight_decay, mask)", "weight_decay, None)"),
    M("np.train.train_step", "invariant", "ε and decay exchanged", "eps, weight_decay, mask)", "weight_decay, eps, mask)"),
    M("np.train.train_step", "invariant", "in place whatever was asked",
      "adamw_step_ if inplace else adamw_step", "adamw_step_"),
    M("np.train.train_step", "invariant", "never in place", "adamw_step_ if inplace else adamw_step", "adamw_step"),
    M("np.train.train_step", "invariant", "gradients not copied",
      "g if len(batches) == 1 else map_tree(np.copy, g)", "g"),
    M("np.train.train_step", "invariant", "share as a NumPy number makes float64",
      "share = float(w) / total", "share = np.float64(w) / np.float64(total)"),
    M("np.train.train_step", "invariant", "an array taken apart", "batches: list | tuple", "batches"),
    M("np.train.train_step", "invariant", "no micro-batch at all", '    not_empty("train_step", batches=batches)\n', ""),
    M("np.train.train_step", "invariant", "whatever the loss function gave",
      '        loss_answer("train_step", "loss_and_grads", found, "a mean loss", "its gradients", "a weight")\n', ""),
    # the loop
    M("np.train.train", "invariant", "rate stepped by micro-batch", " schedule(step)), batch_at(step)",
      " [schedule(step) for _ in batch_at(step)][0]), batch_at(step)"),
    M("np.train.train", "invariant", "rate of the step before", " schedule(step))", " schedule(max(1, step - 1)))"),
    M("np.train.train", "invariant", "steps counted from 0", "step = history.steps + 1", "step = history.steps"),
    M("np.train.train", "invariant", "resumed: rate starts again",
      "    with Progress(", "    begun = history.steps\n    with Progress(", " schedule(step))", " schedule(step - begun))"),
    M("np.train.train", "invariant", "resumed: dropout starts again",
      "    with Progress(", "    rng = np.random.default_rng(seed)\n    with Progress(",
      "                rng = np.random.default_rng([seed, step])\n", ""),
    M("np.train.train", "invariant", "the same dropout at every step",
      "np.random.default_rng([seed, step])", "np.random.default_rng([seed, 1])"),
    M("np.train.train", "invariant", "no seed for dropout",
      "np.random.default_rng([seed, step])", "np.random.default_rng([0, step])"),
    M("np.train.train", "invariant", "no dropout", "mask=mask, rng=rng, inplace", "mask=mask, rng=None, inplace"),
    M("np.train.train", "invariant", "resumed: moments start again",
      "        params, state, best = saved", "        params, _, best = saved"),
    M("np.train.train", "invariant", "resumed: parameters start again",
      "        params, state, best = saved", "        _, state, best = saved"),
    M("np.train.train", "invariant", "resumed: best forgotten", "        params, state, best = saved", "        params, state, _ = saved"),
    M("np.train.train", "invariant", "the caller's parameters trained", "map_tree(np.copy, params), init", "params, init"),
    M("np.train.train", "invariant", "everything decays in a run", "decay_mask(params, exempt), None", "None, None"),
    M("np.train.train", "invariant", "exempt forgotten", "decay_mask(params, exempt)", "decay_mask(params)"),
    M("np.train.train", "invariant", "best is an alias of what is trained", " best = map_tree(np.copy, params)\n", " best = params\n"),
    M("np.train.train", "invariant", "best is the last", "if history.evaluated(score):", "if history.evaluated(score) or True:"),
    M("np.train.train", "invariant", "the run gives the last as best", "best or params, history", "params, history"),
    M("np.train.train", "invariant", "an interrupted step is torn",
      "with InterruptsHeld():  # a step", "if True:  # a step"),
    M("np.train.train", "invariant", "Ctrl-C writes nothing",
      "        except KeyboardInterrupt:\n            run.save(history, params, state, best)\n", "        except KeyboardInterrupt:\n"),
    M("np.train.train", "invariant", "Ctrl-C swallowed", "            raise\n    run", "            pass\n    run"),
    M("np.train.train", "invariant", "nothing written at the end",
      "            raise\n    run.save(history, params, state, best)\n", "            raise\n"),
    M("np.train.train", "invariant", "written whenever something is raised",
      "except KeyboardInterrupt:", "except BaseException:"),
    M("np.train.train", "invariant", "written at every step", "if run.is_due(history):", "if True:"),
    M("np.train.train", "invariant", "a score that is no number",
      'number_from("train", f"evaluation after step {history.steps}", evaluate(params))', "evaluate(params)"),
    M("np.train.train", "invariant", "a rate that is no number",
      'number_from("train", f"schedule({step})", schedule(step))', "schedule(step)"),
    M("np.train.train", "invariant", "patience with nothing to wait for", "and evaluate is None:", "and False:"),
    M("np.train.train", "invariant", "seed not checked", "seed: Index", "seed"),
    M("np.train.train", "invariant", "a rate for a schedule", "schedule: Callable", "schedule"),
    # what the loop calls
    M("io.run.RunFolder.resume", "invariant", "no history",
      "extend(values.tolist())", "extend([0.0] * len(values))"),
    M("io.run.RunFolder.resume", "invariant", "config not compared", ", self.settings, step)", ", None, step)"),
    M("io.run.RunFolder.resume", "invariant", "another model loaded", '{"params": params, "state": state}', "None"),
    M("io.run.RunFolder.resume", "invariant", "a new run over an old one", "if not resume:", "if False:"),
    M("io.run.RunFolder.resume", "invariant", "a checkpoint without history",
      'past.keys() != KEYS.keys() or len(past["loss"]) != saved.step', "False"),
    M("io.run.RunFolder.resume", "invariant", "a longer run than was asked for", "if saved.step > steps:", "if False:"),
    M("io.run.RunFolder.__init__", "invariant", "a folder that cannot be used is found too late",
      "            prepare_folder(folder)\n", "            pass\n"),
    M("io.run.RunFolder.resume", "invariant", "a best that must be there", "saved.trees.get(part, {})", "saved.trees[part]"),
    M("io.run.RunFolder.save", "invariant", "all are kept", ", self.keep)", ", 99)"),
    M("io.run.RunFolder.save", "invariant", "config not written", '{"config": self.settings}', "{}"),
    M("io.run.RunFolder.save", "invariant", "history forgotten", ', "history": history.arrays()', ""),
    M("io.run.RunFolder.is_due", "invariant", "after as many steps as are kept", "% self.save_every", "% self.keep"),
    M("io.run.settings", "invariant", "options not compared", 'return options | {"model"', 'return {"model"'),
    M("io.run.History.evaluated", "invariant", "an equal score is better", "score < min(", "score <= min("),
    M("io.run.History.evaluated", "invariant", "better than the last one is best",
      "min(self.evaluation[:-1], default=math.inf)", "([math.inf] + self.evaluation)[-2]"),
    M("io.run.History.is_stale", "invariant", "patience counts every evaluation",
      " - 1 - self.evaluation.index(min(self.evaluation)) >=", " >"),
    M("io.run.History.is_stale", "invariant", "patience ends one too late", ">= patience", "> patience"),
    M("io.run.History.is_stale", "invariant", "patience as steps", "len(self.evaluation) - 1 - self.evaluation.index(",
      "self.steps - self.evaluated_at[0] - self.evaluation.index("),
    M("io.run.History.is_due", "invariant", "evaluated at step 0", "self.steps == 0 or ", ""),
    M("io.run.History.is_due", "invariant", "evaluated again when resumed",
      " or self.evaluated_at[-1:] == [self.steps]", ""),
    M("io.run.History.is_due", "invariant", "evaluated before it is looked at", "        self.look()\n", ""),
    M("io.run.History.look", "invariant", "infinite losses go on", "not math.isfinite(values[t])", "math.isnan(values[t])"),
    M("io.run.History.look", "invariant", "norms not looked at", ', ("norm", self.norm)):', ",):"),
    M("io.run.History.arrays", "invariant", "written before it is looked at", "        self.look()\n", ""),
    M("io.run.History.add", "invariant", "looked at only at the end", "if self.steps % LOOK == 0:", "if False:"),
    M("io.run.History.add", "invariant", "looked at at every step", "if self.steps % LOOK == 0:", "if True:"),
    M("io.run.Progress.__init__", "invariant", "a bar in every log", "disable=not (shown and self.file.isatty())", "disable=False"),
    M("io.run.Progress.__init__", "invariant", "no bar", "disable=not (shown and self.file.isatty())", "disable=True"),
    M("io.run.Progress.__init__", "invariant", "lines kept in a notebook", " and not in_notebook", ""),
    M("io.run.Progress.__init__", "invariant", "every process shows one", "not (shown and self.file.isatty())", "not self.file.isatty()"),
    M("io.run.Progress.__init__", "invariant", "the rate of steps that another process took", "history.steps, sys.stderr", "0, sys.stderr"),
    M("io.run.Progress.show", "invariant", "a bar without the loss", "self.bar.set_postfix(", "dict("),
    M("io.run.Progress.show", "invariant", "a line a step", "- self.last >= MINUTE", "- self.last > 0"),
    M("io.run.Progress.show", "invariant", "a line a step after the first minute", "            self.last = now\n", ""),
    M("io.run.Progress.line", "invariant", "time gone for time left", "(self.steps - t) / rate", "seconds"),
    # what a caller's function gave
    M("check.trees.number_from", "invariant", "text as a number", "isinstance(x, str | bool) or ", ""),
    M("check.trees.number_from", "invariant", "an array of one as a number", 'if shape := getattr(x, "shape", ()):', "if shape := ():"),
    M("check.trees.number_from", "invariant", "infinity as a number", "not math.isfinite(x := float(x))", "math.isnan(x := float(x))"),
    M("check.trees.given_as", "invariant", "two things unpacked into three", " or len(found) != len(parts):", ":"),
    M("check.trees.weighs", "invariant", "weight 0 divides", "<= 0:", "< 0:"),
    M("check.trees.loss_answer", "invariant", "a loss that is no number", '    number_from(where, "loss", found[0])\n', ""),
    M("check.trees.not_empty", "invariant", "nothing is enough", "if not len(x):", "if x is None:"),
    # pt.train
    M("pt.train.train", "invariant", "buffers not saved", "tree.from_torch(kept(module))", "tree.from_torch(dict(module.named_parameters()))"),
    M("pt._modules.kept", "invariant", "compiled parts under names of their wrappers", "{plain(name): x for", "{name: x for"),
    M("pt._modules.kept", "invariant", "buffers that are not saved in torch either", " if name not in part._non_persistent_buffers_set", ""),
    M("pt.train.train_step", "invariant", "mean of means",
      "loss.new_zeros(()) + weight", "loss.new_zeros(()) + 1"),
    M("pt.train.train_step", "invariant", "a weight below 0 climbs", "weight.where(weight >= 0, torch.nan)", "weight"),
    M("pt.train._parts", "invariant", "any weight", '    weighs("train_step", found[1], look=not isinstance(found[1], Tensor))\n', ""),
    M("pt.train.train_step", "invariant", "a sum over tokens",
      "(dist.get_world_size() if parallel else 1)", "1.0 * totals[1]"),
    M("pt.train.train_step", "invariant", "gradients of the last step stay",
      "    optimizer.zero_grad(set_to_none=True)\n", ""),
    M("pt.train.train_step", "invariant", "gradients zeroed at every micro-batch",
      "            with _autocast", "            optimizer.zero_grad()\n            with _autocast"),
    M("pt.train.train_step", "invariant", "each leaf clipped by its own norm",
      "        scale = scale * (max_norm / norm).clamp(max=1.0",
      "        for g in grads:\n            g.mul_((max_norm / (g.norm() * scale)).clamp(max=1.0)"),
    M("pt.train.train_step", "invariant", "not clipped", "    if max_norm is not None:\n", "    if False:\n"),
    M("pt.train.train_step", "invariant", "small gradients scaled up", ".clamp(max=1.0)", ""),
    M("pt.train.train_step", "invariant", "the loss as a sum",
      "return totals[0] / totals[1], norm", "return totals[0], norm"),
    M("pt.train.train_step", "invariant", "norm before the division",
      "return totals[0] / totals[1], norm", "return totals[0] / totals[1], norm / scale"),
    M("pt.train.train_step", "invariant", "an array taken apart", "batches: list | tuple", "batches"),
    M("pt.train.train_step", "invariant", "no micro-batch at all", '    not_empty("train_step", batches=batches)\n', ""),
    M("pt.train.train_step", "invariant", "any limit", "max_norm: Positive | None", "max_norm"),
    M("pt.train._parts", "invariant", "a loss a token", "if found[0].shape != ():", "if False:"),
    M("pt.train._parts", "invariant", "a number without a graph", "if not isinstance(found[0], Tensor):", "if False:"),
    M("pt.train._parts", "invariant", "a loss alone",
      '    given_as("train_step", "loss_fn", found, "a mean loss", "a weight")\n', ""),
    M("pt.train._evaluation", "invariant", "dropout stays on in evaluations", "    learner.eval()\n", ""),
    M("pt.train._evaluation", "invariant", "dropout stays off after the first evaluation", "    learner.train()\n", ""),
    M("pt.train.train", "invariant", "trained as it came, in eval mode", "            learner.train()\n", ""),
    M("pt.train.train", "invariant", "left in training mode", "        module.train(mode)", "        pass"),
    M("pt.train._evaluation", "invariant", "evaluation builds a graph", "torch.no_grad(), ", ""),
    M("pt.train._evaluation", "invariant", "evaluation without autocast", ", _autocast(learner, autocast)", ""),
    M("pt.train._autocast", "invariant", "no autocast", "enabled=dtype is not None", "enabled=False"),
    M("pt.train._autocast", "invariant", "float16 without a scale",
      "if dtype not in (None, torch.bfloat16):", "if False:"),
    M("pt.train.train", "invariant", "the model itself in bfloat16",
      "    runner = torch.compile(module)", "    module.to(autocast or place)\n    runner = torch.compile(module)"),
    M("pt.train.train", "invariant", "resumed: dropout starts again",
      "    runner = torch", "    begun = history.steps\n    runner = torch", "[seed, step, rank]", "[seed, step - begun, rank]"),
    M("pt.train.train", "invariant", "no seed",
      '(torch.default_generator if place.type == "cpu" else torch).manual_seed(int(own))', "pass"),
    M("pt.train.train", "invariant", "the same dropout at every step", "[seed, step, rank]", "[seed, 0, rank]"),
    M("pt.train.train", "invariant", "the caller's random state used up",
      'torch.random.fork_rng([place] if place.type == "cuda" else [])', "nullcontext()"),
    M("pt.train.train", "invariant", "resumed: moments start again",
      '        load_optimizer_state(module, optimizer, saved.state)\n', ""),
    M("pt.train.train", "invariant", "resumed: parameters start again",
      "put_back(module, saved.params)", "pass"),
    M("pt.train.train", "invariant", "resumed: each from what it sees", "of_the_first(run.last(), place)", "run.last()"),
    M("pt.train.train", "invariant", "resumed: best forgotten", "best = saved.best", "best = None"),
    M("pt.train.train", "invariant", "Ctrl-C writes nothing", "            run.save(history, *trees(), best)\n        raise", "            pass\n        raise"),
    M("pt.train.train", "invariant", "Ctrl-C waits for shares that nobody sends", "        if not shard:  #", "        if True:  #"),
    M("pt.train.train", "invariant", "betas forgotten", "0.0, betas, eps, weight_decay, ", "0.0, eps=eps, weight_decay=weight_decay, exempt="),
    M("pt.train.train", "invariant", "exempt forgotten", "weight_decay, exempt)\n\n", "weight_decay)\n\n"),
    M("pt.train.train", "invariant", "options not compared",
      ", seed=seed, max_norm=max_norm, betas=betas, eps=eps, weight_decay=weight_decay, exempt=exempt)", ")"),
    M("pt.train.train", "invariant", "any seed", "seed: Index", "seed"),
]
