"""The questions of chapter 2."""

import numpy as np

from ...model import NUMPY_ONLY, TORCH_ONLY, Case, Question, WrongAnswer
from . import cases, mutants, stubs

NO_TOKENIZER = (*NUMPY_ONLY, "tokenizers", "transformers")


def cut_both_ways(inputs, arrays):
    """Of a list of merges and a text: the tokens in order, the tokens longest first, the bytes, and the merges."""
    merges, ids = arrays
    if merges.ndim != 2 or merges.shape[1] != 2 or merges.dtype.kind not in "iu" or len(merges) > 50:
        raise WrongAnswer("merges must be whole numbers of shape (m, 2), one pair a row")
    if ids.ndim != 1 or ids.dtype.kind not in "iu" or ids.size > 50:
        raise WrongAnswer("ids must be whole numbers in one row, the bytes of the text")
    merges, ids, letters = [tuple(pair) for pair in merges.tolist()], ids.tolist(), inputs["letters"].tolist()
    if set(ids) != set(letters):
        raise WrongAnswer(f"the text has the bytes {sorted(set(ids))}, expected each of {letters} and no other")
    for i, pair in enumerate(merges):
        if not all(0 <= half < 256 + i for half in pair):
            raise WrongAnswer(f"merge {i} joins {pair}, and at that time only the tokens below {256 + i} are known")
    in_order = ids
    for i, pair in enumerate(merges):
        in_order = cases.joined(in_order, pair, 256 + i)
    spelled = {(i,): i for i in range(256)}
    texts = [(i,) for i in range(256)]
    for a, b in merges:
        texts.append((texts[a] + texts[b])[:100])
        spelled.setdefault(texts[-1], len(texts) - 1)
    rest, longest_first = tuple(ids), 0
    while rest:
        size = next(n for n in range(len(rest), 0, -1) if rest[:n] in spelled)
        rest, longest_first = rest[size:], longest_first + 1
    return tuple(np.array(n) for n in (len(in_order), longest_first, len(ids), len(merges)))


def scores_by_hand(inputs, arrays):
    """The scores U Wᵀ, of tables that are no wider than there are themes."""
    U, W = arrays
    (A, T), C = inputs["themes"].shape, len(inputs["belongs"])
    if U.ndim != 2 or W.ndim != 2 or len(U) != A or len(W) != C or U.shape[1] != W.shape[1]:
        raise WrongAnswer(f"U has shape {U.shape} and W {W.shape}, expected ({A}, d) and ({C}, d)")
    if U.dtype.kind not in "fiu" or W.dtype.kind not in "fiu":
        raise WrongAnswer(f"U has dtype {U.dtype} and W {W.dtype}, expected numbers")
    if U.shape[1] > T:
        raise WrongAnswer(f"the tables are {U.shape[1]} wide, expected {T} at most, the number of themes")
    return (U.astype(float) @ W.astype(float).T,)


