"""Clusters as packing instances."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubestow.model import clusters, errors, nodes, pods
from kubestow.policies.placing.packing import repacking
from tests.model.make import container, node, pod


def named(name: str, owner: str | None = None, **requests: str) -> pods.Pod:
    made = pod(container(**requests), name=name)
    reference = None if owner is None else pods.OwnerReference("apps/v1", "DaemonSet", owner)
    return replace(made, owner=reference)


NODES: tuple[nodes.Node, ...] = (
    node("a", cpu="4", memory="8Gi"),
    node("b", cpu="4", memory="8Gi"),
    node("c", cpu="16", memory="64Gi"),
)


def test_node_shapes_come_as_often_as_they_are_there() -> None:
    cluster = clusters.Cluster(NODES, (named("p", cpu="1", memory="1Gi"),))
    instance = repacking.instance_from_cluster(cluster, "c")
    assert instance.resources == ("cpu", "memory")
    assert instance.shapes.capacity.tolist() == [[4000, 8 * 2**30], [16000, 64 * 2**30]]
    assert instance.shapes.limits == (2, 1)
    assert instance.demands.tolist() == [[1000, 2**30]]
    assert instance.items == ("default/p",)


def test_daemon_pods_are_taken_from_every_node() -> None:
    # the larger pod of the agent counts, and both daemon sets add up: 4000 - 500 - 100
    cluster = clusters.Cluster(
        NODES[:1],
        (
            named("p", cpu="1"),
            named("d1", "agent", cpu="400m"),
            named("d2", "agent", cpu="500m"),
            named("e1", "proxy", cpu="100m"),
        ),
    )
    instance = repacking.instance_from_cluster(cluster, "c")
    assert instance.shapes.capacity.tolist() == [[3400]]
    assert len(instance.demands) == 1


def test_places_for_pods_count_only_where_they_can_run_out() -> None:
    crowded = clusters.Cluster(
        (node("a", cpu="4", pods="3"),), tuple(named(f"p{i}", cpu="100m") for i in range(8))
    )
    assert repacking.instance_from_cluster(crowded, "c").resources == ("cpu", "pods")
    roomy = clusters.Cluster(
        (node("a", cpu="4", pods="3"),), tuple(named(f"p{i}", cpu="2") for i in range(8))
    )
    assert repacking.instance_from_cluster(roomy, "c").resources == ("cpu",)


def test_a_given_capacity_replaces_the_nodes() -> None:
    cluster = clusters.Cluster((), (named("p", cpu="1", memory="1Gi"),))
    instance = repacking.instance_from_cluster(cluster, "c", {"cpu": 2000, "memory": 2**31})
    assert instance.shapes.limits is None
    assert instance.shapes.capacity.tolist() == [[2000, 2**31]]


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        (clusters.Cluster(NODES), "no pod to pack"),
        (clusters.Cluster((), (named("p", cpu="1"),)), "no Node in the input"),
        (clusters.Cluster(NODES, (named("p", cpu="17"),)), "larger than every node in cpu"),
        (clusters.Cluster(NODES, (pod(container(**{"example.com/gpu": "1"})),)), "example.com/gpu"),
        (
            clusters.Cluster(
                (node("a", cpu="4", memory="1Gi"), node("b", cpu="1", memory="4Gi")),
                (named("p", cpu="2", memory="2Gi"),),
            ),
            "its combination of resources",
        ),
    ],
)
def test_what_cannot_be_packed_is_refused(cluster: clusters.Cluster, message: str) -> None:
    with pytest.raises(errors.InputError, match=message):
        repacking.instance_from_cluster(cluster, "c")
