"""What was learned of a container, out of a recommendation in the store.

Three shapes are understood: ``{"requests": {...}}``, the ``{"target": {...}}`` of
``policies.sizing.recommendations`` and the ``{"recommended": {"requests": {...}}}`` of
``kubestow recommend -o json``. Amounts are Kubernetes quantities and keep their notation.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubestow.live.stores import StoredRecommendation
from kubestow.model import decoding, errors, resources
from kubestow.model.keys import ContainerKey


@dataclass(frozen=True, slots=True)
class LearnedRequests:
    """Requests that were learned for a container.

    Attributes:
        requests: CPU, memory, or one of them.
        strategy: Who recommended them.
        time_s: When, seconds since the epoch.
    """

    requests: resources.ResourceList
    strategy: str
    time_s: float


def read(key: ContainerKey, found: StoredRecommendation) -> LearnedRequests | None:
    """Read a recommendation; ``None`` if it says nothing about CPU and memory.

    Raises:
        InputError: If it is of no known shape, or an amount is no quantity above nought.
    """
    place = f"recommendation for {key.namespace}/{key.kind}/{key.workload}/{key.container}"
    content = decoding.Field(found.content, place)
    inner = content["recommended"] if not content["recommended"].missing else content
    stated = inner["requests"] if not inner["requests"].missing else inner["target"]
    amounts = {}
    for name in (resources.CPU, resources.MEMORY):
        if stated[name].missing:
            continue
        amounts[name] = stated[name].quantity()
        if not amounts[name].nano:
            raise errors.InputError(f"{place}: {name}", "0: must be > 0")
    return LearnedRequests(amounts, found.strategy, found.time_s) if amounts else None
