"""Resources of a new pod, set by the admission controller (``GetContainersResources``, VPA 1.7)."""

from __future__ import annotations

from kubestow.model.limit_ranges import LimitRanges
from kubestow.model.resources import ContainerResources
from kubestow.policies.sizing import container_policies
from kubestow.policies.sizing.vpa import capping
from kubestow.policies.sizing.vpa.actuation.policies import UpdateMode
from kubestow.policies.sizing.vpa.actuation.priorities import Recommended
from kubestow.policies.sizing.vpa.capping import PodContainer


def recommended_resources(
    containers: tuple[PodContainer, ...],
    recommended: Recommended | None,
    policies: container_policies.Policies = (),
    ranges: LimitRanges | None = None,
) -> dict[str, ContainerResources]:
    """Return the requests and limits of a pod's containers by a recommendation.

    Containers without a recommendation are left out. Limits keep their proportion to the requests
    unless only requests are controlled.
    """
    ranges = ranges or LimitRanges()
    capped, _ = capping.cap_for_pod(recommended or (), containers, policies, ranges)
    by_name = {sized.container: sized for sized in reversed(capped)}
    defaults = (ranges.container.default if ranges.container else None) or {}
    sized_resources = {}
    for container in containers:
        sized = by_name.get(container.name)
        if sized is None:
            continue
        policy = container_policies.find(policies, container.name)
        current = container.resources
        limits = {}
        if policy.controlled_values == "RequestsAndLimits":
            limits = capping.proportional_limits(
                current.limits, current.requests, sized.target, defaults
            )
        # Upstream purges an empty resource name, which old objects may carry.
        requests = {name: amount for name, amount in sized.target.items() if name}
        sized_resources[container.name] = ContainerResources(requests, limits)
    return sized_resources


def admit(
    containers: tuple[PodContainer, ...],
    recommended: Recommended | None,
    policies: container_policies.Policies = (),
    ranges: LimitRanges | None = None,
    mode: UpdateMode = "Recreate",
) -> dict[str, ContainerResources]:
    """Return the requests and limits with which a new pod is created, by container.

    Resources without a recommendation stay as in the manifest.

    Args:
        containers: The containers of the manifest.
        recommended: The recommendation in the status of the VPA object.
        policies: The user's policies per container.
        ranges: LimitRanges of the namespace.
        mode: With ``Off`` nothing changes; all other modes set resources on creation.
    """
    changes = (
        {} if mode == "Off" else recommended_resources(containers, recommended, policies, ranges)
    )
    admitted = {}
    for container in containers:
        current = container.resources
        change = changes.get(container.name, ContainerResources())
        admitted[container.name] = ContainerResources(
            {**current.requests, **change.requests}, {**current.limits, **change.limits}
        )
    return admitted
