"""The report of the study of `adaptive`."""

from typing import Any

import altair as alt

from kubestow.reports import figures, pages


def make_page(report: dict[str, Any]) -> str:
    """Return the whole report as HTML."""
    summary = report["summary"]
    rows = report["rows"]
    blocks: list[pages.Block] = [
        pages.Paragraph(
            "Every cell compares all heuristics on the same lists of pods. The excess is the mean "
            "number of nodes relative to the best thesis heuristic of that cell, chosen in "
            f"hindsight. {summary['cells']} cells of {report['lists']} lists, none of them used "
            "to tune adaptive."
        ),
        pages.make_figure(
            make_chart(summary["excess"]), "Mean (dot) and worst (bar end) excess over all cells."
        ),
        pages.PageTable(
            ("heuristic", "mean excess", "worst cell"),
            [
                [name, f"{100 * one['mean']:+.3f} %", f"{100 * one['worst']:+.2f} %"]
                for name, one in summary["excess"].items()
            ],
        ),
        pages.Heading("All cells"),
        pages.PageTable(
            ("demands", "resources", "a", "best", "its nodes", "adaptive", "excess", "95 %"),
            [
                [
                    row["generator"],
                    str(row["dimensions"]),
                    f"{row['a']:g}",
                    row["best"],
                    f"{row['best_mean']:.2f}",
                    f"{row['mean']:.2f}",
                    f"{100 * row['excess']:+.2f} %",
                    f"{100 * row['interval'][0]:+.2f} to {100 * row['interval'][1]:+.2f} %",
                ]
                for row in rows
            ],
            marks={
                (index, 6): "good" if row["verdict"] == "beaten" else "bad"
                for index, row in enumerate(rows)
                if row["verdict"] != "reproduced"
            },
        ),
    ]
    return pages.render("Adaptive packing on settings it was not tuned on", blocks)


def make_chart(excess: dict[str, dict[str, float]]) -> alt.TopLevelMixin:
    """Return mean and worst excess per heuristic, in per cent."""
    points = [
        {"heuristic": name, "mean": 100 * one["mean"], "worst": 100 * one["worst"]}
        for name, one in excess.items()
    ]
    order = sorted(excess, key=lambda name: excess[name]["mean"])
    base = alt.Chart(alt.InlineData(points)).encode(y=alt.Y("heuristic:N", sort=order, title=None))
    bars = base.mark_rule(strokeWidth=5, opacity=0.35, color=figures.PALETTE[2]).encode(
        x=alt.X("mean:Q", title="excess over the best thesis heuristic (%)"), x2="worst:Q"
    )
    dots = base.mark_point(filled=True, size=70, color=figures.INK).encode(x="mean:Q")
    chart: alt.LayerChart = (bars + dots).properties(width=560, height=220)
    return chart
