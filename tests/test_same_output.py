"""What a rerun may change: noise in pictures, declared digits, and nothing else. Wrong versions are kept."""

import base64
import io
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import run_notebooks
from byhand.show import house_style, matrix
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbval.plugin import IPyNbCell, bcolors
from PIL import Image
from rewritten import rewritten

SOURCE = Path(__file__).parents[1] / "tools" / "same_output.py"


def module(*edits):
    return rewritten(SOURCE, *edits)


def stored(figure):
    """A figure as a notebook keeps it."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    plt.close(figure)
    return run_notebooks.small(base64.b64encode(file.getvalue()).decode())


def curve(*, by=0.0, label="loss", colour="C0", width=4.0, title="0.51", tick=None):
    house_style()
    figure, ax = plt.subplots(figsize=(width, 3))
    x = np.linspace(0, 1, 200)
    _ = ax.plot(x, np.exp(-3 * x) + by, color=colour, label=label)
    _ = ax.set(title=title, xlim=(0, 1), ylim=(0, 1.1))
    _ = ax.legend()
    if tick:
        _ = ax.set_xticks([0, 0.5, 1], ["0", tick, "1"])
    return stored(figure)


def squares(entry=0.5, noise=0.0, numbers=False):
    house_style()
    A = np.random.default_rng(0).uniform(size=(8, 8))
    A[2, 3] = entry
    return stored(matrix(A + noise * np.random.default_rng(1).normal(size=A.shape), numbers=numbers).figure)


def area(shade):
    """White, with one grey square."""
    picture, file = Image.new("L", (200, 100), 255), io.BytesIO()
    picture.paste(shade, (50, 30, 80, 60))
    picture.save(file, "png")
    return base64.b64encode(file.getvalue()).decode()


def noise_is_no_change(same):
    assert same.same_picture(curve(), curve(by=1e-6)) and same.same_picture(squares(), squares(noise=1e-6))
    assert same.same_picture(curve(), curve(by=0.0004))  # a tenth of a pixel


def what_can_be_seen_is(same):
    for other in (dict(by=0.01), dict(label="lose"), dict(colour="C1"), dict(title="0.52"), dict(width=4.1),
                  dict(title="−0.51"), dict(label="less", title="0.51"), dict(tick="0.5")):
        assert not same.same_picture(curve(), curve(**other)), other
    old = Image.open(io.BytesIO(base64.b64decode(curve()))).convert("RGB")
    wider, file = Image.new("RGB", (old.width + 9, old.height), "white"), io.BytesIO()
    wider.paste(old)
    wider.save(file, "png")
    assert not same.same_picture(curve(), base64.b64encode(file.getvalue()).decode())


def another_shade_is_seen(same):
    assert not same.same_picture(squares(0.5), squares(0.56))
    assert not same.same_picture(area(100), area(112)) and same.same_picture(area(100), area(103))


def declared_digits_may_differ(same):
    text = "loss 0.2513 after 300 steps, norm 1.2e+03"
    assert same.same_text(text, "loss 0.2514 after 300 steps, norm 1.2e+03", same.Slack(1e-3))
    assert same.same_text("x  9.9996", "x 10.0003", same.Slack(1e-3))  # the columns move
    assert same.same_text("a\n 9.9996", "a\n10.0003", same.Slack(1e-3))
    assert same.same_text("-0.000 −0.5 −0.0", "0.000 −0.5001 0.0", same.Slack(1e-3))
    assert same.same_text("1234.5", "1235.1", same.Slack(1e-3))
    for k in range(100):  # the last digit printed turns: 0.94 and 0.95 differ by 0.01 and a rounding
        assert same.same_text(f"0.{k:02}", f"{(k + 1) / 100:.2f}", same.Slack(1e-2)), k
    assert same.same_text("off by 0.25131. Then 3.", "off by 0.25132. Then 3.", same.Slack(1e-3))  # ends a sentence
    assert same.same_text("off by 4e-16. Then", "off by 8e-16. Then", same.Slack(0, 1e-12))
    assert same.same_text("off by 0.0. Then", "off by 8e-16. Then", same.Slack(0, 1e-12))


def others_may_not(same):
    for old, new in [("0.2513", "0.2533"), ("3000 steps", "3001 steps"), ("a 0.5", "b 0.5"), ("0.5 0.5", "0.5"),
                     ("0.5", "nan"), ("0.5", "-0.5"), ("layer2.5", "layer2.5001"), ("2.5x", "2.5001x"),
                     ("0.5, 0.6", "0.6, 0.5"), ("0.5000", "0.5015"),
                     ("1200.0", "1203.0"), ("at 0.5\n", "at\n0.5\n"), ("0.5\n\n", "0.5\n"),
                     ("1e-05", "1e-02"), ("1.2.3", "1.2.4"), ("1.2.x", "1.2001.x")]:
        assert not same.same_text(old, new, same.Slack(1e-3)), (old, new)


def without_a_tag_nothing_may(same):
    assert same.slack(new_code_cell("x", metadata={"tags": ["hide-input"]})) == (0, 0)
    assert same.slack(new_code_cell("x", metadata={"tags": ["tolerance:1e-3"]})) == (1e-3, 0)
    assert same.slack(new_code_cell("x", metadata={"tags": ["hide-cell", "rounding:1e-8"]})) == (0, 1e-8)
    assert same.slack(new_code_cell("x", metadata={"tags": ["rounding:1e-8", "tolerance:1e-3"]})) == (1e-3, 1e-8)
    assert not same.same_text("0.25131", "0.25132", same.Slack())
    outputs = [[new_output("stream", name="stdout", text=t)] for t in ("0.25131\n", "0.25132\n")]
    same.keep_same(*outputs, same.Slack())
    assert outputs[1][0].text == "0.25132\n"


def outputs_of_a_cell(text, picture, html="<b>0.5</b>", drawn=""):
    data = {"image/png": picture, "text/plain": "<Figure>", "text/html": html, "image/svg+xml": drawn}
    return [new_output("stream", name="stdout", text=text),
            new_output("display_data", data={mime: content for mime, content in data.items() if content})]


def a_drawing_goes_with_its_picture(same):
    """An SVG is compared by its PNG; one that is made in another way is new all the same."""
    old = '<svg><path id="f0a1b2c-0" d="M1 2 3 4" fill="#0072b2"/><text x="1.5">5</text></svg>'
    noise = '<svg><path id="f9a1b2c-0" d="M1 2.01 2 3 3 4" fill="#0072b3"/><text x="1.51">5</text></svg>'
    other = old.replace("<text", '<text class="k0"')
    picture, moved = curve(), curve(by=0.01)
    for drawn, beside, kept in ((noise, curve(by=1e-6), True), (noise, moved, False), (other, picture, False),
                                (noise, "", False)):
        new = outputs_of_a_cell("0.5", beside, drawn=drawn)
        same.keep_same(outputs_of_a_cell("0.5", picture, drawn=old), new, same.Slack())
        assert new[1].data["image/svg+xml"] == (old if kept else drawn)


def what_is_the_same_is_kept(same):
    first, second = curve(), curve(by=1e-6)
    old, new = outputs_of_a_cell("0.5001", first), outputs_of_a_cell("0.5002", second, "<b>0.50001</b>")
    same.keep_same(old, new, same.Slack(1e-3))
    assert new == old
    new = outputs_of_a_cell("0.6", curve(by=0.01), "<b>0.6</b>")
    wanted = json.loads(json.dumps(new))
    same.keep_same(old, new, same.Slack(1e-3))
    assert new == wanted
    new = outputs_of_a_cell("0.5002", second)[::-1]  # of another kind, in another order
    wanted = json.loads(json.dumps(new))
    same.keep_same(old, new, same.Slack(1e-3))
    assert new == wanted
    errors = [[new_output("stream", name=name, text=text)] for name, text in (("stdout", "0.5"), ("stderr", "0.5001"))]
    same.keep_same(*errors, same.Slack(1e-3))
    assert errors[1][0].text == "0.5001"


def errors_of_rounding_are_alike(same):
    """Two numbers below the declared bound are the same, however many times one is the other; the rest is compared."""
    tiny = same.Slack(rounding=1e-8)
    for old, new in [("X 3e-11", "X 8e-13"), ("X 0.0", "X 2e-17"), ("X 2e-17", "X 0.0"), ("gap -3e-11", "gap 1e-08"),
                     ("no positions  5.6e-17", "no positions  0"), ("X 0", "X 2e-17")]:
        assert same.same_text(old, new, tiny), (old, new)
    for old, new in [("X 3e-11", "X 2e-08"), ("X 2e-08", "X 3e-11"), ("X 3e-11", "Y 3e-11"), ("0.25", "0.26"),
                     ("X 3e-11", "X -2e-08"), ("X 3e-11", "X nan"), ("X 3e-11 b 1", "X 2e-11 b 2"),
                     ("X 0", "X 1"), ("X 0", "X 2e-08"), ("X 10", "X 1"), ("X 1", "X 1.0")]:
        assert not same.same_text(old, new, tiny), (old, new)
    assert same.same_text("0.2513 3e-11", "0.2514 8e-13", same.Slack(1e-3, 1e-8))
    assert not same.same_text("2e-07", "3e-12", same.Slack(rounding=1e-8))


CHECKS = [noise_is_no_change, what_can_be_seen_is, another_shade_is_seen, declared_digits_may_differ, others_may_not,
          errors_of_rounding_are_alike,
          without_a_tag_nothing_may, what_is_the_same_is_kept, a_drawing_goes_with_its_picture]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_sameness(check):
    check(module())


WRONG = [
    ("pictures to the byte", noise_is_no_change, "return bool((np", "return bool(old == new and (np"),
    ("any picture of its size", what_can_be_seen_is, "<= PIXELS and", ">= 0 or"),
    ("letters are noise", what_can_be_seen_is, "SHADE = 48, 3, 8, 8", "SHADE = 48, 300, 8, 80"),
    ("single pixels only", another_shade_is_seen, " and np.abs(means).max() <= SHADE", ""),
    ("mean over the whole picture", another_shade_is_seen, "SHADE = 48, 3, 8, 8", "SHADE = 48, 3, 400, 8"),
    ("sizes forgotten", what_can_be_seen_is, "if a.shape != b.shape:\n        return False",
     "a = a[:b.shape[0], :b.shape[1]]; b = b[:a.shape[0], :a.shape[1]]"),
    ("to the letter", declared_digits_may_differ, "old == new or allowed == Slack()", "True"),
    ("columns may not move", declared_digits_may_differ, '" ".join(line.split())', "line"),
    ("lines are blanks", others_may_not, '"\\n".join(', '" ".join('),
    ("lines begin with a blank", declared_digits_may_differ, '" ".join(line.split())', 're.sub(" +", " ", line)'),
    ("only absolute", declared_digits_may_differ, "max(1.0, abs(a))", "1.0"),
    ("a typographer's minus", declared_digits_may_differ, "[-+−]?(?:\\d", "[-+]?(?:\\d"),
    ("only relative to ten", others_may_not, "max(1.0, abs(a))", "max(10.0, abs(a))"),
    ("whole numbers too", others_may_not, r"|\d+(?=[eE][-+]?\d))", r"|\d+)"),
    ("words are not compared", others_may_not, "words[0] == words[1] and all", "all"),
    ("sorted numbers", others_may_not, "zip(*numbers, strict=True)", "zip(*map(sorted, numbers), strict=True)"),
    ("letters and digits", others_may_not, r"(?<![\w.])[-+", r"[-+"),
    ("always tolerant", without_a_tag_nothing_may, "if tag.startswith(word)), 0.0)", "if tag.startswith(word)), 1e-3)"),
    ("never tolerant", without_a_tag_nothing_may, "float(tag.removeprefix(word))", "0.0"),
    ("one tag for both", without_a_tag_nothing_may, "for word in (TAG, ROUNDING)", "for word in (TAG, TAG)"),
    ("rounding of one number only", errors_of_rounding_are_alike, "max(abs(a), abs(b)) <=", "abs(a) <="),
    ("rounding with a sign", errors_of_rounding_are_alike, "max(abs(a), abs(b)) <=", "max(a, b) <="),
    ("rounding is no reason", errors_of_rounding_are_alike, "or max(abs(a), abs(b)) <= allowed.rounding", ""),
    ("a plain 0 is a word", errors_of_rounding_are_alike, "NUMBER_OR_ZERO if allowed.rounding else NUMBER", "NUMBER"),
    ("any whole number", errors_of_rounding_are_alike, r"|(?<![\w.])0(?![\w.])", r"|(?<![\w.])\d+(?![\w.])"),
    ("to the last bit", declared_digits_may_differ, " * (1 + 1e-9)", ""),
    ("twice as far", others_may_not, "1 + 1e-9", "2"),
    ("no number ends a sentence", declared_digits_may_differ, r"\d+)?(?!\w|\.\w)", r"\d+)?(?![\w.])"),
    ("a version is a number", others_may_not, r"\d+)?(?!\w|\.\w)", r"\d+)?(?!\w)"),
    ("no tolerance, no comparison", without_a_tag_nothing_may, "return old == new\n", "return True\n"),
    ("pictures are left", what_is_the_same_is_kept, "looks_same = pictures and", "looks_same = False and"),
    ("pictures always kept", what_is_the_same_is_kept, "PNG in both and same_picture(*both[PNG])", "PNG in both"),
    ("a drawing for itself", a_drawing_goes_with_its_picture, "same = looks_same and same", "same = same"),
    ("a drawing to the letter", a_drawing_goes_with_its_picture, "same_make_up(content, again)", "content == again"),
    ("drawings without a look", a_drawing_goes_with_its_picture, " and same_make_up(content, again)", ""),
    ("html is left", what_is_the_same_is_kept, 'mime.startswith("text/")', 'mime == "text/plain"'),
    ("kinds are mixed", what_is_the_same_is_kept, ' and before.get("name") == after.get("name")', ""),
]


@pytest.mark.parametrize(("check", "old", "new"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_wrong_rule_is_caught(check, old, new):
    with pytest.raises((AssertionError, KeyError, ValueError)):
        check(module(old, new))


# ---------------------------------------------------------------- the two that use it


def cell_of(tags=(), text="loss 0.2513\n", picture=None):
    cell = new_code_cell("train()", id="one", metadata={"tags": list(tags)} if tags else {}, execution_count=1)
    cell.outputs = [new_output("stream", name="stdout", text=text)]
    if picture:
        cell.outputs.append(new_output("display_data", data={"image/png": picture, "text/plain": "<Figure>"}))
    return cell


def judged(cell, text):
    """What nbval says of a cell that now prints this text."""
    item = IPyNbCell.__new__(IPyNbCell)
    item.cell, item.colors, item.parent = cell, bcolors, type("File", (), {"skip_compare": ("image/png",)})()
    item.sanitize, item.format_output_compare = lambda text: text, lambda *what: None
    return item.compare_outputs([new_output("stream", name="stdout", text=text)], cell.outputs)


@pytest.mark.parametrize(("tags", "text", "right"), [
    ([], "loss 0.2513\n", True), ([], "loss 0.2514\n", False), (["hide-input"], "loss 0.2514\n", False),
    (["tolerance:1e-3"], "loss 0.2514\n", True), (["tolerance:1e-3"], "loss 0.2613\n", False),
    (["tolerance:1e-3"], "loss 0.2513\nmore\n", False), (["rounding:1e-8"], "loss 0.2514\n", False),
])
def test_nbval_honours_the_tag_and_only_that(tags, text, right):
    assert judged(cell_of(tags), text) is right


@pytest.mark.parametrize(("tags", "text", "by", "same"), [
    ([], "loss 0.2513\n", 0, True), ([], "loss 0.2513\n", 1e-6, True), ([], "loss 0.2513\n", 0.01, False),
    ([], "loss 0.2514\n", 0, False), (["tolerance:1e-3"], "loss 0.2514\n", 1e-6, True),
    (["tolerance:1e-3"], "loss 0.2613\n", 0, False),
])
def test_a_rerun_writes_only_what_changed(tags, text, by, same, tmp_path, monkeypatch):
    """`make run` and its --check agree: a comma in the prose leaves a comma in the difference."""
    path = tmp_path / "tiny.ipynb"
    before = new_notebook(cells=[cell_of(tags, picture=curve())], nbformat_minor=5)
    path.write_bytes(run_notebooks.to_bytes(run_notebooks.canonical(before)))
    stored = path.read_bytes()

    def execute(nb, folder, progress=None):
        nb.cells[0].outputs = cell_of(tags, text, curve(by=by)).outputs

    monkeypatch.setattr(run_notebooks, "execute", execute)
    if same:
        run_notebooks.run(path, check=True)
    else:
        with pytest.raises(run_notebooks.RunError, match="a rerun changes it"):
            run_notebooks.run(path, check=True)
    assert path.read_bytes() == stored
    run_notebooks.run(path)
    assert (path.read_bytes() == stored) is same


def test_a_picture_of_an_editor_is_not_kept(tmp_path, monkeypatch):
    """What JupyterLab stored is of another kind: the tool's own small picture takes its place."""
    figure, ax = plt.subplots()
    _ = ax.plot([1, 2])
    file = io.BytesIO()
    figure.savefig(file, format="png")
    big = base64.b64encode(file.getvalue()).decode()
    path = tmp_path / "tiny.ipynb"
    path.write_bytes(run_notebooks.to_bytes(new_notebook(cells=[cell_of(picture=big)], nbformat_minor=5)))
    monkeypatch.setattr(run_notebooks, "execute", lambda nb, folder, progress=None: None)
    run_notebooks.run(path)
    assert len(path.read_bytes()) < len(big) / 2
