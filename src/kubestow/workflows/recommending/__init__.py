"""From usage to recommendations: estimates, back-tests, guards, totals, patches."""

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
from kubestow.workflows.recommending.storing import store_recommendations
from kubestow.workflows.recommending.totals import (
    CPU,
    MEMORY,
    ORDER,
    Severity,
    Totals,
    add_up,
    severity,
)

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
    "only_suitable",
    "recommend",
    "recommendations_as_json",
    "recommendations_as_patches",
    "select_usage",
    "severity",
    "split_by_evidence",
    "store_recommendations",
    "totals_as_json",
]
