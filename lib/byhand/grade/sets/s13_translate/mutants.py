"""Known wrong answers, each with the message that names the misconception."""

import math
from collections import Counter

import numpy as np

from ...model import Mutant
from .cases import NAMES, written

# 13.1


def _rows(rows, fill, n=None, left=False):
    n = max(map(len, rows)) if n is None else n
    return np.array([[fill] * (n - len(r)) + list(r) if left else list(r) + [fill] * (n - len(r)) for r in rows])


def _batch(source=None, real=None, inputs=None, labels=None, join=None):
    """The right batch with a part of it made in another way, by a function of (s, t, pad, bos, eos, ignore)."""

    def function(sources, targets, pad, bos, eos, ignore):
        given = sources, targets, pad, bos, eos, ignore
        right = (_rows(sources, pad), _rows([[1] * len(s) for s in sources], 0) == 1,
                 _rows([[bos, *t] for t in targets], pad), _rows([[*t, eos] for t in targets], ignore))
        parts = (source, real, inputs, labels)
        found = [part(*given) if part else array for part, array in zip(parts, right, strict=True)]
        return join(*found, *given) if join else tuple(found)

    return function


def _real_words(rows, left=False):
    return _rows([[1] * len(s) for s in rows], 0, left=left) == 1


def _full(s, t, pad, bos, eos, ignore):
    return _rows([[bos, *x, eos] for x in t], pad)


def _both_to(longest):
    def function(s, t, pad, bos, eos, ignore):
        n = longest(max(map(len, s)), max(map(len, t)) + 1)
        return (_rows(s, pad, n), _rows([[1] * len(x) for x in s], 0, n) == 1,
                _rows([[bos, *x] for x in t], pad, n), _rows([[*x, eos] for x in t], ignore, n))

    return function


PAIRS = ("three pairs", "a word like pad", "no word to say", "more pairs")
PADDED = ("three pairs", "a word like pad", "more pairs")
BATCHES = (
    Mutant("EOS dropped", _batch(
        inputs=lambda s, t, pad, bos, eos, ignore: _rows([[bos, *x][: len(x)] for x in t], pad),
        labels=lambda s, t, pad, bos, eos, ignore: _rows(t, ignore)),
        "EOS is in no label: the model never learns to end a sentence, and every translation runs on to the limit.",
        "13.1", PAIRS),
    Mutant("EOS dropped, its place kept", _batch(
        labels=lambda s, t, pad, bos, eos, ignore: _rows(t, ignore, max(map(len, t)) + 1)),
        "The label after a target's last word is ignored, and it should be EOS: to end a sentence has to be learnt.",
        "13.1", PAIRS),
    Mutant("EOS dropped where a row is longest", _batch(
        inputs=lambda s, t, pad, bos, eos, ignore: _rows([[bos, *x] for x in t], pad)[:, : max(map(len, t))],
        labels=lambda s, t, pad, bos, eos, ignore: _rows([[*x, eos] for x in t], ignore)[:, : max(map(len, t))]),
        "n is the length of the longest target, and there is no room for its EOS: it takes one place more.", "13.1",
        PAIRS),
    Mutant("EOS is read", _batch(
        inputs=lambda *g: _full(*g)[:, :-1]),
        "[BOS, words, EOS] without its last column: in the shorter rows EOS is still there to be read, where pad "
        "should be. The last column of a short row is padding, not its EOS.", "13.1", PADDED),
    Mutant("pad in the labels", _batch(
        labels=lambda s, t, pad, bos, eos, ignore: _rows([[*x, eos] for x in t], pad)),
        "The labels of the padding are pad: the model would be trained to say it, and the loss counts it. Put ignore.",
        "13.1", PADDED),
    Mutant("the usual slices", _batch(
        inputs=lambda *g: _full(*g)[:, :-1], labels=lambda *g: _full(*g)[:, 1:]),
        "One padded array, without its last column and without its first: then EOS of the shorter rows is read, and "
        "pad is among the labels. Pad inputs and labels by themselves, each with its own filler.", "13.1", PADDED),
    Mutant("real is where source is not pad", _batch(
        real=lambda s, t, pad, bos, eos, ignore: _rows(s, pad) != pad),
        "real compares ids with pad, and a word may have that id: only the lengths say where a sentence ends.", "13.1",
        ("a word like pad",)),
    Mutant("labels are ignored where they are pad", _batch(
        labels=lambda s, t, pad, bos, eos, ignore: np.where(
            (full := _rows([[*x, eos] for x in t], pad)) == pad, ignore, full)),
        "Every label that equals pad is ignored, and a word may have that id: only the lengths say where a row ends.",
        "13.1", ("a word like pad",)),
    Mutant("found by pad", _batch(
        real=lambda s, t, pad, bos, eos, ignore: _rows(s, pad) != pad,
        labels=lambda s, t, pad, bos, eos, ignore: np.where(
            (full := _rows([[*x, eos] for x in t], pad)) == pad, ignore, full)),
        "The padding is looked up by its id, in source and labels, and a word may have that id: only the lengths say "
        "where a sentence ends.", "13.1", ("a word like pad",)),
    Mutant("real the other way round", _batch(real=lambda s, *g: ~_real_words(s)),
           "real is True where there is padding; here True means that there is a word.", "13.1", PADDED),
    Mutant("no BOS", _batch(
        inputs=lambda s, t, pad, bos, eos, ignore: _rows([[*x, eos] for x in t], pad)),
        "The inputs are the target and EOS: each place then reads the very word that it should say. BOS goes in front, "
        "and everything moves one place to the right.", "13.1", PAIRS),
    Mutant("no BOS and no shift", _batch(
        inputs=lambda s, t, pad, bos, eos, ignore: _rows(t, pad, max(map(len, t)) + 1)),
        "The inputs are the target as it is: each place then reads the very word that it should say. BOS goes in "
        "front.", "13.1", PAIRS),
    Mutant("the first word is never said", _batch(
        inputs=lambda s, t, pad, bos, eos, ignore: _rows(t, pad),
        labels=lambda s, t, pad, bos, eos, ignore: _rows([[*x[1:], eos] if x else [] for x in t], ignore)),
        "Without BOS the first word is never predicted: a translation has to begin with something.", "13.1", PAIRS),
    Mutant("BOS in the labels", _batch(
        labels=lambda s, t, pad, bos, eos, ignore: _rows([[bos, *x] for x in t], ignore)),
        "The labels begin with BOS, so they are what is read, not what is to be said: the words and then EOS.", "13.1",
        PAIRS),
    Mutant("BOS and EOS in the labels", _batch(
        inputs=lambda s, t, pad, bos, eos, ignore: _rows([[bos, *x, eos] for x in t], pad),
        labels=lambda s, t, pad, bos, eos, ignore: _rows([[bos, *x, eos] for x in t], ignore)),
        "Both have BOS and EOS: nothing is shifted. BOS is read and never said, EOS is said and never read.", "13.1",
        PAIRS),
    Mutant("EOS is read and said", _batch(
        inputs=lambda s, t, pad, bos, eos, ignore: _rows([[bos, *x, eos] for x in t], pad),
        labels=lambda s, t, pad, bos, eos, ignore: _rows([[*x, eos] for x in t], ignore, max(map(len, t)) + 2)),
        "The inputs hold EOS as well, and nothing comes after it: it is said and never read.", "13.1", PAIRS),
    Mutant("wrapped around", _batch(
        inputs=lambda s, t, pad, bos, eos, ignore: np.roll(_rows([[*x, eos] for x in t], pad), 1, axis=1)),
        "np.roll brings the last column to the front, where BOS should stand.", "13.1", PADDED),
    Mutant("padded on the left", _batch(
        lambda s, t, pad, bos, eos, ignore: _rows(s, pad, left=True), lambda s, *g: _real_words(s, True),
        lambda s, t, pad, bos, eos, ignore: _rows([[bos, *x] for x in t], pad, left=True),
        lambda s, t, pad, bos, eos, ignore: _rows([[*x, eos] for x in t], ignore, left=True)),
        "The rows are padded at their beginning: here the padding comes after the words.", "13.1", PADDED),
    Mutant("one length for both", _batch(join=lambda a, b, c, d, *g: _both_to(max)(*g)),
           "Source and target are padded to one length: they need not be as long as each other, and each side has its "
           "own longest row.", "13.1", ("three pairs",)),
    Mutant("a column too many", _batch(
        inputs=lambda s, t, pad, bos, eos, ignore: _rows([[bos, *x] for x in t], pad, max(map(len, t)) + 2),
        labels=lambda s, t, pad, bos, eos, ignore: _rows([[*x, eos] for x in t], ignore, max(map(len, t)) + 2)),
        "Inputs and labels have a column in which there is nothing but padding: BOS and the words are one place more "
        "than the words, not two.", "13.1", PAIRS),
    Mutant("a column too many in the source", _batch(
        source=lambda s, t, pad, bos, eos, ignore: _rows(s, pad, max(map(len, s)) + 1),
        real=lambda s, *g: _rows([[1] * len(x) for x in s], 0, max(map(len, s)) + 1) == 1),
        "The source has a column in which there is nothing but padding: m is the length of the longest source, which "
        "has neither BOS nor EOS.", "13.1", PAIRS),
    Mutant("EOS behind the source", _batch(
        source=lambda s, t, pad, bos, eos, ignore: _rows([[*x, eos] for x in s], pad),
        real=lambda s, *g: _real_words([[*x, 0] for x in s])),
        "The sources have an EOS here: only the labels get one.", "13.1", PAIRS),
    Mutant("BOS and EOS around the source", _batch(
        source=lambda s, t, pad, bos, eos, ignore: _rows([[bos, *x, eos] for x in s], pad),
        real=lambda s, *g: _real_words([[0, *x, 0] for x in s])),
        "The sources have BOS and EOS here: they are handed on as they are.", "13.1", PAIRS),
    Mutant("ignore is read", _batch(
        inputs=lambda s, t, pad, bos, eos, ignore: _rows([[bos, *x] for x in t], ignore)),
        "The inputs are filled with ignore, which is no id and has no row in the table: fill them with pad.", "13.1",
        PADDED),
    Mutant("filled with EOS", _batch(
        inputs=lambda s, t, pad, bos, eos, ignore: _rows([[bos, *x] for x in t], eos)),
        "The inputs are filled with EOS: the filler is pad.", "13.1", PADDED),
    Mutant("EOS again and again", _batch(
        labels=lambda s, t, pad, bos, eos, ignore: _rows(t, eos, max(map(len, t)) + 1)),
        "The labels are filled with EOS: a sentence ends once, and what comes after that is ignored.", "13.1", PADDED),
    Mutant("EOS in the last column", _batch(
        labels=lambda s, t, pad, bos, eos, ignore: np.array(
            [[*x, *[ignore] * (max(map(len, t)) - len(x)), eos] for x in t])),
        "EOS stands in the last column of every row: it comes right after the last word of the target.", "13.1",
        PADDED),
    Mutant("source filled with ignore", _batch(
        source=lambda s, t, pad, bos, eos, ignore: _rows(s, ignore)),
        "The sources are filled with ignore, which is no id and has no row in the table: fill them with pad.", "13.1",
        PADDED),
    Mutant("exchanged", _batch(join=lambda a, b, c, d, *g: (a, b, d, c)),
           "Inputs and labels have changed places: what is read begins with BOS, what is said ends with EOS.", "13.1",
           PAIRS),
    Mutant("one place too many is read", _batch(
        inputs=lambda s, t, pad, bos, eos, ignore: _rows([[bos, *x, eos] for x in t], pad)),
        "inputs has a column more than labels: EOS is said and never read, so a row of inputs is BOS and the words.",
        "13.1", PAIRS),
    Mutant("one place too many is real", _batch(
        real=lambda s, *g: _real_words([[*x, 0] for x in s])[:, : max(map(len, s))]),
        "real is True one place too long: a sentence of k words has them in places 0 … k − 1, so it is < k and not "
        "≤ k.", "13.1", PADDED),
    Mutant("one place too few is real", _batch(
        real=lambda s, *g: _rows([[1] * (len(x) - 1) for x in s], 0, max(map(len, s))) == 1),
        "real is False at the last word of each sentence: places 0 … k − 1 hold words.", "13.1", PAIRS),
    Mutant("ignored where inputs are pad", _batch(
        real=lambda s, t, pad, bos, eos, ignore: _rows(s, pad) != pad,
        labels=lambda s, t, pad, bos, eos, ignore: np.where(
            _rows([[bos, *x] for x in t], pad) == pad, ignore, _rows([[*x, eos] for x in t], pad))),
        "The padding is looked up by its id, and a word may have that id: only the lengths say where a sentence ends.",
        "13.1", ("a word like pad",)),
    Mutant("labels ignored where inputs are pad", _batch(
        labels=lambda s, t, pad, bos, eos, ignore: np.where(
            _rows([[bos, *x] for x in t], pad) == pad, ignore, _rows([[*x, eos] for x in t], pad))),
        "A label is ignored where the inputs hold the id of pad, and a word may have that id: only the lengths say "
        "where a row ends.", "13.1", ("a word like pad",)),
    Mutant("labels one place further", _batch(
        labels=lambda s, t, pad, bos, eos, ignore: _rows(
            [[*x[1:], eos] for x in t], ignore, max(map(len, t)) + 1)),
        "The labels are shifted too, so that each place skips a word: the inputs are moved by BOS already, and the "
        "labels are the words as they are, and EOS.", "13.1", PADDED),
    Mutant("ignore in front", _batch(
        labels=lambda s, t, pad, bos, eos, ignore: _rows([[ignore, *x] for x in t], ignore)),
        "The label of BOS's place is ignore, and each place then says the word that it has just read: in the place "
        "where BOS is read the first word is said.", "13.1", PAIRS),
    Mutant("inputs rolled", _batch(
        labels=lambda s, t, pad, bos, eos, ignore: np.roll(_rows([[bos, *x] for x in t], pad), -1, axis=1)),
        "The labels are the inputs, rolled: so they have no EOS, and BOS comes round at the end.", "13.1", PAIRS),
    Mutant("sorted by length", lambda sources, targets, *rest: _batch()(
        *zip(*sorted(zip(sources, targets, strict=True), key=lambda p: len(p[0])), strict=True), *rest),
        "The pairs are sorted by length: row b is pair b, as it came.", "13.1", ("three pairs",)),
    Mutant("sources and targets exchanged", lambda sources, targets, *rest: _batch()(targets, sources, *rest),
           "Sources and targets have changed places.", "13.1", ("three pairs", "a word like pad")),
    Mutant("BOS in front of the source", _batch(
        source=lambda s, t, pad, bos, *g: _rows([[bos, *x] for x in s], pad),
        real=lambda s, *g: _real_words([[0, *x] for x in s])),
        "The sources begin with BOS here: they are handed on as they are; BOS is for the inputs.", "13.1", PAIRS),
    Mutant("real of the inputs", _batch(real=lambda s, t, *g: _real_words([[0, *x] for x in t])),
           "real says where the *inputs* hold words: it belongs to the source.", "13.1", ("three pairs",)),
    Mutant("real as numbers to add", _batch(real=lambda s, *g: np.where(_real_words(s), 0.0, -np.inf)),
           "real is a mask to be added to scores, 0 and −∞: asked is the boolean array, True where there is a word.",
           "13.1", PADDED),
    *(Mutant(f"ignore is {k}", _batch(labels=lambda s, t, pad, bos, eos, ignore, k=k: _rows([[*x, eos] for x in t], k)),
             f"The labels are filled with {k}: the number to fill in comes as the argument ignore.", "13.1", PADDED)
      for k in (-1, -100)),
    Mutant("sources reversed", _batch(source=lambda s, t, pad, *g: _rows([x[::-1] for x in s], pad)),
           "The sources are turned round: they are read as they are.", "13.1", PAIRS),
    Mutant("the last word is not read", _batch(
        inputs=lambda s, t, pad, bos, eos, ignore: _rows([[bos, *x[:-1]] for x in t], pad, max(map(len, t)) + 1)),
        "The last word of a target is missing from the inputs: it is what EOS comes after, so it is read as well.",
        "13.1", PADDED),
    Mutant("pad is 0", lambda s, t, pad, bos, eos, ignore: _batch()(s, t, 0, bos, eos, ignore),
           "The rows are filled with 0, as np.zeros makes them: the number to fill in comes as the argument pad.",
           "13.1", ("a word like pad", "no word to say", "more pairs")),
    Mutant("bos is 1, eos is 2", lambda s, t, pad, bos, eos, ignore: _batch()(s, t, pad, 1, 2, ignore),
           "BOS is written as 1 and EOS as 2: their ids come as the arguments bos and eos.", "13.1",
           ("a word like pad", "no word to say", "more pairs")),
)

# 13.2


def _one_hot(labels, V):
    return np.eye(V)[np.where(labels < 0, 0, labels)]


def _right_q(labels, V, pad, eps):
    Y = _one_hot(labels, V)
    Q = np.where(Y == 1, 1 - eps, eps / (V - 2))
    Q[..., pad] = 0
    return Q


def _entropy(parts):
    return -sum(x * math.log(x) for x in parts if x > 0)


def _right_bound(V, eps):
    return _entropy([1 - eps] + [eps / (V - 2)] * (V - 2))


def _tokens(real):
    return real / real.sum()


def _smooth(q=_right_q, share=_tokens, bound=_right_bound, back=None, no_pad=False, loss=None, real=lambda y: y >= 0):
    def function(logits, labels, pad, eps):
        V, Q = logits.shape[-1], q(labels, logits.shape[-1], pad, eps)
        Z = logits - logits.max(axis=-1, keepdims=True)
        if no_pad:
            Z[..., pad] = -1e4
        log_p = Z - np.log(np.exp(Z).sum(axis=-1, keepdims=True))
        P, S = np.exp(log_p), share(real(labels))[..., None]
        L = loss(S, Q, log_p, eps) if loss else -(S * Q * log_p).sum()
        return L, back(S, P, Q, labels, V) if back else S * (P - Q), bound(V, eps)

    return function


def _made(change):
    """q with one part made in another way."""

    def q(labels, V, pad, eps):
        return change(_one_hot(labels, V), np.arange(V) != pad, V, eps)

    return q


def _padding_too(labels, V, pad, eps):
    Q = _right_q(labels, V, pad, eps)
    Q[labels < 0] = eps / V
    return Q


def _last_word(labels, V, pad, eps):
    return _right_q(labels % V, V, pad, eps)


def _nan_bound(V, eps):
    with np.errstate(all="ignore"):
        rest = np.float64(eps) / (V - 2)
        return -(1 - eps) * np.log(1 - eps) - eps * np.log(rest)


LABELLED = ("loss", "gradient", "large logits", "other sizes")


def _shares(name, share, message):
    """One way to divide, in loss and gradient, or in one of them alone."""
    def old(S, P, Q, labels, V):
        return share(labels >= 0)[..., None] * (P - Q)

    def new(S, Q, log_p, eps):
        return -(share(S[..., 0] > 0)[..., None] * Q * log_p).sum()

    return (Mutant(name, _smooth(share=share), message, "13.2", LABELLED),
            Mutant(f"{name}, loss", _smooth(loss=new), message, "13.2", ("loss",)),
            Mutant(f"{name}, gradient", _smooth(back=old),
                   f"In the gradient: {message[0].lower()}{message[1:]}", "13.2", ("gradient",)))



