"""Parameters of ``clbp``: resources, thresholds, weights by type of pod (Shi 2023, section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kubestow.model import resources
from kubestow.model.structures import Bounds
from kubestow.policies.placing import hierarchies
from kubestow.policies.placing.terms import Floats

NETWORK = "kubestow.io/network"
DISK_IO = "kubestow.io/disk-io"
COUNT = 5  # resources, always in the order CPU, memory, network, disk I/O, disk space

ORDINARY, COMPUTE, DISK_BOUND, NETWORK_BOUND = range(4)
TYPES = ("ordinary", "compute", "disk-io", "network")

# Resources of each type from the most to the least important (4.11 and L964, L983). The thesis
# gives no order for pods bound by disk I/O; this is the one of network pods with both exchanged.
_ORDERS = {COMPUTE: (0, 1, 2, 3, 4), DISK_BOUND: (3, 0, 1, 2, 4), NETWORK_BOUND: (2, 0, 1, 3, 4)}
_ORDINARY = (0.30, 0.30, 0.20, 0.10, 0.10)
# Table 4.5 as the thesis rounds it: 4.347 % became 5 %, so that the sum is 1.
_PUBLISHED = (0.46, 0.26, 0.13, 0.10, 0.05)

Share = Annotated[float, Bounds(above=0, most=1)]


@dataclass(frozen=True, slots=True)
class ClbpResources:
    """What the five resources are called.

    Attributes:
        cpu: Processor.
        memory: Memory.
        network: Network, bytes per second: an extended resource, which nodes must offer.
        disk_io: Disk throughput, bytes per second: an extended resource as well.
        disk: Disk space.
    """

    cpu: str = resources.CPU
    memory: str = resources.MEMORY
    network: str = NETWORK
    disk_io: str = DISK_IO
    disk: str = resources.EPHEMERAL_STORAGE

    def names(self) -> tuple[str, ...]:
        """Return the names in order."""
        return self.cpu, self.memory, self.network, self.disk_io, self.disk


@dataclass(frozen=True, slots=True)
class ClbpThresholds:
    """Shares of a node that stay below, per resource; 80 % each in the thesis (4.1).

    Attributes:
        cpu: Processor.
        memory: Memory.
        network: Network.
        disk_io: Disk throughput.
        disk: Disk space.
    """

    cpu: Share = 0.8
    memory: Share = 0.8
    network: Share = 0.8
    disk_io: Share = 0.8
    disk: Share = 0.8

    def shares(self) -> tuple[float, ...]:
        """Return the shares in order."""
        return self.cpu, self.memory, self.network, self.disk_io, self.disk


@dataclass(frozen=True, slots=True)
class ClbpParameters:
    """How ``clbp`` filters and scores.

    Attributes:
        strict: Score exactly as printed: the published weights, the deviation among nodes that pass
            the filter, every resource stretched to 0..10, pods that metrics do not show unknown.
        resources: What the resources are called.
        thresholds: Load with the pod must stay below these shares.
        intensive: A pod that takes this share of what is free of a resource is bound by it (4.3).
        judgements: How much more important each resource is than each other one for a pod that is
            bound by the first, most important first (recovered matrix of table 4.5); not for
            ``strict``.
        negligible: Differences in load below this share of a node count less in proportion; ours,
            there is no source for 1 %; not for ``strict``.
        assume: Whether pods count that metrics do not show yet; not for ``strict``.
    """

    strict: bool = False
    resources: ClbpResources = ClbpResources()
    thresholds: ClbpThresholds = ClbpThresholds()
    intensive: Share = 0.15
    judgements: tuple[tuple[float, ...], ...] = hierarchies.RECOVERED
    negligible: Annotated[float, Bounds(least=0, most=1)] = 0.01
    assume: bool = True

    def weights(self) -> Floats:
        """Return the weights by type, ``[types, resources]``.

        Raises:
            InputError: If the judgements contradict each other.
        """
        ranked = np.array(_PUBLISHED) if self.strict else hierarchies.weigh(self.judgements, COUNT)
        found = np.tile(np.array(_ORDINARY), (len(TYPES), 1))
        for kind, order in _ORDERS.items():
            found[kind, list(order)] = ranked
        return found
