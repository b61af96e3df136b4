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


def mean_of_means(L, real):
    """The mean over sentences of the mean loss of each, and its gradient.

    L (B, n) losses; real (B, n) boolean.  Returns loss, one number, and dL
    (B, n).
    Sentences without a real token do not count.
    """
    ...


def additive_mask(x, lengths):
    """Causal and padding mask of a batch, to be added to the scores.

    x (B, n, d) is the batch, lengths (B,) whole numbers.  Returns C
    (B, 1, n, n) of zeros and −∞, with the dtype of x, on the device of x.
    """
    ...


def two_step_mask(n):
    """A causal mask with at most 2√n keys in a row, through which each token
    hears itself and all before it in two layers.

    Returns M (n, n), True = may attend.
    """
    ...


def left_padded(lengths, n):
    """Causal mask and positions of a batch whose filler stands on the left.

    lengths (B,) whole numbers: in sequence b the last lengths[b] of n tokens
    are real.  Returns M (B, n, n), True = may attend, and places (B, n).
    """
    ...


def pairs_left(lengths, w):
    """How many pairs (query, key) does a causal window of width w leave where
    several texts are packed into one row?

    lengths (k,) whole numbers, one a text.  Returns the number.
    """
    ...
