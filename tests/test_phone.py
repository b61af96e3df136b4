"""Formulas on a narrow screen, by formulas.js: every sign is there, in order and in sight, and so is every number.

The script is tried on formulas of all kinds, and wrong versions of it on the same ones.
"""

import contextlib
import shutil
from pathlib import Path

import pytest
import typeset
from browser import answer_with, faults, narrow, serve, visit, visitor
from maths import drawn_by
from playwright.sync_api import TimeoutError as Late
from rewritten import rewritten

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[1]
STATIC = ROOT / "_ext" / "static"
PHONE = ROOT / "_ext" / "phone.py"
SCRIPT = (STATIC / "formulas.js").read_text(encoding="utf-8")

SUM = " + ".join(f"x_{{{k}}} y_{{{k}}}" for k in range(12))
FORMULAS = [  # the TeX of each, and whether it needs more than one line at 390 pixels
    (r"a = b \tag{1.1}", False),
    (rf"s = {SUM} \tag{{1.2}}", True),
    (rf"f(x, y) = g\big( {SUM} \big) \tag{{1.3}}", True),
    (r"\left( \frac{\alpha + \beta}{\gamma} + \frac{\alpha - \beta}{\gamma} + \frac{\alpha \beta}{\gamma} "
     r"+ \frac{\beta}{\gamma} + \frac{1}{\gamma} + \frac{2}{\gamma} + \frac{3}{\gamma} \right) \le 1 \tag{1.4}",
     True),
    (r"\begin{align*} \operatorname{first} &= a + b + c + d + e + f + g + h + i + j + k + l + m \tag{1.5} \\ "
     r"&= n \cdot o \cdot p \\ \operatorname{second\ line} &= q \tag{1.6} \end{align*}", True),
    (r"f(x) = \begin{cases} 0 & x < 0 \\ x & x \ge 0 \end{cases} \qquad \text{for all numbers } x "
     r"\text{ of the line} \qquad g(x) = \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix} \tag{1.7}", True),
    (r"\begin{split} z &= a + b + c + d + e + f + g + h + i + j + k + l + m + n \\ &= 1 \end{split} \tag{1.8}",
     True),
    (r"p = \frac{\text{all of the many words that match}}{\text{all of them}} \overset{!}{=} \sum_{i=1}^n i "
     r"\Longleftrightarrow q = r", True),
    (r"\text{one long text that is a piece of its own and fits only if it is small} \tag{1.9}", True),
]
WIDE = r"\sqrt{a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s + t + u} = 1 \tag{2.1}"
INLINE = r"a = b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s"
SAME_EX = """addEventListener("DOMContentLoaded", () => {  // 7.2 pixels, whatever fonts the machine has
    const probe = document.createElement("div");
    probe.style.cssText = "width: 100ex; position: absolute";
    document.body.append(probe);
    document.body.style.fontSize = `${16 * 720 / probe.getBoundingClientRect().width}px`;
    probe.remove();
});"""
PAGE = (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>x</title><link rel="icon" href="data:,">'
        f'<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="phone.css">'
        f'<style>div.math {{ overflow: auto hidden; display: flex }} mjx-container {{ min-width: min-content }}</style>'
        f'<link rel="stylesheet" href="maths.css"><script>{SAME_EX}</script>'
        f'<script src="formulas.js" defer></script></head><body>')


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formulas")
    shutil.copyfile(STATIC / "phone.css", folder / "phone.css")
    with drawn_by() as maths:
        body = "".join(f'<div class="math">{maths.draw(tex, True)}</div>' for tex, _ in FORMULAS)
        body += f'<p>So <span class="math">{maths.draw(INLINE, False)}</span>.</p>'
        (folder / "page.html").write_text(PAGE + typeset.with_letters(body, maths.letters), encoding="utf-8")
        body = f'<div class="math">{maths.draw(WIDE, True)}</div>'
        (folder / "wide.html").write_text(PAGE + typeset.with_letters(body, maths.letters), encoding="utf-8")
        (folder / "maths.css").write_text(maths.style(), encoding="utf-8")
    return folder


