"""Cells that run in the page: a learner who has nothing but a browser, and no network but the site.

Reads the book that `make live` has prepared in _build/html (BOOK_HTML names another folder); without it all of this is
skipped, loudly.
"""

import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from browser import accessibility, answer_with, end, faults, narrow, saved, serve, visit, visitor
from byhand.grade.sets import questions_of
from live_cells import HTML, IDLE, answer_set, cells_of, has_full_marks, page_of, run_cell, write_answers
from PIL import Image
from playwright.sync_api import Error
from test_kept import host

pytestmark = [pytest.mark.browser, pytest.mark.live]
SET = "book/exercises/ex04_attention.html"
WRONG = """def attention(Q, K, V, mask=None):
    S = Q @ K.mT
    if mask is not None:
        S = np.where(mask, S, -np.inf)
    E = np.exp(S - np.maximum(S.max(axis=-1, keepdims=True), -1e300))
    total = E.sum(axis=-1, keepdims=True)
    A = np.divide(E, total, out=np.zeros_like(E), where=total > 0)
    return A @ V, A
"""
RIGHT = WRONG.replace("Q @ K.mT", "Q @ K.mT / np.sqrt(Q.shape[-1])")


def html_of_live():
    """The folder of the book that `make live` prepared."""
    html = Path(os.environ.get("BOOK_HTML", HTML))
    if not (html / "_static" / "live" / "page.js").is_file():
        pytest.skip("NO LIVE CELLS: run `make live`, or the cells that run in the page are not tried")
    return html


@pytest.fixture(scope="module")
def site():
    with serve(html_of_live()) as address:
        yield address


@pytest.fixture
def page(chrome, site):
    with visitor(chrome, site) as page:
        visit(page, f"{site}/{SET}")
        yield page
        assert page.found == []


def cell_of(page, text):
    return page.locator("[data-live].cell", has_text=text).first


def write(cell, text):
    """As a learner does: Edit, select all, and write."""
    if cell.get_by_role("button", name="Edit").is_visible():
        cell.get_by_role("button", name="Edit").click()
    cell.locator(".cm-content").click()
    cell.page.keyboard.press("ControlOrMeta+a")
    cell.page.keyboard.press("Delete")  # over a selection Firefox would insert a line before the text
    cell.page.keyboard.insert_text(text)


def run(page, text):
    return run_cell(page, cell_of(page, text))


def free_cell(page, text):
    """The second cell of a set, which only sets the printing up, with this text."""
    cell = page.locator("[data-live].cell").nth(1)
    write(cell, text)
    return run_cell(page, cell)


@pytest.mark.firefox
def test_nothing_is_loaded_before_the_first_run(chrome, site):
    with visitor(chrome, site) as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
        visit(page, f"{site}/{SET}")
        assert page.get_by_role("button", name="Run", exact=True).count() > 40
        parts = ("packed", "worker.js", "editor.js")
        assert not [name for name in asked if name.endswith(parts)]
        assert run_cell(page, page.locator("[data-live].cell").first)["status"] == "done"
        assert sum(name.endswith("packed") for name in asked) == 2
        page.reload()  # from now on it is in the browser
        asked.clear()
        assert run_cell(page, page.locator("[data-live].cell").first)["status"] == "done"
        assert not [name for name in asked if name.endswith("packed")]


OTHER = "addEventListener('activate', (event) => event.waitUntil(clients.claim()));"
OTHERS = """async () => {
    const taken = new Promise((done) => navigator.serviceWorker.addEventListener("controllerchange", done));
    await navigator.serviceWorker.register("/other.js");
    await taken;
}"""


def the_host_may_go(chrome, root, wrong=None):
    """After the first Run all of the book opens, finds, and runs, below a path of its own, beside another's worker that
    keeps nothing; tests/test_kept.py has more of this."""
    (root / "below").symlink_to(html_of_live().resolve())
    (root / "other.js").write_text(OTHER)
    with host(root) as server:
        site = f"http://127.0.0.1:{server.server_port}/below"
        with visitor(chrome, site, workers="allow") as page:
            if wrong:
                answer_with(page, "live/page.js", *wrong, html=html_of_live())
            visit(page, f"{site}/genindex.html")
            page.evaluate(OTHERS)
            visit(page, f"{site}/{SET}")
            told = page.get_by_text("it opens without a network too")
            assert not told.is_visible()
            write(cell_of(page, "def attention("), RIGHT)
            assert "3 / 3 points" in run(page, "check(attention)")["text"]
            told.wait_for()
            end(server)
            visit(page, f"{site}/{SET}")
            assert told.is_visible() and "np.sqrt(Q.shape[-1])" in page.locator(".cm-content").first.inner_text()
            assert "3 / 3 points" in run(page, "check(attention)")["text"]
            for name in ("", "book/", "book/04_attention.html#equation-4-3", "book/14_pretrain.html"):
                visit(page, f"{site}/{name}")
                assert faults(page) == [], name
            visit(page, f"{site}/search.html?q=softmax")
            page.locator(".bd-search-container ol a").first.wait_for()


