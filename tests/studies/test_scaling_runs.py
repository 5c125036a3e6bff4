"""Runs of scaling experiments: kept, reused where they fit, and read back."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from kubestow.model.progress import ignore
from kubestow.simulation import run
from kubestow.studies import scaling_runs
from kubestow.studies.mcnaughton import scenarios
from kubestow.workflows import scenario_files
from tests.studies import scenarios as studies_scenarios

TINY: dict[str, Any] = yaml.safe_load(studies_scenarios.TINY)
TINY["spec"]["duration"] = "5m"
TINY["spec"]["recording"] = {"workloads": "60s"}


def task(**more: Any) -> scaling_runs.ScalingTask:
    reactive = scaling_runs.ScalingVariant("reactive", "hpa")
    return replace(scaling_runs.ScalingTask(TINY, "tiny", reactive, 0.6, 3), **more)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of all runs that were really computed."""
    seen: list[int] = []
    real = run.run

    def count(scenario: Any, inputs: Any, seed: int) -> Any:
        seen.append(seed)
        return real(scenario, inputs, seed)

    monkeypatch.setattr(run, "run", count)
    return seen


def test_the_scenario_of_a_run_says_how_it_is_scaled(tmp_path: Path) -> None:
    before = copy.deepcopy(TINY)
    changed = scaling_runs.ScalingVariant(
        "a", "auto", {"spare": 0.2}, {"policies.scaling.max": 5, "step": "5s"}
    )
    value = scaling_runs.document(task(variant=changed, target=0.7))
    scaling = value["spec"]["policies"]["scaling"]
    assert scaling == {
        "scaler": "auto", "target": {"cpu": 0.7}, "parameters": {"spare": 0.2}, "min": 1, "max": 5,
    }  # fmt: skip
    assert value["spec"]["step"] == "5s"
    assert before == TINY


def run_one(folder: Path, **more: Any) -> scaling_runs.ScalingRun:
    (result,) = scaling_runs.run_all([task(**more)], folder, 1, ignore)
    return result


def test_finished_runs_are_kept(tmp_path: Path, counted: list[int]) -> None:
    first = run_one(tmp_path)
    assert run_one(tmp_path) == first
    assert counted == [3]
    variant = scaling_runs.ScalingVariant("reactive", "auto")
    for other in ({"seed": 4}, {"target": 0.5}, {"variant": variant}):
        assert run_one(tmp_path, **other) != first
    assert counted == [3, 4, 3, 3]


@pytest.mark.parametrize("damage", [b"", b"{", b'{"key": "other", "measures": {}, "columns": {}}'])
def test_damaged_files_are_computed_again(
    tmp_path: Path, counted: list[int], damage: bytes
) -> None:
    first = run_one(tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage)
    assert run_one(tmp_path) == first
    assert counted == [3, 3]


def test_the_fingerprint_knows_everything_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    key = scaling_runs.digest(TINY, 3)
    other = copy.deepcopy(TINY)
    other["spec"]["workloads"][0]["replicas"] = 9
    assert len({key, scaling_runs.digest(other, 3), scaling_runs.digest(TINY, 4)}) == 3
    monkeypatch.setattr(scaling_runs, "FORMAT", scaling_runs.FORMAT + 1)
    assert scaling_runs.digest(TINY, 3) != key


def test_all_runs_come_in_the_order_of_their_tasks(tmp_path: Path) -> None:
    reported: list[tuple[float, float, str]] = []
    tasks = [task(seed=seed) for seed in (5, 4)]
    result = scaling_runs.run_all(tasks, tmp_path, 1, lambda *seen: reported.append(seen))
    assert [one.measures["seed"] for one in result] == [5, 4]
    assert reported[-1][:2] == (2.0, 2.0)
    assert {label for _, _, label in reported[1:]} == {
        "tiny-reactive-0.6-s5",
        "tiny-reactive-0.6-s4",
    }


def test_columns_are_those_of_the_first_workload_minute_by_minute(tmp_path: Path) -> None:
    (result,) = scaling_runs.run_all([task()], tmp_path, 1, ignore)
    assert result.columns.keys() == set(scaling_runs.COLUMNS)
    assert result.column("time_s").tolist() == [60.0, 120.0, 180.0, 240.0, 300.0]
    minutes = result.minutes()
    assert minutes.eru == pytest.approx(result.column("used_cpu") / result.column("requested_cpu"))


def test_what_is_not_there_is_not_a_number() -> None:
    run = scaling_runs.ScalingRun("k", {}, {"time_s": [60.0, 120.0], "used_cpu": [0.5, 0.1],
        "requested_cpu": [1.0, 0.0], "response_s": [None, 0.2]})  # fmt: skip
    assert np.isnan(run.column("response_s")[0])
    assert run.minutes().eru[0] == 0.5
    assert np.isinf(run.minutes().eru[1])


@pytest.mark.parametrize("pattern", scenarios.PATTERNS)
def test_the_subject_application_is_the_one_of_the_thesis(pattern: str) -> None:
    value = scenarios.make(pattern, 135.0)
    (web,) = value["spec"]["workloads"]
    assert web["pod"]["requests"]["cpu"] == web["pod"]["limits"]["cpu"] == "100m"
    assert value["spec"]["policies"]["scaling"]["max"] == 30
    # 20 requests of 36 ms at 60 % of a tenth of a core each: 12 pods
    need = 20 * scenarios.CPU_PER_REQUEST_S / (0.6 * scenarios.REQUEST_CORES)
    assert need == pytest.approx(12.0)
    assert value["metadata"]["name"] == f"{pattern}-135s"
    # What the plan of the thesis asks for in all (McNaughton 2016, 4.6); requests are drawn, so
    # roughly.
    asked = {"step-ladder": 12840, "jagged-edge": 12150, "increase-decrease": 19500}
    loaded = scenario_files.read(value, pattern, Path())
    world = run.start(loaded.scenario.spec, 1, loaded.inputs)
    total = float(world.demand[0].sum()) * world.spec.step
    assert total == pytest.approx(asked.get(pattern, 5400), rel=0.01)
