"""The built book in a real browser with no network: every page, wide and narrow, light and dark.

Reads _build/html, which `make book` writes. The functions that judge a page are in browser.py; the bad pages below are
served and judged by the very same functions, and each must be caught.
"""

import collections
import contextlib
import functools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import typeset
from browser import (
    accessibility,
    answer_with,
    browser,
    faults,
    installed,
    narrow,
    serve,
    tall,
    unfolded,
    visit,
    visitor,
)
from maths import drawn_by
from playwright.sync_api import TimeoutError as Late
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
HTML = Path(__file__).resolve().parents[1] / "_build" / "html"
VARIANTS = [(1280, "light"), (390, "dark")]  # as a page is opened; then the reader's system changes to the other scheme
LOW = {"width": 1280, "height": 800}  # the window of a small laptop
KINDS = ("index", "04_attention", "exercises/ex04_attention", "notation", "api/around", "search", "genindex")
OTHER = {"light": "dark", "dark": "light"}


def pages(html: Path) -> list[str]:
    """Every page that a reader can open; _static holds the theme's parts."""
    return sorted(str(p.relative_to(html)) for p in html.rglob("*.html") if "_static" not in p.parts)


def theme(page) -> str:
    return page.evaluate("document.documentElement.dataset.theme")


def told(wrong: dict) -> str:
    return "\n".join(f"{name}:\n  " + "\n  ".join(found) for name, found in wrong.items())


def switch(page, scheme) -> None:
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(f"document.documentElement.dataset.theme === '{scheme}'")


def of_page(page, book: str, name: str, seen: set) -> list[str]:
    """A page is opened once, wide and light, and made dark and narrow: to open it costs more than to judge it."""
    visit(page, f"{book}/{name}")
    found = faults(page) + tall(page)
    if not name.startswith("_modules/"):  # listings of source files are all alike: no axe, one scheme
        switch(page, "dark")
        narrow(page)
        found += [f"narrow: {fault}" for fault in faults(page) + unfolded(page) if fault not in found]
        found += accessibility(page, seen=seen)
        page.goto("about:blank")  # or the page that is left would be laid out anew
        page.set_viewport_size(LOW)
        page.emulate_media(color_scheme="light")
    return found


def all_judged(site: str, names: list[str], judge=of_page, browsers: int = 2) -> dict[str, list[str]]:
    """What is wrong, by page. Browsers share the pages: one works while another waits for the scripts of its own."""
    queue, seen, found = collections.deque(names), set(), {}

    def work():
        with browser() as chrome, visitor(chrome, site, 1280, "light") as page:
            page.set_viewport_size(LOW)
            with contextlib.suppress(IndexError):  # no name is left
                while name := queue.popleft():
                    found[name] = ["not judged to its end"]
                    found[name] = judge(page, site, name, seen)

    with ThreadPoolExecutor(browsers) as pool:
        for done in [pool.submit(work) for _ in range(browsers)]:
            done.result()
    assert sorted(found) == sorted(names)
    return {name: found[name] for name in names if found[name]}


def test_every_page_is_sound(book):
    wrong = all_judged(book, pages(HTML))
    assert not wrong, told(wrong)


@pytest.mark.parametrize("width, scheme", VARIANTS)
def test_each_kind_of_page_opens_in_each_variant(chrome, book, width, scheme):
    """As a reader opens it; then their system changes to the other scheme."""
    wrong = {}
    kinds = [f"book/{name}.html" for name in KINDS if (HTML / "book" / f"{name}.html").is_file()]
    kinds += [f"{name}.html" for name in KINDS if f"book/{name}.html" not in kinds]
    assert len(kinds) == len(KINDS)
    with visitor(chrome, book, width, scheme) as page:
        for name in kinds:
            page.emulate_media(color_scheme=scheme)
            visit(page, f"{book}/{name}")
            assert theme(page) == scheme
            found = faults(page)
            switch(page, OTHER[scheme])
            found += [f"{OTHER[scheme]}: {fault}" for fault in faults(page) if fault not in found]
            switch(page, scheme)
            found += accessibility(page)
            if found:
                wrong[name] = found
    assert not wrong, told(wrong)


