"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def moved_code(delta, d, base):
    """M (d, d) with PE(p + delta) = PE(p) M for every place p, where codes are
    rows.

    PE(p) = (sin p ω_0, cos p ω_0, sin p ω_1, cos p ω_1, …) with
    ω_i = base^(−2i/d).  delta may be any real number.
    """
    ...


def turned_pairs(X, dY, positions, base):
    """Rotary positions, forward and backward, on neighbouring pairs of
    features.

    X, dY (*B, n, d), positions (n,) whole numbers.  Pair i of token t is
    turned by positions[t] · base^(−2i/d).
    Returns Y and dX, both (*B, n, d).
    """
    ...


def name_the_slip(PE):
    """What happened to this table of sinusoids, PE (n, d)?  One of the six
    names:

    "correct", "base 1000", "base 100000", "2i doubled", "counted from one",
    "sines first".
    """
    ...


def rotary_attention(Q, K, V, positions, base):
    """Attention of several heads that knows the distance between tokens and
    nothing else about where they stand.

    Q, K, V (H, n, d_k) are already projected, one matrix for each head;
    positions (n,).  Turn what must be turned, by pairs of neighbours; scale by
    √d_k; softmax over the keys.  Returns the heads side by side, (n, H · d_k).
    """
    ...


def other_pairing(W, heads):
    """Weights for a program that pairs features i and i + d_k/2, from weights
    for one that pairs neighbours.

    W (d, heads · d_k) makes the queries (or keys) of all heads, head by head.
    The scores must stay the same.
    """
    ...


def code_distance(delta, d, base):
    """Squared length of PE(p + delta) − PE(p), a number that does not depend
    on p.
    """
    ...


def bias_table_gradient(dS, reach):
    """Gradient of a table of relative biases.

    dS (*B, H, n, m) is the gradient of the scores;
    table[h, reach + clip(j − i, −reach, reach)] was added to score (h, i, j)
    of every sequence.  Returns dtable (H, 2 · reach + 1).
    """
    ...
