"""Nodes as the scheduler sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubestow.model import quantities, resources, taints

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
    taints: tuple[taints.Taint, ...] = ()
    unschedulable: bool = False
    images: tuple[NodeImage, ...] = ()

    def amounts(self) -> dict[str, int]:
        """Return what the node offers in integers, the number of pods among it."""
        offered = resources.amounts(self.allocatable)
        offered[resources.PODS] = self.allocatable.get(
            resources.PODS, quantities.Quantity(0)
        ).value()
        return offered
