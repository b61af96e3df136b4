"""Print the built book into one PDF, with bookmarks and links that work inside it: `make pdf`.

    python tools/make_pdf.py [--html _build/html] [--to _build/transformers-by-hand.pdf] [book/04_attention …]

A Chromium that is installed prints each page, answers unfolded and without the code of figures; pypdf joins them. Named
pages are printed alone. The whole book takes some minutes.
"""

import argparse
import contextlib
import functools
import http.server
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from playwright.sync_api import sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, FloatObject, NameObject, NullObject, NumberObject
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
COLUMN = 680  # pixels: what the margins leave of A4, 180 mm. Scripts fit formulas to the window: were it wider,
# Chromium would print all of the page smaller, until they are on the sheet.
CHROMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome",
           "google-chrome-stable")
STYLE = """
@page { size: A4; margin: 16mm 15mm 18mm; @bottom-center { content: counter(page); font: 9pt sans-serif; } }
html { counter-reset: page %d; } body { counter-reset: none; }
details.hide, .course-search-list, .thebe-launch-button, .prev-next-footer, .bd-footer, .skip-link { display: none; }
.bd-article-container, .bd-article, .bd-main .bd-content {
  max-width: none !important; padding: 0 !important; margin: 0 !important; }
.drawing { width: auto !important; max-height: 240mm; }  /* taller than a sheet, it would be cut */
mjx-container :is(use, path) { stroke-width: 0 !important; }  /* MathJax thickens its letters for screens */
#jb-print-docs-body { break-after: auto !important; }
"""


def pages_of(toc):
    """The pages of the table of contents, in reading order."""
    found = [toc["root"]] if "root" in toc else [toc["file"]] if "file" in toc else []
    for part in (*toc.get("parts", ()), *toc.get("chapters", ()), *toc.get("sections", ())):
        found += pages_of(part)
    return found


@contextlib.contextmanager
def served(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def printed(page, site, name, first, file):
    """Print one page of the book, its sheets numbered from `first`; its title and its sections: title, anchor."""
    page.set_viewport_size({"width": COLUMN, "height": 1400})
    page.goto(f"{site}/{name}.html", wait_until="load")
    page.add_style_tag(content=STYLE % (first - 1))
    page.evaluate("""() => {
        document.querySelectorAll("details:not(.hide)").forEach((fold) => { fold.open = true; });
        document.querySelectorAll("img[loading]").forEach((image) => image.removeAttribute("loading"));
    }""")
    page.evaluate("Promise.all([...document.images].map((image) => image.decode().catch(() => null)))")
    page.evaluate("window.fitFormulas?.()")  # also those in the folds
    page.pdf(path=file, prefer_css_page_size=True, print_background=True)
    text = """(e) => {
        const heading = e.cloneNode(true);
        heading.querySelectorAll(".headerlink, mjx-assistive-mml").forEach((part) => part.remove());
        return heading.textContent.trim();
    }"""
    title = page.locator("article h1").last.evaluate(text)
    sections = [(h.evaluate(text), h.evaluate("(e) => e.closest('section').id"))
                for h in page.locator("article section section > h2").all()]
    return title, sections


def place(sheet, top=None):
    """An explicit destination: this sheet, at this height or at its top."""
    where = FloatObject(top) if top is not None else NullObject()
    return ArrayObject([sheet.indirect_reference, NameObject("/XYZ"), NullObject(), where, NumberObject(0)])


def destination(entry):
    """Where a link of a printed page goes: ("name", an anchor of the same page), ("uri", an address), or None."""
    action = entry.get("/A", {}).get_object() if "/A" in entry else {}
    to = entry.get("/Dest", action.get("/D"))
    if isinstance(to, str):
        return "name", unquote(str(to).lstrip("/"))
    return ("uri", str(action["/URI"])) if "/URI" in action else None


def lead(entry, to):
    entry.pop("/A", None)
    entry[NameObject("/Dest")] = to


def joined(parts, site, target):
    """Join the printed pages: a list of name, title, sections and file. Links from page to page go inside the PDF, to
    their section where Chromium noted its place, and else to the beginning of the page."""
    writer, begins, known = PdfWriter(), {}, {}
    for name, title, sections, file in parts:
        reader, begins[name] = PdfReader(file), len(writer.pages)
        known[name] = {unquote(key.lstrip("/")): (begins[name] + reader.get_destination_page_number(to), to.top)
                       for key, to in reader.named_destinations.items()}
        writer.append(reader, import_outline=False)
        above = writer.add_outline_item(title=title, page_number=begins[name])
        for heading, anchor in sections:
            if anchor in known[name]:
                writer.add_outline_item(title=heading, page_number=known[name][anchor][0], parent=above)
    within = lost = 0
    ends = [*list(begins.values())[1:], len(writer.pages)]
    for name, end in zip(begins, ends, strict=True):
        for sheet in writer.pages[begins[name]:end]:
            for entry in (reference.get_object() for reference in sheet.get("/Annots", ())):
                kind, to = destination(entry) or ("", "")
                here, anchor = name, to
                if kind == "uri" and to.startswith(site):
                    url = urlsplit(to)
                    here, anchor = url.path.strip("/").removesuffix(".html"), unquote(url.fragment)
                elif kind != "name":
                    continue
                if here in begins:
                    at, top = known[here].get(anchor, (begins[here], None))
                    lead(entry, place(writer.pages[at], top))
                    within += 1
                else:  # a file to load, or a page that is not in this PDF: a link to this machine is none
                    entry.pop("/A", None)
                    lost += 1
    writer.add_metadata({"/Title": "Transformers by Hand", "/Author": "The course authors"})
    writer.root_object.pop("/Dests", None)
    writer.page_mode = "/UseOutlines"
    writer.compress_identical_objects()
    new = target.with_name(f".{target.name}.{os.getpid()}")
    writer.write(new)
    new.replace(target)
    return len(writer.pages), within, lost


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="pages to print, such as book/04_attention; default all")
    parser.add_argument("--html", type=Path, default=ROOT / "_build" / "html", help="the built book")
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / "transformers-by-hand.pdf", help="what to write")
    options = parser.parse_args()
    every = pages_of(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8")))
    if unknown := [name for name in options.pages if name not in every]:
        sys.exit(f"no such page in _toc.yml: {', '.join(unknown)}; expected names such as {every[2]}")
    names = [name for name in every if not options.pages or name in options.pages]
    if not all((options.html / f"{name}.html").is_file() for name in names):
        sys.exit(f"{options.html} does not hold these pages: run `make book` first")
    chrome = next(filter(None, map(shutil.which, CHROMES)), None) or sys.exit("make pdf needs Chromium or Chrome")
    with tempfile.TemporaryDirectory() as folder, served(options.html) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chrome, args=["--no-sandbox", "--disable-gpu"])
        parts, sheets = [], 1
        for name in tqdm(names, unit="page", disable=None):
            page = browser.new_page(color_scheme="light")
            page.emulate_media(media="print")
            file = Path(folder) / f"{len(parts)}.pdf"
            parts.append((name, *printed(page, site, name, sheets, file), file))
            sheets += len(PdfReader(file).pages)
            page.close()
        browser.close()
        count, within, lost = joined(parts, site, options.to)
    print(f"{options.to}: {count} sheets, {options.to.stat().st_size / 1e6:.1f} MB, {within} links lead inside, "
          f"{lost} to files beside the book were dropped")


if __name__ == "__main__":
    main()
