"""Equal steps of time, and their division into pages a Prometheus answers.

Steps stand on whole multiples of their length since the epoch, so that two questions about
overlapping times ask for the same moments. Counted in milliseconds, as Prometheus does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from kubestow.model import decoding, errors

PAGE = 11_000
"""Most points per series in one answer (web/api/v1/api.go: "exceeded maximum resolution")."""

MOST = 5_000_000
"""Most points per series in all: half a gigabyte for twelve series."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Moments at equal distances.

    Attributes:
        start_ms: The first, in milliseconds since the epoch.
        step_ms: Distance of two.
        count: How many.
    """

    start_ms: int
    step_ms: int
    count: int

    @property
    def end_ms(self) -> int:
        """The last moment."""
        return self.start_ms + (self.count - 1) * self.step_ms

    def pages(self, most: int = PAGE) -> Iterator[Steps]:
        """Divide into parts of at most so many, which share no moment."""
        for first in range(0, self.count, most):
            start_ms = self.start_ms + first * self.step_ms
            yield Steps(start_ms, self.step_ms, min(most, self.count - first))


def align_steps(start_s: float, end_s: float, step_s: float) -> Steps:
    """Return the moments on whole multiples of a step between two times, both included.

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
            f"{start_s:.3f} to {end_s:.3f} holds no multiple of {decoding.format_duration(step_s)}"
        )
        raise errors.InputError("range", problem)
    if count > MOST:
        problem = f"{count} steps of {decoding.format_duration(step_s)}; expected at most {MOST}"
        raise errors.InputError("range", problem)
    return Steps(first * step_ms, step_ms, count)


def seconds(time_ms: int) -> str:
    """Return milliseconds as Prometheus reads seconds, without rounding."""
    return f"{time_ms // 1000}.{time_ms % 1000:03d}"
