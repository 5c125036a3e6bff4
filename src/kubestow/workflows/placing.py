"""``kubestow place``: where the pending pods of a cluster would go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kubestow.model import clusters, decoding, errors, pods, states
from kubestow.policies.placing import batch, profiles, scheduler
from kubestow.sources import manifests

STOCK = profiles.PROFILES[0]
MANY = 1_000_000
"""Pending pods times nodes at which ``place`` switches to the compiled scheduler."""


def read_profiles(config: str | Mapping[str, Any]) -> tuple[profiles.Profile, ...]:
    """Read a KubeSchedulerConfiguration.

    Args:
        config: A file, or the decoded document.

    Raises:
        InputError: If it is not exactly one valid configuration.
    """
    if not isinstance(config, str):
        return profiles.read_configuration(decoding.Field(dict(config), "configuration"))
    documents = manifests.read_documents(config)
    if len(documents) != 1:
        raise errors.InputError(config, f"{len(documents)} documents; expected one configuration")
    return profiles.read_configuration(decoding.Field(documents[0].value, documents[0].place))


def place(
    cluster: clusters.Cluster,
    profiles_used: tuple[profiles.Profile, ...],
    version: str = profiles.DEFAULT_VERSION,
    seed: int | None = None,
    *,
    preemption: bool = True,
) -> Iterator[scheduler.Placement]:
    """Place all pending pods one after another, as kube-scheduler would.

    Args:
        cluster: Nodes, pods and everything else that affects placement.
        profiles_used: Profiles, by the scheduler names of pods.
        version: Kubernetes release.
        seed: Break ties at random with this seed; default: the first name wins.
        preemption: Whether a pod that fits nowhere is nominated for a node whose pods of lower
            priority would make place for it.
    """
    rng = None if seed is None else np.random.default_rng(seed)
    features = profiles.scheduler_features(version)
    return scheduler.place_all(cluster, profiles_used, features, rng, preemption=preemption)


def is_large(cluster: clusters.Cluster) -> bool:
    """Return whether placing every pod with all its scores would take long."""
    return len(cluster.pending) * len(cluster.nodes) >= MANY


def assign(
    cluster: clusters.Cluster,
    profile: profiles.Profile,
    version: str = profiles.DEFAULT_VERSION,
) -> list[tuple[pods.Pod, str | None]]:
    """Return the node of every pending pod, without scores: the nodes that ``place`` chooses.

    Compiled code places thousands of pods a second on thousands of nodes.

    Args:
        cluster: Nodes, pods and everything else that affects placement.
        profile: The profile; pods with another scheduler name are skipped.
        version: Kubernetes release.
    """
    features = profiles.scheduler_features(version)
    state = states.from_cluster(
        cluster, use_status=features.resized_pods, pod_level=features.pod_level
    )
    pending = [pod for pod in cluster.pending if pod.spec.scheduler_name == profile.name]
    rows = batch.place_batch(pending, state, profile, features).tolist()
    names = [node.name for node in state.nodes]
    return [(pod, names[row] if row >= 0 else None) for pod, row in zip(pending, rows, strict=True)]
