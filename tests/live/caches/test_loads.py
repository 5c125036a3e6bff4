"""Loads in the state's layout: measured, stale, assumed, through changes of nodes."""

from __future__ import annotations

import math

import numpy as np

from kubestow.live.caches import node_metrics
from kubestow.live.caches.loads import MeasuredLoads, NodeLoads
from kubestow.model import pods
from kubestow.model.decoding import fields
from kubestow.sources.manifests import pods as pod_source
from tests.live.caches import test_cluster as made


def _pod(node: str, cpu: str = "300m") -> pods.Pod:
    return pod_source.PodReader().read(fields.Field(made.make_pod("p", node, cpu), "pod"))


def test_measures_stand_in_the_rows_and_columns_of_the_state() -> None:
    cache = made.make_cache("n0", "n1")
    node_loads = NodeLoads()
    node_loads.measure(
        {"n1": MeasuredLoads({"cpu": 700.0, "memory": 5e9}, 95.0), "gone": MeasuredLoads({}, 95.0)}
    )
    result = node_loads.loads(cache.state, 100.0)
    row, cpu = cache.state.rows["n1"], cache.state.columns["cpu"]
    assert result.used[row, cpu] == 700.0
    assert math.isnan(result.used[cache.state.rows["n0"], cpu])
    assert not result.assumed.any()


def test_stale_measures_are_none() -> None:
    cache = made.make_cache("n0")
    node_loads = NodeLoads(stale_s=60.0)
    node_loads.measure({"n0": MeasuredLoads({"cpu": 700.0}, 100.0)})
    cpu = cache.state.columns["cpu"]
    assert node_loads.loads(cache.state, 160.0).used[0, cpu] == 700.0
    assert math.isnan(node_loads.loads(cache.state, 160.1).used[0, cpu])


def test_a_pod_is_assumed_until_the_window_shows_it() -> None:
    cache = made.make_cache("n0")
    node_loads = NodeLoads(window_s=30.0)
    node_loads.measure({"n0": MeasuredLoads({"cpu": 0.0}, 100.0)})
    node_loads.place("p", _pod("n0"), cache.state, 100.0)
    cpu = cache.state.columns["cpu"]
    assert node_loads.loads(cache.state, 110.0).assumed[0, cpu] == 300.0
    # Metrics that end 10 s after it was placed show a third of it: 300 x (1 - 10/30) = 200 left.
    node_loads.measure({"n0": MeasuredLoads({"cpu": 100.0}, 110.0)})
    assert np.isclose(node_loads.loads(cache.state, 115.0).assumed[0, cpu], 200.0)
    node_loads.remove("p")
    assert node_loads.loads(cache.state, 115.0).assumed[0, cpu] == 0.0


def test_what_is_assumed_follows_nodes_that_come_and_go() -> None:
    cache = made.make_cache("n0", "n1")
    node_loads = NodeLoads()
    node_loads.place("p", _pod("n1"), cache.state, 100.0)
    cache.remove("Node", made.make_node("n0"))
    cache.put("Node", made.make_node("n2"))
    result = node_loads.loads(cache.state, 101.0)
    cpu = cache.state.columns["cpu"]
    assert result.assumed[cache.state.rows["n1"], cpu] == 300.0
    assert result.assumed[cache.state.rows["n2"], cpu] == 0.0


def test_what_metrics_show_is_forgotten_and_so_are_nodes_that_are_gone() -> None:
    cache = made.make_cache("n0")
    node_loads = NodeLoads()
    node_loads.measure(
        {"n0": MeasuredLoads({"cpu": 1.0}, 200.0), "gone": MeasuredLoads({"cpu": 1.0}, 10.0)}
    )
    node_loads.place("p", _pod("n0"), cache.state, 100.0)
    node_loads.forget(cache.state, 201.0)
    assert not node_loads.loads(cache.state, 201.0).assumed.any()
    assert node_loads.oldest_s(201.0) == 1.0


def test_without_metrics_there_is_no_age() -> None:
    assert math.isnan(NodeLoads().oldest_s(1.0))


def test_node_metrics_are_read_in_the_schedulers_units() -> None:
    # 250m CPU is 250 millicores, 1Ki of memory 1024 bytes.
    good = {
        "metadata": {"name": "n0"},
        "timestamp": "2026-11-16T08:00:00Z",
        "window": "15s",
        "usage": {"cpu": "250m", "memory": "1Ki"},
    }
    bad = [{**good, "timestamp": "yesterday"}, {**good, "usage": {"cpu": "lots"}}, {}]
    result = node_metrics.parse({"items": [*bad, good]})
    assert result == {"n0": MeasuredLoads({"cpu": 250.0, "memory": 1024.0}, 1794816000.0)}
