"""Measured start-up times of pods, from creation to first readiness.

McNaughton 2016, 3.4 records them for every pod and takes the mean over those that have been ready;
later changes of readiness do not count. A scaler that needs pods in time uses a high quantile, and
adds the time until its next decision and the age of its samples (McNaughton 2016, 8.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kubestow.policies.scaling import observations

# Number of start-up times kept; with more, a change of the image would show later.
MOST = 64


@dataclass(frozen=True, slots=True)
class Startups:
    """Measured start-up times.

    Attributes:
        times_s: The latest ones in seconds, oldest first.
        counted: Times of the existing pods, already included.
    """

    times_s: tuple[float, ...] = ()
    counted: tuple[float, ...] = ()

    def take(self, pods: observations.PodTable) -> Startups:
        """Add the pods that have become ready since the last sync."""
        if pods.startups_s is None:
            return self
        known = pods.startups_s[np.isfinite(pods.startups_s)]
        there = tuple(sorted(known.tolist()))
        if there == self.counted:
            return self
        fresh = list(there)
        for time_s in self.counted:
            if time_s in fresh:
                fresh.remove(time_s)
        return Startups((*self.times_s, *fresh)[-MOST:], there)

    def quantile(self, level: float, default_s: float) -> float:
        """Return a quantile of the times, or the default where none is known."""
        if not self.times_s:
            return default_s
        return float(np.quantile(np.array(self.times_s), level, method="higher"))


def mean(pods: observations.PodTable, sigmas: float = 0.0) -> float | None:
    """Return the mean start-up time of the pods that have been ready (McNaughton 2016).

    Args:
        pods: The existing pods.
        sigmas: Ignore times further from the mean than this many standard deviations
            (McNaughton 2016); 0 counts all.
    """
    if pods.startups_s is None:
        return None
    known = pods.startups_s[np.isfinite(pods.startups_s)]
    if not len(known):
        return None
    if sigmas > 0.0 and known.std() > 0.0:
        near = np.abs(known - known.mean()) <= sigmas * known.std()
        known = known[near] if near.any() else known
    return float(known.mean())


def steps(time_s: float, step_s: float) -> int:
    """Return how many whole steps cover a time, at least one.

    >>> steps(60.0, 15.0), steps(61.0, 15.0), steps(0.0, 15.0)
    (4, 5, 1)
    """
    return max(math.ceil(time_s / step_s - 1e-9), 1)
