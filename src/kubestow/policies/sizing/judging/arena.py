"""The arena: every recommender walks through the past and is judged by what came next.

At several origins an estimator sees the points before and answers; the window after shows whether
the answer held. Nothing is fitted on what it is judged by. One cost makes different recommenders
comparable: unused reservation counts by its amount, a miss by so many times the container's size,
more for memory (the container is killed) than for CPU (it is slowed down).
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
    """What mistakes cost, in units of the container's own size.

    A window's reservation that nobody used costs its amount. A rerun after an OOM kill costs the
    whole window's work again and somebody's attention; Böttcher 2023, 8.3 asks for such a price and
    leaves it open, so these are stated, not derived.

    Attributes:
        oom: A window in which memory was needed beyond the estimate.
        throttled: A window all of whose CPU samples are beyond the estimate; parts count in
            proportion.
    """

    oom: Amount = 20.0
    throttled: Amount = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class BacktestScores:
    """Answers of an estimator and what came next; by container and origin, NaN if not known.

    Attributes:
        cpu_cores: What was estimated.
        memory_bytes: What was estimated.
        cpu_peak_cores: Largest CPU sample of the next window.
        memory_peak_bytes: Largest memory sample of the next window.
        cpu_mean_cores: Mean CPU use of the next window.
        cpu_over: Share of CPU samples of the next window beyond the estimate.
    """

    cpu_cores: Floats
    memory_bytes: Floats
    cpu_peak_cores: Floats
    memory_peak_bytes: Floats
    cpu_mean_cores: Floats
    cpu_over: Floats

    @property
    def memory_missed(self) -> Floats:
        """1 where the next window's memory went beyond the estimate; NaN if not known."""
        return _missed(self.memory_peak_bytes, self.memory_bytes)

    @property
    def cpu_missed(self) -> Floats:
        """1 where some CPU sample of the next window went beyond the estimate."""
        return _missed(self.cpu_peak_cores, self.cpu_cores)


def _missed(peak: Floats, estimate: Floats) -> Floats:
    known = np.isfinite(peak) & np.isfinite(estimate)
    return np.where(known, (peak > estimate).astype(np.float64), np.nan)


def origins(points: int, window: int, count: int, least: int) -> list[int]:
    """Return at how many points to look back: the last windows of a series, oldest first.

    Args:
        points: Length of the series.
        window: Length of the window that is judged.
        count: Largest number of origins.
        least: So many points an estimator needs before.
    """
    found = [points - window * k for k in range(1, count + 1)]
    return [origin for origin in reversed(found) if origin >= max(least, 1)]


def walk(
    usage: Usage, estimator: estimates.Estimator, window: int, at: Sequence[int]
) -> BacktestScores:
    """Walk through the past.

    Args:
        usage: Usage of many containers.
        estimator: Who is judged.
        window: Points of the window after each origin.
        at: Origins: how many points are seen.
    """
    return backtest_all(usage, window, at, estimates.estimate_at(estimator, usage, at))


def backtest_all(
    usage: Usage,
    window: int,
    at: Sequence[int],
    answers: Sequence[estimates.Estimates],
) -> BacktestScores:
    """Put answers that were given at some moments beside what came next."""
    columns = [
        backtest(usage.between(origin, origin + window), found)
        for origin, found in zip(at, answers, strict=True)
    ]
    shape = (len(usage.containers), 0)
    parts = [
        np.stack(part, axis=1) if part else np.empty(shape)
        for part in (zip(*columns, strict=True) if columns else [()] * 6)
    ]
    return BacktestScores(*parts)


def backtest(after: Usage, found: estimates.Estimates) -> tuple[Floats, ...]:
    """Return estimates beside what the next window needed, in the order of ``Judged``."""
    cpu = after.cpu_cores
    known = ~np.isnan(cpu)
    beyond = (cpu > found.cpu_cores[after.owners][:, np.newaxis]) & known
    size = len(after.containers)
    counted = np.bincount(after.owners, known.sum(axis=1), size)
    over = np.bincount(after.owners, beyond.sum(axis=1), size)
    used = np.bincount(after.owners, np.where(known, cpu, 0.0).sum(axis=1), size)
    share = np.where(np.isnan(found.cpu_cores), np.nan, over / np.maximum(counted, 1.0))
    return (
        found.cpu_cores,
        found.memory_bytes,
        after.largest(window_statistics.largest(cpu)),
        after.largest(window_statistics.largest(after.memory_bytes)),
        np.where(counted > 0.0, used / np.maximum(counted, 1.0), np.nan),
        np.where(counted > 0.0, share, np.nan),
    )


def costs(judged: BacktestScores, prices: Prices) -> tuple[Floats, Floats]:
    """Return the mean cost of CPU and of memory by container; NaN where nothing was judged.

    A container's size is the median of what it needed, so that costs of large and small containers
    weigh alike.
    """
    cpu = _cost(judged.cpu_cores, judged.cpu_peak_cores, judged.cpu_over, prices.throttled)
    memory = _cost(judged.memory_bytes, judged.memory_peak_bytes, judged.memory_missed, prices.oom)
    return cpu, memory


def _cost(estimate: Floats, peak: Floats, missed: Floats, price: float) -> Floats:
    if not estimate.shape[1]:
        return np.full(len(estimate), np.nan)
    size = _median(peak)
    unused = np.maximum(estimate - peak, 0.0) / size[:, np.newaxis]
    return mean(unused + price * missed)


def _median(values: Floats) -> Floats:
    found = window_statistics.quantiles(values, 0.5)
    # Of something that is never used any amount is infinitely too much: count in whole units.
    return np.where(found > 0.0, found, 1.0)


def mean(values: Floats) -> Floats:
    """Return the mean of what is known of each row; NaN where nothing is."""
    known = np.isfinite(values)
    count = known.sum(axis=1)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
