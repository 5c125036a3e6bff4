"""ClusterState: the whole cluster as a struct of arrays, the input of placing policies.

Rows are nodes, columns are resources. Pods on nodes are kept as counts per *group* (pods of equal
namespace, labels and affinity terms), so that counting the pods on each node that match a selector
checks each group once instead of each pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kubestow.model import resources
from kubestow.model.arrays import Bools, Ints
from kubestow.model.clusters import Cluster
from kubestow.model.nodes import Node, Taint
from kubestow.model.pods import WILDCARD_IP, HostPort, Pod, PodSpec
from kubestow.model.requests import Occupancy, occupancy
from kubestow.model.selectors import IN, LabelSelector
from kubestow.model.volume_tables import VolumeTable, from_storage
from kubestow.model.workloads import Service

Codes = NDArray[np.int32]

_FIRST_COLUMNS = (
    resources.PODS,
    resources.CPU,
    resources.MEMORY,
    resources.EPHEMERAL_STORAGE,
)


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """One label key over all nodes: a code per node (-1 where absent) and the values."""

    codes: Codes
    values: tuple[str, ...]

    @property
    def present(self) -> Bools:
        """Nodes that have the label."""
        return self.codes >= 0

    def totals(self, amounts: Ints) -> Ints:
        """Sum an amount per node over all nodes with the same value."""
        chosen = self.codes >= 0
        sums = np.bincount(
            self.codes[chosen],
            weights=amounts[chosen].astype(np.float64),
            minlength=len(self.values),
        )
        return sums.astype(np.int64)

    def spread_back(self, totals: Ints) -> Ints:
        """Return for every node the total of its value; 0 where the label is absent."""
        if not self.values:
            return np.zeros(len(self.codes), dtype=np.int64)
        return np.where(self.codes >= 0, totals[self.codes], 0)


@dataclass(frozen=True, slots=True)
class NodeMarks:
    """Cordons and taints of nodes; taints are a code per node into distinct sets."""

    cordoned: Bools
    codes: Codes
    taints: tuple[tuple[Taint, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class PodGroup:
    """Pods that are equal to every selector, and their number on each node."""

    namespace: str
    labels: Mapping[str, str]
    terminating: bool
    spec: PodSpec | None  # only set where the pods have affinity terms
    counts: Ints


@dataclass(slots=True, eq=False)
class ClusterState:
    """A cluster in arrays; ``place`` and ``remove`` keep it up to date.

    Attributes:
        nodes: The nodes, in row order.
        columns: Column of every resource.
        allocatable: Allocatable resources, ``[nodes, resources]``.
        requested: Requests of the pods on them, ``[nodes, resources]``.
        nonzero: Requests of CPU and memory, with the scheduler's assumption for containers without
            requests, ``[nodes, 2]``.
        cluster: Source of services, controllers and namespaces.
        use_status: Whether in-place resize counts (from 1.33).
        pod_level: Whether pod-level resources count (from 1.34).
    """

    nodes: tuple[Node, ...]
    columns: dict[str, int]
    allocatable: Ints
    requested: Ints
    nonzero: Ints
    cluster: Cluster
    use_status: bool = True
    pod_level: bool = True
    groups: list[PodGroup] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)  # by node name
    names: tuple[str, ...] = ()  # of the nodes, in row order
    _group_rows: dict[object, int] = field(default_factory=dict)
    _labelled: dict[tuple[str, str, str], list[int]] = field(default_factory=dict)
    _label_columns: dict[str, LabelColumn] = field(default_factory=dict)
    _ports: dict[tuple[str, int], dict[str, Ints]] = field(default_factory=dict)
    _images: dict[str, Ints] | None = None
    _marks: NodeMarks | None = None
    _services: dict[tuple[str, tuple[str, str] | None], list[Service]] | None = None
    _volumes: VolumeTable | None = None

    def __len__(self) -> int:
        return len(self.nodes)

    def label(self, key: str) -> LabelColumn:
        """Return a label key as codes over the nodes."""
        column = self._label_columns.get(key)
        if column is None:
            known: dict[str, int] = {}
            codes = np.full(len(self.nodes), -1, dtype=np.int32)
            for row, node in enumerate(self.nodes):
                value = node.labels.get(key)
                if value is not None:
                    codes[row] = known.setdefault(value, len(known))
            column = self._label_columns[key] = LabelColumn(codes, tuple(known))
        return column

    @property
    def volumes(self) -> VolumeTable:
        """Claims, volumes and the pods that use them."""
        if self._volumes is None:
            self._volumes = from_storage(self.cluster.storage, self.nodes)
        return self._volumes

    @property
    def marks(self) -> NodeMarks:
        """Cordons and taints of all nodes."""
        if self._marks is None:
            known: dict[tuple[Taint, ...], int] = {}
            codes = [known.setdefault(node.taints, len(known)) for node in self.nodes]
            self._marks = NodeMarks(
                np.array([node.unschedulable for node in self.nodes], dtype=np.bool_),
                np.array(codes, dtype=np.int32),
                tuple(known),
            )
        return self._marks

    def replace_node(self, row: int, node: Node) -> None:
        """Replace a node by one that differs only in cordon or taints."""
        self.nodes = (*self.nodes[:row], node, *self.nodes[row + 1 :])
        self._marks = None

    def learn(self, cluster: Cluster) -> None:
        """Take services, controllers and namespaces from another cluster from now on."""
        self.cluster = cluster
        self._services = None

    def with_nodes(self, kept: Ints, cluster: Cluster) -> ClusterState:
        """Return the state after nodes were added and removed; pods on kept nodes stay counted.

        The old state must not be used afterwards.

        Args:
            kept: Rows of the nodes that stay.
            cluster: The cluster of the new state, without pods: first the nodes that stay, in this
                order, then the new ones.
        """
        after = from_cluster(cluster, use_status=self.use_status, pod_level=self.pod_level)
        shared = [name for name in self.columns if name in after.columns]
        old, new = [self.columns[n] for n in shared], [after.columns[n] for n in shared]
        after.requested[: len(kept), new] = self.requested[kept][:, old]
        after.nonzero[: len(kept)] = self.nonzero[kept]

        def moved(counts: Ints) -> Ints:
            return np.concatenate([counts[kept], np.zeros(len(after) - len(kept), dtype=np.int64)])

        rows = {int(old): new for new, old in enumerate(kept)}
        return replace(
            after,
            _volumes=None
            if self._volumes is None
            else self._volumes.moved(rows, after.nodes, cluster.storage),
            groups=[replace(group, counts=moved(group.counts)) for group in self.groups],
            _group_rows=self._group_rows,
            _labelled=self._labelled,
            _ports={
                port: {address: moved(counts) for address, counts in by_address.items()}
                for port, by_address in self._ports.items()
            },
        )

    def services_of(self, pod: Pod) -> list[Service]:
        """Return the services that select a pod."""
        if self._services is None:
            self._services = {}
            for service in self.cluster.services:
                if service.selector is not None:
                    # Indexed by one of its labels; a service that selects all is under None.
                    label = next(iter(service.selector.items()), None)
                    self._services.setdefault((service.namespace, label), []).append(service)
        services = list(self._services.get((pod.namespace, None), ()))
        for label in pod.labels.items():
            services += self._services.get((pod.namespace, label), ())
        return [
            service
            for service in services
            if service.selector is not None and service.selector.items() <= pod.labels.items()
        ]

    def vector(self, amounts: Mapping[str, int]) -> Ints:
        """Return amounts as a row, without resources that no node offers."""
        row = np.zeros(len(self.columns), dtype=np.int64)
        for name, amount in amounts.items():
            if name in self.columns:
                row[self.columns[name]] = amount
        return row

    def place(self, pod: Pod, row: int) -> None:
        """Put a pod on a node."""
        self._change(pod, row, 1)

    def remove(self, pod: Pod, row: int) -> None:
        """Remove a pod from a node."""
        self._change(pod, row, -1)

    def _change(self, pod: Pod, row: int, sign: int) -> None:
        taken = occupancy(pod, use_status=self.use_status, pod_level=self.pod_level)
        self.requested[row] += sign * self.occupied(taken)
        self.nonzero[row, 0] += sign * taken.nonzero_cpu_m
        self.nonzero[row, 1] += sign * taken.nonzero_memory_bytes
        self.note(pod, row, sign)

    def note(self, pod: Pod, row: int, sign: int = 1) -> None:
        """Count a pod in its group and its ports; its requests are in the arrays already."""
        self.group_of(pod).counts[row] += sign
        for port in pod.spec.host_ports:
            self.port_counts(port)[row] += sign
        if pod.volumes:
            self.volumes.use(pod, row, sign)

    def occupied(self, taken: Occupancy) -> Ints:
        """Return the resources a pod occupies as a row, including one of ``pods``."""
        row = self.vector(taken.amounts)
        row[self.columns[resources.PODS]] = 1
        return row

    def group_of(self, pod: Pod) -> PodGroup:
        """Return the group of a pod; creates it if needed."""
        own_terms = pod.spec if pod.spec.has_pod_affinity else None
        key = (
            pod.namespace,
            tuple(sorted(pod.labels.items())),
            pod.terminating,
            None if own_terms is None else id(own_terms),
        )
        index = self._group_rows.get(key)
        if index is None:
            index = self._group_rows[key] = len(self.groups)
            counts = np.zeros(len(self.nodes), dtype=np.int64)
            self.groups.append(
                PodGroup(pod.namespace, pod.labels, pod.terminating, own_terms, counts)
            )
            for name, value in pod.labels.items():
                self._labelled.setdefault((pod.namespace, name, value), []).append(index)
        return self.groups[index]

    def count_matching(self, selector: LabelSelector | None, namespace: str) -> Ints:
        """Count the pods of a namespace on each node that match and are not being deleted."""
        total = np.zeros(len(self.nodes), dtype=np.int64)
        if selector is None:
            return total
        for group in self._candidates(selector, namespace):
            if group.namespace != namespace or group.terminating:
                continue
            if selector.matches(group.labels):
                total += group.counts
        return total

    def _candidates(self, selector: LabelSelector, namespace: str) -> list[PodGroup]:
        """Return the groups a selector may match: few, if it requires a label value."""
        for requirement in selector.requirements:
            if requirement.operator == IN and len(requirement.values) == 1:
                key = (namespace, requirement.key, requirement.values[0])
                return [self.groups[row] for row in self._labelled.get(key, ())]
        return self.groups

    def ports(self) -> list[HostPort]:
        """Return the host ports that pods on the nodes use or used."""
        return [
            HostPort(number, protocol, address)
            for (protocol, number), by_address in self._ports.items()
            for address in by_address
        ]

    def port_counts(self, port: HostPort) -> Ints:
        """Return the number of pods on each node that use a host port."""
        by_address = self._ports.setdefault((port.protocol, port.port), {})
        if port.ip not in by_address:
            by_address[port.ip] = np.zeros(len(self.nodes), dtype=np.int64)
        return by_address[port.ip]

    def port_taken(self, port: HostPort) -> Bools:
        """Return on which nodes a host port conflicts with one in use."""
        taken = np.zeros(len(self.nodes), dtype=np.bool_)
        for address, counts in self._ports.get((port.protocol, port.port), {}).items():
            if port.ip == WILDCARD_IP or address in (port.ip, WILDCARD_IP):
                taken |= counts > 0
        return taken

    def image_bytes(self, name: str) -> Ints:
        """Return the size of an image on the nodes that have it, scaled by how many have it.

        The size is the one the first node reported, and the scale is the share of nodes that
        have the image (``ImageLocality``).
        """
        if self._images is None:
            self._images = _scaled_images(self.nodes)
        absent = np.zeros(len(self.nodes), dtype=np.int64)
        return self._images.get(name, absent)


def _scaled_images(nodes: tuple[Node, ...]) -> dict[str, Ints]:
    sizes: dict[str, int] = {}
    holders: dict[str, set[int]] = {}
    for row, node in enumerate(nodes):
        for image in node.images:
            for name in image.names:
                sizes.setdefault(name, image.size_bytes)
                holders.setdefault(name, set()).add(row)
    scaled = {}
    for name, rows in holders.items():
        column = np.zeros(len(nodes), dtype=np.int64)
        # Upstream divides first and truncates the product, in floating point.
        column[list(rows)] = int(float(sizes[name]) * (float(len(rows)) / float(len(nodes))))
        scaled[name] = column
    return scaled


def from_cluster(
    cluster: Cluster, *, use_status: bool = True, pod_level: bool = True
) -> ClusterState:
    """Convert a cluster to arrays, with its bound pods placed.

    Args:
        cluster: The cluster.
        use_status: Whether the reported status of resized pods counts (from 1.33).
        pod_level: Whether pod-level resources count (from 1.34).
    """
    offered = [node.amounts() for node in cluster.nodes]
    scalars = {name for amounts in offered for name in amounts} - set(_FIRST_COLUMNS)
    columns = {name: index for index, name in enumerate((*_FIRST_COLUMNS, *sorted(scalars)))}
    count = len(cluster.nodes)
    state = ClusterState(
        nodes=cluster.nodes,
        columns=columns,
        allocatable=np.zeros((count, len(columns)), dtype=np.int64),
        requested=np.zeros((count, len(columns)), dtype=np.int64),
        nonzero=np.zeros((count, 2), dtype=np.int64),
        cluster=cluster,
        use_status=use_status,
        pod_level=pod_level,
        rows={node.name: row for row, node in enumerate(cluster.nodes)},
        names=tuple(node.name for node in cluster.nodes),
    )
    for row, amounts in enumerate(offered):
        state.allocatable[row] = state.vector(amounts)
    for pod in cluster.bound:
        if pod.node_name in state.rows:
            state.place(pod, state.rows[pod.node_name])
    return state
