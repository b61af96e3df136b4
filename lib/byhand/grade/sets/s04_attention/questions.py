"""The questions of chapter 4."""

from ...model import NUMPY_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="04.1",
        title="Attention, forward",
        stub=stubs.attention,
        returns=("O", "A"),
        minutes=20,
        hints=(
            "Four lines: scores, scale, softmax over the last axis, weighted sum of V. The mask acts on the scores.",
            "Set hidden scores to -np.inf, subtract the largest score of each row, exponentiate, divide by the sum. "
            "A row that is all -inf needs care twice: -inf minus -inf, and 0 / 0. np.where helps with both.",
        ),
        cases=(
            Case("values", cases.plain, "three queries, five keys, no mask", 1),
            Case("large scores", cases.large, "a score of 3200", 1, ("values",)),
            Case("mask", cases.masked, "each query sees some of the keys", 1, ("values",)),
            Case("heads", cases.heads, "two sequences, six heads, one mask for all", 1, ("mask",)),
            Case("no key left", cases.no_key_left, "one query may see nothing", 1, ("mask",)),
            Case("padded batch", cases.padded_batch, "a mask of shape (2, 1, 6)", guards="mask", open=True),
            Case("hidden and large", cases.hidden_large, "a hidden score of 3200", guards="mask", open=True),
            Case("another batch", cases.padded_batch, "other numbers", guards="mask"),
        ),
        mutants=mutants.ATTENTION,
    ),
    Question(
        id="04.2",
        title="The softmax, backward",
        stub=stubs.softmax_vjp,
        returns=("dS",),
        minutes=15,
        hints=(
            "The Jacobian of one row is diag(a) − a aᵀ. Multiply it by a vector on paper before you code.",
            "ds_j = a_j (da_j − Σ_k a_k da_k): one elementwise product, one row sum (keepdims=True), one difference.",
        ),
        cases=(
            Case("one matrix", cases.softmax_inputs(3, 5), "three rows of five", 2),
            Case("batch", cases.softmax_inputs(2, 3, 4, 6), "batch and heads", 1, ("one matrix",)),
            Case("zero weights", cases.softmax_inputs(3, 5, masked=True), "masked keys, one empty row", 1),
            Case("square", cases.softmax_inputs(4, 4), "as many queries as keys", guards="one matrix"),
        ),
        mutants=mutants.SOFTMAX_VJP,
        forbid=(*NUMPY_ONLY, "diag", "diagflat", "outer", "eye"),
    ),
    Question(
        id="04.3",
        title="Attention, backward",
        stub=stubs.attention_gradients,
        returns=("dQ", "dK", "dV"),
        minutes=30,
        hints=(
            "Walk backwards: O = A V gives dV and dA; the softmax turns dA into dS; S = Q Kᵀ/√d_k gives dQ and dK.",
            "dV = Aᵀ dO, dA = dO Vᵀ, dS = A ∘ (dA − rowsum(A ∘ dA)), dQ = dS K/√d_k, dK = dSᵀ Q/√d_k. "
            "For any number of leading axes, transpose with .mT.",
        ),
        cases=(
            Case("dV", cases.gradients(4, 4, 3, 2), "self-attention, four tokens", 2, look=("dV",)),
            Case("dQ", cases.gradients(4, 4, 3, 2), "self-attention, four tokens", 2, look=("dQ",)),
            Case("dK", cases.gradients(4, 4, 3, 2), "self-attention, four tokens", 2, look=("dK",)),
            Case("cross-attention", cases.gradients(3, 5, 4, 2), "all sizes different", 1, ("dV", "dQ", "dK")),
            Case("heads", cases.gradients(3, 5, 4, 2, (2, 3)), "batch and heads", 1, ("cross-attention",)),
            Case("masked heads", cases.gradients(4, 5, 3, 6, (2,), masked=True), "with a mask",
                 guards="heads", open=True),
            Case("other masks", cases.gradients(5, 3, 4, 2, (3,), masked=True), "other sizes", guards="heads"),
        ),
        mutants=mutants.GRADIENTS,
    ),
    Question(
        id="04.4",
        title="The bias that learns nothing",
        stub=stubs.bias_gradients,
        returns=("db_q", "db_k", "db_v"),
        minutes=15,
        hints=(
            "db_q is the sum of the rows of dQ; write dQ in terms of dS and K. The same for db_k and db_v.",
            "db_k = (dS 1)ᵀ Q/√d_k, and dS 1 holds the row sums of dS. What does every row of dS sum to? "
            "db_v = (A 1)ᵀ dO.",
        ),
        cases=(
            Case("db_q", cases.biases(4, 3, 2), "four tokens", 1, look=("db_q",)),
            Case("db_k", cases.biases(4, 3, 2), "four tokens", 1, look=("db_k",)),
            Case("db_v", cases.biases(4, 3, 2), "four tokens", 1, look=("db_v",)),
            Case("an empty row", cases.biases(5, 3, 2, True), "one query has no key left", 1),
            Case("longer", cases.biases(7, 2, 4), "seven tokens", guards="an empty row"),
        ),
        mutants=mutants.BIASES,
    ),
    Question(
        id="04.5",
        title="The rank of the scores",
        stub=stubs.scores_of_rank,
        returns=("Q", "K"),
        minutes=12,
        hints=(
            "Q Kᵀ is a sum of d_k matrices of rank one, one for each column of Q and K.",
            "Let column a of Q and of K be the a-th unit vector for a < r, and let the other columns of Q be zero.",
        ),
        cases=(
            Case("low rank", cases.rank_wanted(6, 4, 2), "n = 6, d_k = 4, r = 2", 1),
            Case("the full width", cases.rank_wanted(6, 3, 3), "n = 6, d_k = 3, r = 3", 1),
            Case("as wide as d_k allows", cases.rank_wanted(6, 3, 5), "n = 6, d_k = 3, r = 5: out of reach", 1),
            Case("rank one", cases.rank_wanted(4, 5, 1), "n = 4, d_k = 5, r = 1", guards="low rank", open=True),
            Case("another rank", cases.rank_wanted(7, 5, 3), "n = 7, d_k = 5, r = 3", guards="low rank"),
        ),
        mutants=mutants.RANKS,
        measure=cases.measure_rank,
        measures=cases.RANK,
    ),
    Question(
        id="04.6",
        title="How far a score strays, with pencil and paper",
        stub=stubs.score_variance,
        returns=("variance",),
        minutes=12,
        hints=(
            "The d products are independent, so their variances add. For one product, Var(qk) = E[q²k²] − (E[qk])².",
            "E[q²] = σ_q² + μ_q². Multiply out (σ_q² + μ_q²)(σ_k² + μ_k²) − μ_q² μ_k².",
        ),
        cases=(
            Case("unit entries", cases.unit_moments, "mean 0, variance 1, d = 64", 1),
            Case("any variances", cases.moments(False), "mean 0, other variances", 1, ("unit entries",)),
            Case("with means", cases.moments(True), "means that are not zero", 1, ("any variances",)),
            Case("other means", cases.moments(True), "other means", guards="with means"),
        ),
        mutants=mutants.VARIANCES,
    ),
    Question(
        id="04.7",
        title="Four exhibits",
        stub=stubs.diagnose,
        returns=("names",),
        minutes=25,
        hints=(
            "First the axis: what do the rows of A sum to? Then the scale: compute the weights for every divisor.",
            "log A[i, j] − log A[i, k] = (s_ij − s_ik) / c, where s are the raw scores: the ratio gives the divisor c. "
            "Or build all five candidates and return the name of the nearest.",
        ),
        cases=(
            Case("four exhibits", cases.exhibits(4, 6, 4, 32, False), "four matrices, a fault in each", 4),
            Case("one is innocent", cases.exhibits(5, 3, 9, 27, True), "five matrices, one of them correct", 2),
            Case("eight tokens", cases.exhibits(8, 8, 6, 48, True), "other sizes", guards="four exhibits"),
        ),
        mutants=mutants.DETECTIVES,
        drive=cases.call_diagnose,
        labels=cases.NAMES,
    ),
    Question(
        id="04.8",
        title="Additive alignment",
        stub=stubs.additive_weights,
        returns=("S", "A"),
        minutes=15,
        hints=(
            "Every query meets every key: give Q W_q a new axis for the keys and K W_k one for the queries.",
            "T = np.tanh(q[..., :, None, :] + k[..., None, :, :]) has shape (*B, n, m, h); its last axis goes with w.",
        ),
        cases=(
            Case("scores", cases.additive(3, 5, 4, 2, 6), "S, three queries, five keys", 2, look=("S",)),
            Case("weights", cases.additive(3, 5, 4, 2, 6), "A, three queries, five keys", 1, look=("A",)),
            Case("batch", cases.additive(3, 4, 2, 5, 6, (2, 3)), "two leading axes", 1, ("scores",)),
            Case("one query", cases.additive(1, 6, 3, 3, 4), "a decoder's single query", guards="scores", open=True),
            Case("other sizes", cases.additive(4, 3, 5, 2, 7), "other sizes", guards="scores"),
        ),
        mutants=mutants.ADDITIVE,
    ),
)
