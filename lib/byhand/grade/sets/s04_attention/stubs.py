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


def sink_gradients(dO, Q, K, V, A):
    """Backward of attention with a sink of score b:
    a_ij = exp(s_ij) / (exp(b) + Σ_l exp(s_il)), S = Q Kᵀ / √d_k, O = A V.

    Q (*B, n, d_k), K (*B, m, d_k), V (*B, m, d_v), A (*B, n, m), dO
    (*B, n, d_v).  Returns dQ, dK, dV, and db, one number.
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


def related_score(d_k, rho, fourth):
    """Mean and variance of s = q · k / √d_k, where k = ρ q + √(1 − ρ²) z.

    All entries of q and z are independent, with mean 0, variance 1, third
    moment 0 and fourth moment E[q⁴] = fourth.  Returns two numbers.
    """
    ...


def diagnose(Q, K, A, d_model):
    """What happened to these attention weights?  One of the five names:

    "correct", "softmax over queries", "no scale", "divided by d_k",
    "divided by sqrt(d_model)".
    Q (n, d_k), K (m, d_k), A (n, m).
    """
    ...


def cosine_gradients(dS, Q, K, T):
    """Backward of S = Q̂ K̂ᵀ / T, where the rows of Q̂ and K̂ are those of Q
    and K, each divided by its length.

    Q (*B, n, d_k), K (*B, m, d_k), dS (*B, n, m); T is one number.
    Returns dQ, dK, and dT, one number.
    """
    ...


def blind_test(p):
    """Q (n, d_k) and K (m, d_k), made of as few numbers as can be, for which
    softmax over the keys and softmax over the queries give the same weights,
    and the largest weight is p (0.5 < p < 1).
    """
    ...


def after_change(a, change, j):
    """The weights of one query after a change, from its weights a (m,) alone.

    change is "all higher", "doubled", "forbidden" or "twice"; the last two
    concern key j, counted from 0.
    """
    ...


def previous_token(n, p):
    """Q and K, both (n, 2), such that every token but token 0 gives at least
    the weight p to the token before it.
    """
    ...


def attention_without_nan(Q, K, V, mask):
    """Attention in PyTorch under a boolean mask (True = may attend).

    Q (*B, n, d_k), K (*B, m, d_k), V (*B, m, d_v); mask broadcasts to
    (*B, n, m).  Returns O (*B, n, d_v), through which autograd can go back.
    """
    ...


def entropy_slope(S, beta):
    """Entropy of the weights softmax(beta S), and its derivative by beta.

    S (*B, m), beta is one number.  Returns H (*B) and slope (*B).
    """
    ...
