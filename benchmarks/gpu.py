"""A 124 M-parameter training step, decoding and an attention sweep on one GPU: three records, each kept as it comes.

    PYTHONPATH=lib python benchmarks/gpu.py [--out benchmarks/results] [--commit HASH] [--batch 32]

Needs torch, NumPy and jaxtyping, nothing else. Without a GPU it says so and ends; `--smoke` runs tiny shapes on the
CPU and prints what it would write. A mode that ends with an error is named at the end and costs no other its figures.

FLOPs a token of training: 6 N + 12 L H Q T, with N parameters apart from the positions, L layers, H heads of width Q
and context T; `causal` counts half of the second term, for a kernel that skips what the mask hides. Beside ours, steps
of a plain educational GPT and of torch.nn's own layers at the same sizes. Utilisation is that times tokens a second,
over the bf16 matrix product measured in the same run.
"""

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import torch
from byhand import pt, tree
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.pt.attention import attention, fused_attention
from byhand.pt.flash import flash_attention
from byhand.pt.generate import generate
from byhand.pt.loss import cross_entropy
from byhand.pt.mask import causal_mask
from byhand.pt.model import Decoder
from byhand.pt.optim import adamw
from history import replace
from minimal_gpt import LayersGPT, MinimalGPT

ROOT = Path(__file__).resolve().parents[1]
GPT2 = ModelConfig("decoder", vocab=50304, d=768, heads=12, layers=12, n_max=1024, position="learned",
                   activation="gelu_tanh")  # 50,257 words, and some more to make a multiple of 64
SMALL = ModelConfig("decoder", vocab=64, d=32, heads=2, layers=2, n_max=16, position="learned", activation="gelu_tanh")
MODES = {  # whose model, precision, compiled, whose kernels
    "float32 (TF32 products)": ("ours", torch.float32, False, "torch"),
    "bf16": ("ours", torch.bfloat16, False, "torch"),
    "bf16, kernels by hand": ("ours", torch.bfloat16, False, "triton"),
    "plain GPT, bf16": ("plain", torch.bfloat16, False, "torch"),
    "torch.nn layers, bf16": ("layers", torch.bfloat16, False, "torch"),
    "bf16, compiled": ("ours", torch.bfloat16, True, "torch"),
    "plain GPT, bf16, compiled": ("plain", torch.bfloat16, True, "torch"),
    "torch.nn layers, bf16, compiled": ("layers", torch.bfloat16, True, "torch"),
}
FORMS = {"explicit": "every step a tensor", "fused": "scaled_dot_product_attention", "tiles": "our tiles, readable",
         "kernel": "our tiles in Triton"}


def seconds_of(step, device, steps, warmup):
    """Each of these steps by itself, after some that are not timed."""
    times = []
    for i in range(warmup + steps):
        _wait(device)
        start = time.perf_counter()
        step()
        _wait(device)
        if i >= warmup:
            times.append(time.perf_counter() - start)
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high}


def _wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def _peak(device):
    """Gigabytes at the peak since the last call, and from here on a new one."""
    if device != "cuda":
        return None
    peak = torch.cuda.max_memory_allocated() / 1e9
    torch.cuda.reset_peak_memory_stats()
    return peak


def ceiling(device, n, steps):
    """The fastest of some bf16 products of random n × n matrices, FLOP/s, and of copies of the same memory, bytes/s."""
    A, B = torch.randn(2, n, n, device=device, dtype=torch.bfloat16)
    C = torch.empty_like(A)
    product = seconds_of(lambda: torch.mm(A, B, out=C), device, steps, 3)["low"]
    copy = seconds_of(lambda: C.copy_(A), device, steps, 3)["low"]
    return {"n": n, "flops": 2 * n**3 / product, "copy_bytes": 2 * A.numel() * 2 / copy}


