"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def gate_gradient(dY, X, name):
    """Backward of Y = X * S(X), entry by entry, any shape: dY, X -> dX.

    name is "relu" (S = 1 where X > 0), "silu" (S = σ(X)) or "gelu_tanh"
    (S = σ(2u), u = √(2/π) (X + 0.044715 X³)).
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


def dropout_gradients(dY, X, keep, p):
    """Inverted dropout: Y = X * keep / (1 − p), where keep is boolean,
    True = kept, p is its probability of False.

    dY, X, keep of one shape.  Returns Y and dX.
    """
    ...


def block_gradients(dY, X, params, wiring):
    """Forward and backward of an encoder block of one head, without biases in
    attention, for one sequence X (n, d).

    params: W_q, W_k, W_v, W_o (d, d); W_1 (d, f), b_1 (f,), W_2 (f, d), b_2
    (d,); gamma_1, beta_1, gamma_2, beta_2 (d,).  ReLU; LayerNorm with ε = 1e-5
    inside the root; wiring is "pre" or "post".
    Returns Y (n, d), dX (n, d), and a dict with the gradient of every
    parameter, under its name.
    """
    ...


def block_ledger(n, d, d_ff, heads, gated, bias):
    """What one encoder block costs: its parameters, and the operations
    (2nkm a product) of one forward pass.

    n tokens of width d; d_ff is the inner width, gated says whether there is a
    W_g (never with a bias of its own);
    bias is about all other maps; two LayerNorms with gain and shift.
    Returns three whole numbers: parameters, operations of the products with
    weights, operations of Q Kᵀ and A V.
    """
    ...


def gelu_cube(c):
    """For S(x) = ½ + ½ tanh(c (x + a x³)), the two numbers that a Taylor
    series about 0 gives.

    Returns the slope S'(0), and the a for which S has the same ratio of its
    third to its first derivative at 0 as Φ.
    """
    ...
