"""Control loops inside the world: scaling, sizing, provisioning."""

from __future__ import annotations

from typing import Any

import pytest

from kubestow.simulation.world import lifecycle
from kubestow.simulation.world.actors import NodePhase, Phase
from tests.simulation import make


def scaled(mean: float, replicas: int, **scaling: Any) -> make.Play:
    result = make.workload(replicas=replicas, **make.service(mean=mean))
    rules = {"scaler": "hpa", "target": {"cpu": 0.5}, "min": 1, "max": 10, **scaling}
    return make.start(make.document(result, nodes=5, policies={"scaling": rules}, duration="1h"))


@pytest.mark.parametrize("replicas", [1, 4, 9])
def test_the_hpa_reaches_its_target_on_constant_demand(replicas: int) -> None:
    # 125 requests per second x 20 ms are 2.5 cores; at half of one core each that is 5 pods.
    play = scaled(125, replicas).until(1500)
    assert play.workload().replicas == 5
    assert set(play.phases().values()) == {"ready"}
    assert len(play.phases()) == 5
    before = play.world.ledger.counts["scale_actions"]
    play.until(3000)
    assert play.world.ledger.counts["scale_actions"] == before


def test_the_hpa_holds_within_its_tolerance() -> None:
    # 5 pods at 0.54 cores each: 8 % above the target, so nothing happens.
    play = scaled(135, 5).until(600)
    assert play.world.ledger.counts["scale_actions"] == 0


def test_replicas_stay_within_their_bounds() -> None:
    assert scaled(1000, 2, max=4).until(900).workload().replicas == 4
    assert scaled(1, 8, min=3).until(2000).workload().replicas == 3


def test_requests_per_second_can_be_the_target() -> None:
    # 125 requests per second at 20 per pod: 6.25, so 7 pods
    play = scaled(125, 2, target={"rps": 20}).until(1500)
    assert play.workload().replicas == 7


@pytest.mark.parametrize(
    ("mode", "expected"), [("over", 8), ("under", 2), ("average", 5), ("fixed", 3)]
)
def test_static_counts_follow_from_the_load(mode: str, expected: int) -> None:
    # Loads 50, 100 and 200 in turn, a sixth, four sixths and a sixth of the time: mean 108.3.
    # Pods: 200 x 0.02 / 0.5 = 8, 50 x 0.02 / 0.5 = 2, 108.3 x 0.02 / 0.5 = 4.33, so 5.
    pieces = [
        {"start": 50, "seconds": 100},
        {"start": 100, "seconds": 400},
        {"start": 200, "seconds": 100},
    ]
    result = make.workload(replicas=1, **make.service())
    result["demand"] = {"pattern": "segments", "segments": pieces, "scale": 1}
    rules = {
        "scaler": "static",
        "target": {"cpu": 0.5},
        "min": 1,
        "max": 20,
        "parameters": {"mode": mode, "replicas": 3},
    }
    play = make.start(make.document(result, nodes=5, policies={"scaling": rules}))
    assert len(play.phases()) == expected
    assert set(play.phases().values()) == {"ready"}  # from the start, without growing
    play.until(599)
    assert play.world.ledger.counts["scale_actions"] == 0


def test_daemons_and_jobs_are_not_scaled() -> None:
    agent = make.workload("agent", kind="DaemonSet", **make.service(mean=300))
    rules = {"scaler": "hpa", "target": {"cpu": 0.1}, "min": 1, "max": 10}
    play = make.start(make.document(agent, policies={"scaling": rules})).until(300)
    assert play.world.ledger.counts["scale_actions"] == 0
    assert len(play.phases("agent")) == 2


def test_a_pod_that_ceased_to_be_ready_says_when() -> None:
    # The HPA treats pods that were never ready in another way than those that were.
    failure = {"node": "n-0", "at": 100, "duration": 400}
    result = make.workload(replicas=2, **make.service())
    result["pod"]["apart"] = {}
    play = make.start(make.document(result, failures=[failure])).until(99)
    victim = next(p for p in play.workload().pods.values() if p.node is play.node("n-0"))
    assert victim.changed_s == lifecycle.LONG_AGO_S
    play.until(149)
    assert (victim.phase, victim.ready_s is None) == (Phase.LOST, False)
    play.until(150)
    assert (victim.ready_s, victim.changed_s) == (None, 150.0)
    play.until(560)


