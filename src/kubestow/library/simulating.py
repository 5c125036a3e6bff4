"""``kubestow.simulate`` and ``kubestow.compare``: clusters on a virtual clock."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from kubestow.library import results
from kubestow.model import errors, progress
from kubestow.simulation import run, timelines
from kubestow.simulation.outcomes import RunOutcome
from kubestow.workflows import comparing, scenario_files

Scenario = str | Path | Mapping[str, Any]
"""A scenario file, or the decoded document."""

Changes = Mapping[str, Any]
"""Values by path below ``spec``, e.g. ``{"policies.scaling.target.cpu": 0.7}``."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SimulationRun(results.Result):
    """One simulated run.

    Attributes:
        outcome: Measures, time line, events and decisions.
    """

    outcome: RunOutcome

    @property
    def measures(self) -> Mapping[str, Any]:
        """Every measure of the run, with the keys of ``simulate -o json``."""
        return self.outcome.measures

    def to_polars(self) -> pl.DataFrame:
        """Return the time line: one row per moment and workload."""
        return timelines.workloads(self.outcome)

    def nodes(self) -> pl.DataFrame:
        """Return the time line of nodes: one row per moment and node."""
        return timelines.nodes(self.outcome)

    def events(self) -> pl.DataFrame:
        """Return one row per event: time, kind, subject and node."""
        return timelines.events(self.outcome)

    def to_dict(self) -> dict[str, Any]:
        """Return the measures with the keys of ``simulate -o json``."""
        return dict(self.outcome.measures)

    def summary(self) -> str:
        """Return the run in one sentence."""
        measures = self.outcome.measures
        return (
            f"{measures['scenario']}, seed {measures['seed']}: {measures['simulated_seconds']:g} "
            f"s, {measures['node_hours']:.1f} node hours"
        )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ComparisonTable(results.Result):
    """Variants of a scenario side by side.

    Attributes:
        comparison: Rows, paired differences from the baseline, and the Pareto front.
    """

    comparison: comparing.Comparison

    def to_polars(self) -> pl.DataFrame:
        """Return one row per variant, seed and measure."""
        return pl.read_csv(self.comparison.as_csv().encode(), infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison with the keys of ``compare -o json``."""
        return self.comparison.as_json()

    def summary(self) -> str:
        """Return what was compared, in one sentence."""
        comparison = self.comparison
        return (
            f"{comparison.scenario}: {len(comparison.results)} variants, "
            f"{len(comparison.seeds)} seeds, baseline {comparison.baseline}"
        )


def simulate(
    scenario: Scenario, *, seed: int | None = None, changes: Changes | None = None
) -> SimulationRun:
    """Simulate a scenario.

    Args:
        scenario: A file or the decoded document.
        seed: Seed to use instead of the scenario's.
        changes: Values to set in the scenario, by path.

    Raises:
        InputError: With the path of the first mistake.

    Examples:
        >>> from kubestow import testing
        >>> result = simulate(testing.scenario(duration="10m"), seed=3)
        >>> result.measures["seed"], result.measures["oom_kills"]
        (3, 0)
    """
    loaded = scenario_files.load(_source(scenario), _texts(changes))
    return SimulationRun(run.run(loaded.scenario, loaded.inputs, seed))


def compare(
    scenario: Scenario,
    vary: Mapping[str, Sequence[Any]],
    *,
    seeds: int = 5,
    changes: Changes | None = None,
    baseline: str | None = None,
    engine: str = comparing.LOCAL,
    jobs: int = 1,
    out: str | Path | None = None,
) -> ComparisonTable:
    """Compare variants of a scenario, every combination with the same seeds.

    Args:
        scenario: A file or the decoded document.
        vary: Values to try, by path.
        seeds: Number of seeds per variant, counted from the scenario's.
        changes: Values to set in all variants, by path.
        baseline: Label of the variant to compare with; default: the first one.
        engine: ``local`` or ``ray``.
        jobs: Number of parallel processes. With more than one, guard your script with
            ``if __name__ == "__main__"``, since processes are spawned.
        out: Folder that keeps finished runs; runs that are there are not repeated.

    Raises:
        InputError: If the scenario, the grid or one of the variants is invalid.

    Examples:
        >>> from kubestow import testing
        >>> result = compare(testing.scenario(duration="5m"),
        ...                  {"policies.scaling.target.cpu": [0.5, 0.8]}, seeds=2)
        >>> [variant["label"] for variant in result.to_dict()["variants"]]
        ['0.5', '0.8']
    """
    for name, value in (("seeds", seeds), ("jobs", jobs)):
        if value < 1:
            raise errors.InputError(name, f"{value}: must be >= 1")
    chosen = comparing.get_engine(engine)
    varied = [f"{path}={','.join(_text(one) for one in values)}" for path, values in vary.items()]
    grid = comparing.plan_grid(
        _source(scenario), varied, changes=_texts(changes), seeds=seeds, baseline=baseline
    )
    folder = None if out is None else Path(out) / "cells"
    tasks = comparing.make_tasks(grid)
    records = comparing.run_cells(tasks, folder, chosen, jobs, progress.ignore)
    return ComparisonTable(comparing.make_comparison(grid, records))


def _source(scenario: Scenario) -> str | Mapping[str, Any]:
    return str(scenario) if isinstance(scenario, str | Path) else scenario


def _texts(changes: Changes | None) -> list[str]:
    return [f"{path}={_text(value)}" for path, value in (changes or {}).items()]


def _text(value: Any) -> str:
    """Return a value as YAML in one line; plain texts stay as they are."""
    plain = isinstance(value, str) and "," not in value
    if plain and yaml.safe_load(value) == value:
        return str(value)
    return json.dumps(value)
