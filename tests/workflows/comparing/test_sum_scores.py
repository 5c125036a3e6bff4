"""The sum of use and quality: the thesis' numbers, and its test done right."""

from __future__ import annotations

import numpy as np
import pytest

from kubestow.model import arrays
from kubestow.workflows.comparing import sum_scores


def minutes(eru: list[float], response_s: list[float], start: int = 0) -> sum_scores.Minutes:
    times = np.arange(start + 1, start + 1 + len(eru), dtype=np.float64) * 60.0
    return sum_scores.Minutes(times, np.array(eru), np.array(response_s))


# Vector V8 of McNaughton 2016, 3.9. It is about idle CPU, lower is better: its negative is use.
PREDICTIVE = minutes([-80.0, -60.0], [0.006, 0.010])
REACTIVE = minutes([-70.0, -50.0], [0.008, 0.020])


def test_the_vector_of_the_thesis() -> None:
    eru, eru_before = sum_scores.standardise(PREDICTIVE.eru, REACTIVE.eru)
    waits, waits_before = sum_scores.standardise(PREDICTIVE.response_s, REACTIVE.response_s)
    assert eru - waits == pytest.approx([-0.41316, 0.63291], abs=1e-5)
    assert eru_before - waits_before == pytest.approx([0.10987, -0.32962], abs=1e-5)
    result = sum_scores.differ_in_sum(PREDICTIVE, REACTIVE)
    assert result.total == pytest.approx([-0.41316 - 0.10987, 0.63291 + 0.32962], abs=1e-5)
    assert result.total.mean() == pytest.approx(0.21974, abs=1e-5)
    assert result.total.std() == pytest.approx(0.74278, abs=1e-5)
    assert result.eru + result.response == pytest.approx(result.total)


def test_the_legacy_test_gives_the_printed_z_and_p() -> None:
    z, p = sum_scores.legacy_test(sum_scores.differ_in_sum(PREDICTIVE, REACTIVE).total)
    assert (round(z, 4), round(p, 3)) == (0.2958, 0.384)


# Table of McNaughton 2016, 4.8: aligned mean, population sd, paired minutes; t, p one- and
# two-sided.
CORRECTED = {
    "step-ladder v2": (0.522, 1.084, 24, 2.31, 0.015, 0.030),
    "jagged-edge v2": (0.289, 1.180, 26, 1.22, 0.117, 0.234),
    "increase-decrease v2": (-0.273, 0.694, 39, -2.42, 0.990, 0.020),
    "flash-crowd v2": (-0.575, 0.604, 23, -4.47, 1.000, 0.0002),
    "increase-decrease v1": (-0.185, 0.803, 39, -1.42, 0.918, 0.164),
    "flash-crowd v1": (-0.108, 0.976, 39, -0.68, 0.750, 0.501),
}


@pytest.mark.parametrize(
    ("mean", "sd", "n", "t", "greater", "both"), CORRECTED.values(), ids=CORRECTED.keys()
)
def test_printed_moments_give_the_corrected_test(
    mean: float, sd: float, n: int, t: float, greater: float, both: float
) -> None:
    result = sum_scores.check_moments(mean, sd, n)
    # Moments are printed with three digits: half a unit of the last one moves t by 0.5 %.
    assert result.t == pytest.approx(t, abs=0.012)
    assert result.p_greater == pytest.approx(greater, abs=0.002)
    assert result.p_two_sided == pytest.approx(both, abs=0.003)


def test_the_printed_z_is_wrong_by_the_root_of_the_number() -> None:
    # Step-ladder: 0.522 / 1.084 = 0.482 printed; times sqrt(24 - 1) it is the t above.
    result = sum_scores.check_moments(0.522, 1.084, 24)
    assert result.t == pytest.approx(0.522 / 1.084 * 23**0.5)


def test_minutes_are_paired_by_time_and_incomplete_ones_left_out() -> None:
    # The second run begins two minutes later; one of its minutes served nothing.
    first = minutes([0.1, 0.2, 0.3, 0.4, 0.5], [1.0, 1.0, 1.0, 1.0, 2.0])
    second = minutes([0.3, 0.4, 0.4], [1.0, float("nan"), 1.0], start=2)
    result = sum_scores.differ_in_sum(first, second)
    # Left: minutes 3 and 5. ERU 0.3, 0.5 against 0.3, 0.4: mean 0.375, sd 0.0829156.
    # Response 1, 2 against 1, 1: mean 1.25, sd 0.4330127.
    assert result.eru == pytest.approx([0.0, 0.1 / 0.0829156], abs=1e-5)
    assert result.response == pytest.approx([0.0, -1.0 / 0.4330127], abs=1e-5)


def test_what_does_not_vary_counts_nothing() -> None:
    result = sum_scores.differ_in_sum(
        minutes([0.5, 0.5], [1.0, 3.0]), minutes([0.5, 0.5], [2.0, 2.0])
    )
    assert result.eru.tolist() == [0.0, 0.0]
    assert result.response.tolist() != [0.0, 0.0]


def wandering(rng: np.random.Generator, n: int) -> arrays.Floats:
    """Noise that remembers 0.7 of its last value."""
    shocks = rng.normal(size=n + 50)
    for index in range(1, len(shocks)):
        shocks[index] += 0.7 * shocks[index - 1]
    return shocks[50:]


def test_the_bootstrap_over_blocks_knows_that_neighbours_are_alike() -> None:
    rng = np.random.default_rng(11)
    rounds, blocks, singly = 200, 0, 0
    for _ in range(rounds):
        series = wandering(rng, 300)
        low, high = sum_scores.bootstrap_interval(series, rng, resamples=300)
        blocks += low <= 0.0 <= high
        half = 1.96 * series.std(ddof=1) / 300**0.5  # as if minutes were replicates
        singly += abs(series.mean()) <= half
    assert blocks / rounds > 0.85
    assert singly / rounds < 0.7


def test_the_bootstrap_of_a_constant_is_the_constant() -> None:
    low, high = sum_scores.bootstrap_interval(np.full(10, 0.25), np.random.default_rng(1))
    assert (low, high) == pytest.approx((0.25, 0.25))
