"""The report on stated miss probabilities: requested and measured, and slack frontiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from kubestow.reports import figures, pages
from kubestow.studies import verdicts

Row = Mapping[str, Any]
OURS: Final = "conformal"
# A logarithmic axis has no 0.
_LEAST: Final = 4e-3


def make_page(report: Mapping[str, Any]) -> str:
    """Return the whole report as HTML."""
    walks, limits = report["walks"], report["limits"]
    blocks: list[pages.Block] = [
        pages.Paragraph(
            "A recommended request should cover the next window except in a stated share of cases. "
            "Below: the share of unseen windows that was missed; built-in scores come from other "
            "sets. The margin of each baseline is set in hindsight so that it misses equally often."
        ),
        pages.Heading("Stated and measured"),
        pages.make_figure(
            promise_chart(walks),
            "Measured over stated share of missed windows, with 95 % intervals over series. On the "
            "solid line they are equal; the dashed line is 1.3 times as much.",
        ),
        promise_table(walks, "All series of the reported half together."),
        promise_table(report["alone"], "Each series alone, with only the built-in scores."),
        pages.Heading("Few windows of history"),
        few_table(report["few"]),
        pages.Heading("What it costs"),
        pages.make_figure(
            frontier_chart(walks),
            "Summed surplus over the share of missed windows. Lower left is better. Baselines are "
            "set to the same shares as conformal.",
        ),
    ]
    if limits is not None:
        blocks += [
            pages.Heading("Daily limits on Bitbrains"),
            pages.make_figure(
                limits_chart(limits),
                "Summed memory limits (relative to the peaks of the days) over the share of "
                "machine-days above the limit.",
            ),
            limits_table(limits),
        ]
    blocks += [
        pages.Heading("Verdicts"),
        verdicts.make(report["rows"], "series"),
    ]
    return pages.render("Requests with a stated probability of being too small", blocks)


def _panel(row: Row) -> str:
    return f"{row['family']}, {row['resource']}"


def promise_chart(walks: Sequence[Row]) -> alt.TopLevelMixin:
    """Return measured over stated shares."""
    shown = [
        {
            "set": _panel(row),
            "stated": row["asked"],
            "missed": max(row["missed"], _LEAST),
            "low": max(row["missed_low"], _LEAST),
            "high": max(row["missed_high"], _LEAST),
        }
        for row in walks
    ]
    scale = alt.Scale(type="log", domain=[_LEAST, 0.4], nice=False)
    axis = alt.Axis(values=[0.005, 0.01, 0.02, 0.05, 0.1, 0.2], format="~%")
    base = alt.Chart(alt.InlineData(shown)).encode(
        x=alt.X("stated:Q", title="stated", scale=scale, axis=axis),
        color=alt.Color(
            "set:N", title=None, scale=alt.Scale(range=[*figures.PALETTE, figures.INK])
        ),
    )
    points = base.mark_line(point=True).encode(
        y=alt.Y("missed:Q", title="measured", scale=scale, axis=axis),
        tooltip=["set:N", "stated:Q", "missed:Q"],
    )
    bars = base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    lines = [
        alt.Chart(alt.InlineData([{"x": x, "y": x * times} for x in (_LEAST, 0.25)]))
        .mark_line(color=figures.INK, strokeDash=dash, strokeWidth=1)
        .encode(x="x:Q", y="y:Q")
        for times, dash in ((1.0, [1, 0]), (1.3, [5, 4]))
    ]
    chart: alt.TopLevelMixin = alt.layer(*lines, bars, points).properties(width=520, height=380)
    return chart


def promise_table(walks: Sequence[Row], caption: str) -> pages.PageTable:
    """Return every point with its interval and slack."""
    head = [
        "set", "stated", "missed", "95 %", "ratio", "by variation: low, mid, high", "slack, summed",
        "slack, mean", "windows",
    ]  # fmt: skip
    shown, marks = [], {}
    for place, row in enumerate(walks):
        ratio = row["missed"] / row["asked"]
        marks[place, 4] = "good" if ratio <= 1.3 else "bad"
        shown.append(
            [
                _panel(row),
                f"{row['asked']:.0%}",
                f"{row['missed']:.2%}",
                f"{row['missed_low']:.2%} to {row['missed_high']:.2%}",
                f"{ratio:.2f}",
                ", ".join(f"{share:.1%}" for share in row["thirds"]),
                f"{row['summed']:.1%}",
                f"{row['mean']:.1%}",
                str(row["windows"]),
            ]
        )
    return pages.PageTable(head, shown, caption, marks)


def few_table(rows: Sequence[Row]) -> pages.PageTable:
    """Return stated and measured shares by length of history, with what others give."""
    head = [
        "set", "windows", "recommender", "stated", "missed", "95 %", "ratio", "slack, summed",
        "by vpa", "by krr-simple", "by percentile",
    ]  # fmt: skip
    shown, marks = [], {}
    for place, row in enumerate(rows):
        ratio = row["missed"] / row["asked"]
        marks[place, 6] = "good" if ratio <= 1.3 else "bad"
        others = row["baselines"]
        shown.append(
            [
                _panel(row),
                str(row["windows_known"]),
                row["recommender"],
                f"{row['asked']:.0%}",
                f"{row['missed']:.2%}",
                f"{row['missed_low']:.2%} to {row['missed_high']:.2%}",
                f"{ratio:.2f}",
                f"{row['summed']:.1%}",
                *(
                    f"{others[name]['ratio']:.2f}" if name in others else "-"
                    for name in ("vpa", "krr-simple", "percentile")
                ),
            ]
        )
    caption = "All containers have this many windows. Last columns: given, by that of a baseline."
    return pages.PageTable(head, shown, caption, marks, folded=True)


def frontier_chart(walks: Sequence[Row]) -> alt.TopLevelMixin:
    """Return slack over missed windows, one panel per set and resource."""
    shown: list[dict[str, Any]] = []
    for row in walks:
        shared = {"set": _panel(row), "stated": row["asked"]}
        mine = {"missed": max(row["missed"], _LEAST), "given": 1.0 + row["summed"]}
        shown.append({**shared, **mine, "variant": OURS})
        shown += [
            {**shared, "missed": mine["missed"], "given": 1.0 + other["summed"], "variant": name}
            for name, other in row["baselines"].items()
        ]
    names = [OURS, *dict.fromkeys(row["variant"] for row in shown if row["variant"] != OURS)]
    colours = [figures.INK, *figures.PALETTE]
    base = alt.Chart(alt.InlineData(shown)).encode(
        x=alt.X(
            "missed:Q", title="missed windows", scale=alt.Scale(type="log", nice=False, padding=8),
            axis=alt.Axis(format="~%", values=[0.005, 0.01, 0.02, 0.05, 0.1, 0.2]),
        ),
        y=alt.Y(
            "given:Q", title="given / needed", scale=alt.Scale(type="log", nice=False, padding=8)
        ),
        color=alt.Color(
            "variant:N", title=None, scale=alt.Scale(domain=names, range=colours[: len(names)])
        ),
        tooltip=["variant:N", "stated:Q", "missed:Q", "given:Q"],
    )  # fmt: skip
    both = alt.layer(base.mark_line(strokeWidth=1.8), base.mark_point(filled=True, size=35))
    faceted = both.properties(width=330, height=220).facet(
        alt.Facet("set:N", title=None), columns=2
    )
    chart: alt.TopLevelMixin = faceted.resolve_scale(x="independent", y="independent")
    return chart


def limits_chart(limits: Row) -> alt.TopLevelMixin:
    """Return summed memory limits over violations."""
    shown = [
        {"variant": name, "over": max(one["memory_days"], _LEAST), "given": one["memory_sum"]}
        for name, settings in limits["ways"].items()
        for one in settings.values()
    ]
    base = alt.Chart(alt.InlineData(shown)).encode(
        x=alt.X(
            "over:Q", title="machine-days over the limit",
            scale=alt.Scale(type="log", nice=False, padding=8),
            axis=alt.Axis(format="~%", values=[0.01, 0.02, 0.05, 0.1, 0.2]),
        ),
        y=alt.Y("given:Q", title="limits / peaks", scale=alt.Scale(zero=False)),
        color=alt.Color("variant:N", title=None, scale=alt.Scale(range=list(figures.PALETTE))),
        tooltip=["variant:N", "over:Q", "given:Q"],
    )  # fmt: skip
    chart: alt.TopLevelMixin = alt.layer(
        base.mark_line(), base.mark_point(filled=True, size=45)
    ).properties(width=560, height=320)
    return chart


def limits_table(limits: Row) -> pages.PageTable:
    """Return all estimators and settings of the daily limits."""
    shown = [
        [
            name,
            setting,
            f"{one['cpu_slack']:.1%}",
            f"{one['cpu_over']:.2%}",
            f"{one['cpu_days']:.1%}",
            f"{one['memory_slack']:.1%}",
            f"{one['memory_days']:.2%}",
            f"{one['memory_sum']:.3f}",
        ]
        for name, settings in limits["ways"].items()
        for setting, one in settings.items()
    ]
    head = [
        "estimator", "setting", "CPU slack", "samples over", "days over", "memory slack",
        "days over", "limits / peaks",
    ]  # fmt: skip
    return pages.PageTable(head, shown, caption="All estimators on the reported half.", folded=True)
