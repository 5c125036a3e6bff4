"""Recommenders by name: what scenarios, commands and custom resources may ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kubestow.model import errors
from kubestow.policies.sizing import keeping, protocols
from kubestow.policies.sizing.vpa import parameters as vpa_parameters
from kubestow.policies.sizing.vpa import recommenders as vpa_recommenders


@dataclass(frozen=True, slots=True)
class Entry:
    """A recommender that can be asked for.

    Attributes:
        name: The name users write.
        summary: One sentence on what it does.
        parameters: Its parameters, a frozen dataclass whose fields have defaults.
        make: Returns the recommender with given parameters.
    """

    name: str
    summary: str
    parameters: type[Any]
    make: Callable[[Any], protocols.Recommender]


_ALL = (
    Entry(
        keeping.NAME,
        "Leaves requests as they are.",
        keeping.KeepParameters,
        keeping.Keep,
    ),
    Entry(
        vpa_recommenders.NAME,
        "The Vertical Pod Autoscaler, exactly: decaying histograms, P90 and a margin of 15 %.",
        vpa_parameters.VpaParameters,
        vpa_recommenders.Vpa,
    ),
)

REGISTRY: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ALL})
"""All recommenders by name."""


def get(name: str) -> Entry:
    """Return a recommender by name.

    Raises:
        InputError: If there is none of that name.
    """
    if name not in REGISTRY:
        raise errors.InputError("recommender", f"{name!r}: must be one of {', '.join(REGISTRY)}")
    return REGISTRY[name]


def make(name: str, **parameters: Any) -> protocols.Recommender:
    """Return a recommender with parameters by keyword.

    Raises:
        InputError: If there is none of that name, or it has no such parameter.
    """
    entry = get(name)
    known = entry.parameters.__dataclass_fields__
    for keyword in parameters:
        if keyword not in known:
            raise errors.InputError(
                f"recommender {name}", f"{keyword!r}: must be one of {', '.join(known) or 'none'}"
            )
    return entry.make(entry.parameters(**parameters))
