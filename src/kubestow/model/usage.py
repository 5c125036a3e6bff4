"""What containers used, and what is known beside it: what a right-sizing command reads.

Sources (files, Prometheus, the simulator) fill a ``Usage``; estimators take it. A row is one
*series*: a container of one pod, or of one run of a job. Rows of the same workload and container
belong together; they are told apart because requests hold per pod. What was not measured is NaN,
and no sum over pods is ever taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kubestow.model import resources
from kubestow.model.arrays import Floats, Ints
from kubestow.model.keys import ContainerKey, WorkloadKey


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """Usage of many containers on one grid of time.

    Attributes:
        containers: The containers, by key; by name where they come from a trace or a simulation.
        owners: Which container each row belongs to, ascending.
        step_s: Distance of two points.
        end_s: Time of the last point, seconds since the Unix epoch.
        cpu_cores: CPU usage by row and point; NaN where it was not measured.
        memory_bytes: Largest working set by row and point; NaN where it was not measured.
        throttled: Mean share of periods in which a container was throttled; NaN if unknown.
        oom_kills: How often a container was OOM-killed.
        oom_killed_bytes: Largest memory limit (or request) a container was OOM-killed at; 0 if it
            never was, or if that is not known.
        pods: Names of the pods, one per row; empty where rows have none.
        runs: Rows are runs that began and ended by themselves, not pods that are meant to stay.
        notes: What had to be left out or mended, for the reader to see.
    """

    containers: tuple[ContainerKey | str, ...]
    owners: Ints
    step_s: float
    end_s: float
    cpu_cores: Floats
    memory_bytes: Floats
    throttled: Floats
    oom_kills: Floats
    oom_killed_bytes: Floats
    pods: tuple[str, ...] = ()
    runs: bool = False
    notes: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[ContainerKey, ...]:
        """The keys of the containers.

        Raises:
            TypeError: If a container has a name only.
        """
        found = tuple(one for one in self.containers if isinstance(one, ContainerKey))
        if len(found) < len(self.containers):
            raise TypeError("containers without a key: expected usage of a cluster's workloads")
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The containers as texts, e.g. ``namespace/kind/workload/container``."""
        return tuple(str(one) for one in self.containers)

    @property
    def points(self) -> int:
        """Number of points of a row."""
        return int(self.cpu_cores.shape[1])

    def until(self, points: int) -> Usage:
        """Return usage as it was after its first points; nothing later shines through."""
        return replace(
            self,
            end_s=self.end_s - (self.points - points) * self.step_s,
            cpu_cores=self.cpu_cores[:, :points],
            memory_bytes=self.memory_bytes[:, :points],
        )

    def between(self, begin: int, end: int) -> Usage:
        """Return some of the points."""
        cut = self.until(end)
        return replace(
            cut, cpu_cores=cut.cpu_cores[:, begin:], memory_bytes=cut.memory_bytes[:, begin:]
        )

    def of(self, begin: int, end: int) -> Usage:
        """Return some of the containers, by their places."""
        first, last = np.searchsorted(self.owners, [begin, end])
        return replace(
            self,
            containers=self.containers[begin:end],
            owners=self.owners[first:last] - begin,
            cpu_cores=self.cpu_cores[first:last],
            memory_bytes=self.memory_bytes[first:last],
            throttled=self.throttled[begin:end],
            oom_kills=self.oom_kills[begin:end],
            oom_killed_bytes=self.oom_killed_bytes[begin:end],
            pods=self.pods[first:last],
        )

    def pick(self, places: Ints) -> Usage:
        """Return some of the containers, by their places in ascending order."""
        rows = np.isin(self.owners, places)
        moved = np.zeros(len(self.containers), dtype=np.int64)
        moved[places] = np.arange(len(places))
        return replace(
            self,
            containers=tuple(self.containers[place] for place in places.tolist()),
            owners=moved[self.owners[rows]],
            cpu_cores=self.cpu_cores[rows],
            memory_bytes=self.memory_bytes[rows],
            throttled=self.throttled[places],
            oom_kills=self.oom_kills[places],
            oom_killed_bytes=self.oom_killed_bytes[places],
            pods=tuple(self.pods[row] for row in np.flatnonzero(rows)) if self.pods else (),
        )

    def largest(self, values: Floats) -> Floats:
        """Return the largest value of each container's rows; NaN where there is none."""
        found = np.full(len(self.containers), -np.inf)
        known = ~np.isnan(values)
        np.maximum.at(found, self.owners[known], values[known])
        return np.where(np.isneginf(found), np.nan, found)


def arrange(
    containers: Sequence[ContainerKey | str],
    owners: Ints,
    step_s: float,
    end_s: float,
    cpu_cores: Floats,
    memory_bytes: Floats,
    oom_killed_bytes: Floats | None = None,
    *,
    runs: bool = False,
) -> Usage:
    """Return usage whose rows stand in the order of their containers.

    Args:
        containers: The containers, by key or name.
        owners: Which container each row belongs to, in any order.
        step_s: Distance of two points.
        end_s: Time of the last point, seconds since the Unix epoch.
        cpu_cores: CPU usage by row and point.
        memory_bytes: Largest working set by row and point.
        oom_killed_bytes: What each container was OOM-killed at; ``None`` if none was.
        runs: Whether rows are runs that ended by themselves.
    """
    order = np.argsort(owners, kind="stable")
    count = len(containers)
    return Usage(
        tuple(containers), owners[order], step_s, end_s, cpu_cores[order], memory_bytes[order],
        throttled=np.full(count, np.nan),
        oom_kills=np.zeros(count),
        oom_killed_bytes=np.zeros(count) if oom_killed_bytes is None else oom_killed_bytes,
        runs=runs,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """What is known of a container.

    Attributes:
        requests: Its requests.
        limits: Its limits.
        image: Its image; empty if unknown.
        command: Its command and arguments, as far as they are known.
        variables: Its environment, as far as it is known.
        heap_bytes: Largest Java heap, where the JVM itself reports it; ``None`` if it does not.
    """

    requests: resources.ResourceList = field(default_factory=dict)
    limits: resources.ResourceList = field(default_factory=dict)
    image: str = ""
    command: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    heap_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """What is known of a cluster beside usage; whatever is not known is left out.

    Attributes:
        containers: Facts about containers.
        replicas: How many pods a workload has.
        labels: Labels of workloads' pods.
        nodes: Allocatable resources of schedulable nodes, by name.
        autoscaled: Target utilisation in percent, by resource, of workloads with a
            HorizontalPodAutoscaler on it.
    """

    containers: Mapping[ContainerKey, ContainerFacts] = field(default_factory=dict)
    replicas: Mapping[WorkloadKey, int] = field(default_factory=dict)
    labels: Mapping[WorkloadKey, Mapping[str, str]] = field(default_factory=dict)
    nodes: Mapping[str, resources.ResourceList] = field(default_factory=dict)
    autoscaled: Mapping[WorkloadKey, Mapping[str, int]] = field(default_factory=dict)
