"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def attention(Q, K, V, mask=None):
    """Scaled dot-product attention.

    Q (*B, n, d_k), K (*B, m, d_k), V (*B, m, d_v); mask is boolean, True = may
    attend, and broadcasts to (*B, n, m).
    Returns O (*B, n, d_v) and A (*B, n, m).  A row with no key left is all
    zeros, in A and in O.
    """
    ...


def softmax_vjp(dA, A):
    """Backward of A = softmax(S) along the last axis, without building a
    Jacobian: dA, A (*B, n, m) -> dS.
    """
    ...


def attention_gradients(dO, Q, K, V, A):
    """Backward of O = A V with A = softmax(Q Kᵀ / √d_k), where A is kept from
    the forward pass.

    Q (*B, n, d_k), K (*B, m, d_k), V (*B, m, d_v), A (*B, n, m), dO
    (*B, n, d_v).  Returns dQ, dK, dV.
    """
    ...


def bias_gradients(dO, dS, A, Q, K):
    """Gradients of b_q, b_k, b_v in Q = X W_q + b_q, K = X W_k + b_k,
    V = X W_v + b_v.

    dO (n, d_v), A (n, n); Q, K (n, d_k); dS (n, n) is the gradient of the
    scores after the division by √d_k.
    Returns db_q (d_k,), db_k (d_k,), db_v (d_v,).
    """
    ...


def scores_of_rank(n, d_k, r):
    """Q and K, both (n, d_k), such that Q Kᵀ has rank r; if r is out of reach,
    the largest rank that is not.
    """
    ...


def score_variance(d, mean_q, var_q, mean_k, var_k):
    """Variance of q · k for vectors of d entries, all 2d of them independent.

    Each entry of q has mean mean_q and variance var_q, each entry of k has
    mean_k and var_k.
    """
    ...


def diagnose(Q, K, A, d_model):
    """What happened to these attention weights?  One of the five names:

    "correct", "softmax over queries", "no scale", "divided by d_k",
    "divided by sqrt(d_model)".
    Q (n, d_k), K (m, d_k), A (n, m).
    """
    ...


def additive_weights(Q, K, W_q, W_k, w):
    """Additive alignment: the score of query i and key j is
    w · tanh(q_i W_q + k_j W_k).

    Q (*B, n, d_q), K (*B, m, d_k), W_q (d_q, h), W_k (d_k, h), w (h,).
    Returns the scores S (*B, n, m) and A = softmax(S) over the keys.
    """
    ...
