"""What one metric asks for: ``replica_calculator.go`` (pkg/controller/podautoscaler), by version.

Every function takes the same whole numbers and does the same float operations in the same order
as upstream.
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
    """The metric gives no number; the text is upstream's."""


class Proposal(NamedTuple):
    """What a metric asks for.

    Attributes:
        replicas: The number of replicas.
        usage: What the metric was compared with its target: percent, or thousandths.
    """

    replicas: int
    usage: int


@dataclass(frozen=True, slots=True)
class Calculator:
    """The settings the calculation depends on.

    Attributes:
        low: The ratio of usage and target may be as low without a change.
        high: It may be as high.
        distance: Before 1.33: how far it may be from 1; otherwise ``None``.
        initialisation_ns: For so long after its start a pod's CPU samples are looked at twice.
        delay_ns: A pod not ready for so long after its start never was.
        features: The release.
        namespace: The autoscaler's, for messages.
    """

    low: float
    high: float
    distance: float | None
    initialisation_ns: int
    delay_ns: int
    features: versions.HpaFeatures
    namespace: str

    def tolerates(self, ratio: float) -> bool:
        """Tell whether a ratio is near enough to 1 for no change."""
        if self.distance is None:
            return self.low <= ratio <= self.high
        return abs(1.0 - ratio) <= self.distance

    def propose(
        self, metric: specs.MetricSpec, seen: observations.ScalingObservation, now_ns: int
    ) -> Proposal:
        """Return what a metric asks for.

        Raises:
            Unavailable: If it cannot be told, with upstream's words.
        """
        return _PROPOSERS[metric.source](self, metric, seen, now_ns)


def _samples(
    metric: specs.MetricSpec, seen: observations.ScalingObservation, prefix: str, api: str
) -> observations.PodSamples:
    reading = seen.metrics.get(metric.key)
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
    seen: observations.ScalingObservation,
    now_ns: int,
) -> Proposal:
    """Hold a resource at a share of its request, or at an amount per pod."""
    aim = "utilization" if metric.target == specs.UTILIZATION else "usage"
    try:
        found = _samples(
            metric,
            seen,
            f"unable to get metrics for resource {metric.name}",
            "resource metrics API",
        )
        if found.partial and not calculator.features.partial_containers:
            raise Unavailable(
                f"unable to get metrics for resource {metric.name}: failed to get container "
                f"metrics: container {metric.container} not present in metrics"
            )
        if metric.target == specs.UTILIZATION:
            return _utilization(calculator, metric, seen, found, now_ns)
        return _average(calculator, metric, seen, found, now_ns)
    except Unavailable as err:
        raise Unavailable(f"failed to get {metric.name} {aim}: {err}") from None


def _pods(
    calculator: Calculator,
    metric: specs.MetricSpec,
    seen: observations.ScalingObservation,
    now_ns: int,
) -> Proposal:
    """Hold a metric of the pods at an amount per pod."""
    found = _samples(metric, seen, f"unable to get metric {metric.name}", "custom metrics API")
    return _average(calculator, metric, seen, found, now_ns)


def _group(
    calculator: Calculator,
    metric: specs.MetricSpec,
    seen: observations.ScalingObservation,
    found: observations.PodSamples,
    requests: arrays.Ints,
    fallback_percent: int,
    now_ns: int,
) -> pod_groups.Groups:
    pods = seen.pods
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
            found.values_milli,
            found.present,
            found.sampled_s,
            found.window_s,
            requests,
        )
    )


def _utilization(
    calculator: Calculator,
    metric: specs.MetricSpec,
    seen: observations.ScalingObservation,
    found: observations.PodSamples,
    now_ns: int,
) -> Proposal:
    # A missing pod counts as using all it asked for, or more if the target is higher.
    fallback = max(100, metric.amount)
    requests = _requests(metric, seen.pods)
    groups = _group(calculator, metric, seen, found, requests, fallback, now_ns)
    if not groups.ready and not found.strangers_milli:
        raise Unavailable(_NO_SAMPLES)
    if groups.faulty:
        requests = _mend_requests(calculator, metric, seen.pods, requests)
        groups = _group(calculator, metric, seen, found, requests, fallback, now_ns)
    ratio, percent = _share(groups.total_milli, groups.requests_milli, metric.amount)
    with_unready = groups.unready > 0 and ratio > 1.0
    if not with_unready and not groups.missing:
        if calculator.tolerates(ratio):
            return Proposal(seen.current_replicas, percent)
        return Proposal(go_arithmetic.ceiling(ratio * float(groups.ready)), percent)
    total, requested = groups.total_milli, groups.requests_milli
    count = groups.ready + len(found.strangers_milli)
    if groups.missing and ratio != 1.0:
        count += groups.missing
        requested += groups.missing_requests_milli
        if ratio < 1.0:
            total += groups.missing_fallback_milli
    if with_unready:
        count += groups.unready
        requested += groups.unready_requests_milli
    adjusted, _ = _share(total, requested, metric.amount)
    return Proposal(_settle(calculator, ratio, adjusted, count, seen.current_replicas), percent)


