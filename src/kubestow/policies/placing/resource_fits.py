"""The resource filter: does everything the pod requests fit (plugin NodeResourcesFit)?"""

from __future__ import annotations

import numpy as np

from kubestow.model import requests, resources, states
from kubestow.policies.placing import profiles
from kubestow.policies.placing.cycles import Cycle, Verdict


def filter_requests(cycle: Cycle) -> dict[str, int]:
    """Return what the filter counts for a pod: what its specification says."""
    rules = requests.RequestRules(pod_level=cycle.features.pod_level)
    return resources.amounts(requests.pod_requests(cycle.pod, rules))


def is_ignored(name: str, args: profiles.FitArgs) -> bool:
    """Tell whether the configuration tells the filter to overlook an extended resource."""
    if not resources.is_extended(name):
        return False
    return name in args.ignored_resources or name.partition("/")[0] in args.ignored_groups


def fits(cycle: Cycle) -> Verdict:
    """Filter by free resources and free places for pods."""
    state, args = cycle.state, cycle.profile.fit
    free = state.allocatable - state.requested
    lacking: list[tuple[str, states.Mask]] = [
        ("Too many pods", free[:, state.columns[resources.PODS]] < 1)
    ]
    wanted = filter_requests(cycle)
    ordinary = (resources.CPU, resources.MEMORY, resources.EPHEMERAL_STORAGE)
    for name in (*ordinary, *sorted(set(wanted) - set(ordinary))):
        amount = wanted.get(name, 0)
        if amount <= 0 or is_ignored(name, args):
            continue
        column = state.columns.get(name)
        nowhere = np.ones(len(state), dtype=np.bool_)
        short = nowhere if column is None else amount > free[:, column]
        lacking.append((f"Insufficient {name}", short))
    passes = ~np.logical_or.reduce([short for _, short in lacking])

    def explain(row: int) -> str:
        return ", ".join(reason for reason, short in lacking if short[row])

    return Verdict(passes, explain)
