"""The node autoscaler, with the rules and defaults of Cluster Autoscaler.

Every ten seconds: if pods fit nowhere, it orders nodes from the pool that is cheapest per pod.
Otherwise, if no node was added recently, it drains and removes nodes with few requests for ten
minutes whose pods fit elsewhere, one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kubestow.model import pods as pod_model
from kubestow.model import resources, workloads
from kubestow.policies.placing import profiles, provisioning, scheduler
from kubestow.simulation import scenarios
from kubestow.simulation.loops.scheduling import SchedulerHost
from kubestow.simulation.world import (
    CONTROL,
    LIFE,
    LiveNode,
    NodePhase,
    World,
    cordon_node,
    drain_node,
    join_node,
    make_node,
    may_evict,
    movable_pods,
    node_template,
    retire_node,
    uncordon_node,
)

_DRAIN_S = 10.0  # time between two checks of a draining node
_GIVE_UP_S = 120.0  # --max-pod-eviction-time: after it, pods that cannot be evicted keep their node


@dataclass(slots=True, eq=False)
class ProvisioningLoop:
    """The node autoscaler."""

    world: World
    host: SchedulerHost
    profile: profiles.Profile
    _scheduler: scheduler.Scheduler = field(init=False)
    _made: dict[str, int] = field(default_factory=dict)
    _last_added_s: float = float("-inf")
    _leaving: LiveNode | None = None

    def start(self) -> None:
        """Scan once per interval."""
        # Cluster Autoscaler simulates the filters of kube-scheduler, without extenders.
        stock = replace(self.profile, extension=None)
        self._scheduler = scheduler.Scheduler(stock, self.world.features)
        self._made = {pool.name: pool.count for pool in self.world.spec.cluster.nodes}
        scan_s = self.world.spec.policies.provisioning.scan
        self.world.clock.every(scan_s, self._scan, first_s=scan_s, priority=CONTROL)

    def _count(self, pool: scenarios.Pool) -> int:
        gone = NodePhase.GONE
        return sum(n.pool.name == pool.name and n.phase is not gone for n in self.world.nodes)

    def _scan(self) -> None:
        waiting = provisioning.unplaceable(
            [pod.pod for pod in self.host.waiting()], self.world.state, self._scheduler
        )
        coming = any(node.phase is NodePhase.ORDERED for node in self.world.nodes)
        if waiting and not coming:
            self._grow(waiting)
        elif not waiting and not coming:
            self._shrink()

    def _grow(self, waiting: list[pod_model.Pod]) -> None:
        best: tuple[float, scenarios.Pool, int] | None = None
        for pool in self.world.spec.cluster.nodes:
            room = (pool.max if pool.max is not None else pool.count) - self._count(pool)
            template = node_template(pool, self._made[pool.name])
            own = [
                pod_model.Pod(w.name, w.pod_spec(), w.spec.namespace)
                for w in self.world.workloads
                if w.spec.kind == scenarios.DAEMON_SET and workloads.runs_on(w.pod_spec(), template)
            ]
            count, taken = provisioning.nodes_needed(
                waiting,
                template,
                own,
                self._scheduler,
                max(room, 0),
                self.world.state.volumes.as_storage(),
            )
            if taken and (best is None or count * pool.cost / taken < best[0]):
                best = (count * pool.cost / taken, pool, count)
        if best is not None:
            self._order(best[1], best[2])

    def _order(self, pool: scenarios.Pool, count: int) -> None:
        world = self.world
        for _ in range(count):
            index = self._made[pool.name]
            self._made[pool.name] += 1
            node = make_node(world, pool, index, phase=NodePhase.ORDERED)
            world.ledger.note(world.now_s, "ordered", "", node.name)
            world.ledger.count("nodes_ordered")
            self._await(node)
        self._last_added_s = world.now_s

    def _await(self, node: LiveNode) -> None:
        self.world.clock.after(node.pool.provision, lambda: join_node(self.world, node), LIFE)

    def _shrink(self) -> None:
        world, rules = self.world, self.world.spec.policies.provisioning
        candidates = [node for node in world.live_nodes() if self._is_idle(node)]
        idle = {node.number for node in candidates}
        for node in world.live_nodes():
            if node.number not in idle:
                node.unneeded_since_s = None
            elif node.unneeded_since_s is None:
                node.unneeded_since_s = world.now_s
        if self._leaving is not None or world.now_s - self._last_added_s < rules.after_add:
            return
        for node in sorted(candidates, key=_has_stayers):  # empty ones first
            since_s = node.unneeded_since_s
            if since_s is None or world.now_s - since_s < rules.unneeded:
                continue
            if self._count(node.pool) > self._least(node.pool) and self._can_go(node):
                self._leaving = node
                cordon_node(world, node)
                self._drain(node, world.now_s + _GIVE_UP_S)
                return

    @staticmethod
    def _least(pool: scenarios.Pool) -> int:
        return pool.min if pool.min is not None else pool.count

    def _is_idle(self, node: LiveNode) -> bool:
        if node.phase is not NodePhase.READY or node.held:
            return False
        state, row = self.world.state, self.world.state.rows[node.name]
        shares = [
            state.requested[row, state.columns[name]] / state.allocatable[row, state.columns[name]]
            for name in (resources.CPU, resources.MEMORY)
        ]
        return bool(max(shares) < self.world.spec.policies.provisioning.utilization)

    def _can_go(self, node: LiveNode) -> bool:
        moving = [pod for pod in node.pods.values() if movable_pods(pod) and pod.stays]
        if not all(may_evict(pod) for pod in moving):
            return False
        row = self.world.state.rows[node.name]
        return provisioning.can_move(
            [pod.pod for pod in moving], self.world.state, row, self._scheduler
        )

    def _drain(self, node: LiveNode, until_s: float) -> None:
        if drain_node(self.world, node):
            retire_node(self.world, node)
            self._leaving = None
        elif self.world.now_s >= until_s and _has_stayers(node):
            node.unneeded_since_s = None
            uncordon_node(self.world, node)
            self._leaving = None
        else:
            self.world.clock.after(_DRAIN_S, lambda: self._drain(node, until_s), CONTROL)


def _has_stayers(node: LiveNode) -> bool:
    """Return whether a node has pods that are not terminating."""
    return any(movable_pods(pod) and pod.stays for pod in node.pods.values())
