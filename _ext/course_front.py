"""The front page: a model that runs in the page, as it stands without a script, and outputs that notebooks have stored.

`{living} 3 1 4 1 5 9 2 6` is the picture that static/front.js brings to life: drawn here by the NumPy library from the
same weights, so a page without a script shows the same numbers. `{stored} 04_attention 927dc8de` is the text that a
cell printed, `:lines: 2-4` of it; pytest --nbval runs that cell again, so the page says nothing that no code has said.
"""

import base64
import json
import math
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
BAR, EOS, MOST = 10, 11, 8  # tokens after the digits; the longest question
BLOCK = 1                   # whose only head is shown


def load(path=HERE / "static" / "sorter.js"):
    """What the file says: {config, shapes, moments}, each moment with its `params`, a tree of float64 arrays."""
    import numpy as np
    from byhand.tree import unflatten

    found = json.loads(path.read_text(encoding="utf-8").partition("window.byhandSorter = ")[2].rstrip().rstrip(";"))
    for moment in found["moments"]:
        whole, start, arrays = np.frombuffer(base64.b64decode(moment["weights"]), np.int8), 0, {}
        for (name, shape), scale in zip(found["shapes"].items(), moment["scales"], strict=True):
            size = math.prod(shape)
            arrays[name] = whole[start:start + size].reshape(shape) * scale
            start += size
        moment["params"] = unflatten(arrays)
    return found


def look(params, config, digits):
    """What the model says to these digits, at most MOST tokens, and whether it then stopped; and where it looked for
    each: rows of weights over the digits. It is asked for one token at a time, the likeliest."""
    import numpy as np
    from byhand.config import ModelConfig
    from byhand.np.model import decoder_forward

    ids, said, looked = [*digits, BAR], [], []
    while True:
        logits, cache = decoder_forward(np.array([ids]), params, ModelConfig(**config))
        token = int(logits[0, -1].argmax())
        if token == EOS or len(said) == MOST:
            return said, token == EOS, looked
        A = cache.stack.blocks[BLOCK].attention.inner.inner.attention.A
        looked.append(A[0, 0, -1, :len(digits)].tolist())
        said.append(token)
        ids.append(token)


def table(digits, said, looked):
    """The map as HTML, letter by letter what front.js makes of it."""
    right = sorted(digits)
    rows = []
    for i, (token, weights) in enumerate(zip(said, looked, strict=True)):
        cells = "".join(f'<td style="--w:{w:.2f}">{f"{w:.2f}".removeprefix("0") if w >= .05 else ""}</td>'
                        for w in weights)
        wrong = "" if right[i:i + 1] == [token] else ' class="wrong"'
        rows.append(f'<tr style="--i:{i}">{cells}<th scope="row"{wrong}>{"|" if token == BAR else token}</th></tr>')
    head = "".join(f'<th scope="col">{k}</th>' for k in digits)
    return f'<thead><tr>{head}<th scope="col">says</th></tr></thead><tbody>{"".join(rows)}</tbody>'


def verdict(digits, said, stopped):
    """The sentence below the map, as front.js says it."""
    if said == sorted(digits) and stopped:
        return f"Sorted, and it stopped: {' '.join(map(str, said))}"
    if not said:
        return "Wrong: it says nothing"
    return f"Wrong: it says {' '.join('|' if k == BAR else str(k) for k in said)}{'' if stopped else ' …'}"


def living(found, digits, k):
    """The whole picture at moment k; its controls show only where scripts run."""
    said, stopped, looked = look(found["moments"][k]["params"], found["config"], digits)
    moments = "".join(
        f'<label><input type="radio" name="sorter-moment" value="{i}"{" checked" if i == k else ""}>'
        f'<span>{m["step"]:,}</span></label>' for i, m in enumerate(found["moments"]))
    size = sum(math.prod(shape) for shape in found["shapes"].values())
    m, asked = found["moments"][k], "".join(map(str, digits))
    return f"""<div class="sorter" id="sorter">
<div class="sorter-ask pst-js-only"><label for="sorter-digits">Type digits</label>
<input id="sorter-digits" inputmode="numeric" autocomplete="off" maxlength="{2 * MOST}" value="{asked}">
<button type="button" id="sorter-other">Others</button></div>
<div class="sorter-frame"><table class="sorter-map"><caption>Where the model looks while it writes the digits in order:
a row is one step, a column a digit of the question, a number the weight, left out below 0.05.</caption>
{table(digits, said, looked)}</table></div>
<p class="sorter-verdict" id="sorter-verdict" role="status">{verdict(digits, said, stopped)}</p>
<fieldset class="sorter-moments pst-js-only"><legend>Trained for</legend>{moments}
<output id="sorter-right">steps: {m["right"]:.1%} right</output></fieldset>
<p class="sorter-caption">{size:,} numbers, at work in this page: a small transformer, trained from noise, that puts
your digits in order. A row is one step: where it looks, and what it then says.</p>
</div>"""


class Living(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        found = load()
        self.env.note_dependency(str(HERE / "static" / "sorter.js"))
        digits = [int(k) for k in self.arguments[0].split()]
        return [nodes.raw("", living(found, digits, len(found["moments"]) - 1), format="html")]


def printed(cell):
    """The text that a cell of a notebook has printed."""
    return "".join("".join(out.get("text", "")) for out in cell["outputs"] if out["output_type"] == "stream")


def chosen(text, lines):
    """Lines "2-4" of a text, counted from 1, or all; a line that is not there is an error."""
    if not lines:
        return text.rstrip("\n")
    every = text.split("\n")
    first, _, last = lines.partition("-")
    first, last = int(first), int(last or first)
    if not (1 <= first <= last <= len(every) and every[last - 1].strip()):
        raise ValueError(f"lines {lines} of {len(every)}")
    return "\n".join(every[first - 1:last])


class Stored(SphinxDirective):
    """The text that a cell printed: notebook, id of the cell; `:lines:` a part of it, `:source:` its code instead."""

    required_arguments = 2
    option_spec = {"lines": directives.unchanged, "source": directives.flag}

    def run(self):
        notebook, name = self.arguments
        path = HERE.parent / "book" / f"{notebook}.ipynb"
        self.env.note_dependency(str(path))
        cells = {c["id"]: c for c in json.loads(path.read_text(encoding="utf-8"))["cells"]}
        if name not in cells:
            raise self.error(f"{path.name} has no cell {name}")
        code = "source" in self.options
        text = "".join(cells[name]["source"]) if code else printed(cells[name])
        try:
            text = chosen(text, self.options.get("lines", ""))
        except ValueError as problem:
            raise self.error(f"cell {name} of {path.name}: no {problem}") from None
        if not text:
            raise self.error(f"cell {name} of {path.name} has printed nothing")
        block = nodes.literal_block(text, text, language="python" if code else "none", classes=["front-output"])
        return [block]


ASSETS = {"sorter.js", "front.js", "front.css"}


def only_there(app, pagename, templatename, context, doctree):
    """The scripts and styles of the front page are loaded there and nowhere else."""
    if pagename == app.config.root_doc:
        app.add_css_file("front.css")
        app.add_js_file("sorter.js", loading_method="defer")
        app.add_js_file("front.js", loading_method="defer")


def setup(app):
    app.add_directive("living", Living)
    app.add_directive("stored", Stored)
    app.connect("html-page-context", only_there, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
