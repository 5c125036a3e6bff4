"""Direct regression: what it can learn, what it does not believe, and its bounds."""

from __future__ import annotations

import numpy as np
import pytest

from kubestow.model import arrays
from kubestow.policies.forecasting import backtests, baselines, protocols
from kubestow.policies.forecasting.regression import kernels, models
from tests.policies.forecasting import synthetic_series


def error(model: protocols.PointForecaster, rows: arrays.Floats, begin: int, h: int) -> float:
    result = backtests.run(model, rows, begin, (h,))
    return float(np.nanmean(np.abs(result.actual - result.predicted)))


def test_an_autoregression_is_learnt_to_the_noise() -> None:
    rows = synthetic_series.arma(1, 4000, ar=(0.6, 0.3), seed=1)
    model = models.Regression(horizons=(1,))
    # normal noise of variance 1 has a mean absolute error of sqrt(2 / pi) = 0.798
    assert error(model, rows, 3000, 1) < 1.03 * (2 / np.pi) ** 0.5


def test_a_random_walk_is_left_alone() -> None:
    rows = np.cumsum(np.random.default_rng(2).normal(size=(20, 3000)), axis=1)
    walk = error(baselines.Persistence(), rows, 2000, 5)
    anchored = models.Regression(horizons=(5,))
    floating = models.Regression(horizons=(5,), strength=100.0, anchored=False)
    assert error(anchored, rows, 2000, 5) < 1.05 * walk
    assert error(floating, rows, 2000, 5) < 1.015 * walk


def test_a_floating_model_does_not_mind_where_a_series_wanders() -> None:
    rows = synthetic_series.arma(1, 600, ar=(0.7,), seed=2)
    model = models.Regression(anchored=False).fit(rows[:, :500])
    here = model.roll(rows[:, 500:], 1)
    shifted = models.Regression(anchored=False).fit(rows[:, :500] + 1000.0)
    np.testing.assert_allclose(shifted.roll(rows[:, 500:] + 1000.0, 1), here + 1000.0, atol=1e-6)


