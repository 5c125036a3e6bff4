"""Advice for one container, and how amounts are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kubestow.model import quantities, resources, usage
from kubestow.model.keys import ContainerKey
from kubestow.policies.sizing import estimates

CPU, MEMORY = resources.CPU, resources.MEMORY


@dataclass(frozen=True, slots=True)
class AdviceBacktest:
    """How the same rule would have done; ``None`` where nothing could be judged.

    Attributes:
        windows: How many windows were judged.
        miss_rate: Share of them whose memory went beyond the estimate.
        cpu_over: Mean share of CPU samples beyond the estimate.
        slack: Mean share of the memory estimate that was not needed.
        cpu_slack: Mean share of the CPU estimate that was not used.
    """

    windows: int
    miss_rate: float | None
    cpu_over: float | None
    slack: float | None
    cpu_slack: float | None


@dataclass(frozen=True, slots=True)
class Advice:
    """What one container should have.

    Attributes:
        key: The container.
        current: What it has.
        requests: What it should request, in millicores and bytes.
        limits: What it should be limited to.
        lower: Requests below are too small to keep.
        upper: Requests above are too large to keep.
        replicas: How many pods it has.
        samples: Points that were measured.
        peak_bytes: Largest memory that was used.
        cpu_p95_cores: 95th percentile of CPU use.
        cpu_mean_cores: Mean CPU use.
        memory_mean_bytes: Mean memory use.
        suitable: Whether the past is a guide.
        autocorrelated: Share of autocorrelations of memory outside the band of independent values:
            much above 5 %, percentiles of points promise too much.
        why: Who said so, and what changed it.
        backtest: How the rule would have done.
        killed: How often it was killed for want of memory.
        throttled: Mean share of throttled periods; ``None`` if unknown.
    """

    key: ContainerKey
    current: usage.ContainerFacts
    requests: Mapping[str, int]
    limits: Mapping[str, int]
    lower: Mapping[str, int]
    upper: Mapping[str, int]
    replicas: int
    samples: int
    peak_bytes: float
    cpu_p95_cores: float
    cpu_mean_cores: float
    memory_mean_bytes: float
    suitable: bool
    autocorrelated: float
    why: str
    backtest: AdviceBacktest
    killed: int = 0
    throttled: float | None = None

    def current_amount(self, resource: str) -> int | None:
        """Return what it requests now; ``None`` if nothing."""
        stated = self.current.requests
        return int(resources.amount(resource, stated[resource])) if resource in stated else None

    def freed(self, resource: str) -> int:
        """Return what all its pods would give back; less than nought if they need more."""
        now, wanted = self.current_amount(resource), self.requests.get(resource)
        if now is None or wanted is None:
            return 0
        return (now - wanted) * self.replicas


def amounts_of(found: estimates.Estimates, place: int, bound: str = "") -> dict[str, int]:
    """Return one container's amounts in millicores and bytes, rounded up; unknown ones left out.

    Args:
        found: Estimates of all.
        place: Which container.
        bound: ``lower_`` or ``upper_`` for the bounds.
    """
    cpu = float(getattr(found, f"{bound}cpu_cores")[place])
    memory = float(getattr(found, f"{bound}memory_bytes")[place])
    amounts = {}
    if np.isfinite(cpu):
        amounts[CPU] = max(int(np.ceil(cpu * 1000.0 - 1e-6)), 0)
    if np.isfinite(memory):
        amounts[MEMORY] = max(int(np.ceil(memory - 1e-6)), 0)
    return amounts


def format_amount(amounts: Mapping[str, int]) -> dict[str, str]:
    """Return amounts as Kubernetes writes them."""
    return {
        name: str(
            quantities.millis(amount)
            if name == CPU
            else quantities.units(amount, quantities.QuantityFormat.BINARY_SI)
        )
        for name, amount in amounts.items()
    }
