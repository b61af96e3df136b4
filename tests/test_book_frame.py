"""The book's frame: configuration, table of contents, the map, glossary and references, and the built pages as text.

Two clean builds, even in two folders, give the same bytes in every file of _build/html (seen: `diff -r` over all of
them). Only the pickles of _build/.doctrees differ, which no reader gets. What used to differ, and must stay away:
dates in the footer (html_last_updated_fmt), absolute paths in the configuration (.buildinfo holds its hash), and bare
`align`, which gets a random anchor (notebooks write `align*` with hand-written tags).
"""

import gzip
import html
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import citations
import pytest
import yaml
from browser import built_book

ROOT = Path(__file__).resolve().parents[1]
BOOK, HTML = ROOT / "book", ROOT / "_build" / "html"
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
INDEX = (BOOK / "index.md").read_text(encoding="utf-8")
GLOSSARY = (BOOK / "glossary.md").read_text(encoding="utf-8")
BIB = (BOOK / "references.bib").read_text(encoding="utf-8")


def toc_files(toc) -> list[str]:
    """Every file of the table of contents, in order."""
    if isinstance(toc, list):
        return [name for item in toc for name in toc_files(item)]
    own = [toc[key] for key in ("root", "file") if key in toc]
    return own + [name for key in ("parts", "chapters", "sections") for name in toc_files(toc.get(key, []))]


def source(name: str) -> Path | None:
    return next((p for p in (ROOT / f"{name}.ipynb", ROOT / f"{name}.md") if p.is_file()), None)


def markdown(path: Path) -> str:
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


# Configuration and table of contents

def test_configuration_keeps_the_settings_that_broke_once():
    config = CONFIG["sphinx"]["config"]
    assert CONFIG["execute"]["execute_notebooks"] == "off"
    assert config["html_theme_options"]["navbar_persistent"] == []
    assert config["html_last_updated_fmt"] is None
    assert config["nb_ipywidgets_js"] == {}
    assert config["html_math_renderer"] == "drawn"
    assert "numbered" not in (ROOT / "_toc.yml").read_text(encoding="utf-8"), "all numbers are written by hand"


def pages_not_listed(listed: list[str], there: list[Path]) -> list[str]:
    names = [str(p.relative_to(ROOT).with_suffix("")) for p in there]
    return [name for name in names if name not in listed]


def test_table_of_contents_lists_what_exists():
    listed = toc_files(TOC)
    assert len(listed) == len(set(listed))
    assert [name for name in listed if source(name) is None] == []
    there = [*BOOK.glob("*.ipynb"), *BOOK.glob("exercises/*.ipynb"), *BOOK.glob("*.md"), *BOOK.glob("api/*.md")]
    there = [p for p in there if not p.name.endswith(".nb.md")]
    assert pages_not_listed(listed, there) == []
    assert pages_not_listed([n for n in listed if n != "book/glossary"], there) == ["book/glossary"]


def test_every_chapter_has_its_problem_set_below_it():
    chapters = [name for name in toc_files(TOC) if re.fullmatch(r"book/\d\d_\w+", name)]
    assert chapters
    listed = toc_files(TOC)
    for name in chapters:
        assert listed[listed.index(name) + 1] == name.replace("book/", "book/exercises/ex")


# The map on the first page

def map_faults(page: str, chapters: set[int]) -> list[str]:
    """Where the drawing, the table and the table of contents disagree."""
    edges = {tuple(map(int, e.split())) for e in re.findall(r'data-edge="(\d+ \d+)"', page)}
    drawn = {int(n) for n in re.findall(r'<a href="(\d\d)_\w+\.html"', page)}
    boxes = {int(n) for n in re.findall(r'class="course-n">(\d+)<', page)}
    rows = map_rows(page)
    linked = {int(n) for n, title, _, _ in rows if "](" in title}
    planned = {int(n) for n, title, _, _ in rows if "`planned`" in title}
    needs = {(int(a), int(n)) for n, _, _, needed in rows for a in re.findall(r"\d+", needed)}
    faults = []
    if boxes != set(range(18)) or [int(n) for n, *_ in rows] != list(range(18)):
        faults.append("not all of 0 to 17 are drawn and listed")
    if edges != needs:
        faults.append(f"lines and the column Needs differ: {sorted(edges ^ needs)}")
    if not drawn == linked == chapters or planned != set(range(18)) - chapters:
        faults.append(f"written chapters: drawn {drawn}, table {linked}, table of contents {chapters}")
    if any(a >= b and (a, b) != (8, 7) for a, b in edges):
        faults.append("a chapter needs a later one")
    if early := sorted((a, b) for a, b in needs if a in planned and b in linked):
        faults.append(f"a written chapter needs a planned one: {early}")
    return faults


