"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def shift(texts, lengths, bos, pad, ignore):
    """What a decoder reads and what it must say, for a batch of padded texts.

    texts (B, n) holds ids; the first lengths[b] of row b are real.  Returns
    inputs and labels, both (B, n):
    inputs begin with bos and hold pad where nothing is to be said, labels hold
    ignore there.
    """
    ...


def memory_gradient(dY, Y, A, W):
    """Backward of L blocks that read one memory M:
    Y[l] = tanh(Y[l - 1] + A[l - 1] M W[l - 1]) for l = 1 … L.

    Y (L + 1, n, d) holds the input Y[0] and every output; A (L, n, m) and
    W (L, d_m, d) are constants.
    dY (n, d) is the gradient of Y[L].  Returns dM (m, d_m) and the gradient
    dY0 (n, d) of Y[0].
    """
    ...


def what_was_sent(terms, dM):
    """Which gradient did this decoder send to its encoder?  One of the five
    names:

    "correct", "only the last block", "only the first block",
    "mean over the blocks", "last block twice".
    terms (L, m, d) holds what each block contributes, first block first; dM
    (m, d) is what was sent.
    """
    ...


def cross_attention(Y, M, W_q, W_k, W_v, mask=None):
    """One head by which a decoder reads a memory, without biases.

    Y (*B, n, d) comes from the decoder, M (*B, m, d) from the encoder; W_q,
    W_k (d, d_k), W_v (d, d_v).
    mask is boolean, True = may attend, and broadcasts to (*B, n, m); every row
    has a key that it may see.
    Returns O (*B, n, d_v) and the weights A (*B, n, m).
    """
    ...


def two_uses_gradient(E, ids, dX, H, dZ, scale):
    """Gradient of a table that is used twice: X = scale · E[ids] below,
    Z = H Eᵀ above.

    E (V, d), ids (*B, n), dX and H (*B, n, d), dZ (*B, n, V).  Returns dE
    (V, d).
    """
    ...


def greedy(step, bos, eos, max_len):
    """Write a text with a decoder, always the word of the highest score, until
    it says eos.

    step(prefix) takes a list of t ids that begins with bos and returns logits
    (t, V), row i for the word after prefix[i].  Returns a list of ids without
    bos and without eos, at most max_len long.
    """
    ...


def count(V, n_max, d, f, L):
    """Parameters of a GPT-like decoder, and the length at which scores and
    mixing cost as much as all else in a block.

    V words, n_max learned places, width d, inner width f, L blocks; biases
    everywhere, LayerNorms with gain and shift, a last norm, a tied head.
    Returns two whole numbers: N, and the length n.
    """
    ...
