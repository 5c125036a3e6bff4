"""The scheduling queue: order, back-off, flush, one at a time, preemption."""

from __future__ import annotations

import itertools

import pytest

from kubestow.simulation.world import lifecycle
from tests.simulation import make

CYCLE_S = 0.005
# A pod that comes and goes twice a second, so that something is freed all the time.
TICKS = make.workload(
    "tick",
    kind="Pipeline",
    pod=make.pods(cpu="1m", startup=0),
    work={"duration": "100ms", "every": "500ms", "parallelism": 9},
)


def full(*others: dict[str, object], **spec: object) -> make.Play:
    """Return one node of four cores that a pod of three fills."""
    filler = make.workload("filler", pod=make.pods(cpu="3"))
    return make.start(make.document(filler, *others, nodes=1, duration="1h", **spec))


def test_pods_go_by_priority_and_then_in_order() -> None:
    result = [
        make.workload("low", start=10, replicas=2, pod=make.pods(cpu="100m")),
        make.workload("high", start=10, replicas=2, priority=5, pod=make.pods(cpu="100m")),
    ]
    play = make.start(make.document(*result)).until(20)
    assert [name for _, _, name in play.events("bound")] == ["high-0", "high-1", "low-0", "low-1"]


@pytest.mark.parametrize("cycle_s", [0.005, 0.25, 2.0])
def test_one_pod_at_a_time_takes_its_cycle(cycle_s: float) -> None:
    result = make.workload(start=10, replicas=3, pod=make.pods(cpu="100m"))
    document = make.document(result, policies={"placing": {"cycle": cycle_s}})
    play = make.start(document).until(20)
    assert play.times("bound") == pytest.approx([10 + cycle_s, 10 + 2 * cycle_s, 10 + 3 * cycle_s])


def test_back_off_doubles_from_1_s_to_10_s() -> None:
    waiting = make.workload("late", start=10, pod=make.pods(cpu="2"))
    play = full(waiting, TICKS).until(60)
    # Something is freed twice a second, so that only the back-off counts: 1, 2, 4, 8, 10, 10 s.
    tries = play.times("unschedulable", "late-0")
    gaps = [b - a for a, b in itertools.pairwise(tries)]
    assert gaps[:6] == pytest.approx([1, 2, 4, 8, 10, 10], abs=0.65)
    assert all(gap >= wait for gap, wait in zip(gaps, [1, 2, 4, 8, 10, 10], strict=False))


def test_without_any_event_a_pod_is_looked_at_again_after_five_minutes() -> None:
    waiting = make.workload("late", start=10, pod=make.pods(cpu="2"))
    play = full(waiting).until(1000)
    tries = play.times("unschedulable", "late-0")
    # Aside since 10.005; flushed at the first multiple of 30 s more than 300 s later: 330, then
    # (aside since 330.005) 660 and 990.
    assert tries == pytest.approx([10.005, 330.005, 660.005, 990.005])
    assert play.world.ledger.counts["failed_attempts"] == 4


def test_a_pod_that_is_gone_makes_room_after_the_back_off() -> None:
    waiting = make.workload("late", start=10, pod=make.pods(cpu="2"))
    play = full(waiting).until(100)
    play.workload("filler").replicas = 0
    lifecycle.stop_pod(play.world, play.pod("filler-0"), "test")
    play.until(101)
    assert play.times("bound", "late-0") == [pytest.approx(100 + CYCLE_S)]
    assert play.workload("late").pending.until(200) == pytest.approx(90 + CYCLE_S)


def test_pods_that_wait_for_their_back_off_still_count_as_waiting() -> None:
    pools = [
        {"name": "n", "count": 1, "max": 2, "provision": 5, "allocatable": make.NODE},
    ]
    filler = make.workload("filler", pod=make.pods(cpu="3"))
    late = make.workload("late", start=11, pod=make.pods(cpu="2"))
    play = make.start(
        make.document(
            filler, TICKS, late, nodes=pools, policies={"provisioning": {"enabled": True}}
        )
    ).until(30)
    assert play.times("ordered") == [20.0]


