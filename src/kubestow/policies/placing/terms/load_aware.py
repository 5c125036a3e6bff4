"""The term ``load-aware``: prefer nodes with the lowest actual load.

kube-scheduler counts requests alone. Here a node's load is its measured usage plus the expected
usage of pods that metrics do not cover yet, as in Koordinator's LoadAware and Trimaran. The score
is the mean free share of its resources with the pod, less a penalty for uneven usage: a mean alone
does not show that one resource runs out. A node whose load with the pod would exceed a threshold is
filtered out; the defaults are Koordinator's (``defaultUsageThresholds`` of
``pkg/scheduler/apis/config/v1/defaults.go``, and as there a load right at the threshold passes).
A node whose metrics are missing or stale (NaN) is rated by requests; Koordinator lets it pass with
score 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from kubestow.model import decoding, pods, resources, states
from kubestow.model.arrays import Bools, Floats, Ints
from kubestow.model.decoding import ValueBounds
from kubestow.policies.placing.terms import clbp_parameters, protocol, usage_estimates

NAME = "load-aware"
LEFT_OUT, UNEVEN = "left out", "uneven"
_EQUAL = 1e-12  # rounding of sums; a load right at the threshold passes


def _weights() -> dict[str, float]:
    names = (
        resources.CPU,
        resources.MEMORY,
        clbp_parameters.NETWORK,
        clbp_parameters.DISK_IO,
    )
    return dict.fromkeys(names, 1.0)


def _thresholds() -> dict[str, float]:
    return {resources.CPU: 0.65, resources.MEMORY: 0.95}


@dataclass(frozen=True, slots=True)
class LoadAwareParameters:
    """Parameters of ``load-aware``.

    Attributes:
        weights: Weights of the scored resources; equal, as in Koordinator. Resources that a node
            does not offer are omitted.
        thresholds: Maximum load with the pod as a share of each resource; ``cpu: 0.65`` and
            ``memory: 0.95`` as in Koordinator. Other resources are not filtered.
        uneven: Multiple of the standard deviation among the resources of a node that is
            subtracted from its free share; 0 disables it. With 1 and two resources the fuller
            one decides. Our choice: of 0, 0.5, 1 and 2 in a pilot of ``shi-balance``, 0 was the
            worst in every scene.
        negligible: Load differences below this share of a node count proportionally less; our
            choice, there is no source for 1 %.
        assume: Whether to count pods that metrics do not cover yet.
    """

    weights: dict[str, Annotated[float, ValueBounds(least=0)]] = field(default_factory=_weights)
    thresholds: dict[str, Annotated[float, ValueBounds(above=0, most=1)]] = field(
        default_factory=_thresholds
    )
    uneven: Annotated[float, ValueBounds(least=0)] = 1.0
    negligible: Annotated[float, ValueBounds(least=0, most=1)] = 0.01
    assume: bool = True

    def check(self, place: decoding.Field) -> None:
        """Refuse weights that are all 0."""
        if not any(self.weights.values()):
            raise place["weights"].refuse("must contain at least one weight > 0")


class LoadAware:
    """The term ``load-aware`` with its parameters."""

    def __init__(self, parameters: LoadAwareParameters | None = None) -> None:
        self._parameters = parameters or LoadAwareParameters()
        own = self._parameters
        self._names = tuple(dict.fromkeys((*own.weights, *own.thresholds)))
        self._weights = np.array([own.weights.get(name, 0.0) for name in self._names])
        self._limits = np.array([own.thresholds.get(name, np.inf) for name in self._names])

    @property
    def name(self) -> str:
        """The name users write."""
        return NAME

    def weigh(
        self, pod: pods.Pod, state: states.ClusterState, loads: protocol.Loads, rows: Ints
    ) -> protocol.TermScores:
        """Filter and score candidates."""
        after, offered = self._after(pod, state, loads, rows)
        over = offered & (after > self._limits + _EQUAL)
        passes: Bools = ~np.logical_or.reduce(over, axis=1)
        weights = np.where(offered, self._weights, 0.0)
        total = np.maximum(weights.sum(axis=1), np.finfo(np.float64).tiny)
        mean = (weights * after).sum(axis=1) / total
        squares = (weights * (after - mean[:, None]) ** 2).sum(axis=1) / total
        uneven = self._parameters.uneven * np.sqrt(squares)
        scores = np.zeros(len(rows))
        scores[passes] = protocol.stretch(-(mean + uneven)[passes], self._parameters.negligible)

        def explain(position: int) -> str:
            return ", ".join(
                f"{name} load would be at {after[position, j]:.1%}, at most {limit:.0%} is allowed"
                for j, (name, limit) in enumerate(zip(self._names, self._limits, strict=True))
                if over[position, j]
            )

        parts = {
            name: np.where(offered[:, j], 1.0 - after[:, j], 0.0)
            for j, name in enumerate(self._names)
            if self._weights[j] > 0.0 and offered[:, j].any()
        }
        if self._parameters.uneven > 0.0:
            parts[UNEVEN] = uneven
        if not offered.all():
            parts[LEFT_OUT] = (~offered).sum(axis=1).astype(np.float64)
        return protocol.TermScores(passes, scores, parts, explain)

    def _after(
        self, pod: pods.Pod, state: states.ClusterState, loads: protocol.Loads, rows: Ints
    ) -> tuple[Floats, Bools]:
        """Return load shares with the pod, and which resources nodes offer."""
        columns = [state.columns.get(name, -1) for name in self._names]
        known = np.array(columns) >= 0
        capacity = np.where(known, state.allocatable[rows][:, columns], 0).astype(np.float64)
        offered = capacity > 0.0
        expected = usage_estimates.estimate_usage(pod)
        demand = np.array([expected.get(name, 0) for name in self._names], dtype=np.float64)
        load = loads.total(state, assume=self._parameters.assume)[rows][:, columns]
        return np.where(offered, (load + demand) / np.where(offered, capacity, 1.0), 0.0), offered
