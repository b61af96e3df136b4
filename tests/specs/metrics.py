# ruff: noqa: E501
"""Proofs of BLEU, chrF and the alignment error rate: sacrebleu, sums by hand, properties, and wrong modules."""

import functools
import math
from fractions import Fraction

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from invariants import near, rng
from mutants import M
from proofs import refusals
from sacrebleu.metrics import BLEU, CHRF

SENTENCE = st.lists(st.sampled_from(["a", "bb", "c", "dd"]), max_size=9)
REAL = SENTENCE.filter(len)
CORPUS = st.lists(st.tuples(SENTENCE, st.lists(REAL, min_size=1, max_size=3)), min_size=1, max_size=4)
SMOOTHING = [("none", None), ("exp", None), ("floor", None), ("floor", 0.3), ("add-k", None), ("add-k", 0.5)]
CHRF_OPTIONS = [(6, 2), (3, 1), (2, 3)]
SCORE = 1e-9  # of 100


@functools.cache
def corpora():
    """40 corpora with empty and short hypotheses and one to three references, the same ones every time."""
    found = []
    once = settings(max_examples=40, derandomize=True, deadline=None, database=None, phases=[Phase.generate])
    once(given(corpus=CORPUS)(lambda corpus: found.append(corpus)))()
    assert len(found) == 40 and any(not h for corpus in found for h, _ in corpus)
    return found


def sides(corpus):
    """Hypotheses and references as we take them, and as sacrebleu does: strings, the k-th references together."""
    hypotheses, references = [h for h, _ in corpus], [r for _, r in corpus]
    most = max(map(len, references))
    streams = [[" ".join(r[k]) if k < len(r) else None for r in references] for k in range(most)]
    return hypotheses, references, [" ".join(h) for h in hypotheses], streams


def bleu(smoothing, value, order, effective=False):
    return BLEU(tokenize="none", force=True, smooth_method=smoothing, smooth_value=value, max_ngram_order=order,
                effective_order=effective)


@functools.cache
def theirs():
    """What sacrebleu says of each corpus, and of each of its sentences."""
    found = []
    for corpus in corpora():
        *_, lines, streams = sides(corpus)
        whole = [bleu(*how, order).corpus_score(lines, streams) for how in SMOOTHING for order in (4, 2)]
        each = [bleu(*how, 4, True).sentence_score(" ".join(h), [" ".join(r) for r in rs]).score
                for h, rs in corpus for how in SMOOTHING]
        chrf = [CHRF(char_order=order, beta=beta).corpus_score(lines, [streams[0]]).score for order, beta in CHRF_OPTIONS]
        found.append((whole, each, chrf))
    return found


def sacrebleu_has_the_same_bleu(module):
    for corpus, (whole, _, _) in zip(corpora(), theirs(), strict=True):
        hypotheses, references, *_ = sides(corpus)
        options = [(order, *how) for how in SMOOTHING for order in (4, 2)]
        for option, other in zip(options, whole, strict=True):
            mine = module.corpus_bleu(hypotheses, references, *option)
            near(mine.score, other.score, f"scores, {option}", SCORE)
            near([100 * p for p in mine.precisions], other.precisions, "precisions", SCORE)
            near(mine.brevity, other.bp, "brevity penalties")
            assert (mine.length, mine.reference_length) == (other.sys_len, other.ref_len)


def sacrebleu_has_the_same_bleu_of_a_sentence(module):
    for corpus, (_, each, _) in zip(corpora(), theirs(), strict=True):
        mine = [module.sentence_bleu(h, r, 4, *how).score for h, r in corpus for how in SMOOTHING]
        near(mine, each, "scores", SCORE)


def sacrebleu_has_the_same_chrf(module):
    """With one reference: of several the best counts, and which that is may hang on the last bit of an equal score."""
    for corpus, (_, _, scores) in zip(corpora(), theirs(), strict=True):
        lines, real = [" ".join(h) for h, _ in corpus], [[" ".join(r[0])] for _, r in corpus]
        near([module.chrf(lines, real, order, float(beta)) for order, beta in CHRF_OPTIONS], scores, "chrF", SCORE)
    lines, first, second = ["the cat sat", "on a mat"], ["a dog sat", "on the mat"], ["the cat sits", "at home"]
    mine = module.chrf(lines, list(zip(first, second, strict=True)))
    near(mine, CHRF().corpus_score(lines, [first, second]).score, "chrF", SCORE)
    near(module.chrf(["a b c"], [["ab c"]]), 100.0, "white space does not count: chrF and 100")


