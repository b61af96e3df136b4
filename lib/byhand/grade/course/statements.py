"""Which statements at the top level of a notebook an answer needs.

The grader reads by it what an answer uses; the child in the sandbox runs by it what an answer needs. Nothing is run
here, and only Python's own library is used.
"""

import __future__

import ast
import functools

from .names import DEFINED, FUNCTIONS, IMPORTS, READ, imported, looked_up, made, root, run_at_once, written

PLAIN = (*IMPORTS, *DEFINED, ast.Assign, ast.AnnAssign, ast.AugAssign)
ALTER = {"setattr", "delattr", "next", "shuffle", "fill_diagonal", "copyto", "put", "place", "putmask", "heappush",
         "heappop", "heapify", "insort", "update_wrapper", "setitem"}  # what they are given is another thing after it

MOST_CALLS = 50  # of functions that hand on what they are given: what is behind them may change it


class Statement:
    """One at the top level: where it stands, and the names that it makes, writes into and mentions."""

    def __init__(self, cell, node, flags):
        self.cell, self.node, self.flags = cell, node, flags
        self.makes, self.writes, self.loads, self.calls, self.modules = set(), set(), set(), [], {}
        if isinstance(node, ast.AnnAssign) and node.value is None:
            return
        for x, own in run_at_once(node):
            if own:
                self.makes.update(made(x))
                self.modules |= imported(x)
            if isinstance(x, ast.Name) and not isinstance(x.ctx, ast.Store):
                self.loads.add(x.id)
            if isinstance(x, ast.Call):
                self.calls.append(x)
            if name := written(x):
                self.writes.add(name)

    @functools.cached_property
    def uses(self):
        return looked_up(self.node, self.flags)

    @functools.cached_property
    def stores(self):
        """What it writes into by an assignment, and not by a method."""
        return {name for x, _ in run_at_once(self.node) if not isinstance(x, ast.Call) and (name := written(x))}


def leaves(node):
    """The statements inside of loops, conditions and the like, with what binds their names as an assignment."""
    bound = []
    match node:
        case ast.For() | ast.AsyncFor():
            bound = [(node.target, node.iter)]
        case ast.With() | ast.AsyncWith():
            bound = [(item.optional_vars, item.context_expr) for item in node.items]
        case ast.If() | ast.While():
            bound = [(None, node.test)]
        case ast.Match():
            taken = [ast.Name(name, ast.Store()) for case in node.cases for x in ast.walk(case.pattern)
                     for name in made(x)]
            bound = [(None, node.subject), *((name, node.subject) for name in taken)]
        case ast.Try() | ast.TryStar():
            pass
        case _:
            yield node
            return
    for target, value in bound:
        one = ast.Expr(value) if target is None else ast.Assign([target], value)
        yield ast.fix_missing_locations(ast.copy_location(one, node))
    for part in ("body", "handlers", "cases", "orelse", "finalbody"):
        for x in getattr(node, part, ()):
            for y in [x] if isinstance(x, ast.stmt) else x.body:
                yield from leaves(y)


