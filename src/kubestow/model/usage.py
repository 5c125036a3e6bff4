"""Usage of containers and inventory of clusters: the inputs of right-sizing.

Sources (files, Prometheus, the simulator) fill a ``Usage``; estimators read it. A row is one
*series*: a container of one pod, or of one run of a job. Rows of the same workload and container
belong together; they are kept separate because requests apply per pod. Missing values are NaN, and
usage is never summed over pods.
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
    """Usage of many containers on one time grid.

    Attributes:
        containers: The containers, by key; by name where they come from a trace or a simulation.
        owners: Index of each row's container, ascending.
        step_s: Seconds between two points.
        end_s: Time of the last point, seconds since the Unix epoch.
        cpu_cores: CPU usage by row and point; NaN where it was not measured.
        memory_bytes: Largest working set by row and point; NaN where it was not measured.
        throttled: Mean share of periods in which a container was throttled; NaN if unknown.
        oom_kills: Number of OOM kills of a container.
        oom_killed_bytes: Largest memory limit (or request) at which a container was OOM-killed; 0
            if it never was, or if the limit is not known.
        cache_bytes: Largest page cache that was left out of a container's memory; NaN if it is
            part of it, ``None`` if that is not known of any.
        pods: Names of the pods, one per row; empty where rows have none.
        runs: Whether rows are runs that end by themselves, not long-running pods.
        notes: Notes on omitted or repaired data, for users.
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
    cache_bytes: Floats | None = None

    @property
    def keys(self) -> tuple[ContainerKey, ...]:
        """The keys of the containers.

        Raises:
            TypeError: If a container has only a name.
        """
        keys = tuple(one for one in self.containers if isinstance(one, ContainerKey))
        if len(keys) < len(self.containers):
            raise TypeError("containers without a key: expected usage of a cluster's workloads")
        return keys

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the containers, e.g. ``namespace/kind/workload/container``."""
        return tuple(str(one) for one in self.containers)

    @property
    def points(self) -> int:
        """Number of points of a row."""
        return int(self.cpu_cores.shape[1])

    def until(self, points: int) -> Usage:
        """Return usage up to the first ``points`` points, without any later data."""
        return replace(
            self,
            end_s=self.end_s - (self.points - points) * self.step_s,
            cpu_cores=self.cpu_cores[:, :points],
            memory_bytes=self.memory_bytes[:, :points],
        )

    def between(self, begin: int, end: int) -> Usage:
        """Return the points from ``begin`` to before ``end``."""
        cut = self.until(end)
        return replace(
            cut, cpu_cores=cut.cpu_cores[:, begin:], memory_bytes=cut.memory_bytes[:, begin:]
        )

    def of(self, begin: int, end: int) -> Usage:
        """Return the containers from ``begin`` to before ``end``."""
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
            cache_bytes=None if self.cache_bytes is None else self.cache_bytes[begin:end],
            pods=self.pods[first:last],
        )

    def pick(self, places: Ints) -> Usage:
        """Return some of the containers, by ascending indices."""
        if len(places) == len(self.containers):
            return self
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
            cache_bytes=None if self.cache_bytes is None else self.cache_bytes[places],
            pods=tuple(self.pods[row] for row in np.flatnonzero(rows)) if self.pods else (),
        )

    def largest(self, values: Floats) -> Floats:
        """Return the largest value of each container's rows; NaN where there is none."""
        maxima = np.full(len(self.containers), -np.inf)
        known = ~np.isnan(values)
        np.maximum.at(maxima, self.owners[known], values[known])
        return np.where(np.isneginf(maxima), np.nan, maxima)


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
    """Return usage whose rows are sorted by container.

    Args:
        containers: The containers, by key or name.
        owners: Index of each row's container, in any order.
        step_s: Seconds between two points.
        end_s: Time of the last point, seconds since the Unix epoch.
        cpu_cores: CPU usage by row and point.
        memory_bytes: Largest working set by row and point.
        oom_killed_bytes: Memory at which each container was OOM-killed; ``None`` if none was.
        runs: Whether rows are runs that end by themselves.
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
    """Facts about a container, as far as they are known.

    Attributes:
        requests: The requests.
        limits: The limits.
        image: The image; empty if unknown.
        command: Command and arguments.
        variables: Environment variables.
        heap_bytes: Largest Java heap, if the JVM reports it; else ``None``.
    """

    requests: resources.ResourceList = field(default_factory=dict)
    limits: resources.ResourceList = field(default_factory=dict)
    image: str = ""
    command: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    heap_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """Facts about a cluster other than usage; unknown facts are left out.

    Attributes:
        containers: Facts about containers.
        replicas: Number of pods by workload.
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
