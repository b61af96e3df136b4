// A symbol of a numbered formula and its names in the lines of code with that number light up together: under the
// pointer, where one taps, and, all of a line, when the number in its comment has the focus. Two are a pair if they are
// written alike: 𝑄 and Q, 𝛾 and gamma, 𝑑ₖ and d_k, 𝑥̂ and x_hat, 𝑑𝑆 and dS. 𝑎ⱼ also goes with a, whose entry it is.
(() => {
  const GREEK = Object.fromEntries(("α alpha β beta γ gamma δ delta ε eps ϵ eps ζ zeta η eta θ theta κ kappa λ lam μ mu ν nu ξ xi "
    + "π pi ρ rho σ sigma τ tau φ phi ϕ phi χ chi ψ psi ω omega Δ Delta Θ Theta Λ Lambda Σ Sigma Φ Phi Ω Omega")
    .split(" ").map((x, i, all) => [x, all[i + 1]]).filter((_, i) => i % 2 === 0));
  const ACCENTS = {"^": "hat", "ˆ": "hat", "̂": "hat", "¯": "bar", "̄": "bar", "~": "tilde", "˜": "tilde", "̃": "tilde"};
  const SVG = "http://www.w3.org/2000/svg", SLACK = 3;  // pixels around a symbol that count as it
  const kind = (g) => g.getAttribute("data-mml-node");
  const inside = (g) => [...g.children].filter((c) => ["g", "svg"].includes(c.tagName) && !c.matches(".alike"));
  const said = (g) => [...g.querySelectorAll("[data-c]")]
    .map((e) => String.fromCodePoint(parseInt(e.getAttribute("data-c"), 16)).normalize("NFKC")).join("").trim();
  const core = (g) => {
    while (["TeXAtom", "mrow"].includes(kind(g)) && inside(g).length === 1) g = inside(g)[0];
    return g;
  };
  const SCRIPTS = ["msub", "msup", "msubsup"];
  const under = (g) => ["msub", "msubsup"].includes(kind(g)) ? inside(g).at(-1) : null;  // drawn last

  // What a symbol is called in code, its scripts aside; "" for what is no symbol.
  function called(g) {
    g = core(g);
    if (SCRIPTS.includes(kind(g))) return called(inside(g)[0]);
    if (kind(g) === "mover") {
      const [base, over] = inside(g), accent = over && ACCENTS[said(over)];
      return accent && called(base) ? `${called(base)}_${accent}` : "";
    }
    return kind(g) === "mi" ? GREEK[said(g)] ?? said(g) : "";
  }

  // The name of these that a symbol is written like; a row 𝑥 also goes with the X that holds all rows.
  function among(names, name) {
    const stacked = /^d?[xyz](_|$)/.test(name) ? name.replace(/[xyz]/, (c) => c.toUpperCase()) : "";
    return [name, stacked].find((x) => x && names.has(x)) ?? "";
  }

  // The parts of a drawing that are written like one of these names: [the part, its name].
  function pairs(g, names) {
    g = core(g);
    const type = kind(g), parts = inside(g), name = called(g), same = among(names, name);
    if (["mi", "mover"].includes(type) && name) return same ? [[g, same]] : [];
    if (SCRIPTS.includes(type)) {
      const below = under(g), whole = below && name ? `${name}_${said(below)}` : "";
      if (names.has(whole)) return [[g, whole]];
      return parts.filter((p) => !(p === below ? kind(core(p)) === "mi" : /^[T⊤]$/.test(said(p))))
        .flatMap((p) => pairs(p, names));  // the q of 𝑊_q is a label and not a symbol
    }
    const found = [];
    for (let k = 0; k < parts.length; k += 1) {
      const next = parts[k + 1] && core(parts[k + 1]);
      const sign = next && called(parts[k]) === "d" && kind(core(parts[k])) === "mi" && called(next);
      const label = sign && under(next) ? `d${sign}_${said(under(next))}` : "";
      const both = sign && (names.has(label) ? label : among(names, `d${sign}`));
      if (both) {  // dS is one name
        found.push([parts[k], both], [next, both]);
        k += 1;
      } else found.push(...pairs(parts[k], names));
    }
    return found;
  }

  const nameOf = (token) => token.textContent.replace(/^(["'])(.*)\1$/, "$2");
  const tokensOf = (line) => [...line.querySelectorAll(".n, .nf, .nb, .s1, .s2")]
    .filter((e) => !(e.textContent === "T" && e.previousSibling?.textContent?.endsWith(".")));
  const linesOf = (tags) => tags.flatMap((tag) => [...document.querySelectorAll(`.eq-line[data-eq~="${tag}"]`)]);
  const namesOf = (lines) => new Set(lines.flatMap(tokensOf).map(nameOf));
  const boxOf = (tag) => document.getElementById(`eq-${tag.replace(".", "-")}`)?.closest("div.math");
  const tagsOf = (box) => [...new Set([...box.querySelectorAll("[id^='mjx-eqn:'], .eq-number[data-eq]")]
    .map((e) => e.dataset.eq ?? e.id.slice(8)))];
  const drawings = (box) => [...box.querySelectorAll("svg")].filter((svg) => !svg.parentElement.closest("svg"))
    .flatMap(inside);
  const symbols = (box, names) => drawings(box).flatMap((g) => pairs(g, names))
    .filter(([g]) => g.getBoundingClientRect().height > 0);

  let lit = "";
  function dark() {
    lit = "";
    document.querySelectorAll(".alike").forEach((e) => (e.tagName === "g" ? e.remove() : e.classList.remove("alike")));
  }
  function behind(g) {  // two rectangles under a symbol, drawn in its own measure
    const {x, y, width, height} = g.getBBox(), group = document.createElementNS(SVG, "g");
    group.setAttribute("class", "alike");
    for (const [low, high] of [[y - 60, height + 120], [y - 130, 70]]) {
      const rect = document.createElementNS(SVG, "rect");
      for (const [key, value] of Object.entries({x: x - 40, y: low, width: width + 80, height: high})) rect.setAttribute(key, value);
      group.append(rect);
    }
    g.prepend(group);
  }
  function light(tags, only) {  // the pairs of these formulas and their lines; of one name, or of all
    const key = `${tags} ${only ?? ""}`;
    if (key === lit) return;
    dark();
    const lines = linesOf(tags), names = namesOf(lines), found = new Set();
    for (const box of new Set(tags.map(boxOf).filter(Boolean))) {
      for (const [g, name] of symbols(box, names)) {
        if (only !== undefined && name !== only) continue;
        behind(g);
        found.add(name);
      }
    }
    lines.flatMap(tokensOf).forEach((e) => found.has(nameOf(e)) && e.classList.add("alike"));
    lit = key;
  }

  function at(event) {
    const token = event.target.closest?.(".eq-line span"), line = token?.closest(".eq-line");
    if (line && tokensOf(line).includes(token)) return light(line.dataset.eq.split(" "), nameOf(token));
    const box = event.target.closest?.("div.math"), tags = box ? tagsOf(box) : [], lines = linesOf(tags);
    const {clientX: x, clientY: y} = event;
    const there = lines.length && symbols(box, namesOf(lines)).filter(([g]) => {
      const {left, right, top, bottom} = g.getBoundingClientRect();
      return x >= left - SLACK && x <= right + SLACK && y >= top - SLACK && y <= bottom + SLACK;
    }).at(-1);
    if (there) light(tags, there[1]);
    else if (lit && !document.activeElement.matches(".eq-line a.eq:focus-visible")) dark();
  }
  document.addEventListener("pointermove", (event) => event.pointerType === "mouse" && at(event));
  document.addEventListener("click", (event) => event.pointerType !== "mouse" && at(event));  // a tap moves nothing
  document.addEventListener("focusin", (event) => {
    const line = event.target.closest?.("a.eq")?.closest(".eq-line");
    if (line && event.target.matches(":focus-visible")) light(line.dataset.eq.split(" "));
  });
  document.addEventListener("focusout", dark);
})();
