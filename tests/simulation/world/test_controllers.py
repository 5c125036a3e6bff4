"""Controllers: as many pods as wanted, in the right order."""

from __future__ import annotations

import pytest

from kubestow.simulation.world import controllers, lifecycle, world
from tests.simulation import make


def scale(play: make.Play, replicas: int, name: str = "web") -> None:
    play.workload(name).replicas = replicas
    play.world.notify(world.SCALED, play.workload(name))


def test_a_deployment_restores_a_pod_that_is_deleted() -> None:
    play = make.start(make.document(make.workload(replicas=2))).until(10)
    lifecycle.stop_pod(play.world, play.pod("web-0"), "test")
    play.until(10)
    assert play.phases() == {"web-1": "ready", "web-2": "queued"}
    play.until(25)
    assert play.phases() == {"web-1": "ready", "web-2": "ready"}


def test_a_deployment_does_not_wait_for_pods_on_their_way_out() -> None:
    result = make.workload(replicas=1, pod=make.pods(grace=30))
    play = make.start(make.document(result)).until(10)
    lifecycle.stop_pod(play.world, play.pod("web-0"), "test")
    play.until(10)
    assert play.phases() == {"web-0": "terminating", "web-1": "queued"}


def test_a_replica_set_gives_up_pods_in_upstreams_order() -> None:
    # Two nodes of four cores: web-0..5 are ready (three each), the rest pend.
    play = make.start(make.document(make.workload(replicas=6))).until(100)
    scale(play, 10)
    play.until(105)  # web-6 and web-7 are bound and starting, web-8 and web-9 fit nowhere
    phases = play.phases()
    assert [phases[f"web-{i}"] for i in (6, 7, 8, 9)] == [
        "starting",
        "starting",
        "queued",
        "queued",
    ]
    order = [p.pod.name for p in controllers.ranked(play.workload().staying(), play.world.now_s)]
    assert set(order[:2]) == {"web-8", "web-9"}  # not bound
    assert set(order[2:4]) == {"web-6", "web-7"}  # pending before running
    play.pod("web-3").restarts = 2
    order = [p.pod.name for p in controllers.ranked(play.workload().staying(), play.world.now_s)]
    assert order[4] == "web-3"  # more restarts first
    play.pod("web-0").ready_s = None
    order = [p.pod.name for p in controllers.ranked(play.workload().staying(), play.world.now_s)]
    assert order[4] == "web-0"  # not ready before ready


def test_crowded_nodes_give_up_pods_first_and_younger_pods_before_older() -> None:
    play = make.start(make.document(make.workload(replicas=3))).until(100)
    nodes = {name: pod.node.name for name, pod in play.workload().pods.items() if pod.node}
    alone = next(n for n in nodes if list(nodes.values()).count(nodes[n]) == 1)
    scale(play, 2)
    play.until(101)
    assert alone in play.phases()
    # The others were created together: the one with the higher number goes.
    gone = play.events("gone")[0][2]
    assert gone == max(set(nodes) - {alone})


def test_a_stateful_set_grows_and_shrinks_one_by_one_in_order() -> None:
    result = make.workload("db", kind="StatefulSet", start=1, replicas=3)
    play = make.start(make.document(result)).until(100)
    ready = play.events("created", "ready")
    assert [entry[1:] for entry in ready] == [
        ("created", "db-0"),
        ("ready", "db-0"),
        ("created", "db-1"),
        ("ready", "db-1"),
        ("created", "db-2"),
        ("ready", "db-2"),
    ]
    assert [t for t, *_ in ready] == pytest.approx(
        [1, 11.005, 11.005, 21.01, 21.01, 31.015], abs=1e-9
    )
    scale(play, 1, "db")
    play.until(101)
    assert [entry[1:] for entry in play.events("scaled-down", "gone")] == [
        ("scaled-down", "db-2"),
        ("gone", "db-2"),
        ("scaled-down", "db-1"),
        ("gone", "db-1"),
    ]


def test_a_stateful_pod_comes_back_under_its_own_name_after_it_is_gone() -> None:
    result = make.workload("db", kind="StatefulSet", replicas=2, pod=make.pods(grace=20))
    play = make.start(make.document(result)).until(10)
    lifecycle.stop_pod(play.world, play.pod("db-0"), "test")
    play.until(29)
    assert play.phases("db") == {"db-0": "terminating", "db-1": "ready"}
    play.until(45)
    assert play.phases("db") == {"db-1": "ready", "db-0": "ready"}


