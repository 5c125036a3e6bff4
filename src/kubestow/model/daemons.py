"""DaemonSet pods: what they bear, where they run, and how each is bound to its node."""

from __future__ import annotations

from dataclasses import replace

from kubestow.model import nodes, pods, selectors, taints

# What the DaemonSet controller lets its pods tolerate (pkg/controller/daemon/util).
TOLERATIONS = (
    *(
        taints.Toleration(key, "Exists", "", taints.NO_EXECUTE)
        for key in (taints.NOT_READY, taints.UNREACHABLE)
    ),
    *(
        taints.Toleration(f"node.kubernetes.io/{condition}", "Exists", "", taints.NO_SCHEDULE)
        for condition in ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
    ),
)


def runs_on(spec: pods.PodSpec, node: nodes.Node) -> bool:
    """Tell whether a DaemonSet wants a pod on a node."""
    tolerations = (*spec.tolerations, *TOLERATIONS)
    return spec.admits_node(node.name, node.labels) and not taints.keeps_away(
        node.taints, tolerations
    )


def pinned(spec: pods.PodSpec, node_name: str) -> pods.PodSpec:
    """Return the specification bound to one node by a field selector, as DaemonSet pods are."""
    only = selectors.Requirement("metadata.name", selectors.IN, (node_name,))
    return replace(
        spec,
        required_nodes=(selectors.NodeSelectorTerm(fields=(only,)),),
        tolerations=(*spec.tolerations, *TOLERATIONS),
    )
