"""Filters on what a node is: its name, its availability, its taints, its free ports."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kubestow.model import pods, states, taints
from kubestow.policies.placing.cycles import Cycle, Verdict

_CORDONED = taints.Taint(taints.UNSCHEDULABLE, "", taints.NO_SCHEDULE)


def node_name(cycle: Cycle) -> Verdict | None:
    """Let only the node pass that the pod names, if it names one."""
    wanted = cycle.pod.node_name
    if not wanted:
        return None
    passes = np.zeros(len(cycle.state), dtype=np.bool_)
    if wanted in cycle.state.rows:
        passes[cycle.state.rows[wanted]] = True
    return Verdict(passes, lambda _: "node(s) didn't match the requested node name")


def unschedulable(cycle: Cycle) -> Verdict | None:
    """Keep pods off cordoned nodes unless they tolerate the mark of those."""
    if taints.tolerated(_CORDONED, cycle.pod.spec.tolerations):
        return None
    return Verdict(~cycle.state.marks.cordoned, lambda _: "node(s) were unschedulable")


def over_taints(
    state: states.ClusterState, answer: Callable[[tuple[taints.Taint, ...]], int]
) -> states.Ints:
    """Ask a question of every node's taints, once for each different set of them."""
    marks = state.marks
    return np.array([answer(found) for found in marks.taints], dtype=np.int64)[marks.codes]


def untolerated(cycle: Cycle) -> Verdict:
    """Keep pods off nodes with a NoSchedule or NoExecute taint that they do not tolerate."""
    tolerations = cycle.pod.spec.tolerations
    kept_away = over_taints(cycle.state, lambda found: taints.keeps_away(found, tolerations))

    def explain(row: int) -> str:
        if cycle.features.anonymous_taints:
            return "node(s) had untolerated taint(s)"
        taint = next(
            t for t in cycle.state.nodes[row].taints if taints.keeps_away((t,), tolerations)
        )
        return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"

    return Verdict(kept_away == 0, explain)


def wanted_ports(cycle: Cycle) -> tuple[pods.HostPort, ...]:
    """Return the host ports a pod asks for, as far as the release counts them."""
    if cycle.features.sidecar_ports:
        return cycle.pod.spec.host_ports
    return tuple(port for c in cycle.pod.spec.containers for port in c.host_ports)


def free_ports(cycle: Cycle) -> Verdict | None:
    """Keep pods off nodes where a host port of theirs is taken."""
    wanted = wanted_ports(cycle)
    if not wanted:
        return None
    taken = np.zeros(len(cycle.state), dtype=np.bool_)
    for port in wanted:
        taken |= cycle.state.port_taken(port)
    return Verdict(~taken, lambda _: "node(s) didn't have free ports for the requested pod ports")


def disliked(cycle: Cycle) -> states.Ints:
    """Count the PreferNoSchedule taints of each node that a pod does not tolerate."""
    tolerations = tuple(
        t for t in cycle.pod.spec.tolerations if t.effect in ("", taints.PREFER_NO_SCHEDULE)
    )

    def count(found: tuple[taints.Taint, ...]) -> int:
        return sum(
            taint.effect == taints.PREFER_NO_SCHEDULE and not taints.tolerated(taint, tolerations)
            for taint in found
        )

    return over_taints(cycle.state, count)
