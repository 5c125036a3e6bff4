"""Recommendations: requests and limits of one container, with reasons.

An estimate becomes a ``Recommendation``, guards change it and add reasons, and the workflow adds
the back-test and a summary of usage. Amounts are millicores and bytes.
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
    """Back-test of the same rule; ``None`` where there is nothing to test on.

    Attributes:
        windows: Number of windows tested.
        miss_rate: Share of windows whose memory exceeded the estimate.
        cpu_over: Mean share of CPU samples above the estimate.
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
    """Measured usage of a container.

    Attributes:
        samples: Number of measured points.
        peak_bytes: Largest memory usage.
        cpu_p95_cores: 95th percentile of CPU usage.
        cpu_mean_cores: Mean CPU usage.
        memory_mean_bytes: Mean memory usage.
        autocorrelated: Share of autocorrelations of memory outside the band of independent values;
            if much above 5 %, percentiles of points are optimistic.
        oom_kills: Number of OOM kills.
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


_NOT_TESTED: Final = SizingBacktest()
_NOT_MEASURED: Final = UsageSummary()
_NOTHING_KNOWN: Final = ContainerFacts()


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Recommended requests and limits of one container.

    Attributes:
        key: The container.
        requests: Recommended requests.
        limits: Recommended limits.
        lower: Requests below this are too small to keep.
        upper: Requests above this are too large to keep.
        reasons: Reasons, in the order in which they applied.
        strategy: Name of the recommender.
        suitable: Whether past usage predicts future usage.
        backtest: Back-test of the rule.
        usage: Measured usage.
        current: Current requests and limits.
        replicas: Number of pods with this container.
    """

    key: ContainerKey
    requests: Amounts
    limits: Amounts = field(default_factory=dict)
    lower: Amounts = field(default_factory=dict)
    upper: Amounts = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    strategy: str = ""
    suitable: bool = True
    backtest: SizingBacktest = _NOT_TESTED
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
        """Return a copy with another request; the reason is added only if the request changes."""
        if self.requests.get(resource) == amount:
            return self
        reasons = (*self.reasons, reason) if reason else self.reasons
        return replace(self, requests={**self.requests, resource: amount}, reasons=reasons)

    def current_amount(self, resource: str) -> int | None:
        """Return the current request; ``None`` if there is none."""
        stated = self.current.requests
        return int(resources.amount(resource, stated[resource])) if resource in stated else None

    def freed(self, resource: str) -> int:
        """Return what all its pods would free; negative if they need more."""
        now, recommended = self.current_amount(resource), self.requests.get(resource)
        if now is None or recommended is None:
            return 0
        return (now - recommended) * self.replicas


def to_quantities(amounts: Amounts) -> dict[str, quantities.Quantity]:
    """Return amounts as Kubernetes quantities."""
    return {
        name: quantities.millis(amount)
        if name == resources.CPU
        else quantities.units(amount, quantities.Format.BINARY_SI)
        for name, amount in amounts.items()
    }


def format_amounts(amounts: Amounts) -> dict[str, str]:
    """Return amounts as Kubernetes writes them."""
    return {name: str(quantity) for name, quantity in to_quantities(amounts).items()}
