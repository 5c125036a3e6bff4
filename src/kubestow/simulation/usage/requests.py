"""Simulates every request: single arrivals, processor sharing, quota periods.

This is slow and exact, unlike the rates of ``stations``; services choose it with the model
``requests``, and tests compare both. Requests of a service arrive as a Poisson process and go to a
random ready pod. The requests in a pod share its cores evenly, none faster than its threads allow;
with a CPU limit all of them pause when the quota of a period is exhausted, until the next period
(``cpu.max``). All requests of a pod run at one speed, so one virtual clock per pod is enough: a
request is finished when that clock has advanced by its work.
"""

from __future__ import annotations

import math

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.policies.compiling import compiled
from kubestow.simulation import kernel
from kubestow.simulation.usage import containers, response_times
from kubestow.simulation.usage.containers import NONE, Record, RecordArray

ROOM = 4096  # capacity of a pod in requests; further ones are refused
_NO_QUOTA = 1e-12  # core-seconds
_ALMOST = 1e-10  # core-seconds that a finished request may lack, from rounding
_PER_STEP = 1 << 24  # random numbers reserved for one step

PLAY = containers.make(
    [
        ("stream", np.int64),  # of the container that holds the row
        ("inside", np.int64),  # requests
        ("clock", np.float64),  # core-seconds per request since the container started
        ("quota_left", np.float64),
        ("period_end", np.float64),
    ]
)


@compiled
def draw_work(mean: float, variability: float, stream: int, counter: int) -> float:
    """Return the CPU time of a request, with a mean and a squared coefficient of variation.

    Up to 1 a constant and an exponential part, m (1 - sqrt v) + Exp(m sqrt v); above 1 one of two
    exponentials with equal shares of the work (hyperexponential with balanced means).
    """
    chance = kernel.uniform(stream, counter)
    if variability <= 1.0:
        part = math.sqrt(max(variability, 0.0))
        return mean * (1.0 - part) - mean * part * math.log(chance)
    often = (1.0 + math.sqrt((variability - 1.0) / (variability + 1.0))) / 2.0
    share = often if kernel.uniform(stream + 7, counter) < often else 1.0 - often
    return -mean / (2.0 * share) * math.log(chance)


@compiled
def draw_arrivals(
    service: Record, step: int, start_s: float, step_s: float, times: Floats, works: Floats
) -> int:
    """Draw the requests of one service in one step; return their number."""
    count = 0
    now_s = start_s
    base = step * _PER_STEP
    if service.rate <= 0.0:
        return 0
    while count < len(times):
        gap = -math.log(kernel.uniform(service.stream, base + 4 * count)) / service.rate
        now_s += gap
        if now_s >= start_s + step_s:
            break
        times[count] = now_s
        works[count] = draw_work(
            service.work_s, service.variability, service.stream + 1, base + 4 * count + 1
        )
        count += 1
    return count


@compiled
def receives(container: Record, time_s: float, start_s: float) -> bool:
    """Return whether a container received requests at a time of this step."""
    if container.serving_from < math.inf:
        return bool(container.serving_from <= time_s)
    return bool(time_s < start_s + container.serving_s)


@compiled
def deal(
    row: int,
    service: Record,
    count: int,
    step: int,
    start_s: float,
    times: Floats,
    containers: RecordArray,
    top: int,
    candidates: Ints,
    chosen: Ints,
) -> None:
    """Choose a container for every request; ``NONE`` if none receives."""
    receivers = 0
    for container_row in range(top):
        container = containers[container_row]
        if container.used and container.service == row and container.serving_s > 0.0:
            candidates[receivers] = container_row
            receivers += 1
    for index in range(count):
        chosen[index] = NONE
        if not receivers:
            continue
        first = int(
            kernel.uniform(service.stream + 2, step * _PER_STEP + 4 * index + 2) * receivers
        )
        for offset in range(receivers):
            container_row = candidates[(first + offset) % receivers]
            if receives(containers[container_row], times[index], start_s):
                chosen[index] = container_row
                break


@compiled
def push(finish: Floats, arrived: Floats, inside: int, at: float, time_s: float) -> None:
    """Put a request into a heap of requests by their finish on the virtual clock."""
    place = inside
    while place > 0:
        above = (place - 1) // 2
        if finish[above] <= at:
            break
        finish[place], arrived[place] = finish[above], arrived[above]
        place = above
    finish[place], arrived[place] = at, time_s


@compiled
def pop(finish: Floats, arrived: Floats, inside: int) -> None:
    """Take the first request out of a heap of so many."""
    last, last_time = finish[inside - 1], arrived[inside - 1]
    place, size = 0, inside - 1
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and finish[below + 1] < finish[below]:
            below += 1
        if last <= finish[below]:
            break
        finish[place], arrived[place] = finish[below], arrived[below]
        place = below
    finish[place], arrived[place] = last, last_time


