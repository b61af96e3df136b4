"""Show a page of the book while it is written: `make preview CH=05`, or `python tools/preview.py book/glossary.md`.

The book is built in a folder of its own, _build/preview; after each save only what changed is built again, and the
pages that are open in a browser load themselves anew. Listings of source files are left out, and warnings are no
errors: `make book` is what counts. Each build runs in a fork of a process that has Sphinx loaded already and the
library not, so that a build takes seconds and sees the library as it now is. A tool for that exists, sphinx-autobuild,
but it wants a conf.py, which Jupyter Book has not, and starts Sphinx anew for each build.
"""

import argparse
import functools
import http.server
import os
import stat
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("_config.yml", "_toc.yml", "book", "_ext", "lib")
WATCH, ASK = 0.3, 25.0  # seconds between two looks at the files; seconds for which a page's question stays open
RELOAD = """<script>(async () => {  // added by tools/preview.py
  for (;;) try {
    const said = await (await fetch("/--built?seen=NUMBER")).text();
    if (said !== "NUMBER") return location.reload();
  } catch { await new Promise((done) => setTimeout(done, 1000)); }
})();</script>"""


def state(root=ROOT):
    """The time and size of every source file."""
    found = {}
    for name in SOURCES:
        place = root / name
        for path in [place] if place.is_file() else place.rglob("*"):
            if path.suffix not in (".pyc", ".part") and not path.name.endswith((".nb.md", "~")) \
                    and not any(part.startswith(".") or part.endswith(".egg-info")
                                for part in path.relative_to(root).parts):
                with suppress(FileNotFoundError):  # an editor's own, gone since it was listed
                    said = path.stat()
                    if stat.S_ISREG(said.st_mode):
                        found[path] = said.st_mtime_ns, said.st_size
    return found


def build(root, folder):
    """Bring the pages up to date."""
    import yaml
    from jupyter_book.config import get_final_config
    from jupyter_book.sphinx import build_sphinx

    config = root / "_config.yml"
    yaml.safe_load(config.read_text(encoding="utf-8"))  # a slip in it is told in its own words
    ours = {"nitpicky": True, "latex_individualpages": False}
    extensions = get_final_config(user_yaml=config, cli_config=dict(ours), sourcedir=root)[0]["extensions"]
    ours["extensions"] = [name for name in extensions if name != "sphinx.ext.viewcode"]
    said = build_sphinx(root, folder / "html", noconfig=True, path_config=config, doctreedir=folder / "doctrees",
                        quiet=True, confoverrides=ours)
    if isinstance(said, Exception):
        print(f"{type(said).__name__}: {said}", file=sys.stderr)
    return int(isinstance(said, Exception) or bool(said))


def warm():
    """Load what a build needs and no edit changes."""
    import jupyter_book.sphinx  # noqa: F401
    import myst_nb  # noqa: F401
    import pydata_sphinx_theme  # noqa: F401
    import scipy.special  # noqa: F401
    import sphinx.builders.html  # noqa: F401
    import torch  # noqa: F401


def build_apart(root, folder):
    """`build` in a process of its own, which has the library as it is now."""
    if not hasattr(os, "fork"):  # Windows
        return subprocess.run([sys.executable, __file__, "--once", "--root", root]).returncode
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    warnings.filterwarnings("ignore", category=FutureWarning, module="sphinx_external_toc")  # it touches all of torch
    try:
        code = build(root, folder)
    except BaseException as error:  # a traceback of Sphinx says less than its last line
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class Pages(http.server.SimpleHTTPRequestHandler):
    """The built pages, each with a script that asks whether there is a newer one."""

    def __init__(self, *args, stamp, **options):
        self.stamp = stamp
        super().__init__(*args, **options)

    def log_message(self, *args):
        pass

    def number(self):
        return self.stamp.read_text() if self.stamp.exists() else "0"

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/--built":
            seen, end = parse_qs(url.query).get("seen", [""])[0], time.monotonic() + ASK
            while self.number() == seen and time.monotonic() < end:
                time.sleep(0.1)
            return self.answer(self.number().encode(), "text/plain")
        path = Path(self.translate_path(self.path))
        if path.suffix != ".html" or not path.is_file():
            return super().do_GET()
        return self.answer(path.read_bytes() + RELOAD.replace("NUMBER", self.number()).encode(), "text/html")

    def answer(self, content, kind):
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        try:
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the page was closed

    def end_headers(self):
        if not any(line.startswith(b"Cache-Control") for line in self._headers_buffer):
            self.send_header("Cache-Control", "no-cache")
        super().end_headers()


def serve(folder, port):
    handler = functools.partial(Pages, directory=str(folder / "html"), stamp=folder / "number")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    return server


def page_of(what, root=ROOT):
    """The address of a page, from a path, a chapter's number, or nothing."""
    if not what:
        return "book/index.html"
    if what.isdigit():
        found = sorted((root / "book").glob(f"{what.zfill(2)}_*.ipynb"))
        if not found:
            raise SystemExit(f"preview: there is no chapter {what}")
        what = found[0].relative_to(root)
    return Path(what).with_suffix(".html").as_posix()


def updates(root, folder, build=build_apart, rest=time.sleep):
    """Build, then again after each change of a source; yields the seconds that each build took, and its exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    built = None
    while True:
        now = state(root)
        if now != built:
            start = time.monotonic()
            code = build(root, folder)
            (folder / "number").write_text(str(time.time_ns()))
            built = now
            yield time.monotonic() - start, code
        rest(WATCH)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("page", nargs="?", help="a path below book/, or a chapter's number; default: the first page")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    parser.add_argument("--once", action="store_true", help="build once and stop")
    args = parser.parse_args(argv)
    folder = args.root / "_build" / "preview"
    if args.once:
        return build(args.root, folder)
    page = page_of(args.page, args.root)
    (folder / "html").mkdir(parents=True, exist_ok=True)
    server = subprocess.Popen([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); "
                               f"import preview, pathlib; preview.serve(pathlib.Path({str(folder)!r}), {args.port})"
                               ".serve_forever()"])
    try:
        warm()
        for count, (seconds, code) in enumerate(updates(args.root, folder)):
            if server.poll() is not None:
                return f"preview: port {args.port} is taken; say another: make preview PORT=8001"
            said = "built" if code == 0 else "NOT built: see above"
            print(f"{time.strftime('%H:%M:%S')} {said} in {seconds:.1f} s", flush=True)
            if count == 0:
                print(f"Open http://127.0.0.1:{args.port}/{page}; it loads itself anew after each save. "
                      "Stop with Ctrl-C.", flush=True)
    except KeyboardInterrupt:
        return 0
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
