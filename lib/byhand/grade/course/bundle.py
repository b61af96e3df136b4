"""A package for students: notebooks, what `check` and `hint` need, and nothing that is an answer.

Left out are references, solutions, hidden cases with what makes their inputs, and the code of known mistakes, which is
one edit away from an answer: what they give in public cases goes along as numbers.
"""

import ast
import io
import json
import re
import zipfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

from byhand.io.files import write_whole

from .. import mistakes
from ..sets import SETS, expected_path, notebook_of, questions_of
from .inputs import Source
from .modules import COURSE, HOME, needed, packages_in

GRADE = '"""Exercises that check themselves: `check(my_function)`, `hint("04.2")`, `summary()`."""\n\n' \
    "from .learner import check, example, hint, solution, summary\n\n" \
    '__all__ = ["check", "example", "hint", "solution", "summary"]\n'
LINK = re.compile(r"\[([^\]]*)\]\((\.\./)?(\w+)\.(?:ipynb|md)(#[^)]*)?\)")
TOOLS = ("ipykernel", "jupyterlab")  # to open and run a notebook
README = """# {title}

Work in the notebooks here: {notebooks}.
Each question has a statement, a function to fill in, and a cell that checks it at once.

```bash
python3 -m venv .venv
.venv/bin/pip install -r requirements.txt
.venv/bin/jupyter lab
```

- Keep the notebooks beside the folder `byhand`: the checks are in it. There is nothing else to install.
- `check(my_function)` says which cases pass, and what a wrong answer looks like. `hint("{first}")` gives one hint at a
  time.
- Nothing leaves your machine. Your best points are kept in `.byhand/progress.sqlite` in your home folder.
- Keep the names of the functions: that is how they are found when you hand in. Everything else is free: helpers,
  further cells, your own tests.
- Hand in the notebook, saved. It is graded with other numbers and sizes than you see here, and by the same rules; what
  is promised in a statement is tried by a case that you can see.

The text of the exercises is under the licence in `LICENSE-TEXT`, the code under that in `LICENSE`.
"""


def files_of(set_ids, book: str = "") -> dict[str, bytes]:
    """The whole package, by path. `book` is where the chapters are on the web; without it, links to them are words.

    Raises ValueError where something in it is an answer.
    """
    from .leaks import leaks

    files, pages = _library(set_ids), [notebook_of(s).removesuffix(".ipynb") for s in set_ids]
    for set_id in set_ids:
        for name, data in _set(set_id).items():
            files[f"byhand/grade/sets/{SETS[set_id]}/{name}"] = data
        name = notebook_of(set_id)
        files[name] = _notebook(COURSE / "book" / "exercises" / name, pages, book)
    packages = set().union(*(packages_in(data.decode()) for name, data in files.items() if name.endswith(".py")))
    names = sorted({*packages, "torch", *TOOLS})
    files["requirements.txt"] = "".join(f"{name}=={version(name).split('+')[0]}\n" for name in names).encode()
    first = questions_of(set_ids[0])[0].id
    names = ", ".join(f"`{notebook_of(s)}`" for s in set_ids)
    files["README.md"] = README.format(title="Exercises", notebooks=names, first=first).encode()
    for name in ("LICENSE", "LICENSE-TEXT"):
        files[name] = (COURSE / name).read_bytes()
    if found := leaks(files, set_ids):
        raise ValueError("bundle: this package would give answers away: " + "; ".join(found[:5]))
    return dict(sorted(files.items()))


def write(files: dict[str, bytes], out: str | Path) -> Path:
    """As a zip, if the name ends so, or as a folder, which must be new or empty."""
    out = Path(out)
    if out.suffix == ".zip":
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                info = zipfile.ZipInfo(f"{out.stem}/{name}", date_time=(1980, 1, 1, 0, 0, 0))
                info.external_attr = 0o644 << 16
                archive.writestr(info, content, zipfile.ZIP_DEFLATED)
        write_whole(out, data.getvalue())
        return out
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"bundle: --out is {out}, expected a new or an empty folder, or a name that ends in .zip")
    for name, content in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(out / name, content)
    return out


