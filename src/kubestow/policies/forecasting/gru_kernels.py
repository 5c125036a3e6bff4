"""The network of ``gru_cells`` compiled, every window on its own.

Forecasts need no differentiation, and small calls no framework: one window of 30 steps and 32 units
takes some tens of microseconds. A window's result is the same to the last digit whichever windows
are computed with it.
"""

from __future__ import annotations

import math

import numpy as np

from kubestow.policies.compiling import compiled
from kubestow.policies.forecasting.gru_cells import Weights
from kubestow.policies.forecasting.protocols import Floats


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
def step(weights: Weights, x: Floats, state: Floats, given: Floats, held: Floats) -> None:
    """Move the state of one sequence by one step."""
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
def run(weights: Weights, windows: Floats) -> Floats:
    """Return the outputs after whole windows: one entry per sequence, step and channel given."""
    count, points = windows.shape[0], windows.shape[1]
    units, outputs = weights.outputs.shape
    found = np.empty((count, outputs))
    given, held, state = np.empty(3 * units), np.empty(3 * units), np.empty(units)
    for i in range(count):
        for u in range(units):
            state[u] = 0.0
        for t in range(points):
            step(weights, windows[i, t], state, given, held)
        for c in range(outputs):
            found[i, c] = weights.levels[c]
        add_product(state, weights.outputs, found[i])
    return found
