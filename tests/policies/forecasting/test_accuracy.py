"""Errors with worked arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from kubestow.policies.forecasting import accuracy

ACTUAL = np.array([[10.0, 20.0, 40.0, 0.1]])
PREDICTED = np.array([[12.0, 17.0, 40.0, 1.1]])
# errors 2, 3, 0, 1


@pytest.fixture(name="result")
def measure() -> accuracy.Accuracy:
    return accuracy.measure(ACTUAL, PREDICTED, np.array([0.5]))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mae", 6 / 4),
        ("rmse", (14 / 4) ** 0.5),
        # 0.1 is below 1 % of the mean 70.1 / 4 = 17.5: 0.2, 0.15, 0
        ("mape", 0.35 / 3),
        ("mape_dropped", 1),
        # 4/22, 6/37, 0, 2/1.2
        ("smape", (4 / 22 + 6 / 37 + 2 / 1.2) / 4),
        ("wape", 6 / 70.1),
        ("mase", 1.5 / 0.5),
        ("count", 4),
    ],
)
def test_errors_are_those_worked_out(result: accuracy.Accuracy, name: str, expected: float) -> None:
    assert getattr(result, name)[0] == pytest.approx(expected, rel=1e-12)


def test_what_is_not_known_does_not_count() -> None:
    actual = np.array([[10.0, np.nan], [np.nan, np.nan]])
    result = accuracy.measure(actual, np.array([[7.0, 99.0], [1.0, 1.0]]), np.ones(2))
    assert result.mae[0] == 3.0
    assert np.isnan(result.mae[1])
    assert result.count.tolist() == [1, 0]


def test_zeros_have_no_mape_and_no_smape_error_if_hit() -> None:
    result = accuracy.measure(np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), np.ones(1))
    assert np.isnan(result.mape[0])
    assert result.mape_dropped[0] == 3
    assert result.smape[0] == pytest.approx(2 / 3)  # 0, 0 and 2 * 1 / 1
    assert np.isnan(result.wape[0])


def test_errors_of_huge_and_tiny_series_stay_finite() -> None:
    actual = np.array([[1e200, -1e200], [1e-200, 2e-200]])
    result = accuracy.measure(actual, np.zeros((2, 2)), np.array([1e200, 1e-200]))
    np.testing.assert_allclose(result.rmse, [1e200, 2.5**0.5 * 1e-200])
    np.testing.assert_allclose(result.mase, [1.0, 1.5])


def test_the_scale_is_the_naive_error_of_the_past() -> None:
    past = np.array([[1.0, 3.0, 2.0, 6.0], [5.0, 5.0, 5.0, 5.0]])
    # one step: 2, 1, 4; two steps: |2 - 1|, |6 - 3|
    assert accuracy.scale(past).tolist() == pytest.approx([7 / 3, 0.0])
    assert accuracy.scale(past, 2).tolist() == [2.0, 0.0]
    assert accuracy.scale(past, np.array([2, 1])).tolist() == [2.0, 0.0]
    assert accuracy.scale(past, 9).tolist() == [0.0, 0.0]


def test_a_past_that_never_changed_has_no_mase() -> None:
    result = accuracy.measure(np.ones((1, 2)), np.zeros((1, 2)), np.zeros(1))
    assert np.isnan(result.mase[0])


LEVELS = (0.05, 0.5, 0.95)


def test_pinball_loss_weighs_both_sides_by_the_level() -> None:
    actual = np.array([[[10.0]]])
    quantiles = np.array([[[[8.0, 11.0, 14.0]]]])
    # 0.05 * 2 = 0.1; 0.5 * 1 = 0.5; 0.05 * 4 = 0.2
    assert accuracy.pinball(actual, quantiles, LEVELS)[0] == pytest.approx(0.8 / 3)


def test_coverage_is_the_share_inside_the_central_interval() -> None:
    actual = np.array([[1.0, 5.0, 10.0, np.nan, 3.0]])
    quantiles = np.tile([3.0, 5.0, 8.0], (1, 5, 1))
    # 5 and 3 are inside, the limits included; 1 and 10 are not
    assert accuracy.coverage(actual, quantiles, LEVELS, 0.9)[0] == 0.5


def test_an_interval_needs_both_its_levels() -> None:
    with pytest.raises(ValueError, match=r"level 0\.1 is not among 0\.05, 0\.5, 0\.95"):
        accuracy.coverage(np.ones((1, 1)), np.ones((1, 1, 3)), LEVELS, 0.8)
