"""The pictures that were kept, drawn as SVG: heat maps of matrices, curves of vectors, yours beside expected."""

import html

BLUES = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
PUOR = ("#b35806", "#f1a340", "#fee0b6", "#f7f7f7", "#d8daeb", "#998ec3", "#542788")  # negative, zero, positive


def drawn(p: dict) -> str:
    """A figure: heat maps of a matrix or of few numbers, curves of a longer vector; the numbers folded below."""
    said = alt(p)
    curve = "differs" in p and len(p["right"]) == 1 and len(p["expected"]) >= 4 and _fractions(p["expected"])
    if curve:
        inside = _curves(p)
    else:
        scale = _scale(p["expected"], p["mine"])
        marked = "differs" in p
        inside = (_panel("yours", p["mine"], p["at"] if marked else [0, 0], scale, p.get("differs"), p.get("worst"))
                  + _panel("expected", p["expected"], p["at"], scale))
    legend = ""
    if "differs" in p:
        legend = ("<span class='key'>a bar joins two numbers that differ</span>" if curve else
                  "<span class='key'><b class='corner'></b> differs</span> "
                  "<span class='key'><b class='ring'></b> differs most</span>")
    where = f"[{', '.join(map(str, p['index']))}]" if p["index"] else ""
    part = "" if _whole(p) else ", a part of it"
    numbers = f"yours = {_text(p['mine'])}\nexpected = {_text(p['expected'])}"
    return (f'<figure><figcaption>output <code>{html.escape(p["output"])}{where}</code>{part} {legend}</figcaption>'
            f'<div class="pair" role="img" aria-label="{html.escape(said)}">{inside}</div>'
            f'<details><summary>The numbers</summary><pre tabindex="0">{html.escape(numbers)}</pre></details></figure>')


def alt(p: dict) -> str:
    shape, right = (" by ".join(map(str, s)) for s in (p["shape"], p["right"]))
    if "differs" not in p:
        return f"{p['output']}, yours beside what was expected: yours has the shape {shape}, expected is {right}."
    mine, theirs, place = p["mine"], p["expected"], []
    for i, start in zip(p["worst"], p["at"], strict=True):
        mine, theirs = mine[i], theirs[i]
        place.append(i + start)
    many, of = p["count"]
    return (f"{p['output']}, yours beside what was expected, {right} numbers: {many} of {of} differ, most at "
            f"{p['index'] + place}, where yours is {_number(mine)} and expected is {_number(theirs)}.")


def _whole(p):
    return not p["index"] and all(len(x) == n for x, n in ((p["expected"], p["right"][0]), (p["mine"], p["shape"][0]))
                                  ) and all(len(x[0]) == n[1] for x, n in ((p["expected"], p["right"]),
                                                                           (p["mine"], p["shape"])) if len(n) > 1)


def _rows(values):
    return values if isinstance(values[0], list) else [values]


def _finite(values):
    return [x for row in _rows(values) for x in row if not isinstance(x, str)] if values else []


def _fractions(values):
    return any(isinstance(x, float) for row in _rows(values) for x in row)


def _number(x):
    return x if isinstance(x, str) else (str(x) if isinstance(x, int) else f"{x or 0.0:.3g}").replace("-", "−")


def _short(x):
    """Six characters at most, for a square."""
    if isinstance(x, str) or isinstance(x, int) and abs(x) < 10**6:
        return str(x)
    size = abs(x)
    text = "0" if not x else f"{x:.3f}" if 1e-3 <= size < 1 else f"{x:.3g}" if 1 <= size < 1000 else f"{x:.0e}"
    return text.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e").replace("-", "−")


def _text(values):
    if isinstance(values[0], list):
        return "[" + ",\n ".join(_text(row) for row in values) + "]"
    return "[" + ", ".join(x if isinstance(x, str) else repr(x) for x in values) + "]"


def _scale(expected, mine):
    """The colours of a number: blue where all are at least 0, else orange, white, purple; beyond it, the darkest."""
    right = _finite(expected) or [0]
    most = max(map(abs, right)) or max(map(abs, _finite(mine) or [1])) or 1
    signed = min(right + _finite(mine)) < 0

    def colour(x):
        if isinstance(x, str):
            return "#d0d5da"
        stops = PUOR if signed else BLUES
        place = (x / most + 1) / 2 if signed else x / most
        place = min(max(place, 0.0), 1.0) * (len(stops) - 1)
        k = min(int(place), len(stops) - 2)
        a, b = (tuple(int(s[i:i + 2], 16) for i in (1, 3, 5)) for s in stops[k:k + 2])
        return "#" + "".join(f"{round(u + (v - u) * (place - k)):02x}" for u, v in zip(a, b, strict=True))

    return colour


