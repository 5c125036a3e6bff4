"""Effective requests of pods.

As in ``k8s.io/component-helpers/resource`` (v0.37): the sum of the containers and sidecars, or the
largest request while an init container runs (with the sidecars started before it), whichever is
larger; then pod-level values replace those sums, and the overhead of the runtime class is added.
For a pod that a node has resized in place, the largest of specification, allocation and actuated
value counts; if the node reported the resize as infeasible, the specification does not count.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kubestow.model import pods, quantities, resources

# What kube-scheduler assumes for a container without requests, when it scores nodes
# (pkg/scheduler/util/pod_resources.go): 0.1 core and 200 MiB.
DEFAULT_CPU_M = 100
DEFAULT_MEMORY_BYTES = 200 * 1024 * 1024
ASSUMED: resources.ResourceList = {
    resources.CPU: quantities.millis(DEFAULT_CPU_M),
    resources.MEMORY: quantities.units(DEFAULT_MEMORY_BYTES),
}

_SPECS_KEPT = 4096  # specifications whose requests are cached: replicas share them

_Chosen = Callable[[pods.Container], resources.ResourceList]


@dataclass(frozen=True, slots=True)
class RequestRules:
    """The parts of a pod that count as requests.

    Attributes:
        use_status: Whether in-place resize is on: values reported by the node count too.
        pod_level: Whether pod-level resources are on.
        assumed: Values for containers without requests; an explicit zero stays zero.
    """

    use_status: bool = False
    pod_level: bool = True
    assumed: resources.ResourceList | None = None


SPECIFIED = RequestRules()  # the specification, including pod-level values


def pod_requests(pod: pods.Pod, rules: RequestRules = SPECIFIED) -> dict[str, quantities.Quantity]:
    """Return the total requests of a pod."""
    total = _container_requests(pod, rules)
    if rules.pod_level and sets_pod_level_requests(pod.spec):
        total |= {
            name: quantity
            for name, quantity in _pod_level_requests(pod, rules).items()
            if resources.is_pod_level(name)
        }
    return resources.add([total, pod.spec.overhead]) if pod.spec.overhead else total


def sets_pod_level_requests(spec: pods.PodSpec) -> bool:
    """Return whether a specification sets requests for the pod as a whole."""
    return any(resources.is_pod_level(name) for name in spec.pod_requests or {})


def _pod_level_requests(pod: pods.Pod, rules: RequestRules) -> resources.ResourceList:
    specified = pod.spec.pod_requests or {}
    status = pod.status
    if not rules.use_status or status.actuated is None:
        return specified
    reported = [status.actuated, status.allocated or {}]
    return resources.maximum(reported if status.resize_infeasible else [specified, *reported])


def _container_requests(pod: pods.Pod, rules: RequestRules) -> dict[str, quantities.Quantity]:
    spec = pod.spec
    specified = aggregate(spec, lambda container: container.requests, rules.assumed)
    if not rules.use_status:
        return specified
    status = pod.status
    if status.allocated is not None and status.actuated is not None:
        reported = [status.actuated, status.allocated]
    elif status.containers or status.resize_infeasible:
        reported = _reported_by_container(pod, rules)
    else:
        return specified
    return resources.maximum(reported if status.resize_infeasible else [specified, *reported])


def _reported_by_container(pod: pods.Pod, rules: RequestRules) -> list[resources.ResourceList]:
    by_name = {status.name: status for status in reversed(pod.status.containers)}
    infeasible = pod.status.resize_infeasible

    def allocated(container: pods.Container) -> resources.ResourceList:
        status = by_name.get(container.name)
        if status is not None and status.allocated is not None:
            return status.allocated
        return {} if infeasible else container.requests

    def actuated(container: pods.Container) -> resources.ResourceList:
        status = by_name.get(container.name)
        if status is not None and status.actuated is not None:
            return status.actuated
        return allocated(container)

    return [
        aggregate(pod.spec, actuated, rules.assumed),
        aggregate(pod.spec, allocated, rules.assumed),
    ]


def aggregate(
    spec: pods.PodSpec, chosen: _Chosen, assumed: resources.ResourceList | None = None
) -> dict[str, quantities.Quantity]:
    """Combine values of containers into the value of the pod.

    Args:
        spec: The pod's specification.
        chosen: Returns the list of a container that counts (requests, limits, ...).
        assumed: Values for containers that set none.
    """

    def of(container: pods.Container) -> resources.ResourceList:
        stated = chosen(container)
        return {**assumed, **stated} if assumed else stated

    running = [of(container) for container in spec.containers]
    if len(running) == 1 and not spec.init_containers:  # most pods
        return dict(running[0])
    sidecars: list[resources.ResourceList] = []
    peaks: list[resources.ResourceList] = []
    for container in spec.init_containers:
        if container.sidecar:
            sidecars.append(of(container))
            peaks.append(resources.add(sidecars))
        else:
            peaks.append(resources.add([of(container), *sidecars]))
    return resources.maximum([resources.add([*running, *sidecars]), *peaks])


def pod_limits(pod: pods.Pod) -> dict[str, quantities.Quantity]:
    """Return a pod's limits; the overhead is added where a limit is set and not zero."""
    limits = aggregate(pod.spec, lambda container: container.limits)
    limits |= {
        name: quantity
        for name, quantity in (pod.spec.pod_limits or {}).items()
        if resources.is_pod_level(name)
    }
    for name, quantity in pod.spec.overhead.items():
        if name in limits and limits[name].nano:
            limits[name] = limits[name] + quantity
    return limits


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Resources that a bound pod occupies, in the scheduler's integers."""

    amounts: dict[str, int]
    nonzero_cpu_m: int
    nonzero_memory_bytes: int


