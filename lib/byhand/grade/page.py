"""A report as a notebook shows it: coloured, in letters of one width, with a link to each section that it names.

The colours are those of two labels that bring their own ground, so they look the same on a light and on a dark page;
blue and vermilion are told apart by everybody, and the words ok and FAIL stay.
"""

import html
import os

from .headings import HEADINGS
from .stale import notebook

_FONT = "font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace)"
_LABEL = ("display:inline-block;width:4ch;padding:0 .4ch;margin-right:1.2ch;border-radius:3px;"
          "text-align:center;color:#fff")
_GROUND = {"ok": "#0b5fa5", "FAIL": "#b3400f"}


def page(lines):
    """HTML of the lines of a report."""
    rows = "".join(
        f'<div style="margin-left:{line.indent}ch;white-space:pre-wrap">{_row(line)}</div>' for line in lines)
    return f'<div style="{_FONT};line-height:1.5">{rows}</div>'


def _row(line):
    text = html.escape(line.text)
    if line.mark in _GROUND:
        text = f'<span style="{_LABEL};background:{_GROUND[line.mark]}">{line.mark}</span>{text}'
    if line.mark == "head":
        text = f"<b>{text}</b>"
    return text + (f"  → {_link(line.section)}" if line.section else "")


def _link(section):
    """To the heading in the chapter's notebook, if that is where it is in a checkout: above this one, or beside it.
    A problem set has the file name of its chapter, so above comes first."""
    words = f"section {html.escape(section)}"
    file, heading, cell = HEADINGS.get(section, ("", "", ""))
    here = os.path.dirname(notebook()) or os.curdir
    for way in ("../", ""):
        if file and os.path.exists(os.path.join(here, way, file)):
            # JupyterLab finds a cell by its id; a heading it finds by its name only where that is ASCII, and · is not
            return f'<a href="{way}{file}#cell-id={cell}" title="{html.escape(heading)}">{words}</a>'
    return words
