"""The shape of a recommender: history and context in, recommendation out.

One that keeps a memory also is a ``StreamingRecommender``: it takes its memory as an argument and
returns the new one, never changing the old, so that a host can keep it wherever it likes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from kubestow.model import resources
from kubestow.policies.sizing import container_policies, histories, recommendations


@dataclass(frozen=True, slots=True)
class ContainerResources:
    """What a container requests and is limited to."""

    requests: resources.ResourceList = field(default_factory=dict)
    limits: resources.ResourceList = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SizingContext:
    """What is known beside the usage.

    Attributes:
        workload: Name of the workload, as ``namespace/kind/name``.
        time_s: Now, seconds since the Unix epoch.
        current: Requests and limits of the containers as they are, by name.
        policies: What the user allows per container.
    """

    workload: str
    time_s: float
    current: Mapping[str, ContainerResources] = field(default_factory=dict)
    policies: container_policies.Policies = ()


class Recommender(Protocol):
    """Recommends requests from past usage."""

    @property
    def name(self) -> str:
        """The name users write."""

    def recommend(
        self, history: histories.UsageHistory, context: SizingContext
    ) -> recommendations.Recommendation:
        """Recommend requests for the containers of a workload.

        Args:
            history: Usage up to now.
            context: What else is known.
        """


class RecommenderMemory(Protocol):
    """What a recommender remembers about one workload."""

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""


MemoryT = TypeVar("MemoryT", bound=RecommenderMemory)


class StreamingRecommender(Recommender, Protocol[MemoryT]):
    """A recommender that takes up usage as it comes."""

    def begin(self, context: SizingContext) -> MemoryT:
        """Return the memory of a workload nothing is known about."""

    def observe(
        self, memory: MemoryT, news: histories.UsageNews, context: SizingContext
    ) -> MemoryT:
        """Return the memory after some news; the old one stays as it is."""

    def recommend_from(
        self, memory: MemoryT, context: SizingContext
    ) -> recommendations.Recommendation:
        """Recommend requests from what is remembered."""
