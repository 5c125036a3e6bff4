"""``queueing``: the fewest pods whose queue meets a response time (McNaughton 2016, 5.4).

A pod is one server of an M/M/c queue; its service time is the cost of a request in pod-seconds,
learnt from usage and request rate. Arrivals are those forecast one start-up ahead. Where no request
rate is measured, or a request alone takes longer than the required response time, the scaler is
reactive and says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from kubestow.policies.compiling import compiled
from kubestow.policies.forecasting import outlook as forecasting_outlook
from kubestow.policies.scaling import demand, lookahead
from kubestow.policies.scaling import hpa as specs
from kubestow.policies.scaling.ahead import frame, outlook_proposers


@compiled
def waiting_probability(servers: int, load: float) -> float:
    """Return Erlang's C: the probability that an arrival waits; 1 if the queue is unstable."""
    if load <= 0.0:
        return 0.0
    if load >= servers:
        return 1.0
    blocked = 1.0  # Erlang's B of no server
    for count in range(1, servers + 1):
        blocked = load * blocked / (count + load * blocked)
    busy = load / servers
    return blocked / (1.0 - busy * (1.0 - blocked))


@compiled
def response(servers: int, arrivals: float, service_s: float) -> float:
    """Return the mean response time in seconds; infinite if the queue is unstable."""
    load = arrivals * service_s
    if load >= servers:
        return math.inf
    wait = waiting_probability(servers, load)
    return wait * service_s / (servers - load) + service_s


@compiled
def quantile(servers: int, arrivals: float, service_s: float, level: float) -> float:
    """Return the quantile of the time in the queue plus the mean service time, in seconds.

    The wait of those who wait is exponential with rate ``(c - a) / service time``.
    """
    load = arrivals * service_s
    if load >= servers:
        return math.inf
    wait = waiting_probability(servers, load)
    if wait <= 1.0 - level:
        return service_s
    return service_s + math.log(wait / (1.0 - level)) * service_s / (servers - load)


@compiled
def servers_needed(arrivals: float, service_s: float, slo_s: float, level: float, most: int) -> int:
    """Return the fewest servers that meet a response time; ``most`` if none does.

    Args:
        arrivals: Arrivals per second.
        service_s: Mean service time.
        slo_s: Response time to meet.
        level: The quantile that must meet it; 0 means the mean.
        most: Upper bound of the servers.
    """
    load = arrivals * service_s
    servers = max(math.ceil(load + 1e-9), 1)
    while servers < most:
        time_s = (
            response(servers, arrivals, service_s)
            if level <= 0.0
            else quantile(servers, arrivals, service_s, level)
        )
        if time_s <= slo_s:
            return servers
        servers += 1
    return most


QUEUEING = "queueing"


@dataclass(frozen=True, slots=True)
class QueueingParameters:
    """The response time to meet.

    Attributes:
        slo_s: Response time in seconds; in scenarios ``sloMillis`` is the default.
        level: The quantile that must meet it; 0 means the mean.
        horizon: Parameters of the forecast horizon.
        outlook: Parameters of the forecast.
    """

    slo_s: float = 0.5
    level: float = 0.95
    horizon: lookahead.HorizonParameters = field(default_factory=lookahead.HorizonParameters)
    outlook: forecasting_outlook.OutlookParameters = field(
        default_factory=forecasting_outlook.OutlookParameters
    )


def make_queueing(
    spec: specs.AutoscalerSpec, parameters: QueueingParameters
) -> frame.Framed[outlook_proposers.OutlookMemory]:
    """Return the scaler for one specification."""

    def weigh(inputs: frame.ProposalInputs, ahead: outlook_proposers.Ahead) -> frame.Proposed:
        service_s = ahead.memory.sync.cost.load
        if demand.rate(inputs.observation) is None:
            return frame.fall_back(inputs, "no request rate is measured")
        if service_s is None:
            return frame.fall_back(inputs, "the cost of a request is not known yet")
        if service_s > parameters.slo_s:
            why = f"a request takes {service_s:.3f} s, asked for are {parameters.slo_s:g} s"
            return frame.fall_back(inputs, why)
        arrivals = ahead.outlook.mean / service_s
        recommended = servers_needed(
            arrivals, service_s, parameters.slo_s, parameters.level, spec.max_replicas
        )
        numbers = {**ahead.numbers(), "arrivals": arrivals, "service_s": service_s}
        return frame.Proposed(recommended, f"queue meets {parameters.slo_s:g} s", numbers)

    proposer = outlook_proposers.OutlookProposer(
        spec, parameters.horizon, parameters.outlook, weigh, down_s=300.0
    )
    return frame.Framed(QUEUEING, spec, parameters, proposer)
