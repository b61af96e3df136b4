"""The front page: the model in it is the library's, its words were printed by code, and its first screen has it all."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from byhand.config import ModelConfig
from byhand.grade import check
from byhand.np.model import decoder_forward

ROOT = Path(__file__).resolve().parents[1]
STATIC = ROOT / "_ext" / "static"
sys.path.insert(0, str(ROOT / "_ext"))
import course_front  # noqa: E402
import course_weight  # noqa: E402

INDEX = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
SCRIPT = (STATIC / "front.js").read_text(encoding="utf-8")
DIGITS = [3, 1, 4, 1, 5, 9, 2, 6]


@pytest.fixture(scope="module")
def sorter():
    return course_front.load()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return [rng.integers(12, size=rng.integers(1, 18)).tolist() for _ in range(40)]


def opened(chrome, sorter, script=SCRIPT, digits=DIGITS):
    """The picture in an otherwise empty page, with this script."""
    page = chrome.new_page()
    page.set_content(f"<html><body>{course_front.living(sorter, digits, len(sorter['moments']) - 1)}</body></html>")
    page.evaluate((STATIC / "sorter.js").read_text(encoding="utf-8"))
    page.evaluate(script)
    return page


def largest_gap(page, sorter, rows) -> float:
    """Between the script's logits and weights and those of the NumPy library, over all rows and moments."""
    config, gap = ModelConfig(**sorter["config"]), 0.0
    for k, moment in enumerate(sorter["moments"]):
        found = page.evaluate("([k, rows]) => rows.map((ids) => window.byhandSorter.run(k, ids))", [k, rows])
        for ids, theirs in zip(rows, found, strict=True):
            logits, cache = decoder_forward(np.array([ids]), moment["params"], config)
            gap = max(gap, np.abs(logits[0] - theirs["logits"]).max())
            for block, A in zip(cache.stack.blocks, theirs["maps"], strict=True):
                gap = max(gap, np.abs(block.attention.inner.inner.attention.A[0, 0] - A).max())
    return float(gap)


@pytest.mark.browser
def test_the_model_in_the_page_is_the_library(chrome, sorter, rows):
    page = opened(chrome, sorter)
    assert largest_gap(page, sorter, rows) < 1e-9
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize(("old", "new"), [
    ("/ Math.sqrt(d)", ""), ("j > i ?", "j > i + 1 ?"), ("gamma[j] * a / s", "a / s"), ("byte > 127", "byte > 999"),
    ("Math.max(a, 0)", "Math.abs(a)"), ("x.length + eps", "(x.length - 1) + eps"), ("-mean", ""),
])
def test_a_wrong_model_is_noticed(chrome, sorter, rows, old, new):
    if old == "-mean":
        old, new = "a - sum(x) / x.length", "a"
    assert SCRIPT.count(old) == 1
    page = opened(chrome, sorter, SCRIPT.replace(old, new))
    assert not largest_gap(page, sorter, rows[:8]) < 1e-5
    page.close()


@pytest.mark.browser
def test_what_is_typed_is_drawn_as_the_library_would_draw_it(chrome, sorter):
    """The page without a script, and what the script writes, are the same to the last letter."""
    page = opened(chrome, sorter)
    for k, moment in enumerate(sorter["moments"]):
        page.check(f"input[name=sorter-moment][value='{k}']", force=True)
        for typed in ("729146", "0", "99999999", "2 5x1"):
            page.fill("#sorter-digits", typed)
            digits = [int(c) for c in typed if c.isdigit()]
            said, stopped, looked = course_front.look(moment["params"], sorter["config"], digits)
            drawn = re.sub(r"(?s)<caption>.*?</caption>", "", page.inner_html(".sorter-map"))
            assert drawn == course_front.table(digits, said, looked)
            assert page.inner_text("#sorter-verdict") == course_front.verdict(digits, said, stopped)
            assert page.input_value("#sorter-digits") == "".join(map(str, digits))
    page.fill("#sorter-digits", "")
    assert page.inner_text("#sorter-verdict") == "Type some digits"
    page.fill("#sorter-digits", "123456789")
    assert page.input_value("#sorter-digits") == "12345678"
    page.click("#sorter-other")
    assert re.fullmatch(r"\d{6,8}", page.input_value("#sorter-digits"))
    page.close()


