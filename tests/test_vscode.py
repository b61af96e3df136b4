"""What tests/vscode.py counts, without VS Code: a small notebook, the frame in which VS Code would show it, and one
thing wrong at a time. Wrong versions of the script, and of what looks at the frame, must miss something."""

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from browser import visitor
from rewritten import rewritten

pytestmark = pytest.mark.browser
SCRIPT = Path(__file__).with_name("vscode.py")
LOOK = SCRIPT.with_name("vscode_extension") / "look.js"
FOLD = "<details><summary>Why</summary>\n\nSo.\n\n</details>"
PICTURE = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def output(text="", **data):
    return {"output_type": "display_data", "data": data} if data else {"output_type": "stream", "text": text}


CELLS = [
    {"cell_type": "markdown", "source": ["# One\n", "\n", FOLD, "\n\n", FOLD]},
    {"cell_type": "code", "source": "1", "outputs": [output("1\n"), output(**{"image/svg+xml": "<svg/>"})]},
    {"cell_type": "markdown", "source": "The formula $a$, [a page](two.ipynb)."},
    {"cell_type": "code", "source": "2", "outputs": [
        output(**{"image/png": "", "text/plain": "<Figure>"}), output(**{"text/html": ["<div class='bh", "-box'>"]})]},
    {"cell_type": "code", "source": "3", "outputs": []},
]
TEXTS = ["<h1>One</h1><details>So.</details><details>So.</details>",
         "The formula <span class=katex>$a$</span>, <a href=two.ipynb#part>a page</a>, "
         "<a href=https://example.org>another</a>, <code>**</code>."]
OUTPUTS = ["1", "<svg width=9 height=9></svg>", f"<img src={PICTURE}>",
           "<div class=bh-box>Step 1 of 2 <svg></svg></div>"]
FRAME = """([texts, outputs]) => {
    document.body.innerHTML = texts.map(() => "<div class=preview></div>").join("")
        + "<div class=preview></div>" + outputs.map((html, k) =>
            `<div class="output${k ? "" : " output-stream"}" id=o${k}>${html}</div>`).join("");
    document.querySelectorAll(".preview").forEach((e, k) => {
        if (k < texts.length) e.attachShadow({mode: "open"}).innerHTML = `<style>p::before {content: "$"}</style>`
            + `<div>${texts[k]}</div>`;
    });
    return Promise.all([...document.images].map((e) => e.complete || new Promise((done) => {
        e.onload = e.onerror = done;
    })));
}"""
# What is changed in the frame, and what is said then; a number of an output, or a text, is replaced
FAULTS = {
    "a text is missing": ({"texts": TEXTS[1:]}, ["1 of 2 text", "0 of 2 folds"]),
    "a fold is missing": ({0: "<h1>One</h1><details>So.</details>So."}, ["1 of 2 folds"]),
    "a fold too many": ({0: TEXTS[0] + "<details>So.</details>"}, ["3 of 2 folds"]),
    "an output is missing": ({"outputs": OUTPUTS[:3]}, ["3 of 4 outputs", "0 of 1 pieces"]),
    "no picture": ({"o1": "a drawing"}, ["1 of 2 pictures"]),
    "no piece": ({"o3": "Step 1 of 2"}, ["0 of 1 pieces"]),
    "a broken formula": ({1: "<span class=katex-error title='ParseError: x'>$\\x$</span>"},
                         ["1 formulas are broken, first: 'ParseError: x'"]),
    "a formula as it was typed": ({1: "The formula $a$."}, ["1 places stand raw, first: 'The formula $a$.'"]),
    "a directive": ({1: ":::{note}"}, ["1 places stand raw, first: ':::{note}'"]),
    "bold as it was typed": ({1: "A **word**"}, ["1 places stand raw, first: 'A **word**'"]),
    "a link as it was typed": ({1: "See [it](two.ipynb)"}, ["1 places stand raw, first: 'See [it](two.ipynb)'"]),
    "tags as they were typed": ({1: "a &lt;details&gt;"}, ["1 places stand raw, first: 'a <details>'"]),
    "an empty output": ({"o0": " "}, ["1 outputs are not seen, first: 'o0'"]),
    "a picture that is none": ({"o2": "<img src=data:image/gif;base64,R0lG>"}, ["1 outputs are not seen, first: 'o2'"]),
    "an output cut short": ({"o0": "1 <a href='command:cellOutput.enable'>…</a>"},
                            ["1 outputs are cut short, first: '1 …'"]),
    "a number that is a link": ({"o0": "<a href=x>1</a>"}, ["1 signs in outputs look like links, first: '1 in 1'"]),
    "a sign that is a link": ({"o2": f"<img src={PICTURE}><p class=output-plaintext>2 <a href=x>+</a></p>"},
                              ["1 signs in outputs look like links, first: '+ in 2 +'"]),
    "a link to nowhere": ({1: "<a href=three.ipynb#a>a</a>"}, ["1 links lead nowhere, first: 'three.ipynb#a'"]),
    "a link by what it was": ({1: "<a data-href='t%20o.ipynb' href=two.ipynb>a</a>"},
                              ["1 links lead nowhere, first: 't%20o.ipynb'"]),
}
FOUND = ["console error: of VS Code's own", "asks for https://example.org/x", "page error: ReferenceError"]


