"""The questions of chapter 0."""

from ...model import FORBIDDEN, NUMPY_ONLY, TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="00.1",
        title="The backward pass of a linear map",
        stub=stubs.linear_backward,
        returns=("dX", "dW", "db"),
        minutes=15,
        kind="derive",
        section="0.3",
        part=1,
        hints=(
            "Write y_{to} = Σ_i x_{ti} w_{io} + b_o and ask which y's move when one x, one w or one b moves.",
            "Shapes decide what is left: dX (n, d_in) can only be dY Wᵀ, dW (d_in, d_out) only Xᵀ dY, and db is the "
            "sum of the rows of dY. All leading axes of X and dY are just more rows.",
            "Make one long list of rows first: rows = X.reshape(-1, d_in) and drows = dY.reshape(-1, d_out). Then dW "
            "is rows.T @ drows and db is drows.sum(axis=0); dX is dY @ W.T, which keeps the leading axes.",
        ),
        cases=(
            Case("dX", cases.linear((), 4, 3, 3), "W is square: a forgotten transpose does not crash", 1, look=("dX",)),
            Case("dW", cases.linear((), 4, 3, 3), "one sequence, square W", 1, look=("dW",)),
            Case("db", cases.linear((), 4, 3, 3), "one sequence", guards="dW", open=True, look=("db",)),
            Case("batch", cases.linear((2,), 3, 4, 5), "two sequences, all sizes different", 1, ("dX", "dW")),
            Case("two leading axes", cases.linear((2, 3), 4, 5, 6), "batch and heads", guards="batch", open=True),
            Case("square batch", cases.linear((3,), 3, 3, 3), "all sizes equal", guards="batch"),
        ),
        mutants=mutants.LINEAR,
        clauses=(
            ("Return $dX$, $dW$ and $db$.", "dX"),
            ("dX like X, dW like W, db (d_out,)", "dW"),
            ("Return $dX$, $dW$ and $db$.", "db"),
            ("$X$ and $dY$ can have more axes in front", "batch"),
            ("any number of leading axes", "two leading axes"),
        ),
    ),
    Question(
        id="00.2",
        title="One matrix, read twice",
        stub=stubs.tied_backward,
        returns=("dX", "dW"),
        minutes=15,
        kind="derive",
        section="0.3",
        part=1,
        printed=False,
        hints=(
            "Give the steps names: Z = X W, T = tanh(Z), Y = T Wᵀ. Which of them read W?",
            "Walk back: dT = dY W, dZ = dT ∘ (1 − T²), dX = dZ Wᵀ. The first reader sends Xᵀ dZ to W. The second "
            "reads Wᵀ, and Wᵀ gets Tᵀ dY: transpose that, and add the two.",
            "With all leading axes made into rows: dW = X.T @ dZ + dY.T @ T. Both terms are sums over every row.",
        ),
        cases=(
            Case("dX", cases.tied((), 4, 3, 3), "one sequence, square W", 1, look=("dX",)),
            Case("dW", cases.tied((), 4, 3, 3), "one sequence, square W", 1, look=("dW",)),
            Case("batch", cases.tied((2,), 3, 5, 4), "two sequences, all sizes different", 1, ("dX", "dW")),
            Case("two leading axes", cases.tied((3, 2), 4, 6, 5), "two axes in front", guards="batch", open=True),
            Case("other sizes", cases.tied((4,), 2, 3, 5), "four sequences", guards="batch"),
        ),
        mutants=mutants.TIED,
        clauses=(
            ("what comes back to $X$", "dX"),
            ("what comes back to $W$", "dW"),
            ("dY and X (*B, n, d), W (d, k)", "batch"),
            ("any number of leading axes", "two leading axes"),
        ),
    ),
    Question(
        id="00.3",
        title="Undo a broadcast",
        stub=stubs.sum_to,
        returns=("db",),
        minutes=12,
        kind="build",
        section="0.3",
        part=1,
        hints=(
            "Broadcasting does two things: it puts missing axes in front, and it stretches axes of length one.",
            "First sum the leading axes away until the ranks agree; then sum along every axis where the given shape "
            "has a 1, and keep that axis with length one.",
            "while dY.ndim > len(shape): dY = dY.sum(axis=0). Then for every axis where shape has a 1: "
            "dY.sum(axis=axis, keepdims=True).",
        ),
        cases=(
            Case("added axes", cases.broadcast((4, 3, 4), (4,)), "(4,) was repeated to (4, 3, 4)", 1),
            Case("stretched axis", cases.broadcast((3, 4), (3, 1)), "(3, 1) was stretched to (3, 4)", 1),
            Case("both", cases.broadcast((2, 3, 4, 5), (3, 1, 5)), "(3, 1, 5) became (2, 3, 4, 5)",
                 guards="stretched axis", open=True),
            Case("two stretched", cases.broadcast((3, 4, 5), (3, 1, 1)), "(3, 1, 1) was stretched to (3, 4, 5)",
                 guards="stretched axis", open=True),
            Case("one number", cases.broadcast((2, 3), ()), "one number was repeated to (2, 3)",
                 guards="added axes", open=True),
            Case("nothing repeated", cases.broadcast((3, 4), (3, 4)), "b had the shape of Y",
                 guards="stretched axis", open=True),
            Case("column", cases.broadcast((2, 5, 3), (5, 1)), "(5, 1) became (2, 5, 3)", guards="stretched axis"),
        ),
        mutants=mutants.SUM_TO,
        clauses=(
            ("$(4,)$ is repeated to $(4, 3, 4)$ along the first two axes", "added axes"),
            ("and $(3, 1)$ to $(3, 4)$ along the last", "stretched axis"),
            ("stretches axes of length one", "two stretched"),
            ("Both can happen at once, as from $(3, 1, 5)$ to $(2, 3, 4, 5)$", "both"),
            ("a single number, of shape $()$, is repeated everywhere", "one number"),
            ("Where nothing was repeated, $db = dY$", "nothing repeated"),
        ),
    ),
    Question(
        id="00.4",
        title="Two faults in a bag of words",
        stub=stubs.bag_backward,
        returns=("dE", "dw"),
        minutes=15,
        kind="repair",
        section="0.3",
        part=1,
        printed=False,
        hints=(
            "Copying forward is summing backward. What was copied here: which row of E to which places, and w to what?",
            "A row of E was read wherever its word stands, times the weight of that place: all these add up, also for "
            "a word that stands twice in a sentence. And w was used by every sentence: sum over all axes but the last.",
            "np.add.at(dE, ids, …) adds at each place in turn. For dw, first the inner product of E[ids] with dy over "
            "the features, shape (*B, n); then reshape to (-1, n) and sum.",
        ),
        cases=(
            Case("one sentence", cases.bag((), 6, 3, 7), "a word that stands twice", 1),
            Case("rows of E", cases.bag((3,), 5, 4, 8), "three sentences", 1, look=("dE",)),
            Case("weights", cases.bag((3,), 5, 4, 8), "three sentences", 1, look=("dw",)),
            Case("two leading axes", cases.bag((2, 3), 5, 4, 9), "two pages of three sentences",
                 guards="weights", open=True),
            Case("other sizes", cases.bag((4,), 7, 2, 6), "four sentences", guards="rows of E"),
        ),
        mutants=mutants.BAG,
        clauses=(
            ("Words repeat, within a sentence too", "one sentence"),
            ("and some rows of $E$ are read by nobody", "rows of E"),
            ("All sentences share the $n$ weights", "weights"),
            ("any number of leading axes", "two leading axes"),
        ),
    ),
    Question(
        id="00.5",
        title="Central differences",
        stub=stubs.slope,
        returns=("dX",),
        minutes=15,
        kind="build",
        section="0.4",
        part=2,
        hints=(
            "One entry at a time: up by h, evaluate, down by h, evaluate, put the old value back.",
            "Work on a copy in float64, made before the first step. Keep the old value of an entry and write it back, "
            "for x + h − 2h + h is not x in floating point. Divide the difference by 2h.",
            "Start from np.array(X, dtype=np.float64) and zeros of the same shape; loop over np.ndindex(X.shape), "
            "which yields one index tuple for each entry.",
        ),
        cases=(
            Case("a big step", cases.cubic, "a cubic with h = 0.5, where the formula shows", 1),
            Case("the usual step", cases.network, "h left at its default", 1, rtol=1e-7),
            Case("not contiguous", cases.transposed, "X is the transpose of another array", 1, rtol=1e-7),
            Case("float32 input", cases.single, "X in float32, the answer in float64", rtol=1e-7,
                 guards="the usual step", open=True),
            Case("three axes", cases.cube_shaped, "a cubic of a rank-3 array", guards="a big step", open=True),
            Case("another cubic", cases.cubic, "other numbers", guards="a big step"),
        ),
        mutants=mutants.SLOPE,
        drive=cases.call_slope,
        clauses=(
            ("Use the `h` that you are given", "a big step"),
            ("its default is the usual choice", "the usual step"),
            ("`X` may be in float32", "float32 input"),
            ("it may be the transpose of another array", "not contiguous"),
            ("for an $X$ of any shape", "three axes"),
        ),
    ),
    Question(
        id="00.6",
        title="The gradient check that cannot fail",
        stub=stubs.layer_is_right,
        uses=("00.5",),
        returns=("verdicts",),
        minutes=20,
        kind="design",
        section="0.4",
        part=2,
        printed=False,
        hints=(
            "What is the sum of a row of a LayerNorm's output? And the sum of its squares? "
            "A loss that never changes has gradient zero, and a wrong backward pass may send that as well.",
            "Take an upstream of random numbers, and for the loss its inner product with the output. Use all rows. "
            "The gap between the two gradients means something only beside the size of the gradient.",
            "dY = rng.normal(size=X.shape), slopes of (dY * forward(X)).sum(), and then max|dX − slopes| against "
            "1e-4 times max|slopes|.",
        ),
        cases=(
            Case("seven layers", cases.rows_of_size(1.0), "two right ones, five wrong ones", 3),
            Case("large activations", cases.rows_of_size(1e4), "gradients near 1e-4", 1, ("seven layers",)),
            Case("other layers", cases.rows_of_size(1.0, 4, 5, cases.OTHER_LAYERS), "seven others",
                 guards="seven layers", open=True),
            Case("five rows", cases.rows_of_size(0.5, 5, 6), "other sizes", guards="seven layers"),
        ),
        mutants=mutants.CHECKS,
        forbid=(*(name for name in NUMPY_ONLY if name != "byhand"), "gradcheck"),
        library=("byhand.np.gradcheck",),
        drive=cases.call_layer_is_right,
        labels=cases.VERDICTS,
        clauses=(
            ("Return `True` for the first two and `False` for the other five.", "seven layers"),
            ("In one of the cases $X$ is ten thousand times larger", "large activations"),
            ("In another the seven layers are others", "other layers"),
            ("the faults of the five may hide in a single row or a single number", "other layers"),
            ("You may use your `slope` of exercise 00.5, or `numerical_gradient`", "seven layers"),
            ("but not `gradcheck`", FORBIDDEN),
        ),
    ),
    Question(
        id="00.7",
        title="From columns to rows",
        stub=stubs.attention_in_rows,
        returns=("O", "A"),
        minutes=15,
        kind="build",
        section="0.2",
        part=4,
        hints=(
            "Transpose every equation of the text, and exchange the words row and column.",
            "(W X)ᵀ = Xᵀ Wᵀ, and (KᵀQ)ᵀ = QᵀK, which reads Q Kᵀ once tokens are rows. A becomes Aᵀ, so columns that "
            "summed to one are now rows that do, and the upper triangle is the lower.",
            "Q = X @ W_q.T + b_q, and K and V alike; the scores are Q @ K.T / np.sqrt(d_k), with -inf above the "
            "diagonal; then a softmax along axis 1, and O = A @ V.",
        ),
        cases=(
            Case("square", cases.columns(4, 3, 3, 3), "d = d_k = d_v: a forgotten transpose does not crash", 1),
            Case("weights", cases.columns(4, 5, 3, 2), "A, all sizes different", 1, look=("A",)),
            Case("output", cases.columns(4, 5, 3, 2), "O, all sizes different", 1, look=("O",)),
            Case("longer", cases.columns(7, 2, 3, 4), "seven tokens", guards="output"),
        ),
        mutants=mutants.ROWS,
        clauses=(
            ("You have the same weights and biases, in the shapes of that text", "square"),
            ("$A = A_c^\\top$", "weights"),
            ("Return $O = O_c^\\top$", "output"),
        ),
    ),
    Question(
        id="00.8",
        title="The best step of a better formula",
        stub=stubs.best_step_of_four,
        returns=("h", "bound"),
        minutes=20,
        kind="derive",
        section="0.4",
        part=2,
        printed=False,
        hints=(
            "Write both differences of the formula by Taylor up to h⁵. Which terms cancel, and what is left of h⁵? "
            "For the rounding add up the sizes of the four weights.",
            "The inner difference has 2 h⁵ f⁽⁵⁾/120, the outer one 64 h⁵ f⁽⁵⁾/120; with weights 8 and −1 over 12h "
            "that leaves −h⁴ f⁽⁵⁾/30. The rounding is 18 ε|f| / 12h. Set the slope of the sum to zero.",
            "E(h) = (3/2) eps |f| / h + h⁴ |f5| / 30, and E'(h) = 0 gives h⁵ = (45/4) eps |f| / |f5|: a fifth root. "
            "Put it back into E for the bound.",
        ),
        cases=(
            Case("h", cases.step(2.0**-52), "h for eps = 2⁻⁵²", 2, look=("h",), atol=0.0),
            Case("bound", cases.step(2.0**-52), "the bound at that h", 1, look=("bound",), atol=0.0),
            Case("float32, other signs", cases.step(2.0**-23, -1), "eps = 2⁻²³, f and f⁽⁵⁾ negative", 1, atol=0.0),
            Case("half precision", cases.step(2.0**-10), "eps = 2⁻¹⁰", guards="bound", atol=0.0),
        ),
        mutants=mutants.STEP,
        clauses=(
            ("find the $h > 0$ that makes this bound smallest", "h"),
            ("Return this $h$ and the bound", "bound"),
            ("for any $\\varepsilon > 0$ and any $f$ and $f^{(5)}$ other than zero", "float32, other signs"),
        ),
    ),
    Question(
        id="00.9",
        title="A backward pass for autograd",
        stub=stubs.make_distances,
        returns=("D", "dX", "dC", "upstream"),
        minutes=20,
        kind="derive",
        section="0.5",
        part=3,
        printed=False,
        torch=True,
        forbid=(*TORCH_ONLY, "cdist", "pdist", "grad", "enable_grad", "vjp", "jacobian"),
        hints=(
            "First on paper: D_ij = Σ_a (x_ia − c_ja)². Which entries of D move when the one number x_pq moves, and by "
            "how much?",
            "dX_p = 2 Σ_j dD_pj (x_p − c_j) and dC_j = −2 Σ_i dD_ij (x_i − c_j). What the backward needs is kept in "
            "ctx, once for each call; and dD belongs to others as well, so make new tensors from it.",
            "gap = X[:, None] − C has shape (n, m, d). forward: ctx.save_for_backward(X, C), and D is the sum of "
            "gap ** 2 over the last axis. backward: with G = 2 * dD[..., None] * gap, sums of G over axis 1 and, "
            "with a minus, over axis 0. Return both, in the order of the inputs.",
        ),
        cases=(
            Case("forward", cases.distances("forward", 4, 5, 3), "the squared lengths", 1, look=("D",)),
            Case("both gradients", cases.distances("X and C", 4, 5, 3), "a random upstream, which others read too", 1,
                 look=("dX", "dC", "upstream")),
            Case("X is read twice", cases.square_distances, "apply(X, X)", 1),
            Case("two calls", cases.distances("two calls", 3, 5, 4), "two calls before one backward", 1),
            Case("C is frozen", cases.distances("C is frozen", 5, 3, 6), "C needs no gradient",
                 guards="both gradients", open=True),
            Case("other sizes", cases.distances("two calls", 2, 6, 3), "other sizes", guards="two calls"),
        ),
        mutants=mutants.DISTANCES,
        drive=cases.call_distances,
        clauses=(
            ("the squared length of X[i] − C[j]", "forward"),
            ("Derive $dX$ and $dC$", "both gradients"),
            ("`apply(X, X)` reads one tensor twice", "X is read twice"),
            ("two calls can come before one backward", "two calls"),
            ("Sometimes $C$ needs no gradient", "C is frozen"),
            ("does not ask autograd for the answer", FORBIDDEN),
        ),
    ),
    Question(
        id="00.10",
        title="An upstream that sees nothing",
        stub=stubs.blind_upstream,
        returns=("dY",),
        minutes=15,
        kind="counterexample",
        section="0.4",
        part=3,
        printed=False,
        hints=(
            "Bring both products to one side. What does the matrix that is left look like when it is transposed?",
            "dY (W − Wᵀ) = 0. The matrix W − Wᵀ changes its sign when it is transposed, so its determinant is that of "
            "its negative, (−1)^d times itself: for odd d it is zero, and something is sent to zero.",
            "np.linalg.svd(W - W.T) gives U, the singular values in falling order, and the rest; the last singular "
            "value is 0, and the last column of U is what you want, as one row.",
        ),
        cases=(
            Case("three features", cases.any_matrix(3), "W (3, 3)", 2),
            Case("five features", cases.any_matrix(5), "W (5, 5)", 1),
            Case("seven features", cases.any_matrix(7), "W (7, 7)", guards="five features"),
        ),
        mutants=mutants.BLIND,
        measure=cases.blindness,
        measures=("gap",),
        clauses=(
            ("with dY W = dY Wᵀ", "three features"),
            ("for any $W$ with an odd number of features", "five features"),
        ),
    ),
    Question(
        id="00.11",
        title="What the number on the screen says",
        stub=stubs.factors_behind,
        returns=("small", "large"),
        minutes=10,
        kind="predict",
        section="0.4",
        part=3,
        printed=False,
        hints=(
            "If the gradient by hand is c times the measured one, what is the gap between them, and which of the two "
            "is the larger?",
            "e = |c − 1| / max(|c|, 1). For |c| ≤ 1 that is e = 1 − c. For larger |c| divide by |c| and do the same "
            "with 1/c.",
            "Solve e = 1 − c for c: that is one factor, also where it is negative. For the other, exchange the two "
            "gradients: c becomes 1/c, and (0.38) does not notice.",
        ),
        cases=(
            Case("below one", cases.shown(0.1, 0.9), "0 < e < 1", 1),
            Case("above one", cases.shown(1.1, 1.9), "1 < e < 2", 1),
            Case("two", lambda rng: {"e": 2.0}, "e = 2, where both are the same", guards="above one", open=True),
            Case("again", cases.shown(0.1, 0.9), "other numbers", guards="below one"),
        ),
        mutants=mutants.FACTORS,
        clauses=(
            ("0 < e ≤ 2, but not 1", "below one"),
            ("|small| ≤ |large|", "above one"),
            ("where $e = 2$ both are the same number", "two"),
        ),
    ),
    Question(
        id="00.12",
        title="An invariant for whoever works on tokens",
        stub=stubs.each_token_alone,
        returns=("verdicts",),
        minutes=15,
        kind="design",
        section="0.6",
        part=3,
        printed=False,
        hints=(
            "Say it as an equation first: if a token is treated by itself, what is f of that token alone?",
            "Row t of f(X) must be f of row t, sent in as a sequence of one token. That one equation has it all: other "
            "tokens, the place, and how many there are. Compare with the rounding of float64, beside the size of "
            "the numbers.",
            "For each t compare f(X[t:t+1]) with row t of f(X), and return whether the largest gap is below about "
            "1e-12 times the largest number of f(X).",
        ),
        cases=(
            Case("ten functions", cases.tokens(1.0, 5, 3), "three that do, seven that do not", 2),
            Case("small numbers", cases.tokens(1e-4, 4, 3), "all numbers near 1e-4", 1, ("ten functions",)),
            Case("other sizes", cases.tokens(2.0, 6, 4), "other sizes", guards="ten functions"),
        ),
        mutants=mutants.ALONE,
        drive=cases.call_each_token_alone,
        labels=cases.VERDICTS,
        clauses=(
            ("Return `True` for the first three and `False` for the other seven.", "ten functions"),
            ("the numbers may be as small as $10^{-4}$", "small numbers"),
            ("The last digits can differ by rounding", "ten functions"),
        ),
    ),
)
