"""Figures, printed matrices and the HTML pieces. Each check also runs on a wrong implementation and must refuse it."""

import contextlib
import hashlib
import importlib
import inspect
import io
import os
import re
import subprocess
import sys
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import byhand.show
import matplotlib
import matplotlib.pyplot as plt
import mutants
import numpy as np
import pytest
import torch
from byhand.io.run import KEYS, Run
from byhand.show import (
    COLOURS,
    AttentionExplorer,
    Stepper,
    format_matrix,
    house_style,
    matrices,
    matrix,
    print_errors,
    print_gap,
    print_matrix,
    run,
)
from byhand.show.page import least_width
from byhand.show.svg import svg
from matplotlib.colors import to_hex
from mutants import as_written
from rewritten import rewritten

HEATMAP = Path(byhand.show.__file__).with_name("heatmap.py")

WORDS = "The old man sat by the bank of the wide river".split()
HOSTILE = {  # a token, and what a reader sees of it
    "<script>alert(1)</script>": "<script>alert(1)</script>", "</details>": "</details>", "\"a\" & 'b'": "\"a\" & 'b'",
    "&amp;": "&amp;", "👩\u200d👩\u200d👧": "👩\u200d👩\u200d👧", "שלום": "שלום", "\u202ex": "\u202ex", " the": "␣the",
    "new york": "new york", "\n": "⏎", "\xa0": "␣", "": "∅", "a\x00b": "a\ufffdb"}


def weights(*shape, seed=0):
    S = np.random.default_rng(seed).normal(size=shape) * 1.5
    return np.exp(S) / np.exp(S).sum(-1, keepdims=True)


@pytest.fixture(autouse=True)
def clean_figures():
    with matplotlib.rc_context():
        yield
    plt.close("all")


# ---- reading HTML as a browser would -------------------------------------------------------------------------------

class Page(HTMLParser):
    """Collects what the checks ask for, and fails on a tag that is not closed where it must be."""

    ENDS_BY_ITSELF = ("td", "th", "tr")  # HTML closes these where the next begins or the table ends

    def __init__(self, html):
        super().__init__()
        self.open, self.classes, self.tables, self.addresses, self.shown = [], set(), [], [], []
        self.feed(html)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        if tag in self.ENDS_BY_ITSELF:
            while self.open and self.open[-1] in (self.ENDS_BY_ITSELF if tag == "tr" else ("td", "th")):
                self.open.pop()
        self.open.append(tag)
        attrs = dict(attrs)
        self.classes |= set(attrs.get("class", "").split())
        self.addresses += [attrs[k] for k in ("src", "href", "srcset", "action", "data") if k in attrs]
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        while self.open and self.open[-1] in self.ENDS_BY_ITSELF and tag not in self.ENDS_BY_ITSELF:
            self.open.pop()
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.shown.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data.strip("\n")


def html(make, tokens=WORDS, A=None, **options):
    A = weights(4, len(tokens), len(tokens)) if A is None else A
    return make(tokens, A, **options)._repr_html_()


# ---- checks of the explorer: each takes the class, right or wrong ---------------------------------------------------

def tags_close(make):
    Page(html(make))
    Page(html(make, list(HOSTILE)))


def classes_have_our_prefix(make):
    page = html(make)
    css = re.search(r"<style>(.*?)</style>", page, re.S)[1]
    named = Page(page).classes | set(re.findall(r'class:"([^"]*)"', page)) | set(re.findall(r"\.([a-zA-Z][\w-]*)", css))
    assert {"bh-box", "bh-key"} <= named
    assert all(name.startswith("bh-") for name in named - {"text_html"}), named  # text_html is the book's own wrapper


def nothing_comes_from_outside(make):
    page = html(make)
    assert not re.search(r"https?:|@import|url\(", page)
    assert not Page(page).addresses


def small(make):
    assert len(html(make).encode()) <= 12 * 1024


def every_weight_is_text(make):
    for A in (weights(3, 4, 5), weights(2, 4, 4)):
        queries, keys = list("abcd"), list("vwxyz")[:A.shape[2]]
        tables = Page(html(make, queries, A, keys=keys)).tables
        assert len(tables) == len(A)
        for head, table in zip(A, tables, strict=True):
            assert table[0] == ["", *keys]
            assert [row[0] for row in table[1:]] == queries
            got = np.array([[float(w) for w in row[1:]] for row in table[1:]])
            assert np.abs(got - head).max() <= 0.0005 + 1e-12


