"""Nodes: creation, failure, recovery, cordoning, ordering and removal.

Times are the defaults of Kubernetes: a silent node is noticed after 50 s
(``node-monitor-grace-period``, 1.32 and later) and tainted; pods are evicted when their toleration
of the taint ends, after 300 s by default. A node under memory pressure accepts no new pods for five
minutes (``eviction-pressure-transition-period``).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from dataclasses import dataclass

from kubestow.model import nodes
from kubestow.simulation import scenarios as spec
from kubestow.simulation.world import lifecycle, templates
from kubestow.simulation.world import world as world_world
from kubestow.simulation.world.actors import LiveNode, LivePod, NodePhase
from kubestow.simulation.world.world import World


@dataclass(frozen=True, slots=True)
class PodUse:
    """A running pod: usage and request of the scarce resource, and priority."""

    name: str
    used: int
    requested: int
    priority: int = 0

    @property
    def excess(self) -> int:
        """Usage above the request; negative below it."""
        return self.used - self.requested


def eviction_order(running: Iterable[PodUse]) -> list[PodUse]:
    """Return pods in the kubelet's order of eviction; ties keep their order."""
    return sorted(running, key=lambda pod: (pod.excess <= 0, pod.priority, -pod.excess))


def evict(running: Iterable[PodUse], to_free: int) -> list[PodUse]:
    """Return the pods to evict until ``to_free`` of the resource is free."""
    evicted = []
    for pod in eviction_order(running):
        if to_free <= 0:
            break
        evicted.append(pod)
        to_free -= pod.used
    return evicted


NOTICED_S = 50.0
PRESSURE_S = 300.0
_PRESSED = nodes.Taint("node.kubernetes.io/memory-pressure")
_DEAD = (
    nodes.Taint(nodes.UNREACHABLE),
    nodes.Taint(nodes.UNREACHABLE, effect=nodes.NO_EXECUTE),
)


def build_nodes(world: World) -> None:
    """Create the initial nodes."""
    for pool in world.spec.cluster.nodes:
        for index in range(pool.count):
            make_node(world, pool, index, name=pool.names()[index], phase=NodePhase.READY)
    world.refresh_nodes()


def make_node(
    world: World, pool: spec.Pool, index: int, *, name: str | None = None, phase: NodePhase
) -> LiveNode:
    """Create a node of a pool; the caller refreshes the state of the scheduler."""
    node = node_template(pool, index, name)
    live = LiveNode(len(world.nodes), node, pool, phase, created_s=world.now_s)
    world.nodes.append(live)
    world.by_name[node.name] = live
    world.ledger.count_node(world.now_s, pool.name, 1)
    return live


def node_template(pool: spec.Pool, index: int, name: str | None = None) -> nodes.Node:
    """Return a node of a pool."""
    name = name or f"{pool.name}-{index}"
    labels = {nodes.HOSTNAME_LABEL: name, "kubestow.io/pool": pool.name, **pool.labels}
    if pool.zones:
        labels[nodes.ZONE_LABEL] = pool.zones[index % len(pool.zones)]
    return nodes.Node(
        name=name,
        allocatable=pool.allocatable,
        labels=labels,
        taints=tuple(nodes.Taint(t.key, t.value, t.effect) for t in pool.taints),
    )


def join_node(world: World, live: LiveNode) -> None:
    """Let an ordered node join the cluster."""
    live.phase = NodePhase.READY
    world.refresh_nodes()
    world.ledger.note(world.now_s, "joined", "", live.name)
    world.notify(world_world.NODE_READY, live)


def retire_node(world: World, live: LiveNode) -> None:
    """Remove a node with its DaemonSet pods."""
    for pod in list(live.pods.values()):
        lifecycle.discard(world, pod)
    live.phase = NodePhase.GONE
    world.ledger.count_node(world.now_s, live.pool.name, -1)
    world.ledger.note(world.now_s, "retired", "", live.name)
    world.refresh_nodes()
    world.notify(world_world.NODE_GONE, live)


def cordon_node(world: World, live: LiveNode) -> None:
    """Mark a node as unschedulable."""
    live.held = True
    world.change_node(live, dataclasses.replace(live.node, unschedulable=True))
    world.ledger.note(world.now_s, "cordoned", "", live.name)


