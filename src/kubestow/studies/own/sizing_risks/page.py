"""The report on stated miss probabilities: promised and measured, and frontiers of slack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from kubestow.reports import figures, pages
from kubestow.studies import verdicts

Row = Mapping[str, Any]
OURS: Final = "conformal"
# A logarithmic axis has no place for nothing.
_LEAST: Final = 4e-3


def make_page(report: Mapping[str, Any]) -> str:
    """Return the whole report as HTML."""
    walks, limits = report["walks"], report["limits"]
    blocks: list[pages.Block] = [
        pages.Paragraph(
            "A request is asked for that holds in the next window but for a stated share of cases. "
            "Below: what share was missed in windows that were not known, on half of the series; "
            "the other half was used to choose parameters. Baselines are shown with their margin "
            "set in hindsight so that they miss as often."
        ),
        pages.Heading("Asked for and measured"),
        pages.make_figure(
            promise_chart(walks),
            "Measured share of missed windows by the asked one, with 95 % intervals over series. "
            "On the line they are equal; the dashed line is one and a half times as much.",
        ),
        promise_table(walks, "The whole half of a set at once."),
        promise_table(report["alone"], "Each series alone, with nothing but the built-in scores."),
        pages.Heading("What it costs"),
        pages.make_figure(
            frontier_chart(walks),
            "What is given beyond need, in sum, by the share of missed windows. Further down and "
            "left is better. Baselines stand at the shares at which conformal stands.",
        ),
    ]
    if limits is not None:
        blocks += [
            pages.Heading("Daily limits on Bitbrains"),
            pages.make_figure(
                limits_chart(limits),
                "Summed memory limits (by the days' own peaks) by the share of machine-days over "
                "the limit.",
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
    """Return measured by asked shares."""
    shown = [
        {
            "set": _panel(row),
            "asked": row["asked"],
            "missed": max(row["missed"], _LEAST),
            "low": max(row["missed_low"], _LEAST),
            "high": max(row["missed_high"], _LEAST),
        }
        for row in walks
    ]
    scale = alt.Scale(type="log", domain=[_LEAST, 0.4], nice=False)
    axis = alt.Axis(values=[0.005, 0.01, 0.02, 0.05, 0.1, 0.2], format="~%")
    base = alt.Chart(alt.InlineData(shown)).encode(
        x=alt.X("asked:Q", title="asked for", scale=scale, axis=axis),
        color=alt.Color(
            "set:N", title=None, scale=alt.Scale(range=[*figures.PALETTE, figures.INK])
        ),
    )
    points = base.mark_line(point=True).encode(
        y=alt.Y("missed:Q", title="measured", scale=scale, axis=axis),
        tooltip=["set:N", "asked:Q", "missed:Q"],
    )
    bars = base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    lines = [
        alt.Chart(alt.InlineData([{"x": x, "y": x * times} for x in (_LEAST, 0.25)]))
        .mark_line(color=figures.INK, strokeDash=dash, strokeWidth=1)
        .encode(x="x:Q", y="y:Q")
        for times, dash in ((1.0, [1, 0]), (1.5, [5, 4]))
    ]
    found: alt.TopLevelMixin = alt.layer(*lines, bars, points).properties(width=520, height=380)
    return found


def promise_table(walks: Sequence[Row], caption: str) -> pages.PageTable:
    """Return every point with its interval and slack."""
    head = [
        "set", "asked", "missed", "95 %", "ratio", "calm, usual, restless third", "slack, summed",
        "slack, mean", "windows",
    ]  # fmt: skip
    shown, marks = [], {}
    for place, row in enumerate(walks):
        ratio = row["missed"] / row["asked"]
        marks[place, 4] = "good" if ratio <= 1.5 else "bad"
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


def frontier_chart(walks: Sequence[Row]) -> alt.TopLevelMixin:
    """Return slack by missed windows, one panel per set and resource."""
    shown: list[dict[str, Any]] = []
    for row in walks:
        shared = {"set": _panel(row), "asked": row["asked"]}
        mine = {"missed": max(row["missed"], _LEAST), "given": 1.0 + row["summed"]}
        shown.append({**shared, **mine, "way": OURS})
        shown += [
            {**shared, "missed": mine["missed"], "given": 1.0 + other["summed"], "way": name}
            for name, other in row["baselines"].items()
        ]
    names = [OURS, *dict.fromkeys(row["way"] for row in shown if row["way"] != OURS)]
    colours = [figures.INK, *figures.PALETTE]
    base = alt.Chart(alt.InlineData(shown)).encode(
        x=alt.X(
            "missed:Q", title="missed windows", scale=alt.Scale(type="log", nice=False, padding=8),
            axis=alt.Axis(format="~%", values=[0.005, 0.01, 0.02, 0.05, 0.1, 0.2]),
        ),
        y=alt.Y(
            "given:Q", title="given by needed", scale=alt.Scale(type="log", nice=False, padding=8)
        ),
        color=alt.Color(
            "way:N", title=None, scale=alt.Scale(domain=names, range=colours[: len(names)])
        ),
        tooltip=["way:N", "asked:Q", "missed:Q", "given:Q"],
    )  # fmt: skip
    both = alt.layer(base.mark_line(strokeWidth=1.8), base.mark_point(filled=True, size=35))
    faceted = both.properties(width=330, height=220).facet(
        alt.Facet("set:N", title=None), columns=2
    )
    found: alt.TopLevelMixin = faceted.resolve_scale(x="independent", y="independent")
    return found


def limits_chart(limits: Row) -> alt.TopLevelMixin:
    """Return summed memory limits by violations."""
    shown = [
        {"way": name, "over": max(one["memory_days"], _LEAST), "given": one["memory_sum"]}
        for name, ways in limits["ways"].items()
        for one in ways.values()
    ]
    base = alt.Chart(alt.InlineData(shown)).encode(
        x=alt.X(
            "over:Q", title="machine-days over the limit",
            scale=alt.Scale(type="log", nice=False, padding=8),
            axis=alt.Axis(format="~%", values=[0.01, 0.02, 0.05, 0.1, 0.2]),
        ),
        y=alt.Y("given:Q", title="limits by peaks", scale=alt.Scale(zero=False)),
        color=alt.Color("way:N", title=None, scale=alt.Scale(range=list(figures.PALETTE))),
        tooltip=["way:N", "over:Q", "given:Q"],
    )  # fmt: skip
    found: alt.TopLevelMixin = alt.layer(
        base.mark_line(), base.mark_point(filled=True, size=45)
    ).properties(width=560, height=320)
    return found


def limits_table(limits: Row) -> pages.PageTable:
    """Return all ways and settings of the daily limits."""
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
        for name, ways in limits["ways"].items()
        for setting, one in ways.items()
    ]
    head = [
        "way", "setting", "CPU slack", "samples over", "days over", "memory slack", "days over",
        "limits by peaks",
    ]  # fmt: skip
    return pages.PageTable(head, shown, caption="All ways on the reported half.", folded=True)
