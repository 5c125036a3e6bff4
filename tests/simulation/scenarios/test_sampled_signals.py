"""Signals as means of steps: exact totals, daily waves, traces, repetition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model.decoding import fields, structures
from kubestow.simulation.scenarios import sampled_signals
from kubestow.simulation.scenarios.signals import Signal

# McNaughton 2016, 4.6: seconds and requests
TOTALS = {
    "step-ladder": (1500, 12_840),
    "jagged-edge": (1740, 12_150),
    "increase-decrease": (2400, 19_500),
    "flash-crowd": (1440, 5_400),
    "flash-crowd-long": (2400, 10_560),
}


def signal(**value: Any) -> Signal:
    return structures.read_structure(Signal, fields.Field(value, "f"))


@pytest.mark.parametrize("step_s", [1.0, 5.0, 7.0, 15.0, 60.0, 0.25])
@pytest.mark.parametrize("pattern", TOTALS)
def test_the_integral_of_a_pattern_is_its_number_of_requests(pattern: str, step_s: float) -> None:
    seconds, requests = TOTALS[pattern]
    steps = math.ceil(seconds / step_s)
    means = sampled_signals.step_means(signal(pattern=pattern), step_s, steps)
    held = steps * step_s - seconds  # every pattern ends with 1 request per second
    assert math.isclose(means.sum() * step_s, requests + held * 1.0, rel_tol=1e-12)


@pytest.mark.parametrize("pattern", TOTALS)
def test_with_repetition_every_round_has_the_same_requests(pattern: str) -> None:
    seconds, requests = TOTALS[pattern]
    means = sampled_signals.step_means(
        signal(pattern=pattern, repeat=True), 60.0, 3 * seconds // 60
    )
    assert math.isclose(means.sum() * 60.0, 3 * requests, rel_tol=1e-12)
    assert np.allclose(means[: seconds // 60], means[-(seconds // 60) :])


def test_a_pattern_can_be_scaled_and_holds_its_last_value() -> None:
    means = sampled_signals.step_means(signal(pattern="step-ladder", scale=2.5), 60.0, 40)
    assert means[:6].tolist() == [2.5, 2.5, 2.5, 10.0, 10.0, 10.0]
    assert means[-10:].tolist() == [2.5] * 10


@pytest.mark.parametrize("step_s", [15.0, 60.0, 3600.0])
def test_a_daily_wave_has_its_mean_and_its_peak(step_s: float) -> None:
    steps = int(86400 / step_s)
    means = sampled_signals.step_means(signal(pattern="diurnal", mean=300, peak=900), step_s, steps)
    assert math.isclose(means.mean(), 300.0, rel_tol=1e-9)
    assert means.max() <= 900.0
    assert math.isclose(means.max(), 900.0, rel_tol=2e-2 if step_s > 60 else 1e-4)
    assert (means > 0.0).all()
    # the peak is at 14:00
    assert abs((int(means.argmax()) + 0.5) * step_s - 50_400) <= step_s


def test_a_wave_without_amplitude_is_its_mean() -> None:
    means = sampled_signals.step_means(signal(pattern="diurnal", mean=5, peak=5), 900.0, 96)
    assert np.allclose(means, 5.0)


def test_a_wave_can_have_another_period() -> None:
    result = signal(pattern="diurnal", mean=10, peak=40, period="1h", peakAt="15m")
    means = sampled_signals.step_means(result, 60.0, 180)
    assert np.allclose(means[:60], means[60:120])
    assert abs(int(means[:60].argmax()) - 14.5) <= 0.5


def test_segments_are_averaged_exactly_within_a_step() -> None:
    pieces = [{"start": 0, "end": 10, "seconds": 10}, {"start": 4, "seconds": 5}]
    means = sampled_signals.step_means(signal(pattern="segments", segments=pieces), 4.0, 5)
    # 0..4: 2; 4..8: 6; 8..12: (2 x 9 + 2 x 4) / 4 = 6.5; then 4 to the end, and held
    assert np.allclose(means, [2.0, 6.0, 6.5, 4.0, 4.0])


def test_a_trace_holds_its_values_until_the_next() -> None:
    trace = sampled_signals.SignalTrace(
        np.array([0.0, 10.0, 15.0]), np.array([1.0, 3.0, 5.0]), 20.0
    )
    held = sampled_signals.step_means(signal(pattern="trace", trace="t"), 10.0, 4, {"t": trace})
    assert np.allclose(held, [1.0, 4.0, 5.0, 5.0])
    again = signal(pattern="trace", trace="t", column="c", repeat=True)
    repeated = sampled_signals.step_means(again, 10.0, 4, {"t#c": trace})
    assert np.allclose(repeated, [1.0, 4.0, 1.0, 4.0])


@given(
    st.lists(
        st.tuples(st.floats(0, 100), st.floats(0, 100), st.floats(0.5, 50)), min_size=1, max_size=6
    ),
    st.floats(0.3, 20),
    st.booleans(),
)
def test_steps_agree_with_a_fine_sum(
    pieces: list[tuple[float, float, float]], step_s: float, repeat: bool
) -> None:
    written = [{"start": a, "end": b, "seconds": s} for a, b, s in pieces]
    result = signal(pattern="segments", segments=written, repeat=repeat)
    coarse = sampled_signals.step_means(result, step_s, 8)
    fine = sampled_signals.step_means(result, step_s / 16, 128)
    assert np.allclose(coarse, fine.reshape(8, 16).mean(axis=1), rtol=1e-6, atol=1e-6)
