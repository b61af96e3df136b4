"""The book as one PDF: each printed page is in its place, and each link leads where it led."""

from collections import Counter
from pathlib import Path

import make_pdf
import pytest
from browser import browser, built_book, serve

ROOT = Path(__file__).resolve().parents[1]
HEAD = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A</title></head><body><main><article>'
LOOKS = """() => [document.documentElement.className, document.querySelectorAll(".eq-broken").length,
    ...[...document.querySelectorAll("div.math, article p")].map((e) => e.getBoundingClientRect().width)]"""
MARGINS = dict.fromkeys(("top", "bottom", "left", "right"), "10mm")  # as in the dialogs of browsers
FAR = '<div style="break-before: page"></div>'
PAGES = {
    "book/a": '<section id="a"><h1>First</h1><p><a href="#near">Near</a> <a href="b.html#deep">Deep</a> '
              '<a href="b.html">B</a> <a href="b.html#unknown">Unknown</a> <a href="a.ipynb">File</a> '
              '<a href="https://example.org/">Out</a></p>'
              f'{FAR}<section id="near"><h2>1.1 · Near<a class="headerlink" href="#near">#</a></h2>'
              '<details><summary>Answer</summary><p>Forty-two</p></details>'
              '<details class="hide"><summary>Code</summary><p>Secret</p></details></section></section>',
    "book/b": f'<section id="b"><h1>Second</h1>{FAR}{FAR}<section id="deep"><h2>2.1 · Deep</h2>'
              '<p><a href="a.html#near">Back</a> <a href="#deep">Here</a></p></section></section>',
}


def test_pages_in_reading_order():
    toc = {"root": "i", "parts": [{"chapters": [{"file": "a", "sections": [{"file": "a/1"}]}, {"file": "b"}]}]}
    assert make_pdf.pages_of(toc) == ["i", "a", "a/1", "b"]


FITTED = ('<section id="a"><h1>First</h1><p>Sixteen pixels are twelve points.</p>'
          '<script>document.write(`<div style="width: ${innerWidth - 20}px; height: 1px"></div>`)</script></section>')


def points(tmp_path):
    """The size in which a sheet has a text of 16 pixels, where a script has fitted a box to the window."""
    from pypdf import PdfReader

    (tmp_path / "page.html").write_text(f"{HEAD}{FITTED}</article></main></body></html>", encoding="utf-8")
    with serve(tmp_path) as site, browser() as chrome:
        page = chrome.new_page(viewport={"width": 1280, "height": 900})
        make_pdf.printed(page, site, "page", 1, tmp_path / "page.pdf")
    found = []

    def look(text, cm, tm, font, size):
        if "Sixteen" in text:
            found.append(abs(cm[0] * tm[0] * size))

    PdfReader(tmp_path / "page.pdf").pages[0].extract_text(visitor_text=look)
    return max(found)


@pytest.mark.browser
def test_nothing_is_printed_smaller_than_it_is(tmp_path, monkeypatch):
    assert points(tmp_path) == pytest.approx(12, rel=0.01)
    monkeypatch.setattr(make_pdf, "COLUMN", 1000)
    assert points(tmp_path) < 11


def sizes_of(sheet):
    """How many letters of running text a sheet has in each size, in points."""
    found = Counter()

    def look(text, cm, tm, font, size):
        found[round(abs(cm[0] * tm[0] * size), 1)] += len(text) * (len(text) > 20)

    sheet.extract_text(visitor_text=look)
    return found


@pytest.mark.browser
@pytest.mark.parametrize("event, size", [("beforeprint", 10.5), ("never", 9)], ids=["fitted", "not fitted"])
def test_a_reader_prints_in_full_size(tmp_path, event, size):
    """From a wide window: formulas and the links over them stand further to the right there than a sheet is wide."""
    from pypdf import PdfReader

    def script(route):
        text = (ROOT / "_ext/static/formulas.js").read_text(encoding="utf-8")
        route.fulfill(body=text.replace('"beforeprint"', f'"{event}"'), content_type="text/javascript")

    with serve(built_book("book/workshop.html")) as site, browser() as chrome:
        page = chrome.new_page(viewport={"width": 1920, "height": 1000})
        page.route("**/formulas.js*", script)
        page.goto(f"{site}/book/workshop.html")
        shown = page.evaluate(LOOKS)
        page.pdf(path=tmp_path / "page.pdf", format="A4", margin=MARGINS)
        assert page.evaluate(LOOKS) == shown  # afterwards the screen is as it was
    sizes = sum(map(sizes_of, PdfReader(tmp_path / "page.pdf").pages), Counter())
    assert sizes.most_common(1)[0][0] == pytest.approx(size, abs=0.3)