# Nothing moves while a page comes in, and one sees how far one has read

SHIFTS = """() => new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((shift) => { sum += shift.value; })).observe(
        {type: "layout-shift", buffered: true});
    setTimeout(() => done(sum), 500);
})"""


def shifts(page, url) -> float:
    visit(page, url)
    return page.evaluate(SHIFTS)


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_a_page_comes_in(chrome, book, width):
    if chrome.browser_type.name == "firefox":
        return  # does not measure it
    names = [*KINDS, "start", "search.html?q=softmax"]
    there = {name: f"book/{name}.html" if (HTML / "book" / f"{name}.html").is_file() else
             name if "?" in name else f"{name}.html" for name in names}
    with visitor(chrome, book, width) as page:
        found = {name: shifts(page, f"{book}/{there[name]}") for name in names}
        assert {name: shift for name, shift in found.items() if shift > .05} == {}
        answer_with(page, "search.css", "min-height: 100vh", "min-height: 0")
        assert shifts(page, f"{book}/search.html?q=softmax") > .05


FIRST = """(selector) => [...document.querySelectorAll(selector)].map((e) => {
    const {top, bottom} = e.getBoundingClientRect();
    return {begins: top >= 0 && top < innerHeight - 20, whole: bottom <= innerHeight};
})"""


@pytest.mark.parametrize("width, height", [(1280, 900), (390, 844)])
def test_the_first_screen_has_it_all(chrome, book, width, height):
    """The sentence, both buttons and the picture, on a phone to its last line."""
    with visitor(chrome, book, width) as page:
        page.set_viewport_size({"width": width, "height": height})
        visit(page, f"{book}/index.html")
        found = page.evaluate(FIRST, ".front-words > p:first-of-type, .front-words .sd-btn, .sorter")
        assert len(found) == 4 and all(one["begins"] and one["whole"] for one in found), found
        lefts = page.evaluate("""() => ["h1", ".front-words > p", ".front-words .sd-btn", ".front-shown .sd-card"].map(
            (name) => Math.round(document.querySelector(`.bd-article ${name}`).getBoundingClientRect().left))""")
        assert max(lefts) - min(lefts) <= 1, lefts
        page.add_style_tag(content=".front-first { margin-top: 20rem !important }")
        assert not all(one["whole"] for one in page.evaluate(FIRST, ".sorter"))


READ = "() => document.querySelector('.course-read')?.getBoundingClientRect().width / innerWidth"


def follows(page, url) -> bool:
    """Whether the line at the top is as long as what was read, halfway and at the end."""
    visit(page, url)
    found = []
    for part in (.5, 1):
        page.evaluate("(part) => scrollTo(0, part * (document.documentElement.scrollHeight - innerHeight))", part)
        page.wait_for_timeout(200)
        found.append(abs(page.evaluate(READ) - part) < .02)
    return all(found)


def test_the_line_of_how_far_one_has_read(chrome, book):
    """Where the scroll itself does not draw it: with less motion, as here, and in browsers that cannot."""
    with visitor(chrome, book) as page:
        assert follows(page, f"{book}/book/04_attention.html")
        answer_with(page, "course.js", '["scroll", "resize", "load"]', '["resize", "load"]')
        assert not follows(page, f"{book}/book/04_attention.html")
    if chrome.browser_type.name == "chromium":
        page = chrome.new_page(reduced_motion="no-preference")
        page.goto(f"{book}/book/04_attention.html")
        assert page.locator(".course-read").count() == 0
        page.close()


def menu_opens(page) -> bool:
    """Whether the phone's menu button brings the list of chapters on the screen."""
    entry = page.locator("#pst-primary-sidebar-modal a:visible, .bd-sidebar-primary a:visible")
    assert entry.count() == 0
    page.locator("button.primary-toggle:visible").click()
    try:
        entry.nth(3).wait_for(timeout=WAIT)
    except Late:
        return False
    return True


