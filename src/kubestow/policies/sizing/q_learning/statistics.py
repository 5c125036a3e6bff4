"""Statistics of runs for ``q-learning``: average and maximum of each.

Where usage consists of runs, a run is a row, ordered by start. For pods that do not end, it is a
window, in which the largest pod counts. ``closed_form`` uses the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.model.usage import Usage
from kubestow.policies.sizing import window_statistics

BYTES_PER_MB: Final = 1e6
MILLICORES: Final = 1000.0


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Statistics by container and run, oldest first; NaN where there is none.

    Attributes:
        cpu_mean_m: Average CPU usage, in millicores.
        cpu_peak_m: Largest CPU usage, in millicores.
        memory_peak_mb: Largest memory usage, in megabytes of 10^6 bytes.
    """

    cpu_mean_m: Floats
    cpu_peak_m: Floats
    memory_peak_mb: Floats


def collect(usage: Usage, window_s: float) -> Runs:
    """Return the runs of all containers.

    Args:
        usage: Usage up to now.
        window_s: Length of a run, in seconds, of a pod that does not end.
    """
    if not usage.points:
        nothing = np.empty((len(usage.containers), 0))
        return Runs(nothing, nothing, nothing)
    parts = _by_run(usage) if usage.runs else _by_window(usage, window_s)
    mean, peak, memory = parts
    return Runs(mean * MILLICORES, peak * MILLICORES, memory / BYTES_PER_MB)


def last_known(values: Floats) -> Ints:
    """Return the index of the last known value of each row; -1 where none is known."""
    known = ~np.isnan(values)
    if not values.shape[1]:
        return np.full(len(values), -1)
    place = values.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    return np.where(known.any(axis=1), place, -1)


def _by_run(usage: Usage) -> tuple[Floats, Floats, Floats]:
    known = ~(np.isnan(usage.cpu_cores) & np.isnan(usage.memory_bytes))
    order = np.lexsort((np.argmax(known, axis=1), usage.owners))
    owners = usage.owners[order]
    places = np.arange(len(owners)) - np.searchsorted(owners, owners)
    shape = (len(usage.containers), int(places.max(initial=-1)) + 1)

    def spread(values: Floats) -> Floats:
        joined = np.full(shape, np.nan)
        joined[owners, places] = values[order]
        return joined

    return (
        spread(means(usage.cpu_cores)),
        spread(window_statistics.largest(usage.cpu_cores)),
        spread(window_statistics.largest(usage.memory_bytes)),
    )


def _by_window(usage: Usage, window_s: float) -> tuple[Floats, Floats, Floats]:
    # A history shorter than a window counts as one: better than no result.
    points = min(max(round(window_s / usage.step_s), 1), usage.points)
    windows = usage.points // points
    shaped = usage.cpu_cores[:, usage.points - windows * points :].reshape(-1, points)
    return (
        _join(usage, means(shaped).reshape(-1, windows)),
        _join(usage, window_statistics.peaks(usage.cpu_cores, points)),
        _join(usage, window_statistics.peaks(usage.memory_bytes, points)),
    )


def _join(usage: Usage, values: Floats) -> Floats:
    """Return the largest pod's value by container and window."""
    joined = np.full((len(usage.containers), values.shape[1]), np.nan)
    present, starts = np.unique(usage.owners, return_index=True)
    if len(present):
        joined[present] = np.fmax.reduceat(values, starts, axis=0)
    return joined


def means(values: Floats) -> Floats:
    """Return the mean of the known values of each row; NaN where none is known."""
    known = ~np.isnan(values)
    count = known.sum(axis=1)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
