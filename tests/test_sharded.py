"""Parameters cut over two processes, and a process that dies: each run is the run of one process, up to rounding."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from byhand.pt import train
from mutants import edited
from processes import IN_TIME, two_processes
from sharded import CONFIG, numbers, run

WRONG = [
    ("each divides by its own tokens", "    if parallel:\n        dist.all_reduce(totals)\n", ""),
    ("means taken for sums", "(dist.get_world_size() if parallel else 1)", "1.0"),
    ("nothing is cut", "        cut(module, place, parallel, compile)\n", "        pass\n"),
    ("moments forgotten when it goes on", "        load_optimizer_state(module, optimizer, saved.state)\n", ""),
]


def test_a_model_cut_over_two_processes_learns_as_one(tmp_path):
    """Its parameters half in each, stopped and gone on, blocks made anew; and one killed, the run begun again."""
    for i, edits in enumerate([(), *(row[1:] for row in WRONG)]):
        (tmp_path / f"{i}.py.txt").write_text(edited("pt.train", *edits), encoding="utf-8")
    for first in (True, False):
        done = two_processes(Path(__file__).with_name("sharded.py"), tmp_path)
        assert (tmp_path / "second").exists() and (done.returncode != 0) == first, done.stderr[-3000:]
    _, one = run(train.train, None, 5)
    expected, size = numbers(one), len(numbers(one)["params"])
    assert max(one.history["norm"]) > 0.5  # clipping is tried

    def faults(found):
        return {name for name, x in expected.items()
                if name not in found or not np.allclose(found[name], x, rtol=1e-4, atol=1e-5)}

    found = [json.loads((tmp_path / f"{i}.py.json").read_text()) for i in range(len(WRONG) + 1)]
    assert not faults(found[0]), faults(found[0])
    assert found[0]["held"] < 0.55 * size
    assert not faults(found[0]["died"])  # killed in step 4, gone on from step 2 in new processes
    for (story, *_), wrong in zip(WRONG, found[1:], strict=True):
        assert "error" in wrong or faults(wrong) or wrong["held"] == size, f"not caught: {story}"


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
