"""Tests of residuals against statsmodels, and their verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats import diagnostic, stattools

from kubestow.model.arrays import Floats
from kubestow.policies.forecasting import diagnostics
from tests.policies.forecasting import synthetic_series

# The reference announces that its functions will return other types one day.
pytestmark = pytest.mark.filterwarnings("ignore:.*currently returns:FutureWarning")


def clustered(points: int, seed: int = 3) -> Floats:
    """Return an ARCH(1) series: variance 0.2 + 0.8 of the last square."""
    shocks = np.random.default_rng(seed).normal(size=points)
    row = np.zeros(points)
    for t in range(1, points):
        row[t] = shocks[t] * np.sqrt(0.2 + 0.8 * row[t - 1] ** 2)
    return row


def mixed_rows() -> Floats:
    rng = np.random.default_rng(2)
    return np.stack(
        [
            rng.normal(size=400),
            synthetic_series.arma(1, 400, ar=(0.4,))[0],
            rng.exponential(size=400),
            clustered(400),
        ]
    )


@pytest.mark.parametrize("lags", [1, 5, 10])
def test_statistics_equal_statsmodels(lags: int) -> None:
    rows = mixed_rows()
    white = diagnostics.check_whiteness(rows, lags)
    normal = diagnostics.check_normality(rows)
    calm = diagnostics.check_clusters(rows, lags)
    for s, row in enumerate(rows):
        table = diagnostic.acorr_ljungbox(row, lags=[lags])
        assert white.statistics[s] == pytest.approx(table["lb_stat"].iloc[0], rel=1e-8)
        assert white.p_values[s] == pytest.approx(table["lb_pvalue"].iloc[0], abs=1e-8)
        statistic, p_value = stattools.jarque_bera(row)[:2]
        assert normal.statistics[s] == pytest.approx(statistic, rel=1e-8)
        assert normal.p_values[s] == pytest.approx(p_value, abs=1e-8)
        statistic, p_value = diagnostic.het_arch(row, nlags=lags)[:2]
        assert calm.statistics[s] == pytest.approx(statistic, rel=1e-7)
        assert calm.p_values[s] == pytest.approx(p_value, abs=1e-8)


def test_fitted_coefficients_cost_degrees_of_freedom() -> None:
    row = mixed_rows()[:1]
    table = diagnostic.acorr_ljungbox(row[0], lags=[10], model_df=3)
    result = diagnostics.check_whiteness(row, 10, parameters=3)
    assert result.p_values[0] == pytest.approx(table["lb_pvalue"].iloc[0], abs=1e-8)


def test_each_fault_is_found_and_named() -> None:
    noise, dependent, skewed, rough = diagnostics.diagnose(mixed_rows())
    assert noise.verdict == "The residuals look like white noise of one variance."
    assert dependent.autocorrelation_p < 1e-6
    assert "predictable" in dependent.verdict
    assert skewed.normality_p < 1e-6
    assert "normal curve" in skewed.verdict
    assert rough.arch_p < 1e-6
    assert "clusters" in rough.verdict
    assert (noise.points, noise.lags) == (400, 10)


def test_hard_residuals_give_p_values_between_0_and_1() -> None:
    for result in diagnostics.diagnose(synthetic_series.hard_rows(40)):
        for p_value in (result.autocorrelation_p, result.normality_p, result.arch_p):
            assert 0.0 <= p_value <= 1.0


def test_residuals_that_are_all_zero_are_not_objected_to() -> None:
    (result,) = diagnostics.diagnose(np.zeros((1, 50)))
    assert "white noise" in result.verdict
