"""The order in which a node under pressure gives up pods."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubestow.simulation.world.nodes import PodUse, evict, eviction_order

BEST_EFFORT = PodUse("best-effort", used=10, requested=0)
BURSTABLE_OVER = PodUse("burstable-over", used=25, requested=20)
BURSTABLE_UNDER = PodUse("burstable-under", used=10, requested=20)
GUARANTEED = PodUse("guaranteed", used=30, requested=30)


def test_best_effort_goes_before_burstable_before_guaranteed() -> None:
    order = eviction_order([GUARANTEED, BURSTABLE_UNDER, BURSTABLE_OVER, BEST_EFFORT])
    assert [pod.name for pod in order][:2] == ["best-effort", "burstable-over"]
    assert GUARANTEED in order[2:]


def test_priority_counts_before_the_excess() -> None:
    modest = PodUse("modest", used=11, requested=10, priority=0)
    greedy = PodUse("greedy", used=90, requested=10, priority=100)
    assert eviction_order([greedy, modest]) == [modest, greedy]


def test_a_pod_within_its_request_goes_last_whatever_its_priority() -> None:
    humble = PodUse("humble", used=5, requested=10, priority=-10)
    over = PodUse("over", used=11, requested=10, priority=1000)
    assert eviction_order([humble, over]) == [over, humble]


def test_eviction_stops_when_enough_is_free() -> None:
    assert evict([GUARANTEED, BEST_EFFORT, BURSTABLE_OVER], to_free=12) == [
        BEST_EFFORT,
        BURSTABLE_OVER,
    ]
    assert evict([GUARANTEED], to_free=0) == []


USES = st.builds(
    PodUse,
    name=st.text(max_size=3),
    used=st.integers(0, 100),
    requested=st.integers(0, 100),
    priority=st.integers(-5, 5),
)


@given(st.lists(USES, max_size=8))
def test_nobody_within_its_request_goes_before_somebody_above(running: list[PodUse]) -> None:
    above = [pod.excess > 0 for pod in eviction_order(running)]
    assert above == sorted(above, reverse=True)
