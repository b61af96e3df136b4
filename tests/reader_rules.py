"""The rules of a chapter as its reader meets it: narrow, short, the idea open and the apparatus one fold away.

As in notebook_rules.py a rule is a function (notebook, name) -> list of complaints. These hold for chapters, for the
start page, the workshop and the runs; problem sets keep the width only.

Folded is: a code cell with the tag hide-cell or hide-input, the output of one with hide-cell or hide-output, and in
Markdown whatever stands between <details> and </details>.
"""

import ast
import re

COLUMNS = 79
CELL_LINES, PAGE_LINES, PAGE_WORDS = 25, 350, 4500
WORDS = {"00_gradcheck": 3500}  # the first chapter is the one that people give up in
VERDICTS = 0.05
READ, CODE = 130, 12  # words and lines of code that a careful reader takes in a minute
FOLD = re.compile(r"<details\b[^>]*>.*?</details>", re.DOTALL)
SUMMARY = "<details><summary>Answer</summary>"
# What a chapter may import without saying so: the tools of chapter 0, and what is no chapter's subject.
EVERYWHERE = {"gradcheck", "linear", "tree", "show", "data", "grade", "config", "check", "metrics", "io"}


def is_chapter(name):
    return "/" not in name and bool(re.match(r"\d\d_|start|workshop|runs", name))


def tagged(cell, *tags):
    return bool(set(tags) & set(cell.metadata.get("tags", [])))


def open_code(nb):
    """The code cells whose code a reader sees without a click."""
    code = [(i, cell) for i, cell in enumerate(nb.cells) if cell.cell_type == "code"]
    return [(i, cell) for i, cell in code if not tagged(cell, "hide-cell", "hide-input")]


def printed(cell):
    """The lines of text that a cell shows."""
    texts = [out.text for out in cell.outputs if out.output_type == "stream"]
    texts += [str(out.data["text/plain"]) for out in cell.outputs if out.output_type == "execute_result"]
    return [line for text in texts for line in text.splitlines() if line.strip()]


def main_line(nb):
    """The text that stands open, without code, fences' edges and the inside of formulas: what counts as words."""
    for i, cell in enumerate(nb.cells):
        if cell.cell_type == "markdown":
            text = FOLD.sub("", cell.source)
            text = re.sub(r"(?m)^\*\*Your turn\.\*\*.*$", "", text)  # a signpost to an exercise is not read through
            text = re.sub(r"(?ms)^(:{3,}|`{3,})\{dropdown\}.*?^\1\s*$", "", text)
            text = re.sub(r"(?ms)^(`{3,})(?!\{).*?^\1\s*$", "", text)
            text = re.sub(r"(?s)\$\$.*?\$\$|\\begin\{(\w+\*)\}.*?\\end\{\1\}", " ", text)
            yield i, re.sub(r"\$[^$\n]+\$|`[^`\n]+`", "x", text)


def words(nb):
    """A citation, names and year, is read as one."""
    texts = (re.sub(r"\[[^][]+\]\((?:\.\./)?references\.bib#\w+\)", "citation", text) for _, text in main_line(nb))
    return sum(bool(re.search(r"\w", word)) for text in texts for word in text.split())


def length(cell):
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def lines(nb):
    return sum(length(cell) for _, cell in open_code(nb))


def minutes(nb):
    return words(nb) / READ + lines(nb) / CODE


def sections(nb):
    """Number of a section -> the text of its Markdown, folded parts too."""
    found, now = {}, None
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            for part in re.split(r"(?m)^(?=## )", cell.source):
                title = re.match(r"##\s+(\d+\.\d+)?", part)
                now = title[1] if title else now
                if now:
                    found[now] = found.get(now, "") + "\n" + part
    return found


def fits_the_column(nb, name):
    """Code is written, and printed, in 79 columns: no box scrolls sideways at a laptop's width."""
    bad = []
    for i, cell in enumerate(nb.cells):
        if cell.cell_type == "code":
            for what, text in (("code", cell.source.splitlines()), ("output", printed(cell))):
                wide = [line for line in text if len(line) > COLUMNS]
                bad += [f"cell {i}: {what} of {len(wide[0])} columns: {wide[0].strip()[:50]!r}"] if wide else []
        for block in re.findall(r"(?ms)^`{3,}(?!\{)[^\n]*\n(.*?)^`{3,}", cell.source) * (cell.cell_type == "markdown"):
            wide = [line for line in block.splitlines() if len(line) > COLUMNS]
            bad += [f"cell {i}: a block of {len(wide[0])} columns"] if wide else []
    return bad