def map_rows(page: str) -> list[tuple[str, str, str, str]]:
    """Number, title, hours and needs of each chapter."""
    return re.findall(r"^\| (?:\[\*\*)?(\d+) · ([^|]+) \| [^|]+ \| ([\d½\s+–]+) \| ([\d, –]+) \|$", page, flags=re.M)


def hours_faults(page: str, minutes: dict[int, tuple[int | None, int]]) -> list[str]:
    """Where the hours of the table are more than a third of one from the minutes that a chapter and its set state."""
    faults = []
    for number, _, hours, _ in map_rows(page):
        said = [float(h.replace("½", ".5")) * 60 for h in hours.split("+")] if "+" in hours else []
        have = minutes.get(int(number), ())
        if len(said) != len(have) or any(b is not None and abs(a - b) > 22 for a, b in zip(said, have, strict=False)):
            faults.append(f"chapter {number}: {hours} hours, {have} minutes")
    return faults


def test_written_chapters_have_one_title():
    for name in toc_files(TOC):
        if re.fullmatch(r"book/\d\d_\w+", name):
            title = re.search(r"^# (.+)$", markdown(source(name)), flags=re.M)[1]
            assert f"[**{title}**]({name.removeprefix('book/')}.ipynb)" in INDEX, f"the map's table has no {title!r}"


def test_map_table_and_contents_agree():
    chapters = {int(n) for n in re.findall(r"book/(\d\d)_", " ".join(toc_files(TOC)))}
    assert map_faults(INDEX, chapters) == []
    wrong = {
        "a line removed": re.sub(r'.*data-edge="4 5".*\n', "", INDEX),
        "a need changed": INDEX.replace("| 4, 6 |", "| 4 |"),
        "a planned chapter needed": INDEX.replace("½ | 0 |", "½ | 0, 1 |").replace(
            'data-edge="0 4"', 'data-edge="0 4"/><path data-edge="1 4"'),
        "a box removed": INDEX.replace('class="course-n">9<', 'class="x">9<'),
        "a planned chapter drawn as written": INDEX.replace('<a href="04_', '<a href="05_', 1),
        "a written chapter listed as planned": INDEX.replace("](04_attention.ipynb) |", "] {bdg-secondary}`planned` |"),
    }
    assert [name for name, page in wrong.items() if page == INDEX or not map_faults(page, chapters)] == []


def stated(chapter: Path) -> tuple[int | None, int]:
    """The minutes that a chapter's first lines give for reading it, if they do; those of its exercises together."""
    reading = re.search(r"\*\*Time:\*\* about (\d+) minutes", markdown(chapter))
    practice = re.findall(r"\*\d+ points?, about (\d+) minutes", markdown(BOOK / "exercises" / f"ex{chapter.name}"))
    return reading and int(reading[1]), sum(map(int, practice))


def test_hours_are_those_of_the_pages():
    minutes = {int(p.name[:2]): stated(p) for p in BOOK.glob("[0-9][0-9]_*.ipynb")}
    assert all(practice > 30 for _, practice in minutes.values())
    assert hours_faults(INDEX, minutes) == []
    assert hours_faults(INDEX, minutes | {4: (60, 100)}) and hours_faults(INDEX, minutes | {4: (100, minutes[4][1])})
    assert hours_faults(INDEX.replace("| 1\u00a0+", "| 2\u00a0+"), {n: (60, m) for n, (_, m) in minutes.items()})


def test_the_start_page_comes_first():
    assert toc_files(TOC)[:2] == ["book/index", "book/start"]


# Notebooks must look the same in Jupyter and Colab, which know none of our macros

def macros_used(text: str) -> list[str]:
    macros = CONFIG["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"]
    return [name for name in macros if re.search(rf"\\{name}(?![A-Za-z])", text)]


