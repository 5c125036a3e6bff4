"""Recommendations: requests and limits of one container, with reasons.

An estimate becomes a ``Recommendation``, guards change it and add reasons, and the workflow adds
the back-test and a summary of usage. Amounts are millicores and bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from scipy import special

from kubestow.model import decoding, quantities, resources
from kubestow.model.keys import ContainerKey
from kubestow.model.usage import ContainerFacts

MIN_EVIDENCE: Final = 7
"""Windows of usage without which no recommendation is applied: a week of days, so that working days
and a weekend are among them. Of the default history (eight days) one day may be missing."""

CONFIDENCE: Final = 0.9
"""Confidence of the upper bound of a miss rate."""
_DAY_S: Final = 86_400.0

Amounts = Mapping[str, int]
"""Amounts by resource, in millicores and bytes."""


@dataclass(frozen=True, slots=True)
class SizingBacktest:
    """Back-test of the same rule; ``None`` where there is nothing to test on.

    Attributes:
        windows: Number of windows tested.
        misses: Number of windows whose memory exceeded the estimate.
        miss_rate: Share of windows whose memory exceeded the estimate.
        miss_rate_upper: What that share is at most, with 90 % confidence (``upper_rate``): few
            windows without a miss do not show that there is no risk.
        window_s: Length of a window in seconds.
        runs: Whether windows are runs.
        cpu_over: Mean share of CPU samples above the estimate.
        slack: Mean share of the memory estimate that was not needed.
        cpu_slack: Mean share of the CPU estimate that was not used.
    """

    windows: int = 0
    miss_rate: float | None = None
    cpu_over: float | None = None
    slack: float | None = None
    cpu_slack: float | None = None
    misses: int | None = None
    miss_rate_upper: float | None = None
    window_s: float = 86_400.0
    runs: bool = False

    def describe(self) -> str:
        """Return misses and their bound; empty where no memory was tested.

        >>> SizingBacktest(windows=4, misses=0, miss_rate_upper=upper_rate(0, 4)).describe()
        'too small in 0 of 4 days, at most 44 % with 90 % confidence'
        """
        if self.misses is None or self.miss_rate_upper is None:
            return ""
        length = decoding.format_duration(self.window_s)
        what = "days" if self.window_s == _DAY_S else f"windows of {length}"
        what = "runs" if self.runs else what
        return (
            f"too small in {self.misses} of {self.windows} {what}, at most "
            f"{100.0 * self.miss_rate_upper:.0f} % with {100.0 * CONFIDENCE:.0f} % confidence"
        )


def upper_rate(misses: int, windows: int) -> float:
    """Return the exact upper bound of a rate (Clopper and Pearson 1934, one-sided).

    The largest rate at which so few misses are seen with a probability of 1 - ``CONFIDENCE``. For
    no miss in n windows it is 1 - 0.1^(1/n): 44 % for 4, 7.4 % for 30.

    >>> round(upper_rate(0, 4), 4), upper_rate(4, 4)
    (0.4377, 1.0)
    """
    if misses >= windows:
        return 1.0
    return float(special.betaincinv(misses + 1.0, windows - misses, CONFIDENCE))


@dataclass(frozen=True, slots=True)
class UsageSummary:
    """Measured usage of a container.

    Attributes:
        samples: Number of measured points.
        peak_bytes: Largest memory usage.
        cpu_p95_cores: 95th percentile of CPU usage.
        cpu_mean_cores: Mean CPU usage.
        memory_mean_bytes: Mean memory usage.
        cache_bytes: Largest page cache that was left out of memory usage; ``None`` if unknown.
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
    cache_bytes: float | None = None


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
        estimate: Requests of the recommender itself, before the guards.
        evidence: Number of whole windows in which the container was measured.
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
    estimate: Amounts = field(default_factory=dict)
    evidence: int = 0

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

    def bare(self, resource: str) -> int:
        """Return what past usage alone shows: the 95th percentile of CPU, the peak of memory."""
        if resource == resources.CPU:
            return math.ceil(1000.0 * self.usage.cpu_p95_cores)
        return math.ceil(self.usage.peak_bytes)

    def safety(self, resource: str) -> int:
        """Return what all its pods request beyond past usage."""
        return max(self.requests.get(resource, 0) - self.bare(resource), 0) * self.replicas

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
