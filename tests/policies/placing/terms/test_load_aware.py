"""Load-aware: room by real load, thresholds, missing metrics, assumed load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from kubestow.policies.placing.terms import protocol, registry
from tests.policies.placing.term_scenes import every, make_loads, make_pod, make_state

TWO = ("cpu", "memory")
NODE = (1000, 1000)


def weigh(
    loads: Sequence[tuple[float, float]], pod: tuple[int, int] = (100, 100), **parameters: Any
) -> protocol.TermScores:
    """Weigh a pod on equal nodes with two resources."""
    state = make_state(*[NODE] * len(loads), names=TWO)
    term = registry.make_term("load-aware", {"uneven": 0, **parameters})
    measured = make_loads(state, loads, TWO)
    return term.weigh(make_pod(*pod, names=TWO), state, measured, every(state))


def test_the_score_is_the_mean_of_what_is_left_free() -> None:
    # Means in use with the pod: 30, 40, 50 %.
    result = weigh([(200, 200), (200, 400), (400, 400)])
    assert result.scores == pytest.approx((10.0, 5.0, 0.0))
    assert result.parts["cpu"] == pytest.approx((0.7, 0.7, 0.5))


def test_weights_say_which_resource_counts() -> None:
    result = weigh([(200, 400), (400, 200)], weights={"memory": 1})
    assert result.scores == pytest.approx((0.0, 10.0))


def test_uneven_use_can_be_held_against_a_node() -> None:
    # Means are 40 and 41 %, deviations 20 and 0 %.
    loads = [(100, 500), (310, 310)]
    assert weigh(loads).scores.argmax() == 0
    result = weigh(loads, uneven=1.0)
    assert result.scores.argmax() == 1
    assert result.parts["uneven"] == pytest.approx((0.2, 0.0))


@pytest.mark.parametrize(
    ("load", "passes"),
    [((550, 0), True), ((551, 0), False), ((0, 850), True), ((0, 851), False)],
    ids=["cpu at 65 %", "cpu over", "memory at 95 %", "memory over"],
)
def test_thresholds_are_those_of_koordinator(load: tuple[int, int], passes: bool) -> None:
    assert weigh([load]).passes.tolist() == [passes]


def test_the_reason_names_resource_and_share() -> None:
    result = weigh([(600, 900), (0, 0)])
    assert result.passes.tolist() == [False, True]
    assert result.explain(0) == (
        "cpu load would be at 70.0%, at most 65% is allowed, "
        "memory load would be at 100.0%, at most 95% is allowed"
    )


def test_without_metrics_requests_count() -> None:
    state = make_state(NODE, NODE, names=TWO)
    state.place(make_pod(500, 100, names=TWO), 0)
    loads = make_loads(state, [(np.nan, np.nan), (300, 100)], TWO)
    term = registry.make_term("load-aware")
    result = term.weigh(make_pod(100, 100, names=TWO), state, loads, every(state))
    assert result.parts["cpu"] == pytest.approx((0.4, 0.6))


@pytest.mark.parametrize(("assume", "best"), [(True, 1), (False, 0)])
def test_pods_that_metrics_do_not_show_count_unless_told_otherwise(assume: bool, best: int) -> None:
    state = make_state(NODE, NODE, names=TWO)
    loads = make_loads(state, [(100, 100), (200, 200)], TWO)
    loads.assumed[0] = 200.0
    term = registry.make_term("load-aware", {"assume": assume})
    result = term.weigh(make_pod(50, 50, names=TWO), state, loads, every(state))
    assert result.scores.argmax() == best


def test_by_default_the_fuller_of_two_resources_counts() -> None:
    # With the pod 30 and 50 %, or 45 and 45 %: the mean and the deviation are 50 and 45 %.
    assert weigh([(200, 400), (350, 350)], uneven=1).scores.argmax() == 1
    state = make_state(NODE, NODE, names=TWO)
    loads = make_loads(state, [(200, 400), (350, 350)], TWO)
    term = registry.make_term("load-aware")
    result = term.weigh(make_pod(100, 100, names=TWO), state, loads, every(state))
    assert result.scores == pytest.approx((0.0, 10.0))


def test_negligible_differences_fade_out() -> None:
    result = weigh([(100, 100), (102, 102)])  # 0.2 % of a node, a fifth of what matters
    assert result.scores == pytest.approx((10.0, 8.0))


def test_resources_nobody_offers_are_left_out() -> None:
    assert weigh([(100, 100)]).parts["left out"].tolist() == [2.0]  # network and disk I/O
