"""Combine metrics: the largest proposal wins, and failures only prevent scaling down.

Ports ``computeReplicasForMetrics`` (pkg/controller/podautoscaler/horizontal.go, 1.37).
"""

from __future__ import annotations

from typing import NamedTuple

from kubestow.policies.scaling import decisions, observations
from kubestow.policies.scaling.hpa import replica_calculator
from kubestow.policies.scaling.hpa import specification as specs

_FAILURES = {
    specs.RESOURCE: "FailedGetResourceMetric",
    specs.CONTAINER_RESOURCE: "FailedGetContainerResourceMetric",
    specs.PODS: "FailedGetPodsMetric",
    specs.OBJECT: "FailedGetObjectMetric",
    specs.EXTERNAL: "FailedGetExternalMetric",
}


class MetricsOutcome(NamedTuple):
    """The combined outcome of all metrics.

    Attributes:
        replicas: The proposal; ``None`` if there is none to follow.
        metric: Which metric it comes from, in upstream's words.
        active: The condition ``ScalingActive``.
        answers: The result of each metric, in order: a proposal, or why there is none.
        error: What went wrong; empty if nothing.
    """

    replicas: int | None
    metric: str
    active: decisions.Condition
    answers: tuple[replica_calculator.Proposal | str, ...]
    error: str


def describe(metric: specs.MetricSpec) -> str:
    """Return how upstream's conditions and events name a metric."""
    if metric.source in (specs.RESOURCE, specs.CONTAINER_RESOURCE):
        if metric.target == specs.AVERAGE_VALUE:
            return f"{metric.name} resource"
        inner = "container " if metric.source == specs.CONTAINER_RESOURCE else ""
        return f"{metric.name} {inner}resource utilization (percentage of request)"
    if metric.source == specs.PODS:
        return f"pods metric {metric.name}"
    if metric.source == specs.OBJECT and metric.target == specs.VALUE:
        return f"{metric.object_kind} metric {metric.name}"
    # Upstream uses this name for an object's average, too.
    return f"external metric {metric.name}({metric.selector})"


class MetricSet:
    """The metrics of one autoscaler, with their names and conditions prepared.

    Args:
        metrics: The metrics.
    """

    def __init__(self, metrics: tuple[specs.MetricSpec, ...]) -> None:
        self.metrics = metrics
        self.names = tuple(describe(metric) for metric in metrics)
        self._active = tuple(_active(name) for name in self.names)

    def ask(
        self,
        calculator: replica_calculator.Calculator,
        observation: observations.ScalingObservation,
        now_ns: int,
    ) -> MetricsOutcome:
        """Compute the proposal of every metric and take the largest."""
        replicas, chosen = 0, -1
        answers: list[replica_calculator.Proposal | str] = []
        failures: list[int] = []
        for index, metric in enumerate(self.metrics):
            try:
                proposal = calculator.propose(metric, observation, now_ns)
            except replica_calculator.Unavailable as err:
                answers.append(str(err))
                failures.append(index)
                continue
            answers.append(proposal)
            if replicas == 0 or proposal.replicas > replicas:
                replicas, chosen = proposal.replicas, index
        error = self._explain(failures, answers)
        count = len(self.metrics)
        if failures and (len(failures) >= count or replicas < observation.current_replicas):
            first = failures[0]
            condition = _failed(self.metrics[first], str(answers[first]))
            return MetricsOutcome(None, "", condition, tuple(answers), error)
        return MetricsOutcome(
            replicas, self.names[chosen], self._active[chosen], tuple(answers), error
        )

    def _explain(
        self, failures: list[int], answers: list[replica_calculator.Proposal | str]
    ) -> str:
        if not failures:
            return ""
        first = failures[0]
        cause = _chain(self.metrics[first], str(answers[first]))
        counted = f"{len(failures)} invalid out of {len(self.metrics)}"
        return f"invalid metrics ({counted}), first error is: {cause}"


def _active(name: str) -> decisions.Condition:
    return decisions.Condition(
        "ScalingActive",
        "True",
        "ValidMetricFound",
        f"the HPA was able to successfully calculate a replica count from {name}",
    )


def _failed(metric: specs.MetricSpec, cause: str) -> decisions.Condition:
    return decisions.Condition(
        "ScalingActive",
        "False",
        _FAILURES[metric.source],
        f"the HPA was unable to compute the replica count: {cause}",
    )


def _chain(metric: specs.MetricSpec, cause: str) -> str:
    """Return the error of one metric as upstream wraps it."""
    if metric.source == specs.RESOURCE:
        return f"failed to get {metric.name} resource metric value: {cause}"
    if metric.source == specs.CONTAINER_RESOURCE:
        return f"failed to get {metric.container} container metric value: {cause}"
    if metric.source == specs.PODS:
        return f"failed to get pods metric value: {cause}"
    if metric.source == specs.OBJECT:
        inner = (
            f"failed to get {metric.name} object metric: "
            if metric.target == specs.AVERAGE_VALUE
            else ""
        )
        return f"failed to get object metric value: {inner}{cause}"
    inner = (
        f"failed to get {metric.name} external metric"
        if metric.target == specs.AVERAGE_VALUE
        else f"failed to get external metric {metric.name}"
    )
    return f"failed to get {metric.name} external metric value: {inner}: {cause}"
