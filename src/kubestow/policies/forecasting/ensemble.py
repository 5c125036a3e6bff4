"""The ensemble behind ``auto``: candidates weighted by recent accuracy.

Fitting holds out the tail of the history, fits every candidate to the part before it, and rolls it
over the tail; then all are fitted again to the whole history. The errors on the tail give the
first weights, separately for each series and horizon. With each update old errors are discounted
and new ones added, so that the weights adapt: this keeps the ensemble near the best candidate at
any time (prediction with expert advice; Cesa-Bianchi and Lugosi, 2006). A forecast uses only data
before it.

Errors are absolute, so on skewed series the means of the ensemble are nearer to the median than to
the mean; if shortage is costly, use an upper quantile (``intervals``).

A series that was never negative gets no negative forecasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kubestow.model import arrays
from kubestow.model.arrays import Floats, Ints
from kubestow.policies import compiling
from kubestow.policies.forecasting import backtests, histories, protocols, seasons

PRIOR = 5.0
"""Weight of the candidates' common mean error as a prior, in observations."""


@compiling.compiled
def _learn(errors: Floats, total: Floats, k: int, expected: Floats, y: float, fade: float) -> None:
    """Discount errors at one horizon and add those of one point; ``nan`` marks no forecast."""
    if not np.isfinite(expected[0, k]):
        return
    total[k] = fade * total[k] + 1.0
    for c in range(errors.shape[0]):
        errors[c, k] = fade * errors[c, k] + abs(y - expected[c, k])


@compiling.compiled
def weigh(errors: Floats, total: Floats, k: int, power: float, weights: Floats) -> None:
    """Fill in the weights of one horizon; they sum to 1."""
    common = errors[:, k].mean() / total[k] if total[k] > 0.0 else 0.0
    least = np.inf
    for c in range(len(weights)):
        weights[c] = (errors[c, k] + PRIOR * common) / (total[k] + PRIOR)
        least = min(least, weights[c])
    for c in range(len(weights)):
        weights[c] = (least / weights[c]) ** power if least > 0.0 else 1.0
    weights /= weights.sum()


@compiling.compiled
def weigh_all(errors: Floats, totals: Floats, power: float, weights: Floats) -> None:
    """Fill in the weights of all series: by series, horizon and candidate."""
    for s in range(weights.shape[0]):
        for k in range(weights.shape[1]):
            weigh(errors[s], totals[s], k, power, weights[s, k])


@compiling.compiled
def learn_errors(
    errors: Floats,
    totals: Floats,
    expected: Floats,
    before: int,
    points: Floats,
    horizons: Ints,
    fade: float,
) -> None:
    """Update the candidates' errors with new points, in place.

    Args:
        errors: By series, candidate and horizon.
        totals: Discounted number of errors, by series and horizon.
        expected: Forecasts by series, origin, candidate and horizon; the first ``before`` origins
            precede the points, then there is one per point.
        before: Origins before the first point.
        points: One row per series.
        horizons: Steps ahead.
        fade: Discount factor of errors per step.
    """
    for s in range(points.shape[0]):
        for t in range(points.shape[1]):
            for k in range(len(horizons)):
                origin = before + t - horizons[k]
                if origin >= 0:
                    _learn(errors[s], totals[s], k, expected[s, origin], points[s, t], fade)


@compiling.compiled
def roll_weights(
    errors: Floats,
    totals: Floats,
    expected: Floats,
    before: int,
    points: Floats,
    horizons: Ints,
    fade: float,
    power: float,
    places: Ints,
    rolled: Floats,
    means: Floats,
) -> None:
    """Update errors like ``learn_errors`` and fill in the weighted means after each point.

    Args:
        errors: By series, candidate and horizon; updated.
        totals: Discounted number of errors; updated.
        expected: Forecasts by series, origin, candidate and horizon.
        before: Origins before the first point.
        points: One row per series.
        horizons: Steps ahead.
        fade: Discount factor of errors per step.
        power: How strongly weights depend on errors.
        places: Index of the horizon whose weights each step uses.
        rolled: Forecasts by candidate, series, point and step.
        means: Filled, by series, point and step.
    """
    weights = np.empty((len(horizons), errors.shape[1]))
    for s in range(points.shape[0]):
        for t in range(points.shape[1]):
            for k in range(len(horizons)):
                origin = before + t - horizons[k]
                if origin >= 0:
                    _learn(errors[s], totals[s], k, expected[s, origin], points[s, t], fade)
                weigh(errors[s], totals[s], k, power, weights[k])
            for h in range(means.shape[2]):
                total = 0.0
                for c in range(rolled.shape[0]):
                    total += weights[places[h], c] * rolled[c, s, t, h]
                means[s, t, h] = total


