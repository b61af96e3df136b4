"""Chains of small steps: the chapter's function, numexpr and the fused loop, on arrays of one piece of a training step.

    python benchmarks/loops.py [--seconds 10]

CPU time of one thread, in turns in one process, so that a busy machine matters little. numexpr takes one expression at
a time: sums and maxima stay NumPy's, and the expressions between them become one pass each. It is measured where it is
installed, and nothing else needs it. It was tried and not taken: it is slower than the functions of the chapters, as
README.md in this folder says.
"""

import statistics
import time
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np
from byhand.annex import loops
from byhand.check import ValuesTrusted
from byhand.np.block import TANH_CUBE, TANH_SCALE, activation_backward, activation_forward
from byhand.np.norm import layer_norm_forward
from byhand.np.softmax import SoftmaxCache, softmax_backward, softmax_forward
from common import machine, show
from history import busy
from options import parse, range_of, record


def programs(rows):
    """{chain: {program: a call}}; what each writes is its own."""
    draw = np.random.default_rng(0)
    U, dY, S, X = (draw.normal(size=(rows, d)).astype(np.float32) for d in (512, 512, 64, 128))
    b, zero, one = np.zeros(512, np.float32), np.zeros(128, np.float32), np.ones(128, np.float32)
    slope, X_hat, r, out = np.empty_like(U), np.empty_like(X), np.empty(rows, np.float32), np.empty_like(X)
    A, step, none = softmax_forward(S)[0], np.float32(1), np.zeros_like(X)
    work, back = U.copy(), dY.copy()
    found = {
        "GELU, both ways": {"chapter": lambda: activation_backward(dY, activation_forward(U, "gelu_tanh")[1]),
                            "loop": lambda: (loops.gelu_rows(work, b, slope),
                                             loops.slope_back_rows(back, slope, b * 0))},
        "softmax": {"chapter": lambda: softmax_forward(S), "loop": lambda: loops.softmax_rows(S.copy(), step, 0)},
        "softmax backward": {"chapter": lambda: softmax_backward(S, SoftmaxCache(A)),
                             "loop": lambda: loops.softmax_back_rows(S.copy(), A, step)},
        "LayerNorm": {"chapter": lambda: layer_norm_forward(X, one, zero),
                      "loop": lambda: loops.norm_rows(X, none, zero, one, zero, np.float32(1e-5), True, X_hat, r, out)},
    }
    if find_spec("numexpr"):
        import numexpr

        numexpr.set_num_threads(1)
        c, k, half = np.float32(TANH_SCALE), np.float32(TANH_SCALE * TANH_CUBE), np.float32(0.5)
        three, e = np.float32(3), np.float32(1e-5)

        def run(text, **names):
            return numexpr.evaluate(text, names | {"c": c, "k": k, "h": half, "one": step, "three": three, "e": e})

        def gelu():
            G = run("h + h * tanh(U * (c + k * U * U))", U=U)
            return run("dY * (G + U * G * (one - G) * (c + three * k * U * U) / h)", dY=dY, G=G, U=U)

        def softmax():
            E = run("exp(S - m)", S=S, m=S.max(axis=-1, keepdims=True))
            return run("E / s", E=E, s=E.sum(axis=-1, keepdims=True))

        def norm():
            Y = run("X - m", X=X, m=X.mean(axis=-1, keepdims=True))
            return run("Y / sqrt(v + e) * g + b", Y=Y, v=(Y * Y).mean(axis=-1, keepdims=True), g=one, b=zero)

        found["GELU, both ways"]["numexpr"], found["softmax"]["numexpr"] = gelu, softmax
        found["LayerNorm"]["numexpr"] = norm
        found["softmax backward"]["numexpr"] = lambda: run(
            "A * (D - s)", A=A, D=S, s=(A * S).sum(axis=-1, keepdims=True))
    return found


def main():
    args = parse(__doc__, seconds=10, threads=1)
    if not loops.HAVE_NUMBA:
        return print("loops: numba not installed, so nothing is measured.")
    busy()  # looked at before anything of ours runs
    rows, shown, calls = [], [], 2 if args.tiny else 200
    with ValuesTrusted():
        for chain, some in programs(64 if args.tiny else 1024).items():
            seconds, end = {name: [] for name in some}, time.monotonic() + args.seconds / 4
            for call in some.values():
                call()
            while len(seconds["loop"]) < 3 or len(seconds["loop"]) < calls and time.monotonic() < end:
                for name, call in some.items():
                    start = time.process_time()
                    call()
                    seconds[name].append(time.process_time() - start)
            for name, taken in seconds.items():
                ratios = [x / y for x, y in zip(taken, seconds["chapter"], strict=True)]
                low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
                best = min(taken) / min(seconds["chapter"])
                rows.append({"chain": chain, "program": name, "ms": {"best": 1e3 * min(taken)},
                             "to_chapter": {"median": median, "low": low, "high": high, "best": best}})
                shown.append([f"{chain}: {name}", f"{1e3 * min(taken):.3f}", range_of(rows[-1]["to_chapter"]),
                              f"{best:.2f}"])
    facts = machine(1, "cpu")
    if find_spec("numexpr"):
        facts["versions"]["numexpr"] = version("numexpr")
    show("Chains of small steps, 1,024 rows", facts, ["", "ms, best", "÷ chapter", "best ÷ best"], shown)
    record("loops", facts, args.tiny, rows=rows)


if __name__ == "__main__":
    main()
