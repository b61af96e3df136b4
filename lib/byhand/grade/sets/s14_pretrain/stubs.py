"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def hide_words(ids, special, choice, fate, word, mask_id, rate):
    """Hide words for the masked-word task, with draws that are given.

    ids (*B, n), whole numbers below V; special (V,), True for an id that is
    no ordinary word, mask_id among them; choice, fate and word (*B, n),
    numbers from 0 on and below 1, drawn evenly.
    Returns the inputs and the targets, both (*B, n); a target is −1 where
    nothing is to be predicted.
    """
    ...


def pack_pair(a, b, n, cls, sep, pad):
    """One row for two sentences: [CLS] a [SEP] b [SEP], filled up with pad.

    a and b, whole numbers in a row, one at least in each; n, the length of
    the row, 5 or more.
    Returns ids, segments and real, each (n,); real is True where there is
    no padding.
    """
    ...


def given_away(lengths):
    """What a careless choice of "not next" gives away: lengths (D,), how many
    sentences each document has, 2 at least.

    Returns four shares: of the pairs labelled "not next", those where b does
    stand behind a, and those where b is from a's document; and of all pairs,
    those that one gets right who sees only whether b is the first sentence
    of its document, and who sees only whether a and b share a document.
    """
    ...


def tied_loss(E, W, mix, inputs, targets):
    """A masked-word model with one table: X = E[inputs], H = mix X W,
    logits = H Eᵀ.

    E (V, d), W (d, d), mix (*B, n, n), inputs (*B, n); targets (*B, n), −1
    where nothing was hidden.
    Returns the loss, dE and dW.
    """
    ...


def layer_rates(paths, blocks, lr, share):
    """A learning rate for every parameter, the lower the nearer to the words.

    paths, a tuple of names such as "encoder.blocks.2.attention.W_q"; blocks,
    how many blocks there are; lr, the rate at the top; share, the rate of
    the embedding divided by lr.
    Returns the rates, an array, in the order of paths.
    """
    ...


def name_the_flaw(train, y_train, test, y_test, said, dev, score, chosen):
    """What is wrong with this report of a fine-tuning?  One of five names:

    "fair", "test text in train", "label in a word", "one answer for all",
    "chosen on the test".
    train (N, n) and test (M, m), ids of words, filled up with 0; y_train
    (N,) and y_test (M,), labels 0 or 1; said (M,), the answers of the
    reported model; dev and score (epochs,), its share of right answers on
    the development set and on the test after each epoch; chosen, the number
    of the reported epoch, counted from 0.
    """
    ...


def adapter_gradients(X, M, A, B, W, alpha, dY):
    """Backward pass of Y = X W + s (X ∘ M) A B with s = alpha / r: LoRA with
    dropout in front of the adapter.

    X and M (*B, d_in), A (d_in, r), B (r, d_out), W (d_in, d_out), frozen;
    dY (*B, d_out).  Returns dX, dA and dB.
    """
    ...


def first_moves(G, A, alpha, lr):
    """The first step of gradient descent on an adapter that begins with
    B = 0.

    G (d_in, d_out), the gradient with respect to the merged matrix; A
    (d_in, r).  Returns how far A, B and the merged matrix move, and the
    number c for which the last is c G in the mean over all A whose entries
    are independent with mean 0 and variance 1 / d_in.
    """
    ...


def out_of_reach(r):
    """A batch whose one step of gradient descent on W is too much for any
    adapter of rank r: the best one leaves half of it, or more.

    Returns the tokens X (T, d_in) and the gradients dY (T, d_out) that
    arrive at Y = X W.  As few tokens as possible.
    """
    ...


def step_bill(L, n, d, r):
    """Operations of one training step through L maps of d × d, for n tokens.

    Returns five whole numbers: the operations if all maps are trained, the
    lowest alone, the highest alone, and an adapter of rank r on each; and how
    many numbers Adam keeps for the adapters.
    """
    ...


def make_adapted(base, r, alpha):
    """A module that computes base(X) + (alpha / r) X A B.

    base, a torch.nn.Linear from d_in to d_out.  The parameters A (d_in, r)
    and B (r, d_out) are trained, and nothing else.
    merged() returns a torch.nn.Linear that computes the same.
    """
    ...


def what_was_lost(R):
    """R (T, T): R[i, j], the share of right answers on task j after training
    on the tasks 0 to i, one after the other.

    Returns the mean at the end, the backward transfer, and the forgetting.
    """
    ...
