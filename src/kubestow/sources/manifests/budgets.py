"""Reads PodDisruptionBudgets."""

from __future__ import annotations

from kubestow.model import affinities, decoding, workloads


def read_budget(entry: decoding.Field) -> workloads.DisruptionBudget:
    """Read a PodDisruptionBudget; before a controller has set its status it allows no eviction."""
    metadata, status = entry["metadata"], entry["status"]
    return workloads.DisruptionBudget(
        name=metadata["name"].text(),
        namespace=metadata["namespace"].text("") or "default",
        selector=affinities.label_selector(entry["spec"]["selector"]),
        allowed=status["disruptionsAllowed"].integer(0),
        disrupted=frozenset(status["disruptedPods"].mapping()),
    )
