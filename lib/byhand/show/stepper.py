"""A derivation in steps: one caption and one block of text at a time, with buttons to go back and forth."""

from collections.abc import Sequence

from byhand.check.numbers import kind_of
from byhand.show.widget import frame, markup

CSS = """
.bh-box ol{margin:0;padding:0 0 0 1.4rem}
.bh-box ol[role]{list-style:none;padding:0}
.bh-box pre{margin:.3rem 0;padding:.6rem .8rem;border:1px solid var(--bh-line);border-radius:.4rem;overflow-x:auto;
  background:none;color:inherit;font:14px/1.5 ui-monospace,monospace}
.bh-box button[aria-disabled=true]{color:var(--bh-soft);cursor:default;border-color:var(--bh-line)}
"""

SCRIPT = """
const start = root => {
  const steps = [...root.querySelectorAll("li")], last = steps.length - 1;
  const list = root.querySelector("ol");
  const back = make("button", {type: "button"}, "← Back"), next = make("button", {type: "button"}, "Next →");
  const say = make("div", {class: "bh-title", role: "status", "aria-live": "polite"});
  let at = 0;
  const go = to => {
    at = Math.min(last, Math.max(0, to));
    steps.forEach((step, k) => { step.hidden = k !== at; step.firstChild.hidden = true; });
    back.setAttribute("aria-disabled", at === 0);
    next.setAttribute("aria-disabled", at === last);
    say.textContent = `Step ${at + 1} of ${last + 1}: ${steps[at].firstChild.textContent}`;
  };
  back.onclick = () => go(at - 1);
  next.onclick = () => go(at + 1);
  list.before(make("div", {class: "bh-pick"}, back, next), say);
  list.setAttribute("role", "list");
  go(0);
};
"""


class Stepper:
    """Show steps, each a (caption, text) pair, one at a time; without a script they stand in a numbered list.

    The text keeps its line breaks and columns, as `format_matrix` writes them.
    """

    def __init__(self, steps: Sequence[tuple[str, str]], *, title: str = ""):
        if isinstance(steps, str) or not isinstance(steps, Sequence):
            raise TypeError(f"Stepper: steps is {kind_of(steps)}, expected several pairs (caption, text)")
        if not isinstance(title, str):
            raise TypeError(f"Stepper: title is {kind_of(title)}, expected text")
        if not steps:
            raise ValueError("Stepper: steps is empty, expected at least 1")
        for k, step in enumerate(steps):
            if not isinstance(step, tuple | list) or len(step) != 2 or not all(isinstance(part, str) for part in step):
                raise TypeError(f"Stepper: steps[{k}] is {step!r:.60}, expected a pair of strings (caption, text)")
        self.steps, self.title = tuple(tuple(step) for step in steps), title

    def __repr__(self) -> str:
        return f"Stepper({len(self.steps)} steps)"

    def _repr_html_(self) -> str:
        title = f'<div class="bh-title">{markup(self.title)}</div>\n' if self.title else ""
        steps = "\n".join(
            f'<li><div class="bh-title">{markup(caption)}</div><pre tabindex="0">{markup(text)}</pre></li>'
            for caption, text in self.steps)
        return frame(self.title or "Steps", f"{title}<ol>\n{steps}\n</ol>", CSS, SCRIPT)
