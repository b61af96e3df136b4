"""Was the function that `check` tried the one that the learner wrote last?  Quiet where that cannot be known."""

import ast
import functools
import inspect
import json
import linecache
import os
import re
import sys
import types

_LARGE = 4_000_000  # bytes of a notebook that are not worth reading
_seen = {}  # by name: the code that was checked first, and the state of the notebook's file at that moment


def shell():
    """IPython, where this process runs a notebook or a prompt of it."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def notebook():
    """Path of the notebook that this process runs, as JupyterLab or VS Code tell it; or nothing."""
    names = getattr(shell(), "user_ns", {})
    for path in (names.get("__vsc_ipynb_file__"), names.get("__session__"), os.environ.get("JPY_SESSION_NAME")):
        if isinstance(path, str) and path.endswith(".ipynb") and os.path.isfile(path):
            return path
    return ""


def older(answer):
    """A sentence, if this answer, or a helper that it calls, is an older version of what its learner wrote."""
    try:
        ipython = shell()
        for name, function in _functions(answer, ipython.user_ns) if ipython else ():
            what = f"an older {name} was tried" if function is answer else f"an older {name}, its helper, was tried"
            if cell := _unfinished_cell(ipython, name, function):
                return f"{what}: cell [{cell}], which writes it last, stopped before it was defined"
            if file := _saved_otherwise(ipython, name, function):
                return f"{what}: {file}, as it is saved now, has another; run its cell, then check again"
    except Exception:  # a guess is not worth a failed check
        pass
    return ""


def _functions(answer, scope):
    """By name, the answer and the helpers that it calls, as far as they are functions of the notebook."""
    found, waiting = {}, [(getattr(answer, "__name__", None), answer)]
    while waiting:
        name, function = waiting.pop(0)
        inner = inspect.unwrap(function) if callable(function) else function
        if name in found or not isinstance(inner, types.FunctionType) or scope.get(name) is not function:
            continue
        if inner.__name__ == name and inner.__globals__ is scope:
            found[name] = function
            waiting += [(other, scope[other]) for other in inner.__code__.co_names if other in scope]
    return list(found.items())


def _unfinished_cell(ipython, name, function):
    """Number of the newest cell that defines this name, if the function comes from an older one; else 0."""
    code = inspect.unwrap(function).__code__
    number = ipython.compile._filename_map.get(code.co_filename)
    if number is None:
        return 0
    newest, cells = 0, ipython.history_manager.input_hist_parsed
    for k in range(number + 1, _running(ipython, len(cells))):
        kind = _binds(cells[k], name) if re.search(rf"\b{name}\b", cells[k]) else ""
        if kind == "otherwise":
            return 0
        newest = k if kind == "def" else newest
    return newest


def _running(ipython, otherwise):
    """Number of the cell that is at work now."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename in ipython.compile._filename_map:
            return ipython.compile._filename_map[frame.f_code.co_filename]
        frame = frame.f_back
    return otherwise


def _binds(text, name):
    """How a cell binds a name: by a "def" of its own, "otherwise", or not at all."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return "def" if _writes(text, name) else ""
    found = ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name and node in tree.body:
            found = "def"
        elif isinstance(node, ast.alias):
            if (node.asname or node.name).split(".")[0] in (name, "*"):
                return "otherwise"
        elif isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return "otherwise"
        elif getattr(node, "name", None) == name:
            return "otherwise"
    return found


def _writes(text, name):
    return not text.lstrip().startswith("%%") and re.search(rf"^def {name}\b", text, re.MULTILINE)


def _saved_otherwise(ipython, name, function):
    """Name of the notebook's file, if it was saved since this code was checked first, and no cell in it has this code
    but one has another: then the learner wrote on, and did not run the cell."""
    code = inspect.unwrap(function).__code__
    path = notebook()
    if not path:
        return ""
    state = os.stat(path)
    state = state.st_mtime_ns, state.st_size
    first = _seen.get(name)
    if first is None or first[0] is not code:
        _seen[name] = code, state
        return ""
    if first[1] == state or state[1] > _LARGE:
        return ""
    ran = _definition("".join(linecache.getlines(code.co_filename)), name)
    cells = [cell for cell in _cells(path, state) if _writes(cell, name)]
    written = [_definition(cell, name, ipython.transform_cell) for cell in cells]
    if ran in written:
        _seen[name] = code, state
        return ""
    return os.path.basename(path) if ran and any(written) else ""


@functools.lru_cache(maxsize=1)
def _cells(path, state):
    """Text of the code cells of a notebook's file."""
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    return tuple("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def _definition(text, name, transform=None):
    """What a cell says of this function, without comments, layout and docstring; "?" if it cannot be read."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a magic, or not finished
        return _definition(transform(text), name) if transform else "?"
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    if not found:
        return ""
    node = found[-1]
    if ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:]
    return ast.dump(node)
