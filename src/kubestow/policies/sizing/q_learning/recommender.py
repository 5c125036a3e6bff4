"""The recommender ``q-learning``: one tabular agent per container and resource.

Boettcher 2023 (3.8 to 3.10): amounts on a grid of 64 units, actions more, less and stay, rewards
for memory between maximum and maximum plus buffer, and for CPU between average and maximum.
``begin`` and ``evaluate`` are for hosts that observe runs one by one and keep the memory;
``estimate`` replays all runs in order. It exists for reproduction and comparison: ``closed_form``
computes the fixed point of the agents without learning.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kubestow.model.arrays import Floats, Words
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates
from kubestow.policies.sizing.q_learning import agents, parameters, rewards, statistics
from kubestow.policies.sizing.q_learning.memory import (
    AgentMemory,
    QMemory,
    QRequest,
    ResourceUse,
    RunStatistics,
)
from kubestow.policies.sizing.q_learning.parameters import QParameters, QSettings

Q_LEARNING = "q-learning"


_LARGEST_SEED: Final = 2**63


@dataclass(frozen=True, slots=True)
class QLearning:
    """Requests by learning agents."""

    parameters: QParameters = field(default_factory=QParameters)
    name: str = Q_LEARNING

    def begin(self, cpu_m: float | None = None, memory_mb: float | None = None) -> QMemory:
        """Return the memory of a container of which only the requests are known."""
        return QMemory(AgentMemory(cpu_m), AgentMemory(memory_mb))

    def evaluate(
        self, memory: QMemory, run: RunStatistics, rng: np.random.Generator
    ) -> tuple[QRequest, QMemory]:
        """Return the request after a run, and the new memory."""
        p = self.parameters
        cpu = _evaluate(memory.cpu, run.cpu, parameters.settle(p, memory=False), rng)
        ram = _evaluate(memory.memory, run.memory, parameters.settle(p, memory=True), rng)
        return QRequest(cpu.request, ram.request), QMemory(cpu, ram)

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return the request of each container after all its runs; a pod's window is a run."""
        runs = statistics.collect(usage, self.parameters.window_s)
        killed = usage.oom_killed_bytes / statistics.BYTES_PER_MB
        cpu = self._size(usage, runs.cpu_mean_m, runs.cpu_peak_m, np.zeros(len(killed)))
        ram = self._size(usage, runs.memory_peak_mb, runs.memory_peak_mb, killed, memory=True)
        cores = [part / 1000.0 for part in cpu]
        sizes = [part * statistics.BYTES_PER_MB for part in ram]
        return estimates.Estimates(cores[0], sizes[0], cores[1], sizes[1], cores[2], sizes[2])

    def _size(
        self,
        usage: Usage,
        averages: Floats,
        maxima: Floats,
        killed: Floats,
        *,
        memory: bool = False,
    ) -> tuple[Floats, Floats, Floats]:
        """Return request and band after the last run, by container."""
        settings = parameters.settle(self.parameters, memory=memory)
        requests = np.full(maxima.shape, np.nan)
        failures = np.zeros(maxima.shape)
        last = statistics.last_known(maxima)
        # The run in which a container was killed is not known: assume the last. One that was never
        # measured was killed in its first.
        last = np.where((last < 0) & (killed > 0.0) & bool(maxima.shape[1]), 0, last)
        containers = np.flatnonzero(last >= 0)
        failures[containers, last[containers]] = killed[containers]
        unknown = np.full(len(maxima), np.nan)
        seeds = derive_seeds(usage.names, memory=memory)
        agents.replay(averages, maxima, failures, unknown, settings, seeds, requests)
        answers = np.full((3, len(maxima)), np.nan)
        for container in containers.tolist():
            run = int(last[container])
            average, largest = agents.last_statistics(
                averages[container], maxima[container], run, settings.last_runs
            )
            if np.isnan(largest):
                average = largest = float(killed[container])
            band = rewards.find_band(average, largest, float(killed[container]), settings)
            request = requests[container, run]
            # Where the upper edge has the most reward, nothing below the request is as good.
            upper_edge = settings.memory and settings.slope > 0.0
            low = request if upper_edge else min(band.low, request)
            answers[:, container] = request, low, max(band.high, request)
        return answers[0], answers[1], answers[2]


def derive_seeds(names: tuple[str, ...], *, memory: bool) -> Words:
    """Return reproducible seeds of agents from the names of their containers."""
    kind = "memory" if memory else "cpu"
    return np.array([zlib.crc32(f"{name}/{kind}".encode()) for name in names], dtype=np.uint64)


def _evaluate(
    agent: AgentMemory, use: ResourceUse | None, settings: QSettings, rng: np.random.Generator
) -> AgentMemory:
    """Return an agent's memory after a run; a run that was not measured changes nothing."""
    if use is None:
        return agent
    averages = (*agent.averages, use.average)[-settings.last_runs :]
    maxima = (*agent.maxima, use.largest)[-settings.last_runs :]
    failures = (*agent.failures, float(use.failed))[-settings.kill_runs :]
    failed = agents.last_failure(np.array(failures), len(failures) - 1, settings)
    average, largest = agents.last_statistics(
        np.array(averages), np.array(maxima), len(maxima) - 1, settings.last_runs
    )
    seed = np.array([rng.integers(_LARGEST_SEED)], dtype=np.uint64)
    present = np.nan if agent.request is None else float(agent.request)
    request, values = agents.evaluate(
        agent.values.copy(), present, average, largest, failed, settings, seed
    )
    return AgentMemory(float(request), values, averages, maxima, failures)
