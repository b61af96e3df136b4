"""The questions of chapter 11."""

from ...model import Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="11.1",
        title="The loss of a batch, forward and backward",
        stub=stubs.smoothed_loss,
        returns=("L", "dlogits"),
        minutes=25,
        hints=(
            "Two things to build: the shares s (zero where targets is −1, weights elsewhere, over their sum) and the "
            "targets Q. Then L = −Σ s Σ q log p and dlogits = s ∘ (P − Q).",
            "log P = z − log Σ exp z with z = logits − their row maximum. Replace −1 by 0 before you index, since the "
            "share makes that row count for nothing.",
        ),
        cases=(
            Case("loss", cases.tokens(5, 7), "five tokens, seven words", 1, look=("L",)),
            Case("gradient", cases.tokens(5, 7), "five tokens, seven words", 1, look=("dlogits",)),
            Case("smoothing", cases.tokens(5, 7, 0.2), "eps = 0.2", 1, ("loss",)),
            Case("padding", cases.tokens(6, 7, 0.0, 2), "two tokens are ignored", 1, ("loss",)),
            Case("weights", cases.tokens(5, 7, 0.0, 0, True), "every token has a weight", 1, ("loss",)),
            Case("large logits", cases.tokens(4, 7, 0.0, 0, False, 800.0), "logits of some hundreds", 1, ("loss",)),
            Case("more padding", cases.tokens(9, 7, 0.1, 4, True), "all of it together", guards="padding", open=True),
            Case("other sizes", cases.tokens(8, 6, 0.15, 3, True), "other sizes", guards="padding"),
        ),
        mutants=mutants.LOSSES,
    ),
    Question(
        id="11.2",
        title="Where smoothing wants to go, with pencil and paper",
        stub=stubs.best_margin,
        returns=("margin", "loss"),
        minutes=15,
        hints=(
            "The gradient of a row is p − q, so the best p is q. Which margin gives p_y / p_w = q_y / q_w?",
            "margin = ln(q_y / q_w). The loss at p = q is −Σ q ln q: one term for the right word, V − 1 equal ones.",
        ),
        cases=(
            Case("to all", cases.ten_words(True), "V = 10, eps = 0.1, every word has eps/10", 1),
            Case("to the others", cases.ten_words(False), "V = 10, eps = 0.1, the other nine share eps", 1),
            Case("another share", cases.smoothing(50, False), "fifty words, another eps", 1),
            Case("other sizes", cases.smoothing(7, True), "seven words, another eps", 1),
            Case("two thousand words", cases.smoothing(2000, True), "a larger vocabulary", guards="other sizes"),
        ),
        mutants=mutants.MARGINS,
    ),
    Question(
        id="11.3",
        title="AdamW, a hundred steps",
        stub=stubs.adamw_run,
        returns=("theta", "m", "v"),
        minutes=25,
        hints=(
            "Start m and v at zero, count t from 1. The order within a step: averages, corrections, then one update "
            "from the theta before the step.",
            "theta = theta − lr · (m̂ / (√v̂ + eps) + decay · theta), m̂ = m / (1 − beta1^t), v̂ = v / (1 − beta2^t). "
            "Return the plain m and v.",
        ),
        cases=(
            Case("one step", cases.walk(1, 4), "one step, no decay", 1, look=("theta",)),
            Case("ten steps", cases.walk(10, 4), "ten steps, no decay", 2, ("one step",)),
            Case("a hundred steps", cases.walk(100, 3), "a hundred steps, no decay", 1, ("ten steps",)),
            Case("small gradients", cases.walk(20, 4, 0.0, 1e-6), "of size 1e-6", 1, ("one step",), ("theta",)),
            Case("with decay", cases.walk(30, 4, 0.3), "decay = 0.3", 1, ("one step",), ("theta",)),
            Case("gaps", cases.walk(40, 4, 0.1, 1.0, True), "an entry without gradient at first",
                 guards="ten steps", open=True),
            Case("other gaps", cases.walk(35, 5, 0.2, 1.0, True), "other sizes", guards="ten steps"),
        ),
        mutants=mutants.RUNS,
    ),
    Question(
        id="11.4",
        title="Seven records",
        stub=stubs.name_the_fault,
        returns=("names",),
        minutes=40,
        hints=(
            "Write an AdamW with a switch for each fault, run all seven on the gradients from thetas[0], and return "
            "the name whose path is nearest.",
            "A t that counts leaves is 1, 2, 3 in the first step for the three leaves, then 4, 5, 6. A schedule that "
            "does so reaches its peak three times too early; bias correction is then still right.",
        ),
        cases=(
            Case("seven records", cases.records(20, cases.NAMES), "one of each", 6),
            Case("other gradients", cases.records(12, cases.NAMES), "one of each, twelve steps", 2),
            Case("longer", cases.records(40, cases.NAMES), "forty steps", guards="seven records"),
        ),
        mutants=mutants.DETECTIVES,
        drive=cases.call_name,
        labels=cases.NAMES,
    ),
    Question(
        id="11.5",
        title="Adam without its corrections, with pencil and paper",
        stub=stubs.without_correction,
        returns=("m", "v", "ratio"),
        minutes=12,
        hints=(
            "Unroll m_t = (1 − beta1) Σ beta1^(t−i) g_i with all g_i = g, and sum the geometric series.",
            "m_t = (1 − beta1^t) g and v_t = (1 − beta2^t) g². The corrected step is one learning rate, the other "
            "m_t / √v_t of them.",
        ),
        cases=(
            Case("first step", cases.betas(1, True), "t = 1, beta1 = 0.9, beta2 = 0.999", 1),
            Case("ten steps", cases.betas(10, True), "t = 10", 1, ("first step",)),
            Case("a hundred", cases.betas(100), "t = 100, other betas", 1, ("first step",)),
            Case("a few", cases.betas(7), "t = 7, other betas", guards="a hundred"),
        ),
        mutants=mutants.BIASES,
    ),
    Question(
        id="11.6",
        title="Micro-batches",
        stub=stubs.accumulate,
        returns=("loss", "gradient", "norm"),
        minutes=15,
        hints=(
            "Each part is a mean over its own tokens: how much does a token of part i count in the mean over all?",
            "share = tokens / tokens.sum(), the same for losses and gradients; then one norm, and one factor "
            "min(1, limit / norm).",
        ),
        cases=(
            Case("equal parts", cases.parts((4, 4, 4), 5, False), "three parts of four tokens, nothing to clip", 1),
            Case("unequal parts", cases.parts((2, 9, 5), 5, False), "two, nine and five tokens", 2, ("equal parts",)),
            Case("clipped", cases.parts((2, 9, 5), 5, True), "a gradient three times too long", 1, ("equal parts",)),
            Case("many parts", cases.parts((1, 3, 8, 2, 30), 8, True), "five parts, clipped", guards="clipped"),
        ),
        mutants=mutants.PARTS,
    ),
    Question(
        id="11.7",
        title="The rate of a step",
        stub=stubs.rate,
        returns=("rate",),
        minutes=12,
        hints=(
            "Two arms: step ≤ warmup, and after it. In the second, how much of the way from warmup to total is done?",
            "x = min(1, (step − warmup) / (total − warmup)), and floor + (peak − floor) (1 + cos πx) / 2.",
        ),
        cases=(
            Case("first step", cases.at(1), "step 1 of a warm-up over 20", 1),
            Case("warming up", cases.at(13), "step 13", 1),
            Case("the peak", cases.at(20), "step 20", 1, ("warming up",)),
            Case("half way", cases.at(60), "step 60, half way down", 1, ("warming up",)),
            Case("at the end", cases.at(100), "step 100, the last", 1, ("warming up",)),
            Case("after the end", cases.at(130), "step 130", 1, ("warming up",)),
            Case("later on the way", cases.at(85), "step 85", 1, ("warming up",)),
            Case("elsewhere", cases.at(333, 100, 1000), "another schedule", guards="later on the way"),
        ),
        mutants=mutants.RATES,
    ),
)
