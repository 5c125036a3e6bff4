"""The last points of every series, for estimators that use a fixed number of them."""

from __future__ import annotations

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.policies.compiling import compiled


def gather(values: Floats, points: int) -> tuple[Floats, Ints]:
    """Return the points up to the last measured one of each row, and how many there are.

    Gaps repeat the last value. Rows are right-aligned and filled with 0.

    Args:
        values: Values by row and point; NaN where nothing was measured.
        points: Largest number of points.
    """
    windows = np.zeros((len(values), points))
    counts = np.zeros(len(values), dtype=np.int64)
    _gather(values, windows, counts)
    return windows, counts


@compiled
def _gather(values: Floats, windows: Floats, counts: Ints) -> None:
    width = windows.shape[1]
    for row in range(len(values)):
        end = values.shape[1]
        while end > 0 and np.isnan(values[row, end - 1]):
            end -= 1
        begin = max(end - width, 0)
        while begin < end and np.isnan(values[row, begin]):
            begin += 1
        counts[row] = end - begin
        held = 0.0
        for point in range(begin, end):
            if not np.isnan(values[row, point]):
                held = values[row, point]
            windows[row, width - end + point] = held