def test_phone_menu_opens(chrome, book):
    with visitor(chrome, book, 390) as page:
        visit(page, f"{book}/book/notation.html")
        assert menu_opens(page)
        visit(page, f"{book}/book/notation.html")
        page.evaluate("for (const b of document.querySelectorAll('.primary-toggle')) b.replaceWith(b.cloneNode(true))")
        assert not menu_opens(page), "a dead button passes"


WAIT = 2000  # milliseconds in which a click must show: no one waits so long but on a page where nothing happens
TOGGLES = """async ([control, content, wait]) => {
    const shown = () => content.checkVisibility({checkVisibilityCSS: true}) && content.getClientRects().length > 0;
    const before = shown(), end = performance.now() + wait;
    control.click();
    while (shown() === before && performance.now() < end) await new Promise(requestAnimationFrame);
    return shown() !== before;
}"""


def toggles(page, control, content, wait=WAIT) -> bool:
    """Whether a click on the control shows or hides the content."""
    return page.evaluate(TOGGLES, [control.element_handle(), content.element_handle(), wait])


def test_folds_toggle(chrome, book):
    """Those of text and code, and the answers of a problem set: one page of each kind, for all are made alike."""
    seen = 0
    with visitor(chrome, book) as page:
        for name in ("start", "04_attention", "exercises/ex04_attention", "errata", "notation"):
            name = f"book/{name}.html"
            visit(page, f"{book}/{name}")
            boxes = [(box.locator("> summary"), box.locator("> :not(summary)").first)
                     for box in page.locator(".bd-article details:not(details details)").all()]
            boxes += [(box.locator("> .admonition-title"), box.locator("> :not(.admonition-title)").first)
                      for box in page.locator(".admonition.dropdown").all()]
            for k, (control, content) in enumerate(boxes):
                if k == 0:  # by mouse, so that something lying over it is noticed
                    before = content.is_visible()
                    control.click()
                    expect(content).to_be_visible(visible=not before)
                assert toggles(page, control, content), name
            seen += len(boxes)
    assert seen > 100, f"only {seen} folds in the whole book"


TWO_FOLDS = """async () => {
    for (const width of [90, 20]) document.querySelector("article").insertAdjacentHTML("beforeend",
        `<details class="new"><summary>A fold</summary><div class="output_area" style="overflow:auto;width:50px">
        <p style="width:${width}px">1</p></div></details>`);  // without formulas, whose script marks as well
    for (const fold of document.querySelectorAll(".new")) fold.open = true;
    for (let k = 0; k < 5; k += 1) await new Promise(requestAnimationFrame);
    return [...document.querySelectorAll(".new > div")].map((box) => [box.tabIndex, box.getAttribute("role")]);
}"""


def marked_when_opened(page, url) -> list:
    visit(page, url)
    return page.evaluate(TWO_FOLDS)


def test_what_is_wide_in_a_fold_is_a_stop_once_it_is_open(chrome, book):
    right = [[0, "group"], [-1, None]]
    with visitor(chrome, book) as page:
        assert marked_when_opened(page, f"{book}/book/notation.html") == right
        for wrong in ("mark(target.parentElement.querySelector('summary'))", "target"):
            with visitor(chrome, book) as other:
                answer_with(other, "course.js", "mark(target)", wrong)
                assert marked_when_opened(other, f"{book}/book/notation.html") != right, wrong


# Pages that must be caught. HEAD makes an otherwise faultless page.
HEAD = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>' \
       '<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width">'
# Formulas in them, by what stands in the place of the drawing: its TeX, and whether it is displayed.
FORMULA, WIDE_ONE, WIDER_ONE, LETTER = "[a formula]", "[a wide formula]", "[a wider formula]", "[a letter]"
TEX = {FORMULA: ("x^2", False), WIDE_ONE: ("a+b+c+d+e+f+g+h", True),
       WIDER_ONE: ("a+b+c+d+e+f+g+h+i+j+k+l+m+n", True), LETTER: ("d", False)}
GOOD = f'{HEAD}<link rel="stylesheet" href="/maths.css"></head><body><main><h1>A page</h1><p>' \
       f'<span class="math">{FORMULA}</span> <img src="data:," alt="nothing"></p></main></body></html>'
