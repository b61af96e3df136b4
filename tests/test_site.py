"""The folder that `make site` writes: below any path, with or without an address, and the workflows that publish it."""

import copy
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from browser import accessibility, built_book, faults, serve, visit, visitor
from playwright.sync_api import expect
from test_readme import TARGETS

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
TOOL = ROOT / "tools" / "make_site.py"
URL = "https://example.org/some/path/"


def small(folder: Path, url: str = "") -> Path:
    """A built book of one page."""
    (folder / "book").mkdir(parents=True)
    head = f'<link rel="canonical" href="{url}book/index.html" />' if url else ""
    (folder / "book" / "index.html").write_text(f"<html><head>{head}</head></html>", encoding="utf-8")
    (folder / ".buildinfo").touch()
    if url:
        (folder / "sitemap.xml").touch()
    return folder


def made(html: Path, target: Path, url: str = "") -> subprocess.CompletedProcess:
    command = [sys.executable, TOOL, "--html", html, "--to", target]
    return subprocess.run(command, env=os.environ | {"BOOK_URL": url}, capture_output=True, text=True)


def test_a_site_without_an_address_and_with_one(tmp_path):
    assert made(small(tmp_path / "plain"), tmp_path / "a").returncode == 0
    assert {path.name for path in (tmp_path / "a").iterdir()} == {
        "book", "404.html", "_headers", ".htaccess", ".nojekyll", "robots.txt"}
    assert "Sitemap" not in (tmp_path / "a" / "robots.txt").read_text()
    assert "ErrorDocument" not in (tmp_path / "a" / ".htaccess").read_text()
    for typed in (URL, URL.rstrip("/")):  # the second over the first
        assert made(small(tmp_path / f"at{len(typed)}", URL), tmp_path / "b", typed).returncode == 0
        assert f"Sitemap: {URL}sitemap.xml\n" in (tmp_path / "b" / "robots.txt").read_text()
        assert "ErrorDocument 404 /some/path/404.html\n" in (tmp_path / "b" / ".htaccess").read_text()
        missing = (tmp_path / "b" / "404.html").read_text()
        assert 'href="/some/path/book/index.html"' in missing and "<script>" not in missing
    assert not list(tmp_path.glob("*.new")) and not list(tmp_path.glob("*.old"))


PREVIEW = ("og:title", "og:url", "og:image", "og:image:alt", "og:description")


def previews(folder: Path, old: str = "", new: str = "") -> dict:
    """What a front page with an address says of itself where its link is shared, built with this extension."""
    for name in ("book", "_ext/static"):
        (folder / name).mkdir(parents=True)
    text = (ROOT / "_ext" / "course_ext.py").read_text(encoding="utf-8")
    assert text.count(old) == 1 or not old
    (folder / "_ext" / "course_ext.py").write_text(text.replace(old, new) if old else text, encoding="utf-8")
    (folder / "conf.py").write_text('extensions, root_doc = ["sphinx.ext.autodoc", "course_ext"], "book/index"\n'
                                    'project, exclude_patterns = "Hand", ["out"]\n', encoding="utf-8")
    (folder / "book" / "index.rst").write_text("By hand\n=======\n\nTake it apart.\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "sphinx", "-q", folder, folder / "out"],
                          capture_output=True, text=True,
                          env=os.environ | {"BOOK_URL": URL, "PYTHONPATH": str(folder / "_ext")})
    assert done.returncode == 0, done.stderr
    page = (folder / "out" / "book" / "index.html").read_text(encoding="utf-8")
    return dict(re.findall(r'<meta property="(og:[^"]+)" content="([^"]*)"', page))


def test_a_link_to_the_front_page_is_shown_with_title_and_picture(tmp_path):
    found = previews(tmp_path / "right")
    assert {name: found.get(name) for name in PREVIEW} == {
        "og:title": "By hand", "og:url": f"{URL}book/index.html", "og:image": f"{URL}_static/card.png",
        "og:image:alt": "Where a small trained transformer looks while it sorts eight digits",
        "og:description": "Take it apart."}
    assert (ROOT / "_ext" / "static" / "card.png").is_file()
    wrong = previews(tmp_path / "wrong", ', "sphinxext.opengraph") if URL', ',) if URL')
    assert not wrong.keys() & set(PREVIEW)
    wrong = previews(tmp_path / "elsewhere", '"_static/card.png"', '"card.png"')
    assert wrong["og:image"] != found["og:image"]


