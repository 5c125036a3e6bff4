"""Two clusters with wrong requests: recurring pipelines, and services of all sizes.

Every seed draws other workloads, so replicates are different clusters, not only different noise.
The memory limit is the request, the CPU limit is twice the request, and all recommenders keep that
ratio: a container that is too small is OOM-killed and starts over, or is throttled. Nodes are added
and removed on demand.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

PIPELINES, SERVICES = "pipelines", "services"
MIB: Final = 2**20
_PIPELINES: Final = 16
_SERVICES: Final = 36
_MOST_NODES: Final = 60
_DAY_H: Final = 8  # a short day, so that a run of seconds covers it


def make(name: str, seed: int) -> dict[str, Any]:
    """Return the scenario of one cluster."""
    rng = np.random.default_rng([seed, len(name)])
    spec = _pipelines(rng) if name == PIPELINES else _services(rng)
    return {
        "apiVersion": "kubestow.io/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": f"sizing-loop-{name}"},
        "spec": {"seed": seed, **spec},
    }


def _pipelines(rng: np.random.Generator) -> dict[str, Any]:
    """Return test pipelines as in Boettcher 2023: one template for all, whatever their usage.

    The template fits the largest of them (Böttcher 2023, 5.1: requests are identical across pods).
    """
    memory_mib = rng.lognormal(np.log(1500.0), 0.5, _PIPELINES)
    database_mib = rng.lognormal(np.log(3000.0), 0.3, _PIPELINES)
    template = [int(1.3 * memory_mib.max()), int(1.3 * database_mib.max())]
    workloads = []
    for index in range(_PIPELINES):
        cores = float(rng.uniform(0.4, 1.5))
        workloads.append(
            {
                "name": f"pipeline-{index}",
                "kind": "Pipeline",
                "pod": {
                    **_resources(4000, template[0]),
                    "startup": {"mean": "30s", "jitter": "8s"},
                    "usage": {"memory": _memory(memory_mib[index], 0.04)},
                    "containers": [
                        {
                            "name": "database",
                            **_resources(1000, template[1]),
                            "usage": {
                                "cpu": {"mean": f"{int(rng.uniform(50, 400))}m", "noise": 0.3},
                                "memory": _memory(database_mib[index], 0.03),
                            },
                        }
                    ],
                },
                "work": {
                    "cpuSeconds": round(cores * rng.uniform(360.0, 720.0)),
                    "cores": round(cores, 2),
                    "variability": 0.2,
                    "every": "15m",
                    "first": f"{int(rng.uniform(0, 900))}s",
                },
            }
        )
    return {"duration": "4h", "step": "15s", **_cluster("16", "64Gi", 8, 1), "workloads": workloads}


def _services(rng: np.random.Generator) -> dict[str, Any]:
    """Return long-running pods as in Schubert 2023, E1: half of the memory used, CPU below 20 %.

    CPU requests are independent of usage; memory requests exceed usage by a little to a lot.
    """
    memory_mib = np.minimum(rng.lognormal(np.log(700.0), 1.1, _SERVICES), 12_000.0)
    cpu_m = np.minimum(rng.lognormal(np.log(90.0), 1.0, _SERVICES), 1500.0)
    replicas = rng.integers(1, 5, _SERVICES)
    requested_mib = memory_mib * np.maximum(rng.lognormal(np.log(1.9), 0.35, _SERVICES), 1.5)
    requested_m = np.minimum(rng.lognormal(np.log(500.0), 0.9, _SERVICES), 6000.0)
    # No request is below usage: that would have been noticed.
    requested_m = np.maximum(requested_m, 1.5 * cpu_m)
    workloads = [_daemon("network", 500, 1024, 120, 700), _daemon("storage", 300, 1024, 60, 600)]
    workloads += [
        {
            "name": f"service-{index}",
            "replicas": int(replicas[index]),
            "pod": {
                **_resources(requested_m[index], requested_mib[index]),
                "startup": {"mean": "30s", "jitter": "8s"},
                "usage": {
                    "cpu": _rhythm(cpu_m[index] / 1000.0, 1.6, 0.3, rng),
                    "memory": _rhythm(memory_mib[index] * MIB, 1.15, rng.uniform(0.02, 0.08), rng),
                },
            },
        }
        for index in range(_SERVICES)
    ]
    return {
        "duration": f"{_DAY_H}h",
        "step": "60s",
        "metrics": {"scrape": "60s", "window": "60s", "lag": "60s"},
        **_cluster("8", "48Gi", 16, 2),
        "workloads": workloads,
    }


def _cluster(cpu: str, memory: str, count: int, least: int) -> dict[str, Any]:
    pool = {
        "name": "node",
        "count": count,
        "min": least,
        "max": _MOST_NODES,
        "provision": "2m",
        "allocatable": {"cpu": cpu, "memory": memory, "pods": "110"},
    }
    return {
        "cluster": {"nodes": [pool]},
        "policies": {"provisioning": {"enabled": True}},
        "recording": {"workloads": "5m", "nodes": "5m", "decisions": 0},
    }


def _resources(cpu_m: float, memory_mib: float) -> dict[str, Any]:
    memory = f"{int(memory_mib)}Mi"
    return {
        "requests": {"cpu": f"{int(cpu_m)}m", "memory": memory},
        "limits": {"cpu": f"{2 * int(cpu_m)}m", "memory": memory},
    }


def _memory(mean_mib: float, noise: float) -> dict[str, Any]:
    return {"mean": int(mean_mib * MIB), "noise": noise}


def _rhythm(mean: float, swing: float, noise: float, rng: np.random.Generator) -> dict[str, Any]:
    """Return usage with a daily cycle whose peak is at a random hour."""
    return {
        "pattern": "diurnal",
        "mean": round(float(mean), 6),
        "peak": round(float(mean) * swing, 6),
        "period": f"{_DAY_H}h",
        "peakAt": f"{int(rng.uniform(0, 60 * _DAY_H))}m",
        "noise": round(float(noise), 4),
    }


def _daemon(name: str, cpu_m: int, memory_mib: int, used_m: int, used_mib: int) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "DaemonSet",
        "priority": 1000,
        # Not resized by any variant: its requests set the minimum size of a node.
        "sizing": {"recommender": "keep", "parameters": {}},
        "pod": {
            "requests": {"cpu": f"{cpu_m}m", "memory": f"{memory_mib}Mi"},
            "usage": {
                "cpu": {"mean": f"{used_m}m", "noise": 0.2},
                "memory": _memory(used_mib, 0.03),
            },
        },
    }
