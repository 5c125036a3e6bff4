"""Vector bin packing: online heuristics as scores on arrays, and verification of packings.

``offline`` has heuristics that know all items in advance, ``exact`` has bounds and proven optima.
"""

from kubestow.policies.placing.packing.adaptive import ADAPTIVE_COLUMNS
from kubestow.policies.placing.packing.candidates import (
    CandidateNodes,
    asked_columns,
    score_candidates,
)
from kubestow.policies.placing.packing.exact import (
    PORTFOLIO,
    Bound,
    add_relief,
    compile_solver,
    improve,
    lower_bound,
    solve,
)
from kubestow.policies.placing.packing.heuristics import (
    HEURISTICS,
    SCHUBERT_HEURISTICS,
    Heuristic,
    compile_heuristics,
    count_nodes,
    pack,
)
from kubestow.policies.placing.packing.instances import Instance, NodeTypes, Packing, make_instance
from kubestow.policies.placing.packing.offline import (
    DEFAULT_COMPLETION,
    OFFLINE_HEURISTICS,
    CompletionParameters,
    OfflineHeuristic,
    pack_completely,
)
from kubestow.policies.placing.packing.parameters import AdaptiveParameters
from kubestow.policies.placing.packing.repacking import instance_from_cluster
from kubestow.policies.placing.packing.scores import BLEND_BY_DEMAND
from kubestow.policies.placing.packing.tables import opening_order
from kubestow.policies.placing.packing.verification import PackingError, verify

__all__ = [
    "ADAPTIVE_COLUMNS",
    "BLEND_BY_DEMAND",
    "DEFAULT_COMPLETION",
    "HEURISTICS",
    "OFFLINE_HEURISTICS",
    "PORTFOLIO",
    "SCHUBERT_HEURISTICS",
    "AdaptiveParameters",
    "Bound",
    "CandidateNodes",
    "CompletionParameters",
    "Heuristic",
    "Instance",
    "NodeTypes",
    "OfflineHeuristic",
    "Packing",
    "PackingError",
    "add_relief",
    "asked_columns",
    "compile_heuristics",
    "compile_solver",
    "count_nodes",
    "improve",
    "instance_from_cluster",
    "lower_bound",
    "make_instance",
    "opening_order",
    "pack",
    "pack_completely",
    "score_candidates",
    "solve",
    "verify",
]
