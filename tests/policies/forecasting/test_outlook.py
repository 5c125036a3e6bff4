"""The forecaster that learns with every point."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.model import arrays
from kubestow.policies.forecasting import outlook as forecasting_outlook

STEP_S = 15.0
PARAMETERS = forecasting_outlook.OutlookParameters()


def play(
    values: arrays.Floats,
    ahead: int = 6,
    parameters: forecasting_outlook.OutlookParameters = PARAMETERS,
    state: forecasting_outlook.OutlookState | None = None,
) -> tuple[list[forecasting_outlook.Outlook], forecasting_outlook.OutlookState]:
    state = forecasting_outlook.begin() if state is None else state
    result = []
    for value in values:
        outlook, state = forecasting_outlook.advance(state, float(value), ahead, STEP_S, parameters)
        result.append(outlook)
    return result, state


def noise(count: int, seed: int = 1, spread: float = 1.0) -> arrays.Floats:
    return 20.0 + np.random.default_rng(seed).normal(0.0, spread, count)


def bursts(count: int, period: int = 120, seed: int = 1) -> arrays.Floats:
    """Return calm demand with a burst of four points at the same phase of every period."""
    values = noise(count, seed, 0.3)
    for begin in range(60, count, period):
        values[begin : begin + 4] += 15.0
    return values


# Levels


def test_noise_is_smoothed_away() -> None:
    result, _ = play(noise(600))
    levels = np.array([one.level for one in result[200:]])
    # The last value of deviation 1 is off by 0.8 on average, the mean of twelve by 0.25; every
    # seventh value or so passes for a jump and is followed.
    assert np.abs(levels - 20.0).mean() < 0.65
    assert np.mean([one.smoothing for one in result[200:]]) < 0.5


@pytest.mark.parametrize("still", [1, 8, 30])
def test_a_still_beginning_does_not_end_smoothing_for_ever(still: int) -> None:
    values = np.concatenate([np.full(still, 20.0), noise(600)])
    result, _ = play(values)
    levels = np.array([one.level for one in result[still + 200 :]])
    assert np.abs(levels - 20.0).mean() < 0.65


def test_a_walk_is_followed_by_persistence() -> None:
    values = 100.0 + np.cumsum(np.random.default_rng(3).normal(0.0, 1.0, 600))
    result, _ = play(values)
    lag = np.array([one.level for one in result]) - values
    assert np.abs(lag[100:]).mean() < 0.6  # steps of a deviation of 1


def test_a_jump_resets_all_levels_at_once() -> None:
    values = np.concatenate([noise(300, spread=0.5), noise(3, 2, 0.1) + 30.0])
    result, state = play(values)
    assert result[299].smoothing < 0.5
    assert result[300].level == values[300]  # not 20 + 0.1 x 30
    assert np.ptp(play(values[:301])[1].levels[:, -1]) == 0.0
    assert state.levels.shape[0] == len(forecasting_outlook.CONSTANTS)


# Trends


def test_the_trend_gate_stays_closed_on_noise() -> None:
    result, _ = play(noise(2000))
    assert sum(one.trending for one in result) < 0.05 * len(result)


def test_the_trend_gate_opens_on_a_ramp_and_looks_ahead() -> None:
    ramp = 10.0 + 0.2 * np.arange(200) + np.random.default_rng(1).normal(0.0, 0.05, 200)
    result, _ = play(ramp)
    assert sum(one.trending for one in result[20:]) > 0.95 * 180
    ahead = np.array([one.mean for one in result[20:-6]])
    # Six steps at 0.2, damped by 0.9 each: 0.9 + 0.81 + ... = 4.22 of them, so 0.84 beyond now.
    assert np.mean(ahead - ramp[20:-6]) == pytest.approx(0.2 * 4.217, abs=0.05)
    assert np.mean([one.skill for one in result[100:]]) > 0.3


def test_a_fall_is_followed_to_the_present_only() -> None:
    # A ramp down with samples that are four steps old on average.
    fall = 60.0 - 0.2 * np.arange(150) + np.random.default_rng(1).normal(0.0, 0.05, 150)
    state = forecasting_outlook.begin()
    for value in fall:
        result, state = forecasting_outlook.advance(
            state, float(value), 6, STEP_S, PARAMETERS, until_s=4 * STEP_S
        )
    assert result.falling
    assert not result.trending
    assert result.mean == pytest.approx(fall[-1] - 0.8, abs=0.1)


def test_a_trend_without_skill_does_not_count() -> None:
    # A saw: every rise of 14 points ends in a fall, so lines through rises overshoot.
    saw = np.tile(np.concatenate([np.arange(14.0), np.zeros(8)]), 40)
    result, _ = play(saw + np.random.default_rng(1).normal(0.0, 0.05, len(saw)), ahead=12)
    late = result[400:]
    assert np.nanmax([one.skill for one in late]) < 0.0
    assert not any(one.trending for one in late)


# Upper ends


def test_excesses_are_the_largest_value_of_the_window_over_the_forecast() -> None:
    values = np.array([5.0, 5.0, 5.0, 9.0, 4.0, 6.0])
    result, state = play(values, ahead=2)
    means = [one.mean for one in result]
    # Windows of two: (5, 5), (5, 9), (9, 4), (4, 6)
    expected = np.array([5.0, 9.0, 9.0, 6.0]) - means[:4]
    assert forecasting_outlook.excesses(state, 10).tolist() == pytest.approx(expected.tolist())
    assert forecasting_outlook.excesses(state, 2).tolist() == pytest.approx(expected[2:].tolist())
    assert np.isnan(state.tracks[forecasting_outlook.EXCESS, 4:]).all()


@pytest.mark.parametrize("risk", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("ahead", [1, 6, 13])
def test_the_upper_end_is_exceeded_at_about_the_risk(risk: float, ahead: int) -> None:
    values = noise(3000, seed=ahead)
    result, _ = play(values, ahead, forecasting_outlook.OutlookParameters(risk=risk, periods_s=()))
    origins = range(400, len(values) - ahead)
    over = [values[i + 1 : i + 1 + ahead].max() > result[i].upper for i in origins]
    assert np.mean(over) == pytest.approx(risk, abs=0.25 * risk + 0.01)


def test_bursts_by_the_clock_are_seen_coming() -> None:
    # Half an hour is 120 points; after ten bursts the next ones are expected where they come.
    values = bursts(2400)
    result, _ = play(values)
    before = [begin - 3 for begin in range(1260, 2300, 120)]
    assert all(result[i].seasonal and result[i].upper > 30.0 for i in before)
    between = [begin - 40 for begin in range(1260, 2300, 120)]
    assert all(result[i].upper < 25.0 for i in between)
    without, _ = play(values, parameters=forecasting_outlook.OutlookParameters(periods_s=()))
    assert all(without[i].upper < 25.0 for i in before)


def test_without_a_season_the_season_hardly_counts() -> None:
    result, _ = play(noise(3000))
    late = np.array([(one.seasonal, one.upper) for one in result[1500:]], dtype=np.float64)
    plain, _ = play(noise(3000), parameters=forecasting_outlook.OutlookParameters(periods_s=()))
    assert late[:, 0].mean() < 0.1
    assert late[:, 1].mean() < np.mean([one.upper for one in plain[1500:]]) + 0.1


# Paths


def test_the_path_ends_at_the_mean_at_the_horizon() -> None:
    ramp = 10.0 + 0.2 * np.arange(60) + np.random.default_rng(1).normal(0.0, 0.02, 60)
    result = play(ramp)[0][-1]
    assert result.trending
    path = forecasting_outlook.follow(result, 6, 20, PARAMETERS)
    assert (len(path), path[5]) == (20, pytest.approx(result.mean))
    assert (np.diff(path) > 0.0).all()
    # Each step is 0.9 of the one before.
    assert np.diff(path)[1:] == pytest.approx(0.9 * np.diff(path)[:-1])
    still = play(np.full(40, 7.0))[0][-1]
    assert forecasting_outlook.follow(still, 6, 4, PARAMETERS).tolist() == [7.0] * 4
    assert len(forecasting_outlook.follow(still, 6, 2, PARAMETERS)) == 2


# State


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), cut=st.integers(0, 199), ahead=st.integers(1, 20))
def test_nothing_of_the_future_is_known(seed: int, cut: int, ahead: int) -> None:
    values = bursts(200, 40, seed)
    other = values.copy()
    other[cut:] = np.random.default_rng(seed).uniform(0.0, 1e6, 200 - cut)
    quick = forecasting_outlook.OutlookParameters(periods_s=(40 * STEP_S * 2,))
    before, _ = play(values[:cut], ahead, quick)
    after, _ = play(other, ahead, quick)
    assert repr(before) == repr(after[:cut])


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), cut=st.integers(0, 120), ahead=st.integers(1, 120))
def test_a_stored_state_goes_on_identically(seed: int, cut: int, ahead: int) -> None:
    values = bursts(121, 30, seed)
    whole, last = play(values, ahead)
    _, state = play(values[:cut], ahead)
    kept = json.dumps(state.as_json(), allow_nan=False)
    again, end = play(
        values[cut:], ahead, state=forecasting_outlook.OutlookState.from_json(json.loads(kept))
    )
    assert repr(again) == repr(whole[cut:])
    assert end.as_json() == last.as_json()
    assert json.dumps(state.as_json()) == kept


def test_the_past_is_not_kept_for_ever() -> None:
    parameters = forecasting_outlook.OutlookParameters(history_s=3000.0)
    _, state = play(noise(700), parameters=parameters)
    assert state.tracks.shape[1] == 200  # 3000 s of 15 s each
    assert state.levels.shape[1] < 100


@pytest.mark.parametrize("value", [0.0, 0.3, 1e-9, 1e15])
def test_a_still_series_stays_what_it_is(value: float) -> None:
    result, _ = play(np.full(300, value))
    assert result[-1].level == result[-1].mean == result[-1].upper == pytest.approx(value)
    assert not result[-1].seasonal


SCRIPT = """
import json, sys
import numpy as np
from kubestow.policies.forecasting import outlook as outlook_module
values, state = np.array(json.loads(sys.stdin.read())), outlook_module.begin()
parameters = outlook_module.OutlookParameters(periods_s=(600.0,))
found = []
for value in values:
    outlook, state = outlook_module.advance(state, float(value), 5, 15.0, parameters, 60.0, 45.0)
    found.append([float(number) for number in outlook])
print(json.dumps(found))
"""


def test_compiled_and_plain_python_agree() -> None:
    values = bursts(500, 40)
    values[200:260] += 0.3 * np.arange(60)
    values[260:300] += np.linspace(18.0, 0.0, 40)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        input=json.dumps(values.tolist()),
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    state, result = forecasting_outlook.begin(), []
    parameters = forecasting_outlook.OutlookParameters(periods_s=(600.0,))
    for value in values:
        one, state = forecasting_outlook.advance(
            state, float(value), 5, STEP_S, parameters, 60.0, 45.0
        )
        result.append([float(number) for number in one])
    np.testing.assert_allclose(json.loads(done.stdout), result, rtol=1e-9, atol=1e-9)
    flags = np.array(result)[:, 6:9].sum(axis=0)
    assert (flags > 0).all()  # trends, falls and seasons all had their turn
