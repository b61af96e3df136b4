"""Which modules of byhand a module needs, and which packages of others; and which state all of them are in."""

import ast
import functools
import hashlib
import re
import sys
from pathlib import Path

import byhand

HOME = Path(byhand.__file__).parent
GRADE = HOME / "grade"
COURSE = HOME.parents[1]  # where the source is checked out


def file_of(name: str) -> Path | None:
    """The file of a module of byhand, by its dotted name; None if there is none."""
    path = HOME.joinpath(*name.split(".")[1:])
    return next((f for f in (path / "__init__.py", path.with_suffix(".py")) if f.is_file()), None)


def revision(only: str = "") -> str:
    """A digest of questions, answers and grader, the same on every machine; of one set, by its folder, or of all."""
    found = hashlib.sha256()
    for path in sorted(GRADE.rglob("*.py")):
        name = path.relative_to(GRADE).as_posix()
        if not only or only in name or not re.search(r"/s\d\d_", f"/{name}"):
            found.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


@functools.cache
def _imports(name: str) -> tuple[str, ...]:
    """What a module of byhand imports, anywhere in it, by absolute dotted names."""
    path, found = file_of(name), []
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            up = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return tuple(found)


def packages_in(text: str) -> set[str]:
    """The packages of others that a source text imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module.split(".")[0])
    return found - sys.stdlib_module_names - {"byhand"}


def needed(*roots: str, rewritten=()) -> dict[str, Path]:
    """The modules of byhand that importing `roots` reaches, with their files.

    What a module of `rewritten` imports does not count.
    """
    files, waiting = {}, list(roots)
    while waiting:
        name = waiting.pop()
        if name.split(".")[0] != "byhand" or name in files or (path := file_of(name)) is None:
            continue  # of others, or a function of its module
        files[name] = path
        waiting += [name.rpartition(".")[0]] if "." in name else []
        waiting += () if name in rewritten else _imports(name)
    return files
