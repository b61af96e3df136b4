"""The questions of chapter 8."""

from ...model import TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="08.1",
        title="The leak probe",
        stub=stubs.leak,
        returns=("leak",),
        minutes=12,
        kind="build",
        section="8.9",
        part=3,
        hints=(
            "Two runs of f that differ in the future alone. What may differ in their outputs, and what not?",
            "In a copy of X put the tokens of the other array from place t on; run f on both; of the rows before t "
            "take the largest absolute difference.",
            "changed = X.copy(); changed[..., t:, :] = new[..., t:, :]; then the rows [..., :t, :] of "
            "f(changed) - f(X).",
        ),
        cases=(
            Case("next token", cases.probed("reads the next token", 6, 3, 2), "each token reads the next", 1),
            Case("attention", cases.probed("three kinds of attention", 7, 4, 3), "right, masked late, off by one", 1),
            Case("running sum", cases.probed("a running sum", 6, 5, 3), "a causal function",
                 guards="next token", open=True),
            Case("batch", cases.probed("norm over tokens", 5, 4, 2, (2, 3)), "a norm over tokens, in batches",
                 guards="attention", open=True),
            Case("falls only", cases.probed("falls only", 6, 3, 4, zero=True), "values that can only fall",
                 guards="next token", open=True),
            Case("far back", cases.probed("the first reads the last", 6, 3, 4), "the first token reads the last",
                 guards="next token", open=True),
            Case("another sum", cases.probed("a running sum", 5, 2, 2), "other sizes", guards="next token"),
        ),
        mutants=mutants.LEAKS,
        drive=cases.call_leak,
        clauses=(
            ("Return the largest change, as one number.", "next token"),
            ("The check hands you several functions, some causal and some not", "attention"),
            ("A causal f gives exactly 0.", "running sum"),
            ("There may be any number of axes in front.", "batch"),
            ("How far the rows of f(X) before t move", "far back"),
            ("A change downwards counts as much as one upwards", "falls only"),
        ),
    ),
    Question(
        id="08.2",
        title="Which side is the padding on?",
        stub=stubs.padded_weights,
        returns=("A",),
        minutes=15,
        kind="build",
        section="8.6",
        part=2,
        hints=(
            "Nobody may look at filler: does that belong to the token that looks, or to the one that is looked at?",
            "The bit of a token belongs on the axis of the keys, the last one. Where it is False the score is −∞. For "
            "length 0 the whole row is −∞: take care of ∞ − ∞, and of 0 / 0.",
            "real = np.arange(n) < lengths[:, None, None] has shape (B, 1, n). Subtract the largest visible score, "
            "take exp where real is True and 0 elsewhere, and divide by the sum, or by 1 where that is 0.",
        ),
        cases=(
            Case("one sequence", cases.padded([4], 6), "four real tokens of six", 1),
            Case("batch", cases.padded([5, 2, 3], 5), "three lengths, one of them full", 1, ("one sequence",)),
            Case("empty", cases.padded([3, 0], 4), "a sequence of length 0", 1, ("one sequence",)),
            Case("large scores", cases.padded([2, 4], 6, 40000.0), "scores of tens of thousands",
                 guards="batch", open=True),
            Case("as many as tokens", cases.padded([1, 2, 4, 3], 4), "B = n", guards="batch"),
        ),
        mutants=mutants.PADDINGS,
        clauses=(
            ("Return the attention weights, with filler hidden", "one sequence"),
            ("they share their weight among the real keys", "batch"),
            ("A sequence of length 0 has weights 0 everywhere.", "empty"),
            ("Scores may be as large as some tens of thousands", "large scores"),
        ),
    ),
    Question(
        id="08.3",
        title="Shifted, and on the diagonal",
        stub=stubs.teacher_forcing,
        returns=("inputs", "targets", "M"),
        minutes=10,
        kind="build",
        section="8.7",
        part=2,
        hints=(
            "Every word is a target once, the first as well. What stands in the row that predicts the first word?",
            "Inputs are BOS and the text without its last word; targets are the text. Row i holds word i − 1 and "
            "predicts word i, so it may see its own place: the diagonal is allowed.",
            "np.concatenate of a column of bos, shape (*B, 1), and ids[..., :-1] along the last axis; "
            "np.tri(n, dtype=bool).",
        ),
        cases=(
            Case("inputs", cases.text(6), "one text of six words", 1, look=("inputs",)),
            Case("targets", cases.text(6), "one text of six words", guards="inputs", open=True, look=("targets",)),
            Case("mask", cases.text(6), "one text of six words", guards="inputs", open=True, look=("M",)),
            Case("batch", cases.text(4, (2, 3)), "two axes in front", 1),
            Case("one word", cases.text(1, (3,)), "texts of one word", guards="batch", open=True),
            Case("five words", cases.text(5, (2,)), "two texts of five words", guards="batch"),
        ),
        mutants=mutants.FORCINGS,
        clauses=(
            ("return inputs and targets, both of length $n$", "inputs"),
            ("such that *every* word of the text is predicted once", "targets"),
            ("Return also the causal mask that goes with them.", "mask"),
            ("M (n, n), True = may attend", "mask"),
            ("ids (*B, n) is the text", "batch"),
            ("the first one too", "one word"),
        ),
    ),
    Question(
        id="08.4",
        title="Two Jacobians, with pencil and paper",
        stub=stubs.mask_jacobians,
        returns=("before", "after"),
        minutes=20,
        kind="derive",
        section="8.4",
        part=1,
        hints=(
            "Write both as quotients with the mask as a factor. Which scores are in the denominator of each?",
            "Before: a_j(δ_jl − a_l) with a the masked softmax. After: M_j p_j(δ_jl − p_l) with p the softmax over "
            "all keys; it is not symmetric.",
            "before is np.diag(a) - np.outer(a, a). after has the same form with p, and each row j is multiplied by "
            "mask[j].",
        ),
        cases=(
            Case("before", cases.one_row("11010"), "five keys, two of them hidden", 2, look=("before",)),
            Case("after", cases.one_row("11010"), "five keys, two of them hidden", 2, look=("after",)),
            Case("nothing hidden", cases.one_row("1111"), "where both agree", guards="before", open=True),
            Case("one key", cases.one_row("000100"), "a single visible key", guards="after", open=True),
            Case("another row", cases.one_row("0110"), "other numbers", guards="after"),
        ),
        mutants=mutants.JACOBIANS,
        clauses=(
            ("the weights if the mask acts *before* the softmax", "before"),
            ("if it acts *after* it, without renormalising", "after"),
            ("Sometimes nothing is hidden", "nothing hidden"),
            ("mask (m,) boolean, with at least one True", "one key"),
        ),
    ),
    Question(
        id="08.5",
        title="Multiplied by the mask",
        stub=stubs.name_the_mask,
        returns=("names",),
        minutes=20,
        kind="detect",
        section="8.4",
        part=3,
        printed=False,
        hints=(
            "Look above the diagonal first, then at the sums of rows and of columns.",
            "Zeros above the diagonal and rows that sum to 1: correct. Zeros and smaller rows: after the softmax, or "
            "the columns sum to 1. A zero upper corner but one more diagonal: off by one. No zeros at all: the scores "
            "were multiplied, and e⁰ = 1.",
            "It is safest to compute all five candidates from S, and to return the name of the one nearest to A: "
            "min(candidates, key=lambda name: np.abs(candidates[name] - A).max()).",
        ),
        cases=(
            Case("four exhibits", cases.exhibits(5, False), "four matrices, a fault in each", 2),
            Case("one is innocent", cases.exhibits(4, True), "five matrices, one of them correct", 2),
            Case("two tokens", cases.exhibits(2, True), "two tokens", guards="one is innocent", open=True),
            Case("one token", cases.one_token, "one token, whose weight is 1 whatever was computed",
                 guards="one is innocent", open=True),
            Case("eight tokens", cases.exhibits(8, True), "eight tokens", guards="four exhibits"),
        ),
        mutants=mutants.DETECTIVES,
        drive=cases.call_diagnose,
        labels=cases.NAMES,
        clauses=(
            ("returns the name", "four exhibits"),
            ("it must not accuse the innocent", "one is innocent"),
            ("It will meet other sizes", "two tokens"),
            ("It will meet other sizes", "one token"),
        ),
    ),
    Question(
        id="08.6",
        title="The other mean of the losses",
        stub=stubs.mean_of_means,
        returns=("loss", "dL"),
        minutes=12,
        kind="derive",
        section="8.8",
        part=2,
        printed=False,
        hints=(
            "Write the loss as one sum over all tokens, each with a factor. What is the factor of a token?",
            "The factor of a real token is 1 over the number of real tokens of its sentence, and again over the "
            "number of sentences that have any; that of filler is 0. The loss is linear in L, so the factors are dL.",
            "count = np.maximum(real.sum(axis=1, keepdims=True), 1) and many = max(real.any(axis=1).sum(), 1); dL is "
            "real divided by both, and the loss is the sum of dL * L.",
        ),
        cases=(
            Case("loss", cases.losses([2, 4, 3], 5), "three lengths", 1, look=("loss",)),
            Case("gradient", cases.losses([2, 4, 3], 5), "three lengths", 1, look=("dL",)),
            Case("holes", cases.losses([2, 4, 5], 6, holes=True), "filler between the words",
                 guards="gradient", open=True),
            Case("empty sentence", cases.losses([3, 0, 5, 2], 6), "a sentence without a token",
                 guards="gradient", open=True),
            Case("nothing real", cases.losses([0, 0], 3), "filler alone", guards="loss", open=True),
            Case("other holes", cases.losses([1, 3], 5, holes=True), "other sizes", guards="gradient"),
        ),
        mutants=mutants.MEANS,
        clauses=(
            ("each sentence has the same weight", "loss"),
            ("Derive $dL$ in index form", "gradient"),
            ("Filler may stand anywhere, also between the words", "holes"),
            ("Sentences without a real token do not count", "empty sentence"),
            ("if there is no other, both results are 0", "nothing real"),
        ),
    ),
    Question(
        id="08.7",
        title="A mask for any device",
        stub=stubs.additive_mask,
        returns=("allowed", "A"),
        minutes=20,
        kind="build",
        section="8.10",
        part=3,
        printed=False,
        torch=True,
        forbid=TORCH_ONLY,
        hints=(
            "Which of your tensors is made from nothing, by its size alone? Each of these has to be told its device, "
            "and the last one its dtype.",
            "Two comparisons of positions, both made on the device of x: keys not after the query, keys below the "
            "length of the sequence, lengths with two axes of one behind it. Then −∞ where both do not hold, and rows "
            "where nothing holds stay 0. No number is read out.",
            "j = torch.arange(n, device=x.device); M = (j <= j[:, None]) & (j < lengths[:, None, None]); "
            "M = M | ~M.any(dim=-1, keepdim=True); zeros of dtype x.dtype on x.device with masked_fill(~M, "
            "-torch.inf), and "
            "an axis for the heads.",
        ),
        cases=(
            Case("float64", cases.batch("float64", [4, 2, 6], 6, 5), "three lengths", 1),
            Case("bfloat16", cases.batch("bfloat16", [3, 5], 5, 4), "a batch in bfloat16", 1),
            Case("empty sequence", cases.batch("float64", [3, 0], 4, 5), "a sequence of length 0", 1),
            Case("meta", cases.batch("meta", [3, 4], 5, 6), "the device meta: shapes without numbers", 1, ("float64",)),
            Case("other sizes", cases.batch("float64", [1, 7, 3, 5], 7, 2), "other sizes", guards="float64"),
            Case("other lengths", cases.some_batch("bfloat16", 3, 6), "other sizes", guards="bfloat16"),
            Case("empty ones", cases.some_batch("float64", 4, 5, 2), "other sizes", guards="empty sequence"),
            Case("meta again", cases.some_batch("meta", 3, 6), "other sizes", guards="meta"),
        ),
        mutants=mutants.ADDITIVES,
        drive=cases.call_additive,
        clauses=(
            ("query $i$ may look at key $j$ if $j \\le i$ and key $j$ is no filler", "float64"),
            ("half precision is in use as well", "bfloat16"),
            ("the rows of an empty sequence are all 0", "empty sequence"),
            ("It runs on the device `meta` as well", "meta"),
        ),
    ),
    Question(
        id="08.8",
        title="Two short looks in place of a long one",
        stub=stubs.two_step_mask,
        returns=("M",),
        minutes=20,
        kind="design",
        section="8.2",
        part=1,
        printed=False,
        hints=(
            "A number from 0 to 99 has two digits. How do you walk from place i back to place j in two steps, one for "
            "each digit?",
            "With a side k of about √n: let each token see its last k tokens, itself among them, and those at whole "
            "multiples of k before it. Any distance is a multiple of k and a rest below k.",
            "k = int(np.ceil(np.sqrt(n))); distance = i - j for a column and a row of places; allowed where distance "
            "is not negative and either below k or divisible by k.",
        ),
        cases=(
            Case("sixteen", cases.tokens(16), "n = 16, at most 8 keys in a row", 2),
            Case("not a square", cases.tokens(30), "n = 30, at most 10 keys in a row", 1),
            Case("more tokens", cases.tokens(100), "n = 100, at most 20 keys in a row", 1),
            Case("other sizes", cases.tokens(50), "other sizes", guards="more tokens"),
        ),
        mutants=mutants.TWO_STEPS,
        measure=cases.hearing,
        measures=("above the diagonal", "rows with too many keys", "pairs not heard"),
        clauses=(
            ("A causal mask with at most 2√n keys in a row", "sixteen"),
            ("at most $2\\sqrt n$ keys in each row", "sixteen"),
            ("Returns M (n, n), True = may attend.", "sixteen"),
            ("$n$ need not be a square", "not a square"),
            ("hears itself and all before it in two layers", "more tokens"),
        ),
    ),
    Question(
        id="08.9",
        title="Filler on the left",
        stub=stubs.left_padded,
        returns=("M", "places"),
        minutes=15,
        kind="repair",
        section="8.6",
        part=2,
        printed=False,
        hints=(
            "Take n = 5 and a text of 3 words, and write down the two filler, the three words, and the place of each.",
            "The first real token stands at n minus the length. From there on tokens are real; the bit belongs to the "
            "key; and the place of a token is its distance from the first real one, but not below 0.",
            "first = n - lengths[:, None]; real = j >= first; the bit on the keys is real[:, None, :]; add the "
            "diagonal with | np.eye(n, dtype=bool); places are np.maximum(j - first, 0).",
        ),
        cases=(
            Case("one sequence", cases.left([3], 5), "two filler, then three words", 1),
            Case("mask", cases.left([2, 5, 4], 6), "three lengths", 1, look=("M",)),
            Case("places", cases.left([2, 5, 4], 6), "three lengths", 1, look=("places",)),
            Case("empty and full", cases.left([0, 4, 3], 4), "no word, and no filler", guards="mask", open=True),
            Case("other sizes", cases.left([1, 6], 7), "other sizes", guards="mask"),
            Case("another sequence", cases.some_left(1, 8), "other sizes", guards="one sequence"),
            Case("other places", cases.some_left(4, 9), "other sizes", guards="places", look=("places",)),
        ),
        mutants=mutants.LEFTS,
        clauses=(
            ("the last lengths[b] of n tokens are real", "one sequence"),
            ("each filler may look at itself and at nothing else", "mask"),
            ("Returns M (B, n, n), True = may attend, and places (B, n).", "mask"),
            ("the first real token is at place 0, and filler is too", "places"),
            ("A sequence can be without a word, or without filler", "empty and full"),
        ),
    ),
    Question(
        id="08.10",
        title="How many pairs are left?",
        stub=stubs.pairs_left,
        returns=("number",),
        minutes=10,
        kind="predict",
        section="8.2",
        part=1,
        printed=False,
        hints=(
            "Texts in one row do not see each other. So what is the number for all of them, if you know it for one?",
            "Row i of a text sees the smaller of i + 1 and w. For a text of at least w tokens that gives (8.7); for a "
            "shorter one the window never bites.",
            "With m = min(length, w) one formula does for both: length * m - m * (m - 1) / 2. Sum it over the texts, "
            "in Python's whole numbers.",
        ),
        cases=(
            Case("long texts", cases.packed(8, 20, 4, 5), "all longer than the window", 1),
            Case("short texts", cases.packed(2, 9, 6, 7), "some shorter than the window", 1),
            Case("width one", cases.packed(3, 9, 3, 1), "w = 1", guards="long texts", open=True),
            Case("millions", cases.packed(10**6, 5 * 10**6, 3, 4096), "texts of millions of tokens",
                 guards="long texts", open=True),
            Case("other texts", cases.packed(2, 12, 5, 6), "other numbers", guards="short texts"),
        ),
        mutants=mutants.PAIRS,
        clauses=(
            ("How many pairs (query, key) does a causal window of width w leave", "long texts"),
            ("each token sees at most $w$ tokens of its own text", "long texts"),
            ("Some texts are shorter than the window", "short texts"),
            ("with $w = 1$ a token sees itself alone", "width one"),
            ("a text can have millions of tokens", "millions"),
        ),
    ),
)
