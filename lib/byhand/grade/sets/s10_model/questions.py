"""The questions of chapter 10."""

from ...model import Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="10.1",
        title="Shift right",
        stub=stubs.shift,
        returns=("inputs", "labels"),
        minutes=10,
        hints=(
            "Row by row: the inputs are BOS and all but the last word, the labels are all words. Then the padding.",
            "np.concatenate a column of bos and texts[:, :-1]; real = np.arange(n) < lengths[:, None]; np.where twice.",
        ),
        cases=(
            Case("one text", cases.texts([5], 5), "five words, no padding", 1),
            Case("padded", cases.texts([4, 6, 3], 6), "three texts of different lengths", 2, ("one text",)),
            Case("one word", cases.texts([1, 3], 3), "a text of a single word", guards="padded", open=True),
            Case("longer", cases.texts([9, 9], 9), "two texts of nine words", guards="one text"),
            Case("pad is a word", cases.pad_is_a_word, "the id of pad also stands for a word",
                 guards="padded", open=True),
        ),
        mutants=mutants.SHIFTS,
    ),
    Question(
        id="10.2",
        title="The gradient of the memory, with pencil and paper first",
        stub=stubs.memory_gradient,
        returns=("dM", "dY0"),
        minutes=25,
        hints=(
            "Give each block a copy of M of its own, find the gradient of that copy, and add. Start at the last block.",
            "dU = dY ∘ (1 − Y[l]²); this block's share is Aᵀ dU Wᵀ; and dU is the dY of the block below.",
        ),
        cases=(
            Case("one block", cases.blocks(1, 4, 4, 3, 3), "one block: no sum yet", 1),
            Case("two blocks", cases.blocks(2, 4, 4, 3, 3), "two blocks", 2, ("one block",)),
            Case("four blocks", cases.blocks(4, 5, 3, 2, 4), "four blocks, all sizes different", 2, ("two blocks",)),
            Case("three blocks", cases.blocks(3, 3, 6, 4, 2), "three blocks", guards="two blocks"),
            Case("all sizes different", cases.blocks(2, 5, 3, 4, 6), "two blocks", guards="two blocks", open=True),
        ),
        mutants=mutants.MEMORY,
    ),
    Question(
        id="10.3",
        title="Which blocks spoke to the encoder?",
        stub=stubs.what_was_sent,
        returns=("names",),
        minutes=15,
        hints=(
            "Compute all five candidates from the terms, and look which one dM is.",
            "The candidates: terms.sum(0), terms[-1], terms[0], terms.mean(0), terms.sum(0) + terms[-1].",
        ),
        cases=(
            Case("five decoders", cases.gradients(4, 3, 2, range(5)), "one of each kind", 3),
            Case("three decoders", cases.gradients(3, 4, 5, range(3)), "other sizes, one of them innocent", 1),
            Case("two blocks", cases.gradients(2, 2, 3, range(5)), "decoders of two blocks", guards="five decoders"),
        ),
        mutants=mutants.SENT,
        drive=cases.call_what_was_sent,
        labels=cases.NAMES,
    ),
    Question(
        id="10.4",
        title="Who asks whom",
        stub=stubs.cross_attention,
        returns=("O", "A"),
        minutes=15,
        hints=(
            "The decoder writes: it asks. The encoder has read: it answers. How many rows must the output have?",
            "Q = Y W_q, K = M W_k, V = M W_v; the rest is attention, with the mask over source words.",
        ),
        cases=(
            Case("values", cases.reading(3, 5, 4, 2, 6), "three target words, five source words", 1),
            Case("as long as the source", cases.reading(4, 4, 3, 2, 5), "equal lengths: a swap no longer crashes", 1),
            Case("padded source", cases.reading(3, 5, 4, 3, 2, (2,), True), "two sources of different lengths", 2,
                 ("values",)),
            Case("padded, equal lengths", cases.reading(5, 5, 4, 3, 2, (3,), True), "the same, square",
                 guards="padded source"),
            Case("two leading axes", cases.reading(3, 4, 5, 2, 6, (2, 3)), "lead (2, 3)", guards="values", open=True),
        ),
        mutants=mutants.READING,
    ),
    Question(
        id="10.5",
        title="One table, two uses",
        stub=stubs.two_uses_gradient,
        returns=("dE",),
        minutes=15,
        hints=(
            "Pretend there are two tables with equal numbers, find the gradient of each, and add.",
            "Look-up: np.add.at(dE, ids, scale * dX). Scores: dZᵀ H, with all tokens in one axis.",
        ),
        cases=(
            Case("no scale", cases.table(5, [3, 0, 4], 2, 1.0), "three different words", 1),
            Case("with a scale", cases.table(6, [2, 5, 2, 2, 1], 4, 2.0), "one word stands three times", 2,
                 ("no scale",)),
            Case("batch", cases.table(7, [[1, 1, 6], [0, 1, 3]], 3, 3.0**0.5), "two sequences", 1, ("with a scale",)),
            Case("other numbers", cases.table(4, None, 9, 3.0), "two sequences of five words", guards="with a scale"),
            Case("two leading axes", cases.table(7, [[[1, 1], [6, 0]], [[1, 3], [2, 1]]], 3, 0.5), "lead (2, 2)",
                 guards="batch", open=True),
        ),
        mutants=mutants.TIED,
    ),
    Question(
        id="10.6",
        title="Greedy decoding",
        stub=stubs.greedy,
        returns=("text",),
        minutes=15,
        hints=(
            "Keep a list that begins with bos. Ask step for logits, take the best word of one row, append, go on.",
            "The row is the last. Stop when the word is eos, and do not keep it; stop after max_len words too.",
        ),
        cases=(
            Case("three words", cases.decoder(6, 3, 12), "a text of three words", 1),
            Case("five words", cases.decoder(7, 5, 12), "a text of five words", 1, ("three words",)),
            Case("does not end", cases.decoder(9, None, 6), "no EOS within six words", 1, ("three words",)),
            Case("four words", cases.decoder(6, 4, 12), "a text of four words", guards="three words"),
        ),
        mutants=mutants.GREEDY,
        drive=cases.call_greedy,
    ),
    Question(
        id="10.7",
        title="The bill, with pencil and paper",
        stub=stubs.count,
        returns=("N", "n"),
        minutes=20,
        hints=(
            "One block: four maps in attention, two in the feed-forward layer, two norms. Then what stands outside.",
            "A block: 4(d² + d) + 2df + f + d + 4d. The length: 4nd = 2(4d² + 2df), operations a token.",
        ),
        cases=(
            Case("a small one", cases.sizes(100, 20, 8, 24, 3), "V 100, d 8, f 24, three blocks", 2),
            Case("GPT-2", cases.sizes(50257, 1024, 768, 3072, 12), "124 439 808, if you count right", 1),
            Case("drawn at random", cases.some_sizes, "any sizes", 1, ("a small one",)),
            Case("another", cases.some_sizes, "any other sizes", guards="a small one"),
        ),
        mutants=mutants.COUNTS,
    ),
)
