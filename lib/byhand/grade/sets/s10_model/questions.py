"""The questions of chapter 10."""

from ...model import FORBIDDEN, STORY, TORCH_ONLY, Case, Question
from . import cases, mutants, stubs

QUESTIONS = (
    Question(
        id="10.1",
        title="Shift right",
        stub=stubs.shift,
        returns=("inputs", "labels"),
        minutes=10,
        kind="build",
        section="10.5",
        part=1,
        printed=True,
        hints=(
            "Row by row: the inputs are BOS and all but the last word, the labels are all words. Then the padding.",
            "Put a column of BOS before all columns but the last. A table of truth values says which places are real: "
            "place i of text b is, if i is below its length. Elsewhere the inputs hold pad and the labels ignore.",
            "np.concatenate a column of bos and texts[:, :-1]; real = np.arange(n) < lengths[:, None]; np.where twice.",
        ),
        cases=(
            Case("one text", cases.texts([5], 5), "five words, no padding", 1),
            Case("padded", cases.texts([4, 6, 3], 6), "three texts of different lengths", 1, ("one text",)),
            Case("one word", cases.texts([1, 3], 3), "a text of a single word", guards="padded", open=True),
            Case("longer", cases.texts([9, 9], 9), "two texts of nine words", guards="one text"),
            Case("pad is a word", cases.pad_is_a_word, "the id of pad also stands for a word",
                 guards="padded", open=True),
        ),
        clauses=(
            ("there are as many predictions as words", "one text"),
            ("A batch holds texts of different lengths", "padded"),
            ("also a text of a single word", "one word"),
            ("The id of `pad` may be that of a word too", "pad is a word"),
        ),
        mutants=mutants.SHIFTS,
    ),
    Question(
        id="10.2",
        title="The gradient of the memory, on paper first",
        stub=stubs.memory_gradient,
        returns=("dM", "dY0"),
        minutes=25,
        kind="derive",
        section="10.6",
        part=2,
        printed=False,
        hints=(
            "Give each block a copy of M of its own, find the gradient of that copy, and add. Start at the last block.",
            "With U the inside of the tanh, dU = dY ∘ (1 − Y[l]²), where Y[l] is the output of the block. This block's "
            "share is Aᵀ dU Wᵀ. And dU is what the block below gets as its dY.",
            "for i in reversed(range(len(A))): dY = dY * (1 − Y[i + 1] ** 2), and dM grows by A[i].T @ dY @ W[i].T.",
        ),
        cases=(
            Case("one block", cases.blocks(1, 4, 4, 3, 3), "one block: no sum yet", 1),
            Case("two blocks", cases.blocks(2, 4, 4, 3, 3), "two blocks", 2, ("one block",)),
            Case("four blocks", cases.blocks(4, 5, 3, 2, 6), "four blocks, all sizes different", 2, ("two blocks",)),
            Case("three blocks", cases.blocks(3, 3, 6, 4, 2), "three blocks", guards="two blocks"),
            Case("all sizes different", cases.blocks(2, 5, 3, 4, 6), "two blocks", guards="two blocks", open=True),
        ),
        clauses=(
            ("each of its blocks reads the same memory", "two blocks"),
            ("Y[l] = tanh(Y[l - 1] + A[l - 1] M W[l - 1])", "one block"),
            ("for l = 1 … L", "four blocks"),
            ("dM (m, d_m)", "all sizes different"),
        ),
        mutants=mutants.MEMORY,
    ),
    Question(
        id="10.3",
        title="Who can know about whom?",
        stub=stubs.can_reach,
        returns=("reach",),
        minutes=15,
        kind="predict",
        section="10.5",
        part=1,
        printed=False,
        hints=(
            "After one block row i knows about the rows that it read, and about itself. After two, about what those "
            "rows knew after one.",
            "Write each mask as a matrix of zeros and ones, and set its diagonal to one for the residual path. Chains "
            "of "
            "two blocks are the entries above zero of a product of two such matrices. Which one stands on the left?",
            "Begin with the identity, seen = I. For every mask, first block first: seen = ((mask or I) @ seen) > 0, "
            "with "
            "whole numbers in the product.",
        ),
        cases=(
            Case("windows", cases.windows(3, 9, 2), "three blocks, each row sees the one before it", 1),
            Case("other pairs", cases.open_pairs(3, 7, 0.12), "other pairs in each block", 1),
            Case("no row sees itself", cases.open_pairs(2, 6, 0.2, itself=False), "diagonals closed", 1),
            Case("another draw", cases.open_pairs(3, 8, 0.1), "again other pairs", guards="other pairs"),
            Case("wider windows", cases.some_windows, "other sizes", guards="windows"),
        ),
        clauses=(
            ("masks (L, n, n)", "windows"),
            ("the masks may differ from block to block, and need not be causal", "other pairs"),
            ("Every block has its residual path", "no row sees itself"),
        ),
        mutants=mutants.REACH,
        drive=cases.call_reach,
    ),
    Question(
        id="10.4",
        title="Who asks whom",
        stub=stubs.cross_attention,
        returns=("O", "A"),
        minutes=10,
        kind="build",
        section="10.6",
        part=2,
        printed=True,
        hints=(
            "The decoder writes: it asks. The encoder has read: it answers. How many rows must the output have?",
            "Queries from Y, keys and values from M; then the attention of chapter 4, divided by the root of d_k, with "
            "the mask over source words before the softmax.",
            "S = Y @ W_q @ (M @ W_k).mT / np.sqrt(W_q.shape[-1]); where the mask is False, S is −np.inf; a softmax "
            "over "
            "the last axis gives A, and O = A @ M @ W_v.",
        ),
        cases=(
            Case("as long as the source", cases.reading(5, 5, 3, 2, 6), "five words on either side", 1),
            Case("padded source", cases.reading(3, 5, 4, 3, 2, (2,), True), "two sources of different lengths", 1,
                 ("as long as the source",)),
            Case("values", cases.reading(3, 5, 6, 2, 4), "three target words, five source words",
                 guards="as long as the source", open=True),
            Case("padded, equal lengths", cases.reading(5, 5, 4, 3, 2, (3,), True), "the same, square",
                 guards="padded source"),
            Case("two leading axes", cases.reading(3, 4, 5, 2, 6, (2, 3)), "lead (2, 3)",
                 guards="as long as the source", open=True),
        ),
        clauses=(
            ("Return the output $O$ and the weights $A$", "values"),
            ("hides padding of the source", "padded source"),
            ("every row has a key that it may see", "padded source"),
            ("Which of your tests would notice if $n = m$?", "as long as the source"),
            ("Y (*B, n, d)", "two leading axes"),
        ),
        mutants=mutants.READING,
    ),
    Question(
        id="10.5",
        title="One table, two uses",
        stub=stubs.two_uses_gradient,
        returns=("dE",),
        minutes=10,
        kind="derive",
        section="10.5",
        part=1,
        printed=True,
        hints=(
            "Pretend there are two tables with equal numbers, find the gradient of each, and add.",
            "The look-up: row v collects scale times dx of every place where word v stands. The scores: row v of E was "
            "multiplied with every h, so its share is the sum over all places of dz times h.",
            "Look-up: np.add.at(dE, ids, scale * dX). Scores: dZᵀ H, with all tokens of all sequences in one axis.",
        ),
        cases=(
            Case("with a scale", cases.table(6, [2, 5, 2, 2, 1], 4, 1.7), "one word stands three times", 1),
            Case("batch", cases.table(7, [[1, 1, 6], [0, 1, 3]], 4, 3.0**0.5), "two sequences", 1, ("with a scale",)),
            Case("no scale", cases.table(5, [3, 0, 4], 2, 1.0), "three different words", guards="with a scale",
                 open=True),
            Case("other numbers", cases.table(4, None, 9, 3.0), "two sequences of five words", guards="batch"),
            Case("two leading axes", cases.table(7, [[[1, 1], [6, 0]], [[1, 3], [2, 1]]], 3, 0.5), "lead (2, 2)",
                 guards="batch", open=True),
        ),
        clauses=(
            ("A word may stand in the text several times", "with a scale"),
            ("a word that does not stand in it at all has a gradient too", "no scale"),
            ("ids (*B, n)", "two leading axes"),
            ("Return $dE$", "batch"),
        ),
        mutants=mutants.TIED,
    ),
    Question(
        id="10.6",
        title="Greedy decoding",
        stub=stubs.greedy,
        returns=("text",),
        minutes=10,
        kind="build",
        section="10.11",
        part=3,
        printed=True,
        hints=(
            "Keep a list that begins with BOS. Ask for scores, take the best word of one row, append, go on.",
            "The row is the last. Stop when the word is EOS, and do not keep it; stop after max_len words too.",
            "text = []; for _ in range(max_len): word = int(step([bos, *text])[-1].argmax()), and then either stop or "
            "append.",
        ),
        cases=(
            Case("three words", cases.decoder(6, 3, 12), "a text of three words", 1),
            Case("does not end", cases.decoder(9, None, 6), "no EOS within six words", 1, ("three words",)),
            Case("five words", cases.decoder(7, 5, 12), "a text of five words", guards="three words", open=True),
            Case("no word", cases.decoder(5, 0, 8), "EOS at once", guards="three words", open=True),
            Case("four words", cases.decoder(6, 4, 12), "a text of four words", guards="three words"),
        ),
        clauses=(
            ("Always take the word of the highest score", "five words"),
            ("Stop when it is EOS", "three words"),
            ("after `max_len` words in any case", "does not end"),
            ("Neither BOS nor EOS belongs to the text", "no word"),
            ("at most max_len long", "does not end"),
        ),
        mutants=mutants.GREEDY,
        drive=cases.call_greedy,
    ),
    Question(
        id="10.7",
        title="The bill, with pencil and paper",
        stub=stubs.count,
        returns=("N", "n"),
        minutes=15,
        kind="derive",
        section="10.8",
        part=2,
        printed=True,
        hints=(
            "One block: four maps in attention, two in the feed-forward layer, two norms. Then what stands outside.",
            "A block has 4(d² + d) in attention, 2df + f + d in the feed-forward layer and 4d in its norms. The "
            "length: "
            "4nd = 2(4d² + 2df), operations a token.",
            "N = (V + n_max) d + L (the block of hint 2) + 2d for the last norm; the tied head adds nothing. Solve the "
            "second equation of hint 2 for n.",
        ),
        cases=(
            Case("a small one", cases.sizes(100, 20, 8, 24, 3), "V 100, d 8, f 24, three blocks", 1),
            Case("GPT-2", cases.sizes(50257, 1024, 768, 3072, 12), "124 439 808, if you count right", 1),
            Case("drawn at random", cases.some_sizes, "any sizes", 1, ("a small one",)),
            Case("another", cases.some_sizes, "any other sizes", guards="a small one"),
            Case("a small GPT-2", cases.some_sizes, "any other sizes", guards="GPT-2"),
        ),
        clauses=(
            ("an inner width $f$ that need not be $4d$", "a small one"),
            ("For $f = 4d$ you should recover two numbers", "GPT-2"),
            ("find the number of parameters", "drawn at random"),
        ),
        mutants=mutants.COUNTS,
    ),
    Question(
        id="10.8",
        title="A head that writes backwards, by hand",
        stub=stubs.backwards_head,
        returns=("W_q", "W_k", "W_v"),
        minutes=20,
        kind="design",
        section="10.11",
        part=3,
        printed=False,
        hints=(
            "Forget the words for a moment: a query has to say which place it is after, and a key which place it "
            "stands "
            "on. Only the values speak of words.",
            "The key of source place j is a one at position j, made from the last n features. The query of target "
            "place "
            "i is a large number at position n − 1 − i. The value takes the first V features as they are.",
            "W_k[V:] is np.eye(n) and zeros above it. W_q[V:] is the same with its rows reversed, times a large "
            "number. "
            "W_v[:V] is np.eye(V).",
        ),
        cases=(
            Case("three places", lambda rng: cases.tokens(3, 5)(rng), "three places, five words", 2),
            Case("five places", cases.tokens(6, 4), "six places, four words", 2),
            Case("one place", cases.tokens(1, 3), "a source of one token", guards="three places", open=True),
            Case("forty places", cases.tokens(40, 6), "forty places", guards="five places", open=True),
            Case("other sizes", cases.tokens(7, 5), "seven places, five words", guards="five places"),
        ),
        clauses=(
            ("points at the word of source place n − 1 − i", "three places"),
            ("for any n and V", "forty places"),
            ("with any d_k", STORY),
            ("a weight of 0.99 or more", "five places"),
            ("also for a source of one token", "one place"),
        ),
        mutants=mutants.BACKWARDS,
        drive=cases.call_head,
        measure=cases.written_backwards,
        measures=("words",),
    ),
    Question(
        id="10.9",
        title="Where greedy loses",
        stub=stubs.greedy_loses,
        returns=("first", "second"),
        minutes=15,
        kind="counterexample",
        section="10.11",
        part=3,
        printed=False,
        hints=(
            "Greedy commits itself after one word. Make its first word only a little better than the others, and what "
            "comes after it a disappointment.",
            "Give every first word nearly 1/V, greedy's a little more. After greedy's word let all second words be "
            "nearly "
            "equal, after every other let one be nearly sure. Then the ratio comes close to V. How little is a little?",
            "With e = (V / r − 1) / (8 * V): first[0] is 1/V + e and the others share the rest; second[0] = first; "
            "every "
            "other row of second has 1 − e for word 0 and e / (V − 1) elsewhere.",
        ),
        cases=(
            Case("two words", cases.two_words(2, 1.0), "V = 2, any advantage", 1),
            Case("nearly twice", cases.two_words(2, 1.8), "V = 2, r = 1.8", 1),
            Case("five words", cases.two_words(5, 4.5), "V = 5, r = 4.5", 1),
            Case("nearly six times", cases.two_words(6, 5.994), "V = 6, r = 5.994", guards="nearly twice", open=True),
            Case("another", cases.two_words(4, 3.2), "V = 4, r = 3.2", guards="five words"),
        ),
        clauses=(
            ("the smallest vocabulary, $V = 2$", "two words"),
            ("greedy must never meet a tie", "nearly twice"),
            ("for 1 <= r < V", "five words"),
            ("for 1 <= r < V", "nearly six times"),
            ("must be more than r times as probable", "nearly twice"),
        ),
        mutants=mutants.LOSING,
        measure=cases.margin,
        measures=("loses",),
    ),
    Question(
        id="10.10",
        title="Write, and read every word once",
        stub=stubs.write_with_cache,
        returns=("text", "logits", "no_graph", "read_once"),
        minutes=25,
        kind="build",
        section="10.11",
        part=4,
        printed=False,
        torch=True,
        roots=True,
        forbid=(*TORCH_ONLY, "numpy", "tolist",  # whose products nobody counts
                "TransformerDecoder", "MultiheadAttention", "TransformerDecoderLayer", "Transformer"),
        hints=(
            "A word that has been read never changes its key or its value: rows see only what is before them. So what "
            "has to be done for a new word, and what can be kept?",
            "Keep a list of keys and one of values. For each word: its row with its place, its key and value into the "
            "lists, its query against all keys so far, and the mixture of all values, added to the row. No graph.",
            "with torch.no_grad(): for each word, x = E[word] + P[place]; keys.append(x @ W_k); values.append(x @ "
            "W_v); "
            "A = torch.softmax(torch.stack(keys) @ (x @ W_q) / d_k ** 0.5, dim=0); logits = E @ (x + A @ the values).",
        ),
        cases=(
            Case("short", cases.writer(7, 5, 2, 3, 4), "three words given, four to write", 2, look=("text", "logits")),
            Case("no graph", cases.writer(7, 5, 2, 3, 4), "the logits carry none", 1, ("short",), ("no_graph",)),
            Case("long", cases.writer(11, 8, 3, 4, 12), "twelve words: each is read once", 2, ("short",)),
            Case("one word given", cases.writer(9, 6, 4, 1, 5), "a prompt of one word", guards="short", open=True,
                 look=("text", "logits")),
            Case("other sizes", cases.writer(8, 7, 5, 2, 6), "six words to write", guards="short",
                 look=("text", "logits")),
        ),
        clauses=(
            ("always that of the highest score", "short"),
            ("without a graph", "no graph"),
            ("each word is to be read once", "long"),
            ("so NumPy is not allowed here, nor `tolist`", FORBIDDEN),
            ("a list of words, one or more", "one word given"),
        ),
        mutants=mutants.WRITING,
        drive=cases.call_writer,
    ),
    Question(
        id="10.11",
        title="A score that is too good",
        stub=stubs.text_score,
        returns=("score",),
        minutes=15,
        kind="repair",
        section="10.5",
        part=1,
        printed=False,
        hints=(
            "Which row has not yet read the first word, and has to predict it? And what makes a short text different "
            "from the beginning of a longer one?",
            "Row 0 has read BOS alone and scores the first word; the last row scores EOS, which counts too. Add "
            "logarithms in place of multiplying, and take the largest score of a row away before exp.",
            "Give each row its word: zip(logits, [*text, eos]). The term of a row z with word w is z[w] − z.max() − "
            "np.log(np.exp(z − z.max()).sum()).",
        ),
        cases=(
            Case("four words", cases.scored(4, 7), "four words out of six, and EOS", 2),
            Case("no words", cases.scored(0, 5), "the empty text: EOS at once", 1),
            Case("long text", cases.scored(900, 6), "900 words", guards="four words", open=True),
            Case("large scores", cases.scored(5, 6, 2000.0), "scores in the thousands", guards="four words", open=True),
            Case("other numbers", cases.scored(6, 9), "six words", guards="four words"),
        ),
        clauses=(
            ("Log-probability of a text and its end", "four words"),
            ("an empty text", "no words"),
            ("a text of a thousand words", "long text"),
            ("scores in the thousands", "large scores"),
        ),
        mutants=mutants.SCORES,
        drive=cases.call_score,
    ),
    Question(
        id="10.12",
        title="What writing costs, with pencil and paper",
        stub=stubs.cost_of_writing,
        returns=("anew", "kept"),
        minutes=15,
        kind="predict",
        section="10.8",
        part=4,
        printed=False,
        hints=(
            "Write the cost of one pass first: of a pass that reads t tokens, and of one that reads a single token and "
            "meets t keys. Then sum over t.",
            "A token and block: 24d² for the maps. A row that meets t keys: 4td for scores and mixing. Scores of the "
            "vocabulary for one row: 2Vd. A pass that reads t tokens anew has t rows, and each of them meets t keys.",
            "Pass t, anew: 24d²L t + 4dL t² + 2Vd. With a cache: 24d²L + 4dL t + 2Vd. Sum both over t = 1 … n, with a "
            "loop "
            "if you like.",
        ),
        cases=(
            Case("a small one", cases.lengths(50, 4, 2, 5), "V 50, d 4, two blocks, five words", 1),
            Case("GPT-2", cases.lengths(50257, 768, 12, 1024), "1024 words of GPT-2", 1),
            Case("drawn at random", cases.some_lengths, "other sizes", 1, ("a small one",)),
            Case("another", cases.some_lengths, "still others", guards="a small one"),
            Case("a small GPT-2", cases.some_lengths, "still others", guards="GPT-2"),
        ),
        clauses=(
            ("with every pass reading its t tokens anew", "a small one"),
            ("with keys and values kept", "GPT-2"),
            ("Returns two whole numbers", "drawn at random"),
        ),
        mutants=mutants.COSTS,
    ),
)
