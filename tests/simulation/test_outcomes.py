"""Measures: areas, balances, and a run that can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.simulation import recorders, timelines
from kubestow.simulation.kernel.integrals import Area
from tests.simulation import make

GI = 2.0**30


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(-5, 5)), max_size=10), st.integers(0, 9))
def test_an_area_is_the_sum_of_its_pieces(changes: list[tuple[int, int]], rest: int) -> None:
    area, now, value, total, peak = Area(), 0, 0, 0, 0
    for wait, change in changes:
        total += value * wait
        now += wait
        value += change
        peak = max(peak, value)
        area.add(now, change)
    assert area.until(now + rest) == total + value * rest
    assert (area.value, area.peak) == (value, peak)


def table(**columns: list[float]) -> recorders.NodeTable:
    base = {
        "cores": [4.0, 4.0],
        "room": [8.0, 8.0],
        "allocatable_cpu": [4.0, 4.0],
        "allocatable_memory": [8.0, 8.0],
        "requested_cpu": [2.0, 0.0],
        "requested_memory": [8.0, 0.5],
        "used_cpu": [1.0, 0.0],
        "used_memory": [4.0, 1.0],
    }
    return recorders.NodeTable(**{k: np.array(v) for k, v in {**base, **columns}.items()})


def test_balance_is_measured_over_nodes() -> None:
    result = recorders.measure(table())
    # shares of CPU 0.25 and 0: mean 0.125, deviation 0.125; Jain 0.25^2 / (2 x 0.0625) = 0.5
    assert result["imbalance_cpu"] == pytest.approx(0.125)
    assert result["jain_cpu"] == pytest.approx(0.5)
    assert result["utilization_cpu"] == pytest.approx(1 / 8)
    assert result["requested_memory"] == pytest.approx(8.5 / 16)
    # free: (0.5, 0) and (1, 0.9375): most 1.5, least 0.9375
    assert result["fragmentation"] == pytest.approx(0.5625 / 1.5)
    assert result["near_empty"] == 1.0
    # requested and not used: 1 core; 4 bytes on the first node, none on the second
    assert (result["unused_cpu"], result["unused_memory"]) == (1.0, 4.0)


def test_no_nodes_have_no_balance() -> None:
    empty: dict[str, list[float]] = {name: [] for name in recorders.NodeTable.__slots__}
    assert recorders.measure(table(**empty)) == {}
    assert recorders.jain(np.zeros(3)) == 1.0
    assert recorders.fragmentation(np.ones(2), np.ones(2)) == 0.0


def test_three_minutes_counted_by_hand() -> None:
    # Two nodes. web: one pod of 1 core and 1 GiB that uses 0.5 cores and 0.25 GiB. late: one pod
    # of 2 cores and 2 GiB from 60 s on, which starts for 30 s and then uses 1 core for 60 s of
    # work; it is there (and reserved) from 60 to 150.005 s.
    usage = {"cpu": {"mean": "500m"}, "memory": {"mean": "256Mi"}}
    web = make.workload(pod=make.pods(usage=usage))
    late = make.workload(
        "late",
        kind="Job",
        start=60,
        pod=make.pods(cpu="2", memory="2Gi", startup=30, usage={"cpu": {"mean": "1"}}),
        work={"duration": 60},
    )
    document = make.document(web, late, duration=180)
    document["spec"]["cluster"]["nodes"][0]["cost"] = 0.5
    result = make.run(document).measures
    there_s = 90.005
    assert result["pod_hours"] == pytest.approx((180 + there_s) / 3600)
    assert result["node_hours"] == pytest.approx(2 * 180 / 3600)
    assert result["cost"] == pytest.approx(0.05)
    assert result["pending_pod_seconds"] == pytest.approx(0.005)
    # Used: 0.5 x 180 and 1 x 90 core-seconds; reserved: 180 and 2 x 90.005
    assert result["eru"]["cpu"] == pytest.approx((90 + 90) / (180 + 2 * there_s), rel=1e-6)
    assert result["workloads"]["default/late"]["eru"]["cpu"] == pytest.approx(90 / (2 * there_s))
    assert result["eru"]["memory"] == pytest.approx(0.25 * 180 / (180 + 2 * there_s))
    assert result["pods_created"] == 2
    assert result["churn_per_hour"] == pytest.approx(2 / (180 / 3600))  # one came and went
    assert result["response"] == {"mean": None, "p50": None, "p95": None, "p99": None}
    assert result["slo_violation_ratio"] is None
    assert result["workloads"]["default/late"]["startup_seconds"]["mean"] == pytest.approx(30.005)


def test_the_last_seconds_of_a_pod_count() -> None:
    # 100 core-seconds with one core, done at 100.005: the end of the step at 105 finishes the pod.
    job = make.workload("job", kind="Job", pod=make.pods(startup=0), work={"cpuSeconds": 100})
    play = make.start(make.document(job)).until(200)
    assert play.recorder.used_cpu[0] == pytest.approx(100.0, rel=1e-9)


def test_pending_pods_count_as_reserved() -> None:
    huge = make.workload(start=60, pod=make.pods(cpu="100"))
    result = make.run(make.document(huge, duration=120)).measures
    assert result["eru"]["cpu"] == 0.0
    assert result["pending_pod_seconds"] == pytest.approx(60.0)
    assert result["pending_pods_at_end"] == 1


def test_a_duration_that_is_no_multiple_of_the_step_is_simulated_to_its_end() -> None:
    result = make.workload(pod=make.pods(usage={"cpu": {"mean": "500m"}}), **make.service(mean=10))
    outcome = make.run(make.document(result, duration=62)).measures
    assert outcome["simulated_seconds"] == 62.0
    # 10 requests per second for 62 s; 0.5 cores and 10 x 20 ms of the core requested
    assert outcome["requests"]["offered"] == pytest.approx(620.0)
    assert outcome["eru"]["cpu"] == pytest.approx(0.7, rel=1e-3)


def test_the_peak_of_nodes_is_that_of_all_pools_together() -> None:
    # A pool grows to 2 while the other one is at 1, then shrinks before anything else happens.
    pools = [
        {"name": "a", "count": 1, "min": 0, "max": 1, "allocatable": make.NODE},
        {
            "name": "b",
            "count": 0,
            "min": 0,
            "max": 1,
            "provision": 10,
            "cost": 2,
            "allocatable": {"cpu": "16", "memory": "32Gi", "pods": "20"},
        },
    ]
    job = make.workload(
        "job", kind="Job", start=400, pod=make.pods(cpu="8", startup=0), work={"duration": 60}
    )
    rules = {"provisioning": {"enabled": True, "unneeded": 60, "afterAdd": 0}}
    result = make.run(make.document(job, nodes=pools, policies=rules, duration=600)).measures
    # a goes after a minute, b comes at 410: never more than one
    assert result["nodes_peak"] == 1


def test_the_mean_response_of_the_time_line_is_that_of_the_outcome() -> None:
    # Overloaded: many give up after the time-out, and their time counts in both.
    result = make.workload(
        pod=make.pods(limits={"cpu": "1", "memory": "1Gi"}), **make.service(mean=80, timeout=2)
    )
    outcome = make.run(make.document(result, duration=120, recording={"workloads": 120}))
    line = timelines.workloads(outcome)
    assert line["response_s"][0] == pytest.approx(outcome.measures["response"]["mean"])
    assert line["response_s"][0] <= 2.0


def test_tables_have_a_row_per_look() -> None:
    result = make.workload(replicas=2, **make.service())
    outcome = make.run(
        make.document(result, duration=120, recording={"workloads": 30, "nodes": 60})
    )
    assert timelines.workloads(outcome)["time_s"].to_list() == [30.0, 60.0, 90.0, 120.0]
    assert timelines.nodes(outcome).shape[0] == 4
    assert timelines.nodes(outcome)["node"].to_list() == ["n-0", "n-1"] * 2
    assert timelines.workloads(outcome)["demand"].to_list() == pytest.approx([20.0] * 4)
    assert set(timelines.events(outcome)["event"].to_list()) == {"created", "bound", "ready"}
