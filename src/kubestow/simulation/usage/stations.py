"""A pod as a service station: processor sharing, computed from rates.

A request needs ``s`` seconds of processor time, runs on one core at most, and shares ``c`` cores
with the other requests in the pod. In the steady state the number of requests in the pod at a
throughput of ``x`` per second is

    L(x) = x b + C(c, x s) r / (1 - r),    r = x s / c

where ``b`` is the response time of a lone request, and C Erlang's probability that all cores are
busy (for c <= 1 it is r). With b = s this is M/M/c, in which processor sharing and first come first
served have the same mean; with c = 1 it is s / (1 - r), which for processor sharing holds for
every distribution of s (M/G/1-PS). C is extended to fractions of cores by its recursion.

A pod under a CPU limit may use more cores at once than its limit, p instead of c, until the quota
of a period is used up. Work that stays below a burst B (the quota of a period) then only shares p
cores, and the waiting term becomes

    w C(c, a) r / (1 - r) + (1 - w) C(p, a) q / (1 - q),    w = exp(-(1 - r) B / 3 s),  q = a / p

because the work in a queue exceeds x with a probability that falls like exp(-(1 - r) x / s). The
factor of a third was fitted to requests simulated one by one (``requests``). With B = 0 nothing
changes.

Between steady states the number follows dL/dt = arrivals - x, with the x that belongs to the
present L (pointwise stationary fluid flow: Wang, Tipper, Banerjee 1996). It is solved by the
implicit Euler rule, so steps may be much longer than a request: the steady state is exact, overload
grows by what cannot be served, and requests are conserved.
"""

from __future__ import annotations

import math

from kubestow.policies.compiling import compiled

_NEAR_SATURATION = 1.0 - 1e-12
_ROUNDS = 80
_PRECISE = 1e-10


@compiled
def erlang_c(cores: float, load: float) -> float:
    """Return the probability that all cores are busy, for any number of cores.

    Args:
        cores: Cores, not necessarily whole.
        load: Cores that are busy on average, below ``cores``.
    """
    if load <= 0.0:
        return 0.0
    if cores <= 1.0:
        return min(load / cores, 1.0)
    whole = math.floor(cores)
    # Blocking with a fraction of a core, between none (1) and one (a / (1 + a)).
    blocking = (load / (1.0 + load)) ** (cores - whole)
    servers = cores - whole
    for _ in range(int(whole)):
        servers += 1.0
        blocking = load * blocking / (servers + load * blocking)
    busy = load / cores
    return float(min(blocking / (1.0 - busy * (1.0 - blocking)), 1.0))


@compiled
def waiting(load: float, work_s: float, cores: float, parallel: float, burst_s: float) -> float:
    """Return the requests in a pod beyond those without any sharing.

    Args:
        load: Cores that are busy on average, below ``cores``.
        work_s: CPU time of a request.
        cores: Cores the requests share in the long run.
        parallel: Cores they can use at once; the same unless a quota allows bursts.
        burst_s: Core-seconds that can be used before throttling.
    """
    busy = load / cores
    slow = erlang_c(cores, load) * busy / (1.0 - busy)
    if burst_s <= 0.0 or parallel <= cores:
        return slow
    weight = math.exp(-(1.0 - busy) * burst_s / (3.0 * work_s))
    quick_busy = load / parallel
    quick = erlang_c(parallel, load) * quick_busy / (1.0 - quick_busy)
    return weight * slow + (1.0 - weight) * quick


@compiled
def in_system(
    rate: float, work_s: float, alone_s: float, cores: float, parallel: float, burst_s: float
) -> float:
    """Return how many requests are in a pod in the steady state, L(x).

    Args:
        rate: Throughput in requests per second; below ``cores / work_s``.
        work_s: CPU time of a request.
        alone_s: Response time of a lone request.
        cores: Cores they share in the long run.
        parallel: Cores they can use at once.
        burst_s: Core-seconds that can be used before throttling.
    """
    return rate * alone_s + waiting(rate * work_s, work_s, cores, parallel, burst_s)


@compiled
def throughput(
    before: float,
    arrivals: float,
    time_s: float,
    work_s: float,
    alone_s: float,
    cores: float,
    parallel: float,
    burst_s: float,
) -> float:
    """Return the requests per second that leave during a step.

    Solves ``L(x) + time x = before + time arrivals``; both sides count all requests of the step.

    Args:
        before: Requests in the pod at the beginning.
        arrivals: Arriving requests per second.
        time_s: Length of the step.
        work_s: CPU time of a request.
        alone_s: Response time of a lone request.
        cores: Cores they share in the long run.
        parallel: Cores they can use at once.
        burst_s: Core-seconds that can be used before throttling.
    """
    total = before + time_s * arrivals
    if cores <= 0.0 or total <= 0.0:
        return 0.0
    most = cores / work_s * _NEAR_SATURATION
    low, high = 0.0, min(total / time_s, most)
    rate = min(arrivals, high)
    for _ in range(_ROUNDS):
        queued = waiting(rate * work_s, work_s, cores, parallel, burst_s)
        excess = rate * alone_s + queued + time_s * rate - total
        if excess > 0.0:
            high = rate
        else:
            low = rate
        # Not the exact derivative, but close where it matters: near saturation.
        slope = alone_s + time_s + queued / max(rate * (1.0 - rate * work_s / cores), 1e-12)
        if abs(excess) <= _PRECISE * total or high - low <= _PRECISE * _PRECISE * high:
            return rate
        following = rate - excess / slope
        # At saturation the slope is infinite, and such steps do not converge.
        stuck = abs(following - rate) <= _PRECISE * rate
        rate = (low + high) / 2.0 if stuck or not low < following < high else following
    return rate


@compiled
def response_variation(variability: float, shared: float) -> float:
    """Return the squared coefficient of variation of response times under processor sharing.

    ``(1 + v) 2 / (2 - g) - 1``, where g is the share of the response time that is due to sharing:
    for one core it is the utilisation, and the formula is exact for M/M/1-PS (Coffman, Muntz,
    Trotter 1970: (2 + r)/(2 - r) for v = 1). It is v itself where nothing is shared, and 1 + 2 v
    towards saturation, where a request of size x takes an exponential time of mean x / (1 - r).
    """
    return (1.0 + variability) * 2.0 / (2.0 - min(max(shared, 0.0), 1.0)) - 1.0


@compiled
def throttled_share(
    rate: float, work_s: float, variability: float, other: float, limit: float, period_s: float
) -> float:
    """Return the share of quota periods in which the quota is exhausted.

    The CPU time demanded in a period is a compound Poisson sum, approximated as normal.

    Args:
        rate: Requests per second.
        work_s: CPU time of a request.
        variability: Its squared coefficient of variation.
        other: Cores used for anything but requests.
        limit: The limit in cores.
        period_s: Length of a period.
    """
    mean = (rate * work_s + other) * period_s
    spread = math.sqrt(rate * period_s * work_s * work_s * (1.0 + variability))
    room = limit * period_s - mean
    if room <= 1e-3 * limit * period_s:
        return 1.0
    if spread <= 0.0:
        return 0.0
    return 0.5 * math.erfc(room / (spread * math.sqrt(2.0)))
