"""One step of usage for all containers of all nodes at once.

First the demand of all containers is computed, then each node shares its cores, then requests are
served, memory follows, and counters advance. The life cycle handles the consequences: OOM kills,
nodes under memory pressure.
"""

from __future__ import annotations

import math

from kubestow.model.arrays import Floats
from kubestow.policies.compiling import compiled
from kubestow.simulation.usage import request_tables, response_times, serving, sharing
from kubestow.simulation.usage.containers import NONE, Record, RecordArray

CACHE_S = 600.0  # time in which the page cache fills by 63 %


@compiled
def advance_usage(
    top: int,
    step: int,
    start_s: float,
    step_s: float,
    containers: RecordArray,
    signals: RecordArray,
    services: RecordArray,
    hosts: RecordArray,
    histograms: Floats,
    table: response_times.ResponseTable,
    played: request_tables.PlayTable,
) -> None:
    """Compute the use of one step.

    Args:
        top: Number of rows of ``containers`` in use.
        step: Number of the step.
        start_s: When it began.
        step_s: How long it was.
        containers: The containers, changed.
        signals: What they use by themselves.
        services: What requests cost and what became of them, changed.
        hosts: The nodes, changed.
        histograms: Response times per service, changed.
        table: Distribution of response times.
        played: Requests that are played one by one, changed.
    """
    read_watches(top, start_s, step_s, containers)
    sharing.deal_out(top, step_s, containers, services)
    sharing.want(top, step, step_s, containers, signals, services, hosts)
    sharing.share_cores(top, containers, hosts)
    serving.serve(top, step_s, containers, services, hosts)
    request_tables.serve_played(
        top, step, start_s, step_s, containers, services, hosts, histograms, played
    )
    remember(top, step, start_s + step_s, step_s, containers, signals, services, hosts)
    settle(services, histograms, table)


@compiled
def read_watches(top: int, start_s: float, step_s: float, containers: RecordArray) -> None:
    """Add the seconds of running stopwatches."""
    end_s = start_s + step_s
    for row in range(top):
        container = containers[row]
        if container.running_from < end_s:
            container.running_s += end_s - max(container.running_from, start_s)
        if container.starting_from < end_s:
            container.starting_s += end_s - max(container.starting_from, start_s)
        if container.serving_from < end_s:
            container.serving_s += end_s - max(container.serving_from, start_s)
        container.running_s = min(container.running_s, step_s)
        container.starting_s = min(container.starting_s, step_s)
        container.serving_s = min(container.serving_s, step_s)


@compiled
def remember(
    top: int,
    step: int,
    end_s: float,
    step_s: float,
    containers: RecordArray,
    signals: RecordArray,
    services: RecordArray,
    hosts: RecordArray,
) -> None:
    """Advance memory and counters, and reset the stopwatches."""
    for row in range(len(hosts)):
        host = hosts[row]
        host.cpu = 0.0
        host.memory = 0.0
        host.cache = 0.0
    for row in range(top):
        container = containers[row]
        if not container.used:
            continue
        host = hosts[container.node]
        container.cpu_total += container.cpu * step_s
        host.cpu += container.cpu
        if container.cpu_limit < math.inf:
            periods = container.running_s / serving.PERIOD_S
            container.periods += periods
            container.throttled += periods * container.throttling
        container.running_s = 0.0
        container.starting_s = 0.0
        container.serving_s = 0.0
        container.memory = 0.0
        container.cache = 0.0
        container.killed = False
        if not container.running_from < end_s:
            continue
        memory = memory_in_use(container, step, end_s, signals, services)
        container.killed = memory > container.memory_limit
        container.memory = min(memory, container.memory_limit)
        container.peak_memory = max(container.peak_memory, container.memory)
        host.memory += container.memory
        if container.cache_target > 0.0:
            filled = 1.0 - math.exp(-(end_s - container.since_s) / CACHE_S)
            container.cache = min(
                container.cache_target * filled, container.memory_limit - container.memory
            )
            host.cache += container.cache
    shrink_caches(top, containers, hosts)


@compiled
def shrink_caches(top: int, containers: RecordArray, hosts: RecordArray) -> None:
    """Reclaim page cache on full nodes."""
    full = False
    for row in range(len(hosts)):
        full = full or hosts[row].memory + hosts[row].cache > hosts[row].room
    if not full:
        return
    for row in range(top):
        container = containers[row]
        if not container.used or container.cache <= 0.0:
            continue
        host = hosts[container.node]
        if host.memory + host.cache > host.room:
            container.cache *= max(host.room - host.memory, 0.0) / host.cache
    for row in range(len(hosts)):
        host = hosts[row]
        host.cache = min(host.cache, max(host.room - host.memory, 0.0))


@compiled
def memory_in_use(
    container: Record, step: int, end_s: float, signals: RecordArray, services: RecordArray
) -> float:
    """Return the memory usage of a container, without page cache."""
    # Leaks of initial containers begin at time 0.
    memory = container.leak * (end_s - max(container.since_s, 0.0)) if container.leak > 0.0 else 0.0
    if container.memory_signal != NONE:
        signal = signals[container.memory_signal]
        factor = 1.0
        if signal.noise > 0.0:
            container.memory_noise, factor = sharing.noise_factor(
                container.memory_noise,
                signal.noise,
                signal.kept,
                container.stream,
                2 * step + sharing.MEMORY_NOISE,
            )
        memory += signal.value * factor
    if container.starting_from < end_s:
        memory += container.startup_memory
    if container.service != NONE:
        service = services[container.service]
        memory += service.base_memory + service.memory * container.in_system
    return float(memory)


@compiled
def settle(services: RecordArray, histograms: Floats, table: response_times.ResponseTable) -> None:
    """Add the step to the totals of every service.

    A client that gives up has waited for the time-out: such requests count with that time among the
    response times, and among the dropped ones.
    """
    for row in range(len(services)):
        service = services[row]
        if not service.played:
            settle_rates(service, histograms[row], table)
        service.dropped += service.timed_out
        service.all_offered += service.offered
        service.all_served += service.served
        service.all_dropped += service.dropped
        service.all_late += service.late
        service.all_response += service.response_sum


@compiled
def settle_rates(service: Record, histogram: Floats, table: response_times.ResponseTable) -> None:
    """Convert the means of a step to a distribution of response times."""
    service.late = 0.0
    given_up = service.timed_out
    if given_up > 0.0:
        histogram[response_times.bucket_of(service.timeout_s)] += given_up
        service.response_sum += given_up * service.timeout_s
    if service.served <= 0.0:
        return
    mean_s = (service.response_sum - given_up * service.timeout_s) / service.served
    square = service.response_squares / service.served
    variation = max(square / mean_s**2 - 1.0, 1e-4)
    capped_s = response_times.add(
        histogram, service.served, mean_s, variation, service.timeout_s, table
    )
    service.response_sum -= service.served * (mean_s - capped_s)
    slow = 1.0 - response_times.share_below(service.slo_s / mean_s, variation, table)
    too_slow = 1.0 - response_times.share_below(service.timeout_s / mean_s, variation, table)
    service.late = service.served * max(slow - too_slow, 0.0)
    service.timed_out += service.served * too_slow
    service.served -= service.served * too_slow
