"""Learning against one line of arithmetic, at equal headroom (Böttcher 2023, 5.7, last table).

For each way the largest factor of ``ceil64(f x max of the last runs)`` is taken whose headroom is
not above the way's; then both have the same runs and reserve the same, and misses can be compared.
The rule looks at 5 runs, as the agents do, or at 20: agents hold a request as long as it lies in
the band, which remembers more runs than they are told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kubestow.model.arrays import Floats
from kubestow.policies.sizing import q_learning
from kubestow.studies.boettcher import contenders as ways
from kubestow.studies.boettcher import measures, tables
from kubestow.studies.boettcher.runs import RunScene
from kubestow.workflows import comparing

Row = dict[str, Any]

FACTORS: Final = tuple(0.9 + 0.0025 * k for k in range(201))
LOOK_BACKS: Final = (5, 20)
COMPARED: Final = (ways.STRICT, ways.STRICT_FIVE, ways.CONVERGING, ways.CLOSED, ways.OURS)

_MAXIMA: Final = np.array([container.memory_max_mb for container in tables.CONTAINERS])


def draw_curve(scenes: Sequence[RunScene], look_back: int) -> Floats:
    """Return headroom and share of missed runs of the rule, by factor and seed."""
    first = measures.TABLE_RUNS
    peaks = np.array([scene.memory_peak_mb for scene in scenes])
    largest = sliding_window_view(peaks, look_back, axis=2).max(axis=3)
    # The window that ends with run r is the rule's for run r + 1.
    before = largest[:, :, first - look_back : -1]
    found = np.empty((len(FACTORS), len(scenes), 2))
    for place, factor in enumerate(FACTORS):
        requests = q_learning.round_up(before * factor, tables.STEP)
        headroom = requests / _MAXIMA[:, np.newaxis] - 1.0
        found[place, :, 0] = headroom.mean(axis=(1, 2))
        found[place, :, 1] = (peaks[:, :, first:] > requests).mean(axis=(1, 2))
    return found


def compare(
    spread: float, found: Mapping[str, Sequence[measures.Measures]], scenes: Sequence[RunScene]
) -> tuple[list[Row], list[Row]]:
    """Return the comparison of each way with the rule, and the rule's curves for figures."""
    rows, shown = [], []
    for look_back in LOOK_BACKS:
        curve = draw_curve(scenes, look_back)
        names = [name for name in COMPARED if name in found]
        about = {"spread": spread, "look_back": look_back}
        rows += [about | _compare(name, found[name], curve) for name in names]
        shown += [
            about | {"factor": round(factor, 4), "headroom": headroom, "missed": missed}
            for factor, (headroom, missed) in zip(FACTORS, curve.mean(axis=1).tolist(), strict=True)
        ]
    return rows, shown


def _compare(name: str, found: Sequence[measures.Measures], curve: Floats) -> Row:
    means = curve[:, :, 0].mean(axis=1)
    headroom = float(np.mean([one["headroom"] for one in found]))
    missed = np.array([1.0 - one["covered"] for one in found])
    # Headroom grows with the factor.
    place = max(int(np.searchsorted(means, headroom, side="right")) - 1, 0)
    tested = comparing.compare_pairs(missed, curve[place, :, 1])
    return {
        "way": name,
        "headroom": headroom,
        "missed": float(missed.mean()),
        "factor": round(FACTORS[place], 4),
        "rule_headroom": float(means[place]),
        "rule_missed": float(curve[place, :, 1].mean()),
        "difference": asdict(tested),
    }
