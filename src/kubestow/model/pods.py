"""Pods: specification, identity and status.

A ``PodSpec`` holds everything that decides on a pod's placement; replicas of one template share the
same object, so that results computed for one of them serve all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubestow.model import nodes, resources, selectors, volumes

DEFAULT_SCHEDULER = "default-scheduler"
ID_LABEL = "kubestow.io/id"
RESOURCE_CLAIMS, WORKLOAD_REF, SCHEDULING_GROUP = (
    "resourceClaims",
    "workloadRef",
    "schedulingGroup",
)
BEYOND = (RESOURCE_CLAIMS, WORKLOAD_REF, SCHEDULING_GROUP)
"""Fields of a specification that affect placement and are not modelled."""


WILDCARD_IP = "0.0.0.0"  # noqa: S104 - Kubernetes' wildcard for "all addresses"; nothing is bound


@dataclass(frozen=True, slots=True)
class HostPort:
    """A host port of a container."""

    port: int
    protocol: str = "TCP"
    ip: str = WILDCARD_IP

    def conflicts_with(self, other: HostPort) -> bool:
        """Return whether two ports conflict on one node; the wildcard meets every address."""
        if self.port != other.port or self.protocol != other.protocol:
            return False
        return self.ip == other.ip or WILDCARD_IP in (self.ip, other.ip)


@dataclass(frozen=True, slots=True)
class Container:
    """A container's name, image, requests, limits and host ports.

    ``sidecar`` marks an init container with ``restartPolicy: Always``, which keeps running.
    """

    name: str
    image: str = ""
    requests: resources.ResourceList = field(default_factory=dict)
    limits: resources.ResourceList = field(default_factory=dict)
    sidecar: bool = False
    host_ports: tuple[HostPort, ...] = ()


@dataclass(frozen=True, slots=True)
class PodAffinityTerm:
    """A term of pod affinity or anti-affinity within a topology.

    ``selector`` is ``None`` for a null selector, which matches no pod. ``namespaces`` empty and
    ``namespace_selector`` ``None`` mean the pod's own namespace.
    """

    topology_key: str
    selector: selectors.LabelSelector | None
    namespaces: tuple[str, ...] = ()
    namespace_selector: selectors.LabelSelector | None = None

    def covers(self, own: str, namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        """Return whether the term of a pod in namespace ``own`` applies to a namespace."""
        if not self.namespaces and self.namespace_selector is None:
            return namespace == own
        if namespace in self.namespaces:
            return True
        return self.namespace_selector is not None and self.namespace_selector.matches(
            namespace_labels
        )


@dataclass(frozen=True, slots=True)
class WeightedPodAffinityTerm:
    """A preferred affinity term and its weight, 1 to 100."""

    weight: int
    term: PodAffinityTerm


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """A topology spread constraint with upstream's defaults."""

    max_skew: int
    topology_key: str
    hard: bool  # whenUnsatisfiable: DoNotSchedule
    selector: selectors.LabelSelector | None = None
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PodSpec:
    """The scheduling part of a pod's specification. Compared by identity: replicas share one."""

    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    pod_requests: resources.ResourceList | None = None
    pod_limits: resources.ResourceList | None = None
    overhead: resources.ResourceList = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    required_nodes: tuple[selectors.NodeSelectorTerm, ...] | None = None
    preferred_nodes: tuple[selectors.PreferredTerm, ...] = ()
    required_near: tuple[PodAffinityTerm, ...] = ()
    preferred_near: tuple[WeightedPodAffinityTerm, ...] = ()
    required_apart: tuple[PodAffinityTerm, ...] = ()
    preferred_apart: tuple[WeightedPodAffinityTerm, ...] = ()
    tolerations: tuple[nodes.Toleration, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    image_volumes: tuple[str, ...] = ()
    priority: int = 0
    scheduler_name: str = DEFAULT_SCHEDULER
    gates: tuple[str, ...] = ()
    # Not in the text of a specification, from which names of ReplicaSets are made.
    preempts: bool = field(default=True, repr=False)  # preemptionPolicy is not Never
    beyond: tuple[str, ...] = field(default=(), repr=False)  # those of BEYOND that it has

    @property
    def host_ports(self) -> tuple[HostPort, ...]:
        """Host ports of the pod: those of sidecars and of ordinary containers."""
        lasting = [c for c in self.init_containers if c.sidecar]
        return tuple(port for c in (*lasting, *self.containers) for port in c.host_ports)

    @property
    def has_pod_affinity(self) -> bool:
        """Whether the pod has any affinity or anti-affinity to other pods."""
        return bool(
            self.required_near or self.preferred_near or self.required_apart or self.preferred_apart
        )

    @property
    def has_preferences(self) -> bool:
        """Whether the pod has preferences among feasible nodes."""
        return bool(
            self.preferred_nodes or self.preferred_near or self.preferred_apart or self.spread
        )

    def admits_node(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether a node matches the node selector and the required node affinity."""
        if any(labels.get(key) != value for key, value in self.node_selector.items()):
            return False
        if self.required_nodes is None:
            return True
        return any(term.matches(name, labels) for term in self.required_nodes)


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """The controller of a pod."""

    api_version: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class ContainerStatus:
    """Resources that the node has allocated and actuated for a container (in-place resize)."""

    name: str
    allocated: resources.ResourceList | None = None
    actuated: resources.ResourceList | None = None


@dataclass(frozen=True, slots=True)
class PodStatus:
    """The part of a pod's status that affects its effective requests, and preemption.

    Attributes:
        started: When it started, in seconds since the epoch.
        nominated: Node on which preemption makes place for it.
    """

    phase: str = "Pending"
    containers: tuple[ContainerStatus, ...] = ()
    allocated: resources.ResourceList | None = None
    actuated: resources.ResourceList | None = None
    resize_infeasible: bool = False
    started: float | None = None
    nominated: str = ""

    @property
    def finished(self) -> bool:
        """Whether the pod has ended and occupies no resources."""
        return self.phase in ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, eq=False)
class Pod:
    """A pod with its name, its specification and, once bound, its node.

    Volumes are not part of the specification, because every replica may have its own claims.
    """

    name: str
    spec: PodSpec
    namespace: str = "default"
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owner: OwnerReference | None = None
    created: float | None = None  # seconds since the epoch
    node_name: str = ""
    terminating: bool = False
    status: PodStatus = PodStatus()
    volumes: tuple[volumes.PodVolume, ...] = ()
    uid: str = ""

    @property
    def key(self) -> str:
        """The pod's name as ``namespace/name``."""
        return f"{self.namespace}/{self.name}"
