"""Scalers by name, for scenario, command line and live operator alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kubestow.model import errors
from kubestow.policies.scaling import (
    autos,
    decisions,
    demands,
    hpas,
    legacy_hpas,
    model_scalers,
    modellers,
    perfects,
    queueing,
    receding,
    statics,
    thresholds,
    trend_scalers,
)
from kubestow.policies.scaling import specifications as specs

AnyScaler = decisions.Scaler[Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A scaler that can be chosen by name.

    Attributes:
        name: Its name.
        summary: One line for lists.
        parameters: The type of its parameters: a frozen dataclass with defaults.
        make: Makes it from a specification and parameters.
        reads: Metrics it knows how to use beside those of the specification.
    """

    name: str
    summary: str
    parameters: type
    make: Callable[[specs.AutoscalerSpec, Any], AnyScaler]
    reads: tuple[str, ...] = ()


# Requests per second tell of demand while pods are saturated.
_EXTRA = (demands.RATE,)

registry: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("static", "a fixed number of replicas", statics.StaticParameters, statics.Static),
        Entry(
            "threshold",
            "steps above and below two levels",
            thresholds.ThresholdParameters,
            thresholds.Threshold,
        ),
        Entry("hpa", "the HorizontalPodAutoscaler, exactly", hpas.HpaParameters, hpas.Hpa),
        Entry(
            "hpa-legacy",
            "the autoscaler of 2016 with forbidden windows",
            legacy_hpas.LegacyParameters,
            legacy_hpas.LegacyHpa,
        ),
        Entry(
            "derivative",
            "demand one start-up ahead by its derivative",
            trend_scalers.DerivativeParameters,
            trend_scalers.make_derivative,
            _EXTRA,
        ),
        Entry(
            "line-fit",
            "demand one start-up ahead by a line of best fit",
            trend_scalers.LineFitParameters,
            trend_scalers.make_line_fit,
            _EXTRA,
        ),
        *(
            Entry(
                name,
                f"demand one start-up ahead by {name}, while it has skill",
                modellers.ModelParameters,
                model_scalers.make(name),
                (*_EXTRA, "memory"),
            )
            for name in model_scalers.NAMES
        ),
        Entry(
            queueing.NAME,
            "the fewest pods whose queue meets a response time",
            queueing.QueueingParameters,
            queueing.make,
            _EXTRA,
        ),
        Entry(
            receding.NAME,
            "the cheapest plan over a horizon, one step at a time",
            receding.RecedingParameters,
            receding.make,
            _EXTRA,
        ),
        Entry(
            perfects.NAME,
            "knows the demand to come: a yardstick, in the simulator only",
            perfects.PerfectParameters,
            perfects.Perfect,
        ),
        Entry(
            autos.NAME,
            "one start-up ahead, as far as the forecast has skill",
            autos.AutoParameters,
            autos.make,
            _EXTRA,
        ),
    )
}


def find(name: str) -> Entry:
    """Return a scaler by its name.

    Raises:
        InputError: If there is none of that name.
    """
    if name not in registry:
        raise errors.InputError("scaler", f"{name!r}: expected one of {', '.join(registry)}")
    return registry[name]
