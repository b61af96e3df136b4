"""Prove what one chapter touches: `make try CH=05`, or `python tools/try_chapter.py 05`.

That is: the proofs of the stems that it builds, both halves side by side, its code against the library's, its exercise
set, the rules of its notebooks, and both notebooks run again and compared. The whole of `make test` is for the end.
As a pytest plugin (-p try_chapter --chapter 05) it chooses those tests, in every worker.
"""

import argparse
import ast
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RULES = ["test_mirror.py", "test_book.py", "test_notebooks.py", "test_grade.py"]  # a row for each chapter, stem, page
SLOW = {"11": "trains three models for more than two minutes"}  # notebooks that are run only when asked for

GOES_ON = {"00": ["book/workshop.ipynb"], "11": ["book/runs.ipynb"]}  # pages that go on with a chapter


def stems_of(chapter, text):
    """The stems of a chapter, from the table in tests/test_book.py."""
    table = next(node.value for node in ast.parse(text).body if isinstance(node, ast.Assign)
                 and getattr(node.targets[0], "id", "") == "STEMS")
    return ast.literal_eval(table).get(chapter)


def pages_of(chapter, root=ROOT):
    own = [str(path.relative_to(root)) for start in ("book/", "book/exercises/ex")
           for path in sorted(root.glob(f"{start}{chapter}_*.ipynb"))]
    return own + [page for page in GOES_ON.get(chapter, []) if (root / page).exists()]


def belongs(file, row, chapter, stems, pages):
    """Whether a test is one of the chapter's: `file` is the name of its file, `row` what stands in brackets."""
    if file not in RULES:
        return True
    names = {chapter, *stems, *pages, *(f"{half}/{stem}.py" for half in ("np", "pt") for stem in stems)}
    names |= {page.removeprefix("book/") for page in pages}
    names |= {name.removesuffix(".ipynb") for name in names}
    return row in names


def pytest_addoption(parser):
    parser.addoption("--chapter", metavar="NN", help="of the tests that have a row a chapter, only this chapter's")


def pytest_collection_modifyitems(config, items):
    chapter = config.getoption("chapter")
    stems, pages = stems_of(chapter, (ROOT / "tests/test_book.py").read_text(encoding="utf-8")), pages_of(chapter)
    chosen = [item for item in items if belongs(
        item.path.name, item.callspec.id if hasattr(item, "callspec") else None, chapter, stems, pages)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def command(chapter, with_slow=False, jobs=2, root=ROOT):
    """What to run, and what is left out, in words."""
    stems = stems_of(chapter, (root / "tests/test_book.py").read_text(encoding="utf-8"))
    if stems is None:
        raise SystemExit(f"try_chapter: there is no chapter {chapter!r}; say for instance CH=05")
    pages, left_out = pages_of(chapter, root), ""
    if chapter in SLOW and not with_slow:
        left_out = f"Left out: {pages[0]}, which {SLOW[chapter]}. To run it too: make try CH={chapter} NB=1"
        pages = pages[1:]
    proofs = [stem for stem in stems if (root / "tests/specs" / f"{stem}.py").exists()]
    files = ["test_proofs.py"] * bool(proofs) + [
        f"test_{stem}.py" for stem in stems if (root / "tests" / f"test_{stem}.py").exists()]
    arguments = ["-p", "try_chapter", "--chapter", chapter, *(f"--stem={stem}" for stem in proofs), "-q",
                 "--nbval", "--nbval-current-env", "--nbval-cell-timeout", "300", "-n", str(jobs), "--dist",
                 "loadfile", "--durations=5", *(f"tests/{name}" for name in [*files, *RULES]), *pages]
    return arguments, left_out


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("chapter", help="two digits, as its file begins")
    parser.add_argument("--slow", action="store_true", help="run its notebook even if that takes minutes")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args(argv)
    arguments, left_out = command(args.chapter.zfill(2), args.slow, args.jobs)
    start, path = time.monotonic(), os.pathsep.join(filter(None, [str(ROOT / "tools"), os.environ.get("PYTHONPATH")]))
    code = subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": path}).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"Chapter {args.chapter}: {time.monotonic() - start:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU.")
    if left_out:
        print(left_out)
    return code


if __name__ == "__main__":
    sys.exit(main())
