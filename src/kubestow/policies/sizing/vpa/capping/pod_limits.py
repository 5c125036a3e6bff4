"""Cap the sum over a pod's containers to a LimitRange of type Pod.

From ``applyPodLimitRange`` in ``pkg/utils/vpa/capping.go`` (VPA 1.7). Where upstream would write
into a bound that a container does not have, and so fail, this code skips the write.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Literal

from kubestow.model import resources
from kubestow.model.limit_ranges import LimitRangeItem
from kubestow.model.quantities import Quantity
from kubestow.model.resources import ContainerResources
from kubestow.policies.sizing.vpa.capping import limit_scaling
from kubestow.policies.sizing.vpa.recommendations import VpaRecommendation


@dataclass(frozen=True, slots=True)
class PodContainer:
    """A container of a pod.

    Attributes:
        name: Name of the container.
        resources: Requests and limits reported by the node, else those of the specification.
    """

    name: str
    resources: ContainerResources = field(default_factory=ContainerResources)


Part = Literal["upper", "target", "lower"]

_PARTS: Final[tuple[Part, ...]] = ("upper", "target", "lower")
_NONE: Final = Quantity(0)


def cap_to_pod(
    recommended: tuple[VpaRecommendation, ...],
    containers: tuple[PodContainer, ...],
    item: LimitRangeItem,
) -> tuple[VpaRecommendation, ...]:
    """Scale the recommendations of a pod so that their sum is within a LimitRange.

    Containers without a recommendation count with their current requests.
    """
    known = {sized.container for sized in recommended}
    missing = tuple(
        VpaRecommendation(container.name, container.resources.requests)
        for container in containers
        if container.name not in known and container.resources.requests
    )
    recommended = (*recommended, *missing)
    for part in _PARTS:
        for name in (resources.CPU, resources.MEMORY):
            changes = _changes(_Sums.of(recommended, containers, item, part, name), item)
            recommended = tuple(
                _changed(sized, part, name, changes.get(sized.container)) for sized in recommended
            )
    return recommended


def _changed(
    sized: VpaRecommendation, part: Part, name: str, amount: Quantity | None
) -> VpaRecommendation:
    amounts: resources.ResourceList = getattr(sized, part)
    if amount is None or (not amounts and part != "target"):
        return sized
    changed = {**amounts, name: amount}
    if part == "upper":
        return replace(sized, upper=changed)
    return replace(sized, target=changed) if part == "target" else replace(sized, lower=changed)


@dataclass(frozen=True, slots=True)
class _Sums:
    """One resource of one part of all recommendations, and the sums over the pod."""

    name: str
    amounts_by_container: dict[str, Quantity]
    limits: Quantity
    requests: Quantity

    @staticmethod
    def of(
        recommended: tuple[VpaRecommendation, ...],
        containers: tuple[PodContainer, ...],
        item: LimitRangeItem,
        part: Part,
        name: str,
    ) -> _Sums:
        by_name = {sized.container: sized for sized in recommended}
        default = (item.default or {}).get(name, _NONE)
        amounts_by_container: dict[str, Quantity] = {}
        limits = requests = _NONE
        for container in containers:
            request = container.resources.requests.get(name, _NONE)
            amount = request
            if container.name in by_name:
                amounts: resources.ResourceList = getattr(by_name[container.name], part)
                amount = amounts_by_container[container.name] = amounts.get(name, _NONE)
            limit = limit_scaling.proportional_limit(
                name, container.resources.limits.get(name, _NONE), request, amount, default
            )
            limits = limits + (limit or _NONE)
            requests = requests + amount
        return _Sums(name, amounts_by_container, limits, requests)


def _changes(sums: _Sums, item: LimitRangeItem) -> dict[str, Quantity]:
    """Return the new amount of every container; empty if the sums are within the range."""
    least = (item.minimum or {}).get(sums.name, _NONE)
    most = (item.maximum or {}).get(sums.name, _NONE)
    above = bool(most.nano) and sums.limits > most
    if not sums.limits.nano or (least <= sums.limits and least <= sums.requests and not above):
        return {}
    if least > sums.requests:
        return _scaled(sums, sums.requests, least, "up")
    return _scaled(sums, sums.limits, most if above else least, "down")


def _scaled(
    sums: _Sums, base: Quantity, result: Quantity, rounding: limit_scaling.Rounding
) -> dict[str, Quantity]:
    return {
        container: limit_scaling.scale(sums.name, amount, base, result, rounding)
        for container, amount in sums.amounts_by_container.items()
    }
