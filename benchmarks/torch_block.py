"""Our PyTorch block beside torch.nn.TransformerEncoderLayer of equal shape and equal weights, forward and backward.

    python benchmarks/torch_block.py [--threads 2] [--seconds 30]
"""

import numpy as np
from common import compare, interleave, machine, serve, show, torch_peak
from options import parse, range_of, record

SHAPES = [(256, 4, 1024, 16, 128), (512, 8, 2048, 8, 128), (128, 4, 512, 32, 64)]  # d, heads, d_ff, batch, tokens
TINY = [(16, 2, 32, 2, 4)]
NAMES = {"ours": "byhand.pt.block.Block", "theirs": "torch.nn.TransformerEncoderLayer"}


def theirs(block, d, heads, d_ff):
    """torch's layer with the weights of our block: it stores W transposed, and those of q, k and v in one array."""
    import torch

    layer = torch.nn.TransformerEncoderLayer(d, heads, d_ff, dropout=0.0, activation="gelu", batch_first=True,
                                             norm_first=True)
    w = dict(block.named_parameters())
    state = {"self_attn.in_proj_weight": torch.cat([w[f"attention.W_{x}"] for x in "qkv"], dim=1).T,
             "self_attn.in_proj_bias": torch.cat([w[f"attention.b_{x}"] for x in "qkv"]),
             "self_attn.out_proj.weight": w["attention.W_o"].T, "self_attn.out_proj.bias": w["attention.b_o"]}
    for i in "12":
        state |= {f"linear{i}.weight": w[f"ff.W_{i}"].T, f"linear{i}.bias": w[f"ff.b_{i}"],
                  f"norm{i}.weight": w[f"norm_{i}.gamma"], f"norm{i}.bias": w[f"norm_{i}.beta"]}
    layer.load_state_dict(state)
    return layer


def work(name, threads):
    import torch
    from byhand.pt.block import Block

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    which, *sizes = name.split()
    d, heads, d_ff, batch, n = map(int, sizes)
    block = Block(d, heads, d_ff)
    layer = block if which == "ours" else theirs(block, d, heads, d_ff)
    X, dY = (torch.tensor(x, dtype=torch.float32) for x in np.random.default_rng(0).normal(size=(2, batch, n, d)))
    X.requires_grad_()

    def step():
        X.grad = None
        layer.zero_grad(set_to_none=True)
        layer(X).backward(dY)
        return X.grad[0, 0, 0]

    serve(step, torch_peak)


def main():
    args = parse(__doc__, seconds=30)
    if args.worker:
        return work(args.worker, args.threads)
    rows, shown = [], []
    for shape in TINY if args.tiny else SHAPES:
        d, heads, d_ff, batch, n = shape
        sizes = " ".join(map(str, shape))
        workers = {f"{name} {sizes}": {} for name in NAMES}
        ready, table = interleave(__file__, workers, args.threads, seconds=args.seconds, rounds=2 if args.tiny else 25,
                                  clock=args.clock)
        gap = np.ptp([ready[name]["losses"][0] for name in workers])
        assert gap < 1e-4, f"the first gradients differ by {gap:.0e}"
        for name in workers:
            row = {"program": NAMES[name.split()[0]], "d": d, "heads": heads, "d_ff": d_ff, "batch": batch, "n": n,
                   "ms": compare(table, name), "to_theirs": compare(table, name, f"theirs {sizes}")}
            rows.append(row)
            shown.append([f"d {d}, {heads} heads, d_ff {d_ff}, {batch} × {n} tokens: {row['program']}",
                          f"{row['ms']['median']:.2f}", range_of(row["to_theirs"]), f"{row['to_theirs']['best']:.2f}"])
    facts = machine(args.threads, args.clock)
    show("One block, forward and backward", facts, ["", "ms", "÷ torch's", "best ÷ best"], shown,
         "÷ torch's: median of the rounds (quartiles).")
    record("torch_block", facts, args.tiny, rows=rows)


if __name__ == "__main__":
    main()