LOOK = """() => [...document.querySelectorAll(".math")].map((box) => {
    const lines = box.querySelector(".eq-lines"), original = box.querySelector("mjx-container > svg");
    const signs = (e, not) => [...e.querySelectorAll("[data-c]")].filter((u) => !not || !u.closest(not))
        .map((u) => u.dataset.c);
    const place = (e) => e.getBoundingClientRect();
    const numbers = [...box.querySelectorAll(lines ? ".eq-number" : "g[data-labels] > g")];
    const parts = lines ? [...lines.querySelectorAll(".eq-part")] : [];
    return {
        broken: Boolean(lines), lines: parts.length,
        signs: signs(original, "g[data-labels]"),
        shown: lines ? parts.flatMap((p) => signs(p)) : signs(original, "g[data-labels]"),
        numbers: numbers.length, labels: box.querySelectorAll("g[data-labels] > g").length,
        same: !lines || numbers.map((n) => signs(n).join()).join(";")
            === [...box.querySelectorAll("g[data-labels] > g")].map((g) => signs(g).join()).join(";"),
        out: [...parts, ...numbers].filter((e) => place(e).right > innerWidth + 1 || place(e).left < -1).length
            + (box.scrollWidth > box.clientWidth + 1),
        over: parts.some((p, k) => parts.slice(k + 1).some((q) => place(p).bottom > place(q).top + 6
            && place(p).right > place(q).left + 1 && place(q).right > place(p).left + 1)),
        heard: box.querySelectorAll("mjx-assistive-mml").length, hidden: !lines || lines.ariaHidden === "true",
        ids: lines ? lines.querySelectorAll("[id]").length : 0,
    };
})"""


def wrong(page, needs) -> list[str]:
    """What is wrong with the formulas that the page shows."""
    found = []
    for k, (seen, broken) in enumerate(zip(page.evaluate(LOOK), needs, strict=True)):
        if seen["shown"] != seen["signs"] or not seen["signs"]:
            found.append(f"{k}: signs are lost, or in another order")
        if seen["broken"] != broken:
            found.append(f"{k}: {'not ' * (not seen['broken'])}set in lines")
        if seen["numbers"] != seen["labels"] or not seen["same"]:
            found.append(f"{k}: {seen['numbers']} numbers of {seen['labels']}, or others")
        if seen["out"] or seen["over"]:
            found.append(f"{k}: out of sight, or one over the other")
        if seen["heard"] != 1 or not seen["hidden"] or seen["ids"]:
            found.append(f"{k}: heard {seen['heard']} times")
    return found


def judged(chrome, folder, script, width=390):
    (folder / "formulas.js").write_text(script, encoding="utf-8")
    with serve(folder) as site, visitor(chrome, site, 1280) as page:
        page.set_default_timeout(5000)
        visit(page, f"{site}/page.html")
        found = wrong(page, [False] * (len(FORMULAS) + 1))
        try:
            narrow(page, width)
        except Late:
            return ["the formulas never fit"], []
        found += [f"narrow {text}" for text in wrong(page, [needs for _, needs in FORMULAS] + [True])]
        lines = [seen["lines"] for seen in page.evaluate(LOOK)]
        narrow(page, 1280)
        found += [f"again {text}" for text in wrong(page, [False] * (len(FORMULAS) + 1))]
        return found + page.found, lines


def test_formulas_of_all_kinds_fit(chrome, folder):
    found, lines = judged(chrome, folder, SCRIPT)
    assert found == []
    assert lines[1] >= 2 and lines[4] >= 4 and lines[7] >= 2


@pytest.mark.parametrize(("old", "new"), [
    ("pieces: row.slice(from, to)", "pieces: row.slice(from, from ? from + 1 : to)"),
    ("cuts.unshift(", "cuts.push("),
    ("(over ? 1000 + over : 0)", "0"),
    ("last.append(number);", ""),
    ("const width = full / scale, rows", "const width = 9 * full, rows"),
    ("numbers.shift() : undefined", "numbers.at(-1) : undefined"),
    ('shown.setAttribute("aria-hidden", "true");', ""),
    (".forEach(reset);", ".forEach(() => {});"),
    ("if (innerWidth === width) return;", "if (width) { fit.width = innerWidth; return; }"),
], ids=["signs are lost", "lines change places", "lines of any width", "no number", "rows are never cut",
        "one number for all", "heard twice", "once in lines, always in lines", "only the first width counts"])
