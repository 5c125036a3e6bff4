"""Synthetic runs calibrated to tables 5.3 to 5.8, and their replay with limits that kill.

No raw data of Boettcher 2023 exist, so runs are drawn: average and maximum of a container are
Gaussian around the printed values with a given spread; the first runs are scaled so that their
means are the printed numbers. A run has 30 one-minute samples: CPU has its maximum once and is
constant otherwise, memory rises from 60 % to its maximum. In the replay, a run that needs more
memory than its limit is killed and repeated with a limit raised as by VPA, until it fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.model.usage import Usage, arrange
from kubestow.studies.boettcher.tables import Printed

SAMPLES: Final = 30
_RISE: Final = np.linspace(0.6, 1.0, SAMPLES)
# VPA's growth after a kill: 1.2 times, at least 100 MiB.
_GROWTH: Final = 1.2
_LEAST_GROWTH_MB: Final = 100 * 2**20 / 1e6
MB: Final = 1e6


@dataclass(frozen=True, slots=True, eq=False)
class RunScene:
    """Runs of containers, by container and run, and the requests before the first run."""

    names: tuple[str, ...]
    cpu_mean_m: Floats
    cpu_peak_m: Floats
    memory_peak_mb: Floats
    cpu_request_m: Floats
    memory_request_mb: Floats
    memory_limit_mb: Floats

    @property
    def runs(self) -> int:
        """Number of runs of each container."""
        return int(self.memory_peak_mb.shape[1])

    def samples(self) -> tuple[Floats, Floats]:
        """Return CPU (cores) and memory (bytes) by container, run and sample."""
        rest = (SAMPLES * self.cpu_mean_m - self.cpu_peak_m) / (SAMPLES - 1)
        cpu = np.repeat(np.maximum(rest, 0.0)[:, :, np.newaxis], SAMPLES, axis=2)
        cpu[:, :, SAMPLES // 2] = self.cpu_peak_m
        return cpu / 1000.0, self.memory_peak_mb[:, :, np.newaxis] * _RISE * MB

    def summaries(self) -> tuple[Floats, Floats]:
        """Return one point per run: average CPU (cores) and peak memory (bytes)."""
        return (
            self.cpu_mean_m[:, :, np.newaxis] / 1000.0,
            self.memory_peak_mb[:, :, np.newaxis] * MB,
        )


@dataclass(frozen=True, slots=True, eq=False)
class RunRequest:
    """Requests of containers in millicores and megabytes; NaN keeps the current request."""

    cpu_m: Floats
    memory_mb: Floats


class Sizer(Protocol):
    """Sets requests after each run; every replay has its own sizer."""

    def decide(
        self, scene: RunScene, run: int, present: RunRequest, killed_mb: Floats
    ) -> RunRequest:
        """Return the requests of the next run.

        Args:
            scene: All runs; only those up to ``run`` may be used.
            run: The run that has ended.
            present: The current requests.
            killed_mb: Largest limit at which the run was killed; 0 if it was not.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """The outcome of a replay, by container and run.

    Attributes:
        cpu_m: Request after each run.
        memory_mb: Request after each run.
        before_mb: Memory request during the run.
        limit_mb: Memory limit at the beginning of the run.
        kills: How often the run was killed before it fitted.
        lost_mb: Sum of the limits of killed attempts.
    """

    cpu_m: Floats
    memory_mb: Floats
    before_mb: Floats
    limit_mb: Floats
    kills: Ints
    lost_mb: Floats


def draw(
    containers: Sequence[Printed], runs: int, calibrated: int, spread: float, seed: int
) -> RunScene:
    """Draw runs.

    Args:
        containers: The containers.
        runs: Number of runs of each container.
        calibrated: Number of first runs whose means are the printed numbers.
        spread: Standard deviation from run to run, as a share.
        seed: Seed of random numbers.
    """
    rng = np.random.default_rng([seed, round(spread * 1e4)])
    printed = np.array([(c.cpu_average_m, c.cpu_max_m, c.memory_max_mb) for c in containers])
    factors = 1.0 + spread * rng.standard_normal((3, len(containers), runs))
    first = factors[:, :, :calibrated]
    factors[:, :, :calibrated] = first / first.mean(axis=2, keepdims=True)
    mean, peak, memory = printed.T[:, :, np.newaxis] * factors
    return RunScene(
        tuple(f"boettcher/Job/pod-{c.pod}/{c.name}" for c in containers),
        mean,
        np.maximum(peak, mean),
        memory,
        np.array([c.cpu_request_m for c in containers]),
        np.array([c.memory_request_mb for c in containers]),
        np.array([c.memory_limit_mb for c in containers]),
    )


def replay(scene: RunScene, sizer: Sizer, *, keeps_limit: bool = False) -> Replay:
    """Replay all runs; requests change only between runs.

    Args:
        scene: The runs.
        sizer: Sets the requests.
        keeps_limit: Whether limits stay unchanged; otherwise they equal the memory requests.
    """
    shape = scene.memory_peak_mb.shape
    cpu_m, memory_mb, before_mb, limit_mb, lost_mb = (np.zeros(shape) for _ in range(5))
    record = Replay(cpu_m, memory_mb, before_mb, limit_mb, np.zeros(shape, np.int64), lost_mb)
    present = RunRequest(scene.cpu_request_m, scene.memory_request_mb)
    limit = scene.memory_limit_mb
    for run in range(scene.runs):
        record.before_mb[:, run], record.limit_mb[:, run] = present.memory_mb, limit
        kills, lost, killed = _attempt(scene.memory_peak_mb[:, run], limit)
        record.kills[:, run], record.lost_mb[:, run] = kills, lost
        answer = sizer.decide(scene, run, present, killed)
        present = RunRequest(
            np.where(np.isnan(answer.cpu_m), present.cpu_m, answer.cpu_m),
            np.where(np.isnan(answer.memory_mb), present.memory_mb, answer.memory_mb),
        )
        # A container without a recommendation keeps its limit as well as its request.
        limit = (
            limit if keeps_limit else np.where(np.isnan(answer.memory_mb), limit, present.memory_mb)
        )
        record.cpu_m[:, run], record.memory_mb[:, run] = present.cpu_m, present.memory_mb
    return record


def _attempt(peaks: Floats, limit: Floats) -> tuple[Ints, Floats, Floats]:
    """Return kills, sum of the limits of killed attempts, and the largest of them, by container."""
    kills, lost, killed = np.zeros(len(peaks), np.int64), np.zeros(len(peaks)), np.zeros(len(peaks))
    raised = limit
    while (short := peaks > raised).any():
        kills += short
        lost += np.where(short, raised, 0.0)
        killed = np.where(short, raised, killed)
        raised = np.where(short, np.maximum(raised * _GROWTH, raised + _LEAST_GROWTH_MB), raised)
    return kills, lost, killed


def make_batch(
    scene: RunScene, points: tuple[Floats, Floats], run: int, killed_mb: Floats
) -> Usage:
    """Return the runs so far as a usage batch.

    Args:
        scene: The runs.
        points: CPU and memory by container, run and point.
        run: The last run to include.
        killed_mb: Limits at which that run was killed. Earlier kills are left out: their repeated
            runs show the memory that was needed.
    """
    cpu, memory = (part[:, : run + 1].reshape(-1, part.shape[2]) for part in points)
    owners = np.repeat(np.arange(len(scene.names)), run + 1)
    end_s = 60.0 * SAMPLES * (run + 1)
    return arrange(scene.names, owners, 60.0, end_s, cpu, memory, killed_mb * MB, runs=True)