def test_after_the_first_run_the_host_may_go(chrome, tmp_path):
    the_host_may_go(chrome, tmp_path)


@pytest.mark.parametrize(("old", "new"), [
    ("keeping ??= keepBook()", "keeping ??= Promise.resolve(tellKept())"), ("?.scriptURL === offline.href", ""),
], ids=["said, but not done", "said, but done by another"])
def test_a_page_that_says_kept_and_is_not_is_found_out(chrome, old, new, tmp_path):
    with pytest.raises((AssertionError, Error)):
        the_host_may_go(chrome, tmp_path, (old, new))


@pytest.mark.firefox
def test_an_exercise_from_a_wrong_answer_to_full_marks(page):
    assert "not attempted" in run(page, "check(attention)")["text"]
    write(cell_of(page, "def attention("), WRONG)
    said = run(page, "check(attention)")  # runs the cell above first, since it is another now, and what that needs
    assert said["status"] == "done, after 2 earlier cells"
    scale = next(m for m in questions_of("04")[0].mutants if "√" in m.message)
    assert "FAIL" in said["text"] and scale.message.split(".")[0][:40] in said["text"]
    write(cell_of(page, '# hint("04.1")'), 'hint("04.1")')
    assert "hint 1 of 3" in run(page, 'hint("04.1")')["text"]
    write(cell_of(page, "Q @ K.mT"), RIGHT)
    assert "3 / 3 points" in run(page, "check(attention)")["text"]
    page.reload()  # what was written is there again, and so are points and hints
    assert "np.sqrt(Q.shape[-1])" in page.locator(".cm-content").first.inner_text()
    assert "hint 2 of 3" in run(page, 'hint("04.1")')["text"]
    assert "04.1    3 /  3" in free_cell(page, 'from byhand.grade import summary\nsummary("04")')["text"]


def test_which_equation(page):
    cell = cell_of(page, "np.set_printoptions")
    write(cell, "from byhand.grade import which_equation\nfrom byhand.np.softmax import *\n"
          "rng = np.random.default_rng(0)\nA, cache = softmax_forward(rng.normal(size=(2, 3)))\n"
          "def softmax_backward(dA, cache):\n    return cache.A * dA\n"
          "which_equation(softmax_backward, rng.normal(size=(2, 3)), cache)")
    said = run_cell(page, page.locator("[data-live].cell").nth(1))
    assert not said["error"] and "(4." in said["text"]


def test_a_loop_without_an_end_is_stopped(page):
    cell = page.locator("[data-live].cell").nth(1)
    write(cell, "kept = 1\nwhile True:\n    pass")
    said = run_cell(page, cell, limit=15)
    assert said["status"].startswith("stopped")
    write(cell, "print('alive', 'kept' in globals())")
    assert run_cell(page, cell)["text"] == "alive False\n"


def test_an_answer_without_an_end_is_told_so(page):
    write(cell_of(page, "def attention("), "def attention(Q, K, V, mask=None):\n    while True:\n        pass\n")
    assert "is there a loop that does not end?" in run(page, "check(attention)")["text"]


def test_what_a_cell_says(page):
    said = free_cell(page, "x = np.ones(2)\n\ndef f(a):\n    return a @ np.ones(3)\n\nf(x)")
    assert said["error"].splitlines()[:2] == ["line 6:  f(x)", "line 4 in f:  return a @ np.ones(3)"]
    assert "ValueError: matmul" in said["error"]
    said = free_cell(page, "for i in range(10**6):\n    print('so long')")
    assert len(said["text"]) < 201_000 and "the rest is left out" in said["text"]
    assert "PyTorch does not run in the page" in free_cell(page, "torch.ones(2)")["error"]
    assert free_cell(page, "np.arange(3.0)")["text"] == "array([0., 1., 2.])"
    assert free_cell(page, "import sys\nsys.exit()")["error"].endswith("SystemExit")


