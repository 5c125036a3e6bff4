"""Rolling maintenance: nodes are cordoned, drained, serviced and uncordoned, one after another.

A drain is that of ``kubectl drain``: every pod except those of DaemonSets is evicted as soon as its
disruption budget allows, with a retry every five seconds; after a timeout budgets are overridden.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from kubestow.simulation import scenarios
from kubestow.simulation.world import disruption, lifecycle, nodes, world
from kubestow.simulation.world.actors import LiveNode, LivePod, NodePhase
from kubestow.simulation.world.world import World

RETRY_S = 5.0


@dataclass(slots=True, eq=False)
class Rollout:
    """One rolling maintenance."""

    world: World
    plan: scenarios.Maintenance
    _left: deque[LiveNode] = field(default_factory=deque)

    def start(self) -> None:
        """Schedule the start."""
        self.world.clock.at(self.plan.start, self._begin, world.CONTROL)

    def _begin(self) -> None:
        pool = self.plan.pool
        self._left.extend(
            node
            for node in self.world.live_nodes()
            if node.phase is NodePhase.READY and pool in (None, node.pool.name)
        )
        for _ in range(self.plan.parallel):
            self._next()

    def _next(self) -> None:
        while self._left:
            node = self._left.popleft()
            if node.phase is NodePhase.READY:
                nodes.cordon_node(self.world, node)
                self._drain(node, self.world.now_s + self.plan.timeout)
                return

    def _drain(self, node: LiveNode, force_s: float) -> None:
        # Nobody can confirm that pods have left a failed node, so the drain does not wait for it.
        dead = node.phase is not NodePhase.READY
        if drain_node(self.world, node, forced=self.world.now_s >= force_s) or dead:
            self.world.clock.after(self.plan.hold, lambda: self._return(node), world.CONTROL)
        else:
            self.world.clock.after(RETRY_S, lambda: self._drain(node, force_s), world.CONTROL)

    def _return(self, node: LiveNode) -> None:
        if node.phase is not NodePhase.GONE:
            nodes.uncordon_node(self.world, node)
        self.world.clock.after(self.plan.pause, self._next, world.CONTROL)


def drain_node(world: World, node: LiveNode, *, forced: bool = False) -> bool:
    """Evict pods from a node within their budgets; return whether only DaemonSet pods are left."""
    moving = [pod for pod in node.pods.values() if movable_pods(pod)]
    for pod in moving:
        if pod.stays and (forced or disruption.may_evict(pod)):
            world.ledger.count("drained")
            lifecycle.stop_pod(world, pod, "drained")
    return not moving


def movable_pods(pod: LivePod) -> bool:
    """Return whether a drain evicts a pod."""
    return pod.workload.spec.kind != scenarios.DAEMON_SET
