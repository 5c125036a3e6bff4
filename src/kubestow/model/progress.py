"""How long work reports its progress: one callback for all of it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, float, str], None]
"""Called with what is done, the total in the same unit, and what was finished or goes on."""


def ignore(done: float, total: float, label: str) -> None:
    """Report nothing."""
