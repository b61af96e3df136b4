"""Known wrong answers, each with the message that names the misconception."""

import math
import re

import numpy as np

from ...model import Mutant
from .cases import NAMES

# 14.1


def _hide(chosen_of=None, random_of=None, fates=(0.8, 0.9), fate_of=None, targets_of=None, all_over=False, none=-1,
          masked_as=None):
    """Hiding with one part replaced by a wrong one."""

    def function(ids, special, choice, fate, word, mask_id, rate):
        ordinary = np.flatnonzero(~special)
        free = ~special[ids]
        chosen = chosen_of(free, choice, rate) if chosen_of else free & (choice < rate)
        random = random_of(word, special) if random_of else ordinary[(word * len(ordinary)).astype(int)]
        if fate_of:
            fate = fate_of(fate, choice, rate)
        masked = fate < fates[0]
        swapped = ~masked & (fate < fates[1])
        changed = np.where(masked, mask_id if masked_as is None else masked_as(word, special), ids)
        changed = np.where(swapped, random, changed)
        inputs = changed if all_over else np.where(chosen, changed, ids)
        targets = np.where(chosen, ids, none)
        if targets_of:
            targets = targets_of(ids, inputs, chosen, masked, special)
        return inputs, targets

    return function


def _quota(free, choice, rate):
    count = np.maximum(1, np.floor(rate * free.sum(axis=-1, keepdims=True) + 0.5))
    return free & (np.where(free, choice, 2).argsort(axis=-1).argsort(axis=-1) < count)


def _in_order(who):
    """Draws of word that are handed out one after the other, to the places where `who` is True."""

    def function(ids, special, choice, fate, word, mask_id, rate):
        wanted = who(~special[ids] & (choice < rate), fate)
        own = np.zeros(word.shape)
        own[wanted] = word.ravel()[: wanted.sum()]
        return _hide()(ids, special, choice, fate, own, mask_id, rate)

    return function


MIXED = ("three fates", "special words", "batches")
ALL = ("masked", *MIXED)

HIDERS = (
    Mutant(
        "rounded up",
        _hide(random_of=lambda word, special: np.flatnonzero(~special)[
            np.minimum(np.ceil(word * (~special).sum()).astype(int), (~special).sum() - 1)]),
        "The number is rounded up: it is rounded down, and goes from 0 to count − 1.",
        "14.1",
        (),
    ),
    Mutant(
        "ordinary words from above",
        _hide(random_of=lambda word, special: np.flatnonzero(~special)[::-1][(word * (~special).sum()).astype(int)]),
        "The ordinary words are numbered from the largest id down: number them in their order.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "over all ids, cut off",
        _hide(random_of=lambda word, special: np.flatnonzero(~special)[
            np.minimum((word * len(special)).astype(int), (~special).sum() - 1)]),
        "The draw is stretched over all V ids, and what is too large becomes the last ordinary word: stretch it over "
        "their count.",
        "14.1",
        (),
    ),
    Mutant(
        "kept words masked",
        _hide(fate_of=lambda fate, choice, rate: np.where(fate < 0.9, fate, 0.5)),
        "From 0.9 on the mask is given as well: there the word stays as it is.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "spans of the rate",
        lambda ids, special, choice, fate, word, mask_id, rate: _hide(fates=(0.8 * rate, 0.9 * rate))(
            ids, special, choice, fate, word, mask_id, rate),
        "The spans of fate are multiplied by the rate: fate is a draw of its own, from 0 to 1, whatever the rate.",
        "14.1",
        ALL,
    ),
    Mutant(
        "special words are hidden",
        _hide(chosen_of=lambda free, choice, rate: choice < rate),
        "Special ids are hidden as well: [CLS], [SEP] and padding are no words, and nobody should learn to guess them.",
        "14.1",
        ("special words", "batches"),
    ),
    Mutant(
        "special words are targets",
        _hide(targets_of=lambda ids, inputs, chosen, masked, special: np.where(chosen | special[ids], ids, -1)),
        "Special ids have targets: a target is for a chosen word alone.",
        "14.1",
        ALL,
    ),
    Mutant(
        "any id as the random word",
        _hide(random_of=lambda word, special: (word * len(special)).astype(int)),
        "The random word is drawn from all V ids: it may be a special one. Number the ordinary words, and draw from "
        "these.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "number for the word",
        _hide(random_of=lambda word, special: (word * (~special).sum()).astype(int)),
        "floor(word · count) is a number among the ordinary words, and not yet an id: the special ids in between are "
        "to be skipped.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "behind as many as are special",
        _hide(random_of=lambda word, special: special.sum() + (word * (~special).sum()).astype(int)),
        "The ordinary words are taken to begin behind as many ids as are special: special ids may stand anywhere. List "
        "those that are not special, in order.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "one word less",
        _hide(random_of=lambda word, special: np.flatnonzero(~special)[(word * ((~special).sum() - 1)).astype(int)]),
        "The last ordinary word can never be drawn: floor(word · count) goes from 0 to count − 1 by itself.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "rounded number",
        _hide(random_of=lambda word, special: np.flatnonzero(~special)[
            np.minimum(np.rint(word * (~special).sum()).astype(int), (~special).sum() - 1)]),
        "The number is rounded to the nearest, not down: then the first word has half a chance.",
        "14.1",
        (),
    ),
    Mutant(
        "mask not excluded",
        _hide(random_of=lambda word, special: _but(special, last=True)[(word * ((~special).sum() + 1)).astype(int)]),
        "The ordinary words are counted with one special id too many: special says of every id whether it is ordinary.",
        "14.1",
        (),
    ),
    Mutant(
        "targets everywhere",
        _hide(targets_of=lambda ids, inputs, chosen, masked, special: ids),
        "Every token has a target: the model would be paid for copying what it sees. Only chosen words have one.",
        "14.1",
        ALL,
    ),
    Mutant(
        "targets at all ordinary words",
        _hide(targets_of=lambda ids, inputs, chosen, masked, special: np.where(special[ids], -1, ids)),
        "Every ordinary word has a target: the model would be paid for copying what it sees. Only chosen ones have "
        "one.",
        "14.1",
        ALL,
    ),
    Mutant(
        "target where something changed",
        _hide(targets_of=lambda ids, inputs, chosen, masked, special: np.where(inputs != ids, ids, -1)),
        "A chosen word that stays has no target: it is there so that the model cannot trust a word that it sees. "
        "Chosen is chosen, whatever became of it.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "target at the mask alone",
        _hide(targets_of=lambda ids, inputs, chosen, masked, special: np.where(chosen & masked, ids, -1)),
        "Only words that became the mask have a target: those that became a random word, or stayed, are chosen too.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "targets after hiding",
        _hide(targets_of=lambda ids, inputs, chosen, masked, special: np.where(chosen, inputs, -1)),
        "The target is what was put in, the mask itself for instance: it should be the word that was there before.",
        "14.1",
        ALL,
    ),
    Mutant(
        "targets turned round",
        _hide(targets_of=lambda ids, inputs, chosen, masked, special: np.where(chosen, -1, ids)),
        "Targets stand where nothing was chosen, and −1 where something was: it is the other way round.",
        "14.1",
        (*ALL, "nothing chosen"),
    ),
    Mutant(
        "zero for no target",
        _hide(none=0),
        "Where nothing is to be predicted stands 0, which is an id like any other: it should be −1.",
        "14.1",
        (*ALL, "nothing chosen"),
    ),
    Mutant(
        "torch's number for no target",
        _hide(none=-100),
        "Where nothing is to be predicted stands −100, as torch has it: here it is −1.",
        "14.1",
        (*ALL, "nothing chosen"),
    ),
    Mutant(
        "always the mask",
        _hide(fates=(2.0, 2.0)),
        "Every chosen word becomes the mask: its fate is a draw of its own, and of ten chosen words one becomes a "
        "random "
        "word and one stays, or the model learns that only masks matter.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "none stays",
        _hide(fates=(0.8, 2.0)),
        "Every chosen word that is not masked becomes a random one: from 0.9 on it stays as it is.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "none at random",
        _hide(fates=(0.8, 0.1)),
        "No word becomes a random one: a fate that is not below 0.8 cannot be below 0.1; the second span ends at 0.9.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "masked up to 0.9",
        _hide(fates=(0.9, 1.0)),
        "The mask is given up to a fate of 0.9: it is 0.8 for the mask, then 0.1 for a random word, and 0.1 stay.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "random and kept exchanged",
        _hide(fate_of=lambda fate, choice, rate: np.where(fate < 0.8, fate, np.where(fate < 0.9, 0.95, 0.85))),
        "Random and kept words are exchanged: from 0.8 to 0.9 a random word comes, from 0.9 on the word stays.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "spans in another order",
        _hide(fate_of=lambda fate, choice, rate: np.where(fate < 0.1, 0.85, np.where(fate < 0.2, 0.95, 0.5))),
        "The spans stand in another order: first the mask up to 0.8, then the random word up to 0.9, then what stays.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "mask from 0.8 on",
        _hide(fate_of=lambda fate, choice, rate: 1 - fate, fates=(0.2, 0.2)),
        "A word becomes the mask where its fate is 0.8 or more: it is where the fate is below 0.8.",
        "14.1",
        ALL,
    ),
    Mutant(
        "fate from the choice",
        _hide(fate_of=lambda fate, choice, rate: choice / rate),
        "What becomes of a word is read off the draw that chose it: fate has a draw of its own.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "unchosen words change",
        _hide(all_over=True),
        "Words change that were not chosen: look at the fate of chosen words alone.",
        "14.1",
        (*ALL, "nothing chosen"),
    ),
    Mutant(
        "chosen above the rate",
        _hide(chosen_of=lambda free, choice, rate: free & (choice > rate)),
        "A word is chosen where its draw is above the rate: with 0.15 that is 85 of a hundred.",
        "14.1",
        (*ALL, "nothing chosen"),
    ),
    Mutant(
        "chosen from the top",
        _hide(chosen_of=lambda free, choice, rate: free & (choice > 1 - rate)),
        "A word is chosen where its draw is above 1 − rate: as many, but others. It is where the draw is below the "
        "rate.",
        "14.1",
        ALL,
    ),
    Mutant(
        "a fixed share",
        _hide(chosen_of=_quota),
        "Other words are chosen than those whose own draw is below the rate; a fixed share of each sequence, for "
        "instance, is another rule.",
        "14.1",
        ("nothing chosen",),
    ),
    Mutant(
        "fixed rate",
        _hide(chosen_of=lambda free, choice, rate: free & (choice < 0.15)),
        "The rate is 0.15 whatever is given: it is an argument.",
        "14.1",
        ALL,
    ),
    Mutant(
        "mask written over",
        _hide(fates=(0.0, 0.9)),
        "The mask is written over: a fate below 0.8 is below 0.9 too, so the random word should come from 0.8 on only.",
        "14.1",
        ALL,
    ),
    Mutant(
        "mask alone is special",
        lambda ids, special, choice, fate, word, mask_id, rate: _hide(
            chosen_of=lambda free, choice, rate: (ids != mask_id) & (choice < rate))(
            ids, special, choice, fate, word, mask_id, rate),
        "Only mask_id is spared: special says of every id whether it is an ordinary word.",
        "14.1",
        ("special words", "batches"),
    ),
    Mutant(
        "random word may be special but not the mask",
        lambda ids, special, choice, fate, word, mask_id, rate: _hide(
            random_of=lambda word, special: np.delete(np.arange(len(special)), mask_id)[
                (word * (len(special) - 1)).astype(int)])(ids, special, choice, fate, word, mask_id, rate),
        "The random word may be any id but mask_id: the other special ids are no ordinary words either.",
        "14.1",
        ("three fates", "special words"),
    ),
    Mutant(
        "random word of the text",
        lambda ids, special, choice, fate, word, mask_id, rate: _hide(random_of=lambda word, special: _among(
            ids[~special[ids]], word))(ids, special, choice, fate, word, mask_id, rate),
        "The random word is drawn from the words of the text: it is drawn from all ordinary ids, each of them once.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "skipped once",
        _hide(random_of=lambda word, special: _skip(word, special)),
        "Special ids are skipped once and not again: with several of them in between, a number moves on by one for "
        "each.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "choice and fate exchanged",
        lambda ids, special, choice, fate, *rest: _hide()(ids, special, fate, choice, *rest),
        "choice and fate are exchanged: choice says whether a word is chosen, fate what becomes of it.",
        "14.1",
        ALL,
    ),
    Mutant(
        "word and fate exchanged",
        lambda ids, special, choice, fate, word, *rest: _hide()(ids, special, choice, word, fate, *rest),
        "word and fate are exchanged: fate says what becomes of a chosen word, word which random one it is.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "yes and no for the targets",
        _hide(targets_of=lambda ids, inputs, chosen, masked, special: chosen * 1),
        "The targets are 1 where something was chosen: a target is the id of the word that stood there.",
        "14.1",
        ALL,
    ),
    Mutant(
        "chosen special words are targets",
        lambda ids, special, choice, fate, word, mask_id, rate: (
            _hide()(ids, special, choice, fate, word, mask_id, rate)[0], np.where(choice < rate, ids, -1)),
        "Special ids are spared, and have targets all the same where their draw is below the rate: they are not "
        "chosen.",
        "14.1",
        ("special words", "batches"),
    ),
    Mutant(
        "mask_id for no target",
        lambda ids, special, choice, fate, word, mask_id, rate: _hide(none=mask_id)(
            ids, special, choice, fate, word, mask_id, rate),
        "Where nothing is to be predicted stands mask_id: it should be −1.",
        "14.1",
        (*ALL, "nothing chosen"),
    ),
    Mutant(
        "target wherever a mask stands",
        lambda ids, special, choice, fate, word, mask_id, rate: _hide(
            targets_of=lambda ids, inputs, chosen, masked, special: np.where(inputs == mask_id, ids, -1))(
            ids, special, choice, fate, word, mask_id, rate),
        "A target stands wherever the input is mask_id: random and kept words have one too, and a mask_id that was "
        "there before has none.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "number stretched",
        _hide(random_of=lambda word, special: np.flatnonzero(~special)[
            np.rint(word * ((~special).sum() - 1)).astype(int)]),
        "The number is word · (count − 1), rounded: then the first and the last word have half a chance. It is "
        "floor(word · count).",
        "14.1",
        ("three fates", "special words"),
    ),
    Mutant(
        "special ids chosen",
        _hide(chosen_of=lambda free, choice, rate: ~free & (choice < rate)),
        "Special ids are chosen, and ordinary words are not: special is True for an id that is no ordinary word.",
        "14.1",
        ALL,
    ),
    Mutant(
        "masked share of the draw",
        lambda ids, special, choice, fate, word, mask_id, rate: (
            np.where(~special[ids] & (choice < 0.8 * rate), mask_id, ids),
            np.where(~special[ids] & (choice < rate), ids, -1)),
        "Four fifths of the rate are masked, by the draw of choice, and no word becomes a random one: fate decides "
        "that, for each chosen word.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "random first",
        _hide(fate_of=lambda fate, choice, rate: np.where(fate < 0.1, 0.85, np.where(fate < 0.9, 0.4, fate))),
        "The random words come first here, below 0.1, and the mask after them: below 0.8 is the mask, from there up "
        "to 0.9 the random word.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "wrapped round",
        _hide(random_of=lambda word, special: np.flatnonzero(~special)[
            (word * len(special)).astype(int) % (~special).sum()]),
        "The draw is stretched over all V ids and wrapped round: the first ordinary words then come twice as often. "
        "Stretch it over their count.",
        "14.1",
        ("three fates", "special words"),
    ),
    Mutant(
        "chosen at the rate",
        _hide(chosen_of=lambda free, choice, rate: free & (choice <= rate)),
        "A word whose draw is the rate itself is chosen: it is to be below the rate.",
        "14.1",
        ("batches", "nothing chosen"),
    ),
    Mutant(
        "mask at 0.8",
        _hide(fates=(np.nextafter(0.8, 1), 0.9)),
        "A fate of just 0.8 gives the mask: the mask is below 0.8, and from 0.8 on comes the random word.",
        "14.1",
        ("batches",),
    ),
    Mutant(
        "random at 0.9",
        _hide(fates=(0.8, np.nextafter(0.9, 1))),
        "A fate of just 0.9 gives a random word: that is below 0.9, and from 0.9 on the word stays.",
        "14.1",
        ("batches",),
    ),
    Mutant(
        "mask at 0.8, random at 0.9",
        _hide(fates=(np.nextafter(0.8, 1), np.nextafter(0.9, 1))),
        "Fates of just 0.8 and 0.9 are counted with the span below: each belongs to the span that begins there.",
        "14.1",
        ("batches",),
    ),
    Mutant(
        "draws in the order of need",
        _in_order(lambda chosen, fate: chosen & (fate >= 0.8) & (fate < 0.9)),
        "The draws of word are used up one after the other, by the words that become random: every place has a draw "
        "of its own, used or not.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "draws in the order of choice",
        _in_order(lambda chosen, fate: chosen),
        "The draws of word are used up one after the other, by the chosen words: every place has a draw of its own, "
        "used or not.",
        "14.1",
        MIXED,
    ),
    Mutant(
        "never the word itself",
        lambda ids, special, choice, fate, word, *rest: _hide(random_of=lambda word, special: _others(
            ids, word, special))(ids, special, choice, fate, word, *rest),
        "The word that stood there is left out of the draw: the random word may be any ordinary one, this one too.",
        "14.1",
        ("special words", "batches"),
    ),
)


def _among(some, word):
    return some[(word * len(some)).astype(int)]


def _skip(word, special):
    number = (word * (~special).sum()).astype(int)
    return number + special[number]


def _others(ids, word, special):
    """A random ordinary word that is not the one of `ids`."""
    ordinary = np.flatnonzero(~special)
    number = (word * (len(ordinary) - 1)).astype(int)
    return ordinary[number + (number >= np.searchsorted(ordinary, ids))]


def _but(special, last):
    """The ordinary ids, and the last special one."""
    some = ~special
    some[np.flatnonzero(special)[-1 if last else 0]] = True
    return np.flatnonzero(some)


# 14.2


def _pack(cut=None, segments_of=None, ids_of=None, real_of=None):
    """Packing with one part replaced by a wrong one."""

    def function(a, b, n, cls, sep, pad):
        room = n - 3
        keep_a, keep_b = cut(len(a), len(b), room) if cut else _shares(len(a), len(b), room)
        a, b = a[:keep_a], b[:keep_b]
        row = ids_of(a, b, cls, sep) if ids_of else [cls, *a, sep, *b, sep]
        row = row[:n]
        p, q = len(a), len(b)
        kinds = segments_of(p, q, n) if segments_of else [0] * (p + 2) + [1] * (q + 1)
        kinds = (kinds + [0] * n)[:n]
        ids = np.array([*row, *[pad] * (n - len(row))])
        real = np.arange(n) < len(row)
        if real_of:
            real = real_of(ids, real, pad)
        return ids, np.array(kinds), real

    return function


