"""The ensemble behind ``auto``: candidates weighted by how well they did lately.

Fitting holds back the tail of the past, fits every candidate to what lies before, and rolls it over
the tail; then all are fitted again to the whole past. The errors on the tail give the first
weights, for each series and horizon on its own. While the model moves on, errors fade and new ones
come in, so that weights follow what happens: this is what keeps the ensemble near the best
candidate at any time (prediction with expert advice; Cesa-Bianchi and Lugosi, 2006). Nothing but
the past of a forecast has a part in it.

Errors are absolute ones, so on skewed series the means of the ensemble lie nearer to the median
than to the mean; who must not run short goes by an upper quantile (``intervals``).

A series that was never negative is not forecast to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kubestow.model import arrays
from kubestow.model.arrays import Floats, Ints
from kubestow.policies import compiling
from kubestow.policies.forecasting import backtests, histories, protocols

PRIOR = 5.0
"""Observations of the candidates' common mean error at the beginning."""


@compiling.compiled
def _learn(errors: Floats, total: Floats, k: int, expected: Floats, y: float, fade: float) -> None:
    """Let errors at one horizon fade and add those of one point; ``nan`` was not expected."""
    if not np.isfinite(expected[0, k]):
        return
    total[k] = fade * total[k] + 1.0
    for c in range(errors.shape[0]):
        errors[c, k] = fade * errors[c, k] + abs(y - expected[c, k])


@compiling.compiled
def weigh(errors: Floats, total: Floats, k: int, power: float, weights: Floats) -> None:
    """Fill in the weights of one horizon; they add up to one."""
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
    """Learn from points what candidates had expected of them, in place.

    Args:
        errors: By series, candidate and horizon.
        totals: Fading number of errors, by series and horizon.
        expected: By series, origin, candidate and horizon; the first ``before`` origins lie before
            the points, then there is one per point.
        before: Origins before the first point.
        points: One row per series.
        horizons: Steps ahead.
        fade: How much of an error is left one step later.
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
    """Learn as ``learn`` does and fill in the weighted means after each point.

    Args:
        errors: By series, candidate and horizon; changed.
        totals: Fading number of errors; changed.
        expected: By series, origin, candidate and horizon.
        before: Origins before the first point.
        points: One row per series.
        horizons: Steps ahead.
        fade: How much of an error is left one step later.
        power: How sharply weights follow errors.
        places: The horizon whose weights each step takes.
        rolled: By candidate, series, point and step.
        means: By series, point and step, to be filled.
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
"""Share of the past that is held back for the first weights."""

