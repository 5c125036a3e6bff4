"""The terms ``vector-dot``, ``k8s-vector-dot`` and ``adaptive``: packing heuristics as scores.

They fill nodes rather than balance them, by requests and not by load (``packing.heuristics``). The
score of each candidate is that of the heuristic, stretched so that the best has 10 and the worst 0.
They are decisive: only the best node is sent to kube-scheduler. With a weight that exceeds all
other scores the heuristic alone decides, and an extender may return just that node.

``adaptive`` depends on the pods placed so far. A term has no state, so it uses the pods on the
nodes: their number and sum are known, but not how much they differ in size. Where the nodes show
less variation than ``variation``, that value is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from kubestow.model import pods, requests, resources, states
from kubestow.model.arrays import Floats, Ints
from kubestow.model.decoding import ValueBounds
from kubestow.policies.placing import packing
from kubestow.policies.placing.terms import protocol

VECTOR_DOT, K8S_VECTOR_DOT, ADAPTIVE = "vector-dot", "k8s-vector-dot", "adaptive"
RAW = "raw"


@dataclass(frozen=True, slots=True)
class VectorParameters:
    """Parameters of ``vector-dot`` and ``k8s-vector-dot``.

    Attributes:
        resources: Resources to pack; empty for all that pods request, except pod slots.
    """

    resources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AdaptiveTermParameters:
    """Parameters of ``adaptive``.

    Attributes:
        resources: Resources to pack; empty for all that pods request, except pod slots.
        variation: Minimum assumed squared coefficient of variation of pod sizes; 1/3 is that of
            sizes distributed uniformly between 0 and a maximum.
        rule: How demand determines weights.
    """

    resources: tuple[str, ...] = ()
    variation: Annotated[float, ValueBounds(least=0)] = 1.0 / 3.0
    rule: packing.AdaptiveParameters = field(default_factory=packing.AdaptiveParameters)


class VectorTerm:
    """A packing heuristic as a term.

    Args:
        heuristic: The heuristic.
        packed: Resources to pack; empty for all that pods request.
        variation: Squared coefficient of variation of pod sizes, for ``adaptive``.
    """

    def __init__(
        self, heuristic: packing.Heuristic, packed: tuple[str, ...], variation: float = 0.0
    ) -> None:
        self._heuristic = heuristic
        self._packed = packed
        self._variation = variation
        none = np.zeros(0, dtype=np.int64)
        self._measured: tuple[Ints, Ints, Floats] = none, none, np.zeros(0)

    @property
    def name(self) -> str:
        """The name users write."""
        return self._heuristic.name

    def weigh(
        self,
        pod: pods.Pod,
        state: states.ClusterState,
        loads: protocol.Loads,  # noqa: ARG002 - packing uses requests
        rows: Ints,
    ) -> protocol.TermScores:
        """Score candidates; all pass."""
        values = self._values(pod, state, rows)
        passes = np.ones(len(rows), dtype=np.bool_)
        return protocol.TermScores(
            passes, protocol.stretch(values), {RAW: values}, _pass, decisive=True
        )

    def _values(self, pod: pods.Pod, state: states.ClusterState, rows: Ints) -> Floats:
        demand = state.vector(requests.specified_amounts(pod.spec))
        columns = self._columns(state, demand)
        values = np.zeros(len(rows))
        if not len(rows) or not len(columns):
            return values
        reference = self._reference(state, columns)
        packing.score_candidates(
            self._heuristic.rule,
            self._heuristic.parameters.encode(len(columns)),
            demand,
            packing.CandidateNodes(state.allocatable, state.requested, rows, columns, reference),
            self._observed_items(state, columns, reference),
            values,
        )
        return values

    def _columns(self, state: states.ClusterState, demand: Ints) -> Ints:
        if self._packed:
            columns = [state.columns[name] for name in self._packed if name in state.columns]
            return np.array(columns, dtype=np.int64)
        places = state.columns[resources.PODS]
        return packing.asked_columns(demand, state.allocatable, state.requested, places)

    def _reference(self, state: states.ClusterState, columns: Ints) -> Floats:
        """Return the capacity that pod sizes are relative to; cached for the same nodes."""
        offered, known_columns, reference = self._measured
        if offered is not state.allocatable or not np.array_equal(known_columns, columns):
            everywhere = state.allocatable[:, columns].astype(np.float64)
            reference = everywhere[packing.opening_order(packing.NodeTypes(everywhere))[0]]
            self._measured = state.allocatable, columns, reference
        return reference

    def _observed_items(
        self, state: states.ClusterState, columns: Ints, reference: Floats
    ) -> Floats:
        """Return the statistics that ``adaptive.observe_item`` would have of the pods on nodes."""
        statistics = np.zeros(packing.ADAPTIVE_COLUMNS + len(columns))
        if self._heuristic.rule != packing.BLEND_BY_DEMAND:
            return statistics
        on_node = state.requested[:, state.columns[resources.PODS]].astype(np.float64)
        count = float(on_node.sum())
        if count == 0.0:
            return statistics
        shares = np.where(reference > 0.0, state.requested[:, columns], 0.0)
        shares = shares / np.where(reference > 0.0, reference, 1.0)
        mean = float(shares.sum()) / (count * len(columns))
        # Lower bound: the sum of squares if all pods of a node were equal.
        least = float(((shares**2).mean(axis=1) / np.maximum(on_node, 1.0)).sum())
        statistics[:3] = count, count, count * mean
        statistics[3] = max(least, count * mean**2 * (1.0 + self._variation))
        statistics[packing.ADAPTIVE_COLUMNS :] = shares.sum(axis=0)
        return statistics


def _pass(_: int) -> str:
    return ""


def make_vector_dot(parameters: VectorParameters) -> VectorTerm:
    """Return ``vector-dot``."""
    return VectorTerm(packing.HEURISTICS.get(VECTOR_DOT), parameters.resources)


def make_k8s_vector_dot(parameters: VectorParameters) -> VectorTerm:
    """Return ``k8s-vector-dot``."""
    return VectorTerm(packing.HEURISTICS.get(K8S_VECTOR_DOT), parameters.resources)


def make_adaptive(parameters: AdaptiveTermParameters) -> VectorTerm:
    """Return ``adaptive``."""
    own = packing.HEURISTICS.get(ADAPTIVE)
    heuristic = packing.Heuristic(
        own.name, own.abbreviation, own.summary, own.rule, parameters.rule
    )
    return VectorTerm(heuristic, parameters.resources, parameters.variation)
