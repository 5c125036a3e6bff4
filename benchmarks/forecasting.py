"""Speed of ARIMA fits on many series, relative to statsmodels, and how the cost grows.

Series are random walks and stationary series of 120 points, like two hours of memory usage by the
minute (Schubert 2023, figures 5.9 to 5.11: 1664 of these in 16 s, not in parallel). Figures for
people are series per second. Floors are ratios: to statsmodels fitting the same orders to the same
series one by one, and of the cost per point of a short series to a long one.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from numpy.typing import NDArray
from statsmodels.tsa.statespace.sarimax import SARIMAX

from kubestow.policies.forecasting.arima import models

SERIES, POINTS, LONG_POINTS = 400, 120, 7000
COMPARED_SERIES = 2
COMPARED_ORDER = 2  # p and q from 0 to 2: all 36 orders would take statsmodels minutes


def make_rows(count: int, points: int) -> NDArray[np.float64]:
    """Return series: half random walks, half autoregressions."""
    shocks = np.random.default_rng(3).normal(size=(count, points))
    rows = np.cumsum(shocks, axis=1)
    rows[::2] = shocks[::2]
    for t in range(1, points):
        rows[::2, t] += 0.6 * rows[::2, t - 1]
    return rows + 50.0


def seconds_for(rows: NDArray[np.float64], options: models.ArimaOptions) -> float:
    """Return the CPU time to fit models to series."""
    begun = time.process_time()
    models.Arima(options).fit(rows)
    return time.process_time() - begun


def reference_seconds(rows: NDArray[np.float64], differences: NDArray[np.int64]) -> float:
    """Return the CPU time of statsmodels for the same orders, with known differences."""
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row, d in zip(rows, differences.tolist(), strict=True):
            for p in range(COMPARED_ORDER + 1):
                for q in range(COMPARED_ORDER + 1):
                    trend = "c" if d == 0 else "n"
                    SARIMAX(row, order=(p, d, q), trend=trend).fit(disp=False, cov_type="none")
    return time.process_time() - begun


def measure() -> dict[str, float]:
    """Return rates (for people) and ratios (for the floors)."""
    rows = make_rows(SERIES, POINTS)
    full = models.ArimaOptions()
    few = models.ArimaOptions(most_p=COMPARED_ORDER, most_q=COMPARED_ORDER)
    fitted = models.Arima(few).fit(rows[:COMPARED_SERIES])  # compiles
    reference = reference_seconds(rows[:COMPARED_SERIES], fitted.orders[:, 1]) / COMPARED_SERIES
    own = seconds_for(rows, few) / SERIES
    batch = seconds_for(rows, full) / SERIES
    long = make_rows(2, LONG_POINTS)
    each = seconds_for(long, full) / len(long)
    return {
        "arima_series_of_120_points_per_second": 1.0 / batch,
        "arima_series_of_7000_points_per_second": 1.0 / each,
        "arima_over_statsmodels_same_orders": reference / own,
        # Cost per point, short over long: above 1 a long series is cheaper per point.
        "arima_linear_in_points_120_to_7000": (batch / POINTS) / (each / LONG_POINTS),
    }


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value:.4g}")
