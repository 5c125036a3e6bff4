"""The recommender ``keep``: requests stay as they are, the baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass

from kubestow.policies.sizing import histories, protocols, recommendations

NAME = "keep"


@dataclass(frozen=True, slots=True)
class KeepParameters:
    """``keep`` has no parameters."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Recommends what containers request already."""

    parameters: KeepParameters = KeepParameters()
    name: str = NAME

    def recommend(
        self, history: histories.UsageHistory, context: protocols.SizingContext
    ) -> recommendations.Recommendation:
        """Return the present requests as target and as both bounds; the usage does not count."""
        del history
        kept = tuple(
            recommendations.ContainerRecommendation(
                name, current.requests, current.requests, current.requests, current.requests
            )
            for name, current in sorted(context.current.items())
        )
        return recommendations.Recommendation(context.workload, NAME, kept, context.time_s)