def flops_per_token(config, T):
    """6 N + 12 L H Q T, and the same with half of the second term."""
    shapes = {name: x.size for name, x in tree.flatten(init_model(np.random.default_rng(0), config)).items()}
    N = sum(size for name, size in shapes.items() if name != "embedding.positions.table")
    pairs = 12 * config.layers * config.d * T
    return {"N": N, "parameters": sum(shapes.values()), "full": 6 * N + pairs, "causal": 6 * N + pairs // 2}


def model(whose, device, config):
    """A net, and its loss of (ids, targets)."""
    if whose == "ours":
        net = Decoder(config, np.random.default_rng(0)).to(device)
        return net, lambda ids, targets: cross_entropy(net(ids), targets)
    kind = {"plain": MinimalGPT, "layers": LayersGPT}[whose]
    net = kind(config.vocab, config.d, config.heads, config.layers, config.n_max).to(device)
    return net, net


def train(device, config, batch, mode, steps, warmup, backend):
    """One mode: forward, loss, backward and AdamW on one batch of random words."""
    whose, dtype, compiled, kernels = MODES[mode]
    torch.manual_seed(0)
    net, loss_of = model(whose, device, config)
    if whose == "ours":
        optimizer = adamw(net, lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1)
    else:
        optimizer = torch.optim.AdamW(net.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1,
                                      fused=device == "cuda")
    ids, targets = torch.randint(config.vocab, (2, batch, config.n_max), device=device)

    forward, losses = torch.compile(loss_of, backend=backend) if compiled else loss_of, []

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=dtype == torch.bfloat16), pt.use_kernels(kernels):
            L = forward(ids, targets)
        L.backward()
        optimizer.step()
        losses.append(L.detach())

    _peak(device)
    start = time.perf_counter()
    step()
    _wait(device)
    first = time.perf_counter() - start
    times = seconds_of(step, device, steps, warmup)
    return {"mode": mode, "batch": batch, "T": config.n_max, "seconds": times, "first_step_seconds": first,
            "tokens_per_second": batch * config.n_max / times["median"], "peak_GB": _peak(device),
            "first_loss": losses[0].item(), "last_loss": losses[-1].item()}


