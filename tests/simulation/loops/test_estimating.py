"""Recommenders inside the world: what they see, what guards make of it, how pods are changed."""

from __future__ import annotations

from typing import Any

import pytest

from kubestow.model import errors, resources
from kubestow.policies.sizing import registry
from kubestow.simulation.loops import sizing_context, updating
from kubestow.simulation.world import lifecycle
from tests.simulation import make

MIB = 2**20
ESTIMATORS = [name for name in registry.RECOMMENDERS if name not in ("keep", "vpa", "limit-follow")]


def service(cpu: str = "1", memory: str = "1Gi", **more: Any) -> dict[str, Any]:
    """Return two pods that use 300 m and 400 MiB, always."""
    pod = make.pods(
        cpu=cpu,
        memory=memory,
        limits={"memory": memory},
        usage={"cpu": {"mean": "300m"}, "memory": {"mean": "400Mi"}},
    )
    return make.workload(replicas=2, pod=pod, **more)


def start(*result: dict[str, Any], mode: str = "in-place-or-recreate", **sizing: Any) -> make.Play:
    rules = {"recommender": "percentile", "mode": mode, "interval": "10m", **sizing}
    return make.start(
        make.document(
            *result,
            policies={"sizing": rules},
            duration="12h",
            step=15,
            metrics={"scrape": 15, "window": 60, "lag": 15},
        )
    )


def asked(play: make.Play, name: str = "web") -> list[tuple[int, int]]:
    return [pod.requests for pod in play.workload(name).pods.values()]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_brings_requests_near_use(name: str) -> None:
    play = start(service(), recommender=name).until(7200)
    for cpu_m, memory in asked(play):
        assert 300 <= cpu_m < 600
        assert 400 * MIB <= memory < 650 * MIB
    assert play.world.ledger.counts["oom_kills"] == 0
    records = [one for one in play.world.ledger.decisions if one.kind == "sizing"]
    assert records[0].policy == name
    assert records[0].subject == "workload/default/web"


def test_a_percentile_of_constant_use_is_use_and_its_margin() -> None:
    play = start(service()).until(1200)
    estimated = registry.RECOMMENDERS.get("percentile").parameters()
    assert estimated.cpu_margin == estimated.memory_margin == 0.15
    # 300 m x 1.15; 400 MiB x 1.15 in whole MiB
    assert asked(play) == [(345, 460 * MIB)] * 2


def test_mode_off_records_and_changes_nothing() -> None:
    play = start(service(), mode="off").until(7200)
    assert asked(play) == [(1000, 1024 * MIB)] * 2
    assert play.workload().requests == {}
    records = [one for one in play.world.ledger.decisions if one.kind == "sizing"]
    assert len(records) == 1  # the same answer is told once


def test_mode_initial_sizes_new_pods_only() -> None:
    play = start(service(), mode="initial").until(1200)
    assert asked(play) == [(1000, 1024 * MIB)] * 2
    lifecycle.stop_pod(play.world, play.pod("web-0"), "test")
    play.until(1300)
    assert asked(play) == [(1000, 1024 * MIB), (345, 460 * MIB)]


def test_mode_recreate_evicts_one_after_another() -> None:
    play = start(service(), mode="recreate").until(1200)
    assert asked(play) == [(345, 460 * MIB)] * 2
    first, second = play.times("resized-by-eviction")
    assert second - first >= 10.0  # the time a pod takes to start
    assert play.events("resized") == []


def test_in_place_leaves_pods_where_they_are() -> None:
    play = start(service()).until(1200)
    assert [who for _, _, who in play.events("resized")] == ["web-0", "web-1"]
    assert play.times("gone") == []


def test_a_container_that_is_killed_gets_more_at_the_next_look() -> None:
    play = start(service(memory="300Mi"), interval="6h").until(120)
    killed = play.times("oom-killed")
    assert killed
    # 300 MiB x 1.2 is less than 300 MiB + 100 MiB
    assert [memory for _, memory in asked(play)] == [400 * MIB] * 2
    record = play.world.ledger.decisions[-1]
    assert record.outcome is not None
    assert "was killed for its memory" in record.outcome
    assert "was killed at 300 MiB" in record.rejected["main as estimated"]


def test_no_estimate_may_kill_again_what_was_killed() -> None:
    play = start(service(memory="300Mi")).until(7200)
    assert all(memory >= 400 * MIB for _, memory in asked(play))


