"""A cluster as the objects that were read, before they become arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubestow.model.nodes import Node
from kubestow.model.pods import Pod
from kubestow.model.volumes import Storage
from kubestow.model.workloads import DisruptionBudget, Namespace, Service, Workload


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """Nodes, pods and the objects that influence scheduling.

    ``pods`` holds all unfinished pods, bound and pending, in input order.
    """

    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)
    services: tuple[Service, ...] = ()
    controllers: Mapping[tuple[str, str, str, str], Workload] = field(
        default_factory=dict
    )  # by API version, kind, namespace, name
    storage: Storage = field(default_factory=Storage)
    budgets: tuple[DisruptionBudget, ...] = ()

    @property
    def bound(self) -> list[Pod]:
        """Pods that are bound to a node."""
        return [pod for pod in self.pods if pod.node_name]

    @property
    def pending(self) -> list[Pod]:
        """Pending pods, in the order of kube-scheduler's queue.

        Higher priority first, then the older one (``PrioritySort``); pods with a scheduling gate
        or being deleted are not queued. Pods without a creation time keep their input order.
        """
        waiting = [
            pod for pod in self.pods if not (pod.node_name or pod.spec.gates or pod.terminating)
        ]
        return sorted(waiting, key=lambda p: (-p.spec.priority, p.created or 0.0))

    def controller_of(self, pod: Pod) -> Workload | None:
        """Return the controller that owns a pod; ``None`` if it was not read."""
        if pod.owner is None:
            return None
        key = (pod.owner.api_version, pod.owner.kind, pod.namespace, pod.owner.name)
        return self.controllers.get(key)

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Return the labels of a namespace; the API server gives each its own name as a label."""
        namespace = self.namespaces.get(name)
        return {"kubernetes.io/metadata.name": name, **(namespace.labels if namespace else {})}
