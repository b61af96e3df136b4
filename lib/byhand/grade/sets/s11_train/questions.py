"""The questions of chapter 11."""

from ...model import TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="11.1",
        title="The loss of a batch, forward and backward",
        stub=stubs.smoothed_loss,
        returns=("L", "dlogits"),
        minutes=25,
        kind="build",
        section="11.2",
        part=1,
        hints=(
            "Two things to build, and everything else follows: the shares of the tokens, and their targets.",
            "The share of a token is 0 where its target is −1, else its weight over the sum of the weights that count. "
            "Then L = −Σ s Σ q log p and dlogits = s ∘ (P − Q). Join the logarithm with the softmax: "
            "log p = z − log Σ exp z, with the row maximum taken off first.",
            "Z = logits − their row maximum; logP = Z − np.log(np.exp(Z).sum(axis=1, keepdims=True)). Replace −1 by 0 "
            "before you index, since the share makes that row count for nothing. Q starts as eps/V everywhere.",
        ),
        cases=(
            Case("loss", cases.tokens(5, 7), "five tokens, seven words", 1, look=("L",)),
            Case("gradient", cases.tokens(5, 7), "five tokens, seven words", 1, look=("dlogits",)),
            Case("smoothing", cases.tokens(5, 7, 0.2), "eps = 0.2", 1, ("loss",)),
            Case("padding", cases.tokens(6, 7, 0.0, 2), "two tokens are ignored", 1, ("loss",)),
            Case("large logits", cases.tokens(4, 7, 0.0, 0, False, 800.0), "logits of some thousands", 1, ("loss",)),
            Case("weights", cases.tokens(5, 7, 0.0, 0, True), "every token has a weight", guards="padding", open=True),
            Case("broken rows", cases.broken_rows, "ignored tokens with nan and inf", guards="padding", open=True),
            Case("more padding", cases.tokens(9, 7, 0.1, 4, True), "all of it together", guards="padding", open=True),
            Case("other sizes", cases.tokens(8, 6, 0.15, 3, True), "other sizes", guards="padding"),
        ),
        mutants=mutants.LOSSES,
        clauses=(
            ("the mean over its tokens of a cross-entropy", "loss"),
            ("its gradient with respect to the logits", "gradient"),
            ("for every word, and $1 - \\varepsilon$ more for the word that came", "smoothing"),
            ("A target of $-1$ means that the token is ignored", "padding"),
            ("whatever its logits are", "more padding"),
            ("whatever its logits are", "broken rows"),
            ("Logits may be as large as a few thousand.", "large logits"),
            ("its weight over the sum of the weights of all tokens that count", "weights"),
        ),
    ),
    Question(
        id="11.2",
        title="Where smoothing wants to go, with pencil and paper",
        stub=stubs.best_leads,
        returns=("leads", "loss"),
        minutes=12,
        kind="derive",
        section="11.2",
        part=1,
        printed=False,
        hints=(
            "At which p is the gradient of a row zero?",
            "The gradient of a row is p − q, so the best p is q, and z_y − z_w = ln(q_y / q_w). What is left then is "
            "the entropy of q.",
            "q is eps · u, and 1 − eps more at place y. The leads are np.log(q[y] / q), 0 at y itself; the loss is "
            "minus the sum of q ln q.",
        ),
        cases=(
            Case("leads", cases.frequencies(6), "six words", 1, look=("leads",)),
            Case("least loss", cases.frequencies(6), "six words", 1, look=("loss",)),
            Case("many words", cases.frequencies(40, 0), "forty words, the first is right", guards="leads", open=True),
            Case("other words", cases.frequencies(11), "eleven words", guards="leads"),
        ),
        mutants=mutants.MARGINS,
        clauses=(
            ("Returns the leads z_y − z_w of the right word over every word w", "leads"),
            ("and the least loss", "least loss"),
            ("The word that is right may be a frequent or a rare one", "many words"),
        ),
    ),
    Question(
        id="11.3",
        title="AdamW, a hundred steps",
        stub=stubs.adamw_run,
        returns=("theta", "m", "v"),
        minutes=25,
        kind="build",
        section="11.5",
        part=2,
        hints=(
            "Start both averages at zero, and count steps from 1. What does a step read, the old θ or the new one?",
            "Within a step: both averages, then both corrections, then one update from the θ before the step, with the "
            "decay beside the quotient and the rate before the whole bracket.",
            "theta = theta − lr · (m̂ / (√v̂ + eps) + decay · theta), m̂ = m / (1 − beta1^t), v̂ = v / (1 − beta2^t). "
            "Return the plain m and v.",
        ),
        cases=(
            Case("one step", cases.walk(1, 4), "one step, no decay", 1, look=("theta",)),
            Case("ten steps", cases.walk(10, 4), "ten steps, no decay", 1),
            Case("a hundred steps", cases.walk(100, 3), "a hundred steps, no decay", 1, ("ten steps",)),
            Case("small gradients", cases.walk(20, 4, 0.0, 1e-6), "of size 1e-6", 1, ("one step",), ("theta",)),
            Case("with decay", cases.walk(30, 4, 0.3), "decay = 0.3", 1, ("one step",), ("theta",)),
            Case("gaps", cases.walk(40, 4, 0.1, 1.0, True), "an entry without gradient at first",
                 guards="ten steps", open=True),
            Case("other gaps", cases.walk(35, 5, 0.2, 1.0, True), "other sizes", guards="ten steps"),
        ),
        mutants=mutants.RUNS,
        clauses=(
            ("one row a step", "one step"),
            ("Return the parameters after the last step, and the two averages as they are, without hats.", "ten steps"),
            ("over T steps", "a hundred steps"),
            ("One of the cases has gradients of size $10^{-6}$", "small gradients"),
            ("\\lambda \\theta_{t-1}", "with decay"),
            ("An entry may have no gradient at all for many steps, and must then not become nan.", "gaps"),
        ),
    ),
    Question(
        id="11.4",
        title="Seven records",
        stub=stubs.name_the_fault,
        returns=("names",),
        minutes=40,
        kind="detect",
        section="11.6",
        part=3,
        printed=False,
        hints=(
            "You can make each of the seven records yourself. Which one is like the record that you were given?",
            "Write an AdamW with a switch for each fault, and run all seven on the gradients, from the first row of "
            "the record. The name is that of the path that comes nearest.",
            "A t that counts leaves is 1, 2, 3 in the first step for the three leaves, then 4, 5, 6: "
            "k * (t − 1) + 1 + np.arange(k). A schedule that does so reaches its peak three times too early; its bias "
            "correction is right. Compare whole paths, by the largest gap.",
        ),
        cases=(
            Case("seven records", cases.records(20, cases.NAMES), "one of each", 6),
            Case("other gradients", cases.records(12, cases.NAMES), "one of each, twelve steps", 2),
            Case("longer", cases.records(40, cases.NAMES), "forty steps", guards="seven records"),
        ),
        mutants=mutants.DETECTIVES,
        clauses=(
            ("One of the seven names", "seven records"),
            ("for other gradients and longer records", "other gradients"),
        ),
        drive=cases.call_name,
        labels=cases.NAMES,
    ),
    Question(
        id="11.5",
        title="Half a correction, with pencil and paper",
        stub=stubs.without_correction,
        returns=("neither", "without_v", "without_m"),
        minutes=12,
        kind="derive",
        section="11.4",
        part=2,
        printed=False,
        hints=(
            "Where do m and v stand in a step, and what does a constant gradient make of each after t steps?",
            "Unroll m_t = (1 − β₁) Σ β₁^(t−i) g with all gradients alike, and sum the geometric series; v in the same "
            "way. The corrected step is one learning rate.",
            "m_t / g = 1 − beta1^t and v_t / g² = 1 − beta2^t. What is left out of m stays above, what is left out of "
            "v stays below, and under a root.",
        ),
        cases=(
            Case("first step", cases.betas(1, True), "t = 1, beta1 = 0.9, beta2 = 0.999", 1),
            Case("ten steps", cases.betas(10, True), "t = 10", 1, ("first step",)),
            Case("a hundred", cases.betas(100), "t = 100, other betas", guards="ten steps", open=True),
            Case("a few", cases.betas(7), "t = 7, other betas", guards="ten steps"),
            Case("another first step", cases.betas(1), "other betas", guards="first step"),
        ),
        mutants=mutants.BIASES,
        clauses=(
            ("without both corrections, without that of v alone, without that of m alone", "first step"),
            ("Let every gradient be the same number $g$", "ten steps"),
            ("for any $t$", "a hundred"),
        ),
    ),
    Question(
        id="11.6",
        title="The perplexity of the whole",
        stub=stubs.merged,
        returns=("perplexity", "bits"),
        minutes=10,
        kind="build",
        section="11.1",
        part=1,
        printed=False,
        hints=(
            "Which of these add up over batches: perplexities, mean losses, sums of losses?",
            "A perplexity is the exponential of a mean loss. Go back to the sums: the nats of a batch are its tokens "
            "times the logarithm of its perplexity.",
            "nats = tokens · ln(perplexities), summed. The perplexity of the whole is exp(nats / all tokens), its bits "
            "a character are nats / ln 2 / all characters.",
        ),
        cases=(
            Case("perplexity", cases.scores(40, 300), "two batches", 1, look=("perplexity",)),
            Case("bits a character", cases.scores(40, 300), "two batches", 1, look=("bits",)),
            Case("three batches", cases.scores(7, 90, 1200), "three batches", guards="perplexity", open=True),
            Case("more batches", cases.scores(50, 9, 400, 77), "four batches", guards="perplexity"),
        ),
        mutants=mutants.MERGERS,
        clauses=(
            ("Returns the perplexity of the whole", "perplexity"),
            ("and its bits a character", "bits a character"),
            ("One score from those of k batches", "three batches"),
        ),
    ),
    Question(
        id="11.7",
        title="A schedule of a given length",
        stub=stubs.trapezoid_rate,
        returns=("rate",),
        minutes=15,
        kind="design",
        section="11.7",
        part=2,
        printed=False,
        hints=(
            "Draw the rates as columns. Which figure do they make, and what is its area?",
            "The steps of the warm-up have half of the peak on average, those of the way down as well. Call the last "
            "step at the peak s, add up all rates, and solve for s. Mind the columns at the two corners.",
            "The sum is peak · (total + s − warmup) / 2, so s = 2 · distance / peak − total + warmup. After it "
            "the rate is peak · (total − step) / (total − s).",
        ),
        cases=(
            Case("warming up", cases.at(13), "step 13 of a warm-up over 20", 1),
            Case("on the plateau", cases.at(55), "step 55", guards="warming up", open=True),
            Case("going down", cases.at(82), "step 82", 1),
            Case("the last", cases.at(100), "step 100 of 100", guards="going down", open=True),
            Case("the sum", cases.at(0, 15, 90, 40), "the rates of all steps, added", 1),
            Case("elsewhere", cases.at(333, 100, 400, 250), "another schedule", guards="going down"),
        ),
        mutants=mutants.RATES,
        drive=cases.all_rates,
        clauses=(
            ("a line up to peak at step warmup", "warming up"),
            ("then peak", "on the plateau"),
            ("then a line down to 0", "going down"),
            ("0 at step total", "the last"),
            ("where the rates of all steps add up to distance", "the sum"),
        ),
    ),
    Question(
        id="11.8",
        title="The loss before the first step",
        stub=stubs.starting_loss,
        returns=("deviation", "loss", "largest"),
        minutes=12,
        kind="predict",
        section="11.1",
        part=1,
        printed=False,
        hints=(
            "A model that knows nothing should lose ln V. What makes it lose more?",
            "A logit is a sum of d products, so its variance is d σ² for a token of length √d. The loss is "
            "ln Σ exp z − z_y; for many words the sum is V times the mean of exp z, and z_y is 0 on average.",
            "For a normal z of deviation s the mean of exp z is exp(s²/2). So the loss is ln V + s²/2 with s = σ √d. "
            "Set s²/2 equal to `most` and solve for sigma.",
        ),
        cases=(
            Case("deviation", cases.beginnings(5000, 64, 0.02, 0.2), "d = 64", 1, look=("deviation",)),
            Case("loss", cases.beginnings(5000, 64, 0.02, 0.2), "V = 5000", 1, look=("loss",)),
            Case("largest sigma", cases.beginnings(5000, 64, 0.02, 0.2), "d = 64", guards="loss", open=True,
                 look=("largest",)),
            Case("another width", cases.beginnings(300, 500, 0.01, 0.06), "d = 500, V = 300", guards="loss", open=True),
            Case("other sizes", cases.beginnings(1000, 128, 0.02, 0.1), "other sizes", guards="loss"),
        ),
        mutants=mutants.STARTS,
        clauses=(
            ("Returns the deviation of a logit", "deviation"),
            ("the loss to expect for large V", "loss"),
            ("the largest sigma for which that is at most ln V + most", "largest sigma"),
            ("a matrix (d, V)", "another width"),
        ),
    ),
    Question(
        id="11.9",
        title="A training step that trains anyway",
        stub=stubs.training_step,
        returns=("W", "b", "loss", "norm"),
        minutes=20,
        kind="repair",
        section="11.8",
        part=4,
        printed=False,
        hints=(
            "Go through the step in the order of the chapter: the mean, the norm, the clipping, the decay. What does "
            "each of them see?",
            "Four faults. The mean divides by all places. The decay draws the bias to zero. The norm is measured on "
            "one array, where it belongs to both. And what is clipped is no longer used when it is clipped.",
            "count = (y >= 0).sum(); the rows of padding are 0 in dZ, and dZ / count is the gradient. One norm of dW "
            "and db together, one factor min(1, limit / norm) for both, before the step. Only W has lr · decay · W.",
        ),
        cases=(
            Case("padding", cases.one_step(7, 3, 5, 3, 2.0), "three places of padding, nothing to clip", 2),
            Case("clipped", cases.one_step(6, 4, 5, 2, 0.4), "a gradient that is too long", 2),
            Case("no padding", cases.one_step(5, 3, 4, 0, 3.0), "five tokens that count", guards="padding", open=True),
            Case("other sizes", cases.one_step(9, 2, 6, 4, 0.3), "other sizes, clipped", guards="clipped"),
        ),
        mutants=mutants.STEPS,
        clauses=(
            ("the mean over the tokens that count", "padding"),
            ("one norm over all of the gradient", "clipped"),
            ("no longer than `limit`", "clipped"),
            ("the decay of the matrix alone", "no padding"),
        ),
    ),
    Question(
        id="11.10",
        title="Clipped parts go uphill",
        stub=stubs.uphill,
        returns=("gradients",),
        minutes=12,
        kind="counterexample",
        section="11.8",
        part=4,
        printed=False,
        hints=(
            "Think of a vote. One part is loud, the others are not; clipping makes all equally loud.",
            "The mean of the gradients is to point one way, and the mean of the clipped ones the other way. Try two "
            "parts of opposite sign, and see why they are not enough.",
            "One large gradient against two smaller ones of the other sign, all longer than the limit: clipped, it is "
            "one against two. Unclipped, the large one must outweigh both.",
        ),
        cases=(
            Case("large limit", cases.limits(2e9, 5e9), "a limit of thousands of millions", 1),
            Case("small limit", cases.limits(0.1, 0.5), "a limit below 1", 1),
            Case("another limit", cases.limits(2.0, 9.0), "another limit", guards="large limit"),
        ),
        mutants=mutants.TURNS,
        measure=cases.turned,
        measures=("parts", "one_is_clipped", "parts_disagree", "turned"),
        clauses=(
            ("clipping each part at limit turns the step round", "large limit"),
            ("As few parts as possible.", "large limit"),
            ("for the limit that is given", "small limit"),
        ),
    ),
    Question(
        id="11.11",
        title="Micro-batches in PyTorch",
        stub=stubs.accumulate,
        returns=("loss", "dW", "db"),
        minutes=20,
        kind="build",
        section="11.11",
        part=5,
        printed=False,
        torch=True,
        hints=(
            "What is in the gradients when the function begins, and what does backward do with what it finds there?",
            "Clear the gradients once. A part's mean counts in the mean of all with its share of the tokens that "
            "count; or take sums, and divide by all of them. And what is the mean of a part that is padding only?",
            "total = number of y that are not −1, over all parts. For each part torch.nn.functional.cross_entropy with "
            "ignore_index=-1 and reduction=\"sum\", divided by total, and backward() on that: the gradients add up by "
            "themselves. A sum over nothing is 0. Return the sum of the losses, detached.",
        ),
        cases=(
            Case("equal parts", cases.torn((4, 4, 4), 3, 5), "three parts of four tokens", 1),
            Case("unequal parts", cases.torn((2, 9, 5), 3, 6), "two, nine and five tokens", 2),
            Case("a part of padding", cases.torn((3, 0, 6), 4, 5), "a part with padding only", 1),
            Case("one part of two", cases.torn((1, 7), 2, 4), "one token beside seven", guards="unequal parts",
                 open=True),
            Case("more parts", cases.torn((1, 3, 8), 4, 6), "three parts", guards="unequal parts"),
        ),
        mutants=mutants.PARTS,
        drive=cases.call_accumulate,
        forbid=TORCH_ONLY,
        clauses=(
            ("The gradients of the step before are still there", "equal parts"),
            ("as if all parts had come in one batch", "unequal parts"),
            ("A part may be padding only.", "a part of padding"),
            ("batches, a list of (X, y)", "one part of two"),
        ),
    ),
    Question(
        id="11.12",
        title="A loss that holds the logits, backward",
        stub=stubs.z_loss,
        returns=("loss", "dlogits"),
        minutes=15,
        kind="derive",
        section="11.2",
        part=3,
        printed=False,
        hints=(
            "Call the logarithm r. How does r change with one logit? You have met that derivative.",
            "The derivative of r = ln Σ exp z by z_v is p_v. So the square adds 2 c r p to p − one-hot, in each row. "
            "The whole is a mean over T tokens.",
            "r = top + np.log(np.exp(logits − top).sum(...)), with top, the row maximum, added again: in the square it "
            "counts. dlogits = ((1 + 2 c r) P − Y) / T, with Y one-hot.",
        ),
        cases=(
            Case("loss", cases.plain_tokens(4, 6), "four tokens, six words", 1, look=("loss",)),
            Case("gradient", cases.plain_tokens(4, 6), "four tokens, six words", 2, look=("dlogits",)),
            Case("large logits", cases.plain_tokens(3, 5, 900.0, 1500.0), "logits of some thousands", guards="gradient",
                 open=True),
            Case("other sizes", cases.plain_tokens(7, 4), "other sizes", guards="gradient"),
        ),
        mutants=mutants.ZS,
        clauses=(
            ("Returns the mean over the tokens", "loss"),
            ("and dlogits (T, V)", "gradient"),
            ("Logits may be as large as a few thousand", "large logits"),
        ),
    ),
    Question(
        id="11.13",
        title="An update that compiles whole",
        stub=stubs.whole_update,
        returns=("first", "second", "third", "norm", "graphs", "waits"),
        minutes=20,
        kind="repair",
        section="11.11",
        part=5,
        printed=False,
        torch=True,
        seconds=60.0,  # the first use loads the compiler, which takes some seconds
        hints=(
            "Read it line by line, and ask of each: does it need to know a number in order to go on, or could it go on "
            "with a tensor that has a shape and no number yet?",
            "Leave the norm a tensor, and do not keep it in a list outside. A clipped gradient is the gradient times "
            "the smaller of 1 and limit over norm, whichever that is. How many axes a tensor has is known before any "
            "number is, so an ordinary condition may ask for that.",
            "factor = torch.clamp(limit / norm, max=1.0), with the norm from one sum over all squares; it also serves "
            "where the norm is 0. A parameter p falls by lr * (factor * g), and by lr * decay * p if p.ndim > 1.",
        ),
        cases=(
            Case("clipped", cases.moved(((4, 3), (3,), (3, 5)), 0.4), "a gradient that is too long", 2,
                 look=cases.UPDATED),
            Case("one graph", cases.moved(((4, 3), (3,), (3, 5)), 0.7, compiled=True),
                 "compiled, and called three times", 2, ("clipped",), look=("graphs", "waits")),
            Case("not clipped", cases.moved(((5, 2), (2,), (2, 3)), 2.5), "a gradient that is short enough",
                 guards="clipped", open=True, look=cases.UPDATED),
            Case("vectors first", cases.moved(((4,), (4, 6), (6,)), 0.5, 0.3), "a vector, a matrix and a vector",
                 guards="clipped", open=True, look=cases.UPDATED),
            Case("no gradient", cases.moved(((4, 2), (2,), (2, 3)), 0.5, 0.2, 0.0), "every gradient is 0",
                 guards="clipped", open=True, look=cases.UPDATED),
            Case("other sizes", cases.moved(((6, 5), (5,), (5, 2)), 0.3, 0.2), "other sizes, clipped",
                 guards="clipped", look=cases.UPDATED),
        ),
        mutants=mutants.GRAPHS,
        drive=cases.compile_update,
        forbid=(*TORCH_ONLY, "clip_grad_norm_", "is_compiling", "disable", "graph_break"),
        clauses=(
            ("one norm over all of the gradient", "clipped"),
            ("one graph, and no tensor in it that is turned into a number", "one graph"),
            ("no longer than `limit`", "not clipped"),
            ("a decay of the matrices alone", "vectors first"),
            ("Every gradient may be 0.", "no gradient"),
        ),
    ),
)