def test_a_wrong_script_is_caught(chrome, folder, old, new):
    assert SCRIPT.count(old) == 1
    assert judged(chrome, folder, SCRIPT.replace(old, new))[0]


def test_what_fits_nowhere_scrolls_and_its_number_stays(chrome, folder):
    (folder / "formulas.js").write_text(SCRIPT, encoding="utf-8")
    with serve(folder) as site, visitor(chrome, site, 390) as page:
        visit(page, f"{site}/wide.html")
        seen = page.evaluate("""() => {
            const box = document.querySelector("div.math"), number = () => document.querySelector(".eq-number")
                .getBoundingClientRect();
            const before = number().right <= innerWidth && number().left >= 0;
            box.scrollLeft = 1000;
            return [before, number().right <= innerWidth && number().left >= 0, box.scrollLeft > 50];
        }""")
        assert seen == [True, True, True]


# Tables, figures and buttons of the built book



WIDE_TABLES = """async () => {
    document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
    const wide = () => [...document.querySelectorAll(".pst-scrollable-table-container")].filter(
        (e) => e.scrollWidth > e.clientWidth + 1).length;
    for (let k = 0; k < 40 && wide(); k += 1) await new Promise((done) => setTimeout(done, 50));
    return wide();
}"""


@pytest.mark.parametrize("width", [1280, 390, 340])
def test_tables_are_whole(chrome, book, width):
    """On a phone a table that is too wide is stacked, and remains a table to who cannot see it."""
    with visitor(chrome, book, width) as page:
        for name in ("notation", "notation_notes", "06_norm"):
            visit(page, f"{book}/book/{name}.html")
            assert page.evaluate(WIDE_TABLES) == 0, name
            stacked = page.evaluate("""() => [...document.querySelectorAll("table.stacked")].map((t) =>
                [t.getAttribute("role"), t.querySelectorAll("td:not([role=cell]), th:not([role=columnheader])").length,
                 [...t.querySelectorAll("td")].some((d) => d.dataset.head)])""")
            assert all(found == ["table", 0, True] for found in stacked) and bool(stacked) == (width < 600), name
        page.add_style_tag(content="td { min-width: 900px }")
        assert page.evaluate(WIDE_TABLES) > 0


MANY_NUMBERS = """() => {
    window.fitFormulas();
    const box = document.querySelector("#eq-8-1"), place = (e) => e.getBoundingClientRect();
    const rows = [...box.querySelectorAll(".eq-row")].map((row) => [
        place(row.querySelector(".eq-part")), place(row.querySelector(".eq-number"))]);
    return [rows.length, rows.filter(([part, number]) => part.right > place(box).right + 1
        || (part.right > number.left + 1 && part.bottom > number.top + 6)).length];
}"""


def test_a_formula_of_many_numbers_is_whole(chrome, book):
    """Six rows, six numbers: a gap for each of them, as the theme has it, pushes the rows over their numbers."""
    with visitor(chrome, book, 390) as page:
        visit(page, f"{book}/book/08_mask.html")
        assert page.evaluate(MANY_NUMBERS) == [6, 0]
        page.add_style_tag(content="div.math { gap: 8px }")
        assert page.evaluate(MANY_NUMBERS)[1] > 0


SCROLLED = """() => [...document.querySelectorAll(".figure-box")].filter(
    (b) => b.scrollWidth > b.clientWidth + 1).length"""
LABELS = """() => [...document.querySelectorAll("svg.drawing")].flatMap((svg) => {
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    return [...svg.querySelectorAll("text")].map((text) => scale * Math.max(...[text, ...text.children].filter(
        (e) => e.firstChild?.nodeType === Node.TEXT_NODE).map((e) => parseFloat(getComputedStyle(e).fontSize))));
})"""


