"""Serves requests and works on jobs in one step, with the allocated cores."""

from __future__ import annotations

import math

from kubestow.policies.compiling import compiled
from kubestow.simulation.usage import sharing, stations
from kubestow.simulation.usage.containers import NONE, Record, RecordArray

PERIOD_S = 0.1  # cpu.max period, fixed in Kubernetes
_LEAST_SHARE = 0.02  # of its cores that a container keeps for requests


@compiled
def cores_within_reach(
    given: float, own: float, limit: float, weight: float, running: float, host: Record
) -> float:
    """Return the cores available to the requests of a container at any time.

    That is its allocation plus idle cores of the node, or its share by weight if that is more, up
    to its limit, minus what it uses for itself.

    Args:
        given: Allocated cores, mean of the step.
        own: Of these, used for itself.
        limit: Its limit.
        weight: Its weight.
        running: Share of the step in which it ran.
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
    top: int, step_s: float, containers: RecordArray, services: RecordArray, hosts: RecordArray
) -> None:
    """Sum the cores of services whose requests go to any free pod."""
    for row in range(len(services)):
        services[row].capacity = 0.0
    for row in range(top):
        container = containers[row]
        if (
            not container.used
            or container.service == NONE
            or container.lost
            or container.running_s <= 0.0
        ):
            continue
        service = services[container.service]
        if service.pooled:
            running = container.running_s / step_s
            cores = cores_within_reach(
                container.cpu,
                container.own,
                container.cpu_limit,
                container.cpu_weight,
                running,
                hosts[container.node],
            )
            service.capacity += cores * container.serving_s / step_s


@compiled
def serve(
    top: int, step_s: float, containers: RecordArray, services: RecordArray, hosts: RecordArray
) -> None:
    """Serve the requests of this step, and work on jobs."""
    for row in range(len(services)):
        service = services[row]
        service.served = 0.0
        service.timed_out = 0.0
        service.queue = 0.0
        service.response_sum = 0.0
        service.response_squares = 0.0
    pool(top, step_s, containers, services, hosts)
    for row in range(top):
        container = containers[row]
        if not container.used:
            continue
        granted = container.cpu / container.wanted if container.wanted > 0.0 else 0.0
        own = min(container.own, container.wanted) * granted
        if container.service == NONE:
            container.work_left -= (container.cpu - own) * step_s
            container.finished = container.work_cores > 0.0 and container.work_left <= 1e-9
            continue
        service = services[container.service]
        if service.played:
            continue
        given = container.cpu
        taken = serve_container(container, service, hosts[container.node], step_s)
        # Requests get a little even if its own work demands everything, which then gets less.
        container.cpu = taken + min(own, max(given - taken, 0.0))
        service.queue += container.in_system


@compiled
def serve_container(container: Record, service: Record, host: Record, step_s: float) -> float:
    """Serve the requests of one container; return the cores they used."""
    arrived = sharing.arrivals(container.serving_s, service.shares_s, service.taken)
    before = container.in_system
    time_s = container.running_s
    if container.lost or time_s <= 0.0:
        service.dropped += arrived + before
        container.in_system = 0.0
        return 0.0
    if arrived + before <= 0.0:
        return 0.0
    work_s = service.work_s / service.threads
    cores = cores_within_reach(
        container.cpu,
        container.own,
        container.cpu_limit,
        container.cpu_weight,
        time_s / step_s,
        host,
    )
    cores = min(cores, container.parallel) / service.threads
    limit = container.cpu_limit / service.threads
    parallel = container.parallel / service.threads
    burst_s = limit * PERIOD_S if limit < parallel and cores > 0.99 * limit else 0.0
    full = min(limit, 1.0)
    alone_s = container.alone_s
    if cores < full:  # below its limit: slowed by neighbours
        alone_s += work_s / cores - work_s / full
    # A pooled container is a share of one large station.
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
    patience = service.timeout_s * cores / work_s  # requests served within the timeout
    if after > patience:
        service.timed_out += after - patience
        after = patience
    container.in_system = after
    busy = min(rate * work_s / cores, 1.0)
    if served > 0.0:
        note_responses(service, before, after, rate, time_s, work_s, alone_s, cores, busy)
    if limit < parallel:
        container.throttling = stations.throttled_share(
            rate,
            service.work_s,
            service.variability,
            container.own * step_s / time_s,
            container.cpu_limit,
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
    """Add the response times of one container, from its requests by Little's law.

    Within a step the number of requests goes from ``before`` to ``after`` in about the relaxation
    time of the queue, 1 / (mu (1 - sqrt r)^2): at once if that is short, linearly if it is long.
    """
    relaxed_s = 1.0 / (cores / work_s * (1.0 - math.sqrt(busy)) ** 2 + 1e-9)
    inside = after + (before - after) * min(0.5, relaxed_s / time_s)
    response_s = max(inside / rate, work_s)
    variation = stations.response_variation(service.variability, 1.0 - alone_s / response_s)
    served = rate * time_s
    service.served += served
    service.response_sum += served * response_s
    service.response_squares += served * response_s**2 * (1.0 + variation)