def test_notebooks_use_no_macros_of_the_book():
    notebooks = [*BOOK.glob("*.ipynb"), *BOOK.glob("exercises/*.ipynb")]
    assert {p.name: used for p in notebooks if (used := macros_used(markdown(p)))} == {}
    assert macros_used(r"$X \in \R^n$") == ["R"] and macros_used(r"\Re, \operatorname{softmax}") == []


# Glossary and references

def glossary_entries(page: str) -> dict[str, list[str]]:
    block = re.search(r"```\{glossary\}\n(.*?)```", page, flags=re.S)[1]
    entries = re.findall(r"^(\S.*)\n((?:  .+\n)+)", block, flags=re.M)
    return {term: [line.strip() for line in lines.splitlines()] for term, lines in entries if not term.startswith(":")}


def glossary_faults(page: str) -> list[str]:
    entries = glossary_entries(page)
    faults = [t for t, lines in entries.items() if len(lines) != 2 or any(line[-1] != "." for line in lines)]
    return faults + (["not in order"] if list(entries) != sorted(entries, key=str.casefold) else [])


def test_glossary_entries_are_two_sentences_in_order():
    assert len(glossary_entries(GLOSSARY)) > 40
    assert glossary_faults(GLOSSARY) == []
    assert glossary_faults(GLOSSARY.replace("token\n  One unit", "token\n  It is one. \n  One unit", 1))
    assert glossary_faults(GLOSSARY.replace("\ntwin\n", "\naardvark\n"))


def test_every_term_that_a_page_links_to_is_in_the_glossary():
    terms = {term.casefold() for term in glossary_entries(GLOSSARY)}
    for name in toc_files(TOC):
        for text in re.findall(r"\{term\}`([^`]+)`", markdown(source(name))):
            target = re.sub(r".*<(.+)>$", r"\1", text).casefold()
            assert target in terms, f"{name} links to the term {target!r}, which the glossary does not have"


def bibliography(bib: str) -> dict[str, dict[str, str]]:
    entries = re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", bib, flags=re.M | re.S)
    return {key: dict(re.findall(r"^  (\w+) = \{(.*?)\},$", body, flags=re.M | re.S)) for key, body in entries}


def bibliography_faults(bib: str) -> list[str]:
    entries, keys = bibliography(bib), re.findall(r"^@\w+\{(\w+),", bib, flags=re.M)
    faults = [f"{key} twice" for key in set(keys) if keys.count(key) > 1]
    faults += ["not in order"] if keys != sorted(keys) else []
    for key, fields in entries.items():
        faults += [f"{key}: no {field}" for field in ("author", "title", "year") if not fields.get(field)]
        if "eprint" in fields and not re.fullmatch(r"\d{4}\.\d{4,5}", fields["eprint"]):
            faults.append(f"{key}: {fields['eprint']} is no arXiv number")
        if "doi" in fields:
            faults.append(f"{key}: a DOI, which nobody has checked")
    return faults


def test_references_are_complete():
    assert len(bibliography(BIB)) >= 30
    assert bibliography_faults(BIB) == []
    assert bibliography_faults(BIB.replace("  year = {2017},\n", ""))
    assert bibliography_faults(BIB.replace("1706.03762", "1706.376"))
    assert bibliography_faults(BIB.replace("@book{griewank2008", "@book{ba2016"))


def test_every_citation_has_an_entry_and_every_entry_is_shown():
    for name in toc_files(TOC):
        cited = ",".join(re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", citations.cite(markdown(source(name)))))
        assert {key.strip() for key in cited.split(",") if key} <= set(bibliography(BIB)), name
    assert ":all:" in (BOOK / "bibliography.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("plain", "role"), [
    ("by [Ba et al. (2016)](references.bib#ba2016):", "by {cite:t}`ba2016`:"),
    ("so ([Ba et al., 2016](../references.bib#ba2016))", "so {cite:p}`ba2016`"),
    ("so ([Ba et al., 2016](references.bib#ba2016); [Press and Wolf, 2017](references.bib#press2017))",
     "so {cite:p}`ba2016,press2017`"),
    ("(as [Ba et al. (2016)](references.bib#ba2016) do)", "(as {cite:t}`ba2016` do)"),
    ("[here](other.bib#ba2016), [there](https://a.org)", "[here](other.bib#ba2016), [there](https://a.org)"),
])
def test_a_link_to_the_bibliography_is_a_citation_in_the_book(plain, role):
    assert citations.cite(plain) == role and citations.wrong(plain) == []


