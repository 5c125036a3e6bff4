"""Small observations and specifications for tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kubestow.policies.scaling import observations
from kubestow.policies.scaling.hpa import specification as specs

CPU = specs.MetricSpec(specs.RESOURCE, "cpu", specs.UTILIZATION, 60)
RPS = specs.MetricSpec(specs.EXTERNAL, "rps", specs.AVERAGE_VALUE, 10_000)


def spec(*metrics: specs.MetricSpec, **more: Any) -> specs.AutoscalerSpec:
    return specs.AutoscalerSpec(**{"max_replicas": 20, "metrics": metrics or (RPS,), **more})


def external(
    time_s: float, replicas: int, value: float | None, name: str = "rps"
) -> observations.ScalingObservation:
    """Return an observation of one external value; ``None`` is a failed read."""
    reading: observations.Reading = observations.FailedRead()
    if value is not None:
        reading = observations.SingleValue((math.ceil(value * 1000),))
    pods = observations.ready_pods(replicas)
    return observations.ScalingObservation(time_s, replicas, replicas, {name: reading}, pods)


def busy(time_s: float, percents: list[float]) -> observations.ScalingObservation:
    """Return an observation of pods that request one core and use a given percentage of it."""
    count = len(percents)
    values = np.array([round(percent * 10) for percent in percents], dtype=np.int64)
    samples = observations.samples(values, time_s, 30.0)
    pods = observations.ready_pods(count, {("cpu", ""): 1000})
    return observations.ScalingObservation(time_s, count, count, {"cpu": samples}, pods)
