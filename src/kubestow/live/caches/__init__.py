"""Caches of the cluster: nodes and pods by watches, node loads, bounds of namespaces."""

from kubestow.live.caches.cluster import NODES, PATHS, PODS, ClusterCache
from kubestow.live.caches.loads import NodeLoads
from kubestow.live.caches.namespace_bounds import (
    BoundsWatcher,
    NamespaceBounds,
    NamespaceFacts,
    read_bounds,
    unknown_bounds,
)
from kubestow.live.caches.node_metrics import read_node_metrics

__all__ = [
    "NODES",
    "PATHS",
    "PODS",
    "BoundsWatcher",
    "ClusterCache",
    "NamespaceBounds",
    "NamespaceFacts",
    "NodeLoads",
    "read_bounds",
    "read_node_metrics",
    "unknown_bounds",
]
