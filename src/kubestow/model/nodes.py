"""Nodes as the scheduler sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kubestow.model import quantities, resources

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"


@dataclass(frozen=True, slots=True)
class Taint:
    """A mark on a node that keeps pods away which do not tolerate it."""

    key: str
    value: str = ""
    effect: str = NO_SCHEDULE


@dataclass(frozen=True, slots=True)
class Toleration:
    """A pod's permission to live with taints; empty fields match everything."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Tell whether this toleration covers a taint.

        The numeric operators Lt and Gt are behind a feature gate that is off by default up to
        1.37 (TaintTolerationComparisonOperators), so they match nothing here.
        """
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self.operator == "Exists"


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Tell whether any of the tolerations covers a taint."""
    return any(toleration.tolerates(taint) for toleration in tolerations)


def keeps_away(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> bool:
    """Tell whether a NoSchedule or NoExecute taint among these is not tolerated."""
    return any(
        taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerated(taint, tolerations)
        for taint in taints
    )


HOSTNAME_LABEL = "kubernetes.io/hostname"
ZONE_LABEL = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class NodeImage:
    """An image a node has already pulled, under all its names."""

    names: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node: what it offers, how it is labelled, what it keeps away."""

    name: str
    allocatable: resources.ResourceList
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    images: tuple[NodeImage, ...] = ()

    def amounts(self) -> dict[str, int]:
        """Return what the node offers in integers, the number of pods among it."""
        offered = resources.amounts(self.allocatable)
        offered[resources.PODS] = self.allocatable.get(
            resources.PODS, quantities.Quantity(0)
        ).value()
        return offered
