"""What ``q-learning`` rewards: the rules of theses/001 3.8 with the numbers of 3.10.

Memory shall lie between the maximum and the maximum with a buffer, CPU between average and maximum.
What was too little in a run that failed is never enough.
"""

from __future__ import annotations

from typing import NamedTuple

from kubestow.policies.compiling import compiled
from kubestow.policies.sizing import q_grids
from kubestow.policies.sizing.q_parameters import Settings


class Band(NamedTuple):
    """What a request should be.

    Attributes:
        low: Not less than this.
        high: Not more than this.
        failed: More than this: the request of a run that was short; 0 if none was.
    """

    low: float
    high: float
    failed: float


@compiled
def find_band(average: float, largest: float, failed: float, settings: Settings) -> Band:
    """Return the band for what was used; it contains a state in any case."""
    if settings.memory:
        low, high = largest, largest + buffer_of(largest, settings)
    else:
        low, high = average, largest
    high = max(high, q_grids.round_up(low, settings.step))
    if failed > 0.0:
        high = max(high, q_grids.step_above(failed, settings.step))
    return Band(low, high, failed)


@compiled
def buffer_of(largest: float, settings: Settings) -> float:
    """Return how far above its maximum memory may lie."""
    return max(settings.buffer_least, settings.buffer_share * largest)


@compiled
def is_inside(amount: float, band: Band) -> bool:
    """Tell whether an amount is what it should be."""
    return band.low <= amount <= band.high and amount > band.failed


@compiled
def reward(amount: float, band: Band, settings: Settings) -> float:
    """Return what reaching an amount pays."""
    if amount <= band.failed or amount < band.low:
        return settings.too_small
    if amount > band.high:
        return settings.too_large
    width = band.high - band.low
    share = (amount - band.low) / width if width > 0.0 else 0.0
    return 1.0 - settings.slope * share
