"""Node affinity and node selectors as filter and score (plugin NodeAffinity)."""

from __future__ import annotations

from functools import reduce

import numpy as np

from kubestow.model import arrays, pods, selectors, states
from kubestow.policies.placing.scheduler.cycle import Conflict, Cycle, FilterVerdict

_NAME = "metadata.name"


def requirement_mask(
    state: states.ClusterState, requirement: selectors.Requirement
) -> arrays.Bools:
    """Return which nodes match a label requirement; each distinct value is evaluated once."""
    column = state.label(requirement.key)
    by_value = [requirement.matches({requirement.key: value}) for value in column.values]
    matches = np.array([*by_value, requirement.matches({})], dtype=np.bool_)
    return matches[column.codes]  # code -1 (no such label) selects the last entry


def _name_mask(state: states.ClusterState, requirement: selectors.Requirement) -> arrays.Bools:
    listed = np.zeros(len(state), dtype=np.bool_)
    for name in requirement.values:
        if name in state.rows:
            listed[state.rows[name]] = True
    return listed if requirement.operator == selectors.IN else ~listed


def term_mask(state: states.ClusterState, term: selectors.NodeSelectorTerm) -> arrays.Bools:
    """Return which nodes match a node selector term."""
    if term.empty or not term.valid:
        return np.zeros(len(state), dtype=np.bool_)
    passes = np.ones(len(state), dtype=np.bool_)
    for expression in term.expressions:
        passes &= requirement_mask(state, expression)
    for name in term.fields:
        passes &= _name_mask(state, name)
    return passes


def terms_mask(
    state: states.ClusterState, terms: tuple[selectors.NodeSelectorTerm, ...]
) -> arrays.Bools:
    """Return which nodes match any of several terms."""
    nowhere = np.zeros(len(state), dtype=np.bool_)
    return reduce(np.logical_or, (term_mask(state, term) for term in terms), nowhere)


def required_mask(state: states.ClusterState, spec: pods.PodSpec) -> arrays.Bools:
    """Return which nodes match a pod's node selector and required node affinity."""
    passes = np.ones(len(state), dtype=np.bool_)
    for key, value in spec.node_selector.items():
        requirement = selectors.Requirement(key, selectors.IN, (value,))
        passes &= requirement_mask(state, requirement)
    if spec.required_nodes is not None:
        passes &= terms_mask(state, spec.required_nodes)
    return passes


def named_nodes(spec: pods.PodSpec) -> frozenset[str] | None:
    """Return the only nodes to evaluate, if every term names its nodes.

    Raises:
        Conflict: If the terms contradict each other.
    """
    if not spec.required_nodes:
        return None
    named: set[str] = set()
    for term in spec.required_nodes:
        listed = [
            set(r.values) for r in term.fields if r.key == _NAME and r.operator == selectors.IN
        ]
        if not listed:
            return None
        named |= set.intersection(*listed)
    if not named:
        raise Conflict("pod affinity terms conflict")
    return frozenset(named)


def admitted_nodes(cycle: Cycle) -> FilterVerdict | None:
    """Filter by the profile's added affinity and by the pod's selector and required affinity."""
    spec, added = cycle.pod.spec, cycle.profile.node_affinity.required
    if added is None and not spec.node_selector and spec.required_nodes is None:
        return None
    everywhere = np.ones(len(cycle.state), dtype=np.bool_)
    enforced = everywhere if added is None else terms_mask(cycle.state, added)
    required = required_mask(cycle.state, spec)

    def explain(row: int) -> str:
        if not enforced[row]:
            return "node(s) didn't match scheduler-enforced node affinity"
        return "node(s) didn't match Pod's node affinity/selector"

    return FilterVerdict(enforced & required, explain)


def node_preference(cycle: Cycle) -> arrays.Ints | None:
    """Return the total weight of the preferred terms that each node matches, not normalised."""
    preferences = (*cycle.profile.node_affinity.preferred, *cycle.pod.spec.preferred_nodes)
    if not preferences:
        return None
    total = np.zeros(len(cycle.state), dtype=np.int64)
    for preferred in preferences:
        if preferred.weight:
            total += preferred.weight * term_mask(cycle.state, preferred.term)
    return total
