"""Numbers that a page works out in its prose and no cell prints: each is worked out here again, from all digits.

What stands between ⟨ and ⟩ is the number as the page has it; it must be right in its last digit. A quotient of two
numbers that are printed is not the quotient of what they were before they were rounded.
"""

import math
import re
from functools import cache

import numpy as np
import pytest
from byhand.config import ModelConfig
from byhand.data import small_bert
from byhand.init import init_pretrain
from byhand.np.model import encoder_forward
from byhand.np.recurrent import receptive_field
from byhand.translator import load_translator
from test_said import code, prose


@cache
def apart_by_sense(trained):
    """How many times as far two uses of two senses of *state* are as two of one, in cosine distance."""
    bert, names = small_bert(), {}
    config = ModelConfig("encoder", vocab=4000, d=64, heads=4, layers=2, n_max=40, position="rope", segments=2)
    exec(code("14_pretrain", "USES = [").split("\n\n\ndef vectors_of")[0], names)
    number = {word: i for i, word in enumerate(bert.words)}
    params = bert.params if trained else init_pretrain(np.random.default_rng(0), config)
    found = []
    for text in names["USES"]:
        ids = np.array([[2, *(number.get(word, 1) for word in text.split()), 3]])
        H, _ = encoder_forward(ids, params["encoder"], config, None, np.zeros_like(ids))
        found.append(H[0, ids[0].tolist().index(number["state"])].astype(float))
    X = np.array(found) / np.linalg.norm(found, axis=1, keepdims=True)
    cosines = X @ X.T
    one = np.arange(8) // 4 == np.arange(8)[:, None] // 4
    return (1 - cosines[~one].mean()) / (1 - cosines[one & ~np.eye(8, dtype=bool)].mean())


def layers_until(field, kernel, dilation):
    """How many layers it takes to see as many tokens."""
    return next(L for L in range(1, 1000) if receptive_field(kernel, [dilation(i) for i in range(L)]) >= field)


NUMBERS = [
    ("01_recurrent", r"h_1 = \tanh 0.1 = ⟨0.0997⟩$", lambda: math.tanh(0.1)),
    ("01_recurrent", r"$h_2 = \tanh 0.0997 = ⟨0.0993⟩$", lambda: math.tanh(math.tanh(0.1))),
    ("01_recurrent", r"$k = \ln 10 / \ln(1/0.9) \approx ⟨21.9⟩$", lambda: math.log(10) / math.log(1 / 0.9)),
    ("01_recurrent", "three times as long, ⟨66⟩.", lambda: math.log(1000) / math.log(1 / 0.9)),
    ("01_recurrent", r"$\ln 10/\ln 1.1 \approx ⟨24⟩$", lambda: math.log(10) / math.log(1.1)),
    ("01_recurrent", r"\approx 24$, and ⟨72⟩.", lambda: math.log(1000) / math.log(1.1)),
    ("01_recurrent", r"leave $\sigma(4)^{120} = ⟨0.11⟩$", lambda: (1 + math.exp(-4)) ** -120),
    ("01_recurrent", r"$\beta = \ln 39 \approx ⟨3.66⟩$", lambda: math.log(39)),
    ("01_recurrent", r"a gate of $⟨0.975⟩$", lambda: 1 / (1 + math.exp(-math.log(39)))),
    ("01_recurrent", r"$0.975^{40} \approx ⟨0.363⟩$", lambda: 0.975**40),
    ("01_recurrent", "so $L = ⟨500⟩$ layers", lambda: layers_until(1001, 3, lambda i: 1)),
    ("01_recurrent", "$L = ⟨9⟩$.", lambda: layers_until(1001, 3, lambda i: 2**i)),
    ("01_recurrent", "gives $e^s = ⟨7{,}920⟩$", lambda: 0.99 * 80 / 0.01),
    ("01_recurrent", "and $s = ⟨8.98⟩$", lambda: math.log(0.99 * 80 / 0.01)),
    ("01_recurrent", r"$\ln 79{,}200 = ⟨11.28⟩$", lambda: math.log(0.99 * 800 / 0.01)),
    ("12_generate", r"\log_2 68 = ⟨6.09⟩$", lambda: math.log2(68)),
    ("12_generate", "$2^{1.749} = ⟨3.4⟩$", lambda: 2**1.749),
    ("13_translate", r"By $12/18 = 2/⟨3⟩$", lambda: 2 * 18 / 12),
    ("13_translate", "eight words about $10^{⟨28⟩}$", lambda: 8 * math.log10(len(load_translator("de").tokenizer))),
    ("13_translate", r"$0.6 \cdot 0.5 = ⟨0.30⟩$", lambda: 0.6 * 0.5),
    ("13_translate", r"$0.4 \cdot 0.9 = ⟨0.36⟩$", lambda: 0.4 * 0.9),
    ("14_pretrain", "of which 15 are wrong: ⟨1.7⟩ %", lambda: 100 * 15 / (1000 - 120)),
    ("14_pretrain", "1,280 tokens make ⟨5.1⟩ million logits", lambda: 32 * 40 * 4000 / 1e6),
    ("14_pretrain", "192, make ⟨0.77⟩ million", lambda: 0.15 * 32 * 40 * 4000 / 1e6),
    ("14_pretrain", "$r = 8$ they have ⟨1,024⟩ numbers", lambda: 2 * 64 * 8),
    ("14_pretrain", "at $d = 4096$ it is 1 in ⟨256⟩", lambda: 4096**2 / (2 * 4096 * 8)),
    ("14_pretrain", "more apart by sense, ⟨1.7⟩ times as far", lambda: apart_by_sense(trained=True)),
    ("14_pretrain", "1.7 times as far in place of ⟨1.3⟩", lambda: apart_by_sense(trained=False)),
]


def right_in_its_last_digit(written, worked_out):
    """`7{,}920` and `7,920` are 7920; 0.30 is 0.295 to 0.305."""
    plain = re.sub(r"[{},]", "", written)
    unit = 10.0 ** -len(plain.partition(".")[2])
    return abs(float(plain) - worked_out) <= unit / 2 * (1 + 1e-9)


@pytest.mark.parametrize(("page", "said", "worked_out"), NUMBERS, ids=[f"{page}-{said}" for page, said, _ in NUMBERS])
def test_a_number_of_the_prose_is_right_in_its_last_digit(page, said, worked_out):
    assert prose(page).count(re.sub("[⟨⟩]", "", said)) == 1
    assert right_in_its_last_digit(re.search("⟨(.+)⟩", said)[1], worked_out())


@pytest.mark.parametrize(("page", "said", "worked_out"), NUMBERS, ids=[f"{page}-{said}" for page, said, _ in NUMBERS])
def test_its_neighbours_are_refused(page, said, worked_out):
    plain = re.sub(r"[{},]", "", re.search("⟨(.+)⟩", said)[1])
    digits = len(plain.partition(".")[2])
    for step in (-1, 1):
        assert not right_in_its_last_digit(f"{float(plain) + step * 10.0 ** -digits:.{digits}f}", worked_out())


@pytest.mark.parametrize(("written", "of", "right"), [
    ("1.5", lambda: 0.06 / 0.04, True), ("1.5", lambda: apart_by_sense(trained=False), False),  # as it stood there once
    ("0.30", lambda: 0.304, True), ("0.30", lambda: 0.306, False), ("7{,}920", lambda: 7920.4, True),
    ("7{,}920", lambda: 7921, False), ("66", lambda: 65.4, False), ("1,024", lambda: 1024, True)])
def test_a_wrong_last_digit_is_seen(written, of, right):
    assert right_in_its_last_digit(written, of()) == right
