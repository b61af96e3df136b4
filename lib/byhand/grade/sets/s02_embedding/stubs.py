"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def learn_merges(ids, count):
    """The first `count` merges of byte-pair encoding, an array of whole
    numbers of shape (count, 2).

    ids (n,) are bytes, 0 … 255.  Merge k joins the most frequent pair of
    neighbours into the new id 256 + k, from the left; of equally frequent
    pairs, the lowest one is taken.
    """
    ...


def encode_bytes(ids, merges):
    """The tokens of a text.  ids (n,) are its bytes, merges (m, 2) is what
    learn_merges returns.
    """
    ...


def spell_out(tokens, merges):
    """The bytes of a sequence of tokens (n,): the inverse of encode_bytes."""
    ...


def bag_gradient(dX, ids, V, pad):
    """Backward of the mean of the rows of a text.

    dX (*B, d) is the gradient of the means, ids (*B, n) are the texts, filled
    up with the id pad.  Returns dE (V, d).
    """
    ...


def transformer_input(E, ids, P):
    """What the first block of Vaswani et al. reads: words and positions.

    E (V, d) is drawn with variance 1/d, ids (*B, n), P (n, d) are the
    sinusoids.  Returns X (*B, n, d).
    """
    ...


def tied_gradients(E, P, ids, dZ):
    """Backward of Z = X Eᵀ with X = √d E[ids] + P.

    E (V, d) is the one table of words, P (n, d) the table of places, both
    learned; ids (*B, n), dZ (*B, n, V).  Returns dE (V, d) and dP (n, d).
    """
    ...


def scores_from_counts(counts, k, power):
    """Where skip-gram ends, and how sharp the minimum is there.

    counts (A, C): how often each of A words met each of C contexts, all
    positive; k negatives are drawn from the contexts' counts to the power
    `power`.  Returns s (A, C), the best scores, and bend (A, C), the second
    derivative of each pair's part of the loss at its best score.
    """
    ...


def batch_gradients(U, W, t, c):
    """Gradients of L = −1/n Σ_i Σ_j log σ(y_ij z_ij), z = t U Wᵀ + c, where
    y_ij is 1 for i = j and −1 for all other pairs.

    U (n, d), W (n, d); t and c are numbers.  Returns dU, dW, dt, dc.
    """
    ...


def patch_tokens(image, kernel, b):
    """The tokens of an image, as a convolution whose stride is its width makes
    them.

    image (h, w, c); kernel (d, c, p, p), as torch stores it: filter, channel,
    row, column; b (d,).
    p divides h and w.  Returns X (n, d), patches from left to right, then
    down.
    """
    ...


def longest_first_wins(letters):
    """A text that is cut into fewer tokens if the longest known token is
    always taken first than if the merges are applied in order.

    letters (q,) are different bytes, one, two or three of them.  Returns
    merges (m, 2) and ids (3,): three bytes, among them every one of
    letters and no other.  m is as small as it can be.
    """
    ...


def tokens_of_a_run(n, m):
    """How many tokens runs of one letter become.

    n (q,) are the lengths of the runs, m is the number of merges, learned
    from a very long run of that letter.  Returns whole numbers (q,).
    """
    ...


def draw_negatives(r, counts, contexts, power):
    """The repaired draw.

    r (B, k) are random numbers, 0 ≤ r < 1; counts (V,) says how often each
    word came; contexts (B,) are the true contexts.  Returns ids (B, k).
    """
    ...


def make_tied(V, d, pad):
    """An nn.Module with one table for reading and scoring.

    module(ids) reads: ids (*B, n) -> X (*B, n, d).
    module.score(X) scores: X (*B, n, d) -> logits (*B, n, V).
    """
    ...


def tables_by_hand(themes, belongs, noise, q, k):
    """Two tables, no wider than T, whose scores are the best ones of (2.22).

    themes (A, T) has two ones in each row, the themes of a word; belongs
    (C, T) has a single one in each row, the theme of a context word, and as
    many context words belong to each theme.  noise is the small probability
    ε of (2.23), q (C,) says how often each context word is drawn, k is the
    number of negatives.  Returns U (A, d) and W (C, d), d ≤ T.
    """
    ...
