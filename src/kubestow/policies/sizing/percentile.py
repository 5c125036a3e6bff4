"""The recommender ``percentile``: a percentile of usage, plus a margin.

The common dashboard rule; VPA and krr are variants of it. The percentile is taken per pod and the
largest pod counts, because requests apply per pod.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kubestow.model import decoding
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates, reasons, window_statistics

NAME = "percentile"

Percent = Annotated[float, decoding.ValueBounds(least=0.0, most=100.0)]
Share = Annotated[float, decoding.ValueBounds(least=0.0)]


@dataclass(frozen=True, slots=True)
class PercentileParameters:
    """Percentiles and margins.

    Attributes:
        cpu_percentile: Percentile of the CPU samples.
        memory_percentile: Percentile of the memory samples; 100 is the largest.
        cpu_margin: Share added to the CPU percentile.
        memory_margin: Share added to the memory percentile.
        lower_percentile: Requests below this percentile, with the margin, are too small to keep.
        upper_margin: Requests larger than the target by more than this share are too large to keep.
    """

    cpu_percentile: Percent = 95.0
    memory_percentile: Percent = 100.0
    cpu_margin: Share = 0.15
    memory_margin: Share = 0.15
    lower_percentile: Percent = 50.0
    upper_margin: Share = 0.5


@dataclass(frozen=True, slots=True)
class Percentile:
    """Estimates by percentiles."""

    parameters: PercentileParameters = PercentileParameters()
    name: str = NAME

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return the percentile of the largest pod plus the margin."""
        p = self.parameters
        amounts = []
        for values, percentile, margin in (
            (usage.cpu_cores, p.cpu_percentile, p.cpu_margin),
            (usage.memory_bytes, p.memory_percentile, p.memory_margin),
        ):
            shares = (percentile / 100.0, min(p.lower_percentile, percentile) / 100.0)
            both = window_statistics.several_quantiles(values, shares)
            amounts.append([usage.largest(part) * (1.0 + margin) for part in both.T])
        (cpu, low_cpu), (memory, low_memory) = amounts
        more = 1.0 + p.upper_margin
        why = reasons.by_container(
            cpu,
            memory,
            f"{{}} is P{p.cpu_percentile:g} of the largest pod plus {100 * p.cpu_margin:g} %",
            f"{{}} is P{p.memory_percentile:g} plus {100 * p.memory_margin:g} %",
        )
        return estimates.Estimates(cpu, memory, low_cpu, low_memory, cpu * more, memory * more, why)
