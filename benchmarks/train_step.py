"""One training step of a small decoder, forward, backward and AdamW: NumPy beside torch on the CPU.

    python benchmarks/train_step.py [--seconds 75] [--threads 2] [--clock wall]

Fused loops need Numba, and torch.compile a C++ compiler; without them their rows are left out, and the end says so.
"""

import argparse
import os
import shutil
from importlib.util import find_spec

import numpy as np
from byhand import tree
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.np._memory import keep_memory
from common import CLOCKS, compare, interleave, machine, numpy_peak, serve, share_of_peak, show, torch_peak, write

CONFIG = ModelConfig("decoder", vocab=128, d=128, heads=4, layers=4, d_ff=512, n_max=64, position="learned",
                     activation="gelu_tanh")
BATCH, T, LR, DECAY = 32, 64, 1e-3, 0.01
NAMES = {
    "plain": "NumPy, the functions of the chapters",
    "blas": "the same, threads left to BLAS",
    "inplace": "NumPy, in place: workspace, pieces, threads",
    "fused": "NumPy, last rung: the same with fused loops",
    "floor": "NumPy, the step's matrix products alone",
    "ours": "torch eager, our PyTorch half",
    "minimal": "torch eager, minimal GPT",
    "minimal_fused": "the same with fused AdamW",
    "compiled": "the same, compiled by torch",
}


def flops() -> float:
    """Of a step: 6 N + 12 L H Q T for each token, N without positions; masked pairs count too."""
    params = tree.flatten(init_model(np.random.default_rng(0), CONFIG))
    N = sum(x.size for name, x in params.items() if not name.startswith("embedding.positions"))
    return BATCH * T * (6 * N + 12 * CONFIG.layers * CONFIG.d * T)


def data():
    """The same parameters and batch for all."""
    rng = np.random.default_rng(0)
    params, (ids, targets) = init_model(rng, CONFIG), rng.integers(0, CONFIG.vocab, (2, BATCH, T))
    return params, ids, targets


def plain(threads):
    from byhand.np._threads import in_threads
    from byhand.np.loss import cross_entropy_backward, cross_entropy_forward
    from byhand.np.model import decoder_backward, decoder_forward
    from byhand.np.optim import decay_mask, init_state
    from byhand.np.train import train_step

    params, ids, targets = data()
    state, mask = init_state(params), decay_mask(params)

    def loss_and_grads(params, batch, rng):
        logits, cache = decoder_forward(batch[0], params, CONFIG)
        L, of_loss = cross_entropy_forward(logits, batch[1])
        return L, decoder_backward(cross_entropy_backward(1.0, of_loss), cache), batch[0].size

    threaded = in_threads(loss_and_grads, threads)

    def step():
        done = train_step(params, state, [(ids, targets)], threaded, LR, weight_decay=DECAY, mask=mask, inplace=True)
        return done.loss

    return step


def rung(name, threads, sequences):
    from byhand.annex.ladder import training

    params, ids, targets = data()
    step, _ = training(name, params, CONFIG, BATCH, T, threads, sequences, DECAY)
    return lambda: step(ids, targets, LR)


