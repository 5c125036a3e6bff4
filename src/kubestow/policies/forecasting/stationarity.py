"""Whether a series is stationary, and how often to difference it until it is.

The augmented Dickey-Fuller test with a constant asks whether there is a unit root; lags of the
change are chosen by AIC up to Schwert's bound (1989). P-values come from MacKinnon's response
surfaces: "Approximate asymptotic distribution functions for unit-root and cointegration tests",
Journal of Business and Economic Statistics 12 (1994), tables 3 and 4, one variable, constant; the
critical values from "Critical values for cointegration tests", Queen's Economics Department working
paper 1227 (2010), table 1. The KPSS test (Kwiatkowski et al. 1992, table 1) asks the other way
round and is reported beside it. Called by ``arimas`` before orders are chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kubestow.policies.forecasting import histories, unit_root_kernels
from kubestow.policies.forecasting.protocols import Floats

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_DIFFERENCES = 2
# With fewer points no regression of the test has a degree of freedom to spare.
LEAST_POINTS = 8
# A series that moves by less than this share of its size stands still but for rounding.
FLAT = 1e-12

# MacKinnon 1994: below the bend a quadratic, above it a cubic; outside the ends 0 and 1.
_LOWEST, _BEND, _HIGHEST = -18.83, -1.61, 2.74
_LEFT = (2.1659, 1.4412, 0.038269)
_RIGHT = (1.7339, 0.93202, -0.12745, -0.010368)
# MacKinnon 2010: polynomials in 1 / n for 1 %, 5 % and 10 %.
_CRITICAL = {
    0.01: (-3.43035, -6.5393, -16.786, -79.433),
    0.05: (-2.86154, -2.8903, -4.234, -40.04),
    0.1: (-2.56677, -1.5384, -2.809),
}
# KPSS 1992: critical values of the level test; the p-value is read off in between.
_KPSS_VALUES = (0.347, 0.463, 0.574, 0.739)
_KPSS_LEVELS = (0.1, 0.05, 0.025, 0.01)


@dataclass(frozen=True, slots=True, eq=False)
class UnitRoots:
    """Results of the augmented Dickey-Fuller test, one entry per series.

    Attributes:
        statistics: The level's coefficient over its standard error; NaN where the series stands
            still or is explained without remainder.
        p_values: Probability of a smaller statistic if there is a unit root; 1 where the statistic
            is NaN, as nothing speaks against one.
        lags: Lags of the change in the regression.
    """

    statistics: Floats
    p_values: Floats
    lags: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """Results of the KPSS test, one entry per series.

    Attributes:
        statistics: Large if the series wanders off.
        p_values: Probability of a larger statistic if the series is stationary, between 0.01 and
            0.1, the ends of the published table.
        lags: Lags in the long-run variance.
    """

    statistics: Floats
    p_values: Floats
    lags: int


def schwert_lags(points: int) -> int:
    """Return Schwert's bound on lags, ceil(12 (n / 100)^(1/4)), as far as the points bear it."""
    return max(0, min(math.ceil(12.0 * math.pow(points / 100.0, 0.25)), points // 2 - 2))


def scale_rows(values: Floats) -> tuple[Floats, Flags]:
    """Return series with mean 0 and size 1, and which of them stand still."""
    centred = values - values.mean(axis=1, keepdims=True)
    sizes = np.abs(centred).max(axis=1, keepdims=True)
    flat = sizes <= FLAT * np.abs(values).max(axis=1, keepdims=True)
    return centred / np.where(flat, 1.0, sizes), flat[:, 0]


def find_unit_roots(values: Floats, lags: int | None = None) -> UnitRoots:
    """Test many series for a unit root.

    Args:
        values: One row per series, at least ``LEAST_POINTS`` points.
        lags: Lags of the change; ``None`` to choose them by AIC, up to Schwert's bound.
    """
    rows = histories.check(values, LEAST_POINTS, "stationarity")
    scaled, flat = scale_rows(rows)
    most = schwert_lags(rows.shape[1]) if lags is None else lags
    statistics, used = unit_root_kernels.run_all(scaled, most, lags is None)
    statistics = np.where(flat, np.nan, statistics)
    return UnitRoots(statistics, unit_root_p_values(statistics), used)


def unit_root_p_values(statistics: Floats) -> Floats:
    """Return the p-values of Dickey-Fuller statistics with a constant (MacKinnon 1994)."""
    known = np.where(np.isnan(statistics), math.inf, statistics)
    inside = np.clip(known, _LOWEST, _HIGHEST)
    left = np.polynomial.polynomial.polyval(inside, _LEFT)
    right = np.polynomial.polynomial.polyval(inside, _RIGHT)
    p_values = special.ndtr(np.where(inside <= _BEND, left, right))
    return np.where(known < _LOWEST, 0.0, np.where(known > _HIGHEST, 1.0, p_values))


def critical_value(level: float, points: int) -> float:
    """Return the critical value of the Dickey-Fuller test for a finite sample (MacKinnon 2010).

    Args:
        level: 0.01, 0.05 or 0.1.
        points: Number of points in the regression.
    """
    return float(np.polynomial.polynomial.polyval(1.0 / points, _CRITICAL[level]))


def measure_levels(values: Floats, lags: int | None = None) -> Levels:
    """Test many series for a constant level (KPSS).

    Args:
        values: One row per series.
        lags: Lags in the long-run variance; ``None`` for Schwert's bound.
    """
    rows = histories.check(values, LEAST_POINTS, "stationarity")
    points = rows.shape[1]
    count = schwert_lags(points) if lags is None else lags
    errors, _ = scale_rows(rows)
    variance = (errors**2).sum(axis=1)
    for lag in range(1, count + 1):
        weight = 2.0 * (1.0 - lag / (count + 1.0))
        variance = variance + weight * (errors[:, lag:] * errors[:, :-lag]).sum(axis=1)
    walked = (np.cumsum(errors, axis=1) ** 2).sum(axis=1)
    still = variance <= 0.0
    statistics = np.where(still, 0.0, walked / (points * np.where(still, 1.0, variance)))
    return Levels(statistics, np.interp(statistics, _KPSS_VALUES, _KPSS_LEVELS), count)


def count_differences(
    values: Floats, most: int = MOST_DIFFERENCES, level: float = 0.05, *, drift: bool = False
) -> Ints:
    """Return how often to difference each series: until the test rejects a unit root.

    A series that stands still needs no more differences, unless it stands still away from zero and
    there is no constant to say so: then one more.

    Args:
        values: One row per series.
        most: The most differences.
        level: Significance level of the test.
        drift: Whether differenced series have a constant.
    """
    rows = histories.check(values, LEAST_POINTS + most, "stationarity")
    sizes = np.abs(rows - rows[:, :1]).max(axis=1)
    counts = np.zeros(len(rows), dtype=np.int64)
    open_rows = np.arange(len(rows))
    for times in range(most):
        differenced = np.diff(rows[open_rows], n=times, axis=1)
        largest = np.abs(differenced).max(axis=1)
        flat = np.ptp(differenced, axis=1) <= FLAT * np.maximum(sizes[open_rows], largest)
        away = largest > FLAT * sizes[open_rows]
        done = find_unit_roots(differenced).p_values < level
        done = np.where(flat, ~away if times and not drift else True, done)
        open_rows = open_rows[~done]
        counts[open_rows] += 1
    return counts
