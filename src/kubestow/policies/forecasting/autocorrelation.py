"""Autocorrelations and partial autocorrelations of many series at once.

The former by equation 3.1 of Shi 2023 (sums over all pairs, divided by the sum of squares), the
latter by the Durbin-Levinson recursion on them. Used to show candidates for ARIMA orders, and by
``diagnostics``.
"""

from __future__ import annotations

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.policies.forecasting import histories


def correlate(values: Floats, lags: int) -> Floats:
    """Return the autocorrelations at lags 0 to ``lags``; of a constant series 0 beyond lag 0.

    Args:
        values: One row per series, more points than lags.
        lags: The highest lag.

    Returns:
        One row per series, one column per lag.
    """
    rows = histories.check(values, lags + 1, "autocorrelations")
    points = rows.shape[1]
    centred = rows - rows.mean(axis=1, keepdims=True)
    # Scaling does not change a correlation, but keeps squares of extreme values in range.
    sizes = np.abs(centred).max(axis=1, keepdims=True)
    centred = centred / np.where(sizes > 0.0, sizes, 1.0)
    sums = np.stack(
        [(centred[:, lag:] * centred[:, : points - lag]).sum(axis=1) for lag in range(lags + 1)], 1
    )
    correlations = sums / np.where(sums[:, :1] > 0.0, sums[:, :1], 1.0)
    correlations[:, 0] = 1.0
    return correlations


def correlate_partially(values: Floats, lags: int) -> Floats:
    """Return the partial autocorrelations at lags 0 to ``lags``, in the shape of ``correlate``."""
    return partial_autocorrelations(correlate(values, lags))


def partial_autocorrelations(correlations: Floats) -> Floats:
    """Return partial autocorrelations from autocorrelations (Durbin-Levinson), including lag 0.

    Once the variance is fully explained, the remaining lags are 0.
    """
    count, width = correlations.shape
    partials = np.zeros((count, width))
    partials[:, 0] = 1.0
    phi = np.zeros((count, 0))
    error = np.ones(count)
    for k in range(1, width):
        behind = correlations[:, k - 1 : 0 : -1]
        top = correlations[:, k] - (phi * behind).sum(axis=1)
        newest = np.where(error > 1e-12, top / np.where(error > 1e-12, error, 1.0), 0.0)
        phi = np.concatenate((phi - newest[:, None] * phi[:, ::-1], newest[:, None]), axis=1)
        error = error * (1.0 - newest**2)
        partials[:, k] = newest
    return partials
