"""Citations that read well wherever a notebook is opened: `[Ba et al. (2016)](references.bib#ba2016)` is an ordinary
link to the entry. In the book it becomes a citation, with the whole reference in a hint, and in the bibliography."""

import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

import sphinxcontrib.bibtex.plugin
from pybtex.database import parse_file
from pybtex.richtext import Text
from sphinx.util import logging
from sphinxcontrib.bibtex.style.referencing import BracketStyle
from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle

BIB = Path(__file__).resolve().parents[1] / "book" / "references.bib"
LINK = r"\[([^][]+)\]\((?:\.\./)?references\.bib#(\w+)\)"
TEXTUAL = re.compile(LINK)
IN_BRACKETS = re.compile(rf"\({LINK}(?:; {LINK})*\)")
log = logging.getLogger(__name__)


def surname(person):
    return str(Text.from_latex(" ".join([*person.prelast_names, *person.last_names])))


@functools.cache
def labels(bib=BIB):
    """For each key the names as they are cited, "Press et al.", and the year."""
    found = {}
    for key, entry in parse_file(str(bib)).entries.items():
        names = [surname(person) for person in entry.persons["author"]]
        many = len(names) > 2 or names[-1] == "others"
        found[key] = f"{names[0]} et al." if many else " and ".join(names), entry.fields["year"]
    return found


def wrong(text):
    """The links of this text to the bibliography that name no entry, or another than they go to."""
    found = []
    inside = [link for whole in IN_BRACKETS.finditer(text) for link in TEXTUAL.findall(whole[0])]
    for said, key in TEXTUAL.findall(text):
        names, year = labels().get(key, ("", ""))
        due = f"{names}, {year}" if (said, key) in inside else f"{names} ({year})"
        if said not in (due, f"{names} ({year})"):
            found.append(f"[{said}] goes to {key}: " + (f"expected [{due}]" if names else "no such entry"))
    return found


def cite(text):
    """Links to the bibliography as the roles that a build knows."""
    text = IN_BRACKETS.sub(lambda m: f"{{cite:p}}`{','.join(key for _, key in TEXTUAL.findall(m[0]))}`", text)
    return TEXTUAL.sub(lambda m: f"{{cite:t}}`{m[2]}`", text)


def read(app, docname, source):
    for what in wrong(source[0]):
        log.warning(what, location=docname)
    source[0] = cite(source[0])


def round_brackets():
    return BracketStyle(left="(", right=")")


@dataclass
class RoundBrackets(AuthorYearReferenceStyle):
    """Ba et al. (2016), as the notebooks say it."""

    bracket_parenthetical: BracketStyle = field(default_factory=round_brackets)
    bracket_textual: BracketStyle = field(default_factory=round_brackets)
    bracket_author: BracketStyle = field(default_factory=round_brackets)
    bracket_label: BracketStyle = field(default_factory=round_brackets)
    bracket_year: BracketStyle = field(default_factory=round_brackets)


sphinxcontrib.bibtex.plugin.register_plugin("sphinxcontrib.bibtex.style.referencing", "round_brackets", RoundBrackets)


def setup(app):
    app.connect("source-read", read)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
