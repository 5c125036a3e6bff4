"""Clusters as problems of packing their pods anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubestow.model import clusters, errors, nodes, pods
from kubestow.policies.placing import repacking
from tests.model.make import container, node, pod


def named(name: str, owner: str | None = None, on: str = "", **requests: str) -> pods.Pod:
    made = pod(container(**requests), name=name)
    reference = None if owner is None else pods.OwnerReference("apps/v1", "DaemonSet", owner)
    return replace(made, owner=reference, node_name=on)


NODES: tuple[nodes.Node, ...] = (
    node("a", cpu="4", memory="8Gi"),
    node("b", cpu="4", memory="8Gi"),
    node("c", cpu="16", memory="64Gi"),
)


def test_the_instance_has_the_sizes_of_the_nodes() -> None:
    cluster = clusters.Cluster(NODES, (named("p", on="a", cpu="1", memory="1Gi"),))
    problem = repacking.make_repacking(cluster, "c")
    assert not problem.constrained
    instance = problem.instance()
    assert instance.resources == ("cpu", "memory")
    assert instance.shapes.capacity.tolist() == [[4000, 8 * 2**30], [16000, 64 * 2**30]]
    assert instance.shapes.limits == (2, 1)
    assert instance.demands.tolist() == [[1000, 2**30]]
    assert instance.items == ("default/p",)


def test_a_daemon_set_takes_its_largest_pod_from_every_node_that_has_none() -> None:
    # node a: its own daemon pod of 400m; node b: the larger waiting one, 500m; both: proxy 100m
    cluster = clusters.Cluster(
        NODES[:2],
        (
            named("p", cpu="1"),
            named("d1", "agent", on="a", cpu="400m"),
            named("d2", "agent", cpu="500m"),
            named("d3", "agent", cpu="300m"),
            named("e1", "proxy", cpu="100m"),
        ),
    )
    problem = repacking.make_repacking(cluster, "c")
    assert problem.capacity.tolist() == [[3500], [3400]]
    assert len(problem.items) == 1


def test_a_daemon_set_takes_nothing_from_nodes_it_does_not_run_on() -> None:
    tainted = replace(NODES[0], taints=(nodes.Taint("gpu"),))
    cluster = clusters.Cluster(
        (tainted, NODES[1]), (named("p", cpu="1"), named("d", "agent", cpu="1"))
    )
    problem = repacking.make_repacking(cluster, "c")
    assert problem.capacity.tolist() == [[4000], [3000]]
    assert problem.usable.tolist() == [1]  # the pod does not tolerate the taint either


def test_pod_slots_count_only_where_they_can_run_out() -> None:
    crowded = clusters.Cluster(
        (node("a", cpu="4", pods="3"),), tuple(named(f"p{i}", cpu="100m") for i in range(8))
    )
    assert repacking.make_repacking(crowded, "c").resources == ("cpu", "pods")
    roomy = clusters.Cluster(
        (node("a", cpu="4", pods="3"),), tuple(named(f"p{i}", cpu="2") for i in range(8))
    )
    assert repacking.make_repacking(roomy, "c").resources == ("cpu",)


def test_pods_alike_form_a_class_even_with_specifications_of_their_own() -> None:
    cluster = clusters.Cluster(NODES, tuple(named(f"p{i}", cpu="1") for i in range(5)))
    assert repacking.make_repacking(cluster, "c").counts.tolist() == [5]


def test_a_pod_that_no_node_admits_is_left_out_with_the_reason() -> None:
    cluster = clusters.Cluster(
        NODES,
        (
            named("huge", cpu="17"),
            named("fine", cpu="1"),
            pod(container(cpu="1"), name="choosy", node_selector={"disk": "ssd"}),
            pod(container(cpu="1"), name="gated", gates=("example.com/wait",)),
            replace(named("old", cpu="1", on="a"), terminating=True),
        ),
    )
    problem = repacking.make_repacking(cluster, "c")
    assert [item.name for item in problem.items] == ["fine"]
    reasons = {one.pod: one.reason for one in problem.left_out}
    assert reasons["default/huge"] == "0/3 nodes admit it: 3 Insufficient cpu"
    assert "didn't match Pod's node affinity/selector" in reasons["default/choosy"]
    assert reasons["default/gated"] == "has scheduling gates: example.com/wait"
    assert reasons["default/old"] == "is being deleted"


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        (clusters.Cluster(NODES), "no pod to pack"),
        (clusters.Cluster((), (named("p", cpu="1"),)), "no Node in the input"),
        (clusters.Cluster(NODES, (named("p", cpu="17"),)), "3 Insufficient cpu"),
        (clusters.Cluster(NODES, (pod(container(**{"example.com/gpu": "1"})),)), "example.com/gpu"),
    ],
)
def test_nothing_to_pack_is_refused(cluster: clusters.Cluster, message: str) -> None:
    with pytest.raises(errors.InputError, match=message):
        repacking.make_repacking(cluster, "c")


def test_taints_selectors_and_anti_affinity_are_constraints() -> None:
    free = clusters.Cluster(NODES, (named("p", cpu="1"),))
    assert not repacking.make_repacking(free, "c").constrained
    chosen = pod(container(cpu="1"), name="q", node_selector={"disk": "ssd"})
    labelled = (*NODES[:2], node("d", {"disk": "ssd"}, cpu="4"))
    both = clusters.Cluster(labelled, (named("p", cpu="1"), chosen))
    assert repacking.make_repacking(both, "c").constrained