def _shares(p, q, room):
    keep = min(p, max(room - q, (room + 1) // 2))
    return keep, min(q, room - keep)


def _behind(p, q, n):
    return n - (p + q + 3)


FITS = ("room to spare", "padded with the separator")
LONG = ("too long", "b is short", "b is longer", "equally long")
PACKED = ("room to spare", "padded with the separator", "just full", *LONG)

PACKERS = (
    Mutant(
        "filled up with 0",
        lambda a, b, n, cls, sep, pad: _pack()(a, b, n, cls, sep, 0),
        "The row is filled up with 0: it is filled up with `pad`, whatever that is.",
        "14.2",
        ("padded with the separator",),
    ),
    Mutant(
        "words alone are counted",
        lambda *inputs: _three_less(*_pack()(*inputs)),
        "As many places as there are words are real: [CLS] and both [SEP] stand among them, three places more.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "first separator in the second segment",
        _pack(segments_of=lambda p, q, n: [0] * (p + 1) + [1] * (q + 2)),
        "The first [SEP] has segment 1: it closes a, so it belongs to a, and the one behind b to b.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "last separator in the first segment",
        _pack(segments_of=lambda p, q, n: [0] * (p + 2) + [1] * q),
        "The last [SEP] has segment 0: it closes b, so it belongs to b.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "both separators moved",
        _pack(segments_of=lambda p, q, n: [0] * (p + 1) + [1] * (q + 1)),
        "The segments begin one place early: count [CLS] as well, which belongs to a.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "padding in the second segment",
        _pack(segments_of=lambda p, q, n: [0] * (p + 2) + [1] * (n - p - 2)),
        "The padding has segment 1: only b and its [SEP] have.",
        "14.2",
        FITS,
    ),
    Mutant(
        "everything behind the first separator",
        _pack(segments_of=lambda p, q, n: [0] * (p + 1) + [1] * (n - p - 1)),
        "Everything from the first [SEP] on has segment 1: that [SEP] belongs to a, and padding has segment 0.",
        "14.2",
        FITS,
    ),
    Mutant(
        "segments from 1",
        _pack(segments_of=lambda p, q, n: [1] * (p + 2) + [2] * (q + 1)),
        "Segments are counted from 0: 0 for a, 1 for b.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "segments from 1, padding 0",
        _pack(segments_of=lambda p, q, n: [1] * (p + 2) + [0] * (q + 1)),
        "The segments are exchanged: 0 for a, 1 for b.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "a third segment",
        _pack(segments_of=lambda p, q, n: [0] * (p + 2) + [1] * (q + 1) + [2] * _behind(p, q, n)),
        "The padding has a segment of its own: there are two, and padding counts as the first.",
        "14.2",
        FITS,
    ),
    Mutant(
        "one segment",
        _pack(segments_of=lambda p, q, n: [0] * n),
        "All of the row is one segment: b and its [SEP] have segment 1.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "b alone loses",
        _pack(cut=lambda p, q, room: (min(p, room - 1), max(1, room - p))),
        "Only b is shortened, however long a is: the longer of the two loses its last word, again and again.",
        "14.2",
        ("b is short", "too long"),
    ),
    Mutant(
        "b alone loses, or the row",
        _pack(cut=lambda p, q, room: (min(p, room), max(0, room - p))),
        "Only b is shortened, and nothing is left of it: the longer of the two loses its last word, again and again.",
        "14.2",
        ("b is short",),
    ),
    Mutant(
        "a alone loses",
        _pack(cut=lambda p, q, room: (max(1, room - q), min(q, room - 1))),
        "All that is too much is taken from a: as soon as a is not the longer one any more, b loses as well.",
        "14.2",
        ("b is longer", "equally long"),
    ),
    Mutant(
        "a half each",
        _pack(cut=lambda p, q, room: (p, q) if p + q <= room else
              (min(p, room - room // 2), min(q, room // 2))),
        "Each gets half of the row, even where one of them needs less: places are left empty. Only the longer loses.",
        "14.2",
        ("b is short",),
    ),
    Mutant(
        "a half each always",
        _pack(cut=lambda p, q, room: (min(p, room - room // 2), min(q, room // 2))),
        "Each is cut to half of the row, even where the pair fits: only a pair that is too long loses anything.",
        "14.2",
        ("room to spare", "b is short"),
    ),
    Mutant(
        "a loses the tie",
        _pack(cut=lambda p, q, room: _shares(q, p, room)[::-1]),
        "Where both are equally long a loses a word: it should be b.",
        "14.2",
        ("equally long",),
    ),
    Mutant(
        "cut in proportion",
        _pack(cut=lambda p, q, room: (p, q) if p + q <= room else
              (p * room // (p + q), room - p * room // (p + q))),
        "Both are shortened in proportion: only the longer loses, until they are equally long.",
        "14.2",
        ("b is short", "b is longer"),
    ),
    Mutant(
        "room for one separator",
        _pack(cut=lambda p, q, room: _shares(p, q, room + 1)),
        "One place too few is kept free: [CLS] and two [SEP] need three, and here the last [SEP] is cut off.",
        "14.2",
        LONG,
    ),
    Mutant(
        "the row is cut",
        _pack(cut=lambda p, q, room: (p, q)),
        "The finished row is cut at n: the last [SEP] is lost, and perhaps all of b. Shorten the sentences first.",
        "14.2",
        LONG,
    ),
    Mutant(
        "one place wasted",
        _pack(cut=lambda p, q, room: _shares(p, q, room - 1)),
        "One place too many is kept free: [CLS] and two [SEP] need three.",
        "14.2",
        ("just full", *LONG),
    ),
    Mutant(
        "beginnings cut off",
        lambda a, b, n, cls, sep, pad: _pack(ids_of=lambda p, q, c, s: [
            c, *a[len(a) - len(p):], s, *b[len(b) - len(q):], s])(a, b, n, cls, sep, pad),
        "The sentences lose their beginnings: what is cut off is the end.",
        "14.2",
        LONG,
    ),
    Mutant(
        "no last separator",
        _pack(ids_of=lambda a, b, cls, sep: [cls, *a, sep, *b]),
        "The [SEP] behind b is missing: each sentence is closed by one.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "class token in the middle",
        _pack(ids_of=lambda a, b, cls, sep: [cls, *a, cls, *b, sep]),
        "Between the sentences stands [CLS]: it is [SEP], and [CLS] stands in front of all alone.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "real by the id",
        _pack(real_of=lambda ids, real, pad: ids != pad),
        "Padding is found by its id: where a [SEP] has the same id, it counts as padding. Count the places instead.",
        "14.2",
        ("padded with the separator",),
    ),
    Mutant(
        "padding is real",
        _pack(real_of=lambda ids, real, pad: ~real),
        "True and False are exchanged: real is True where there is no padding.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "all of it is real",
        _pack(real_of=lambda ids, real, pad: np.ones_like(real)),
        "Every place counts as real: the padding behind the last [SEP] does not.",
        "14.2",
        FITS,
    ),
    Mutant(
        "separators are not real",
        lambda a, b, n, cls, sep, pad: _pack(real_of=lambda ids, real, _: real & (ids != sep) & (ids != cls))(
            a, b, n, cls, sep, pad),
        "[CLS] and [SEP] count as padding: they are no words, but attention may look at them.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "all faults",
        _pack(cut=lambda p, q, room: (p, len(range(q)[: room - p])),
              segments_of=lambda p, q, n: [0] * (p + 1) + [1] * (n - p - 1),
              real_of=lambda ids, real, pad: ids != pad),
        "This is the row with its faults: look at who is shortened, where segment 1 begins and ends, and how padding "
        "is found.",
        "14.2",
        ("room to spare", "padded with the separator", "just full"),
    ),
    Mutant(
        "segments as floats",
        lambda *inputs: _floats(*_pack()(*inputs)),
        "The segments are floats: they are looked up in a table of two rows, so they are whole numbers.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "segments by counting separators",
        lambda *inputs: _count_seps(*inputs),
        "Segments are counted by the [SEP] up to and with the place itself: so each [SEP] belongs to what is behind "
        "it, and the padding is a third segment.",
        "14.2",
        ("room to spare", "just full", *LONG),
    ),
    Mutant(
        "segments by the separators before",
        lambda *inputs: _count_seps(*inputs, before=True),
        "Segments are counted by the [SEP] before a place: so the padding has a third one, or more where its id is "
        "that of [SEP].",
        "14.2",
        FITS,
    ),
    Mutant(
        "no segment for padding",
        _pack(segments_of=lambda p, q, n: [0] * (p + 2) + [1] * (q + 1) + [-1] * _behind(p, q, n)),
        "The padding has the segment −1: it is looked up like the others, so it has segment 0.",
        "14.2",
        FITS,
    ),
    Mutant(
        "in turn",
        _pack(cut=lambda p, q, room: _turns(p, q, room)),
        "The sentences lose a word in turn: it is always the longer of the two that does.",
        "14.2",
        ("too long", "b is short"),
    ),
    Mutant(
        "half for a",
        _pack(cut=lambda p, q, room: _capped(p, q, room, room // 2)),
        "a is cut to half of the row in any case: it loses words only while it is the longer one and the pair does "
        "not fit.",
        "14.2",
        ("room to spare", "b is short"),
    ),
    Mutant(
        "upper half for a",
        _pack(cut=lambda p, q, room: _capped(p, q, room, (room + 1) // 2)),
        "a is cut to half of the row in any case: it loses words only while it is the longer one and the pair does "
        "not fit.",
        "14.2",
        ("room to spare", "b is short"),
    ),
    Mutant(
        "last place not real",
        _pack(real_of=lambda ids, real, pad: real & np.append(real[1:], False)),
        "The last [SEP] counts as padding: count it, and [CLS] and the first [SEP], beside the words.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "one place too many is real",
        _pack(real_of=lambda ids, real, pad: real | np.insert(real[:-1], 0, True)),
        "One place of padding counts as real: behind the last [SEP] nothing is.",
        "14.2",
        FITS,
    ),
    Mutant(
        "filled up in front",
        lambda *inputs: _turned_round(*_pack()(*inputs)),
        "The padding stands in front: it comes behind the last [SEP].",
        "14.2",
        FITS,
    ),
    Mutant(
        "not filled up",
        lambda *inputs: _unfilled(*_pack()(*inputs)),
        "The row is not filled up: it has n places, and those behind the last [SEP] hold pad.",
        "14.2",
        FITS,
    ),
    Mutant(
        "real as numbers",
        lambda *inputs: _numbered(*_pack()(*inputs)),
        "real holds numbers: as a mask it is True and False.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "class token by itself",
        _pack(segments_of=lambda p, q, n: [0] + [1] * (p + 1) + [2] * (q + 1)),
        "[CLS] has a segment of its own: it belongs to a, so there are 0 for [CLS], a and its [SEP], and 1 for b "
        "and its [SEP].",
        "14.2",
        PACKED,
    ),
    Mutant(
        "real up to the first pad",
        _pack(real_of=lambda ids, real, pad: np.arange(len(ids)) < (np.argmax(ids == pad) if pad in ids else len(ids))),
        "real ends at the first id that equals pad: that may be the [SEP] behind a. Count the places instead.",
        "14.2",
        ("padded with the separator",),
    ),
    Mutant(
        "real up to the last other id",
        _pack(real_of=lambda ids, real, pad: np.arange(len(ids)) <= np.flatnonzero(ids != pad)[-1]),
        "real ends one place early: the last [SEP] is real too, also where its id is that of pad. Count the places.",
        "14.2",
        ("padded with the separator",),
    ),
    Mutant(
        "one separator",
        lambda a, b, n, cls, sep, pad: _one_sep(a, b, n, cls, sep, pad),
        "There is one [SEP] only: each sentence is closed by one, and three places are needed beside the words.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "b in front",
        lambda a, b, *rest: _pack()(b, a, *rest),
        "The sentences are exchanged: a comes first.",
        "14.2",
        PACKED,
    ),
    Mutant(
        "a loses its beginning",
        lambda a, b, n, cls, sep, pad: _pack(ids_of=lambda p, q, c, s: [
            c, *a[len(a) - len(p):], s, *q, s])(a, b, n, cls, sep, pad),
        "a loses its beginning: what is cut off is the end.",
        "14.2",
        ("too long", "b is short"),
    ),
)


def _count_seps(a, b, n, cls, sep, pad, before=False):
    ids, _, real = _pack()(a, b, n, cls, sep, pad)
    return ids, np.cumsum(ids == sep) - (ids == sep) * before, real


def _turns(p, q, room):
    """b loses a word, then a, and so on."""
    over = max(0, p + q - room)
    return max(0, p - over // 2), max(0, q - (over + 1) // 2)


def _capped(p, q, room, most):
    return min(p, most), min(q, room - min(p, most))


def _turned_round(ids, segments, real):
    shift = int((~real).sum())
    return tuple(np.roll(x, shift) for x in (ids, segments, real))


def _unfilled(ids, segments, real):
    return ids[real], segments[real], real[real]


def _three_less(ids, segments, real):
    return ids, segments, np.arange(len(ids)) < real.sum() - 3


def _numbered(ids, segments, real):
    return ids, segments, real.astype(int)


def _one_sep(a, b, n, cls, sep, pad):
    p, q = _shares(len(a), len(b), n - 2)
    row, k = [cls, *a[:p], sep, *b[:q]], p + q + 2
    return np.array(row + [pad] * (n - k)), np.array([0] * (p + 2) + [1] * q + [0] * (n - k)), np.arange(n) < k


def _floats(ids, segments, real):
    return ids, segments.astype(float), real


# 14.3


def _given(follows=None, same=None, firsts=None, topic=None):
    def function(lengths):
        m = lengths.astype(float)
        M, D = m.sum(), len(m)
        right_same = float(((m - 1) * m).sum() / ((M - D) * M))
        one = follows(m, M, D) if follows else 1 / M
        two = same(m, M, D) if same else right_same
        three = firsts(m, M, D) if firsts else (1 + D / M) / 2
        four = topic(m, M, D, two) if topic else 1 - two / 2
        return one, two, three, four

    return function


OF = ("wrong labels", "many documents")

GIVEN = (
    Mutant(
        "half of the pairs",
        _given(follows=lambda m, M, D: 1 / (2 * M)),
        "The first share is taken of all pairs: it is asked of those labelled \"not next\", where b is drawn from all "
        "sentences.",
        "14.2",
        OF,
    ),
    Mutant(
        "half of the pairs, twice",
        _given(follows=lambda m, M, D: 1 / (2 * M), same=lambda m, M, D: float(((m - 1) * m).sum() / (2 * (M - D) * M)),
               topic=lambda m, M, D, s: 1 - s),
        "The first two shares are taken of all pairs: they are asked of those labelled \"not next\", which are half of "
        "them.",
        "14.2",
        OF,
    ),
    Mutant(
        "b only where it has a sentence before",
        _given(follows=lambda m, M, D: 1 / (M - D)),
        "b is taken from the sentences that stand behind another: here it is drawn from all, so one of M = Σ m is the "
        "one behind a.",
        "14.2",
        OF,
    ),
    Mutant(
        "b is never a",
        _given(follows=lambda m, M, D: 1 / (M - 1)),
        "a itself is left out of the draw: b is drawn from all sentences, and a is one of them.",
        "14.2",
        OF,
    ),
    Mutant(
        "b and the same document without a",
        _given(follows=lambda m, M, D: 1 / (M - 1),
               same=lambda m, M, D: float(((m - 1) * (m - 1)).sum() / ((M - D) * (M - 1)))),
        "a itself is left out of the draws: b is drawn from all sentences, and a is one of them.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "a may be last",
        _given(follows=lambda m, M, D: (M - D) / M**2, same=lambda m, M, D: float((m * m).sum() / M**2)),
        "a is drawn from all sentences: a last one has none behind it, so a document of m sentences offers m − 1.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "a may be last for the document",
        _given(same=lambda m, M, D: float((m * m).sum() / M**2)),
        "The share of the same document takes a from all sentences: a last one has none behind it, so a document of m "
        "sentences offers m − 1 of the M − D.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "documents drawn evenly",
        _given(same=lambda m, M, D: 1 / D),
        "Documents are drawn as if they were alike: a long one is hit more often, by a and by b.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "same document among those with a sentence before",
        _given(same=lambda m, M, D: float(((m - 1) ** 2).sum() / (M - D) ** 2)),
        "b is taken from the sentences that stand behind another: here it is drawn from all M.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "same document without the next",
        _given(same=lambda m, M, D: float(((m - 1) * (m - 1)).sum() / ((M - D) * M))),
        "The one behind a, or a itself, is left out: b is from a's document then as well.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "same document is another",
        _given(same=lambda m, M, D: 1 - float(((m - 1) * m).sum() / ((M - D) * M)),
               topic=lambda m, M, D, s: (1 + s) / 2),
        "This is the share where b is from another document: asked is that where it is from a's.",
        "14.2",
        ("wrong labels", "many documents"),
    ),
    Mutant(
        "first sentences only",
        _given(firsts=lambda m, M, D: D / M),
        "This is how often b is a first sentence among \"not next\": who sees that is right there, and in the other "
        "half of the pairs as well, where b is never one.",
        "14.2",
        ("what b tells", "many documents"),
    ),
    Mutant(
        "first sentences of the others",
        _given(firsts=lambda m, M, D: 0.5 + (D - 1) / (2 * M)),
        "One first sentence is left out, that of a's own document for instance: b is drawn from all sentences, so each "
        "of the D first ones can be hit.",
        "14.2",
        ("what b tells", "many documents"),
    ),
    Mutant(
        "half of the first sentences",
        _given(firsts=lambda m, M, D: D / (2 * M)),
        "Only the pairs with a first sentence are counted as right: where b is none one says \"next\", and that is "
        "right for all pairs that are.",
        "14.2",
        ("what b tells", "many documents"),
    ),
    Mutant(
        "coin for the rest",
        _given(firsts=lambda m, M, D: 0.5 + D / (4 * M)),
        "Where b is no first sentence a coin is tossed: \"next\" is the better guess then.",
        "14.2",
        ("what b tells", "many documents"),
    ),
    Mutant(
        "half and all of it",
        _given(firsts=lambda m, M, D: 0.5 + D / M),
        "The first sentences are found among \"not next\" only, which is half of the pairs: their share counts half.",
        "14.2",
        ("what b tells", "many documents"),
    ),
    Mutant(
        "first sentences among both",
        _given(firsts=lambda m, M, D: 0.5),
        "b alone is taken to tell nothing: behind a there is never a first sentence, but a draw from all can hit one.",
        "14.2",
        ("what b tells", "many documents"),
    ),
    Mutant(
        "the other answer for the first",
        _given(firsts=lambda m, M, D: (1 - D / M) / 2),
        "One guesses the wrong way: a first sentence never stands behind another, so it means \"not next\".",
        "14.2",
        ("what b tells", "many documents"),
    ),
    Mutant(
        "share of the others",
        _given(firsts=lambda m, M, D: 1 - D / M),
        "This is how often b is no first sentence: asked is how often one is right, in both halves together.",
        "14.2",
        ("what b tells", "many documents"),
    ),
    Mutant(
        "not next by topic",
        _given(topic=lambda m, M, D, s: 1 - s),
        "This is how often the documents differ among \"not next\": in the other half one is always right.",
        "14.2",
        ("what the topic tells", "many documents"),
    ),
    Mutant(
        "topic is never wrong",
        _given(topic=lambda m, M, D, s: 1.0),
        "The topic is taken to tell all: b may be from a's document by chance, and then one says \"next\" and is "
        "wrong.",
        "14.2",
        ("what the topic tells", "many documents"),
    ),
    Mutant(
        "same document counted for the topic",
        _given(topic=lambda m, M, D, s: (1 + s) / 2),
        "The share of the same document is added to the half: there one is wrong; one is right where the documents "
        "differ.",
        "14.2",
        ("what the topic tells", "many documents"),
    ),
    Mutant(
        "topic without the half",
        _given(topic=lambda m, M, D, s: 1.5 - s),
        "Only half of the pairs are \"not next\": the share of the same document counts half.",
        "14.2",
        ("what the topic tells",),
    ),
    Mutant(
        "next counted as found",
        _given(topic=lambda m, M, D, s: 1 - (s - 1 / M) / 2),
        "Where b stands behind a by chance the label still says \"not next\": to say \"next\" is counted as wrong.",
        "14.2",
        ("what the topic tells", "many documents"),
    ),
    Mutant(
        "first of the other half",
        _given(firsts=lambda m, M, D: 1 - D / (2 * M)),
        "The first sentences are taken off: one is wrong where b is a first sentence by this count, and it is just "
        "there that one is sure to be right.",
        "14.2",
        ("what b tells", "many documents"),
    ),
    Mutant(
        "first sentence of each document alike",
        _given(firsts=lambda m, M, D: (1 + float((1 / m).mean())) / 2),
        "The share of first sentences is averaged over the documents: b is drawn from all M sentences, and D of "
        "them are first.",
        "14.2",
        ("what b tells",),
    ),
    Mutant(
        "better of two, in one half",
        _given(firsts=lambda m, M, D: max(D / M, 1 - D / M), topic=lambda m, M, D, s: max(s, 1 - s)),
        "Only the pairs \"not next\" are looked at: the guess is to be right over both halves, and in the other one "
        "it always is.",
        "14.2",
        ("what b tells", "what the topic tells"),
    ),
    Mutant(
        "next by way of the document",
        _given(follows=lambda m, M, D: float(((m - 1) * m).sum() / ((M - D) * M)) * float((1 / m).mean())),
        "The share of the same document is multiplied by the mean of 1/m: documents are not hit alike. Shorter: "
        "exactly one of all M sentences stands behind a.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "next by the mean length",
        _given(follows=lambda m, M, D: float(((m - 1) * m).sum() / ((M - D) * M)) / float(m.mean())),
        "The share of the same document is divided by the mean length: long ones are hit more often. Shorter: "
        "exactly one of all M sentences stands behind a.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "next once a document",
        _given(follows=lambda m, M, D: D / M),
        "One sentence of each document is counted: exactly one of all M sentences stands behind a.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "next evenly over documents",
        _given(follows=lambda m, M, D: float((1 / m).mean()) / D),
        "b is drawn document by document: it is drawn evenly from all M sentences, one of which stands behind a.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "not divided by all sentences",
        _given(same=lambda m, M, D: float(((m - 1) * m).sum() / (M - D))),
        "The share is above 1: b is one of all M sentences, so the lengths are to be divided by M.",
        "14.2",
        ("wrong labels", "many documents"),
    ),
    Mutant(
        "averaged over documents",
        _given(same=lambda m, M, D: float(((m - 1) * m).sum() / ((M - D) * M)) / D),
        "The products are averaged over the documents: (m − 1)/(M − D) is already the share of a document, so they "
        "add up.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "one sentence less",
        _given(firsts=lambda m, M, D: 0.5 + D / (2 * (M - 1))),
        "a is left out of the draw for b: b is drawn from all M sentences.",
        "14.2",
        ("what b tells",),
    ),
    Mutant(
        "a that has one behind it, again",
        _given(follows=lambda m, M, D: float(((m - 1) / m).mean()) / M),
        "That a has one behind it is counted again: a is drawn from those alone, so one of M is the one behind it.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "a that has one behind it, once more",
        _given(follows=lambda m, M, D: (M - D) / M**2),
        "That a has one behind it is counted again: a is drawn from those alone, so one of M is the one behind it.",
        "14.2",
        ("wrong labels", "many documents"),
    ),
    Mutant(
        "both drawn",
        _given(follows=lambda m, M, D: D / (M * (M - D))),
        "One pair is counted for each document: each a has one sentence behind it, whichever it is, so it is 1 of M.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "one pair of all",
        _given(follows=lambda m, M, D: 1 / (M * (M - D))),
        "This is the chance of one certain pair: there are M − D of them, one for each a.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "three quarters",
        _given(firsts=lambda m, M, D: 0.75),
        "One is right half of the time where b is none of the first: how often it is a first one depends on D/M.",
        "14.2",
        ("what b tells",),
    ),
    Mutant(
        "chance of next, given no first",
        _given(firsts=lambda m, M, D: 1 / (2 - D / M)),
        "This is how sure one is where b is no first sentence: asked is how often one is right over all pairs, "
        "those with a first one among them.",
        "14.2",
        ("what b tells",),
    ),
    Mutant(
        "chance of next, given the topic",
        _given(topic=lambda m, M, D, s: 1 / (1 + s)),
        "This is how sure one is where the documents are the same: asked is how often one is right over all pairs.",
        "14.2",
        ("what the topic tells",),
    ),
    Mutant(
        "topic is a coin",
        _given(topic=lambda m, M, D, s: 0.5),
        "The topic is taken to tell nothing: a pair from two documents is never \"next\", so there one is right.",
        "14.2",
        ("what the topic tells",),
    ),
    Mutant(
        "firsts over those behind another",
        _given(firsts=lambda m, M, D: (1 + D / (M - D)) / 2),
        "The first sentences are divided by those that are not: b is one of all M.",
        "14.2",
        ("what b tells",),
    ),
    Mutant(
        "two sentences left out",
        _given(same=lambda m, M, D: float(((m - 1) * (m - 2)).sum() / ((M - D) * M))),
        "a itself and the one behind it are left out: b is drawn from all M sentences, and both are in a's document.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "share of the longest",
        _given(same=lambda m, M, D: float((m / M).max())),
        "This is the share of the longest document: a and b may come from any, so the products add up.",
        "14.2",
        ("wrong labels",),
    ),
    Mutant(
        "a any sentence, b any other",
        _given(follows=lambda m, M, D: 1 / (M - 1), same=lambda m, M, D: float((m * (m - 1)).sum() / (M * (M - 1)))),
        "a is taken from all sentences, and b from all others: a has one behind it, M − D of them do, and b is "
        "drawn from all M.",
        "14.2",
        ("wrong labels",),
    ),
)

# 14.4


def _tied(share_of=None, parts="both", look="add", at="inputs", turned=True, W_side="T", read="X", out="H",
          rows="chosen", signed=1, backward=None, base=1.0, hidden_only=False, truth="targets", axis=-1):
    """The tied model with one part replaced by a wrong one."""

    def function(E, W, mix, inputs, targets):
        V, d = E.shape
        chosen = targets >= 0
        share = share_of(chosen) if share_of else chosen / chosen.sum()
        X = E[inputs]
        C = mix @ X
        H = C @ W
        Z = H @ E.T
        Z = Z - Z.max(axis=axis, keepdims=True)
        logs = Z - np.log(np.exp(Z).sum(axis=axis, keepdims=True))
        hot = np.eye(V)[{"targets": targets, "inputs": inputs}[truth]]
        L = -(share[..., None] * hot * logs).sum() / base
        back = backward(chosen) if backward else share
        dZ = signed * back[..., None] * (np.exp(logs) - hot)
        p = np.exp(logs)
        if rows != "chosen":
            leak = np.where(chosen[..., None], p - hot, p) / chosen.sum()
            dZ = {"no target": p, "target": -hot, "p": (p - hot) * p, "sigmoid": p * (1 - p)}.get(rows)
            dZ = leak if rows == "leak" else back[..., None] * dZ
        dH = dZ @ E
        reads = {"X": C, "raw": X, "H": H}[read]
        dW = reads.reshape(-1, d).T @ dH.reshape(-1, d)
        dC = dH @ {"T": W.T, "same": W, "none": np.eye(d)}[W_side]
        dX = (np.swapaxes(mix, -1, -2) if turned else mix) @ dC
        if turned is None:
            dX = dC
        if hidden_only:
            dX = dX * chosen[..., None]
        dE = np.zeros_like(E)
        where = {"inputs": inputs, "targets": np.where(chosen, targets, inputs),
                 "asked": np.where(chosen, targets, 0)}[at]
        if look == "add":
            np.add.at(dE, where, dX)
        elif look == "mean":
            np.add.at(dE, where, dX)
            dE /= np.maximum(np.bincount(where.ravel(), minlength=V), 1)[:, None]
        elif look == "assigned":
            dE[where] = dX
        elif look == "by place":
            for i in range(where.shape[-1]):
                dE[where[..., i]] += dX[..., i, :]
        elif look == "by sequence":
            for at_b in np.ndindex(where.shape[:-1]):
                dE[where[at_b]] += dX[at_b]
        states = {"H": H, "C": C, "X": X}[out]
        second = dZ.reshape(-1, V).T @ states.reshape(-1, d)
        dE = {"both": dE + second, "look": dE, "out": second, "mean": (dE + second) / 2,
              "minus": dE - second, "half look": dE / 2 + second,
              "scores sum": dE + second * chosen.sum(), "twice": 2 * (dE + second),
              "over": _over(dE, second, inputs)}[parts]
        return L, dE, dW

    return function


def _over(dE, second, inputs):
    """The second path is written over the rows of the first."""
    both = second.copy()
    both[inputs] = dE[inputs]
    return both


def _probability(E, W, mix, inputs, targets):
    Z = mix @ E[inputs] @ W @ E.T
    P = np.exp(Z - Z.max(axis=-1, keepdims=True))
    P = (P / P.sum(axis=-1, keepdims=True))[targets >= 0]
    return 1 - P[np.arange(len(P)), targets[targets >= 0]].mean()


def _said(E, W, mix, inputs, targets):
    """What the model says at the hidden places."""
    Z = (mix @ E[inputs] @ W @ E.T)[targets >= 0]
    P = np.exp(Z - Z.max(axis=-1, keepdims=True))
    return P / P.sum(axis=-1, keepdims=True)


def _best(*inputs):
    return -np.log(_said(*inputs).max(axis=-1)).mean()


def _entropy(*inputs):
    P = _said(*inputs)
    return -(P * np.log(P)).sum(axis=-1).mean()


def _first_alone(E, W, mix, inputs, targets):
    L, dE, dW = _tied()(E, W, mix, inputs, targets)
    if targets.ndim > 1:
        one = tuple(x.reshape(-1, *x.shape[targets.ndim - 1 :])[0] for x in (mix, inputs, targets))
        kept = (one[2] >= 0).sum() / (targets >= 0).sum()
        dW = _tied()(E, W, *one)[2] * kept if kept else 0 * dW
    return L, dE, dW


def _by_sequence(chosen):
    """Shares of a mean over sequences of means."""
    count = chosen.sum(axis=-1, keepdims=True)
    return chosen / np.maximum(count, 1) / (chosen.size // chosen.shape[-1])


LOSS = ("loss", "dW", "dE")
TIED = ("dE", "repeated words", "batches")
WAYS = ("dW", *TIED)

TABLES = (
    Mutant(
        "dW behind W",
        _tied(read="H"),
        "dW is made with H, what W gives: it is made with what W reads, mix X.",
        "14.3",
        ("dW",),
    ),
    Mutant(
        "dW turned round",
        lambda *inputs: ((o := _tied()(*inputs))[0], o[1], o[2].T),
        "dW is transposed: with H = C W it is Cᵀ dH; W is square, so nothing complains.",
        "14.3",
        ("dW",),
    ),
    Mutant(
        "mean of the places",
        _tied(look="mean"),
        "A word that was read in several places gets the mean of what they send back: they add up.",
        "14.3",
        ("repeated words",),
    ),
    Mutant(
        "sign of the loss",
        lambda *inputs: (-(o := _tied()(*inputs))[0], *o[1:]),
        "The loss is the mean of log p, and negative: it is −log p.",
        "14.3",
        ("loss",),
    ),
    Mutant(
        "softmax over the tokens",
        _tied(axis=-2),
        "The softmax runs over the tokens: each token has probabilities of its own, which sum to 1 over the V words.",
        "14.3",
        ("loss", *WAYS),
    ),
    Mutant(
        "true word from the inputs",
        _tied(truth="inputs"),
        "The true word is taken from the inputs: they say what was read, the targets what was there before.",
        "14.3",
        ("loss", *WAYS),
    ),
    Mutant(
        "look-up at what is asked",
        _tied(at="asked"),
        "The path of the look-up is added at the targets, and at id 0 where there is none: it belongs to "
        "the ids that were read, the inputs.",
        "14.3",
        TIED,
    ),
    Mutant(
        "mean over all places",
        _tied(share_of=lambda chosen: chosen / chosen.size),
        "The sum is divided by all places: divide by the number of hidden words, or the loss shrinks with the rate.",
        "14.3",
        ("loss", *WAYS),
    ),
    Mutant(
        "all places count",
        _tied(share_of=lambda chosen: np.full(chosen.shape, 1 / chosen.size)),
        "Places without a target are counted: −1 as an index means the last word, and nobody complains.",
        "14.3",
        ("loss", *WAYS),
    ),
    Mutant(
        "all places count, mean of the hidden",
        _tied(share_of=lambda chosen: np.full(chosen.shape, 1 / chosen.sum())),
        "Places without a target are counted: −1 as an index means the last word, and nobody complains.",
        "14.3",
        ("loss", *WAYS),
    ),
    Mutant(
        "sum",
        _tied(share_of=lambda chosen: chosen * 1.0),
        "This is the sum over the hidden words: the loss is their mean.",
        "14.3",
        ("loss", *WAYS),
    ),
    Mutant(
        "gradient of a sum",
        _tied(backward=lambda chosen: chosen * 1.0),
        "The loss is a mean, and this is the gradient of the sum: divide by the number of hidden words.",
        "14.3",
        WAYS,
    ),
    Mutant(
        "gradient of a mean over all",
        _tied(backward=lambda chosen: chosen / chosen.size),
        "The loss is a mean over the hidden words, and the gradient that of one over all places.",
        "14.3",
        WAYS,
    ),
    Mutant(
        "unhidden words pull",
        _tied(backward=lambda chosen: np.full(chosen.shape, 1 / chosen.sum())),
        "The gradient of places without a target is not zero: they are not in the loss, so nothing comes back from "
        "them.",
        "14.3",
        WAYS,
    ),
    Mutant(
        "unhidden words pull weakly",
        _tied(backward=lambda chosen: np.full(chosen.shape, 1 / chosen.size)),
        "The gradient is that of all places: only hidden words are in the loss, and the mean is over these.",
        "14.3",
        WAYS,
    ),
    Mutant(
        "means of means",
        _tied(share_of=_by_sequence),
        "Each sequence has a mean of its own, and these are averaged: one mean over all hidden words of the batch.",
        "14.3",
        ("batches",),
    ),
    Mutant(
        "bits",
        _tied(base=math.log(2)),
        "The loss is in bits: the natural logarithm is meant.",
        "14.3",
        ("loss",),
    ),
    Mutant(
        "look-up alone",
        _tied(parts="look"),
        "dE has the path of the look-up alone: E is read a second time, to score the words, and the two paths add up.",
        "14.3",
        TIED,
    ),
    Mutant(
        "scores alone",
        _tied(parts="out"),
        "dE has the path of the scores alone: E is also where the words were looked up, and the two paths add up.",
        "14.3",
        TIED,
    ),
    Mutant(
        "mean of two paths",
        _tied(parts="mean"),
        "The two paths are averaged: a weight that is used twice has the sum of both gradients.",
        "14.3",
        TIED,
    ),
    Mutant(
        "one path over the other",
        _tied(parts="over"),
        "Where a word was looked up, the path of the scores is lost: add into its row, do not write over it.",
        "14.3",
        TIED,
    ),
    Mutant(
        "last of repeated words",
        _tied(look="assigned"),
        "Of a word that stands in several places only the last counts: dE[inputs] += … adds once for it, and np.add.at "
        "once for every place.",
        "14.3",
        ("repeated words", "batches"),
    ),
    Mutant(
        "last of repeated words, by place",
        _tied(look="by place"),
        "A word that stands at the same place of two sequences counts once: a loop over the places does not help, for "
        "there too dE[ids] += … adds once for each id. np.add.at adds every time.",
        "14.3",
        ("batches",),
    ),
    Mutant(
        "last of repeated words, by sequence",
        _tied(look="by sequence"),
        "Of a word that stands twice in one sequence only the last counts: dE[ids] += … adds once for each id, and "
        "np.add.at every time.",
        "14.3",
        ("repeated words",),
    ),
    Mutant(
        "added at the targets",
        _tied(at="targets"),
        "The path of the look-up is added at the hidden words: it belongs to the ids that were read, the inputs.",
        "14.3",
        TIED,
    ),
    Mutant(
        "mixture not transposed",
        _tied(turned=False),
        "dX is mix dC: a token passes its gradient to those that it read, so mix is transposed.",
        "14.3",
        TIED,
    ),
    Mutant(
        "mixture forgotten backward",
        _tied(turned=None),
        "The gradient goes straight back to the token's own word: H mixes tokens, so each word that was read has its "
        "share.",
        "14.3",
        TIED,
    ),
    Mutant(
        "W not transposed",
        _tied(W_side="same"),
        "The gradient goes back through W instead of Wᵀ: W is square, so nothing complains.",
        "14.3",
        TIED,
    ),
    Mutant(
        "dW before the mixture",
        _tied(read="raw"),
        "dW is made with X: W reads mix X.",
        "14.3",
        WAYS[:1],
    ),
    Mutant(
        "scores of the mixture",
        _tied(out="C"),
        "The path of the scores is made with what W reads: the scores are H Eᵀ, so it is made with H.",
        "14.3",
        TIED,
    ),
    Mutant(
        "scores of the words",
        _tied(out="X"),
        "The path of the scores is made with X: the scores are H Eᵀ, so it is made with H.",
        "14.3",
        TIED,
    ),
    Mutant(
        "sign",
        _tied(signed=-1),
        "The gradient points the other way: dlogits is p − one-hot.",
        "14.3",
        WAYS,
    ),
    Mutant(
        "target forgotten",
        _tied(rows="no target"),
        "dlogits is p, and 1 is not taken off at the target.",
        "14.3",
        WAYS,
    ),
    Mutant(
        "difference of paths",
        _tied(parts="minus"),
        "The two paths are subtracted: both are gradients of the same loss, so they add up.",
        "14.3",
        TIED,
    ),
    Mutant(
        "W forgotten on the way back",
        _tied(W_side="none"),
        "The look-up's path lacks Wᵀ: from H the gradient passes W before it reaches what was mixed.",
        "14.3",
        TIED,
    ),
    Mutant(
        "target alone",
        _tied(rows="target"),
        "dlogits is −1 at the target and 0 elsewhere: the softmax is missing, p − one-hot.",
        "14.3",
        WAYS,
    ),
    Mutant(
        "p once more",
        _tied(rows="p"),
        "dlogits is multiplied by p, or by p (1 − p), once more: for the cross-entropy of a softmax it is p − "
        "one-hot, and no more.",
        "14.3",
        WAYS,
    ),
    Mutant(
        "p (1 − p) in all",
        _tied(rows="sigmoid"),
        "dlogits is p (1 − p), the slope of a sigmoid: for the cross-entropy of a softmax it is p − one-hot.",
        "14.3",
        WAYS,
    ),
    Mutant(
        "probability for its logarithm",
        lambda *inputs: (_probability(*inputs), *_tied()(*inputs)[1:]),
        "The loss is made of p itself: it is −log p.",
        "14.3",
        ("loss",),
    ),
    Mutant(
        "look-up at hidden places",
        _tied(hidden_only=True),
        "Only the words at hidden places get the gradient of the look-up: a hidden place has read all words around it.",
        "14.3",
        TIED,
    ),
    Mutant(
        "unhidden rows have p",
        _tied(rows="leak"),
        "The rows of places without a target have p in them: they are not in the loss, so their rows are 0.",
        "14.3",
        WAYS,
    ),
    Mutant(
        "perplexity",
        lambda *inputs: (math.exp(_tied()(*inputs)[0]), *_tied()(*inputs)[1:]),
        "This is the perplexity: the loss is its logarithm.",
        "14.3",
        ("loss",),
    ),
    Mutant(
        "share of the right word",
        lambda *inputs: (1 - _probability(*inputs), *_tied()(*inputs)[1:]),
        "This is the mean of p: the loss is the mean of −log p.",
        "14.3",
        ("loss",),
    ),
    Mutant(
        "best word",
        lambda *inputs: (_best(*inputs), *_tied()(*inputs)[1:]),
        "This is −log of the largest p: it is that of the word which was there.",
        "14.3",
        ("loss",),
    ),
    Mutant(
        "entropy",
        lambda *inputs: (_entropy(*inputs), *_tied()(*inputs)[1:]),
        "This is the entropy of what the model says: the loss is −log p of the word that was there alone.",
        "14.3",
        ("loss",),
    ),
    Mutant(
        "half of the look-up",
        _tied(parts="half look"),
        "The look-up's path counts half: the two paths add up, each in full.",
        "14.3",
        TIED,
    ),
    Mutant(
        "twice",
        _tied(parts="twice"),
        "dE is twice the sum of both paths: the sum itself is the gradient.",
        "14.3",
        TIED,
    ),
    Mutant(
        "neither W nor mixture",
        _tied(turned=None, W_side="none"),
        "The look-up's path ends at H: from H the gradient passes W and the mixture before it reaches the words.",
        "14.3",
        TIED,
    ),
    Mutant(
        "W and mixture not transposed",
        _tied(turned=False, W_side="same"),
        "Neither W nor the mixture is transposed on the way back.",
        "14.3",
        TIED,
    ),
    Mutant(
        "first sequence alone",
        lambda E, W, mix, inputs, targets: _first_alone(E, W, mix, inputs, targets),
        "dW has the first sequence alone: it is a sum over all tokens of all sequences.",
        "14.3",
        ("batches",),
    ),
    Mutant(
        "logarithm of base 10",
        _tied(base=math.log(10)),
        "The logarithm has base 10: the natural one is meant.",
        "14.3",
        ("loss",),
    ),
    Mutant(
        "scores' path of a sum",
        _tied(parts="scores sum"),
        "The path of the scores is that of a sum: it is divided by the number of hidden words too.",
        "14.3",
        TIED,
    ),
)


# 14.5


def _heights(path, blocks, first=1, other=None, prefix=False, norm="top", lowest=None, number="blocks"):
    parts = path.split(".")
    if lowest(path) if lowest else "embedding" in parts:
        return 0
    if number == "any" and (found := re.search(r"\d+", path)):
        return int(found[0]) + first
    if number == "second" and parts[1] != "blocks":
        return blocks + 1 if other is None else other
    if "blocks" in parts:
        k = parts[parts.index("blocks") + 1]
        return (int(k[0]) if prefix else int(k)) + first
    if norm == "last block" and parts[:2] == ["encoder", "norm"]:
        return blocks
    if norm == "embedding" and parts[0] == "encoder":
        return 0
    if norm == "pool below" and parts[0] != "head":
        return blocks
    return blocks + 1 if other is None else other


def _rates(of=None, **how):
    def function(paths, blocks, lr, share):
        heights = [_heights(path, blocks, **how) for path in paths]
        top = blocks + 1
        if of:
            return np.array([of(h, top, lr, share) for h in heights])
        return np.array([lr * share ** ((top - h) / top) for h in heights])

    return function


LADDERS = ("five blocks", "twelve blocks", "another order")

RATES = (
    Mutant(
        "embedding within a part",
        _rates(lowest=lambda path: "embedding" in path),
        "A name counts with the embedding in which these letters stand within a longer part: cut the name at its dots, "
        "and compare whole parts.",
        "14.5",
        ("another order",),
    ),
    Mutant(
        "embedding of the encoder alone",
        _rates(lowest=lambda path: path.startswith("encoder.embedding.")),
        "The part embedding is looked for at one place, behind encoder for instance: it may stand anywhere in a name.",
        "14.5",
        ("another order",),
    ),
    Mutant(
        "embedding at the beginning alone",
        _rates(lowest=lambda path: path.startswith("embedding")),
        "The part embedding is looked for at one place, the beginning for instance: it may stand anywhere in a name.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "blocks at the second place alone",
        _rates(number="second"),
        "The part blocks is looked for at one place, behind encoder for instance: it may stand anywhere in a name.",
        "14.5",
        ("another order",),
    ),
    Mutant(
        "any number",
        _rates(number="any"),
        "Any number in a name is taken for that of a block: it is the part behind the part blocks.",
        "14.5",
        ("another order",),
    ),
    Mutant(
        "one step too few",
        _rates(lambda h, top, lr, share: lr * share ** ((top - h) / (top - 1))),
        "The factor is the root of share with one step too few: from the embedding to the top there are blocks + 1 "
        "steps.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "one step too many",
        _rates(lambda h, top, lr, share: lr * share ** ((top - h) / (top + 1))),
        "The factor is the root of share with one step too many: from the embedding to the top there are blocks + 1 "
        "steps.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "top one step up",
        _rates(lambda h, top, lr, share: lr * share ** ((top + 1 - h) / (top + 1))),
        "The top has less than lr: it is the place to count from, so it has the power 0.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "share for every step",
        _rates(lambda h, top, lr, share: lr * share ** (top - h)),
        "share is taken as the factor of one step: it is that of all steps together, so a root is to be taken.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "straight line",
        _rates(lambda h, top, lr, share: lr * (share + (1 - share) * h / top)),
        "The rates lie on a straight line: from layer to layer it is the same factor, not the same difference.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "upside down",
        _rates(lambda h, top, lr, share: lr * share ** (h / top)),
        "The order is upside down: the embedding should have the lowest rate.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "above lr",
        _rates(lambda h, top, lr, share: lr * share ** ((h - top) / top)),
        "The lower layers have the higher rates, above lr: the exponent has the wrong sign.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "factors without lr",
        _rates(lambda h, top, lr, share: share ** ((top - h) / top)),
        "These are factors: the rates are lr times them.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "share as a rate",
        _rates(lambda h, top, lr, share: lr * (share / lr) ** ((top - h) / top)),
        "share is taken as the rate of the embedding: it is that rate divided by lr.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "block 0 with the embedding",
        _rates(first=0),
        "Block 0 has the rate of the embedding, and every block that of the one below it: block 0 stands one step "
        "above.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "blocks counted from above",
        lambda paths, blocks, lr, share: _rates()(tuple(_mirrored(path, blocks) for path in paths), blocks, lr, share),
        "The blocks are counted from above: block 0 is the lowest, next to the embedding.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "first digit",
        _rates(prefix=True),
        "Block 10 is taken for block 1: read the whole number, up to the next dot.",
        "14.5",
        ("twelve blocks",),
    ),
    Mutant(
        "last norm with the last block",
        _rates(norm="last block"),
        "The encoder's last norm has the rate of the last block: it is in no block, so it has the rate of the top.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "last norm with the embedding",
        _rates(norm="embedding"),
        "The encoder's last norm has the rate of the embedding: it is in no block and stands above all of them.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "pool below the head",
        _rates(norm="pool below"),
        "The pool has a step of its own below the head: whatever is neither embedding nor block has the rate lr.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "the rest does not move",
        lambda paths, blocks, lr, share: np.array([
            rate if "embedding" in path.split(".") or "blocks" in path.split(".") else 0.0
            for path, rate in zip(paths, _rates()(paths, blocks, lr, share), strict=True)]),
        "What is in no block has the rate 0: pool, head and last norm have the full rate lr.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "tables alone",
        lambda paths, blocks, lr, share: np.array([
            lr if ".embedding.norm" in path else rate
            for path, rate in zip(paths, _rates()(paths, blocks, lr, share), strict=True)]),
        "The embedding's own norm has the rate of the top: all that is below embedding has the lowest rate.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "sorted",
        lambda paths, blocks, lr, share: np.sort(_rates()(paths, blocks, lr, share)),
        "The rates are sorted: they stand in the order of the paths.",
        "14.5",
        ("another order", "twelve blocks"),
    ),
    Mutant(
        "equal for all but the embedding",
        _rates(lambda h, top, lr, share: lr * share if h == 0 else lr),
        "Every block has the full rate: the rates fall step by step, from the top down to the embedding.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "last block with the top",
        _rates(lambda h, top, lr, share: lr * share ** ((top - 1 - min(h, top - 1)) / (top - 1))),
        "The last block has the rate of the top: it stands one step below.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "block 0 with the embedding, and a step less",
        _rates(lambda h, top, lr, share: lr * share ** ((top - max(h, 1)) / (top - 1))),
        "Block 0 has the rate of the embedding: it stands one step above, so there are blocks + 1 steps.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "head above the rest of the top",
        lambda paths, blocks, lr, share: np.array([
            lr * share ** (1 - (_heights(path, blocks) + path.startswith("head")) / (blocks + 2)) for path in paths]),
        "The head has a step of its own above pool and last norm: all that is in no block and no embedding is one "
        "layer, the top.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "place in the list",
        lambda paths, blocks, lr, share: lr * share ** (1 - np.arange(len(paths)) / (len(paths) - 1)),
        "The rate goes by the place in the list: it goes by the layer, and all parameters of a layer have one rate.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "exponential in share",
        _rates(lambda h, top, lr, share: lr * math.exp(-share * (top - h))),
        "The rate falls by exp(−share) a step: share is the rate of the embedding over lr, so the steps multiply to "
        "share.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "a fixed factor",
        _rates(lambda h, top, lr, share: lr / 2.6 ** (top - h)),
        "The factor of a step is 2.6, as in a well-known recipe: here it follows from share and the number of steps.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "a half each",
        _rates(lambda h, top, lr, share: lr * 0.5 ** (top - h)),
        "The factor of a step is one half: here it follows from share and the number of steps.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "harmonic",
        _rates(lambda h, top, lr, share: lr / (1 + (1 / share - 1) * (top - h) / top)),
        "The inverses of the rates lie on a straight line: from layer to layer it is the same factor.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "table of words alone",
        lambda paths, blocks, lr, share: np.array([
            lr if "embedding" in path and "tokens" not in path else rate
            for path, rate in zip(paths, _rates()(paths, blocks, lr, share), strict=True)]),
        "Of the embedding only the table of words has the lowest rate: positions and norm have the part embedding "
        "in their names too.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "all embedding but the table at block 0",
        lambda paths, blocks, lr, share: np.array([
            lr * share ** (1 - 1 / (blocks + 1)) if "embedding.norm" in path else rate
            for path, rate in zip(paths, _rates()(paths, blocks, lr, share), strict=True)]),
        "The embedding's norm has the rate of block 0: all that has the part embedding is the lowest layer.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "norms at the top",
        lambda paths, blocks, lr, share: np.array([
            lr if "norm" in path else rate
            for path, rate in zip(paths, _rates()(paths, blocks, lr, share), strict=True)]),
        "Every norm has the rate of the top: a norm inside of a block belongs to that block, and the embedding's to "
        "the embedding.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "pool with the last block",
        lambda paths, blocks, lr, share: np.array([
            lr * share ** (1 / (blocks + 1)) if path.startswith("pool") else rate
            for path, rate in zip(paths, _rates()(paths, blocks, lr, share), strict=True)]),
        "The pool has the rate of the last block: whatever is in no block and no embedding has the rate lr.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "another base",
        _rates(lambda h, top, lr, share: 10 ** (math.log(lr * share) - math.log(share) * h / top)),
        "The logarithm and the power have different bases: np.logspace takes exponents of 10.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "blocks from 1",
        _rates(first=2),
        "The blocks stand one step too high: block 0 is one step above the embedding, and the last one step below "
        "the top.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "embedding frozen",
        _rates(lambda h, top, lr, share: lr * share ** ((top - h) / top) if h else 0.0),
        "The embedding is frozen: it has share times lr.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "share twice",
        _rates(lambda h, top, lr, share: lr * share ** (2 * (top - h) / top)),
        "The factor of a step is used twice: all steps together are share.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "root of share",
        _rates(lambda h, top, lr, share: lr * share ** ((top - h) / top / 2)),
        "All steps together are the root of share: they should be share.",
        "14.5",
        LADDERS,
    ),
    Mutant(
        "a cosine",
        _rates(lambda h, top, lr, share: lr * (share + (1 - share) * (1 - math.cos(math.pi * h / top)) / 2)),
        "The rates rise like a cosine: from layer to layer it is the same factor.",
        "14.5",
        LADDERS,
    ),
)


def _mirrored(path, blocks):
    parts = path.split(".")
    if "blocks" in parts:
        at = parts.index("blocks") + 1
        parts[at] = str(blocks - 1 - int(parts[at]))
    return ".".join(parts)


# 14.6


def _strip(row):
    return tuple(int(i) for i in row if i)


def _detective(copies="exact", marks="both", one="exact", epoch="exact", order=(1, 2, 3, 4), fair=True):
    """The detective with one eye shut."""

    def copied(train, test):
        if copies == "exact":
            return bool({_strip(t) for t in train} & {_strip(t) for t in test})
        if copies == "bag":
            return bool({tuple(sorted(_strip(t))) for t in train} & {tuple(sorted(_strip(t))) for t in test})
        if copies == "common":  # over the shorter of two texts
            return any(_begins(_strip(a), _strip(b)) for a in train for b in test)
        if copies == "in the test":
            return len({_strip(t) for t in (*train, *test)}) < len(train) + len(test)
        if copies == "among the tests":
            return len({_strip(t) for t in test}) < len(test)
        if copies == "or among the tests":
            return len({_strip(t) for t in test}) < len(test) or bool(set(map(_strip, train)) & set(map(_strip, test)))
        if copies == "subset":
            return any(set(_strip(b)) <= set(_strip(a)) for a in train for b in test)
        if copies == "nearly":
            return any(_most(_strip(a), _strip(b)) for a in train for b in test)
        return False

    def labelled(train, y_train, test, y_test):
        some = {"both": [(train, y_train), (test, y_test)], "train": [(train, y_train)], "test": [(test, y_test)],
                "no": []}.get(marks, [(train, y_train), (test, y_test)])
        words = set if marks == "padding" else lambda text: set(_strip(text))
        texts = [(words(t.tolist()), int(y)) for T, Y in some for t, y in zip(T, Y, strict=True)]
        for label in (1, 0)[: 1 if marks == "positive" else 2] if texts else ():
            inside = set.intersection(*(t for t, y in texts if y == label))
            others = set.union(*(t for t, y in texts if y != label))
            if inside - others or marks == "common" and inside:
                return True
            if marks == "one side" and any(sum(w in t for t, _ in texts) > 3 for w in inside | others if not any(
                    w in t for t, y in texts if y == label)):
                return True
            if marks == "nearly" and any(_wrong(w, texts, label) <= 1 for w in inside | others):
                return True
        return False

    def function(train, y_train, test, y_test, said, dev, score, chosen):
        counts = np.bincount(said, minlength=2)
        often = {"exact": counts.min() == 0, "most": counts.min() <= 1, "guess": _guess(said, y_test),
                 "positive": counts[0] == 0, "no": False}[one]
        picked = {"exact": dev[chosen] < dev.max() and score[chosen] == score.max(),
                  "score": chosen == score.argmax(), "tie": chosen != dev.argmax() and chosen == score.argmax(),
                  "not dev": chosen != dev.argmax(), "max": score[chosen] == score.max(),
                  "differ": dev.argmax() != score.argmax(), "above": score[chosen] > dev[chosen],
                  "last": chosen == len(dev) - 1, "dev": dev[chosen] < dev.max(), "no": False}[epoch]
        found = {1: copied(train, test), 2: labelled(train, y_train, test, y_test), 3: often, 4: picked}
        for k in order:
            if found[k]:
                return NAMES[k]
        return NAMES[0] if fair else NAMES[4]

    return function


def _wrong(word, texts, label):
    """In how many texts the word does not tell the label."""
    return sum((word in text) != (y == label) for text, y in texts)


def _begins(a, b):
    n = min(len(a), len(b))
    return a[:n] == b[:n]


def _most(a, b):
    n = max(len(a), len(b))
    return sum(x == y for x, y in zip(a, b, strict=False)) >= n - 1


def _guess(said, y):
    """No better than the more frequent answer."""
    return (said == y).mean() <= max(y.mean(), 1 - y.mean())


RECORDS = ("ten reports", "nine innocents", "other reports")

DETECTIVES = (
    Mutant(
        "words of one label",
        _detective(marks="one side"),
        "A word is accused that stands in a few texts of one label and in none of the other: that happens by chance. "
        "It has to stand in all texts of one label.",
        "14.5",
        ("ten reports", "nine innocents"),
    ),
    Mutant(
        "copies among the tests alone",
        _detective(copies="among the tests"),
        "Texts of the test are compared with each other: one that comes twice there was not learnt in train. Compare "
        "the test with train.",
        "14.5",
        ("ten reports", "more innocents"),
    ),
    Mutant(
        "copies among the tests too",
        _detective(copies="or among the tests"),
        "A text that comes twice in the test alone is called a copy: the model has not seen it in train, so it leaks "
        "nothing.",
        "14.5",
        ("more innocents",),
    ),
    Mutant(
        "dev alone",
        _detective(epoch="dev"),
        "An epoch is accused because dev would have chosen another: to be chosen on the test, it has to "
        "be best there.",
        "14.5",
        ("more innocents",),
    ),
    Mutant(
        "padding labels",
        _detective(marks="padding"),
        "The 0 that fills up a row is taken for a word that tells the label: it is padding, so take it off first.",
        "14.5",
        ("more innocents",),
    ),
    Mutant(
        "nobody is innocent",
        _detective(fair=False),
        "A fair report is accused: if none of the four is found, it is fair.",
        "14.5",
        RECORDS,
    ),
    Mutant(
        "same words in another order",
        _detective(copies="bag"),
        "Texts that have the same words in another order are taken for one: a text is its words in their order.",
        "14.5",
        ("nine innocents",),
    ),
    Mutant(
        "same beginning",
        _detective(copies="common"),
        "A text that is the beginning of another is taken for the same: compare all of it, down to the last word.",
        "14.5",
        ("nine innocents",),
    ),
    Mutant(
        "repeated in train",
        _detective(copies="in the test"),
        "A text that stands in train twice is taken for a leak: only one that stands in both train and test is.",
        "14.5",
        ("nine innocents",),
    ),
    Mutant(
        "nearly the same",
        _detective(copies="nearly"),
        "Texts that differ in one word are taken for the same: here every word has to agree.",
        "14.5",
        ("nine innocents",),
    ),
    Mutant(
        "copies not seen",
        _detective(copies="no"),
        "A text that stands in both train and test is not noticed. The two are filled up to different lengths: take "
        "the 0 off before you compare.",
        "14.5",
        ("ten reports", "other reports"),
    ),
    Mutant(
        "word of the training set",
        _detective(marks="train"),
        "A word is accused that tells the label in train alone: in the test it does not, so it leaks nothing there.",
        "14.5",
        ("nine innocents",),
    ),
    Mutant(
        "word of the test set",
        _detective(marks="test"),
        "A word is accused that tells the label in the test alone: the model cannot have learned it in train.",
        "14.5",
        ("nine innocents",),
    ),
    Mutant(
        "word of the label 1 alone",
        _detective(marks="positive"),
        "A word that all texts of label 0 have, and no other, is not noticed: it tells the label just as well.",
        "14.5",
        ("ten reports", "other reports"),
    ),
    Mutant(
        "words not looked at",
        _detective(marks="no"),
        "A word that gives the label away is not noticed: look for one that is in all texts of a label and in no "
        "other.",
        "14.5",
        ("ten reports", "other reports"),
    ),
    Mutant(
        "nearly always the same answer",
        _detective(one="most"),
        "A model that nearly always says the same is accused: one other answer is enough to be innocent of this.",
        "14.5",
        ("nine innocents",),
    ),
    Mutant(
        "no better than guessing",
        _detective(one="guess"),
        "A poor model is taken for one that always says the same: look at its answers, not at how many are right.",
        "14.5",
        (),
    ),
    Mutant(
        "always 1 alone",
        _detective(one="positive"),
        "A model that always says 0 is not noticed: it is the same fault as always 1.",
        "14.5",
        ("ten reports", "other reports"),
    ),
    Mutant(
        "answers not looked at",
        _detective(one="no"),
        "A model that always says the same is not noticed: are there two different numbers in said?",
        "14.5",
        ("ten reports", "other reports"),
    ),
    Mutant(
        "best on the test is guilty",
        _detective(epoch="max"),
        "An epoch that is best on the test is accused though it is best on dev as well: then it was chosen fairly, "
        "and was lucky.",
        "14.5",
        ("nine innocents",),
    ),
    Mutant(
        "another of the best",
        _detective(epoch="tie"),
        "Two epochs are equally good on dev, and the second was chosen, which is as fair: argmax knows the first "
        "alone. "
        "Compare the shares, not the places.",
        "14.5",
        ("nine innocents",),
    ),
    Mutant(
        "dev and test disagree",
        _detective(epoch="differ"),
        "A report is accused because another epoch is better on the test than on dev: that is usual. Which one was "
        "chosen?",
        "14.5",
        RECORDS,
    ),
    Mutant(
        "epochs not looked at",
        _detective(epoch="no"),
        "An epoch that was chosen by the test is not noticed: it is not best on dev, and best on the test.",
        "14.5",
        ("ten reports", "other reports"),
    ),
    Mutant(
        "some of the words",
        _detective(copies="subset"),
        "A text whose words are all in another is taken for the same: a text is its words in their order, all of them.",
        "14.5",
        ("nine innocents",),
    ),
    Mutant(
        "a word that they share",
        _detective(marks="common"),
        "A word is accused that does not tell the label: it has to be in all texts of one label, and in none of the "
        "other. A word of every text tells nothing, and neither does a rare one.",
        "14.5",
        ("ten reports", "nine innocents"),
    ),
    Mutant(
        "a word that they nearly share",
        _detective(marks="nearly"),
        "A word is accused that tells nearly every label: one text that breaks the rule makes it innocent here.",
        "14.5",
        ("nine innocents",),
    ),
    Mutant(
        "labels asked first",
        _detective(marks="common", order=(2, 1, 3, 4)),
        "A word is accused that does not tell the label: it has to be in all texts of one label, and in none of the "
        "other. A word of every text tells nothing, and neither does a rare one.",
        "14.5",
        ("ten reports",),
    ),
    Mutant(
        "test above dev",
        _detective(epoch="above"),
        "A report is accused because its share is higher on the test than on dev: a small test often is. Which "
        "epoch would dev have chosen?",
        "14.5",
        ("ten reports",),
    ),
    Mutant(
        "last epoch",
        _detective(epoch="last"),
        "A report is accused because of the number of its epoch: what counts is which epoch dev would have chosen.",
        "14.5",
        ("ten reports",),
    ),
    Mutant(
        "all are believed",
        _detective(copies="no", marks="no", one="no", epoch="no"),
        "Every report is believed: seven of the ten have a flaw.",
        "14.5",
        ("ten reports", "other reports"),
    ),
)

# 14.7


def _adapter(s_of=None, s_A=None, s_B=None, s_X=None, drop_U=True, drop_A=True, drop_X="adapter", path="both",
             mean=False, square=False):
    """The backward pass with one part replaced by a wrong one."""

    def function(X, M, A, B, W, alpha, dY):
        r = A.shape[1]
        s = s_of(alpha, r, A) if s_of else alpha / r
        s_in_A, s_in_B, s_in_X = ((s if k is None else k(s)) for k in (s_A, s_B, s_X))
        D = X * M
        flat = [x.reshape(-1, x.shape[-1]) for x in (D if drop_A else X, D if drop_U else X, dY)]
        reads_A, reads_U, up = flat
        T = len(up) if mean else 1
        dA = s_in_A * reads_A.T @ (up @ B.T) / T
        dB = s_in_B * (reads_U @ A).T @ up / T
        into = s_in_X * (dY @ B.T) @ A.T
        straight = dY @ W.T
        gate = M * M if square else M
        if path == "merged":
            return straight, dA, dB
        if path == "adapter":
            return gate * into, dA, dB
        if drop_X == "all":
            return gate * (straight + into), dA, dB
        if drop_X == "none":
            return straight + into, dA, dB
        if drop_X == "straight":
            return gate * straight + into, dA, dB
        return straight + gate * into, dA, dB

    return function


def _one(s):
    return 1.0


def _twice(s):
    return s * s


WIDE = ("dropout", "leading axes")
GRADS = ("dA", "dB", "dX", *WIDE)

ADAPTERS = (
    Mutant(
        "gradient of the frozen matrix",
        lambda X, M, A, B, W, alpha, dY: (
            X.reshape(-1, len(W)).T @ dY.reshape(-1, W.shape[1]), *_adapter()(X, M, A, B, W, alpha, dY)[1:]),
        "The first output is the gradient of W, which is frozen: it is that of X.",
        "14.6",
        ("dX", *WIDE),
    ),
    Mutant(
        "scale forgotten",
        _adapter(s_A=_one, s_B=_one, s_X=_one),
        "s = alpha / r is missing in all three: it multiplies the adapter, so it multiplies all that comes back "
        "through it.",
        "14.6",
        GRADS,
    ),
    Mutant(
        "scale forgotten in dA",
        _adapter(s_A=_one),
        "dA lacks s: the gradient passes s on its way to A, as it does on its way to B.",
        "14.6",
        ("dA", *WIDE),
    ),
    Mutant(
        "scale forgotten in dB",
        _adapter(s_B=_one),
        "dB lacks s: Y has s U B, so dB = s Uᵀ dY.",
        "14.6",
        ("dB", *WIDE),
    ),
    Mutant(
        "scale forgotten in dX",
        _adapter(s_X=_one),
        "dX lacks s in the adapter's part.",
        "14.6",
        ("dX", *WIDE),
    ),
    Mutant(
        "scale forgotten in dA and dX",
        _adapter(s_A=_one, s_X=_one),
        "dA and the adapter's part of dX lack s: what arrives at U is s dY Bᵀ, and both are made of it.",
        "14.6",
        ("dA", "dX", *WIDE),
    ),
    Mutant(
        "scale twice in dA",
        _adapter(s_A=_twice),
        "dA has s twice: once on the way to U, and never again.",
        "14.6",
        ("dA", *WIDE),
    ),
    Mutant(
        "scale twice in dB",
        _adapter(s_B=_twice),
        "dB has s twice: U = (X ∘ M) A without it, and s dY.",
        "14.6",
        ("dB", *WIDE),
    ),
    Mutant(
        "scale twice in dX",
        _adapter(s_X=_twice),
        "dX has s twice in the adapter's part.",
        "14.6",
        ("dX", *WIDE),
    ),
    Mutant(
        "alpha for the scale",
        _adapter(s_of=lambda alpha, r, A: alpha),
        "The adapter is scaled by alpha: it is alpha / r.",
        "14.6",
        GRADS,
    ),
    Mutant(
        "alpha times r",
        _adapter(s_of=lambda alpha, r, A: alpha * r),
        "The adapter is scaled by alpha · r: it is alpha / r.",
        "14.6",
        GRADS,
    ),
    Mutant(
        "root of r",
        _adapter(s_of=lambda alpha, r, A: alpha / math.sqrt(r)),
        "The adapter is scaled by alpha / √r, as rank-stabilised LoRA does: here it is alpha / r.",
        "14.6",
        GRADS,
    ),
    Mutant(
        "width for the rank",
        _adapter(s_of=lambda alpha, r, A: alpha / len(A)),
        "alpha is divided by d_in: r is the other axis of A.",
        "14.6",
        GRADS,
    ),
    Mutant(
        "dropout forgotten",
        _adapter(drop_A=False, drop_U=False, drop_X="none"),
        "M is nowhere: the adapter reads X ∘ M, so A, B and the adapter's part of dX know of it.",
        "14.6",
        WIDE,
    ),
    Mutant(
        "dropout forgotten in dA and dB",
        _adapter(drop_A=False, drop_U=False),
        "dA and dB are made with X: the adapter reads X ∘ M.",
        "14.6",
        WIDE,
    ),
    Mutant(
        "dropout forgotten in dA",
        _adapter(drop_A=False),
        "dA is made with X: A reads X ∘ M.",
        "14.6",
        WIDE,
    ),
    Mutant(
        "dropout forgotten in dB",
        _adapter(drop_U=False),
        "dB is made with X A: what B reads is (X ∘ M) A.",
        "14.6",
        WIDE,
    ),
    Mutant(
        "dropout forgotten in dX",
        _adapter(drop_X="none"),
        "dX lacks M in the adapter's part: what was dropped forward gets nothing back, and what was enlarged gets "
        "more.",
        "14.6",
        WIDE,
    ),
    Mutant(
        "dropout on both paths",
        _adapter(drop_X="all"),
        "M multiplies all of dX: the frozen path reads X as it is, only the adapter reads X ∘ M.",
        "14.6",
        WIDE,
    ),
    Mutant(
        "dropout on the frozen path",
        _adapter(drop_X="straight"),
        "M multiplies the frozen path in dX: it belongs to the adapter's.",
        "14.6",
        WIDE,
    ),
    Mutant(
        "M twice",
        _adapter(square=True),
        "M is in dX twice.",
        "14.6",
        WIDE,
    ),
    Mutant(
        "frozen path alone",
        _adapter(path="merged"),
        "dX is dY Wᵀ alone: X is read by the adapter as well, and two paths add up.",
        "14.6",
        ("dX", *WIDE),
    ),
    Mutant(
        "adapter's path alone",
        _adapter(path="adapter"),
        "dX lacks dY Wᵀ: W is frozen, but the gradient passes through it on its way down.",
        "14.6",
        ("dX", *WIDE),
    ),
    Mutant(
        "mean over the tokens",
        _adapter(mean=True),
        "dA and dB are divided by the number of tokens: gradients add up over tokens, and a mean in the loss is "
        "already in dY.",
        "14.6",
        ("dA", "dB", *WIDE),
    ),
    Mutant(
        "dropped or not",
        lambda X, M, A, B, W, alpha, dY: _adapter()(X, (M > 0) * 1.0, A, B, W, alpha, dY),
        "M counts as True and False: what stays was multiplied by 1/(1 − p), and so is its gradient.",
        "14.6",
        WIDE,
    ),
    Mutant(
        "output width for the rank",
        lambda X, M, A, B, W, alpha, dY: _adapter(s_of=lambda alpha, r, A: alpha / B.shape[1])(
            X, M, A, B, W, alpha, dY),
        "alpha is divided by d_out: r is the other axis of B.",
        "14.6",
        GRADS,
    ),
    Mutant(
        "upside down",
        _adapter(s_of=lambda alpha, r, A: r / alpha),
        "The scale is upside down: it is alpha / r.",
        "14.6",
        GRADS,
    ),
    Mutant(
        "X in its own gradient",
        lambda X, M, A, B, W, alpha, dY: (dY @ W.T + M * X * (alpha / A.shape[1] * dY @ B.T @ A.T),
                                            *_adapter()(X, M, A, B, W, alpha, dY)[1:]),
        "dX contains X: by X ∘ M the gradient is multiplied by M alone.",
        "14.6",
        ("dX", *WIDE),
    ),
    Mutant(
        "signs",
        lambda *inputs: tuple(-x for x in _adapter()(*inputs)),
        "All signs are the opposite: these are gradients and not steps.",
        "14.6",
        GRADS,
    ),
    Mutant(
        "dropout in dU",
        lambda X, M, A, B, W, alpha, dY: (
            _adapter()(X, M, A, B, W, alpha, dY)[0], _adapter(square=True)(X, M * M, A, B, W, alpha, dY)[1],
            _adapter()(X, M, A, B, W, alpha, dY)[2]),
        "M is in dA twice.",
        "14.6",
        WIDE,
    ),
    Mutant(
        "enlarged twice",
        lambda X, M, A, B, W, alpha, dY: _adapter()(X, M * M.max(), A, B, W, alpha, dY),
        "What stays is divided by 1 − p once more: M has that in it already.",
        "14.6",
        WIDE,
    ),
    Mutant(
        "scale on the frozen path",
        lambda X, M, A, B, W, alpha, dY: (_adapter()(X, M, A, B, alpha / A.shape[1] * W, alpha, dY)[0],
                                            *_adapter()(X, M, A, B, W, alpha, dY)[1:]),
        "The frozen path is scaled as well: s belongs to the adapter.",
        "14.6",
        ("dX", *WIDE),
    ),
    Mutant(
        "scale once too few in A",
        lambda X, M, A, B, W, alpha, dY: _adapter(s_A=lambda s: 1 / s)(X, M, A, B, W, alpha, dY),
        "dA is divided by s: it is multiplied.",
        "14.6",
        ("dA", *WIDE),
    ),
    Mutant(
        "dropped or not in dX",
        lambda X, M, A, B, W, alpha, dY: (_adapter()(X, (M > 0) * 1.0, A, B, W, alpha, dY)[0],
                                            *_adapter()(X, M, A, B, W, alpha, dY)[1:]),
        "M counts as True and False in dX: what stays was multiplied by 1/(1 − p), and so is its gradient.",
        "14.6",
        WIDE,
    ),
)

# 14.8


def _first(move=None, W_of=None, c_of=None, A_of=None):
    def function(G, A, alpha, lr):
        d, r = A.shape
        s = alpha / r
        move_B = move(G, A, s, lr, r, alpha) if move else -lr * s * A.T @ G
        move_W = W_of(A, move_B, s, G, lr) if W_of else s * A @ move_B
        c = c_of(d, r, alpha, lr, G) if c_of else -lr * alpha**2 / (r * d)
        move_A = A_of(A, G, s, lr) if A_of else np.zeros_like(A)
        return move_A, move_B, move_W, c

    return function


BEGUN = ("who moves", "the merged matrix", "rank above alpha")
MERGED = ("the merged matrix", "rank above alpha")
MEAN = ("in the mean", "rank above alpha")

def _in_turn(G, A, alpha, lr):
    s, (_, B, move_W, c) = alpha / A.shape[1], _first()(G, A, alpha, lr)
    move_A = -lr * s * G @ B.T
    return move_A, B, move_W + s * move_A @ B, c


FIRSTS = (
    Mutant(
        "mean for this A",
        lambda G, A, alpha, lr: (*(o := _first()(G, A, alpha, lr))[:2], o[3] * G, o[3]),
        "The move of the merged matrix is c G: that is its mean over all A, and this A makes −lr s² A Aᵀ G.",
        "14.6",
        MERGED,
    ),
    Mutant(
        "nothing moves",
        _first(move=lambda G, A, s, lr, r, alpha: np.zeros((r, G.shape[1])), c_of=lambda *_: 0.0),
        "B is taken to stand still, since it is 0: its gradient is s Aᵀ G, and A is not 0.",
        "14.6",
        BEGUN,
    ),
    Mutant(
        "A moves as well",
        _first(A_of=lambda A, G, s, lr: -lr * s * G @ np.ones((G.shape[1], A.shape[1]))),
        "A moves: its gradient is s G Bᵀ, and B is 0.",
        "14.6",
        ("who moves", "rank above alpha"),
    ),
    Mutant(
        "A moves like W",
        _first(A_of=lambda A, G, s, lr: -lr * A),
        "A moves: its gradient is s G Bᵀ, and B is 0.",
        "14.6",
        ("who moves", "rank above alpha"),
    ),
    Mutant(
        "scale forgotten in the gradient",
        _first(move=lambda G, A, s, lr, r, alpha: -lr * A.T @ G),
        "B moves without s: the merged matrix is W + s A B, so its gradient reaches B through s.",
        "14.6",
        BEGUN,
    ),
    Mutant(
        "alpha for the scale",
        _first(move=lambda G, A, s, lr, r, alpha: -lr * alpha * A.T @ G,
               W_of=lambda A, move_B, s, G, lr: s * A.shape[1] * A @ move_B,
               c_of=lambda d, r, alpha, lr, G: -lr * alpha**2 * r / d),
        "The scale is taken to be alpha: it is alpha / r.",
        "14.6",
        (*BEGUN, "in the mean"),
    ),
    Mutant(
        "upwards",
        _first(move=lambda G, A, s, lr, r, alpha: lr * s * A.T @ G, c_of=lambda d, r, alpha, lr, G:
               lr * alpha**2 / (r * d)),
        "B moves up the loss: a step of descent goes against the gradient, with a minus.",
        "14.6",
        (*BEGUN, "in the mean"),
    ),
    Mutant(
        "gradients, not moves",
        _first(move=lambda G, A, s, lr, r, alpha: s * A.T @ G, c_of=lambda d, r, alpha, lr, G: alpha**2 / (r * d)),
        "These are gradients: a parameter moves by −lr times its gradient.",
        "14.6",
        (*BEGUN, "in the mean"),
    ),
    Mutant(
        "scale once in the merged matrix",
        _first(W_of=lambda A, move_B, s, G, lr: A @ move_B),
        "The merged matrix moves by s A times the move of B: s counts twice, once in the gradient and once in the "
        "merging.",
        "14.6",
        MERGED,
    ),
    Mutant(
        "merged matrix moves like W",
        _first(W_of=lambda A, move_B, s, G, lr: -lr * G),
        "The merged matrix is taken to move as if it were trained itself: it moves only where A and B take it.",
        "14.6",
        MERGED,
    ),
    Mutant(
        "merged matrix stands still",
        _first(W_of=lambda A, move_B, s, G, lr: 0 * G),
        "The merged matrix stands still: W is frozen, but W + s A B moves with B.",
        "14.6",
        MERGED,
    ),
    Mutant(
        "rank squared",
        _first(c_of=lambda d, r, alpha, lr, G: -lr * alpha**2 / (r * r * d)),
        "The mean of A Aᵀ is taken to be 1/d_in: an entry on its diagonal is a sum of r squares, so it is r/d_in.",
        "14.6",
        MEAN,
    ),
    Mutant(
        "mean without the width",
        _first(c_of=lambda d, r, alpha, lr, G: -lr * alpha**2 / r),
        "The variance of A's entries is missing: an entry on the diagonal of A Aᵀ is r/d_in in the mean.",
        "14.6",
        MEAN,
    ),
    Mutant(
        "A Aᵀ is the identity",
        _first(c_of=lambda d, r, alpha, lr, G: -lr * alpha**2 / r**2),
        "A Aᵀ is taken to be the identity in the mean: that is Aᵀ A, where d_in squares of 1/d_in are added. In A Aᵀ r "
        "of them are.",
        "14.6",
        MEAN,
    ),
    Mutant(
        "scale once in the mean",
        _first(c_of=lambda d, r, alpha, lr, G: -lr * alpha / d),
        "s counts once in the mean: the move of the merged matrix has s².",
        "14.6",
        MEAN,
    ),
    Mutant(
        "no scale in the mean",
        _first(c_of=lambda d, r, alpha, lr, G: -lr * r / d),
        "s is missing in the mean: the move of the merged matrix has s².",
        "14.6",
        MEAN,
    ),
    Mutant(
        "deviation for variance",
        _first(c_of=lambda d, r, alpha, lr, G: -lr * alpha**2 / (r * math.sqrt(d))),
        "The deviation 1/√d_in stands for the variance 1/d_in: A is in A Aᵀ twice.",
        "14.6",
        MEAN,
    ),
    Mutant(
        "other width",
        _first(c_of=lambda d, r, alpha, lr, G: -lr * alpha**2 / (r * G.shape[1])),
        "The mean is divided by d_out: the entries of A have the variance 1/d_in.",
        "14.6",
        MEAN,
    ),
    Mutant(
        "mean without its sign",
        _first(c_of=lambda d, r, alpha, lr, G: lr * alpha**2 / (r * d)),
        "c lacks its minus: the merged matrix moves against G.",
        "14.6",
        MEAN,
    ),
    Mutant(
        "mean without the rate",
        _first(c_of=lambda d, r, alpha, lr, G: -(alpha**2) / (r * d)),
        "c lacks the rate lr.",
        "14.6",
        MEAN,
    ),
    Mutant(
        "mean of zero",
        _first(c_of=lambda d, r, alpha, lr, G: 0.0),
        "c is not 0, though A has mean 0: A is in the move twice, and the mean of a square is not 0.",
        "14.6",
        MEAN,
    ),
    Mutant(
        "c of W itself",
        _first(c_of=lambda d, r, alpha, lr, G: -lr),
        "This is −lr, as if W itself were trained: s counts twice, and A Aᵀ in the mean.",
        "14.6",
        MEAN,
    ),
    Mutant(
        "c of this A",
        lambda G, A, alpha, lr: (*_first()(G, A, alpha, lr)[:3],
                                 -lr * (alpha / A.shape[1]) ** 2 * (A * A).sum() / len(A)),
        "c is computed from this A: it is asked of the mean over all A, where a square of an entry has the mean "
        "1/d_in.",
        "14.6",
        MEAN,
    ),
    Mutant(
        "mean of quotients",
        lambda G, A, alpha, lr: (*_first()(G, A, alpha, lr)[:3], float((_first()(G, A, alpha, lr)[2] / G).mean())),
        "c is computed from this A, as a mean of quotients: it is asked of the mean over all A, where a square of "
        "an entry has the mean 1/d_in.",
        "14.6",
        MEAN,
    ),
    Mutant(
        "A where it is",
        _first(A_of=lambda A, G, s, lr: A),
        "This is A itself: asked is how far it moves.",
        "14.6",
        ("who moves", "rank above alpha"),
    ),
    Mutant(
        "turned round",
        lambda *inputs: (lambda moves: (moves[0], moves[1].T, *moves[2:]))(_first()(*inputs)),
        "The move of B is turned round: B is (r, d_out), so it is Aᵀ G.",
        "14.6",
        ("who moves",),
    ),
    Mutant(
        "sign alone",
        _first(move=lambda G, A, s, lr, r, alpha: -lr * np.sign(A.T @ G)),
        "B moves by the sign of its gradient, as Adam's first step does: this is plain gradient descent.",
        "14.6",
        ("who moves", "rank above alpha"),
    ),
    Mutant(
        "squared scale",
        _first(move=lambda G, A, s, lr, r, alpha: -lr * s * s * A.T @ G),
        "B moves with s²: once for the gradient of B; the second s belongs to the merged matrix.",
        "14.6",
        ("who moves", "the merged matrix"),
    ),
    Mutant(
        "one after the other",
        lambda G, A, alpha, lr: _in_turn(G, A, alpha, lr),
        "A moves with the B that has moved already: both move in the same step, with the gradients from before it, "
        "and B was 0.",
        "14.6",
        ("who moves", "rank above alpha"),
    ),
)

POWERS = [
    (a, b, c)
    for a in (0, 1, 2) for b in (-3, -2, -1, 0, 1) for c in (-2, -1, 0, 1)
    if (a, b, c) not in ((2, -1, -1), (2, 1, -1), (2, -2, -1), (2, -1, 0), (2, -2, 0), (1, 0, -1), (0, 1, -1),
                         (0, 0, 0))
]
FIRSTS += tuple(
    Mutant(
        f"c with the powers {a}, {b}, {c}",
        _first(c_of=lambda d, r, alpha, lr, G, a=a, b=b, c=c: -lr * alpha**a * float(r) ** b * float(d) ** c),
        f"This is −lr times alpha to the power {a}, r to the power {b}, d_in to the power {c}: s² has alpha² / r², and "
        "the mean of A Aᵀ has r / d_in on its diagonal.",
        "14.6",
        ("in the mean",),
    )
    for a, b, c in POWERS
)

# 14.9


def _batch(make):
    return lambda r: make(r, np.random.default_rng(0))


RANKS = ("rank 2", "rank 3", "rank 1")

BATCHES = (
    Mutant(
        "one token more than the rank",
        _batch(lambda r, rng: (np.eye(r + 1), np.eye(r + 1))),
        "The step has rank r + 1, so no adapter of rank r makes it exactly; but the best one leaves one part of r + 1, "
        "and that should be half.",
        "14.6",
        ("rank 2", "rank 3"),
    ),
    Mutant(
        "one token less than enough",
        _batch(lambda r, rng: (np.eye(2 * r - 1), np.eye(2 * r - 1))),
        "One token is missing: of 2r − 1 equal parts the adapter takes r, which is more than half.",
        "14.6",
        RANKS,
    ),
    Mutant(
        "as many as the rank",
        _batch(lambda r, rng: (np.eye(r), np.eye(r))),
        "r tokens make a step of rank r at most, and an adapter of that rank makes it exactly.",
        "14.6",
        ("rank 2", "rank 3"),
    ),
    Mutant(
        "one token more than enough",
        _batch(lambda r, rng: (np.eye(2 * r + 1), np.eye(2 * r + 1))),
        "That is too much for the adapter, but fewer tokens do it: half may be left, not more than half.",
        "14.6",
        RANKS,
    ),
    Mutant(
        "two tokens more than enough",
        _batch(lambda r, rng: (np.eye(2 * r + 2), np.eye(2 * r + 2))),
        "That is too much for the adapter, but fewer tokens do it: half may be left, not more than half.",
        "14.6",
        RANKS,
    ),
    Mutant(
        "random tokens",
        _batch(lambda r, rng: (rng.normal(size=(2 * r, 2 * r + 3)), rng.normal(size=(2 * r, 2 * r + 4)))),
        "The step has as many parts as it should, but they are not equally large: the adapter takes the largest and "
        "leaves less than half. Let tokens, and gradients, be orthogonal and equally long.",
        "14.6",
        RANKS,
    ),
    Mutant(
        "one token again and again",
        _batch(lambda r, rng: (np.ones((2 * r, 3)), np.eye(2 * r))),
        "The step has rank 1, however many tokens there are: all rows of X are alike, for instance, or all of dY.",
        "14.6",
        RANKS,
    ),
    Mutant(
        "too narrow",
        _batch(lambda r, rng: (np.eye(2 * r)[:, : 2 * r - 1] if r > 1 else np.array([[1.0], [1.0]]), np.eye(2 * r))),
        "The step has one part less than there are tokens: two tokens, or two gradients, are not independent, or a "
        "width is below 2r.",
        "14.6",
        ("rank 2", "rank 3"),
    ),
    Mutant(
        "wide enough, half of it",
        _batch(lambda r, rng: (np.eye(2 * r)[:, :r], np.eye(2 * r)[:, :r])),
        "The step has rank r only: tokens, or gradients, that are too narrow, or that repeat. An adapter of that rank "
        "makes it exactly.",
        "14.6",
        ("rank 2", "rank 3"),
    ),
    Mutant(
        "many random tokens",
        _batch(lambda r, rng: (rng.normal(size=(64, 90)), rng.normal(size=(64, 80)))),
        "With so many tokens much is left, but far fewer do it: make them orthogonal and equally long.",
        "14.6",
        RANKS,
    ),
    Mutant(
        "three times the rank",
        _batch(lambda r, rng: (np.eye(3 * r), np.eye(3 * r))),
        "That is too much for the adapter, but fewer tokens do it: half may be left, not more than half.",
        "14.6",
        ("rank 2", "rank 3"),
    ),
    Mutant(
        "for rank 2 alone",
        _batch(lambda r, rng: (np.eye(4), np.eye(4))),
        "This is one batch, whatever r is: with a larger rank it is no longer too much, with a smaller one it has "
        "too many tokens.",
        "14.6",
        ("rank 3", "rank 1"),
    ),
    Mutant(
        "one token",
        _batch(lambda r, rng: (np.ones((1, 3)), np.ones((1, 3)))),
        "A single token makes a step of rank 1, however large it is: an adapter of any rank follows.",
        "14.6",
        ("rank 2", "rank 3", "rank 1"),
    ),
    Mutant(
        "four times the rank",
        _batch(lambda r, rng: (np.eye(4 * r), np.eye(4 * r))),
        "That is too much for the adapter, but fewer tokens do it: half may be left, not more than half.",
        "14.6",
        ("rank 2", "rank 3"),
    ),
    *(
        Mutant(
            f"{name}, of which 2r count",
            _batch(lambda r, rng, T=T: (np.eye(T(r), 2 * r), np.eye(T(r), 2 * r))),
            "The step has as many parts as it should, but some tokens add nothing: rows of zeros, for instance, or "
            "tokens along the other axis. A row is a token, and 2r rows do it.",
            "14.6",
            RANKS,
        )
        for name, T in {"2r + 1 tokens": lambda r: 2 * r + 1, "3r + 1 tokens": lambda r: 3 * r + 1,
                        "4r + 1 tokens": lambda r: 4 * r + 1}.items()
    ),
    Mutant(
        "ten tokens",
        _batch(lambda r, rng: (np.eye(10), np.eye(10))),
        "That is too much for the adapter, but fewer tokens do it: half may be left, not more than half.",
        "14.6",
        ("rank 2", "rank 3"),
    ),
)

# 14.10


def _bill(full=None, lowest=None, highest=None, lora=None, kept=None, two=2):
    """In units of a whole product (w) and a thin one (t)."""

    def function(L, n, d, r):
        w, t = two * n * d * d, two * n * d * r
        return (
            full(L, w, t) if full else (3 * L - 1) * w,
            lowest(L, w, t) if lowest else 2 * L * w,
            highest(L, w, t) if highest else (L + 1) * w,
            lora(L, w, t, d, n, r) if lora else (2 * L - 1) * w + (6 * L - 1) * t,
            kept(L, d, r) if kept else 4 * L * d * r,
        )

    return function


ONE = ("some maps", "wide")
LORA = ("adapters", "wide")
STATE = ("Adam's numbers", "wide")

BILLS = (
    Mutant(
        "lowest as one of all",
        _bill(lowest=lambda L, w, t: (3 * L - 1) * w // L),
        "The lowest map alone is taken to cost its share of all: the forward pass runs every map, and the"
        " gradient has to pass all maps above it.",
        "14.6",
        ONE,
    ),
    Mutant(
        "highest as one of all",
        _bill(highest=lambda L, w, t: (3 * L - 1) * w // L),
        "The highest map alone is taken to cost its share of all: the forward pass runs every map, and "
        "backward there is one product.",
        "14.6",
        ONE,
    ),
    Mutant(
        "the tokens get a gradient",
        _bill(full=lambda L, w, t: 3 * L * w, lowest=lambda L, w, t: (2 * L + 1) * w,
              lora=lambda L, w, t, d, n, r: 2 * L * w + 6 * L * t),
        "A gradient is sent below the lowest map: nothing is trained there, so the pass ends with the lowest that is.",
        "14.6",
        (*ONE, "adapters"),
    ),
    Mutant(
        "the tokens get a gradient where all is trained",
        _bill(full=lambda L, w, t: 3 * L * w),
        "Three products a map: the lowest needs no gradient of what it reads, since no parameter stands below it.",
        "14.6",
        ONE,
    ),
    Mutant(
        "lowest alone is cheap",
        _bill(lowest=lambda L, w, t: (L + 1) * w),
        "To reach the lowest map the gradient has to pass all maps above it: frozen maps still cost dY Wᵀ.",
        "14.6",
        ONE,
    ),
    Mutant(
        "lowest with one more",
        _bill(lowest=lambda L, w, t: (2 * L + 1) * w),
        "The lowest map needs no gradient of what it reads: L − 1 products on the way down, and one for its own.",
        "14.6",
        ONE,
    ),
    Mutant(
        "lowest costs all",
        _bill(lowest=lambda L, w, t: (3 * L - 1) * w),
        "A frozen map above has no gradient of its own: only the one that is passed on.",
        "14.6",
        ("some maps", "wide"),
    ),
    Mutant(
        "highest passes on",
        _bill(highest=lambda L, w, t: 2 * L * w),
        "Below the highest map nothing is trained: the backward pass ends there, after one product.",
        "14.6",
        ONE,
    ),
    Mutant(
        "highest with one more",
        _bill(highest=lambda L, w, t: (L + 2) * w),
        "The highest map passes nothing on: its own gradient is one product, and that is all.",
        "14.6",
        ("some maps", "wide"),
    ),
    Mutant(
        "forward forgotten",
        _bill(full=lambda L, w, t: (2 * L - 1) * w, lowest=lambda L, w, t: L * w, highest=lambda L, w, t: w,
              lora=lambda L, w, t, d, n, r: (L - 1) * w + (4 * L - 1) * t),
        "The forward pass is missing: every map is run, trained or not.",
        "14.6",
        (*ONE, "adapters"),
    ),
    Mutant(
        "only one map is run",
        _bill(lowest=lambda L, w, t: 2 * w, highest=lambda L, w, t: 2 * w),
        "Only the trained map is counted: all maps are run forward, trained or not.",
        "14.6",
        ("some maps", "wide"),
    ),
    Mutant(
        "additions not counted",
        _bill(two=1),
        "A product counts multiplications alone: each comes with an addition, so it is 2abc.",
        "14.6",
        (*ONE, "adapters"),
    ),
    Mutant(
        "frozen maps are passed for nothing",
        _bill(lora=lambda L, w, t, d, n, r: L * w + (6 * L - 1) * t),
        "The gradient has to pass the frozen maps as well, to reach the adapters below: dY Wᵀ for all but the lowest.",
        "14.6",
        LORA,
    ),
    Mutant(
        "frozen maps have gradients",
        _bill(lora=lambda L, w, t, d, n, r: (3 * L - 1) * w + (6 * L - 1) * t),
        "The gradients of the frozen maps are counted: nobody asks for them.",
        "14.6",
        LORA,
    ),
    Mutant(
        "adapters pass nothing on",
        _bill(lora=lambda L, w, t, d, n, r: (2 * L - 1) * w + 5 * L * t),
        "What an adapter sends down is missing: X is read by A as well, so dX has dU Aᵀ, for all but the lowest.",
        "14.6",
        LORA,
    ),
    Mutant(
        "the lowest passes on",
        _bill(lora=lambda L, w, t, d, n, r: 2 * L * w + 6 * L * t),
        "The lowest adapter sends a gradient down to the tokens: nothing is trained there.",
        "14.6",
        LORA,
    ),
    Mutant(
        "the lowest adapter passes on",
        _bill(lora=lambda L, w, t, d, n, r: (2 * L - 1) * w + 6 * L * t),
        "The lowest adapter sends dU Aᵀ down to the tokens: nothing is trained there.",
        "14.6",
        LORA,
    ),
    Mutant(
        "dU made twice",
        _bill(lora=lambda L, w, t, d, n, r: (2 * L - 1) * w + (7 * L - 1) * t),
        "dU = dY Bᵀ is made twice, for A and for X: once is enough.",
        "14.6",
        LORA,
    ),
    Mutant(
        "dU not counted",
        _bill(lora=lambda L, w, t, d, n, r: (2 * L - 1) * w + (5 * L - 1) * t),
        "One thin product a map is missing: forward there are X A and U B, backward dU = dY Bᵀ, dA = Xᵀ dU, "
        "dB = Uᵀ dY, and dU Aᵀ.",
        "14.6",
        LORA,
    ),
    Mutant(
        "three thin ones backward",
        _bill(lora=lambda L, w, t, d, n, r: (2 * L - 1) * w + 4 * L * t),
        "Backward two thin products are counted for a map: there are dU = dY Bᵀ, dA = Xᵀ dU, dB = Uᵀ dY, and dU Aᵀ "
        "for all but the lowest.",
        "14.6",
        LORA,
    ),
    Mutant(
        "adapters cost nothing forward",
        _bill(lora=lambda L, w, t, d, n, r: (2 * L - 1) * w + (4 * L - 1) * t),
        "The forward products of the adapters are missing: X A and U B.",
        "14.6",
        LORA,
    ),
    Mutant(
        "adapters without their maps",
        _bill(lora=lambda L, w, t, d, n, r: (6 * L - 1) * t),
        "Only the thin products are counted: the frozen maps are run forward, and passed backward.",
        "14.6",
        LORA,
    ),
    Mutant(
        "adapters merged first",
        _bill(lora=lambda L, w, t, d, n, r: (3 * L - 1) * w + 6 * L * d * d * r),
        "The adapters are merged before they are used: then dW of full size is made. Here X A comes first, and stays "
        "thin.",
        "14.6",
        LORA,
    ),
    Mutant(
        "one number a parameter",
        _bill(kept=lambda L, d, r: 2 * L * d * r),
        "These are the parameters of the adapters: Adam keeps two numbers for each, m and v.",
        "14.6",
        STATE,
    ),
    Mutant(
        "three numbers a parameter",
        _bill(kept=lambda L, d, r: 6 * L * d * r),
        "Three numbers are counted for each parameter: Adam keeps m and v, and the parameter itself is not Adam's.",
        "14.6",
        STATE,
    ),
    Mutant(
        "four numbers a parameter",
        _bill(kept=lambda L, d, r: 8 * L * d * r),
        "Four numbers are counted for each parameter: Adam keeps m and v, not parameter and gradient.",
        "14.6",
        STATE,
    ),
    Mutant(
        "A alone",
        _bill(kept=lambda L, d, r: L * d * r),
        "One of A and B is counted once: both are trained, and Adam keeps two numbers for each entry.",
        "14.6",
        STATE,
    ),
    Mutant(
        "one map's numbers",
        _bill(kept=lambda L, d, r: 4 * d * r),
        "These are the numbers for one adapter: there are L of them.",
        "14.6",
        ("Adam's numbers", "wide"),
    ),
    Mutant(
        "frozen weights too",
        _bill(kept=lambda L, d, r: 2 * L * (d * d + 2 * d * r)),
        "Adam is given the frozen matrices as well: it keeps nothing for what is not trained.",
        "14.6",
        STATE,
    ),
    Mutant(
        "numbers of full training",
        _bill(kept=lambda L, d, r: 2 * L * d * d),
        "This is what Adam keeps when all maps are trained: an adapter has 2 d r entries instead of d².",
        "14.6",
        STATE,
    ),
    Mutant(
        "two passes",
        _bill(full=lambda L, w, t: 2 * L * w),
        "The backward pass of a map is counted as one product: a trained map makes two, its own gradient and what "
        "it passes on, but for the lowest.",
        "14.6",
        ONE,
    ),
    Mutant(
        "two passes and the lowest",
        _bill(full=lambda L, w, t: (2 * L + 1) * w),
        "One gradient is counted for all maps together: each trained map makes its own.",
        "14.6",
        ("some maps", "wide"),
    ),
    Mutant(
        "four products",
        _bill(full=lambda L, w, t: 4 * L * w),
        "Four products a map are counted: one forward, two backward, and the lowest passes nothing on.",
        "14.6",
        ONE,
    ),
    Mutant(
        "three products for one map",
        _bill(lowest=lambda L, w, t: 3 * w, highest=lambda L, w, t: 3 * w),
        "Only the trained map is counted: all maps are run forward, and those above it pass the gradient on.",
        "14.6",
        ONE,
    ),
    Mutant(
        "three products for one map, all run",
        _bill(lowest=lambda L, w, t: (L + 2) * w, highest=lambda L, w, t: (L + 2) * w),
        "The trained map passes on what nobody below needs, and to reach the lowest the gradient has to pass all "
        "maps above.",
        "14.6",
        ("some maps", "wide"),
    ),
    Mutant(
        "exchanged",
        _bill(lowest=lambda L, w, t: (L + 1) * w, highest=lambda L, w, t: 2 * L * w),
        "Lowest and highest are exchanged: the gradient comes from above.",
        "14.6",
        ("some maps", "wide"),
    ),
    Mutant(
        "one map without its place",
        _bill(lowest=lambda L, w, t: (L + 1) * w, highest=lambda L, w, t: (L + 2) * w),
        "To reach the lowest map the gradient has to pass all maps above it; below the highest nothing needs it.",
        "14.6",
        ("some maps", "wide"),
    ),
    Mutant(
        "tokens left out",
        lambda L, n, d, r: (*(x // n for x in _bill()(L, n, d, r)[:4]), _bill()(L, n, d, r)[4]),
        "The number of tokens is missing: a product of (n, d) with (d, d) costs 2nd².",
        "14.6",
        ("some maps", "adapters", "wide"),
    ),
    Mutant(
        "AB multiplied out as well",
        _bill(lora=lambda L, w, t, d, n, r: (2 * L - 1) * w + (6 * L - 1) * t + 2 * L * d * d * r),
        "A B is multiplied out as well: with X A first it is never needed.",
        "14.6",
        LORA,
    ),
    Mutant(
        "bytes",
        _bill(kept=lambda L, d, r: 16 * L * d * r),
        "These are bytes, at four a number: asked is how many numbers.",
        "14.6",
        STATE,
    ),
    Mutant(
        "sum for a product",
        _bill(kept=lambda L, d, r: 2 * L * (d + r)),
        "A matrix of d × r has d · r entries, not d + r.",
        "14.6",
        STATE,
    ),
    Mutant(
        "twice the sum",
        _bill(kept=lambda L, d, r: 4 * L * (d + r)),
        "A matrix of d × r has d · r entries, not d + r.",
        "14.6",
        STATE,
    ),
    Mutant(
        "rank by rank",
        _bill(kept=lambda L, d, r: 2 * L * r * r),
        "These are entries of r × r matrices: A is d × r, and B is r × d.",
        "14.6",
        STATE,
    ),
    Mutant(
        "gradients too",
        _bill(kept=lambda L, d, r: 12 * L * d * r),
        "Six numbers are counted for each parameter of an adapter: Adam keeps m and v.",
        "14.6",
        STATE,
    ),
    Mutant(
        "two fewer",
        _bill(full=lambda L, w, t: (3 * L - 2) * w),
        "One product too few if all are trained: the lowest map makes its own gradient, only what it would pass on "
        "is left out.",
        "14.6",
        ONE,
    ),
    Mutant(
        "lowest without its own",
        _bill(lowest=lambda L, w, t: (2 * L - 1) * w),
        "One product too few for the lowest: L forward, L − 1 on the way down, and one for its own gradient.",
        "14.6",
        ONE,
    ),
    Mutant(
        "lowest's own twice",
        _bill(lowest=lambda L, w, t: (2 * L + 2) * w),
        "Two products too many for the lowest: L forward, L − 1 on the way down, and one for its own gradient.",
        "14.6",
        ONE,
    ),
    Mutant(
        "highest without its own",
        _bill(highest=lambda L, w, t: L * w),
        "The highest map's own gradient is missing.",
        "14.6",
        ONE,
    ),
    Mutant(
        "one adapter fewer",
        _bill(kept=lambda L, d, r: 4 * (L - 1) * d * r),
        "One adapter too few: each of the L maps has one.",
        "14.6",
        STATE,
    ),
    Mutant(
        "three halves",
        _bill(kept=lambda L, d, r: 3 * L * d * r),
        "Adam keeps two numbers for each entry, and A and B have d · r entries each: that makes four.",
        "14.6",
        STATE,
    ),
    Mutant(
        "four products but one",
        _bill(full=lambda L, w, t: (4 * L - 1) * w),
        "Four products a map are counted: one forward and two backward.",
        "14.6",
        ONE,
    ),
    Mutant(
        "highest by itself",
        _bill(highest=lambda L, w, t: w),
        "Only the gradient of the highest map is counted: all maps are run forward.",
        "14.6",
        ONE,
    ),
    Mutant(
        "merged at every step",
        _bill(lora=lambda L, w, t, d, n, r: (2 * L - 1) * w + L * (2 * d * d * r + 3 * t) + (L - 1) * t),
        "Forward, A B is multiplied out, a matrix of d × d: X A comes first, and then times B, two thin products.",
        "14.6",
        LORA,
    ),
    *(
        Mutant(
            f"by way of the whole gradient, {name}",
            _bill(lora=lambda L, w, t, d, n, r, own=own: (3 * L - 1) * w + own(L, t, 2 * d * d * r)),
            "dA or dB is made from Xᵀ dY, a whole gradient that nobody asks for: dU = dY Bᵀ first, then Xᵀ dU; "
            "and dB is Uᵀ dY.",
            "14.6",
            LORA,
        )
        for name, own in {
            "dU not made": lambda L, t, q: 2 * L * t + (L - 1) * t + 2 * L * q,
            "dU made for all but the lowest": lambda L, t, q: 2 * L * t + 2 * (L - 1) * t + 2 * L * q,
            "dU made": lambda L, t, q: 3 * L * t + (L - 1) * t + 2 * L * q,
            "for dA alone, dU not made": lambda L, t, q: 3 * L * t + (L - 1) * t + L * q,
            "for dA alone": lambda L, t, q: 3 * L * t + 2 * (L - 1) * t + L * q,
        }.items()
    ),
)

WHOLE = {
    "0": "The whole products are missing: the frozen maps are run forward, and passed backward by all but the lowest.",
    "L": "The frozen maps are passed for nothing: to reach the adapters below, dY Wᵀ for all but the lowest.",
    "2 * L": "The lowest map passes dY Wᵀ down to the tokens, where nothing is trained.",
    "3 * L - 1": "The gradients of the frozen maps are counted: nobody asks for them.",
    "3 * L": "Three whole products a map: frozen maps have no gradient of their own, and the lowest passes nothing on.",
    "2 * L - 1": "",
}
THIN = {
    (6, 0): "The lowest adapter sends dU Aᵀ down to the tokens, where nothing is trained.",
    (6, -4): "Three thin products too few: only dU Aᵀ is left out, and at the lowest adapter alone.",
    (6, -3): "Two thin products too few: only dU Aᵀ is left out, and at the lowest adapter alone.",
    (6, -2): "One thin product too few: only dU Aᵀ is left out, and at the lowest adapter alone.",
    (5, 0): "What an adapter sends down, dU Aᵀ, is missing.",
    (5, -1): "Five thin products a map: forward X A and U B, backward dU, dA, dB, and dU Aᵀ for all but the lowest.",
    (4, 0): "Four thin products a map: forward X A and U B, backward dU, dA, dB, and dU Aᵀ for all but the lowest.",
    (4, -1): "The forward products of the adapters are missing, X A and U B.",
    (4, -2): "Two thin products too few: forward X A and U B, backward dU, dA, dB, and dU Aᵀ for all but the lowest.",
    (2, 0): "The thin products of the backward pass are missing: dU, dA, dB, and dU Aᵀ for all but the lowest.",
    (3, 0): "Three thin products a map: forward X A and U B, backward dU, dA, dB, and dU Aᵀ for all but the lowest.",
    (3, -1): "Three thin products a map: forward X A and U B, backward dU, dA, dB, and dU Aᵀ for all but the lowest.",
    (7, -1): "dU = dY Bᵀ is made twice, for A and for X: once is enough.",
    (7, -2): "dU = dY Bᵀ is made twice, for A and for X: once is enough.",
    (7, 0): "Seven thin products a map: forward X A and U B, backward dU, dA, dB, and dU Aᵀ for all but the lowest.",
    (8, 0): "Eight thin products a map: forward X A and U B, backward dU, dA, dB, and dU Aᵀ for all but the lowest.",
    (12, -2): "A and B are taken together as one of rank 2r, so the thin products count double: X A reads r columns.",
    (0, 0): "The thin products are missing altogether.",
    (1, 0): "One thin product a map is counted: A and B are two matrices, each with its own forward and backward.",
    (6, -1): "",
}
SIZES = {"0": (0, 0), "L": (1, 0), "2 * L": (2, 0), "3 * L - 1": (3, -1), "3 * L": (3, 0), "2 * L - 1": (2, -1)}


def _counted(whole, thin):
    (a, b), (c, e) = SIZES[whole], thin
    return _bill(lora=lambda L, w, t, d, n, r: (a * L + b) * w + (c * L + e) * t)


TOLD = {one(7, 50, 521, 4)[3] for one in (_bill(), *(mutant.function for mutant in BILLS))}  # right, or named above
BILLS += tuple(
    Mutant(f"{whole} whole and {thin} thin", _counted(whole, thin), f"{WHOLE[whole]} {THIN[thin]}".strip(), "14.6",
           ("adapters",))
    for whole in WHOLE for thin in THIN if _counted(whole, thin)(7, 50, 521, 4)[3] not in TOLD
)

# 14.11


def _adapted(scale="right", A_as="normal", B_as="zero", freeze="all", merge="right", forward="right"):
    """The module with one part replaced by a wrong one."""

    def make_adapted(base, r, alpha):
        import torch

        d_out, d_in = base.weight.shape
        s = {"right": alpha / r, "none": 1.0, "alpha": alpha, "times": alpha * r, "root": alpha / math.sqrt(r),
             "square": (alpha / r) ** 2, "inverse": r / alpha, "width": alpha / d_in, "whole": alpha // r}[scale]
        if freeze == "all":
            base.requires_grad_(False)
        elif freeze == "weight":
            base.weight.requires_grad_(False)
        kind = {"dtype": base.weight.dtype}
        starts = {"normal": lambda *n: torch.randn(*n, **kind) / math.sqrt(d_in),
                  "unit": lambda *n: torch.randn(*n, **kind),
                  "rank": lambda *n: torch.randn(*n, **kind) / math.sqrt(r),
                  "variance": lambda *n: torch.randn(*n, **kind) / d_in,
                  "hundredth": lambda *n: 0.01 * torch.randn(*n, **kind),
                  "fiftieth": lambda *n: 0.02 * torch.randn(*n, **kind),
                  "uniform": lambda *n: (2 * torch.rand(*n, **kind) - 1) / math.sqrt(d_in),
                  "even, of the right variance": lambda *n: (2 * torch.rand(*n, **kind) - 1) * math.sqrt(3 / d_in),
                  "signs": lambda *n: torch.randn(*n, **kind).sign() / math.sqrt(d_in),
                  "even": lambda *n: torch.rand(*n, **kind),
                  "out": lambda *n: torch.randn(*n, **kind) / math.sqrt(d_out),
                  "zero": lambda *n: torch.zeros(*n, **kind)}

        class Adapted(torch.nn.Module):
            def __init__(self):
                super().__init__()
                if freeze != "hidden":
                    self.base = base
                self.A = torch.nn.Parameter(starts[A_as](d_in, r))
                self.B = torch.nn.Parameter(starts[B_as](r, d_out))
                if freeze == "everything":
                    self.requires_grad_(False)
                if freeze == "B":
                    base.requires_grad_(False)
                    self.A.requires_grad_(False)

            def forward(self, X):
                own = s * (X @ self.A @ self.B)
                if forward == "single precision":
                    return base(X) + s * (X.float() @ self.A.float() @ self.B.float())
                if forward == "float32":
                    return (base(X) + own).float()
                if forward == "adapter":
                    return own
                if forward == "no bias":
                    return X @ base.weight.T + own
                if forward == "no way through base":
                    with torch.no_grad():
                        Y = base(X)
                    return Y + own
                if forward == "no way through the adapter":
                    return base(X) + s * (X.detach() @ self.A @ self.B)
                if forward == "base":
                    return base(X) + 0 * own
                return base(X) + own

            def merged(self):
                has = base.bias is not None and merge != "no bias"
                with torch.no_grad():
                    own = {} if merge in ("float32", "there and back") else kind
                    one = torch.nn.Linear(d_in, d_out, bias=has, **own)
                    AB = {"no scale": 1.0, "twice": s * s, "minus": -s, "alpha": alpha}.get(merge, s) * self.A @ self.B
                    one.weight.copy_(AB.T if merge == "adapter" else base.weight + (0 if merge == "base" else AB.T))
                    if has and merge != "fresh bias":
                        one.bias.copy_(base.bias)
                    elif has:
                        one.bias.fill_(0.123)
                if has and merge == "shared bias":
                    one.bias = base.bias
                if has and merge == "shared numbers":
                    one.bias.data = base.bias.data
                return one.to(base.weight.dtype) if merge == "there and back" else one

        return Adapted()

    return make_adapted


LOADED = ("forward", "merged", "no bias", "leading axes")
BACK = ("backward", "no bias", "leading axes")

MODULES = (
    Mutant(
        "base without a way back",
        _adapted(forward="no way through base"),
        "No gradient comes down to X through base, as under no_grad: frozen parameters get none, what is "
        "below still does.",
        "14.6",
        BACK,
    ),
    Mutant(
        "adapter without a way back",
        _adapted(forward="no way through the adapter"),
        "No gradient comes down to X through the adapter, as where X is detached: what is below needs both ways.",
        "14.6",
        BACK,
    ),
    Mutant(
        "shared bias",
        _adapted(merge="shared bias"),
        "merged has the very bias of base: who trains or changes the one changes the other. Copy the numbers into a "
        "bias of its own.",
        "14.6",
        ("merged", "leading axes"),
    ),
    Mutant(
        "adapter in single precision",
        _adapted(forward="single precision"),
        "The adapter is computed in float32, whatever base is: A and B get the dtype of its weight, and X is not cast.",
        "14.6",
        ("forward", "no bias", "leading axes"),
    ),
    Mutant(
        "results in single precision",
        _adapted(forward="float32"),
        "The result is float32, whatever base is: A and B get the dtype of its weight, and nothing is cast.",
        "14.6",
        ("forward", "no bias", "leading axes"),
    ),
    Mutant(
        "merged in single precision",
        _adapted(merge="float32"),
        "The new Linear is float32, torch's own choice: hand on dtype=base.weight.dtype.",
        "14.6",
        ("merged", "no bias", "leading axes"),
    ),
    Mutant(
        "merged by way of single precision",
        _adapted(merge="there and back"),
        "The new Linear is made in float32 and turned into the dtype of base only then: digits are lost on the way. "
        "Hand on dtype=base.weight.dtype.",
        "14.6",
        ("merged", "no bias", "leading axes"),
    ),
    Mutant(
        "even, of the right variance",
        _adapted(A_as="even, of the right variance"),
        "A begins evenly between −√(3/d_in) and √(3/d_in): the variance is right, and the entries are not normal. "
        "torch.randn draws normal ones.",
        "14.6",
        ("beginning",),
    ),
    Mutant(
        "signs",
        _adapted(A_as="signs"),
        "A begins with ±1/√d_in: the variance is right, and the entries are not normal. torch.randn draws normal ones.",
        "14.6",
        ("beginning",),
    ),
    Mutant(
        "scale forgotten",
        _adapted(scale="none"),
        "The adapter is added without its scale alpha / r.",
        "14.6",
        (*LOADED, "backward"),
    ),
    Mutant(
        "alpha for the scale",
        _adapted(scale="alpha"),
        "The adapter is scaled by alpha: it is alpha / r.",
        "14.6",
        (*LOADED, "backward"),
    ),
    Mutant(
        "alpha times r",
        _adapted(scale="times"),
        "The adapter is scaled by alpha · r: it is alpha / r.",
        "14.6",
        (*LOADED, "backward"),
    ),
    Mutant(
        "root of r",
        _adapted(scale="root"),
        "The adapter is scaled by alpha / √r, as rank-stabilised LoRA does: here it is alpha / r.",
        "14.6",
        (*LOADED, "backward"),
    ),
    Mutant(
        "both random",
        _adapted(B_as="normal"),
        "B does not begin at 0: then the module is not what base was, before it has learned anything.",
        "14.6",
        ("beginning",),
    ),
    Mutant(
        "both zero",
        _adapted(A_as="zero"),
        "A and B both begin at 0: the gradient of each is a product with the other, so neither ever moves.",
        "14.6",
        ("beginning",),
    ),
    Mutant(
        "deviation one",
        _adapted(A_as="unit"),
        "A begins with deviation 1: an entry of X A is then a sum of d_in such terms. The variance is 1/d_in.",
        "14.6",
        ("beginning",),
    ),
    Mutant(
        "variance for deviation",
        _adapted(A_as="variance"),
        "A begins with the deviation 1/d_in: it is the variance that is 1/d_in, the deviation 1/√d_in.",
        "14.6",
        ("beginning",),
    ),
    Mutant(
        "rank for width",
        _adapted(A_as="rank"),
        "A begins with variance 1/r: it is 1/d_in, since X A sums over d_in.",
        "14.6",
        ("beginning",),
    ),
    Mutant(
        "out for in",
        _adapted(A_as="out"),
        "A begins with variance 1/d_out: it is 1/d_in. The weight of a torch Linear is (d_out, d_in).",
        "14.6",
        ("beginning",),
    ),
    Mutant(
        "uniform",
        _adapted(A_as="uniform"),
        "A begins evenly between −1/√d_in and 1/√d_in, as torch's Linear does: its variance is then 1/(3 d_in).",
        "14.6",
        ("beginning",),
    ),
    Mutant(
        "a hundredth",
        _adapted(A_as="hundredth"),
        "A begins with a deviation of 0.01, whatever its size: the variance is 1/d_in.",
        "14.6",
        ("beginning",),
    ),
    Mutant(
        "a fiftieth",
        _adapted(A_as="fiftieth"),
        "A begins with a deviation of 0.02, whatever its size: the variance is 1/d_in.",
        "14.6",
        ("beginning",),
    ),
    Mutant(
        "rand for randn",
        _adapted(A_as="even"),
        "A begins evenly between 0 and 1: torch.rand is not torch.randn, and the variance is 1/d_in.",
        "14.6",
        ("beginning",),
    ),
    Mutant(
        "base still trains",
        _adapted(freeze="none"),
        "base is trained as well: set requires_grad of its parameters to False; an attribute of another name, such as "
        "require_grad, does nothing.",
        "14.6",
        BACK,
    ),
    Mutant(
        "bias still trains",
        _adapted(freeze="weight"),
        "The bias of base is trained: only its weight was frozen, and nothing but A and B should move.",
        "14.6",
        ("backward", "leading axes"),
    ),
    Mutant(
        "A does not train",
        _adapted(freeze="B"),
        "A is frozen: A and B are both trained.",
        "14.6",
        BACK,
    ),
    Mutant(
        "adapter alone",
        _adapted(forward="adapter"),
        "The module gives the adapter's part alone: base(X) is to be added.",
        "14.6",
        ("beginning", "forward", "no bias", "leading axes"),
    ),
    Mutant(
        "bias forgotten",
        _adapted(forward="no bias"),
        "The bias of base is lost on the way: call base itself, or add it.",
        "14.6",
        ("beginning", "forward", "leading axes"),
    ),
    Mutant(
        "adapter not used",
        _adapted(forward="base"),
        "The module gives base(X) whatever A and B are.",
        "14.6",
        ("forward", "backward", "no bias", "leading axes"),
    ),
    Mutant(
        "merged without scale",
        _adapted(merge="no scale"),
        "merged adds A B without its scale alpha / r.",
        "14.6",
        ("merged", "no bias", "leading axes"),
    ),
    Mutant(
        "merged with alpha",
        _adapted(merge="alpha"),
        "merged scales A B by alpha: it is alpha / r.",
        "14.6",
        ("merged", "no bias", "leading axes"),
    ),
    Mutant(
        "merged with the scale twice",
        _adapted(merge="twice"),
        "merged has the scale twice.",
        "14.6",
        ("merged", "no bias", "leading axes"),
    ),
    Mutant(
        "taken off",
        _adapted(merge="minus"),
        "merged takes the adapter off: it is to be added.",
        "14.6",
        ("merged", "no bias", "leading axes"),
    ),
    Mutant(
        "merged without bias",
        _adapted(merge="no bias"),
        "merged loses the bias of base: it is carried over as it is.",
        "14.6",
        ("merged", "leading axes"),
    ),
    Mutant(
        "merged without base",
        _adapted(merge="adapter"),
        "merged has the adapter alone: it is W + s A B.",
        "14.6",
        ("merged", "no bias", "leading axes"),
    ),
    Mutant(
        "merged without the adapter",
        _adapted(merge="base"),
        "merged has the weight of base alone: s A B is to be added, transposed.",
        "14.6",
        ("merged", "no bias", "leading axes"),
    ),
    Mutant(
        "scale squared",
        _adapted(scale="square"),
        "The scale alpha / r is applied twice.",
        "14.6",
        (*LOADED, "backward"),
    ),
    Mutant(
        "scale upside down",
        _adapted(scale="inverse"),
        "The scale is upside down: it is alpha / r.",
        "14.6",
        (*LOADED, "backward"),
    ),
    Mutant(
        "width for the rank",
        _adapted(scale="width"),
        "alpha is divided by d_in: it is divided by r.",
        "14.6",
        (*LOADED, "backward"),
    ),
    Mutant(
        "scale cut to a whole number",
        _adapted(scale="whole"),
        "alpha // r is cut to a whole number: it is alpha / r.",
        "14.6",
        (*LOADED, "backward"),
    ),
)

# 14.12


def _lost_of(final=None, back=None, lost=None):
    def function(R):
        T = len(R)
        end, own = R[-1], np.diag(R)
        top = np.array([R[j : T - 1, j].max() for j in range(T - 1)])
        return (
            final(R, end, T) if final else end.mean(),
            back(end, own, T, R) if back else (end - own)[:-1].mean(),
            lost(R, end, own, top, T) if lost else (top - end[:-1]).mean(),
        )

    return function


END = ("at the end", "known beforehand")
BACKWARD = ("backward transfer", "known beforehand")
LOST = ("forgetting", "known beforehand")

LOSSES = (
    Mutant(
        "transfer never above 0",
        _lost_of(back=lambda end, own, T, R: min(0.0, (end - own)[:-1].mean())),
        "The transfer is 0 where it is above 0: where later tasks helped, it is positive.",
        "14.7",
        ("gained",),
    ),
    Mutant(
        "losses alone",
        _lost_of(back=lambda end, own, T, R: np.minimum(0.0, (end - own)[:-1]).mean()),
        "Only the tasks that lost something are counted in the transfer: where a later task helped, the difference is "
        "positive, and counts.",
        "14.7",
        ("gained",),
    ),
    Mutant(
        "size of the transfer",
        _lost_of(back=lambda end, own, T, R: abs((end - own)[:-1].mean())),
        "The transfer has lost its sign: it is negative where something was lost.",
        "14.7",
        BACKWARD,
    ),
    Mutant(
        "relative transfer",
        _lost_of(back=lambda end, own, T, R: ((end - own) / own)[:-1].mean()),
        "The transfer is divided by the share after the own training: it is a difference of shares.",
        "14.7",
        BACKWARD,
    ),
    Mutant(
        "diagonal or the row before the last",
        _lost_of(lost=lambda R, end, own, top, T: (np.maximum(own, R[-2]) - end)[:-1].mean()),
        "The best is looked for on the diagonal and in the row before the last: the rows in between count as well.",
        "14.7",
        (),
    ),
    Mutant(
        "best of all tasks",
        _lost_of(lost=lambda R, end, own, top, T: top.max() - end[:-1].mean()),
        "The best of all tasks is compared with the mean at the end: each task is compared with its own best.",
        "14.7",
        LOST,
    ),
    Mutant(
        "own training left out",
        _lost_of(lost=lambda R, end, own, top, T: np.mean(
            [R[min(j + 1, T - 2) : T - 1, j].max() - end[j] for j in range(T - 1)])),
        "The best is looked for from the next moment on: the task's own training counts as well.",
        "14.7",
        LOST,
    ),
    Mutant(
        "two moments",
        _lost_of(lost=lambda R, end, own, top, T: np.mean([R[j : j + 2, j].max() - end[j] for j in range(T - 1)])),
        "The best is looked for in two moments alone, the task's own training and the next: it goes on to"
        " the row before the last.",
        "14.7",
        LOST,
    ),
    Mutant(
        "the next moment for the best",
        _lost_of(lost=lambda R, end, own, top, T: np.mean(
            [R[min(j + 1, T - 2), j] - end[j] for j in range(T - 1)])),
        "The forgetting counts from the next moment: it counts from the best, from the task's own training on.",
        "14.7",
        LOST,
    ),
    Mutant(
        "all of R",
        _lost_of(final=lambda R, end, T: R.mean()),
        "The mean is over all of R: at the end means the last row.",
        "14.7",
        END,
    ),
    Mutant(
        "lower triangle",
        _lost_of(final=lambda R, end, T: R[np.tril_indices(T)].mean()),
        "The mean is over all that was measured after training: at the end means the last row.",
        "14.7",
        END,
    ),
    Mutant(
        "diagonal at the end",
        _lost_of(final=lambda R, end, T: np.diag(R).mean()),
        "This is the mean of the diagonal, each task right after its training: at the end means the last row.",
        "14.7",
        END,
    ),
    Mutant(
        "last task left out at the end",
        _lost_of(final=lambda R, end, T: end[:-1].mean()),
        "The last task is left out of the mean at the end: it was learned like the others.",
        "14.7",
        END,
    ),
    Mutant(
        "last column",
        _lost_of(final=lambda R, end, T: R[:, -1].mean()),
        "The last column is one task over time: at the end means the last row.",
        "14.7",
        END,
    ),
    Mutant(
        "R transposed",
        lambda R: _lost_of()(np.ascontiguousarray(R.T)),
        "Rows and columns of R are exchanged: a row is a moment, a column is a task.",
        "14.7",
        (*END, "backward transfer", "forgetting"),
    ),
    Mutant(
        "last task counted backward",
        _lost_of(back=lambda end, own, T, R: (end - own).mean()),
        "The backward transfer is divided by T: the last task has had nothing after it, so the mean is over T − 1.",
        "14.7",
        BACKWARD,
    ),
    Mutant(
        "sum backward",
        _lost_of(back=lambda end, own, T, R: (end - own).sum()),
        "The backward transfer is a sum: it is the mean over the tasks but the last.",
        "14.7",
        BACKWARD,
    ),
    Mutant(
        "sign backward",
        _lost_of(back=lambda end, own, T, R: (own - end)[:-1].mean()),
        "The backward transfer has the wrong sign: it is what is at the end minus what was, negative where something "
        "was lost.",
        "14.7",
        BACKWARD,
    ),
    Mutant(
        "backward from the best",
        _lost_of(back=lambda end, own, T, R: np.mean([end[j] - R[j : T - 1, j].max() for j in range(T - 1)])),
        "The backward transfer counts from the best: it counts from the share right after the task's own training.",
        "14.7",
        BACKWARD,
    ),
    Mutant(
        "backward from the first row",
        _lost_of(back=lambda end, own, T, R: (end - R[0])[:-1].mean()),
        "The backward transfer counts from the first row: each task counts from its own training, the diagonal.",
        "14.7",
        BACKWARD,
    ),
    Mutant(
        "backward from the step before",
        _lost_of(back=lambda end, own, T, R: (end - R[-2])[:-1].mean()),
        "The backward transfer counts from the row before the last: each task counts from its own training, the "
        "diagonal.",
        "14.7",
        BACKWARD,
    ),
    Mutant(
        "forgetting from the diagonal",
        _lost_of(lost=lambda R, end, own, top, T: (own - end)[:-1].mean()),
        "The forgetting counts from the diagonal: a later task may have helped, and it counts from the best.",
        "14.7",
        LOST,
    ),
    Mutant(
        "best over all rows",
        _lost_of(lost=lambda R, end, own, top, T: (R[:-1].max(axis=0) - end)[:-1].mean()),
        "The best is looked for before the task was trained as well: it counts from its own training on.",
        "14.7",
        ("known beforehand",),
    ),
    Mutant(
        "best with the end",
        _lost_of(lost=lambda R, end, own, top, T: (np.maximum(top, end[:-1]) - end[:-1]).mean()),
        "The last row takes part in the best, or what is below 0 is set to 0: the best is that before the last task, "
        "and where the end is better the forgetting is negative.",
        "14.7",
        ("known beforehand",),
    ),
    Mutant(
        "best of everything",
        _lost_of(lost=lambda R, end, own, top, T: (R.max(axis=0) - end)[:-1].mean()),
        "The best is looked for in the whole column: only from the task's own training on, and before the last task.",
        "14.7",
        ("known beforehand",),
    ),
    Mutant(
        "last task counted as forgotten",
        _lost_of(lost=lambda R, end, own, top, T: (top - end[:-1]).sum() / T),
        "The forgetting is divided by T: the last task cannot be forgotten yet, so the mean is over T − 1.",
        "14.7",
        LOST,
    ),
    Mutant(
        "sum forgotten",
        _lost_of(lost=lambda R, end, own, top, T: (top - end[:-1]).sum()),
        "The forgetting is a sum: it is the mean over the tasks but the last.",
        "14.7",
        LOST,
    ),
    Mutant(
        "sign of the forgetting",
        _lost_of(lost=lambda R, end, own, top, T: (end[:-1] - top).mean()),
        "The forgetting has the wrong sign: it is the best that was minus what is left.",
        "14.7",
        LOST,
    ),
    Mutant(
        "largest forgetting",
        _lost_of(lost=lambda R, end, own, top, T: (top - end[:-1]).max()),
        "This is the largest loss of a task: it is the mean over the tasks but the last.",
        "14.7",
        LOST,
    ),
    Mutant(
        "share forgotten",
        _lost_of(lost=lambda R, end, own, top, T: ((top - end[:-1]) / top).mean()),
        "The forgetting is divided by the best: it is a difference of shares.",
        "14.7",
        LOST,
    ),
    Mutant(
        "transfer and forgetting exchanged",
        lambda R: tuple(_lost_of()(R)[k] for k in (0, 2, 1)),
        "Transfer and forgetting are exchanged: first the mean at the end, then the transfer, then the forgetting.",
        "14.7",
        ("backward transfer", "forgetting"),
    ),
    Mutant(
        "transfer of the next task",
        _lost_of(back=lambda end, own, T, R: np.mean([R[j + 1, j] - R[j, j] for j in range(T - 1)])),
        "The transfer compares with the next moment: it compares the end with the task's own training.",
        "14.7",
        ("backward transfer",),
    ),
    Mutant(
        "transfer along a row",
        _lost_of(back=lambda end, own, T, R: np.mean([R[j, -1] - R[j, j] for j in range(T - 1)])),
        "The transfer compares along a row, with another task: a column is a task, so it compares R[T − 1, j] with "
        "R[j, j].",
        "14.7",
        BACKWARD,
    ),
    Mutant(
        "transfer without the first task",
        _lost_of(back=lambda end, own, T, R: (end - own)[1:].mean()),
        "The first task is left out of the transfer: it is the last one that is.",
        "14.7",
        ("backward transfer",),
    ),
    Mutant(
        "transfer before training",
        _lost_of(back=lambda end, own, T, R: np.mean([R[j - 1, j] - R[0, j] for j in range(1, T)])),
        "This is the forward transfer, what other tasks gave before a task's own training: the backward one "
        "compares the end with the diagonal.",
        "14.7",
        ("backward transfer",),
    ),
    Mutant(
        "mean before",
        _lost_of(lost=lambda R, end, own, top, T: np.mean([R[j : T - 1, j].mean() - end[j] for j in range(T - 1)])),
        "The forgetting counts from the mean share before the last task: it counts from the best.",
        "14.7",
        LOST,
    ),
    Mutant(
        "row before the last",
        _lost_of(lost=lambda R, end, own, top, T: (R[-2] - end)[:-1].mean()),
        "The forgetting counts from the row before the last: it counts from the best, from the diagonal on.",
        "14.7",
        LOST,
    ),
    Mutant(
        "best of a row",
        _lost_of(lost=lambda R, end, own, top, T: np.mean([R[j].max() - end[j] for j in range(T - 1)])),
        "The best is looked for along a row, among other tasks: a column is a task.",
        "14.7",
        ("forgetting",),
    ),
    Mutant(
        "sizes of what was lost",
        _lost_of(lost=lambda R, end, own, top, T: np.abs(top - end[:-1]).mean()),
        "The differences are taken without their sign: where the end is better, the forgetting is negative.",
        "14.7",
        ("known beforehand",),
    ),
    Mutant(
        "forgetting without the first task",
        _lost_of(lost=lambda R, end, own, top, T: (R[:-1].max(axis=0) - end)[1:].mean()),
        "The first task is left out of the forgetting, or the last is not: it is the last one that is.",
        "14.7",
        ("forgetting",),
    ),
    Mutant(
        "largest drop",
        _lost_of(lost=lambda R, end, own, top, T: np.mean([(-np.diff(R[j:, j])).max() for j in range(T - 1)])),
        "The forgetting is the largest drop from one moment to the next: it goes from the best to the end.",
        "14.7",
        ("forgetting",),
    ),
    Mutant(
        "worst before",
        _lost_of(lost=lambda R, end, own, top, T: np.mean([R[j : T - 1, j].min() - end[j] for j in range(T - 1)])),
        "The forgetting counts from the lowest share: it counts from the best.",
        "14.7",
        ("forgetting",),
    ),
    Mutant(
        "median transfer",
        _lost_of(back=lambda end, own, T, R: np.median((end - own)[:-1])),
        "The transfer is a median: it is a mean.",
        "14.7",
        ("backward transfer",),
    ),
    Mutant(
        "median forgetting",
        _lost_of(lost=lambda R, end, own, top, T: np.median(top - end[:-1])),
        "The forgetting is a median: it is a mean.",
        "14.7",
        ("forgetting",),
    ),
    Mutant(
        "diagonal over all",
        _lost_of(lost=lambda R, end, own, top, T: (own - end).mean()),
        "The forgetting counts from the diagonal, and over all tasks: it counts from the best, over all but the last.",
        "14.7",
        ("forgetting",),
    ),
    Mutant(
        "best of all",
        _lost_of(lost=lambda R, end, own, top, T: R.max() - end.mean()),
        "The best of all of R is compared with the mean at the end: each task is compared with its own best.",
        "14.7",
        ("forgetting",),
    ),
    Mutant(
        "sum of drops",
        _lost_of(lost=lambda R, end, own, top, T: np.mean(
            [np.maximum(0, -np.diff(R[j:, j])).sum() for j in range(T - 1)])),
        "All drops on the way are added: what came back in between is not lost. It goes from the best to the end.",
        "14.7",
        (),
    ),
    Mutant(
        "first moment left out",
        _lost_of(lost=lambda R, end, own, top, T: np.mean([R[j + 1 :, j].max() - end[j] for j in range(T - 1)])),
        "The best is looked for from the next moment on, and up to the end: it begins with the task's own training, "
        "and "
        "ends before the last task.",
        "14.7",
        ("forgetting",),
    ),
    Mutant(
        "forward transfer",
        _lost_of(back=lambda end, own, T, R: np.mean([R[j - 1, j] for j in range(1, T)])),
        "These are shares before a task's own training: the backward transfer compares the end with the diagonal.",
        "14.7",
        ("backward transfer",),
    ),
)
