"""What ``conformal`` knows about a container before each of its windows.

One number per window (``window_statistics``) goes in; out come, for every window and for the one to
come, a few levels on a logarithmic scale (the last window, the largest of the last few, means), how
much windows differ from one to the next, and how many there were. The past is walked through in
this way so that the same rule that answers now has also answered at every earlier window
(``conformal_scores``).

A *shift* is where the level has moved for good: the last windows lie beyond all earlier ones, by a
factor and by a multiple of the usual step. What lies before it is forgotten; fewer windows are left
and the margin grows accordingly.
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
KINDS: Final = 10
_SPANS: Final = (2, 4, 8, 16)
# So many windows in a row must lie beyond all earlier ones, and so many must have been before.
_AFTER: Final = 3
_BEFORE: Final = 3


@dataclass(frozen=True, slots=True)
class FeatureRules:
    """How the past is looked at.

    Attributes:
        history: So many windows back.
        half_life: Windows after which one counts half in the recent level.
        shift_factor: Least factor between levels before and after a shift.
        shift_steps: Least distance of the levels, in usual steps from window to window.
    """

    history: int
    half_life: float
    shift_factor: float
    shift_steps: float


def look_back(logs: Floats, rules: FeatureRules) -> Floats:
    """Return what was known before each window and is known now.

    Args:
        logs: Logarithms of the windows' statistics, by container and window; NaN if not known.
        rules: How to look.

    Returns:
        By container, window (one more than given: the window to come) and kind; NaN before the
        first known window.
    """
    found = np.full((logs.shape[0], logs.shape[1] + 1, KINDS), np.nan)
    _look_back(
        logs, rules.history, 0.5 ** (1.0 / rules.half_life), np.log(rules.shift_factor),
        rules.shift_steps, found,
    )  # fmt: skip
    return found


@compiled
def _look_back(
    logs: Floats, history: int, fading: float, least: float, steps: float, found: Floats
) -> None:
    rows, windows = logs.shape
    for row in range(rows):
        known = logs[row][~np.isnan(logs[row])]
        # Places of known windows: how many of them lie before each window.
        seen = 0
        for window in range(windows + 1):
            if seen > 0:
                begin = max(seen - history, 0)
                cut = _find_shift(known[begin:seen], least, steps)
                _describe(known[begin + cut : seen], fading, found[row, window])
                found[row, window, SHIFTED] = 1.0 if cut > 0 else 0.0
            if window < windows and not np.isnan(logs[row, window]):
                seen += 1


@compiled
def _describe(past: Floats, fading: float, found: Floats) -> None:
    count = len(past)
    found[LAST] = past[count - 1]
    largest = -np.inf
    weight, weights, recent, total, squares = 1.0, 0.0, 0.0, 0.0, 0.0
    for age in range(count):
        value = past[count - 1 - age]
        largest = max(largest, value)
        for place in range(len(_SPANS)):
            if age < _SPANS[place]:
                found[MAX2 + place] = largest
        total += value
        recent += weight * value
        weights += weight
        weight *= fading
        if age > 0:
            squares += (past[count - age] - value) ** 2
    found[RECENT] = recent / weights
    found[MEAN] = total / count
    found[STEP] = np.sqrt(squares / (count - 1)) if count > 1 else np.nan
    found[COUNT] = count


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
            return 0  # The windows since reach over all before: no earlier cut can part them.
        apart = low > highs[cut - 1] or high < lows[cut - 1]
        if apart and cut <= count - _AFTER:
            before = past[:cut]
            distance = abs(np.median(past[cut:]) - np.median(before))
            if distance >= max(least, steps * np.median(np.abs(np.diff(before)))):
                return cut
    return 0
