"""Every row of the conversion table in book/notation_notes.md, proved on arrays whose sizes all differ.

A row has a claim, the right conversion and a tempting wrong one; the same assertion accepts the first and refuses the
second. The row side uses the library; the column side is written here as the notes W and K write it.
"""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest
from byhand.np.attention import attention_forward
from byhand.np.linear import linear_backward, linear_forward
from byhand.np.mask import causal_mask
from byhand.np.softmax import softmax_forward

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
NOTES = (ROOT / "book" / "notation_notes.md").read_text(encoding="utf-8")
N, M, D, D_K, D_V, HEADS = 5, 7, 11, 3, 4, 2

rng = np.random.default_rng(0)
X, W, B = rng.normal(size=(N, D)), rng.normal(size=(D, D_K)), rng.normal(size=D_K)
Q, K, V = rng.normal(size=(N, D_K)), rng.normal(size=(M, D_K)), rng.normal(size=(M, D_V))
Z = [rng.normal(size=(N, D_V)) for _ in range(HEADS)]
W_O = rng.normal(size=(HEADS * D_V, D))
W_V = [rng.normal(size=(D, D_V)) for _ in range(HEADS)]
A_SELF = [softmax_forward(rng.normal(size=(N, N)))[0] for _ in range(HEADS)]
GAMMA, BETA = rng.normal(size=D), rng.normal(size=D)
DQ = rng.normal(size=(N, D_K))


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def softmax(S, axis):
    E = np.exp(S - S.max(axis=axis, keepdims=True))
    return E / E.sum(axis=axis, keepdims=True)


def squeeze_into(A, shape):
    """The wrong conversion that every one of us has written: the right shape, the wrong numbers."""
    return A.reshape(shape)


def tokens(convert):
    X_c = convert(X)
    for i in range(N):
        same(X_c[:, i], X[i])


def projection(convert):
    Q_c = convert(W) @ X.T + B[:, None]
    same(Q_c, linear_forward(X, W, B)[0].T)


def scores(convert):
    S_c = convert(Q.T, K.T)
    same(S_c, (Q @ K.T).T)
    same(S_c[6, 2], K[6] @ Q[2])


def weights(convert):
    A_c = convert(K @ Q.T / np.sqrt(D_K))
    same(A_c.sum(axis=0), np.ones(N))
    same(A_c, attention_forward(Q, K, V)[1].A.T)


def output(convert):
    A_c = softmax(K @ Q.T / np.sqrt(D_K), axis=0)
    same(convert(V.T, A_c), attention_forward(Q, K, V)[0].T)


def causal(convert):
    Q, K, V = X[:, :D_K], X[:, D_K : 2 * D_K], X[:, -D_V:]  # self-attention: as many keys as queries
    S_c = np.where(convert(causal_mask(N)), K @ Q.T / np.sqrt(D_K), -np.inf)
    same(V.T @ softmax(S_c, axis=0), attention_forward(Q, K, V, causal_mask(N))[0].T)


def joining(convert):
    same(convert([z.T for z in Z]), np.concatenate(Z, axis=1).T)


def output_weights(convert):
    Z_r = np.concatenate(Z, axis=1)
    same(convert(W_O) @ Z_r.T, (Z_r @ W_O).T)


def heads_as_a_sum(convert):
    joined = np.concatenate([A @ X @ W_v for A, W_v in zip(A_SELF, W_V, strict=True)], axis=1) @ W_O
    total = sum(convert(h) @ W_V[h].T @ X.T @ A_SELF[h].T for h in range(HEADS))  # Σ U_h U_vh X_c A_h
    same(total, joined.T)


def layer_norm(convert):
    mean = sum(X[:, j] for j in range(D)) / D  # row form: the mean over the features of one token
    var = sum((X[:, j] - mean) ** 2 for j in range(D)) / D
    rows = (X - mean[:, None]) / np.sqrt(var + 1e-5)[:, None] * GAMMA + BETA
    axis = convert("features")
    X_c = X.T
    normal = (X_c - X_c.mean(axis=axis, keepdims=True)) / np.sqrt(X_c.var(axis=axis, keepdims=True) + 1e-5)
    same(GAMMA[:, None] * normal + BETA[:, None], rows.T)


def gradients(convert):
    dW = linear_backward(DQ, linear_forward(X, W)[1])[1]
    same(convert(DQ.T, X.T), dW.T)


