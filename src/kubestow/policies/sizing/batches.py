"""Usage of many containers on one grid of time: what recommenders work on at once.

A row is one *series*: a container of one pod, or of one run of a job. Rows of the same workload and
container belong together; they are told apart because requests hold per pod. What was not measured
is NaN, and no sum over pods is ever taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kubestow.model.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Usage of many containers.

    Attributes:
        names: The containers, e.g. ``namespace/kind/workload/container``.
        owners: Which container each row belongs to, ascending.
        step_s: Distance of two points.
        end_s: Time of the last point, seconds since the Unix epoch.
        cpu_cores: CPU usage by row and point; NaN where it was not measured.
        memory_bytes: Largest working set by row and point; NaN where it was not measured.
        killed_bytes: Largest memory limit (or request) a container was OOM-killed at; nought if it
            never was.
        runs: Rows are runs that began and ended by themselves, not pods that are meant to stay.
    """

    names: tuple[str, ...]
    owners: Ints
    step_s: float
    end_s: float
    cpu_cores: Floats
    memory_bytes: Floats
    killed_bytes: Floats
    runs: bool = False

    @property
    def points(self) -> int:
        """Number of points of a row."""
        return int(self.cpu_cores.shape[1])

    def until(self, points: int) -> Batch:
        """Return the batch as it was after its first points; nothing later shines through."""
        return replace(
            self,
            end_s=self.end_s - (self.points - points) * self.step_s,
            cpu_cores=self.cpu_cores[:, :points],
            memory_bytes=self.memory_bytes[:, :points],
        )

    def between(self, begin: int, end: int) -> Batch:
        """Return some points of the batch."""
        cut = self.until(end)
        return replace(
            cut, cpu_cores=cut.cpu_cores[:, begin:], memory_bytes=cut.memory_bytes[:, begin:]
        )

    def of(self, begin: int, end: int) -> Batch:
        """Return some of the containers, by their places."""
        first, last = np.searchsorted(self.owners, [begin, end])
        return replace(
            self,
            names=self.names[begin:end],
            owners=self.owners[first:last] - begin,
            cpu_cores=self.cpu_cores[first:last],
            memory_bytes=self.memory_bytes[first:last],
            killed_bytes=self.killed_bytes[begin:end],
        )

    def largest(self, values: Floats) -> Floats:
        """Return the largest value of each container's rows; NaN where there is none."""
        found = np.full(len(self.names), -np.inf)
        known = ~np.isnan(values)
        np.maximum.at(found, self.owners[known], values[known])
        return np.where(np.isneginf(found), np.nan, found)


def make(
    names: Sequence[str],
    owners: Ints,
    step_s: float,
    end_s: float,
    cpu_cores: Floats,
    memory_bytes: Floats,
    killed_bytes: Floats | None = None,
    *,
    runs: bool = False,
) -> Batch:
    """Return a batch whose rows stand in the order of their containers."""
    order = np.argsort(owners, kind="stable")
    killed = np.zeros(len(names)) if killed_bytes is None else killed_bytes
    return Batch(
        tuple(names), owners[order], step_s, end_s, cpu_cores[order], memory_bytes[order],
        killed, runs,
    )  # fmt: skip
