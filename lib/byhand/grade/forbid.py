"""Names that an answer may not use: "NumPy only" means that torch.softmax is not an answer.

Both sides read them by one rule, from compiled code: the notebook's check has the function, and a grader that has only
the file compiles its source. A name that a function keeps for itself, an argument or a local variable, is none of them.

Beside `getattr` and its like a text is a name too: `getattr(np, "di" + "ag")` uses diag, for Python puts the pieces
together when it compiles. One that is made only when it runs is not found: who uses a way in, or looks at callers, is
named to the instructor. Functions that raise, in the place of the forbidden ones, would be worth less: an answer can
find the old ones again, types and methods of C cannot be replaced, and libraries call what they bring.
"""

import __future__

import ast
import dis
import re
import types
import warnings

from .model import NUMPY_ONLY, TORCH_ONLY

INTO = frozenset("getattr vars __dict__ __getattribute__ __getattr__ attrgetter methodcaller import_module __import__ "
                 "getattr_static getmembers resolve_name globals locals __globals__ f_globals "
                 "__builtins__ __subclasses__ find_class".split())  # by them a name is found that stands in a text
FRAMES = frozenset("_getframe _current_frames currentframe getouterframes f_back f_locals tb_frame gi_frame cr_frame "
                   "ag_frame walk_stack extract_stack inspect settrace setprofile get_objects "
                   "get_referrers get_referents".split())  # by them what others hold is found
MADE = "a text that is made when it runs"  # in the place of a name: eval and exec of one
LATER = __future__.annotations.compiler_flag  # annotations are texts: no function uses what stands in its own


def names_in(source):
    """Every identifier that a source text, or a statement, uses: names, attributes and imported modules."""
    node = ast.parse(source) if isinstance(source, str) else source
    if (code := _compiled(node)) is None:
        return {x.id for x in ast.walk(node) if isinstance(x, ast.Name)} | {
            x.attr for x in ast.walk(node) if isinstance(x, ast.Attribute)}
    return {part for inner in inside(code) for name in inner.co_names for part in name.split(".")}


def _compiled(node):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = node if isinstance(node, ast.Module) else ast.Module([node], [])
            return compile(tree, "<cell>", "exec", LATER | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # deeper than Python goes
        return None


def spelt(found, nodes):
    """The names that stand in texts of these statements, if one of the names found is a way to use them."""
    codes = [code for node in nodes if found & INTO and (code := _compiled(node))]
    return {part for code in codes for inner in inside(code) for part in _named(inner.co_consts)}


def _named(value):
    """The parts of a text that is a name or several with dots, and of all such texts in a tuple or a set."""
    if isinstance(value, str):
        return value.split(".") if re.fullmatch(r"\w+(\.\w+)*", value) else []
    return [part for x in value for part in _named(x)] if isinstance(value, (tuple, frozenset)) else []


def inside(code):
    """A code, and those of the functions in it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from inside(const)


def looked_up(code):
    """The names that a code looks up in its module; an attribute of the same name is none of them."""
    return {step.argval for step in dis.get_instructions(code)
            if step.opname.startswith("LOAD_") and ("GLOBAL" in step.opname or "NAME" in step.opname)}


def names_of(answer):
    """The identifiers that a function uses, with its helpers, read from its code; also where each comes from."""
    found, seen, texts = set(), set(), set()
    waiting = [(answer.__code__, answer.__globals__)] if isinstance(answer, types.FunctionType) else []
    while waiting:
        code, scope = waiting.pop()
        if code in seen:
            continue
        seen.add(code)
        waiting += [(const, scope) for const in code.co_consts if isinstance(const, types.CodeType)]
        found.update(part for name in code.co_names for part in name.split("."))
        texts.update(_named(code.co_consts))
        for name in looked_up(code):
            value = scope.get(name)
            texts.update(() if name == "__name__" else _named(value))  # a class asks for its module's
            if isinstance(value, types.ModuleType):
                found.add(value.__name__.split(".")[0])
            elif isinstance(value, types.FunctionType) and value.__globals__ is scope:
                waiting.append((value.__code__, scope))
            elif isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
                found.add((value.__module__ or "").split(".")[0])
    return found | texts if found & INTO else found


def forbidden(found, question):
    return tuple(name for name in question.forbid if name in found)


def odd(found, question):
    """Names by which an answer may get round what the question does not allow, or see what others hold: somebody should
    read it. Packages alone are no such names, for they are not in its sandbox."""
    named = set(question.forbid) - {*NUMPY_ONLY, *TORCH_ONLY}
    return tuple(sorted(found & (FRAMES | INTO | {MADE} if named else FRAMES)))
