"""The heat map of a run: usage of nodes over time."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import polars as pl

from kubestow.reports import time_charts

ROWS = 48
"""Maximum number of rows; more nodes than that are grouped into bands."""

COLUMNS = 96
_WIDTH = 330


def grid(nodes: pl.DataFrame) -> pl.DataFrame:
    """Return usage by row of the heat map and interval of time.

    Up to ``ROWS`` nodes have a row each, in their order. More nodes are ranked by mean CPU usage
    and grouped with their neighbours in that ranking, so the mean of a band hides little.
    """
    shares = nodes.select(
        "time_s",
        "node",
        cpu=pl.col("used_cpu") / pl.col("cores"),
        memory=pl.col("used_memory") / pl.col("room"),
    )
    times = shares["time_s"].unique().sort()
    width = -(-len(times) // COLUMNS)
    first = pl.concat([pl.Series([0.0]), times])[:-1]
    stretches = pl.DataFrame(
        {"time_s": times, "start_s": first, "column": pl.arange(len(times), eager=True) // width}
    )
    return (
        shares.join(stretches, on="time_s")
        .join(_bands(shares), on="node")
        .group_by("band", "row", "column")
        .agg(
            pl.col("start_s").min(),
            pl.col("time_s").max().alias("end_s"),
            pl.col("cpu").mean(),
            pl.col("memory").mean(),
        )
        .sort("band", "column")
    )


def _bands(shares: pl.DataFrame) -> pl.DataFrame:
    """Return row and its position for every node."""
    means = shares.group_by("node", maintain_order=True).agg(pl.col("cpu").mean())
    if len(means) <= ROWS:
        return means.select("node", row=pl.col("node"), band=pl.arange(len(means), eager=True))
    size = -(-len(means) // ROWS)
    ranked = means.sort("cpu", "node", descending=[True, False]).with_row_index("rank")
    band = pl.col("rank") // size
    first, last = band * size + 1, pl.min_horizontal((band + 1) * size, pl.lit(len(means)))
    return ranked.select("node", row=pl.format("{} to {}", first, last), band=band.cast(pl.Int64))


def chart(nodes: pl.DataFrame, time: time_charts.ChartAxis) -> alt.TopLevelMixin:
    """Return CPU and memory side by side."""
    cells = grid(nodes)
    rows = [
        {
            "t": round(one["start_s"] / time.unit_s, 4),
            # A little overlap: browsers leave a thin gap between exact neighbours.
            "u": round((1.2 * one["end_s"] - 0.2 * one["start_s"]) / time.unit_s, 4),
            "row": one["row"],
            "cpu": round(one["cpu"], 4),
            "memory": round(one["memory"], 4),
        }
        for one in cells.iter_rows(named=True)
    ]
    order = cells["row"].unique(maintain_order=True).to_list()
    data = alt.InlineData(values=rows)
    both = [
        _map(name, title, order, time, float(cells[name].to_numpy().max()))
        for name, title in (("cpu", "CPU used of capacity"), ("memory", "memory used of capacity"))
    ]
    return time_charts.style(alt.hconcat(*both, data=data).resolve_scale(color="independent"))


def _map(
    field: str, title: str, order: list[str], time: time_charts.ChartAxis, top: float
) -> alt.Chart:
    # The scale ends at the next tenth, so an idle cluster still shows its pattern.
    scale = alt.Scale(scheme="yellowgreenblue", domain=[0.0, max(0.1, math.ceil(top * 10) / 10)])
    rank = " to " in order[0]
    mark: Any = alt.Chart().mark_rect(clip=True)
    chart: alt.Chart = mark.encode(
        x=alt.X(
            "t:Q",
            title=f"{time.unit} since the start",
            scale=alt.Scale(domain=[0.0, time.end], nice=False),
        ),
        x2="u:Q",
        y=alt.Y(
            "row:N",
            sort=order,
            title="nodes, ranked by mean CPU usage" if rank else None,
            axis=alt.Axis(labelOverlap="greedy", labelLimit=110),
        ),
        color=alt.Color(
            f"{field}:Q",
            scale=scale,
            legend=alt.Legend(
                title=title, orient="top", format=".0%", titleLimit=300, gradientLength=_WIDTH - 20
            ),
        ),
        tooltip=[
            alt.Tooltip("row:N", title="node"),
            alt.Tooltip("t:Q", title=time.unit, format=".2f"),
            alt.Tooltip(f"{field}:Q", title=title, format=".1%"),
        ],
    ).properties(width=_WIDTH, height=alt.Step(14 if len(order) <= 24 else 8))
    return chart
