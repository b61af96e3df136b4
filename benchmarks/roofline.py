"""The roofline of this machine: its peak, its bandwidth, and where the operations of a transformer stand under it.

    python benchmarks/roofline.py [--clock wall]

Float32, all in one process, in turns, with one thread of BLAS whatever the environment says. Peak: a product of
1,024 × 1,024. Bandwidth: a copy of 64 MB, read and written. Both once more for two threads of Python at a time, as the
rungs of the training step with threads have them; `--clock cpu` leaves these out.

Operations and bytes are those of chapter 16. Of single operations: each array read once and written once, as an ideal
cache would have it; `attention, tiles` likewise. Of `attention, n × n`, of the ladder of attention and of that of the
training step: what calls of NumPy read and write, by the chapter's hook (counting.py), and of a compiled loop each
array once; `least_bytes` is what attention must move at least, its inputs and its output. An array that fits the cache
between two calls costs less than is charged, so that such a rung may stand above the roof.
The rows of attention over n are for the slopes of chapter 16.
"""

import math
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
from byhand.annex import ladder
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.np._memory import keep_memory
from byhand.np._threads import ONE_BLAS_THREAD
from byhand.np.attention import attention_forward
from byhand.np.block import activation_forward
from byhand.np.flash import flash_attention_forward
from byhand.np.norm import layer_norm_forward
from byhand.np.softmax import softmax_forward
from common import CLOCKS, machine, numpy_blas, numpy_peak, show
from counting import bill, counted, training_step
from history import busy
from options import parse, record
from tqdm import tqdm
from train_step import BATCH, CONFIG, T

D, TOKENS, LENGTHS = 64, 2048, (512, 1024, 2048, 4096)
LADDER = (1024, 4096)  # lengths of the ladder of attention: the first is the chapter's
WORD = 4  # bytes of a number
SMALL = ModelConfig("decoder", vocab=11, d=16, heads=2, layers=2, n_max=8, position="learned", activation="gelu_tanh")
RUNGS = {"chapters": 8, "chapters, threads": 8, "in place": 8, "in place, threads": 8,
         "fused, threads": 16}  # of annex.ladder: sequences of a piece, as train_step.py has them


def n_by_n(Q, K, V):
    return attention_forward(Q, K, V)[0]


def in_place(Q, K, V):
    S = Q @ K.mT
    S *= Q.dtype.type(1 / math.sqrt(Q.shape[-1]))
    S -= S.max(axis=-1, keepdims=True)
    np.exp(S, out=S)
    return S @ V / S.sum(axis=-1, keepdims=True)


def by_queries(Q, K, V, block=64):
    return np.concatenate([in_place(Q[i : i + block], K, V) for i in range(0, len(Q), block)])


def tiles(Q, K, V):
    return flash_attention_forward(Q, K, V)[0]


def fused(Q, K, V):
    from byhand.annex.tiles import tiled_attention_forward

    return tiled_attention_forward(Q, K, V)[0]


ATTENTION = {"n × n": n_by_n, "in place": in_place, "64 queries": by_queries, "tiles of 512": tiles} | (
    {"tiles, fused loops": fused} if find_spec("numba") else {})


