"""Workloads of a cluster: inventory, usage, and patches of their requests."""

from kubestow.live.workloads.inventory import ClusterInventory, read_inventory
from kubestow.live.workloads.patches import apply_patches
from kubestow.live.workloads.prometheus_services import (
    PrometheusService,
    ServiceProxy,
    choose_service,
)
from kubestow.live.workloads.usage_samples import UsageSampler, collect_samples

__all__ = [
    "ClusterInventory",
    "PrometheusService",
    "ServiceProxy",
    "UsageSampler",
    "apply_patches",
    "choose_service",
    "collect_samples",
    "read_inventory",
]
