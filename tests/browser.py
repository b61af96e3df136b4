"""Open pages in a real browser with the network cut off, and say in plain words what is wrong with them."""

import contextlib
import functools
import http.server
import os
import shutil
import tempfile
import threading
from pathlib import Path
from unittest import mock
from urllib.parse import quote

import axe_playwright_python
import pytest
from playwright.sync_api import Page, sync_playwright

HTML = Path(__file__).resolve().parents[1] / "_build" / "html"
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")

# What the theme itself does: (rule, a part of the element's HTML) and the reason. Whatever is not here is a failure.
ALLOWED = {
    ("label-content-name-mismatch", "theme-switch-button"):
        "the words it is said to lack are tooltips of the three icons inside; its name, Color mode, is right",
}


# The first has no window, and so none of what a browser does besides showing a page: half of the work.
NAMES = {"chromium": ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome",
                      "google-chrome-stable"),
         "firefox": ("firefox-esr", "firefox")}


def installed(kind: str = "chromium") -> str:
    """Path of an installed Chromium or Chrome, or of Firefox; none is downloaded."""
    for name in NAMES[kind]:
        if path := shutil.which(name):
            return path
    message = f"NO {kind.upper()}: the pages were not opened in a browser; install {kind} and run again"
    pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)


def built_book(page: str = "book/index.html") -> Path:
    """The folder of the built book; where it does not hold this page, the test fails."""
    if not (HTML / page).is_file():
        pytest.fail(f"_build/html holds no book: run `make book` first ({page} is missing)")
    return HTML


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass


def end(server) -> None:
    """From now on nobody answers there; said twice it is no harm."""
    server.shutdown()
    server.server_close()


@contextlib.contextmanager
def running(folder: Path, handler=Quiet):
    """A server of the folder on 127.0.0.1, at a port that is free."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        end(server)


@contextlib.contextmanager
def serve(folder: Path):
    """The address of the folder, served on this machine."""
    with running(folder) as server:
        yield f"http://127.0.0.1:{server.server_port}"


# Playwright tells a Firefox at each new context that no colour scheme is asked for; one that does not know the command
# (ESR 153) is none the worse, so its refusal counts for nothing. The driver has no setting for that.
LENIENT = """
import Module from "node:module";
const compile = Module.prototype._compile;
globalThis.unlessUnknown = (session, ...words) => session.send(...words).catch((error) => {
    if (!/unknown command/.test(error.message)) throw error;
});
Module.prototype._compile = function (text, ...rest) {
    return compile.call(this, text.replaceAll(/(this\\.[\\w.]+)\\.send\\((?="emulation\\.setMediaFeaturesOverride")/g,
                                              "unlessUnknown($1, "), ...rest);
};
"""


def lenient(kind: str):
    """The environment in which Playwright's driver is started for this browser."""
    options = f"{os.environ.get('NODE_OPTIONS', '')} --import=data:text/javascript,{quote(LENIENT)}"
    return mock.patch.dict(os.environ, {"NODE_OPTIONS": options.strip()} if kind == "firefox" else {})


# Less motion; and no page is kept alive, for one to which the reader goes back says nothing to Playwright.
FIREFOX = {"ui.prefersReducedMotion": 1, "browser.sessionhistory.max_total_viewers": 0}


@contextlib.contextmanager
def browser(kind: str = os.environ.get("BOOK_BROWSER", "chromium")):
    """Chromium, or Firefox as Mozilla ships it, without a network: whatever is not on 127.0.0.1 goes to a proxy that is
    not there."""
    with lenient(kind), sync_playwright() as playwright, tempfile.TemporaryDirectory(prefix="saved-") as downloads:
        nowhere = {"server": "http://127.0.0.1:9", "bypass": "127.0.0.1"}
        if kind == "firefox":
            opened = playwright.firefox.launch(executable_path=installed(kind), channel="moz-firefox", proxy=nowhere,
                                               firefox_user_prefs=FIREFOX, downloads_path=downloads)
        else:
            flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking",
                     "--font-render-hinting=none"]  # letters as wide as in a window, not whole pixels
            opened = playwright.chromium.launch(executable_path=installed(kind), args=flags, proxy=nowhere)
        opened.downloads = Path(downloads)
        try:
            yield opened
        finally:
            opened.close()