def worked_examples_of_bleu(module):
    """By hand: seven times "the" (Papineni et al. 2002) may count twice; a hypothesis of 3 words for 5 pays e^(1 − 5/3)."""
    the, cat = ["the"] * 7, "the cat is on the mat".split()
    near(module.corpus_bleu([the], [[cat, "there is a cat on the mat".split()]]).precisions[0], 2 / 7, "p_1")
    found = module.corpus_bleu([cat[:3]], [[cat[:5]]], order=2)
    near(found.score, 100 * math.exp(1 - 5 / 3), "three of five words")
    assert found.precisions == (1.0, 1.0) and (found.length, found.reference_length) == (3, 5)
    assert module.corpus_bleu([[1, 2, 3]], [[[1] * 5, [1] * 4, [1] * 2]], order=1)[2:] == (1.0, 3, 2), "of 2 and 4 the shorter"
    two = module.corpus_bleu([[1, 2, 3, 4], [5, 6]], [[[1, 2, 9, 4]], [[5, 6]]], order=2)
    near(two.score, 100 * math.sqrt(5 / 6 * 2 / 4), "5 of 6 words and 2 of 4 pairs, over the corpus")
    assert module.corpus_bleu([cat], [[cat]]).score == 100 and module.corpus_bleu([[]], [[cat]]).score == 0
    assert module.sentence_bleu([1, 2, 3], [[1, 2, 3]]).score == 100 and module.corpus_bleu([[1, 2, 3]], [[[1, 2, 3]]]).score == 0


def bleu_takes_any_tokens(module):
    words = [["a", "b", "c", "a", "b"], ["c", "c"]], [[["a", "b", "a", "b", "c"]], [["c", "b"]]]
    ids = [[" abc".index(w) for w in h] for h in words[0]], [[[" abc".index(w) for w in r] for r in rs] for rs in words[1]]
    arrays = [np.array(h) for h in ids[0]], [[np.array(r) for r in rs] for rs in ids[1]]
    scores = [module.corpus_bleu(*corpus, 2) for corpus in (words, ids, arrays, (arrays[0], ids[1]))]
    assert scores[0].score > 0 and len(set(scores)) == 1
    assert module.corpus_bleu([[1, 11]], [[[11, 1]]], 2).precisions == (1.0, 0.0), "1 11 and 11 1 are two pairs"


ONES = {(0, 0), (1, 1)}


def worked_examples_of_the_alignment_error_rate(module):
    """|A| = 4, |S| = 3, |A ∩ S| = 2, |A ∩ P| = 3: 1 − 5/7. Over two sentences the counts are added, not the rates."""
    sure, possible, predicted = {(0, 0), (1, 2), (2, 1)}, {(0, 0), (1, 2), (2, 1), (2, 3), (3, 3)}, {(0, 0), (1, 2), (2, 3), (4, 4)}
    near(module.alignment_error_rate([sure], [predicted], [possible]), 2 / 7, "error rates", 1e-15)
    near(module.alignment_error_rate([sure, ONES], [predicted, {(0, 0)}], [possible, ONES]), 1 - 7 / 10, "of two sentences", 1e-15)
    near(module.alignment_error_rate([sure], [predicted]), 1 - 4 / 7, "with sure links alone", 1e-15)
    assert module.alignment_error_rate([[(0, 0), (0, 0), (1, 1)]], [[(1, 1), (0, 0)]]) == 0, "a link counts once"
    some = [(0, 0), (1, 2)]
    for links in ([[0, 0], [1, 2]], [[0, 0], [1, 2], [0, 0]], np.array(some), np.array(some, np.uint8), set(some)):
        assert module.alignment_error_rate([some], [links]) == module.alignment_error_rate([links], [some]) == 0
        near(module.alignment_error_rate([some], [[(0, 0)]], [links]), 1 / 3, "of pairs in lists, arrays and sets", 1e-15)


def error_rate_is_what_it_is_by_definition(module):
    """Any S ⊆ P: rates from 0, exactly when S ⊆ A ⊆ P, to 1, exactly when nothing meets; 1 − F_1 if S = P."""
    r = rng()
    for _ in range(100):
        grid = [(i, j) for i in range(3) for j in range(3)]
        P, A = ({link for link in grid if r.random() < 0.5} for _ in range(2))
        S = {link for link in P if r.random() < 0.5}
        if not A | S:
            continue
        rate = module.alignment_error_rate([S], [A], [P])
        near(rate, float(1 - Fraction(len(A & S) + len(A & P), len(A) + len(S))), "error rates")
        assert (rate == 0) == (S <= A <= P) and (rate == 1) == (not A & P)
        if P and A & P:
            precision, recall = len(A & P) / len(A), len(A & P) / len(P)
            near(module.alignment_error_rate([P], [A]), 1 - 2 * precision * recall / (precision + recall), "1 − F")


