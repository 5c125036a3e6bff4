"""Nodes, taints and tolerations."""

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
    """A taint of a node, which repels pods that do not tolerate it."""

    key: str
    value: str = ""
    effect: str = NO_SCHEDULE


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a pod; empty fields match everything."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Return whether this toleration covers a taint.

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
    """Return whether any of the tolerations covers a taint."""
    return any(toleration.tolerates(taint) for toleration in tolerations)


def has_untolerated_taint(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> bool:
    """Return whether a NoSchedule or NoExecute taint among these is not tolerated."""
    return any(
        taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerated(taint, tolerations)
        for taint in taints
    )


HOSTNAME_LABEL = "kubernetes.io/hostname"
ZONE_LABEL = "topology.kubernetes.io/zone"


def usual_labels(name: str) -> dict[str, str]:
    """Return the labels that a kubelet gives a node: its name, Linux, amd64."""
    return {
        HOSTNAME_LABEL: name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }


@dataclass(frozen=True, slots=True)
class NodeImage:
    """An image that a node has pulled, with all its names."""

    names: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node: allocatable resources, labels, taints and images."""

    name: str
    allocatable: resources.ResourceList
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    images: tuple[NodeImage, ...] = ()

    def amounts(self) -> dict[str, int]:
        """Return the allocatable resources as integers, including the number of pods."""
        offered = resources.amounts(self.allocatable)
        offered[resources.PODS] = self.allocatable.get(
            resources.PODS, quantities.Quantity(0)
        ).value()
        return offered
