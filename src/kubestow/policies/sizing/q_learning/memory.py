"""The memory of ``q-learning`` for a container, and its input for a run.

The thesis keeps tables in a database, one row per state (Böttcher 2023, 3.6); here they are plain
values for any store. Beyond the thesis the statistics of the last runs are kept as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from kubestow.model import decoding
from kubestow.model.arrays import Floats
from kubestow.policies.sizing.q_learning import tables

_PLACE: Final = "q-learning memory"
_NOTHING: Final = np.zeros((0, len(tables.ACTIONS)))


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """Usage of one resource in one run, in units of the grid.

    Attributes:
        average: Average usage.
        largest: Largest usage.
        failed: The request, if it was too small (OOM kill, throttling); else 0.
    """

    average: float
    largest: float
    failed: float = 0.0


@dataclass(frozen=True, slots=True)
class RunStatistics:
    """Usage of a run in millicores and megabytes of 10^6 bytes; ``None`` if not measured."""

    cpu: ResourceUse | None = None
    memory: ResourceUse | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AgentMemory:
    """The memory of one agent.

    Attributes:
        request: Current request; ``None`` if there is none.
        values: Its table, a row per state from one step on; empty before training.
        averages: Average usage of the last runs, oldest first.
        maxima: Largest usage of the last runs, oldest first.
        failures: Requests of runs that were short, oldest first; 0 for the others.
    """

    request: float | None = None
    values: Floats = field(default_factory=lambda: _NOTHING)
    averages: tuple[float, ...] = ()
    maxima: tuple[float, ...] = ()
    failures: tuple[float, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values; the table as in the thesis, by index of the state."""
        states = [dict(zip(tables.ACTIONS, row, strict=True)) for row in self.values.tolist()]
        return {
            "request": self.request,
            "states": states,
            "averages": list(self.averages),
            "maxima": list(self.maxima),
            "failures": list(self.failures),
        }

    @classmethod
    def read(cls, value: decoding.Field) -> AgentMemory:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: If the value is anything else.
        """
        rows = [
            [row[action].number() for action in tables.ACTIONS] for row in value["states"].items()
        ]
        request = value["request"]
        return cls(
            None if request.missing else request.number(),
            np.array(rows, dtype=np.float64).reshape(-1, len(tables.ACTIONS)),
            _numbers(value["averages"]),
            _numbers(value["maxima"]),
            () if value["failures"].missing else _numbers(value["failures"]),
        )


def _numbers(values: decoding.Field) -> tuple[float, ...]:
    return tuple(item.number() for item in values.items())


@dataclass(frozen=True, slots=True, eq=False)
class QMemory:
    """The memory of one container: one agent per resource."""

    cpu: AgentMemory = field(default_factory=AgentMemory)
    memory: AgentMemory = field(default_factory=AgentMemory)

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return {"cpu": self.cpu.as_json(), "memory": self.memory.as_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> QMemory:
        """Return the memory that ``as_json`` wrote.

        Raises:
            InputError: If the value is anything else.
        """
        read = decoding.Field(dict(value), _PLACE)
        return cls(AgentMemory.read(read["cpu"]), AgentMemory.read(read["memory"]))


@dataclass(frozen=True, slots=True)
class QRequest:
    """Requests of a container in millicores and megabytes; ``None`` if nothing is known."""

    cpu_m: float | None
    memory_mb: float | None
