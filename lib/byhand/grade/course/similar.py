"""Which submissions are alike?  A hint for a person who then reads both, and never a verdict.

A submission becomes a set of pieces: its statements and larger expressions, without its own names, without numbers, and
in no order. What learners were given, and what the book prints, is left out; what many have written counts little.
"""

import ast
import builtins
import functools
import html
import math
from collections import Counter, defaultdict
from dataclasses import dataclass

from ..sets import questions_of
from .leaks import given
from .modules import HOME
from .trees import bare, size

PIECE = 7  # nodes: a smaller expression, such as `x + 1`, is everybody's
SHORT = 20  # nodes: a function of fewer says nothing about who wrote it
ALIKE = 0.5  # of what two have written, the same; two right answers by one author come to 0.28 at most, in any set
LONG, NEARLY = 15, 0.9  # or one answer of so many pieces, of which so many are the same
SHARED = frozenset({*dir(builtins), "np", "numpy", "torch", "math"})  # names that mean the same to all


@dataclass(frozen=True)
class Pair:
    one: str
    other: str
    share: float  # 0 to 1: of the pieces of both, weighted by how rare they are, those that are the same
    questions: tuple[tuple[str, float], ...]  # the functions behind it, by the share of each


def pairs(sources: dict[str, dict[str, str]], set_id: str, least: float = ALIKE) -> list[Pair]:
    """Pairs that are alike, the most alike first. `sources` has by student the functions by name."""
    known, names = _commonplace(set_id), {q.name for q in questions_of(set_id)}
    found = {student: {name: pieces(text) - known for name, text in functions.items()}
             for student, functions in sources.items()}
    whole = {student: frozenset().union(*parts.values()) for student, parts in found.items()}
    holders = defaultdict(list)
    for student in sorted(whole):
        for piece in whole[student]:
            holders[piece].append(student)
    most = len(whole) / 2 if len(whole) >= 4 else len(whole)  # what half of a class has, is not between two of them
    weight = {piece: math.log((len(whole) + 1) / len(who)) if len(who) <= most else 0.0
              for piece, who in holders.items()}
    together = Counter()
    for piece, who in holders.items():
        if weight[piece]:
            for i, one in enumerate(who):
                for other in who[i + 1:]:
                    together[one, other] += weight[piece]
    total = {student: sum(map(weight.get, parts)) for student, parts in whole.items()}
    listed = []  # few pairs have anything rare in common, so each of these is looked at closely
    for (one, other), shared in together.items():
        share = 2 * shared / (total[one] + total[other])
        common = found[one].keys() & found[other].keys() & names
        both = {name: (found[one][name], found[other][name]) for name in common}
        mine = {name: _share(a, b, weight) for name, (a, b) in both.items()}
        copied = [n for n in mine if mine[n] >= NEARLY and sum(weight[p] > 0 for p in both[n][0] & both[n][1]) >= LONG]
        if share >= least or copied:
            behind = sorted(((n, s) for n, s in mine.items() if s >= least), key=lambda x: (-x[1], x[0]))
            listed.append(Pair(one, other, share, tuple(behind)))
    return sorted(listed, key=lambda pair: (-pair.share, pair.one, pair.other))


def _share(a, b, weight) -> float:
    total = sum(map(weight.get, a)) + sum(map(weight.get, b))
    return 2 * sum(map(weight.get, a & b)) / total if total else 0.0


@functools.lru_cache(maxsize=1 << 16)
def pieces(text: str) -> frozenset[str]:
    """Statements and larger expressions of a function or of a whole source, each as a form of its own."""
    try:
        return frozenset(_pieces(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):  # no Python, or an expression deeper than anybody writes
        return frozenset()


def _pieces(tree) -> set[str]:
    found = set()
    for function in tree.body:
        if isinstance(function, ast.FunctionDef | ast.ClassDef) and size(function) >= SHORT:
            for node in ast.walk(bare(function)):
                if isinstance(node, ast.stmt | ast.expr) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
                    if sum(1 for _ in ast.walk(node)) >= PIECE and not hasattr(node, "body"):
                        found.add(_piece(node))
                    elif isinstance(node, ast.For | ast.While | ast.If | ast.With):
                        head = node.test if isinstance(node, ast.While | ast.If) else getattr(node, "iter", None)
                        found |= {f"{type(node).__name__} {_piece(head)}"} if head is not None else set()
    return found


def _piece(node) -> str:
    """The tree of a node: its own names alike, its numbers too, and the sides of + and * in one order."""
    match node:
        case ast.Name(id=name):
            return name if name in SHARED else "name"
        case ast.arg():
            return "name"
        case ast.Constant(value=value):
            return type(value).__name__ if isinstance(value, str | bool) or value is None else "number"
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return "number"
        case ast.BinOp(op=ast.Add() | ast.Mult()):
            return f"{type(node.op).__name__}({', '.join(sorted((_piece(node.left), _piece(node.right))))})"
    parts = []
    for _, value in ast.iter_fields(node):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST):
                parts += [] if isinstance(item, ast.expr_context) else [_piece(item)]
            elif item is not None:
                parts.append(str(item))
    return f"{type(node).__name__}({', '.join(parts)})"


@functools.cache
def _commonplace(set_id) -> frozenset[str]:
    """Pieces of what learners were given, and of what the book prints."""
    texts = [*given(set_id, every=True)]
    texts += [path.read_text(encoding="utf-8") for half in ("np", "pt") for path in (HOME / half).glob("*.py")]
    return frozenset().union(*map(pieces, texts))


def page(found: list[Pair], sources, set_id: str, title: str) -> str:
    """Both side by side, to be read by a person. One HTML file, without a script."""
    said = html.escape
    ids = {q.name: q.id for q in questions_of(set_id)}
    parts = []
    for pair in found:
        rows = "".join(
            f"<h3>{said(ids[name])} · {said(name)}, {share:.0%}</h3><div class=two>"
            f"<pre>{said(sources[pair.one][name])}</pre><pre>{said(sources[pair.other][name])}</pre></div>"
            for name, share in pair.questions)
        parts.append(f"<h2>{said(pair.one)} and {said(pair.other)}: {pair.share:.0%}</h2>\n{rows}")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{said(title)}: submissions that are alike</title>
<style>
:root {{ color-scheme: light dark; }} body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem; }}
.two {{ display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }}
pre {{ overflow-x: auto; border-left: 3px solid #8885; padding-left: 1rem; font: 13px/1.4 ui-monospace, monospace; }}
</style></head><body>
<h1>{said(title)}: submissions that are alike</h1>
<p>{said(HINT)}</p>
{chr(10).join(parts)}
</body></html>
"""


HINT = ("A hint, and no verdict. Names, numbers and the order of statements do not count; what learners were given, "
        "what the book prints and what many have written is left out. People who worked together, or found the same "
        "page, look like this as well. Read both, and talk to them.")
