"""Charts of a comparison: Pareto front, measures with intervals, timelines of one seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from kubestow.reports import figures, time_charts
from kubestow.workflows import comparing

BASELINE, FRONT, OTHER = "baseline", "on the front", "dominated"
_WIDTH, _HEIGHT, _FONT, _LINE = 620, 360, 11, 13  # pixels
_KINDS = {BASELINE: figures.INK, FRONT: figures.PALETTE[4], OTHER: figures.PALETTE[0]}


def colours(comparison: comparing.Comparison) -> dict[str, str]:
    """Return a colour for every variant with a line; the baseline is black."""
    palette = iter(figures.PALETTE[1:])
    return {
        one.label: figures.INK if one.label == comparison.baseline else next(palette)
        for one in drawn(comparison)
    }


def drawn(comparison: comparing.Comparison) -> list[comparing.ComparisonResult]:
    """Return the variants whose lines are drawn: baseline, Pareto front, then the others."""
    ranked = sorted(
        comparison.results, key=lambda one: (one.label != comparison.baseline, not one.pareto)
    )
    chosen = {one.label for one in ranked[: len(figures.PALETTE)]}
    return [one for one in comparison.results if one.label in chosen]


def pareto_chart(comparison: comparing.Comparison) -> alt.TopLevelMixin:
    """Return cost against quality with intervals, labels, and the front as a line."""
    cost, quality = comparison.axes
    rows = [_point(one, comparison) for one in comparison.results]
    x_range, y_range = _range(rows, "x"), _range(rows, "y")
    _place_labels(rows, x_range, y_range)
    x = alt.X("x:Q", title=_title(cost), scale=alt.Scale(domain=x_range, nice=False))
    y = alt.Y("y:Q", title=_title(quality), scale=alt.Scale(domain=y_range, nice=False))
    kinds = [kind for kind in _KINDS if any(row["kind"] == kind for row in rows)]
    colour = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=kinds, range=[_KINDS[kind] for kind in kinds]),
        legend=alt.Legend(orient="top"),
    )
    base: Any = alt.Chart(alt.InlineData(values=rows)).encode(color=colour)
    rule = base.mark_rule(strokeWidth=1.5)
    tip = ["label:N", alt.Tooltip("x:Q", title=cost.title), alt.Tooltip("y:Q", title=quality.title)]
    layers = [
        _front_line(rows).encode(x=x, y=y),
        rule.encode(x=alt.X("x_low:Q"), x2="x_high:Q", y=y),
        rule.encode(x=x, y=alt.Y("y_low:Q"), y2="y_high:Q"),
        base.mark_point(filled=True, size=90, opacity=1).encode(x=x, y=y, tooltip=tip),
        base.mark_text(align="left", fontSize=_FONT).encode(
            x=alt.X("label_x:Q"), y=alt.Y("label_y:Q"), text="label:N"
        ),
    ]
    return time_charts.style(alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT))


def _front_line(rows: Sequence[Mapping[str, Any]]) -> Any:
    front = sorted((row for row in rows if row["pareto"]), key=lambda r: (r["x"], -r["y"]))
    return alt.Chart(alt.InlineData(values=front)).mark_line(
        interpolate="step-after", strokeDash=[5, 4], color=_KINDS[FRONT], strokeWidth=1.5
    )


def _range(rows: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """Return the ends of an axis: a margin of 10 % around all intervals, not below 0."""
    low = min(row[f"{name}_low"] for row in rows)
    high = max(row[f"{name}_high"] for row in rows)
    room = 0.1 * (high - low) or 0.1 * high or 1.0
    return [max(low - room, 0.0) if low > 0.0 else -0.3 * room, high + 2.0 * room]


def _place_labels(rows: list[dict[str, Any]], x_range: list[float], y_range: list[float]) -> None:
    """Put every label next to its point, or higher where it would cover another one."""
    x_unit = (x_range[1] - x_range[0]) / _WIDTH
    y_unit = (y_range[1] - y_range[0]) / _HEIGHT
    taken: list[tuple[float, float, float]] = []
    for row in sorted(rows, key=lambda one: (one["y"], one["x"])):
        left, width = row["x"] / x_unit + 8.0, 0.58 * _FONT * len(row["label"])
        height = row["y"] / y_unit + 9.0
        for other_left, other_height, other_width in sorted(taken, key=lambda one: one[1]):
            apart = left > other_left + other_width or other_left > left + width
            if not apart and abs(height - other_height) < _LINE:
                height = other_height + _LINE
        taken.append((left, height, width))
        row["label_x"], row["label_y"] = left * x_unit, height * y_unit


def _title(measure: comparing.RunMeasure) -> str:
    return f"{measure.title} ({measure.unit})" if measure.unit else measure.title


def _point(one: comparing.ComparisonResult, comparison: comparing.Comparison) -> dict[str, Any]:
    kind = FRONT if one.pareto else OTHER
    row: dict[str, Any] = {
        "label": one.label,
        "pareto": one.pareto,
        "kind": BASELINE if one.label == comparison.baseline else kind,
    }
    for name, axis in zip("xy", comparison.axes, strict=True):
        row |= _ends(name, one, axis)
    return row


def _ends(
    name: str, one: comparing.ComparisonResult, measure: comparing.RunMeasure
) -> dict[str, float]:
    summary = one.summary[measure.path]
    half = summary.half_width or 0.0
    ends = {name: 0.0, f"{name}_low": -half, f"{name}_high": half}
    # No measure can be below 0.
    return {
        key: float(f"{max(summary.mean + step, 0.0) * measure.factor:.6g}")
        for key, step in ends.items()
    }


def dot_chart(
    comparison: comparing.Comparison, shown: Sequence[comparing.RunMeasure]
) -> alt.TopLevelMixin:
    """Return one small panel per measure, variants below each other."""
    order = [one.label for one in comparison.results]
    panels = [
        _dots(comparison, measure, order, column % 4 == 0) for column, measure in enumerate(shown)
    ]
    return time_charts.style(alt.concat(*panels, columns=4, spacing=18))


def _dots(
    comparison: comparing.Comparison,
    measure: comparing.RunMeasure,
    order: list[str],
    labelled: bool,
) -> Any:
    rows: list[Mapping[str, Any]] = [
        {"label": one.label, "base": one.label == comparison.baseline, **_ends("x", one, measure)}
        for one in comparison.results
        if measure.path in one.summary
    ]
    base: Any = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labels=labelled, labelLimit=220)),
        color=alt.condition("datum.base", alt.value(figures.INK), alt.value(figures.PALETTE[2])),
    )
    x = alt.X(
        "x:Q", title=None, scale=alt.Scale(zero=False, padding=12), axis=alt.Axis(tickCount=4)
    )
    return alt.layer(
        base.mark_rule(strokeWidth=2.5, opacity=0.6).encode(
            x=alt.X("x_low:Q", title=None), x2="x_high:Q"
        ),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            x=x, tooltip=["label:N", "x:Q", "x_low:Q", "x_high:Q"]
        ),
    ).properties(
        width=190,
        height=alt.Step(20),
        title=alt.TitleParams(_title(measure), fontSize=12, fontWeight="normal", anchor="start"),
    )


def timeline_chart(
    comparison: comparing.Comparison,
    shown: Sequence[comparing.ComparisonResult],
    only: Sequence[str] = (),
) -> alt.TopLevelMixin:
    """Return timelines of the first seed, one line per variant.

    Args:
        comparison: The comparison.
        shown: The variants to draw.
        only: Which panels to draw; all if empty.
    """
    lines = colours(comparison)
    time = time_charts.axis(shown[0].records[0].measures["simulated_seconds"])
    table = pl.concat([_series(one.label, one.records[0]) for one in shown])
    rows = time_charts.records(time_charts.thin(table, ("variant",), highest=("pending",)), time)
    titles = {
        "demand": "requests per second",
        "nodes": "nodes",
        "response": "response (ms)",
        "late": "late or lost per second",
        "ready": "ready pods",
        "pending": "pending pods",
        "use": "CPU used (%)",
    }
    panels = [
        time_charts.Panel(title, lines, field)
        for field, title in titles.items()
        if (not only or field in only)
        and any(row.get(field) for row in rows)
        and (field != "nodes" or len({row["nodes"] for row in rows}) > 1)
    ]
    return time_charts.overlay(rows, panels, "variant", time)


def _series(label: str, record: comparing.CellRecord) -> pl.DataFrame:
    columns = {name: comparing.column(record, name) for name in record.series}
    return pl.DataFrame(
        {
            "time_s": columns["time_s"],
            "variant": [label] * len(columns["time_s"]),
            "demand": columns["demand"],
            "nodes": columns["nodes"],
            "response": 1000 * columns["response_s"],
            "late": columns["missed"],
            "ready": columns["ready"],
            "pending": columns["pending"],
            "use": 100 * columns["eru_cpu"],
        },
        nan_to_null=True,
    )
