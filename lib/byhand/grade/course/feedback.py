"""One page a student, whole in one file: points, messages, and of public cases alone what was expected."""

import html

from .store import earned

STYLE = """
:root { color-scheme: light dark; --line: #8885; --bad: #b3261e; --good: #146c2e; }
@media (prefers-color-scheme: dark) { :root { --bad: #ffb4ab; --good: #7edb95; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .3rem .6rem; }
tr { border-bottom: 1px solid var(--line); } td:last-child, th:last-child { text-align: right; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border-left: 3px solid var(--line); padding-left: 1rem;
  font: 14px/1.45 ui-monospace, monospace; }
.bad { color: var(--bad); } .good { color: var(--good); }
"""


def page(row, points, questions, title: str) -> str:
    """HTML without a script, a link or a font from elsewhere. What a submission said is text, never markup."""
    said = html.escape
    titles = {q.id: q.title for q in questions}
    lines, parts = [], []
    for p in points:
        mine = earned(p)
        by = " (given by your instructor)" if p["given"] is not None else ""
        kind = "good" if mine == p["max_points"] else "bad"
        lines.append(f'<tr><td><a href="#q{said(p["question"])}">{said(p["question"])}</a></td>'
                     f'<td>{said(titles.get(p["question"], ""))}</td>'
                     f'<td class="{kind}">{mine:g} of {p["max_points"]:g}{by}</td></tr>')
        parts.append(f'<h2 id="q{said(p["question"])}">{said(p["question"])} · {said(titles.get(p["question"], ""))}'
                     f'</h2>\n<pre>{said(p["text"])}</pre>')
    total = f"{row.points:g} of {row.max_points:g} points" if row.points is not None else said(row.status)
    note = f"<p>{said(row.note)}</p>" if row.note else ""
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{said(title)} · {said(row.student)}</title><style>{STYLE}</style></head>
<body>
<h1>{said(title)}</h1>
<p><b>{said(row.student)}</b>: {total}</p>
{note}
<table><thead><tr><th>Question</th><th>Title</th><th>Points</th></tr></thead><tbody>
{chr(10).join(lines)}
</tbody></table>
{chr(10).join(parts)}
</body>
</html>
"""
