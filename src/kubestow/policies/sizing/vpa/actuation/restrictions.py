"""How many pods of a group may be unavailable at once (``pkg/updater/restriction``, VPA 1.7).

The configured replicas minus the tolerance, truncated, must stay alive; if the tolerance is 0, one
pod may be evicted when all are running. Pending pods may always be evicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from kubestow.policies.sizing.vpa.actuation.pods import UpdaterPod, resize_state
from kubestow.policies.sizing.vpa.actuation.policies import UpdatePolicy, UpdaterParameters
from kubestow.policies.sizing.vpa.actuation.priorities import Recommended, has_lower

Decision = Literal["Approved", "Deferred", "Evict", "Infeasible", "InfeasibleCached"]


@dataclass(frozen=True, slots=True)
class ReplicaGroup:
    """The pods of one controller.

    Attributes:
        configured: Configured replicas.
        running: Live pods that are not pending.
        tolerance: Pods that may be unavailable.
        evicted: Pods evicted in this round.
        resized: Pods resized in this round.
        below_minimum: Whether there are too few replicas to evict; only resized in place.
    """

    configured: int
    running: int
    tolerance: int
    evicted: int = 0
    resized: int = 0
    below_minimum: bool = False

    @property
    def disruptable(self) -> bool:
        """Whether one more pod may be disrupted."""
        alive = self.running - (self.evicted + self.resized)
        if alive > self.configured - self.tolerance:
            return True
        untouched = self.evicted == 0 and self.resized == 0
        return self.configured == self.running and self.tolerance == 0 and untouched


def group(
    pods: Iterable[UpdaterPod],
    configured: Mapping[str, int],
    policy: UpdatePolicy,
    parameters: UpdaterParameters,
) -> dict[str, ReplicaGroup]:
    """Return the groups whose pods may be updated, by controller.

    Args:
        pods: Live pods of one VPA object.
        configured: Replicas of every controller; an unknown controller is skipped. For a Job it is
            the number of its live pods.
        policy: The VPA object's update policy.
        parameters: Flags of the updater.
    """
    members: dict[str, list[UpdaterPod]] = {}
    for pod in pods:
        members.setdefault(pod.creator, []).append(pod)
    needed = parameters.min_replicas if policy.min_replicas is None else policy.min_replicas
    skips = parameters.skip_budget and policy.mode in ("InPlaceOrRecreate", "InPlace")
    groups = {}
    for creator, replicas in members.items():
        few = len(replicas) < needed
        if creator not in configured or (few and not skips):
            continue
        count = configured[creator]
        groups[creator] = ReplicaGroup(
            count,
            running=sum(not pod.pending for pod in replicas),
            tolerance=int(float(count) * parameters.tolerance),
            below_minimum=few,
        )
    return groups


def can_evict(
    pod: UpdaterPod,
    members: ReplicaGroup | None,
    parameters: UpdaterParameters,
    since_s: float,
    now_s: float,
) -> bool:
    """Return whether a pod may be evicted.

    Args:
        pod: The pod.
        members: Its group; ``None`` if the group must not be updated.
        parameters: Flags of the updater.
        since_s: When a resize of the pod was first observed.
        now_s: The current time.
    """
    if members is None:
        return False
    if pod.pending:
        return True
    if members.below_minimum:
        return False
    if pod.resizing:
        return resize_failed(pod, members, parameters, since_s, now_s)
    return members.disruptable


def resize_failed(
    pod: UpdaterPod,
    members: ReplicaGroup,
    parameters: UpdaterParameters,
    since_s: float,
    now_s: float,
) -> bool:
    """Return whether a pod whose resize is in progress may be evicted instead."""
    if not pod.resizing or not members.disruptable:
        return False
    waited_s = now_s - since_s
    pending = pod.condition("PodResizePending")
    if pending is not None:
        return pending.reason != "Deferred" or waited_s > parameters.deferred_timeout_s
    progress = pod.condition("PodResizeInProgress")
    if progress is None:
        return False
    smooth = not progress.reason and not progress.message
    return not smooth or waited_s > parameters.progress_timeout_s


@dataclass(frozen=True, slots=True)
class Resizing:
    """Inputs of the decision on a resize, besides the pod and its group.

    Attributes:
        policy: The VPA object's update policy.
        parameters: Flags of the updater.
        recommended: The recommendation in the status of the VPA object; ``None`` if there is none.
        infeasible: The recommendation that a node refused for this pod; ``None`` if there is none.
        since_s: When a resize of the pod was first observed.
        now_s: The current time.
    """

    policy: UpdatePolicy
    parameters: UpdaterParameters
    recommended: Recommended | None
    infeasible: Recommended | None
    since_s: float
    now_s: float


def can_resize(pod: UpdaterPod, members: ReplicaGroup | None, inputs: Resizing) -> Decision:
    """Decide on the in-place resize of a pod."""
    only_in_place = inputs.policy.mode == "InPlace"
    if only_in_place and not inputs.parameters.in_place:
        return "Deferred"
    if members is None or pod.pending or inputs.recommended is None:
        return "Deferred"
    refused = inputs.infeasible if only_in_place else None
    if refused is not None and not has_lower(refused, inputs.recommended):
        return "InfeasibleCached"
    state = resize_state(pod)
    if state == "None":
        free = inputs.parameters.skip_budget and not pod.restarts_on_resize
        return "Approved" if free or members.disruptable else "Deferred"
    if only_in_place:
        return "Infeasible" if state == "Infeasible" else "Deferred"
    failed = resize_failed(pod, members, inputs.parameters, inputs.since_s, inputs.now_s)
    return "Evict" if failed else "Deferred"
