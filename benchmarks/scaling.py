"""How many workloads a scaler decides on in half of a 15 s cycle, on one core.

Every scaler has a day of looks behind it, 20 pods, CPU samples of each, and a request rate. The
count of half a cycle leaves the other half to everything else a controller does; the ratio says how
the cost of looking ahead compares with the HorizontalPodAutoscaler's own arithmetic.
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


def look(number: int, rng: np.random.Generator) -> observations.ScalingObservation:
    """Return what is seen at one look of a noisy day."""
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


def seconds_per_decision(name: str, looks: list[observations.ScalingObservation]) -> float:
    """Return the processor time of one decision, after a day of them."""
    entry = registry.SCALERS.get(name)
    scaler = entry.make(SPEC, entry.parameters())
    memory: Any = scaler.start()
    for seen in looks[:-DECISIONS]:
        memory = scaler.decide(seen, memory)[1]
    begun = time.process_time()
    for seen in looks[-DECISIONS:]:
        memory = scaler.decide(seen, memory)[1]
    return (time.process_time() - begun) / DECISIONS


def measure() -> dict[str, float]:
    """Return workloads in half a cycle by scaler, and the cost of the reactive one by ``auto``."""
    rng = np.random.default_rng(5)
    looks = [look(number, rng) for number in range(round(DAY_S / SYNC_S) + DECISIONS)]
    costs = {name: seconds_per_decision(name, looks) for name in ("hpa", *SCALERS)}
    found = {f"workloads_in_half_a_cycle_{name}": SYNC_S / 2.0 / costs[name] for name in costs}
    return {**found, "hpa_cost_over_auto": costs["hpa"] / costs["auto"]}


if __name__ == "__main__":
    for key, value in measure().items():
        print(f"{key}: {value:.4g}")
