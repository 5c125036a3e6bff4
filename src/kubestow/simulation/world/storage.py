"""Storage classes of a scenario, and the drivers on its nodes.

Each kind of reach has a driver of its own on every node, which tells by a label of the node where
its volumes can be reached; the limit of a pool holds for all but local volumes.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubestow.model import nodes, selectors, volumes
from kubestow.simulation import scenarios as spec
from kubestow.simulation.world.actors import LiveNode

_KEYS = {spec.ZONE: (nodes.ZONE_LABEL,), spec.HOST: (nodes.HOSTNAME_LABEL,), spec.ANYWHERE: ()}


def storage_of(
    classes: Iterable[spec.ScenarioStorageClass], live_nodes: Iterable[LiveNode]
) -> volumes.Storage:
    """Return the storage classes of a scenario, and the drivers on its nodes."""
    made = {each.name: _class(each) for each in classes}
    csi_nodes = [_csi_node(live) for live in live_nodes] if made else []
    return volumes.Storage(classes=made, csi_nodes={node.name: node for node in csi_nodes})


def _driver(reach: str) -> str:
    return f"{reach}.kubestow.io"


def _class(wanted: spec.ScenarioStorageClass) -> volumes.StorageClass:
    within = selectors.Requirement(nodes.ZONE_LABEL, selectors.IN, wanted.zones)
    terms = (selectors.NodeSelectorTerm((within,)),) if wanted.zones else None
    return volumes.StorageClass(wanted.name, _driver(wanted.reach), wanted.binding, terms)


def _csi_node(live: LiveNode) -> volumes.CsiNode:
    limit = live.pool.volume_limit
    return volumes.CsiNode(
        name=live.name,
        limits={_driver(reach): None if reach == spec.HOST else limit for reach in _KEYS},
        topology_keys={_driver(reach): keys for reach, keys in _KEYS.items()},
    )