WRAPPED = """() => [...document.querySelectorAll("div.highlight pre")].filter((pre) => {
    const lines = pre.textContent.trimEnd().split("\\n"), style = getComputedStyle(pre);
    const high = pre.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
    return pre.clientHeight && high > (lines.length + 0.5) * parseFloat(style.lineHeight);
}).length"""


@pytest.mark.browser
@pytest.mark.parametrize(("column", "fits"), [(make_pdf.COLUMN, True), (600, False)])
def test_code_is_printed_with_its_own_lines(tmp_path, monkeypatch, column, fits):
    monkeypatch.setattr(make_pdf, "COLUMN", column)
    with serve(built_book("book/09_block.html")) as site, browser() as chrome:
        page = chrome.new_page()
        page.emulate_media(media="print")
        make_pdf.printed(page, site, "book/09_block", 1, tmp_path / "page.pdf")
        assert (page.evaluate(WRAPPED) == 0) is fits


DRAWING = ('<svg class="drawing" viewBox="0 0 580 1400" width="580" height="1400"><text y="20">Top</text>'
           '<text y="1380">Bottom</text></svg>')


@pytest.mark.browser
def test_a_drawing_is_printed_on_one_sheet(tmp_path, monkeypatch):
    """Also where it is taller than one: there it is cut without the rule. (No browser cuts one that has its place.)"""
    from pypdf import PdfReader

    rule = "max-height: 240mm;"
    (tmp_path / "page.html").write_text(
        f'{HEAD}<section id="a"><h1>First</h1>{DRAWING}</section></article></main></body></html>', encoding="utf-8")
    for whole in (True, False):
        with serve(tmp_path) as site, browser() as chrome:
            make_pdf.printed(chrome.new_page(), site, "page", 1, tmp_path / "page.pdf")
        sheets = [sheet.extract_text() for sheet in PdfReader(tmp_path / "page.pdf").pages]
        assert any("Top" in text and "Bottom" in text for text in sheets) is whole
        assert make_pdf.STYLE.count(rule) == whole
        monkeypatch.setattr(make_pdf, "STYLE", make_pdf.STYLE.replace(rule, ""))


@pytest.mark.browser
def test_joined_pages(tmp_path):
    from pypdf import PdfReader

    for name, text in PAGES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.html").write_text(f"{HEAD}{text}</article></main></body></html>", encoding="utf-8")
    with serve(tmp_path) as site, browser() as chrome:
        page, parts, sheets = chrome.new_page(), [], 1
        for name in PAGES:
            file = tmp_path / f"{len(parts)}.pdf"
            parts.append((name, *make_pdf.printed(page, site, name, sheets, file), file))
            sheets += len(PdfReader(file).pages)
        counts = make_pdf.joined(parts, site, tmp_path / "book.pdf")
    book = PdfReader(tmp_path / "book.pdf")
    assert counts == (len(book.pages), 7, 1) and len(book.pages) == 5
    assert [(item.title, book.get_destination_page_number(item)) for item in book.outline if not isinstance(item, list)
            ] == [("First", 0), ("Second", 2)]
    assert [(item.title, book.get_destination_page_number(item)) for below in book.outline if isinstance(below, list)
            for item in below] == [("1.1 · Near", 1), ("2.1 · Deep", 4)]
    leads = []
    for k, sheet in enumerate(book.pages):
        for entry in (reference.get_object() for reference in sheet.get("/Annots", ())):
            at = next((n for n, p in enumerate(book.pages) if "/Dest" in entry and p == entry["/Dest"][0].get_object()),
                      None)
            leads.append((k, at, entry.get("/A", {}).get("/URI")))
    assert [lead for lead in leads if lead[0] != 1] == [
        (0, 1, None), (0, 4, None), (0, 2, None), (0, 2, None), (0, None, None), (0, None, "https://example.org/"),
        (4, 1, None), (4, 4, None)]
    text = [" ".join(sheet.extract_text().split()) for sheet in book.pages]
    assert "Forty-two" in text[1] and "Secret" not in text[1]  # answers stand open, the code of figures is left out
    assert all(f"{k}" in (line.split()[0], line.split()[-1]) for k, line in enumerate(text, 1)), text