def test_a_figure_is_seen_whole(chrome, book):
    """Legend and all, with no scrolling: it may take the margins, and its letters may be of 9 pixels."""
    with visitor(chrome, book, 390) as page:
        visit(page, f"{book}/book/01_recurrent.html")
        assert page.evaluate(SCROLLED) == 0 and not faults(page)
        for wrong in (".bd-article .cell_output .figure-box { margin-inline: 0 }",
                      ".bd-article .figure-box svg { min-width: 420px }"):
            page.add_style_tag(content=wrong)
            assert page.evaluate(SCROLLED) > 0
            page.reload()


@pytest.mark.parametrize("chapter, wrong", [
    ("04_attention", "min-width: 0"),  # it has figures that are narrower than the page
    ("16_flash", "min-width: 0; width: 80% !important"),  # and here all of them fit
])
def test_the_labels_of_a_figure_can_be_read(chrome, book, chapter, wrong):
    """Whatever its own letters are: the smallest label has letters of 9 pixels, and what is too wide then scrolls."""
    with visitor(chrome, book, 390) as page:
        visit(page, f"{book}/book/{chapter}.html")
        found = page.evaluate(LABELS)
        assert len(found) > 50 and min(found) >= 8.95, sorted(found)[:5]
        assert page.evaluate("""() => [...document.querySelectorAll(".figure-box")].every(
            (b) => b.clientWidth <= innerWidth && (b.scrollWidth <= b.clientWidth + 1 || b.tabIndex === 0))""")
        page.add_style_tag(content=f".bd-article .figure-box svg {{ {wrong} }}")
        assert min(page.evaluate(LABELS)) < 8.8


OUTPUTS = """() => {  // columns of each printed output, by whether it scrolls
    document.querySelectorAll(".bd-article details").forEach((fold) => { fold.open = true; });
    const found = {scrolls: [], whole: []};
    for (const pre of document.querySelectorAll(".cell_output .output pre")) {
        const columns = Math.max(...pre.textContent.split("\\n").map((line) => line.length));
        found[pre.scrollWidth > pre.clientWidth + 1 ? "scrolls" : "whole"].push(columns);
    }
    return found;
}"""


def test_an_output_of_68_columns_is_whole(chrome, book):
    """In letters of 9 pixels or more; of what is wider the edge fades, and only of that."""
    with visitor(chrome, book, 390) as page:
        whole, scroll = [], []
        for name in ("04_attention", "08_mask", "11_train", "12_generate", "exercises/ex04_attention"):
            visit(page, f"{book}/book/{name}.html")
            found = page.evaluate(OUTPUTS)
            whole, scroll = whole + found["whole"], scroll + found["scrolls"]
            assert page.evaluate("""() => [...document.querySelectorAll(".cell_output .output pre")].every(
                (pre) => parseFloat(getComputedStyle(pre).fontSize) >= 9)"""), name
        assert min(scroll) > 68 and max(whole) >= 68 and len(whole) > 12 * len(scroll), (sorted(scroll), len(whole))
        visit(page, f"{book}/book/11_train.html")
        page.evaluate(OUTPUTS)
        page.wait_for_function("""() => [...document.querySelectorAll(".cell_output .output pre")].every(
            (pre) => (pre.scrollWidth > pre.clientWidth + 1) === (getComputedStyle(pre).maskImage !== "none"))""")
        for wrong in (".bd-article .cell .cell_output > .output { margin-inline: 0 !important }",
                      ".bd-article [style] div.highlight pre { font-size: 12.6px }"):
            page.add_style_tag(content=wrong)
            assert min(page.evaluate(OUTPUTS)["scrolls"]) <= 68, wrong
            page.reload()


BOX = '<div class="output stream notranslate"><div class="highlight"><pre><span></span>{}</pre></div></div>'


def longest_lines_are_counted(module):
    line = '<span class="n">a</span> &lt; b  ' + "x" * 42
    styled = BOX.format(f"short\n{line}\n").replace('notranslate"', 'notranslate" style="--columns: 49"')
    assert module.columns(BOX.format(f"short\n{line}\n")) == styled
    assert module.columns(BOX.format("x" * 46)) == BOX.format("x" * 46)
    two = BOX.format("x" * 50) + BOX.format("y" * 60)
    assert [part[:2] for part in module.columns(two).split("--columns: ")[1:]] == ["50", "60"]


