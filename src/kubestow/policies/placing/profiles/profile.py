"""A scheduler profile: its filters, its scores with their weights, and their arguments.

Defaults are those of ``pkg/scheduler/apis/config/v1`` (1.37).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubestow.model import nodes, pods, resources, selectors

LEAST, MOST, RATIO = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"

FIT = "NodeResourcesFit"
BALANCED = "NodeResourcesBalancedAllocation"
NODE_NAME = "NodeName"
UNSCHEDULABLE = "NodeUnschedulable"
TAINTS = "TaintToleration"
NODE_AFFINITY = "NodeAffinity"
PORTS = "NodePorts"
SPREAD = "PodTopologySpread"
POD_AFFINITY = "InterPodAffinity"
IMAGES = "ImageLocality"
PREEMPTION = "DefaultPreemption"
DISKS = "VolumeRestrictions"
VOLUME_LIMITS = "NodeVolumeLimits"
VOLUMES = "VolumeBinding"
VOLUME_ZONES = "VolumeZone"
# Scores 0 for every pod without device claims, which are not modelled; it is kept because upstream
# lists it among the scores.
DEVICES = "DynamicResources"

# In the order in which kube-scheduler runs them, with the weights of the score plugins.
DEFAULT_PLUGINS: tuple[tuple[str, int], ...] = (
    (NODE_NAME, 0),
    (UNSCHEDULABLE, 0),
    (TAINTS, 3),
    (NODE_AFFINITY, 2),
    (PORTS, 0),
    (FIT, 1),
    (DISKS, 0),
    (VOLUME_LIMITS, 0),
    (VOLUMES, 1),
    (VOLUME_ZONES, 0),
    (SPREAD, 2),
    (POD_AFFINITY, 2),
    (DEVICES, 2),
    (BALANCED, 1),
    (IMAGES, 1),
)
FILTERS = (
    NODE_NAME,
    UNSCHEDULABLE,
    TAINTS,
    NODE_AFFINITY,
    PORTS,
    FIT,
    DISKS,
    VOLUME_LIMITS,
    VOLUMES,
    VOLUME_ZONES,
    SPREAD,
    POD_AFFINITY,
)
# Of the plugins with a preFilter only these restrict the nodes, or refuse a pod, there.
PREFILTERS = (NODE_AFFINITY, DISKS, VOLUMES, VOLUME_ZONES)
SCORES = (TAINTS, NODE_AFFINITY, FIT, VOLUMES, SPREAD, POD_AFFINITY, DEVICES, BALANCED, IMAGES)

# Default spread constraints of pods of a service or controller that have none of their own.
SYSTEM_SPREAD = (
    pods.SpreadConstraint(max_skew=3, topology_key=nodes.HOSTNAME_LABEL, hard=False),
    pods.SpreadConstraint(max_skew=5, topology_key=nodes.ZONE_LABEL, hard=False),
)


@dataclass(frozen=True, slots=True)
class ResourceWeight:
    """A resource and its weight in a score."""

    name: str
    weight: int = 1


@dataclass(frozen=True, slots=True)
class ShapePoint:
    """A point of a piecewise linear function: utilisation in percent, score 0 to 10."""

    utilization: int
    score: int


_CPU_AND_MEMORY = (ResourceWeight(resources.CPU), ResourceWeight(resources.MEMORY))


@dataclass(frozen=True, slots=True)
class FitArgs:
    """Arguments of NodeResourcesFit."""

    strategy: str = LEAST
    resources: tuple[ResourceWeight, ...] = _CPU_AND_MEMORY
    shape: tuple[ShapePoint, ...] = ()
    ignored_resources: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class BalancedArgs:
    """Arguments of NodeResourcesBalancedAllocation."""

    resources: tuple[ResourceWeight, ...] = _CPU_AND_MEMORY


@dataclass(frozen=True, slots=True)
class NodeAffinityArgs:
    """Arguments of NodeAffinity: an affinity added to every pod."""

    required: tuple[selectors.NodeSelectorTerm, ...] | None = None
    preferred: tuple[selectors.PreferredTerm, ...] = ()


@dataclass(frozen=True, slots=True)
class SpreadArgs:
    """Arguments of PodTopologySpread: default constraints for pods that have none."""

    system: bool = True
    constraints: tuple[pods.SpreadConstraint, ...] = SYSTEM_SPREAD


@dataclass(frozen=True, slots=True)
class PodAffinityArgs:
    """Arguments of InterPodAffinity."""

    hard_weight: int = 1
    ignore_preferred_of_existing: bool = False


@dataclass(frozen=True, slots=True)
class VolumeArgs:
    """Arguments of VolumeBinding: how the use of storage capacity becomes points."""

    shape: tuple[ShapePoint, ...] = (ShapePoint(0, 10), ShapePoint(100, 0))


@dataclass(frozen=True, slots=True)
class Extension:
    """An extender of a profile: a term that filters and scores the feasible nodes.

    Attributes:
        term: Name of the term.
        parameters: Its parameters, with the keys of files.
        weight: Weight of its points (0 to 10), each times 10.
        shortlist: Keep its best few nodes (``terms.shortlist``) instead of giving points.
    """

    term: str
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    weight: int = 1
    shortlist: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """A complete scheduler profile.

    Attributes:
        name: The ``schedulerName`` in pods.
        prefilters: Plugins that may restrict the nodes before the filters run.
        filters: Filter plugins in order.
        scores: Score plugins with their weights, in order.
        extension: The extender; ``None`` for stock kube-scheduler.
        preempts: Whether DefaultPreemption is enabled.
    """

    name: str = pods.DEFAULT_SCHEDULER
    prefilters: tuple[str, ...] = PREFILTERS
    filters: tuple[str, ...] = FILTERS
    scores: tuple[tuple[str, int], ...] = field(
        default=tuple((name, weight) for name, weight in DEFAULT_PLUGINS if name in SCORES)
    )
    fit: FitArgs = FitArgs()
    balanced: BalancedArgs = BalancedArgs()
    node_affinity: NodeAffinityArgs = NodeAffinityArgs()
    spread: SpreadArgs = SpreadArgs()
    pod_affinity: PodAffinityArgs = PodAffinityArgs()
    volumes: VolumeArgs = VolumeArgs()
    extension: Extension | None = None
    preempts: bool = True