def test_the_trained_model_sorts_and_the_untrained_does_not(sorter):
    rights = [moment["right"] for moment in sorter["moments"]]
    assert rights == sorted(rights) and rights[0] < 0.05 and rights[-1] > 0.99
    first, last = ([course_front.look(m["params"], sorter["config"], q)[0] == sorted(q)
                    for q in ([7, 2, 9, 1, 4, 6], [0, 0, 5], [8], DIGITS, [9, 8, 7, 6, 5, 4, 3, 2])]
                   for m in (sorter["moments"][0], sorter["moments"][-1]))
    assert not any(first) and all(last)


def test_the_equations_that_the_script_names_are_given():
    given = {tag for path in (ROOT / "book").glob("*.ipynb")
             for tag in re.findall(r"\\\\tag\{([\d.]+)\}", path.read_text(encoding="utf-8"))}
    named = set(re.findall(r"\((\d+\.\d+)\)", SCRIPT))
    assert len(named) > 10 and named <= given


# What the page quotes

def test_the_mistake_that_the_page_shows_is_called_that(capsys):
    code = re.search(r"```python\n(def softmax_vjp.*?)\n\n\ncheck\(\"(.*?)\", softmax_vjp\)\n```", INDEX, flags=re.S)
    shown = re.search(r"front-checked\n\n(.*?)\n```", INDEX, flags=re.S)[1]
    scope: dict = {}
    exec(code[1], scope)
    said = str(check(code[2], scope["softmax_vjp"]))
    assert said.startswith(shown + "\n") and "Only the diagonal" in shown
    exec(code[1].replace("A * (1 - A) * dA", "A * dA"), scope)
    assert not str(check(code[2], scope["softmax_vjp"])).startswith(shown)


def test_lines_of_an_output_are_those_that_are_there():
    text = "one\ntwo\nthree\n"
    assert course_front.chosen(text, "") == "one\ntwo\nthree" and course_front.chosen(text, "2") == "two"
    assert course_front.chosen(text, "2-3") == "two\nthree"
    for lines in ("4", "0-1", "3-2", "2-9"):
        with pytest.raises(ValueError, match=f"lines {lines}"):
            course_front.chosen(text, lines)


def test_the_first_lines_of_the_page_lead_on():
    first, _, rest = INDEX.partition("\n## ")
    assert re.findall(r"\{button-ref\} (\S+)", first) == ["start", "04_attention"] and "{living}" in first
    assert len(re.findall(r"\{stored\}", rest)) >= 5
    assert "```{literalinclude} ../README.md" in rest  # to set it up is as the README says


# Links of a page that moves one level up, and icons

@pytest.mark.parametrize(("link", "there"), [
    ("start.html", "book/start.html"), ("../_static/a.css?v=1", "_static/a.css?v=1"), ("#map", "#map"),
    ("../search.html", "search.html"), ("index.html#top", "book/index.html#top"), ("https://a.org/b", "https://a.org/b"),
    ("mailto:a@b.org", "mailto:a@b.org"), ("/a", "/a"), ("exercises/04.html", "book/exercises/04.html"),
    ("data:image/png;base64,aa", "data:image/png;base64,aa"), ("?q=1", "?q=1"),
])
def test_a_link_leads_from_the_root_to_the_same_place(link, there):
    moved = course_weight.at_root(f'<html data-content_root="../"><a href="{link}"></a><img src="{link}">', "book")
    assert moved == f'<html data-content_root="./"><a href="{there}"></a><img src="{there}">'


def test_icons_are_those_that_are_used():
    css = ('.fa-bars:before,.fa-navicon:before{content:"\\f0c9"}.fa-sun:before{content:"\\f185"}'
           '.fa-bell::before{content:"\\f0f3"}html{--tick:"\\f00c"}')
    assert course_weight.glyphs(css, {"fa-bars", "fa-bell", "fa-solid"}) == ["\uf00c", "\uf0c9", "\uf0f3"]
    assert course_weight.prune(css, {"fa-navicon"}) == (
        '.fa-bars:before,.fa-navicon:before{content:"\\f0c9"}.fa-bell::before{content:"\\f0f3"}html{--tick:"\\f00c"}')
