"""Recommendations: what one container should have, from the estimator to the pod.

An estimator's answer becomes a ``Recommendation``, guards change it and add reasons, the workflow
completes it with the back-test and with what was measured. Amounts are millicores and bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kubestow.model import quantities, resources
from kubestow.model.keys import ContainerKey
from kubestow.model.usage import ContainerFacts

Amounts = Mapping[str, int]
"""Amounts by resource, in millicores and bytes."""


@dataclass(frozen=True, slots=True)
class SizingBacktest:
    """How the same rule would have done; ``None`` where nothing could be judged.

    Attributes:
        windows: How many windows were judged.
        miss_rate: Share of them whose memory went beyond the estimate.
        cpu_over: Mean share of CPU samples beyond the estimate.
        slack: Mean share of the memory estimate that was not needed.
        cpu_slack: Mean share of the CPU estimate that was not used.
    """

    windows: int = 0
    miss_rate: float | None = None
    cpu_over: float | None = None
    slack: float | None = None
    cpu_slack: float | None = None


@dataclass(frozen=True, slots=True)
class UsageSummary:
    """What was measured of a container.

    Attributes:
        samples: Points that were measured.
        peak_bytes: Largest memory that was used.
        cpu_p95_cores: 95th percentile of CPU usage.
        cpu_mean_cores: Mean CPU usage.
        memory_mean_bytes: Mean memory usage.
        autocorrelated: Share of autocorrelations of memory outside the band of independent values:
            much above 5 %, percentiles of points promise too much.
        oom_kills: How often it was OOM-killed.
        throttled: Mean share of throttled periods; ``None`` if unknown.
    """

    samples: int = 0
    peak_bytes: float = 0.0
    cpu_p95_cores: float = 0.0
    cpu_mean_cores: float = 0.0
    memory_mean_bytes: float = 0.0
    autocorrelated: float = 0.0
    oom_kills: int = 0
    throttled: float | None = None


_NOT_JUDGED: Final = SizingBacktest()
_NOT_MEASURED: Final = UsageSummary()
_NOTHING_KNOWN: Final = ContainerFacts()


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What one container should have.

    Attributes:
        key: The container.
        requests: What it should request.
        limits: What it should be limited to.
        lower: Requests below are too small to keep.
        upper: Requests above are too large to keep.
        reasons: Why it is so, in the order in which it came about.
        strategy: Name of the recommender.
        suitable: Whether the past is a guide.
        backtest: How the rule would have done.
        usage: What was measured.
        current: What the container has now.
        replicas: How many pods have it.
    """

    key: ContainerKey
    requests: Amounts
    limits: Amounts = field(default_factory=dict)
    lower: Amounts = field(default_factory=dict)
    upper: Amounts = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    strategy: str = ""
    suitable: bool = True
    backtest: SizingBacktest = _NOT_JUDGED
    usage: UsageSummary = _NOT_MEASURED
    current: ContainerFacts = _NOTHING_KNOWN
    replicas: int = 1

    @property
    def container(self) -> str:
        """Name of the container."""
        return self.key.container

    @property
    def why(self) -> str:
        """The reasons in one line."""
        return "; ".join(self.reasons)

    def with_request(self, resource: str, amount: int, reason: str = "") -> Recommendation:
        """Return the same with another request; no reason is added where nothing changes."""
        if self.requests.get(resource) == amount:
            return self
        reasons = (*self.reasons, reason) if reason else self.reasons
        return replace(self, requests={**self.requests, resource: amount}, reasons=reasons)

    def current_amount(self, resource: str) -> int | None:
        """Return what it requests now; ``None`` if nothing."""
        stated = self.current.requests
        return int(resources.amount(resource, stated[resource])) if resource in stated else None

    def freed(self, resource: str) -> int:
        """Return what all its pods would give back; negative if they need more."""
        now, wanted = self.current_amount(resource), self.requests.get(resource)
        if now is None or wanted is None:
            return 0
        return (now - wanted) * self.replicas


def to_quantities(amounts: Amounts) -> dict[str, quantities.Quantity]:
    """Return amounts as quantities in the notation of Kubernetes."""
    return {
        name: quantities.millis(amount)
        if name == resources.CPU
        else quantities.units(amount, quantities.Format.BINARY_SI)
        for name, amount in amounts.items()
    }


def format_amounts(amounts: Amounts) -> dict[str, str]:
    """Return amounts as Kubernetes writes them."""
    return {name: str(quantity) for name, quantity in to_quantities(amounts).items()}
