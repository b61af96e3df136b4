"""Known wrong answers, each with the message that names the misconception."""

import math

import numpy as np

from ...model import Mutant
from .cases import GAPS, NAMES, law, softmax

# 12.1


def _steps(pieces, p, text, join, log=np.log2):
    """Bits of the whole text, letter by letter; `join` makes one number of those of the pieces that end here."""
    a = np.full(len(text) + 1, -np.inf)
    a[0] = 0.0
    for end in range(1, len(text) + 1):
        ways = [log(share) + a[end - len(piece)]
                for piece, share in zip(pieces, p, strict=True) if text[:end].endswith(piece)]
        a[end] = join(ways)
    return a


def _walk(pieces, p, text, best):
    """The tokens of one cut, from the left: the piece that is `best` of those that fit."""
    share, tokens, at = dict(zip(pieces, p, strict=True)), [], 0
    while at < len(text):
        fits = [piece for piece in pieces if text.startswith(piece, at)]
        tokens.append(max(fits, key=lambda piece: best(piece, share[piece])))
        at += len(tokens[-1])
    return tokens, -sum(math.log2(share[piece]) for piece in tokens)


def _best_tokens(pieces, p, text):
    a, share, tokens, end = _steps(pieces, p, text, max), dict(zip(pieces, p, strict=True)), [], len(text)
    while end:
        fits = [piece for piece in pieces if text[:end].endswith(piece)]
        tokens.append(max(fits, key=lambda piece: a[end - len(piece)] + math.log2(share[piece])))
        end -= len(tokens[-1])
    return tokens


def _spelled(likeliest=None, every=None, scale=None):
    """The right two numbers, with one or both replaced."""

    def function(pieces, p, text):
        a, b = _steps(pieces, p, text, max)[-1], _steps(pieces, p, text, np.logaddexp2.reduce)[-1]
        a = -a if likeliest is None else likeliest(pieces, p, text)
        b = -b if every is None else every(pieces, p, text)
        by = len(text) if scale is None else scale(pieces, p, text)
        return a / by, b / by

    return function


def _underflow(pieces, p, text):
    a = np.zeros(len(text) + 1)
    a[0] = 1.0
    for end in range(1, len(text) + 1):
        a[end] = sum(share * a[end - len(piece)]
                     for piece, share in zip(pieces, p, strict=True) if text[:end].endswith(piece))
    return -np.log2(a[-1])


def _largest_product(pieces, p, text):
    a = np.zeros(len(text) + 1)
    a[0] = 1.0
    for end in range(1, len(text) + 1):
        a[end] = max(share * a[end - len(piece)]
                     for piece, share in zip(pieces, p, strict=True) if text[:end].endswith(piece))
    return -np.log2(a[-1])


def _fewest(pieces, p, text):
    a = [(0, 0.0)]
    for end in range(1, len(text) + 1):
        a.append(min((a[end - len(piece)][0] + 1, a[end - len(piece)][1] - math.log2(share))
                     for piece, share in zip(pieces, p, strict=True) if text[:end].endswith(piece)))
    return a[-1][1]


def _last_piece_alone(pieces, p, text):
    a = _steps(pieces, p, text, max)
    return -np.logaddexp2.reduce([math.log2(share) + a[len(text) - len(piece)]
                                  for piece, share in zip(pieces, p, strict=True) if text.endswith(piece)])


def _short(pieces, p, text):
    few = [(piece, share) for piece, share in zip(pieces, p, strict=True) if len(piece) < 3]
    return *zip(*few, strict=True), text


def _longest_left_out(pieces, p, text):
    longest = max(len(piece) for piece in pieces)
    few = [(piece, share) for piece, share in zip(pieces, p, strict=True) if len(piece) < longest]
    return *zip(*few, strict=True), text


def _shares(pieces, p, text):
    a = [0.0]
    for end in range(1, len(text) + 1):
        ends = [(piece, share) for piece, share in zip(pieces, p, strict=True) if text[:end].endswith(piece)]
        total = sum(share for _, share in ends)
        a.append(np.logaddexp2.reduce([math.log2(share / total) + a[end - len(piece)] for piece, share in ends]))
    return -a[-1]


def _one_back(pieces, p, text, join):
    a = [0.0]
    for end in range(1, len(text) + 1):
        ends = [share for piece, share in zip(pieces, p, strict=True) if text[:end].endswith(piece)]
        a.append(join([math.log2(share) + a[-1] for share in ends]))
    return a[-1]


def _apart(pieces, p, text, join):
    return -sum(_steps(pieces, p, word, join)[-1] for word in text.split(" "))


def _number_of_cuts(pieces, p, text):
    return _steps(pieces, p, text, np.logaddexp2.reduce, lambda share: 0.0)[-1]


SPELLING = (
    Mutant(
        "no cut at all",
        lambda pieces, p, text: (math.inf, math.inf),
        "No cut was found: at every place try each piece that ends there, the longest and single letters among them.",
        "12.1",
        ("likeliest cut", "every cut", "sentence", "long text"),
    ),
    Mutant(
        "longest pieces left out",
        lambda *x: _spelled()(*_longest_left_out(*x)),
        "The longest pieces are never tried: they are rare here, so the numbers come close. Go up to the length of the "
        "longest, and that included.",
        "12.1",
        ("every cut", "sentence", "long text"),
    ),
    Mutant(
        "one letter more",
        _spelled(scale=lambda pieces, p, text: len(text) + 1),
        "Both are divided by one more than there are letters: a(0) is no letter, and the end of the text is none.",
        "12.1",
        ("likeliest cut", "every cut", "sentence", "long text"),
    ),
    Mutant(
        "longest piece first",
        _spelled(lambda *x: _walk(*x, lambda piece, share: len(piece))[1]),
        "The likeliest cut takes the longest piece that fits, from the left: a long piece may be rare, and then its "
        "parts are likelier.",
        "2.2",
        ("sentence", "long text"),
    ),
    Mutant(
        "likeliest piece first",
        _spelled(lambda *x: _walk(*x, lambda piece, share: share)[1]),
        "The likeliest cut takes the likeliest piece at every step, from the left: that may cost more afterwards. "
        "Compare whole cuts, as the product of their probabilities.",
        "10.11",
        ("sentence", "long text"),
    ),
    Mutant(
        "fewest tokens",
        _spelled(_fewest),
        "The likeliest cut is taken to be that with the fewest tokens: what counts is the product of the "
        "probabilities, and a rare piece costs more than two frequent ones.",
        "12.1",
        ("likeliest cut", "sentence", "long text"),
    ),
    Mutant(
        "letters alone",
        _spelled(lambda *x: _walk(*x, lambda piece, share: -len(piece))[1]),
        "Only single letters are used: each longer piece that fits is a way to go on, too.",
        "12.1",
        ("likeliest cut", "sentence", "long text"),
    ),
    Mutant(
        "letters alone, twice",
        _spelled(lambda *x: _walk(*x, lambda piece, share: -len(piece))[1],
                 lambda *x: _walk(*x, lambda piece, share: -len(piece))[1]),
        "Only single letters are used, in both numbers: each longer piece that fits is a way to go on, too.",
        "12.1",
        ("likeliest cut", "every cut", "sentence", "long text"),
    ),
    Mutant(
        "one cut for all",
        _spelled(every=lambda *x: -_steps(*x, max)[-1]),
        "The text is given the probability of its likeliest cut: the other cuts spell the same text, and their "
        "probabilities are added.",
        "12.1",
        ("every cut", "sentence", "long text"),
    ),
    Mutant(
        "sum for both",
        _spelled(lambda *x: -_steps(*x, np.logaddexp2.reduce)[-1]),
        "The likeliest cut is one cut: in its number the largest is taken where in the other one adds.",
        "12.1",
        ("likeliest cut", "sentence", "long text"),
    ),
    Mutant(
        "exchanged",
        lambda *x: _spelled()(*x)[::-1],
        "The two numbers are exchanged: all cuts together are more probable than one, so the text costs fewer bits.",
        "12.1",
        ("likeliest cut", "every cut", "sentence", "long text"),
    ),
    Mutant(
        "nats",
        _spelled(scale=lambda pieces, p, text: len(text) / math.log(2)),
        "These are nats: a bit is a logarithm to base 2, so divide by ln 2.",
        "12.1",
        ("likeliest cut", "every cut", "sentence", "long text"),
    ),
    Mutant(
        "a token",
        _spelled(scale=lambda *x: len(_best_tokens(*x))),
        "This is divided by the number of tokens: bits a token cannot be compared where tokens differ in length. "
        "Divide by the letters.",
        "12.1",
        ("likeliest cut", "every cut", "sentence", "long text"),
    ),
    Mutant(
        "the whole text",
        _spelled(scale=lambda *x: 1),
        "These are the bits of the whole text: divide by its letters.",
        "12.1",
        ("likeliest cut", "every cut", "sentence", "long text"),
    ),
    Mutant(
        "sign",
        _spelled(scale=lambda pieces, p, text: -len(text)),
        "The sign is missing: a cost is −log2 of a probability.",
        "12.1",
        ("likeliest cut", "every cut", "sentence", "long text"),
    ),
    Mutant(
        "mean of the cuts",
        _spelled(every=lambda *x: -_steps(*x, np.logaddexp2.reduce)[-1] + _number_of_cuts(*x)),
        "This is the mean probability of a cut: the cuts exclude each other, so their probabilities are added and "
        "not divided by how many there are.",
        "12.1",
        ("every cut", "sentence", "long text"),
    ),
    Mutant(
        "mean at every step",
        _spelled(every=lambda *x: -_steps(*x, lambda ways: np.logaddexp2.reduce(ways) - np.log2(len(ways)))[-1]),
        "At every letter the ways are averaged: they exclude each other, so their probabilities are added.",
        "12.1",
        ("every cut", "sentence", "long text"),
    ),
    Mutant(
        "logarithms added",
        _spelled(every=lambda *x: -_steps(*x, sum)[-1]),
        "The logarithms of the ways are added, which multiplies their probabilities: add the probabilities, and then "
        "take the logarithm.",
        "12.1",
        ("every cut", "sentence", "long text"),
    ),
    Mutant(
        "longest piece for both",
        _spelled(lambda *x: _walk(*x, lambda piece, share: len(piece))[1],
                 lambda *x: _walk(*x, lambda piece, share: len(piece))[1]),
        "There is one cut in both numbers, and it takes the longest piece that fits: the first asks for the likeliest "
        "of all cuts, the second for all of them together.",
        "12.1",
        ("every cut", "sentence", "long text"),
    ),
    Mutant(
        "both underflow",
        _spelled(_largest_product, _underflow),
        "Thousands of probabilities are multiplied, and the product is too small for a number: it becomes 0. Add "
        "logarithms, also where probabilities are added (np.logaddexp2).",
        "12.1",
        ("long text",),
    ),
    Mutant(
        "underflow",
        _spelled(every=_underflow),
        "The probability of a long text is smaller than the smallest float64: keep its logarithm, and add with "
        "logaddexp.",
        "12.1",
        ("long text",),
    ),
    Mutant(
        "a token, in the first number",
        lambda *x: (_spelled(scale=lambda *x: len(_best_tokens(*x)))(*x)[0], _spelled()(*x)[1]),
        "The first number is divided by the number of tokens: both are asked for by the letter.",
        "12.1",
        ("likeliest cut", "sentence", "long text"),
    ),
    Mutant(
        "two bases",
        _spelled(every=lambda *x: -_steps(*x, np.logaddexp.reduce)[-1]),
        "np.logaddexp adds what natural logarithms stand for, and these are logarithms to base 2: np.logaddexp2 "
        "does that.",
        "12.1",
        ("every cut", "sentence", "long text"),
    ),
    Mutant(
        "last piece alone",
        _spelled(every=_last_piece_alone),
        "The ways are added for the last piece only, and before it stands the likeliest cut: what comes before a "
        "piece is again cut in every way.",
        "12.1",
        ("every cut", "sentence", "long text"),
    ),
    Mutant(
        "letters and pairs",
        _spelled(lambda *x: -_steps(*_short(*x), max)[-1], lambda *x: -_steps(*_short(*x), np.logaddexp2.reduce)[-1]),
        "Only pieces of one and of two letters are used: try every piece, whatever its length.",
        "12.1",
        ("every cut", "sentence", "long text"),
    ),
    Mutant(
        "choices, not bits",
        lambda *x: tuple(2**bits for bits in _spelled()(*x)),
        "This is 2 to the power of the bits, a number of equally likely letters: the bits themselves are asked "
        "for.",
        "11.1",
        ("likeliest cut", "every cut", "sentence", "long text"),
    ),
    Mutant(
        "logarithms to base ten",
        _spelled(scale=lambda pieces, p, text: len(text) * math.log2(10)),
        "These are logarithms to base 10: a bit is one to base 2.",
        "12.1",
        ("likeliest cut", "every cut", "sentence", "long text"),
    ),
    Mutant(
        "one letter back",
        _spelled(lambda *x: -_one_back(*x, max), lambda *x: -_one_back(*x, np.logaddexp2.reduce)),
        "Before a piece of several letters stands the text without all of them: go back by the length of the "
        "piece, not by one.",
        "12.1",
        ("likeliest cut", "every cut", "sentence", "long text"),
    ),
    Mutant(
        "spaces not counted",
        _spelled(scale=lambda pieces, p, text: len(text.replace(" ", ""))),
        "The spaces are not counted as characters: they are pieces like the others, and cost bits.",
        "12.1",
        ("sentence", "long text"),
    ),
    Mutant(
        "words apart",
        _spelled(lambda *x: _apart(*x, max), lambda *x: _apart(*x, np.logaddexp2.reduce)),
        "The words are cut each by itself, and the spaces cost nothing: a space is a piece, and belongs to the "
        "text.",
        "12.1",
        ("sentence", "long text"),
    ),
    Mutant(
        "shares among those that fit",
        _spelled(every=_shares),
        "At every letter the probabilities of the pieces that end there are scaled to sum to one: a piece has "
        "the probability that it has among all pieces.",
        "12.1",
        ("every cut", "sentence", "long text"),
    ),
    Mutant(
        "nats, in the first number",
        lambda *x: (_spelled()(*x)[0] * math.log(2), _spelled()(*x)[1]),
        "The first number is in nats: both are asked for in bits.",
        "12.1",
        ("likeliest cut", "sentence", "long text"),
    ),
    Mutant(
        "nats, in the second number",
        lambda *x: (_spelled()(*x)[0], _spelled()(*x)[1] * math.log(2)),
        "The second number is in nats: both are asked for in bits.",
        "12.1",
        ("every cut", "sentence", "long text"),
    ),
)

# 12.2


def _followers(ids, history, last=0, V=None):
    h = len(history)
    return [int(ids[i + h]) for i in range(len(ids) - h - last) if (ids[i : i + h] == history).all()]


def _mixture(join=None, bottom=None, unseen=None, drop=lambda history: history[1:], last=0, turn=False, total=None,
             below=None, first=0, over=("kept", "given")):
    """p(w | h) from the counts c and the shorter history's p; `join` takes (c, shorter, d, V)."""

    def right(c, shorter, d, V):
        return (np.maximum(c - d, 0) + d * (c > 0).sum() * shorter) / c.sum()

    def function(ids, V, history, d):
        def level(history):
            c = np.bincount(_followers(ids, history[::-1] if turn else history, last), minlength=V).astype(float)
            if len(history):
                shorter = level(drop(history))
            elif bottom:
                return bottom(c, d, V)
            else:
                shorter = np.full(V, 1 / V if below is None else below)
                c = c - np.bincount(ids[:first], minlength=V)
            if not c.any():
                return unseen(c, shorter, V) if unseen else shorter
            if total:
                n = {part: total(ids, history, c) if part in over else c.sum() for part in ("kept", "given")}
                return np.maximum(c - d, 0) / n["kept"] + d * (c > 0).sum() * shorter / n["given"]
            return (join or right)(c, shorter, d, V)

        return level(history)

    return function


def _with_ends(ids, history, c):
    h = len(history)
    return sum((ids[i : i + h] == history).all() for i in range(len(ids) - h + 1)) if h else len(ids)


def _katz(c, shorter, d, V):
    seen = c > 0
    given = d * seen.sum() / c.sum()
    return np.where(seen, (c - d) / c.sum(), given * shorter)


def _katz_scaled(c, shorter, d, V):
    seen = c > 0
    rest = np.where(seen, 0, shorter)
    return np.where(seen, (c - d) / c.sum(), d * seen.sum() / c.sum() * rest / max(rest.sum(), 1e-300))


def _only_uniform(ids, V, history, d):
    c = np.bincount(_followers(ids, history), minlength=V).astype(float)
    if not c.any():
        return np.full(V, 1 / V)
    return (np.maximum(c - d, 0) + d * (c > 0).sum() / V) / c.sum()


