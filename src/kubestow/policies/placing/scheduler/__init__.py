"""An exact reimplementation of kube-scheduler: filters, scores, node sampling, preemption.

Configuration is in ``profiles``, extender terms are in ``terms``, and the compiled form for many
pods is in ``batch``.
"""

from kubestow.policies.placing.scheduler.cycle import Conflict, Cycle
from kubestow.policies.placing.scheduler.image_locality import image_locality_score
from kubestow.policies.placing.scheduler.node_affinity import (
    admitted_nodes,
    named_nodes,
    node_preference,
)
from kubestow.policies.placing.scheduler.node_filters import (
    filter_requests,
    host_ports,
    is_ignored,
    prefer_no_schedule_count,
    unschedulable,
    untolerated,
)
from kubestow.policies.placing.scheduler.normalization import MAX_SCORE
from kubestow.policies.placing.scheduler.pod_affinity import term_covers_group, term_covers_pod
from kubestow.policies.placing.scheduler.preemption import Running, choose_victims
from kubestow.policies.placing.scheduler.runs import place_all
from kubestow.policies.placing.scheduler.sampling import NodeSample
from kubestow.policies.placing.scheduler.scheduler import Nomination, Placement, Scheduler
from kubestow.policies.placing.scheduler.topology_spread import (
    eligible_nodes,
    have_topology_keys,
    spread_constraints,
)

__all__ = [
    "MAX_SCORE",
    "Conflict",
    "Cycle",
    "NodeSample",
    "Nomination",
    "Placement",
    "Running",
    "Scheduler",
    "admitted_nodes",
    "choose_victims",
    "eligible_nodes",
    "filter_requests",
    "have_topology_keys",
    "host_ports",
    "image_locality_score",
    "is_ignored",
    "named_nodes",
    "node_preference",
    "place_all",
    "prefer_no_schedule_count",
    "spread_constraints",
    "term_covers_group",
    "term_covers_pod",
    "unschedulable",
    "untolerated",
]
