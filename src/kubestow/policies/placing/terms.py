"""Terms: what an HTTP extender adds to kube-scheduler, as a pure function of pod and nodes.

kube-scheduler runs its own filters, asks the extender to filter the nodes that are left, adds the
extender's scores (whole numbers 0 to 10, times its weight, times 10) to its own, and takes the node
with the highest sum (``schedule_one.go``, ``extender.go``, 1.37). A term is the part in between.
The simulated scheduler (``schedulers``) and the extender in a cluster call the same terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kubestow.model import pods, states

Floats = NDArray[np.float64]
Ints = states.Ints
Mask = states.Mask

MAX_SCORE = 10  # extenderv1.MaxExtenderPriority
# framework.MaxNodeScore / MaxExtenderPriority: what one point of an extender counts.
POINT = 10
_TINY = 1e-9  # a sum of weights that should be 1 may miss it by rounding


@dataclass(frozen=True, slots=True, eq=False)
class Loads:
    """What nodes really use: measured, and assumed for pods that metrics do not show yet.

    Attributes:
        used: ``[nodes, resources]`` in the state's columns and units; NaN where nothing is
            measured.
        assumed: The same for pods that were placed too lately to be measured; 0 where nothing.
    """

    used: Floats
    assumed: Floats

    @classmethod
    def by_requests(cls, state: states.ClusterState) -> Loads:
        """Return loads for use without metrics: nodes use what their pods request."""
        used = state.requested.astype(np.float64)
        return cls(used, np.zeros_like(used))

    def total(self, state: states.ClusterState, *, assume: bool = True) -> Floats:
        """Return what nodes use, ``[nodes, resources]``.

        Where nothing is measured it is what pods request; these are all the pods that are bound, so
        that nothing needs to be assumed there.

        Args:
            state: The cluster.
            assume: Whether pods count that metrics do not show yet.
        """
        measured = self.used + self.assumed if assume else self.used
        return np.where(np.isnan(self.used), state.requested, measured)


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """What a term says about candidates.

    Attributes:
        passes: Which candidates may take the pod.
        scores: 0 to 10 for every candidate, whether it passes or not; ``whole_scores`` rounds.
        parts: What the scores are made of, per resource or idea, for the decision record.
        explain: Returns why the candidate at a position does not pass.
    """

    passes: Mask
    scores: Floats
    parts: Mapping[str, Floats]
    explain: Callable[[int], str]


class Term(Protocol):
    """Filters and scores candidates for a pod; changes nothing and remembers nothing."""

    @property
    def name(self) -> str:
        """The name users write."""
        ...

    def weigh(self, pod: pods.Pod, state: states.ClusterState, loads: Loads, rows: Ints) -> Weighed:
        """Judge candidates.

        Args:
            pod: The pod to place.
            state: The cluster.
            loads: What its nodes use, all of them.
            rows: The candidates, rows of the state.
        """
        ...


def whole_scores(scores: Floats) -> Ints:
    """Return scores as they are sent to kube-scheduler: whole numbers 0 to 10.

    Rounds down, so that only a full 10 stays 10: the best node of a term that stretches its scores
    to 0..10 is not tied with those close behind it. The order is kept but for ties among scores
    that share their whole part. What is not a number counts as 0.
    """
    known = np.nan_to_num(scores, nan=0.0, posinf=MAX_SCORE, neginf=0.0)
    return np.floor(np.clip(known, 0.0, MAX_SCORE) + _TINY).astype(np.int64)


def stretch(values: Floats, least: float = 0.0) -> Floats:
    """Return values stretched so that the best is 10 and the worst 0.

    Args:
        values: The larger the better.
        least: A smaller range than this is not stretched to 10 points but to fewer, in proportion,
            so that differences which do not matter stay small. All are 10 where all are equal.
    """
    if not len(values):
        return np.zeros(0)
    best = float(values.max())
    scale = max(best - float(values.min()), least)
    if scale <= 0.0:
        return np.full(len(values), float(MAX_SCORE))
    stretched: Floats = MAX_SCORE * (1.0 - (best - values) / scale)
    return stretched
