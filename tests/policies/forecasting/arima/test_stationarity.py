"""Unit-root tests against statsmodels, and the number of differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.tsa import stattools

from kubestow.model import errors
from kubestow.model.arrays import Floats
from kubestow.policies.forecasting.arima import stationarity
from tests.policies.forecasting import synthetic_series

# The reference announces that its functions will return other types one day.
pytestmark = pytest.mark.filterwarnings("ignore:.*currently returns:FutureWarning")


def mixed_rows(points: int) -> Floats:
    noise = np.random.default_rng(1).normal(size=(9, points))
    return np.concatenate(
        [noise[:3], np.cumsum(noise[3:6], axis=1), np.cumsum(np.cumsum(noise[6:], axis=1), axis=1)]
    )


@pytest.mark.parametrize("points", [30, 120, 1000])
def test_statistics_and_p_values_equal_statsmodels_with_lags_by_aic(points: int) -> None:
    rows = mixed_rows(points)
    result = stationarity.find_unit_roots(rows)
    for s, row in enumerate(rows):
        wanted = stattools.adfuller(row, maxlag=stationarity.schwert_lags(points), autolag="AIC")
        assert result.statistics[s] == pytest.approx(wanted[0], abs=1e-6)
        assert result.p_values[s] == pytest.approx(wanted[1], abs=1e-8)
        assert result.lags[s] == wanted[2]


@pytest.mark.parametrize("lags", [0, 1, 5])
def test_statistics_equal_statsmodels_with_given_lags(lags: int) -> None:
    rows = mixed_rows(100)
    result = stationarity.find_unit_roots(rows, lags)
    wanted = [stattools.adfuller(row, maxlag=lags, autolag=None)[0] for row in rows]
    assert result.statistics == pytest.approx(wanted, abs=1e-6)
    assert result.lags.tolist() == [lags] * len(rows)


def test_statistics_do_not_depend_on_place_and_scale() -> None:
    rows = mixed_rows(100)
    moved = stationarity.find_unit_roots(rows * 1e-9 + 5.0)
    assert moved.statistics == pytest.approx(
        stationarity.find_unit_roots(rows).statistics, abs=1e-4
    )


@pytest.mark.parametrize("statistic", [-30.0, -18.0, -5.0, -1.61, -1.6, 0.0, 2.7, 4.0])
def test_p_values_equal_statsmodels(statistic: float) -> None:
    from statsmodels.tsa.adfvalues import mackinnonp

    result = stationarity.unit_root_p_values(np.array([statistic]))
    assert result[0] == pytest.approx(mackinnonp(statistic, regression="c"), abs=1e-12)


def test_an_unknown_statistic_speaks_for_a_unit_root_and_an_infinite_one_against() -> None:
    result = stationarity.unit_root_p_values(np.array([math.nan, -math.inf, math.inf]))
    assert result.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("level", [0.01, 0.05, 0.1])
def test_critical_values_equal_statsmodels(level: float) -> None:
    wanted = stattools.adfuller(mixed_rows(100)[0], maxlag=0, autolag=None)[4]
    assert stationarity.critical_value(level, 99) == pytest.approx(wanted[f"{level:.0%}"])


@pytest.mark.filterwarnings("ignore:The test statistic is outside")
@pytest.mark.parametrize("lags", [0, 4, 12])
def test_the_kpss_test_equals_statsmodels(lags: int) -> None:
    rows = mixed_rows(150)
    result = stationarity.measure_levels(rows, lags)
    for s, row in enumerate(rows):
        wanted = stattools.kpss(row, nlags=lags)
        assert result.statistics[s] == pytest.approx(wanted[0], abs=1e-9)
        assert result.p_values[s] == pytest.approx(wanted[1], abs=1e-9)


def test_noise_walks_and_walks_of_walks_need_0_1_and_2_differences() -> None:
    assert stationarity.count_differences(mixed_rows(400)).tolist() == [0] * 3 + [1] * 3 + [2] * 3


def test_no_more_differences_are_taken_than_allowed() -> None:
    assert stationarity.count_differences(mixed_rows(400), most=1).tolist() == [0] * 3 + [1] * 6


def test_series_that_stand_still_or_repeat_exactly_need_no_differences() -> None:
    steps = np.arange(60.0)
    rows = np.stack([0.0 * steps, 0.0 * steps + 3.0, steps % 2.0, np.sin(steps)])
    assert stationarity.count_differences(rows).tolist() == [0, 0, 0, 0]


def test_a_straight_line_needs_one_difference_with_drift_and_two_without() -> None:
    line = 0.1 * np.arange(60.0)[None]
    assert stationarity.count_differences(line, drift=True).tolist() == [1]
    assert stationarity.count_differences(line, drift=False).tolist() == [2]


def test_hard_series_give_p_values_between_0_and_1() -> None:
    p_values = stationarity.find_unit_roots(synthetic_series.hard_rows(40)).p_values
    assert np.all((p_values >= 0.0) & (p_values <= 1.0))


def test_too_few_points_are_refused() -> None:
    with pytest.raises(errors.InputError, match="7 points are too few; expected at least 8"):
        stationarity.find_unit_roots(np.zeros((1, 7)))
