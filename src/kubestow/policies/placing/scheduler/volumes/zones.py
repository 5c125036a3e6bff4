"""Zones and regions of bound volumes, from the labels of the volumes (plugin VolumeZone)."""

from __future__ import annotations

import numpy as np

from kubestow.model import arrays, states, volumes
from kubestow.policies.placing.scheduler.cycle import Conflict, Cycle, FilterVerdict
from kubestow.policies.placing.scheduler.volumes import lookups

_GENERAL = {
    volumes.BETA_ZONE: volumes.ZONE,
    volumes.BETA_REGION: volumes.REGION,
}
_LABELS = (*_GENERAL, volumes.ZONE, volumes.REGION)


def check_zones(cycle: Cycle) -> None:
    """Refuse a pod whose volumes cannot be looked up.

    Raises:
        Conflict: If a claim, its class or its volume does not exist.
    """
    for claim in lookups.named_claims(cycle):
        _volume(cycle, claim)


def in_zone(cycle: Cycle) -> FilterVerdict | None:
    """Filter out nodes in other zones or regions than the bound volumes of a pod.

    A node without any zone or region label passes: the cluster has one zone.
    """
    if not cycle.pod.volumes:
        return None
    labels = [
        (key, zones)
        for claim in lookups.named_claims(cycle)
        if (volume := _volume(cycle, claim)) is not None
        for key in _LABELS
        if (zones := _zones(volume.labels.get(key, "")))
    ]
    if not labels:
        return None
    state = cycle.state
    unlabelled = ~np.logical_or.reduce([state.label(key).present for key in _LABELS])
    passes = np.ones(len(state), dtype=np.bool_)
    for key, zones in labels:
        passes &= _matches(state, key, zones)
    return FilterVerdict(passes | unlabelled, lambda _: "node(s) had no available volume zone")


def _volume(cycle: Cycle, claim: volumes.VolumeClaim) -> volumes.PersistentVolume | None:
    table = cycle.state.volumes
    if claim.volume:
        volume = table.volumes.get(claim.volume)
        if volume is None:
            raise lookups.not_found("persistentvolume", claim.volume)
        return volume
    if claim.unknown:
        return None
    if not claim.storage_class:
        raise Conflict("PersistentVolumeClaim had no pv name and storageClass name")
    kind = table.storage.classes.get(claim.storage_class)
    if kind is None:
        raise lookups.not_found("storageclass.storage.k8s.io", claim.storage_class)
    if not kind.waits:
        raise Conflict("PersistentVolume had no name")
    return None


def _zones(label: str) -> frozenset[str]:
    """Return the zones of a label; a label with an empty zone is ignored."""
    zones = frozenset(zone.strip() for zone in label.split("__"))
    return frozenset() if "" in zones else zones


def _matches(state: states.ClusterState, key: str, zones: frozenset[str]) -> arrays.Bools:
    """Return which nodes have one of the zones under a label, or under its newer name."""
    own = _has(state, key, zones)
    if key not in _GENERAL:
        return own
    return np.where(state.label(key).present, own, _has(state, _GENERAL[key], zones))


def _has(state: states.ClusterState, key: str, zones: frozenset[str]) -> arrays.Bools:
    column = state.label(key)
    wanted = np.array([*(value in zones for value in column.values), False], dtype=np.bool_)
    return wanted[column.codes]  # code -1 (no such label) selects the last entry