def test_a_citation_says_whom_it_cites():
    assert citations.labels()["press2017"] == ("Press and Wolf", "2017")
    assert citations.labels()["popovic2015"] == ("Popović", "2015")  # accents as a reader writes them
    assert citations.labels()["olsson2022"][0] == "Olsson et al."  # "and others"
    assert citations.wrong("([Ba et al., 2015](references.bib#ba2016))")


# The pages that were built

class Page(HTMLParser):
    """What a page links to, what it loads, which anchors it has, and how it describes itself."""

    def __init__(self, text: str):
        super().__init__()
        self.links, self.loads, self.scripts, self.ids, self.description = [], [], [], set(), None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.ids |= {a[key] for key in ("id", "name") if a.get(key)}
        if tag == "a" and a.get("href"):
            self.links.append(a["href"])
        if tag in ("script", "img", "source", "iframe", "video", "audio", "embed") and a.get("src"):
            self.loads.append(a["src"])
        if tag == "script" and a.get("src"):
            self.scripts.append(a["src"])
        if tag == "object" and a.get("data"):
            self.loads.append(a["data"])
        if tag == "link" and a.get("href") and re.search("stylesheet|icon|preload|manifest", a.get("rel") or ""):
            self.loads.append(a["href"])
        if tag == "meta" and a.get("name") == "description":
            self.description = a.get("content")


def built() -> list[Path]:
    return sorted(p for p in built_book().rglob("*.html") if "_static" not in p.parts)


@cache
def parsed(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def outside(loads: list[str]) -> list[str]:
    return [url for url in loads if urlsplit(url).netloc]


def test_pages_load_nothing_from_elsewhere():
    assert {str(p): found for p in built() if (found := outside(parsed(p).loads))} == {}
    bad = Page('<script src="https://cdn.example.org/a.js"></script><link rel="stylesheet" href="//example.org/a.css">')
    assert len(outside(bad.loads)) == 2


def outside_css(text: str) -> list[str]:
    return re.findall(r"""(?:url\(|@import\s+)["']?((?:https?:)?//[^"')]+)""", text)


def test_styles_load_nothing_from_elsewhere():
    assert {str(p): found for p in HTML.rglob("*.css") if (found := outside_css(p.read_text(encoding="utf-8")))} == {}
    assert outside_css('@import "https://a.org/b"; a{background:url(//c.org/d)}') == ["https://a.org/b", "//c.org/d"]


# What a page weighs: everything that it loads, as a server compresses it

FRONT, PAGE = 300_000, 500_000  # bytes; without the cells that run in the page
PLAIN_SEARCH = ("searchindex.js", "searchtools.js", "language_data.js")  # loaded only where lunr is not installed
ASKED = re.compile(r"""url\(["']?([^"')]+\.(?:css|svg|png))["']?\)|@import\s+["']([^"']+)["']""")


@cache
def squeezed(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), 6))


def loaded(path: Path) -> set[Path]:
    """The page and the files that it loads, style sheets of style sheets among them."""
    found, ahead = {path}, [path.parent / unquote(urlsplit(link).path) for link in parsed(path).loads
                            if not urlsplit(link).scheme]
    while ahead:
        file = ahead.pop().resolve()
        if file in found or not file.is_file() or "live" in file.relative_to(HTML.resolve()).parts:
            continue
        found.add(file)
        if file.suffix == ".css":
            ahead += [file.parent / (a or b) for a, b in ASKED.findall(file.read_text(encoding="utf-8"))
                      if not (a or b).startswith("data:")]
    return found


def weight(path: Path) -> int:
    return sum(squeezed(file) for file in loaded(path) if file.name not in PLAIN_SEARCH)


def test_pages_are_light():
    heavy = {name: n for name in toc_files(TOC) if "api" not in name and (n := weight(HTML / f"{name}.html")) > PAGE}
    assert heavy == {} and weight(HTML / "index.html") < FRONT
    attention = {file.name for file in loaded(HTML / "book" / "04_attention.html")}
    assert {"04_attention.html", "maths.css", "course.css", "basic.css", "bootstrap.js"} <= attention
    assert weight(HTML / "book" / "04_attention.html") > squeezed(HTML / "book" / "04_attention.html") + 50_000


