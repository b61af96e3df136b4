"""The questions of chapter 9."""

from ...model import NUMPY_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="09.1",
        title="A gate, backward",
        stub=stubs.gate_gradient,
        returns=("dX",),
        minutes=15,
        hints=(
            "y = x S(x) is a product: dX = dY ∘ (S + X ∘ S'). Find S' for each gate.",
            "relu: S' = 0. silu: σ' = σ (1 − σ). gelu_tanh: S' = S (1 − S) · 2c (1 + 3 · 0.044715 x²), c = √(2/π). "
            "σ(x) = 0.5 + 0.5 tanh(x/2) never overflows.",
        ),
        cases=(
            Case("relu", cases.gates("relu", 3, 5), "relu", 1),
            Case("silu", cases.gates("silu", 3, 5), "silu", 1),
            Case("gelu by tanh", cases.gates("gelu_tanh", 3, 5), "gelu_tanh", 2),
            Case("far out", cases.far_out, "silu at −1000 and 1000", 1),
            Case("a batch", cases.gates("gelu_tanh", 2, 3, 4), "three axes", guards="gelu by tanh", open=True),
            Case("other numbers", cases.gates("gelu_tanh", 4, 3), "other sizes", guards="gelu by tanh"),
        ),
        mutants=mutants.GATES,
    ),
    Question(
        id="09.2",
        title="SwiGLU, backward",
        stub=stubs.swiglu_gradients,
        returns=("dX", "dW_g", "dW_1", "dW_2"),
        minutes=25,
        hints=(
            "H = G ∘ U with G = silu(X W_g), U = X W_1. In a product each factor gets the other times the gradient.",
            "dH = dY W_2ᵀ; dU = dH ∘ G; d(X W_g) = dH ∘ U ∘ silu'; dX = dU W_1ᵀ + d(X W_g) W_gᵀ; the weights collect "
            "over all tokens: X.reshape(-1, d).T @ …",
        ),
        cases=(
            Case("dW_2", cases.swiglu(3, 4, 5), "one sequence", 1, look=("dW_2",)),
            Case("dW_1", cases.swiglu(3, 4, 5), "one sequence", 1, look=("dW_1",)),
            Case("dW_g", cases.swiglu(3, 4, 5), "one sequence", 1, look=("dW_g",)),
            Case("dX", cases.swiglu(3, 4, 5), "one sequence", 1, look=("dX",)),
            Case("batch", cases.swiglu(3, 4, 5, (2,)), "two sequences", 1),
            Case("square", cases.swiglu(4, 4, 4), "all sizes the same", guards="dX"),
            Case("two leading axes", cases.swiglu(4, 5, 6, (2, 3)), "lead (2, 3)", guards="batch", open=True),
        ),
        mutants=mutants.SWIGLU,
    ),
    Question(
        id="09.3",
        title="Features before tokens",
        stub=stubs.feed_forward,
        returns=("Y",),
        minutes=10,
        hints=(
            "Turn the axes so that a token is a row, do the layer, and turn them back.",
            "X.mT has shape (B, n, d). X.reshape(B, n, d) has it too, and other numbers in it.",
        ),
        cases=(
            Case("one sequence", cases.layer(1, 3, 4, 5), "one sequence of three tokens", 2),
            Case("a batch", cases.layer(2, 3, 4, 5), "two sequences", 1),
            Case("square", cases.layer(2, 4, 4, 4), "as many tokens as features", 1),
            Case("other sizes", cases.layer(3, 6, 2, 7), "other sizes", guards="one sequence"),
        ),
        mutants=mutants.LAYER,
    ),
    Question(
        id="09.4",
        title="Dropout",
        stub=stubs.dropout_gradients,
        returns=("Y", "dX"),
        minutes=8,
        hints=(
            "What is the mean of Y over many draws? It should be X.",
            "The factor keep/(1 − p) is a constant of the function: it multiplies X forward and dY backward.",
        ),
        cases=(
            Case("Y", cases.dropped(0.2, 3, 4), "the output, p = 0.2", 1, look=("Y",)),
            Case("dX", cases.dropped(0.2, 3, 4), "the gradient, p = 0.2", 1, look=("dX",)),
            Case("mostly dropped", cases.dropped(0.7, 2, 3, 4), "p = 0.7, a batch", 1),
            Case("one axis", cases.dropped(0.4, 9), "a vector", guards="mostly dropped", open=True),
            Case("another share", cases.dropped(0.3, 5, 2), "p = 0.3", guards="mostly dropped"),
        ),
        mutants=mutants.DROPOUT,
    ),
    Question(
        id="09.5",
        title="The block, forward and backward",
        stub=stubs.block_gradients,
        returns=("Y", "dX", *(f"d{name}" for name in cases.NAMES)),
        minutes=60,
        hints=(
            "Write small functions first: norm, attention, feed-forward, and the backward of each. Then wire them.",
            'pre: dX of a sublayer is dY + norm_back(sublayer_back(dY)). post: d = norm_back(dY), then d + '
            "sublayer_back(d). Attention adds three terms: dQ W_qᵀ + dK W_kᵀ + dV W_vᵀ.",
        ),
        cases=(
            Case("pre, output", cases.block(4, 3, 5, "pre"), "Y, pre-norm", 1, look=("Y",)),
            Case("post, output", cases.block(4, 3, 5, "post"), "Y, post-norm", 1, look=("Y",)),
            Case("pre, weights of feed-forward", cases.block(4, 3, 5, "pre"), "dW_1, db_1, dW_2, db_2", 1,
                 ("pre, output",), ("dW_1", "db_1", "dW_2", "db_2")),
            Case("post, weights of feed-forward", cases.block(4, 3, 5, "post"), "the same, post-norm", 1,
                 ("post, output",), ("dW_1", "db_1", "dW_2", "db_2")),
            Case("pre, weights of attention", cases.block(4, 3, 5, "pre"), "dW_q, dW_k, dW_v, dW_o", 2,
                 ("pre, output",), ("dW_q", "dW_k", "dW_v", "dW_o")),
            Case("post, weights of attention", cases.block(4, 3, 5, "post"), "the same, post-norm", 1,
                 ("post, output",), ("dW_q", "dW_k", "dW_v", "dW_o")),
            Case("pre, dX", cases.block(4, 3, 5, "pre"), "dX and the norms", 2, ("pre, output",),
                 ("dX", "dgamma_1", "dbeta_1", "dgamma_2", "dbeta_2")),
            Case("post, dX", cases.block(4, 3, 5, "post"), "dX and the norms, post-norm", 1, ("post, output",),
                 ("dX", "dgamma_1", "dbeta_1", "dgamma_2", "dbeta_2")),
            Case("another pre", cases.block(5, 4, 7, "pre"), "other sizes", guards="pre, dX"),
            Case("another post", cases.block(3, 5, 6, "post"), "other sizes", guards="post, dX"),
        ),
        mutants=mutants.BLOCK,
        drive=cases.call_block,
    ),
    Question(
        id="09.6",
        title="What a block costs, with pencil and paper",
        stub=stubs.block_ledger,
        returns=("parameters", "maps", "scores"),
        minutes=15,
        hints=(
            "List the matrices with their sizes. Each costs 2n times its entries; Q Kᵀ and A V have no weights.",
            "Weights: 4d² + 2 d d_ff, or 3 d d_ff if gated. Biases: 5d + d_ff. Norms: 4d. Scores: two products of "
            "2n²(d/H), for H heads.",
        ),
        cases=(
            Case("parameters", cases.sizes(False, True), "with biases, d_ff = 4d", 1, look=("parameters",)),
            Case("operations of the maps", cases.sizes(False, True), "the products with weights", 1, look=("maps",)),
            Case("operations of the scores", cases.sizes(False, True), "Q Kᵀ and A V", 1, look=("scores",)),
            Case("gated", cases.sizes(True, False, False), "gated, no biases", 1, look=("parameters",)),
            Case("gated operations", cases.sizes(True, False, False), "its products", 1, look=("maps",)),
            Case("no biases", cases.sizes(True, False, False), "other sizes", guards="gated"),
            Case("gated with biases", cases.sizes(True, True, False), "W_g never has a bias",
                 guards="gated", open=True),
            Case("neither", cases.sizes(False, False), "no gate, no biases", guards="parameters", open=True),
        ),
        mutants=mutants.LEDGER,
    ),
    Question(
        id="09.7",
        title="The cube in GELU, with pencil and paper",
        stub=stubs.gelu_cube,
        returns=("slope", "a"),
        minutes=15,
        hints=(
            "tanh u = u − u³/3 + …; put u = c (x + a x³) and keep what has x and x³.",
            "S = ½ + (c/2) (x + (a − c²/3) x³ + …), and Φ = ½ + (x − x³/6 + …)/√(2π). Compare the two brackets.",
        ),
        cases=(
            Case("slope", cases.usual_scale, "S'(0) for c = √(2/π)", 1, look=("slope",)),
            Case("cube", cases.usual_scale, "a for c = √(2/π)", 1, look=("a",)),
            Case("another c", cases.other_scale, "a for another c", 1, look=("a",)),
            Case("slope, another c", cases.other_scale, "S'(0) for another c", guards="slope", look=("slope",)),
            Case("a third c", cases.other_scale, "a for a third c", guards="cube", look=("a",)),
        ),
        mutants=mutants.CUBES,
        forbid=(*NUMPY_ONLY, "diff", "gradient"),
    ),
)
