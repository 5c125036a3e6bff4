"""The report of a comparison: table with intervals, Pareto front, measures, timelines."""

from __future__ import annotations

from collections.abc import Sequence

from kubestow.reports import comparison_charts, pages
from kubestow.workflows import comparing


def make_page(comparison: comparing.Comparison) -> str:
    """Return the whole report as HTML."""
    priced = comparing.in_currency(comparing.MEASURES, comparison.currency)
    shown = [m for m in priced if any(m.path in one.summary for one in comparison.results)]
    differing = [m for m in shown if comparison.varies(m)]
    blocks: list[pages.Block] = [
        pages.Verdict(comparing.conclude(comparison)),
        pages.Paragraph(_introduction(comparison)),
        _front_table(comparison, differing),
        pages.Heading("Cost against quality"),
        pages.make_figure(
            comparison_charts.pareto_chart(comparison),
            f"Means of {comparison.axes[0].title} and {comparison.axes[1].title} over seeds with "
            "95 % intervals; the line joins the variants that no other variant dominates.",
        ),
        pages.Heading("Measures"),
    ]
    if differing:
        figure = comparison_charts.dot_chart(comparison, differing)
        note = "Mean over seeds and 95 % interval. In the colour of the text: the baseline."
        if len(comparison.results) == 1 or len(comparison.seeds) == 1:
            note = "One seed, no intervals. In the colour of the text: the baseline."
        blocks.append(pages.make_figure(figure, note))
    same = [m for m in shown if m not in differing]
    if same:
        listed = ", ".join(f"{m.title} {m.text(_mean(comparison.results[0], m))}" for m in same)
        blocks.append(pages.Paragraph(f"The same in all runs: {listed}."))
    if len(comparison.results) > 1:
        blocks += [
            pages.Heading("Differences from the baseline"),
            *_differences(comparison, differing),
        ]
    drawn = comparison_charts.drawn(comparison)
    left = len(comparison.results) - len(drawn)
    note = f" {left} variants are left out." if left else ""
    blocks += [
        pages.Heading("Timelines"),
        pages.make_figure(
            comparison_charts.timeline_chart(comparison, drawn),
            f"The run with seed {comparison.seeds[0]} of every variant. CPU used is that of "
            f"services, in percent of requests.{note}",
        ),
    ]
    return pages.render(f"Comparison of {comparison.scenario}", blocks)


def _introduction(comparison: comparing.Comparison) -> str:
    count = len(comparison.seeds)
    paths = ", ".join(comparison.results[0].changes)
    text = f"{len(comparison.results)} variants of {comparison.scenario}, varying {paths}. "
    if count == 1:
        return text + f"Only seed {comparison.seeds[0]} was run: no intervals, no tests."
    return text + (
        f"Every variant ran with seeds {comparison.seeds[0]} to {comparison.seeds[-1]}; "
        f"differences are paired by seed with the baseline {comparison.baseline!r}, tested with a "
        "paired t-test and corrected for the number of all tests (Holm)."
    )


def _mean(one: comparing.ComparisonResult, measure: comparing.RunMeasure) -> float | None:
    summary = one.summary.get(measure.path)
    return None if summary is None else summary.mean


def _front_table(
    comparison: comparing.Comparison, differing: Sequence[comparing.RunMeasure]
) -> pages.PageTable:
    headline = comparing.in_currency(comparing.HEADLINE, comparison.currency)
    head = [m for m in headline if m in differing]
    rows, marks = [], {}
    for index, one in enumerate(comparison.results):
        cells = [one.label]
        for measure in head:
            mark = _mark(one, measure)
            if mark:
                marks[index, len(cells)] = mark
            cells.append(interval_text(one, measure))
        rows.append([*cells, "yes" if one.pareto else ""])
    return pages.PageTable(
        ("variant", *(_column(m) for m in head), "front"),
        rows,
        "Means and 95 % intervals; coloured where better (green) or worse (red) than the baseline "
        "after correction. Mean and p95 are response times; front: on the Pareto front below.",
        marks,
    )


def _column(measure: comparing.RunMeasure) -> str:
    title = measure.short or measure.title
    return f"{title} ({measure.unit})" if measure.unit else title


def interval_text(one: comparing.ComparisonResult, measure: comparing.RunMeasure) -> str:
    """Return mean and half-width of a measure of a variant, for tables."""
    summary = one.summary.get(measure.path)
    if summary is None:
        return "-"
    return measure.interval(summary.mean, summary.half_width)


def _mark(one: comparing.ComparisonResult, measure: comparing.RunMeasure) -> str | None:
    entry = one.against.get(measure.path)
    if (
        entry is None
        or not comparing.differs_from_baseline(entry)
        or measure.better == comparing.NEITHER
        or _printed_alike(one, measure, entry["difference"])
    ):
        return None
    risen = entry["difference"] > 0.0
    return "good" if risen == (measure.better == comparing.HIGHER) else "bad"


def _printed_alike(
    one: comparing.ComparisonResult, measure: comparing.RunMeasure, difference: float
) -> bool:
    summary = one.summary.get(measure.path)  # the sum score has none
    return summary is not None and measure.alike(summary.mean, summary.mean - difference)


def _differences(
    comparison: comparing.Comparison, differing: Sequence[comparing.RunMeasure]
) -> list[pages.PageTable]:
    score = comparing.RunMeasure(
        comparing.SUM_SCORE, "usage plus quality (S)", digits=3, better=comparing.HIGHER
    )
    tables = []
    for one in comparison.results:
        if one.label == comparison.baseline:
            continue
        rows: list[list[str]] = []
        marks = {}
        for measure in (*differing, score):
            entry = one.against.get(measure.path)
            if entry is None:
                continue
            mark = _mark(one, measure)
            if mark:
                marks[len(rows), 1] = mark
            rows.append([measure.title, *_entry(measure, entry)])
        columns = ("measure", "difference", "95 % interval", "ratio", "p", "p (Holm)",
                   "p (signed rank)", "effect", "")  # fmt: skip
        tables.append(
            pages.PageTable(
                columns, rows, f"{one.label} minus {comparison.baseline}", marks, folded=True
            )
        )
    return tables


def _entry(measure: comparing.RunMeasure, entry: dict[str, object]) -> list[str]:
    low, high = _number(entry["low"]), _number(entry["high"])
    interval = "-"
    if low is not None and high is not None:
        ends = [measure.number(end, signed=True) for end in (low, high)]
        interval = " to ".join(ends)
    verdict = str(entry["verdict"])
    if entry.get("interval") == "bootstrap over minutes":
        verdict = "interval over minutes of one run"
    return [
        measure.text(_number(entry["difference"]), signed=True),
        interval,
        _shape("{:.3f}", _number(entry.get("ratio"))),
        _p_text(_number(entry["p"])),
        _p_text(_number(entry["p_holm"])),
        _p_text(_number(entry["p_signed_rank"])),
        _shape("{:+.2f}", _number(entry["effect"])),
        "" if verdict == comparing.TESTED else verdict,
    ]


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _shape(shape: str, value: float | None) -> str:
    return "-" if value is None else shape.format(value)


def _p_text(p: float | None) -> str:
    return "-" if p is None else "< 0.0001" if p < 1e-4 else f"{p:.4f}"