def saved(button, folder: Path) -> Path:
    """The file that the page saves when this is clicked, in the folder under the name that the page gives it. Firefox
    tells Playwright nothing of it, so there we see what comes into the folder for downloads."""
    page = button.page
    if page.context.browser.browser_type.name != "firefox":
        with page.expect_download() as download:
            button.click()
        file = folder / download.value.suggested_filename
        download.value.save_as(file)
        return file
    place = page.context.browser.downloads
    before = set(place.iterdir())
    button.click()
    for _ in range(100):
        page.wait_for_timeout(100)  # while a file is being written, one of 0 bytes has its name
        if new := [file for file in set(place.iterdir()) - before if file.suffix != ".part" and file.stat().st_size]:
            assert len(new) == 1, f"saved {sorted(file.name for file in new)}"
            return Path(shutil.move(new[0], folder / new[0].name))
    raise AssertionError("nothing was saved within 10 seconds")


def must_tap(opened) -> None:
    """Over WebDriver BiDi Playwright's finger does nothing, so what is tapped is shown in Chromium alone."""
    if opened.browser_type.name == "firefox":
        pytest.skip("Playwright cannot tap in Firefox")


@contextlib.contextmanager
def visitor(chrome, site: str, width: int = 1280, scheme: str = "light", workers: str = "block"):
    """A fresh reader: one page, one width, one colour scheme; page.found collects what goes wrong. With workers="allow"
    the browser may keep the book for when there is no network."""
    looks = {"color_scheme": scheme, "reduced_motion": "reduce"}
    if chrome.browser_type.name == "firefox":  # is not told so by WebDriver: a setting, and the theme's own choice
        looks = dict.fromkeys(looks, "null")
    else:
        looks["service_workers"] = workers
    context = chrome.new_context(viewport={"width": width, "height": 900}, **looks)
    page = context.new_page()
    if chrome.browser_type.name == "firefox":
        def emulate_media(color_scheme=scheme, **more):
            chosen = f"try {{ localStorage.setItem('mode', '{color_scheme}') }} catch {{ /* no page */ }}"
            context.add_init_script(chosen)
            page.evaluate(f"{chosen} Object.assign(document.documentElement.dataset, "
                          f"{{mode: '{color_scheme}', theme: '{color_scheme}'}})")
            if more:
                real(**more)

        real, page.emulate_media = page.emulate_media, emulate_media
        page.emulate_media(scheme)
    page.set_default_timeout(90_000)  # Firefox takes long for a page of a thousand formulas on a machine that is busy
    page.found = []
    inside = (site + "/", "data:", "blob:")
    page.on("request", lambda r: r.url.startswith(inside) or page.found.append(f"asks for {r.url}"))
    page.on("response", lambda r: r.status >= 400 and page.found.append(f"status {r.status}: {r.url}"))
    page.on("console", lambda m: m.type == "error" and page.found.append(f"console error: {m.text}"))
    page.on("pageerror", lambda e: page.found.append(f"page error: {e}"))
    try:
        yield page
    finally:
        context.close()


def visit(page: Page, url: str) -> None:
    """Open a page and wait until it is loaded."""
    page.found.clear()
    page.goto(url, wait_until="load")


def answer_with(page: Page, name: str, old: str, new: str, html: Path = HTML) -> None:
    """From now on the page gets a wrong version of a file of the book's own: with one piece of it replaced."""
    text = (html / "_static" / name).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    kind = {"js": "text/javascript", "css": "text/css"}[name.rpartition(".")[2]]
    page.route(f"**/_static/{name}*", lambda route: route.fulfill(body=text.replace(old, new), content_type=kind))


