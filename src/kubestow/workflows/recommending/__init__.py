"""From usage to recommendations: estimates, back-tests, guards, totals, patches.

The writer to a store is loaded on first use: it brings a database layer along.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kubestow.workflows.recommending.conclusions import conclude_recommendations
from kubestow.workflows.recommending.pipeline import (
    RecommendRequest,
    RecommendResult,
    make_estimator,
    recommend,
)
from kubestow.workflows.recommending.rendering import (
    Patch,
    filter_by_severity,
    make_patches,
    only_suitable,
    recommendations_as_json,
    recommendations_as_patches,
    select_usage,
    split_by_evidence,
    totals_as_json,
)
from kubestow.workflows.recommending.safety import make_guards
from kubestow.workflows.recommending.totals import (
    CPU,
    MEMORY,
    ORDER,
    Severity,
    Totals,
    add_up,
    severity,
)
from kubestow.workflows.recommending.wording import (
    most_urgent,
    say_misses,
    say_requests,
    say_share,
)

if TYPE_CHECKING:
    from kubestow.workflows.recommending.storing import store_recommendations

__all__ = [
    "CPU",
    "MEMORY",
    "ORDER",
    "Patch",
    "RecommendRequest",
    "RecommendResult",
    "Severity",
    "Totals",
    "add_up",
    "conclude_recommendations",
    "filter_by_severity",
    "make_estimator",
    "make_guards",
    "make_patches",
    "most_urgent",
    "only_suitable",
    "recommend",
    "recommendations_as_json",
    "recommendations_as_patches",
    "say_misses",
    "say_requests",
    "say_share",
    "select_usage",
    "severity",
    "split_by_evidence",
    "store_recommendations",
    "totals_as_json",
]


def __getattr__(name: str) -> Any:
    """Load the writer to a store."""
    if name == "store_recommendations":
        return importlib.import_module(f"{__name__}.storing").store_recommendations
    raise AttributeError(name)
