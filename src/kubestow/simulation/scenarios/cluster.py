"""Nodes of a scenario, their failures and maintenance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from kubestow.model import decoding, quantities
from kubestow.model.decoding import OneOf, Seconds, ValueBounds
from kubestow.simulation.scenarios.storage import ScenarioStorageClass

_EVICTION = quantities.parse("100Mi")  # default of the kubelet: memory.available<100Mi


@dataclass(frozen=True, slots=True)
class NodeTaint:
    """A taint of all nodes of a pool."""

    key: str
    effect: Annotated[str, OneOf(("NoSchedule", "PreferNoSchedule", "NoExecute"))]
    value: str = ""


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one shape.

    Attributes:
        name: Nodes are named name-0, name-1 and so on; the node of a pool of one is just name.
        count: Initial number of nodes.
        allocatable: Allocatable resources of a node.
        capacity: Capacity of a node; equal to allocatable if omitted.
        labels: Labels of the nodes; the hostname label is added.
        zones: Nodes are assigned to these zones round-robin.
        taints: Taints of the nodes.
        min: Minimum number of nodes for the node autoscaler; the count if omitted.
        max: Maximum number of nodes for the node autoscaler; the count if omitted.
        provision: Time from ordering a node until it is ready.
        cost: Price of a node per hour.
        eviction_memory: The kubelet evicts when less memory than this is left.
        volume_limit: Volumes that can be attached to a node, not counting local ones.
    """

    name: str
    allocatable: dict[str, quantities.Quantity]
    count: Annotated[int, ValueBounds(least=0, most=100_000)] = 1
    capacity: dict[str, quantities.Quantity] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    zones: tuple[str, ...] = ()
    taints: tuple[NodeTaint, ...] = ()
    min: Annotated[int, ValueBounds(least=0)] | None = None
    max: Annotated[int, ValueBounds(least=0)] | None = None
    provision: Seconds = 120.0
    cost: Annotated[float, ValueBounds(least=0)] = 1.0
    eviction_memory: quantities.Quantity = _EVICTION
    volume_limit: Annotated[int, ValueBounds(least=0)] | None = None

    def names(self) -> list[str]:
        """Return the names of all nodes that this pool can have."""
        most = self.count if self.max is None else self.max
        return [self.name] if self.count == most == 1 else [f"{self.name}-{i}" for i in range(most)]

    def check(self, place: decoding.Field) -> None:
        """Refuse pools without CPU, memory or pods, and contradictory bounds."""
        if not self.name:
            raise place["name"].refuse("expected a name")
        for name in ("cpu", "memory", "pods"):
            if name not in self.allocatable or self.allocatable[name].nano <= 0:
                raise place["allocatable"][name].refuse("every node needs cpu, memory and pods")
        for name, offered in self.allocatable.items():
            if name in self.capacity and self.capacity[name].nano < offered.nano:
                raise place["capacity"][name].refuse(f"must not be below allocatable {offered}")
        if self.min is not None and self.min > self.count:
            raise place["min"].refuse(f"must not be above the count {self.count}")
        if self.max is not None and self.max < self.count:
            raise place["max"].refuse(f"must not be below the count {self.count}")


@dataclass(frozen=True, slots=True)
class Machines:
    """The cluster.

    Attributes:
        nodes: Pools of nodes.
        from_: Reserved for manifests or a snapshot; refused, because it cannot be simulated yet.
        storage_classes: Classes of volumes that pods can have.
        currency: Currency of the prices of nodes, e.g. USD; reports show it with the cost.
    """

    nodes: tuple[Pool, ...] = ()
    from_: str | None = None
    storage_classes: tuple[ScenarioStorageClass, ...] = ()
    currency: str = ""

    def check(self, place: decoding.Field) -> None:
        """Refuse a cluster without nodes, and duplicate names of pools or nodes."""
        if self.from_ is not None:
            raise place["from"].refuse(
                "kubestow cannot simulate manifests or snapshots yet; expected nodes instead, e.g. "
                "nodes: [{name: n, count: 3, allocatable: {cpu: '8', memory: 32Gi, pods: '110'}}]"
            )
        if not self.nodes:
            raise place["nodes"].refuse("a cluster needs nodes")
        names: set[str] = set()
        taken: set[str] = set()
        for pool, inner in zip(self.nodes, place["nodes"].items(), strict=True):
            if pool.name in names:
                raise inner["name"].refuse("is the name of another pool")
            names.add(pool.name)
            both = taken.intersection(pool.names())
            if both:
                raise inner["name"].refuse(f"another pool has a node {min(both)}, too")
            taken.update(pool.names())
        classes = [kind.name for kind in self.storage_classes]
        if len(set(classes)) < len(classes):
            raise place["storageClasses"].refuse("two classes have the same name")


@dataclass(frozen=True, slots=True)
class Failure:
    """A node that dies, and perhaps comes back.

    Attributes:
        node: Name of the node.
        at: Time of the failure.
        duration: Duration of the failure; permanent if omitted.
    """

    node: str
    at: Seconds
    duration: Seconds | None = None


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Nodes are drained one after another, kept out of service for a while, and given back.

    Attributes:
        start: When it begins.
        pool: Only nodes of this pool; all if omitted.
        parallel: Number of nodes at a time.
        hold: How long an empty node is under maintenance.
        timeout: Time after which disruption budgets are overridden.
        pause: Time between the return of a node and the next one.
    """

    start: Seconds
    pool: str | None = None
    parallel: Annotated[int, ValueBounds(least=1)] = 1
    hold: Seconds = 300.0
    timeout: Seconds = 3600.0
    pause: Seconds = 0.0
