"""Compiled starting values of ARMA coefficients by Hannan and Rissanen (1982).

A long autoregression gives estimates of the innovations; a regression on lags of the series and of
those estimates gives the coefficients. One table of products serves all orders of a search.
Coefficients that are not stationary or invertible are shrunk towards 0 until they are. Called by
``search``.
"""

from __future__ import annotations

import math

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.policies.compiling import compiled
from kubestow.policies.forecasting.arima import polynomials

to_free = polynomials.to_free
write_partials = polynomials.write_partials

_SHRINK = 0.95  # of the roots, per try
_TRIES = 60  # 0.95^60 = 0.05: any polynomial with bounded coefficients is stationary by then
_START_LIMIT = 0.98  # of a partial autocorrelation: starts stay away from the boundary
_RIDGE = 1e-8  # of the diagonal: keeps collinear lags solvable


@compiled
def solve_positive(matrix: Floats, right: Floats, size: int) -> bool:
    """Solve a small system in place by Cholesky; false if it is not positive definite."""
    for i in range(size):
        for j in range(i + 1):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            if i != j:
                matrix[i, j] = value / matrix[j, j]
            elif value > 0.0:
                matrix[i, i] = math.sqrt(value)
            else:
                return False
    for i in range(size):
        for k in range(i):
            right[i] -= matrix[i, k] * right[k]
        right[i] /= matrix[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            right[i] -= matrix[k, i] * right[k]
        right[i] /= matrix[i, i]
    return True


@compiled
def long_order(n: int) -> int:
    """Return the order of the long autoregression: ln(n) to the power 1.5, at most n / 10."""
    return max(1, min(int(math.log(n) ** 1.5), n // 10))


@compiled
def fit_long(w: Floats, order: int) -> Floats:
    """Return the coefficients of a long autoregression by Yule-Walker (Durbin-Levinson)."""
    n = len(w)
    covariances = np.zeros(order + 1)
    for lag in range(order + 1):
        for t in range(lag, n):
            covariances[lag] += w[t] * w[t - lag]
    partials, phi = np.zeros(order), np.zeros(order)
    error = covariances[0]
    for k in range(order):
        if error <= 0.0:
            break
        value = covariances[k + 1]
        for i in range(k):
            value -= phi[i] * covariances[k - i]
        partials[k] = value / error
        error *= 1.0 - partials[k] * partials[k]
        polynomials.write_coefficients(partials, k + 1, phi)
    return phi


@compiled
def tabulate_products(w: Floats, most: int) -> Floats:
    """Return sums of products of the series, its lags and the lags of estimated innovations.

    Args:
        w: The series, without its mean.
        most: The highest order of a search.

    Returns:
        A square table: row 0 is the series, then ``most`` lags of it, then ``most`` lags of the
        innovations. All zero if the series is too short.
    """
    n, order = len(w), long_order(len(w))
    table = np.zeros((2 * most + 1, 2 * most + 1))
    begin = order + most
    if n - begin <= 2 * most:
        return table
    phi = fit_long(w, order)
    shocks = w.copy()
    for i in range(order):
        for t in range(order, n):
            shocks[t] -= phi[i] * w[t - 1 - i]
    lags = np.empty((2 * most + 1, n - begin))
    for k in range(2 * most + 1):
        source, lag = (w, k) if k <= most else (shocks, k - most)
        for t in range(begin, n):
            lags[k, t - begin] = source[t - lag]
    for i in range(2 * most + 1):
        for j in range(i + 1):
            table[i, j] = np.dot(lags[i], lags[j])
            table[j, i] = table[i, j]
    return table


@compiled
def shrink_to_stationary(coefficients: Floats, order: int, free: Floats) -> None:
    """Write free variables of coefficients, shrunk towards 0 until they are stationary."""
    partials = np.empty(max(order, 1))
    for _ in range(_TRIES):
        inside = write_partials(coefficients, order, partials)
        for k in range(order):
            inside = inside and abs(partials[k]) <= _START_LIMIT
        if inside:
            for k in range(order):
                free[k] = to_free(partials[k])
            return
        factor = 1.0
        for k in range(order):
            factor *= _SHRINK
            coefficients[k] *= factor
    for k in range(order):
        free[k] = 0.0


@compiled
def guess(table: Floats, p: int, q: int, free: Floats) -> None:
    """Write initial free variables of an order: those of phi, then those of minus theta."""
    most, size = (len(table) - 1) // 2, p + q
    columns = np.empty(size, dtype=np.int64)
    for k in range(size):
        columns[k] = 1 + k if k < p else 1 + most + k - p
    matrix, right = np.empty((size, size)), np.empty(size)
    for i in range(size):
        right[i] = table[columns[i], 0]
        for j in range(size):
            matrix[i, j] = table[columns[i], columns[j]]
        matrix[i, i] *= 1.0 + _RIDGE
    if not solve_positive(matrix, right, size):
        for k in range(size):
            free[k] = 0.0
        return
    shrink_to_stationary(right[:p], p, free[:p])
    shrink_to_stationary(-right[p:], q, free[p:size])
