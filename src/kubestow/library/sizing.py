"""``kubestow.recommend``: requests and limits from usage, with a stated risk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kubestow.library import inputs, reading, results
from kubestow.workflows import recommending


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class RecommendationTable(results.Result):
    """Recommendations for containers.

    Attributes:
        result: Recommendations, notes and decision records.
    """

    result: recommending.RecommendResult

    def __len__(self) -> int:
        return len(self.result.recommendations)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_dict())

    def to_polars(self) -> pl.DataFrame:
        """Return one row per container; nested values have dotted names."""
        return pl.DataFrame([results.flatten(entry) for entry in self.to_dict()])

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one entry per container, with the keys of ``recommend -o json``."""
        return recommending.recommendations_as_json(self.result)

    def summary(self) -> str:
        """Return the number of containers and the strategy in one sentence."""
        return f"{len(self)} containers, requests recommended by {self.result.strategy}"


def recommend(
    usage: str | Path | inputs.Frame | reading.UsageData,
    *,
    requests: inputs.Frame | None = None,
    nodes: inputs.Frame | None = None,
    hpas: inputs.Frame | None = None,
    strategy: str = "auto",
    parameters: Mapping[str, Any] | None = None,
    miss_probability: float | None = None,
    hold: inputs.Seconds = "1d",
    step: inputs.Seconds | None = None,
    history: inputs.Seconds | None = None,
    limits: str | None = None,
    memory_headroom: str | float | None = None,
    memory_min: str | None = None,
    cpu_min: str | None = None,
) -> RecommendationTable:
    """Recommend requests and limits from the usage of containers.

    Args:
        usage: What ``read_usage`` takes or returns.
        requests: As for ``read_usage``.
        nodes: As for ``read_usage``.
        hpas: As for ``read_usage``.
        strategy: Name of a recommender, e.g. ``conformal``, ``vpa`` or ``krr-simple``.
        parameters: Parameters of the recommender, with the keys of scenario files.
        miss_probability: Share of windows that may need more (``conformal``, ``auto``).
        hold: How long a recommendation has to hold.
        step: As for ``read_usage``.
        history: As for ``read_usage``.
        limits: ``keep`` (the default: scale those that exist, set no new ones), ``match`` (memory
            limits equal requests) or ``none`` (remove them).
        memory_headroom: Memory requests are at least the largest usage plus this share; by default
            ``15%``.
        memory_min: Smallest memory request; by default ``100Mi``.
        cpu_min: Smallest CPU request; by default ``10m``.

    Raises:
        InputError: If usage, strategy or a parameter is invalid.

    Examples:
        >>> from kubestow import testing
        >>> result = recommend(testing.usage_frame(containers=2, days=3), strategy="percentile")
        >>> len(result), result.to_dict()[0]["strategy"]
        (2, 'percentile')
    """
    data = reading.read_usage(
        usage, requests=requests, nodes=nodes, hpas=hpas, step=step, history=history
    )
    request = recommending.RecommendRequest(
        strategy=strategy,
        parameters=dict(parameters or {}),
        miss_probability=miss_probability,
        window_s=inputs.as_seconds(hold, "hold"),
        guards=recommending.make_guards(limits, memory_headroom, memory_min, cpu_min),
    )
    return RecommendationTable(recommending.recommend(data.usage, data.inventory, request))
