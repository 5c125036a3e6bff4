"""Computes the requests and limits of a new pod from learned values; pure functions.

The guards of ``policies.sizing`` do the work, so that admission and simulation agree. This module
adds what the guards cannot know, since a rejected pod is worse than an unchanged one. After a
webhook changed a pod, the API server applies LimitRange defaults again and then enforces their
bounds and the quotas (``plugin/pkg/admission/limitranger``, 1.37): a removed limit may come back
smaller than the request, or be required. ``tests/e2e/test_admission.py`` shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from kubestow.live.admission.policy import AdmissionPolicy
from kubestow.live.stores import StoredRecommendation
from kubestow.model import pods, quantities, requests, resources
from kubestow.model.keys import ContainerKey
from kubestow.model.limit_ranges import LimitRangeItem, LimitRanges, PodBounds
from kubestow.model.resources import ContainerResources
from kubestow.policies.sizing import guards
from kubestow.policies.sizing.guards import GuardContext, GuardParameters
from kubestow.policies.sizing.recommendations import Recommendation

_BOTH: Final = (resources.CPU, resources.MEMORY)
_RULES: Final[Mapping[str, guards.LimitRule]] = {
    "none": "none",
    "request": "request",
    "keep": "keep",
    "scale": "ratio",
    "untouched": "none",  # handled here
    "factor": "none",
}
# LimitRanges record what they set: "cpu, memory limit for container web; ...".
_RANGER: Final = "kubernetes.io/limit-ranger"


@dataclass(frozen=True, slots=True)
class ContainerChange:
    """A change of one amount of one container.

    Attributes:
        index: Index of the container in the pod.
        container: Its name.
        section: ``requests`` or ``limits``.
        resource: The resource.
        old: Old amount; ``None`` if it was not set.
        new: New amount; ``None`` if it is removed.
    """

    index: int
    container: str
    section: str
    resource: str
    old: quantities.Quantity | None
    new: quantities.Quantity | None


@dataclass(frozen=True, slots=True)
class Mutation:
    """All changes of a pod.

    Attributes:
        changes: All changes, in the order of containers.
        notes: Why amounts differ from the learned ones, by container.
        quality: QoS classes before and after.
    """

    changes: tuple[ContainerChange, ...]
    notes: Mapping[str, tuple[str, ...]]
    quality: tuple[requests.QosClass, requests.QosClass]


def mutate(
    pod: pods.Pod,
    learned: Mapping[str, StoredRecommendation],
    policy: AdmissionPolicy,
    bounds: PodBounds,
    node: Mapping[str, int] | None = None,
) -> Mutation:
    """Compute the changes of a pod.

    Args:
        pod: The pod; init containers and containers without learned values stay unchanged.
        learned: Recommendations by container.
        policy: Rules for limits, and bounds of requests.
        bounds: Bounds of the namespace.
        node: Allocatable amounts of the largest node; ``None`` if not known.
    """
    before = requests.qos_class(pod.spec)
    known = tuple(each for each in pod.spec.containers if each.name in learned)
    key = ContainerKey(pod.namespace, "Pod", pod.name, "")
    recommended = tuple(_recommend(key, each, learned[each.name], policy) for each in known)
    guaranteed = policy.keep_guaranteed and before is requests.QosClass.GUARANTEED
    facts = _facts(pod, bounds, node, guaranteed=guaranteed)
    guarded = guards.guard(recommended, facts, _parameters(policy)) if recommended else ()
    if not guaranteed:
        guarded = tuple(
            _limited(each, sized, pod, policy, bounds)
            for each, sized in zip(known, guarded, strict=True)
        )
        guarded = _cap_pod_limits(guarded, facts)
    sizes = {sized.container: sized for sized in guarded}
    changed = tuple(_sized(each, sizes, learned, policy) for each in pod.spec.containers)
    spec = replace(pod.spec, containers=changed)
    return Mutation(
        changes=_differences(pod.spec.containers, changed),
        notes={sized.container: sized.reasons for sized in guarded if sized.reasons},
        quality=(before, requests.qos_class(spec)),
    )


def _recommend(
    pod: ContainerKey,
    container: pods.Container,
    learned: StoredRecommendation,
    policy: AdmissionPolicy,
) -> Recommendation:
    """Return the learned requests, within the policy's bounds."""
    key = pod._replace(container=container.name)
    sized = Recommendation(key, resources.amounts(learned.requests))
    for name, (_, most) in policy.bounds().items():
        if most is not None and sized.requests.get(name, 0) > most:
            sized = sized.with_request(name, most, f"{name}: at most {_write(name, most)}")
    return _below_untouched(container, sized, policy)


