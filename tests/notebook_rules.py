"""The rules that every notebook of the book keeps.

A rule is a function: notebook -> list of complaints, empty when all is well.
Rules about one page take (nb, name), where name is "04_attention" or "exercises/ex04_attention".
Rules about the whole book take (book, toc): a dict name -> notebook, and the text of _toc.yml.
test_notebooks.py runs them on every notebook, and shows that each of them fires.
"""

import io
import json
import re
import tokenize

import citations
import nbformat
import yaml
from byhand.show.page import least_width
from run_notebooks import CELL_METADATA, METADATA
from same_output import NUMBER, ROUNDING
from same_output import TAG as TOLERANCE

# An output above the first holds more than anyone reads, or was stored in full colour. What is not a picture is read
# and searched, so a page of it has a limit of its own; pictures are stored twice, as drawings and as PNG for a viewer
# that shows none, and the built page takes one of them (test_book_frame.py weighs that). The largest have 60 kB, 220 kB
# and 420 kB; neither limit is a reason to leave a picture out.
MAX_OUTPUT, MAX_TEXT, MAX_PICTURES = 100_000, 300_000, 600_000
PHONE = 390  # pixels
TAG = r"\\tag\{([^}]*)\}"
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1[`~]*[ ]*$", re.DOTALL | re.MULTILINE)


# ---------------------------------------------------------------- looking into a notebook


def code_cells(nb):
    return [(i, c) for i, c in enumerate(nb.cells) if c.cell_type == "code"]


def prose(nb):
    """Text of the Markdown cells; code fences and inline code are blanked, they show mathematics but are none."""
    for i, cell in enumerate(nb.cells):
        if cell.cell_type == "markdown":
            text = FENCE.sub(lambda m: m[0] if m[0].lstrip("`~").startswith("{") else "", cell.source)
            yield i, re.sub(r"(?<!`)`[^`\n]+`(?!`)", "", text)


def tokens(source):
    """Python tokens of a cell; magics are blanked, unfinished code ends the list."""
    source = re.sub(r"(?m)^\s*[%!].*$", "", source)
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            found.append(token)
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def data(cell):
    """All (mime type, content) that a code cell shows."""
    return [item for out in cell.outputs if "data" in out for item in out.data.items()]


def shown_text(cell):
    """All text that a code cell shows, one string."""
    parts = [out.text for out in cell.outputs if out.output_type == "stream"]
    parts += [content for mime, content in data(cell) if mime.startswith("text/") and isinstance(content, str)]
    parts += [f"{out.ename}: {out.evalue}" for out in cell.outputs if out.output_type == "error"]
    return "\n".join(parts)


def has_image(cell):
    return any(mime.startswith("image/") for mime, _ in data(cell))


def tags(nb):
    """The numbers of all tagged equations, in the order of the page."""
    return [(i, tag) for i, text in prose(nb) for tag in re.findall(TAG, text)]


def number(tag):
    """'4.12b' -> (4, 12, 'b'); None for anything else."""
    found = re.fullmatch(r"(\d+)\.(\d+)([a-z]?)", tag)
    return found and (int(found[1]), int(found[2]), found[3])


def references(nb):
    """Equation numbers that comments name: # (4.7), # (4.7, 4.8), # (4.7)-(4.9)."""
    for i, cell in code_cells(nb):
        for token in tokens(cell.source):
            if token.type == tokenize.COMMENT:
                for group in re.findall(r"\((\d+\.\d+[a-z]?(?:\s*[,–-]\s*\d+\.\d+[a-z]?)*)\)", token.string):
                    yield from ((i, ref) for ref in re.split(r"\s*[,–-]\s*", group))


# ---------------------------------------------------------------- the file


def canonical_metadata(nb, name):
    bad = [] if nb.metadata == METADATA else ["the notebook's metadata are not the house's"]
    bad += [] if (nb.nbformat, nb.nbformat_minor) == (4, 5) else [f"format {nb.nbformat}.{nb.nbformat_minor}, not 4.5"]
    for i, cell in enumerate(nb.cells):
        extra = sorted(set(cell.metadata) - CELL_METADATA)
        bad += [f"cell {i}: metadata {extra}; only {sorted(CELL_METADATA)} are kept"] if extra else []
    return bad


def counted_from_one(nb, name):
    bad = []
    for want, (i, cell) in enumerate(code_cells(nb), 1):
        counts = [cell.execution_count] + [out.execution_count for out in cell.outputs if "execution_count" in out]
        bad += [f"cell {i}: execution count {counts}, expected {want}"] if set(counts) != {want} else []
    return bad


def unique_ids(nb, name):
    ids = [cell.get("id", "") for cell in nb.cells]
    bad = [f"cell {i}: id {x!r} is not valid" for i, x in enumerate(ids) if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", x)]
    return bad + [f"id {x!r} stands {ids.count(x)} times" for x in sorted(set(ids)) if x and ids.count(x) > 1]


def no_empty_cell(nb, name):
    return [f"cell {i}: empty" for i, cell in enumerate(nb.cells) if not cell.source.strip()]


def small_enough(nb, name):
    size = len(nbformat.v4.writes(nb).encode())  # nbformat.writes would mend the ids
    pictures = sum(len(content) for _, cell in code_cells(nb) for mime, content in data(cell)
                   if mime.startswith("image/"))
    bad = [f"{what} of {n} bytes, the limit is {most}" for what, n, most in (
        ("a text", size - pictures, MAX_TEXT), ("pictures", pictures, MAX_PICTURES)) if n > most]
    for i, cell in code_cells(nb):
        sizes = [len(content.encode()) for _, content in data(cell) if isinstance(content, str)]
        sizes += [len(json.dumps(out, ensure_ascii=False).encode()) for out in cell.outputs if "data" not in out]
        bad += [f"cell {i}: an output of {s} bytes, the limit is {MAX_OUTPUT}" for s in sizes if s > MAX_OUTPUT]
    return bad


# ---------------------------------------------------------------- code and its outputs


def no_trailing_semicolon(nb, name):
    """IPython hides a value behind a last `;`, nbval does not: the two would disagree."""
    bad = []
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.DEDENT)
    for i, cell in code_cells(nb):
        said = [t.string for t in tokens(cell.source) if t.type not in silent]
        bad += [f"cell {i}: ends in `;`; write `_ = …` instead"] if said and said[-1] == ";" else []
    return bad


SLACK = {TOLERANCE: 1e-2, ROUNDING: 1e-4}  # how far each may go


def modest(cell, tag):
    """A tolerance is a number up to a hundredth; a bound of rounding is one up to 1e-4, and the cell insists on one.
    Each is the only one of its cell, and the cell shows a number to use it on."""
    word, most = next((word, most) for word, most in SLACK.items() if tag.startswith(word))
    said = tag.removeprefix(word)
    alone = sum(t.startswith(word) for t in cell.metadata["tags"]) == 1
    small = re.fullmatch(r"\d(\.\d+)?(e-\d+)?|0\.\d+", said) and 0 < float(said) <= most
    insists = word == TOLERANCE or re.search(r"\bassert\b|\bprint_errors\(|\bprint_gap\(|\bassert_", cell.source)
    return bool(alone and small and insists and NUMBER.search(shown_text(cell)))


def validated(nb, name):
    """Nothing may hide from nbval: no skipped cell, no ignored output, no messages that it cannot compare."""
    bad = []
    for i, cell in code_cells(nb):
        hidden = [t for t in cell.metadata.get("tags", []) if t.startswith(("nbval", "skip-execution"))]
        hidden += [t for t in cell.metadata.get("tags", []) if t.startswith(tuple(SLACK)) and not modest(cell, t)]
        hidden += re.findall(r"NBVAL_\w+|PYTEST_VALIDATE_IGNORE_OUTPUT|clear_output|display_id", cell.source)
        bad += [f"cell {i}: {h} hides it from validation" for h in hidden]
    return bad


def no_errors(nb, name):
    bad = []
    for i, cell in code_cells(nb):
        for out in cell.outputs:
            if out.output_type == "error" and "raises-exception" not in cell.metadata.get("tags", []):
                bad.append(f"cell {i}: {out.ename} in a cell without the tag raises-exception")
            if out.output_type == "stream" and out.name == "stderr":
                bad.append(f"cell {i}: something on stderr: {out.text.strip()[:60]!r}")
    return bad


# What differs between two machines or two runs, in outputs and in code.
ANYWHERE = {
    "an absolute path": r"(?<![\w.:/])/(home|root|tmp|Users|usr|opt|mnt|content)/|\b[A-Z]:\\\w"
    r"|(?<![\w.:/])/[\w./-]+\.(py|ipynb)\b",
}
OUTPUTS = {
    "an address": r"\b0x[0-9a-fA-F]{5,}",
    "a timing": r"Wall time|CPU times|\d\s?[mµun]?s ± |\bit/s\b|\bs/it\b",
    "a device": r"\bcuda\b|\bmps\b|NVIDIA|device\(type",
    "a version": r"\b\d+\.\d+\.\d+(\+cpu|\+cu\d+)?\b",
}
CODE = {
    "a timing": r"%%?time(it)?\b|\bperf_counter\b|\btime\.time\(|\bprocess_time\b|\bimport timeit\b",
    "a version": r"__version__|\bsys\.version|\bplatform\.\w+\(|importlib\.metadata|\bpip (show|list|freeze)\b",
}


def same_everywhere(nb, name):
    bad = []
    for i, cell in code_cells(nb):
        for where, text, patterns in (
            ("shows", shown_text(cell), ANYWHERE | OUTPUTS),
            ("asks for", cell.source, ANYWHERE | CODE),
        ):
            for what, pattern in patterns.items():
                found = re.search(pattern, text)
                bad += [f"cell {i}: {where} {what}: {found[0]!r}"] if found else []
    return bad


def figures_described(nb, name):
    bad = []
    for i, cell in code_cells(nb):
        if not has_image(cell):
            continue
        about = cell.metadata.get("mystnb", {})
        image, figure = about.get("image", {}), about.get("figure", {})
        alt = image.get("alt", "")
        bad += [f"cell {i}: mystnb.image.alt has {len(alt)} characters, at least 20 are due"] if len(alt) < 20 else []
        bad += [f"cell {i}: mystnb.figure.{k} is missing" for k in ("name", "caption") if not figure.get(k, "").strip()]
    return bad


AS_BY_DAY = re.compile(r"\b(dark|pale|white|black|bright)\w*", re.IGNORECASE)


def figures_by_day_and_night(nb, name):
    """A figure is stored as a drawing, of `house_style`, and as a PNG for who cannot show it; what is said of it also
    holds on a dark page, where what was pale is dark."""
    bad = []
    for i, cell in code_cells(nb):
        for out in cell.outputs:
            kinds = {mime for mime in out.get("data", {}) if mime.startswith("image/")}
            bad += [f"cell {i}: a figure as {sorted(kinds)}, due are PNG and SVG"] if kinds not in (
                set(), {"image/png", "image/svg+xml"}) else []
        about = cell.metadata.get("mystnb", {})
        for said in (about.get("image", {}).get("alt", ""), about.get("figure", {}).get("caption", "")):
            bad += [f"cell {i}: {found[0]!r} is true of a light page alone" for found in AS_BY_DAY.finditer(said)]
    return bad


def figures_fit_a_phone(nb, name):
    """A screen of 390 pixels shows all of a figure in letters of 9 pixels: take a smaller `figsize`, or larger letters.
    """
    return [f"cell {i}: a figure that a phone shows whole from {least:.0f} pixels on, a phone has {PHONE}"
            for i, cell in code_cells(nb) for mime, drawn in data(cell)
            if mime == "image/svg+xml" and (least := least_width(drawn)) > PHONE]


def figures_in_numbers(nb, name):
    """nbval does not compare pictures: the number that a figure shows must be printed beside it."""
    bad = []
    for i, cell in code_cells(nb):
        said = "".join(out.text for out in cell.outputs if out.output_type == "stream" and out.name == "stdout")
        bad += [f"cell {i}: a figure, but no number printed"] if has_image(cell) and not re.search(r"\d", said) else []
    return bad


OUTSIDE = re.compile(
    r"<(?:script|img|link|iframe|video|audio|source|embed|object|image|use)\b[^>]*?"
    r"\b(?:src|href|data|srcset|poster)\s*=\s*[\"']?\s*(?:https?:)?//[^\s\"'>]+"
    r"|@import\s+(?:url\()?[\"']?(?:https?:)?//|url\(\s*[\"']?(?:https?:)?//"
    r"|!\[[^\]]*\]\(\s*<?(?:https?:)?//|\{(?:image|figure|iframe)\}[ ]+(?:https?:)?//",
    re.IGNORECASE,
)


def nothing_from_outside(nb, name):
    """A page must work without a network: scripts, styles, pictures and fonts come from the book."""
    bad = []
    for i, cell in enumerate(nb.cells):
        texts = [cell.source]
        if cell.cell_type == "code":
            texts += [text for mime, text in data(cell) if mime in ("text/html", "image/svg+xml", "text/markdown")]
        found = [m for text in texts if (m := OUTSIDE.search(text))]
        bad += [f"cell {i}: loads from elsewhere: {m[0][:80]!r}" for m in found]
    return bad


def no_widget_state(nb, name):
    bad = ["the notebook stores widget state"] if "widgets" in nb.metadata else []
    for i, cell in code_cells(nb):
        mimes = [m for m, _ in data(cell) if "widget" in m or "javascript" in m or "plotly" in m]
        bad += [f"cell {i}: {m} needs a live kernel or a script from elsewhere" for m in mimes]
    return bad


ONLY_BUILT = re.compile(r"\{[a-z][\w:-]*\}`[^`]*`|^ *(?:`{3,}|:{3,})\{[^}]*\}|^\([\w-]+\)=$", re.MULTILINE)


def touching(text):
    """Inline formulas with a letter or a digit right behind them: VS Code shows their dollars, and no formula."""
    text = re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL)
    return [m[0] for m in re.finditer(r"(?<![\\$])\$[^$\n]+\$[^\W_]?", text) if m[0][-1] != "$"]


def plain_markdown(nb, name):
    """What only the book's build understands would stand raw in JupyterLab, VS Code and Colab; and no reader of code is
    helped by a word to a linter, which has its rules in pyproject.toml."""
    bad = [f"cell {i}: a word to a linter" for i, cell in code_cells(nb) if "# noqa" in cell.source]
    for i, cell in enumerate(nb.cells):
        if cell.cell_type == "markdown":
            bad += [f"cell {i}: {m[0]!r} is no plain Markdown" for m in ONLY_BUILT.finditer(cell.source)]
            bad += [f"cell {i}: {fault}" for fault in citations.wrong(cell.source)]
    return bad + [f"cell {i}: {formula!r} stands raw in VS Code: put a space or a stop behind it"
                  for i, text in prose(nb) for formula in touching(text)]


# ---------------------------------------------------------------- titles, equations, exercises

ACTS = (r"(?:shows?|says?|has|have|did|does|measures?|tells?|derives?|explains?|asks?|finds?|found|will|can|gives?"
        r"|lists?|counts?)")
SECTION = re.compile(rf"(\w+\s)?(?<![\w.,])\d{{1,2}}\.[1-9]\d?(?:(?:,| and| to|–) ?\d{{1,2}}\.[1-9]\d?)*\s+{ACTS}\b")


def sections_by_name(nb, name):
    """A number that does something, as in "9.10 shows it", is one of the book's own and says of what: section 9.10.
    Alone it might be a decimal, and in parentheses it would be a link to an equation."""
    own = r"(?i)(section|figure|exercise|table|part)s?\s"
    return [f"cell {i}: {m[0]!r}: a section, or a figure?" for i, text in prose(nb) for m in SECTION.finditer(text)
            if not re.match(own, m[1] or "")]



CONTINUES = {"workshop": 0, "runs": 11}  # a page that goes on with the sections and equations of a chapter


def chapter_of(name):
    """4 for "04_attention" and "exercises/ex04_attention", 0 for "workshop"; None for a page without a number."""
    found = re.match(r"(?:exercises/ex)?(\d\d)_", name)
    return int(found[1]) if found else CONTINUES.get(name)


def numbered_title(nb, name):
    chapter = chapter_of(name)
    want = "# " if chapter is None else f"# {'Exercises ' * name.startswith('exercises/')}{chapter} · "
    want = f"# {name.capitalize()} · " if name in CONTINUES else want
    first = nb.cells[0] if nb.cells else None
    bad = []
    if first is None or first.cell_type != "markdown" or not re.match(re.escape(want) + r"\S", first.source):
        bad.append(f"the first cell does not begin with {want!r}")
    titles = [line for _, text in prose(nb) for line in re.findall(r"(?m)^# .*", text)]
    if chapter is None:
        bad += [f"the title {x!r} has a number, the page has none" for x in titles if re.search(r"\d+ · ", x)]
    return bad + ([f"{len(titles)} titles of the first level, expected 1: {titles}"] if len(titles) != 1 else [])


def numbered_sections(nb, name):
    """## 4.1 · …, ## 4.2 · … without a gap; in a problem set ## 04.1 · …, as the ids of its exercises; else none.
    A page that continues a chapter begins with another number than 1; which one is a rule of the book."""
    chapter = chapter_of(name)
    prefix = f"{chapter:02}" if chapter is not None and name.startswith("exercises/") else chapter
    found = [n for _, text in prose(nb) for n in re.findall(r"(?m)^##\s+(\d[\d.]*)", text)]
    first = re.match(r"\d+\.([2-9]|\d\d)$", found[0]) if name in CONTINUES and found else None
    first = int(first[1]) if first else 1
    want = [f"{prefix}.{i}" for i in range(first, first + len(found))] if chapter is not None else []
    return [] if found == want else [f"the sections are numbered {', '.join(found)}; expected {', '.join(want)}"]


def equations_in_both_worlds(nb, name):
    """The forms that Jupyter and the built page both typeset, with the number we wrote."""
    bad = []
    for i, text in prose(nb):
        for block in re.findall(r"\$\$(.*?)\$\$", text, re.DOTALL):
            if "\\tag" in block and "\n" in block:
                bad.append(f"cell {i}: $$ with \\tag must stand on one line: {block.strip()[:50]!r}")
            if "\\tag" in block and "\\\\" in block:
                bad.append(f"cell {i}: $$ with \\tag and \\\\: MathJax refuses it; use align*: {block.strip()[:50]!r}")
            if "\\begin{align" in block and "\\begin{aligned" not in block:
                bad.append(f"cell {i}: align inside $$: leave out the $$: {block.strip()[:50]!r}")
        for env in re.findall(r"\\begin\{((?:fl|x|xx)?align(?:at)?|equation|gather|multline|eqnarray)\}", text):
            bad.append(f"cell {i}: {env} without a star would be numbered a second time")
        rest = re.sub(r"\$\$.*?\$\$|\\begin\{(\w+\*)\}.*?\\end\{\1\}", "", text, flags=re.DOTALL)
        bad += [
            f"cell {i}: \\tag{{{t}}} is in neither $$ … $$ nor a starred environment" for t in re.findall(TAG, rest)
        ]
    return bad


def tags_in_order(nb, name):
    chapter, last, bad = chapter_of(name), None, []
    for i, tag in tags(nb):
        n = number(tag)
        if n is None or n[0] != chapter:
            bad.append(f"cell {i}: \\tag{{{tag}}} is not a number of chapter {chapter}")
        elif last is not None and n <= last:
            bad.append(f"cell {i}: \\tag{{{tag}}} does not come after {last[0]}.{last[1]}{last[2]}")
        last = n or last
    return bad


# ---------------------------------------------------------------- the book as a whole


def references_have_tags(book, toc):
    known = {tag for nb in book.values() for _, tag in tags(nb)}
    return [
        f"{name}, cell {i}: the comment names ({ref}), but no equation has this number"
        for name, nb in book.items()
        for i, ref in references(nb)
        if ref not in known
    ]


def numbers_belong_to_one_page(book, toc):
    home, bad = {}, []
    for name, nb in book.items():
        for tag in {tag for _, tag in tags(nb)}:
            bad += [f"equation {tag} stands in {home[tag]} and in {name}"] if tag in home else []
            home.setdefault(tag, name)
    return bad


def continued(book, toc):
    """The sections of a page that continues a chapter begin where the chapter's end, and it comes later."""
    bad = []
    for name, chapter in CONTINUES.items():
        if name not in book:
            continue
        before = [page for page in book if "/" not in page and page.startswith(f"{chapter:02}_")]
        numbers = [[int(n) for _, text in prose(book[page]) for n in re.findall(rf"(?m)^##\s+{chapter}\.(\d+)", text)]
                   for page in (*before, name)]
        if len(numbers) != 2 or not all(numbers) or numbers[1][0] != numbers[0][-1] + 1:
            bad.append(f"{name}: its sections do not go on from those of chapter {chapter}")
    return bad


def listed_in_toc(book, toc):
    def files(node):
        if isinstance(node, dict):
            return [v for k, v in node.items() if k in ("file", "root")] + files(list(node.values()))
        return [f for item in node for f in files(item)] if isinstance(node, list) else []

    listed = [f.removeprefix("book/").removesuffix(".ipynb") for f in files(yaml.safe_load(toc))]
    chapters = [f for f in listed if re.match(r"(exercises/ex)?\d\d_", f)]
    bad = [f"{name} is not in _toc.yml" for name in book if name not in listed]
    bad += [f"_toc.yml lists {f}, which does not exist" for f in chapters if f not in book]
    order = [f for f in chapters if "/" not in f]
    return bad + (["the chapters of _toc.yml are out of order"] if order != sorted(order) else [])


def linked_from_chapter(book, toc):
    bad = []
    for name in book:
        if not name.startswith("exercises/"):
            continue
        chapter = book.get(name.removeprefix("exercises/ex"))
        text = "\n".join(cell.source for cell in chapter.cells if cell.cell_type == "markdown") if chapter else ""
        linked = re.search(rf"\]\((?:\./|/book/)?{name}(?:\.ipynb|\.html|\.md)?[)#]|\{{doc\}}`[^`]*{name}", text)
        bad += [] if linked else [f"{name} is not linked from its chapter"]
    return bad


PAGE_RULES = [
    canonical_metadata,
    counted_from_one,
    unique_ids,
    no_empty_cell,
    small_enough,
    no_trailing_semicolon,
    validated,
    no_errors,
    same_everywhere,
    figures_described,
    figures_by_day_and_night,
    figures_fit_a_phone,
    figures_in_numbers,
    nothing_from_outside,
    no_widget_state,
    plain_markdown,
    numbered_title,
    numbered_sections,
    equations_in_both_worlds,
    tags_in_order,
    sections_by_name,
]
BOOK_RULES = [references_have_tags, numbers_belong_to_one_page, continued, listed_in_toc, linked_from_chapter]