SCRIPT = '<script src="https://cdn.example.org/a.js"></script>'
FONT = "<style>@font-face{font-family:a;src:url(https://fonts.example.org/a)} body{font-family:a}</style>"
# Sizes are pixels: how wide a text is depends on the fonts of the machine.
SCROLL = '<div style="width:100px;overflow:auto">' \
         '<div style="width:300px">A <span style="display:inline-block;width:250px">wide</span> line.</div></div>'
FROM_ITS_END = '<div class="math" style="display:flex;flex-direction:row-reverse;width:20px;overflow:auto" ' \
               f'tabindex="0">{WIDE_ONE}</div>'
OUT_OF_SIGHT = '<div class="math" style="width:100px;overflow:auto" tabindex="0">' \
               f'{WIDER_ONE}</div>'
TIGHT = '<div style="width:150px;overflow:auto;white-space:nowrap">' + f'<span class="math">{LETTER}</span>, ' * 6 + \
        '<span style="display:inline-block;width:20px">1</span></div>'  # six times the word "formula" would not fit
PALE = '<p style="color:#222;background:#fff">Dark.</p><p style="color:#222;background:#fff"><b>Dark.</b></p>'
TOLD = "<style>a{color:#00c;background:#fff} p{color:#000;background:#fff}</style><p>As <a href='#a'>one</a> says.</p>"
UNTOLD = "<p>As <a href='#b' style='text-decoration:none'>another</a> says.</p>"
CODE = "<span style='color:#222'>1</span><span style='color:#ccc'>+</span><span style='color:#ccc'>two</span>"
BAD = {  # name: (a part of the good page, what replaces it, what must be said)
    "script from elsewhere": ("</head>", f"{SCRIPT}</head>", "asks for https"),
    "font from elsewhere": ("</head>", f"{FONT}</head>", "asks for https"),
    "console error": ("</main>", "<script>console.error('oh')</script></main>", "console error: oh"),
    "page error": ("</main>", "<script>nowhere()</script></main>", "page error: "),
    "missing file": ("</main>", '<script src="/gone.js"></script></main>', "status 404"),
    "a formula as TeX": (FORMULA, r"\(x^2\)", "1 formulas but 0 drawn"),
    "bad TeX": ("<svg ", '<svg data-mjx-error="Missing argument" ', "broken formula: Missing argument"),
    "letters of another page": ('xlink:href="#MJX-', 'xlink:href="#elsewhere-', "1 letters of formulas are nowhere"),
    "image without alt": (' alt="nothing"', "", "image-alt (critical)"),
    "low contrast": ("<p>", '<p style="color:#bbb;background:#fff">Pale.', "color-contrast (serious)"),
    "low contrast of the second": ("</main>", f"{PALE}<p style='color:#bbb;background:#fff'>Pale.</p></main>",
                                   "color-contrast (serious)"),
    "low contrast by what lies below": (
        "</main>", f"{PALE}<div style='background:#333'><p style='color:#222'>Dark on dark.</p></div></main>",
        "color-contrast (serious)"),
    "low contrast of code": (
        "</main>", f"<pre style='background:#fff'>{CODE}</pre></main>", "color-contrast (serious)"),
    "link told by its colour alone": ("</main>", f"{TOLD * 4}{UNTOLD}</main>", "link-in-text-block (serious)"),
    "too wide": ("<p>", '<p style="width:600px">Wide.', "px wider than the window"),
    "wide formula": ('class="math">', 'class="math" style="display:block;width:5px;overflow:auto">', "not by key"),
    "formula out of sight": ("<p>", f"<p>{OUT_OF_SIGHT}", "1 formulas reach out of sight"),
    "formula from its end": ("<p>", f"<p>{FROM_ITS_END}", "wide formulas begin out of sight"),
    "scrolls, but not by key": ("</main>", f"{SCROLL}</main>", "scrollable-region-focusable (serious)"),
}


