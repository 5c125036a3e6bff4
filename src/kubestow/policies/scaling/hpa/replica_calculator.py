"""The proposal of one metric: ``replica_calculator.go`` (pkg/controller/podautoscaler), by version.

Every function takes the same integers and does the same float operations in the same order as
upstream.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kubestow.model import arrays
from kubestow.policies.scaling import observations
from kubestow.policies.scaling.hpa import go_arithmetic, pod_groups, versions
from kubestow.policies.scaling.hpa import specification as specs

_NO_PODS = "no pods returned by selector while calculating replica count"
_NO_SAMPLES = "did not receive metrics for targeted pods (pods might be unready)"


class Unavailable(Exception):  # noqa: N818 - an answer of the calculator, not a defect
    """A metric has no usable value; the text is upstream's."""


class Proposal(NamedTuple):
    """The proposal of a metric.

    Attributes:
        replicas: The number of replicas.
        usage: The value compared with the target: percent, or thousandths.
    """

    replicas: int
    usage: int


@dataclass(frozen=True, slots=True)
class Calculator:
    """Computes proposals with fixed settings.

    Attributes:
        low: Lowest ratio of usage to target without a change.
        high: Highest ratio without a change.
        distance: Before 1.33: largest distance of the ratio from 1; otherwise ``None``.
        initialisation_ns: Time after its start in which a pod's CPU samples need extra checks.
        delay_ns: A pod that became unready within this time after its start was never ready.
        features: The behaviour of the release.
        namespace: The autoscaler's namespace, for messages.
    """

    low: float
    high: float
    distance: float | None
    initialisation_ns: int
    delay_ns: int
    features: versions.HpaFeatures
    namespace: str

    def tolerates(self, ratio: float) -> bool:
        """Return whether a ratio is near enough to 1 for no change."""
        if self.distance is None:
            return self.low <= ratio <= self.high
        return abs(1.0 - ratio) <= self.distance

    def propose(
        self, metric: specs.MetricSpec, observation: observations.ScalingObservation, now_ns: int
    ) -> Proposal:
        """Return the proposal of a metric.

        Raises:
            Unavailable: If it cannot be computed, with upstream's message.
        """
        return _PROPOSERS[metric.source](self, metric, observation, now_ns)


def _samples(
    metric: specs.MetricSpec, observation: observations.ScalingObservation, prefix: str, api: str
) -> observations.PodSamples:
    reading = observation.metrics.get(metric.key)
    if isinstance(reading, observations.PodSamples):
        return reading
    raise Unavailable(f"{prefix}: {_failure(reading, api)}")


def _failure(reading: observations.Reading | None, api: str) -> str:
    if isinstance(reading, observations.FailedRead):
        return f"unable to fetch metrics from {api}: {reading.cause}"
    return f"no metrics returned from {api}"


def _resource(
    calculator: Calculator,
    metric: specs.MetricSpec,
    observation: observations.ScalingObservation,
    now_ns: int,
) -> Proposal:
    """Hold a resource at a share of its request, or at an amount per pod."""
    aim = "utilization" if metric.target == specs.UTILIZATION else "usage"
    try:
        samples = _samples(
            metric,
            observation,
            f"unable to get metrics for resource {metric.name}",
            "resource metrics API",
        )
        if samples.partial and not calculator.features.partial_containers:
            raise Unavailable(
                f"unable to get metrics for resource {metric.name}: failed to get container "
                f"metrics: container {metric.container} not present in metrics"
            )
        if metric.target == specs.UTILIZATION:
            return _utilization(calculator, metric, observation, samples, now_ns)
        return _average(calculator, metric, observation, samples, now_ns)
    except Unavailable as err:
        raise Unavailable(f"failed to get {metric.name} {aim}: {err}") from None


def _pods(
    calculator: Calculator,
    metric: specs.MetricSpec,
    observation: observations.ScalingObservation,
    now_ns: int,
) -> Proposal:
    """Hold a metric of the pods at an amount per pod."""
    samples = _samples(
        metric, observation, f"unable to get metric {metric.name}", "custom metrics API"
    )
    return _average(calculator, metric, observation, samples, now_ns)


def _group(
    calculator: Calculator,
    metric: specs.MetricSpec,
    observation: observations.ScalingObservation,
    samples: observations.PodSamples,
    requests: arrays.Ints,
    fallback_percent: int,
    now_ns: int,
) -> pod_groups.Groups:
    pods = observation.pods
    if not len(pods):
        raise Unavailable(_NO_PODS)
    return pod_groups.Groups._make(
        pod_groups.group(
            now_ns,
            metric.name == "cpu" and metric.source != specs.PODS,
            calculator.initialisation_ns,
            calculator.delay_ns,
            fallback_percent,
            pods.phases,
            pods.readies,
            pods.deleted,
            pods.started_s,
            pods.ready_since_s,
            samples.values_milli,
            samples.present,
            samples.sampled_s,
            samples.window_s,
            requests,
        )
    )


