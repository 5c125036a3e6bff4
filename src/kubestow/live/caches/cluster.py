"""The cluster as policies see it, kept in sync with the API server.

Watches pass objects as they change; ``state`` is the current ``ClusterState``. Pods are added and
removed one by one; the arrays are rebuilt only when nodes are added, removed, or change their
allocatable resources, labels or images. A malformed object is skipped and counted, never fatal: an
object of another client must not stop a server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from kubestow.model import clusters, decoding, errors, nodes, pods, states, workloads
from kubestow.policies.placing import profiles
from kubestow.sources import manifests

NODES, PODS, NAMESPACES, SERVICES = "Node", "Pod", "Namespace", "Service"
PATHS: Mapping[str, str] = {
    NODES: "/api/v1/nodes",
    PODS: "/api/v1/pods",
    NAMESPACES: "/api/v1/namespaces",
    SERVICES: "/api/v1/services",
    "ReplicationController": "/api/v1/replicationcontrollers",
    "ReplicaSet": "/apis/apps/v1/replicasets",
    "StatefulSet": "/apis/apps/v1/statefulsets",
    "Deployment": "/apis/apps/v1/deployments",
    "DaemonSet": "/apis/apps/v1/daemonsets",
    "HorizontalPodAutoscaler": "/apis/autoscaling/v2/horizontalpodautoscalers",
    "PodDisruptionBudget": "/apis/policy/v1/poddisruptionbudgets",
}

Document = dict[str, Any]


@dataclass(slots=True)
class _Kept:
    pod: pods.Pod
    version: str
    row: int | None = None  # row of the node where it is counted
    assumed_s: float | None = None  # since when it is assumed on its node without confirmation


@dataclass(slots=True)
class _Objects:
    """Objects of all kinds other than nodes and pods, by uid."""

    namespaces: dict[str, workloads.Namespace] = field(default_factory=dict)
    services: dict[str, workloads.Service] = field(default_factory=dict)
    controllers: dict[str, dict[str, workloads.Workload]] = field(default_factory=dict)
    documents: dict[str, dict[str, Document]] = field(default_factory=dict)


class ClusterCache:
    """Nodes, pods and related objects."""

    def __init__(self, features: profiles.SchedulerFeatures) -> None:
        self._features = features
        self._nodes: dict[str, nodes.Node] = {}
        self._pods: dict[str, _Kept] = {}  # by uid
        self._others = _Objects()
        self._pod_reader = manifests.PodReader()
        self._state = self._laid_out()
        self._laid = True  # the arrays match the nodes
        self._learned = True  # the state's cluster has all services and controllers
        self.unreadable: dict[str, int] = {}  # skipped objects by kind
        self.on_placed: Callable[[str, pods.Pod], None] = _ignore
        """Called with uid and pod when a pod is placed on a node, including assumed ones."""
        self.on_removed: Callable[[str], None] = _ignore
        """Called with its uid when a pod leaves its node."""

    @property
    def state(self) -> states.ClusterState:
        """The current cluster; valid until the next change."""
        if not self._laid:
            self._lay_out()
        if not self._learned:
            self._state.learn(self._cluster())
            self._learned = True
        return self._state

    @property
    def pod_count(self) -> int:
        """Number of pods, running or pending."""
        return len(self._pods)

    def pod(self, uid: str) -> pods.Pod | None:
        """Return a pod by its uid."""
        kept = self._pods.get(uid)
        return None if kept is None else kept.pod

    def documents(self, kind: str) -> list[Document]:
        """Return the objects of a kind that is kept undecoded (HPAs, disruption budgets)."""
        return list(self._others.documents.get(kind, {}).values())

    def sink(self, kind: str) -> KindSink:
        """Return the sink for a watch of one kind."""
        return KindSink(self, kind)

    def replace(self, kind: str, documents: list[Document]) -> None:
        """Replace all objects of a kind."""
        present = {_uid(kind, document): document for document in documents}
        for uid in self._known(kind) - present.keys():
            self._drop(kind, uid)
        for document in documents:
            self.put(kind, document)

    def put(self, kind: str, document: Document) -> None:
        """Add or update an object."""
        entry = decoding.Field(document, kind)
        try:
            if kind == NODES:
                self._put_node(manifests.read_node(entry))
            elif kind == PODS:
                version = str(document["metadata"].get("resourceVersion", ""))
                self._put_pod(_uid(kind, document), version, self._pod_reader.read(entry))
            else:
                self._put_other(kind, entry, document)
        except errors.InputError:
            self.unreadable[kind] = self.unreadable.get(kind, 0) + 1
            self._drop(kind, _uid(kind, document))

    def remove(self, kind: str, document: Document) -> None:
        """Remove an object."""
        self._drop(kind, _uid(kind, document))

    def put_pod(self, text: bytes) -> None:
        """Add or update a pod from JSON: the fast path for the most frequent change."""
        try:
            reading = self._pod_reader.read_json(text)
        except errors.InputError:
            self.unreadable[PODS] = self.unreadable.get(PODS, 0) + 1
            self.remove_pod(text)
            return
        self._put_pod(reading.uid, reading.version, reading.pod)

    def remove_pod(self, text: bytes) -> None:
        """Remove a pod, given as JSON."""
        self._take_pod(manifests.read_uid(text))

    def read_pod(self, text: bytes) -> manifests.PodReading:
        """Read a pod from JSON as the cache does, without storing it.

        Raises:
            InputError: If it is not a pod.
        """
        return self._pod_reader.read_json(text)

    def _known(self, kind: str) -> set[str]:
        if kind == NODES:
            return set(self._nodes)
        if kind == PODS:
            return set(self._pods)
        return set(self._table(kind))

    def _table(self, kind: str) -> dict[str, Any]:
        others = self._others
        if kind == NAMESPACES:
            return others.namespaces
        if kind == SERVICES:
            return others.services
        tables: dict[str, dict[str, Any]] = (
            others.controllers if kind in manifests.KINDS else others.documents
        )
        return tables.setdefault(kind, {})

    def _drop(self, kind: str, uid: str) -> None:
        if kind == NODES:
            if self._nodes.pop(uid, None) is not None:
                self._laid = False
        elif kind == PODS:
            self._take_pod(uid)
        elif self._table(kind).pop(uid, None) is not None:
            self._learned = False

    def _put_node(self, node: nodes.Node) -> None:
        known = self._nodes.get(node.name)
        self._nodes[node.name] = node
        if known is None or not self._laid or _offer(known) != _offer(node):
            self._laid = False
        elif (known.taints, known.unschedulable) != (node.taints, node.unschedulable):
            self._state.replace_node(self._state.rows[node.name], node)

    def _put_pod(self, uid: str, version: str, pod: pods.Pod) -> None:
        known = self._pods.get(uid)
        if known is not None and version and known.version == version:
            return  # a new list repeats known pods
        if pod.status.finished:
            self._take_pod(uid)
            return
        if known is not None and known.assumed_s is not None and not pod.node_name:
            known.version = version  # not yet bound to its assumed node
            return
        if known is not None and _counts_as(known.pod) == _counts_as(pod):
            known.pod, known.version, known.assumed_s = pod, version, None
            return
        self._take_pod(uid)
        self._keep(uid, _Kept(pod, version))

    def _keep(self, uid: str, kept: _Kept) -> None:
        self._pods[uid] = kept
        if self._laid:
            self._count_in(kept)
        if kept.pod.node_name:
            self.on_placed(uid, kept.pod)

    def assume(self, uid: str, pod: pods.Pod, node: str, now_s: float) -> None:
        """Count a pod on a node before the API server confirms it.

        In a burst, the next pod comes before the watch shows where the previous one went. The
        assumption holds until the watch reports the pod's node, or until ``forget_assumed``.
        """
        known = self._pods.get(uid)
        if known is not None and known.assumed_s is None and known.pod.node_name:
            return  # it is already on a node
        version = "" if known is None else known.version
        self._take_pod(uid)
        self._keep(uid, _Kept(replace(pod, node_name=node), version, assumed_s=now_s))

    def forget_assumed(self, before_s: float) -> int:
        """Treat pods assumed before a time as pending again; return their number."""
        stale = [
            (uid, kept)
            for uid, kept in self._pods.items()
            if kept.assumed_s is not None and kept.assumed_s < before_s
        ]
        for uid, kept in stale:
            self._take_pod(uid)
            self._keep(uid, _Kept(replace(kept.pod, node_name=""), ""))
        return len(stale)

    def _count_in(self, kept: _Kept) -> None:
        row = self._state.rows.get(kept.pod.node_name)
        if row is not None:
            self._state.place(kept.pod, row)
        kept.row = row

    def _take_pod(self, uid: str) -> None:
        known = self._pods.pop(uid, None)
        if known is None:
            return
        if known.row is not None and self._laid:
            self._state.remove(known.pod, known.row)
        if known.pod.node_name:
            self.on_removed(uid)

    def _put_other(self, kind: str, entry: decoding.Field, document: Document) -> None:
        uid = _uid(kind, document)
        made: Any = document
        if kind == NAMESPACES:
            metadata = entry["metadata"]
            made = workloads.Namespace(metadata["name"].text(), metadata["labels"].labels())
        elif kind == SERVICES:
            made = manifests.read_service(entry)
        elif kind in manifests.KINDS:
            made = manifests.read_workload(kind, entry, self._pod_reader)
        self._table(kind)[uid] = made
        self._learned = False

    def _cluster(self) -> clusters.Cluster:
        controllers = {
            (workload.api_version, kind, workload.namespace, workload.name): workload
            for kind, table in self._others.controllers.items()
            for workload in table.values()
        }
        return clusters.Cluster(
            nodes=tuple(self._nodes.values()),
            namespaces={
                namespace.name: namespace for namespace in self._others.namespaces.values()
            },
            services=tuple(self._others.services.values()),
            controllers=controllers,
        )

    def _lay_out(self) -> None:
        self._state, self._laid, self._learned = self._laid_out(), True, True
        for kept in self._pods.values():
            self._count_in(kept)

    def _laid_out(self) -> states.ClusterState:
        return states.from_cluster(
            self._cluster(),
            use_status=self._features.resized_pods,
            pod_level=self._features.pod_level,
        )


@dataclass(frozen=True, slots=True)
class KindSink:
    """Passes objects of one kind to the cache."""

    cache: ClusterCache
    kind: str

    def replace(self, objects: list[Document]) -> None:
        """Replace all objects."""
        self.cache.replace(self.kind, objects)

    def apply(self, change: str, text: bytes) -> None:
        """Apply one change."""
        gone = change == "DELETED"
        if self.kind == PODS:
            (self.cache.remove_pod if gone else self.cache.put_pod)(text)
            return
        document = msgspec.json.decode(text)
        (self.cache.remove if gone else self.cache.put)(self.kind, document)


def _ignore(*_: object) -> None:
    """Do nothing."""


def _uid(kind: str, document: Document) -> str:
    """Return the key of an object: the name of a node, since pods refer to it, else the uid."""
    metadata = document["metadata"]
    return str(metadata["name"] if kind == NODES else metadata["uid"])


def _offer(node: nodes.Node) -> tuple[object, ...]:
    return node.allocatable, node.labels, node.images


def _counts_as(pod: pods.Pod) -> tuple[object, ...]:
    """Return the parts of a pod that the arrays and groups depend on."""
    return pod.node_name, pod.labels, pod.terminating, pod.spec, pod.status.containers
