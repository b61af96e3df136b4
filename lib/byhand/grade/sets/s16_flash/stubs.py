"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def roof(tokens, d_in, d_out, itemsize, peak, bandwidth):
    """A linear map without bias: its operations for a byte, and the least
    seconds that it takes under the roofline.
    """
    ...


def merge(m_a, l_a, o_a, m_b, l_b, o_b):
    """The maxima, sums and weighted values of two sets of keys, read together.

    m_a and m_b (*B, n), -inf where nothing was read; l_a and l_b (*B, n); o_a
    and o_b (*B, n, d).  Returns m, l and o.
    """
    ...


def attend(Q, K, V, block):
    """Attention of Q (n, d) to K (m, d) and V (m, c), scaled by 1/sqrt(d),
    that reads block keys at a time.  Returns O (n, c).
    """
    ...


def grouped_backward(dO, Q, K, V, O, L):
    """Gradients of attention whose heads share keys, from L and O alone.

    dO and O (H, n, c), Q (H, n, d), K (G, m, d), V (G, m, c), L (H, n).
    Returns dQ, dK and dV.
    """
    ...


def cache_of(layers, heads, groups, d_k, tokens, window, itemsize, budget):
    """Bytes of keys and values of one sequence, where every second layer,
    beginning with layer 1, has a window; and how many such sequences fit into
    a budget of bytes.
    """
    ...


def go_on(Q, K, V, R, z):
    """Causal linear attention that goes on from the state R (d, c) and z (d,).

    Q and K (n, d) are positive features already, V (n, c).  Returns O (n, c),
    and R and z after the last token.
    """
    ...


def scaled_step(weights, grads, scale, rate, max_norm):
    """One step of gradient descent from float16 gradients of scale times the
    loss.  weights and grads (n, d).  Returns weights and the next scale.
    """
    ...


def accumulated(W, X, Y, mask):
    """The gradient with respect to W (d, c) of the mean squared length of
    X W - Y over all real tokens, one sequence at a time.

    Tensors X (b, n, d), Y (b, n, c), mask (b, n) with True for a real token.
    """
    ...


def exponent(N, bits, floor):
    """The exponent p of mean bits = floor + a / N^p, and the least and the
    greatest p with one seed left out.  N (k,), bits (k, s): a row a size, a
    column a seed.
    """
    ...


def timing_fault(seconds, flops, peak):
    """Of timings of one call, seconds (r,) in the order they were taken:
    "no synchronise", "first call", "noise" or "sound".
    """
    ...


def split_bill(n, d, heads, groups, d_ff, layers, vocab, causal):
    """Operations of one forward pass of a decoder over n tokens: of the
    embedding, the maps of attention, scores and weighted sums, feed-forward,
    and the logits; and the length at which scores and weighted sums are half
    of a block.
    """
    ...
