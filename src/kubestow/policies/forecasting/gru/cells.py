"""The gated recurrent unit of Shi 2023, equations 3.5 to 3.8, and a network of one, in NumPy.

    z = sigmoid(Wz x + Uz h)            update gate; near one it keeps the state
    r = sigmoid(Wr x + Ur h)            reset gate
    c = tanh(r * (U h) + W x)           candidate; the reset comes after the product
    h = (1 - z) * c + z * h

The thesis prints no biases; they are optional. This is the readable form and the format in which
weights are kept: plain arrays. ``run_compiled`` computes the same in compiled code, ``training``
the same differentiably.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.policies.compiling import compiled


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
    """Draw initial weights: uniform within 1 / sqrt(units), as is usual for recurrent layers.

    Args:
        channels: Input channels.
        units: Units of the cell.
        outputs: Outputs.
        rng: Randomness.
        silent: Whether the last layer starts at 0, so that the untrained network outputs 0.
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
    """Return the outputs after whole windows of shape sequence, step, channel."""
    states = np.zeros((windows.shape[0], weights.states.shape[0]))
    for t in range(windows.shape[1]):
        states = step(weights, windows[:, t], states)
    return states @ weights.outputs + weights.levels


def _sigmoid(values: Floats) -> Floats:
    return 0.5 * (1.0 + np.tanh(0.5 * values))


@compiled
def sigmoid(value: float) -> float:
    """Return the logistic function without overflow."""
    return 0.5 * (1.0 + math.tanh(0.5 * value))


@compiled
def add_product(row: Floats, matrix: Floats, out: Floats) -> None:
    """Add the product of a row and a matrix."""
    for k in range(len(row)):
        factor = row[k]
        for c in range(len(out)):
            out[c] += factor * matrix[k, c]


@compiled
def step_compiled(weights: Weights, x: Floats, state: Floats, given: Floats, held: Floats) -> None:
    """Update the state of one sequence by one step."""
    units = len(state)
    for c in range(3 * units):
        given[c], held[c] = weights.biases[c], 0.0
    add_product(x, weights.inputs, given)
    add_product(state, weights.states, held)
    for u in range(units):
        update = sigmoid(given[u] + held[u])
        reset = sigmoid(given[units + u] + held[units + u])
        candidate = math.tanh(reset * held[2 * units + u] + given[2 * units + u])
        state[u] = (1.0 - update) * candidate + update * state[u]


@compiled
def run_compiled(weights: Weights, windows: Floats) -> Floats:
    """Return the outputs after whole windows of shape sequence, step, channel."""
    count, points = windows.shape[0], windows.shape[1]
    units, outputs = weights.outputs.shape
    results = np.empty((count, outputs))
    given, held, state = np.empty(3 * units), np.empty(3 * units), np.empty(units)
    for i in range(count):
        for u in range(units):
            state[u] = 0.0
        for t in range(points):
            step_compiled(weights, windows[i, t], state, given, held)
        for c in range(outputs):
            results[i, c] = weights.levels[c]
        add_product(state, weights.outputs, results[i])
    return results
