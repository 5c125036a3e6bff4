"""Demand of containers, and how nodes share their cores, network and disks.

Cores are shared by weight (``cpu.weight``); no container gets more than its demand or its limit
(``cpu.max``), and the rest goes to the others. Network and disk are shared in proportion to demand.
"""

from __future__ import annotations

import math

from kubestow.policies.compiling import compiled
from kubestow.simulation import kernel
from kubestow.simulation.usage.containers import NONE, RecordArray

CPU_NOISE, MEMORY_NOISE = 0, 1


@compiled
def noise_factor(
    state: float, spread: float, kept: float, stream: int, counter: int
) -> tuple[float, float]:
    """Return the next state of a container's noise and its factor (mean 1)."""
    fresh = kernel.normal(stream, counter)
    # A new container starts in the steady state.
    state = fresh if state == 0.0 else kept * state + math.sqrt(1.0 - kept * kept) * fresh
    return state, math.exp(spread * state - spread * spread / 2.0)


@compiled
def deal_out(top: int, step_s: float, containers: RecordArray, services: RecordArray) -> None:
    """Find the pods that receive requests, and drop requests that arrive without any."""
    for service_row in range(len(services)):
        service = services[service_row]
        service.shares_s = 0.0
        service.received_s = 0.0
        service.stopped_s = 0.0
    for row in range(top):
        container = containers[row]
        if container.used and container.service != NONE:
            service = services[container.service]
            service.shares_s += container.serving_s
            if container.serving_from < math.inf:
                service.received_s = max(service.received_s, container.serving_s)
            else:
                service.stopped_s = max(service.stopped_s, container.serving_s)
    for service_row in range(len(services)):
        service = services[service_row]
        service.offered = service.rate * step_s
        # Stopped pods received from the start of the step, others until its end.
        received_s = min(service.received_s + service.stopped_s, step_s)
        service.taken = service.offered * (received_s / step_s)
        service.dropped = service.offered - service.taken


@compiled
def arrivals(serving_s: float, shares_s: float, taken: float) -> float:
    """Return the requests of a container that received for ``serving_s``."""
    return taken * serving_s / shares_s if shares_s > 0.0 else 0.0


@compiled
def want(
    top: int,
    step: int,
    step_s: float,
    containers: RecordArray,
    signals: RecordArray,
    services: RecordArray,
    hosts: RecordArray,
) -> None:
    """Compute the demand for cores, network and disk."""
    for host_row in range(len(hosts)):
        host = hosts[host_row]
        host.wanted = 0.0
        host.weight = 0.0
        host.network_wanted = 0.0
        host.disk_wanted = 0.0
    for row in range(top):
        container = containers[row]
        if not container.used:
            continue
        running = container.running_s / step_s
        own = container.startup_cpu * container.starting_s / step_s
        network, disk = 0.0, 0.0
        if container.cpu_signal != NONE:
            signal = signals[container.cpu_signal]
            factor = 1.0
            if signal.noise > 0.0:
                container.cpu_noise, factor = noise_factor(
                    container.cpu_noise,
                    signal.noise,
                    signal.kept,
                    container.stream,
                    2 * step + CPU_NOISE,
                )
            own += running * signal.value * factor
        if container.network_signal != NONE:
            network = signals[container.network_signal].value * running
        if container.disk_signal != NONE:
            disk = signals[container.disk_signal].value * running
        working = max(container.running_s - container.starting_s, 0.0) / step_s
        wanted = min(container.work_cores, container.work_left / step_s) * working
        if container.service != NONE:
            service = services[container.service]
            own += service.base_cpu * running
            if not container.lost:
                due = container.in_system + arrivals(
                    container.serving_s, service.shares_s, service.taken
                )
                wanted += due * service.work_s / step_s
                network += due * service.network / step_s
                disk += due * service.disk / step_s
        container.own = own
        most = container.cpu_limit * running if running > 0.0 else 0.0
        container.throttling = 1.0 if own + wanted > most * (1.0 + 1e-9) else 0.0
        container.wanted = min(own + wanted, most)
        container.cpu = container.wanted
        container.network = network
        container.disk = disk
        host = hosts[container.node]
        host.network_wanted += network
        host.disk_wanted += disk
        if container.wanted > 0.0:
            host.wanted += container.wanted
            host.weight += container.cpu_weight


@compiled
def share_cores(top: int, containers: RecordArray, hosts: RecordArray) -> None:
    """Share the cores of overcommitted nodes by weight, in rounds."""
    again = False
    for host_row in range(len(hosts)):
        host = hosts[host_row]
        host.crowded = host.wanted > host.cores
        again = again or host.crowded
        host.left = host.cores
        host.left_weight = host.weight
    if not again:
        return
    for row in range(top):
        container = containers[row]
        container.settled = not (
            container.used and container.wanted > 0.0 and hosts[container.node].crowded
        )
    while again:
        again = False
        for host_row in range(len(hosts)):
            host = hosts[host_row]
            host.fair = host.left / host.left_weight if host.left_weight > 0.0 else 0.0
        for row in range(top):
            container = containers[row]
            if container.settled:
                continue
            host = hosts[container.node]
            container.cpu = min(container.wanted, host.fair * container.cpu_weight)
            if container.wanted <= host.fair * container.cpu_weight:
                container.settled = True
                host.left -= container.wanted
                host.left_weight -= container.cpu_weight
                again = True


@compiled
def link_share(wanted: float, offered: float) -> float:
    """Return the share of the demanded bytes that a link can move."""
    return offered / wanted if wanted > offered else 1.0
