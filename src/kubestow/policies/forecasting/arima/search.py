"""Compiled search of ARMA orders: all orders of a series, all series of a batch.

Each order starts from the best of the Hannan-Rissanen estimate and the two models one order
smaller with an appended zero, so more parameters never fit worse; the chosen order is refined from
all of these starts. Called by ``models``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kubestow.model.arrays import Floats, Ints
from kubestow.policies.compiling import compiled
from kubestow.policies.forecasting.arima import innovations, likelihood, starting_values

UNUSABLE = likelihood.UNUSABLE
Work = likelihood.LikelihoodWork
climb = likelihood.climb
concentrate = innovations.concentrate
copy_numbers = likelihood.copy_numbers
guess = starting_values.guess
log_likelihood = innovations.log_likelihood
make_work = likelihood.make_work
measure = likelihood.measure
tabulate_products = starting_values.tabulate_products

# Maximum rounds, and the gain in log-likelihood below which to stop: orders differ by whole units
# of AIC, and the chosen one is refined properly. Rounds are floats, or numba would specialise the
# method for each constant.
_SEARCH_ROUNDS, _SEARCH_GAIN = 12.0, 1e-2
_FINAL_ROUNDS, _FINAL_GAIN = 100.0, 1e-7


@compiled
def start_from(which: int, p: int, q: int, table: Floats, solutions: Floats) -> Floats:
    """Return a starting point of an order: the estimate (0), or a smaller model (1 and 2).

    A smaller model that does not exist gives zeros.
    """
    free = np.zeros(p + q)
    if which == 0:
        guess(table, p, q, free)
        return free
    a, b = (p - 1, q) if which == 1 else (p, q - 1)
    if a >= 0 and b >= 0:
        for k in range(a + b):
            free[k if k < a else k + p - a] = solutions[a, b, k]
    return free


@compiled
def start(
    w: Floats, p: int, q: int, with_mean: bool, table: Floats, solutions: Floats, work: Work
) -> Floats:
    """Return the best starting point of an order."""
    best = start_from(0, p, q, table, solutions)
    least = measure(w, best, p, q, with_mean, work, work.scaled)
    for which in range(1, 3):
        other = start_from(which, p, q, table, solutions)
        total = measure(w, other, p, q, with_mean, work, work.scaled)
        if total < least:
            least = total
            best = other
    return best


@compiled
def finish(
    w: Floats, p: int, q: int, with_mean: bool, table: Floats, solutions: Floats, work: Work
) -> Floats:
    """Return the best maximum of one order reached from any start."""
    best = np.zeros(p + q)
    copy_numbers(solutions[p, q], best, p + q)
    least = climb(w, best, p, q, with_mean, _FINAL_ROUNDS, _FINAL_GAIN, work)
    for which in range(3):
        other = start_from(which, p, q, table, solutions)
        total = climb(w, other, p, q, with_mean, _FINAL_ROUNDS, _FINAL_GAIN, work)
        if total < least:
            least = total
            best = other
    return best


@compiled
def most_parameters(n: int) -> int:
    """Return the maximum number of coefficients for ``n`` points: one per four points."""
    return max(0, (n - 2) // 4)


@compiled
def search(
    w: Floats, table: Floats, size: int, with_mean: bool, work: Work, likelihoods: Floats
) -> Floats:
    """Fit every order and fill the log-likelihoods by p and q.

    Orders with more than ``size`` coefficients are skipped.

    Returns:
        The free variables by p and q.
    """
    ps, qs = likelihoods.shape
    solutions = np.zeros((ps, qs, ps + qs))
    for p in range(ps):
        for q in range(qs):
            if p + q > size:
                continue
            free = start(w, p, q, with_mean, table, solutions, work)
            total = climb(w, free, p, q, with_mean, _SEARCH_ROUNDS, _SEARCH_GAIN, work)
            copy_numbers(free, solutions[p, q], p + q)
            if total < UNUSABLE:
                likelihoods[p, q] = log_likelihood(len(w), total)
    return solutions


@compiled
def choose(likelihoods: Floats, n: int, extra: int, slack: float) -> tuple[int, int]:
    """Choose an order: lowest SC among those within ``slack`` units of the lowest AIC.

    Args:
        likelihoods: Log-likelihoods by p and q.
        n: Number of points.
        extra: Parameters besides the coefficients: the variance, and the mean if there is one.
        slack: Units of AIC within which orders count as equal.

    Returns:
        p and q; on a tie the one with fewer coefficients, then with the smaller p.
    """
    least = math.inf
    for p in range(likelihoods.shape[0]):
        for q in range(likelihoods.shape[1]):
            least = min(least, 2.0 * (p + q + extra) - 2.0 * likelihoods[p, q])
    best_p, best_q, best = 0, 0, math.inf
    for size in range(likelihoods.shape[0] + likelihoods.shape[1] - 1):
        for p in range(min(size, likelihoods.shape[0] - 1) + 1):
            q = size - p
            if q >= likelihoods.shape[1]:
                continue
            twice = 2.0 * likelihoods[p, q]
            within = 2.0 * (size + extra) - twice <= least + slack
            criterion = math.log(n) * (size + extra) - twice
            # Ignore differences due to rounding.
            if within and criterion < best - 1e-9:
                best_p, best_q, best = p, q, criterion
    return best_p, best_q


@compiled
def fit_one(
    w: Floats, orders: Ints, fixed: bool, with_mean: bool, slack: float, results: Floats
) -> tuple[Floats, Floats, Floats]:
    """Fit one series: the order given, or the best up to it.

    Args:
        w: The series, differenced and scaled.
        orders: p and q; replaced by the chosen ones.
        fixed: Whether they are given; otherwise they are the maximum to try.
        with_mean: Whether there is a mean.
        slack: See ``choose``.
        results: Filled with mean, variance of the innovations and log-likelihood.

    Returns:
        phi, theta and the log-likelihoods by p and q.
    """
    n = len(w)
    p, q = orders[0], orders[1]
    work = make_work(n, max(p, q))
    likelihoods = np.full((p + 1, q + 1), -math.inf)
    table = tabulate_products(w - w.mean() if with_mean else w, max(p, q))
    # A given order is also reached through the smaller ones, which helps to find its maximum.
    size = p + q if fixed else most_parameters(n)
    solutions = search(w, table, size, with_mean, work, likelihoods)
    if not fixed:
        p, q = choose(likelihoods, n, 2 if with_mean else 1, slack)
    free = finish(w, p, q, with_mean, table, solutions, work)
    measure(w, free, p, q, with_mean, work, work.scaled)
    mean, total, logs = concentrate(work.out, with_mean, work.scaled)
    likelihoods[p, q] = max(likelihoods[p, q], log_likelihood(n, total))
    results[0], results[1] = mean, total * math.exp(-logs / n) / n
    results[2] = likelihoods[p, q]
    orders[0], orders[1] = p, q
    return work.phi, work.theta, likelihoods


@compiled
def difference(y: Floats, times: int) -> Floats:
    """Return a series differenced ``times`` times; it gets shorter by as many points."""
    w = y.copy()
    for k in range(times):
        for t in range(len(w) - 1, k, -1):
            w[t] -= w[t - 1]
    return w[times:].copy()


@compiled
def fit_batch(
    scaled: Floats,
    differences: Ints,
    most: Ints,
    fixed: bool,
    with_means: NDArray[np.bool_],
    flat: NDArray[np.bool_],
    slack: float,
) -> tuple[Ints, Floats, Floats, Floats, Floats]:
    """Fit all series, one after the other.

    Args:
        scaled: One row per series, scaled to size 1.
        differences: How often each is differenced.
        most: p and q, given or the maximum.
        fixed: Whether they are given.
        with_means: Whether each has a mean.
        flat: Series that are constant after differencing: p = q = 0 and zeros.
        slack: See ``choose``.

    Returns:
        Orders (p, q), phi, theta, results (mean, variance, log-likelihood) and log-likelihoods by
        p and q, each with one entry per series.
    """
    count, width = len(scaled), max(most[0], most[1])
    orders = np.zeros((count, 2), dtype=np.int64)
    phi, theta = np.zeros((count, width + 1)), np.zeros((count, width + 1))
    results = np.zeros((count, 3))
    tables = np.full((count, most[0] + 1, most[1] + 1), -math.inf)
    for s in range(count):
        if flat[s]:
            continue
        orders[s, 0], orders[s, 1] = most[0], most[1]
        w = difference(scaled[s], differences[s])
        a, b, table = fit_one(w, orders[s], fixed, with_means[s], slack, results[s])
        copy_numbers(a, phi[s], orders[s, 0])
        copy_numbers(b, theta[s], orders[s, 1])
        for p in range(most[0] + 1):
            copy_numbers(table[p], tables[s, p], most[1] + 1)
    return orders, phi, theta, results, tables
