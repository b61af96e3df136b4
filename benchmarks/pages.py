"""Writes what README.md and benchmarks/README.md say of times, from the records.

    python benchmarks/pages.py [--check]

A ratio of a record that does not call itself quiet says so. The table of processors and kernels is from
results/history.json: of each ratio the newest quiet run there, or the newest.
"""

import argparse
import json
import re
import sys
from pathlib import Path

from history import CHOSEN, UNTOLD, key, name_of, newest, place, processor, quiet

ROOT = Path(__file__).resolve().parents[1]
README, INNER, RESULTS = ROOT / "README.md", ROOT / "benchmarks" / "README.md", ROOT / "benchmarks" / "results"
BUSY = " (busy machine)"
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
GPU_LINE = re.compile(r"(?m)^On one GPU, .*$")
GPU_TABLES = re.compile(r"(?s)(?<=## One GPU\n\n).*?(?=\n## )")
TOP = re.compile(r"(?<=each from one interleaved run on )[^;]*(?=;)")
LAST = re.compile(r"(?m)^The products of matrices alone take .*$")
NUMEXPR = re.compile(r"(?m)^- numexpr.*$")
TABLE = re.compile(r"\| Ratio \|.*\n(?:\|.+\n)+(?:\n† .+\n)?")


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
    history = json.loads((RESULTS / "history.json").read_text(encoding="utf-8"))
    here = place(key(of_step["machine"]))
    ratios = {where: [there(history, each, where, CHOSEN) for each in [*BEHIND.values()][:2]]
              for where in places(history) if where != here}
    others = [f"on {cpu.removesuffix(UNTOLD)} {first} and {last}" for (cpu, _), (first, last) in ratios.items()
              if None not in (first, last)]
    elsewhere = (" PyTorch's own kernels are at their best on some processors: the first two ratios were "
                 f"{', '.join(others)}." if others else "")
    return (f"The products of matrices alone take {said('', step, quiet(of_step))} of PyTorch's training step and "
            f"{said('', attention, quiet(of_flash))} of its attention there: what a NumPy program can gain ends at "
            f"these numbers.{elsewhere}")


def there(history: dict, behind: tuple, where: tuple[str, str], kind: str | None = None) -> str | None:
    """What the newest run of a place says of a ratio, or nothing."""
    name, ratio, asked = behind
    some = newest(history, name, name_of(row_of(name, asked)), ratio, kind, where)
    return said(ratio, some[2][ratio]["median"], quiet(some[1])) if some else None


def places(history: dict) -> list[tuple[str, str]]:
    """Processors and kernels with a run of what the table shows, as they came into the history."""
    return list(dict.fromkeys(place(machine) for machine, kinds in history.items()
                              if any(name in kinds for name, *_ in KERNELS.values())))


def kernels(history: dict) -> str:
    """The table of processors and kernels, and what its marks mean."""
    columns = places(history)
    lines = ["| Ratio | " + " | ".join(f"{cpu}: {arch}" for cpu, arch in columns) + " |",
             "|---" * (1 + len(columns)) + "|"]
    for what, behind in KERNELS.items():
        lines.append(f"| {what} | " + " | ".join(there(history, behind, where) or "–" for where in columns) + " |")
    text = "\n".join(lines) + "\n"
    if any(cpu.endswith(UNTOLD) for cpu, _ in columns):
        text += "\n† Runs that did not note which of a maker's processors they had: one column may be of several.\n"
    return text


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
            "without Intel's VML, which may be why: tanh and exp then come one number at a time.")


def step_on_gpu(mode):
    return next(run for run in record("gpu_train")["runs"] if run["mode"] == mode)


def attention_on_gpu(form, n, backward=True):
    return next(row for row in record("gpu_attention")["rows"]
                if (row["form"], row["n"], row["backward"]) == (form, n, backward))