def faults(page: Page) -> list[str]:
    """Everything wrong with the page that is open: network, console, formulas, overflow."""
    report = page.evaluate("""() => {
        const count = (selector) => document.querySelectorAll(selector).length;
        const scroll = document.documentElement.scrollWidth - innerWidth;
        const wide = scroll <= 1 ? [] : [...document.querySelectorAll("body *")].filter(
            (e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest("mjx-assistive-mml"));
        return {
            formulas: count(".math"), drawn: count(".math mjx-container"),
            letters: [...document.querySelectorAll("mjx-container use")].filter((use) =>
                !document.getElementById(use.getAttribute("xlink:href").slice(1))).length,
            broken: [...document.querySelectorAll("mjx-merror, [data-mjx-error]")].map(
                (e) => e.dataset.mjxError || e.title || e.textContent),
            keyless: [...document.querySelectorAll(".math")].filter((e) => e.scrollWidth > e.clientWidth + 1
                && getComputedStyle(e).overflowX === "auto" && e.tabIndex < 0).length,
            cut: [...document.querySelectorAll("div.math")].filter((e) => e.firstElementChild
                && e.firstElementChild.getBoundingClientRect().left < e.getBoundingClientRect().left - 1).length,
            unseen: [...document.querySelectorAll("div.math")].filter((e) => e.scrollWidth > e.clientWidth + 1
                && e.clientWidth).length,
            scroll, widest: wide.slice(0, 3).map((e) => `${e.tagName.toLowerCase()}.${[...e.classList].join(".")}`),
        };
    }""")
    found = list(page.found)
    if report["drawn"] != report["formulas"]:
        found.append(f"{report['formulas']} formulas but {report['drawn']} drawn")
    if report["letters"]:
        found.append(f"{report['letters']} letters of formulas are nowhere")
    found += [f"broken formula: {text}" for text in dict.fromkeys(report["broken"])]
    if report["keyless"]:
        found.append(f"{report['keyless']} wide formulas scroll, but not by key")
    if report["cut"]:
        found.append(f"{report['cut']} wide formulas begin out of sight")
    if report["unseen"]:
        found.append(f"{report['unseen']} formulas reach out of sight")
    if report["scroll"] > 1:
        found.append(f"page is {report['scroll']} px wider than the window: {', '.join(report['widest'])}")
    return found


def narrow(page: Page, width: int = 390) -> None:
    """Make the window narrower, and wait until the scripts have looked at what scrolls now: the theme's waits 0.3 s."""
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_timeout(400)
    page.wait_for_function("!window.fitFormulas || window.fitFormulas.width === innerWidth")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def tall(page: Page) -> list[str]:
    """The drawings that the window cannot show whole, from top to bottom."""
    found = page.evaluate("""() => [...document.querySelectorAll("svg.drawing")].flatMap((e) => {
        const height = Math.round(e.getBoundingClientRect().height);
        return height > innerHeight ? [`${e.closest("figure")?.id || e.getAttribute("aria-label")}: ${height}`] : [];
    })""")
    return [f"a drawing taller than the window, {one} px" for one in found]


def unfolded(page: Page) -> list[str]:
    """Whether the formulas in folds fit as well; then the folds are as they were."""
    unseen = page.evaluate("""async () => {
        const folds = [...document.querySelectorAll("details:not([open])")];
        const unseen = () => [...document.querySelectorAll("details div.math")].filter(
            (e) => e.scrollWidth > e.clientWidth + 1).length;
        folds.forEach((fold) => { fold.open = true; });
        for (let k = 0; k < 40 && unseen(); k += 1) await new Promise((done) => setTimeout(done, 50));
        const count = unseen();
        folds.forEach((fold) => { fold.open = false; });
        await new Promise(requestAnimationFrame);
        return count;
    }""")
    return [f"{unseen} formulas in folds reach out of sight"] if unseen else []


