"""Paired statistics against worked numbers, published tables and scipy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kubestow.workflows.comparing import statistics

numbers = st.floats(-100.0, 100.0).map(lambda value: round(value, 3))
samples = st.lists(st.tuples(numbers, numbers), min_size=3, max_size=12)


def test_a_worked_example() -> None:
    # Differences 1, 2, 3: mean 2, sd 1, standard error 1/sqrt(3) = 0.57735, t = 3.4641;
    # t(0.975, 2) = 4.30265, half-width 2.48414; p of t = 3.4641 with 2 degrees = 0.07418.
    result = statistics.compare_pairs(np.array([11.0, 22.0, 33.0]), np.array([10.0, 20.0, 30.0]))
    assert result.difference == 2.0
    assert result.low == pytest.approx(2.0 - 2.48414, abs=1e-5)
    assert result.high == pytest.approx(2.0 + 2.48414, abs=1e-5)
    assert result.p == pytest.approx(0.07418, abs=1e-5)
    assert result.effect == 2.0
    # Three signs alike: 2 of 8 patterns.
    assert result.p_signed_rank == 0.25
    # 22 / 20, with a baseline of 20 +- 4.303 x 5.774 that may as well be 0.
    assert result.ratio == pytest.approx(1.1)
    assert result.ratio_low is None
    assert (result.n, result.verdict) == (3, "tested")


@given(samples)
def test_p_and_interval_are_those_of_scipy(pairs: list[tuple[float, float]]) -> None:
    values, reference = np.array(pairs).T
    result = statistics.compare_pairs(values, reference)
    if result.verdict != statistics.TESTED:
        return
    expected = stats.ttest_rel(values, reference)
    interval = expected.confidence_interval(0.95)
    assert result.p == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)
    assert result.low == pytest.approx(interval.low, rel=1e-6, abs=1e-9)
    assert result.high == pytest.approx(interval.high, rel=1e-6, abs=1e-9)


@given(samples)
def test_turning_the_pair_around_turns_the_difference_around(
    pairs: list[tuple[float, float]],
) -> None:
    values, reference = np.array(pairs).T
    there, back = (
        statistics.compare_pairs(values, reference),
        statistics.compare_pairs(reference, values),
    )
    assert there.difference == pytest.approx(-back.difference, abs=1e-9)
    assert there.p == back.p
    assert there.p_signed_rank == back.p_signed_rank


def test_one_seed_has_a_difference_and_nothing_else() -> None:
    result = statistics.compare_pairs(np.array([3.0]), np.array([2.0]))
    assert (result.difference, result.ratio, result.n) == (1.0, 1.5, 1)
    assert (result.low, result.high, result.p, result.effect, result.ratio_low) == (None,) * 5
    assert result.verdict == "one seed"
    assert statistics.summarise_pairs(np.array([3.0])) == statistics.PairedSummary(3.0, None, 1)


def test_equal_values_differ_with_p_1() -> None:
    values = np.array([1.0, 5.0, 2.0])
    result = statistics.compare_pairs(values, values)
    assert (result.difference, result.low, result.high, result.p) == (0.0, 0.0, 0.0, 1.0)
    assert result.verdict == "equal"


def test_the_same_difference_in_every_seed_is_told_and_not_tested() -> None:
    reference = np.array([1200.1, 1300.7, 1250.3])
    result = statistics.compare_pairs(reference - 100.0, reference)
    assert result.difference == pytest.approx(-100.0)
    assert (result.p, result.p_signed_rank, result.effect) == (None, None, None)
    assert result.low == result.high == result.difference
    assert result.verdict == "all alike"


def test_a_ratio_that_is_the_same_in_every_seed_is_certain() -> None:
    reference = np.array([100.0, 110.0, 120.0])
    result = statistics.compare_pairs(1.1 * reference, reference)
    assert (result.ratio_low, result.ratio_high) == pytest.approx((1.1, 1.1))


def test_a_baseline_of_zeros_has_no_ratio() -> None:
    result = statistics.compare_pairs(np.array([1.0, 2.0]), np.zeros(2))
    assert (result.ratio, result.ratio_low, result.ratio_high) == (None, None, None)


def test_a_ratio_whose_baseline_may_be_zero_has_no_interval() -> None:
    assert statistics.ratio_interval(np.array([1.0, 2.0]), np.array([-1.0, 3.0])) == (None, None)


def test_the_interval_of_a_ratio_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    hits, rounds = 0, 2000
    for _ in range(rounds):
        luck = rng.normal(0.0, 2.0, 6)  # common to both, as with common random numbers
        reference = 10.0 + luck + rng.normal(0.0, 1.0, 6)
        values = 15.0 + luck + rng.normal(0.0, 1.0, 6)
        low, high = statistics.ratio_interval(values, reference)
        assert low is not None
        assert high is not None
        hits += low <= 1.5 <= high
    # Standard error of a share of 0.95 in 2000: 0.005.
    assert hits / rounds == pytest.approx(0.95, abs=0.02)


def by_enumeration(differences: list[int]) -> float:
    """The signed-rank test by trying all signs."""
    result = [d for d in differences if d]
    ranks = stats.rankdata(np.abs(result)) if result else np.zeros(0)
    centre = ranks.sum() / 2.0
    seen = abs(sum(r for r, d in zip(ranks, result, strict=True) if d > 0) - centre)
    patterns = list(itertools.product((0, 1), repeat=len(result)))
    far = [p for p in patterns if abs(np.dot(p, ranks) - centre) >= seen - 1e-9]
    return len(far) / len(patterns)


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=9))
def test_signed_ranks_are_exact_with_ties_and_zeros(differences: list[int]) -> None:
    result = statistics.signed_rank(np.array(differences, dtype=np.float64))
    assert result == pytest.approx(by_enumeration(differences))


def test_signed_ranks_are_those_of_the_textbook_table() -> None:
    # Wilcoxon, n = 10: a rank sum of 8 has the two-sided p 0.0488 (50 of 1024 patterns).
    differences = np.array([-8.0, 1, 2, 3, 4, 5, 6, 7, 9, 10])
    assert statistics.signed_rank(differences) == pytest.approx(50 / 1024)


def test_holm_by_hand() -> None:
    # 0.01 x 4; 0.02 x 3; 0.03 x 2 is 0.06, too; 0.5 x 1; what is not tested costs nothing.
    result = statistics.holm([0.02, None, 0.01, 0.5, 0.03])
    assert result == pytest.approx([0.06, None, 0.04, 0.5, 0.06])
    assert statistics.holm([]) == []
    assert statistics.holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_holm_keeps_order_and_lies_between_p_and_bonferroni(ps: list[float]) -> None:
    result = [p for p in statistics.holm(ps) if p is not None]
    for p, corrected in zip(ps, result, strict=True):
        assert p <= corrected <= min(1.0, p * len(ps)) or math.isclose(corrected, p * len(ps))
    ordered = sorted(range(len(ps)), key=lambda index: ps[index])
    assert [result[index] for index in ordered] == sorted(result)


def test_rounding_is_not_a_difference() -> None:
    # 0.1 + 0.2 is not 0.3 in floats.
    result = statistics.compare_pairs(np.array([0.1 + 0.2, 0.7]), np.array([0.3, 0.7]))
    assert (result.difference, result.p, result.verdict) == (0.0, 1.0, "equal")
