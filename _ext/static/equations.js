// A number such as (4.21) is a link to its formula; this shows the formula in a card beside it, leads back from there,
// and lights up the lines of code with the formula that they compute, and the formula with them.
(() => {
  const here = document.currentScript.src.replace(/equations\.js.*$/, "");  // _static/
  const site = here.replace(/_static\/$/, "");
  const tagOf = (link) => link.hash.replace("#eq-", "").replace("-", ".");
  const idOf = (tag) => `eq-${tag.replace(".", "-")}`;
  const link = (event) => event.target.closest?.("a.eq");

  // What is fetched once, when it is first asked for: all formulas of the book, drawn, and the letters in them
  const wanted = {};
  const fetched = (name) => wanted[name] ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    Object.assign(script, {src: here + name, onload: done, onerror: failed});
    document.head.append(script);
  });
  async function formulaOf(tag) {
    await fetched("equations_data.js");
    return window.EQUATIONS[tag];
  }
  function letters(box) {  // those that no formula of the page has brought
    const SVG = "http://www.w3.org/2000/svg", missing = [...box.querySelectorAll("use")]
      .map((use) => use.getAttribute("xlink:href").slice(1)).filter((id) => !document.getElementById(id));
    if (!missing.length) return;
    const drawing = document.createElementNS(SVG, "svg");
    drawing.style.display = "none";
    for (const id of new Set(missing)) {
      const path = document.createElementNS(SVG, "path");
      path.id = id;
      path.setAttribute("d", window.EQUATIONS_LETTERS[id]);
      drawing.append(path);
    }
    document.body.append(drawing);
  }

  // The card
  let card, owner, timer;
  function close() {
    clearTimeout(timer);
    card?.remove();
    owner?.removeAttribute("aria-describedby");
    card = owner = undefined;
  }
  function place() {
    const at = owner.getClientRects()[0] ?? owner.getBoundingClientRect(), margin = 8;
    const left = Math.max(margin, Math.min(at.left - 12, innerWidth - card.offsetWidth - margin));
    const below = at.bottom + card.offsetHeight + margin < innerHeight || at.top < card.offsetHeight + margin;
    card.style.left = `${left + scrollX}px`;
    card.style.top = `${scrollY + (below ? at.bottom + 4 : at.top - card.offsetHeight - 4)}px`;
  }
  async function open(a) {
    if (owner === a) return clearTimeout(timer);
    close();
    owner = a;
    const tag = tagOf(a), [, title, tex, drawing] = await formulaOf(tag);
    if (owner !== a) return;
    card = document.createElement("div");
    card.className = "eq-card";
    card.id = "eq-card";
    card.setAttribute("role", "tooltip");
    const formula = document.createElement("div"), from = document.createElement("a");
    formula.className = "eq-formula";
    formula.innerHTML = drawing;
    letters(formula);
    formula.setAttribute("role", "img");
    formula.setAttribute("aria-label", tex);
    from.href = a.href;
    from.className = "eq-from";
    from.tabIndex = -1;         // the number itself leads there by key
    from.textContent = `(${tag}) in ${title}`;
    card.append(formula, from);
    document.body.append(card);
    a.setAttribute("aria-describedby", "eq-card");
    place();
  }
  const later = (f, wait) => {
    clearTimeout(timer);
    timer = setTimeout(f, wait);
  };
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const a = link(event);
    if (a) {
      light(tagOf(a));
      if (a === owner) clearTimeout(timer);
      else later(() => open(a), 120);
    } else if (event.target.closest?.(".eq-card")) clearTimeout(timer);
  });
  document.addEventListener("pointerout", (event) => {
    const left = link(event);
    if (left) dark();
    if (left || event.target.closest?.(".eq-card")) later(close, 250);
  });
  document.addEventListener("focusin", (event) => {
    const a = link(event);
    if (a?.matches(":focus-visible")) {
      light(tagOf(a));
      open(a);
    }
  });
  document.addEventListener("focusout", (event) => {
    if (link(event)) {
      dark();
      later(close, 100);
    }
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && close());

  // A tap shows the card, and a second one follows; so does the line below the formula
  let touched = false;
  document.addEventListener("pointerdown", (event) => {
    touched = event.pointerType === "touch";
    if (touched && !event.target.closest?.(".eq-card, a.eq")) close();
  });
  document.addEventListener("click", (event) => {
    const a = link(event) ?? event.target.closest?.("a.eq-from");
    if (!a || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (touched && a !== owner && a.matches("a.eq")) {
      event.preventDefault();
      open(a);
      return;
    }
    const from = (a.matches("a.eq") ? a : owner)?.closest("section")?.querySelector("h1, h2, h3");
    const place = from ? from.textContent.replace(/#\s*$/, "").trim() : "";
    try {
      sessionStorage.setItem("eq-back", JSON.stringify({to: a.href, place}));
    } catch { /* no storage, then no way back but the browser's own */ }
    const same = a.href.split("#")[0] === location.href.split("#")[0];
    close();
    if (same) setTimeout(arrive);
  });

  // At the formula: in sight, also when formulas above it have grown, and a way back to where one came from
  function arrive() {
    document.querySelectorAll(".eq-back").forEach((e) => e.remove());
    document.querySelectorAll(".eq-here").forEach((e) => e.classList.remove("eq-here"));
    const target = location.hash.startsWith("#eq-")
      && document.getElementById(location.hash.slice(1))?.closest("div.math");
    if (!target) return;
    for (let up = target.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    target.classList.add("eq-here");
    target.scrollIntoView({block: "center"});
    let back;
    try {
      back = JSON.parse(sessionStorage.getItem("eq-back"));
    } catch { /* as above */ }
    if (back?.to !== location.href || history.length < 2) return;
    const button = document.createElement("button");
    button.className = "eq-back";
    button.type = "button";
    button.textContent = `↩ back${back.place ? ` to ${back.place}` : ""}`;
    button.addEventListener("click", () => {
      button.remove();
      history.back();
    });
    target.after(button);
  }
  window.addEventListener("hashchange", arrive);
  window.addEventListener("load", () => {
    const [visit] = performance.getEntriesByType("navigation");
    if (visit?.type !== "back_forward") setTimeout(arrive);
  });

  // Light: the formula of a number, or its row where there are several, and the lines of code with a formula's number
  function dark() {
    document.querySelectorAll(".eq-lit").forEach((e) => e.classList.remove("eq-lit"));
  }
  function light(tag) {
    dark();
    const box = document.getElementById(idOf(tag))?.closest("div.math");
    if (!box) return;
    const numbers = [...box.querySelectorAll('[id^="mjx-eqn:"]')].map((g) => g.id.slice(8));
    if (numbers.length < 2) return box.classList.add("eq-lit");
    const rows = [...box.querySelectorAll("svg[data-table] > g > [data-mml-node]")];
    let k = 0;
    for (const row of rows) {
      if (numbers[k] === tag) row.classList.add("eq-lit");
      if (row.getAttribute("data-mml-node") === "mlabeledtr") k += 1;
    }
    box.querySelectorAll(`.eq-row[data-eq="${tag}"], [id="mjx-eqn:${tag}"]`).forEach((e) => e.classList.add("eq-lit"));
  }
  const numbersOf = (box) => [...box.querySelectorAll(".eq-number, svg:not(.eq-number) [id^='mjx-eqn:']")]
    .filter((e) => e.getBoundingClientRect().height > 0);
  const tagFor = (number) => number.dataset.eq ?? number.id.slice(8);
  const linesOf = (tag) => document.querySelectorAll(`.eq-line[data-eq~="${tag}"]`);
  const lightLines = (tag) => {
    dark();
    linesOf(tag).forEach((e) => e.classList.add("eq-lit"));
  };
  function nearest(box, y) {  // the number of a formula that is nearest in height
    const middle = (e) => Math.abs((e.getBoundingClientRect().top + e.getBoundingClientRect().bottom) / 2 - y);
    const numbers = numbersOf(box).sort((a, b) => middle(a) - middle(b));
    return numbers.length ? tagFor(numbers[0]) : null;
  }
  document.addEventListener("pointermove", (event) => {
    const box = event.target.closest?.("div.math");
    if (!box) return;
    const tag = nearest(box, event.clientY);
    if (tag) lightLines(tag);
    else dark();
  });
  document.addEventListener("pointerout", (event) => {
    const box = event.target.closest?.("div.math");
    if (box && !box.contains(event.relatedTarget)) dark();
  });

  // By key, too: over the number of a formula that code of this page computes lies a link to the first such line
  document.addEventListener("formulas-fit", () => {
    const coded = new Set([...document.querySelectorAll(".eq-line")].flatMap((e) => e.dataset.eq.split(" ")));
    const found = [...document.querySelectorAll("div.math")].flatMap((box) => numbersOf(box)
      .filter((number) => coded.has(tagFor(number))).map((number) => {
        const {left, top} = box.getBoundingClientRect(), at = number.getBoundingClientRect();
        return [box, tagFor(number), {left: at.left - left + box.scrollLeft, top: at.top - top + box.scrollTop,
                                      width: at.width, height: at.height}];
      }));
    for (const [box, tag, at] of found) {  // all are measured by now
      let stop = box.querySelector(`a.eq-stop[href="#${idOf(tag)}"]`);
      if (!stop) {
        stop = document.createElement("a");
        Object.assign(stop, {className: "eq-stop", href: `#${idOf(tag)}`});
        stop.setAttribute("aria-label", `(${tag}), to its line of code`);
        stop.addEventListener("focus", () => stop.matches(":focus-visible") && lightLines(tag));
        stop.addEventListener("blur", dark);
        stop.addEventListener("click", (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          const line = linesOf(tag)[0];
          for (let up = line.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
          line.scrollIntoView({block: "center"});
          line.querySelector("a.eq").focus();
        });
        box.append(stop);
      }
      for (const [side, value] of Object.entries(at)) stop.style[side] = `${value}px`;
    }
  });
})();
