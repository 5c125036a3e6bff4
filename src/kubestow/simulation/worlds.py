"""The world of a run: clock, machines, workloads, and the arrays in which use is computed.

Modules that make things happen (life cycles, controllers, machines, loops) take the world as their
first argument; those that want to know of something subscribe to it here, so that none of them
needs to know the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kubestow.model import clusters, pods, states
from kubestow.model import nodes as node_model
from kubestow.policies.placing import versions
from kubestow.simulation import clocks, draws, ledgers, play_tables, responses, tables, templates
from kubestow.simulation import units as unit_table
from kubestow.simulation.actors import LiveNode, LivePod, LiveWorkload, NodePhase
from kubestow.simulation.scenarios import documents

# Order of what happens at one time: use of the past step is computed before anything changes it.
STEP, LIFE, SCRAPE, CONTROL, SCHEDULE = range(5)

CREATED, BOUND, READY, STOPPING, GONE = "created", "bound", "ready", "stopping", "gone"
NODE_READY, NODE_GONE, NODE_CHANGED = "node-ready", "node-gone", "node-changed"
SCALED, KILLED, RESIZED, STEPPED = "scaled", "killed", "resized", "stepped"
Floats = NDArray[np.float64]
Listener = Callable[[Any], None]


@dataclass(slots=True, eq=False)
class World:
    """Everything that exists in a run.

    Attributes:
        spec: The scenario.
        seed: Decides everything that is random.
        clock: Virtual time.
        features: The release of Kubernetes.
        nodes: All nodes there ever were, by number.
        workloads: All workloads, by number.
        state: What the scheduler sees.
        units: The containers in arrays.
        signals: What containers use by themselves, in this step.
        signal_values: The same for every step.
        services: Services and what became of their requests.
        demand: Requests per second of every service in every step.
        histograms: Response times of every service.
        unit_signals: Rows of the signals of a container, by workload and container number.
        step: Number of the step that is going on.
        step_start_s: When it began.
    """

    spec: documents.Spec
    seed: int
    features: versions.Features
    signals: unit_table.Records
    signal_values: Floats
    services: unit_table.Records
    demand: Floats
    histograms: Floats
    workloads: list[LiveWorkload]
    ledger: ledgers.Ledger
    clock: clocks.Clock = field(default_factory=clocks.Clock)
    nodes: list[LiveNode] = field(default_factory=list)
    by_name: dict[str, LiveNode] = field(default_factory=dict)
    units: unit_table.Units = field(default_factory=unit_table.Units)
    table: responses.Table = field(default_factory=responses.make_table)
    plays: play_tables.Plays = field(default_factory=lambda: play_tables.Plays(0))
    hosts: unit_table.Records = field(default_factory=lambda: np.zeros(0, dtype=tables.HOST))
    state: states.ClusterState = field(
        default_factory=lambda: states.from_cluster(clusters.Cluster())
    )
    unit_signals: dict[tuple[int, int], dict[str, int]] = field(default_factory=dict)
    owner_of_unit: dict[int, LivePod] = field(default_factory=dict)
    step: int = 0
    step_start_s: float = 0.0
    _listeners: dict[str, list[Listener]] = field(default_factory=dict)

    @property
    def now_s(self) -> float:
        """Virtual time."""
        return self.clock.now_s

    def on(self, event: str, listener: Listener) -> None:
        """Be told of an event."""
        self._listeners.setdefault(event, []).append(listener)

    def tell(self, event: str, subject: object) -> None:
        """Tell everyone who wants to know."""
        for listener in self._listeners.get(event, ()):
            listener(subject)

    def stream(self, *purpose: str | int) -> int:
        """Return the key of the random numbers for a purpose."""
        return draws.key(self.seed, *purpose)

    def live_nodes(self) -> list[LiveNode]:
        """Return the nodes that have come and are not gone, failed ones among them."""
        gone = (NodePhase.ORDERED, NodePhase.GONE)
        return [node for node in self.nodes if node.phase not in gone]

    def place(self, pod: pods.Pod, node: LiveNode) -> None:
        """Count a pod on its node."""
        self.state.place(pod, self.state.rows[node.name])

    def remove(self, pod: pods.Pod, node: LiveNode) -> None:
        """Count a pod on its node no more."""
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

    def _cluster(self, found: tuple[node_model.Node, ...]) -> clusters.Cluster:
        services = [templates.service_of(w.spec, w.name) for w in self.workloads]
        owners = [(w, templates.owner_of(w.spec, w.name)) for w in self.workloads]
        return clusters.Cluster(
            nodes=found,
            services=tuple(service for service in services if service is not None),
            controllers={
                (owner.api_version, owner.kind, w.spec.namespace, w.name): templates.controller_of(
                    w.spec, w.name
                )
                for w, owner in owners
            },
        )


def _grown(hosts: unit_table.Records, found: list[LiveNode]) -> unit_table.Records:
    """Return records for all nodes there ever were."""
    after = np.zeros(len(found), dtype=tables.HOST)
    after[: len(hosts)] = hosts
    for live in found[len(hosts) :]:
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