class Statements:
    """All of a notebook's cells, in order."""

    def __init__(self, cells):
        self.all, flags, self.modules = [], 0, {}
        for i, text in enumerate(cells):
            for node in ast.parse(text).body:
                if isinstance(node, ast.ImportFrom) and node.module == "__future__" and not node.level:
                    for alias in node.names:  # it holds for the cells behind it too
                        flags |= getattr(getattr(__future__, alias.name, None), "compiler_flag", 0)
                elif not isinstance(node, ast.Pass):
                    self.all.append(Statement(i, node, flags))
        self.makers = {}
        for s in self.all:
            for name in s.makes:
                self.makers.setdefault(name, []).append(s)
            self.modules |= s.modules
        self._effects, self._summaries, self._open = {}, {}, 0

    def needed(self, answer: str) -> list[Statement]:
        """Those that make what the answer is made of or looks up, or that change it: not those that only read it."""
        wanted, kept, self._effects = {answer}, set(), {(answer,): set()}
        while more := {s for s in self.all if s not in kept and self._is_needed(s, wanted)}:
            kept |= more
            wanted = wanted.union(*(s.uses for s in more))
        return [s for s in self.all if s in kept]

    def _is_needed(self, s, wanted):
        if "*" in s.modules or not wanted.isdisjoint(s.makes) or not wanted.isdisjoint(s.stores):
            return True
        if not s.calls and not isinstance(s.node, DEFINED):  # which a decorator, or a class above it, may keep
            return False
        if not wanted.isdisjoint(s.writes - self.modules.keys()) or self._is_setting(s, wanted):
            return True
        if not wanted.isdisjoint(name for call in s.calls for name in self.handed(call)):
            return True
        return not wanted.isdisjoint(set().union(*map(self.effects, s.loads)))

    def _is_setting(self, s, wanted):
        """Is it a call of a module that is wanted, with numbers and words alone?  np.random.seed(0) is one."""
        if not isinstance(s.node, ast.Expr | ast.If | ast.With | ast.Try) or not all(map(self._is_light, s.loads)):
            return False
        wanted = {self.modules[name] for name in wanted if name in self.modules}
        for call in s.calls:
            if (name := root(call.func)) in self.modules and (
                    self.modules[name] in wanted or "setrecursionlimit" == getattr(call.func, "attr", name)):
                return True
        return False

    def _is_light(self, name):
        """Is it of a module, or a number or a word that an assignment without a call has made?"""
        return name in self.modules or all(
            isinstance(s.node, ast.Assign) and not s.calls and not s.loads for s in self.makers.get(name, ()))

    def handed(self, call) -> set[str]:
        """The names whose things a call may change, as it is handed them."""
        given = [*call.args, *(k.value for k in call.keywords)]
        given = [y for x in given for y in (x.elts if isinstance(x, ast.List | ast.Tuple) else [x])]
        names = {name for x in given if (name := root(x))}
        by, last = root(call.func), getattr(call.func, "attr", getattr(call.func, "id", ""))
        if last in ALTER or last.endswith("_") and not last.endswith("__"):
            return names
        if by in self.modules or by not in self.makers:
            return {name for k in call.keywords if k.arg == "out" and (name := root(k.value))}
        if isinstance(call.func, ast.Name) and all(isinstance(s.node, FUNCTIONS) for s in self.makers[by]):
            return names if any(self._summary(s)[2] for s in self.makers[by]) else set()
        if last in READ:
            return set()
        return {x for x in names if not any(isinstance(s.node, (*DEFINED, *IMPORTS)) for s in self.makers.get(x, ()))}

    def effects(self, *names) -> set[str]:
        """The names of the notebook that calls of these ones make, or whose things they change."""
        found, seen, waiting = set(), set(), list(names)
        if names in self._effects:
            return self._effects[names]
        while waiting:
            if (here := waiting.pop()) in seen:
                continue
            seen.add(here)
            if (here,) in self._effects:
                found |= self._effects[here,]
                continue
            for s in self.makers.get(here, ()):
                if not isinstance(s.node, IMPORTS):
                    own, loads, _ = self._summary(s)
                    found |= own
                    waiting += loads
        self._effects[names] = found
        return found

    def _summary(self, s):
        """Of the functions in a statement: what they change of the notebook, what they mention of it, and the arguments
        that they change."""
        if s not in self._summaries:
            if self._open == MOST_CALLS:
                return set(), set(), {"whatever"}
            self._summaries[s] = set(), set(), set()  # one that calls itself
            self._open += 1
            self._summaries[s] = self._summed(s)
            self._open -= 1
        return self._summaries[s]

    def _summed(self, s):
        inside = [s.node] if isinstance(s.node, DEFINED) else [
            x for x in ast.walk(s.node) if isinstance(x, (*DEFINED, ast.Lambda))]
        nodes = [x for node in inside for x in ast.walk(node)]
        told = {name for x in nodes if isinstance(x, ast.Global) for name in x.names}
        given = {x.arg for x in nodes if isinstance(x, ast.arg)}
        mine = {name for x in nodes for name in made(x)} | given
        changed = {name for x in nodes if (name := written(x))}
        changed |= {name for x in nodes if isinstance(x, ast.Call) for name in self.handed(x)}
        loads = {x.id for x in nodes if isinstance(x, ast.Name)}
        loads |= s.loads if not isinstance(s.node, DEFINED) else set()
        own = (changed - self.modules.keys() | mine & told) - (mine - told)
        return own, loads - (mine - told), changed & given
