"""Smoothing against hand-worked steps, a second implementation, and series it was made for."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.tsa import holtwinters

from kubestow.policies.forecasting.smoothing import kernels, models, theta


def test_two_steps_by_hand() -> None:
    # level 10, trend 2, alpha 0.5, beta 0.4, phi 0.9; y = 14
    # expected 10 + 1.8 = 11.8, error 2.2, level 11.8 + 1.1 = 12.9, trend 1.8 + 0.4 * 1.1 = 2.24
    states = np.array([[10.0, 2.0, 0.0]])
    constants = np.array([[0.5, 0.4, 0.9, 0.0]])
    seasons = np.array([1])
    kernels.advance(states, constants, seasons, 0, np.array([[14.0]]))
    np.testing.assert_allclose(states, [[12.9, 2.24, 0.0]])
    means = np.empty((1, 2))
    kernels.forecast(states, constants, seasons, 1, means)
    # 12.9 + 0.9 * 2.24, and 12.9 + (0.9 + 0.81) * 2.24
    np.testing.assert_allclose(means, [[14.916, 16.7304]])


def test_a_seasonal_step_by_hand() -> None:
    # level 10, no trend, season of two: +3, -3; gamma 0.2, alpha 0.5; y = 15 at the first place
    # expected 13, error 2, level 11, season 3.4; next is 11 - 3 = 8, then 11 + 3.4
    model = models.Smoothed(
        np.array([[0.5, 0.0, 1.0, 0.2]]), np.array([[10.0, 0.0, 3.0, -3.0]]), np.array([2]), 0
    )
    np.testing.assert_allclose(model.update(np.array([[15.0]])).means(2), [[8.0, 14.4]])


@pytest.mark.parametrize("season", [1, 4], ids=["holt", "holt-winters"])
def test_the_recursions_are_those_of_statsmodels(season: int) -> None:
    rng = np.random.default_rng(0)
    row = 50.0 + np.cumsum(rng.normal(size=60)) + 4.0 * np.tile([0, 1, 0, -1], 15)
    constants = np.array([[0.4, 0.3, 0.9, 0.25 if season > 1 else 0.0]])
    begin = np.zeros((1, 2 + season))
    begin[0, :2] = 49.0, 0.5
    begin[0, 2:] = [0.0, 3.0, 0.5, -3.5] if season > 1 else 0.0
    ours = models.Smoothed(constants, begin, np.array([season]), 0).roll(row[None, :], 3)
    theirs = holtwinters.ExponentialSmoothing(
        row,
        trend="add",
        damped_trend=True,
        seasonal="add" if season > 1 else None,
        seasonal_periods=season if season > 1 else None,
        initialization_method="known",
        initial_level=49.0,
        initial_trend=0.5,
        initial_seasonal=begin[0, 2:] if season > 1 else None,
    ).fit(
        smoothing_level=0.4,
        smoothing_trend=0.3,
        damping_trend=0.9,
        smoothing_seasonal=0.25 if season > 1 else None,
        optimized=False,
    )
    np.testing.assert_allclose(ours[0, :-1, 0], theirs.fittedvalues[1:], rtol=1e-10)
    # Further than a season there forecasts the last place with the value before its last update.
    np.testing.assert_allclose(ours[0, -1], theirs.forecast(3), rtol=1e-10)


def noisy_level(points: int) -> np.ndarray:
    return 10.0 + np.random.default_rng(1).normal(0.0, 1.0, (1, points))


def test_noise_is_smoothed_away_and_a_random_walk_is_not() -> None:
    noise = noisy_level(2000)
    assert models.Ses().fit(noise).constants[0, kernels.ALPHA] < 0.1
    assert models.Ses().fit(np.cumsum(noise - 10.0, axis=1)).constants[0, kernels.ALPHA] > 0.9


def test_constants_depend_on_the_steps_that_matter() -> None:
    # a level that moves slowly under noise: far horizons want more smoothing than near ones
    rng = np.random.default_rng(2)
    level = 100.0 * np.sin(np.arange(3000) / 200.0) + rng.normal(0.0, 1.0, 3000)
    near = models.Holt(horizons=(1,)).fit(level[None, :])
    far = models.Holt(horizons=(30,)).fit(level[None, :])
    errors = {}
    for name, model in (("near", near), ("far", far)):
        looked = model.restart(level[None, :100]).roll(level[None, 100:], 30)
        errors[name] = [
            np.abs(looked[0, : -h or None, h - 1][: 2900 - h] - level[100 + h :][: 2900 - h]).mean()
            for h in (1, 30)
        ]
    assert errors["near"][0] <= errors["far"][0]
    assert errors["far"][1] < errors["near"][1]


def test_a_trend_is_followed() -> None:
    line = np.arange(200.0)[None, :] * 2.0
    np.testing.assert_allclose(
        models.Holt(damped=False, horizons=(1, 5)).fit(line).means(5)[0],
        400.0 + 2.0 * np.arange(5),
        rtol=1e-3,
    )


def test_holt_winters_beats_holt_on_a_season_and_finds_it() -> None:
    rng = np.random.default_rng(3)
    t = np.arange(1200)
    row = (50.0 + 10.0 * np.sin(2 * np.pi * t / 24) + rng.normal(0.0, 1.0, 1200))[None, :]
    model = models.HoltWinters(horizons=(1, 12)).fit(row[:, :1000])
    assert model.lengths.tolist() == [24]
    errors = [
        np.abs(fitted.roll(row[:, 1000:1188], 12)[0, :, 11] - row[0, 1012:]).mean()
        for fitted in (model, models.Holt(horizons=(1, 12)).fit(row[:, :1000]))
    ]
    assert errors[0] < 1.1  # noise alone has a mean absolute error of 0.8
    assert errors[1] > 5.0


def test_without_a_season_holt_winters_has_no_seasonal_constant() -> None:
    model = models.HoltWinters().fit(noisy_level(300))
    assert model.lengths.tolist() == [1]
    assert model.constants[0, kernels.GAMMA] == 0.0


def test_restarting_keeps_the_constants() -> None:
    rows = noisy_level(300)
    model = models.Ses().fit(rows)
    again = model.restart(rows[:, :200]).update(rows[:, 200:])
    np.testing.assert_allclose(again.means(2), model.means(2))
    np.testing.assert_array_equal(again.constants, model.constants)


def test_theta_is_smoothing_with_half_the_slope() -> None:
    rng = np.random.default_rng(4)
    row = 3.0 * np.arange(300.0)[None, :] + rng.normal(0.0, 1.0, (1, 300))
    model = theta.Theta().fit(row)
    steps = np.diff(model.means(5)[0])
    np.testing.assert_allclose(steps, 1.5, atol=0.01)  # half of 3
    np.testing.assert_allclose(
        model.means(1)[0, 0], models.Ses().fit(row).means(1)[0, 0] + 1.5, atol=0.01
    )


def test_theta_puts_the_season_back() -> None:
    t = np.arange(240)
    row = (10.0 + 4.0 * np.sin(2 * np.pi * t / 12))[None, :]
    expected = 10.0 + 4.0 * np.sin(2 * np.pi * np.arange(240, 264) / 12)
    np.testing.assert_allclose(theta.Theta().fit(row).means(24)[0], expected, atol=0.05)
