"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def gain_norm(dY, X, g):
    """RMSNorm with the gain 1 + g, forward and backward; ε = 1e-6 in the root.

    X (n, d), g (d,), dY (n, d) -> Y, dX, dg.
    """
    ...


def grouped_attention(Q, K, V):
    """Causal attention of H heads that share G heads of keys and values.

    Q (B, H, n, k), K and V (B, G, n, k); H is a multiple of G, and head h
    reads group h // (H / G).  Returns (B, n, H k), head after head in a row.
    """
    ...


def capped_gradients(dO, Q, K, V, c):
    """Backward of O = softmax(c tanh(Q Kᵀ / (c √k))) V, for one head.

    Q (n, k), K (m, k), V (m, v), dO (n, v), c a number.  Returns dQ, dK, dV.
    """
    ...


def tied_gradient(dZ, ids, E):
    """The whole gradient of the table E (V, d), where Z = H Eᵀ, and row t of H
    is the mean of the rows E[ids[0]], …, E[ids[t]]; dZ (n, V), ids (n,).
    """
    ...


def padded_loss(logits, ids, lengths):
    """Mean −log p of the next token, over the real tokens of a padded batch.

    logits (B, n, V); ids (B, n); lengths (B,): row b holds lengths[b] tokens,
    then padding.  Returns L and dlogits (B, n, V).
    """
    ...


def lion_step(theta, g, m, lr, decay):
    """One step of Lion with β₁ = 0.9 and β₂ = 0.99.

    theta, g and m (n, d), numbers lr and decay -> the new theta, the new m.
    """
    ...


def read_in_pieces(ids, cut, E, P, W_q, W_k, W_v):
    """Logits (n, V) of a decoder of one head: ids[:cut] are read at once, then
    one token at a time, with a cache of keys and values.

    ids (n,), E (V, d), P (l, d) with a row for each place, W_q, W_k and W_v
    (d, d).
    """
    ...


def draw_words(logits, T, p, u):
    """The words that the draws u (m,) stand for.

    logits (V,), temperature T, then the nucleus p; u[i] falls into the shares
    of the words in the order of their ids.  Returns whole numbers (m,).
    """
    ...


def three_steps(W, X, y, lr, parts):
    """Three steps of gradient descent, in PyTorch, on the mean cross-entropy
    of X W and the labels y; each step over all N rows, in `parts` parts.

    W (d, V), X (N, d), y (N,), numbers lr and parts.  Returns the new W.
    """
    ...


def probe_model(model, ids, V):
    """Two numbers about model(ids) -> logits (B, n, V), ids (B, n) below V.

    How far a place moves when later tokens of its own text change, and how far
    a text moves when other texts of the batch change; 0 where nothing moves.
    """
    ...


def hiding_place(X, gamma):
    """An upstream gradient dY (d,) that hides the fault.

    For the token X (d,) and the gain gamma (d,) the wrong and the right
    gradient of LayerNorm are the same.  dY's largest entry is 1 in size.
    """
    ...


def what_is_wrong(slopes, gap, leak, loss, floor):
    """What is wrong with a GPT, from the numbers of its checks.

    slopes (6,): errors of the arrays head, last.g, down, up, out, qkv, in the
    order of the way back; gap, how far its logits are from a twin's; leak, how
    far a later token moves earlier places; loss, after training; floor, below
    which no good model comes on this text.
    Returns one of the ten names of the statement.
    """
    ...
