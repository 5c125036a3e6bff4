"""The plan with the least cost over a horizon, by dynamic programming over replicas.

Cost of step j with n replicas: ``w_q x expected shortage + w_c x n + w_s x |n - n before|``
(theses/004 5.3). Shortage is the mean over past excesses of what demand exceeds n by, so that it
grows smoothly as n falls. Steps x replicas x replicas operations, compiled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kubestow.policies.compiling import compiled

Floats = NDArray[np.float64]


@compiled
def plan(
    needs: Floats,
    excesses: Floats,
    current: int,
    least: int,
    most: int,
    shortage_weight: float,
    switch_weight: float,
) -> tuple[int, float]:
    """Return the replicas of the first step of the cheapest plan, and its cost per step.

    Args:
        needs: Pods needed by the expected demand, when what is ordered at each step is ready.
        excesses: By how much pods needed have exceeded what was expected.
        current: Replicas now.
        least: Fewest replicas.
        most: Most replicas.
        shortage_weight: Cost of a missing pod for a step, in pods for a step.
        switch_weight: Cost of adding or removing a pod, in the same unit.
    """
    count = most - least + 1
    ahead = np.zeros(count)  # cost from the step after on, by replicas of this step
    costs = np.empty(count)
    for step in range(len(needs) - 1, -1, -1):
        for row in range(count):
            replicas = least + row
            shortage = 0.0
            for excess in excesses:
                missing = needs[step] + excess - replicas
                if missing > 0.0:
                    shortage += missing
            costs[row] = ahead[row] + replicas + shortage_weight * shortage / len(excesses)
        if step == 0:
            break
        # The cheapest next step for each number of replicas now: |difference| costs are passed
        # along upwards and downwards (a distance transform).
        for row in range(1, count):
            costs[row] = min(costs[row], costs[row - 1] + switch_weight)
        for row in range(count - 2, -1, -1):
            costs[row] = min(costs[row], costs[row + 1] + switch_weight)
        ahead[:] = costs
    best, lowest = 0, np.inf
    for row in range(count):
        cost = costs[row] + switch_weight * abs(least + row - current)
        if cost < lowest - 1e-12:
            best, lowest = row, cost
    return least + best, lowest / len(needs)
