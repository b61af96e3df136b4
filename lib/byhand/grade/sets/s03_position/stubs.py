"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def moved_code(delta, d, base):
    """M (d, d) with PE(p + delta) = PE(p) M for every place p, where codes are
    rows.

    PE(p) = (sin p ω_0, cos p ω_0, sin p ω_1, cos p ω_1, …) with
    ω_r = base^(−2r/d).  delta is any real number.
    """
    ...


def turned_pairs(X, dY, positions, base):
    """Rotary positions, forward and backward, on neighbouring pairs of
    features.

    X, dY (*B, n, d), positions (n,) whole numbers.  Pair r of token t is
    turned by positions[t] · base^(−2r/d).
    Returns Y and dX, both (*B, n, d).
    """
    ...


def first_collision(periods, wave):
    """The smallest number of rows with which a table of codes has two equal
    rows.

    periods (N,), whole numbers.  Row p = 0, 1, 2, … has for each period T
    both sin(2π p / T) and cos(2π p / T) if wave is "both", the sine alone if
    it is "sin", the cosine alone if it is "cos".  Returns n.
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
    """Weights for a program that pairs features r and r + d_k/2, from weights
    for one that pairs neighbours.

    W (d, heads · d_k) makes the queries (or keys) of all heads, head by head.
    The scores stay the same.
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


def first_negative_score(x, base):
    """Query and key are the same vector x (d,), each turned by its place, on
    neighbouring pairs.

    Returns delta, the smallest whole distance at which their dot product is
    negative, and score, the product there.
    """
    ...


def head_that_looks_back(back, n, d_k, base):
    """A query q (d_k,) and a key k (d_k,), the same for every token, for a
    head with rotary positions 0, 1, …, n − 1 and no mask.

    Turned by neighbouring pairs and scaled by 1/√d_k, they give each token
    at place i ≥ back at least 0.9 of its weight at place i − back.
    Returns q, k.
    """
    ...


def make_rotary(d, base, longest):
    """An nn.Module for rotary positions on neighbouring pairs of features.

    module(X, positions=None) turns X (B, n, d); positions (B, n) are whole
    numbers below longest, None stands for 0, 1, …, n − 1.
    cos and sin of all places are buffers, made in float64.
    """
    ...


def continued_attention(Q, K, V, keys, values, base):
    """Causal attention with rotary positions for new tokens, after m old ones.

    Q, K, V (n, d_k) are the new tokens', not turned; keys, values (m, d_k)
    those of the old ones, at places 0, 1, …, m − 1; keys are turned already.
    Returns O (n, d_k) and all keys, turned, (m + n, d_k).
    """
    ...


def stretched(reach, s, d, base):
    """Rotary width d (4 or more), trained with distances up to reach; now s
    times as far.

    Returns strangers, the number of clocks that make less than a full turn
    within the distance reach, and new_base, with which the slowest clock
    turns at s · reach as far as it did at reach.
    """
    ...
