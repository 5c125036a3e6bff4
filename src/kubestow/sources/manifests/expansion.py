"""Expands controllers into the pods they still lack, as the controller manager creates them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from kubestow.model import affinities, clusters, decoding, pods, selectors, workloads
from kubestow.sources.manifests import pods as pod_source
from kubestow.sources.manifests import storage

KINDS = (
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "DaemonSet",
    "Job",
)
_HASH_LABEL = "pod-template-hash"

Controllers = dict[tuple[str, str, str, str], workloads.Workload]


def read_workload(
    kind: str, entry: decoding.Field, reader: pod_source.PodReader
) -> workloads.Workload:
    """Read a controller and its pod template."""
    metadata, spec = entry["metadata"], entry["spec"]
    template = spec["template"]
    return workloads.Workload(
        api_version=entry["apiVersion"].text(),
        kind=kind,
        name=metadata["name"].text(),
        namespace=metadata["namespace"].text("") or "default",
        replicas=_replicas(kind, spec),
        selector=_selector(kind, spec),
        template=None if template.missing else reader.read(template),
        owner=pod_source.read_owner(metadata),
        claims=storage.read_templates(spec) if kind == "StatefulSet" else {},
    )


def _replicas(kind: str, spec: decoding.Field) -> int | None:
    if kind == "DaemonSet":
        return None
    if kind != "Job":
        return spec["replicas"].integer(1, least=0)
    parallelism = spec["parallelism"].integer(1, least=0)
    if spec["suspend"].truth():
        return 0
    return min(parallelism, spec["completions"].integer(parallelism, least=0))


def _selector(kind: str, spec: decoding.Field) -> selectors.LabelSelector | None:
    if kind == "ReplicationController":
        return selectors.from_labels(spec["selector"].labels())
    return affinities.label_selector(spec["selector"])


def expand(
    workloads_by_key: Mapping[str, workloads.Workload], cluster: clusters.Cluster
) -> tuple[list[pods.Pod], Controllers]:
    """Return the pods that controllers still lack, and all controllers by reference."""
    controllers: Controllers = {
        (w.api_version, w.kind, w.namespace, w.name): w for w in workloads_by_key.values()
    }
    owned = Counter(
        (pod.namespace, pod.owner.kind, pod.owner.name) for pod in cluster.pods if pod.owner
    )
    owned += Counter(
        (w.namespace, w.owner.kind, w.owner.name)
        for w in workloads_by_key.values()
        if w.owner  # a ReplicaSet of a Deployment brings its pods itself
        for _ in range(w.replicas or 0)
    )
    made: list[pods.Pod] = []
    for workload in workloads_by_key.values():
        if workload.template is None:
            continue
        creator, template = workload, workload.template
        if workload.kind == "Deployment":
            creator, template = _replica_set(workload, workload.template)
            controllers[("apps/v1", "ReplicaSet", creator.namespace, creator.name)] = creator
        existing = owned[(workload.namespace, workload.kind, workload.name)]
        made.extend(_pods_of(creator, template, existing, cluster))
    return made, controllers


def _replica_set(
    deployment: workloads.Workload, template: pods.Pod
) -> tuple[workloads.Workload, pods.Pod]:
    """Return the ReplicaSet a Deployment would create and its template, hash label included."""
    digest = hashlib.sha256(repr((template.spec, template.labels)).encode()).hexdigest()[:10]
    same = selectors.Requirement(_HASH_LABEL, selectors.IN, (digest,))
    replica_set = replace(
        deployment,
        kind="ReplicaSet",
        api_version="apps/v1",
        name=f"{deployment.name}-{digest}",
        selector=(deployment.selector or selectors.LabelSelector()).and_also(same),
    )
    return replica_set, replace(template, labels={**template.labels, _HASH_LABEL: digest})


def _pods_of(
    workload: workloads.Workload, template: pods.Pod, existing: int, cluster: clusters.Cluster
) -> Iterator[pods.Pod]:
    owner = pods.OwnerReference(workload.api_version, workload.kind, workload.name)
    base = replace(template, namespace=workload.namespace, owner=owner)
    if workload.replicas is None:
        covered = {pod.node_name for pod in cluster.pods if pod.owner == owner and pod.node_name}
        for node in cluster.nodes:
            if node.name not in covered and workloads.runs_on(base.spec, node):
                name = f"{workload.name}-{node.name}"
                yield replace(base, name=name, spec=workloads.pinned(base.spec, node.name))
    else:
        for ordinal in range(existing, workload.replicas):
            yield replace(base, name=f"{workload.name}-{ordinal}")
