"""ARIMA(p,1,q) by iterated least squares, many series at once: compiled loops of ``arima-margin``.

Schubert 2023, 2.11 (formulas 5.7 to 5.12), after Kapetanios 2003: a long autoregression gives
first residuals; every order regresses the differences on their own lags and on lagged residuals,
takes the new residuals, and repeats. Where the thesis is silent: no constant; residuals before the
first row are 0; all orders use the same rows, those that have all lags, and their number is the T
of the criterion and the divisor of the variance.

All regressions use normal equations. Products of lagged series differ along a diagonal by two
terms, so a table of them costs one pass for its edges; those of the differences are made once.
"""

from __future__ import annotations

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.policies.compiling import compiled
from kubestow.policies.forecasting import arima

# A column is dependent if the part not explained by those before it is below this share.
_DEPENDENT = 1e-9
# Variance, as a share of the differences' own, below which a fit counts as perfect.
_PERFECT = 1e-16
# Models whose changes grow by more than this factor a step explode. A steady trend has a root of
# one and is estimated on either side of it; 1.02 adds at most a tenth within five steps.
_GROWTH = 1.02

FITTED, CONSTANT, SHORT, EXPLODED = 0, 1, 2, 3
"""Outcome of a row: a model; nothing to model; too few points; no stable order."""


@compiled
def forecast_rows(
    windows: Floats,
    counts: Ints,
    shape: Ints,
    levels: Floats,
    spreads: Floats,
    orders: Ints,
    quality: Floats,
    residuals: Floats,
) -> None:
    """Fit and forecast every row.

    Args:
        windows: Points by row, right-aligned; those before the last ``counts`` are not read.
        counts: Number of points of each row.
        shape: Order of the first regression, smallest and largest order, rounds.
        levels: Output: forecast levels by row and step.
        spreads: Output: standard deviations by row, step and kind: as printed (5.13), exact.
        orders: Output by row: p, q, outcome, number of refused orders.
        quality: Output by row: R squared and variance of the residuals.
        residuals: Output: residuals of the chosen model by row; NaN where there are none.
    """
    for row in range(len(windows)):
        values = windows[row, windows.shape[1] - counts[row] :]
        last = values[-1]
        levels[row] = last
        spreads[row] = 0.0
        orders[row] = 0
        quality[row] = np.nan
        residuals[row] = np.nan
        if values.min() == values.max():
            orders[row, 2] = CONSTANT
            continue
        changes = np.diff(values)
        scale = np.sqrt((changes * changes).mean())
        w = changes / scale
        phi, theta = np.zeros(shape[2]), np.zeros(shape[2])
        u = np.zeros(len(w))
        if len(w) < 2 * shape[0]:
            orders[row, 2] = SHORT
        else:
            _search(w, shape, phi, theta, u, orders[row])
        rows = len(w) - shape[2]
        variance = 1.0
        if orders[row, 2] == FITTED:
            used = w[shape[2] :]
            variance = (u * u).sum() / rows
            quality[row, 0] = 1.0 - variance / max(used.var(), _PERFECT)
            residuals[row, residuals.shape[1] - rows :] = u[shape[2] :] * scale
        quality[row, 1] = variance * scale * scale
        _extend(w, u, phi, theta, scale, levels[row])
        write_spreads(phi, theta, np.sqrt(quality[row, 1]), spreads[row])


@compiled
def _search(w: Floats, shape: Ints, phi: Floats, theta: Floats, u: Floats, order: Ints) -> None:
    """Fit all orders and keep the one with the least criterion (5.12) that is stable."""
    least, most, rounds = shape[1], shape[2], shape[3]
    first = start_residuals(w, shape[0])
    products = tabulate(w, w, most, most)
    rows = len(w) - most
    best = np.inf
    own = products[0, 0]
    tried, partials, damped = np.empty(len(w)), np.empty(most), np.empty(most)
    coefficients = np.zeros(2 * most)
    for p in range(least, most + 1):
        for q in range(least, most + 1):
            tried[:] = first
            for _ in range(rounds):
                regress(w, products, p, q, most, tried, coefficients)
            squares = (tried * tried).sum()
            # Worse than no model: the rounds diverged.
            if not squares < own:
                order[3] += 1
                continue
            criterion = np.log(max(squares / rows, _PERFECT)) + 2.0 * (p + q) / rows
            if criterion >= best:
                continue
            for lag in range(p):
                damped[lag] = coefficients[lag] / _GROWTH ** (lag + 1)
            if not arima.write_partials(damped, p, partials):
                order[3] += 1
                continue
            best = criterion
            order[0], order[1] = p, q
            phi[:], theta[:] = 0.0, 0.0
            phi[:p] = coefficients[:p]
            theta[:q] = coefficients[p : p + q]
            u[:] = tried
    if best == np.inf:
        order[2] = EXPLODED


@compiled
def start_residuals(w: Floats, order: int) -> Floats:
    """Return the residuals of a long autoregression; 0 before its first row."""
    products = tabulate(w, w, order, order)
    matrix = products[1:, 1:].copy()
    right = products[0, 1:].copy()
    solve(matrix, right, order)
    residuals = np.zeros(len(w))
    residuals[order:] = w[order:]
    for lag in range(1, order + 1):
        for t in range(order, len(w)):
            residuals[t] -= right[lag - 1] * w[t - lag]
    return residuals


