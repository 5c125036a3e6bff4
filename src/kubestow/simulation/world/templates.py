"""Pods of a workload: their shared specification, labels and owners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubestow.model import nodes, pods, quantities, resources, selectors, workloads
from kubestow.simulation import scenarios as spec

MAIN = "main"
APP_LABEL = "app"
# Default toleration of every pod: five minutes on an unreachable node.
_STAY_S = 300
Requests = Mapping[str, resources.ResourceList]  # by container

_OWNERS = {
    spec.DEPLOYMENT: ("apps/v1", "ReplicaSet"),
    spec.STATEFUL_SET: ("apps/v1", "StatefulSet"),
    spec.DAEMON_SET: ("apps/v1", "DaemonSet"),
    spec.JOB: ("batch/v1", "Job"),
    spec.PIPELINE: ("batch/v1", "Job"),
}


@dataclass(frozen=True, slots=True)
class ContainerPlan:
    """A container of the scenario: its requests, limits and usage."""

    name: str
    requests: resources.ResourceList
    limits: resources.ResourceList
    usage: spec.ScenarioUsage | None


def containers_of(workload: spec.ScenarioWorkload) -> tuple[ContainerPlan, ...]:
    """Return the main container and the further ones."""
    pod = workload.pod
    main = ContainerPlan(MAIN, pod.requests, pod.limits, pod.usage)
    return (
        main,
        *(ContainerPlan(c.name, c.requests, c.limits, c.usage) for c in pod.containers),
    )


def labels_of(workload: spec.ScenarioWorkload, name: str) -> dict[str, str]:
    """Return the labels of a workload's pods."""
    return {APP_LABEL: name, **workload.pod.labels}


def owner_of(workload: spec.ScenarioWorkload, name: str) -> pods.OwnerReference:
    """Return the controller that owns a workload's pods."""
    api_version, kind = _OWNERS[workload.kind]
    return pods.OwnerReference(api_version, kind, name)


def controller_of(workload: spec.ScenarioWorkload, name: str) -> workloads.Workload:
    """Return the controller as the scheduler looks it up for its default spreading."""
    owner = owner_of(workload, name)
    return workloads.Workload(
        owner.api_version,
        owner.kind,
        name,
        workload.namespace,
        workload.replicas,
        selectors.from_labels({APP_LABEL: name}),
    )


def service_of(workload: spec.ScenarioWorkload, name: str) -> workloads.Service | None:
    """Return the service in front of a workload; those without requests have none."""
    if workload.service is None:
        return None
    return workloads.Service(name, workload.namespace, {APP_LABEL: name})


def make_spec(
    workload: spec.ScenarioWorkload,
    name: str,
    requests: Requests | None = None,
    limits: Requests | None = None,
) -> pods.PodSpec:
    """Return the specification of a workload's pods.

    Args:
        workload: The workload.
        name: Its name.
        requests: Requests by container that replace those of the scenario.
        limits: Limits by container that replace those of the scenario.
    """
    pod = workload.pod
    itself = selectors.from_labels({APP_LABEL: name})
    apart = pod.apart
    terms = () if apart is None else (pods.PodAffinityTerm(apart.key, itself),)
    hard = apart is not None and apart.hard
    return pods.PodSpec(
        containers=tuple(
            pods.Container(
                plan.name,
                requests=_with_limits(
                    (requests or {}).get(plan.name, plan.requests),
                    (limits or {}).get(plan.name, plan.limits),
                ),
                limits=(limits or {}).get(plan.name, plan.limits),
            )
            for plan in containers_of(workload)
        ),
        node_selector=pod.node_selector,
        required_apart=terms if hard else (),
        preferred_apart=()
        if hard
        else tuple(pods.WeightedPodAffinityTerm(100, term) for term in terms),
        tolerations=tuple(
            nodes.Toleration(
                t.key, "Exists" if t.value is None else "Equal", t.value or "", t.effect or ""
            )
            for t in pod.tolerations
        ),
        spread=tuple(
            pods.SpreadConstraint(s.max_skew, s.key, s.hard, selector=itself) for s in pod.spread
        ),
        priority=workload.priority,
    )


def _with_limits(
    requests: resources.ResourceList, limits: resources.ResourceList
) -> dict[str, quantities.Quantity]:
    """Return requests with the defaults of the API server: a limit implies a request."""
    return {**limits, **requests}


def stay_s(workload: spec.ScenarioWorkload, key: str) -> float | None:
    """Return how long a pod stays on a node with a NoExecute taint; ``None`` for ever."""
    if workload.kind == spec.DAEMON_SET:
        return None
    for toleration in workload.pod.tolerations:
        if toleration.key in ("", key) and toleration.effect in (None, nodes.NO_EXECUTE):
            return toleration.seconds
    return float(_STAY_S)