@pytest.mark.parametrize("period", [24, 60])
def test_a_season_is_used_far_ahead(period: int) -> None:
    t = np.arange(3000)
    rng = np.random.default_rng(3)
    row = 10.0 + 4.0 * (t % period < period // 4) + rng.normal(0.0, 0.2, 3000)
    model = models.Regression(horizons=(1, period // 2))
    assert error(model, row[None, :], 2500, period // 2) < 0.3
    assert error(baselines.Persistence(), row[None, :], 2500, period // 2) > 1.0


def test_a_median_is_forecast_where_bursts_are_rare() -> None:
    rng = np.random.default_rng(4)
    row = np.where(rng.random(3000) < 0.1, 100.0, 1.0) + rng.normal(0.0, 0.1, 3000)
    means = models.Regression().fit(row[None, :2000]).roll(row[None, 2000:], 1)
    # the mean of the series is about 11; the median stays at 1 also after a burst
    assert np.median(means) < 2.0


def test_logarithms_suit_growth_by_factors() -> None:
    # After a burst the median of the next value is a root of it, which no line follows.
    rows = np.exp(1.5 * synthetic_series.arma(10, 3000, ar=(0.6,), seed=6))
    shares = []
    for logarithmic in (False, True):
        model = models.Regression(logarithmic=logarithmic)
        result = backtests.run(model, rows, 2000, (1,))
        shares.append(float(np.nanmedian(np.abs(result.predicted / result.actual - 1.0))))
    plain, logs = shares
    assert logs < 0.97 * plain


def test_a_series_that_was_negative_keeps_the_plain_form() -> None:
    rows = synthetic_series.arma(1, 400, ar=(0.5,), seed=7)
    plain = models.Regression().fit(rows).means(3)
    logs = models.Regression(logarithmic=True).fit(rows).means(3)
    np.testing.assert_array_equal(plain, logs)


def test_logarithms_never_forecast_below_zero() -> None:
    rows = np.abs(synthetic_series.arma(3, 300, ar=(0.5,), seed=8))
    model = models.Regression(logarithmic=True, horizons=(1, 5)).fit(rows[:, :200])
    assert (model.roll(rows[:, 200:], 5) >= 0.0).all()
    assert (model.update(np.full((3, 4), -1.0)).means(5) >= 0.0).all()


def test_strength_draws_to_persistence() -> None:
    rows = synthetic_series.arma(1, 200, ar=(0.2,), seed=9)
    loose, firm = (
        models.Regression(strength=strength).fit(rows).means(1)[0, 0] for strength in (1.0, 1e9)
    )
    assert firm == pytest.approx(rows[0, -1], abs=1e-3)
    assert abs(loose - rows[0, -1]) > 0.1


def test_no_forecast_leaves_all_that_was_ever_seen_by_far() -> None:
    rng = np.random.default_rng(10)
    rows = np.cumsum(rng.normal(size=(5, 300)), axis=1)
    model = models.Regression(horizons=(1, 10)).fit(rows[:, :200])
    jumped = rows[:, 200:] + 1e4 * (np.arange(100) % 7 == 0)
    means = model.roll(jumped, 10)
    largest = max(np.abs(rows[:, 10:200] - rows[:, :190]).max(), 30.0)
    now = jumped[:, :, None]
    low = np.minimum(rows[:, :200].min(axis=1)[:, None, None], now - largest)
    high = np.maximum(rows[:, :200].max(axis=1)[:, None, None], now + largest)
    assert (means >= low - 1e-6).all()
    assert (means <= high + 1e-6).all()


def test_steps_between_horizons_are_interpolated_and_further_ones_use_the_last() -> None:
    lower, upper, share = models._between(np.array([1, 3, 7]), 9)
    assert lower.tolist() == [0, 0, 1, 1, 1, 1, 2, 2, 2]
    assert upper.tolist() == [0, 1, 1, 2, 2, 2, 2, 2, 2]
    assert share.tolist() == [0.0, 0.5, 0.0, 0.25, 0.5, 0.75, 0.0, 0.0, 0.0]


def test_horizons_may_begin_after_the_first_step() -> None:
    rows = synthetic_series.arma(1, 200, ar=(0.9,), seed=1)
    assert models.Regression(horizons=(5,)).fit(rows).means(3).shape == (1, 3)


def test_features_are_deviations_from_the_present() -> None:
    y = np.arange(20.0) ** 2 / 10
    x = np.empty(2 + 1 + 5 + 2)
    sums = kernels.accumulate(y)
    kernels.fill(x, y, sums, 15, 2, np.array([1, 3]), np.array([4]), np.array([6]), 2, True)
    now = y[15]
    reach = 1  # a season of 6 is shorter than 24, so one value to both sides
    around = y[11 - reach : 11 + reach + 1].mean()
    earlier = y[5 - reach : 5 + reach + 1].mean()
    present = y[9 - reach : 9 + reach + 1].mean()
    before = y[3 - reach : 3 + reach + 1].mean()
    expected = [
        y[14] - now, y[12] - now, y[12:16].mean() - now,
        y[11] - now, around - now, (around + earlier) / 2 - now,
        y[9] - now, (present + before) / 2 - now,
        -now, 1.0,
    ]  # fmt: skip
    np.testing.assert_allclose(x, expected, rtol=1e-12)


def test_a_mean_around_a_value_does_not_reach_into_the_future() -> None:
    y = np.zeros(200)
    sums = kernels.accumulate(y)
    x = np.empty(7)
    for t in range(60, 150):
        future = y.copy()
        future[t + 1 :] = 1e6
        for h in (1, 20, 48, 50, 120):
            args = (t, h, np.empty(0, np.int64), np.empty(0, np.int64), np.array([48]), 3, True)
            kernels.fill(x, y, sums, *args)
            other = np.empty(7)
            kernels.fill(other, future, kernels.accumulate(future), *args)
            np.testing.assert_array_equal(x, other)


def test_the_solver_solves() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(8, 8))
    matrix = root @ root.T + np.eye(8)
    right = rng.normal(size=8)
    np.testing.assert_allclose(kernels.solve(matrix, right), np.linalg.solve(matrix, right))


def test_many_origins_are_thinned_out_evenly() -> None:
    rows = synthetic_series.arma(1, 3000, ar=(0.6, 0.3), seed=1)
    model = models.Regression(horizons=(1,), most_origins=500)
    assert error(model, rows, 2500, 1) < 1.06 * (2 / np.pi) ** 0.5
