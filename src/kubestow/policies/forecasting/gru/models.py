"""A network that predicts the next points of a series from the last ones.

The network of ``cells``, trained over all series of a batch at once (``networks``). By default it
predicts the change since the last point, in the scale of such changes, and is not used where it
does not help on the end of the history: the forecast is then the last value. ``strict`` options
(``options.strict``) always predict levels.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.policies.forecasting import histories
from kubestow.policies.forecasting.gru import networks, options

Options = options.GruOptions


@dataclass(frozen=True, slots=True)
class Gru:
    """A gated recurrent unit over windows, with direct outputs for several steps.

    Attributes:
        options: Its architecture and training.
    """

    options: Options = field(default_factory=Options)

    name: ClassVar[str] = "gru"
    least_points: ClassVar[int] = networks.LEAST_POINTS

    def fit(self, values: Floats) -> FittedGru:
        """Train one network over all series."""
        rows = histories.check(values, self.least_points, self.name)
        window, horizon = networks.fit_shape(rows.shape[1], self.options)
        scales = measure_scales(rows, horizon, relative=self.options.relative)
        channels = scales.to_inputs(rows, np.diff(rows, axis=1, prepend=rows[:, :1]))
        targets = scales.to_targets(rows)
        network = networks.train(channels, targets, window, self.options, self.name)
        return FittedGru(network, scales, histories.take_tail(rows, window + 1))


@dataclass(frozen=True, slots=True, eq=False)
class Scales:
    """Location and scales of each series, from its history; scales are 1 where they would be 0.

    Attributes:
        places: Mean.
        sizes: Standard deviation.
        changes: Standard deviation of the change from point to point.
        aims: Standard deviation of the targets, by series and step ahead.
        relative: Whether changes since the last point are predicted.
    """

    places: Floats
    sizes: Floats
    changes: Floats
    aims: Floats
    relative: bool

    def to_inputs(self, values: Floats, changes: Floats) -> Floats:
        """Return the inputs of the network: one entry per series, further axes, and channel."""
        shape = (-1,) + (1,) * (values.ndim - 1)
        level = (values - self.places.reshape(shape)) / self.sizes.reshape(shape)
        if not self.relative:
            return level[..., None]
        return np.stack((level, changes / self.changes.reshape(shape)), axis=-1)

    def to_targets(self, rows: Floats) -> Floats:
        """Return the targets at each point; 0 where the future is not known."""
        targets = np.zeros((*rows.shape, self.aims.shape[1]))
        for h in range(1, self.aims.shape[1] + 1):
            base = rows[:, :-h] if self.relative else self.places[:, None]
            targets[:, :-h, h - 1] = (rows[:, h:] - base) / self.aims[:, h - 1 : h]
        return targets

    def to_means(self, outputs: Floats, last: Floats) -> Floats:
        """Return means from the outputs of the network: one entry per series, origin and step.

        Args:
            outputs: Outputs of the network.
            last: The last point before each origin, by series and origin.
        """
        base = last if self.relative else np.broadcast_to(self.places[:, None], last.shape)
        return base[..., None] + outputs * self.aims[:, None, :]


def measure_scales(rows: Floats, horizon: int, *, relative: bool) -> Scales:
    """Return location and scales of series."""
    sizes = spread(rows - rows.mean(axis=1, keepdims=True))
    if relative:
        aims = np.stack([spread(rows[:, h:] - rows[:, :-h]) for h in range(1, horizon + 1)], axis=1)
    else:
        aims = np.repeat(sizes[:, None], horizon, axis=1)
    return Scales(rows.mean(axis=1), sizes, spread(np.diff(rows, axis=1)), aims, relative)


def spread(errors: Floats) -> Floats:
    """Return the root mean square of rows; 1 where it is 0 or negligible."""
    largest = np.abs(errors).max(axis=1, initial=0.0)
    usable = largest > 0.0
    scaled = errors / np.where(usable, largest, 1.0)[:, None]
    sizes = np.sqrt((scaled**2).mean(axis=1)) * largest
    # The reciprocal of a smaller number could overflow.
    return np.where(sizes > 1e-290, sizes, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class FittedGru:
    """A trained network with its current state.

    Attributes:
        network: Weights and gates.
        scales: Scales of the series.
        tail: The last points: a window, and one more for the first change.
    """

    network: networks.Network
    scales: Scales
    tail: Floats

    def update(self, points: Floats) -> FittedGru:
        """Update with new points; weights stay."""
        return replace(self, tail=histories.extend(self.tail, points))

    def restart(self, values: Floats) -> FittedGru:
        """Return the same network at the end of another history."""
        return replace(self, tail=histories.take_tail(values, self.tail.shape[1]))

    def means(self, steps: int) -> Floats:
        """Return the means of the next steps."""
        return self._forecast(self.tail[:, None, :], steps)[:, 0]

    def roll(self, points: Floats, steps: int) -> Floats:
        """Return the means forecast after each new point, all windows in one call."""
        return self._forecast(histories.sliding_tails(self.tail, points), steps)

    def _forecast(self, tails: Floats, steps: int) -> Floats:
        """Forecast from many tails: one entry per series, origin and point.

        Beyond the horizon the network continues from its own means.
        """
        parts: list[Floats] = [np.zeros((*tails.shape[:2], 0))]
        while sum(part.shape[2] for part in parts) < steps:
            inputs = self.scales.to_inputs(tails[..., 1:], np.diff(tails, axis=2))
            means = self.scales.to_means(self.network.run(inputs), tails[..., -1])
            parts.append(means)
            tails = np.concatenate((tails, means), axis=2)[..., -tails.shape[2] :]
        return np.concatenate(parts, axis=2)[..., :steps]