def _below_untouched(
    container: pods.Container, sized: Recommendation, policy: AdmissionPolicy
) -> Recommendation:
    """Cap requests at limits that the policy leaves untouched."""
    for name in _BOTH:
        limit = _amount(container.limits, name)
        untouched = policy.limit_rule(name) == "untouched" and name in container.limits
        if untouched and limit < sized.requests.get(name, 0):
            sized = sized.with_request(name, limit, f"{name}: its limit is not touched")
    return sized


def _facts(
    pod: pods.Pod, bounds: PodBounds, node: Mapping[str, int] | None, *, guaranteed: bool
) -> GuardContext:
    current = {
        each.name: ContainerResources(each.requests, each.limits) for each in pod.spec.containers
    }
    taken = {
        f"{section}.{name}": sum(
            _amount(getattr(each, section), name) for each in pod.spec.containers
        )
        for section in ("requests", "limits")
        for name in _BOTH
    }
    return GuardContext(
        current=current,
        node=node,
        ranges=_ranges(pod, bounds.ranges),
        # The guard assumes that the quota already counts the pod, which it does not yet.
        quota={key: room - taken[key] for key, room in bounds.quota.items()},
        quality=requests.QosClass.GUARANTEED if guaranteed else requests.QosClass.BURSTABLE,
    )


def _ranges(pod: pods.Pod, ranges: LimitRanges) -> LimitRanges:
    """Return the LimitRanges; pod-level requests also bound the sum of its containers."""
    pod_level = pod.spec.pod_requests or {}
    if not pod_level:
        return ranges
    whole = ranges.pod or LimitRangeItem("Pod")
    most = dict(whole.maximum or {})
    for name, amount in pod_level.items():
        most[name] = min(amount, most.get(name, amount))
    return replace(ranges, pod=replace(whole, maximum=most))


def _parameters(policy: AdmissionPolicy) -> GuardParameters:
    return GuardParameters(
        cpu_floor_m=policy.cpu_least_m,
        memory_floor_bytes=policy.memory_least_bytes,
        min_change=policy.min_change,
        memory_limit=_RULES[policy.memory_limit],
        cpu_limit=_RULES[policy.cpu_limit],
        memory_step_bytes=1,  # learned amounts are not rounded
    )


def _limited(
    container: pods.Container,
    sized: Recommendation,
    pod: pods.Pod,
    policy: AdmissionPolicy,
    bounds: PodBounds,
) -> Recommendation:
    """Return the recommendation with limits according to policy and namespace."""
    sized = _below_untouched(
        container, sized, policy
    )  # minimums may have raised requests above limits
    limits, reasons = dict(sized.limits), list(sized.reasons)
    for name, request in sized.requests.items():
        rule, old = policy.limit_rule(name), _amount(container.limits, name)
        if rule == "factor":
            limits[name] = math.ceil(request * policy.limit_factor(name))
        elif rule == "untouched":
            limits.pop(name, None)
            if old:
                limits[name] = old
            continue
        if name not in limits:
            why, least = _needs_limit(name, container, pod, bounds)
            if why:
                limits[name] = max(request, least)
                reasons.append(f"{name} limit: {why}")
        if name in limits:
            limits[name] = _capped(name, limits[name], request, bounds)
    return replace(sized, limits=limits, reasons=tuple(reasons))


