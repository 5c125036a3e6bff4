"""The high-load taint of nodes: a state machine with hysteresis.

Shi 2023 (L818): a node gets the taint NoSchedule when any resource reaches 80 % and loses it when
all are below 80 %, so that a load around 80 % makes it flap. Here the taint is removed only when
all are below a lower level, and a node keeps its state for a minimum time. The state between two
updates is an argument and a result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kubestow.model import decoding, nodes, states
from kubestow.model.arrays import Bools, Floats, Ints
from kubestow.model.decoding import Seconds, ValueBounds

HIGH_LOAD_TAINT = nodes.Taint("kubestow.io/high-load", "", "NoSchedule")


@dataclass(frozen=True, slots=True)
class HighLoadParameters:
    """When nodes get and lose the taint.

    Attributes:
        high: Share of any resource from which a node gets the taint (thesis: 80 %).
        low: Share below which all resources must be before it loses the taint; our choice.
        dwell: Minimum time between changes of a node; our choice: the window of a metric, so that
            no change reacts to load measured before the previous change.
        strict: As printed: both shares are ``high``, and a node changes at once.
    """

    high: Annotated[float, ValueBounds(above=0, most=1)] = 0.8
    low: Annotated[float, ValueBounds(above=0, most=1)] = 0.7
    dwell: Annotated[Seconds, ValueBounds(least=0)] = 60.0
    strict: bool = False

    def check(self, place: decoding.Field) -> None:
        """Refuse a low level above the high level."""
        if self.low > self.high:
            raise place["low"].refuse(f"must not be above high {self.high:g}")


@dataclass(frozen=True, slots=True, eq=False)
class HighLoadMemory:
    """State of each node: whether it has the taint, and since when."""

    tainted: Bools
    since_s: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Rows of nodes that get the taint, and rows of nodes that lose it."""

    added: Ints
    removed: Ints


def begin(count: int) -> HighLoadMemory:
    """Return the state of nodes without the taint that may change at once."""
    return HighLoadMemory(np.zeros(count, dtype=np.bool_), np.full(count, -np.inf))


def renumber(memory: HighLoadMemory, kept: Ints, coming: int) -> HighLoadMemory:
    """Return the state after nodes were added or removed: kept nodes first."""
    fresh = begin(coming)
    return HighLoadMemory(
        np.concatenate([memory.tainted[kept], fresh.tainted]),
        np.concatenate([memory.since_s[kept], fresh.since_s]),
    )


def update_high_load(
    memory: HighLoadMemory, shares: Floats, time_s: float, parameters: HighLoadParameters
) -> tuple[HighLoadMemory, Changes]:
    """Update the taints from the current loads.

    Args:
        memory: State before.
        shares: Load by node and resource, 1 for all of a node; NaN is unknown. A node whose load is
            unknown keeps its state; one that is partly unknown does not lose the taint.
        time_s: Current time.
        parameters: When nodes get and lose the taint.
    """
    low = parameters.high if parameters.strict else parameters.low
    dwell_s = 0.0 if parameters.strict else parameters.dwell
    may = time_s - memory.since_s >= dwell_s
    hot = np.logical_or.reduce(shares >= parameters.high, axis=1)  # NaN compares as false
    cool = np.logical_and.reduce(shares < low, axis=1)
    added = ~memory.tainted & hot & may
    removed = memory.tainted & cool & may
    changed = added | removed
    after = HighLoadMemory(memory.tainted ^ changed, np.where(changed, time_s, memory.since_s))
    return after, Changes(np.flatnonzero(added), np.flatnonzero(removed))


def load_shares(state: states.ClusterState, total: Floats, names: tuple[str, ...]) -> Floats:
    """Return loads as shares for ``update_high_load``; 0 for resources a node does not offer.

    Args:
        state: The cluster.
        total: Loads by node and resource, as ``terms.Loads.total`` returns them.
        names: Resources to consider.
    """
    columns = [state.columns[name] for name in names if name in state.columns]
    offered = state.allocatable[:, columns].astype(np.float64)
    return np.where(offered > 0.0, total[:, columns] / np.where(offered > 0.0, offered, 1.0), 0.0)
