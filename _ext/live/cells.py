"""The cells of one page in the Python of the browser: which need a package that is not there, which need each other,
and how one is run. `tools/make_live.py` reads the first; `worker.js` calls `begin` and `answer`."""

import ast
import base64
import builtins
import functools
import os
import pprint
import sys
import time
import traceback
import types
from typing import NamedTuple

ABSENT = {"torch": "PyTorch", "byhand.pt": "PyTorch", "sklearn": "scikit-learn", "sacrebleu": "sacrebleu",
          "tokenizers": "tokenizers", "safetensors.torch": "PyTorch", "transformers": "transformers",
          "beartype": "beartype", "subprocess": "a process of its own",
          "matplotlib.cbook": "a photograph of matplotlib's"}  # what the page has not, and its name in words
SETTINGS = ("set_", "manual_seed", "use_deterministic")  # calls of an absent package that only set it up


def absent(module):
    """What is not there of this module, in words; nothing if it is there."""
    return next((words for name, words in ABSENT.items() if module == name or module.startswith(name + ".")), "")


class Facts(NamedTuple):
    """Of one cell or statement: the names that it binds, those it reads before, and those whose objects it changes."""

    binds: frozenset = frozenset()
    reads: frozenset = frozenset()
    changes: frozenset = frozenset()

    def then(self, other):
        return Facts(self.binds | other.binds, self.reads | (other.reads - self.binds), self.changes | other.changes)


def _outer(node):
    """The node and what stands in it, without the bodies of functions and classes, whose names are their own."""
    yield node
    for child in ast.iter_child_nodes(node):
        inner = isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp,
                                  ast.GeneratorExp))
        if not inner:
            yield from _outer(child)


def _root(node):
    """The name at the left end of `x`, `x[0]`, `x.y` and `x.y[0].z`."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _changed(statement):
    for node in ast.walk(statement):
        stored = isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load)
        if stored or isinstance(node, ast.AugAssign):
            yield _root(node if stored else node.target)
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                yield _root(node.func)
            effect = isinstance(statement, ast.Expr) and node is statement.value
            called = _root(node.func)
            for argument in node.args + [keyword.value for keyword in node.keywords]:
                name = _root(argument)
                if "rng" in name or called == "next" or (effect and not called.startswith(("print", "show"))):
                    yield name


SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _read(node):
    """Names that are read in here and come from outside: not what a function or comprehension in it calls its own."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    found = set().union(*map(_read, ast.iter_child_nodes(node)))
    if isinstance(node, SCOPES):
        inside = [n for child in ast.iter_child_nodes(node) for n in ast.walk(child)]
        found -= {n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        found -= {n.arg for n in inside if isinstance(n, ast.arg)}
    return found


def statement_facts(statement):
    """The Facts of one statement at the top of a cell."""
    binds = set()
    for node in _outer(statement):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            binds.add(node.id)
        elif isinstance(node, ast.alias):
            binds.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            binds.add(node.name)
    reads = _read(statement)
    if isinstance(statement, (ast.For, ast.With)):
        reads -= binds
    elif isinstance(statement, ast.AugAssign):
        reads.add(_root(statement.target))
    return Facts(frozenset(binds), frozenset(reads), frozenset(_changed(statement)) - {""})


def parsed(source):
    """The statements of a cell; none where it cannot be read."""
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError):
        return []


@functools.lru_cache(maxsize=512)
def facts(source):
    """The Facts of a cell; what an import brings is changed by a call of `set_…` alone."""
    known, modules = Facts(), set()
    for statement in parsed(source):
        known = known.then(statement_facts(statement))
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            modules |= statement_facts(statement).binds
    return known._replace(changes=known.changes - modules)