def _library(set_ids) -> dict[str, bytes]:
    """What of byhand a learner's notebook needs, the sets aside."""
    also = [name for set_id in set_ids for question in questions_of(set_id) for name in question.library]
    found = needed("byhand.grade.learner", *also, rewritten=("byhand.grade",))
    files = {path.relative_to(HOME.parent).as_posix(): path.read_bytes() for path in found.values()}
    files["byhand/grade/__init__.py"] = GRADE.encode()
    name = "byhand/grade/sets/__init__.py"
    text, wanted = files[name].decode(), {SETS[s] for s in set_ids}
    for set_id, folder in SETS.items():
        if folder not in wanted:
            text = text.replace(f'    "{set_id}": "{folder}",\n', "")
    files[name] = text.encode()
    return files


def _set(set_id) -> dict[str, bytes]:
    folder = Path(expected_path(set_id)).parent
    return {
        "__init__.py": (folder / "__init__.py").read_bytes(),
        "stubs.py": (folder / "stubs.py").read_bytes(),
        "questions.py": f"{ast.unparse(_without_hidden(set_id, folder))}\n".encode(),
        "cases.py": _cases(set_id),
        "mutants.py": _messages(set_id).encode(),
        "expected.npz": (folder / "expected.npz").read_bytes(),
        "mistakes.npz": _npz(mistakes.arrays_of(set_id)),
    }


def _cases(set_id) -> bytes:
    """Of what makes inputs and measures answers, what the public cases need."""
    tree = _without_hidden(set_id, Path(expected_path(set_id)).parent)
    used = [x.attr for x in ast.walk(tree) if isinstance(x, ast.Attribute) and getattr(x.value, "id", "") == "cases"]
    return f'"""Inputs of the cases."""\n\n{Source(set_id).reached(used)}\n'.encode()


class _Public(ast.NodeTransformer):
    """Questions without their hidden cases, and with mistakes found by the question's id."""

    def visit_Tuple(self, node):
        self.generic_visit(node)
        node.elts = [x for x in node.elts if not _is_hidden(x)]
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        if getattr(node.func, "id", "") == "Question":
            given = {k.arg: k for k in node.keywords}
            given["mutants"].value = ast.parse(f"mutants.MISTAKES[{given['id'].value.value!r}]", mode="eval").body
        return node


def _is_hidden(node) -> bool:
    """`Case(…)` that guards another and is not open, as it is written out in questions.py."""
    if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Case"):
        return False
    given = {k.arg: k.value for k in node.keywords}
    is_open = isinstance(given.get("open"), ast.Constant) and given["open"].value is True
    return "guards" in given and not is_open


def _without_hidden(set_id, folder) -> ast.Module:
    tree = _Public().visit(ast.parse((folder / "questions.py").read_text(encoding="utf-8")))
    used = [x.id for x in ast.walk(tree) if isinstance(x, ast.Name)]
    tree.body = [x for x in tree.body if not isinstance(x, ast.FunctionDef) or x.name in used]
    return ast.fix_missing_locations(tree)


def _messages(set_id) -> str:
    lines = ['"""What known mistakes are told; what they give is in mistakes.npz, and their code is not here."""', "",
             "from ...model import Mutant", "", "MISTAKES = {"]
    for question in questions_of(set_id):
        lines += [f"    {question.id!r}: ("]
        lines += [f"        Mutant({m.name!r}, None, {m.message!r}, {m.section!r}, ())," for m in question.mutants]
        lines += ["    ),"]
    return "\n".join([*lines, "}", ""])


def _npz(arrays) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(arrays):
            entry = io.BytesIO()
            np.lib.format.write_array(entry, arrays[name], version=(1, 0), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), entry.getvalue(),
                             zipfile.ZIP_DEFLATED)
    return data.getvalue()


def _notebook(path: Path, here: list[str], book: str) -> bytes:
    """As it is given out: without outputs, and links that lead somewhere."""
    def linked(match):
        text, up, name, place = match.groups()
        if up is None and name in here:
            return match[0]
        return f"[{text}]({book.rstrip('/')}/{'' if up else 'exercises/'}{name}.html{place or ''})" if book else text

    if not path.is_file():
        raise ValueError(f"bundle: no notebook {path}; students' packages are made where the course is checked out")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    first = True
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
            if first:
                text, first = re.sub(r"\A(#[^\n]*\n)+", "", text), False
        else:
            text = LINK.sub(linked, text)
        cell["source"] = text.splitlines(keepends=True)
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()