def floor(threads):
    """The products of a step and nothing else: what no program on this BLAS can be faster than."""
    from byhand.np._threads import map_threads

    rng, (d, wide, H) = np.random.default_rng(0), (CONFIG.d, CONFIG.width, CONFIG.heads)
    rows, pairs = BATCH // threads * T, BATCH // threads * H
    shapes = [(rows, d, 3 * d), (rows, d, d), (rows, d, wide), (rows, wide, d)] * CONFIG.layers
    shapes += [(rows, d, CONFIG.vocab)] + [(pairs, T, d // H, T), (pairs, T, T, d // H)] * CONFIG.layers

    def arrays(*shape):
        *lead, a, b, c = shape
        X, W, Y = (rng.random(size, np.float32) for size in ((*lead, a, b), (*lead, b, c), (*lead, a, c)))
        return X, W, Y, Y.copy(), X.copy(), W.copy()

    lanes = [[arrays(*shape) for shape in shapes] for _ in range(threads)]

    def multiply(lane):
        for X, W, Y, to_Y, to_X, to_W in lane:
            np.matmul(X, W, out=to_Y)
            np.matmul(Y, W.mT, out=to_X)
            np.matmul(X.mT, Y, out=to_W)
        return 0.0

    return lambda: sum(map_threads(multiply, lanes, threads))


def ours():
    import torch
    from byhand.pt.loss import cross_entropy
    from byhand.pt.model import Decoder
    from byhand.pt.optim import adamw

    params, ids, targets = data()
    ids, targets, net = torch.tensor(ids), torch.tensor(targets), Decoder(CONFIG)
    net.load_state_dict(tree.flatten(tree.to_torch(params)))
    return torch_step(lambda: cross_entropy(net(ids), targets), adamw(net, LR, weight_decay=DECAY))


def minimal(compiled=False, **options):
    import torch
    from minimal_gpt import MinimalGPT

    _, ids, targets = data()
    ids, targets = torch.tensor(ids), torch.tensor(targets)
    net = MinimalGPT(CONFIG.vocab, CONFIG.d, CONFIG.heads, CONFIG.layers, T, CONFIG.width)
    groups = [{"params": [p for p in net.parameters() if (p.dim() == 2) is on], "weight_decay": DECAY if on else 0.0}
              for on in (True, False)]
    run = torch.compile(net) if compiled else net
    return torch_step(lambda: run(ids, targets), torch.optim.AdamW(groups, lr=LR, **options))


def torch_step(loss, optimizer):
    def step():
        optimizer.zero_grad(set_to_none=True)
        L = loss()
        L.backward()
        optimizer.step()
        return L.detach()

    return step


def lacking() -> dict[str, str]:
    """What this machine lacks, by the program that needs it."""
    compilers = [os.environ["CXX"]] if os.environ.get("CXX") else ["g++", "clang++", "c++"]
    needs = {"fused": ("Numba", find_spec("numba")),
             "compiled": ("a C++ compiler for torch.compile", any(map(shutil.which, compilers)))}
    return {name: what for name, (what, there) in needs.items() if not there}


def work(name, threads):
    keep_memory()  # as in training; in the workers of torch too, so that all run under one allocator
    kind = name.split()[0]
    in_numpy = {"plain": lambda: plain(threads), "blas": lambda: plain(1), "floor": lambda: floor(threads),
                "inplace": lambda: rung("in place, threads", threads, 8),
                "fused": lambda: rung("fused, threads", threads, 16)}
    if kind in in_numpy:
        step = in_numpy[kind]()
        serve(step, numpy_peak, blas=machine(threads)["blas"])
    else:
        import torch

        torch.set_num_threads(threads)
        serve({"ours": ours, "minimal": minimal, "minimal_fused": lambda: minimal(fused=True),
               "compiled": lambda: minimal(fused=True, compiled=True)}[name](), torch_peak)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1), help="for every program")
    parser.add_argument("--seconds", type=float, default=75, help="time for the rounds, at most about")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu with --threads 1 on a busy machine")
    needed = {"plain", "floor", "ours", "minimal"}
    parser.add_argument("--without", nargs="*", default=[], choices=sorted({*NAMES} - needed), help="left out")
    args = parser.parse_args()
    if args.worker:
        return work(args.worker, args.threads)
    # Threads of Python have a BLAS of one thread each.
    absent = lacking()
    workers = {name: {} for name in NAMES if name not in [*absent, *args.without]}
    if "OPENBLAS_CORETYPE" in os.environ:
        workers |= {f"{name} (kernel chosen by BLAS)": {"OPENBLAS_CORETYPE": None}
                    for name in ("plain", "inplace", "fused", "floor") if name in workers}
    ready, table = interleave(__file__, workers, args.threads, seconds=args.seconds, rounds=40, clock=args.clock)
    for name in workers:
        if not name.startswith(("minimal", "compiled", "floor")):  # weights of their own, and no loss
            gap = np.abs(np.subtract(ready[name]["losses"], ready["plain"]["losses"])).max()
            assert gap < 1e-4, f"{name}: losses differ from the plain ones by {gap:.0e}"
    rows, shown = [], []
    for name in workers:
        key, _, kernel = name.partition(" ")
        floor = f"floor {kernel}".strip()
        row = {"name": f"{NAMES[key]} {kernel}".strip(), "ms": compare(table, name),
               "to_floor": compare(table, name, floor if floor in workers else "floor"),
               "to_ours": compare(table, name, "ours"), "to_minimal": compare(table, name, "minimal"),
               "share_of_peak": share_of_peak(table, name, flops()), "blas": ready[name].get("blas", "torch's own")}
        rows.append(row)
        ratios = [f"{row[key]['median']:.2f} ({row[key]['low']:.2f}–{row[key]['high']:.2f})"
                  for key in ("to_floor", "to_ours", "to_minimal")]
        shown.append([row["name"], f"{row['ms']['median']:.1f}", f"{row['ms']['best']:.1f}", *ratios,
                      f"{row['to_floor']['best']:.2f}", f"{row['share_of_peak']:.0%}"])
    facts = machine(args.threads, args.clock)
    note = (f"{len(table)} rounds. Ratios: median of the rounds (quartiles); floor: the step's matrix products alone, "
            "with the same kernels and threads. Share of the float32 product peak, taken in the same process and turn."
            + "".join(f" Left out: {NAMES[name]}; there is no {what.removeprefix('a ')} here." for name, what in
                      absent.items()))
    show("Training step: decoder, 4 layers, d 128, 4 heads, T 64, batch 32, vocabulary 128", facts,
         ["", "ms", "best", "÷ floor", "÷ ours", "÷ minimal", "best ÷ floor's", "of peak"], shown, note)
    path = write("train_step", facts, shape=vars(CONFIG) | {"batch": BATCH, "T": T, "flops": flops()},
                 rounds=len(table), left_out=absent, rows=rows)
    print(f"Written to {path.relative_to(path.parents[2])}")


if __name__ == "__main__":
    main()
