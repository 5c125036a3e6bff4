"""The ensemble: near the best candidate, on its own for each series and horizon, and following."""

from __future__ import annotations

import numpy as np
import pytest

from kubestow.model import arrays
from kubestow.policies.forecasting import (
    accuracy,
    backtests,
    baselines,
    ensemble,
    protocols,
    registry,
)
from kubestow.policies.forecasting.smoothing import models
from tests.policies.forecasting import light_models, synthetic_series


def errors(model: protocols.PointForecaster, rows: arrays.Floats, begin: int) -> float:
    result = backtests.run(model, rows, begin, (1, 5))
    return float(np.nanmean(np.abs(result.actual - result.predicted)))


def make_season(points: int, seed: int) -> arrays.Floats:
    rng = np.random.default_rng(seed)
    wave = 5.0 * np.sin(2 * np.pi * np.arange(points) / 24)
    return 20.0 + wave + rng.normal(0.0, 0.5, points)[None, :]


SERIES = {
    "season": np.concatenate([make_season(1500, seed) for seed in range(4)]),
    "walk": np.cumsum(np.random.default_rng(2).normal(size=(8, 1500)), axis=1),
    "noise": 10.0 + np.random.default_rng(3).normal(size=(4, 1500)),
    "autoregression": synthetic_series.arma(4, 1500, ar=(0.5, 0.3), seed=4),
    "bursts": np.random.default_rng(5).pareto(2.0, (4, 1500)),
    "threshold": synthetic_series.threshold(4, 1500, seed=6),
}


@pytest.mark.parametrize("kind", SERIES)
def test_auto_is_never_much_worse_than_its_best_candidate(kind: str) -> None:
    task = registry.ForecastTask(300.0, 5, (1, 5))
    rows = SERIES[kind]
    ours = errors(registry.make_auto(task), rows, 1000)
    best = min(
        errors(registry.FORECASTERS.get(name).make(task), rows, 1000)
        for name in registry.CANDIDATES
    )
    assert ours <= 1.03 * best


def test_weights_differ_by_series_and_horizon_and_add_up_to_one() -> None:
    rows = np.concatenate((SERIES["season"][:1], SERIES["walk"][:1]))
    model = ensemble.Ensemble(
        (baselines.Persistence(), baselines.SeasonalNaive(season=24), baselines.MovingAverage(50)),
        (1, 12),
    ).fit(rows)
    weights = model.weights()
    assert weights.shape == (2, 3, 2)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert weights[0, :, 1].argmax() == 1  # twelve steps ahead the season counts
    assert weights[1, :, 0].argmax() == 0  # of a walk the last value


def test_weights_follow_a_change() -> None:
    rng = np.random.default_rng(7)
    noise = 10.0 + rng.normal(size=600)
    walk = 10.0 + np.cumsum(rng.normal(size=600))
    model = ensemble.Ensemble(
        (baselines.Persistence(), baselines.MovingAverage(20)), (1,), half_life=50.0
    ).fit(noise[None, :])
    assert model.weights()[0, 1, 0] > 0.95
    assert model.update(walk[None, :]).weights()[0, 0, 0] > 0.95


def test_weights_are_powers_of_inverse_errors() -> None:
    errors_ = np.array([[10.0], [20.0]])
    weights = np.empty(2)
    # means 1 and 2 over 10 points; five points of the common 1.5 are added:
    # (10 + 7.5) / 15 = 7/6 and (20 + 7.5) / 15 = 11/6; (7/11) ** 2 = 0.40496
    ensemble.weigh(errors_, np.array([10.0]), 0, 2.0, weights)
    np.testing.assert_allclose(weights, [1 / 1.4049587, 0.4049587 / 1.4049587], rtol=1e-6)


def test_without_any_error_all_have_the_same_say() -> None:
    weights = np.empty(4)
    ensemble.weigh(np.zeros((4, 1)), np.array([9.0]), 0, 20.0, weights)
    assert weights.tolist() == [0.25] * 4
    ensemble.weigh(np.zeros((4, 1)), np.array([0.0]), 0, 20.0, weights)
    assert weights.tolist() == [0.25] * 4


def test_a_past_too_short_to_try_anything_on_is_left_to_the_first_candidate() -> None:
    model = ensemble.Ensemble((baselines.Persistence(), baselines.Drift()), (1, 5))
    fitted = model.fit(np.array([[3.0, 4.0, 5.0]]))
    assert fitted.names == ("persistence",)
    assert fitted.means(2).tolist() == [[5.0, 5.0]]


def test_candidates_the_past_is_too_short_for_are_left_out() -> None:
    task = light_models.TASK
    fitted = registry.make_auto(task).fit(np.arange(40.0)[None, :])
    assert "regression" not in fitted.names
    assert "holt" in fitted.names


def test_first_weights_come_from_the_tail_of_the_past_only() -> None:
    rows = light_models.make_rows(200)
    model = ensemble.Ensemble((baselines.Persistence(), models.Ses()), (1,), half_life=1e9)
    fitted = model.fit(rows)
    # 60 of 200 points are held back; Ses is fitted to the first 140
    ses = models.Ses().fit(rows[:, :140])
    expected = np.concatenate((ses.means(1)[:, :1], ses.roll(rows[:, 140:-1], 1)[:, :, 0]), axis=1)
    np.testing.assert_allclose(
        fitted.errors[:, 1, 0], np.abs(rows[:, 140:] - expected).sum(axis=1), rtol=1e-6
    )
    np.testing.assert_allclose(fitted.totals, 60.0, rtol=1e-6)


def test_what_was_never_negative_is_not_forecast_to_be() -> None:
    falling = np.maximum(100.0 - np.arange(120.0), 0.0)[None, :] + 1.0
    model = ensemble.Ensemble((baselines.Drift(), baselines.LineFit()), (1, 30))
    assert model.fit(falling[:, :100]).means(200).min() == 0.0
    assert model.fit(falling[:, :100] - 50.0).means(200).min() < -50.0


def test_fading_errors_by_hand() -> None:
    # two candidates, one horizon; expected 1 and 2, then 3 and 5; the points are 2 and 4
    result, totals = np.zeros((1, 2, 1)), np.zeros((1, 1))
    expected = np.array([[[[1.0], [2.0]], [[3.0], [5.0]]]])
    points = np.array([[2.0, 4.0]])
    ensemble.learn_errors(result, totals, expected, 1, points, np.array([1]), 0.5)
    # |2 - 1| fades to 0.5, plus |4 - 3| = 1.5; 0 plus |4 - 5| = 1
    assert result[0, :, 0].tolist() == [1.5, 1.0]
    assert totals.tolist() == [[1.5]]


def test_mase_of_auto_beats_persistence_on_what_can_be_learnt() -> None:
    task = registry.ForecastTask(300.0, 5, (1, 5))
    rows = SERIES["season"]
    result = backtests.run(registry.make_auto(task), rows, 1000, (1, 5))
    scale = accuracy.scale(rows[:, :1000])
    mase = accuracy.measure(result.actual[:, :, 1], result.predicted[:, :, 1], scale).mase
    # noise of 0.5 has a mean absolute error of 0.4; one step of the season changes by about 1.1
    assert (mase * scale < 0.45).all()