def test_requests_an_autoscaler_divides_by_are_left_alone() -> None:
    scaling = {"scaler": "hpa", "target": {"cpu": 0.5}, "min": 2, "max": 4}
    play = start(service(scaling=scaling)).until(1200)
    assert {cpu_m for cpu_m, _ in asked(play)} == {1000}
    assert {memory for _, memory in asked(play)} == {460 * MIB}
    record = next(one for one in play.world.ledger.decisions if one.kind == "sizing")
    assert "an HPA scales on 50 %" in record.rejected["main as estimated"]


def test_a_pod_is_never_larger_than_the_largest_node() -> None:
    agent = make.workload(
        "agent",
        kind="DaemonSet",
        pod=make.pods(cpu="500m", memory="1Gi"),
        sizing={"recommender": "keep"},
    )
    play = start(service(), agent)
    # Of 4 cores and 8 GiB the daemon takes half a core and 1 GiB.
    assert sizing_context.largest_node(play.world, play.workload()) == {
        resources.CPU: 3500,
        resources.MEMORY: 7 * 2**30,
    }


@pytest.mark.parametrize(
    ("rule", "limit_mib"), [("request", 460), ("ratio", 920), ("keep", 2048), ("none", None)]
)
def test_limits_follow_the_rule(rule: str, limit_mib: int | None) -> None:
    result = service()
    result["pod"]["limits"] = {"memory": "2Gi"}
    play = start(result, mode="initial", guards={"memoryLimit": rule}).until(1200)
    limit = play.workload().limits["main"].get(resources.MEMORY)
    assert (None if limit is None else limit.value()) == (
        None if limit_mib is None else limit_mib * MIB
    )


def test_runs_of_a_pipeline_are_sized_by_finished_runs() -> None:
    job = make.workload(
        "job",
        kind="Pipeline",
        pod=make.pods(
            memory="1Gi",
            limits={"memory": "1Gi"},
            usage={"cpu": {"mean": "500m"}, "memory": {"mean": "200Mi"}},
        ),
        work={"duration": "8m", "every": "20m"},
    )
    play = start(job, interval="5m").until(470)
    assert play.workload("job").requests == {}  # the first run is still going on
    play.until(1500)
    assert asked(play, "job") == [(575, 230 * MIB)]


def test_the_record_tells_how_earlier_answers_did() -> None:
    result = service()
    segments = [{"start": "400Mi", "seconds": 3600}, {"start": "900Mi", "seconds": 36_000}]
    result["pod"]["usage"]["memory"] = {"pattern": "segments", "segments": segments}
    play = start(result, mode="off").until(7200)
    last = [one for one in play.world.ledger.decisions if one.kind == "sizing"][-1]
    assert last.backtest["main/judged"] >= 5
    # One answer was given before memory doubled; later ones have seen it.
    assert 0.0 < last.backtest["main/memory_missed"] < 0.5
    counts = play.world.ledger.counts
    assert counts["sizing_memory_missed"] >= 1
    assert counts["sizing_judged"] > counts["sizing_memory_missed"]


def test_a_kill_is_a_miss_though_no_sample_shows_it() -> None:
    play = start(service()).until(1210)  # asked at 600 s and 1200 s
    counts = play.world.ledger.counts
    assert (counts["sizing_judged"], counts["sizing_memory_missed"]) == (1, 0)
    play.kill("web-0")
    play.until(1810)
    assert counts["oom_kills"] >= 1
    assert (counts["sizing_judged"], counts["sizing_memory_missed"]) == (2, 1)


def test_the_same_seed_gives_the_same_result() -> None:
    result = service()
    result["pod"]["usage"]["memory"]["noise"] = 0.1
    first, second = (start(result, recommender="auto").until(7200) for _ in range(2))
    assert asked(first) == asked(second)
    assert first.world.ledger.events == second.world.ledger.events
    assert [one.as_json() for one in first.world.ledger.decisions] == [
        one.as_json() for one in second.world.ledger.decisions
    ]


def test_taking_a_limit_away_cannot_be_done_in_place() -> None:
    play = start(service())
    before = play.workload().pod_spec()
    play.workload().limits = {"main": {}}
    assert not updating.resizable(before, play.workload().pod_spec())
    play.workload().limits = {"main": {"memory": before.containers[0].limits["memory"]}}
    assert updating.resizable(before, play.workload().pod_spec())


def test_unknown_words_of_guards_are_refused() -> None:
    with pytest.raises(errors.InputError, match="memoryLimit"):
        start(service(), guards={"memoryLimit": "double"})
