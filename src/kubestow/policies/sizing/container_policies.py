"""Policies per container that users set for any recommender, with the fields of the VPA's API.

The fields are those of ``ContainerResourcePolicy`` of ``autoscaling.k8s.io/v1`` (VPA 1.7). A
policy named ``*`` applies to all containers without their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from kubestow.model import resources

EVERY: Final = "*"

ControlledValues = Literal["RequestsAndLimits", "RequestsOnly"]


@dataclass(frozen=True, slots=True)
class ContainerPolicy:
    """The policy of one container.

    Attributes:
        container: Name of the container, or ``*``.
        off: Do not recommend anything (``mode: Off``).
        min_allowed: Smallest requests; a quantity of 0 means no bound.
        max_allowed: Largest requests; a quantity of 0 means no bound.
        controlled_resources: Resources that get a recommendation.
        controlled_values: Whether limits follow the requests in proportion.
        oom_bump_ratio: Growth after an OOM kill; needs ``per_vpa_config``.
        oom_min_bump_bytes: Least growth after an OOM kill; needs ``per_vpa_config``.
        memory_interval_s: Length of a memory interval; needs ``per_vpa_config``.
        memory_interval_count: Number of memory intervals; needs ``per_vpa_config``.
        integer_cpu: Round CPU up to whole cores (the annotation of the integer post-processor).
    """

    container: str = EVERY
    off: bool = False
    min_allowed: resources.ResourceList = field(default_factory=dict)
    max_allowed: resources.ResourceList = field(default_factory=dict)
    controlled_resources: tuple[str, ...] = (resources.CPU, resources.MEMORY)
    controlled_values: ControlledValues = "RequestsAndLimits"
    oom_bump_ratio: float | None = None
    oom_min_bump_bytes: float | None = None
    memory_interval_s: float | None = None
    memory_interval_count: int | None = None
    integer_cpu: bool = False


Policies = tuple[ContainerPolicy, ...]

_PLAIN = ContainerPolicy()


def find(policies: Policies, container: str) -> ContainerPolicy:
    """Return the policy of a container: its own, else that of ``*``, else the default."""
    for name in (container, EVERY):
        for policy in policies:
            if policy.container == name:
                return policy
    return _PLAIN
