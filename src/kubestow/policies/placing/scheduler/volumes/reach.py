"""Which nodes can reach a volume, as arrays; computed once for each distinct affinity."""

from __future__ import annotations

import numpy as np

from kubestow.model import arrays, selectors, states, volume_tables, volumes
from kubestow.policies.placing.scheduler import node_affinity

_NAMELESS = {"metadata.name": ""}  # upstream compares affinities of volumes with labels alone


def affinity_mask(state: states.ClusterState, terms: volumes.Terms | None) -> arrays.Bools:
    """Return which nodes match the affinity of a volume; all if it has none."""
    if terms is None:
        return np.ones(len(state), dtype=np.bool_)
    derived = state.volumes.derived
    if terms not in derived:
        derived[terms] = _alone(state, terms) if _is_one_label(terms) else _any_of(state, terms)
    mask: arrays.Bools = derived[terms]
    return mask


def volume_mask(state: states.ClusterState, volume: volumes.PersistentVolume) -> arrays.Bools:
    """Return which nodes can reach a volume; for an in-tree volume this depends on the node."""
    own = affinity_mask(state, volume.affinity)
    if not volume.plugin or volume.migrated == volume.affinity:
        return own
    return np.where(_migrated(state, volume.plugin), affinity_mask(state, volume.migrated), own)


def selector_mask(state: states.ClusterState, selector: selectors.LabelSelector) -> arrays.Bools:
    """Return which nodes match a label selector."""
    passes = np.ones(len(state), dtype=np.bool_)
    for requirement in selector.requirements:
        passes &= node_affinity.requirement_mask(state, requirement)
    return passes


def reached_rows(
    state: states.ClusterState, name: str, index: volume_tables.ClassIndex
) -> tuple[arrays.Ints, arrays.Ints]:
    """Return all pairs of an affinity of a class, by its index, and a node that matches it.

    Upstream does not translate in-tree volumes here.
    """
    derived = state.volumes.derived
    key = ("rows", name)
    if key not in derived:
        rows = [np.flatnonzero(affinity_mask(state, terms)) for terms in index.affinities]
        groups = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
        derived[key] = groups, np.concatenate([np.empty(0, dtype=np.int64), *rows])
    pairs: tuple[arrays.Ints, arrays.Ints] = derived[key]
    return pairs


def _is_one_label(terms: volumes.Terms) -> bool:
    """Return whether an affinity is one label with one value, like that of a local volume."""
    if len(terms) != 1 or not terms[0].valid or terms[0].fields or len(terms[0].expressions) != 1:
        return False
    requirement = terms[0].expressions[0]
    return requirement.operator == selectors.IN and len(requirement.values) == 1


def _alone(state: states.ClusterState, terms: volumes.Terms) -> arrays.Bools:
    requirement = terms[0].expressions[0]
    column, derived = state.label(requirement.key), state.volumes.derived
    key = ("codes", requirement.key)
    if key not in derived:
        derived[key] = {value: code for code, value in enumerate(column.values)}
    code = derived[key].get(requirement.values[0])
    if code is None:
        return np.zeros(len(state), dtype=np.bool_)
    mask: arrays.Bools = column.codes == code
    return mask


def _any_of(state: states.ClusterState, terms: volumes.Terms) -> arrays.Bools:
    passes = np.zeros(len(state), dtype=np.bool_)
    for term in terms:
        if all(field.matches(_NAMELESS) for field in term.fields):
            labels = selectors.NodeSelectorTerm(term.expressions, valid=term.valid)
            everything = term.valid and not term.expressions and bool(term.fields)
            passes |= everything | node_affinity.term_mask(state, labels)
    return passes


def _migrated(state: states.ClusterState, plugin: str) -> arrays.Bools:
    """Return on which nodes a CSI driver has replaced an in-tree plugin."""
    table = state.volumes
    if ("migrated", plugin) not in table.derived:
        nodes = [table.storage.csi_nodes.get(name) for name in state.names]
        table.derived["migrated", plugin] = np.array(
            [node is not None and plugin in node.migrated for node in nodes], dtype=np.bool_
        )
    mask: arrays.Bools = table.derived["migrated", plugin]
    return mask