DISCOUNTS = (
    Mutant(
        "Witten and Bell",
        _mixture(lambda c, q, d, V: (c + (c > 0).sum() * q) / (c.sum() + (c > 0).sum())),
        "This is the rule of Witten and Bell: here no new words are added to the counts, every count gives up d.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "share of d",
        _mixture(lambda c, q, d, V: np.maximum(c - d, 0) / c.sum() + d * q),
        "The shorter history gets the share d: what was given up is d for each different word, so d · u(h) / c(h).",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "given up once",
        _mixture(lambda c, q, d, V: np.maximum(c - d, 0) / c.sum() + d / c.sum() * q),
        "The shorter history gets d / c(h): every one of the u(h) different words gave up d.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "all words gave up",
        _mixture(lambda c, q, d, V: np.maximum(c - d, 0) / c.sum() + d * V / c.sum() * q),
        "The shorter history gets d · V / c(h): a word that never came after this history has nothing to give up.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "negative counts",
        _mixture(lambda c, q, d, V: (c - d) / c.sum() + d * V / c.sum() * q),
        "Words that never came give up d as well: their counts become negative, and with some histories their "
        "probabilities too.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "nothing given up",
        _mixture(lambda c, q, d, V: c / c.sum() + d * (c > 0).sum() / c.sum() * q),
        "The counts keep what they deal out: take d from each count, or the probabilities sum to more than one.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "nothing dealt out",
        _mixture(lambda c, q, d, V: np.maximum(c - d, 0) / c.sum()),
        "What was given up is lost: deal it out by the probabilities of the shorter history.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "scaled up again",
        _mixture(lambda c, q, d, V: np.maximum(c - d, 0) / np.maximum(c - d, 0).sum()),
        "What was given up is dealt out among the words that came: it belongs to the shorter history.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "weights d and 1 − d",
        _mixture(lambda c, q, d, V: (1 - d) * c / c.sum() + d * q),
        "The two histories are mixed with the weights 1 − d and d: here each count gives up the same d, so that "
        "frequent words lose little.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "only to new words",
        _mixture(_katz),
        "Only words that never came get something from the shorter history: every word does, or the sum is below one.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "only to new words, scaled",
        _mixture(_katz_scaled),
        "What was given up goes only to words that never came here (a back-off): in this rule the shorter history "
        "deals it out to all words.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "counts of one",
        _mixture(lambda c, q, d, V: np.maximum(c - d, 0) / c.sum() + d * (c == 1).sum() / c.sum() * q),
        "Only words that came once are counted among those that gave up: every different word gave up d.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "counts as they lie",
        _mixture(bottom=lambda c, d, V: c / c.sum()),
        "Without a history the counts are taken as they are: they give up d as well, and 1/V deals it out; else a word "
        "that never came has probability 0.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "lowest rung forgotten",
        _mixture(bottom=lambda c, d, V: np.full(V, 1 / V)),
        "The words without a history are left out: below one word comes how often a word comes at all, and then 1/V.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "from the history to 1/V",
        _only_uniform,
        "What was given up is dealt out evenly: the shorter history knows more than 1/V, and it asks a shorter one "
        "in its turn.",
        "12.1",
        ("one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "unseen means even",
        _mixture(unseen=lambda c, shorter, V: np.full(V, 1 / V)),
        "A history that never came gives 1/V: it hands the question on to the shorter history.",
        "12.1",
        ("never seen",),
    ),
    Mutant(
        "unseen means nothing",
        _mixture(unseen=lambda c, shorter, V: np.zeros(V)),
        "A history that never came gives 0: it hands the question on to the shorter history.",
        "12.1",
        ("never seen",),
    ),
    Mutant(
        "newest word dropped",
        _mixture(drop=lambda history: history[:-1]),
        "The shorter history has lost its newest word: leave out the oldest, history[0].",
        "12.1",
        ("three words", "never seen"),
    ),
    Mutant(
        "straight to the words",
        _mixture(drop=lambda history: history[:0]),
        "A history of several words goes straight to none: it loses one word at a time, the oldest.",
        "12.1",
        ("three words", "never seen", "the end"),
    ),
    Mutant(
        "last word not counted",
        _mixture(last=1),
        "The last word of the text is not counted: it came after its history, too.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "end counted, behind the text too",
        _mixture(total=lambda ids, history, c: _with_ends(ids, history, c) + (len(history) == 0)),
        "c(h) counts the end of the text, where nothing came after the history: divide by how often a word followed.",
        "12.1",
        ("the end",),
    ),
    *(
        Mutant(
            f"end counted, {said}",
            _mixture(total=_with_ends, over=(part,)),
            f"{said.capitalize()} are divided by a c(h) that counts the end of the text, where nothing came after the "
            "history: divide by how often a word followed.",
            "12.1",
            ("the end",),
        )
        for part, said in (("kept", "the counts"), ("given", "the d that were given up"))
    ),
    Mutant(
        "end counted",
        _mixture(total=_with_ends),
        "c(h) counts the end of the text, where nothing came after the history: divide by how often a word followed.",
        "12.1",
        ("the end",),
    ),
    Mutant(
        "history handed on reversed",
        lambda ids, V, history, d: _mixture()(ids, V, history[::-1], d),
        "The history is turned round: its newest word stands last, as in the text, and the oldest, history[0], is left "
        "out first.",
        "12.1",
        ("three words",),
    ),
    Mutant(
        "every count shrinks alike",
        _mixture(lambda c, q, d, V: (1 - d * (c > 0).sum() / c.sum()) * c / c.sum() + d * (c > 0).sum() / c.sum() * q),
        "Every count gives up the same share of itself: it is the same number, d, so that frequent words keep nearly "
        "all and rare ones little.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "history reversed",
        _mixture(turn=True),
        "The history is compared from its end: its newest word stands last, as in the text.",
        "12.1",
        ("three words",),
    ),
    Mutant(
        "new words below as well",
        _mixture(lambda c, q, d, V: np.maximum(c - d, 0) / c.sum() + d * (c > 0).sum() / (c.sum() + (c > 0).sum()) * q),
        "What was given up is divided by c(h) + u(h), as with Witten and Bell: here nothing was added, so it is "
        "d · u(h) / c(h).",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "share of the vocabulary",
        _mixture(lambda c, q, d, V: np.maximum(c - d, 0) / c.sum() + d * (c > 0).sum() / V * q),
        "The share of words that came is taken of the vocabulary, u(h)/V: what was given up is d · u(h) of c(h) "
        "counts.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "the rest of d",
        _mixture(lambda c, q, d, V: np.maximum(c - d, 0) / c.sum() + (1 - d) * q),
        "The shorter history gets the share 1 − d: what was given up is d for each different word, so d · u(h) / "
        "c(h).",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "scaled afterwards",
        _mixture(lambda c, q, d, V: (lambda x: x / x.sum())(c / c.sum() + d * (c > 0).sum() / c.sum() * q)),
        "The counts keep what they deal out, and all is scaled down afterwards: then frequent words lose as much "
        "of their share as rare ones. Take d from each count.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "scaled afterwards, share d",
        _mixture(lambda c, q, d, V: (lambda x: x / x.sum())(np.maximum(c - d, 0) / c.sum() + d * q)),
        "The shorter history gets the share d, and all is scaled to sum to one: with the share d · u(h) / c(h) "
        "it does by itself.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "scaled afterwards, given up once",
        _mixture(lambda c, q, d, V: (lambda x: x / x.sum())(np.maximum(c - d, 0) / c.sum() + d / c.sum() * q)),
        "The shorter history gets d / c(h), without the number u(h) of different words, and all is scaled to sum to "
        "one, which hides it: with the share d · u(h) / c(h) it does by itself.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "nothing below the words",
        _mixture(below=0.0),
        "Below the history without any word there is 1/V: here what the words give up on the lowest rung is "
        "lost.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "first word not counted",
        _mixture(first=1),
        "The first word of the text is not counted: it is a word like the others where there is no history.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "0/0",
        _mixture(unseen=lambda c, shorter, V: np.full(V, np.nan)),
        "A history that never came has c(h) = 0, and this is 0/0: it hands the question on to the shorter one.",
        "12.1",
        ("never seen",),
    ),
    Mutant(
        "a share of each count",
        _mixture(lambda c, q, d, V: (lambda x: x / x.sum())(c * (1 - d) + d * (c > 0).sum() * q)),
        "Each count gives up a share d of itself: it gives up the number d, whatever its size.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "one count for the shorter",
        _mixture(lambda c, q, d, V: (c + q) / (c.sum() + 1)),
        "The shorter history is given the weight of one count: here each different word gives up d, and that is "
        "what the shorter history deals out.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "d for every word",
        _mixture(lambda c, q, d, V: (c + d) / (c.sum() + d * V)),
        "d is added to every count: here it is taken from the counts, and the shorter history deals it out.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "d V for the shorter",
        _mixture(lambda c, q, d, V: (c + d * V * q) / (c.sum() + d * V)),
        "Counts of the shorter history are added to those of the longer: here d is taken from each count, and "
        "only that is dealt out.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "the larger of the two",
        _mixture(lambda c, q, d, V: np.maximum(np.maximum(c - d, 0) / c.sum(), q)),
        "Of the two histories the larger probability is taken: they are added, the shorter one with the weight "
        "of what was given up.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "divided by the text",
        _mixture(total=lambda ids, history, c: len(ids)),
        "The counts are divided by the length of the text: divide by c(h), how often a word followed this "
        "history.",
        "12.1",
        ("one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "only counts above one",
        _mixture(lambda c, q, d, V: (np.where(c > 1, c - d, c) + d * (c > 1).sum() * q) / c.sum()),
        "Words that came once give up nothing: every word that came gives up d, and those that came once are "
        "where most of it comes from.",
        "12.1",
        ("one word", "three words", "the end"),
    ),
    Mutant(
        "d off the total",
        _mixture(lambda c, q, d, V: (np.maximum(c - d, 0) + d * (c > 0).sum() * q) / (c.sum() - d)),
        "d is taken off c(h) too: what is given up is dealt out again, so the total stays c(h).",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "total of what is left",
        _mixture(lambda c, q, d, V: (lambda x: x / x.sum())(np.maximum(c - d, 0)) + d * (c > 0).sum() / c.sum() * q),
        "The counts are divided by what is left of them, so that they sum to one by themselves: divide by c(h).",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "newest word alone",
        lambda ids, V, history, d: _mixture()(ids, V, history[-1:], d),
        "Only the newest word of the history is used: begin with all of it.",
        "12.1",
        ("three words",),
    ),
    Mutant(
        "logarithms",
        lambda *x: np.log(_mixture()(*x)),
        "These are logarithms of the probabilities.",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
    Mutant(
        "divided by the sum of the rest",
        _mixture(lambda c, q, d, V: np.maximum(c - d, 0) / c.sum() + (1 - np.maximum(c - d, 0) / c.sum()) * q),
        "The shorter history gets a share of its own for every word, one less the word's: what was given up is "
        "one number, d · u(h) / c(h).",
        "12.1",
        ("no history", "one word", "three words", "never seen", "the end"),
    ),
)

# 12.3


def _windows(shift=1, side="old", tail="moved", count="moved", extra=False, first=False, skip=False):
    def function(ids, n, stride):
        T = len(ids)
        last = T - 1 - n
        starts = list(range(0, last + 1, stride))
        if starts[-1] < last and tail == "moved":
            starts.append(last)
        if extra:
            starts.append(last)
        if tail in ("padded", "marked") and starts[-1] < last:
            starts.append(starts[-1] + stride)
        if tail == "behind always" or tail == "behind" and starts[-1] < last:
            starts.append(last + 1)
        long = np.concatenate([ids, np.full(n + stride + 2, 0 if tail in ("moved", "lost") else -1)])
        X = np.stack([long[s : s + n] for s in starts])
        Y = np.stack([np.roll(ids, -shift)[s : s + n] if shift != 1 and s + n < T else long[s + shift : s + n + shift]
                      for s in starts])
        for i, s in enumerate(starts):
            new = s - starts[i - 1] if i else (stride if first else n)
            if count == "stride" and i:
                new = stride
            if count == "whole" and 0 < new < stride:
                new = n
            if side == "old":
                Y[i, : n - new] = -1
            elif side == "as many as are new" and i:
                Y[i, :new] = -1
            elif side == "new" and i:
                Y[i, new:] = -1
            elif side == "one more" and i:
                Y[i, : n - new + 1] = -1
            elif side == "one less" and i:
                Y[i, : max(n - new - 1, 0)] = -1
            elif side == "later" and i + 1 < len(starts):
                Y[i, starts[i + 1] - s :] = -1
        Y[0, 0] = -1 if skip else Y[0, 0]
        return (np.maximum(X, 0), Y) if tail == "padded" else (X, Y)

    return function


def _as_it_stands(ids, n, stride):
    starts = range(0, len(ids) - n, stride)
    X, Y = (np.array([ids[s : s + n] for s in starts]) for _ in range(2))
    Y[1:, stride:] = -1
    return X, Y


def _none_short(ids, n, stride):
    starts = range(0, len(ids) - 1, n)
    cut = [(s, min(s + n, len(ids) - 1)) for s in starts]
    cut = [(min(a, len(ids) - 1 - n), b) for a, b in cut]
    X, Y = np.stack([ids[a : a + n] for a, _ in cut]), np.stack([ids[a + 1 : a + n + 1] for a, _ in cut])
    if len(cut) > 1:
        Y[-1, : cut[-2][1] - cut[-1][0]] = -1
    return X, Y


def _filled(value):
    def function(ids, n, stride):
        X, Y = _windows()(ids, n, stride)
        return X, np.where(Y < 0, value, Y)

    return function


def _hidden_inputs(ids, n, stride):
    X, Y = _windows()(ids, n, stride)
    return np.where(Y < 0, -1, X), Y


def _marked_late(ids, n, stride):
    X, Y = _windows()(ids, n, stride)
    full = _windows(side="all")(ids, n, stride)[1]
    old = np.concatenate([np.ones((len(Y), 1), dtype=bool), Y[:, :-1] < 0], axis=1)
    return X, np.where(old, -1, full)


def _only_last(ids, n, stride):
    X, Y = _windows(side="all")(ids, n, stride)
    Y[1:, :-1] = -1
    return X, Y


def _turned_round(ids, n, stride):
    X, Y = _windows()(ids, n, stride)
    return X, np.where(Y < 0, -1, np.roll(X, -1, axis=1))


def _from_the_end(ids, n, stride):
    last = len(ids) - 1 - n
    starts = sorted({0, *range(last, -1, -stride)})
    X, Y = np.stack([ids[s : s + n] for s in starts]), np.stack([ids[s + 1 : s + n + 1] for s in starts])
    for i in range(1, len(starts)):
        Y[i, : n - starts[i] + starts[i - 1]] = -1
    return X, Y


def _ends_early(ids, n, stride):
    """The last window ends one token before the text."""
    last = max(len(ids) - 2 - n, 0)
    starts = [*range(0, len(ids) - 1 - n, stride), last]
    X, Y = np.stack([ids[s : s + n] for s in starts]), np.stack([ids[s + 1 : s + n + 1] for s in starts])
    for i in range(1, len(starts)):
        Y[i, : n - starts[i] + starts[i - 1]] = -1
    return X, Y


def _tail_hidden(ids, n, stride):
    X, Y = _windows(side="all")(ids, n, stride)
    Y[1:, n - stride:] = -1
    return X, Y


WINDOWS = (
    Mutant(
        "ends early",
        _ends_early,
        "The last window ends one token early: the last target is the last token of the text.",
        "12.2",
        ("even", "a rest"),
    ),
    Mutant(
        "new targets hidden",
        _tail_hidden,
        "A later window hides its last `stride` targets, which are the new ones, and counts those that the window "
        "before has counted.",
        "12.2",
        ("even", "a rest", "one by one"),
    ),
    Mutant(
        "as it stands",
        _as_it_stands,
        "This is the function with its faults: look at what a row should predict, at which of two windows counts a "
        "target, and at the end of the text.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one", "one window"),
    ),
    Mutant(
        "not shifted",
        _windows(shift=0),
        "The targets are the inputs: a row has read its own token, and is asked for the next one.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one", "one window"),
    ),
    Mutant(
        "shifted the other way",
        _windows(shift=-1),
        "The targets are the tokens before: a row is asked for the token after it.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one", "one window"),
    ),
    Mutant(
        "shifted twice",
        _windows(shift=2),
        "The targets are two tokens ahead: a row is asked for the token right after it.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one", "one window"),
    ),
    Mutant(
        "counted twice",
        _windows(side="all"),
        "Targets that two windows share are counted twice: in the second window they get −1.",
        "12.2",
        ("even", "a rest", "one by one"),
    ),
    Mutant(
        "least context",
        _windows(side="new"),
        "A later window counts its first targets and leaves out its last: the first were counted by the window before, "
        "and the last are counted by nobody.",
        "12.2",
        ("even", "a rest", "one by one"),
    ),
    Mutant(
        "the later window counts",
        _windows(side="later"),
        "A target that two windows share is counted by the second one, which has read less before it: the first window "
        "that reaches it counts.",
        "12.2",
        ("even", "a rest", "one by one"),
    ),
    Mutant(
        "the end is lost",
        _windows(tail="lost"),
        "The last tokens are predicted nowhere: one more window is needed, which ends with the text.",
        "12.2",
        ("a rest",),
    ),
    Mutant(
        "the end and the shift are lost",
        _windows(tail="lost", shift=0),
        "The targets are the inputs, and the last tokens are predicted nowhere: shift by one, and add a window that "
        "ends with the text.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one", "one window"),
    ),
    Mutant(
        "end and overlap",
        _windows(tail="lost", side="new"),
        "Two faults are left: later windows count their first targets instead of their last, and the end of the text "
        "is predicted nowhere.",
        "12.2",
        ("even", "a rest", "one by one"),
    ),
    Mutant(
        "shift and overlap",
        _windows(shift=0, side="new"),
        "Two faults are left: the targets are the inputs, and later windows count their first targets instead of "
        "their last.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one", "one window"),
    ),
    Mutant(
        "a stride in the last window",
        _windows(count="stride"),
        "The last window counts `stride` targets: it was moved back, so it shares more of them with the window before.",
        "12.2",
        ("a rest",),
    ),
    Mutant(
        "filled up",
        _windows(tail="padded"),
        "The last window is filled up behind the text: it is to be moved back, so that it ends with the text.",
        "12.2",
        ("a rest",),
    ),
    Mutant(
        "filled up with −1",
        _windows(tail="marked"),
        "The last window is filled up behind the text: it is to be moved back, so that it ends with the text.",
        "12.2",
        ("a rest",),
    ),
    Mutant(
        "the last window one too far",
        _windows(tail="behind"),
        "The last window stands one token too far: its inputs end with the text, so that its last token has no "
        "target. It is the last target that ends with the text, and the window begins at T − 1 − n.",
        "12.2",
        ("a rest",),
    ),
    Mutant(
        "a last window one too far, always",
        _windows(tail="behind always"),
        "A last window is added whose inputs end with the text, so that its last token has no target: it is the last "
        "target that ends with the text. The last window begins at T − 1 − n, and is added only if none begins there.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one", "one window"),
    ),
    Mutant(
        "a window too many",
        _windows(extra=True),
        "The last window is there twice: where the windows end with the text by themselves, none is added.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one", "one window"),
    ),
    Mutant(
        "beginning not counted",
        _windows(first=True),
        "The first window leaves out its beginning: no window came before it, so it counts all its targets.",
        "12.2",
        ("even", "a rest", "one by one", "one window"),
    ),
    Mutant(
        "one too few",
        _windows(side="one more"),
        "One −1 too many in each later window: windows share n − stride targets, and the next one is new.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one"),
    ),
    Mutant(
        "one too many",
        _windows(side="one less"),
        "One −1 too few in each later window: the windows share n − stride targets, and one of them is counted twice.",
        "12.2",
        ("even", "a rest", "one by one"),
    ),
    Mutant(
        "stride ignored",
        _none_short,
        "The windows stand side by side: each begins `stride` tokens after the one before, so that tokens have more "
        "before them.",
        "12.2",
        ("even", "a rest", "one by one"),
    ),
    Mutant(
        "zeros for −1",
        _filled(0),
        "What is not counted has the target 0, which is a word: −1 says that nothing is counted.",
        "11.2",
        ("even", "a rest", "one by one"),
    ),
    Mutant(
        "new ones left out",
        _windows(side="as many as are new"),
        "A later window leaves out as many targets as are new: it leaves out those that it shares with the "
        "window before, n less the new ones.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one"),
    ),
    Mutant(
        "inputs hidden",
        _hidden_inputs,
        "The inputs of what is not counted are hidden too: they are read, that is what windows overlap for.",
        "12.2",
        ("even", "a rest", "one by one"),
    ),
    Mutant(
        "rest at the beginning",
        _from_the_end,
        "The windows are laid from the end, so that the first two lie closer together: they begin at 0, stride, "
        "2 stride, …, and the last is moved back.",
        "12.2",
        ("a rest",),
    ),
    Mutant(
        "first target not counted",
        _windows(skip=True),
        "The first target of the text is left out: token 1 is predicted, from token 0.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one", "one window"),
    ),
    Mutant(
        "moved, and counted whole",
        _windows(count="whole"),
        "The window that was moved back counts all its targets: those that the one before has counted get −1.",
        "12.2",
        ("a rest",),
    ),
    Mutant(
        "step of the overlap",
        lambda ids, n, stride: _windows()(ids, n, max(n - stride, 1)),
        "The windows begin n − stride tokens after one another: `stride` is the distance between their "
        "beginnings, n − stride what they share.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one"),
    ),
    Mutant(
        "step of one",
        lambda ids, n, stride: _windows()(ids, n, 1),
        "Each window begins one token after the one before: it is `stride` tokens.",
        "12.2",
        ("even", "a rest", "no overlap"),
    ),
    Mutant(
        "only the last target",
        _only_last,
        "A later window counts its last target alone: it counts all that the window before did not have.",
        "12.2",
        ("even", "a rest", "no overlap"),
    ),
    Mutant(
        "turned round in the window",
        _turned_round,
        "The last target of each window is its first token: the shift was made inside the window. It is the "
        "token after the window.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one", "one window"),
    ),
    Mutant(
        "nan for −1",
        _filled(np.nan),
        "What is not counted is marked by nan, and the targets are no whole numbers any more: mark it by −1.",
        "11.2",
        ("even", "a rest", "no overlap", "one by one", "one window"),
    ),
    Mutant(
        "a row too few",
        lambda ids, n, stride: tuple(a[:, :-1] for a in _windows()(ids, n, stride)),
        "The windows are one token short: n inputs have n targets, the last of which is the token after the "
        "window.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one", "one window"),
    ),
    Mutant(
        "−1 where the token after it counts",
        _marked_late,
        "The −1 stand one place too far to the right, and one in the first window: mark the targets, not the "
        "inputs.",
        "12.2",
        ("even", "a rest", "no overlap", "one by one", "one window"),
    ),
    Mutant(
        "−100 for −1",
        _filled(-100),
        "What is not counted is marked with −100, as torch does by default: here it is −1.",
        "12.2",
        ("even", "a rest", "one by one", "other sizes"),
    ),
)

