"""The questions of chapter 6."""

from ...model import Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="06.1",
        title="LayerNorm, forward",
        stub=stubs.layer_norm,
        returns=("Y",),
        minutes=10,
        hints=(
            "Mean and variance run over the features of each token: the last axis, with keepdims=True.",
            "centred = X − mean; s = √(mean of centred² + eps), with a plain mean; Y = gamma * centred / s + beta.",
        ),
        cases=(
            Case("tokens", cases.affine(3, 5), "three tokens of five features", 2),
            Case("batch", cases.affine(2, 3, 4), "two sequences", 1, ("tokens",)),
            Case("constant token", cases.constant, "a token whose features are all equal", 1, ("tokens",)),
            Case("faint tokens", cases.affine(3, 4, scale=1e-3), "deviations near √ε", 1, ("tokens",)),
            Case("batch and heads", cases.affine(2, 3, 4, 6), "two leading axes", guards="batch", open=True),
            Case("square", cases.affine(4, 4), "as many tokens as features", guards="tokens"),
        ),
        mutants=mutants.FORWARD,
    ),
    Question(
        id="06.2",
        title="LayerNorm, backward",
        stub=stubs.layer_norm_gradients,
        returns=("dX", "dgamma", "dbeta"),
        minutes=30,
        hints=(
            "gamma and beta served every token: sum over all axes but the last. X̂ receives g = gamma ∘ dY.",
            "dX = (g − mean(g) − X̂ mean(g X̂)) / s, both means over the last axis with keepdims=True; "
            "g has gamma in it before any mean is taken.",
        ),
        cases=(
            Case("gain and shift", cases.upstream(3, 5), "dgamma and dbeta", 1, look=("dgamma", "dbeta")),
            Case("gamma = 1", cases.upstream(3, 5, plain=True), "dX, with all gains one", 2, look=("dX",)),
            Case("any gamma", cases.upstream(3, 5), "dX, with gains of its own", 2, ("gamma = 1",), ("dX",)),
            Case("batch", cases.upstream(2, 3, 4), "two sequences", 1, ("gain and shift", "any gamma")),
            Case("batch and heads", cases.upstream(2, 3, 4, 6), "two leading axes", guards="batch", open=True),
            Case("large epsilon", cases.upstream(3, 4, eps=0.5), "X̂ of less than unit size",
                 guards="any gamma", open=True),
            Case("other sizes", cases.upstream(3, 2, 5), "three short sequences", guards="batch"),
        ),
        mutants=mutants.BACKWARD,
    ),
    Question(
        id="06.3",
        title="RMSNorm, backward",
        stub=stubs.rms_norm_gradients,
        returns=("dX", "dgamma"),
        minutes=20,
        hints=(
            "There is no mean to go through: x_k acts directly, and through r. What is ∂r/∂x_k?",
            "∂r/∂x_k = x_k / (d r) = x̂_k / d. So dX = (g − X̂ mean(g X̂)) / r with g = gamma ∘ dY.",
        ),
        cases=(
            Case("dX", cases.rms(3, 5), "three tokens", 2, look=("dX",)),
            Case("dgamma", cases.rms(3, 5), "three tokens", 1, look=("dgamma",)),
            Case("batch", cases.rms(2, 3, 4), "two sequences", 1, ("dX", "dgamma")),
            Case("large epsilon", cases.rms(3, 4, eps=0.5), "ε as large as the squares", guards="dX", open=True),
            Case("two leading axes", cases.rms(2, 3, 4, 5), "lead (2, 3)", guards="batch", open=True),
            Case("other sizes", cases.rms(3, 2, 6), "three short sequences", guards="batch"),
        ),
        mutants=mutants.RMS,
    ),
    Question(
        id="06.4",
        title="BatchNorm, and what it remembers",
        stub=stubs.batch_norm_step,
        returns=("X_hat", "mean", "var"),
        minutes=15,
        hints=(
            "One mean and one variance for each feature, over all B·n tokens. Two variances are in play.",
            "Normalise with the population variance (1/N). Remember the unbiased one (1/(N − 1)): "
            "new = (1 − momentum) · old + momentum · now.",
        ),
        cases=(
            Case("normalised", cases.batch(2, 3, 4), "X_hat", 2, look=("X_hat",)),
            Case("running mean", cases.batch(2, 3, 4), "the mean after the step", 1, look=("mean",)),
            Case("running variance", cases.batch(2, 3, 4), "the variance after the step", 1, look=("var",)),
            Case("other sizes", cases.batch(4, 2, 3), "four short sequences", guards="normalised"),
            Case("one sequence", cases.batch(1, 5, 3), "a batch of one", guards="running variance", open=True),
        ),
        mutants=mutants.BATCH,
    ),
    Question(
        id="06.5",
        title="Norms and padding",
        stub=stubs.standardize_real,
        returns=("Y",),
        minutes=15,
        hints=(
            "For one of the two kinds padding cannot matter at all, except that it must come out as zeros. Which?",
            "For \"instance\", divide sums over the real tokens by their number: multiply by a mask (B, n, 1) before "
            "every sum, and once more at the end.",
        ),
        cases=(
            Case("token", cases.padded("token", 5, 4, (5, 3)), "each token by itself", 1),
            Case("instance", cases.padded("instance", 5, 4, (5, 3)), "each feature, over real tokens", 2),
            Case("short", cases.padded("instance", 6, 3, (2, 6, 4)), "two real tokens of six", guards="instance"),
        ),
        mutants=mutants.PADDING,
    ),
    Question(
        id="06.6",
        title="What the Jacobian does to three directions, with pencil and paper",
        stub=stubs.jacobian_values,
        returns=("ones", "along", "others"),
        minutes=15,
        hints=(
            "J = (I − 11ᵀ/d − x̂x̂ᵀ/d) / s with s = √(variance + ε). Multiply it by 1, by x̂, and by a u orthogonal to "
            "both.",
            "1 · x̂ = 0, and x̂ · x̂ = d · variance / (variance + ε), which is not quite d.",
        ),
        cases=(
            Case("without epsilon", cases.jacobian(0.0), "ε = 0", 1),
            Case("with epsilon", cases.jacobian(0.3), "ε = 0.3", 2, ("without epsilon",)),
            Case("small epsilon", cases.jacobian(0.01), "ε = 0.01", guards="with epsilon"),
        ),
        mutants=mutants.JACOBIAN,
    ),
    Question(
        id="06.7",
        title="Five exhibits",
        stub=stubs.name_the_norm,
        returns=("names",),
        minutes=25,
        hints=(
            "Look at the rows first: is their mean 0? Then at the columns. What is the mean square of a row?",
            "With variance v, the mean square of a row is v/(v + ε), or v/(v d/(d − 1) + ε), or v/(v d + ε), or "
            "(√v/(√v + ε))². Or build all six candidates and return the name of the nearest.",
        ),
        cases=(
            Case("five exhibits", cases.exhibits(4, 6, False), "five outputs, a fault in each", 4),
            Case("one is innocent", cases.exhibits(5, 4, True), "six outputs, one of them correct", 2),
            Case("square", cases.exhibits(5, 5, True), "as many tokens as features", guards="five exhibits"),
        ),
        mutants=mutants.DETECTIVES,
        drive=cases.call_name_the_norm,
        labels=cases.NAMES,
    ),
)
