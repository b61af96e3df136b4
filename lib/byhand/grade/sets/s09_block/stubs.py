"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def gate_gradient(dY, X, name):
    """Backward of Y = X * S(X), entry by entry, any shape: dY, X -> dX.

    name is "quick" (S = σ(1.702 X)), "hard" (S = X/6 + 1/2, cut to 0 … 1) or
    "mish" (S = tanh(ln(1 + e^X))).
    """
    ...


def swiglu_gradients(dY, X, W_g, W_1, W_2):
    """Backward of Y = (silu(X W_g) * (X W_1)) W_2.

    X (*B, n, d), W_g and W_1 (d, f), W_2 (f, d), dY (*B, n, d).  Returns dX,
    dW_g, dW_1, dW_2.
    """
    ...


def feed_forward(X, W_1, b_1, W_2, b_2):
    """ReLU feed-forward layer, in torch's layout: X (B, d, n), features before
    tokens; W_1 (d, f), W_2 (f, d).

    Each token by itself; the result is (B, d, n) again.
    """
    ...


def drop_branch(dY, X, F, keep, p, training):
    """The sum of a stream and a branch that is dropped for whole sequences.

    dY, X and F (B, n, d); keep (B,), True where the branch is kept; p, the
    probability of False; training, True or False.  Returns Y, dX and dF.
    """
    ...


def block_gradients(dY, X, params, wiring):
    """Forward and backward of an encoder block of one head, without biases in
    attention, for one sequence X (n, d).

    params: W_q, W_k, W_v, W_o (d, d); W_1 (d, f), b_1 (f,), W_2 (f, d), b_2
    (d,); gamma_1, beta_1, gamma_2, beta_2 (d,).  ReLU; LayerNorm with ε = 1e-5
    inside the root; wiring is "pre", "post" or "parallel".
    Returns Y (n, d), dX (n, d), and a dict with the gradient of every
    parameter, under its name.
    """
    ...


def block_ledger(n, d, d_ff, heads, gated, bias):
    """What one encoder block costs: its parameters, the operations of one
    forward pass (2nkm a product), and where attention overtakes.

    n tokens of width d; d_ff is the inner width; gated says whether there is a
    W_g (never with a bias of its own); bias is about all other maps; two
    LayerNorms with gain and shift.
    Returns five numbers: parameters, operations of the four maps of attention,
    of the feed-forward layer, of Q Kᵀ and A V, and the length at which the
    feed-forward layer costs as much as Q Kᵀ and A V.
    """
    ...


def gelu_cube(s):
    """For S(x) = ½ + ½ tanh(c (x + a x³)), the two numbers c and a with which
    it agrees with Φ(x/s) near 0, in the terms x and x³.
    """
    ...


def max_layer(k):
    """A ReLU feed-forward layer that takes a token (a, b), two vectors of
    width k side by side, to the larger of a and b, entry by entry.

    Returns W_1 (2k, f), b_1 (f,), W_2 (f, k), b_2 (k,), with f at most 3k.
    """
    ...


def who_stays(zero):
    """The parameters of a pre-norm block that get no gradient, whatever its
    input is, because the parameter called `zero` is 0 and all others are
    random.

    The names are those of exercise 09.5.  Returns a list of names.
    """
    ...


def make_gated_layer(d, f, p):
    """An nn.Module: X (*B, n, d) -> (silu(X W_g) * (X W_1)) W_2, then dropout.

    Its parameters are called W_g (d, f), W_1 (d, f) and W_2 (f, d); dropout
    with probability p acts on the output, and in training alone.
    """
    ...


def table_layer(T):
    """A ReLU feed-forward layer that knows a table T (s, t, v): the token that
    says (i, j) is met with T[i, j].

    The token has s + t numbers: 1 at place i, 1 at place s + j, else 0.
    Returns W_1 (s + t, f), b_1 (f,), W_2 (f, v), b_2 (v,), with f at most s·t.
    """
    ...
