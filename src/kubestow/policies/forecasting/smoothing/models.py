"""Exponential smoothing: simple, Holt (damped or not), Holt-Winters with an additive season.

Constants are fitted for given steps ahead: a constant that is best for the next step is too
responsive for the fifteenth. Errors at each horizon are divided by those of persistence, so that
far horizons do not dominate near ones. ``kernels`` has the recursions and the search.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kubestow.model import arrays
from kubestow.policies.forecasting import histories, seasons
from kubestow.policies.forecasting.smoothing import kernels

_BOUNDS = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
_ALPHAS = (0.05, 0.15, 0.3, 0.5, 0.8, 1.0)
_BETAS = (0.01, 0.05, 0.2, 0.5)
_GAMMAS = (0.02, 0.1, 0.3)
# Below 0.8 a trend vanishes after a few steps, and above 0.98 it is practically undamped
# (Hyndman and Athanasopoulos, 8.2).
_PHIS = (0.8, 0.9, 0.98, 1.0)
_WIDTH = 0.12
_LONGEST_PAST = 20_000


@dataclass(frozen=True, slots=True)
class Ses:
    """Simple exponential smoothing: level only.

    Attributes:
        horizons: Steps ahead to optimise for.
    """

    horizons: Sequence[int] = (1,)

    name: ClassVar[str] = "ses"
    least_points: ClassVar[int] = 2

    def fit(self, values: arrays.Floats) -> Smoothed:
        """Search the constant."""
        rows = histories.check(values, self.least_points, self.name)
        grid = np.array([(a, 0.0, 0.0, 0.0) for a in _ALPHAS])
        return _fit(rows, _none(rows), grid, (_WIDTH, 0.0, 0.0, 0.0), self.horizons)


@dataclass(frozen=True, slots=True)
class Holt:
    """Level and trend.

    Attributes:
        damped: Whether the trend is damped.
        horizons: Steps ahead to optimise for.
    """

    damped: bool = True
    horizons: Sequence[int] = (1,)

    name: ClassVar[str] = "holt"
    least_points: ClassVar[int] = 3

    def fit(self, values: arrays.Floats) -> Smoothed:
        """Search the constants."""
        rows = histories.check(values, self.least_points, self.name)
        phis = _PHIS if self.damped else (1.0,)
        grid = np.array([(a, b, p, 0.0) for a, b, p in itertools.product(_ALPHAS, _BETAS, phis)])
        widths = (_WIDTH, 0.1, 0.05 if self.damped else 0.0, 0.0)
        return _fit(rows, _none(rows), grid, widths, self.horizons)


@dataclass(frozen=True, slots=True)
class HoltWinters:
    """Level, damped trend and additive season; without a season, Holt's damped method.

    Attributes:
        season: Steps of a season, of all or of each series; ``None`` to detect it in the history.
        hints: Seasons that the calendar suggests, in steps.
        horizons: Steps ahead to optimise for.
    """

    season: int | arrays.Ints | None = None
    hints: Sequence[int] = ()
    horizons: Sequence[int] = (1,)

    name: ClassVar[str] = "holt-winters"
    least_points: ClassVar[int] = 3

    def fit(self, values: arrays.Floats) -> Smoothed:
        """Detect the seasons and search the constants."""
        rows = histories.check(values, self.least_points, self.name)
        lengths = seasons.choose(rows, self.season, self.hints)
        lengths = np.where(2 * lengths <= rows.shape[1], lengths, seasons.NONE)
        grid = np.array(
            [
                (a, b, p, g)
                for a, b, p, g in itertools.product(
                    _ALPHAS[:-1], (0.0, *_BETAS[:2]), _PHIS[1:3], _GAMMAS
                )
            ]
        )
        return _fit(rows, lengths, grid, (_WIDTH, 0.05, 0.05, 0.05), self.horizons)

    def detect_seasons(self, values: arrays.Floats) -> HoltWinters:
        """Return the model with the seasons of a history."""
        return replace(self, season=seasons.choose(values, self.season, self.hints))


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """Constants and state of each series.

    Attributes:
        constants: alpha, beta, phi, gamma of each series.
        states: Level, trend, and one value per phase of the season.
        lengths: Season length of each series, in steps.
        count: Points so far, which determine the phase of the season.
    """

    constants: arrays.Floats
    states: arrays.Floats
    lengths: arrays.Ints
    count: int

    def update(self, points: arrays.Floats) -> Smoothed:
        """Update with new points."""
        rows, states = histories.as_rows(points), self.states.copy()
        kernels.advance(states, self.constants, self.lengths, self.count, rows)
        return Smoothed(self.constants, states, self.lengths, self.count + rows.shape[1])

    def restart(self, values: arrays.Floats) -> Smoothed:
        """Return the same model at the end of another history."""
        begins = _begin(values, self.lengths, self.states.shape[1] - 2)
        return Smoothed(self.constants, begins, self.lengths, 0).update(values)

    def means(self, steps: int) -> arrays.Floats:
        """Extrapolate level, trend and season."""
        means = np.empty((len(self.states), steps))
        kernels.forecast(self.states, self.constants, self.lengths, self.count, means)
        return means

    def roll(self, points: arrays.Floats, steps: int) -> arrays.Floats:
        """Extrapolate level, trend and season after each point."""
        rows, states = histories.as_rows(points), self.states.copy()
        means = np.empty((*rows.shape, steps))
        kernels.roll(states, self.constants, self.lengths, self.count, rows, means)
        return means


def _none(rows: arrays.Floats) -> arrays.Ints:
    return np.full(len(rows), seasons.NONE, dtype=np.int64)


def _fit(
    rows: arrays.Floats,
    lengths: arrays.Ints,
    grid: arrays.Floats,
    widths: Sequence[float],
    horizons: Sequence[int],
) -> Smoothed:
    # The last 20,000 points determine the constants well enough; the state uses all points.
    recent = np.ascontiguousarray(rows[:, -_LONGEST_PAST:])
    steps = np.array(sorted(set(horizons)), dtype=np.int64)
    constants = kernels.search(
        recent,
        _begin(recent, lengths, int(lengths.max(initial=1))),
        lengths,
        np.minimum(np.maximum(2 * lengths, 3), recent.shape[1] // 2),
        grid,
        np.array(widths),
        _BOUNDS,
        steps,
        _weigh(recent, steps),
    )
    begins = _begin(rows, lengths, int(lengths.max(initial=1)))
    return Smoothed(constants, begins, lengths, 0).update(rows)


def _weigh(rows: arrays.Floats, steps: arrays.Ints) -> arrays.Floats:
    """Return the inverse of the mean absolute error of persistence at each horizon."""
    errors = np.zeros((len(rows), len(steps)))
    for i, h in enumerate(steps):
        if h < rows.shape[1]:
            errors[:, i] = np.abs(rows[:, h:] - rows[:, :-h]).mean(axis=1)
    return 1.0 / np.where(errors > 0.0, errors, 1.0)


def _begin(rows: arrays.Floats, lengths: arrays.Ints, longest: int) -> arrays.Floats:
    states = np.zeros((len(rows), 2 + longest))
    kernels.begin(histories.as_rows(rows), lengths, states)
    return states
