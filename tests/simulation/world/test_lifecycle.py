"""The life of a pod, with exact times."""

from __future__ import annotations

import itertools

import pytest

from kubestow.simulation.world import lifecycle
from kubestow.simulation.world.actors import Phase
from tests.simulation import make

CYCLE_S = 0.005  # what the scheduler takes for one pod


def late(**more: object) -> make.Play:
    """Return a world in which one pod of ``web`` is created at 7 s."""
    result = make.workload(start=7, replicas=1, **{**make.service(), **more})
    return make.start(make.document(result))


def test_a_pod_is_created_bound_and_ready_at_exact_times() -> None:
    play = late().until(60)
    assert play.events("created", "bound", "ready") == [
        (7.0, "created", "web-0"),
        (7.0 + CYCLE_S, "bound", "web-0"),
        (17.0 + CYCLE_S, "ready", "web-0"),
    ]


def test_without_a_start_up_time_running_is_ready() -> None:
    play = late(pod=make.pods(startup=0)).until(20)
    assert play.times("ready") == play.times("bound")


def test_pods_that_are_there_from_the_start_are_ready_at_once() -> None:
    play = make.start(make.document(make.workload(replicas=2)))
    assert play.phases() == {"web-0": "ready", "web-1": "ready"}
    assert play.workload().startup_times_s == []


