"""The look of a page of feedback: light and dark, wide and narrow, and on paper."""

STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --soft: #52606d; --ground: #fff; --card: #f7f9fb; --line: #d9e0e7;
  --good: #0b5fa5; --bad: #b3400f; --link: #0b5fa5; --mistake: #fff4ec; --right: #0072b2; --mine: #c04a00;
  --bar: #e4e9ee; --code: #f1f4f7; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaee; --soft: #a9b4bf; --ground: #14181d; --card: #1b2127;
  --line: #36404a; --good: #7cc0f5; --bad: #ffa878; --link: #8ac7f7; --mistake: #2d2019; --right: #56b4e9;
  --mine: #f2a05a; --bar: #2c353e; --code: #10141a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI",
  sans-serif; overflow-wrap: anywhere; }
main { max-width: 52rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
p { margin: .4rem 0; }
a { color: var(--link); }
h1 { font-size: 2rem; line-height: 1.15; margin: .1rem 0; letter-spacing: -.01em; }
.course, .who, .about, .star, footer { color: var(--soft); }
.course { font-size: .85rem; letter-spacing: .04em; margin: 0; }
.who { margin: 0 0 1rem; font-size: 1.05rem; }
.total { font-size: 1.2rem; margin: 0 0 .4rem; }
.total b { font-size: 2.2rem; font-weight: 650; letter-spacing: -.02em; }
.meter, .bar i { display: block; height: .5rem; border-radius: .25rem; background: var(--bar); overflow: hidden; }
.meter b, .bar b { display: block; height: 100%; background: var(--good); }
.note { white-space: pre-line; border-left: 3px solid var(--bad); padding-left: .8rem; margin-top: 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1.8rem 0 .4rem; font-variant-numeric: tabular-nums; }
th { font-weight: 600; color: var(--soft); font-size: .85rem; }
td, th { text-align: left; padding: .4rem .6rem .4rem 0; border-bottom: 1px solid var(--line); }
td:last-child, th:last-child { text-align: right; white-space: nowrap; padding-right: 0; }
td.bar { width: 7rem; }
td:first-child { white-space: nowrap; }
.star { font-size: .85rem; }
section { margin-top: 2.2rem; padding-top: 1.1rem; border-top: 1px solid var(--line); }
h2 { font-size: 1.2rem; margin: 0 0 .6rem; display: flex; gap: .6rem; align-items: baseline; }
h2 .id { white-space: nowrap; }
.rest { list-style: none; padding: 0; columns: 20rem; } .rest li { margin: .2rem 0; break-inside: avoid; }
.id { color: var(--soft); font-variant-numeric: tabular-nums; font-weight: 500; }
.points { margin-left: auto; white-space: nowrap; font-size: 1rem; font-weight: 600;
  font-variant-numeric: tabular-nums; }
.full { color: var(--good); } .none, .part { color: var(--bad); }
.by { display: inline-block; font-size: .85rem; border: 1px solid var(--line); border-radius: 1rem; padding: 0 .7rem;
  margin-bottom: .5rem; }
.cases { list-style: none; margin: 0; padding: 0; }
.cases > li { margin: .45rem 0; }
.cases > li.fail { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .7rem .9rem;
  margin: .8rem 0; }
.case { display: flex; gap: .65rem; align-items: baseline; flex-wrap: wrap; }
.label { flex: none; font-size: .8rem; font-weight: 600; min-width: 4.2rem; text-align: center; border-radius: .3rem;
  border: 1px solid currentColor; padding: 0 .3rem; }
.ok .label { color: var(--good); } .fail .label { color: #fff; background: #b3400f; border-color: #b3400f; }
.skip .label { color: var(--soft); border-style: dashed; }
.case .name { font-weight: 600; }
.about { font-size: .92rem; }
.mistake { background: var(--mistake); border-left: 4px solid var(--bad); border-radius: .2rem; padding: .5rem .8rem;
  margin: .7rem 0; }
.read { font-weight: 500; }
pre { font: 13.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--code);
  border-radius: .4rem; padding: .55rem .75rem; margin: .6rem 0; overflow-x: auto; overflow-wrap: normal; }
code { font: .95em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre.code mark { color: inherit; background: none; display: inline-block; min-width: 100%; font-weight: 700;
  box-shadow: inset 3px 0 var(--bad); background: var(--mistake); }
figure { margin: .9rem 0 .2rem; }
figcaption { font-size: .92rem; }
.key { color: var(--soft); font-size: .85rem; margin-left: .7rem; white-space: nowrap; }
.corner, .ring { display: inline-block; width: .8em; height: .8em; vertical-align: -.05em; }
.key .corner { background: linear-gradient(135deg, currentColor 50%, transparent 51%); }
.key .ring { border: 2px solid currentColor; }
.pair { display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; align-items: flex-start; margin-top: .5rem; }
svg { max-width: 100%; height: auto; display: block; }
svg text { font: 12px system-ui, sans-serif; font-variant-numeric: tabular-nums; }
svg .name { fill: var(--ink); font-weight: 600; font-size: 13px; }
svg .axis { fill: var(--soft); font-size: 11px; text-anchor: middle; }
svg .end { text-anchor: end; }
svg .square { stroke: var(--line); stroke-width: .6; }
svg .cell { text-anchor: middle; }
svg .differs { fill: #000; stroke: #fff; stroke-width: 1; }
svg .halo { fill: none; stroke: #fff; stroke-width: 5; } svg .most { fill: none; stroke: #000; stroke-width: 2.5; }
svg .grid { stroke: var(--line); } svg .gap { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 2 2; }
svg .line { fill: none; stroke-width: 2; } svg .right { fill: var(--right); } svg .mine { fill: var(--mine); }
svg .right.line { fill: none; stroke: var(--right); } svg .mine.line { fill: none; stroke: var(--mine);
  stroke-dasharray: 6 4; }
summary { cursor: pointer; color: var(--soft); font-size: .92rem; }
footer { margin-top: 3rem; font-size: .88rem; }
@media (max-width: 34rem) { td.bar { display: none; } main { padding-top: 1.2rem; } h1 { font-size: 1.6rem; }
  .cases > li.fail { padding: .6rem .65rem; } }
@media print { :root { --ink: #000; --soft: #444; --ground: #fff; --card: #fff; --line: #bbb; --good: #0b5fa5;
  --bad: #b3400f; --link: #000; --mistake: #fff; --right: #0072b2; --mine: #c04a00; --bar: #ddd; --code: #fff; }
  body { font-size: 11pt; } main { max-width: none; padding: 0; } li.fail, figure, pre { break-inside: avoid; }
  h2 { break-after: avoid; } svg, .meter, .bar i, .label { print-color-adjust: exact; }
  pre { white-space: pre-wrap; } }
"""
