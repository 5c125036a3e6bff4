"""Recommenders in the control loop: scenarios, both verdicts, and a tiny run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kubestow.studies.options import StudyOptions
from kubestow.studies.own.sizing_loop import scenarios
from kubestow.studies.own.sizing_loop import study as sizing_loop
from kubestow.workflows import scenario_files
from kubestow.workflows.comparing import cells
from tests.studies import scaling_scenes


def record(seed: int, **changes: float) -> cells.CellRecord:
    result = {"node_hours": 100.0, "oom_kills": 10.0, **changes}
    numbers: dict[str, Any] = {name: value * (1.0 + 0.01 * seed) for name, value in result.items()}
    return cells.CellRecord("key", numbers, {"nodes": [9.0, 8.0, 4.0, 2.0]})


def several(**changes: float) -> list[cells.CellRecord]:
    return [record(seed, **changes) for seed in range(3)]


def all_ways(**auto: float) -> sizing_loop.RecordsByKey:
    return {
        ("services", placing, variant): several(**(auto if variant == "auto" else {}))
        for placing in sizing_loop.PROFILES
        for variant in ("manual", "vpa", "auto")
    }


@pytest.mark.parametrize(
    ("hours", "verdict"), [(80.0, "better"), (120.0, "worse"), (100.0, "no difference")]
)
def test_verdicts_go_by_the_interval_of_differences(hours: float, verdict: str) -> None:
    rows = sizing_loop.make_rows(all_ways(node_hours=hours))
    whole = "services: node hours, `auto` with packing against `manual` with spreading"
    assert scaling_scenes.verdict(rows, whole) == verdict
    rival = "services: node hours, `auto` with packing against `vpa` with packing"
    assert scaling_scenes.verdict(rows, rival) == verdict
    kills = "services: OOM kills, `auto` with packing against `vpa` with packing"
    assert scaling_scenes.verdict(rows, kills) == "no difference"


def test_nodes_at_the_end_are_those_of_the_last_quarter() -> None:
    assert sizing_loop.value_of(record(0), "nodes_end") == 2.0


def test_windows_are_as_long_as_the_interval() -> None:
    auto = next(variant for variant in sizing_loop.VARIANTS if variant.name == "auto")
    result = sizing_loop.make_sizing(auto, 900.0)
    assert result["parameters"] == {
        "tournament": {"windowS": 900.0},
        "conformal": {"windowS": 900.0},
    }
    manual = next(variant for variant in sizing_loop.VARIANTS if variant.name == "manual")
    assert sizing_loop.make_sizing(manual, 900.0) == {"recommender": "keep"}


@pytest.mark.parametrize("name", sizing_loop.SCENARIOS)
def test_scenarios_can_be_read_and_differ_by_seed(name: str) -> None:
    one, again, other = (scenarios.make(name, seed) for seed in (1, 1, 2))
    assert one == again
    assert one["spec"]["workloads"] != other["spec"]["workloads"]
    loaded = scenario_files.read(one, name, Path())
    for workload in loaded.scenario.spec.workloads:
        if workload.sizing is None:
            pod = workload.pod
            assert pod.limits["memory"] == pod.requests["memory"]
            assert pod.limits["cpu"].milli() == 2 * pod.requests["cpu"].milli()


def test_services_use_half_of_their_memory_and_a_fifth_of_their_cores() -> None:
    # Schubert 2023, E1; means over seeds, weighted by requests as a cluster is.
    shares = []
    for seed in range(1, 11):
        spec = scenarios.make(scenarios.SERVICES, seed)["spec"]
        rows = []
        for one in spec["workloads"]:
            if "sizing" in one:
                continue
            pod, replicas = one["pod"], one["replicas"]
            asked = pod["requests"]
            used = pod["usage"]
            rows.append(
                [
                    replicas * used["memory"]["mean"],
                    replicas * float(asked["memory"].removesuffix("Mi")) * 2**20,
                    replicas * used["cpu"]["mean"],
                    replicas * float(asked["cpu"].removesuffix("m")) / 1000.0,
                ]
            )
        sums = np.array(rows).sum(axis=0)
        shares.append((sums[0] / sums[1], sums[2] / sums[3]))
    memory, cpu = np.mean(shares, axis=0)
    assert 0.45 < memory < 0.55
    assert 0.1 < cpu < 0.22


def test_a_tiny_run_writes_its_files_and_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = scenarios.make

    def short(name: str, seed: int) -> dict[str, Any]:
        result = whole(name, seed)
        result["spec"]["duration"] = "1h"
        return result

    monkeypatch.setattr(scenarios, "make", short)
    variants = tuple(
        variant for variant in sizing_loop.VARIANTS if variant.name in ("manual", "vpa", "auto")
    )
    monkeypatch.setattr(sizing_loop, "VARIANTS", variants)
    monkeypatch.setattr(sizing_loop, "SCENARIOS", (scenarios.PIPELINES,))
    options = StudyOptions(tmp_path, quick=True)
    report = sizing_loop.run(options, lambda *_: None)
    assert len(report["table"]) == 2 * 3
    manual, _, auto = report["table"][:3]
    assert manual["sizing.memory_missed"]["mean"] is None
    assert 0.0 <= auto["sizing.memory_missed"]["mean"] < 0.5
    assert auto["eru.memory"]["mean"] > manual["eru.memory"]["mean"]
    assert len(list((tmp_path / "cells").iterdir())) == 2 * 3 * 2
    written = (tmp_path / "results.json").read_bytes()
    assert json.loads(written)["seeds"] == [1, 2]
    scaling_scenes.check_page(tmp_path / "report.html", "auto", "node hours", "verdict")
    scaling_scenes.forbid_runs(monkeypatch)
    sizing_loop.run(options, lambda *_: None)
    assert (tmp_path / "results.json").read_bytes() == written
