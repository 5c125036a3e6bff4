"""Walk-forward back-tests of recommenders.

At several origins an estimator gets the points before and estimates; the window after the origin
shows whether the estimate held. No estimate is fitted to the window it is tested on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates, window_statistics


@dataclass(frozen=True, slots=True, eq=False)
class BacktestScores:
    """Estimates and the usage that followed; by container and origin, NaN if not known.

    Attributes:
        cpu_cores: Estimated CPU.
        memory_bytes: Estimated memory.
        cpu_peak_cores: Largest CPU sample of the next window.
        memory_peak_bytes: Largest memory sample of the next window.
        cpu_mean_cores: Mean CPU usage of the next window.
        cpu_over: Share of CPU samples of the next window above the estimate.
    """

    cpu_cores: Floats
    memory_bytes: Floats
    cpu_peak_cores: Floats
    memory_peak_bytes: Floats
    cpu_mean_cores: Floats
    cpu_over: Floats

    @property
    def memory_missed(self) -> Floats:
        """1 where the next window's memory exceeded the estimate; NaN if not known."""
        return _missed(self.memory_peak_bytes, self.memory_bytes)

    @property
    def cpu_missed(self) -> Floats:
        """1 where a CPU sample of the next window exceeded the estimate."""
        return _missed(self.cpu_peak_cores, self.cpu_cores)


def _missed(peak: Floats, estimate: Floats) -> Floats:
    known = np.isfinite(peak) & np.isfinite(estimate)
    return np.where(known, (peak > estimate).astype(np.float64), np.nan)


def origins(points: int, window: int, count: int, least: int) -> list[int]:
    """Return the origins of a back-test: the starts of the last windows, oldest first.

    Args:
        points: Length of the series in points.
        window: Length of a test window in points.
        count: Largest number of origins.
        least: Points an estimator needs before an origin.
    """
    starts = [points - window * k for k in range(1, count + 1)]
    return [origin for origin in reversed(starts) if origin >= max(least, 1)]


def walk(
    usage: Usage, estimator: estimates.Estimator, window: int, at: Sequence[int]
) -> BacktestScores:
    """Back-test an estimator at several origins.

    Args:
        usage: Usage of many containers.
        estimator: The estimator to test.
        window: Points of the window after each origin.
        at: Origins, as numbers of points before them.
    """
    return backtest_all(usage, window, at, estimates.estimate_at(estimator, usage, at))


def backtest_all(
    usage: Usage,
    window: int,
    at: Sequence[int],
    answers: Sequence[estimates.Estimates],
) -> BacktestScores:
    """Compare estimates made at several origins with the usage that followed."""
    columns = [
        backtest(usage.between(origin, origin + window), estimated)
        for origin, estimated in zip(at, answers, strict=True)
    ]
    shape = (len(usage.containers), 0)
    parts = [
        np.stack(part, axis=1) if part else np.empty(shape)
        for part in (zip(*columns, strict=True) if columns else [()] * 6)
    ]
    return BacktestScores(*parts)


def backtest(after: Usage, estimated: estimates.Estimates) -> tuple[Floats, ...]:
    """Return estimates and the needs of the next window, in the order of ``BacktestScores``."""
    cpu = after.cpu_cores
    known = ~np.isnan(cpu)
    beyond = (cpu > estimated.cpu_cores[after.owners][:, np.newaxis]) & known
    size = len(after.containers)
    counted = np.bincount(after.owners, known.sum(axis=1), size)
    over = np.bincount(after.owners, beyond.sum(axis=1), size)
    used = np.bincount(after.owners, np.where(known, cpu, 0.0).sum(axis=1), size)
    share = np.where(np.isnan(estimated.cpu_cores), np.nan, over / np.maximum(counted, 1.0))
    return (
        estimated.cpu_cores,
        estimated.memory_bytes,
        after.largest(window_statistics.largest(cpu)),
        after.largest(window_statistics.largest(after.memory_bytes)),
        np.where(counted > 0.0, used / np.maximum(counted, 1.0), np.nan),
        np.where(counted > 0.0, share, np.nan),
    )
