"""What holds in every scenario, checked at every step of small random ones."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubestow.simulation.world import world
from kubestow.simulation.world.actors import NodePhase, Phase
from tests.simulation import make

END_S = 900.0
EXAMPLES = 20


def usages() -> st.SearchStrategy[dict[str, Any]]:
    """Return what a container uses by itself: constant, noisy, leaking or nothing."""
    return st.fixed_dictionaries(
        {},
        optional={
            "cpu": st.fixed_dictionaries(
                {"mean": st.sampled_from(["50m", "400m", "3"]), "noise": st.sampled_from([0, 0.5])}
            ),
            "memory": st.fixed_dictionaries(
                {"mean": st.sampled_from(["64Mi", "600Mi", "3Gi"]), "noise": st.just(0.1)}
            ),
            "leak": st.sampled_from(["100Mi", "4Gi", "30Gi"]),
            "cache": st.sampled_from(["100Mi", "4Gi"]),
        },
    )


@st.composite
def templates(draw: st.DrawFn) -> dict[str, Any]:
    """Return a pod template."""
    requests = {
        "cpu": draw(st.sampled_from(["100m", "700m", "2"])),
        "memory": draw(st.sampled_from(["64Mi", "500Mi", "2Gi"])),
    }
    pod: dict[str, Any] = {
        "requests": requests,
        "startup": {"mean": draw(st.integers(0, 40)), "jitter": draw(st.integers(0, 15))},
        "grace": draw(st.sampled_from([0, 7, 30])),
        "usage": draw(usages()),
    }
    if draw(st.booleans()):
        pod["limits"] = {"memory": "2Gi", "cpu": draw(st.sampled_from(["2", "2500m"]))}
    if draw(st.booleans()):
        pod["containers"] = [{"name": "side", "usage": draw(usages())}]
    if draw(st.booleans()):
        pod["apart"] = {"hard": draw(st.booleans())}
    return pod


@st.composite
def workloads(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Return a workload of any kind."""
    kind = draw(
        st.sampled_from(["Deployment", "Deployment", "StatefulSet", "DaemonSet", "Job", "Pipeline"])
    )
    result: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "pod": draw(templates()),
        "start": draw(st.sampled_from([0, 0, 33])),
        "priority": draw(st.sampled_from([0, 0, 10])),
    }
    if kind in ("Job", "Pipeline"):
        result["work"] = {
            "completions": draw(st.integers(1, 3)),
            "parallelism": draw(st.integers(1, 3)),
            **draw(st.sampled_from([{"duration": 40}, {"cpuSeconds": 60, "cores": 2}])),
        }
        if kind == "Pipeline":
            result["work"]["every"] = draw(st.sampled_from([60, 200]))
        return result
    result["replicas"] = draw(st.integers(0, 4))
    if draw(st.booleans()):
        result["disruption"] = {"maxUnavailable": 1}
    if draw(st.booleans()):
        result["demand"] = {"mean": draw(st.sampled_from([5, 60, 400])), "noise": 0.2}
        result["service"] = {
            "cpuPerRequest": "15ms",
            "baseMemory": "50Mi",
            "memoryPerRequest": "1Mi",
            "timeout": draw(st.sampled_from([1, 30])),
            "balancing": draw(st.sampled_from(["random", "pooled"])),
        }
    return result


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    """Return a scenario of a quarter of an hour in which much goes wrong."""
    count = draw(st.integers(1, 3))
    pools: list[dict[str, Any]] = [
        {"name": "n", "count": count, "max": 5, "provision": 30, "allocatable": make.NODE}
    ]
    names = ["n-0"]
    spec: dict[str, Any] = {
        "seed": draw(st.integers(0, 3)),
        "policies": {
            "scaling": draw(
                st.sampled_from([{}, {"scaler": "hpa", "target": {"cpu": 0.5}, "min": 2, "max": 4}])
            ),
            "provisioning": {"enabled": draw(st.booleans()), "unneeded": 60, "afterAdd": 60},
            "moving": {"enabled": draw(st.booleans()), "plan": "compact", "interval": 60},
            "sizing": draw(
                st.sampled_from([{}, {"recommender": "vpa", "mode": "in-place-or-recreate"}])
            ),
        },
    }
    if draw(st.booleans()):
        spec["failures"] = [
            {
                "node": names[0],
                "at": 100,
                **draw(st.sampled_from([{}, {"duration": 30}, {"duration": 400}])),
            }
        ]
    if draw(st.booleans()):
        spec["maintenance"] = [{"start": 150, "hold": 20, "timeout": 60}]
    result = [draw(workloads(f"w{i}")) for i in range(draw(st.integers(1, 4)))]
    return make.document(*result, nodes=pools, duration=END_S, **spec)