def _needs_limit(
    name: str, container: pods.Container, pod: pods.Pod, bounds: PodBounds
) -> tuple[str, int]:
    """Return why a container needs a limit, and the minimum limit."""
    old = _amount(container.limits, name)
    item, whole = bounds.ranges.container, bounds.ranges.pod
    if item is not None and item.default and name in item.default:
        return "LimitRange has a default", max(old, resources.amount(name, item.default[name]))
    if old and _was_defaulted(name, container.name, pod):
        return "LimitRange has a default", old
    if f"limits.{name}" in bounds.quota:
        return "the quota asks for one", old
    if whole is not None and whole.maximum and name in whole.maximum:
        return "LimitRange of the pod", old
    if name in bounds.ratios:
        return "LimitRange has a ratio", old
    return "", 0


def _was_defaulted(name: str, container: str, pod: pods.Pod) -> bool:
    """Return whether a LimitRange set a limit, according to the pod's annotation."""
    for part in pod.annotations.get(_RANGER, "").partition(": ")[2].split("; "):
        names, separator, owner = part.partition(" limit for container ")
        if separator and owner == container and name in names.split(", "):
            return True
    return False


def _capped(name: str, limit: int, request: int, bounds: PodBounds) -> int:
    """Return a limit within the namespace's bounds; never below the request."""
    item = bounds.ranges.container
    if item is not None and item.maximum and name in item.maximum:
        limit = min(limit, resources.amount(name, item.maximum[name]))
    if name in bounds.ratios:
        limit = min(limit, math.floor(request * bounds.ratios[name]))
    return max(limit, request)


def _cap_pod_limits(sizes: guards.GuardedPod, facts: GuardContext) -> guards.GuardedPod:
    """Set limits to requests where the sum of limits would exceed the pod's maximum."""
    whole = facts.ranges.pod
    for name in _BOTH:
        if whole is None or not whole.maximum or name not in whole.maximum:
            continue
        resized = {sized.container for sized in sizes}
        others = sum(facts.limit(each, name) for each in facts.current if each not in resized)
        total = others + sum(sized.limits.get(name, 0) for sized in sizes)
        if total > resources.amount(name, whole.maximum[name]):
            sizes = tuple(_tight(sized, name) for sized in sizes)
    return sizes


def _tight(sized: Recommendation, name: str) -> Recommendation:
    if name not in sized.requests or name not in sized.limits:
        return sized
    limits = {**sized.limits, name: sized.requests[name]}
    return replace(sized, limits=limits, reasons=(*sized.reasons, f"{name} limit: the pod's bound"))


def _sized(
    container: pods.Container,
    sizes: Mapping[str, Recommendation],
    learned: Mapping[str, StoredRecommendation],
    policy: AdmissionPolicy,
) -> pods.Container:
    """Return a container with its new amounts; unchanged ones keep their notation."""
    sized = sizes.get(container.name)
    if sized is None:
        return container
    requests, limits = dict(container.requests), dict(container.limits)
    for name, amount in sized.requests.items():
        value = learned[container.name].requests.get(name)
        stated = (container.requests.get(name), container.limits.get(name), value)
        known = tuple(each for each in stated if each is not None)
        requests[name] = _quantity(name, amount, known)
        if name in sized.limits:
            limits[name] = _quantity(name, sized.limits[name], known)
        elif policy.limit_rule(name) != "untouched":
            limits.pop(name, None)
    return replace(container, requests=requests, limits=limits)


def _quantity(
    name: str, amount: int, known: tuple[quantities.Quantity, ...]
) -> quantities.Quantity:
    """Return an amount in the notation of ``known``, the last of which is the learned one."""
    for each in known:
        if resources.amount(name, each) == amount:
            return each
    if name == resources.CPU:
        return quantities.millis(amount)
    return quantities.units(amount, known[-1].format)


def _differences(
    before: tuple[pods.Container, ...], after: tuple[pods.Container, ...]
) -> tuple[ContainerChange, ...]:
    changes = []
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        for section in ("requests", "limits"):
            was, becomes = getattr(old, section), getattr(new, section)
            changes += [
                ContainerChange(index, old.name, section, name, was.get(name), becomes.get(name))
                for name in _BOTH
                if was.get(name) != becomes.get(name)
            ]
    return tuple(changes)


def _amount(stated: resources.ResourceList, name: str) -> int:
    return resources.amount(name, stated[name]) if name in stated else 0


def _write(name: str, amount: int) -> str:
    return str(quantities.millis(amount) if name == resources.CPU else quantities.units(amount))
