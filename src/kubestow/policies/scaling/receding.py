"""``receding``: model predictive control in the proper sense (theses/004 5.3).

At every look the cheapest plan over a horizon is worked out - missing pods, pods, and changes have
a price each - and only its first step is done. Pods ordered now are ready one start-up later, so
the plan is about the demand from then on; its distribution is the outlook's mean with the excesses
that were seen in the past.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kubestow.policies.forecasting import outlooks
from kubestow.policies.scaling import frames, looks, outlook_proposers, receding_kernels
from kubestow.policies.scaling import specifications as specs

NAME = "receding"


@dataclass(frozen=True, slots=True)
class RecedingParameters:
    """Prices and horizon.

    Attributes:
        shortage_price: A missing pod costs as much as so many idle ones; the share of moments short
            of pods is about one in this many (newsvendor).
        change_price: Adding or removing a pod costs as much as one pod for so many steps.
        plan_s: How far the plan reaches beyond the start-up of a pod.
        excesses: How many past excesses make the distribution of demand.
        horizon: How far a start-up is ahead.
        outlook: What the forecast goes by.
    """

    shortage_price: float = 10.0
    change_price: float = 2.0
    plan_s: float = 300.0
    excesses: int = 120
    horizon: looks.HorizonParameters = field(default_factory=looks.HorizonParameters)
    outlook: outlooks.OutlookParameters = field(default_factory=outlooks.OutlookParameters)


def make(
    spec: specs.AutoscalerSpec, parameters: RecedingParameters
) -> frames.Framed[outlook_proposers.OutlookMemory]:
    """Return the scaler for one specification."""

    def weigh(seen: frames.Seen, ahead: outlook_proposers.Ahead) -> frames.Proposed:
        step_s = ahead.memory.look.step_s or looks.FIRST_STEP_S
        reach = max(round(parameters.plan_s / step_s), 1)
        target = ahead.demand.target
        path = outlooks.follow(ahead.found, ahead.steps, ahead.steps + reach, parameters.outlook)
        known = outlooks.excesses(ahead.memory.outlook, parameters.excesses)
        known = known if len(known) else np.zeros(1)
        current = seen.observation.current_replicas
        replicas, cost = receding_kernels.plan(
            path[ahead.steps - 1 :] / target, known / target, current,
            max(spec.min_replicas, 1), spec.max_replicas,
            parameters.shortage_price, parameters.change_price,
        )  # fmt: skip
        numbers = {**ahead.numbers(), "cost": cost, "excesses": float(len(known))}
        return frames.Proposed(replicas, "cheapest plan", numbers)

    proposer = outlook_proposers.OutlookProposer(
        spec, parameters.horizon, parameters.outlook, weigh, parameters.horizon.hold_s
    )
    return frames.Framed(NAME, spec, parameters, proposer)
