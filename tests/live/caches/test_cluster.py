"""The cluster cache: whatever happens in whatever order, its arrays are those of a fresh start."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.live.caches import cluster
from kubestow.model import clusters, states
from kubestow.model.decoding import fields
from kubestow.policies.placing.profiles import versions
from kubestow.sources.manifests import cluster as manifests_cluster
from kubestow.sources.manifests import pods as pod_source

FEATURES = versions.scheduler_features("1.37")
NODE_NAMES = ("n0", "n1", "n2")


def make_node(name: str, cpu: str = "4", **spec: Any) -> dict[str, Any]:
    offer = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    metadata = {"name": name, "uid": f"node-{name}", "labels": {"kubernetes.io/hostname": name}}
    return {"metadata": metadata, "spec": spec, "status": {"allocatable": offer}}


def make_pod(name: str, node: str = "", cpu: str = "100m", **more: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": name, "namespace": "default", "uid": name, **more.pop("metadata", {})}
    spec = {"nodeName": node, "containers": [container]}
    return {"metadata": metadata, "spec": spec, "status": more.pop("status", {})}


def make_cache(*names: str) -> cluster.ClusterCache:
    cache = cluster.ClusterCache(FEATURES)
    cache.replace("Node", [make_node(name) for name in names])
    return cache


def requested_m(cache: cluster.ClusterCache, node: str) -> int:
    state = cache.state
    return int(state.requested[state.rows[node], state.columns["cpu"]])


_CHANGES = st.one_of(
    st.tuples(st.just("node"), st.sampled_from(NODE_NAMES), st.sampled_from(["2", "4"])),
    st.tuples(st.just("cordon"), st.sampled_from(NODE_NAMES), st.booleans()),
    st.tuples(st.just("drop-node"), st.sampled_from(NODE_NAMES), st.none()),
    st.tuples(
        st.just("pod"),
        st.sampled_from(["a", "b", "c", "d"]),
        st.tuples(
            st.sampled_from(["", *NODE_NAMES, "elsewhere"]),
            st.sampled_from(["100m", "250m"]),
            st.sampled_from(["Pending", "Running", "Succeeded"]),
        ),
    ),
    st.tuples(st.just("drop-pod"), st.sampled_from(["a", "b", "c", "d"]), st.none()),
    st.tuples(st.just("look"), st.just(""), st.none()),
)


def _rebuilt(nodes: dict[str, Any], pods: dict[str, Any]) -> states.ClusterState:
    reader = pod_source.PodReader()
    result = [reader.read(fields.Field(document, "pod")) for document in pods.values()]
    cluster = clusters.Cluster(
        nodes=tuple(
            manifests_cluster.read_node(fields.Field(node, "node")) for node in nodes.values()
        ),
        pods=tuple(pod for pod in result if not pod.status.finished),
    )
    return states.from_cluster(cluster)


@given(st.lists(_CHANGES, max_size=25))
def test_changes_one_by_one_lead_where_a_fresh_start_would(changes: list[Any]) -> None:
    cache = cluster.ClusterCache(FEATURES)
    nodes: dict[str, Any] = {}
    pods: dict[str, Any] = {}
    for what, name, how in changes:
        if what == "node":
            nodes[name] = make_node(name, how)
            cache.put("Node", nodes[name])
        elif what == "cordon" and name in nodes:
            nodes[name] = {**nodes[name], "spec": {"unschedulable": how}}
            cache.put("Node", nodes[name])
        elif what == "drop-node" and name in nodes:
            cache.remove("Node", nodes.pop(name))
        elif what == "pod":
            node, cpu, phase = how
            pods[name] = make_pod(name, node, cpu, status={"phase": phase})
            cache.put("Pod", pods[name])
        elif what == "drop-pod" and name in pods:
            cache.remove("Pod", pods.pop(name))
        else:
            assert len(cache.state) == len(nodes)
    expected, result = _rebuilt(nodes, pods), cache.state
    order = [result.rows[name] for name in expected.names]
    assert np.array_equal(result.requested[order], expected.requested)
    assert np.array_equal(result.nonzero[order], expected.nonzero)
    assert np.array_equal(result.allocatable[order], expected.allocatable)
    assert np.array_equal(result.marks.cordoned[order], expected.marks.cordoned)
    counted = sum(group.counts for group in result.groups)
    assert int(np.sum(counted)) == int(expected.requested[:, expected.columns["pods"]].sum())


def test_a_new_list_drops_what_is_not_in_it() -> None:
    cache = make_cache("n0")
    cache.replace("Pod", [make_pod("a", "n0"), make_pod("b", "n0")])
    assert requested_m(cache, "n0") == 200
    cache.replace("Pod", [make_pod("b", "n0")])
    assert requested_m(cache, "n0") == 100


def test_an_object_of_a_known_version_is_not_read_again() -> None:
    cache = make_cache("n0")
    pod = make_pod("a", "n0", metadata={"resourceVersion": "5"})
    cache.put("Pod", pod)
    before = cache.pod("a")
    cache.replace("Pod", [pod])
    assert cache.pod("a") is before


def test_what_cannot_be_read_is_left_out_and_counted() -> None:
    cache = make_cache("n0")
    cache.put("Pod", make_pod("a", "n0"))
    cache.put("Pod", make_pod("a", "n0", cpu="lots"))
    assert cache.unreadable == {"Pod": 1}
    assert requested_m(cache, "n0") == 0


def test_an_assumed_pod_counts_until_the_watch_says_where_it_is() -> None:
    cache = make_cache("n0", "n1")
    cache.put("Pod", make_pod("a"))
    pod = cache.pod("a")
    assert pod is not None
    cache.assume("a", pod, "n0", now_s=10.0)
    assert requested_m(cache, "n0") == 100
    cache.put("Pod", make_pod("a", metadata={"resourceVersion": "2"}))  # still waiting, says a list
    assert requested_m(cache, "n0") == 100
    cache.put("Pod", make_pod("a", "n1", metadata={"resourceVersion": "3"}))
    assert (requested_m(cache, "n0"), requested_m(cache, "n1")) == (0, 100)
    assert cache.forget_assumed(before_s=100.0) == 0


def test_an_assumption_nobody_confirms_is_given_up() -> None:
    cache = make_cache("n0")
    cache.put("Pod", make_pod("a"))
    pod = cache.pod("a")
    assert pod is not None
    cache.assume("a", pod, "n0", now_s=10.0)
    assert cache.forget_assumed(before_s=10.0) == 0
    assert cache.forget_assumed(before_s=10.5) == 1
    assert requested_m(cache, "n0") == 0
    assert cache.pod_count == 1


def test_a_pod_that_runs_somewhere_is_not_assumed_elsewhere() -> None:
    cache = make_cache("n0", "n1")
    cache.put("Pod", make_pod("a", "n1"))
    pod = cache.pod("a")
    assert pod is not None
    cache.assume("a", pod, "n0", now_s=10.0)
    assert (requested_m(cache, "n0"), requested_m(cache, "n1")) == (0, 100)


def test_whoever_listens_hears_of_pods_that_come_and_go() -> None:
    cache = make_cache("n0")
    calls: list[str] = []
    cache.on_placed = lambda uid, pod: calls.append(f"{uid} on {pod.node_name}")
    cache.on_removed = lambda uid: calls.append(f"{uid} gone")
    cache.put("Pod", make_pod("a"))
    cache.put("Pod", make_pod("a", "n0"))
    cache.remove("Pod", make_pod("a", "n0"))
    assert calls == ["a on n0", "a gone"]


def test_services_controllers_and_namespaces_are_looked_up_in_the_state() -> None:
    cache = make_cache("n0")
    selector = {"app": "web"}
    cache.put(
        "Service",
        {
            "metadata": {"name": "s", "namespace": "default", "uid": "s"},
            "spec": {"selector": selector},
        },
    )
    cache.put("Namespace", {"metadata": {"name": "shop", "uid": "ns", "labels": {"tier": "a"}}})
    template = {"metadata": {"labels": selector}, "spec": make_pod("x")["spec"]}
    cache.put(
        "ReplicaSet",
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "rs", "namespace": "default", "uid": "rs"},
            "spec": {"replicas": 1, "selector": {"matchLabels": selector}, "template": template},
        },
    )
    cluster = cache.state.cluster
    assert [service.name for service in cluster.services] == ["s"]
    assert cluster.namespace_labels("shop")["tier"] == "a"
    assert ("apps/v1", "ReplicaSet", "default", "rs") in cluster.controllers
    cache.replace("Service", [])
    assert cache.state.cluster.services == ()


@pytest.mark.parametrize("kind", ["HorizontalPodAutoscaler", "PodDisruptionBudget"])
def test_autoscalers_and_budgets_are_kept_as_they_came(kind: str) -> None:
    cache = make_cache()
    document = {"metadata": {"name": "x", "namespace": "default", "uid": "x"}, "spec": {"a": 1}}
    cache.put(kind, document)
    assert cache.documents(kind) == [document]
    cache.remove(kind, document)
    assert cache.documents(kind) == []
