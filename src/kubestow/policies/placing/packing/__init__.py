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
from kubestow.policies.placing.packing.instances import (
    UNPLACED,
    Instance,
    NodeTypes,
    Packing,
    make_instance,
)
from kubestow.policies.placing.packing.kernels import (
    choose_node,
    load_item,
    make_chooser,
    put_on_node,
)
from kubestow.policies.placing.packing.offline import (
    DEFAULT_COMPLETION,
    OFFLINE_HEURISTICS,
    CompletionParameters,
    OfflineHeuristic,
    decreasing,
    pack_completely,
)
from kubestow.policies.placing.packing.parameters import AdaptiveParameters
from kubestow.policies.placing.packing.scores import BLEND_BY_DEMAND
from kubestow.policies.placing.packing.states import PackingNodes, PackingTable
from kubestow.policies.placing.packing.tables import opening_order, table_of_nodes
from kubestow.policies.placing.packing.verification import PackingError, verify

__all__ = [
    "ADAPTIVE_COLUMNS",
    "BLEND_BY_DEMAND",
    "DEFAULT_COMPLETION",
    "HEURISTICS",
    "OFFLINE_HEURISTICS",
    "PORTFOLIO",
    "SCHUBERT_HEURISTICS",
    "UNPLACED",
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
    "PackingNodes",
    "PackingTable",
    "add_relief",
    "asked_columns",
    "choose_node",
    "compile_heuristics",
    "compile_solver",
    "count_nodes",
    "decreasing",
    "improve",
    "load_item",
    "lower_bound",
    "make_chooser",
    "make_instance",
    "opening_order",
    "pack",
    "pack_completely",
    "put_on_node",
    "score_candidates",
    "solve",
    "table_of_nodes",
    "verify",
]
