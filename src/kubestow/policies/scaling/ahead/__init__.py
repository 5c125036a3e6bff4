"""Predictive scalers: they order pods one start-up time ahead, within the rules of an HPA."""

from kubestow.policies.scaling.ahead.auto import AUTO, AutoScalingParameters, make_auto
from kubestow.policies.scaling.ahead.models import MODEL_SCALERS, make_model_scaler
from kubestow.policies.scaling.ahead.queueing import QUEUEING, QueueingParameters, make_queueing
from kubestow.policies.scaling.ahead.receding import RECEDING, RecedingParameters, make_receding
from kubestow.policies.scaling.ahead.trends import (
    DerivativeParameters,
    LineFitParameters,
    make_derivative,
    make_line_fit,
)

__all__ = [
    "AUTO",
    "MODEL_SCALERS",
    "QUEUEING",
    "RECEDING",
    "AutoScalingParameters",
    "DerivativeParameters",
    "LineFitParameters",
    "QueueingParameters",
    "RecedingParameters",
    "make_auto",
    "make_derivative",
    "make_line_fit",
    "make_model_scaler",
    "make_queueing",
    "make_receding",
]
