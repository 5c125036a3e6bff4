"""Usage and inventory of containers, from files or from Prometheus."""

from kubestow.sources.usage.files import read_usage_files
from kubestow.sources.usage.inventory import read_inventory
from kubestow.sources.usage.prometheus import (
    HISTORY_S,
    KRR_HISTORY_S,
    KRR_STEP_S,
    USAGE_STEP_S,
    UsageQuery,
    read_prometheus_usage,
)

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
