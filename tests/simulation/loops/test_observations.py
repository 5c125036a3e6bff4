"""What controllers see: scrapes, windows, lag, holes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kubestow.simulation.loops import observations
from kubestow.simulation.world import lifecycle
from tests.simulation import make


def seen(play: make.Play) -> observations.Observer:
    """Return an observer of its own, beside the one that the loops have."""
    observer = observations.Observer(play.world)
    observer.start()
    return observer


def steady(cpu: str = "300m", **metrics: Any) -> make.Play:
    usage = {"cpu": {"mean": cpu}, "memory": {"mean": "200Mi"}}
    result = make.workload(replicas=2, pod=make.pods(usage=usage))
    rules = {"scrape": 15, "window": 30, "lag": 0, **metrics}
    return make.start(make.document(result, metrics=rules))


def test_there_is_no_rate_before_two_scrapes() -> None:
    play = steady()
    observer = seen(play)
    row = play.pod("web-0").container_rows[0]
    assert not observer.read([row]).present.any()
    play.until(14)
    assert not observer.read([row]).present.any()
    play.until(15)
    result = observer.read([row])
    assert result.present.all()
    assert (result.time_s, result.window_s) == (15.0, 15.0)
    assert result.cpu == pytest.approx([0.3])
    assert result.memory == pytest.approx([200 * 2**20])


def test_a_rate_is_the_mean_over_the_window() -> None:
    pieces = [{"start": "100m", "seconds": 30}, {"start": "700m", "seconds": 600}]
    usage = {"cpu": {"pattern": "segments", "segments": pieces}}
    result = make.workload(replicas=1, pod=make.pods(usage=usage))
    play = make.start(make.document(result, metrics={"scrape": 15, "window": 30, "lag": 0}))
    observer = seen(play)
    row = play.pod("web-0").container_rows[0]
    rates = []
    for time_s in (30, 45, 60, 75):
        play.until(time_s)
        rates.append(float(observer.read([row]).cpu[0]))
    assert rates == pytest.approx([0.1, 0.4, 0.7, 0.7])  # at 45: half old, half new


def test_what_is_read_is_at_least_one_lag_old() -> None:
    play = steady(lag=30)
    observer = seen(play)
    row = play.pod("web-0").container_rows[0]
    play.until(44)
    assert observer.read([row]).time_s == 0.0
    assert not observer.read([row]).present.any()
    play.until(45)
    assert observer.read([row]).present.all()
    play.until(100)
    assert observer.read([row]).time_s == 60.0  # 90 is too young, 75 too


@pytest.mark.parametrize("lag", [0, 5, 20, 25, 40, 60])
def test_the_window_is_whole_whatever_the_lag(lag: int) -> None:
    play = steady(lag=lag, window=45)
    observer = seen(play)
    row = play.pod("web-0").container_rows[0]
    for time_s in range(150, 200, 5):
        play.until(time_s)
        result = observer.read([row])
        assert result.time_s == (time_s - lag) // 15 * 15
        assert result.window_s == 45.0


def test_a_new_container_is_measured_from_its_first_scrape() -> None:
    usage = {"cpu": {"mean": "300m"}}
    result = make.workload(start=20, pod=make.pods(startup=1, usage=usage))
    rules = {"scrape": 15, "window": 60, "lag": 0}
    play = make.start(make.document(result, metrics=rules))
    observer = seen(play)
    play.until(44)
    row = play.pod("web-0").container_rows[0]
    assert not observer.read([row]).present.any()  # seen at 30 only
    play.until(45)
    assert observer.read([row]).cpu == pytest.approx([0.3])


def test_a_row_that_is_used_again_never_mixes_two_containers() -> None:
    hungry = make.workload("hungry", pod=make.pods(usage={"cpu": {"mean": "2"}}))
    modest = make.workload("modest", start=62, pod=make.pods(usage={"cpu": {"mean": "100m"}}))
    document = make.document(hungry, modest, nodes=1, metrics={"scrape": 5, "window": 60, "lag": 0})
    play = make.start(document)
    observer = seen(play)
    play.until(51)
    row = play.pod("hungry-0").container_rows[0]
    play.workload("hungry").replicas = 0
    lifecycle.stop_pod(play.world, play.pod("hungry-0"), "test")
    play.until(62.5)
    assert play.pod("modest-0").container_rows == (row,)
    play.until(66)
    assert not observer.read([row]).present.any()
    play.until(70)
    assert observer.read([row]).cpu == pytest.approx([0.1])


def test_a_container_that_was_restarted_is_measured_anew() -> None:
    usage = {"cpu": {"mean": "300m"}}
    result = make.workload(start=1, pod=make.pods(usage=usage, limits={"memory": "1Gi"}))
    document = make.document(result, metrics={"scrape": 5, "window": 60, "lag": 0})
    play = make.start(document)
    observer = seen(play)
    play.until(100)
    row = play.pod("web-0").container_rows[0]
    play.pod("web-0").back_offs_s[row] = 20.0
    play.kill("web-0")
    play.until(105)
    play.world.containers.rows["leak"][row] = 0.0
    play.until(115)
    assert not observer.read([row]).present.any()  # down
    play.until(129)
    assert not observer.read([row]).present.any()  # one scrape since the restart at 125
    play.until(130)
    # The 20 s it was down are not part of the rate.
    assert observer.read([row]).cpu == pytest.approx([0.3])


def test_samples_go_missing_at_the_given_share_and_the_same_ones_every_time() -> None:
    usage = {"cpu": {"mean": "1m"}}
    result = make.workload(replicas=20, pod=make.pods(cpu="1m", memory="1Mi", usage=usage))
    rules = {"scrape": 5, "window": 10, "lag": 0, "missing": 0.3}

    def presences() -> np.ndarray:
        play = make.start(make.document(result, metrics=rules))
        observer = seen(play)
        rows = [pod.container_rows[0] for pod in play.workload().pods.values()]
        kept = []
        for time_s in range(5, 500, 5):
            play.until(time_s)
            kept.append(observer.read(rows).present)
            assert np.array_equal(observer.read(rows).present, kept[-1])
        return np.array(kept)

    first = presences()
    # 99 x 20 samples: the standard error of the share is 0.0103
    assert abs(first.mean() - 0.7) < 0.042
    assert np.array_equal(first, presences())


def test_request_rates_and_nodes_are_seen_too() -> None:
    result = make.workload(replicas=1, **make.service(mean=20))
    play = make.start(make.document(result))
    observer = seen(play)
    assert observer.request_rate(0) is None
    play.until(20)
    assert observer.request_rate(0) == pytest.approx(20.0)
    use = observer.node_use()
    assert use is not None
    assert use[0].sum() == pytest.approx(0.4, rel=1e-3)  # 20 x 20 ms


def test_no_containers_are_read_as_none() -> None:
    play = steady()
    observer = seen(play)
    play.until(60)
    assert observer.read([]).present.tolist() == []
