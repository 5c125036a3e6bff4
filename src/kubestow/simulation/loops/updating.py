"""Updates running pods to the requests of new pods.

Pods are resized in place where the API server accepts the change (same QoS class, no limit removed)
and the node has room; otherwise they are evicted, one pod of a workload at a time, within the
budget and only while all others are ready. Pods of jobs are never evicted: their work would be
lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kubestow.model import pods, requests
from kubestow.policies.sizing.vpa import UpdaterParameters
from kubestow.simulation import scenarios as spec
from kubestow.simulation.world import (
    LivePod,
    LiveWorkload,
    Resizer,
    World,
    counted_replicas,
    may_evict,
    stop_pod,
)

RECREATE, IN_PLACE = "recreate", "in-place-or-recreate"
_RULES = UpdaterParameters()  # minimum replicas and timeouts are those of the VPA updater


@dataclass(slots=True, eq=False)
class Updater:
    """Resizes or evicts running pods."""

    world: World
    _resizer: Resizer = field(init=False)
    _settled: dict[int, tuple[int, object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._resizer = Resizer(self.world)

    def forget(self, pod: LivePod) -> None:
        """Forget a removed pod."""
        self._resizer.forget(pod)

    def update(self, workload: LiveWorkload) -> None:
        """Update the pods of a workload that differ from new ones."""
        mode = workload.sizing.mode
        if mode not in (RECREATE, IN_PLACE):
            return
        version, sizes = self._settled.get(workload.number, (-1, None))
        if version == workload.version and sizes is workload.requests:
            return  # nothing has changed since all pods were up to date
        template = workload.pod_spec()
        differing = [
            pod
            for pod in workload.staying()
            if pod.node is not None and not _same(pod.pod.spec, template)
        ]
        left = [pod for pod in differing if not (mode == IN_PLACE and self._resize(pod))]
        if not left:
            self._settled[workload.number] = (workload.version, workload.requests)
            return
        self._evict(workload, left, mode)

    def _resize(self, pod: LivePod) -> bool:
        """Resize a pod in place; return whether that was done."""
        if not resizable(pod.pod.spec, pod.workload.pod_spec()):
            return False
        self._resizer.resize(pod)
        return pod.key not in self._resizer.deferred

    def _evict(self, workload: LiveWorkload, left: list[LivePod], mode: str) -> None:
        if workload.spec.kind in spec.RUNS or workload.replicas < _RULES.min_replicas:
            return
        if sum(pod.ready_s is not None for pod in workload.staying()) < workload.replicas:
            return
        for pod in left:
            if (mode == RECREATE or self._is_due(pod)) and may_evict(pod):
                self.world.ledger.count("sizing_evictions")
                stop_pod(self.world, pod, "resized-by-eviction")
                return

    def _is_due(self, pod: LivePod) -> bool:
        """Return whether a pod that cannot be resized in place must be evicted.

        A pod that would only shrink stays: excess requests are no reason for a restart.
        """
        requested = counted_replicas(pod.workload.pod_spec())
        if all(new <= old for new, old in zip(requested, pod.requests, strict=True)):
            return False
        since_s = self._resizer.deferred.get(pod.key)
        return since_s is None or self.world.now_s - since_s >= _RULES.deferred_timeout_s


def resizable(before: pods.PodSpec, after: pods.PodSpec) -> bool:
    """Return whether the API server accepts a resize: same class, no request or limit removed."""
    if requests.qos_class(before) != requests.qos_class(after):
        return False
    return all(
        set(old.limits) <= set(new.limits) and set(old.requests) <= set(new.requests)
        for old, new in zip(before.containers, after.containers, strict=True)
    )


def _same(one: pods.PodSpec, other: pods.PodSpec) -> bool:
    return all(
        a.requests == b.requests and a.limits == b.limits
        for a, b in zip(one.containers, other.containers, strict=True)
    )
