"""What one statement of a notebook has to do with names. Nothing is run here, and only Python's own library is used."""

import ast
import dis
import re
import warnings
from types import CodeType

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINED = (*FUNCTIONS, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
READ = {"items", "keys", "values", "get", "copy", "sum", "mean", "max", "min", "std", "var", "reshape", "astype", "dot",
        "index", "count", "split", "join", "format", "round", "tolist", "item", "transpose", "argmax", "argmin", "any",
        "all", "flatten", "ravel", "swapaxes", "lower", "upper", "strip", "startswith", "endswith", "numpy", "detach",
        "size", "dim", "cache_info"}  # methods that leave everything as it is
NAMED = {"globals", "vars", "locals", "eval", "exec"}  # by them a name is looked up that stands in a text


def root(node, through=()):
    """The name that `a.b[0].c` begins with; also of `a().b` if it goes through ast.Call."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred, *through)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def run_at_once(node):
    """The nodes of a statement that run with it, each with whether a name that it stores is the notebook's own: bodies
    of functions run later, and classes and comprehensions have names of their own."""
    waiting = [(node, True)]
    while waiting:
        x, own = waiting.pop()
        yield x, own
        if isinstance(x, FUNCTIONS):
            later = [*x.decorator_list, *x.args.defaults, *filter(None, x.args.kw_defaults)]
            waiting += [(y, own) for y in later]
        elif isinstance(x, ast.Lambda):
            waiting += [(y, own) for y in (*x.args.defaults, *filter(None, x.args.kw_defaults))]
        elif isinstance(x, ast.ClassDef):
            waiting += [(y, own) for y in (*x.decorator_list, *x.bases, *x.keywords)] + [(y, False) for y in x.body]
        elif isinstance(x, ast.comprehension):
            waiting += [(y, own) for y in (x.iter, *x.ifs)]
        else:
            waiting += [(y, own) for y in ast.iter_child_nodes(x)]


def made(x):
    """The names that one node makes."""
    match x:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.alias(name=name, asname=other):
            return [] if name == "*" else [other or name.split(".")[0]]
        case ast.Name(id=name, ctx=ast.Store()):
            return [name]
        case ast.MatchAs(name=name) | ast.MatchStar(name=name) | ast.MatchMapping(rest=name):
            return [name] if name else []
        case ast.Subscript(value=ast.Call(func=ast.Name(id="globals" | "vars" | "locals"), args=[]),
                           slice=ast.Constant(value=str(name)), ctx=ast.Store()):
            return [name]
        case ast.Call(func=ast.Name(id="exec"), args=[_]) | ast.Call(func=ast.Name(id="exec"), args=[
                _, ast.Call(func=ast.Name(id="globals" | "vars" | "locals"), args=[])]):
            return [name for node in executed(x) or () for y, own in run_at_once(node) if own for name in made(y)]
    return []


def executed(x):
    """The statements of `exec("…")`; None if its text is made only when it runs, and for whatever else x is."""
    match x:
        case ast.Call(func=ast.Name(id="exec" | "eval"), args=[
                ast.Call(func=ast.Name(id="compile"), args=[given, *_]) | given, *_]) if (
                    text := _text(given)) is not None:
            try:
                return ast.parse(text.strip() if x.func.id == "eval" else text).body
            except (SyntaxError, ValueError, RecursionError, MemoryError):  # it raises when it runs, too
                return []
    return None


def _text(node):
    """What a text is, of one piece or of several that stand there; None for whatever else."""
    pieces, waiting = [], [node]
    while waiting:
        match waiting.pop():
            case ast.Constant(value=str(text)):
                pieces.append(text)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                waiting += [right, left]
            case ast.JoinedStr(values=values):
                waiting += values[::-1]
            case _:
                return None
    return "".join(pieces)


def written(x):
    """The names of what one node writes into, or calls a method of."""
    match x:
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return root(x, (ast.Call,))
        case ast.Call(func=ast.Attribute(attr=method)) if method not in READ:
            return root(x.func)
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[first, *_]):
            return root(first)
    return None


def imported(x):
    """By name that an import makes, the package that it comes from; `*` stands for names that nobody can tell."""
    if not isinstance(x, IMPORTS):
        return {}
    module = x.module or "" if isinstance(x, ast.ImportFrom) else ""
    return {a.asname or a.name.split(".")[0]: (module or a.name).split(".")[0] for a in x.names}


def codes(node, flags=0):
    """The compiled code of a statement and of all functions in it. Raises what compile raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        waiting = [compiled(node, flags)]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [const for const in code.co_consts if isinstance(const, CodeType)]


def compiled(node, flags=0, name="<cell>"):
    return compile(ast.Module([node], []), name, "exec", flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def looked_up(node, flags=0) -> set[str]:
    """The names that a statement looks up in the notebook, with those in its functions: no name of a function's own."""
    try:
        found = {step.argval for code in codes(node, flags) for step in dis.get_instructions(code)
                 if step.opname.startswith("LOAD_") and ("GLOBAL" in step.opname or "NAME" in step.opname)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        found = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
    if found & NAMED:
        texts = (x.value for x in ast.walk(node) if isinstance(x, ast.Constant) and isinstance(x.value, str))
        found = found.union(*(re.findall(r"[^\W\d]\w*", text) for text in texts))
    return found
