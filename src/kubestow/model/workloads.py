"""Objects around pods: controllers, services, namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubestow.model import pods, selectors

# Controllers whose selector kube-scheduler uses for its default spreading, by API group.
SELECTING_KINDS = {
    ("v1", "ReplicationController"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """A controller that wants so many pods of one template.

    ``replicas`` is ``None`` for a DaemonSet, which wants one pod on every node that admits it.
    """

    api_version: str
    kind: str
    name: str
    namespace: str
    replicas: int | None
    selector: selectors.LabelSelector | None
    template: pods.Pod | None = None
    owner: pods.OwnerReference | None = None

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
class Namespace:
    """A namespace and its labels."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