QUESTIONS = (
    Question(
        id="02.1",
        title="Byte-pair encoding: learn",
        stub=stubs.learn_merges,
        returns=("merges",),
        minutes=20,
        kind="build",
        section="2.2",
        part=1,
        hints=(
            "A loop over the merges: count the pairs, choose one, note it down, join it everywhere.",
            "Of the pairs, take the one with the largest count, and among equals the one that comes first when pairs "
            "are sorted. To join, walk through the ids: where the pair stands, write the new id and go on by two; "
            "elsewhere keep the id and go on by one. Then count the new sequence from scratch.",
            "The choice in one line: min(totals, key=lambda pair: (-totals[pair], pair)), where totals counts "
            "zip(ids[:-1], ids[1:]). Put the joining into a helper with a while loop; the learner still needs the "
            "loop around both.",
        ),
        clauses=(
            ("join the most frequent pair wherever it stands, from the left", "a text"),
            ("take the lowest: the smaller first id, and then the smaller second", "equal counts"),
            ("then count again", "many merges"),
            ("the pair *aa* is counted twice, and joined once", "a run"),
        ),
        cases=(
            Case("a text", cases.training(6, 4, 40, 6), "four words, six merges", 1),
            Case("equal counts", cases.equal_pairs, "three pairs are equally frequent", 1),
            Case("many merges", cases.training(8, 6, 120, 14), "six words, fourteen merges", 2, ("a text",)),
            Case("a run", cases.a_run, "a letter three, five and seven times in a row", guards="a text", open=True),
            Case("another text", cases.training(7, 5, 90, 10), "five words, ten merges", guards="many merges"),
        ),
        mutants=mutants.MERGES,
        forbid=NO_TOKENIZER,
    ),
    Question(
        id="02.2",
        title="Byte-pair encoding: encode",
        stub=stubs.encode_bytes,
        returns=("tokens",),
        minutes=10,
        kind="build",
        section="2.2",
        part=1,
        hints=(
            "What training did to its own text, do to this one.",
            "Go through the merges in the order in which they were learned; join each pair everywhere before you look "
            "at the next merge. No pair that was learned earlier can appear later, so one round is enough.",
            "for k, (a, b) in enumerate(merges): here a helper joins every a, b of the text into 256 + k. The helper "
            "is the one of the exercise before.",
        ),
        clauses=(
            ("a text comes that was not there when they were", "a new text"),
            ("What does the tokenizer make of it?", "order"),
        ),
        cases=(
            Case("a new text", cases.new_text(6, 4, 60, 8), "words in another order", 1),
            Case("order", cases.order_matters, "bcd was learned before abc", 1),
            Case("another text", cases.new_text(8, 6, 90, 12), "twelve merges", guards="a new text"),
        ),
        mutants=mutants.ENCODINGS,
        forbid=NO_TOKENIZER,
    ),
    Question(
        id="02.3",
        title="Byte-pair encoding: decode",
        stub=stubs.spell_out,
        returns=("ids",),
        minutes=5,
        kind="build",
        section="2.2",
        part=1,
        hints=(
            "What is a token of 256 or more made of?",
            "A token below 256 is its own byte. Any other is a pair of tokens, each of which is spelled in the same "
            "way: the left one first.",
            "Write a helper that spells one token: a list with itself, or the sum of two lists, found by calling the "
            "helper on both halves, merges[t - 256]. Then string the tokens together.",
        ),
        clauses=(("the inverse of encode_bytes", "tokens"), ("tokens of tokens", "long tokens")),
        cases=(
            Case("tokens", cases.tokens_to_spell(6, 4, 50, 8), "tokens and bytes", 1),
            Case("long tokens", cases.deep_tokens, "tokens of tokens of tokens", guards="tokens", open=True),
            Case("other tokens", cases.tokens_to_spell(7, 5, 80, 10), "ten merges", guards="tokens"),
        ),
        mutants=mutants.SPELLINGS,
        forbid=NO_TOKENIZER,
    ),
    Question(
        id="02.4",
        title="The gradient of a bag of words",
        stub=stubs.bag_gradient,
        returns=("dE",),
        minutes=15,
        kind="derive",
        section="2.4",
        part=2,
        printed=False,
        hints=(
            "In which texts, and how often in each, was row v of the table read?",
            "Row v gets, from each text, the gradient of that text's mean, times the number of times that v stands in "
            "the text, divided by the number of real words in it. The filling gets nothing, and a text without words "
            "gives nothing.",
            "there = ids != pad says which places count; there.sum(axis=-1) is the length m of each text, and "
            "np.maximum(…, 1) keeps the division alive. Every place of a text sends dX / m to its row: add with "
            "np.add.at, or multiply by one-hot rows.",
        ),
        clauses=(
            ("the mean of the rows of its words, each as often as it stands there", "several texts"),
            ("The filling is no word: it counts nowhere, and its row gets no gradient", "one text"),
            ("A text of nothing but filling has the mean 0, and changes no row", "a text of filling"),
            ("Texts may be arranged along any number of leading axes", "two leading axes"),
            ("A text that fills its row has no filling at all", "no filling"),
        ),
        cases=(
            Case("no filling", cases.single_words, "two texts of different words", 1),
            Case("one text", cases.bags((), 6, 7, 4, 6), "one text, filled up", 1),
            Case("several texts", cases.bags((4,), 6, 9, 5, 3), "words that repeat", 1),
            Case("two leading axes", cases.bags((2, 3), 5, 8, 4, 0), "the filling is word 0", guards="several texts",
                 open=True),
            Case("a text of filling", cases.bags((3,), 5, 8, 4, 7, empty=True), "no word", guards="several texts",
                 open=True),
            Case("other texts", cases.bags((3,), 7, 10, 4, 5), "other sizes", guards="several texts"),
        ),
        mutants=mutants.BAGS,
    ),
    Question(
        id="02.5",
        title="Where the root goes",
        stub=stubs.transformer_input,
        returns=("X",),
        minutes=5,
        kind="build",
        section="2.5",
        part=2,
        hints=(
            "Which of the two is too quiet, the word or the position?",
            "The rows that are read are multiplied by √d, d being the width of the table; the positions are added as "
            "they are.",
            "The rows are E[ids] and the width is E.shape[1]; the factor must not touch P.",
        ),
        clauses=(
            ("Return the sum of words and positions that the first block reads", "one sequence"),
            ("ids (*B, n)", "two leading axes"),
            ("There is one place where the root belongs", "batch"),
        ),
        cases=(
            Case("one sequence", cases.words_and_places((), 4, 7, 6), "four tokens", 1),
            Case("batch", cases.words_and_places((3,), 5, 9, 8), "three sequences", guards="one sequence", open=True),
            Case("two leading axes", cases.words_and_places((2, 3), 4, 7, 6), "lead (2, 3)", guards="one sequence",
                 open=True),
            Case("other sizes", cases.words_and_places((2,), 3, 5, 12), "width 12", guards="one sequence"),
        ),
        mutants=mutants.INPUTS,
    ),
    Question(
        id="02.6",
        title="One table, two paths, and the places",
        stub=stubs.tied_gradients,
        returns=("dE", "dP"),
        minutes=20,
        kind="derive",
        section="2.6",
        part=2,
        printed=False,
        hints=(
            "Write the two uses of E apart, as if they were two tables; find each gradient; add. P is used once, but "
            "by every sequence.",
            "Scored: dZᵀ X, summed over all tokens, where X is all that was scored, word and place. Read: dX = dZ E, "
            "then √d times what (2.3) makes of it. The places get dX as it is, summed over the sequences.",
            "With S the one-hot rows of all tokens, and dZ and X as matrices with one row a token: dE is dZ.T @ X + "
            "√d · S.T @ (dZ @ E), with X = √d · E[ids] + P. For dP, bring dX to (sequences, n, d) and sum over the "
            "first axis.",
        ),
        clauses=(
            ("dE (V, d)", "words once"),
            ("A word may stand in several places", "repeated words"),
            ("dP (n, d)", "places"),
            ("Several sequences use the same places", "batch"),
        ),
        cases=(
            Case("words once", cases.tied((), 4, 7, 3, repeats=False), "no word stands twice", 1, look=("dE",)),
            Case("places", cases.tied((), 5, 7, 3), "one sequence", 1, look=("dP",)),
            Case("repeated words", cases.tied((), 6, 5, 3), "every word stands twice", 2, look=("dE",)),
            Case("batch", cases.tied((2, 3), 4, 6, 5), "two leading axes", guards="places", open=True),
            Case("longer", cases.tied((2, 2), 7, 8, 3), "other sizes", guards="repeated words"),
        ),
        mutants=mutants.TIED,
    ),
    Question(
        id="02.7",
        title="From counts to scores",
        stub=stubs.scores_from_counts,
        returns=("s", "bend"),
        minutes=20,
        kind="derive",
        section="2.8",
        part=3,
        printed=False,
        hints=(
            "Which three probabilities does (2.21) need, and which of them does the power touch?",
            "p(a, c) is a count over their sum, p(a) the sum of its row, q(c) the sum of the column to the power, "
            "divided by the sum of these powers. With m = k p(a) q(c) the slope is −p σ(−s) + m σ(s), and it vanishes "
            "where e^s = p / m. The derivative of σ(s) is σ(s) σ(−s).",
            "The bend is (p + m) σ(s) σ(−s), and at the best score σ(s) = p / (p + m): put it in and simplify. For m, "
            "np.outer of the row sums and q does the product.",
        ),
        clauses=(
            ("one negative for each true pair", "k = 1"),
            ("k negatives are drawn from the contexts' counts", "k = 5"),
            ("to the power `power`", "three quarters"),
            ("bend (A, C), the second derivative of each pair's part of the loss at its best score", "the bend"),
        ),
        cases=(
            Case("k = 1", cases.meetings(3, 5, 1, 1.0), "one negative, drawn as often as it comes", 1, look=("s",)),
            Case("k = 5", cases.meetings(4, 6, 5, 1.0), "five negatives", 1, look=("s",)),
            Case("three quarters", cases.meetings(3, 5, 2, 0.75), "flattened counts", 1, look=("s",)),
            Case("the bend", cases.meetings(4, 3, 3, 0.75), "second derivative", 1, look=("bend",)),
            Case("other counts", cases.meetings(5, 4, 7, 0.5), "seven negatives", guards="the bend"),
        ),
        mutants=mutants.SCORES,
    ),
    Question(
        id="02.8",
        title="Everyone else is a negative",
        stub=stubs.batch_gradients,
        returns=("dU", "dW", "dt", "dc"),
        minutes=20,
        kind="derive",
        section="2.8",
        part=3,
        printed=False,
        hints=(
            "First the gradient of every score z_ij by itself; it is an n × n matrix, and the rest are linear maps.",
            "The gradient of z_ij is −y_ij σ(−y_ij z_ij) / n. Call this matrix G. Each z is t times a dot product, "
            "plus c: u_i collects t G_ij w_j over j, w_j collects t G_ij u_i over i, and t and c are in every score.",
            "y is 2 np.eye(n) − 1, and σ(−v) without overflow is np.exp(-np.logaddexp(0, v)). With G: dU is t G W, dW "
            "has G transposed, dc is the sum of G, and dt is the sum of G times what stands beside t.",
        ),
        clauses=(
            ("the centre of each pair", "dU"),
            ("its true context", "dW"),
            ("t and c are learned with them", "dt"),
            ("y_ij is 1 for i = j and −1 for all other pairs", "dc"),
            ("Scores may be in the thousands", "large scores"),
        ),
        cases=(
            Case("dU", cases.pairs(5, 3, 1.7, -0.8), "five pairs", 1, look=("dU",)),
            Case("dW", cases.pairs(5, 3, 1.7, -0.8), "five pairs", 1, look=("dW",)),
            Case("dt", cases.pairs(5, 3, 1.7, -0.8), "five pairs", 1, look=("dt",)),
            Case("dc", cases.pairs(5, 3, 1.7, -0.8), "five pairs", 1, look=("dc",)),
            Case("large scores", cases.pairs(4, 3, 2.5, -0.8, size=500.0), "scores in the thousands", guards="dU",
                 open=True),
            Case("more pairs", cases.pairs(7, 4, 2.3, -0.6), "seven pairs", guards="dW"),
        ),
        mutants=mutants.GRADIENTS,
    ),
    Question(
        id="02.9",
        title="Patches are a strided convolution",
        stub=stubs.patch_tokens,
        returns=("X",),
        minutes=20,
        kind="build",
        section="2.9",
        part=4,
        hints=(
            "Cut the image into a grid first: into which four axes do its two axes of pixels fall apart?",
            "One reshape gives the axes grid row, row, grid column, column, channel; exchange the second and the "
            "third. The kernel has filter, channel, row, column: bring it into the order row, column, channel, "
            "filter. Then both flatten in the same order.",
            "image.reshape(h // p, p, w // p, p, c).swapaxes(1, 2) is the grid; kernel.transpose(2, 3, 1, 0) is the "
            "kernel in the order of the pixels. What is left is one product of two matrices, and b.",
        ),
        clauses=(
            ("maps each square linearly to a token", "one channel"),
            ("filter, channel, row, column", "colour"),
            ("p divides h and w", "wide"),
        ),
        cases=(
            Case("one channel", cases.picture(4, 6, 1, 2, 3), "grey, 2 × 3 patches", 1),
            Case("colour", cases.picture(6, 4, 3, 2, 5), "three channels", 2),
            Case("wide", cases.picture(6, 12, 2, 3, 4), "patches of 3 × 3", 1, ("colour",)),
            Case("other sizes", cases.picture(8, 12, 3, 4, 2), "patches of 4 × 4", guards="colour"),
        ),
        mutants=mutants.PATCHES,
    ),
    Question(
        id="02.10",
        title="When longest first wins",
        stub=stubs.longest_first_wins,
        returns=("merges", "ids"),
        measure=cut_both_ways,
        measures=("tokens_in_order", "tokens_longest_first", "bytes", "merges"),
        minutes=15,
        kind="counterexample",
        section="2.2",
        part=1,
        printed=False,
        hints=(
            "Longest first gets the whole text as one token. What must happen early, so that the merges in order miss "
            "it?",
            "Give the text abc a token of its own, made of ab and c, and let bc be learned before ab: then b is taken "
            "before a can have it. For the run aaa ask which two halves of the long token cannot both be left after "
            "the first merge has gone from left to right.",
            "Three letters: the pairs are bc, ab and then ab + c, whose id is 257. Two letters: the same with two of "
            "the three equal. One letter: after the first merge aaa is [256, a]; choose the second merge so that it "
            "does not fit this, and still spells aaa.",
        ),
        clauses=(
            ("among them every one of letters and no other", "three letters"),
            ("one, two or three of them", "two letters"),
            ("m is as small as it can be", "one letter"),
        ),
        cases=(
            Case("three letters", cases.bytes_to_use(3), "all three bytes differ", 1),
            Case("two letters", cases.bytes_to_use(2), "two of three bytes are equal", 1),
            Case("one letter", cases.bytes_to_use(1), "a run of three", 1),
            Case("other letters", cases.bytes_to_use(3), "three other bytes", guards="three letters"),
        ),
        mutants=mutants.COUNTEREXAMPLES,
        forbid=NO_TOKENIZER,
    ),
    Question(
        id="02.11",
        title="A text of one letter",
        stub=stubs.tokens_of_a_run,
        returns=("tokens",),
        minutes=10,
        kind="predict",
        section="2.2",
        part=1,
        printed=False,
        hints=(
            "Write down the first three merges of the run aaaaaaaa. How long is each new token?",
            "Each merge doubles the longest token, up to 2ᵐ letters. As many of these as fit come first; what is left "
            "is shorter than one of them, and it is cut into powers of two, each once at most. Which way of writing a "
            "number does this recall?",
            "The rest is n modulo 2ᵐ, and it takes as many tokens as it has ones in binary: int.bit_count counts "
            "them. Use whole numbers throughout: 2 ** m in floats loses digits.",
        ),
        clauses=(
            ("how many tokens does it make of a run of n letters", "short runs"),
            ("Runs may have 10¹⁵ letters, so nobody can carry out the merges", "very long runs"),
            ("With m = 0 nothing was learned", "no merges"),
        ),
        cases=(
            Case("short runs", cases.runs(12, 3, 1, 40), "three merges", 1),
            Case("very long runs", cases.runs(6, 13, 10**14, 10**15), "thirteen merges", 1),
            Case("no merges", cases.runs(5, 0, 1, 30), "bytes alone", guards="short runs", open=True),
            Case("other runs", cases.runs(9, 5, 1, 300), "five merges", guards="short runs"),
        ),
        mutants=mutants.COUNTS,
        forbid=NO_TOKENIZER,
    ),
    Question(
        id="02.12",
        title="A sampler that trains anyway",
        stub=stubs.draw_negatives,
        returns=("ids",),
        minutes=20,
        kind="repair",
        section="2.8",
        part=3,
        printed=False,
        hints=(
            "Test each sentence of the statement on the faulty function: six words, a power of one half, and a few r "
            "that you choose.",
            "The weights must sum to one, and that must be so after the true context of the row has lost its own. So "
            "every row has edges of its own. At the edges: word v owns the numbers from its lower edge, itself "
            "included, to its upper edge, without it.",
            "Give each row its weights, shape (B, V); set weights[np.arange(B), contexts] = 0; cumulate along the "
            "last axis and divide by the last number. The word is the number of edges that are ≤ r, which is what "
            "side=\"right\" means.",
        ),
        clauses=(
            ("in proportion to counts to the power", "three quarters"),
            ("in the order of their ids", "as they come"),
            ("the true context of row b is never drawn in row b", "frequent contexts"),
            ("a word that never came is never drawn, not even by r = 0", "words that never came"),
        ),
        cases=(
            Case("as they come", cases.draws(4, 6, 9, 1.0, common=True), "the power is 1", 1),
            Case("three quarters", cases.draws(5, 7, 11, 0.75, common=True), "the power is 3/4", 1),
            Case("frequent contexts", cases.draws(4, 12, 7, 0.5, common=True), "many draws", 1),
            Case("words that never came", cases.draws(3, 5, 8, 0.75, zeros=(0, 5)), "words 0 and 5, and r = 0", 1),
            Case("other counts", cases.draws(6, 8, 10, 0.75, common=True), "other numbers", guards="three quarters"),
        ),
        mutants=mutants.DRAWS,
    ),
    Question(
        id="02.13",
        title="One parameter, used twice",
        stub=stubs.make_tied,
        returns=("parameters", "rms", "padding_starts_at_zero", "padding_stays_zero", "X", "logits", "dE"),
        drive=cases.try_tied,
        torch=True,
        minutes=20,
        kind="design",
        section="2.11",
        part=2,
        printed=False,
        hints=(
            "How many parameters should the module have? And which of the two paths does padding_idx guard?",
            "Keep one parameter, the table. Make the table that both methods use by multiplying it with a column of "
            "ones that has a zero at the padding: then the row is zero, and the gradient of both paths is multiplied "
            "by that zero. √d stands at reading alone; draw the entries with variance 1/d.",
            "In __init__: self.E = torch.nn.Parameter(torch.randn(V, d) / d ** 0.5), and a buffer for the column, so "
            "that it is no parameter. A small method returns their product; reading indexes it and multiplies by d ** "
            "0.5, scoring takes X times its transpose.",
        ),
        clauses=(
            ("one table is its only parameter", "one table"),
            ("drawn with variance 1/d", "reading"),
            ("X = √d E[ids]", "reading"),
            ("the logits are X Eᵀ", "scoring"),
            ("The row of the padding is zero, and no gradient reaches it, from either path", "gradient"),
            ("ids (*B, n)", "batch"),
        ),
        cases=(
            Case("one table", cases.one_table((), 5, 7, 4, 6), "seven words", 1, look=("parameters",)),
            Case("reading", cases.one_table((), 5, 7, 3, 6), "seven words", 1, look=("rms", "X")),
            Case("scoring", cases.one_table((), 5, 7, 3, 6), "seven words", 1, look=("logits",)),
            Case("gradient", cases.one_table((), 5, 8, 3, 2), "the padding is word 2", 1,
                 look=("padding_starts_at_zero", "padding_stays_zero", "dE")),
            Case("batch", cases.one_table((2, 3), 5, 9, 6, 0), "the padding is word 0", guards="gradient", open=True),
            Case("other sizes", cases.one_table((), 4, 10, 5, 3), "ten words", guards="gradient"),
        ),
        mutants=mutants.MODULES,
        forbid=TORCH_ONLY,
    ),
    Question(
        id="02.14",
        title="Tables written by hand",
        stub=stubs.tables_by_hand,
        returns=("U", "W"),
        measure=scores_by_hand,
        measures=("scores",),
        minutes=20,
        kind="design",
        section="2.8",
        part=4,
        printed=False,
        hints=(
            "The best score takes two values for each context word. Which two, and when does it take which?",
            "By (2.24) a score is a constant of the context word, plus λ if a theme is shared. Let the row of a word "
            "be its row of themes: then column t of W is what theme t brings. For a width of T the constant must come "
            "without a column of its own: each word has two ones, so each of them can bring half.",
            "With m = C / T, low = noise / C and high = low + (1 − noise) / (2 m), both divided by k q. Row c of W "
            "has log(low) / 2 in every column, and log(high) − log(low) more in the column of its theme.",
        ),
        clauses=(
            ("whose scores are the best ones of (2.22)", "one negative"),
            ("no wider than T", "five negatives"),
        ),
        cases=(
            Case("one negative", cases.planted(4, 2, 1, 0.1), "four themes, six words", 2),
            Case("five negatives", cases.planted(5, 3, 5, 0.2), "five themes, ten words", 2),
            Case("other worlds", cases.planted(6, 2, 3, 0.15), "six themes", guards="five negatives"),
        ),
        mutants=mutants.BY_HAND,
    ),
)
