"""The questions of chapter 7."""

from ...model import Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="07.1",
        title="Three wirings",
        stub=stubs.wire,
        returns=("Y",),
        minutes=15,
        hints=(
            "Write a function for the norm and one for F. Each wiring is then one line; α stands on the stream.",
            "pre: alpha X + F(norm(X)); post: norm(alpha X + F(X)); none: F(norm(X)). Means run over the last axis.",
        ),
        cases=(
            Case("pre", cases.connection("pre", 3, 5), "three tokens, α = 1", 2),
            Case("post", cases.connection("post", 3, 5), "three tokens, α = 1", 1),
            Case("none", cases.connection("none", 3, 5), "the stream cut", 1),
            Case("alpha", cases.connection("pre", 2, 3, 4, alpha=1.7), "pre, two sequences, α = 1.7", 1, ("pre",)),
            Case("alpha, post", cases.connection("post", 2, 3, 4, alpha=2.5), "post, α = 2.5",
                 guards="post", open=True),
            Case("square", cases.connection("pre", 4, 4), "as many tokens as features", guards="pre"),
            Case("alpha, none", cases.connection("none", 2, 3, 4, alpha=1.6), "none, α = 1.6",
                 guards="none", open=True),
            Case("two leading axes", cases.connection("post", 2, 3, 4, 5, alpha=0.7), "lead (2, 3)",
                 guards="post", open=True),
        ),
        mutants=mutants.FORWARD,
    ),
    Question(
        id="07.2",
        title="What comes back",
        stub=stubs.wire_gradient,
        returns=("dX",),
        minutes=30,
        hints=(
            "Walk backwards through your lines of 07.1. The gradient of X is a sum of two: which passed a norm?",
            "back(dZ) of the norm at x with r = √mean(x²): g = γ dZ, (g − x̂ mean(g x̂)) / r. "
            "pre: αdY + back(F'(dY)). post: dS = back(dY) at S = αX + F, then αdS + F'(dS).",
        ),
        cases=(
            Case("none", cases.connection("none", 3, 5, upstream=True), "the branch alone", 1),
            Case("pre", cases.connection("pre", 3, 5, upstream=True), "three tokens, α = 1", 2),
            Case("post", cases.connection("post", 3, 5, upstream=True), "three tokens, α = 1", 2),
            Case("alpha", cases.connection("post", 2, 3, 4, alpha=1.7, upstream=True), "post, α = 1.7", 1, ("post",)),
            Case("alpha, pre", cases.connection("pre", 2, 3, 4, alpha=2.5, upstream=True), "α = 2.5",
                 guards="pre", open=True),
            Case("alpha, none", cases.connection("none", 2, 3, 4, alpha=1.6, upstream=True), "α = 1.6", guards="none",
                 open=True),
            Case("two leading axes", cases.connection("pre", 2, 3, 4, 5, alpha=0.7, upstream=True), "lead (2, 3)",
                 guards="pre", open=True),
            Case("other sizes", cases.connection("post", 4, 6, alpha=1.4, upstream=True), "α = 1.4", guards="alpha"),
        ),
        mutants=mutants.BACKWARD,
    ),
    Question(
        id="07.3",
        title="All paths, with pencil and paper",
        stub=stubs.sum_over_paths,
        returns=("terms",),
        minutes=20,
        hints=(
            "Multiply out (1 + f₁)(1 + f₂)(1 + f₃) on paper and sort by the number of factors f.",
            "The coefficients of Π(1 + f_l z): start with [1, 0, …] and, for each slope f, add f times the list "
            "shifted by one. Their sum must be Π(1 + f_l).",
        ),
        cases=(
            Case("equal slopes", cases.slopes(4, same=True), "four layers of slope 0.3", 1),
            Case("any slopes", cases.slopes(5), "five layers", 2, ("equal slopes",)),
            Case("deeper", cases.slopes(9), "nine layers", guards="any slopes"),
        ),
        mutants=mutants.PATHS,
    ),
    Question(
        id="07.4",
        title="What was added?",
        stub=stubs.name_the_sum,
        returns=("names",),
        minutes=15,
        hints=(
            "You have X and F: compute all five candidates and compare.",
            "LN(Z) = (Z − mean) / √(mean of squares of that), over the last axis. "
            "Return the name of the candidate with the smallest largest difference.",
        ),
        cases=(
            Case("five outputs", cases.sums(3, 6), "each rule once", 3),
            Case("wider", cases.sums(2, 9), "other sizes", guards="five outputs"),
        ),
        mutants=mutants.SUMS,
        drive=cases.call_name,
        labels=cases.NAMES,
    ),
    Question(
        id="07.5",
        title="The last layer of a deep stack, with pencil and paper",
        stub=stubs.last_layer_bound,
        returns=("size", "bound"),
        minutes=20,
        hints=(
            "Independent notes: mean squares add. How many sublayers has a stack of L layers?",
            "The backward of the final norm is a projection divided by the size of the stream, and dW_2 = Hᵀ dX.",
        ),
        cases=(
            Case("size", cases.bound(), "rms at the end", 2, look=("size",)),
            Case("bound", cases.bound(), "the last gradient", 3, look=("bound",)),
            Case("half", cases.bound(0.5), "notes of mean square 1/2", guards="bound"),
        ),
        mutants=mutants.BOUNDS,
    ),
    Question(
        id="07.6",
        title="Why the end needs a norm",
        stub=stubs.first_loss,
        returns=("without", "with_norm"),
        minutes=12,
        hints=(
            "Loss of a token: log of the sum of exp(logits), minus the logit of its target. Then the mean.",
            "Subtract the largest logit of each row before exp. With the norm: the same, with each row of X centred "
            "and divided by the root of its population variance.",
        ),
        cases=(
            Case("a long stream", cases.ends(5, 8, 6, 7.0), "rms about 7", 2),
            Case("a short one", cases.ends(4, 8, 5, 1.5), "rms about 1.5", 1),
            Case("overflow", cases.ends(4, 6, 5, 2000.0), "logits in the thousands", guards="a long stream", open=True),
            Case("other sizes", cases.ends(3, 7, 6, 3000.0), "other sizes", guards="a long stream"),
        ),
        mutants=mutants.LOSSES,
    ),
    Question(
        id="07.7",
        title="How a deep stack starts",
        stub=stubs.deep_start,
        returns=("alpha", "beta", "deviation"),
        minutes=10,
        hints=(
            "DeepNorm: 4Lβ²/α² = 1 and (αβ)² = 1/2. GPT-2: 2L notes must add up to one.",
            "Divide and multiply the two equations: α⁴ = 2L, β⁴ = 1/(8L). The deviation is 0.02 over a root.",
        ),
        cases=(
            Case("eight layers", cases.depth(8), "8 layers", 2),
            Case("deep", cases.any_depth, "tens or hundreds of layers", 1),
            Case("fifty", cases.depth(50), "50 layers", guards="eight layers"),
        ),
        mutants=mutants.STARTS,
    ),
)
