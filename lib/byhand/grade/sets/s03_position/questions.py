"""The questions of chapter 3."""

from ...model import STORY, TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="03.1",
        title="The matrix that moves",
        stub=stubs.moved_code,
        returns=("M",),
        minutes=10,
        kind="derive",
        section="3.4",
        part=1,
        hints=(
            "Write the sine and the cosine of (p + δ)ω with the addition theorems.",
            "The row (sin pω, cos pω) stands on the left of the block, so the equation for the new sine fills the "
            "first column of the block, and that for the new cosine the second.",
            "Each block is [[cos δω, −sin δω], [sin δω, cos δω]], at rows and columns 2r and 2r + 1; all else is zero.",
        ),
        cases=(
            Case("one clock", cases.shift(1, 2, 10000.0), "d = 2: a single block, δ = 1", 1),
            Case("four clocks", cases.shift(3, 8, 80.0), "d = 8, base 80, δ = 3", 1, ("one clock",)),
            Case("back", cases.shift(-2, 6, 10000.0), "δ = −2", guards="four clocks", open=True),
            Case("a long way", cases.shift(40, 8, 10000.0), "δ = 40, base 10000", guards="four clocks", open=True),
            Case("any real step", cases.any_shift, "δ and base that are no whole numbers",
                 guards="four clocks", open=True),
            Case("another step", cases.any_shift, "other numbers", guards="four clocks"),
        ),
        clauses=(
            ("for every } p", "one clock"),
            ("for every place p", "four clocks"),
            ("for a base $b$", "a long way"),
            ("may be negative", "back"),
            ("need not be whole", "any real step"),
            ("any real number", "any real step"),
        ),
        mutants=mutants.MOVES,
    ),
    Question(
        id="03.2",
        title="Rotary positions, forward and backward",
        stub=stubs.turned_pairs,
        returns=("Y", "dX"),
        minutes=20,
        kind="build",
        section="3.7",
        part=2,
        hints=(
            "Every second feature, from the first on, is the first of a pair.  What shape have the angles?",
            "The angles are a place times a frequency, (n, d/2); they turn all pairs at once.  The first feature of a "
            "pair touched both outputs, so its gradient has two terms: the transpose of a rotation is the rotation "
            "back.",
            "Y[..., ::2] = a cos − b sin and Y[..., 1::2] = a sin + b cos, where a and b are the two features of a "
            "pair.  dX is the same with −sin for sin, of dY.",
        ),
        cases=(
            Case("forward", cases.rotation(4, 6), "four tokens, three pairs", 1, look=("Y",)),
            Case("backward", cases.rotation(4, 6), "four tokens, three pairs", 1, look=("dX",)),
            Case("heads", cases.rotation(5, 4, (2, 3)), "two axes in front", 1, ("forward",)),
            Case("scattered", cases.rotation(5, 8, scattered=True), "places in any order", 1, ("forward",)),
            Case("far", cases.rotation(3, 8, (2,), 10000.0, scattered=True), "base 10000",
                 guards="scattered", open=True),
            Case("other places", cases.rotation(4, 6, (3,), 1000.0, True), "other sizes", guards="scattered"),
        ),
        clauses=(
            ("Return $Y$", "forward"),
            ("the gradient $dX$", "backward"),
            ("one for each token, in any order", "scattered"),
            ("any number of axes in front", "heads"),
            ("for a base $b$", "far"),
        ),
        mutants=mutants.TURNS,
    ),
    Question(
        id="03.3",
        title="Two places with one code",
        stub=stubs.first_collision,
        returns=("n",),
        minutes=15,
        kind="counterexample",
        section="3.3",
        part=1,
        printed=False,
        hints=(
            "After how many places does one clock stand as before?  And when do two clocks stand as before at the same "
            "time?",
            "With both waves a hand is known exactly, and the first collision is at the least common multiple of the "
            "periods.  With one wave two places of a dial look alike, p and its mirror image; let a program compare "
            "every new row with all earlier ones.",
            "Keep a set of the rows that you have met, each as a tuple of rounded numbers (say to nine digits: two "
            "waves that should be equal differ in the sixteenth), and return p + 1 at the first that is in it.",
        ),
        cases=(
            Case("both waves", cases.clocks("both", 4, 9, 6), "three clocks, sine and cosine", 1),
            Case("cosines", cases.clocks("cos", 8, 12), "two clocks, cosines alone", 1),
            Case("sines", cases.clocks("sin", 10, 14), "two clocks, sines alone", 1),
            Case("one cosine", cases.clocks("cos", 10), "a single clock", guards="cosines", open=True),
            Case("a slow clock", cases.clocks("cos", 1200), "a period of 1200", guards="cosines", open=True),
            Case("more clocks", cases.clocks("cos", 15, 6, 10), "other periods", guards="cosines"),
        ),
        clauses=(
            ("the sine and the cosine of each clock", "both waves"),
            ("the cosines alone", "cosines"),
            ("or the sines alone", "sines"),
            ("for any periods", "one cosine"),
            ("for any periods", "a slow clock"),
        ),
        mutants=mutants.COLLISIONS,
    ),
    Question(
        id="03.4",
        title="What is turned, and when",
        stub=stubs.rotary_attention,
        returns=("Z",),
        minutes=15,
        kind="build",
        section="3.7",
        part=2,
        hints=(
            "If all positions grow by the same number, nothing may change.  Which of Q, K, V and the joined output may "
            "then be turned?",
            "Turn Q and K, head by head, with the d_k/2 frequencies of one head; leave V and the output alone.  Side "
            "by side means that a token has all features of head 0, then all of head 1.",
            "Before the heads are joined Z has the axes (H, n, d_k): exchange the first two, then reshape to (n, −1).",
        ),
        cases=(
            Case("one head", cases.heads(1, 4, 6), "four tokens, one head", 1),
            Case("two heads", cases.heads(2, 5, 4), "five tokens, two heads", 1, ("one head",)),
            Case("far along", cases.heads(2, 5, 4, start=30), "places that begin at thirty", 1, ("two heads",)),
            Case("three heads", cases.heads(3, 4, 8, start=7), "other sizes", guards="two heads"),
            Case("gaps", cases.heads(2, 5, 4, start=3, gaps=True), "places that skip some",
                 guards="far along", open=True),
        ),
        clauses=(
            ("scores that depend on the distance alone", "one head"),
            ("there is no mask", "one head"),
            ("on the same clocks in every head", "two heads"),
            ("add 1000 to all positions", "far along"),
            ("What may change?", "far along"),
            ("places may be left out", "gaps"),
            ("Turn what must be turned", "two heads"),
        ),
        mutants=mutants.LAYERS,
    ),
    Question(
        id="03.5",
        title="Two pairings, one head",
        stub=stubs.other_pairing,
        returns=("W",),
        minutes=10,
        kind="derive",
        section="3.7",
        part=2,
        hints=(
            "Neighbour pair r consists of features 2r and 2r + 1.  Where must these two stand, for a half-split "
            "program to take them as pair r?",
            "Feature 2r goes to place r, and feature 2r + 1 to place r + d_k/2: within each head all even columns come "
            "first, then all odd ones.",
            "Reshape W to (d, heads, d_k), take the even columns and then the odd ones of the last axis, and reshape "
            "back.",
        ),
        cases=(
            Case("one head", cases.projection(4, 1, 6), "d_k = 6", 1),
            Case("several heads", cases.projection(5, 3, 6), "three heads of six features", 1, ("one head",)),
            Case("square", cases.projection(16, 2, 8), "a square W", guards="several heads"),
        ),
        clauses=(
            ("all scores stay what they were", "one head"),
            ("those of head 0, then those of head 1", "several heads"),
        ),
        mutants=mutants.PAIRINGS,
    ),
    Question(
        id="03.6",
        title="How far apart two codes are",
        stub=stubs.code_distance,
        returns=("distance",),
        minutes=10,
        kind="derive",
        section="3.4",
        part=1,
        printed=False,
        hints=(
            "How does one compute |u − v|², if u·u, v·v and u·v are known?",
            "|u − v|² = |u|² + |v|² − 2 u·v.  Both lengths are in section 3.3, and the product is (3.19).",
            "Each pair gives sin² + cos² = 1, so both lengths together are d. Take off twice the sum of cosines of "
            "(3.19), which runs over the d/2 frequencies.",
        ),
        cases=(
            Case("next door", cases.apart(1, 2, 10000.0), "δ = 1, d = 2", 1),
            Case("many clocks", cases.apart(5, 16, 10000.0), "δ = 5, d = 16", 1, ("next door",)),
            Case("behind", cases.apart(-3, 8, 100.0), "δ = −3, base 100", guards="many clocks", open=True),
            Case("any", cases.some_distance, "other numbers", guards="many clocks", open=True),
            Case("other numbers", cases.some_distance, "other numbers", guards="many clocks"),
        ),
        clauses=(
            ("as a formula in $\\delta$, $d$ and the base $b$", "any"),
            ("in which $p$ does not occur", "next door"),
            ("return its value", "many clocks"),
            ("two places that are $\\delta$ apart", "behind"),
            ("the largest value that it could ever take", STORY),
        ),
        mutants=mutants.DISTANCES,
    ),
    Question(
        id="03.7",
        title="A table of biases, backward",
        stub=stubs.bias_table_gradient,
        returns=("dtable",),
        minutes=15,
        kind="derive",
        section="3.6",
        part=1,
        hints=(
            "Which scores did one entry of the table touch?  All those at its distance, in every sequence.",
            "For a distance inside the reach, the sum of the diagonal j − i.  The two ends take all diagonals from "
            "there on.  Sequences are summed, heads are not.",
            "Sum the leading axes away first.  Then np.add.at with the clipped distances does all at once; so does "
            "a loop over the diagonals with np.trace.",
        ),
        cases=(
            Case("square", cases.scores(2, 5, 5, 4), "every distance has its own number", 1),
            Case("clipped", cases.scores(2, 6, 6, 2), "distances beyond the reach", 1, ("square",)),
            Case("batch", cases.scores(3, 5, 5, 2, (2,)), "two sequences", 1, ("clipped",)),
            Case("more keys", cases.scores(2, 3, 7, 3), "three queries, seven keys", guards="clipped", open=True),
            Case("long", cases.scores(4, 5, 9, 2, (2, 3)), "two axes in front", guards="batch", open=True),
            Case("a wide reach", cases.scores(2, 3, 4, 6), "reach 6, four keys", guards="clipped", open=True),
            Case("other sizes", cases.scores(3, 5, 8, 2, (2, 2)), "other sizes", guards="batch"),
        ),
        clauses=(
            ("query $i$ and key $j$ in head $h$", "square"),
            ("Mind the two ends", "clipped"),
            ("in every sequence of the batch", "batch"),
            ("dS (*B, H, n, m)", "long"),
            ("n queries and m keys", "more keys"),
            ("The reach may be wider than the text", "a wide reach"),
        ),
        mutants=mutants.GRADIENTS,
    ),
    Question(
        id="03.8",
        title="When a vector turns against itself",
        stub=stubs.first_negative_score,
        returns=("delta", "score"),
        minutes=10,
        kind="predict",
        section="3.7",
        part=3,
        printed=False,
        hints=(
            "What is left of (3.30) when q and k are the same vector?",
            "The sine drops out.  Each pair gives its squared length times the cosine of its turn, δω_r; add the "
            "pairs, and try δ = 1, 2, 3, … until the sum is below zero.",
            "Square x, reshape to (−1, 2) and sum the last axis: those are the weights of the cosines.",
        ),
        cases=(
            Case("one clock", cases.one_vector(2, 100.0, 1.0), "d = 2: by hand", 1),
            Case("four clocks", cases.one_vector(8, 100.0, 1.6), "slow pairs are longer", 1),
            Case("slow ones", cases.one_vector(12, 1000.0, 2.0), "six clocks, base 1000",
                 guards="four clocks", open=True),
            Case("other lengths", cases.one_vector(10, 500.0, 1.8), "other numbers", guards="four clocks"),
        ),
        clauses=(
            ("With a single pair you can say it without a computer", "one clock"),
            ("each pair of $x$ has a length of its own", "four clocks"),
            ("a base $b$", "slow ones"),
        ),
        mutants=mutants.NEGATIVES,
    ),
    Question(
        id="03.9",
        title="A head that looks back, by angles alone",
        stub=stubs.head_that_looks_back,
        returns=("q", "k"),
        minutes=15,
        kind="design",
        section="3.7",
        part=3,
        printed=False,
        hints=(
            "All queries start from one vector and all keys from one vector.  If both were the same, which token would "
            "each query like best?",
            "A query at place i is turned by i.  Turn q back beforehand, so that it meets the key at i − back as if "
            "both stood at one place.  Use every clock, and make the vectors long enough that the softmax decides.",
            "k has the same large number everywhere; pair r of q is pair r of k turned by −back · base^(−2r/d_k).  "
            "A product of a thousand for each pair is plenty.",
        ),
        cases=(
            Case("one back", cases.look(1, 7, 4, 100.0), "seven tokens, the one before", 1),
            Case("three back", cases.look(3, 12, 8, 100.0), "twelve tokens, three back", 1),
            Case("a long text", cases.look(2, 60, 6, 1000.0), "sixty tokens", 1, ("one back",)),
            Case("a very long text", cases.look(2, 750, 8, 1000.0), "750 tokens", guards="a long text", open=True),
            Case("another distance", cases.look(4, 40, 10, 200.0), "other numbers", guards="a long text"),
        ),
        clauses=(
            ("at least 0.9 of its weight", "one back"),
            ("a given number of places back", "three back"),
            ("however long the text is", "a long text"),
            ("however long the text is", "a very long text"),
        ),
        mutants=mutants.HEADS,
        measure=cases.where_it_looks,
        measures=("steps_back", "enough"),
    ),
    Question(
        id="03.10",
        title="A module that learns nothing",
        stub=stubs.make_rotary,
        returns=("Y", "dX", "Y32", "parameters"),
        minutes=25,
        kind="build",
        section="3.9",
        part=4,
        printed=False,
        torch=True,
        forbid=(*TORCH_ONLY, "numpy"),
        hints=(
            "Which numbers does the forward pass need that depend neither on X nor on its places?  A module has one "
            "method to hand such tensors to.",
            "Make a table of angles with a row for each place below longest and a column for each pair, in float64; "
            "register its cosines and its sines.  In the forward pass pick the rows of the places, and turn "
            "neighbours.  Autograd finds the gradient, if nothing is written in place.",
            "self.register_buffer(\"cos\", angle.cos()).  Rows: self.cos[positions], or self.cos[: X.shape[-2]] "
            "without positions.  Put the two results next to each other with torch.stack on a new last axis; flatten.",
        ),
        cases=(
            Case("from zero", cases.sequences(2, 5, 6), "no positions given", 1, look=("Y",)),
            Case("left padding", cases.sequences(3, 7, 4, "padded"), "words that begin late", 1, look=("Y",)),
            Case("gradient", cases.sequences(2, 5, 4, "far"), "what comes back to X", 1, look=("dX",)),
            Case("short numbers", cases.sequences(2, 4, 6, "far", 1e4, 9000), "in float32, far out", 1,
                 look=("Y32",), rtol=2e-6),
            Case("nothing to train", cases.sequences(3, 4, 8), "the number of parameters", 1, look=("parameters",)),
            Case("other sizes", cases.sequences(4, 6, 8, "padded", 500.0), "other sizes", guards="left padding",
                 look=("Y",)),
        ),
        clauses=(
            ("None stands for 0, 1, …, n − 1", "from zero"),
            ("`positions` gives the place of each token", "left padding"),
            ("Autograd will find the gradient", "gradient"),
            ("is right to the last digit of float32, at any place below longest", "short numbers"),
            ("must have no parameter", "nothing to train"),
        ),
        mutants=mutants.MODULES,
        drive=cases.use_module,
    ),
    Question(
        id="03.11",
        title="Right in training, wrong in writing",
        stub=stubs.continued_attention,
        uses=("03.2",),
        returns=("O", "all_keys"),
        minutes=20,
        kind="repair",
        section="3.7",
        part=3,
        printed=False,
        hints=(
            "Training never has old tokens: m = 0.  Which lines give something else as soon as m is not 0?",
            "Three lines depend on m.  Old keys have had their turn; new tokens, queries and keys alike, stand at "
            "places from m on; new token i sees the m old ones and the new ones up to itself.",
            "Turn K and Q by m + np.arange(n) before anything is joined, leave keys as they are, and use "
            "np.tri(n, m + n, m): its third argument moves the diagonal.",
        ),
        cases=(
            Case("after a text", cases.after(6, 3, 4), "three new tokens after six", 2, look=("O",)),
            Case("cache", cases.after(5, 3, 6), "what the next step needs", 1, look=("all_keys",)),
            Case("one token more", cases.after(5, 1, 4), "one new token", 1),
            Case("no old tokens", cases.after(0, 5, 4), "m = 0, as in training", guards="after a text", open=True),
            Case("other sizes", cases.after(4, 5, 6), "other sizes", guards="after a text"),
        ),
        clauses=(
            ("as if the whole text had been read at once", "after a text"),
            ("all keys, turned", "cache"),
            ("a single new token", "one token more"),
            ("no old tokens at all", "no old tokens"),
            ("and must stay right", "no old tokens"),
        ),
        mutants=mutants.CONTINUATIONS,
    ),
    Question(
        id="03.12",
        title="Longer than the training",
        stub=stubs.stretched,
        returns=("strangers", "new_base"),
        minutes=15,
        kind="derive",
        section="3.10",
        part=4,
        printed=False,
        hints=(
            "By which angle has clock r turned after a given distance?  Which r is the slowest?",
            "Strangers: distance times ω_r is below 2π.  The slowest clock has r = d/2 − 1, so its frequency is the "
            "base to the power −(d − 2)/d; the new base must make that s times smaller.",
            "From new_base^(−(d−2)/d) · s = base^(−(d−2)/d) comes new_base = base · s^(d/(d−2)).",
        ),
        cases=(
            Case("strangers", cases.further(300, 40, 10000.0), "how many clocks", 1, look=("strangers",)),
            Case("new base", cases.further(300, 40, 10000.0), "the base", 2, look=("new_base",)),
            Case("narrow", cases.further(90, 10, 500.0), "five clocks", guards="new base", open=True),
            Case("other sizes", cases.further(200, 24, 5000.0), "other numbers", guards="new base"),
        ),
        clauses=(
            ("How many of the $d/2$ clocks", "strangers"),
            ("Find $b'$", "new base"),
            ("for a base $b$", "narrow"),
            ("that no query has ever met", STORY),
        ),
        mutants=mutants.STRETCHES,
    ),
)
