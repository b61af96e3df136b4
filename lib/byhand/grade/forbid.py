"""Names that an answer may not use: "NumPy only" means that torch.softmax is not an answer.

The notebook's check reads the compiled function; a grader that has only the file reads its source.
"""

import ast
import types


def names_in(source):
    """Every identifier of a source text, or of a tree: names, attributes and imported modules."""
    found = set()
    for node in ast.walk(ast.parse(source) if isinstance(source, str) else source):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found.add(name)
            case ast.Import(names=aliases):
                found.update(part for alias in aliases for part in alias.name.split("."))
            case ast.ImportFrom(module=module, names=aliases):
                found.update((module or "").split("."))
                found.update(alias.name for alias in aliases)
    return found


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
        for name in code.co_names:
            found.update(name.split("."))
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
