"""The built book in a real browser with no network: every page, wide and narrow, light and dark.

Reads _build/html, which `make book` writes. The functions that judge a page are in browser.py; the bad pages below are
served and judged by the very same functions, and each must be caught.
"""

import json
import shutil
from importlib.metadata import files
from pathlib import Path

import pytest
import yaml
from browser import accessibility, browser, chromium, faults, serve, visit, visitor

pytestmark = pytest.mark.browser
HTML = Path(__file__).resolve().parents[1] / "_build" / "html"
VARIANTS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
WITH_AXE = {(1280, "light"), (390, "dark")}  # axe takes seconds: once for each width and each scheme


def pages(html: Path) -> list[str]:
    """Every page that a reader can open; the root index.html only redirects, and _static holds the theme's parts."""
    every = sorted(str(p.relative_to(html)) for p in html.rglob("*.html") if "_static" not in p.parts)
    return [name for name in every if name != "index.html"]


@pytest.fixture(scope="module")
def chrome():
    with browser() as chrome:
        yield chrome


@pytest.fixture(scope="module")
def book():
    if not (HTML / "book" / "index.html").is_file():
        pytest.fail("_build/html holds no book: run `make book` first")
    with serve(HTML) as site:
        yield site


@pytest.mark.parametrize("width, scheme", VARIANTS)
def test_every_page_is_sound(chrome, book, width, scheme):
    wrong = {}
    with visitor(chrome, book, width, scheme) as page:
        for name in pages(HTML):
            listing = name.startswith("_modules/")  # of a source file: one of each width and scheme, and no axe
            if listing and (width, scheme) not in WITH_AXE:
                continue
            visit(page, f"{book}/{name}")
            assert page.evaluate("document.documentElement.dataset.theme") == scheme
            found = faults(page)
            if (width, scheme) in WITH_AXE and not listing:
                found += accessibility(page)
            if found:
                wrong[name] = found
    assert not wrong, "\n".join(f"{name}:\n  " + "\n  ".join(found) for name, found in wrong.items())


def menu_opens(page) -> bool:
    """Whether the phone's menu button brings the list of chapters on the screen."""
    entry = page.locator("#pst-primary-sidebar-modal a:visible, .bd-sidebar-primary a:visible")
    assert entry.count() == 0
    page.locator("button.primary-toggle:visible").click()
    page.wait_for_timeout(300)
    return entry.count() > 3


def test_phone_menu_opens(chrome, book):
    with visitor(chrome, book, 390) as page:
        visit(page, f"{book}/book/notation.html")
        assert menu_opens(page)
        visit(page, f"{book}/book/notation.html")
        page.evaluate("for (const b of document.querySelectorAll('.primary-toggle')) b.replaceWith(b.cloneNode(true))")
        assert not menu_opens(page), "a dead button passes"


def results_for(page, site, word) -> int:
    visit(page, f"{site}/search.html?q={word}")
    page.wait_for_function("document.querySelector('#search-results p.search-summary')?.textContent.trim()")
    page.wait_for_timeout(300)
    return page.locator("#search-results ul.search li a").count()


def test_search_finds(chrome, book):
    with visitor(chrome, book) as page:
        assert results_for(page, book, "softmax") >= 2
        assert results_for(page, book, "xylophone") == 0
        assert not page.found


def toggles(page, switch, content) -> bool:
    """Whether a click on the switch shows or hides the content."""
    before = content.is_visible()
    switch.click()
    page.wait_for_timeout(150)
    return content.is_visible() != before


def test_dropdowns_toggle(chrome, book):
    seen = 0
    with visitor(chrome, book) as page:
        for name in pages(HTML):
            text = (HTML / name).read_text(encoding="utf-8")
            if "sd-dropdown" not in text and "dropdown admonition" not in text:
                continue
            visit(page, f"{book}/{name}")
            for box in page.locator("details.sd-dropdown").all():
                if not box.locator("xpath=ancestor::details").count():
                    seen += 1
                    assert toggles(page, box.locator("> summary"), box.locator("> .sd-summary-content")), name
            for box in page.locator(".admonition.dropdown").all():
                seen += 1
                title, content = box.locator("> .admonition-title"), box.locator("> :not(.admonition-title)").first
                assert toggles(page, title, content), name
    assert seen, "no dropdown in the whole book"


