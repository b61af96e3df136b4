// Python in a worker: CPython for WASI is a reactor, so one instance lives as long as the worker, and each request is a
// call of its export `turn`. It runs synchronously: who wants to stop it ends the worker.
import { Directory, Fd, File, OpenFile, PreopenDirectory, WASI, wasi } from "@bjorn3/browser_wasi_shim";

const MOST = 200_000; // letters that one cell may write
const STORE = "byhand-live";
let python, left;

class Writes extends Fd { // standard output and standard error: posted as they come, but not letter by letter
  constructor() {
    super();
    this.decoder = new TextDecoder();
    this.held = "";
    this.posted = 0;
  }
  fd_fdstat_get() {
    const fdstat = new wasi.Fdstat(wasi.FILETYPE_REGULAR_FILE, 0);
    fdstat.fs_rights_base = BigInt(wasi.RIGHTS_FD_WRITE);
    return { ret: wasi.ERRNO_SUCCESS, fdstat };
  }
  fd_filestat_get() {
    return { ret: wasi.ERRNO_SUCCESS, filestat: new wasi.Filestat(0n, wasi.FILETYPE_REGULAR_FILE, 0n) };
  }
  fd_write(bytes) {
    if (left > 0) this.held += this.decoder.decode(bytes, { stream: true }).slice(0, left);
    if (left > 0 && left <= bytes.length) this.held += `\n… a cell may write ${MOST} letters here; the rest is left out\n`;
    left -= bytes.length;
    if (performance.now() - this.posted > 50) this.post();
    return { ret: wasi.ERRNO_SUCCESS, nwritten: bytes.byteLength };
  }
  post() {
    if (this.held) postMessage({ stream: this.held });
    if (this.held) this.last = this.held;
    this.held = "";
    this.posted = performance.now();
  }
}
const out = new Writes();
let course, compiled; // byhand's folder, and where the browser keeps what Python has compiled of it

async function fetched(url, seen) { // the packed file: from the browser's own store, or from the site and into the store
  const store = self.caches ? await caches.open(STORE).catch(() => null) : null;
  let found = await store?.match(url);
  if (!found) {
    found = await fetch(url);
    if (!found.ok) throw new Error(`${url}: status ${found.status}`);
    await store?.put(url, found.clone()).catch(() => {}); // no room: the browser's ordinary cache has to do
  }
  const count = new TransformStream({ transform(part, to) { seen(part.byteLength); to.enqueue(part); } });
  return found.body.pipeThrough(count).pipeThrough(new DecompressionStream("gzip"));
}

async function forgetOthers(urls) { // packed files of an older version of the site
  const store = self.caches ? await caches.open(STORE).catch(() => null) : null;
  const folder = new URL(".", urls[0]).href;
  for (const request of (await store?.keys()) ?? []) {
    if (request.url.startsWith(folder) && !urls.some((url) => request.url.startsWith(url))) await store.delete(request);
  }
}

function* bytecode(folder, way = "") { // what Python has compiled: [path, file]
  for (const [name, entry] of folder.contents) {
    if (entry instanceof Directory) yield* bytecode(entry, `${way}${name}/`);
    else if (name.endsWith(".pyc")) yield [`${way}${name}`, entry];
  }
}

async function recall() { // compiled on an earlier visit
  const store = self.caches ? await caches.open(STORE).catch(() => null) : null;
  const found = await (await store?.match(compiled.url))?.formData().catch(() => null);
  for (const [path, blob] of found ?? []) place(course, path, new Uint8Array(await blob.arrayBuffer()));
  compiled.count = [...bytecode(course)].length;
}

async function remember() {
  const all = [...bytecode(course)];
  if (all.length <= compiled.count) return;
  compiled.count = all.length;
  const form = new FormData();
  for (const [path, file] of all) form.append(path, new Blob([file.data]), path);
  const store = self.caches ? await caches.open(STORE).catch(() => null) : null;
  await store?.put(compiled.url, new Response(form)).catch(() => {});
}

function place(root, path, bytes) {
  const way = path.split("/").filter(Boolean), name = way.pop();
  let folder = root;
  for (const step of way) {
    if (!folder.contents.has(step)) folder.contents.set(step, new Directory(new Map()));
    folder = folder.contents.get(step);
  }
  folder.contents.set(name, new File(bytes));
}