def wide_python(text):
    """Lines of Python on a Markdown page that are wider than that; also where the block stands in a list."""
    return [line for block in re.findall(r"(?ms)^ *`{3,}python\n(.*?)^ *`{3,}", text) for line in block.splitlines()
            if len(line) > COLUMNS]


def one_thing_a_cell(nb, name):
    return [f"cell {i}: {n} open lines; {CELL_LINES} at most, fold or split it" for i, cell in open_code(nb)
            if is_chapter(name) and (n := length(cell)) > CELL_LINES]


def short_enough(nb, name):
    if not is_chapter(name):
        return []
    limit = WORDS.get(name, PAGE_WORDS)
    bad = [f"{words(nb)} words on the main line, the limit is {limit}"] if words(nb) > limit else []
    return bad + ([f"{lines(nb)} open lines of code, the limit is {PAGE_LINES}"] if lines(nb) > PAGE_LINES else [])


def says_how_long(nb, name):
    """`**Time:** about 60 minutes` in the first cell, a fifth more or less than its length makes likely."""
    if not is_chapter(name):
        return []
    said = re.search(r"\*\*Time:\*\* about (\d+) minutes", nb.cells[0].source)
    if not said:
        return ["the first cell does not say '**Time:** about … minutes'"]
    right = abs(int(said[1]) - minutes(nb)) <= max(5, 0.2 * minutes(nb))
    return [] if right else [f"says {said[1]} minutes; its words and lines take about {minutes(nb):.0f}"]


def numbers_not_verdicts(nb, name):
    """What was measured is printed, not whether it passed."""
    shown = [line for cell in nb.cells if cell.cell_type == "code" for line in printed(cell)]
    bare = [line for line in shown if re.search(r"\b(True|False)\b", line)]
    if not is_chapter(name) or len(bare) <= max(1, VERDICTS * len(shown)):
        return []
    return [f"{len(bare)} of {len(shown)} printed lines say True or False, such as {bare[0].strip()[:50]!r}"]


def matrices_have_names(nb, name):
    """What NumPy prints of a matrix has brackets and no name: print_matrix says what it is, and its shape."""
    return [f"cell {i}: a bare matrix, use print_matrix: {line[:40]!r}" for i, cell in enumerate(nb.cells)
            if is_chapter(name) and cell.cell_type == "code" and not tagged(cell, "hide-cell", "hide-output")
            for line in printed(cell) if line.lstrip().startswith("[[")]


def one_scale_one_bar(nb, name):
    """Pictures that a loop draws with the same limits have one colour bar: `bar=ax is axes[0]`."""
    bad = []
    for i, cell in enumerate(nb.cells):
        code = re.sub(r"(?m)^[ ]*[%!].*$", "", cell.source) if cell.cell_type == "code" and is_chapter(name) else ""
        for loop in ast.walk(ast.parse(code)) if "matrix(" in code else []:
            if isinstance(loop, ast.For):
                calls = [{k.arg: ast.unparse(k.value) for k in call.keywords} for call in ast.walk(loop)
                         if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "matrix"]
                bad += [f"cell {i}: a colour bar for each of several pictures with one scale" for given in calls
                        if given.get("numbers") == "False" and "limits" in given and "bar" not in given]
    return bad


def asks_before_telling(nb, name):
    """Each numbered section that derives something has a question with a folded answer."""
    if not re.match(r"\d\d_", name):
        return []
    return [f"section {number} has equations and no question with a folded answer ({SUMMARY})"
            for number, text in sections(nb).items() if "\\tag{" in text and SUMMARY not in text]


