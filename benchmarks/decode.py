"""Writing one token with the cache of keys and values, beside computing everything again, at growing length.

    python benchmarks/decode.py [--threads 1] [--seconds 60]

A decoder of d 256, 4 layers, 4 heads; one sequence. Token T is written by all programs after the same T − 1 tokens.
"""

import numpy as np
from byhand import tree
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.np._memory import keep_memory
from common import compare, interleave, machine, numpy_peak, serve, show, torch_peak
from options import parse, range_of, record

LENGTHS, TINY = (64, 128, 256, 512), (4, 8)
NAMES = {"cache": "NumPy with the cache", "again": "NumPy, all again", "torch": "torch with the cache",
         "torch_again": "torch, all again"}
REPEAT = 10  # tokens of a timed step with the cache: one alone is too short to time


def model(tiny):
    size = {"d": 16, "heads": 2, "layers": 2, "n_max": 8} if tiny else {"d": 256, "heads": 4, "layers": 4, "n_max": 512}
    config = ModelConfig("decoder", vocab=512, position="learned", **size)
    rng = np.random.default_rng(0)
    return init_model(rng, config), config, rng.integers(0, config.vocab, (1, config.n_max))


def of_numpy(program, params, config, ids):
    from byhand.np.generate import decode_forward, init_kv
    from byhand.np.model import decoder_forward

    if program == "again":
        return lambda: decoder_forward(ids, params, config)[0][0, -1, 0]
    _, kv = decode_forward(ids[:, :-1], params, config, init_kv(params, config, 1, config.n_max))

    def step():
        for _ in range(REPEAT):  # the same token: the cache of the tokens before it stays right
            logits, _ = decode_forward(ids[:, -1:], params, config, kv, last=True)
        return logits[0, -1, 0]

    return step


def of_torch(program, params, config, ids):
    import torch
    from byhand.pt.generate import decode, init_kv
    from byhand.pt.model import decoder

    params, ids = tree.to_torch(params), torch.tensor(ids)
    if program == "torch_again":
        return torch.inference_mode()(lambda: decoder(ids, params, config)[0, -1, 0])
    _, kv = decode(ids[:, :-1], params, config, init_kv(params, config, 1, config.n_max))

    @torch.inference_mode()
    def step():
        for _ in range(REPEAT):
            logits, _ = decode(ids[:, -1:], params, config, kv, last=True)
        return logits[0, -1, 0]

    return step


def work(name, threads):
    keep_memory()  # as in training; in the workers of torch too, so that all run under one allocator
    program, T, size = name.split()
    params, config, ids = model(size == "tiny")
    ids = ids[:, : int(T)]
    if program.startswith("torch"):
        import torch

        torch.set_num_threads(threads)
        return serve(of_torch(program, params, config, ids), torch_peak)
    return serve(of_numpy(program, params, config, ids), numpy_peak)


def main():
    args = parse(__doc__, seconds=60, threads=1)
    if args.worker:
        return work(args.worker, args.threads)
    size, lengths = ("tiny", TINY) if args.tiny else ("full", LENGTHS)
    longest = lengths[-1]
    names = [f"cache {T} {size}" for T in lengths] + [f"again {longest} {size}"]
    names += [] if args.tiny else [f"torch {longest} {size}", f"torch_again {longest} {size}"]
    ready, table = interleave(__file__, {name: {} for name in names}, args.threads, seconds=args.seconds,
                              rounds=2 if args.tiny else 20, clock=args.clock)
    for turn in table:
        for name, answer in turn.items():
            if "again" not in name:
                answer["seconds"] = [x / REPEAT for x in answer["seconds"]]
    last = [ready[name]["losses"][0] for name in names if name.split()[1] == str(longest)]
    assert np.ptp(last) < 1e-3, f"logits of token {longest} differ: {last}"
    rows, shown = [], []
    for name in names:
        program, T, _ = name.split()
        row = {"program": NAMES[program], "T": int(T), "ms": compare(table, name),
               "to_shortest": compare(table, name, names[0]),
               "again_to_this": compare(table, names[len(lengths)], name)}
        rows.append(row)
        shown.append([f"token {T}: {row['program']}", range_of(row["ms"]), range_of(row["to_shortest"]),
                      range_of(row["again_to_this"])])
    facts, (_, config, _) = machine(args.threads, args.clock), model(args.tiny)
    show(f"Decoding: d {config.d}, {config.layers} layers, {config.heads} heads, batch 1", facts,
         ["", "ms a token", f"÷ token {lengths[0]}", f"NumPy again at {longest} ÷ this"], shown,
         "Medians of the rounds (quartiles).")
    record("decode", facts, args.tiny, shape=vars(config), rows=rows)


if __name__ == "__main__":
    main()