@compiled
def tabulate(a: Floats, b: Floats, lags: int, first: int) -> Floats:
    """Return sums of ``a[t - i] b[t - j]`` over the rows from ``first`` on, for all lags i, j."""
    n = len(a)
    table = np.empty((lags + 1, lags + 1))
    top, side = np.zeros(lags + 1), np.zeros(lags + 1)
    for t in range(first, n):
        for j in range(lags + 1):
            top[j] += a[t] * b[t - j]
            side[j] += a[t - j] * b[t]
    table[0], table[:, 0] = top, side
    _fill(table, a, b, lags, lags, first)
    return table


@compiled
def _fill(table: Floats, a: Floats, b: Floats, high: int, wide: int, first: int) -> None:
    """Write the rest of a table from its first row and column."""
    n = len(a)
    for i in range(1, high + 1):
        for j in range(1, wide + 1):
            gained = a[first - i] * b[first - j]
            lost = a[n - i] * b[n - j]
            table[i, j] = table[i - 1, j - 1] + gained - lost


@compiled
def regress(
    w: Floats, products: Floats, p: int, q: int, most: int, u: Floats, coefficients: Floats
) -> None:
    """Regress on p lags and q lagged residuals; write coefficients and the new residuals.

    Args:
        w: Differences.
        products: Sums of their lagged products.
        p: Number of lags.
        q: Number of lagged residuals.
        most: First row used.
        u: Residuals, replaced by the new ones.
        coefficients: Output: coefficients of the lags, then of the residuals.
    """
    n, size = len(w), p + q
    cross, among = np.zeros((p + 1, q + 1)), np.zeros((q + 1, q + 1))
    top, side, own = np.zeros(q + 1), np.zeros(p + 1), np.zeros(q + 1)
    for t in range(most, n):
        here, left = w[t], u[t]
        for j in range(q + 1):
            top[j] += here * u[t - j]
            own[j] += left * u[t - j]
        for i in range(p + 1):
            side[i] += left * w[t - i]
    cross[0], cross[:, 0] = top, side
    among[0], among[:, 0] = own, own
    _fill(cross, w, u, p, q, most)
    _fill(among, u, u, q, q, most)
    matrix, right = np.empty((size, size)), np.empty(size)
    matrix[:p, :p] = products[1 : p + 1, 1 : p + 1]
    matrix[p:, :p] = cross[1:, 1:].T
    matrix[p:, p:] = among[1:, 1:]
    right[:p] = products[0, 1 : p + 1]
    right[p:] = cross[0, 1:]
    solve(matrix, right, size)
    coefficients[:size] = right
    fresh = np.zeros(n)
    fresh[most:] = w[most:]
    for lag in range(1, p + 1):
        for t in range(most, n):
            fresh[t] -= right[lag - 1] * w[t - lag]
    for lag in range(1, q + 1):
        for t in range(most, n):
            fresh[t] -= right[p + lag - 1] * u[t - lag]
    u[:] = fresh


@compiled
def solve(matrix: Floats, right: Floats, size: int) -> None:
    """Solve a linear system by Cholesky factors in place; dependent columns get 0.

    Args:
        matrix: Symmetric; its lower triangle is read and overwritten.
        right: The right side, overwritten by the solution.
        size: Number of unknowns.
    """
    for j in range(size):
        whole = matrix[j, j]
        pivot = whole
        for k in range(j):
            pivot -= matrix[j, k] * matrix[j, k]
        kept = pivot > _DEPENDENT * whole
        root = np.sqrt(pivot) if kept else np.inf
        for i in range(j + 1, size):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = total / root
        matrix[j, j] = root
    for j in range(size):
        total = right[j]
        for k in range(j):
            total -= matrix[j, k] * right[k]
        right[j] = total / matrix[j, j]
    for j in range(size - 1, -1, -1):
        total = right[j]
        for k in range(j + 1, size):
            total -= matrix[k, j] * right[k]
        right[j] = total / matrix[j, j]


@compiled
def _extend(w: Floats, u: Floats, phi: Floats, theta: Floats, scale: float, levels: Floats) -> None:
    """Add the forecast changes (5.10, future residuals are 0) to the level, step by step."""
    n, steps = len(w), len(levels)
    path = np.zeros(n + steps)
    path[:n] = w
    level = levels[0]
    for step in range(steps):
        t = n + step
        for i in range(len(phi)):
            if i < t:
                path[t] += phi[i] * path[t - 1 - i]
            if step <= i < t:
                path[t] += theta[i] * u[t - 1 - i]
        level += scale * path[t]
        levels[step] = level


@compiled
def write_spreads(phi: Floats, theta: Floats, sigma: float, spreads: Floats) -> None:
    """Write standard deviations of the level by step: as printed in 5.13, and exact.

    Printed: the root of the sum of V(1) to V(step), V(i) the variance of the i-th difference, as
    if errors of differences were independent. Exact: a shock of step k enters every later level, so
    it counts with the sum of its weights.
    """
    steps = len(spreads)
    weights = np.zeros(steps)
    weights[0] = 1.0
    for j in range(1, steps):
        if j - 1 < len(theta):
            weights[j] = theta[j - 1]
        for i in range(min(j, len(phi))):
            weights[j] += phi[i] * weights[j - 1 - i]
    of_change, printed, summed, exact = 0.0, 0.0, 0.0, 0.0
    for j in range(steps):
        of_change += weights[j] * weights[j]
        printed += of_change
        summed += weights[j]
        exact += summed * summed
        spreads[j, 0] = sigma * np.sqrt(printed)
        spreads[j, 1] = sigma * np.sqrt(exact)