@compiled
def play(
    row: int,
    count: int,
    times: Floats,
    works: Floats,
    chosen: Ints,
    begin_s: float,
    end_s: float,
    cores: float,
    limit: float,
    period_s: float,
    threads: float,
    slo_s: float,
    timeout_s: float,
    state: Record,
    finish: Floats,
    arrived: Floats,
    histogram: Floats,
    sums: Floats,
) -> float:
    """Play one container from a time to another; return the core-seconds used.

    Args:
        row: The container.
        count: Requests of the service in this step.
        times: When they came.
        works: Their processor time.
        chosen: Where they went.
        begin_s: When the container began to run in this step.
        end_s: Until when it ran.
        cores: Cores within its reach.
        limit: Its limit; infinite without one.
        period_s: Length of a quota period.
        threads: Cores one request can use.
        slo_s: The promised response time.
        timeout_s: When clients give up.
        state: Its virtual clock and quota, changed.
        finish: Heap of the requests inside, changed.
        arrived: When they came, changed.
        histogram: Response times, changed.
        sums: Served, timed out, late, response times in sum, refused, throttled seconds; changed.
    """
    now_s, used = begin_s, 0.0
    give_up(begin_s, timeout_s, state, finish, arrived, histogram, sums)
    following = next_arrival(row, 0, count, chosen)
    limited = limit < math.inf
    if limited and state.period_end <= now_s:
        state.period_end = (math.floor(now_s / period_s) + 1.0) * period_s
        state.quota_left = limit * period_s
    while now_s < end_s:
        inside = state.inside
        speed = min(threads, cores / inside) if inside else 0.0
        if limited and state.quota_left <= _NO_QUOTA:
            speed = 0.0
        arrival_s = times[following] if following < count else math.inf
        left = finish[0] - state.clock if inside else math.inf
        done_s = now_s + left / speed if speed > 0.0 else math.inf
        if left <= _ALMOST:
            done_s = now_s
        period_end_s = state.period_end if limited else math.inf
        empty_s = now_s + state.quota_left / (speed * inside) if limited and speed else math.inf
        until_s = max(min(arrival_s, done_s, end_s, period_end_s, empty_s), now_s)
        passed_s = until_s - now_s
        state.clock += speed * passed_s
        used += speed * inside * passed_s
        now_s = until_s
        if limited:
            state.quota_left -= speed * inside * passed_s
            sums[5] += passed_s if inside and speed == 0.0 else 0.0
            if until_s == empty_s:
                state.quota_left = 0.0
            if until_s == period_end_s:
                state.period_end += period_s
                state.quota_left = limit * period_s
        if until_s == done_s:
            state.clock = finish[0]
            record(now_s - arrived[0], slo_s, timeout_s, histogram, sums)
            pop(finish, arrived, inside)
            state.inside -= 1
        elif until_s == arrival_s:
            accept(state, finish, arrived, works[following], now_s, sums)
            following = next_arrival(row, following + 1, count, chosen)
    return used


@compiled
def give_up(
    now_s: float,
    timeout_s: float,
    state: Record,
    finish: Floats,
    arrived: Floats,
    histogram: Floats,
    sums: Floats,
) -> None:
    """Remove the requests whose clients have timed out; called once per step."""
    kept = 0
    for index in range(state.inside):
        if now_s - arrived[index] > timeout_s:
            record(now_s - arrived[index], timeout_s, timeout_s, histogram, sums)
        else:
            push(finish, arrived, kept, finish[index], arrived[index])
            kept += 1
    state.inside = kept


@compiled
def next_arrival(row: int, first: int, count: int, chosen: Ints) -> int:
    """Return the next request of a container."""
    while first < count and chosen[first] != row:
        first += 1
    return first


@compiled
def accept(
    state: Record, finish: Floats, arrived: Floats, work: float, now_s: float, sums: Floats
) -> None:
    """Accept a request if the pod has capacity."""
    if state.inside < ROOM:
        push(finish, arrived, state.inside, state.clock + work, now_s)
        state.inside += 1
    else:
        sums[4] += 1.0


@compiled
def record(
    response_s: float, slo_s: float, timeout_s: float, histogram: Floats, sums: Floats
) -> None:
    """Record one response."""
    counted_s = min(response_s, timeout_s)
    histogram[response_times.bucket_of(counted_s)] += 1.0
    sums[3] += counted_s
    if response_s > timeout_s:
        sums[1] += 1.0
    else:
        sums[0] += 1.0
        sums[2] += 1.0 if response_s > slo_s else 0.0
