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


def table_gradient(dX, ids, V, scale):
    """Backward of X = scale · E[ids]: dX (*B, d) and ids (*B) -> dE (V, d)."""
    ...


def transformer_input(E, ids, P):
    """What the first block of Vaswani et al. reads: words and positions.

    E (V, d) is drawn with variance 1/d, ids (*B, n), P (n, d) are the
    sinusoids.  Returns X (*B, n, d).
    """
    ...


def tied_gradient(E, ids, dZ):
    """Backward of Z = X Eᵀ with X = √d E[ids], one table for both.

    E (V, d), ids (n,), dZ (n, V).  Returns dE (V, d).
    """
    ...


def best_score(p_joint, p_word, q, k):
    """The score s of a pair at which −p_joint log σ(s) − k p_word q log σ(−s)
    is smallest.

    p_joint, p_word and q are arrays of one shape, all positive; k is a number.
    """
    ...


def pair_gradients(u, w_true, W_drawn):
    """Gradients of L = −log σ(u · w_true) − Σ_j log σ(−u · w_j), where w_j is
    row j of W_drawn.

    u (d,), w_true (d,), W_drawn (k, d).  Returns du, dw_true, dW_drawn.
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