def folds_open_and_close(nb, name):
    """A fold begins and ends in one cell, on lines of their own between blank lines, and hides no title."""
    bad = []
    for i, cell in enumerate(nb.cells):
        text = cell.source
        if cell.cell_type != "markdown" or "details" not in text:
            continue
        if len(re.findall(r"<details\b", text)) != len(FOLD.findall(text)) or text.count("</details>") != len(
                FOLD.findall(text)) or any("<details" in fold[1:] for fold in FOLD.findall(text)):
            bad.append(f"cell {i}: <details> and </details> do not pair")
        for fold in FOLD.findall(text):
            if not re.fullmatch(r"(?s)<details><summary>[^<\n]+</summary>\n\n.*\n\n</details>", fold):
                bad.append(f"cell {i}: a fold is '<details><summary>…</summary>', a blank line, text, a blank line, "
                           f"'</details>': {fold[:50]!r}")
            bad += [f"cell {i}: a title inside a fold"] if re.search(r"(?m)^#{1,3} ", fold) else []
    return bad


def folds_say_what_they_hold(nb, name):
    """A fold of code has words of its own, unless it draws: "How it is drawn" is what the book says of all others."""
    bad = []
    for i, cell in enumerate(nb.cells):
        draws = any({"image/png", "text/html"} & set(out.get("data", {})) for out in cell.get("outputs", []))
        if tagged(cell, "hide-cell", "hide-input") and not draws:
            bad += [] if cell.metadata.get("mystnb", {}).get("code_prompt_show") else [
                f"cell {i}: a fold that draws nothing says in mystnb: code_prompt_show what it holds"]
    return bad


def defined_once(nb, name):
    """Nothing that a reader sees is defined twice."""
    home, bad = {}, []
    for i, cell in open_code(nb) if is_chapter(name) else []:
        try:
            body = ast.parse(re.sub(r"(?m)^[ ]*[%!].*$", "", cell.source)).body
        except SyntaxError:
            continue
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                bad += [f"cells {home[node.name]} and {i}: {node.name} is defined twice"] if node.name in home else []
                home.setdefault(node.name, i)
    return bad


def stops_stand_once(nb, name):
    """No '..' and no ',,', no stop after a space: the marks of a sentence that was cut or mended in haste."""
    bad = []
    for i, text in main_line(nb):
        text = re.sub(r"<[^>]*>|\]\([^)]*\)", "", text)
        found = re.search(r"(?<!\.)\.\.(?!\.)|,,|;;|(?<=\w) [,.;](?=\s)", text)
        bad += [f"cell {i}: {text[max(0, found.start() - 20):found.end() + 5]!r}"] if found else []
    return bad


def names_what_it_needs(nb, name, stems=None):
    """`**You need:** chapters 0, 4 and 5 …` names every chapter whose modules the cells import."""
    if not re.match(r"\d\d_", name):
        return []
    if stems is None:
        from test_book import STEMS as stems
    home = {}  # of a stem that two chapters build, either will do
    for number, names in stems.items():
        for stem in names:
            home.setdefault(stem, set()).add(int(number))
    said = re.search(r"(?s)\*\*You need:\*\*(.*?)(?:\n\n|\Z)", nb.cells[0].source)
    if not said:
        return ["the first cell does not say '**You need:** …'"]
    named = {int(n) for n in re.findall(r"\b\d{1,2}\b", said[1])}
    code = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "code")
    used = set(re.findall(r"byhand(?:\.(?:np|pt))?\.(\w+)", code))
    used |= set(re.findall(r"\w+", " ".join(re.findall(r"from byhand(?:\.np|\.pt)? import ([\w, ]+)", code))))
    named |= {int(name[:2]), 0}
    missing = sorted({min(home[stem]) for stem in used - EVERYWHERE if stem in home and not home[stem] & named})
    return [f"the cells use chapters {missing}, which 'You need' does not name"] if missing else []


RULES = [fits_the_column, one_thing_a_cell, short_enough, says_how_long, numbers_not_verdicts, matrices_have_names,
         one_scale_one_bar, asks_before_telling, folds_open_and_close, folds_say_what_they_hold, defined_once,
         stops_stand_once, names_what_it_needs]


def main():
    """How a page stands: `python tests/reader_rules.py book/04_attention.ipynb …`."""
    import sys
    from pathlib import Path

    import nbformat

    for path in map(Path, sys.argv[1:]):
        nb, name = nbformat.read(path, as_version=4), path.stem
        print(f"{path}: {words(nb)} words, {lines(nb)} open lines of code, about {minutes(nb):.0f} minutes")
        for rule in RULES:
            for complaint in rule(nb, name):
                print(f"  {rule.__name__}: {complaint}")


if __name__ == "__main__":
    main()
