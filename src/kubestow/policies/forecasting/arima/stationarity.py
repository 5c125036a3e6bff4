"""Stationarity tests, and how often to difference a series until it is stationary.

The augmented Dickey-Fuller test with a constant tests for a unit root; the number of lags is chosen
by AIC up to Schwert's bound (1989). P-values come from MacKinnon's response surfaces: "Approximate
asymptotic distribution functions for unit-root and cointegration tests", Journal of Business and
Economic Statistics 12 (1994), tables 3 and 4, one variable, constant; the critical values from
"Critical values for cointegration tests", Queen's Economics Department working paper 1227 (2010),
table 1. The KPSS test (Kwiatkowski et al. 1992, table 1) has the opposite null hypothesis and is
reported as well. Called by ``models`` before orders are chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from kubestow.model.arrays import Bools, Floats, Ints
from kubestow.policies.compiling import compiled
from kubestow.policies.forecasting import histories

# A column whose length falls below this share when orthogonalised depends on those before it.
_DEPENDENT = 1e-10


@compiled
def write_columns(y: Floats, lags: int, begin: int, columns: Floats) -> None:
    """Fill the columns of the regression: constant, level, lags of the change, and the change.

    Args:
        y: The series.
        lags: Lags of the change.
        begin: First change that is explained.
        columns: One row per column of the regression, one entry per change from ``begin`` on.
    """
    for t in range(begin, len(y) - 1):
        row = t - begin
        columns[0, row] = 1.0
        columns[1, row] = y[t]
        for k in range(1, lags + 1):
            columns[1 + k, row] = y[t + 1 - k] - y[t - k]
        columns[2 + lags, row] = y[t + 1] - y[t]


@compiled
def orthogonalise(columns: Floats, count: int, products: Floats) -> None:
    """Orthogonalise columns against those before them, including the last one (the response).

    Args:
        columns: Replaced by their orthogonal parts of length 1; dependent ones by zeros.
        count: Number of regressors; column ``count`` is the response.
        products: Filled with the response's component along each regressor.
    """
    for i in range(count):
        before = math.sqrt(np.dot(columns[i], columns[i]))
        for j in range(i):
            subtract(columns[i], columns[j])
        length = math.sqrt(np.dot(columns[i], columns[i]))
        scale = 1.0 / length if length > _DEPENDENT * before else 0.0
        for t in range(columns.shape[1]):
            columns[i, t] *= scale
        products[i] = subtract(columns[count], columns[i])


@compiled
def subtract(column: Floats, direction: Floats) -> float:
    """Remove the component of a column along a direction of length 1; return that component."""
    share = float(np.dot(column, direction))
    for t in range(len(column)):
        column[t] -= share * direction[t]
    return share


@compiled
def choose_lags(y: Floats, most: int) -> int:
    """Return the number of lags with the lowest AIC, on the sample of the largest number."""
    n = len(y) - 1 - most
    columns, products = np.empty((most + 3, n)), np.zeros(most + 2)
    write_columns(y, most, most, columns)
    total = np.dot(columns[most + 2], columns[most + 2])
    orthogonalise(columns, most + 2, products)
    rest = total
    best, least = 0, math.inf
    for used in range(most + 2):
        rest -= products[used] * products[used]
        if used == 0:
            continue
        # With a perfect fit only rounding would decide; that must not add lags.
        variance = max(rest, 1e-14 * total) / n
        criterion = n * (math.log(2.0 * math.pi * max(variance, 1e-300)) + 1.0) + 2.0 * (used + 1)
        if criterion < least:
            best, least = used - 1, criterion
    return best


@compiled
def level_ratio(y: Floats, lags: int) -> float:
    """Return the level's coefficient over its standard error: the statistic of the test.

    NaN if the level depends on the other columns, or contributes nothing to a perfect fit; infinite
    if it does contribute to one.
    """
    n, count = len(y) - 1 - lags, lags + 2
    columns, products = np.empty((lags + 3, n)), np.zeros(count)
    write_columns(y, lags, lags, columns)
    # The level goes last: its component is then what it explains beyond the others.
    for t in range(n):
        level = columns[1, t]
        for k in range(1, lags + 1):
            columns[k, t] = columns[k + 1, t]
        columns[lags + 1, t] = level
    total = np.dot(columns[count], columns[count])
    orthogonalise(columns, count, products)
    rest = np.dot(columns[count], columns[count])
    length = np.dot(columns[count - 1], columns[count - 1])
    share = float(products[count - 1])
    if length == 0.0 or (rest <= 1e-20 * total and share * share <= 1e-16 * total):
        return math.nan
    if rest <= 1e-20 * total:
        return math.inf if share > 0.0 else -math.inf
    return share / math.sqrt(rest / (n - count))


@compiled
def run_all(rows: Floats, most: int, search: bool) -> tuple[Floats, Ints]:
    """Return statistics and lags of many series, each scaled to size 1.

    Args:
        rows: One row per series.
        most: The number of lags, or the maximum to try.
        search: Whether the number is chosen by AIC.
    """
    statistics, lags = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.int64)
    for s in range(len(rows)):
        lags[s] = choose_lags(rows[s], most) if search else most
        statistics[s] = level_ratio(rows[s], lags[s])
    return statistics, lags


MOST_DIFFERENCES = 2
# With fewer points the regression of the test has no degree of freedom left.
LEAST_POINTS = 8
# A series that varies by less than this share of its size is constant up to rounding.
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
# KPSS 1992: critical values of the level test; p-values are interpolated.
_KPSS_VALUES = (0.347, 0.463, 0.574, 0.739)
_KPSS_LEVELS = (0.1, 0.05, 0.025, 0.01)


@dataclass(frozen=True, slots=True, eq=False)
class UnitRoots:
    """Results of the augmented Dickey-Fuller test, one entry per series.

    Attributes:
        statistics: The level's coefficient over its standard error; NaN where the series is
            constant or fitted perfectly.
        p_values: Probability of a smaller statistic if there is a unit root; 1 where the statistic
            is NaN, as there is no evidence against one.
        lags: Lags of the change in the regression.
    """

    statistics: Floats
    p_values: Floats
    lags: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """Results of the KPSS test, one entry per series.

    Attributes:
        statistics: Large if the series is not level-stationary.
        p_values: Probability of a larger statistic if the series is stationary, between 0.01 and
            0.1, the ends of the published table.
        lags: Lags in the long-run variance.
    """

    statistics: Floats
    p_values: Floats
    lags: int


def schwert_lags(points: int) -> int:
    """Return Schwert's bound on lags, ceil(12 (n / 100)^(1/4)), limited by the points."""
    return max(0, min(math.ceil(12.0 * math.pow(points / 100.0, 0.25)), points // 2 - 2))


def scale_rows(values: Floats) -> tuple[Floats, Bools]:
    """Return series with mean 0 and size 1, and which of them are constant."""
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
    statistics, used = run_all(scaled, most, lags is None)
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
    degenerate = variance <= 0.0
    statistics = np.where(degenerate, 0.0, walked / (points * np.where(degenerate, 1.0, variance)))
    return Levels(statistics, np.interp(statistics, _KPSS_VALUES, _KPSS_LEVELS), count)


def count_differences(
    values: Floats, most: int = MOST_DIFFERENCES, level: float = 0.05, *, drift: bool = False
) -> Ints:
    """Return how often to difference each series: until the test rejects a unit root.

    A constant series needs no more differences, unless it is constant at a nonzero value and the
    model has no constant: then one more.

    Args:
        values: One row per series.
        most: Maximum number of differences.
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