CLAIMS = {  # row of the table: (claim, right conversion, wrong conversion)
    "C1": (tokens, lambda X: X.T, lambda X: squeeze_into(X, (D, N))),
    "C2": (projection, lambda W: W.T, lambda W: squeeze_into(W, (D_K, D))),
    "C3": (scores, lambda Q, K: K.T @ Q, lambda Q, K: squeeze_into(Q.T @ K, (M, N))),
    "C4": (weights, lambda S: softmax(S, axis=0), lambda S: softmax(S, axis=1)),
    "C5": (output, lambda V, A: V @ A, lambda V, A: V @ squeeze_into(A.T, (M, N))),
    "C6": (causal, lambda mask: mask.T, lambda mask: mask),
    "C7": (joining, lambda Z: np.concatenate(Z, axis=0), lambda Z: squeeze_into(np.stack(Z, axis=1), (HEADS * D_V, N))),
    "C8": (output_weights, lambda W: W.T, lambda W: squeeze_into(W, (D, HEADS * D_V))),
    "C9": (heads_as_a_sum, lambda h: W_O[h * D_V : (h + 1) * D_V].T, lambda h: W_O[h::HEADS].T),
    "C10": (layer_norm, lambda axis: 0, lambda axis: 1),
    "C11": (gradients, lambda dQ, X: dQ @ X.T, lambda dQ, X: squeeze_into(X @ dQ.T, (D_K, D))),
}


@pytest.mark.parametrize("row", CLAIMS)
def test_right_conversion_holds(row):
    claim, right, _ = CLAIMS[row]
    claim(right)


@pytest.mark.parametrize("row", CLAIMS)
def test_wrong_conversion_is_refused(row):
    claim, _, wrong = CLAIMS[row]
    with pytest.raises(AssertionError):
        claim(wrong)


def rows_of(page):
    return re.findall(r"^\| (C\d+) \|", page, flags=re.M)


def test_table_and_tests_are_one_to_one():
    assert rows_of(NOTES) == list(CLAIMS)
    assert rows_of(NOTES + "| C12 | a row without a test |\n") != list(CLAIMS)


def code_names(page):
    """Names in the "In code" columns."""
    names = set()
    for block in re.split(r"\n\n", page):
        rows = [line.strip("| ").split(" | ") for line in block.splitlines() if line.startswith("| ")]
        if rows and "In code" in rows[0]:
            column = rows[0].index("In code")
            names |= {name for row in rows[1:] for name in re.findall(r"`\*?([A-Za-z]\w*)[^`]*`", row[column])}
    return names


def names_in_library():
    """Arguments, variables, and the words of strings that are no docstrings: shapes ("*B n d_k") and tree keys."""
    names = set()
    for path in (ROOT / "lib" / "byhand").rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.Name | ast.FunctionDef):
                names.add(node.id if isinstance(node, ast.Name) else node.name)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                names |= set(re.findall(r"\w+", node.value))
    return names


def test_every_code_name_is_in_the_library():
    shown, there = code_names(PAGE), names_in_library()
    assert {"X", "d_k", "W_q", "b_q", "dY", "scale", "mask"} <= shown
    assert shown <= there
    assert code_names("| Symbol | In code |\n|---|---|\n| Q | `W_Queries` |\n") - there == {"W_Queries"}


def tables(page):
    """The symbols of each table, one list a table."""
    for block in page.split("\n\n"):
        rows = [line.strip("| ").split(" | ") for line in block.splitlines() if line.startswith("| ")]
        if rows and rows[0][0] == "Symbol":
            yield [symbol for row in rows[1:] for symbol in re.findall(r"\$[^$]+\$", row[0])]


def twice(symbols):
    return sorted({s for s in symbols if symbols.count(s) > 1})


def test_a_letter_means_one_thing_in_a_table():
    """A table for the whole course, and one for each written chapter."""
    assert [twice(symbols) for symbols in tables(PAGE)] == [[]] * len(list(tables(PAGE)))
    assert twice(["$X$", "$Y$", "$X$"]) == ["$X$"]
    chapters = sorted((ROOT / "book").glob("[0-9][0-9]_*.ipynb"))
    assert re.findall(r"<summary>(.*)</summary>", PAGE) == [title(path) for path in chapters]


def title(path):
    first = json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"]
    return "".join(first).splitlines()[0].removeprefix("# ")


def test_code_names_fit_a_narrow_column():
    """On a phone a column has room for some twenty letters; a name is never broken."""
    assert max(map(len, code_names(PAGE))) <= 20
    style = (ROOT / "_ext" / "static" / "course.css").read_text(encoding="utf-8")
    assert re.search(r"\.bd-article td code \{[^}]*overflow-wrap: normal", style)
