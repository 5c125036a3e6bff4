"""Convert estimates to the status of a VPA object.

The last steps of ``pkg/recommender/routines/recommender.go`` (VPA 1.7): keep the controlled
resources, round, round CPU to whole cores where configured, cap to the policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubestow.model import quantities, resources
from kubestow.model.quantities import Quantity
from kubestow.policies.sizing import container_policies
from kubestow.policies.sizing.container_policies import ContainerPolicy
from kubestow.policies.sizing.vpa import capping
from kubestow.policies.sizing.vpa.recommendations import VpaRecommendation
from kubestow.policies.sizing.vpa.recommender import amounts
from kubestow.policies.sizing.vpa.recommender.banks import Estimate
from kubestow.policies.sizing.vpa.recommender.parameters import VpaParameters

_UNITS: Final = (("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))


def present(
    estimates: Mapping[str, Estimate],
    parameters: VpaParameters,
    policies: container_policies.Policies = (),
) -> tuple[VpaRecommendation, ...]:
    """Return the recommendations for the status of a VPA object.

    Args:
        estimates: Target and bounds by container name.
        parameters: Rounding, and upper bounds of any container.
        policies: The user's policies per container.
    """
    presented = tuple(
        _present(name, estimate, parameters, container_policies.find(policies, name))
        for name, estimate in sorted(estimates.items())
    )
    most = capping.from_amounts(parameters.max_allowed_cpu_m, parameters.max_allowed_memory_bytes)
    return capping.apply_policies(presented, policies, most)


def _present(
    name: str, estimate: Estimate, parameters: VpaParameters, policy: ContainerPolicy
) -> VpaRecommendation:
    def write(cpu_m: int, memory_bytes: int) -> dict[str, Quantity]:
        values = {
            resources.CPU: _cpu(cpu_m, parameters, policy),
            resources.MEMORY: _memory(memory_bytes, parameters),
        }
        return {key: values[key] for key in policy.controlled_resources if key in values}

    target = write(estimate.target_cpu_m, estimate.target_memory_bytes)
    return VpaRecommendation(
        name,
        target,
        write(estimate.lower_cpu_m, estimate.lower_memory_bytes),
        write(estimate.upper_cpu_m, estimate.upper_memory_bytes),
        target,
    )


def _cpu(cpu_m: int, parameters: VpaParameters, policy: ContainerPolicy) -> Quantity:
    if parameters.round_cpu_m != 1:
        cpu_m = amounts.round_up(cpu_m, parameters.round_cpu_m)
    if parameters.integer_cpu and policy.integer_cpu:
        cpu_m = amounts.whole_cores_m(cpu_m)
    return quantities.millis(cpu_m)


def _memory(memory_bytes: int, parameters: VpaParameters) -> Quantity:
    if parameters.round_memory_bytes != 1:
        memory_bytes = amounts.round_up(memory_bytes, parameters.round_memory_bytes)
    if parameters.humanize_memory and memory_bytes:
        return quantities.parse(humanize(memory_bytes))
    return quantities.units(memory_bytes, quantities.Format.BINARY_SI)


def humanize(memory_bytes: int) -> str:
    """Format memory with two decimals and a binary unit.

    >>> humanize(1_572_864), humanize(1000)
    ('1.50Mi', '1000')
    """
    for unit, shift in _UNITS:
        if memory_bytes >= 1 << shift:
            return f"{memory_bytes / (1 << shift):.2f}{unit}"
    return str(memory_bytes)