def _sets_up(statement):
    """`torch.set_printoptions(…)`: a statement that only sets something up."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
            and call.func.attr.startswith(SETTINGS))


def _at_once(statement, known):
    """Names that are read when the statement runs: of a function, those of its decorators and defaults."""
    if not isinstance(statement, ast.FunctionDef):
        return known.reads
    defaults = [*statement.args.defaults, *filter(None, statement.args.kw_defaults)]
    return set().union(*map(_read, statement.decorator_list + defaults))


def unable(sources, exercises=()):
    """For each cell, what it needs that the page has not, in words, or nothing; `exercises` are names of functions that
    are checked with PyTorch.

    To import it, and to set it up, is no need; to use it is, and so is to use what a cell that needs it has made."""
    tainted, found = {}, []
    for source in sources:
        need, bound = "", set()
        for statement in parsed(source):
            known = statement_facts(statement)
            lacks = _imports(statement)
            used, at_once = (next((tainted[name] for name in sorted(reads) if name in tainted), "")
                             for reads in (known.reads, _at_once(statement, known)))
            bound |= known.binds if not isinstance(statement, (ast.Import, ast.ImportFrom)) else set()
            for name in known.binds:
                tainted.pop(name, None)
                if why := lacks.get(name, "") or used:
                    tainted[name] = why
            if (known.binds | known.reads) & set(exercises):
                need = ABSENT["torch"]
            elif at_once and not _sets_up(statement):
                need = need or at_once
        if need:
            tainted |= dict.fromkeys(bound, need)
        found.append(need)
    return found


def _imports(statement):
    """By the name that it binds: what this import cannot give."""
    if isinstance(statement, ast.Import):
        return {(a.asname or a.name).split(".")[0]: absent(a.name) for a in statement.names}
    if isinstance(statement, ast.ImportFrom):
        module = statement.module or ""
        return {a.asname or a.name: absent(module) or absent(f"{module}.{a.name}") for a in statement.names}
    return {}


def imports(source):
    """The imports of a cell: all that runs of one which needs what is not there."""
    kept = [s for s in parsed(source) if isinstance(s, (ast.Import, ast.ImportFrom))]
    return "\n".join(map(ast.unparse, kept)) or None


def needed(sources, target):
    """Places of the earlier cells without which cell `target` cannot run or gives something else, in their order.
    A source that is None does not count."""
    imported = set()
    for source in filter(None, sources):
        for statement in parsed(source):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                imported |= statement_facts(statement).binds
    wanted, found = set(facts(sources[target]).reads), []
    for k in range(target - 1, -1, -1):
        if sources[k] is None:
            continue
        known = facts(sources[k])
        changes = (known.changes & wanted) - imported
        sets_up = any(_sets_up(s) and _root(s.value.func) in wanted for s in parsed(sources[k]))
        if known.binds & wanted or changes or sets_up:
            found.insert(0, k)
            wanted = (wanted - known.binds) | known.reads
    return found


class Absent(types.ModuleType):
    """Stands for a package that is not there: it can be imported and set up, and whoever calls it is told."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *args, **options):
        if not self.__name__.rpartition(".")[2].startswith(SETTINGS):
            raise ModuleNotFoundError(f"{self.__name__}: {absent(self.__name__)} does not run in the page")


def import_or_absent(name, globals=None, locals=None, fromlist=(), level=0):
    """`__import__` as the cells have it."""
    if not level and absent(name):
        return Absent(name if fromlist else name.split(".")[0])
    return builtins.__import__(name, globals, locals, fromlist, level)


SOON, OFTEN = 0.4, 0.15  # seconds: a loop that ends sooner shows no bar; how often one tells how far it is


def with_bars(body):
    """The statements of a cell, whose `for` loops, where they stand at its top, go through `__watched__`: a notebook
    needs no word of its own for that. It is also told whether the loop binds `loss`, for the curve."""
    for loop in body.body:
        if isinstance(loop, ast.For):
            binds = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            call = ast.Call(ast.Name("__watched__", ast.Load()), [loop.iter, ast.Constant("loss" in binds)], [])
            loop.iter = ast.fix_missing_locations(ast.copy_location(call, loop.iter))
    return body


class Session:
    """What the cells of one page have in common; `tell` takes what one shows, a dict with a key a kind."""

    def __init__(self, tell, folder="/tmp/cells"):
        self.tell, self.folder, self.count, self.ran, self.loops = tell, folder, 0, {}, 0
        os.makedirs(folder, exist_ok=True)
        self.main = types.ModuleType("__main__")
        self.scope = vars(self.main)
        ours = {"__import__": import_or_absent, "__watched__": self.watched}
        self.scope |= {"__builtins__": vars(builtins) | ours, "display": self.show}
        sys.modules["__main__"] = self.main

    def plan(self, cells, target):
        """Which cells are still to run before `target`; cells are an id, a text, and whether it can run in the page."""
        texts = [source if able else imports(source) for _, source, able in cells]
        return [k for k in needed(texts, target) if self.ran.get(cells[k][0]) != texts[k]]

    def run(self, cell, source):
        """Run one cell; True if it came to its end. Its text is kept as a file, so that its functions have a source."""
        self.count += 1
        path = os.path.join(self.folder, f"{self.count}.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        try:
            body = with_bars(ast.parse(source, path))
            last = body.body.pop() if body.body and isinstance(body.body[-1], ast.Expr) else None
            exec(compile(body, path, "exec"), self.scope)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), path, "eval"), self.scope)
                if value is not None:
                    self.show(value)
            self._figures()
        except BaseException as error:  # sys.exit() ends a cell, and not the session
            _flush()
            self.tell({"error": describe(error, path, self.folder)})
            return False
        self.ran[cell] = source
        return True

    def watched(self, items, curve):
        """The items of a loop, which tells how far it is if it takes a while; untouched if their number is unknown."""
        return self._tells(items, curve) if hasattr(items, "__len__") else items

    def _tells(self, items, curve):
        self.loops += 1
        loop, start, k, losses = self.loops, time.monotonic(), 0, []

        def tell():
            _flush()  # what it has printed so far is seen with it
            took = time.monotonic() - start
            self.tell({"loop": loop, "done": k, "of": len(items), "seconds": took, "losses": losses.copy()})
            losses.clear()

        told = start + SOON - OFTEN
        try:
            for item in items:
                yield item
                k += 1
                if curve:
                    losses.append(number(self.scope.get("loss")))
                if time.monotonic() > told + OFTEN:
                    tell()
                    told = time.monotonic()
        finally:  # at its end, or where it was left
            if told > start + SOON - OFTEN:
                tell()

    def show(self, *values):
        """What a notebook would show of these values."""
        for value in values:
            _flush()
            self.tell(bundle(value))

    def _figures(self):
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].show()
        _flush()

    def names(self, path):
        """What may follow: `np.lin` gives the names in np; nothing is called."""
        *way, _ = path.split(".")
        known = self.scope
        for name in way:
            value = known.get(name)
            known = {key: getattr(value, key, None) for key in dir(value)} if value is not None else {}
        return [name for name in known if not name.startswith("_")]


