"""The admission webhook: sets learned requests on new pods."""

from kubestow.live.admission.app import COMPONENT, AdmissionOptions, assemble_admission
from kubestow.live.admission.handler import DEADLINE_S
from kubestow.live.admission.manifests import cluster_rules, webhook_configuration
from kubestow.live.admission.policy import (
    CHANGED,
    MANAGED_LABEL,
    WOULD_CHANGE,
    AdmissionPolicy,
    LimitRule,
)

__all__ = [
    "CHANGED",
    "COMPONENT",
    "DEADLINE_S",
    "MANAGED_LABEL",
    "WOULD_CHANGE",
    "AdmissionOptions",
    "AdmissionPolicy",
    "LimitRule",
    "assemble_admission",
    "cluster_rules",
    "webhook_configuration",
]
