"""From what is wanted to what is done: stabilisation, policies, bounds, in an autoscaler's memory.

The second half of a sync, the same for the HorizontalPodAutoscaler and for every scaler that obeys
one (pkg/controller/podautoscaler/horizontal.go, 1.37).
"""

from __future__ import annotations

from typing import NamedTuple

from kubestow.policies.scaling import conversions, limits, memories, stabilizations
from kubestow.policies.scaling import specifications as specs


class Paced(NamedTuple):
    """How far a proposal may be followed now.

    Attributes:
        desired: Replicas to set.
        stable: What recent proposals allow, before limits.
        why: Upstream's reason and message for following an earlier proposal.
        limited: Which limit holds.
        entries: Proposals to remember.
    """

    desired: int
    stable: int
    why: tuple[str, str]
    limited: limits.Limited
    entries: tuple[memories.Stamped, ...]


def follow(
    spec: specs.AutoscalerSpec,
    memory: memories.HpaMemory,
    entries: tuple[memories.Stamped, ...],
    replicas: tuple[int, int],
    down_s: float,
    now_ns: int,
) -> Paced:
    """Follow a proposal as far as stabilisation and limits allow.

    Args:
        spec: Bounds and behaviour.
        memory: What was done of late.
        entries: What was proposed of late.
        replicas: What there is, and what is wanted.
        down_s: How long the largest proposal counts where the behaviour does not say.
        now_ns: Now.
    """
    current, wanted = replicas
    behavior = spec.behavior
    if behavior is None:
        down_ns = conversions.nanoseconds(down_s)
        stable, entries = stabilizations.by_rules(entries, wanted, down_ns, now_ns)
        why = stabilizations.DOWN
        limited = limits.by_rules(current, stable, spec.min_replicas, spec.max_replicas)
    else:
        up_ns, down_ns = _windows(behavior, down_s)
        stable, entries = stabilizations.by_behavior(
            entries, current, wanted, up_ns, down_ns, now_ns
        )
        why = stabilizations.UP if wanted >= current else stabilizations.DOWN
        limited = limits.by_behavior(spec, behavior, memory, current, stable, now_ns)
    return Paced(limited.replicas, stable, why, limited, entries)


def _windows(behavior: specs.Behavior, down_s: float) -> tuple[int, int]:
    """Return both stabilisation windows in nanoseconds."""
    told_s = behavior.down.window_s
    down = int(down_s) if told_s is None else told_s
    return (behavior.up.window_s or 0) * conversions.SECOND_NS, down * conversions.SECOND_NS


def events(
    spec: specs.AutoscalerSpec, memory: memories.HpaMemory, change: int, now_ns: int
) -> tuple[tuple[memories.Stamped, ...], tuple[memories.Stamped, ...]]:
    """Return the scale events up and down, with a change that is being made."""
    up, down, behavior = memory.up_events, memory.down_events, spec.behavior
    if behavior is None or not change:
        return up, down
    if change > 0:
        return memories.store_event(up, change, _longest_ns(behavior.up), now_ns), down
    return up, memories.store_event(down, -change, _longest_ns(behavior.down), now_ns)


def _longest_ns(rules: specs.ScalingRules) -> int:
    longest_s = max((policy.period_s for policy in rules.policies), default=0)
    return longest_s * conversions.SECOND_NS
