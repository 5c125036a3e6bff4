"""The context of the guards for a simulated workload, and sizes as quantities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from kubestow.model import pods, quantities, requests, resources
from kubestow.model.resources import ContainerResources
from kubestow.policies.sizing import guards
from kubestow.simulation import scenarios
from kubestow.simulation.loops import scaling
from kubestow.simulation.world import LiveWorkload, World, make_spec

Current = Mapping[str, ContainerResources]


def find(
    world: World, workload: LiveWorkload, current: Current, oom_killed_bytes: Mapping[str, int]
) -> guards.GuardContext:
    """Return the context of a workload.

    Args:
        world: The world.
        workload: The workload.
        current: Requests and limits of its containers.
        oom_killed_bytes: Limits at which they were OOM-killed.
    """
    return guards.GuardContext(
        current=current,
        replicas=workload.replicas,
        oom_killed_bytes=oom_killed_bytes,
        node=largest_node(world, workload),
        autoscaled=autoscaled(workload),
        quality=requests.qos_class(make_spec(workload.spec, workload.name)),
    )


def guard_parameters(stated_guards: scenarios.SizingGuards) -> guards.GuardParameters:
    """Return the parameters of the guards: those of the scenario, and their defaults."""
    return guards.GuardParameters(
        min_change=stated_guards.min_change,
        memory_limit=cast("guards.LimitRule", stated_guards.memory_limit),
        cpu_limit=cast("guards.LimitRule", stated_guards.cpu_limit),
        node_share=stated_guards.node_share,
    )


def stated(workload: LiveWorkload) -> dict[str, ContainerResources]:
    """Return requests and limits of a workload's containers in the scenario."""
    made = make_spec(workload.spec, workload.name)
    return {c.name: ContainerResources(c.requests, c.limits) for c in made.containers}


def autoscaled(workload: LiveWorkload) -> dict[str, int]:
    """Return the targets of an autoscaler on the same resources, in percent."""
    if not scaling.is_scaled(workload):
        return {}
    counted = (resources.CPU, resources.MEMORY)
    targets = workload.scaling.target or {resources.CPU: 0.8}  # default of the API server
    return {name: round(100.0 * share) for name, share in targets.items() if name in counted}


def largest_node(world: World, workload: LiveWorkload) -> dict[str, int]:
    """Return what the largest node offers to a pod besides its DaemonSet pods."""
    taken = {resources.CPU: 0, resources.MEMORY: 0}
    for other in world.workloads:
        if other.spec.kind == scenarios.DAEMON_SET and other is not workload:
            amounts = resources.amounts(requests.pod_requests(pods.Pod("", other.pod_spec())))
            for name in taken:
                taken[name] += amounts.get(name, 0)
    pools = world.spec.cluster.nodes
    return {
        name: max(resources.amount(name, pool.allocatable[name]) for pool in pools) - amount
        for name, amount in taken.items()
    }


def amount_of(resource: str, estimated: float) -> int:
    """Return an estimate in cores or bytes in whole millicores or bytes, rounded up."""
    scaled = estimated * 1000.0 if resource == resources.CPU else estimated
    # A millionth is a rounding error, not usage.
    return max(math.ceil(scaled - 1e-6), 0)


def merge(
    before: resources.ResourceList, amounts: Mapping[str, int]
) -> dict[str, quantities.Quantity]:
    """Return a resource list with some new amounts."""
    return {**before, **{name: quantity(name, amount) for name, amount in amounts.items()}}


def quantity(resource: str, amount: int) -> quantities.Quantity:
    """Return whole millicores or bytes as a quantity."""
    if resource == resources.CPU:
        return quantities.millis(amount)
    return quantities.units(amount, quantities.Format.BINARY_SI)
