"""The regressions of the augmented Dickey-Fuller test, compiled and for many series at once.

The change of a series is regressed on a constant, its level and lags of its change. Columns are
made orthogonal one after the other (modified Gram and Schmidt), so one pass gives the sums of
squares for every number of lags. Called by ``stationarity``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kubestow.policies.compiling import compiled
from kubestow.policies.forecasting.protocols import Floats

Ints = NDArray[np.int64]

# A column whose length falls below this share when made orthogonal depends on those before it.
_DEPENDENT = 1e-10


@compiled
def write_columns(y: Floats, lags: int, begin: int, columns: Floats) -> None:
    """Fill the regression's columns: constant, lags of the change, then level, then change.

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
    """Make columns orthogonal to those before them, the last one (explained) included.

    Args:
        columns: Replaced by their orthogonal parts, of length one; dependent ones by zeros.
        count: How many of them explain; column ``count`` is explained.
        products: Filled with the explained column's share along each.
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
    """Take a direction of length one out of a column; return how much of it there was."""
    share = float(np.dot(column, direction))
    for t in range(len(column)):
        column[t] -= share * direction[t]
    return share


@compiled
def choose_lags(y: Floats, most: int) -> int:
    """Return the number of lags of the change with the least AIC, on the sample of the most."""
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
        # Where all is explained the last digits decide; they are no ground for more lags.
        variance = max(rest, 1e-14 * total) / n
        criterion = n * (math.log(2.0 * math.pi * max(variance, 1e-300)) + 1.0) + 2.0 * (used + 1)
        if criterion < least:
            best, least = used - 1, criterion
    return best


@compiled
def level_ratio(y: Floats, lags: int) -> float:
    """Return the level's coefficient over its standard error: the statistic of the test.

    NaN if the level depends on the other columns or plays no part where all is explained; infinite
    if it does.
    """
    n, count = len(y) - 1 - lags, lags + 2
    columns, products = np.empty((lags + 3, n)), np.zeros(count)
    write_columns(y, lags, lags, columns)
    # The level goes last: its share is then what it explains beyond the others.
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
    """Return statistics and lags of many series, each of order one.

    Args:
        rows: One row per series.
        most: The number of lags, or the most to try.
        search: Whether the number is chosen.
    """
    statistics, lags = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.int64)
    for s in range(len(rows)):
        lags[s] = choose_lags(rows[s], most) if search else most
        statistics[s] = level_ratio(rows[s], lags[s])
    return statistics, lags
