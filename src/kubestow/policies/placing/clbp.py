"""The term ``clbp``: keep loads of five resources alike (ClusterLoadBalancePriority, Shi 2023).

As printed (``strict``): a node passes if load and pod stay below 80 % of every resource (4.1); the
pod is bound by the resource of which it takes the largest share of what is free (4.3), which sets
the weights; for every resource the standard deviation of load, should the pod land on a node, is
stretched between the best and the worst node to 0..10 (4.10); the weighted sum is the score (4.11).

The sound form, the default, differs where the printed one is unsound:

* Stretching gives a resource in which all nodes differ by a millionth the same say as one that is
  about to run out. Here reductions of squared deviation are added up as they are, weighted, and
  only the sum is stretched: a step of steepest descent on the weighted variance. Differences in
  load below ``negligible`` fade out, so that kube-scheduler's own scores decide.
* The deviation is over all nodes, not over those that pass the filter: a hot node does not vanish
  from what is to be balanced.
* Pods that metrics do not show yet count with what they are expected to use, so that a burst does
  not herd onto one node; best-effort pods count with an estimate.
* Weights come from the judgements, not from their rounding.

A resource that a node does not offer is left out there, of filter and score; ``left out`` among the
parts says how many. A node without metrics is judged by requests.
"""

from __future__ import annotations

import numpy as np

from kubestow.model import pods, requests, resources, states
from kubestow.policies.placing import clbp_balances, clbp_parameters, terms, use_estimates
from kubestow.policies.placing.terms import Floats, Ints, Mask

NAME = "clbp"
TYPE, LEFT_OUT = "type", "left out"
_EQUAL = 1e-12  # 0.7 + 0.1 is less than 0.8 in floating point, and must not pass


class Clbp:
    """The term with its parameters."""

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
        self, pod: pods.Pod, state: states.ClusterState, loads: terms.Loads, rows: Ints
    ) -> terms.Weighed:
        """Filter and score candidates."""
        everywhere = self._shares(pod, state, loads)
        candidates = everywhere.take(rows)
        after = candidates.load + candidates.pod
        over = candidates.offered & (after >= self._limits[:, None] - _EQUAL)
        passes: Mask = ~np.logical_or.reduce(over, axis=0)
        kinds = clbp_balances.classify(candidates, self._parameters.intensive)
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
        return terms.Weighed(passes, _spread(passes, scores), parts, explain)

    def _shares(
        self, pod: pods.Pod, state: states.ClusterState, loads: terms.Loads
    ) -> clbp_balances.Shares:
        strict = self._parameters.strict
        wanted = (
            resources.amounts(requests.pod_requests(pod)) if strict else use_estimates.estimate(pod)
        )
        total = loads.total(state, assume=self._parameters.assume and not strict)
        load = np.zeros((len(self._names), len(state)))
        capacity = np.zeros_like(load)  # a resource without a column is offered by no node
        for j, name in enumerate(self._names):
            column = state.columns.get(name)
            if column is not None:
                load[j], capacity[j] = total[:, column], state.allocatable[:, column]
        demand = np.array([wanted.get(name, 0) for name in self._names], dtype=np.float64)
        return clbp_balances.make_shares(load, demand, capacity)

    def _score(
        self, passing: clbp_balances.Shares, everywhere: clbp_balances.Shares, weights: Floats
    ) -> tuple[Floats, Floats]:
        """Return points of every resource ``[resources, candidates]``, and the scores."""
        total = weights.sum(axis=0)
        # A node that offers none of the resources has nothing against it.
        shares = weights / np.where(total > 0.0, total, 1.0)
        if self._parameters.strict:
            points = clbp_balances.printed_scores(passing)
            scores = np.where(total > 0.0, (shares * points).sum(axis=0), terms.MAX_SCORE)
            return points, np.minimum(scores, float(terms.MAX_SCORE))  # weights may sum to 1 + ulp
        gains = shares * clbp_balances.reductions(passing, everywhere)
        gain = gains.sum(axis=0)
        # What a difference in load of this size would mean for a pod of this size.
        least = 2.0 * self._parameters.negligible * float((shares * passing.pod).sum(axis=0).mean())
        scale = max(float(gain.max() - gain.min()), least)
        points = terms.MAX_SCORE * gains / scale if scale > 0.0 else gains
        return points, terms.stretch(gain, least)


def _spread(passes: Mask, values: Floats) -> Floats:
    """Return values of those that pass in the places of all candidates; 0 for the others."""
    found = np.zeros(len(passes))
    found[passes] = values
    return found