def number(value):
    """A loss as a number of JSON; None for what is none, or not finite."""
    try:
        value = float(value)
    except (TypeError, ValueError):
        return None
    return value if abs(value) < float("inf") else None


def _flush():
    sys.stdout.flush()
    sys.stderr.flush()


def bundle(value):
    """A value by the names of what a page can show: html, svg, png or text."""
    if hasattr(value, "_repr_mimebundle_") and not isinstance(value, type):
        kinds = value._repr_mimebundle_()
        kinds = kinds[0] if isinstance(kinds, tuple) else kinds
        for mime, key in (("text/html", "html"), ("image/svg+xml", "svg"), ("text/plain", "text")):
            if mime in kinds:
                return {key: kinds[mime]}
    for method, key in (("_repr_html_", "html"), ("_repr_svg_", "svg"), ("_repr_png_", "png")):
        if not isinstance(value, type) and (found := getattr(value, method, lambda: None)()):
            return {key: base64.b64encode(found).decode() if isinstance(found, bytes) else found}
    text = repr(value)
    if len(text) > 79 and isinstance(value, (list, tuple, dict, set)) and type(value).__repr__ in (
            list.__repr__, tuple.__repr__, dict.__repr__, set.__repr__):
        text = pprint.pformat(value, width=79, compact=True, sort_dicts=False)
    return {"text": text}


def describe(error, path, folder):
    """Type, message and the lines of the reader's cells on the way; of ours, the name of the function that refused."""
    lines = []
    if isinstance(error, SyntaxError) and error.filename == path:
        text = (error.text or "").rstrip("\n")
        lines = [f"line {error.lineno}:  {text}"] + ([" " * (len(f"line {error.lineno}:  ") + error.offset - 1) + "^"]
                                                    if error.offset else [])
        return "\n".join([*lines, f"{type(error).__name__}: {error.msg}"])
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [k for k, frame in enumerate(frames) if frame.filename.startswith(folder)]
    for k in theirs[:3] + theirs[max(3, len(theirs) - 5):]:
        frame = frames[k]
        where = "" if frame.filename == path else " of an earlier cell"
        inside = "" if frame.name == "<module>" else f" in {frame.name}"
        lines.append(f"line {frame.lineno}{where}{inside}:  {(frame.line or '').strip()}")
    if frames and theirs and theirs[-1] < len(frames) - 1:
        lines.append(f"there, in {frames[-1].name}:")
    try:
        message = str(error)
    except Exception:
        message = ""
    return "\n".join([*lines, f"{type(error).__name__}: {message}" if message else type(error).__name__])


_session = None


def begin(tell, progress):
    """A new session; `progress` is what the page has kept of the exercises."""
    global _session
    os.access = lambda path, mode, **options: os.path.exists(path)  # rights are unknown here, and all may be written
    os.environ |= {"BYHAND_DATA": "/course/data", "BYHAND_PROGRESS": "", "MPLBACKEND": "module://figures",
                   "MPLCONFIGDIR": "/tmp"}
    _session = Session(tell)
    if progress:
        from byhand.grade import memory

        memory.take(progress)


def answer(request):
    """One request of the page, a dict with a key a kind; the answer goes to `tell`."""
    if "plan" in request:
        _session.tell({"plan": _session.plan(request["plan"], request["target"])})
    elif "names" in request:
        _session.tell({"names": _session.names(request["names"])})
    else:
        source = request["source"] if request["able"] else imports(request["source"]) or ""
        ok = _session.run(request["run"], source)
        memory = sys.modules.get("byhand.grade.memory")
        _session.tell({"end": ok, "progress": {k: list(v) for k, v in memory.recall().items()} if memory else None})
