"""Requests served and work done in one step, with the cores that were given."""

from __future__ import annotations

import math

from kubestow.policies.compiling import compiled
from kubestow.simulation.usage import sharing, stations
from kubestow.simulation.usage.containers import NONE, Record, RecordArray

PERIOD_S = 0.1  # cpu.max period; Kubernetes does not let users choose another
_LEAST_SHARE = 0.02  # of its cores that a container keeps for requests, whatever else it does


@compiled
def cores_within_reach(
    given: float, own: float, limit: float, weight: float, running: float, host: Record
) -> float:
    """Return the cores a container could have for requests at any moment of its running.

    What it was given and what is idle beside it, or its share by weight if that is more (others
    then get less for that moment), up to its limit; less what it uses for itself.

    Args:
        given: Cores it was given, mean of the step.
        own: Of these for itself.
        limit: Its limit.
        weight: Its weight.
        running: Share of the step it ran.
        host: Its node.
    """
    idle = max(host.cores - host.wanted, 0.0)
    reach = given / running + idle
    if host.weight > 0.0:
        reach = max(reach, host.cores * weight / host.weight)
    cores = min(limit, reach)
    return float(max(cores - own / running, _LEAST_SHARE * cores))


@compiled
def pool(
    top: int, step_s: float, units: RecordArray, services: RecordArray, hosts: RecordArray
) -> None:
    """Add up the cores of services whose requests go to whoever is free."""
    for row in range(len(services)):
        services[row].capacity = 0.0
    for row in range(top):
        unit = units[row]
        if not unit.used or unit.service == NONE or unit.lost or unit.running_s <= 0.0:
            continue
        service = services[unit.service]
        if service.pooled:
            running = unit.running_s / step_s
            cores = cores_within_reach(
                unit.cpu, unit.own, unit.cpu_limit, unit.cpu_weight, running, hosts[unit.node]
            )
            service.capacity += cores * unit.serving_s / step_s


@compiled
def serve(
    top: int, step_s: float, units: RecordArray, services: RecordArray, hosts: RecordArray
) -> None:
    """Serve the requests of this step, and work on jobs."""
    for row in range(len(services)):
        service = services[row]
        service.served = 0.0
        service.timed_out = 0.0
        service.queue = 0.0
        service.response_sum = 0.0
        service.response_squares = 0.0
    pool(top, step_s, units, services, hosts)
    for row in range(top):
        unit = units[row]
        if not unit.used:
            continue
        granted = unit.cpu / unit.wanted if unit.wanted > 0.0 else 0.0
        own = min(unit.own, unit.wanted) * granted
        if unit.service == NONE:
            unit.work_left -= (unit.cpu - own) * step_s
            unit.finished = unit.work_cores > 0.0 and unit.work_left <= 1e-9
            continue
        service = services[unit.service]
        if service.played:
            continue
        given = unit.cpu
        taken = serve_unit(unit, service, hosts[unit.node], step_s)
        # Requests get a little even where its own work wants everything, which then gives way.
        unit.cpu = taken + min(own, max(given - taken, 0.0))
        service.queue += unit.in_system


@compiled
def serve_unit(unit: Record, service: Record, host: Record, step_s: float) -> float:
    """Serve the requests that came to one container; return the cores they took."""
    arrived = sharing.arrivals(unit.serving_s, service.shares_s, service.taken)
    before = unit.in_system
    time_s = unit.running_s
    if unit.lost or time_s <= 0.0:
        service.dropped += arrived + before
        unit.in_system = 0.0
        return 0.0
    if arrived + before <= 0.0:
        return 0.0
    work_s = service.work_s / service.threads
    cores = cores_within_reach(
        unit.cpu, unit.own, unit.cpu_limit, unit.cpu_weight, time_s / step_s, host
    )
    cores = min(cores, unit.parallel) / service.threads
    limit = unit.cpu_limit / service.threads
    parallel = unit.parallel / service.threads
    burst_s = limit * PERIOD_S if limit < parallel and cores > 0.99 * limit else 0.0
    full = min(limit, 1.0)
    alone_s = unit.alone_s
    if cores < full:  # less than its limit: slowed down by neighbours
        alone_s += work_s / cores - work_s / full
    # A pooled container is its share of one big station.
    whole = service.capacity / service.threads if service.pooled else cores
    size = max(whole / cores, 1.0)
    rate = (
        stations.throughput(
            before * size,
            arrived * size / time_s,
            time_s,
            work_s,
            alone_s,
            cores * size,
            parallel * size,
            burst_s,
        )
        / size
    )
    moved = sharing.link_share(host.network_wanted, host.network)
    moved = min(moved, sharing.link_share(host.disk_wanted, host.disk))
    if moved < 1.0:
        rate = min(rate, moved * (before + arrived) / time_s)
    served = rate * time_s
    after = max(before + arrived - served, 0.0)
    patience = service.timeout_s * cores / work_s  # requests that are served in that time
    if after > patience:
        service.timed_out += after - patience
        after = patience
    unit.in_system = after
    busy = min(rate * work_s / cores, 1.0)
    if served > 0.0:
        note_responses(service, before, after, rate, time_s, work_s, alone_s, cores, busy)
    if limit < parallel:
        unit.throttling = stations.throttled_share(
            rate,
            service.work_s,
            service.variability,
            unit.own * step_s / time_s,
            unit.cpu_limit,
            PERIOD_S,
        )
    return float(served * service.work_s / step_s)


@compiled
def note_responses(
    service: Record,
    before: float,
    after: float,
    rate: float,
    time_s: float,
    work_s: float,
    alone_s: float,
    cores: float,
    busy: float,
) -> None:
    """Add the response times of one container, by Little's law from the requests inside it.

    Within a step the number inside goes from ``before`` to ``after`` in about the relaxation time
    of the queue, 1 / (mu (1 - sqrt r)^2): at once if that is short, in a straight line if long.
    """
    relaxed_s = 1.0 / (cores / work_s * (1.0 - math.sqrt(busy)) ** 2 + 1e-9)
    inside = after + (before - after) * min(0.5, relaxed_s / time_s)
    response_s = max(inside / rate, work_s)
    variation = stations.response_variation(service.variability, 1.0 - alone_s / response_s)
    served = rate * time_s
    service.served += served
    service.response_sum += served * response_s
    service.response_squares += served * response_s**2 * (1.0 + variation)
