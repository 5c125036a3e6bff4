"""Arrays of the batch kernel: named tuples, which compiled code accepts directly.

Pods are grouped into *classes* (equal requests and equal constraints); everything that depends
only on a class and the nodes is computed once per class. What changes with every placed pod is
kept in *tallies*: the number of pods of a group in each domain of a topology.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kubestow.model.arrays import Bools, Floats, Ints


class BatchRules(NamedTuple):
    """The profile in numbers.

    Attributes:
        strategy: 0 LeastAllocated, 1 MostAllocated, 2 RequestedToCapacityRatio.
        shape_x: Utilisations of the shape, percent.
        shape_y: Scores of the shape, 0 to 100.
        fit_column: Column of each resource in the fit score, -1 where no node offers it.
        fit_source: Row of ``BatchNodes.used`` that the fit score reads.
        fit_weight: Weight of each resource in the fit score.
        balanced_column: Column of each resource in the balance score.
        balance_sets: Occurring sets of resources, 0 where a resource counts, -1 where it does not.
        balance_change: Whether the change of balance is scored (from 1.36).
        filter_fit: Whether the resource filter runs.
        weights: Weights of taints, node affinity, fit, spread, pod affinity, balance, images.
    """

    strategy: int
    shape_x: Ints
    shape_y: Ints
    fit_column: Ints
    fit_source: Ints
    fit_weight: Ints
    balanced_column: Ints
    balance_sets: Floats
    balance_change: bool
    filter_fit: bool
    weights: Ints


class BatchNodes(NamedTuple):
    """The state of the nodes, one row per resource, so that loops over nodes are contiguous.

    Integers as floating point: exact below 2**53, and fast to divide. The kernel updates ``used``;
        its last two rows are CPU and memory with the scheduler's assumed requests for containers
        without any.
    """

    offered: Floats  # [resources, nodes]
    used: Floats  # [resources + 2, nodes]
    evenness: Floats  # [sets, nodes]: current balance, per set of resources
    by_name: Ints  # rows in order of names, to break ties


class Room(NamedTuple):
    """Buffers of one number per node for the resource scores."""

    fractions: Floats  # [resources of the balance, nodes]; -1 where it does not count
    total: Floats
    number: Floats
    first: Floats
    last: Floats
    mean: Floats
    deviation: Floats
    after: Floats
    score: Floats


class Classes(NamedTuple):
    """The requests of each class of pods.

    Attributes:
        requested: Requests as the filter counts them, ``[classes, columns]``.
        possible: False if a requested resource is offered by no node.
        taken: What a placed pod adds to ``BatchNodes.used``, ``[classes, columns + 2]``.
        fit_amount: Requests as the fit score counts them; -1 omits the resource.
        balanced_amount: Requests as the balance score counts them; -1 omits the resource.
        balanced: Whether the balance is scored.
        balance_set: Row of ``BatchRules.balance_sets`` for the class.
        static: Row of the static tables.
        link: Row of the links.
        slot: Row of the score cache, -1 for classes without one.
    """

    requested: Floats
    possible: Bools
    taken: Floats
    fit_amount: Floats
    balanced_amount: Floats
    balanced: Bools
    balance_set: Ints
    static: Ints
    link: Ints
    slot: Ints


class Statics(NamedTuple):
    """Filters and scores that depend on node and pod specification alone, ``[kinds, nodes]``.

    ``kept`` caches the weighted sum of the normalised scores, for the largest raw values in
    ``kept_for``.
    """

    admitted: Bools
    disliked: Floats
    preferred: Floats
    images: Floats
    kept: Floats
    kept_for: Floats


class Tallies(NamedTuple):
    """Pods counted by group and topology domain.

    Attributes:
        codes: Domain of each node per topology key, -1 without the label, ``[keys, nodes]``.
        group: Group that each tally counts.
        key: Topology key of each tally.
        mask: Row of ``masks``: which nodes count; row 0 is all of them.
        offset: Where the domains of a tally start in ``totals``.
        size: Number of its domains.
        totals: Pods per domain, all tallies one after another.
        exists: Whether a domain occurs among the nodes that count.
        sums: Pods per tally.
        masks: ``[masks, nodes]``.
        counts: Pods per group and node.
        first: Tallies of a group: ``of_group[first[g]:first[g + 1]]``.
        of_group: Tally indices by group.
    """

    codes: NDArray[np.int32]
    group: Ints
    key: Ints
    mask: Ints
    offset: Ints
    size: Ints
    totals: Ints
    exists: Bools
    sums: Ints
    masks: Bools
    counts: Ints
    first: Ints
    of_group: Ints


class Links(NamedTuple):
    """Which tallies affect a kind of pod and which groups it joins: ``x[first[l]:first[l + 1]]``.

    Attributes:
        joins: Groups that a pod of the class belongs to.
        repelled: Tallies that must be empty in the domain of a node.
        near: Tallies that must not be empty there (all of one group).
        first_of_kind: Whether a pod may start anywhere while no matching pod exists.
        pulls: Tallies of preferred affinity and anti-affinity, with weights.
        hard: Tallies of hard spread constraints, with maximum skew, minimum domains, and whether
            the pod itself counts.
        soft: Tallies of soft spread constraints, with maximum skew and whether the topology is the
            hostname.
        strict: Whether nodes without all labels are excluded from the spread score.
        labelled: Row of ``masks``: nodes with all labels of the soft constraints.
    """

    joins_first: Ints
    joins: Ints
    repelled_first: Ints
    repelled: Ints
    near_first: Ints
    near: Ints
    first_of_kind: Bools
    pulls_first: Ints
    pulls: Ints
    pull_weight: Ints
    hard_first: Ints
    hard: Ints
    hard_skew: Ints
    hard_domains: Ints
    hard_self: Ints
    soft_first: Ints
    soft: Ints
    soft_skew: Ints
    soft_host: Bools
    strict: Bools
    labelled: Ints


class Cache(NamedTuple):
    """Resource scores per class slot and node, and up to where the log of changes was read."""

    fits: Bools
    score: Floats
    read_until: Ints


class BatchBlock(NamedTuple):
    """Changed nodes gathered contiguously, to be scored again."""

    nodes: BatchNodes
    rows: Ints
    fits: Bools
    score: Floats
