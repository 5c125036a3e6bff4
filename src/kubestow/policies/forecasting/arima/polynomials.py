"""Compiled conversions of ARMA coefficients: partial autocorrelations and covariances.

The convention is that of the libraries: w(t) = phi1 w(t-1) + ... + e(t) + theta1 e(t-1) + ...
Stationary and invertible models are reached through partial autocorrelations, each between -1 and
1 (Jones 1980, Monahan 1984): every such tuple gives one stationary polynomial and no other does.
Called by ``states``, ``likelihood`` and ``starting_values``.
"""

from __future__ import annotations

import math

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.policies.compiling import compiled

# The free variable is u = r / sqrt(1 - r^2); at 100 the partial autocorrelation r is 0.99995, close
# enough to the unit circle for a likelihood, and far enough for accurate covariances.
FREE_LIMIT = 100.0


@compiled
def to_partial(free: float) -> float:
    """Return the partial autocorrelation of a free variable."""
    bounded = min(max(free, -FREE_LIMIT), FREE_LIMIT)
    return bounded / math.sqrt(1.0 + bounded * bounded)


@compiled
def to_free(partial: float) -> float:
    """Return the free variable of a partial autocorrelation, within its limit."""
    rest = 1.0 - partial * partial
    if rest <= 1.0 / (1.0 + FREE_LIMIT * FREE_LIMIT):
        return FREE_LIMIT if partial > 0.0 else -FREE_LIMIT
    return partial / math.sqrt(rest)


@compiled
def write_coefficients(partials: Floats, order: int, coefficients: Floats) -> None:
    """Write the autoregressive coefficients of partial autocorrelations (Durbin-Levinson)."""
    for k in range(order):
        r = partials[k]
        low, high = 0, k - 1
        while low < high:
            a, b = coefficients[low], coefficients[high]
            coefficients[low] = a - r * b
            coefficients[high] = b - r * a
            low += 1
            high -= 1
        if low == high:
            coefficients[low] *= 1.0 - r
        coefficients[k] = r


@compiled
def write_partials(coefficients: Floats, order: int, partials: Floats) -> bool:
    """Write the partial autocorrelations of autoregressive coefficients.

    Returns:
        Whether the polynomial is stationary; if not, the output is meaningless.
    """
    for k in range(order):
        partials[k] = coefficients[k]
    for k in range(order - 1, -1, -1):
        r = partials[k]
        if not abs(r) < 1.0:
            return False
        scale = 1.0 / (1.0 - r * r)
        low, high = 0, k - 1
        while low < high:
            a, b = partials[low], partials[high]
            partials[low] = (a + r * b) * scale
            partials[high] = (b + r * a) * scale
            low += 1
            high -= 1
        if low == high:
            partials[low] *= (1.0 + r) * scale
    return True


@compiled
def write_autocovariances(partials: Floats, order: int, phi: Floats, out: Floats) -> None:
    """Write the autocovariances of an autoregression with unit innovations, lags from 0 on.

    Computed order by order, which stays accurate near the unit circle where a linear system would
    not.
    """
    variance = 1.0
    for k in range(order):
        variance /= 1.0 - partials[k] * partials[k]
    out[0] = variance
    shorter = np.empty(max(order, 1))
    error = variance
    for k in range(order):
        value = partials[k] * error
        for i in range(k):
            value += shorter[i] * out[k - i]
        if k + 1 < len(out):
            out[k + 1] = value
        error *= 1.0 - partials[k] * partials[k]
        write_coefficients(partials, k + 1, shorter)
    for lag in range(order + 1, len(out)):
        value = 0.0
        for i in range(order):
            value += phi[i] * out[lag - 1 - i]
        out[lag] = value


@compiled
def write_edges(
    p: int, q: int, partials: Floats, phi: Floats, theta: Floats, edges: Floats
) -> None:
    """Write the covariances that the innovations algorithm needs.

    Args:
        p: Order of the autoregression.
        q: Order of the moving average.
        partials: Partial autocorrelations of the autoregression.
        phi: Autoregressive coefficients.
        theta: Moving-average coefficients.
        edges: Three rows by lag, in units of the innovations' variance: of the process with itself,
            of its moving-average part with the process, of the moving-average part with itself
            (kappa of Brockwell and Davis 1991, equation 5.3.5).
    """
    m = max(p, q)
    pure = np.empty(m + q + 2)
    write_autocovariances(partials, p, phi, pure)
    psi = np.empty(q + 1)
    for j in range(q + 1):
        psi[j] = 1.0 if j == 0 else theta[j - 1]
        for i in range(min(j, p)):
            psi[j] += phi[i] * psi[j - 1 - i]
    for lag in range(edges.shape[1]):
        own, joint, tail = 0.0, 0.0, 0.0
        for i in range(q + 1):
            a = 1.0 if i == 0 else theta[i - 1]
            if i >= lag:
                joint += a * psi[i - lag]
                tail += a * (1.0 if i == lag else theta[i - lag - 1])
            if lag <= m:
                for j in range(q + 1):
                    own += a * (1.0 if j == 0 else theta[j - 1]) * pure[abs(lag + j - i)]
        edges[0, lag], edges[1, lag], edges[2, lag] = own, joint, tail