def _ink(ground):
    """Black or white, whichever stands out more: always at least 4.5 to one."""
    parts = [int(ground[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    light = sum(w * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
                for w, c in zip((0.2126, 0.7152, 0.0722), parts, strict=True))
    return "#000" if light > 0.179 else "#fff"


def _panel(title, values, at, colour, differs=None, worst=None):
    rows = _rows(values)
    flat = not isinstance(values[0], list)
    wide = max(map(len, rows)) <= 8
    w, h, left, top = (50, 30, 20, 38) if wide else (22, 22, 20, 38)
    start = at if len(at) == 2 else [0, *at]
    marked = differs and _rows(differs)
    ring = ([0, *worst] if flat else worst) if worst else None
    out = [f'<text class="name" x="{left}" y="14">{title}</text>']
    for c in range(max(map(len, rows))):
        out.append(f'<text class="axis" x="{left + c * w + w / 2:g}" y="{top - 6}">{c + start[1]}</text>')
    for r, row in enumerate(rows):
        y = top + r * h
        if not flat:
            out.append(f'<text class="axis" x="{left / 2:g}" y="{y + h / 2 + 4:g}">{r + start[0]}</text>')
        for c, x in enumerate(row):
            ground, place = colour(x), left + c * w
            out.append(f'<rect class="square" x="{place}" y="{y}" width="{w}" height="{h}" fill="{ground}"/>')
            if wide:
                out.append(f'<text class="cell" x="{place + w / 2:g}" y="{y + h / 2 + 4:g}" fill="{_ink(ground)}">'
                           f'{html.escape(_short(x))}</text>')
            if marked and marked[r][c]:
                out.append(f'<path class="differs" d="M{place} {y}h9l-9 9z"/>')
    if ring:
        x, y = left + ring[1] * w, top + ring[0] * h
        out += [f'<rect class="{name}" x="{x + 1}" y="{y + 1}" width="{w - 2}" height="{h - 2}"/>'
                for name in ("halo", "most")]
    width, height = left + max(map(len, rows)) * w + 2, top + len(rows) * h + 2
    return _svg(width, height, out)


def _svg(width, height, parts):
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg {size} aria-hidden="true">{"".join(parts)}</svg>'


def _curves(p):
    mine, right, n = p["mine"], p["expected"], len(p["expected"])
    numbers = _finite(mine) + _finite(right)
    low, high = min(numbers), max(numbers)
    span = (high - low) or 1.0
    width, height, left, top, foot = 560, 230, 54, 30, 24

    def spot(i, x):
        return left + 8 + i * (width - left - 20) / (n - 1), top + (high - x) / span * (height - top - foot - 8) + 4

    out = []
    for x in (low, (low + high) / 2, high):
        y = spot(0, x)[1]
        out.append(f'<path class="grid" d="M{left} {y:.1f}H{width - 4}"/>'
                   f'<text class="axis end" x="{left - 6}" y="{y + 4:.1f}">{_number(x)}</text>')
    for i in range(0, n, max(1, n // 8)):
        out.append(f'<text class="axis" x="{spot(i, low)[0]:.1f}" y="{height - 4}">{i + p["at"][0]}</text>')
    for i, (a, b) in enumerate(zip(mine, right, strict=True)):
        if p["differs"][i] and not isinstance(a, str) and not isinstance(b, str):
            (x, y), (_, z) = spot(i, a), spot(i, b)
            out.append(f'<path class="gap" d="M{x:.1f} {y:.1f}V{z:.1f}"/>')
    for name, values in (("right", right), ("mine", mine)):
        spots = [(*spot(i, x), i) for i, x in enumerate(values) if not isinstance(x, str)]
        out.append(f'<path class="{name} line" d="M' + "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in spots) + '"/>')
        for x, y, _ in spots:
            out.append(f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' if name == "right" else
                       f'<rect class="{name}" x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7"/>')
    out.append(f'<rect class="mine" x="{left}" y="7" width="8" height="8"/><text class="name" x="{left + 14}" y="15">'
               f'yours</text><circle class="right" cx="{left + 84}" cy="11" r="4.5"/>'
               f'<text class="name" x="{left + 94}" y="15">expected</text>')
    return _svg(width, height, out)

