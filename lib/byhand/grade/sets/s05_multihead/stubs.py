"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def whose_numbers(n, H):
    """What the rows of a merge without its transpose hold.

    Z (H, n, k) is reshaped to (n, H k).  Row r then consists of H pieces of k
    numbers.
    Returns token (n, H) and head (n, H), whole numbers: piece s of row r
    belongs to token[r, s] of head[r, s].
    """
    ...


def multihead(X, M, W_q, W_k, W_v, W_o, H, mask=None):
    """Multi-head attention without biases: queries from X, keys and values
    from M.

    X (*B, n, d), M (*B, m, d_m), W_q (d, H d_k), W_k (d_m, H d_k), W_v
    (d_m, H d_v), W_o (H d_v, d_o).
    mask is boolean, True = may attend, of shape (n, m) or (*B, n, m); every
    query may see at least one key.
    Returns O (*B, n, d_o) and A (*B, H, n, m).
    """
    ...


def multihead_gradients(dO, X, M, W_q, W_k, W_v, W_o, A):
    """Backward of `multihead`, where the weights A (*B, H, n, m) are kept from
    the forward pass.

    Shapes as there.  Returns dX, dM, dW_q, dW_k, dW_v, dW_o.
    """
    ...


def as_sum(W_q, W_k, W_v, W_o, H):
    """The maps of the form O = Σ_h A_h X V̄_h that is the same layer as the
    joined form.

    W_q, W_k (d, H d_k), W_v (d, H d_v), W_o (H d_v, d_o).
    Returns U_q (H, d, d_k), U_k (H, d, d_k) and V (H, d, d_o).
    """
    ...


def free_parameters(d, H, d_k, d_v):
    """How many parameters of a layer without biases count, of W_q, W_k
    (d, H d_k), W_v (d, H d_v), W_o (H d_v, d).

    Both d_k and d_v are at most d.
    """
    ...


def diagnose_wiring(X, M, W_q, W_k, W_v, W_o, H, O):
    """What happened to this layer?  One of the five names:

    "correct", "merged without transpose", "one projection for all",
    "keys and values swapped", "queries from memory".
    X, M (n, d), W_q, W_k, W_v (d, d), W_o (d, d), O (n, d); no biases, no
    mask.
    """
    ...


def prune(W_q, W_k, W_v, W_o, H, keep):
    """Smaller matrices for a layer of which only the heads in the list `keep`
    are left, in that order.

    W_q, W_k (d, H d_k), W_v (d, H d_v), W_o (H d_v, d_o); heads are counted
    from 0.
    Returns W_q, W_k, W_v, W_o of the smaller layer: its output is the sum of
    what the kept heads added.
    """
    ...


def shared_gradient(dK, G):
    """Gradient of G shared heads of keys: head h of the H query heads reads
    group h // (H / G).

    dK (*B, H, m, k) holds the gradient of the keys as each query head saw
    them.  Returns (*B, G, m, k).
    """
    ...