@pytest.mark.firefox
def test_work_is_saved_as_a_notebook_and_taken_back(chrome, site, page, tmp_path):
    write(cell_of(page, "def attention("), RIGHT)
    assert "3 / 3 points" in run(page, "check(attention)")["text"]
    file = saved(page.get_by_role("button", name="Save as a notebook"), tmp_path)
    notebook = json.loads(file.read_text(encoding="utf-8"))
    assert file.name == "ex04_attention.ipynb" and notebook["metadata"]["byhand"]["progress"]["04.1"][0] == 3
    assert [c["source"] for c in notebook["cells"]].count(RIGHT) == 1
    with visitor(chrome, site) as other:
        visit(other, f"{site}/{SET}")
        other.locator("input[type=file][accept*=ipynb]").set_input_files(file)
        other.get_by_text("1 cell taken back").wait_for()
        assert "np.sqrt(Q.shape[-1])" in other.locator(".cm-content").first.inner_text()
        assert "3 / 3 points" in run(other, "check(attention)")["text"]
        (tmp_path / "no.ipynb").write_text("no")
        other.locator("input[type=file][accept*=ipynb]").set_input_files(tmp_path / "no.ipynb")
        other.get_by_text("no.ipynb is not a notebook").wait_for()
        assert not other.found


def test_a_page_that_saves_nothing_is_found_out(chrome, site, tmp_path):
    with visitor(chrome, site) as page:
        answer_with(page, "live/page.js", "ipynb` }).click();", "ipynb` });", html=html_of_live())
        visit(page, f"{site}/{SET}")
        page.set_default_timeout(3000)
        with pytest.raises((AssertionError, Error)):
            saved(page.get_by_role("button", name="Save as a notebook"), tmp_path)


def test_a_chapter_draws_and_has_its_widgets(chrome, site):
    with visitor(chrome, site) as page:
        visit(page, f"{site}/book/04_attention.html")
        drawn, live = set(), page.locator("[data-live].cell:not([data-needs])")
        assert f"{live.count()} of its {page.locator('[data-live].cell').count()} cells can" in page.locator(
            ".live-top").inner_text()
        assert run_cell(page, live.first)["text"] == ""  # no warning of a package
        for cell in live.all():
            kinds = cell.evaluate("""cell => [".drawing", ".bh-box"].filter(
                (kind) => cell.querySelector(`.cell_output ${kind}`))""")
            if set(kinds) - drawn:
                said = run_cell(page, cell)
                assert said["status"].startswith("done") and not said["error"], said
                drawn |= {kind for kind in kinds if cell.locator(f".live-result {kind}").count()}
            if drawn == {".drawing", ".bh-box"}:
                break
        assert drawn == {".drawing", ".bh-box"}
        assert page.locator(".live-result .bh-box button").count() >= 2  # its script has run
        assert page.locator("[data-needs] .live-needs").first.text_content() == "needs PyTorch"
        assert page.locator("[data-needs] .live-run").count() == 0
        assert not page.found


def test_a_whole_set_is_answered(page):
    """One answer is wrong at first, and told why; then all that need no PyTorch have full marks, and are summed up."""
    stub, asked = cells_of("04")[0]["softmax_vjp"]
    write_answers(page, page_of("04"), {stub: "def softmax_vjp(dA, A):\n    return A * (1 - A) * dA"})
    said = run_cell(page, page.locator(f'[data-live="{asked}"]'))["text"]
    assert "0 / 2 points" in said and "Only the diagonal A(1 − A) of the Jacobian is used" in said
    rows, said = answer_set(page, "04")
    assert [row["id"] for row in rows if not has_full_marks(row)] == ["04.12"]
    right = sum(row["points"] for row in rows if has_full_marks(row))
    assert re.search(rf"total +{right} / +{right + questions_of('04')[11].points}\b", said), said
    assert re.search(r"04\.2 +2 / +2\b", said) and re.search(r"04\.12 +– +/ +3\b", said), said


