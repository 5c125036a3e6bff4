"""LimitRanges: combine all items of a namespace into one.

From ``pkg/utils/limitrange/limit_range_calculator.go`` (VPA 1.7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from kubestow.model import resources
from kubestow.model.quantities import Quantity

_NAMES = (resources.CPU, resources.MEMORY)


@dataclass(frozen=True, slots=True)
class LimitRangeItem:
    """Bounds on the limits of containers or pods; ``None`` where nothing is set.

    Attributes:
        kind: Whether it applies to containers or pods.
        minimum: Smallest limits, and smallest requests.
        maximum: Largest limits.
        default: Limits of containers that set none.
    """

    kind: Literal["Container", "Pod"]
    minimum: resources.ResourceList | None = None
    maximum: resources.ResourceList | None = None
    default: resources.ResourceList | None = None


@dataclass(frozen=True, slots=True)
class LimitRanges:
    """The combined items for containers and for pods; ``None`` where none applies."""

    container: LimitRangeItem | None = None
    pod: LimitRangeItem | None = None


@dataclass(frozen=True, slots=True)
class PodBounds:
    """Bounds of a namespace; amounts in millicores and bytes.

    Attributes:
        ranges: All of its LimitRanges combined.
        ratios: Largest ratio of limit to request, by resource.
        quota: Unused part of its quotas, by ``requests.cpu`` and so on.
    """

    ranges: LimitRanges = field(default_factory=LimitRanges)
    ratios: Mapping[str, float] = field(default_factory=dict)
    quota: Mapping[str, int] = field(default_factory=dict)


def combine(items: Iterable[LimitRangeItem]) -> LimitRanges:
    """Combine all items of a namespace."""
    listed = tuple(items)
    return LimitRanges(_combined(listed, "Container"), _combined(listed, "Pod"))


def _combined(
    items: tuple[LimitRangeItem, ...], kind: Literal["Container", "Pod"]
) -> LimitRangeItem | None:
    minimum: resources.ResourceList | None = None
    maximum: resources.ResourceList | None = None
    default: resources.ResourceList | None = None
    for item in items:
        if item.kind != kind:
            continue
        default = item.default if item.default is not None else default
        maximum = _tightened(maximum, item.maximum, min)
        minimum = _tightened(minimum, item.minimum, max)
    if minimum is None and maximum is None and default is None:
        return None
    return LimitRangeItem(kind, minimum, maximum, default)


def _tightened(
    known: resources.ResourceList | None,
    added: resources.ResourceList | None,
    pick: Callable[[Quantity, Quantity], Quantity],
) -> resources.ResourceList | None:
    if known is None or added is None:
        return added if known is None else known
    result = dict(known)
    for name in _NAMES:
        if name in added:
            result[name] = pick(result[name], added[name]) if name in result else added[name]
    return result
