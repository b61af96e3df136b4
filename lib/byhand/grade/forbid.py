"""Names that an answer may not use: "NumPy only" means that torch.softmax is not an answer.

Both sides read them by one rule, from compiled code: the notebook's check has the function, and a grader that has only
the file compiles its source. A name that a function keeps for itself, an argument or a local variable, is none of them.
"""

import __future__

import ast
import dis
import types
import warnings

LATER = __future__.annotations.compiler_flag  # annotations are texts: no function uses what stands in its own


def names_in(source):
    """Every identifier that a source text, or a statement, uses: names, attributes and imported modules."""
    node = ast.parse(source) if isinstance(source, str) else source
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = node if isinstance(node, ast.Module) else ast.Module([node], [])
            code = compile(tree, "<cell>", "exec", LATER | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # deeper than Python goes
        return {x.id for x in ast.walk(node) if isinstance(x, ast.Name)} | {
            x.attr for x in ast.walk(node) if isinstance(x, ast.Attribute)}
    return {part for inner in inside(code) for name in inner.co_names for part in name.split(".")}


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
    found, seen = set(), set()
    waiting = [(answer.__code__, answer.__globals__)] if isinstance(answer, types.FunctionType) else []
    while waiting:
        code, scope = waiting.pop()
        if code in seen:
            continue
        seen.add(code)
        waiting += [(const, scope) for const in code.co_consts if isinstance(const, types.CodeType)]
        found.update(part for name in code.co_names for part in name.split("."))
        for name in looked_up(code):
            value = scope.get(name)
            if isinstance(value, types.ModuleType):
                found.add(value.__name__.split(".")[0])
            elif isinstance(value, types.FunctionType) and value.__globals__ is scope:
                waiting.append((value.__code__, scope))
            elif isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
                found.add((value.__module__ or "").split(".")[0])
    return found


def forbidden(found, question):
    return tuple(name for name in question.forbid if name in found)