def test_a_completion_is_taken(page):
    assert run_cell(page, page.locator("[data-live].cell").first)["status"] == "done"  # imports NumPy
    cell = page.locator("[data-live].cell").nth(1)
    write(cell, "")
    page.keyboard.type("np.linsp")
    page.locator(".cm-tooltip-autocomplete li", has_text="linspace").wait_for()
    page.wait_for_timeout(200)  # the editor takes no key for a choice that has only just come up
    page.keyboard.press("Enter")
    page.keyboard.type("(0, 1, 3")
    assert cell.locator(".cm-content").inner_text().strip() == "np.linspace(0, 1, 3)"
    assert run_cell(page, cell)["text"] == "array([0. , 0.5, 1. ])"


TRAIN = "for step in range(1, 401):"
QUICK = """import time
for step in range(60):
    until = time.monotonic() + 0.02
    while time.monotonic() < until:
        pass
    loss = 3 / (step + 1)
    if step == 58:
        print("nearly")
"""


def trains(page, cell, limit, steps):
    """Run a cell that trains: while it does the bar grows and the curve falls; it ends with both at their end."""
    page.evaluate("""() => {
        window.seen = [];
        new MutationObserver(() => {
            const bar = document.querySelector(".live-loop progress");
            if (bar?.value && seen.at(-1) !== bar.value) seen.push(bar.value);
        }).observe(document.body, { subtree: true, childList: true, attributes: true });
    }""")
    said = run_cell(page, cell, limit)
    assert said["status"].startswith("done") and not said["error"], said
    bar = cell.locator(".live-loop progress")
    assert bar.count() == 1 and bar.get_attribute("aria-label").startswith("Steps of a loop of code cell")
    assert bar.evaluate("(bar) => [bar.value, bar.max]") == [steps, steps]
    assert cell.locator(".live-steps").inner_text().startswith(f"{steps} of {steps}, in ")
    seen = page.evaluate("seen")
    assert len(seen) > 4 and seen == sorted(seen) and seen[0] < steps / 2
    curve = cell.locator(".live-loop svg[role=img]")
    assert curve.count() == 1 and re.match(r"Loss in code cell \d+: loss [\d.]+ at first, [\d.]+ after",
                                           curve.get_attribute("aria-label"))
    points = cell.locator(".live-curve polyline").get_attribute("points").split()
    x, y = np.array([point.split(",") for point in points], float).T
    assert len(x) > 0.4 * min(steps, 400) and (np.diff(x) > 0).all() and x[-1] > 340
    fifth = len(y) // 5
    assert y[-fifth:].mean() - y[:fifth].mean() > 30  # downwards is a larger y
    assert {"step", "loss"} <= set(curve.locator("text").all_text_contents())
    return said


@pytest.fixture
def start(chrome, site):
    with visitor(chrome, site) as page:
        visit(page, f"{site}/book/start.html")
        yield page
        assert page.found == []


def test_the_start_page_trains_with_a_bar_and_a_curve(start):
    cell = start.locator("[data-live].cell", has_text=TRAIN).first
    assert re.fullmatch(r"takes about \d+ s here", cell.locator(".live-status").inner_text())
    said = trains(start, cell, 240, 400)
    stored = cell.locator(":scope > .cell_output pre").text_content()
    assert said["text"] == stored  # what it says on the way is what it says in Jupyter
    assert faults(start) == []
    need = start.locator("[data-needs]", has_text="optimizer.zero_grad()").locator(".live-needs")
    assert need.text_content() == "needs PyTorch"


WRONG_PAGES = {
    "nothing is told": ("", None),
    "the bar stands still": ("page.js", "this.bar.value = done;", ""),
    "the bar has no end": ("page.js", "this.bar.max = of;", ""),
    "no curve": ("page.js", "if (drawn) {", "if (false) {"),
    "the curve is upside down": ("page.js", "138 - (128", "10 + (128"),
    "only what was told last": ("page.js", "this.losses.push(...losses);", "this.losses = losses;"),
    "a bar for each word": ("page.js", "if (!loops.has(data.loop)) {", "if (true) {"),
}


@pytest.mark.parametrize("name", [None, *WRONG_PAGES])
def test_a_wrong_bar_is_found_out(chrome, site, name):
    """The right one first; then wrong versions of the page, each made by one edit."""
    with visitor(chrome, site) as page:
        quick = QUICK
        if name and WRONG_PAGES[name][1] is None:
            quick = QUICK.replace("range(60)", "iter(range(60))")  # a loop that tells nothing
        elif name:
            file, old, new = WRONG_PAGES[name]
            answer_with(page, f"live/{file}", old, new, html=html_of_live())
        visit(page, f"{site}/book/start.html")
        cell = page.locator("[data-live].cell", has_text=TRAIN).first
        write(cell, quick)
        if name is None:
            assert trains(page, cell, 60, 60)["text"] == "nearly\n"
            return
        with pytest.raises((AssertionError, Error)):
            page.set_default_timeout(3000)
            trains(page, cell, 60, 60)


