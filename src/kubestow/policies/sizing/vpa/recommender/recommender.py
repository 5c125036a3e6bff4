"""The recommender ``vpa``: memory of a workload in, recommendation out.

The chain of ``pkg/recommender/routines/recommender.go`` (VPA 1.7): merge aggregates by container
name, leave out containers that are off, estimate, keep the controlled resources, round, round CPU
to whole cores where asked, cap to the policies.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from kubestow.model import quantities, resources
from kubestow.model.quantities import Quantity
from kubestow.policies.sizing import container_policies, histories, protocols, recommendations
from kubestow.policies.sizing.container_policies import ContainerPolicy
from kubestow.policies.sizing.recommendations import ContainerRecommendation
from kubestow.policies.sizing.vpa import capping
from kubestow.policies.sizing.vpa.recommender import amounts, estimators
from kubestow.policies.sizing.vpa.recommender import memory as recommender_memory
from kubestow.policies.sizing.vpa.recommender.aggregates import Aggregate
from kubestow.policies.sizing.vpa.recommender.estimators import Estimate
from kubestow.policies.sizing.vpa.recommender.memory import GatheringOf, VpaMemory
from kubestow.policies.sizing.vpa.recommender.parameters import Gathering, VpaParameters, gathering

VPA = "vpa"

_UNITS = (("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))


@dataclass(frozen=True, slots=True)
class Vpa:
    """The Vertical Pod Autoscaler's recommender, as pure functions of an explicit memory."""

    parameters: VpaParameters = field(default_factory=VpaParameters)
    name: str = VPA

    def begin(self, context: protocols.SizingContext) -> VpaMemory:
        """Return the memory of a workload nothing is known about."""
        del context
        return VpaMemory()

    def observe(
        self, memory: VpaMemory, news: histories.UsageNews, context: protocols.SizingContext
    ) -> VpaMemory:
        """Return the memory after some news; the old one stays as it is."""
        return recommender_memory.observe(memory, news, self.gathering_of(context.policies))

    def recommend_from(
        self, memory: VpaMemory, context: protocols.SizingContext
    ) -> recommendations.Recommendation:
        """Recommend requests from what is remembered."""
        histories_by_name = {
            name: part
            for name, part in sorted(memory.by_name(self.gathering_of(context.policies)).items())
            if not container_policies.find(context.policies, name).off
        }
        estimates = {
            name: estimators.estimate(part, self.parameters, len(histories_by_name))
            for name, part in histories_by_name.items()
        }
        return recommendations.Recommendation(
            context.workload,
            VPA,
            self.presented(estimates, context.policies),
            context.time_s,
            parameters=lambda: dataclasses.asdict(self.parameters),
            numbers=lambda: self._numbers(histories_by_name),
        )

    def recommend(
        self, history: histories.UsageHistory, context: protocols.SizingContext
    ) -> recommendations.Recommendation:
        """Recommend requests from a whole history, taken up in order of time."""
        memory = self.begin(context)
        for news in history.news(context.time_s):
            memory = self.observe(memory, news, context)
        return self.recommend_from(memory, context)

    def presented(
        self, estimates: Mapping[str, Estimate], policies: container_policies.Policies
    ) -> tuple[ContainerRecommendation, ...]:
        """Turn estimates into what stands in the status of a VPA object."""
        presented = tuple(
            self._presented(name, found, container_policies.find(policies, name))
            for name, found in sorted(estimates.items())
        )
        most = capping.from_amounts(
            self.parameters.max_allowed_cpu_m, self.parameters.max_allowed_memory_bytes
        )
        return capping.apply_policies(presented, policies, most)

    def gathering_of(self, policies: container_policies.Policies) -> GatheringOf:
        """Return how samples are gathered, by container name."""
        known: dict[str, Gathering] = {}

        def find(name: str) -> Gathering:
            if name not in known:
                policy = container_policies.find(policies, name)
                known[name] = gathering(self.parameters, policy)
            return known[name]

        return find

    def _presented(
        self, name: str, found: Estimate, policy: ContainerPolicy
    ) -> ContainerRecommendation:
        def present(cpu_m: int, memory_bytes: int) -> dict[str, Quantity]:
            values = {
                resources.CPU: self._cpu(cpu_m, policy),
                resources.MEMORY: self._memory(memory_bytes),
            }
            return {key: values[key] for key in policy.controlled_resources if key in values}

        target = present(found.target_cpu_m, found.target_memory_bytes)
        return ContainerRecommendation(
            name,
            target,
            present(found.lower_cpu_m, found.lower_memory_bytes),
            present(found.upper_cpu_m, found.upper_memory_bytes),
            target,
        )

    def _cpu(self, cpu_m: int, policy: ContainerPolicy) -> Quantity:
        if self.parameters.round_cpu_m != 1:
            cpu_m = amounts.round_up(cpu_m, self.parameters.round_cpu_m)
        if self.parameters.integer_cpu and policy.integer_cpu:
            cpu_m = amounts.whole_cores_m(cpu_m)
        return quantities.millis(cpu_m)

    def _memory(self, memory_bytes: int) -> Quantity:
        if self.parameters.round_memory_bytes != 1:
            memory_bytes = amounts.round_up(memory_bytes, self.parameters.round_memory_bytes)
        if self.parameters.humanize_memory and memory_bytes:
            return quantities.parse(humanized(memory_bytes))
        return quantities.units(memory_bytes, quantities.Format.BINARY_SI)

    def _numbers(self, parts: Mapping[str, Aggregate]) -> dict[str, float]:
        numbers = {}
        for name, part in parts.items():
            trust = estimators.confidence(part, self.parameters.cpu_confidence_s)
            numbers[f"{name}/samples"] = float(part.count)
            numbers[f"{name}/confidence_days"] = trust
        return numbers


def humanized(memory_bytes: int) -> str:
    """Write memory with two decimals and a binary unit.

    >>> humanized(1_572_864), humanized(1000)
    ('1.50Mi', '1000')
    """
    for unit, shift in _UNITS:
        if memory_bytes >= 1 << shift:
            return f"{memory_bytes / (1 << shift):.2f}{unit}"
    return str(memory_bytes)
