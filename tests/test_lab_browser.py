"""A problem set in JupyterLab, as a learner does it: a wrong answer, its message, the mended one, the solution, and
then all the others to full marks."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from browser import browser, visitor
from byhand.grade.headings import HEADINGS
from byhand.grade.learner import find
from byhand.grade.memory import Record
from byhand.grade.sets import questions_of
from byhand.grade.solutions import code_of, solutions_of

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[1]
CHAPTER, SET, ID = "04_attention.ipynb", "ex04_attention.ipynb", "04.2"
SECONDS = 60  # for whatever is waited for: on a machine that is busy, all of it is slow
WRONG = "def softmax_vjp(dA, A):\n    return A * dA"
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},  # every cell is on the page
    "docmanager-extension/plugin": {"autosave": False},
}
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}


def fingerprint():
    """Every file of the course that a notebook might write to."""
    return {path: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in (ROOT / "book").glob("**/*") if path.is_file() and path.suffix in (".ipynb", ".sqlite", ".npz")}


def left_running(folder):
    """Processes that were started for this folder and are still there; by Linux's own list."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"JUPYTER_RUNTIME_DIR={folder}".encode() in place.read_bytes():
                found.append(int(place.parent.name))
    return found


@contextlib.contextmanager
def lab(folder, theme, trusted=()):
    """JupyterLab on a port of this machine that is free, with nothing of anybody's own settings."""
    settings = folder / "settings" / "@jupyterlab"
    for name, content in (SETTINGS | {"apputils-extension/themes": {"theme": theme}}).items():
        file = settings / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content), encoding="utf-8")
    own = {name: str(folder / name.lower()) for name in (
        "HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR",
        "JUPYTERLAB_WORKSPACES_DIR")}
    env = os.environ | own | {
        "JUPYTERLAB_SETTINGS_DIR": str(settings.parent), "BYHAND_PROGRESS": str(folder / "progress.sqlite"),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    for path in trusted:
        subprocess.run([Path(sys.executable).with_name("jupyter-trust"), path], env=env, cwd=folder, check=True)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", "--port=0", "--allow-root",
               f"--config={ROOT / 'tools' / 'lab_config.py'}",
               "--IdentityProvider.token=", f"--ServerApp.root_dir={folder / 'book'}", "--LabApp.collaborative=False"]
    log = folder / "lab.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=env, cwd=folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port_of(process, Path(own['JUPYTER_RUNTIME_DIR']), log)}"
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def port_of(process, runtime, log):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and process.poll() is None:
        for file in runtime.glob("jpserver-*.json"):
            with contextlib.suppress(ValueError, OSError):
                port = json.loads(file.read_text(encoding="utf-8"))["port"]
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=SECONDS):
                    return port
        time.sleep(0.1)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text(encoding='utf-8')[-2000:]}")


class Learner:
    """Somebody at the notebook."""

    def __init__(self, page, address, path):
        self.page = page
        page.set_default_timeout(1000 * SECONDS)
        page.goto(f"{address}/lab/tree/{path}?reset")
        self.book = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook")
        self.book.locator(".jp-Cell").first.wait_for()
        page.locator("#jupyterlab-splash").wait_for(state="detached")
        page.get_by_text(re.compile(r"\| Idle$")).wait_for()  # the status bar: the kernel is there

    def cell(self, start):
        """The code cell with a line that begins so."""
        line = self.page.locator(".cm-line", has_text=re.compile("^" + re.sub(r"(\W)", r"\\\1", start)))
        return self.book.locator(".jp-CodeCell").filter(has=line)

    def write(self, cell, text):
        cell.locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    def run(self, cell):
        """Run it, and wait until it has another number than before."""
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.inner_text()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+Enter")
        handle = prompt.element_handle()
        self.page.wait_for_function(
            "([prompt, before]) => /\\[\\d+\\]/.test(prompt.textContent) && prompt.textContent !== before",
            arg=[handle, before])
        return cell.locator(".jp-OutputArea-output")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    (folder / "book" / "exercises").mkdir(parents=True)
    shutil.copy(ROOT / "book" / CHAPTER, folder / "book" / CHAPTER)
    notebook = json.loads((ROOT / "book" / "exercises" / SET).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":  # no stored number: each run brings a new one
            cell.update(execution_count=None, outputs=[])
    (folder / "book" / "exercises" / SET).write_text(json.dumps(notebook), encoding="utf-8")
    before = fingerprint()
    yield folder
    assert fingerprint() == before


def works_through(learner):
    question = find(ID)
    learner.run(learner.cell("import numpy as np"))
    stub, check = learner.cell(f"def {question.name}("), learner.cell(f"check({question.name})")

    learner.write(stub, WRONG)
    learner.run(stub)
    report = learner.run(check)
    report.get_by_text(f"0 / {question.points} points").wait_for()
    assert "FAIL" in report.inner_text() and "This is A ∘ dA" in report.inner_text()
    wide = report.evaluate("e => e.scrollWidth - e.clientWidth")
    assert wide <= 1, "the report is wider than its cell"

    code = code_of(solutions_of("04")[ID])
    learner.write(stub, code.replace(f"def {question.name}", f"1 / 0\ndef {question.name}"))
    learner.run(stub)
    learner.run(check)
    report.get_by_text(f"an older {question.name} was tried: cell [").wait_for()

    learner.write(stub, code)
    learner.run(stub)
    learner.run(check)
    report.get_by_text(f"{question.points} / {question.points} points").wait_for()
    assert "FAIL" not in report.inner_text() and "older" not in report.inner_text()

    last = learner.cell(f'# hint("{ID}")')
    learner.write(last, f'solution("{ID}")')
    shown = learner.run(learner.cell(f'solution("{ID}")'))
    shown.locator("mjx-container").first.wait_for()
    assert question.title in shown.inner_text() and shown.locator("mjx-merror, [data-mjx-error]").count() == 0


def the_whole_set_is_done(learner):
    """Each question answered, run and checked; the last cell adds them up."""
    questions = questions_of("04")
    for question in questions:
        stub, check = learner.cell(f"def {question.name}("), learner.cell(f"check({question.name})")
        learner.write(stub, code_of(solutions_of("04")[question.id]))
        learner.run(stub)
        learner.run(check).get_by_text(f"{question.points} / {question.points} points").wait_for()
    total = sum(question.points for question in questions)
    learner.run(learner.cell('summary("04")')).get_by_text(f"total {total} / {total}").wait_for()


def the_link_leads_to_its_section(learner):
    question = find(ID)
    learner.write(learner.cell(f"def {question.name}("), WRONG)
    learner.run(learner.cell(f"def {question.name}("))
    link = learner.run(learner.cell(f"check({question.name})")).locator("a").first
    section = re.fullmatch(r"section (\d+\.\d+)", link.inner_text())[1]
    heading = learner.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) h2", has_text=HEADINGS[section][1])
    link.click()
    heading.wait_for(state="attached")
    # A notebook that is only just opening is scrolled before its cells have their heights: from the second click on
    # the place is exact.
    learner.page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab").first.click()
    link.click()
    learner.page.wait_for_function(
        "(h) => { const top = h.getBoundingClientRect().top; return top > 0 && top < innerHeight / 2; }",
        arg=heading.element_handle())


