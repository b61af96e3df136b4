"""Functions as syntax trees without their names: what is the same but for names has the same form."""

import ast
import pickle


def functions_in(text: str) -> list[ast.FunctionDef]:
    """Every function of a source text, those inside others and the methods of classes too."""
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def bare(function):
    """Its body without docstrings, annotations and `...`; a copy."""
    function = pickle.loads(pickle.dumps(function, pickle.HIGHEST_PROTOCOL))  # three times as fast as copy.deepcopy
    for node in ast.walk(function):
        match node:
            case ast.FunctionDef():
                node.returns, node.decorator_list = None, []
                node.body = [x for x in node.body if not _is_text(x)] or [ast.Pass()]
            case ast.arg():
                node.annotation = None
    return function


def _is_text(node) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def form(function) -> str:
    """The tree as text, its own names numbered in the order in which they come."""
    function = bare(function)
    own = {x.arg for x in ast.walk(function) if isinstance(x, ast.arg)}
    own |= {x.id for x in ast.walk(function) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    own |= {x.name for x in ast.walk(function) if isinstance(x, ast.FunctionDef)}
    numbers = {}

    def number(name):
        return f"v{numbers.setdefault(name, len(numbers))}" if name in own else name

    for node in ast.walk(function):
        match node:
            case ast.Name():
                node.id = number(node.id)
            case ast.arg():
                node.arg = number(node.arg)
            case ast.FunctionDef():
                node.name = number(node.name)
            case ast.keyword() if node.arg in own:
                node.arg = number(node.arg)
    return ast.dump(function)


def size(function) -> int:
    """How many nodes its tree has: how much somebody had to think of."""
    return sum(not isinstance(x, ast.expr_context | ast.Load) for x in ast.walk(bare(function)))
