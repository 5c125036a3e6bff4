"""Cap recommendations to container policies, LimitRanges and limits.

From ``pkg/utils/vpa/capping.go`` (VPA 1.7): the recommender applies ``apply_policies`` to every
recommendation; admission controller and updater apply ``cap_for_pod`` for one pod.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kubestow.model import quantities, resources
from kubestow.model.limit_ranges import LimitRangeItem, LimitRanges
from kubestow.model.quantities import Quantity
from kubestow.model.resources import ContainerResources
from kubestow.policies.sizing import container_policies
from kubestow.policies.sizing.container_policies import ContainerPolicy, Policies
from kubestow.policies.sizing.vpa.capping import limit_scaling, pod_limits
from kubestow.policies.sizing.vpa.capping.pod_limits import PodContainer
from kubestow.policies.sizing.vpa.recommendations import VpaRecommendation

Recommended = tuple[VpaRecommendation, ...]
Amounts = resources.ResourceList

_NONE = Quantity(0)


def apply_policies(
    recommended: Recommended, policies: Policies, most_allowed: Amounts
) -> Recommended:
    """Keep target and bounds within ``minAllowed`` and ``maxAllowed``; the latter wins.

    Args:
        recommended: The recommendations.
        policies: The user's policies per container.
        most_allowed: Upper bounds where a container's policy sets none.
    """
    return tuple(
        _bounded(sized, container_policies.find(policies, sized.container), most_allowed)
        for sized in recommended
    )


def _bounded(
    sized: VpaRecommendation, policy: ContainerPolicy, most_allowed: Amounts
) -> VpaRecommendation:
    least, most = policy.min_allowed, {**most_allowed, **policy.max_allowed}

    def cap(amounts: Amounts) -> Amounts:
        return {
            name: at_most(at_least(amount, name, least), name, most)
            for name, amount in amounts.items()
        }

    return replace(sized, target=cap(sized.target), lower=cap(sized.lower), upper=cap(sized.upper))


def cap_for_pod(
    recommended: Recommended,
    containers: tuple[PodContainer, ...],
    policies: Policies,
    ranges: LimitRanges,
) -> tuple[Recommended, dict[str, tuple[str, ...]]]:
    """Adapt recommendations to one pod.

    Args:
        recommended: The recommendations.
        containers: Containers of the pod.
        policies: The user's policies per container.
        ranges: LimitRanges of the namespace.

    Returns:
        The recommendations for the pod's containers, and notes on what was capped, by container.
    """
    if ranges.pod is not None:
        recommended = pod_limits.cap_to_pod(recommended, containers, ranges.pod)
    by_name = {container.name: container for container in containers}
    capped, notes = [], {}
    for sized in recommended:
        container = by_name.get(sized.container)
        if container is None:
            continue
        policy = container_policies.find(policies, sized.container)
        caps = _Caps(container.resources, policy, ranges.container)
        target, target_notes = caps.apply(sized.target)
        lower, upper = caps.apply(sized.lower)[0], caps.apply(sized.upper)[0]
        capped.append(replace(sized, target=target, lower=lower, upper=upper))
        if target_notes:
            notes[sized.container] = target_notes
    return tuple(capped), notes


def at_least(amount: Quantity, name: str, least: Amounts) -> Quantity:
    """Raise an amount to a lower bound; a bound of 0 is ignored."""
    bound = least.get(name, _NONE)
    return bound if bound.nano and amount < bound else amount


def at_most(amount: Quantity, name: str, most: Amounts) -> Quantity:
    """Reduce an amount to an upper bound; a bound of 0 is ignored."""
    bound = most.get(name, _NONE)
    return bound if bound.nano and amount > bound else amount


@dataclass(frozen=True, slots=True)
class _Caps:
    """All caps of one container, in upstream's order: LimitRange, policy, own limit."""

    current: ContainerResources
    policy: ContainerPolicy
    limit_range: LimitRangeItem | None

    def apply(self, amounts: Amounts) -> tuple[Amounts, tuple[str, ...]]:
        notes: list[str] = []
        result = dict(amounts)
        if self.limit_range is not None:
            most = _boundary(self.current, self.limit_range, self.limit_range.maximum)
            least = _least(self.current, self.limit_range)
            self._bound(result, least, most, _BY_RANGE, notes)
        self._bound(result, self.policy.min_allowed, self.policy.max_allowed, _BY_POLICY, notes)
        if self.policy.controlled_values == "RequestsOnly":
            for name, limit in self.current.limits.items():
                if name in result and result[name].milli() > limit.milli():
                    result[name] = limit
                    notes.append(f"{name} capped to container limit")
        return result, tuple(notes)

    @staticmethod
    def _bound(
        result: dict[str, Quantity],
        least: Amounts,
        most: Amounts,
        words: tuple[str, str],
        notes: list[str],
    ) -> None:
        for name, amount in result.items():
            raised = at_least(amount, name, least)
            lowered = at_most(raised, name, most)
            notes.extend(
                f"{name} {word}"
                for word, before, after in zip(
                    words, (amount, raised), (raised, lowered), strict=True
                )
                if before is not after
            )
            result[name] = lowered


_BY_RANGE = (
    "capped to fit Min in container LimitRange",
    "capped to fit Max in container LimitRange",
)
_BY_POLICY = ("capped to minAllowed", "capped to maxAllowed")


def _boundary(
    current: ContainerResources, item: LimitRangeItem, bound: Amounts | None
) -> dict[str, Quantity]:
    """Return the requests at which proportional limits meet a bound of a LimitRange."""
    if bound is None:
        return {}
    default = item.default or {}
    return {
        name: limit_scaling.boundary_request(
            name,
            current.requests.get(name, _NONE),
            current.limits.get(name, _NONE),
            bound.get(name, _NONE),
            default.get(name, _NONE),
        )
        for name in (resources.CPU, resources.MEMORY)
    }


def _least(current: ContainerResources, item: LimitRangeItem) -> dict[str, Quantity]:
    """Return the smallest requests: both limit and request must reach the minimum."""
    least = _boundary(current, item, item.minimum)
    for name in (resources.CPU, resources.MEMORY):
        floor = (item.minimum or {}).get(name, _NONE)
        if floor > least.get(name, _NONE):
            least[name] = floor
    return least


def from_amounts(cpu_m: int | None, memory_bytes: int | None) -> dict[str, Quantity]:
    """Return a resource list of millicores and bytes, without those that are ``None``."""
    result = {}
    if cpu_m is not None:
        result[resources.CPU] = quantities.millis(cpu_m)
    if memory_bytes is not None:
        result[resources.MEMORY] = quantities.units(memory_bytes, quantities.Format.BINARY_SI)
    return result
