"""Equal time steps, and their division into pages that Prometheus accepts.

Steps are multiples of their length since the epoch, so that queries of overlapping ranges read the
same points. Times are milliseconds, as in Prometheus.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from kubestow.model import decoding, errors

PAGE = 11_000
"""Most points per series in one response (web/api/v1/api.go: "exceeded maximum resolution")."""

MOST = 5_000_000
"""Most points per series in all: half a gigabyte for twelve series."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Points in time at equal steps.

    Attributes:
        start_ms: First point, in milliseconds since the epoch.
        step_ms: Milliseconds between two points.
        count: Number of points.
    """

    start_ms: int
    step_ms: int
    count: int

    @property
    def end_ms(self) -> int:
        """The last point."""
        return self.start_ms + (self.count - 1) * self.step_ms

    def pages(self, most: int = PAGE) -> Iterator[Steps]:
        """Divide into disjoint parts of at most ``most`` points."""
        for first in range(0, self.count, most):
            start_ms = self.start_ms + first * self.step_ms
            yield Steps(start_ms, self.step_ms, min(most, self.count - first))


def align_steps(start_s: float, end_s: float, step_s: float) -> Steps:
    """Return the multiples of a step between two times, both inclusive.

    >>> align_steps(90.0, 200.0, 60.0)
    Steps(start_ms=120000, step_ms=60000, count=2)

    Raises:
        InputError: If there are none, or too many.
    """
    if not all(math.isfinite(value) for value in (start_s, end_s, step_s)):
        raise errors.InputError("range", "expected finite times")
    step_ms = round(step_s * 1000.0)
    if step_ms < 1:
        raise errors.InputError("step", f"{step_s:g} s: expected at least 1 ms")
    first = -(-round(start_s * 1000.0) // step_ms)
    count = round(end_s * 1000.0) // step_ms - first + 1
    if count < 1:
        problem = (
            f"{start_s:.3f} to {end_s:.3f} contains no multiple of "
            f"{decoding.format_duration(step_s)}"
        )
        raise errors.InputError("range", problem)
    if count > MOST:
        problem = f"{count} steps of {decoding.format_duration(step_s)}; expected at most {MOST}"
        raise errors.InputError("range", problem)
    return Steps(first * step_ms, step_ms, count)


def seconds(time_ms: int) -> str:
    """Format milliseconds as exact seconds for Prometheus."""
    return f"{time_ms // 1000}.{time_ms % 1000:03d}"
