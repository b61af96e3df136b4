"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def linear_backward(dY, X, W):
    """Gradients of a loss through Y = X W + b.

    dY (*B, n, d_out), X (*B, n, d_in), W (d_in, d_out); *B stands for any
    number of leading axes.
    Returns dX like X, dW like W, db (d_out,).
    """
    ...


def tied_backward(dY, X, W):
    """Gradients of a loss through Y = tanh(X W) Wᵀ, where W is read twice.

    dY and X (*B, n, d), W (d, k); *B stands for any number of leading axes.
    Returns dX like X, dW like W.
    """
    ...


def sum_to(dY, shape):
    """Gradient of b, of the given shape, where b was broadcast to the shape of
    dY.
    """
    ...


def bag_backward(dy, E, ids, w):
    """Gradients of a loss through y = Σ_p w[p] E[ids[..., p]].

    dy (*B, d), E (v, d), ids (*B, n) whole numbers below v, w (n,); *B
    stands for any number of leading axes.
    Returns dE like E, dw like w.
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


def best_step_of_four(eps, f, f5):
    """The step h > 0 with the smallest error bound of the four-point
    difference, and that bound.

    eps: relative error of one evaluation; f: value of the function; f5: its
    fifth derivative (not zero).
    Returns h, bound.
    """
    ...


def make_distances():
    """Return a class derived from torch.autograd.Function: apply(X, C) gives
    D[i, j], the squared length of X[i] − C[j].

    X (n, d) and C (m, d) are tensors; D (n, m).
    """
    ...


def blind_upstream(W):
    """An upstream dY (1, d), not zero, with dY W = dY Wᵀ.

    W (d, d), and d is odd.
    """
    ...


def factors_behind(e):
    """The two factors c for which a gradient that is c times the measured one
    shows the relative error e.

    e: a number, 0 < e ≤ 2, but not 1.  Returns small, large with
    |small| ≤ |large|.
    """
    ...


def each_token_alone(f, X):
    """True if f treats the tokens, the rows of X, each by itself and all
    alike; False if not.

    X (n, d); f takes (k, d) to (k, d), for other k than n too.
    """
    ...
