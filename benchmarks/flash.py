"""Attention without the n × n matrix: our tiles in NumPy beside torch's fused kernel on the CPU, and the limit of both.

    python benchmarks/flash.py [--threads 1] [--seconds 40]

One head a thread, d 64, float32. A thread of ours takes a head, with BLAS on one thread; torch shares out as it likes.
The limit: the matrix products of the same tiles and nothing else. No program that leaves them to the same BLAS can be
faster, so the ratio of ours to the limit says what the exponentials, the sums and the bookkeeping cost.

What was tried to bring it down, on an AMD EPYC with the kernels that BLAS chooses there and with those for AVX2:
- all buffers made once, and the output accumulated in its place: no gain beyond the noise;
- tiles of 128 are a seventh slower, of 256 and 1,024 as fast: 512 stays;
- a column of ones in V, so that one product sums the rows too: dearer than the sum that it saves;
- exp in place of exp2: a tenth slower with the chosen kernels, a tenth faster with those for AVX2;
- tiles that lie (query, key): the products themselves lose 4 to 9 %, ours as much, so the ratio stays. Not done.
What is left above the products is the exponential: it alone takes a sixth of their time or more.
"""

from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
from byhand.np._memory import keep_memory
from byhand.np.attention import attention_backward, attention_forward
from byhand.np.flash import flash_attention_backward, flash_attention_forward
from common import compare, interleave, machine, numpy_peak, serve, share_of_peak, show, torch_peak
from options import extra_memory, parse, range_of, record, traced_memory

D, BLOCK = 64, 512
NAMES = {"tiled": "NumPy, tiles", "great": "NumPy, tiles, scores that need a maximum",
         "fused": "NumPy and fused loops", "grand": "NumPy and fused loops, scores that need a maximum",
         "torch": "torch, fused kernel",
         "limit": "NumPy, the products alone", "naive": "NumPy, the n × n matrix"}
# n, causal, whether the backward follows, programs; the naive form needs 3 GB at 16,384
CASES = [(4096, False, False, "tiled fused torch limit naive"),
         (16384, False, False, "tiled great fused grand torch limit"),
         (16384, True, False, "tiled fused torch limit"), (16384, True, True, "tiled fused torch limit")]
TINY = [(256, True, True, "tiled great fused grand torch limit naive")]


def arrays(heads, n):
    """Q, K, V and dO, the same for all."""
    return np.random.default_rng(0).normal(size=(4, heads, n, D)).astype(np.float32)


def tiled(Q, K, V, dO, causal, backward):
    O, cache = flash_attention_forward(Q, K, V, is_causal=causal, block=BLOCK)
    return flash_attention_backward(dO, cache)[0] if backward else O


def fused(Q, K, V, dO, causal, backward):
    from byhand.annex.tiles import tiled_attention_backward, tiled_attention_forward

    O, cache = tiled_attention_forward(Q, K, V, causal, block=BLOCK)
    return tiled_attention_backward(dO, cache)[0] if backward else O


def great(Q, *rest):
    return tiled(4 * Q, *rest)


def grand(Q, *rest):
    return fused(4 * Q, *rest)


def naive(Q, K, V, dO, causal, backward):
    O, cache = attention_forward(Q, K, V, np.tri(len(Q), dtype=bool) if causal else None)
    return attention_backward(dO, cache)[0] if backward else O


def limit(Q, K, V, dO, causal, backward):
    """Scores K qᵀ, output Eᵀ V; in the backward scores again, V gᵀ, and three more of the second kind."""
    tile, out = np.empty((BLOCK, BLOCK), Q.dtype), np.empty((BLOCK, D), Q.dtype)
    for i in range(0, len(Q), BLOCK):
        q = Q[i : i + BLOCK]
        for j in range(0, i + 1 if causal else len(K), BLOCK):
            k, v = K[j : j + BLOCK], V[j : j + BLOCK]
            E = tile[: len(k), : len(q)]
            for _ in range(3 if backward else 1):
                np.matmul(k, q.mT, out=E)
            for _ in range(4 if backward else 1):
                np.matmul(E.mT, v, out=out[: len(q)])
    return out


