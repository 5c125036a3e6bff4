"""The term ``clbp``: balance the load of five resources (ClusterLoadBalancePriority, Shi 2023).

As printed (``strict``): a node passes if load plus pod stay below 80 % of every resource (4.1). The
pod is bound by the resource of which it takes the largest share of the free amount (4.3), which
determines the weights. For each resource, the standard deviation of load with the pod on a node is
stretched between the best and the worst node to 0..10 (4.10); the weighted sum is the score (4.11).

The corrected form, the default, differs where the printed one is unsound:

* Stretching gives a resource in which all nodes differ by a millionth the same influence as one
  that is about to run out. Here the weighted reductions of squared deviation are summed unscaled,
  and only the sum is stretched: a step of steepest descent on the weighted variance. Load
  differences below ``negligible`` fade out, so that kube-scheduler's own scores decide.
* The deviation is over all nodes, not only those that pass the filter: a hot node still counts as
  imbalance.
* Pods that metrics do not cover yet count with their expected usage, so that a burst does not herd
  onto one node; best-effort pods count with an estimate.
* Weights come from the judgements, not from their rounded values.

A resource that a node does not offer is omitted from its filter and score; the part ``left out``
gives their number. A node without metrics is rated by requests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kubestow.model import pods, requests, resources, states
from kubestow.model.arrays import Bools, Floats, Ints
from kubestow.policies.placing.terms import clbp_parameters, protocol, usage_estimates
from kubestow.policies.placing.terms.protocol import MAX_SCORE

# Standard deviations that differ by less count as equal: roots of cancelling sums are inexact.
_ROUNDING = 1e-9
# CPU, disk I/O and network, in the order that breaks ties between equal shares.
_DECIDING = (0, 3, 2)
_KINDS = np.array(
    [clbp_parameters.COMPUTE, clbp_parameters.DISK_BOUND, clbp_parameters.NETWORK_BOUND]
)


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Load of nodes and demand of the pod as shares of allocatable, all ``[resources, nodes]``.

    Attributes:
        load: Share in use; 0 where the node does not offer the resource.
        pod: Share the pod takes; 0 where the node does not offer the resource.
        offered: Whether the node offers the resource.
    """

    load: Floats
    pod: Floats
    offered: Bools

    def take(self, rows: Ints) -> Shares:
        """Return a subset of the nodes."""
        # Fancy indexing would make nodes the first axis in memory.
        return Shares(
            self.load.take(rows, axis=1),
            self.pod.take(rows, axis=1),
            self.offered.take(rows, axis=1),
        )


def make_shares(load: Floats, demand: Floats, capacity: Floats) -> Shares:
    """Return amounts as shares of capacity; 0 for resources that a node does not offer."""
    offered = capacity > 0.0
    used = np.zeros_like(capacity)
    taken = np.zeros_like(capacity)
    # Divide, do not multiply by the inverse: 600 / 4000 must be 0.15 to the last digit.
    np.divide(load, capacity, out=used, where=offered)
    np.divide(demand[:, None], capacity, out=taken, where=offered)
    return Shares(used, taken, offered)


def classify(shares: Shares, intensive: float) -> Ints:
    """Return the type of the pod on every node (table 4.2).

    The largest share of free CPU, disk I/O or network that reaches the threshold decides; ties go
    in this order. That covers every row of the table and the case of all three.
    """
    kinds = np.full(shares.load.shape[1], clbp_parameters.ORDINARY, dtype=np.int64)
    largest = np.zeros(len(kinds))
    for resource, kind in zip(_DECIDING, _KINDS, strict=True):
        free, demand = 1.0 - shares.load[resource], shares.pod[resource]
        taken = np.where(demand > 0.0, np.inf, 0.0)
        np.divide(demand, free, out=taken, where=free > 0.0)
        decides = (taken >= intensive) & (taken > largest)
        kinds[decides] = kind
        largest[decides] = taken[decides]
    return kinds


def growth(candidates: Shares, among: Shares) -> tuple[Floats, Floats, Floats]:
    """Return by how much the pod increases the sum of squared deviations on each candidate.

    Args:
        candidates: The candidate nodes.
        among: The nodes whose loads are to be balanced, including the candidates.

    Returns:
        Increase ``[resources, candidates]``; sum of squared deviations before; number of nodes per
        resource.
    """
    count = among.offered.sum(axis=1).astype(np.float64)
    some = np.maximum(count, 1.0)
    mean = (among.load.sum(axis=1) / some)[:, None]
    squares = ((among.load - mean) ** 2 * among.offered).sum(axis=1)
    rest = (1.0 - 1.0 / some)[:, None]
    grown = candidates.pod * (2.0 * (candidates.load - mean) + candidates.pod * rest)
    return grown, squares, count