# Pages that must be caught. HEAD makes an otherwise faultless page.
HEAD = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>' \
       '<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width">'
CONFIG = yaml.safe_load((HTML.parents[1] / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]
MATHJAX = f'<script>MathJax = {json.dumps(CONFIG["mathjax3_config"])}</script><script src="/tex-svg-full.js"></script>'
GOOD = f"{HEAD}{MATHJAX}</head><body><main><h1>A page</h1><p>" \
       r'<span class="math">\(x^2\)</span> <img src="data:," alt="nothing"></p></main></body></html>'
SCRIPT = '<script src="https://cdn.example.org/a.js"></script>'
FONT = "<style>@font-face{font-family:a;src:url(https://fonts.example.org/a)} body{font-family:a}</style>"
SCROLL = '<div style="width:9em;overflow:auto"><div style="width:90em">A long line of text.</div></div>'
FROM_ITS_END = '<div class="math" style="display:flex;flex-direction:row-reverse;width:3em;overflow:auto" ' \
               r'tabindex="0">\[a+b+c+d+e+f+g+h\]</div>'
BAD = {  # name: (a part of the good page, what replaces it, what must be said)
    "script from elsewhere": ("</head>", f"{SCRIPT}</head>", "asks for https"),
    "font from elsewhere": ("</head>", f"{FONT}</head>", "asks for https"),
    "console error": ("</main>", "<script>console.error('oh')</script></main>", "console error: oh"),
    "page error": ("</main>", "<script>nowhere()</script></main>", "page error: "),
    "missing file": ("</main>", '<script src="/gone.js"></script></main>', "status 404"),
    "open brace": ("x^2", r"\frac{", "1 formulas but 0 typeset"),
    "bad TeX": ("x^2", r"\frac{1}", "broken formula"),
    "unknown macro": ("x^2", r"\nowhere", "broken formula"),
    "no MathJax": (MATHJAX, "", "1 formulas but 0 typeset"),
    "image without alt": (' alt="nothing"', "", "image-alt (critical)"),
    "low contrast": ("<p>", '<p style="color:#bbb;background:#fff">Pale.', "color-contrast (serious)"),
    "too wide": ("<p>", '<p style="width:600px">Wide.', "px wider than the window"),
    "wide formula": ('class="math">', 'class="math" style="display:block;width:1em;overflow:auto">', "not by key"),
    "formula from its end": ("<p>", f"<p>{FROM_ITS_END}", "wide formulas begin out of sight"),
    "scrolls, but not by key": ("</main>", f"{SCROLL}</main>", "scrollable-region-focusable (serious)"),
}


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    script = next(f for f in files("sphinx-mathjax-offline") if f.name == "tex-svg-full.js")
    shutil.copyfile(script.locate(), folder / script.name)
    (folder / "good.html").write_text(GOOD, encoding="utf-8")
    for i, (old, new, _) in enumerate(BAD.values()):
        assert old in GOOD
        (folder / f"bad{i}.html").write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with serve(folder) as site:
        yield site


def judge(page, url) -> list[str]:
    visit(page, url)
    return faults(page) + accessibility(page)


def test_a_good_page_is_not_blamed(chrome, workshop):
    with visitor(chrome, workshop, 390) as page:
        assert judge(page, f"{workshop}/good.html") == []


@pytest.mark.parametrize("name", BAD)
def test_a_bad_page_is_caught(chrome, workshop, name):
    with visitor(chrome, workshop, 390) as page:
        found = judge(page, f"{workshop}/bad{list(BAD).index(name)}.html")
    assert any(BAD[name][2] in fault for fault in found), found


def test_a_dead_dropdown_is_caught(chrome, workshop):
    with visitor(chrome, workshop) as page:
        visit(page, f"{workshop}/good.html")
        page.set_content("<details><summary>More</summary><p>Text</p></details>")
        box = page.locator("details")
        assert toggles(page, box.locator("summary"), box.locator("p"))
        page.evaluate("document.querySelector('summary').addEventListener('click', (e) => e.preventDefault())")
        assert not toggles(page, box.locator("summary"), box.locator("p"))


@pytest.mark.parametrize("ci, outcome", [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_without_a_browser_a_desk_skips_and_ci_fails(monkeypatch, ci, outcome):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(outcome, match="NO CHROMIUM"):
        chromium()
