"""Networks over windows of many series: cutting windows, training, and gates.

One network is trained over all rows of a batch, each in its own scale, so many series cost one
training. The end of the history is held out for early stopping and for the gates. Used by
``models`` (on the series) and ``hybrid`` (on residuals).
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from kubestow.model import errors
from kubestow.model.arrays import Floats
from kubestow.policies.forecasting.gru import cells, options

_TRAINER = "kubestow.policies.forecasting.gru.training"
_EXTRA = ("jax", "jaxlib", "equinox", "optax")


class Trainer(Protocol):
    """Interface of the optional training module."""

    def train(
        self,
        start: cells.Weights,
        learnt: tuple[Floats, Floats],
        held_out: tuple[Floats, Floats],
        options: options.GruOptions,
        rng: np.random.Generator,
    ) -> cells.Weights:
        """Return the weights of the epoch with the lowest loss on the held-out windows."""
        ...


def open_trainer(model: str) -> Trainer:
    """Import the training module.

    Args:
        model: Name of the model, for the message.

    Raises:
        InputError: If the extra is not installed.
    """
    try:
        return cast("Trainer", importlib.import_module(_TRAINER))
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] in _EXTRA:
            raise errors.InputError(
                f"model {model}", "needs the extra 'neural' (pip install 'kubestow[neural]')"
            ) from error
        raise


# Fewer points do not give a few training windows and one for early stopping.
LEAST_POINTS = 24
_MOST_HELD_OUT = 4096  # windows for early stopping, evenly spaced: more only cost time


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A trained network with its gates.

    Attributes:
        weights: The weights.
        window: Number of last points in its input.
        gates: Factor of each output, by series and output: 0 where it does not help.
    """

    weights: cells.Weights
    window: int
    gates: Floats

    @property
    def horizon(self) -> int:
        """Number of steps it predicts at once."""
        return len(self.weights.levels)

    def run(self, windows: Floats) -> Floats:
        """Return the gated outputs: one entry per series, origin and output.

        Args:
            windows: One entry per series, origin, step back and channel.
        """
        count, origins = windows.shape[:2]
        flat = np.ascontiguousarray(windows.reshape(count * origins, *windows.shape[2:]))
        outputs = cells.run_compiled(self.weights, flat).reshape(count, origins, self.horizon)
        return outputs * self.gates[:, None, :]


def fit_shape(points: int, options: options.GruOptions) -> tuple[int, int]:
    """Return window and horizon, limited to a quarter and a sixth of the history."""
    return min(options.window, points // 4), min(options.horizon, points // 6)


def cut_windows(channels: Floats, window: int) -> Floats:
    """Return the window that ends at each point from ``window - 1`` on.

    Args:
        channels: One entry per series, point and channel.
        window: Points of a window.

    Returns:
        One entry per series, origin, step back (oldest first) and channel.
    """
    views = np.lib.stride_tricks.sliding_window_view(channels, window, axis=1)
    return np.moveaxis(views, -1, 2)


def set_gates(outputs: Floats, targets: Floats, gain: float) -> Floats:
    """Return the factor of each output that is best on held-out windows.

    It lies between 0 and 1; it is 0 where the squared error decreases by less than ``gain``.

    Args:
        outputs: One entry per series, origin and output.
        targets: The targets of the outputs.
        gain: Share of the squared error.
    """
    size = (outputs**2).sum(axis=1)
    along = (outputs * targets).sum(axis=1)
    shares = np.clip(along / np.where(size > 0.0, size, 1.0), 0.0, 1.0)
    before = (targets**2).sum(axis=1)
    after = ((targets - shares[:, None] * outputs) ** 2).sum(axis=1)
    return np.where(after < (1.0 - gain) * before, shares, 0.0)


def train(
    channels: Floats, targets: Floats, window: int, options: options.GruOptions, model: str
) -> Network:
    """Train a network over many series.

    Args:
        channels: Inputs: one entry per series, point and channel, of size about 1.
        targets: Targets at each point: one entry per series, point and output. The last points, as
            many as there are outputs, have none; theirs are not read.
        window: Number of last points in its input.
        options: Training options.
        model: Name of the model, for messages.
    """
    trainer = open_trainer(model)
    rng = np.random.default_rng(options.seed)
    series, points, horizon = targets.shape
    held = max(math.ceil(options.held_out * points), horizon)
    windows = cut_windows(channels, window)
    # Origins are counted from the first full window. A target extends ``horizon`` points ahead, so
    # those between the two parts belong to neither.
    stop, begin, end = points - held - horizon, points - held - 1, points - horizon
    first = window - 1
    learnt = (windows[:, : stop - first], targets[:, first:stop])
    tail = (windows[:, begin - first : end - first], targets[:, begin:end])
    start = cells.draw_weights(channels.shape[2], options.units, horizon, rng, silent=options.gated)
    stride = max(1, series * (end - begin) // _MOST_HELD_OUT)
    stop_by = (_flatten(tail[0])[::stride], _flatten(tail[1])[::stride])
    weights = trainer.train(
        start, (_flatten(learnt[0]), _flatten(learnt[1])), stop_by, options, rng
    )
    network = Network(weights, window, np.ones((series, horizon)))
    if not options.gated:
        return network
    gates = set_gates(network.run(tail[0]), tail[1], options.gain)
    return Network(weights, window, gates)


def _flatten(entries: Floats) -> Floats:
    return entries.reshape(-1, *entries.shape[2:])
