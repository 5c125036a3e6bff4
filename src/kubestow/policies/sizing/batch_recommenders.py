"""Recommenders made of an estimator: history of one workload in, recommendation out."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from kubestow.model import quantities, resources
from kubestow.model.quantities import Quantity
from kubestow.policies.sizing import (
    batches,
    container_policies,
    estimates,
    histories,
    protocols,
    recommendations,
)


@dataclass(frozen=True, slots=True)
class BatchRecommender:
    """Any estimator as a recommender.

    Attributes:
        estimator: Works out the amounts.
        parameters: Its parameters, for the record.
    """

    estimator: estimates.Estimator
    parameters: Any

    @property
    def name(self) -> str:
        """The name users write."""
        return self.estimator.name

    def recommend(
        self, history: histories.UsageHistory, context: protocols.SizingContext
    ) -> recommendations.Recommendation:
        """Return what each container should request; those without usage get nothing."""
        batch = batches.of_history(history, context.time_s)
        found = self.estimator.estimate(batch)
        sized = tuple(
            present(name, row, found, container_policies.find(context.policies, name))
            for row, name in enumerate(batch.names)
            if not container_policies.find(context.policies, name).off
        )
        return recommendations.Recommendation(
            context.workload,
            self.name,
            tuple(one for one in sized if one.target),
            context.time_s,
            parameters=lambda: dataclasses.asdict(self.parameters),
            numbers=lambda: {
                f"{name}/{key}": float(values[row])
                for key, values in found.numbers.items()
                for row, name in enumerate(batch.names)
            },
        )


def present(
    name: str, row: int, found: estimates.Estimates, policy: container_policies.ContainerPolicy
) -> recommendations.ContainerRecommendation:
    """Return the amounts of one container as quantities, rounded up to millicores and bytes."""

    def write(cpu_cores: float, memory_bytes: float) -> dict[str, Quantity]:
        amounts: dict[str, Quantity] = {}
        if resources.CPU in policy.controlled_resources and math.isfinite(cpu_cores):
            amounts[resources.CPU] = quantities.millis(_ceil(cpu_cores * 1000.0))
        if resources.MEMORY in policy.controlled_resources and math.isfinite(memory_bytes):
            amounts[resources.MEMORY] = quantities.units(
                _ceil(memory_bytes), quantities.Format.BINARY_SI
            )
        return amounts

    target = write(float(found.cpu_cores[row]), float(found.memory_bytes[row]))
    return recommendations.ContainerRecommendation(
        name,
        target,
        write(float(found.lower_cpu_cores[row]), float(found.lower_memory_bytes[row])),
        write(float(found.upper_cpu_cores[row]), float(found.upper_memory_bytes[row])),
        target,
    )


def _ceil(amount: float) -> int:
    # A millionth of a unit is noise of floating point, not usage.
    return max(math.ceil(amount - 1e-6), 0)
