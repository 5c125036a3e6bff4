"""Resizing running pods in place: done if the node has room, else put off as the kubelet would.

Both loops that size requests use this; what a pod should be resized to is what new pods of its
workload get.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kubestow.model import pods, resources, workloads
from kubestow.simulation import scenarios as spec
from kubestow.simulation.world import lifecycle
from kubestow.simulation.world.actors import LivePod
from kubestow.simulation.world.world import World


@dataclass(slots=True, eq=False)
class Resizer:
    """Resizes pods.

    Attributes:
        world: Where they live.
        deferred: Since when a resize is put off, by pod.
    """

    world: World
    deferred: dict[str, float] = field(default_factory=dict)

    def resize(self, pod: LivePod) -> None:
        """Resize a pod if its node has room, else put it off."""
        if self.has_room(pod):
            self.deferred.pop(pod.key, None)
            lifecycle.resize(self.world, pod, wanted(pod))
        else:
            self.deferred.setdefault(pod.key, self.world.now_s)

    def has_room(self, pod: LivePod) -> bool:
        """Return whether the node has room for a resize, and usage is below the new limit."""
        if pod.node is None:
            return False
        state = self.world.state
        row = state.rows[pod.node.name]
        requested = lifecycle.counted_replicas(pod.workload.pod_spec())
        for position, name in enumerate((resources.CPU, resources.MEMORY)):
            column = state.columns[name]
            free = state.allocatable[row, column] - state.requested[row, column]
            if requested[position] - pod.requests[position] > free:
                return False
        rows = self.world.containers.rows
        for container_row, container in zip(
            pod.container_rows, pod.workload.pod_spec().containers, strict=True
        ):
            limit = container.limits.get(resources.MEMORY)
            if limit is not None and rows["memory"][container_row] > float(limit):
                return False
        return True

    def retry(self, pods: Iterable[LivePod]) -> None:
        """Resize those pods that were put off and fit by now."""
        for pod in pods:
            if pod.key in self.deferred and self.has_room(pod):
                self.resize(pod)

    def forget(self, pod: LivePod) -> None:
        """Put off nothing for a pod that is gone."""
        self.deferred.pop(pod.key, None)


def wanted(pod: LivePod) -> pods.PodSpec:
    """Return what a pod would be like if it were created now."""
    pod_spec = pod.workload.pod_spec()
    if pod.workload.spec.kind == spec.DAEMON_SET and pod.node is not None:
        return workloads.pinned(pod_spec, pod.node.name)
    return pod_spec
