"""Stations, shares and memory through their public functions, and in small worlds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.simulation.kernel import random_streams
from kubestow.simulation.usage import cpu_limits, response_times, sharing, stations
from tests.simulation import make


def erlang(servers: int, load: float) -> float:
    """Return Erlang's C as textbooks write it."""
    last = load**servers / math.factorial(servers) / (1 - load / servers)
    return last / (sum(load**k / math.factorial(k) for k in range(servers)) + last)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("servers", [1, 2, 8, 30])
def test_erlang_c_is_the_one_of_textbooks(servers: int, share: float) -> None:
    load = servers * share
    assert stations.erlang_c(servers, load) == pytest.approx(erlang(servers, load))


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("servers", [1, 2, 8])
def test_the_mean_number_inside_is_that_of_m_m_c(servers: int, share: float) -> None:
    work_s = 0.02
    load = servers * share
    expected = load + erlang(servers, load) * share / (1 - share)
    result = stations.in_system(load / work_s, work_s, work_s, servers, servers, 0.0)
    assert result == pytest.approx(expected)


@given(
    before=st.floats(0, 500),
    arrivals=st.floats(0, 200),
    time_s=st.floats(0.5, 60),
    cores=st.floats(0.1, 8),
)
def test_what_leaves_was_there_and_fits_the_cores(
    before: float, arrivals: float, time_s: float, cores: float
) -> None:
    rate = stations.throughput(before, arrivals, time_s, 0.02, 0.02, cores, cores, 0.0)
    assert 0.0 <= rate * time_s <= (before + arrivals * time_s) * (1 + 1e-9)
    assert rate * 0.02 <= cores * (1 + 1e-9)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8, 0.95])
def test_steps_settle_in_the_steady_state(share: float) -> None:
    inside, arrivals = 0.0, 2 * share / 0.02
    for _ in range(400):
        rate = stations.throughput(inside, arrivals, 15.0, 0.02, 0.02, 2.0, 2.0, 0.0)
        inside += (arrivals - rate) * 15.0
    assert rate == pytest.approx(arrivals)
    assert inside == pytest.approx(
        stations.in_system(arrivals, 0.02, 0.02, 2.0, 2.0, 0.0), rel=1e-4
    )


def test_throttling_begins_where_the_limit_is_near() -> None:
    shares = [stations.throttled_share(rate, 0.02, 1.0, 0.0, 0.5, 0.1) for rate in (1, 15, 24, 25)]
    assert shares == sorted(shares)
    assert shares[0] < 0.05
    assert shares[-1] == 1.0
    assert stations.throttled_share(0.0, 0.02, 1.0, 0.2, 0.5, 0.1) == 0.0


def test_a_link_moves_what_it_can() -> None:
    assert sharing.link_share(50.0, 100.0) == 1.0
    assert sharing.link_share(400.0, 100.0) == 0.25
    assert sharing.link_share(1.0, math.inf) == 1.0


def test_percentiles_of_a_histogram_are_within_their_bucket() -> None:
    table = response_times.make_response_table()
    histogram = np.zeros(response_times.BUCKETS)
    response_times.add(histogram, 1000.0, 0.1, 1.0, 1e6, table)  # exponential: variation 1
    assert histogram.sum() == pytest.approx(1000.0)
    # An exponential of mean 0.1 has its median at 0.0693 and its 95 % point at 0.2996.
    assert response_times.percentile(histogram, 0.5) == pytest.approx(0.0693, rel=0.05)
    assert response_times.percentile(histogram, 0.95) == pytest.approx(0.2996, rel=0.05)
    assert response_times.percentile(np.zeros(response_times.BUCKETS), 0.5) is None


