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


def name_the_sum(X, F, Y):
    """What was added?  X, F, Y (n, d), F the sublayer's output; LN is
    LayerNorm without ε, gain and shift.

    One of: "X + F", "LN(X + F)", "LN(X) + F", "X + LN(F)", "F".
    """
    ...


def last_layer_bound(layers, v, g, h):
    """Size of a pre-norm stream, and the bound on its last weight gradient, at
    the start.

    The stream begins with mean square 1; each of the 2·layers sublayers adds
    an independent note of mean square v.
    After the final norm comes an upstream gradient of norm g; h is the largest
    singular value of the hidden layer H.
    Returns rms of the stream at its end, and the bound on ‖dW_2‖ for the last
    sublayer H W_2.
    """
    ...


def first_loss(X, W, target):
    """Mean cross-entropy of logits X W at the start, without and with a final
    norm (LayerNorm, no ε, gain or shift).

    X (n, d) is the end of a pre-norm stream, W (d, V), target (n,) whole
    numbers.  Returns without, with_norm.
    """
    ...


def deep_start(layers):
    """Numbers for a stack of so many layers, two sublayers each, standing
    alone.

    Returns alpha and beta of DeepNorm, and the deviation of GPT-2's last
    matrices (0.02 is that of the others).
    """
    ...
