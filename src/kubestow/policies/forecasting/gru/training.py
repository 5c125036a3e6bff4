"""Training of the network: Adam on shuffled windows, with early stopping on held-out windows.

Imports JAX and Optax, which the extra ``neural`` installs; ``networks.open_trainer`` imports this
module on demand. One compiled step serves all training sets with the same window shape, so many
fits compile once.
"""

from __future__ import annotations

import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from kubestow.model.arrays import Floats
from kubestow.policies import compile_events
from kubestow.policies.forecasting.gru import cells, options

_COMPILING = ("/jax/core/compile/jaxpr_to_mlir_module", "/jax/core/compile/backend_compile")


def _listen(event: str, duration_secs: float, **_: str | int) -> None:
    if event.startswith(_COMPILING):
        compile_events.durations_s.append(duration_secs)


jax.monitoring.register_event_duration_secs_listener(_listen)


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
        """Return the contribution of the inputs at all steps at once."""
        given = windows @ self.inputs
        return given if self.biases is None else given + self.biases

    def __call__(self, state: jax.Array, given: jax.Array) -> jax.Array:
        """Return the state after one step, given the contribution of the inputs."""
        units = self.states.shape[0]
        held = state @ self.states
        gates = jax.nn.sigmoid(given[..., : 2 * units] + held[..., : 2 * units])
        update, reset = gates[..., :units], gates[..., units:]
        candidate = jnp.tanh(reset * held[..., 2 * units :] + given[..., 2 * units :])
        return (1.0 - update) * candidate + update * state


class GruNetwork(eqx.Module):
    """One cell and a linear layer after its last state.

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


def from_weights(weights: cells.Weights, *, biases: bool) -> GruNetwork:
    """Return the module with given weights, in the precision JAX is set to."""
    # Unless 64-bit numbers are enabled, JAX converts these to 32 bits.
    cell = GruCell(
        jnp.asarray(weights.inputs),
        jnp.asarray(weights.states),
        jnp.asarray(weights.biases) if biases else None,
    )
    return GruNetwork(cell, jnp.asarray(weights.outputs), jnp.asarray(weights.levels))


def to_weights(network: GruNetwork) -> cells.Weights:
    """Return the plain arrays of a module."""
    biases = network.cell.biases
    if biases is None:
        biases = jnp.zeros(network.cell.states.shape[1])
    arrays = (network.cell.inputs, network.cell.states, biases, network.outputs, network.levels)
    return cells.Weights(*(np.asarray(array, dtype=np.float64) for array in arrays))


_LARGEST_GRADIENT = 1.0  # norm; limits the effect of one outlier
_LAST_SHARE = 0.1  # of the initial learning rate, reached along half a cosine
_CHUNK = 512  # windows per call in evaluation: one shape, compiled once

_OPTIMISER = optax.chain(optax.clip_by_global_norm(_LARGEST_GRADIENT), optax.scale_by_adam())


def measure_loss(
    network: GruNetwork, windows: jax.Array, targets: jax.Array, huber: bool
) -> jax.Array:
    """Return the mean loss over windows and outputs."""
    errors = network(windows) - targets
    return jnp.mean(optax.losses.huber_loss(errors) if huber else jnp.square(errors))


@functools.partial(jax.jit, static_argnames=("huber",))
def take_step(
    network: GruNetwork,
    memory: optax.OptState,
    rate: jax.Array,
    windows: jax.Array,
    targets: jax.Array,
    huber: bool,
) -> tuple[GruNetwork, optax.OptState]:
    """Return the network and the optimiser state after one batch."""
    gradient = jax.grad(measure_loss)(network, windows, targets, huber)
    change, memory = _OPTIMISER.update(gradient, memory)
    moved = jax.tree.map(lambda weight, move: weight - rate * move, network, change)
    return moved, memory


@jax.jit
def run_chunk(network: GruNetwork, windows: jax.Array) -> jax.Array:
    """Return the outputs for one chunk of windows."""
    return network(windows)


def run_all(network: GruNetwork, windows: Floats) -> Floats:
    """Return the outputs for any number of windows, computed in chunks of one shape."""
    count = len(windows)
    padded = np.zeros((-(-count // _CHUNK) * _CHUNK, *windows.shape[1:]), dtype=np.float32)
    padded[:count] = windows
    chunks = padded.reshape(-1, _CHUNK, *windows.shape[1:])
    outputs = np.concatenate([np.asarray(run_chunk(network, chunk)) for chunk in chunks])
    return np.asarray(outputs[:count], dtype=np.float64)


def score(network: GruNetwork, windows: Floats, targets: Floats, huber: bool) -> float:
    """Return the mean loss over held-out windows."""
    errors = np.abs(run_all(network, windows) - targets)
    losses = np.where(errors <= 1.0, 0.5 * errors**2, errors - 0.5) if huber else errors**2
    return float(losses.mean())


def draw_batches(
    count: int, options: options.GruOptions, rng: np.random.Generator
) -> list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """Return the indices of the windows of each batch of one epoch; all batches have equal size."""
    order = rng.permutation(count)[: options.windows_per_epoch]
    missing = -len(order) % options.batch
    filled = np.concatenate((order, rng.integers(0, count, size=missing)))
    return list(filled.reshape(-1, options.batch))


def rate_at(epoch: int, options: options.GruOptions) -> float:
    """Return the learning rate of an epoch: cosine decay to a tenth."""
    share = epoch / max(1, options.epochs - 1)
    falling = 0.5 * (1.0 + math.cos(math.pi * share))
    return options.rate * (_LAST_SHARE + (1.0 - _LAST_SHARE) * falling)


def train(
    start: cells.Weights,
    learnt: tuple[Floats, Floats],
    held_out: tuple[Floats, Floats],
    options: options.GruOptions,
    rng: np.random.Generator,
) -> cells.Weights:
    """Return the weights of the epoch with the lowest loss on the held-out windows.

    Args:
        start: Initial weights. If their outputs are 0 they count as an epoch, so a network that
            never helps stays at 0.
        learnt: Training windows and targets.
        held_out: Windows and targets for early stopping.
        options: Training options.
        rng: Randomness of the batches.
    """
    windows, targets = (np.asarray(array, dtype=np.float32) for array in learnt)
    network = from_weights(start, biases=options.biases)
    memory = _OPTIMISER.init(network)
    huber = options.loss == "huber"
    silent = not np.any(start.outputs)
    best, least = network, score(network, *held_out, huber) if silent else math.inf
    waited = 0
    for epoch in range(options.epochs):
        rate = jnp.float32(rate_at(epoch, options))
        for indices in draw_batches(len(windows), options, rng):
            network, memory = take_step(
                network, memory, rate, windows[indices], targets[indices], huber
            )
        loss = score(network, *held_out, huber)
        waited += 1
        if loss < least:
            best, least, waited = network, loss, 0
        if waited >= options.patience:
            break
    return to_weights(best)
