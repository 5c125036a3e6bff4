"""Reads a cluster from manifests: ``kubectl get ... -o yaml|json`` output, folders, streams.

Deployments, StatefulSets, DaemonSets and Jobs are expanded into the pods they still lack. Kinds
that do not affect placement are skipped; documents that are not Kubernetes objects are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kubestow.model import clusters, decoding, nodes, pods, workloads
from kubestow.sources.manifests import budgets, claims, documents, expansion, storage
from kubestow.sources.manifests import pods as pod_source

_T = TypeVar("_T")
_EFFECTS = (nodes.NO_SCHEDULE, nodes.PREFER_NO_SCHEDULE, nodes.NO_EXECUTE)


def read_cluster(*sources: str) -> clusters.Cluster:
    """Read a cluster from files, folders, or ``-`` for standard input, all together."""
    return build_cluster(
        document for source in sources for document in documents.read_documents(source)
    )


@dataclass(slots=True)
class _Objects:
    """The objects read so far."""

    nodes: dict[str, nodes.Node] = field(default_factory=dict)
    pods: dict[str, pods.Pod] = field(default_factory=dict)
    namespaces: dict[str, workloads.Namespace] = field(default_factory=dict)
    services: list[workloads.Service] = field(default_factory=list)
    budgets: list[workloads.DisruptionBudget] = field(default_factory=list)
    workloads: dict[str, workloads.Workload] = field(default_factory=dict)
    storage: storage.StorageReader = field(default_factory=storage.StorageReader)


def build_cluster(decoded: Iterable[documents.Document]) -> clusters.Cluster:
    """Build a cluster from decoded documents.

    Raises:
        InputError: If an object is malformed, or named twice.
    """
    objects = [_object(document) for document in decoded]
    reader = pod_source.PodReader(_priorities(objects), peaceful=_peaceful(objects))
    objects_read = _Objects()
    readers: dict[str, Callable[[decoding.Field], None]] = {
        "Node": lambda f: _keep(objects_read.nodes, f["metadata"]["name"].text(), read_node(f), f),
        "Pod": lambda f: _keep_pod(objects_read.pods, reader.read(f), f),
        "Namespace": lambda f: _keep_namespace(objects_read.namespaces, f),
        "Service": lambda f: objects_read.services.append(read_service(f)),
        "PodDisruptionBudget": lambda f: objects_read.budgets.append(budgets.read_budget(f)),
        **objects_read.storage.readers(),
    }
    for kind, entry in objects:
        if kind in readers:
            readers[kind](entry)
        elif kind in expansion.KINDS:
            workload = expansion.read_workload(kind, entry, reader)
            _keep(objects_read.workloads, workload.key, workload, entry)
    return _assemble(objects_read)


def _object(document: documents.Document) -> tuple[str, decoding.Field]:
    entry = decoding.Field(document.value, document.place)
    if not isinstance(document.value, dict):
        raise entry.refuse("expected a Kubernetes object (a mapping with apiVersion and kind)")
    entry["apiVersion"].text()
    return entry["kind"].text(), entry


def _priorities(objects: list[tuple[str, decoding.Field]]) -> dict[str, int]:
    """Return the value of every priority class; the global default has the empty name."""
    # The two classes every cluster has (pkg/apis/scheduling/types.go).
    values = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
    for kind, entry in objects:
        if kind == "PriorityClass":
            value = entry["value"].integer(0)
            values[entry["metadata"]["name"].text()] = value
            if entry["globalDefault"].truth():
                values[""] = value
    return values


def _peaceful(objects: list[tuple[str, decoding.Field]]) -> frozenset[str]:
    """Return the priority classes whose pods do not preempt; the global default is nameless."""
    classes = [
        entry
        for kind, entry in objects
        if kind == "PriorityClass" and entry["preemptionPolicy"].text("") == "Never"
    ]
    names = {entry["metadata"]["name"].text() for entry in classes}
    return frozenset(names | {"" for entry in classes if entry["globalDefault"].truth()})


def _keep(known: dict[str, _T], name: str, value: _T, entry: decoding.Field) -> None:
    if name in known:
        raise entry["metadata"]["name"].refuse(f"duplicate {entry['kind'].text()}")
    known[name] = value


def _keep_pod(known: dict[str, pods.Pod], pod: pods.Pod, entry: decoding.Field) -> None:
    entry["metadata"]["name"].text()
    if not pod.status.finished:  # a finished pod holds no resources
        _keep(known, pod.key, pod, entry)


def _keep_namespace(known: dict[str, workloads.Namespace], entry: decoding.Field) -> None:
    metadata = entry["metadata"]
    name = metadata["name"].text()
    _keep(known, name, workloads.Namespace(name, metadata["labels"].labels()), entry)


def read_node(entry: decoding.Field) -> nodes.Node:
    """Read a node from its document."""
    metadata, spec, status = entry["metadata"], entry["spec"], entry["status"]
    offered = status["allocatable"] if not status["allocatable"].missing else status["capacity"]
    return nodes.Node(
        name=metadata["name"].text(),
        labels=metadata["labels"].labels(),
        allocatable=offered.quantities(),
        unschedulable=spec["unschedulable"].truth(),
        taints=tuple(
            nodes.Taint(t["key"].text(), t["value"].text(""), t["effect"].choice(_EFFECTS))
            for t in spec["taints"].items()
        ),
        images=tuple(
            nodes.NodeImage(image["names"].texts(), image["sizeBytes"].integer(0, least=0))
            for image in status["images"].items()
        ),
    )


def read_service(entry: decoding.Field) -> workloads.Service:
    """Read a service from its document."""
    selector = entry["spec"]["selector"]
    return workloads.Service(
        name=entry["metadata"]["name"].text(),
        namespace=entry["metadata"]["namespace"].text("") or "default",
        selector=None if selector.missing else selector.labels(),
    )


def _assemble(objects_read: _Objects) -> clusters.Cluster:
    cluster = clusters.Cluster(
        nodes=tuple(objects_read.nodes.values()),
        pods=tuple(objects_read.pods.values()),
        namespaces=objects_read.namespaces,
        services=tuple(objects_read.services),
        budgets=tuple(objects_read.budgets),
    )
    made, controllers = expansion.expand(objects_read.workloads, cluster)
    made = [claims.with_claims(pod, controllers) for pod in made]
    unstored = [*(pod for pod in cluster.pods if not pod.uid), *made]
    return replace(
        cluster,
        pods=(*cluster.pods, *made),
        controllers=controllers,
        storage=claims.settle(objects_read.storage, unstored, controllers),
    )
