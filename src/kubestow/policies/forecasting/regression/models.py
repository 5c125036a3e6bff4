"""Direct regression: for each step ahead, absolute errors minimised over features of the past.

Light (a few milliseconds per thousand points) and strong: lags, running means and seasons in one
linear model, drawn towards persistence, with medians as forecasts. Coefficients are fitted at a few
horizons; those between are interpolated, and behind the last one its coefficients serve.
No value is forecast that lies outside all the past has seen and also further away than the largest
change ever seen over that many steps.

The logarithmic form works on log(y + c), c a tenth of the mean: medians pass through it unharmed,
and bursts that multiply the level become additive. A series that was negative keeps the plain form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
        season: Steps of a season; ``None`` to find it in the past of each series.
        hints: Seasons that are likely from the calendar, in steps; the first one is the day.
        strength: How strongly coefficients are drawn towards persistence, in observations.
        logarithmic: Whether it works on logarithms.
        anchored: Whether it may draw back to the mean of the whole past; a model that may not does
            not mind where a series wanders.
        lags: Earlier values it looks at.
        windows: Lengths of running means it looks at.
        most_origins: Origins it is fitted on, evenly spread over the past.
        longest_past: Last points it is fitted on.
        name: The name under which it is registered.
    """

    horizons: Sequence[int] = (1,)
    season: int | None = None
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
        """With fewer points it cannot be fitted."""
        return 2 * _LEAST_ORIGINS + max(self.horizons)

    def fit(self, values: arrays.Floats) -> Regressed:
        """Find seasons, scale, and fit the coefficients at each horizon."""
        rows = histories.check(values, self.least_points, self.name)
        scaling = _scale(rows, self.logarithmic)
        lengths = self._seasons(rows)
        steps = np.array(sorted(set(self.horizons)), dtype=np.int64)
        first = rows.shape[1] - self.longest_past
        # Features of a season need one of it; a third of the past is given up for them at most.
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

    def _seasons(self, rows: arrays.Floats) -> arrays.Ints:
        """Return two seasons per series: the one found, and the day beside a longer one."""
        found = seasons.choose(rows, self.season, self.hints)
        second = np.full(len(rows), seasons.NONE, dtype=np.int64)
        day = self.hints[0] if self.hints and self.season is None else seasons.NONE
        if day * seasons.CYCLES <= rows.shape[1]:
            second[(found > 1) & (found != day)] = day
        return np.stack((found, second), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureScaling:
    """How series are brought to a common scale.

    Attributes:
        shifts: Added before taking logarithms; ``nan`` where none are taken.
        means: Means of the series, after logarithms.
        sizes: Mean changes from point to point.
    """

    shifts: arrays.Floats
    means: arrays.Floats
    sizes: arrays.Floats

    def apply(self, rows: arrays.Floats) -> arrays.Floats:
        """Scale values."""
        return (_take_logs(rows, self.shifts) - self.means) / self.sizes

    def undo(self, scaled: arrays.Floats) -> arrays.Floats:
        """Bring means of (series, origin, step) back."""
        flat = scaled * self.sizes[:, :, None] + self.means[:, :, None]
        logs = np.isfinite(self.shifts)[:, :, None]
        shifts = np.where(np.isfinite(self.shifts), self.shifts, 0.0)[:, :, None]
        # Beyond 700 the exponential overflows.
        powers = np.exp(np.where(logs, np.minimum(flat, 700.0), 0.0))
        return np.where(logs, np.maximum(powers - shifts, 0.0), flat)


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What was fitted and stays: steps, features and how far they reach, coefficients, bounds."""

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

    def look(self, scaled: arrays.Floats, first: int, steps: int) -> arrays.Floats:
        """Return means after each point from a first one on."""
        lower, upper, share = _between(self.horizons, steps)
        means = np.empty((len(scaled), scaled.shape[1] - first, steps))
        kernels.look(
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
    """A fitted regression and the tail of the past it looks at, scaled."""

    shape: Shape
    tail: arrays.Floats

    def update(self, points: arrays.Floats) -> Regressed:
        """Move on by new points."""
        scaled = self.shape.scaling.apply(histories.as_rows(points))
        # A tail that is shorter than the features reach grows until it is not.
        joined = np.concatenate((self.tail, scaled), axis=1)
        return Regressed(self.shape, joined[:, -self.shape.reach :])

    def means(self, steps: int) -> arrays.Floats:
        """Look ahead from the last point."""
        return self.shape.look(self.tail, self.tail.shape[1] - 1, steps)[:, 0]

    def roll(self, points: arrays.Floats, steps: int) -> arrays.Floats:
        """Look ahead after each point."""
        scaled = self.shape.scaling.apply(histories.as_rows(points))
        joined = np.concatenate((self.tail, scaled), axis=1)
        return self.shape.look(joined, self.tail.shape[1], steps)


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
    """Return for each step the horizons fitted before and after it, and where it lies between."""
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
