"""The questions of chapter 13."""

from ...model import TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="13.1",
        title="Pairs in a batch",
        stub=stubs.make_batch,
        returns=("source", "real", "inputs", "labels"),
        minutes=12,
        kind="build",
        section="13.1",
        part=1,
        hints=(
            "Write one pair on paper, and under each place what is read there and what is to be said. What is said "
            "after the last word?",
            "A row of inputs is BOS and the words; a row of labels is the words and EOS. They are equally long. Make "
            "both for every pair, as lists, before anything is padded, and count the words then too.",
            "n = 1 + max(len(t) for t in targets). One helper pads a list of rows: "
            "np.array([row + [fill] * (n - len(row)) for row in rows]). For real, compare np.arange(m) with the "
            "lengths, never ids with pad.",
        ),
        cases=(
            Case("three pairs", cases.sentences((4, 2, 9), (3, 5, 1)), "three pairs", 1),
            Case("a word like pad", cases.sentences((3, 8), (4, 2), True, marks=(2, 0, 1)),
                 "words that have the id of pad", 1),
            Case("no word to say", cases.sentences((2, 3), (0, 4), marks=(1, 2, 0)), "a target without words",
                 guards="three pairs", open=True),
            Case("more pairs", cases.sentences((5, 3, 2, 8), (2, 4, 1, 3), marks=(1, 2, 0)), "four pairs",
                 guards="three pairs"),
        ),
        mutants=mutants.BATCHES,
        clauses=(
            ("a row of inputs is BOS and the words, and nothing else is read", "three pairs"),
            ("A word may have the id of pad", "a word like pad"),
            ("A target may have no words at all", "no word to say"),
        ),
    ),
    Question(
        id="13.2",
        title="Smoothing that never says PAD",
        stub=stubs.smoothed_translation,
        returns=("L", "dlogits", "bound"),
        minutes=20,
        kind="derive",
        section="13.2",
        part=1,
        printed=False,
        hints=(
            "What do the rows of q sum to? And which of the places in the batch have a q at all?",
            "The gradient of a place is p − q over N, and N is the number of words that count, wherever they stand. "
            "The loss of a place is lowest where p = q: put that in, and what remains is a number that depends on ε "
            "and V alone.",
            "Q = np.full(…, eps / (V - 2)); Q[..., pad] = 0; then 1 - eps at the labels, with labels of −1 replaced "
            "first. share = real / real.sum(). The bound is −(1 − ε) ln(1 − ε) − ε ln(ε / (V − 2)), and for ε = 0 it "
            "is 0.",
        ),
        cases=(
            Case("loss", cases.labelled((3, 5), 7, 0.1), "rows of three and five words", 1, look=("L",)),
            Case("gradient", cases.labelled((3, 5), 7, 0.1), "rows of three and five words", 2, look=("dlogits",)),
            Case("bound", cases.labelled((3, 5), 7, 0.15), "the least that L can be", 1, look=("bound",)),
            Case("no smoothing", cases.labelled((4, 2), 6, 0.0), "ε = 0", guards="bound", open=True),
            Case("large logits", cases.labelled((2, 4, 1), 5, 0.1, 600.0), "logits of some hundreds", guards="loss",
                 open=True, look=("L", "dlogits")),
            Case("other sizes", cases.labelled((6, 2, 4), 8, 0.15), "other sizes", guards="gradient"),
        ),
        mutants=mutants.SMOOTHS,
        clauses=(
            ("the mean over all words that count", "loss"),
            ("dlogits (B, n, V)", "gradient"),
            ("the bound that L cannot fall below", "bound"),
            ("$\\varepsilon$ may be 0", "no smoothing"),
            ("Logits may be in the hundreds.", "large logits"),
            ("never pad", "loss"),
            ("that never says PAD", "gradient"),
        ),
    ),
    Question(
        id="13.3",
        title="One source, many readers",
        stub=stubs.shared_source_gradients,
        returns=("dM", "dW_k", "dW_v"),
        minutes=25,
        kind="derive",
        section="13.2",
        part=1,
        printed=False,
        hints=(
            "How often was one row of M read, and by whom? Each reading sends something back.",
            "Go back line by line for one translation: through the mean to values and weights, through the softmax "
            "to the scores, through the scores to the keys. Keys and values are the same for all translations, so what "
            "arrives at them is added up; only then comes M.",
            "dV = (A.mT @ dO).sum(0); dA = dO @ V.T; dS = A * (dA - (A * dA).sum(-1, keepdims=True)); "
            "dK = (dS.mT @ Q).sum(0) / √d_k; then dM = dK W_kᵀ + dV W_vᵀ, dW_k = Mᵀ dK, dW_v = Mᵀ dV.",
        ),
        cases=(
            Case("dW_v", cases.shared(3, 4, 5, 2, 6, 7, 8), "three translations of one source", 1, look=("dW_v",)),
            Case("dW_k", cases.shared(3, 4, 5, 2, 6, 7, 8), "three translations of one source", 1, look=("dW_k",)),
            Case("dM", cases.shared(3, 4, 5, 2, 6, 7, 8), "three translations of one source", 2, look=("dM",)),
            Case("padded source", cases.shared(4, 5, 7, 3, 2, 6, 8, 2), "two rows of padding", 1),
            Case("one reader", cases.shared(1, 3, 4, 5, 6, 2, 7), "one translation", guards="dM", open=True),
            Case("others", cases.shared(4, 3, 6, 5, 2, 7, 8, 1), "other sizes", guards="padded source"),
        ),
        mutants=mutants.SHARING,
        clauses=(
            ("dW_v", "dW_v"),
            ("Returns dM (m, e), dW_k and dW_v.", "dW_k"),
            ("The encoder runs once", "dM"),
            ("where a row of M may be read if", "padded source"),
            ("there may be one translation alone", "one reader"),
        ),
    ),
    Question(
        id="13.4",
        title="Rows that end at different times",
        stub=stubs.write_batch,
        returns=("text", "log_p", "words"),
        minutes=15,
        kind="repair",
        section="13.4",
        part=2,
        printed=False,
        hints=(
            "Play it on paper with two rows, one of two words and one of four. What does the short row do in steps "
            "three and four?",
            "Keep a flag for each row: has it said EOS in an earlier step? A row with the flag writes pad, adds "
            "nothing, and counts no word. The loop ends when every row has the flag.",
            "done = np.zeros(B, bool) before the loop; inside it word = np.where(done, pad, Y.argmax(axis=1)), log_p "
            "and words grow by np.where(done, 0, …), and only then done |= word == eos. Return prefixes[:, 1:].",
        ),
        cases=(
            Case("two lengths", cases.chain((2, 4), 8, 7), "rows of two and of four words", 1),
            Case("four lengths", cases.chain((5, 1, 3, 2), 9, 8), "four rows", guards="two lengths", open=True),
            Case("nan behind the end", cases.chain((3, 2, 5), 8, 9, True), "step says nan of a row that has ended", 1),
            Case("cut off", cases.chain((2, 0, 4), 9, 5), "a row that does not end within max_len", 1),
            Case("a word like pad", cases.chain((2, 5, 3), 8, 7, like_pad=True), "a live row writes the id of pad",
                 guards="two lengths", open=True),
            Case("other sizes", cases.chain((4, 2, 6, 3, 1), 10, 8), "five rows", guards="two lengths"),
        ),
        mutants=mutants.WRITERS,
        drive=cases.call_write,
        clauses=(
            ("until every row has said EOS", "two lengths"),
            ("Behind its EOS a row has only `pad`, and nothing is added to its $\\log p$", "four lengths"),
            ("may be anything, nan among them", "nan behind the end"),
            ("at most `max_len` words, EOS counted", "cut off"),
            ("A live row may write a word that has the id of pad", "a word like pad"),
        ),
    ),
    Question(
        id="13.5",
        title="One step of a beam",
        stub=stubs.beam_step,
        returns=("parent", "word", "log_p", "lengths"),
        minutes=20,
        kind="build",
        section="13.4",
        part=2,
        printed=False,
        hints=(
            "How many candidates has a source, if nobody has finished? And how many does a finished sentence add?",
            "Fill a table of k times V sums. In the row of a finished sentence all is minus infinity, and at EOS "
            "stands the sum that it has. A second table ranks: the sums over the penalty of each row's length. The k "
            "best places of the second table say what to take from the first.",
            "score.reshape(B, k * V), np.argsort(-score, axis=1, kind='stable')[:, :k]; parent, word = best // V, "
            "best % V; np.take_along_axis fetches sums and lengths. n = lengths + ~finished. Choose with np.where: nan "
            "times 0 is nan.",
        ),
        cases=(
            Case("all live", cases.beams(2, 3, 5, 0.6), "nobody has ended", 1),
            Case("some have ended", cases.beams(6, 5, 7, 0.9, 2, strict=True), "two of five have ended", 1),
            Case("short and long", cases.beams(6, 5, 6, 1.5, 3, strict=True), "three of five have ended, α = 1.5", 1),
            Case("no penalty", cases.beams(3, 4, 5, 0.0, 1), "α = 0", 1),
            Case("first step", cases.beams(2, 3, 6, 0.6, first=True), "one live place, the others empty",
                 guards="all live", open=True),
            Case("nan behind the end", cases.beams(2, 3, 5, 0.8, 1, broken=True), "Y of a finished sentence is nan",
                 guards="no penalty", open=True),
            Case("other sizes", cases.beams(4, 5, 7, 0.7, 2), "other sizes", guards="some have ended"),
        ),
        mutants=mutants.BEAMS,
        clauses=(
            ("Returns the k best of each source, best first", "all live"),
            ("A finished sentence has one continuation, itself", "some have ended"),
            ("$\\alpha$ may be 0", "no penalty"),
            ("is $-\\infty$ where a place is empty", "first step"),
            ("The penalty ranks and does nothing else", "short and long"),
            ("may be anything, nan among them", "nan behind the end"),
        ),
    ),
    Question(
        id="13.6",
        title="A wider beam, a worse sentence",
        stub=stubs.wider_is_worse,
        returns=("first", "second", "third"),
        minutes=15,
        kind="counterexample",
        section="13.4",
        part=2,
        printed=False,
        hints=(
            "The beam must lose greedy's text on the way. What has to stand above it after the second word, if only "
            "two places are there?",
            "Two first words of nearly equal weight. The better one goes on with a word that has a little less than a "
            "half, the other with two halves: these two fill the beam. And then the last word: greedy's is certain.",
            "first = (½ + δ, ½ − δ, 0, …); second[1] = (½ + δ, ½ − δ, 0, …); second[0, 0] = a a little below ½, the "
            "rest of that row spread evenly; third[0, 0] = (1, 0, …), and third[1] nearly 1/V everywhere, with a "
            "little more for one word. The ratio is then about V; choose δ by how near r is to it.",
        ),
        cases=(
            Case("three words", cases.wanted(3, 0.5), "V = 3, r = 1.5", 1),
            Case("five words", cases.wanted(5, 0.95), "V = 5, r = 4.75", 2),
            Case("nearly V", cases.wanted(4, 1 - 1e-8), "V = 4, and r nearer to V than a hundred-millionth of it",
                 guards="five words", open=True),
            Case("others", cases.wanted(6, 0.9), "other numbers", guards="five words"),
        ),
        mutants=mutants.WIDE,
        measure=cases.measure_beam,
        measures=cases.WORSE,
        clauses=(
            ("for 1 <= r < V and V >= 3", "three words"),
            ("more than r times as probable", "five words"),
            ("your model is asked to reach any $r$ below it", "nearly V"),
            ("Neither search may meet a tie", "three words"),
        ),
    ),
    Question(
        id="13.7",
        title="BLEU of a corpus",
        stub=stubs.bleu,
        returns=("precisions", "brevity", "score"),
        minutes=20,
        kind="build",
        section="13.5",
        part=3,
        hints=(
            "What is added up over the sentences, and what is divided? How often can one word be right?",
            "For each order add up two numbers over all sentences: n-grams of the hypothesis, and matches, each "
            "n-gram at most as often as in the one reference that has it most often. And two lengths: of the "
            "hypotheses, and of the closest reference of each. Divide at the very end.",
            "collections.Counter counts n-grams; the | of two Counters keeps the larger count of each, the & the "
            "smaller. min((abs(len(r) - len(h)), len(r)) for r in refs) finds the closest length, and of two the "
            "shorter. The brevity is min(1, exp(1 − r/c)); a precision of 0 makes the score 0.",
        ),
        cases=(
            Case("one reference", cases.corpus((14,), 4, ((2,),), 0.25, 9), "one sentence, one reference", 1),
            Case("several references", cases.corpus((9,), 3, ((4, 1, 6, -4, 3, 2, -2),), 0.5, 6),
                 "one sentence, seven references, order 3", 1),
            Case("several sentences", cases.corpus((7, 13, 10), 2, ((1,), (3,), (-1,)), 0.3, 8),
                 "three sentences, order 2", 1),
            Case("equally close", cases.two_lengths, "a reference as much shorter as another is longer",
                 guards="several references", open=True),
            Case("long enough", cases.long_enough, "a translation longer than its reference", 1),
            Case("no run of four", cases.no_run, "words that match, and no run of three or four",
                 guards="one reference", open=True),
            Case("another corpus", cases.corpus((8, 11), 3, ((3, 1), (4, 1, -3)), 0.4, 7),
                 "two sentences with several references",
                 guards="several sentences"),
            Case("another reference", cases.corpus((12,), 4, ((3,),), 0.25, 9), "another length",
                 guards="one reference"),
            Case("another length", cases.longer_or_shorter, "other sizes", guards="long enough"),
        ),
        mutants=mutants.BLEUS,
        drive=cases.call_bleu,
        clauses=(
            ("clipped: an n-gram is right at most as often", "one reference"),
            ("stands in the one reference that has it most often", "several references"),
            ("added up over all sentences before anything is divided", "several sentences"),
            ("If an order has no match, the score is 0", "no run of four"),
            ("has as many words as the order at least", "no run of four"),
            ("the shorter of two that are equally close", "equally close"),
            ("never more than 1", "long enough"),
        ),
    ),
    Question(
        id="13.8",
        title="What one slip costs, with pencil and paper",
        stub=stubs.after_a_slip,
        uses=("13.7",),
        returns=("replaced", "left_out", "twice"),
        minutes=15,
        kind="predict",
        section="13.5",
        part=3,
        printed=False,
        hints=(
            "Take nine words and mark the slip in the middle. Which runs of two, three and four words touch it? And "
            "which of the three slips costs most?",
            "A wrong word is in up to k runs of k words; the gap of a missing word, and the seam between two equal "
            "ones, in up to k − 1. Near an end there are fewer. The runs are those of the translation: it has n, "
            "n − 1 or n + 1 words. And a missing word makes it short.",
            "Count with a small loop: sum(i <= place < i + k for i in range(n - k + 1)) runs of k hold the place; "
            "those across a gap hold place − 1 and place of a row of n − 1. The repeated word costs one match of "
            "order 1 as well, by clipping. Brevity exp(1 − n/(n − 1)) for the one that is short.",
        ),
        cases=(
            Case("replaced", cases.slip(9, 4), "nine words, in the middle", 1, look=("replaced",)),
            Case("left out", cases.slip(9, 4), "nine words, in the middle", 1, look=("left_out",)),
            Case("said twice", cases.slip(9, 4), "nine words, in the middle", 1, look=("twice",)),
            Case("the first word", cases.slip(10, 0), "the first of ten words", guards="replaced", open=True),
            Case("near the end", cases.slip(12, 10), "the last but one of twelve", guards="left out", open=True),
            Case("another", cases.some_slip, "another place", guards="said twice"),
            Case("another word", cases.some_slip, "another place", guards="replaced", look=("replaced",)),
            Case("another gap", cases.some_slip, "another place", guards="left out", look=("left_out",)),
        ),
        mutants=mutants.SLIPS,
        clauses=(
            ("is replaced by a word that is not in the", "replaced"),
            ("left out", "left out"),
            ("said twice in a row", "said twice"),
            ("it may be the first word", "the first word"),
            ("or one near the end", "near the end"),
        ),
    ),
    Question(
        id="13.9",
        title="From weights to an error rate",
        stub=stubs.alignment_error,
        returns=("rate",),
        minutes=15,
        kind="build",
        section="13.6",
        part=4,
        hints=(
            "Which rows of the weights are target words, and which columns are source words? What does a word do that "
            "looks at none of them?",
            "Mean over the heads, then the largest weight of each row; keep it if it lies on a source word. Then count "
            "over the corpus: links that are sure, links that are sure or possible, links, sure links.",
            "best = A[b].mean(axis=0).argmax(axis=-1)[:targets[b]]; link = best < sources[b]. The rate is "
            "1 − (|L ∩ S| + |L ∩ P|) / (|L| + |S|) with P = sure | possible, each of the four summed over all "
            "sentences first.",
        ),
        cases=(
            Case("one sentence", cases.aligned(1, 3, 12, 9), "one sentence", 1),
            Case("a corpus", cases.aligned(5, 2, 11, 12, True), "sentences of different lengths", 2),
            Case("another corpus", cases.aligned(4, 5, 10, 9, True), "other sizes", guards="a corpus"),
        ),
        mutants=mutants.ALIGNMENTS,
        clauses=(
            ("the mean over the heads", "one sentence"),
            ("A sure link is possible as well", "one sentence"),
            ("summed over the corpus", "a corpus"),
            ("never linked", "a corpus"),
        ),
    ),
    Question(
        id="13.10",
        title="Which words did it read?",
        stub=stubs.name_the_words,
        returns=("names",),
        minutes=20,
        kind="detect",
        section="13.3",
        part=5,
        printed=False,
        hints=(
            "For each of the five ways you can say what the model would have written. What can you compare that with?",
            "Write each of the five texts yourself, for every sentence, and keep the names whose texts equal the "
            "report in all of them. Only in own words does a mistake change what comes after it.",
            "Two loops: one over sentences, one over names. The text with the right words is "
            "table[b, [bos, *right[:-1]]], that of the word itself table[b, right]; own words follow "
            "last = table[b, last] until EOS, or for len(right) words, or with the row (b + 1) % B. Compare whole "
            "texts, their lengths too.",
        ),
        cases=(
            Case("five reports", cases.reports(6, 9, 8, cases.NAMES), "one of each", 2),
            Case("one sentence tells", cases.reports(9, 11, 8, cases.NAMES, 0.5, 8),
                 "a model that knows eight of nine sentences", 1),
            Case("three sentences", cases.reports(3, 6, 7, ("own words", "right words")), "two reports", 1),
            Case("other reports", cases.reports(5, 8, 7, (*cases.NAMES, "own words"), 0.8), "other reports",
                 guards="five reports"),
        ),
        mutants=mutants.WITNESSES,
        drive=cases.call_words,
        labels=cases.NAMES,
        clauses=(
            ("Exactly one name explains a report", "five reports"),
            ("in all but one sentence several names may fit", "one sentence tells"),
            ("must not accuse the innocent", "three sentences"),
        ),
    ),
    Question(
        id="13.11",
        title="Test sentences that were seen before",
        stub=stubs.leaked,
        returns=("share",),
        minutes=20,
        kind="build",
        section="13.7",
        part=5,
        printed=False,
        seconds=4.0,
        late="each of many thousand sentences compared with each takes too long. Look each up in a set.",
        hints=(
            "Two sentences that differ in one word have something in common that is exactly equal. What?",
            "Blank out one place: sentences with one replaced word become equal, if the place is the same in both. "
            "Take one word out of the longer: sentences with a word more or less become equal. So put the masked and "
            "the shortened training sentences into sets, and look up each test sentence.",
            "Three sets over the training sentences s, as tuples: s; (i, s[:i] + s[i + 1:]) for each place i; and "
            "s[:i] + s[i + 1:]. A test sentence t leaks if t is in the first or the third, a shortened t in the first, "
            "or a pair (i, shortened t) in the second.",
        ),
        cases=(
            Case("one replaced", cases.near({"equal": 3, "replaced": 9, "last replaced": 2, "far": 6}),
                 "equal, or one word replaced", 1),
            Case("one more or less", cases.near({"added": 5, "left out": 4, "at the end": 2, "first left out": 1,
                                                 "far": 3, "two added": 2, "two left out": 3}),
                 "one word or two more or less", 1),
            Case("two apart", cases.near({"moved": 5, "two replaced": 3, "exchanged": 4, "equal": 2, "replaced": 3}),
                 "two changes, in several ways", 1),
            Case("repeated", cases.twice(cases.near({"replaced": 3, "added": 2, "far": 4})),
                 "sentences that occur twice on both sides", guards="one replaced", open=True),
            Case("any ids", cases.any_ids, "ids of one to three digits, 0 among them", guards="two apart", open=True),
            Case("one word", cases.one_word, "sentences of a single word", guards="one more or less", open=True),
            Case("many", cases.many(5000, 4000, 5000, 8), "5,000 and 4,000 sentences", 1),
            Case("others", cases.near({"equal": 1, "replaced": 4, "added": 2, "left out": 3, "moved": 3, "far": 4,
                                       "first left out": 2}), "all of it", guards="one more or less"),
            Case("others apart", cases.near({"moved": 3, "two replaced": 4, "exchanged": 2, "equal": 5, "replaced": 4}),
                 "two changes, other numbers", guards="two apart"),
        ),
        mutants=mutants.LEAKS,
        clauses=(
            ("equal, or one word replaced, added or left out", "one replaced"),
            ("equal, or one word replaced, added or left out", "one more or less"),
            ("Two changes are too many, whatever they are", "two apart"),
            ("may have many thousand sentences", "many"),
            ("Sentences may occur more than once", "repeated"),
            ("at most one word away", "two apart"),
            ("A sentence may be a single word", "one word"),
            ("Ids are whole numbers, 0 among them: each is a word.", "any ids"),
            ("each of one word at least", "one word"),
        ),
    ),
    Question(
        id="13.12",
        title="The padding of the source, in PyTorch",
        stub=stubs.read_source,
        returns=("O", "dM", "dY"),
        minutes=20,
        kind="build",
        section="13.3",
        part=4,
        printed=False,
        torch=True,
        roots=True,
        forbid=TORCH_ONLY,
        hints=(
            "Which axis of the scores belongs to the source? And what are the axes in front of it?",
            "Cut the columns of queries, keys and values into heads, so that the axes are batch, head, token, column. "
            "The scores are then batch, head, target, source, and the mask of a batch of lengths must stand in the "
            "first and the last of these.",
            "real = torch.arange(m, device=M.device) < lengths[:, None], handed on as real[:, None, None, :] to "
            "torch.nn.functional.scaled_dot_product_attention, in which True means: may be read. Heads: "
            "(Y @ W_q).unflatten(-1, (heads, -1)).transpose(1, 2), and back by .transpose(1, 2).flatten(2).",
        ),
        cases=(
            Case("values", cases.padded_reading(3, 4, 5, 2, 6), "three sources of different lengths", 2, look=("O",)),
            Case("gradients", cases.padded_reading(3, 4, 5, 2, 6), "what comes back to source and target", 2,
                 look=("dM", "dY")),
            Case("no padding", cases.padded_reading(2, 5, 3, 4, 6, True), "sources without padding", guards="values",
                 open=True),
            Case("large scores", cases.padded_reading(4, 6, 5, 2, 3, large=300.0), "scores in the hundreds and more",
                 guards="gradients", open=True),
            Case("other sizes", cases.padded_reading(4, 3, 7, 3, 5), "other sizes", guards="gradients"),
        ),
        mutants=mutants.READERS,
        drive=cases.call_read,
        clauses=(
            ("No word of the targets may look at padding", "values"),
            ("rows of padding get a gradient of exactly 0", "gradients"),
            ("A batch may have no padding", "no padding"),
            ("whatever numbers the encoder has left there", "large scores"),
            ("Scores may be in the hundreds", "large scores"),
        ),
    ),
    Question(
        id="13.13",
        title="What β weighs, with pencil and paper",
        stub=stubs.what_beta_weighs,
        returns=("slope_P", "slope_R", "even"),
        minutes=12,
        kind="derive",
        section="13.5",
        part=3,
        printed=False,
        hints=(
            "Differentiate a quotient. Or is there a form of F in which P and R stand apart?",
            "The inverse of F is a weighted mean of the inverses of P and R, with weights 1 and β² over 1 + β². "
            "Differentiate that: the slope of F by P is F² over P² times P's weight.",
            "Slopes (1 + β²) R² / (β² P + R)² and (1 + β²) β² P² / (β² P + R)². They are equal where R² = β² P².",
        ),
        cases=(
            Case("slopes", cases.shares(0.3, 0.8), "β above 1", 1, look=("slope_P", "slope_R")),
            Case("equal slopes", cases.shares(0.3, 0.8), "β above 1", 1, look=("even",)),
            Case("beta below one", cases.shares(0.2, 0.9, 0.5), "β = 0.5", guards="equal slopes", open=True),
            Case("others", cases.shares(0.2, 0.9), "other numbers", guards="slopes"),
        ),
        mutants=mutants.BETAS,
        clauses=(
            ("the slope of F by P, the slope of F by R", "slopes"),
            ("the quotient R / P at which the two slopes are equal", "equal slopes"),
            ("$\\beta$ may be less than 1", "beta below one"),
        ),
    ),
)
