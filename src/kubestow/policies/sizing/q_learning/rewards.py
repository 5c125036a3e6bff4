"""Rewards of ``q-learning``: the rules of Böttcher 2023, 3.8 with the numbers of 3.10.

Memory should lie between the maximum and the maximum plus a buffer, CPU between average and
maximum, and both above a request that failed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kubestow.policies.compiling import compiled
from kubestow.policies.sizing.q_learning.parameters import QSettings


@compiled
def round_up(amount: float, step: float) -> float:
    """Round up to the grid, to at least one step."""
    # A millionth of a step is floating-point noise, not usage.
    return max(float(np.ceil(amount / step - 1e-6)), 1.0) * step


@compiled
def step_above(amount: float, step: float) -> float:
    """Return the next larger amount of the grid."""
    return (float(np.floor(amount / step + 1e-6)) + 1.0) * step


@compiled
def count_states(request: float, largest: float, step: float, most: int) -> int:
    """Return the number of states of an agent: up to twice the request or the usage."""
    states = int(np.ceil(2.0 * max(request, largest) / step))
    return min(max(states, 2), most)


@compiled
def find_state(amount: float, step: float, states: int) -> int:
    """Return the state nearest to an amount."""
    nearest = int(np.floor(amount / step + 0.5)) - 1
    return min(max(nearest, 0), states - 1)


@compiled
def amount_of(state: int, step: float) -> float:
    """Return the amount of a state."""
    return (state + 1.0) * step


class Band(NamedTuple):
    """The range in which a request should lie.

    Attributes:
        low: Lower bound, inclusive.
        high: Upper bound, inclusive.
        failed: Lower bound, exclusive: the request of a run that was short; 0 if none was.
    """

    low: float
    high: float
    failed: float


@compiled
def find_band(average: float, largest: float, failed: float, settings: QSettings) -> Band:
    """Return the band for a run's usage; it always contains a state."""
    if settings.memory:
        low, high = largest, largest + buffer_of(largest, settings)
    else:
        low, high = average, largest
    high = max(high, round_up(low, settings.step))
    if failed > 0.0:
        high = max(high, step_above(failed, settings.step))
    return Band(low, high, failed)


@compiled
def buffer_of(largest: float, settings: QSettings) -> float:
    """Return the buffer of memory above its maximum."""
    return max(settings.buffer_least, settings.buffer_share * largest)


@compiled
def is_inside(amount: float, band: Band) -> bool:
    """Return whether an amount lies in the band."""
    return band.low <= amount <= band.high and amount > band.failed


@compiled
def reward(amount: float, band: Band, settings: QSettings) -> float:
    """Return the reward of reaching an amount."""
    if amount <= band.failed or amount < band.low:
        return settings.too_small
    if amount > band.high:
        return settings.too_large
    width = band.high - band.low
    share = (amount - band.low) / width if width > 0.0 else 0.0
    # Too little CPU slows a run down, too little memory kills it: the edges differ.
    away = 1.0 - share if settings.memory else share
    return 1.0 - settings.slope * away
