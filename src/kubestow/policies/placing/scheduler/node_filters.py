"""Filters on node name, cordon, taints, host ports and free resources."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kubestow.model import arrays, nodes, pods, requests, resources, states
from kubestow.policies.placing import profiles
from kubestow.policies.placing.scheduler.cycle import Cycle, FilterVerdict

_CORDONED = nodes.Taint(nodes.UNSCHEDULABLE, "", nodes.NO_SCHEDULE)


def node_name(cycle: Cycle) -> FilterVerdict | None:
    """Let only the node pass that ``spec.nodeName`` names, if it is set."""
    name = cycle.pod.node_name
    if not name:
        return None
    passes = np.zeros(len(cycle.state), dtype=np.bool_)
    if name in cycle.state.rows:
        passes[cycle.state.rows[name]] = True
    return FilterVerdict(passes, lambda _: "node(s) didn't match the requested node name")


def unschedulable(cycle: Cycle) -> FilterVerdict | None:
    """Filter out cordoned nodes unless the pod tolerates the unschedulable taint."""
    if nodes.tolerated(_CORDONED, cycle.pod.spec.tolerations):
        return None
    return FilterVerdict(~cycle.state.marks.cordoned, lambda _: "node(s) were unschedulable")


def over_taints(
    state: states.ClusterState, function: Callable[[tuple[nodes.Taint, ...]], int]
) -> arrays.Ints:
    """Evaluate a function of every node's taints, once for each distinct set of taints."""
    marks = state.marks
    return np.array([function(taints) for taints in marks.taints], dtype=np.int64)[marks.codes]


def untolerated(cycle: Cycle) -> FilterVerdict:
    """Filter out nodes with a NoSchedule or NoExecute taint that the pod does not tolerate."""
    tolerations = cycle.pod.spec.tolerations
    kept_away = over_taints(
        cycle.state, lambda taints: nodes.has_untolerated_taint(taints, tolerations)
    )

    def explain(row: int) -> str:
        if cycle.features.anonymous_taints:
            return "node(s) had untolerated taint(s)"
        taint = next(
            t
            for t in cycle.state.nodes[row].taints
            if nodes.has_untolerated_taint((t,), tolerations)
        )
        return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"

    return FilterVerdict(kept_away == 0, explain)


def host_ports(cycle: Cycle) -> tuple[pods.HostPort, ...]:
    """Return the host ports of a pod that this release of the scheduler considers."""
    if cycle.features.sidecar_ports:
        return cycle.pod.spec.host_ports
    return tuple(port for c in cycle.pod.spec.containers for port in c.host_ports)


def free_ports(cycle: Cycle) -> FilterVerdict | None:
    """Filter out nodes where a host port of the pod is in use."""
    ports = host_ports(cycle)
    if not ports:
        return None
    taken = np.zeros(len(cycle.state), dtype=np.bool_)
    for port in ports:
        taken |= cycle.state.port_taken(port)
    return FilterVerdict(
        ~taken, lambda _: "node(s) didn't have free ports for the requested pod ports"
    )


def prefer_no_schedule_count(cycle: Cycle) -> arrays.Ints:
    """Count the PreferNoSchedule taints of each node that a pod does not tolerate."""
    tolerations = tuple(
        t for t in cycle.pod.spec.tolerations if t.effect in ("", nodes.PREFER_NO_SCHEDULE)
    )

    def count(taints: tuple[nodes.Taint, ...]) -> int:
        return sum(
            taint.effect == nodes.PREFER_NO_SCHEDULE and not nodes.tolerated(taint, tolerations)
            for taint in taints
        )

    return over_taints(cycle.state, count)


def filter_requests(cycle: Cycle) -> dict[str, int]:
    """Return the amounts that the filter counts for a pod, from its specification."""
    rules = requests.RequestRules(pod_level=cycle.features.pod_level)
    return resources.amounts(requests.pod_requests(cycle.pod, rules))


def is_ignored(name: str, args: profiles.FitArgs) -> bool:
    """Return whether the configuration makes the filter ignore an extended resource."""
    if not resources.is_extended(name):
        return False
    return name in args.ignored_resources or name.partition("/")[0] in args.ignored_groups


def fits(cycle: Cycle) -> FilterVerdict:
    """Filter by free resources and free pod slots."""
    state, args = cycle.state, cycle.profile.fit
    free = state.allocatable - state.requested
    lacking: list[tuple[str, arrays.Bools]] = [
        ("Too many pods", free[:, state.columns[resources.PODS]] < 1)
    ]
    requested = filter_requests(cycle)
    ordinary = (resources.CPU, resources.MEMORY, resources.EPHEMERAL_STORAGE)
    for name in (*ordinary, *sorted(set(requested) - set(ordinary))):
        amount = requested.get(name, 0)
        if amount <= 0 or is_ignored(name, args):
            continue
        column = state.columns.get(name)
        nowhere = np.ones(len(state), dtype=np.bool_)
        short = nowhere if column is None else amount > free[:, column]
        lacking.append((f"Insufficient {name}", short))
    passes = ~np.logical_or.reduce([short for _, short in lacking])

    def explain(row: int) -> str:
        return ", ".join(reason for reason, short in lacking if short[row])

    return FilterVerdict(passes, explain)
