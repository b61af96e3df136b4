"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def spelled(pieces, p, text):
    """What a text costs, in bits a character, if every token is drawn by
    itself: the piece pieces[i], a string, with probability p[i].

    Each letter of the text is a piece too.  Returns two numbers: the bits a
    character of the likeliest way to cut the text, and those of the text
    itself, whichever way it is cut.
    """
    ...


def discounted(ids, V, history, d):
    """What comes after a history: every count gives up d, and the shorter
    history deals out what was given up.

    ids (T,), the text that is counted, words 0 … V − 1; history (h,), the
    words just before, the newest last, or none at all; d, a number between
    0 and 1.  Returns the probabilities of all words, (V,).
    """
    ...


def windows_for_scoring(ids, n, stride):
    """Cut a text into windows of n tokens, so that every token but the first
    is predicted exactly once.

    ids (T,), with T > n; stride is at most n.  Returns the inputs (k, n) and
    the targets (k, n), −1 where nothing is counted.
    """
    ...


def warmth(logits, T):
    """What temperature T does to one draw from logits (*B, V).

    Returns four arrays (*B,), in nats: the entropy H of the draw, its slope
    dH/dT, the mean surprise S, −ln p of the drawn word at temperature 1, and
    its slope dS/dT.
    """
    ...


def draw_for_all(logits, T, p, u):
    """One word for each of B readers, who want different things.

    logits (B, V); T (B,), temperatures, 0 for the likeliest word; p (B,), the
    mass of the nucleus, above 0 and at most 1; u (B,), numbers in [0, 1).
    Returns the words (B,) and the probabilities (B, V) they are drawn from.
    """
    ...


def name_the_sampler(logits, counts, T, k, p):
    """Which program drew these words?  One of the six names:

    "temperature", "top-k", "top-p", "top-p first", "crossing word lost",
    "softmax twice".
    logits (m, V), those of m places in a text; counts (m, V), how often each
    word was drawn there.  T, k and p are what the program was given.
    """
    ...


def one_more(x, K, V, start, W_q, W_k, W_v, W_o, base):
    """Attention for one new token in each of B rows, with a cache.

    x (B, d); K (B, G, m, k) and V (B, G, m, v), what the columns 0 … m − 1
    left behind, keys turned already; start (B,), the first column of each row
    that is no padding.  W_q (d, H·k), W_k (d, G·k), W_v (d, G·v),
    W_o (H·v, d).  Neighbouring features are turned as pairs, pair i by
    place / base^(2i/k).
    Returns the output (B, d), and K and V with the new column.
    """
    ...


def bill_of_writing(P, L, full, w, H, G, d_k, size, B, n, s):
    """What a decoder moves to write, in bytes; every number takes `size`.

    P parameters; L layers with H heads of queries and G of keys and values,
    all d_k wide; `full` layers see the whole text, the others keep and see
    the last w tokens.  B texts have n tokens each, and get s more.
    Returns three numbers: the bytes of the cache at n tokens; those read from
    memory while the s tokens are written; and the length at which the cache
    is as large as the parameters.
    """
    ...


def drafted(p, q, g):
    """A small model's words q (V,), checked by a large one, p (V,).

    Returns the share of drafts that are accepted; the probabilities (V,) from
    which a word is drawn in the place of a refused one; and the words that a
    pass of the large model yields on average, with g drafts.
    """
    ...


def stale_masks(L):
    """Masks (L, n, n), True where row i sees token j, for L blocks with a
    cache: block 0 is the lowest.

    Every token sees itself.  With all L blocks the cache gives other logits
    than a pass over the whole text; with any L − 1 of them it gives the same.
    As few tokens as possible.
    """
    ...


def copying_score(A, ids):
    """How much do heads look at what came after the same word before?

    A (H, n, n), causal attention weights of H heads; ids (n,), the words.
    Returns the scores (H,), and what a head would score that spreads its
    weights evenly.
    """
    ...


def copying_model(V, p):
    """Two layers of one head: after each word, what came after it before.

    A row is four parts side by side: word (V), place (2 V), before (V) and
    next (V).  Layer: A = softmax of X M Xᵀ, causal, without a scale; then
    X becomes X + A X N.
    Returns M_1, N_1, M_2, N_2, all (5 V, 5 V).
    """
    ...