@pytest.mark.parametrize("url, built, said", [
    ("example.org/book", "", "BOOK_URL: 'example.org/book' is no address of a site; expected one such as https://"),
    ("https://example.org/?a=b", "", "is no address of a site"),
    (URL, "", "was built for another address: run `make site BOOK_URL=https://example.org/some/path/`"),
    ("", URL, "was built for another address"),
    (URL, None, "holds no book: run `make book` first"),
])
def test_what_cannot_be_a_site_is_refused_and_the_old_one_stays(tmp_path, url, built, said):
    html = tmp_path / "html" if built is None else small(tmp_path / "html", built)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "old").touch()
    done = made(html, tmp_path / "site", url)
    assert done.returncode != 0 and said in done.stderr
    assert (tmp_path / "site" / "old").is_file()


@pytest.fixture(scope="module")
def below(tmp_path_factory):
    """The site of the built book, below two folders."""
    root = tmp_path_factory.mktemp("host")
    (root / "some").mkdir()
    url = URL if (HTML / "sitemap.xml").is_file() else ""
    done = made(built_book(), root / "some" / "path", url)
    assert done.returncode == 0, done.stderr
    with serve(root) as host:
        yield f"{host}/some/path"
    shutil.rmtree(root)


@pytest.mark.browser
def test_the_site_works_below_a_path(chrome, below):
    wrong = {}
    with visitor(chrome, below) as page:
        page.goto(f"{below}/")
        assert page.url == f"{below}/" and page.locator("#sorter-digits").count() == 1  # the front page itself
        for name in ("index.html", "book/index.html", "book/04_attention.html", "book/exercises/ex04_attention.html"):
            visit(page, f"{below}/{name}")
            if found := faults(page) + accessibility(page):
                wrong[name] = found
        visit(page, f"{below}/book/notation.html")
        page.keyboard.press("Control+k")
        page.keyboard.type("why divide by sqrt d")
        expect(page.locator("#pst-search-dialog li a").first).to_contain_text("4.4")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{below}/book/04_attention.html#*")
        assert wrong == {} and page.found == []


@pytest.mark.browser
@pytest.mark.parametrize("place", ["nothing.html", "book/exercises/nothing.html"])
def test_the_page_for_what_is_not_there_leads_back(chrome, below, place):
    """A host sends it for any address: here the browser is given it in place of what the server says."""
    with visitor(chrome, below, 390, "dark") as page:
        page.goto(f"{below}/404.html")
        body = page.content()
        page.route(f"**/{place}", lambda route: route.fulfill(status=404, body=body, content_type="text/html"))
        page.goto(f"{below}/{place}")
        first = page.get_by_role("link", name="the first page")
        if "<script>" in body:  # it looks for the book
            page.wait_for_function("document.querySelector('a').href.includes('/some/path/book/index.html')")
        assert first.evaluate("(a) => new URL(a.href).pathname") == "/some/path/book/index.html"
        assert page.locator("form").evaluate("(f) => new URL(f.action).pathname") == "/some/path/search.html"
        assert accessibility(page) == []


@pytest.mark.browser
def test_the_sitemap_names_every_page(chrome, below):
    """Where the book was built with an address."""
    if (HTML / "sitemap.xml").is_file():
        tree = ElementTree.parse(HTML / "sitemap.xml")
        named = {entry.text for entry in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")}
        assert all((HTML / re.sub(r"^https?://[^/]+(/some/path)?/", "", name)).is_file() for name in named)


# The workflows

WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
             for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def step_faults(workflow: dict) -> list[str]:
    """Steps that are no target of the Makefile; installing what the system lacks is the one thing besides."""
    runs = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    typed = [(run, re.fullmatch(r"make ([a-z]+)", run)) for run in runs if "apt-get install" not in run]
    return [run for run, target in typed if not target or target[1] not in TARGETS] + ([] if runs else ["no step"])


@pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=WORKFLOWS)
def test_each_step_of_a_workflow_is_a_target(workflow):
    assert step_faults(workflow) == []
    assert workflow["permissions"]["contents"] == "read"


KEYS = {"run", "uses", "with", "env", "id", "continue-on-error"}