def accessibility(page: Page, allowed: dict = ALLOWED, seen: set | None = None) -> list[str]:
    """Serious and critical violations that axe-core finds, without those that are the theme's own.

    Ask last, for it thins the page out: a formula becomes a word, and coloured code plain text, since their thousands
    of pieces would take axe a minute. So would the contrast of every word and of every link to the words around it: it
    is judged three times for each kind of text, which is what decides it (colour, size, weight, each background below;
    of a link how it is drawn, and all that of its paragraph) and the classes of element and parent. Kinds that are in
    `seen` were judged on an earlier page, and those of this one are added.
    """
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE)
    violations, kinds = page.evaluate("""async (seen) => {
        const formulas = [...document.querySelectorAll("mjx-container")];
        formulas.map((formula) => [formula, formula.getBoundingClientRect().width]).forEach(([formula, width]) => {
            const word = document.createElement("span");  // as wide as the formula was, or other boxes would scroll
            word.textContent = "formula";
            word.style.cssText = `display:inline-block;width:${width}px;overflow:hidden;white-space:nowrap`;
            formula.replaceWith(word);
        });
        const grounds = new Map();
        const ground = (e) => {  // whatever is painted under the text of e
            if (!e) return "";
            if (!grounds.has(e)) {
                const s = getComputedStyle(e);
                const own = [s.backgroundColor, s.backgroundImage, s.opacity, s.filter, s.mixBlendMode].join(" ");
                const plain = own === "rgba(0, 0, 0, 0) none 1 none normal";
                grounds.set(e, ground(e.parentElement) + (plain ? "" : ` / ${own}`));
            }
            return grounds.get(e);
        };
        const name = (e) => `${e.tagName} ${e.getAttribute("class")}`;
        const look = (e) => {
            const s = getComputedStyle(e);
            return [s.color, s.fontSize, s.fontWeight, s.textShadow, ground(e)].join(" | ");
        };
        const drawn = (e) => {
            const s = getComputedStyle(e), block = e.closest("p, li, td, th, dd, dt, figcaption, div, main, body");
            const own = [s.textDecoration, s.border, s.outline, s.fontStyle, s.fontFamily, s.display].join(" ");
            return `${own} in ${name(block)} ${look(block)}`;
        };
        const kinds = new Map();
        for (const e of document.querySelectorAll("body, body *")) {
            const said = [...e.childNodes].map((n) => n.nodeType === Node.TEXT_NODE ? n.data.trim() : "").join("");
            if (!said || !e.checkVisibility({checkVisibilityCSS: true})) continue;
            const link = e.closest("a[href], [role=link]");
            const kind = [name(e), name(e.parentElement), look(e), said.length > 1,  // of one character axe is not sure
                          link ? drawn(link) : ""].join(" | ");
            kinds.set(kind, [...(kinds.get(kind) ?? []), link ?? e].slice(0, 3));
        }
        for (const kind of seen) kinds.delete(kind);
        const judged = [...kinds.values()].flat(), kept = new Set();
        for (const e of judged) {
            for (let up = e; up; up = up.parentElement) kept.add(up);
            e.querySelectorAll("*").forEach((below) => kept.add(below));
        }
        document.querySelectorAll("pre span, dt.sig span").forEach((word) => {
            if (!kept.has(word) && word.getAttributeNames().every((a) => a === "class"))
                word.replaceWith(...word.childNodes);
        });
        judged.forEach((e) => e.setAttribute("data-judged", ""));
        axe.configure({rules: [{id: "color-contrast", selector: "[data-judged], [data-judged] *"},
                               {id: "link-in-text-block", selector: "a[href][data-judged], [data-judged] a[href]"}]});
        window.dispatchEvent(new Event("resize"));  // its widths are others now: the page's script looks again,
        await new Promise((done) => setTimeout(done, 350));  // and the theme's 0.3 s after that or after what
        const waiting = () => [...document.querySelectorAll("pre")].some(  // the page itself changes meanwhile
            (e) => e.tabIndex < 0 && (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight));
        for (let k = 0; k < 40 && waiting(); k += 1) await new Promise((done) => setTimeout(done, 50));
        const {violations} = await axe.run(document, {
            resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
            rules: {"label-content-name-mismatch": {enabled: true}},
        });
        return [violations, [...kinds.keys()]];
    }""", sorted(seen or ()))
    if seen is not None:
        seen.update(kinds)
    return [
        f"{violation['id']} ({violation['impact']}): {' '.join(map(str, node['target']))}"
        for violation in violations if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"] if not is_allowed(violation["id"], node, allowed)
    ]


def is_allowed(rule: str, node: dict, allowed: dict) -> bool:
    return any(rule == r and part in node["html"] for r, part in allowed)
