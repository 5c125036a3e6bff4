"""Where pending pods of a cluster would go: what ``kubestow place`` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kubestow.model import clusters, decoding, errors
from kubestow.policies.placing import profiles, scheduler
from kubestow.sources import manifests

STOCK = profiles.PROFILES[0]


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
