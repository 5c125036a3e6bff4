"""Compiled fit of one ARMA model by exact maximum likelihood.

With variance and mean concentrated out, the likelihood decreases with one sum of squares
(``innovations.concentrate``), so the Levenberg-Marquardt method finds its maximum in a few steps,
over free variables that keep the model stationary and invertible (``polynomials``). Called by
``search``, which chooses starting points and orders.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.policies.compiling import compiled
from kubestow.policies.forecasting.arima import innovations, polynomials, starting_values

concentrate = innovations.concentrate
solve_positive = starting_values.solve_positive
to_partial = polynomials.to_partial
write_coefficients = polynomials.write_coefficients
write_edges = polynomials.write_edges
write_innovations = innovations.write_innovations

_STEP = 1e-6  # of a numerical derivative, in free variables of size about 1
_REJECTED = 6  # consecutive steps without improvement before giving up
# Sum of squares of a model that cannot be computed.
UNUSABLE = math.inf


class LikelihoodWork(NamedTuple):
    """Buffers for the intermediate arrays of one series.

    Attributes:
        partials: Partial autocorrelations, of the autoregression and of the moving average.
        phi: Autoregressive coefficients.
        theta: Moving-average coefficients.
        edges: Covariances, see ``polynomials.write_edges``.
        out: Errors, responses and variances, see ``innovations``.
        scaled: Scaled errors at the best point so far.
        moved: Scaled errors at a trial point.
        slopes: Derivatives of the scaled errors, one row per free variable.
    """

    partials: Floats
    phi: Floats
    theta: Floats
    edges: Floats
    out: Floats
    scaled: Floats
    moved: Floats
    slopes: Floats


@compiled
def make_work(n: int, most: int) -> LikelihoodWork:
    """Return buffers for a series of ``n`` points and orders up to ``most``."""
    return LikelihoodWork(
        np.zeros((2, most + 1)),
        np.zeros(most + 1),
        np.zeros(most + 1),
        np.zeros((3, most + 1)),
        np.zeros((3, n)),
        np.zeros(n),
        np.zeros(n),
        np.zeros((2 * most + 1, n)),
    )


@compiled
def copy_numbers(source: Floats, target: Floats, count: int) -> None:
    """Copy the first ``count`` numbers (slice assignment takes seconds to compile)."""
    for k in range(count):
        target[k] = source[k]


@compiled
def set_coefficients(free: Floats, p: int, q: int, work: LikelihoodWork) -> None:
    """Write the coefficients from free variables: those of phi, then those of minus theta."""
    for k in range(p):
        work.partials[0, k] = to_partial(free[k])
    for k in range(q):
        work.partials[1, k] = to_partial(free[p + k])
    write_coefficients(work.partials[0], p, work.phi)
    write_coefficients(work.partials[1], q, work.theta)
    for k in range(q):
        work.theta[k] = -work.theta[k]


@compiled
def measure(
    w: Floats, free: Floats, p: int, q: int, with_mean: bool, work: LikelihoodWork, scaled: Floats
) -> float:
    """Fill the scaled errors of a model and return their sum of squares."""
    set_coefficients(free, p, q, work)
    write_edges(p, q, work.partials[0], work.phi, work.theta, work.edges)
    if not write_innovations(w, p, q, work.phi, work.theta, work.edges, work.out):
        return UNUSABLE
    total = concentrate(work.out, with_mean, scaled)[1]
    return total if math.isfinite(total) else UNUSABLE


@compiled
def differentiate(
    w: Floats, free: Floats, p: int, q: int, with_mean: bool, work: LikelihoodWork
) -> tuple[Floats, Floats]:
    """Return the products of the errors' derivatives: with each other and with the errors."""
    size, n = p + q, len(w)
    for k in range(size):
        # Towards 0, so that no step leaves the limits.
        step = -_STEP if free[k] > 0.0 else _STEP
        step *= max(1.0, abs(free[k]))
        kept = free[k]
        free[k] = kept + step
        usable = measure(w, free, p, q, with_mean, work, work.moved) < UNUSABLE
        free[k] = kept
        for t in range(n):
            work.slopes[k, t] = (work.moved[t] - work.scaled[t]) / step if usable else 0.0
    curvature, gradient = np.zeros((size, size)), np.zeros(size)
    for i in range(size):
        gradient[i] = np.dot(work.slopes[i], work.scaled)
        for j in range(i + 1):
            curvature[i, j] = np.dot(work.slopes[i], work.slopes[j])
            curvature[j, i] = curvature[i, j]
    return curvature, gradient


@compiled
def try_step(
    free: Floats, curvature: Floats, gradient: Floats, damping: float, trial: Floats
) -> bool:
    """Write the point after a damped step; false if the system cannot be solved."""
    size = len(gradient)
    matrix, right = curvature.copy(), -gradient
    for k in range(size):
        matrix[k, k] += damping * (curvature[k, k] + 1e-12)
    if not solve_positive(matrix, right, size):
        return False
    limit = polynomials.FREE_LIMIT
    for k in range(size):
        trial[k] = min(max(free[k] + right[k], -limit), limit)
    return True


@compiled
def climb(
    w: Floats,
    free: Floats,
    p: int,
    q: int,
    with_mean: bool,
    rounds: float,
    gain: float,
    work: LikelihoodWork,
) -> float:
    """Move free variables to the maximum of the likelihood; return the sum of squares there."""
    total = measure(w, free, p, q, with_mean, work, work.scaled)
    if p + q == 0 or total == UNUSABLE:
        return total
    trial = np.empty(p + q)
    damping, done = 1e-3, 0.0
    while done < rounds:
        done += 1.0
        curvature, gradient = differentiate(w, free, p, q, with_mean, work)
        before = total
        for _ in range(_REJECTED):
            if try_step(free, curvature, gradient, damping, trial):
                trial_total = measure(w, trial, p, q, with_mean, work, work.moved)
                if trial_total < total:
                    total = trial_total
                    copy_numbers(trial, free, p + q)
                    copy_numbers(work.moved, work.scaled, len(w))
                    damping = max(damping * 0.1, 1e-9)
                    break
            damping = min(damping * 10.0, 1e12)
        if 0.5 * len(w) * math.log(before / max(total, 1e-300)) < gain:
            break
    return total
