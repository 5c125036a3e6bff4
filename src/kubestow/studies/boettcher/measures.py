"""Measures of replays: bands and sums after the runs of the tables, misses in later runs.

A replay has two parts. After ``TABLE_RUNS`` runs the requests are compared with tables 5.3 to 5.8.
Each run after that is evaluated against the request that was set before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kubestow.model.arrays import Floats
from kubestow.studies.boettcher import tables
from kubestow.studies.boettcher.runs import Replay, RunScene
from kubestow.workflows import comparing

Measures = dict[str, float]

TABLE_RUNS: Final = 20
EVALUATED_RUNS: Final = 30
RUNS: Final = TABLE_RUNS + EVALUATED_RUNS

_CPU: Final = np.array([tables.cpu_band_m(container) for container in tables.CONTAINERS]).T
_MEMORY: Final = np.array([tables.memory_band_mb(c) for c in tables.CONTAINERS]).T


def in_cpu_band(cpu_m: Floats) -> NDArray[np.bool_]:
    """Return which requests lie between the printed average and maximum."""
    inside: NDArray[np.bool_] = (cpu_m >= _CPU[0]) & (cpu_m <= _CPU[1])
    return inside


def measure(scene: RunScene, replay: Replay) -> Measures:
    """Return all measures of a replay of the containers of the tables."""
    last = TABLE_RUNS - 1
    cpu_m, memory_mb = replay.cpu_m[:, last], replay.memory_mb[:, last]
    after = slice(TABLE_RUNS, None)
    peaks, before = scene.memory_peak_mb[:, after], replay.before_mb[:, after]
    steps = np.diff(replay.memory_mb[:, last:], axis=1)
    killed = replay.kills[:, after]
    return {
        "cpu_cores": float(cpu_m.sum()) / 1000.0,
        "cpu_in_band": float(in_cpu_band(cpu_m).sum()),
        # The last runs are not scaled to the printed means.
        "cpu_cores_end": float(replay.cpu_m[:, -1].sum()) / 1000.0,
        "cpu_in_band_end": float(in_cpu_band(replay.cpu_m[:, -1]).sum()),
        "cpu_covered": float((scene.cpu_mean_m[:, after] <= replay.cpu_m[:, last:-1]).mean()),
        "memory_mb": float(memory_mb.sum()),
        "memory_in_band": float(((memory_mb >= _MEMORY[0]) & (memory_mb <= _MEMORY[1])).sum()),
        "memory_in_sample": float((memory_mb >= scene.memory_peak_mb[:, last]).sum()),
        "headroom": float((before / _MEMORY[0][:, np.newaxis] - 1.0).mean()),
        "covered": float((peaks <= before).mean()),
        "killed": float((killed > 0).mean()),
        "reruns": float(killed.sum()),
        "early_kills": float(replay.kills[:, 1:TABLE_RUNS].sum()),
        "price": float((before.sum() + replay.lost_mb[:, after].sum()) / peaks.sum()),
        "changes": float((steps != 0.0).sum(axis=1).mean()),
        "reversals": float(np.mean([count_reversals(row) for row in replay.memory_mb[:, last:]])),
    }


def count_reversals(values: Floats) -> int:
    """Return how often a series changes between rising and falling.

    >>> count_reversals(np.array([640.0, 576.0, 576.0, 640.0, 576.0]))
    2
    """
    signs = np.sign(np.diff(values))
    moved = signs[signs != 0.0]
    return int((moved[1:] != moved[:-1]).sum())


def summarise(replays: Sequence[Measures]) -> dict[str, Any]:
    """Return mean, half width of the 95 % interval over seeds, and number of seeds, by measure."""
    return {
        name: asdict(comparing.summarise_pairs(np.array([one[name] for one in replays])))
        for name in replays[0]
    }


def interval(summary: Mapping[str, Any]) -> tuple[float, float]:
    """Return the ends of the interval of a mean; for a single seed, both are the mean."""
    half = summary["half_width"] or 0.0
    return summary["mean"] - half, summary["mean"] + half
