"""The appearance of all HTML reports: one style sheet, and charts that follow the screen.

Pages follow the system's light or dark mode, and so do charts: their specifications have the
colours of the light mode, which a script in the page replaces. On a narrow screen the script also
narrows the panels and puts them below each other, and wide tables become one card per row, so that
no value needs scrolling sideways.
"""

from __future__ import annotations

import json
from typing import Final

from kubestow.reports import figures

NARROW_PX: Final = 700
"""Screens up to this width get cards and narrow charts."""

STYLE: Final = f"""
:root {{ color-scheme: light dark; --ink: #1f2430; --soft: #5b6472; --line: #d9dee6;
  --band: #f5f7fa; --page: #ffffff; --good: #17663a; --bad: #a3271b; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e6e9ef; --soft: #a3adbb; --line: #343b46; --band: #1c2129; --page: #14171c;
    --good: #6fd394; --bad: #ff8f84; }}
}}
body {{ font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--page);
  margin: 2.5rem auto; max-width: 74rem; padding: 0 1.25rem; }}
h1 {{ font-size: 1.8rem; line-height: 1.2; margin: 0 0 .5rem; }}
h2 {{ font-size: 1.25rem; margin: 2.5rem 0 .5rem; }}
p, ul {{ max-width: 46rem; overflow-wrap: anywhere; }}
p.verdict {{ font-size: 1.15rem; font-weight: 600; border-left: 4px solid var(--good);
  padding-left: .9rem; }}
code {{ font-size: .92em; background: var(--band); border-radius: 3px; padding: 0 .2em; }}
figure {{ margin: 1.5rem 0; overflow-x: auto; }}
figcaption, caption {{ color: var(--soft); font-size: .9rem; text-align: left;
  padding: .35rem 0; }}
table {{ border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }}
.table {{ overflow-x: auto; margin: 1rem 0; }}
th, td {{ padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }}
th {{ color: var(--soft); font-weight: 600; }}
th:first-child, td:first-child {{ text-align: left; }}
tbody tr:nth-child(even) {{ background: var(--band); }}
td.good {{ color: var(--good); }} td.bad {{ color: var(--bad); font-weight: 600; }}
td.long {{ white-space: normal; text-align: left; min-width: 12rem; }}
details {{ margin: 1rem 0; }} summary {{ cursor: pointer; }}
@media (max-width: {NARROW_PX}px) {{
  body {{ margin: 1.25rem auto; padding: 0 .9rem; }}
  th, td {{ white-space: normal; overflow-wrap: anywhere; padding: .25rem .4rem; }}
  table.wide, table.wide caption, table.wide tbody, table.wide tr {{ display: block; }}
  table.wide thead {{ display: none; }}
  table.wide tr {{ padding: .5rem 0; border-bottom: 1px solid var(--line); }}
  table.wide td {{ display: flex; justify-content: space-between; gap: 1rem; border: 0; }}
  table.wide td::before {{ content: attr(data-label); color: var(--soft); text-align: left; }}
  table.wide td.long {{ display: block; min-width: 0; }}
  table.wide td.long::before {{ display: block; }}
  table.wide td:first-child {{ font-weight: 600; }}
  table.wide td:first-child::before {{ content: none; }}
}}
"""

# Colours of the light mode and what they become: lighter, in the same order of lightness.
_DARK: Final = {
    figures.INK: "#f2f4f8",
    "#5b6472": "#9aa5b5",
    "#d1495b": "#ff7f8e",
    "#00798c": "#3fc3d6",
    "#e09f1f": "#f2bd57",
    "#2a9d4a": "#63d486",
    "#7b5ea7": "#bda0ee",
    "#8d5a3b": "#cf9a72",
    "#d9dee6": "#343b46",
    "#eceff3": "#272d36",
    "#30363d": "#e6edf3",
    "#55606e": "#9aa5b5",
    "#888": "#9aa5b5",
    "#aab2bf": "#6f7a8a",
    "#5f4b32": "#c2a878",
}
_DARK_INK, _DARK_SOFT, _DARK_LINE = "#d5dae2", "#a3adbb", "#4a5361"
_DARK_CONFIG: Final = {
    "axis": {
        "labelColor": _DARK_SOFT,
        "titleColor": _DARK_INK,
        "domainColor": _DARK_LINE,
        "tickColor": _DARK_LINE,
        "gridColor": "#272d36",
    },
    "legend": {"labelColor": _DARK_INK, "titleColor": _DARK_INK},
    "title": {"color": _DARK_INK, "subtitleColor": _DARK_SOFT},
    "header": {"labelColor": _DARK_INK, "titleColor": _DARK_INK},
    "view": {"stroke": "#343b46"},
    "text": {"color": _DARK_INK},
    "rule": {"color": _DARK_INK},
}
_NARROW_CONFIG: Final = {"legend": {"orient": "bottom", "columns": 2, "labelLimit": 130}}

# Space beside a narrow panel for its vertical axis, in pixels.
_AXIS_PX: Final = 80
_LABEL_PX: Final = 110

SCRIPT: Final = f"""
function fitChart(part, room) {{
  if (typeof part.width === "number") part.width = Math.min(part.width, room);
  if (part.hconcat) {{ part.vconcat = part.hconcat; delete part.hconcat; }}
  if (part.columns > 1) part.columns = 1;
  const axis = part.encoding && part.encoding.y && part.encoding.y.axis;
  if (axis) {{
    if (axis.labels === false) axis.labels = true;
    if (axis.labelLimit > {_LABEL_PX}) axis.labelLimit = {_LABEL_PX};
  }}
  const color = part.encoding && part.encoding.color && part.encoding.color.legend;
  if (color && color.gradientLength > room) color.gradientLength = room;
  for (const name of ["layer", "concat", "vconcat"])
    for (const inner of part[name] || []) fitChart(inner, room);
  if (part.spec) fitChart(part.spec, room);
}}
function drawChart(id, chart) {{
  const colours = {json.dumps(_DARK)};
  const text = JSON.stringify(chart);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: {NARROW_PX}px)");
  const swap = (quoted) => JSON.stringify(colours[JSON.parse(quoted)] || JSON.parse(quoted));
  const draw = () => {{
    const drawn = JSON.parse(dark.matches ? text.replace(/"#[0-9a-f]{{3,6}}"/g, swap) : text);
    if (narrow.matches) fitChart(drawn, document.querySelector(id).clientWidth - {_AXIS_PX});
    const config = {{ background: "transparent" }};
    if (dark.matches) Object.assign(config, {json.dumps(_DARK_CONFIG)});
    if (narrow.matches) config.legend =
      Object.assign({{}}, config.legend, {json.dumps(_NARROW_CONFIG["legend"])});
    vegaEmbed(id, drawn, {{ actions: false, renderer: "svg", config: config,
      tooltip: {{ theme: dark.matches ? "dark" : "light" }} }});
  }};
  dark.addEventListener("change", draw);
  narrow.addEventListener("change", draw);
  draw();
}}
"""