def _utilization(
    calculator: Calculator,
    metric: specs.MetricSpec,
    observation: observations.ScalingObservation,
    samples: observations.PodSamples,
    now_ns: int,
) -> Proposal:
    # A missing pod counts as using its whole request, or more if the target is higher.
    fallback = max(100, metric.amount)
    requests = _requests(metric, observation.pods)
    groups = _group(calculator, metric, observation, samples, requests, fallback, now_ns)
    if not groups.ready and not samples.unmatched_milli:
        raise Unavailable(_NO_SAMPLES)
    if groups.faulty:
        requests = _mend_requests(calculator, metric, observation.pods, requests)
        groups = _group(calculator, metric, observation, samples, requests, fallback, now_ns)
    ratio, percent = _share(groups.total_milli, groups.requests_milli, metric.amount)
    with_unready = groups.unready > 0 and ratio > 1.0
    if not with_unready and not groups.missing:
        if calculator.tolerates(ratio):
            return Proposal(observation.current_replicas, percent)
        return Proposal(go_arithmetic.ceiling(ratio * float(groups.ready)), percent)
    total, requested = groups.total_milli, groups.requests_milli
    count = groups.ready + len(samples.unmatched_milli)
    if groups.missing and ratio != 1.0:
        count += groups.missing
        requested += groups.missing_requests_milli
        if ratio < 1.0:
            total += groups.missing_fallback_milli
    if with_unready:
        count += groups.unready
        requested += groups.unready_requests_milli
    adjusted, _ = _share(total, requested, metric.amount)
    return Proposal(
        _settle(calculator, ratio, adjusted, count, observation.current_replicas), percent
    )


def _share(total: int, requested: int, target: int) -> tuple[float, int]:
    """Return usage as a share of the request, relative to the target, and in percent."""
    if requested == 0:
        raise Unavailable("no metrics returned matched known pods")
    percent = go_arithmetic.divide(go_arithmetic.wrap64(total * 100), requested)
    percent = go_arithmetic.wrap32(percent)
    return float(percent) / float(target), percent


def _requests(metric: specs.MetricSpec, pods: observations.PodTable) -> arrays.Ints:
    requests = pods.requests_milli.get((metric.name, metric.container))
    if requests is not None:
        return requests
    known = any(container == metric.container for _, container in pods.requests_milli)
    absent = bool(metric.container) and not known
    return np.full(len(pods), observations.NO_CONTAINER if absent else observations.NO_REQUEST)


def _mend_requests(
    calculator: Calculator,
    metric: specs.MetricSpec,
    pods: observations.PodTable,
    requests: arrays.Ints,
) -> arrays.Ints:
    """Refuse pods without a request; older releases let a container be absent."""
    if not calculator.features.container_required:
        requests = np.where(requests == observations.NO_CONTAINER, 0, requests)
        if not (requests < 0).any():
            return requests
    row = int((requests < 0).argmax())
    if requests[row] == observations.NO_CONTAINER:
        raise Unavailable(f"container {metric.container} not found in Pod {pods.name(row)}")
    container = f"container {metric.container}" if metric.container else "a container"
    raise Unavailable(f"missing request for {metric.name} in {container} of Pod {pods.name(row)}")


def _average(
    calculator: Calculator,
    metric: specs.MetricSpec,
    observation: observations.ScalingObservation,
    samples: observations.PodSamples,
    now_ns: int,
) -> Proposal:
    groups = _group(calculator, metric, observation, samples, samples.values_milli, 0, now_ns)
    unmatched = len(samples.unmatched_milli)
    count = groups.ready + unmatched
    if not count:
        raise Unavailable(_NO_SAMPLES)
    total = groups.total_milli
    if unmatched:
        total = go_arithmetic.wrap64(total + sum(samples.unmatched_milli))
    usage = go_arithmetic.divide(total, count)
    ratio = float(usage) / float(metric.amount)
    with_unready = groups.unready > 0 and ratio > 1.0
    if not with_unready and not groups.missing:
        if calculator.tolerates(ratio):
            return Proposal(observation.current_replicas, usage)
        return Proposal(go_arithmetic.ceiling(ratio * float(groups.ready)), usage)
    if groups.missing and ratio != 1.0:
        count += groups.missing
        if ratio < 1.0:
            total = go_arithmetic.wrap64(total + metric.amount * groups.missing)
    if with_unready:
        count += groups.unready
    adjusted = float(go_arithmetic.divide(total, count)) / float(metric.amount)
    return Proposal(
        _settle(calculator, ratio, adjusted, count, observation.current_replicas), usage
    )


def _settle(calculator: Calculator, ratio: float, adjusted: float, count: int, current: int) -> int:
    """Return the replicas with unready and missing pods counted; never reverse the direction."""
    reversed_ = (ratio < 1.0 < adjusted) or (adjusted < 1.0 < ratio)
    if calculator.tolerates(adjusted) or reversed_:
        return current
    replicas = go_arithmetic.ceiling(adjusted * float(count))
    if (adjusted < 1.0 and replicas > current) or (adjusted > 1.0 and replicas < current):
        return current
    return replicas


