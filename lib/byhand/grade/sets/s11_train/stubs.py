"""What the learner starts from.  The notebook's cells are these functions, word for word."""


def smoothed_loss(logits, targets, weights, eps):
    """Cross-entropy with label smoothing, as torch has it: q is
    1 − eps + eps/V at the target, eps/V elsewhere.

    logits (T, V); targets (T,), whole numbers, −1 where a token is ignored;
    weights (T,), one a token.
    Returns L, the weighted mean over the tokens that count, and dlogits
    (T, V).
    """
    ...


def best_margin(V, eps, to_all):
    """Where label smoothing wants the logits of one token: z_y − z_w for every
    other word w, and the loss there.

    to_all True: every word has eps/V, and the right one 1 − eps more.  False:
    the right word has 1 − eps, and the other V − 1 words share eps.  Returns
    the margin and the least loss, in nats.
    """
    ...


def adamw_run(theta, gradients, lr, beta1, beta2, eps, decay):
    """AdamW over T steps: theta (n,), gradients (T, n), one row a step.
    Returns theta, m and v after the last step.
    """
    ...


def name_the_fault(gradients, thetas, peak, warmup, decay):
    """Which AdamW made this record?  One of the seven names:

    "correct", "eps inside the root", "1 - beta1 in v", "no bias correction",
    "L2 for decay", "t counts leaves", "rate counts leaves".
    gradients (T, k): k leaves of one number each.  thetas (T + 1, k): before
    the first step and after each.
    beta1 = 0.9, beta2 = 0.999, eps = 1e-8, and the rate of step t is
    peak · min(1, t / warmup).
    """
    ...


def without_correction(t, beta1, beta2):
    """Adam without bias correction, on a constant gradient: three numbers at
    step t.

    m_t / g, v_t / g², and how many times longer the step is than with both
    corrections (eps = 0).
    """
    ...


def accumulate(losses, grads, tokens, limit):
    """One step's gradient from k micro-batches: losses (k,) and grads (k, n)
    are means over tokens (k,) tokens each.

    Returns the mean loss over all tokens, its gradient clipped to the norm
    `limit`, and the norm before clipping.
    """
    ...


def rate(step, peak, warmup, total, floor):
    """The learning rate of a step, counted from 1: a line up to peak at step
    warmup, half a cosine down to floor at step total, and floor from there
    on."""
    ...
