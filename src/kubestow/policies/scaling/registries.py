"""Scalers by name, for scenario, command line and live operator alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kubestow.model import errors
from kubestow.policies.scaling import decisions, hpas, legacy_hpas, statics, thresholds
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
    """

    name: str
    summary: str
    parameters: type
    make: Callable[[specs.AutoscalerSpec, Any], AnyScaler]


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
