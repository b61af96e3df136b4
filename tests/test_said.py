"""What chapters 15 to 17 and the page of runs say in words of numbers that stand beside the words, or in a record.

A claim is a sentence with one place for a word, and a function that computes what belongs there. A sentence that is not
on its page any more, or says another word, is reported; each is tried with a wrong word too, and left out. What the
tables of typical mistakes say of slope and twin is held to the proofs of tests/specs in the same way.
"""

import ast
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from byhand.config import ModelConfig
from byhand.cost import costs
from byhand.np.flash import flash_attention_backward, flash_attention_forward
from byhand.np.gradcheck import gradcheck
from specs import flash, vision
from specs.vision import causal_rollout_stays_causal, what_entered_first_stays

ROOT = Path(__file__).parents[1]
BOOK, RESULTS = ROOT / "book", ROOT / "benchmarks" / "results"
COUNT = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
         "thirteen", "fourteen", "fifteen")
ORDER = ("first", "second", "third", "fourth", "fifth")
COUNT_OF = {word: n for n, word in enumerate(COUNT)} | {"dozen": 12}
SHARES = {"a tenth": 1 / 10, "a quarter": 1 / 4, "a third": 1 / 3, "half": 1 / 2, "three quarters": 3 / 4}


def cells(page):
    return json.loads((BOOK / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]


def prose(page):
    return "\n\n".join("".join(cell["source"]) for cell in cells(page) if cell["cell_type"] == "markdown")


def code(page, words):
    """The cell of code with these words."""
    (text,) = {"".join(c["source"]) for c in cells(page) if c["cell_type"] == "code" and words in "".join(c["source"])}
    return text


def printed(page, pattern):
    """The numbers in the first printed line that begins so."""
    for cell in cells(page):
        for out in cell.get("outputs", ()):
            found = re.search(rf"(?m)^ *{pattern}(.*)$", "".join(out.get("text", "")))
            if found:
                return [float(x.replace(",", "")) for x in re.findall(r"-?\d[\d,]*(?:\.\d+)?", found[1])]
    raise AssertionError(f"{page} prints no {pattern}")


def record(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def nearest(names, value):
    """The word whose number is nearest."""
    return min(names, key=lambda word: abs(names[word] - value))


def count(value):
    return COUNT[round(value)]


# Chapter 15

def strangers():
    """Mistakes among unknown hands, over those on a random split."""
    (usual,), (others,) = printed("15_vision", "wrong of 400:"), printed("15_vision", "it reads")
    return count((100 - others) / usual)


def vision_table():
    """ViT, CNN and the linear layer, by the number of images."""
    return {n: printed("15_vision", f"{n} ")[:3] for n in (50, 100, 200, 400, 800, 1397)}


def images_apart():
    """How many of 400 images lie between the transformer and the linear layer, from 200 on."""
    return count(max(4 * abs(row[0] - row[2]) for n, row in vision_table().items() if n >= 200))


def shuffled():
    plain, _, again = printed("15_vision", "CNN  +(?=9)")
    return count(4 * (plain - again))


def one_number():
    """What one number brings, of what the sinusoids bring."""
    bag, whole = printed("15_vision", "ViT, none")[0], printed("15_vision", "ViT, positions")[0]
    return nearest(SHARES, (printed("15_vision", "one number")[0] - bag) / (whole - bag))


def feed_forward_over_attention(patch):
    """Operations of feed-forward over those of scores and mixing, for the cell's model."""
    n, d = (8 // patch) ** 2, 48
    rows = {row.part: row.flops for row in costs(ModelConfig("encoder", 1, d, 4, 2), n)}
    return rows["feed-forward"] / (rows["self-attention"] - 2 * 8 * n * d * d)


def epochs():
    return count(600 / (1397 // 32))


# Chapter 16

def ladder(name, n):
    return [r for r in record("roofline")["rows"] if (r.get("ladder"), r.get("n")) == (name, n)]


def last_rungs(what):
    """Whether the last two rungs of attention need less than half of the first one's bytes, or time."""
    rows = ladder("attention", 4096)
    of = {"bytes": lambda r: r["bytes"], "time": lambda r: r["ms"]["median"]}[what]
    return "less" if all(of(r) < of(rows[0]) / 2 for r in rows[-2:]) else "more"


def training_rate():
    rows = ladder("training", None)
    return count(rows[-1]["flops"] / rows[-1]["ms"]["median"] * rows[0]["ms"]["median"] / rows[0]["flops"])


def wide_product():
    """By (16.6), for as many tokens as the sentence says."""
    n, d = 2048, 512
    (row,) = (r for r in record("roofline")["rows"] if r["name"] == "product, 512 wide")
    assert row["flops"] == 2 * n * d * d
    return str(round(n * d / (2 * (2 * n + d))))


def wide_head(column):
    """One head of linear attention over four, by what is kept (1) or computed (2)."""
    return count(printed("16_flash", "linear, one head")[column] / printed("16_flash", "linear  ")[column])


def gpu(form, what):
    (row,) = (r for r in record("gpu_attention")["rows"] if (r["form"], r["n"], r["backward"]) == (form, 16384, True))
    return row[what] if what == "peak_GB" else row[what]["median"]


def no_more_memory():
    return "more" if gpu("tiles", "peak_GB") <= gpu("kernel", "peak_GB") else "less"


def triton():
    """The longest of our times over those of PyTorch, of all lengths."""
    of = {(r["form"], r["n"]): r["seconds"]["median"] for r in record("gpu_attention")["rows"] if r["backward"]}
    most = max(t / of["fused", n] for (form, n), t in of.items() if form == "kernel")
    return {1: "once", 2: "twice"}.get(round(most), count(most) + " times")


def arrays_at_once():
    return count(gpu("explicit", "peak_GB") / (12 * 16384**2 * 2 / 1e9))


def gpu_step(column):
    """By hand over PyTorch's kernels: what is lost of the speed (0), saved of the memory (1)."""
    of = {r["mode"]: (r["tokens_per_second"], r["peak_GB"]) for r in record("gpu_train")["runs"]}
    return 1 - of["bf16, kernels by hand"][column] / of["bf16"][column]


def compiled_gain():
    of = {r["mode"]: r["tokens_per_second"] for r in record("gpu_train")["runs"]}
    return nearest(SHARES, of["plain GPT, bf16, compiled"] / of["plain GPT, bf16"] - 1)


def slower_than_recurrence():
    last = {kind: printed("16_flash", rf"{kind} +\d+ parameters")  # bits, and seconds
            for kind in ("recurrence", "convolution", "attention")}
    assert last["convolution"][-1] == min(x[-1] for x in last.values())
    assert last["convolution"][0] == min(x[0] for x in last.values())
    return nearest(SHARES, last["attention"][-1] / last["recurrence"][-1] - 1)


# Chapter 17

def lines_between():
    """Lines of gpt.py between the ways back of the maps out and qkv."""
    (back,) = (f for f in ast.parse((BOOK / "gpt.py").read_text(encoding="utf-8")).body
               if isinstance(f, ast.FunctionDef) and f.name == "attention_back")
    first, last = (i for i, line in enumerate(back.body) if "linear_back(" in ast.unparse(line))
    return count(last - first - 1)


def faults():
    (found,) = (ast.literal_eval(s.value) for s in ast.parse(code("17_capstone", "FAULTS = {")).body
                if ast.unparse(s.targets[0]) == "FAULTS")
    return [len(edits) for edits in found.values() if edits]


def fault_of_two():
    (n,) = (n for n, edits in enumerate(faults()) if edits > 1)
    return ORDER[n]


def words_back():
    """From the end of the prompt back to the word that is due, words and marks counted as tokens."""
    said = "".join(ast.literal_eval(re.search(r"(?s)SAID = (\(.*?\))\n", code("17_capstone", "SAID = ("))[1]))
    words = re.findall(r"\w+|[^\w\s]", said)
    back = len(words) - words.index("seven")
    return "dozen" if back == 12 else count(back)


def a_token(program):
    """Milliseconds, on record."""
    (row,) = (r for r in record("pretrained_speed")["rows"] if (r["model"], r["program"]) == ("smollm2", program))
    return str(round(row["ms"]["median"]))


def nats_left():
    none, silenced = (printed("17_capstone", name) for name in ("none {9}", "best 5"))
    return count(none[0] - silenced[1])


# Runs

def plain_mean_off():
    return nearest(SHARES, printed("runs", r"plain mean, \(11\.41\): off by")[0])


CLAIMS = [  # page, words around the word, what computes it, a wrong word
    ("15_vision", "the model makes about (four) times as many mistakes", strangers, "six"),
    ("15_vision", "About (four) times as many mistakes", strangers, "two"),
    ("15_vision", "at $d = 48$ it is (three) times with single pixels",
     lambda: count(feed_forward_over_attention(1)), "four"),
    ("15_vision", "and (192) times with one token an image", lambda: str(round(feed_forward_over_attention(8))), "64"),
    ("15_vision", "all 600 steps, about (fourteen) times through", epochs, "twelve"),
    ("15_vision", "the linear layer are within (two) images of 400", images_apart, "one"),
    ("15_vision", "with (two) mistakes more in 400 than on plain ones", shuffled, "three"),
    ("15_vision", "One number from 0 to 15 brings (a third) of what they bring", one_number, "half"),
    ("16_flash", "with 2,048 tokens, does (114) operations with each byte", wide_product, "85"),
    ("16_flash", "the last two carry (less) than half", lambda: last_rungs("bytes"), "more"),
    ("16_flash", "the same operations in (less) than half of the time", lambda: last_rungs("time"), "more"),
    ("16_flash", "has nearly (three) times the rate of the first", training_rate, "four"),
    ("16_flash", "the same 32 features hold nearly (four) times the state", lambda: wide_head(1), "five"),
    ("16_flash", "for nearly (four) times the operations", lambda: wide_head(2), "three"),
    ("16_flash", "takes nearly (half) as long again as the recurrence", slower_than_recurrence, "a quarter"),
    ("16_flash", "at 16,384 (four) at once", arrays_at_once, "three"),
    ("16_flash", "needs no (more) memory there than our Triton", no_more_memory, "less"),
    ("16_flash", "Our Triton takes up to about (twice) the time of PyTorch's kernel", triton, "three times"),
    ("16_flash", "the step is (a twentieth) slower",
     lambda: nearest({**SHARES, "a twentieth": 1 / 20}, gpu_step(0)), "a tenth"),
    ("16_flash", "and needs (a third) less memory", lambda: nearest(SHARES, gpu_step(1)), "half"),
    ("16_flash", "The plain GPT gains (a quarter). A program", compiled_gain, "a third"),
    ("17_capstone", "there are (six) lines there", lines_between, "four"),
    ("17_capstone", "Let us seed (five) faults into `gpt.py`", lambda: count(len(faults())), "four"),
    ("17_capstone", "each is one edit, but for the (third)", fault_of_two, "second"),
    ("17_capstone", "a password that stands a (dozen) tokens back", words_back, "ten"),
    ("17_capstone", "the functions of the chapters took (40) milliseconds a token", lambda: a_token("NumPy"), "20"),
    ("17_capstone", "and (27) with the weights joined", lambda: a_token("NumPy, joined weights"), "40"),
    ("17_capstone", "about (four) nats are left", nats_left, "two"),
    ("runs", "This gradient is wrong by (three quarters) of its length", plain_mean_off, "half"),
]


def untrue(text, sentence, computed):
    """What is wrong with a claim on a page with this text; None where it holds."""
    before, after = (re.escape(part) for part in re.split(r"\(.*?\)", sentence))
    found = re.findall(before.replace(r"\ ", r"\s+") + r"([\w ]+?)" + after.replace(r"\ ", r"\s+") + r"(?!\w)", text)
    if len(found) != 1:
        return f"{sentence!r} stands there {len(found)} times"
    right = computed()
    return None if found[0] == right else f"{sentence!r} says {found[0]!r}, computed was {right!r}"


@pytest.mark.parametrize(("page", "sentence", "computed", "wrong"), CLAIMS, ids=[claim[1] for claim in CLAIMS])
def test_a_number_in_words_is_the_one_beside_it(page, sentence, computed, wrong):
    text = prose(page)
    assert untrue(text, sentence, computed) is None
    said = re.search(r"\((.*?)\)", sentence)[1]
    other = text.replace(re.sub(r"[()]", "", sentence), sentence.replace(f"({said})", wrong))
    assert "computed was" in untrue(other, sentence, computed)
    assert "0 times" in untrue(text.replace(re.sub(r"[()]", "", sentence), ""), sentence, computed)


def test_what_sees_a_rollout_in_the_wrong_order():
    """The table of typical mistakes of chapter 15: not causal weights, which stay causal in any order."""
    def turned_round(layers, residual=0.5):
        total = stay = np.eye(layers[0].shape[-1])
        for A in layers:
            total = total @ ((1 - residual) * A.mean(axis=-3) + residual * stay)
        return total

    wrong = SimpleNamespace(__name__="byhand.np.wrong", attention_rollout=turned_round)
    causal_rollout_stays_causal(wrong)
    with pytest.raises(AssertionError, match="what entered differ"):
        what_entered_first_stays(wrong)
    (row,) = re.findall(r"\| rollout in the wrong order \|.*", prose("15_vision"))
    assert "first layer" in row and "causal" not in row


# The tables of typical mistakes: what the proofs say, and what they have no wrong version for

MISTAKES = [  # page, row, stem of the proofs, story of the wrong version
    ("15_vision", "a reshape without the exchange", vision, "patches cut without exchanging the axes"),
    ("15_vision", "squares counted down, then right", vision, "patch order: down, then right"),
    ("15_vision", "rows and columns exchanged in (15.3)", vision, "2-D positions: rows and columns exchanged"),
    ("15_vision", "class token last, first row read", vision, "class token put last"),
    ("15_vision", "$dt$ a mean over images", vision, "class token: mean for sum"),
    ("15_vision", "mean over padding too", vision, "mean over padding too"),
    ("16_flash", "accumulator not rescaled", flash, "accumulator not rescaled"),
    ("16_flash", "$D$ left out, or of $dO$ alone", flash, "D forgotten"),
    ("16_flash", "$D$ left out, or of $dO$ alone", flash, "D from dO alone"),
    ("16_flash", "$\\Lambda$ without the maximum", flash, "maximum missing in the log-sum-exp"),
    ("16_flash", "last keys lost where the block does not divide $n$", flash,
     "last keys lost when the block does not divide them"),
]


def row_of(text, name):
    """What a table of mistakes says of slope and twin."""
    (row,) = re.findall(rf"(?m)^\| {re.escape(name)} \|(.*)\|$", text)
    return [cell.strip() for cell in row.split("|")][:2]


def row_is_proved(text, name, stem, story):
    kinds = {m.caught for m in stem.WRONG if m.story == story and m.where.startswith("np.") and "twin" in m.caught}
    (caught,) = kinds
    return [cell.startswith("sees it") for cell in row_of(text, name)] == [
        kind in caught.split() for kind in ("slope", "twin")]


@pytest.mark.parametrize(("page", "name", "stem", "story"), MISTAKES, ids=[claim[3] for claim in MISTAKES])
def test_a_table_of_mistakes_says_what_the_proofs_show(page, name, stem, story):
    text = prose(page)
    assert row_is_proved(text, name, stem, story)
    slope, twin = row_of(text, name)
    other = "–" if slope.startswith("sees it") else "sees it"
    assert not row_is_proved(text.replace(f"| {name} | {slope} |", f"| {name} | {other} |"), name, stem, story)


def not_rescaled(Q, K, V):
    """Two keys at a time, whose values are added under another maximum; the sum of the weights is right."""
    scale = 1 / np.sqrt(Q.shape[1])
    m, l, o = np.full(len(Q), -np.inf), np.zeros(len(Q)), np.zeros((len(Q), V.shape[1]))
    for j in range(0, len(K), 2):
        S = scale * Q @ K[j : j + 2].T
        top = np.maximum(m, S.max(axis=1))
        E = np.exp(S - top[:, None])
        m, l, o = top, l * np.exp(m - top) + E.sum(axis=1), o + E @ V[j : j + 2]
    cache = flash_attention_forward(Q, K, V)[1]
    return o / l[:, None], cache._replace(O=o / l[:, None], L=m + np.log(l))


def summed_in_float16(X, W):
    Y = np.zeros((len(X), W.shape[1]), np.float16)
    for x, w in zip(X.T, W, strict=True):
        Y += np.outer(x, w).astype(np.float16)
    return Y.astype(float), (X, W)


def test_small_scores_hide_a_missing_factor_from_the_twin_and_not_from_the_slope():
    rng = np.random.default_rng(0)
    found = {}
    for size in (0.03, 1.0):
        Q, K, V = size * rng.normal(size=(8, 4)), size * rng.normal(size=(8, 4)), rng.normal(size=(8, 4))
        order = rng.permutation(8)
        O = not_rescaled(Q, K, V)[0]
        found[size] = (gradcheck(not_rescaled, flash_attention_backward, {"Q": Q, "K": K, "V": V}, rng),
                       np.abs(O - flash_attention_forward(Q, K, V)[0]).max(),
                       np.abs(O - not_rescaled(Q, K[order], V[order])[0]).max())
    slope, twin, order = found[0.03]
    assert min(slope["Q"], slope["K"]) > 0.1 > 1e-2 > max(slope["V"], twin, order)
    slope, twin, order = found[1.0]
    assert min(*slope.values(), twin, order) > 1e-2
    assert row_of(prose("16_flash"), "the same, with small scores") == ["sees it, in $dQ$ and $dK$", "nearly passes"]


def test_slopes_see_sums_in_float16():
    rng = np.random.default_rng(0)
    found = gradcheck(summed_in_float16, lambda dY, cache: (dY @ cache[1].T, cache[0].T @ dY),
                      {"X": rng.normal(size=(4, 6)), "W": rng.normal(size=(6, 3))}, rng)
    assert min(found.values()) > 1e-2
    assert row_of(prose("16_flash"), "float16 sums") == ["sees it", "sees it"]
