"""Forecasts that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from kubestow.policies.forecasting import baselines

ROW = np.array([[1.0, 4.0, 2.0, 6.0, 3.0, 8.0]])


def test_persistence_repeats_the_last_value() -> None:
    model = baselines.Persistence().fit(ROW)
    assert model.means(3).tolist() == [[8.0, 8.0, 8.0]]
    assert model.roll(np.array([[5.0, 9.0]]), 2).tolist() == [[[5.0, 5.0], [9.0, 9.0]]]


def test_a_season_is_repeated_as_often_as_needed() -> None:
    model = baselines.SeasonalNaive(season=4).fit(ROW)
    # the last season is 2, 6, 3, 8
    assert model.means(6).tolist() == [[2.0, 6.0, 3.0, 8.0, 2.0, 6.0]]
    # after 5 it is 6, 3, 8, 5
    assert model.roll(np.array([[5.0]]), 5).tolist() == [[[6.0, 3.0, 8.0, 5.0, 6.0]]]


def test_each_series_has_its_own_season() -> None:
    t = np.arange(240)
    rows = np.stack((np.sin(2 * np.pi * t / 24), np.sin(2 * np.pi * t / 40), t * 0.1))
    model = baselines.SeasonalNaive().fit(rows)
    assert model.lengths.tolist() == [24, 40, 1]
    ahead = model.means(40)
    np.testing.assert_allclose(ahead[0], np.sin(2 * np.pi * (240 + np.arange(40)) / 24), atol=1e-9)
    np.testing.assert_allclose(ahead[1], np.sin(2 * np.pi * (240 + np.arange(40)) / 40), atol=1e-9)
    np.testing.assert_allclose(ahead[2], 23.9)  # no season: persistence


def test_a_season_longer_than_the_past_is_none() -> None:
    assert baselines.SeasonalNaive(season=7).fit(ROW).means(2).tolist() == [[8.0, 8.0]]


def test_drift_follows_the_line_from_first_to_last() -> None:
    model = baselines.Drift().fit(ROW)
    # (8 - 1) / 5 = 1.4 per step
    np.testing.assert_allclose(model.means(3), [[9.4, 10.8, 12.2]])
    # after 15: (15 - 1) / 6 = 7 / 3 per step
    np.testing.assert_allclose(model.update(np.array([[15.0]])).means(1), [[15.0 + 7 / 3]])


def test_a_moving_average_is_the_mean_of_the_last_values() -> None:
    model = baselines.MovingAverage(3).fit(ROW)
    np.testing.assert_allclose(model.means(2), [[17 / 3, 17 / 3]])
    np.testing.assert_allclose(model.roll(np.array([[1.0]]), 1), [[[4.0]]])


def test_a_window_longer_than_the_past_takes_what_there_is() -> None:
    np.testing.assert_allclose(baselines.MovingAverage(99).fit(ROW).means(1), [[4.0]])


def test_the_line_of_best_fit_of_the_published_example() -> None:
    # McNaughton 2016, V7: ten points (x, y), slope 3.69444, intercept 8.52778
    x = np.array([3.0, 5, 3, 7, 5, 8, 7, 4, 6, 2])
    y = np.array([21.0, 26, 20, 32, 23, 42, 35, 24, 30, 17])
    slope, intercept = baselines.fit_line(x, y)
    assert slope == pytest.approx(3.69444, abs=5e-6)
    assert intercept == pytest.approx(8.52778, abs=5e-6)


def test_points_of_one_x_have_no_slope() -> None:
    assert baselines.fit_line(np.array([2.0, 2.0]), np.array([1.0, 3.0])) == (0.0, 2.0)


def test_the_line_model_is_that_line_over_time() -> None:
    y = np.array([21.0, 26, 20, 32, 23])
    slope, intercept = baselines.fit_line(np.arange(5.0), y)
    model = baselines.LineFit(5).fit(
        np.concatenate(([99.0], y))[None, :]
    )  # 99 is outside the window
    expected = intercept + slope * np.arange(5.0, 8.0)
    np.testing.assert_allclose(model.means(3)[0], expected)


def test_a_line_goes_on_as_a_line() -> None:
    model = baselines.LineFit(4).fit(np.array([[1.0, 3.0, 5.0, 7.0]]))
    np.testing.assert_allclose(
        model.roll(np.array([[9.0, 11.0]]), 2), [[[11.0, 13.0], [13.0, 15.0]]]
    )


@pytest.mark.parametrize(
    "model",
    [
        baselines.Persistence(),
        baselines.SeasonalNaive(season=3),
        baselines.Drift(),
        baselines.MovingAverage(2),
        baselines.LineFit(4),
    ],
    ids=lambda model: model.name,
)
def test_restarting_is_fitting_to_another_past_with_the_same_parameters(
    model: baselines.SeasonalNaive | baselines.LineFit,
) -> None:
    other = np.array([[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0]])
    restarted = model.fit(ROW).restart(other)
    np.testing.assert_allclose(restarted.means(4), model.fit(other).means(4))
