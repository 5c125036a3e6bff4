"""Looks at a target, spelt out or drawn, and every scaler with small settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from kubestow.policies.scaling import fitted_models, observations, registry
from kubestow.policies.scaling.hpa import specification as specs
from tests.policies.scaling import make

# Fitted after a few looks and often again; networks would take seconds each time.
QUICK = fitted_models.ModelParameters(
    least_points=6, most_points=16, refit_points=4, ahead_points=4, quantile=0.8
)
NEVER = fitted_models.ModelParameters(least_points=10**6)
TIGHT = specs.Behavior(
    up=specs.ScalingRules(30, specs.MAX, (specs.HpaScalingPolicy(specs.PODS_POLICY, 2, 60),)),
    down=specs.ScalingRules(60, specs.MIN, (specs.HpaScalingPolicy(specs.PERCENT_POLICY, 50, 60),)),
)
NO_UP = specs.Behavior(up=specs.ScalingRules(0, specs.DISABLED, specs.DEFAULT_UP.policies))
NO_DOWN = specs.Behavior(down=specs.ScalingRules(0, specs.DISABLED, specs.DEFAULT_DOWN.policies))
BEHAVIORS = {
    "none": None, "default": specs.Behavior(), "tight": TIGHT, "no up": NO_UP, "no down": NO_DOWN,
}  # fmt: skip


def settings(name: str, **more: Any) -> Any:
    """Return the parameters a scaler is tested with."""
    kind = registry.SCALERS.get(name).parameters
    if kind is not fitted_models.ModelParameters:
        return kind(**more)
    quick = QUICK if name in ("arima", "holt-winters") else NEVER
    return fitted_models.ModelParameters(
        **{field: getattr(quick, field) for field in quick.__dataclass_fields__} | more
    )


def scaler(
    name: str, *metrics: specs.MetricSpec, spec: dict[str, Any] | None = None, **more: Any
) -> registry.AnyScaler:
    """Return a scaler by name for the processor, or for some metrics."""
    given = make.spec(*(metrics or (make.CPU,)), **(spec or {}))
    return registry.SCALERS.get(name).make(given, settings(name, **more))


def observe(
    time_s: float,
    percents: Sequence[float | None],
    replicas: int | None = None,
    *,
    rps: float | None = None,
    startup_s: float | None = None,
    memory: Sequence[float] | None = None,
    window_s: float = 60.0,
    age_s: float = 0.0,
) -> observations.ScalingObservation:
    """Return an observation of ready pods of one core and one gigabyte.

    Args:
        time_s: When.
        percents: Use of the processor by pod; ``None`` is a missing sample.
        replicas: Current replicas; as many as pods if left out.
        rps: Requests per second of all pods.
        startup_s: How long every pod took to start.
        memory: Use of memory in percent, by pod.
        window_s: Over how long use was measured.
        age_s: How old the samples are.
    """
    count = len(percents)
    current = count if replicas is None else replicas
    pods = observations.ready_pods(count, {("cpu", ""): 1000, ("memory", ""): 10**12})
    if startup_s is not None:
        pods = with_startups(pods, [startup_s] * count)
    metrics: dict[str, observations.Reading] = {
        "cpu": samples(
            [None if p is None else p * 10.0 for p in percents], time_s - age_s, window_s
        )
    }
    if rps is not None:
        metrics["rps"] = observations.SingleValue((round(rps * 1000),))
    if memory is not None:
        metrics["memory"] = samples([p * 1e10 for p in memory], time_s - age_s, window_s)
    return observations.ScalingObservation(time_s, current, count, metrics, pods)


def spread(
    time_s: float, load: float, replicas: int, **more: Any
) -> observations.ScalingObservation:
    """Return an observation of pods that share a load in pods, at most their whole requests."""
    each = min(100.0 * load / replicas, 100.0) if replicas else 0.0
    return observe(time_s, [each] * replicas, **more)


def samples(
    values_milli: Sequence[float | None], sampled_s: float, window_s: float
) -> observations.PodSamples:
    """Return samples; ``None`` is one that is missing."""
    present = np.array([value is not None for value in values_milli], dtype=np.bool_)
    whole = np.array([round(value or 0) for value in values_milli], dtype=np.int64)
    return observations.samples(whole, sampled_s, window_s, present)


def with_startups(
    pods: observations.PodTable, startups_s: Sequence[float]
) -> observations.PodTable:
    """Return pods that took some time to start; NaN were never ready."""
    return observations.PodTable(
        phases=pods.phases,
        readies=pods.readies,
        deleted=pods.deleted,
        started_s=pods.started_s,
        ready_since_s=pods.ready_since_s,
        requests_milli=pods.requests_milli,
        startups_s=np.array(startups_s, dtype=np.float64),
    )


def _pick(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def draw_value(rng: np.random.Generator) -> float | None:
    """Draw a value in thousandths: ordinary, tiny, huge, or none."""
    ordinary = float(rng.integers(0, 2000))
    return cast("float | None", _pick(rng, *[ordinary] * 5, 0.0, 1.0, 1e6, 1e12, 9e15, None, None))


def draw_reading(
    rng: np.random.Generator, count: int, time_s: float
) -> observations.Reading | None:
    """Draw a metric of some pods: samples, a failed read, a single value, or nothing at all."""
    kind = _pick(rng, *["samples"] * 9, "failed", "single", "unread")
    if kind == "failed":
        return observations.FailedRead()
    if kind == "single":
        return observations.SingleValue((int(_pick(rng, -5, 0, 700, 10**9)),))
    if kind == "unread":
        return None
    result = samples([draw_value(rng) for _ in range(count)], time_s - _pick(rng, 0.0, 15.0), 60.0)
    if count and _pick(rng, *[False] * 9, True):
        result.sampled_s[0] = math.nan
    return result


def draw_pods(rng: np.random.Generator) -> observations.PodTable:
    """Draw pods in all states."""
    count = int(_pick(rng, 0, 1, 2, 3, 5))
    started = rng.choice([math.nan, -900.0, -900.0, 0.0, 30.0], count)
    request = int(_pick(rng, 1000, 1000, 1000, 1000, 1, observations.NO_REQUEST))
    startups_s = rng.choice([math.nan, 0.0, 12.5, 60.0, 60.0, 900.0], count)
    return observations.PodTable(
        phases=rng.choice([0, 1, 1, 1, 1, 1, 3], count).astype(np.int8),
        readies=rng.choice([1, 1, 1, 1, 0, -1], count).astype(np.int8),
        deleted=rng.random(count) < 0.1,
        started_s=started,
        ready_since_s=started,
        requests_milli={
            ("cpu", ""): np.full(count, request, dtype=np.int64),
            ("memory", ""): np.full(count, 10**9, dtype=np.int64),
        },
        startups_s=_pick(rng, None, startups_s, startups_s),
    )


def draw_looks(seed: int, count: int) -> list[observations.ScalingObservation]:
    """Draw successive observations, with whatever can go wrong.

    Reads fail, samples are missing, there are no pods, values are huge or tiny, time makes jumps,
    stands still or goes back, pods were never started.
    """
    rng = np.random.default_rng(seed)
    result, time_s = [], float(_pick(rng, 0.0, 7.5, 1e9))
    for _ in range(count):
        pods = draw_pods(rng)
        read = {name: draw_reading(rng, len(pods), time_s) for name in ("cpu", "rps", "memory")}
        known = {name: reading for name, reading in read.items() if reading is not None}
        current = int(_pick(rng, 0, 1, 2, 3, 3, 5, 5, 8, 20, 25))
        result.append(observations.ScalingObservation(time_s, current, len(pods), known, pods))
        time_s += float(_pick(rng, *[15.0] * 8, 14.2, 30.0, 0.0, -20.0, 0.01, 301.0, 5000.0))
    return result