def sweep(device, lengths, tokens, heads, d, steps):
    """Causal attention, forward and with its backward, at growing length and as many tokens in all."""
    rows = []
    for n in lengths:
        shape = (max(tokens // n, 1), heads, n, d)
        leaves = [torch.randn(shape, device=device, dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
        dO, mask = torch.randn(shape, device=device, dtype=torch.bfloat16), causal_mask(n, device=device)
        forms = {"explicit": lambda *x, mask=mask: attention(*x, mask),
                 "fused": lambda *x: fused_attention(*x, is_causal=True),
                 "tiles": lambda *x, n=n: flash_attention(*x, is_causal=True, block=min(1024, n))}
        if device == "cuda":
            from byhand import kernels

            forms["kernel"] = lambda *x: kernels.flash_attention(*x, is_causal=True)
        for form, f in forms.items():
            for backward in (False, True):
                def step(f=f, backward=backward, leaves=leaves, dO=dO):
                    with torch.set_grad_enabled(backward):
                        O = f(*leaves)
                    return torch.autograd.grad(O, leaves, dO) if backward else O

                row = {"form": form, "what": FORMS[form], "batch": shape[0], "heads": heads, "n": n, "d": d,
                       "backward": backward, "seconds": None, "flops": None, "peak_GB": None}
                flops = (7 if backward else 2) * 2 * shape[0] * heads * n * n * d / 2
                try:
                    _peak(device)
                    row["seconds"] = seconds_of(step, device, steps, 3)
                    row |= {"flops": flops / row["seconds"]["median"], "peak_GB": _peak(device)}
                except torch.OutOfMemoryError:
                    row["out_of_memory"] = True
                    torch.cuda.empty_cache()
                rows.append(row)
    return rows


def decoding(device, config, batches, steps):
    """Greedy words a second with the cache, in bf16, from prompts of one word."""
    net = Decoder(config, np.random.default_rng(0)).to(device, torch.bfloat16)
    rows = []
    for batch in batches:
        _peak(device)
        times = seconds_of(lambda batch=batch: generate([[1]] * batch, net, config, steps, temperature=0), device, 5, 1)
        rows.append({"batch": batch, "words": steps, "seconds": times, "peak_GB": _peak(device),
                     "words_per_second": batch * steps / times["median"]})
    return rows


def facts(args, device):
    """The machine, the versions, the commit and the command."""
    card = torch.cuda.get_device_properties(0) if device == "cuda" else None
    commit = args.commit
    if commit is None:
        git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
        commit = git.stdout.strip() or None
    return {"machine": card.name if card else platform.machine(),
            "memory_GB": card.total_memory / 1e9 if card else None,
            "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__,
                         "cuda": torch.version.cuda},
            "commit": commit,
            "command": f"PYTHONPATH=lib python benchmarks/gpu.py --batch {args.batch} --steps {args.steps}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny shapes on the CPU, nothing written")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results", help="folder of the records")
    parser.add_argument("--commit", help="of the sources, where git cannot say it")
    parser.add_argument("--batch", type=int, default=32, help="sequences of 1,024 words in a step")
    parser.add_argument("--steps", type=int, default=30, help="timed ones")
    args = parser.parse_args()
    if not args.smoke and not torch.cuda.is_available():
        return print("gpu: there is no GPU here, so nothing is measured and nothing is written.")
    device = "cpu" if args.smoke else "cuda"
    torch.set_float32_matmul_precision("high")
    config, batch, steps = (SMALL, 2, 2) if args.smoke else (GPT2, args.batch, args.steps)
    side, times, failed = (64, 2, []) if args.smoke else (8192, 30, [])
    about, limits = facts(args, device), [ceiling(device, side, times)]
    shape = {name: x for name, x in vars(config).items() if name in ("vocab", "d", "heads", "layers", "n_max")}
    flops, runs = flops_per_token(config, config.n_max), []
    for mode in MODES:
        if MODES[mode][3] == "triton" and device != "cuda":
            continue  # the interpreter has no bf16
        try:
            runs.append(train(device, config, batch, mode, steps, 1 if args.smoke else 10,
                              "eager" if args.smoke else "inductor"))
        except Exception:  # whatever it is, the other modes have their figures
            traceback.print_exc()
            failed.append(mode)
        else:
            print(f"{mode:>31}: {runs[-1]['tokens_per_second']:,.0f} tokens/s", flush=True)
            if not args.smoke:
                keep(args, "gpu_train", trained(about | {"ceiling": limits}, shape, flops, runs))
    limits.append(ceiling(device, side, times))  # before and after: clocks move
    about |= {"ceiling": limits}
    keep(args, "gpu_train", trained(about, shape, flops, runs))
    rows = sweep(device, *(((16, 32), 32, 2, 8, 2) if args.smoke else
                           ((512, 1024, 2048, 4096, 8192, 16384), 16384, 12, 64, 20)))
    keep(args, "gpu_attention", about | {"causal": True, "dtype": "bf16", "rows": rows})
    words = decoding(device, config, (1, 2) if args.smoke else (1, 32), config.n_max // 2 if args.smoke else 256)
    keep(args, "gpu_decode", about | {"config": shape, "dtype": "bf16", "rows": words})
    report(about, flops, runs, rows, words)
    if failed:
        sys.exit(f"gpu: {', '.join(failed)} ended with an error")


def peak_of(about):
    return max(limit["flops"] for limit in about["ceiling"])


def trained(about, shape, flops, runs):
    """The record of the steps, each with its share of the peak that is known by now."""
    for run in runs:
        run["utilisation"] = {how: flops[how] * run["tokens_per_second"] / peak_of(about) for how in ("full", "causal")}
    return about | {"config": shape, "flops_per_token": flops, "runs": runs}


def keep(args, name, content):
    """One record, in its file or, of tiny shapes, on the screen."""
    content = {"benchmark": name} | content
    if args.smoke:
        return print(json.dumps(content))
    args.out.mkdir(parents=True, exist_ok=True)
    replace(args.out / f"{name}.json", content)
    print(f"Written to {args.out / name}.json", flush=True)


def report(about, flops, runs, rows, words):
    print(f"\n{about['machine']}, {about['versions']}; bf16 products at {peak_of(about) / 1e12:.4g} TFLOP/s")
    print(f"{flops['parameters']:,} parameters, {flops['full'] / 1e6:.4g} MFLOP a token, causal "
          f"{flops['causal'] / 1e6:.4g}\n")
    print(f"{'training step':>31}  {'tokens/s':>10}  {'ms':>8}  {'of the ceiling':>14}  {'causal':>6}  {'peak GB':>7}")
    for run in runs:
        use, memory = run["utilisation"], run["peak_GB"]
        print(f"{run['mode']:>31}  {run['tokens_per_second']:>10,.0f}  {1e3 * run['seconds']['median']:>8.1f}  "
              f"{use['full']:>14.1%}  {use['causal']:>6.1%}  {'–' if memory is None else f'{memory:.1f}':>7}")
    for row in words:
        print(f"{'decoding, batch ' + str(row['batch']):>31}  {row['words_per_second']:>10,.0f}")
    print(f"\n{'causal attention':>24}  {'n':>6}  {'ms':>8}  {'ms, backward too':>16}  {'peak GB':>7}")
    for form in dict.fromkeys(row["form"] for row in rows):
        for n in dict.fromkeys(row["n"] for row in rows):
            pair = [row for row in rows if row["form"] == form and row["n"] == n]
            ms = ["–" if row["seconds"] is None else f"{1e3 * row['seconds']['median']:.3f}" for row in pair] + ["–"]
            memory = [row["peak_GB"] for row in pair if row["peak_GB"] is not None]
            print(f"{form:>24}  {n:>6}  {ms[0]:>8}  {ms[1]:>16}  {f'{max(memory):.2f}' if memory else '–':>7}")


if __name__ == "__main__":
    main()
