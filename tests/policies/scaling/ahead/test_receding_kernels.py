"""The cheapest plan, by dynamic programming and by trying everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.policies.scaling.ahead import receding

PRICES = st.floats(0.0, 20.0)


def cost(
    plan: tuple[int, ...], needs: list[float], excesses: list[float], now: int, short: float,
    switch: float,
) -> float:  # fmt: skip
    total, before = 0.0, now
    for replicas, need in zip(plan, needs, strict=True):
        missing = [max(need + excess - replicas, 0.0) for excess in excesses]
        total += replicas + short * sum(missing) / len(missing) + switch * abs(replicas - before)
        before = replicas
    return total


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.0, 6.0), min_size=1, max_size=4),
    st.lists(st.floats(-2.0, 3.0), min_size=1, max_size=3),
    st.integers(0, 7),
    PRICES,
    PRICES,
)
def test_no_other_plan_is_cheaper(
    needs: list[float], excesses: list[float], now: int, short: float, switch: float
) -> None:
    first, result = receding.plan(np.array(needs), np.array(excesses), now, 1, 5, short, switch)
    plans = itertools.product(range(1, 6), repeat=len(needs))
    costs = {plan: cost(plan, needs, excesses, now, short, switch) for plan in plans}
    best = min(costs.values())
    assert result * len(needs) == pytest.approx(best, abs=1e-9)
    mine = min(value for plan, value in costs.items() if plan[0] == first)
    assert mine == pytest.approx(best, abs=1e-9)


def test_a_worked_plan() -> None:
    needs, excesses = np.array([2.0, 4.0]), np.zeros(1)
    # 2 then 4: 6 pods and 2 changes at 0.5 are 7; 3 then 4: 8; 2 then 2 lacks 2, at 10 each.
    assert receding.plan(needs, excesses, 2, 1, 9, 10.0, 0.5) == (2, 3.5)
    # Changes at 3 a pod and missing ones at 0.5: to stay is cheapest, 4 + 0.5 x 2 = 5.
    assert receding.plan(needs, excesses, 2, 1, 9, 0.5, 3.0) == (2, 2.5)
