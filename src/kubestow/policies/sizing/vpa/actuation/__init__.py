"""Applying VPA recommendations to pods: admission, update priorities, evictions and resizes."""

from kubestow.policies.sizing.vpa.actuation.admission import admit
from kubestow.policies.sizing.vpa.actuation.pods import ResizeCondition, Termination, UpdaterPod
from kubestow.policies.sizing.vpa.actuation.policies import (
    UpdateMode,
    UpdatePolicy,
    UpdaterParameters,
)
from kubestow.policies.sizing.vpa.actuation.priorities import update_priority
from kubestow.policies.sizing.vpa.actuation.updates import UpdateCase, UpdaterMemory, plan_updates

__all__ = [
    "ResizeCondition",
    "Termination",
    "UpdateCase",
    "UpdateMode",
    "UpdatePolicy",
    "UpdaterMemory",
    "UpdaterParameters",
    "UpdaterPod",
    "admit",
    "plan_updates",
    "update_priority",
]