def test_start_up_times_have_their_mean_and_spread() -> None:
    pod = make.pods(cpu="1m", memory="1Mi", startup=0)
    pod["startup"] = {"mean": 40, "jitter": 10}
    result = make.workload(start=1, replicas=400, pod=pod)
    pools = [{"name": "n", "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "500"}}]
    play = make.start(make.document(result, nodes=pools)).until(200)
    bound = {key: t for t, _, key in play.events("bound")}
    times = [t - bound[key] for t, _, key in play.events("ready")]
    assert len(times) == 400
    mean = sum(times) / 400
    deviation = (sum((t - mean) ** 2 for t in times) / 400) ** 0.5
    assert abs(mean - 40) < 4 * 10 / 20  # four standard errors
    assert 8 < deviation < 12


def test_requests_are_served_between_ready_and_stop_only() -> None:
    play = late(pod=make.pods(grace=30))

    def serving_from() -> float:
        return float(
            play.world.containers.rows["serving_from"][play.pod("web-0").container_rows[0]]
        )

    play.until(17)
    assert serving_from() == float("inf")
    play.until(18)
    assert serving_from() == 17.0 + CYCLE_S
    play.until(41)
    play.workload().replicas = 0
    lifecycle.stop_pod(play.world, play.pod("web-0"), "test")
    assert serving_from() == float("inf")
    served = play.world.services["all_served"][0]
    play.until(45)  # the step in which it was told: one second of five had requests
    offered_s = (45 - 40) * 20 * (1 / 5)
    done = play.world.services["all_served"][0] - served
    assert done == pytest.approx(offered_s, rel=0.05)
    play.until(70.9)
    assert play.phases() == {"web-0": "terminating"}
    play.until(71)
    assert play.phases() == {}
    assert play.times("gone") == [71.0]
    assert play.world.services["all_served"][0] - served == pytest.approx(done, abs=1.0)


def test_a_pod_that_was_never_bound_is_gone_at_once() -> None:
    play = late(pod=make.pods(cpu="100", grace=30)).until(10)
    assert play.phases() == {"web-0": "queued"}
    play.workload().replicas = 0
    lifecycle.stop_pod(play.world, play.pod("web-0"), "test")
    assert play.times("gone") == [10.0]
    assert play.workload().pending.value == 0.0


def test_the_initialisation_time_is_recorded_once_from_creation_to_first_ready() -> None:
    play = late(pod=make.pods(limits={"memory": "1Gi"})).until(30)
    # created at 7, bound one cycle later, ready ten seconds after that
    assert play.workload().startup_times_s == [pytest.approx(10.0 + CYCLE_S)]
    play.kill("web-0")
    play.until(35)
    play.world.containers.rows["leak"][play.pod("web-0").container_rows[0]] = 0.0
    play.until(60)
    assert play.times("oom-killed") == [35.0]
    assert play.times("ready") == [17.0 + CYCLE_S, 45.0]
    assert len(play.workload().startup_times_s) == 1
    assert play.pod("web-0").first_ready_s == 17.0 + CYCLE_S


def leaky(startup: float, memory: str = "10Gi", limit: str = "15Mi") -> make.Play:
    """Return a pod that is over its limit at the end of the first step after each start."""
    usage = {"leak": memory}
    result = make.workload(
        start=5,
        pod=make.pods(memory="1Mi", startup=startup, usage=usage, limits={"memory": limit}),
    )
    return make.start(make.document(result, duration="1h"))


def test_back_off_is_none_then_10_s_doubled_up_to_300_s() -> None:
    # 10Gi an hour are 2.84 MiB a second: after 5.3 s it is over 15 MiB, so the end of the
    # second step after a start kills it (or the first, if nearly two have gone by).
    play = leaky(startup=60).until(3000)
    killed = play.times("oom-killed")
    waits = [after - before for before, after in itertools.pairwise(killed)]
    # Each round is the wait, and then 10 s of running until the end of the second step.
    assert [wait - 10 for wait in waits[:9]] == [0, 10, 20, 40, 80, 160, 300, 300, 300]
    assert play.times("ready") == []
    assert play.world.ledger.counts["restarts"] == len(killed)


def test_ten_minutes_of_running_reset_the_back_off() -> None:
    play = leaky(startup=1, memory="0", limit="1Gi").until(1000)
    play.kill("web-0")
    play.until(1005)  # at once
    row = play.pod("web-0").container_rows[0]
    play.world.containers.rows["leak"][row] = 0.0
    assert play.pod("web-0").phase is Phase.STARTING
    play.until(1595)
    play.kill("web-0")
    play.until(1600)  # it ran for 595 s: not long enough
    assert play.pod("web-0").phase is Phase.CRASHED
    play.world.containers.rows["leak"][row] = 0.0
    play.until(1610)
    assert play.pod("web-0").phase is Phase.STARTING
    play.until(2210)
    play.kill("web-0")
    play.until(2215)  # it ran for 605 s
    assert play.pod("web-0").phase is Phase.STARTING


def test_the_wait_itself_does_not_count_as_running() -> None:
    # 300 s of waiting and 400 s of running are more than ten minutes since the last crash, but
    # the container has not run for ten minutes.
    play = leaky(startup=1, memory="0", limit="1Gi").until(100)
    pod = play.pod("web-0")
    row = pod.container_rows[0]
    pod.back_offs_s[row] = 300.0
    play.kill("web-0")
    play.until(105)
    play.world.containers.rows["leak"][row] = 0.0
    play.until(405)
    assert play.pod("web-0").phase is Phase.STARTING
    play.until(800)
    play.kill("web-0")
    play.until(805)
    assert play.pod("web-0").phase is Phase.CRASHED
    play.until(1104)
    assert play.pod("web-0").phase is Phase.CRASHED


def sidecar() -> make.Play:
    side = {"name": "side", "limits": {"memory": "1Gi"}}
    result = make.workload(
        replicas=1,
        start=1,
        pod=make.pods(containers=[side], limits={"memory": "1Gi"}),
        **make.service(mean=60, cpuPerRequest="100ms"),
    )
    return make.start(make.document(result)).until(30)


def test_a_sidecar_that_is_killed_takes_the_pod_out_of_service_but_loses_no_requests() -> None:
    play = sidecar()
    main = play.world.containers.rows[play.pod("web-0").container_rows[0]]
    assert main["in_system"] > 1.0
    inside = float(main["in_system"])
    dropped = float(play.world.services["all_dropped"][0])
    lifecycle.crash_container(play.world, play.pod("web-0"), play.pod("web-0").container_rows[1])
    assert play.pod("web-0").phase is Phase.CRASHED
    assert play.pod("web-0").ready_s is None
    assert main["in_system"] == inside
    assert play.world.services["all_dropped"][0] == dropped
    assert main["running_from"] < 30.0


def test_containers_of_one_pod_wait_for_their_own_back_off() -> None:
    play = sidecar()
    pod = play.pod("web-0")
    first, second = pod.container_rows
    pod.back_offs_s[first] = 40.0
    play.kill("web-0", 0)
    play.until(35)
    play.world.containers.rows["leak"][first] = 0.0
    assert set(pod.down) == {first}
    play.kill("web-0", 1)  # while the other one is down
    play.until(40)
    play.world.containers.rows["leak"][second] = 0.0
    assert play.times("oom-killed") == [35.0, 40.0]
    assert play.world.ledger.counts["oom_kills"] == 2
    assert set(pod.down) == {first}  # the second was restarted at once
    assert play.pod("web-0").phase is Phase.CRASHED
    play.until(75)
    assert (pod.phase, pod.down) == (Phase.STARTING, {})
    play.until(85)
    assert play.pod("web-0").phase is Phase.READY


def test_a_pod_told_to_stop_while_a_container_is_down_is_not_restarted() -> None:
    play = sidecar()
    pod = play.pod("web-0")
    pod.back_offs_s[pod.container_rows[0]] = 10.0
    lifecycle.crash_container(play.world, pod, pod.container_rows[0])
    play.workload().replicas = 0
    lifecycle.stop_pod(play.world, pod, "test")
    play.until(60)
    assert play.phases() == {}


def test_work_with_time_and_processor_time_needs_both() -> None:
    # 20 core-seconds with 2 cores are done after 10 s; the duration is 60 s.
    job = make.workload(
        "job",
        kind="Job",
        pod=make.pods(startup=0),
        work={"cpuSeconds": 20, "cores": 2, "duration": 60},
    )
    play = make.start(make.document(job)).until(100)
    assert play.times("finished") == [65.0]  # the end of the first step after 60.005 s
    quick = make.workload(
        "job", kind="Job", pod=make.pods(startup=0), work={"cpuSeconds": 200, "duration": 10}
    )
    play = make.start(make.document(quick)).until(300)
    # bound at 0.005, one core: 200 core-seconds are done at 200.005
    assert play.times("finished") == [205.0]


def test_a_resize_changes_what_a_pod_counts_for_and_wakes_those_who_wait() -> None:
    big, small = make.workload("big", pod=make.pods(cpu="3")), make.workload("late", start=5)
    small["pod"] = make.pods(cpu="2")
    play = make.start(make.document(big, small, nodes=1)).until(20)
    assert play.phases("late") == {"late-0": "queued"}
    play.workload("big").requests = {"main": {}}
    lifecycle.resize(play.world, play.pod("big-0"), play.workload("big").pod_spec())
    assert play.workload("big").reserved_cpu_m.value == 0.0
    play.until(22)  # a back-off of one second, not five minutes
    assert play.pod("late-0").node is not None


def test_an_oom_killed_run_fails_and_starts_over_in_a_new_pod_after_the_back_off() -> None:
    job = make.workload("web", kind="Job", pod=make.pods(startup=0), work={"duration": 600})
    play = make.start(make.document(job))
    play.until(60)
    pod = play.pod("web-0")
    lifecycle.crash_container(play.world, pod, pod.container_rows[0])
    assert (pod.phase, play.workload().failures) == (Phase.GONE, 1)
    play.until(65)
    assert play.phases() == {}
    play.until(80)  # DefaultJobPodFailureBackOff: 10 s
    assert list(play.phases()) == ["web-1"]
