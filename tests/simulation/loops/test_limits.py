"""Limits that follow use inside the world."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulation import make

MB = 10**6


def start(mean_cpu: Any = None, memory: Any = None, **parameters: Any) -> make.Play:
    """Return one pod with limits of 600 m and 400 MB, sampled every 20 s."""
    sizes = {"cpu": "600m", "memory": "400M"}
    usage = {"cpu": mean_cpu or {"mean": "300m"}, "memory": memory or {"mean": "200M"}}
    pod = {**make.pods(), "requests": sizes, "limits": sizes, "usage": usage}
    rules = {
        "recommender": "limit-follow",
        "mode": "in-place-or-recreate",
        "interval": "20s",
        "parameters": {"periodS": 20, **parameters},
    }
    return make.start(
        make.document(make.workload(pod=pod), policies={"sizing": rules}, duration="2h")
    )


def limits(play: make.Play, name: str = "web-0") -> tuple[float, float]:
    row = play.pod(name).container_rows[0]
    rows = play.world.containers.rows
    return round(float(rows["cpu_limit"][row]), 3), float(rows["memory_limit"][row])


def test_nothing_is_set_before_both_windows_are_full() -> None:
    play = start().until(190)
    assert limits(play) == (0.6, 400 * MB)
    assert play.world.ledger.counts["limits_written"] == 0


def test_the_safe_limit_is_mean_and_elasticity() -> None:
    play = start().until(230)
    # 300 m x 1.2 and 200 MB x 1.2
    assert limits(play) == (0.36, 240 * MB)


def test_requests_stay_and_the_pod_says_what_it_said() -> None:
    play = start().until(600)
    assert play.pod("web-0").requests == (600, 400 * MB)
    assert play.pod("web-0").pod.spec.containers[0].limits["cpu"].milli() == 600
    record = play.world.ledger.decisions[-1]
    assert (record.policy, record.subject) == ("limit-follow", "pod/default/web-0")
    assert record.numbers["main/cpu"] == pytest.approx(0.36)


FALLING = {
    "pattern": "segments",
    "segments": [
        {"start": "300M", "seconds": 250},
        {"start": "300M", "end": "290M", "seconds": 500},
    ],
}


def test_as_printed_a_fall_kills_and_safely_it_does_not() -> None:
    strict = start(memory=FALLING, strict=True).until(600)
    assert strict.world.ledger.counts["oom_kills"] > 0
    safe = start(memory=FALLING).until(600)
    assert safe.world.ledger.counts["oom_kills"] == 0


def test_a_restarted_container_has_the_limits_of_its_pod() -> None:
    play = start().until(230)
    play.kill("web-0")
    play.until(236)
    assert limits(play) == (0.6, 400 * MB)


def test_samples_from_before_a_gap_do_not_pass_for_new_ones() -> None:
    play = start().until(230)
    written = play.world.ledger.counts["limits_written"]
    row = play.pod("web-0").container_rows[0]
    play.world.containers.rows["since_s"][row] = 0.0  # else it had run long enough for no back-off
    play.pod("web-0").back_offs_s[row] = 100.0
    play.kill("web-0")
    play.until(236)
    play.world.containers.rows["leak"][row] = 0.0
    # Killed at 235 s, down for 100 s; ten samples from 340 s on are there at 520 s or later.
    play.until(510)
    assert len(play.times("oom-killed")) == 1
    assert play.world.ledger.counts["limits_written"] == written
    assert limits(play) == (0.6, 400 * MB)
    play.until(600)
    assert play.world.ledger.counts["limits_written"] > written


def test_only_the_pods_that_use_most_are_adjusted() -> None:
    sizes = {"cpu": "600m", "memory": "400M"}
    result = [
        make.workload(
            name,
            pod={
                **make.pods(),
                "requests": sizes,
                "limits": sizes,
                "usage": {"cpu": {"mean": cpu}, "memory": {"mean": "100M"}},
            },
        )
        for name, cpu in (("busy", "400m"), ("idle", "100m"))
    ]
    rules = {
        "recommender": "limit-follow",
        "mode": "in-place-or-recreate",
        "interval": "20s",
        "parameters": {"periodS": 20, "mostPods": 1},
    }
    play = make.start(make.document(*result, nodes=1, policies={"sizing": rules})).until(300)
    assert limits(play, "busy-0")[0] == 0.48
    assert limits(play, "idle-0")[0] == 0.6


def test_mode_off_writes_nothing() -> None:
    result = start()
    result.workload().sizing = type(result.workload().sizing)(recommender="limit-follow")
    assert limits(result.until(600)) == (0.6, 400 * MB)
