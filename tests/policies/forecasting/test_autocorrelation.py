"""Autocorrelations, computed by hand and against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.tsa import stattools

from kubestow.policies.forecasting import autocorrelation
from tests.policies.forecasting import synthetic_series


def test_autocorrelation_of_four_points_by_hand() -> None:
    # Mean 2.5, deviations -1.5 -0.5 0.5 1.5, squares 5; lag 1: 0.75 - 0.25 + 0.75 = 1.25;
    # lag 2: -0.75 - 0.75 = -1.5; lag 3: -2.25.
    result = autocorrelation.correlate(np.array([[1.0, 2.0, 3.0, 4.0]]), 3)
    assert result[0] == pytest.approx([1.0, 0.25, -0.3, -0.45])


def test_partial_autocorrelation_at_lag_two_by_hand() -> None:
    # (r2 - r1^2) / (1 - r1^2) = (-0.3 - 0.0625) / (1 - 0.0625)
    result = autocorrelation.correlate_partially(np.array([[1.0, 2.0, 3.0, 4.0]]), 2)
    assert result[0] == pytest.approx([1.0, 0.25, -0.3625 / 0.9375])


def test_many_series_equal_statsmodels() -> None:
    rows = synthetic_series.arma(5, 200, ar=(0.6, -0.3), ma=(0.4,))
    full = autocorrelation.correlate(rows, 20)
    partial = autocorrelation.correlate_partially(rows, 20)
    for s, row in enumerate(rows):
        assert full[s] == pytest.approx(stattools.acf(row, nlags=20, fft=False), abs=1e-12)
        wanted = stattools.pacf(row, nlags=20, method="ldb")
        assert partial[s] == pytest.approx(wanted, abs=1e-10)


def test_the_partial_autocorrelation_of_an_autoregression_cuts_off_after_its_order() -> None:
    row = synthetic_series.arma(1, 20_000, ar=(0.5, 0.3))
    result = autocorrelation.correlate_partially(row, 6)[0]
    # phi2 itself at lag 2; beyond it noise of 1 / sqrt(n) = 0.007.
    assert result[2] == pytest.approx(0.3, abs=0.03)
    assert np.abs(result[3:]).max() < 0.03


def test_series_that_stand_still_and_extreme_ones_stay_finite() -> None:
    result = autocorrelation.correlate_partially(synthetic_series.hard_rows(40), 10)
    assert np.isfinite(result).all()
    assert result[0].tolist() == [1.0] + [0.0] * 10
