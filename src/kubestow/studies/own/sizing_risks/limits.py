"""Daily limits on Bitbrains: the protocol of the reference results of the data anchors.

A limit is set once a day from the days before and applies to that day. Slack is the unused part of
the limit, as a share of the limit, over all machine-days. The rule of VPA runs first, to check the
protocol against the reference figures; then ``conformal`` is compared with it at an equal rate of
violations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.model.usage import Usage
from kubestow.policies.sizing import (
    conformal,
    estimates,
    percentile,
    vpa,
    window_statistics,
)

DAY_S: Final = 86_400.0
DAYS: Final = 8
# Reference results, measured on the same set (data anchors, "Right-sizing").
REFERENCE: Final = {
    "cpuSlack": 0.630,
    "cpuOver": 0.0227,
    "cpuDays": 0.584,
    "memorySlack": 0.852,
    "memoryDays": 0.072,
    "oracleCpuSlack": 0.627,
    "oracleMemorySlack": 0.759,
}
CLOSE: Final = 0.015
# The minimum amounts of VPA, so that neither gains by them.
LEAST_CORES: Final = 0.025
LEAST_BYTES: Final = 250.0 * 2**20
THRIFT: Final = 0.5
"""Chosen among 0, 0.3, 0.5, 0.7 and 1 on the half of the machines for tuning."""

SHARES: Final = (0.02, 0.03, 0.05, 0.07, 0.09, 0.12, 0.16, 0.2)
CPU_SHARES: Final = (0.01, 0.02, 0.04, 0.06, 0.09, 0.12, 0.16, 0.2, 0.3)


@dataclass(frozen=True, slots=True, eq=False)
class Days:
    """Usage of machines, by machine and day; NaN where nothing was measured.

    Attributes:
        pasts: Usage before each day.
        after: Usage of each day.
        cpu_mean: Mean CPU usage.
        memory_mean: Mean memory usage.
        cpu_peak: Largest CPU sample.
        memory_peak: Largest memory sample.
    """

    pasts: Sequence[Usage]
    after: Sequence[Usage]
    cpu_mean: Floats
    memory_mean: Floats
    cpu_peak: Floats
    memory_peak: Floats


@dataclass(frozen=True, slots=True)
class LimitedSeries:
    """Results of limits over all machine-days.

    Attributes:
        cpu_slack: Unused share of the CPU limits.
        cpu_over: Share of CPU samples over the limit.
        cpu_days: Share of machine-days with any such sample.
        memory_slack: Unused share of the memory limits.
        memory_days: Share of machine-days with memory above the limit.
        memory_sum: Sum of memory limits / sum of the peaks of the days.
    """

    cpu_slack: float
    cpu_over: float
    cpu_days: float
    memory_slack: float
    memory_days: float
    memory_sum: float


def cut(batch: Usage) -> Days:
    """Return the days of a batch, from the ninth on."""
    points = round(DAY_S / batch.step_s)
    ends = [batch.points - points * left for left in range(batch.points // points - DAYS, 0, -1)]
    after = [batch.between(end, end + points) for end in ends]
    return Days(
        [batch.until(end) for end in ends],
        after,
        np.stack([_mean(day.cpu_cores) for day in after], axis=1),
        np.stack([_mean(day.memory_bytes) for day in after], axis=1),
        np.stack([window_statistics.largest(day.cpu_cores) for day in after], axis=1),
        np.stack([window_statistics.largest(day.memory_bytes) for day in after], axis=1),
    )


def _mean(values: Floats) -> Floats:
    known = np.isfinite(values)
    total = np.where(known, values, 0.0).sum(axis=1)
    counts = known.sum(axis=1)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def ask(days: Days, estimator: estimates.Estimator, length: int | None = DAYS) -> list[Any]:
    """Return estimates before every day, from ``length`` days of history (``None`` for all)."""
    answers = []
    for past in days.pasts:
        points = past.points if length is None else round(length * DAY_S / past.step_s)
        answers.append(estimator.estimate(past.between(max(past.points - points, 0), past.points)))
    return answers


def evaluate(days: Days, answers: Sequence[estimates.Estimates]) -> LimitedSeries:
    """Return the results of limits."""
    cpu = np.stack([one.cpu_cores for one in answers], axis=1)
    memory = np.stack([one.memory_bytes for one in answers], axis=1)
    over = np.stack(
        [
            (day.cpu_cores > one.cpu_cores[:, np.newaxis]).sum(axis=1)
            for day, one in zip(days.after, answers, strict=True)
        ],
        axis=1,
    )
    samples = np.stack([np.isfinite(day.cpu_cores).sum(axis=1) for day in days.after], axis=1)
    c = np.isfinite(cpu) & np.isfinite(days.cpu_peak)
    m = np.isfinite(memory) & np.isfinite(days.memory_peak)
    return LimitedSeries(
        float(1.0 - days.cpu_mean[c].sum() / cpu[c].sum()),
        float(over[c].sum() / samples[c].sum()),
        float((over[c] > 0).mean()),
        float(1.0 - days.memory_mean[m].sum() / memory[m].sum()),
        float((days.memory_peak > memory)[m].mean()),
        float(memory[m].sum() / days.memory_peak[m].sum()),
    )


def check(days: Days) -> dict[str, float]:
    """Return the figures of the reference results, for the rule of VPA and for an oracle."""
    result = evaluate(days, ask(days, vpa.VpaEstimator()))
    cpu, memory = np.isfinite(days.cpu_peak), np.isfinite(days.memory_peak)
    return {
        "cpuSlack": result.cpu_slack,
        "cpuOver": result.cpu_over,
        "cpuDays": result.cpu_days,
        "memorySlack": result.memory_slack,
        "memoryDays": result.memory_days,
        "oracleCpuSlack": float(1.0 - days.cpu_mean[cpu].sum() / days.cpu_peak[cpu].sum()),
        "oracleMemorySlack": float(
            1.0 - days.memory_mean[memory].sum() / days.memory_peak[memory].sum()
        ),
    }


def make_conformal(share: float, thrift: float, prior: Floats) -> conformal.Conformal:
    """Return the estimator that is compared with the baselines."""
    return conformal.Conformal(
        conformal.ConformalParameters(
            cpu_miss_probability=share,
            memory_miss_probability=share,
            thrift=thrift,
            cpu_least_cores=LEAST_CORES,
            memory_least_bytes=LEAST_BYTES,
        ),
        prior=prior,
    )


def evaluate_all(
    days: Days, prior: Floats, watch: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Return the results of all estimators, by name and setting."""
    results: dict[str, dict[str, Any]] = {
        "vpa": {"0.15": evaluate(days, ask(days, vpa.VpaEstimator()))},
        "percentile": {
            f"{margin:g}": evaluate(days, ask(days, _percentile(margin)))
            for margin in (0.0, 0.15, 0.3, 0.6, 1.0)
        },
    }
    watch("limits: baselines")
    for name, thrift, length in (
        ("conformal", 0.0, None),
        ("conformal, thrift", THRIFT, None),
        ("conformal, 8 days", 0.0, DAYS),
        ("conformal, 8 days, thrift", THRIFT, DAYS),
    ):
        results[name] = {
            f"{share:g}": evaluate(days, ask(days, make_conformal(share, thrift, prior), length))
            for share in sorted({*SHARES, *CPU_SHARES})
        }
        watch(f"limits: {name}")
    return {
        name: {setting: dataclasses.asdict(one) for setting, one in by_setting.items()}
        for name, by_setting in results.items()
    }


def _percentile(margin: float) -> percentile.Percentile:
    return percentile.Percentile(
        percentile.PercentileParameters(cpu_margin=margin, memory_margin=margin)
    )


def at_equal(
    settings: Mapping[str, Mapping[str, float]], bad: str, good: str, level: float
) -> float | None:
    """Return one measure at a given value of another; ``None`` outside the curve.

    Args:
        settings: Measures of one estimator, by setting.
        bad: The measure that is held equal, on a logarithmic scale.
        good: The measure to interpolate.
        level: Value of the first measure.
    """
    points = sorted(
        (measured[bad], measured[good]) for measured in settings.values() if measured[bad] > 0.0
    )
    xs, ys = [point[0] for point in points], [point[1] for point in points]
    if not xs or not xs[0] <= level <= xs[-1]:
        return None
    return float(np.interp(np.log(level), np.log(xs), ys))
