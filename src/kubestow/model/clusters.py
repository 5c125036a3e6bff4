"""A cluster as the objects that were read, before they become arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubestow.model.nodes import Node
from kubestow.model.pods import Pod
from kubestow.model.volumes import Storage
from kubestow.model.workloads import DisruptionBudget, Namespace, Service, Workload


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file or an object that was not read, and why."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class InputReport:
    """What of an input is not in the cluster, or is there by a rule.

    Attributes:
        skipped: Objects that do not become part of the cluster, by kind.
        expanded: Objects of custom kinds that were expanded into pods, by kind.
        refused: Files and objects that are malformed.
        duplicates: Objects that occur more than once; the last one counts.
        hints: What to do about files that are not manifests.
    """

    skipped: Mapping[str, int] = field(default_factory=dict)
    expanded: Mapping[str, int] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()
    duplicates: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {
            "skipped": dict(self.skipped),
            "expanded": dict(self.expanded),
            "refused": [{"place": one.place, "reason": one.reason} for one in self.refused],
            "duplicates": list(self.duplicates),
            "hints": list(self.hints),
        }

    def lines(self, most: int = 5) -> list[str]:
        """Return the report in a few lines; empty if everything was read.

        Args:
            most: How many refusals to list.
        """
        shown = []
        if self.skipped:
            shown.append(f"Skipped {_counted(self.skipped)}.")
        if self.expanded:
            shown.append(f"Expanded by their pod templates: {_counted(self.expanded)}.")
        if self.duplicates:
            names = ", ".join(self.duplicates[:3]) + (", ..." if len(self.duplicates) > 3 else "")
            shown.append(
                f"{len(self.duplicates)} objects occur more than once, the last counts: {names}."
            )
        if self.refused:
            shown.append(f"Could not read {len(self.refused)} files or objects:")
            shown += [f"  {one.place}: {one.reason}" for one in self.refused[:most]]
            if len(self.refused) > most:
                shown.append(f"  ... and {len(self.refused) - most} more; -o json lists them.")
        return [*shown, *self.hints]


def _counted(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {kind}" for kind, count in ordered)


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """Nodes, pods and the objects that influence scheduling.

    ``pods`` holds all unfinished pods, bound and pending, in input order.
    """

    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)
    services: tuple[Service, ...] = ()
    controllers: Mapping[tuple[str, str, str, str], Workload] = field(
        default_factory=dict
    )  # by API version, kind, namespace, name
    storage: Storage = field(default_factory=Storage)
    report: InputReport = InputReport()
    budgets: tuple[DisruptionBudget, ...] = ()

    @property
    def bound(self) -> list[Pod]:
        """Pods that are bound to a node."""
        return [pod for pod in self.pods if pod.node_name]

    @property
    def pending(self) -> list[Pod]:
        """Pending pods, in the order of kube-scheduler's queue.

        Higher priority first, then the older one (``PrioritySort``); pods with a scheduling gate
        or being deleted are not queued. Pods without a creation time keep their input order.
        """
        waiting = [
            pod for pod in self.pods if not (pod.node_name or pod.spec.gates or pod.terminating)
        ]
        return sorted(waiting, key=lambda p: (-p.spec.priority, p.created or 0.0))

    def controller_of(self, pod: Pod) -> Workload | None:
        """Return the controller that owns a pod; ``None`` if it was not read."""
        if pod.owner is None:
            return None
        key = (pod.owner.api_version, pod.owner.kind, pod.namespace, pod.owner.name)
        return self.controllers.get(key)

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Return the labels of a namespace; the API server gives each its own name as a label."""
        namespace = self.namespaces.get(name)
        return {"kubernetes.io/metadata.name": name, **(namespace.labels if namespace else {})}
