"""One container instance: which samples count, and its memory peak of the present interval.

From ``pkg/recommender/model/container.go`` (VPA 1.7). A container contributes one memory peak per
interval; a higher one replaces the lower. An OOM kill counts as a peak well above what the
container had: ``max(m + 100 MiB, 1.2 m)`` with ``m = max(request, peak)``.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubestow.policies.sizing.vpa.recommender import amounts
from kubestow.policies.sizing.vpa.recommender.buckets import LEAST_WEIGHT
from kubestow.policies.sizing.vpa.recommender.parameters import Gathering
from tests.policies.sizing.vpa.oracle import instants
from tests.policies.sizing.vpa.oracle.aggregates import Aggregate


@dataclass(slots=True)
class VpaContainer:
    """What is remembered of one container; it changes in place.

    Attributes:
        last_cpu_ns: Start of the last CPU sample that counted.
        last_memory_ns: Start of the last memory sample that counted.
        window_end_ns: End of the present memory interval.
        peak_bytes: Highest usage in the interval.
        oom_peak_bytes: Highest usage guessed from OOM kills in the interval.
    """

    last_cpu_ns: int = instants.UNSET_NS
    last_memory_ns: int = instants.UNSET_NS
    window_end_ns: int = instants.UNSET_NS
    peak_bytes: int = 0
    oom_peak_bytes: int = 0

    def copy(self) -> VpaContainer:
        """Return an independent copy."""
        return VpaContainer(
            self.last_cpu_ns,
            self.last_memory_ns,
            self.window_end_ns,
            self.peak_bytes,
            self.oom_peak_bytes,
        )

    @property
    def highest_bytes(self) -> int:
        """Highest peak of the interval, measured or guessed."""
        return max(self.peak_bytes, self.oom_peak_bytes)


def add_cpu(
    container: VpaContainer,
    aggregate: Aggregate,
    cpu_m: int,
    time_ns: int,
    gathering: Gathering,
    request_m: int = 0,
) -> bool:
    """Add a CPU sample; return whether it counted (not negative, later than the last one)."""
    if cpu_m < 0 or time_ns <= container.last_cpu_ns:
        return False
    weight = LEAST_WEIGHT
    if not gathering.features.constant_weights:
        weight = max(float(request_m) / 1000.0, LEAST_WEIGHT)
    aggregate.add_cpu(cpu_m, time_ns, weight)
    container.last_cpu_ns = time_ns
    return True


def add_memory(
    container: VpaContainer,
    aggregate: Aggregate,
    memory_bytes: int,
    time_ns: int,
    gathering: Gathering,
    *,
    oom: bool = False,
) -> bool:
    """Add a memory sample; return whether it counted (not negative, not older than the last)."""
    if memory_bytes < 0 or (not oom and time_ns < container.last_memory_ns):
        return False
    container.last_memory_ns = time_ns
    if container.window_end_ns == instants.UNSET_NS:
        container.window_end_ns = time_ns
    if time_ns < container.window_end_ns:
        highest = container.highest_bytes
        if highest == 0 or memory_bytes <= highest:
            return True
        aggregate.subtract_memory(highest, container.window_end_ns)
    else:
        _begin_interval(container, time_ns, gathering.interval_ns)
    aggregate.add_memory(memory_bytes, container.window_end_ns)
    if oom:
        container.oom_peak_bytes = memory_bytes
    else:
        container.peak_bytes = memory_bytes
    return True


def _begin_interval(container: VpaContainer, time_ns: int, interval_ns: int) -> None:
    """Move on to the interval an instant lies in."""
    passed = (time_ns - container.window_end_ns) // interval_ns
    container.window_end_ns += (passed + 1) * interval_ns
    container.peak_bytes = container.oom_peak_bytes = 0


def record_oom(
    container: VpaContainer,
    aggregate: Aggregate,
    request_bytes: int,
    time_ns: int,
    gathering: Gathering,
) -> bool:
    """Add an OOM kill as an artificial peak; return whether it counted (not too old)."""
    if _too_old(container, time_ns, gathering):
        return False
    # The guess of an earlier kill is left out on purpose, lest kills in a row run away.
    used = max(request_bytes, container.peak_bytes)
    needed = needed_after_oom(used, gathering.oom_ratio, gathering.oom_min_bytes)
    return add_memory(container, aggregate, needed, time_ns, gathering, oom=True)


def needed_after_oom(used_bytes: int, ratio: float, least_bytes: float) -> int:
    """Return the memory a killed container is thought to need.

    >>> needed_after_oom(300 << 20, 1.2, 100.0 * 2**20) >> 20
    400
    >>> needed_after_oom(1000 << 20, 1.2, 100.0 * 2**20) >> 20
    1200
    """
    return max(used_bytes + amounts.from_float(least_bytes), amounts.scale(used_bytes, ratio))


def _too_old(container: VpaContainer, time_ns: int, gathering: Gathering) -> bool:
    if not gathering.features.oom_age_by_sample:
        return time_ns < container.window_end_ns - gathering.interval_ns
    seen = container.last_memory_ns
    return seen != instants.UNSET_NS and time_ns < seen - gathering.interval_ns
