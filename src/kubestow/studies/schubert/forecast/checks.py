"""Checks of the model assumptions of the forecast study: dependence, fit, normal residuals.

Schubert 2023, E7 to E9: autocorrelations beyond +-1.96/sqrt(T), R squared of the regressions, and a
chi-square test of residuals. The thesis does not state its bins: ten of equal probability under the
normal distribution with the residuals' own mean and deviation are taken here, which leaves seven
degrees of freedom.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kubestow.model.arrays import Floats
from kubestow.policies.forecasting import autocorrelation
from kubestow.policies.sizing import margins
from kubestow.studies.schubert.forecast import windows

LAGS: Final = 40
BINS: Final = 10
# Bins, less one for the total, less two for mean and deviation.
FREEDOM: Final = BINS - 3
LEVEL: Final = 0.05


def outside(values: Floats, lags: int = LAGS) -> Floats:
    """Return the share of lags whose autocorrelation is beyond +-1.96/sqrt(T), by row."""
    correlations = autocorrelation.correlate(values, lags)[:, 1:]
    share: Floats = (np.abs(correlations) > 1.96 / np.sqrt(values.shape[1])).mean(axis=1)
    return share


def not_normal(residuals: Floats) -> NDArray[np.bool_]:
    """Return where a chi-square test at 95 % rejects the normal distribution, by row."""
    means = residuals.mean(axis=1, keepdims=True)
    deviations = residuals.std(axis=1, keepdims=True)
    scaled = (residuals - means) / np.where(deviations > 0.0, deviations, 1.0)
    edges = stats.norm.ppf(np.arange(1, BINS) / BINS)
    places = np.searchsorted(edges, scaled)
    counts = np.stack([(places == place).sum(axis=1) for place in range(BINS)], axis=1)
    expected = residuals.shape[1] / BINS
    statistic = ((counts - expected) ** 2 / expected).sum(axis=1)
    rejected: NDArray[np.bool_] = statistic > stats.chi2.ppf(1.0 - LEVEL, FREEDOM)
    return rejected


def check(windows: windows.Windows, fits: margins.Fits) -> dict[str, Any]:
    """Return the diagnostics of one set, on the last window of each series."""
    last = windows.places == 0
    fitted = last & (fits.outcomes == margins.FITTED)
    r_squared = fits.r_squared[fitted]
    residuals = fits.residuals[fitted]
    known = residuals[:, np.isfinite(residuals).all(axis=0)]
    beyond = outside(windows.past[last])
    low, middle, high = np.quantile(r_squared, [0.25, 0.5, 0.75])
    reach = 1.5 * (high - low)
    return {
        "set": windows.family,
        "resource": windows.resource,
        "series": int(last.sum()),
        "lags_outside": float(beyond.mean()),
        "dependent": float((beyond > LEVEL).mean()),
        "r_squared": {
            "low_whisker": float(r_squared[r_squared >= low - reach].min()),
            "p25": float(low),
            "p50": float(middle),
            "p75": float(high),
            "high_whisker": float(r_squared[r_squared <= high + reach].max()),
        },
        "not_normal": float(not_normal(known).mean()),
        "windows": len(windows.real),
        "fallbacks": int((fits.outcomes >= margins.SHORT).sum()),
        "refused_orders": float(fits.refused.mean()),
    }
