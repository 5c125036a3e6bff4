"""The M/M/c queue against closed forms, sums and a published table."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kubestow.policies.scaling.ahead import queueing

LOADS = st.floats(0.01, 60.0)
SERVERS = st.integers(1, 80)


def erlang_c(servers: int, load: float) -> float:
    """Return Erlang's C by its definition, with Poisson weights instead of factorials."""
    tail = float(stats.poisson.pmf(servers, load)) / (1.0 - load / servers)
    return tail / (float(stats.poisson.cdf(servers - 1, load)) + tail)


@pytest.mark.parametrize(
    ("servers", "load", "expected"),
    [
        (1, 0.5, 0.5),  # one server waits as often as it is busy
        (2, 1.0, 1.0 / 3.0),  # (1/2 / (1/2)) / (1 + 1 + 1)
        (3, 2.0, 4.0 / 9.0),  # (8/6 x 3) / (1 + 2 + 2 + 4)
        (10, 8.0, 0.4092),  # tables of Erlang's C
        (5, 4.0, 0.5541),
    ],
)
def test_the_probability_of_waiting(servers: int, load: float, expected: float) -> None:
    assert queueing.waiting_probability(servers, load) == pytest.approx(expected, abs=5e-5)


@given(SERVERS, LOADS)
def test_the_recursion_equals_the_sum(servers: int, load: float) -> None:
    result = queueing.waiting_probability(servers, load)
    expected = 1.0 if load >= servers else erlang_c(servers, load)
    assert result == pytest.approx(expected, rel=1e-8, abs=1e-300)


def test_nothing_waits_for_nothing_and_an_overload_never_ends() -> None:
    assert queueing.waiting_probability(3, 0.0) == 0.0
    assert queueing.waiting_probability(3, 3.0) == 1.0
    assert queueing.response(3, 30.0, 0.1) == math.inf
    assert queueing.quantile(3, 31.0, 0.1, 0.5) == math.inf


@given(st.floats(0.01, 9.9))
def test_one_server_has_its_closed_form(arrivals: float) -> None:
    # M/M/1: 1 / (mu - lambda), and P(W > t) = rho exp(-(mu - lambda) t)
    assert queueing.response(1, arrivals, 0.1) == pytest.approx(1.0 / (10.0 - arrivals))
    rho = arrivals / 10.0
    wait_s = max(math.log(rho / 0.05) / (10.0 - arrivals), 0.0)
    assert queueing.quantile(1, arrivals, 0.1, 0.95) == pytest.approx(0.1 + wait_s)


@settings(max_examples=60)
@given(
    st.floats(0.1, 400.0), st.floats(0.001, 0.5), st.floats(1.0, 5.0), st.sampled_from([0, 0.95])
)
def test_the_fewest_servers_that_meet_a_time_are_found(
    arrivals: float, service_s: float, patience: float, level: float
) -> None:
    slo_s = service_s * patience

    def meets(servers: int) -> bool:
        if level:
            return queueing.quantile(servers, arrivals, service_s, level) <= slo_s
        return queueing.response(servers, arrivals, service_s) <= slo_s

    result = queueing.servers_needed(arrivals, service_s, slo_s, level, 10_000)
    assert result == 10_000 or meets(result)
    assert result == 1 or not meets(result - 1)


@pytest.mark.parametrize("arrivals", [0.0, -3.0, 1e30])
def test_the_most_is_never_exceeded(arrivals: float) -> None:
    result = queueing.servers_needed(arrivals, 0.1, 0.2, 0.95, 7)
    assert result == (7 if arrivals > 0.0 else 1)
