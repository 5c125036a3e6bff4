"""The autoscaler's memory between two syncs: recommendations and scale events.

Upstream keeps them in slices whose outdated entries are overwritten in place; the order of entries
decides which one is replaced, so it is kept here, too (``horizontal.go``, 1.37).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Stamped = tuple[int, int]  # replicas (recommended, or changed), time in nanoseconds


def _stamps(value: Any) -> tuple[Stamped, ...]:
    return tuple((int(replicas), int(time_ns)) for replicas, time_ns in value)


@dataclass(frozen=True, slots=True)
class HpaMemory:
    """The memory of one autoscaler.

    Attributes:
        recommendations: Proposals of the metrics, before stabilisation; ``None`` before the first
            sync, which starts the list with the current replicas.
        up_events: Changes and times of scaling up; kept only with a ``behavior``.
        down_events: The same for scaling down.
        scaled_to_zero: Whether the condition ``ScaledToZero`` of its status is true.
    """

    recommendations: tuple[Stamped, ...] | None = None
    up_events: tuple[Stamped, ...] = ()
    down_events: tuple[Stamped, ...] = ()
    scaled_to_zero: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return {
            "recommendations": None
            if self.recommendations is None
            else [list(entry) for entry in self.recommendations],
            "upEvents": [list(entry) for entry in self.up_events],
            "downEvents": [list(entry) for entry in self.down_events],
            "scaledToZero": self.scaled_to_zero,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> HpaMemory:
        """Return the memory that ``as_json`` wrote."""
        recommendations = value["recommendations"]
        return cls(
            recommendations=None if recommendations is None else _stamps(recommendations),
            up_events=_stamps(value["upEvents"]),
            down_events=_stamps(value["downEvents"]),
            scaled_to_zero=bool(value["scaledToZero"]),
        )


def put(entries: tuple[Stamped, ...], outdated: int | None, new: Stamped) -> tuple[Stamped, ...]:
    """Replace an outdated entry with a new one, or append it."""
    if outdated is None:
        return (*entries, new)
    return (*entries[:outdated], new, *entries[outdated + 1 :])


def store_event(
    events: tuple[Stamped, ...], change: int, longest_period_ns: int, now_ns: int
) -> tuple[Stamped, ...]:
    """Store a scale event, replacing the last one that no policy of its direction needs."""
    cutoff_ns = now_ns - longest_period_ns
    outdated = None
    for index, (_, time_ns) in enumerate(events):
        if time_ns < cutoff_ns:
            outdated = index
    return put(events, outdated, (change, now_ns))