_LONGEST_TAIL = 2000
_LEAST_TAIL = 4


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Several candidates, weighted for each series and horizon by fading errors.

    Attributes:
        candidates: The models; those the past is too short for are left out, and the first one
            takes any past.
        horizons: Steps ahead at which errors are watched.
        half_life: Points after which an error counts half.
        power: How sharply weights follow errors.
        name: The name under which it is registered.
    """

    candidates: Sequence[protocols.PointForecaster]
    horizons: Sequence[int] = (1,)
    half_life: float = 400.0
    power: float = 24.0
    name: str = "auto"

    @property
    def least_points(self) -> int:
        """With fewer points it cannot be fitted."""
        return self.candidates[0].least_points

    def fit(self, values: arrays.Floats) -> Ensembled:
        """Try the candidates on the tail of the past, then fit them to all of it."""
        rows = histories.check(values, self.least_points, self.name)
        steps = tuple(sorted(set(self.horizons)))
        tail = min(int(TAIL * rows.shape[1]), _LONGEST_TAIL)
        begin = rows.shape[1] - tail
        tried = [one for one in self.candidates if one.least_points <= begin]
        if tail < _LEAST_TAIL + steps[0] or len(tried) < 2:
            tried, begin = list(self.candidates[:1]), rows.shape[1]
        expected = _try(tried, rows, begin, steps)
        fresh = Ensembled(
            names=tuple(one.name for one in tried),
            members=tuple(one.fit(rows) for one in tried),
            horizons=np.array(steps, dtype=np.int64),
            fade=0.5 ** (1.0 / self.half_life),
            power=self.power,
            errors=np.zeros((len(rows), len(tried), len(steps))),
            totals=np.zeros((len(rows), len(steps))),
            pending=np.full((len(rows), steps[-1], len(tried), len(steps)), np.nan),
            lowest=np.where(rows.min(axis=1) >= 0.0, 0.0, -np.inf),
        )
        return fresh.learn(expected[:, : rows.shape[1] - begin], rows[:, begin:], expected)


def _try(
    candidates: Sequence[protocols.PointForecaster],
    rows: arrays.Floats,
    begin: int,
    steps: tuple[int, ...],
) -> arrays.Floats:
    """Return what candidates expect from each origin of the tail: series, origin, candidate, step.

    The first origin is the last point before the tail.
    """
    found = np.empty((len(rows), rows.shape[1] - begin + 1, len(candidates), len(steps)))
    for c, candidate in enumerate(candidates):
        # One more point than there is makes the last point of the past an origin, too.
        longer = np.concatenate((rows, rows[:, -1:]), axis=1)
        found[:, :, c] = backtests.run(candidate, longer, begin, (1, *steps)).predicted[:, :, 1:]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Ensembled:
    """Fitted candidates with the errors that weigh them.

    Attributes:
        names: Names of the candidates.
        members: The candidates, fitted.
        horizons: Steps ahead at which errors are watched.
        fade: How much of an error is left one step later.
        power: How sharply weights follow errors.
        errors: Fading sums of absolute errors, by series, candidate and horizon.
        totals: Fading numbers of errors, by series and horizon.
        pending: What was expected from the last origins, oldest first, by series, origin,
            candidate and horizon; ``nan`` where there was no origin yet.
        lowest: Least value each series is forecast to have.
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
        """Return the ensemble after it learnt from points; its members stay where they are.

        Args:
            expected: What was expected, from one origin per point, the first one just before it.
            points: The points.
            pending: What is expected from the origins up to now, to be kept.
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
        """Move candidates on by new points, and learn from how well these were expected."""
        rows = histories.as_rows(points)
        looked = self._expect(self._roll(rows, int(self.horizons[-1])))
        errors, totals = self.errors.copy(), self.totals.copy()
        joined = np.concatenate((self.pending, looked), axis=1)
        learn_errors(errors, totals, joined, self._before(), rows, self.horizons, self.fade)
        return replace(
            self,
            members=tuple(member.update(rows) for member in self.members),
            errors=errors,
            totals=totals,
            pending=joined[:, -self.pending.shape[1] :],
        )

    def means(self, steps: int) -> arrays.Floats:
        """Return weighted means of what the candidates expect."""
        weights = self.weights()[:, :, self._places(steps)]
        found = np.zeros((len(self.errors), steps))
        for c, member in enumerate(self.members):
            found += weights[:, c] * member.means(steps)
        return np.maximum(found, self.lowest[:, None])

    def roll(self, points: arrays.Floats, steps: int) -> arrays.Floats:
        """Return weighted means after each point; weights follow the errors along the points."""
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
        """Return the present weights, by series, candidate and horizon."""
        found = np.empty((len(self.errors), len(self.horizons), len(self.names)))
        weigh_all(self.errors, self.totals, self.power, found)
        return np.moveaxis(found, 2, 1)

    def _before(self) -> int:
        return int(self.pending.shape[1])

    def _places(self, steps: int) -> arrays.Ints:
        """Return the horizon whose weights a step takes: the next one that is watched."""
        found = np.searchsorted(self.horizons, np.arange(1, steps + 1))
        return np.minimum(found, len(self.horizons) - 1)

    def _roll(self, rows: arrays.Floats, steps: int) -> arrays.Floats:
        return np.stack([member.roll(rows, steps) for member in self.members])

    def _expect(self, rolled: arrays.Floats) -> arrays.Floats:
        """Return what is expected at the watched horizons: series, origin, candidate, step."""
        return np.ascontiguousarray(np.moveaxis(rolled[..., self.horizons - 1], 0, 2))
