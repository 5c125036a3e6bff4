"""The report of the forecast study: verdicts, gains and those of the thesis, errors by model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from kubestow.reports import figures, pages
from kubestow.studies import verdicts

Row = dict[str, Any]


def make_page(report: dict[str, Any]) -> str:
    """Return the whole report as HTML."""
    blocks: list[pages.Block] = [
        pages.Paragraph(
            "Forecasts one step ahead on the last 30 % of every group; models were fitted to the "
            "first 70 % only. The thesis (Shi 2023) reports one group of a trace and does not say "
            "how it was selected, so relative gains are compared, not absolute errors."
        ),
        pages.make_figure(
            error_chart(report["groups"]),
            "Mean absolute scaled error one step ahead, one point per group and series; 1 is the "
            "error of the last value (persistence) on the training part.",
        ),
        verdicts.make(report["rows"], "n"),
    ]
    return pages.render("ARIMA, GRU and both combined: Shi 2023, repeated", blocks)


def error_chart(groups: Sequence[Row]) -> alt.TopLevelMixin:
    """Return the errors of all models on all groups."""
    rows = [
        {"kind": group["kind"], "model": model, "group": group["group"], "mase": value}
        for group in groups
        for model, scores in group["models"].items()
        for value in scores["mase"]
        if value is not None and np.isfinite(value)
    ]
    order = list(groups[0]["models"]) if groups else []
    points = (
        alt.Chart(alt.InlineData(rows))
        .mark_point(filled=True, size=50, opacity=0.7)
        .encode(
            x=alt.X("mase:Q", title="MASE", scale=alt.Scale(type="log")),
            y=alt.Y("model:N", title=None, sort=order),
            color=alt.Color("kind:N", title=None, scale=alt.Scale(range=list(figures.PALETTE))),
            tooltip=["group:N", "model:N", "mase:Q"],
        )
    )
    chart: alt.TopLevelMixin = points.properties(width=560, height=220)
    return chart
