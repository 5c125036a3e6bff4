"""Placing all pending pods of a cluster, one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kubestow.model import clusters, states
from kubestow.policies.placing import profiles
from kubestow.policies.placing.scheduler import nominations
from kubestow.policies.placing.scheduler.scheduler import Placement, Scheduler


def place_all(
    cluster: clusters.Cluster,
    configured: Sequence[profiles.Profile],
    features: profiles.SchedulerFeatures,
    rng: np.random.Generator | None = None,
    *,
    preemption: bool = False,
) -> Iterator[Placement]:
    """Place all pending pods of a cluster one after another, as kube-scheduler would.

    Each pod is bound before the next one is scheduled. Pods whose ``schedulerName`` has no profile
    here are skipped.

    Args:
        cluster: Nodes, pods and everything else that affects placement.
        configured: Profiles, by the scheduler names of pods.
        features: The release.
        rng: Breaks ties at random; without it the first name wins.
        preemption: Whether pods that fit nowhere preempt pods of lower priority, where their
            profile has preemption. Following pods see the nomination.
    """
    state = states.from_cluster(
        cluster, use_status=features.resized_pods, pod_level=features.pod_level
    )
    schedulers = {profile.name: Scheduler(profile, features) for profile in configured}
    waiting = nominations.from_cluster(cluster, state) if preemption else None
    for pod in cluster.pending:
        scheduler = schedulers.get(pod.spec.scheduler_name)
        if scheduler is None:
            continue
        if waiting is not None:
            yield waiting.place(scheduler, pod, state, rng)
            continue
        placement = scheduler.place(pod, state, rng)
        if placement.row is not None:
            scheduler.bind(pod, state, placement.row)
        yield placement
