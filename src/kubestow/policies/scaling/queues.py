"""How many servers meet a response time: the M/M/c queue (theses/004 5.4).

With ``a = arrival rate / service rate``, an arrival waits with Erlang's probability C(c, a), and
the mean response time is ``C / (c mu - lambda) + 1 / mu``. The recursion over c keeps every
intermediate number between 0 and 1.
"""

from __future__ import annotations

import math

from kubestow.policies.compiling import compiled


@compiled
def waiting_probability(servers: int, load: float) -> float:
    """Return Erlang's C: how likely an arrival has to wait; 1 where the queue never ends."""
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
    """Return the mean response time in seconds; infinite where the queue never ends."""
    load = arrivals * service_s
    if load >= servers:
        return math.inf
    wait = waiting_probability(servers, load)
    return wait * service_s / (servers - load) + service_s


@compiled
def quantile(servers: int, arrivals: float, service_s: float, level: float) -> float:
    """Return the quantile of the time in the queue plus the mean service time, in seconds.

    Those who wait do so exponentially with rate ``(c - a) / service time``.
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
        arrivals: Per second.
        service_s: Mean time of service.
        slo_s: Time to meet.
        level: By the mean if 0, else by this quantile.
        most: No more than this many.
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