def sized(mode: str, nodes: Any = 2, **more: Any) -> make.Play:
    """Return pods that ask for 200 m and use 1 core, sized by the VPA."""
    pod = make.pods(
        cpu="200m",
        memory="300Mi",
        grace=0,
        usage={"cpu": {"mean": "1"}, "memory": {"mean": "500Mi"}},
    )
    result = make.workload(replicas=2, pod=pod, **more)
    rules = {"recommender": "vpa", "mode": mode}
    return make.start(
        make.document(
            result,
            nodes=nodes,
            policies={"sizing": rules},
            duration="48h",
            step=15,
            metrics={"scrape": 60, "window": 60, "lag": 0},
        )
    )


def requested(play: make.Play) -> list[int]:
    return [pod.requests[0] for pod in play.workload().pods.values()]


def test_mode_off_only_recommends() -> None:
    play = sized("off").until(20 * 3600)
    assert requested(play) == [200, 200]
    assert play.workload().requests == {}
    assert play.events("resized", "resized-by-eviction") == []


def test_mode_initial_sets_the_requests_of_new_pods_only() -> None:
    play = sized("initial").until(20 * 3600)
    assert requested(play) == [200, 200]
    lifecycle.stop_pod(play.world, play.pod("web-0"), "test")
    play.until(20 * 3600 + 60)
    old, new = requested(play)
    assert old == 200
    # One core, the bucket above it, and the margin of 15 %
    assert 1100 <= new <= 1300
    assert play.events("resized", "resized-by-eviction") == []


def test_mode_recreate_evicts_one_pod_after_another() -> None:
    play = sized("recreate").until(24 * 3600)
    assert play.events("resized") == []
    evicted = play.times("resized-by-eviction")
    assert len(evicted) == 2
    assert evicted[0] < evicted[1]
    assert all(1100 <= asked <= 1300 for asked in requested(play))
    assert {pod.restarts for pod in play.workload().pods.values()} == {0}


def test_mode_in_place_resizes_without_a_restart() -> None:
    play = sized("in-place-or-recreate").until(24 * 3600)
    assert play.events("resized-by-eviction") == []
    assert len(play.events("resized")) >= 2
    assert set(play.phases()) == {"web-0", "web-1"}  # still the same pods
    assert {pod.restarts for pod in play.workload().pods.values()} == {0}
    assert len(play.times("ready")) == 2
    assert all(1100 <= asked <= 1300 for asked in requested(play))
    state = play.world.state
    assert state.requested[:, state.columns["cpu"]].sum() == sum(requested(play))


def test_a_resize_without_room_is_put_off_and_then_done_by_eviction() -> None:
    # A node of 1.2 cores with another pod of 600 m: 200 m can grow to 600 m, not to 1.1 cores.
    small = {"cpu": "1200m", "memory": "8Gi", "pods": "20"}
    pools = [
        {"name": "a", "allocatable": small, "capacity": {"cpu": "4"}},
        {"name": "b", "allocatable": make.NODE},
    ]
    pod = make.pods(
        cpu="200m",
        memory="300Mi",
        usage={"cpu": {"mean": "1"}, "memory": {"mean": "500Mi"}},
        nodeSelector={"kubestow.io/pool": "a"},
    )
    web = make.workload(replicas=2, pod=pod)
    rules = {"recommender": "vpa", "mode": "in-place-or-recreate"}
    document = make.document(
        web,
        nodes=pools,
        policies={"sizing": rules},
        duration="48h",
        step=15,
        metrics={"scrape": 60, "window": 60, "lag": 0},
    )
    play = make.start(document).until(30 * 3600)
    state = play.world.state
    row = state.rows["a"]
    assert (state.requested[row] <= state.allocatable[row]).all()
    # Two pods of 1.1 cores cannot be on it: the one that was put off is evicted in the end.
    assert len(play.times("resized-by-eviction")) >= 1