def preempting(grace: float = 20, **more: object) -> make.Play:
    """Return two full nodes of low priority pods, and a pod of high priority at 50 s."""
    low = make.workload("low", replicas=4, pod=make.pods(cpu="2", grace=grace))
    high = make.workload("high", start=50, priority=100, pod=make.pods(cpu="2"), **more)
    return make.start(make.document(low, high, duration="1h"))


def test_pods_of_lower_priority_make_room() -> None:
    play = preempting().until(60)
    (time_s, _, victim) = play.events("preempted")[0]
    assert time_s == pytest.approx(50 + CYCLE_S)
    assert play.world.ledger.counts["preemptions"] == 1
    assert play.phases("high") == {"high-0": "queued"}
    play.until(90)
    assert play.times("gone", victim) == [pytest.approx(70 + CYCLE_S)]
    assert play.times("bound", "high-0") == [pytest.approx(70 + 2 * CYCLE_S)]
    assert len(play.events("preempted")) == 1


def test_several_pods_preempt_at_the_same_time() -> None:
    play = preempting(replicas=3).until(52)
    # One after the other, but none waits for the victims of another one to leave.
    assert len(play.events("preempted")) == 3
    play.until(90)
    assert set(play.phases("high").values()) == {"ready"}
    assert len(play.events("preempted")) == 3


def test_room_that_was_made_is_not_taken_by_others() -> None:
    # Something is freed twice a second, so that the pod of high priority tries in vain at 50, 51,
    # 53, 57 and 65 s. Its victim is gone at 70 s, it comes again at 75 s; meanwhile, at 71 s, a pod
    # of lower priority comes that would fit into the room.
    low = make.workload("low", replicas=2, pod=make.pods(cpu="1900m", grace=20))
    high = make.workload("high", start=50, priority=100, pod=make.pods(cpu="1900m"))
    cuckoo = make.workload("cuckoo", start=71, priority=50, pod=make.pods(cpu="1"))
    keep = make.workload("keep", pod=make.pods(cpu="3900m"), priority=1000)  # the other node
    play = make.start(make.document(keep, low, high, cuckoo, TICKS, duration="1h")).until(120)
    assert play.times("gone", play.events("preempted")[0][2]) == [pytest.approx(70 + CYCLE_S)]
    (high_s,) = play.times("bound", "high-0")
    assert high_s == pytest.approx(75.3, abs=0.8)
    # The other one had to find a victim of its own, which took 20 s to leave.
    (cuckoo_s,) = play.times("bound", "cuckoo-0")
    assert cuckoo_s > 91.0


def test_a_budget_protects_victims_where_others_will_do() -> None:
    guarded = make.workload(
        "guarded", replicas=2, disruption={"minAvailable": 2}, pod=make.pods(cpu="2")
    )
    free = make.workload("free", replicas=2, priority=5, pod=make.pods(cpu="2"))
    high = make.workload("high", start=50, priority=100, pod=make.pods(cpu="2"))
    play = make.start(make.document(guarded, free, high)).until(60)
    # Its priority is higher, but a broken budget weighs more.
    assert play.events("preempted")[0][2].split("-")[0] == "free"


def test_equal_priorities_never_preempt() -> None:
    low = make.workload("low", replicas=4, priority=7, pod=make.pods(cpu="2"))
    same = make.workload("same", start=50, priority=7, pod=make.pods(cpu="2"))
    play = make.start(make.document(low, same)).until(300)
    assert play.events("preempted") == []
    assert play.phases("same") == {"same-0": "queued"}


def test_large_clusters_are_sampled_in_turn() -> None:
    # 200 equal nodes: 48 % would be 96, so 100 are looked at, and the next pod begins after them.
    pools = [{"name": "n", "count": 200, "allocatable": make.NODE}]
    result = make.workload(start=10, replicas=2, pod=make.pods(cpu="100m"))
    play = make.start(make.document(result, nodes=pools)).until(30)
    rows = [int(pod.node.name.split("-")[1]) for pod in play.workload().pods.values() if pod.node]
    assert 0 <= rows[0] < 100 <= rows[1] < 200
