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

    lengths (B,) says how many tokens of each sequence are real; they come
    first.  kind is "token" (over the features of each token) or "instance"
    (each feature of each sequence, over its tokens).  Padding comes out as
    zeros.
    """
    ...


def jacobian_values(d, variance, eps):
    """Eigenvalues of the Jacobian of x -> x̂ = (x − mean) / √(variance + eps)
    at a token of d features.

    Returns three numbers: for the direction of all ones, for the direction x̂,
    and for all directions orthogonal to both.
    """
    ...


def name_the_norm(X, Y, eps):
    """What was computed?  X and Y (n, d), no gain, no shift.  One of the six
    names:

    "correct", "divided by d - 1", "1/d forgotten", "epsilon outside",
    "over the tokens", "mean not taken away".
    """
    ...
