"""Responses joined on one grid of steps, with gaps counted.

A step has no sample where the server has none: before a series began, after its target was gone
(a stale marker ends it at once), or beyond the server's look-back (``--query.lookback-delta``,
5 minutes). NaN and infinite values are gaps too, and counted separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kubestow.model import time_series
from kubestow.sources import gaps
from kubestow.sources.prometheus import errors as faults
from kubestow.sources.prometheus import pages, responses


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps of one series.

    Attributes:
        points: Number of steps without a number.
        stretches: Number of consecutive runs of such steps.
        longest: Steps of the longest run.
        odd: Of the points, those with NaN or an infinite value from the server.
    """

    points: int
    stretches: int
    longest: int
    odd: int


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """Several series at equal steps.

    Attributes:
        steps: The points in time.
        labels: Identity of each series, in order.
        values: One row per series, one column per step; NaN where there is no number.
        odd: Number of NaN and infinite values received, by series.
        warnings: Warnings of the server.
    """

    steps: pages.Steps
    labels: tuple[responses.Labels, ...]
    values: NDArray[np.float64]
    odd: NDArray[np.int64]
    warnings: tuple[str, ...] = ()

    def gaps(self, row: int) -> Gaps:
        """Count the gaps of one series."""
        lengths = stretches(np.isnan(self.values[row]))
        return Gaps(
            points=int(lengths.sum()),
            stretches=len(lengths),
            longest=int(lengths.max(initial=0)),
            odd=int(self.odd[row]),
        )

    def pick(self, row: int) -> Range:
        """Return one of the series."""
        chosen = slice(row, row + 1)
        values, odd = self.values[chosen], self.odd[chosen]
        return Range(self.steps, self.labels[chosen], values, odd, self.warnings)

    def names(self, unnamed: str = "{}") -> tuple[str, ...]:
        """Return a name per series."""
        return tuple(responses.series_name(labels, unnamed) for labels in self.labels)

    def as_grid(self, place: str, unnamed: str = "{}") -> time_series.TimeGrid:
        """Return the series without gaps: a gap repeats the last value before it.

        The grid begins with the first step at which any series is known, not with the range: a
        server keeps samples for a limited time, and values before it would be invented.

        Raises:
            InputError: If a series has no number at all.
        """
        first = int(np.argmax(~np.isnan(self.values).all(axis=0)))
        values, mended = gaps.fill_grid(place, self.names(unnamed), self.values[:, first:])
        step_s = self.steps.step_ms / 1000.0
        start_s = self.steps.start_ms / 1000.0 + first * step_s
        return time_series.TimeGrid(self.names(unnamed), start_s, step_s, values, mended)


def stretches(missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the length of each unbroken run of ``True``.

    >>> stretches(np.array([True, False, True, True])).tolist()
    [1, 2]
    """
    edges = np.flatnonzero(np.diff(missing.astype(np.int8), prepend=0, append=0))
    return edges[1::2] - edges[::2]


def join_pages(parts: Sequence[Range]) -> Range:
    """Concatenate successive ranges; series may start and end in between."""
    labels = tuple(sorted({series for part in parts for series in part.labels}))
    rows = {series: row for row, series in enumerate(labels)}
    count = sum(part.steps.count for part in parts)
    values, odd = np.full((len(labels), count), np.nan), np.zeros(len(labels), np.int64)
    first = 0
    for part in parts:
        chosen = [rows[series] for series in part.labels]
        values[chosen, first : first + part.steps.count] = part.values
        odd[chosen] += part.odd
        first += part.steps.count
    steps = pages.Steps(parts[0].steps.start_ms, parts[0].steps.step_ms, count)
    warnings = responses.join_warnings([part.warnings for part in parts])
    return Range(steps, labels, values, odd, warnings)


def assemble(place: str, steps: pages.Steps, matrices: Iterable[responses.Matrix]) -> Range:
    """Join responses for parts of a range; a repeated point counts once.

    Raises:
        ReadError: If a sample is not at one of the requested steps.
    """
    values_by_series: dict[responses.Labels, NDArray[np.float64]] = {}
    sent: dict[responses.Labels, NDArray[np.bool_]] = {}
    warnings = []
    for matrix in matrices:
        warnings.append(matrix.warnings)
        for row in matrix.rows:
            line = values_by_series.setdefault(row.labels, np.full(steps.count, np.nan))
            places = _places(place, steps, row)
            line[places] = np.where(np.isfinite(row.values), row.values, np.nan)
            sent.setdefault(row.labels, np.zeros(steps.count, np.bool_))[places] = True
    labels = tuple(sorted(values_by_series))
    shape = (len(labels), steps.count)
    values = np.stack([values_by_series[key] for key in labels]) if labels else np.empty(shape)
    odd = [int(np.count_nonzero(sent[key] & np.isnan(values_by_series[key]))) for key in labels]
    joined = responses.join_warnings(warnings)
    return Range(steps, labels, values, np.array(odd, dtype=np.int64), joined)


def _places(place: str, steps: pages.Steps, row: responses.SeriesRow) -> NDArray[np.int64]:
    places, remainder = np.divmod(row.times_ms - steps.start_ms, steps.step_ms)
    if remainder.any() or (places < 0).any() or (places >= steps.count).any():
        problem = "response has samples outside the requested steps"
        raise faults.ReadError(place, problem, faults.UNREADABLE)
    return places