def test_maths_is_drawn_and_icons_are_loaded_once():
    for path in built():
        page = path.read_text(encoding="utf-8")
        assert "mathjax/" not in page and "<mjx-container" in page or not re.search(r'class="[^"]*\bmath\b', page), path
        assert "fontawesome.js" not in page and "icons.css" in page, path
    style = (HTML / "_static" / "icons.css").read_text(encoding="utf-8")
    there = {chr(int(code, 16)) for code in re.findall(r"U\+([0-9a-f]+)", style)}
    theme = (HTML / "_static/styles/pydata-sphinx-theme.css").read_text(encoding="utf-8")
    for icon in "bars magnifying-glass circle-half-stroke sun moon download expand list arrow-up xmark".split():
        named = re.search(rf"\.fa-{icon}:before[^{{}}]*\{{content:\"\\(f[0-9a-f]{{3}})\"", theme)
        assert named and chr(int(named[1], 16)) in there, icon


def test_next_and_previous_follow_the_table_of_contents():
    listed = toc_files(TOC)
    for i, name in enumerate(listed):
        path = HTML / f"{name}.html"
        ways = dict(re.findall(r'<a class="(left-prev|right-next)"\s+href="([^"]+)"', path.read_text(encoding="utf-8")))
        there = {way: str((path.parent / href).resolve().relative_to(HTML.resolve())) for way, href in ways.items()}
        due = {"left-prev": listed[i - 1:i] if i else [], "right-next": listed[i + 1:i + 2]}
        assert there == {way: f"{to[0]}.html" for way, to in due.items() if to}, name


def test_the_first_address_is_the_front_page():
    page = (HTML / "index.html").read_text(encoding="utf-8")
    assert "http-equiv" not in page and 'id="sorter"' in page and 'data-content_root="./"' in page
    assert parsed(HTML / "index.html").description == parsed(HTML / "book" / "index.html").description
    assert len(parsed(HTML / "index.html").links) == len(parsed(HTML / "book" / "index.html").links)
    assert (HTML / "_static" / "card.png").is_file()


def dead_links(page: Page, path: Path) -> list[str]:
    """Links within the book whose file or anchor is not there."""
    dead = []
    for link in page.links + page.loads:
        url = urlsplit(link)
        if url.scheme or url.netloc:
            continue
        target = (path.parent / unquote(url.path)).resolve() if url.path else path
        if not target.is_file() and not link.startswith("?"):
            dead.append(link)
        elif url.fragment and target.suffix == ".html" and unquote(url.fragment) not in parsed(target).ids:
            dead.append(link)
    return dead


def test_every_link_within_the_book_leads_somewhere():
    assert {str(p): found for p in built() if (found := dead_links(parsed(p), p))} == {}
    bad = Page('<a href="nowhere.html"></a><a href="notation.html#no-such-section"></a><a href="notation.html"></a>')
    assert dead_links(bad, HTML / "book" / "index.html") == ["nowhere.html", "notation.html#no-such-section"]


def test_every_file_of_the_contents_has_a_page():
    there = {str(p.relative_to(HTML).with_suffix("")) for p in built()}
    assert set(toc_files(TOC)) <= there
    assert "book/no_such_chapter" not in there


def description_faults(text: str | None) -> list[str]:
    if not text:
        return ["no description"]
    return [f"formula in the description: {text}"] if re.search(r"[$\\]|\\\(", text) else []


def test_every_page_describes_itself_without_formulas():
    pages = {name: parsed(HTML / f"{name}.html") for name in toc_files(TOC)}
    assert {name: found for name, page in pages.items() if (found := description_faults(page.description))} == {}
    assert description_faults(Page(r'<meta name="description" content="Here \(x^2\) is">').description)
    assert description_faults(Page("<p>none</p>").description)


def test_nothing_of_this_machine_or_this_day_is_in_the_pages():
    assert (HTML / ".nojekyll").is_file() and not (HTML / "CNAME").exists()
    for path in built():
        text = path.read_text(encoding="utf-8")
        assert str(ROOT) not in text and "Last updated" not in text and "thebe" not in text.lower(), path
        assert len(parsed(path).scripts) == len(set(parsed(path).scripts)), f"{path} loads a script twice"