def of_torch(inputs, causal, backward):
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    *leaves, dO = (torch.tensor(x)[None].requires_grad_(backward) for x in inputs)

    def step():
        O = scaled_dot_product_attention(*leaves, is_causal=causal)
        return torch.autograd.grad(O, leaves, dO)[0] if backward else O

    return step


def work(name, threads):
    keep_memory()  # as in training; in the workers of torch too, so that all run under one allocator
    program, n, causal, backward = name.split()
    inputs, options = arrays(threads, int(n)), (causal == "causal", backward == "backward")
    if program == "torch":
        import torch

        torch.set_num_threads(threads)
        call, small, peak = of_torch(inputs, *options), of_torch(inputs[:, :, :64], *options), torch_peak
    else:
        pool = ThreadPoolExecutor(threads)
        f = {"tiled": tiled, "fused": fused, "great": great, "grand": grand, "naive": naive, "limit": limit}[program]

        def peak():
            return sum(pool.map(lambda _: numpy_peak(), range(threads)))

        def over_heads(*inputs):
            return list(pool.map(lambda *head: f(*head, *options), *inputs))

        call, small = lambda: over_heads(*inputs), lambda: over_heads(*inputs[:, :, :64])
    small()  # kernels are loaded and threads started before memory is looked at
    extra = extra_memory(call)
    if program == "torch":
        return serve(lambda: call()[0, 0, -1, 0], peak, extra=extra)
    return serve(lambda: call()[0][-1, 0], peak, extra=extra, traced=traced_memory(call))


def flops(heads, n, causal, backward):
    """Two products forward and five backward, 2 n² d each; half of it where causal work is skipped."""
    return heads * (7 if backward else 2) * 2 * n * n * D / (2 if causal else 1)


def main():
    args = parse(__doc__, seconds=40, threads=1)
    if args.worker:
        return work(args.worker, args.threads)
    rows, shown = [], []
    for n, causal, backward, programs in TINY if args.tiny else CASES:
        kind = f"{n} {'causal' if causal else 'full'} {'backward' if backward else 'forward'}"
        workers = {f"{program} {kind}": {} if program == "torch" else {"OPENBLAS_NUM_THREADS": "1"}
                   for program in programs.split() if program not in ("fused", "grand") or find_spec("numba")}
        ready, table = interleave(__file__, workers, args.threads, steps=1, seconds=args.seconds,
                                  rounds=2 if args.tiny else 15, clock=args.clock)
        for alike in ({"great", "grand"}, NAMES.keys() - {"great", "grand", "limit"}):
            outputs = {name: ready[name]["losses"][0] for name in workers if name.split()[0] in alike}
            assert np.ptp(list(outputs.values()) or [0]) < 1e-4, f"last rows differ: {outputs}"
        base = f"torch {kind}"
        for name in workers:
            program = name.split()[0]
            row = {"program": NAMES[program], "n": n, "causal": causal, "backward": backward,
                   "ms": compare(table, name), "to_torch": compare(table, name, base),
                   "to_limit": compare(table, name, f"limit {kind}"), "extra_MB": ready[name]["extra"],
                   "traced_MB": ready[name].get("traced"),
                   "share_of_peak": share_of_peak(table, name, flops(args.threads, n, causal, backward))}
            rows.append(row)
            shown.append([f"{kind.replace('backward', 'forward and backward')}: {row['program']}",
                          f"{row['ms']['median']:.0f}", range_of(row["to_torch"]), range_of(row["to_limit"]),
                          f"{row['to_limit']['best']:.2f}",
                          *("–" if row[x] is None else f"{row[x]:.1f}" for x in ("extra_MB", "traced_MB")),
                          f"{row['share_of_peak']:.0%}"])
    facts = machine(args.threads, args.clock)
    show(f"Attention, {args.threads} head(s), d 64", facts,
         ["", "ms", "÷ torch", "÷ products", "best ÷ products", "extra MB", "traced MB", "of peak"], shown,
         "÷ torch: median of the rounds (quartiles). Extra MB: resident memory at a call's peak, output included; "
         "traced: what NumPy's arrays hold then, also in pages that the process had before the call.")
    record("flash", facts, args.tiny, d=D, heads=args.threads, block=BLOCK, rows=rows)


if __name__ == "__main__":
    main()
