"""Parameters cut over two processes, a process that dies, and two nodes: each run is the one that it should be."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from byhand import tree
from byhand.io.checkpoint import load_checkpoint
from byhand.pt import train
from mutants import build, edited
from processes import IN_TIME, two_nodes, two_processes
from sharded import CONFIG, batch_at, numbers, run

WRONG = [
    ("each divides by its own tokens", "    if parallel:\n        dist.all_reduce(totals)\n", ""),
    ("means taken for sums", "(dist.get_world_size() if parallel else 1)", "1.0"),
    ("nothing is cut", "        cut(module, place, parallel, compile)\n", "        pass\n"),
    ("moments forgotten when it goes on", "        load_optimizer_state(module, optimizer, saved.state)\n", ""),
    ("whole parameters left after an evaluation", " cut_after(learner),", ""),
    ("best parameters forgotten when it goes on", "        best = saved.best\n", ""),
]
WRONG_COUNTS = [  # in two processes the first would be refused by its folder, while the other waits for it
    ("goes on, and counts from step 0", "run.resume(history,", "run.resume(History(),"),
    ("begins anew, as if there were no checkpoint", "of_the_first(run.last(), place)", "None"),
]
COMMAND = ["--steps=6", "--context=8", "--width=8", "--heads=2", "--layers=2", "--micro=2", "--batch=8", "--every=2",
           "--dropout=0.1"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The folder in which two processes have done all that tests/sharded.py tells them, killed three times."""
    home = tmp_path_factory.mktemp("home")
    for i, edits in enumerate([(), *(row[1:] for row in WRONG)]):
        (home / f"{i}.py.txt").write_text(edited("pt.train", *edits), encoding="utf-8")
    (home / "text.txt").write_text("to be or not to be " * 40)
    (home / "flags.json").write_text(json.dumps([*COMMAND, f"--text={home}/text.txt", f"--folder={home}/one agent"]))
    done = two_processes(Path(__file__).with_name("sharded.py"), home, limit=200, restarts=7)
    assert done.returncode == 0, done.stderr[-3000:]
    return home


def test_a_model_cut_over_two_processes_learns_as_one(home):
    """Its parameters half in each, evaluated after every step, stopped and gone on, blocks made anew."""
    _, one, _ = run(train.train, None, 5)
    expected, size = numbers(one), len(numbers(one)["params"])
    assert max(one.history["norm"]) > 0.5  # clipping is tried
    assert expected["best"] != expected["params"]

    def faults(found):
        return {name for name, x in expected.items()
                if name not in found or not np.allclose(found[name], x, rtol=1e-4, atol=1e-5)}

    found = [json.loads((home / f"{i}.py.json").read_text()) for i in range(len(WRONG) + 1)]
    assert not faults(found[0]), (faults(found[0]), found[0].get("error"))
    assert found[0]["held"] < 0.55 * size and found[0]["asked"] == [4, 5]
    for (story, *_), wrong in zip(WRONG, found[1:], strict=True):
        seen = "error" in wrong or faults(wrong) or wrong["held"] == size or wrong["asked"] != [4, 5]
        assert seen, f"not caught: {story}"


@pytest.mark.parametrize("name", ["whole", "cut"])
def test_a_killed_process_is_started_again_and_the_run_goes_on(home, name):
    """By torchrun, after a SIGKILL in step 4: from the checkpoint of step 2, and to the same last bit."""
    killed = json.loads((home / "killed.json").read_text())
    assert (home / f"{name}.died").exists()
    starts = {}
    for line in (home / f"{name}.steps").read_text().splitlines():
        start, step = map(int, line.split())
        starts.setdefault(start, []).append(step)
    found = list(starts.values())  # a busy machine may end more starts: each goes on from the save after an even step
    assert all(steps == list(range(steps[0], steps[-1] + 1)) and steps[0] % 2 for steps in found), found
    died = next(i for i, steps in enumerate(found) if steps[-1] == 4)
    assert found[0][0] == 1 and found[died + 1][0] == 3 and found[-1][-1] == 5, found
    assert killed[name] == killed[f"{name} in peace"]
    assert len(set(killed[name]["loss"])) == 5


@pytest.mark.parametrize("wrong", [None, *WRONG_COUNTS], ids=lambda row: row[0] if row else "right")
def test_what_goes_on_counts_on(tmp_path, wrong):
    """Killed in step 4, the last checkpoint that of step 2: the next batch is that of step 3."""
    class Killed(BaseException):
        pass

    def dies(step):
        if step == 4:
            raise Killed
        return batch_at(step)

    module = build("pt.train", *wrong[1:]) if wrong else train
    with pytest.raises(Killed):
        run(train.train, tmp_path, 5, dies)
    try:
        found = run(module.train, tmp_path, 5)[2]
    except ValueError as error:
        found = str(error)
    assert (found == [3, 4, 5]) == (wrong is None), found


def test_two_nodes_are_two_processes(home):
    """Two torchruns with one folder, against one of them with two processes: the same to the last bit."""
    folder = home / "two agents"
    done = two_nodes("-m", "byhand.pt.train", *COMMAND, f"--text={home}/text.txt", f"--folder={folder}")
    assert [node.returncode for node in done] == [0, 0], [node.stderr[-3000:] for node in done]
    assert [node.stdout.count(" in 2 processes") for node in done].count(1) == 1  # the first of them says so, alone
    one, two = (tree.flatten(load_checkpoint(home / x).trees) for x in ("one agent", folder.name))
    assert one.keys() == two.keys() and all(np.array_equal(one[name], two[name]) for name in one)
    assert json.loads((folder / "summary.json").read_text())["processes"] == 2


def test_a_process_that_waits_for_ever_says_where(tmp_path):
    """One sleeps while the other waits for it: both end, and the traceback names the line."""
    path = tmp_path / "waits.py"
    path.write_text(f"""{IN_TIME}
import time
import torch.distributed as dist
dist.init_process_group("gloo")
time.sleep(1000) if dist.get_rank() else dist.barrier()
""", encoding="utf-8")
    done = two_processes(path, limit=20)
    assert done.returncode != 0 and "Timeout (0:00:20)!" in done.stderr, done.stderr[-3000:]
    assert any(f'"{path}", line 7' in line for line in done.stderr.splitlines()), done.stderr[-3000:]


def test_what_cannot_be_cut_is_refused(as_shipped):
    with pytest.raises(ValueError, match="shard is True in one process, expected it under torchrun"):
        run(train.train, None, 1, shard=True)
    with pytest.raises(ValueError, match="shard is True and compile too"):
        run(train.train, None, 1, shard=True, compile=True)


def test_blocks_made_anew_give_the_same_gradients():
    """With dropout too: the random state is put back before a block runs again."""
    import torch
    from byhand.pt.model import Decoder

    config, found, calls = dataclasses.replace(CONFIG, p=0.3), {}, {}
    for recompute in (False, True):
        net, count = Decoder(config, np.random.default_rng(0)), [0]
        net.recompute = recompute
        net.blocks[0].register_forward_pre_hook(lambda *_, count=count: count.__setitem__(0, count[0] + 1))
        torch.manual_seed(0)
        net(torch.arange(8)[None]).square().sum().backward()
        found[recompute], calls[recompute] = [p.grad for p in net.parameters()], count[0]
    assert calls == {False: 1, True: 2}
    assert all(torch.equal(a, b) for a, b in zip(*found.values(), strict=True))
