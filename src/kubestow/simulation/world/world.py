"""The world of a run: clock, nodes, workloads, and the arrays of usage.

Modules that act (life cycle, controllers, nodes, loops) take the world as their first argument and
subscribe to its events, so they do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kubestow.model import clusters, pods, states
from kubestow.model import nodes as node_model
from kubestow.model.arrays import Floats
from kubestow.policies.placing import profiles
from kubestow.simulation import kernel, scenarios, usage
from kubestow.simulation.world import ledger as world_ledger
from kubestow.simulation.world import storage, templates
from kubestow.simulation.world.actors import LiveNode, LivePod, LiveWorkload, NodePhase

# Priorities at equal times: usage of the past step is computed before anything changes it.
STEP, LIFE, SCRAPE, CONTROL, SCHEDULE = range(5)

CREATED, BOUND, READY, STOPPING, GONE = "created", "bound", "ready", "stopping", "gone"
NODE_READY, NODE_GONE, NODE_CHANGED = "node-ready", "node-gone", "node-changed"
SCALED, KILLED, RESIZED, STEPPED = "scaled", "killed", "resized", "stepped"
Listener = Callable[[Any], None]


@dataclass(slots=True, eq=False)
class World:
    """Everything that exists in a run.

    Attributes:
        spec: The scenario.
        seed: Seed of all random numbers.
        clock: Virtual time.
        features: Features of the Kubernetes release.
        nodes: All nodes that ever existed, by number.
        workloads: All workloads, by number.
        state: The cluster as the scheduler sees it.
        containers: The containers in arrays.
        signals: Values of the signals in this step.
        signal_values: Values of the signals in every step.
        services: Services and the counts of their requests.
        demand: Requests per second of every service in every step.
        histograms: Response times of every service.
        container_signals: Rows of the signals of a container, by workload and container number.
        step: Number of the current step.
        step_start_s: Its start.
    """

    spec: scenarios.ScenarioSpec
    seed: int
    features: profiles.SchedulerFeatures
    signals: usage.RecordArray
    signal_values: Floats
    services: usage.RecordArray
    demand: Floats
    histograms: Floats
    workloads: list[LiveWorkload]
    ledger: world_ledger.Ledger
    clock: kernel.Clock = field(default_factory=kernel.Clock)
    nodes: list[LiveNode] = field(default_factory=list)
    by_name: dict[str, LiveNode] = field(default_factory=dict)
    containers: usage.ContainerTable = field(default_factory=usage.ContainerTable)
    table: usage.ResponseTable = field(default_factory=usage.make_response_table)
    plays: usage.PlayedRequests = field(default_factory=lambda: usage.PlayedRequests(0))
    hosts: usage.RecordArray = field(default_factory=lambda: np.zeros(0, dtype=usage.HOST))
    state: states.ClusterState = field(
        default_factory=lambda: states.from_cluster(clusters.Cluster())
    )
    container_signals: dict[tuple[int, int], dict[str, int]] = field(default_factory=dict)
    pod_of_container: dict[int, LivePod] = field(default_factory=dict)
    step: int = 0
    step_start_s: float = 0.0
    _listeners: dict[str, list[Listener]] = field(default_factory=dict)

    @property
    def now_s(self) -> float:
        """Virtual time."""
        return self.clock.now_s

    def on(self, event: str, listener: Listener) -> None:
        """Subscribe to an event."""
        self._listeners.setdefault(event, []).append(listener)

    def notify(self, event: str, subject: object) -> None:
        """Call the subscribers of an event."""
        for listener in self._listeners.get(event, ()):
            listener(subject)

    def stream(self, *purpose: str | int) -> int:
        """Return the key of the random numbers for a purpose."""
        return kernel.stream_key(self.seed, *purpose)

    def live_nodes(self) -> list[LiveNode]:
        """Return the nodes that have joined and not been removed, including failed ones."""
        gone = (NodePhase.ORDERED, NodePhase.GONE)
        return [node for node in self.nodes if node.phase not in gone]

    def place(self, pod: pods.Pod, node: LiveNode) -> None:
        """Count a pod on its node."""
        self.state.place(pod, self.state.rows[node.name])

    def remove(self, pod: pods.Pod, node: LiveNode) -> None:
        """Stop counting a pod on its node."""
        row = self.state.rows.get(node.name)
        if row is not None:
            self.state.remove(pod, row)

    def refresh_nodes(self) -> None:
        """Take nodes that have come or gone into what the scheduler sees."""
        known = self.state.rows
        listed = self.live_nodes()
        staying = [node for node in listed if node.name in known]
        coming = [node for node in listed if node.name not in known]
        kept = np.array([known[node.name] for node in staying], dtype=np.int64)
        ordered = [*staying, *coming]
        self.state = self.state.with_nodes(kept, self._cluster(tuple(n.node for n in ordered)))
        self.hosts = _grown(self.hosts, self.nodes)

    def change_node(self, live: LiveNode, node: node_model.Node) -> None:
        """Change cordon or taints of a node."""
        live.node = node
        row = self.state.rows.get(node.name)
        if row is not None:
            self.state.replace_node(row, node)

    def _cluster(self, nodes: tuple[node_model.Node, ...]) -> clusters.Cluster:
        services = [templates.service_of(w.spec, w.name) for w in self.workloads]
        owners = [(w, templates.owner_of(w.spec, w.name)) for w in self.workloads]
        return clusters.Cluster(
            nodes=nodes,
            storage=storage.storage_of(self.spec.cluster.storage_classes, self.live_nodes()),
            services=tuple(service for service in services if service is not None),
            controllers={
                (owner.api_version, owner.kind, w.spec.namespace, w.name): templates.controller_of(
                    w.spec, w.name
                )
                for w, owner in owners
            },
        )


def _grown(hosts: usage.RecordArray, nodes: list[LiveNode]) -> usage.RecordArray:
    """Return records for all nodes there ever were."""
    after = np.zeros(len(nodes), dtype=usage.HOST)
    after[: len(hosts)] = hosts
    for live in nodes[len(hosts) :]:
        capacity = {**live.pool.allocatable, **live.pool.capacity}
        host = after[live.number]
        host["cores"] = float(capacity["cpu"])
        host["room"] = float(capacity["memory"])
        host["reserve"] = float(live.pool.eviction_memory)
        host["network"] = _offered(capacity, "kubestow.io/network")
        host["disk"] = _offered(capacity, "kubestow.io/disk-io")
    return after


def _offered(capacity: dict[str, Any], name: str) -> float:
    """Return what a node offers of a link; without a word about it the link is never full."""
    return float(capacity[name]) if name in capacity else float("inf")
