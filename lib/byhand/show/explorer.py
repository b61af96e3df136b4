"""An interactive view of attention weights that needs no server: choose a query, see what it attends to."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from byhand.check import Index, checked
from byhand.show.widget import frame, markup, text

LARGEST = 10_000  # weights; beyond that a table is neither read nor cheap to store in a notebook

# Tokens are shaded with --bh-hot, at most 85 % of it: their text then keeps 7:1 in light and 5:1 in dark.
CSS = """
.bh-label,.bh-num,.bh-box summary{color:var(--bh-soft);font-size:13px}
.bh-label{margin-bottom:.3rem}
.bh-box button[aria-checked=true]{border-color:var(--bh-at);box-shadow:inset 0 0 0 1px var(--bh-at);
  background:color-mix(in srgb,var(--bh-at) 18%,var(--bh-bg))}
.bh-keys{display:flex;flex-wrap:wrap;gap:.6rem .3rem}
.bh-key{display:flex;flex-direction:column-reverse;align-items:center;min-width:3rem}
.bh-tok{--bh-hot:light-dark(#56b4e9,#0072b2);border-radius:.3rem;padding:.05rem .4rem;overflow-wrap:anywhere;
  background:color-mix(in srgb,var(--bh-hot) calc(var(--bh-w)*85%),var(--bh-bg))}
.bh-bar{display:flex;align-items:end;width:1.7rem;height:4rem;border-bottom:1px solid var(--bh-soft)}
.bh-bar i{width:100%;height:calc(var(--bh-w)*100%);background:var(--bh-bar);border-radius:2px 2px 0 0;
  forced-color-adjust:none}
.bh-maps{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.9rem}
.bh-map{max-width:13rem;font-size:13px}
.bh-map svg{display:block;width:100%;border:1px solid var(--bh-line);fill:var(--bh-bar)}
.bh-map .bh-mark{fill:none;stroke:var(--bh-at);stroke-width:2;vector-effect:non-scaling-stroke}
.bh-say{margin:.9rem 0 .2rem;min-height:2.9em}
.bh-box summary{cursor:pointer}
.bh-scroll{overflow-x:auto}
.bh-box table{border-collapse:collapse;font-size:13px;margin:.5rem 0;width:auto}
.bh-box caption{caption-side:top;text-align:left;color:inherit;font-weight:600}
.bh-box tr{background:none!important;border:0}
.bh-box th,.bh-box td{color:inherit;border:0;padding:.1rem .4rem;text-align:right;font-weight:400;white-space:nowrap}
@media(prefers-reduced-motion:no-preference){.bh-bar i{transition:height .15s}}
"""

# The tables are the data: the script reads them, so what is drawn and what is written cannot differ.
SCRIPT = """
const start = root => {
  const tables = [...root.querySelectorAll("table")], details = root.querySelector("details");
  const grids = tables.map(t => [...t.rows].map(r => [...r.cells].map(c => c.textContent.trim())));
  const A = grids.map(g => g.slice(1).map(r => r.slice(1).map(w => w[0] === "." ? "0" + w : w)));
  const keys = grids[0][0].slice(1), queries = grids[0].slice(1).map(r => r[0]);
  const heads = tables.map(t => t.caption.lastChild.textContent), H = heads.length;
  const what = tables[0].caption.firstChild.textContent.trim();
  const most = Math.max(...A.flat(2)) || 1;
  let q = +details.dataset.bhQuery, h = 0;

  const word = w => make("bdi", {}, w);
  const headPick = choices(what, H > 1 ? [...heads, "All"] : heads, i => { h = i; draw(q); });
  const queryPick = choices("Query", queries, i => { q = i; draw(q); });
  [...queryPick.children].forEach((b, i) => b.onpointerenter = e => e.pointerType === "mouse" && draw(i));
  queryPick.onpointerleave = () => draw(q);

  const items = keys.map(k => make("div", {class: "bh-key", role: "listitem"},
    make("span", {class: "bh-tok", dir: "auto"}, k), make("span", {class: "bh-num"}),
    make("span", {class: "bh-bar"}, make("i", {}))));
  const bars = make("div", {class: "bh-keys", role: "list"}, ...items);
  const maps = make("div", {class: "bh-maps"}, ...(H > 1 ? A : []).map((W, k) => {
    const map = make("div", {class: "bh-map"});
    const cells = W.flatMap((row, i) => row.map((w, j) =>
      `<rect x="${j}" y="${i}" width="1" height="1" fill-opacity="${w / most}"/>`));
    map.innerHTML = `<svg viewBox="0 0 ${keys.length} ${queries.length}" aria-hidden="true">${cells.join("")}` +
      `<rect class="bh-mark" width="${keys.length}" height="1"/></svg>`;
    map.append(what + " ", word(heads[k]), " · ", make("span", {class: "bh-num"}));
    return map;
  }));
  const note = make("div", {class: "bh-label"});
  const say = make("div", {class: "bh-say", role: "status", "aria-live": "polite"});

  const best = row => row.map((w, j) => [w, j]).filter(([w]) => w !== "0").sort((a, b) => b[0] - a[0]);
  const named = ([w, j]) => [word(keys[j]), " " + w];
  const draw = i => {
    headPick.mark(h);
    queryPick.mark(q);
    const all = bars.hidden = h === H;
    maps.hidden = !all;
    note.textContent = all ? "Attends to (a row is a query, a column a key)" : "Attends to";
    const said = (all ? A : [A[h]]).flatMap((W, k) => {
      const found = best(W[i]), top = n => found.length ? found.slice(0, n).map(named) : [["nothing"]];
      if (all) {
        maps.children[k].querySelector(".bh-mark").setAttribute("y", i);
        maps.children[k].lastChild.replaceChildren(...top(1)[0]);
        return [[...top(1)[0], ` in ${what.toLowerCase()} `, word(heads[k])]];
      }
      items.forEach((e, j) => {
        e.style.setProperty("--bh-w", W[i][j] / most);
        e.children[1].textContent = W[i][j];
      });
      return found.length > 4 ? [...top(4), [`and ${found.length - 4} more`]] : top(4);
    });
    say.replaceChildren(word(queries[i]), all ? " attends most to: " : " attends to: ",
      ...said.flatMap((part, k) => k ? [", ", ...part] : part));
  };
  const label = t => make("div", {class: "bh-label"}, t);
  if (H > 1) details.before(label(what), headPick);
  details.before(label("Query: hover, tap, or use the arrow keys"), queryPick, note, bars, maps, say);
  details.open = false;
  draw(q);
};
"""


class AttentionExplorer:
    """Show attention weights A, rows summing to one: n queries (the tokens) over m keys, for one head or several.

    In a notebook, end a cell with it. A reader picks a query by mouse, finger or keyboard and sees its weights as bars,
    shades, numbers and one sentence; with several heads, one at a time or all side by side.
    Without a script, the same weights stand in a table.
    """

    @checked
    def __init__(
        self,
        tokens: Sequence[str],
        A: Float[Array, "*H n m"],
        *,
        keys: Sequence[str] | None = None,
        title: str = "",
        heads: Sequence[str] | None = None,
        query: Index = 0,
        what: str = "Head",
    ):
        """`tokens` name the queries and, unless `keys` is given, the keys; `query` is the one shown first.

        `what` says what the `heads` are, where A holds something else than heads: "Mask", or "Layer".
        """
        where = type(self).__name__
        if A.ndim > 3:
            raise ValueError(f"{where}: A has shape {A.shape}, expected (n, m) or (H, n, m)")
        if not 0 < A.size <= LARGEST:
            raise ValueError(f"{where}: A has {A.size} weights, expected 1 to {LARGEST}: show a part of it")
        W = A if A.ndim == 3 else A[None]
        keys = tokens if keys is None else keys
        heads = [str(h + 1) for h in range(len(W))] if heads is None else heads
        _names(where, "tokens", tokens, W.shape[1], "queries")
        _names(where, "keys", keys, W.shape[2], "keys")
        _names(where, "heads", heads, W.shape[0], "heads")
        _weights(where, W)
        if not what.strip():
            raise ValueError(f"{where}: what is {what!r}, expected a word for what A holds, such as 'Head'")
        if query >= len(tokens):
            raise ValueError(f"{where}: query is {query}, expected less than {len(tokens)}, the number of tokens")
        self.tokens, self.keys, self.heads = tuple(tokens), tuple(keys), tuple(heads)
        self.title, self.query, self.what = title, int(query), what
        # An exact zero is a masked key and reads 0; a weight that merely rounds to zero reads .000.
        self.weights = [[["0" if w == 0 else f"{w:.3f}".removeprefix("0") for w in row] for row in head] for head in W]

    def __repr__(self) -> str:
        n, m, H = len(self.tokens), len(self.keys), len(self.heads)
        return f"AttentionExplorer({n} queries, {m} keys, {H} head{'s' * (H > 1)})"

    def _repr_html_(self) -> str:
        title = f'<div class="bh-title">{markup(self.title)}</div>\n' if self.title else ""
        tables = "\n".join(self._table(*pair) for pair in zip(self.heads, self.weights, strict=True))
        body = (f'{title}<details open data-bh-query="{self.query}"><summary>All weights as text: '
                  "a row is a query, a column a key</summary>\n"
                  f'<div class="bh-scroll" tabindex="0" role="region" aria-label="All weights">\n{tables}\n'
                  "</div></details>")
        return frame(self.title or "Attention weights", body, CSS, SCRIPT)

    def _table(self, head: str, weights: list[list[str]]) -> str:
        """HTML lets a cell end where the next begins; with hundreds of cells that halves the size."""
        top = "".join(f"<th>{text(key)}" for key in self.keys)
        rows = "\n".join(f"<tr><th>{text(token)}" + "".join(f"<td>{w}" for w in row)
                         for token, row in zip(self.tokens, weights, strict=True))
        return f"<table><caption>{text(self.what)} <bdi>{text(head)}</bdi></caption>\n<tr><td>{top}\n{rows}\n</table>"


def _names(where, name, names, size, what):
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"{where}: {name} is {type(names).__qualname__}, expected a list of strings")
    for at, one in enumerate(names):
        if not isinstance(one, str):
            raise TypeError(f"{where}: {name}[{at}] is {type(one).__qualname__}, expected str")
    if len(names) != size:
        raise ValueError(f"{where}: {name} has {len(names)} names but A has {size} {what}")


def _weights(where, W):
    if W.min() < 0:
        at = tuple(int(i) for i in np.argwhere(W < 0)[0])
        raise ValueError(f"{where}: A holds {W[at]:.3g} (head {at[0]}, row {at[1]}), expected weights of at least 0")
    sums = W.sum(-1)
    wrong = (np.abs(sums - 1) > 1e-3) & (sums != 0)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(f"{where}: A has a row that sums to {sums[at]:.3f} (head {at[0]}, row {at[1]}), "
                         "expected 1, or 0 where every key is masked")
