"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def rnn_gradients(dH, X, H, h0, W_x, W_h):
    """Backpropagation through time for h_t = tanh(x_t W_x + h_{t-1} W_h + b).

    dH, H (*B, n, h), X (*B, n, d), h0 (*B, h), W_x (d, h), W_h (h, h).
    Returns dX, dW_x, dW_h, db (h,) and dh0; dH counts only the direct way from
    each state to the loss.
    """
    ...


def growing_matrix(radius, steps, gain):
    """W (2, 2) with eigenvalues no larger than radius in size, for which the
    largest singular value of W to the power of steps is at least gain.
    """
    ...


def steps_until(bias, share):
    """The smallest number k of steps, 1 at least, after which no more than the
    given share of an LSTM's cell is left, if its forget gate has this bias and
    sees nothing else.
    """
    ...


def leaky_gradients(dH, N, Z, h0):
    """Backward of h_t = (1 - z_t) * n_t + z_t * h_{t-1}, entry by entry, where
    n_t and z_t do not depend on the states.

    dH, N, Z (*B, n, h), h0 (*B, h).  Returns dN, dZ, dh0.
    """
    ...


def long_memory(d, h, steps):
    """An nn.LSTM from d to h numbers with batch_first=True that keeps 1/e of
    its cell over so many steps.

    Together its biases give the forget gate ln(steps - 1) and every other gate
    0.
    """
    ...


def dilations_for(kernel, distance):
    """The dilations of a causal stack of convolutions, a list of whole numbers
    with the first layer first: as few layers as there can be such that an
    output depends on the token that many places before it and on all between.
    """
    ...


def strided_gradients(dY, X, W, stride):
    """Backward of y_i = Σ_j x_{i·stride + j} W_j, without padding.

    X (*B, n, d), W (k, d, e), dY (*B, m, e) with m = (n - k) // stride + 1.
    Returns dX and dW.
    """
    ...


def dearer_from(d, taps):
    """The smallest number of tokens, 1 at least, from which one layer of
    attention of width d takes more operations than a convolution of that width
    with so many taps.
    """
    ...
