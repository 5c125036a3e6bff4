"""What an extension sees in the simulator: lagged loads, and pods bound since."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kubestow.policies.placing.profiles import catalog
from kubestow.simulation.loops import node_loads
from tests.simulation import make

GIB = 1024**3
NODE = {
    "cpu": "4",
    "memory": "8Gi",
    "pods": "20",
    "kubestow.io/network": "1000",
    "kubestow.io/disk-io": "2000",
}
POOLS = [{"name": "n", "count": 2, "allocatable": NODE}]
METRICS = {"scrape": 10, "window": 20, "lag": 10}


def busy(name: str = "busy", cpu: float = 1.0, **more: Any) -> dict[str, Any]:
    """Return a pod that uses cores, half a GiB and links."""
    usage = {
        "cpu": {"mean": cpu},
        "memory": {"mean": "512Mi"},
        "network": {"mean": 300},
        "diskIo": {"mean": 5000},
    }
    return make.workload(name, pod=make.pods(cpu="500m", startup=0, usage=usage), **more)


def start(*workloads: dict[str, Any], profile: str = "load-aware", **spec: Any) -> make.Play:
    """Return a play with an extension."""
    settings = {"metrics": METRICS, "policies": {"placing": {"profile": profile}}, **spec}
    return make.start(make.document(*workloads, nodes=POOLS, **settings))


def watch(play: make.Play) -> node_loads.PlacingLoads:
    """Return loads watched from the start of a play."""
    loads = node_loads.PlacingLoads(play.world)
    loads.start()
    return loads


def test_loads_are_means_over_a_window_some_time_ago() -> None:
    play = start(busy())
    loads, state = watch(play), play.world.state
    cpu, memory = state.columns["cpu"], state.columns["memory"]
    network, disk = state.columns["kubestow.io/network"], state.columns["kubestow.io/disk-io"]
    row = int(np.flatnonzero(state.requested[:, cpu])[0])
    play.until(29)  # scrapes at 0, 10 and 20; the one at 20 may not be read yet
    assert np.isnan(loads.loads().used).all()
    play.until(30)
    result = loads.loads().used
    assert result[row, cpu] == pytest.approx(1000.0)
    assert result[row, memory] == pytest.approx(0.5 * GIB)
    assert result[row, network] == pytest.approx(300.0)
    assert result[row, disk] == pytest.approx(2000.0)  # it wants more than the disk can do
    assert result[1 - row, [cpu, memory, network]].tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(result[:, state.columns["ephemeral-storage"]]).all()


def test_pods_bound_since_are_assumed_until_metrics_show_them() -> None:
    play = start(busy(start=100))
    loads, cpu = watch(play), play.world.state.columns["cpu"]
    play.until(99)
    assert not loads.loads().assumed.any()
    seen = {}
    for time_s in (101, 110, 120, 130):
        play.until(time_s)
        result = loads.loads()
        seen[time_s] = (result.used[:, cpu].sum(), result.assumed[:, cpu].sum())
    # Requests of 500 m are assumed, 1000 m are used from 100 on; the newest scrape is 10 s old and
    # shows the mean over 20 s.
    assert seen[101] == pytest.approx((0.0, 500.0), abs=1.0)
    assert seen[110] == pytest.approx((0.0, 500.0), abs=1.0)
    assert seen[120] == pytest.approx((500.0, 250.0), abs=1.0)
    assert seen[130] == pytest.approx((1000.0, 0.0), abs=1.0)


def test_pods_that_are_gone_are_not_assumed() -> None:
    job = make.workload(
        "job", kind="Job", start=100, pod=make.pods(cpu="500m", startup=0), work={"duration": "2s"}
    )
    play = start(job)
    loads = watch(play)
    play.until(101)
    assert loads.loads().assumed.any()
    play.until(109)
    assert not loads.loads().assumed.any()


def test_nodes_that_come_are_not_measured_for_a_window() -> None:
    play = start(busy(), failures=[{"node": "n-0", "at": 50, "duration": "20s"}])
    loads, cpu = watch(play), play.world.state.columns["cpu"]
    play.until(49)
    assert not np.isnan(loads.loads().used[:, cpu]).any()
    play.until(90)  # n-0 is back since 70
    result = loads.loads().used[:, cpu]
    assert np.isnan(result[play.world.state.rows["n-0"]])
    assert not np.isnan(result[play.world.state.rows["n-1"]])
    play.until(101)  # a window from 70 to 90, 10 s ago
    assert not np.isnan(loads.loads().used[:, cpu]).any()


def spread(profile: str, lag: str = "30s") -> list[int]:
    """Return pods per node of a burst that stock kube-scheduler would spread by requests alone."""
    noise = busy("noise", cpu=3.0)  # requests half a core, uses three
    burst = make.workload("burst", start=100, replicas=6, pod=make.pods(cpu="100m", startup=0))
    play = start(noise, burst, profile=profile, metrics={**METRICS, "lag": lag}).until(110)
    counts = {"n-0": 0, "n-1": 0}
    quiet = ""
    for node in play.world.live_nodes():
        counts[node.name] = sum(pod.workload.name == "burst" for pod in node.pods.values())
        if not any(pod.workload.name == "noise" for pod in node.pods.values()):
            quiet = node.name
    return [counts[quiet], sum(counts.values()) - counts[quiet]]


def test_a_burst_goes_where_load_is_low_and_not_where_requests_are() -> None:
    assert spread("load-aware") == [6, 0]
    quiet, noisy = spread("kube-scheduler")
    assert noisy > 0
    assert quiet + noisy == 6


@pytest.mark.parametrize("name", [name for name in catalog.PROFILES if name != "kube-scheduler"])
def test_every_profile_runs_in_the_simulator(name: str) -> None:
    play = start(busy(), busy("more", start=20, replicas=3), profile=name).until(60)
    assert len(play.events("bound")) == 4


def test_records_have_the_parts_of_the_term() -> None:
    play = start(busy(), busy("more", start=60), profile="clbp").until(70)
    decided = [d for d in play.world.ledger.decisions if d.kind == "placing"]
    assert "clbp/cpu" in decided[-1].candidates[0].terms
    assert decided[-1].policy == "default-scheduler"
