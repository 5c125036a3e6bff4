"""Statements of Schubert 2023 about its demonstration (6.1, E12), checked on simulated runs.

Every statement is a row per setting and profile. Seeds are the replicates: profiles have the same
pods per seed, so differences are paired. The thesis gives no numbers for its histograms; the limits
of 40.8 GiB and 6.8 cores and the 13 pods of 4 cores are from the thesis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from kubestow.studies.schubert.limits.drain import (
    FIXED,
    MAINTENANCE,
    RECOMMENDED,
    SPREADING,
    DrainRun,
    NodeRow,
)
from kubestow.workflows import comparing

Row = dict[str, Any]
Runs = Mapping[str, Sequence[DrainRun]]

MEMORY_GIB: Final = 48.0
CORES: Final = 8.0
LIMIT: Final = 0.85
ENFORCED: Final = 0.86
"""kube-scheduler rounds down to whole percents: 85.99 % counts as 85 in its score function."""

BIG_PODS: Final = 13

RULES: Final = {
    "more-near-empty": "nodes with DaemonSet pods only, after the drain under the profile, against "
    "kube-scheduler before the drain and after it: reproduced if both paired 95 % intervals over "
    "seeds lie above zero",
    "not-zero": "reproduced if no node requests less than the DaemonSets do, in any seed",
    "none-above": "reproduced if no node is above 85 % of 48 GiB (40.8 GiB) in any seed",
    "few-and-explained": "nodes that request more than 6.8 cores: reproduced if there are some, at "
    "most as many as big pods (13), and each has a 4-core pod (3 cores of DaemonSets + 4 = 7)",
    "paired-pending": "pod-seconds that big pods wait, profile minus kube-scheduler: reproduced if "
    "the paired 95 % interval over seeds lies below zero and no big pod was unschedulable under "
    "the profile",
}


def make_rows(records: Sequence[DrainRun]) -> list[Row]:
    """Return all statements with verdicts, setting by setting."""
    rows = []
    for setting in dict.fromkeys(run.setting for run in records):
        runs = by_profile(records, setting)
        if setting == MAINTENANCE.name:
            packing = [profile for profile in runs if profile != SPREADING]
            rows += [pending_row(runs, profile, setting) for profile in packing]
            continue
        for profile in (name for name in (RECOMMENDED, FIXED) if name in runs):
            rows += _demonstration_rows(runs, profile, setting)
    return rows


def by_profile(records: Sequence[DrainRun], setting: str) -> dict[str, list[DrainRun]]:
    """Return the runs of a setting by profile, in the order of seeds."""
    runs: dict[str, list[DrainRun]] = {}
    for run in records:
        if run.setting == setting:
            runs.setdefault(run.profile, []).append(run)
    return {name: sorted(some, key=lambda run: run.seed) for name, some in runs.items()}


def _demonstration_rows(runs: Runs, profile: str, setting: str) -> list[Row]:
    return [
        near_empty_row(runs, profile, setting),
        floor_row(runs, profile, setting),
        memory_row(runs, profile, setting, "requested"),
        memory_row(runs, profile, setting, "used"),
        cpu_row(runs, profile, setting),
    ]


def _head(setting: str, profile: str, statement: str, thesis: Any, rule: str) -> Row:
    return {
        "experiment": "E12",
        "setting": setting,
        "profile": profile,
        "statement": f"{statement} ({profile}, {setting})",
        "thesis": thesis,
        "rule": rule,
    }


def _summary(values: Sequence[float]) -> Row:
    summary = comparing.summarise_pairs(np.array(values, dtype=np.float64))
    half = summary.half_width or 0.0
    return {
        "mean": comparing.rounded(summary.mean),
        "interval": [
            comparing.rounded(summary.mean - half),
            comparing.rounded(summary.mean + half),
        ],
        "n": summary.n,
    }


def _verdict(*, holds: bool) -> Row:
    return {"verdict": "reproduced" if holds else "not reproduced"}


def count(nodes: Sequence[NodeRow], matches: Callable[[NodeRow], bool]) -> int:
    """Return how many nodes match."""
    return sum(map(matches, nodes))


def near_empty(nodes: Sequence[NodeRow]) -> int:
    """Return how many nodes have DaemonSet pods only."""
    return count(nodes, lambda node: node.others == 0)


def near_empty_row(runs: Runs, profile: str, setting: str) -> Row:
    """Return "more lowly loaded nodes after"; the drain under spreading is the control."""
    after = [float(near_empty(run.after)) for run in runs[profile]]
    before = [float(near_empty(run.before)) for run in runs[SPREADING]]
    control = [float(near_empty(run.after)) for run in runs[SPREADING]]
    differences = [
        comparing.compare_pairs(np.array(after), np.array(reference))
        for reference in (before, control)
    ]
    holds = all(one.low is not None and one.low > 0.0 for one in differences)
    return {
        **_head(setting, profile, "more lowly loaded nodes after", "more", "more-near-empty"),
        **_summary(after),
        "found": f"{np.mean(after):.1f} nodes with DaemonSet pods only; spreading "
        f"{np.mean(before):.1f} before and {np.mean(control):.1f} after the same drain",
        "against_before": _interval(differences[0]),
        "against_drain_alone": _interval(differences[1]),
        **_verdict(holds=holds),
    }


def _interval(paired: comparing.Paired) -> Row:
    ends = {"difference": paired.difference, "low": paired.low, "high": paired.high}
    return {k: None if v is None else comparing.rounded(v) for k, v in ends.items()}


def floor_row(runs: Runs, profile: str, setting: str) -> Row:
    """Return "near 0 is not reached because DaemonSet pods run everywhere"."""
    least = [min(node.requested_cpu for node in run.after) for run in runs[profile]]
    daemons = [
        node.requested_cpu for run in runs[profile] for node in run.after if node.others == 0
    ]
    lowest = min(daemons, default=0.0)
    return {
        **_head(setting, profile, "near 0 is not reached: DaemonSets", "about 3 cores", "not-zero"),
        **_summary(least),
        "found": f"the emptiest node requests {min(least):.2f} cores",
        **_verdict(holds=lowest > 0.0 and min(least) >= lowest),
    }


def memory_row(runs: Runs, profile: str, setting: str, what: str) -> Row:
    """Return "the memory limit of 40.8 GiB is respected", by requests or by usage."""
    name = f"{what}_memory"
    values = [[getattr(node, name) / MEMORY_GIB for node in run.after] for run in runs[profile]]
    over = [float(sum(value > LIMIT for value in some)) for some in values]
    enforced = [float(sum(value >= ENFORCED for value in some)) for some in values]
    largest = max(max(some) for some in values) * MEMORY_GIB
    return {
        **_head(
            setting, profile, f"memory limit of 85 % respected, {what}", "0 nodes", "none-above"
        ),
        **_summary(over),
        "share_of_nodes": comparing.rounded(float(np.mean(over)) / len(values[0])),
        "above_whole_percent": comparing.rounded(float(np.mean(enforced))),
        "within_whole_percent": max(enforced) == 0.0,
        "found": f"{np.mean(over):.1f} nodes above 40.8 GiB, {np.mean(enforced):.1f} at 86 % "
        f"or more; largest {largest:.1f} GiB",
        **_verdict(holds=max(over) == 0.0),
    }


def cpu_row(runs: Runs, profile: str, setting: str) -> Row:
    """Return "the CPU limit of 6.8 cores is exceeded on a few nodes", with the explanation."""
    limit = LIMIT * CORES
    over = [[node for node in run.after if node.requested_cpu > limit] for run in runs[profile]]
    unexplained = [float(count(some, lambda node: node.big == 0)) for some in over]
    enforced = [
        float(count(some, lambda node: node.big == 0 and node.requested_cpu >= ENFORCED * CORES))
        for some in over
    ]
    counts = [float(len(some)) for some in over]
    holds = min(counts) > 0 and max(counts) <= BIG_PODS and max(unexplained) == 0.0
    return {
        **_head(
            setting,
            profile,
            "CPU limit of 6.8 cores exceeded on a few nodes, by 4-core pods",
            "a few nodes",
            "few-and-explained",
        ),
        **_summary(counts),
        "without_big_pod": _summary(unexplained),
        "within_whole_percent": max(enforced) == 0.0,
        "share_of_nodes": comparing.rounded(float(np.mean(counts)) / len(runs[profile][0].after)),
        "found": f"{np.mean(counts):.1f} nodes above 6.8 cores, {np.mean(unexplained):.1f} of them "
        f"without a 4-core pod, {np.mean(enforced):.1f} of these at 86 % or more",
        **_verdict(holds=holds),
    }


def pending_row(runs: Runs, profile: str, setting: str) -> Row:
    """Return "big pods are unschedulable under spreading and schedulable under packing"."""
    mine = np.array([run.pending_s for run in runs[profile]])
    base = np.array([run.pending_s for run in runs[SPREADING]])
    paired = comparing.compare_pairs(mine, base)
    stuck = sum(run.unschedulable for run in runs[profile])
    hit = sum(run.unschedulable > 0 for run in runs[SPREADING])
    longest = max(run.longest_s for run in runs[SPREADING])
    holds = paired.high is not None and paired.high < 0.0 and stuck == 0
    return {
        **_head(
            setting,
            profile,
            "big pod unschedulable under spreading, schedulable under packing",
            "less waiting",
            "paired-pending",
        ),
        "mean": comparing.rounded(paired.difference),
        "interval": [
            None if end is None else comparing.rounded(end) for end in (paired.low, paired.high)
        ],
        "n": paired.n,
        "p": None if paired.p is None else comparing.rounded(paired.p),
        "p_signed_rank": None
        if paired.p_signed_rank is None
        else comparing.rounded(paired.p_signed_rank),
        "pending_s": {
            profile: comparing.rounded(float(mine.mean())),
            SPREADING: comparing.rounded(float(base.mean())),
        },
        "found": f"big pods wait {mine.mean():.1f} s in all, under spreading {base.mean():.0f} s "
        f"(in {hit} of {paired.n} seeds, at most {longest:.0f} s at a time)",
        **_verdict(holds=holds),
    }
