"""Not every recommendation is followed at once: the calmest of the recent ones is.

``stabilizeRecommendation`` and ``stabilizeRecommendationWithBehaviors``
(pkg/controller/podautoscaler/horizontal.go, 1.37). Note the edge: without a ``behavior`` an entry
exactly as old as the window still counts, with one it does not.
"""

from __future__ import annotations

from kubestow.policies.scaling import memories

_CALMER = "recent recommendations were {0} than current one, applying the {1} recent recommendation"
DOWN = ("ScaleDownStabilized", _CALMER.format("higher", "highest"))
UP = ("ScaleUpStabilized", _CALMER.format("lower", "lowest"))

Entries = tuple[memories.Stamped, ...]


def by_rules(entries: Entries, wanted: int, window_ns: int, now_ns: int) -> tuple[int, Entries]:
    """Return the largest recent recommendation, and the entries with the new one."""
    cutoff_ns = now_ns - window_ns
    largest, outdated = wanted, None
    for index, (replicas, time_ns) in enumerate(entries):
        if time_ns < cutoff_ns:
            outdated = index
        elif replicas > largest:
            largest = replicas
    return largest, memories.put(entries, outdated, (wanted, now_ns))


def by_behavior(
    entries: Entries, current: int, wanted: int, up_ns: int, down_ns: int, now_ns: int
) -> tuple[int, Entries]:
    """Return the smallest change that recent recommendations allow, and the entries."""
    up_cutoff_ns, down_cutoff_ns = now_ns - up_ns, now_ns - down_ns
    lowest = highest = wanted
    outdated = None
    for index, (replicas, time_ns) in enumerate(entries):
        if time_ns > up_cutoff_ns and replicas < lowest:
            lowest = replicas
        if time_ns > down_cutoff_ns and replicas > highest:
            highest = replicas
        if time_ns < up_cutoff_ns and time_ns < down_cutoff_ns:
            outdated = index
    replicas = min(max(current, lowest), highest)
    return replicas, memories.put(entries, outdated, (wanted, now_ns))
