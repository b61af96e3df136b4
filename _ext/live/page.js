// The cells of this page run in the reader's browser. Nothing is loaded before the first click; where the page cannot
// run anything, it stays as it was built, without a word.
(() => {
  const here = document.currentScript;
  const settings = JSON.parse(here.dataset.live);
  const base = new URL(".", here.src);
  const EXCEPTIONS = new Uint8Array([ // a module with `try_table`: CPython for WASI needs WebAssembly's newer exceptions
    0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 8, 1, 6, 0, 31, 64, 0, 11, 11]);
  const able = location.protocol.startsWith("http") && self.WebAssembly && self.Worker && self.DecompressionStream
    && WebAssembly.validate(EXCEPTIONS);
  if (!able) return;

  const WORK = `byhand:${settings.page}`, PROGRESS = "byhand:progress";
  const kept = (key) => { try { return JSON.parse(localStorage.getItem(key)) ?? {}; } catch { return {}; } };
  const keep = (key, value) => { try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* private window */ } };
  const make = (tag, attributes = {}, ...inside) => {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
    e.append(...inside);
    return e;
  };
  const button = (text, click, attributes = {}) => {
    const b = make("button", { type: "button", ...attributes }, text);
    b.addEventListener("click", click);
    return b;
  };

  // ---- the session: one worker, requests one after the other
  let worker, waiting, queue = Promise.resolve(), listener = () => {}, busy = false;

  function ended(reason) { // whoever waits is told; the next request begins a new session
    worker?.terminate();
    worker = undefined;
    waiting?.reject(new Error(reason));
    waiting = undefined;
  }

  function ask(message) {
    return new Promise((resolve, reject) => {
      waiting = { resolve, reject };
      worker.postMessage(message);
    });
  }

  async function session(say) {
    if (worker) return;
    worker = new Worker(new URL("worker.js", base), { type: "module" });
    worker.onerror = (event) => ended(event.message || "the worker could not be loaded");
    worker.onmessage = ({ data }) => {
      if ("broken" in data) ended(data.broken);
      else if ("loaded" in data) say(data.loaded < 1 ? `loading Python: ${Math.round(100 * data.loaded)} %` : "starting Python");
      else if ("plan" in data || "names" in data || "end" in data || "ready" in data) {
        const { resolve } = waiting;
        waiting = undefined;
        resolve(data);
      } else listener(data);
    };
    say("loading Python");
    await ask({ begin: {
      wasm: new URL(settings.wasm, base).href, files: new URL(settings.files, base).href, size: settings.size,
      progress: kept(PROGRESS),
    } });
  }

  // ---- the book, kept for when there is no network: asked for after the first Run, once a visit
  const offline = new URL("../../offline.js", base);
  const keptWords = make("span", { role: "status" });
  let keeping;
  const tellKept = () => { keptWords.textContent = " The book is kept in this browser: it opens without a network too."; };

  async function keepBook() { // a browser that keeps nothing (a private window, a host without https) is left in peace
    const kept = await navigator.serviceWorker.register(offline, { updateViaCache: "none" });
    const fresh = kept.installing ?? kept.waiting;
    if (fresh) {
      await new Promise((done, failed) => {
        const look = () => (fresh.state === "activated" ? done() : fresh.state === "redundant" && failed());
        fresh.addEventListener("statechange", look);
        look();
      });
    }
    tellKept();
  }

  const inTurn = (work) => (queue = queue.then(work, work));

  // ---- how far a loop is, and its loss
  const draw = (tag, attributes, ...inside) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
    e.append(...inside);
    return e;
  };
  const short = (value) => String(Number(value.toPrecision(3)));

  function ticks(low, high) { // about four round numbers from low to high
    const rough = (high - low) / 4, ten = 10 ** Math.floor(Math.log10(rough));
    const step = ten * [1, 2, 5, 10].find((f) => f * ten >= rough);
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) found.push(k * step);
    return found;
  }

  function curve(losses, total, label) { // the losses of the steps so far, each point the mean of a few
    const some = Math.ceil(losses.length / 200), points = [];
    for (let k = 0; k < losses.length; k += some) {
      const part = losses.slice(k, k + some).filter((loss) => loss !== null);
      if (part.length) points.push([k + (part.length + 1) / 2, part.reduce((a, b) => a + b) / part.length]);
    }
    if (points.length < 2) return null;
    const values = points.map((point) => point[1]);
    const low = Math.min(0, ...values), high = Math.max(...values, low + 1e-9);
    const x = (step) => 46 + (304 * step) / total, y = (value) => 138 - (128 * (value - low)) / (high - low);
    const drawing = draw("svg", { viewBox: "0 0 366 176", role: "img", class: "live-curve",
      "aria-label": `${label}: loss ${short(values[0])} at first, ${short(values.at(-1))} after ${losses.length} of ${total} steps` });
    for (const value of ticks(low, high)) {
      drawing.append(draw("line", { x1: 46, x2: 350, y1: y(value), y2: y(value), class: "live-grid" }),
        draw("text", { x: 40, y: y(value) + 4, "text-anchor": "end" }, short(value)));
    }
    for (const step of ticks(0, total)) {
      drawing.append(draw("text", { x: x(step), y: 154, "text-anchor": "middle" }, short(step)));
    }
    drawing.append(draw("text", { x: 198, y: 171, "text-anchor": "middle" }, "step"),
      draw("text", { x: 12, y: 74, "text-anchor": "middle", transform: "rotate(-90 12 74)" }, "loss"),
      draw("polyline", { points: points.map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(" ") }));
    return drawing;
  }

  const inWords = (seconds) => (seconds < 100 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`);

  class Loop { // a bar, and a curve below it where the loop has a loss
    constructor(name) {
      this.name = name;
      this.losses = [];
      this.bar = make("progress", { "aria-label": `Steps of a loop of ${name}` });
      this.words = make("span", { class: "live-steps" });
      this.box = make("div", { class: "live-loop" }, make("div", {}, this.bar, this.words));
    }

    told({ done, of, seconds, losses }) {
      Object.assign(this, { done, of, seconds });
      this.losses.push(...losses);
      this.bar.max = of;
      this.bar.value = done;
      const left = done ? `, about ${inWords((seconds * (of - done)) / done)} left` : "";
      this.words.textContent = `${done} of ${of}${done < of ? left : `, in ${inWords(seconds)}`}`;
      const drawn = this.losses.length ? curve(this.losses, of, `Loss in ${this.name}`) : null;
      if (drawn) {
        this.box.querySelector("svg")?.remove();
        this.box.append(drawn);
      }
    }

    left() { // the cell is at its end, but the loop is not
      if (this.done < this.of) this.words.textContent = `left after ${this.done} of ${this.of}`;
    }
  }

  // ---- the cells
  const cells = [];

  class Cell {
    constructor(box) {
      this.box = box;
      this.id = box.dataset.live;
      this.listing = box.querySelector(".cell_input .highlight");
      this.original = this.listing.querySelector("pre").textContent.replace(/\n$/, "");
      this.able = !box.dataset.needs;
      this.text = this.original;
      this.shown = null; // what its last run here has shown
      if (!this.able) return;
      this.number = cells.filter((cell) => cell.able).length + 1;
      this.status = make("span", { class: "live-status", role: "status" });
      const takes = Number(box.dataset.takes ?? 0);
      if (takes) this.say(`takes about ${inWords(takes)} here`);
      this.buttons = {
        run: button("Run", () => this.run(), { class: "live-run" }),
        above: button("Run all above", () => this.runAbove()),
        edit: button("Edit", () => this.edit(true)),
        reset: button("Reset", () => this.reset(), { hidden: "" }),
        stop: button("Stop", () => ended("stopped"), { hidden: "", class: "live-stop" }),
      };
      this.bar = make("div", { class: "live-bar", role: "group", "aria-label": `Code cell ${this.number}` },
        ...Object.values(this.buttons), this.status);
      this.result = make("div", { class: "live-result", role: "region", "aria-label": `Output of code cell ${this.number}` });
      this.result.hidden = true;
      const input = box.querySelector(".cell_input");
      input.after(this.bar);
      box.append(this.result);
    }

    say(text) { this.status.textContent = text; }

    async edit(focus) {
      if (this.editor) return focus && this.editor.focus();
      this.say("opening the editor");
      const { edit } = await import(new URL("editor.js", base));
      if (this.editor) return;
      this.say("");
      const place = make("div", { class: "live-editor" });
      this.listing.after(place);
      this.listing.hidden = true;
      this.buttons.edit.hidden = true;
      this.editor = edit(place, this.text, {
        label: `Code cell ${this.number}. Shift and Enter run it; Escape, then Tab, leaves it`,
        names: (path) => this.names(path),
        run: () => this.run(),
        changed: (text) => this.written(text),
      });
      this.buttons.reset.hidden = this.text === this.original;
      if (focus) this.editor.focus();
    }

    written(text) {
      this.text = text;
      this.buttons.reset.hidden = text === this.original;
      const work = kept(WORK);
      if (text === this.original) delete work[this.id];
      else work[this.id] = text;
      keep(WORK, work);
    }

    reset() { // the book's text and output again
      this.editor?.dispatch({ changes: { from: 0, to: this.editor.state.doc.length, insert: this.original } });
      this.written(this.original);
      this.showStored(true);
      (this.editor ? this.editor : this.buttons.run).focus();
    }

    showStored(stored) {
      for (const part of this.box.querySelectorAll(":scope > .cell_output, :scope > details.below-input")) part.hidden = !stored;
      this.result.hidden = stored;
    }

    async names(path) { // what the session knows, if it is at rest; else the words of the page
      if (worker && !busy) {
        try { return (await inTurn(() => ask({ names: path }))).names; } catch { return []; }
      }
      return path.includes(".") ? [] : [...new Set(cells.flatMap((cell) => cell.text.match(/[A-Za-z]\w+/g) ?? []))];
    }

    runAbove() {
      const above = cells.slice(0, cells.indexOf(this));
      return inTurn(() => this.together(above, []));
    }

    run() { return inTurn(() => this.together([this], null)); }

    async together(wanted, earlier) { // run the wanted cells, after those earlier ones that they need
      busy = true;
      document.documentElement.classList.add("live-busy");
      for (const cell of cells) if (cell.able) cell.buttons.run.disabled = cell.buttons.above.disabled = true;
      this.buttons.stop.hidden = false;
      try {
        await session((text) => this.say(text));
        if (navigator.serviceWorker) keeping ??= keepBook().catch(() => { keeping = undefined; }); // the next Run tries again
        if (!earlier) {
          const plan = cells.map((cell) => [cell.id, cell.text, cell.able]);
          earlier = (await ask({ plan, target: cells.indexOf(this) })).plan.map((k) => cells[k]);
        }
        const all = [...earlier, ...wanted];
        for (const [k, cell] of all.entries()) {
          this.say(all.length > 1 ? `running cell ${k + 1} of ${all.length}` : "running");
          if (!(await cell.once()) && cell.able && k < all.length - 1) {
            this.say("");
            const link = make("a", { href: "#" }, `cell ${cell.number}`);
            link.onclick = (event) => { event.preventDefault(); cell.box.scrollIntoView(); cell.bar.querySelector("button").focus(); };
            this.status.append("stopped before: ", link, ", which is needed first, ends with an error");
            return;
          }
        }
        const before = earlier.length === 1 ? "1 earlier cell" : `${earlier.length} earlier cells`;
        this.say(earlier.length ? `done, after ${before}` : "done");
      } catch (error) {
        this.say(error.message === "stopped"
          ? "stopped; the next Run begins a new session, and runs again what a cell needs"
          : `Python ended: ${error.message}. The next Run begins a new session`);
      } finally {
        busy = false;
        document.documentElement.classList.remove("live-busy");
        for (const cell of cells) if (cell.able) cell.buttons.run.disabled = cell.buttons.above.disabled = false;
        this.buttons.stop.hidden = true;
      }
    }

    async once() { // one run of this cell, or of its imports, if that is all that can run; true if it came to its end
      if (!this.able) return (await ask({ run: this.id, source: this.text, able: false })).end;
      const fresh = [], loops = new Map(), bars = make("div", { class: "live-loops" });
      let stream;
      const add = (part) => { fresh.push(part); this.result.append(part); };
      this.result.replaceChildren();
      this.showStored(false);
      listener = (data) => {
        if ("loop" in data) { // above what the cell prints, so that the text goes on as one
          if (!loops.size) this.result.prepend(bars);
          if (!loops.has(data.loop)) {
            loops.set(data.loop, new Loop(`code cell ${this.number}`));
            bars.append(loops.get(data.loop).box);
          }
          loops.get(data.loop).told(data);
          return;
        }
        if ("stream" in data) {
          if (!stream) add(stream = make("pre", { class: "live-text", tabindex: "0" }));
          stream.append(data.stream);
          return;
        }
        stream = undefined;
        if ("text" in data) add(make("pre", { class: "live-text", tabindex: "0" }, data.text));
        else if ("error" in data) add(make("pre", { class: "live-text live-error", tabindex: "0" }, data.error));
        else if ("png" in data) add(make("img", { srcset: `data:image/png;base64,${data.png} 2x`, alt: `Figure of code cell ${this.number}, drawn now` }));
        else if ("drawing" in data) { // as one of the book: it scrolls in a box, and has its colours for the dark
          const part = make("span", { class: "figure-box" });
          part.innerHTML = data.drawing;
          const drawing = part.firstChild;
          drawing.setAttribute("aria-label", `Figure of code cell ${this.number}, drawn now`);
          add(part);
        } else {
          const part = make("div", { class: "live-html text_html output" });
          part.innerHTML = data.html ?? data.svg;
          add(part);
          for (const old of part.querySelectorAll("script")) old.replaceWith(make("script", {}, old.textContent)); // or it would not run
        }
      };
      try {
        const { end, progress } = await ask({ run: this.id, source: this.text, able: true });
        if (progress) keep(PROGRESS, both(kept(PROGRESS), progress));
        return end;
      } finally {
        for (const loop of loops.values()) loop.left();
        if (!fresh.length && !loops.size) this.result.hidden = true;
      }
    }
  }

  function both(one, other) { // the better of two records of each exercise: points with their day, hints, tries
    const all = { ...one };
    for (const [id, [points, day, hints, tries]] of Object.entries(other)) {
      const [p = null, d = "", h = 0, t = 0] = all[id] ?? [];
      const better = points !== null && (p === null || points > p);
      all[id] = [better ? points : p, better ? day : d, Math.max(h, hints), Math.max(t, tries)];
    }
    return all;
  }

  // ---- a notebook to keep, and one to take back
  async function save() {
    const root = document.documentElement.dataset.content_root ?? "./";
    const answer = await fetch(new URL(`${root}_sources/book/${settings.page}.ipynb`, location.href));
    if (!answer.ok) throw new Error(`the notebook of this page is not in the site (status ${answer.status})`);
    const notebook = await answer.json();
    for (const cell of notebook.cells) {
      const mine = cells.find((c) => c.id === cell.id);
      if (!mine || mine.text === mine.original) continue;
      cell.source = mine.text;
      Object.assign(cell, { outputs: [], execution_count: null });
    }
    notebook.metadata.byhand = { progress: kept(PROGRESS) };
    const file = URL.createObjectURL(new Blob([JSON.stringify(notebook, null, 1)], { type: "application/x-ipynb+json" }));
    make("a", { href: file, download: `${settings.page.split("/").pop()}.ipynb` }).click();
    setTimeout(() => URL.revokeObjectURL(file), 10_000);
    return "saved as a notebook";
  }

  async function takeBack(file) {
    let notebook;
    try { notebook = JSON.parse(await file.text()); } catch { throw new Error(`${file.name} is not a notebook`); }
    if (!Array.isArray(notebook?.cells)) throw new Error(`${file.name} is not a notebook`);
    const texts = new Map(notebook.cells.map((cell) => [cell.id, [cell.source ?? ""].flat().join("")]));
    const met = cells.filter((cell) => cell.able && texts.has(cell.id));
    if (!met.length) throw new Error(`${file.name} has no cell of this page`);
    const progress = notebook.metadata?.byhand?.progress;
    const sound = Object.entries(progress ?? {}).filter(([, row]) => Array.isArray(row) && row.length === 4);
    keep(PROGRESS, both(kept(PROGRESS), Object.fromEntries(sound)));
    let count = 0;
    for (const cell of met) {
      if (texts.get(cell.id) === cell.text) continue;
      count += 1;
      cell.written(texts.get(cell.id));
      cell.editor?.dispatch({ changes: { from: 0, to: cell.editor.state.doc.length, insert: cell.text } });
      await cell.edit(false);
    }
    ended("stopped"); // the next run begins with these records
    return `${count} ${count === 1 ? "cell" : "cells"} taken back`;
  }

  function toolbar() {
    const status = make("span", { class: "live-status", role: "status" });
    const tell = (work) => work.then((text) => { status.textContent = text; }, (error) => { status.textContent = error.message; });
    const chosen = make("input", { type: "file", accept: ".ipynb,application/json", hidden: "", "aria-label": "A notebook that you saved here" });
    chosen.onchange = () => { if (chosen.files.length) tell(takeBack(chosen.files[0])); chosen.value = ""; };
    const megabytes = Math.round(settings.size / 1e6);
    const unable = cells.filter((cell) => !cell.able).length;
    const words = make("p", {}, `The code of this page runs here, in your browser: press Run below a cell, or Edit to change it. `
      + (unable ? `${cells.length - unable} of its ${cells.length} cells can; each of the others says what it needs. ` : "")
      + `The first Run loads Python (${megabytes} MB, once)${navigator.serviceWorker ? ", then the rest of the book" : ""}. What you write, and your points, stay in this browser.`, keptWords);
    if (navigator.serviceWorker?.controller?.scriptURL === offline.href) tellKept(); // an origin may have others
    const bar = make("div", { class: "live-bar" }, button("Save as a notebook", () => tell(save())),
      button("Take a notebook back", () => chosen.click()), chosen, status);
    return make("div", { class: "live-top", role: "region", "aria-label": "Run the code of this page" }, words, bar);
  }

  const start = () => {
    for (const box of document.querySelectorAll("[data-live].cell")) cells.push(new Cell(box));
    const able = cells.filter((cell) => cell.able);
    if (!able.length) return;
    // what is read first comes first, and hardly anything that is in sight moves down
    (able.find((cell) => !cell.box.matches(".tag_hide-input")) ?? able[0]).box.before(toolbar());
    const work = kept(WORK);
    for (const cell of cells) {
      if (!cell.able) cell.box.querySelector(".cell_input").after(make("p", { class: "live-needs" }, `needs ${cell.box.dataset.needs}`));
      else if (typeof work[cell.id] === "string" && work[cell.id] !== cell.original) {
        cell.text = work[cell.id];
        cell.edit(false);
      }
    }
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
