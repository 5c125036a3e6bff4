"""Compiled loops of ``short-margin``: levels and scores of rows, and amounts of least cost."""

from __future__ import annotations

from typing import Final

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.policies.compiling import compiled

FIRST: Final = 24
"""Number of points needed before a level counts; a fifth of the window."""

# Weights of the newest point in exponential means; 1 is the last value.
_NEWEST: Final = (1.0, 0.5, 0.2, 0.05, 0.01)
# The last two levels are the largest of this many last points.
_PEAKS: Final = (5, 20)
KINDS: Final = 7
"""Number of levels to choose from."""


@compiled
def score(
    windows: Floats,
    counts: Ints,
    steps: int,
    fading: float,
    local: float,
    grain: float,
    scores: Floats,
    jumps: Floats,
    now: Floats,
    kinds: Ints,
) -> None:
    """Choose a level for every row and write how far peaks exceeded it.

    Args:
        windows: Points by row, right-aligned.
        counts: Number of points of each row.
        steps: Number of points over which a peak is taken.
        fading: Weight of a change in the local deviation, relative to the next one.
        local: Share of the local deviation in the unit of scores.
        grain: Smallest unit, as a share of the row's size.
        scores: Output: scores in local units, by row and origin, right-aligned; NaN where there is
            none.
        jumps: Output: the same in units of size.
        now: Output: level, unit and size at the end, by row.
        kinds: Output: the chosen level, by row.
    """
    width = windows.shape[1]
    levels, local_s = np.empty((width + 1, KINDS)), np.empty(width + 1)
    for row in range(len(windows)):
        values = windows[row, width - counts[row] :]
        count = len(values)
        size = np.abs(values).max()
        least = max(grain * size, 1e-300)
        _walk(values, fading, levels, local_s)
        origins = count - FIRST - steps + 1
        kind, spread = 0, 0.0
        if origins > 0:
            beyond = np.empty((KINDS, origins))
            for place in range(origins):
                length = FIRST + place
                beyond[:, place] = values[length : length + steps].max() - levels[length]
            kind, spread = _steadiest(beyond)
            own = (1.0 - local) * spread + least
            for place in range(origins):
                column = scores.shape[1] - origins + place
                unit = own + local * local_s[FIRST + place]
                scores[row, column] = beyond[kind, place] / unit
                jumps[row, column] = beyond[kind, place] / max(size, 1e-300)
        else:
            spread = local_s[count]
        kinds[row] = kind
        now[row, 0] = levels[count, kind]
        now[row, 1] = (1.0 - local) * spread + least + local * local_s[count]
        now[row, 2] = size


@compiled
def _walk(values: Floats, fading: float, levels: Floats, local: Floats) -> None:
    """Write levels and the mean absolute change after each point."""
    means = np.full(len(_NEWEST), values[0])
    total, weight = 0.0, 0.0
    for length in range(1, len(values) + 1):
        value = values[length - 1]
        if length > 1:
            total = total * fading + abs(value - values[length - 2])
            weight = weight * fading + 1.0
        local[length] = total / weight if weight > 0.0 else 0.0
        for kind in range(len(_NEWEST)):
            # A plain mean at first, whatever the weight.
            means[kind] += (value - means[kind]) * max(_NEWEST[kind], 1.0 / length)
            levels[length, kind] = means[kind]
        for place in range(len(_PEAKS)):
            begin = max(length - _PEAKS[place], 0)
            levels[length, len(_NEWEST) + place] = values[begin:length].max()


@compiled
def _steadiest(beyond: Floats) -> tuple[int, float]:
    """Return the level whose differences to the next peaks vary least, and by how much."""
    best, least = 0, np.inf
    for kind in range(len(beyond)):
        spread = np.abs(beyond[kind] - np.median(beyond[kind])).mean()
        if spread < least:
            best, least = kind, spread
    return best, least


@compiled
def mix(
    now: Floats,
    scores: Floats,
    fleet: Floats,
    fleet_jumps: Floats,
    shares: Floats,
    samples: Floats,
    weights: Floats,
) -> None:
    """Write the predictive distribution of every row, ascending, with weights that sum to one.

    Args:
        now: Level, unit and size, by row.
        scores: The row's own scores; NaN where there is none.
        fleet: Scores of all containers in local units.
        fleet_jumps: Scores of all containers in units of size.
        shares: Weights of both, concatenated; an own score weighs one.
        samples: Output: values by row.
        weights: Output: weights by row.
    """
    origins, count = scores.shape[1], len(fleet)
    raw, share = np.empty(samples.shape[1]), np.empty(samples.shape[1])
    for row in range(len(now)):
        level, unit, size = now[row]
        for place in range(origins):
            known = not np.isnan(scores[row, place])
            raw[place] = level + unit * scores[row, place] if known else level
            share[place] = 1.0 if known else 0.0
        raw[origins : origins + count] = level + unit * fleet
        raw[origins + count :] = level + size * fleet_jumps
        share[origins:] = shares
        order = np.argsort(raw)
        samples[row] = raw[order]
        weights[row] = share[order] / max(share.sum(), 1e-300)


@compiled
def choose(samples: Floats, weights: Floats, prices: Floats, chosen: Floats) -> None:
    """Write the amount of least expected cost by row: unused amount, plus a price if short."""
    for row in range(len(samples)):
        below, mass, best = 0.0, 0.0, np.inf
        for place in range(samples.shape[1]):
            value, weight = samples[row, place], weights[row, place]
            mass += weight
            below += weight * value
            cost = mass * value - below + prices[row] * (1.0 - mass)
            if cost < best:
                best = cost
                chosen[row] = value
