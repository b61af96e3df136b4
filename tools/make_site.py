"""Put the built book into a folder that any host of plain files takes: `make site BOOK_URL=https://example.org/book/`.

    python tools/make_site.py [--html _build/html] [--to _site]

Everything in it works below any path. BOOK_URL, the address where it will stand, gives the sitemap, the previews of
links and the paths of the page for what is not there; without it these are left out, or look for the book by
themselves. Cells that run in the page are taken along where `make live` made them.
"""

import argparse
import os
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
KEPT = "public, max-age=31536000, immutable"  # names with a hash of their contents
MISSING = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><link rel="icon" href="data:,">
<title>Not here · Transformers by Hand</title>
<style>
html { color-scheme: light dark; background: light-dark(#fff, #121212); color: light-dark(#222, #ddd); }
body { font: 1.1rem/1.6 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto 0; padding: 0 1rem; }
a { color: light-dark(#0b6674, #6fcfdd); } :is(input, button) { font: inherit; padding: .3rem .6rem; }
</style></head>
<body><main><h1>There is no page here</h1>
<p>It may have another name now. Search for it, or begin at
<a href="{base}book/index.html">the first page</a> or <a href="{base}book/glossary.html">the glossary</a>.</p>
<form action="{base}search.html"><label>Search the course <input type="search" name="q"></label>
<button>Search</button></form></main>{script}</body></html>
"""
# Where the address is not known: the nearest folder above that holds the book.
LOOK = """<script>(async () => {
  for (let up = new URL(".", location.href); ; up = new URL("..", up)) {
    if ((await fetch(new URL("book/index.html", up), {method: "HEAD"})).ok || up.pathname === "/") {
      document.querySelectorAll("a").forEach((a) => { a.href = new URL(a.getAttribute("href"), up); });
      document.querySelector("form").action = new URL("search.html", up);
      return;
    }
  }
})();</script>"""


def address(text):
    """BOOK_URL as everything here wants it: with a scheme, a host and a last slash; empty stays empty."""
    url = urlsplit(text.strip())
    if text.strip() and (url.scheme not in ("http", "https") or not url.netloc or url.query or url.fragment):
        raise ValueError(f"BOOK_URL: {text!r} is no address of a site; expected one such as https://example.org/book/")
    return text.strip().rstrip("/") + "/" if text.strip() else ""


def headers():
    """For hosts that read a file `_headers` (Netlify, Cloudflare). WebAssembly needs no line: the page itself says
    what it unpacked, so any host serves the cells that run in the page."""
    packed = {"Content-Type": "application/octet-stream", "Cache-Control": KEPT}
    rules = {"/*": {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}, "/_static/live/*.packed": packed,
             "/_images/*": {"Cache-Control": "public, max-age=86400"}}
    return "\n".join(f"{path}\n" + "".join(f"  {name}: {value}\n" for name, value in lines.items())
                     for path, lines in rules.items())


def htaccess(url):
    """The same for Apache."""
    missing = f"ErrorDocument 404 {urlsplit(url).path}404.html\n" if url else ""
    return (f"{missing}AddType application/octet-stream .packed\nAddType text/javascript .js .mjs\n"
            f'<IfModule mod_headers.c>\n<FilesMatch "\\.packed$">\nHeader set Cache-Control "{KEPT}"\n'
            "</FilesMatch>\n</IfModule>\n")


def additions(url):
    """What the site has besides the built book: name → text."""
    base = urlsplit(url).path
    page = MISSING.replace("{base}", base).replace("{script}", "" if url else LOOK)
    found = {"404.html": page, "_headers": headers(), ".htaccess": htaccess(url), ".nojekyll": "",
             "robots.txt": "User-agent: *\nAllow: /\n" + (f"\nSitemap: {url}sitemap.xml\n" if url else "")}
    return found


def fits(html, url):
    """Whether the book was built for this address, as its own pages say; a stale one would name another."""
    page = (html / "book" / "index.html").read_text(encoding="utf-8")
    said = re.search(r'<link rel="canonical" href="([^"]*)book/index\.html"', page)
    return (said[1] if said else "") == url and (html / "sitemap.xml").is_file() == bool(url)


def make(html, target, url):
    if not (html / "book" / "index.html").is_file():
        sys.exit(f"{html} holds no book: run `make book` first")
    if not fits(html, url):
        sys.exit(f"the book in {html} was built for another address: run `make site BOOK_URL={url}`")
    new, old = target.with_name(f"{target.name}.new"), target.with_name(f"{target.name}.old")
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    shutil.copytree(html, new, ignore=shutil.ignore_patterns(".buildinfo", ".doctrees"))
    for name, text in additions(url).items():
        (new / name).write_text(text, encoding="utf-8", newline="\n")
    if target.exists():
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--html", type=Path, default=ROOT / "_build" / "html", help="the built book")
    parser.add_argument("--to", type=Path, default=ROOT / "_site", help="the folder to write")
    options = parser.parse_args()
    try:
        url = address(os.environ.get("BOOK_URL", ""))
    except ValueError as wrong:
        sys.exit(str(wrong))
    make(options.html.resolve(), options.to.resolve(), url)
    files = [path for path in options.to.rglob("*") if path.is_file()]
    live = "with" if (options.to / "_static" / "live").is_dir() else "without"
    print(f"{options.to} is ready for {url or 'any address'}: {len(files)} files, "
          f"{sum(path.stat().st_size for path in files) / 1e6:.0f} MB, {live} cells that run in the page")


if __name__ == "__main__":
    main()
