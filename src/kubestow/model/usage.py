"""What containers used, and what is known beside it: what a right-sizing command reads.

A source (files, Prometheus) fills these; recommenders get them as batches. Series are told apart by
pod, since requests hold per pod; what belongs to one container of one workload has one key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubestow.model import resources
from kubestow.model.arrays import Floats, Ints
from kubestow.model.keys import ContainerKey, WorkloadKey


@dataclass(frozen=True, slots=True, eq=False)
class UsageTable:
    """Usage of many containers on one grid of time.

    Attributes:
        containers: The containers.
        pods: Names of the pods, one per row.
        owners: Which container each row belongs to, ascending.
        step_s: Distance of two points.
        end_s: Time of the last point, seconds since the Unix epoch.
        cpu_cores: CPU usage by row and point; NaN where it was not measured.
        memory_bytes: Largest working set by row and point; NaN where it was not measured.
        throttled: Mean share of periods in which a container was throttled; NaN if unknown.
        oom_kills: How often a container was killed for want of memory.
        notes: What had to be left out or mended, for the reader to see.
    """

    containers: tuple[ContainerKey, ...]
    pods: tuple[str, ...]
    owners: Ints
    step_s: float
    end_s: float
    cpu_cores: Floats
    memory_bytes: Floats
    throttled: Floats
    oom_kills: Floats
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """What a container is told to have.

    Attributes:
        requests: Its requests.
        limits: Its limits.
        image: Its image; empty if unknown.
        command: Its command and arguments, as far as they are known.
        variables: Its environment, as far as it is known.
        heap_bytes: Largest Java heap, where the JVM itself tells; ``None`` if it does not.
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
