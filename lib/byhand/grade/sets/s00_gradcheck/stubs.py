"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def linear_backward(dY, X, W):
    """Gradients of a loss through Y = X W + b.

    dY (*B, n, d_out), X (*B, n, d_in), W (d_in, d_out); *B stands for any
    number of leading axes.
    Returns dX like X, dW like W, db (d_out,).
    """
    ...


def bias_gradient(dY):
    """Gradient of b in Y = X W + b, for dY of any rank from 2 to 4 (or more):
    (…, d) -> (d,).
    """
    ...


def sum_to(dY, shape):
    """Gradient of b, of the given shape, where b was broadcast to the shape of
    dY.
    """
    ...


def gather_backward(dY, ids, size):
    """Gradient of the table E (size, d) in Y = E[ids].

    ids holds whole numbers and has any shape; dY (*ids.shape, d).  Returns dE
    (size, d).
    """
    ...


def slope(f, X, h=1e-5):
    """Central differences: the gradient of f at X, one entry at a time, in
    float64.

    f takes an array like X and returns a number.  Returns an array with the
    shape of X; X stays as it was.
    """
    ...


def layer_is_right(forward, backward, X, rng):
    """True if the backward pass of a layer is right, False if not.

    Y = forward(X) has the shape of X (n, d); dX = backward(dY, X).  rng is a
    Generator.
    """
    ...


def attention_in_rows(X, W_q, W_k, W_v, b_q, b_k, b_v):
    """Causal attention on tokens stored as rows, with weights taken from a
    column-convention text.

    X (n, d); W_q, W_k (d_k, d), W_v (d_v, d), b_q, b_k (d_k,), b_v (d_v,), as
    in the column convention.
    Returns O (n, d_v) and A (n, n), whose rows sum to one.
    """
    ...


def best_step(eps, f, f3):
    """The step h > 0 with the smallest error bound of a central difference,
    and that bound.

    eps: relative error of one evaluation; f: value of the function; f3: its
    third derivative (not zero).
    Returns h, bound.
    """
    ...