def test_every_term_has_an_anchor_and_every_reference_is_listed():
    anchors = {i for i in parsed(HTML / "book" / "glossary.html").ids if i.startswith("term-")}
    assert len(anchors) == len(glossary_entries(GLOSSARY))
    text = (HTML / "book" / "bibliography.html").read_text(encoding="utf-8")
    plain = re.sub(r"\W+", " ", re.sub("<[^>]+>", "", text)).casefold()
    for key, fields in bibliography(BIB).items():
        if "$" not in fields["title"]:
            title = re.sub(r"\W+", " ", fields["title"].replace("'", "’")).strip().casefold()
            assert title in plain, f"{key}: {title}"


# A page says what its source says: a full stop that the page lost, or moved, is seen

STRAIGHT = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "…": "...", "\u00a0": " "})
FORMULA = " ¤ "


def plain(text: str) -> str:
    """Letters and punctuation alone, quotes and dashes as on a keyboard, a formula as one sign."""
    text = re.sub(r"-{2,3}", "-", text.translate(STRAIGHT)).replace(FORMULA.strip(), FORMULA)
    return re.sub(r"\s+", "", text)  # a line's end, or the edge of a tag, is no difference


def said(page: str) -> str:
    """The text of a built page."""
    body = page[page.index("<article"):page.index("</article>")]
    body = re.sub(r'(?s)<(script|style)\b.*?</\1>', "", body)
    body = re.sub(r"""(?s)<span class=["']math[^>]*>.*?</span>""", FORMULA, body)
    return plain(html.unescape(re.sub(r"<[^>]*>", "", body)))


def sentences(source: str) -> list[str]:
    """The lines of prose of a source, as a page shows them; those with roles, footnotes or HTML are left out."""
    text = re.sub(r"(?ms)^(`{3,}|:{3,}|~{3,}).*?^\1[`:~]*[ ]*$", "", source)
    text = re.sub(r"(?s)\$\$.*?\$\$|\\begin\{(\w+\*)\}.*?\\end\{\1\}", "", text)
    found = []
    for line in text.splitlines():
        bare = re.sub(r"\$[^$]*\$|`[^`]*`", "", line)
        if re.match(r"[A-Z*\"“][^|]*[.?!]\)?$", line) and not re.search(r"\{|<|\]\[|\[\^|\\", bare):
            line = re.sub(r"\$[^$]+\$", FORMULA, line)
            line = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", line)
            parts = line.split("`")  # every other one is code, where an asterisk is one
            found.append(plain("".join(x if i % 2 else x.replace("*", "") for i, x in enumerate(parts))))
    return found


def unsaid(source: str, page: str) -> list[str]:
    there = said(page)
    return [line for line in sentences(source) if line not in there]


def test_a_page_says_what_its_source_says():
    checked, missing = 0, {}
    for name in toc_files(TOC):
        text = markdown(source(name))
        if found := unsaid(text, (HTML / f"{name}.html").read_text(encoding="utf-8")):
            missing[name] = found
        checked += len(sentences(text))
    assert missing == {} and checked > 2000


@pytest.mark.parametrize(("source", "page", "wrong"), [
    ("It is *so*. Then $x$, and on.", "<p>It is <em>so</em>. Then <span class='math'>\\(x\\)</span>, and on.</p>", 0),
    ("It is *so*. Then $x$.", "<p>It is <em>so</em> Then <span class='math'>\\(x\\)</span>..</p>", 1),
    ("Here `H * k` is *one*.", "<p>Here <code>H * k</code> is <em>one</em>.</p>", 0),
    ("Say \"so\" -- or not.", "<p>Say “so” – or not.</p>", 0), ("One. Two.", "<p>One, Two.</p>", 1),
    ("See [4.4](04.ipynb).", "<p>See <a href='x'>4.4</a>.</p>", 0), ("One.\n\nTwo.", "<p>One.</p>", 1),
    ("| A table. |\n# A title.\n- An item.", "<p></p>", 0),
])
def test_a_sentence_that_the_page_changed_is_found(source, page, wrong):
    assert len(unsaid(source, f"<article>{page}</article>")) == wrong
