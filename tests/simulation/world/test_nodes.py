"""Nodes that fail and come back, run out of memory, are drained and given back."""

from __future__ import annotations

import pytest

from kubestow.simulation.world import maintenance, nodes
from kubestow.simulation.world.actors import NodePhase, Phase
from tests.simulation import make


def failing(duration: float | None = None, **more: object) -> make.Play:
    """Return two nodes with one pod each, of which the first node fails at 60 s."""
    failure = {"node": "n-0", "at": 60}
    if duration is not None:
        failure["duration"] = duration
    result = make.workload(replicas=2, **{**make.service(mean=40), **more})
    result["pod"]["apart"] = {"hard": False}
    return make.start(make.document(result, failures=[failure], duration="1h"))


def on(play: make.Play, node: str, name: str = "web") -> list[str]:
    return [k for k, pod in play.workload(name).pods.items() if pod.node is play.node(node)]


def test_requests_are_lost_until_the_failure_is_noticed() -> None:
    play = failing().until(60)
    services = play.world.services
    before = float(services["all_dropped"][0])
    play.until(110)
    # Half of 40 requests per second went to the dead pod for 50 s, and what was in it at first.
    lost = float(services["all_dropped"][0]) - before
    assert 1000.0 <= lost <= 1002.0
    play.until(300)
    assert float(services["all_dropped"][0]) - before == pytest.approx(lost)


def test_pods_leave_a_dead_node_when_their_toleration_ends() -> None:
    play = failing().until(59)
    (victim,) = on(play, "n-0")
    play.until(409.9)
    assert play.pod(victim).phase is Phase.LOST
    assert len(play.phases()) == 2
    play.until(411)
    assert play.times("taint-evicted", victim) == [410.0]  # noticed at 110, and 300 s more
    assert play.times("gone", victim) == [410.0]
    assert play.world.ledger.counts["evictions"] == 1
    play.until(430)
    assert set(on(play, "n-1")) == {"web-1", "web-2"} or set(on(play, "n-1")) == {"web-0", "web-2"}
    assert set(play.phases().values()) == {"ready"}


def test_an_own_toleration_says_how_long_a_pod_stays() -> None:
    key = "node.kubernetes.io/unreachable"
    pod = make.pods(tolerations=[{"key": key, "effect": "NoExecute", "seconds": 20}])
    play = failing(pod=pod).until(200)
    assert play.times("taint-evicted") == [130.0]
    for_ever = make.pods(tolerations=[{"key": key, "effect": "NoExecute"}])
    assert failing(pod=for_ever).until(3000).times("taint-evicted") == []


def test_a_node_that_comes_back_restarts_its_pods() -> None:
    play = failing(duration=200).until(59)
    (victim,) = on(play, "n-0")
    play.until(260)
    assert play.pod(victim).phase is Phase.STARTING
    assert play.pod(victim).restarts == 1
    play.until(270)
    assert play.pod(victim).phase is Phase.READY
    assert play.times("recovered") == [260.0]
    play.until(1000)
    assert play.times("taint-evicted") == []
    assert play.node("n-0").node.taints == ()


def test_a_short_failure_is_never_noticed() -> None:
    play = failing(duration=30).until(59)
    (victim,) = on(play, "n-0")
    play.until(200)
    assert play.pod(victim).phase is Phase.READY
    assert play.node("n-0").node.taints == ()


def test_each_failure_is_noticed_50_s_after_it_began() -> None:
    # Dead from 60 to 70 and from 80 on: noticed at 130, not at 110.
    play = failing(duration=10)
    play.world.clock.at(80, lambda: nodes.fail_node(play.world, play.node("n-0"), None))
    play.until(129)
    assert play.node("n-0").node.taints == ()
    play.until(130)
    assert len(play.node("n-0").node.taints) == 2
    play.until(429)
    assert play.times("taint-evicted") == []
    play.until(431)
    assert play.times("taint-evicted") == [430.0]


