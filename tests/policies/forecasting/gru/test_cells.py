"""The cell against its equations, compiled and differentiable forms against it, gradients."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kubestow.model.arrays import Floats
from kubestow.policies.forecasting.gru import cells, training


def draw(
    channels: int = 2, units: int = 5, outputs: int = 3, seed: int = 0
) -> tuple[cells.Weights, Floats]:
    """Return weights with biases, and windows of seven points."""
    rng = np.random.default_rng(seed)
    weights = cells.draw_weights(channels, units, outputs, rng, silent=False)
    weights = weights._replace(biases=rng.normal(size=3 * units), levels=rng.normal(size=outputs))
    return weights, rng.normal(size=(6, 7, channels))


def sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value))


def test_one_unit_follows_equations_3_5_to_3_8() -> None:
    wz, wr, w, uz, ur, u = 0.3, -0.4, 0.9, 0.5, 0.7, -1.1
    weights = cells.Weights(
        np.array([[wz, wr, w]]), np.array([[uz, ur, u]]), np.zeros(3), np.ones((1, 1)), np.zeros(1)
    )
    x, h = 0.8, -0.6
    z = sigmoid(wz * x + uz * h)
    r = sigmoid(wr * x + ur * h)
    candidate = math.tanh(r * (u * h) + w * x)
    wanted = (1.0 - z) * candidate + z * h
    result = cells.step(weights, np.array([[x]]), np.array([[h]]))
    assert result[0, 0] == pytest.approx(wanted, abs=1e-15)


def test_an_update_gate_of_one_keeps_the_state() -> None:
    weights, windows = draw()
    biases = weights.biases.copy()
    biases[:5] = 50.0
    states = np.full((6, 5), 0.3)
    result = cells.step(weights._replace(biases=biases), windows[:, 0], states)
    assert result == pytest.approx(states, abs=1e-12)


def test_the_compiled_network_equals_the_plain_one() -> None:
    weights, windows = draw()
    assert cells.run_compiled(weights, windows) == pytest.approx(
        cells.run(weights, windows), abs=1e-13
    )


def test_a_window_does_not_depend_on_those_computed_with_it() -> None:
    weights, windows = draw()
    together = cells.run_compiled(weights, windows)
    for i in range(len(windows)):
        assert np.array_equal(cells.run_compiled(weights, windows[i : i + 1])[0], together[i])


@pytest.mark.parametrize("biases", [True, False])
def test_the_differentiable_network_equals_the_plain_one(biases: bool) -> None:
    weights, windows = draw()
    if not biases:
        weights = weights._replace(biases=np.zeros(15))
    network = training.from_weights(weights, biases=biases)
    assert np.asarray(network(jnp.asarray(windows))) == pytest.approx(
        cells.run(weights, windows), abs=1e-6
    )
    with jax.enable_x64(True):
        network = training.from_weights(weights, biases=biases)
        assert np.asarray(network(jnp.asarray(windows))) == pytest.approx(
            cells.run(weights, windows), abs=1e-13
        )


@pytest.mark.parametrize("biases", [True, False])
def test_weights_come_back_from_the_module(biases: bool) -> None:
    weights, _ = draw()
    with jax.enable_x64(True):
        back = training.to_weights(training.from_weights(weights, biases=biases))
    for name, array in weights._asdict().items():
        wanted = np.zeros(15) if name == "biases" and not biases else array
        assert np.array_equal(getattr(back, name), wanted)


@pytest.mark.parametrize("huber", [False, True])
def test_gradients_equal_finite_differences(huber: bool) -> None:
    weights, windows = draw()
    targets = np.random.default_rng(9).normal(size=(6, 3))
    step = 1e-6
    with jax.enable_x64(True):
        network = training.from_weights(weights, biases=True)
        given, wanted = jnp.asarray(windows), jnp.asarray(targets)
        gradient = training.to_weights(
            eqx.filter_grad(training.measure_loss)(network, given, wanted, huber)
        )
        measure = jax.jit(training.measure_loss, static_argnames="huber")

        def loss(moved: cells.Weights) -> float:
            module = training.from_weights(moved, biases=True)
            return float(measure(module, given, wanted, huber=huber))

        for name, array in weights._asdict().items():
            place = tuple(size // 2 for size in array.shape)
            ends = []
            for move in (-step, step):
                moved = array.copy()
                moved[place] += move
                ends.append(loss(weights._replace(**{name: moved})))
            slope = (ends[1] - ends[0]) / (2.0 * step)
            assert getattr(gradient, name)[place] == pytest.approx(slope, rel=1e-5, abs=1e-9)


def test_a_silent_network_says_nothing() -> None:
    weights = cells.draw_weights(2, 4, 3, np.random.default_rng(0), silent=True)
    assert not cells.run(weights, np.ones((2, 5, 2))).any()
