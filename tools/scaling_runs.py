"""Train small language models of several sizes and kinds on the novel, and write what each scored: runs for (16.23).

    python tools/scaling_runs.py --out benchmarks/results/scaling_runs.json  # seven minutes of one quiet core, or more

Section 16.11 reads the record. Two families of runs on the novel of book/data, bits a character on held-out text:
`sizes`, decoders of six widths, three seeds each, on equally many characters; `kinds`, a gated recurrence, a causal
convolution and a decoder of nearly equal size, three seeds each. Each has the rate that did best for it in a short
trial. Seconds are those of one thread's processor.
"""

import argparse
import hashlib
import json
import math
import platform
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from byhand.config import ModelConfig
from byhand.data import novel, random_windows
from byhand.io.files import write_whole
from byhand.np.optim import warmup_linear
from byhand.pt.model import Decoder
from byhand.pt.optim import adamw, set_lr
from byhand.text import CharTokenizer
from torch import nn
from torch.nn import functional as F
from tqdm import tqdm

T, BATCH = 64, 16
WIDTHS, SEEDS = (8, 16, 24, 32, 48, 64), (0, 1, 2)
RATES = (2e-3, 5e-3, 1.2e-2)
STEPS, TRIAL, EVERY = 600, 120, 20


class Recurrent(nn.Module):
    """Embedding, one gated recurrence, scores."""

    def __init__(self, vocab, d):
        super().__init__()
        self.E, self.cell, self.out = nn.Embedding(vocab, d), nn.GRU(d, d, batch_first=True), nn.Linear(d, vocab)

    def forward(self, ids):
        return self.out(self.cell(self.E(ids))[0])


class Convolution(nn.Module):
    """Embedding, causal convolutions of width 3 whose distances double, each added to what it reads, scores."""

    def __init__(self, vocab, d, layers):
        super().__init__()
        self.E, self.out = nn.Embedding(vocab, d), nn.Linear(d, vocab)
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.maps = nn.ModuleList(nn.Conv1d(d, d, 3, dilation=2**i) for i in range(layers))

    def forward(self, ids):
        X = self.E(ids)
        for i, (norm, conv) in enumerate(zip(self.norms, self.maps, strict=True)):
            Y = F.pad(norm(X).mT, (2 * 2**i, 0))
            X = X + F.gelu(conv(Y)).mT
        return self.out(X)


def decoder(vocab, d):
    return Decoder(ModelConfig("decoder", vocab, d, 4, 2, n_max=T, position="rope"))


KINDS = {"recurrence": lambda V: Recurrent(V, 104), "convolution": lambda V: Convolution(V, 68, 5),
         "attention": lambda V: decoder(V, 56)}


def parameters(module) -> int:
    return sum(p.numel() for p in module.parameters())


@torch.no_grad()
def held_bits(module, held) -> float:
    """Bits a character over windows of held-out text, of the second half of each, so that all have a past."""
    rows = torch.tensor(np.lib.stride_tricks.sliding_window_view(held, T + 1)[: 64 * 32 * 8 : 32])
    losses = [F.cross_entropy(module(part[:, :-1])[:, T // 2:].flatten(0, 1), part[:, T // 2 + 1:].flatten()).item()
              for part in rows.split(64)]
    return statistics.fmean(losses) / math.log(2)


def run(make, learn, held, seed, rate, steps, bar, every=None) -> dict:
    """One training: AdamW, a hundred steps of warm-up, then a straight line to 0."""
    torch.manual_seed(seed)
    module, rng, seconds, curve = make(), np.random.default_rng(seed), 0.0, []
    optimizer = adamw(module, rate, (0.9, 0.99))
    for step in range(1, steps + 1):
        begun = time.process_time()
        x, y = (torch.tensor(a) for a in random_windows(learn, T, BATCH, rng))
        set_lr(optimizer, warmup_linear(step, rate, min(100, steps // 10 + 1), steps))
        optimizer.zero_grad()
        F.cross_entropy(module(x).flatten(0, 1), y.flatten()).backward()
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        seconds += time.process_time() - begun
        if step == steps or every and step % every == 0:
            curve.append([step, round(seconds, 2), round(held_bits(module, held), 4)])
        bar.update()
    return {"seed": seed, "rate": rate, "bits": curve[-1][2], "seconds": round(seconds, 1), "curve": curve}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=STEPS, help=f"default {STEPS}")
    parser.add_argument("--trial", type=int, default=TRIAL, help=f"steps of the trial of rates, default {TRIAL}")
    parser.add_argument("--out", type=Path, required=True, help="the record, JSON")
    a = parser.parse_args(argv)
    torch.set_num_threads(1)
    text = novel()
    letters = CharTokenizer.train(text)
    ids, V = np.array(letters.encode(text)), len(letters)
    learn, held = np.split(ids, [len(ids) * 9 // 10])
    work = len(SEEDS) * (len(WIDTHS) + len(KINDS)) * a.steps + len(RATES) * (len(KINDS) + len(WIDTHS)) * a.trial
    sizes, kinds = [], []
    with tqdm(total=work, disable=None) as bar:

        def best_rate(make):
            return min(RATES, key=lambda rate: run(make, learn, held, 100, rate, a.trial, bar)["bits"])

        for d in WIDTHS:
            rate = best_rate(lambda d=d: decoder(V, d))
            for seed in SEEDS:
                found = run(lambda d=d: decoder(V, d), learn, held, seed, rate, a.steps, bar)
                sizes.append({"d": d, "parameters": parameters(decoder(V, d))} | found)
        for kind, make in KINDS.items():
            rate = best_rate(lambda make=make: make(V))
            for seed in SEEDS:
                found = run(lambda make=make: make(V), learn, held, seed, rate, a.steps, bar, EVERY)
                kinds.append({"kind": kind, "parameters": parameters(make(V))} | found)
    processor = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                      if line.startswith("model name")), platform.machine()) if Path("/proc/cpuinfo").is_file() else ""
    record = {"command": f"python tools/scaling_runs.py --steps {a.steps} --trial {a.trial}",
              "machine": {"cpu": processor, "threads": 1, "clock": "cpu", "torch": torch.__version__},
              "T": T, "batch": BATCH, "steps": a.steps, "characters": len(learn), "vocab": V, "layers": 2,
              "rates": RATES, "sizes": sizes, "kinds": kinds}
    data = (json.dumps(record, indent=1) + "\n").encode()
    write_whole(a.out, data)
    print(f"{a.out.name}: SHA-256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
