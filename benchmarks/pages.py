"""Writes what README.md and benchmarks/README.md say of times, from the records.

    python benchmarks/pages.py [--check]

A ratio of a record that does not call itself quiet says so. The table of kernels is from results/history.json: of each
ratio the newest quiet run with the kernels that BLAS chooses, and the newest with those for AVX2.
"""

import argparse
import json
import re
import sys
from pathlib import Path

from history import AVX2, CHOSEN, NOT_TOLD_APART, name_of, newest, processor, quiet

ROOT = Path(__file__).resolve().parents[1]
README, INNER, RESULTS = ROOT / "README.md", ROOT / "benchmarks" / "README.md", ROOT / "benchmarks" / "results"
BUSY, UNTOLD = " (busy machine)", " †"
PLAIN, FUSED = "NumPy, the functions of the chapters", "NumPy, last rung: the same with fused loops"
FLOOR = "NumPy, the step's matrix products alone"
STEP, TILES = ("train_step", "to_ours"), ("flash", "to_torch")
LONG = {"n": 16384, "causal": False, "backward": False}
BEHIND = {  # what stands in front of a ratio of the README: its record, the ratio's name, the row
    "with the functions that the chapters show": (*STEP, {"name": PLAIN}),
    "the last rung": (*STEP, {"name": FUSED}),
    "tiled NumPy attention over 16,384 tokens": (*TILES, {"program": "NumPy, tiles"} | LONG),
    "its way there and back": (*TILES, {"program": "NumPy and fused loops", "n": 16384, "backward": True}),
    "writing token 512": ("decode", "again_to_this", {"program": "NumPy with the cache", "T": 512}),
    "MiniLM over 1,000 sentences": ("pretrained_speed", "to_transformers", {"model": "minilm", "program": "NumPy"}),
    "without padding, with fused loops": (
        "pretrained_speed", "to_transformers", {"model": "minilm", "program": "NumPy, packed, fused loops"}),
    "SmolLM2-135M a token": ("pretrained_speed", "to_transformers", {"model": "smollm2", "program": "NumPy"}),
    "with weights joined beforehand": (
        "pretrained_speed", "to_transformers", {"model": "smollm2", "program": "NumPy, joined weights"}),
    "with weights in eight bits": (
        "quantised", "to_float32", {"program": "eight bits, a tile at a time", "tokens": 64}),
    "our PyTorch block": ("torch_block", "to_theirs", {"program": "byhand.pt.block.Block", "d": 256}),
}
MEMORY = {  # megabytes that such a line names, in their order: the record, the field, the row
    "tiled NumPy attention over 16,384 tokens": [("flash", "extra_MB", {"program": "NumPy, tiles"} | LONG)],
    "with weights in eight bits": [("quantised", "kept_MB", {"program": program, "tokens": 64})
                                   for program in ("eight bits, a tile at a time", "float32")],
}
LIMITS = {  # the products alone, beside PyTorch
    "a training step": (*STEP, {"name": FLOOR}),
    "attention over 16,384 tokens": (*TILES, {"program": "NumPy, the products alone"} | LONG),
}
KERNELS = {  # rows of the table of kernels: what, beside what, and what is behind
    "a training step, functions of the chapters ÷ PyTorch": BEHIND["with the functions that the chapters show"],
    "the last rung ÷ PyTorch": BEHIND["the last rung"],
    "the step's products alone ÷ PyTorch": LIMITS["a training step"],
    "tiled attention, 16,384 tokens ÷ PyTorch": BEHIND["tiled NumPy attention over 16,384 tokens"],
    "there and back, fused loops ÷ PyTorch": BEHIND["its way there and back"],
    "its products alone ÷ PyTorch": LIMITS["attention over 16,384 tokens"],
    "token 512, with the cache ÷ all again": BEHIND["writing token 512"],
    "MiniLM ÷ `transformers`": BEHIND["MiniLM over 1,000 sentences"],
    "MiniLM without padding ÷ `transformers`": BEHIND["without padding, with fused loops"],
    "SmolLM2-135M ÷ `transformers`": BEHIND["SmolLM2-135M a token"],
    "SmolLM2-135M, joined ÷ `transformers`": BEHIND["with weights joined beforehand"],
    "64 tokens, eight bits ÷ float32": BEHIND["with weights in eight bits"],
    "SmolLM2-135M a token, eight bits ÷ float32": (
        "quantised", "to_float32", {"program": "a token of SmolLM2, eight bits, a tile at a time"}),
    "our PyTorch block ÷ PyTorch's": BEHIND["our PyTorch block"],
    "checks of signatures ÷ a training step": ("checks", "to_step", {"name": "signatures and lines"}),
    "a product 512 wide ÷ the roof": ("roofline", "to_roof", {"name": "product, 512 wide"}),
    "attention, n × n, 4,096 tokens ÷ the roof": ("roofline", "to_roof", {"name": "attention, n × n, 4096"}),
}
TOP = re.compile(r"(?<=each from one interleaved run on )[^;]*(?=;)")
LAST = re.compile(r"(?m)^The products of matrices alone take .*$")
NUMEXPR = re.compile(r"(?m)^- numexpr.*$")
TABLE = re.compile(r"\| Ratio \| Kernels that BLAS chooses \| AVX2 kernels \|\n(?:.+\n)+(?:\n† .+\n)?\nKernels: .+\n")


