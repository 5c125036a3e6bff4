"""A cluster as a packing problem: its pods, placed anew onto its own nodes.

Pods count in the order of kube-scheduler's queue, as if all were created anew at once. Pods that
belong to a node (of a DaemonSet, or static pods) stay there. Every filter of kube-scheduler holds;
pods that no node admits even when it is empty are listed with the reason and left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kubestow.model import arrays, clusters, errors, nodes, pods, resources, states, workloads
from kubestow.policies.placing import batch, packing, profiles, scheduler

_TIED_TO_NODES = ("DaemonSet", "Node")  # kinds of owners


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A pod that is not packed, and why."""

    pod: str
    reason: str


class NothingFitsError(errors.InputError):
    """No pod of a cluster fits on any of its nodes.

    Args:
        name: Name of the input.
        left_out: The pods, with reasons.
    """

    def __init__(self, name: str, left_out: tuple[LeftOut, ...]) -> None:
        self.left_out = left_out
        last = left_out[-1]
        super().__init__(name, f"no pod fits on any node; pod {last.pod}: {last.reason}")


@dataclass(frozen=True, slots=True, eq=False)
class Repacking:
    """Pods to place, and the nodes with what is left on them.

    Pods that are alike in requests and constraints form a class.

    Attributes:
        name: Name of the input.
        batch: Pods and nodes as the compiled scheduler has them.
        items: The pods to place, in the order of the queue.
        class_of_item: Class of every item.
        row_of_class: Row of each class in the tables of the batch.
        admitted: Nodes whose static filters admit a class and that hold it when empty,
            ``[classes, nodes]``.
        resources: Names of the packed resources.
        demands: Requests per class and packed resource.
        capacity: What pods tied to nodes leave of each node, by packed resource.
        left_out: Pods that are not packed.
    """

    name: str
    batch: batch.Batch
    items: tuple[pods.Pod, ...]
    class_of_item: arrays.Ints
    row_of_class: arrays.Ints
    admitted: arrays.Bools
    resources: tuple[str, ...]
    demands: arrays.Floats
    capacity: arrays.Floats
    left_out: tuple[LeftOut, ...]

    @property
    def state(self) -> states.ClusterState:
        """The cluster with only the pods that are tied to nodes."""
        return self.batch.state

    @property
    def counts(self) -> arrays.Ints:
        """Number of items per class."""
        return np.bincount(self.class_of_item, minlength=len(self.row_of_class))

    @property
    def usable(self) -> arrays.Ints:
        """Rows of the nodes that admit at least one item."""
        return np.flatnonzero(self.admitted.any(axis=0))

    @property
    def link_of_class(self) -> arrays.Ints:
        """Row of each class in the links of the batch."""
        return self.batch.classes.link[self.row_of_class]

    @property
    def has_volumes(self) -> bool:
        """Whether items have volumes: what one binds changes what the next one may use.

        ``admitted`` has the nodes that reach them before any item is placed.
        """
        return any(pod.volumes for pod in self.items)

    @property
    def constrained(self) -> bool:
        """Whether anything but requests decides where an item may go."""
        links, linked = self.batch.links, np.unique(self.link_of_class)
        firsts = (links.repelled_first, links.near_first, links.hard_first)
        if self.has_volumes or any((first[linked] < first[linked + 1]).any() for first in firsts):
            return True
        fits = (self.demands[:, None, :] <= self.capacity[None, self.usable, :]).all(axis=2)
        return bool((fits != self.admitted[:, self.usable]).any())

    def fresh_state(self) -> states.ClusterState:
        """Return a state of its own with only the pods that are tied to nodes."""
        features = self.batch.features
        return states.from_cluster(
            self.state.cluster, use_status=features.resized_pods, pod_level=features.pod_level
        )

    def scheduler(self) -> scheduler.Scheduler:
        """Return stock kube-scheduler."""
        return scheduler.Scheduler(self.batch.profile, self.batch.features)

    def instance(self) -> packing.Instance:
        """Return the problem without its constraints: requests and the sizes of usable nodes."""
        capacity, limits = np.unique(self.capacity[self.usable], axis=0, return_counts=True)
        return packing.make_instance(
            self.demands[self.class_of_item],
            capacity,
            name=self.name,
            resources=self.resources,
            limits=limits.tolist(),
            items=[pod.key for pod in self.items],
        )


