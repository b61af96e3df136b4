# ruff: noqa: E501
"""Symbols of formulas and their names in code: what is lit is written alike, both ways, by pointer, tap and key."""

import re
from pathlib import Path

import pytest
from browser import built_book, must_tap, serve, visit, visitor

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = (ROOT / "_ext" / "static" / "symbols.js").read_text(encoding="utf-8")
PAGE = "book/04_attention.html"
LIT = "[[...document.querySelectorAll('span.alike')].map((e) => e.textContent), [...document.querySelectorAll('g.alike')].map((e) => " \
      "[...e.parentElement.querySelectorAll('[data-c]')].map((c) => String.fromCodePoint(parseInt(c.dataset.c, 16)).normalize('NFKC')).join(''))]"
SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# By formula: all names of its lines that are lit, and all symbols, where the number in the line's comment has the focus
DUE = {"4.3": ({"Q", "K", "V", "X", "W_q", "W_k", "W_v", "b_q"}, "K Q V Wk Wq Wv X X X b⊤q"), "4.28": ({"dQ", "dS", "K"}, "K Q S d d"),
       "4.25": ({"dV", "A", "dO"}, "A O V d d"), "4.34": ({"dW_q", "q", "dW_k", "k"}, "Wk Wq d d k k k q q q"), "4.36": (set(), "")}


@pytest.fixture(scope="module")
def site():
    with serve(built_book(PAGE)) as site:
        yield site


def opened(page, site, script=SCRIPT):
    page.route("**/symbols.js*", lambda route: route.fulfill(body=script, content_type="text/javascript"))
    visit(page, f"{site}/{PAGE}")
    page.evaluate("document.querySelectorAll('details:has(.eq-line)').forEach((e) => { e.open = true; })")


def lit(page):
    page.evaluate(SETTLED)
    return page.evaluate(LIT)


def by_key(page, tag):
    page.keyboard.press("Shift")
    page.locator(f'.eq-line a.eq[href="#eq-{tag.replace(".", "-")}"]').last.evaluate("(a) => a.focus({focusVisible: true})")
    code, drawn = lit(page)
    return {x.strip("\"'") for x in code}, " ".join(sorted(drawn))


def all_by_key(page):
    return {tag: by_key(page, tag) for tag in DUE}


@pytest.mark.browser
def test_by_key_a_line_lights_its_symbols(chrome, site):
    with visitor(chrome, site) as page:
        opened(page, site)
        assert all_by_key(page) == DUE
        page.evaluate("document.activeElement.blur()")
        assert lit(page) == [[], []] and page.found == []


@pytest.mark.browser
@pytest.mark.parametrize("old, new", [
    ('.normalize("NFKC")', ""),  # 𝑄 is not Q
    ('"svg"].includes(c.tagName)', '].includes(c.tagName)'),  # formulas with numbers are drawings in drawings
    ("names.has(whole)", "false"),  # W_q is no name
    ('p === below ? kind(core(p)) === "mi"', "p === below ? false"),  # the q of W_q is a query
    ("if (both) {", "if (false) {"),  # dS is d and S
    ("found.add(name);", ""),  # the formula alone
    ("behind(g);", ""),  # the code alone
])
def test_a_wrong_script_is_found(chrome, site, old, new):
    assert SCRIPT.count(old) == 1
    with visitor(chrome, site) as page:
        opened(page, site, SCRIPT.replace(old, new))
        assert all_by_key(page) != DUE


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_a_symbol_and_a_name_light_each_other(chrome, site, width):
    """With a mouse, and with a finger on a phone, where long formulas are set in pieces."""
    with visitor(chrome, site, width) as page:
        opened(page, site)
        line = page.locator('.eq-line[data-eq="4.28"]').last
        name = line.locator(".n", has_text=re.compile("^dS$"))
        name.scroll_into_view_if_needed()
        name.hover()
        code, drawn = lit(page)
        assert set(code) == {"dS"} and set(drawn) == {"d", "S"}, (code, drawn)
        page.mouse.move(1, 1)
        assert lit(page) == [[], []]
        by_key(page, "4.28")
        page.evaluate("document.activeElement.blur()")
        name.hover()
        spot = page.locator("g.alike").last
        spot.evaluate("(g) => g.parentElement.scrollIntoView({block: 'center'})")
        box = spot.evaluate("(g) => { const r = g.parentElement.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; }")
        page.mouse.move(1, 1)
        assert lit(page) == [[], []]
        page.mouse.move(*box)
        code, drawn = lit(page)
        assert set(code) == {"dS"} and set(drawn) == {"d", "S"}, (code, drawn)
        assert page.found == []


@pytest.mark.browser
def test_a_tap_lights_and_another_ends_it(chrome, site):
    must_tap(chrome)
    context = chrome.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    try:
        page = context.new_page()
        page.found = []
        opened(page, site)
        name = page.locator('.eq-line[data-eq="4.28"]').last.locator(".n", has_text=re.compile("^K$"))
        name.scroll_into_view_if_needed()
        name.tap()
        assert lit(page) == [["K"] * len(lit(page)[0]), ["K"]]
        page.touchscreen.tap(5, 400)
        assert lit(page) == [[], []]
    finally:
        context.close()
