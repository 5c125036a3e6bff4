"""Scalers by name, for scenarios, the command line and the live operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kubestow.policies import registries
from kubestow.policies.scaling import (
    ahead,
    decisions,
    demand,
    fitted_models,
    hpa,
    perfect,
    static,
    theses,
    threshold,
)

AnyScaler = decisions.Scaler[Any]


@dataclass(frozen=True, slots=True)
class ScalerEntry:
    """A scaler that can be chosen by name.

    Attributes:
        name: Its name.
        summary: One line for lists.
        parameters: The type of its parameters: a frozen dataclass with defaults.
        make: Makes it from a specification and parameters.
        reads: Further metrics it can use, besides those of the specification.
    """

    name: str
    summary: str
    parameters: type
    make: Callable[[hpa.AutoscalerSpec, Any], AnyScaler]
    reads: tuple[str, ...] = ()


# Requests per second measure demand while pods are saturated.
_EXTRA = (demand.RATE,)

SCALERS = registries.Registry(
    "scaler",
    ScalerEntry,
    (
        ScalerEntry("static", "a fixed number of replicas", static.StaticParameters, static.Static),
        ScalerEntry(
            "threshold",
            "steps above and below two levels",
            threshold.ThresholdParameters,
            threshold.Threshold,
        ),
        ScalerEntry("hpa", "the HorizontalPodAutoscaler, exactly", hpa.HpaParameters, hpa.Hpa),
        ScalerEntry(
            "hpa-legacy",
            "the autoscaler of 2016 with forbidden windows",
            theses.LegacyHpaParameters,
            theses.LegacyHpa,
        ),
        ScalerEntry(
            "derivative",
            "demand one start-up ahead by its derivative",
            ahead.DerivativeParameters,
            ahead.make_derivative,
            _EXTRA,
        ),
        ScalerEntry(
            "line-fit",
            "demand one start-up ahead by a line of best fit",
            ahead.LineFitParameters,
            ahead.make_line_fit,
            _EXTRA,
        ),
        *(
            ScalerEntry(
                name,
                f"demand one start-up ahead by {name}, while it has skill",
                fitted_models.ModelParameters,
                ahead.make_model_scaler(name),
                (*_EXTRA, "memory"),
            )
            for name in ahead.MODEL_SCALERS
        ),
        ScalerEntry(
            ahead.QUEUEING,
            "the fewest pods whose queue meets a response time",
            ahead.QueueingParameters,
            ahead.make_queueing,
            _EXTRA,
        ),
        ScalerEntry(
            ahead.RECEDING,
            "the cheapest plan over a horizon, one step at a time",
            ahead.RecedingParameters,
            ahead.make_receding,
            _EXTRA,
        ),
        ScalerEntry(
            perfect.NAME,
            "knows future demand: a yardstick, in the simulator only",
            perfect.PerfectParameters,
            perfect.Perfect,
        ),
        ScalerEntry(
            ahead.AUTO,
            "one start-up ahead, as far as the forecast has skill",
            ahead.AutoScalingParameters,
            ahead.make_auto,
            _EXTRA,
        ),
    ),
    group="kubestow.scalers",
)
"""All scalers by name."""