def occupancy(pod: pods.Pod, *, use_status: bool, pod_level: bool) -> Occupancy:
    """Return the resources a pod occupies on its node (``PodInfo.CalculateResource``, 1.37).

    Args:
        pod: The pod.
        use_status: Whether in-place resize is on (from 1.33).
        pod_level: Whether pod-level resources are on (from 1.34).
    """
    if _has_no_report(pod.status):
        return _specified_occupancy(pod.spec, use_status, pod_level)
    return _work_out(pod, use_status, pod_level)


def specified_amounts(spec: pods.PodSpec) -> Mapping[str, int]:
    """Return the requests of a specification in the scheduler's integers; do not modify."""
    return _specified_occupancy(spec, SPECIFIED.use_status, SPECIFIED.pod_level).amounts


@functools.lru_cache(maxsize=_SPECS_KEPT)
def _specified_occupancy(spec: pods.PodSpec, use_status: bool, pod_level: bool) -> Occupancy:
    """Return the occupancy of pods of a specification without reported status."""
    return _work_out(pods.Pod("", spec), use_status, pod_level)


def _has_no_report(status: pods.PodStatus) -> bool:
    return (
        not status.containers
        and not status.resize_infeasible
        and status.allocated is None
        and status.actuated is None
    )


def _work_out(pod: pods.Pod, use_status: bool, pod_level: bool) -> Occupancy:
    plain = pod_requests(pod, RequestRules(use_status=use_status, pod_level=pod_level))
    assumed = ASSUMED
    if pod_level and sets_pod_level_requests(pod.spec):
        assumed = {name: value for name, value in ASSUMED.items() if name not in plain}
    nonzero = pod_requests(pod, RequestRules(use_status, pod_level, assumed)) if assumed else plain
    return make_occupancy(plain, nonzero)


def make_occupancy(plain: resources.ResourceList, nonzero: resources.ResourceList) -> Occupancy:
    """Return an occupancy from requests without and with the scheduler's assumptions."""
    zero = quantities.Quantity(0)
    return Occupancy(
        amounts=resources.amounts(plain),
        nonzero_cpu_m=nonzero.get(resources.CPU, zero).milli(),
        nonzero_memory_bytes=nonzero.get(resources.MEMORY, zero).value(),
    )


def is_plain(pod: pods.Pod) -> bool:
    """Return whether only container requests count: no pod-level values, no reported status."""
    return _has_no_report(pod.status) and not sets_pod_level_requests(pod.spec)


_COUNTED = (resources.CPU, resources.MEMORY)


class QosClass(enum.StrEnum):
    """Quality-of-service class; decides the order of evictions."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


def qos_class(spec: pods.PodSpec) -> QosClass:
    """Return the quality-of-service class of a pod.

    Guaranteed needs limits for CPU and memory on every container, equal to the requests;
    BestEffort has neither requests nor limits; all else is Burstable. Zero counts as not set.
    Pod-level values, where set, decide alone.
    """
    if spec.pod_requests or spec.pod_limits:
        stated = [(spec.pod_requests or {}, spec.pod_limits or {})]
    else:
        stated = [(c.requests, c.limits) for c in (*spec.containers, *spec.init_containers)]
    requests = resources.add(_nonzero(r) for r, _ in stated)
    limits = resources.add(_nonzero(limit) for _, limit in stated)
    if not requests and not limits:
        return QosClass.BEST_EFFORT
    limited_everywhere = all(set(_COUNTED) <= set(_nonzero(limit)) for _, limit in stated)
    if limited_everywhere and requests == limits:
        return QosClass.GUARANTEED
    return QosClass.BURSTABLE


def _nonzero(amounts: resources.ResourceList) -> dict[str, quantities.Quantity]:
    return {name: amounts[name] for name in _COUNTED if name in amounts and amounts[name].nano > 0}