class Watch:
    """Checks every step of a run."""

    def __init__(self, play: make.Play) -> None:
        self.play = play
        self.steps = 0
        play.world.on(world.STEPPED, self.look)

    def look(self, _: float) -> None:
        self.steps += 1
        self.look_at_nodes()
        self.look_at_containers()

    def look_at_nodes(self) -> None:
        world = self.play.world
        state, hosts = world.state, world.hosts
        assert (state.requested <= state.allocatable).all()
        assert (state.requested >= 0).all()
        assert (hosts["cpu"] <= hosts["cores"] + 1e-9).all()
        for node in world.live_nodes():
            row = state.rows[node.name]
            assert state.requested[row, state.columns["pods"]] == len(node.pods)
            asked = sum(pod.requests[0] for pod in node.pods.values())
            assert state.requested[row, state.columns["cpu"]] == asked

    def look_at_containers(self) -> None:
        world = self.play.world
        rows = world.containers.rows[: world.containers.top]
        rows = rows[rows["used"]]
        assert (rows["cpu"] >= 0.0).all()
        assert (rows["cpu"] <= rows["cpu_limit"] + 1e-9).all()
        assert (rows["memory"] <= rows["memory_limit"]).all()
        assert ((rows["throttling"] >= 0.0) & (rows["throttling"] <= 1.0)).all()
        assert (rows["throttled"] <= rows["periods"] * (1 + 1e-9)).all()
        assert (rows["in_system"] >= 0.0).all()
        for live in world.pod_of_container.values():
            self.look_at_service(live)

    def look_at_service(self, live: Any) -> None:
        """Requests come from the moment a pod is ready, and never after it was told to stop."""
        since_s = self.play.world.containers.rows["serving_from"][live.container_rows[0]]
        if live.ready_s is None or live.workload.service < 0:
            assert since_s == np.inf
        else:
            assert since_s == live.ready_s
        if live.phase in (Phase.TERMINATING, Phase.GONE, Phase.STARTING, Phase.CRASHED):
            assert live.ready_s is None


def play_out(document: dict[str, Any]) -> make.Play:
    play = make.start(document, document["spec"]["seed"])
    watch = Watch(play)
    play.until(END_S)
    assert watch.steps == END_S / 5
    return play


def brute_force(play: make.Play, end_s: float) -> Counter[str]:
    """Return pod seconds (existing, pending, ready) from events alone."""
    born: dict[str, float] = {}
    waiting: dict[str, float] = {}
    total: Counter[str] = Counter()
    for time_s, what, key, _ in play.world.ledger.events:
        if what == "created":
            assert key not in born
            born[key] = waiting[key] = time_s
        elif what == "bound":
            total["pending"] += time_s - waiting.pop(key)  # type: ignore[assignment]
        elif what == "gone":
            total["existing"] += time_s - born.pop(key)  # type: ignore[assignment]
            total["pending"] += time_s - waiting.pop(key, time_s)  # type: ignore[assignment]
    total["existing"] += sum(end_s - time_s for time_s in born.values())  # type: ignore[assignment]
    total["pending"] += sum(end_s - t for t in waiting.values())  # type: ignore[assignment]
    total["left"] = len(born)
    return total


def check_pods(play: make.Play) -> None:
    """Every pod that was created is waiting, bound or gone, and none of it is unexplained."""
    tried = {key: t for t, what, key, _ in play.world.ledger.events if what == "unschedulable"}
    for workload in play.world.workloads:
        for pod in workload.pods.values():
            if pod.node is None:
                assert pod.phase is Phase.QUEUED
                assert pod.container_rows == ()
                last_s = max(tried.get(pod.key, 0.0), pod.created_s)
                assert END_S - last_s <= 345.0  # at most five minutes aside, and one flush
            else:
                assert pod.phase not in (Phase.QUEUED, Phase.GONE)
                assert pod.node.phase in (NodePhase.READY, NodePhase.FAILED)
                assert pod.node.pods[pod.key] is pod
        if workload.spec.kind == "Deployment":
            assert len(workload.staying()) == workload.replicas
    bound = sum(len(node.pods) for node in play.world.nodes)
    assert bound == sum(p.node is not None for w in play.world.workloads for p in w.pods.values())


def check_work(play: make.Play) -> None:
    """What came in is served, dropped or still inside, for every service."""
    world = play.world
    rows = world.containers.rows[: world.containers.top]
    for number, service in enumerate(world.services):
        inside = rows["in_system"][rows["used"] & (rows["service"] == number)].sum()
        out = service["all_served"] + service["all_dropped"] + inside
        assert out == pytest.approx(service["all_offered"], rel=1e-9, abs=1e-6)


def check_areas(play: make.Play) -> None:
    expected = brute_force(play, END_S)
    result = play.world.workloads
    assert expected["left"] == sum(len(w.pods) for w in result)
    existing = sum(w.existing.until(END_S) for w in result)
    assert existing == pytest.approx(expected["existing"], rel=1e-9)
    pending = sum(w.pending.until(END_S) for w in result)
    assert pending == pytest.approx(expected["pending"], rel=1e-9, abs=1e-6)
    for workload in result:
        assert workload.existing.value == len(workload.pods)
        assert workload.pending.value == sum(p.node is None for p in workload.pods.values())
        assert workload.ready.value == sum(p.ready_s is not None for p in workload.pods.values())
        asked = sum(pod.requests[0] for pod in workload.pods.values())
        assert workload.reserved_cpu_m.value == asked


def check_scaled(play: make.Play) -> None:
    for _, what, key, change in play.world.ledger.events:
        if what == "scaled":
            assert 2 <= int(change.split("->")[1]) <= 4, key


@given(scenarios())
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
def test_nothing_is_lost_and_nothing_is_used_twice(document: dict[str, Any]) -> None:
    play = play_out(document)
    check_pods(play)
    check_work(play)
    check_areas(play)
    check_scaled(play)


def outcome(document: dict[str, Any], seed: int) -> tuple[str, list[Any]]:
    result = make.run(document, seed)
    return json.dumps(result.measures, sort_keys=True), list(result.events)


@given(scenarios())
@settings(max_examples=5, suppress_health_check=list(HealthCheck))
def test_the_same_seed_gives_the_same_run(document: dict[str, Any]) -> None:
    assert outcome(document, 3) == outcome(document, 3)


def test_another_seed_gives_another_run() -> None:
    pod = make.pods(startup=0)
    pod["startup"] = {"mean": 20, "jitter": 5}
    document = make.document(make.workload(start=5, pod=pod, **make.service()))
    first, second = outcome(document, 1), outcome(document, 2)
    assert first[0] != second[0]
    assert first[1] != second[1]
