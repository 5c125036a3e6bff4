"""The suitability screen: does the past usage of a container predict its future usage?

Böttcher 2023, 6.1 lists manually which pods may be sized from their past: those that run often, use
about the same each time, and do not size themselves. This screen computes the list from the number
of windows (or runs), the spread of their peaks, the autocorrelation of points, the trend, and Java
heaps. A container that is not suitable still gets an estimate, with the verdict and its reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from kubestow.model import decoding
from kubestow.model.arrays import Floats, Ints
from kubestow.model.usage import Usage
from kubestow.policies.compiling import compiled
from kubestow.policies.sizing import guards, window_statistics

Share = Annotated[float, decoding.ValueBounds(least=0.0)]

# 95 % of the autocorrelations of independent values lie within 1.96 / sqrt(n) (Schubert 2023,
# 2.10).
_BAND = 1.96
_LAGS = 20


@dataclass(frozen=True, slots=True)
class ScreenParameters:
    """Thresholds of suitability.

    Attributes:
        least_windows: Windows, or runs, that must be known.
        most_spread: Largest coefficient of variation of peaks (Böttcher 2023, 6.1: "similar
            consumption in each run").
        most_trend: Largest significant growth of peaks per window, as a share of their mean.
    """

    least_windows: Annotated[int, decoding.ValueBounds(least=1)] = 3
    most_spread: Share = 0.3
    most_trend: Share = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Screen:
    """Results of the screen by container.

    Attributes:
        windows: Windows, or runs, with a measured peak.
        spread: Coefficient of variation of memory peaks.
        cpu_spread: Coefficient of variation of CPU peaks.
        dependent: Share of autocorrelations of memory outside the band of independent values.
        trend: Growth of memory peaks per window, as a share of their mean; 0 if not significant.
        suitable: The verdict.
        reasons: Why a container is not suitable; empty for those that are.
    """

    windows: Ints
    spread: Floats
    cpu_spread: Floats
    dependent: Floats
    trend: Floats
    suitable: NDArray[np.bool_]
    reasons: tuple[str, ...]


def screen_container(
    usage: Usage,
    window: int,
    parameters: ScreenParameters,
    known_heaps: tuple[guards.JavaHeap | None, ...] | None = None,
) -> Screen:
    """Screen every container by its past usage.

    Args:
        usage: Usage of many containers.
        window: Points of a window; where rows are runs, each row is a window.
        parameters: Thresholds of suitability.
        known_heaps: Java heaps by container, where they are known.
    """
    memory = _by_container(usage, usage.memory_bytes, window)
    cpu = _by_container(usage, usage.cpu_cores, window)
    windows = window_statistics.counts(memory)
    spread, cpu_spread = _spread(memory), _spread(cpu)
    trend = _trends(memory)
    dependent = usage.largest(_dependence(usage.memory_bytes))
    java = known_heaps or (None,) * len(usage.containers)
    reasons = tuple(
        _reason(int(windows[k]), float(spread[k]), float(trend[k]), java[k], parameters, usage.runs)
        for k in range(len(usage.containers))
    )
    suitable = np.array([not reason for reason in reasons], dtype=np.bool_)
    return Screen(windows, spread, cpu_spread, dependent, trend, suitable, reasons)


def _reason(
    windows: int,
    spread: float,
    trend: float,
    heap: guards.JavaHeap | None,
    parameters: ScreenParameters,
    runs: bool,
) -> str:
    reasons = []
    what = "run" if runs else "window"
    if windows < parameters.least_windows:
        reasons.append(f"{what}s: {windows}, {parameters.least_windows} needed")
    if spread > parameters.most_spread:
        reasons.append(f"peaks vary by {100 * spread:.0f} %")
    if trend > parameters.most_trend:
        reasons.append(f"memory grows {100 * trend:.0f} % per {what}")
    if heap is not None and heap.max_bytes is None:
        reasons.append(f"Java ({heap.why}), heap unknown")
    return "; ".join(reasons)


def _by_container(usage: Usage, values: Floats, window: int) -> Floats:
    """Return peaks by container and window, of the largest pod; where rows are runs, by run."""
    count = len(usage.containers)
    if usage.runs:
        peaks = window_statistics.largest(values)
        places = np.arange(len(peaks)) - np.searchsorted(usage.owners, usage.owners)
        joined = np.full((count, int(places.max(initial=-1)) + 1), np.nan)
        joined[usage.owners, places] = peaks
        return joined
    peaks_by_row = window_statistics.peaks(values, window)
    joined = np.full((count, peaks_by_row.shape[1]), -np.inf)
    np.maximum.at(joined, usage.owners, np.where(np.isnan(peaks_by_row), -np.inf, peaks_by_row))
    return np.where(np.isneginf(joined), np.nan, joined)


def _spread(peaks: Floats) -> Floats:
    """Return the coefficient of variation of each row; 0 with fewer than two values."""
    known = ~np.isnan(peaks)
    count = known.sum(axis=1)
    total = np.where(known, peaks, 0.0).sum(axis=1)
    mean = total / np.maximum(count, 1)
    squares = np.where(known, (peaks - mean[:, np.newaxis]) ** 2, 0.0).sum(axis=1)
    deviation = np.sqrt(squares / np.maximum(count - 1, 1))
    return np.where((count > 1) & (mean > 0.0), deviation / np.where(mean > 0.0, mean, 1.0), 0.0)


def _trends(peaks: Floats) -> Floats:
    out = np.zeros(len(peaks))
    _fill_trends(peaks, out)
    return out


@compiled
def _fill_trends(peaks: Floats, out: Floats) -> None:
    """Fit a line to each row; keep slopes of more than three standard errors."""
    for row in range(len(peaks)):
        line = peaks[row]
        places = np.flatnonzero(~np.isnan(line))
        count = len(places)
        if count < 4:
            continue
        values, times = line[places], places.astype(np.float64)
        times -= times.mean()
        mean = values.mean()
        squares = (times**2).sum()
        slope = (times * values).sum() / squares
        rest = ((values - mean - slope * times) ** 2).sum() / (count - 2)
        if mean > 0.0 and slope > 3.0 * (rest / squares) ** 0.5:
            out[row] = slope / mean


def _dependence(values: Floats) -> Floats:
    out = np.zeros(len(values))
    _fill_dependence(values, out)
    return out


@compiled
def _fill_dependence(values: Floats, out: Floats) -> None:
    """Write the share of autocorrelations outside the band, by row; gaps are skipped."""
    for row in range(len(values)):
        line = values[row]
        known = line[~np.isnan(line)]
        count = len(known)
        if count < 3 * _LAGS:
            continue
        known = known - known.mean()
        variance = (known**2).sum()
        if variance <= 0.0:
            continue
        band = _BAND / count**0.5
        outside = 0
        for lag in range(1, _LAGS + 1):
            if abs((known[lag:] * known[:-lag]).sum() / variance) > band:
                outside += 1
        out[row] = outside / _LAGS
