"""The report of the forecast study: shortages and over-reservation, fits, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from kubestow.reports import figures, pages
from kubestow.studies import verdicts
from kubestow.studies.schubert.forecast import methods

Row = Mapping[str, Any]

COLOURS: Final = {
    methods.OURS: figures.INK,
    methods.EVEN: "#e377c2",  # the palette has no eighth colour
    methods.PRINTED: figures.PALETTE[1],
    methods.EXACT: figures.PALETTE[3],
    methods.VPA: figures.PALETTE[2],
    methods.BARE_VPA: figures.PALETTE[4],
    methods.SIGMA: figures.PALETTE[5],
    methods.PERSISTENCE: figures.PALETTE[6],
    methods.MAXIMUM: figures.PALETTE[0],
}
UNITS: Final = {"memory": (2.0**30, "GiB"), "cpu": (1.0, "cores")}


def make_page(report: Mapping[str, Any]) -> str:
    """Return the whole report as HTML."""
    lines, checks = report["curves"], report["checks"]
    blocks: list[pages.Block] = [
        pages.Paragraph(
            "From 120 known points, each method recommends an amount for the next five. Lines go "
            "from risky to safe settings; points are the settings of the thesis (Schubert 2023). "
            "Sums over series, after averaging the windows of each series. Only series that were "
            "not used to choose the weights of short-margin are shown."
        )
    ]
    for resource, title in (("memory", "Memory"), ("cpu", "CPU")):
        mine = [line for line in lines if line["resource"] == resource]
        if not mine:
            continue
        blocks += [
            pages.Heading(title),
            pages.make_figure(
                curve_chart(mine, "short", "series with a shortage"),
                "Over-reservation over the number of shortages. Lower left is better.",
            ),
        ]
        if resource == "cpu":
            blocks.append(
                pages.make_figure(
                    curve_chart(mine, "lack", "missing cores, summed"),
                    "Over-reservation over the missing amount.",
                )
            )
    blocks += [
        pages.Heading("Model assumptions"),
        pages.make_figure(
            fit_chart(checks),
            "R squared of the chosen models: quartiles, and whiskers of 1.5 times the "
            "interquartile range. Dashed: the bound of the thesis for the third quartile.",
        ),
        check_table(checks),
        pages.Heading("Verdicts"),
        verdicts.make(report["rows"], "series"),
    ]
    return pages.render("ARIMA with a margin, and VPA: Schubert 2023, repeated", blocks)


def curve_chart(lines: Sequence[Row], axis: str, title: str) -> alt.TopLevelMixin:
    """Return over-reservation over shortages, one panel per set."""
    size, name = UNITS[lines[0]["resource"]]
    shown = [point for line in lines for point in _points(line, axis, size)]
    colour = alt.Color(
        "method:N",
        title=None,
        scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
        legend=alt.Legend(orient="bottom", columns=5, symbolStrokeWidth=3),
    )
    panels = []
    for family in dict.fromkeys(line["set"] for line in lines):
        mine = [line for line in shown if line["set"] == family]
        points = [line for line in mine if line["of_thesis"]]
        # Settings far beyond those of the thesis would compress the rest.
        shape = _limits(points)
        base = alt.Chart(alt.InlineData([line for line in mine if _within(line, shape)])).encode(
            x=alt.X("x:Q", title=title, scale=alt.Scale(type="log", nice=False, padding=6)),
            y=alt.Y(
                "over:Q",
                title=f"over-reservation, {name}",
                scale=alt.Scale(type="log", nice=False, padding=6),
            ),
            color=colour,
            order="setting:Q",
            tooltip=["method:N", "setting:Q", "x:Q", "over:Q"],
        )
        dots = (
            alt.Chart(alt.InlineData(points))
            .mark_point(filled=True, size=26, opacity=1.0)
            .encode(x="x:Q", y="over:Q", color=colour, tooltip=["method:N", "setting:Q"])
        )
        panels.append(
            alt.layer(base.mark_line(strokeWidth=1.8), dots).properties(
                width=300, height=250, title=family
            )
        )
    chart: alt.TopLevelMixin = (
        alt.concat(*panels, columns=3)
        .configure_view(stroke="#d9dee6")
        .configure_axis(gridColor="#eceff3", titleFontWeight="normal")
    )
    return chart


def _points(line: Row, axis: str, size: float) -> list[dict[str, Any]]:
    """Return the points of a curve without zeros, which a logarithmic axis cannot show."""
    if line["method"] not in COLOURS:
        return []
    columns = (
        line["settings"], line[f"reported_{axis}"], line["reported_over"], line["of_thesis"],
    )  # fmt: skip
    return [
        {
            "set": line["set"], "method": line["method"], "setting": setting, "x": x,
            "over": over / size, "of_thesis": marked,
        }
        for setting, x, over, marked in zip(*columns, strict=True)
        if x > 0.0 and over > 0.0
    ]  # fmt: skip


def _limits(points: Sequence[Row]) -> tuple[float, float, float, float]:
    """Return the range of the settings of the thesis, extended downwards."""
    xs, ys = [line["x"] for line in points], [line["over"] for line in points]
    if not xs:
        return 0.0, float("inf"), 0.0, float("inf")
    return min(xs), max(xs), min(ys) / 4.0, max(ys)


def _within(line: Row, limits: tuple[float, float, float, float]) -> bool:
    left, right, low, high = limits
    return bool(left <= line["x"] <= right and low <= line["over"] <= high)


def fit_chart(checks: Sequence[Row]) -> alt.TopLevelMixin:
    """Return box plots of R squared."""
    shown = [{"set": f"{one['resource']}, {one['set']}", **one["r_squared"]} for one in checks]
    base = alt.Chart(alt.InlineData(shown)).encode(y=alt.Y("set:N", title=None, sort=None))
    scale = alt.Scale(domain=[-0.2, 1.0])
    whiskers = base.mark_rule(color=figures.PALETTE[0], clip=True).encode(
        x=alt.X("low_whisker:Q", title="R squared", scale=scale), x2="high_whisker:Q"
    )
    boxes = base.mark_bar(size=16, color=figures.PALETTE[2], opacity=0.8).encode(
        x=alt.X("p25:Q", scale=scale), x2="p75:Q"
    )
    middles = base.mark_tick(size=16, thickness=2, color=figures.INK).encode(x="p50:Q")
    bound = (
        alt.Chart(alt.InlineData([{"x": 0.5}]))
        .mark_rule(strokeDash=[5, 4], color=figures.PALETTE[1])
        .encode(x="x:Q")
    )
    chart: alt.TopLevelMixin = alt.layer(whiskers, boxes, middles, bound).properties(
        width=520, height=220
    )
    return chart


def check_table(checks: Sequence[Row]) -> pages.PageTable:
    """Return dependence, fit and normality by set."""
    head = ["set", "series", "lags outside", "P75 of R squared", "not normal", "windows",
            "without a model"]  # fmt: skip
    shown = [
        [
            f"{one['resource']}, {one['set']}",
            str(one["series"]),
            f"{one['lags_outside']:.0%}",
            f"{one['r_squared']['p75']:.2f}",
            f"{one['not_normal']:.0%}",
            str(one["windows"]),
            str(one["fallbacks"]),
        ]
        for one in checks
    ]
    return pages.PageTable(head, shown)