# 12.4


def _parts(logits, T):
    """Probabilities at T and at 1, their logarithms, and the logits with 0 for −∞."""
    left = np.isfinite(logits)
    z = np.where(left, logits, 0.0)
    top = np.where(left, logits, -np.inf).max(axis=-1, keepdims=True)

    def at(T):
        scaled = np.where(left, (z - top) / T, 0.0)
        total = np.where(left, np.exp(scaled), 0.0).sum(axis=-1, keepdims=True)
        log_P = np.where(left, scaled - np.log(total), 0.0)
        return np.where(left, np.exp(log_P), 0.0), log_P

    return *at(T), *at(1.0), z, left


def _variance(P, z):
    return (P * (z - (P * z).sum(axis=-1, keepdims=True)) ** 2).sum(axis=-1)


def _warm(H=None, dH=None, S=None, dS=None, base=1.0, at=lambda T: T):
    """The right four numbers, but for those that are replaced; each takes (P, log P, P_1, log P_1, z, T, variance)."""

    def function(logits, T):
        P, log_P, P_1, log_P_1, z, left = _parts(logits, at(T))
        given = P, log_P, P_1, log_P_1, z, T, _variance(P, z)
        out = (H(*given) if H else -(P * log_P).sum(axis=-1), dH(*given) if dH else given[-1] / T**3,
               S(*given) if S else -(P * log_P_1).sum(axis=-1), dS(*given) if dS else given[-1] / T**2)
        return tuple(a / base for a in out)

    return function


def _both(dH, dS):
    return _warm(dH=dH, dS=dS)


