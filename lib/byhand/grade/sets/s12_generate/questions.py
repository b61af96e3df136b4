"""The questions of chapter 12."""

from ...model import TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="12.1",
        title="Whichever way it is cut",
        stub=stubs.spelled,
        returns=("likeliest", "text"),
        minutes=15,
        kind="derive",
        section="12.1",
        part=1,
        printed=False,
        late="are all cuts listed? A text of n letters has 2^(n − 1) of them: go from letter to letter once.",
        hints=(
            "How can a text end? With one of the pieces; and what stands before that piece is a shorter text, which "
            "has the same question.",
            "Let a(e) be the probability of the first e letters, a(0) = 1. Sum over the pieces that end there: "
            "a(e) = Σ p · a(e − its letters). For the likeliest cut take the maximum in the place of the sum. A long "
            "text needs logarithms.",
            "for end in range(1, len(text) + 1): collect log2(p) + a[end − len(piece)] for each piece with which "
            "text[:end] ends; np.logaddexp2.reduce sums what logarithms stand for. Divide −a by len(text).",
        ),
        cases=(
            Case("likeliest cut", cases.spelling(cases.WORD), "a word", 1, look=("likeliest",)),
            Case("every cut", cases.spelling(cases.WORD), "a word", 1, look=("text",)),
            Case("sentence", cases.spelling(cases.SENTENCE), "a sentence", 1),
            Case("long text", cases.spelling(" ".join([cases.SENTENCE] * 40)), "fifteen hundred letters",
                 guards="sentence", open=True),
            Case("other numbers", cases.spelling(cases.SENTENCE), "other probabilities", guards="sentence"),
        ),
        mutants=mutants.SPELLING,
        clauses=(
            ("of the likeliest way to cut the text", "likeliest cut"),
            ("whichever way it is cut", "every cut"),
            ("in bits a character", "sentence"),
            ("A text may have thousands of letters.", "long text"),
        ),
    ),
    Question(
        id="12.2",
        title="A discount",
        stub=stubs.discounted,
        returns=("p",),
        minutes=20,
        kind="build",
        section="12.1",
        part=1,
        printed=False,
        hints=(
            "How much has been given up in all, when every word that ever came after the history gives up d?",
            "As many times d as there are different words after the history, u(h), over all that came, c(h). That "
            "share times the shorter history's probabilities is added to every word. Count only places that have a "
            "word after them.",
            "Recursion: the shorter history is history[1:]; below the empty one everything is 1/V. With counts c "
            "(V,): (np.maximum(c − d, 0) + d * (c > 0).sum() * shorter) / c.sum(), and shorter alone if c is 0 all "
            "over.",
        ),
        cases=(
            Case("no history", cases.counted(40, 7, 0), "the words alone", 1),
            Case("one word", cases.counted(90, 12, 1), "one word before", 1),
            Case("three words", cases.counted(150, 5, 3), "three words before", 2),
            Case("never seen", cases.counted(80, 6, 2, new=True), "the older word never came", guards="three words",
                 open=True),
            Case("the end", cases.counted(70, 5, 2, ends=True), "the words with which the text ends",
                 guards="three words", open=True),
            Case("other text", cases.counted(120, 8, 2), "another text", guards="three words"),
        ),
        mutants=mutants.DISCOUNTS,
        clauses=(
            ("or none at all", "no history"),
            ("so that they sum to one", "one word"),
            ("of any length", "three words"),
            ("A history that never came hands the question on to the shorter one.", "never seen"),
            ("Mind its end, where nothing comes after it", "the end"),
        ),
    ),
    Question(
        id="12.3",
        title="Every token once",
        stub=stubs.windows_for_scoring,
        returns=("inputs", "targets"),
        minutes=20,
        kind="repair",
        section="12.2",
        part=1,
        printed=False,
        hints=(
            "Take twelve tokens, windows of five and a stride of three, and write down for every token how often it is "
            "a target, and what stands before it where it is.",
            "What a row says is about the token after it. Of the targets that two windows share, the second window "
            "must leave out those it has at its beginning, where it knows least. And the text must be read to its "
            "end: the last window is moved back so that it ends there, and then shares more with the one before.",
            "The starts are 0, stride, 2 stride, … below len(ids) − 1 − n, and then len(ids) − 1 − n itself. Window i "
            "counts only what the one before did not: targets[i, : starts[i − 1] + n − starts[i]] = −1.",
        ),
        cases=(
            Case("even", cases.text(19, 6, 4), "windows that end where the text ends", 2),
            Case("a rest", cases.text(26, 7, 5), "a last window that is moved back", 2),
            Case("no overlap", cases.text(16, 5, 5), "stride = n", guards="even", open=True),
            Case("one by one", cases.text(11, 4, 1), "stride = 1", guards="a rest", open=True),
            Case("one window", cases.text(8, 7, 3), "one token more than a window", guards="even", open=True),
            Case("other sizes", cases.text(35, 9, 4), "another text", guards="a rest"),
        ),
        mutants=mutants.WINDOWS,
        clauses=(
            ("is predicted exactly once", "even"),
            ("by the first window that reaches it", "one by one"),
            ("is moved back so far that it ends with the text", "a rest"),
            ("stride is at most n", "no overlap"),
            ("(T,), with T > n", "one window"),
        ),
    ),
    Question(
        id="12.4",
        title="What warmth costs, with pencil and paper",
        stub=stubs.warmth,
        returns=("H", "dH", "S", "dS"),
        minutes=15,
        kind="derive",
        section="12.4",
        part=2,
        printed=False,
        hints=(
            "First find how the probability of one word changes with T. Both slopes are then sums over the words.",
            "With b = 1/T: p_w goes with exp(b z_w), so dp_w/db = p_w (z_w − mean of z). Both H and S are sums "
            "over words of p_w times something with z_w; what does not depend on w drops out of the slope. "
            "dS/db = −Var z, dH/db = −b Var z, and db/dT = −1/T².",
            "P = softmax of logits / T, var = (P * (z − mean)**2).sum(axis=-1), dS = var / T**2, dH = var / T**3. For "
            "words at −∞ put 0 in the place of z and of log p, since 0 · ∞ is nan; take the row maximum off first.",
        ),
        cases=(
            Case("entropy", cases.draws((9,)), "one row of nine words", 1, look=("H", "S")),
            Case("slopes", cases.draws((9,)), "one row of nine words", 2, look=("dH", "dS")),
            Case("a batch", cases.draws((2, 3, 5)), "two leading axes", guards="slopes", open=True),
            Case("filtered", cases.draws((4, 6), gone=2), "two words of each row are gone", guards="slopes", open=True),
            Case("large logits", cases.draws((3, 8), 300.0, 900.0, 800.0), "logits of some hundreds, T too",
                 guards="entropy", open=True),
            Case("far from zero", cases.far_from_zero, "logits that are all near some thousand", guards="slopes",
                 open=True),
            Case("other sizes", cases.draws((5, 7)), "other sizes", guards="slopes"),
        ),
        mutants=mutants.WARMTH,
        clauses=(
            ("the entropy H of the draw", "entropy"),
            ("its slope dH/dT", "slopes"),
            ("logits (*B, V)", "a batch"),
            ("A word that a filter took away has the logit −∞", "filtered"),
            ("Logits may be as large as some thousand.", "large logits"),
            ("Logits may be as large as some thousand.", "far from zero"),
        ),
    ),
    Question(
        id="12.5",
        title="Readers who want different things",
        stub=stubs.draw_for_all,
        returns=("words", "P"),
        minutes=20,
        kind="repair",
        section="12.4",
        part=2,
        torch=True,
        forbid=TORCH_ONLY,
        hints=(
            "Go through the six lines with one row of three words, probabilities 0.5, 0.3 and 0.2 in any order, and a "
            "mass of 0.6. Which words should be left, and in which places?",
            "Four faults. Temperature belongs to the logits. The word that crosses the mass stays: look at the mass "
            "before a word, not at the mass with it. What was sorted has to go back to its place. And a temperature "
            "of 0 is not to be divided by.",
            "order = P.argsort(dim=-1, descending=True, stable=True); before = the cumulative sum less the word "
            "itself; rank = order.argsort(-1) takes it back, with gather. For T = 0 divide by 1 and choose a row of "
            "one_hot(logits.argmax(-1)) with torch.where.",
        ),
        cases=(
            Case("probabilities", cases.wishes(7, 9), "seven readers, nine words", 2, look=("P",)),
            Case("words", cases.wishes(7, 9), "the draws", 1, ("probabilities",), ("words",)),
            Case("the likeliest", cases.wishes(6, 7, 2), "two rows with T = 0", 1, ("probabilities",)),
            Case("all words", cases.wishes(5, 8, 0, 2), "two rows with p = 1", guards="probabilities", open=True),
            Case("equal words", cases.wishes(6, 5, tied=True), "words that are equally likely",
                 guards="probabilities", open=True),
            Case("just reached", cases.just_reached, "words that have just the mass p", guards="probabilities",
                 open=True),
            Case("smallest draw", cases.smallest_draw, "u = 0", guards="words", open=True),
            Case("nearly equal", cases.nearly_equal, "T = 0 and a small lead, or none", guards="the likeliest",
                 open=True),
            Case("other sizes", cases.wishes(9, 6, 1, 1), "nine readers, six words", guards="the likeliest"),
        ),
        mutants=mutants.WISHES,
        drive=cases.call_draw,
        clauses=(
            ("the fewest words whose probabilities reach p, likeliest first", "probabilities"),
            ("in whose share of [0, 1) u falls", "words"),
            ("in whose share of [0, 1) u falls", "smallest draw"),
            ("0 for the likeliest word", "the likeliest"),
            ("above 0 and at most 1", "all words"),
            ("Of equal words the first goes in first.", "equal words"),
            ("whose probabilities reach p", "just reached"),
            ("has all its probability on its likeliest word", "nearly equal"),
        ),
    ),
    Question(
        id="12.6",
        title="Whose words are these?",
        stub=stubs.name_the_sampler,
        returns=("names",),
        minutes=25,
        kind="detect",
        section="12.4",
        part=2,
        printed=False,
        hints=(
            "You know what each of the six programs draws from. Which of the six would most probably have drawn just "
            "these words?",
            "Write the probabilities of each program, places by words. A program that gives 0 to a word that was drawn "
            "is out. Of the others take the one with the largest sum of counts times log-probabilities.",
            "With P = softmax(logits / T), sort once, and say which ranks stay: rank < k; mass before the word < p; "
            "mass with the word < p, or rank 0. For top-p first the ranks come from softmax(logits), and the weights "
            "from P. Sum counts[came] * np.log(law[came]) over came = counts > 0.",
        ),
        cases=(
            Case("six programs", cases.exhibits(5, 9, 400, cases.NAMES), "one of each", 4),
            Case("other places", cases.exhibits(8, 7, 300, cases.NAMES), "eight places, seven words", 1),
            Case("cold", cases.exhibits(7, 8, 450, cases.NAMES, (0.5, 0.7)), "a temperature below 1",
                 guards="other places", open=True),
            Case("few words", cases.few_draws(4, 10, 15), "fifteen words a place", guards="other places", open=True),
            Case("longer", cases.exhibits(6, 11, 500, cases.NAMES), "other places", guards="six programs"),
        ),
        mutants=mutants.SAMPLERS,
        drive=cases.call_names,
        labels=cases.NAMES,
        clauses=(
            ("One of the six names", "six programs"),
            ("for other places, words and settings", "other places"),
            ("T may be below 1", "cold"),
            ("Few words may have been drawn", "few words"),
        ),
    ),
    Question(
        id="12.7",
        title="One token more",
        stub=stubs.one_more,
        returns=("output", "K_new", "V_new"),
        minutes=25,
        kind="build",
        section="12.5",
        part=3,
        hints=(
            "Three things to settle before any product: at which place of its own row the new token stands, which "
            "columns it may see, and whose keys a head of queries reads.",
            "The new column is m, so its place is m − start, another one in every row. Query and key are turned by "
            "it, the value is not, and old keys are left as they are. Columns from start on are seen, the new one "
            "too. With H / G heads to a group, the first H / G heads read group 0, the next ones group 1.",
            "Cut x W_q into (B, G, H/G, k) and x W_k into (B, G, 1, k), turn both, join the new key to K along axis "
            "2. The scores are np.einsum('bgsk,bgmk->bgsm', Q, K_new) / √k, −∞ in columns before start; the heads lie "
            "side by side in the order of reshape(B, H·v).",
        ),
        cases=(
            Case("cache", cases.cached(3, 2, 5, 4, 6, 9, 4), "the new column of keys and values", 2,
                 look=("K_new", "V_new")),
            Case("output", cases.cached(3, 2, 5, 4, 6, 9, 4), "what the token brings back", 3, look=("output",)),
            Case("no padding", cases.cached(2, 3, 4, 6, 5, 7, 2, False), "rows of equal length", guards="output",
                 open=True),
            Case("however large", cases.cached(3, 2, 6, 4, 3, 7, 2, large=1e13), "numbers of 10¹³ in padding",
                 guards="output", open=True, look=("output",)),
            Case("the first token", cases.cached(4, 2, 0, 6, 3, 5, 1, False), "nothing in the cache yet",
                 guards="cache", open=True),
            Case("other sizes", cases.cached(4, 3, 7, 2, 5, 6, 2), "other sizes", guards="output"),
        ),
        mutants=mutants.STEPS,
        clauses=(
            ("keys turned already", "cache"),
            ("the first column of each row that is no padding", "output"),
            ("in padding there may be any finite numbers, however large", "however large"),
            ("Rows may all be equally long", "no padding"),
            ("the cache may still be empty", "the first token"),
        ),
    ),
    Question(
        id="12.8",
        title="The bill of a busy evening",
        stub=stubs.bill_of_writing,
        returns=("cache", "read", "equal"),
        minutes=15,
        kind="predict",
        section="12.5",
        part=3,
        printed=False,
        hints=(
            "What is read once a step for all texts together, and what once for each text? And what grows with the "
            "text, what stops growing?",
            "A layer keeps G keys and G values of width d_k for each token that it still sees: all tokens in a full "
            "layer, at most w in another. Step i of the s reads all parameters once, and a cache of n + i tokens, its "
            "own among them.",
            "cache(t) = 2 · G · d_k · size · B · (full · t + (L − full) · min(t, w)). Sum P · size + cache(n + i) over "
            "i = 1 … s. The last number: set the cache equal to P · size with windows that are full, and solve for t.",
        ),
        cases=(
            Case("cache", cases.served(24, 6, 512, 16, 4, 64, 8, 5, 700, 30), "six of 24 layers see all", 1,
                 look=("cache",)),
            Case("reading", cases.served(24, 6, 512, 16, 4, 64, 8, 5, 700, 30), "thirty tokens more", 1,
                 look=("read",)),
            Case("as large", cases.served(24, 6, 512, 16, 4, 64, 8, 5, 700, 30), "cache and parameters", 1,
                 look=("equal",)),
            Case("short texts", cases.served(13, 4, 128, 12, 3, 32, 4, 6, 110, 70), "the window fills up on the way",
                 guards="reading", open=True),
            Case("drawn at random", cases.some_service, "another model", guards="as large"),
            Case("another cache", cases.some_service, "another model", guards="cache", look=("cache",)),
            Case("other readings", cases.some_service, "another model", guards="reading", look=("read",)),
        ),
        mutants=mutants.BILLS,
        clauses=(
            ("the bytes of the cache at n tokens", "cache"),
            ("those read from memory while the s tokens are written", "reading"),
            ("the length at which the cache is as large as the parameters", "as large"),
            ("A text may be shorter than the window", "short texts"),
        ),
    ),
    Question(
        id="12.9",
        title="A small model drafts",
        stub=stubs.drafted,
        returns=("accepted", "rest", "words"),
        minutes=15,
        kind="derive",
        section="12.5",
        part=3,
        printed=False,
        hints=(
            "How probable is it that the word w is drafted and accepted? How much of p is then still missing?",
            "A word is drafted and kept with q · min(1, p/q) = min(p, q). What is missing is p − min(p, q), which has "
            "to come from the draws that replace; scaled to sum to one, it is the rest. With a chance a for each "
            "draft, word i + 1 is reached if i drafts were kept.",
            "both = np.minimum(p, q); accepted is its sum, rest is p − both over its own sum, or zeros where that is "
            "0; words is 1 + a + a² + … + a^g, added up, since 1 − a may be 0.",
        ),
        cases=(
            Case("accepted", cases.two_models(6, 4), "six words", 1, look=("accepted",)),
            Case("rest", cases.two_models(6, 4), "six words", 1, look=("rest",)),
            Case("words", cases.two_models(6, 4), "four drafts", 1, look=("words",)),
            Case("far apart", cases.two_models(9, 2, 3.0), "two drafts of another mind", guards="rest", open=True),
            Case("equal", cases.two_models(5, 3, equal=True), "p = q", guards="words", open=True),
            Case("other words", cases.two_models(12, 6), "twelve words, six drafts", guards="words"),
        ),
        mutants=mutants.DRAFTS,
        clauses=(
            ("the share of drafts that are accepted", "accepted"),
            ("that every word comes exactly as often as the large model would say it", "rest"),
            ("the words that a pass of the large model yields on average", "words"),
            ("any two models over the same words", "far apart"),
            ("Where $p = q$ nothing is ever refused", "equal"),
        ),
    ),
    Question(
        id="12.10",
        title="Each part passes, the whole fails",
        stub=stubs.stale_masks,
        returns=("masks",),
        minutes=20,
        kind="counterexample",
        section="12.5",
        part=4,
        printed=False,
        hints=(
            "When is what a cache has kept of a token no longer what a new pass would compute? And when does nobody "
            "notice?",
            "A row that looks ahead changes when the later token comes. That is noticed only if the change reaches "
            "the last row, the one that is read: through rows, a block for each step. Every block must be needed for "
            "the way.",
            "In block i, for i = 1 … L − 1, row i sees row i − 1, and nothing else but itself. In block 0 row 0 sees "
            "one later token: which, if nobody is to notice before the whole way is there?",
        ),
        cases=(
            Case("two blocks", cases.blocks(2), "L = 2", 1),
            Case("three blocks", cases.blocks(3), "L = 3", 2),
            Case("four blocks", cases.blocks(4), "L = 4", 1),
            Case("more blocks", cases.blocks(5), "L = 5", guards="four blocks"),
        ),
        mutants=mutants.STALE,
        measure=cases.staleness,
        measures=("tokens", "parts", "whole", "stale"),
        clauses=(
            ("Every token sees itself.", "two blocks"),
            ("with any L − 1 of them it gives the same", "three blocks"),
            ("As few tokens as possible.", "four blocks"),
        ),
    ),
    Question(
        id="12.11",
        title="Who looks at what came next?",
        stub=stubs.copying_score,
        returns=("scores", "even"),
        minutes=15,
        kind="build",
        section="12.6",
        part=4,
        hints=(
            "Take *a b c a*: where does a head that copies look from the last *a*? And which tokens of the text say "
            "nothing about it?",
            "For each token i take all earlier places j with the same word, and add up its weights on the places "
            "j + 1. The mean is over the tokens that have such a j. Even weights are 1/(i + 1) on each of the places "
            "0 … i.",
            "same = (ids[:, None] == ids) with np.tril(…, −1); moved one column to the right it marks the places "
            "after. Multiply A by it, sum over the last axis, and divide by the number of rows that have a mark, "
            "unless there are none.",
        ),
        cases=(
            Case("scores", cases.heads(3, 14, 4), "three heads, fourteen tokens", 2, look=("scores",)),
            Case("even weights", cases.heads(3, 14, 4), "the same text", 1, look=("even",)),
            Case("all different", cases.heads(2, 9, 4, False), "no word comes twice", guards="scores", open=True),
            Case("a longer text", cases.heads(4, 30, 6), "other sizes", guards="even weights"),
        ),
        mutants=mutants.SCORES,
        clauses=(
            ("The score of a head is the mean of this weight", "scores"),
            ("what a head would score that spreads its weights evenly", "even weights"),
            ("A text may have no word twice", "all different"),
        ),
    ),
    Question(
        id="12.12",
        title="Two layers that copy, by hand",
        stub=stubs.copying_model,
        returns=("M_1", "N_1", "M_2", "N_2"),
        minutes=25,
        kind="design",
        section="12.6",
        part=4,
        printed=False,
        hints=(
            "What must a token know so that the second layer can find it by the word before it? And whom does the very "
            "first token ask, which has none before it?",
            "Layer 1: place i looks at place i − 1, and brings its word into the part called before. Layer 2: the word "
            "of the query meets that part of the key, and what is brought is the word of the key, into the part called "
            "next. The first token sees itself alone, so it says that it follows itself: take that back, for instance "
            "by a score against keys of the same word.",
            "Four matrices of zeros with blocks: M_1[place i, place i − 1] = c; N_1[word, before] = the unit matrix; "
            "M_2[word, before] = c · unit and M_2[word, word] = −c · unit; N_2[word, next] = unit. c must grow with "
            "the logarithm of V / (1 − p).",
        ),
        cases=(
            Case("five words", cases.words(5, 0.9), "V = 5, p = 0.9", 2),
            Case("a dozen", cases.words(12, 0.99), "V = 12, p = 0.99", 2),
            Case("nearly certain", cases.words(20, 1 - 1e-12), "V = 20, p = 1 − 10⁻¹²", 1),
            Case("another vocabulary", cases.words(8, 0.75), "V = 8, p = 0.75", guards="a dozen"),
        ),
        mutants=mutants.COPIES,
        measure=cases.second_half,
        measures=("looks_at", "enough", "says"),
        clauses=(
            ("every token of the second half looks at the right place", "five words"),
            ("and says the right word", "a dozen"),
            ("any $p$ below 1", "nearly certain"),
        ),
    ),
)
