"""``receding``: model predictive control with a receding horizon (McNaughton 2016, 5.3).

Every sync computes the cheapest plan over a horizon - missing pods, pods, and changes have a price
each - and carries out only its first step. Pods ordered now are ready one start-up later, so the
plan covers the demand from then on; its distribution is the outlook's mean plus the excesses
observed in the past.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.policies.compiling import compiled
from kubestow.policies.forecasting import outlook as forecasting_outlook
from kubestow.policies.scaling import hpa as specs
from kubestow.policies.scaling import lookahead
from kubestow.policies.scaling.ahead import frame, outlook_proposers


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
        needs: Pods for the expected demand, at the times when each step's order is ready.
        excesses: Past differences between pods needed and pods expected.
        current: Replicas now.
        least: Fewest replicas.
        most: Most replicas.
        shortage_weight: Cost of a missing pod for a step, in pods for a step.
        switch_weight: Cost of adding or removing a pod, in the same unit.
    """
    count = most - least + 1
    ahead = np.zeros(count)  # cost of all later steps, by replicas of this step
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


RECEDING = "receding"


@dataclass(frozen=True, slots=True)
class RecedingParameters:
    """Prices and horizon.

    Attributes:
        shortage_price: Cost of a missing pod, in idle pods; the share of time short of pods is
            about one in this many (newsvendor).
        change_price: Cost of adding or removing a pod, in pods for one step.
        plan_s: Seconds the plan reaches beyond the start-up of a pod.
        excesses: How many past excesses make the distribution of demand.
        horizon: Parameters of the forecast horizon.
        outlook: Parameters of the forecast.
    """

    shortage_price: float = 10.0
    change_price: float = 2.0
    plan_s: float = 300.0
    excesses: int = 120
    horizon: lookahead.HorizonParameters = field(default_factory=lookahead.HorizonParameters)
    outlook: forecasting_outlook.OutlookParameters = field(
        default_factory=forecasting_outlook.OutlookParameters
    )


def make_receding(
    spec: specs.AutoscalerSpec, parameters: RecedingParameters
) -> frame.Framed[outlook_proposers.OutlookMemory]:
    """Return the scaler for one specification."""

    def weigh(inputs: frame.ProposalInputs, ahead: outlook_proposers.Ahead) -> frame.Proposed:
        step_s = ahead.memory.sync.step_s or lookahead.FIRST_STEP_S
        reach = max(round(parameters.plan_s / step_s), 1)
        target = ahead.demand.target
        path = forecasting_outlook.follow(
            ahead.outlook, ahead.steps, ahead.steps + reach, parameters.outlook
        )
        known = forecasting_outlook.excesses(ahead.memory.outlook, parameters.excesses)
        known = known if len(known) else np.zeros(1)
        current = inputs.observation.current_replicas
        replicas, cost = plan(
            path[ahead.steps - 1 :] / target, known / target, current,
            max(spec.min_replicas, 1), spec.max_replicas,
            parameters.shortage_price, parameters.change_price,
        )  # fmt: skip
        numbers = {**ahead.numbers(), "cost": cost, "excesses": float(len(known))}
        return frame.Proposed(replicas, "cheapest plan", numbers)

    proposer = outlook_proposers.OutlookProposer(
        spec, parameters.horizon, parameters.outlook, weigh, parameters.horizon.hold_s
    )
    return frame.Framed(RECEDING, spec, parameters, proposer)
