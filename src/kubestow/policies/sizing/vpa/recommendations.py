"""A recommendation as the status of a VPA object has it.

Capping, admission and the updater compare and pass on exact quantities, of whatever resources a
VPA object or a pod names and in the notation it uses. ``sizing.recommendations.Recommendation``
counts millicores and bytes, so this part of upstream's API keeps a type of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kubestow.model import resources


@dataclass(frozen=True, slots=True)
class VpaRecommendation:
    """What one container should request (``RecommendedContainerResources``).

    Attributes:
        container: Its name.
        target: The requests to set.
        lower: Requests below are too small to keep.
        upper: Requests above are too large to keep.
        uncapped: The target before the rules of the user were applied.
    """

    container: str
    target: resources.ResourceList
    lower: resources.ResourceList = field(default_factory=dict)
    upper: resources.ResourceList = field(default_factory=dict)
    uncapped: resources.ResourceList = field(default_factory=dict)
