"""``vpa`` as an estimator over usage of many containers.

Each point is a sample at its time; memory peaks of a day count once, as upstream. One container per
pod is assumed by default (the containers of a pod share the floors of 25 m and 250 MiB;
``siblings`` is their number).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates, reasons, window_statistics
from kubestow.policies.sizing.vpa.recommender.banks import VpaBank
from kubestow.policies.sizing.vpa.recommender.parameters import VpaParameters

VPA = "vpa"

# Points transposed at once: 64 of 10000 rows are 5 MB.
_BLOCK = 64


@dataclass(frozen=True, slots=True)
class VpaEstimator:
    """The Vertical Pod Autoscaler's estimates.

    Attributes:
        parameters: Upstream's flags.
        siblings: Number of containers that share a pod's floors.
    """

    parameters: VpaParameters = field(default_factory=VpaParameters)
    siblings: int = 1
    name: str = VPA

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return target and bounds after all points, added in order of time."""
        return self.estimate_at(usage, [usage.points])[0]

    def estimate_at(self, usage: Usage, at: Sequence[int]) -> list[estimates.Estimates]:
        """Return target and bounds after each of the given numbers of points."""
        bank = VpaBank([self.siblings] * len(usage.containers), self.parameters)
        slots = bank.place(usage.owners.tolist())
        first_s = usage.end_s - (usage.points - 1) * usage.step_s
        results, done = [], 0
        for points in at:
            for point, cpu, memory in _samples(usage, done, points):
                measured = ~(np.isnan(cpu) & np.isnan(memory))
                if measured.any():
                    bank.add(
                        slots[measured],
                        first_s + point * usage.step_s,
                        cpu[measured],
                        memory[measured],
                    )
            done = points
            if points == usage.points:
                _add_kills(bank, slots, usage)
            results.append(_present(bank, usage.until(points), self.parameters))
        return results


def _samples(usage: Usage, begin: int, end: int) -> Iterator[tuple[int, Floats, Floats]]:
    """Iterate over points with the CPU and memory of all rows, contiguous in memory."""
    for first in range(begin, end, _BLOCK):
        last = min(first + _BLOCK, end)
        cpu = np.ascontiguousarray(usage.cpu_cores[:, first:last].T)
        memory = np.ascontiguousarray(usage.memory_bytes[:, first:last].T)
        for place in range(last - first):
            yield first + place, cpu[place], memory[place]


def _add_kills(bank: VpaBank, slots: Ints, usage: Usage) -> None:
    """Add OOM kills; their times are not known, so they count as of now."""
    killed: Ints = np.flatnonzero(usage.oom_killed_bytes > 0.0)
    if len(killed):
        rows = np.searchsorted(usage.owners, killed)
        bank.kill(slots[rows], usage.end_s, usage.oom_killed_bytes[killed].astype(np.int64))


def _present(bank: VpaBank, usage: Usage, p: VpaParameters) -> estimates.Estimates:
    table = bank.recommend()
    cpu_cores = table.cpu_m / 1000.0 * _known(usage, usage.cpu_cores)
    memory_bytes = table.memory_bytes * _known(usage, usage.memory_bytes)
    return estimates.Estimates(
        cpu_cores[:, 0], memory_bytes[:, 0], cpu_cores[:, 1], memory_bytes[:, 1],
        cpu_cores[:, 2], memory_bytes[:, 2],
        reasons.by_container(
            cpu_cores[:, 0], memory_bytes[:, 0],
            f"{{}} is P{100 * p.target_cpu_percentile:g} of a decaying histogram plus "
            f"{100 * p.margin:g} %",
            f"{{}} is P{100 * p.target_memory_percentile:g} of peaks plus {100 * p.margin:g} %",
        ),
    )  # fmt: skip


def _known(usage: Usage, values: Floats) -> Floats:
    """Return 1 for containers with a measured value and NaN for those without, as a column."""
    largest = usage.largest(window_statistics.largest(values))
    known: Floats = np.where(np.isnan(largest), np.nan, 1.0)[:, np.newaxis]
    return known