def printed_scores(candidates: Shares) -> Floats:
    """Return the scores of each resource as printed, 0 to 10 (4.10): each is stretched separately.

    If all candidates are equal (or there is only one) all get 10; the thesis does not define this
    case.
    """
    grown, squares, count = growth(candidates, candidates)
    inside = np.maximum(squares[:, None] + grown, 0.0) / np.maximum(count, 1.0)[:, None]
    deviation = np.sqrt(inside)
    low = np.where(candidates.offered, deviation, np.inf).min(axis=1)
    high = np.where(candidates.offered, deviation, -np.inf).max(axis=1)
    wide = high - low > _ROUNDING
    scale = np.where(wide, high - low, 1.0)[:, None]
    low = np.where(wide, low, 0.0)[:, None]
    scores = MAX_SCORE * np.where(wide[:, None], 1.0 - (deviation - low) / scale, 1.0)
    return np.where(candidates.offered, scores, 0.0)


def reductions(candidates: Shares, among: Shares) -> Floats:
    """Return how much less squared deviation each candidate causes than the worst candidate."""
    grown, _, _ = growth(candidates, among)
    worst = np.where(candidates.offered, grown, -np.inf).max(axis=1)
    return np.where(candidates.offered, worst[:, None] - grown, 0.0)


NAME = "clbp"
TYPE, LEFT_OUT = "type", "left out"
_EQUAL = 1e-12  # 0.7 + 0.1 < 0.8 in floating point, and must not pass


class Clbp:
    """The term ``clbp`` with its parameters."""

    def __init__(self, parameters: clbp_parameters.ClbpParameters | None = None) -> None:
        self._parameters = parameters or clbp_parameters.ClbpParameters()
        self._weights = np.ascontiguousarray(self._parameters.weights().T)
        self._names = self._parameters.resources.names()
        self._limits = np.array(self._parameters.thresholds.shares())

    @property
    def name(self) -> str:
        """The name users write."""
        return NAME

    def weigh(
        self, pod: pods.Pod, state: states.ClusterState, loads: protocol.Loads, rows: Ints
    ) -> protocol.TermScores:
        """Filter and score candidates."""
        everywhere = self._shares(pod, state, loads)
        candidates = everywhere.take(rows)
        after = candidates.load + candidates.pod
        over = candidates.offered & (after >= self._limits[:, None] - _EQUAL)
        passes: Bools = ~np.logical_or.reduce(over, axis=0)
        kinds = classify(candidates, self._parameters.intensive)
        weights = self._weights.take(kinds, axis=1) * candidates.offered
        kept = np.flatnonzero(passes)
        points, scores = np.zeros((len(self._names), 0)), np.zeros(0)
        if len(kept):
            passing = candidates if len(kept) == len(rows) else candidates.take(kept)
            points, scores = self._score(passing, everywhere, weights.take(kept, axis=1))

        def explain(position: int) -> str:
            return ", ".join(
                f"{name} would be at {after[j, position]:.1%}, must stay below {limit:.0%}"
                for j, (name, limit) in enumerate(zip(self._names, self._limits, strict=True))
                if over[j, position]
            )

        parts = {
            name: _spread(passes, points[j])
            for j, name in enumerate(self._names)
            if candidates.offered[j].any()
        }
        parts[TYPE] = kinds.astype(np.float64)
        if not candidates.offered.all():
            parts[LEFT_OUT] = (~candidates.offered).sum(axis=0).astype(np.float64)
        return protocol.TermScores(passes, _spread(passes, scores), parts, explain)

    def _shares(self, pod: pods.Pod, state: states.ClusterState, loads: protocol.Loads) -> Shares:
        strict = self._parameters.strict
        amounts = (
            resources.amounts(requests.pod_requests(pod))
            if strict
            else usage_estimates.estimate_usage(pod)
        )
        total = loads.total(state, assume=self._parameters.assume and not strict)
        load = np.zeros((len(self._names), len(state)))
        capacity = np.zeros_like(load)  # a resource without a column is offered by no node
        for j, name in enumerate(self._names):
            column = state.columns.get(name)
            if column is not None:
                load[j], capacity[j] = total[:, column], state.allocatable[:, column]
        demand = np.array([amounts.get(name, 0) for name in self._names], dtype=np.float64)
        return make_shares(load, demand, capacity)

    def _score(self, passing: Shares, everywhere: Shares, weights: Floats) -> tuple[Floats, Floats]:
        """Return points of every resource ``[resources, candidates]``, and the scores."""
        total = weights.sum(axis=0)
        # A node that offers none of the resources gets the full score.
        shares = weights / np.where(total > 0.0, total, 1.0)
        if self._parameters.strict:
            points = printed_scores(passing)
            scores = np.where(total > 0.0, (shares * points).sum(axis=0), protocol.MAX_SCORE)
            return points, np.minimum(
                scores, float(protocol.MAX_SCORE)
            )  # weights may sum to 1 + ulp
        gains = shares * reductions(passing, everywhere)
        gain = gains.sum(axis=0)
        # The gain that a load difference of this size means for a pod of this size.
        least = 2.0 * self._parameters.negligible * float((shares * passing.pod).sum(axis=0).mean())
        scale = max(float(gain.max() - gain.min()), least)
        points = protocol.MAX_SCORE * gains / scale if scale > 0.0 else gains
        return points, protocol.stretch(gain, least)


def _spread(passes: Bools, values: Floats) -> Floats:
    """Scatter the values of passing candidates over all candidates; 0 for the others."""
    spread = np.zeros(len(passes))
    spread[passes] = values
    return spread