def operations(rng, tiny):
    """Rows without their times, and the call of each."""
    n, lengths = (64, (64, 128)) if tiny else (TOKENS, LENGTHS)
    made = lambda *size: rng.normal(size=size).astype(np.float32)  # noqa: E731
    found = []

    def add(name, call, flops, size, **more):
        found.append(({"name": name, "threads": 1, "flops": flops, "bytes": size} | more, call))

    for m in (8, 32, 128, 512):
        A, B = made(n, m), made(m, m)
        add(f"product, {m} wide", lambda A=A, B=B: A @ B, 2 * n * m * m, WORD * (2 * n * m + m * m))
    W, x = made(8 * n // 2, n), made(n)
    add("one token through a map", lambda: W @ x, 2 * W.size, WORD * (W.size + len(W) + len(x)))
    X, gamma, beta = made(n, 512), made(512), made(512)
    add("GELU", lambda: activation_forward(X, "gelu_tanh"), 12 * X.size, WORD * 2 * X.size)
    add("layer norm", lambda: layer_norm_forward(X, gamma, beta), 8 * X.size, WORD * 2 * X.size)
    add("softmax", lambda: softmax_forward(X), 5 * X.size, WORD * 2 * X.size)
    for m in lengths:
        QKV = made(3, m, D)
        least = WORD * 4 * m * D
        flops, size = attention_cost(n_by_n, QKV)
        add(f"attention, n × n, {m}", lambda QKV=QKV: n_by_n(*QKV), flops, size, least_bytes=least)
        add(f"attention, tiles, {m}", lambda QKV=QKV: tiles(*QKV), flops, least, least_bytes=least)
    for m in (64,) if tiny else LADDER:
        QKV = made(3, m, D)
        for rung, f in ATTENTION.items():
            flops, size = attention_cost(f, QKV)
            add(f"ladder of attention, {rung}, {m}", lambda f=f, QKV=QKV: f(*QKV), flops, size, ladder="attention",
                rung=rung, n=m, least_bytes=WORD * 4 * m * D)
    return found


def attention_cost(f, QKV):
    """Operations and bytes of its calls, counted."""
    return bill(lambda: f(*map(counted, QKV)))


def training(rng, tiny, threads):
    """The same of the rungs of the training step; those with threads only where there are two."""
    config, batch, n = (SMALL, 4, 8) if tiny else (CONFIG, BATCH, T)
    ids, targets = rng.integers(0, config.vocab, (2, batch, n))
    found = []
    for rung, sequences in RUNGS.items():
        if "threads" in rung and threads < 2 or "fused" in rung and not find_spec("numba"):
            continue
        params = init_model(np.random.default_rng(0), config)
        counting = training_step(rung, params, config, ids, targets, threads, sequences)
        flops, size = bill(counting)
        step, _ = ladder.training(rung, params, config, batch, n, threads, sequences)
        found.append(({"name": f"training step, {rung}", "threads": threads if "threads" in rung else 1,
                       "flops": flops, "bytes": size, "ladder": "training", "rung": rung},
                      lambda step=step: step(ids, targets, 1e-3)))
    return found


def roofs(size, threads, clock):
    """{threads: a call that measures peak and bandwidth with so many at a time}."""
    pool, arrays = ThreadPoolExecutor(threads), [(np.ones(size, np.float32), np.empty(size, np.float32))
                                                 for _ in range(threads)]

    def measure(count):
        peak = sum(pool.map(lambda _: numpy_peak(), range(count)))
        begun = clock()
        list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), arrays[:count]))
        return peak, count * 2 * arrays[0][0].nbytes / max(clock() - begun, 1e-9)

    return {count: lambda count=count: measure(count) for count in sorted({1, threads})}


def quartiles(values):
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high, "best": min(values)}


def measured(args):
    """The facts of the machine, {threads: roof}, rows."""
    os.environ["BENCH_CLOCK"] = args.clock  # of `numpy_peak`
    clock, rounds, end = CLOCKS[args.clock], 2 if args.tiny else 15, time.monotonic() + args.seconds
    threads = 1 if args.clock == "cpu" else min(2, os.cpu_count() or 1)
    rng = np.random.default_rng(0)
    table = operations(rng, args.tiny) + training(rng, args.tiny, threads)
    tops = roofs(1 << (16 if args.tiny else 24), threads, clock)
    times, found = [[] for _ in table], {count: [] for count in tops}
    for _, call in table:
        call()
    for done in tqdm(range(rounds), disable=None):
        if done >= 2 and time.monotonic() > end:
            break
        for count, measure in tops.items():
            found[count].append(measure())
        for (_, call), taken in zip(table, times, strict=True):
            repeat, begun = 0, clock()
            while repeat < 1 or clock() - begun < 0.02:
                call()
                repeat += 1
            taken.append((clock() - begun) / repeat)
    roof = {count: dict(zip(("peak", "bandwidth"), map(statistics.median, zip(*some, strict=True)), strict=True))
            for count, some in found.items()}
    rows = []
    for (row, _), taken in zip(table, times, strict=True):
        top = roof[row["threads"]]
        least = max(row["flops"] / top["peak"], row["bytes"] / top["bandwidth"])
        rows.append(row | {"ms": quartiles([1e3 * x for x in taken]), "to_roof": quartiles([x / least for x in taken]),
                           "rounds_ms": [round(1e3 * x, 4) for x in taken]})
    blas = max(x["num_threads"] for x in numpy_blas())
    return machine(1, args.clock) | {"blas_threads": blas}, roof, rows


def main():
    args = parse(__doc__, seconds=90, threads=1)
    busy()  # looked at before anything of ours runs
    keep_memory()
    with ONE_BLAS_THREAD:  # the environment may say something else, and NumPy has read it
        facts, roof, rows = measured(args)
    words = ", ".join(f"{count} thread{'s' * (count > 1)} {top['peak'] / 1e9:.0f} GFLOP/s, "
                      f"{top['bandwidth'] / 1e9:.1f} GB/s" for count, top in roof.items())
    show(f"Roofline: {words}", facts,
         ["", "threads", "operations a byte", "GFLOP/s", "of the roof"],
         [[row["name"], str(row["threads"]), f"{row['flops'] / row['bytes']:.2f}",
           f"{row['flops'] / row['ms']['median'] / 1e6:.2f}", f"{1 / row['to_roof']['median']:.0%}"] for row in rows])
    record("roofline", facts, args.tiny, **roof[1], roofs={str(count): top for count, top in roof.items()}, rows=rows)


if __name__ == "__main__":
    main()
