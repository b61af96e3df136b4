"""What the interactive outputs share: one style sheet, one script, and the frame that carries them.

Rules that every piece keeps, because its HTML is stored in a notebook and shown in many places:
- The markup alone tells everything. The script builds the controls, so that none is dead where scripts are refused.
- Each class begins with bh-, since the book's theme (Bootstrap) and Jupyter style plain names such as row or table.
- The id is a hash of the content: the same bytes on every run. One output may stand twice on a page (stored and live),
  so the script takes every element of that id which it has not yet brought to life.
- Colours follow the page: data-theme in the book, data-jp-theme-light in Jupyter, data-vscode-theme-kind in VS
  Code, else what the system prefers.
"""

import hashlib
import re
from html import escape

from byhand.show.text import plain

MARKS = {"\n": "⏎", "\r": "␍", "\t": "⇥"}

# light-dark(a, b) takes a in light and b in dark, as color-scheme says. --bh-ink is text, --bh-at what is chosen.
CSS = """
.bh-box{color-scheme:light dark;--bh-bg:light-dark(#fff,#121212);--bh-ink:light-dark(#1f2328,#e6e9ee);
  --bh-soft:light-dark(#57606a,#9aa5b1);--bh-line:light-dark(#d8dee4,#363d47);--bh-at:light-dark(#b84a00,#e69f00);
  --bh-bar:light-dark(#0072b2,#56b4e9);max-width:46rem;padding:1rem 1.1rem;border:1px solid var(--bh-line);
  border-radius:.6rem;background:var(--bh-bg);color:var(--bh-ink);font:15px/1.45 system-ui,sans-serif}
[data-theme=light] .bh-box,[data-jp-theme-light=true] .bh-box,
[data-vscode-theme-kind$=light] .bh-box{color-scheme:light}
[data-theme=dark] .bh-box,[data-jp-theme-light=false] .bh-box,
[data-vscode-theme-kind$=dark] .bh-box,[data-vscode-theme-kind$=contrast] .bh-box{color-scheme:dark}
.text_html:has(>.bh-box){background:none!important;padding:0!important}
.bh-box [hidden]{display:none!important}
.bh-title{font-weight:600;margin-bottom:.6rem}
.bh-pick{display:flex;flex-wrap:wrap;gap:.3rem;margin-bottom:.8rem}
.bh-box button{font:inherit;color:inherit;background:none;border:1px solid var(--bh-line);border-radius:.4rem;
  min-width:2.2rem;min-height:2.1rem;padding:.1rem .5rem;cursor:pointer;overflow-wrap:anywhere}
.bh-box button:hover{border-color:var(--bh-at)}
.bh-box :focus-visible{outline:2px solid var(--bh-bar);outline-offset:2px}
"""

# make(tag, attributes, text) makes an element.
# choices(label, names, pick) makes a radio group: Tab enters it, arrows, Home and End move and choose at once.
SHARED = """
const make = (tag, attributes, ...inside) => {
  const e = document.createElement(tag);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  e.append(...inside);
  return e;
};
const choices = (label, names, pick) => {
  const box = make("div", {class: "bh-pick", role: "radiogroup", "aria-label": label});
  const all = names.map((name, i) => {
    const b = make("button", {type: "button", role: "radio", dir: "auto"}, name);
    b.onclick = () => pick(i);
    return b;
  });
  box.append(...all);
  box.onkeydown = e => {
    const at = all.indexOf(e.target), n = all.length;
    const to = {ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: n - 1}[e.key];
    if (to === undefined || e.altKey || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    e.stopPropagation();
    pick((to + n) % n);
    all[(to + n) % n].focus();
  };
  box.mark = i => all.forEach((b, k) => { b.setAttribute("aria-checked", k === i); b.tabIndex = k === i ? 0 : -1; });
  return box;
};
"""


def frame(label: str, body: str, css: str, script: str) -> str:
    """One output: the style, the markup that tells everything, the script that brings it to life.

    `label` names the piece for a screen reader; `css` is its own style; `script` defines `start(root)`.
    """
    css, script = "".join(line.strip() for line in (CSS + css).splitlines()), _squeeze(SHARED + script)
    name = "bh-" + hashlib.sha256("\0".join((plain(label), body, css, script)).encode()).hexdigest()[:12]
    return (f'<div class="bh-box" id="{name}" role="group" aria-label="{markup(label)}">\n<style>{css}</style>\n'
            f"{body}\n</div>\n<script>(() => {{{script}\n"
            f"for (const root of document.querySelectorAll(\"[id='{name}']\"))\n"
            "if (!root.bhLive) { root.bhLive = true; start(root); }\n})();</script>")


def _squeeze(code: str) -> str:
    """A script without line breaks, indents and, outside strings, the spaces around punctuation."""
    code = " ".join(line.strip() for line in code.splitlines())
    return re.sub(r'("[^"]*"|`[^`]*`)| *([={}(),;?<>&|]) *|(:) +', lambda found: "".join(filter(None, found.groups())),
                  code).strip()


def markup(title: str) -> str:
    """A title, a caption or a block of text that cannot become markup."""
    return escape(plain(title))


def text(token: str) -> str:
    """A token that can be seen and cannot become markup: a space at an end is ␣, a line break ⏎, nothing at all ∅."""
    first, last = len(token) - len(token.lstrip()), len(token.rstrip())
    shown = "".join(MARKS.get(c, "␣") if not first <= i < last and c.isspace() else
                    MARKS.get(c, plain(c)) for i, c in enumerate(token))
    return escape(shown, quote=False) or "∅"