WIDE = ("script from elsewhere", "console error", "page error", "missing file", "a formula as TeX", "low contrast")


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    with drawn_by() as maths:
        drawings = {place: maths.draw(tex, display) for place, (tex, display) in TEX.items()}

        def drawn(page):
            return functools.reduce(lambda text, place: text.replace(place, drawings[place]), drawings, page)

        def write(name, old="", new=""):
            page = drawn(GOOD)
            assert drawn(old) in page
            page = typeset.with_letters(page.replace(drawn(old), drawn(new), 1), maths.letters)
            (folder / name).write_text(page, encoding="utf-8")

        (folder / "maths.css").write_text(maths.style(), encoding="utf-8")
        write("good.html")
        write("tight.html", "</main>", f"{TIGHT}</main>")
        for i, (old, new, _) in enumerate(BAD.values()):
            write(f"bad{i}.html", old, new)
    with serve(folder) as site:
        yield site


def judge(page, url) -> list[str]:
    visit(page, url)
    return faults(page) + accessibility(page)


@pytest.mark.parametrize("name", ["good", "tight"])
def test_a_good_page_is_not_blamed(chrome, workshop, name):
    with visitor(chrome, workshop, 390) as page:
        assert judge(page, f"{workshop}/{name}.html") == []


@pytest.mark.parametrize("name", BAD)
def test_a_bad_page_is_caught(chrome, workshop, name):
    with visitor(chrome, workshop, 390) as page:
        found = judge(page, f"{workshop}/bad{list(BAD).index(name)}.html")
    assert any(BAD[name][2] in fault for fault in found), found


def test_a_drawing_taller_than_the_window_is_caught(chrome):
    with visitor(chrome, "about:blank") as page:
        page.set_viewport_size(LOW)
        page.set_content('<figure id="high"><svg class="drawing" width="400" height="700"></svg></figure>')
        assert tall(page) == []
        page.evaluate("document.querySelector('svg').setAttribute('height', 801)")
        assert tall(page) == ["a drawing taller than the window, high: 801 px"]


def test_no_page_is_passed_over(workshop):
    """Of pages that two browsers share, all are judged, and each bad one is found."""
    names = [f"bad{i}.html" for i, name in enumerate(BAD) if name in WIDE]
    wrong = all_judged(workshop, ["good.html", *names, "tight.html"],
                       lambda page, site, name, seen: judge(page, f"{site}/{name}"))
    assert list(wrong) == names
    with pytest.raises(Late):  # what a browser's thread raises is not lost
        all_judged(workshop, ["good.html"], lambda page, *_: page.wait_for_function("false", timeout=50))


def test_a_kind_of_text_is_judged_once_and_another_kind_anew(chrome, workshop):
    bad, seen = {name: f"{workshop}/bad{i}.html" for i, name in enumerate(BAD)}, set()
    with visitor(chrome, workshop, 390) as page:
        said = []
        for url in (f"{workshop}/good.html", bad["low contrast"], bad["low contrast"], bad["low contrast of code"]):
            visit(page, url)
            said.append(" ".join(accessibility(page, seen=seen)))
    assert ["color-contrast" in found for found in said] == [False, True, False, True], said


def test_a_dead_dropdown_is_caught(chrome, workshop):
    with visitor(chrome, workshop) as page:
        visit(page, f"{workshop}/good.html")
        page.set_content("<details><summary>More</summary><p>Text</p></details>")
        box = page.locator("details")
        assert toggles(page, box.locator("summary"), box.locator("p"))
        page.evaluate("document.querySelector('summary').addEventListener('click', (e) => e.preventDefault())")
        assert not toggles(page, box.locator("summary"), box.locator("p"), wait=300)


@pytest.mark.parametrize("ci, outcome", [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_without_a_browser_a_desk_skips_and_ci_fails(monkeypatch, ci, outcome):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PATH", "/nowhere")
    for kind in ("chromium", "firefox"):
        with pytest.raises(outcome, match=f"NO {kind.upper()}"):
            installed(kind)


@pytest.mark.parametrize("there, taken", [
    (["chromium", "chromium-headless-shell"], "chromium-headless-shell"), (["google-chrome", "chromium"], "chromium")])
def test_of_several_browsers_the_lightest_is_taken(monkeypatch, tmp_path, there, taken):
    for name in there:
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installed("chromium") == str(tmp_path / taken)
