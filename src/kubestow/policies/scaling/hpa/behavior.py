"""Stabilization and rate limits: fixed rules without a ``behavior``, policies with one.

Ports ``convertDesiredReplicasWithRules``, ``convertDesiredReplicasWithBehaviorRate`` and their
helpers (pkg/controller/podautoscaler/horizontal.go, 1.37).
"""

from __future__ import annotations

from typing import NamedTuple

from kubestow.policies.scaling.hpa import go_arithmetic
from kubestow.policies.scaling.hpa import memory as hpa_memory
from kubestow.policies.scaling.hpa import specification as specs

# Without a behavior, one sync may at most double the replicas, or raise them to 4
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


class LimitedReplicas(NamedTuple):
    """Replicas within the limits, and the limit that applies."""

    replicas: int
    reason: Reason


def limit_by_rules(current: int, recommended: int, least: int, most: int) -> LimitedReplicas:
    """Limit a change without a ``behavior``: at most double, or 4, per sync."""
    rate_limit = go_arithmetic.whole(max(UP_FACTOR * float(current), UP_MINIMUM))
    if recommended < least:
        return LimitedReplicas(least, _TOO_FEW)
    if most > rate_limit:
        return (
            LimitedReplicas(rate_limit, _UP)
            if recommended > rate_limit
            else LimitedReplicas(recommended, WITHIN)
        )
    return (
        LimitedReplicas(most, _TOO_MANY)
        if recommended > most
        else LimitedReplicas(recommended, WITHIN)
    )


def limit_by_behavior(
    spec: specs.AutoscalerSpec,
    behavior: specs.Behavior,
    memory: hpa_memory.HpaMemory,
    current: int,
    recommended: int,
    now_ns: int,
) -> LimitedReplicas:
    """Limit a change by the policies of a ``behavior``."""
    if recommended > current:
        rate_limit = max(current, up_limit(current, behavior.up, memory, now_ns))
        most, reason = (
            (rate_limit, _UP) if spec.max_replicas > rate_limit else (spec.max_replicas, _TOO_MANY)
        )
        if recommended > most:
            return LimitedReplicas(most, reason)
    elif recommended < current:
        rate_limit = min(current, down_limit(current, behavior.down, memory, now_ns))
        least, reason = (
            (rate_limit, _DOWN) if spec.min_replicas < rate_limit else (spec.min_replicas, _TOO_FEW)
        )
        if recommended < least:
            return LimitedReplicas(least, reason)
    return LimitedReplicas(recommended, WITHIN)


def changed_since(events: tuple[hpa_memory.Stamped, ...], cutoff_ns: int) -> int:
    """Sum the changes after a cutoff."""
    return sum(change for change, time_ns in events if time_ns > cutoff_ns)


def _start(
    current: int, policy: specs.HpaScalingPolicy, memory: hpa_memory.HpaMemory, now_ns: int
) -> int:
    """Return the replicas at the beginning of a policy's period."""
    cutoff_ns = now_ns - policy.period_s * go_arithmetic.SECOND_NS
    added = changed_since(memory.up_events, cutoff_ns)
    deleted = changed_since(memory.down_events, cutoff_ns)
    return go_arithmetic.wrap32(current - added + deleted)


def up_limit(
    current: int, rules: specs.ScalingRules, memory: hpa_memory.HpaMemory, now_ns: int
) -> int:
    """Return the most replicas that the policies allow."""
    if rules.select == specs.DISABLED:
        return current
    proposals = []
    for policy in rules.policies:
        start = _start(current, policy, memory, now_ns)
        if policy.kind == specs.PODS_POLICY:
            proposals.append(go_arithmetic.wrap32(start + policy.value))
        else:
            # Rounded up, because otherwise few replicas would never grow.
            grown = float(start) * (1 + float(policy.value) / 100)
            proposals.append(go_arithmetic.ceiling(grown))
    if rules.select == specs.MIN:
        return min(proposals, default=go_arithmetic.MAX_INT32)
    return max(proposals, default=go_arithmetic.MIN_INT32)


def down_limit(
    current: int, rules: specs.ScalingRules, memory: hpa_memory.HpaMemory, now_ns: int
) -> int:
    """Return the fewest replicas that the policies allow."""
    if rules.select == specs.DISABLED:
        return current
    proposals = []
    for policy in rules.policies:
        start = _start(current, policy, memory, now_ns)
        if policy.kind == specs.PODS_POLICY:
            proposals.append(go_arithmetic.wrap32(start - policy.value))
        else:
            shrunk = float(start) * (1 - float(policy.value) / 100)
            proposals.append(go_arithmetic.whole(shrunk))
    if rules.select == specs.MIN:
        return max(proposals, default=go_arithmetic.MIN_INT32)
    return min(proposals, default=go_arithmetic.MAX_INT32)


