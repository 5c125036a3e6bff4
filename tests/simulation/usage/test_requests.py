"""Requests played one by one, against queueing theory, and the rates of stations against both."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.simulation.usage import cpu_limits, requests, response_times, stations
from tests.simulation.usage import throttling

WORK_S = 0.012
SERVICE = np.dtype(
    [
        ("rate", np.float64),
        ("work_s", np.float64),
        ("variability", np.float64),
        ("stream", np.int64),
    ]
)
LOADS = (0.3, 0.5, 0.7, 0.9)


class Played:
    """One pod with so many cores, played for a while."""

    def __init__(
        self,
        rate: float,
        cores: float,
        seconds: float,
        *,
        work_s: float = WORK_S,
        variability: float = 1.0,
        limit: float = math.inf,
        timeout_s: float = 1e9,
        seed: int = 1,
    ) -> None:
        service = np.zeros(1, dtype=SERVICE)
        service[0] = (rate, work_s, variability, 1_000_003 * seed)
        room = int(rate * seconds + 10 * math.sqrt(rate * seconds)) + 10
        self.times, self.works = np.zeros(room), np.zeros(room)
        self.count = requests.draw_arrivals(service[0], 0, 0.0, seconds, self.times, self.works)
        self.histogram = np.zeros(response_times.BUCKETS)
        self.sums = np.zeros(6)
        self.state = np.zeros(1, dtype=requests.PLAY)
        self.used_s = requests.play(
            0,
            self.count,
            self.times,
            self.works,
            np.zeros(room, dtype=np.int64),
            0.0,
            seconds,
            cores,
            limit,
            0.1,
            1.0,
            0.05,
            timeout_s,
            self.state[0],
            np.zeros(requests.ROOM),
            np.zeros(requests.ROOM),
            self.histogram,
            self.sums,
        )

    @property
    def mean_s(self) -> float:
        return float(self.sums[3] / (self.sums[0] + self.sums[1]))


def erlang_response(servers: int, rate: float) -> float:
    """Return the mean response of M/M/c by its textbook sum, written out independently."""
    load = rate * WORK_S
    below = sum(load**k / math.factorial(k) for k in range(servers))
    all_busy = load**servers / math.factorial(servers) / (1 - load / servers)
    waiting = all_busy / (below + all_busy)
    return WORK_S + waiting * WORK_S / (servers * (1 - load / servers))


@pytest.mark.parametrize(("servers", "busy"), list(itertools.product((1, 2, 8), LOADS)))
def test_rates_meet_m_m_c_exactly(servers: int, busy: float) -> None:
    rate = busy * servers / WORK_S
    inside = 0.0
    for _ in range(400):  # steps of 15 s, until nothing changes any more
        gone = stations.throughput(
            inside, rate, 15.0, WORK_S, WORK_S, float(servers), float(servers), 0.0
        )
        inside += 15.0 * (rate - gone)
    assert inside / rate == pytest.approx(erlang_response(servers, rate), rel=1e-6)


@pytest.mark.parametrize(("servers", "busy"), list(itertools.product((1, 2, 8), LOADS)))
def test_played_requests_meet_m_m_c_within_3_percent(servers: int, busy: float) -> None:
    # The mean of a queue at load r varies by about sqrt(2 (1 + r) / n) / (1 - r): at 0.9 a run of
    # 600 000 requests is good for 2.5 %, so eight of them for 0.9 %.
    rate = busy * servers / WORK_S
    seconds = 6.0e5 / rate
    means = [Played(rate, servers, seconds, seed=seed).mean_s for seed in range(1, 9)]
    assert np.mean(means) == pytest.approx(erlang_response(servers, rate), rel=0.03)


@pytest.mark.parametrize(("variability", "busy"), list(itertools.product((0.0, 0.5, 3.0), LOADS)))
def test_one_shared_core_does_not_care_for_the_distribution_of_work(
    variability: float, busy: float
) -> None:
    # M/G/1-PS: s / (1 - r) whatever the distribution.
    rate = busy / WORK_S
    runs = [Played(rate, 1, 6.0e5 / rate, variability=variability, seed=s) for s in range(1, 9)]
    measured = float(np.mean([run.mean_s for run in runs]))
    assert measured == pytest.approx(WORK_S / (1 - busy), rel=0.03)


@pytest.mark.parametrize("variability", [0.0, 0.3, 1.0, 2.5])
def test_work_has_the_mean_and_variation_that_was_asked_for(variability: float) -> None:
    drawn = np.array([requests.draw_work(2.0, variability, 77, i) for i in range(200_000)])
    assert drawn.mean() == pytest.approx(2.0, rel=0.02)
    assert drawn.var() / drawn.mean() ** 2 == pytest.approx(variability, rel=0.05, abs=1e-12)


def test_a_lone_request_under_a_quota_takes_what_the_thesis_says() -> None:
    # 500 ms of work, 50 ms per 100 ms, from the start of a period: 950 ms (Schubert 2023, 2.8).
    finish, arrived = np.zeros(requests.ROOM), np.zeros(requests.ROOM)
    state: Any = np.zeros(1, dtype=requests.PLAY)
    histogram, sums = np.zeros(response_times.BUCKETS), np.zeros(6)
    requests.play(
        0, 1, np.array([0.0]), np.array([0.5]), np.zeros(1, dtype=np.int64), 0.0, 5.0, 1.0, 0.5,
        0.1, 1.0, 9.0, 9.0, state[0], finish, arrived, histogram, sums,
    )  # fmt: skip
    assert sums[3] == pytest.approx(0.95, abs=1e-9)
    assert float(throttling.wall_time(500, 50, 100)) == 950.0


def test_two_requests_side_by_side_use_up_the_quota_together() -> None:
    # Two pieces of 500 ms on two cores share 50 ms per 100 ms: 1925 ms each (Schubert 2023, 2.8).
    finish, arrived = np.zeros(requests.ROOM), np.zeros(requests.ROOM)
    state: Any = np.zeros(1, dtype=requests.PLAY)
    histogram, sums = np.zeros(response_times.BUCKETS), np.zeros(6)
    requests.play(
        0, 2, np.array([0.0, 0.0]), np.array([0.5, 0.5]), np.zeros(2, dtype=np.int64), 0.0, 9.0,
        2.0, 0.5, 0.1, 1.0, 9.0, 9.0, state[0], finish, arrived, histogram, sums,
    )  # fmt: skip
    assert sums[0] == 2
    assert sums[3] / 2 == pytest.approx(1.925, abs=1e-9)


@pytest.mark.parametrize(("limit", "work_s"), [(0.1, 0.036), (0.5, 0.012), (0.5, 0.2)])
@pytest.mark.parametrize("busy", [0.2, 0.5, 0.8])
def test_rates_under_a_limit_are_near_played_requests(
    limit: float, work_s: float, busy: float
) -> None:
    rate = busy * limit / work_s
    runs = [
        Played(rate, 1.0, 2.0e5 / rate, work_s=work_s, limit=limit, seed=seed)
        for seed in range(1, 5)
    ]
    played = float(np.mean([run.mean_s for run in runs]))
    alone_s = cpu_limits.mean_response_alone(work_s, limit, 1.0)
    inside = stations.in_system(rate, work_s, alone_s, limit, 1.0, limit * 0.1)
    assert inside / rate == pytest.approx(played, rel=0.1)


@pytest.mark.parametrize(("servers", "busy"), list(itertools.product((1, 2, 8), (0.3, 0.6, 0.9))))
def test_high_percentiles_of_rates_are_near_played_requests(servers: int, busy: float) -> None:
    run = Played(busy * servers / WORK_S, servers, 20_000.0)
    shared = 1.0 - WORK_S / run.mean_s
    variation = stations.response_variation(1.0, shared)
    result = np.zeros(response_times.BUCKETS)
    response_times.add(
        result, 1.0, run.mean_s, variation, 1e4, response_times.make_response_table()
    )
    for share in (0.95, 0.99):
        modelled, played = (response_times.percentile(h, share) for h in (result, run.histogram))
        assert modelled is not None
        assert modelled == pytest.approx(played, rel=0.12)


@settings(deadline=None, max_examples=40)
@given(
    rate=st.floats(0.5, 200.0),
    cores=st.floats(0.1, 4.0),
    limit=st.sampled_from([math.inf, 0.1, 0.5, 1.5]),
    seed=st.integers(1, 10_000),
)
def test_no_request_and_no_work_is_lost(rate: float, cores: float, limit: float, seed: int) -> None:
    seconds = 20.0
    run = Played(rate, cores, seconds, limit=limit, seed=seed)
    served, timed_out, _, _, refused, _ = run.sums
    assert served + timed_out + refused + run.state["inside"][0] == run.count
    assert run.used_s <= min(cores, limit + (limit * 0.1 / seconds)) * seconds + 1e-9
    assert run.histogram.sum() == served + timed_out


def test_clients_that_give_up_leave_and_are_counted() -> None:
    # Twice the load a core can take for 20 s, clients wait for 2 s: the next look lets them go.
    run = Played(2 / WORK_S, 1.0, 20.0, timeout_s=2.0)
    finish = np.zeros(requests.ROOM)
    inside = int(run.state["inside"][0])
    arrived = np.zeros(requests.ROOM)
    before = run.sums[1]
    requests.give_up(30.0, 2.0, run.state[0], finish, arrived, run.histogram, run.sums)
    assert run.state["inside"][0] == 0
    assert run.sums[1] - before == inside > 0
