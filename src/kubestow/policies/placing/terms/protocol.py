"""Terms: the filter and score of an HTTP extender, as a pure function of pod and nodes.

kube-scheduler runs its own filters, asks the extender to filter the remaining nodes, adds the
extender's scores (whole numbers 0 to 10, times its weight, times 10) to its own, and takes the node
with the highest sum (``schedule_one.go``, ``extender.go``, 1.37). A term is the extender's part.
The simulated scheduler (``scheduler``) and the extender in a cluster call the same terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kubestow.model import arrays, pods, resources, states
from kubestow.model.arrays import Floats

MAX_SCORE = 10  # extenderv1.MaxExtenderPriority
# framework.MaxNodeScore / MaxExtenderPriority: how much one point of an extender counts.
POINT = 10
_TINY = 1e-9  # a sum of weights that should be 1 may miss it by rounding


@dataclass(frozen=True, slots=True, eq=False)
class Loads:
    """Actual usage of nodes: measured, plus assumed for pods that metrics do not cover yet.

    Attributes:
        used: ``[nodes, resources]`` in the state's columns and units; NaN where not measured.
        assumed: The same for pods placed too recently to be measured; 0 where there are none.
    """

    used: Floats
    assumed: Floats

    @classmethod
    def by_requests(cls, state: states.ClusterState) -> Loads:
        """Return loads without metrics: nodes use what their pods request."""
        used = state.requested.astype(np.float64)
        return cls(used, np.zeros_like(used))

    def total(self, state: states.ClusterState, *, assume: bool = True) -> Floats:
        """Return the usage of nodes, ``[nodes, resources]``.

        Where nothing is measured, usage is the sum of the requests of all bound pods, so nothing
        needs to be assumed there.

        Args:
            state: The cluster.
            assume: Whether to count pods that metrics do not cover yet.
        """
        measured = self.used + self.assumed if assume else self.used
        return np.where(np.isnan(self.used), state.requested, measured)


@dataclass(frozen=True, slots=True, eq=False)
class TermScores:
    """A term's filter result and scores for the candidate nodes.

    Attributes:
        passes: Which candidates are feasible.
        scores: 0 to 10 for every candidate, whether it passes or not; ``sent_scores`` rounds.
        parts: Components of the scores, per resource or criterion, for the decision record.
        explain: Returns why the candidate at a position does not pass.
        decisive: Whether only the best node matters, because the term is meant to outweigh all
            other scores.
    """

    passes: arrays.Bools
    scores: Floats
    parts: Mapping[str, Floats]
    explain: Callable[[int], str]
    decisive: bool = False

    def where(self, kept: arrays.Bools) -> TermScores:
        """Return the result for a subset of the candidates."""
        at = np.flatnonzero(kept)
        return TermScores(
            self.passes[at],
            self.scores[at],
            {name: part[at] for name, part in self.parts.items()},
            lambda place: self.explain(int(at[place])),
            self.decisive,
        )


class Term(Protocol):
    """Filters and scores candidate nodes for a pod; has no state and no side effects."""

    @property
    def name(self) -> str:
        """The name users write."""
        ...

    def weigh(
        self, pod: pods.Pod, state: states.ClusterState, loads: Loads, rows: arrays.Ints
    ) -> TermScores:
        """Filter and score candidates.

        Args:
            pod: The pod to place.
            state: The cluster.
            loads: Usage of all its nodes.
            rows: The candidates, rows of the state.
        """
        ...


def whole_scores(scores: Floats) -> arrays.Ints:
    """Return scores as sent to kube-scheduler: whole numbers 0 to 10.

    Rounds down, so that only a full 10 stays 10: the best node of a term that stretches its scores
    to 0..10 is not tied with those close behind it. The order is kept, except for ties among scores
    that share their integer part. NaN counts as 0.
    """
    known = np.fmin(np.fmax(scores, 0.0), MAX_SCORE)  # fmin and fmax prefer the number to NaN
    return (known + _TINY).astype(np.int64)


def sent_scores(
    pod: pods.Pod,
    state: states.ClusterState,
    rows: arrays.Ints,
    scores: Floats,
    *,
    decisive: bool = False,
) -> arrays.Ints:
    """Return whole scores with a single best node, so that the extender knows where the pod goes.

    kube-scheduler picks any of the nodes that tie for the highest sum. In a burst the next pod is
    scored before the API server reports that choice, and a wrong guess counts this pod on the wrong
    node. Of the nodes with the highest whole score, the one with the highest exact score, and of
    those the one with the fewest pods, keeps it; the others get one point less. For pods with
    preferences, kube-scheduler chooses among such nodes, because it knows the preferences.

    Args:
        pod: The pod to place.
        state: The cluster.
        rows: The candidates, rows of the state.
        scores: Score of every candidate, 0 to 10.
        decisive: Whether only the best matters; the others then get 0, which is faster to decode.
    """
    whole = whole_scores(scores)
    if not len(whole):
        return whole
    most = int(whole.max())
    top = np.flatnonzero(whole == most)
    if len(top) > 1 and not pod.spec.has_preferences:
        known = np.fmax(scores[top], 0.0)
        best = top[known >= known.max() - _TINY]
        count = state.requested[rows[best], state.columns[resources.PODS]]
        whole[top] = max(most - 1, 0)
        top = best[np.argmin(count)]
    if decisive:
        whole[:] = 0
    whole[top] = most
    return whole


def stretch(values: Floats, least: float = 0.0) -> Floats:
    """Scale values linearly so that the best is 10 and the worst 0.

    Args:
        values: The larger the better.
        least: A range smaller than this is stretched to proportionally fewer than 10 points, so
            that negligible differences stay small. All are 10 if all are equal.
    """
    if not len(values):
        return np.zeros(0)
    best = float(values.max())
    scale = max(best - float(values.min()), least)
    if scale <= 0.0:
        return np.full(len(values), float(MAX_SCORE))
    stretched: Floats = MAX_SCORE * (1.0 - (best - values) / scale)
    return stretched
