"""The roofline of this machine: its peak, its bandwidth, and where the operations of a transformer stand under it.

    python benchmarks/roofline.py [--clock cpu]

One thread, float32, all in one process, in turns. Peak: a product of 1,024 × 1,024. Bandwidth: a copy of 64 MB, read
and written. Operations and bytes are those of chapter 16: each array read once and written once, as an ideal cache
would have it, but for `attention, n × n`, where each of its steps reads and writes the scores. The last rows follow
attention over n, for the slopes of chapter 16.
"""

import os
import statistics

import numpy as np
from byhand.np._memory import keep_memory
from byhand.np.attention import attention_forward
from byhand.np.block import activation_forward
from byhand.np.flash import flash_attention_forward
from byhand.np.norm import layer_norm_forward
from byhand.np.softmax import softmax_forward
from common import CLOCKS, machine, numpy_peak, show
from options import parse, record
from tqdm import tqdm

D, TOKENS, LENGTHS = 64, 2048, (512, 1024, 2048, 4096)
WORD = 4  # bytes of a number
STEPS = 6  # passes of the plain form over its scores: product, scale, maximum taken off, exp, division, product


def operations(rng, tiny):
    """name -> (call, operations, bytes)."""
    n, lengths = (64, (64, 128)) if tiny else (TOKENS, LENGTHS)
    made = lambda *size: rng.normal(size=size).astype(np.float32)  # noqa: E731
    found = {}
    for m in (8, 32, 128, 512):
        A, B = made(n, m), made(m, m)
        found[f"product, {m} wide"] = (lambda A=A, B=B: A @ B, 2 * n * m * m, WORD * (2 * n * m + m * m))
    W, x = made(8 * n // 2, n), made(n)
    found["one token through a map"] = (lambda: W @ x, 2 * W.size, WORD * (W.size + len(W) + len(x)))
    X, gamma, beta = made(n, 512), made(512), made(512)
    found["GELU"] = (lambda: activation_forward(X, "gelu_tanh"), 12 * X.size, WORD * 2 * X.size)
    found["layer norm"] = (lambda: layer_norm_forward(X, gamma, beta), 8 * X.size, WORD * 2 * X.size)
    found["softmax"] = (lambda: softmax_forward(X), 5 * X.size, WORD * 2 * X.size)
    for m in lengths:
        Q, K, V = made(3, m, D)
        work, ends = 4 * m * m * D, 4 * m * D
        found[f"attention, n × n, {m}"] = (
            lambda QKV=(Q, K, V): attention_forward(*QKV), work, WORD * (ends + (2 * STEPS - 2) * m * m))
        found[f"attention, tiles, {m}"] = (lambda QKV=(Q, K, V): flash_attention_forward(*QKV), work, WORD * ends)
    return found


def copied(size):
    """A copy of one large array into another: bytes and the call."""
    a, b = np.ones(size, np.float32), np.empty(size, np.float32)
    return 2 * a.nbytes, lambda: np.copyto(b, a)


def main():
    args = parse(__doc__, seconds=60, threads=1)
    os.environ["BENCH_CLOCK"] = args.clock  # of `numpy_peak`
    keep_memory()
    clock, rounds = CLOCKS[args.clock], 2 if args.tiny else 15
    table = operations(np.random.default_rng(0), args.tiny)
    moved, copy = copied(1 << (16 if args.tiny else 24))
    times, peaks, bands = {name: [] for name in table}, [], []
    for call, *_ in table.values():
        call()
    for _ in tqdm(range(rounds), disable=None):
        peaks.append(numpy_peak())
        begun = clock()
        copy()
        bands.append(moved / max(clock() - begun, 1e-9))
        for name, (call, *_) in table.items():
            repeat, begun = 0, clock()
            while repeat < 1 or clock() - begun < 0.02:
                call()
                repeat += 1
            times[name].append((clock() - begun) / repeat)
    rows = []
    for name, (_, flops, size) in table.items():
        low, median, high = statistics.quantiles(times[name], n=4, method="inclusive")
        quartiles = {"median": median, "low": low, "high": high, "best": min(times[name])}
        rows.append({"name": name, "flops": flops, "bytes": size, "ms": {k: 1e3 * x for k, x in quartiles.items()},
                     "rounds_ms": [round(1e3 * x, 4) for x in times[name]]})
    facts = machine(1, args.clock)
    peak, band = statistics.median(peaks), statistics.median(bands)
    show(f"Roofline: {peak / 1e9:.0f} GFLOP/s, {band / 1e9:.1f} GB/s", facts,
         ["", "operations a byte", "GFLOP/s", "of the roof"],
         [[row["name"], f"{(i := row['flops'] / row['bytes']):.2f}",
           f"{(rate := row['flops'] / row['ms']['median'] / 1e6):.2f}", f"{1e9 * rate / min(peak, i * band):.0%}"]
          for row in rows])
    record("roofline", facts, args.tiny, peak=peak, bandwidth=band, rows=rows)


if __name__ == "__main__":
    main()
