"""ARIMA models of many series: d by unit-root tests, p and q by AIC and SC, maximum likelihood.

Shi 2023, section 3.2 (steps 1 to 6). ``Arima.fit`` scales each series, chooses d
(``stationarity``), fits all orders in one compiled loop and keeps the best (``search``,
``orders``). A fitted model is updated with new points at fixed parameters (``states``). Nothing is
clipped: means may leave the range of the history.

A constant series is modelled as a random walk: its forecast is its last value, also after it begins
to change. A series on a straight line is extrapolated along it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from kubestow.model.arrays import Bools, Floats, Ints
from kubestow.policies.forecasting import histories
from kubestow.policies.forecasting.arima import innovations, search, stationarity
from kubestow.policies.forecasting.arima import orders as arima_orders
from kubestow.policies.forecasting.arima import states as arima_states

ArimaOptions = arima_orders.ArimaOptions


@dataclass(frozen=True, slots=True)
class Arima:
    """Autoregressive integrated moving averages, one model per series.

    Attributes:
        options: How orders are chosen.
    """

    options: ArimaOptions = field(default_factory=ArimaOptions)

    name: ClassVar[str] = "arima"
    least_points: ClassVar[int] = stationarity.LEAST_POINTS + stationarity.MOST_DIFFERENCES

    def fit(self, values: Floats) -> FittedArima:
        """Choose orders and fit parameters of each series."""
        rows = histories.check(values, self.least_points, self.name)
        differences = self._differences(rows)
        frame = make_frame(rows, differences)
        with_means = self._with_means(differences)
        most = (self.options.most_p, self.options.most_q)
        if self.options.order is not None:
            most = (self.options.order[0], self.options.order[2])
        orders, phi, theta, results, tables = search.fit_batch(
            frame.scale_down(rows),
            differences,
            np.array(most, dtype=np.int64),
            self.options.order is not None,
            with_means,
            frame.flat,
            self.options.slack,
        )
        all_orders = np.stack((orders[:, 0], differences, orders[:, 1]), axis=1)
        all_orders[frame.flat, 1] = np.maximum(differences[frame.flat], 1)
        models = arima_states.Models(
            all_orders, phi, theta, results[:, 0], arima_states.make_edges(all_orders, phi, theta)
        )
        quality = Quality(
            points=rows.shape[1] - all_orders[:, 1],
            parameters=all_orders[:, 0] + all_orders[:, 2] + 1 + (with_means & ~frame.flat),
            variances=results[:, 1] * frame.scales**2,
            tables=tables,
            likelihoods=results[:, 2],
        ).in_units_of(frame)
        start = arima_states.make_states(len(rows), phi.shape[1] - 1)
        return FittedArima(models, start, frame, quality).update(rows)

    def _differences(self, rows: Floats) -> Ints:
        if self.options.order is not None:
            return np.full(len(rows), self.options.order[1], dtype=np.int64)
        return stationarity.count_differences(
            rows, self.options.most_d, self.options.level, drift=self.options.drift
        )

    def _with_means(self, differences: Ints) -> Bools:
        return np.asarray((differences == 0) | ((differences == 1) & self.options.drift))


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Location and scale of each series, so that models work on numbers of size about 1.

    Attributes:
        places: Mean of the history.
        scales: Standard deviation of the differenced history; 1 where it is constant.
        flat: Which series are constant.
    """

    places: Floats
    scales: Floats
    flat: Bools

    def scale_down(self, values: Floats) -> Floats:
        """Return values in the scale of the models."""
        return (values - self.places[:, None]) / self.scales[:, None]

    def scale_up(self, means: Floats) -> Floats:
        """Return means in the units of the series, for any axes after the series."""
        shape = (-1,) + (1,) * (means.ndim - 1)
        return means * self.scales.reshape(shape) + self.places.reshape(shape)


def make_frame(rows: Floats, differences: Ints) -> Frame:
    """Return location and scale of each series from its history."""
    places = rows.mean(axis=1)
    scales = np.zeros(len(rows))
    for times in np.unique(differences):
        chosen = differences == times
        differenced = np.diff(rows[chosen], n=int(times), axis=1)
        # The spread around 0 if the model may have no mean.
        middle = differenced.mean(axis=1, keepdims=True) if times == 0 else 0.0
        scales[chosen] = np.sqrt(((differenced - middle) ** 2).mean(axis=1))
    flat = scales <= stationarity.FLAT * np.abs(rows).max(axis=1)
    return Frame(places, np.where(flat, 1.0, scales), flat)


