"""The ledger of a run: counts, events, decisions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from kubestow.model.decisions import DecisionRecord
from kubestow.simulation.kernel import Area


@dataclass(slots=True, eq=False)
class Ledger:
    """Counts, events and decisions.

    Attributes:
        keep: Number of decision records to keep.
        counts: Counters by name.
        events: Time, event, subject, detail.
        decisions: Records of decisions.
        throttling: Quota periods of removed containers, and those with an exhausted quota.
        nodes: Number of nodes by pool.
        fleet: Number of all nodes.
    """

    keep: int = 10_000
    counts: Counter[str] = field(default_factory=Counter)
    events: list[tuple[float, str, str, str]] = field(default_factory=list)
    decisions: list[DecisionRecord] = field(default_factory=list)
    throttling: list[float] = field(default_factory=lambda: [0.0, 0.0])
    nodes: defaultdict[str, Area] = field(default_factory=lambda: defaultdict(Area))
    fleet: Area = field(default_factory=Area)

    def count(self, what: str, times: int = 1) -> None:
        """Increment a counter."""
        self.counts[what] += times

    def note(self, time_s: float, what: str, who: str, where: str = "") -> None:
        """Record an event."""
        self.events.append((time_s, what, who, where))

    def count_node(self, time_s: float, pool: str, change: int) -> None:
        """Count a node that is paid for from now on, or no longer."""
        self.nodes[pool].add(time_s, change)
        self.fleet.add(time_s, change)

    def decide(self, record: Callable[[], DecisionRecord]) -> None:
        """Count a decision; its record is built only if it is kept."""
        self.counts["decisions"] += 1
        if len(self.decisions) < self.keep:
            self.decisions.append(record())