def _share(total: int, requested: int, target: int) -> tuple[float, int]:
    """Return usage as a share of the request, relative to the target, and in percent."""
    if requested == 0:
        raise Unavailable("no metrics returned matched known pods")
    percent = go_arithmetic.divide(go_arithmetic.wrap64(total * 100), requested)
    percent = go_arithmetic.wrap32(percent)
    return float(percent) / float(target), percent


def _requests(metric: specs.MetricSpec, pods: observations.PodTable) -> arrays.Ints:
    found = pods.requests_milli.get((metric.name, metric.container))
    if found is not None:
        return found
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
    seen: observations.ScalingObservation,
    found: observations.PodSamples,
    now_ns: int,
) -> Proposal:
    groups = _group(calculator, metric, seen, found, found.values_milli, 0, now_ns)
    strangers = len(found.strangers_milli)
    count = groups.ready + strangers
    if not count:
        raise Unavailable(_NO_SAMPLES)
    total = groups.total_milli
    if strangers:
        total = go_arithmetic.wrap64(total + sum(found.strangers_milli))
    usage = go_arithmetic.divide(total, count)
    ratio = float(usage) / float(metric.amount)
    with_unready = groups.unready > 0 and ratio > 1.0
    if not with_unready and not groups.missing:
        if calculator.tolerates(ratio):
            return Proposal(seen.current_replicas, usage)
        return Proposal(go_arithmetic.ceiling(ratio * float(groups.ready)), usage)
    if groups.missing and ratio != 1.0:
        count += groups.missing
        if ratio < 1.0:
            total = go_arithmetic.wrap64(total + metric.amount * groups.missing)
    if with_unready:
        count += groups.unready
    adjusted = float(go_arithmetic.divide(total, count)) / float(metric.amount)
    return Proposal(_settle(calculator, ratio, adjusted, count, seen.current_replicas), usage)


def _settle(calculator: Calculator, ratio: float, adjusted: float, count: int, current: int) -> int:
    """Return the replicas after unready and missing pods were counted, never beyond reversal."""
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
    seen: observations.ScalingObservation,
    _now_ns: int,
) -> Proposal:
    """Hold a metric of one object at a value, or at an amount per replica."""
    if not metric.target:
        raise Unavailable(
            "invalid object metric source: neither a value target nor an average value target "
            "was set"
        )
    reading = seen.metrics.get(metric.key)
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
        return _value(calculator, metric, seen, usage)
    return _per_replica(calculator, metric, seen.status_replicas, usage, capped=False)


def _external(
    calculator: Calculator,
    metric: specs.MetricSpec,
    seen: observations.ScalingObservation,
    _now_ns: int,
) -> Proposal:
    """Hold a metric from outside at a value, or at an amount per replica."""
    reading = seen.metrics.get(metric.key)
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
        return _value(calculator, metric, seen, usage)
    capped = calculator.features.capped_average
    usage = _sum(parts, capped=capped, after=True)
    return _per_replica(calculator, metric, seen.status_replicas, usage, capped=capped)


def _sum(parts: tuple[int, ...], *, capped: bool, after: bool) -> int:
    """Sum up as int64; where capped, an overflow ends at the largest number.

    ``after`` detects it as upstream does for amounts per pod: by a negative sum, from whatever
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
    seen: observations.ScalingObservation,
    usage: int,
) -> Proposal:
    ratio = float(usage) / float(metric.amount)
    if seen.current_replicas == 0:
        return Proposal(go_arithmetic.ceiling(ratio), usage)
    if calculator.tolerates(ratio):
        return Proposal(seen.current_replicas, usage)
    if not len(seen.pods):
        raise Unavailable(f"unable to calculate ready pods: {_NO_PODS}")
    wanted = ratio * float(seen.pods.count_ready())
    if calculator.features.capped_value and wanted > go_arithmetic.MAX_INT32:
        return Proposal(go_arithmetic.MAX_INT32, usage)
    return Proposal(go_arithmetic.ceiling(wanted), usage)


def _per_replica(
    calculator: Calculator, metric: specs.MetricSpec, replicas: int, usage: int, *, capped: bool
) -> Proposal:
    target = float(metric.amount)
    ratio = go_arithmetic.ratio(float(usage), target * float(replicas))
    wanted = replicas
    # NaN, from nothing used by no replica, is within no bounds and at no distance.
    unchanged = calculator.tolerates(ratio) or (
        calculator.distance is not None and math.isnan(ratio)
    )
    if not unchanged:
        result = math.ceil(float(usage) / target)
        if capped and result > go_arithmetic.MAX_INT32:
            wanted = go_arithmetic.MAX_INT32
        else:
            wanted = go_arithmetic.ceiling(result)
    if capped and float(usage) >= float(go_arithmetic.MAX_INT64):
        return Proposal(wanted, go_arithmetic.MAX_INT64)
    average = go_arithmetic.ratio(float(usage), float(replicas))
    return Proposal(wanted, math.ceil(average) if math.isfinite(average) else 0)


_Proposer = Callable[[Calculator, specs.MetricSpec, observations.ScalingObservation, int], Proposal]
_PROPOSERS: dict[str, _Proposer] = {
    specs.RESOURCE: _resource,
    specs.CONTAINER_RESOURCE: _resource,
    specs.PODS: _pods,
    specs.OBJECT: _object,
    specs.EXTERNAL: _external,
}