SMOOTHS = (
    *(Mutant(f"bound with {name}", _smooth(bound=bound), words, "13.2", ("bound",)) for name, words, bound in (
        ("a share for each of V",
         "The bound shares ε out among all V words: the label has its own part and PAD none, so it is shared by V − 2.",
         lambda V, eps: _entropy([1 - eps]) - (eps and eps * math.log(eps / V))),
        ("each of the others whole",
         "Each of the V − 2 other words has ε in the bound: together they have ε, each ε / (V − 2).",
         lambda V, eps: _entropy([1 - eps]) - (V - 2) * (eps and eps * math.log(eps / (V - 2)))),
    )),
    Mutant("as torch has it", _smooth(_made(lambda Y, words, V, eps: (1 - eps) * Y + eps / V)),
           "This is torch's smoothing, ε/V for every word: PAD gets a share, and the right word 1 − ε + ε/V.", "13.2",
           LABELLED),
    Mutant("PAD gets a share", _smooth(_made(lambda Y, words, V, eps: np.where(Y == 1, 1 - eps, eps / (V - 1)))),
           "PAD gets a share of the smoothing, as one of V − 1 other words: it is no word that could come, so its q "
           "is 0, and ε is dealt out to V − 2.", "13.2", LABELLED),
    Mutant("V − 1 shares", _smooth(_made(lambda Y, words, V, eps: words * np.where(Y == 1, 1 - eps, eps / (V - 1)))),
           "ε is divided by V − 1, but neither the label nor PAD gets a part of it: q does not sum to 1. There are "
           "V − 2 other words.", "13.2", LABELLED),
    Mutant("V shares", _smooth(_made(lambda Y, words, V, eps: words * np.where(Y == 1, 1 - eps, eps / V))),
           "ε is divided by V, but neither the label nor PAD gets a part of it: q does not sum to 1. There are V − 2 "
           "other words.", "13.2", LABELLED),
    Mutant("V shares, one for PAD", _smooth(_made(lambda Y, words, V, eps: np.where(Y == 1, 1 - eps, eps / V))),
           "ε is divided by V, PAD gets a part and the label none: q does not sum to 1. There are V − 2 other words.",
           "13.2", LABELLED),
    Mutant("V − 2 shares and PAD", _smooth(_made(lambda Y, words, V, eps: np.where(Y == 1, 1 - eps, eps / (V - 2)))),
           "ε is divided by V − 2, but PAD gets a part as well, so q sums to more than 1: at PAD it is 0.", "13.2",
           LABELLED),
    Mutant("the label as well", _smooth(_made(lambda Y, words, V, eps: words * ((1 - eps) * Y + eps / (V - 2)))),
           "The label gets ε/(V − 2) on top of its 1 − ε, so q sums to more than 1: the smoothing goes to the others.",
           "13.2", LABELLED),
    Mutant("all but PAD", _smooth(_made(lambda Y, words, V, eps: words * ((1 - eps) * Y + eps / (V - 1)))),
           "ε is dealt out to all words but PAD, the label among them; here the label keeps 1 − ε, and V − 2 others "
           "share ε.", "13.2", LABELLED),
    Mutant("ε for every other word", _smooth(_made(lambda Y, words, V, eps: words * np.where(Y == 1, 1 - eps, eps))),
           "Every other word has the whole of ε: they share it, ε/(V − 2) each.", "13.2", LABELLED),
    Mutant("no smoothing", _smooth(_made(lambda Y, words, V, eps: Y)),
           "There is no smoothing: q is one at the label and nothing elsewhere.", "13.2", LABELLED),
    Mutant("gradient without smoothing", _smooth(back=lambda S, P, Q, labels, V: S * (P - _one_hot(labels, V))),
           "The gradient is that of the loss without smoothing, P − one-hot: it is P − q.", "13.2", ("gradient",)),
    Mutant("the label's term alone", _smooth(
        loss=lambda S, Q, log_p, eps: -(S * np.where(Q == Q.max(axis=-1, keepdims=True), Q, 0) * log_p).sum()),
        "The loss holds the term of the label alone: every word with a q has one, −q log p.", "13.2", ("loss",)),
    Mutant("PAD cannot be said", _smooth(no_pad=True),
           "The softmax leaves PAD out: the model has a logit for it, and has to learn that it never comes. Only q is "
           "0 there.", "13.2", ("loss", "gradient")),
    *_shares("mean over all places", lambda real: real / real.size,
             "The sum is divided by all places, padding among them: then a batch with much padding seems to be easy. "
             "Divide by the number of words that count."),
    *_shares("mean over sentences", lambda real: real / len(real),
             "The sum is divided by the number of sentences: it is a mean over words."),
    *_shares("mean of means", lambda real: real / real.sum(axis=1, keepdims=True) / len(real),
             "Each row has its own mean, and these are averaged: a word of a short sentence then counts for more than "
             "one of a long sentence. Divide once, by all words."),
    *_shares("a sum", lambda real: real * 1.0, "This is the sum over the words: divide by their number."),
    *_shares("mean over the columns", lambda real: real / real.shape[1],
             "The sum is divided by the length of a row: it is a mean over all words that count."),
    Mutant("padding has a gradient", _smooth(back=lambda S, P, Q, labels, V: S.max() * (P - Q)),
           "The rows behind the end of a sentence have a gradient: they have no part in the loss, so theirs is 0.",
           "13.2", ("gradient",)),
    Mutant("padding counts", _smooth(q=_last_word, real=lambda y: y > -2),
           "A label of −1 is used as an index, and means the last word: where a row has ended nothing is to be said.",
           "13.2", LABELLED),
    Mutant("smoothed padding", _smooth(q=_padding_too, real=lambda y: y > -2),
           "The places behind an end have no label, and still a smoothed q: they are no part of the loss.", "13.2",
           LABELLED),
    Mutant("sign of the gradient", _smooth(back=lambda S, P, Q, labels, V: S * (Q - P)),
           "The gradient has the wrong sign: it is p − q, so that a step against it makes p more like q.", "13.2",
           ("gradient",)),
    Mutant("slope at the label's own p", _smooth(back=lambda S, P, Q, labels, V: S * (1 - P) * Q),
           "(1 − p) q is the part of each word's own logit: every logit stands in the sum below all of them. The "
           "gradient is p − q.", "13.2", ("gradient",)),
    Mutant("bound of the others' coin", _smooth(bound=lambda V, eps: _entropy([eps])),
           "−ε ln ε is one of three terms: the entropy of q is −(1 − ε) ln(1 − ε) − ε ln ε + ε ln(V − 2).", "13.2",
           ("bound",)),
    Mutant("bound of all words", _smooth(bound=lambda V, eps: eps * math.log(V)),
           "ε ln V is not the entropy of q: that is −(1 − ε) ln(1 − ε) − ε ln(ε / (V − 2)).", "13.2", ("bound",)),
    Mutant("gradient by rows", _smooth(back=lambda S, P, Q, labels, V: (
        S > 0) * (P - Q) / (labels >= 0).sum(axis=1)[:, None, None]),
           "The gradient of a place is divided by the words of its own row: the loss is one mean over all N words.",
           "13.2", ("gradient",)),
    Mutant("what counts is found by pad", lambda logits, labels, pad, eps: _smooth(real=lambda y: y != pad)(
        logits, np.where(labels < 0, 0, labels), pad, eps),
           "The places behind the end of a row count as well, as where what counts is looked up by pad, or not at all: "
           "there the label is −1.", "13.2",
           ("loss", "gradient")),
    Mutant("a little beside p", _smooth(loss=lambda S, Q, log_p, eps: -(S * Q * np.log(np.exp(log_p) + 1e-9)).sum()),
           "A small number is added to p before the logarithm: take z − log Σ exp z, which needs none.", "11.1",
           ("loss",)),
    Mutant("PAD has no gradient", _smooth(back=lambda S, P, Q, labels, V: S * (P - Q) * (np.arange(V) != V // 2)),
           "The gradient at PAD is set to 0: its q is 0, but the model gives it a p, so the gradient is p / N.", "13.2",
           ("gradient",)),
    Mutant("softmax twice", _smooth(back=lambda S, P, Q, labels, V: S * P * (P - Q)),
           "P − q is the gradient of the logits already: the softmax is in it, and nothing more is multiplied.", "13.2",
           ("gradient",)),
    Mutant("Jacobian after P − q", _smooth(back=lambda S, P, Q, labels, V: S * P * (
        (P - Q) - (P * (P - Q)).sum(axis=-1, keepdims=True))),
           "P − q is the gradient of the logits already: it goes through no softmax once more.", "13.2", ("gradient",)),
    Mutant("slope of the sigmoid", _smooth(back=lambda S, P, Q, labels, V: S * P * (1 - P) * (P - Q)),
           "P − q is the gradient of the logits already: no slope of a sigmoid belongs to it.", "13.2", ("gradient",)),
    Mutant("gradient of log p", _smooth(back=lambda S, P, Q, labels, V: -S * Q / P),
           "−q / p is the gradient with respect to p: through the softmax it becomes p − q.", "13.2", ("gradient",)),
    Mutant("sign of the loss", _smooth(loss=lambda S, Q, log_p, eps: (S * Q * log_p).sum()),
           "The loss is negative: a cross-entropy is −Σ q log p.", "13.2", ("loss",)),
    Mutant("mean over the vocabulary", _smooth(share=lambda real: real / real.sum(), loss=lambda S, Q, log_p, eps: -(
        S * Q * log_p).mean(axis=-1).sum()),
           "The loss is averaged over the words of the vocabulary: over these it is a sum, weighted by q.", "13.2",
           ("loss",)),
    Mutant("everything over the vocabulary", lambda *given: tuple(
        x / given[0].shape[-1] for x in _smooth()(*given)),
           "Everything is divided by V: over the words of the vocabulary there is a sum, weighted by q.", "13.2",
           ("loss", "gradient", "bound")),
    Mutant("divergence", _smooth(loss=lambda S, Q, log_p, eps: (S * Q * (np.log(np.where(Q > 0, Q, 1)) - log_p)).sum()),
           "The entropy of q is taken off the loss: that is the divergence from q to p, whose bound is 0. Asked is the "
           "cross-entropy.", "13.2", ("loss",)),
    Mutant("bound of equal words", _smooth(bound=lambda V, eps: math.log(V)),
           "ln V is what a model loses that knows nothing; asked is the loss of the best one, the entropy of q.",
           "13.2", ("bound",)),
    Mutant("bound of equal words but PAD", _smooth(bound=lambda V, eps: math.log(V - 1)),
           "ln (V − 1) is what a model loses that knows nothing; asked is the loss of the best one, the entropy of q.",
           "13.2", ("bound",)),
    Mutant("bound of equal other words", _smooth(bound=lambda V, eps: eps * math.log(V - 2)),
           "ε ln(V − 2) is a part of the entropy: the part of the choice between label and the rest is missing, "
           "−(1 − ε) ln(1 − ε) − ε ln ε.", "13.2", ("bound",)),
    Mutant("sign within the bound", _smooth(bound=lambda V, eps: _entropy([1 - eps]) - _entropy(
        [eps / (V - 2)] * (V - 2))),
           "The term of the other words has the wrong sign: −ε ln(ε / (V − 2)) is positive.", "13.2", ("bound",)),
    Mutant("sign of V within the bound", _smooth(bound=lambda V, eps: _entropy([1 - eps, eps]) - eps * math.log(V - 2)),
           "−ln(ε / (V − 2)) is −ln ε *plus* ln(V − 2).", "13.2", ("bound",)),
    Mutant("the others' part alone", _smooth(bound=lambda V, eps: _entropy([eps / (V - 2)] * (V - 2))),
           "The bound holds the other words alone: the label has a term too, −(1 − ε) ln(1 − ε).", "13.2", ("bound",)),
    Mutant("0 is the bound", _smooth(bound=lambda V, eps: 0.0),
           "With smoothing the loss cannot reach 0: where p = q it is the entropy of q.", "13.2", ("bound",)),
    Mutant("bound with the label alone", _smooth(bound=lambda V, eps: -(1 - eps) * math.log(1 - eps)),
           "The bound holds the term of the label alone: the V − 2 other words have a part in the entropy too.", "13.2",
           ("bound",)),
    Mutant("bound with one other word", _smooth(bound=lambda V, eps: _entropy([1 - eps, eps / (V - 2)])),
           "The bound counts one other word: there are V − 2 of them, ε in all.", "13.2", ("bound",)),
    Mutant("bound of two words", _smooth(bound=lambda V, eps: _entropy([1 - eps, eps])),
           "This is the entropy of a coin, 1 − ε against ε: the ε is spread over V − 2 words, which adds ε ln(V − 2).",
           "13.2", ("bound",)),
    Mutant("bound of torch's q", _smooth(bound=lambda V, eps: _entropy([1 - eps + eps / V] + [eps / V] * (V - 1))),
           "This is the entropy of torch's q, which has a part for PAD.", "13.2", ("bound",)),
    Mutant("bound with V − 1", _smooth(bound=lambda V, eps: _entropy([1 - eps] + [eps / (V - 1)] * (V - 1))),
           "The bound has V − 1 other words: PAD is none of them, so there are V − 2.", "13.2", ("bound",)),
    Mutant("bound without its sign", _smooth(bound=lambda V, eps: -_right_bound(V, eps)),
           "The bound is negative: an entropy is −Σ q ln q, and never below 0.", "13.2", ("bound",)),
    Mutant("bound in bits", _smooth(bound=lambda V, eps: _right_bound(V, eps) / math.log(2)),
           "The bound is in bits; the loss is in nats, with the natural logarithm.", "13.2", ("bound",)),
    Mutant("the label's loss at the best", _smooth(bound=lambda V, eps: -math.log(1 - eps)),
           "This is −log p of the label where p = q: the other words have terms as well, each with its q.", "13.2",
           ("bound",)),
    Mutant("0 log 0", _smooth(bound=_nan_bound),
           "For ε = 0 the bound is nan: a term q ln q is 0 where q is 0.", "13.2", ("no smoothing",)),
    Mutant("log of the softmax", lambda logits, labels, pad, eps: _two_steps(logits, labels, pad, eps),
           "The softmax is taken first and then its logarithm: where p is too small for a float, that is log 0. Take "
           "z − log Σ exp z at once.", "11.1", ("large logits",)),
    Mutant("bound of a sum", lambda logits, labels, pad, eps: (
        given := _smooth()(logits, labels, pad, eps))[:2] + ((labels >= 0).sum() * given[2],),
           "The bound is that of the sum over all words: L is their mean, so its bound is the entropy of one q.",
           "13.2", ("bound", "other sizes")),
)


def _two_steps(logits, labels, pad, eps):
    Z = np.exp(logits - logits.max(axis=-1, keepdims=True))
    P, Q, S = Z / Z.sum(axis=-1, keepdims=True), _right_q(labels, logits.shape[-1], pad, eps), _tokens(labels >= 0)
    S = S[..., None]
    with np.errstate(all="ignore"):
        return -(S * Q * np.log(P)).sum(), S * (P - Q), _right_bound(logits.shape[-1], eps)


# 13.3


def _soften(S, axis=-1, top=None):
    E = np.exp(S - S.max(axis=axis if top is None else top, keepdims=True))
    return E / np.maximum(E.sum(axis=axis, keepdims=True), 1e-300)


def _row_sum(A, dA):
    return A * (dA - (A * dA).sum(axis=-1, keepdims=True))


def _shared(scale=lambda Y, Q, K, V: math.sqrt(Q.shape[-1]), back_scale=None, soft=_row_sum, hide="scores", keys=1,
            values=1, join=None, axis=-1, out=None, mask=lambda real: real, top=None):
    def function(dO, Y, M, real, W_q, W_k, W_v):
        Q, K, V, real = Y @ W_q, M @ W_k, M @ W_v, mask(real)
        c = scale(Y, Q, K, V)
        S = Q @ K.T / c
        S = np.where(real, S, -1e30) if hide == "scores" else S * real if hide == "zero" else S
        A = _soften(S, axis, top)
        A = A * real if hide == "after" else A
        dA = dO @ V.T
        dS = soft(A, dA)
        dK, dV = dS.mT @ Q / (back_scale(Q) if back_scale else c), A.mT @ dO
        dK, dV = (join(x) if join else x.sum(axis=0) for x in (dK, dV))
        found = keys * dK @ W_k.T + values * dV @ W_v.T, M.T @ dK, M.T @ dV
        return out(*found) if out else found

    return function


def _emptied_at_the_end(dO, Y, M, real, *maps):
    dM, dW_k, dW_v = _shared()(dO, Y, M, np.ones_like(real), *maps)
    return dM * real[:, None], dW_k, dW_v


def _added_first(dO, Y, *rest):
    return _shared()(dO.sum(axis=0, keepdims=True), Y.sum(axis=0, keepdims=True), *rest)


SHARED = ("dW_v", "dW_k", "dM", "padded source", "others")
SCORED = ("dW_k", "dM", "padded source", "others")
SHARING = (
    Mutant("padding emptied at the end", _emptied_at_the_end,
           "The padding is read on the way there, and only its rows of dM are set to 0 in the end: a hidden score is "
           "−∞ before the softmax, so that the real rows share all of the weight.", "13.2",
           ("padded source", "others")),
    Mutant("readers added first", _added_first,
           "The translations are added up before they read: each has a softmax of its own, and only what comes back to "
           "the source is added.", "13.2", SHARED),
    Mutant("values alone", _shared(keys=0),
           "dM comes through the values alone: the source is read twice, as keys and as values, and both send a "
           "gradient.", "13.2", ("dM", "padded source")),
    Mutant("keys alone", _shared(values=0),
           "dM comes through the keys alone: the source is read twice, as keys and as values, and both send a "
           "gradient.",
           "13.2", ("dM", "padded source")),
    Mutant("weights as constants", _shared(out=lambda a, b, c: (a, 0 * b, c), keys=0),
           "The weights A are taken as given: the keys made them, so M and W_k get a gradient through the softmax.",
           "13.2", ("dW_k", "dM")),
    Mutant("mean over the translations", _shared(join=lambda x: x.mean(axis=0)),
           "The gradients of the translations are averaged: the source was read by every one of them, and the "
           "gradients of copies add up.", "13.2", SHARED),
    Mutant("the last translation", _shared(join=lambda x: x[-1]),
           "Only the last translation sends its gradient back: it is overwritten in a loop, and should be added up.",
           "13.2", SHARED),
    Mutant("the first translation", _shared(join=lambda x: x[0]),
           "Only the first translation sends its gradient back: the source was read by all of them, so they add up.",
           "13.2", SHARED),
    *(Mutant(f"R times the {name}", _shared(join=lambda x, r=r: len(x) * x[r]),
             f"The gradient of the {name} translation is taken R times: the translations differ, and so does what each "
             "of them sends back. Add up what all of them send.", "13.2", SHARED)
      for name, r in (("first", 0), ("last", -1))),
    Mutant("scale forgotten on the way back", _shared(back_scale=lambda Q: 1.0),
           "The scores were divided by √d_k, so what comes back to the keys is divided by √d_k too.", "13.2", SCORED),
    Mutant("scale forgotten", _shared(scale=lambda Y, Q, K, V: 1.0),
           "The scores are not divided by √d_k.", "13.2", SHARED),
    Mutant("divided by d_k", _shared(scale=lambda Y, Q, K, V: float(Q.shape[-1])),
           "The scores are divided by d_k: it is its root.", "13.2", SHARED),
    Mutant("divided by d_k on the way back", _shared(back_scale=lambda Q: float(Q.shape[-1])),
           "What comes back to the keys is divided by d_k: it is its root, once.", "13.2", SCORED),
    Mutant("divided by the root of d", _shared(scale=lambda Y, Q, K, V: math.sqrt(Y.shape[-1])),
           "The scores are divided by √d, the width of the targets: a score adds d_k products, so it is √d_k.", "13.2",
           SHARED),
    Mutant("divided by the root of d_v", _shared(scale=lambda Y, Q, K, V: math.sqrt(V.shape[-1])),
           "The scores are divided by √d_v, the width of the values: a score adds d_k products, so it is √d_k.", "13.2",
           SHARED),
    Mutant("divided by the root of m", _shared(scale=lambda Y, Q, K, V: math.sqrt(len(K))),
           "The scores are divided by √m, the number of source words: a score adds d_k products, so it is √d_k.",
           "13.2", SHARED),
    Mutant("softmax without its row sum", _shared(soft=lambda A, dA: A * dA),
           "Through the softmax goes A ∘ (dA − ρ), with ρ = Σ A ∘ dA of each row: ρ is missing.", "13.2", SCORED),
    Mutant("plain row sum", _shared(soft=lambda A, dA: A * (dA - dA.sum(axis=-1, keepdims=True))),
           "What is taken off dA is the sum of A ∘ dA over the row, not that of dA.", "13.2", SCORED),
    Mutant("plain row mean", _shared(soft=lambda A, dA: A * (dA - dA.mean(axis=-1, keepdims=True))),
           "What is taken off dA is its mean with the weights A, Σ A ∘ dA, not the plain mean.", "13.2", SCORED),
    Mutant("column sum", _shared(soft=lambda A, dA: A * (dA - (A * dA).sum(axis=-2, keepdims=True))),
           "ρ is summed over the columns: the softmax ran along a row, so its sum does too.", "13.2", SCORED),
    Mutant("slope of the sigmoid", _shared(soft=lambda A, dA: A * (1 - A) * dA),
           "A (1 − A) is the slope of a sigmoid, the diagonal of the softmax's Jacobian alone: the weights of a row "
           "depend on all its scores.", "13.2", SCORED),
    Mutant("softmax left out", _shared(soft=lambda A, dA: dA),
           "dA is used as the gradient of the scores: the softmax lies between them.", "13.2", SCORED),
    Mutant("rho added", _shared(soft=lambda A, dA: A * (dA + (A * dA).sum(axis=-1, keepdims=True))),
           "ρ is added, and should be taken off: A ∘ (dA − ρ).", "13.2", SCORED),
    Mutant("sign of the keys", _shared(soft=lambda A, dA: -_row_sum(A, dA)),
           "The gradient through the keys has the wrong sign: A ∘ (dA − ρ), and not ρ − dA.", "13.2", SCORED),
    Mutant("mask ignored", _shared(hide=""),
           "The mask is not used: rows of M that are not real are read as words, and get a gradient.", "13.2",
           ("padded source",)),
    Mutant("mask after the softmax", _shared(hide="after"),
           "The weights of padding are set to 0 after the softmax, and the rest does not sum to one: hide the scores "
           "before it.", "13.2", ("padded source",)),
    Mutant("hidden scores of zero", _shared(hide="zero"),
           "Hidden scores are set to 0, which still gets a weight: a hidden key needs −∞ before the softmax.", "13.2",
           ("padded source",)),
    Mutant("mask the other way round", _shared(mask=lambda real: ~real),
           "The mask is turned round: real is True where a row may be read.", "13.2", ("padded source",)),
    Mutant("softmax over the targets", _shared(axis=-2),
           "The softmax runs over the target rows: the weights of one target row over all source rows sum to one.",
           "13.2", SHARED),
    Mutant("divided by the sum over the targets", _shared(axis=-2, top=-1),
           "The exponentials are divided by their sum over the target rows: the weights of one target row over all "
           "source rows sum to one.", "13.2", SHARED),
    Mutant("sum over everything", _shared(soft=lambda A, dA: A * (dA - (A * dA).sum(axis=(-2, -1), keepdims=True))),
           "ρ is summed over a whole matrix: each row of the softmax has its own.", "13.2", SCORED),
    Mutant("slope of the sigmoid, and rho", _shared(soft=lambda A, dA: _row_sum(A, dA) * (1 - A)),
           "A (1 − A) and ρ together: A ∘ (dA − ρ) is the whole Jacobian of the softmax.", "13.2", SCORED),
    Mutant("A twice", _shared(soft=lambda A, dA: A * _row_sum(A, dA)),
           "A is multiplied twice: the gradient of the scores is A ∘ (dA − ρ).", "13.2", SCORED),
    Mutant("rho without A in front", _shared(soft=lambda A, dA: dA - (A * dA).sum(axis=-1, keepdims=True)),
           "dA − ρ is still to be multiplied by A.", "13.2", SCORED),
    Mutant("mean over source words", lambda *given: _divided(given, len(given[2])),
           "The gradients are divided by the number of source words: nothing is averaged here.", "13.2", SHARED),
    Mutant("dM over the real words", lambda *given: (
        (found := _shared()(*given))[0] / given[3].sum(), *found[1:]),
           "dM is divided by the number of source words: nothing is averaged here.", "13.2", ("dM", "padded source")),
    Mutant("mean over target words", lambda *given: _divided(given, given[1].shape[1]),
           "The gradients are divided by the number of target words: nothing is averaged here.", "13.2", SHARED),
    Mutant("padded rows set to zero", lambda dO, Y, M, real, *maps: _shared()(
        dO, Y, M * real[:, None], np.ones_like(real), *maps),
           "The padded rows of M are set to 0, and there is no mask: a key of zeros has the score 0, which gets a "
           "weight.", "13.2", ("padded source",)),
    Mutant("maps overwritten", lambda *given: (_shared()(*given)[0], *_shared(join=lambda x: x[-1])(*given)[1:]),
           "dW_k and dW_v are those of the last translation: they are overwritten in a loop, and should be added up.",
           "13.2", ("dW_k", "dW_v", "padded source")),
    Mutant("dM overwritten", lambda *given: (_shared(join=lambda x: x[-1])(*given)[0], *_shared()(*given)[1:]),
           "dM is that of the last translation: it is overwritten in a loop, and should be added up.", "13.2",
           ("dM", "padded source")),
    Mutant("dM averaged", lambda *given: ((out := _shared()(*given))[0] / len(given[1]), *out[1:]),
           "dM is averaged over the translations: the source was read by every one of them, and the gradients of "
           "copies add up.", "13.2", ("dM", "padded source")),
    Mutant("added up too early", lambda *given: _early(*given),
           "Weights and gradients of the translations are added up before they are multiplied: each translation has "
           "its own A and dO, so add up the products.", "13.2", SHARED),
    Mutant("scale on the values too", lambda *given: _scaled_values(*given),
           "The way back to the values is divided by √d_k: only the scores were.", "13.2", ("dW_v", "dM")),
    Mutant("gradient of what is hidden", lambda *given: _hidden_moves(*given),
           "Padding has a gradient: a row of M that nobody reads gets exactly 0.", "13.2", ("padded source",)),
    Mutant("signs of two ways", _shared(values=-1),
           "What comes through the values is taken off: both ways add up.", "13.2", ("dM", "padded source")),
    Mutant("half", lambda *given: ((out := _shared()(*given))[0] / 2, *out[1:]),
           "dM is halved: what comes through keys and values is added, not averaged.", "13.2", ("dM", "padded source")),
    Mutant("keys twice", _shared(keys=2),
           "The gradient through the keys is counted twice in dM.", "13.2", ("dM", "padded source")),
    Mutant("values twice", _shared(values=2),
           "The gradient through the values is counted twice in dM.", "13.2", ("dM", "padded source")),
)


def _divided(given, number):
    return tuple(x / number for x in _shared()(*given))


def _early(dO, Y, M, real, W_q, W_k, W_v):
    Q, K, V = Y @ W_q, M @ W_k, M @ W_v
    S = np.where(real, Q @ K.T / math.sqrt(Q.shape[-1]), -np.inf)
    A = _soften(S)
    dS = _row_sum(A, dO @ V.T)
    dK = dS.sum(axis=0).T @ Q.sum(axis=0) / math.sqrt(Q.shape[-1])
    dV = A.sum(axis=0).T @ dO.sum(axis=0)
    return dK @ W_k.T + dV @ W_v.T, M.T @ dK, M.T @ dV


def _scaled_values(dO, Y, M, real, W_q, W_k, W_v):
    c = math.sqrt(W_q.shape[1])
    dM, dW_k, dW_v = _shared()(dO, Y, M, real, W_q, W_k, W_v)
    through = _shared(keys=0)(dO, Y, M, real, W_q, W_k, W_v)[0]
    return dM - through + through / c, dW_k, dW_v / c


def _hidden_moves(dO, Y, M, real, W_q, W_k, W_v):
    dM, dW_k, dW_v = _shared()(dO, Y, M, real, W_q, W_k, W_v)
    A = _soften(Y @ W_q @ (M @ W_k).T / math.sqrt(W_q.shape[1]))
    return dM + ~real[:, None] * (A.mT @ dO).sum(axis=0) @ W_v.T, dW_k, dW_v


# 13.4


def _write(stop=lambda done, word, eos: done.all(), fill=lambda pad, eos, word: pad, add=None, most=0, early=False,
           keep_bos=False, words=None, score=None, extra=False, text=None):
    """The right loop with one part of it made in another way."""

    def function(step, B, bos, eos, pad, max_len):
        rows, log_p, done, size = np.full((B, 1), bos), np.zeros(B), np.zeros(B, bool), np.full(B, 0)
        for _ in range(max_len + most):
            Y = step(rows)
            word, best = Y.argmax(axis=1), Y.max(axis=1)
            if early:
                done = done | (word == eos)
            log_p = add(log_p, best, done) if add else np.where(done, log_p, log_p + best)
            size = np.where(done, size, size + 1)
            word = np.where(done, fill(pad, eos, word), word)
            rows = np.column_stack([rows, word])
            done = done | (word == eos)
            if stop(done, word, eos):
                break
        if extra and done.all():
            rows = np.column_stack([rows, np.full(B, pad)])
        found = rows if keep_bos else rows[:, 1:]
        found = text(found, eos, pad) if text else found
        return (found, score(log_p, size, done) if score else log_p,
                words(size, done, found, pad, eos) if words else size)

    return function


def _adds_on(log_p, best, done):
    return log_p + best


def _times_zero(log_p, best, done):
    return log_p + ~done * best


def _pad_ends(step, B, bos, eos, pad, max_len):
    rows, log_p, size = np.full((B, 1), bos), np.zeros(B), np.zeros(B, int)
    for _ in range(max_len):
        done = np.isin(rows[:, -1], [eos, pad])
        if done.all():
            break
        Y = step(rows)
        log_p, size = np.where(done, log_p, log_p + Y.max(axis=1)), size + ~done
        rows = np.column_stack([rows, np.where(done, pad, Y.argmax(axis=1))])
    return rows[:, 1:], log_p, size


UNEVEN = ("two lengths", "four lengths", "nan behind the end", "other sizes")
WRITERS = (
    Mutant("stops at the first end", _write(stop=lambda done, word, eos: done.any()),
           "The loop stops when one row has said EOS: the others are cut off. Go on until every row has.", "13.4",
           ("two lengths", "four lengths", "other sizes")),
    Mutant("waits for all at once", _write(stop=lambda done, word, eos: (word == eos).all()),
           "The loop goes on to max_len, with columns of nothing but pad: T is the length of the longest row. It ends "
           "when every row has ended, in whatever step; all rows hardly ever say EOS in the same one.", "13.4", UNEVEN),
    Mutant("forgets who has ended", lambda *given: _forgets(*given),
           "The flag is made anew in each step, word == eos, so that a row is over for one step alone: once set it "
           "stays set.", "13.4", ("two lengths", "four lengths", "nan behind the end")),
    Mutant("filled with -1", _write(text=lambda found, eos, pad: np.where(found == pad, -1, found)),
           "Behind EOS there is −1: the filler is pad.", "13.4", UNEVEN),
    Mutant("score of ended rows lost", _write(add=lambda log_p, best, done: np.where(done, 0, log_p + best)),
           "The score of a row that has ended is set to 0: it stays as it is.", "13.4", UNEVEN),
    Mutant("negative log-probability", _write(score=lambda log_p, size, done: -log_p),
           "This is the negative log-probability: log p itself is never above 0.", "13.4", UNEVEN),
    Mutant("pad is taken for an end", _pad_ends,
           "A row that has written the id of pad counts as ended: a word may have that id. Only EOS ends a row, so "
           "keep a flag for each.", "13.4", ("a word like pad",)),
    Mutant("counts on", _write(add=_adds_on),
           "Log-probabilities are added behind a row's EOS: what comes after the end is no part of the sentence.",
           "13.4", UNEVEN),
    Mutant("times zero", _write(add=_times_zero),
           "What step says of a row that has ended is multiplied by 0, and 0 times nan is nan: choose with np.where.",
           "13.4", ("nan behind the end",)),
    Mutant("writes on", _write(fill=lambda pad, eos, word: word),
           "Rows that have ended go on writing: behind EOS there is only pad.", "13.4",
           ("two lengths", "four lengths")),
    Mutant("writes and counts on", _write(fill=lambda pad, eos, word: word, add=_adds_on,
                                          words=lambda size, done, found, pad, eos: np.full(len(found),
                                                                                           found.shape[1])),
           "Nothing is remembered of who has ended: rows write on behind their EOS, and what they write is counted.",
           "13.4", UNEVEN),
    Mutant("writes and adds on", _write(fill=lambda pad, eos, word: word, add=_adds_on),
           "Rows that have ended write on, and what they write is added to their score: behind EOS there is only pad, "
           "and the score stays as it is.", "13.4", UNEVEN),
    Mutant("filled with EOS", _write(fill=lambda pad, eos, word: eos),
           "Rows that have ended are filled with EOS: the filler is pad, and a sentence ends once.", "13.4", UNEVEN),
    Mutant("bos kept", _write(keep_bos=True), "The text still begins with BOS, which nobody wrote.", "13.4", UNEVEN),
    Mutant("EOS does not count", _write(add=lambda log_p, best, done: np.where(done, log_p, log_p + best), early=True,
                                        fill=lambda pad, eos, word: np.where(word == eos, eos, pad)),
           "A row is marked as ended before its EOS is counted: that it ends here has a probability like any word.",
           "13.4", UNEVEN),
    Mutant("score without EOS", lambda step, B, bos, eos, pad, max_len: _without_eos(step, B, bos, eos, pad, max_len),
           "The log-probability of EOS is missing: that a sentence ends here has a probability like any word.", "13.4",
           UNEVEN),
    Mutant("EOS left out", _write(text=lambda found, eos, pad: np.where(found == eos, pad, found)),
           "EOS is replaced by pad: it is a word that was written, and stays in the text.", "13.4", UNEVEN),
    Mutant("words without EOS", _write(words=lambda size, done, found, pad, eos: size - done),
           "The number of words leaves EOS out: here it counts.", "13.4", UNEVEN),
    Mutant("as many words as columns",
           _write(words=lambda size, done, found, pad, eos: np.full(len(found), found.shape[1])),
           "Every row is said to have T words: padding is none.", "13.4", UNEVEN),
    Mutant("unended rows have one more", _write(words=lambda size, done, found, pad, eos: size + ~done),
           "A row that was cut off has no EOS, and none is to be counted.", "13.4", ("cut off",)),
    Mutant("unended rows have none", _write(words=lambda size, done, found, pad, eos: np.where(done, size, 0)),
           "A row that was cut off is said to have no words: it has max_len of them.", "13.4", ("cut off",)),
    Mutant("unended rows one short", _write(words=lambda size, done, found, pad, eos: np.where(done, size, size - 1)),
           "A row that was cut off is said to have one word too few: it has max_len of them.", "13.4", ("cut off",)),
    Mutant("one step too few", _write(most=-1), "The loop takes one step too few: a row may have max_len words.",
           "13.4", ("cut off",)),
    Mutant("one step too many", _write(most=1),
           "The loop takes one step too many: a row may have max_len words, EOS counted.", "13.4", ("cut off",)),
    Mutant("mean", _write(score=lambda log_p, size, done: log_p / size),
           "log_p is divided by the number of words: asked is the sum.", "13.4", UNEVEN),
    Mutant("a probability", _write(score=lambda log_p, size, done: np.exp(log_p)),
           "This is the probability: asked is its logarithm, the sum of all log p.", "13.4", UNEVEN),
    Mutant("the last word alone", _write(add=lambda log_p, best, done: np.where(done, log_p, best)),
           "log_p is that of the last word alone: those of all words are added.", "13.4", UNEVEN),
    Mutant("a column of padding", _write(extra=True),
           "There is one more step after the last row has ended, and a column that holds nothing but pad.", "13.4",
           UNEVEN),
    Mutant("cut to the shortest", lambda *given: (
        (out := _write()(*given))[0][:, : out[2].min()], *out[1:]),
           "The text is cut to the shortest row: T is the length of the longest.", "13.4",
           ("two lengths", "four lengths")),
    Mutant("without the last column", lambda *given: ((out := _write()(*given))[0][:, :-1], *out[1:]),
           "The last column of the text is missing: EOS is written, too.", "13.4", UNEVEN),
    Mutant("without EOS and the last column", lambda *given: _stripped(*given),
           "EOS is taken out of the text: it is a word that was written, and stays.", "13.4", UNEVEN),
    Mutant("length penalty", _write(score=lambda log_p, size, done: log_p / ((5 + size) / 6) ** 0.6),
           "log_p is divided by a length penalty: asked is the plain sum.", "13.4", UNEVEN),
    Mutant("BOS counts as a word", _write(words=lambda size, done, found, pad, eos: size + 1),
           "words is too large by one: BOS was not written.", "13.4", UNEVEN),
    Mutant("cut off, no score", _write(score=lambda log_p, size, done: np.where(done, log_p, -np.inf)),
           "A row that was cut off has the score −∞: it has the sum of its words' log p.", "13.4", ("cut off",)),
    Mutant("cut off, zero", _write(score=lambda log_p, size, done: np.where(done, log_p, 0)),
           "A row that was cut off has the score 0: it has the sum of its words' log p.", "13.4", ("cut off",)),
    Mutant("end alone", _write(score=lambda log_p, size, done: log_p.sum()),
           "log_p is the sum over all rows: each row has its own.", "13.4", UNEVEN),
    Mutant("largest length for all", _write(add=_adds_on, words=lambda size, done, found, pad, eos: np.full(
        len(found), found.shape[1])),
           "The rows are filled with pad, but log-probabilities are added and words are counted behind EOS: a row "
           "that has ended adds nothing more.", "13.4", UNEVEN),
    Mutant("EOS forced at the limit", lambda step, B, bos, eos, pad, max_len: _forced(
        step, B, bos, eos, pad, max_len),
           "A row that was cut off ends with EOS here, which the model did not write.", "13.4", ("cut off",)),
    Mutant("words are what is not pad", _write(words=lambda size, done, found, pad, eos: (found != pad).sum(axis=1)),
           "The words are counted by their ids, as those that are not pad: a live row may write a word that has this "
           "id. Count each row's words as you write them.", "13.4", ("a word like pad",)),
)


def _without_eos(step, B, bos, eos, pad, max_len):
    text, log_p, words = _write()(step, B, bos, eos, pad, max_len)
    prefixes = np.column_stack([np.full(B, bos), text])
    for b in range(B):
        if text[b, words[b] - 1] == eos:
            log_p[b] -= step(np.where(prefixes == pad, bos, prefixes)[:, : words[b]])[b, eos]
    return text, log_p, words


def _forgets(step, B, bos, eos, pad, max_len):
    rows, log_p, size, done = np.full((B, 1), bos), np.zeros(B), np.zeros(B, int), np.zeros(B, bool)
    for _ in range(max_len):
        Y = step(rows)
        word = np.where(done, pad, Y.argmax(axis=1))
        log_p, size = np.where(done, log_p, log_p + Y.max(axis=1)), size + ~done
        rows, done = np.column_stack([rows, word]), word == eos
        if done.all():
            break
    return rows[:, 1:], log_p, size


def _stripped(*given):
    text, log_p, words = _write()(*given)
    eos, pad = given[3], given[4]
    return np.where(text == eos, pad, text)[:, :-1], log_p, words


def _forced(step, B, bos, eos, pad, max_len):
    text, log_p, words = _write()(step, B, bos, eos, pad, max_len)
    if text.shape[1] == max_len:
        text[:, -1] = np.where((text == eos).any(axis=1), text[:, -1], eos)
    return text, log_p, words


# 13.5


def _penalty(n, alpha):
    return ((5 + n) / 6) ** alpha


def _beam(rank=lambda total, n, alpha: total / _penalty(n, alpha), ended="once", new=lambda n, done: n + ~done,
          ranked_by=None, pick=None, word=None, give=None, live=None, add=lambda p, y: p + y):
    """One step with one part of it made in another way; `ended` says what a finished sentence may become."""

    def function(log_p, lengths, finished, Y, eos, alpha):
        B, k, V = Y.shape
        Y = np.where(finished[..., None], -50.0, Y) if ended != "as it is" else Y
        done = finished[..., None]
        total = add(log_p[..., None], Y)
        if live:
            total = np.where(done, total, live(total, eos))
        only_eos = np.arange(V) == eos
        stays = {"once": np.where(only_eos, log_p[..., None], -np.inf),
                 "every word": np.broadcast_to(log_p[..., None], Y.shape),
                 "leaves": np.full(Y.shape, -np.inf),
                 "first word": np.where(np.arange(V) == 0, log_p[..., None], -np.inf)}.get(ended, total)
        total = np.where(done, stays, total)
        n = new(lengths, finished)
        score = rank(total, (ranked_by or new)(lengths, finished)[..., None], alpha).reshape(B, -1)
        if pick:
            best = pick(score, k, V)
        else:
            best = np.argsort(-score, axis=1, kind="stable")[:, :k]
        parent, w = best // V, best % V
        out = (parent, w, np.take_along_axis(total.reshape(B, -1), best, 1), np.take_along_axis(n, parent, 1))
        return give(*out, log_p, n, alpha, eos, score, best) if give else out

    return function


def _best_of_each(score, k, V):
    """The best word of every place, sorted."""
    B = len(score)
    words = score.reshape(B, k, V).argmax(axis=2)
    flat = np.arange(k) * V + words
    order = np.argsort(-np.take_along_axis(score, flat, 1), axis=1, kind="stable")
    return np.take_along_axis(flat, order, 1)


def _best_of_each_unsorted(score, k, V):
    return np.arange(k) * V + score.reshape(len(score), k, V).argmax(axis=2)


def _first_places(score, k, V):
    return np.sort(np.argsort(-score, axis=1, kind="stable")[:, :k], axis=1)


def _worst_first(score, k, V):
    return np.argsort(-score, axis=1, kind="stable")[:, :k][:, ::-1]


def _worst(score, k, V):
    found = np.where(np.isfinite(score), score, np.inf)
    return np.argsort(found, axis=1, kind="stable")[:, :k]


def _of_all_sources(score, k, V):
    best = np.argsort(-score.ravel(), kind="stable")[: k * len(score)]
    return best.reshape(len(score), k) % score.shape[1]


def _nan_beam(log_p, lengths, finished, Y, eos, alpha):
    """0 times nan."""
    B, k, V = Y.shape
    total = log_p[..., None] + Y * ~finished[..., None]
    total = np.where(finished[..., None] & (np.arange(V) != eos), -np.inf, total)
    n = lengths + ~finished
    score = (total / _penalty(n, alpha)[..., None]).reshape(B, -1)
    best = np.argsort(-score, axis=1, kind="stable")[:, :k]
    parent = best // V
    return (parent, best % V, np.take_along_axis(total.reshape(B, -1), best, 1), np.take_along_axis(n, parent, 1))


def _no_eos(total, eos):
    return np.where(np.arange(total.shape[-1]) == eos, -np.inf, total)


def _no_inf(total):
    return np.where(np.isfinite(total), total, -1e300)


def _by_place(score, k, V):
    best = np.argsort(-score, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(best, np.argsort(best // V, axis=1, kind="stable"), 1)


def _by_the_sum(parent, word, total, length, *rest):
    order = np.argsort(-total, axis=1, kind="stable")
    return tuple(np.take_along_axis(x, order, 1) for x in (parent, word, total, length))


STEPS, WITH_ENDS = ("all live", "some have ended", "no penalty", "other sizes"), ("some have ended", "other sizes")
BEAMS = (
    Mutant("one more in the penalty", _beam(rank=lambda total, n, alpha: total / ((6 + n) / 6) ** alpha),
           "The penalty has one word too many: |y| counts the new word already, (5 + |y|) / 6.", "13.4",
           ("some have ended", "short and long")),
    Mutant("lengths that grow", _beam(new=lambda n, done: n + 1, ranked_by=lambda n, done: n + ~done),
           "The ranking is right, and then the lengths of finished sentences grow by a word: they stay as they are.",
           "13.4", ("some have ended", "short and long", "no penalty")),
    Mutant("by place", _beam(pick=_by_place),
           "The k best are right, but they stand in the order of their places: the best comes first, wherever it is "
           "from.", "13.4", ("some have ended", "short and long")),
    Mutant("by the sum", _beam(give=_by_the_sum),
           "The k best are right, but they stand in the order of log p: the penalised score ranks, in the result as "
           "well.", "13.4", ("some have ended", "short and long")),
    Mutant("the best word of each", _beam(pick=_best_of_each),
           "Every hypothesis keeps its one best word: the k best are chosen among all k·V continuations of a source, "
           "so that a good hypothesis may have several heirs and a bad one none.", "13.4", STEPS),
    Mutant("the best word of each, in place", _beam(pick=_best_of_each_unsorted),
           "Every hypothesis keeps its one best word, at its own place: these are k greedy searches side by side. The "
           "k best are chosen among all k·V continuations of a source.", "13.4", STEPS),
    Mutant("all sources in one", _beam(pick=_of_all_sources),
           "The best are chosen over all sources together: each source has a beam of its own.", "13.4", STEPS),
    Mutant("not sorted", _beam(pick=_first_places),
           "The k best are right, but not sorted: the best comes first.", "13.4", STEPS),
    Mutant("worst first", _beam(pick=_worst_first), "The k best are right, but the worst comes first.", "13.4", STEPS),
    Mutant("the worst", _beam(pick=_worst), "These are the k worst continuations: a larger log p is better.", "13.4",
           ("all live", "some have ended")),
    Mutant("an end is only a word", _beam(ended="as it is"),
           "Finished sentences go on: what Y says of them is used, and words are written behind EOS. A finished "
           "sentence has one continuation, itself.", "13.4", WITH_ENDS),
    Mutant("the finished leave", _beam(ended="leaves"),
           "Finished sentences are thrown away: they keep their place as long as they are among the best.", "13.4",
           WITH_ENDS),
    Mutant("a finished sentence V times", _beam(ended="every word"),
           "A finished sentence has V continuations here, all with its own log p, and takes several places: it is one "
           "candidate, with the word EOS.", "13.4", WITH_ENDS),
    Mutant("a finished sentence goes on with word 0", _beam(ended="first word"),
           "The word of a finished sentence is EOS, not the word 0.", "13.4", WITH_ENDS),
    Mutant("EOS paid twice", lambda log_p, lengths, finished, Y, eos, alpha: _beam(
        ended="as it is")(log_p, lengths, finished, np.where(
            finished[..., None] & (np.arange(Y.shape[2]) != eos), -np.inf, Y), eos, alpha),
           "A finished sentence pays for EOS once more: its log p stays as it is.", "13.4", WITH_ENDS),
    Mutant("nobody may end", _beam(live=_no_eos),
           "A live hypothesis cannot end: EOS is one of its V continuations.", "13.4", ("all live",)),
    Mutant("penalised sums", _beam(give=lambda parent, w, p, n, *rest: (parent, w, p / _penalty(n, rest[2]), n)),
           "log_p is returned divided by the length penalty: the penalty ranks, and the sum goes on as it is. Else it "
           "is divided again at the next step.", "13.4", ("all live", "some have ended")),
    Mutant("no penalty", _beam(rank=lambda total, n, alpha: total),
           "The candidates are ranked by log p alone: where some have ended, lengths differ, and the penalty decides.",
           "13.4", ("short and long",)),
    Mutant("penalty of the old length", _beam(ranked_by=lambda n, done: n),
           "The penalty is that of the length before this word: a live hypothesis has one word more.", "13.4",
           ("short and long",)),
    Mutant("the finished grow", _beam(new=lambda n, done: n + 1),
           "Finished sentences grow by a word: they have the length that they ended with.", "13.4", WITH_ENDS),
    Mutant("penalty of one word more", _beam(ranked_by=lambda n, done: n + 1),
           "The penalty counts a word more for finished sentences: they have the length that they ended with.", "13.4",
           ("short and long",)),
    Mutant("multiplied by the penalty", _beam(rank=lambda total, n, alpha: total * _penalty(n, alpha)),
           "log p is multiplied by the penalty, which makes long sentences worse still: it is divided.", "13.4",
           ("short and long",)),
    Mutant("plain length", _beam(rank=lambda total, n, alpha: total / np.maximum(n, 1e-9) ** alpha),
           "log p is divided by |y|^α: the penalty is ((5 + |y|) / 6)^α.", "13.4", ("short and long",)),
    Mutant("EOS not counted", lambda log_p, lengths, finished, Y, eos, alpha: _eos_uncounted(
        _beam()(log_p, lengths, finished, Y, eos, alpha), lengths, eos),
           "A sentence that ends with this word keeps its old length: EOS is counted, once, when it is said.", "13.4",
           ("all live",)),
    Mutant("alpha outside", _beam(rank=lambda total, n, alpha: total / (1 + alpha * (n - 1) / 6)),
           "α multiplies here: the penalty is ((5 + |y|) / 6) to the power α.", "13.4", ("short and long",)),
    Mutant("mean", _beam(rank=lambda total, n, alpha: total / np.maximum(n, 1e-9)),
           "log p is divided by the length itself, whatever α is: the penalty is ((5 + |y|) / 6)^α.", "13.4",
           ("short and long",)),
    Mutant("only the new word is penalised", lambda *given: _new_word(*given),
           "The penalty divides the new word's log p alone: it divides the whole sum.", "13.4", ("short and long",)),
    Mutant("lengths stay in place", _beam(
        give=lambda parent, w, p, n, log_p, new, *rest: (parent, w, p, new)),
           "The lengths are those of the old places: each goes with its parent.", "13.4", ("short and long",)),
    Mutant("lengths as they were", lambda log_p, lengths, finished, Y, eos, alpha: (
        *(out := _beam()(log_p, lengths, finished, Y, eos, alpha))[:3], np.take_along_axis(lengths, out[0], 1)),
           "The lengths do not grow: a live hypothesis has one word more, EOS counted.", "13.4", STEPS),
    Mutant("the parent's sum", _beam(
        give=lambda parent, w, p, n, log_p, *rest: (parent, w, np.take_along_axis(log_p, parent, 1), n)),
           "log_p is that of the parent: the new word's is added to it.", "13.4", STEPS),
    Mutant("the new word alone", _beam(give=lambda parent, w, p, n, log_p, *rest: (
        parent, w, p - np.take_along_axis(log_p, parent, 1), n)),
           "log_p is that of the new word alone: it is added to the sum of its parent.", "13.4",
           ("all live", "some have ended")),
    Mutant("a new word without a past", _beam(add=lambda p, y: y + 0 * _no_inf(p)),
           "The candidates are compared by their new word alone: the sum so far is left out.", "13.4",
           ("all live", "some have ended")),
    Mutant("divided by k", _beam(give=lambda parent, w, p, n, log_p, new, alpha, eos, score, best: (
        best // parent.shape[1] % parent.shape[1], best % parent.shape[1], p, n)),
           "A place among the k·V continuations is taken apart with k: there are V words to each hypothesis, so it is "
           "parent · V + word.", "13.4", STEPS),
    Mutant("probabilities", _beam(give=lambda parent, w, p, n, *rest: (parent, w, np.exp(p), n)),
           "log_p is returned as a probability: it stays a logarithm.", "13.4", STEPS),
    Mutant("finished sentences without a penalty", _beam(rank=lambda total, n, alpha: total / np.where(
        n < n.max(), 1.0, _penalty(n, alpha))),
           "The sums of finished sentences are compared as they are, those of live ones divided by the penalty: both "
           "are divided, each by the penalty of its length.", "13.4", ("short and long",)),
    Mutant("live sentences without a penalty", _beam(rank=lambda total, n, alpha: total / np.where(
        n < n.max(), _penalty(n, alpha), 1.0)),
           "Only the finished sentences are divided by the penalty: the live ones are, too.", "13.4",
           ("short and long",)),
    Mutant("the finished first", _beam(rank=lambda total, n, alpha: total / _penalty(n, alpha) + 1e6 * (n < n.max())),
           "Finished sentences are kept whatever their score is: they have to hold their place against the live ones.",
           "13.4", ("short and long",)),
    Mutant("a finished sentence costs nothing", _beam(rank=lambda total, n, alpha: np.where(
        (n < n.max()) & np.isfinite(total), 0.0, total / _penalty(n, alpha))),
           "Finished sentences have the score 0 here, better than any other: theirs is log p over the penalty.",
           "13.4", ("short and long",)),
    Mutant("ranked by the parent", lambda *given: _by_parent(*given),
           "The candidates are ranked by the sums of their parents: the new word's log p is part of it.", "13.4",
           ("all live", "no penalty")),
    Mutant("the parents' sums", lambda *given: (
        (out := _by_parent(*given))[0], out[1], np.take_along_axis(given[0], out[0], 1), out[3]),
           "The sums stay those of the parents, and rank the candidates: the new word's log p is added before anything "
           "is compared.", "13.4", ("all live", "no penalty")),
    Mutant("places by k", _beam(give=lambda parent, w, p, n, log_p, new, alpha, eos, score, best: (
        best % parent.shape[1], best // parent.shape[1], p, n)),
           "A place among the k·V continuations is taken apart as if there were k to each word: there are V words to "
           "each hypothesis, so it is parent · V + word.", "13.4", STEPS),
    Mutant("penalty of one word less", _beam(ranked_by=lambda n, done: n - done),
           "The penalty is that of one word less: |y| counts the new word of a live sentence, and EOS of a finished "
           "one.", "13.4", ("short and long",)),
    Mutant("an end is only a word, and a longer sentence", _beam(ended="as it is", new=lambda n, done: n + 1),
           "Finished sentences go on: what Y says of them is used, and words are written behind EOS. A finished "
           "sentence has one continuation, itself.", "13.4", WITH_ENDS),
    Mutant("one plus the length", _beam(rank=lambda total, n, alpha: total / ((1 + n) / 6) ** alpha),
           "The penalty is ((1 + |y|) / 6)^α here: it is ((5 + |y|) / 6)^α.", "13.4", ("short and long",)),
    Mutant("a sixth of the length alone", _beam(rank=lambda total, n, alpha: total / (5 + n / 6) ** alpha),
           "The penalty is (5 + |y|/6)^α here: the 6 divides the sum, ((5 + |y|) / 6)^α.", "13.4",
           ("short and long",)),
    Mutant("exponential of alpha", _beam(rank=lambda total, n, alpha: total / ((5 + n) / 6)),
           "α is not used: the penalty is ((5 + |y|) / 6) to the power α.", "13.4", ("short and long",)),
    Mutant("a little for staying", lambda log_p, lengths, finished, Y, eos, alpha: _beam()(
        np.where(finished, log_p - 0.1, log_p), lengths, finished, Y, eos, alpha),
           "A finished sentence pays for staying: its log p stays as it is.", "13.4", ("no penalty",)),
    Mutant("place among all", _beam(give=lambda parent, w, p, n, log_p, new, alpha, eos, score, best: (best, w, p, n)),
           "parent is the place among all k·V continuations: divided by V it is the place in the beam.", "13.4", STEPS),
    Mutant("word as place among all", _beam(give=lambda parent, w, p, n, log_p, new, alpha, eos, score, best: (
        parent, best, p, n)),
           "word is the place among all k·V continuations: its rest on division by V is the word.", "13.4", STEPS),
    Mutant("exchanged", _beam(give=lambda parent, w, p, n, *rest: (w, parent, p, n)),
           "parent and word have changed places: the place in the beam comes first.", "13.4", STEPS),
    Mutant("lengths of finished sentences", _beam(give=lambda parent, w, p, n, log_p, new, alpha, eos, *rest: (
        parent, w, p, np.full_like(n, n.max()))),
           "All lengths are those of the live sentences: a finished one keeps its own.", "13.4", WITH_ENDS),
    Mutant("0 times nan", _nan_beam,
           "Y of a finished sentence is multiplied by 0, and 0 times nan is nan: choose with np.where.", "13.4",
           ("nan behind the end",)),
)


def _eos_uncounted(step, lengths, eos):
    parent, word, total, _ = step
    return parent, word, total, np.take_along_axis(lengths, parent, 1) + (word != eos)


def _by_parent(log_p, lengths, finished, Y, eos, alpha):
    """The sums of the parents rank, and the right sums go on."""
    B, k, V = Y.shape
    Y = np.where(finished[..., None], 0.0, Y)
    sums = np.where(finished[..., None] & (np.arange(V) != eos), -np.inf, log_p[..., None] + Y)
    n = lengths + ~finished
    score = np.where(np.isfinite(sums), (log_p / _penalty(n, alpha))[..., None], -np.inf).reshape(B, -1)
    best = np.argsort(-score, axis=1, kind="stable")[:, :k]
    parent = best // V
    return parent, best % V, np.take_along_axis(sums.reshape(B, -1), best, 1), np.take_along_axis(n, parent, 1)


def _new_word(log_p, lengths, finished, Y, eos, alpha):
    B, k, V = Y.shape
    n = lengths + ~finished
    only = np.arange(V) == eos
    Y = np.where(finished[..., None], np.where(only, 0.0, -np.inf), Y)
    score = (log_p[..., None] + Y / _penalty(n, alpha)[..., None]).reshape(B, -1)
    best = np.argsort(-score, axis=1, kind="stable")[:, :k]
    parent = best // V
    total = np.take_along_axis((log_p[..., None] + Y).reshape(B, -1), best, 1)
    return parent, best % V, total, np.take_along_axis(n, parent, 1)


# 13.6


def _model(V, a, b, spread=None, tie=0.0):
    """Two first words of about 1/2; the first goes on with `a`, the second with two halves; `b` ends greedy's."""
    t = 1e-4
    first, second, third = np.zeros(V), np.full((V, V), 1 / V), np.full((V, V, V), (1 - t) / V)
    first[:2] = 0.5 + t, 0.5 - t
    second[0] = (1 - a) / (V - 1)
    second[0, 0] = a
    second[1] = 0
    second[1, :2] = 0.5 + t, 0.5 - t
    third[..., 0] += t
    third[0, 0] = (1 - b) / (V - 1)
    third[0, 0, 0] = b
    if spread:
        third[1] = 0
        third[1, :, :spread] = (1 - t) / spread
        third[1, :, 0] += t
    return first, second, third


def _tied(V, r):
    first, second, third = _model(V, 0.49, 1.0)
    third[1] = 1 / V
    return first, second, third


def _halves(V, r):
    first, second, third = _model(V, 0.49, 1.0)
    first[:2] = 0.5
    second[1, :2] = 0.5
    return first, second, third


def _fixed_tilt(t):
    def function(V, r):
        first, second, third = np.zeros(V), np.full((V, V), 1 / V), np.full((V, V, V), (1 - t) / V)
        first[:2] = 0.5 + t, 0.5 - t
        second[1] = first
        second[0] = (0.5 + 4 * t) / (V - 1)
        second[0, 0] = 0.5 - 4 * t
        third[..., 0] += t
        third[0, 0] = np.eye(V)[0]
        return first, second, third

    return function


def _unnormed(V, r):
    first, second, third = _model(V, 0.49, 1.0)
    return first, second, third * r


def _greedy_is_short_sighted(V, r):
    first, second, third = _model(V, 0.49, 1.0)
    third[0, 0] = third[1, 0]
    third[1, 0] = np.eye(V)[0]
    return first, second, third


BEAMED = ("three words", "five words", "nearly V", "others")
WIDE = (
    Mutant("greedy loses", _greedy_is_short_sighted,
           "Here the beam finds the better text: this shows that greedy writing can fail. The other way round is asked "
           "for: greedy's text must leave the beam before its last word.", "13.4", BEAMED),
    Mutant("the same text", lambda V, r: _model(V, 0.9, 1.0),
           "The beam finds greedy's text too. It must be pushed out: after two words, two other texts must be more "
           "probable than greedy's, both with the second best first word.", "13.4", BEAMED),
    Mutant("a little worse", lambda V, r: _model(V, 0.4 if V < 4 else 0.35, 0.6 if V < 4 else 0.4),
           "Greedy's text is more probable than the beam's, but not r times: its last word can be certain, and that "
           "of the beam's two as uncertain as V words allow.", "13.4", BEAMED),
    Mutant("enough for three words", lambda V, r: _model(V, 0.49, 0.8, 2 if V > 3 else None),
           "Greedy's text is more probable than the beam's, and for a small r by enough. To come near V times, its "
           "last word is certain, and all V words end the beam's two texts almost evenly.", "13.4",
           ("five words", "nearly V", "others")),
    Mutant("a fixed tilt", _fixed_tilt(1e-3),
           "The ratio comes near V and stops short of it: the small differences that avoid ties have a fixed size "
           "here. The nearer r is to V, the smaller they must be, say a part of 1 − r/V.", "13.4", ("nearly V",)),
    Mutant("a tie at the end", _tied,
           "Two texts or words are equally probable where one has to be chosen, so that the outcome is chance: give "
           "one of them a little more.", "13.4", BEAMED),
    Mutant("no distribution", _unnormed,
           "These are no probabilities: none is below 0, and along the last axis of each table they sum to one.",
           "13.4", BEAMED),
)

# 13.7


def _grams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def _union(refs, n):
    allowed = Counter()
    for ref in refs:
        allowed |= _grams(ref, n)
    return allowed


def _closest(h, refs):
    return min((len(ref) for ref in refs), key=lambda r: (abs(r - len(h)), r))


def _clipped(h, refs, n):
    return (_grams(h, n) & _union(refs, n)).total(), _grams(h, n).total()


def _exp(c, r):
    return 1.0 if c >= r else math.exp(1 - r / c)


def _geometric(p, brevity):
    return 100 * brevity * math.exp(sum(map(math.log, p)) / len(p)) if min(p) > 0 else 0.0


def _bleu(count=_clipped, length=_closest, brevity=_exp, mean=_geometric, orders=lambda n: n, p=None):
    def function(hypotheses, references, order):
        order, pairs = orders(order), list(zip(hypotheses, references, strict=True))
        found = [[count(h, refs, n) for h, refs in pairs] for n in range(1, order + 1)]
        if p:
            precisions = [p(row) for row in found]
        else:
            precisions = [sum(m for m, _ in row) / sum(t for _, t in row) for row in found]
        b = brevity(sum(len(h) for h in hypotheses), sum(length(h, refs) for h, refs in pairs))
        return np.array(precisions), b, mean(precisions, b)

    return function


def _unclipped(h, refs, n):
    seen = _union(refs, n)
    return sum(k for g, k in _grams(h, n).items() if g in seen), _grams(h, n).total()


def _clip_sum(h, refs, n):
    return (_grams(h, n) & sum((_grams(ref, n) for ref in refs), Counter())).total(), _grams(h, n).total()


def _clip_one(which):
    def count(h, refs, n):
        return (_grams(h, n) & _grams(which(h, refs), n)).total(), _grams(h, n).total()

    return count


def _match_closest(h, refs):
    return min(refs, key=lambda r: (abs(len(r) - len(h)), len(r)))


def _types(h, refs, n):
    return len(set(_grams(h, n)) & set(_union(refs, n))), len(_grams(h, n))


def _matches_over_types(h, refs, n):
    return _clipped(h, refs, n)[0], len(_grams(h, n))


def _best_match(h, refs, n):
    return max((_grams(h, n) & _grams(ref, n)).total() for ref in refs), _grams(h, n).total()


def _unordered(h, refs, n):
    def bags(words):
        return Counter(tuple(sorted(g)) for g in _grams(words, n).elements())

    allowed = Counter()
    for ref in refs:
        allowed |= bags(ref)
    return (bags(h) & allowed).total(), _grams(h, n).total()


def _recall(h, refs, n):
    return _clipped(h, refs, n)[0], _grams(_match_closest(h, refs), n).total()


def _all_words(h, refs, n):
    return _clipped(h, refs, n)[0], len(h)


def _sentence_scores(hypotheses, references, order):
    p, b, _ = _bleu()(hypotheses, references, order)
    rows = [_bleu()([h], [refs], order)[2] for h, refs in zip(hypotheses, references, strict=True)]
    return p, b, sum(rows) / len(rows)


def _sentence_everything(hypotheses, references, order):
    rows = [_bleu()([h], [refs], order) for h, refs in zip(hypotheses, references, strict=True)]
    return tuple(sum(row[i] for row in rows) / len(rows) for i in range(3))


def _sentence_brevity(hypotheses, references, order):
    p, _, _ = _bleu()(hypotheses, references, order)
    b = [_exp(len(h), _closest(h, refs)) for h, refs in zip(hypotheses, references, strict=True)]
    b = sum(b) / len(b)
    return p, b, _geometric(p.tolist(), b)


def _one_text(hypotheses, references, order):
    """Runs across the ends of sentences."""
    whole = [w for h in hypotheses for w in h]
    p = _bleu(count=_clipped)(hypotheses, references, order)
    total = [_grams(whole, n).total() for n in range(1, order + 1)]
    match = [sum(_clipped(h, refs, n)[0] for h, refs in zip(hypotheses, references, strict=True))
             for n in range(1, order + 1)]
    q = [m / t for m, t in zip(match, total, strict=True)]
    return np.array(q), p[1], _geometric(q, p[1])


def _add_k(hypotheses, references, order):
    p, b, _ = _bleu()(hypotheses, references, order)
    total = [sum(_grams(h, n).total() for h in hypotheses) for n in range(1, order + 1)]
    p = np.array([p[0], *((p[n] * total[n] + 1) / (total[n] + 1) for n in range(1, order))])
    return p, b, _geometric(p.tolist(), b)


def _pooled(hypotheses, references, order):
    p, b, _ = _bleu()(hypotheses, references, order)
    total = np.array([sum(_grams(h, n).total() for h in hypotheses) for n in range(1, order + 1)])
    return p, b, 100 * b * (p * total).sum() / total.sum()


def _skip_zero(p, brevity):
    found = [x for x in p if x > 0]
    return 100 * brevity * math.exp(sum(map(math.log, found)) / len(found))


def _skip_zero_all(p, brevity):
    return 100 * brevity * math.exp(sum(math.log(x) for x in p if x > 0) / len(p))


def _nan_mean(p, brevity):
    return _geometric(p, brevity) if min(p) > 0 else math.nan


def _tiny(least):
    return lambda p, brevity: 100 * brevity * math.exp(sum(math.log(max(x, least)) for x in p) / len(p))


CORPORA = ("one reference", "several references", "several sentences", "another corpus")
SEVERAL = ("several references", "another corpus")
BLEUS = (
    Mutant("not clipped", _bleu(count=_unclipped),
           "The matches are not clipped: a word that is said four times and stands in a reference twice is right "
           "twice.", "13.5", CORPORA),
    Mutant("clipped by the sum", _bleu(count=_clip_sum),
           "The counts of all references are added before clipping: an n-gram may be right as often as in *one* "
           "reference, the one that has it most often.", "13.5", SEVERAL),
    Mutant("first reference alone", _bleu(count=_clip_one(lambda h, refs: refs[0])),
           "The n-grams are looked for in the first reference alone: one in any of them is right.", "13.5", SEVERAL),
    Mutant("closest reference alone", _bleu(count=_clip_one(_match_closest)),
           "The n-grams are looked for in the reference of the closest length alone: that one is for the brevity; an "
           "n-gram in any reference is right.", "13.5", SEVERAL),
    Mutant("last reference alone", _bleu(count=_clip_one(lambda h, refs: refs[-1])),
           "The n-grams are looked for in the last reference alone: a loop overwrites what it found in the others.",
           "13.5", ("several references",)),
    Mutant("first reference for everything", _bleu(count=_clip_one(lambda h, refs: refs[0]),
                                                   length=lambda h, refs: len(refs[0])),
           "Only the first reference is used: n-grams may stand in any, and the brevity takes the closest length.",
           "13.5", SEVERAL),
    Mutant("types", _bleu(count=_types),
           "Each different n-gram counts once: an n-gram counts as often as it is said.", "13.5", CORPORA),
    Mutant("over types", _bleu(count=_matches_over_types),
           "The matches are divided by the number of different n-grams: below the line an n-gram counts as often as it "
           "is said, as above.", "13.5", CORPORA),
    Mutant("best reference alone", _bleu(count=_best_match),
           "The matches are those with the one reference that has most of them: the clipping is for each n-gram by "
           "itself, at the reference that has *it* most often.", "13.5", ("several references",)),
    Mutant("mean of sentence scores", _sentence_scores,
           "The score is the mean of the sentences' scores: BLEU adds up matches and n-grams of the whole corpus "
           "before anything is divided.", "13.5", ("several sentences", "another corpus")),
    Mutant("everything by sentence", _sentence_everything,
           "Everything is computed for each sentence and then averaged: BLEU adds up matches, n-grams and lengths of "
           "the whole corpus before anything is divided.", "13.5", ("several sentences", "another corpus")),
    Mutant("mean of precisions", _bleu(p=lambda row: sum(m / t for m, t in row) / len(row)),
           "The precisions are means of the sentences' precisions: add up matches and n-grams of the corpus first, "
           "then divide.", "13.5", ("several sentences", "another corpus")),
    Mutant("brevity by sentence", _sentence_brevity,
           "The brevity penalty is averaged over sentences: it compares the two lengths of the whole corpus, so that a "
           "short sentence is made up for by a long one.", "13.5", ("another corpus",)),
    Mutant("shortest reference", _bleu(length=lambda h, refs: min(map(len, refs))),
           "The brevity takes the shortest reference of each: it takes the one whose length is closest.", "13.5",
           SEVERAL),
    Mutant("longest reference", _bleu(length=lambda h, refs: max(map(len, refs))),
           "The brevity takes the longest reference of each: it takes the one whose length is closest.", "13.5",
           SEVERAL),
    Mutant("mean length", _bleu(length=lambda h, refs: sum(map(len, refs)) / len(refs)),
           "The brevity takes the mean length of the references: it takes the one whose length is closest.", "13.5",
           SEVERAL),
    Mutant("length of the first", _bleu(length=lambda h, refs: len(refs[0])),
           "The brevity takes the first reference: it takes the one whose length is closest.", "13.5", SEVERAL),
    Mutant("all references", _bleu(length=lambda h, refs: sum(map(len, refs))),
           "The lengths of all references are added: of each sentence's references only the one whose length is "
           "closest counts.", "13.5", SEVERAL),
    Mutant("tie to the longer", _bleu(length=lambda h, refs: min(
        (len(r) for r in refs), key=lambda r: (abs(r - len(h)), -r))),
           "Of two references that are equally close, the longer one was taken: it is the shorter.", "13.5",
           ("equally close",)),
    Mutant("tie to the first", _bleu(length=lambda h, refs: min((len(r) for r in refs), key=lambda r: abs(r - len(h)))),
           "Of two references that are equally close, the first one was taken: it is the shorter.", "13.5",
           ("equally close",)),
    Mutant("no brevity", _bleu(brevity=lambda c, r: 1.0),
           "There is no brevity penalty: without it a single sure word has a precision of one.", "13.5", CORPORA),
    Mutant("no upper bound", _bleu(brevity=lambda c, r: math.exp(1 - r / c)),
           "The brevity is larger than 1 for a text that is long: it is 1 at most, for being long already costs "
           "precision.", "13.5", ("long enough",)),
    Mutant("a plain quotient", _bleu(brevity=lambda c, r: min(1.0, c / r)),
           "The brevity is the quotient c / r: it is exp(1 − r / c).", "13.5", CORPORA),
    Mutant("quotient turned round", _bleu(brevity=lambda c, r: min(1.0, math.exp(1 - c / r))),
           "The quotient in the brevity is turned round: exp(1 − r / c), which is below one when c, the length of the "
           "hypotheses, is the smaller.", "13.5", CORPORA),
    Mutant("quotient turned round, above one", _bleu(brevity=lambda c, r: 1.0 if c >= r else math.exp(1 - c / r)),
           "The quotient in the brevity is turned round, so that a short text is paid for: it is exp(1 − r / c), which "
           "is below one when c, the length of the hypotheses, is the smaller.", "13.5",
           ("one reference", "several references", "several sentences")),
    Mutant("penalty for length", _bleu(brevity=lambda c, r: math.exp(1 - r / c) if c > r else 1.0),
           "The penalty falls on the long texts: it is for those that are shorter than their references.", "13.5",
           CORPORA),
    Mutant("arithmetic mean", _bleu(mean=lambda p, b: 100 * b * sum(p) / len(p)),
           "The precisions are averaged: BLEU takes their geometric mean, so that each order counts by its ratio.",
           "13.5", CORPORA),
    Mutant("no root", _bleu(mean=lambda p, b: 100 * b * math.prod(p)),
           "The precisions are multiplied, and no root is taken: the mean of the logarithms divides by the number of "
           "orders.", "13.5", CORPORA),
    Mutant("root of four", _bleu(mean=lambda p, b: 100 * b * math.prod(p) ** 0.25),
           "The root is the fourth whatever the order is: it is the root of that order.", "13.5",
           ("several references",)),
    Mutant("brevity inside the root", _bleu(mean=lambda p, b: 100 * (b * math.prod(p)) ** (1 / len(p))),
           "The brevity stands inside the root: it multiplies the mean.", "13.5", CORPORA),
    Mutant("brevity left out of the score", _bleu(mean=lambda p, b: _geometric(p, 1.0)),
           "The score is the mean of the precisions alone: the brevity multiplies it.", "13.5", CORPORA),
    Mutant("from 0 to 1", _bleu(mean=lambda p, b: _geometric(p, b) / 100),
           "The score goes from 0 to 1: asked is 0 to 100.", "13.5", CORPORA),
    Mutant("percent in the precisions", lambda *given: (100 * (out := _bleu()(*given))[0], *out[1:]),
           "The precisions are in per cent: they go from 0 to 1, and only the score to 100.", "13.5", CORPORA),
    Mutant("the longest runs alone", _bleu(mean=lambda p, b: 100 * b * p[-1]),
           "Only the precision of the last order is used: the score takes the mean of all, from single words on.",
           "13.5", CORPORA),
    Mutant("recall", _bleu(count=_recall),
           "The matches are divided by the n-grams of the reference, which is recall: BLEU divides by those of the "
           "hypothesis, and leaves what is missing to the brevity.", "13.5", CORPORA),
    Mutant("divided by words", _bleu(count=_all_words),
           "The matches of every order are divided by the number of words: a sentence of c words has c − n + 1 runs of "
           "n.", "13.5", CORPORA),
    Mutant("one run too few", _bleu(count=lambda h, refs, n: _clipped(h[:-1], refs, n)),
           "The last run of each order is left out: a sentence of c words has c − n + 1 runs of n, so the loop goes to "
           "len − n + 1.", "13.5", CORPORA),
    Mutant("without order", _bleu(count=lambda h, refs, n: _unordered(h, refs, n)),
           "The words of an n-gram are compared without their order: *dog bites man* is another run than *man bites "
           "dog*.", "13.5", ("long enough",)),
    Mutant("pieces side by side", _bleu(count=lambda h, refs, n: (
        sum((Counter(tuple(h[i : i + n]) for i in range(0, len(h) - n + 1, n)) & _union(refs, n)).values()),
        len(range(0, len(h) - n + 1, n)))),
           "The sentence is cut into pieces of n words: n-grams overlap, and one begins at every word.", "13.5",
           CORPORA),
    Mutant("each type once, over all n-grams", _bleu(count=lambda h, refs, n: (
        len(set(_grams(h, n)) & set(_union(refs, n))), _grams(h, n).total())),
           "Each different n-gram is right once at most: one that stands in a reference twice may be right twice.",
           "13.5", ("one reference", "several references", "several sentences")),
    Mutant("clipped by the least", _bleu(count=lambda h, refs, n: (sum(min(k, *(_grams(ref, n)[g] for ref in refs))
                                                                     for g, k in _grams(h, n).items()),
                                                                 _grams(h, n).total())),
           "An n-gram has to stand in every reference: one is enough, the one that has it most often.", "13.5",
           ("several references",)),
    Mutant("clipped by the mean", _bleu(count=lambda h, refs, n: (sum(
        min(k, sum(_grams(ref, n)[g] for ref in refs) / len(refs)) for g, k in _grams(h, n).items()),
        _grams(h, n).total())),
           "The counts of the references are averaged before clipping: the largest of them counts.", "13.5",
           ("several references",)),
    Mutant("logarithm of the brevity", _bleu(brevity=lambda c, r: min(0.0, 1 - r / c)),
           "This is the logarithm of the brevity: take its exponential.", "13.5", CORPORA),
    Mutant("mean of brevity and precisions", _bleu(mean=lambda p, b: 50 * (b + math.prod(p) ** (1 / len(p)))),
           "Brevity and precision are averaged: the brevity multiplies.", "13.5", CORPORA),
    Mutant("quadratic mean", _bleu(mean=lambda p, b: 100 * b * math.sqrt(sum(x * x for x in p) / len(p))),
           "The quadratic mean of the precisions is taken: it is the geometric one.", "13.5", CORPORA),
    Mutant("root of the last", _bleu(mean=lambda p, b: 100 * b * p[-1] ** (1 / len(p))),
           "Only the last precision is in the root: it is that of the product of all.", "13.5", CORPORA),
    Mutant("median length", _bleu(length=lambda h, refs: sorted(map(len, refs))[len(refs) // 2]),
           "The brevity takes the median length of the references: it takes the one that is closest.", "13.5",
           ("several references",)),
    Mutant("one added", _bleu(p=lambda row: (sum(m for m, _ in row) + 1) / (sum(t for _, t in row) + 1)),
           "One is added to matches and n-grams: that is a smoothing, and here none is asked for.", "13.5", CORPORA),
    Mutant("one added from two words on", lambda hypotheses, references, order: _add_k(hypotheses, references, order),
           "One is added to matches and n-grams of the higher orders: that is a smoothing, and here none is asked for.",
           "13.5", CORPORA),
    Mutant("long runs weigh more", _bleu(mean=lambda p, b: 100 * b * math.exp(sum(
        (n + 1) * math.log(x) for n, x in enumerate(p)) / sum(range(len(p) + 1))) if min(p) > 0 else 0.0),
           "The orders have different weights: all have the same, 1/N.", "13.5", CORPORA),
    Mutant("harmonic mean", _bleu(mean=lambda p, b: 100 * b * len(p) / sum(1 / x for x in p) if min(p) > 0 else 0.0),
           "The harmonic mean of the precisions is taken: it is the geometric one.", "13.5", CORPORA),
    Mutant("all orders in one", lambda hypotheses, references, order: _pooled(hypotheses, references, order),
           "Matches and n-grams of all orders are added up before dividing: each order has its own precision.",
           "13.5", CORPORA),
    Mutant("base ten", _bleu(mean=lambda p, b: 100 * b * 10 ** (sum(map(math.log, p)) / len(p)) if min(p) > 0 else 0.0),
           "The logarithm and the power have different bases: ln goes with exp.", "13.5", CORPORA),
    Mutant("base two", _bleu(mean=lambda p, b: 100 * b * 2 ** (sum(map(math.log, p)) / len(p)) if min(p) > 0 else 0.0),
           "The logarithm and the power have different bases: ln goes with exp.", "13.5", CORPORA),
    Mutant("brevity twice", _bleu(mean=lambda p, b: _geometric(p, b * b)),
           "The brevity multiplies the score twice.", "13.5", CORPORA),
    Mutant("brevity without its 1", _bleu(brevity=lambda c, r: 1.0 if c >= r else math.exp(-r / c)),
           "The brevity is exp(1 − r / c): the 1 is missing, so that it would jump where c = r.", "13.5", CORPORA),
    Mutant("brevity of the difference", _bleu(brevity=lambda c, r: 1.0 if c >= r else math.exp(c - r)),
           "The brevity is exp of the difference c − r: it is exp(1 − r / c), so that only the ratio counts.", "13.5",
           CORPORA),
    Mutant("r over c the other way in the exponent", _bleu(brevity=lambda c, r: 1.0 if c >= r else math.exp(c / r - 1)),
           "The exponent is c / r − 1: it is 1 − r / c.", "13.5", CORPORA),
    Mutant("the likest reference", _bleu(length=lambda h, refs: len(max(
        refs, key=lambda ref: (_grams(h, 1) & _grams(ref, 1)).total()))),
           "The brevity takes the reference with the most words in common: it takes the one whose length is closest.",
           "13.5", ("several references",)),
    Mutant("across sentences", _one_text,
           "The n-grams run on across the ends of sentences: count each sentence by itself.", "13.5",
           ("several sentences", "another corpus")),
    Mutant("always four orders", _bleu(orders=lambda n: 4),
           "There are always four orders here: `order` says how many.", "13.5", ("several references",)),
    Mutant("zero left out", _bleu(mean=_skip_zero),
           "An order without a match is left out of the mean: one precision of 0 makes the score 0.", "13.5",
           ("no run of four",)),
    Mutant("zero as one", _bleu(mean=_skip_zero_all),
           "An order without a match is treated as if its logarithm were 0, a precision of one: it makes the score 0.",
           "13.5", ("no run of four",)),
    *(Mutant(f"{least:g} for zero", _bleu(mean=_tiny(least)),
             "An order without a match is given a tiny precision: that is a smoothing, and here none is asked for; the "
             "score is 0.", "13.5", ("no run of four",)) for least in (10.0**-k for k in range(2, 17))),
    Mutant("nan", _bleu(mean=_nan_mean),
           "An order without a match gives nan: its logarithm is −∞, so the score is 0.", "13.5", ("no run of four",)),
)

# 13.8


def _score(p, brevity=1.0):
    return 100 * brevity * math.prod(p) ** (1 / len(p)) if min(p) > 0 else 0.0


def _covering(length, k, first, last):
    """How many windows of k in a row of this length hold both places."""
    return sum(i <= first and last < i + k for i in range(length - k + 1))


def _slips(replaced=None, left_out=None, twice=None, place=lambda i, n: i, orders=(1, 2, 3, 4), score=_score):
    def function(n, at):
        i = place(at, n)
        p = [(n - k + 1 - _covering(n, k, i, i)) / (n - k + 1) for k in orders]
        gap = [(n - k - (_covering(n - 1, k, i - 1, i) if k > 1 else 0)) / (n - k) for k in orders]
        again = [(n - k + 2 - (_covering(n + 1, k, i, i + 1) if k > 1 else 1)) / (n - k + 2) for k in orders]
        short = math.exp(1 - n / (n - 1))
        return (replaced(n, i, p) if replaced else score(p),
                left_out(n, i, gap, short) if left_out else score(gap, short),
                twice(n, i, again) if twice else score(again))

    return function


AT = ("replaced", "left out", "said twice", "another")
EDGES = ("the first word", "near the end")
SLIPS = (
    Mutant("one run lost", _slips(lambda n, i, p: _score([(n - k) / (n - k + 1) for k in (1, 2, 3, 4)])),
           "A replaced word spoils one run of each order here: it stands in up to k runs of k words.", "13.5",
           ("replaced", "another")),
    Mutant("the words' precision", _slips(lambda n, i, p: 100 * (n - 1) / n),
           "This is the share of right words, the precision of single words: longer runs lose more, since the word "
           "stands in up to k runs of k.", "13.5", ("replaced", "another")),
    Mutant("independent words", _slips(lambda n, i, p: 100 * ((n - 1) / n) ** 2.5),
           "Each word is taken to be right with probability (n − 1)/n by itself: here exactly one is wrong, and the "
           "runs that it spoils can be counted.", "13.5", ("replaced", "another")),
    Mutant("one word in each order, by words", _slips(lambda n, i, p: _score([(n - k) / n for k in (1, 2, 3, 4)])),
           "All orders are divided by the number of words: there are n − k + 1 runs of k.", "13.5",
           ("replaced", "another")),
    Mutant("as if in the middle", _slips(
        lambda n, i, p: _score([(n - 2 * k + 1) / (n - k + 1) for k in (1, 2, 3, 4)]),
        lambda n, i, p, b: _score([(n - 2 * k + 1) / (n - k) for k in (1, 2, 3, 4)], b),
        lambda n, i, p: _score([n / (n + 1)] + [(n - 2 * k + 3) / (n - k + 2) for k in (2, 3, 4)])),
        "The slip spoils k runs wherever it is: near an end of the sentence fewer runs of k hold the place.", "13.5",
        EDGES),
    Mutant("replaced, as if in the middle", _slips(
        lambda n, i, p: _score([(n - 2 * k + 1) / (n - k + 1) for k in (1, 2, 3, 4)])),
        "A replaced word spoils k runs wherever it stands: near an end of the sentence fewer runs of k hold it.",
        "13.5", EDGES),
    Mutant("left out, as if in the middle", _slips(
        left_out=lambda n, i, p, b: _score([(n - 2 * k + 1) / (n - k) for k in (1, 2, 3, 4)], b)),
        "A gap spoils k − 1 runs wherever it is: near an end of the sentence fewer runs go across it, and at the very "
        "end none.", "13.5", EDGES),
    Mutant("said twice, as if in the middle", _slips(
        twice=lambda n, i, p: _score([n / (n + 1)] + [(n - 2 * k + 3) / (n - k + 2) for k in (2, 3, 4)])),
        "A seam spoils k − 1 runs wherever it is: near an end of the sentence fewer runs hold both words.", "13.5",
        EDGES),
    Mutant("neither of the two words", _slips(twice=lambda n, i, p: _score([(n - 1) / (n + 1), *p[1:]])),
           "Neither of the two equal words counts as right: one of them does, the other is clipped.", "13.5",
           ("said twice", "another")),
    Mutant("brevity for all", lambda n, at: (
        (out := _slips()(n, at))[0] * math.exp(-1 / (n - 1)), out[1], out[2] * math.exp(-1 / (n - 1))),
           "The brevity multiplies all three: only the sentence with a word left out is short.", "13.5",
           ("replaced", "said twice")),
    Mutant("a wrong word is short", lambda n, at: (
        (out := _slips()(n, at))[0] * math.exp(-1 / (n - 1)), *out[1:]),
           "The brevity multiplies the score of the replaced word: that sentence has as many words as its reference.",
           "13.5", ("replaced", "another")),
    Mutant("penalty taken off", _slips(left_out=lambda n, i, p, b: _score(p) - 100 * (1 - b)),
           "The penalty is taken off the score: it multiplies it.", "13.5", ("left out", "another")),
    Mutant("divided by words", lambda n, at: tuple(
        x * math.prod((w - k + 1) / w for k in (1, 2, 3, 4)) ** 0.25
        for x, w in zip(_slips()(n, at), (n, n - 1, n + 1), strict=True)),
           "The matches of every order are divided by the number of words: w words have w − k + 1 runs of k.", "13.5",
           AT),
    Mutant("all the same", lambda n, at: (_slips()(n, at)[0],) * 3,
           "The three slips are counted alike: a missing word spoils fewer runs and makes the sentence short, and a "
           "repeated word spoils fewer still.", "13.5", ("left out", "said twice")),
    Mutant("all the same, as if in the middle", lambda n, at: (
        _score([(n - 2 * k + 1) / (n - k + 1) for k in (1, 2, 3, 4)]),) * 3,
           "The three slips are counted alike: a missing word spoils fewer runs and makes the sentence short, and a "
           "repeated word spoils fewer still.", "13.5", ("left out", "said twice")),
    Mutant("first and last exchanged", lambda n, at: _slips()(n, at)[::-1],
           "The scores of replaced and said twice have changed places.", "13.5", ("replaced", "said twice")),
    Mutant("turned round by one", lambda n, at: ((out := _slips()(n, at))[1], out[2], out[0]),
           "The scores stand in another order: replaced, left out, said twice.", "13.5",
           ("replaced", "left out", "said twice")),
    Mutant("counted from 1", _slips(place=lambda i, n: max(i - 1, 0)),
           "The place is counted from 1: it is counted from 0.", "13.5", ("near the end",)),
    Mutant("no penalty for being short", _slips(left_out=lambda n, i, p, b: _score(p)),
           "A sentence with a word left out is shorter than its reference, so the brevity exp(1 − r / c) multiplies "
           "the score.", "13.5", ("left out", "another")),
    Mutant("penalty alone", _slips(left_out=lambda n, i, p, b: 100 * b),
           "Only the brevity is counted: where a word is left out, the runs across the gap stand in no reference.",
           "13.5", ("left out", "another")),
    Mutant("brevity c over r", _slips(left_out=lambda n, i, p, b: _score(p, (n - 1) / n)),
           "The brevity is taken as c / r: it is exp(1 − r / c).", "13.5", ("left out", "another")),
    Mutant("both lengths exchanged", _slips(
        left_out=lambda n, i, p, b: _score(p), twice=lambda n, i, p: _score(p, math.exp(-1 / n))),
           "The quotient in the brevity is turned round, so that the long translation is punished and the short one is "
           "not: min(1, exp(1 − r / c)), with r the length of the reference and c that of the translation.", "13.5",
           ("left out", "said twice", "another")),
    Mutant("both lengths exchanged, and no bound", _slips(
        left_out=lambda n, i, p, b: _score(p, math.exp(1 / n)), twice=lambda n, i, p: _score(p, math.exp(-1 / n))),
           "The quotient in the brevity is turned round, and nothing keeps it below 1: min(1, exp(1 − r / c)), with r "
           "the length of the reference and c that of the translation.", "13.5", ("left out", "said twice", "another")),
    Mutant("brevity turned round", _slips(left_out=lambda n, i, p, b: _score(p, math.exp(1 - (n - 1) / n))),
           "The quotient in the brevity is turned round: exp(1 − r / c), with r = n and c = n − 1.", "13.5",
           ("left out", "another")),
    Mutant("brevity of the wrong sign", _slips(left_out=lambda n, i, p, b: _score(p, math.exp(-1 / n))),
           "The brevity is exp(−1/n): with r = n and c = n − 1 it is exp(1 − r / c) = exp(−1/(n − 1)).", "13.5",
           ("left out", "another")),
    Mutant("a gap like a wrong word", _slips(left_out=lambda n, i, p, b: _score(
        [(n - k + 1 - _covering(n, k, i, i)) / (n - k + 1) for k in (1, 2, 3, 4)], b)),
           "A word left out is counted like a wrong one, in a sentence of n words: the translation has n − 1 words, "
           "so n − k runs of k, and only those across the gap are wrong, up to k − 1 of them.", "13.5",
           ("left out", "another")),
    Mutant("k runs across the gap", _slips(left_out=lambda n, i, p, b: _score(
        [1.0] + [(n - 2 * k) / (n - k) for k in (2, 3, 4)], b)),
           "k runs are said to cross the gap: it is a place between two words, and only k − 1 runs of k go across.",
           "13.5", ("left out", "another")),
    Mutant("both words are right", _slips(twice=lambda n, i, p: _score([1.0, *p[1:]])),
           "The second of the two words counts as right: matches are clipped, and the word stands in the reference "
           "once.", "13.5", ("said twice", "another")),
    Mutant("like a wrong word", _slips(twice=lambda n, i, p: _score(
        [(n + 2 - k - _covering(n + 1, k, i + 1, i + 1)) / (n + 2 - k) for k in (1, 2, 3, 4)])),
           "The second of the two words is counted like a wrong one: a run that begins with it does stand in the "
           "reference, and only runs that hold both do not, k − 1 of k words.", "13.5", ("said twice", "another")),
    Mutant("a bonus for length", _slips(twice=lambda n, i, p: _score(p, math.exp(1 - n / (n + 1)))),
           "A sentence that is longer than its reference gets more than 1 for its length: the brevity is 1 at most.",
           "13.5", ("said twice", "another")),
    Mutant("a penalty for length", _slips(twice=lambda n, i, p: _score(p, math.exp(-1 / n))),
           "A sentence that is longer than its reference is punished for its length: the brevity is 1, its precision "
           "suffers already.", "13.5", ("said twice", "another")),
    Mutant("one run lost where a word is repeated", _slips(twice=lambda n, i, p: _score(
        [(n + 1 - k) / (n + 2 - k) for k in (1, 2, 3, 4)])),
           "A word said twice spoils one run of each order here: k − 1 runs of k words hold both.", "13.5",
           ("said twice", "another")),
    Mutant("runs of the reference", _slips(twice=lambda n, i, p: _score(
        [q * (n - k + 2) / (n - k + 1) for k, q in zip((1, 2, 3, 4), p, strict=True)])),
           "The matches are divided by the runs of the reference: a precision divides by those of the translation, "
           "which has n + 1 words.", "13.5", ("said twice", "another")),
    Mutant("single words", _slips(orders=(1,)), "Only single words are counted: BLEU goes up to runs of four.", "13.5",
           ("replaced", "another")),
    Mutant("two orders", _slips(orders=(1, 2)), "Runs of three and of four words are left out.", "13.5", AT),
    Mutant("five orders", _slips(orders=(1, 2, 3, 4, 5)), "Runs of five words are counted, too: it is up to four.",
           "13.5", AT),
    Mutant("runs of four alone", _slips(orders=(4,)), "Only runs of four words are counted: BLEU takes the geometric "
           "mean over all orders, from single words on.", "13.5", AT),
    Mutant("what is lost", _slips(score=lambda p, b=1.0: 100 - _score(p, b)),
           "This is what the slip costs: asked is the score that is left.", "13.5", AT),
    Mutant("base two", _slips(score=lambda p, b=1.0: 100 * b * 2 ** (sum(map(math.log, p)) / len(p))),
           "The logarithm and the power have different bases: ln goes with exp.", "13.5", AT),
    Mutant("harmonic mean", _slips(score=lambda p, b=1.0: 100 * b * len(p) / sum(1 / x for x in p)),
           "The harmonic mean of the precisions is taken: BLEU takes the geometric one.", "13.5", AT),
    Mutant("another order of the three", lambda n, at: (lambda a, b, c: (b, a, c))(*_slips()(n, at)),
           "The first two scores have changed places: replaced, left out, said twice.", "13.5",
           ("replaced", "left out")),
    Mutant("three orders", _slips(orders=(1, 2, 3)), "Runs of four words are left out.", "13.5", AT),
    Mutant("arithmetic mean", _slips(score=lambda p, b=1.0: 100 * b * sum(p) / len(p)),
           "The precisions are averaged: BLEU takes their geometric mean.", "13.5", AT),
    Mutant("no root", _slips(score=lambda p, b=1.0: 100 * b * math.prod(p)),
           "The precisions are multiplied, and the fourth root is missing.", "13.5", AT),
    Mutant("from 0 to 1", _slips(score=lambda p, b=1.0: _score(p, b) / 100),
           "The scores go from 0 to 1: asked is 0 to 100.", "13.5", AT),
)

# 13.9


def _links(A, targets, sources, rows=None, pick=None, end="no link"):
    found = []
    for b in range(len(A)):
        W = pick(A[b]) if pick else A[b].mean(axis=0)
        best = (W[:, : sources[b]] if end == "never" else W).argmax(axis=-1)
        found.append({(t, int(j)) for t, j in enumerate(best[: rows or targets[b]]) if end == "linked"
                      or j < sources[b]})
    return found


def _error(links=_links, rate=None, possible_too=True, each=False, keep=lambda S, P: (S, P)):
    def function(A, targets, sources, sure, possible):
        rows = []
        for b, L in enumerate(links(A, targets, sources)):
            S, P = ({(int(t), int(j)) for t, j in np.argwhere(x[b])} for x in (sure, possible))
            P = P | S if possible_too else P
            S, P = keep(S, P)
            rows.append((len(L & S), len(L & P), len(L), len(S), len(P)))
        rows = np.array(rows, float)
        formula = rate or (lambda s, p, a, S, P: 1 - (s + p) / (a + S))
        return float(np.mean([formula(*row) for row in rows])) if each else float(formula(*rows.sum(axis=0)))

    return function


def _by_source(A, targets, sources):
    """For each source word the target word that looks at it most."""
    return [{(int(t), j) for j, t in enumerate(W.mean(axis=0)[: targets[b], : sources[b]].argmax(axis=0))}
            for b, W in enumerate(A)]


def _every_head(A, targets, sources):
    found = [set() for _ in A]
    for h in range(A.shape[1]):
        for mine, more in zip(found, _links(A[:, h : h + 1], targets, sources), strict=True):
            mine |= more
    return found


def _above(limit):
    def links(A, targets, sources):
        return [{(int(t), int(j)) for t, j in np.argwhere(W.mean(axis=0)[: targets[b], : sources[b]] > limit(W))}
                for b, W in enumerate(A)]

    return links


SENTENCES = ("one sentence", "a corpus", "another corpus")
PADDED_CORPUS = ("a corpus", "another corpus")
ALIGNMENTS = (
    Mutant("sure links are not possible", _error(possible_too=False),
           "A sure link counts once in the numerator: it is possible as well, so that it counts in both sums, |L ∩ S| "
           "and |L ∩ P|.", "13.6", SENTENCES),
    Mutant("sure links alone", _error(rate=lambda s, p, a, S, P: 1 - 2 * s / (a + S)),
           "Only the sure links are used: a link that is merely possible is no mistake when it is predicted.", "13.6",
           SENTENCES),
    Mutant("possible links in the denominator", _error(rate=lambda s, p, a, S, P: 1 - (s + p) / (a + P)),
           "The denominator has |P|: nobody has to find the possible links, so it is |A| + |S|.", "13.6", SENTENCES),
    Mutant("possible links have to be found", _error(rate=lambda s, p, a, S, P: 1 - 2 * p / (a + P)),
           "The possible links are treated like sure ones: they may be predicted and need not be.", "13.6", SENTENCES),
    Mutant("all in the denominator", _error(rate=lambda s, p, a, S, P: 1 - (s + p) / (a + S + P)),
           "The denominator is |A| + |S| + |P|: it is |A| + |S|.", "13.6", SENTENCES),
    Mutant("twice the sure links", _error(rate=lambda s, p, a, S, P: 1 - (s + p) / (2 * S)),
           "The denominator is 2 |S|: it is |A| + |S|, or who predicts every link would make no mistake.", "13.6",
           SENTENCES),
    Mutant("twice the predicted links", _error(rate=lambda s, p, a, S, P: 1 - (s + p) / (2 * a)),
           "The denominator is 2 |A|: it is |A| + |S|, or a sure link that was not predicted would cost nothing.",
           "13.6", SENTENCES),
    Mutant("agreement", _error(rate=lambda s, p, a, S, P: (s + p) / (a + S)),
           "This is the share that agrees: the error rate is 1 minus it.", "13.6", SENTENCES),
    Mutant("precision", _error(rate=lambda s, p, a, S, P: 1 - p / a),
           "This looks at the predicted links alone: a sure link that was not predicted is a mistake too.", "13.6",
           SENTENCES),
    Mutant("recall", _error(rate=lambda s, p, a, S, P: 1 - s / S),
           "This looks at the sure links alone: a predicted link that is not even possible is a mistake too.", "13.6",
           SENTENCES),
    Mutant("sure links among the predicted", _error(rate=lambda s, p, a, S, P: 1 - s / a),
           "This is the share of predicted links that are not sure: possible ones are no mistakes, and sure ones that "
           "were missed are.", "13.6", SENTENCES),
    Mutant("F of precision and recall", _error(rate=lambda s, p, a, S, P: 1 - 2 * (p / a) * (s / S) / (p / a + s / S)),
           "This is 1 − F of precision and recall: the rate adds both numerators, and both denominators.", "13.6",
           SENTENCES),
    Mutant("percent", _error(rate=lambda s, p, a, S, P: 100 - 100 * (s + p) / (a + S)),
           "The rate is in per cent: it goes from 0 to 1.", "13.6", SENTENCES),
    Mutant("mean of sentences", _error(each=True),
           "The rates of the sentences are averaged: add up links and hits of the corpus first, then divide.", "13.6",
           PADDED_CORPUS),
    Mutant("padding is linked", _error(links=lambda A, t, s: _links(A, t, s, rows=A.shape[2])),
           "Target rows behind the end of a sentence have links: only the first targets[b] rows are words.", "13.6",
           ("a corpus",)),
    Mutant("one row of padding is linked", _error(links=lambda A, t, s: _links(A, t + 1, s)),
           "The row behind the last target word has a link: only the first targets[b] rows are words.", "13.6",
           ("a corpus",)),
    Mutant("a link for every word", _error(links=lambda A, t, s: _links(A, t, s, end="never")),
           "Every target word is linked, to the best of the words: one whose largest weight lies behind the source's "
           "words has no link.", "13.6", SENTENCES),
    Mutant("links to the end mark", _error(links=lambda A, t, s: _links(A, t, s, end="linked")),
           "Links to places behind the source's words are counted: a row that looks there has no link.", "13.6",
           SENTENCES),
    Mutant("links of every head", _error(links=_every_head),
           "Each head makes links of its own: take the mean over the heads first, and then the largest weight.",
           "13.6", SENTENCES),
    Mutant("the first head", _error(links=lambda A, t, s: _links(A, t, s, pick=lambda W: W[0])),
           "Only the first head is used: take the mean over all heads.", "13.6", SENTENCES),
    Mutant("the last head", _error(links=lambda A, t, s: _links(A, t, s, pick=lambda W: W[-1])),
           "Only the last head is used: take the mean over all heads.", "13.6", SENTENCES),
    Mutant("largest of the heads", _error(links=lambda A, t, s: _links(A, t, s, pick=lambda W: W.max(axis=0))),
           "The largest weight over the heads is used: take their mean.", "13.6", SENTENCES),
    Mutant("one link for each source word", _error(links=_by_source),
           "Each source word is linked to the target word that looks at it most: it is each *target* word that "
           "chooses, along its row.", "13.6", SENTENCES),
    Mutant("one link for each source word, padding too", _error(links=lambda A, targets, sources: [
        {(int(t), j) for j, t in enumerate(W.mean(axis=0).argmax(axis=0)[: sources[b]]) if t < targets[b]}
        for b, W in enumerate(A)]),
           "The largest weight is looked for along a column: each *target* word chooses, along its row.", "13.6",
           PADDED_CORPUS),
    Mutant("votes of the heads", _error(links=lambda A, t, s: _links(A, t, s, pick=lambda W: np.eye(W.shape[-1])[
        W.argmax(axis=-1)].sum(axis=0))),
           "Each head votes for one word: take the mean of the weights first, and then the largest.", "13.6",
           SENTENCES),
    Mutant("product of the heads", _error(links=lambda A, t, s: _links(A, t, s, pick=lambda W: W.prod(axis=0))),
           "The weights of the heads are multiplied: take their mean.", "13.6", SENTENCES),
    Mutant("normalised columns", _error(links=lambda A, t, s: _links(
        A, t, s, pick=lambda W: W.mean(axis=0) / W.mean(axis=0).sum(axis=0))),
           "The weights are divided by the sums of their columns: a target word chooses along its row, by the weights "
           "as they are.", "13.6", SENTENCES),
    Mutant("one row late", _error(links=lambda A, t, s: _links(A, t, s, pick=lambda W: np.roll(
        W.mean(axis=0), 1, axis=0))),
           "The rows are one place off: row t is that of the query which writes word t.", "13.6", SENTENCES),
    Mutant("one row early", _error(links=lambda A, t, s: _links(A, t, s, pick=lambda W: np.roll(
        W.mean(axis=0), -1, axis=0))),
           "The rows are one place off: row t is that of the query which writes word t.", "13.6", SENTENCES),
    Mutant("the last source word", _error(links=lambda A, t, s: _links(A, t, s - 1)),
           "Links to the last source word are dropped: places 0 … sources[b] − 1 are words.", "13.6", SENTENCES),
    Mutant("the last target word", _error(links=lambda A, t, s: _links(A, t - 1, s)),
           "The last target word is left out: rows 0 … targets[b] − 1 are words.", "13.6", SENTENCES),
    Mutant("both directions agree", _error(links=lambda *g: [
        a & b for a, b in zip(_links(*g), _by_source(*g), strict=True)]),
           "Only links on which both directions agree are kept: here each target word has its link, whatever the "
           "source words prefer.", "13.6", SENTENCES),
    Mutant("either direction", _error(links=lambda *g: [
        a | b for a, b in zip(_links(*g), _by_source(*g), strict=True)]),
           "The links of both directions are joined: here each target word has one link, and source words choose "
           "none.", "13.6", ("one sentence", "a corpus")),
    Mutant("median of the heads", _error(links=lambda A, t, s: _links(A, t, s, pick=lambda W: np.median(W, axis=0))),
           "The median of the heads is used: take their mean.", "13.6", ("one sentence",)),
    Mutant("twice the share", _error(rate=lambda s, p, a, S, P: 1 - 2 * (s + p) / (a + S)),
           "The share is counted twice: the numerator adds two counts already, as the denominator does.", "13.6",
           SENTENCES),
    Mutant("half of it", _error(rate=lambda s, p, a, S, P: 1 - (s + p) / 2 / (a + S)),
           "The numerator is halved: as it adds two counts, the denominator adds two as well.", "13.6", SENTENCES),
    Mutant("overlap over union", _error(rate=lambda s, p, a, S, P: 1 - s / (a + S - s)),
           "This is one minus overlap over union of the sure links: the rate adds hits among the sure and the possible "
           "ones, over |L| + |S|.", "13.6", SENTENCES),
    Mutant("mean of precision and recall", _error(rate=lambda s, p, a, S, P: 1 - (p / a + s / S) / 2),
           "Precision and recall are averaged: the rate adds both numerators, and both denominators.", "13.6",
           SENTENCES),
    Mutant("the larger of both", _error(rate=lambda s, p, a, S, P: 1 - 2 * p / (a + S)),
           "The possible links are counted twice in the numerator: once sure ones and once possible ones.", "13.6",
           SENTENCES),
    Mutant("above the mean", _error(links=_above(lambda W: 1 / W.shape[-1])),
           "All weights above the even share make a link: each target word has one link, to its largest weight.",
           "13.6", SENTENCES),
    *(Mutant(f"above {limit:.2g}", _error(links=_above(lambda W, limit=limit: limit)),
             "Only weights above a threshold make a link: each target word is linked to its largest weight, however "
             "small.", "13.6", SENTENCES) for limit in (0.5, 0.25, 0.15)),
)

# 13.10


def _namer(found=None, agree=None, order=NAMES, otherwise="own words"):
    """Names the first of `order` whose text agrees; `found(name, …)` makes the texts, `agree` compares them."""

    def function(table, bos, eos, references, text):
        for name in order:
            other = (found or written)(name, table, bos, eos, references, text.shape[1])
            if (agree or np.array_equal)(other, text):
                return name
        return otherwise

    return function


def _some(a, b):
    return bool((a == b).all(axis=1).any())


def _by_accuracy(table, bos, eos, references, text):
    real = references >= 0
    share = (references == text[:, : references.shape[1]])[real].mean()
    return "right words" if share > 0.5 else "own words"


def _by_length(table, bos, eos, references, text):
    same = ((text >= 0).sum(axis=1) == (references >= 0).sum(axis=1)).all()
    return "right words" if same else "own words"


ALL = ("five reports", "one sentence tells", "three sentences", "other reports")
FIVE = ("five reports", "one sentence tells", "other reports")
KNOWN_BY = {
    "own words": "the model reads BOS and then what it wrote itself, until it says EOS or the row is full",
    "right words": "the model reads BOS and then the reference, whatever it says, so there is a word for each place of "
                   "the reference, EOS in the middle or not",
    "own words, right length": "the model reads its own words, but the text is exactly as long as the reference: it "
                               "goes on behind EOS, or is cut",
    "the word itself": "before it says a word the model reads that very word of the reference",
    "another source": "every sentence was written from the source after it, b + 1, and the last from the first",
}


def _confused(name, other):
    """Right but for the reports of one name, which get another."""
    def function(*given):
        found = _namer()(*given)
        return other if found == name else found

    return Mutant(f"{name} called {other}", function,
                  f"Reports of '{name}' are called '{other}' here. '{name}' means: {KNOWN_BY[name]}.", "13.3",
                  ("five reports", "one sentence tells"))


WITNESSES = (
    *(_confused(name, other) for name in NAMES for other in NAMES if name != other),
    Mutant("always its own", lambda *given: "own words", "This calls every report the model's own words.", "13.3", ALL),
    Mutant("always the right words", lambda *given: "right words",
           "This calls every report one with the right words at hand.", "13.3", ALL),
    Mutant("by accuracy", _by_accuracy,
           "This judges by how many words are right: a good model has a high share with its own words too, and a bad "
           "one a low share with the right words at hand. Ask what was read before each word.", "13.3", FIVE),
    Mutant("by length", _by_length,
           "This judges by the lengths: texts as long as their references may come in three ways. Ask what was read "
           "before each word.", "13.3", FIVE),
    Mutant("first sentence", _namer(agree=lambda a, b: bool((a[0] == b[0]).all())),
           "This looks at the first sentence alone, where several names may fit: the name must fit all of them.",
           "13.3", ("one sentence tells",)),
    Mutant("one sentence is enough", _namer(agree=_some),
           "One sentence that fits is enough for this detective: every one has to fit.", "13.3",
           ("one sentence tells",)),
    Mutant("first words", _namer(agree=lambda a, b: bool((a[:, :2] == b[:, :2]).all())),
           "This looks at the first words alone: where the model is right at the start, its own words and the right "
           "ones are the same.", "13.3", ("one sentence tells",)),
    Mutant("own and right exchanged", lambda *given: {
        "own words": "right words", "right words": "own words"}.get(name := _namer()(*given), name),
           "Own words and right words have changed places: with the right words at hand the model reads the "
           "reference, whatever it wrote itself.", "13.3", ALL),
    Mutant("the word itself for the right words", lambda *given: {
        "the word itself": "right words", "right words": "the word itself"}.get(name := _namer()(*given), name),
           "The right words and the word itself have changed places: to read the word that comes before is teacher "
           "forcing, to read the word that is to be said is a leak.", "13.3", ("five reports",)),
)

# 13.11


def _cuts(s):
    return [s[:i] + s[i + 1 :] for i in range(len(s))]


def _leaks(equal=True, replaced="hole", longer=True, shorter=True, share=None, key=tuple, at=range, skip=0,
           short_at=range):
    """`replaced`: "hole", with the place; "any", both sides cut, wherever; "last", in the last place alone; "none".
    `at(n)`: the places that are tried, `short_at(n)`: those where a test sentence may have a word less; sentences of
    `skip` words are compared as wholes alone."""

    def places(s):
        return [(i, s[:i] + s[i + 1 :]) for i in at(len(s))] if len(s) > skip else []

    def function(train, test):
        train, test = [key(s) for s in train], [key(s) for s in test]
        exact, holes, cut = set(train), set(), set()
        for s in exact:
            for i, c in places(s):
                holes.add((i, c))
                if i in short_at(len(s)):
                    cut.add(c)

        def near(s):
            if equal and s in exact:
                return True
            parts = places(s)
            cuts = [c for _, c in parts]
            return (longer and any(c in exact for c in cuts) or shorter and s in cut
                    or replaced == "hole" and any(part in holes for part in parts if equal or s not in exact)
                    or replaced == "any" and any(c in cut for c in cuts)
                    or replaced == "last" and any((len(s) - 1, c) in holes for c in cuts[-1:]))

        known = {s: near(s) for s in set(test)}
        found = [known[s] for s in test]
        return share(found, train, test) if share else sum(found) / len(found)

    return function


def _kinds(train, test):
    kinds = ({"replaced": "none", "longer": False, "shorter": False}, {"longer": False, "shorter": False},
             {"equal": False, "replaced": "none", "longer": False}, {"equal": False, "replaced": "none",
                                                                     "shorter": False})
    return sum(_leaks(**kind)(train, test) for kind in kinds)


def _first_place(train, test):
    whole = {tuple(s) for s in train}
    rest = {tuple(s[1:]) for s in train}
    holes = {(len(s), tuple(s[1:])) for s in train}
    return sum(tuple(t) in whole or tuple(t) in rest or any(c in whole for c in _cuts(tuple(t)))
               or (len(t), tuple(t[1:])) in holes for t in test) / len(test)


def _without_repeats(found, train, test):
    seen = dict(zip(test, found, strict=True))
    return sum(seen.values()) / len(seen)


def _runs_agree(train, test):
    """Words of the test sentence that stand in one training sentence, whatever their order."""
    return _leaks(key=lambda s: tuple(sorted(s)))(train, test)


def _sets_agree(train, test):
    return _leaks(key=lambda s: tuple(sorted(set(s))))(train, test)


def _pairs_of(train, test):
    """How many (test, train) pairs, by one training sentence counted as often as it occurs."""
    holes, cut, exact = Counter(), Counter(), Counter(map(tuple, train))
    for s in map(tuple, train):
        holes.update({(i, c) for i, c in enumerate(_cuts(s))})
        cut.update(set(_cuts(s)))
    total = 0
    for s in map(tuple, test):
        total += exact[s] + cut[s] + sum(exact[c] for c in set(_cuts(s)))
        total += sum(holes[i, c] - exact[s] for i, c in enumerate(_cuts(s)))
    return total / len(test)


def _joined(train, test, separator="", hole="*"):
    """Sentences as text, the ids side by side."""
    def text(words):
        return separator.join(map(str, words))

    exact, cut, holes = {text(s) for s in train}, set(), set()
    for s in train:
        for i, c in enumerate(_cuts(list(s))):
            cut.add(text(c))
            holes.add(text([*s[:i], hole, *s[i + 1 :]]))
    return sum(text(t) in exact or text(t) in cut or any(
        text(c) in exact or text([*t[:i], hole, *t[i + 1 :]]) in holes for i, c in enumerate(_cuts(list(t)))
    ) for t in test) / len(test)


def _blanked(train, test, blank=0):
    """One set for all: a word that is an id stands for any word, in a place of the sentence or between two."""
    def patterns(s):
        s = tuple(s)
        return {s, *(s[:i] + (blank,) + s[i + 1 :] for i in range(len(s))),
                *(s[:i] + (blank,) + s[i:] for i in range(len(s) + 1))}

    known = set().union(*map(patterns, train))
    return sum(bool(patterns(t) & known) for t in test) / len(test)


def _two_off(train, test):
    """Shortened on both sides, and shortened twice."""
    cut = set()
    for s in map(tuple, train):
        cut.update([s, *_cuts(s)])
        if len(train) < 1000:
            cut.update(c for first in _cuts(s) for c in _cuts(first))
    right = _leaks(share=lambda found, *both: found)(train, test)
    found = [r or tuple(t) in cut for r, t in zip(right, test, strict=True)]
    return sum(found) / len(found)


NEAR = ("one replaced", "one more or less", "two apart", "many", "others")
LEAKS = (
    Mutant("equal alone", _leaks(replaced="none", longer=False, shorter=False),
           "Only equal sentences are found: those that are one word apart leak as well.", "13.7",
           ("one replaced", "one more or less", "others")),
    Mutant("equal ones are none", _leaks(equal=False),
           "Sentences that are equal to a training sentence are not counted: they leak most of all.", "13.7",
           ("one replaced",)),
    Mutant("no replaced word", _leaks(replaced="none"),
           "A replaced word is not found: give each training sentence a key for every place, without the word that "
           "stands there.", "13.7", ("one replaced", "many", "others")),
    Mutant("no word more or less", _leaks(longer=False, shorter=False),
           "Sentences of another length are not found: one word may be added or left out.", "13.7",
           ("one more or less", "others")),
    Mutant("no word more", _leaks(longer=False),
           "A test sentence with one word more is not found: with one word taken out it equals a training sentence.",
           "13.7", ("one more or less", "others")),
    Mutant("no word less", _leaks(shorter=False),
           "A test sentence with one word less is not found: it equals a training sentence with one word taken out.",
           "13.7", ("one more or less", "others")),
    Mutant("no word less at the end", _leaks(short_at=lambda n: range(n - 1)),
           "A test sentence that lacks the last word of a training sentence is not found: any word may be left out.",
           "13.7", ("one word",)),
    Mutant("cut on both sides", _leaks(replaced="any"),
           "A word is taken out of both sentences, each at a place of its own: then one that lost a word in front and "
           "won one behind seems near, and it is two words away. For a replaced word the places must be the same.",
           "13.7", ("two apart", "others")),
    Mutant("the last place alone", _leaks(replaced="last"),
           "A replaced word is found in the last place alone: it may be any.", "13.7", ("one replaced", "others")),
    Mutant("the order of words", _runs_agree,
           "The order of the words is lost: two words that changed places are two replaced words.", "13.7",
           ("two apart",)),
    Mutant("bags of words", _leaks(key=lambda s: tuple(sorted(s)), replaced="any"),
           "The sentences are compared as bags of words: two words that changed places are two replaced words, and a "
           "word that moves to the other end is two as well.", "13.7", ("two apart",)),
    Mutant("sets of words", _sets_agree,
           "The sentences are compared as sets of words: order and repetition count.", "13.7", ("two apart",)),
    Mutant("order and length", _leaks(replaced="any", longer=False, shorter=False),
           "One word is taken out of both sentences, wherever: that finds sentences that are two words apart, and "
           "none of another length.", "13.7", ("one more or less", "two apart")),
    Mutant("replaced ones, and equal ones not", _leaks(equal=False, longer=False, shorter=False),
           "Only sentences with one replaced word are found: equal ones leak most of all, and one word may be added or "
           "left out.", "13.7", ("one replaced", "one more or less")),
    Mutant("two more or less", lambda train, test: _two_off(train, test),
           "Sentences of which two words were taken away are found as well: those are two changes.", "13.7",
           ("one more or less",)),
    Mutant("a number", _leaks(share=lambda found, train, test: float(sum(found))),
           "This is the number of test sentences: asked is their share.", "13.7", NEAR),
    Mutant("share of the training sentences", _leaks(share=lambda found, train, test: sum(found) / len(train)),
           "The number is divided by that of the training sentences: asked is the share of the test sentences.",
           "13.7", NEAR),
    Mutant("kinds counted", lambda train, test: _kinds(train, test),
           "A sentence that is near in two ways counts twice: each test sentence counts once, or not at all.", "13.7",
           ("one replaced", "two apart")),
    Mutant("ids run together", _joined,
           "The ids are joined without anything between them, so that 1, 23 and 12, 3 become the same text: join them "
           "with a separator, or keep tuples.", "13.7", ("any ids",)),
    Mutant("0 for any word", _blanked,
           "0 stands for any word here, and 0 is a word like the others: then a blank in one place meets a real 0 in "
           "another. Blank with something that is no id, or keep the place beside what is left.", "13.7", ("any ids",)),
    Mutant("one word alone", _leaks(skip=1),
           "Sentences of one word are compared only as they are: with the word replaced, or a second one beside it, "
           "they are one word apart.", "13.7", ("one word",)),
    Mutant("one word skipped", lambda train, test: _leaks(share=lambda found, train, test: sum(
        f and len(t) > 1 for f, t in zip(found, test, strict=True)) / len(test))(train, test),
           "Sentences of one word are passed over: each test sentence counts, and one word is replaced by any other.",
           "13.7", ("one word",)),
    Mutant("the two ends", _leaks(at=lambda n: {0, n - 1}),
           "Only the first and the last word may differ, be added or be missing: it may be any place of the sentence.",
           "13.7", ("one replaced", "others")),
    Mutant("the last place everywhere", _leaks(at=lambda n: [n - 1]),
           "Only the last word may differ, be added or be missing: it may be any place of the sentence.", "13.7",
           ("one replaced", "others")),
    Mutant("the inside alone", _leaks(at=lambda n: range(1, n - 1)),
           "The first and the last word may not differ here: it may be any place of the sentence.", "13.7",
           ("one word",)),
    Mutant("not the last place", _leaks(at=lambda n: range(n - 1)),
           "The loop over the places stops before the last one: any word may be replaced, added or left out.", "13.7",
           ("one word",)),
    Mutant("not the first place", _leaks(at=lambda n: range(1, n)),
           "The loop over the places begins at the second one: any word may be replaced, added or left out.", "13.7",
           ("one word",)),
    Mutant("the first place alone", lambda train, test: _first_place(train, test),
           "Only the first word may differ or be missing: the loop over the places ends after one turn.", "13.7",
           ("one replaced", "others")),
    Mutant("what is clean", _leaks(share=lambda found, train, test: 1 - sum(found) / len(test)),
           "This is the share that does not leak.", "13.7", NEAR),
    Mutant("percent", _leaks(share=lambda found, train, test: 100 * sum(found) / len(test)),
           "The share is in per cent: it goes from 0 to 1.", "13.7", NEAR),
    Mutant("pairs", _pairs_of,
           "This counts pairs of a test and a training sentence: a test sentence with several near ones counts once.",
           "13.7", ("repeated",)),
    Mutant("without repeats", _leaks(share=_without_repeats),
           "Test sentences that occur twice are counted once: each counts, as it does in the score.", "13.7",
           ("repeated",)),
)

# 13.12


def _reader(mask="keys", scale=None, split="right", merge="right", maps=None, hide=-1e30, after=None, axis=-1,
            shift=0, of=None, bias=None, soft="softmax"):
    def function(Y, M, lengths, W_q, W_k, W_v, heads):
        import torch

        W_q, W_k, W_v = maps(W_q, W_k, W_v) if maps else (W_q, W_k, W_v)
        B, n, d = Y.shape
        m, w = M.shape[1], d // heads

        def cut(X):
            if split == "as it lies":
                return X.reshape(B, heads, X.shape[1], w)
            if split == "interleaved":
                return X.reshape(B, X.shape[1], w, heads).permute(0, 3, 1, 2)
            return X.reshape(B, X.shape[1], heads, w).transpose(1, 2)

        if of:
            M = of(M, lengths)
        Q, K, V = cut(Y @ W_q), cut(M @ W_k), cut(M @ W_v)
        S = Q @ K.mT / (scale(d, w, m) if scale else w**0.5)
        real = torch.arange(m) < (lengths + shift)[:, None]
        seen = {"keys": real[:, None, None], "other": ~real[:, None, None], "first": real[:1, None, None],
                "queries": (torch.arange(n) < lengths[:, None])[:, None, :, None],
                "causal": real[:, None, None] & torch.ones(n, m, dtype=torch.bool).tril(),
                "longest": (torch.arange(m) < lengths.max())[None, None, None],
                "shortest": (torch.arange(m) < lengths.min())[None, None, None],
                "triangle": torch.ones(n, m, dtype=torch.bool).tril()}.get(mask)
        if seen is not None:
            S = S * seen if hide == 0 else torch.where(seen, S, torch.tensor(hide, dtype=S.dtype))
        if bias:
            S = S + bias(real[:, None, None], S)
        A = torch.softmax(S, dim=axis) if soft == "softmax" else torch.sigmoid(S)
        if after is not None:
            A = after(A, real[:, None, None])
        O = A @ V
        if merge == "as it lies":
            return O.reshape(B, n, d)
        if merge == "interleaved":
            return O.permute(0, 2, 3, 1).reshape(B, n, d)
        return O.transpose(1, 2).reshape(B, n, d)

    return function


def _whole(Y, M, lengths, W_q, W_k, W_v, heads):
    return _reader()(Y, M, lengths, W_q, W_k, W_v, 1)


READ = ("values", "gradients", "no padding", "other sizes")
HIDDEN = ("values", "gradients", "other sizes")
READERS = (
    *(Mutant(f"the mask of the {name}", _reader(mask=name),
             f"All sentences get the mask of the {name}: each row of the batch has a length of its own.", "13.1",
             HIDDEN) for name in ("longest", "shortest")),
    Mutant("heads cut in one way and joined in another", _reader(split="interleaved"),
           "The columns are cut into heads in one way and put together in another: head 0 has the first d / heads "
           "columns, on both sides.", "13.1", READ),
    Mutant("mask on the queries", _reader(mask="queries"),
           "The mask hides queries: the padding of the source is among the keys, the last axis of the scores.", "13.1",
           HIDDEN),
    Mutant("0 times infinity", _reader(mask="none", bias=lambda real, S: ~real * -math.inf),
           "The mask is a product with −∞, and 0 times −∞ is nan: choose with torch.where or masked_fill, or hand on a "
           "boolean mask.", "13.1", READ),
    Mutant("no mask", _reader(mask="none"),
           "The mask is missing, or over the queries, where it changes nothing (what is taken off all scores of one "
           "query cancels in its softmax): padded rows of M are read as if they were words.", "13.1", HIDDEN),
    Mutant("mask the other way round", _reader(mask="other"),
           "The mask is turned round. In scaled_dot_product_attention True means: may be read; in "
           "nn.MultiheadAttention True in key_padding_mask means: is padding.", "13.1", HIDDEN),
    Mutant("causal as well", _reader(mask="causal"),
           "The source is read through a causal mask: that is for the decoder's own words; all of the source is there "
           "from the beginning.", "13.1", READ),
    Mutant("one mask for all", _reader(mask="first"),
           "Every sentence gets the mask of the first: each row of the batch has a length of its own.", "13.1", HIDDEN),
    Mutant("hidden scores of zero", _reader(hide=0),
           "Hidden scores are multiplied by 0, and exp(0) is 1: they still get a weight. They need −∞.", "13.1",
           HIDDEN),
    Mutant("added mask of ones", _reader(mask="none", bias=lambda real, S: real.to(S.dtype)),
           "A mask of numbers is *added* to the scores, and 1 against 0, or 0 against −1, hides nothing: hand on a "
           "boolean mask, or 0 against −∞.", "13.1", HIDDEN),
    Mutant("queries hidden too, nothing in their rows", _reader(after=lambda A, real: A * _queries(A, real)),
           "Target rows are hidden by the lengths of the source: every target row needs a result. Only keys are "
           "padded here.", "13.1", ("values", "gradients")),
    Mutant("one more head axis", _reader(scale=lambda d, w, m: (d / w) ** 0.5),
           "The scores are divided by the root of the number of heads: it is the root of a head's width, d / heads.",
           "13.1", READ),
    Mutant("scale of the source", _reader(scale=lambda d, w, m: m**0.5),
           "The scores are divided by the root of the number of source rows: it is the root of a head's width.",
           "13.1", READ),
    Mutant("mean of the heads", lambda *given: _mean_of_heads(*given),
           "The heads are averaged: they stand side by side.", "13.1", READ),
    Mutant("columns of the heads interleaved", _reader(merge="interleaved"),
           "The heads are put together column by column: those of one head stand side by side.", "13.1", READ),
    *(Mutant(f"hidden scores of {k}", _reader(hide=k),
             f"Hidden scores are set to {k:g}, which still gets a weight: a hidden key needs −∞ before the softmax.",
             "13.1", HIDDEN) for k in (-1.0, -10.0)),
    *(Mutant(f"hidden scores of {k:g}", _reader(hide=k),
             "Hidden scores are set to a number, and a real score may be smaller: then padding is read. A hidden key "
             "needs −∞ before the softmax.", "13.1", ("large scores",)) for k in (-50.0, -100.0)),
    Mutant("10 taken off", _reader(mask="none", bias=lambda real, S: ~real * -10.0),
           "10 is taken off hidden scores, which still leaves them a weight: a hidden key needs −∞ before the softmax.",
           "13.1", HIDDEN),
    Mutant("100 taken off", _reader(mask="none", bias=lambda real, S: ~real * -100.0),
           "A number is taken off hidden scores, and what the encoder left in the padding may outweigh it. A hidden "
           "key needs −∞ before the softmax.", "13.1", ("large scores",)),
    Mutant("causal alone", _reader(mask="triangle"),
           "The mask is causal: that is for the decoder's own words. Here it is the padding behind lengths[b] that is "
           "hidden, and all of the source is there from the beginning.", "13.1", READ),
    Mutant("least score", _reader(mask="none", bias=lambda real, S: (~real) * (S.detach().amin() - S)),
           "Hidden scores are set to the smallest of the others, which still gets a weight: a hidden key needs −∞.",
           "13.1", HIDDEN),
    Mutant("sigmoid", _reader(soft="sigmoid"),
           "The weights are sigmoids of the scores, and do not sum to one: it is a softmax.", "13.1", READ),
    Mutant("residual added", lambda *given: given[0] + _reader()(*given),
           "Y is added to the result: asked is the attention alone.", "13.1", READ),
    Mutant("mask after the softmax", _reader(mask="none", after=lambda A, real: A * real),
           "The weights of padding are set to 0 after the softmax: the others then do not sum to one.", "13.1", HIDDEN),
    Mutant("padded rows set to zero", _reader(mask="none", of=lambda M, k: M * (
        _arange(M) < k[:, None])[..., None]),
           "The padded rows of M are set to 0, and there is no mask: a key of zeros has the score 0, which gets a "
           "weight.", "13.1", HIDDEN),
    Mutant("one row too many", _reader(shift=1),
           "The first row of padding is read too: rows 0 … lengths − 1 are real.", "13.1", HIDDEN),
    Mutant("one row too few", _reader(shift=-1),
           "The last word of each source is hidden: rows 0 … lengths − 1 are real.", "13.1", READ),
    Mutant("a source without a graph", _reader(of=lambda M, k: M.detach() + 0 * M),
           "The source is detached: the encoder would learn nothing.", "13.2", ("gradients",)),
    Mutant("weights without a graph", _reader(after=lambda A, real: A.detach()),
           "The weights are detached from the graph: queries and keys would learn nothing.", "13.2", ("gradients",)),
    Mutant("no scale", _reader(scale=lambda d, w, m: 1.0), "The scores are not divided by √d_k.", "13.1", READ),
    Mutant("scale of the whole width", _reader(scale=lambda d, w, m: d**0.5),
           "The scores are divided by √d: a head has d / heads columns, and its scores are divided by the root of "
           "that.", "13.1", READ),
    Mutant("no root", _reader(scale=lambda d, w, m: float(w)), "The scores are divided by d_k: it is its root.", "13.1",
           READ),
    Mutant("multiplied by the root", _reader(scale=lambda d, w, m: w**-0.5),
           "The scores are multiplied by √d_k: they are divided by it.", "13.1", READ),
    Mutant("heads by reshape", _reader(split="as it lies"),
           "reshape to (B, heads, n, w) cuts the rows, so that a head mixes tokens: cut the columns, (B, n, heads, w), "
           "and exchange the axes then.", "13.1", READ),
    Mutant("heads merged by reshape", _reader(merge="as it lies"),
           "The heads are put together by a reshape alone: exchange the axes first, so that the columns of one token "
           "stand side by side.", "13.1", READ),
    Mutant("heads by reshape, both ways", _reader(split="as it lies", merge="as it lies"),
           "reshape to (B, heads, n, w) and back cuts rows and not columns: exchange axes between (B, n, heads, w) and "
           "(B, heads, n, w).", "13.1", READ),
    Mutant("every other column", _reader(split="interleaved", merge="interleaved"),
           "A head gets every heads-th column: the columns are cut into equal parts that lie side by side.", "13.1",
           READ),
    Mutant("one head", _whole, "There is one head of the whole width: the columns are cut into `heads` parts, each "
                               "with a softmax of its own.", "13.1", READ),
    *(Mutant(f"softmax over the queries{also}", _reader(axis=-2, hide=hide),
             f"The softmax runs over the queries{said}: the weights of one query over all keys sum to one.", "13.1",
             seen) for also, hide, said, seen in (
                 ("", -1e30, "", READ), (", hidden by −∞", -math.inf, ", where a hidden key is −∞ for all of them, and "
                                         "0/0", HIDDEN))),
    Mutant("W_q and W_k exchanged", _reader(maps=lambda q, k, v: (k, q, v)),
           "W_q and W_k have changed places: queries come from Y, keys from M.", "13.1", READ),
    Mutant("W_k and W_v exchanged", _reader(maps=lambda q, k, v: (q, v, k)),
           "Keys and values have changed places.", "13.1", READ),
    Mutant("keys without a graph", lambda *given: _keys_detached(*given),
           "The keys are detached from the graph: the source would learn through its values alone.", "13.2",
           ("gradients",)),
    Mutant("keys as values", _reader(maps=lambda q, k, v: (q, k, k)), "The values are made with W_k.", "13.1", READ),
    Mutant("maps transposed", _reader(maps=lambda q, k, v: (q.mT, k.mT, v.mT)),
           "The maps are transposed, as in F.linear: here a map stands on the right of the rows, Y W_q.", "13.1", READ),
    Mutant("precision lost", lambda *given: _in_float32(*given),
           "Somewhere float64 was lost: give a new tensor the dtype of the others.", "13.1",
           ("values", "no padding", "other sizes")),
)


def _arange(M):
    import torch

    return torch.arange(M.shape[1])


def _keys_detached(Y, M, lengths, W_q, W_k, W_v, heads):
    import torch

    def cut(X):
        return X.unflatten(-1, (heads, -1)).transpose(1, 2)

    real = torch.arange(M.shape[1]) < lengths[:, None]
    O = torch.nn.functional.scaled_dot_product_attention(
        cut(Y @ W_q), cut(M @ W_k).detach(), cut(M @ W_v), attn_mask=real[:, None, None])
    return O.transpose(1, 2).flatten(2)


def _queries(A, real):
    import torch

    return (torch.arange(A.shape[2]) < real.sum(dim=-1))[..., None]


def _mean_of_heads(Y, M, lengths, W_q, W_k, W_v, heads):
    O = _reader()(Y, M, lengths, W_q, W_k, W_v, heads)
    return O.unflatten(-1, (heads, -1)).mean(dim=2).repeat(1, 1, heads)


def _in_float32(Y, M, lengths, W_q, W_k, W_v, heads):
    return _reader()(Y.float(), M.float(), lengths, W_q.float(), W_k.float(), W_v.float(), heads)


# 13.13


def _beta(slope_P=None, slope_R=None, even=None, b=lambda beta: beta * beta):
    def function(P, R, beta):
        s = b(beta)
        bottom = (s * P + R) ** 2
        return (slope_P(P, R, s) if slope_P else (1 + s) * R * R / bottom,
                slope_R(P, R, s) if slope_R else (1 + s) * s * P * P / bottom, even(beta) if even else float(beta))

    return function


BETA = ("slopes", "equal slopes", "beta below one", "others")
BETAS = (
    Mutant("slope by P with the wrong sign", _beta(lambda P, R, s: -(1 + s) * R * R / (s * P + R) ** 2),
           "The slope by P has the wrong sign: F grows with P.", "13.5", ("slopes", "others")),
    Mutant("beta once in the slope by R", _beta(
        slope_R=lambda P, R, s: (1 + s) * math.sqrt(s) * P * P / (s * P + R) ** 2),
           "The slope by R has β once: the denominator holds β², and so does this slope.", "13.5",
           ("slopes", "others")),
    Mutant("beta above, its square below", _beta(
        lambda P, R, s: (1 + math.sqrt(s)) * R * R / (s * P + R) ** 2,
        lambda P, R, s: (1 + math.sqrt(s)) * math.sqrt(s) * P * P / (s * P + R) ** 2),
           "Above the line β stands where β² should.", "13.5", ("slopes", "others")),
    Mutant("the quotient that was given", lambda P, R, beta: (*_beta()(P, R, beta)[:2], R / P),
           "This is R / P of the numbers that were given: asked is the quotient at which the two slopes would be "
           "equal.", "13.5", ("equal slopes", "beta below one")),
    Mutant("one plus beta squared", _beta(even=lambda beta: 1 + beta * beta),
           "At R / P = 1 + β² the slopes are not equal: set them equal, R² = β² P².", "13.5",
           ("equal slopes", "beta below one")),
    Mutant("exchanged", lambda P, R, beta: (*_beta()(P, R, beta)[1::-1], float(beta)),
           "The two slopes have changed places: by P comes first.", "13.5", ("slopes", "others")),
    Mutant("recall and precision exchanged", lambda P, R, beta: (*_beta()(R, P, beta)[:2][::-1], 1 / beta),
           "β² stands beside R here: in F it stands beside P in the denominator, and with that it is *recall* that "
           "counts for more.", "13.5", BETA),
    Mutant("numerator alone", _beta(lambda P, R, s: (1 + s) * R / (s * P + R),
                                       lambda P, R, s: (1 + s) * P / (s * P + R)),
           "Only the numerator is differentiated: P and R stand in the denominator as well.", "13.5", ("slopes",)),
    Mutant("beta for its square", _beta(b=lambda beta: beta),
           "β stands where β² should.", "13.5", ("slopes", "others")),
    Mutant("beta for its square, and its root", _beta(b=lambda beta: beta, even=lambda beta: beta**0.5),
           "β stands where β² should.", "13.5", BETA),
    Mutant("no 1 + beta²", _beta(lambda P, R, s: R * R / (s * P + R) ** 2,
                                  lambda P, R, s: s * P * P / (s * P + R) ** 2),
           "The factor 1 + β² is missing.", "13.5", ("slopes", "others")),
    Mutant("beta² forgotten in the slope by R", _beta(slope_R=lambda P, R, s: (1 + s) * P * P / (s * P + R) ** 2),
           "The slope by R lacks β²: it comes from the denominator, β² P + R − R.", "13.5", ("slopes", "others")),
    Mutant("no square below", _beta(lambda P, R, s: (1 + s) * R * R / (s * P + R),
                                    lambda P, R, s: (1 + s) * s * P * P / (s * P + R)),
           "The denominator of a quotient's slope is squared.", "13.5", ("slopes", "others")),
    Mutant("F1", _beta(b=lambda beta: 1.0), "These are the slopes of F with β = 1.", "13.5", ("slopes", "others")),
    Mutant("F1, and one", _beta(b=lambda beta: 1.0, even=lambda beta: 1.0),
           "This is F with β = 1, whatever β is.", "13.5", BETA),
    Mutant("sign", _beta(lambda P, R, s: -(1 + s) * R * R / (s * P + R) ** 2,
                         lambda P, R, s: -(1 + s) * s * P * P / (s * P + R) ** 2),
           "Both slopes have the wrong sign: F grows with P and with R.", "13.5", ("slopes", "others")),
    Mutant("slope by R with the wrong sign", _beta(slope_R=lambda P, R, s: -(1 + s) * s * P * P / (s * P + R) ** 2),
           "The slope by R has the wrong sign: F grows with R.", "13.5", ("slopes", "others")),
    Mutant("P and R crossed", _beta(lambda P, R, s: (1 + s) * s * R * R / (s * P + R) ** 2,
                                    lambda P, R, s: (1 + s) * P * P / (s * P + R) ** 2),
           "β² went to the slope by P: it stands beside P in the denominator, so it is left over in the slope by R.",
           "13.5", ("slopes", "others")),
    Mutant("own letters", _beta(lambda P, R, s: (1 + s) * P * P / (s * P + R) ** 2,
                                lambda P, R, s: (1 + s) * s * R * R / (s * P + R) ** 2),
           "The slope by P has R² above it, and the slope by R has P²: each depends on the other.", "13.5",
           ("slopes", "others")),
    Mutant("the weights", _beta(lambda P, R, s: 1 / (1 + s), lambda P, R, s: s / (1 + s)),
           "These are the weights of 1/P and 1/R in 1/F, and the slopes at P = R: elsewhere each is multiplied by F² "
           "over P², or over R².", "13.5", ("slopes", "others")),
    Mutant("slopes of the inverse", _beta(lambda P, R, s: -1 / ((1 + s) * P * P),
                                           lambda P, R, s: -s / ((1 + s) * R * R)),
           "These are the slopes of 1/F: multiply by −F².", "13.5", ("slopes", "others")),
    Mutant("F without its square", _beta(
        lambda P, R, s: R / (s * P + R) / P, lambda P, R, s: s * P / (s * P + R) / R),
           "F stands once where F² should, or the slope is that of ln F: dF = F² (w_P dP / P² + w_R dR / R²).", "13.5",
           ("slopes", "others")),
    Mutant("quotient of two slopes", _beta(lambda P, R, s: (1 + s) * R / s, lambda P, R, s: (1 + s) * P),
           "Numerator and denominator are differentiated by themselves and divided: a quotient's slope is "
           "(u′v − uv′) / v².", "13.5", ("slopes", "others")),
    Mutant("the factor of F1", _beta(lambda P, R, s: 2 * R * R / (s * P + R) ** 2,
                                     lambda P, R, s: 2 * s * P * P / (s * P + R) ** 2),
           "The factor in front is 2, that of F with β = 1: it is 1 + β².", "13.5", ("slopes", "others")),
    Mutant("denominator without beta²", _beta(
        lambda P, R, s: (1 + s) * R * R / (P + R) ** 2, lambda P, R, s: (1 + s) * s * P * P / (P + R) ** 2),
           "The denominator is (P + R)² here: it is (β² P + R)².", "13.5", ("slopes", "others")),
    Mutant("inner slope forgotten", _beta(
        lambda P, R, s: (1 + s) * R * (s * P + R - P) / (s * P + R) ** 2),
           "The slope of the denominator by P is β², not 1: u′v − uv′ = R (β² P + R) − P R β².", "13.5",
           ("slopes", "others")),
    Mutant("times P, times R", _beta(lambda P, R, s: (1 + s) * P * R * R / (s * P + R) ** 2,
                                     lambda P, R, s: (1 + s) * s * R * P * P / (s * P + R) ** 2),
           "The slopes are multiplied by P and by R: that says how F answers to a relative change, and asked is the "
           "slope.", "13.5", ("slopes", "others")),
    Mutant("a square split", _beta(lambda P, R, s: (1 + s) * P * R / (s * P + R) ** 2,
                                   lambda P, R, s: (1 + s) * s * P * R / (s * P + R) ** 2),
           "Above stands R² in the slope by P, and P² in that by R, not P R.", "13.5", ("slopes", "others")),
    Mutant("(1 + beta) squared", lambda P, R, beta: (
        *((1 + beta) ** 2 / (1 + beta**2) * x for x in _beta()(P, R, beta)[:2]), float(beta)),
           "The factor in front is 1 + β², not (1 + β)².", "13.5", ("slopes", "others")),
    Mutant("equal at the root of the sum", _beta(even=lambda beta: math.sqrt(1 + beta * beta)),
           "R² = β² P² gives R / P = β.", "13.5", ("equal slopes", "others")),
    Mutant("equal at twice beta", _beta(even=lambda beta: 2 * beta),
           "R² = β² P² gives R / P = β.", "13.5", ("equal slopes", "others")),
    Mutant("equal at beta²", _beta(even=lambda beta: beta * beta),
           "At R / P = β² the slopes are not equal: R² = β² P² gives R / P = β.", "13.5", ("equal slopes", "others")),
    Mutant("equal at 1 / beta", _beta(even=lambda beta: 1 / beta),
           "The quotient is turned round: this is P / R.", "13.5", ("equal slopes", "others")),
    Mutant("quotient of the slopes", lambda P, R, beta: (*_beta()(P, R, beta)[:2], (beta * P / R) ** 2),
           "This is the quotient of the two slopes at the P and R that were given: asked is the R / P at which they "
           "are equal, and it depends on β alone.", "13.5", ("equal slopes", "others")),
    Mutant("quotient of the slopes, upside down", lambda P, R, beta: (*_beta()(P, R, beta)[:2], (R / beta / P) ** 2),
           "This is the quotient of the two slopes at the P and R that were given: asked is the R / P at which they "
           "are equal, and it depends on β alone.", "13.5", ("equal slopes", "others")),
    Mutant("equal at one", _beta(even=lambda beta: 1.0),
           "At P = R the slopes are 1/(1 + β²) and β²/(1 + β²): equal for β = 1 alone.", "13.5",
           ("equal slopes", "others")),
    Mutant("equal at the root", _beta(even=lambda beta: beta**0.5),
           "R² = β² P² gives R / P = β, not its root.", "13.5", ("equal slopes", "others")),
    Mutant("equal at 1 / beta²", _beta(even=lambda beta: beta**-2),
           "R² = β² P² gives R / P = β.", "13.5", ("equal slopes", "others")),
    Mutant("P and R once above", _beta(lambda P, R, s: (1 + s) * R / (s * P + R) ** 2,
                                        lambda P, R, s: (1 + s) * s * P / (s * P + R) ** 2),
           "Above the line R and P stand once: the quotient rule leaves (1 + β²) R² and (1 + β²) β² P².", "13.5",
           ("slopes", "others")),
    Mutant("product rule below the line", _beta(
        lambda P, R, s: (1 + s) * R * (2 * s * P + R) / (s * P + R) ** 2,
        lambda P, R, s: (1 + s) * P * (s * P + 2 * R) / (s * P + R) ** 2),
           "The two parts of the quotient rule are added: the slope of the denominator is taken away.", "13.5",
           ("slopes", "others")),
    Mutant("beta to the fourth", _beta(slope_R=lambda P, R, s: (1 + s) * s * s * P * P / (s * P + R) ** 2),
           "The slope by R has β⁴: above the line stand β² P (β² P + R) R / R − …, and β² P² is left, times 1 + β².",
           "13.5", ("slopes", "others")),
)
