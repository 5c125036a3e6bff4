"""The recommender ``keep``: leave requests unchanged; the baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass

NAME = "keep"


@dataclass(frozen=True, slots=True)
class KeepParameters:
    """``keep`` has no parameters."""
