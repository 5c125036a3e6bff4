"""A cluster as a packing instance: how many nodes would all its pods need if repacked?

All pods count, bound and pending, in order of creation. Node shapes are those of the cluster,
each limited to its number of nodes. Pods of a DaemonSet run on every node, so they are subtracted
from the capacity of the nodes instead of being packed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from kubestow.model import arrays, clusters, errors, pods, requests, resources
from kubestow.policies.placing.packing import instances

Amounts = dict[str, int]


def instance_from_cluster(
    cluster: clusters.Cluster, name: str, capacity: Mapping[str, int] | None = None
) -> instances.Instance:
    """Return the instance of repacking all pods of a cluster.

    Args:
        cluster: The cluster.
        name: Name of the instance.
        capacity: Capacity of unlimited nodes to use instead of the cluster's nodes.

    Raises:
        InputError: If there is no pod to pack, no node, or a pod that fits on no node.
    """
    daemons = [pod for pod in cluster.pods if _is_daemon(pod)]
    items = [pod for pod in cluster.pods if not _is_daemon(pod)]
    if not items:
        raise errors.InputError(name, "no pod to pack in the input")
    requested = [_taken(pod) for pod in items]
    if capacity is not None:
        shapes = [dict(capacity)]
        limits: list[int | None] | None = None
    else:
        counted = Counter(tuple(sorted(node.amounts().items())) for node in cluster.nodes)
        if not counted:
            raise errors.InputError(
                name, "no Node in the input; expected one, or the capacity of a node"
            )
        shapes = [dict(amounts) for amounts in counted]
        limits = list(counted.values())
    columns = _columns(requested, shapes)
    overhead = _vector(_daemon_overhead(daemons), columns)
    table = np.array([_vector(shape, columns) for shape in shapes]) - overhead
    demands = np.array([_vector(amounts, columns) for amounts in requested])
    _refuse_oversized(items, demands, table, columns)
    if resources.PODS in columns and not _slots_can_run_out(demands, table, columns):
        # kube-scheduler does not score pod slots; as a resource they would distort balance.
        kept = [j for j, column in enumerate(columns) if column != resources.PODS]
        columns = [columns[j] for j in kept]
        demands, table = demands[:, kept], table[:, kept]
    return instances.make_instance(
        demands,
        np.maximum(table, 0),
        name=name,
        resources=columns,
        limits=limits,
        items=[pod.key for pod in items],
    )


def _is_daemon(pod: pods.Pod) -> bool:
    return pod.owner is not None and pod.owner.kind == "DaemonSet"


def _taken(pod: pods.Pod) -> Amounts:
    taken = requests.occupancy(pod, use_status=True, pod_level=True).amounts
    return {**{name: amount for name, amount in taken.items() if amount}, resources.PODS: 1}


def _daemon_overhead(daemons: Iterable[pods.Pod]) -> Amounts:
    """Return the requests of all DaemonSets on one node, with the largest pod of each."""
    largest: dict[pods.OwnerReference | None, Amounts] = {}
    for pod in daemons:
        taken, known = _taken(pod), largest.get(pod.owner, {})
        largest[pod.owner] = {n: max(taken.get(n, 0), known.get(n, 0)) for n in {*taken, *known}}
    total: Counter[str] = Counter()
    for amounts in largest.values():
        total.update(amounts)
    return dict(total)


def _columns(requested: list[Amounts], shapes: list[Amounts]) -> list[str]:
    """Return the resources to pack: those requested, and pod slots if nodes state them."""
    names = {name for amounts in requested for name in amounts}
    if not any(resources.PODS in shape for shape in shapes):
        names.discard(resources.PODS)
    first = [name for name in (resources.CPU, resources.MEMORY) if name in names]
    return first + sorted(names - set(first))


def _slots_can_run_out(demands: arrays.Floats, table: arrays.Floats, columns: list[str]) -> bool:
    """Return whether some node could run out of pod slots before any other resource."""
    smallest = np.cumsum(np.sort(demands, axis=0), axis=0)  # lower bound per number of items
    slots = columns.index(resources.PODS)
    for shape in table:
        allowed = int(shape[slots])
        # smallest[allowed] is the least that allowed + 1 pods take.
        if allowed < len(demands) and np.delete(smallest[allowed] <= shape, slots).all():
            return True
    return False


def _vector(
    amounts: Mapping[str, int], columns: list[str]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([amounts.get(name, 0) for name in columns], dtype=np.float64)


def _refuse_oversized(
    items: list[pods.Pod],
    demands: arrays.Floats,
    table: arrays.Floats,
    columns: list[str],
) -> None:
    for pod, demand in zip(items, demands, strict=True):
        if not (demand <= table).all(axis=1).any():
            over = [name for j, name in enumerate(columns) if demand[j] > table[:, j].max()]
            what = ", ".join(over) or "its combination of resources"
            raise errors.InputError(f"pod {pod.key}", f"larger than every node in {what}")
