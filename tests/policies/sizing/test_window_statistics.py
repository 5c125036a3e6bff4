"""Quantiles and peaks by row and window, against NumPy's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.policies.sizing import window_statistics

NAN = float("nan")


@given(
    st.lists(st.floats(0.0, 1e9), min_size=1, max_size=40),
    st.integers(0, 5),
    st.floats(0.0, 1.0),
)
def test_quantiles_are_those_of_numpy(values: list[float], gaps: int, share: float) -> None:
    row = np.array([*values, *[NAN] * gaps])
    result = window_statistics.quantiles(row[np.newaxis], share)
    assert result[0] == pytest.approx(np.quantile(values, share), rel=1e-12)


def test_rows_without_a_value_have_no_quantile() -> None:
    result = window_statistics.several_quantiles(np.array([[NAN, NAN], [1.0, 3.0]]), (0.0, 0.5))
    assert np.isnan(result[0]).all()
    assert result[1].tolist() == [1.0, 2.0]


def test_rows_of_an_owner_are_pooled() -> None:
    values = np.array([[1.0, 2.0], [3.0, NAN], [9.0, 9.0]])
    result = window_statistics.pooled_quantiles(values, np.array([0, 0, 2]), 3, 0.5)
    assert result[0] == 2.0  # of 1, 2, 3
    assert np.isnan(result[1])
    assert result[2] == 9.0


def test_windows_are_counted_from_the_end() -> None:
    values = np.array([[99.0, 1.0, 2.0, 3.0, NAN, 5.0, 4.0]])
    assert window_statistics.peaks(values, 3).tolist() == [[3.0, 5.0]]
    # Windows (1, 2, 3) and (gap, 5, 4): medians 2 and 4.5.
    assert window_statistics.window_quantiles(values, 3, 0.5).tolist() == [[2.0, 4.5]]


def test_a_window_longer_than_the_series_is_none() -> None:
    assert window_statistics.peaks(np.ones((2, 3)), 4).shape == (2, 0)
    assert window_statistics.window_quantiles(np.ones((2, 3)), 4, 0.5).shape == (2, 0)


def test_largest_and_counts() -> None:
    values = np.array([[1.0, NAN, 3.0], [NAN, NAN, NAN]])
    assert window_statistics.largest(values)[0] == 3.0
    assert np.isnan(window_statistics.largest(values)[1])
    assert window_statistics.counts(values).tolist() == [2, 0]
    assert np.isnan(window_statistics.largest(np.empty((2, 0)))).all()
