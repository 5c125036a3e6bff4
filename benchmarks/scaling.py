"""Number of workloads a scaler decides on in half of a 15 s cycle, on one core.

Every scaler has a day of observations, 20 pods with CPU samples, and a request rate. Half a cycle
leaves the other half to the rest of a controller. The ratio compares the cost of forecasting with
the arithmetic of the HorizontalPodAutoscaler.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from kubestow.policies.scaling import observations, registry
from kubestow.policies.scaling.hpa import specification as specs

SCALERS = ("derivative", "line-fit", "holt-winters", "queueing", "receding", "auto")
PODS, SYNC_S, DAY_S = 20, 15.0, 86400.0
DECISIONS = 400
SPEC = specs.AutoscalerSpec(
    max_replicas=100,
    min_replicas=1,
    metrics=(specs.MetricSpec(specs.RESOURCE, "cpu", specs.UTILIZATION, 60),),
)


def observe(number: int, rng: np.random.Generator) -> observations.ScalingObservation:
    """Return one observation of a noisy day."""
    now_s = number * SYNC_S
    use = 300.0 + 150.0 * np.sin(2 * np.pi * now_s / DAY_S) + rng.normal(0.0, 20.0, PODS)
    pods = observations.ready_pods(PODS, {("cpu", ""): 500})
    values = np.maximum(use, 1.0).astype(np.int64)
    return observations.ScalingObservation(
        time_s=now_s,
        current_replicas=PODS,
        status_replicas=PODS,
        metrics={
            "cpu": observations.samples(values, now_s - 15.0, 60.0),
            "rps": observations.SingleValue((int(values.sum()) * 80,)),
        },
        pods=pods,
    )


def seconds_per_decision(name: str, history: list[observations.ScalingObservation]) -> float:
    """Return the CPU time of one decision, after a day of decisions."""
    entry = registry.SCALERS.get(name)
    scaler = entry.make(SPEC, entry.parameters())
    memory: Any = scaler.start()
    for observation in history[:-DECISIONS]:
        memory = scaler.decide(observation, memory)[1]
    begun = time.process_time()
    for observation in history[-DECISIONS:]:
        memory = scaler.decide(observation, memory)[1]
    return (time.process_time() - begun) / DECISIONS


def measure() -> dict[str, float]:
    """Return workloads in half a cycle by scaler, and the cost of ``hpa`` / that of ``auto``."""
    rng = np.random.default_rng(5)
    history = [observe(number, rng) for number in range(round(DAY_S / SYNC_S) + DECISIONS)]
    costs = {name: seconds_per_decision(name, history) for name in ("hpa", *SCALERS)}
    figures = {f"workloads_in_half_a_cycle_{name}": SYNC_S / 2.0 / costs[name] for name in costs}
    return {**figures, "hpa_cost_over_auto": costs["hpa"] / costs["auto"]}


if __name__ == "__main__":
    for key, value in measure().items():
        print(f"{key}: {value:.4g}")
