"""The script that keeps the book in a reader's browser, on a small site: what opens without a network, and what a new
edition fetches. tests/test_live_browser.py sees the same of the whole book, after a Run."""

import contextlib
import re
import time
from pathlib import Path

import make_live
import pytest
from browser import Quiet, end, running, visit, visitor
from playwright.sync_api import Error

pytestmark = pytest.mark.browser
BELOW = "some/path"
OFFLINE = make_live.OURS / "offline.js"
KEEP = """async () => {
    const kept = await navigator.serviceWorker.register("/some/path/offline.js");
    const fresh = kept.installing ?? kept.waiting;
    return fresh ? new Promise((done) => {
        fresh.onstatechange = () => ["activated", "redundant"].includes(fresh.state) && done(fresh.state);
    }) : "activated";
}"""
ASKS = "([url, method]) => fetch(url, {method}).then((answer) => answer.text(), () => 'no answer')"
PAGES = {"index.html": "the first", "book/index.html": "the book", "book/one.html": "one", "book/two.html": "two",
         "_static/look.css": "body {}", "_static/look.css.map": "never asked for", "_modules/m.html": "a listing",
         "_sources/book/one.ipynb": "one as a notebook", "_sources/book/two.ipynb": "another"}


class Host(Quiet):
    """A host of plain files that leaves out `.html`, as some do, and remembers what it was asked for. It keeps no
    connection open: one would go on to answer when the host is gone. A page is sent whole each time: by its date, of
    whole seconds, one that was written twice within a second is the same, or may be taken unasked for a moment."""

    protocol_version = "HTTP/1.0"

    def do_GET(self):
        path = self.path.partition("?")[0]
        self.server.asked.append(path.removeprefix(f"/{BELOW}/"))
        if path.removeprefix(f"/{BELOW}/") == self.server.late:
            time.sleep(0.5)
        del self.headers["If-Modified-Since"]
        if path.endswith(".html"):
            self.send_response(301)
            self.send_header("Location", re.sub(r"(?<=/)index\.html|\.html", "", self.path, count=1))
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if not Path(self.translate_path(path)).exists():
            self.path = path + ".html"
        return super().do_GET()

    def end_headers(self):
        self.send_header("Cache-Control", "no-store")
        super().end_headers()


@contextlib.contextmanager
def host(root):
    with running(root, Host) as server:
        server.asked, server.late = [], None
        yield server


def shelf(root, edit=("", ""), **changed):
    """The small site below a folder, some of its pages changed, with the script or a wrong version of it."""
    folder, old = root / BELOW, edit[0]
    for name, text in (PAGES | changed).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"<!doctype html><link rel=icon href=data:,>{text}" if name[-1] == "l" else text)
    make_live.keep_offline(folder, ["one"])
    text = (folder / "offline.js").read_text(encoding="utf-8")
    assert not old or text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    (folder / "offline.js").write_text(text.replace(*edit) if old else text, encoding="utf-8")


@contextlib.contextmanager
def kept(chrome, root, edit=("", "")):
    """A reader, the first page open, after it has had the book kept; and the host."""
    shelf(root, edit)
    with host(root) as server:
        site = f"http://127.0.0.1:{server.server_port}/{BELOW}"
        with visitor(chrome, site, workers="allow") as page:
            visit(page, f"{site}/index.html")
            assert page.evaluate(KEEP) == "activated"
            yield page, site, server


def comes_true(page, condition):
    """Within some seconds; `wait_for_function` takes any promise for true."""
    return page.evaluate(f"""async () => {{
        for (let left = 100; left; left -= 1) {{
            if (await ({condition})()) return true;
            await new Promise((done) => setTimeout(done, 50));
        }}
        return false;
    }}""")


def stands(page):
    return page.evaluate("document.body.innerText").strip()


def opens_without_a_network(chrome, root, edit=("", "")):
    with kept(chrome, root, edit) as (page, site, server):
        page.wait_for_function("navigator.serviceWorker.controller", timeout=3000)
        end(server)
        for name, text in (("index.html", "the first"), ("", "the first"), ("book", "the book"), ("book/", "the book"),
                           ("book/one", "one"), ("book/two.html", "two"), ("book/two.html?from=one#id", "two")):
            visit(page, f"{site}/{name}")
            assert stands(page) == text, name
        asks = lambda url, method="GET": page.evaluate(ASKS, [url, method])  # noqa: E731
        assert asks(f"{site}/_static/look.css?v=12") == "body {}"
        assert asks(f"{site}/_sources/book/one.ipynb") == "one as a notebook"
        for name in ("_modules/m.html", "_static/look.css.map", "_sources/book/two.ipynb", "book/three.html"):
            assert asks(f"{site}/{name}") == "no answer", name
        assert asks(f"{site}/book/one.html", "POST") == "no answer"
        assert asks(f"{site.replace('127.0.0.1', 'localhost')}/book/one.html") == "no answer"