WEIGHTS = np.array([[[0.1, 0.6, 0.2, 0.1], [0.4, 0.1, 0.4, 0.1], [0.1, 0.1, 0.1, 0.7], [0.2, 0.2, 0.5, 0.1]],
                    [[0.1, 0.5, 0.1, 0.3], [0.4, 0.1, 0.4, 0.1], [0.0, 0.9, 0.0, 0.1], [0.2, 0.2, 0.5, 0.1]]])


def links_are_the_largest_weights(module):
    """Rows are targets. In the first head "2" looks at the end mark, the last column; the mean of both looks at "1"."""
    assert module.align(WEIGHTS[0]) == {(1, 0), (0, 1), (3, 2), (2, 3)}
    assert module.align(WEIGHTS[0], targets=3, sources=3) == {(1, 0), (0, 1)}
    assert module.align(WEIGHTS[:, :, :], targets=3, sources=3) == {(1, 0), (0, 1), (1, 2)}
    assert module.align(WEIGHTS[None], 0, 3) == set()
    assert module.align(np.eye(5)[[2, 0, 4]]) == {(2, 0), (0, 1), (4, 2)}


H, R = [["a"]], [[["a", "b"]]]
wrong_input_is_refused_by_name = refusals(
    ("corpus_bleu", TypeError, r"corpus_bleu: hypotheses\[0\] is str, expected a list of tokens", ["a b"], R),
    ("corpus_bleu", TypeError, r"corpus_bleu: references\[0\]\[0\] is str, expected a list of tokens", H, [["a", "b"]]),
    ("corpus_bleu", ValueError, r"references\[0\] is \[\], expected a list of at least 1", H, [[]]),
    ("corpus_bleu", ValueError, r"references\[0\]\[1\] is empty, expected at least 1 token", H, [[["a"], []]]),
    ("corpus_bleu", ValueError, "corpus_bleu: 1 hypotheses but 2 lists of references", H, R + R),
    ("corpus_bleu", ValueError, "number of hypotheses is 0, expected at least 1", [], []),
    ("corpus_bleu", ValueError, "order is 0, expected at least 1", H, R, 0),
    ("corpus_bleu", ValueError, "smoothing is 'x', expected one of none, floor, add-k, exp", H, R, 4, "x"),
    ("corpus_bleu", ValueError, "value is 0.5, expected None with smoothing 'exp'", H, R, 4, "exp", 0.5),
    ("corpus_bleu", ValueError, "value is 0.0, expected a finite number greater than 0", H, R, 4, "floor", 0.0),
    ("sentence_bleu", TypeError, r"sentence_bleu: references\[0\]\[0\] is str", ["a"], ["a"]),
    ("ngrams", ValueError, "ngrams: n is 0, expected at least 1", ["a"], 0),
    ("chrf", TypeError, r"chrf: hypotheses\[0\] is list, expected str", H, [["a"]]),
    ("chrf", ValueError, r"chrf: references\[0\] is 'ab', expected a list", ["ab"], ["ab"]),
    ("chrf", ValueError, "beta is 0.0, expected a finite number greater than 0", ["a"], [["a"]], 6, 0.0),
    ("chrf", ValueError, "order is 0, expected at least 1", ["a"], [["a"]], 0),
    ("align", ValueError, "align: A has 1 axes, expected at least 2", np.ones(3)),
    ("align", ValueError, "targets and sources are 4 and 2, expected at most 3 and 2", np.ones((3, 2)), 4),
    ("align", ValueError, "sources is -1, expected at least 0", np.ones((3, 2)), 1, -1),
    ("alignment_error_rate", ValueError, r"possible\[0\] lacks \(1, 1\), expected every sure link", [ONES], [ONES], [{(0, 0)}]),
    ("alignment_error_rate", ValueError, "predicted has 2 sentences but sure has 1", [ONES], [ONES, ONES]),
    ("alignment_error_rate", ValueError, "possible has 0 sentences but sure has 1", [ONES], [ONES], []),
    ("alignment_error_rate", TypeError, r"predicted\[0\] holds 3, expected pairs", [ONES], [{3}]),
    ("alignment_error_rate", TypeError, r"predicted\[0\] is NoneType, expected pairs", [ONES], [None]),
    ("align", ValueError, "align: heads is 0, expected at least 1", np.zeros((0, 2, 3))),
    ("alignment_error_rate", TypeError, r"predicted\[0\] holds \[1\], expected pairs", [ONES], [[[1]]]),
    ("alignment_error_rate", TypeError, r"predicted\[0\] holds '01', expected pairs", [ONES], [["01"]]),
    ("alignment_error_rate", TypeError, r"a position of sure\[0\] is float", [[[0, 1.0]]], [ONES]),
    ("alignment_error_rate", ValueError, r"a position of sure\[0\] is -1, expected at least 0", [{(0, -1)}], [ONES]),
    ("alignment_error_rate", ValueError, "sure and predicted have 0 links, expected at least 1", [set()], [set()]),
)


