"""The network of ``gru_cells`` as a differentiable module, for training only.

Imports JAX and Equinox, which come with the extra ``neural``; reached through ``neural_doors``.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from kubestow.policies.forecasting import gru_cells


class GruCell(eqx.Module):
    """One gated recurrent unit; equations 3.5 to 3.8 of Shi 2023.

    Attributes:
        inputs: Wz, Wr and W side by side.
        states: Uz, Ur and U side by side.
        biases: One per column; ``None`` for the cell as printed.
    """

    inputs: jax.Array
    states: jax.Array
    biases: jax.Array | None

    def feed(self, windows: jax.Array) -> jax.Array:
        """Return what the inputs contribute at every step at once."""
        given = windows @ self.inputs
        return given if self.biases is None else given + self.biases

    def __call__(self, state: jax.Array, given: jax.Array) -> jax.Array:
        """Return the state after one step, given what the inputs contribute."""
        units = self.states.shape[0]
        held = state @ self.states
        gates = jax.nn.sigmoid(given[..., : 2 * units] + held[..., : 2 * units])
        update, reset = gates[..., :units], gates[..., units:]
        candidate = jnp.tanh(reset * held[..., 2 * units :] + given[..., 2 * units :])
        return (1.0 - update) * candidate + update * state


class GruNetwork(eqx.Module):
    """One cell and a linear layer behind its last state.

    Attributes:
        cell: The cell.
        outputs: One row per unit, one column per output.
        levels: One constant per output.
    """

    cell: GruCell
    outputs: jax.Array
    levels: jax.Array

    def __call__(self, windows: jax.Array) -> jax.Array:
        """Return the outputs after whole windows: sequence, step, channel."""
        given = jnp.swapaxes(self.cell.feed(windows), 0, 1)
        start = jnp.zeros((windows.shape[0], self.cell.states.shape[0]), windows.dtype)
        state, _ = jax.lax.scan(lambda h, x: (self.cell(h, x), None), start, given)
        return state @ self.outputs + self.levels


def from_weights(weights: gru_cells.Weights, *, biases: bool) -> GruNetwork:
    """Return the module of plain arrays, in the precision JAX is set to."""
    # Without 64-bit numbers switched on, JAX makes these 32-bit ones.
    cell = GruCell(
        jnp.asarray(weights.inputs),
        jnp.asarray(weights.states),
        jnp.asarray(weights.biases) if biases else None,
    )
    return GruNetwork(cell, jnp.asarray(weights.outputs), jnp.asarray(weights.levels))


def to_weights(network: GruNetwork) -> gru_cells.Weights:
    """Return the plain arrays of a module."""
    biases = network.cell.biases
    if biases is None:
        biases = jnp.zeros(network.cell.states.shape[1])
    arrays = (network.cell.inputs, network.cell.states, biases, network.outputs, network.levels)
    return gru_cells.Weights(*(np.asarray(array, dtype=np.float64) for array in arrays))