def test_columns_are_those_of_the_longest_line():
    longest_lines_are_counted(rewritten(PHONE))


@pytest.mark.parametrize(("old", "new"), [
    ("max(map(len, lines))", "len(lines[0])"), ("max(map(len, lines))", "sum(map(len, lines))"),
    ('re.sub(r"<[^>]*>", "", box[3])', "box[3]"), ("unescape(re", "(re"), ("longest > SHOWN", "longest"),
    (".*?)(?=", ".*)(?="),
], ids=["of the first line", "of all lines", "tags count", "entities count", "of short ones too", "two boxes are one"])
def test_wrong_columns_are_noticed(old, new):
    module = rewritten(PHONE, old, new)
    with pytest.raises(AssertionError):
        longest_lines_are_counted(module)


LADDERS = """() => [...document.querySelectorAll(".bd-article table.table:not(.stacked) :is(th, td)")].filter((cell) =>
    cell.clientWidth && cell.textContent.trim().split(/\\s+/).length > 4
    && cell.clientWidth < 9 * parseFloat(getComputedStyle(cell).fontSize)).length"""


def test_no_cell_is_a_ladder_of_words(chrome, book):
    with visitor(chrome, book, 390) as page:
        found = {}
        for name in ("start", "03_position", "11_train", "15_vision", "notation", "times"):
            visit(page, f"{book}/book/{name}.html")
            found[name] = page.evaluate(LADDERS)
        assert found == dict.fromkeys(found, 0)
        answer_with(page, "phone.js", " || ladder(table)", "")
        visit(page, f"{book}/book/start.html")
        assert page.evaluate(LADDERS) > 0


UNEVEN = """() => [...document.querySelectorAll("table.stacked tr")].flatMap((row) =>
    [...row.querySelectorAll("td")].map((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const words = [...range.getClientRects()].filter((r) => r.width);
        return words.length ? [Math.min(...words.map((r) => r.top)), Math.max(...words.map((r) => r.bottom))] : null;
    }).filter((found) => found).sort((a, b) => a[0] - b[0]).filter((cell, k, all) =>
        k && cell[0] < all[k - 1][1] - 0.5
        && Math.abs(cell[0] + cell[1] - all[k - 1][0] - all[k - 1][1]) > 8)).length"""


def test_what_is_in_one_line_of_a_stacked_row_stands_in_it(chrome, book):
    """The first link of a row has room for a finger; what follows it in its line is no higher for that."""
    with contextlib.closing(chrome.new_context(viewport={"width": 390, "height": 844}, has_touch=True)) as context:
        page = context.new_page()
        page.goto(f"{book}/book/times.html")
        page.locator("table.stacked").first.wait_for()
        assert page.evaluate(UNEVEN) == 0
        page.add_style_tag(content="table.stacked tr { align-items: stretch !important }")
        assert page.evaluate(UNEVEN) > 5


# Whatever can be met, but links in running text, in a cell or in a line of code; around some of it is more to meet
SMALL = """() => [...document.querySelectorAll("a[href], button, summary, input, select")].filter((e) => {
    const place = (e.querySelector(":scope > .toctree-toggle") ?? e).getBoundingClientRect();
    const text = e.matches("a:not(.sd-btn, .eq)") && e.parentElement.closest("p, td, dd");
    if (!place.width || !e.checkVisibility({checkVisibilityCSS: true})) return false;
    if (text || e.closest(".skip-link, pre")) return false;
    const around = ["::before", "::after"].map((name) => getComputedStyle(e, name))
        .map((s) => s.position === "absolute" && s.content !== "none" ? parseFloat(s.height) : 0);
    return Math.max(place.height, ...around.filter((height) => height)) < 43.9 && !e.matches("td a.eq");
}).map((e) => `${e.tagName}.${e.getAttribute("class")}`)"""
FINGERS = ("index", "book/04_attention", "book/exercises/ex04_attention", "book/notation", "book/api/around", "search",
           "genindex")


