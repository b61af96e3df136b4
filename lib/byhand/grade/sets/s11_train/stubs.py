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


def best_leads(u, y, eps):
    """Smoothing towards the words' frequencies: q = (1 − eps) · one-hot(y) +
    eps · u.  Where it wants the logits, and the loss there.

    u (V,), positive, sums to 1; y, the right word.  Returns the leads
    z_y − z_w of the right word over every word w, (V,), and the least loss.
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
    """Adam on a constant gradient (eps = 0): how many times longer than the
    right one is step t, if a correction is left out?

    Returns three numbers: without both corrections, without that of v alone,
    without that of m alone.
    """
    ...


def merged(perplexities, tokens, characters):
    """One score from those of k batches: perplexities (k,), each of a batch of
    tokens (k,) tokens, which are characters (k,) characters.

    Returns the perplexity of the whole, and its bits a character.
    """
    ...


def trapezoid_rate(step, peak, warmup, total, distance):
    """The rate of a step, counted from 1: a line up to peak at step warmup,
    then peak, then a line down to 0 at step total.

    The line down begins where the rates of all steps add up to distance.
    """
    ...


def starting_loss(V, d, sigma, most):
    """Before the first step: a token of length √d meets a matrix (d, V) of
    independent normal entries of deviation sigma.

    Returns the deviation of a logit, the loss to expect for large V, and the
    largest sigma for which that is at most ln V + most.
    """
    ...


def training_step(W, b, X, y, lr, limit, decay):
    """One step of gradient descent for logits X W + b, with clipping and
    decay.

    W (d, V), b (V,); X (T, d), y (T,), −1 where a place is padding.
    Returns the new W and b, the loss before the step, and the norm of the
    gradient before clipping.
    """
    ...


def uphill(limit):
    """Gradients (k,) of one parameter, one a micro-batch of equally many
    tokens, with which clipping each part at limit turns the step round.

    As few parts as possible.
    """
    ...


def accumulate(model, batches):
    """Leave in model's parameters the gradient of the whole batch, though it
    comes in parts.

    model maps X (T, d) to logits (T, V); batches, a list of (X, y), where y
    (T,) is −1 for padding.  Returns the loss of the whole batch.
    """
    ...


def z_loss(logits, targets, c):
    """Cross-entropy and c times the square of log Σ exp z, forward and
    backward.

    logits (T, V), targets (T,).  Returns the mean over the tokens of
    −log p_y + c (log Σ_w exp z_w)², and dlogits (T, V).
    """
    ...


def whole_update(params, gradients, lr, limit, decay):
    """The update of a training step, to be compiled in one graph: clipping,
    decay, and a step of gradient descent.

    params and gradients are lists of tensors, matrices and vectors; lr is a
    tensor that holds one number; limit and decay are floats.
    Returns the new parameters, a list, and the norm of the gradient before
    clipping.
    """
    ...
