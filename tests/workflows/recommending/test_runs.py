"""Runs of Jobs and pipelines: how they are found, counted and back-tested."""

from __future__ import annotations

import numpy as np
import pytest

from kubestow.model import usage
from kubestow.model.keys import ContainerKey, WorkloadKey
from kubestow.model.usage import Usage
from kubestow.workflows.recommending import RecommendRequest, recommend, runs

STEP_S, POINTS, LASTS = 300.0, 360, 6  # 30 hours of five minutes, runs of half an hour


def make_runs(kind: str, names: list[str], container: str = "main") -> Usage:
    """Return one run per hour; peaks repeat within 2 %."""
    keys = tuple(ContainerKey("ci", kind, name, container) for name in sorted(set(names)))
    rng = np.random.default_rng(7)
    cpu = np.full((len(names), POINTS), np.nan)
    for run in range(len(names)):
        cpu[run, 12 * run + 3 : 12 * run + 3 + LASTS] = 0.5
    peaks = 1e9 * (1.0 + 0.02 * rng.standard_normal((len(names), 1)))
    owners = np.array([[k.workload for k in keys].index(name) for name in names])
    return usage.arrange(keys, owners, STEP_S, POINTS * STEP_S, cpu, cpu / 0.5 * peaks)


@pytest.mark.parametrize("kind", ["CronJob", "Tekton", "Argo", "GitLab", "Jenkins", "id"])
def test_thirty_runs_in_thirty_hours_are_thirty_runs(kind: str) -> None:
    result = recommend(make_runs(kind, ["tests"] * 30), usage.Inventory(), RecommendRequest())
    one = result.recommendations[0]
    assert (one.evidence, one.backtest.windows, one.backtest.runs) == (30, 29, True)
    assert f"too small in {one.backtest.misses} of 29 runs" in one.why
    assert one.suitable
    assert result.records[0].numbers["runs"] == 30.0


def test_jobs_with_generated_names_are_runs_of_one_workload() -> None:
    names = [f"tests-{29_000_000 + 60 * run}" for run in range(30)]
    result = recommend(make_runs("Job", names), usage.Inventory(), RecommendRequest())
    assert [str(one.key) for one in result.recommendations] == ["ci/CronJob/tests/main"]
    assert result.recommendations[0].evidence == 30


def test_labels_of_tekton_name_the_workload_of_a_run() -> None:
    labels = {"tekton.dev/pipeline": "build", "tekton.dev/pipelineTask": "test"}
    found = runs.name_workload(WorkloadKey("ci", "TaskRun", "build-run-7-test"), labels)
    assert found == WorkloadKey("ci", "Tekton", "build.test")


def test_deployments_keep_their_days() -> None:
    result = recommend(make_runs("Deployment", ["web"] * 30), usage.Inventory(), RecommendRequest())
    assert result.recommendations[0].evidence == 1
    assert not result.recommendations[0].backtest.runs


def test_a_pod_that_may_still_run_is_not_a_run_unless_it_lasted_as_long_as_others() -> None:
    table = make_runs("CronJob", ["tests"] * 30)
    table.memory_bytes[29] = table.cpu_cores[29] = np.nan
    table.memory_bytes[29, -2:], table.cpu_cores[29, -2:] = 9e8, 0.5
    result = recommend(table, usage.Inventory(), RecommendRequest())
    assert result.recommendations[0].evidence == 29
    assert "1 that may still run do not" in result.notes[0]
    table.memory_bytes[29, -LASTS:], table.cpu_cores[29, -LASTS:] = 9e8, 0.5
    result = recommend(table, usage.Inventory(), RecommendRequest())
    assert result.recommendations[0].evidence == 30


def test_a_run_is_back_tested_with_the_runs_before_it_only() -> None:
    table = make_runs("CronJob", ["tests"] * 30)
    table.memory_bytes[29] *= 3.0  # nobody could know
    one = recommend(table, usage.Inventory(), RecommendRequest()).recommendations[0]
    assert (one.backtest.misses or 0) >= 1


def test_bare_pods_with_one_identity_belong_together_and_deployments_stay_what_they_are() -> None:
    labels = {"kubestow_io_id": "nightly-tests"}
    pod = runs.name_workload(WorkloadKey("ci", "Pod", "tests-1f6c2"), labels)
    assert pod == WorkloadKey("ci", "id", "nightly-tests")
    web = WorkloadKey("shop", "Deployment", "web")
    assert runs.name_workload(web, labels) == web


def test_labels_of_kube_state_metrics_name_the_pipeline() -> None:
    key = WorkloadKey("ci", "TaskRun", "build-x7k2p")
    labels = {"tekton_dev_pipeline": "build", "tekton_dev_pipelineTask": "compile"}
    named = runs.name_workload(key, labels)
    assert named.kind == "Tekton"
    assert named == runs.name_workload(
        key, {"tekton.dev/pipeline": "build", "tekton.dev/pipelineTask": "compile"}
    )
