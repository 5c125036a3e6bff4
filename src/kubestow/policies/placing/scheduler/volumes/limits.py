"""How many volumes a CSI driver can attach to a node (plugin NodeVolumeLimits)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from kubestow.model import arrays, volumes
from kubestow.policies.placing.scheduler.cycle import Cycle, FilterVerdict

_UNLIMITED = -1
_PREFIX = "attachable-volumes-csi-"
_LONGEST_NAME = 63


def within_limits(cycle: Cycle) -> FilterVerdict | None:
    """Filter out nodes on which a driver cannot attach the new volumes of a pod."""
    if not cycle.pod.volumes:
        return None
    new = _new_volumes(cycle)
    if not new:
        return None
    by_driver: dict[str, list[volumes.Identity]] = {}
    for identity in sorted(new):
        by_driver.setdefault(identity[0], []).append(identity)
    absent = {driver: _lacking(cycle, driver, new) for driver in by_driver}
    full = np.zeros(len(cycle.state), dtype=np.bool_)
    for driver, identities in by_driver.items():
        full |= _exceeded(cycle, driver, identities)
    passes = ~np.logical_or.reduce([full, *absent.values()])

    def explain(row: int) -> str:
        missing = next((driver for driver, rows in absent.items() if rows[row]), None)
        if missing is not None:
            return f"{missing} CSI driver is not installed on the node"
        return "node(s) exceed max volume count"

    return FilterVerdict(passes, explain)


def _new_volumes(cycle: Cycle) -> dict[volumes.Identity, bool]:
    """Return the pod's volumes that are attached, and whether each was an in-tree volume."""
    table, new = cycle.state.volumes, {}
    for volume in cycle.pod.volumes:
        if volume.attached is not None:
            new[volume.attached] = True
        name = volume.claim_of(cycle.pod.name)
        key = f"{cycle.pod.namespace}/{name}"
        identity = table.identity(key) if name else None
        if identity is not None:
            bound = table.volumes.get(table.claims[key].volume)
            new[identity] = bound is not None and bool(bound.plugin)
    return new


def _lacking(cycle: Cycle, driver: str, new: dict[volumes.Identity, bool]) -> arrays.Bools:
    """Return the nodes without a driver that has to run where its volumes are used."""
    table = cycle.state.volumes
    known = table.storage.drivers.get(driver)
    if not cycle.features.missing_drivers or known is None or not known.must_run:
        return np.zeros(len(cycle.state), dtype=np.bool_)
    if ("drivers", driver) not in table.derived:
        nodes = [table.storage.csi_nodes.get(name) for name in cycle.state.names]
        table.derived["drivers", driver] = (
            np.array([node is None for node in nodes], dtype=np.bool_),
            np.array([node is not None and driver not in node.limits for node in nodes]),
        )
    unknown, without = table.derived["drivers", driver]
    # Without a CSINode an in-tree volume does not count as migrated.
    native = any(not in_tree for identity, in_tree in new.items() if identity[0] == driver)
    lacking: arrays.Bools = without | unknown if native else without
    return lacking


def _exceeded(cycle: Cycle, driver: str, identities: Sequence[volumes.Identity]) -> arrays.Bools:
    """Return the nodes on which these volumes would be too many."""
    table, attachments = cycle.state.volumes, cycle.features.volume_attachments
    more = np.full(len(cycle.state), len(identities), dtype=np.int64)
    for identity in identities:
        more[table.attached(identity)] -= 1
    limits = _limits(cycle, driver)
    there = table.counts(driver, attachments=attachments)
    exceeded: arrays.Bools = (limits != _UNLIMITED) & (more > 0) & (there + more > limits)
    return exceeded


def _limits(cycle: Cycle, driver: str) -> arrays.Ints:
    table, in_nodes = cycle.state.volumes, not cycle.features.volume_attachments
    key = ("limits", driver, in_nodes)
    if key not in table.derived:
        limits = np.full(len(cycle.state), _UNLIMITED, dtype=np.int64)
        resource = _resource_name(driver)
        for row, node in enumerate(cycle.state.nodes):
            csi_node = table.storage.csi_nodes.get(node.name)
            limit = None if csi_node is None else csi_node.limits.get(driver)
            if limit is None and in_nodes and resource in node.allocatable:
                limit = node.allocatable[resource].value()
            if limit is not None:
                limits[row] = limit
        table.derived[key] = limits
    known: arrays.Ints = table.derived[key]
    return known


def _resource_name(driver: str) -> str:
    """Return the resource of nodes that limited a driver up to 1.31 (GetCSIAttachLimitKey)."""
    name = _PREFIX + driver
    if len(name) <= _LONGEST_NAME:
        return name
    return _PREFIX + hashlib.sha1(driver.encode(), usedforsecurity=False).hexdigest()[:16]