def _object(
    calculator: Calculator,
    metric: specs.MetricSpec,
    observation: observations.ScalingObservation,
    _now_ns: int,
) -> Proposal:
    """Hold a metric of one object at a value, or at an amount per replica."""
    if not metric.target:
        raise Unavailable(
            "invalid object metric source: neither a value target nor an average value target "
            "was set"
        )
    reading = observation.metrics.get(metric.key)
    if not isinstance(reading, observations.SingleValue):
        cause = _failure(reading, "custom metrics API")
        where = f"{metric.object_kind} {calculator.namespace}/{metric.object_name}"
        if calculator.features.object_last:
            raise Unavailable(f"unable to get metric {metric.name} on {where}: {cause}")
        # Arguments of the older message are out of order.
        raise Unavailable(
            f"unable to get metric {metric.name}: {metric.object_kind} on "
            f"{calculator.namespace} {metric.object_name}/{cause}"
        )
    usage = reading.parts_milli[0]
    if metric.target == specs.VALUE:
        return _value(calculator, metric, observation, usage)
    return _per_replica(calculator, metric, observation.status_replicas, usage, capped=False)


def _external(
    calculator: Calculator,
    metric: specs.MetricSpec,
    observation: observations.ScalingObservation,
    _now_ns: int,
) -> Proposal:
    """Hold an external metric at a value, or at an amount per replica."""
    reading = observation.metrics.get(metric.key)
    if not isinstance(reading, observations.SingleValue):
        cause = _failure(reading, "external metrics API")
        raise Unavailable(
            f"unable to get external metric {calculator.namespace}/{metric.name}/"
            f"{metric.selector}: {cause}"
        )
    parts = reading.parts_milli
    if metric.target == specs.VALUE:
        capped = calculator.features.capped_value
        usage = parts[0] if len(parts) == 1 else _sum(parts, capped=capped, after=False)
        return _value(calculator, metric, observation, usage)
    capped = calculator.features.capped_average
    usage = _sum(parts, capped=capped, after=True)
    return _per_replica(calculator, metric, observation.status_replicas, usage, capped=capped)


def _sum(parts: tuple[int, ...], *, capped: bool, after: bool) -> int:
    """Sum as int64; where capped, an overflow gives the largest number.

    ``after`` detects it as upstream does for amounts per pod: by a negative sum, whatever its
    cause.
    """
    usage = 0
    for part in parts:
        if capped and not after and part > 0 and usage > go_arithmetic.MAX_INT64 - part:
            return go_arithmetic.MAX_INT64
        usage = go_arithmetic.wrap64(usage + part)
        if capped and after and usage < 0:
            return go_arithmetic.MAX_INT64
    return usage


def _value(
    calculator: Calculator,
    metric: specs.MetricSpec,
    observation: observations.ScalingObservation,
    usage: int,
) -> Proposal:
    ratio = float(usage) / float(metric.amount)
    if observation.current_replicas == 0:
        return Proposal(go_arithmetic.ceiling(ratio), usage)
    if calculator.tolerates(ratio):
        return Proposal(observation.current_replicas, usage)
    if not len(observation.pods):
        raise Unavailable(f"unable to calculate ready pods: {_NO_PODS}")
    recommended = ratio * float(observation.pods.count_ready())
    if calculator.features.capped_value and recommended > go_arithmetic.MAX_INT32:
        return Proposal(go_arithmetic.MAX_INT32, usage)
    return Proposal(go_arithmetic.ceiling(recommended), usage)


def _per_replica(
    calculator: Calculator, metric: specs.MetricSpec, replicas: int, usage: int, *, capped: bool
) -> Proposal:
    target = float(metric.amount)
    ratio = go_arithmetic.ratio(float(usage), target * float(replicas))
    recommended = replicas
    # NaN, from zero usage of zero replicas, is within no bounds and at no distance.
    unchanged = calculator.tolerates(ratio) or (
        calculator.distance is not None and math.isnan(ratio)
    )
    if not unchanged:
        rounded = math.ceil(float(usage) / target)
        if capped and rounded > go_arithmetic.MAX_INT32:
            recommended = go_arithmetic.MAX_INT32
        else:
            recommended = go_arithmetic.ceiling(rounded)
    if capped and float(usage) >= float(go_arithmetic.MAX_INT64):
        return Proposal(recommended, go_arithmetic.MAX_INT64)
    average = go_arithmetic.ratio(float(usage), float(replicas))
    return Proposal(recommended, math.ceil(average) if math.isfinite(average) else 0)


_Proposer = Callable[[Calculator, specs.MetricSpec, observations.ScalingObservation, int], Proposal]
_PROPOSERS: dict[str, _Proposer] = {
    specs.RESOURCE: _resource,
    specs.CONTAINER_RESOURCE: _resource,
    specs.PODS: _pods,
    specs.OBJECT: _object,
    specs.EXTERNAL: _external,
}
