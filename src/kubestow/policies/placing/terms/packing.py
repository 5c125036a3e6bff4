"""The terms ``vector-dot``, ``k8s-vector-dot`` and ``adaptive``: packing heuristics for candidates.

They fill nodes rather than balance them, by requests and not by load (``packing.heuristics``): the
score of each candidate is that of the heuristic, stretched so that the best has 10 and the worst 0.
They are decisive: only the best node is told to kube-scheduler. With a weight that outdoes all
other scores the choice is that of the heuristic, and an extender may leave that node alone.

``adaptive`` goes by the pods it has seen. A term remembers nothing, so these are the pods on the
nodes; their number and sum are known, but not how much they differ in size. Where nodes show less
of that than ``variation``, that much is taken.
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
        resources: What is packed; empty for all that pods request, places for pods aside.
    """

    resources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AdaptiveTermParameters:
    """Parameters of ``adaptive``.

    Attributes:
        resources: What is packed; empty for all that pods request, places for pods aside.
        variation: Squared coefficient of variation of pod sizes that is taken where nodes do not
            show more; a third is that of sizes spread evenly between 0 and a largest one.
        rule: How demand becomes weights.
    """

    resources: tuple[str, ...] = ()
    variation: Annotated[float, ValueBounds(least=0)] = 1.0 / 3.0
    rule: packing.AdaptiveParameters = field(default_factory=packing.AdaptiveParameters)


class VectorTerm:
    """A packing heuristic as a term.

    Args:
        heuristic: The heuristic.
        wanted: What is packed; empty for all that pods request.
        variation: Squared coefficient of variation of pod sizes, for ``adaptive``.
    """

    def __init__(
        self, heuristic: packing.Heuristic, wanted: tuple[str, ...], variation: float = 0.0
    ) -> None:
        self._heuristic = heuristic
        self._wanted = wanted
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
        loads: protocol.Loads,  # noqa: ARG002 - packing goes by requests
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
            self._seen(state, columns, reference),
            values,
        )
        return values

    def _columns(self, state: states.ClusterState, demand: Ints) -> Ints:
        if self._wanted:
            found = [state.columns[name] for name in self._wanted if name in state.columns]
            return np.array(found, dtype=np.int64)
        places = state.columns[resources.PODS]
        return packing.asked_columns(demand, state.allocatable, state.requested, places)

    def _reference(self, state: states.ClusterState, columns: Ints) -> Floats:
        """Return the capacity by which pods are measured; worked out once for the same nodes."""
        offered, known_columns, reference = self._measured
        if offered is not state.allocatable or not np.array_equal(known_columns, columns):
            everywhere = state.allocatable[:, columns].astype(np.float64)
            reference = everywhere[packing.opening_order(packing.NodeTypes(everywhere))[0]]
            self._measured = state.allocatable, columns, reference
        return reference

    def _seen(self, state: states.ClusterState, columns: Ints, reference: Floats) -> Floats:
        """Return the pods on the nodes as ``adaptive.observe_item`` would have counted them."""
        found = np.zeros(packing.ADAPTIVE_COLUMNS + len(columns))
        if self._heuristic.rule != packing.BLEND_BY_DEMAND:
            return found
        on_node = state.requested[:, state.columns[resources.PODS]].astype(np.float64)
        count = float(on_node.sum())
        if count == 0.0:
            return found
        shares = np.where(reference > 0.0, state.requested[:, columns], 0.0)
        shares = shares / np.where(reference > 0.0, reference, 1.0)
        mean = float(shares.sum()) / (count * len(columns))
        # Pods of one node are at least as different as if all were alike.
        least = float(((shares**2).mean(axis=1) / np.maximum(on_node, 1.0)).sum())
        found[:3] = count, count, count * mean
        found[3] = max(least, count * mean**2 * (1.0 + self._variation))
        found[packing.ADAPTIVE_COLUMNS :] = shares.sum(axis=0)
        return found


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
