"""Objects around pods: controllers, services, namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kubestow.model import nodes, pods, selectors, volumes

# Controllers whose selector kube-scheduler uses for its default spreading, by API group.
SELECTING_KINDS = {
    ("v1", "ReplicationController"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """A controller with a pod template and a number of replicas.

    ``replicas`` is ``None`` for a DaemonSet, which runs one pod on every node that admits it.
    ``claims`` are the claim templates of a StatefulSet, by the name of the volume.
    """

    api_version: str
    kind: str
    name: str
    namespace: str
    replicas: int | None
    selector: selectors.LabelSelector | None
    template: pods.Pod | None = None
    owner: pods.OwnerReference | None = None
    claims: Mapping[str, volumes.ClaimSpec] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The workload's name as ``namespace/kind/name``."""
        return f"{self.namespace}/{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class Service:
    """A service and the labels it selects; ``None`` selects nothing."""

    name: str
    namespace: str
    selector: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A PodDisruptionBudget and how many of its pods may be evicted now.

    Attributes:
        selector: Its pods; without one, or with an empty one, it has none.
        allowed: Evictions that it still allows.
        disrupted: Names of pods whose eviction is under way and counted already.
    """

    name: str
    namespace: str
    selector: selectors.LabelSelector | None
    allowed: int = 0
    disrupted: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        """The budget's name as ``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    def covers(self, pod: pods.Pod) -> bool:
        """Return whether evicting a pod uses this budget (FilterVictimsWithPDBViolation)."""
        if self.namespace != pod.namespace or not pod.labels or pod.name in self.disrupted:
            return False
        selector = self.selector
        return selector is not None and not selector.empty and selector.matches(pod.labels)


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace and its labels."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)


# Tolerations that the DaemonSet controller adds to its pods (pkg/controller/daemon/util).
TOLERATIONS = (
    *(
        nodes.Toleration(key, "Exists", "", nodes.NO_EXECUTE)
        for key in (nodes.NOT_READY, nodes.UNREACHABLE)
    ),
    *(
        nodes.Toleration(f"node.kubernetes.io/{condition}", "Exists", "", nodes.NO_SCHEDULE)
        for condition in ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
    ),
)


def runs_on(spec: pods.PodSpec, node: nodes.Node) -> bool:
    """Return whether a DaemonSet runs a pod on a node."""
    tolerations = (*spec.tolerations, *TOLERATIONS)
    return spec.admits_node(node.name, node.labels) and not nodes.has_untolerated_taint(
        node.taints, tolerations
    )


def pinned(spec: pods.PodSpec, node_name: str) -> pods.PodSpec:
    """Return the specification bound to one node by a field selector, as DaemonSet pods are."""
    only = selectors.Requirement("metadata.name", selectors.IN, (node_name,))
    return replace(
        spec,
        required_nodes=(selectors.NodeSelectorTerm(fields=(only,)),),
        tolerations=(*spec.tolerations, *TOLERATIONS),
    )