def test_a_training_is_stopped(start):
    cell = start.locator("[data-live].cell", has_text=TRAIN).first
    write(cell, QUICK.replace("range(60)", "range(6000)"))
    cell.get_by_role("button", name="Run", exact=True).click()
    start.wait_for_function("document.querySelector('.live-loop progress')?.value > 40")
    assert re.fullmatch(r"\d+ of 6000, about \d+ (s|min) left", cell.locator(".live-steps").inner_text())
    cell.get_by_role("button", name="Stop").click()
    start.wait_for_function(IDLE)
    assert re.fullmatch(r"left after \d+ of 6000", cell.locator(".live-steps").inner_text())
    assert cell.locator(".live-status").first.inner_text().startswith("stopped")
    write(cell, "print(1)")
    assert run_cell(start, cell)["text"] == "1\n" and start.locator(".live-loop").count() == 0


FIGURE = """import matplotlib.pyplot as plt
from byhand.show import house_style
house_style()
fig, axes = plt.subplots(1, 2, figsize=(6, 3))
_ = axes[0].plot([0, 1], label="a line")
_ = axes[0].legend()
_ = axes[1].imshow(np.eye(3), cmap="Blues")
plt.show()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_figure_has_the_colours_of_the_page(chrome, site, scheme):
    with visitor(chrome, site, scheme=scheme) as page:
        visit(page, f"{site}/{SET}")
        for _ in range(2):  # drawn again it is the same figure, in ids of its own
            assert not free_cell(page, FIGURE)["error"]
        drawing = page.locator(".live-result .drawing")
        assert drawing.get_attribute("aria-label") == "Figure of code cell 2, drawn now"
        seen = np.asarray(Image.open(io.BytesIO(drawing.screenshot())).convert("L"), float)
        ground, most = np.percentile(seen, 50), np.percentile(seen, 99.9)
        assert (ground > 250) if scheme == "light" else (ground < 30 and most > 150), (ground, most)
        ink = drawing.locator("text").first.evaluate("(e) => getComputedStyle(e).fill")
        assert (max(map(int, re.findall(r"\d+", ink)[:3])) < 100) == (scheme == "light"), ink
        shown = drawing.locator("image").evaluate_all("(all) => all.filter((e) => e.checkVisibility()).length")
        assert shown == 1 and not page.found


@pytest.mark.parametrize("old", [
    "delete self.WebAssembly", "delete self.DecompressionStream", "WebAssembly.validate = () => false"])
def test_an_old_browser_has_the_stored_page(chrome, site, old):
    with visitor(chrome, site) as page:
        page.add_init_script(old)
        visit(page, f"{site}/{SET}")
        assert page.locator(".live-bar, .live-top, .live-needs").count() == 0 and not page.found


def test_a_page_opened_as_a_file_is_the_stored_page(chrome):
    html = html_of_live().resolve()
    page = chrome.new_page()
    page.goto((html / SET).as_uri())
    assert page.locator("[data-live].cell").count() > 40
    assert page.locator(".live-bar, .live-top, .live-needs").count() == 0
    page.close()


def test_keys_alone(page):
    cell = page.locator("[data-live].cell").nth(1)
    cell.get_by_role("button", name="Edit").focus()
    page.keyboard.press("Enter")
    editor = cell.get_by_role("textbox", name="Code cell 2")
    editor.wait_for()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("if True:\nprint(1 + 1")  # indents by itself, closes the bracket
    page.keyboard.press("Shift+Enter")
    page.wait_for_function(IDLE)
    cell.locator(".live-text", has_text="2").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Run"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_sound_with_all_of_it_open(chrome, site, scheme):
    with visitor(chrome, site, scheme=scheme) as page:
        visit(page, f"{site}/{SET}")
        write(cell_of(page, "def attention("), WRONG)
        run(page, "check(attention)")
        free_cell(page, "1 / 0")
        assert faults(page) == []
        narrow(page)
        assert faults(page) == []
        page.evaluate("scrollTo(0, 0)")
        page.locator("#pst-back-to-top").wait_for(state="hidden")
        assert accessibility(page) == []
