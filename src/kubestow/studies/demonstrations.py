"""The demonstration: stock Kubernetes against kubestow on a bundled synthetic cluster.

68 workloads of a made-up shop, 1448 pods, on nodes of 16 cores and 48 GiB. Pods arrive in random
order, many times over, so that luck with one order does not decide.
"""

from __future__ import annotations

import csv
import math
import time
from dataclasses import dataclass
from importlib import resources
from typing import Any

import altair as alt
import numpy as np

from kubestow.model import quantities
from kubestow.policies.placing.packing import bounds, exact, heuristics, instances, verifying
from kubestow.reports import pages
from kubestow.studies import packings

CAPACITY = {"cpu": "16", "memory": "48Gi"}
ORDERS = 300  # random orders of arrival
STOCK = "k8s-least"

_HOW = {
    "k8s-least": "stock scheduler",
    "k8s-most": "scheduler configuration",
    "k8s-reweighted": "scheduler configuration",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One way to place pods: mean nodes over the orders, its 95 % half-width, the saving."""

    name: str
    how: str
    nodes: float
    half_width: float
    saving: float
    saving_half_width: float


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What the demonstration found."""

    pods: int
    rows: tuple[Row, ...]
    lower_bound: int
    planned: int
    optimal: bool

    def as_json(self) -> dict[str, Any]:
        """Return the demonstration as plain values."""
        return {
            "pods": self.pods,
            "orders": ORDERS,
            "capacity": CAPACITY,
            "lower_bound": self.lower_bound,
            "planned": self.planned,
            "optimal": self.optimal,
            "results": [
                {
                    "heuristic": row.name,
                    "how": row.how,
                    "nodes": round(row.nodes, 3),
                    "half_width": round(row.half_width, 3),
                    "saving": round(row.saving, 5),
                    "saving_half_width": round(row.saving_half_width, 5),
                }
                for row in self.rows
            ],
        }


def bundled() -> instances.Instance:
    """Return the bundled cluster as an instance, pods in the order of the file."""
    path = resources.files("kubestow.studies") / "data" / "demo_cluster.csv"
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    counts = [int(row["count"]) for row in rows]
    demands = [
        [quantities.parse(row["cpu"]).milli(), quantities.parse(row["memory"]).value()]
        for row in rows
    ]
    node = [
        quantities.parse(CAPACITY["cpu"]).milli(),
        quantities.parse(CAPACITY["memory"]).value(),
    ]
    return instances.make_instance(
        np.repeat(np.array(demands), counts, axis=0),
        node,
        name="bundled shop",
        resources=tuple(CAPACITY),
        items=[row["name"] for row, count in zip(rows, counts, strict=True) for _ in range(count)],
    )


def run(seed: int, seconds: float, watch: packings.Watch = lambda _: None) -> Demonstration:
    """Run the demonstration.

    Args:
        seed: Seed of the orders and of the search.
        seconds: How long to plan with all pods known, for the last line.
        watch: Told what is being done.
    """
    instance = bundled()
    rng = np.random.default_rng(seed)
    shares = instance.demands / instance.shapes.capacity[0]
    lists = np.array([rng.permutation(shares) for _ in range(ORDERS)])
    counts = {}
    for name, heuristic in heuristics.REGISTRY.items():
        watch(name)
        counts[name] = heuristics.count_nodes(lists, heuristic).astype(np.float64)
    watch("planning with all pods known")
    exact.warm_up()
    end = time.monotonic() + seconds
    planned = exact.solve(instance, lambda: end - time.monotonic(), rng=rng)
    verifying.verify(instance, planned.packing)
    bound = max(planned.lower_bound, bounds.quick_bound(instance).value)
    rows = [_row(name, found, counts[STOCK]) for name, found in counts.items()]
    return Demonstration(
        pods=len(instance.demands),
        rows=tuple(sorted(rows, key=lambda row: -row.nodes)),
        lower_bound=bound,
        planned=planned.packing.opened,
        optimal=planned.optimal,
    )


def _row(name: str, found: instances.FloatArray, stock: instances.FloatArray) -> Row:
    saved = 1.0 - found / stock  # paired: the same orders
    return Row(
        name=name,
        how=_HOW.get(name, "kubestow" if name == "adaptive" else "scheduler plugin"),
        nodes=float(found.mean()),
        half_width=_half_width(found),
        saving=float(saved.mean()),
        saving_half_width=_half_width(saved),
    )


def _half_width(values: instances.FloatArray) -> float:
    """Return half the width of a 95 % interval of the mean."""
    return float(1.96 * values.std(ddof=1) / math.sqrt(len(values)))


def chart(found: Demonstration) -> alt.TopLevelMixin:
    """Return the nodes each way of placing needs, with intervals and the lower bound as a line."""
    ways = {
        "stock scheduler": "#5b6472",
        "scheduler configuration": "#c98a1b",
        "scheduler plugin": "#7fa7d4",
        "kubestow": "#17663a",
        "planned, all pods known": "#8a3ffc",
    }
    base = alt.Chart(alt.InlineData(values=_chart_rows(found))).encode(
        y=alt.Y("name:N", sort=alt.EncodingSortField("nodes", order="descending"), title=None),
        color=alt.Color(
            "how:N",
            title="reached by",
            scale=alt.Scale(domain=list(ways), range=list(ways.values())),
        ),
    )
    axis = alt.X("nodes:Q", title="nodes needed (mean, 95 % interval)", scale=alt.Scale(zero=False))
    bound = alt.Chart(alt.InlineData(values=[{"nodes": found.lower_bound}]))
    line = bound.mark_rule(strokeDash=[5, 4], color="#a3271b").encode(x="nodes:Q")
    label = bound.mark_text(
        text="lower bound", align="left", dx=5, dy=-6, y=0, color="#a3271b", baseline="bottom"
    ).encode(x="nodes:Q")
    points = base.mark_point(filled=True, size=90, opacity=1).encode(x=axis)
    spread = base.mark_rule(strokeWidth=3).encode(x="low:Q", x2="high:Q")
    return alt.layer(line, label, spread, points).properties(width=620, height=alt.Step(26))


def report(found: Demonstration) -> str:
    """Return the demonstration as a page that opens offline."""
    rows = [
        [row.name, row.how, f"{row.nodes:.2f} ± {row.half_width:.2f}", _percent(row)]
        for row in found.rows
    ]
    rows.append(["all pods known", "planned", str(found.planned), ""])
    rows.append(["lower bound", "nobody can do better", str(found.lower_bound), ""])
    return pages.render(
        "How many nodes does this cluster need?",
        [
            pages.Paragraph(
                f"{found.pods} pods of a synthetic shop on nodes of 16 cores and 48 GiB, placed "
                f"one by one in {ORDERS} random orders. Stock Kubernetes spreads pods; a change "
                "of its configuration fills nodes instead; kubestow's adaptive heuristic also "
                "looks at the shape of what is free."
            ),
            pages.make_figure(chart(found), "Nodes needed, mean over all orders of arrival."),
            pages.Table(
                ("placed by", "reached by", "nodes", "saved against stock"),
                rows,
                caption="Mean and 95 % interval; savings are paired over the same orders.",
            ),
        ],
    )


def _percent(row: Row) -> str:
    return f"{100 * row.saving:.2f} % ± {100 * row.saving_half_width:.2f}"


def _chart_rows(found: Demonstration) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {
            "name": row.name,
            "how": row.how,
            "nodes": round(row.nodes, 3),
            "low": round(row.nodes - row.half_width, 3),
            "high": round(row.nodes + row.half_width, 3),
        }
        for row in found.rows
    ]
    planned = dict.fromkeys(("nodes", "low", "high"), found.planned)
    return [*rows, {"name": "all pods known", "how": "planned, all pods known", **planned}]