def uncordon_node(world: World, live: LiveNode) -> None:
    """Mark a node as schedulable."""
    live.held = False
    world.change_node(live, dataclasses.replace(live.node, unschedulable=False))
    world.ledger.note(world.now_s, "uncordoned", "", live.name)
    world.notify(world_world.NODE_CHANGED, live)


def fail_node(world: World, live: LiveNode, duration_s: float | None) -> None:
    """Fail a node; it recovers after a while, or never."""
    if live.phase is not NodePhase.READY:
        return
    live.phase, live.failed_s = NodePhase.FAILED, world.now_s
    world.ledger.note(world.now_s, "failed", "", live.name)
    for pod in list(live.pods.values()):
        lifecycle.lose(world, pod)
    notice = functools.partial(_notice, world, live, world.now_s)
    world.clock.after(NOTICED_S, notice, world_world.LIFE)
    if duration_s is not None:
        world.clock.after(duration_s, lambda: _recover(world, live), world_world.LIFE)


def _is_down(live: LiveNode, failed_s: float) -> bool:
    """Return whether a node has been down since then."""
    return live.phase is NodePhase.FAILED and live.failed_s == failed_s


def _notice(world: World, live: LiveNode, failed_s: float) -> None:
    if not _is_down(live, failed_s):
        return
    world.change_node(live, dataclasses.replace(live.node, taints=(*live.node.taints, *_DEAD)))
    for pod in list(live.pods.values()):
        lifecycle.forget_lost(world, pod)
        stay_s = templates.stay_s(pod.workload.spec, nodes.UNREACHABLE)
        if stay_s is not None:
            leave = functools.partial(_leave_dead, world, live, pod, failed_s)
            world.clock.after(stay_s, leave, world_world.LIFE)


def _leave_dead(world: World, live: LiveNode, pod: LivePod, failed_s: float) -> None:
    if _is_down(live, failed_s) and live.pods.get(pod.key) is pod and pod.stays:
        world.ledger.count("evictions")
        lifecycle.stop_pod(world, pod, "taint-evicted")


def _recover(world: World, live: LiveNode) -> None:
    if live.phase is not NodePhase.FAILED:  # removed meanwhile
        return
    live.phase = NodePhase.READY
    kept = tuple(taint for taint in live.node.taints if taint not in _DEAD)
    world.change_node(live, dataclasses.replace(live.node, taints=kept))
    world.ledger.note(world.now_s, "recovered", "", live.name)
    for pod in list(live.pods.values()):
        lifecycle.recover(world, pod)
    world.notify(world_world.NODE_READY, live)


def relieve_node(world: World) -> None:
    """Evict pods from nodes under memory pressure, in the order of the kubelet."""
    hosts = world.hosts
    short = hosts["memory"] > hosts["room"] - hosts["reserve"]
    for number in short.nonzero()[0].tolist():
        live = world.nodes[number]
        if live.phase is NodePhase.READY:
            host = hosts[number]
            _relieve(world, live, int(host["memory"] - host["room"] + host["reserve"]) + 1)


def _relieve(world: World, live: LiveNode, to_free: int) -> None:
    memory = world.containers.rows["memory"]
    uses = [
        PodUse(
            key,
            used=int(sum(memory[row] for row in pod.container_rows)),
            requested=pod.requests[1],
            priority=pod.pod.spec.priority,
        )
        for key, pod in live.pods.items()
    ]
    for use in evict(uses, to_free):
        lifecycle.evict(world, live.pods[use.name])
    _press(world, live)


def _press(world: World, live: LiveNode) -> None:
    """Taint a node for memory pressure for a while."""
    if live.pressed_until_s <= world.now_s:
        marked = (*live.node.taints, _PRESSED)
        world.change_node(live, dataclasses.replace(live.node, taints=marked))
    live.pressed_until_s = world.now_s + PRESSURE_S
    world.clock.at(live.pressed_until_s, lambda: _release(world, live), world_world.LIFE)


def _release(world: World, live: LiveNode) -> None:
    if live.pressed_until_s > world.now_s:
        return
    kept = tuple(taint for taint in live.node.taints if taint != _PRESSED)
    world.change_node(live, dataclasses.replace(live.node, taints=kept))
    world.notify(world_world.NODE_CHANGED, live)
