"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def shift(texts, lengths, bos, pad, ignore):
    """What a decoder reads and what it is to say, for a batch of padded texts.

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


def can_reach(masks):
    """Which inputs can each output of a stack know about?

    masks (L, n, n) is boolean, first block first: True where row i of the
    block's attention reads row j.  Every block has its residual path.
    Returns (n, n), True where row i of the output can depend on row j of the
    input.
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


def backwards_head(n, V):
    """Weights of one cross-attention head that writes a source backwards.

    Source and target have n tokens.  A token is a vector of d = V + n
    features: a one for its word among the first V, a one for its place among
    the last n, and zeros.
    Returns W_q, W_k (d, d_k), with any d_k, and W_v (d, V), so that row i of
    softmax(Y W_q (M W_k)ᵀ / √d_k) M W_v points at the word of source place
    n − 1 − i, with a weight of 0.99 or more on that place.
    """
    ...


def greedy_loses(V, r):
    """A model of texts of two words out of V, for which greedy writing fails.

    Returns first (V,), the probabilities of the first word, and second (V, V),
    row v those of the second word after word v.  The most probable text must
    be more than r times as probable as the greedy one, for 1 <= r < V, and
    greedy must never meet a tie.
    """
    ...


def write_with_cache(ids, steps, E, P, W_q, W_k, W_v):
    """Write words with a decoder of one head, reading every word once.

    Row i of the input is x_i = E[w_i] + P[i], and h_i = x_i + o_i, where o_i
    is causal attention with queries X W_q, keys X W_k and values X W_v, scores
    divided by √d_k; the logits are h_i Eᵀ.
    ids is a list of words, one or more; E (V, d), P (n_max, d), W_q and W_k
    (d, d_k), W_v (d, d).  All are tensors that require gradients.
    Returns the `steps` words that are written, always that of the highest
    score, and the logits (steps, V) that chose them, without a graph.
    """
    ...


def text_score(logits, text, eos):
    """Log-probability of a text and its end.

    logits (t + 1, V): row i scores the word that follows BOS and the first i
    words of the text.  text is a list of t ids, without BOS and without eos.
    """
    ...


def cost_of_writing(V, d, L, n):
    """Operations of the matrix products, for a decoder that writes n words.

    Width d, inner width 4 d, L blocks, V words.  Pass t of n has read t tokens
    when it scores, for its last row alone, the next word.
    Returns two whole numbers: with every pass reading its t tokens anew, and
    with keys and values kept, so that each pass reads one new token.
    """
    ...
