"""The questions of chapter 7."""

from ...model import FORBIDDEN, TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="07.1",
        title="Three wirings",
        stub=stubs.wire,
        returns=("Y",),
        minutes=15,
        kind="build",
        section="7.2",
        part=1,
        hints=(
            "Which of the two arrays with similar names is carried on, and which is only read?",
            "Write a function for the norm and one for F.  Each wiring is then one line; α stands on the stream.  "
            "Means run over the features, one for each token.",
            "pre: alpha X + F(norm(X)); post: norm(alpha X + F(X)); none: F(norm(X)).  Keep the last axis of the mean, "
            "so that it divides row by row.",
        ),
        cases=(
            Case("pre", cases.connection("pre", 3, 5), "three tokens, α = 1", 1),
            Case("post", cases.connection("post", 3, 5), "three tokens, α = 1", 1),
            Case("none", cases.connection("none", 3, 5), "the stream cut", 1),
            Case("alpha", cases.connection("pre", 2, 3, 4, alpha=1.7), "pre, two sequences, α = 1.7",
                 guards="pre", open=True),
            Case("alpha, post", cases.connection("post", 2, 3, 4, alpha=2.5), "post, α = 2.5",
                 guards="post", open=True),
            Case("square", cases.connection("pre", 4, 4), "as many tokens as features", guards="pre"),
            Case("alpha, none", cases.connection("none", 2, 3, 4, alpha=1.6), "none, α = 1.6",
                 guards="none", open=True),
            Case("two leading axes", cases.connection("post", 2, 3, 4, 5, alpha=0.7), "lead (2, 3)",
                 guards="post", open=True),
        ),
        clauses=(
            ("*pre*: $\\alpha X + F(\\operatorname{N}(X))$", "pre"),
            ("*post*: $\\operatorname{N}(\\alpha X + F(X))$", "post"),
            ("*none*: $F(\\operatorname{N}(X))$", "none"),
            ("alpha a number", "alpha"),
            ("alpha a number", "alpha, post"),
            ("alpha a number", "alpha, none"),
            ("X (*B, n, d)", "two leading axes"),
        ),
        mutants=mutants.FORWARD,
    ),
    Question(
        id="07.2",
        title="What comes back",
        stub=stubs.wire_gradient,
        returns=("dX",),
        minutes=25,
        kind="derive",
        section="7.3",
        part=2,
        hints=(
            "Walk backwards through your lines of 07.1.  The gradient of X is a sum of two: which passed a norm?",
            "Back through the norm at x, with r the root of the mean of x²: multiply the upstream gradient by γ, take "
            "its part along x̂ away, and divide by r.  Pre: α dY, and what the branch makes of dY, through the norm.  "
            "Post: the norm at the sum comes first, and both ways pass it.",
            "back(dZ) of the norm at x with r = √mean(x²): g = γ dZ, (g − x̂ mean(g x̂)) / r. "
            "pre: αdY + back(F'(dY)). post: dS = back(dY) at S = αX + F, then αdS + F'(dS).",
        ),
        cases=(
            Case("none", cases.connection("none", 3, 5, upstream=True), "the branch alone", 1),
            Case("pre", cases.connection("pre", 3, 5, upstream=True), "three tokens, α = 1", 2),
            Case("post", cases.connection("post", 3, 5, upstream=True), "three tokens, α = 1", 1),
            Case("alpha", cases.connection("post", 2, 3, 4, alpha=1.7, upstream=True), "post, α = 1.7", 1, ("post",)),
            Case("alpha, pre", cases.connection("pre", 2, 3, 4, alpha=2.5, upstream=True), "α = 2.5",
                 guards="pre", open=True),
            Case("alpha, none", cases.connection("none", 2, 3, 4, alpha=1.6, upstream=True), "α = 1.6", guards="none",
                 open=True),
            Case("two leading axes", cases.connection("pre", 2, 3, 4, 5, alpha=0.7, upstream=True), "lead (2, 3)",
                 guards="pre", open=True),
            Case("other sizes", cases.connection("post", 4, 6, alpha=1.4, upstream=True), "α = 1.4", guards="alpha"),
        ),
        clauses=(
            ("each of your three connections", "none"),
            ("each of your three connections", "pre"),
            ("each of your three connections", "post"),
            ("with $\\alpha$ as it was", "alpha"),
            ("with $\\alpha$ as it was", "alpha, pre"),
            ("with $\\alpha$ as it was", "alpha, none"),
            ("dY, X (*B, n, d)", "two leading axes"),
        ),
        mutants=mutants.BACKWARD,
    ),
    Question(
        id="07.3",
        title="All paths, with pencil and paper",
        stub=stubs.sum_over_paths,
        returns=("terms",),
        minutes=10,
        kind="derive",
        section="7.1",
        part=1,
        hints=(
            "Multiply out (1 + s₁)(1 + s₂)(1 + s₃) on paper and sort by the number of factors s.",
            "A polynomial does the sorting: in the product of all (1 + s z) the coefficient of z to the k is the sum "
            "you want.  Multiplying by one more bracket adds s times the list, shifted by one.",
            "Start with [1, 0, …]; for each slope s, add s times the list shifted by one place to the right.  The sum "
            "of all entries must be Π(1 + s).",
        ),
        cases=(
            Case("equal slopes", cases.slopes(4, same=True), "four layers of slope 0.3", 1),
            Case("any slopes", cases.slopes(5), "five layers", 1, ("equal slopes",)),
            Case("deeper", cases.slopes(9), "nine layers", guards="any slopes"),
            Case("other slopes", cases.equal_slopes, "equal slopes", guards="equal slopes"),
        ),
        clauses=(
            ("sort the $2^N$ terms by the number $k$ of sublayers", "equal slopes"),
            ("exactly k sublayers", "any slopes"),
            ("for any $N$", "any slopes"),
        ),
        mutants=mutants.PATHS,
    ),
    Question(
        id="07.4",
        title="Three faults that train",
        stub=stubs.repaired_stack,
        returns=("Y", "kept"),
        minutes=20,
        kind="repair",
        section="7.6",
        part=2,
        printed=False,
        hints=(
            "Follow one number through two sublayers of the faulty code.  Which array is added to, which is kept, and "
            "which is handed out?",
            "One line carries the normalised copy on; one line changes an array that has been put into the list, and "
            "would change the caller's X too; and the end of a pre-norm stream is a sum that nobody normalises.",
            "For each l: append X, make X_bar from X with gamma[l], and then X = X + tanh(X_bar @ W[l]), a new array.  "
            "After the loop normalise X with last.",
        ),
        cases=(
            Case("two sublayers", cases.stack(2, 3, 5), "three tokens", 1, look=("Y",)),
            Case("deep", cases.stack(7, 3, 5), "seven sublayers", 2, ("two sublayers",), look=("Y",)),
            Case("what is kept", cases.stack(4, 3, 6), "the stream before each sublayer", 1, look=("kept",)),
            Case("two leading axes", cases.stack(6, 2, 3, 4, 5), "lead (2, 3)", guards="deep", open=True),
            Case("other sizes", cases.stack(5, 4, 6), "other sizes", guards="deep"),
        ),
        clauses=(
            ("an end of size 1, but for the gain", "two sublayers"),
            ("as deep as you like", "deep"),
            ("the stream as each sublayer finds it, before its norm", "what is kept"),
            ("X (*B, n, d)", "two leading axes"),
            ("must be what they were", "what is kept"),
        ),
        mutants=mutants.REPAIRS,
    ),
    Question(
        id="07.5",
        title="How other streams grow",
        stub=stubs.stream_size,
        returns=("size", "share"),
        minutes=15,
        kind="predict",
        section="7.6",
        part=3,
        printed=False,
        hints=(
            "Follow the mean square, not the size.  What does each sublayer do to it?",
            "αx has α² times the mean square of x, and independent things add by their mean squares.  The remark has "
            "mean square v in pre, v times that of the stream in raw, and 1 in the sandwich.  Post begins anew each "
            "time.",
            "A loop of N steps: keep the mean square before the step, compute that of the remark, then "
            "m = alpha**2 * m + remark (or 1 for post).  At the end take roots.",
        ),
        cases=(
            Case("pre", cases.stream("pre", 0.9), "α = 0.9", 1),
            Case("raw", cases.stream("raw", 0.8), "no norm at all", 1),
            Case("sandwich", cases.stream("sandwich", 0.85), "a norm on both sides", 1),
            Case("post", cases.stream("post", 1.3), "post-norm", guards="pre", open=True),
            Case("alpha one", cases.stream("pre", 1.0), "α = 1", guards="pre", open=True),
            Case("alpha above one", cases.stream("raw", 1.2, 5), "α = 1.2", guards="raw", open=True),
            Case("one sublayer", cases.stream("sandwich", 0.7, 1), "N = 1", guards="sandwich", open=True),
            Case("other numbers", cases.stream("pre", 0.8, 9), "nine sublayers", guards="pre"),
            Case("another sandwich", cases.stream("sandwich", 0.75, 11), "other numbers", guards="sandwich"),
        ),
        clauses=(
            ("`\"pre\"`: the sublayer reads a normalised copy", "pre"),
            ("`\"raw\"`: it reads the stream as it is", "raw"),
            ("`\"sandwich\"`: as pre, and the remark is normalised as well", "sandwich"),
            ("`\"post\"`: the sum is normalised", "post"),
            ("$\\alpha$ may be 1, or larger", "alpha one"),
            ("or larger", "alpha above one"),
            ("even after a single sublayer", "one sublayer"),
        ),
        mutants=mutants.SIZES,
    ),
    Question(
        id="07.6",
        title="Why the end needs a norm",
        stub=stubs.first_loss,
        returns=("without", "with_norm"),
        minutes=10,
        kind="build",
        section="7.6",
        part=2,
        hints=(
            "What is the loss of one token, if its logits are given?  What happens to exp of a thousand?",
            "The log of the sum of exponentials, minus the logit of the target; then the mean over tokens.  Take the "
            "largest logit of each row away first, which changes no loss.",
            "shifted = logits − their row's maximum; loss = log(sum(exp(shifted))) − shifted at the target.  With the "
            "norm the same, with each row of X centred and divided by the root of its population variance.",
        ),
        cases=(
            Case("a long stream", cases.ends(5, 8, 6, 7.0), "rms about 7", 1),
            Case("a short one", cases.ends(4, 8, 5, 1.5), "rms about 1.5", 1),
            Case("overflow", cases.ends(4, 6, 5, 2000.0), "logits in the thousands", guards="a long stream", open=True),
            Case("other sizes", cases.ends(3, 7, 6, 3000.0), "other sizes", guards="a long stream"),
        ),
        clauses=(
            ("once as it is and once through a LayerNorm", "a long stream"),
            ("at the start of training", "a short one"),
            ("logits in the thousands", "overflow"),
        ),
        mutants=mutants.LOSSES,
    ),
    Question(
        id="07.7",
        title="How another stack starts",
        stub=stubs.other_deep_start,
        returns=("alpha", "beta", "deviation"),
        minutes=20,
        kind="derive",
        section="7.8",
        part=3,
        printed=False,
        hints=(
            "Go through the argument before (7.27) once more.  Where does it use that a branch has two matrices, and "
            "where that a layer has two sublayers?",
            "K sublayers in all, p matrices in each branch.  Moving one matrix by Δ moves the output by β^(p−1)/α "
            "times Δ, and Δ has that factor too: K p β^(2(p−1)) / α² = 1.  Let 1/α² and p β^(2(p−1)) be equal.",
            "Both are K^(−1/2).  So α = K^(1/4), and β is (p √K) to the power −1/(2(p − 1)); for K = 2L and p = 2 "
            "that is (7.28).  The deviation is 0.02/√K.",
        ),
        cases=(
            Case("three sublayers", cases.start(10, 3, 2), "10 layers of three sublayers", 2),
            Case("three matrices", cases.start(20, 4, 3), "branches of three matrices", 2),
            Case("both", cases.any_start, "other numbers of both", guards="three matrices", open=True),
            Case("deep", cases.any_start, "other numbers", guards="three matrices"),
            Case("another depth", cases.three_a_layer, "other numbers", guards="three sublayers"),
        ),
        clauses=(
            ("three sublayers a layer", "three sublayers"),
            ("a product of $p$ matrices", "three matrices"),
            ("for so many sublayers a layer and so many matrices", "both"),
        ),
        mutants=mutants.STARTS,
    ),
    Question(
        id="07.8",
        title="Equal voices",
        stub=stubs.equal_voices,
        returns=("a", "b"),
        minutes=15,
        kind="design",
        section="7.8",
        part=3,
        printed=False,
        hints=(
            "After l sublayers there are l + 1 voices, x_0 among them, with equal shares of a mean square of 1.  What "
            "are the shares after the next?",
            "They go from 1/(l+1) to 1/(l+2) for each old voice, and the new one gets 1/(l+2).  The old ones are "
            "multiplied by a², the new one is b² v.",
            "So a_l² = (l+1)/(l+2) and b_l² = 1/(v (l+2)), l = 0, …, N − 1.  Check: a² + b² v = 1.",
        ),
        cases=(
            Case("one remark", cases.voices(1), "N = 1: halves", 1),
            Case("six remarks", cases.voices(6), "N = 6", 2, ("one remark",)),
            Case("loud remarks", cases.voices(4, 2.0, 3.0), "v above 1", guards="six remarks", open=True),
            Case("other numbers", cases.voices(9), "N = 9", guards="six remarks"),
        ),
        clauses=(
            ("After every sublayer the stream has mean square 1", "one remark"),
            ("equal shares in it", "six remarks"),
            ("louder or softer than the stream", "loud remarks"),
        ),
        mutants=mutants.VOICES,
    ),
    Question(
        id="07.9",
        title="Where pre-norm and post-norm part",
        stub=stubs.where_they_part,
        returns=("x", "W"),
        minutes=15,
        kind="counterexample",
        section="7.2",
        part=1,
        printed=False,
        hints=(
            "Write out both stacks for one sublayer, with x of mean square 1.  What is N(x)?  Then for two.",
            "With two sublayers the second remark has the same size in both, but the stream to which it is added has "
            "not: in pre-norm it kept its length, in post-norm it was brought back to 1.  Let the first sublayer "
            "lengthen it, and the second speak against it.",
            "One direction is enough: matrices that are numbers times the identity.  Let x be all ones; try 2 and then "
            "−2, and follow the numbers: 1, 3, 1 on one side, 1, 1, −1 on the other.",
        ),
        cases=(
            Case("a single feature", cases.width(1), "d = 1", 1),
            Case("three features", cases.width(3), "d = 3", 2),
            Case("five features", cases.width(5), "d = 5", guards="three features"),
        ),
        clauses=(
            ("for any width $d$, even 1", "a single feature"),
            ("the two ends at least 0.1 apart", "three features"),
            ("as small as it gets", "three features"),
        ),
        mutants=mutants.PARTINGS,
        measure=cases.parting,
        measures=("N", "apart"),
    ),
    Question(
        id="07.10",
        title="A remark that is sometimes lost",
        stub=stubs.make_droppable,
        returns=("by_chance", "Y", "levels", "uneven", "often", "parameters"),
        minutes=25,
        kind="build",
        section="7.9",
        part=4,
        printed=False,
        torch=True,
        forbid=(*TORCH_ONLY, "numpy", "dropout", "Dropout", "Dropout1d", "dropout1d"),
        hints=(
            "How many coins are tossed for a batch?  And what must be true of X + c F on average, if c is 0 with "
            "probability p?",
            "One coin for each sequence, of shape (B, 1, 1), so that it broadcasts over tokens and features.  "
            "With probability 1 − p the remark stays, so it is divided by 1 − p.  A module knows whether it is in "
            "training; and it finds the parameters of modules that are its attributes.",
            "self.sublayer = sublayer in __init__.  In forward: F = self.sublayer(X); if self.training, multiply F by "
            "(torch.rand(len(X), 1, 1) >= p) / (1 - p).",
        ),
        cases=(
            Case("evaluation", cases.dropping(0.3, 5, 3, 4), "X + F(X), nothing lost", 1, look=("by_chance", "Y")),
            Case("what stays", cases.dropping(0.3, 5, 3, 4), "least and greatest share of a remark", 1,
                 look=("levels",), atol=1e-6),  # coins in torch's default dtype have seven digits
            Case("whole sequences", cases.dropping(0.4, 4, 6, 3), "unevenness within a sequence", 1,
                 look=("uneven", "often"), atol=1e-8),
            Case("how often", cases.dropping(0.2, 8, 3, 4), "is a share p of 1000 sequences lost?", 1,
                 look=("often", "parameters")),
            Case("parameters", cases.dropping(0.3, 2, 3, 5), "the sublayer's are found", 1, ("evaluation",),
                 look=("parameters",)),
            Case("p = 0", cases.dropping(0.0, 3, 4, 5), "nothing is ever lost", guards="what stays", open=True,
                 look=("levels", "often"), atol=1e-6),
            Case("another p", cases.dropping(0.45, 6, 4, 3), "other numbers", guards="what stays", atol=1e-6),
        ),
        clauses=(
            ("which is also what evaluation gives", "evaluation"),
            ("the expected output is X + F(X)", "what stays"),
            ("loses its whole remark", "whole sequences"),
            ("with probability p", "how often"),
            ("must be found by an optimiser", "parameters"),
            ("with $p = 0$ nothing is lost", "p = 0"),
            ("torch's own dropout is not allowed", FORBIDDEN),
        ),
        mutants=mutants.DROPS,
        drive=cases.use_droppable,
    ),
    Question(
        id="07.11",
        title="After a lesion",
        stub=stubs.after_a_lesion,
        returns=("paths", "share", "length"),
        minutes=15,
        kind="predict",
        section="7.1",
        part=1,
        printed=False,
        hints=(
            "At each sublayer a path has two choices.  Which choices are left where a sublayer was removed?",
            "Paths: 2 to the number of those that are left.  Each sublayer had the factor 1 + s in the derivative, and "
            "has the factor 1 now.  Of the weight that reaches a sublayer, s of 1 + s goes through it.",
            "share = Π 1/(1 + s) over the removed, length = Σ s/(1 + s) over those that are left.",
        ),
        cases=(
            Case("paths", cases.lesion(7, 2, 5), "two of seven removed", 1, look=("paths",)),
            Case("share", cases.lesion(6, 0, 3, 4), "three of six removed", 1, look=("share",)),
            Case("length", cases.lesion(6, 1, 4), "two of six removed", 1, look=("length",)),
            Case("one removed", cases.lesion(5, 4), "the last of five", guards="share", open=True),
            Case("deeper", cases.lesion(11, 2, 9, 5), "three of eleven", guards="length"),
            Case("more paths", cases.some_lesion, "other sizes", guards="paths", look=("paths",)),
        ),
        clauses=(
            ("how many of the paths are left", "paths"),
            ("what is left of the derivative", "share"),
            ("the mean number of sublayers on a path", "length"),
            ("a single one, or several", "one removed"),
        ),
        mutants=mutants.LESIONS,
    ),
)
