// The model on the front page: a decoder of two blocks that sorts digits, run here with each key that a reader presses.
// Weights: sorter.js, written by tools/make_front.py. Numbers in parentheses are equations of the book. A matrix is an
// array of rows. tests/test_front.py compares all of this with the NumPy library.
(() => {
  const BAR = 10, EOS = 11, MOST = 8, BLOCK = 1;  // tokens after the digits; the longest question; the block shown

  // Weights: one byte each, times the scale of its array. Names and shapes are those of the library's tree.
  const unpack = (moment, shapes) => {
    const bytes = Uint8Array.from(atob(moment.weights), (c) => c.charCodeAt(0));
    const params = {};
    let start = 0;
    Object.entries(shapes).forEach(([name, [n, m]], k) => {
      const row = (i) => Array.from({length: m ?? n}, (_, j) => {
        const byte = bytes[start + i * (m ?? 0) + j];
        return (byte > 127 ? byte - 256 : byte) * moment.scales[k];
      });
      params[name] = m === undefined ? row(0) : Array.from({length: n}, (_, i) => row(i));
      start += n * (m ?? 1);
    });
    return params;
  };

  const sum = (x) => x.reduce((a, b) => a + b, 0);
  const dot = (x, y) => sum(x.map((a, k) => a * y[k]));
  const add = (X, Y) => X.map((x, i) => x.map((a, j) => a + Y[i][j]));

  // Y = X W + b, with b added to each row                                                  (0.1)
  const linear = (X, W, b) => X.map((x) => b.map((beta, j) => beta + sum(x.map((a, k) => a * W[k][j]))));

  // X̂ = (x − mean x) / √(var x + ε), then γ ∘ X̂ + β                                       (6.3), (6.4)
  const norm = (X, gamma, beta, eps) => X.map((x) => {
    const centred = x.map((a) => a - sum(x) / x.length);
    const s = Math.sqrt(dot(centred, centred) / x.length + eps);
    return centred.map((a, j) => gamma[j] * a / s + beta[j]);
  });

  // a_j = e^(s_j − max s) / Σ e^(s_j − max s)                                              (4.6)
  const softmax = (s) => {
    const top = Math.max(...s), e = s.map((a) => Math.exp(a - top)), total = sum(e);
    return e.map((a) => a / total);
  };

  // Tokens in, logits and the weights of each block's one head out.
  const forward = (ids, P, {layers, d, eps}) => {
    let X = ids.map((k, i) => P["embedding.tokens.E"][k].map(                            // (10.10)
      (a, j) => a + P["embedding.positions.table"][i][j]));
    const maps = [];
    for (let block = 0; block < layers; block++) {
      const p = (name) => P[`blocks.${block}.${name}`];
      let Y = norm(X, p("norm_1.gamma"), p("norm_1.beta"), eps);
      const [Q, K, V] = ["q", "k", "v"].map((x) => linear(Y, p(`attention.W_${x}`), p(`attention.b_${x}`)));  // (4.3)
      const A = Q.map((q, i) => softmax(K.map((k, j) => j > i ? -Infinity : dot(q, k) / Math.sqrt(d))));  // (4.5), (4.6)
      const O = A.map((a) => V[0].map((_, j) => sum(a.map((w, i) => w * V[i][j]))));       // (4.7)
      X = add(X, linear(O, p("attention.W_o"), p("attention.b_o")));                       // (5.4), (9.25)
      Y = norm(X, p("norm_2.gamma"), p("norm_2.beta"), eps);
      const U = linear(Y, p("ff.W_1"), p("ff.b_1")).map((u) => u.map((a) => Math.max(a, 0)));  // (9.8), (9.2)
      X = add(X, linear(U, p("ff.W_2"), p("ff.b_2")));                                     // (9.10), (9.26)
      maps.push(A);
    }
    X = norm(X, P["norm.gamma"], P["norm.beta"], eps);                                     // (10.8)
    return {logits: X.map((x) => P["embedding.tokens.E"].map((e) => dot(x, e))), maps};    // (2.8)
  };

  // One token at a time, the likeliest; each is read again with the next.
  const look = (digits, P, config) => {
    const ids = [...digits, BAR], said = [], looked = [];
    for (;;) {
      const {logits, maps} = forward(ids, P, config), last = logits.at(-1);
      const token = last.indexOf(Math.max(...last));
      if (token === EOS || said.length === MOST) return {said, stopped: token === EOS, looked};
      looked.push(maps[BLOCK].at(-1).slice(0, digits.length));
      said.push(token);
      ids.push(token);
    }
  };

  // What is shown, letter by letter as course_front.py writes it for a page without a script.
  const name = (token) => token === BAR ? "|" : `${token}`;
  const sorted = (digits) => [...digits].sort((a, b) => a - b);
  const table = (digits, {said, looked}) => {
    const right = sorted(digits);
    const rows = said.map((token, i) => {
      const cells = looked[i].map((w) =>
        `<td style="--w:${w.toFixed(2)}">${w >= .05 ? w.toFixed(2).replace(/^0/, "") : ""}</td>`).join("");
      return `<tr style="--i:${i}">${cells}<th scope="row"${right[i] === token ? "" : ' class="wrong"'}>${name(token)}</th></tr>`;
    });
    const head = digits.map((k) => `<th scope="col">${k}</th>`).join("");
    return `<thead><tr>${head}<th scope="col">says</th></tr></thead><tbody>${rows.join("")}</tbody>`;
  };
  const verdict = (digits, {said, stopped}) => {
    if (stopped && said.join() === sorted(digits).join()) return `Sorted, and it stopped: ${said.join(" ")}`;
    return said.length ? `Wrong: it says ${said.map(name).join(" ")}${stopped ? "" : " …"}` : "Wrong: it says nothing";
  };

  const start = () => {
    const {config, shapes, moments} = window.byhandSorter, root = document.getElementById("sorter");
    const model = {layers: config.layers, d: config.d, eps: 1e-5};
    const params = moments.map((moment) => unpack(moment, shapes));
    window.byhandSorter.run = (k, ids) => forward(ids, params[k], model);  // for the tests
    if (!root) return;
    const at = (id) => document.getElementById(`sorter-${id}`), field = at("digits");
    const map = root.querySelector("table"), caption = map.caption;
    const draw = () => {
      const digits = [...field.value.replace(/\D/g, "")].slice(0, MOST).map(Number);
      const k = +root.querySelector("[name=sorter-moment]:checked").value;
      const found = look(digits, params[k], model);
      map.innerHTML = digits.length ? table(digits, found) : "";
      map.prepend(caption);
      at("verdict").textContent = digits.length ? verdict(digits, found) : "Type some digits";
      at("right").textContent = `steps: ${(100 * moments[k].right).toFixed(1)}% right`;
      root.classList.add("moves");
    };
    field.addEventListener("input", () => {
      const clean = field.value.replace(/\D/g, "").slice(0, MOST);
      if (clean !== field.value) field.value = clean;
      draw();
    });
    at("other").addEventListener("click", () => {
      field.value = Array.from({length: MOST - Math.floor(3 * Math.random())}, () => Math.floor(10 * Math.random())).join("");
      draw();
    });
    root.querySelectorAll("[name=sorter-moment]").forEach((radio) => radio.addEventListener("change", draw));
  };
  start();
})();
