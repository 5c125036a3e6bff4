"""The simulated drain on a small cluster."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kubestow.model.progress import ignore
from kubestow.studies.schubert.limits import drain
from kubestow.studies.schubert.limits.drain import (
    FIXED,
    RECOMMENDED,
    SPREADING,
    DrainSetting,
    DrainTask,
)

SMALL = DrainSetting("small", 12)
FEW_NODES = 6


def small_scenario() -> dict[str, Any]:
    """Return the bundled cluster with six nodes and two big pods."""
    value = drain.read_scenario()
    spec = value["spec"]
    spec["duration"] = "2h"
    spec["maintenance"][0]["start"] = "20m"
    spec["cluster"]["nodes"][0]["count"] = FEW_NODES
    for workload in spec["workloads"]:
        if workload["name"] == drain.BIG:
            workload["replicas"] = 2
    return value


def run_small(profile: str, folder: Path | None = None) -> drain.DrainRun:
    task = DrainTask(profile, SMALL, 1, small_scenario())
    (result,) = drain.run_tasks([task], folder, ignore)
    return result


def test_the_bundled_cluster_is_that_of_the_thesis() -> None:
    spec = drain.read_scenario()["spec"]
    (pool,) = spec["cluster"]["nodes"]
    assert (pool["count"], pool["allocatable"]["cpu"], pool["capacity"]["cpu"]) == (40, "8", "10")
    assert pool["allocatable"]["memory"] == "48Gi"
    daemons = [one for one in spec["workloads"] if one.get("kind") == "DaemonSet"]
    requested = [one["pod"]["requests"]["cpu"] for one in daemons]
    assert requested == ["1400m", "1", "600m"]  # 3 cores, the smallest sum of the thesis
    (big,) = [one for one in spec["workloads"] if one["name"] == "big"]
    assert (big["replicas"], big["pod"]["requests"]["cpu"]) == (13, "4")


@pytest.mark.parametrize("profile", [SPREADING, RECOMMENDED, FIXED])
def test_every_node_is_drained_and_every_pod_comes_back(profile: str) -> None:
    run = run_small(profile)
    assert run.drained == FEW_NODES
    assert run.pending_at_end == 0
    assert len(run.before) == len(run.after) == FEW_NODES
    for nodes in (run.before, run.after):
        assert sum(node.big for node in nodes) == 2
        assert min(node.requested_cpu for node in nodes) >= 3.0
        assert max(node.requested_cpu for node in nodes) <= 8.0
    requested = [sum(node.requested_memory for node in nodes) for nodes in (run.before, run.after)]
    # Every node is rounded to four decimals.
    assert requested[0] == pytest.approx(requested[1], abs=1e-3)


def test_profiles_of_one_seed_share_their_pods() -> None:
    scenario = small_scenario()
    first, second = (
        drain.fill_scenario(DrainTask(profile, SMALL, 5, scenario))["spec"]
        for profile in (SPREADING, RECOMMENDED)
    )
    assert first["workloads"] == second["workloads"]
    assert first["policies"]["placing"]["profile"] != second["policies"]["placing"]["profile"]
    other = drain.fill_scenario(DrainTask(SPREADING, SMALL, 6, scenario))["spec"]
    assert other["workloads"] != first["workloads"]
    assert "services" not in {one["name"] for one in first["workloads"]}


def test_a_finished_run_is_kept(tmp_path: Path) -> None:
    tasks = [DrainTask(SPREADING, SMALL, 1, small_scenario())]
    seen: list[tuple[float, float, str]] = []
    first = drain.run_tasks(tasks, tmp_path, lambda *done: seen.append(done))
    (path,) = tmp_path.iterdir()
    written = path.stat().st_mtime_ns
    assert drain.run_tasks(tasks, tmp_path, lambda *_: None) == first
    assert path.stat().st_mtime_ns == written
    assert seen == [(0.0, 1.0, ""), (1.0, 1.0, "kube-scheduler-small-s1")]


def make_events(rows: list[tuple[float, str, str, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["time_s", "event", "subject", "detail"], orient="row")


def test_waiting_is_counted_from_being_made_to_being_bound() -> None:
    events = make_events(
        [
            (-1.0, "created", "default/big-0", ""),
            (0.0, "bound", "default/big-0", "n-0"),
            (10.0, "created", "default/big-0", ""),
            (12.0, "created", "default/small-0", ""),
            (13.5, "bound", "default/big-0", "n-1"),
            (20.0, "created", "default/big-1", ""),
        ]
    )
    # 3.5 s until it was bound; the other still waits when the run ends at 50 s.
    assert drain.waits_of(events, "default/big-", 50.0) == [3.5, 30.0]


def test_homes_are_where_big_pods_were_bound_last() -> None:
    events = make_events(
        [
            (0.0, "bound", "default/big-0", "n-0"),
            (0.0, "bound", "default/big-1", "n-0"),
            (0.0, "bound", "default/small-0", "n-0"),
            (5.0, "gone", "default/big-0", ""),
            (6.0, "bound", "default/big-0", "n-1"),
        ]
    )
    assert drain.homes_of(events, 1.0) == {"n-0": 2}
    assert drain.homes_of(events, 5.5) == {"n-0": 1}
    assert drain.homes_of(events, 9.0) == {"n-0": 1, "n-1": 1}