def record(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def found(name, ratio, asked) -> tuple[dict, float]:
    """A record, and the median of a ratio in it."""
    whole = record(name)
    row, = (r for r in whole["rows"] if asked.items() <= r.items())
    return whole, row[ratio]["median"]


def said(ratio: str, value: float, calm: bool) -> str:
    """As the README writes it."""
    small = f"{value:.3f}" if value < 0.05 else f"{value:.2f}"
    return (f"1 / {value:.0f}" if ratio == "again_to_this" else small) + ("" if calm else BUSY)


def cell(line: str) -> str | None:
    """The last cell of a line of the table, or None if not one record stands behind it."""
    behind = [v for key, v in BEHIND.items() if key in line]
    if len(behind) != 1:
        return None
    whole, value = found(*behind[0])
    return said(behind[0][1], value, quiet(whole))


def with_memory(line: str) -> str:
    """The same with the megabytes of the records."""
    for words, some in MEMORY.items():
        if words in line:
            of = iter(f"{row_of(name, asked)[field]:.1f} MB" for name, field, asked in some)
            line = re.sub(r"[0-9.]+ MB", lambda _, of=of: next(of), line)
    return line


def table_lines(text: str) -> list[str]:
    return re.search(r"\| What \| Beside \| Ratio \|\n.*\n((?:\|.*\n)+)", text)[1].splitlines()


def machines() -> str:
    """Cores and processors of the records behind the table; several, if they are not of one."""
    facts = [record(name)["machine"] for name in sorted({name for name, *_ in BEHIND.values()})]
    cores, names = (" or ".join(dict.fromkeys(some)) for some in zip(*((str(f["cores"]), processor(f)) for f in facts),
                                                                     strict=True))
    return f"{cores} cores ({names}"


def limits() -> str:
    """The sentence of what the products alone take."""
    (of_step, step), (of_flash, attention) = (found(*some) for some in LIMITS.values())
    return (f"The products of matrices alone take {said('', step, quiet(of_step))} of PyTorch's training step and "
            f"{said('', attention, quiet(of_flash))} of its attention there: what a NumPy program can gain ends at "
            "these numbers.")


def kernels(history: dict) -> str:
    """The table of two kinds of kernels, and what its marks mean."""
    lines, places, untold = ["| Ratio | Kernels that BLAS chooses | AVX2 kernels |", "|---|---|---|"], {}, False
    for what, (name, ratio, asked) in KERNELS.items():
        cells = []
        for kind in (CHOSEN, AVX2):
            some = newest(history, name, name_of(row_of(name, asked)), ratio, kind)
            if some is None:
                cells.append("–")
                continue
            machine, run, row = some
            apart = machine.startswith(NOT_TOLD_APART)
            untold |= apart
            cells.append(said(ratio, row[ratio]["median"], quiet(run)) + UNTOLD * apart)
            word = machine.removeprefix(NOT_TOLD_APART)
            arch, where = re.search(r"\((\w+)\)", word)[1], re.split(r", [0-9]+ cores", word)[0]
            places.setdefault(kind, {})[f"{arch} on {where}"] = None
        lines.append(f"| {what} | {' | '.join(cells)} |")
    text = "\n".join(lines) + "\n"
    if untold:
        text += "\n† From a run that did not note which of a maker's processors it ran on: compare no columns.\n"
    return text + "\nKernels: " + "; ".join(f"{kind.removeprefix('kernels that ')}: {', '.join(some)}"
                                            for kind, some in places.items()) + ".\n"


def numexpr(history: dict) -> str:
    """The line of numexpr, from the newest run that had it."""
    ratios, calm = {}, True
    for program in ("numexpr", "loop"):
        some = [newest(history, "loops", f"{chain}, {program}", "to_chapter", CHOSEN)
                for chain in ("GELU, both ways", "softmax", "softmax backward", "LayerNorm")]
        some = [each for each in some if each]
        calm &= all(quiet(run) for _, run, _ in some)
        values = [row["to_chapter"]["median"] for *_, row in some]
        ratios[program] = f"{min(values):.1f} to {max(values):.1f} times" if values else "–"
    return (f"- numexpr, one expression in one pass where sums and maxima stay NumPy's: {ratios['numexpr']} the "
            f"functions of the chapters{'' if calm else BUSY}, the compiled loops {ratios['loop']}: its wheels come "
            "without Intel's VML, so that it takes tanh and exp one number at a time.")


def row_of(name, asked):
    """The row of a record, for the name that it has in the history."""
    path = RESULTS / f"{name}.json"
    rows = json.loads(path.read_text(encoding="utf-8")).get("rows", ()) if path.is_file() else ()
    return next((r for r in rows if asked.items() <= r.items()), asked)


def filled(text: str) -> str:
    """README.md with the numbers of the records."""
    head, section, rest = re.split(r"(?ms)(^## How fast it is\n.*?)(?=^## )", text, maxsplit=1)
    return head + _section(section) + rest


def inner(text: str) -> str:
    """benchmarks/README.md with the table of kernels."""
    history = json.loads((RESULTS / "history.json").read_text(encoding="utf-8"))
    return put(NUMEXPR, numexpr(history), put(TABLE, kernels(history), text))


def put(pattern, words, text):
    text, times = pattern.subn(lambda _: words, text)
    assert times == 1, f"{pattern.pattern} is {times} times in the page, expected once"
    return text


def _section(text):
    for line in table_lines(text):
        value = cell(line)
        if value is not None:
            text = text.replace(line, with_memory(f"{line[: line.rstrip('| ').rindex('|')]}| {value} |"), 1)
    return put(LAST, limits(), put(TOP, machines(), text))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; the exit status says if all is current")
    args = parser.parse_args()
    for path, of_records in ((README, filled), (INNER, inner)):
        text = path.read_text(encoding="utf-8")
        new = of_records(text)
        if args.check and new != text:
            sys.exit(f"pages: {path.relative_to(ROOT)} is not what the records say")
        if not args.check:
            path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
