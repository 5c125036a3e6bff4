"""Topology spread constraints as filter and score (plugin PodTopologySpread)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from kubestow.model import arrays, nodes, pods, selectors, workloads
from kubestow.policies.placing.scheduler import node_affinity, node_filters, normalization
from kubestow.policies.placing.scheduler.cycle import Cycle, FilterVerdict

_MISMATCH = "node(s) didn't match pod topology spread constraints"
_MISSING = _MISMATCH + " (missing required label)"


def spread_constraints(cycle: Cycle, *, hard: bool) -> tuple[pods.SpreadConstraint, ...]:
    """Return the constraints that apply: the pod's own, else the profile's defaults."""
    if cycle.pod.spec.spread:
        return tuple(c for c in cycle.pod.spec.spread if c.hard == hard)
    defaults = [c for c in cycle.profile.spread.constraints if c.hard == hard]
    if not defaults:
        return ()
    selector = default_selector(cycle)
    if selector.empty:
        return ()
    return tuple(replace(c, selector=selector) for c in defaults)


def default_selector(cycle: Cycle) -> selectors.LabelSelector:
    """Return the selector of the pods to spread with this one: its services and controller."""
    cluster, pod = cycle.state.cluster, cycle.pod
    merged: dict[str, str] = {}
    for service in cycle.state.services_of(pod):
        merged |= service.selector or {}
    selector = selectors.from_labels(merged)
    controller = cluster.controller_of(pod)
    if controller is None or controller.selector is None:
        return selector
    if (controller.api_version, controller.kind) not in workloads.SELECTING_KINDS:
        return selector
    return selector.and_also(*controller.selector.requirements)


def matching_pods(cycle: Cycle, constraint: pods.SpreadConstraint) -> arrays.Ints:
    """Count the pods on each node that a constraint selects; an empty selector selects none."""
    if constraint.selector is None or constraint.selector.empty:
        return np.zeros(len(cycle.state), dtype=np.int64)
    return cycle.state.count_matching(constraint.selector, cycle.pod.namespace)


def eligible_nodes(cycle: Cycle, constraint: pods.SpreadConstraint) -> arrays.Bools:
    """Return which nodes a constraint includes by its node inclusion policies."""
    passes = np.ones(len(cycle.state), dtype=np.bool_)
    spec = cycle.pod.spec
    if constraint.honor_affinity and (spec.node_selector or spec.required_nodes is not None):
        passes &= node_affinity.required_mask(cycle.state, spec)
    if constraint.honor_taints:
        kept_away = node_filters.over_taints(
            cycle.state, lambda taints: nodes.has_untolerated_taint(taints, spec.tolerations)
        )
        passes &= kept_away == 0
    return passes


def have_topology_keys(
    cycle: Cycle, constraints: tuple[pods.SpreadConstraint, ...]
) -> arrays.Bools:
    """Return which nodes have the topology keys of all constraints."""
    labelled = np.ones(len(cycle.state), dtype=np.bool_)
    for constraint in constraints:
        labelled &= cycle.state.label(constraint.topology_key).present
    return labelled


def within_skew(cycle: Cycle) -> FilterVerdict | None:
    """Filter out nodes whose domain would exceed the maximum skew."""
    constraints = spread_constraints(cycle, hard=True)
    if not constraints:
        return None
    labelled = have_topology_keys(cycle, constraints)
    passes = np.ones(len(cycle.state), dtype=np.bool_)
    unlabelled = np.zeros(len(cycle.state), dtype=np.bool_)
    for constraint in constraints:
        column = cycle.state.label(constraint.topology_key)
        counted = labelled & eligible_nodes(cycle, constraint)
        totals = column.totals(np.where(counted, matching_pods(cycle, constraint), 0))
        domains = np.unique(column.codes[counted])
        fewest = int(totals[domains].min()) if len(domains) else 0
        if len(domains) < constraint.min_domains:
            fewest = 0
        itself = constraint.selector is not None and constraint.selector.matches(cycle.pod.labels)
        skew = column.spread_back(totals) + int(itself) - fewest
        # A node fails at its first violated constraint; the reason given is that constraint's.
        unlabelled |= passes & ~column.present
        passes &= column.present & (skew <= constraint.max_skew)
    return FilterVerdict(passes, lambda row: _MISSING if unlabelled[row] else _MISMATCH)


@dataclass(frozen=True, slots=True)
class _Domains:
    """Pod counts by domain for one soft constraint, and the weight of a pod."""

    counts: arrays.Ints  # per node: pods in its domain
    weight: float
    present: arrays.Bools
    base: int  # maxSkew - 1


def evenness(cycle: Cycle, feasible: arrays.Ints) -> arrays.Ints | None:
    """Score feasible nodes by how few matching pods their domains hold, normalised."""
    constraints = spread_constraints(cycle, hard=False)
    if not constraints:
        return None
    strict = bool(cycle.pod.spec.spread) or not cycle.profile.spread.system
    labelled = have_topology_keys(cycle, constraints)
    everywhere = np.ones(len(cycle.state), dtype=np.bool_)
    taking_part = labelled if strict else everywhere
    ignored = ~taking_part[feasible]
    scored = feasible[~ignored]
    raw = np.zeros(len(feasible))
    for constraint in constraints:
        domains = _domains(cycle, constraint, taking_part, scored)
        share = domains.counts[feasible] * domains.weight + float(domains.base)
        raw += np.where(domains.present[feasible], share, 0.0)
    return _normalized(np.where(ignored, 0, normalization.round_half_up(raw)), ignored)


def _domains(
    cycle: Cycle,
    constraint: pods.SpreadConstraint,
    taking_part: arrays.Bools,
    scored: arrays.Ints,
) -> _Domains:
    column = cycle.state.label(constraint.topology_key)
    matching = matching_pods(cycle, constraint)
    if constraint.topology_key == nodes.HOSTNAME_LABEL:
        size, counts = len(scored), matching
    else:
        # Nodes without the label form one domain here, as upstream.
        size = len(np.unique(column.codes[scored]))
        counted = taking_part & eligible_nodes(cycle, constraint)
        counts = column.spread_back(column.totals(np.where(counted, matching, 0)))
    return _Domains(counts, math.log(size + 2), column.present, constraint.max_skew - 1)


def _normalized(raw: arrays.Ints, ignored: arrays.Bools) -> arrays.Ints:
    """Invert counts, so that the emptiest domain scores highest; ignored nodes score 0."""
    valid = raw[~ignored]
    largest = int(valid.max(initial=0))
    if largest == 0:
        return np.where(ignored, 0, normalization.MAX_SCORE)
    smallest = int(valid.min())
    scaled = normalization.MAX_SCORE * (largest + smallest - raw) // largest
    return np.where(ignored, 0, scaled)
