"""Builders for tests: nodes, pods, usage and scenarios that are valid and small.

They return what users write (manifests, frames, scenario documents), so that tests of policies and
plugins start from input, not from internals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

API_VERSION = "kubestow.io/v1alpha1"


def node(
    name: str = "n1",
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: str = "110",
    labels: dict[str, str] | None = None,
    taints: list[dict[str, str]] | None = None,
) -> dict[str, Any]:
    """Return a Node.

    >>> node("n1", cpu="8")["status"]["allocatable"]["cpu"]
    '8'
    """
    amounts = {"cpu": cpu, "memory": memory, "pods": pods}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **(labels or {})},
        },
        "spec": {"taints": taints or []},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def pod(
    name: str = "pod",
    *,
    cpu: str = "500m",
    memory: str = "512Mi",
    namespace: str = "default",
    on: str = "",
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a Pod with one container, pending unless it is bound to a node.

    Args:
        name: Its name.
        cpu: CPU request.
        memory: Memory request.
        namespace: Its namespace.
        on: Name of the node it runs on.
        labels: Its labels.
        spec: Further fields of the pod's specification, e.g. ``nodeSelector={"disk": "ssd"}``.

    >>> pod("web", on="n1")["spec"]["nodeName"]
    'n1'
    """
    container = {
        "name": "main",
        "image": "example/app:1",
        "resources": {"requests": {"cpu": cpu, "memory": memory}},
    }
    bound = {"nodeName": on} if on else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {"containers": [container], **bound, **spec},
        "status": {"phase": "Running" if on else "Pending"},
    }


def usage_frame(
    *, containers: int = 1, days: float = 8.0, step_s: float = 300.0, seed: int = 0
) -> pl.DataFrame:
    """Return usage with the columns of ``usage.csv``: a daily wave and noise, one pod each.

    Args:
        containers: How many containers, ``app-0/main`` and so on.
        days: Length of the history.
        step_s: Distance of two rows.
        seed: Seed of the noise.

    >>> usage_frame(days=1).columns[-2:]
    ['cpu_cores', 'memory_bytes']
    """
    rng = np.random.default_rng(seed)
    points = int(days * 86400 / step_s)
    times = 1_700_000_000 + step_s * np.arange(points)
    wave = 1.0 + 0.5 * np.sin(2 * np.pi * times / 86400.0)
    frames = []
    for number in range(containers):
        size = 0.1 * (number + 1)
        frames.append(
            pl.DataFrame(
                {
                    "timestamp": times,
                    "namespace": ["default"] * points,
                    "kind": ["Deployment"] * points,
                    "workload": [f"app-{number}"] * points,
                    "pod": [f"app-{number}-1"] * points,
                    "container": ["main"] * points,
                    "cpu_cores": size * wave * rng.uniform(0.8, 1.2, points),
                    "memory_bytes": 2.0**30 * size * rng.uniform(0.9, 1.1, points),
                }
            )
        )
    return pl.concat(frames)


def requests_frame(
    *, containers: int = 1, cpu: str = "1", memory: str = "1Gi", replicas: int = 1
) -> pl.DataFrame:
    """Return requests with the columns of ``requests.csv`` for the containers of ``usage_frame``.

    >>> requests_frame(cpu="2")["cpu_request"].to_list()
    ['2']
    """
    return pl.DataFrame(
        {
            "namespace": ["default"] * containers,
            "kind": ["Deployment"] * containers,
            "workload": [f"app-{number}" for number in range(containers)],
            "container": ["main"] * containers,
            "cpu_request": [cpu] * containers,
            "memory_request": [memory] * containers,
            "cpu_limit": [""] * containers,
            "memory_limit": [""] * containers,
            "replicas": [str(replicas)] * containers,
        }
    )


def workload(name: str = "web", *, replicas: int = 2, **more: Any) -> dict[str, Any]:
    """Return a workload of a scenario that serves 20 requests a second.

    Args:
        name: Its name.
        replicas: How many pods it starts with.
        more: Further fields, which replace those given here.

    >>> workload("api", replicas=3)["replicas"]
    3
    """
    return {
        "name": name,
        "replicas": replicas,
        "pod": {
            "requests": {"cpu": "500m", "memory": "512Mi"},
            "startup": {"mean": "20s", "jitter": "5s"},
        },
        "demand": {"pattern": "constant", "mean": 20},
        "service": {"cpuPerRequest": "20ms", "baseMemory": "180Mi", "sloMillis": 200},
        **more,
    }


def scenario(
    *workloads: dict[str, Any],
    nodes: int | list[dict[str, Any]] = 3,
    duration: str = "1h",
    policies: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a scenario document.

    Args:
        workloads: What runs; one ``workload()`` if left out.
        nodes: Number of nodes of 4 cores and 16 GiB, or the pools of ``cluster.nodes``.
        duration: How long to simulate.
        policies: The policies; an HPA at 60 % CPU if left out.
        spec: Further fields of the scenario's specification.

    >>> scenario(duration="10m")["spec"]["duration"]
    '10m'
    """
    if isinstance(nodes, int):
        allocatable = {"cpu": "4", "memory": "16Gi", "pods": "110"}
        nodes = [{"name": "n", "count": nodes, "allocatable": allocatable}]
    scaling = {"scaler": "hpa", "target": {"cpu": 0.6}, "min": 1, "max": 10}
    return {
        "apiVersion": API_VERSION,
        "kind": "Scenario",
        "metadata": {"name": "test"},
        "spec": {
            "seed": 1,
            "duration": duration,
            "step": "5s",
            "cluster": {"nodes": nodes},
            "workloads": list(workloads) or [workload()],
            "policies": {"scaling": scaling} if policies is None else policies,
            **spec,
        },
    }
