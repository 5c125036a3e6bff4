"""The serial residual model: its identity, what it gains, when it keeps silent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.model import errors
from kubestow.model.arrays import Floats
from kubestow.policies.forecasting.arima import models
from kubestow.policies.forecasting.gru import hybrid, options
from tests.policies.forecasting import synthetic_series

NETWORK = options.GruOptions(
    window=6, units=12, horizon=2, epochs=25, patience=5, rate=5e-3, batch=32
)
OPTIONS = hybrid.HybridOptions(gru=NETWORK)
STRICT = hybrid.HybridOptions(gru=replace(NETWORK, biases=False), strict=True)
KINDS = ["fitted", "strict"]


@pytest.fixture(scope="module")
def rows() -> Floats:
    made = synthetic_series.threshold(3, 900, seed=2)
    return np.asarray(made * np.array([[1.0], [50.0], [1e-6]]) + 3.0)


@pytest.fixture(scope="module")
def fitted(rows: Floats) -> hybrid.FittedArimaGru:
    return hybrid.ArimaGru(OPTIONS).fit(rows[:, :700])


@pytest.fixture(scope="module")
def strict(rows: Floats) -> hybrid.FittedArimaGru:
    return hybrid.ArimaGru(STRICT).fit(rows[:, :700])


def step_errors(rolled: Floats, points: Floats, step: int) -> Floats:
    """Return the mean squared error of one step ahead, by series."""
    forecasts = rolled[:, :-step, step - 1]
    return np.asarray(((forecasts - points[:, step:]) ** 2).mean(axis=1))


@pytest.mark.parametrize("kind", KINDS)
def test_the_forecast_is_the_sum_of_the_two_parts(
    kind: str, rows: Floats, request: pytest.FixtureRequest
) -> None:
    model: hybrid.FittedArimaGru = request.getfixturevalue(kind)
    linear, network = model.parts(4)
    # T' = L' + N' (3.12), L' being what ARIMA alone says.
    assert np.array_equal(model.means(4), linear + network)
    alone = models.Arima().fit(rows[:, :700])
    assert np.array_equal(linear, alone.means(4))
    assert np.abs(network[:, 0]).max() > 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_the_residuals_it_sees_are_those_of_arima(
    kind: str, rows: Floats, request: pytest.FixtureRequest
) -> None:
    model: hybrid.FittedArimaGru = request.getfixturevalue(kind)
    moved = model.update(rows[:, 700:])
    wanted = model.linear.residuals(rows)[:, -6:]
    assert moved.residuals == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_it_beats_arima_where_there_is_a_nonlinear_part(
    kind: str, rows: Floats, request: pytest.FixtureRequest
) -> None:
    model: hybrid.FittedArimaGru = request.getfixturevalue(kind)
    test = rows[:, 700:]
    joined = step_errors(model.roll(test, 1), test, 1)
    alone = step_errors(model.linear.roll(test, 1), test, 1)
    assert np.all(joined < 0.7 * alone)


def test_trained_on_errors_of_each_step_it_is_not_worse_further_ahead(
    rows: Floats, fitted: hybrid.FittedArimaGru
) -> None:
    test = rows[:, 700:]
    joined = step_errors(fitted.roll(test, 2), test, 2)
    alone = step_errors(fitted.linear.roll(test, 2), test, 2)
    assert np.all(joined < 1.02 * alone)


def test_beyond_its_horizon_the_forecast_is_that_of_arima(
    fitted: hybrid.FittedArimaGru,
) -> None:
    linear, network = fitted.parts(5)
    assert not network[:, 2:].any()
    assert np.array_equal(fitted.means(5)[:, 2:], linear[:, 2:])


def test_strict_forecasts_feed_the_expected_residual_back(
    strict: hybrid.FittedArimaGru,
) -> None:
    _, network = strict.parts(2)
    later = replace(
        strict, residuals=np.concatenate((strict.residuals[:, 1:], network[:, :1]), axis=1)
    )
    assert np.array_equal(later.parts(1)[1][:, 0], network[:, 1])


def test_on_a_linear_series_the_network_adds_next_to_nothing() -> None:
    row = synthetic_series.arma(4, 600, ar=(0.7,), seed=5)
    model = hybrid.ArimaGru(OPTIONS).fit(row[:, :450])
    test = row[:, 450:]
    joined = step_errors(model.roll(test, 1), test, 1)
    alone = step_errors(model.linear.roll(test, 1), test, 1)
    assert np.all(joined < 1.05 * alone)


def test_a_network_that_does_not_help_is_left_out(rows: Floats) -> None:
    # No network reduces the error by 99.9 % of it: every gate closes.
    options = replace(OPTIONS, gru=replace(NETWORK, gain=0.999, epochs=1))
    model = hybrid.ArimaGru(options).fit(rows[:, :200])
    assert not model.network.gates.any()
    assert np.array_equal(model.means(3), model.linear.means(3))


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(1, 8), st.integers(0, 5))
def test_rolling_equals_updating_and_looking_ahead(
    fitted: hybrid.FittedArimaGru,
    strict: hybrid.FittedArimaGru,
    seed: int,
    points: int,
    steps: int,
) -> None:
    new = np.random.default_rng(seed).normal(size=(3, points)) * 5.0
    for model in (fitted, strict):
        rolled = model.roll(new, steps)
        assert rolled.shape == (3, points, steps)
        for k in range(points):
            assert np.array_equal(rolled[:, k], model.update(new[:, : k + 1]).means(steps))


@pytest.mark.parametrize("kind", KINDS)
def test_forecasts_know_nothing_of_points_to_come(
    kind: str, rows: Floats, request: pytest.FixtureRequest
) -> None:
    model: hybrid.FittedArimaGru = request.getfixturevalue(kind)
    changed = rows[:, 700:].copy()
    changed[:, 31:] += 1e3
    a, b = model.roll(rows[:, 700:], 4), model.roll(changed, 4)
    assert np.array_equal(a[:, :31], b[:, :31])
    assert not np.array_equal(a[:, 31], b[:, 31])


def test_the_same_seed_gives_the_same_forecast() -> None:
    past = synthetic_series.threshold(1, 120, seed=4)
    short = replace(STRICT, gru=replace(STRICT.gru, epochs=2))
    first = hybrid.ArimaGru(short).fit(past).means(3)
    assert np.array_equal(first, hybrid.ArimaGru(short).fit(past).means(3))


@pytest.mark.parametrize("options", [OPTIONS, STRICT], ids=["default", "strict"])
def test_hard_series_have_finite_forecasts(options: hybrid.HybridOptions) -> None:
    hard = synthetic_series.hard_rows(40)
    short = replace(options, gru=replace(options.gru, epochs=2))
    model = hybrid.ArimaGru(short).fit(hard)
    assert np.isfinite(model.means(9)).all()
    assert np.isfinite(model.roll(hard[:, ::-1] * 1e3, 3)).all()


def test_too_few_points_are_refused() -> None:
    with pytest.raises(errors.InputError, match="arima-gru: 23 points are too few"):
        hybrid.ArimaGru().fit(np.zeros((1, 23)))
