"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def leak(f, X, new, t):
    """How far the rows of f(X) before t move when the tokens from t on are
    those of `new`: one number, the largest.

    f takes (*B, n, d) to (*B, n, c); X and new (*B, n, d); 0 < t < n.  A
    causal f gives exactly 0.
    """
    ...


def padded_weights(S, lengths):
    """Attention weights of a padded batch: sequence b has lengths[b] real
    tokens, the rest is filler.

    S (B, n, n) are scaled scores, rows are queries; lengths (B,).  Returns
    A (B, n, n), softmax along each row.
    A sequence of length 0 has weights 0 everywhere.
    """
    ...


def teacher_forcing(ids, bos):
    """What a causal language model is trained on, so that every word of the
    text is predicted once.

    ids (*B, n) is the text.  Returns inputs (*B, n), targets (*B, n), and
    M (n, n), True = may attend.
    """
    ...


def mask_jacobians(s, mask):
    """Jacobians J[j, l] = ∂a_j/∂s_l of one row of weights, masked before and
    masked after the softmax.

    s (m,) scores; mask (m,) boolean, with at least one True.  Returns before
    (m, m) and after (m, m).
    """
    ...


def name_the_mask(S, A):
    """How was the causal mask applied to these weights?  One of the five
    names:

    "correct", "after the softmax", "scores times mask", "off by one",
    "softmax over queries".
    S (n, n) are the scaled scores, A (n, n) the weights.
    """
    ...


def masked_pool(X, real, dy):
    """Mean of the real tokens of each sentence, forward and backward.

    X (*B, n, d); real (*B, n) boolean; dy (*B, d) is the gradient of the mean.
    Returns y (*B, d) and dX (*B, n, d).
    A sentence without a real token has y = 0 and sends nothing back.
    """
    ...
