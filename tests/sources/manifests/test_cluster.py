"""Clusters out of manifests, and what is refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kubestow.model import clusters, errors, nodes, requests
from kubestow.model.quantities import parse
from kubestow.sources.manifests import cluster, documents

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"zone": "a"}},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "shop"},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
}


def workload(kind: str, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": POD["spec"]}
    selector = {"matchLabels": {"app": "web"}}
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"template": template, "selector": selector, **spec},
    }


def build(*objects: Any) -> clusters.Cluster:
    return cluster.build_cluster(
        documents.Document(f"f.yaml#{i}", value) for i, value in enumerate(objects, 1)
    )


def changed(base: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    result = copy.deepcopy(base)
    *parents, last = path.split(".")
    target: Any = result
    for step in parents:
        target = target[int(step)] if step.isdigit() else target.setdefault(step, {})
    target[int(last) if last.isdigit() else last] = value
    return result


def test_nodes_and_pods_are_read() -> None:
    cluster = build(NODE, POD, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})
    assert cluster.nodes[0].amounts() == {"cpu": 4000, "memory": 8 * 2**30, "pods": 110}
    assert [pod.key for pod in cluster.pending] == ["shop/p"]


def test_capacity_serves_where_allocatable_is_missing() -> None:
    node = changed(NODE, "status", {"capacity": {"cpu": "2"}})
    assert build(node).nodes[0].amounts() == {"cpu": 2000, "pods": 0}


def test_finished_pods_count_for_nothing() -> None:
    done = changed(POD, "status.phase", "Succeeded")
    assert build(NODE, done).pods == ()


def test_gated_and_terminating_pods_are_not_queued() -> None:
    gated = changed(POD, "spec.schedulingGates", [{"name": "wait"}])
    leaving = changed(POD, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z")
    assert build(gated).pending == []
    assert build(leaving).pending == []


def test_the_queue_goes_by_priority_then_age() -> None:
    def made(name: str, priority: int, created: str | None) -> dict[str, Any]:
        pod = changed(POD, "metadata.name", name)
        pod = changed(pod, "spec.priority", priority)
        return changed(pod, "metadata.creationTimestamp", created)

    cluster = build(
        made("young", 0, "2026-01-02T00:00:00Z"),
        made("old", 0, "2026-01-01T00:00:00Z"),
        made("urgent", 10, "2026-01-03T00:00:00Z"),
    )
    assert [pod.name for pod in cluster.pending] == ["urgent", "old", "young"]


def test_priority_classes_are_resolved() -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 7,
            "metadata": {"name": "high"}}  # fmt: skip
    usual = {**high, "metadata": {"name": "usual"}, "value": 3, "globalDefault": True}
    pod = changed(POD, "spec.priorityClassName", "high")
    other = changed(POD, "metadata.name", "q")
    cluster = build(high, usual, pod, other)
    assert [p.spec.priority for p in cluster.pods] == [7, 3]
    with pytest.raises(errors.InputError, match="no such PriorityClass"):
        build(pod)


def test_defaults_of_the_api_server_are_filled_in() -> None:
    spec = {
        "hostNetwork": True,
        "containers": [
            {
                "name": "c",
                "resources": {"limits": {"memory": "1Gi"}},
                "ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 8081}],
            }
        ],
    }
    pod = build(changed(POD, "spec", spec)).pods[0]
    assert pod.spec.containers[0].requests == {"memory": parse("1Gi")}
    assert [port.port for port in pod.spec.host_ports] == [80, 8081]
    assert nodes.Toleration(nodes.NOT_READY, "Exists", "", "NoExecute") in pod.spec.tolerations


def test_pod_level_requests_default_from_containers_and_limits() -> None:
    pod = changed(POD, "spec.resources", {"limits": {"cpu": "4", "memory": "2Gi"}})
    actual = build(pod).pods[0]
    # CPU from the containers (1), memory from the pod's limit, as no container states any.
    assert actual.spec.pod_requests == {"cpu": parse("1"), "memory": parse("2Gi")}
    assert requests.pod_requests(actual)["memory"] == parse("2Gi")


def test_label_keys_are_merged_into_selectors() -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["version", "absent"],
        "mismatchLabelKeys": ["team"],
    }
    pod = changed(POD, "metadata.labels", {"version": "2", "team": "a"})
    pod = changed(
        pod,
        "spec.affinity",
        {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
    )
    selector = build(pod).pods[0].spec.required_near[0].selector
    assert selector is not None
    assert selector.matches({"app": "web", "version": "2", "team": "b"})
    assert not selector.matches({"app": "web", "version": "1"})
    assert not selector.matches({"app": "web", "version": "2", "team": "a"})


def test_replicas_of_a_template_share_their_specification() -> None:
    cluster = build(workload("Deployment", replicas=3))
    assert len(cluster.pods) == 3
    assert len({id(pod.spec) for pod in cluster.pods}) == 1
    controller = cluster.controller_of(cluster.pods[0])
    assert controller is not None
    assert controller.kind == "ReplicaSet"
    assert controller.selector is not None
    assert controller.selector.matches(cluster.pods[0].labels)


def test_only_missing_pods_of_a_workload_are_made() -> None:
    owner = [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": True}]
    existing = changed(POD, "metadata.ownerReferences", owner)
    cluster = build(workload("StatefulSet", replicas=3), existing)
    assert [pod.name for pod in cluster.pods] == ["p", "web-1", "web-2"]


def test_a_replica_set_brings_the_pods_of_its_deployment() -> None:
    replica_set = workload("ReplicaSet", replicas=2)
    replica_set["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
    ]
    replica_set["metadata"]["name"] = "web-abc"
    cluster = build(workload("Deployment", replicas=2), replica_set)
    assert len(cluster.pods) == 2


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ({}, 1),
        ({"parallelism": 4}, 4),
        ({"parallelism": 4, "completions": 2}, 2),
        ({"suspend": True}, 0),
    ],
)
def test_jobs_are_expanded_to_their_parallelism(spec: dict[str, Any], count: int) -> None:
    assert len(build(workload("Job", **spec)).pods) == count


def test_a_daemon_set_gets_a_pod_for_every_node_that_admits_it() -> None:
    tainted = changed(NODE, "metadata.name", "n2")
    tainted = changed(tainted, "spec.taints", [{"key": "k", "effect": "NoSchedule"}])
    cordoned = changed(NODE, "metadata.name", "n3")
    cordoned = changed(cordoned, "spec.unschedulable", True)
    cluster = build(NODE, tainted, cordoned, workload("DaemonSet"))
    assert [pod.name for pod in cluster.pods] == ["web-n1", "web-n3"]
    assert cluster.pods[0].spec.admits_node("n1", {})
    assert not cluster.pods[0].spec.admits_node("n2", {})


REFUSED = [
    (changed(POD, "spec.containers.0.resources.requests.cpu", "-1"),
     "f.yaml#1: spec.containers[0].resources.requests.cpu: '-1': must not be negative"),
    (changed(POD, "spec.containers.0.resources.requests.cpu", "one"), "'one': not a quantity"),
    (changed(POD, "spec.containers.0.resources.requests.cpu", True), "expected a quantity"),
    (changed(POD, "spec.containers.0.resources.requests.cpu", [1]), "expected a quantity"),
    (changed(POD, "spec.containers.0.resources.limits", {"cpu": "500m"}), "its limit 500m"),
    (changed(POD, "spec.containers", []), "at least one container"),
    (changed(POD, "spec.containers", "c"), "expected a list"),
    (changed(POD, "spec.containers.0.name", 3), "expected text"),
    (changed(POD, "metadata.labels", {"a": 1}), "metadata.labels.a: 1: expected text"),
    (changed(POD, "metadata", []), "expected a mapping"),
    (changed(POD, "metadata.creationTimestamp", "yesterday"), "expected a time"),
    (changed(POD, "metadata.creationTimestamp", 5), "expected a time"),
    (changed(POD, "spec.priority", "high"), "expected a whole number"),
    (changed(POD, "spec.hostNetwork", "yes"), "expected true or false"),
    (changed(POD, "spec.tolerations", [{"operator": "Maybe"}]), "expected one of Equal"),
    (changed(POD, "spec.containers.0.ports", [{"hostPort": 70000}]), "must be <= 65535"),
    (changed(POD, "spec.topologySpreadConstraints",
             [{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]),
     "maxSkew: 0: must be >= 1"),
    (changed(POD, "spec.affinity", {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": "In"}]}]}}}), "at least one value"),
    (changed(POD, "spec.affinity", {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "spec.x", "operator": "In", "values": ["a"]}]}]}}}),
     "only metadata.name"),
    (changed(NODE, "status.allocatable.memory", "8GiB"), "not a quantity"),
    (changed(NODE, "spec.taints", [{"key": "k", "effect": "Sometimes"}]), "expected one of"),
    (changed(workload("Deployment"), "spec.replicas", -3), "spec.replicas: -3: must be >= 0"),
    ([1, 2], "expected a Kubernetes object"),
    ({"kind": "Pod"}, "apiVersion: None: expected text"),
    ({"apiVersion": "v1"}, "kind: None: expected text"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_bad_objects_are_refused_in_one_line(value: Any, message: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        build(value)
    assert str(caught.value).startswith("f.yaml#1")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_same_name_twice_is_refused() -> None:
    with pytest.raises(errors.InputError, match=r"f.yaml#2: metadata.name: 'n1': duplicate Node"):
        build(NODE, NODE)
    with pytest.raises(errors.InputError, match="duplicate Pod"):
        build(POD, POD)


def test_node_affinity_the_scheduler_cannot_parse_matches_no_node() -> None:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "Gt", "values": ["a"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pod = build(changed(POD, "spec.affinity", {"nodeAffinity": required})).pods[0]
    assert not pod.spec.admits_node("n1", {"zone": "9"})
