// Keeps the book in the reader's browser, so that it opens without a network too. A page registers this after its first
// Run; `make live` writes above it FILES, by path the hash of each file, and EDITION, a hash of them all.
// What can be had from the site comes from the site, so no reader is left with an old page.
const NAME = `byhand-pages ${registration.scope} `; // an origin may have several books
const PARALLEL = 4;
const LIST = "offline.json";
const at = (path) => new URL(path, registration.scope).href;

async function keep() { // what another edition, or one that was cut short, has unchanged is taken from there
  const older = [];
  for (const name of await caches.keys()) {
    if (!name.startsWith(NAME)) continue;
    const shelf = await caches.open(name);
    older.push([shelf, (await (await shelf.match(at(LIST)))?.json()) ?? {}]);
  }
  const shelf = await caches.open(NAME + EDITION), left = Object.entries(FILES), broken = [];
  await shelf.put(at(LIST), new Response(JSON.stringify(FILES)));
  const work = async () => {
    for (let next; !broken.length && (next = left.pop()); ) {
      const [path, hash] = next, [found] = older.filter(([, files]) => files[path] === hash);
      try {
        await shelf.put(at(path), (await found?.[0].match(at(path))) ?? (await fresh(path)));
      } catch (error) {
        broken.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work)); // what is under way is kept, then the first fault is told
  if (broken.length) throw broken[0];
}

async function fresh(path) {
  const answer = await fetch(at(path), { cache: "no-cache" });
  if (!answer.ok) throw new Error(`${path}: status ${answer.status}`);
  return answer.redirected ? new Response(answer.body, { headers: answer.headers }) : answer; // no page may be a detour
}

async function forgetOthers() {
  for (const name of await caches.keys()) if (name.startsWith(NAME) && name !== NAME + EDITION) await caches.delete(name);
}

async function stored(url) { // a host may leave out `index.html` or `.html`; after `?` stands a version or a question
  const path = at(url.pathname), shelf = await caches.open(NAME + EDITION);
  for (const name of path.endsWith("/") ? [`${path}index.html`] : [path, `${path}.html`, `${path}/index.html`]) {
    const found = await shelf.match(name);
    if (found) return found;
  }
  return undefined;
}

addEventListener("install", (event) => event.waitUntil(keep().then(() => skipWaiting())));
addEventListener("activate", (event) => event.waitUntil(forgetOthers().then(() => clients.claim())));
addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || !url.href.startsWith(registration.scope)) return;
  event.respondWith(fetch(event.request).catch(async (error) => {
    const found = await stored(url);
    if (!found) throw error;
    return found;
  }));
});
