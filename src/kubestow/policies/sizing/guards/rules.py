"""The guards and their order; ``guards`` defines their inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kubestow.model import requests, resources
from kubestow.policies.sizing.guards import guards
from kubestow.policies.sizing.guards.guards import (
    CPU,
    MEMORY,
    GuardContext,
    GuardedPod,
    GuardParameters,
)
from kubestow.policies.sizing.recommendations import Recommendation

Rule = Callable[[GuardedPod, GuardContext, GuardParameters], GuardedPod]
_BOTH: Final = (CPU, MEMORY)


def guard(pod: GuardedPod, facts: GuardContext, parameters: GuardParameters) -> GuardedPod:
    """Apply all guards to the containers of one pod.

    Args:
        pod: The recommendations; containers without one may be left out and count with their
            current requests.
        facts: Facts about the workload.
        parameters: Parameters of the guards.
    """
    if not pod:
        return ()
    named, key = {sized.container for sized in pod}, pod[0].key
    others = (name for name in facts.current if name not in named)
    whole = (*pod, *(Recommendation(key._replace(container=name), {}) for name in others))
    for rule in RULES:
        whole = rule(whole, facts, parameters)
    return whole[: len(pod)]


def keep_heaps(pod: GuardedPod, facts: GuardContext, _: GuardParameters) -> GuardedPod:
    """Give a JVM at least what its flags allow, and do not shrink one without flags."""
    return tuple(_keep_heap(sized, facts) for sized in pod)


def _keep_heap(sized: Recommendation, facts: GuardContext) -> Recommendation:
    heap = facts.heaps.get(sized.container)
    recommended = sized.requests.get(MEMORY)
    if heap is None or recommended is None:
        return sized
    least = heap.least_bytes
    if least is not None:
        note = f"Java heap of {(heap.max_bytes or 0) >> 20} MiB" if recommended < least else ""
        return sized.with_request(MEMORY, max(recommended, least), note) if note else sized
    now = facts.request(sized.container, MEMORY)
    if recommended < now:
        return sized.with_request(
            MEMORY, now, f"Java ({heap.why}): not shrunk without knowing its heap"
        )
    return sized


def skip_small_changes(
    pod: GuardedPod, facts: GuardContext, parameters: GuardParameters
) -> GuardedPod:
    """Keep requests whose change is not worth a new pod."""

    def skip(sized: Recommendation) -> Recommendation:
        for name, recommended in sized.requests.items():
            now = facts.request(sized.container, name)
            if now and recommended != now and abs(recommended - now) < parameters.min_change * now:
                sized = sized.with_request(
                    name, now, f"{name}: change below {100 * parameters.min_change:g} %"
                )
        return sized

    return tuple(skip(sized) for sized in pod)


def keep_autoscaled(pod: GuardedPod, facts: GuardContext, _: GuardParameters) -> GuardedPod:
    """Keep a request that an autoscaler divides by.

    Usage per pod follows the autoscaler's target, so a request fitted to it shrinks every time
    (0.8 of 0.8 of ...). The note gives the target that would be equivalent with the new request.
    """

    def keep(sized: Recommendation) -> Recommendation:
        for name, percent in facts.autoscaled.items():
            recommended, now = sized.requests.get(name), facts.request(sized.container, name)
            if recommended is None or not now or recommended == now:
                continue
            same = percent * now / recommended if recommended else math.inf
            hint = f"; {same:.0f} % of the new one would scale alike" if same <= 100.0 else ""
            sized = sized.with_request(
                name, now, f"{name}: an HPA scales on {percent} % of this request{hint}"
            )
        return sized

    return tuple(keep(sized) for sized in pod)


def raise_to_floors(
    pod: GuardedPod, facts: GuardContext, parameters: GuardParameters
) -> GuardedPod:
    """Raise requests to the floors, unless an autoscaler divides by them."""
    floors = {CPU: parameters.cpu_floor_m, MEMORY: parameters.memory_floor_bytes}

    def lift(sized: Recommendation) -> Recommendation:
        for name, least in floors.items():
            held = _is_held(sized, facts, name)
            if not held and sized.requests.get(name, least) < least:
                sized = sized.with_request(name, least, f"{name}: floor")
        return sized

    return tuple(lift(sized) for sized in pod)


def _is_held(sized: Recommendation, facts: GuardContext, name: str) -> bool:
    """Return whether a request stays because an autoscaler divides by it."""
    return name in facts.autoscaled and bool(facts.request(sized.container, name))


def keep_headroom(pod: GuardedPod, facts: GuardContext, parameters: GuardParameters) -> GuardedPod:
    """Keep memory requests some share above the largest usage."""

    def lift(sized: Recommendation) -> Recommendation:
        peak = facts.peak_bytes.get(sized.container, 0.0)
        least = math.ceil(peak * (1.0 + parameters.memory_headroom))
        held = not parameters.memory_headroom or _is_held(sized, facts, MEMORY)
        if held or sized.requests.get(MEMORY, least) >= least:
            return sized
        share = 100.0 * parameters.memory_headroom
        reason = f"memory: {share:g} % above its peak of {int(peak) >> 20} MiB"
        return sized.with_request(MEMORY, least, reason)

    return tuple(lift(sized) for sized in pod)


def outgrow_kills(pod: GuardedPod, facts: GuardContext, parameters: GuardParameters) -> GuardedPod:
    """Raise memory above what a container was OOM-killed at."""

    def outgrow(sized: Recommendation) -> Recommendation:
        killed = facts.oom_killed_bytes.get(sized.container, 0)
        if not killed or MEMORY not in sized.requests:
            return sized
        least = max(math.ceil(killed * parameters.oom_ratio), killed + parameters.oom_least_bytes)
        if sized.requests[MEMORY] >= least:
            return sized
        return sized.with_request(MEMORY, least, f"memory: was killed at {killed >> 20} MiB")

    return tuple(outgrow(sized) for sized in pod)


def round_up(pod: GuardedPod, facts: GuardContext, parameters: GuardParameters) -> GuardedPod:
    """Round changed requests up to whole steps."""
    steps = {CPU: parameters.cpu_step_m, MEMORY: parameters.memory_step_bytes}

    def lift(sized: Recommendation) -> Recommendation:
        for name, step in steps.items():
            recommended = sized.requests.get(name)
            if recommended is not None and recommended != facts.request(sized.container, name):
                sized = sized.with_request(name, -(-recommended // step) * step)
        return sized

    return tuple(lift(sized) for sized in pod)


def obey_ranges(pod: GuardedPod, facts: GuardContext, parameters: GuardParameters) -> GuardedPod:
    """Stay within the LimitRange for containers, then within the one for pods."""
    item = facts.ranges.container
    if item is not None:
        for name in _BOTH:
            least = _of(item.minimum, name)
            most = _of(item.maximum, name)
            pod = tuple(_clamp(sized, name, least, most, "LimitRange") for sized in pod)
    whole = facts.ranges.pod
    most_of_pod = {name: _of(whole.maximum, name) for name in _BOTH} if whole else {}
    for name, amount in most_of_pod.items():
        if amount:
            pod = _fit(pod, facts, name, amount, "LimitRange of the pod", parameters)
    return pod


def fit_node(pod: GuardedPod, facts: GuardContext, parameters: GuardParameters) -> GuardedPod:
    """Make the whole pod fit the largest node (VPA caps each container alone, autoscaler#4515)."""
    if facts.node is None:
        return pod
    for name in _BOTH:
        if name in facts.node:
            most = int(facts.node[name] * parameters.node_share)
            pod = _fit(pod, facts, name, most, "no node is larger", parameters)
    return pod


def fit_quota(pod: GuardedPod, facts: GuardContext, parameters: GuardParameters) -> GuardedPod:
    """Limit growth to what the namespace's quota allows for all replicas."""
    for name in _BOTH:
        keys = [f"requests.{name}"]
        if name == MEMORY and parameters.memory_limit == "request":
            keys.append(f"limits.{name}")  # the limit grows with the request
        for key in keys:
            if key not in facts.quota:
                continue
            limit = key.startswith("limits.")
            used = sum(
                facts.limit(s.container, name) if limit else facts.request(s.container, name)
                for s in pod
            )
            available = used + max(facts.quota[key], 0) // max(facts.replicas, 1)
            pod = _fit(pod, facts, name, available, f"quota of {key}", parameters)
    return pod


def set_limits(pod: GuardedPod, facts: GuardContext, parameters: GuardParameters) -> GuardedPod:
    """Set limits by the rules, and keep a Guaranteed pod Guaranteed."""
    if facts.quality == requests.QosClass.GUARANTEED:
        return tuple(
            replace(
                sized,
                limits=dict(sized.requests),
                reasons=(*sized.reasons, "limits equal requests: the pod stays Guaranteed"),
            )
            for sized in pod
        )
    rules = {CPU: parameters.cpu_limit, MEMORY: parameters.memory_limit}
    return tuple(_limited(sized, facts, rules) for sized in pod)


def _limited(
    sized: Recommendation, facts: GuardContext, rules: dict[str, guards.LimitRule]
) -> Recommendation:
    limits: dict[str, int] = {}
    reasons = list(sized.reasons)
    for name, recommended in sized.requests.items():
        before, requested = facts.limit(sized.container, name), facts.request(sized.container, name)
        rule = rules.get(name, "keep")
        if rule == "request":
            limits[name] = recommended
        elif rule == "ratio" and before and requested:
            limits[name] = max(-(-recommended * before // requested), recommended)
        elif rule in ("keep", "ratio") and before:
            limits[name] = max(before, recommended)
        item = facts.ranges.container
        most = _of(item.maximum, name) if item else 0
        if most and limits.get(name, most + 1) > most:
            # A LimitRange with a maximum refuses containers without a limit.
            limits[name] = most
            reasons.append(f"{name} limit: LimitRange")
    return replace(sized, limits=limits, reasons=tuple(reasons))


def _clamp(sized: Recommendation, name: str, least: int, most: int, why: str) -> Recommendation:
    recommended = sized.requests.get(name)
    if recommended is None:
        return sized
    held = max(recommended, least)
    held = min(held, most) if most else held
    return sized.with_request(name, held, f"{name}: {why}")


def _fit(
    pod: GuardedPod,
    facts: GuardContext,
    name: str,
    most: int,
    why: str,
    parameters: GuardParameters,
) -> GuardedPod:
    """Make the sum of requests fit: first give up growth, then shrink all in proportion."""
    recommended = [sized.requests.get(name, facts.request(sized.container, name)) for sized in pod]
    if sum(recommended) <= most:
        return pod
    now = [facts.request(sized.container, name) for sized in pod]
    base = [min(old, new) if old else 0 for old, new in zip(now, recommended, strict=True)]
    if sum(base) > most:
        base = [0] * len(pod)
    available, growth = most - sum(base), sum(recommended) - sum(base)
    step = parameters.cpu_step_m if name == CPU else parameters.memory_step_bytes
    fitted = []
    for sized, low, high in zip(pod, base, recommended, strict=True):
        amount = low + (high - low) * available // growth
        rounded = amount // step * step
        fitted.append(
            sized.with_request(name, max(rounded, low), f"{name}: {why}")
            if name in sized.requests
            else sized
        )
    return tuple(fitted)


def _of(stated: resources.ResourceList | None, name: str) -> int:
    """Return an amount of a resource list; 0 if it is missing."""
    if stated is None or name not in stated:
        return 0
    return int(resources.amount(name, stated[name]))


RULES: Final[tuple[Rule, ...]] = (
    keep_heaps,
    skip_small_changes,
    keep_autoscaled,
    raise_to_floors,
    keep_headroom,
    outgrow_kills,
    round_up,
    obey_ranges,
    fit_node,
    fit_quota,
    set_limits,
)
"""All guards, in the order in which they are applied."""
