"""The questions of chapter 0."""

from ...model import NUMPY_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="00.1",
        title="The backward pass of a linear map",
        stub=stubs.linear_backward,
        returns=("dX", "dW", "db"),
        minutes=15,
        hints=(
            "Write y_{to} = Σ_i x_{ti} w_{io} + b_o and ask which y's move when one x, one w or one b moves.",
            "Shapes decide what is left: dX (n, d_in) can only be dY Wᵀ, dW (d_in, d_out) only Xᵀ dY. "
            "All leading axes of X and dY are just more rows.",
        ),
        cases=(
            Case("dX", cases.linear((), 4, 3, 3), "W is square: a forgotten transpose does not crash", 1, look=("dX",)),
            Case("dW", cases.linear((), 4, 3, 3), "one sequence, square W", 1, look=("dW",)),
            Case("db", cases.linear((), 4, 3, 3), "one sequence, square W", 1, look=("db",)),
            Case("batch", cases.linear((2,), 3, 4, 5), "two sequences, all sizes different", 1, ("dX", "dW", "db")),
            Case("two leading axes", cases.linear((2, 3), 4, 5, 2), "batch and heads", guards="batch", open=True),
            Case("square batch", cases.linear((3,), 3, 3, 3), "all sizes equal", guards="batch"),
        ),
        mutants=mutants.LINEAR,
    ),
    Question(
        id="00.2",
        title="The bias gradient, whatever the rank",
        stub=stubs.bias_gradient,
        returns=("db",),
        minutes=8,
        hints=(
            "b has one axis. Along which axes of Y was it copied?",
            "All axes but the last. A tuple of axes, or a reshape to (-1, d), handles every rank at once.",
        ),
        cases=(
            Case("rank 2", cases.upstream(5, 3), "(n, d)", 1),
            Case("rank 3", cases.upstream(2, 4, 3), "(B, n, d)", 1),
            Case("rank 4", cases.upstream(2, 3, 5, 4), "(B, H, n, d)", 1),
            Case("one token", cases.upstream(1, 4), "(1, d)", guards="rank 2", open=True),
            Case("equal sizes", cases.upstream(3, 3, 3), "(3, 3, 3)", guards="rank 3"),
        ),
        mutants=mutants.BIAS,
    ),
    Question(
        id="00.3",
        title="Undo a broadcast",
        stub=stubs.sum_to,
        returns=("db",),
        minutes=12,
        hints=(
            "Broadcasting does two things: it puts missing axes in front, and it stretches axes of length one.",
            "First sum axis 0 until the ranks agree; then, for every axis where shape has a 1, sum with keepdims=True.",
        ),
        cases=(
            Case("added axes", cases.broadcast((4, 3, 4), (4,)), "(4,) was repeated to (4, 3, 4)", 1),
            Case("stretched axis", cases.broadcast((3, 4), (3, 1)), "(3, 1) was stretched to (3, 4)", 1),
            Case("both", cases.broadcast((2, 3, 4, 5), (3, 1, 5)), "(3, 1, 5) became (2, 3, 4, 5)", 1),
            Case("one number", cases.broadcast((2, 3), ()), "one number was repeated to (2, 3)", 1),
            Case("column", cases.broadcast((2, 5, 3), (5, 1)), "(5, 1) became (2, 5, 3)", guards="both"),
        ),
        mutants=mutants.SUM_TO,
    ),
    Question(
        id="00.4",
        title="Reading rows, and sending gradients back to them",
        stub=stubs.gather_backward,
        returns=("dE",),
        minutes=10,
        hints=(
            "Row v of E was copied to every place where ids is v. Copying forward is …",
            "np.add.at(dE, ids, dY) adds at each place in turn. dE[ids] += dY does not: it reads first, then writes.",
        ),
        cases=(
            Case("repeated ids", cases.repeated_ids, "one sentence, in which tokens repeat", 2),
            Case("batch of sentences", cases.batch_of_ids, "ids of rank 2", 1, ("repeated ids",)),
            Case("always the same id", cases.one_id, "one token, five times", guards="repeated ids"),
        ),
        mutants=mutants.GATHER,
    ),
    Question(
        id="00.5",
        title="Central differences",
        stub=stubs.slope,
        returns=("dX",),
        minutes=15,
        hints=(
            "Loop over np.ndindex(X.shape). For each entry: up by h, evaluate, down by h, evaluate, put back.",
            "Start from np.array(X, dtype=np.float64), a copy. Keep the old value of an entry and write it back; "
            "divide the difference by 2h.",
        ),
        cases=(
            Case("a big step", cases.cubic, "a cubic with h = 0.5, where the formula shows", 1),
            Case("the usual step", cases.network, "h left at its default", 1, rtol=1e-7),
            Case("not contiguous", cases.transposed, "X is the transpose of another array", 1, rtol=1e-7),
            Case("float32 input", cases.single, "X in float32, the answer in float64", 1, rtol=1e-7),
            Case("three axes", cases.cube_shaped, "a cubic of a rank-3 array", guards="a big step", open=True),
            Case("another cubic", cases.cubic, "other numbers", guards="a big step"),
        ),
        mutants=mutants.SLOPE,
        drive=cases.call_slope,
    ),
    Question(
        id="00.6",
        title="The gradient check that cannot fail",
        stub=stubs.layer_is_right,
        returns=("verdicts",),
        minutes=20,
        hints=(
            "What is the sum of a row of a LayerNorm's output? And the sum of its squares? "
            "A loss that never changes has gradient zero, and so has a wrong backward with luck.",
            "Take dY = rng.normal(size=X.shape), the loss (dY * forward(X)).sum(), all rows of X, "
            "and compare max|dX − slopes| with max|slopes| times about 1e-4.",
        ),
        cases=(
            Case("seven layers", cases.rows_of_size(1.0), "two right ones, five wrong ones", 3),
            Case("large activations", cases.rows_of_size(1e4), "gradients near 1e-4", 1, ("seven layers",)),
            Case("five rows", cases.rows_of_size(0.5, 5, 6), "other sizes", guards="seven layers"),
        ),
        mutants=mutants.CHECKS,
        forbid=(*(name for name in NUMPY_ONLY if name != "byhand"), "gradcheck"),
        drive=cases.call_layer_is_right,
        labels=cases.VERDICTS,
    ),
    Question(
        id="00.7",
        title="From columns to rows",
        stub=stubs.attention_in_rows,
        returns=("O", "A"),
        minutes=15,
        hints=(
            "Transpose every equation: (W X)ᵀ = Xᵀ Wᵀ, and (KᵀQ)ᵀ = QᵀK, which reads Q Kᵀ once tokens are rows.",
            "A becomes Aᵀ, so columns that summed to one are now rows that do, and the upper triangle is the lower.",
        ),
        cases=(
            Case("weights", cases.columns(4, 5, 3, 2), "A, all sizes different", 1, look=("A",)),
            Case("output", cases.columns(4, 5, 3, 2), "O, all sizes different", 1, look=("O",)),
            Case("square", cases.columns(4, 3, 3, 3), "d = d_k = d_v: a forgotten transpose does not crash", 1),
            Case("longer", cases.columns(7, 2, 3, 4), "seven tokens", guards="output"),
        ),
        mutants=mutants.ROWS,
    ),
    Question(
        id="00.8",
        title="The best step, with pencil and paper",
        stub=stubs.best_step,
        returns=("h", "bound"),
        minutes=15,
        hints=(
            "Call the bound E(h) = a/h + b h² and set its derivative to zero.",
            "a = eps |f| and b = |f'''|/6, so h³ = a / (2b). Put this h back into E.",
        ),
        cases=(
            Case("float64", cases.step(2.0**-52), "h for eps = 2⁻⁵²", 1, look=("h",), atol=0.0),
            Case("bound", cases.step(2.0**-52), "the bound at that h", 1, look=("bound",), atol=0.0),
            Case("float32, other signs", cases.step(2.0**-23, -1), "eps = 2⁻²³, f and f''' negative", 1, atol=0.0),
            Case("half precision", cases.step(2.0**-10), "eps = 2⁻¹⁰", guards="bound", atol=0.0),
        ),
        mutants=mutants.STEP,
    ),
)