INVARIANTS = {"metrics": [sacrebleu_has_the_same_bleu, sacrebleu_has_the_same_bleu_of_a_sentence, sacrebleu_has_the_same_chrf,
                          worked_examples_of_bleu, bleu_takes_any_tokens, worked_examples_of_the_alignment_error_rate,
                          error_rate_is_what_it_is_by_definition, links_are_the_largest_weights, wrong_input_is_refused_by_name]}

WRONG = [
    M("metrics._counts", "invariant", "BLEU: counts not clipped",
      "(found & allowed).total()", "sum(k for gram, k in found.items() if gram in allowed)"),
    M("metrics._counts", "invariant", "BLEU: clipped at the sum of the references",
      "allowed |= ngrams(reference, n)", "allowed += ngrams(reference, n)"),
    M("metrics._counts", "invariant", "BLEU: the last reference alone",
      "allowed |= ngrams(reference, n)", "allowed = ngrams(reference, n)"),
    M("metrics._bleu", "invariant", "BLEU: brevity penalty inverted",
      "math.exp(1 - r / c)", "math.exp(1 - c / max(r, 1))"),
    M("metrics._bleu", "invariant", "BLEU: too long is punished too",
      "min(1.0, math.exp(1 - r / c))", "math.exp(-abs(1 - r / c))"),
    M("metrics._bleu", "invariant", "BLEU: long hypotheses rewarded",
      "min(1.0, math.exp(1 - r / c))", "math.exp(1 - r / c)"),
    M("metrics._bleu", "invariant", "BLEU: no brevity penalty", "min(1.0, math.exp(1 - r / c))", "1.0"),
    M("metrics._bleu", "invariant", "BLEU: brevity penalty a sentence, then averaged",
      "0.0 if c == 0 else min(1.0, math.exp(1 - r / c)",
      "sum(min(1.0, math.exp(1 - y / x)) if x else 0.0 for x, y in zip(lengths, closest)) / len(lengths"),
    M("metrics._bleu", "invariant", "BLEU: precisions a sentence, then averaged",
      "        p[n] = match[n] / total[n]\n",
      "        p[n] = sum(m[n] / max(t[n], 1) for m, t in zip(matches, totals)) / len(totals)\n"),
    M("metrics._bleu", "invariant", "BLEU: arithmetic mean",
      "math.exp(sum(map(math.log, used)) / len(used)", "sum(used) / len(used"),
    M("metrics._bleu", "invariant", "BLEU: product without the root",
      "exp(sum(map(math.log, used)) / len(used)", "prod(used"),
    M("metrics._counts", "invariant", "BLEU: recall for precision",
      "total.append(found.total())", "total.append(allowed.total())"),
    M("metrics._counts", "invariant", "BLEU: the shortest reference for the closest",
      "key=lambda r: (abs(r - length), r)", "key=lambda r: r"),
    M("metrics._counts", "invariant", "BLEU: of two as close the longer",
      "key=lambda r: (abs(r - length), r)", "key=lambda r: (abs(r - length), -r)"),
    M("metrics._bleu", "invariant", "BLEU: an order of zero left out of the mean",
      "p[: sum(t > 0 for t in total)] if effective else p", "[x for x in p if x > 0]"),
    M("metrics._bleu", "invariant", "BLEU: short sentences pay for the orders they lack",
      "[: sum(t > 0 for t in total)] if effective else p", ""),
    M("metrics._bleu", "invariant", "BLEU: orders left out of a corpus too", " if effective else p", ""),
    M("metrics._bleu", "invariant", "BLEU: exp does not halve again",
      "p[n] = 0.5**zeros / total[n]", "p[n] = 0.5 / total[n]"),
    M("metrics._bleu", "invariant", "BLEU: add-k from the words on",
      'smoothing == "add-k" and n > 0', 'smoothing == "add-k"'),
    M("metrics._bleu", "invariant", "BLEU: add-k above the line alone",
      "match[n] + value, total[n] + value", "match[n] + value, total[n]"),
    M("metrics._smoothing", "invariant", "BLEU: value forgotten", "else value", "else SMOOTHING[smoothing]"),
    M("metrics._bleu", "invariant", "BLEU: smoothing where nothing matches",
      "range(len(p) if any(match) else 0)", "range(len(p))"),
    M("metrics.sentence_bleu", "invariant", "BLEU: a sentence unsmoothed by its own",
      "smoothing, value, effective=True", '"none", value, effective=True'),
    M("metrics.ngrams", "invariant", "BLEU: n-grams joined to a string",
      "Counter(tuple(tokens[i : i + n]) for", 'Counter("".join(map(str, tokens[i : i + n])) for'),
    M("metrics.ngrams", "invariant", "BLEU: the last n-gram lost",
      "range(len(tokens) - n + 1)", "range(len(tokens) - n)"),
    M("metrics._smoothing", "invariant", "BLEU: strings counted letter by letter",
      'references, Tokens, "a list of tokens")', 'references, object, "a list of tokens")'),
    M("metrics._corpus", "invariant", "empty references accepted", 'if not len(text) and name[0] == "r":', "if False:"),
    M("metrics.chrf", "invariant", "chrF: white space counted",
      'ngrams("".join(hypothesis.split()), n)', "ngrams(hypothesis, n)"),
    M("metrics._f_score", "invariant", "chrF: β not squared", "beta * beta) * P * R / (beta * ", "beta) * P * R / ("),
    M("metrics._f_score", "invariant", "chrF: precision weighted, not recall",
      "/ (beta * beta * P + R)", "/ (P + beta * beta * R)"),
    M("metrics.chrf", "invariant", "chrF: the first reference alone",
      "max(rows, key=lambda row: _f_score(row, beta))", "rows[0]"),
    M("metrics.chrf", "invariant", "chrF: sentences averaged",
      "_f_score([tuple(map(sum, zip(*column, strict=True))) for column in zip(*best, strict=True)], beta",
      "sum(_f_score(row, beta) for row in best) / len(best"),
    M("metrics._f_score", "invariant", "chrF: orders that one side lacks count as zero",
      "/ len(pairs) for side", "/ len(rows) for side"),
    M("metrics.chrf", "invariant", "chrF: n-grams of the hypothesis counted where the reference has none",
      "(f.total() if r else 0, r.total()", "(f.total(), r.total()"),
    M("metrics.alignment_error_rate", "invariant", "AER: sure and possible exchanged", "(A) + len(S)", "(A) + len(P)"),
    M("metrics.alignment_error_rate", "invariant", "AER: possible links do not count",
      "len(A & S) + len(A & P), size", "2 * len(A & S), size"),
    M("metrics.alignment_error_rate", "invariant", "AER: sure links do not count twice",
      "len(A & S) + len(A & P), size", "len(A & P), size"),
    M("metrics.alignment_error_rate", "invariant", "AER: the rate of what was right",
      "return 1 - hits / size", "return hits / size"),
    M("metrics.alignment_error_rate", "invariant", "AER: the last sentence alone",
      "hits + len(A & S) + len(A & P), size +", "len(A & S) + len(A & P),"),
    M("metrics.alignment_error_rate", "invariant", "AER: sure links that are not possible accepted",
      "if not S <= P:", "if False:"),
    M("metrics._links", "invariant", "AER: a link counts as often as it is named",
      "pairs = set()", "pairs = []", "pairs.add(tuple", "pairs.append(tuple"),
    M("metrics.align", "invariant", "align: a mean over no heads", '    at_least("align", 1, heads=math.prod(A.shape[:-2]))\n', ""),
    M("metrics._links", "invariant", "AER: nothing at all, in Python's words", "if not isinstance(links, Collection):", "if False:"),
    M("metrics._links", "invariant", "AER: a pair in a list is none", "tuple | list | Array", "tuple"),
    M("metrics.align", "invariant", "align: a target for each source", "argmax(axis=-1)", "argmax(axis=-2)"),
    M("metrics.align", "invariant", "align: links written (target, source)", "{(int(j), t) for", "{(t, int(j)) for"),
    M("metrics.align", "invariant", "align: the end mark linked", "if j < sources}", "}"),
    M("metrics.align", "invariant", "align: rows beyond the words linked",
      "enumerate(best[:targets])", "enumerate(best)"),
    M("metrics.align", "invariant", "align: the first head alone",
      "reshape(-1, n, m).mean(axis=0)", "reshape(-1, n, m)[0]"),
]
