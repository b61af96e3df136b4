"""`make preview`: what is saved is built and served, and an open page hears of it. `make try`: what it runs."""

import threading
import time
import urllib.request
from pathlib import Path
from unittest import mock

import pytest
from rewritten import rewritten

TOOLS = Path(__file__).resolve().parents[1] / "tools"


def tool(name, *edits):
    return rewritten(TOOLS / f"{name}.py", *edits)


def tree(folder):
    for name in ("_config.yml", "_toc.yml", "book/a.md", "book/05_heads.ipynb", "lib/x.py", "_ext/e.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("one", encoding="utf-8")
    return folder


# ---------------------------------------------------------------- preview: each check takes the tool, right or wrong


def every_save_is_built(preview, folder):
    """A change, a new file and a removed one; what is no source is not looked at."""
    root = tree(folder)
    builds = []

    def build(root, folder):
        builds.append({path.name for path in (root / "book").iterdir()})
        return 0

    steps = iter([
        lambda: None, lambda: (root / "book/a.md").write_text("two, longer"),
        lambda: (root / "book/b.md").write_text("new"), lambda: (root / "book/b.md").unlink(),
        lambda: (root / "book/a.nb.md").write_text("being edited"), lambda: (root / "lib/x.pyc").write_text("1"),
        lambda: (root / "_build/preview/html").mkdir(parents=True), lambda: (root / "_toc.yml").write_text("another")])
    updates = preview.updates(root, root / "_build/preview", build, rest=lambda seconds: next(steps)())
    with pytest.raises(RuntimeError):  # the steps are used up
        for _, code in updates:
            assert code == 0
    assert len(builds) == 5 and "b.md" in builds[2] and "b.md" not in builds[3]


def a_save_during_a_build_is_not_lost(preview, folder):
    root, turns = tree(folder), iter([True, False])

    def build(root, folder):
        if next(turns):
            (root / "book/a.md").write_text("saved while it was built")
        return 0

    steps = iter([lambda: None])
    with pytest.raises(RuntimeError):
        assert len(list(preview.updates(root, root / "_build/preview", build, lambda seconds: next(steps)()))) == 2
    with pytest.raises(StopIteration):
        next(turns)


def a_file_that_is_gone_again_is_none(preview, folder):
    """Editors write files of their own and remove them at once: one may go after it was listed."""
    root, look = tree(folder), Path.stat

    def stat(path, **options):
        if path.name == "4913":
            path.unlink(missing_ok=True)
        return look(path, **options)

    before = preview.state(root)
    (root / "book/4913").write_text("a try", encoding="utf-8")
    (root / "book/folder").mkdir()
    with mock.patch.object(Path, "stat", stat):
        assert preview.state(root) == before


def an_open_page_hears_of_the_next(preview, folder):
    (folder / "html").mkdir()
    (folder / "html/a.html").write_text("<p>A page</p>")
    (folder / "html/a.css").write_text("p{}")
    (folder / "number").write_text("1")
    server = preview.serve(folder, 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    get = lambda path: urllib.request.urlopen(  # noqa: E731
        f"http://127.0.0.1:{server.server_port}/{path}", timeout=20).read().decode()
    try:
        page = get("a.html")
        assert page.startswith("<p>A page</p>") and "--built?seen=1" in page and '!== "1"' in page
        assert get("a.css") == "p{}"
        assert get("--built?seen=0") == "1"  # a page from before is told at once
        waiting, said = threading.Event(), []
        asks = threading.Thread(target=lambda: (waiting.set(), said.append(get("--built?seen=1"))))
        asks.start()
        waiting.wait()
        time.sleep(0.3)
        assert not said  # nothing new: the question stays open
        (folder / "number").write_text("2")
        asks.join(10)
        assert said == ["2"]
    finally:
        server.shutdown()
        server.server_close()


def a_page_is_named_by_path_or_chapter(preview, folder):
    root = tree(folder)
    assert preview.page_of("5", root) == preview.page_of("05", root) == "book/05_heads.html"
    assert preview.page_of("book/a.md", root) == "book/a.html" and preview.page_of(None, root) == "book/index.html"
    with pytest.raises(SystemExit, match="no chapter 12"):
        preview.page_of("12", root)


PREVIEW = [every_save_is_built, a_save_during_a_build_is_not_lost, a_file_that_is_gone_again_is_none,
           an_open_page_hears_of_the_next, a_page_is_named_by_path_or_chapter]


@pytest.mark.parametrize("check", PREVIEW, ids=lambda check: check.__name__)
def test_preview(check, tmp_path):
    check(tool("preview"), tmp_path)


@pytest.mark.parametrize(("check", "old", "new"), [
    (every_save_is_built, "said.st_mtime_ns, said.st_size", "0"),
    (every_save_is_built, 'SOURCES = ("_config.yml", "_toc.yml", ', "SOURCES = ("),
    (every_save_is_built, '(".nb.md", "~")', '("~",)'),
    (every_save_is_built, "if now != built:", "if True:"),
    (a_save_during_a_build_is_not_lost, "built = now\n            yield", "built = state(root)\n            yield"),
    (a_file_that_is_gone_again_is_none, "with suppress(FileNotFoundError):", "with suppress():"),
    (a_file_that_is_gone_again_is_none, "if stat.S_ISREG(said.st_mode):", "if True:"),
    (an_open_page_hears_of_the_next, "while self.number() == seen and", "while False and"),
    (an_open_page_hears_of_the_next, ' + RELOAD.replace("NUMBER", self.number()).encode()', ""),
    (a_page_is_named_by_path_or_chapter, "what.zfill(2)", "what"),
])
def test_a_wrong_preview_is_caught(check, old, new, tmp_path):
    wrong = tool("preview", old, new, "ASK = 0.3, 25.0", "ASK = 0.3, 2.0")
    with pytest.raises((AssertionError, pytest.fail.Exception, SystemExit, RuntimeError, FileNotFoundError)):
        check(wrong, tmp_path)


# ---------------------------------------------------------------- try


STEMS = 'X = 1\nSTEMS = {"05": ["multihead", "tree"], "11": ["train"]}\n'


def what_a_chapter_touches(made, folder):
    for name in ("book/05_multihead.ipynb", "book/exercises/ex05_multihead.ipynb", "book/11_train.ipynb",
                 "book/exercises/ex11_train.ipynb", "tests/specs/multihead.py", "tests/specs/train.py",
                 "tests/test_tree.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "tests/test_book.py").write_text(STEMS)
    arguments, left_out = made.command("05", root=folder)
    assert "--stem=multihead" in arguments and "--stem=tree" not in arguments and not left_out
    assert {"tests/test_proofs.py", "tests/test_tree.py", "tests/test_mirror.py", "tests/test_grade.py",
            "book/05_multihead.ipynb", "book/exercises/ex05_multihead.ipynb"} < set(arguments)
    arguments, left_out = made.command("11", root=folder)
    assert "book/11_train.ipynb" not in arguments and "book/exercises/ex11_train.ipynb" in arguments
    assert "book/11_train.ipynb" in left_out and "NB=1" in left_out
    assert "book/11_train.ipynb" in made.command("11", with_slow=True, root=folder)[0]
    with pytest.raises(SystemExit, match="no chapter '12'"):
        made.command("12", root=folder)


def rows_of_a_chapter(made, folder):
    pages = ["book/05_multihead.ipynb", "book/exercises/ex05_multihead.ipynb"]
    chosen = [(file, row) for file, row in [
        ("test_mirror.py", "multihead"), ("test_mirror.py", "norm"), ("test_mirror.py", None),
        ("test_book.py", "05_multihead"), ("test_book.py", "06_norm"), ("test_book.py", "np/multihead.py"),
        ("test_book.py", "exercises/ex05_multihead.ipynb"), ("test_notebooks.py", "exercises/ex05_multihead"),
        ("test_grade.py", "05"), ("test_grade.py", "06"), ("test_proofs.py", "x"), ("05_multihead.ipynb", None),
    ] if made.belongs(file, row, "05", ["multihead"], pages)]
    assert chosen == [
        ("test_mirror.py", "multihead"), ("test_book.py", "05_multihead"), ("test_book.py", "np/multihead.py"),
        ("test_book.py", "exercises/ex05_multihead.ipynb"), ("test_notebooks.py", "exercises/ex05_multihead"),
        ("test_grade.py", "05"), ("test_proofs.py", "x"), ("05_multihead.ipynb", None)]


@pytest.mark.parametrize("check", [what_a_chapter_touches, rows_of_a_chapter], ids=lambda check: check.__name__)
def test_try(check, tmp_path):
    check(tool("try_chapter"), tmp_path)


@pytest.mark.parametrize(("check", "old", "new"), [
    (what_a_chapter_touches, "pages = pages[1:]", "pass"),
    (what_a_chapter_touches, "chapter in SLOW and not with_slow", "chapter in SLOW"),
    (what_a_chapter_touches, 'proofs = [stem for stem in stems if (root / "tests/specs" / f"{stem}.py").exists()]',
     "proofs = stems"),
    (rows_of_a_chapter, "if file not in RULES:\n        return True", "pass"),
    (rows_of_a_chapter, "return row in names", "return row in names or row is None"),
    (rows_of_a_chapter, "return row in names", "return True"),
])
def test_a_wrong_try_is_caught(check, old, new, tmp_path):
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(tool("try_chapter", old, new), tmp_path)


def test_every_chapter_can_be_tried():
    made = tool("try_chapter")
    for page in sorted((TOOLS.parent / "book").glob("[0-9][0-9]_*.ipynb")):
        arguments, _ = made.command(page.name[:2])
        assert any(a.startswith("--stem=") for a in arguments) and "tests/test_proofs.py" in arguments, page.name
    assert "book/workshop.ipynb" in made.command("00")[0]
    assert made.belongs("test_book.py", "workshop", "00", ["linear"], made.pages_of("00"))