@pytest.fixture(scope="module")
def tab(chrome):
    with visitor(chrome, "http://127.0.0.1:1") as page:
        yield page


@pytest.fixture
def notebook(tmp_path):
    path = tmp_path / "book" / "one.ipynb"
    path.parent.mkdir()
    path.write_text(json.dumps({"cells": CELLS}), encoding="utf-8")
    path.with_name("two.ipynb").touch()
    return path


def told(module, tab, notebook, changed=(), found=()):
    texts, outputs = list(TEXTS), list(OUTPUTS)
    for place, new in dict(changed).items():
        if place in ("texts", "outputs"):
            {"texts": texts, "outputs": outputs}[place][:] = new
        elif isinstance(place, int):
            texts[place] = new
        else:
            outputs[int(place[1:])] = new
    tab.evaluate(FRAME, [texts, outputs])
    return module.faults(tab.evaluate(module.LOOK), module.expected(notebook), notebook, found)


def every_fault_is_told(module, tab, notebook):
    assert told(module, tab, notebook) == []
    assert told(module, tab, notebook, found=FOUND) == FOUND[1:]
    for name, (changed, said) in FAULTS.items():
        assert told(module, tab, notebook, changed) == said, name


def test_every_fault_is_told(tab, notebook):
    every_fault_is_told(rewritten(SCRIPT), tab, notebook)


WRONG = {
    "code counts as text": (SCRIPT, 'if cell["cell_type"] == "markdown"]', "]"),
    "one fold a cell": (SCRIPT, 'sum(text.count("<details") for', 'sum("<details" in text for'),
    "drawings alone": (SCRIPT, '"image/svg+xml" in data or "image/png" in data', '"image/svg+xml" in data'),
    "a piece is one line": (SCRIPT, '"".join(data.get("text/html", ""))', 'data.get("text/html", "")'),
    "more is as good": (SCRIPT, "if seen[what] != number]", "if seen[what] < number]"),
    "links need their mark": (SCRIPT, 'link.split("#")[0]', "link"),
    "links are not read": (SCRIPT, '"links", []) if', '"links", []) if 0 and'),
    "links out are none": (SCRIPT, 'if not re.match(r"https?:", link)', "if True"),
    "one kind of fault": (SCRIPT, '(("asks for", "page error"))]', '("asks for")]'),
    "whatever the editor says": (SCRIPT, ' if text.startswith(("asks for", "page error"))]', "]"),
    "the page's own text": (LOOK, "copy.append(...[...root.children]", "copy.append(...[...document.body.children]"),
    "formulas are read": (LOOK, "style, .katex, .katex-error, pre, code", "style, pre, code"),
    "styles are read": (LOOK, "style, .katex", ".katex"),
    "code is read": (LOOK, ".katex-error, pre, code", ".katex-error"),
    "no raw formula": (LOOK, r"/.{0,30}(\$|", "/.{0,30}("),
    "no raw directive": (LOOK, "|:::|", "|"),
    "no raw bold": (LOOK, r"\*\*|", ""),
    "no raw tag": (LOOK, r"<\/?\w+>|", ""),
    "no raw link": (LOOK, r"|\]\(", ""),
    "a piece is a picture": (LOOK, "svg:not(.bh-box svg), img", "svg, img"),
    "the first output": (LOOK, "outputs: outputs.length", "outputs: Math.min(4, outputs.length + 1)"),
    "a picture that is there": (LOOK, '|| !picture.complete || picture.naturalWidth', "|| true"),
    "a drawing is nothing": (LOOK, '("svg, img")].some(', '("img")].some('),
    "any link is untrue": (LOOK, ':not([href^=command])', ""),
    "links in drawings alone": (LOOK, ":has(.output-plaintext), .output-stream", ":has(.output-plaintext)"),
    "cut at the end": (LOOK, "command:cellOutput", "command:cellEnd"),
    "streams alone": (LOOK, ":has(.output-plaintext), .output-stream", ".output-stream"),
    "where a link leads now": (LOOK, "e.dataset.href || ", ""),
}


