"""From usage to recommendations: estimates, back-tests, guards, totals, patches."""

from kubestow.workflows.recommending.advice import CPU, MEMORY, Advice, format_amount
from kubestow.workflows.recommending.pipeline import (
    RecommendRequest,
    RecommendResult,
    make_estimator,
    recommend,
)
from kubestow.workflows.recommending.rendering import (
    Patch,
    advice_as_json,
    advice_as_patches,
    filter_by_severity,
    make_patches,
    only_suitable,
    select_advice,
    totals_as_json,
)
from kubestow.workflows.recommending.storing import store_recommendations
from kubestow.workflows.recommending.totals import ORDER, Severity, Totals, add_up, severity

__all__ = [
    "CPU",
    "MEMORY",
    "ORDER",
    "Advice",
    "Patch",
    "RecommendRequest",
    "RecommendResult",
    "Severity",
    "Totals",
    "add_up",
    "advice_as_json",
    "advice_as_patches",
    "filter_by_severity",
    "format_amount",
    "make_estimator",
    "make_patches",
    "only_suitable",
    "recommend",
    "select_advice",
    "severity",
    "store_recommendations",
    "totals_as_json",
]
