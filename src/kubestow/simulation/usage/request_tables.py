"""Requests that are simulated one by one: their tables, and a step of these services."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.policies.compiling import compiled
from kubestow.simulation.usage import requests as usage_requests
from kubestow.simulation.usage import serving
from kubestow.simulation.usage.containers import NONE, RecordArray

_FIRST_ROOM = 8
SERVED, TIMED_OUT, LATE, RESPONSE, REFUSED, PAUSED_S = range(6)


class PlayTable(NamedTuple):
    """Pods whose requests are simulated one by one, and the requests of the current service."""

    states: RecordArray  # [pods]
    finish: Floats  # [pods, requests]: heap, by the pod's virtual clock
    arrived: Floats  # [pods, requests]: when they came
    times: Floats  # requests of one service in one step
    works: Floats
    chosen: Ints
    candidates: Ints
    sums: Floats


class PlayedRequests:
    """The pods whose requests are simulated one by one."""

    def __init__(self, most_requests: int) -> None:
        """Allocate the tables.

        Args:
            most_requests: Most requests of one service in one step; 0 if there is none.
        """
        rows = _FIRST_ROOM if most_requests else 0
        self.table = _make(rows, most_requests, 1)
        self._free = list(range(rows - 1, -1, -1))

    def add(self, containers: int) -> int:
        """Allocate a row for a pod.

        Args:
            containers: Number of containers, all of which may be candidates.
        """
        if not self._free:
            self._grow()
        if len(self.table.candidates) < containers:
            self.table = self.table._replace(candidates=np.zeros(2 * containers, dtype=np.int64))
        row = self._free.pop()
        self.reset(row)
        return row

    def reset(self, row: int) -> None:
        """Clear a pod and restart its clock."""
        self.table.states[row] = 0

    def leave(self, row: int) -> None:
        """Free a row."""
        self._free.append(row)

    def _grow(self) -> None:
        old = self.table
        size = len(old.states)
        new = _make(2 * size, len(old.times), len(old.candidates))
        for name in ("states", "finish", "arrived"):
            getattr(new, name)[:size] = getattr(old, name)
        self.table = new
        self._free = list(range(2 * size - 1, size - 1, -1))


def _make(rows: int, requests: int, containers: int) -> PlayTable:
    return PlayTable(
        states=np.zeros(rows, dtype=usage_requests.PLAY),
        finish=np.zeros((rows, usage_requests.ROOM)),
        arrived=np.zeros((rows, usage_requests.ROOM)),
        times=np.zeros(requests),
        works=np.zeros(requests),
        chosen=np.zeros(requests, dtype=np.int64),
        candidates=np.zeros(containers, dtype=np.int64),
        sums=np.zeros(6),
    )


@compiled
def serve_played(
    top: int,
    step: int,
    start_s: float,
    step_s: float,
    containers: RecordArray,
    services: RecordArray,
    hosts: RecordArray,
    histograms: Floats,
    table: PlayTable,
) -> None:
    """Simulate the requests of this step for all services with the model ``requests``.

    Args:
        top: Number of rows of ``containers`` in use.
        step: Number of the step.
        start_s: When it began.
        step_s: How long it was.
        containers: The containers, changed.
        services: The services, changed.
        hosts: The nodes.
        histograms: Response times per service, changed.
        table: The pods' requests, changed.
    """
    for row in range(len(services)):
        service = services[row]
        if not service.played:
            continue
        count = usage_requests.draw_arrivals(
            service, step, start_s, step_s, table.times, table.works
        )
        usage_requests.deal(
            row,
            service,
            count,
            step,
            start_s,
            table.times,
            containers,
            top,
            table.candidates,
            table.chosen,
        )
        service.offered = count
        service.dropped = 0.0
        for index in range(count):
            lost = table.chosen[index] == NONE or containers[table.chosen[index]].lost
            service.dropped += 1.0 if lost else 0.0
        table.sums[:] = 0.0
        service.queue = 0.0
        for container_row in range(top):
            container = containers[container_row]
            if (
                not container.used
                or container.service != row
                or container.lost
                or container.running_s <= 0.0
            ):
                continue
            running = container.running_s / step_s
            cores = serving.cores_within_reach(
                container.cpu,
                container.own,
                container.cpu_limit,
                container.cpu_weight,
                running,
                hosts[container.node],
            )
            # Under a limit, more cores than the limit may run at once until the quota is exhausted.
            at_once = max(cores, min(container.parallel, hosts[container.node].cores))
            begin_s = max(
                start_s, min(container.running_from, start_s + step_s - container.running_s)
            )
            paused_s = table.sums[PAUSED_S]
            used_s = usage_requests.play(
                container_row,
                count,
                table.times,
                table.works,
                table.chosen,
                begin_s,
                begin_s + container.running_s,
                at_once
                if container.cpu_limit < container.parallel
                else min(cores, container.parallel),
                container.cpu_limit if container.cpu_limit < container.parallel else np.inf,
                serving.PERIOD_S,
                service.threads,
                service.slo_s,
                service.timeout_s,
                table.states[container.play],
                table.finish[container.play],
                table.arrived[container.play],
                histograms[row],
                table.sums,
            )
            taken = used_s / step_s
            container.cpu = taken + min(container.own, max(container.cpu - taken, 0.0))
            container.throttling = min((table.sums[PAUSED_S] - paused_s) / container.running_s, 1.0)
            container.in_system = table.states[container.play].inside
            service.queue += container.in_system
        service.served = table.sums[SERVED]
        service.timed_out = table.sums[TIMED_OUT]
        service.late = table.sums[LATE]
        service.response_sum = table.sums[RESPONSE]
        service.dropped += table.sums[REFUSED]
