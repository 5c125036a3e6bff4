"""Start-up times: recorded once per pod, their mean and quantiles."""

from __future__ import annotations

import math

import pytest

from kubestow.policies.scaling import observations, startup
from tests.policies.scaling import scenes


def table(*times_s: float) -> observations.PodTable:
    return scenes.with_startups(observations.ready_pods(len(times_s)), times_s)


def test_every_pod_counts_once_and_pods_that_were_never_ready_do_not() -> None:
    observation = startup.Startups().take(table(30.0, math.nan))
    observation = observation.take(table(30.0, math.nan)).take(table(30.0, 50.0))
    assert observation.times_s == (30.0, 50.0)
    # One of two alike goes, another one comes.
    observation = observation.take(table(50.0)).take(table(50.0, 50.0))
    assert observation.times_s == (30.0, 50.0, 50.0)


def test_only_the_latest_times_are_kept() -> None:
    observation = startup.Startups()
    for time_s in range(100):
        observation = observation.take(table(float(time_s)))
    assert len(observation.times_s) == startup.MOST
    assert observation.times_s[-1] == 99.0


def test_quantiles_are_times_that_were_seen() -> None:
    observation = startup.Startups().take(table(10.0, 20.0, 30.0, 40.0))
    assert observation.quantile(0.9, 7.0) == 40.0
    assert observation.quantile(0.5, 7.0) == 30.0
    assert startup.Startups().quantile(0.9, 7.0) == 7.0


def test_the_mean_leaves_out_pods_not_ready_and_outliers_on_demand() -> None:
    # Nine of 10 s and one of 110 s: mean 20, standard deviation 30, so 110 is 3 of them away.
    pods = table(*[10.0] * 9, 110.0, math.nan)
    assert startup.mean(pods) == 20.0
    assert startup.mean(pods, sigmas=3.5) == 20.0
    assert startup.mean(pods, sigmas=2.5) == 10.0
    assert startup.mean(table(5.0, 5.0), sigmas=1.0) == 5.0
    assert startup.mean(table(math.nan)) is None
    assert startup.mean(observations.ready_pods(3)) is None


@pytest.mark.parametrize(
    ("time_s", "steps"), [(0.0, 1), (15.0, 1), (15.001, 2), (45.0, 3), (0.1 * 3 * 50, 1)]
)
def test_steps_cover_a_time(time_s: float, steps: int) -> None:
    assert startup.steps(time_s, 15.0) == steps
