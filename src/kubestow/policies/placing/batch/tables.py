"""Arrays the batch kernel works on; named tuples, which compiled code takes as they are.

Pods are sorted into *classes* (equal requests and equal rules); everything that depends only on a
class and the nodes is worked out once per class. What changes with every placed pod is kept in
*tallies*: how many pods of a group lie in each domain of a topology.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kubestow.model.arrays import Bools, Floats, Ints


class BatchRules(NamedTuple):
    """What the profile says, in numbers.

    Attributes:
        strategy: 0 LeastAllocated, 1 MostAllocated, 2 RequestedToCapacityRatio.
        shape_x: Utilisations of the shape, percent.
        shape_y: Scores of the shape, 0 to 100.
        fit_column: Column of each resource in the fit score, -1 where no node offers it.
        fit_source: Row of ``Nodes.used`` the fit score reads.
        fit_weight: Weight of each resource in the fit score.
        balanced_column: Column of each resource in the balance score.
        balance_sets: Sets of resources that occur, 0 where one counts, -1 where it does not.
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
    """The state of the nodes, resource by resource, so that loops over nodes are straight.

    Whole numbers as floating point: exact below 2**53, and fast to divide. ``used`` is changed
    by the kernel; its last two rows are CPU and memory with the scheduler's assumptions for
    containers that state nothing.
    """

    offered: Floats  # [resources, nodes]
    used: Floats  # [resources + 2, nodes]
    evenness: Floats  # [sets, nodes]: balance as it is, per set of resources
    by_name: Ints  # rows in order of names, for ties


class Room(NamedTuple):
    """Scratch room of one number per node for the resource scores."""

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
    """What each class of pods asks for.

    Attributes:
        wanted: What the filter counts, ``[classes, columns]``.
        possible: False where a resource is wanted that no node offers.
        taken: What a placed pod adds to ``Nodes.used``, ``[classes, columns + 2]``.
        fit_amount: Requests as the fit score sees them; -1 leaves the resource out.
        balanced_amount: Requests as the balance score sees them; -1 leaves the resource out.
        balanced: Whether the balance is scored at all.
        balance_set: Which of ``Rules.balance_sets`` the class looks at.
        static: Row of the static tables.
        link: Row of the links.
        slot: Row of the score cache, -1 for classes that are not worth one.
    """

    wanted: Floats
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
    """What depends on node and specification alone, ``[kinds, nodes]``.

    ``kept`` holds the weighted sum of the normalised scores, for the largest raw values in
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
        group: Group each tally counts.
        key: Topology key of each tally.
        mask: Row of ``masks``: which nodes count; row 0 is all of them.
        offset: Where the domains of a tally begin in ``totals``.
        size: How many domains it has.
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
    """Which tallies a kind of pod looks at and which groups it joins: ``x[first[l]:first[l + 1]]``.

    Attributes:
        joins: Groups a pod of the class belongs to.
        repelled: Tallies that must be empty in the domain of a node.
        near: Tallies that must not be empty there (all of one group).
        first_of_kind: Whether a pod may start where no partner is yet.
        pulls: Tallies that attract or repel softly, with weights.
        hard: Tallies of hard spread constraints, with largest skew, fewest domains, and whether
            the pod itself counts.
        soft: Tallies of soft spread constraints, with largest skew and whether the topology is
            the host itself.
        strict: Whether nodes without all labels are left out of the spread score.
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
    """Resource scores per class slot and node, and how far the log had been read then."""

    fits: Bools
    score: Floats
    seen: Ints


class BatchBlock(NamedTuple):
    """Some nodes gathered side by side, to be scored anew."""

    nodes: BatchNodes
    rows: Ints
    fits: Bools
    score: Floats
