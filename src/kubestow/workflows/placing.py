"""Where pending pods of a cluster would go: what ``kubestow place`` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kubestow.model import clusters, decoding, errors, pods, states
from kubestow.policies.placing import batch, profiles, scheduler
from kubestow.sources import manifests

STOCK = profiles.PROFILES[0]
MANY = 1_000_000
"""Pending pods times nodes from which on a table of assignments is made by the compiled kernel."""


def read_profiles(config: str | Mapping[str, Any]) -> tuple[profiles.Profile, ...]:
    """Read a KubeSchedulerConfiguration.

    Args:
        config: A file, or the decoded document.

    Raises:
        InputError: If it is not exactly one valid configuration.
    """
    if not isinstance(config, str):
        return profiles.read_configuration(decoding.Field(dict(config), "configuration"))
    found = manifests.read_documents(config)
    if len(found) != 1:
        raise errors.InputError(config, f"{len(found)} documents; expected one configuration")
    return profiles.read_configuration(decoding.Field(found[0].value, found[0].place))


def place(
    cluster: clusters.Cluster,
    found: tuple[profiles.Profile, ...],
    version: str = profiles.DEFAULT_VERSION,
    seed: int | None = None,
) -> Iterator[scheduler.Placement]:
    """Place all pending pods one after another, as kube-scheduler would.

    Args:
        cluster: Nodes, pods and what influences where pods go.
        found: Profiles, by the scheduler names that pods ask for.
        version: Release of Kubernetes.
        seed: Breaks ties at random; without it the first name wins.
    """
    rng = None if seed is None else np.random.default_rng(seed)
    return scheduler.place_all(cluster, found, profiles.scheduler_features(version), rng)


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
        cluster: Nodes, pods and what influences where pods go.
        profile: The profile; pods that ask for another scheduler are left alone.
        version: Release of Kubernetes.
    """
    features = profiles.scheduler_features(version)
    state = states.from_cluster(
        cluster, use_status=features.resized_pods, pod_level=features.pod_level
    )
    pending = [pod for pod in cluster.pending if pod.spec.scheduler_name == profile.name]
    rows = batch.place_batch(pending, state, profile, features).tolist()
    names = [node.name for node in state.nodes]
    return [(pod, names[row] if row >= 0 else None) for pod, row in zip(pending, rows, strict=True)]
