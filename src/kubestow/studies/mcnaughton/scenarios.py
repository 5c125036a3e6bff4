"""The application of McNaughton 2016 as a scenario: one web service under a traffic pattern.

Pods of 0.1 core (request = limit, L592), 36 ms of CPU per request (8.4: 20 requests a second
at 60 % need about 12 pods), 1 to 30 replicas, one at the start; requests are simulated one by one.
"""

from __future__ import annotations

from typing import Any, Final

PATTERNS: Final = ("step-ladder", "jagged-edge", "increase-decrease", "flash-crowd")
DURATIONS_S: Final = {
    "step-ladder": 1500,
    "jagged-edge": 1740,
    "increase-decrease": 2400,
    "flash-crowd": 1440,
}
REQUEST_CORES: Final = 0.1
CPU_PER_REQUEST_S: Final = 0.036
# A client gives up after a minute, which counts as the response time.
TIMEOUT_S: Final = 60


def make(pattern: str, startup_s: float, *, sync_s: float = 15.0) -> dict[str, Any]:
    """Return the scenario of one pattern and start-up time."""
    jitter_s = startup_s * 5.0 / 135.0
    return {
        "apiVersion": "kubestow.io/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": f"{pattern}-{startup_s:g}s"},
        "spec": {
            "seed": 1,
            "duration": f"{DURATIONS_S[pattern]}s",
            "step": "5s",
            "cluster": {
                "nodes": [
                    {
                        "name": "n",
                        "count": 4,
                        "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"},
                    }
                ]
            },
            "workloads": [
                {
                    "name": "server",
                    "replicas": 1,
                    "pod": {
                        "requests": {"cpu": "100m", "memory": "64Mi"},
                        "limits": {"cpu": "100m", "memory": "128Mi"},
                        "startup": {"mean": f"{startup_s:g}s", "jitter": f"{jitter_s:.3f}s"},
                    },
                    "demand": {"pattern": pattern},
                    "service": {
                        "model": "requests",
                        "cpuPerRequest": "36ms",
                        "baseMemory": "20Mi",
                        "sloMillis": 1000,
                        "timeout": f"{TIMEOUT_S}s",
                    },
                }
            ],
            "metrics": {"scrape": "15s", "window": "60s", "lag": "15s"},
            "recording": {"workloads": "60s", "nodes": "1h"},
            "policies": {
                "scaling": {
                    "scaler": "hpa",
                    "target": {"cpu": 0.6},
                    "min": 1,
                    "max": 30,
                    "sync": f"{sync_s:g}s",
                }
            },
        },
    }