function unpacked(tar) { // the folders and files of a plain tar archive
  const root = new Directory(new Map());
  const text = new TextDecoder();
  const field = (at, size) => text.decode(tar.subarray(at, at + size)).replace(/\0.*$/s, "");
  for (let at = 0; at + 512 <= tar.length && tar[at]; ) {
    const size = parseInt(field(at + 124, 12), 8);
    place(root, `${field(at + 345, 155)}/${field(at, 100)}`, tar.subarray(at + 512, at + 512 + size));
    at += 512 + 512 * Math.ceil(size / 512);
  }
  return root;
}

function folderAt(root, path) {
  return path.split("/").filter(Boolean).reduce((folder, step) => folder.contents.get(step), root).contents;
}

async function begin({ wasm, files, size, progress }) {
  let loaded = 0;
  const seen = (bytes) => postMessage({ loaded: Math.min(1, (loaded += bytes) / size) });
  const [module, tar] = await Promise.all([
    fetched(wasm, seen).then((body) => WebAssembly.compileStreaming(
      new Response(body, { headers: { "Content-Type": "application/wasm" } }))),
    fetched(files, seen).then((body) => new Response(body).arrayBuffer()),
  ]);
  forgetOthers([wasm, files]);
  const root = unpacked(new Uint8Array(tar));
  root.contents.set("tmp", new Directory(new Map()));
  course = root.contents.get("course");
  compiled = { url: `${files}?compiled`, count: 0 };
  await recall();
  const figures = "/usr/local/lib/python315.zip/matplotlib/mpl-data"; // where matplotlib looks beside its own modules
  const shim = new WASI(["/usr/local/bin/python.wasm"], ["TMPDIR=/tmp", "HOME=/tmp", "PYTHONTZPATH="], [
    new OpenFile(new File([])), out, out,
    new PreopenDirectory(figures, folderAt(root, "/mpl-data")),
    new PreopenDirectory("/usr/local/lib", folderAt(root, "/usr/local/lib")),
    new PreopenDirectory("/", root.contents),
  ], { debug: false });
  shim.wasiImport.sched_yield = () => wasi.ERRNO_SUCCESS;
  const { exports } = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: shim.wasiImport, host: { call: told } });
  shim.inst = { exports };
  python = exports;
  turn("import sys\nsys.dont_write_bytecode = False\nfor finder in sys.meta_path: getattr(finder, 'invalidate_caches', int)()"); // it was started with another zip
  turn(`sys.path.insert(0, "/course")\nimport _host, json, cells\n` +
    `cells.begin(lambda said: _host.call(json.dumps(said).encode()), json.loads(${literal(progress)}))`);
  postMessage({ ready: true });
}

function told(at, size, toAddress, toSize) { // what Python's `_host.call` sends: a dict for the page
  out.post();
  postMessage(JSON.parse(new TextDecoder().decode(new Uint8Array(python.memory.buffer, at >>> 0, size))));
  const reply = python.host_alloc(1);
  const memory = new DataView(python.memory.buffer);
  memory.setUint8(reply >>> 0, 0);
  memory.setUint32(toAddress >>> 0, reply >>> 0, true);
  memory.setUint32(toSize >>> 0, 1, true);
  return 0;
}

const literal = (value) => JSON.stringify(JSON.stringify(value)).replace(/\u2028|\u2029/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);

function turn(code) {
  const bytes = new TextEncoder().encode(code);
  const at = python.host_alloc(bytes.length) >>> 0;
  new Uint8Array(python.memory.buffer).set(bytes, at);
  left = MOST;
  const status = python.turn(at, bytes.length);
  out.post();
  if (status) throw new Error(out.last?.trim().split("\n").pop() ?? `status ${status}`); // a fault of ours, not of a cell
}

self.onmessage = async ({ data }) => {
  try {
    if (data.begin) await begin(data.begin);
    else {
      turn(`__import__("cells").answer(__import__("json").loads(${literal(data)}))`);
      await remember();
    }
  } catch (error) {
    out.post();
    postMessage({ broken: String(error?.message ?? error) });
  }
};
