"""Self-contained HTML pages: paragraphs, tables and charts that open without a network.

Charts are Vega-Lite specifications with their data inside; the scripts that draw them are inlined
once per page, in the version that vl-convert ships. Words between backticks are shown as code. How
pages look is in ``appearance``.
"""

import dataclasses
import functools
import html
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

import altair as alt
import vl_convert

from kubestow.reports import appearance, figures


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """What the page shows, in one or a few sentences; it stands first."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences."""

    items: Sequence[str]


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


Block = Verdict | Paragraph | Bullets | Heading | PageTable | Figure


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
        f"<title>{html.escape(title)}</title>\n<style>{appearance.STYLE}</style>\n{script}\n</head>\n"
        f"<body>\n<h1>{html.escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _render_block(block: Block, number: int) -> str:
    match block:
        case Verdict(text):
            return f'<p class="verdict">{_render_text(text)}</p>'
        case Paragraph(text):
            return f"<p>{_render_text(text)}</p>"
        case Bullets(items):
            return f"<ul>{''.join(f'<li>{_render_text(item)}</li>' for item in items)}</ul>"
        case Heading(text):
            return f"<h2>{_render_text(text)}</h2>"
        case PageTable():
            return _render_table(block)
        case Figure(chart, caption):
            return _render_figure(chart, caption, number)


def _render_text(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _render_figure(chart: dict[str, Any], caption: str, number: int) -> str:
    # "</" in a text of the chart would end the script element.
    specification = json.dumps(chart, separators=(",", ":")).replace("</", "<\\/")
    return (
        f'<figure><div id="chart-{number}"></div>'
        f"<figcaption>{_render_text(caption)}</figcaption></figure>\n"
        f'<script>drawChart("#chart-{number}", {specification});</script>'
    )


_FEW = 3
"""Columns that fit on a narrow screen; tables with more become cards there."""

_LONG = 60
"""Characters of a cell beyond which it may be broken into lines."""


def _render_table(table: PageTable) -> str:
    head = "".join(f"<th>{_render_text(name)}</th>" for name in table.columns)
    wide = len(table.columns) > _FEW
    opening = '<table class="wide">' if wide else "<table>"
    rows = []
    for r, row in enumerate(table.rows):
        cells = []
        for c, text in enumerate(row):
            mark = table.marks.get((r, c)) or ("long" if len(text) > _LONG else "")
            attribute = f' class="{mark}"' if mark else ""
            label = f' data-label="{html.escape(table.columns[c])}"' if wide and c else ""
            cells.append(f"<td{attribute}{label}>{_render_text(text)}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    caption = _render_text(table.caption)
    inner = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    if table.folded:
        return (
            f"<details><summary>{caption}</summary>"
            f'<div class="table">{opening}{inner}</table></div></details>'
        )
    return f'<div class="table">{opening}<caption>{caption}</caption>{inner}</table></div>'


@functools.cache
def _scripts() -> str:
    # Without a snippet the bundle sets window.vegaEmbed, which the types of the library omit.
    make_bundle = cast("Callable[..., str]", vl_convert.javascript_bundle)
    bundle = make_bundle(vl_version=figures.VEGA_LITE)
    # A closing tag inside would end the script element.
    return bundle.replace("</script", "<\\/script") + appearance.SCRIPT
