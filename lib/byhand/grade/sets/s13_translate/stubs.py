"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def make_batch(sources, targets, pad, bos, eos, ignore):
    """Pairs of sentences as one batch: what is read, and what is to be said.

    sources and targets are lists of B lists of ids, without bos and eos.
    Returns source (B, m), the boolean real (B, m), True where source holds a
    word, inputs (B, n) and labels (B, n).
    Rows end in pad, those of labels in ignore.
    """
    ...


def smoothed_translation(logits, labels, pad, eps):
    """Cross-entropy with smoothing that never says PAD.

    logits (B, n, V); labels (B, n), whole numbers, −1 where a row has ended,
    never pad.  q is 1 − eps at the label, 0 at pad, and eps / (V − 2) at every
    other word.
    Returns L, the mean over all words that count, dlogits (B, n, V), and the
    bound that L cannot fall below.
    """
    ...


def shared_source_gradients(dO, Y, M, real, W_q, W_k, W_v):
    """One source, read by R translations: the gradients on the source's side.

    O = softmax(Y W_q (M W_k)ᵀ / √d_k) M W_v, where a row of M may be read if
    real (m,) is True.
    Y (R, n, d); M (m, e); W_q (d, d_k), W_k (e, d_k), W_v (e, d_v); dO
    (R, n, d_v).
    Returns dM (m, e), dW_k and dW_v.
    """
    ...


def write_batch(step, B, bos, eos, pad, max_len):
    """Greedy translations of B sources, written side by side.

    step(prefixes) takes ids (B, t), each row beginning with bos, and returns
    log p (B, V) of the next word of every row.
    Returns text (B, T) without bos, T the words of the longest row, log_p
    (B,) and words (B,), how many a row has; eos counts as a word.
    """
    ...


def beam_step(log_p, lengths, finished, Y, eos, alpha):
    """One step of a beam search in which finished sentences keep their place.

    log_p (B, k), the sum so far; lengths (B, k), words so far, eos counted;
    finished (B, k), boolean; Y (B, k, V), log p of the next word.
    Returns the k best of each source, best first: parent (B, k), the place
    they come from, word (B, k), and the new log_p and lengths (B, k).
    """
    ...


def wider_is_worse(V, r):
    """A model of texts of three words out of V, for which a beam of two does
    worse than greedy writing.

    Returns first (V,), second (V, V) and third (V, V, V): the probabilities of
    the first word, of the second after each first word, and of the third after
    each two.  Greedy writing finds a text more than r times as probable as the
    one that the beam finds, for 1 <= r < V and V >= 3.
    """
    ...


def bleu(hypotheses, references, order):
    """BLEU of a corpus.

    hypotheses, a list of lists of words; references[i], the list of the
    references of hypotheses[i], each a list of words.
    Returns the precisions p_1 … p_order (order,), the brevity penalty, and the
    score, from 0 to 100.
    """
    ...


def after_a_slip(n, place):
    """BLEU of three translations that make one slip, from 0 to 100.

    The one reference has n words, all different.  In the translations the word
    at `place`, counted from 0, is replaced by a word that is not in the
    reference; left out; or said twice in a row.
    Returns the three scores, with n-grams up to 4.
    """
    ...


def alignment_error(A, targets, sources, sure, possible):
    """Alignment error rate of cross-attention, over a corpus.

    A (B, H, n, m), weights of H heads, row t of a query that writes target
    word t; targets (B,) and sources (B,), the words of each sentence.
    sure (B, n, m), boolean; possible (B, n, m), boolean, the links that are
    possible and not sure.
    Returns the rate, from 0 to 1.
    """
    ...


def name_the_words(table, bos, eos, references, text):
    """Which words did the model read before it wrote these?  One of the five
    names:

    "own words", "right words", "own words, right length",
    "the word itself", "another source".
    table (B, V): the word that the model writes for source b after word w.
    references (B, n) and text (B, l) end with eos where they end, and hold −1
    behind their ends.
    """
    ...


def leaked(train, test):
    """The share of test sentences that are at most one word away from some
    training sentence: equal, or one word replaced, added or left out.

    train and test are lists of lists of ids, each of one word at least.
    """
    ...


def read_source(Y, M, lengths, W_q, W_k, W_v, heads):
    """Cross-attention of several heads over padded sources, in PyTorch.

    Y (B, n, d), M (B, m, d), of which the first lengths[b] rows are real;
    W_q, W_k, W_v (d, d), whose columns are cut into `heads` equal parts.
    Returns (B, n, d), the heads side by side.
    """
    ...


def what_beta_weighs(P, R, beta):
    """How F = (1 + beta²) P R / (beta² P + R) answers to precision and recall.

    Returns the slope of F by P, the slope of F by R, and the quotient R / P at
    which the two slopes are equal.
    """
    ...
