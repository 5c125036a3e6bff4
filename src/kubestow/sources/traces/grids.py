"""Resample rows at any times to equal steps.

- The step is the median distance of two rows, or the given one.
- A row belongs to the nearest step; if the given step is longer than the median distance, to the
  step that contains it. The mean of all rows of a step counts.
- A step without a row repeats the last value before it, because interpolation would leak the future
  into the past. Steps before the first value of a series take that value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kubestow.model import errors, time_series
from kubestow.model.arrays import Floats
from kubestow.sources import gaps

_MOST_STRETCH = 100
"""Most steps per row: times further apart were misread."""

_SLACK = 1.0 + 1e-9


def make(
    place: str,
    names: tuple[str, ...],
    times_s: Floats,
    columns: Floats,
    step_s: float | None = None,
) -> time_series.TimeGrid:
    """Return series at equal steps.

    Args:
        place: Source of the rows, for messages.
        names: Names of the series.
        times_s: Time of each row; ``nan`` for rows without.
        columns: One row per series, one column per row; ``nan`` where there is no value.
        step_s: Seconds between two points; ``None`` for the usual step.

    Raises:
        InputError: If there are too few rows or their times are implausible.
    """
    known = np.isfinite(times_s)
    stamped = times_s[known]
    usual_s = _usual_step(place, stamped)
    width_s = usual_s if step_s is None else step_s
    start_s = float(stamped.min())
    places = (stamped - start_s) / width_s + (0.5 if width_s <= usual_s * _SLACK else 1e-9)
    bins = np.floor(places).astype(np.int64)
    count = int(bins.max()) + 1
    if count > max(1000, _MOST_STRETCH * len(stamped)):
        raise errors.InputError(
            place,
            f"{len(stamped)} rows make {count} steps of {width_s:g} s; "
            f"expected at most {_MOST_STRETCH} steps per row",
        )
    values, mended = gaps.fill_grid(place, names, _average(bins, columns[:, known], count))
    merged = len(stamped) - len(np.unique(bins))
    return time_series.TimeGrid(
        names,
        start_s,
        width_s,
        values,
        time_series.Mended(mended.gaps, mended.filled, merged if width_s <= usual_s else 0),
    )


def _usual_step(place: str, times_s: Floats) -> float:
    steps = np.diff(np.unique(times_s))
    if not len(steps):
        raise errors.InputError(place, f"{len(times_s)} rows; expected at least two times")
    return float(np.median(steps))


def _average(bins: NDArray[np.int64], columns: Floats, count: int) -> Floats:
    """Return the mean of each step for each column; ``nan`` for empty steps."""
    means = np.full((len(columns), count), np.nan)
    for mean, column in zip(means, columns, strict=True):
        known = np.isfinite(column)
        counts = np.bincount(bins[known], minlength=count)
        sums = np.bincount(bins[known], column[known], minlength=count)
        np.divide(sums, counts, out=mean, where=counts > 0)
    return means