def a_new_edition_comes(chrome, root, edit=("", "")):
    """One page is another: it alone is fetched, the old edition goes, and while the host answers it is asked."""
    with kept(chrome, root, edit) as (page, site, server):
        page.evaluate("caches.open('someone else')")
        shelf(root, edit, **{"book/one.html": "one, anew"})
        visit(page, f"{site}/book/one.html")
        assert stands(page) == "one, anew"
        server.asked.clear()
        page.evaluate("navigator.serviceWorker.getRegistration().then((kept) => kept.update())")
        edition = re.search(r'EDITION = "(\w+)"', (root / BELOW / "offline.js").read_text(encoding="utf-8"))[1]
        assert comes_true(page, f"""async () => {{
            const names = (await caches.keys()).map((name) => name.split(" ").pop());
            const {{ active, installing, waiting }} = await navigator.serviceWorker.getRegistration();
            return active?.state === "activated" && !installing && !waiting && names.length === 2
                && names.includes("{edition}") && names.includes("else");
        }}""")
        assert [name for name in server.asked if name != "offline.js"] == ["book/one.html", "book/one"]
        end(server)
        for name, text in (("book/one.html", "one, anew"), ("book/two.html", "two")):
            visit(page, f"{site}/{name}")
            assert stands(page) == text, name


def what_was_cut_short_is_taken_up(chrome, root, edit=("", "")):
    """The host broke down in the middle: nothing is said to be kept, but what came is, and what was on its way; the
    next time only the rest is fetched."""
    shelf(root, edit)
    page_there = root / BELOW / "book" / "one.html"
    page_there.rename(root / "away")
    with host(root) as server:
        site = f"http://127.0.0.1:{server.server_port}/{BELOW}"
        server.late = "book/two.html"
        with visitor(chrome, site, workers="allow") as page:
            visit(page, f"{site}/index.html")
            assert page.evaluate(f"({KEEP})().catch(() => 'redundant')") == "redundant"
            assert comes_true(page, "async () => !(await navigator.serviceWorker.getRegistration())")
            assert page.evaluate("(url) => caches.match(url).then(Boolean)", f"{site}/book/two.html")
            (root / "away").rename(page_there)
            before = set(server.asked)
            server.asked.clear()
            assert page.evaluate(KEEP) == "activated"
            others = {"book/two.html", "_sources/book/one.ipynb", "_static/look.css", "book/index.html"} & before
            assert others and not others & set(server.asked) and "book/one.html" in server.asked


CHECKS = [opens_without_a_network, a_new_edition_comes, what_was_cut_short_is_taken_up]
WRONG = [
    ("nothing is looked up", opens_without_a_network, "const found = await stored(url);", "const found = undefined;"),
    ("the version counts", opens_without_a_network, "at(url.pathname)", "url.href"),
    ("no index", opens_without_a_network, "[`${path}index.html`]", "[path]"),
    ("no index but with a slash", opens_without_a_network, ", `${path}/index.html`]", "]"),
    ("every name has its ending", opens_without_a_network, ", `${path}.html`,", ","),
    ("a detour is kept", opens_without_a_network, "answer.redirected ?", "false ?"),
    ("whatever is asked", opens_without_a_network, 'event.request.method !== "GET" || ', ""),
    ("another origin", opens_without_a_network, "!url.href.startsWith(registration.scope)", "false"),
    ("only the next visit", opens_without_a_network, "clients.claim()", "undefined"),
    ("a page that is not there", what_was_cut_short_is_taken_up, "if (!answer.ok)", "if (false)"),
    ("what is on its way is lost", what_was_cut_short_is_taken_up, "broken.push(error)", "throw error"),
    ("all is fetched again", a_new_edition_comes, "files[path] === hash", "false"),
    ("nothing is fetched again", a_new_edition_comes, "files[path] === hash", "true"),
    ("the old edition stays", a_new_edition_comes, "await caches.delete(name)", "continue"),
    ("others' stores go", a_new_edition_comes, "if (name.startsWith(NAME) && name !==", "if (name !=="),
    ("it waits for the old to go", a_new_edition_comes, "skipWaiting()", "undefined"),
    ("what is kept comes first", a_new_edition_comes, "event.respondWith(fetch(event.request).catch(",
     "event.respondWith(Promise.reject().catch("),
    ("from the start again", what_was_cut_short_is_taken_up, "await shelf.put(at(LIST)", "await (() => {})(at(LIST)"),
]


@pytest.mark.firefox
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_script(check, chrome, tmp_path):
    check(chrome, tmp_path)


@pytest.mark.parametrize(("check", "old", "new"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_wrong_script_is_found_out(check, old, new, chrome, tmp_path):
    with pytest.raises((AssertionError, Error)):
        check(chrome, tmp_path, (old, new))
