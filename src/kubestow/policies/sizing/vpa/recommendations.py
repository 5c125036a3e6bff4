"""A recommendation in the status of a VPA object.

Capping, admission and the updater compare and pass on exact quantities, of any resources that a
VPA object or a pod names and in the notation it uses. ``sizing.recommendations.Recommendation``
counts millicores and bytes, so this part of upstream's API has its own type.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kubestow.model import resources


@dataclass(frozen=True, slots=True)
class VpaRecommendation:
    """Recommended requests of one container (``RecommendedContainerResources``).

    Attributes:
        container: Name of the container.
        target: The requests to set.
        lower: Requests below this are too small to keep.
        upper: Requests above this are too large to keep.
        uncapped: The target before the user's policies were applied.
    """

    container: str
    target: resources.ResourceList
    lower: resources.ResourceList = field(default_factory=dict)
    upper: resources.ResourceList = field(default_factory=dict)
    uncapped: resources.ResourceList = field(default_factory=dict)
