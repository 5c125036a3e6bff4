"""The closed loop of Boettcher 2023: pipelines in the simulator whose new pods are changed.

The scenario is ``examples/scenarios/pipeline-cluster.yaml``, made from the tables. Recommenders see
what they would see in a cluster: usage of finished runs, OOM kills, and the effect of their own
limits. A killed run fails and starts over in a new pod.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from kubestow.studies.boettcher import tables
from kubestow.studies.options import StudyOptions
from kubestow.workflows import comparing, scenario_files

SEEDS: Final = 5
RECOMMENDERS: Final = ("keep", "vpa", "conformal", "q-learning", "auto")
MEASURES: Final = {
    "oom_kills": "OOM kills",
    "pods_finished": "finished pods",
    "reserved.memory_gib_hours": "memory reserved (GiB hours)",
    "reserved.cpu_core_hours": "CPU reserved (core hours)",
}
_INTERVAL: Final = "15m"
# Duration, period and first start of the pipelines; the thesis does not state them.
_WORK: Final = {1: ("14m", "20m", "3m"), 2: ("16m", "20m", "6m"), 3: ("18m", "30m", "9m")}
_MAIN: Final = "Cucumber-Test"


def run(options: StudyOptions) -> dict[str, Any]:
    """Run the recommenders, and return their measures with intervals over seeds."""
    seeds = range(options.seed, options.seed + options.sample(SEEDS, 1))
    tasks = [make_task(name, seed) for name in RECOMMENDERS for seed in seeds]
    engine = comparing.get_engine(comparing.LOCAL)
    records = comparing.run_cells(
        tasks, options.out / "cells", engine, options.jobs, lambda *_: None
    )
    count = len(seeds)
    return {
        "seeds": list(seeds),
        "measures": MEASURES,
        "rows": [
            _row(name, records[place * count : (place + 1) * count])
            for place, name in enumerate(RECOMMENDERS)
        ],
    }


def _row(name: str, records: list[comparing.CellRecord]) -> dict[str, Any]:
    row: dict[str, Any] = {"recommender": name}
    for path in MEASURES:
        values = [comparing.value_of(record.measures, path) or 0.0 for record in records]
        summary = comparing.summarise_pairs(np.array(values))
        row[path] = {
            "mean": summary.mean,
            "half_width": summary.half_width,
            "by_seed": values,
        }
    return row


def make_task(recommender: str, seed: int) -> comparing.CellTask:
    """Return one run."""
    value = make_scenario(seed)
    value["spec"]["policies"] = {
        "sizing": {"recommender": recommender, "mode": "initial", "interval": _INTERVAL}
    }
    label = f"pipelines, {recommender}"
    loaded = scenario_files.read(value, label, Path())
    key = comparing.digest(loaded, seed)
    return comparing.CellTask(loaded.value, label, "", seed, key, f"{label}, seed {seed}")


def make_scenario(seed: int) -> dict[str, Any]:
    """Return the scenario, without policies."""
    allocatable = {"cpu": "32", "memory": "96Gi", "pods": "110"}
    return {
        "apiVersion": "kubestow.io/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "pipeline-cluster"},
        "spec": {
            "seed": seed,
            "duration": "4h",
            "cluster": {"nodes": [{"name": "n", "count": 6, "allocatable": allocatable}]},
            "workloads": [_pipeline(number) for number in _WORK],
        },
    }


def _pipeline(number: int) -> dict[str, Any]:
    duration, every, first = _WORK[number]
    printed = [one for one in tables.CONTAINERS if one.pod == number]
    main = next(one for one in printed if one.name == _MAIN)
    others = [{"name": c.name.lower(), **_sizes(c)} for c in printed if c is not main]
    return {
        "name": f"pipeline-{number}",
        "kind": "Pipeline",
        "count": 5,
        "pod": {
            **_sizes(main),
            "startup": {"mean": "60s", "jitter": "15s"},
            "containers": [*others, _helper("log-helper"), _helper("network-helper")],
        },
        "work": {"duration": duration, "variability": 0.2, "every": every, "first": first},
    }


def _sizes(printed: tables.Printed) -> dict[str, Any]:
    return {
        "requests": {
            "cpu": f"{printed.cpu_request_m:.0f}m",
            "memory": f"{printed.memory_request_mb:.0f}M",
        },
        "limits": {"memory": f"{printed.memory_limit_mb:.0f}M"},
        "usage": {
            "cpu": {"mean": f"{printed.cpu_average_m:.0f}m", "noise": 0.3},
            "memory": {"mean": f"{printed.memory_max_mb:.0f}M", "noise": 0.015},
        },
    }


def _helper(name: str) -> dict[str, Any]:
    """Return a container that the tables do not show."""
    return {
        "name": name,
        "requests": {"cpu": "10m", "memory": "64M"},
        "usage": {"cpu": {"mean": "5m"}, "memory": {"mean": "40M", "noise": 0.05}},
    }
