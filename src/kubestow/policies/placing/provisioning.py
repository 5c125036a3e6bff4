"""How many nodes of a pool pending pods need, and whether a node could be drained.

The rules of Cluster Autoscaler: pods are packed, largest first, on copies of a template node with
the scheduler's own filters (its binpacking estimator); a node can be removed if all its movable
pods fit on the remaining nodes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from kubestow.model import clusters, nodes, pods, requests, resources, states, volumes
from kubestow.policies.placing import scheduler


def nodes_needed(
    waiting: Sequence[pods.Pod],
    template: nodes.Node,
    daemons: Sequence[pods.Pod],
    scheduler: scheduler.Scheduler,
    most: int,
    storage: volumes.Storage | None = None,
) -> tuple[int, int]:
    """Return how many copies of a node the pods need, and how many of the pods fit on them.

    Args:
        waiting: Pods that currently fit on no node.
        template: A node of the pool.
        daemons: Pods that DaemonSets would add to every new node.
        scheduler: Its filters decide.
        most: Maximum number of nodes.
        storage: Claims and volumes of the pods.
    """
    made: list[nodes.Node] = []
    state = states.from_cluster(clusters.Cluster(storage=storage or volumes.Storage()))
    taken = 0
    for pod in sorted(waiting, key=lambda pod: -_size(pod, template)):
        row = scheduler.place(pod, state).row
        if row is None and len(made) < most:
            name = f"{template.name}-new-{len(made)}"
            labels = {**template.labels, nodes.HOSTNAME_LABEL: name}
            made.append(dataclasses.replace(template, name=name, labels=labels))
            state = _with_first(state, made)
            for daemon in daemons:
                state.place(daemon, len(made) - 1)
            row = scheduler.place(pod, state).row
            if row is None:  # not even an empty node helps
                made.pop()
                state = _with_first(state, made)
        if row is not None:
            state.place(pod, row)
            taken += 1
    return len(made), taken


def _with_first(state: states.ClusterState, made: list[nodes.Node]) -> states.ClusterState:
    """Return the state with one node appended or removed at the end."""
    kept = np.arange(min(len(state), len(made)), dtype=np.int64)
    after = clusters.Cluster(nodes=tuple(made), storage=state.cluster.storage)
    return state.with_nodes(kept, after)


def unplaceable(
    waiting: Sequence[pods.Pod], state: states.ClusterState, scheduler: scheduler.Scheduler
) -> list[pods.Pod]:
    """Return the pods that fit on no node in a dry run by descending priority.

    Pods that only wait for their next attempt need no new node (``filterOutSchedulable``). The
    state is left unchanged.

    Args:
        waiting: Pods that did not fit when last tried.
        state: The current cluster.
        scheduler: Its filters decide.
    """
    placed: list[tuple[pods.Pod, int]] = []
    left: list[pods.Pod] = []
    # By identity, as pods of one workload share their specification, and by volumes.
    hopeless: set[tuple[object, ...]] = set()
    for pod in sorted(waiting, key=lambda pod: -pod.spec.priority):
        key = (id(pod.spec), pod.volumes)
        row = None if key in hopeless else scheduler.place(pod, state).row
        if row is None:
            hopeless.add(key)
            left.append(pod)
        else:
            state.place(pod, row)
            placed.append((pod, row))
    for pod, row in placed:
        state.remove(pod, row)
    return left


def _size(pod: pods.Pod, node: nodes.Node) -> float:
    """Return the sum of the shares of CPU and memory of a node that a pod requests."""
    requested = resources.amounts(requests.pod_requests(pod))
    offered = node.amounts()
    names = (resources.CPU, resources.MEMORY)
    return sum(requested.get(name, 0) / max(offered.get(name, 0), 1) for name in names)


def can_move(
    moving: Sequence[pods.Pod],
    state: states.ClusterState,
    row: int,
    scheduler: scheduler.Scheduler,
) -> bool:
    """Return whether all movable pods would fit on other nodes; the state is left unchanged.

    Args:
        moving: Pods on the node that would be evicted.
        state: The cluster.
        row: The node that would be removed.
        scheduler: Its filters decide.
    """
    node = state.nodes[row]
    state.replace_node(row, dataclasses.replace(node, unschedulable=True))
    placed: list[tuple[pods.Pod, int]] = []
    for pod in moving:  # they must not block each other or themselves
        state.remove(pod, row)
    try:
        for pod in moving:
            fresh = dataclasses.replace(pod, node_name="")
            target = scheduler.place(fresh, state).row
            if target is None:
                return False
            state.place(fresh, target)
            placed.append((fresh, target))
        return True
    finally:
        for pod, target in placed:
            state.remove(pod, target)
        for pod in moving:
            state.place(pod, row)
        state.replace_node(row, node)
