"""How far intervals must reach by the newest errors."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.policies.forecasting import recent_errors


def read(errors: list[float], levels: tuple[float, ...]) -> list[float]:
    reach = np.empty((1, 1, len(levels)))
    latest = np.zeros((1, 1, recent_errors.LATEST))
    latest[0, 0, : len(errors)] = errors
    recent_errors.read_all(latest, np.array([[len(errors)]]), np.array(levels), reach)
    result: list[float] = reach[0, 0].tolist()
    return result


def test_the_reach_by_hand() -> None:
    # Of 20 errors 1 .. 20, on average 2 are beyond level 0.9, with a standard deviation of
    # sqrt(20 * 0.9 * 0.1) = 1.34: at most 2 + 4.02 = 6 may be, so the quantile is at least 14.
    # Level 0.95: 1 + 3 * sqrt(0.95) = 3.92, at most 3: 17. Below the median it is mirrored.
    errors = [float(k) for k in range(20, 0, -1)]
    assert read(errors, (0.05, 0.1, 0.9, 0.95)) == [4.0, 7.0, 14.0, 17.0]


def test_few_errors_demand_nothing() -> None:
    # Of 3 errors 0.3 + 3 * sqrt(0.27) = 1.86 may be beyond level 0.9, of 1 error 0.1 + 0.9 = 1.
    assert read([5.0], (0.1, 0.9)) == [np.inf, -np.inf]
    assert read([], (0.1, 0.9)) == [np.inf, -np.inf]
    assert read([1.0, 2.0, 3.0], (0.1, 0.9)) == [2.0, 2.0]


@settings(max_examples=30)
@given(errors=st.lists(st.one_of(st.floats(-5, 5), st.just(float("nan"))), max_size=50))
def test_rolling_equals_reading_the_last_errors(errors: list[float]) -> None:
    levels = (0.05, 0.1, 0.5, 0.9, 0.95)
    reach = np.empty((1, len(errors), 1, len(levels)))
    recent_errors.roll_errors(
        np.zeros((1, 1, recent_errors.LATEST)),
        np.zeros((1, 1), dtype=np.int64),
        np.array(errors).reshape(1, 1, -1),
        np.array(levels),
        reach,
    )
    known: list[float] = []
    for t, error in enumerate(errors):
        known += [error] if np.isfinite(error) else []
        assert reach[0, t, 0].tolist() == read(known[-recent_errors.LATEST :], levels)