TAIL = 0.3
"""Share of the history that is held out for the first weights."""

_LONGEST_TAIL = 2000
_LEAST_TAIL = 4


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Several candidates, weighted for each series and horizon by discounted errors.

    Attributes:
        candidates: The models; those that need a longer history are omitted; the first one must
            accept any history.
        horizons: Steps ahead at which errors are tracked.
        half_life: Number of points after which an error counts half.
        power: How strongly weights depend on errors.
        name: The name under which it is registered.
    """

    candidates: Sequence[protocols.PointForecaster]
    horizons: Sequence[int] = (1,)
    half_life: float = 400.0
    power: float = 24.0
    name: str = "auto"

    @property
    def least_points(self) -> int:
        """Minimum number of points to fit."""
        return self.candidates[0].least_points

    def fit(self, values: arrays.Floats) -> Ensembled:
        """Evaluate the candidates on the tail of the history, then fit them to all of it."""
        rows = histories.check(values, self.least_points, self.name)
        steps = tuple(sorted(set(self.horizons)))
        tail = min(int(TAIL * rows.shape[1]), _LONGEST_TAIL)
        begin = rows.shape[1] - tail
        usable = [one for one in self.candidates if one.least_points <= begin]
        members = [seasons.detect(one, rows) for one in usable]
        if tail < _LEAST_TAIL + steps[0] or len(members) < 2:
            members, begin = list(self.candidates[:1]), rows.shape[1]
        expected = _forecast_tail(members, rows, begin, steps)
        fresh = Ensembled(
            names=tuple(one.name for one in members),
            members=tuple(one.fit(rows) for one in members),
            horizons=np.array(steps, dtype=np.int64),
            fade=0.5 ** (1.0 / self.half_life),
            power=self.power,
            errors=np.zeros((len(rows), len(members), len(steps))),
            totals=np.zeros((len(rows), len(steps))),
            pending=np.full((len(rows), steps[-1], len(members), len(steps)), np.nan),
            lowest=np.where(rows.min(axis=1) >= 0.0, 0.0, -np.inf),
        )
        return fresh.learn(expected[:, : rows.shape[1] - begin], rows[:, begin:], expected)

    def detect_seasons(self, values: arrays.Floats) -> Ensemble:
        """Return the ensemble with the seasons of a history."""
        return replace(self, candidates=[seasons.detect(one, values) for one in self.candidates])


def _forecast_tail(
    candidates: Sequence[protocols.PointForecaster],
    rows: arrays.Floats,
    begin: int,
    steps: tuple[int, ...],
) -> arrays.Floats:
    """Return the candidates' forecasts from each origin of the tail.

    The axes are series, origin, candidate and step. The first origin is the last point before the
    tail.
    """
    forecasts = np.empty((len(rows), rows.shape[1] - begin + 1, len(candidates), len(steps)))
    for c, candidate in enumerate(candidates):
        # An extra point makes the last point of the history an origin too.
        longer = np.concatenate((rows, rows[:, -1:]), axis=1)
        forecasts[:, :, c] = backtests.run(candidate, longer, begin, (1, *steps)).predicted[
            :, :, 1:
        ]
    return forecasts


@dataclass(frozen=True, slots=True, eq=False)
class Ensembled:
    """Fitted candidates with the errors that determine their weights.

    Attributes:
        names: Names of the candidates.
        members: The candidates, fitted.
        horizons: Steps ahead at which errors are tracked.
        fade: Discount factor of errors per step.
        power: How strongly weights depend on errors.
        errors: Discounted sums of absolute errors, by series, candidate and horizon.
        totals: Discounted numbers of errors, by series and horizon.
        pending: Forecasts from the last origins, oldest first, by series, origin, candidate and
            horizon; ``nan`` where there was no origin yet.
        lowest: Lower bound of the forecasts of each series.
    """

    names: tuple[str, ...]
    members: tuple[protocols.PointFitted, ...]
    horizons: arrays.Ints
    fade: float
    power: float
    errors: arrays.Floats
    totals: arrays.Floats
    pending: arrays.Floats
    lowest: arrays.Floats

    def learn(
        self, expected: arrays.Floats, points: arrays.Floats, pending: arrays.Floats
    ) -> Ensembled:
        """Return the ensemble with errors updated by points; its members are unchanged.

        Args:
            expected: Forecasts from one origin per point, the first one just before it.
            points: The points.
            pending: Forecasts from the origins up to now, to be kept.
        """
        errors, totals = self.errors.copy(), self.totals.copy()
        learn_errors(
            errors,
            totals,
            np.ascontiguousarray(expected),
            1,
            histories.as_rows(points),
            self.horizons,
            self.fade,
        )
        kept = np.concatenate((self.pending, pending), axis=1)[:, -self.pending.shape[1] :]
        return replace(self, errors=errors, totals=totals, pending=kept)

    def update(self, points: arrays.Floats) -> Ensembled:
        """Update the candidates with new points, and their errors."""
        rows = histories.as_rows(points)
        forecasts = self._expect(self._roll(rows, int(self.horizons[-1])))
        errors, totals = self.errors.copy(), self.totals.copy()
        joined = np.concatenate((self.pending, forecasts), axis=1)
        learn_errors(errors, totals, joined, self._before(), rows, self.horizons, self.fade)
        return replace(
            self,
            members=tuple(member.update(rows) for member in self.members),
            errors=errors,
            totals=totals,
            pending=joined[:, -self.pending.shape[1] :],
        )

    def means(self, steps: int) -> arrays.Floats:
        """Return weighted means of the candidates' forecasts."""
        weights = self.weights()[:, :, self._places(steps)]
        means = np.zeros((len(self.errors), steps))
        for c, member in enumerate(self.members):
            means += weights[:, c] * member.means(steps)
        return np.maximum(means, self.lowest[:, None])

    def roll(self, points: arrays.Floats, steps: int) -> arrays.Floats:
        """Return weighted means after each point, with weights updated along the points."""
        rows = histories.as_rows(points)
        rolled = self._roll(rows, max(steps, int(self.horizons[-1])))
        means = np.empty((*rows.shape, steps))
        roll_weights(
            self.errors.copy(),
            self.totals.copy(),
            np.concatenate((self.pending, self._expect(rolled)), axis=1),
            self._before(),
            rows,
            self.horizons,
            self.fade,
            self.power,
            self._places(steps),
            rolled,
            means,
        )
        return np.maximum(means, self.lowest[:, None, None])

    def weights(self) -> arrays.Floats:
        """Return the current weights, by series, candidate and horizon."""
        weights = np.empty((len(self.errors), len(self.horizons), len(self.names)))
        weigh_all(self.errors, self.totals, self.power, weights)
        return np.moveaxis(weights, 2, 1)

    def _before(self) -> int:
        return int(self.pending.shape[1])

    def _places(self, steps: int) -> arrays.Ints:
        """Return the index of the horizon whose weights a step uses: the next tracked one."""
        indices = np.searchsorted(self.horizons, np.arange(1, steps + 1))
        return np.minimum(indices, len(self.horizons) - 1)

    def _roll(self, rows: arrays.Floats, steps: int) -> arrays.Floats:
        return np.stack([member.roll(rows, steps) for member in self.members])

    def _expect(self, rolled: arrays.Floats) -> arrays.Floats:
        """Return forecasts at the tracked horizons: series, origin, candidate, step."""
        return np.ascontiguousarray(np.moveaxis(rolled[..., self.horizons - 1], 0, 2))
