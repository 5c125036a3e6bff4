"""The gated recurrent unit of Shi 2023, equations 3.5 to 3.8, and a network of one, in NumPy.

    z = sigmoid(Wz x + Uz h)            update gate; near one it keeps the state
    r = sigmoid(Wr x + Ur h)            reset gate
    c = tanh(r * (U h) + W x)           candidate; the reset comes after the product
    h = (1 - z) * c + z * h

The thesis prints no biases; they are there if asked for. This is the readable form and the shape in
which weights are kept: plain arrays. ``gru_kernels`` computes the same compiled, ``gru_modules``
the same differentiably.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kubestow.policies.forecasting.protocols import Floats


class Weights(NamedTuple):
    """A network: one cell, and a linear layer from its last state to the outputs.

    Attributes:
        inputs: Wz, Wr and W side by side: one row per input channel, three columns per unit.
        states: Uz, Ur and U side by side: one row per unit.
        biases: One per column of these; zeros if there are none.
        outputs: One row per unit, one column per output.
        levels: One constant per output.
    """

    inputs: Floats
    states: Floats
    biases: Floats
    outputs: Floats
    levels: Floats


def draw_weights(
    channels: int, units: int, outputs: int, rng: np.random.Generator, *, silent: bool
) -> Weights:
    """Draw first weights: uniform within 1 / sqrt(units), as is usual for recurrent layers.

    Args:
        channels: Input channels.
        units: Units of the cell.
        outputs: Outputs.
        rng: Randomness.
        silent: Whether the last layer starts at zero, so that the untrained network says nothing.
    """
    bound = 1.0 / np.sqrt(units)
    last = rng.uniform(-bound, bound, size=(units, outputs))
    return Weights(
        inputs=rng.uniform(-bound, bound, size=(channels, 3 * units)),
        states=rng.uniform(-bound, bound, size=(units, 3 * units)),
        biases=np.zeros(3 * units),
        outputs=np.zeros_like(last) if silent else last,
        levels=np.zeros(outputs),
    )


def step(weights: Weights, inputs: Floats, states: Floats) -> Floats:
    """Return the states after one step; one row per sequence."""
    units = weights.states.shape[0]
    given = inputs @ weights.inputs + weights.biases
    held = states @ weights.states
    update = _sigmoid(given[:, :units] + held[:, :units])
    reset = _sigmoid(given[:, units : 2 * units] + held[:, units : 2 * units])
    candidate = np.tanh(reset * held[:, 2 * units :] + given[:, 2 * units :])
    return (1.0 - update) * candidate + update * states


def run(weights: Weights, windows: Floats) -> Floats:
    """Return the outputs after whole windows: one entry per sequence, step and channel given."""
    states = np.zeros((windows.shape[0], weights.states.shape[0]))
    for t in range(windows.shape[1]):
        states = step(weights, windows[:, t], states)
    return states @ weights.outputs + weights.levels


def _sigmoid(values: Floats) -> Floats:
    return 0.5 * (1.0 + np.tanh(0.5 * values))
