"""Data of the figures on the drain (Figs 6.2 to 6.4): histograms, scatter plot, pending time.

They are part of results.json; ``page`` draws them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from kubestow.studies.schubert.limits import drain_rows
from kubestow.studies.schubert.limits.drain import FIXED, RECOMMENDED, SPREADING, DrainRun, NodeRow
from kubestow.workflows import comparing

Row = dict[str, Any]

QUANTITIES: Final = {
    "requested_memory": ("memory requested (GiB)", 4.0, 48.0),
    "used_memory": ("memory used (GiB)", 4.0, 48.0),
    "requested_cpu": ("CPU requested (cores)", 0.5, 8.0),
    "used_cpu": ("CPU used (cores)", 0.5, 8.0),
}
"""Title, width of a bin, and end of the axis."""

SHOWN: Final = (
    (SPREADING, "before"),
    (SPREADING, "after"),
    (RECOMMENDED, "after"),
    (FIXED, "after"),
)
"""Before; the drain alone, as a control; and both packing profiles."""


def make_runs(records: Sequence[DrainRun]) -> list[Row]:
    """Return the main numbers of every run."""
    return [
        {
            "setting": run.setting,
            "profile": run.profile,
            "seed": run.seed,
            "near_empty_before": drain_rows.near_empty(run.before),
            "near_empty_after": drain_rows.near_empty(run.after),
            "big_pods_pending_s": run.pending_s,
            "longest_wait_s": run.longest_s,
            "big_pods_unschedulable": run.unschedulable,
            "all_pods_pending_s": run.pending_all_s,
            "pods_pending_at_end": run.pending_at_end,
            "nodes_drained": run.drained,
            "drain_hours": run.drain_hours,
        }
        for run in records
    ]


def make_histograms(records: Sequence[DrainRun]) -> list[Row]:
    """Return mean numbers of nodes per bin, for every quantity, setting and state shown."""
    rows = []
    for setting in dict.fromkeys(run.setting for run in records):
        runs = drain_rows.by_profile(records, setting)
        for profile, state in SHOWN:
            if profile in runs:
                sides = [getattr(run, state) for run in runs[profile]]
                head = {"setting": setting, "profile": profile, "state": state}
                rows += [{**head, **bins(sides, name)} for name in QUANTITIES]
    return rows


def bins(sides: Sequence[Sequence[NodeRow]], name: str) -> Row:
    """Return the histogram of one quantity over the nodes of several runs.

    A value on an edge belongs to the bin below, so that a full node is in the last bin.
    """
    _, width, end = QUANTITIES[name]
    counts = np.zeros(round(end / width))
    for nodes in sides:
        values = np.array([getattr(node, name) for node in nodes])
        at = np.clip(np.ceil(values / width - 1e-9).astype(int) - 1, 0, len(counts) - 1)
        counts += np.bincount(at, minlength=len(counts))
    return {
        "quantity": name,
        "bin_width": width,
        "nodes": [comparing.rounded(value) for value in (counts / len(sides)).tolist()],
    }


def make_nodes(records: Sequence[DrainRun], seed: int) -> list[Row]:
    """Return the nodes of one seed, for the scatter plot of usage over requests."""
    return [
        {
            "setting": run.setting,
            "profile": run.profile,
            "state": state,
            **{name: getattr(node, name) for name in QUANTITIES},
            "big": node.big,
        }
        for run in records
        for profile, state in SHOWN
        if run.profile == profile and run.seed == seed
        for node in getattr(run, state)
    ]
