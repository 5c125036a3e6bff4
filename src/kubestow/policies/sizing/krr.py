"""The recommender ``krr-simple``: exactly the rule of krr's strategy ``simple``.

From robusta-dev/krr, release v1.29.0, which calls itself 1.8.2-dev
(``robusta_krr/strategies/simple.py`` and ``core/runner.py``). CPU request: a percentile per pod,
and the maximum over pods (``quantile_over_time`` in the query, the maximum in the strategy); no CPU
limit. Memory request and limit: the largest value of all pods plus 15 %. With fewer than 100 points
in all pods together there is no result. Amounts are rounded up to millicores and MiB, and are at
least 10 m and 100 MiB. With ``use_oomkill_data``, memory is at least the limit at the largest OOM
kill plus 25 %. Tests compare with amounts that the genuine program gave (``tests/data/krr_1_29``).
Releases before 1.9 have the 99th percentile as default.

krr reads instant values, one per step of 75 s over 14 days; ``sources/usage`` does so if this
strategy is chosen (``UsageQuery.as_krr``). With an HPA on the same resource krr prints "?"; here
that is a guard around any recommender, and like all guards it is shown apart from the estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kubestow.model import decoding
from kubestow.model.arrays import Floats
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates, reasons, window_statistics

NAME = "krr-simple"
_MIB = 1024**2

Percent = Annotated[float, decoding.ValueBounds(least=0.0, most=100.0)]
Amount = Annotated[float, decoding.ValueBounds(least=0.0)]


@dataclass(frozen=True, slots=True)
class KrrParameters:
    """Settings of krr's strategy ``simple``, with its names and defaults.

    Attributes:
        cpu_percentile: Percentile of the CPU samples of a pod.
        memory_buffer_percentage: Percent added to the largest memory sample.
        points_required: Points needed in all pods together.
        use_oomkill_data: Whether OOM kills raise the memory.
        oom_memory_buffer_percentage: Percent added to the limit at the largest OOM kill.
        cpu_min_value: Least CPU request, in millicores.
        memory_min_value: Least memory request, in MiB.
    """

    cpu_percentile: Percent = 95.0
    memory_buffer_percentage: Amount = 15.0
    points_required: Annotated[int, decoding.ValueBounds(least=1)] = 100
    use_oomkill_data: bool = False
    oom_memory_buffer_percentage: Amount = 25.0
    cpu_min_value: Amount = 10.0
    memory_min_value: Amount = 100.0


@dataclass(frozen=True, slots=True)
class Krr:
    """krr's strategy ``simple``."""

    parameters: KrrParameters = KrrParameters()
    name: str = NAME

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return the amounts krr would print."""
        p = self.parameters
        # krr writes the share into the query with two decimals.
        share = round(p.cpu_percentile / 100.0, 2)
        cpu = usage.largest(window_statistics.quantiles(usage.cpu_cores, share))
        memory = usage.largest(window_statistics.largest(usage.memory_bytes))
        memory = memory * (1.0 + p.memory_buffer_percentage / 100.0)
        if p.use_oomkill_data:
            killed = usage.oom_killed_bytes * (1.0 + p.oom_memory_buffer_percentage / 100.0)
            memory = np.where(np.isnan(memory), memory, np.maximum(memory, killed))
        enough_cpu = _points(usage, usage.cpu_cores) >= p.points_required
        enough_memory = _points(usage, usage.memory_bytes) >= p.points_required
        cpu = _rounded(np.where(enough_cpu, cpu, np.nan), 10**3, p.cpu_min_value / 1000.0)
        memory = _rounded(
            np.where(enough_memory, memory, np.nan), 1 / _MIB, _MIB * p.memory_min_value
        )
        known = reasons.by_container(
            cpu,
            memory,
            f"{{}} is P{100 * share:g} of the largest pod",
            f"{{}} is the largest value plus {p.memory_buffer_percentage:g} %",
        )
        why = tuple(
            text if cpu_is and memory_is else _lacking(text, p.points_required)
            for text, cpu_is, memory_is in zip(known, enough_cpu, enough_memory, strict=True)
        )
        return estimates.exact(cpu, memory, why)


def _lacking(text: str, points: int) -> str:
    lacking = f"fewer than {points} points"
    return f"{text}, else {lacking}" if ":" in text else lacking


def _points(usage: Usage, values: Floats) -> Floats:
    points: Floats = np.bincount(
        usage.owners, window_statistics.counts(values), len(usage.containers)
    ).astype(np.float64)
    return points


def _rounded(values: Floats, precision: float, least: float) -> Floats:
    """Round up as krr does, one value at a time, with the same floating-point operations."""
    return np.array(
        [
            value if math.isnan(value) else max(math.ceil(value * precision) / precision, least)
            for value in values.tolist()
        ]
    )
