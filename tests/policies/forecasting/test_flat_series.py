"""Series that have gone flat: intervals cover what comes, and contain the mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.model import arrays
from kubestow.policies.forecasting import accuracy, backtests, flat_stretches, registry

LEVELS = (0.05, 0.1, 0.5, 0.9, 0.95)
LIVELY, POINTS, STEPS = 300, 900, 12
NAMES = tuple(name for name in registry.FORECASTERS.names() if "gru" not in name)


def constant(rng: np.random.Generator) -> arrays.Floats:
    return np.full(POINTS, 1.55)


def step(rng: np.random.Generator) -> arrays.Floats:
    return np.full(POINTS, 20.0)


def nearly_constant(rng: np.random.Generator) -> arrays.Floats:
    return 1.55 + 1e-3 * rng.normal(size=POINTS)


def rare_peaks(rng: np.random.Generator) -> arrays.Floats:
    return 1.55 + np.where(rng.random(POINTS) < 0.03, rng.exponential(1.0, POINTS), 0.0)


def counts_of_zero(rng: np.random.Generator) -> arrays.Floats:
    return np.zeros(POINTS)


def few_counts(rng: np.random.Generator) -> arrays.Floats:
    return rng.poisson(0.05, POINTS).astype(np.float64)


def make(kind: str, seeds: int = 4) -> arrays.Floats:
    rows = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        row = KINDS[kind](rng)
        lively = rng.poisson(4.0, LIVELY) if "count" in kind else 5.0 + rng.normal(size=LIVELY)
        rows.append(np.concatenate((lively, row[LIVELY:])))
    return np.stack(rows)


KINDS = {
    one.__name__: one
    for one in (constant, step, nearly_constant, rare_peaks, counts_of_zero, few_counts)
}


def roll(name: str, rows: arrays.Floats, begin: int) -> backtests.IntervalBacktest:
    model = registry.FORECASTERS.get(name).make_intervals(registry.ForecastTask(300.0, STEPS))
    return backtests.run_with_intervals(model, rows, begin, range(1, STEPS + 1), LEVELS)


@pytest.mark.parametrize("begin", [LIVELY + 30, 2 * LIVELY], ids=["soon", "later"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_intervals_cover_a_flat_series_and_contain_the_mean(
    name: str, kind: str, begin: int
) -> None:
    tried = roll(name, make(kind), begin)
    actual, quantiles, means = tried.means.actual, tried.quantiles, tried.means.predicted
    assert accuracy.coverage(actual, quantiles, LEVELS, 0.9).mean() >= 0.85
    assert (np.diff(quantiles, axis=3) >= 0.0).all()
    assert (quantiles[..., 1] <= means).all()
    assert (means <= quantiles[..., 3]).all()


@settings(max_examples=25)
@given(
    name=st.sampled_from(NAMES),
    seed=st.integers(0, 1000),
    calm=st.sampled_from([0.0, 1e-9, 1e-3, 1.0]),
    level=st.sampled_from([-7.0, 0.0, 1e-6, 1.55, 1e9]),
    lively=st.integers(0, 80),
)
def test_the_mean_is_inside_and_quantiles_rise(
    name: str, seed: int, calm: float, level: float, lively: int
) -> None:
    rng = np.random.default_rng(seed)
    row = level + calm * rng.normal(size=120)
    row[:lively] += rng.pareto(1.5, lively) - rng.normal(size=lively)
    model = registry.FORECASTERS.get(name).make_intervals(registry.ForecastTask(60.0, 5))
    ahead = model.fit(row[None, :]).predict(8, LEVELS)
    assert (np.diff(ahead.quantiles, axis=2) >= 0.0).all()
    assert (ahead.quantiles[..., 1] <= ahead.mean).all()
    assert (ahead.mean <= ahead.quantiles[..., 3]).all()


@pytest.mark.parametrize("name", ["persistence", "ses", "auto"])
def test_lively_series_get_no_wider_intervals(name: str) -> None:
    rng = np.random.default_rng(3)
    rows = np.stack((10.0 + rng.normal(size=900), np.cumsum(rng.normal(size=900))))
    tried = roll(name, rows, 500)
    covered = accuracy.coverage(tried.means.actual, tried.quantiles, LEVELS, 0.9)
    np.testing.assert_allclose(covered, 0.9, atol=0.05)


def find(values: list[float], width: float, steps: int) -> tuple[list[float], list[float]]:
    rows = flat_stretches.take_tail(np.array([values]), steps)
    low, high = np.empty((1, 1, steps)), np.empty((1, 1, steps))
    flat_stretches.find_bands(rows, np.array([width]), low, high)
    return low[0, 0].tolist(), high[0, 0].tolist()


def test_a_value_counts_as_repeated_when_it_lasted_longer_than_the_horizon() -> None:
    # The last 20 values are 3; 25 of 25 are, so all are equal to the value up to 5 steps before,
    # and 20 - 8 = 12 to that 5 + 8 = 13 steps before, but only 11 to that 14 steps before.
    low, high = find([9.0] * 20 + [3.0] * 25, 0.0, 14)
    assert low == [3.0] * 13 + [np.inf]
    assert high == [3.0] * 13 + [-np.inf]


def test_single_peaks_do_not_end_a_flat_stretch() -> None:
    low, high = find([3.0] * 30 + [8.0, 3.0, 3.0, 0.0, 3.0, 8.0], 0.0, 1)
    assert (low, high) == ([3.0], [3.0])


def test_a_series_that_varies_or_has_just_begun_is_not_flat() -> None:
    for values in ([float(k % 5) for k in range(40)], [3.0] * 15):
        assert find(values, 0.1, 1) == ([np.inf], [-np.inf])
