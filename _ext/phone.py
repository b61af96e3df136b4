"""What a narrow screen needs: formulas in lines that fit, tables in stacked rows, figures whose letters can be read.

The work is done in the browser, by formulas.js and phone.js; a figure has a box to scroll in from drawings.py.
"""

import re


def scripts(app, pagename, templatename, context, doctree):
    """The scripts of a page with formulas or tables."""
    body = context.get("body") or ""
    if re.search(r'class="[^"]*\bmath\b', body):
        app.builder.add_js_file("formulas.js", defer="defer", priority=495)
    if 'class="pst-scrollable' in body or '<table class="table' in body:
        app.builder.add_js_file("phone.js", defer="defer")


def setup(app):
    app.add_css_file("phone.css")
    app.connect("html-page-context", scripts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