@pytest.mark.parametrize(("path", "old", "new"), WRONG.values(), ids=WRONG)
def test_a_script_that_counts_wrongly_is_found_out(tab, notebook, path, old, new):
    if path == SCRIPT:
        module = rewritten(SCRIPT, old, new)
    else:
        module, text = rewritten(SCRIPT), LOOK.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        module.LOOK = text.replace(old, new)
    with pytest.raises(AssertionError):
        every_fault_is_told(module, tab, notebook)


# What it says at the end

def ends(module, folder, broken=(), acts=()):
    """The exit status of a run over two notebooks; those of `broken` have a broken formula, and acts miss something."""
    for name in ("one", "exercises/two"):
        (folder / "book" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "book" / f"{name}.ipynb").write_text(json.dumps({"cells": CELLS[::4]}), encoding="utf-8")
    module.ROOT, module.fetch, module.workbench, module.browser = folder, Path, lambda *_: nullcontext(""), nullcontext
    module.visitor = lambda *_, workers="block", **__: nullcontext(SimpleNamespace(
        found=["asks for x"] if "asks" in acts else [], workers=workers))
    module.Reader = lambda page, site, name: SimpleNamespace(  # without its worker the editor shows no text or output
        look=lambda wanted: wanted | {"broken": ["x"] * (name in broken or page.workers == "block")})
    for name in ("wrong_answer", "click"):
        act = mock.Mock(return_value=["nothing"] * (name in acts), __name__=name)
        setattr(module, name, act)
    with mock.patch("sys.argv", ["vscode.py"]), pytest.raises(SystemExit) as ended:
        module.main()
    return ended.value.code


def one_fault_is_enough(module, folder):
    assert ends(module, folder) == 0
    for broken in ("one", "exercises/two"):
        assert ends(module, folder, [broken]) == 1, broken
    for act in ("wrong_answer", "click", "asks"):
        assert ends(module, folder, acts=[act]) == 1, act


def test_one_fault_is_enough(tmp_path, capsys):
    one_fault_is_enough(rewritten(SCRIPT), tmp_path)
    row, fault = "| exercises/two | 1 | 2 | 0 | 0 | 0 | 0 | 1 |\n", "  1 formulas are broken, first: 'x'\n"
    assert row + fault in capsys.readouterr().out


@pytest.mark.parametrize(("old", "new"), [
    ("sys.exit(wrong > 0)", "sys.exit(wrong > 1)"), ('(folder / "book").rglob(', '(folder / "book").glob('),
    ("for act in (wrong_answer, click):", "for act in (wrong_answer,):"), ("act(page, site, folder) + ", ""),
    ("dist, wrong, scheme = fetch(), 0,", "dist, wrong, scheme = fetch(), 1,"),
    ("wanted, file, page.found)\n", "wanted, file, page.found)[:0]\n"),
    ('workers="allow") as page:\n                    wanted', ') as page:\n                    wanted'),
], ids=["two faults", "no folders", "one act", "acts are not heard", "always", "notebooks are not heard",
        "no service worker"])
def test_a_script_that_ends_well_where_it_should_not_is_found_out(tmp_path, old, new):
    wrong = rewritten(SCRIPT, old, new)
    with pytest.raises(AssertionError):
        one_fault_is_enough(wrong, tmp_path)