def _careless(logits, T, top=True, log=False):
    z = logits - logits.max(axis=-1, keepdims=True) if top else logits
    E, E_1 = np.exp(z / T), np.exp(z)
    P, P_1 = E / E.sum(axis=-1, keepdims=True), E_1 / E_1.sum(axis=-1, keepdims=True)
    log_P, log_P_1 = np.log(P), np.log(P_1)
    if log:
        log_P, log_P_1 = np.where(P > 0, log_P, 0), np.where(P_1 > 0, log_P_1, 0)
    var = (P * (z - (P * z).sum(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    return -(P * log_P).sum(axis=-1), var / T**3, -(P * log_P_1).sum(axis=-1), var / T**2


def _no_maximum(logits, T):
    left = np.isfinite(logits)
    z = np.where(left, logits, 0.0)
    E, E_1 = np.exp(logits / T), np.exp(logits)
    P = E / E.sum(axis=-1, keepdims=True)
    log_P, log_P_1 = (z / t - np.log(e.sum(axis=-1, keepdims=True)) for t, e in ((T, E), (1, E_1)))
    return -(P * log_P).sum(axis=-1), _variance(P, z) / T**3, -(P * log_P_1).sum(axis=-1), _variance(P, z) / T**2


def _spread(z, left):
    count = left.sum(axis=-1, keepdims=True)
    mean = z.sum(axis=-1, keepdims=True) / count
    return (left * (z - mean) ** 2).sum(axis=-1) / count[..., 0]


def _unweighted(logits, T):
    left = np.isfinite(logits)
    spread = _spread(np.where(left, logits, 0.0), left)
    H, _, S, _ = _warm()(logits, T)
    return H, spread / T**3, S, spread / T**2


def _over_everything(logits, T):
    left = np.isfinite(logits)
    z = np.where(left, logits, 0.0)

    def at(T):
        E = np.where(left, np.exp((z - z[left].max()) / T), 0.0)
        return E / E.sum()

    P, P_1 = at(T), at(1.0)
    log_P, log_P_1 = (np.log(np.where(p > 0, p, 1.0)) for p in (P, P_1))
    var = (P * (z - (P * z).sum(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    return -(P * log_P).sum(axis=-1), var / T**3, -(P * log_P_1).sum(axis=-1), var / T**2


WARMTH = (
    Mutant(
        "one power too few",
        _warm(dH=lambda P, log_P, P_1, log_P_1, z, T, var: var / T**2),
        "dH/dT lacks one T: with b = 1/T it is −b Var z times db/dT = −1/T², so Var z / T³.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "one power too many",
        _warm(dS=lambda P, log_P, P_1, log_P_1, z, T, var: var / T**3),
        "dS/dT has one T too many: S is −Σ p_w z_w and a constant, and z_w has no T in it: Var z / T².",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "inner derivative forgotten",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: var / T, lambda P, log_P, P_1, log_P_1, z, T, var: var),
        "These are the slopes in b = 1/T, but for the sign: the chain rule goes on to T, with db/dT = −1/T².",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "one over T for both",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: var / T**2, lambda P, log_P, P_1, log_P_1, z, T, var: var / T),
        "Both slopes lack one T: d(1/T)/dT is −1/T², not −1/T.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "sign",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: -var / T**3,
              lambda P, log_P, P_1, log_P_1, z, T, var: -var / T**2),
        "Both slopes have the wrong sign: a warmer draw is less certain, and says what is less likely.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "deviation",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: np.sqrt(var) / T**3,
              lambda P, log_P, P_1, log_P_1, z, T, var: np.sqrt(var) / T**2),
        "This is made with the deviation of z: the slope has its square, the variance.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "not centred",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: (P * z * z).sum(axis=-1) / T**3,
              lambda P, log_P, P_1, log_P_1, z, T, var: (P * z * z).sum(axis=-1) / T**2),
        "This has the mean of z²: when one probability grows, the others shrink, and that takes away the square of "
        "the mean.",
        "4.5",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "all words alike",
        _unweighted,
        "The variance of z is taken over all words alike: each counts with its probability at T.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "variance at temperature 1",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: _variance(P_1, z) / T**3,
              lambda P, log_P, P_1, log_P_1, z, T, var: _variance(P_1, z) / T**2),
        "The variance is taken with the probabilities at temperature 1: the slope is that at T.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "variance of the probabilities",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: _variance(P, P) / T**3,
              lambda P, log_P, P_1, log_P_1, z, T, var: _variance(P, P) / T**2),
        "This is the variance of the probabilities: it is the logits that vary, weighted with the probabilities.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "surprise of the warm model",
        _warm(S=lambda P, log_P, P_1, log_P_1, z, T, var: -(P * log_P).sum(axis=-1)),
        "S is the entropy once more: the word is drawn at T, and its surprise is that of the model at temperature 1.",
        "12.4",
        ("entropy", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "surprise the other way",
        _warm(S=lambda P, log_P, P_1, log_P_1, z, T, var: -(P_1 * log_P).sum(axis=-1)),
        "S is turned round: here words are drawn at temperature 1 and judged at T. They are drawn at T.",
        "11.1",
        ("entropy", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "surprise over the entropy",
        _warm(S=lambda P, log_P, P_1, log_P_1, z, T, var: (P * (log_P - log_P_1)).sum(axis=-1)),
        "S is a divergence, the surprise less the entropy: the mean of −ln p at temperature 1 is asked for.",
        "11.1",
        ("entropy", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "surprise without any temperature",
        _warm(S=lambda P, log_P, P_1, log_P_1, z, T, var: -(P_1 * log_P_1).sum(axis=-1)),
        "S is the entropy at temperature 1: the word is drawn at T, so the mean is over the probabilities at T.",
        "12.4",
        ("entropy", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "entropy at temperature 1",
        _warm(H=lambda P, log_P, P_1, log_P_1, z, T, var: -(P_1 * log_P_1).sum(axis=-1)),
        "H is the entropy at temperature 1: it is that of the draw, with the probabilities at T.",
        "12.4",
        ("entropy", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "slope of the surprise as that of the entropy",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: var / T**2,
              lambda P, log_P, P_1, log_P_1, z, T, var: var / T**3),
        "The two slopes are exchanged: dS/dT = T · dH/dT.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "in bits",
        _warm(base=math.log(2)),
        "These are bits: the numbers are asked for in nats.",
        "11.1",
        ("entropy", "slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "temperature upside down",
        _warm(at=lambda T: 1 / T),
        "The logits are multiplied by T: temperature divides them, and a large T makes the words more alike.",
        "12.4",
        ("entropy", "slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "zero times infinity",
        _careless,
        "ln is taken of probabilities that are 0, of words that are gone or so unlikely that exp gives 0: 0 · ∞ is "
        "nan. A word that is gone has the term 0; of the others ln p is z − max − ln Σ, without ln of exp.",
        "12.4",
        ("filtered", "large logits"),
    ),
    Mutant(
        "overflow, logarithm of the sum",
        _no_maximum,
        "exp of a large logit overflows: take the row maximum off first, and add it again outside of the logarithm.",
        "4.5",
        ("large logits", "far from zero"),
    ),
    Mutant(
        "overflow",
        lambda logits, T: _careless(logits, T, top=False, log=True),
        "exp of a large logit overflows: take the row maximum off first.",
        "4.5",
        ("filtered", "large logits"),
    ),
    Mutant(
        "multiplied by T",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: var * T**3,
              lambda P, log_P, P_1, log_P_1, z, T, var: var * T**2),
        "The slopes are multiplied by T² and T³: d(1/T)/dT = −1/T², so they are divided.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "surprise at temperature 1, in its slope",
        _warm(dS=lambda P, log_P, P_1, log_P_1, z, T, var: _variance(P_1, z) / T**2),
        "dS/dT is made with the probabilities at temperature 1: it is the draw at T that changes.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "entropy at temperature 1, in its slope",
        _warm(dH=lambda P, log_P, P_1, log_P_1, z, T, var: _variance(P_1, z) / T**3),
        "dH/dT is made with the probabilities at temperature 1: it is the draw at T that changes.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "surprise of the mean probability",
        _warm(S=lambda P, log_P, P_1, log_P_1, z, T, var: -np.log((P * P_1).sum(axis=-1))),
        "S is the logarithm of a mean probability: it is the mean of the logarithms.",
        "11.1",
        ("entropy", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "divided by the words",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: var / P.shape[-1] / T**3,
              lambda P, log_P, P_1, log_P_1, z, T, var: var / P.shape[-1] / T**2),
        "The variance is divided by the number of words: its weights are probabilities and sum to one already.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "softmax over everything",
        _over_everything,
        "The softmax runs over all rows together: each row of the batch is a draw of its own.",
        "4.5",
        ("a batch", "filtered", "large logits"),
    ),
    Mutant(
        "slope of the divergence",
        _warm(dS=lambda P, log_P, P_1, log_P_1, z, T, var: var * (1 - 1 / T) / T**2),
        "dS/dT is the slope of S − H, a divergence: that of S alone is Var z / T².",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "slopes from the entropy",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: -(P * log_P).sum(axis=-1) / T,
              lambda P, log_P, P_1, log_P_1, z, T, var: -(P * log_P).sum(axis=-1)),
        "The slopes are made from the entropy itself: they are variances, which vanish where one word is certain "
        "or all are alike.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "variance of z over T",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: var / T**4,
              lambda P, log_P, P_1, log_P_1, z, T, var: var / T**3),
        "One T too many in both slopes: dp_w/db = p_w (z_w − mean), and then only db/dT = −1/T² is left.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "entropy in bits",
        _warm(H=lambda P, log_P, P_1, log_P_1, z, T, var: -(P * log_P).sum(axis=-1) / math.log(2)),
        "H is in bits: it is asked for in nats, like the rest.",
        "11.1",
        ("entropy", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "another order",
        lambda *x: [_warm()(*x)[k] for k in (0, 2, 1, 3)],
        "The four come in another order: H, its slope, S, its slope.",
        "12.4",
        ("entropy", "slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "H and S exchanged",
        lambda *x: [_warm()(*x)[k] for k in (2, 3, 0, 1)],
        "H and S are exchanged: H is the entropy of the draw, S the surprise of the model at temperature 1.",
        "12.4",
        ("entropy", "slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "perplexities",
        _warm(H=lambda P, log_P, P_1, log_P_1, z, T, var: np.exp(-(P * log_P).sum(axis=-1)),
              S=lambda P, log_P, P_1, log_P_1, z, T, var: np.exp(-(P * log_P_1).sum(axis=-1))),
        "H and S are perplexities, exp of what is asked for.",
        "11.1",
        ("entropy", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "sign of dH",
        _warm(dH=lambda P, log_P, P_1, log_P_1, z, T, var: -var / T**3),
        "dH/dT has the wrong sign: a warmer draw is less certain.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "sign of dS",
        _warm(dS=lambda P, log_P, P_1, log_P_1, z, T, var: -var / T**2),
        "dS/dT has the wrong sign: a warmer draw says what is less likely.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "mean logit for the surprise",
        _warm(S=lambda P, log_P, P_1, log_P_1, z, T, var: -(P * z).sum(axis=-1)),
        "S is the mean logit, but for its sign: a logit becomes ln p by taking ln Σ exp z off.",
        "11.1",
        ("entropy", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "dH with T⁴",
        _warm(dH=lambda P, log_P, P_1, log_P_1, z, T, var: var / T**4),
        "dH/dT has one T too many: b Var z · 1/T² = Var z / T³.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "differences of the logarithms",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: _variance(P, log_P) / T**3,
              lambda P, log_P, P_1, log_P_1, z, T, var: _variance(P, log_P) / T**2),
        "The variance is that of ln p at T, which is Var z / T²; with it the slopes are Var/T and Var.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "mean logit in the slopes",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: (P * z).sum(axis=-1) / T**3,
              lambda P, log_P, P_1, log_P_1, z, T, var: (P * z).sum(axis=-1) / T**2),
        "This is made with the mean of z: the slope has its variance, which does not change when a number is "
        "added to all logits.",
        "12.4",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "p less p²",
        _both(lambda P, log_P, P_1, log_P_1, z, T, var: (P * (1 - P)).sum(axis=-1) / T**3,
              lambda P, log_P, P_1, log_P_1, z, T, var: (P * (1 - P)).sum(axis=-1) / T**2),
        "This is made with p (1 − p), the slope of one probability in its own logit: here all logits change with "
        "T, each by itself, and that gives Var z.",
        "4.5",
        ("slopes", "a batch", "filtered", "large logits"),
    ),
    Mutant(
        "distance from even",
        _warm(S=lambda P, log_P, P_1, log_P_1, z, T, var: np.log(P.shape[-1]) + (P * log_P).sum(axis=-1)),
        "S is a distance from even probabilities: the surprise of the model at temperature 1 is asked for.",
        "11.1",
        ("entropy", "a batch", "filtered", "large logits"),
    ),
)

# 12.5


def _wish(heat="logits", stays="before", back="all", zero="greedy", first=False, scale=True, draw="shares"):
    def function(logits, T, p, u):
        import torch

        rows, mass_of, where = torch.arange(len(logits)), p[:, None], u[:, None]
        warm = (T if zero == "nan" else T.clamp(min=zero) if isinstance(zero, float)
                else T + (T == 0).to(T.dtype))[:, None]
        if heat == "logits":
            P = torch.softmax(logits / warm, dim=-1)
        elif heat == "probabilities":
            P = torch.softmax(logits, dim=-1) / warm
            P = P / P.sum(dim=-1, keepdim=True)
        else:
            P = torch.softmax({"times": logits * warm, "twice": torch.softmax(logits, -1) / warm, "none": logits}[heat],
                              dim=-1)
        by = torch.softmax(logits, dim=-1) if first else P
        order = by.argsort(dim=-1, descending=True, stable=True)
        if stays == "last equal first":
            order = logits.shape[1] - 1 - by.flip(-1).argsort(dim=-1, descending=True, stable=True)
        Q = by.gather(-1, order)
        mass = Q.cumsum(dim=-1)
        kept = mass - Q < mass_of
        if stays == "lost":
            kept = mass <= mass_of
        elif stays == "lost but one":
            kept = (mass <= mass_of) | (mass == Q)
        elif stays == "reached":
            kept = mass - Q <= mass_of
        elif stays == "one more":
            kept = torch.cat([kept[:, :1], kept[:, :-1]], dim=-1)
        elif stays == "share of the largest":
            kept = Q >= mass_of * Q[:, :1]
        elif stays == "share of the words":
            kept = torch.arange(Q.shape[1]) < mass_of * Q.shape[1]
        elif stays == "all equal":
            kept = Q >= Q.masked_fill(~kept, torch.inf).min(dim=-1, keepdim=True).values
        elif stays == "one mass for all":
            kept = mass - Q < p[0]
        elif stays == "the largest mass for all":
            kept = mass - Q < p.max()
        elif stays == "the tail":
            kept = mass > 1 - mass_of
        elif stays == "all":
            kept = torch.ones_like(kept)
        sorted_P = P.gather(-1, order) * kept
        if scale:
            sorted_P = sorted_P / sorted_P.sum(dim=-1, keepdim=True)
        P = torch.zeros_like(P).scatter(-1, order, sorted_P)
        if zero == "greedy":
            hot = torch.nn.functional.one_hot(logits.argmax(dim=-1), logits.shape[1]).to(P.dtype)
            P = torch.where((T == 0)[:, None], hot, P)
            sorted_P = torch.where((T == 0)[:, None], P.gather(-1, order), sorted_P)
        if zero == "even":
            P = torch.where((T == 0)[:, None], torch.full_like(P, 1 / P.shape[1]), P)
        words = (P.cumsum(dim=-1) > where).int().argmax(dim=-1)
        ranks = (sorted_P.cumsum(dim=-1) > where).int().argmax(dim=-1)
        words = {"shares": words, "likeliest first": order[rows, ranks], "ranks": ranks, "greedy": P.argmax(dim=-1),
                 "from the end": (P.cumsum(dim=-1) > 1 - where).int().argmax(dim=-1),
                 "nearest": (P.cumsum(dim=-1) - where).abs().argmin(dim=-1), "before": (words - 1).clamp(min=0),
                 "behind": words + 1, "anew": words,
                 "at the bound": (P.cumsum(dim=-1) >= where).int().argmax(dim=-1)}[draw]
        if draw == "anew":
            words = torch.multinomial(P.nan_to_num(1.0), 1)[:, 0]
        return (words, P) if back == "all" else (ranks, sorted_P)

    return function


WISHES = (
    Mutant(
        "up to its bound",
        _wish(draw="at the bound"),
        "With u = 0 a word is said that has no probability: a share begins where the one before ends, and that bound "
        "belongs to the later word. Take the first cumulative sum above u.",
        "12.4",
        ("smallest draw",),
    ),
    Mutant(
        "a tiny temperature",
        _wish(zero=1e-6),
        "T = 0 is replaced by a tiny number: where another word is nearly as likely, it keeps a share. All the "
        "probability belongs to the likeliest word.",
        "12.4",
        ("nearly equal",),
    ),
    Mutant(
        "a temperature next to nothing",
        _wish(zero=1e-12),
        "T = 0 is replaced by a tiny number: two words that are equally likely then share the probability. All of it "
        "belongs to the first of them.",
        "12.4",
        ("nearly equal",),
    ),
    Mutant(
        "drawn anew",
        _wish(draw="anew"),
        "The words differ from call to call (−1 stands for them here): u is the draw, so nothing else may be drawn by "
        "chance, as torch.multinomial does.",
        "12.4",
        ("words",),
    ),
    Mutant(
        "as it stands",
        _wish(heat="probabilities", stays="lost", back="none", zero="nan"),
        "This is the function with its faults: look at what T divides, at the word that crosses the mass, at where a "
        "sorted number belongs, and at T = 0.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "temperature on probabilities",
        _wish(heat="probabilities"),
        "T has no effect. If it divides the probabilities, scaling them to sum to one undoes that: it divides the "
        "logits.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words"),
    ),
    Mutant(
        "softmax twice",
        _wish(heat="twice"),
        "The probabilities are divided by T and go through a softmax again, which makes them nearly even: temperature "
        "divides the logits, and there is one softmax.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "temperature multiplies",
        _wish(heat="times"),
        "T multiplies the logits: it divides them, so that a large T makes the words more alike.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "crossing word lost",
        _wish(stays="lost"),
        "The word that crosses the mass is dropped, so that less than p is left, and nothing where the first word has "
        "more: a word stays if the mass before it is below p.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "crossing word lost, but for the first",
        _wish(stays="lost but one"),
        "The word that crosses the mass is dropped, unless it is the first: it stays, so that the mass reaches p.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "one word too many",
        _wish(stays="one more"),
        "One word too many stays: the mass is reached with the word that crosses p, and the next one goes.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "left in order of likelihood",
        _wish(back="none"),
        "The probabilities are left sorted, and the words are ranks: put each number back in the place of its word.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "sorted and lost",
        _wish(back="none", stays="lost"),
        "Two faults are left: the word that crosses the mass is dropped, and what was sorted is not put back.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "sorted, and on probabilities",
        _wish(back="none", heat="probabilities"),
        "Two faults are left: T divides the probabilities, which scaling undoes, and what was sorted is not put back.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "lost, and on probabilities",
        _wish(stays="lost", heat="probabilities"),
        "Two faults are left: T divides the probabilities, which scaling undoes, and the word that crosses the mass "
        "is dropped.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "words are ranks",
        _wish(draw="ranks"),
        "The words are ranks in the order of likelihood: look up which word has that rank.",
        "12.4",
        ("words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "shares in order of likelihood",
        _wish(draw="likeliest first"),
        "The shares of [0, 1) are laid out from the likeliest word on: they lie in the order of the vocabulary. As "
        "fair a draw, but another word for the same u.",
        "12.4",
        ("words", "the likeliest", "all words"),
    ),
    Mutant(
        "shares from the end",
        _wish(draw="from the end"),
        "The shares are laid out from the last word on: word 0 has the first share of [0, 1).",
        "12.4",
        ("words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "always the likeliest",
        _wish(draw="greedy"),
        "The likeliest word comes in every row: the word is the one in whose share u falls.",
        "12.4",
        ("words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "nucleus before temperature",
        _wish(first=True),
        "The nucleus is taken at temperature 1: here temperature comes first, and the mass is that of the "
        "probabilities at T.",
        "12.4",
        ("probabilities", "words", "the likeliest"),
    ),
    Mutant(
        "not scaled",
        _wish(scale=False),
        "The probabilities that are left sum to less than one: scale each row.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "no nucleus",
        _wish(stays="all"),
        "All words stay: those beyond the mass p get probability 0.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "share of the largest",
        _wish(stays="share of the largest"),
        "Words stay that have the share p of the likeliest one: p is a mass, the sum over the words that stay.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "share of the words",
        _wish(stays="share of the words"),
        "p is taken for a share of the vocabulary: it is a mass of probability.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "the largest mass for all",
        _wish(stays="the largest mass for all"),
        "All rows have the largest mass of all: each reader has a p of his own.",
        "12.4",
        ("probabilities",),
    ),
    Mutant(
        "one mass for all",
        _wish(stays="one mass for all"),
        "All rows have the mass of the first: each reader has a p of his own.",
        "12.4",
        ("probabilities", "the likeliest", "all words"),
    ),
    Mutant(
        "the tail stays",
        _wish(stays="the tail"),
        "The unlikely words stay: the mass is gathered from the likeliest word on.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "all equal words stay",
        _wish(stays="all equal"),
        "Every word stays that is as likely as the last one inside: of equal words only as many stay as are needed, "
        "the first ones.",
        "12.4",
        ("equal words",),
    ),
    Mutant(
        "last of equals first",
        _wish(stays="last equal first"),
        "Of equal words the last goes in first: a sort that is then reversed also reverses the equal ones. Sort with "
        "descending=True and stable=True.",
        "12.4",
        ("equal words",),
    ),
    Mutant(
        "divided by zero",
        _wish(zero="nan"),
        "A row whose T is 0 is divided by it: that row wants the likeliest word, with probability 1.",
        "12.4",
        ("the likeliest",),
    ),
    Mutant(
        "a small temperature for zero",
        lambda logits, T, p, u: _wish(zero="nan")(logits, T.clamp(min=0.01), p, u),
        "T = 0 is taken for a small temperature, at which words that are nearly equal still share: that row has all "
        "its probability on its likeliest word.",
        "12.4",
        ("nearly equal",),
    ),
    Mutant(
        "one more where the mass is met",
        _wish(stays="reached"),
        "Where the words before have just the mass p, one word more stays: they reach p, so the next one goes. "
        "A word stays if the mass before it is below p.",
        "12.4",
        ("just reached",),
    ),
    Mutant(
        "zero means one",
        _wish(zero="one"),
        "T = 0 is taken for 1: that row wants the likeliest word, with probability 1.",
        "12.4",
        ("the likeliest",),
    ),
    Mutant(
        "zero means even",
        _wish(zero="even"),
        "At T = 0 all words are made alike: that is what a very large T does. The likeliest word gets 1.",
        "12.4",
        ("the likeliest",),
    ),
    Mutant(
        "the rest of the mass",
        lambda logits, T, p, u: _wish()(logits, T, 1 - p, u),
        "The mass of the nucleus is 1 − p: it is p.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "root of the temperature",
        lambda logits, T, p, u: _wish()(logits, T**0.5, p, u),
        "The logits are divided by √T: it is T.",
        "12.4",
        ("probabilities", "the likeliest", "all words"),
    ),
    Mutant(
        "temperature squared",
        lambda logits, T, p, u: _wish()(logits, T**2, p, u),
        "The logits are divided by T²: it is T.",
        "12.4",
        ("probabilities", "words", "the likeliest", "all words"),
    ),
    Mutant(
        "nearest edge",
        _wish(draw="nearest"),
        "The word is the one whose share ends nearest to u: it is the one in whose share u falls, the first "
        "whose sum is above u.",
        "12.4",
        ("words", "the likeliest", "equal words"),
    ),
    Mutant(
        "word before",
        _wish(draw="before"),
        "The word is the one before: u falls into the share of the first word whose sum is above u.",
        "12.4",
        ("words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "word behind",
        _wish(draw="behind"),
        "The word is the one behind: u falls into the share of the first word whose sum is above u.",
        "12.4",
        ("words", "the likeliest", "all words", "equal words"),
    ),
    Mutant(
        "p = 1 cut",
        lambda logits, T, p, u: _wish()(logits, T, p.clamp(max=0.9), u),
        "p = 1 cuts words off: it keeps all.",
        "12.4",
        ("all words",),
    ),
)

# 12.6


def _likelihood(counts, P):
    came = counts > 0
    return -np.inf if (P[came] == 0).any() else (counts[came] * np.log(P[came])).sum()


def _detective(names=NAMES, of=_likelihood, laws=law, rename=None):
    def function(logits, counts, T, k, p):
        best = max(names, key=lambda name: of(counts, laws(name, logits, T, k, p)))
        return (rename or {}).get(best, best)

    return function


def _exchange(a, b):
    return _detective(rename={a: b, b: a})


def _skipping(counts, P):
    inside = (counts > 0) & (P > 0)
    return (counts[inside] * np.log(P[inside])).sum()


def _support(counts, P):
    return -float(((counts > 0) != (P > 0)).sum())


def _first_place(counts, P):
    return _likelihood(counts[:1], P[:1])


def _at_one(name, logits, T, k, p):
    return law(name, logits, 1.0, k, p)


def _not_scaled(name, logits, T, k, p):
    P = law(name, logits, T, k, p)
    return P if name == "softmax twice" else np.where(P > 0, softmax(logits / T), 0.0)


def _upside_down(name, logits, T, k, p):
    return law(name, logits, 1 / T, k, p)


def _no_guard(name, logits, T, k, p):
    P = softmax(logits / T)
    if name != "crossing word lost":
        return law(name, logits, T, k, p)
    order = np.argsort(-P, axis=-1, kind="stable")
    mass = np.take_along_axis(np.cumsum(np.take_along_axis(P, order, axis=-1), axis=-1), np.argsort(order), axis=-1)
    kept = np.where(mass < p, P, 0.0)
    return kept / np.maximum(kept.sum(axis=-1, keepdims=True), 1e-300)


def _first_acquitted(counts, P):
    came = counts > 0
    return 0.0 if not (P[came] == 0).any() else -1.0


def _above_one(name, logits, T, k, p):
    return law(name, logits, max(T, 1.0), k, p)


def _narrower(logits, counts, T, k, p):
    """Of the two nuclei, "top-p first" is taken to be the one with fewer words."""
    name = _detective()(logits, counts, T, k, p)
    swap = {"top-p": "top-p first", "top-p first": "top-p"}
    return swap.get(name, name) if T < 1 else name


def _nearest(gap):
    def function(logits, counts, T, k, p):
        return min(NAMES, key=lambda name: GAPS[gap](counts, law(name, logits, T, k, p)))

    return function


DISTANCE = ("A distance between shares and probabilities does not see that a program gives 0 to a word that was drawn, "
            "and chance makes it large where words are likely. Σ n ln p says how probably a program draws just these.")
SAMPLERS = (
    Mutant(
        "largest word",
        _nearest("largest word"),
        "Only the likeliest word of each place is looked at: where few words were drawn, its share tells little. The "
        "others count, too, and a word that a program cannot draw rules it out.",
        "12.4",
        ("few words",),
    ),
    Mutant(
        "not scaled",
        _detective(laws=_not_scaled),
        "What a filter leaves is not scaled to sum to one. Temperature alone then seems at least as probable as every "
        "filter: scale what is left, and where nothing else was drawn the filter is the more probable.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant("largest gap", _nearest("largest gap"), f"Only the largest gap is looked at. {DISTANCE}", "12.4",
           ("few words",)),
    Mutant("gaps added", _nearest("gaps"), f"The gaps are added up. {DISTANCE}", "12.4", ("few words",)),
    Mutant("squares of the gaps", _nearest("squares"), f"The squares of the gaps are added up. {DISTANCE}", "12.4",
           ("few words",)),
    Mutant(
        "the first nucleus is narrower",
        _narrower,
        "A nucleus that was taken before the temperature is thought to be the narrower one: that is so above T = 1. "
        "Below 1 temperature sharpens, so the nucleus taken after it has fewer words.",
        "12.4",
        ("cold",),
    ),
    Mutant(
        "no temperature below one",
        _detective(laws=_above_one),
        "A temperature below 1 is taken for 1: it makes the likely words likelier still.",
        "12.4",
        ("cold",),
    ),
    Mutant(
        "always guilty",
        _detective([name for name in NAMES if name != "top-p"]),
        "A program that does what it should is accused: top-p is one of the six.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "temperature not known",
        _detective([name for name in NAMES if name != "temperature"]),
        "A program without a filter is taken for one with a filter: there every word is drawn now and then.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "two nuclei exchanged",
        _exchange("top-p", "top-p first"),
        "Two programs are exchanged: a nucleus taken before the temperature is smaller when T is above 1.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "nucleus and crossing exchanged",
        _exchange("top-p", "crossing word lost"),
        "Two programs are exchanged: where the crossing word is lost, each place has one word less.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "temperatures exchanged",
        _exchange("temperature", "softmax twice"),
        "Two programs are exchanged: a softmax of probabilities gives nearly even shares, since they lie between 0 "
        "and 1.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "k and p exchanged",
        _exchange("top-k", "top-p"),
        "Two programs are exchanged: top-k leaves as many words at every place, top-p as many as the mass needs.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "impossible words skipped",
        _detective(of=_skipping),
        "The narrowest program wins, even where it could not have drawn some of these words: a single word to which it "
        "gives 0 clears it. Add logarithms, Σ n ln p, where ln 0 is −∞.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "which words came",
        _detective(of=_support),
        "Only which words came is looked at: programs without a filter leave all words, and are told apart by how "
        "often each came.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "the first that could",
        _detective(of=_first_acquitted),
        "The first program is named that could have drawn these words: a program without a filter could have drawn "
        "anything. Which would have done so most probably?",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "first place only",
        _detective(of=_first_place),
        "Only the first place was looked at: there two programs may draw from the same words.",
        "12.4",
        ("other places",),
    ),
    Mutant(
        "temperature forgotten",
        _detective(laws=_at_one),
        "The six programs are made without temperature: all of them were given T.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "temperature upside down",
        _detective(laws=_upside_down),
        "The logits are multiplied by T: the six programs divide by it.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "nothing left",
        _detective(laws=_no_guard),
        "Where the first word has more than p by itself, your program that loses the crossing word has nothing left, "
        "and is cleared: that one keeps the first word.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "top-p for all",
        lambda *inputs: "top-p",
        "The same name comes for every exhibit.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "top-k and top-p first exchanged",
        _exchange("top-k", "top-p first"),
        "Two programs are exchanged: top-k and top-p first.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "top-k and crossing word lost exchanged",
        _exchange("top-k", "crossing word lost"),
        "Two programs are exchanged: top-k and crossing word lost.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "top-p first and crossing word lost exchanged",
        _exchange("top-p first", "crossing word lost"),
        "Two programs are exchanged: top-p first and crossing word lost.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "temperature and top-k exchanged",
        _exchange("temperature", "top-k"),
        "Two programs are exchanged: temperature and top-k.",
        "12.4",
        ("six programs", "other places"),
    ),
    Mutant(
        "temperature and top-p exchanged",
        _exchange("temperature", "top-p"),
        "Two programs are exchanged: temperature and top-p.",
        "12.4",
        ("six programs", "other places"),
    ),
)

# 12.7


def _turned(x, place, base, pairs="neighbours", power=2.0, sign=1, shift=0):
    """x (B, …, k), each row b turned by its place, or (B, …, m, k) by places (B, m)."""
    k = x.shape[-1]
    angle = sign * np.asarray(place)[..., None] * base ** (-power * (np.arange(k // 2) + shift) / k)
    angle = angle.reshape(len(x), *[1] * (x.ndim - angle.ndim), *angle.shape[1:])
    even, odd = (x[..., : k // 2], x[..., k // 2 :]) if pairs == "halves" else (x[..., 0::2], x[..., 1::2])
    a, b = even * np.cos(angle) - odd * np.sin(angle), even * np.sin(angle) + odd * np.cos(angle)
    if pairs == "halves":
        return np.concatenate([a, b], axis=-1)
    return np.stack([a, b], axis=-1).reshape(x.shape)


def _one(place="row", turns="qk", sees="row", groups="blocks", scale="k", own=True, kept="turned", again=False,
         merge="heads", new="last", hidden=-np.inf, cut="", last=True, add="",
         values="all", **how):
    def function(x, K, V, start, W_q, W_k, W_v, W_o, base):
        B, G, m, k = K.shape
        v, d, H = V.shape[-1], x.shape[1], W_q.shape[1] // k
        at = {"row": m - start, "zero": 0 * start, "column": 0 * start + m, "one more": m - start + 1,
              "one less": m - start - 1, "start": start, "added": m + start,
              "shortest": 0 * start + m - start.max(), "first": 0 * start + m - start[0],
              "longest": 0 * start + m - start.min()}[place]

        def heads(name, W, count, width):
            return (x @ W).reshape(B, width, count).mT if name in cut else (x @ W).reshape(B, count, width)

        if cut == "s":
            W_q = W_q.reshape(d, H // G, G, k).swapaxes(1, 2).reshape(d, H * k)
        Q, k_new, v_new = heads("q", W_q, H, k), heads("k", W_k, G, k), heads("v", W_v, G, v)
        plain = k_new
        Q = _turned(Q, at, base, **how) if "q" in turns else Q
        k_new = _turned(k_new, at, base, **how) if "k" in turns else k_new
        v_new = _turned(v_new, at, base, **how) if "v" in turns and v % 2 == 0 else v_new
        way = 1 if new == "last" else -1
        K_all, V_all = (np.concatenate([old, one[:, :, None]][::way], axis=2) for old, one in ((K, k_new), (V, v_new)))
        used = K_all
        if again:
            old = _turned(K, np.arange(m) - start[:, None], base, **how) if m else K
            used = K_all = np.concatenate([old, k_new[:, :, None]], axis=2)
        if kept == "plain":
            K_all = np.concatenate([K, plain[:, :, None]], axis=2)
        columns = np.arange(m + 1)
        seen = {"row": columns >= start[:, None], "all": columns >= 0 * start[:, None],
                "later": (columns > start[:, None]) | (columns == m), "padding": columns <= start[:, None],
                "as many": columns < m + 1 - start[:, None], "first": columns >= 0 * start[:, None] + start[0]}[sees]
        if not own:
            seen = seen & (columns < m)
        h = np.arange(H)
        which = {"blocks": h * G // H, "in turn": h % G, "first": 0 * h, "back": G - 1 - h * G // H}[groups]
        root = {"k": math.sqrt(k), "none": 1.0, "d": math.sqrt(d), "square": k, "all": math.sqrt(H * k),
                "v": math.sqrt(v), "pairs": math.sqrt(k / 2)}[scale]
        S = np.einsum("bhk,bhmk->bhm", Q, used[:, which]) / root
        S = S * (columns < m) if values == "blind" else S
        S = S * seen[:, None] if values == "emptied" else S
        shown = S if hidden is None else S - 1e9 * ~seen[:, None] if hidden == "taken off" else np.where(
            seen[:, None], S, 0.0 if hidden == "after" else hidden)
        A = softmax(S) * seen[:, None] if hidden == "after" else softmax(shown)
        A = seen[:, None] / seen.sum(axis=-1)[:, None, None] + 0 * A if add == "even" else A
        A = A * (columns < m) if values == "old" else A
        read = V_all * seen[:, None, :, None] if values == "emptied" else V_all
        Z = np.einsum("bhm,bhmv->bhv", A, read[:, which])
        if merge == "mean":
            Z = 0 * Z + Z.mean(axis=1, keepdims=True)
        if merge == "features":
            Z = Z.mT
        Z = Z.reshape(B, H * v)
        return (Z @ W_o if last else Z) + (x if add == "x" else 0), K_all, V_all

    return function


def _wiped(x, K, V, start, *rest):
    out, K_all, V_all = _one()(x, K, V, start, *rest)
    text = (np.arange(K_all.shape[2]) >= start[:, None])[:, None, :, None]
    return out, K_all * text, V_all * text


def _not_grown(*inputs):
    out, K, V = _one()(*inputs)
    return out, K[:, :, -1:], V[:, :, -1:]


STEPS = (
    Mutant(
        "taken off the scores of padding",
        _one(hidden="taken off"),
        "A number is taken off the scores of padding, and what stands there may outweigh it: a hidden column needs −∞ "
        "in the place of its score.",
        "8.4",
        ("however large",),
    ),
    Mutant(
        "place 0",
        _one(place="zero"),
        "The new query and key are turned by place 0, which is not at all, as if the text began anew: the token stands "
        "behind all of its row, at m − start.",
        "12.5",
        ("cache", "output", "no padding"),
    ),
    Mutant(
        "column for place",
        _one(place="column"),
        "The new token stands at place m in every row: padding has no place, so it is m − start.",
        "8.6",
        ("cache", "output"),
    ),
    Mutant(
        "one place too far",
        _one(place="one more"),
        "The new token stands one place too far: m columns lie before it, counted from 0, so it is in column m.",
        "12.5",
        ("cache", "output", "no padding", "the first token"),
    ),
    Mutant(
        "one place too near",
        _one(place="one less"),
        "The new token stands at the place of the last old one: m columns lie before it, so it is in column m.",
        "12.5",
        ("cache", "output", "no padding", "the first token"),
    ),
    Mutant(
        "start for place",
        _one(place="start"),
        "The new token stands at place start: that is where its row begins. It stands at m − start.",
        "8.6",
        ("cache", "output", "no padding"),
    ),
    Mutant(
        "start added",
        _one(place="added"),
        "The place is m + start: padding comes off, so it is m − start.",
        "8.6",
        ("cache", "output"),
    ),
    Mutant(
        "kept before it was turned",
        _one(kept="plain"),
        "The new key goes into the cache as it was before it was turned: the next token will not turn it.",
        "12.5",
        ("cache", "no padding"),
    ),
    Mutant(
        "key not turned",
        _one(turns="q"),
        "The new key is not turned: keys and queries are, each by its own place.",
        "3.7",
        ("cache", "output", "no padding"),
    ),
    Mutant(
        "query not turned",
        _one(turns="k"),
        "The query is not turned: keys and queries are, each by its own place.",
        "3.7",
        ("output", "no padding"),
    ),
    Mutant(
        "value turned",
        _one(turns="qkv"),
        "The value is turned as well: only the score should know about places.",
        "3.7",
        ("cache", "output"),
    ),
    Mutant(
        "old keys turned again",
        _one(again=True),
        "The old keys are turned once more: a key is turned once, when it goes into the cache.",
        "12.5",
        ("cache", "output", "no padding"),
    ),
    Mutant(
        "turned backwards",
        _one(sign=-1),
        "Query and key are turned the other way: (a, b) becomes (a cos − b sin, a sin + b cos).",
        "3.7",
        ("cache", "output", "no padding"),
    ),
    Mutant(
        "halves for pairs",
        _one(pairs="halves"),
        "Feature i is paired with feature i + k/2: here neighbours are pairs, 2i with 2i + 1.",
        "3.7",
        ("cache", "output", "no padding"),
    ),
    Mutant(
        "clocks too fast",
        _one(power=1.0),
        "Pair i is turned by place / base^(i/k): the exponent is 2i/k.",
        "3.7",
        ("cache", "output", "no padding"),
    ),
    Mutant(
        "padding seen",
        _one(sees="all"),
        "Padding is seen: scores of columns before start become −∞, for every head of that row.",
        "8.6",
        ("output",),
    ),
    Mutant(
        "first word hidden",
        _one(sees="later"),
        "Column start is hidden: it holds the first token of the row.",
        "8.6",
        ("output", "no padding"),
    ),
    Mutant(
        "padding at the end",
        _one(sees="as many"),
        "The right number of columns is seen, but the first ones: padding stands on the left.",
        "8.6",
        ("output",),
    ),
    Mutant(
        "mask turned round",
        _one(sees="padding"),
        "Padding is seen and the text is hidden: a column is seen from start on.",
        "8.6",
        ("output", "no padding"),
    ),
    Mutant(
        "not itself",
        _one(own=False),
        "The new token does not see itself: its own key and value come first, then the scores.",
        "12.5",
        ("output", "no padding", "the first token"),
    ),
    Mutant(
        "groups in turn",
        _one(groups="in turn"),
        "Head h reads group h mod G: neighbouring heads share their keys, so it is group h · G / H, rounded down.",
        "5.8",
        ("output", "no padding"),
    ),
    Mutant(
        "one group for all",
        _one(groups="first"),
        "All heads read group 0: the first H / G heads do, the next ones read group 1, and so on.",
        "5.8",
        ("output", "no padding", "the first token"),
    ),
    Mutant(
        "no scale",
        _one(scale="none"),
        "The scores are not divided by √k.",
        "4.4",
        ("output", "no padding"),
    ),
    Mutant(
        "√d for √k",
        _one(scale="d"),
        "The scores are divided by √d, the width of the token: it is √k, the width of a key.",
        "4.4",
        ("output", "no padding"),
    ),
    Mutant(
        "k for √k",
        _one(scale="square"),
        "The scores are divided by k: it is √k.",
        "4.4",
        ("output", "no padding"),
    ),
    Mutant(
        "√(H k) for √k",
        _one(scale="all"),
        "The scores are divided by the root of all columns of W_q: each head has k of them, so √k.",
        "5.2",
        ("output", "no padding"),
    ),
    Mutant(
        "√v for √k",
        _one(scale="v"),
        "The scores are divided by √v: it is the width of a key that counts, √k.",
        "4.4",
        ("output", "no padding"),
    ),
    Mutant(
        "features before heads",
        _one(merge="features"),
        "The heads are joined feature by feature: head 0 has the first v columns, then comes head 1.",
        "5.3",
        ("output", "no padding", "the first token"),
    ),
    Mutant(
        "new column first",
        _one(new="first"),
        "The new column stands in front of the cache: it goes behind, as column m.",
        "12.5",
        ("cache", "output", "no padding"),
    ),
    Mutant(
        "only the new column",
        _not_grown,
        "Only the new column comes back: return K and V with all columns, old and new.",
        "12.5",
        ("cache", "no padding"),
    ),
    Mutant(
        "padding scores 0",
        _one(hidden=0.0),
        "Padding has the score 0, and gets a weight: a column that is not seen has −∞.",
        "8.5",
        ("output",),
    ),
    Mutant(
        "padding scores 0, and values 0",
        _one(values="emptied", sees="row", hidden=None),
        "Padding is emptied, so that it has the score 0 and still gets a weight, which the others lack: a column that "
        "is not seen has the score −∞.",
        "8.5",
        ("output",),
    ),
    Mutant(
        "hidden after the softmax",
        _one(hidden="after"),
        "The weights of padding are set to 0 after the softmax, which has counted them in: then the others do "
        "not sum to one. Put −∞ into the scores.",
        "8.4",
        ("output",),
    ),
    Mutant(
        "features before heads, in the query",
        _one(cut="q"),
        "The columns of W_q are cut feature by feature: head h has the columns h·k … h·k + k − 1, so reshape to "
        "(H, k).",
        "5.3",
        ("output", "no padding"),
    ),
    Mutant(
        "features before heads, in the keys",
        _one(cut="k"),
        "The columns of W_k are cut feature by feature: group g has the columns g·k … g·k + k − 1, so reshape to "
        "(G, k).",
        "5.3",
        ("cache", "output", "no padding", "the first token"),
    ),
    Mutant(
        "features before heads, everywhere",
        _one(cut="qkv"),
        "The columns of the matrices are cut feature by feature: head h has k columns side by side, so reshape "
        "to (H, k).",
        "5.3",
        ("cache", "output", "no padding", "the first token"),
    ),
    Mutant(
        "pairs counted from 1",
        _one(shift=1),
        "Pairs are counted from 1: the first pair is pair 0, which is turned by the place itself.",
        "3.7",
        ("cache", "output", "no padding"),
    ),
    Mutant(
        "clocks too slow",
        _one(power=4.0),
        "Pair i is turned by place / base^(4i/k): i counts pairs, so the exponent is 2i/k.",
        "3.7",
        ("cache", "output", "no padding"),
    ),
    Mutant(
        "place of the shortest row",
        _one(place="shortest"),
        "All rows have the place of the shortest: each row has its own, m − start.",
        "8.6",
        ("cache", "output"),
    ),
    Mutant(
        "place of the first row",
        _one(place="first"),
        "All rows have the place of the first: each row has its own, m − start.",
        "8.6",
        ("cache", "output"),
    ),
    Mutant(
        "place of the longest row",
        _one(place="longest"),
        "All rows have the place of the longest: each row has its own, m − start.",
        "8.6",
        ("cache", "output"),
    ),
    Mutant(
        "padding of the first row",
        _one(sees="first"),
        "All rows hide the padding of the first: each row has its own start.",
        "8.6",
        ("output",),
    ),
    Mutant(
        "W_o forgotten",
        _one(last=False),
        "The heads come back side by side: W_o brings them to the width of the token.",
        "5.2",
        ("output", "no padding", "the first token"),
    ),
    Mutant(
        "groups from the end",
        _one(groups="back"),
        "The groups are taken from the last: heads 0 … H/G − 1 read group 0.",
        "5.8",
        ("output", "no padding", "the first token"),
    ),
    Mutant(
        "token added",
        _one(add="x"),
        "The token itself is added: that is the residual, which the block adds, not attention.",
        "7.1",
        ("output", "no padding", "the first token"),
    ),
    Mutant(
        "even weights",
        _one(add="even"),
        "All columns have the same weight: the scores have no effect.",
        "4.1",
        ("output", "no padding"),
    ),
    Mutant(
        "padding wiped out",
        _wiped,
        "The padding of the cache comes back as zeros: leave it as it is; it is the score that hides it.",
        "12.5",
        ("cache",),
    ),
    Mutant(
        "padding seen, and column for place",
        _one(place="column", sees="all"),
        "start is not used at all: it moves the places, and hides the columns before it.",
        "8.6",
        ("cache", "output"),
    ),
    Mutant(
        "heads averaged",
        _one(merge="mean"),
        "The heads are averaged: they stand side by side, and W_o has a row for each of their columns.",
        "5.4",
        ("output", "no padding", "the first token"),
    ),
    Mutant(
        "groups within heads",
        _one(cut="s"),
        "The columns of W_q are cut into (H/G, G) heads: neighbouring heads share a group, so it is (G, H/G), "
        "the group first.",
        "5.8",
        ("output", "no padding"),
    ),
    Mutant(
        "√(k/2) for √k",
        _one(scale="pairs"),
        "The scores are divided by the root of the number of pairs: it is √k.",
        "4.4",
        ("output", "no padding"),
    ),
    Mutant(
        "new value left out",
        _one(values="old"),
        "The value of the new token does not come into the mixture: it has a weight, but its own value too.",
        "12.5",
        ("output", "no padding", "the first token"),
    ),
    Mutant(
        "new score 0",
        _one(values="blind"),
        "The new token's own score is 0: its query meets its own key, too.",
        "12.5",
        ("output", "no padding"),
    ),
)

# 12.8


def _bill(unit=None, kept=None, reading=None, equal=None, room=None):
    """The three numbers, of which parts are replaced; x holds all that was given."""

    def function(P, L, full, w, H, G, d_k, size, B, n, s):
        x = {"P": P, "L": L, "full": full, "w": w, "H": H, "G": G, "d_k": d_k, "size": size, "B": B, "n": n, "s": s}
        one = unit(x) if unit else 2 * G * d_k * size * B

        def cache(t):
            return one * (kept(x, t) if kept else full * t + (L - full) * min(t, w))

        read = reading(x, cache) if reading else sum(P * size + cache(n + i) for i in range(1, s + 1))
        fits = P * size / one
        same = equal(x, fits, one) if equal else (fits - (L - full) * w) / full
        return room(x) if room else cache(n), read, same

    return function


def _unit(x, **other):
    x = x | other
    return 2 * x["G"] * x["d_k"] * x["size"] * x["B"]


def _steps_of(x, cache, weights=1, ahead=0, grow=1):
    return sum(weights * x["P"] * x["size"] + cache(x["n"] + grow * i + ahead) for i in range(1, x["s"] + 1))


def _room(x, t):
    return _unit(x) * (x["full"] * t + (x["L"] - x["full"]) * min(t, x["w"]))


BILLS = (
    Mutant(
        "keys or values are read",
        _bill(reading=lambda x, cache: sum(x["P"] * x["size"] + cache(x["n"] + i) // 2 for i in range(1, x["s"] + 1))),
        "Of the cache only half is read at each step: the new tokens need keys and values, both.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "keys or values",
        _bill(lambda x: _unit(x) // 2),
        "Keys or values are counted, not both: a token leaves one of each behind in every group.",
        "12.5",
        ("cache", "reading", "as large", "short texts"),
    ),
    Mutant(
        "heads for groups",
        _bill(lambda x: _unit(x, G=x["H"])),
        "Each head of queries is given keys of its own: only G heads of keys and values are kept.",
        "5.8",
        ("cache", "reading", "as large", "short texts"),
    ),
    Mutant(
        "heads and groups",
        _bill(lambda x: _unit(x) * x["H"]),
        "This is multiplied by H as well: heads of queries leave nothing behind.",
        "5.8",
        ("cache", "reading", "as large", "short texts"),
    ),
    Mutant(
        "one text",
        _bill(lambda x: _unit(x, B=1)),
        "This is the cache of one text: every one of the B texts has its own.",
        "12.5",
        ("cache", "reading", "as large", "short texts"),
    ),
    Mutant(
        "numbers for bytes",
        lambda P, L, full, w, H, G, d_k, size, B, n, s: _bill()(P, L, full, w, H, G, d_k, 1, B, n, s),
        "These are numbers: each of them takes `size` bytes.",
        "12.5",
        ("cache", "reading", "short texts"),
    ),
    Mutant(
        "no group",
        _bill(lambda x: _unit(x, G=1)),
        "This is one group: each of the G groups keeps a key and a value of width d_k.",
        "5.8",
        ("cache", "reading", "as large", "short texts"),
    ),
    Mutant(
        "windows forgotten",
        _bill(kept=lambda x, t: x["L"] * t, equal=lambda x, fits, one: fits / x["L"]),
        "All layers keep the whole text: L − full of them keep the last w tokens.",
        "12.5",
        ("cache", "reading", "as large", "short texts"),
    ),
    Mutant(
        "windows everywhere",
        _bill(kept=lambda x, t: x["L"] * min(t, x["w"])),
        "All layers have a window: `full` of them keep the whole text.",
        "12.5",
        ("cache", "reading", "short texts"),
    ),
    Mutant(
        "full layers only",
        _bill(kept=lambda x, t: x["full"] * t, equal=lambda x, fits, one: fits / x["full"]),
        "Only the full layers are counted: the others keep the last w tokens.",
        "12.5",
        ("cache", "reading", "as large", "short texts"),
    ),
    Mutant(
        "kinds exchanged",
        _bill(kept=lambda x, t: (x["L"] - x["full"]) * t + x["full"] * min(t, x["w"]),
              equal=lambda x, fits, one: (fits - x["full"] * x["w"]) / (x["L"] - x["full"])),
        "The two kinds of layers are exchanged: `full` layers see the whole text, L − full a window.",
        "12.5",
        ("cache", "reading", "as large", "short texts"),
    ),
    Mutant(
        "windows as they were",
        _bill(reading=lambda x, cache: sum(
            x["P"] * x["size"] + _unit(x) * (x["full"] * (x["n"] + i) + (x["L"] - x["full"]) * min(x["n"], x["w"]))
            for i in range(1, x["s"] + 1))),
        "A window keeps what it held at the start: while a shorter text is written it goes on filling, up to w.",
        "12.5",
        ("short texts",),
    ),
    Mutant(
        "windows always filled",
        _bill(kept=lambda x, t: x["full"] * t + (x["L"] - x["full"]) * x["w"]),
        "A window is counted as full from the start: of a text shorter than w it holds what there is.",
        "12.5",
        ("short texts",),
    ),
    Mutant(
        "all layers on top",
        _bill(kept=lambda x, t: x["full"] * t + x["L"] * min(t, x["w"]),
              equal=lambda x, fits, one: (fits - x["L"] * x["w"]) / x["full"]),
        "L layers with a window are counted beside the full ones: there are L in all.",
        "12.5",
        ("cache", "reading", "as large", "short texts"),
    ),
    Mutant(
        "window of its own size",
        _bill(kept=lambda x, t: x["full"] * t + (x["L"] - x["full"]) * min(t, x["w"] + 1)),
        "A window keeps w + 1 tokens: the last w, the newest among them.",
        "12.5",
        ("cache", "reading", "short texts"),
    ),
    Mutant(
        "parameters for each text",
        _bill(reading=lambda x, cache: _steps_of(x, cache, x["B"])),
        "The parameters are read once for every text: a step reads them once, for all B texts together. That is why "
        "texts are written in batches.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "parameters once",
        _bill(reading=lambda x, cache: x["P"] * x["size"] + _steps_of(x, cache, 0)),
        "The parameters are read once in all: every step reads them again.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "parameters forgotten",
        _bill(reading=lambda x, cache: _steps_of(x, cache, 0)),
        "Only the cache is read: every step reads all parameters as well.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "cache forgotten",
        _bill(reading=lambda x, cache: x["s"] * x["P"] * x["size"]),
        "Only the parameters are read: every step reads the whole cache as well.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "own key not read",
        _bill(reading=lambda x, cache: _steps_of(x, cache, ahead=-1)),
        "Step i reads a cache of n + i − 1 tokens: the new token sees itself, so it is n + i.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "cache does not grow",
        _bill(reading=lambda x, cache: _steps_of(x, cache, grow=0)),
        "Every step reads the cache of n tokens: it grows by one with each step, its own token included.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "cache at the end",
        _bill(reading=lambda x, cache: x["s"] * (x["P"] * x["size"] + cache(x["n"] + x["s"]))),
        "Every step reads the cache of n + s tokens: it is so large at the last step only.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "cache read once",
        _bill(reading=lambda x, cache: x["s"] * x["P"] * x["size"] + cache(x["n"] + x["s"])),
        "The cache is read once: every step reads all of it.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "one step",
        _bill(reading=lambda x, cache: x["P"] * x["size"] + cache(x["n"] + 1)),
        "This is what one step reads: there are s of them, and the cache grows.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "all layers grow",
        _bill(equal=lambda x, fits, one: fits / x["L"]),
        "The length is that of a model whose layers all see the whole text: the windows hold (L − full) · w tokens, "
        "and `full` layers hold the rest.",
        "12.5",
        ("as large", "short texts"),
    ),
    Mutant(
        "no windows in the length",
        _bill(equal=lambda x, fits, one: fits / x["full"]),
        "The length leaves out what the windows hold, (L − full) · w tokens.",
        "12.5",
        ("as large", "short texts"),
    ),
    Mutant(
        "windows added to the length",
        _bill(equal=lambda x, fits, one: (fits + (x["L"] - x["full"]) * x["w"]) / x["full"]),
        "What the windows hold is added: it leaves less for the full layers.",
        "12.5",
        ("as large", "short texts"),
    ),
    Mutant(
        "length of one text",
        _bill(equal=lambda x, fits, one: (fits * x["B"] - (x["L"] - x["full"]) * x["w"]) / x["full"]),
        "The length is that for one text: the caches of B texts together are as large as the parameters.",
        "12.5",
        ("as large", "short texts"),
    ),
    Mutant(
        "numbers against bytes",
        _bill(equal=lambda x, fits, one: (fits / x["size"] - (x["L"] - x["full"]) * x["w"]) / x["full"]),
        "The length sets the parameters, in numbers, against the cache, in bytes: both take `size` a number.",
        "12.5",
        ("as large", "short texts"),
    ),
    Mutant(
        "one window for all layers",
        _bill(kept=lambda x, t: x["full"] * t + min(t, x["w"]),
              equal=lambda x, fits, one: (fits - x["w"]) / x["full"]),
        "One window is counted for all layers that have one: each of the L − full layers keeps its own.",
        "12.5",
        ("cache", "reading", "as large", "short texts"),
    ),
    Mutant(
        "parameters as numbers",
        _bill(reading=lambda x, cache: x["s"] * x["P"] + _steps_of(x, cache, 0)),
        "The parameters are read as numbers: each of them takes `size` bytes.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "a step too many",
        _bill(reading=lambda x, cache: x["P"] * x["size"] + cache(x["n"]) + _steps_of(x, cache)),
        "There is a step too many: s tokens take s steps, and step i reads a cache of n + i.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "writing as well",
        _bill(reading=lambda x, cache: _steps_of(x, cache) + x["s"] * x["L"] * _unit(x)),
        "What is written into the cache is counted too: it is asked what is read.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "cache of one text read",
        _bill(reading=lambda x, cache: _steps_of(x, lambda t: cache(t) / x["B"])),
        "The cache of one text is read: a step writes a token in each of the B texts, and reads the caches of "
        "all.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "cache at the end, as the first number",
        _bill(room=lambda x: _room(x, x["n"] + x["s"])),
        "The first number is the cache after the s tokens: it is asked for at n tokens.",
        "12.5",
        ("cache", "short texts"),
    ),
    Mutant(
        "rounded down",
        _bill(equal=lambda x, fits, one: math.floor((fits - (x["L"] - x["full"]) * x["w"]) / x["full"])),
        "The length is rounded down: leave it as it comes out.",
        "12.5",
        ("as large", "short texts"),
    ),
    Mutant(
        "rounded up",
        _bill(equal=lambda x, fits, one: math.ceil((fits - (x["L"] - x["full"]) * x["w"]) / x["full"])),
        "The length is rounded up: leave it as it comes out.",
        "12.5",
        ("as large", "short texts"),
    ),
    Mutant(
        "tokens still to come",
        _bill(equal=lambda x, fits, one: (fits - (x["L"] - x["full"]) * x["w"]) / x["full"] - x["n"]),
        "This says how many tokens are still to come: the length of the whole text is asked for.",
        "12.5",
        ("as large", "short texts"),
    ),
    Mutant(
        "one layer",
        _bill(equal=lambda x, fits, one: fits),
        "The length is that of a model of one layer: `full` layers grow, and the windows hold (L − full) · w "
        "tokens.",
        "12.5",
        ("as large", "short texts"),
    ),
    Mutant(
        "average length",
        _bill(reading=lambda x, cache: x["s"] * (x["P"] * x["size"] + cache(x["n"] + x["s"] / 2))),
        "The cache is taken at half of the way for every step: the steps hold n + 1, …, n + s tokens, whose mean "
        "is n + (s + 1)/2, and where a window fills up on the way a mean will not do.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "window less one",
        _bill(kept=lambda x, t: x["full"] * t + (x["L"] - x["full"]) * min(t, x["w"] - 1),
              equal=lambda x, fits, one: (fits - (x["L"] - x["full"]) * (x["w"] - 1)) / x["full"]),
        "A window is counted with w − 1 tokens: the last w, the newest among them.",
        "12.5",
        ("cache", "reading", "as large", "short texts"),
    ),
    Mutant(
        "cache added to what is read",
        _bill(reading=lambda x, cache: cache(x["n"]) + _steps_of(x, cache)),
        "The cache of the n tokens is added to what is read: each step reads it, and that is all.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "parameters once more",
        _bill(reading=lambda x, cache: x["P"] * x["size"] + _steps_of(x, cache)),
        "The parameters are read s + 1 times: the n tokens are there already, and s steps follow.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "a step, on average",
        _bill(reading=lambda x, cache: _steps_of(x, cache) / x["s"]),
        "This is what a step reads on average: the sum of all s steps is asked for.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "for each text",
        _bill(reading=lambda x, cache: _steps_of(x, cache) / x["B"]),
        "This is what is read for each text: it is asked for all B together.",
        "12.5",
        ("reading", "short texts"),
    ),
    Mutant(
        "windows as long as the text",
        _bill(equal=lambda x, fits, one: (fits - (x["L"] - x["full"]) * x["n"]) / x["full"]),
        "The length takes the windows to hold n tokens: at that length they hold w.",
        "12.5",
        ("as large", "short texts"),
    ),
    Mutant(
        "twice the parameters",
        _bill(equal=lambda x, fits, one: (2 * fits - (x["L"] - x["full"]) * x["w"]) / x["full"]),
        "The length has a factor of two: keys and values are two numbers for each feature, 2 · G · d_k for a "
        "token and layer.",
        "12.5",
        ("as large", "short texts"),
    ),
    Mutant(
        "bits for bytes",
        lambda *x: (8 * _bill()(*x)[0], 8 * _bill()(*x)[1], _bill()(*x)[2]),
        "These are bits: they are asked for in bytes.",
        "12.5",
        ("cache", "reading", "short texts"),
    ),
    Mutant(
        "windows filled, while it writes",
        _bill(reading=lambda x, cache: _steps_of(
            x, lambda t: _unit(x) * (x["full"] * t + (x["L"] - x["full"]) * x["w"]))),
        "While the s tokens are written the windows are taken to be full: a text shorter than w has only what "
        "there is.",
        "12.5",
        ("short texts",),
    ),
    Mutant(
        "last step alone",
        _bill(reading=lambda x, cache: x["P"] * x["size"] + cache(x["n"] + x["s"])),
        "Only the last step is counted: every one of the s steps reads parameters and cache.",
        "12.5",
        ("reading", "short texts", "drawn at random", "other readings"),
    ),
    Mutant(
        "divided by all layers",
        _bill(equal=lambda x, fits, one: (fits - (x["L"] - x["full"]) * x["w"]) / x["L"]),
        "What is left is divided by all layers: behind the windows only the `full` layers grow.",
        "12.5",
        ("as large", "short texts", "drawn at random"),
    ),
)

# 12.9


def _draft(accepted=None, rest=None, words=None):
    """The right three, but for those that are replaced; each takes (p, q, g), the last one a too."""

    def function(p, q, g):
        both = np.minimum(p, q)
        a = accepted(p, q) if accepted else both.sum()
        missing = p - both
        r = rest(p, q) if rest else missing / missing.sum() if missing.any() else missing
        return a, r, words(a, g) if words else sum(a**i for i in range(g + 1))

    return function


def _scaled(x):
    return x / x.sum() if x.any() else x


def _quotients(p, q, g):
    a, missing = np.minimum(p, q).sum(), np.maximum(p - q, 0)
    return a, missing / missing.sum(), (1 - a ** (g + 1)) / (1 - a)


def _quotient_of_words(p, q, g):
    a, rest, _ = _draft()(p, q, g)
    return a, rest, (1 - a ** (g + 1)) / (1 - a)


def _nothing_refused(rest):
    """As written, but for equal models, where it divides by zero or draws from p."""

    def function(p, q, g):
        a, r, words = _draft()(p, q, g)
        return a, rest(p) if not r.any() else r, words

    return function


DRAFTS = (
    Mutant(
        "same word twice",
        _draft(accepted=lambda p, q: (p * q).sum()),
        "This is the chance that both models say the same word when they draw apart: a draft is kept with "
        "min(1, p/q), so the share is Σ min(p, q).",
        "12.5",
        ("accepted", "words", "far apart", "equal"),
    ),
    Mutant(
        "kept only if p is larger",
        _draft(accepted=lambda p, q: q[p >= q].sum()),
        "Only drafts with p ≥ q are kept: others are kept too, with the chance p/q.",
        "12.5",
        ("accepted", "words", "far apart"),
    ),
    Mutant(
        "whole difference",
        _draft(accepted=lambda p, q: 1 - np.abs(p - q).sum()),
        "The difference is counted twice: what p has more in some words it has less in others, so half of Σ |p − q| "
        "is refused.",
        "12.5",
        ("accepted", "words", "far apart"),
    ),
    Mutant(
        "share that is refused",
        _draft(accepted=lambda p, q: 1 - np.minimum(p, q).sum(),
               words=lambda a, g: sum((1 - a) ** i for i in range(g + 1))),
        "This is the share of drafts that are refused.",
        "12.5",
        ("accepted", "far apart", "equal"),
    ),
    Mutant(
        "mean over the words",
        _draft(accepted=lambda p, q: np.minimum(1, p / q).mean()),
        "This is the mean of min(1, p/q) over the words, all alike: a word is drafted with probability q.",
        "12.5",
        ("accepted", "words", "far apart"),
    ),
    Mutant(
        "sum over the words",
        _draft(accepted=lambda p, q: np.minimum(1, p / q).sum()),
        "This is the sum of min(1, p/q): each word counts as often as it is drafted, q · min(1, p/q).",
        "12.5",
        ("accepted", "words", "far apart", "equal"),
    ),
    Mutant(
        "with p on the outside",
        _draft(accepted=lambda p, q: (p * np.minimum(1, p / q)).sum()),
        "The chances to be kept are averaged with p: it is the small model that drafts, with q.",
        "12.5",
        ("accepted", "words", "far apart"),
    ),
    Mutant(
        "quotient turned round",
        _draft(accepted=lambda p, q: (q * np.minimum(1, q / p)).sum()),
        "The quotient is turned round: a draft is kept with min(1, p/q), and refused where the small model says a "
        "word too often.",
        "12.5",
        ("accepted", "words", "far apart"),
    ),
    Mutant(
        "drawn from p",
        _draft(rest=lambda p, q: p),
        "In the place of a refused word one is drawn from p: then the words that the small model likes come too often. "
        "Only what is missing is drawn, p − min(p, q).",
        "12.5",
        ("rest", "far apart", "equal"),
    ),
    Mutant(
        "drawn from q",
        _draft(rest=lambda p, q: q),
        "In the place of a refused word one is drawn from q, the small model, again: what is missing is "
        "p − min(p, q).",
        "12.5",
        ("rest", "far apart", "equal"),
    ),
    Mutant(
        "not scaled",
        _draft(rest=lambda p, q: np.maximum(p - q, 0)),
        "The rest does not sum to one: it is drawn from only when a draft was refused, so divide by that share.",
        "12.5",
        ("rest", "far apart"),
    ),
    Mutant(
        "refused words",
        _draft(rest=lambda p, q: _scaled(np.maximum(q - p, 0))),
        "The rest has the words that were refused, q − p: it is to have those that are missing, p − q where that is "
        "positive.",
        "12.5",
        ("rest", "far apart"),
    ),
    Mutant(
        "absolute difference",
        _draft(rest=lambda p, q: _scaled(np.abs(p - q))),
        "The rest has |p − q|: words that the small model says too often are not to be drawn again.",
        "12.5",
        ("rest", "far apart"),
    ),
    Mutant(
        "negative probabilities",
        _draft(rest=lambda p, q: _scaled(p - q)),
        "The rest is p − q with its negative numbers, which sums to zero: cut it at 0 first.",
        "12.5",
        ("rest", "far apart"),
    ),
    Mutant(
        "p where p is larger",
        _draft(rest=lambda p, q: _scaled(np.where(p > q, p, 0))),
        "The rest has all of p where p is larger: q of it has come through drafts already, so p − q is missing.",
        "12.5",
        ("far apart",),
    ),
    Mutant(
        "drafts that are kept",
        _draft(words=lambda a, g: sum(a**i for i in range(1, g + 1))),
        "These are the drafts that are kept: the pass yields one word more, the one drawn in the place of the first "
        "refused, or after the last.",
        "12.5",
        ("words", "far apart", "equal"),
    ),
    Mutant(
        "one word too few",
        _draft(words=lambda a, g: sum(a**i for i in range(g))),
        "The sum ends one term too early: after g kept drafts the pass gives one more word, the next one.",
        "12.5",
        ("words", "far apart", "equal"),
    ),
    Mutant(
        "drafts judged apart",
        _draft(words=lambda a, g: 1 + g * a),
        "Each draft is counted with the chance a: a draft is of use only if all before it were kept, so draft i with "
        "a^i.",
        "12.5",
        ("words", "far apart"),
    ),
    Mutant(
        "drafts judged apart, without the last",
        _draft(words=lambda a, g: g * a),
        "Each draft is counted with the chance a: a draft is of use only if all before it were kept. And the pass "
        "yields one word of its own.",
        "12.5",
        ("words", "far apart", "equal"),
    ),
    Mutant(
        "no end of drafts",
        _draft(words=lambda a, g: 1 / (1 - a) if a < 1 - 1e-12 else float(g + 1)),
        "This is what drafts without end would yield: there are g of them.",
        "12.5",
        ("words", "far apart"),
    ),
    Mutant(
        "all or nothing",
        _draft(words=lambda a, g: 1 + g * a**g),
        "The drafts are kept all or not at all: the first ones are kept even if a later one is refused.",
        "12.5",
        ("words", "far apart"),
    ),
    Mutant(
        "all drafts",
        _draft(words=lambda a, g: g + 1.0),
        "Every draft is taken to be kept: each is with the chance a, if those before it were.",
        "12.5",
        ("words", "far apart"),
    ),
    Mutant(
        "divided by nothing",
        _quotients,
        "Where the models are equal, nothing is refused: the rest is 0/0 and so is (1 − a^(g+1)) / (1 − a). Return "
        "zeros, and add the powers up.",
        "12.5",
        ("equal",),
    ),
    Mutant(
        "a rest that nobody draws",
        _nothing_refused(lambda p: p),
        "Where the models are equal, the rest is p: return zeros, since nothing is ever drawn from it.",
        "12.5",
        ("equal",),
    ),
    Mutant(
        "an even rest",
        _nothing_refused(lambda p: np.full(len(p), 1 / len(p))),
        "Where the models are equal, the rest is even: return zeros, since nothing is ever drawn from it.",
        "12.5",
        ("equal",),
    ),
    Mutant(
        "quotients scaled",
        _draft(rest=lambda p, q: _scaled(p / q)),
        "The rest is p/q, scaled: what is missing of p is a difference, p − min(p, q).",
        "12.5",
        ("rest", "far apart", "equal"),
    ),
    Mutant(
        "divided by the accepted share",
        _draft(rest=lambda p, q: np.maximum(p - q, 0) / np.minimum(p, q).sum()),
        "The rest is divided by the share that is accepted: it is drawn from when a draft was refused, so divide "
        "by 1 − a.",
        "12.5",
        ("rest", "far apart"),
    ),
    Mutant(
        "multiplied by the refused share",
        _draft(rest=lambda p, q: np.maximum(p - q, 0) * (1 - np.minimum(p, q).sum())),
        "The rest is multiplied by the share that is refused: (1 − a) r = p − min(p, q), so divide by it.",
        "12.5",
        ("rest", "far apart"),
    ),
    Mutant(
        "softmax of the difference",
        _draft(rest=lambda p, q: softmax(p - q)),
        "The rest goes through a softmax: p − q, cut at 0, is scaled by its sum. A softmax would also draw words "
        "of which nothing is missing.",
        "12.5",
        ("rest", "far apart", "equal"),
    ),
    Mutant(
        "softmax of the missing",
        _draft(rest=lambda p, q: softmax(np.maximum(p - q, 0))),
        "The rest goes through a softmax: what is missing is scaled by its sum. A softmax would also draw words "
        "of which nothing is missing.",
        "12.5",
        ("rest", "far apart", "equal"),
    ),
    Mutant(
        "largest is one",
        _draft(rest=lambda p, q: np.maximum(p - q, 0) / max((p - q).max(), 1e-300)),
        "The rest is divided by its largest number: probabilities are divided by their sum.",
        "12.5",
        ("far apart",),
    ),
    Mutant(
        "drafts that end the pass",
        _draft(words=lambda a, g: sum(i * a**i * (1 - a) for i in range(g + 1))),
        "Only passes that end with a refused draft are counted, and their last word is not: each pass yields i "
        "accepted drafts and one word more, also when all g were accepted.",
        "12.5",
        ("words", "far apart", "equal"),
    ),
    Mutant(
        "one term too many",
        _draft(words=lambda a, g: sum(a**i for i in range(g + 2))),
        "The sum has one term too many: a pass yields at most g + 1 words, so the last term is a^g.",
        "12.5",
        ("words", "far apart", "equal"),
    ),
    Mutant(
        "one word for free, always",
        _draft(words=lambda a, g: 1 + sum(a**i for i in range(g))),
        "One word is added to a sum that begins with 1: word 1 comes always, and word i + 1 with the chance a^i.",
        "12.5",
        ("words", "far apart"),
    ),
    Mutant(
        "words of nothing",
        _quotient_of_words,
        "Where the models are equal, (1 − a^(g+1)) / (1 − a) is 0/0: add the powers up.",
        "12.5",
        ("equal",),
    ),
    Mutant(
        "rest of nothing",
        _nothing_refused(lambda p: np.full(len(p), np.nan)),
        "Where the models are equal nothing is refused, and the rest is 0/0: return zeros.",
        "12.5",
        ("equal",),
    ),
    Mutant(
        "largest overlap",
        _draft(accepted=lambda p, q: np.minimum(p, q).max()),
        "This is the largest of the min(p, q): they are added, since any word may be drafted.",
        "12.5",
        ("accepted", "words", "far apart", "equal"),
    ),
    Mutant(
        "mean overlap",
        _draft(accepted=lambda p, q: np.minimum(p, q).mean()),
        "This is the mean of the min(p, q): each of them is a probability already, so they are added.",
        "12.5",
        ("accepted", "words", "far apart", "equal"),
    ),
    Mutant(
        "angle of the roots",
        _draft(accepted=lambda p, q: np.sqrt(p * q).sum(), words=lambda a, g: sum(a**i for i in range(g + 1))),
        "This is Σ √(p q), another measure of how alike they are: a draft comes and is kept with q · min(1, "
        "p/q).",
        "12.5",
        ("accepted", "words", "far apart"),
    ),
    Mutant(
        "mean quotient",
        _draft(accepted=lambda p, q: min(1.0, float((q * p / q).sum()))),
        "The mean of p/q is 1: the chance to be kept is cut at 1 first, min(1, p/q).",
        "12.5",
        ("accepted", "words", "far apart"),
    ),
    Mutant(
        "p less what is accepted of q",
        _draft(rest=lambda p, q: _scaled(np.maximum(p - np.minimum(p, q).sum() * q, 0))),
        "From p the share a of q is taken: of each word min(p, q) has come through drafts.",
        "12.5",
        ("rest", "far apart"),
    ),
    Mutant(
        "refused as p sees it",
        _draft(rest=lambda p, q: _scaled(p * (1 - np.minimum(1, p / q)))),
        "This is p times the chance to be refused: words that q says too seldom are never refused, and just "
        "those are missing. The rest is p − min(p, q).",
        "12.5",
        ("rest", "far apart"),
    ),
    Mutant(
        "logarithm of the quotient",
        _draft(rest=lambda p, q: _scaled(np.maximum(np.log(p / q), 0))),
        "The rest is made of ln p/q: what is missing is a difference of probabilities, p − min(p, q).",
        "12.5",
        ("far apart",),
    ),
    Mutant(
        "least quotient",
        _draft(accepted=lambda p, q: np.minimum(1, p / q).min()),
        "This is the smallest chance to be kept, of any word: on average over the drafts it is Σ min(p, q).",
        "12.5",
        ("accepted", "words", "far apart"),
    ),
    Mutant(
        "all or none",
        _draft(words=lambda a, g: (g + 1) * a**g),
        "The pass is counted only if all drafts were kept: the first ones are of use even if a later one is "
        "refused.",
        "12.5",
        ("words", "far apart"),
    ),
    Mutant(
        "powers from one on",
        _draft(words=lambda a, g: sum(a**i for i in range(1, g + 2))),
        "The powers begin with a: word 1 comes always, a draft or what replaces it, so the sum begins with 1 and "
        "ends with a^g.",
        "12.5",
        ("words", "far apart"),
    ),
    Mutant(
        "half of the last",
        _draft(words=lambda a, g: sum(a**i for i in range(g)) + a**g / 2),
        "The last term is a^g: after g kept drafts the pass gives one more word, surely.",
        "12.5",
        ("words", "far apart", "equal"),
    ),
    Mutant(
        "missing part of each",
        _draft(rest=lambda p, q: _scaled(np.maximum(1 - q / p, 0))),
        "The rest is the part of each word's own p that is missing: it is p − min(p, q) itself that is scaled.",
        "12.5",
        ("far apart",),
    ),
    Mutant(
        "words drafted and one if refused",
        _draft(words=lambda a, g: g * a + 1 - a),
        "Each draft is counted with the chance a: a draft is of use only if all before it were kept, so draft i "
        "with a^i; and one word more comes always.",
        "12.5",
        ("words", "far apart", "equal"),
    ),
    Mutant(
        "share of all words",
        _draft(words=lambda a, g: a * (g + 1)),
        "This is the share of g + 1 words: a draft counts only if all before it were accepted, and the first refusal "
        "still yields a word.",
        "12.5",
        ("words", "far apart", "other words"),
    ),
)

# 12.10


def _chain(L, n=None, ahead=None):
    """Row 0 looks ahead in block 0; then what it knows goes from row to row, a block for each."""
    masks = np.repeat(np.eye(n or L, dtype=bool)[None], L, axis=0)
    masks[0, 0, ahead or L - 1] = True
    for i in range(1, L):
        masks[i, i, i - 1] = True
    return masks


def _everywhere(mask):
    return lambda L: np.repeat(mask(L)[None], L, axis=0)


def _full_below(L):
    masks = np.repeat(np.tri(L, dtype=bool)[None], L, axis=0)
    masks[0] = True
    return masks


def _full_above(L):
    return _full_below(L)[::-1]


def _one_looks(L, which):
    masks = np.repeat(np.eye(L, dtype=bool)[None], L, axis=0)
    masks[which, 0, L - 1] = True
    return masks


def _all_from_first(L):
    masks = np.repeat(np.eye(L, dtype=bool)[None], L, axis=0)
    masks[0, 0, -1], masks[1:, -1, 0] = True, True
    return masks


def _ladder_up(L):
    masks = np.repeat(np.eye(L, dtype=bool)[None], L, axis=0)
    for i in range(L):
        masks[i, min(i, L - 2), min(i, L - 2) + 1] = True
    return masks


def _prefix(n):
    mask = np.tri(n, dtype=bool)
    mask[0, 1] = True
    return mask


def _triangle_below(L):
    masks = _chain(L)
    masks[0] = np.triu(np.ones((L, L), dtype=bool))
    return masks


def _full_and_top(L):
    masks = np.repeat(np.eye(L, dtype=bool)[None], L, axis=0)
    masks[0], masks[-1] = True, np.tri(L, dtype=bool)
    return masks


def _every_second(L):
    masks = np.repeat(np.eye(2 * L - 1, dtype=bool)[None], L, axis=0)
    masks[:, ::2, ::2] = _chain(L)
    return masks


def _handed(L, which, n=None):
    masks = np.repeat(np.eye(n or L, dtype=bool)[None], L, axis=0)
    masks[0, 0, -1], masks[which, -1, 0] = True, True
    return masks


STALE = (
    Mutant(
        "two tokens, all see all",
        _everywhere(lambda L: np.ones((2, 2), dtype=bool)),
        "Two tokens that all see each other: right for two blocks. With more, leave one out and the cache is still "
        "wrong: every block has to be needed for the way from the row that changes to the row that is read.",
        "12.5",
        ("three blocks", "four blocks"),
    ),
    Mutant(
        "all see all",
        _everywhere(lambda L: np.ones((L, L), dtype=bool)),
        "In every block rows look ahead and others see what has changed, as where everybody sees everybody: with more "
        "than two blocks, leave one out and the cache is still wrong.",
        "12.5",
        ("three blocks", "four blocks"),
    ),
    Mutant(
        "causal",
        _everywhere(lambda L: np.tri(L, dtype=bool)),
        "No row sees a later token, and with causal masks the cache is right: nothing that it holds ever changes.",
        "8.7",
        ("two blocks", "three blocks", "four blocks"),
    ),
    Mutant(
        "ahead everywhere",
        _everywhere(lambda L: np.triu(np.ones((L, L), dtype=bool))),
        "Every row looks ahead and none back: a row that changes is seen by no later one, so nobody notices.",
        "12.5",
        ("two blocks", "three blocks", "four blocks"),
    ),
    Mutant(
        "full at the bottom, causal above",
        _full_below,
        "Block 0 looks ahead and the blocks above are causal: with more than two blocks, one of those above is not "
        "needed.",
        "12.5",
        ("three blocks", "four blocks"),
    ),
    Mutant(
        "full at the top, causal below",
        _full_above,
        "Only the highest block looks ahead: a row that changes there is read by no block above it, and the last row, "
        "which is read, has nobody ahead.",
        "12.5",
        ("two blocks", "three blocks", "four blocks"),
    ),
    Mutant(
        "rows and columns exchanged",
        lambda L: _chain(L).mT,
        "Rows and columns are exchanged: masks[l, i, j] is True where row i sees token j.",
        "8.2",
        ("two blocks", "three blocks", "four blocks"),
    ),
    Mutant(
        "a token too many",
        lambda L: _chain(L, L + 1),
        "It works with one token less: the last row of the chain may itself be the token that was looked at, and no "
        "token stands beside the way.",
        "12.5",
        ("two blocks", "three blocks", "four blocks"),
    ),
    Mutant(
        "a token at the end",
        lambda L: _chain(L, L + 1, L),
        "What the last token changes never reaches the last row, the one that is read, so nobody notices: a row on the "
        "way to it has to be read by the next. L tokens are enough: row 0 may look at the end of the chain.",
        "12.5",
        ("two blocks", "three blocks", "four blocks"),
    ),
    Mutant(
        "looks at token 1",
        lambda L: _chain(L, ahead=1),
        "Row 0 looks at token 1, or at all later ones, and changes when it comes: with more than two blocks, leave out "
        "the highest, and the cache is wrong when row L − 2 is the last. Let row 0 look at the last token.",
        "12.5",
        ("three blocks", "four blocks"),
    ),
    Mutant(
        "nobody hands on",
        lambda L: _one_looks(L, 0),
        "One row looks ahead, and no other row sees it: what the cache has of it is wrong, and nobody reads it.",
        "12.5",
        ("two blocks", "three blocks", "four blocks"),
    ),
    Mutant(
        "highest row looks",
        lambda L: _one_looks(L, L - 1),
        "The block that looks ahead is the highest: no block above it reads the row that changes, and the next word is "
        "read from the last row, which has nobody ahead. Block 0 is the lowest.",
        "12.5",
        ("two blocks", "three blocks", "four blocks"),
    ),
    Mutant(
        "handed on in every block",
        _all_from_first,
        "The last row sees row 0 in every block above: with more than two, one of them is not needed. Let each block "
        "hand on to a row of its own.",
        "12.5",
        ("three blocks", "four blocks"),
    ),
    Mutant(
        "ladder upwards",
        _ladder_up,
        "Every block looks ahead: what is handed on has to come back to the last row, the one that is read.",
        "12.5",
        ("two blocks", "three blocks", "four blocks"),
    ),
    Mutant(
        "prefix everywhere",
        _everywhere(lambda L: _prefix(max(L, 2))),
        "More than one block looks ahead and more than one hands on, as where tokens 0 and 1 see each other in every "
        "block: with more than two blocks, leave one out and the cache is still wrong.",
        "12.5",
        ("three blocks", "four blocks"),
    ),
    Mutant(
        "prefix of three tokens",
        _everywhere(lambda L: _prefix(3)),
        "Three tokens: the number of tokens goes with L, and two blocks need two. If every block has the same mask, "
        "leave one out and the others still hand the change on.",
        "12.5",
        ("two blocks", "three blocks", "four blocks"),
    ),
    Mutant(
        "top alone hands on",
        lambda L: _handed(L, [L - 1]),
        "Only block 0 and the highest are needed: with more than two blocks, leave out one between them and "
        "nothing changes. Let each block hand on to a row of its own.",
        "12.5",
        ("three blocks", "four blocks"),
    ),
    Mutant(
        "next alone hands on",
        lambda L: _handed(L, [1]),
        "Only blocks 0 and 1 are needed: with more than two blocks, leave out another and nothing changes. Let "
        "each block hand on to a row of its own.",
        "12.5",
        ("three blocks", "four blocks"),
    ),
    Mutant(
        "top alone hands on, two tokens",
        lambda L: _handed(L, [L - 1], 2),
        "With two tokens there is one step to take: a block between the lowest and the highest is not needed.",
        "12.5",
        ("three blocks", "four blocks"),
    ),
    Mutant(
        "all hand on, two tokens",
        lambda L: _handed(L, slice(1, None), 2),
        "With two tokens there is one step back, and any block above the lowest can take it: leave one out and another "
        "does. For all L blocks to be needed, each hands on to a row of its own.",
        "12.5",
        ("three blocks", "four blocks"),
    ),
    Mutant(
        "all rows look ahead below",
        _triangle_below,
        "In block 0 every row looks ahead, so that more rows change than row 0, and fewer blocks are needed to "
        "reach the last one.",
        "12.5",
        ("three blocks", "four blocks"),
    ),
    Mutant(
        "full below, top hands on",
        _full_and_top,
        "Block 0 changes all rows but the last, and the highest block hands on from all: the blocks between them "
        "are not needed.",
        "12.5",
        ("three blocks", "four blocks"),
    ),
    Mutant(
        "every second row",
        _every_second,
        "It works with fewer tokens: the way takes every second row only.",
        "12.5",
        ("two blocks", "three blocks", "four blocks"),
    ),
)

# 12.11


def _scores(shift=1, which="all", over="tokens", even="i + 1", turn=False, future=False, first=False, per="sum",
            own=False, gap=0):
    """The mean over tokens of the weight on the places `shift` after earlier ones of the same word."""

    def function(A, ids):
        total, chance, count, n = np.zeros(len(A)), 0.0, 0, len(ids)
        for i in range(n):
            earlier = [j for j in range(n if future else i - gap) if ids[j] == ids[i] and j != i]
            if own and earlier:
                earlier.append(i)
            if which == "last":
                earlier = earlier[-1:]
            if which == "first":
                earlier = earlier[:1]
            places = [j + shift for j in earlier if 0 <= j + shift < n and (j + shift < i or not first)]
            if not earlier and over != "all":
                continue
            weight = A[:, places, i] if turn else A[:, i, places]
            if per == "hit":
                total += np.isin(A[:, i].argmax(axis=1), places)
            elif per == "max" and places:
                total += weight.max(axis=1)
            elif per == "mean" and places:
                total += weight.mean(axis=1)
            else:
                total += weight.sum(axis=1)
            by = {"i + 1": i + 1, "n": n, "i": max(i, 1)}[even]
            part = len(places) if per in ("sum", "hit") else bool(places)
            chance += 1 / len(places) if per == "one of" and places else part / by
            count += len(earlier) if over == "pairs" else 1
        count = {"sum": 1, "words": len(set(ids.tolist())), "all but one": n - 1}.get(over, count)
        return total / max(count, 1), chance / max(count, 1)

    return function


def _no_repeats(A, ids):
    same = np.tril(ids[:, None] == ids, -1)
    after, rows = np.roll(same, 1, axis=1), same.any(axis=1)
    even = (after.sum(axis=1) / np.arange(1, len(ids) + 1))[rows]
    return (A * after).sum(axis=-1)[:, rows].mean(axis=-1), even.sum() / np.float64(rows.sum())


def _rows_moved(A, ids):
    same = np.tril(ids[:, None] == ids, -1)
    moved, count = np.roll(same, 1, axis=0), max(int(same.any(axis=1).sum()), 1)
    return (A * moved).sum(axis=(1, 2)) / count, (moved.sum(axis=1) / np.arange(1, len(ids) + 1)).sum() / count


def _same_word(A, ids):
    same = np.tril(ids[:, None] == ids)
    rows = same.sum(axis=1) > 1
    weight = (A * same).sum(axis=2)[:, rows]
    return weight.sum(axis=1) / max(rows.sum(), 1), _scores()(A, ids)[1]


def _wrapped(A, ids):
    after = np.tril(np.roll(ids, 1) == ids[:, None])
    rows = after.any(axis=1)
    even = (after.sum(axis=1) / np.arange(1, len(ids) + 1))[rows]
    return (A * after).sum(axis=2)[:, rows].sum(axis=1) / max(rows.sum(), 1), even.sum() / max(rows.sum(), 1)


def _next_word(A, ids):
    n = len(ids)
    weight = [A[:, i, [j for j in range(i + 1) if i + 1 < n and ids[j] == ids[i + 1]]].sum(axis=1) for i in range(n)]
    return np.mean(weight, axis=0), _scores()(A, ids)[1]


def _even(of):
    def function(A, ids):
        return _scores()(A, ids)[0], of(A, ids)

    return function


SCORES = (
    Mutant(
        "the same word",
        _scores(shift=0),
        "This is the weight on the earlier places of the same word: a head that copies looks one place further, at "
        "what came after it.",
        "12.6",
        ("scores",),
    ),
    Mutant(
        "the word before",
        _scores(shift=-1),
        "This is the weight on the place before the same word: it is the one after it, j + 1.",
        "12.6",
        ("scores", "even weights"),
    ),
    Mutant(
        "two places on",
        _scores(shift=2),
        "This is the weight two places after the same word: it is the one right after it, j + 1.",
        "12.6",
        ("scores",),
    ),
    Mutant(
        "latest place only",
        _scores(which="last"),
        "Only the latest earlier place of the word is looked at: its weights on the places after all of them are "
        "added.",
        "12.6",
        ("scores", "even weights"),
    ),
    Mutant(
        "first place only",
        _scores(which="first"),
        "Only the first place of the word is looked at: its weights on the places after all earlier ones are added.",
        "12.6",
        ("scores", "even weights"),
    ),
    Mutant(
        "largest weight",
        _scores(per="max"),
        "Of several places the largest weight is taken: the weights are added.",
        "12.6",
        ("scores", "even weights"),
    ),
    Mutant(
        "mean weight",
        _scores(per="mean"),
        "Of several places the mean weight is taken: the weights are added, and the mean is over the tokens.",
        "12.6",
        ("scores", "even weights"),
    ),
    Mutant(
        "mean over pairs",
        _scores(over="pairs"),
        "The mean is over pairs of places: it is over tokens, and a token's weights on all places are one number.",
        "12.6",
        ("scores", "even weights"),
    ),
    Mutant(
        "mean over all tokens",
        _scores(over="all"),
        "The mean is over all tokens: those whose word is new have nothing to continue, and are left out.",
        "12.6",
        ("scores", "even weights"),
    ),
    Mutant(
        "sum over tokens",
        _scores(over="sum"),
        "The weights of all tokens are added: take the mean, over the tokens whose word came before.",
        "12.6",
        ("scores", "even weights"),
    ),
    Mutant(
        "rows and columns exchanged",
        _scores(turn=True),
        "A is read the wrong way round: A[h, i, j] is what token i gives to token j.",
        "4.2",
        ("scores",),
    ),
    Mutant(
        "without itself",
        _scores(first=True),
        "A place after the word is left out where it is the token itself: two equal words side by side count too.",
        "12.6",
        ("scores", "even weights"),
    ),
    Mutant(
        "equal neighbours passed over",
        _scores(gap=1),
        "A word whose equal stands right before it is passed over there: j may be i − 1, and then the place j + 1 is "
        "the token itself, which counts.",
        "12.6",
        ("scores", "even weights"),
    ),
    Mutant(
        "later places too",
        _scores(future=True),
        "Later places of the word are counted as well: a token can only know what came before it.",
        "12.6",
        ("scores", "even weights"),
    ),
    Mutant(
        "even over the whole text",
        _scores(even="n"),
        "Even weights are taken over the whole text, 1/n: token i spreads them over the i + 1 places that it sees.",
        "8.2",
        ("even weights",),
    ),
    Mutant(
        "even over the others",
        _scores(even="i"),
        "Even weights are taken as 1/i: token i sees i + 1 places, itself among them.",
        "8.2",
        ("even weights",),
    ),
    Mutant(
        "even weight of one place",
        _even(lambda A, ids: _scores(which="last")(A, ids)[1]),
        "The even score counts one place for each token: it has an even weight on each of the places after.",
        "12.6",
        ("even weights",),
    ),
    Mutant(
        "even over all tokens",
        _even(lambda A, ids: _scores(over="all")(A, ids)[1]),
        "The even score is a mean over all tokens, and the scores are not: take the same tokens for both.",
        "12.6",
        ("even weights",),
    ),
    Mutant(
        "mean of the scores",
        _even(lambda A, ids: _scores()(A, ids)[0].mean()),
        "The last number is the mean of the heads: it is the score of a head with even weights.",
        "12.6",
        ("even weights",),
    ),
    Mutant(
        "even weights alone",
        _even(lambda A, ids: (1 / np.arange(1, len(ids) + 1)).mean()),
        "This is the mean of the even weights themselves: only those on the places after the same word count.",
        "12.6",
        ("even weights", "all different"),
    ),
    Mutant(
        "mean of nothing",
        _no_repeats,
        "Where no word comes twice this is 0/0: the scores are 0 then.",
        "12.6",
        ("all different",),
    ),
    Mutant(
        "over chance",
        lambda A, ids: (_scores()(A, ids)[0] / max(_scores()(A, ids)[1], 1e-300), _scores()(A, ids)[1]),
        "The scores are divided by chance: return them as they are, and chance beside them.",
        "12.6",
        ("scores",),
    ),
    Mutant(
        "less chance",
        lambda A, ids: (_scores()(A, ids)[0] - _scores()(A, ids)[1], _scores()(A, ids)[1]),
        "Chance is taken off the scores: return them as they are, and chance beside them.",
        "12.6",
        ("scores",),
    ),
    Mutant(
        "how often it looks there most",
        _scores(per="hit"),
        "This is how often the largest weight lies on such a place: the weight itself is asked for.",
        "12.6",
        ("scores",),
    ),
    Mutant(
        "one number for all heads",
        lambda A, ids: (np.full(len(A), _scores()(A, ids)[0].mean()), _scores()(A, ids)[1]),
        "All heads have the same number, their mean: each has a score of its own.",
        "12.6",
        ("scores",),
    ),
    Mutant(
        "rows moved",
        _rows_moved,
        "The rows are moved down instead of the columns to the right: it is the place that is looked at which "
        "lies one further, not the token that looks.",
        "12.6",
        ("scores", "even weights"),
    ),
    Mutant(
        "its own next as well",
        _scores(own=True),
        "The token itself counts as an earlier place of its word, so that the place behind it is looked at: only "
        "places before it count.",
        "12.6",
        ("even weights",),
    ),
    Mutant(
        "mean over words",
        _scores(over="words"),
        "The mean is over the different words of the text: it is over tokens.",
        "12.6",
        ("scores", "even weights"),
    ),
    Mutant(
        "even weight on one of them",
        _even(lambda A, ids: _scores(per="one of")(A, ids)[1]),
        "The even score is one over the number of places after the word: even weights are spread over all i + 1 "
        "places that token i sees.",
        "12.6",
        ("even weights",),
    ),
    Mutant(
        "over n − 1",
        _scores(over="all but one"),
        "The sum is divided by n − 1: divide by the number of tokens whose word came before.",
        "12.6",
        ("scores", "even weights"),
    ),
    Mutant(
        "columns scaled",
        lambda A, ids: (_scores()(A / A.sum(axis=1, keepdims=True), ids)[0], _scores()(A, ids)[1]),
        "The columns are scaled to sum to one: the weights of a token are a row, and sum to one already.",
        "4.5",
        ("scores",),
    ),
    Mutant(
        "where the next word stands",
        _next_word,
        "This is the weight on earlier places of the word that comes next: a head does not know it. It looks at "
        "what came after its own word.",
        "12.6",
        ("scores",),
    ),
    Mutant(
        "even over n, one place",
        _even(lambda A, ids: 1 / len(ids)),
        "This is an even weight over the whole text, on one place: token i sees i + 1 places, and several may "
        "follow its word.",
        "8.2",
        ("even weights", "all different"),
    ),
    Mutant(
        "the same word, itself too",
        _same_word,
        "This is the weight on all places of the same word, the token itself among them: a head that copies "
        "looks one place further, at what came after.",
        "12.6",
        ("scores",),
    ),
    Mutant(
        "first place after the last",
        _wrapped,
        "The place before the first is taken for the last: np.roll brings the last word round to the front.",
        "12.6",
        ("scores", "even weights", "all different"),
    ),
    Mutant(
        "share of the tokens",
        _even(lambda A, ids: sum(w in ids[:i] for i, w in enumerate(ids)) / len(ids)),
        "This is the share of tokens whose word came before: asked for is the weight that an even head, 1/(i + 1) on "
        "each place, has on the places after it.",
        "12.6",
        ("even weights", "a longer text"),
    ),
)

# 12.12


def _loud(V, p):
    return 60.0


def _copying(back=1, first="minus", reads=("word", "before"), into="before", brings="word", out="next", c=None,
             turn_1=False, turn_2=False, layers=(1, 1), look=0, part_1="word", unit_1=False,
             unit_2=False, also=False, places=False):
    """Two layers of four blocks; `first` says what is done about the first token, which sees itself alone."""

    def function(V, p):
        D = 5 * V
        part = {"word": np.arange(V), "place": np.arange(V, 3 * V), "before": np.arange(3 * V, 4 * V),
                "next": np.arange(4 * V, D)}
        M_1, N_1, M_2, N_2 = np.zeros((4, D, D))
        long = c(V, p) if c else 2 * math.log(20 * V / (1 - p))
        place = part["place"]
        M_1[place[back:], place[: 2 * V - back]] = long
        N_1[part[part_1][:V], part[into]] = 1.0
        N_1[part["word"], part["next"]] += 2.0 * also
        N_1[place, place] += 1.0 * places
        M_2[part[reads[0]], part[reads[1]]] = long
        if first == "minus" and reads[1] != "word":
            M_2[part["word"], part["word"]] -= long
        if look:
            M_2[:] = 0
            M_2[place[V - look :], place[: V + look]] = long
        if first == "place":
            M_2[part["word"], place[0]] = -2 * long
        if first == "too much":
            M_2[part["word"], part["word"]] = -long / 4
        N_2[part[brings], part[out]] = 1.0
        M_1, M_2 = long * np.eye(D) if unit_1 else M_1, long * np.eye(D) if unit_2 else M_2
        M_1, M_2 = M_1.T if turn_1 else M_1, M_2.T if turn_2 else M_2
        return layers[0] * M_1, layers[0] * N_1, layers[1] * M_2, layers[1] * N_2

    return function


COPIES = (
    Mutant(
        "strength one, place 0 shut out",
        _copying(c=lambda V, p: 1.0, first="place"),
        "Scores of 1 hardly prefer anything: a lead of c over n − 1 others gives the weight 1 / (1 + (n − 1) e^(−c)).",
        "4.4",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "one strength of 30",
        _copying(c=lambda V, p: 30.0),
        "A fixed strength is too small for some V or p: a lead of c over n − 1 others gives the weight "
        "1 / (1 + (n − 1) e^(−c)), so c must grow with ln V and with ln 1/(1 − p).",
        "4.4",
        ("nearly certain",),
    ),
    Mutant(
        "over the word, place 0 shut out",
        _copying(into="word", first="place"),
        "Layer 1 brings the word before into the part called word, on top of the own one: it goes into the part "
        "called before, where layer 2 can meet it.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "place brought as well, loud",
        _copying(first="place", places=True, c=_loud),
        "Layer 1 brings the place as well, so the second token is at place 0, too, and what keeps others from the "
        "first token keeps them from it: bring the word alone.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "the first token, loud",
        _copying(first="nothing", c=_loud),
        "One token of the second half is undecided: the first token of all sees itself alone in layer 1, so it says "
        "that it follows its own word. Take that back in layer 2.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "place brought as well, place 0 shut out",
        _copying(first="place", places=True),
        "Layer 1 brings the place as well, so the second token is at place 0, too, and what keeps others from the "
        "first token keeps them from it: bring the word alone.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "the first token",
        _copying(first="nothing"),
        "One token of the second half is undecided: the first token of all sees itself alone in layer 1, so it says "
        "that it follows its own word. Take that back in layer 2.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "looks at itself",
        _copying(back=0),
        "Layer 2 finds the same word again, not the one after it: either layer 1 looks at itself, where it must look "
        "one place back, or layer 2 compares word with word, where it must meet the part called before.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "two places back",
        _copying(back=2),
        "In layer 1 every place looks two places back: it must look one place back.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "layer 1 turned round",
        _copying(turn_1=True),
        "Layer 1 spreads evenly, as it prefers no token that a place can see: place i must look at place i − 1. "
        "Rows of M belong to the token that asks, columns to the one that is asked, and no place sees the next one.",
        "4.2",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "layer 2 turned round",
        _copying(turn_2=True),
        "M_2 is turned round: the word of the token that asks has to meet what the other knows of its predecessor.",
        "4.2",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "the same word",
        _copying(reads=("word", "word")),
        "Layer 2 finds the same word again, not the one after it: either layer 1 looks at itself, where it must look "
        "one place back, or layer 2 compares word with word, where it must meet the part called before.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "predecessors compared",
        _copying(reads=("before", "before")),
        "Layer 2 looks for a token with the same predecessor: that is the same word again. It must look for a token "
        "whose predecessor is the word itself.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "brings the predecessor",
        _copying(brings="before"),
        "Layer 2 brings the predecessor of the token that it found, which is the word that asks: it must bring the "
        "word.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "brings to the wrong part",
        _copying(out="word"),
        "Layer 2 brings nothing into the part called next, from which the answer is read. Rows of N are the parts that "
        "are read, columns those that are written.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "layer 1 over the word",
        _copying(into="word", reads=("word", "word"), first="nothing"),
        "Layer 1 brings the word before into the part called word, on top of the own one: it goes into a part of its "
        "own, called before.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "layer 1 speaks",
        _copying(into="next"),
        "Layer 1 brings into the part called next: that is read as the answer. The word before goes into the part "
        "called before.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "by place alone",
        _copying(look=1),
        "Layer 2 goes by place alone, V − 1 back: that is right if the second half repeats the first. Here its words "
        "come in another order.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "one strength for all",
        _copying(c=lambda V, p: 4.0),
        "The scores are too small for some V or p: a lead of c over n − 1 others gives the weight "
        "1 / (1 + (n − 1) e^(−c)), so c must grow with ln V and with ln 1/(1 − p).",
        "4.4",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "strength one",
        _copying(c=lambda V, p: 1.0),
        "Scores of 1 hardly prefer anything: a lead of c over n − 1 others gives the weight 1 / (1 + (n − 1) e^(−c)).",
        "4.4",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "strength without V",
        _copying(c=lambda V, p: math.log(p / (1 - p))),
        "The scores lead by ln p/(1 − p), which is enough against one other place: there are many, so add ln of their "
        "number.",
        "4.4",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "no second layer",
        _copying(layers=(1, 0)),
        "Layer 2 does nothing: all its weights are even.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "no first layer",
        _copying(layers=(0, 1)),
        "Layer 1 brings nothing into the part called before, so that no token knows its predecessor: one layer alone "
        "cannot find what came after a word. Rows of N are the parts that are read, columns those that are written.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "brings the place",
        _copying(part_1="place"),
        "Layer 1 brings the place of the token before: it must bring its word.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "over the word, with a clean key",
        _copying(into="word"),
        "Layer 1 brings the word before into the part called word, on top of the own one: it goes into the part "
        "called before.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "same in all parts",
        _copying(unit_1=True),
        "M_1 is the unit matrix times a number, so that every token looks at itself: place i must look at place "
        "i − 1.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "same in all parts of layer 2",
        _copying(unit_2=True),
        "M_2 is the unit matrix times a number, so that every token looks at itself: the word of the one that "
        "asks must meet the part called before of the other.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "minus in the wrong place",
        _copying(first="too much"),
        "The score against keys of the same word is too strong or too weak: for the first token it has to cancel "
        "the score of the part called before.",
        "12.6",
        ("nearly certain",),
    ),
    Mutant(
        "layer 1 turned round, loud",
        _copying(turn_1=True, c=_loud),
        "Layer 1 spreads evenly, as it prefers no token that a place can see: place i must look at place i − 1. "
        "Rows of M belong to the token that asks, columns to the one that is asked, and no place sees the next one.",
        "4.2",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "brings the place, loud",
        _copying(part_1="place", c=_loud),
        "Layer 1 brings the place of the token before: it must bring its word.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "layer 1 speaks as well",
        _copying(also=True),
        "Layer 1 writes into the part called next as well, which is read as the answer: only layer 2 may.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "predecessors compared, and no more",
        _copying(reads=("before", "before"), first="nothing", c=_loud),
        "Layer 2 looks for a token with the same predecessor: that is the same word again. It must look for a "
        "token whose predecessor is the word itself.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "looks at itself, place 0 shut out",
        _copying(back=0, first="place"),
        "Layer 2 finds the same word again, not the one after it: either layer 1 looks at itself, where it must look "
        "one place back, or layer 2 compares word with word, where it must meet the part called before.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "layer 1 spreads evenly, place 0 shut out",
        _copying(turn_1=True, first="place", c=_loud),
        "Layer 1 spreads evenly, as it prefers no token that a place can see: place i must look at place i − 1. "
        "Rows of M belong to the token that asks, columns to the one that is asked, and no place sees the next one.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
    Mutant(
        "layer 1 speaks, place 0 shut out",
        _copying(into="next", first="place"),
        "Layer 1 brings into the part called next: that is read as the answer. The word before goes into the part "
        "called before.",
        "12.6",
        ("five words", "a dozen", "nearly certain"),
    ),
)
