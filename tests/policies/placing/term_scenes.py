"""Clusters and loads for tests of placing terms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kubestow.model import arrays, clusters, nodes, pods, quantities, resources, states
from kubestow.policies.placing.terms import clbp_parameters, protocol

FIVE = (
    resources.CPU,
    resources.MEMORY,
    clbp_parameters.NETWORK,
    clbp_parameters.DISK_IO,
    resources.EPHEMERAL_STORAGE,
)
# A node of the thesis in small whole numbers: 4000 m, 8192 MB, 30 Mbit/s, 120 MB/s, 100 GB.
CAPACITY = (4000, 8192, 30, 120, 100)


def listed(names: Sequence[str], amounts: Sequence[float]) -> resources.ResourceList:
    """Return amounts in the scheduler's units as a resource list."""
    return {
        name: quantities.millis(int(amount))
        if name == resources.CPU
        else quantities.units(int(amount))
        for name, amount in zip(names, amounts, strict=True)
    }


def make_pod(*amounts: float, names: Sequence[str] = FIVE, name: str = "p") -> pods.Pod:
    """Return a pod that requests amounts of the five resources."""
    return pods.Pod(name, pods.PodSpec((pods.Container("c", requests=listed(names, amounts)),)))


def make_state(
    *capacities: Sequence[float], names: Sequence[str] = FIVE, places: int = 110
) -> states.ClusterState:
    """Return nodes n0, n1, ... with capacities of the five resources."""
    offered = [
        {**listed(names, row), resources.PODS: quantities.units(places)} for row in capacities
    ]
    result = tuple(nodes.Node(f"n{row}", one, {}) for row, one in enumerate(offered))
    return states.from_cluster(clusters.Cluster(nodes=result))


def make_loads(
    state: states.ClusterState, used: Sequence[Sequence[float]], names: Sequence[str] = FIVE
) -> protocol.Loads:
    """Return measured loads of the five resources; what is not named is not measured."""
    result = np.full(state.allocatable.shape, np.nan)
    for name, column in zip(names, np.array(used, dtype=np.float64).T, strict=True):
        result[:, state.columns[name]] = column
    return protocol.Loads(result, np.zeros_like(result))


def every(state: states.ClusterState) -> arrays.Ints:
    """Return all rows."""
    return np.arange(len(state))
