"""What ``conformal`` never goes below, whatever was usual lately: start-up peaks and OOM kills."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kubestow.policies.sizing import batches, window_statistics

Floats = NDArray[np.float64]


def find_startup_peaks(batch: batches.Batch, points: int, recent: int) -> Floats:
    """Return the largest memory of the first points of pods that were seen to start.

    A pod that is there from the first point of the batch may have started long before, so its
    first points are no start.

    Args:
        batch: Usage.
        points: How long a start takes.
        recent: Starts that lie further back than so many points do not count.

    Returns:
        By container; 0 where no start was seen.
    """
    if not batch.points:
        return np.zeros(len(batch.names))
    memory = batch.memory_bytes
    known = ~np.isnan(memory)
    first = np.argmax(known, axis=1)
    seen = np.flatnonzero(known.any(axis=1) & (first > max(batch.points - recent - 1, 0)))
    columns = first[seen, np.newaxis] + np.arange(points)
    inside = columns < batch.points
    taken = memory[seen[:, np.newaxis], np.minimum(columns, batch.points - 1)]
    peaks = np.full(len(memory), np.nan)
    peaks[seen] = window_statistics.largest(np.where(inside, taken, np.nan))
    found = batch.largest(peaks)
    return np.where(np.isnan(found), 0.0, found)


def raise_killed(killed_bytes: Floats, ratio: float, least_bytes: float) -> Floats:
    """Return the least memory after an OOM kill; 0 where there was none."""
    return np.where(
        killed_bytes > 0.0, np.maximum(killed_bytes * ratio, killed_bytes + least_bytes), 0.0
    )