_CALMER = "recent recommendations were {0} than current one, applying the {1} recent recommendation"
DOWN = ("ScaleDownStabilized", _CALMER.format("higher", "highest"))
UP = ("ScaleUpStabilized", _CALMER.format("lower", "lowest"))

Entries = tuple[hpa_memory.Stamped, ...]


def stabilize_by_rules(
    entries: Entries, recommended: int, window_ns: int, now_ns: int
) -> tuple[int, Entries]:
    """Return the largest recent recommendation, and the entries with the new one."""
    cutoff_ns = now_ns - window_ns
    largest, outdated = recommended, None
    for index, (replicas, time_ns) in enumerate(entries):
        if time_ns < cutoff_ns:
            outdated = index
        elif replicas > largest:
            largest = replicas
    return largest, hpa_memory.put(entries, outdated, (recommended, now_ns))


def stabilize_by_behavior(
    entries: Entries, current: int, recommended: int, up_ns: int, down_ns: int, now_ns: int
) -> tuple[int, Entries]:
    """Return the smallest change that recent recommendations allow, and the entries."""
    up_cutoff_ns, down_cutoff_ns = now_ns - up_ns, now_ns - down_ns
    lowest = highest = recommended
    outdated = None
    for index, (replicas, time_ns) in enumerate(entries):
        if time_ns > up_cutoff_ns and replicas < lowest:
            lowest = replicas
        if time_ns > down_cutoff_ns and replicas > highest:
            highest = replicas
        if time_ns < up_cutoff_ns and time_ns < down_cutoff_ns:
            outdated = index
    replicas = min(max(current, lowest), highest)
    return replicas, hpa_memory.put(entries, outdated, (recommended, now_ns))


class AppliedBehavior(NamedTuple):
    """A proposal after stabilization and limits.

    Attributes:
        desired: Replicas to set.
        stable: Replicas after stabilization, before limits.
        why: Upstream's reason and message for following an earlier proposal.
        limited: Replicas within the limits, and the limit that applies.
        entries: Proposals to remember.
    """

    desired: int
    stable: int
    why: tuple[str, str]
    limited: LimitedReplicas
    entries: tuple[hpa_memory.Stamped, ...]


def apply_behavior(
    spec: specs.AutoscalerSpec,
    memory: hpa_memory.HpaMemory,
    entries: tuple[hpa_memory.Stamped, ...],
    replicas: tuple[int, int],
    down_s: float,
    now_ns: int,
) -> AppliedBehavior:
    """Follow a proposal as far as stabilisation and limits allow.

    Args:
        spec: Bounds and behaviour.
        memory: Recent scale events.
        entries: Recent proposals.
        replicas: Current and proposed replicas.
        down_s: Downscale stabilization in seconds where the behaviour sets no window.
        now_ns: The current time.
    """
    current, recommended = replicas
    behavior = spec.behavior
    if behavior is None:
        down_ns = go_arithmetic.nanoseconds(down_s)
        stable, entries = stabilize_by_rules(entries, recommended, down_ns, now_ns)
        why = DOWN
        limited = limit_by_rules(current, stable, spec.min_replicas, spec.max_replicas)
    else:
        up_ns, down_ns = _windows(behavior, down_s)
        stable, entries = stabilize_by_behavior(
            entries, current, recommended, up_ns, down_ns, now_ns
        )
        why = UP if recommended >= current else DOWN
        limited = limit_by_behavior(spec, behavior, memory, current, stable, now_ns)
    return AppliedBehavior(limited.replicas, stable, why, limited, entries)


def _windows(behavior: specs.Behavior, down_s: float) -> tuple[int, int]:
    """Return both stabilisation windows in nanoseconds."""
    window_s = behavior.down.window_s
    down = int(down_s) if window_s is None else window_s
    return (behavior.up.window_s or 0) * go_arithmetic.SECOND_NS, down * go_arithmetic.SECOND_NS


def scale_events(
    spec: specs.AutoscalerSpec, memory: hpa_memory.HpaMemory, change: int, now_ns: int
) -> tuple[tuple[hpa_memory.Stamped, ...], tuple[hpa_memory.Stamped, ...]]:
    """Return the scale events up and down, including a change being made."""
    up, down, behavior = memory.up_events, memory.down_events, spec.behavior
    if behavior is None or not change:
        return up, down
    if change > 0:
        return hpa_memory.store_event(up, change, _longest_ns(behavior.up), now_ns), down
    return up, hpa_memory.store_event(down, -change, _longest_ns(behavior.down), now_ns)


def _longest_ns(rules: specs.ScalingRules) -> int:
    longest_s = max((policy.period_s for policy in rules.policies), default=0)
    return longest_s * go_arithmetic.SECOND_NS
