"""ARIMA for the linear part of a series, a network for its residuals: Shi 2023, 3.9 to 3.12.

    T'(t) = L'(t) + N'(t),   N'(t) = f(e(t-1), ..., e(t-n)),   e(t) = T(t) - L'(t)

L' comes from ``arima``, with parameters fixed after fitting; e are its one-step errors. The thesis
does not define forecasts of several steps. Here the network is trained on ARIMA's errors *of each
step ahead*, with the level and the last change as further inputs. It is not used where it does not
help on the end of the history, nor beyond its horizon: the forecast is then ARIMA's. ``strict``
follows the thesis literally: errors alone, one step, always added, and fed back for further steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.policies.forecasting import histories
from kubestow.policies.forecasting.arima import Arima, ArimaOptions, FittedArima
from kubestow.policies.forecasting.gru import models, networks, options


@dataclass(frozen=True, slots=True)
class HybridOptions:
    """Options of the two models.

    Attributes:
        arima: Options of the linear part.
        gru: Architecture and training of the network; ``relative`` and, if strict, ``horizon`` and
            ``gated`` are ignored.
        strict: Whether to follow the thesis literally.
    """

    arima: ArimaOptions = field(default_factory=ArimaOptions)
    gru: options.GruOptions = field(default_factory=options.GruOptions)
    strict: bool = False

    @property
    def network(self) -> options.GruOptions:
        """The effective options of the network."""
        return replace(self.gru, horizon=1, gated=False) if self.strict else self.gru


@dataclass(frozen=True, slots=True)
class ArimaGru:
    """A network on the residuals of ARIMA.

    Attributes:
        options: Options of the two models.
    """

    options: HybridOptions = field(default_factory=HybridOptions)

    name: ClassVar[str] = "arima-gru"
    least_points: ClassVar[int] = max(networks.LEAST_POINTS, Arima.least_points)

    def fit(self, values: Floats) -> FittedArimaGru:
        """Fit ARIMA to each series, then train one network on all residuals."""
        rows = histories.check(values, self.least_points, self.name)
        linear = Arima(self.options.arima).fit(rows)
        window, horizon = networks.fit_shape(rows.shape[1], self.options.network)
        ahead = linear.restart(rows[:, :0]).roll(rows, horizon)
        residuals = linear.residuals(rows)
        scales = measure_scales(rows, residuals, ahead, strict=self.options.strict)
        network = networks.train(
            scales.to_inputs(residuals, rows, np.diff(rows, axis=1, prepend=rows[:, :1])),
            scales.to_targets(rows, ahead),
            window,
            self.options.network,
            self.name,
        )
        return FittedArimaGru(
            linear,
            network,
            scales,
            histories.take_tail(residuals, window),
            histories.take_tail(rows, window + 1),
        )


@dataclass(frozen=True, slots=True, eq=False)
class HybridScales:
    """Scales of residuals and series, from the history.

    Attributes:
        series: Location and scales of the series.
        residuals: Root mean square of the one-step residuals.
        aims: Root mean square of the residuals by series and step ahead.
        strict: Whether residuals are the only input.
    """

    series: models.Scales
    residuals: Floats
    aims: Floats
    strict: bool

    def to_inputs(self, residuals: Floats, values: Floats, changes: Floats) -> Floats:
        """Return the inputs of the network: one entry per series, further axes, and channel."""
        scaled = residuals / self.residuals.reshape((-1,) + (1,) * (residuals.ndim - 1))
        if self.strict:
            return scaled[..., None]
        return np.concatenate((scaled[..., None], self.series.to_inputs(values, changes)), axis=-1)

    def to_targets(self, rows: Floats, ahead: Floats) -> Floats:
        """Return ARIMA's scaled errors of each step ahead at each point; 0 where not known."""
        return errors_ahead(rows, ahead) / self.aims[:, None, :]


def errors_ahead(rows: Floats, ahead: Floats) -> Floats:
    """Return actual minus forecast values, by series, origin and step; 0 at the end."""
    errors = np.zeros_like(ahead)
    for h in range(1, ahead.shape[2] + 1):
        errors[:, :-h, h - 1] = rows[:, h:] - ahead[:, :-h, h - 1]
    return errors


def measure_scales(rows: Floats, residuals: Floats, ahead: Floats, *, strict: bool) -> HybridScales:
    """Return the scales of residuals and series."""
    errors = errors_ahead(rows, ahead)
    horizon = ahead.shape[2]
    aims = [models.spread(errors[:, : rows.shape[1] - h, h - 1]) for h in range(1, horizon + 1)]
    return HybridScales(
        models.measure_scales(rows, 1, relative=True),
        models.spread(residuals),
        np.stack(aims, axis=1),
        strict,
    )


@dataclass(frozen=True, slots=True, eq=False)
class FittedArimaGru:
    """Both fitted models with their current states.

    Attributes:
        linear: ARIMA.
        network: The network on its residuals.
        scales: Scales of residuals and series.
        residuals: The last one-step residuals: a window.
        tail: The last points: a window, and one more for the first change.
    """

    linear: FittedArima
    network: networks.Network
    scales: HybridScales
    residuals: Floats
    tail: Floats

    def update(self, points: Floats) -> FittedArimaGru:
        """Update with new points; parameters and weights stay."""
        rows = histories.as_rows(points)
        residuals = self._residuals(rows, self.linear.roll(rows, 1))
        return replace(
            self,
            linear=self.linear.update(rows),
            residuals=histories.extend(self.residuals, residuals),
            tail=histories.extend(self.tail, rows),
        )

    def means(self, steps: int) -> Floats:
        """Return the means of the next steps: the linear part plus the network's."""
        linear, network = self.parts(steps)
        return linear + network

    def parts(self, steps: int) -> tuple[Floats, Floats]:
        """Return the two parts of the means: L' and N'."""
        corrections = self._correct(self.residuals[:, None, :], self.tail[:, None, :], steps)
        return self.linear.means(steps), corrections[:, 0]

    def roll(self, points: Floats, steps: int) -> Floats:
        """Return the means forecast after each new point."""
        rows = histories.as_rows(points)
        linear = self.linear.roll(rows, max(steps, 1))
        residuals = self._residuals(rows, linear)
        corrections = self._correct(
            histories.sliding_tails(self.residuals, residuals),
            histories.sliding_tails(self.tail, rows),
            steps,
        )
        return linear[..., :steps] + corrections

    def _residuals(self, rows: Floats, ahead: Floats) -> Floats:
        """Return the one-step errors of new points, given the forecasts after each."""
        expected = np.concatenate((self.linear.means(1), ahead[:, :-1, 0]), axis=1)
        return rows - expected[:, : rows.shape[1]]

    def _correct(self, residuals: Floats, tails: Floats, steps: int) -> Floats:
        """Return the network's part from many windows: one entry per series, origin and step."""
        corrections = np.zeros((*tails.shape[:2], steps))
        for k in range(steps if self.scales.strict else 1):
            inputs = self.scales.to_inputs(residuals, tails[..., 1:], np.diff(tails, axis=2))
            outputs = self.network.run(inputs) * self.scales.aims[:, None, :]
            width = min(outputs.shape[2], steps - k)
            corrections[..., k : k + width] = outputs[..., :width]
            residuals = np.concatenate((residuals[..., 1:], outputs[..., :1]), axis=2)
        return corrections
