"""What a narrow screen needs: formulas in lines that fit, tables in stacked rows, figures whose letters can be read.

The work is done in the browser, by formulas.js and phone.js; at build time a figure gets a box to scroll in, and says
how wide it was drawn.
"""

import re
import struct
from pathlib import Path, PurePosixPath

IMAGE = re.compile(r'(?:<a class="[^"]*image-reference"[^>]*>)?'
                   r'(<img [^>]*src="[^"]*_images/([^"/]+\.png)"[^>]*>)(?:\n*</a>)?')


def width(path):
    """Pixels of a PNG, from its head."""
    head = Path(path).read_bytes()[:24]
    return struct.unpack(">I", head[16:20])[0] if head[:8] == b"\x89PNG\r\n\x1a\n" else None


def box_figures(app, pagename, templatename, context, doctree):
    """A box around each drawing that a cell has made, and the scripts of a page with formulas or tables."""
    body = context.get("body") or ""
    where = {PurePosixPath(name).name: Path(app.srcdir) / path for path, name in app.builder.images.items()}

    def box(found):
        path = where.get(found[2])
        wide = width(path) if path and path.is_file() else None
        return f'<span class="figure-box" style="--wide:{wide}px">{found[0]}</span>' if wide else found[0]

    output = re.compile(r'(<div class="cell_output docutils container">)(.*?)(?=<div class="cell |\Z)', flags=re.S)
    context["body"] = body = output.sub(lambda part: part[1] + IMAGE.sub(box, part[2]), body)
    if re.search(r'class="[^"]*\bmath\b', body):
        app.builder.add_js_file("formulas.js", defer="defer")
    if 'class="pst-scrollable' in body or '<table class="table' in body:
        app.builder.add_js_file("phone.js", defer="defer")


def setup(app):
    app.add_css_file("phone.css")
    app.connect("html-page-context", box_figures)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