def test_a_daemon_set_has_one_pod_on_every_node_it_may_run_on() -> None:
    pools = [
        {"name": "n", "count": 2, "allocatable": make.NODE},
        {
            "name": "t",
            "count": 1,
            "allocatable": make.NODE,
            "taints": [{"key": "gpu", "effect": "NoSchedule"}],
        },
    ]
    bearing = make.workload("all", kind="DaemonSet", pod=make.pods(tolerations=[{"key": "gpu"}]))
    plain = make.workload("some", kind="DaemonSet")
    play = make.start(make.document(plain, bearing, nodes=pools))
    assert set(play.phases("some")) == {"some-n-0", "some-n-1"}
    assert {pod.node.name for pod in play.workload("all").pods.values() if pod.node} == {
        "n-0",
        "n-1",
        "t",
    }
    lifecycle.stop_pod(play.world, play.pod("some-n-1"), "test")
    play.until(20)
    assert play.phases("some") == {"some-n-0": "ready", "some-n-1": "ready"}


def test_nothing_of_a_workload_exists_before_its_start() -> None:
    # A node that comes and a scaler that wants more replicas must not create it early.
    pools = [{"name": "n", "count": 1, "max": 3, "provision": 20, "allocatable": make.NODE}]
    agent = make.workload("agent", kind="DaemonSet", start=300, pod=make.pods(cpu="100m"))
    web = make.workload(
        start=400,
        replicas=1,
        scaling={"scaler": "hpa", "target": {"cpu": 0.5}, "min": 3, "max": 5},
        **make.service(),
    )
    push = make.workload("push", replicas=5, pod=make.pods(cpu="900m"))
    document = make.document(
        agent, web, push, nodes=pools, policies={"provisioning": {"enabled": True}}
    )
    play = make.start(document).until(299)
    assert play.times("joined") == [30.0]
    assert (play.phases("agent"), play.phases()) == ({}, {})
    assert play.world.services["all_offered"][0] == 0.0  # nobody calls what is not there
    play.until(330)
    assert set(play.phases("agent").values()) == {"ready"}
    play.until(420)
    assert len(play.phases()) == 3
    assert play.times("created", "web-0") == [400.0]


@pytest.mark.parametrize(("completions", "parallelism"), [(1, 1), (5, 2), (3, 5)])
def test_a_job_runs_until_enough_pods_have_finished(completions: int, parallelism: int) -> None:
    work = {"duration": 20, "completions": completions, "parallelism": parallelism}
    job = make.workload("job", kind="Job", start=10, pod=make.pods(startup=0), work=work)
    play = make.start(make.document(job))
    for time_s in range(0, 300, 5):
        play.until(time_s)
        assert len(play.phases("job")) <= parallelism
    assert len(play.times("finished")) == completions
    assert (play.workload("job").done, play.phases("job")) == (completions, {})
    rounds = -(-completions // parallelism)
    assert play.times("finished")[-1] == pytest.approx(10 + 20 * rounds, abs=0.1)


def test_a_job_pod_that_is_taken_away_is_replaced_and_begins_again() -> None:
    work = {"duration": 50}
    job = make.workload("job", kind="Job", pod=make.pods(startup=0), work=work)
    play = make.start(make.document(job)).until(30)
    lifecycle.stop_pod(play.world, play.pod("job-0"), "test")
    play.until(79)
    assert play.times("finished") == []
    play.until(81)
    assert play.times("finished", "job-1") == [pytest.approx(80.005)]


def test_a_pipeline_comes_again_in_its_rhythm() -> None:
    work = {"duration": 20, "every": 100, "first": 30, "completions": 2, "parallelism": 2}
    result = make.workload("p", kind="Pipeline", start=10, pod=make.pods(startup=0), work=work)
    play = make.start(make.document(result)).until(599)
    assert play.times("created") == [
        t for t in (40.0, 140.0, 240.0, 340.0, 440.0, 540.0) for _ in "12"
    ]
    assert play.workload("p").runs == 6


def test_runs_that_are_late_are_made_up_for() -> None:
    work = {"duration": 150, "every": 100}
    result = make.workload("p", kind="Pipeline", pod=make.pods(startup=0), work=work)
    play = make.start(make.document(result)).until(599)
    # six runs are due (0, 100 ... 500), one at a time: begun at 0, 150, 300, 450
    assert play.times("created") == pytest.approx([0, 150, 300, 450], abs=0.1)
