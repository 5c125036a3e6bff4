"""Direct regression: one least-absolute-error regression per step ahead on features of the history.

Light (a few milliseconds per thousand points) and accurate: lags, running means and seasons in one
linear model, shrunk towards persistence, with medians as forecasts. Coefficients are fitted at a
few horizons and interpolated between them; beyond the last one its coefficients are used.
A forecast never lies both outside the historical range and further away than the largest
historical change over that many steps.

The logarithmic form uses log(y + c), c a tenth of the mean: medians are preserved, and bursts that
multiply the level become additive. A series with negative values keeps the plain form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kubestow.model import arrays
from kubestow.policies.forecasting import histories, seasons
from kubestow.policies.forecasting.regression import kernels

LAGS = (1, 2, 3, 4, 5, 7, 10, 14, 20, 30)
WINDOWS = (5, 15, 60, 240)
_CYCLES = 4
_HALF_LIFE = 0.5
_ROUNDS = 5
_SHIFT = 0.1
_LEAST_ORIGINS = 20


@dataclass(frozen=True, slots=True)
class Regression:
    """Direct regression.

    Attributes:
        horizons: Steps ahead at which coefficients are fitted.
        season: Steps of a season, of all or of each series; ``None`` to detect it in the history.
        hints: Seasons that the calendar suggests, in steps; the first one is the day.
        strength: Shrinkage of coefficients towards persistence, in observations.
        logarithmic: Whether to use logarithms.
        anchored: Whether it may revert to the mean of the whole history; a model that may not is
            insensitive to the level of a series.
        lags: Earlier values among the features.
        windows: Lengths of running means among the features.
        most_origins: Maximum number of origins to fit on, evenly spaced.
        longest_past: Maximum number of last points to fit on.
        name: The name under which it is registered.
    """

    horizons: Sequence[int] = (1,)
    season: int | arrays.Ints | None = None
    hints: Sequence[int] = ()
    strength: float = 10.0
    logarithmic: bool = False
    anchored: bool = True
    lags: Sequence[int] = LAGS
    windows: Sequence[int] = WINDOWS
    most_origins: int = 12_000
    longest_past: int = 12_000
    name: str = "regression"

    @property
    def least_points(self) -> int:
        """Minimum number of points to fit."""
        return 2 * _LEAST_ORIGINS + max(self.horizons)

    def fit(self, values: arrays.Floats) -> Regressed:
        """Detect seasons, scale, and fit the coefficients at each horizon."""
        rows = histories.check(values, self.least_points, self.name)
        scaling = _scale(rows, self.logarithmic)
        lengths = self._seasons(rows)
        steps = np.array(sorted(set(self.horizons)), dtype=np.int64)
        first = rows.shape[1] - self.longest_past
        # Seasonal features need one season before; at most a third of the history is spent on that.
        firsts = np.maximum(first, np.minimum(np.maximum(lengths[:, 0], 30), rows.shape[1] // 3))
        limits = np.zeros((len(rows), len(steps)))
        lags, windows = np.array(self.lags), np.array(self.windows)
        scaled = scaling.apply(rows)
        coefficients = kernels.fit(
            scaled,
            steps,
            lags,
            windows,
            lengths,
            _CYCLES,
            self.anchored,
            firsts,
            self.most_origins,
            _HALF_LIFE,
            self.strength,
            _ROUNDS,
            limits,
        )
        reach = max(int(lengths.max()) * (_CYCLES + 1), *self.lags, *self.windows) + 1
        ranges = np.stack((scaled.min(axis=1), scaled.max(axis=1)), axis=1)
        shape = Shape(
            steps,
            lags,
            windows,
            lengths,
            self.anchored,
            reach,
            coefficients,
            limits,
            ranges,
            scaling,
        )
        return Regressed(shape, scaled[:, -reach:])

    def detect_seasons(self, values: arrays.Floats) -> Regression:
        """Return the model with the seasons of a history."""
        return replace(self, season=seasons.choose(values, self.season, self.hints))

    def _seasons(self, rows: arrays.Floats) -> arrays.Ints:
        """Return two seasons per series: the detected one, and the day if that is another."""
        detected = seasons.choose(rows, self.season, self.hints)
        second = np.full(len(rows), seasons.NONE, dtype=np.int64)
        given = isinstance(self.season, int) or not self.hints
        day = seasons.NONE if given else self.hints[0]
        if day * seasons.CYCLES <= rows.shape[1]:
            second[(detected > 1) & (detected != day)] = day
        return np.stack((detected, second), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureScaling:
    """Scaling of series to a common scale.

    Attributes:
        shifts: Added before taking logarithms; ``nan`` without logarithms.
        means: Means of the series, after logarithms.
        sizes: Mean absolute changes from point to point.
    """

    shifts: arrays.Floats
    means: arrays.Floats
    sizes: arrays.Floats

    def apply(self, rows: arrays.Floats) -> arrays.Floats:
        """Scale values."""
        return (_take_logs(rows, self.shifts) - self.means) / self.sizes

    def undo(self, scaled: arrays.Floats) -> arrays.Floats:
        """Transform scaled means of (series, origin, step) back."""
        flat = scaled * self.sizes[:, :, None] + self.means[:, :, None]
        logs = np.isfinite(self.shifts)[:, :, None]
        shifts = np.where(np.isfinite(self.shifts), self.shifts, 0.0)[:, :, None]
        # Beyond 700 the exponential overflows.
        powers = np.exp(np.where(logs, np.minimum(flat, 700.0), 0.0))
        return np.where(logs, np.maximum(powers - shifts, 0.0), flat)


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The fitted, constant part: horizons, features and their reach, coefficients, bounds."""

    horizons: arrays.Ints
    lags: arrays.Ints
    windows: arrays.Ints
    lengths: arrays.Ints
    anchored: bool
    reach: int
    coefficients: arrays.Floats
    limits: arrays.Floats
    ranges: arrays.Floats
    scaling: FeatureScaling

    def forecast(self, scaled: arrays.Floats, first: int, steps: int) -> arrays.Floats:
        """Return means after each point from a first one on."""
        lower, upper, share = _between(self.horizons, steps)
        means = np.empty((len(scaled), scaled.shape[1] - first, steps))
        kernels.forecast(
            np.ascontiguousarray(scaled),
            first,
            _mix(self.coefficients, lower, upper, share[:, None]),
            _mix(self.limits, lower, upper, share),
            self.ranges,
            self.lags,
            self.windows,
            self.lengths,
            _CYCLES,
            self.anchored,
            means,
        )
        return self.scaling.undo(means)