def kept(folder):
    import sqlite3

    with contextlib.closing(sqlite3.connect(folder / "progress.sqlite")) as store:
        rows = store.execute("select question, points, day, hints, tries from progress")
        return {question: Record(*rest) for question, *rest in rows}


def test_a_problem_set_in_jupyterlab(folder):
    with lab(folder, THEMES["light"]) as address, browser() as chrome, visitor(chrome, address) as page:
        learner = Learner(page, address, f"exercises/{SET}")
        works_through(learner)
        the_whole_set_is_done(learner)
        the_link_leads_to_its_section(learner)
        outside = [text for text in page.found if text.startswith("asks for") and "ws:" not in text]
    records = kept(folder)
    assert {q: record.points for q, record in records.items()} == {q.id: q.points for q in questions_of("04")}
    assert (records[ID].hints, records[ID].tries) == (0, 5)
    assert outside == [] and left_running(folder) == []


def as_it_opens(address, page, name):
    """A chapter that nobody has touched, and that is saved: the buttons of its pieces, its folded cells, and what
    stands raw in its text."""
    page.set_default_timeout(1000 * SECONDS)
    page.goto(f"{address}/lab/tree/{name}?reset")
    page.locator(".jp-MarkdownOutput h2", has_text="4.6").wait_for(state="attached")
    page.get_by_text(re.compile(r"\| Idle$")).wait_for()
    page.locator(".jp-mod-dirty").first.wait_for()  # Lab has noted the kernel in it: left alone, it saves that
    page.locator(".jp-Notebook").focus()
    page.keyboard.press("ControlOrMeta+s")
    page.locator(".jp-mod-dirty").first.wait_for(state="detached")
    return {
        "buttons": page.locator(".bh-box [role=radio]").count(),
        "folded": page.locator(".jp-CodeCell .jp-InputPlaceholder").count(),
        "raw": re.findall(r"\{[a-z:]+\}`|:::|```", page.locator(".jp-Notebook").inner_text()),
        "cited": page.locator(".jp-MarkdownOutput a", has_text="Vaswani et al. (2017)").count(),
    }


def test_a_chapter_opens_alive_and_unchanged(folder):
    """`make lab` trusts the notebooks first; the second one, in another letter, shows what it is like without."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nlab:")[2]
    assert recipe.index("jupyter-trust book/*.ipynb book/exercises/*.ipynb") < recipe.index("--config tools/lab_conf")
    text = (ROOT / "book" / CHAPTER).read_text(encoding="utf-8")
    folds = sum(cell["metadata"].get("jupyter", {}).get("source_hidden", False) for cell in json.loads(text)["cells"])
    stranger = folder / "book" / "stranger.ipynb"
    stranger.write_text(text.replace("Vaswani et al. (2017)", "Vaswani et al. (2017)!", 1), encoding="utf-8")
    with lab(folder, THEMES["light"], [f"book/{CHAPTER}"]) as address, browser() as chrome:
        with visitor(chrome, address) as page:
            opened = as_it_opens(address, page, CHAPTER)
            page.locator(".bh-box [role=radio]").nth(1).click()
            assert page.locator(".bh-box [role=radio]").nth(1).get_attribute("aria-checked") == "true"
        with visitor(chrome, address) as page:
            untrusted = as_it_opens(address, page, stranger.name)
    assert opened["buttons"] > 5 and opened["cited"] == 1 and opened["folded"] == folds > 5
    assert opened["raw"] == [] and untrusted["buttons"] == 0
    assert (folder / "book" / CHAPTER).read_text(encoding="utf-8") == text, "to open it, and to save it, has changed it"
