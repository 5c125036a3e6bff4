"""Comparisons made of given numbers, without a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kubestow import testing
from kubestow.workflows import scenario_files
from kubestow.workflows.comparing import cells, comparison, grid

Values = Mapping[str, Sequence[float]]
_USUAL: dict[str, float] = {
    "cost": 100.0, "node_hours": 240.0, "pod_hours": 900.0, "response.p95": 0.05,
    "slo_violation_ratio": 0.0, "pending_pod_seconds": 600.0, "oom_kills": 0.0,
    "nodes_mean": 10.0, "pod_wait": 6.0, "eru.cpu": 0.1, "eru.memory": 0.2,
}  # fmt: skip


def record(seed: int, values: Mapping[str, float], currency: str) -> cells.CellRecord:
    """Return a cell with some values, the others as usual."""
    measures: dict[str, Any] = {"seed": seed, "simulated_seconds": 86400.0}
    if currency:
        measures["currency"] = currency
    for path, value in {**_USUAL, **values}.items():
        *outer, name = path.split(".")
        place = measures.setdefault(outer[0], {}) if outer else measures
        place[name] = value
    return cells.CellRecord("key", measures, {"time_s": [], "eru_cpu": [], "response_s": []})


def make(
    variants: Mapping[str, Values], seeds: int, currency: str = "USD"
) -> comparison.Comparison:
    """Return a comparison of given numbers; the first variant is the baseline.

    Args:
        variants: Values by variant and path, one per seed.
        seeds: Number of seeds.
        currency: Currency of the cost.
    """
    loaded = scenario_files.load(testing.scenario())
    numbers = tuple(range(1, seeds + 1))
    sweep = grid.ComparisonGrid(
        name="made",
        folder=Path(),
        axes=(),
        variants=tuple(grid.Variant(name, {}, loaded) for name in variants),
        seeds=numbers,
        baseline=next(iter(variants)),
    )
    records = [
        record(seed, {path: row[seed - 1] for path, row in values.items()}, currency)
        for values in variants.values()
        for seed in numbers
    ]
    return comparison.make_comparison(sweep, records)
