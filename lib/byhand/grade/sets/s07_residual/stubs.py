"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def wire(X, W, gamma, wiring, alpha):
    """One residual connection around F(X) = tanh(X W), with RMSNorm without ε:
    γ x / √(mean of x²).

    X (*B, n, d), W (d, d), gamma (d,), alpha a number; wiring is "pre", "post"
    or "none".  Returns Y (*B, n, d).
    """
    ...


def wire_gradient(dY, X, W, gamma, wiring, alpha):
    """The gradient of X for the connection of `wire`: dY, X (*B, n, d) -> dX
    (*B, n, d).
    """
    ...


def sum_over_paths(slopes):
    """N scalar layers x + f_l(x) with slopes s_l, (N,), of the f_l.

    Returns terms (N + 1,): entry k is the sum, over all paths through exactly
    k sublayers, of the product of slopes.
    """
    ...


def repaired_stack(X, W, gamma, last):
    """A pre-norm stack of N sublayers tanh(x̄ W_l), with RMSNorm without ε.

    X (*B, n, d), W (N, d, d), gamma (N, d), last (d,) the gain of the final
    norm.  Returns Y (*B, n, d), the normalised end of the stream, and
    kept (N, *B, n, d), the stream as each sublayer finds it, before its norm.
    """
    ...


def stream_size(wiring, N, v, alpha):
    """Root mean square of a stream αx + F after N sublayers, if it begins with
    1; and the share of the last remark F, its size over that of x, the stream
    before that sublayer.

    wiring is "pre", "raw", "sandwich" or "post".  Returns size and share.
    """
    ...


def first_loss(X, W, target):
    """Mean cross-entropy of logits X W at the start, without and with a final
    norm (LayerNorm, no ε, gain or shift).

    X (n, d) is the end of a pre-norm stream, W (d, V), target (n,) whole
    numbers.  Returns without, with_norm.
    """
    ...


def other_deep_start(layers, sublayers, matrices):
    """α and β for a deep post-norm stack with so many sublayers a layer and so
    many matrices in each branch; and the deviation of the last matrix of each
    branch for a pre-norm stack, where the others have 0.02.

    Returns alpha, beta, deviation.
    """
    ...


def equal_voices(N, v):
    """Weights a, b (N,), not negative, for x_{l+1} = a_l x_l + b_l F_l, where
    x_0 has mean square 1 and each F_l has v, all of them independent.

    After every sublayer the stream has mean square 1, and x_0 and the remarks
    so far have equal shares in it.  Returns a, b.
    """
    ...


def where_they_part(d):
    """The smallest case in which a pre-norm stack with a final norm differs
    from a post-norm stack.

    Returns x (d,), a token with mean square 1, and W (N, d, d), the matrices
    of sublayers F_l(x) = x W_l: N as small as it gets, and the two ends at
    least 0.1 apart in some feature.
    """
    ...


def make_droppable(sublayer, p):
    """An nn.Module for X + F(X), where F is the nn.Module sublayer.

    In training, each sequence of X (B, n, d) loses its whole remark with
    probability p; the remarks that stay are scaled, so that the expected
    output is X + F(X), which is also what evaluation gives.
    """
    ...


def after_a_lesion(slopes, removed):
    """Scalar layers x + f_l(x) with positive slopes, (N,); those whose indices
    are in removed, (k,), become the identity.

    Returns paths, how many of the paths are left; share, what is left of the
    derivative; and length, the mean number of sublayers on a path that is
    left, each path weighted by its product of slopes.
    """
    ...
