"""Node affinity and node selectors, as filter and as score (plugin NodeAffinity)."""

from __future__ import annotations

from functools import reduce

import numpy as np

from kubestow.model import arrays, pods, selectors, states
from kubestow.policies.placing.scheduler.cycle import Conflict, Cycle, FilterVerdict

_NAME = "metadata.name"


def requirement_mask(
    state: states.ClusterState, requirement: selectors.Requirement
) -> arrays.Bools:
    """Tell which nodes fulfil a requirement on their labels; each value is judged once."""
    column = state.label(requirement.key)
    by_value = [requirement.matches({requirement.key: value}) for value in column.values]
    answers = np.array([*by_value, requirement.matches({})], dtype=np.bool_)
    return answers[column.codes]  # code -1, no such label, takes the last answer


def _name_mask(state: states.ClusterState, requirement: selectors.Requirement) -> arrays.Bools:
    listed = np.zeros(len(state), dtype=np.bool_)
    for name in requirement.values:
        if name in state.rows:
            listed[state.rows[name]] = True
    return listed if requirement.operator == selectors.IN else ~listed


def term_mask(state: states.ClusterState, term: selectors.NodeSelectorTerm) -> arrays.Bools:
    """Tell which nodes fulfil a term of a node affinity."""
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
    """Tell which nodes fulfil any of several terms."""
    nowhere = np.zeros(len(state), dtype=np.bool_)
    return reduce(np.logical_or, (term_mask(state, term) for term in terms), nowhere)


def required_mask(state: states.ClusterState, spec: pods.PodSpec) -> arrays.Bools:
    """Tell which nodes fulfil a pod's node selector and required node affinity."""
    passes = np.ones(len(state), dtype=np.bool_)
    for key, value in spec.node_selector.items():
        wanted = selectors.Requirement(key, selectors.IN, (value,))
        passes &= requirement_mask(state, wanted)
    if spec.required_nodes is not None:
        passes &= terms_mask(state, spec.required_nodes)
    return passes


def named_nodes(spec: pods.PodSpec) -> frozenset[str] | None:
    """Return the only nodes worth looking at, when every term names its nodes.

    Raises:
        Conflict: If the terms contradict themselves.
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
    """Filter by the affinity the profile adds and by what the pod requires."""
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
    """Return the summed weight of the preferred terms a node fulfils, before normalisation."""
    wanted = (*cycle.profile.node_affinity.preferred, *cycle.pod.spec.preferred_nodes)
    if not wanted:
        return None
    total = np.zeros(len(cycle.state), dtype=np.int64)
    for preferred in wanted:
        if preferred.weight:
            total += preferred.weight * term_mask(cycle.state, preferred.term)
    return total
