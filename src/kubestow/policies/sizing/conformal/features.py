"""Features of a container before each of its windows, for ``conformal``.

The input is one number per window (``window_statistics``), and how much the parts of the window
differ. The output, for every window and for the next one: a few levels on a logarithmic scale (the
last window, the largest of the last few, means), the usual difference between successive windows
and between successive parts of a window, and the number of windows. Features of past windows let
``scores`` test the rule that is used now at every earlier window.

Parts of windows are what a single window can say about how much a container varies. On six public
sets the next window exceeds the only known one in one case of ten by 1.2 to 2.3 such differences,
although its factor ranges from 1.02 to 1.7 (``sizing-risks``).

A *shift* is a lasting change of level: the last windows lie beyond all earlier ones, by a factor
and by a multiple of the usual step. Windows before a shift are ignored; fewer windows are left and
the margin grows accordingly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.policies.compiling import compiled

LAST: Final = 0
MAX2: Final = 1
MAX4: Final = 2
MAX8: Final = 3
MAX16: Final = 4
RECENT: Final = 5
MEAN: Final = 6
STEP: Final = 7
COUNT: Final = 8
SHIFTED: Final = 9
WITHIN: Final = 10
KINDS: Final = 11
PARTS: Final = 4
"""Parts of a window."""

_SPANS: Final = (2, 4, 8, 16)
# Windows in a row that must lie beyond all earlier ones, and windows needed before them.
_AFTER: Final = 3
_BEFORE: Final = 3


@dataclass(frozen=True, slots=True)
class FeatureRules:
    """Parameters of the features.

    Attributes:
        history: Number of past windows used.
        half_life: Age in windows at which a window counts half in the recent level.
        shift_factor: Smallest factor between levels before and after a shift.
        shift_steps: Smallest distance of the levels, in usual steps from window to window.
    """

    history: int
    half_life: float
    shift_factor: float
    shift_steps: float


def part_steps(parts: Floats) -> Floats:
    """Return the usual difference between successive parts of each window; NaN if not known.

    Args:
        parts: Logarithms of the parts' statistics, by container, window and part.
    """
    squares = np.diff(parts, axis=2) ** 2
    known = ~np.isnan(squares)
    count = known.sum(axis=2)
    total = np.where(known, squares, 0.0).sum(axis=2)
    return np.where(count > 0, np.sqrt(total / np.maximum(count, 1)), np.nan)


def window_features(logs: Floats, within: Floats, rules: FeatureRules) -> Floats:
    """Return the features before each window and before the next one.

    Args:
        logs: Logarithms of the windows' statistics, by container and window; NaN if not known.
        within: Differences between parts of the windows (``part_steps``).
        rules: Parameters of the features.

    Returns:
        Features by container, window (one more than given: the next window) and kind; NaN before
        the first known window.
    """
    out = np.full((logs.shape[0], logs.shape[1] + 1, KINDS), np.nan)
    _window_features(
        logs, within, rules.history, 0.5 ** (1.0 / rules.half_life), np.log(rules.shift_factor),
        rules.shift_steps, out,
    )  # fmt: skip
    return out


@compiled
def _window_features(
    logs: Floats, within: Floats, history: int, fading: float, least: float, steps: float,
    out: Floats,
) -> None:  # fmt: skip
    rows, windows = logs.shape
    for row in range(rows):
        known = logs[row][~np.isnan(logs[row])]
        inner = within[row][~np.isnan(logs[row])]
        # How many known windows lie before each window.
        count = 0
        for window in range(windows + 1):
            if count > 0:
                begin = max(count - history, 0)
                cut = _find_shift(known[begin:count], least, steps)
                _describe(known[begin + cut : count], fading, out[row, window])
                out[row, window, WITHIN] = _root_mean_square(inner[begin + cut : count])
                out[row, window, SHIFTED] = 1.0 if cut > 0 else 0.0
            if window < windows and not np.isnan(logs[row, window]):
                count += 1


@compiled
def _describe(past: Floats, fading: float, out: Floats) -> None:
    count = len(past)
    out[LAST] = past[count - 1]
    largest = -np.inf
    weight, weights, recent, total, squares = 1.0, 0.0, 0.0, 0.0, 0.0
    for age in range(count):
        value = past[count - 1 - age]
        largest = max(largest, value)
        for place in range(len(_SPANS)):
            if age < _SPANS[place]:
                out[MAX2 + place] = largest
        total += value
        recent += weight * value
        weights += weight
        weight *= fading
        if age > 0:
            squares += (past[count - age] - value) ** 2
    out[RECENT] = recent / weights
    out[MEAN] = total / count
    out[STEP] = np.sqrt(squares / (count - 1)) if count > 1 else np.nan
    out[COUNT] = count


@compiled
def _root_mean_square(values: Floats) -> float:
    total, count = 0.0, 0
    for value in values:
        if not np.isnan(value):
            total += value * value
            count += 1
    return float(np.sqrt(total / count)) if count else np.nan


@compiled
def _find_shift(past: Floats, least: float, steps: float) -> int:
    """Return where the last shift ended; 0 if there was none."""
    count = len(past)
    if count < _BEFORE + _AFTER:
        return 0
    lows, highs = np.empty(count), np.empty(count)
    lows[0], highs[0] = past[0], past[0]
    for place in range(1, count):
        lows[place] = min(lows[place - 1], past[place])
        highs[place] = max(highs[place - 1], past[place])
    low, high = past[count - 1], past[count - 1]
    for cut in range(count - 2, _BEFORE - 1, -1):
        low, high = min(low, past[cut]), max(high, past[cut])
        if low <= lows[cut - 1] and high >= highs[cut - 1]:
            return 0  # Later windows span all earlier ones: no earlier cut can separate them.
        apart = low > highs[cut - 1] or high < lows[cut - 1]
        if apart and cut <= count - _AFTER:
            before = past[:cut]
            distance = abs(np.median(past[cut:]) - np.median(before))
            if distance >= max(least, steps * np.median(np.abs(np.diff(before)))):
                return cut
    return 0
