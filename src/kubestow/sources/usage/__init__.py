"""Usage and inventory of containers, from files or from Prometheus.

The readers of files are loaded on first use: they bring Polars along.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kubestow.sources.usage.prometheus import (
    HISTORY_S,
    KRR_HISTORY_S,
    KRR_STEP_S,
    USAGE_STEP_S,
    UsageQuery,
    read_prometheus_usage,
)

if TYPE_CHECKING:
    from kubestow.sources.usage.files import read_usage_files
    from kubestow.sources.usage.inventory import read_inventory

__all__ = [
    "HISTORY_S",
    "KRR_HISTORY_S",
    "KRR_STEP_S",
    "USAGE_STEP_S",
    "UsageQuery",
    "read_inventory",
    "read_prometheus_usage",
    "read_usage_files",
]


_FILES = {"read_usage_files": "files", "read_inventory": "inventory"}


def __getattr__(name: str) -> Any:
    """Load a reader of files."""
    if name not in _FILES:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)
