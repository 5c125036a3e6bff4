"""Select and rank the pods to update (``pkg/updater/priority``, VPA 1.7)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kubestow.model import resources
from kubestow.model.quantities import Quantity
from kubestow.policies.sizing import container_policies
from kubestow.policies.sizing.vpa.actuation import policies
from kubestow.policies.sizing.vpa.actuation.pods import UpdaterPod
from kubestow.policies.sizing.vpa.actuation.policies import UpdatePolicy, UpdaterParameters
from kubestow.policies.sizing.vpa.recommendations import VpaRecommendation

Recommended = tuple[VpaRecommendation, ...]

_NONE = Quantity(0)


@dataclass(frozen=True, slots=True)
class Priority:
    """The priority of an update.

    Attributes:
        outside: Whether a request is outside its bounds, or missing.
        grows: Whether a target exceeds the request.
        difference: Sum over resources of the relative change of the pod's requests.
    """

    outside: bool
    grows: bool
    difference: float


def update_priority(pod: UpdaterPod, recommended: Recommended) -> Priority:
    """Return the priority of applying a recommendation to a pod."""
    outside = grows = False
    requested: dict[str, int] = {}
    recommended_milli: dict[str, int] = {}
    by_name = {sized.container: sized for sized in reversed(recommended)}
    for container in pod.containers:
        sized = by_name.get(container.name)
        if sized is None or not pod.has_observed(container.name):
            continue
        for name, target in sized.target.items():
            recommended_milli[name] = recommended_milli.get(name, 0) + target.milli()
            request = container.resources.requests.get(name)
            if request is None:
                outside = grows = True
                continue
            requested[name] = requested.get(name, 0) + request.milli()
            grows = grows or target.milli() > request.milli()
            outside = outside or _outside(request, name, sized)
    return Priority(outside, grows, _difference(requested, recommended_milli))


def _outside(request: Quantity, name: str, sized: VpaRecommendation) -> bool:
    below = name in sized.lower and request < sized.lower[name]
    return below or (name in sized.upper and request > sized.upper[name])


def _difference(requested: dict[str, int], recommended_milli: dict[str, int]) -> float:
    total = 0.0
    for name, amount in recommended_milli.items():
        request = max(float(requested.get(name, 0)), 1.0)
        total += abs(request - float(amount)) / request
    return total


def quick_oom(
    pod: UpdaterPod, policies: container_policies.Policies, threshold_s: float, now_s: float
) -> bool:
    """Return whether a container was OOM-killed soon after its start, and recently."""
    return any(
        ended.reason == "OOMKilled"
        and ended.finished_s - ended.started_s < threshold_s
        and now_s - ended.finished_s < threshold_s
        for name, ended in pod.terminations.items()
        if pod.has_observed(name) and not container_policies.find(policies, name).off
    )


@dataclass(frozen=True, slots=True)
class UpdateRules:
    """Inputs of the decision on an update, besides the pod.

    Attributes:
        policies: The user's policies per container.
        policy: The VPA object's update policy.
        parameters: Flags of the updater.
        now_s: The current time.
    """

    policies: container_policies.Policies
    policy: UpdatePolicy
    parameters: UpdaterParameters
    now_s: float


def needs_update(pod: UpdaterPod, priority: Priority, rules: UpdateRules) -> bool:
    """Return whether a pod is to be updated.

    It is if a request is outside its bounds; if it has run for twelve hours and changes by ten per
    cent; or after a quick OOM kill, provided that something changes.

    Args:
        pod: The pod.
        priority: The priority of the update.
        rules: Policies, flags and time.
    """
    threshold_s = policies.oom_threshold_s(rules.policy, rules.parameters)
    quick = quick_oom(pod, rules.policies, threshold_s, rules.now_s)
    if not priority.outside and not quick:
        if pod.started_s is None or rules.now_s < pod.started_s + rules.parameters.lifetime_s:
            return False
        if priority.difference < rules.parameters.threshold:
            return False
    return not quick or priority.difference != 0


def find_priority(pod: UpdaterPod, recommended: Recommended, rules: UpdateRules) -> Priority | None:
    """Return the priority of a pod that is to be updated; ``None`` if it is not.

    Args:
        pod: The pod.
        recommended: The recommendation for this pod, already capped.
        rules: Policies, flags and time.
    """
    priority = update_priority(pod, recommended)
    return priority if needs_update(pod, priority, rules) else None


def order(ranked_pods: Iterable[tuple[UpdaterPod, Priority]]) -> list[UpdaterPod]:
    """Return pods by priority: growing ones before others, then by difference.

    Upstream does not define the order of ties; here it is that of the input.
    """
    ranked = sorted(ranked_pods, key=lambda pair: (not pair[1].grows, -pair[1].difference))
    return [pod for pod, _ in ranked]


def admitted(pod: UpdaterPod, recommended: Recommended, policy: UpdatePolicy) -> bool:
    """Return whether the eviction requirements allow the update of a pod.

    One container is enough that lacks a CPU or memory request, or fulfils all requirements.
    """
    if policy.requirements is None:
        return True
    by_name = {sized.container: sized for sized in reversed(recommended)}
    return any(
        _fulfils(container.resources.requests, by_name[container.name].target, policy)
        for container in pod.containers
        if container.name in by_name
    )


def _fulfils(
    requests: resources.ResourceList, target: resources.ResourceList, policy: UpdatePolicy
) -> bool:
    if resources.CPU not in requests or resources.MEMORY not in requests:
        return True
    for requirement in policy.requirements or ():
        higher = requirement.change == "TargetHigherThanRequests"
        changes = [
            target.get(name, _NONE).milli() - requests.get(name, _NONE).milli()
            for name in requirement.resources
        ]
        if not any(change > 0 if higher else change < 0 for change in changes):
            return False
    return True


def has_lower(before: Recommended, after: Recommended) -> bool:
    """Return whether a target has fallen, so that a refused resize is worth a retry."""
    old = {sized.container: sized.target for sized in before}
    return any(
        amount < old[sized.container][name]
        for sized in after
        if sized.container in old
        for name, amount in sized.target.items()
        if name in old[sized.container]
    )