def test_what_a_finger_meets_is_large_enough(chrome, book):
    """On each kind of page, 44 pixels; and in the drawer with the list of pages."""
    context = chrome.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    with contextlib.closing(context):
        page = context.new_page()
        found = {}
        for name in FINGERS:
            page.goto(f"{book}/{name}.html")
            found[name] = page.evaluate(SMALL)
            if name == "book/04_attention":
                page.locator("button.primary-toggle:visible").click()
                page.locator("#pst-primary-sidebar-modal li > a").first.wait_for()
                found["drawer"] = page.evaluate(SMALL)
                page.keyboard.press("Escape")
                page.locator("button.secondary-toggle:visible").click()
                page.locator("#pst-secondary-sidebar-modal li > a").first.wait_for()
                found["contents"] = page.evaluate(SMALL)
        assert found == dict.fromkeys(found, [])
        for name, wrong in (("index", ".bd-header-article .btn { min-height: 0 !important }"),
                            ("index", ".sorter-moments span { min-height: 0 !important }"),
                            ("search", "form.bd-search input.form-control { min-height: 0 !important }"),
                            ("book/04_attention", ".bd-article a.eq::after { content: none !important }"),
                            ("book/04_attention", ".eq-stop::after { height: 20px !important }"),
                            ("book/04_attention", "details > summary { all: unset !important }")):
            page.goto(f"{book}/{name}.html")
            page.add_style_tag(content=wrong)
            assert page.evaluate(SMALL), wrong


BARS = """() => [...document.querySelector(".genindex-jumpbox").childNodes].filter((e) => {
    const text = document.createRange();
    text.selectNode(e);
    return e.nodeType === Node.TEXT_NODE && text.getBoundingClientRect().width;
}).length"""


@pytest.mark.parametrize("width", [1280, 390])
def test_the_letters_of_the_index_stand_alone(chrome, book, width):
    """No bar between them: a row would end with one."""
    with visitor(chrome, book, width) as page:
        visit(page, f"{book}/genindex.html")
        letters = page.locator(".genindex-jumpbox a")
        assert page.evaluate(BARS) == 0 and letters.count() > 20
        boxes = sorted((round(box["y"]), box["x"], box["width"]) for box in (a.bounding_box() for a in letters.all()))
        apart = [x - left - wide for (y, left, wide), (row, x, _) in zip(boxes, boxes[1:], strict=False) if y == row]
        assert min(apart) > -0.5 and min(wide for *_, wide in boxes) > 20
        page.add_style_tag(content=".genindex-jumpbox { font-size: 1rem !important }")
        assert page.evaluate(BARS) > 20


BROKEN = """() => [...document.querySelectorAll(".genindextable td > ul > li > a")].filter((e) => {
    const word = document.createRange(), text = e.firstChild, long = text?.data?.match(/^[\\w.]+/);  // its name
    if (!long) return false;
    word.setStart(text, 0);
    word.setEnd(text, long[0].length);
    return new Set([...word.getClientRects()].map((line) => line.top)).size > 1;
}).length"""


def test_names_in_the_index_are_not_broken(chrome, book):
    """Its three columns are too narrow on a phone."""
    with visitor(chrome, book, 390) as page:
        visit(page, f"{book}/genindex.html")
        assert page.evaluate(BROKEN) == 0 and not faults(page)
        page.add_style_tag(content=".genindextable td { width: 33% !important }")
        assert page.evaluate(BROKEN) > 20


OUTPUT_GAPS = """() => Math.min(...[...document.querySelectorAll(".cell_output > .output + .output")].map((box) =>
    box.getBoundingClientRect().top - box.previousElementSibling.getBoundingClientRect().bottom))"""


def test_a_box_stands_apart_from_the_output_above(chrome, book):
    with visitor(chrome, book) as page:
        for name in ("04_attention", "08_mask", "11_train"):
            visit(page, f"{book}/book/{name}.html")
            assert 8 <= page.evaluate(OUTPUT_GAPS) < 40, name
        page.add_style_tag(content=".cell_output > .output { margin-top: 0 !important }")
        assert page.evaluate(OUTPUT_GAPS) <= 0