@dataclass(frozen=True, slots=True, eq=False)
class Regressed:
    """A fitted regression and the scaled tail of the history that it needs."""

    shape: Shape
    tail: arrays.Floats

    def update(self, points: arrays.Floats) -> Regressed:
        """Update with new points."""
        scaled = self.shape.scaling.apply(histories.as_rows(points))
        # A tail shorter than the reach of the features grows until it is long enough.
        joined = np.concatenate((self.tail, scaled), axis=1)
        return Regressed(self.shape, joined[:, -self.shape.reach :])

    def means(self, steps: int) -> arrays.Floats:
        """Forecast from the last point."""
        return self.shape.forecast(self.tail, self.tail.shape[1] - 1, steps)[:, 0]

    def roll(self, points: arrays.Floats, steps: int) -> arrays.Floats:
        """Forecast after each point."""
        scaled = self.shape.scaling.apply(histories.as_rows(points))
        joined = np.concatenate((self.tail, scaled), axis=1)
        return self.shape.forecast(joined, self.tail.shape[1], steps)


def _scale(rows: arrays.Floats, logarithmic: bool) -> FeatureScaling:
    shifts = np.full((len(rows), 1), np.nan)
    if logarithmic:
        means = rows.mean(axis=1, keepdims=True)
        fit = (rows.min(axis=1, keepdims=True) >= 0.0) & (means > 0.0)
        shifts = np.where(fit, _SHIFT * means, np.nan)
    used = _take_logs(rows, shifts)
    sizes = np.abs(np.diff(used, axis=1)).mean(axis=1, keepdims=True)
    return FeatureScaling(
        shifts, used.mean(axis=1, keepdims=True), np.where(sizes > 0.0, sizes, 1.0)
    )


def _take_logs(rows: arrays.Floats, shifts: arrays.Floats) -> arrays.Floats:
    logs = np.isfinite(shifts)
    if not logs.any():
        return rows
    return np.where(logs, np.log(np.where(logs, np.maximum(rows, 0.0) + shifts, 1.0)), rows)


def _between(horizons: arrays.Ints, steps: int) -> tuple[arrays.Ints, arrays.Ints, arrays.Floats]:
    """Return for each step the fitted horizons before and after it, and its relative position."""
    ahead = np.clip(np.arange(1, steps + 1), horizons[0], horizons[-1])
    upper = np.searchsorted(horizons, ahead)
    lower = np.maximum(upper - (horizons[upper] > ahead), 0)
    width = np.maximum(horizons[upper] - horizons[lower], 1)
    return lower, upper, (ahead - horizons[lower]) / width


def _mix(
    values: arrays.Floats,
    lower: arrays.Ints,
    upper: arrays.Ints,
    share: arrays.Floats,
) -> arrays.Floats:
    mixed: arrays.Floats = (1.0 - share) * values[:, lower] + share * values[:, upper]
    return np.ascontiguousarray(mixed)
