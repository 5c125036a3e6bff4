"""Random problems, and a check of packings by the interpreted scheduler."""

from __future__ import annotations

from kubestow.model import arrays, states
from kubestow.policies.placing import profiles, repacking, scheduler
from testenv import packing_clusters
from tests.policies.placing import recorded

FEATURES = profiles.scheduler_features()


def draw_problem(seed: int) -> repacking.Repacking:
    """Return the problem of a random cluster."""
    cluster = recorded.build(packing_clusters.draw_cluster(seed))
    return repacking.make_repacking(cluster, f"drawn-{seed}")


def is_allowed(problem: repacking.Repacking, rows: arrays.Ints) -> bool:
    """Return whether the filters admit every placed item on its node, in some order."""
    state = states.from_cluster(problem.state.cluster)
    stock = scheduler.Scheduler(profiles.make_profile("kube-scheduler"), FEATURES)
    left = [item for item, row in enumerate(rows.tolist()) if row >= 0]
    while left:
        again = []
        for item in left:
            pod, row = problem.items[item], int(rows[item])
            if stock.fits(pod, state, row):
                state.place(pod, row)
            else:
                again.append(item)
        if len(again) == len(left):
            return False
        left = again
    return True
