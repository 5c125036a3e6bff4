"""Compiled state updates and forecasts of fitted ARIMA models; parameters stay fixed.

A state is what the innovations algorithm needs of the history (``innovations``): the last points
and errors, and the coefficients of the last points until they have converged. Multi-step forecasts
are exact too: coefficients depend on the number of points, not on their values, and can be computed
for future points. Called by ``models``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.policies.compiling import compiled
from kubestow.policies.forecasting.arima import innovations, polynomials

is_steady = innovations.is_steady
push_row = innovations.push_row
write_edges = polynomials.write_edges
write_partials = polynomials.write_partials


class Models(NamedTuple):
    """Parameters of many series; each array has one entry per series.

    Attributes:
        orders: p, d and q.
        phi: Autoregressive coefficients.
        theta: Moving-average coefficients.
        means: Mean of the differenced series, in its scale.
        edges: Covariances, see ``polynomials.write_edges``.
    """

    orders: Ints
    phi: Floats
    theta: Floats
    means: Floats
    edges: Floats


class States(NamedTuple):
    """States of many series; each array has one entry per series.

    Attributes:
        counts: Points so far, and whether the coefficients have converged (0 or 1).
        levels: Last value of the series and of its first difference.
        points: Last points of the differenced series without its mean, newest first.
        errors: Their prediction errors, newest first.
        rows: Coefficients of the last points, newest first.
        variances: Variances of the last errors, newest first.
    """

    counts: Ints
    levels: Floats
    points: Floats
    errors: Floats
    rows: Floats
    variances: Floats


def make_states(count: int, most: int) -> States:
    """Return the initial states of series without points."""
    return States(
        np.zeros((count, 2), dtype=np.int64),
        np.zeros((count, 2)),
        np.zeros((count, most + 1)),
        np.zeros((count, most + 1)),
        np.zeros((count, most + 1, most + 1)),
        np.ones((count, most + 1)),
    )


def copy_states(states: States) -> States:
    """Return a copy of states."""
    return States(
        states.counts.copy(),
        states.levels.copy(),
        states.points.copy(),
        states.errors.copy(),
        states.rows.copy(),
        states.variances.copy(),
    )


@compiled
def make_edges(orders: Ints, phi: Floats, theta: Floats) -> Floats:
    """Return the covariances of many models."""
    count, width = phi.shape
    edges = np.zeros((count, 3, width))
    partials = np.zeros(width)
    for s in range(count):
        write_partials(phi[s], orders[s, 0], partials)
        write_edges(orders[s, 0], orders[s, 2], partials, phi[s], theta[s], edges[s])
    return edges


@compiled
def take_difference(levels: Floats, count: int, d: int, value: float) -> float:
    """Update the last values and return the newest point of the differenced series."""
    change = value - levels[0] if count > 0 else 0.0
    second = change - levels[1] if count > 1 else 0.0
    levels[0], levels[1] = value, change
    if d == 0:
        return value
    return change if d == 1 else second


@compiled
def predict_next(s: int, i: int, models: Models, states: States, row: Floats) -> float:
    """Return the prediction of point ``i`` of a differenced series, with its coefficients."""
    p, q = models.orders[s, 0], models.orders[s, 2]
    m = max(p, q)
    value = 0.0
    for j in range(min(i - 1, m)):
        value += row[j] * states.errors[s, j]
    if i > m:
        for j in range(p):
            value += models.phi[s, j] * states.points[s, j]
    return value


@compiled
def step(s: int, value: float, models: Models, states: States) -> None:
    """Update one series with one point, in its scale."""
    p, d, q = models.orders[s, 0], models.orders[s, 1], models.orders[s, 2]
    count = states.counts[s, 0]
    w = take_difference(states.levels[s], count, d, value) - models.means[s]
    states.counts[s, 0] = count + 1
    if count < d:
        return
    i = count - d + 1
    row = models.theta[s]
    if states.counts[s, 1] == 0:
        push_row(i, p, q, models.edges[s], states.rows[s], states.variances[s])
        row = states.rows[s, 0]
    error = w - predict_next(s, i, models, states, row)
    if is_steady(i, p, q, models.theta[s], states.rows[s], states.variances[s]):
        states.counts[s, 1] = 1
    for j in range(max(p, q) - 1, 0, -1):
        states.points[s, j] = states.points[s, j - 1]
        states.errors[s, j] = states.errors[s, j - 1]
    states.points[s, 0], states.errors[s, 0] = w, error


@compiled
def forecast(s: int, steps: int, models: Models, states: States, out: Floats) -> None:
    """Fill the means of the next steps of one series, in its scale.

    Args:
        s: The series.
        steps: Number of steps.
        models: The parameters.
        states: The states; not changed.
        out: Filled with the means.
    """
    p, d, q = models.orders[s, 0], models.orders[s, 1], models.orders[s, 2]
    m, count = max(p, q), max(states.counts[s, 0] - d, 0)
    moving = states.counts[s, 1] == 0
    rows, variances = states.rows[s].copy(), states.variances[s].copy()
    for h in range(1, steps + 1):
        i = count + h
        if moving and h <= m:
            push_row(i, p, q, models.edges[s], rows, variances)
        value = 0.0
        for j in range(h - 1, min(i - 1, m)):
            row = rows[0, j] if moving else models.theta[s, j]
            value += row * states.errors[s, j - h + 1]
        if i > m:
            for j in range(p):
                value += models.phi[s, j] * (
                    out[h - 2 - j] if j < h - 1 else states.points[s, j - h + 1]
                )
        out[h - 1] = value
    integrate(d, models.means[s], states.levels[s], out)


@compiled
def integrate(d: int, mean: float, levels: Floats, out: Floats) -> None:
    """Integrate forecasts of a differenced series to those of the series, in place."""
    level, change = levels[0], levels[1]
    for h in range(len(out)):
        value = out[h] + mean
        if d == 2:
            change += value
            value = change
        if d > 0:
            level += value
            value = level
        out[h] = value


@compiled
def advance(points: Floats, models: Models, states: States) -> None:
    """Update all series with new points, in their scales."""
    for s in range(len(points)):
        for t in range(points.shape[1]):
            step(s, points[s, t], models, states)


@compiled
def forecast_all(steps: int, models: Models, states: States) -> Floats:
    """Return the means of the next steps of all series, in their scales."""
    means = np.zeros((len(models.means), steps))
    for s in range(len(means)):
        forecast(s, steps, models, states, means[s])
    return means


@compiled
def roll_all(points: Floats, steps: int, models: Models, states: States) -> Floats:
    """Return the means forecast after each new point, updating the states."""
    means = np.zeros((points.shape[0], points.shape[1], steps))
    for s in range(points.shape[0]):
        for t in range(points.shape[1]):
            step(s, points[s, t], models, states)
            forecast(s, steps, models, states, means[s, t])
    return means
