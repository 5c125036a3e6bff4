"""How much work there is, in pods: what a scaler forecasts instead of mean utilisation.

Utilisation is demand divided by capacity, so it falls with every pod that is added, and it ends at
the limit just when demand is highest (McNaughton 2016, 8.2, points 7 and 8; Shi 2023, 8.1, points 7
and 8). The sum of use over ready pods, as a share of one pod's request, does not depend on their
number. Where requests per second are measured, too, they stand in for use while pods are saturated.
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
# Weight of the newest cost of a request: about the last ten looks count.
_LEARNING = 0.1


@dataclass(frozen=True, slots=True)
class Demand:
    """The work at one moment.

    Attributes:
        load: In pods that use all of their request, or have exactly the target value.
        target: Share of its request a pod should use; 1 where the target is a value per pod.
        settled: All pods were ready for as long as they were measured.
    """

    load: float
    target: float
    settled: bool = True


@dataclass(frozen=True, slots=True)
class RequestCost:
    """What one request per second costs, as learnt while pods were not saturated.

    Attributes:
        load: In pods; ``None`` before anything was learnt.
    """

    load: float | None = None

    def learn(self, rate: float | None, demand: Demand, ready: int) -> RequestCost:
        """Take in the cost of requests at one moment."""
        if rate is None or rate <= 0.0 or ready <= 0 or not demand.settled:
            return self
        if not 0.0 < demand.load / ready <= _SATURATED:
            return self
        newest = demand.load / rate
        if self.load is None:
            return RequestCost(newest)
        return RequestCost(self.load + _LEARNING * (newest - self.load))


def read(seen: observations.ScalingObservation, metric: specs.MetricSpec) -> Demand | str:
    """Return the demand a metric tells of, or why it tells none."""
    reading = seen.metrics.get(metric.key)
    if reading is None or isinstance(reading, observations.FailedRead):
        cause = "was not read" if reading is None else reading.cause
        return f"{metric.key}: {cause}"
    if isinstance(reading, observations.SingleValue):
        return _of_value(sum(reading.parts_milli), metric, seen)
    return _of_pods(reading, metric, seen.pods)


def rate(seen: observations.ScalingObservation) -> float | None:
    """Return the requests per second that arrive, where they are measured."""
    reading = seen.metrics.get(RATE)
    if isinstance(reading, observations.SingleValue):
        return sum(reading.parts_milli) / 1000.0
    if isinstance(reading, observations.PodSamples) and reading.present.any():
        # As with use: a ready pod without a sample counts as the others do.
        lacking = int(np.count_nonzero(_ready(seen.pods) & ~reading.present))
        share = 1.0 + lacking / int(np.count_nonzero(reading.present))
        return float(reading.values_milli[reading.present].sum()) / 1000.0 * share
    return None


def lifted(demand: Demand, rate: float | None, cost: RequestCost) -> Demand:
    """Return the demand with what requests tell beyond the use of saturated pods."""
    if rate is None or cost.load is None:
        return demand
    return replace(demand, load=max(demand.load, rate * cost.load))


def _of_value(
    total_milli: int, metric: specs.MetricSpec, seen: observations.ScalingObservation
) -> Demand | str:
    if metric.amount <= 0:
        return f"{metric.key}: has no target"
    ratio = total_milli / metric.amount
    if metric.target == specs.VALUE:  # a value that falls as replicas grow, e.g. a queue's length
        return Demand(ratio * max(seen.pods.count_ready(), 1), 1.0)
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
    # What a pod used before it was ready is start-up work; to take it for demand would order more
    # pods, whose start would order more (kubernetes#29989). Those that were ready before have done
    # all of the work, and since then their part of it.
    fresh, part = _newcomers(reading, ready, counted, pods.ready_since_s)
    if not fresh[counted].all():
        counted &= ~fresh
        ready &= ~fresh
    else:
        part = 1.0
    # A pod without a sample uses what the others do.
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
    """Return who became ready while samples were taken, and what part of the work others did then.

    Work is spread evenly, so with n pods at first their part is n / (n + those ready by then).
    """
    end_s, window_s = float(np.max(reading.sampled_s[counted])), np.max(reading.window_s[counted])
    begin_s = end_s - float(window_s)
    fresh = ready & (since_s > begin_s)  # of an unknown time neither is true: nobody is new
    if not fresh.any() or not begin_s < end_s:
        return fresh, 1.0
    edges = np.concatenate([[begin_s], np.sort(np.minimum(since_s[fresh], end_s)), [end_s]])
    before = np.count_nonzero(ready & ~fresh)
    parts = before / np.maximum(before + np.arange(len(edges) - 1), 1)
    return fresh, float(np.sum(np.diff(edges) * parts) / (end_s - begin_s))
