"""Workloads of a cluster: inventory, usage, and patches of their requests."""

from kubestow.live.workloads.inventory import ClusterInventory, read_inventory
from kubestow.live.workloads.patches import apply_patches
from kubestow.live.workloads.usage_samples import UsageSampler, collect_samples

__all__ = ["ClusterInventory", "UsageSampler", "apply_patches", "collect_samples", "read_inventory"]
