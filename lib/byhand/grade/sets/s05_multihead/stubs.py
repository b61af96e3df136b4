"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def how_far_rows_see(n, H):
    """What a causal layer of H heads lets each row see, if the heads are
    merged by a reshape alone.

    Returns last (n,), whole numbers: the last token on which row r of the
    output depends; and leaks, how many rows depend on a token after their own.
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


def same_layer(first, second, H):
    """Do two sets of parameters make the same layer, for every input?

    Both are dicts of W_q, W_k (d, H d_k), W_v (d, H d_v), W_o (H d_v, d_o),
    without biases.  Returns True or False.
    """
    ...


def grouped_freedom(d, H, G, d_k, d_v):
    """How many parameters count, of W_q (d, H d_k), W_k (d, G d_k), W_v
    (d, G d_v), W_o (H d_v, d), where H / G query heads share a head of keys
    and values.

    Neither d_k nor d_v is larger than d.
    """
    ...


def heads_can_move(layer, X, W_q, W_k, W_v, W_o, H):
    """Is the output the same when the heads trade places?

    layer(X, W_q, W_k, W_v, W_o, H) returns (n, d_o), for X (n, d), W_q, W_k
    (d, H d_k), W_v (d, H d_v), W_o (H d_v, d_o).  Returns True or False.
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


def longest_text(memory, layers, texts, H, G, d_k, d_v, bytes_each):
    """How many tokens a text may have, if the keys and values of that many
    equally long texts fit into a memory of so many bytes.

    Each layer has H query heads and G heads of keys (width d_k) and values
    (width d_v); a number takes bytes_each bytes.
    """
    ...


def make_multihead(d, H):
    """An nn.Module with the parameters W_q, W_k, W_v, W_o, all (d, d), and no
    others; module(X) is causal self-attention with H heads, without biases.

    X (B, n, d) -> O (B, n, d).  Head h owns the columns h d/H to
    (h + 1) d/H − 1 of W_q, W_k and W_v.
    """
    ...


def induction_head(size, p):
    """W_q, W_k, W_v and W_o of one causal head that continues what it has
    seen before.

    A token is a row of width 2 size: its own one-hot, then that of the token
    before it.  W_q, W_k (2 size, d_k), W_v (2 size, d_v), W_o (d_v, size).
    """
    ...


def from_checkpoint(W, H, layout):
    """W_q, W_k and W_v, all (d, H d_k), from one array that holds them all.

    layout is "side by side", W (3 H d_k, d); "by head", W (H 3 d_k, d); or
    "apart", W (3, H, d, d_k).
    """
    ...
