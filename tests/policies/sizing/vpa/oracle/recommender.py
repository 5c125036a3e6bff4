"""The recommender of one workload: memory in, recommendation out.

The chain of ``pkg/recommender/routines/recommender.go`` (VPA 1.7): merge aggregates by container
name, leave out containers that are off, estimate, present.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kubestow.policies.sizing import container_policies
from kubestow.policies.sizing.container_policies import ContainerPolicy, Policies
from kubestow.policies.sizing.vpa.recommendations import VpaRecommendation
from kubestow.policies.sizing.vpa.recommender import status
from kubestow.policies.sizing.vpa.recommender.parameters import Gathering, VpaParameters, gathering
from tests.policies.sizing.vpa.oracle import estimators, instants, memory, news
from tests.policies.sizing.vpa.oracle.memory import GatheringOf, VpaMemory


@dataclass(frozen=True, slots=True)
class ScalarVpa:
    """The Vertical Pod Autoscaler's recommender, as pure functions of an explicit memory.

    Attributes:
        parameters: As upstream's flags.
        policies: What the user allows per container.
    """

    parameters: VpaParameters = field(default_factory=VpaParameters)
    policies: Policies = ()

    def observe(self, before: VpaMemory, given: news.UsageNews) -> VpaMemory:
        """Return the memory after some news; the old one stays as it is."""
        return memory.observe(before, given, self.gathering)

    def recommend(self, remembered: VpaMemory) -> tuple[VpaRecommendation, ...]:
        """Recommend requests from what is remembered."""
        parts = {
            name: part
            for name, part in sorted(remembered.by_name(self.gathering).items())
            if not container_policies.find(self.policies, name).off
        }
        estimates = {
            name: estimators.estimate(part, self.parameters, len(parts))
            for name, part in parts.items()
        }
        return status.present(estimates, self.parameters, self.policies)

    @property
    def gathering(self) -> GatheringOf:
        """How samples are gathered, by container name."""
        known: dict[str, Gathering] = {}

        def find(name: str) -> Gathering:
            if name not in known:
                policy = container_policies.find(self.policies, name)
                known[name] = gathering_of(self.parameters, policy)
            return known[name]

        return find


def gathering_of(parameters: VpaParameters, policy: ContainerPolicy) -> Gathering:
    """Return how the samples of a container with a policy are gathered (PerVPAConfig)."""
    result = gathering(parameters)
    if not parameters.per_vpa_config:
        return result
    interval_ns = instants.from_seconds(policy.memory_interval_s or parameters.memory_interval_s)
    ratio, least = policy.oom_bump_ratio, policy.oom_min_bump_bytes
    return replace(
        result,
        interval_ns=interval_ns,
        window_ns=interval_ns * (policy.memory_interval_count or parameters.memory_interval_count),
        oom_ratio=result.oom_ratio if ratio is None else ratio,
        oom_min_bytes=result.oom_min_bytes if least is None else least,
    )
