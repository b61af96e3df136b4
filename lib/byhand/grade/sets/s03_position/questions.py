"""The questions of chapter 3."""

from ...model import Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="03.1",
        title="The matrix that moves",
        stub=stubs.moved_code,
        returns=("M",),
        minutes=15,
        hints=(
            "Write sin((p + δ)ω) and cos((p + δ)ω) with the addition theorems; the row (sin pω, cos pω) stands on the "
            "left, so the first equation fills the first column of the block.",
            "Each block is [[cos δω, −sin δω], [sin δω, cos δω]], at rows and columns 2i and 2i + 1; all else is zero.",
        ),
        cases=(
            Case("one clock", cases.shift(1, 2, 10000.0), "d = 2: a single block, δ = 1", 1),
            Case("four clocks", cases.shift(3, 8, 100.0), "d = 8, base 100, δ = 3", 1, ("one clock",)),
            Case("back", cases.shift(-2, 6, 10000.0), "δ = −2", 1, ("one clock",)),
            Case("a long way", cases.shift(40, 8, 10000.0), "δ = 40, base 10000", 1, ("one clock",)),
            Case("any real step", cases.any_shift, "δ and base that are no whole numbers",
                 guards="four clocks", open=True),
            Case("another step", cases.any_shift, "other numbers", guards="four clocks"),
        ),
        mutants=mutants.MOVES,
    ),
    Question(
        id="03.2",
        title="Rotary positions, forward and backward",
        stub=stubs.turned_pairs,
        returns=("Y", "dX"),
        minutes=25,
        hints=(
            "X[..., ::2] holds the first of every pair and X[..., 1::2] the second; angles have shape (n, d/2). The "
            "transpose of a rotation is the rotation back.",
            "Y[..., ::2] = a cos − b sin and Y[..., 1::2] = a sin + b cos. dX is the same with −sin for sin, of dY.",
        ),
        cases=(
            Case("forward", cases.rotation(4, 6), "four tokens, three pairs", 2, look=("Y",)),
            Case("backward", cases.rotation(4, 6), "four tokens, three pairs", 2, look=("dX",)),
            Case("heads", cases.rotation(5, 4, (2, 3)), "two axes in front", 1, ("forward",)),
            Case("scattered", cases.rotation(5, 8, scattered=True), "places in any order", 1, ("forward",)),
            Case("far", cases.rotation(3, 8, (2,), 10000.0, scattered=True), "base 10000",
                 guards="scattered", open=True),
            Case("other places", cases.rotation(4, 6, (3,), 1000.0, True), "other sizes", guards="scattered"),
        ),
        mutants=mutants.TURNS,
    ),
    Question(
        id="03.3",
        title="Five tables",
        stub=stubs.name_the_slip,
        returns=("names",),
        minutes=20,
        hints=(
            "Row 0 tells two of the five slips from the rest. For the others look at row 1: its sines are sin ω_i.",
            "Build all six tables and return the name of the nearest.",
        ),
        cases=(
            Case("five tables", cases.exhibits(12, 16, False), "five tables, a slip in each", 3),
            Case("one is innocent", cases.exhibits(20, 8, True), "six tables, one of them correct", 1),
            Case("wider", cases.exhibits(7, 32, True), "other sizes", guards="five tables"),
        ),
        mutants=mutants.DETECTIVES,
        drive=cases.call_name,
        labels=cases.NAMES,
    ),
    Question(
        id="03.4",
        title="What is turned, and when",
        stub=stubs.rotary_attention,
        returns=("Z",),
        minutes=20,
        hints=(
            "If all positions grow by the same number, nothing may change. Which of Q, K, V and the joined output may "
            "then be turned?",
            "Turn Q and K, head by head, with the frequencies of d_k; leave V and the output alone. Join with "
            "Z.swapaxes(0, 1).reshape(n, -1).",
        ),
        cases=(
            Case("one head", cases.heads(1, 4, 6), "four tokens, one head", 1),
            Case("two heads", cases.heads(2, 5, 4), "five tokens, two heads", 1, ("one head",)),
            Case("far along", cases.heads(2, 5, 4, start=30), "places that begin at thirty", 1, ("two heads",)),
            Case("three heads", cases.heads(3, 4, 8, start=7), "other sizes", guards="two heads"),
            Case("gaps", cases.heads(2, 5, 4, start=3, gaps=True), "places that skip some",
                 guards="far along", open=True),
        ),
        mutants=mutants.LAYERS,
    ),
    Question(
        id="03.5",
        title="Two pairings, one head",
        stub=stubs.other_pairing,
        returns=("W",),
        minutes=15,
        hints=(
            "Neighbour pair i consists of features 2i and 2i + 1. Where must these two stand, for a half-split program "
            "to take them as pair i?",
            "Within each head: all even columns first, then all odd ones. Reshape W to (d, heads, d_k) for all heads.",
        ),
        cases=(
            Case("one head", cases.projection(4, 1, 6), "d_k = 6", 2),
            Case("several heads", cases.projection(5, 3, 6), "three heads of six features", 2, ("one head",)),
            Case("square", cases.projection(16, 2, 8), "a square W", guards="several heads"),
        ),
        mutants=mutants.PAIRINGS,
    ),
    Question(
        id="03.6",
        title="How far apart two codes are, with pencil and paper",
        stub=stubs.code_distance,
        returns=("distance",),
        minutes=12,
        hints=(
            "|u − v|² = |u|² + |v|² − 2 u·v. You know the length of a code, and the product of two.",
            "d − 2 Σ cos(δω_i), or 4 Σ sin²(δω_i / 2), summed over the d/2 frequencies.",
        ),
        cases=(
            Case("next door", cases.apart(1, 2, 10000.0), "δ = 1, d = 2", 1),
            Case("many clocks", cases.apart(5, 16, 10000.0), "δ = 5, d = 16", 1, ("next door",)),
            Case("behind", cases.apart(-3, 8, 100.0), "δ = −3, base 100", 1, ("next door",)),
            Case("any", cases.some_distance, "other numbers", guards="many clocks", open=True),
            Case("other numbers", cases.some_distance, "other numbers", guards="many clocks"),
        ),
        mutants=mutants.DISTANCES,
    ),
    Question(
        id="03.7",
        title="A table of biases, backward",
        stub=stubs.bias_table_gradient,
        returns=("dtable",),
        minutes=20,
        hints=(
            "Which scores did one entry of the table touch? All those at its distance, in every sequence.",
            "For r inside the reach: the sum of the diagonal j − i = r. The two ends take all diagonals from there on. "
            "np.add.at with the clipped distances does all at once.",
        ),
        cases=(
            Case("square", cases.scores(2, 5, 5, 4), "every distance has its own number", 1),
            Case("clipped", cases.scores(2, 6, 6, 2), "distances beyond the reach", 1, ("square",)),
            Case("batch", cases.scores(3, 5, 5, 2, (2,)), "two sequences", 1, ("clipped",)),
            Case("more keys", cases.scores(2, 3, 7, 3), "three queries, seven keys", 1, ("clipped",)),
            Case("long", cases.scores(2, 4, 9, 2, (2, 2)), "other sizes", guards="clipped", open=True),
            Case("a wide reach", cases.scores(2, 3, 4, 6), "reach 6, four keys", guards="clipped", open=True),
            Case("other sizes", cases.scores(3, 5, 8, 2, (2, 2)), "other sizes", guards="clipped"),
        ),
        mutants=mutants.GRADIENTS,
    ),
)
