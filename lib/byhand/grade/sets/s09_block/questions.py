"""The questions of chapter 9."""

from ...model import NUMPY_ONLY, TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

ATTENTION, FEED = ("dW_q", "dW_k", "dW_v", "dW_o"), ("dW_1", "db_1", "dW_2", "db_2")
NORMS = ("dX", "dgamma_1", "dbeta_1", "dgamma_2", "dbeta_2")


def block_cases(wiring, sizes):
    """Four cases of one wiring: the output first, then what comes back."""
    make, first = cases.block(*sizes, wiring), (f"{wiring}, output",)
    return (
        Case(*first, make, f"Y, wired {wiring}", 1, look=("Y",)),
        Case(f"{wiring}, feed-forward", make, "dW_1, db_1, dW_2, db_2", 1, first, FEED),
        Case(f"{wiring}, attention", make, "dW_q, dW_k, dW_v, dW_o", 1, first, ATTENTION),
        Case(f"{wiring}, dX and norms", make, "dX, and gains and shifts", 1, first, NORMS),
    )


QUESTIONS = (
    Question(
        id="09.1",
        title="Three gates that the chapter does not have",
        stub=stubs.gate_gradient,
        returns=("dX",),
        minutes=15,
        kind="derive",
        section="9.1",
        part=1,
        printed=False,
        hints=(
            "All three are a number times a gate. One product rule serves them; only the gate and its slope differ.",
            "y = x S(x) gives S + x S'. quick: S' = 1.702 S (1 − S). hard: a ramp has the slope 1/6 between −3 and 3, "
            "and 0 beside it. mish: tanh' = 1 − tanh², and ln(1 + e^x) has the slope σ(x).",
            "Find S and its slope under each name, then return dY * (S + X * slope) once for all. "
            "σ(x) = 0.5 + 0.5 tanh(x/2) never overflows, and np.logaddexp(0, X) is ln(1 + e^X).",
        ),
        cases=(
            Case("quick", cases.gates("quick", 3, 5), "quick", 1),
            Case("hard", cases.gates("hard", 3, 5), "hard", 1),
            Case("mish", cases.gates("mish", 3, 5), "mish", 1),
            Case("far out", cases.far_out, "mish at −1000 and 1000", guards="mish", open=True),
            Case("a batch", cases.gates("mish", 2, 3, 4), "three axes", guards="mish", open=True),
            Case("other numbers", cases.gates("mish", 4, 3), "other sizes", guards="mish"),
        ),
        mutants=mutants.GATES,
        clauses=(
            ('"quick" (S = σ(1.702 X))', "quick"),
            ("cut to 0 … 1", "hard"),
            ("(S = tanh(ln(1 + e^X)))", "mish"),
            ("entry by entry, any shape", "a batch"),
            ("Entries of ±1000 must come out finite.", "far out"),
        ),
    ),
    Question(
        id="09.2",
        title="SwiGLU, backward",
        stub=stubs.swiglu_gradients,
        returns=("dX", "dW_g", "dW_1", "dW_2"),
        minutes=20,
        kind="derive",
        section="9.5",
        part=1,
        hints=(
            "Name the two branches and their product, and go back one line at a time. How often is X read?",
            "H = G ∘ U with G = silu(X W_g), U = X W_1. In a product each factor gets the other times the gradient; "
            "silu(x) = x σ(x) has the slope σ + x σ (1 − σ); X was read twice, so two terms are added.",
            "dH = dY W_2ᵀ; dU = dH ∘ G; d(X W_g) = dH ∘ U ∘ silu'; dX = dU W_1ᵀ + d(X W_g) W_gᵀ; the weights collect "
            "over all tokens of all sequences: X.reshape(-1, d).T @ dU.reshape(-1, f), and so on.",
        ),
        cases=(
            Case("dW_2", cases.swiglu(3, 4, 5), "one sequence", 1, look=("dW_2",)),
            Case("dW_1", cases.swiglu(3, 4, 5), "one sequence", 1, look=("dW_1",)),
            Case("dW_g", cases.swiglu(3, 4, 5), "one sequence", 1, look=("dW_g",)),
            Case("dX", cases.swiglu(3, 4, 5), "one sequence", 1, look=("dX",)),
            Case("batch", cases.swiglu(3, 4, 5, (2,)), "two sequences", guards="dW_g", open=True),
            Case("two leading axes", cases.swiglu(4, 5, 6, (2, 3)), "lead (2, 3)", guards="dW_1", open=True),
            Case("square", cases.swiglu(4, 4, 4), "all sizes the same", guards="dX"),
        ),
        mutants=mutants.SWIGLU,
        clauses=(
            ("which of the two gets which factor on the way back?", "dW_1"),
            ("Which of them is gated", "dW_g"),
            ("what comes back to X, which both have read?", "dX"),
            ("Returns dX, dW_g, dW_1, dW_2.", "dW_2"),
            ("The weights served all sequences.", "batch"),
            ("There may be any number of axes in front of the tokens.", "two leading axes"),
        ),
    ),
    Question(
        id="09.3",
        title="Features before tokens",
        stub=stubs.feed_forward,
        returns=("Y",),
        minutes=10,
        kind="repair",
        section="9.3",
        part=1,
        hints=(
            "Follow one number through the code: in which row does feature 1 of token 0 stand, after the first line?",
            "Turn the axes so that a token is a row, do the layer, and turn them back. A reshape keeps the order in "
            "memory, and that order has the tokens side by side.",
            "X.mT has shape (B, n, d), and X.reshape(B, n, d) has it too, with other numbers in its rows. The way back "
            "has the same choice.",
        ),
        cases=(
            Case("one sequence", cases.layer(1, 3, 4, 5), "one sequence of three tokens", 1),
            Case("a batch", cases.layer(2, 3, 4, 5), "two sequences", 1),
            Case("square", cases.layer(2, 4, 4, 4), "as many tokens as features", guards="a batch", open=True),
            Case("other sizes", cases.layer(3, 6, 2, 7), "other sizes", guards="one sequence"),
        ),
        mutants=mutants.LAYER,
        clauses=(
            ("Each token by itself", "one sequence"),
            ("return the result in the same layout", "a batch"),
            ("the right shape, whatever the sizes are", "square"),
        ),
    ),
    Question(
        id="09.4",
        title="A branch that is dropped",
        stub=stubs.drop_branch,
        returns=("Y", "dX", "dF"),
        minutes=12,
        kind="repair",
        section="9.6",
        part=1,
        printed=False,
        hints=(
            "What is the mean of Y over many draws, and what is it to be? And what does a dropped sequence give?",
            "Three faults. The stream is dropped with the branch; the way forward is not divided by 1 − p, although "
            "the way back is; and nobody asks whether this is training.",
            "One factor for each sequence, keep / (1 − p) in training and 1 otherwise, as an array (B, 1, 1): "
            "it multiplies F forward and dY on the way into F. The stream has no factor.",
        ),
        cases=(
            Case("kept or dropped", cases.branch(0.3, 5, 2, 4, True), "p = 0.3, training", 1),
            Case("another p", cases.branch(0.6, 4, 3, 2, True), "p = 0.6", guards="kept or dropped", open=True),
            Case("evaluation", cases.branch(0.3, 5, 2, 4, False), "no training", 1),
            Case("other sizes", cases.branch(0.2, 6, 2, 3, True), "p = 0.2", guards="kept or dropped"),
        ),
        mutants=mutants.BRANCHES,
        clauses=(
            ("is dropped for whole sequences, with probability $p$", "kept or dropped"),
            ("what it adds is right on average over draws", "another p"),
            ("and in evaluation nothing is dropped", "evaluation"),
        ),
    ),
    Question(
        id="09.5",
        title="The block, forward and backward",
        stub=stubs.block_gradients,
        returns=("Y", "dX", *(f"d{name}" for name in cases.NAMES)),
        minutes=60,
        kind="build",
        section="9.8",
        part=4,
        hints=(
            "Write small functions first: norm, attention, feed-forward, and the backward of each. Then wire them. "
            "On the way back every plus sends its gradient both ways, and every fork adds.",
            "pre: the stream's gradient d becomes d + norm back of (sublayer back of d). post: first d = norm back of "
            "d, then d + sublayer back of d. parallel: both branches are handed dY itself, and dX adds three terms. "
            "Attention's own gradient adds dQ W_qᵀ + dK W_kᵀ + dV W_vᵀ.",
            "norm: g = gamma * dy; dx = (g − mean(g) − x̂ mean(g x̂)) / s. softmax: dS = A * (dA − sum of A * dA in each "
            "row). scores: dQ = dS K / √d, dK = dSᵀ Q / √d. Each map collects (what it read)ᵀ (what arrived). Keep the "
            "caches in a list, and run through it backwards.",
        ),
        cases=(
            *block_cases("pre", (4, 3, 5)),
            *block_cases("post", (5, 3, 4)),
            *block_cases("parallel", (4, 3, 5)),
            Case("another pre", cases.block(5, 4, 7, "pre"), "other sizes", guards="pre, dX and norms"),
            Case("another post", cases.block(3, 5, 6, "post"), "other sizes", guards="post, dX and norms"),
            Case("another parallel", cases.block(6, 4, 5, "parallel"), "other sizes",
                 guards="parallel, dX and norms"),
        ),
        mutants=mutants.BLOCK,
        drive=cases.call_block,
        clauses=(
            (r"\text{pre: }", "pre, output"),
            (r"\text{post: }", "post, output"),
            (r"\text{parallel: }", "parallel, output"),
            ("W_1 (d, f), b_1 (f,), W_2 (f, d), b_2 (d,)", "pre, feed-forward"),
            ("W_1 (d, f), b_1 (f,), W_2 (f, d), b_2 (d,)", "post, feed-forward"),
            ("W_1 (d, f), b_1 (f,), W_2 (f, d), b_2 (d,)", "parallel, feed-forward"),
            ("W_q, W_k, W_v, W_o (d, d)", "pre, attention"),
            ("W_q, W_k, W_v, W_o (d, d)", "post, attention"),
            ("W_q, W_k, W_v, W_o (d, d)", "parallel, attention"),
            ("Returns Y (n, d), dX (n, d)", "pre, dX and norms"),
            ("Returns Y (n, d), dX (n, d)", "post, dX and norms"),
            ("the norms' gains and shifts among them", "parallel, dX and norms"),
        ),
    ),
    Question(
        id="09.6",
        title="What a block costs, with pencil and paper",
        stub=stubs.block_ledger,
        returns=("parameters", "maps", "feed_forward", "scores", "meeting"),
        minutes=15,
        kind="predict",
        section="9.9",
        part=2,
        printed=False,
        hints=(
            "List the matrices of one block with their sizes. Which products have no weights in them?",
            "A matrix costs 2n times its entries. Attention has four of d × d, the feed-forward layer two or three of "
            "d × d_ff. Q Kᵀ and A V take 2n² (d/H) for each of H heads. Set that equal to the feed-forward layer's, "
            "and solve for n.",
            "Weights: 4d² and (2 + gated) d d_ff. Biases: 5d + d_ff, if there are any. Norms: 4d. Scores: 4n²d. "
            "From 4n²d = 2n (2 + gated) d d_ff follows the length.",
        ),
        cases=(
            Case("parameters", cases.sizes(False, True), "with biases, d_ff = 4d", 1, look=("parameters",)),
            Case("operations", cases.sizes(False, True), "the products", 1, look=("maps", "feed_forward", "scores")),
            Case("meeting", cases.sizes(False, True), "where attention overtakes", guards="operations", open=True,
                 look=("meeting",)),
            Case("gated", cases.sizes(True, False, False), "gated, no biases, d_ff not 4d", 1),
            Case("gated with biases", cases.sizes(True, True, False), "W_g has no bias", guards="gated", open=True),
            Case("neither", cases.sizes(False, False), "no gate, no biases", guards="parameters", open=True),
            Case("another gated", cases.sizes(True, False, False), "other sizes", guards="gated"),
        ),
        mutants=mutants.LEDGER,
        clauses=(
            ("two LayerNorms with gain and shift", "parameters"),
            ("(2nkm a product)", "operations"),
            ("the length at which the feed-forward layer costs as much as Q Kᵀ and A V", "meeting"),
            ("gated says whether there is a W_g", "gated"),
            ("It need not be a whole number.", "gated"),
            ("(never with a bias of its own)", "gated with biases"),
            ("bias is about all other maps", "neither"),
        ),
    ),
    Question(
        id="09.7",
        title="A wider GELU, with pencil and paper",
        stub=stubs.gelu_cube,
        returns=("c", "a"),
        minutes=15,
        kind="derive",
        section="9.1",
        part=2,
        printed=False,
        hints=(
            "Develop both gates about 0, as far as the third power of x, and compare power by power.",
            "tanh u = u − u³/3 + …, with u = c (x + a x³). Φ(x/s) has the slope of a normal density with deviation s, "
            "proportional to 1 − x²/(2s²) near 0; integrate that.",
            "S = ½ + (c/2) (x + (a − c²/3) x³ + …), and Φ(x/s) = ½ + (x − x³/(6s²) + …) / (s √(2π)). The factors in "
            "front give c, the brackets give a.",
        ),
        cases=(
            Case("c", cases.deviation(1.2, 2.5), "c for a deviation above 1", 1, look=("c",)),
            Case("a", cases.deviation(1.2, 2.5), "a for a deviation above 1", 2, look=("a",)),
            Case("narrow", cases.deviation(0.5, 0.9), "both for a deviation below 1", guards="a", open=True),
            Case("another s", cases.deviation(1.3, 3.0), "another deviation", guards="a"),
        ),
        mutants=mutants.CUBES,
        forbid=(*NUMPY_ONLY, "diff", "gradient"),
        clauses=(
            ("the two numbers c and a", "c"),
            ("in the terms x and x³", "a"),
            ("of any deviation $s$", "narrow"),
        ),
    ),
    Question(
        id="09.8",
        title="The larger of two, by hand",
        stub=stubs.max_layer,
        returns=("W_1", "b_1", "W_2", "b_2"),
        minutes=15,
        kind="design",
        section="9.2",
        part=2,
        printed=False,
        hints=(
            "One entry is enough to think about: two numbers come in, one goes out. What does a ReLU of their "
            "difference say?",
            "max(a, b) = b + ReLU(a − b). But b has to pass a ReLU as well, and it may be negative: how do two units "
            "let a number through unchanged?",
            "Three units for each entry, which read a − b, b and −b, and are added with the weights 1, 1 and −1. "
            "Build W_1 from blocks of np.eye(k): its upper half reads a, its lower half b. The biases are 0.",
        ),
        cases=(
            Case("width 2", cases.width(2), "two entries", 1),
            Case("width 5", cases.width(5), "five entries", 2),
            Case("one number", cases.width(1), "k = 1", guards="width 2", open=True),
            Case("width 7", cases.width(7), "seven entries", guards="width 5"),
        ),
        mutants=mutants.MAXIMA,
        measure=cases.larger_of,
        measures=("Y", "Y_far_out"),
        clauses=(
            ("the larger of a and b, entry by entry", "width 2"),
            ("numbers of any size and sign", "width 5"),
            ("with f at most 3k", "width 2"),
            ("from $k = 1$ on", "one number"),
        ),
    ),
    Question(
        id="09.9",
        title="Who gets no gradient?",
        stub=stubs.who_stays,
        uses=("09.5",),
        returns=cases.NAMES,
        minutes=20,
        kind="predict",
        section="9.8",
        part=3,
        printed=False,
        hints=(
            "A gradient of a matrix is made of two things: what it read, and what arrives behind it. Either may be 0.",
            "Walk back from Y and stop where a 0 multiplies what arrives; then walk forward from the 0 and see who "
            "reads nothing. The stream passes every sublayer by. And what does attention do with tokens that are "
            "all alike?",
            "Six short lists. For W_2 = 0 nothing arrives in front of it: dH = 0. For W_v = 0 also A V = 0 and "
            "dA = dZ Vᵀ = 0. For W_q = 0: dK = dSᵀ Q. For γ_1 = 0 all keys are equal and all values too, so that dA "
            "is constant in each row: what does A ∘ (dA − ρ) give? For γ_2 = 0: is there not still β_2?",
        ),
        cases=(
            Case("W_2", cases.without("W_2"), "W_2 = 0", 1),
            Case("W_o", cases.without("W_o"), "W_o = 0", guards="W_2", open=True),
            Case("W_v", cases.without("W_v"), "W_v = 0", 1),
            Case("W_q", cases.without("W_q"), "W_q = 0", 1),
            Case("gamma_1", cases.without("gamma_1"), "gamma_1 = 0", 1),
            Case("gamma_2", cases.without("gamma_2"), "gamma_2 = 0", guards="gamma_1", open=True),
            Case("once more", cases.without("W_q"), "W_q = 0", guards="W_q"),
        ),
        mutants=mutants.STAYERS,
        drive=cases.call_names,
        labels=("learns", "stays"),
        clauses=(
            ("`W_2`, `W_o`", "W_2"),
            ("`W_2`, `W_o`", "W_o"),
            ("`W_v`, `W_q`", "W_v"),
            ("`W_v`, `W_q`", "W_q"),
            ("`gamma_1` or `gamma_2`", "gamma_1"),
            ("`gamma_1` or `gamma_2`", "gamma_2"),
            ("that get no gradient, whatever its input is", "W_2"),
        ),
    ),
    Question(
        id="09.10",
        title="A gated layer as a module",
        stub=stubs.make_gated_layer,
        returns=("Y", "dX", "dW_g", "dW_1", "dW_2", "factor", "share"),
        minutes=20,
        kind="build",
        section="9.11",
        part=3,
        printed=False,
        torch=True,
        hints=(
            "A class with two methods: one that makes the parameters, and one that computes. What tells PyTorch that "
            "an array is a parameter?",
            "Each matrix is an nn.Parameter that is kept under its own name, with X on its left, as in the tree. "
            "Dropout needs to know the mode: either nn.Dropout, which a module switches with itself, or the function, "
            "which has to be told.",
            "Inside the function: class Layer(torch.nn.Module), whose __init__ begins with super().__init__() and sets "
            "self.W_g = torch.nn.Parameter(torch.randn(d, f) / d**0.5) and so on, and self.drop = torch.nn.Dropout(p). "
            "forward(self, X) is one line with torch.nn.functional.silu. Return Layer(), an object.",
        ),
        cases=(
            Case("evaluation and backward", cases.module(3, 4, 6, 0.3), "loaded weights, eval()", 2,
                 look=("Y", "dX", "dW_g", "dW_1", "dW_2")),
            Case("training", cases.module(3, 4, 6, 0.3), "train(): who is dropped, and the factor of the others", 2,
                 look=("factor", "share"), atol=1e-6),  # a mask in torch's default dtype has seven digits
            Case("leading axes", cases.module(3, 4, 6, 0.5, (2, 5)), "lead (2, 5), p = 0.5",
                 guards="evaluation and backward", open=True),
            Case("no dropout", cases.module(2, 3, 5, 0.0), "p = 0", guards="training", open=True),
            Case("other sizes", cases.module(4, 7, 5, 0.2), "other sizes", guards="evaluation and backward"),
        ),
        mutants=mutants.MODULES,
        drive=cases.call_module,
        forbid=TORCH_ONLY,
        clauses=(
            ("loads numbers by `load_state_dict`", "evaluation and backward"),
            ("dropout with probability p acts on the output, and in training alone", "training"),
            ("X (*B, n, d) ->", "leading axes"),
            ("$p$ may be 0", "no dropout"),
        ),
    ),
    Question(
        id="09.11",
        title="A table of facts, by hand",
        stub=stubs.table_layer,
        returns=("W_1", "b_1", "W_2", "b_2"),
        minutes=15,
        kind="design",
        section="9.4",
        part=2,
        printed=False,
        hints=(
            "A fact belongs to a pair. How can a unit open for one pair, and stay shut for a pair that shares a symbol "
            "with it?",
            "A unit that reads both of its symbols with weight 1 sees 2, 1 or 0. A threshold of 1 leaves 1, 0 and 0. "
            "So there is a unit for each pair, and its value is the fact.",
            "Unit i·t + j reads places i and s + j. Then b_1 is −1 everywhere and W_2 = T.reshape(s * t, v). For W_1, "
            "a double loop, or np.repeat(np.eye(s), t, axis=1) above np.tile(np.eye(t), s).",
        ),
        cases=(
            Case("two by three", cases.facts(2, 3, 4), "six facts", 2),
            Case("a square table", cases.facts(3, 3, 2), "as many i as j", 1),
            Case("wide", cases.facts(2, 5, 3), "ten facts", guards="two by three", open=True),
            Case("other sizes", cases.facts(4, 3, 5), "twelve facts", guards="two by three"),
        ),
        mutants=mutants.TABLES,
        measure=cases.asked,
        measures=("Y",),
        clauses=(
            ("is met with T[i, j]", "two by three"),
            ("with f at most s·t", "two by three"),
            ("of any size", "wide"),
            ("There may be as many $i$ as $j$.", "a square table"),
        ),
    ),
)
