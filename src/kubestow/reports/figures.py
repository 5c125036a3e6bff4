"""Charts that several reports share."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import vl_convert

PALETTE = ("#4c566a", "#d1495b", "#00798c", "#edae49", "#2a9d4a", "#7b5ea7", "#8d5a3b", "#111111")
"""Eight colours that differ in lightness as well as in hue."""


def panels_of_lines(
    rows: Sequence[dict[str, Any]],
    *,
    x: tuple[str, str],
    y: tuple[str, str],
    series: tuple[str, Sequence[str]],
    panel: tuple[str, str],
    title: str,
    emphasis: str = "",
) -> alt.TopLevelMixin:
    """Return lines over x, one colour per series, one panel beside the other.

    Args:
        rows: Data, one record per point.
        x: Field and title of the horizontal axis.
        y: Field and title of the vertical axis.
        series: Field that tells the lines apart, and its values in the order of the legend.
        panel: Field that tells the panels apart, and the text before its value.
        title: Title of the whole chart.
        emphasis: The one series drawn thicker, if any.
    """
    field, names = series
    base = (
        alt.Chart(alt.InlineData(list(rows)))
        .mark_line(point=alt.OverlayMarkDef(size=22))
        .encode(
            x=alt.X(f"{x[0]}:Q", title=x[1]),
            y=alt.Y(f"{y[0]}:Q", title=y[1], scale=alt.Scale(zero=False)),
            color=alt.Color(
                f"{field}:N",
                title=None,
                sort=list(names),
                scale=alt.Scale(domain=list(names), range=list(PALETTE[: len(names)])),
                legend=alt.Legend(orient="bottom", columns=len(names), symbolStrokeWidth=3),
            ),
            strokeWidth=alt.condition(
                f"datum[{field!r}] == {emphasis!r}", alt.value(3.0), alt.value(1.6)
            ),
            tooltip=[f"{field}:N", f"{x[0]}:Q", alt.Tooltip(f"{y[0]}:Q", format=".4f")],
        )
        .properties(width=270, height=240)
    )
    chart: alt.FacetChart = (
        base.facet(
            column=alt.Column(
                f"{panel[0]}:O",
                title=None,
                header=alt.Header(labelExpr=f"{panel[1]!r} + datum.label", labelFontSize=13),
            )
        )
        .resolve_scale(y="shared")
        .properties(title=title)
        .configure_view(stroke="#d9dee6")
        .configure_axis(gridColor="#eceff3", titleFontWeight="normal")
    )
    return chart


def render_png(chart: dict[str, Any], scale: float = 1.5) -> bytes:
    """Return a Vega-Lite specification drawn as PNG, without a browser."""
    image: bytes = vl_convert.vegalite_to_png(chart, scale=scale)
    return image
