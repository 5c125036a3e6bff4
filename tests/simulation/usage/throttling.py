"""CFS bandwidth control: how long work takes under a CPU limit.

Formulas (1.19) and (1.20) of Schubert 2023, and an event simulation of the quota that they are
checked against. Times are in any one unit; fractions are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

Time = int | Fraction


def wall_time(work: Time, quota: Time, period: Time, parallel: int = 1) -> Fraction:
    """Return how long ``parallel`` equal pieces of work take side by side, (1.19) and (1.20).

    Args:
        work: CPU time of one piece.
        quota: CPU time per period, shared evenly by the pieces.
        period: Length of the period; work starts at the beginning of one.
        parallel: How many pieces run, each on a core of its own.

    >>> wall_time(500, 50, 100), wall_time(500, 50, 100, parallel=2)
    (Fraction(950, 1), Fraction(1925, 1))
    """
    if quota >= parallel * period:
        return Fraction(work)  # the quota cannot be used up
    pauses = math.ceil(Fraction(work) * parallel / Fraction(quota)) - 1
    return work + pauses * (period - Fraction(quota, parallel))


def simulate(
    works: Sequence[Time], quota: Time, period: Time, *, concurrency: int | None = None
) -> list[Fraction]:
    """Return when each piece of work ends, by playing the quota through event by event.

    Args:
        works: CPU time of each piece, in order of start.
        quota: CPU time per period.
        period: Length of the period.
        concurrency: How many run at once, each on its own core; ``None`` for all of them.
    """
    left = [Fraction(work) for work in works]
    ends = [Fraction(0)] * len(works)
    now, budget, refill = Fraction(0), Fraction(quota), Fraction(period)
    waiting = [index for index, work in enumerate(left) if work > 0]
    while waiting:
        running = waiting[: concurrency or len(waiting)]
        if budget == 0:
            now, refill, budget = refill, refill + period, Fraction(quota)
            continue
        step = min(*(left[index] for index in running), budget / len(running), refill - now)
        now += step
        budget -= step * len(running)
        for index in running:
            left[index] -= step
            if left[index] == 0:
                ends[index] = now
                waiting.remove(index)
        if now == refill:
            refill, budget = refill + period, Fraction(quota)
    return ends
