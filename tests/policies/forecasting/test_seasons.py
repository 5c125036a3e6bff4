"""Seasons are detected where there are some, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from kubestow.policies.forecasting import baselines, registry, seasons
from kubestow.policies.forecasting.smoothing import theta


def wave(points: int, period: float, noise: float = 0.0, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    made: np.ndarray = np.sin(2 * np.pi * np.arange(points) / period)
    return made + rng.normal(0.0, noise, points)


@pytest.mark.parametrize("period", [2, 3, 7, 24, 96, 288])
@pytest.mark.parametrize("noise", [0.0, 0.5], ids=["clean", "noisy"])
def test_a_season_is_found(period: int, noise: float) -> None:
    row = wave(6 * max(period, 50), period, noise)
    if period == 2:
        row = np.tile([1.0, -1.0], 150) + np.random.default_rng(0).normal(0.0, noise, 300)
    result = int(seasons.find(row[None, :])[0])
    assert abs(result - period) <= max(0.03 * period, 0)


def test_a_trend_does_not_hide_a_season() -> None:
    row = wave(480, 24, 0.2) + 0.05 * np.arange(480)
    assert seasons.find(row[None, :]).tolist() == [24]


def test_pulses_have_seasons_too() -> None:
    row = np.where(np.arange(600) % 60 < 5, 10.0, 1.0)
    assert seasons.find(row[None, :]).tolist() == [60]


@pytest.mark.parametrize(
    "row",
    [np.full(300, 3.0), np.arange(300.0), np.zeros(300), np.arange(300.0) ** 2],
    ids=["constant", "line", "zero", "parabola"],
)
def test_smooth_series_have_none(row: np.ndarray) -> None:
    assert seasons.find(row[None, :]).tolist() == [seasons.NONE]


def test_noise_and_random_walks_rarely_have_any() -> None:
    rng = np.random.default_rng(4)
    noise = rng.normal(size=(200, 500))
    assert (seasons.find(noise) != seasons.NONE).sum() == 0
    assert (seasons.find(np.cumsum(noise, axis=1)) != seasons.NONE).mean() <= 0.05


def test_fewer_than_three_seasons_are_no_evidence() -> None:
    assert seasons.find(wave(70, 24)[None, :]).tolist() == [seasons.NONE]
    assert seasons.find(wave(80, 24)[None, :]).tolist() == [24]


def test_a_hint_needs_less_evidence_but_some() -> None:
    rows = np.stack((wave(400, 100, 0.5, 1), np.random.default_rng(1).normal(size=400)))
    assert seasons.find(rows, (100,)).tolist() == [100, seasons.NONE]


DAY = 288


def stationary(rng: np.random.Generator, share: float) -> np.ndarray:
    noise = rng.normal(size=(300, 4 * DAY))
    rows = np.zeros(noise.shape)
    for t in range(1, noise.shape[1]):
        rows[:, t] = share * rows[:, t - 1] + noise[:, t]
    return rows


def test_a_day_is_found_behind_noise_and_bursts() -> None:
    # The day explains a sixth of the variance, 0.5 of 0.5 + 2.25, so that the correlation
    # after a day is about 0.18. One burst of a hundred times the amplitude adds 100^2 / 1152 = 8.7
    # to a variance of 0.75.
    rng = np.random.default_rng(5)
    noisy = np.stack([wave(4 * DAY, DAY, 1.5, seed) for seed in range(20)])
    bursts = np.stack([wave(4 * DAY, DAY, 0.5, seed) for seed in range(20)])
    bursts[np.arange(20), rng.integers(0, 4 * DAY, 20)] += 100.0
    for rows in (noisy, bursts):
        assert (seasons.find(rows) == DAY).sum() == 0
        assert (seasons.find(rows, (DAY, 7 * DAY, 12)) == DAY).sum() >= 18


@pytest.mark.parametrize(
    ("share", "most"), [(0.0, 0.03), (0.9, 0.08), (0.99, 0.08), (1.0, 0.06)], ids=str
)
def test_hints_are_rarely_found_where_there_is_no_season(share: float, most: float) -> None:
    rows = stationary(np.random.default_rng(6), share)
    detected = seasons.find(rows, (DAY, 7 * DAY, 12))
    assert (detected == DAY).mean() <= 0.05
    assert (detected != seasons.NONE).mean() <= most


def test_a_hint_that_is_a_trend_or_constant_is_none() -> None:
    rows = np.stack((np.arange(900.0), np.full(900, 2.0), np.repeat([0.0, 5.0], 450)))
    assert seasons.find(rows, (DAY, 12)).tolist() == [seasons.NONE] * 3


def test_parts_of_a_history_are_fitted_with_the_season_of_the_whole() -> None:
    # Four days: the first 0.7 have 2.8 days, too few to show a day on their own.
    row = wave(4 * DAY, DAY, 0.3)[None, :]
    model = baselines.SeasonalNaive(hints=(DAY,))
    detected = seasons.detect(model, row)
    part = row[:, : int(0.7 * row.shape[1])]
    assert model.fit(part).means(1)[0, 0] == part[0, -1]
    assert detected.fit(part).means(1)[0, 0] == part[0, -DAY]
    assert seasons.detect(baselines.Persistence(), row) == baselines.Persistence()


def test_auto_weights_its_candidates_with_the_season_of_the_whole_history() -> None:
    row = 10.0 + 5.0 * wave(int(3.5 * DAY), DAY, 0.1)[None, :]
    task = registry.ForecastTask(300.0, 12)
    fitted = registry.make_auto(task).fit(row)
    weights = dict(zip(fitted.names, fitted.weights()[0, :, -1], strict=True))
    assert weights["holt-winters"] > weights["holt"]


def test_the_likeliest_hint_wins() -> None:
    # a day of 24 hours with the same shape every day: a week fits as well
    row = wave(24 * 7 * 4, 24, 0.1)
    assert seasons.find(row[None, :], (24, 168)).tolist() == [24]


def test_a_week_is_found_where_days_differ() -> None:
    hours = np.arange(24 * 7 * 5)
    busy = np.where(hours // 24 % 7 < 5, 1.0, 0.0)
    row = busy * (2.0 + np.sin(2 * np.pi * hours / 24))
    assert seasons.find(row[None, :], (24, 168)).tolist() == [168]


def test_autocorrelations_are_those_of_the_definition() -> None:
    row = np.array([2.0, 4.0, 6.0, 3.0, 5.0])
    result = seasons.correlate(row[None, :], 2)[0]
    # deviations from 4: -2, 0, 2, -1, 1; squares 4 + 0 + 4 + 1 + 1 = 10, mean 2
    # lag 1: (0 + 0 - 2 - 1) / 4 = -0.75; lag 2: (-4 + 0 + 2) / 3 = -2/3
    np.testing.assert_allclose(result, [1.0, -0.375, -1 / 3])


def test_a_given_season_is_taken_as_it_is() -> None:
    row = wave(100, 24)[None, :]
    assert seasons.choose(row, 10).tolist() == [10]
    assert seasons.choose(row, 200).tolist() == [seasons.NONE]


def test_a_profile_is_the_usual_deviation_by_place() -> None:
    pattern = np.array([0.0, 3.0, -3.0, 0.0])
    row = np.tile(pattern, 10) + 50.0
    row[9] += 100.0  # a single spike must not return
    result = theta.find(row[None, :], np.array([4]))
    np.testing.assert_allclose(result[0], pattern, atol=1e-9)
    # from the sixth point on the places are 2, 3, 0
    assert theta.unroll(result, np.array([4]), 6, 3)[0].round(6).tolist() == [-3.0, 0.0, 0.0]
