"""``queueing``: the fewest pods whose queue meets a response time (theses/004 5.4).

A pod is one server of an M/M/c queue; its service time is what a request costs in pod-seconds, as
learnt from use and request rate. Arrivals are those expected one start-up ahead. Where no request
rate is measured, or a request alone takes longer than the response time asked for, the scaler is
reactive and says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kubestow.policies.forecasting import outlooks
from kubestow.policies.scaling import demands, frames, looks, outlook_proposers, queues
from kubestow.policies.scaling import specifications as specs

NAME = "queueing"


@dataclass(frozen=True, slots=True)
class QueueingParameters:
    """Which response time to meet.

    Attributes:
        slo_s: The response time in seconds; a scenario's ``sloMillis`` where nothing else is said.
        level: The quantile that has to meet it; 0 means the mean.
        horizon: How far to look ahead.
        outlook: What the forecast goes by.
    """

    slo_s: float = 0.5
    level: float = 0.95
    horizon: looks.HorizonParameters = field(default_factory=looks.HorizonParameters)
    outlook: outlooks.OutlookParameters = field(default_factory=outlooks.OutlookParameters)


def make(
    spec: specs.AutoscalerSpec, parameters: QueueingParameters
) -> frames.Framed[outlook_proposers.OutlookMemory]:
    """Return the scaler for one specification."""

    def weigh(seen: frames.Seen, ahead: outlook_proposers.Ahead) -> frames.Proposed:
        service_s = ahead.memory.look.cost.load
        if demands.rate(seen.observation) is None:
            return frames.fall_back(seen, "no request rate is measured")
        if service_s is None:
            return frames.fall_back(seen, "the cost of a request is not known yet")
        if service_s > parameters.slo_s:
            why = f"a request takes {service_s:.3f} s, asked for are {parameters.slo_s:g} s"
            return frames.fall_back(seen, why)
        arrivals = ahead.found.mean / service_s
        wanted = queues.servers_needed(
            arrivals, service_s, parameters.slo_s, parameters.level, spec.max_replicas
        )
        numbers = {**ahead.numbers(), "arrivals": arrivals, "service_s": service_s}
        return frames.Proposed(wanted, f"queue meets {parameters.slo_s:g} s", numbers)

    proposer = outlook_proposers.OutlookProposer(
        spec, parameters.horizon, parameters.outlook, weigh, down_s=300.0
    )
    return frames.Framed(NAME, spec, parameters, proposer)
