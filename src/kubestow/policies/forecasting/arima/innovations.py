"""Compiled exact innovations of an ARMA model, in one pass and without large matrices.

The innovations algorithm for ARMA processes (Brockwell and Davis 1991, section 5.3) uses the
process itself for its first max(p, q) points and its moving-average part after them, so each point
needs at most max(p, q) coefficients. These converge to the moving-average coefficients; from there
on a point costs p + q products. The result is the exact Gaussian likelihood at the cost of a
conditional sum of squares, for short and for long series.
"""

from __future__ import annotations

import math

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.policies.compiling import compiled

# Coefficients this close to their limits count as converged: the likelihood changes by less than
# its rounding error, and the switch does not affect numerical derivatives.
CONVERGED = 1e-11
# In exact arithmetic no variance is below that of the innovations; below this, digits are lost.
LEAST_VARIANCE = 1.0 - 1e-6


@compiled
def push_row(i: int, p: int, q: int, edges: Floats, rows: Floats, variances: Floats) -> float:
    """Compute the coefficients of one point from those of the points before.

    Args:
        i: Number of the point, from 1.
        p: Order of the autoregression.
        q: Order of the moving average.
        edges: From ``polynomials.write_edges``.
        rows: Coefficients of the last points, newest first; shifted by one.
        variances: Variances of the last points' errors, newest first; shifted by one.

    Returns:
        The variance of this point's prediction error, in units of the innovations' variance.
    """
    m = max(p, q)
    for a in range(m, 0, -1):
        variances[a] = variances[a - 1]
        for j in range(m):
            rows[a, j] = rows[a - 1, j]
    kind = 0 if i <= m else 2
    depth = min(i - 1, m if i <= m else q)
    for j in range(m):
        rows[0, j] = 0.0
    variance = float(edges[kind, 0])
    for j in range(depth, 0, -1):
        value = edges[1 if kind == 2 and i - j <= m else kind, j]
        for s in range(j + 1, depth + 1):
            value -= rows[0, s - 1] * rows[j, s - j - 1] * variances[s]
        rows[0, j - 1] = value / variances[j]
        variance -= value * rows[0, j - 1]
    variances[0] = variance
    return variance


@compiled
def is_steady(i: int, p: int, q: int, theta: Floats, rows: Floats, variances: Floats) -> bool:
    """Return whether the coefficients of the last point have converged to the moving average's."""
    distance = abs(variances[0] - 1.0)
    for j in range(q):
        distance = max(distance, abs(rows[0, j] - theta[j]))
    return i > max(p, q) and bool(distance <= CONVERGED)


@compiled
def filter_start(
    w: Floats, p: int, q: int, phi: Floats, theta: Floats, edges: Floats, out: Floats
) -> int:
    """Fill errors, their response to a constant and their variances until coefficients converge.

    Args:
        w: The series.
        p: Order of the autoregression.
        q: Order of the moving average.
        phi: Autoregressive coefficients.
        theta: Moving-average coefficients.
        edges: From ``polynomials.write_edges``.
        out: Rows of errors of the series, of a series of ones, and variances.

    Returns:
        The number of points done, or -1 if the model is too close to the unit circle to compute.
    """
    m = max(p, q)
    rows, variances = np.zeros((m + 1, m + 1)), np.ones(m + 1)
    for t in range(len(w)):
        out[2, t] = push_row(t + 1, p, q, edges, rows, variances)
        if not out[2, t] > LEAST_VARIANCE:
            return -1
        error, one = w[t], 1.0
        for j in range(min(t, m)):
            error -= rows[0, j] * out[0, t - 1 - j]
            one -= rows[0, j] * out[1, t - 1 - j]
        if t >= m:
            for j in range(p):
                error -= phi[j] * w[t - 1 - j]
                one -= phi[j]
        out[0, t], out[1, t] = error, one
        if is_steady(t + 1, p, q, theta, rows, variances):
            return t + 1
    return len(w)


@compiled
def filter_rest(
    w: Floats, begin: int, p: int, q: int, phi: Floats, theta: Floats, out: Floats
) -> None:
    """Fill errors and responses from a point on where the coefficients have converged."""
    n = len(w)
    errors, ones = out[0], out[1]
    constant = 1.0
    for j in range(p):
        constant -= phi[j]
    for t in range(begin, n):
        errors[t] = w[t]
    # One lag at a time has no dependency between points, so the loop vectorizes.
    for j in range(p):
        a = phi[j]
        for t in range(begin, n):
            errors[t] -= a * w[t - 1 - j]
    for t in range(begin, n):
        error, one = errors[t], constant
        for j in range(q - 1, -1, -1):
            error -= theta[j] * errors[t - 1 - j]
            one -= theta[j] * ones[t - 1 - j]
        errors[t], ones[t], out[2, t] = error, one, 1.0


@compiled
def write_innovations(
    w: Floats, p: int, q: int, phi: Floats, theta: Floats, edges: Floats, out: Floats
) -> bool:
    """Fill errors, their response to a constant, and variances, for the whole series.

    Returns:
        Whether it succeeded; see ``filter_start``.
    """
    done = filter_start(w, p, q, phi, theta, edges, out)
    if done < 0:
        return False
    filter_rest(w, done, p, q, phi, theta, out)
    return True


@compiled
def concentrate(out: Floats, with_mean: bool, scaled: Floats) -> tuple[float, float, float]:
    """Remove the best mean from the errors and scale them for least squares.

    The exact likelihood, with variance and mean concentrated out, decreases with the sum of squares
    of the scaled errors: e(t) / sqrt(v(t)), times the geometric mean of the sqrt(v).

    Args:
        out: From ``write_innovations``.
        with_mean: Whether there is a mean to estimate.
        scaled: Filled with the scaled errors.

    Returns:
        The mean, the sum of squares of the scaled errors, and the sum of the logarithms of v.
    """
    n = len(scaled)
    top, bottom, logs = 0.0, 0.0, 0.0
    for t in range(n):
        v = out[2, t]
        if v != 1.0:
            logs += math.log(v)
        top += out[0, t] * out[1, t] / v
        bottom += out[1, t] * out[1, t] / v
    mean = top / bottom if with_mean and bottom > 0.0 else 0.0
    factor = math.exp(logs / (2.0 * n))
    total = 0.0
    for t in range(n):
        value = factor * (out[0, t] - mean * out[1, t])
        if out[2, t] != 1.0:
            value /= math.sqrt(out[2, t])
        scaled[t] = value
        total += value * value
    return mean, total, logs


@compiled
def log_likelihood(n: int, total: float) -> float:
    """Return the exact Gaussian log-likelihood at the best variance.

    Args:
        n: Number of points.
        total: Sum of squares of the scaled errors, from ``concentrate``.
    """
    # The scale includes the logarithms of v: n ln(total / n) = n ln(variance) + their sum.
    return -0.5 * n * (math.log(2.0 * math.pi * max(total, 1e-300) / n) + 1.0)
