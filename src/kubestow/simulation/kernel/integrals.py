"""Piecewise constant values, integrated over time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Area:
    """A value that holds until it is changed, and its integral since the start.

    Attributes:
        value: The current value.
        area: Value times seconds up to ``since_s``.
        since_s: Time of the last change.
        peak: Largest value so far.
    """

    value: float = 0.0
    area: float = 0.0
    since_s: float = 0.0
    peak: float = 0.0

    def set(self, now_s: float, value: float) -> None:
        """Change the value."""
        self.area += self.value * (now_s - self.since_s)
        self.since_s = now_s
        self.value = value
        self.peak = max(self.peak, value)

    def add(self, now_s: float, change: float) -> None:
        """Change the value by an amount."""
        self.set(now_s, self.value + change)

    def until(self, now_s: float) -> float:
        """Return the integral up to a time."""
        return self.area + self.value * (now_s - self.since_s)
