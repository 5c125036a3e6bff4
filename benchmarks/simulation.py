"""Speed of the simulator: simulated time / CPU time, and how it grows with pods and steps.

A fifth of the workloads serve requests, each with a HorizontalPodAutoscaler that syncs every 15 s;
the others follow a noisy daily usage. The Vertical Pod Autoscaler runs on all of them every minute
(recommendations only); metrics are scraped every step. ``without_loops`` is the same without
autoscalers.
"""

from __future__ import annotations

import resource
import time
from typing import Any

from kubestow.policies.placing.profiles import catalog
from kubestow.simulation import run as simulation_run
from kubestow.simulation.scenarios import document

PODS_EACH = 10  # pods of one workload
_GIB = 1024**2  # the kernel counts kibibytes


def make_scenario(nodes: int, pods: int, hours: float, *, loops: bool = True) -> document.Scenario:
    """Return the scenario of a cluster with ``nodes`` nodes and ``pods`` pods."""
    count = pods // PODS_EACH
    shape = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    web: dict[str, Any] = {
        "name": "web",
        "count": max(count // 5, 1),
        "replicas": PODS_EACH,
        "pod": {
            "requests": {"cpu": "500m", "memory": "512Mi"},
            "limits": {"cpu": "2", "memory": "1Gi"},
            "startup": {"mean": "30s", "jitter": "5s"},
        },
        "demand": {"pattern": "diurnal", "mean": 250, "peak": 330, "noise": 0.05},
        "service": {"cpuPerRequest": "12ms", "baseMemory": "180Mi", "memoryPerRequest": "1Mi"},
    }
    back: dict[str, Any] = {
        "name": "back",
        "count": count - max(count // 5, 1),
        "replicas": PODS_EACH,
        "pod": {
            "requests": {"cpu": "250m", "memory": "1Gi"},
            "usage": {
                "cpu": {"pattern": "diurnal", "mean": "200m", "peak": "400m", "noise": 0.2},
                "memory": {"mean": "600Mi", "noise": 0.05},
            },
        },
    }
    value = {
        "apiVersion": document.API_VERSION,
        "kind": document.KIND,
        "metadata": {"name": "benchmark"},
        "spec": {
            "duration": hours * 3600.0,
            "cluster": {"nodes": [{"name": "n", "count": nodes, "allocatable": shape}]},
            "workloads": [web, back],
            "policies": {
                "scaling": {"scaler": "hpa", "target": {"cpu": 0.6}, "min": 5, "max": 20},
                "sizing": {"recommender": "vpa", "mode": "off"},
            }
            if loops
            else {},
        },
    }
    return document.read_scenario(value, "benchmark")


def run(nodes: int, pods: int, hours: float, *, loops: bool = True) -> float:
    """Return simulated seconds per second of CPU time, including the start."""
    scenario = make_scenario(nodes, pods, hours, loops=loops)
    inputs = simulation_run.Inputs(catalog.make_profile("kube-scheduler"), {})
    begun = time.process_time()
    simulation_run.run(scenario, inputs)
    return hours * 3600.0 / (time.process_time() - begun)


def measure() -> dict[str, float]:
    """Return the figures."""
    run(2, 20, 0.1)  # compiles
    small, middle = run(30, 300, 24.0), run(100, 1000, 24.0)
    short = run(100, 1000, 6.0)
    large = run(1000, 10_000, 24.0)
    peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _GIB
    return {
        "times_real_time_30_nodes_300_pods": small,
        "times_real_time_100_nodes_1000_pods": middle,
        "times_real_time_100_nodes_1000_pods_without_loops": run(100, 1000, 24.0, loops=False),
        "times_real_time_1000_nodes_10000_pods": large,
        # Cost of a pod and step, small over large: 1 is linear, below 1 grows faster.
        "linear_in_pods_300_to_1000": middle * 1000 / (small * 300),
        "linear_in_pods_1000_to_10000": large * 10_000 / (middle * 1000),
        "linear_in_steps_6h_to_24h": middle / short,
        "memory_of_4_gib_over_used": 4.0 / peak_gib,
    }
