"""An exact model of the Vertical Pod Autoscaler, by release: recommender, capping, actuation."""

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
from kubestow.policies.sizing.vpa.recommendations import VpaRecommendation
from kubestow.policies.sizing.vpa.recommender import (
    VPA,
    EstimateTable,
    VpaBank,
    VpaEstimator,
    VpaParameters,
    present,
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
    "VpaBank",
    "VpaEstimator",
    "VpaParameters",
    "VpaRecommendation",
    "admit",
    "plan_updates",
    "present",
    "update_priority",
]
