"""``perfect``: the yardstick that knows demand to come."""

from __future__ import annotations

from typing import Any

import pytest

from kubestow.policies.scaling import static
from tests.policies.scaling import make, scenes

DAY_S = 86400.0


def scaler(loads: tuple[float, ...], **more: Any) -> Any:
    given = {"step_s": 10.0, "startup_s": 0.0, "look_s": 0.0, "smooth_s": 10.0, "target": 1.0}
    return scenes.scaler("perfect", loads=loads, **{**given, **more})


def wanted(made: Any, times_s: list[float]) -> list[int]:
    observed = [make.external(time_s, 1, None) for time_s in times_s]
    return [made.decide(observation, made.start())[0].desired for observation in observed]


def test_v10_it_has_what_every_day_of_the_week_needs() -> None:
    # x on Monday and Friday, 2 x in between, with x = 3 pods
    week = (3.0, 6.0, 6.0, 6.0, 3.0)
    made = scaler(week, step_s=DAY_S, smooth_s=DAY_S)
    days = [DAY_S * day for day in range(5)]
    assert wanted(made, days) == [3, 6, 6, 6, 3]
    under = static.needed_replicas(3.0, 1.0, 1.0, 1.0)
    over = static.needed_replicas(6.0, 1.0, 1.0, 1.0)
    assert [max(int(need) - under, 0) for need in week] == [0, 3, 3, 3, 0]  # starves three days
    assert [over - int(need) for need in week] == [3, 0, 0, 0, 3]  # wastes x on two


def test_pods_are_ordered_until_those_of_the_next_look_are_ready() -> None:
    # A burst at 50 s; start-up 20 s, looks 10 s apart: what is ordered at 30 s counts from 50 s on,
    # but what is not ordered at 20 s is ordered at 30 s, too late for nothing: 50 - 30.
    loads = (1.0,) * 5 + (4.0,) + (1.0,) * 5
    made = scaler(loads, startup_s=20.0, look_s=10.0)
    assert wanted(made, [10.0, 20.0, 30.0, 50.0, 60.0]) == [1, 4, 4, 4, 1]


def test_demand_is_known_as_means() -> None:
    loads = (1.0, 1.0, 7.0, 1.0, 1.0, 1.0)
    made = scaler(loads, smooth_s=30.0)
    assert wanted(made, [0.0, 10.0, 30.0]) == [3, 3, 1]  # (1 + 1 + 7) / 3


@pytest.mark.parametrize(("time_s", "desired"), [(-500.0, 2), (0.0, 2), (1e9, 5)])
def test_before_and_after_what_it_knows_the_ends_count(time_s: float, desired: int) -> None:
    assert wanted(scaler((2.0, 3.0, 5.0)), [time_s]) == [desired]


def test_it_is_bounded_and_needs_to_be_told() -> None:
    assert wanted(scaler((100.0,)), [0.0]) == [20]
    assert wanted(scaler(()), [0.0]) == [1]
