"""The simulated cluster: nodes, pods, workloads, and what happens to them.

What containers use is computed in ``usage``; the control loops live in ``loops``.
"""

from kubestow.simulation.world.actors import LiveNode, LivePod, LiveWorkload, NodePhase, Phase
from kubestow.simulation.world.building import make_world, override_policy
from kubestow.simulation.world.controllers import Controllers, cover_nodes
from kubestow.simulation.world.disruption import disruptions_allowed, may_evict
from kubestow.simulation.world.lifecycle import (
    LONG_AGO_S,
    bind_pod,
    counted_replicas,
    crash_container,
    create_pod,
    finish_pod,
    stop_pod,
    write_limits,
)
from kubestow.simulation.world.maintenance import Rollout, drain_node, movable_pods
from kubestow.simulation.world.nodes import (
    build_nodes,
    cordon_node,
    fail_node,
    join_node,
    make_node,
    node_template,
    relieve_node,
    retire_node,
    uncordon_node,
)
from kubestow.simulation.world.resizing import Resizer
from kubestow.simulation.world.templates import containers_of, make_spec
from kubestow.simulation.world.world import (
    BOUND,
    CONTROL,
    CREATED,
    GONE,
    KILLED,
    LIFE,
    NODE_CHANGED,
    NODE_READY,
    RESIZED,
    SCALED,
    SCHEDULE,
    SCRAPE,
    STEP,
    STEPPED,
    STOPPING,
    World,
)

__all__ = [
    "BOUND",
    "CONTROL",
    "CREATED",
    "GONE",
    "KILLED",
    "LIFE",
    "LONG_AGO_S",
    "NODE_CHANGED",
    "NODE_READY",
    "RESIZED",
    "SCALED",
    "SCHEDULE",
    "SCRAPE",
    "STEP",
    "STEPPED",
    "STOPPING",
    "Controllers",
    "LiveNode",
    "LivePod",
    "LiveWorkload",
    "NodePhase",
    "Phase",
    "Resizer",
    "Rollout",
    "World",
    "bind_pod",
    "build_nodes",
    "containers_of",
    "cordon_node",
    "counted_replicas",
    "cover_nodes",
    "crash_container",
    "create_pod",
    "disruptions_allowed",
    "drain_node",
    "fail_node",
    "finish_pod",
    "join_node",
    "make_node",
    "make_spec",
    "make_world",
    "may_evict",
    "movable_pods",
    "node_template",
    "override_policy",
    "relieve_node",
    "retire_node",
    "stop_pod",
    "uncordon_node",
    "write_limits",
]
