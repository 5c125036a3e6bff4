"""A cluster as a packing instance: how many nodes would all its pods need, packed anew?

All pods count, bound and pending, in the order in which they were created. Node shapes are those of
the cluster, each at most as often as it is there. Pods of a DaemonSet run on every node whatever
happens, so they are taken from the capacity of the nodes instead of being packed.
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
    """Return the instance of packing all pods of a cluster anew.

    Args:
        cluster: The cluster.
        name: Name of the instance.
        capacity: Capacity of a node, where the cluster's own nodes are not to be used; as many
            as needed.

    Raises:
        InputError: If there is nothing to pack, no node to pack it on, or a pod that fits on none.
    """
    daemons = [pod for pod in cluster.pods if _is_daemon(pod)]
    items = [pod for pod in cluster.pods if not _is_daemon(pod)]
    if not items:
        raise errors.InputError(name, "no pod to pack in the input")
    wanted = [_taken(pod) for pod in items]
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
    columns = _columns(wanted, shapes)
    overhead = _vector(_daemon_overhead(daemons), columns)
    table = np.array([_vector(shape, columns) for shape in shapes]) - overhead
    demands = np.array([_vector(amounts, columns) for amounts in wanted])
    _refuse_oversized(items, demands, table, columns)
    if resources.PODS in columns and not _places_can_run_out(demands, table, columns):
        # kube-scheduler does not score places for pods; as a resource they would distort balance.
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
    """Return what the pods of all DaemonSets take on one node, the largest of each counted."""
    largest: dict[pods.OwnerReference | None, Amounts] = {}
    for pod in daemons:
        taken, known = _taken(pod), largest.get(pod.owner, {})
        largest[pod.owner] = {n: max(taken.get(n, 0), known.get(n, 0)) for n in {*taken, *known}}
    total: Counter[str] = Counter()
    for amounts in largest.values():
        total.update(amounts)
    return dict(total)


def _columns(wanted: list[Amounts], shapes: list[Amounts]) -> list[str]:
    """Return the resources that count: those requested, and places for pods where nodes say so."""
    requested = {name for amounts in wanted for name in amounts}
    if not any(resources.PODS in shape for shape in shapes):
        requested.discard(resources.PODS)
    first = [name for name in (resources.CPU, resources.MEMORY) if name in requested]
    return first + sorted(requested - set(first))


def _places_can_run_out(demands: arrays.Floats, table: arrays.Floats, columns: list[str]) -> bool:
    """Tell whether some node could be full of pods before it is full of anything else."""
    smallest = np.cumsum(np.sort(demands, axis=0), axis=0)  # of so many items at least
    places = columns.index(resources.PODS)
    for shape in table:
        allowed = int(shape[places])
        # smallest[allowed] is the least that one pod more than allowed would take.
        if allowed < len(demands) and np.delete(smallest[allowed] <= shape, places).all():
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
