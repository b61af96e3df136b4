"""What a narrow screen needs: formulas in lines that fit, tables in stacked rows, figures whose letters can be read.

The work is done in the browser, by formulas.js, phone.js and phone.css; a figure has a box to scroll in from
drawings.py, and code and outputs have here the number of their columns, by which the style sheet sets their letters.
"""

import re
from html import unescape

CODE = re.compile(r'(<div class="[^"]*\bnotranslate")(>\s*<div class="highlight"><pre>)(.*?)(?=</pre>)', re.DOTALL)
SHOWN = 46  # columns of a box that a phone shows in letters of full size


def columns(body):
    """The HTML of a page, with the length of the longest line of each box of code or output, if it is long."""
    def counted(box):
        lines = unescape(re.sub(r"<[^>]*>", "", box[3])).split("\n")
        longest = max(map(len, lines))
        return f'{box[1]} style="--columns: {longest}"{box[2]}{box[3]}' if longest > SHOWN else box[0]

    return CODE.sub(counted, body)


def scripts(app, pagename, templatename, context, doctree):
    """The scripts of a page with formulas or tables."""
    body = context.get("body") or ""
    if re.search(r'class="[^"]*\bmath\b', body):
        app.builder.add_js_file("formulas.js", defer="defer", priority=495)
    if 'class="pst-scrollable' in body or '<table class="table' in body:
        app.builder.add_js_file("phone.js", defer="defer")


def measure(app, pagename, templatename, context, doctree):
    """How wide the code of a page is; not of a whole file of source, which scrolls."""
    if "body" in context and not pagename.startswith("_modules/"):
        context["body"] = columns(context["body"])


def setup(app):
    app.add_css_file("phone.css")
    app.connect("html-page-context", scripts)
    app.connect("html-page-context", measure, priority=800)  # after equations.py, which makes links in code
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
