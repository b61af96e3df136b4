"""The questions of chapter 6."""

from ...model import FORBIDDEN, STORY, TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="06.1",
        title="LayerNorm, forward",
        stub=stubs.layer_norm,
        returns=("Y",),
        minutes=5,
        kind="build",
        section="6.1",
        part=1,
        printed=True,
        hints=(
            "Mean and variance run over the features of each token, the last axis; keep that axis, with length one, so "
            "that it can be subtracted.",
            "Take the mean away first. The mean of the squares of what is left is the variance; ε is added to it, and "
            "then comes the root. At the end the gain multiplies and the shift is added.",
            "centred = X − X.mean(axis=-1, keepdims=True), s = np.sqrt((centred * centred).mean(axis=-1, "
            "keepdims=True) + eps), and Y = gamma * centred / s + beta.",
        ),
        cases=(
            Case("tokens", cases.affine(3, 5, eps=0.1), "three tokens of five features", 1),
            Case("one token", cases.affine(6), "a single token, no axis in front", guards="tokens", open=True),
            Case("batch and heads", cases.affine(2, 3, 4, 6), "three leading axes", guards="tokens", open=True),
            Case("constant token", cases.constant, "a token whose features are all equal", guards="tokens", open=True),
            Case("faint tokens", cases.affine(3, 4, scale=1e-3), "deviations near √ε", guards="tokens", open=True),
            Case("high level", cases.high_level, "means of a hundred thousand", guards="tokens", open=True, rtol=1e-8),
            Case("other sizes", cases.affine(4, 7), "four tokens of seven features", guards="tokens"),
        ),
        clauses=(
            ("LayerNorm of each token", "tokens"),
            ("There may be any number of axes in front", "batch and heads"),
            ("any number of axes in front, or none", "one token"),
            ("One token of the cases is constant", "constant token"),
            ("so faint that the place of $\\varepsilon$ shows", "faint tokens"),
            ("some have a level a hundred thousand times their deviation", "high level"),
        ),
        mutants=mutants.FORWARD,
    ),
    Question(
        id="06.2",
        title="LayerNorm, backward",
        stub=stubs.layer_norm_gradients,
        returns=("dX", "dgamma", "dbeta"),
        minutes=25,
        kind="derive",
        section="6.3",
        part=1,
        printed=True,
        hints=(
            "There are three ways from x_k to x̂_i: directly, through the mean, and through the deviation. The two "
            "vectors gamma and beta served every token.",
            "What reaches x̂ is g = gamma ∘ dy. From it come off its mean, and x̂ times the mean of g x̂; the rest is "
            "divided by s. gamma and beta get sums over all axes but the last.",
            "dX = (g − mean(g) − X_hat * mean(g * X_hat)) / s, both means over axis=-1 with keepdims=True; "
            "dbeta = dY.reshape(-1, d).sum(axis=0), and dgamma likewise from dY * X_hat.",
        ),
        cases=(
            Case("gain and shift", cases.upstream(3, 5), "dgamma and dbeta", 1, look=("dgamma", "dbeta")),
            Case("gamma = 1", cases.upstream(3, 5, plain=True, eps=0.1), "dX, with all gains one", 1, look=("dX",)),
            Case("any gamma", cases.upstream(3, 5, eps=0.1), "dX, with gains of its own", 2, ("gamma = 1",), ("dX",)),
            Case("batch", cases.upstream(2, 3, 4), "two sequences", 1, ("gain and shift", "any gamma")),
            Case("batch and heads", cases.upstream(2, 3, 4, 6), "two leading axes", guards="batch", open=True),
            Case("large epsilon", cases.upstream(3, 4, eps=0.5), "X̂ of less than unit size",
                 guards="any gamma", open=True),
            Case("other sizes", cases.upstream(3, 2, 5), "three short sequences", guards="batch"),
        ),
        clauses=(
            ("One case has $\\gamma = 1$", "gamma = 1"),
            ("and one has not", "any gamma"),
            ("served every token of every sequence", "batch"),
            ("dX (*B, d)", "batch and heads"),
            ("dgamma (d,), dbeta (d,)", "gain and shift"),
            ("root of variance plus ε", "large epsilon"),
        ),
        mutants=mutants.BACKWARD,
    ),
    Question(
        id="06.3",
        title="RMSNorm, backward",
        stub=stubs.rms_norm_gradients,
        returns=("dX", "dgamma"),
        minutes=15,
        kind="derive",
        section="6.7",
        part=3,
        printed=True,
        hints=(
            "There is no mean to go through: x_k acts directly, and through r. What is ∂r/∂x_k?",
            "∂r/∂x_k = x_k/(d r) = x̂_k/d. So the part of g along x̂ is taken away, and the rest divided by r, where "
            "g = gamma ∘ dy.",
            "With r from the forward pass and X_hat = X / r: dX = (g − X_hat * (g * X_hat).mean(axis=-1, "
            "keepdims=True)) / r. dgamma sums dY * X_hat over all axes but the last.",
        ),
        cases=(
            Case("dX", cases.rms(3, 5, eps=0.1), "three tokens", 1, look=("dX",)),
            Case("dgamma", cases.rms(3, 5, eps=0.1), "three tokens", 1, look=("dgamma",)),
            Case("batch", cases.rms(2, 3, 4), "two sequences", 1, ("dX", "dgamma")),
            Case("large epsilon", cases.rms(3, 4, eps=0.5), "ε as large as the squares", guards="dX", open=True),
            Case("two leading axes", cases.rms(2, 3, 4, 5), "lead (2, 3)", guards="batch", open=True),
            Case("other sizes", cases.rms(3, 2, 6), "three short sequences", guards="batch"),
        ),
        clauses=(
            ("Returns dX (*B, d)", "dX"),
            ("and dgamma (d,)", "dgamma"),
            ("√(mean of X² over the last axis + eps)", "large epsilon"),
            ("one sequence or many", "batch"),
            ("dY, X (*B, d)", "two leading axes"),
        ),
        mutants=mutants.RMS,
    ),
    Question(
        id="06.4",
        title="BatchNorm, and what it remembers",
        stub=stubs.batch_norm_step,
        returns=("X_hat", "mean", "var"),
        minutes=10,
        kind="build",
        section="6.6",
        part=2,
        printed=True,
        hints=(
            "One mean and one variance for each feature, over all B·n tokens. Two variances are in play.",
            "The output takes the variance that divides by N: the batch normalises itself. The memory takes the one "
            "that divides by N − 1: for it the batch is a sample. New is (1 − ρ) old + ρ now.",
            "Flatten to rows = X.reshape(-1, d). The output uses rows.var(axis=0), the memory rows.var(axis=0, "
            "ddof=1); "
            "mean after the step: (1 − momentum) * mean + momentum * rows.mean(axis=0).",
        ),
        cases=(
            Case("normalised", cases.batch(2, 3, 4, eps=0.01), "X_hat", 1, look=("X_hat",)),
            Case("memory", cases.batch(2, 3, 4), "mean and variance after the step", 1, look=("mean", "var")),
            Case("one sequence", cases.batch(1, 5, 3), "a batch of one", guards="memory", open=True),
            Case("large epsilon", cases.batch(3, 2, 5, eps=0.5), "ε = 0.5", guards="normalised", open=True),
            Case("other sizes", cases.batch(4, 2, 3), "four short sequences", guards="normalised"),
        ),
        clauses=(
            ("it normalises with the statistics of the batch", "normalised"),
            ("the running mean and variance after the step", "memory"),
            ("a batch of one sequence too", "one sequence"),
            ("with $\\varepsilon$ under the root", "large epsilon"),
        ),
        mutants=mutants.BATCH,
    ),
    Question(
        id="06.5",
        title="Norms and padding",
        stub=stubs.standardize_real,
        returns=("Y",),
        minutes=15,
        kind="design",
        section="6.6",
        part=2,
        printed=False,
        hints=(
            "For one of the two kinds padding cannot matter at all, except that it must come out as zeros. Which?",
            "For the other kind, divide sums over the real tokens by their number: put zeros in the place of the "
            "padding before every sum, and once more at the end. To multiply by 0 is not enough, since 0 · nan is nan.",
            "real = (np.arange(n) < lengths[:, None])[..., None]. For \"instance\": mean = np.where(real, X, "
            "0).sum(axis=1, keepdims=True) / real.sum(axis=1, keepdims=True); the variance likewise, from the "
            "squares of X − mean.",
        ),
        cases=(
            Case("token", cases.padded("token", 5, 4, (5, 3)), "each token by itself", 1),
            Case("instance", cases.padded("instance", 5, 4, (5, 3)), "each feature, over real tokens", 2),
            Case("loud padding", cases.loud_padding("instance"), "padding a million times as large",
                 guards="instance", open=True),
            Case("loud padding, token", cases.loud_padding("token"), "the same for tokens", guards="token", open=True),
            Case("nan in the memory", cases.broken_padding, "padding that is nan and inf", guards="instance",
           open=True),
            Case("one real token", cases.padded("instance", 3, 5, (3, 1, 2, 3)), "a sequence of length one",
                 guards="instance", open=True),
            Case("short", cases.padded("instance", 6, 3, (2, 6, 4)), "two real tokens of six", guards="instance"),
        ),
        clauses=(
            ("kind is \"token\"", "token"),
            ("\"instance\"", "instance"),
            ("filled with whatever was in the memory", "loud padding"),
            ("filled with whatever was in the memory", "nan in the memory"),
            ("the padding has no influence whatever", "loud padding"),
            ("let it come out as zeros", "loud padding, token"),
            ("lengths (B,), one or more each", "one real token"),
        ),
        mutants=mutants.PADDING,
    ),
    Question(
        id="06.6",
        title="Two norms in a row, with pencil and paper",
        stub=stubs.two_norms,
        returns=("ones", "along", "others"),
        minutes=15,
        kind="predict",
        section="6.4",
        part=2,
        printed=False,
        hints=(
            "One norm does three things: the direction of ones it forgets, x̂ it forgets but for ε, and all others it "
            "divides by s. The Jacobian of two norms is a product of two such matrices.",
            "x̂ points the same way after the first norm as after the second, so the three directions are the same for "
            "both, and the values multiply. But the second norm meets another variance. Which?",
            "The variance of x̂ is w = v/(v + ε). With s = √(v + ε) and z = √(w + ε) the values are 0, "
            "(ε/s³)(ε/z³) and 1/(s z).",
        ),
        cases=(
            Case("without epsilon", cases.twice(0.0), "ε = 0", 1),
            Case("with epsilon", cases.twice(0.3), "ε = 0.3", 2),
            Case("small epsilon", cases.twice(0.01), "ε = 0.01", guards="with epsilon"),
        ),
        clauses=(
            ("What does the second norm do when $\\varepsilon = 0$?", "without epsilon"),
            ("Do not take $\\hat x^\\top \\hat x = d$ for granted", "with epsilon"),
        ),
        mutants=mutants.TWICE,
    ),
    Question(
        id="06.7",
        title="Where LayerNorm and BatchNorm agree",
        stub=stubs.where_norms_agree,
        returns=("X",),
        minutes=10,
        kind="counterexample",
        section="6.2",
        part=1,
        printed=False,
        hints=(
            "Entry (i, j) is centred and divided by the statistics of row i in one norm, and of column j in the other. "
            "What would make the two the same?",
            "All rows and all columns need one mean and one variance. Take one row, and make every other row of the "
            "same numbers in another order, so that every column has them too.",
            "Shift the first row by one place for each new row; np.roll does it. The plainest first row is a one and "
            "zeros.",
        ),
        cases=(
            Case("two", lambda rng: {"n": 2}, "two tokens of two features", 1, atol=1e-9),
            Case("five", lambda rng: {"n": 5}, "five of five", 1, atol=1e-9),
            Case("seven", lambda rng: {"n": 7}, "seven of seven", guards="five", atol=1e-9),
        ),
        clauses=(
            ("No row and no column of X is constant", "two"),
            ("No token and no feature may be constant", "two"),
            ("exactly what LayerNorm gives", "five"),
            ("for every $n \\ge 2$, odd ones too", "five"),
        ),
        mutants=mutants.AGREE,
        measure=cases.difference_of_norms,
        measures=("difference",),
    ),
    Question(
        id="06.8",
        title="A LayerNorm that folds away",
        stub=stubs.fold,
        returns=("A2", "c2", "W2", "b2"),
        minutes=20,
        kind="design",
        section="6.7",
        part=3,
        printed=False,
        hints=(
            "LayerNorm is three steps: take the mean away, divide, and gain with shift. The first and the last are "
            "linear, and there is a linear map on either side of the norm.",
            "Gain and shift go into the map behind: feature i of x̂ is multiplied by gamma_i and then meets row i of "
            "W. "
            "The mean goes into the map before: if H A + c has mean zero for every H, then r = s.",
            "W2 = gamma[:, None] * W and b2 = beta @ W + b. For the other two: which numbers must have mean zero, so "
            "that H A2 + c2 has? Every row of A2, and c2.",
        ),
        cases=(
            Case("the map after", cases.network(5, 2, 4, 3, before=False), "rows of A and c have mean zero", 1),
            Case("the map before", cases.network(5, 2, 4, 3, after=False), "gamma is one, beta zero", 1),
            Case("both", cases.network(6, 3, 5, 2), "everything at once", 2, ("the map after", "the map before")),
            Case("other sizes", cases.network(4, 5, 3, 6), "a wider input", guards="both"),
        ),
        clauses=(
            ("with neither gain nor shift", "the map after"),
            ("takes no mean away", "the map before"),
            ("with the same output for every H", "both"),
        ),
        mutants=mutants.FOLDS,
        drive=cases.call_fold,
        measure=cases.folded_output,
        measures=("Y",),
    ),
    Question(
        id="06.9",
        title="Queries and keys with their own norms, backward",
        stub=stubs.normed_score_gradients,
        returns=("dQ", "dK", "dgamma_q", "dgamma_k"),
        minutes=20,
        kind="derive",
        section="6.7",
        part=4,
        printed=False,
        hints=(
            "Go backwards in three steps: from S to A and C, as through any product; from A to the gain and to Q̂; and "
            "from Q̂ to Q.",
            "A receives dS C/√d, and C receives dSᵀ A/√d. A gain collects what its side received, times Q̂ or K̂, over "
            "all tokens. What goes on to Q̂ is multiplied by gamma_q first; then its part along q̂ is taken away, with "
            "a mean, and the rest is divided by r.",
            "With dA = dS @ C / √d: dgamma_q = (dA * Q̂).reshape(-1, d).sum(axis=0), and g = gamma_q * dA goes through "
            "the rule of 06.3. The keys do the same with dC = dS.mT @ A / √d.",
        ),
        cases=(
            Case("gains", cases.normed(n=3, m=4, d=5), "both gains", 1, look=("dgamma_q", "dgamma_k")),
            Case("queries", cases.normed(n=3, m=4, d=5), "dQ", 1, look=("dQ",)),
            Case("keys", cases.normed(n=3, m=4, d=5), "dK", 1, look=("dK",)),
            Case("batch", cases.normed(2, n=3, m=4, d=5), "two sequences", 1, ("gains", "queries", "keys")),
            Case("batch and heads", cases.normed(2, 6, n=3, m=4, d=5), "lead (2, 6)", guards="batch", open=True),
            Case("other sizes", cases.normed(3, n=5, m=2, d=4), "three sequences", guards="batch"),
        ),
        clauses=(
            ("two gains, which serve all tokens of all sequences and heads", "batch"),
            ("Returns dQ, dK", "queries"),
            ("dQ, dK, dgamma_q, dgamma_k", "keys"),
            ("dgamma_q, dgamma_k", "gains"),
            ("dS (*B, n, m)", "batch and heads"),
        ),
        mutants=mutants.NORMED,
    ),
    Question(
        id="06.10",
        title="A norm for few bits",
        stub=stubs.make_layer_norm,
        returns=("start", "Y", "dX", "dweight", "dbias", "Y16", "same_dtype"),
        minutes=20,
        kind="build",
        section="6.9",
        part=4,
        printed=False,
        torch=True,
        forbid=(*TORCH_ONLY, "layer_norm", "LayerNorm", "native_layer_norm", "rms_norm", "RMSNorm", "group_norm",
                "GroupNorm", "instance_norm", "batch_norm", "BatchNorm1d", "InstanceNorm1d"),
        hints=(
            "A class inside the function, with a constructor and a forward; autograd makes the gradient. What must be "
            "told to torch is which tensors are learned, and which dtype the means are reckoned in.",
            "Remember the dtype of X, go up to float32 if it is a short one, do everything there, gain and shift too, "
            "and come back last of all.",
            "self.weight = torch.nn.Parameter(torch.ones(d)); in forward: x = X.float() if X.dtype is a short one, "
            "else "
            "X; mean and mean of squares over dim=-1 with keepdim=True; at the end .to(X.dtype).",
        ),
        cases=(
            Case("forward", cases.module_inputs(3, 5), "start and output, float64", 1, look=("start", "Y")),
            Case("gradients", cases.module_inputs(3, 5), "backward, float64", 1, ("forward",),
                 ("dX", "dweight", "dbias")),
            Case("in bfloat16", cases.module_inputs(4, 6, level=60.0), "at a level of sixty, to 1 %", 2, ("forward",),
                 ("Y16", "same_dtype"), rtol=1e-2),
            Case("one token", cases.module_inputs(4), "no axis in front", guards="forward", open=True,
                 look=("start", "Y")),
            Case("batch and heads", cases.module_inputs(2, 3, 4, 6), "three leading axes", guards="forward", open=True,
                 look=("start", "Y", "dX", "dweight", "dbias")),
            Case("other sizes", cases.module_inputs(2, 7), "two tokens of seven features", guards="forward",
                 look=("start", "Y")),
        ),
        clauses=(
            ("that begin as ones and zeros", "forward"),
            ("autograd has to find its way", "gradients"),
            ("A module must own its parameters", "gradients"),
            ("must not do its sums in bfloat16, nor hand float32", "in bfloat16"),
            ("You may define a class", STORY),
            ("bfloat16 is reckoned in float32", "in bfloat16"),
            ("the shape and the dtype of X", "in bfloat16"),
            ("float64 in float64", "forward"),
            ("X (*B, d)", "batch and heads"),
            ("a single token has no axis in front", "one token"),
            ("torch's own norms are not allowed", FORBIDDEN),
        ),
        mutants=mutants.MODULES,
        drive=cases.use_module,
    ),
    Question(
        id="06.11",
        title="How large does a weight grow?",
        stub=stubs.weight_at_rest,
        returns=("length", "share"),
        minutes=15,
        kind="predict",
        section="6.4",
        part=2,
        printed=False,
        hints=(
            "Decay makes W shorter, and the gradient, which is orthogonal to W, makes it longer. How long is W after "
            "one step, in terms of its length before?",
            "With w = ‖W‖, (6.17) gives the gradient the length c/w, and Pythagoras gives w² after the step as "
            "(1 − ηλ)² w² + η² c²/w². At rest the two are equal.",
            "Solve for w⁴: it is η² c² / (1 − (1 − ηλ)²). The step is η c/w long, so its share of W is η c/w². Put w "
            "in, "
            "and see what becomes of c.",
        ),
        cases=(
            Case("small steps", cases.descent(0.1, 0.05), "eta decay of about 0.005", 1),
            Case("large steps", cases.descent(0.6, 0.8), "eta decay of nearly a half", 2),
            Case("other numbers", cases.descent(0.3, 0.4), "something between", guards="large steps"),
        ),
        clauses=(
            ("the length of W at rest", "small steps"),
            ("The steps need not be small", "large steps"),
            ("there the length of eta dW as a share", "small steps"),
        ),
        mutants=mutants.REST,
    ),
    Question(
        id="06.12",
        title="One variance from many parts",
        stub=stubs.merge_statistics,
        returns=("mean", "variance"),
        minutes=15,
        kind="repair",
        section="6.6",
        part=3,
        printed=False,
        hints=(
            "Think of two parts in which every row is the same, but another one in each. What does the function say, "
            "and "
            "what is the variance of all rows?",
            "The variance of all is the mean of the variances within the parts, plus the variance of the parts' means; "
            "both weighted by the share of rows that a part has.",
            "share = counts / counts.sum(); mean = share @ means; the variance is share @ variances, plus the same "
            "weighted sum of the squared differences from mean.",
        ),
        cases=(
            Case("equal parts", cases.parts((4, 4, 4), 5), "three parts of four rows", 1),
            Case("unequal parts", cases.parts((2, 7, 3, 4), 5), "four parts, 2 to 7 rows", 2),
            Case("high level", cases.parts((3, 8), 4, level=1e6), "means of about a million", guards="unequal parts",
                 open=True, rtol=1e-8),
            Case("one part", cases.parts((6,), 3), "a single part", guards="equal parts", open=True),
            Case("other parts", cases.parts((5, 2, 9), 4), "three others", guards="unequal parts"),
        ),
        clauses=(
            ("of all rows together", "equal parts"),
            ("the parts may have different numbers of rows", "unequal parts"),
            ("a level of a million", "high level"),
            ("A single part comes back as it is", "one part"),
        ),
        mutants=mutants.MERGE,
    ),
)
