"""Learning compared with a one-line rule at equal headroom (Böttcher 2023, 5.7, last table).

The rule is ``ceil64(f x max of the last runs)``. For each variant, f is the largest factor whose
headroom does not exceed that of the variant; then both see the same runs and reserve the same, and
misses can be compared. The rule uses 5 runs, as the agents do, or 20: agents keep a request while
it lies in the band, which in effect remembers more than 5 runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kubestow.model.arrays import Floats
from kubestow.policies.sizing import q_learning
from kubestow.studies.boettcher import measures, tables, variants
from kubestow.studies.boettcher.runs import RunScene
from kubestow.workflows import comparing

Row = dict[str, Any]

FACTORS: Final = tuple(0.9 + 0.0025 * k for k in range(201))
LOOK_BACKS: Final = (5, 20)
COMPARED: Final = (
    variants.STRICT,
    variants.STRICT_FIVE,
    variants.CONVERGING,
    variants.CLOSED,
    variants.OURS,
)

_MAXIMA: Final = np.array([container.memory_max_mb for container in tables.CONTAINERS])


def draw_curve(scenes: Sequence[RunScene], look_back: int) -> Floats:
    """Return headroom and share of missed runs of the rule, by factor and seed."""
    first = measures.TABLE_RUNS
    peaks = np.array([scene.memory_peak_mb for scene in scenes])
    largest = sliding_window_view(peaks, look_back, axis=2).max(axis=3)
    # The window that ends with run r gives the request of run r + 1.
    before = largest[:, :, first - look_back : -1]
    curve = np.empty((len(FACTORS), len(scenes), 2))
    for place, factor in enumerate(FACTORS):
        requests = q_learning.round_up(before * factor, tables.STEP)
        headroom = requests / _MAXIMA[:, np.newaxis] - 1.0
        curve[place, :, 0] = headroom.mean(axis=(1, 2))
        curve[place, :, 1] = (peaks[:, :, first:] > requests).mean(axis=(1, 2))
    return curve


def compare(
    spread: float, measured: Mapping[str, Sequence[measures.Measures]], scenes: Sequence[RunScene]
) -> tuple[list[Row], list[Row]]:
    """Return the comparison of each variant with the rule, and the curves of the rule."""
    rows, shown = [], []
    for look_back in LOOK_BACKS:
        curve = draw_curve(scenes, look_back)
        names = [name for name in COMPARED if name in measured]
        about = {"spread": spread, "look_back": look_back}
        rows += [about | _compare(name, measured[name], curve) for name in names]
        shown += [
            about | {"factor": round(factor, 4), "headroom": headroom, "missed": missed}
            for factor, (headroom, missed) in zip(FACTORS, curve.mean(axis=1).tolist(), strict=True)
        ]
    return rows, shown


def _compare(name: str, measured: Sequence[measures.Measures], curve: Floats) -> Row:
    means = curve[:, :, 0].mean(axis=1)
    headroom = float(np.mean([one["headroom"] for one in measured]))
    missed = np.array([1.0 - one["covered"] for one in measured])
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
