"""The questions of chapter 8."""

from ...model import Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="08.1",
        title="The leak probe",
        stub=stubs.leak,
        returns=("leak",),
        minutes=15,
        hints=(
            "Copy X, overwrite the tokens from t on, run f on both, and compare the rows before t.",
            "changed = X.copy(); changed[..., t:, :] = new[..., t:, :]; then the largest absolute difference of "
            "f(changed) and f(X) in the rows [..., :t, :].",
        ),
        cases=(
            Case("running sum", cases.probed("a running sum", 6, 3, 3), "a causal function", 1),
            Case("next token", cases.probed("reads the next token", 6, 3, 2), "each token reads the next", 1),
            Case("attention", cases.probed("three kinds of attention", 7, 4, 3), "right, masked late, off by one", 2),
            Case("batch", cases.probed("norm over tokens", 5, 3, 2, (2, 3)), "a norm over tokens, in batches", 1),
            Case(
                "falls only",
                cases.probed("falls only", 6, 3, 4, zero=True),
                "values that can only fall",
                guards="next token", open=True),
            Case("another sum", cases.probed("a running sum", 5, 2, 2), "other sizes", guards="running sum"),
        ),
        mutants=mutants.LEAKS,
        drive=cases.call_leak,
    ),
    Question(
        id="08.2",
        title="⚑ Which side is the padding on?",
        stub=stubs.padded_weights,
        returns=("A",),
        minutes=15,
        hints=(
            "Nobody may look at filler: the bit of a token belongs on the axis of the keys, the last one.",
            "real = np.arange(n) < lengths[:, None, None] has shape (B, 1, n). Where it is False the score is -inf. "
            "For length 0 the whole row is -inf: take care of -inf minus -inf, and of 0 / 0.",
        ),
        cases=(
            Case("one sequence", cases.padded([4], 6), "four real tokens of six", 1),
            Case("batch", cases.padded([5, 2, 3], 5), "three lengths, one of them full", 1, ("one sequence",)),
            Case("empty", cases.padded([3, 0], 4), "a sequence of length 0", 1, ("one sequence",)),
            Case("large scores", cases.padded([2, 4], 6, 40000.0), "scores of tens of thousands", 1, ("one sequence",)),
            Case("as many as tokens", cases.padded([1, 2, 4, 3], 4), "B = n", guards="batch"),
        ),
        mutants=mutants.PADDINGS,
    ),
    Question(
        id="08.3",
        title="⚑ Shifted, and on the diagonal",
        stub=stubs.teacher_forcing,
        returns=("inputs", "targets", "M"),
        minutes=12,
        hints=(
            "Every word is a target once, the first as well. What stands in the row that predicts the first word?",
            "inputs are BOS and the text without its last word; targets are the text. Row i holds word i − 1 and "
            "predicts word i, so it may see its own place: np.tri(n, dtype=bool).",
        ),
        cases=(
            Case("inputs", cases.text(6), "one text of six words", 1, look=("inputs",)),
            Case("targets", cases.text(6), "one text of six words", 1, look=("targets",)),
            Case("mask", cases.text(6), "one text of six words", 1, look=("M",)),
            Case("batch", cases.text(4, (2, 3)), "two axes in front", 1),
            Case("one word", cases.text(1, (3,)), "texts of one word", guards="batch", open=True),
            Case("five words", cases.text(5, (2,)), "two texts of five words", guards="batch"),
        ),
        mutants=mutants.FORCINGS,
    ),
    Question(
        id="08.4",
        title="Two Jacobians, with pencil and paper",
        stub=stubs.mask_jacobians,
        returns=("before", "after"),
        minutes=20,
        hints=(
            "Write both as quotients with the mask as a factor. Which scores are in the denominator of each?",
            "before: a_j(δ_jl − a_l) with a the masked softmax. after: M_j p_j(δ_jl − p_l) with p the softmax over "
            "all keys; it is not symmetric.",
        ),
        cases=(
            Case("before", cases.one_row("11010"), "five keys, two of them hidden", 2, look=("before",)),
            Case("after", cases.one_row("11010"), "five keys, two of them hidden", 2, look=("after",)),
            Case("nothing hidden", cases.one_row("1111"), "where both agree", 1, ("before", "after")),
            Case("one key", cases.one_row("000100"), "a single visible key", guards="after"),
        ),
        mutants=mutants.JACOBIANS,
    ),
    Question(
        id="08.5",
        title="⚑ Multiplied by the mask",
        stub=stubs.name_the_mask,
        returns=("names",),
        minutes=20,
        hints=(
            "Look above the diagonal first, then at the sums of rows and of columns.",
            "Zeros above the diagonal and rows that sum to 1: correct. Zeros and smaller rows: after the softmax, or "
            "the columns sum to 1. A zero upper corner but one more diagonal: off by one. No zeros at all: the scores "
            "were multiplied, and e⁰ = 1.",
        ),
        cases=(
            Case("four exhibits", cases.exhibits(5, False), "four matrices, a fault in each", 3),
            Case("one is innocent", cases.exhibits(4, True), "five matrices, one of them correct", 2),
            Case("eight tokens", cases.exhibits(8, True), "eight tokens", guards="four exhibits"),
        ),
        mutants=mutants.DETECTIVES,
        drive=cases.call_diagnose,
        labels=cases.NAMES,
    ),
    Question(
        id="08.6",
        title="The mean of what is real",
        stub=stubs.masked_pool,
        returns=("y", "dX"),
        minutes=15,
        hints=(
            "Give every token a share: 1 / count if it is real, 0 if not. Both passes are a product with the shares.",
            "count = real.sum(axis=-1, keepdims=True); share = real / np.maximum(count, 1); y = Σ share x over the "
            "tokens; dX = share[..., None] * dy[..., None, :].",
        ),
        cases=(
            Case("forward", cases.one_sentence, "three real tokens of five", 1, look=("y",)),
            Case("backward", cases.one_sentence, "three real tokens of five", 1, look=("dX",)),
            Case("batch", cases.sentences([4, 2, 5], 6, 3), "three lengths", 1, ("forward",)),
            Case("empty", cases.sentences([3, 0], 4, 2), "a sentence without a token", 1, ("forward",)),
            Case("holes", cases.sentences([2, 3, 4], 5, 3, holes=True), "filler between the words",
                 guards="batch", open=True),
            Case("two leading axes", cases.pages, "two pages of three sentences", guards="batch", open=True),
            Case("other holes", cases.sentences([1, 3], 5, 2, holes=True), "other sizes", guards="batch"),
        ),
        mutants=mutants.POOLS,
    ),
)
