"""The questions of chapter 2."""

from ...model import NUMPY_ONLY, Case, Question
from . import cases, mutants, stubs

NO_TOKENIZER = (*NUMPY_ONLY, "tokenizers", "transformers")

QUESTIONS = (
    Question(
        id="02.1",
        title="Byte-pair encoding: learn",
        stub=stubs.learn_merges,
        returns=("merges",),
        minutes=20,
        hints=(
            "A loop over the merges: count the pairs, choose one, note it down, join it everywhere. "
            "zip(ids[:-1], ids[1:]) gives the pairs.",
            "min(totals, key=lambda pair: (-totals[pair], pair)) is the most frequent pair, and of several the lowest. "
            "Join in a while loop: on a hit append 256 + k and go on by two, else append the id and go on by one.",
        ),
        cases=(
            Case("a text", cases.training(6, 4, 40, 6), "four words, six merges", 1),
            Case("equal counts", cases.equal_pairs, "three pairs are equally frequent", 1),
            Case("many merges", cases.training(8, 6, 120, 14), "six words, fourteen merges", 1, ("a text",)),
            Case("a run", cases.a_run, "a letter seven times in a row", guards="a text", open=True),
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
        minutes=12,
        hints=(
            "What training did to its own text, do to this one: the same merges, in the same order.",
            "for k, (a, b) in enumerate(merges): join every a, b into 256 + k. No pair that was learned earlier can "
            "appear later, so one round is enough.",
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
        minutes=8,
        hints=(
            "A token below 256 is its own byte. Any other is a pair of tokens: recursion.",
            "def spell(t): return [t] if t < 256 else spell(merges[t - 256][0]) + spell(merges[t - 256][1])",
        ),
        cases=(
            Case("tokens", cases.tokens_to_spell(6, 4, 50, 8), "tokens and bytes", 1),
            Case("long tokens", cases.tokens_to_spell(6, 3, 60, 12), "tokens of tokens of tokens", 1),
            Case("other tokens", cases.tokens_to_spell(7, 5, 80, 10), "ten merges", guards="tokens"),
        ),
        mutants=mutants.SPELLINGS,
        forbid=NO_TOKENIZER,
    ),
    Question(
        id="02.4",
        title="The gradient of a table",
        stub=stubs.table_gradient,
        returns=("dE",),
        minutes=12,
        hints=(
            "Which rows of dX reach row v of dE? All those at whose place v stood.",
            "dE = np.zeros((V, d)), then np.add.at(dE, ids, scale * dX). Or build the one-hot matrix S of the ids and "
            "return scale * S.T @ dX, with all leading axes made one.",
        ),
        cases=(
            Case("no repeats", cases.table((4,), 7, 3, 2.0, repeats=False), "four different tokens", 1),
            Case("repeats", cases.table((8,), 6, 3, 2.0), "four tokens, each twice", 2),
            Case("batch", cases.table((2, 6), 9, 5, 0.5), "two sequences", 1, ("repeats",)),
            Case("long", cases.table((3, 4, 2), 15, 2, 3.0), "two leading axes", guards="repeats", open=True),
            Case("other numbers", cases.table((2, 4), 8, 3, 3.0), "other sizes", guards="repeats"),
        ),
        mutants=mutants.TABLE,
    ),
    Question(
        id="02.5",
        title="Where the root goes",
        stub=stubs.transformer_input,
        returns=("X",),
        minutes=6,
        hints=(
            "Which of the two is too quiet, the word or the position?",
            "X = √d · E[ids] + P, with d the width: E.shape[1].",
        ),
        cases=(
            Case("one sequence", cases.words_and_places((), 4, 7, 6), "four tokens", 1),
            Case("batch", cases.words_and_places((3,), 5, 9, 8), "three sequences", 1),
            Case("other sizes", cases.words_and_places((2,), 3, 5, 12), "width 12", guards="batch"),
            Case("two leading axes", cases.words_and_places((2, 3), 4, 7, 6), "lead (2, 3)", guards="batch", open=True),
        ),
        mutants=mutants.INPUTS,
    ),
    Question(
        id="02.6",
        title="One table, two paths",
        stub=stubs.tied_gradient,
        returns=("dE",),
        minutes=18,
        hints=(
            "Write the two uses of E apart, as if they were two tables; find each gradient; add.",
            "X = √d E[ids]. Scored: dZᵀ X. Read: dX = dZ E, then √d times the scatter-add of dX into the rows ids.",
        ),
        cases=(
            Case("different words", cases.tied(4, 7, 3, repeats=False), "no word stands twice", 2),
            Case("repeated words", cases.tied(6, 5, 4), "every word stands twice", 2),
            Case("longer", cases.tied(10, 8, 3), "ten tokens", guards="repeated words"),
        ),
        mutants=mutants.TIED,
    ),
    Question(
        id="02.7",
        title="What skip-gram converges to, with pencil and paper",
        stub=stubs.best_score,
        returns=("s",),
        minutes=15,
        hints=(
            "The derivative of log σ(s) is σ(−s), that of log σ(−s) is −σ(s). Set the derivative of the sum to zero.",
            "σ(s)/σ(−s) = e^s. So e^s = p_joint / (k p_word q).",
        ),
        cases=(
            Case("k = 1", cases.chances(3, 4, k=1), "one negative", 1),
            Case("k = 5", cases.chances(3, 4, k=5), "five negatives", 2),
            Case("k = 15", cases.chances(6, k=15), "fifteen negatives", guards="k = 5", open=True),
            Case("other numbers", cases.chances(4, 3, k=7), "seven negatives", guards="k = 5"),
        ),
        mutants=mutants.SCORES,
    ),
    Question(
        id="02.8",
        title="Skip-gram with negative sampling, backward",
        stub=stubs.pair_gradients,
        returns=("du", "dw_true", "dW_drawn"),
        minutes=18,
        hints=(
            "First the gradients of the scores: −σ(−s) for the true word, σ(s) for each drawn one.",
            "du = ds_true w_true + Σ_j ds_j w_j; dw_true = ds_true u; row j of dW_drawn is ds_j u.",
        ),
        cases=(
            Case("du", cases.one_pair(4, 3), "three drawn words", 2, look=("du",)),
            Case("dw_true", cases.one_pair(4, 3), "three drawn words", 1, look=("dw_true",)),
            Case("dW_drawn", cases.one_pair(4, 3), "three drawn words", 2, look=("dW_drawn",)),
            Case("more negatives", cases.one_pair(3, 7), "seven drawn words", guards="du"),
        ),
        mutants=mutants.GRADIENTS,
    ),
    Question(
        id="02.9",
        title="Patches are a strided convolution",
        stub=stubs.patch_tokens,
        returns=("X",),
        minutes=18,
        hints=(
            "Cut the image into a grid with one reshape and one swap of axes; bring the axes of the kernel into the "
            "order of the pixels.",
            "image.reshape(h // p, p, w // p, p, c).swapaxes(1, 2) has axes (grid row, grid column, row, column, "
            "channel); kernel.transpose(2, 3, 1, 0) has (row, column, channel, filter). Flatten, multiply, add b.",
        ),
        cases=(
            Case("one channel", cases.picture(4, 6, 1, 2, 3), "grey, 2 × 3 patches", 1),
            Case("colour", cases.picture(6, 4, 3, 2, 5), "three channels", 2),
            Case("wide", cases.picture(6, 12, 2, 3, 4), "patches of 3 × 3", 1, ("colour",)),
            Case("other sizes", cases.picture(8, 12, 3, 4, 2), "patches of 4 × 4", guards="colour"),
        ),
        mutants=mutants.PATCHES,
    ),
)
