"""The report on placing by load: deviations by variant and scene, bursts over lag, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from kubestow.reports import figures, pages
from kubestow.studies import verdicts
from kubestow.studies.shi.balance.runs import TITLES

Row = Mapping[str, Any]
_BURST = "burst, lag "
_COLUMNS = 3
_WIDEST = 12.0  # percent; variants that pack are far above


def make_page(report: Mapping[str, Any]) -> str:
    """Return the whole report as HTML."""
    still = [row for row in report["table"] if not row["scene"].startswith(_BURST)]
    bursts = [row for row in report["table"] if row["scene"].startswith(_BURST)]
    blocks: list[pages.Block] = [
        pages.Paragraph(
            "Fifteen pods of three types on three nodes as in the thesis (Shi 2023, 5.3), then in "
            "random order, on nodes with background load outside of requests, on thirty nodes, "
            "with usage below requests, and in a burst while metrics lag. All variants have the "
            "same seeds. `clbp as printed` follows the thesis literally, `clbp` is the corrected "
            "form; a shortlist leaves the choice among the best nodes to stock scores instead of "
            "adding points. Smaller standard deviations over nodes are better. "
            "Scheduling times (H5) are measured elsewhere."
        ),
        pages.make_figure(
            deviation_chart(still),
            "Standard deviation of utilisation over nodes, in percent: dots are resources, the bar "
            f"is their mean with its 95 % interval. Values above {_WIDEST:g} % are drawn at the "
            "edge; the table has the numbers.",
        ),
        pages.make_figure(
            lag_chart(bursts),
            "A burst of 150 pods, one per second, on 30 nodes: mean deviation of five resources "
            "over the lag of metrics, which are means over 60 s. Pods use 30 to 100 % of their "
            "requests; their assumed load is the request.",
        ),
        verdicts.make(report["rows"], "seeds"),
        means(report["table"]),
        placements(report["placed"]),
    ]
    return pages.render("Placing by load: Shi 2023, repeated", blocks)


def deviation_chart(rows: Sequence[Row]) -> alt.TopLevelMixin:
    """Return deviations of all variants, one panel per scene."""
    variants = list(dict.fromkeys(row["way"] for row in rows))
    panels: list[alt.LayerChart | alt.FacetChart] = []
    for scene in dict.fromkeys(row["scene"] for row in rows):
        mine = [row for row in rows if row["scene"] == scene]
        dots = [
            {"variant": row["way"], "resource": name, "deviation": value}
            for row in mine
            for name, value in row["deviations"].items()
        ]
        bars = [
            {
                "variant": row["way"],
                "low": max(row["mean"] - (row["half_width"] or 0.0), 0.0),
                "mean": row["mean"],
                "high": row["mean"] + (row["half_width"] or 0.0),
            }
            for row in mine
        ]
        labels = alt.Axis(labels=len(panels) % _COLUMNS == 0, ticks=False, labelPadding=8)
        y = alt.Y("variant:N", sort=variants, title=None, axis=labels)
        scale = alt.Scale(domain=[0, _WIDEST], nice=False, clamp=True)
        points = (
            alt.Chart(alt.InlineData(dots))
            .mark_point(filled=True, size=34, opacity=0.75)
            .encode(
                x=alt.X("deviation:Q", title="percent", scale=scale),
                y=y,
                color=alt.Color(
                    "resource:N",
                    title=None,
                    scale=alt.Scale(
                        domain=list(TITLES), range=list(figures.PALETTE[: len(TITLES)])
                    ),
                    legend=alt.Legend(orient="bottom"),
                ),
            )
        )
        ticks = (
            alt.Chart(alt.InlineData(bars))
            .mark_tick(color=figures.INK, thickness=2, size=18)
            .encode(x=alt.X("mean:Q", scale=scale), y=y)
        )
        reach = (
            alt.Chart(alt.InlineData(bars))
            .mark_rule(color=figures.INK)
            .encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=y)
        )
        panels.append(
            alt.layer(points, reach, ticks).properties(title=scene, width=240, height=180)
        )
    chart: alt.TopLevelMixin = alt.concat(*panels, columns=_COLUMNS)
    return chart


def lag_chart(rows: Sequence[Row]) -> alt.TopLevelMixin:
    """Return the mean deviation of all variants over the lag of metrics."""
    variants = list(dict.fromkeys(row["way"] for row in rows))
    shown = [
        {
            "variant": row["way"],
            "lag_s": float(row["scene"].removeprefix(_BURST).removesuffix(" s")),
            "mean": row["mean"],
            "low": row["mean"] - (row["half_width"] or 0.0),
            "high": row["mean"] + (row["half_width"] or 0.0),
        }
        for row in rows
    ]
    colours = [*figures.PALETTE, figures.INK, "#9aa3b0"]
    base = alt.Chart(alt.InlineData(shown)).encode(
        x=alt.X("lag_s:Q", title="lag of metrics (s)", axis=alt.Axis(values=[0, 15, 60])),
        color=alt.Color(
            "variant:N",
            title=None,
            sort=variants,
            scale=alt.Scale(domain=variants, range=colours[: len(variants)]),
        ),
    )
    lines = base.mark_line(point=True).encode(
        y=alt.Y("mean:Q", title="mean deviation (percent)"),
        strokeDash=alt.condition(
            "indexof(datum.variant, 'without') >= 0", alt.value([5, 3]), alt.value([])
        ),
    )
    bars = base.mark_rule().encode(y="low:Q", y2="high:Q")
    chart: alt.TopLevelMixin = alt.layer(lines, bars).properties(width=560, height=300)
    return chart


def means(rows: Sequence[Row]) -> pages.PageTable:
    """Return the means of all variants and scenes."""
    head = ["scene", "variant", *TITLES, "mean", "+-", "fullest (%)", "pods pending"]
    shown = [
        [
            row["scene"],
            row["way"],
            *(f"{value:.2f}" for value in row["deviations"].values()),
            f"{row['mean']:.2f}",
            "-" if row["half_width"] is None else f"{row['half_width']:.2f}",
            f"{row['most']:.1f}",
            f"{row['waiting']:.2f}",
        ]
        for row in rows
    ]
    return pages.PageTable(head, shown, caption="Standard deviations over nodes in percent, means.")


def placements(rows: Sequence[Row]) -> pages.PageTable:
    """Return where pods went as printed, in the first seed."""
    head = [
        "variant",
        *(f"node {number + 1}" for number in range(max(len(r["nodes"]) for r in rows))),
    ]
    shown = [
        [row["way"], *(", ".join(f"{k} x {n}" for k, n in _counted(node)) for node in row["nodes"])]
        for row in rows
    ]
    return pages.PageTable(head, shown, caption="Placement as printed, first seed.", folded=True)


def _counted(kinds: Sequence[str]) -> list[tuple[str, int]]:
    return [(kind, kinds.count(kind)) for kind in dict.fromkeys(kinds)]