def pool(**more: Any) -> list[dict[str, Any]]:
    return [
        {
            "name": "n",
            "count": 1,
            "max": 3,
            "min": 1,
            "provision": 45,
            "allocatable": make.NODE,
            **more,
        }
    ]


def growing(nodes: Any, replicas: int = 1, **rules: Any) -> make.Play:
    result = make.workload(replicas=replicas, pod=make.pods(cpu="2", startup=0))
    provisioning = {"enabled": True, "unneeded": 60, "afterAdd": 120, **rules}
    policies = {"provisioning": provisioning}
    return make.start(make.document(result, nodes=nodes, policies=policies, duration="1h"))


def test_a_pool_grows_after_its_delay_and_not_beyond_its_bound() -> None:
    play = growing(pool(), replicas=20).until(300)
    # Ten nodes would be needed, two may come: seen at 10 s, there 45 s later.
    assert play.times("ordered") == [10.0, 10.0]
    assert play.times("joined") == [55.0, 55.0]
    assert len(play.world.live_nodes()) == 3
    assert sum(phase == "ready" for phase in play.phases().values()) == 6
    assert play.world.ledger.fleet.peak == 3.0


def test_no_more_nodes_are_ordered_than_the_pods_need() -> None:
    play = growing(pool(max=9), replicas=5).until(300)
    assert len(play.times("ordered")) == 2
    assert set(play.phases().values()) == {"ready"}


def test_a_pool_shrinks_when_nodes_are_idle_long_enough_and_keeps_its_least() -> None:
    play = growing(pool(), replicas=6).until(300)
    assert len(play.world.live_nodes()) == 3
    play.workload().replicas = 1
    for pod in play.workload().staying()[1:]:
        lifecycle.stop_pod(play.world, pod, "test")
    play.until(1200)
    retired = play.times("retired")
    assert len(retired) == 2
    assert retired[0] >= 360.0  # idle for 60 s at least
    assert len(play.world.live_nodes()) == 1
    assert len([p for p in play.workload().pods.values() if p.phase is Phase.READY]) == 1
    # Paid for: one node all the time, two from their order to their return
    hours = play.world.ledger.fleet.until(1200)
    assert hours == pytest.approx(1200 + sum(t - 10 for t in retired))


def test_the_cheapest_pool_per_pod_grows() -> None:
    pools = [
        {**pool()[0], "cost": 1.0},
        {
            **pool(name="big")[0],
            "name": "big",
            "count": 0,
            "min": 0,
            "cost": 1.5,
            "allocatable": {"cpu": "16", "memory": "32Gi", "pods": "20"},
        },
    ]
    play = growing(pools, replicas=6).until(100)
    # Four pods wait: two small nodes for 2.0, or one big one for 1.5.
    assert [node.name for node in play.world.nodes[1:]] == ["big-0"]


def test_empty_nodes_go_first() -> None:
    play = growing(pool(count=2, min=1), replicas=1, utilization=0.6, afterAdd=0).until(20)
    node = next(p.node for p in play.workload().pods.values() if p.node is not None)
    play.until(200)
    assert play.world.live_nodes() == [node]
    assert play.events("drained") == []


def test_a_node_whose_pods_may_not_go_is_given_up_and_stays_usable() -> None:
    # Two pods on each of two nodes, one may be missing. The first that is evicted has a successor
    # that is never ready, so the second one of its node has to stay.
    guarded = make.workload(
        replicas=4, disruption={"maxUnavailable": 1}, pod=make.pods(cpu="500m", startup=10_000)
    )
    rules = {"provisioning": {"enabled": True, "unneeded": 60, "afterAdd": 0}}
    play = make.start(make.document(guarded, nodes=pool(count=2), policies=rules, duration="1h"))
    play.until(100)
    assert len(play.times("cordoned")) == 1
    assert [node.held for node in play.world.live_nodes()].count(True) == 1
    play.until(1000)
    assert len(play.times("drained")) == 1
    assert play.times("uncordoned") == [play.times("cordoned")[0] + 120.0]
    assert [node.phase for node in play.world.nodes] == [NodePhase.READY] * 2
    assert not any(node.held for node in play.world.nodes)
