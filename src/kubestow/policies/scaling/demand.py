"""Demand in pods, which scalers forecast instead of mean utilisation.

Utilisation is demand divided by capacity, so it falls with every pod that is added, and it stops at
the limit just when demand is highest (McNaughton 2016, 8.2, points 7 and 8; Shi 2023, 8.1, points 7
and 8). The sum of usage over ready pods, as a share of one pod's request, does not depend on their
number. Where requests per second are measured, too, they replace usage while pods are saturated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kubestow.model import arrays
from kubestow.policies.scaling import hpa as specs
from kubestow.policies.scaling import observations

RATE = "rps"
# Pods busier than this share of their request say little about the cost of a request.
_SATURATED = 0.9
# Weight of the newest cost of a request: about the last ten syncs count.
_LEARNING = 0.1


@dataclass(frozen=True, slots=True)
class Demand:
    """Demand at one moment.

    Attributes:
        load: Demand in pods that use their whole request, or have exactly the target value.
        target: Share of its request a pod should use; 1 where the target is a value per pod.
        settled: Whether all pods were ready during the whole window of their samples.
    """

    load: float
    target: float
    settled: bool = True


@dataclass(frozen=True, slots=True)
class RequestCost:
    """The cost of one request per second, learnt while pods were not saturated.

    Attributes:
        load: Cost in pods; ``None`` before anything was learnt.
    """

    load: float | None = None

    def learn(self, rate: float | None, demand: Demand, ready: int) -> RequestCost:
        """Return the cost updated with one moment."""
        if rate is None or rate <= 0.0 or ready <= 0 or not demand.settled:
            return self
        if not 0.0 < demand.load / ready <= _SATURATED:
            return self
        newest = demand.load / rate
        if self.load is None:
            return RequestCost(newest)
        return RequestCost(self.load + _LEARNING * (newest - self.load))


def read(observation: observations.ScalingObservation, metric: specs.MetricSpec) -> Demand | str:
    """Return the demand by a metric, or why it is unknown."""
    reading = observation.metrics.get(metric.key)
    if reading is None or isinstance(reading, observations.FailedRead):
        cause = "was not read" if reading is None else reading.cause
        return f"{metric.key}: {cause}"
    if isinstance(reading, observations.SingleValue):
        return _of_value(sum(reading.parts_milli), metric, observation)
    return _of_pods(reading, metric, observation.pods)


def rate(observation: observations.ScalingObservation) -> float | None:
    """Return the arriving requests per second; ``None`` if not measured."""
    reading = observation.metrics.get(RATE)
    if isinstance(reading, observations.SingleValue):
        return sum(reading.parts_milli) / 1000.0
    if isinstance(reading, observations.PodSamples) and reading.present.any():
        # As with usage: a ready pod without a sample counts as the mean of the others.
        lacking = int(np.count_nonzero(_ready(observation.pods) & ~reading.present))
        share = 1.0 + lacking / int(np.count_nonzero(reading.present))
        return float(reading.values_milli[reading.present].sum()) / 1000.0 * share
    return None


def lifted(demand: Demand, rate: float | None, cost: RequestCost) -> Demand:
    """Raise the demand to what the request rate implies where pods are saturated."""
    if rate is None or cost.load is None:
        return demand
    return replace(demand, load=max(demand.load, rate * cost.load))


def _of_value(
    total_milli: int, metric: specs.MetricSpec, observation: observations.ScalingObservation
) -> Demand | str:
    if metric.amount <= 0:
        return f"{metric.key}: has no target"
    ratio = total_milli / metric.amount
    if metric.target == specs.VALUE:  # a value that falls as replicas grow, e.g. a queue's length
        return Demand(ratio * max(observation.pods.count_ready(), 1), 1.0)
    return Demand(ratio, 1.0)


def _ready(pods: observations.PodTable) -> arrays.Bools:
    running = (pods.phases == observations.RUNNING) & ~pods.deleted
    ready: arrays.Bools = running & (pods.readies == observations.READY)
    return ready


def _of_pods(
    reading: observations.PodSamples, metric: specs.MetricSpec, pods: observations.PodTable
) -> Demand | str:
    if metric.amount <= 0:
        return f"{metric.key}: has no target"
    ready = _ready(pods)
    counted = ready & reading.present
    if not counted.any():
        return f"{metric.key}: no sample of a ready pod"
    # Usage before a pod was ready is start-up work. Counted as demand it would order more pods,
    # whose start would order more (kubernetes#29989). Until then the pods that were ready before
    # did all of the work, and since then their part of it.
    fresh, part = _newcomers(reading, ready, counted, pods.ready_since_s)
    if not fresh[counted].all():
        counted &= ~fresh
        ready &= ~fresh
    else:
        part = 1.0
    # A pod without a sample counts as the mean of the others.
    share = ready.sum() / counted.sum() / part
    values = reading.values_milli[counted]
    if metric.target != specs.UTILIZATION:
        return Demand(float(values.sum() / metric.amount * share), 1.0, not fresh.any())
    requests = pods.requests_milli.get((metric.name, metric.container))
    if requests is None or (requests[counted] <= 0).any():
        return f"{metric.key}: a pod has no request"
    load = float(np.sum(values / requests[counted]) * share)
    return Demand(load, metric.amount / 100.0, not fresh.any())


def _newcomers(
    reading: observations.PodSamples,
    ready: arrays.Bools,
    counted: arrays.Bools,
    since_s: arrays.Floats,
) -> tuple[arrays.Bools, float]:
    """Return which pods became ready within the sample window, and the others' part of the work.

    Work is spread evenly, so with n pods at first their part is n / (n + those ready by then).
    """
    end_s, window_s = float(np.max(reading.sampled_s[counted])), np.max(reading.window_s[counted])
    begin_s = end_s - float(window_s)
    fresh = ready & (since_s > begin_s)  # NaN compares false: such a pod is not new
    if not fresh.any() or not begin_s < end_s:
        return fresh, 1.0
    edges = np.concatenate([[begin_s], np.sort(np.minimum(since_s[fresh], end_s)), [end_s]])
    before = np.count_nonzero(ready & ~fresh)
    parts = before / np.maximum(before + np.arange(len(edges) - 1), 1)
    return fresh, float(np.sum(np.diff(edges) * parts) / (end_s - begin_s))
