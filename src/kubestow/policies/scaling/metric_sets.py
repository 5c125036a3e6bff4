"""Several metrics together: the largest proposal wins, failures only ever prevent scaling down.

``computeReplicasForMetrics`` (pkg/controller/podautoscaler/horizontal.go, 1.37).
"""

from __future__ import annotations

from typing import NamedTuple

from kubestow.policies.scaling import decisions, observations, proposals
from kubestow.policies.scaling import specifications as specs

_FAILURES = {
    specs.RESOURCE: "FailedGetResourceMetric",
    specs.CONTAINER_RESOURCE: "FailedGetContainerResourceMetric",
    specs.PODS: "FailedGetPodsMetric",
    specs.OBJECT: "FailedGetObjectMetric",
    specs.EXTERNAL: "FailedGetExternalMetric",
}


class Outcome(NamedTuple):
    """What the metrics say together.

    Attributes:
        replicas: The proposal; ``None`` if there is none to follow.
        metric: Which metric it comes from, in upstream's words.
        active: The condition ``ScalingActive``.
        answers: What each metric said, in order: a proposal, or why not.
        error: What went wrong; empty if nothing.
    """

    replicas: int | None
    metric: str
    active: decisions.Condition
    answers: tuple[proposals.Proposal | str, ...]
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
    # Upstream calls an object's average so, too.
    return f"external metric {metric.name}({metric.selector})"


def ask(
    metrics: tuple[specs.MetricSpec, ...],
    calculator: proposals.Calculator,
    seen: observations.ScalingObservation,
    now_ns: int,
) -> Outcome:
    """Ask every metric for its proposal and take the largest."""
    replicas, chosen = 0, None
    answers: list[proposals.Proposal | str] = []
    failed = -1  # the first metric that failed
    failures = 0
    for index, metric in enumerate(metrics):
        try:
            proposal = calculator.propose(metric, seen, now_ns)
        except proposals.Unavailable as err:
            answers.append(str(err))
            failed = index if failures == 0 else failed
            failures += 1
            continue
        answers.append(proposal)
        if replicas == 0 or proposal.replicas > replicas:
            replicas, chosen = proposal.replicas, metric
    error = ""
    if failures:
        cause = _chain(metrics[failed], str(answers[failed]))
        error = (
            f"invalid metrics ({failures} invalid out of {len(metrics)}), first error is: {cause}"
        )
        if failures >= len(metrics) or replicas < seen.current_replicas:
            condition = _failed(metrics[failed], str(answers[failed]))
            return Outcome(None, "", condition, tuple(answers), error)
    name = describe(chosen) if chosen is not None else ""
    active = decisions.Condition(
        "ScalingActive",
        "True",
        "ValidMetricFound",
        f"the HPA was able to successfully calculate a replica count from {name}",
    )
    return Outcome(replicas, name, active, tuple(answers), error)


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
