"""The network as a forecaster: what it learns, how it moves, and when it keeps silent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.model import errors
from kubestow.model.arrays import Floats
from kubestow.policies.forecasting.arima import models
from kubestow.policies.forecasting.gru import models as gru_models
from kubestow.policies.forecasting.gru import options
from tests.policies.forecasting import synthetic_series

# One shape of window and batch for most tests, so that training is compiled once.
SMALL = gru_models.Options(
    window=6, units=12, horizon=2, epochs=25, patience=5, rate=5e-3, batch=32
)
STRICT = replace(SMALL, biases=False, relative=False, gated=False)


@pytest.fixture(scope="module")
def rows() -> Floats:
    made = synthetic_series.threshold(3, 900, seed=2)
    return np.asarray(made * np.array([[1.0], [50.0], [1e-6]]) + 3.0)


@pytest.fixture(scope="module")
def fitted(rows: Floats) -> gru_models.FittedGru:
    return gru_models.Gru(SMALL).fit(rows[:, :700])


@pytest.fixture(scope="module")
def strict(rows: Floats) -> gru_models.FittedGru:
    return gru_models.Gru(STRICT).fit(rows[:, :700])


def one_step_errors(rolled: Floats, points: Floats) -> Floats:
    """Return the mean squared error of one step, by series."""
    return np.asarray(((rolled[:, :-1, 0] - points[:, 1:]) ** 2).mean(axis=1))


@pytest.mark.parametrize("kind", ["fitted", "strict"])
def test_it_learns_a_nonlinear_map_that_arima_cannot(
    kind: str, rows: Floats, request: pytest.FixtureRequest
) -> None:
    network: gru_models.FittedGru = request.getfixturevalue(kind)
    test = rows[:, 700:]
    linear = one_step_errors(models.Arima().fit(rows[:, :700]).roll(test, 1), test)
    # The noise alone is 0.09 of a variance of 0.25; a line leaves 0.2.
    assert np.all(one_step_errors(network.roll(test, 1), test) < 0.7 * linear)


def test_one_training_serves_series_of_any_size(fitted: gru_models.FittedGru) -> None:
    sizes = fitted.scales.sizes
    assert sizes[1] / sizes[0] == pytest.approx(50.0, rel=0.2)
    assert fitted.network.gates.shape == (3, 2)


def test_the_same_seed_gives_the_same_network_and_another_seed_another() -> None:
    past = synthetic_series.threshold(1, 120, seed=4)
    short = replace(SMALL, epochs=2, gated=False)
    first = gru_models.Gru(short).fit(past).means(4)
    assert np.array_equal(first, gru_models.Gru(short).fit(past).means(4))
    assert not np.array_equal(first, gru_models.Gru(replace(short, seed=1)).fit(past).means(4))


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(1, 10), st.integers(0, 7))
def test_rolling_equals_updating_and_looking_ahead(
    fitted: gru_models.FittedGru, strict: gru_models.FittedGru, seed: int, points: int, steps: int
) -> None:
    new = np.random.default_rng(seed).normal(size=(3, points)) * 5.0
    for network in (fitted, strict):
        rolled = network.roll(new, steps)
        assert rolled.shape == (3, points, steps)
        for k in range(points):
            assert np.array_equal(rolled[:, k], network.update(new[:, : k + 1]).means(steps))


def test_forecasts_know_nothing_of_points_to_come(
    rows: Floats, fitted: gru_models.FittedGru
) -> None:
    changed = rows[:, 700:].copy()
    changed[:, 31:] += 1e3
    a, b = fitted.roll(rows[:, 700:], 5), fitted.roll(changed, 5)
    assert np.array_equal(a[:, :31], b[:, :31])
    assert not np.array_equal(a[:, 31], b[:, 31])


def test_beyond_the_horizon_it_goes_on_from_its_own_means(
    rows: Floats, fitted: gru_models.FittedGru
) -> None:
    # Two steps at once; the third is the first after having taken the two as points.
    far = fitted.means(4)
    assert np.array_equal(far[:, 2:], fitted.update(far[:, :2]).means(2))


def test_where_nothing_can_be_learnt_the_last_value_is_kept() -> None:
    walks = np.cumsum(np.random.default_rng(3).normal(size=(4, 400)), axis=1)
    network = gru_models.Gru(SMALL).fit(walks)
    moved = np.abs(network.means(2) - walks[:, -1:])
    # Chance may open a gate a little; a random walk's next step is 1 away.
    assert np.all(moved < 0.3)
    assert np.mean(network.network.gates) < 0.5


@pytest.mark.parametrize("options", [SMALL, STRICT], ids=["default", "strict"])
@pytest.mark.parametrize("points", [24, 60])
def test_hard_series_have_finite_forecasts(points: int, options: gru_models.Options) -> None:
    hard = synthetic_series.hard_rows(points)
    network = gru_models.Gru(replace(options, epochs=2)).fit(hard)
    assert np.isfinite(network.means(9)).all()
    assert np.isfinite(network.roll(hard[:, ::-1] * 1e3, 3)).all()


def test_a_series_that_stands_still_is_kept_and_followed() -> None:
    network = gru_models.Gru(replace(SMALL, epochs=1)).fit(np.full((1, 40), 5.0))
    assert network.means(3).tolist() == [[5.0, 5.0, 5.0]]
    assert network.update(np.array([[8.0]])).means(1).tolist() == [[8.0]]


def test_a_restarted_network_is_where_its_new_past_ends(
    rows: Floats, fitted: gru_models.FittedGru
) -> None:
    there = fitted.update(rows[:, 700:])
    assert np.array_equal(fitted.restart(rows).means(3), there.means(3))


def test_the_robust_loss_is_led_astray_less_by_spikes() -> None:
    past = synthetic_series.threshold(4, 700, seed=7)
    past[:, 50:600:60] += 15.0
    fresh = synthetic_series.threshold(4, 300, seed=8)
    result = {}
    for loss in ("mse", "huber"):
        network = gru_models.Gru(replace(SMALL, loss=loss)).fit(past).restart(fresh[:, :30])
        result[loss] = one_step_errors(network.roll(fresh[:, 30:], 1), fresh[:, 30:]).mean()
    assert result["huber"] < result["mse"]


def test_too_few_points_are_refused() -> None:
    with pytest.raises(errors.InputError, match="gru: 23 points are too few; expected at least 24"):
        gru_models.Gru().fit(np.zeros((1, 23)))


def test_strict_options_see_levels_alone(
    strict: gru_models.FittedGru, fitted: gru_models.FittedGru
) -> None:
    assert strict.network.weights.inputs.shape[0] == 1
    assert not strict.network.weights.biases.any()
    assert fitted.network.weights.inputs.shape[0] == 2
    assert options.strict().relative is False
