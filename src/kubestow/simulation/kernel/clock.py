"""The event kernel: a virtual clock and the actions that wait for their time.

Nothing here knows of clusters. Actions are kept in a heap by (time, priority, sequence): among
those of one time the lower priority number goes first, among equals the one that was asked for
first. So the order of a run depends on nothing but the order in which it was built, and an action
that fails ends the run with its own exception.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field

Action = Callable[[], None]


@dataclass(slots=True, eq=False)
class Ticket:
    """An action that was asked for; it can be called off until it has begun."""

    time_s: float
    action: Action | None

    def cancel(self) -> None:
        """Call the action off; nothing happens if it has begun already."""
        self.action = None

    @property
    def waiting(self) -> bool:
        """Tell whether the action is still to come."""
        return self.action is not None


@dataclass(slots=True)
class Clock:
    """Virtual time, and what is to happen when.

    Attributes:
        now_s: Seconds since the start of the run.
        done: How many actions have run.
    """

    now_s: float = 0.0
    done: int = 0
    _waiting: list[tuple[float, int, int, Ticket]] = field(default_factory=list)
    _sequence: int = 0

    def at(self, time_s: float, action: Action, priority: int = 0) -> Ticket:
        """Ask for an action at a time.

        Args:
            time_s: When; not in the past.
            action: What.
            priority: Lower goes first among actions of one time.

        Raises:
            ValueError: If the time is in the past or not a number.
        """
        if not time_s >= self.now_s:
            raise ValueError(f"{time_s}: the clock stands at {self.now_s} already")
        ticket = Ticket(time_s, action)
        heapq.heappush(self._waiting, (time_s, priority, self._sequence, ticket))
        self._sequence += 1
        return ticket

    def after(self, delay_s: float, action: Action, priority: int = 0) -> Ticket:
        """Ask for an action after a delay."""
        return self.at(self.now_s + delay_s, action, priority)

    def every(self, period_s: float, action: Action, *, first_s: float, priority: int = 0) -> None:
        """Ask for an action again and again; times are multiples of the period, without drift.

        Args:
            period_s: Seconds between two calls, above 0.
            action: What.
            first_s: Time of the first call.
            priority: Lower goes first among actions of one time.
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
            raise ValueError(f"{until_s}: the clock stands at {self.now_s} already")
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
