"""Recommendations: what a recommender answers, with the record that explains it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubestow.model import decisions, quantities, resources


@dataclass(frozen=True, slots=True)
class ContainerRecommendation:
    """What one container should request.

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

    def as_json(self) -> dict[str, Any]:
        """Return the recommendation as plain values, quantities written out."""
        return {
            "container": self.container,
            "target": _written(self.target),
            "lower": _written(self.lower),
            "upper": _written(self.upper),
            "uncapped": _written(self.uncapped),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Recommendation:
    """What the containers of a workload should request.

    Attributes:
        workload: Name of the workload, as ``namespace/kind/name``.
        policy: Name of the recommender.
        containers: One entry per container that gets a recommendation, in order of names.
        time_s: When it was worked out.
        parameters: Parameters of the recommender as plain values, worked out on demand.
        numbers: Numbers that led to it, worked out on demand.
    """

    workload: str
    policy: str
    containers: tuple[ContainerRecommendation, ...]
    time_s: float | None = None
    parameters: Callable[[], Mapping[str, Any]] = dict
    numbers: Callable[[], Mapping[str, float]] = dict

    def of(self, container: str) -> ContainerRecommendation | None:
        """Return the recommendation for a container."""
        return next((c for c in self.containers if c.container == container), None)

    def as_json(self) -> dict[str, Any]:
        """Return the recommendation as plain values."""
        return {
            "workload": self.workload,
            "strategy": self.policy,
            "containers": [container.as_json() for container in self.containers],
        }

    def record(self) -> decisions.DecisionRecord:
        """Return the decision in the shape all policies share."""
        candidates = tuple(
            decisions.Candidate(f"{sized.container}/{name}", _amounts(sized, name))
            for sized in self.containers
            for name in sized.target
        )
        outcome = "; ".join(
            f"{sized.container}: "
            + ", ".join(f"{name} {quantity}" for name, quantity in sized.target.items())
            for sized in self.containers
        )
        return decisions.DecisionRecord(
            kind="sizing",
            subject=f"workload/{self.workload}",
            policy=self.policy,
            outcome=outcome or None,
            parameters=self.parameters(),
            time=self.time_s,
            candidates=candidates,
            numbers=self.numbers(),
        )


def _amounts(sized: ContainerRecommendation, name: str) -> dict[str, float]:
    """Return target, bounds and uncapped target of a resource, in millicores, bytes or pieces."""
    zero = quantities.Quantity(0)
    parts = {
        "lower": sized.lower,
        "target": sized.target,
        "upper": sized.upper,
        "uncapped": sized.uncapped,
    }
    return {
        part: float(resources.amount(name, amounts.get(name, zero)))
        for part, amounts in parts.items()
        if name in amounts
    }


def _written(amounts: resources.ResourceList) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in amounts.items()}