@dataclass(frozen=True, slots=True, eq=False)
class Quality:
    """How well models fit, one entry per series.

    Attributes:
        points: Points after differencing.
        parameters: Coefficients, the variance, and the mean if there is one.
        variances: Variance of the innovations.
        likelihoods: Exact Gaussian log-likelihood; 0 where a series is constant.
        tables: Log-likelihoods by p and q; minus infinity where none was fitted.
    """

    points: Ints
    parameters: Ints
    variances: Floats
    likelihoods: Floats
    tables: Floats

    def in_units_of(self, frame: Frame) -> Quality:
        """Return the likelihoods in the units of the original series instead of the scaled ones."""
        shift = np.where(frame.flat, 0.0, self.points * np.log(frame.scales))
        return replace(
            self,
            likelihoods=self.likelihoods - shift,
            tables=self.tables - shift[:, None, None],
        )


@dataclass(frozen=True, slots=True, eq=False)
class FittedArima:
    """ARIMA models with fixed parameters and their current states.

    Attributes:
        models: Orders and coefficients.
        states: Their states.
        frame: Locations and scales of the series.
        quality: How well they fit the history.
    """

    models: arima_states.Models
    states: arima_states.States
    frame: Frame
    quality: Quality

    @property
    def orders(self) -> Ints:
        """p, d and q of each series."""
        return self.models.orders

    @property
    def aic(self) -> Floats:
        """2 k - 2 ln L of each series (equation 3.3)."""
        return 2.0 * self.quality.parameters - 2.0 * self.quality.likelihoods

    @property
    def sc(self) -> Floats:
        """The Schwarz criterion k ln n - 2 ln L of each series (equation 3.4)."""
        weights = np.log(self.quality.points)
        return self.quality.parameters * weights - 2.0 * self.quality.likelihoods

    def candidates(self, series: int = 0) -> tuple[arima_orders.ArimaCandidate, ...]:
        """Return the orders that were tried for a series, by ascending AIC."""
        p, _, q = self.orders[series]
        extra = int(self.quality.parameters[series] - p - q)
        return arima_orders.list_candidates(
            self.quality.tables[series], int(self.quality.points[series]), extra
        )

    def update(self, points: Floats) -> FittedArima:
        """Update with new points; parameters stay."""
        states = arima_states.copy_states(self.states)
        arima_states.advance(self._scaled(points), self.models, states)
        return replace(self, states=states)

    def restart(self, values: Floats) -> FittedArima:
        """Return the same models at the end of another history, without the previous state."""
        states = arima_states.make_states(len(self.models.means), self.models.phi.shape[1] - 1)
        return replace(self, states=states).update(values)

    def means(self, steps: int) -> Floats:
        """Return the means of the next steps."""
        scaled = arima_states.forecast_all(steps, self.models, self.states)
        return self.frame.scale_up(scaled)

    def roll(self, points: Floats, steps: int) -> Floats:
        """Return the means forecast after each new point, in one pass."""
        states = arima_states.copy_states(self.states)
        scaled = arima_states.roll_all(self._scaled(points), steps, self.models, states)
        return self.frame.scale_up(scaled)

    def residuals(self, values: Floats) -> Floats:
        """Return the one-step errors along a history, each predicted from the points before it.

        The first ``d`` points have no prediction; their residuals are 0.
        """
        rows = histories.as_rows(values)
        ahead = self.restart(rows[:, :1]).roll(rows[:, 1:], 1)[:, :-1, 0]
        first = self.restart(rows[:, :0]).means(1)
        second = self.restart(rows[:, :1]).means(1)
        errors = rows - np.concatenate((first, second, ahead), axis=1)
        return np.where(np.arange(rows.shape[1]) < self.orders[:, 1:2], 0.0, errors)

    def _scaled(self, points: Floats) -> Floats:
        return self.frame.scale_down(histories.as_rows(points))


def log_likelihood(
    values: Floats,
    order: tuple[int, int, int],
    ar: Floats,
    ma: Floats,
    mean: float,
    variance: float,
) -> float:
    """Return the exact Gaussian log-likelihood of one series at given parameters.

    Args:
        values: The series, one row of points.
        order: p, d and q.
        ar: Autoregressive coefficients, stationary.
        ma: Moving-average coefficients, in the convention of ``polynomials``.
        mean: Mean of the differenced series.
        variance: Variance of the innovations.
    """
    p, d, q = order
    w = np.diff(np.asarray(values, dtype=np.float64), n=d) - mean
    phi, theta = np.zeros(max(p, q) + 1), np.zeros(max(p, q) + 1)
    phi[:p], theta[:q] = ar, ma
    orders = np.array([order], dtype=np.int64)
    edges = arima_states.make_edges(orders, phi[None], theta[None])[0]
    out = np.zeros((3, len(w)))
    if not innovations.write_innovations(w, p, q, phi, theta, edges, out):
        return -math.inf
    return float(
        -0.5 * np.sum(np.log(2.0 * math.pi * variance * out[2]) + out[0] ** 2 / (variance * out[2]))
    )
