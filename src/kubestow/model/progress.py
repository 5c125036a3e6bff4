"""The callback by which long-running work reports progress."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, float, str], None]
"""Called with the work done, the total in the same unit, and the finished or current task."""


def ignore(done: float, total: float, label: str) -> None:
    """Report nothing."""
