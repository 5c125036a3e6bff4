"""The Vertical Pod Autoscaler, exactly and by release: recommender, capping, actuation."""

from kubestow.policies.sizing.vpa.actuation import (
    ResizeCondition,
    Termination,
    UpdateCase,
    UpdateMode,
    UpdatePolicy,
    UpdaterMemory,
    UpdaterParameters,
    UpdaterPod,
    admit,
    plan_updates,
    update_priority,
)
from kubestow.policies.sizing.vpa.capping import PodContainer
from kubestow.policies.sizing.vpa.recommender import (
    VPA,
    EstimateTable,
    Vpa,
    VpaBank,
    VpaEstimator,
    VpaParameters,
)

__all__ = [
    "VPA",
    "EstimateTable",
    "PodContainer",
    "ResizeCondition",
    "Termination",
    "UpdateCase",
    "UpdateMode",
    "UpdatePolicy",
    "UpdaterMemory",
    "UpdaterParameters",
    "UpdaterPod",
    "Vpa",
    "VpaBank",
    "VpaEstimator",
    "VpaParameters",
    "admit",
    "plan_updates",
    "update_priority",
]
