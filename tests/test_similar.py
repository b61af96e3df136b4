# ruff: noqa: E501
"""Copies are found under other names, orders and numbers; right answers that were written apart are not."""

import ast
import inspect
import random

import pytest
from byhand.grade import solutions
from byhand.grade.course import cli, similar
from byhand.grade.sets import SETS, questions_of
from hostile import HEAD, A, B, notebook


def functions(text):
    return {node.name: ast.get_source_segment(text, node) for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def reference(set_id):
    module = __import__(f"byhand.grade.reference.{SETS[set_id]}", fromlist=["x"])
    return functions(inspect.getsource(module))


def solution(set_id):
    found = {}
    for text in solutions.solutions_of(set_id).values():
        found |= functions(solutions.code_of(text))
    return found


class Disguise(ast.NodeTransformer):
    """Other names, other numbers, sides exchanged, independent lines in another order, words added."""

    def __init__(self, own, rng):
        self.names = {name: f"{rng.choice(['tmp', 'val', 'res', 'arr'])}{i}" for i, name in enumerate(sorted(own))}

    def visit_Name(self, node):
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node):
        return ast.arg(self.names[node.arg], ast.Name("object", ast.Load()))

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Add | ast.Mult):
            node.left, node.right = node.right, node.left
        return node

    def visit_Constant(self, node):
        return ast.Constant(node.value * 3 + 1) if type(node.value) in (int, float) else node


def disguised(source, rng):
    tree = ast.parse(source)
    own = {x.arg for x in ast.walk(tree) if isinstance(x, ast.arg)} | {x.id for x in ast.walk(tree) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    tree = ast.fix_missing_locations(Disguise(own, rng).visit(tree))
    body = tree.body[0].body
    for i in range(len(body) - 1):
        if isinstance(body[i], ast.Assign) and isinstance(body[i + 1], ast.Assign):
            body[i], body[i + 1] = body[i + 1], body[i]  # it need not run: it is read
    return ast.unparse(tree).replace(":\n", ':\n    """Mine."""\n', 1)


@pytest.mark.parametrize("set_id", SETS)
def test_right_answers_written_apart_are_not_alike_and_a_copy_is(set_id):
    """The reference and the worked solution of each set, and a copy of one of them in disguise."""
    rng = random.Random(int(set_id))
    mine = reference(set_id)
    names = list(mine)
    rng.shuffle(names)
    copy = {name: disguised(mine[name], rng) for name in names}
    found = similar.pairs({"ann": mine, "ben": copy, "zoe": solution(set_id)}, set_id)
    assert [(p.one, p.other) for p in found] == [("ann", "ben")]
    assert found[0].share > 0.8 and len(found[0].questions) > len(questions_of(set_id)) / 2


def test_one_long_answer_that_was_copied_is_found():
    copied = max(reference("04"), key=lambda n: len(similar.pieces(reference("04")[n])))
    both = {"ann": reference("04"), "zoe": solution("04") | {copied: disguised(reference("04")[copied], random.Random(1))}}
    found = similar.pairs(both, "04")
    assert copied in {q.name for q in questions_of("04")}
    assert [[n for n, _ in p.questions] for p in found] == [[copied]] and found[0].share < 0.5


def test_what_all_have_counts_for_nobody():
    """Ten with one answer that all found on the same page; two of them share a second one."""
    every, second = "sink_gradients", "cosine_gradients"
    right = reference("04")
    people = {f"s{i}": {every: right[every]} for i in range(10)}
    assert similar.pairs(people, "04") == []
    people["s3"] |= {second: right[second]}
    people["s7"] |= {second: disguised(right[second], random.Random(2))}
    assert [(p.one, p.other) for p in similar.pairs(people, "04")] == [("s3", "s7")]


def test_what_was_given_and_what_the_book_prints_is_nobodys():
    """Starters, faulty code of repairs, the library's own functions, and lines that are anybody's."""
    from byhand.grade.course.leaks import given

    starter = functions("\n".join(text for text in given("17", every=True) if parses(text)))
    assert len(starter) > 15 and similar.pairs({"ann": starter, "ben": starter}, "17") == []
    import byhand.np.attention as library

    book = {node.name: ast.get_source_segment(inspect.getsource(library), node) for node in ast.parse(inspect.getsource(library)).body if isinstance(node, ast.FunctionDef)}
    assert similar.pairs({"ann": book, "ben": book}, "04") == []
    short = {"attention": "def attention(Q, K, V, mask=None):\n    return Q @ K.mT"}
    assert similar.pairs({"ann": short, "ben": short}, "04") == []


SMALL = ["x << w", "x ^ w", "w >> x", "x.nbytes", "x.itemsize", "x.strides", "x.flat", "x.base", "w | x"]  # the book has none of them


@pytest.mark.parametrize("piece", [None, 1, 6])
def test_small_expressions_are_anybodys(piece, monkeypatch):
    """Two answers that put the same small things together in their own ways are not alike; with smaller pieces they would be."""
    if piece:
        monkeypatch.setattr(similar, "PIECE", piece)
        monkeypatch.setattr(similar, "pieces", similar.pieces.__wrapped__)
        monkeypatch.setattr(similar, "_commonplace", lambda set_id: frozenset())
    one, other = (f"def attention(x, w):\n    return {a}{', '.join(SMALL)}{b}" for a, b in ("[]", "{}"))
    found = similar.pairs({"ann": {"attention": one}, "ben": {"attention": other}}, "04", 0.3)
    assert bool(found) == bool(piece), found


def parses(text):
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize("source", ["", "def f(:\n", "x = " + "(" * 3000, "def f():\n    pass"])
def test_what_cannot_be_read_is_like_nothing(source):
    assert similar.pairs({"ann": {"f": source}, "ben": {"f": source}}, "04") == []


def test_the_command_says_that_it_is_a_hint(tmp_path, capsys):
    """Pairs in the terminal and side by side on a page, where nothing of a submission is markup."""
    mine = list(reference("04").values())
    (tmp_path / "in").mkdir()
    for name, cells in {"ann": mine, "ben": [disguised(x, random.Random(0)) for x in mine], "eve": [A, B, "s = '<script>'"]}.items():
        (tmp_path / "in" / f"{name}.ipynb").write_bytes(notebook(HEAD, *cells, f"def note{name}():\n    return '<script>'"))
    (tmp_path / "in" / "zoe.ipynb").write_bytes(b"{")
    line = ["--store", str(tmp_path / "grades")]
    assert cli.main([*line, "collect", "04", str(tmp_path / "in")]) == 0
    capsys.readouterr()
    assert cli.main([*line, "similar", "04"]) == 0
    said = capsys.readouterr().out
    assert "ann  ben" in said and "eve" not in said and "1 pairs of 4 submissions" in said and "no verdict" in said
    page = (tmp_path / "grades" / "04" / "similar.html").read_text()
    assert "ann and ben" in page and page.count("<pre>") >= 10 and "no verdict" in page and "<script" not in page
    assert "&gt;" in page or "&#x27;" in page
