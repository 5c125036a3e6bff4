"""Capping of VPA recommendations: container policies, LimitRanges, proportional limits."""

from kubestow.policies.sizing.vpa.capping.capping import apply_policies, cap_for_pod, from_amounts
from kubestow.policies.sizing.vpa.capping.limit_scaling import proportional_limits
from kubestow.policies.sizing.vpa.capping.pod_limits import PodContainer

__all__ = ["PodContainer", "apply_policies", "cap_for_pod", "from_amounts", "proportional_limits"]
