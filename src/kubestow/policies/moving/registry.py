"""Movers by name, for scenarios and commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kubestow.policies import registries
from kubestow.policies.moving import compaction, plans


@dataclass(frozen=True, slots=True)
class MoverEntry:
    """A registered mover.

    Attributes:
        name: The name users write.
        summary: One sentence on what it does.
        parameters: Its parameters, a frozen dataclass with defaults.
        make: Returns the mover with given parameters.
    """

    name: str
    summary: str
    parameters: type[Any]
    make: Callable[[Any], plans.Mover]


MOVERS = registries.Registry(
    "mover",
    MoverEntry,
    (
        MoverEntry(
            compaction.NAME,
            "Drains nodes with low requests, if their pods fit elsewhere.",
            compaction.CompactParameters,
            compaction.Compact,
        ),
    ),
    group="kubestow.movers",
)
"""All movers by name."""
