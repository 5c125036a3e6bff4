"""One round of the updater for one VPA object: which pods to resize, which to evict.

The loop of ``pkg/updater/logic/updater.go`` (VPA 1.7) as a pure function. The host carries out the
plan, and handles rate limits and the lease of the admission controller.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from kubestow.model.limit_ranges import LimitRanges
from kubestow.policies.sizing import container_policies
from kubestow.policies.sizing.vpa import capping
from kubestow.policies.sizing.vpa.actuation import priorities, restrictions
from kubestow.policies.sizing.vpa.actuation.pods import UpdaterPod
from kubestow.policies.sizing.vpa.actuation.policies import UpdatePolicy, UpdaterParameters
from kubestow.policies.sizing.vpa.actuation.priorities import Recommended
from kubestow.policies.sizing.vpa.actuation.restrictions import Decision, ReplicaGroup

_IDLE = ("Off", "Initial")


@dataclass(frozen=True, slots=True)
class UpdaterMemory:
    """The updater's memory between rounds.

    Attributes:
        since_s: When a resize was first observed in progress, by pod.
        infeasible: Recommendation that a node refused, by pod (mode InPlace).
    """

    since_s: Mapping[str, float] = field(default_factory=dict)
    infeasible: Mapping[str, Recommended] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UpdateCase:
    """Inputs of one round for one VPA object.

    Attributes:
        pods: Its live pods.
        configured: Replicas by controller.
        recommended: The recommendation in its status; ``None`` if there is none yet.
        policies: The user's policies per container.
        policy: Its update policy.
        ranges: LimitRanges of the namespace.
        parameters: Flags of the updater.
        now_s: The current time.
        refusing: Pods whose resize the API server refuses.
    """

    pods: tuple[UpdaterPod, ...]
    configured: Mapping[str, int]
    recommended: Recommended | None
    policies: container_policies.Policies = ()
    policy: UpdatePolicy = field(default_factory=UpdatePolicy)
    ranges: LimitRanges = field(default_factory=LimitRanges)
    parameters: UpdaterParameters = field(default_factory=UpdaterParameters)
    now_s: float = 0.0
    refusing: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    """The plan of one round, in this order.

    Attributes:
        resize: Pods to resize in place.
        evict: Pods to evict.
        memory: The memory for the next round.
    """

    resize: tuple[str, ...]
    evict: tuple[str, ...]
    memory: UpdaterMemory


def plan_updates(case: UpdateCase, memory: UpdaterMemory | None = None) -> UpdatePlan:
    """Decide on all pods of a VPA object."""
    planning = _Planning(case, memory or UpdaterMemory())
    mode = case.policy.mode
    if mode in _IDLE or (mode == "InPlace" and not case.parameters.in_place):
        return planning.result()
    if mode in ("InPlaceOrRecreate", "InPlace"):
        for pod in planning.ordered([p for p in case.pods if planning.may_resize(p)]):
            planning.try_resize(pod)
    else:
        planning.to_evict.extend(planning.ordered([p for p in case.pods if planning.may_evict(p)]))
    for pod in planning.to_evict:
        planning.try_evict(pod)
    return planning.result()


class _Planning:
    """The state of a round: groups change as pods are chosen."""

    def __init__(self, case: UpdateCase, memory: UpdaterMemory) -> None:
        self.case = case
        self.groups: dict[str, ReplicaGroup] = restrictions.group(
            case.pods, case.configured, case.policy, case.parameters
        )
        live = {pod.name for pod in case.pods}
        self.since_s = dict(memory.since_s)
        self.infeasible = {n: r for n, r in memory.infeasible.items() if n in live}
        self.resized: list[str] = []
        self.evicted: list[str] = []
        self.to_evict: list[UpdaterPod] = []

    def ordered(self, pods: list[UpdaterPod]) -> list[UpdaterPod]:
        case = self.case
        rules = priorities.UpdateRules(case.policies, case.policy, case.parameters, case.now_s)
        ranked_pods = []
        for pod in pods:
            recommended, _ = capping.cap_for_pod(
                case.recommended or (), pod.containers, case.policies, case.ranges
            )
            if case.policy.mode == "InPlace" and not self._worth_retry(pod, recommended):
                continue
            priority = priorities.find_priority(pod, recommended, rules)
            if priority is not None and priorities.admitted(pod, recommended, case.policy):
                ranked_pods.append((pod, priority))
        return priorities.order(ranked_pods)

    def _worth_retry(self, pod: UpdaterPod, recommended: Recommended) -> bool:
        refused = self.infeasible.get(pod.name)
        return refused is None or priorities.has_lower(refused, recommended)

    def may_evict(self, pod: UpdaterPod) -> bool:
        return restrictions.can_evict(
            pod,
            self.groups.get(pod.creator),
            self.case.parameters,
            self._since(pod),
            self.case.now_s,
        )

    def decide(self, pod: UpdaterPod) -> Decision:
        case = self.case
        inputs = restrictions.Resizing(
            case.policy,
            case.parameters,
            case.recommended,
            self.infeasible.get(pod.name),
            self._since(pod),
            case.now_s,
        )
        return restrictions.can_resize(pod, self.groups.get(pod.creator), inputs)

    def may_resize(self, pod: UpdaterPod) -> bool:
        fitting: tuple[Decision, ...] = ("Approved", "Evict")
        if self.case.policy.mode == "InPlace":
            # A new patch may replace a pending one.
            fitting = ("Approved", "Infeasible", "Deferred")
        return self.decide(pod) in fitting

    def try_resize(self, pod: UpdaterPod) -> None:
        in_place = self.case.policy.mode == "InPlace"
        decision = self.decide(pod)
        if decision == "Evict":
            self.to_evict.append(pod)
            return
        if decision == "InfeasibleCached" or (decision == "Deferred" and not in_place):
            return
        if decision == "Infeasible":
            self.infeasible[pod.name] = self.case.recommended or ()
        if pod.creator not in self.groups or pod.name in self.case.refusing:
            if not in_place:
                self.to_evict.append(pod)
            return
        self.resized.append(pod.name)
        members = self.groups[pod.creator]
        self.groups[pod.creator] = replace(members, resized=members.resized + 1)

    def try_evict(self, pod: UpdaterPod) -> None:
        if not self.may_evict(pod):
            return
        self.evicted.append(pod.name)
        if not pod.pending:
            members = self.groups[pod.creator]
            self.groups[pod.creator] = replace(members, evicted=members.evicted + 1)

    def _since(self, pod: UpdaterPod) -> float:
        """Return when a resize of a pod was first observed; now if it is new."""
        if pod.resizing and pod.creator in self.groups and self.case.policy.mode != "InPlace":
            return self.since_s.setdefault(pod.name, self.case.now_s)
        return self.since_s.get(pod.name, self.case.now_s)

    def result(self) -> UpdatePlan:
        memory = UpdaterMemory(self.since_s, self.infeasible)
        return UpdatePlan(tuple(self.resized), tuple(self.evicted), memory)
