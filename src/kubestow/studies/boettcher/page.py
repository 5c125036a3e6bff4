"""The report on requests of repeated runs: verdicts, tables 5.1 to 5.8, learning and a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from kubestow.reports import figures, pages
from kubestow.studies.boettcher import tables, variants

Row = dict[str, Any]
Layers = alt.LayerChart | alt.FacetChart  # return type of alt.layer

_PRINTED: Final = "printed"
# The part of the curves of the rule in figures: look-back in runs, and maximum headroom.
_SHOWN_LOOK_BACK: Final = 5
_SHOWN_HEADROOM: Final = 0.32
_COLOURS: Final = {
    _PRINTED: figures.INK,
    variants.STRICT: figures.PALETTE[1],
    variants.CONVERGING: figures.PALETTE[3],
    variants.CLOSED: figures.PALETTE[0],
    variants.RULE: figures.PALETTE[2],
    variants.OURS: figures.PALETTE[4],
}


def make_page(report: dict[str, Any]) -> str:
    """Return the whole report as HTML."""
    label, runs = report["label"], report["runs"]
    blocks: list[pages.Block] = [
        pages.Paragraph(
            f"All numbers are {label}: no raw data of Boettcher 2023 exist. Average and maximum "
            "usage of 20 containers are drawn around the printed values. Runs above their memory "
            "limit are killed and repeated with a higher limit. "
            f"{runs['of the tables']} runs, then {runs['judged']} that are evaluated; "
            f"{len(report['seeds'])} seeds. Intervals are 95 %, over seeds."
        ),
        *verdicts(report["rows"]),
        pages.Heading("Table 5.1: how fast a request falls"),
        pages.make_figure(
            descent_chart(report["descents"]),
            "Memory request of Recall-Archive-Simulation by evaluation, first seed. The container "
            "uses 515 MB with a spread of 1 %, so 576 MB is the lowest state that covers it. "
            "`q-learning` and the rule coincide.",
        ),
        pages.Heading("Table 5.2: a jump in usage"),
        pages.make_figure(
            shock_chart(report["shocks"]),
            "Usage of each run (bars) and the request during it (lines). A bar above a line is a "
            "killed run. Left: the table alone. Right: the same jump after 20 calm runs.",
        ),
        _shock_table(report["shocks"]),
        pages.Heading("Learning compared with a one-line rule"),
        pages.Paragraph(_ARGUMENT),
        pages.make_figure(
            rule_chart(report["table"], report["rule_curve"]),
            "Share of next runs above their memory request, over headroom. Lower left is better. "
            "The line is the rule ceil64(f x max of the last 5 runs) for f >= 1.",
        ),
        rule_table(report["rivals"]),
        pages.Heading("The closed loop"),
        loop_table(report["closed_loop"]),
        pages.Heading("All variants"),
        _summary(report["table"], report["ways"]),
        pages.Heading("Tables 5.3 to 5.8, side by side"),
        pages.Paragraph(_BANDS),
        side_by_side(report["containers"], "memory_mb", "Memory requests (MB), tables 5.3 to 5.5."),
        side_by_side(
            report["containers"], "cpu_m", "CPU requests (millicores), tables 5.6 to 5.8."
        ),
    ]
    return pages.render("Requests of repeated runs: Boettcher 2023, repeated", blocks)


_ARGUMENT: Final = (
    "The band an agent is rewarded for is known before its first step, and its actions do not "
    "change the usage of the container. So there is nothing to explore: the agents converge to "
    "what one line of arithmetic gives at once. What matters is the number of past runs and the "
    "margin. Agents keep a request while it lies in the band, which in effect remembers more runs "
    "than they see, so the rule is shown with 5 runs and with 20. It never gets more headroom than "
    "the variant it is compared with."
)
_BANDS: Final = (
    "Medians over seeds after 20 runs, spread 3 %. Red: outside the band of the thesis (memory: "
    "maximum to 1.1 x maximum, at least 64 MB wide; CPU: average to maximum, at least one state of "
    "the grid). A CPU request at the average usage of a run is the lowest the thesis allows: CPU "
    "has no limit there, so a run above its request is slowed down only on a full node. To cover "
    "bursts as well, use a percentile; the columns of the other variants show what it costs."
)


def verdicts(rows: Sequence[Row]) -> list[pages.Block]:
    """Return targets and verdicts, one table per variant, without the rows on the rule."""
    shown = [row for row in rows if row["measure"] != "rival"]
    return [
        _verdict_table(variant, [row for row in shown if row["way"] == variant])
        for variant in dict.fromkeys(row["way"] for row in shown)
    ]


def _verdict_table(variant: str, rows: Sequence[Row]) -> pages.PageTable:
    cells = [
        [
            row["statement"].removesuffix(f", `{variant}`"),
            row["thesis"],
            row["found"],
            row["verdict"],
        ]
        for row in rows
    ]
    marks = {
        (place, 3): "bad" if row["verdict"] == "not reproduced" else "good"
        for place, row in enumerate(rows)
    }
    head = ("measure, spread 3 %", "thesis", "measured", "verdict")
    return pages.PageTable(head, cells, f"Targets and verdicts: {variant}.", marks)


def descent_chart(rows: Sequence[Row]) -> alt.TopLevelMixin:
    """Return requests by evaluation."""
    series = {_PRINTED: tables.EVALUATIONS} | {row["way"]: row["requests_mb"] for row in rows}
    data = [
        {"variant": name, "evaluation": place, "mb": value}
        for name, values in series.items()
        for place, value in enumerate(values)
    ]
    chart: alt.TopLevelMixin = (
        alt.Chart(alt.InlineData(data))
        .mark_line(point=True)
        .encode(
            x=alt.X("evaluation:Q", title="evaluation", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("mb:Q", title="memory request (MB)", scale=alt.Scale(domain=[480, 1000])),
            color=_colour(list(series)),
            strokeDash=alt.condition(
                alt.FieldEqualPredicate(field="variant", equal=_PRINTED),
                alt.value([5, 3]),
                alt.value([1, 0]),
            ),
            tooltip=["variant:N", "evaluation:Q", "mb:Q"],
        )
        .properties(width=640, height=280)
    )
    return chart


def shock_chart(rows: Sequence[Row]) -> alt.TopLevelMixin:
    """Return usage and requests by run, alone and after calm runs."""
    panels = []
    for calm in dict.fromkeys(row["calm_runs"] for row in rows):
        series = {row["way"]: row["requests_mb"] for row in rows if row["calm_runs"] == calm}
        if not calm:
            series = {_PRINTED: list(tables.SHOCK_REQUESTS)} | series
        data = [
            {"variant": name, "run": place + 2, "mb": value}
            for name, values in series.items()
            for place, value in enumerate(values[:-1])
        ]
        title = "table 5.2" if not calm else f"after {calm} calm runs"
        panels.append(_shock_panel(data, title))
    chart: alt.TopLevelMixin = alt.hconcat(*panels).resolve_scale(y="shared")
    return chart


def _shock_panel(data: Sequence[Row], title: str) -> Layers:
    used = [{"run": place + 2, "mb": value} for place, value in enumerate(tables.SHOCK_MAXIMA[1:])]
    x = alt.X("run:O", title="run of the table", axis=alt.Axis(labelAngle=0))
    bars = (
        alt.Chart(alt.InlineData(used))
        .mark_bar(color="#d9dee6")
        .encode(x=x, y=alt.Y("mb:Q", title="memory (MB)"))
    )
    lines = (
        alt.Chart(alt.InlineData(list(data)))
        .mark_line(point=True)
        .encode(x=x, y="mb:Q", color=_colour(list(_COLOURS)), tooltip=["variant:N", "mb:Q"])
    )
    return alt.layer(bars, lines, width=320, height=260, title=title)


def _colour(names: Sequence[str]) -> alt.Color:
    domain = [name for name in _COLOURS if name in names]
    scale = alt.Scale(domain=domain, range=[_COLOURS[name] for name in domain])
    return alt.Color("variant:N", title=None, scale=scale, legend=alt.Legend(labelLimit=240))


def _shock_table(rows: Sequence[Row]) -> pages.PageTable:
    shown = [
        [
            row["way"],
            "table 5.2" if not row["calm_runs"] else f"after {row['calm_runs']} calm runs",
            f"{sum(row['misses']) / len(row['misses']):.2f} of 4",
            f"{100 * row['headroom']:.0f} %",
            f"{row['lost_mb']:.0f}",
        ]
        for row in rows
    ]
    head = ("variant", "history", "runs killed", "mean headroom", "lost in killed attempts (MB)")
    return pages.PageTable(head, shown, "The cost of a jump.")


def rule_chart(rows: Sequence[Row], curve: Sequence[Row]) -> alt.TopLevelMixin:
    """Return misses over headroom, one panel per spread."""
    points = [
        {
            "variant": row["way"],
            "spread": row["spread"],
            "headroom": 100.0 * row["headroom"]["mean"],
            "missed": 100.0 * (1.0 - row["covered"]["mean"]),
        }
        for row in rows
        if row["way"] != variants.KEEP
    ]
    charts = []
    for spread in dict.fromkeys(row["spread"] for row in points):
        here = [row for row in points if row["spread"] == spread]
        line = [
            {"headroom": 100.0 * row["headroom"], "missed": 100.0 * row["missed"]}
            for row in curve
            if row["spread"] == spread
            and row["look_back"] == _SHOWN_LOOK_BACK
            and row["factor"] >= 1.0
            and row["headroom"] <= _SHOWN_HEADROOM
        ]
        charts.append(_rule_panel(here, line, f"spread {100 * spread:g} %"))
    chart: alt.TopLevelMixin = alt.hconcat(*charts)
    return chart


def _rule_panel(points: Sequence[Row], line: Sequence[Row], title: str) -> Layers:
    x = alt.X("headroom:Q", title="headroom (%)")
    # Many variants have no misses, which a logarithmic axis cannot show.
    y = alt.Y(
        "missed:Q", title="next runs missed (%)", scale=alt.Scale(type="symlog", constant=0.1)
    )
    names = list(dict.fromkeys(row["variant"] for row in points))
    palette = [*figures.PALETTE, figures.INK, "#4f9dde", "#b5c234", "#e07fb2", "#5f4b32"]
    drawn = alt.Chart(alt.InlineData(list(line))).mark_line(color="#9aa4b2").encode(x=x, y=y)
    marks = (
        alt.Chart(alt.InlineData(list(points)))
        .mark_point(filled=True, size=80, opacity=1.0)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "variant:N",
                title=None,
                scale=alt.Scale(domain=names, range=palette[: len(names)]),
                legend=alt.Legend(labelLimit=240),
            ),
            tooltip=["variant:N", "headroom:Q", "missed:Q"],
        )
    )
    return alt.layer(drawn, marks, width=270, height=280, title=title)


def rule_table(rows: Sequence[Row]) -> pages.PageTable:
    """Return each variant and the rule with no more headroom."""
    shown = [
        [
            row["way"],
            f"{100 * row['spread']:g} %",
            str(row["look_back"]),
            f"{100 * row['headroom']:.1f} % / {100 * row['missed']:.2f} %",
            _describe_rule(row),
            _signed(row["difference"]),
        ]
        for row in rows
    ]
    head = (
        "variant", "spread", "look-back of the rule (runs)", "headroom / missed", "rule",
        "misses, variant - rule (points)",
    )  # fmt: skip
    return pages.PageTable(head, shown, "Misses at equal headroom.")


def _describe_rule(row: Row) -> str:
    shares = f"{100 * row['rule_headroom']:.1f} % / {100 * row['rule_missed']:.2f} %"
    return f"f = {row['factor']:g}: {shares}"


def _signed(tested: Mapping[str, Any]) -> str:
    text = f"{100 * tested['difference']:+.2f}"
    if tested["low"] is None:
        return text
    return f"{text} ({100 * tested['low']:+.2f} to {100 * tested['high']:+.2f})"


def _with_interval(measured: Mapping[str, Any]) -> str:
    """Return a mean with its half-width, which one seed does not have."""
    half = measured["half_width"]
    return f"{measured['mean']:.1f}" + ("" if half is None else f" ({half:.1f})")


def loop_table(loop: Mapping[str, Any]) -> pages.PageTable:
    """Return the recommenders in the simulator: kills, finished pods, reservations."""
    paths = list(loop["measures"])
    shown = [
        [
            row["recommender"],
            *(_with_interval(row[path]) for path in paths),
        ]
        for row in loop["rows"]
    ]
    return pages.PageTable(
        ("recommender", *loop["measures"].values()),
        shown,
        f"Pipelines of tables 5.3 to 5.8 for four hours, only new pods are changed; means over "
        f"{len(loop['seeds'])} seeds, half-widths of 95 % intervals in brackets.",
    )


def _summary(rows: Sequence[Row], settings: Mapping[str, str]) -> pages.PageTable:
    shown = [
        [
            row["way"],
            f"{100 * row['spread']:g} %",
            f"{row['cpu_cores']['mean']:.2f}",
            f"{row['cpu_in_band']['mean']:.1f}",
            f"{100 * row['cpu_covered']['mean']:.1f} %",
            f"{row['memory_mb']['mean']:.0f}",
            f"{row['memory_in_band']['mean']:.1f}",
            f"{100 * row['headroom']['mean']:.1f} %",
            f"{100 * row['covered']['mean']:.2f} %",
            f"{100 * row['killed']['mean']:.2f} %",
            f"{row['early_kills']['mean']:.1f}",
            f"{row['price']['mean']:.3f}",
            f"{row['changes']['mean']:.1f}",
            settings[row["way"]],
        ]
        for row in rows
    ]
    head = (
        "variant", "spread", "cores", "in band", "averages covered", "memory (MB)", "in band",
        "headroom", "next runs covered", "killed", "kills in runs 2-20", "reserved / used",
        "changes in 30 runs", "setting",
    )  # fmt: skip
    return pages.PageTable(
        head,
        shown,
        "Sums after 20 runs; misses and changes in the next 30; means over seeds.",
    )


def side_by_side(rows: Sequence[Row], key: str, caption: str) -> pages.PageTable:
    """Return printed numbers and requests of all variants, with totals; red is outside the band."""
    memory = key == "memory_mb"
    printed = ("memory_max_mb",) if memory else ("cpu_average_m", "cpu_max_m")
    band = "memory_band_mb" if memory else "cpu_band_m"
    names = list(rows[0][key])
    shown, marks = [], {}
    for place, row in enumerate(rows):
        values = [row[key][name] for name in names]
        shown.append([row["container"], *(f"{row[p]:.0f}" for p in printed), *map(_whole, values)])
        for column, value in enumerate(values):
            inside = row[band][0] <= value <= row[band][1]
            marks[place, 1 + len(printed) + column] = "good" if inside else "bad"
    totals = [sum(row[p] for row in rows) for p in printed]
    totals += [sum(row[key][name] for row in rows) for name in names]
    shown.append(["sum", *map(_whole, totals)])
    head = ("container", *(("max",) if memory else ("average", "max")), *names)
    return pages.PageTable(head, shown, caption, marks)


def _whole(value: float) -> str:
    return f"{value:.0f}"