def make_repacking(
    cluster: clusters.Cluster,
    name: str,
    features: profiles.SchedulerFeatures | None = None,
) -> Repacking:
    """Return the problem of packing all pods of a cluster onto its nodes.

    Raises:
        InputError: If there is no node, or no pod that any node admits.
    """
    if not cluster.nodes:
        raise errors.InputError(
            name, "no Node in the input; expected one, or the capacity of a node"
        )
    features = features or profiles.scheduler_features()
    anew, left_out = _emptied(cluster)
    items = anew.pending
    if not items:
        raise errors.InputError(name, "no pod to pack in the input")
    prepared = _prepared(anew, items, features)
    classes = _classify(prepared, items)
    holds: arrays.Bools = np.any(classes.admitted[classes.of_item], axis=1)
    somewhere: list[bool] = holds.tolist()
    if not all(somewhere):
        refuse = scheduler.Scheduler(prepared.profile, features)
        refused = [pod for pod, fits in zip(items, somewhere, strict=True) if not fits]
        left_out += [LeftOut(pod.key, _reason(refuse, pod, prepared.state)) for pod in refused]
        items = [pod for pod, fits in zip(items, somewhere, strict=True) if fits]
        if not items:
            raise NothingFitsError(name, tuple(left_out))
        prepared = _prepared(replace(anew, pods=(*anew.bound, *items)), items, features)
        classes = _classify(prepared, items)
    return _assembled(name, prepared, items, classes, left_out)


def _prepared(
    cluster: clusters.Cluster, items: list[pods.Pod], features: profiles.SchedulerFeatures
) -> batch.Batch:
    state = states.from_cluster(
        cluster, use_status=features.resized_pods, pod_level=features.pod_level
    )
    stock = profiles.make_profile(profiles.PROFILES[0])
    return batch.prepare_batch(items, state, stock, features)


def is_tied(pod: pods.Pod) -> bool:
    """Return whether a pod belongs to its node and is not packed."""
    return pod.owner is not None and pod.owner.kind in _TIED_TO_NODES


def _emptied(cluster: clusters.Cluster) -> tuple[clusters.Cluster, list[LeftOut]]:
    """Return the cluster with unbound pods, except for those tied to nodes."""
    left_out: list[LeftOut] = []
    kept: list[pods.Pod] = list(_tied(cluster))
    for pod in cluster.pods:
        if is_tied(pod):
            continue
        if pod.terminating:
            left_out.append(LeftOut(pod.key, "is being deleted"))
        elif pod.spec.gates:
            left_out.append(LeftOut(pod.key, f"has scheduling gates: {', '.join(pod.spec.gates)}"))
        else:
            kept.append(replace(pod, node_name=""))
    return replace(cluster, pods=tuple(kept)), left_out


def _tied(cluster: clusters.Cluster) -> Iterator[pods.Pod]:
    """Yield the pods that are tied to nodes, each bound to its node.

    An unbound pod of a DaemonSet stands for one on every node that runs it and has none; the
    largest of them counts.
    """
    covered: set[tuple[pods.OwnerReference | None, str]] = set()
    waiting: list[pods.Pod] = []
    for pod in filter(is_tied, cluster.pods):
        if pod.node_name:
            covered.add((pod.owner, pod.node_name))
            yield pod
        else:
            waiting.append(pod)
    waiting.sort(key=_size, reverse=True)
    for pod in waiting:
        for node in cluster.nodes:
            if (pod.owner, node.name) not in covered and workloads.runs_on(pod.spec, node):
                covered.add((pod.owner, node.name))
                yield replace(pod, name=f"{pod.name}-{node.name}", node_name=node.name)


def _size(pod: pods.Pod) -> tuple[int, int]:
    asked = [resources.amounts(container.requests) for container in pod.spec.containers]
    return (
        sum(amounts.get(resources.CPU, 0) for amounts in asked),
        sum(amounts.get(resources.MEMORY, 0) for amounts in asked),
    )


def _admitted(prepared: batch.Batch) -> arrays.Bools:
    """Return which nodes admit each class of a batch while they hold no item."""
    classes, table = prepared.classes, prepared.nodes
    free = (table.offered - table.used[:-2]).T  # [nodes, resources]
    requested = classes.requested[:, None, :]
    fits = ((requested <= free[None, :, :]) | (requested <= 0)).all(axis=2)
    labelled = _labelled(prepared)[classes.link]
    admitted: arrays.Bools = (
        prepared.statics.admitted[classes.static] & labelled & fits & classes.possible[:, None]
    )
    return admitted


def _labelled(prepared: batch.Batch) -> arrays.Bools:
    """Return the nodes with all topology labels that required affinity and hard spread need."""
    links, tallies = prepared.links, prepared.tallies
    labelled = np.ones((len(links.near_first) - 1, len(prepared.state)), dtype=np.bool_)
    for first, needed in ((links.near_first, links.near), (links.hard_first, links.hard)):
        for link in range(len(labelled)):
            for t in needed[first[link] : first[link + 1]]:
                labelled[link] &= tallies.codes[tallies.key[t]] >= 0
    return labelled


def _reason(refuse: scheduler.Scheduler, pod: pods.Pod, state: states.ClusterState) -> str:
    """Return why no node admits a pod, as kube-scheduler counts its reasons."""
    counted = Counter(refuse.place(pod, state).rejected().values())
    reasons = ", ".join(f"{count} {reason}" for reason, count in counted.most_common(4))
    return f"0/{len(state)} nodes admit it: {reasons}"


