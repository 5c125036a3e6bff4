"""Usage of containers, from files or from Prometheus, with what is known beside it."""

from kubestow.sources.usage.files import read_usage_files
from kubestow.sources.usage.inventory import read_inventory
from kubestow.sources.usage.prometheus import USAGE_STEP_S, UsageQuery, read_prometheus_usage

__all__ = [
    "USAGE_STEP_S",
    "UsageQuery",
    "read_inventory",
    "read_prometheus_usage",
    "read_usage_files",
]
