"""Offline packing: heuristics that know all items before they place the first."""

from kubestow.policies.placing.packing.offline.bin_completion import (
    DEFAULT_COMPLETION,
    MANY,
    CompletionParameters,
    complete,
    count_partners,
    fit_together,
)
from kubestow.policies.placing.packing.offline.heuristics import (
    OFFLINE_HEURISTICS,
    OfflineHeuristic,
    pack_completely,
)
from kubestow.policies.placing.packing.offline.item_classes import (
    ItemClasses,
    Pattern,
    classify_items,
    is_uniform,
    make_packing,
    read_patterns,
    relax,
)
from kubestow.policies.placing.packing.offline.item_sizes import BASIC, decreasing
from kubestow.policies.placing.packing.offline.knapsack import (
    LARGEST_TABLE,
    MANY_STEPS,
    best_pattern,
    deepest_pattern,
    fits,
    narrow,
    reach,
    sort_by_density,
    weigh_resources,
)

__all__ = [
    "BASIC",
    "DEFAULT_COMPLETION",
    "LARGEST_TABLE",
    "MANY",
    "MANY_STEPS",
    "OFFLINE_HEURISTICS",
    "CompletionParameters",
    "ItemClasses",
    "OfflineHeuristic",
    "Pattern",
    "best_pattern",
    "classify_items",
    "complete",
    "count_partners",
    "decreasing",
    "deepest_pattern",
    "fit_together",
    "fits",
    "is_uniform",
    "make_packing",
    "narrow",
    "pack_completely",
    "reach",
    "read_patterns",
    "relax",
    "sort_by_density",
    "weigh_resources",
]