def test_a_pod_bound_to_a_node_that_is_dead_already_does_not_start() -> None:
    # Between 60 and 110 nobody knows; the only node with the label is the dead one.
    pools = [
        {"name": "a", "allocatable": make.NODE, "labels": {"disk": "ssd"}},
        {"name": "b", "allocatable": make.NODE},
    ]
    result = make.workload(start=70, pod=make.pods(nodeSelector={"disk": "ssd"}), **make.service())
    play = make.start(
        make.document(
            result,
            nodes=pools,
            failures=[{"node": "a", "at": 60, "duration": 600}],
            duration="1h",
        )
    ).until(100)
    assert play.phases() == {"web-0": "lost"}
    assert play.times("ready") == []
    play.until(500)
    assert play.times("taint-evicted", "web-0") == [410.0]
    assert play.phases() == {"web-1": "queued"}
    play.until(700)
    assert play.phases() == {"web-1": "ready"}


def test_a_stateful_pod_on_a_dead_node_is_not_replaced_before_the_node_is_back() -> None:
    failure = {"node": "n-0", "at": 60, "duration": 1000}
    result = make.workload("db", kind="StatefulSet", replicas=2)
    result["pod"]["apart"] = {}
    play = make.start(make.document(result, failures=[failure], duration="1h")).until(59)
    (victim,) = on(play, "n-0", "db")
    play.until(1059)
    assert play.times("taint-evicted", victim) == [410.0]
    assert play.pod(victim).phase is Phase.TERMINATING
    assert play.times("created", victim) == [0.0]
    play.until(1080)
    assert play.times("gone", victim) == [1060.0]
    assert play.pod(victim).phase is Phase.READY


def test_a_node_that_was_given_back_does_not_recover() -> None:
    play = failing(duration=100).until(70)
    nodes.retire_node(play.world, play.node("n-0"))
    play.until(300)
    assert play.node("n-0").phase is NodePhase.GONE
    assert play.times("recovered") == []
    assert "n-0" not in play.world.state.rows


def test_daemons_stay_on_a_dead_node() -> None:
    result = make.workload("agent", kind="DaemonSet")
    failure = {"node": "n-0", "at": 60, "duration": 1000}
    play = make.start(make.document(result, failures=[failure], duration="1h")).until(1000)
    assert play.phases("agent") == {"agent-n-0": "lost", "agent-n-1": "ready"}
    play.until(1100)
    assert play.phases("agent") == {"agent-n-0": "ready", "agent-n-1": "ready"}


def pressed() -> make.Play:
    """Return a node of 8 GiB on which memory is used up from 30 s on.

    After 30 s: guaranteed 2 of 2 GiB, modest 1.5 of 1 GiB, greedy 3 of 1 GiB, important 2.5 of
    1 GiB with a higher priority: 9 GiB of 8.
    """

    def memory(late: str) -> dict[str, object]:
        pieces = [{"start": "500Mi", "seconds": 30}, {"start": late, "seconds": 600}]
        return {"memory": {"pattern": "segments", "segments": pieces}}

    def one(name: str, request: str, late: str, **more: object) -> dict[str, object]:
        return make.workload(
            name, pod=make.pods(cpu="500m", memory=request, usage=memory(late)), **more
        )

    return make.start(
        make.document(
            one("guaranteed", "2Gi", "2Gi"),
            one("modest", "1Gi", "1536Mi"),
            one("greedy", "1Gi", "3Gi"),
            one("important", "1Gi", "2560Mi", priority=10),
            nodes=1,
            duration="30m",
        )
    )


def test_a_node_short_of_memory_evicts_in_the_order_of_the_kubelet() -> None:
    play = pressed().until(35)
    # Above their requests are three; of lower priority modest and greedy; greedy is further above.
    assert play.events("evicted") == [(35.0, "evicted", "greedy-0")]
    assert play.times("gone", "greedy-0") == [35.0]
    taints = [taint.key for taint in play.node("n").node.taints]
    assert taints == ["node.kubernetes.io/memory-pressure"]


