"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def layer_norm(X, gamma, beta, eps):
    """LayerNorm of each token: X (*B, d), gamma and beta (d,), eps > 0 ->
    Y (*B, d).
    """
    ...


def layer_norm_gradients(dY, X_hat, s, gamma):
    """Backward of Y = gamma * X_hat + beta with X_hat = (X − mean) / s over
    the last axis.

    dY, X_hat (*B, d); s (*B, 1) is the root of variance plus ε, kept from the
    forward pass; gamma (d,).
    Returns dX (*B, d), dgamma (d,), dbeta (d,).
    """
    ...


def rms_norm_gradients(dY, X, gamma, eps):
    """Backward of Y = gamma * X / r with
    r = √(mean of X² over the last axis + eps).

    dY, X (*B, d), gamma (d,).  Returns dX (*B, d) and dgamma (d,).
    """
    ...


def batch_norm_step(X, mean, var, momentum, eps):
    """One training step of a BatchNorm without gain and shift, on X (B, n, d),
    whose features are the last axis.

    mean and var (d,) are the running statistics before the step.
    Returns X_hat (B, n, d) and the running mean and variance after the step,
    (d,) each.
    """
    ...


def standardize_real(X, lengths, kind, eps):
    """Standardise padded sequences X (B, n, d) with statistics of the real
    tokens alone.

    lengths (B,), one or more each: how many tokens of each sequence are real;
    they come first.
    kind is "token" (over the features of each token) or "instance" (each
    feature of each sequence, over its tokens).  Padding comes out as zeros.
    """
    ...


def two_norms(variance, eps):
    """Eigenvalues of the Jacobian of two standardisations in a row, at a token
    of the given variance: x -> x̂ = (x − mean) / √(variance + eps), and then
    the same once more on x̂.

    Returns three numbers: for the direction of all ones, for the direction x̂,
    and for all directions orthogonal to both.
    """
    ...


def where_norms_agree(n):
    """A matrix X (n, n), n tokens of n features, on which LayerNorm and
    BatchNorm agree: eps = 0, no gain, no shift.

    No row and no column of X is constant.
    """
    ...


def fold(A, c, gamma, beta, W, b):
    """Turn  H -> LayerNorm(H A + c) W + b  into
    H -> RMSNorm(H A2 + c2) W2 + b2, with the same output for every H.

    A (k, d), c, gamma and beta (d,), W (d, m), b (m,).  The RMSNorm has the
    same eps, and neither gain nor shift.
    Returns A2, c2, W2, b2, shaped as A, c, W, b.
    """
    ...


def normed_score_gradients(dS, Q, K, gamma_q, gamma_k):
    """Backward of S = A Cᵀ / √d, where A = gamma_q * Q̂ and C = gamma_k * K̂,
    and every row of Q̂ and K̂ is that of Q and K, divided by the root of the
    mean of its squares.

    dS (*B, n, m), Q (*B, n, d), K (*B, m, d), gamma_q and gamma_k (d,).
    Returns dQ, dK, dgamma_q, dgamma_k.
    """
    ...


def make_layer_norm(d, eps):
    """A LayerNorm of d features as an nn.Module, with two parameters called
    weight and bias, both (d,), that begin as ones and zeros.

    It takes X (*B, d) and returns Y of the shape and the dtype of X.
    bfloat16 is reckoned in float32, float64 in float64.
    """
    ...


def weight_at_rest(eta, decay, c):
    """Where the length of a weight matrix W that feeds a norm comes to rest
    under the steps  W <- (1 − eta decay) W − eta dW.

    c is the length of the gradient dW wherever W has length 1.
    Returns two numbers: the length of W at rest, and there the length of
    eta dW as a share of the length of W.
    """
    ...


def merge_statistics(means, variances, counts):
    """Mean and variance of all rows, from those of k parts.

    means and variances (k, d): of each part, the variance with 1/N;
    counts (k,): the parts may have different numbers of rows.
    Returns mean (d,) and variance (d,), with 1/N, of all rows together.
    """
    ...