def gpu_line() -> str:
    """The front page's sentence of a GPU."""
    ours, by_hand, plain, layers = (step_on_gpu(mode) for mode in (
        "bf16", "bf16, kernels by hand", "plain GPT, bf16", "torch.nn layers, bf16"))
    n, speed = 16384, ours["tokens_per_second"]
    kernel, torch, explicit = (attention_on_gpu(form, n) for form in ("kernel", "fused", "explicit"))
    slower = {name: row["seconds"]["median"] / torch["seconds"]["median"]
              for name, row in (("kernel", kernel), ("explicit", explicit))}
    return (f"On one GPU, an {record('gpu_train')['machine']}, our PyTorch half trains a decoder of 124 million "
            f"parameters on {speed:,.0f} tokens a second (bfloat16, eager): {speed / plain['tokens_per_second']:.2f} "
            f"of a plain GPT's, {speed / layers['tokens_per_second']:.2f} of `torch.nn`'s layers'. With our own Triton "
            f"kernels it is {by_hand['tokens_per_second']:,.0f}, in {by_hand['peak_GB']:.1f} GB in place of "
            f"{ours['peak_GB']:.1f}. Causal attention over {n:,} tokens, there and back, takes our kernel "
            f"{slower['kernel']:.1f} times as long as PyTorch's, and the explicit form {slower['explicit']:.0f} times "
            f"and {explicit['peak_GB']:.1f} GB.")


def gpu_tables() -> str:
    """The tables of a GPU: a training step in all modes, and attention in all forms."""
    step, attention = record("gpu_train"), record("gpu_attention")
    versions, top = step["versions"], max(one["flops"] for one in step["ceiling"])
    lines = [f"`{step['command']}`, on an {step['machine']} with torch {versions['torch']}: a decoder of "
             f"{step['flops_per_token']['parameters']:,} parameters, {step['runs'][0]['batch']} × "
             f"{step['runs'][0]['T']:,} tokens a step. Of the peak: of the {top / 1e12:.0f} TFLOP/s of a bfloat16 "
             "product of 8,192 × 8,192, by (16.3).", "",
             "| A training step | Tokens a second | ms | Of the peak | GB |", "|---|---|---|---|---|"]
    for run in step["runs"]:
        cells = (run["mode"] + " *" * ("note" in run), f"{run['tokens_per_second']:,.0f}",
                 f"{1e3 * run['seconds']['median']:.1f}", f"{run['utilisation']['full']:.0%}", f"{run['peak_GB']:.1f}")
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *(f"\\* {run['note'][0].upper()}{run['note'][1:]}." for run in step["runs"] if "note" in run), ""]
    lengths = list(dict.fromkeys(row["n"] for row in attention["rows"]))
    lines += [f"Causal attention in bfloat16, 12 heads of 64 and {attention['rows'][-1]['n']:,} tokens in all: "
              "milliseconds there and back, and gigabytes at the peak.", "",
              "| n | " + " | ".join(f"{n:,}" for n in lengths) + " |", "|---" * (1 + len(lengths)) + "|"]
    for form in dict.fromkeys(row["form"] for row in attention["rows"]):
        rows = [attention_on_gpu(form, n) for n in lengths]
        cells = ("–" if row["seconds"] is None else f"{1e3 * row['seconds']['median']:.2f}, {row['peak_GB']:.1f}"
                 for row in rows)
        lines.append(f"| {rows[0]['what']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def row_of(name, asked):
    """The row of a record, for the name that it has in the history."""
    path = RESULTS / f"{name}.json"
    rows = json.loads(path.read_text(encoding="utf-8")).get("rows", ()) if path.is_file() else ()
    return next((r for r in rows if asked.items() <= r.items()), asked)


def filled(text: str) -> str:
    """README.md with the numbers of the records."""
    head, section, rest = re.split(r"(?ms)(^## How fast it is\n.*?)(?=^## )", text, maxsplit=1)
    return head + put(GPU_LINE, gpu_line(), _section(section)) + rest


def inner(text: str) -> str:
    """benchmarks/README.md with the table of kernels."""
    history = json.loads((RESULTS / "history.json").read_text(encoding="utf-8"))
    text = put(NUMEXPR, numexpr(history), put(TABLE, kernels(history), text))
    return put(GPU_TABLES, gpu_tables(), text)


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