def form_faults(workflow: dict) -> list[str]:
    """What a forge would refuse, or run for hours. `on` without quotes is YAML's word for true."""
    found = [f"{key} is missing" for key in ("name", True, "permissions", "jobs") if key not in workflow]
    for name, job in workflow["jobs"].items():
        found += [f"{name}: {key} is missing" for key in ("runs-on", "timeout-minutes") if key not in job]
        ids = {step["id"] for step in job["steps"] if "id" in step}
        for k, step in enumerate(job["steps"]):
            found += [f"{name}, step {k}: run or uses"] if ("run" in step) == ("uses" in step) else []
            found += [f"{name}, step {k}: {key} is no key of a step" for key in step.keys() - KEYS]
            if "uses" in step and not re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]):
                found.append(f"{name}, step {k}: {step['uses']} is no action with its version")
        asked = set(re.findall(r"\bsteps\.(\w+)\.", str(job)))
        found += [f"{name}: no step has the id {one}" for one in sorted(asked - ids)]
        uses = [step.get("uses", "").partition("@")[0] for step in job["steps"]]
        first = next((k for k, step in enumerate(job["steps"]) if step.get("run") == "make live"), None)
        found += [f"{name}: make live without Node"] if first and "actions/setup-node" not in uses[:first] else []
    return found


@pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=WORKFLOWS)
def test_a_workflow_has_the_form_of_one(workflow):
    assert form_faults(workflow) == []


@pytest.mark.parametrize(("name", "change", "said"), [
    ("test", lambda job: job.pop("timeout-minutes"), "timeout-minutes is missing"),
    ("test", lambda job: job.pop("runs-on"), "runs-on is missing"),
    ("test", lambda job: job["steps"][0].update(run="make book"), "step 0: run or uses"),
    ("test", lambda job: job["steps"][0].update({"contine-on-error": True}), "contine-on-error is no key"),
    ("test", lambda job: job["steps"][0].update(uses="actions/checkout"), "no action with its version"),
    ("test", lambda job: job["steps"].pop(2), "make live without Node"),
    ("publish", lambda job: [step.pop("id", None) for step in job["steps"]], "no step has the id pages"),
], ids=["no limit", "no machine", "two in one", "a slip", "no version", "no Node", "no id"])
def test_a_workflow_of_another_form_is_seen(name, change, said):
    workflow = copy.deepcopy(WORKFLOWS[name])
    change(next(iter(workflow["jobs"].values())))
    assert any(said in fault for fault in form_faults(workflow)), form_faults(workflow)


def targets(text: str) -> list[str]:
    """The targets of the Makefile that a script or a workflow calls, in their order."""
    return list(dict.fromkeys(re.findall(r"\bmake ([a-z]+)\b", re.sub(r"(?m)(^|\s)#.*$", "", text))))


def test_the_workflow_does_what_ci_does():
    steps = "\n".join(step.get("run", "") for step in WORKFLOWS["test"]["jobs"]["test"]["steps"])
    assert targets(steps) == targets(CI)
    assert targets(CI)[-3:] == ["test", "live", "livetest"] and targets("# make book\nmake a # make b") == ["a"]
    assert targets(steps.replace("make live\n", "")) != targets(CI) != targets(CI.replace("make weights", "true"))


@pytest.mark.parametrize(("edit", "there", "said"), [
    (None, False, "Firefox could not be had: what runs in it too is not tried there.\ngoes on\n"),
    (None, True, "goes on\n"),
    ((" ||\n    echo", "\n    : echo"), False, ""),
    (('"Firefox could', '>/dev/null "Firefox could'), False, "goes on\n"),
], ids=["it cannot be had", "it is there", "wrong: all stops", "wrong: in silence"])
def test_without_firefox_all_else_is_proved(tmp_path, edit, there, said):
    """The lines of .ci/run that see to it, where nothing can be installed; then wrong versions of them."""
    second = re.search(r"(?ms)^second\(\) \{.*?^\}$", CI)[0]
    assert edit is None or second.count(edit[0]) == 1
    if there:
        (tmp_path / "firefox-esr").touch(mode=0o755)
    second = second.replace(*edit) if edit else second
    script = f"set -euo pipefail\ninstalls() {{ false; }}\n{second}\nsecond\necho goes on"
    done = subprocess.run([shutil.which("bash"), "-c", script], env={"PATH": str(tmp_path)},
                          capture_output=True, text=True)
    assert done.stdout == said, done


def test_a_wrong_step_is_seen():
    steps = [{"run": "make book"}, {"run": "make sites"}, {"run": "pytest tests"}, {"uses": "actions/checkout@v4"}]
    assert step_faults({"jobs": {"a": {"steps": steps}}}) == ["make sites", "pytest tests"]


def test_the_version_is_one():
    version = re.search(r'(?m)^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))[1]
    assert f"Version {version}" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r"(?m)^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))[1] == version
