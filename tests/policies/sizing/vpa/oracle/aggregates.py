"""Usage of all containers that are alike, gathered in two decaying histograms.

Containers of one name whose pods carry the same labels share one aggregate; a VPA merges all
aggregates of one container name (``pkg/recommender/model/aggregate_container_state.go``, VPA 1.7).
"""

from __future__ import annotations

from dataclasses import dataclass

from kubestow.policies.sizing.vpa.recommender.buckets import LEAST_WEIGHT
from kubestow.policies.sizing.vpa.recommender.parameters import Gathering
from tests.policies.sizing.vpa.oracle import instants
from tests.policies.sizing.vpa.oracle.histograms import (
    CPU_BUCKETS,
    MEMORY_BUCKETS,
    DecayingHistogram,
    Histogram,
)


@dataclass(slots=True)
class Aggregate:
    """The gathered usage; it belongs to whoever made it and changes in place.

    Attributes:
        cpu: All CPU samples, in cores.
        memory: Memory peaks in bytes, one per container and interval.
        first_ns: Start of the earliest CPU sample.
        last_ns: Start of the latest CPU sample.
        count: Number of CPU samples.
        created_ns: When the aggregate was made.
    """

    cpu: DecayingHistogram
    memory: DecayingHistogram
    first_ns: int = instants.UNSET_NS
    last_ns: int = instants.UNSET_NS
    count: int = 0
    created_ns: int = instants.UNSET_NS

    def copy(self) -> Aggregate:
        """Return an independent copy."""
        return Aggregate(
            self.cpu.copy(),
            self.memory.copy(),
            self.first_ns,
            self.last_ns,
            self.count,
            self.created_ns,
        )

    def add_cpu(self, cpu_m: int, time_ns: int, weight: float = LEAST_WEIGHT) -> None:
        """Add a CPU sample."""
        self.cpu.add(float(cpu_m) / 1000.0, weight, time_ns)
        self.last_ns = max(self.last_ns, time_ns)
        if self.first_ns == instants.UNSET_NS or time_ns < self.first_ns:
            self.first_ns = time_ns
        self.count += 1

    def add_memory(self, memory_bytes: int, time_ns: int) -> None:
        """Add a memory peak of the interval that ends at an instant."""
        self.memory.add(float(memory_bytes), 1.0, time_ns)

    def subtract_memory(self, memory_bytes: int, time_ns: int) -> None:
        """Take a memory peak out again."""
        self.memory.subtract(float(memory_bytes), 1.0, time_ns)

    def merge(self, other: Aggregate) -> None:
        """Add all samples of another aggregate, which is used up by this."""
        self.cpu.merge(other.cpu)
        self.memory.merge(other.memory)
        if self.first_ns == instants.UNSET_NS or (
            other.first_ns != instants.UNSET_NS and other.first_ns < self.first_ns
        ):
            self.first_ns = other.first_ns
        self.last_ns = max(self.last_ns, other.last_ns)
        self.count += other.count

    def expired(self, now_ns: int, window_ns: int) -> bool:
        """Tell whether the last sample, or the making if there is none, is too long ago."""
        since = self.last_ns if self.count else self.created_ns
        return instants.between(since, now_ns) >= window_ns


def make(gathering: Gathering, created_ns: int = instants.UNSET_NS) -> Aggregate:
    """Return an aggregate without samples."""
    return Aggregate(
        DecayingHistogram(Histogram(CPU_BUCKETS), gathering.cpu_half_life_ns),
        DecayingHistogram(Histogram(MEMORY_BUCKETS), gathering.memory_half_life_ns),
        created_ns=created_ns,
    )