def test_a_lone_request_is_slowed_by_its_quota() -> None:
    assert cpu_limits.mean_response_alone(0.02, 1.0, 0.0) == 0.02
    assert cpu_limits.mean_response_alone(0.02, math.inf, 1.0) == 0.02
    # 500 ms with 50 ms of 100 ms: 950 ms from the start of a period (Schubert 2023, 2.8), and down
    # to 900 ms from its middle, where the first slice runs on into the next quota
    assert 0.9 < cpu_limits.mean_response_alone(0.5, 0.5, 0.0) < 0.95
    assert cpu_limits.mean_response_alone(0.5, 0.5, 0.0) < cpu_limits.mean_response_alone(
        0.5, 0.4, 0.0
    )


def test_random_numbers_depend_on_what_they_are_for_only() -> None:
    assert (
        random_streams.stream_key(1, "a", 2)
        == random_streams.stream_key(1, "a", 2)
        != random_streams.stream_key(1, "a2")
    )
    numbers = [random_streams.uniform(random_streams.stream_key(1, "u"), i) for i in range(4000)]
    assert all(0.0 < number < 1.0 for number in numbers)
    assert sum(numbers) / 4000 == pytest.approx(0.5, abs=0.02)
    normals = [random_streams.normal(random_streams.stream_key(1, "n"), i) for i in range(4000)]
    assert sum(normals) / 4000 == pytest.approx(0.0, abs=0.065)
    assert sum(z * z for z in normals) / 4000 == pytest.approx(1.0, abs=0.09)
    assert random_streams.lognormal(5, 1, 10.0, 0.0) == 10.0
    assert random_streams.lognormal(5, 1, 0.0, 3.0) == 0.0


def crowd(*wanted: tuple[str, str, str | None]) -> dict[str, float]:
    """Return the cores that pods get on a node of four: (request, wanted, limit) each."""
    result = []
    for index, (request, cpu, limit) in enumerate(wanted):
        pod = make.pods(cpu=request, memory="1Mi", usage={"cpu": {"mean": cpu}})
        if limit is not None:
            pod["limits"] = {"cpu": limit}
        result.append(make.workload(f"w{index}", pod=pod))
    play = make.start(make.document(*result, nodes=1)).until(20)
    rows = play.world.containers.rows
    return {
        w.name: float(rows["cpu"][play.pod(f"{w.name}-0").container_rows[0]])
        for w in play.world.workloads
    }


def test_without_contention_everyone_gets_what_it_wants() -> None:
    assert crowd(("100m", "3", None), ("100m", "500m", None)) == {"w0": 3.0, "w1": 0.5}


def test_limits_hold_even_on_an_idle_node() -> None:
    assert crowd(("100m", "3", "1")) == {"w0": 1.0}


def test_crowded_cores_are_shared_by_weight_and_leftovers_go_on() -> None:
    result = crowd(("2", "4", None), ("1", "4", None), ("500m", "100m", None))
    assert result["w2"] == pytest.approx(0.1)  # below its share: all it wants
    assert sum(result.values()) == pytest.approx(4.0)
    # cpu.weight of 2 and 1 cores: close to two to one
    assert result["w0"] / result["w1"] == pytest.approx(2.0, rel=0.03)


def test_page_cache_gives_way_and_is_no_reason_to_evict() -> None:
    usage = {"memory": {"mean": "6Gi"}, "cache": "20Gi"}
    result = make.workload(pod=make.pods(memory="6Gi", usage=usage))
    play = make.start(make.document(result, nodes=1)).until(600)
    host = play.world.hosts[0]
    assert host["memory"] + host["cache"] <= host["room"]
    assert host["cache"] > 2**30
    assert play.events("evicted") == []


def test_memory_leaks_until_the_limit_kills() -> None:
    # 3.6 GiB an hour are 1 MiB (and a little) a second; the limit is 100 MiB.
    pod = make.pods(memory="10Mi", limits={"memory": "100Mi"}, usage={"leak": "3600Mi"})
    play = make.start(make.document(make.workload(start=5, pod=pod))).until(110)
    assert play.times("oom-killed") == [110.0]  # 105 MiB at the end of the step, started at 5.005
