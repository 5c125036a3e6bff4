"""How fast replicas may change: fixed rules without a ``behavior``, policies with one.

``convertDesiredReplicasWithRules``, ``convertDesiredReplicasWithBehaviorRate`` and what they call
(pkg/controller/podautoscaler/horizontal.go, 1.37).
"""

from __future__ import annotations

from typing import NamedTuple

from kubestow.policies.scaling import conversions, memories
from kubestow.policies.scaling import specifications as specs

# Without a behavior: replicas may at most be multiplied, or reach a few, per sync
# (scaleUpLimitFactor, scaleUpLimitMinimum).
UP_FACTOR, UP_MINIMUM = 2.0, 4.0

WITHIN = ("DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_MANY = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_TOO_FEW = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_UP = (
    "ScaleUpLimit",
    "the desired replica count is increasing faster than the maximum scale rate",
)
_DOWN = (
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
)

Reason = tuple[str, str]  # upstream's reason and message


class Limited(NamedTuple):
    """Replicas within the limits, and which limit holds them."""

    replicas: int
    reason: Reason


def by_rules(current: int, wanted: int, least: int, most: int) -> Limited:
    """Limit a change without a ``behavior``: at most double, or 4, per sync."""
    pace = conversions.whole(max(UP_FACTOR * float(current), UP_MINIMUM))
    if wanted < least:
        return Limited(least, _TOO_FEW)
    if most > pace:
        return Limited(pace, _UP) if wanted > pace else Limited(wanted, WITHIN)
    return Limited(most, _TOO_MANY) if wanted > most else Limited(wanted, WITHIN)


def by_behavior(
    spec: specs.AutoscalerSpec,
    behavior: specs.Behavior,
    memory: memories.HpaMemory,
    current: int,
    wanted: int,
    now_ns: int,
) -> Limited:
    """Limit a change by the policies of a ``behavior``."""
    if wanted > current:
        pace = max(current, up_limit(current, behavior.up, memory, now_ns))
        most, reason = (pace, _UP) if spec.max_replicas > pace else (spec.max_replicas, _TOO_MANY)
        if wanted > most:
            return Limited(most, reason)
    elif wanted < current:
        pace = min(current, down_limit(current, behavior.down, memory, now_ns))
        least, reason = (pace, _DOWN) if spec.min_replicas < pace else (spec.min_replicas, _TOO_FEW)
        if wanted < least:
            return Limited(least, reason)
    return Limited(wanted, WITHIN)


def changed_since(events: tuple[memories.Stamped, ...], cutoff_ns: int) -> int:
    """Sum up the changes after a moment."""
    return sum(change for change, time_ns in events if time_ns > cutoff_ns)


def _start(
    current: int, policy: specs.ScalingPolicy, memory: memories.HpaMemory, now_ns: int
) -> int:
    """Return the replicas at the beginning of a policy's period."""
    cutoff_ns = now_ns - policy.period_s * conversions.SECOND_NS
    added = changed_since(memory.up_events, cutoff_ns)
    deleted = changed_since(memory.down_events, cutoff_ns)
    return conversions.wrap32(current - added + deleted)


def up_limit(
    current: int, rules: specs.ScalingRules, memory: memories.HpaMemory, now_ns: int
) -> int:
    """Return how many replicas there may be at most."""
    if rules.select == specs.DISABLED:
        return current
    proposals = []
    for policy in rules.policies:
        start = _start(current, policy, memory, now_ns)
        if policy.kind == specs.PODS_POLICY:
            proposals.append(conversions.wrap32(start + policy.value))
        else:
            # Rounded up, for otherwise few replicas would never grow.
            grown = float(start) * (1 + float(policy.value) / 100)
            proposals.append(conversions.ceiling(grown))
    if rules.select == specs.MIN:
        return min(proposals, default=conversions.MAX_INT32)
    return max(proposals, default=conversions.MIN_INT32)


def down_limit(
    current: int, rules: specs.ScalingRules, memory: memories.HpaMemory, now_ns: int
) -> int:
    """Return how many replicas there may be at least."""
    if rules.select == specs.DISABLED:
        return current
    proposals = []
    for policy in rules.policies:
        start = _start(current, policy, memory, now_ns)
        if policy.kind == specs.PODS_POLICY:
            proposals.append(conversions.wrap32(start - policy.value))
        else:
            shrunk = float(start) * (1 - float(policy.value) / 100)
            proposals.append(conversions.whole(shrunk))
    if rules.select == specs.MIN:
        return max(proposals, default=conversions.MIN_INT32)
    return min(proposals, default=conversions.MAX_INT32)
