"""Statistics with worked numbers."""

import math

import numpy as np
import pytest

from kubestow.workflows.comparing import summaries


def test_the_standard_error_uses_the_sample_variance() -> None:
    summary = summaries.summarise_counts(np.array([100, 102, 104, 106]))
    # Deviations -3, -1, 1, 3: squares sum to 20; variance 20/3; error sqrt(20/3/4).
    assert summary.mean == 103.0
    assert summary.standard_error == pytest.approx(math.sqrt(20 / 12))


def test_z_allows_for_the_spread_of_the_reported_mean() -> None:
    summary = summaries.CountSummary(mean=100.3, standard_error=0.1, n=1500)
    # With as many lists in the report: 0.3 / (0.1 sqrt 2).
    assert summaries.score_against(summary, 100.0, 1500) == pytest.approx(0.3 / math.sqrt(0.02))


def test_without_any_spread_only_equality_agrees() -> None:
    certain = summaries.CountSummary(mean=100.0, standard_error=0.0, n=5)
    assert summaries.score_against(certain, 100.0, 5) == 0.0
    assert summaries.score_against(certain, 101.0, 5) == -math.inf


def test_paired_intervals_use_differences() -> None:
    ours = np.array([10, 20, 30, 40])
    theirs = np.array([11, 22, 31, 42])
    mean, low, high = summaries.paired_interval(ours, theirs)
    # Differences -1, -2, -1, -2: mean -1.5, error 1/sqrt(12), t(3; 0.975) = 3.182.
    assert mean == -1.5
    assert high - mean == pytest.approx(3.182446 / math.sqrt(12), rel=1e-5)
    assert mean - low == pytest.approx(high - mean)


def test_equal_counts_have_an_interval_of_no_width() -> None:
    same = np.array([5, 6, 7])
    assert summaries.paired_interval(same, same) == (0.0, 0.0, 0.0)
