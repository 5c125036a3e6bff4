"""Scalers as Shi 2023 and McNaughton 2016 print them; the corrected versions live in ``ahead``."""

from kubestow.policies.scaling.theses.legacy_hpa import LegacyHpa, LegacyHpaParameters
from kubestow.policies.scaling.theses.legacy_predictors import (
    LegacyPredictive,
    derivative,
    line_of_best_fit,
)
from kubestow.policies.scaling.theses.printed_models import StrictModel
from kubestow.policies.scaling.theses.utilization import utilization_level

__all__ = [
    "LegacyHpa",
    "LegacyHpaParameters",
    "LegacyPredictive",
    "StrictModel",
    "derivative",
    "line_of_best_fit",
    "utilization_level",
]