def test_nothing_new_comes_to_a_node_under_pressure_for_five_minutes() -> None:
    play = pressed().until(334)
    assert play.phases("greedy") == {"greedy-1": "queued"}
    play.until(336)
    assert play.node("n").node.taints == ()
    assert play.phases("greedy") == {"greedy-1": "starting"}


def drained(**plan: object) -> make.Play:
    """Return three nodes; maintenance goes through them from 60 s on."""
    result = make.workload(
        replicas=3, disruption={"maxUnavailable": 1}, pod=make.pods(cpu="3", grace=20)
    )
    agent = make.workload("agent", kind="DaemonSet", pod=make.pods(cpu="100m"))
    maintenance = {"start": 60, "hold": 40, "pause": 10, **plan}
    document = make.document(agent, result, nodes=4, maintenance=[maintenance], duration="1h")
    return make.start(document)


def test_nodes_are_cordoned_drained_held_and_given_back_one_after_another() -> None:
    play = drained().until(3000)
    cordons, returns = play.times("cordoned"), play.times("uncordoned")
    assert len(cordons) == len(returns) == 4
    assert cordons[0] == 60.0
    # The next one begins 10 s after the return of the one before.
    assert [b - a for a, b in zip(returns, cordons[1:], strict=False)] == [10.0] * 3
    # Told at 60, gone at 80, seen at the next look every five seconds, held for 40 s.
    moved = [c for c, r in zip(cordons, returns, strict=True) if r - c > 40]
    assert moved
    for begin in moved:
        assert returns[cordons.index(begin)] - begin >= 60.0
    assert not any(name.startswith("agent") for _, _, name in play.events("drained"))


def test_draining_respects_budgets_until_the_time_out() -> None:
    # Both pods share a node, one may be missing; the other node is too small to take one.
    pools = [
        {"name": "a", "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"}},
        {"name": "b", "allocatable": {"cpu": "1", "memory": "8Gi", "pods": "20"}},
    ]
    result = make.workload(replicas=2, disruption={"minAvailable": 1}, pod=make.pods(cpu="2"))
    plan = {"start": 60, "pool": "a", "timeout": 120, "hold": 30}
    play = make.start(make.document(result, nodes=pools, maintenance=[plan])).until(179)
    assert len(play.times("drained")) == 1
    assert play.workload().ready.value == 1.0
    play.until(181)
    assert play.times("drained") == [60.0, 180.0]
    play.until(215)
    assert play.times("uncordoned") == [215.0]  # seen empty at 185, held until 215
    play.until(240)
    assert set(play.phases().values()) == {"ready"}


def test_a_node_that_fails_during_its_maintenance_is_usable_when_it_is_back() -> None:
    play = drained(hold=100)
    play.until(100)
    node = next(n for n in play.world.nodes if n.held)
    nodes.fail_node(play.world, node, 1000)
    play.until(1200)
    assert (node.phase, node.held) == (NodePhase.READY, False)
    assert not node.node.unschedulable
    assert len(play.times("cordoned")) == 4  # the maintenance went on meanwhile


def test_an_unready_pod_may_go_while_the_budget_is_met() -> None:
    play = drained().until(50)
    pod = play.pod("web-0")
    assert pod.node is not None
    play.workload().pods["web-1"].ready_s = None  # one is missing already: nobody ready may go
    assert not maintenance.drain_node(play.world, pod.node)
    assert play.times("drained") == []
    pod.ready_s = None  # two are missing: not even one that is not ready may go
    maintenance.drain_node(play.world, pod.node)
    assert play.times("drained") == []
    play.workload().pods["web-1"].ready_s = 1.0
    maintenance.drain_node(play.world, pod.node)
    assert play.times("drained") == [50.0]
