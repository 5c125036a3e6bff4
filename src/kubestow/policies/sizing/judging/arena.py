"""Walk-forward back-tests of recommenders.

At several origins an estimator gets the points before and estimates; the window after the origin
shows whether the estimate held. No estimate is fitted to the window it is tested on. One cost makes
recommenders comparable: unused reservation counts by its amount, a miss by a multiple of the
container's size, more for memory (the container is killed) than for CPU (it is throttled).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kubestow.model import decoding
from kubestow.model.arrays import Floats
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates, window_statistics

Amount = Annotated[float, decoding.ValueBounds(least=0.0)]


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of misses, in units of the container's own size.

    Unused reservation costs its amount. A rerun after an OOM kill costs the whole window's work
    again and an operator's attention; Böttcher 2023, 8.3 asks for such a price and leaves it open,
    so these are assumed, not derived.

    Attributes:
        oom: Price of a window that needed more memory than the estimate.
        throttled: Price of a window all of whose CPU samples exceed the estimate; parts count in
            proportion.
    """

    oom: Amount = 20.0
    throttled: Amount = 5.0


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


def costs(scores: BacktestScores, prices: Prices) -> tuple[Floats, Floats]:
    """Return the mean cost of CPU and of memory by container; NaN where nothing was tested.

    A container's size is its median need, so that large and small containers weigh the same.
    """
    cpu = _cost(scores.cpu_cores, scores.cpu_peak_cores, scores.cpu_over, prices.throttled)
    memory = _cost(scores.memory_bytes, scores.memory_peak_bytes, scores.memory_missed, prices.oom)
    return cpu, memory


def _cost(estimate: Floats, peak: Floats, missed: Floats, price: float) -> Floats:
    if not estimate.shape[1]:
        return np.full(len(estimate), np.nan)
    size = _median(peak)
    unused = np.maximum(estimate - peak, 0.0) / size[:, np.newaxis]
    return mean(unused + price * missed)


def _median(values: Floats) -> Floats:
    medians = window_statistics.quantiles(values, 0.5)
    # A resource that is never used has size 0; use 1 to avoid infinite costs.
    return np.where(medians > 0.0, medians, 1.0)


def mean(values: Floats) -> Floats:
    """Return the mean of the known values of each row; NaN where none is known."""
    known = np.isfinite(values)
    count = known.sum(axis=1)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
