"""Residual diagnostics of a fitted model: white noise, normality, constant variance.

Shi 2023, section 3.2, step 5 requires three tests and names none; these are the usual ones: Ljung
and Box (1978) for autocorrelation, Jarque and Bera (1980) for normality, Engle (1982) for
volatility clustering. All for many series at once; p-values are those of chi-squared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kubestow.model.arrays import Floats
from kubestow.policies.forecasting import autocorrelation, histories

LEAST_POINTS = 8  # fewer leave the regression of the third test no degree of freedom


@dataclass(frozen=True, slots=True, eq=False)
class TestOutcome:
    """A statistic and its p-value, one entry per series."""

    statistics: Floats
    p_values: Floats


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Diagnosis of the residuals of one series.

    Attributes:
        points: Number of residuals.
        lags: Lags of the first and the third test.
        autocorrelation_p: Ljung-Box; small if the residuals are predictable.
        normality_p: Jarque-Bera; small if normal quantiles must not be used.
        arch_p: Engle's test; small if volatility is clustered.
        verdict: Summary in one sentence.
    """

    points: int
    lags: int
    autocorrelation_p: float
    normality_p: float
    arch_p: float
    verdict: str


def choose_lags(points: int) -> int:
    """Return the usual number of lags: 10, or a fifth of the points if fewer."""
    return max(1, min(10, points // 5))


def check_whiteness(residuals: Floats, lags: int, parameters: int = 0) -> TestOutcome:
    """Test for autocorrelation up to a lag (Ljung-Box).

    Args:
        residuals: One row per series.
        lags: The highest lag.
        parameters: Number of fitted coefficients; reduces the degrees of freedom, down to one.
    """
    points = residuals.shape[1]
    correlations = autocorrelation.correlate(residuals, lags)[:, 1:]
    weights = 1.0 / (points - np.arange(1, lags + 1))
    statistics = points * (points + 2.0) * (correlations**2 * weights).sum(axis=1)
    return _chi_squared(statistics, max(1, lags - parameters))


def check_normality(residuals: Floats) -> TestOutcome:
    """Test skewness and kurtosis together (Jarque-Bera)."""
    scaled, constant = _standardise(residuals)
    skewness = (scaled**3).mean(axis=1)
    excess = (scaled**4).mean(axis=1) - 3.0
    statistics = residuals.shape[1] / 6.0 * (skewness**2 + excess**2 / 4.0)
    return _chi_squared(np.where(constant, 0.0, statistics), 2)


def check_clusters(residuals: Floats, lags: int) -> TestOutcome:
    """Test whether squares depend on earlier squares (Engle's Lagrange multiplier test).

    The squares are regressed on a constant and their lags; points times R-squared is chi-squared.
    """
    squares = _scale(histories.as_rows(residuals)) ** 2
    points = squares.shape[1] - lags
    explained = squares[:, lags:]
    columns = [np.ones_like(explained)]
    columns += [squares[:, lags - k : lags - k + points] for k in range(1, lags + 1)]
    directions = np.linalg.qr(np.stack(columns, axis=2)).Q
    shares = np.einsum("sij,si->sj", directions, explained)
    rest = ((explained - np.einsum("sij,sj->si", directions, shares)) ** 2).sum(axis=1)
    total = ((explained - explained.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    constant = total <= 1e-20 * (explained**2).sum(axis=1)
    share = np.where(constant, 0.0, 1.0 - rest / np.where(constant, 1.0, total))
    return _chi_squared(points * np.clip(share, 0.0, 1.0), lags)


def diagnose(
    residuals: Floats, lags: int | None = None, parameters: int = 0, level: float = 0.05
) -> tuple[Diagnosis, ...]:
    """Run the three tests on the residuals of many series.

    Args:
        residuals: One row per series.
        lags: Number of lags; ``None`` for the usual number.
        parameters: Number of fitted coefficients.
        level: p-value below which a test rejects.
    """
    rows = histories.check(residuals, LEAST_POINTS, "diagnostics")
    points = rows.shape[1]
    count = choose_lags(points) if lags is None else lags
    white = check_whiteness(rows, count, parameters).p_values
    normal = check_normality(rows).p_values
    calm = check_clusters(rows, count).p_values
    return tuple(
        Diagnosis(points, count, a, b, c, summarize(a, b, c, level))
        for a, b, c in zip(white.tolist(), normal.tolist(), calm.tolist(), strict=True)
    )


def summarize(autocorrelation_p: float, normality_p: float, arch_p: float, level: float) -> str:
    """Summarize in one sentence what the p-values mean for users of the model."""
    objections = [
        text
        for p_value, text in (
            (autocorrelation_p, "something predictable is left"),
            (normality_p, "quantiles must be taken from past errors, not from a normal curve"),
            (arch_p, "calm and rough times come in clusters"),
        )
        if p_value < level
    ]
    if not objections:
        return "The residuals look like white noise of one variance."
    return f"The residuals are not white normal noise: {'; '.join(objections)}."


def _chi_squared(statistics: Floats, freedom: int) -> TestOutcome:
    return TestOutcome(
        statistics, np.asarray(special.chdtrc(freedom, statistics), dtype=np.float64)
    )


def _scale(rows: Floats) -> Floats:
    """Scale rows to size 1, so that powers of extreme values stay in range."""
    sizes = np.abs(rows).max(axis=1, keepdims=True)
    return rows / np.where(sizes > 0.0, sizes, 1.0)


def _standardise(residuals: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    scaled = _scale(histories.as_rows(residuals))
    centred = scaled - scaled.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=1, keepdims=True))
    constant = spread <= 1e-12
    return centred / np.where(constant, 1.0, spread), constant[:, 0]
