"""What a page costs its reader: a few icons in place of two thousand; and
the front page at the root of the site, where Jupyter Book puts a page that only leads on."""

import base64
import io
import logging
import posixpath
import re
from pathlib import Path

FONT, FACE = "vendor/fontawesome/webfonts/fa-solid-900.ttf", "Font Awesome 6 Free"
ICON = re.compile(r"\bfa-[a-z][a-z0-9-]*")
GLYPH = re.compile(r"\\(f[0-9a-f]{3})\b|([\uf000-\uf8ff])")
HEAVY = re.compile(r'\s*<!-- So that users can add custom icons -->\s*<script[^>]*/fontawesome\.js[^>]*></script>')


def glyphs(css, used):
    """The characters of the icons that pages name (`fa-bars`), and of those that the style sheets use by themselves."""
    named, own = {}, set()
    for selectors, rules in re.findall(r"([^{}]*)\{([^{}]*)\}", css):
        found = {chr(int(code, 16)) if code else sign for code, sign in GLYPH.findall(rules)}
        names = re.findall(r"\.(fa-[a-z0-9-]+):{1,2}before", selectors)
        for name in names:
            named[name] = found
        own |= set() if names else found
    return sorted(own.union(*(named.get(name, set()) for name in used)))


def font(ttf, characters):
    """A font with these characters alone, as base64 of WOFF: inside a style sheet, since a page opened from a disk may
    load no font."""
    from fontTools import subset

    logging.getLogger("fontTools").setLevel(logging.WARNING)

    options = subset.Options(layout_features=[], notdef_outline=True, name_IDs=[], hinting=False, drop_tables=["FFTM"])
    options.flavor = "woff"
    cut_from = subset.load_font(str(ttf), options)
    cut = subset.Subsetter(options)
    cut.populate(unicodes=[ord(c) for c in characters])
    cut.subset(cut_from)
    out = io.BytesIO()
    cut_from.flavor = "woff"
    cut_from.save(out)
    return base64.b64encode(out.getvalue()).decode()


def icon_face(ttf, characters):
    """A style sheet with these characters of the icon font, inside itself.
    It stands after the theme's, whose whole font is fetched only for a character that is not here."""
    data, ranges = font(ttf, characters), ",".join(f"U+{ord(c):x}" for c in characters)
    return ("/* Written by course_weight.py: the icons that this book uses, of Font Awesome Free 6 (SIL OFL 1.1). */\n"
            f'@font-face{{font-family:"{FACE}";font-style:normal;font-weight:900;font-display:block;'
            f"unicode-range:{ranges};src:url(data:font/woff;base64,{data}) format(\"woff\")}}\n")


def prune(css, used):
    """A style sheet without the rules of the icons that no page names: of 1,900 some 20 stay."""
    rule = re.compile(r'((?:\.fa-[a-z0-9-]+:before,?)+)\{content:"[^"]*"\}')
    return rule.sub(lambda found: found[0] if used & set(ICON.findall(found[1])) else "", css)


def at_root(page, folder):
    """A page of `folder` as it stands one level higher: the same links, from there."""
    def moved(found):
        attribute, link = found[1], found[2]
        path, mark, rest = re.fullmatch(r"([^?#]*)([?#]?)(.*)", link, flags=re.S).groups()
        if not path or re.match(r"[a-z][a-z0-9+.-]*:|/", path):
            return found[0]
        return f'{attribute}="{posixpath.normpath(f"{folder}/{path}")}{mark}{rest}"'

    page = re.sub(r'\b(href|src|action|poster|data)="([^"]*)"', moved, page)
    return page.replace('data-content_root="../"', 'data-content_root="./"')


def finish(app, exception):
    if exception or app.builder.format != "html":
        return
    out, used = Path(app.outdir), set()
    for path in sorted(out.rglob("*.html")):
        page = path.read_text(encoding="utf-8")
        used.update(ICON.findall(page))
        if (lighter := HEAVY.sub("", page)) != page:
            path.write_text(lighter, encoding="utf-8")
    for path in out.glob("_static/scripts/fontawesome.js*"):
        path.unlink()
    for path in out.glob("_static/**/*.js"):
        used.update(ICON.findall(path.read_text(encoding="utf-8")))
    css = "".join(path.read_text(encoding="utf-8") for path in sorted(out.glob("_static/**/*.css")))
    face = icon_face(out / "_static" / FONT, glyphs(css, used))
    (out / "_static" / "icons.css").write_text(face, encoding="utf-8")
    theme = out / "_static" / "styles" / "pydata-sphinx-theme.css"
    theme.write_text(prune(theme.read_text(encoding="utf-8"), used), encoding="utf-8")
    first = app.config.root_doc
    if folder := posixpath.dirname(first):
        page = at_root((out / f"{first}.html").read_text(encoding="utf-8"), folder)
        (out / "index.html").write_text(page, encoding="utf-8")


def setup(app):
    app.add_css_file("reading.css")
    app.add_css_file("icons.css", priority=900)
    app.connect("build-finished", finish, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
