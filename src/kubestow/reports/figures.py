"""Charts that several reports share."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import vl_convert

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
"""The version of Vega-Lite that Altair writes, as vl-convert names it, e.g. v6.1."""

INK = "#111111"
PALETTE = ("#5b6472", "#d1495b", "#00798c", "#e09f1f", "#2a9d4a", "#7b5ea7", "#8d5a3b")
"""Seven colours that differ in lightness as well as in hue; ``INK`` marks the main line."""

DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [12, 4], [1, 3])
"""Dash patterns of the lines of a chart, in order: lines that coincide stay visible."""
_WIDTHS = (3.0, 2.4, 2.0, 1.7, 1.5, 1.4, 1.3)


def line_channels(field: str, lines: Mapping[str, str], legend: alt.Legend) -> dict[str, Any]:
    """Return how the lines of a chart differ: in colour, in dashes and in width.

    Lines are drawn in the order of the data. The first ones are the widest and the later ones are
    dashed, so that a line shows through another one with the same values. A line alone needs
    neither.

    Args:
        field: Field that identifies the lines.
        lines: The colour of each line, in the order of data and legend.
        legend: The legend, shared by all three.
    """
    names = list(lines)
    if len(names) == 1:
        colour = alt.Scale(domain=names, range=list(lines.values()))
        return {"color": alt.Color(f"{field}:N", scale=colour, legend=legend)}
    ranges: dict[str, list[Any]] = {
        "color": list(lines.values()),
        "strokeDash": [DASHES[n % len(DASHES)] for n in range(len(names))],
        "strokeWidth": [_WIDTHS[n % len(_WIDTHS)] for n in range(len(names))],
    }
    kinds: dict[str, Any] = {
        "color": alt.Color,
        "strokeDash": alt.StrokeDash,
        "strokeWidth": alt.StrokeWidth,
    }
    return {
        channel: kinds[channel](
            f"{field}:N", scale=alt.Scale(domain=names, range=values), legend=legend
        )
        for channel, values in ranges.items()
    }


def panels_of_lines(
    rows: Sequence[dict[str, Any]],
    *,
    x: tuple[str, str],
    y: tuple[str, str],
    series: tuple[str, Mapping[str, str]],
    panel: tuple[str, Sequence[str]],
    title: str,
    ticks: Sequence[float] = (),
) -> alt.TopLevelMixin:
    """Return lines over a logarithmic x, one colour per series, with panels side by side.

    Args:
        rows: Data, one record per point.
        x: Field and title of the horizontal axis.
        y: Field and title of the vertical axis.
        series: Field that identifies the lines, and the colour of each value in the order of the
            legend; a line in ``INK`` is thicker.
        panel: Field that identifies the panels, and its values from left to right.
        title: Title of the whole chart.
        ticks: Ticks of the horizontal axis; empty for automatic ones.
    """
    field, colours = series
    axis = alt.Axis(values=list(ticks), format="~g") if ticks else alt.Axis()
    thick = [name for name, colour in colours.items() if colour == INK]
    # Lines are drawn in the order of the data: the thick one first, so it covers no other.
    ordered = sorted(rows, key=lambda row: row[field] not in thick)
    base = (
        alt.Chart(alt.InlineData(ordered))
        .mark_line(point=alt.OverlayMarkDef(size=22))
        .encode(
            x=alt.X(
                f"{x[0]}:Q",
                title=x[1],
                scale=alt.Scale(type="log", nice=False, padding=8),
                axis=axis,
            ),
            y=alt.Y(f"{y[0]}:Q", title=y[1], scale=alt.Scale(zero=False)),
            color=alt.Color(
                f"{field}:N",
                title=None,
                scale=alt.Scale(domain=list(colours), range=list(colours.values())),
                legend=alt.Legend(orient="bottom", columns=len(colours), symbolStrokeWidth=3),
            ),
            strokeWidth=alt.condition(
                alt.FieldOneOfPredicate(field=field, oneOf=thick), alt.value(3.0), alt.value(1.6)
            ),
            tooltip=[f"{field}:N", f"{x[0]}:Q", alt.Tooltip(f"{y[0]}:Q", format=".4f")],
        )
        .properties(width=270, height=240)
    )
    chart: alt.FacetChart = (
        base.facet(
            column=alt.Column(
                f"{panel[0]}:N",
                title=None,
                sort=list(panel[1]),
                header=alt.Header(labelFontSize=13),
            )
        )
        .properties(title=title)
        .configure_view(stroke="#d9dee6")
        .configure_axis(gridColor="#eceff3", titleFontWeight="normal")
    )
    return chart


def render_png(chart: dict[str, Any], scale: float = 1.5) -> bytes:
    """Return a Vega-Lite specification drawn as PNG, without a browser."""
    image: bytes = vl_convert.vegalite_to_png(chart, vl_version=VEGA_LITE, scale=scale)
    return image
