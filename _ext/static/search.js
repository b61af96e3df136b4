// Search that finds sections: lunr.js asks the index that course_search.py made. Both are loaded when a search begins,
// by script tags, so that a book opened from a folder can search as well.
(() => {
  const root = document.documentElement.dataset.content_root;

  const script = (name) => new Promise((done, failed) => {
    const tag = document.createElement("script");
    tag.onload = done;
    tag.onerror = () => failed(new Error(`${name} could not be loaded`));
    tag.src = `${root}_static/search/${name}`;
    document.head.append(tag);
  });
  let loading;
  const load = () => loading ??= Promise.all([script("lunr.js"), script("index.js")]).then(() => {
    const {groups, shown, lunr: stored} = window.courseIndex, warn = lunr.utils.warn;
    lunr.utils.warn = () => {};  // lunr.js 2.3.9 reads what lunr.py writes for it
    const index = lunr.Index.load(stored), words = new Set(groups.flat().flatMap((phrase) => phrase.split(" ")));
    lunr.utils.warn = warn;
    const patterns = groups.map((phrases) => ({phrases, pattern: new RegExp(`\\b(?:${phrases.join("|")})s?\\b`, "g")}));
    return {groups: patterns, names: lunr.TokenSet.fromArray([...words].sort()), shown, index};
  }).catch((reason) => { loading = undefined; throw reason; });

  const greek = ("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau "
    + "upsilon phi chi psi omega").split(" ");
  const plain = (text) => text.replaceAll("√", " sqrt ").normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase()
    .replace(/[α-ω]/g, (letter) => ` ${greek[letter.charCodeAt(0) - 945]} `).replace(/[^a-z0-9]+/g, " ").trim();
  const stem = (word) => lunr.stemmer(new lunr.Token(word)).toString();
  const asking = new Set("need work works use used using explain explained vs versus understand happens".split(" "));
  const stops = (word) => asking.has(word) || !lunr.stopWordFilter(new lunr.Token(word));

  // A group of words that mean the same counts as one word.
  const grouped = (text, groups) => groups.reduce((t, {pattern}, k) => t.replace(pattern, `zz${k}`), plain(text));

  // The query, each group as one word. A word that the book does not have may be misspelt ("encodng"), or one that is
  // not finished yet: "layer nor" begins a name. `some` are words of a trie of lunr.js.
  function understood(query, {groups, names, index}) {
    const some = (trie, ...wild) => trie.intersect(lunr.TokenSet[wild[1] ? "fromFuzzyString" : "fromString"](...wild)).toArray();
    const known = (word) => stem(word) in index.invertedIndex || stops(word);
    const typed = plain(query).split(" "), last = typed.at(-1);
    for (const tail of [4, 3, 2].filter((n) => n <= typed.length).map((n) => typed.slice(-n).join(" "))) {
      const begun = (phrase) => phrase.startsWith(tail) && !phrase.slice(tail.length).includes(" ");
      const phrase = groups.flatMap(({phrases}) => phrases).find(begun);
      if (phrase) return grouped(plain(query).slice(0, -tail.length) + phrase, groups);
    }
    return grouped(typed.map((word) => {
      if (word.length < 4 || known(word) || (word === last && some(index.tokenSet, `${word}*`).length)) return word;
      const far = word.length > 6 ? 2 : 1;
      return some(names, word, far)[0] ?? some(index.tokenSet, stem(word), far)[0] ?? word;
    }).join(" "), groups);
  }

  // Its words; the last one may be the beginning of a longer one, and then even "nor" is worth looking for.
  function wanted(asked) {
    const last = asked.split(" ").at(-1);
    return [...new Set(asked.split(" "))].filter(Boolean).map((word) => (
      {word, stem: stem(word), open: word === last && /^(?!zz\d)../.test(word), stop: stops(word)}
    )).filter(({open, stop}) => open || !stop);
  }

  const has = (terms, word) => terms.includes(word.stem) || (word.open && terms.some((t) => t.startsWith(word.word)));

  // The score of lunr.js, less for a result that lacks words, more for one whose title or further name was asked for.
  function find(query, book) {
    const {groups, shown, index} = book, asked = understood(query, book), words = wanted(asked);
    if (!words.length) return [];
    const core = (text) => text.split(" ").filter((word) => !stops(word)).join(" ");
    const single = plain(query).split(" ").filter((word) => word && !stops(word)).map(stem);
    const found = index.query((q) => {
      words.forEach(({word, stem, open, stop}) => {
        if (!stop) q.term(stem, {usePipeline: false, boost: 4});
        if (open) q.term(word, {usePipeline: false, wildcard: lunr.Query.wildcard.TRAILING});
      });
      single.forEach((word) => q.term(word, {usePipeline: false, boost: .5}));  // those of a group by themselves, too
    });
    const counted = words.filter(({stop}) => !stop);
    return found.map(({ref, score, matchData}) => {
      const result = shown[ref], [, title, above, kind, , names] = result, terms = Object.keys(matchData.metadata);
      const part = counted.length ? counted.filter((word) => has(terms, word)).length / counted.length : 1;
      const whole = [title.replace(/^[\d.]+ · /, ""), `${above} ${title}`, ...names.split(",")]
        .some((name) => core(grouped(name, groups)) === core(asked));
      return {result, terms: [...terms, ...single], score: score * Math.max(part, .2) ** 2 * (!whole ? 1 : kind === "chapter" ? 2 : 1.3)};
    }).sort((a, b) => b.score - a.score);
  }

  // Marks in a text the words whose stem was found.
  function marked(text, hit, from = 0, to = text.length) {
    const piece = document.createDocumentFragment();
    let end = from;
    for (const word of text.slice(from, to).matchAll(/[\p{L}\p{N}]+/gu)) {
      if (!hit(word[0])) continue;
      const at = from + word.index, mark = document.createElement("mark");
      mark.textContent = word[0];
      piece.append(text.slice(end, at), mark);
      end = at + word[0].length;
    }
    piece.append(text.slice(end, to));
    return piece;
  }

  // The stretch of a text in which the most of the words stand, from the beginning of a sentence if one is near.
  function excerpt(text, hit, length = 170) {
    const at = [...text.matchAll(/[\p{L}\p{N}]+/gu)].filter((word) => hit(word[0])).map((word) => word.index);
    let best = 0, most = 0;
    at.forEach((start) => {
      const many = new Set(at.filter((k) => k >= start && k < start + length - 40)
        .map((k) => text.slice(k, k + 5).toLowerCase())).size;
      if (many > most) [best, most] = [start, many];
    });
    const sentence = Math.max(...[". ", "? ", ": "].map((mark) => text.lastIndexOf(mark, best) + 2), 0);
    let from = best - sentence < 90 ? (sentence > 1 ? sentence : 0) : text.indexOf(" ", best - 50) + 1;
    while (/[… ]/.test(text[from])) from += 1;
    let to = from + length < text.length ? text.lastIndexOf(" ", from + length) : text.length;
    if (to <= from) to = text.length;
    const p = document.createElement("span");
    p.className = "course-search-text";
    p.append(from ? "… " : "", marked(text, hit, from, to), to < text.length ? " …" : "");
    return p;
  }

  function entry({result: [url, title, above, kind, text], terms}) {
    const stems = new Set(terms);
    const hit = (word) => plain(word).split(" ").some((w) => w.length > 1 && !stops(w) && stems.has(stem(w)));
    const item = document.createElement("li"), link = document.createElement("a");
    const name = document.createElement("span"), place = document.createElement("span");
    link.href = root + url;
    name.className = "course-search-title";
    name.append(marked(title, hit));
    place.className = "course-search-place";
    place.textContent = kind === "chapter" && /^\d/.test(above) ? `Chapter ${above}`
      : kind === "name" ? `Library · ${above}` : above || {chapter: "Chapter", exercise: "Exercises"}[kind] || "Page";
    link.append(name, place);
    if (text) link.append(excerpt(text, hit));
    item.append(link);
    return item;
  }

  // The field of a form gets a list below it; the arrow keys go through field and links.
  function attend(form, most) {
    const field = form.querySelector("input"), list = document.createElement("ol"), status = document.createElement("p");
    list.className = "course-search-list";
    status.className = "course-search-status";
    status.setAttribute("role", "status");
    form.after(status, list);
    let asked = 0;

    async function show() {
      const query = field.value.trim(), turn = ++asked;
      if (!query) {
        list.replaceChildren();
        status.textContent = "";
        return;
      }
      try {
        const book = await load();
        if (turn !== asked) return;
        const found = find(query, book), first = found.slice(0, most), inside = list.contains(document.activeElement);
        list.replaceChildren(...first.map(entry));
        if (inside) (list.querySelector("a") ?? field).focus();  // whoever was faster than the search stays in the list
        const count = found.length > most ? `The first ${most} of ${found.length} results` : `${found.length} results`;
        status.textContent = found.length === 0 ? `Nothing found for “${query}”.`
          : found.length === 1 ? "1 result." : `${count}.`;
      } catch (reason) {
        status.textContent = `The search cannot work here: ${reason.message}.`;
      }
    }

    let soon;
    field.addEventListener("input", () => { clearTimeout(soon); soon = setTimeout(show, field.value.trim() ? 120 : 0); });
    field.addEventListener("focus", () => load().catch(() => {}));
    form.parentElement.addEventListener("keydown", (event) => {
      const stops = [field, ...list.querySelectorAll("a")], at = stops.indexOf(document.activeElement);
      const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: at > 0 ? 1 : -1, End: at > 0 ? stops.length - 1 : -1}[event.key];
      if (at < 0 || to === undefined || !stops[to]) return;
      event.preventDefault();
      stops[to].focus();
      stops[to].scrollIntoView({block: "nearest"});
    });
    return show;
  }

  document.addEventListener("DOMContentLoaded", () => {
    const dialog = document.querySelector("#pst-search-dialog form.bd-search");
    if (dialog) attend(dialog, 8);
    const page = document.querySelector(".bd-search-container form.bd-search");
    if (!page) return;
    const show = attend(page, 30), field = page.querySelector("input");
    page.addEventListener("submit", (event) => {
      event.preventDefault();
      history.replaceState(null, "", `?${new URLSearchParams({q: field.value})}`);
      show();
    });
    field.value = new URLSearchParams(location.search).get("q") ?? "";
    field.focus();
    show();
  });
  window.courseSearch = {load, find, plain};
})();