def _assembled(
    name: str,
    prepared: batch.Batch,
    items: list[pods.Pod],
    classes: _ItemClasses,
    left_out: list[LeftOut],
) -> Repacking:
    requested = prepared.classes.requested[classes.rows]
    columns = _columns(prepared, requested, np.bincount(classes.of_item))
    kept = [prepared.state.columns[column] for column in columns]
    table = prepared.nodes
    return Repacking(
        name=name,
        batch=prepared,
        items=tuple(items),
        class_of_item=classes.of_item,
        row_of_class=classes.rows,
        admitted=classes.admitted,
        resources=columns,
        demands=np.ascontiguousarray(requested[:, kept]),
        capacity=np.ascontiguousarray(np.maximum(table.offered - table.used[:-2], 0.0)[kept].T),
        left_out=tuple(left_out),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _ItemClasses:
    """Classes of items that are alike, their rows in the batch, and the nodes that admit them."""

    of_item: arrays.Ints
    rows: arrays.Ints
    admitted: arrays.Bools


def _classify(prepared: batch.Batch, items: list[pods.Pod]) -> _ItemClasses:
    """Merge classes of the batch that are alike; volumes may tell items of a class apart."""
    table, admitted = prepared.classes, _admitted(prepared)
    known: dict[tuple[object, ...], int] = {}
    rows: list[int] = []
    masks: list[arrays.Bools] = []

    def class_of(row: int, mask: arrays.Bools) -> int:
        amounts = table.requested[row].tobytes(), table.taken[row].tobytes()
        key = (int(table.link[row]), *amounts, mask.tobytes())
        if key not in known:
            known[key] = len(rows)
            rows.append(row)
            masks.append(mask)
        return known[key]

    volumed = {i for i, pod in enumerate(items) if pod.volumes}
    needed = set(np.delete(prepared.class_of_pod, list(volumed)).tolist())
    merged = {row: class_of(row, admitted[row]) for row in sorted(needed)}
    of_item = np.empty(len(items), dtype=np.int64)
    alone = replace(prepared.profile, filters=_without_links(prepared.profile.filters))
    reach = scheduler.Scheduler(alone, prepared.features)
    for item, row in enumerate(prepared.class_of_pod.tolist()):
        if item in volumed:
            mask = np.zeros(len(prepared.state), dtype=np.bool_)
            mask[reach.place(items[item], prepared.state).feasible] = True
            of_item[item] = class_of(row, admitted[row] & mask)
        else:
            of_item[item] = merged[row]
    return _ItemClasses(of_item, np.array(rows, dtype=np.int64), np.array(masks))


def _without_links(filters: tuple[str, ...]) -> tuple[str, ...]:
    """Return the filters that do not depend on where other items go."""
    return tuple(name for name in filters if name not in (profiles.SPREAD, profiles.POD_AFFINITY))


def _columns(
    prepared: batch.Batch, requested: arrays.Floats, counts: arrays.Ints
) -> tuple[str, ...]:
    """Return the resources to pack: those requested, and pod slots where they can run out."""
    state = prepared.state
    asked = [name for name, column in state.columns.items() if requested[:, column].any()]
    asked = [name for name in asked if name != resources.PODS]
    if _slots_can_run_out(prepared, requested, counts, asked):
        asked.append(resources.PODS)
    first = [name for name in (resources.CPU, resources.MEMORY) if name in asked]
    return tuple(first + sorted(set(asked) - set(first)))


def _slots_can_run_out(
    prepared: batch.Batch, requested: arrays.Floats, counts: arrays.Ints, asked: list[str]
) -> bool:
    """Return whether some node could run out of pod slots before any other resource.

    kube-scheduler does not score pod slots; as a resource they would distort balance.
    """
    if not asked:
        return True
    state, table = prepared.state, prepared.nodes
    columns = [state.columns[name] for name in asked]
    slots = state.columns[resources.PODS]
    free = np.unique((table.offered - table.used[:-2])[[*columns, slots]].T, axis=0)
    # smallest[k] is the least that k + 1 pods take of each resource.
    each = np.repeat(requested[:, columns], counts, axis=0)
    smallest = np.cumsum(np.sort(each, axis=0), axis=0)
    for *rest, allowed in free.tolist():
        if 0 <= allowed < len(smallest) and (smallest[int(allowed)] <= np.array(rest)).all():
            return True
    return False


def make_nodes(capacity: resources.ResourceList, count: int) -> tuple[nodes.Node, ...]:
    """Return equal nodes that have no taint and only the usual labels."""
    width = len(str(count))
    names = [f"node-{number:0{width}d}" for number in range(1, count + 1)]
    return tuple(nodes.Node(name, capacity, nodes.usual_labels(name)) for name in names)