def masked_is_not_merely_small(make):
    A = np.array([[0.9999, 0.0001, 0.0], [0.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
    table = Page(html(make, list("abc"), A)).tables[0]
    assert [row[1:] for row in table[1:]] == [["1.000", ".000", "0"], ["0", "0", "0"], [".500", ".250", ".250"]]


def tokens_stay_text(make):
    page = html(make, list(HOSTILE), title="<b>title", heads=["<i>", "&", "x", "y"])
    parsed = Page(page)
    assert page.count("<script>") == 1 and page.count("</details>") == 1 and "<b>" not in page and "<i>" not in page
    assert parsed.tables[0][0][1:] == list(HOSTILE.values()) == [row[0] for row in parsed.tables[0][1:]]
    assert "<b>title" in "".join(parsed.shown)


def same_bytes_twice(make):
    first, second = make(WORDS, weights(4, 11, 11)), make(list(WORDS), weights(4, 11, 11).copy())
    assert first._repr_html_() == first._repr_html_() == second._repr_html_()
    assert repr(first) == repr(second) == "AttentionExplorer(11 queries, 11 keys, 4 heads)"


def same_bytes_in_another_process(make):
    code = f"import test_show; print(test_show.digest(test_show.{make.__name__}))"
    for seed in ("1", "2"):
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                             env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTHONHASHSEED": seed})
        assert run.stdout.strip() == digest(make)


def digest(make):
    return hashlib.sha256(html(make).encode()).hexdigest()


def id_follows_content(make):
    pages = [html(make), html(make, title="x"), html(make, query=1), html(make, A=weights(4, 11, 11, seed=1)),
             html(make, [*WORDS[:-1], "sea"])]
    ids = [re.search(r'<div class="bh-box" id="(bh-\w+)"', page)[1] for page in pages]
    assert len(set(ids)) == len(ids)
    assert all(f"[id='{name}']" in page for name, page in zip(ids, pages, strict=True))


def what_it_holds_is_named(make):
    captions = re.findall(r"<caption>(\w+) ", html(make, what="Mask"))
    assert captions == ["Mask"] * 4 and "<caption>Head " in html(make)


def luminance(colour):
    c = np.array([int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def contrast(a, b):
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


def mix(a, b, share):
    channels = ((int(a[i:i + 2], 16), int(b[i:i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(x * share + y * (1 - share)):02x}" for x, y in channels)


def shades_keep_the_text_legible(make):
    page = html(make)
    long = {k: [c if len(c) == 7 else "#" + "".join(2 * x for x in c[1:]) for c in pair] for k, *pair in re.findall(
        r"--bh-(\w+):light-dark\((#\w+),(#\w+)\)", page)}
    key = int(re.search(r"var\(--bh-hot\) calc\(var\(--bh-w\)\*(\d+)%\)", page)[1]) / 100
    chosen = int(re.search(r"var\(--bh-at\) (\d+)%", page)[1]) / 100
    for theme in (0, 1):
        ink, soft, bg, hot, at, bar = (long[k][theme] for k in ("ink", "soft", "bg", "hot", "at", "bar"))
        for share in np.linspace(0, 1, 11):
            assert contrast(ink, mix(hot, bg, key * share)) >= 4.5
        assert contrast(ink, mix(at, bg, chosen)) >= 4.5
        assert contrast(soft, bg) >= 4.5
        assert min(contrast(bar, bg), contrast(at, bg)) >= 3


CHECKS = [tags_close, classes_have_our_prefix, nothing_comes_from_outside, small, every_weight_is_text,
          masked_is_not_merely_small, tokens_stay_text, same_bytes_twice, same_bytes_in_another_process,
          id_follows_content, what_it_holds_is_named, shades_keep_the_text_legible]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_explorer(check):
    check(AttentionExplorer)


# ---- wrong explorers -------------------------------------------------------------------------------------------------

def altered(change):
    """A class whose HTML is the right one, changed."""
    class Wrong(AttentionExplorer):
        def _repr_html_(self):
            return change(self, super()._repr_html_())
    return Wrong


def retold(change):
    """A class that tells other weights."""
    class Wrong(AttentionExplorer):
        def __init__(self, tokens, A, **options):
            super().__init__(tokens, A, **options)
            self.weights = change(self.weights, A)
    return Wrong


def swap(old, new):
    def change(self, page):
        if old not in page:
            raise ValueError(f"the edit of {old!r} changes nothing")
        return page.replace(old, new)
    return altered(change)


class HashId(AttentionExplorer):
    """Its id depends on the process: Python's hash of a string is salted."""

    def _repr_html_(self):
        return super()._repr_html_().replace('id="bh-', f'id="bh-{hash(self.tokens) % 1000:03}')


COUNT = iter(range(10**6))

MUTANTS = {
    "a tag left open": (tags_close, swap("</details>", "")),
    "tokens unescaped break the page": (tags_close, altered(
        lambda self, page: page.replace("&lt;", "<").replace("&gt;", ">"))),
    "a class named row": (classes_have_our_prefix, swap('class="bh-scroll"', 'class="row"')),
    "a class of the script named bar": (classes_have_our_prefix, swap('class:"bh-bar"', 'class:"bar"')),
    "a style for every table": (classes_have_our_prefix, swap(".bh-box table", ".table")),
    "a font from elsewhere": (nothing_comes_from_outside, swap("<style>", "<style>@import 'https://example.org/a.css';")),
    "a picture from elsewhere": (nothing_comes_from_outside, swap("</details>", '</details><i src="//x.org/a"></i>')),
    "weights in full": (small, retold(lambda told, A: [[[f"{w:.17g}" for w in row] for row in head] for head in A])),
    "transposed": (every_weight_is_text, retold(
        lambda told, A: [[list(c) for c in zip(*h, strict=True)] if len(h) == len(h[0]) else h for h in told])),
    "heads in reverse": (every_weight_is_text, retold(lambda told, A: told[::-1])),
    "one head only": (every_weight_is_text, retold(lambda told, A: [told[0]] * len(told))),
    "two digits": (every_weight_is_text, retold(lambda told, A: [[[f"{w:.2f}" for w in r] for r in h] for h in A])),
    "a mask that looks like a small weight": (masked_is_not_merely_small, retold(
        lambda told, A: [[[".000" if w == "0" else w for w in r] for r in h] for h in told])),
    "a small weight that looks masked": (masked_is_not_merely_small, retold(
        lambda told, A: [[["0" if w == ".000" else w for w in r] for r in h] for h in told])),
    "tokens unescaped": (tokens_stay_text, altered(lambda self, page: page.replace("&lt;b", "<b"))),
    "tokens escaped twice": (tokens_stay_text, swap("&lt;", "&amp;lt;")),
    "a space that cannot be seen": (tokens_stay_text, swap("␣", " ")),
    "a counter in the id": (same_bytes_twice, altered(lambda self, page: page.replace("bh-box", f"bh-{next(COUNT)}"))),
    "id()": (same_bytes_twice, altered(lambda self, page: page.replace('id="', f'id="{id(self)}'))),
    "Head, whatever A holds": (what_it_holds_is_named, swap("<caption>Mask", "<caption>Head")),
    "hash()": (same_bytes_in_another_process, HashId),
    "one id for all": (id_follows_content, altered(lambda self, page: re.sub("bh-[0-9a-f]{12}", "bh-explorer", page))),
    "a script for another id": (id_follows_content, swap("[id='bh-", "[id='bh-x")),
    "shades in full": (shades_keep_the_text_legible, swap("*85%", "*100%")),
    "the dark theme forgotten": (shades_keep_the_text_legible, swap("(#1f2328,#e6e9ee)", "(#1f2328,#1f2328)")),
}


@pytest.mark.parametrize("check, wrong", MUTANTS.values(), ids=MUTANTS)
def test_a_wrong_explorer_is_refused(check, wrong):
    with pytest.raises((AssertionError, IndexError)):
        check(wrong)


def test_every_check_of_the_explorer_refuses_something():
    assert {check for check, _ in MUTANTS.values()} == set(CHECKS)


# ---- what the explorer refuses --------------------------------------------------------------------------------------

REFUSED = [
    ("too few tokens", dict(tokens=["a"]), "tokens has 1 names but A has 2 queries"),
    ("too many keys", dict(keys=["a", "b", "c", "d"]), "keys has 4 names but A has 3 keys"),
    ("keys needed", dict(keys=None), "keys has 2 names but A has 3 keys"),
    ("heads", dict(heads=["x", "y"]), "heads has 2 names but A has 1 heads"),
    ("one string", dict(tokens="ab"), "tokens is str, expected a list of strings"),
    ("numbers", dict(tokens=["a", 7]), "tokens[1] is int, expected str"),
    ("a list", dict(A=[[1.0]]), "A is list, expected a NumPy array"),
    ("integers", dict(A=np.eye(2, 3, dtype=int)), "A has dtype int64, expected floating point"),
    ("a vector", dict(A=np.ones(3) / 3), "A has 1 axes, expected at least 2"),
    ("four axes", dict(A=np.ones((1, 1, 2, 3)) / 3), "A has shape (1, 1, 2, 3), expected (n, m) or (H, n, m)"),
    ("nan", dict(A=np.array([[0.5, 0.5, 0], [np.nan, 0, 1]])), "A holds nan at index (1, 0), expected finite"),
    ("negative", dict(A=np.array([[0.5, 0.5, 0], [-0.5, 0.5, 1]])), "A holds -0.5 (head 0, row 1), expected weights"),
    ("columns", dict(A=np.ones((2, 3)) / 2), "A has a row that sums to 1.500 (head 0, row 0), expected 1, or 0"),
    ("scores", dict(A=np.array([[1.0, 0, 0], [0.2, 0.1, 0.1]])), "A has a row that sums to 0.400 (head 0, row 1)"),
    ("empty", dict(A=np.ones((2, 0))), "A has shape (2, 0), expected at least 1 entry"),
    ("huge", dict(A=np.ones((101, 100)) / 100), "A has 10100 weights, expected 1 to 10000"),
    ("a blank word", dict(what=" "), "what is ' ', expected a word for what A holds"),
    ("query", dict(query=2), "query is 2, expected less than 2"),
    ("query below", dict(query=-1), "query is -1, expected at least 0"),
]


@pytest.mark.parametrize("case, change, message", REFUSED, ids=[case for case, *_ in REFUSED])
def test_explorer_refuses_wrong_input(case, change, message):
    right = dict(tokens=["a", "b"], A=np.array([[0.5, 0.25, 0.25], [0, 0, 1]]), keys=["x", "y", "z"])
    init = as_written(AttentionExplorer.__init__)
    init(object.__new__(AttentionExplorer), **right)  # the case is refused for what it changes, not for the rest
    with pytest.raises((TypeError, ValueError), match=re.escape(f"AttentionExplorer: {message}")):
        init(object.__new__(AttentionExplorer), **{**right, **change})


def test_explorer_takes_float32_and_masked_rows():
    A = weights(2, 5, 5).astype(np.float32)
    A[0, 3] = 0
    page = Page(html(AttentionExplorer, list("abcde"), A))
    assert page.tables[0][4] == ["d", *"00000"]


# ---- the stepper -----------------------------------------------------------------------------------------------------

def test_stepper_tells_every_step_in_its_markup():
    steps = [("Scores <1>", "S & T\n  1.000"), ("Weights", "<b>")]
    page = Stepper(steps, title="By hand")._repr_html_()
    shown = "".join(Page(page).shown)
    assert all(text in shown for step in steps for text in step) and "By hand" in shown
    assert page == Stepper(list(steps), title="By hand")._repr_html_() != Stepper(steps[:1])._repr_html_()
    assert "<b>" not in page and not re.search("https?:", page)
    assert all(name.startswith("bh-") for name in Page(page).classes)
    assert repr(Stepper(steps)) == "Stepper(2 steps)"


@pytest.mark.parametrize("steps, message", [
    ([], "steps is empty, expected at least 1"),
    ([("a", "b"), ("c", 7)], "steps[1] is ('c', 7), expected a pair of strings"),
    ([("a", "b", "c")], "steps[0] is ('a', 'b', 'c'), expected a pair of strings"),
])
def test_stepper_refuses_wrong_input(steps, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(f"Stepper: {message}")):
        as_written(Stepper.__init__)(object.__new__(Stepper), steps)


# ---- text ------------------------------------------------------------------------------------------------------------

PRINTED = [
    (np.array([[1.0, -0.0004], [-12.3456, 0.5]]), "S (2, 2)\n    1.000    0.000\n  -12.346    0.500"),
    (np.array([-0.0, -np.inf, np.nan]), "S (3,)\n  0.000   -inf    nan"),
    (np.array([[True, False]]), "S (1, 2)\n  1  0"),
    (np.array([[-7], [10]]), "S (2, 1)\n  -7\n  10"),
    (np.array([[0.25]], dtype=np.float32), "S (1, 1)\n  0.250"),
]


@pytest.mark.parametrize("A, expected", PRINTED)
def test_print_matrix(A, expected, capsys):
    assert format_matrix("S", A) == expected
    print_matrix("S", A)
    assert capsys.readouterr().out == expected + "\n"


def test_naive_printing_is_refused_by_the_same_table():
    def naive(name, A):  # what one writes first: minus zero shows, and columns of other widths do not line up
        return f"{name} {A.shape}\n" + "\n".join("  " + "  ".join(f"{x:.3f}" for x in row) for row in np.atleast_2d(A))
    assert [naive("S", A) == expected for A, expected in PRINTED] == [False, False, False, False, True]


@pytest.mark.parametrize("A, message", [
    ([1.0], "A is list, expected a NumPy array"),
    (np.ones((2, 2, 2)), "A has shape (2, 2, 2), expected a vector or a matrix"),
    (np.ones((0, 2)), "A has shape (0, 2), expected a vector or a matrix with entries"),
])
def test_print_matrix_refuses_wrong_input(A, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(f"print_matrix: {message}")):
        as_written(format_matrix)("S", A)


def test_print_errors(capsys):
    print_errors({"X": 3.14e-11, "W_q": 0.0, "b": np.float64(9.9e-9)})
    assert capsys.readouterr().out == "relative error:  X 3e-11  W_q 0.0  b 1e-08\n"
    print_errors({f"blocks.{i}.attention.W_q": 2e-11 for i in range(5)}, what="slope")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("  blocks.") and max(map(len, lines)) <= 79
    assert " ".join(lines).split() == ["slope:"] + [w for i in range(5) for w in (f"blocks.{i}.attention.W_q", "2e-11")]
    print_errors({"x" * 90: 1.0}, below=2.0)
    assert capsys.readouterr().out == f"relative error:\n  {'x' * 90} 1e+00\n"


@pytest.mark.parametrize("errors, below, named", [
    ({"X": 1e-9, "b": 1e-8}, 1e-8, "b 1e-08"),
    ({"X": np.nan}, 1e-8, "X nan"), ({"X": np.inf, "b": 2.0}, 1.0, "X inf, b 2"),
])
def test_print_errors_insists(errors, below, named, capsys):
    with pytest.raises(AssertionError, match=re.escape(f"not below {below:.0e}: {named}")):
        print_errors(errors, below=below)
    assert "relative error:" in capsys.readouterr().out  # the numbers come first: one wants to see them


@pytest.mark.parametrize("errors, message", [([1e-9], "errors is list"), ({}, "errors is empty")])
def test_print_errors_refuses_wrong_input(errors, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(f"print_errors: {message}")):
        as_written(print_errors)(errors)


@pytest.mark.parametrize("a, b, said", [
    ([1.0, 2.0], [1.0, 2.0 + 3e-14], "3e-14"), ([1.0, np.inf], [1.0, np.inf], "0.0"),
    (torch.ones(2), np.ones(2), "0.0"),
    ([True, False], [True, False], "0.0"), ([2.0 - 3e-14], [2.0], "3e-14"),
])
def test_print_gap(a, b, said, capsys):
    print_gap("forward", a, b)
    assert capsys.readouterr().out == f"forward: largest gap {said}\n"


@pytest.mark.parametrize("a, b", [([1.0], [2.0]), ([0.0, 2.0], [0.0, 1.0]), ([np.nan], [np.nan]), ([np.inf], [-np.inf]),
                                  ([1.0], [1.0 + 1e-11]), ([1.0, -1.0], [1.0, 1.0])])
def test_print_gap_insists(a, b):
    with pytest.raises(AssertionError, match="forward: .* is not below 1e-12"):
        print_gap("forward", a, b)


def test_print_gap_does_not_broadcast():
    with pytest.raises(ValueError, match=re.escape("print_gap: forward: a has shape (2, 1), b (2,)")):
        print_gap("forward", np.ones((2, 1)), np.ones(2))


# ---- pictures of matrices: each check takes the function, right or wrong --------------------------------------------

def told(ax):
    """The numbers written in the squares, by (row, column)."""
    return {(int(t.get_position()[1]), int(t.get_position()[0])): t.get_text() for t in ax.texts}


def numbers_stand_in_their_squares(draw):
    A = np.array([[0.5, -0.25, -0.001], [np.inf, -np.inf, 3.0]])
    assert told(draw(A)) == {(0, 0): "0.50", (0, 1): "−0.25", (0, 2): "0.00", (1, 0): "∞", (1, 1): "−∞", (1, 2): "3.00"}
    assert told(draw(np.array([[True, False]]))) == {(0, 0): "1", (0, 1): "0"}
    assert told(draw(np.array([[3], [-4]]))) == {(0, 0): "3", (1, 0): "−4"}
    assert told(draw(A[:, :1], fmt=".0e"))[0, 0] == "5e−01"


def labels_name_rows_and_columns(draw):
    ax = draw(np.ones((2, 3)), rows=["a", "b"], columns=["x", "y", "z"], title="T")
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"] and list(ax.get_yticks()) == [0, 1]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["x", "y", "z"] and list(ax.get_xticks()) == [0, 1, 2]
    assert ax.get_title() == "T"
    assert ax.get_ylim() == (1.5, -0.5)  # the first row is on top


def numbers_are_legible(draw):
    for signed in (False, True):
        ax = draw(np.linspace(-1, 1, 49).reshape(7, 7), signed=signed)
        squares = ax.collections[0]
        colours = squares.to_rgba(squares.get_array())
        for text in ax.texts:
            x, y = text.get_position()
            assert contrast(to_hex(text.get_color()), to_hex(colours[int(y), int(x)])) >= 4.5


def zero_is_the_middle_of_a_signed_scale(draw):
    squares = draw(np.array([[-1.0, 4.0]]), signed=True).collections[0]
    assert squares.get_clim() == (-4, 4)
    assert draw(np.array([[-5.0, 4.0]]), signed=True).collections[0].get_clim() == (-5, 5)
    assert draw(np.array([[0.2, 0.4]])).collections[0].get_clim() == (0, 0.4)
    assert draw(np.array([[0.2, 0.4]]), limits=(0, 1)).collections[0].get_clim() == (0, 1)


def a_large_matrix_has_a_bar(draw):
    large, small = draw(np.ones((20, 20))), draw(np.ones((3, 3)))
    assert not large.texts and len(large.child_axes) == 1
    assert len(small.texts) == 9 and not small.child_axes
    assert not draw(np.ones((3, 3)), numbers=False).texts
    without = draw(np.ones((20, 20)), bar=False)
    assert not without.texts and not without.child_axes
    assert without.figure.get_figwidth() < large.figure.get_figwidth()


PICTURE_CHECKS = [numbers_stand_in_their_squares, labels_name_rows_and_columns, numbers_are_legible,
                  zero_is_the_middle_of_a_signed_scale, a_large_matrix_has_a_bar]


@pytest.mark.parametrize("check", PICTURE_CHECKS, ids=lambda check: check.__name__)
def test_matrix(check):
    check(matrix)


def drawn_then(change):
    def wrong(A, **options):
        ax = matrix(A, **options)
        change(ax)
        return ax
    return wrong


PICTURE_MUTANTS = {
    "transposed": (numbers_stand_in_their_squares, lambda A, **o: matrix(A.T.copy(), **o)),
    "upside down": (labels_name_rows_and_columns, drawn_then(lambda ax: ax.invert_yaxis())),
    "labels on the wrong axis": (labels_name_rows_and_columns,
                                 lambda A, rows, columns, **o: matrix(A.T.copy(), rows=columns, columns=rows, **o)),
    "always black": (numbers_are_legible, drawn_then(lambda ax: [t.set_color("black") for t in ax.texts])),
    "always white": (numbers_are_legible, drawn_then(lambda ax: [t.set_color("white") for t in ax.texts])),
    "scale from the least to the largest": (zero_is_the_middle_of_a_signed_scale,
                                            drawn_then(lambda ax: ax.collections[0].set_clim(-1, 4))),
    "signs ignored": (zero_is_the_middle_of_a_signed_scale, lambda A, signed=False, **o: matrix(A, **o)),
    "numbers always": (a_large_matrix_has_a_bar, lambda A, **o: matrix(A, **{**o, "numbers": True})),
    "numbers never": (a_large_matrix_has_a_bar, lambda A, **o: matrix(A, **{**o, "numbers": False})),
    "bar always": (a_large_matrix_has_a_bar, lambda A, bar=True, **o: matrix(A, **o)),
    "numbers without a bar": (a_large_matrix_has_a_bar,
                              lambda A, bar=True, **o: matrix(A, **{"numbers": not bar or None, **o, "bar": bar})),
    "room for a bar always": (a_large_matrix_has_a_bar, drawn_then(lambda ax: ax.figure.set_figwidth(7.0))),
}


@pytest.mark.parametrize("check, wrong", PICTURE_MUTANTS.values(), ids=PICTURE_MUTANTS)
def test_a_wrong_picture_is_refused(check, wrong):
    with pytest.raises(AssertionError):
        check(wrong)


def test_matrix_draws_into_given_axes():
    _, (left, right) = plt.subplots(1, 2)
    assert matrix(np.ones((2, 2)), ax=right) is right
    assert len(right.texts) == 4 and not left.texts


@pytest.mark.parametrize("A, options, message", [
    ([[1.0]], {}, "A is list, expected a NumPy array"),
    (np.ones(3), {}, "A has shape (3,), expected two axes with entries"),
    (np.ones((2, 0)), {}, "A has shape (2, 0), expected two axes with entries"),
    (np.ones((2, 3)), {"rows": ["a"]}, "rows has 1 labels but A has 2 rows"),
    (np.ones((2, 3)), {"columns": ["a", "b"]}, "columns has 2 labels but A has 3 columns"),
])
def test_matrix_refuses_wrong_input(A, options, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(f"matrix: {message}")):
        as_written(matrix)(A, **options)


def side(ax):
    """The side of a square in inches, across and down."""
    box, (wide, high) = ax.get_position(), ax.figure.get_size_inches()
    return box.width * wide / (ax.get_xlim()[1] + 0.5), box.height * high / (ax.get_ylim()[0] + 0.5)


def test_a_part_of_a_formula_takes_what_matrix_takes():
    """But for the axes, which are one for all."""
    heatmap = sys.modules[matrix.__module__]
    assert inspect.signature(matrix).parameters.keys() - {"A", "ax"} == heatmap.KEYWORDS


def test_matrices_stand_in_a_formula_with_squares_of_one_size():
    Q, K = np.ones((4, 3), int), np.ones((4, 3), int)
    tokens = list("abcd")
    axes = matrices([("Q", Q), "·", ("Kᵀ", K.T), "=", ("S", Q @ K.T, {"signed": True})], rows=tokens)
    assert [ax.get_title() for ax in axes] == ["Q", "Kᵀ", "S"]
    sides = np.array([side(ax) for ax in axes])
    assert np.ptp(sides) < 1e-9
    assert [t.get_text() for t in axes[0].figure.texts if t.get_text()] == ["·", "="]
    assert axes[0].figure.get_size_inches()[0] <= 7.3
    middles = [ax.get_position().y0 + ax.get_position().height / 2 for ax in axes]
    assert np.ptp(middles) < 1e-9  # on one line
    assert [len(ax.get_yticklabels()) for ax in axes] == [4, 0, 0]
    assert axes[2].collections[0].get_clim()[0] < 0 <= axes[0].collections[0].get_clim()[0]


def test_a_formula_too_long_to_read_is_broken_into_lines():
    heads = [(f"head {h}", A) for h, A in enumerate(weights(4, 11, 11))]
    axes = matrices(heads, rows=WORDS, columns=WORDS, limits=(0, 1), numbers=False)
    tops = [round(ax.get_position().y1, 6) for ax in axes]
    assert tops[0] == tops[1] > tops[2] == tops[3]
    assert axes[0].figure.get_size_inches()[0] <= 7.3
    assert [len(ax.get_yticklabels()) for ax in axes] == [11, 0, 11, 0]
    short = matrices([(title, A[:3, :3]) for title, A in heads])
    assert len({round(ax.get_position().y1, 6) for ax in short}) == 1


# A formula, and the side of its squares where a phone shows it whole, or cannot, without smaller ones
ON_A_PHONE = [
    ([("W", np.ones((8, 12)), {"rows": ["Y00"] * 8, "columns": ["X00"] * 12, "fmt": ".1f", "numbers": False})], None),
    ([("A", np.ones((5, 5))), "→", ("B", np.ones((5, 5)), {"rows": ["q"] * 5, "columns": ["q"] * 5})], None),
    ([("prediction", np.ones((5, 1), int)), "−", ("y", np.ones((1, 5), int)), "=", ("z", np.ones((5, 5), int))], None),
    ([("two lines", np.ones((2, 7), int)), "·", ("A", np.ones((2, 6), int)), "=", ("B", np.ones((2, 4), int))], None),
    ([("one more line", np.ones((2, 10), int)), "·", ("A", -np.ones((2, 4)))], None),
    ([("small", np.ones((3, 3)))], 0.52),
    ([("numbers would get too small", -np.ones((5, 12)), {"rows": ["a"] * 5})], 0.52),
    ([("as wide as can be", -np.ones((3, 14))), ("B", np.ones((3, 1)))], 0.443),
]


def formulas_fit_a_phone(heatmap):
    for parts, expected in ON_A_PHONE:
        axes = heatmap.matrices(parts)
        if expected:
            assert side(axes[0])[0] == pytest.approx(expected, abs=1e-3), parts
        else:
            assert 330 < least_width(svg(axes[0].figure)) <= 390, parts


def test_a_formula_fits_a_phone_where_its_letters_stay_readable():
    formulas_fit_a_phone(rewritten(HEATMAP))


@pytest.mark.parametrize(("old", "new"), [
    ("if fits := _on_a_phone(lines, side):", "if fits := side:"), ("read = read or (lines", "read = (lines"),
    ("if _smallest(lines, smaller) < smallest:", "if False:"), ("np.linspace(side,", "np.linspace(1,"),
    ("sizes += [_label_points(side)]", "sizes += []"), ("max(_width(line, smaller)", "min(_width(line, smaller)"),
    ("sizes += [_points(A, options[\"fmt\"], side)]", "sizes += []"), ("    return None\n", "    return side\n"),
    ("MARGIN + _fixed(line) + side", "MARGIN + side"), ("max(before, 0)", "0"),
    ("for line in lines for picture in line", "for picture in lines[0][:1]"),
], ids=["as large as ever", "as many lines as can be", "letters shrink", "squares grow", "labels do not count",
        "the shortest line", "numbers do not count", "no more lines", "only the squares", "titles do not count",
        "the first matrix"])
def test_a_formula_that_does_not_is_noticed(old, new):
    wrong = rewritten(HEATMAP, old, new)
    with pytest.raises(AssertionError):
        formulas_fit_a_phone(wrong)


@pytest.mark.parametrize("parts, error, message", [
    ([], ValueError, "parts holds no matrix"),
    (["="], ValueError, "parts holds no matrix"),
    ([np.ones((2, 2))], TypeError, "parts holds ndarray, expected an operator, (title, A)"),
    ([("A",)], TypeError, "parts holds tuple, expected an operator, (title, A)"),
])
def test_matrices_refuses_wrong_input(parts, error, message):
    with pytest.raises(error, match=re.escape(f"matrices: {message}")):
        as_written(matrices)(parts)


# ---- any text of a reader's is shown, and is only text --------------------------------------------------------------

ODD = ["$5 and $6", r"$\frac$", "$_$", r"\$5", r"$\alpha$", "half a pair: \ud800", "a\x00b", "{}%s", "plain"]


def seen(odd):
    return odd.replace("\ud800", "\ufffd").replace("\x00", "\ufffd")


def written(draw):
    """What stands in a figure, once it has been drawn."""
    figure = draw().figure
    figure.savefig(io.BytesIO())
    texts = [t for t in figure.findobj(matplotlib.text.Text) if t.get_text()]
    assert not [t.get_text() for t in texts if "$" in t.get_text() and t.get_parse_math()]
    return [t.get_text() for t in texts]


def stored(piece):
    page = piece._repr_html_()
    assert not re.search("[\ud800-\udfff]", page)
    return ["".join(Page(page).shown)]


# What each public name of byhand.show does with a text, wherever it takes one.
TEXTS = {
    "matrix": lambda show, t: written(lambda: show.matrix(np.ones((1, 1)), rows=[t], columns=[t], title=t)),
    "matrices": lambda show, t: written(lambda: show.matrices(
        [(t, np.ones((1, 1))), t, (t, np.ones((1, 1)), {"columns": [t]})], rows=[t])[0]),
    "format_matrix": lambda show, t: [show.format_matrix(t, np.ones(1)).encode().decode()],
    "print_matrix": lambda show, t: printed(lambda: show.print_matrix(t, np.ones(1))),
    "print_errors": lambda show, t: printed(lambda: show.print_errors({t: 1e-9}, what=t)),
    "print_gap": lambda show, t: printed(lambda: show.print_gap(t, np.ones(1), np.ones(1))),
    "Stepper": lambda show, t: stored(show.Stepper([(t, t)], title=t)),
    "AttentionExplorer": lambda show, t: stored(show.AttentionExplorer([t], np.ones((1, 1)), title=t, heads=[t])),
}
RUN = Run({}, {}, {}, {name: np.ones(2 if name in ("loss", "norm", "lr") else 0) for name in KEYS})
TEXTS["run"] = lambda show, t: written(lambda: show.run(RUN, names=[t]))
TIMES = {"run": 1, "matrix": 3,
         "matrices": 5, "format_matrix": 1, "print_matrix": 1, "print_errors": 2,
         "print_gap": 1, "Stepper": 3, "AttentionExplorer": 4}


def printed(call):
    file = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(file):
        call()
    file.flush()
    return [file.buffer.getvalue().decode()]


def takes_text(name):
    signature = inspect.signature(inspect.unwrap(getattr(byhand.show, name)))
    return any(re.search(r"\bstr\b|Labels", str(p.annotation)) for p in signature.parameters.values())


def shows_any_text(show, name):
    for odd in ODD:
        assert sum(text.count(seen(odd)) for text in TEXTS[name](show, odd)) >= TIMES[name], odd


def test_everything_that_takes_a_text_is_in_the_table():
    assert {name for name in byhand.show.__all__ if callable(getattr(byhand.show, name)) and takes_text(name)} == set(
        TEXTS) == set(TIMES)


@pytest.mark.parametrize("name", TEXTS)
def test_any_text_is_shown_as_it_is(name):
    shows_any_text(byhand.show, name)


@pytest.mark.parametrize("name, module, wrong", [
    ("matrix", "heatmap", {"AS_TEXT": {}}),
    ("matrices", "heatmap", {"AS_TEXT": {}}),
    ("matrix", "heatmap", {"plain": str}),
    ("format_matrix", "text", {"plain": str}),
    ("print_matrix", "text", {"plain": str}),
    ("print_errors", "text", {"plain": str}),
    ("print_gap", "text", {"plain": str}),
    ("Stepper", "stepper", {"markup": escape}),
    ("AttentionExplorer", "explorer", {"markup": escape}),
    ("AttentionExplorer", "widget", {"plain": str}),
])
def test_text_taken_for_more_is_noticed(name, module, wrong, monkeypatch):
    for variable, value in wrong.items():
        monkeypatch.setattr(importlib.import_module(f"byhand.show.{module}"), variable, value)
    with pytest.raises((AssertionError, ValueError, TypeError)):  # an UnicodeEncodeError is a ValueError
        shows_any_text(byhand.show, name)


# ---- the look --------------------------------------------------------------------------------------------------------

def saved(**options):
    figure, ax = plt.subplots()
    _ = ax.plot([1, 2], label="a")
    _ = ax.set(title="T", xlabel="x", ylabel="y")
    file = io.BytesIO()
    figure.savefig(file, **options)
    return file.getvalue()


def test_house_style_gives_the_same_bytes_and_no_date():
    house_style()
    png = saved(format="png")
    assert png == saved(format="png")
    assert not re.search(rb"tIME|[Dd]ate|Creation", png)
    assert int.from_bytes(png[16:20], "big") == 700  # the column of the book
    svg = dict(format="svg", metadata={"Date": None})
    assert saved(**svg) == saved(**svg)
    matplotlib.rcdefaults()  # without the style, the ids of an SVG are random: the line above can fail
    assert saved(**svg) != saved(**svg)


def test_curves_stand_out_and_differ():
    house_style()
    cycle = [c["color"] for c in plt.rcParams["axes.prop_cycle"]]
    assert len(set(cycle)) == 7 and set(cycle) <= set(COLOURS.values())
    assert min(contrast(c, "#ffffff") for c in cycle[:4]) >= 3
    assert contrast(COLOURS["yellow"], "#ffffff") < 3  # why yellow is not among them
    assert plt.rcParams["figure.facecolor"] == plt.rcParams["savefig.facecolor"] == "white"


# ---- a run -----------------------------------------------------------------------------------------------------------

def trained(steps=40, every=10, seed=0):
    rng, t = np.random.default_rng(seed), np.arange(1, steps + 1)
    history = {"loss": 3 / t + rng.random(steps), "norm": rng.random(steps), "lr": t / steps,
               "evaluated_at": t[every - 1::every], "evaluation": np.abs(t - 22.0)[every - 1::every]}
    return Run({}, {}, {}, history)


def lines_show_what_was_measured(draw):
    one = trained()
    panels = {ax.get_ylabel(): ax for ax in draw(one).axes}
    assert list(panels) == ["loss", "norm of the gradient", "evaluation", "learning rate"]
    for label, name in (("loss", "loss"), ("norm of the gradient", "norm"), ("learning rate", "lr")):
        x, y = panels[label].lines[0].get_data()
        assert np.array_equal(x, np.arange(1, 41)) and np.allclose(y, one.history[name], atol=1e-15)
    curve, best = panels["evaluation"].lines
    assert np.array_equal(curve.get_data(), [one.history["evaluated_at"], one.history["evaluation"]])
    assert np.array_equal(best.get_data(), [[20], [2.0]])
    assert all(panels[name].get_xlabel() == "step" for name in ("evaluation", "learning rate"))


def means_end_at_their_step(draw):
    one = trained()
    loss, norm, _, lr = draw(one, mean_of=5).axes
    x, y = loss.lines[0].get_data()
    assert x[0] == 5 and x[-1] == 40 and np.isclose(y[0], one.history["loss"][:5].mean())
    assert np.isclose(norm.lines[0].get_ydata()[-1], one.history["norm"][-5:].mean())
    assert np.array_equal(lr.lines[0].get_ydata(), one.history["lr"])


def runs_are_told_apart(draw):
    """By colour and by dashes, under their names, on the same axes."""
    figure = draw([trained(), trained(30, seed=1), trained(20, 50, seed=2)], ["a", "b", "c"])
    loss, _, evaluation, _ = figure.axes
    assert [line.get_label() for line in loss.lines] == ["a", "b", "c"] == [
        text.get_text() for text in loss.get_legend().get_texts()]
    assert len({line.get_color() for line in loss.lines}) == len({line.get_linestyle() for line in loss.lines}) == 3
    assert [line.get_color() for line in evaluation.lines] == [loss.lines[i].get_color() for i in (0, 0, 1, 1)]
    assert len(loss.lines[1].get_xdata()) == 30


def a_run_without_evaluations_has_three_panels(draw):
    figure = draw(trained(8))
    assert [ax.get_ylabel() for ax in figure.axes] == ["loss", "norm of the gradient", "learning rate"]
    assert figure.axes[0].get_legend() is None and figure.axes[0].get_xlabel() == "step"


RUN_CHECKS = [lines_show_what_was_measured, means_end_at_their_step, runs_are_told_apart,
              a_run_without_evaluations_has_three_panels]
RUN_MUTANTS = {  # a wrong version → the check that refuses it, and its edit
    "steps from 0": (lines_show_what_was_measured, "np.arange(k, k + len(y))", "np.arange(k - 1, k - 1 + len(y))"),
    "the last for the best": (lines_show_what_was_measured, "best = score.argmin()", "best = len(score) - 1"),
    "the highest for the best": (lines_show_what_was_measured, "score.argmin()", "score.argmax()"),
    "norm for loss": (lines_show_what_was_measured, "r.history[name], np.full", 'r.history["norm"], np.full'),
    "means that begin at their step": (means_end_at_their_step, "np.arange(k, k + len(y))", "np.arange(1, 1 + len(y))"),
    "a mean of rates": (means_end_at_their_step, '("lr", 1)', '("lr", mean_of)'),
    "one line style": (runs_are_told_apart, "STYLES[i % len(STYLES)]", "STYLES[0]"),
    "one colour": (runs_are_told_apart, '"color": f"C{i}"', '"color": "C0"'),
    "no legend": (runs_are_told_apart, "if names:", "if False:"),
    "an empty panel": (a_run_without_evaluations_has_three_panels,
                       '"evaluation" if evaluated else "loss"', '"evaluation"'),
}


@pytest.mark.parametrize("check", RUN_CHECKS, ids=lambda check: check.__name__)
def test_run(check):
    check(run)


@pytest.mark.parametrize("check, old, new", RUN_MUTANTS.values(), ids=RUN_MUTANTS)
def test_a_wrong_drawing_of_a_run_is_refused(check, old, new):
    wrong = mutants.build("show.run.run", old, new)
    with pytest.raises((AssertionError, AttributeError, ValueError)):
        check(wrong.run)


@pytest.mark.parametrize("arguments, message", [
    ((3,), "runs is int, expected a Run or a list of Runs"), (([],), "runs is list, expected a Run or a list of Runs"),
    (([trained(), 1],), "runs is list, expected a Run or a list of Runs"),
    ((Run({}, {}, {}, {"loss": [1.0]}),), "a history has loss, expected loss, norm, lr"),
    ((trained(), "a"), "names is 'a', expected 1 names"), ((trained(), ["a", "b"]), "expected 1 names"),
    ((trained(8), None, 9), "mean_of is 9, expected a whole number from 1 to 8"),
    ((trained(8), None, 2.0), "mean_of is 2.0, expected a whole number"),
])
def test_run_refuses_wrong_input(arguments, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        inspect.unwrap(run)(*arguments)
