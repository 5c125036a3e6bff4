"""``kubestow.read_cluster`` and ``kubestow.read_usage``: input from files and memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kubestow.library import inputs, results
from kubestow.model import clusters, errors, pods
from kubestow.model import requests as pod_requests
from kubestow.model.usage import Inventory, Usage
from kubestow.sources import manifests
from kubestow.sources.usage import read_inventory, read_usage_files

ManifestSource = str | Path | Mapping[str, Any] | Iterable[Mapping[str, Any]]
"""A file, a folder, ``-``, one object, or several objects."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ClusterData(results.Result):
    """A cluster read from manifests.

    Attributes:
        name: Its name in results.
        cluster: Nodes, pods and everything else that affects placement.
    """

    name: str
    cluster: clusters.Cluster

    def to_polars(self) -> pl.DataFrame:
        """Return one row per pod: its node and its requests."""
        return pl.DataFrame([_pod_row(pod) for pod in self.cluster.pods])

    def to_dict(self) -> dict[str, Any]:
        """Return nodes and pods as plain values."""
        return {
            "name": self.name,
            "nodes": [node.name for node in self.cluster.nodes],
            "pods": self.to_polars().to_dicts(),
        }

    def summary(self) -> str:
        """Return the size of the cluster in one sentence."""
        pending = len(self.cluster.pending)
        counts = f"{len(self.cluster.nodes)} nodes, {len(self.cluster.pods)} pods"
        return f"{self.name}: {counts}, {pending} of them pending"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class UsageData(results.Result):
    """Usage of containers with requests, nodes and autoscalers.

    Attributes:
        usage: Usage on one time grid.
        inventory: Requests, limits, nodes and autoscalers.
    """

    usage: Usage
    inventory: Inventory

    def to_polars(self) -> pl.DataFrame:
        """Return one row per container: its requests and its number of pods."""
        return pl.DataFrame(self._rows())

    def to_dict(self) -> dict[str, Any]:
        """Return containers and notes as plain values."""
        return {"containers": self._rows(), "notes": list(self.usage.notes)}

    def summary(self) -> str:
        """Return what was read, in one sentence."""
        points = self.usage.cpu_cores.shape[1]
        return (
            f"{len(self.usage.containers)} containers of {len(self.usage.pods)} pods, "
            f"{points} steps of {self.usage.step_s:g} s"
        )

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for number, key in enumerate(self.usage.keys):
            facts = self.inventory.containers.get(key)
            requests = facts.requests if facts else {}
            rows.append(
                {
                    "workload": str(key.of),
                    "container": key.container,
                    "pods": int((self.usage.owners == number).sum()),
                    "cpu_request": str(requests["cpu"]) if "cpu" in requests else None,
                    "memory_request": str(requests["memory"]) if "memory" in requests else None,
                }
            )
        return rows


def read_cluster(*sources: ManifestSource | ClusterData, name: str = "") -> ClusterData:
    """Read a cluster from manifests.

    Args:
        sources: Files, folders, ``-`` for standard input, or Kubernetes objects as dicts; lists are
            unfolded.
        name: Name of the cluster in results; default: the name of the first file.

    Raises:
        InputError: If a file cannot be read, or an object is malformed.

    Examples:
        >>> node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
        ...         "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}
        >>> read_cluster(node).summary()
        'cluster: 1 nodes, 0 pods, 0 of them pending'
    """
    if len(sources) == 1 and isinstance(sources[0], ClusterData):
        return sources[0]
    documents: list[manifests.Document] = []
    for source in sources:
        if isinstance(source, ClusterData):
            raise errors.InputError(
                "cluster", "cannot be combined with other sources; expected manifests"
            )
        documents += _documents(source)
    first = next((str(source) for source in sources if isinstance(source, str | Path)), "")
    shown = name or (Path(first).name if first not in ("", "-") else "cluster")
    return ClusterData(shown, manifests.build_cluster(documents))


def read_usage(
    source: str | Path | inputs.Frame | UsageData,
    *,
    requests: inputs.Frame | None = None,
    nodes: inputs.Frame | None = None,
    hpas: inputs.Frame | None = None,
    step: inputs.Seconds | None = None,
    history: inputs.Seconds | None = None,
) -> UsageData:
    """Read usage of containers.

    Args:
        source: A folder with ``usage.csv`` or ``usage.parquet`` (and ``requests.csv``,
            ``nodes.csv``, ``hpas.csv``), or a frame with the columns of ``usage.csv``.
        requests: For a frame: the columns of ``requests.csv``.
        nodes: For a frame: the columns of ``nodes.csv``.
        hpas: For a frame: the columns of ``hpas.csv``.
        step: Time between two points; default: the usual one of a pod's rows.
        history: How much to use before the last row; default: all.

    Raises:
        InputError: If a column is missing or a value is invalid.
    """
    if isinstance(source, UsageData):
        return source
    step_s = None if step is None else inputs.as_seconds(step, "step")
    history_s = None if history is None else inputs.as_seconds(history, "history")
    if inputs.is_path(source):
        if any(table is not None for table in (requests, nodes, hpas)):
            raise errors.InputError(
                "requests, nodes, hpas", "need a frame; a folder has files of these names"
            )
        return _read_folder(Path(source), step_s, history_s)
    tables = {"usage": source, "requests": requests, "nodes": nodes, "hpas": hpas}
    with inputs.as_folder(tables) as folder:
        return _read_folder(folder, step_s, history_s)


def _read_folder(folder: Path, step_s: float | None, history_s: float | None) -> UsageData:
    return UsageData(read_usage_files(folder, step_s, history_s), read_inventory(folder))


def _documents(source: ManifestSource) -> list[manifests.Document]:
    if isinstance(source, str | Path):
        return manifests.read_documents(str(source))
    objects = [source] if isinstance(source, Mapping) else list(source)
    documents: list[manifests.Document] = []
    for number, value in enumerate(objects, start=1):
        if not isinstance(value, Mapping):
            raise errors.InputError(
                f"object {number}", f"{type(value).__name__}: expected a Kubernetes object"
            )
        documents += manifests.unfold_document(manifests.Document(f"object {number}", dict(value)))
    return documents


def _pod_row(pod: pods.Pod) -> dict[str, Any]:
    requests = pod_requests.pod_requests(pod)
    return {
        "pod": pod.key,
        "node": pod.node_name or None,
        "cpu_request": str(requests["cpu"]) if "cpu" in requests else None,
        "memory_request": str(requests["memory"]) if "memory" in requests else None,
        "priority": pod.spec.priority,
    }
