"""The questions of chapter 16."""

import numpy as np

from ...model import STORY, TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="16.1",
        title="Under which roof",
        stub=stubs.roof,
        returns=("intensity", "seconds"),
        minutes=15,
        kind="predict",
        section="16.2",
        part=1,
        printed=False,
        clauses=(
            ("each array travels once", "many tokens"),
            ("a model that writes has one token", "one token"),
            ("`itemsize` bytes", "sixteen bits"),
            ("how many seconds does it take at least", "many tokens"),
            ("Arithmetic and transport go on at the same time.", "many tokens"),
            ("Say first, without a computer", STORY),
        ),
        hints=(
            "Three arrays travel: what comes in, the weights, what goes out.",
            "Operations: two for each token and each weight. The time is at least operations over peak, and at least "
            "bytes over bandwidth.",
            "C = 2 * tokens * d_in * d_out; B = itemsize * (tokens * d_in + d_in * d_out + tokens * d_out); "
            "C / B and max(C / peak, B / bandwidth).",
        ),
        cases=(
            Case("many tokens", cases.layer(4096, 600, 2500, 4), "4,096 tokens in 32 bits", 1),
            Case("one token", cases.layer(1, 1000, 4200, 4), "one token in 32 bits", 1),
            Case("sixteen bits", cases.layer(9, 700, 3100, 2), "nine tokens in 16 bits", 1),
            Case("others", cases.some_layer, "other numbers", guards="sixteen bits"),
        ),
        mutants=mutants.ROOF,
    ),
    Question(
        id="16.2",
        title="Read apart, merged together",
        stub=stubs.merge,
        returns=("m", "l", "o"),
        minutes=20,
        kind="build",
        section="16.4",
        part=1,
        clauses=(
            ("read together", "two sets"),
            ("any number of axes in front", "two axes in front"),
            ("scores in the hundreds", "great scores"),
            ("a query may have read nothing", "nothing read"),
        ),
        hints=(
            "What was summed under a smaller maximum must shrink before it is added.",
            "Each set shrinks by e to its own maximum minus the common one. Where both maxima are minus infinity, "
            "take off 0 in its place.",
            "m = np.maximum(m_a, m_b); top = np.where(m == -np.inf, 0, m); keep, add = np.exp(m_a - top), np.exp(m_b "
            "- top); then l and o, the factors of o with a new last axis.",
        ),
        cases=(
            Case("two sets", cases.partials(5, 3, 4), "five queries, two sets of three keys", 2),
            Case("two axes in front", cases.partials(5, 3, 4, (2, 6)), "the same, twice six times", 1),
            Case("great scores", cases.partials(5, 3, 4, (), True), "scores near 900 and −900", 1),
            Case("nothing read", cases.partials(5, 3, 4, (2, 6), empty=True), "queries that have read nothing",
                 guards="two sets", open=True),
            Case("others", cases.partials(7, 2, 3, (4, 5)), "other sizes", guards="two axes in front"),
        ),
        mutants=mutants.MERGE,
        measure=cases.where_read,
    ),
    Question(
        id="16.3",
        title="Two faults in a loop over tiles",
        stub=stubs.attend,
        returns=("O",),
        minutes=15,
        kind="repair",
        section="16.4",
        part=1,
        clauses=(
            ("attention, whatever the scores", "two tiles"),
            ("whatever the number of keys", "a short last tile"),
            ("a block may be longer than the sequence", "one tile"),
            ("in the hundreds", "hundreds"),
        ),
        hints=(
            "One fault shows only when a later tile has a greater maximum, the other only with certain numbers of "
            "keys.",
            "When the maximum moves, everything that was summed under the old one must move with it. And count how "
            "many keys the loop reads when there are seven and a block is three.",
            "o = o * np.exp(m - top)[:, None] + E @ V[j : j + block], and for j in range(0, len(K), block).",
        ),
        cases=(
            Case("two tiles", cases.sequence(5, 8, 3, 2, 4), "eight keys in blocks of four", 1),
            Case("a short last tile", cases.sequence(5, 7, 2, 4, 3), "seven keys in blocks of three", 1),
            Case("hundreds", cases.sequence(5, 9, 6, 2, 3, 20.0, 1000.0), "scores of some hundreds or thousands", 1),
            Case("one tile", cases.sequence(4, 6, 3, 2, 10), "six keys, a block of ten", guards="two tiles",
                 open=True),
            Case("others", cases.sequence(6, 11, 4, 3, 5), "other sizes", guards="a short last tile"),
        ),
        mutants=mutants.ATTEND,
    ),
    Question(
        id="16.4",
        title="Backward, with heads that share keys",
        stub=stubs.grouped_backward,
        returns=("dQ", "dK", "dV"),
        minutes=30,
        kind="derive",
        section="16.5",
        part=2,
        printed=False,
        clauses=(
            ("as many heads as groups", "one head each"),
            ("share one group", "two groups of three"),
            ("You need no tiles", STORY),
        ),
        hints=(
            "For one head everything is in section 16.5. What does a group of keys get from the heads that read it?",
            "Copying forward is summing backward: dK and dV of a group are the sums over its heads.",
            "For each head h with g = h // (H // G): A = np.exp(S - L[h][:, None]); D = (dO[h] * O[h]).sum(axis=1, "
            "keepdims=True); dS = A * (dO[h] @ V[g].T - D); dK[g] += scale * dS.T @ Q[h].",
        ),
        cases=(
            Case("one head each", cases.heads(3, 3, 5, 7, 4, 2), "three heads, three groups", 3),
            Case("two groups of three", cases.heads(6, 2, 5, 7, 4, 3), "six heads, two groups", 3),
            Case("others", cases.heads(8, 2, 3, 6, 5, 4), "other sizes", guards="two groups of three"),
        ),
        mutants=mutants.GROUPED,
    ),
    Question(
        id="16.5",
        title="How many readers fit",
        stub=stubs.cache_of,
        returns=("size", "sequences"),
        minutes=15,
        kind="predict",
        section="16.7",
        part=2,
        printed=False,
        clauses=(
            ("keep the last `window` tokens at most", "windows"),
            ("the text may be shorter than the window", "a short text"),
            ("whole sequences", "windows"),
            ("layers 1, 3, 5, … keep", "even"),
            ("how many whole sequences", "a short text"),
        ),
        hints=(
            "How many layers have a window, if there are five of them?",
            "A layer keeps keys and values, of each group, d_k numbers for each token that it keeps.",
            "narrow = layers // 2; rows = (layers - narrow) * tokens + narrow * min(tokens, window); size = 2 * groups "
            "* d_k * itemsize * rows; budget // size.",
        ),
        cases=(
            Case("windows", cases.model(31, 24, 8, 64, 6000, 1024, 4),
                 "31 layers, a window of 1,024 in every second", 2),
            Case("a short text", cases.model(31, 24, 8, 64, 703, 1024, 8), "a text shorter than the window", 1),
            Case("even", cases.model(12, 20, 5, 48, 3000, 512, 4), "an even number of layers", guards="windows",
                 open=True),
            Case("others", cases.some_model, "other numbers", guards="windows"),
        ),
        mutants=mutants.CACHE,
    ),
    Question(
        id="16.6",
        title="A state, handed on",
        stub=stubs.go_on,
        returns=("O", "R", "z"),
        minutes=20,
        kind="derive",
        section="16.7",
        part=3,
        printed=False,
        clauses=(
            ("a text begins", "from nothing"),
            ("a text goes on", "handed on"),
            ("as a whole would have", "handed on"),
            ("one token long", "one token"),
            ("no loop, if you can", STORY),
        ),
        hints=(
            "What a token asks has two parts: the tokens before this piece, which are in the state, and those of the "
            "piece up to itself.",
            "Both parts are in the numerator and in the denominator. The state after the piece is the old one and "
            "the sums over the whole piece.",
            "A = np.tril(Q @ K.T); O = (A @ V + Q @ R) / (A.sum(axis=1) + Q @ z)[:, None]; R + K.T @ V; "
            "z + K.sum(axis=0).",
        ),
        cases=(
            Case("from nothing", cases.features(6, 3, 4), "six tokens, the state empty", 2),
            Case("handed on", cases.features(6, 3, 4, 5), "six tokens after five others", 2),
            Case("one token", cases.features(1, 3, 4, 5), "one token after five others", guards="handed on",
                 open=True),
            Case("others", cases.features(5, 4, 2, 7), "other sizes", guards="handed on"),
        ),
        mutants=mutants.GO_ON,
    ),
    Question(
        id="16.7",
        title="A step left out now and then",
        stub=stubs.scaled_step,
        returns=("weights", "scale"),
        minutes=20,
        kind="build",
        section="16.8",
        part=3,
        printed=False,
        clauses=(
            ("shrunk to the norm `max_norm`", "clipped"),
            ("at most `max_norm` long already", "not clipped"),
            ("leave the weights as they are and halve the scale", "overflow"),
            ("any entry is not finite: ∞, −∞ or nan", "minus infinity"),
            ("any entry is not finite: ∞, −∞ or nan", "not a number"),
            ("in float64", "great"),
            ("in float64", "tiny"),
        ),
        hints=(
            "Three things happen to the gradients, and their order matters: are they numbers, scale them back, clip.",
            "If one of them is infinite nothing is known about the step. Else divide by the scale in float64, find "
            "the norm of what results, and shrink it if it is too long.",
            "g = grads.astype(np.float64) / scale; norm = np.sqrt((g * g).sum()); weights - rate * min(1, max_norm / "
            "norm) * g.",
        ),
        cases=(
            Case("clipped", cases.step(4, 6, 1024.0, 0.25, size=0.4, weights=0.1), "a gradient that is too long", 2),
            Case("not clipped", cases.step(4, 6, 1024.0, 40.0), "a gradient that is not", 1),
            Case("overflow", cases.step(4, 6, 1024.0, 0.5, np.inf), "one infinite entry", 1),
            Case("minus infinity", cases.step(4, 6, 1024.0, 0.5, -np.inf), "one entry −∞", guards="overflow",
                 open=True),
            Case("not a number", cases.step(4, 6, 1024.0, 0.5, np.nan), "one entry nan", guards="overflow", open=True),
            Case("great", cases.step(4, 6, 4.0, 6e4, size=400.0), "gradients of some hundreds", guards="clipped",
                 open=True),
            Case("tiny", cases.step(4, 6, 2.0**14, 1e3, size=3e-7, weights=1e-5), "gradients far below one millionth",
                 guards="not clipped", open=True),
            Case("others", cases.step(3, 5, 4096.0, 0.2, size=0.3, weights=0.1), "other numbers", guards="clipped"),
        ),
        mutants=mutants.STEP,
    ),
    Question(
        id="16.8",
        title="Accumulated, token by token",
        stub=stubs.accumulated,
        returns=("dW",),
        minutes=15,
        kind="build",
        section="16.10",
        part=3,
        printed=False,
        torch=True,
        forbid=TORCH_ONLY,
        clauses=(
            ("over all real tokens", "three sequences"),
            ("a sequence may have none", "one without a real token"),
            ("one sequence at a time", STORY),
        ),
        hints=(
            "What must be divided by what, and when?",
            "Add gradients of sums. The number of real tokens in all sequences is known before the first of them.",
            "total = mask.sum(); for each sequence the gradient of ((X[r] @ W - Y[r])[mask[r]] ** 2).sum() / total, "
            "added up.",
        ),
        cases=(
            Case("three sequences", cases.padded(3, 9, 4, 5), "three sequences of different lengths", 2),
            Case("one without a real token", cases.padded(4, 8, 3, 5, True), "four, one of them padding only", 1),
            Case("others", cases.padded(5, 10, 2, 3), "other sizes", guards="three sequences"),
        ),
        mutants=mutants.ACCUMULATED,
    ),
    Question(
        id="16.9",
        title="An exponent and its doubt",
        stub=stubs.exponent,
        returns=("p", "low", "high"),
        minutes=20,
        kind="build",
        section="16.11",
        part=4,
        printed=False,
        clauses=(
            ("least squares over the logarithms", "three seeds"),
            ("with one seed left out, a whole column", "three seeds"),
            ("A floor of 0", "no floor"),
        ),
        hints=(
            "Which curve becomes a line, and over what?",
            "The logarithm of the mean bits above the floor, over the logarithm of the size. Fit once with all seeds, "
            "and once without each of them.",
            "slope = -np.polyfit(np.log(N), np.log(bits.mean(axis=1) - floor), 1)[0], and the same for "
            "np.delete(bits, s, axis=1).",
        ),
        cases=(
            Case("three seeds", cases.runs(6, 3, 1.4), "six sizes, three seeds", 3),
            Case("no floor", cases.runs(5, 4, 0.0), "five sizes, four seeds, a floor of 0", 1),
            Case("others", cases.runs(7, 4, 0.8), "other numbers", guards="three seeds"),
        ),
        mutants=mutants.EXPONENT,
    ),
    Question(
        id="16.10",
        title="What a timing forgot",
        stub=stubs.timing_fault,
        returns=("faults",),
        minutes=10,
        kind="detect",
        section="16.12",
        part=4,
        printed=False,
        clauses=(
            ("of each timing what it forgot", "four timings"),
            ("takes the one that stands first here", "close to the bounds"),
            ("two or more", "two calls"),
        ),
        hints=(
            "One kind of timing is too good to be true. Too good for whom?",
            "Begin with the median of all but the first. The rate that it means may be above the peak; the first may "
            "be far above it; the rest may be spread widely.",
            "later = seconds[1:]; flops / np.median(later) > peak; seconds[0] > 3 * np.median(later); later.max() > 2 "
            "* later.min().",
        ),
        cases=(
            Case("four timings", cases.timings(cases.FAULTS, 9), "one of each kind", 1),
            Case("close to the bounds", cases.timings((*cases.FAULTS, *cases.CLOSE), 8),
                 "twenty-three, of two faults or nearly of one", 1),
            Case("two calls", cases.timings(cases.FAULTS[:3], 2), "three of two calls each", guards="four timings",
                 open=True),
            Case("odd", cases.timings((*cases.FAULTS, *cases.CLOSE), 9), "the same with nine calls",
                 guards="close to the bounds"),
            Case("others", cases.timings(cases.FAULTS * 2, 6), "eight", guards="four timings"),
        ),
        mutants=mutants.WRONG,
        drive=cases.name_all,
        labels=cases.FAULTS,
    ),
)
