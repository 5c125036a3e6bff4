"""Answers put together on one grid of steps, with every gap in sight.

A step has no sample where the server knew none: before a series began, after its target was gone
(a stale marker ends it at once), or further from the last sample than the server looks back
(``--query.lookback-delta``, 5 minutes). NaN and infinite values are gaps too, and counted apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kubestow.model import time_series
from kubestow.sources import traces
from kubestow.sources.prometheus import errors as faults
from kubestow.sources.prometheus import pages, responses


@dataclass(frozen=True, slots=True)
class Gaps:
    """What is missing in one series.

    Attributes:
        points: Steps without a number.
        stretches: How many times in a row they come.
        longest: Steps of the longest stretch.
        odd: Of the points, those where the server sent NaN or an infinite value.
    """

    points: int
    stretches: int
    longest: int
    odd: int


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """Series side by side, at equal steps.

    Attributes:
        steps: The moments.
        labels: Identity of each series, in order.
        values: One row per series, one column per moment; NaN where there is no number.
        odd: For each series how many NaN and infinite values were sent.
        warnings: What the server says against its own answer.
    """

    steps: pages.Steps
    labels: tuple[responses.Labels, ...]
    values: NDArray[np.float64]
    odd: NDArray[np.int64]
    warnings: tuple[str, ...] = ()

    def gaps(self, row: int) -> Gaps:
        """Count what is missing in one series."""
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
        """Return the series as models take them: gaps repeat the last value before them.

        It begins with the first moment at which any of them is known, not with the range: a server
        keeps samples for some days only, and what it has forgotten would be made up.

        Raises:
            InputError: If a series has no number at all.
        """
        first = int(np.argmax(~np.isnan(self.values).all(axis=0)))
        values, mended = traces.fill_grid(place, self.names(unnamed), self.values[:, first:])
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
    """Put ranges together that follow one another in time; series may come and go."""
    labels = tuple(sorted({found for part in parts for found in part.labels}))
    rows = {found: row for row, found in enumerate(labels)}
    count = sum(part.steps.count for part in parts)
    values, odd = np.full((len(labels), count), np.nan), np.zeros(len(labels), np.int64)
    first = 0
    for part in parts:
        chosen = [rows[found] for found in part.labels]
        values[chosen, first : first + part.steps.count] = part.values
        odd[chosen] += part.odd
        first += part.steps.count
    steps = pages.Steps(parts[0].steps.start_ms, parts[0].steps.step_ms, count)
    warnings = responses.join_warnings([part.warnings for part in parts])
    return Range(steps, labels, values, odd, warnings)


def assemble(place: str, steps: pages.Steps, answers: Iterable[responses.Matrix]) -> Range:
    """Put answers to parts of a range together; a moment that comes twice counts once.

    Raises:
        ReadError: If a sample lies beside the steps that were asked for.
    """
    found: dict[responses.Labels, NDArray[np.float64]] = {}
    sent: dict[responses.Labels, NDArray[np.bool_]] = {}
    warnings = []
    for answer in answers:
        warnings.append(answer.warnings)
        for row in answer.rows:
            line = found.setdefault(row.labels, np.full(steps.count, np.nan))
            places = _places(place, steps, row)
            line[places] = np.where(np.isfinite(row.values), row.values, np.nan)
            sent.setdefault(row.labels, np.zeros(steps.count, np.bool_))[places] = True
    labels = tuple(sorted(found))
    shape = (len(labels), steps.count)
    values = np.stack([found[key] for key in labels]) if labels else np.empty(shape)
    odd = [int(np.count_nonzero(sent[key] & np.isnan(found[key]))) for key in labels]
    joined = responses.join_warnings(warnings)
    return Range(steps, labels, values, np.array(odd, dtype=np.int64), joined)


def _places(place: str, steps: pages.Steps, row: responses.SeriesRow) -> NDArray[np.int64]:
    places, beside = np.divmod(row.times_ms - steps.start_ms, steps.step_ms)
    if beside.any() or (places < 0).any() or (places >= steps.count).any():
        problem = "answered with moments that were not asked for"
        raise faults.ReadError(place, problem, faults.UNREADABLE)
    return places
