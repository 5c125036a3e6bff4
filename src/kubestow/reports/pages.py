"""Self-contained HTML pages: paragraphs, tables and charts that open without a network.

Charts are Vega-Lite specifications with their data inside; the scripts that draw them are inlined
once per page, in the version that vl-convert ships.
"""

import dataclasses
import functools
import html
import json
from collections.abc import Callable, Sequence
from typing import Any, cast

import altair as alt
import vl_convert

from kubestow.reports import figures

STYLE = """
:root { color-scheme: light; --ink: #1f2430; --soft: #5b6472; --line: #d9dee6; --band: #f5f7fa; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); margin: 2.5rem auto;
  max-width: 68rem; padding: 0 1.25rem; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; }
p { max-width: 46rem; }
figure { margin: 1.5rem 0; overflow-x: auto; }
figcaption, caption { color: var(--soft); font-size: .9rem; text-align: left; padding: .35rem 0; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
.table { overflow-x: auto; margin: 1rem 0; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th { color: var(--soft); font-weight: 600; }
th:first-child, td:first-child { text-align: left; }
tbody tr:nth-child(even) { background: var(--band); }
td.good { color: #17663a; } td.bad { color: #a3271b; font-weight: 600; }
details { margin: 1rem 0; } summary { cursor: pointer; }
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Heading:
    """Title of a section."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class PageTable:
    """Rows under named columns.

    Attributes:
        columns: Names of the columns; the first one is aligned to the left.
        rows: Cells as they are shown.
        caption: A sentence above the table.
        marks: Cells to colour, by row and column: ``good`` or ``bad``.
        folded: Whether the table is collapsed at first.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    marks: dict[tuple[int, int], str] = dataclasses.field(default_factory=dict)
    folded: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """A chart with a caption; ``chart`` is a Vega-Lite specification."""

    chart: dict[str, Any]
    caption: str


Block = Paragraph | Heading | PageTable | Figure


def make_figure(chart: alt.TopLevelMixin, caption: str) -> Figure:
    """Return an Altair chart as a figure."""
    return Figure(chart.to_dict(), caption)


def render(title: str, blocks: Sequence[Block]) -> str:
    """Return a whole page."""
    drawn = any(isinstance(block, Figure) for block in blocks)
    script = f"<script>{_scripts()}</script>" if drawn else ""
    body = "\n".join(_render_block(block, number) for number, block in enumerate(blocks))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n{script}\n</head>\n"
        f"<body>\n<h1>{html.escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _render_block(block: Block, number: int) -> str:
    match block:
        case Paragraph(text):
            return f"<p>{html.escape(text)}</p>"
        case Heading(text):
            return f"<h2>{html.escape(text)}</h2>"
        case PageTable():
            return _render_table(block)
        case Figure(chart, caption):
            return _render_figure(chart, caption, number)


def _render_figure(chart: dict[str, Any], caption: str, number: int) -> str:
    # "</" in a text of the chart would end the script element.
    specification = json.dumps(chart, separators=(",", ":")).replace("</", "<\\/")
    return (
        f'<figure><div id="chart-{number}"></div>'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>\n"
        f'<script>vegaEmbed("#chart-{number}", {specification}, '
        '{"actions": false, "renderer": "svg"});</script>'
    )


def _render_table(table: PageTable) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.columns)
    rows = []
    for r, row in enumerate(table.rows):
        cells = []
        for c, text in enumerate(row):
            mark = table.marks.get((r, c))
            attribute = f' class="{mark}"' if mark else ""
            cells.append(f"<td{attribute}>{html.escape(text)}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    caption = html.escape(table.caption)
    inner = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    if table.folded:
        return (
            f"<details><summary>{caption}</summary>"
            f'<div class="table"><table>{inner}</table></div></details>'
        )
    return f'<div class="table"><table><caption>{caption}</caption>{inner}</table></div>'


@functools.cache
def _scripts() -> str:
    # Without a snippet the bundle sets window.vegaEmbed, which the types of the library omit.
    make_bundle = cast("Callable[..., str]", vl_convert.javascript_bundle)
    bundle = make_bundle(vl_version=figures.VEGA_LITE)
    # A closing tag inside would end the script element.
    return bundle.replace("</script", "<\\/script")
