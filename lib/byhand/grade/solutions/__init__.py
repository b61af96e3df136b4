"""Worked solutions, one Markdown file a set: `## 04.1`, the derivation, and code that `check` gives full marks.

A class's package leaves these files out, as it does the references.
"""

import functools
import re
from pathlib import Path

from ..sets import SETS

_HERE = Path(__file__).parent


class Page:
    """Text that a notebook shows as Markdown, and a prompt as it is."""

    def __init__(self, text):
        self.text = text

    def _repr_markdown_(self):
        return self.text

    def __repr__(self):
        return self.text


@functools.cache
def solutions_of(set_id):
    """The solutions of a set by question id; empty where this copy of the course has none."""
    file = _HERE / f"{SETS[set_id]}.md"
    if not file.exists():
        return {}
    parts = re.split(r"^## (\d\d\.\d+)[^\n]*\n", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], (text.strip() for text in parts[2::2]), strict=True))


def worked(question):
    """The solution of a question as a Page."""
    text = solutions_of(question.id.split(".")[0]).get(question.id)
    if text is None:
        return Page(f"{question.id}: this copy of the course has no worked solutions; whoever gave it to you has them.")
    return Page(f"### {question.id} · {question.title}\n\n{text}\n")


def code_of(text):
    """The Python blocks of a solution, joined."""
    return "\n\n".join(re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL))
