"""The event kernel: a virtual clock and scheduled actions.

Actions are kept in a heap by (time, priority, sequence): at equal times the lower priority number
runs first, among equals the one that was scheduled first. So the order of a run depends only on the
order in which it was built. An action that fails ends the run with its exception.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field

Action = Callable[[], None]


@dataclass(slots=True, eq=False)
class Ticket:
    """A scheduled action; it can be cancelled until it starts."""

    time_s: float
    action: Action | None

    def cancel(self) -> None:
        """Cancel the action; no effect if it has started."""
        self.action = None

    @property
    def waiting(self) -> bool:
        """Return whether the action is still scheduled."""
        return self.action is not None


@dataclass(slots=True)
class Clock:
    """Virtual time and scheduled actions.

    Attributes:
        now_s: Seconds since the start of the run.
        done: Number of actions that have run.
    """

    now_s: float = 0.0
    done: int = 0
    _waiting: list[tuple[float, int, int, Ticket]] = field(default_factory=list)
    _sequence: int = 0

    def at(self, time_s: float, action: Action, priority: int = 0) -> Ticket:
        """Schedule an action.

        Args:
            time_s: Time to run it; not in the past.
            action: The action.
            priority: Lower runs first at equal times.

        Raises:
            ValueError: If the time is in the past or not a number.
        """
        if not time_s >= self.now_s:
            raise ValueError(f"{time_s}: the clock is at {self.now_s} already")
        ticket = Ticket(time_s, action)
        heapq.heappush(self._waiting, (time_s, priority, self._sequence, ticket))
        self._sequence += 1
        return ticket

    def after(self, delay_s: float, action: Action, priority: int = 0) -> Ticket:
        """Schedule an action after a delay."""
        return self.at(self.now_s + delay_s, action, priority)

    def every(self, period_s: float, action: Action, *, first_s: float, priority: int = 0) -> None:
        """Schedule an action periodically; times are multiples of the period, without drift.

        Args:
            period_s: Seconds between two calls, above 0.
            action: The action.
            first_s: Time of the first call.
            priority: Lower runs first at equal times.
        """
        if not period_s > 0:
            raise ValueError(f"{period_s}: a period must be above 0")
        count = 0

        def again() -> None:
            nonlocal count
            count += 1
            self.at(first_s + count * period_s, again, priority)
            action()

        self.at(first_s, again, priority)

    @property
    def next_s(self) -> float:
        """Time of the next action; infinity if there is none."""
        while self._waiting and not self._waiting[0][3].waiting:
            heapq.heappop(self._waiting)
        return self._waiting[0][0] if self._waiting else math.inf

    def run(self, until_s: float) -> None:
        """Run all actions up to and including a time, and leave the clock there.

        Raises:
            ValueError: If the time is in the past.
        """
        if not until_s >= self.now_s:
            raise ValueError(f"{until_s}: the clock is at {self.now_s} already")
        waiting = self._waiting
        while waiting and waiting[0][0] <= until_s:
            time_s, _, _, ticket = heapq.heappop(waiting)
            action, ticket.action = ticket.action, None
            if action is None:
                continue
            self.now_s = time_s
            self.done += 1
            action()
        self.now_s = until_s
