// A formula that is wider than its column is set anew in several lines: cut first at relations and wide spaces, then at
// commas, + and −, then within brackets; its number stands where it is always seen. MathJax's own drawing is cut into
// pieces, so what a screen reader hears and what is copied stays one formula. Nothing is done where a formula fits.
(() => {
  const UNITS = 442;             // of MathJax's drawing, in one ex
  const INDENT = 1000;           // of a line that goes on, in these units; an em
  const GAP = 700;               // between a line and the number at its end
  const SMALLEST = 0.8;          // what still does not fit is made smaller, down to this, and scrolls after that
  const SVG = "http://www.w3.org/2000/svg";
  const codes = (text) => new Set([...text].map((c) => c.codePointAt(0).toString(16).toUpperCase()));
  const CHAINS = codes("⟺⟹⟸⇒⇔⇐⟶⟼");                         // the price of a cut in front: 1
  const RELATIONS = codes("=≤≥≈≠≡∼≃≅∝<>≪≫→←↦∈∉⊂⊆:≺≻⩽⩾");   // 2
  const SUMS = codes("+−-±∓∪∪∧∨");                             // 6
  const PRODUCTS = codes("⋅×∘∗⊙⊗⊕/∖");                         // 12
  const STOPS = codes(",;");                                       // behind: 5
  const OPEN = codes("([{⌊⌈⟨"), CLOSE = codes(")]}⌋⌉⟩");
  const kind = (g) => g.getAttribute("data-mml-node");
  const inside = (g) => [...g.children].filter((c) => c.tagName === "g");

  // The character of an operator, also of one that carries a script or a sign above it
  const CARRIES = ["msub", "msup", "msubsup", "mover", "munder", "munderover"];
  const glyph = (g) => {
    while (CARRIES.includes(kind(g)) || (kind(g) === "TeXAtom" && inside(g).length === 1)) g = inside(g)[0];
    const uses = kind(g) === "mo" ? g.querySelectorAll("[data-c]") : [];
    return uses.length === 1 ? uses[0].getAttribute("data-c") : "";
  };
  const shift = (g) => {  // where MathJax has moved it to, in its parent
    let x = 0, y = 0;
    for (const [, a, b] of (g.getAttribute("transform") ?? "").matchAll(/translate\(\s*([-\d.e]+)[ ,]*([-\d.e]*)\s*\)/g)) {
      x += Number(a);
      y += Number(b || 0);
    }
    return [x, y];
  };

  // The pieces of a row that no cut goes through, from left to right.
  function pieces(g, x, y, depth, found, width) {
    for (const child of inside(g)) {
      const [dx, dy] = shift(child), type = kind(child), at = [x + dx, y + dy];
      const box = child.getBBox();
      const wide = box.width > 0.55 * width;
      const scaled = /scale|matrix/.test(child.getAttribute("transform") ?? "");
      if (!scaled && (["mstyle", "mtd", "mpadded"].includes(type) || (type === "TeXAtom" && wide)
          || (type === "mrow" && wide))) {
        const deeper = type === "mrow" && inside(child).length > 2 ? 1 : 0;
        pieces(child, ...at, depth + deeper, found, width);
      } else if (box.width > 0) {
        const c = glyph(child);
        if (CLOSE.has(c)) depth = Math.max(0, depth - 1);
        found.push({g: child, x: at[0], y: at[1], left: at[0] + box.x, right: at[0] + box.x + box.width,
                    top: at[1] + box.y + box.height, bottom: at[1] + box.y, type, c, depth});
        if (OPEN.has(c)) depth += 1;
      }
    }
    return found;
  }

  // The price of a cut in front of piece k; Infinity where there is none.
  function price(row, k) {
    const before = row[k - 1], here = row[k], deep = 7 * Math.min(here.depth, before.depth);
    const gap = here.left - before.right;
    const is = (set) => set.has(here.c), after = (set) => set.has(before.c);
    if (after(OPEN) || is(CLOSE) || is(STOPS)) return Infinity;
    if (gap > 850) return 1 + deep;                                // \quad and \qquad
    if (is(CHAINS)) return 1 + deep;
    if (after(RELATIONS) || after(CHAINS)) return 40 + deep;
    if (is(RELATIONS)) return 2 + deep;
    if (after(STOPS)) return 5 + deep;
    if (is(SUMS)) return (after(PRODUCTS) ? Infinity : 6) + deep;
    if (after(SUMS)) return Infinity;
    if (here.type === "mtext" || before.type === "mtext") return 4 + deep;
    if (is(PRODUCTS)) return 12 + deep;
    if (after(PRODUCTS)) return 60 + deep;
    return gap > 80 ? 25 + deep : 70 + deep;
  }

  // The cheapest lines of a row, none wider than `width` if that can be: lists of pieces, each with its indent, and the
  // price of the cut before it.
  function lines(row, width, leans) {
    const n = row.length, best = [{cost: 0, from: -1}], first = leans ? INDENT : 0;
    const level = (k) => leans && RELATIONS.has(row[k].c) ? 0 : row[k].depth ? 2 : 1;
    const indent = (k) => k === 0 ? first : first + level(k) * INDENT;
    for (let end = 1; end <= n; end += 1) {
      best[end] = {cost: Infinity, from: 0};
      for (let k = end - 1; k >= 0; k -= 1) {
        const size = indent(k) + row[end - 1].right - row[k].left;
        const over = Math.max(0, size - width);
        if (over && k < end - 1 && best[end].cost < Infinity && size > 4 * width) break;
        const cost = best[k].cost + (k ? 3 + price(row, k) : 0) + (over ? 1000 + over : 0);
        if (cost < best[end].cost) best[end] = {cost, from: k};
      }
    }
    const cuts = [];
    for (let end = n; end > 0; end = best[end].from) cuts.unshift([best[end].from, end]);
    return cuts.map(([from, to]) => (
      {pieces: row.slice(from, to), indent: indent(from), price: from ? price(row, from) : 0}));
  }

  const breadth = (line) => line.indent + line.pieces.at(-1).right - line.pieces[0].left;

  function draw(list, scale, className) {
    const left = Math.min(...list.map((p) => p.left)) - 30, right = Math.max(...list.map((p) => p.right)) + 30;
    const top = Math.max(...list.map((p) => p.top), 700) + 60, bottom = Math.min(...list.map((p) => p.bottom), -220) - 60;
    const svg = document.createElementNS(SVG, "svg"), flip = document.createElementNS(SVG, "g");
    svg.setAttribute("viewBox", `${left} ${-top} ${right - left} ${top - bottom}`);
    svg.setAttribute("width", `${scale * (right - left) / UNITS}ex`);
    svg.setAttribute("height", `${scale * (top - bottom) / UNITS}ex`);
    svg.setAttribute("class", className);
    svg.setAttribute("focusable", "false");
    svg.style.verticalAlign = `${scale * bottom / UNITS}ex`;
    for (const [name, value] of [["stroke", "currentColor"], ["fill", "currentColor"], ["stroke-width", "0"],
                                 ["transform", "matrix(1 0 0 -1 0 0)"]]) flip.setAttribute(name, value);
    for (const piece of list) {
      const copy = piece.g.cloneNode(true);
      copy.setAttribute("transform", (copy.getAttribute("transform") ?? "").replace(/translate\([^)]*\)/g, "")
        .replace(/^/, `translate(${piece.x},${piece.y}) `));
      flip.append(copy);
    }
    svg.append(flip);
    return svg;
  }

  // The rows of MathJax's drawing, each with its pieces and its number, if it has one.
  function rowsOf(math, width) {
    const only = inside(math).length === 1 && kind(inside(math)[0]) === "mtable" ? inside(math)[0] : null;
    if (!only) return [{pieces: pieces(math, 0, 0, 0, [], width)}];
    const numbers = [...only.querySelectorAll("g[data-labels] > g")];
    const body = only.querySelector("svg[data-table] > g") ?? only;
    const all = inside(body).filter((g) => ["mtr", "mlabeledtr"].includes(kind(g)));
    const found = [];
    for (const g of all) {
      const x = shift(g)[0], number = kind(g) === "mlabeledtr" ? numbers.shift() : undefined;
      const cells = inside(g).filter((c) => kind(c) === "mtd");
      let within = cells.length === 1 ? cells[0] : null, ax = x;  // one table alone in the row: its rows
      while (within && ["mtd", "mstyle", "TeXAtom", "mrow"].includes(kind(within)) && inside(within).length === 1) {
        ax += shift(within)[0];
        within = inside(within)[0];
      }
      if (within && kind(within) === "mtable" && inside(within).length > 1) {
        const tx = shift(within)[0];
        const inner = inside(within).filter((r) => kind(r) === "mtr");
        inner.forEach((r, k) => found.push({
          pieces: pieces(r, ax + tx + shift(r)[0], 0, 0, [], width), number: k === inner.length - 1 ? number : undefined,
          leans: inside(r).length > 1 && inside(r)[0].getBBox().width === 0}));
        continue;
      }
      found.push({pieces: pieces(g, x, 0, 0, [], width), number,
                  leans: cells.length > 1 && cells[0].getBBox().width === 0});
    }
    return found.filter((row) => row.pieces.length);
  }

  const UGLY = 20;  // a dearer cut is worth a smaller size

  // The lines of each row: at full size, or at the largest at which they fit without an ugly cut, or at which they fit.
  function layout(math, full) {
    let fits;
    for (const scale of [1, 0.95, 0.9, 0.85, SMALLEST]) {
      const width = full / scale, rows = rowsOf(math, width);
      const left = Math.min(...rows.flatMap((row) => row.pieces.map((p) => p.left)));
      const whole = Math.max(...rows.flatMap((row) => row.pieces.map((p) => p.right))) - left <= width;
      for (const row of rows) {
        row.lines = whole ? [{pieces: row.pieces, indent: row.pieces[0].left - left, price: 0}]
          : lines(row.pieces, width, row.leans);
      }
      const every = rows.flatMap((row) => row.lines), good = every.every((line) => breadth(line) <= width);
      if (good && every.every((line) => line.price < UGLY)) return {scale, rows};
      if (good) fits ??= {scale, rows};
      else if (scale === SMALLEST) fits ??= {scale, rows};
    }
    return fits;
  }

  function element(className, parent) {
    const span = document.createElement("span");
    span.className = className;
    parent.append(span);
    return span;
  }

  function numberOf(row, scale) {
    const parts = inside(row.number).map((g) => [g, g.getBBox(), shift(g)]);
    const svg = draw(parts.map(([g, box, [x]]) => ({g, x, y: 0, left: x + box.x, right: x + box.x + box.width,
                                                   top: box.y + box.height, bottom: box.y})), scale, "eq-number");
    svg.dataset.eq = row.number.id.replace("mjx-eqn:", "");
    return [svg, svg.viewBox.baseVal.width];
  }

  function reset(box) {
    const container = box.querySelector("mjx-container.eq-broken");
    container?.querySelector(":scope > .eq-lines")?.remove();
    container?.classList.remove("eq-broken");
  }

  // What has to be known of a formula that is too wide; null for another
  function need(box) {
    const container = box.querySelector("mjx-container"), drawing = container?.querySelector(":scope > svg");
    const inText = box.matches("span");
    if (!drawing || (!inText && box.scrollWidth <= box.clientWidth + 1)) return null;
    const column = inText ? box.closest("p, li, td, th, dd, dt, figcaption, summary, h1, h2, h3, div") : box;
    if (!column.clientWidth || (inText && container.getBoundingClientRect().width <= 0.5 * column.clientWidth)) return null;
    const size = getComputedStyle(column);
    const pixels = column.clientWidth - parseFloat(size.paddingLeft) - parseFloat(size.paddingRight);
    if (inText && container.getBoundingClientRect().width <= pixels) return null;
    const ex = drawing.getBoundingClientRect().height / parseFloat(drawing.getAttribute("height"));
    return {container, math: drawing.querySelector('g[data-mml-node="math"]'), inText, full: (pixels - 2) / ex * UNITS};
  }

  function set({container, math, inText, full}) {
    const {scale, rows} = layout(math, full);
    const shown = element("eq-lines", container);
    shown.setAttribute("aria-hidden", "true");
    for (const row of rows) {
      if (inText) {
        row.lines.forEach((line) => shown.append(draw(line.pieces, scale, "eq-part"), "\u200b"));
        continue;
      }
      const own = element("eq-row", shown);
      let last;
      for (const line of row.lines) {
        last = element("eq-line-of", own);
        last.append(draw(line.pieces, scale, "eq-part"));
        last.firstChild.style.marginLeft = `${scale * line.indent / UNITS}ex`;
      }
      if (!row.number) continue;
      const [number, wide] = numberOf(row, scale);
      if ((breadth(row.lines.at(-1)) + GAP + wide) * scale > full) last = element("eq-line-of eq-number-of", own);
      last.append(number);
      own.dataset.eq = number.dataset.eq;
    }
    container.classList.add("eq-broken");
  }

  function fit(...roots) {
    const boxes = (roots.length ? roots : [document]).flatMap((root) => [...root.querySelectorAll("div.math, span.math")]);
    boxes.filter((box) => box.querySelector(".eq-broken")).forEach(reset);
    boxes.map(need).filter(Boolean).forEach(set);  // first all are measured, then some are changed
    if (!roots.length) fit.width = innerWidth;     // for who waits until the formulas fit
    document.dispatchEvent(new Event("formulas-fit"));
  }

  let width = 0, timer = 0;
  function again() {
    if (innerWidth === width) return;
    width = innerWidth;
    fit();
  }
  document.addEventListener("DOMContentLoaded", () => {  // all that hear of it are there by now
    again();
    window.addEventListener("resize", () => {
      clearTimeout(timer);
      timer = setTimeout(again, 120);
    });
    for (const [event, paper] of [["beforeprint", true], ["afterprint", false]]) {  // a sheet is another window
      window.addEventListener(event, () => {
        document.documentElement.classList.toggle("on-paper", paper);
        fit();
      });
    }
    const opened = new Set();  // folds, which are looked at together
    document.addEventListener("toggle", ({target}) => {
      if (!target.open || !target.querySelector(".math")) return;
      if (!opened.size) requestAnimationFrame(() => {
        fit(...opened);
        opened.clear();
      });
      opened.add(target);
    }, true);
  });
  window.fitFormulas = fit;
})();
